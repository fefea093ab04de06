// SPDX-License-Identifier: Apache-2.0
//
// webnn-random-graphs: runs random graphs on a backend and compares them with the reference.
//
// How far a result may be off is found by running the graph a few more times on the reference with every
// operator perturbed within its tolerance: what a graph makes of those errors, times a margin, is allowed.
// With --strict, hostile graphs are run in contexts with strictNumerics instead, and compared as strict.c
// says.

#include "conformance/backends.h"
#include "conformance/compare.h"
#include "conformance/cross/generate.h"
#include "conformance/cross/strict.h"
#include "conformance/reference/reference.h"
#include "conformance/test.h"
#include "conformance/weightless.h"
#include "ops/builder.h"
#include "runtime/context.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERTURBED_RUNS 4
#define MARGIN         4.0

static const char usage[] =
    "usage: webnn-random-graphs [options]\n"
    "\n"
    "  --count=N         how many graphs (200)\n"
    "  --seed=S          the seed that all graphs come from (1)\n"
    "  --start=I         the number of the first graph (0)\n"
    "  --backend=NAME    what to test (cpu)\n"
    "  --edges           sizes at which kernels cut their loops, in all graphs\n"
    "  --tensors         compute by dispatch()\n"
    "  --weightless      saved without the bytes of constants that have names, and loaded\n"
    "  --strict          NaN, infinities, denormals and huge numbers, in strict mode\n"
    "  --without-pass=NAME  leave a pass of the compiler out; may be repeated\n"
    "  --coverage        print how often each operator was used\n";

// One context and what it made of the current graph.
struct side {
    const char *name;
    WNNContext context;
    bool strict, missing; // missing: there is no device
    bool tensors;         // compute by dispatch()
    bool weightless;      // of what was saved without weights
    struct random_kind kind;
    uint64_t seed; // of the current graph
    WNNGraphBuilder builder;
    WNNGraph graph;
    struct random_graph recorded;
    void **outputs; // by output
};

struct program {
    uint64_t count, seed, start;
    const char *backend;
    uint32_t skipped_passes;
    bool coverage, edges, strict;
    struct side reference, perturbed, subjects[3];
    uint64_t failed, empty, elements, skipped;
    uint64_t uses[WNN_OP_COUNT];
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDu;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53u;
    return x ^ x >> 33;
}

// ---------------------------------------------------------------------------------------------------------------
// One graph on one context
// ---------------------------------------------------------------------------------------------------------------

static void clear(struct side *side)
{
    for (size_t i = 0; side->outputs != NULL && i < side->recorded.output_count; i++)
        free(side->outputs[i]);
    free(side->outputs);
    side->outputs = NULL;
    wnn_random_graph_free(&side->recorded);
    wnnGraphRelease(side->graph);
    wnnGraphBuilderRelease(side->builder);
    side->graph = NULL;
    side->builder = NULL;
    side->recorded = (struct random_graph){0};
}

static bool record(struct side *side, uint64_t seed, struct text *message)
{
    if (wnnContextCreateGraphBuilder(side->context, &side->builder) != WNNStatus_Success) {
        wnn_text_add(message, "no builder");
        return false;
    }
    side->seed = seed;
    wnn_random_graph(seed, side->kind, side->builder, &side->recorded);
    WNNError error;
    wnnGraphBuilderGetError(side->builder, &error);
    if (error.status != WNNStatus_Success)
        wnn_text_add(message, "%s: %s", wnnStatusName(error.status).data, error.message.data);
    return error.status == WNNStatus_Success;
}

static bool build_weightless(struct side *side, const WNNNamedOperand *outputs, struct text *message)
{
    char problem[1024];
    struct serialized bytes = {0};
    size_t count = side->recorded.output_count;
    side->graph = wnn_build_weightless(side->context, side->builder, count, outputs, side->seed, &bytes,
                                       sizeof problem, problem);
    free(bytes.data);
    if (!side->graph)
        wnn_text_add(message, "%s", problem);
    return side->graph != NULL;
}

static bool build(struct side *side, struct text *message)
{
    WNNNamedOperand outputs[MAX_VALUES];
    const struct random_graph *recorded = &side->recorded;
    for (size_t i = 0; i < recorded->output_count; i++)
        outputs[i] =
            (WNNNamedOperand){{recorded->outputs[i].name, WNN_STRLEN}, recorded->outputs[i].value->operand};
    return side->weightless ? build_weightless(side, outputs, message)
                            : wnn_build_and_wait(side->context, side->builder, recorded->output_count,
                                                 outputs, &side->graph, message);
}

static WNNNamedBuffer find_input(const struct random_graph *recorded, WNNStringView name)
{
    for (size_t i = 0; i < recorded->input_count; i++) {
        const struct random_input *input = &recorded->inputs[i];
        if (strcmp(input->name, name.data) == 0)
            return (WNNNamedBuffer){name, input->data, input->bytes, input->type.type};
    }
    return (WNNNamedBuffer){name, NULL, 0, WNNDataType_Undefined};
}

static bool compute(struct side *side, struct text *message)
{
    const struct random_graph *recorded = &side->recorded;
    WNNNamedBuffer inputs[MAX_VALUES], outputs[MAX_VALUES];
    size_t input_count;
    const WNNNamedDescriptor *needed = wnnGraphGetInputs(side->graph, &input_count);
    for (size_t i = 0; i < input_count; i++)
        inputs[i] = find_input(recorded, needed[i].name);
    if (side->outputs == NULL)
        side->outputs = calloc(recorded->output_count, sizeof *side->outputs);
    for (size_t i = 0; i < recorded->output_count; i++) {
        const struct value *value = recorded->outputs[i].value;
        size_t bytes = wnn_descriptor_bytes(&value->type);
        if (side->outputs != NULL && side->outputs[i] == NULL)
            side->outputs[i] = malloc(bytes + 1);
        if (side->outputs == NULL || side->outputs[i] == NULL) {
            wnn_text_add(message, "out of memory");
            return false;
        }
        memset(side->outputs[i], 0x5A, bytes);
        outputs[i] = (WNNNamedBuffer){{recorded->outputs[i].name, WNN_STRLEN},
                                      bytes ? side->outputs[i] : NULL,
                                      bytes,
                                      value->type.type};
    }
    return (side->tensors ? wnn_dispatch_and_wait : wnn_compute_and_wait)(
        side->context, side->graph, input_count, inputs, recorded->output_count, outputs, message);
}

// ---------------------------------------------------------------------------------------------------------------
// What is allowed
// ---------------------------------------------------------------------------------------------------------------

// What the perturbed runs showed of one element.
struct spread {
    float
        deviation; // the greatest difference from the reference; infinite where one of the two is not finite
};

static size_t elements_of(const struct value *value)
{
    return wnn_shape_elements(&value->type.shape);
}

static void note_deviations(const struct program *program, size_t output, struct spread *spreads)
{
    const struct value *value = program->reference.recorded.outputs[output].value;
    WNNDataType type = value->type.type;
    for (size_t i = 0; i < elements_of(value); i++) {
        double exact = wnn_element_double(type, program->reference.outputs[output], i);
        double moved = wnn_element_double(type, program->perturbed.outputs[output], i);
        double deviation = isfinite(exact) && isfinite(moved) ? fabs(exact - moved)
                           : isnan(exact) == isnan(moved) && (isnan(exact) || exact == moved) ? 0
                                                                                              : INFINITY;
        if (deviation > spreads[i].deviation)
            spreads[i].deviation = (float)deviation;
    }
}

static double mean_deviation(const struct spread *spreads, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += isfinite(spreads[i].deviation) ? spreads[i].deviation : 0;
    return sum / (double)count;
}

// How far element i may be off; a part of the mean covers elements that the perturbations happened to leave
// alone.
static double allowed(const struct value *value, const struct spread *spreads, double mean, size_t i,
                      double exact)
{
    if (!wnn_dtype_is_float(value->type.type))
        return value->rounded ? 1 : 0;
    bool half = value->type.type == WNNDataType_Float16;
    double unit = half ? 0x1p-10 : 0x1p-23, least = half ? 0x1p-23 : 1e-30;
    return MARGIN * (spreads[i].deviation + 0.05 * mean + unit * fabs(exact)) + least;
}

struct finding {
    size_t output, element;
    double difference, allowed;
    size_t count;
};

// Compares one output; returns false and describes the first bad element.
static bool compare(struct program *program, const struct side *subject, size_t output,
                    const struct spread *spreads, struct finding *finding)
{
    const struct value *value = program->reference.recorded.outputs[output].value;
    const void *expected = program->reference.outputs[output], *got = subject->outputs[output];
    WNNDataType type = value->type.type;
    size_t count = elements_of(value);
    bool exact = value->exact && !value->rounded;
    double mean = mean_deviation(spreads, count);
    *finding = (struct finding){.output = output};
    if (exact) {
        struct difference difference;
        struct tolerance none = {false, 0};
        bool same = wnn_compare(type, count, got, expected, &none, 0, &difference);
        *finding = (struct finding){output, difference.first, difference.distance, 0, difference.count};
        program->elements += count;
        return same;
    }
    for (size_t i = 0; i < count; i++) {
        double x = wnn_element_double(type, expected, i), y = wnn_element_double(type, got, i);
        program->elements++;
        if (isinf(spreads[i].deviation) || (!isfinite(x) && !subject->strict)) {
            program->skipped++;
            continue;
        }
        double difference = isfinite(x) && isfinite(y)         ? fabs(x - y)
                            : x == y || (isnan(x) && isnan(y)) ? 0
                                                               : INFINITY;
        double limit = allowed(value, spreads, mean, i, isfinite(x) ? x : 0);
        if (difference <= limit)
            continue;
        if (finding->count++ == 0) {
            finding->element = i;
            finding->difference = difference;
            finding->allowed = limit;
        }
    }
    return finding->count == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Reports
// ---------------------------------------------------------------------------------------------------------------

static void print(void *argument, const char *text, size_t length)
{
    fwrite(text, 1, length, argument);
}

static void print_graph(const struct side *side)
{
    struct text_sink sink = {print, stdout};
    if (side->graph != NULL)
        wnn_dump_text(&wnn_graph_plan(side->graph)->graph, &sink);
    else
        wnn_dump_text(&side->builder->graph, &sink);
}

static void report(struct program *program, uint64_t index, const struct side *subject, const char *message)
{
    program->failed++;
    printf("FAIL graph %" PRIu64 " of seed %" PRIu64 " on %s: %s\n", index, program->seed, subject->name,
           message);
    print_graph(program->reference.builder != NULL ? &program->reference : subject);
    fflush(stdout);
}

static void report_finding(struct program *program, uint64_t index, const struct side *subject,
                           const struct finding *finding)
{
    const struct random_output *output = &program->reference.recorded.outputs[finding->output];
    char got[48], expected[48], buffer[512];
    struct text text = TEXT(buffer);
    WNNDataType type = output->value->type.type;
    wnn_element_text(type, subject->outputs[finding->output], finding->element, got, sizeof got);
    wnn_element_text(type, program->reference.outputs[finding->output], finding->element, expected,
                     sizeof expected);
    wnn_text_add(&text,
                 "output %s, element %zu: got %s, expected %s; %.4g apart, allowed %.4g; %zu of %zu differ",
                 output->name, finding->element, got, expected, finding->difference, finding->allowed,
                 finding->count, elements_of(output->value));
    report(program, index, subject, buffer);
}

// ---------------------------------------------------------------------------------------------------------------
// The program
// ---------------------------------------------------------------------------------------------------------------

// The spreads of all outputs, one after another; NULL after a failure.
static struct spread *measure(struct program *program, struct text *message)
{
    const struct random_graph *recorded = &program->reference.recorded;
    size_t count = 0, at = 0;
    for (size_t i = 0; i < recorded->output_count; i++)
        count += elements_of(recorded->outputs[i].value);
    struct spread *spreads = calloc(count + 1, sizeof *spreads);
    for (unsigned run = 0; spreads != NULL && run < PERTURBED_RUNS; run++) {
        if (!compute(&program->perturbed, message)) {
            free(spreads);
            return NULL;
        }
        at = 0;
        for (size_t i = 0; i < recorded->output_count; i++) {
            note_deviations(program, i, spreads + at);
            at += elements_of(recorded->outputs[i].value);
        }
    }
    return spreads;
}

static void check_subject(struct program *program, uint64_t index, uint64_t seed, struct side *subject,
                          const struct spread *spreads)
{
    char buffer[1200] = "";
    struct text message = TEXT(buffer);
    struct finding finding;
    size_t at = 0;
    if (!record(subject, seed, &message) || !build(subject, &message) || !compute(subject, &message)) {
        report(program, index, subject, buffer);
        return;
    }
    for (size_t i = 0; i < program->reference.recorded.output_count; i++) {
        if (!compare(program, subject, i, spreads + at, &finding)) {
            report_finding(program, index, subject, &finding);
            return;
        }
        at += elements_of(program->reference.recorded.outputs[i].value);
    }
}

static void run_graph(struct program *program, uint64_t index)
{
    uint64_t seed = mix(mix(program->seed) + index);
    char buffer[1200] = "";
    struct text message = TEXT(buffer);
    struct side *reference = &program->reference, *perturbed = &program->perturbed;
    struct spread *spreads = NULL;
    bool recorded = record(reference, seed, &message);
    if (recorded && reference->recorded.output_count == 0) {
        program->empty++;
    } else if (recorded && build(reference, &message) && compute(reference, &message) &&
               record(perturbed, seed, &message) && build(perturbed, &message) &&
               (spreads = measure(program, &message)) != NULL) {
        for (size_t i = 0; i < 3; i++)
            check_subject(program, index, seed, &program->subjects[i], spreads);
        for (unsigned op = 0; op < WNN_OP_COUNT; op++)
            program->uses[op] += reference->recorded.uses[op];
    } else {
        report(program, index, reference, buffer);
    }
    free(spreads);
    clear(reference);
    clear(perturbed);
    for (size_t i = 0; i < 3; i++)
        clear(&program->subjects[i]);
}

static bool create(struct side *side, const char *name, const struct backend *backend, bool strict,
                   uint32_t skip)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.strictNumerics = strict;
    side->name = name;
    side->strict = strict;
    WNNStatus status =
        backend == NULL ? WNNStatus_TypeError : wnn_create_context_on(backend, &descriptor, &side->context);
    side->missing = status == WNNStatus_NotSupportedError;
    if (status != WNNStatus_Success) {
        fprintf(stderr, "webnn-random-graphs: no context on %s\n", name);
        return false;
    }
    wnn_context_set_compile_options(side->context, skip, true, NULL, NULL);
    return true;
}

static bool read_options(struct program *program, int count, char **arguments)
{
    static const struct option options[] = {
        {"count", required_argument, NULL, 'c'}, {"seed", required_argument, NULL, 's'},
        {"start", required_argument, NULL, 'i'}, {"backend", required_argument, NULL, 'b'},
        {"coverage", no_argument, NULL, 'v'},    {"without-pass", required_argument, NULL, 'p'},
        {"tensors", no_argument, NULL, 't'},     {"weightless", no_argument, NULL, 'w'},
        {"strict", no_argument, NULL, 'x'},      {"edges", no_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case 'c':
            program->count = strtoull(optarg, NULL, 0);
            break;
        case 's':
            program->seed = strtoull(optarg, NULL, 0);
            break;
        case 'i':
            program->start = strtoull(optarg, NULL, 0);
            break;
        case 'b':
            program->backend = optarg;
            break;
        case 'v':
            program->coverage = true;
            break;
        case 'e':
            program->edges = true;
            break;
        case 't':
            program->subjects[0].tensors = program->subjects[1].tensors = true;
            break;
        case 'w':
            program->subjects[0].weightless = program->subjects[1].weightless = true;
            break;
        case 'x':
            program->strict = true;
            break;
        case 'p':
            if (wnn_pass_bit(optarg) == 0) {
                fprintf(stderr, "webnn-random-graphs: there is no pass \"%s\"\n", optarg);
                return false;
            }
            program->skipped_passes |= wnn_pass_bit(optarg);
            break;
        default:
            fputs(usage, option == 'h' ? stdout : stderr);
            return false;
        }
    }
    return true;
}

// Hostile graphs, compiled and not, in strict contexts of one backend.
static int run_strict(struct program *program, const struct backend *backend)
{
    static char text[1 << 16];
    struct side *compiled = &program->subjects[0], *apart = &program->subjects[1];
    bool ready = create(compiled, program->backend, backend, true, program->skipped_passes) &&
                 create(apart, "strict without passes", backend, true, UINT32_MAX);
    if (ready) {
        struct strict_subject subject = {.compiled = compiled->context,
                                         .apart = apart->context,
                                         .flushes = wnn_context_flushes_denormals(compiled->context)};
        printf("seed %" PRIu64 ", hostile graphs %" PRIu64 " to %" PRIu64 "\n", program->seed, program->start,
               program->start + program->count - 1);
        for (uint64_t i = program->start; i < program->start + program->count; i++) {
            char buffer[1200] = "";
            text[0] = 0;
            struct text message = TEXT(buffer), graph = TEXT(text);
            if (wnn_strict_graph(&subject, mix(mix(program->seed) + i), &message, &graph))
                continue;
            program->failed++;
            printf("FAIL hostile graph %" PRIu64 " of seed %" PRIu64 ": %s\n%s", i, program->seed, buffer,
                   text);
            fflush(stdout);
        }
        printf("%" PRIu64 " graphs, %" PRIu64 " elements, %" PRIu64 " not comparable, %" PRIu64 " failures\n",
               program->count, subject.elements, subject.skipped, program->failed);
    }
    wnnContextRelease(compiled->context);
    wnnContextRelease(apart->context);
    return compiled->missing ? 77 : !ready ? 2 : program->failed > 0;
}

int main(int count, char **arguments)
{
    static struct program program = {.count = 200, .seed = 1, .backend = "cpu"};
    if (!read_options(&program, count, arguments))
        return 2;
    const struct backend *backend = find_backend(program.backend);
    if (program.strict)
        return run_strict(&program, backend);
    bool ready =
        create(&program.reference, "reference", &wnn_backend_reference, true, 0) &&
        create(&program.perturbed, "perturbed", &wnn_backend_perturbed, true, 0) &&
        create(&program.subjects[0], program.backend, backend, false, program.skipped_passes) &&
        create(&program.subjects[1], "strict", backend, true, program.skipped_passes) &&
        create(&program.subjects[2], "compiled", &wnn_backend_compiled, true, program.skipped_passes);
    // On any side, denormal numbers may be 0.
    const struct random_kind kind = {.flushed =
                                         ready && wnn_context_flushes_denormals(program.subjects[0].context),
                                     .edges = program.edges};
    program.reference.kind = program.perturbed.kind = kind;
    for (size_t i = 0; i < 3; i++)
        program.subjects[i].kind = kind;
    if (ready) {
        printf("seed %" PRIu64 ", graphs %" PRIu64 " to %" PRIu64 "\n", program.seed, program.start,
               program.start + program.count - 1);
        for (uint64_t i = 0; i < program.count; i++)
            run_graph(&program, program.start + i);
        for (unsigned op = 0; program.coverage && op < WNN_OP_COUNT; op++)
            printf("%8" PRIu64 " %s\n", program.uses[op], wnn_ops[op].name);
        printf("%" PRIu64 " graphs, %" PRIu64 " without outputs, %" PRIu64 " elements of which %" PRIu64
               " were not comparable, %" PRIu64 " failures\n",
               program.count, program.empty, program.elements, program.skipped, program.failed);
    }
    wnnContextRelease(program.reference.context);
    wnnContextRelease(program.perturbed.context);
    wnnContextRelease(program.subjects[0].context);
    wnnContextRelease(program.subjects[1].context);
    wnnContextRelease(program.subjects[2].context);
    return program.subjects[0].missing ? 77 : !ready ? 2 : program.failed > 0;
}
