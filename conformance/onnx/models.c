// SPDX-License-Identifier: Apache-2.0
//
// Runs the backend tests of ONNX: models with inputs and what they give. A folder holds folders of tests,
// each with model.onnx and test_data_set_N/{input,output}_K.pb. Each test passes, fails, or is refused with
// the library's reason; a file lists which are refused, and why. A test that is listed and is not refused, or
// for another reason, fails, too. A table tells for each operator of the models how many passed, failed and
// were refused.
//
//   onnx-models [--backend=NAME] [--refused=FILE] [--write] [--least=N] [--late=WAY] [FOLDER [TEST...]]
//
// Without a folder: the one that ONNX_MODELS names. --write makes the list, and with --least fewer tests that
// pass are a failure, or fewer of unknown sizes. With --late dimensions of inputs are not known while the
// model is recorded: "named", those of one size have one name; "unknown", none has one; "first" and "rest",
// only the first or all others of an input are unknown. What is refused then is counted, and not looked up;
// so is what was recorded with all inputs, and sizes that are not known.

#include "lib/dtype.h"
#include "tools/model/onnx/call.h"
#include "tools/model/onnx/record.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webnn/webnn.h>

#define MAX_OPERANDS 64

enum late {
    LATE_NONE,
    LATE_NAMED,
    LATE_UNKNOWN,
    LATE_FIRST,
    LATE_REST
};
static const char *const late_ways[] = {"none", "named", "unknown", "first", "rest"};
static enum late late;
static size_t late_count;

struct data {
    struct bytes bytes;
    void *owned;
};

struct sample {
    struct tensor *inputs[MAX_OPERANDS], *outputs[MAX_OPERANDS];
    size_t input_count, output_count;
    void *files[2 * MAX_OPERANDS];
    size_t file_count;
    bool is_unread; // some are no tensors of numbers: the library has to refuse the model
};

static bool read_file(const char *path, struct data *data)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    data->owned = malloc((size_t)size + 1);
    bool good = data->owned && fread(data->owned, 1, (size_t)size, file) == (size_t)size;
    data->bytes = (struct bytes){data->owned, (size_t)size};
    fclose(file);
    return good;
}

// Tensors of a data set, as far as there are any; NULL for what is no tensor of numbers.
static void read_tensors(struct recording *r, struct sample *s, const char *folder, const char *kind,
                         struct tensor **tensors, size_t *count, const struct onnx_value *values,
                         size_t value_count)
{
    for (*count = 0; *count < MAX_OPERANDS; (*count)++) {
        char path[1100];
        snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", folder, kind, *count);
        struct data data;
        if (!read_file(path, &data))
            return;
        struct onnx_tensor source;
        s->files[s->file_count++] = data.owned;
        const struct onnx_value *value = *count < value_count ? &values[*count] : NULL;
        const char *fault = wnn_onnx_tensor(NULL, data.bytes, &source);
        bool is_read = !fault && source.type != ONNX_UNDEFINED && source.type != ONNX_STRING &&
                       !(value && value->type >= ONNX_SEQUENCE);
        if (value && value->type == ONNX_BFLOAT16)
            source.type = ONNX_BFLOAT16; // whose bits numpy has as uint16
        tensors[*count] = is_read ? make_initializer(r, &source) : NULL;
        s->is_unread |= !require_known(r, tensors[*count], "it");
        r->failed = false;
    }
}

static double element_of(const unsigned char *data, WNNDataType type, int64_t i)
{
    return wnn_number_double(wnn_number_load(type, data, (size_t)i));
}

static bool is_near(double is, double expected, int64_t type)
{
    if (is == expected || (isnan(is) && isnan(expected)))
        return true;
    if (!is_real(type))
        return (type == ONNX_UINT8 || type == ONNX_INT8) &&
               fabs(is - expected) <= 1; // a tie that rounds the other way
    double relative = type == ONNX_FLOAT16 || type == ONNX_BFLOAT16 ? 1e-2 : 1e-3;
    return fabs(is - expected) <= 1e-5 + (type == ONNX_FLOAT16 ? 1e-3 : 0) + relative * fabs(expected);
}

// NULL: as expected.
static const char *compare(const struct tensor *expected, const unsigned char *data, WNNDataType type,
                           WNNUint32List shape)
{
    static char message[200];
    bool same = shape.count == expected->rank;
    for (size_t i = 0; same && i < shape.count; i++)
        same = shape.data[i] == expected->dims[i];
    if (!same)
        return "an output has another shape";
    for (int64_t i = 0; i < count_elements(expected); i++) {
        double is = element_of(data, type, i), wanted = known_number(expected, i);
        if (expected->type == ONNX_DOUBLE)
            wanted = (double)(float)wanted; // which narrowing was asked for
        if (!is_near(is, wanted, expected->type)) {
            snprintf(message, sizeof message, "element %lld is %.7g, expected %.7g", (long long)i, is,
                     wanted);
            return message;
        }
    }
    return NULL;
}

// Builds and computes what was recorded; NULL: as expected.
static const char *compute(WNNContext context, WNNGraphBuilder builder, const struct onnx_file *file,
                           const struct sample *s, const bool *known, WNNNamedOperand *outputs, size_t count)
{
    static char message[1024];
    WNNNamedBuffer inputs[MAX_OPERANDS], results[MAX_OPERANDS];
    void *owned[MAX_OPERANDS];
    WNNNamedShape named[MAX_OPERANDS];
    WNNOutputShape shapes[MAX_OPERANDS];
    uint32_t dims[MAX_OPERANDS][MAX_RANK];
    size_t input_count = 0, at = 0;
    const char *fault = NULL;
    WNNGraph graph = NULL;
    if (wnnGraphBuilderBuildSync(builder, count, outputs, &graph, sizeof message, message) !=
        WNNStatus_Success)
        fault = message;
    struct recording r = {.narrow = true};
    for (size_t i = 0; i < file->graph.input_count && at < s->input_count; i++, at++) {
        if (known[i])
            continue;
        WNNDataType type = operand_type(&r, s->inputs[at]->type);
        size_t elements = (size_t)count_elements(s->inputs[at]);
        unsigned char *data = calloc(elements, wnn_dtype_bytes(type, 1));
        owned[input_count] = data;
        for (size_t k = 0; k < elements; k++)
            store_element(s->inputs[at], type, (int64_t)k, data);
        struct bytes name = file->graph.inputs[i].name;
        inputs[input_count] = (WNNNamedBuffer){{(const char *)name.data, name.size},
                                               data,
                                               elements * wnn_dtype_bytes(type, 1),
                                               WNNDataType_Undefined};
        for (size_t k = 0; k < s->inputs[at]->rank; k++)
            dims[input_count][k] = (uint32_t)s->inputs[at]->dims[k];
        named[input_count] =
            (WNNNamedShape){inputs[input_count].name, {dims[input_count], s->inputs[at]->rank}};
        input_count++;
    }
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    // Inputs that nothing reads are no inputs of the graph.
    size_t used = 0, all_count = 0;
    const WNNNamedDescriptor *all = fault ? NULL : wnnGraphGetInputs(graph, &all_count);
    for (size_t i = 0; !fault && i < input_count; i++) {
        WNNNamedBuffer one = inputs[i];
        bool there = false;
        for (size_t k = 0; k < all_count && !there; k++)
            there = all[k].name.length == one.name.length &&
                    memcmp(all[k].name.data, one.name.data, one.name.length) == 0;
        if (there) {
            named[used] = named[i];
            inputs[used++] = one;
        }
    }
    for (size_t i = 0; i < count; i++)
        shapes[i] = (WNNOutputShape)WNN_OUTPUT_SHAPE_INIT;
    if (!fault && wnnGraphComputeShapes(graph, used, named, count, shapes, sizeof message, message) !=
                      WNNStatus_Success)
        fault = message;
    size_t made = fault ? 0 : count;
    for (size_t i = 0; i < made; i++)
        results[i] = (WNNNamedBuffer){outputs[i].name, calloc(1, shapes[i].byteLength + 1),
                                      shapes[i].byteLength, WNNDataType_Undefined};
    WNNInputShapes input_shapes = {{NULL, WNNSType_InputShapes}, used, named};
    descriptor.nextInChain = &input_shapes.chain;
    descriptor.inputs = inputs;
    descriptor.inputCount = fault ? 0 : used;
    descriptor.outputs = results;
    descriptor.outputCount = count;
    if (!fault && wnnContextComputeSync(context, &descriptor, sizeof message, message) != WNNStatus_Success)
        fault = message;
    for (size_t i = 0; !fault && i < count && i < s->output_count; i++)
        if (s->outputs[i])
            fault = compare(s->outputs[i], results[i].data, shapes[i].dataType,
                            (WNNUint32List){shapes[i].dimensions, shapes[i].rank});
    for (size_t i = 0; i < input_count; i++)
        free(owned[i]);
    for (size_t i = 0; i < made; i++)
        free(results[i].data);
    if (graph)
        wnnGraphRelease(graph);
    return fault;
}

enum result {
    PASSED,
    FAILED,
    REFUSED
};

#define MAX_OPERATORS 32 // of a test
#define MAX_ROWS      512

struct operators {
    char names[MAX_OPERATORS][96];
    size_t count;
};

// The operators that a model has, each once; what graphs within it have is not among them.
static void find_operators(const struct onnx_file *file, struct operators *to)
{
    to->count = 0;
    for (size_t i = 0; i < file->graph.node_count && to->count < MAX_OPERATORS; i++) {
        struct onnx_node node;
        struct model_memory memory = {.limit = SIZE_MAX / 4};
        wnn_onnx_node(&memory, file->graph.nodes[i], &node);
        wnn_model_free(&memory);
        char *name = to->names[to->count];
        snprintf(name, sizeof to->names[0], "%.*s%s%.*s", (int)node.domain.size,
                 node.domain.size ? (const char *)node.domain.data : "", node.domain.size ? "." : "",
                 (int)node.operation.size, node.operation.size ? (const char *)node.operation.data : "");
        size_t k = 0;
        while (strcmp(to->names[k], name) != 0)
            k++;
        to->count += k == to->count;
    }
}

// Inputs that decide shapes have to be known: integers in all but the first place, then all small ones but
// the first, then all that are no float32, and then all.
static bool is_decisive(const struct tensor *t, size_t index, int attempt)
{
    if (attempt == 0)
        return false;
    if (attempt == 1)
        return index > 0 && !is_real(t->type) && t->rank <= 1;
    if (attempt == 2)
        return (index > 0 || t->rank == 0) && t->rank <= 1;
    return attempt > 3 || !is_real(t->type) || t->type == ONNX_DOUBLE || t->rank == 0;
}

// Takes away the sizes of dimensions of inputs.
static void forget_sizes(struct onnx_file *file, const struct sample *s, struct model_memory *memory)
{
    for (size_t i = 0; i < s->input_count && i < file->graph.input_count; i++) {
        struct onnx_value *value = &file->graph.inputs[i];
        for (size_t k = 0; s->inputs[i] && k < value->rank && value->rank == s->inputs[i]->rank; k++) {
            char *name = wnn_model_allocate(memory, 24, 1);
            if (late == LATE_NONE || (late == LATE_FIRST && k > 0) || (late == LATE_REST && k == 0))
                continue;
            snprintf(name, 24, "%lld", (long long)s->inputs[i]->dims[k]);
            value->dims[k] = (struct onnx_dimension){.known = false};
            if (late == LATE_NAMED)
                value->dims[k].param = (struct bytes){(const unsigned char *)name, strlen(name)};
        }
    }
}

static enum result run(WNNContext context, const char *folder, struct operators *operators, char *reason,
                       size_t size)
{
    static const char unread[] = "it is recorded, and its inputs or outputs are not all tensors of numbers";
    struct model_memory memory = {.limit = (size_t)1 << 30};
    struct recording r = {.memory = &memory};
    struct sample *s = calloc(1, sizeof *s);
    struct onnx_file file = {0};
    struct data data = {0};
    char path[1100];
    enum result result = REFUSED;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    const char *fault =
        read_file(path, &data) ? wnn_onnx_open(data.bytes, &memory, &file) : "there is no model";
    if (fault) {
        result = FAILED;
        snprintf(reason, size, "%s", fault);
    } else {
        read_tensors(&r, s, folder, "input", s->inputs, &s->input_count, file.graph.inputs,
                     file.graph.input_count);
        read_tensors(&r, s, folder, "output", s->outputs, &s->output_count, file.graph.outputs,
                     file.graph.output_count);
        find_operators(&file, operators);
        forget_sizes(&file, s, &memory);
        for (int attempt = 0; attempt < 5 && result == REFUSED; attempt++) {
            WNNGraphBuilder builder = NULL;
            WNNNamedOperand outputs[MAX_OPERANDS];
            WNNModelInputValue known[MAX_OPERANDS];
            uint32_t sizes[MAX_OPERANDS][MAX_RANK];
            bool is_given[MAX_OPERANDS] = {false};
            size_t count = 0, known_count = 0;
            char errors[4096] = "";
            for (size_t i = 0; i < s->input_count && i < file.graph.input_count; i++) {
                struct tensor *t = s->inputs[i];
                if (!t)
                    continue;
                is_given[i] = is_decisive(t, i, attempt);
                struct bytes name = file.graph.inputs[i].name;
                WNNModelInputValue *given = &known[known_count++];
                *given = (WNNModelInputValue)WNN_MODEL_INPUT_VALUE_INIT;
                given->name = (WNNStringView){(const char *)name.data, name.size};
                for (size_t k = 0; k < t->rank; k++)
                    sizes[i][k] = (uint32_t)t->dims[k];
                if (t->rank == file.graph.inputs[i].rank && (!late || is_given[i]))
                    given->shape = (WNNUint32List){sizes[i], t->rank};
                if (is_given[i]) { // as raw data of the model's type
                    size_t n = (size_t)count_elements(t);
                    double *raw = wnn_model_allocate(&memory, n + 1, 8);
                    WNNDataType type = operand_type(&(struct recording){0}, t->type);
                    for (size_t k = 0; k < n; k++)
                        if (t->type == ONNX_DOUBLE)
                            raw[k] = t->reals[k];
                        else
                            store_element(t, type, (int64_t)k, (unsigned char *)raw);
                    given->data = raw;
                    given->byteLength = n * (t->type == ONNX_DOUBLE ? 8 : wnn_dtype_bytes(type, 1));
                }
            }
            wnnContextCreateGraphBuilder(context, &builder);
            WNNModelRecordOptions options = {.inputCount = known_count,
                                             .inputs = known,
                                             .narrow = true,
                                             .nameDimensions = late != LATE_NONE};
            struct model_record record = {.builder = builder,
                                          .options = &options,
                                          .errors = {NULL, errors, sizeof errors, 0, 0},
                                          .capacity = MAX_OPERANDS,
                                          .memory_limit = (size_t)1 << 32,
                                          .outputs = outputs};
            if (wnn_onnx_record(&file, &record)) {
                count = file.graph.output_count;
                fault = s->is_unread ? unread : compute(context, builder, &file, s, is_given, outputs, count);
                result = fault ? FAILED : PASSED;
                late_count += late && attempt == 0 && result == PASSED;
                snprintf(reason, size, "%s", fault ? fault : "");
            } else { // the reason that is left when what decides shapes is known
                snprintf(reason, size, "%s", errors);
            }
            wnnGraphBuilderRelease(builder);
        }
    }
    for (size_t i = 0; i < s->file_count; i++)
        free(s->files[i]);
    free(s);
    free(data.owned);
    wnn_model_free(&memory);
    return result;
}

// ---------------------------------------------------------------------------------------------------------------
// What is expected to be refused
// ---------------------------------------------------------------------------------------------------------------

// A line each, "folder/test: reason".
struct refusals {
    struct data file;
    char **lines;
    bool *met; // by line: its test ran
    size_t count;
    FILE *write; // where they are written, in place of being read
};

static bool read_refusals(const char *path, struct refusals *refusals)
{
    if (!read_file(path, &refusals->file)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    char *text = refusals->file.owned;
    text[refusals->file.bytes.size] = 0;
    refusals->lines = calloc(refusals->file.bytes.size + 1, sizeof refusals->lines[0]);
    refusals->met = calloc(refusals->file.bytes.size + 1, 1);
    for (char *line = strtok(text, "\n"); refusals->lines && refusals->met && line; line = strtok(NULL, "\n"))
        if (line[0] != '#')
            refusals->lines[refusals->count++] = line;
    return refusals->lines && refusals->met;
}

static bool write_refusals(const char *path, struct refusals *refusals)
{
    refusals->write = fopen(path, "w");
    if (!refusals->write)
        fprintf(stderr, "%s: cannot be written\n", path);
    else
        fprintf(refusals->write,
                "# SPDX-License-Identifier: Apache-2.0\n#\n"
                "# The backend tests of ONNX that are refused, and why: folder/test: reason.\n");
    return refusals->write != NULL;
}

// The reason that is listed for a test; NULL: there is none.
static const char *find_refusal(const struct refusals *refusals, const char *test)
{
    size_t length = strlen(test);
    for (size_t i = 0; i < refusals->count; i++)
        if (strncmp(refusals->lines[i], test, length) == 0 &&
            strncmp(refusals->lines[i] + length, ": ", 2) == 0) {
            refusals->met[i] = true;
            return refusals->lines[i] + length + 2;
        }
    return NULL;
}

static void free_refusals(struct refusals *refusals)
{
    if (refusals->write)
        fclose(refusals->write);
    free(refusals->lines);
    free(refusals->met);
    free(refusals->file.owned);
}

// ---------------------------------------------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------------------------------------------

struct row {
    char name[96], reason[200]; // of the first test of the operator that is refused or fails
    size_t counts[REFUSED + 1];
};

struct tally {
    struct row rows[MAX_ROWS];
    size_t row_count, counts[REFUSED + 1];
    size_t wrong; // refusals that are not as they are listed
};

static void count_row(struct tally *tally, const char *name, enum result result, const char *reason)
{
    size_t i = 0;
    while (i < tally->row_count && strcmp(tally->rows[i].name, name) != 0)
        i++;
    if (i == MAX_ROWS)
        return;
    tally->row_count += i == tally->row_count;
    struct row *row = &tally->rows[i];
    snprintf(row->name, sizeof row->name, "%s", name);
    row->counts[result]++;
    if (result != PASSED && row->reason[0] == 0)
        snprintf(row->reason, sizeof row->reason, "%.199s", reason);
}

// Whether a reason names a node of an operator, whose domain does not stand there.
static bool is_named(const char *reason, const char *name)
{
    char text[100];
    const char *dot = strrchr(name, '.');
    snprintf(text, sizeof text, "(%s): ", dot ? dot + 1 : name);
    return strstr(reason, text) != NULL;
}

// A test counts for each of its operators; one that is refused for those that the reason names, if it does.
static void count_test(struct tally *tally, const struct operators *operators, enum result result,
                       const char *reason)
{
    bool names_any = false;
    tally->counts[result]++;
    for (size_t i = 0; i < operators->count; i++)
        names_any |= result == REFUSED && is_named(reason, operators->names[i]);
    for (size_t i = 0; i < operators->count; i++)
        if (!names_any || is_named(reason, operators->names[i]))
            count_row(tally, operators->names[i], result, reason);
}

static int compare_rows(const void *one, const void *other)
{
    return strcmp(((const struct row *)one)->name, ((const struct row *)other)->name);
}

static void print_rows(struct tally *tally)
{
    qsort(tally->rows, tally->row_count, sizeof tally->rows[0], compare_rows);
    printf("%-44s %6s %6s %7s\n", "operator", "passed", "failed", "refused");
    for (size_t i = 0; i < tally->row_count; i++) {
        const struct row *row = &tally->rows[i];
        printf("%-44s %6zu %6zu %7zu%s%s\n", row->name, row->counts[PASSED], row->counts[FAILED],
               row->counts[REFUSED], row->reason[0] ? "  " : "", row->reason);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

// Errors stand in lines; a reason is one line.
static void join_lines(char *to, size_t size, const char *lines)
{
    size_t at = 0;
    for (; *lines && at + 3 < size; lines++) {
        if (*lines == '\n')
            to[at++] = ';';
        to[at++] = *lines == '\n' ? ' ' : *lines;
    }
    to[at] = 0;
}

// `test` is "folder/test".
static void run_test(WNNContext context, const char *folder, const char *test, struct refusals *refusals,
                     struct tally *tally)
{
    char path[1024], lines[4096] = "", reason[4096];
    struct operators operators = {.count = 0};
    snprintf(path, sizeof path, "%s/%s", folder, test);
    enum result result = run(context, path, &operators, lines, sizeof lines);
    join_lines(reason, sizeof reason, lines);
    count_test(tally, &operators, result, reason);
    const char *listed = find_refusal(refusals, test);
    if (result == FAILED)
        printf("failed: %s: %s\n", test, reason);
    if (result == REFUSED && refusals->write)
        fprintf(refusals->write, "%s: %s\n", test, reason);
    if (listed ? result != REFUSED || strcmp(listed, reason) != 0 : result == REFUSED && refusals->lines) {
        tally->wrong++;
        if (!listed)
            printf("refused, but not listed: %s: %s\n", test, reason);
        else
            printf("listed as refused, \"%s\", but %s%s: %s\n", listed,
                   result == REFUSED ? "refused: " : "it ran", result == REFUSED ? reason : "", test);
    }
    fflush(stdout);
}

static bool is_wanted(const char *name, char *const *tests, int count)
{
    bool wanted = count == 0 && name[0] != '.';
    for (int i = 0; i < count; i++)
        wanted |= strcmp(tests[i], name) == 0;
    return wanted;
}

static void run_folder(WNNContext context, const char *folder, char *const *tests, int test_count,
                       struct refusals *refusals, struct tally *tally)
{
    static const char *const kinds[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        char path[512], test[512];
        struct dirent **entries;
        snprintf(path, sizeof path, "%s/%s", folder, kinds[kind]);
        int count = scandir(path, &entries, NULL, by_name);
        for (int i = 0; i < count; i++) {
            snprintf(test, sizeof test, "%s/%s", kinds[kind], entries[i]->d_name);
            if (is_wanted(entries[i]->d_name, tests, test_count))
                run_test(context, folder, test, refusals, tally);
            free(entries[i]);
        }
        if (count >= 0)
            free(entries);
    }
    for (size_t i = 0; test_count == 0 && i < refusals->count; i++)
        if (!refusals->met[i]) {
            printf("listed as refused, but there is no such test: %s\n", refusals->lines[i]);
            tally->wrong++;
        }
}

int main(int argc, char **argv)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    const char *folder = NULL, *refused_path = NULL;
    bool writes = false;
    size_t least = 0;
    int first = argc;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--backend=", 10) == 0)
            descriptor.deviceType =
                strcmp(argv[i] + 10, "vulkan") == 0 ? WNNDeviceType_GPU : WNNDeviceType_CPU;
        else if (strncmp(argv[i], "--refused=", 10) == 0)
            refused_path = argv[i] + 10;
        else if (strncmp(argv[i], "--least=", 8) == 0)
            least = strtoul(argv[i] + 8, NULL, 10);
        else if (strncmp(argv[i], "--late=", 7) == 0)
            for (enum late way = LATE_NAMED; way <= LATE_REST; way++)
                late = strcmp(argv[i] + 7, late_ways[way]) == 0 ? way : late;
        else if (strcmp(argv[i], "--write") == 0)
            writes = true;
        else if (!folder)
            folder = argv[i], first = i + 1;
    }
    folder = folder ? folder : getenv("ONNX_MODELS");
    if (!folder || !*folder) {
        printf("skipped: ONNX_MODELS names no folder of models\n");
        return 77;
    }
    WNNContext context = NULL;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success) {
        printf("skipped: there is no such device\n");
        return 77;
    }
    struct refusals refusals = {.count = 0};
    bool good = !refused_path ||
                (writes ? write_refusals(refused_path, &refusals) : read_refusals(refused_path, &refusals));
    static struct tally tally;
    if (good)
        run_folder(context, folder, argv + first, argc - first, &refusals, &tally);
    free_refusals(&refusals);
    wnnContextRelease(context);
    print_rows(&tally);
    if (late)
        printf("%zu with unknown sizes and all inputs\n", late_count);
    size_t counted = late ? late_count : tally.counts[PASSED];
    printf("%zu passed, %zu failed, %zu refused; %zu refusals are not as listed\n", tally.counts[PASSED],
           tally.counts[FAILED], tally.counts[REFUSED], tally.wrong);
    if (counted < least)
        printf("at least %zu are to %s\n", least, late ? "have unknown sizes and all inputs" : "pass");
    return !good || tally.counts[FAILED] > 0 || tally.wrong > 0 || counted < least;
}
