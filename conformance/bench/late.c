// SPDX-License-Identifier: Apache-2.0
//
// What it costs that sizes come late. Times are minima on one machine, interleaved with those that they are
// compared with.
//
//   specialize   a network at sizes that it has not had: bound, compiled, lowered, and the first run beside a
//                later one
//   decoder      tokens by caches that grow by a row each, beside caches of a fixed size into which a row is
//                scattered: the same tokens, and the time of all of them
//   reader       lines of text of ragged widths through one graph, beside a graph recorded for each width
//
//   load         the decoder from a file: until it has its first token, beside recording and building it,
//   with
//                weights in memory in both cases; and a later token
//
// --check fails if a bar is missed: 300 us for a specialization of 354 operators, 1.10 for the decoder, 1.05
// for the reader.

#include "conformance/bench/late_networks.h"
#include "conformance/clock.h"
#include "conformance/compiled.h"
#include "tools/memory.h"
#include "tools/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char usage[] =
    "usage: webnn-bench-late [--threads=N] [--tokens=N] [--layers=N] [--pairs=N] [--widths=N] [--rounds=N]\n"
    "           [--sizes=N] [--check] specialize|decoder|reader|load ...\n"
    "  --tokens=N   that the decoder makes (2048); --layers=N, --pairs=N of keys and values: of it (24, 3)\n"
    "  --widths=N   of lines (24); --rounds=N for each width (7)\n"
    "  --sizes=N    that are new (200)\n";

enum {
    HEADS = 9,
    INNER = 1536,
    VOCABULARY = 2048,
    MAX_PORTS = 256,
    MIN_WIDTH = 32,
    MAX_WIDTH = 1600,
    CLASSES = 400
};

struct options {
    unsigned threads, tokens, layers, pairs, widths, rounds, sizes;
    bool check;
};

static const struct options *options;
static struct session session;
static struct late_weights weights;
static char message[1024];
static bool missed;

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "webnn-bench-late: %s: %s\n", what, message);
    exit(1);
}

// Shows what a figure may be at most.
static void compare(double figure, double bar)
{
    printf(", at most %.2f%s\n", bar, figure > bar ? ": missed" : "");
    missed |= figure > bar;
}

static WNNStringView view(const char *text)
{
    return (WNNStringView){text, WNN_STRLEN};
}

// Seconds that one execution takes. Shapes of inputs go by their names; none: the graph knows them.
static double run(WNNGraph graph, size_t shape_count, const WNNNamedShape *shapes, size_t input_count,
                  const WNNNamedBuffer *inputs, size_t output_count, const WNNNamedBuffer *outputs)
{
    WNNInputShapes given = WNN_INPUT_SHAPES_INIT;
    given.shapeCount = shape_count;
    given.shapes = shapes;
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.nextInChain = shape_count ? &given.chain : NULL;
    descriptor.graph = graph;
    descriptor.inputCount = input_count;
    descriptor.inputs = inputs;
    descriptor.outputCount = output_count;
    descriptor.outputs = outputs;
    double begin = now_seconds();
    WNNStatus status = wnnContextComputeSync(session.context, &descriptor, sizeof message, message);
    double seconds = now_seconds() - begin;
    require(status == WNNStatus_Success, "compute");
    return seconds;
}

// ---------------------------------------------------------------------------------------------------------------
// The decoder
// ---------------------------------------------------------------------------------------------------------------

// A decoder with memory for its caches, of which there are two if it grows: an execution reads one and writes
// the other.
struct decoding {
    struct late_decoder of;
    WNNGraph graph;
    int32_t token, position, next;
    size_t caches; // of keys and of values
    float *memory[2][MAX_PORTS];
    char names[2][MAX_PORTS][32];
};

static void begin_decoding(struct decoding *d, const struct late_decoder *of, unsigned rows)
{
    *d = (struct decoding){.of = *of, .caches = 2 * (size_t)of->layers};
    require(d->caches <= MAX_PORTS - 2, "layers");
    d->graph = late_decoder_build(session.context, of, &weights, sizeof message, message);
    require(d->graph, "the decoder");
    for (size_t i = 0; i < d->caches; i++) {
        const char *kind = i % 2 ? "value" : "key";
        snprintf(d->names[0][i], sizeof d->names[0][i], "past_%s_%u", kind, (unsigned)i / 2);
        snprintf(d->names[1][i], sizeof d->names[1][i], "present_%s_%u", kind, (unsigned)i / 2);
        for (int side = 0; side < (of->rows ? 1 : 2); side++) {
            size_t bytes = (size_t)of->pairs * rows * LATE_HEAD * sizeof(float);
            d->memory[side][i] = must_allocate_line(bytes);
            memset(d->memory[side][i], 0, bytes);
        }
    }
}

static void replace_graph(struct decoding *d, WNNGraph graph)
{
    wnnGraphRelease(d->graph);
    d->graph = graph;
    d->token = 0;
}

static void end_decoding(struct decoding *d)
{
    for (size_t i = 0; i < d->caches; i++)
        for (int side = 0; side < 2; side++)
            free(d->memory[side][i]);
    wnnGraphRelease(d->graph);
}

// One token, with as many rows before it; returns seconds.
static double decode(struct decoding *d, unsigned rows)
{
    bool grows = d->of.rows == 0;
    uint32_t before = grows ? rows : d->of.rows, after = grows ? rows + 1 : d->of.rows;
    uint32_t shape[4] = {1, d->of.pairs, before, LATE_HEAD};
    size_t row_bytes = (size_t)d->of.pairs * LATE_HEAD * sizeof(float);
    unsigned from = grows ? rows % 2 : 0, to = grows ? 1 - from : 0;
    WNNNamedShape shapes[MAX_PORTS];
    WNNNamedBuffer inputs[MAX_PORTS], outputs[MAX_PORTS];
    for (size_t i = 0; i < d->caches; i++) {
        shapes[i] = (WNNNamedShape){view(d->names[0][i]), {shape, 4}};
        inputs[i] =
            (WNNNamedBuffer){shapes[i].name, d->memory[from][i], before * row_bytes, WNNDataType_Float32};
        outputs[i] =
            (WNNNamedBuffer){view(d->names[1][i]), d->memory[to][i], after * row_bytes, WNNDataType_Float32};
    }
    d->position = (int32_t)rows;
    inputs[d->caches] = (WNNNamedBuffer){view("token"), &d->token, sizeof d->token, WNNDataType_Int32};
    inputs[d->caches + 1] =
        (WNNNamedBuffer){view("position"), &d->position, sizeof d->position, WNNDataType_Int32};
    outputs[d->caches] = (WNNNamedBuffer){view("next"), &d->next, sizeof d->next, WNNDataType_Int32};
    double seconds =
        run(d->graph, grows ? d->caches : 0, shapes, d->caches + 2, inputs, d->caches + 1, outputs);
    d->token = d->next;
    return seconds;
}

static void measure_decoder(void)
{
    struct late_decoder of = {options->layers, HEADS, options->pairs, INNER, VOCABULARY, 0};
    struct decoding grown, fixed;
    begin_decoding(&grown, &of, options->tokens);
    of.rows = options->tokens;
    begin_decoding(&fixed, &of, options->tokens);
    double growing = 0, still = 0, part_growing = 0, part_still = 0;
    bool same = true;
    for (unsigned i = 0; i < options->tokens; i++) {
        double a = 0, b = 0;
        for (unsigned turn = 0; turn < 2; turn++) // neither is always first
            if ((i + turn) % 2)
                a = decode(&grown, i);
            else
                b = decode(&fixed, i);
        same = same && grown.next == fixed.next;
        growing += a, still += b, part_growing += a, part_still += b;
        if ((i + 1) % (options->tokens / 4 ? options->tokens / 4 : 1) == 0) {
            printf("  to %4u rows: %7.3f ms a token, fixed %7.3f ms, ratio %.3f\n", i + 1,
                   part_growing / (options->tokens / 4.0) * 1e3, part_still / (options->tokens / 4.0) * 1e3,
                   part_growing / part_still);
            part_growing = part_still = 0;
        }
    }
    require(same, "the tokens differ");
    printf("decoder %u layers, %u pairs, %u tokens, %u threads: %.3f ms a token, fixed %.3f ms, ratio %.3f",
           of.layers, of.pairs, options->tokens, options->threads, growing / options->tokens * 1e3,
           still / options->tokens * 1e3, growing / still);
    compare(growing / still, 1.10);
    end_decoding(&grown);
    end_decoding(&fixed);
}

// ---------------------------------------------------------------------------------------------------------------
// From a file
// ---------------------------------------------------------------------------------------------------------------

// Maps what was saved, as a process that begins would.
static void *map_saved(WNNGraph graph, size_t *size)
{
    struct serialized bytes = {0};
    require(wnn_save_graph(graph, &bytes, sizeof message, message) == WNNStatus_Success, "saving");
    FILE *file = tmpfile();
    bool written = file && fwrite(bytes.data, 1, bytes.size, file) == bytes.size && fflush(file) == 0;
    void *mapped = written ? mmap(NULL, bytes.size, PROT_READ, MAP_PRIVATE, fileno(file), 0) : MAP_FAILED;
    require(mapped != MAP_FAILED, "the file");
    *size = bytes.size;
    fclose(file);
    free(bytes.data);
    return mapped;
}

static WNNGraph load_saved(const void *data, size_t size, bool checks)
{
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    WNNGraph graph = NULL;
    descriptor.bytes.data = data;
    descriptor.bytes.byteLength = size;
    descriptor.skipDataCheck = !checks;
    wnnContextLoadGraphSync(session.context, &descriptor, &graph, sizeof message, message);
    require(graph, "loading");
    return graph;
}

static void measure_load(void)
{
    const struct late_decoder of = {.layers = options->layers,
                                    .heads = HEADS,
                                    .pairs = options->pairs,
                                    .inner = INNER,
                                    .vocabulary = VOCABULARY,
                                    .savable = true};
    struct decoding d;
    double built = INFINITY, loaded = INFINITY, unchecked = INFINITY, first[2] = {INFINITY, INFINITY},
           later = INFINITY;
    size_t size;
    int32_t tokens[2] = {0, 0};
    begin_decoding(&d, &of, 8);
    void *mapped = map_saved(d.graph, &size);
    for (unsigned round = 0; round < options->rounds; round++) {
        double begin = now_seconds();
        WNNGraph graph = late_decoder_build(session.context, &of, &weights, sizeof message, message);
        built = fmin(built, now_seconds() - begin);
        require(graph, "building");
        replace_graph(&d, graph);
        first[0] = fmin(first[0], decode(&d, 0));
        tokens[0] = d.next;
        later = fmin(later, decode(&d, 0));
        for (unsigned checks = 0; checks < 2; checks++) {
            begin = now_seconds();
            graph = load_saved(mapped, size, checks);
            double seconds = now_seconds() - begin;
            *(checks ? &loaded : &unchecked) = fmin(checks ? loaded : unchecked, seconds);
            replace_graph(&d, graph);
            first[1] = fmin(first[1], decode(&d, 0));
            tokens[1] = d.next;
            require(tokens[0] == tokens[1], "the tokens differ");
        }
    }
    printf(
        "load %u layers, %.1f MB, %u threads: built in %.1f ms, first token %.1f ms; loaded in %.1f ms, of "
        "which %.1f ms check the data, first token %.1f ms; a later token %.2f ms\n",
        of.layers, (double)size * 1e-6, options->threads, built * 1e3, first[0] * 1e3, loaded * 1e3,
        (loaded - unchecked) * 1e3, first[1] * 1e3, later * 1e3);
    end_decoding(&d);
    munmap(mapped, size);
}

// ---------------------------------------------------------------------------------------------------------------
// Specializations
// ---------------------------------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A small decoder of 354 operators, so that runs take little time beside what comes before them.
static void measure_specialize(void)
{
    const struct late_decoder of = {.layers = 12, .heads = 2, .pairs = 2, .inner = 128, .vocabulary = 64};
    struct decoding d;
    double *all = must_allocate(options->sizes * sizeof *all);
    double compile = INFINITY, lower = INFINITY, later = INFINITY;
    uint64_t operators = 0, nodes = 0;
    begin_decoding(&d, &of, options->sizes + 1);
    decode(&d, 0);
    for (unsigned i = 0; i < options->sizes; i++) {
        WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
        double first = decode(&d, i + 1);
        require(wnnGraphGetInfo(d.graph, &info) == WNNStatus_Success, "info");
        compile = fmin(compile, (double)info.compileNanoseconds * 1e-9);
        lower = fmin(lower, (double)info.lowerNanoseconds * 1e-9);
        operators = info.recordedOperators;
        nodes = info.nodeCount;
        double again = decode(&d, i + 1);
        for (unsigned k = 0; k < 3; k++)
            again = fmin(again, decode(&d, i + 1));
        later = fmin(later, again);
        all[i] = first - again;
    }
    qsort(all, options->sizes, sizeof *all, by_value);
    double least = all[0], median = all[options->sizes / 2];
    printf(
        "specialize %llu operators, %llu nodes: %.0f us (median %.0f: compiled in %.0f, lowered in %.0f), a "
        "run %.0f us",
        (unsigned long long)operators, (unsigned long long)nodes, least * 1e6, median * 1e6, compile * 1e6,
        lower * 1e6, later * 1e6);
    compare(median * 1e6, 300);
    free(all);
    end_decoding(&d);
}

// ---------------------------------------------------------------------------------------------------------------
// The reader
// ---------------------------------------------------------------------------------------------------------------

static double read_line(WNNGraph graph, bool late, uint32_t width, float *image, float *scores)
{
    uint32_t shape[4] = {1, 3, 32, width};
    size_t bytes = (size_t)3 * 32 * width * sizeof *image;
    size_t result = (size_t)((width + 1) / 2 + 1) / 2 * CLASSES * sizeof *scores;
    WNNNamedShape named = {view("image"), {shape, 4}};
    WNNNamedBuffer in = {view("image"), image, bytes, WNNDataType_Float32};
    WNNNamedBuffer out = {view("scores"), scores, result, WNNDataType_Float32};
    return run(graph, late ? 1 : 0, &named, 1, &in, 1, &out);
}

static void measure_reader(void)
{
    struct late_reader of = {0, CLASSES};
    WNNGraph late = late_reader_build(session.context, &of, &weights, sizeof message, message);
    require(late, "the reader");
    float *image = must_allocate_line((size_t)3 * 32 * MAX_WIDTH * sizeof *image);
    float *scores = must_allocate_line((size_t)(MAX_WIDTH / 4 + 1) * CLASSES * sizeof *scores);
    float *expected = must_allocate_line((size_t)(MAX_WIDTH / 4 + 1) * CLASSES * sizeof *expected);
    for (size_t i = 0; i < (size_t)3 * 32 * MAX_WIDTH; i++)
        image[i] = (float)(i * 7919 % 255) / 255;
    double sum = 0, known_sum = 0, first_sum = 0, built_sum = 0, worst = 0;
    uint32_t worst_width = 0;
    for (unsigned i = 0; i < options->widths; i++) {
        uint32_t width = options->widths > 1
                             ? MIN_WIDTH + (MAX_WIDTH - MIN_WIDTH) * i / (options->widths - 1) - i % 3
                             : MAX_WIDTH;
        width = width < MIN_WIDTH ? MIN_WIDTH : width;
        of.width = width;
        double begin = now_seconds();
        WNNGraph known = late_reader_build(session.context, &of, &weights, sizeof message, message);
        built_sum += now_seconds() - begin;
        require(known, "the reader of one width");
        double first = read_line(late, true, width, image, scores);
        read_line(known, false, width, image, expected);
        require(memcmp(scores, expected, (size_t)((width + 1) / 2 + 1) / 2 * CLASSES * sizeof *scores) == 0,
                "the scores differ");
        double a = INFINITY, b = INFINITY;
        for (unsigned round = 0; round < options->rounds; round++) {
            a = fmin(a, read_line(late, true, width, image, scores));
            b = fmin(b, read_line(known, false, width, image, expected));
        }
        wnnGraphRelease(known);
        sum += a, known_sum += b, first_sum += first - a;
        if (a / b > worst)
            worst = a / b, worst_width = width;
    }
    printf(
        "reader of %u widths, %u threads: %.3f ms a line, recorded for each %.3f ms, worst %.3f (width %u), "
        "first use takes %.3f ms more, recording and building %.3f ms, ratio %.3f",
        options->widths, options->threads, sum / options->widths * 1e3, known_sum / options->widths * 1e3,
        worst, worst_width, first_sum / options->widths * 1e3, built_sum / options->widths * 1e3,
        sum / known_sum);
    compare(sum / known_sum, 1.05);
    wnnGraphRelease(late);
    free(image);
    free(scores);
    free(expected);
}

// ---------------------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    void (*measure)(void);
} cases[] = {{"specialize", measure_specialize},
             {"decoder", measure_decoder},
             {"reader", measure_reader},
             {"load", measure_load}};

static bool parse(struct options *o, const char *word)
{
    o->check |= strcmp(word, "--check") == 0;
    return strcmp(word, "--check") == 0 || sscanf(word, "--threads=%u", &o->threads) == 1 ||
           sscanf(word, "--tokens=%u", &o->tokens) == 1 || sscanf(word, "--layers=%u", &o->layers) == 1 ||
           sscanf(word, "--pairs=%u", &o->pairs) == 1 || sscanf(word, "--widths=%u", &o->widths) == 1 ||
           sscanf(word, "--rounds=%u", &o->rounds) == 1 || sscanf(word, "--sizes=%u", &o->sizes) == 1;
}

int main(int argc, char **argv)
{
    struct options given = {
        .threads = 1, .tokens = 2048, .layers = 24, .pairs = 3, .widths = 24, .rounds = 7, .sizes = 200};
    int first = 1;
    while (first < argc && argv[first][0] == '-' && parse(&given, argv[first]))
        first++;
    bool good = first < argc && given.tokens && given.layers && given.pairs && HEADS % given.pairs == 0 &&
                given.widths && given.rounds && given.sizes;
    for (int i = first; i < argc; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            known |= strcmp(argv[i], cases[k].name) == 0;
        good = good && known;
    }
    if (!good)
        return fputs(usage, stderr), 2;
    options = &given;
    struct session_options opened = SESSION_OPTIONS_INIT;
    struct error error = {0};
    opened.threads = given.threads;
    if (!session_open(&session, &opened, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    for (int i = first; i < argc; i++)
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            if (strcmp(argv[i], cases[k].name) == 0) {
                cases[k].measure();
                late_weights_free(&weights);
            }
    session_close(&session);
    return given.check && missed;
}
