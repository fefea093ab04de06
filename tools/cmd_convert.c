// SPDX-License-Identifier: Apache-2.0
//
// `webnn convert`: writes a model of any format as a graph file, with its weights in fewer bits if that is
// asked for.

#include "compiler/compile.h"
#include "tools/array.h"
#include "tools/command.h"
#include "tools/compare_models.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/quantize_weights.h"
#include "tools/session.h"
#include "tools/standard_input.h"
#include "tools/standard_output.h"
#include "tools/terminal.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BLOCK        65536
#define MAX_MIN_ELEMENTS 2147483647ul

static const char help[] =
    "Writes a model as a graph file, and its weights in fewer bits.\n\n"
    "Usage: webnn convert [OPTIONS] GRAPH OUT.webnn\n\n"
    "GRAPH is a model of ONNX or TensorFlow Lite, a .webnn file or a built-in architecture.\n"
    "OUT.webnn is the graph as text, with the weights in OUT.safetensors beside it. Dimensions\n"
    "and values that are given with --dim, --shape and --value become fixed. The files appear\n"
    "when they are complete, and have been read back. One of them may be -, standard output,\n"
    "where nothing else is shown then.\n\n"
    "  --weights-out=FILE    the file of the weights, if not OUT.safetensors\n"
    "  --weights=FORM    what weights become: float16, int8[:BLOCK] or uint4[:BLOCK]\n"
    "                    float16   half the size\n"
    "                    int8      a quarter; a scale for each output channel, or for each\n"
    "                              BLOCK of the terms that are summed\n"
    "                    uint4     an eighth, and scales and zero points for blocks, of 32\n"
    "                              terms if no other BLOCK is given\n"
    "                    Weights are what matmul, gemm, conv2d, convTranspose2d, gather, gru\n"
    "                    and lstm read. Where BLOCK does not divide the terms, a size near it\n"
    "                    does, or, as for the tables of gather, int8 takes the place of uint4.\n"
    "  --min-elements=N  smaller constants stay what they are; 1024 by default\n\n"
    "With --weights the model is run before and after, and how far the outputs lie apart is\n"
    "shown: the greatest difference, the same as a part of the greatest magnitude, the root of\n"
    "the mean square, and the cosine of the angle between them.\n\n"
    "  --input=[NAME=]FILE   what it is run on, as with webnn run; may be given for each\n"
    "                    input. The others get random numbers\n"
    "  --seed=N          of the random numbers; 1 by default\n"
    "  --no-compare      does not run it\n"
    "  --verbose         a line for each constant\n"
    "  --json            one JSON object instead of text\n\n" SESSION_HELP_WITH(
        "--weights-in=FILE") "\nExamples:\n\n"
                             "  webnn convert --dim=batch=1 model.onnx model.webnn\n"
                             "  webnn convert --weights=int8 --verbose tools/digits/digits.webnn "
                             "small.webnn\n"
                             "  webnn convert --weights=uint4:64 bert_layer layer.webnn\n"
                             "  webnn bench layer.webnn bert_layer\n";

struct convert_options {
    struct session_options session;
    struct weights_form form;
    struct comparison_inputs inputs;
    const char **files; // inputs.files
    size_t file_capacity;
    const char *in, *out, *weights_out;
    bool compare, verbose, json;
};

// Files under temporary names, and what is known of what they say.
struct work {
    const struct convert_options *options;
    struct session session;
    struct model from, to;
    struct conversion conversion;
    char *weights; // the path of the weights
    char *temporary_graph, *temporary_weights;
    struct output_difference *differences;
    bool compared;
    bool *expanded; // by converted constant: every execution makes floats of it
    struct error error;
};

// ---------------------------------------------------------------------------------------------------------------
// Files
// ---------------------------------------------------------------------------------------------------------------

static char *join(const char *begin, size_t length, const char *end)
{
    char *result = must_allocate(length + strlen(end) + 1);
    memcpy(result, begin, length);
    strcpy(result + length, end);
    return result;
}

// Where the weights of a .webnn file are if nobody says it.
static char *weights_beside(const char *path)
{
    size_t length = strlen(path);
    return join(path, ends_with(path, ".webnn") ? length - strlen(".webnn") : length, ".safetensors");
}

// Beside the file; what goes to standard output, beside the `other` one.
static char *temporary_name(const char *path, const char *other)
{
    char ending[32];
    bool is_stream = is_standard(path);
    snprintf(ending, sizeof ending, ".%ld.%s", (long)getpid(), is_stream ? "out.tmp" : "tmp");
    return join(is_stream ? other : path, strlen(is_stream ? other : path), ending);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_file(const char *path, const struct stat *status)
{
    struct stat other;
    return path && stat(path, &other) == 0 && is_same_file(status, &other);
}

// Whether the process has the file mapped: whatever the format, the model's weights are.
static bool is_mapped(const struct stat *status)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    while (maps && !found && getline(&line, &capacity, maps) > 0) {
        char *path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        found = is_file(path, status);
    }
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

// Whether a file can take the place of what has that name now.
static bool check_place(struct work *work, const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return true;
    if (!S_ISREG(status.st_mode))
        return wnn_fail(&work->error, WNNStatus_TypeError, "%s is no regular file, and is not replaced",
                        path);
    char *weights_in = weights_beside(work->options->in);
    bool needed = is_file(work->options->in, &status) ||
                  is_file(work->options->session.load.weights, &status) || is_file(weights_in, &status) ||
                  is_mapped(&status);
    free(weights_in);
    return !needed || wnn_fail(&work->error, WNNStatus_TypeError,
                               "%s is read for %s, and cannot be replaced by what is made of it", path,
                               work->options->in);
}

static bool check_places(struct work *work)
{
    struct stat status;
    if (is_standard(work->options->out) || is_standard(work->weights))
        return check_place(work, is_standard(work->weights) ? work->options->out : work->weights);
    if (strcmp(work->options->out, work->weights) == 0 ||
        (stat(work->options->out, &status) == 0 && is_file(work->weights, &status)))
        return wnn_fail(&work->error, WNNStatus_TypeError, "%s: the graph and the weights need two files",
                        work->weights);
    return check_place(work, work->options->out) && check_place(work, work->weights);
}

static bool write_draft(struct work *work)
{
    struct error *error = &work->error;
    FILE *file = fopen(work->temporary_graph, "wbx");
    if (!file)
        return wnn_fail(error, WNNStatus_UnknownError, "%s: %s", work->options->out, strerror(errno));
    bool good = model_write(&work->to, file, work->temporary_weights, error);
    bool written = !ferror(file);
    written = fclose(file) == 0 && written;
    return good && (written ||
                    wnn_fail(error, WNNStatus_UnknownError, "%s: %s", work->options->out, strerror(errno)));
}

static bool put(struct work *work, const char *temporary, const char *path)
{
    if (is_standard(path))
        return copy_to_standard(temporary, &work->error);
    return rename(temporary, path) == 0 ||
           wnn_fail(&work->error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
}

// The weights first: a graph without them would be no model.
static bool publish(struct work *work)
{
    return put(work, work->temporary_weights, work->weights) &&
           put(work, work->temporary_graph, work->options->out);
}

// ---------------------------------------------------------------------------------------------------------------
// The models before and after
// ---------------------------------------------------------------------------------------------------------------

// Notes a constant that a node of a compiled graph makes floats of.
static void note_expanded(struct work *work, const struct model *written, const struct operand *operand)
{
    for (size_t i = 0; i < work->conversion.constant_count && operand->constant; i++) {
        const char *name = work->conversion.constants[i].stored_name;
        WNNOperand stored = name ? model_find(written, wnn_string((WNNStringView){name, WNN_STRLEN})) : NULL;
        if (stored && wnn_operand(stored)->constant == operand->constant)
            work->expanded[i] = true;
    }
}

static bool expands(unsigned op)
{
    return op == WNN_OP_dequantizeLinear || op == WNN_OP_cast;
}

// Products that read weights as integers have dequantizeLinear as a part; what folding has computed is gone.
static void find_expanded(struct work *work, const struct model *written, const struct graph *plan)
{
    for (size_t i = 0; i < plan->node_count; i++) {
        const struct node *node = plan->nodes[i];
        if (expands(node->op))
            note_expanded(work, written, node->in[0]);
        if (node->op != WNN_OP_elementwise)
            continue;
        const struct elementwise_attrs *attrs = node->attrs;
        for (unsigned k = 0; k < attrs->count; k++)
            if (expands(attrs->steps[k].op) && attrs->steps[k].in[0] < node->in_count)
                note_expanded(work, written, node->in[attrs->steps[k].in[0]]);
    }
}

static bool compare(struct work *work, const struct model *written)
{
    WNNGraph graphs[2] = {NULL, NULL};
    size_t count = work->from.output_count;
    work->differences = must_allocate(count * sizeof *work->differences);
    work->expanded = must_allocate(work->conversion.constant_count * sizeof *work->expanded);
    bool good = session_build(&work->session, &work->from, &graphs[0], &work->error) &&
                session_build(&work->session, written, &graphs[1], &work->error) &&
                compare_graphs(&work->session, &work->from, graphs[0], graphs[1], &work->options->inputs,
                               work->differences, &work->error);
    work->compared = good;
    if (good)
        find_expanded(work, written, &wnn_graph_plan(graphs[1])->graph);
    wnnGraphRelease(graphs[0]);
    wnnGraphRelease(graphs[1]);
    return good;
}

// Reads what has been written, as everybody will.
static bool check_draft(struct work *work)
{
    struct model written;
    const struct load_options load = {.weights = work->temporary_weights};
    bool good = model_begin(&written, work->session.context, &work->error) &&
                model_load(&written, work->temporary_graph, &load, &work->error);
    if (good && work->options->form.type && work->options->compare)
        good = compare(work, &written);
    model_end(&written);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// The report
// ---------------------------------------------------------------------------------------------------------------

struct totals {
    size_t changed, left, expanded;
    uint64_t before, after; // bytes of constants
};

static struct totals sum_up(const struct work *work)
{
    struct totals totals = {0};
    for (size_t i = 0; i < work->conversion.constant_count; i++) {
        const struct converted_constant *constant = &work->conversion.constants[i];
        totals.before += constant->operand->constant->bytes;
        totals.after += constant->bytes;
        totals.changed += constant->stored_name != NULL;
        totals.left += constant->stored_name == NULL;
        totals.expanded += work->expanded && work->expanded[i];
    }
    return totals;
}

static void print_type(const struct descriptor *type)
{
    printf("%s%s", wnn_dtype_name(type->type), SHAPE_TEXT(&type->shape));
}

static void print_constant(const struct work *work, size_t index)
{
    const struct converted_constant *constant = &work->conversion.constants[index];
    struct string label = constant->reader->label;
    printf("  ");
    if (constant->name)
        printf("%s", SHOWN_STRING(constant->name));
    else
        printf("of %s%s%s", wnn_ops[constant->reader->op].name, label.length ? " " : "", SHOWN(label));
    printf("  ");
    print_type(&constant->operand->type);
    if (constant->stored_name)
        printf(" becomes %s", wnn_dtype_name(constant->type.type));
    if (constant->scale.rank)
        printf(", scales %s", SHAPE_TEXT(&constant->scale));
    if (constant->reason[0])
        printf(": %s", constant->reason);
    if (work->expanded && work->expanded[index])
        printf("; floats again in every execution");
    printf("\n");
}

static void print_differences(const struct work *work)
{
    printf("%s%-24s %11s %11s %11s %11s%s\n", STYLE_BOLD, "difference", "max", "relative", "rms", "cosine",
           STYLE_NONE);
    for (size_t i = 0; i < work->from.output_count; i++) {
        const struct output_difference *difference = &work->differences[i];
        printf("  %-22s %11.4g %11.4g %11.4g %11.7f\n", SHOWN(difference->name), difference->max,
               difference->relative, difference->rms, difference->cosine);
    }
}

static void print_text(const struct work *work)
{
    const struct totals totals = sum_up(work);
    for (size_t i = 0; i < work->conversion.constant_count && work->options->verbose; i++)
        print_constant(work, i);
    printf("%s: %zu of %zu constants converted, %s before, %s now\n", SHOWN_STRING(work->options->out),
           totals.changed, work->conversion.constant_count, bytes_text(totals.before, (char[BYTES_TEXT]){0}),
           bytes_text(totals.after, (char[BYTES_TEXT]){0}));
    if (totals.expanded)
        printf("%zu of them become floats again in every execution%s\n", totals.expanded,
               work->options->verbose ? "" : "; --verbose shows which");
    if (work->compared)
        print_differences(work);
}

static cJSON *type_json(const struct shape *shape)
{
    cJSON *list = must(cJSON_CreateArray());
    for (unsigned d = 0; d < shape->rank; d++)
        cJSON_AddItemToArray(list, must(cJSON_CreateNumber(shape->dim[d])));
    return list;
}

static cJSON *constant_json(const struct work *work, size_t index)
{
    const struct converted_constant *constant = &work->conversion.constants[index];
    cJSON *object = must(cJSON_CreateObject());
    if (constant->name)
        cJSON_AddStringToObject(object, "name", constant->name);
    cJSON_AddStringToObject(object, "operator", wnn_ops[constant->reader->op].name);
    if (constant->reader->label.length)
        cJSON_AddStringToObject(object, "label", constant->reader->label.data);
    cJSON_AddItemToObject(object, "shape", type_json(&constant->operand->type.shape));
    cJSON_AddStringToObject(object, "type_before", wnn_dtype_name(constant->operand->type.type));
    cJSON_AddStringToObject(object, "type", wnn_dtype_name(constant->type.type));
    cJSON_AddNumberToObject(object, "bytes_before", (double)constant->operand->constant->bytes);
    cJSON_AddNumberToObject(object, "bytes", (double)constant->bytes);
    if (constant->scale.rank)
        cJSON_AddItemToObject(object, "scale_shape", type_json(&constant->scale));
    if (constant->reason[0])
        cJSON_AddStringToObject(object, "reason", constant->reason);
    if (work->expanded)
        cJSON_AddBoolToObject(object, "expanded", work->expanded[index]);
    return object;
}

static cJSON *difference_json(const struct output_difference *difference)
{
    cJSON *object = must(cJSON_CreateObject());
    cJSON_AddStringToObject(object, "output", difference->name.data);
    cJSON_AddNumberToObject(object, "max", difference->max);
    cJSON_AddNumberToObject(object, "relative", difference->relative);
    cJSON_AddNumberToObject(object, "rms", difference->rms);
    cJSON_AddNumberToObject(object, "cosine", difference->cosine);
    return object;
}

static void print_json(const struct work *work)
{
    const struct convert_options *options = work->options;
    const struct totals totals = sum_up(work);
    cJSON *object = must(cJSON_CreateObject());
    cJSON_AddStringToObject(object, "graph", options->in);
    cJSON_AddStringToObject(object, "out", options->out);
    cJSON_AddStringToObject(object, "weights_out", work->weights);
    if (options->form.type)
        cJSON_AddStringToObject(object, "weights", wnn_dtype_name(options->form.type));
    if (options->form.block)
        cJSON_AddNumberToObject(object, "block", options->form.block);
    cJSON_AddNumberToObject(object, "bytes_before", (double)totals.before);
    cJSON_AddNumberToObject(object, "bytes", (double)totals.after);
    cJSON_AddNumberToObject(object, "converted", (double)totals.changed);
    cJSON_AddNumberToObject(object, "left", (double)totals.left);
    if (work->expanded)
        cJSON_AddNumberToObject(object, "expanded", (double)totals.expanded);
    cJSON *constants = must(cJSON_AddArrayToObject(object, "constants"));
    for (size_t i = 0; i < work->conversion.constant_count; i++)
        cJSON_AddItemToArray(constants, constant_json(work, i));
    cJSON *outputs = work->compared ? must(cJSON_AddArrayToObject(object, "differences")) : NULL;
    for (size_t i = 0; i < work->from.output_count && outputs; i++)
        cJSON_AddItemToArray(outputs, difference_json(&work->differences[i]));
    char *text = must(cJSON_PrintUnformatted(object));
    terminal_json(stdout, text);
    cJSON_free(text);
    cJSON_Delete(object);
}

// ---------------------------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------------------------

static bool convert(struct work *work)
{
    const struct convert_options *options = work->options;
    struct error *error = &work->error;
    return model_load(&work->from, options->in, &options->session.load, error) && check_places(work) &&
           quantize_weights(&work->from, &options->form, &work->to, &work->conversion, error) &&
           write_draft(work) && check_draft(work) && mapping_check(error) && publish(work);
}

static int run_convert(const struct convert_options *options)
{
    struct work work = {.options = options};
    work.weights = options->weights_out ? join(options->weights_out, strlen(options->weights_out), "")
                                        : weights_beside(options->out);
    work.temporary_graph = temporary_name(options->out, work.weights);
    work.temporary_weights = temporary_name(work.weights, options->out);
    bool good = session_open(&work.session, &options->session, &work.error);
    if (good) {
        good = model_begin(&work.from, work.session.context, &work.error) &&
               model_begin(&work.to, work.session.context, &work.error) && convert(&work);
        if (good && options->json)
            print_json(&work);
        else if (good && !is_standard(options->out) && !is_standard(work.weights))
            print_text(&work);
        model_end(&work.to);
        model_end(&work.from);
        session_close(&work.session);
    }
    unlink(work.temporary_graph); // if they are still there
    unlink(work.temporary_weights);
    conversion_free(&work.conversion);
    free(work.differences);
    free(work.expanded);
    free(work.temporary_weights);
    free(work.temporary_graph);
    free(work.weights);
    return good ? CODE_GOOD : command_failed(&work.error);
}

// "float16", "int8", "uint4:64".
static bool parse_form(const char *argument, struct weights_form *form)
{
    const char *colon = strchr(argument, ':');
    struct string name = {argument, colon ? (size_t)(colon - argument) : strlen(argument)};
    unsigned long block = 0;
    if (wnn_string_equal(name, STRING("float16")) && !colon)
        form->type = WNNDataType_Float16;
    else if (wnn_string_equal(name, STRING("int8")))
        form->type = WNNDataType_Int8;
    else if (wnn_string_equal(name, STRING("uint4")))
        form->type = WNNDataType_Uint4;
    else {
        fprintf(stderr,
                "webnn: --weights=%s: expected float16, int8, int8:BLOCK, uint4 or uint4:BLOCK; "
                "--weights-in says where the weights of GRAPH are\n",
                SHOWN_STRING(argument));
        return false;
    }
    if (colon && !parse_count("weights=...:BLOCK", colon + 1, 2, MAX_BLOCK, &block))
        return false;
    form->block = block || form->type != WNNDataType_Uint4 ? (uint32_t)block : 32;
    return true;
}

static bool take_option(struct convert_options *options, int option, const char *argument)
{
    unsigned long number;
    switch (option) {
    case 'q':
        return parse_form(argument, &options->form);
    case 'o':
        options->weights_out = argument;
        return true;
    case 'm':
        if (!parse_count("min-elements", argument, 1, MAX_MIN_ELEMENTS, &number))
            return false;
        options->form.min_elements = number;
        return true;
    case 'i':
        options->files = must_grow(options->files, options->inputs.file_count, &options->file_capacity,
                                   sizeof *options->files);
        options->files[options->inputs.file_count++] = argument;
        options->inputs.files = options->files;
        return true;
    case 's':
        if (!parse_count("seed", argument, 1, MAX_MIN_ELEMENTS, &number))
            return false;
        options->inputs.seed = number;
        return true;
    case 'n':
        options->compare = false;
        return true;
    case 'v':
        options->verbose = true;
        return true;
    case 'j':
        options->json = true;
        return true;
    default:
        return session_option(&options->session, option, argument);
    }
}

static int check_and_run(struct convert_options *options, int count, char **arguments)
{
    if (count != 2)
        return command_wrong(&command_convert, count == 0   ? "which graph?"
                                               : count == 1 ? "which file is to be written?"
                                                            : "one graph at a time");
    bool streams_graph = is_standard(arguments[1]),
         streams_weights = options->weights_out && is_standard(options->weights_out);
    if (streams_graph && !options->weights_out)
        return command_wrong(&command_convert, "-: --weights-out=FILE has to say where the weights go");
    if (streams_graph && streams_weights)
        return command_wrong(&command_convert, "standard output, -, can have one file only");
    if ((streams_graph || streams_weights) && (options->json || options->verbose))
        return command_wrong(&command_convert, "%s leaves no place for what else is to be shown",
                             streams_graph ? "-" : "--weights-out=-");
    if (!streams_graph && !ends_with(arguments[1], ".webnn"))
        return command_wrong(&command_convert, "%s: what can be written is NAME.webnn, a graph file, or -",
                             arguments[1]);
    options->in = arguments[0];
    options->out = arguments[1];
    return run_convert(options);
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"weights", required_argument, NULL, 'q'},
        {"weights-out", required_argument, NULL, 'o'},
        {"min-elements", required_argument, NULL, 'm'},
        {"input", required_argument, NULL, 'i'},
        {"seed", required_argument, NULL, 's'},
        {"no-compare", no_argument, NULL, 'n'},
        {"verbose", no_argument, NULL, 'v'},
        {"json", no_argument, NULL, 'j'},
        SESSION_LONG_OPTIONS_WITH("weights-in"),
        {NULL, 0, NULL, 0},
    };
    struct convert_options options = {.session = SESSION_OPTIONS_INIT,
                                      .form = {.min_elements = 1024},
                                      .inputs = {.seed = 1},
                                      .compare = true};
    int code = -1;
    for (int option; code < 0 && (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            code = command_help(&command_convert);
        else if (!take_option(&options, option, optarg))
            code = command_usage(&command_convert);
    }
    if (code < 0)
        code = check_and_run(&options, argc - optind, argv + optind);
    free(options.files);
    return code;
}

const struct command command_convert = {"convert", "writes a model as a graph file, weights in fewer bits",
                                        help, run};
