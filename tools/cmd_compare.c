// SPDX-License-Identifier: Apache-2.0
//
// `webnn compare`: how far two models, two backends, or a model and expected values are apart.

#include "tools/command.h"
#include "tools/compare_nodes.h"
#include "tools/difference_show.h"
#include "tools/memory.h"
#include "tools/run_inputs.h"
#include "tools/standard_input.h"
#include "tools/tensor_proto.h"
#include "tools/terminal.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Compares the results of two models, of one model on two backends, or of a model with\n"
    "expected values.\n\n"
    "Usage: webnn compare [OPTIONS] GRAPH REFERENCE\n"
    "       webnn compare [OPTIONS] --with-backend=NAME GRAPH\n"
    "       webnn compare [OPTIONS] --expect=[NAME=]FILE... GRAPH\n\n"
    "GRAPH is what webnn run takes. REFERENCE is another such graph, or expected values: a\n"
    ".npy array or .pb tensor, a .npz archive or a folder of .npy files with the names of\n"
    "outputs, as webnn run --dump writes them, or a folder with ONNX's test data, input_0.pb\n"
    "and output_0.pb. Inputs are matched by name, or by number if there are equally many, and\n"
    "so are outputs.\n\n"
    "Shown of every output: type and shape, how many elements are beyond the tolerance, the\n"
    "largest difference, also as a part of the output's scale, which is the greatest finite\n"
    "magnitude of the reference, and where it is. NaN equals NaN; an infinity equals itself.\n\n"
    "  --input=[NAME=]FILE\n"
    "                    a file for an input, as webnn run takes it; may be repeated. A graph\n"
    "                    with one input is compared on every item of every file. Inputs\n"
    "                    without a file are those of the archive or folder of expected\n"
    "                    values, or if none are expected, random\n"
    "  --random          random numbers for such inputs although values are expected\n"
    "  --seed=N          other random numbers than those of 0\n"
    "  --scale=S, --mean=M[,M,M], --std=D[,D,D], --invert, --layout=L\n"
    "                    what pixels become; see webnn help run\n"
    "  --expect=[NAME=]FILE\n"
    "                    the expected value of an output; may be repeated, and may be what\n"
    "                    REFERENCE may be\n\n"
    "  --tolerance=[TYPE=]T\n"
    "                    how far an element of a type may be off, or without one of all types\n"
    "                    of numbers with a fraction: a part of the scale; of whole numbers a\n"
    "                    difference. The coarser type of both sides decides. By default\n\n"
    "                      float32, float64  0.0001      bfloat16               0.05\n"
    "                      float16           0.01        whole numbers, bool    0\n\n"
    "                    and numbers so small that they are denormal are all equal\n"
    "  --absolute=D      a difference of numbers with a fraction that is always allowed\n"
    "  --nodes           names the first node whose value is beyond tolerance. For that the\n"
    "                    values of all nodes are computed as outputs. Values of two models\n"
    "                    are compared where both have the name or label\n"
    "  --nodes=all       shows how far all values are apart\n"
    "  --json            one JSON object\n\n"
    "  --with-backend=NAME, --with-device=ID, --with-threads=N, --with-strict,\n"
    "  --with-weights=FILE\n"
    "                    what is other for the reference; else options are for both\n"
    "  --without-pass=PASS\n"
    "                    leaves a pass of the compiler out for GRAPH alone; may be repeated\n\n" SESSION_HELP
    "\nThe exit code is 0 if all outputs (and with --nodes all values) are within tolerance, 1 if\n"
    "one is not, and 2 if they could not be compared.\n"
    "\nExamples:\n\n"
    "  webnn compare --backend=gpu --with-backend=cpu mobilenet_v2\n"
    "  webnn compare --nodes --with-strict model.onnx\n"
    "  webnn compare --input=cat.png small.onnx large.onnx\n"
    "  webnn compare model.onnx test_data_set_0\n"
    "  webnn compare --input=x=x.npy --expect=logits=logits.npy model.webnn\n"
    "  webnn run --random --dump=all --dump-to=values model.onnx    # on another machine\n"
    "  webnn compare --nodes model.onnx values\n";

struct compare_options {
    struct session_options session;
    // Of the reference, where they are given.
    const char *with_backend, *with_device, *with_weights;
    unsigned with_threads;
    bool with_strict;
    uint32_t skip; // passes, as bits
    struct run_input_options inputs;
    struct tolerances tolerances;
    const char **expect;
    size_t expect_count, expect_capacity;
    bool json, nodes, all_nodes;
};

// An output of both sides, or of one with an array that is expected.
struct output_pair {
    struct run_port *port, *other;
    struct named_array const *expected;
    struct array array; // of that
    struct difference difference;
};

// An input that both sides have.
struct input_pair {
    struct run_port *from, *to;
};

struct work {
    const struct compare_options *options;
    const char *reference; // a graph or expected values, as given; NULL: neither
    bool expects;          // values, and there is no other side
    struct session_options with;
    struct side side, other;
    struct array_set arrays;
    struct run_inputs inputs;
    struct input_pair *same;
    size_t same_count;
    struct output_pair *pairs;
    size_t pair_count;
    size_t lone; // outputs that one side has alone
    size_t items;
    struct node_comparison nodes;
    struct error error;
};

// ---------------------------------------------------------------------------------------------------------------
// Inputs and outputs of both sides
// ---------------------------------------------------------------------------------------------------------------

static struct run_port *find_port(struct run_port *ports, size_t count, struct string name)
{
    for (size_t i = 0; i < count; i++)
        if (wnn_string_equal(ports[i].name, name))
            return &ports[i];
    return NULL;
}

// The port of a list that stands for `index` of another: that of its name, or if both have as many and
// neither name is in the other list, that of its number.
static struct run_port *find_counterpart(struct run_port *ports, size_t count, struct run_port *others,
                                         size_t other_count, size_t index)
{
    struct run_port *found = find_port(others, other_count, ports[index].name);
    if (found || count != other_count || find_port(ports, count, others[index].name))
        return found;
    return &others[index];
}

static bool check_inputs(const struct input_pair *pair, struct error *error)
{
    const struct descriptor *from = &pair->from->type, *to = &pair->to->type;
    return (wnn_shape_equal(&from->shape, &to->shape) &&
            wnn_dtype_is_float(from->type) == wnn_dtype_is_float(to->type)) ||
           wnn_fail(error, WNNStatus_TypeError, "the input %s is %s%s, that of the reference %s%s",
                    pair->from->name.data, wnn_dtype_name(from->type), SHAPE_TEXT(&from->shape),
                    wnn_dtype_name(to->type), SHAPE_TEXT(&to->shape));
}

// Finds the inputs that the sides share, and gives files, arrays or random numbers to them and the others.
static bool begin_inputs(struct work *work)
{
    struct subject *side = &work->side.subject, *other = &work->other.subject;
    struct run_port **ports = must_allocate((side->input_count + other->input_count) * sizeof *ports);
    work->same = must_allocate(other->input_count * sizeof *work->same);
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < side->input_count; i++)
        ports[count++] = &side->inputs[i];
    for (size_t i = 0; good && i < other->input_count; i++) {
        struct run_port *from =
            find_counterpart(other->inputs, other->input_count, side->inputs, side->input_count, i);
        if (from) {
            work->same[work->same_count] = (struct input_pair){from, &other->inputs[i]};
            good = check_inputs(&work->same[work->same_count++], &work->error);
        } else {
            ports[count++] = &other->inputs[i];
        }
    }
    const struct model *models[] = {&work->side.model, &work->other.model};
    good = good && run_inputs_begin(&work->inputs, ports, count, &work->options->inputs, &work->arrays,
                                    models, work->expects ? 1 : 2, &work->error);
    work->inputs.random |= !work->expects;
    free(ports);
    return good;
}

// Both sides get the same numbers: those that the narrower type has.
static void copy_inputs(struct work *work)
{
    for (size_t i = 0; i < work->same_count; i++) {
        struct run_port *from = work->same[i].from, *to = work->same[i].to;
        size_t elements = wnn_shape_elements(&from->type.shape);
        if (from->type.type == to->type.type) {
            memcpy(to->data, from->data, from->bytes);
            continue;
        }
        for (size_t k = 0; k < elements; k++) {
            WNNNumber number = wnn_number_load(from->type.type, from->data, k);
            number = wnn_number_convert(number, to->type.type);
            wnn_number_store(number, to->type.type, to->data, k);
            number = wnn_number_convert(number, from->type.type);
            wnn_number_store(number, from->type.type, from->data, k);
        }
    }
}

static void add_pair(struct work *work, struct run_port *port, struct run_port *other,
                     const struct named_array *expected)
{
    work->pairs[work->pair_count++] =
        (struct output_pair){port, other, expected, {.data = NULL}, {.elements = 0}};
}

static void pair_outputs(struct work *work)
{
    struct subject *side = &work->side.subject, *other = &work->other.subject;
    for (size_t i = 0; i < side->output_count; i++) {
        struct run_port *found =
            find_counterpart(side->outputs, side->output_count, other->outputs, other->output_count, i);
        if (found)
            add_pair(work, &side->outputs[i], found, NULL);
    }
    work->lone = side->output_count + other->output_count - 2 * work->pair_count;
}

// Of expected values, the shapes are checked before anything is computed.
static bool pair_expected(struct work *work)
{
    struct subject *side = &work->side.subject;
    struct string *names = must_allocate(side->output_count * sizeof *names);
    const struct named_array **found = must_allocate(side->output_count * sizeof *found);
    for (size_t i = 0; i < side->output_count; i++)
        names[i] = side->outputs[i].name;
    array_set_match(&work->arrays, ROLE_OUTPUT, true, side->output_count, names, found);
    bool good = true;
    for (size_t i = 0; good && i < side->output_count; i++)
        if (found[i]) {
            add_pair(work, &side->outputs[i], NULL, found[i]);
            good = named_array_read(found[i], &work->pairs[work->pair_count - 1].array, &work->error);
        }
    free(names);
    free(found);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Comparing
// ---------------------------------------------------------------------------------------------------------------

// How many values an expected array has of an output; 0: it has another shape. Unlike those of inputs, sizes
// of 1 count.
static size_t expected_values(const struct shape *array, const struct shape *value)
{
    bool same_rank = array->rank == value->rank && value->rank > 0 && value->dim[0] == 1;
    if (wnn_shape_equal(array, value))
        return 1;
    if (!same_rank && array->rank != value->rank + 1)
        return 0;
    for (unsigned i = 1; i < array->rank; i++)
        if (array->dim[i] != value->dim[same_rank ? i : i - 1])
            return 0;
    return array->dim[0];
}

static void compare_with_array(struct work *work, struct output_pair *pair, const struct array *is)
{
    const struct array *array = &pair->array;
    size_t values = expected_values(&array->shape, &is->shape);
    const struct tolerances *tolerances = &work->options->tolerances;
    if (work->items == 0)
        difference_begin(&pair->difference, is, &is->shape, array, values ? &is->shape : &array->shape,
                         tolerances);
    if (pair->difference.kind == DIFFERENCE_OF_NUMBERS && work->items < values)
        difference_add(&pair->difference, tolerances, work->items, is, 0, array, work->items * is->elements);
}

static void compare_item(struct work *work)
{
    const struct tolerances *tolerances = &work->options->tolerances;
    for (size_t i = 0; i < work->pair_count; i++) {
        struct output_pair *pair = &work->pairs[i];
        struct array is = array_of(&pair->port->type, pair->port->data);
        if (pair->expected) {
            compare_with_array(work, pair, &is);
            continue;
        }
        struct array reference = array_of(&pair->other->type, pair->other->data);
        if (work->items == 0)
            difference_begin(&pair->difference, &is, &is.shape, &reference, &reference.shape, tolerances);
        if (pair->difference.kind == DIFFERENCE_OF_NUMBERS)
            difference_add(&pair->difference, tolerances, work->items, &is, 0, &reference, 0);
    }
    work->items++;
}

// Every expected array has as many values as there were items.
static bool check_counts(struct work *work)
{
    for (size_t i = 0; i < work->pair_count; i++) {
        const struct output_pair *pair = &work->pairs[i];
        size_t values =
            pair->expected ? expected_values(&pair->array.shape, &pair->port->type.shape) : work->items;
        if (values == work->items || values == 0)
            continue;
        char *place = named_array_place(pair->expected);
        wnn_fail(&work->error, WNNStatus_TypeError, "%s: %zu values for the output %s; %zu were computed",
                 place, values, pair->port->name.data, work->items);
        free(place);
        return false;
    }
    return true;
}

static size_t count_beyond(const struct work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->pair_count; i++)
        count += !difference_within(&work->pairs[i].difference);
    return count;
}

// With the inputs that are there now.
static bool find_node(struct work *work)
{
    return compare_nodes(&work->nodes, &work->side, work->expects ? NULL : &work->other, &work->arrays,
                         work->items - 1, &work->options->tolerances, work->options->all_nodes, &work->error);
}

static bool compare_items(struct work *work)
{
    struct progress progress;
    progress_begin(&progress, "comparing");
    bool good = true;
    while (good && run_inputs_next(&work->inputs, &work->error)) {
        copy_inputs(work);
        good = subject_run(&work->side.subject, &work->error) &&
               (work->expects || subject_run(&work->other.subject, &work->error));
        if (good)
            compare_item(work);
        if (good && work->options->nodes && !work->nodes.done && count_beyond(work) > 0)
            good = find_node(work);
        if (work->inputs.path)
            progress_show(&progress, work->inputs.item + 1, work->inputs.items);
    }
    progress_end(&progress);
    good = good && work->error.status == WNNStatus_Success && check_counts(work);
    return good && (!work->options->nodes || work->nodes.done || find_node(work));
}

// ---------------------------------------------------------------------------------------------------------------
// Results
// ---------------------------------------------------------------------------------------------------------------

static bool is_within(const struct work *work)
{
    return count_beyond(work) == 0 && work->lone == 0 && !work->nodes.first;
}

static const struct output_pair *find_pair(const struct work *work, const struct run_port *port)
{
    for (size_t i = 0; i < work->pair_count; i++)
        if (work->pairs[i].port == port || work->pairs[i].other == port)
            return &work->pairs[i];
    return NULL;
}

static void show_lone(const struct work *work, const struct side *side, const char *what)
{
    for (size_t i = 0; i < side->subject.output_count; i++) {
        const struct run_port *port = &side->subject.outputs[i];
        if (!find_pair(work, port))
            printf("  %s%s%s: %s%s, %s\n", STYLE_BOLD, SHOWN(port->name), STYLE_NONE,
                   wnn_dtype_name(port->type.type), SHAPE_TEXT(&port->type.shape), what);
    }
}

static void show_text(const struct work *work)
{
    printf("%s on %s, reference %s", SHOWN_STRING(work->side.graph), work->side.session.backend->name,
           SHOWN_STRING(work->reference ? work->reference : "expected values"));
    if (!work->expects)
        printf(" on %s", work->other.session.backend->name);
    if (work->items > 1)
        printf(", %zu items", work->items);
    printf("\n");
    for (size_t i = 0; i < work->pair_count; i++)
        difference_show(work->pairs[i].port->name, &work->pairs[i].difference, work->items);
    show_lone(work, &work->side, work->expects ? "of which nothing is expected" : "not of the reference");
    show_lone(work, &work->other, "only of the reference");
    size_t beyond = count_beyond(work);
    if (work->options->nodes)
        compare_nodes_show(&work->nodes, work->options->all_nodes, beyond > 0);
    printf("%s%zu of %zu outputs within tolerance%s\n", is_within(work) ? STYLE_GREEN : STYLE_BOLD,
           work->pair_count - beyond, work->pair_count + work->lone, STYLE_NONE);
}

static void add_lone(cJSON *object, const char *key, const struct work *work, const struct side *side)
{
    cJSON *list = must(cJSON_AddArrayToObject(object, key));
    for (size_t i = 0; i < side->subject.output_count; i++) {
        const struct run_port *port = &side->subject.outputs[i];
        if (find_pair(work, port))
            continue;
        cJSON *entry = must(cJSON_CreateObject());
        json_add_string(entry, "name", port->name);
        cJSON_AddItemToArray(list, entry);
    }
}

static void show_json(const struct work *work)
{
    cJSON *object = must(cJSON_CreateObject());
    must(cJSON_AddStringToObject(object, "graph", work->side.graph));
    must(cJSON_AddStringToObject(object, "backend", work->side.session.backend->name));
    if (work->reference)
        must(cJSON_AddStringToObject(object, "reference", work->reference));
    if (!work->expects)
        must(cJSON_AddStringToObject(object, "reference_backend", work->other.session.backend->name));
    must(cJSON_AddBoolToObject(object, "within", is_within(work)));
    must(cJSON_AddNumberToObject(object, "items", (double)work->items));
    cJSON *outputs = must(cJSON_AddArrayToObject(object, "outputs"));
    for (size_t i = 0; i < work->pair_count; i++)
        cJSON_AddItemToArray(outputs, difference_json(work->pairs[i].port->name, &work->pairs[i].difference));
    add_lone(object, "not_compared", work, &work->side);
    add_lone(object, "only_of_reference", work, &work->other);
    if (work->options->nodes)
        cJSON_AddItemToObject(object, "nodes", compare_nodes_json(&work->nodes, work->options->all_nodes));
    char *text = must(cJSON_PrintUnformatted(object));
    terminal_json(stdout, text);
    cJSON_free(text);
    cJSON_Delete(object);
}

// ---------------------------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------------------------

// Expected values of a file, an archive or a folder.
static bool add_expected(struct work *work, const char *argument)
{
    struct subject *side = &work->side.subject;
    struct run_port **ports = run_ports_list(side->outputs, side->output_count);
    const char *path;
    size_t at = run_port_named(ports, side->output_count, argument, &path);
    free(ports);
    if (at == side->output_count && array_set_recognize(path))
        return array_set_add_all(&work->arrays, path, &work->error);
    if (at == side->output_count && side->output_count == 1)
        at = 0;
    if (at == side->output_count)
        return wnn_fail(&work->error, WNNStatus_TypeError,
                        "--expect=%s: the graph has %zu outputs; say NAME=FILE", argument,
                        side->output_count);
    array_set_add_file(&work->arrays, side->outputs[at].name, path);
    return true;
}

static bool prepare(struct work *work)
{
    const struct compare_options *options = work->options;
    bool good = side_open(&work->side, &work->error);
    if (good && work->expects && work->reference)
        good = add_expected(work, work->reference);
    for (size_t i = 0; good && i < options->expect_count; i++)
        good = add_expected(work, options->expect[i]);
    good = good && (work->expects || side_open(&work->other, &work->error)) && begin_inputs(work);
    if (!good)
        return false;
    work->pairs = must_allocate(work->side.subject.output_count * sizeof *work->pairs);
    if (!work->expects)
        pair_outputs(work);
    else if (!pair_expected(work))
        return false;
    return work->pair_count > 0 || (work->expects && options->nodes) ||
           wnn_fail(&work->error, WNNStatus_TypeError, "no output of the graph has a value to compare with");
}

static void end(struct work *work)
{
    compare_nodes_end(&work->nodes);
    run_inputs_end(&work->inputs);
    for (size_t i = 0; i < work->pair_count; i++)
        array_close(&work->pairs[i].array);
    free(work->pairs);
    free(work->same);
    array_set_free(&work->arrays);
    side_close(&work->side);
    side_close(&work->other);
}

// Unlike other commands, this one fails with the code of a wrong command line: 1 is a result.
static int compare(struct work *work)
{
    int code = CODE_USAGE;
    if (!prepare(work) || !compare_items(work) || !mapping_check(&work->error)) {
        fflush(stdout);
        command_failed(&work->error);
    } else {
        if (work->options->json)
            show_json(work);
        else
            show_text(work);
        code = is_within(work) ? CODE_GOOD : CODE_FAILED;
    }
    end(work);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    perror("webnn: standard output");
    return CODE_USAGE;
}

static bool take_pass(struct compare_options *options, const char *argument)
{
    uint32_t bit = wnn_pass_bit(argument);
    if (!bit)
        fprintf(stderr, "webnn: --without-pass=%s: there is no pass of that name\n", SHOWN_STRING(argument));
    options->skip |= bit;
    return bit != 0;
}

static bool take_option(struct compare_options *options, int option, const char *argument)
{
    unsigned long threads;
    switch (option) {
    case 'e':
        options->expect = must_grow(options->expect, options->expect_count, &options->expect_capacity,
                                    sizeof *options->expect);
        options->expect[options->expect_count++] = argument;
        return true;
    case 't':
        return tolerances_parse(&options->tolerances, argument);
    case 'a':
        return parse_real("absolute", argument, 0, DBL_MAX, &options->tolerances.absolute);
    case 'j':
        options->json = true;
        return true;
    case 'n':
        options->nodes = true;
        options->all_nodes = argument != NULL;
        if (argument && strcmp(argument, "all") != 0)
            fprintf(stderr, "webnn: --nodes=%s: expected all, or nothing\n", SHOWN_STRING(argument));
        return !argument || strcmp(argument, "all") == 0;
    case 'B':
        options->with_backend = argument;
        return true;
    case 'D':
        options->with_device = argument;
        return true;
    case 'T':
        if (!parse_count("with-threads", argument, 1, MAX_THREADS, &threads))
            return false;
        options->with_threads = (unsigned)threads;
        return true;
    case 'S':
        options->with_strict = true;
        return true;
    case 'W':
        options->with_weights = argument;
        return true;
    case 'p':
        return take_pass(options, argument);
    default:
        return is_run_input_option(option) ? run_input_option(&options->inputs, option, argument)
                                           : session_option(&options->session, option, argument);
    }
}

// The options of the reference: those of the graph, but for what is other.
static struct session_options other_options(const struct compare_options *options, bool same_graph)
{
    struct session_options with = options->session;
    if (options->with_backend) {
        with.backend = options->with_backend;
        with.device = NULL;
    }
    if (options->with_device)
        with.device = options->with_device;
    if (options->with_threads)
        with.threads = options->with_threads;
    with.strict |= options->with_strict;
    if (!same_graph || options->with_weights)
        with.load.weights = options->with_weights;
    return with;
}

static bool is_expected(const char *path)
{
    return array_set_recognize(path) || ends_with(path, ".npy") || is_tensor_proto(path);
}

// -1, or an exit code after a message.
static int check_words(const struct compare_options *options, int count, char **words)
{
    bool other = options->with_backend || options->with_device || options->with_threads ||
                 options->with_strict || options->with_weights || options->skip;
    if (count == 0)
        return command_wrong(&command_compare, "which graph?");
    if (count > 2)
        return command_wrong(&command_compare,
                             "%s: a graph and one reference; files for inputs are --input=", words[2]);
    bool expects = options->expect_count > 0 || (count == 2 && is_expected(words[1]));
    if (count == 1 && !other && !expects)
        return command_wrong(&command_compare,
                             "compare with what? Say a second graph, --expect or --with-backend");
    if (expects && (other || (count == 2 && !is_expected(words[1]))))
        return command_wrong(&command_compare, "expected values leave no place for another graph or backend");
    size_t streams = run_input_options_streams(&options->inputs) +
                     load_reads_standard(&options->session.load) +
                     (options->with_weights && is_standard(options->with_weights));
    for (int i = 0; i < count; i++)
        streams += is_standard(words[i]);
    for (size_t i = 0; i < options->expect_count; i++)
        streams += is_stream_argument(options->expect[i]);
    if (streams > 1)
        return command_wrong(&command_compare, "standard input, -, can be read once only");
    return -1;
}

// Where shapes of inputs are known from: their files, and expected values that come with inputs.
static struct run_input_options find_at_hand(const struct compare_options *options, const char *reference)
{
    struct run_input_options at_hand = {.arguments = NULL};
    for (size_t i = 0; i < options->inputs.count; i++)
        run_input_options_add(&at_hand, options->inputs.arguments[i]);
    if (reference && array_set_recognize(reference))
        run_input_options_add(&at_hand, reference);
    return at_hand;
}

static int compare_words(struct compare_options *options, int count, char **words)
{
    bool same_graph = count == 1;
    struct run_input_options at_hand = find_at_hand(options, count == 2 ? words[1] : NULL);
    options->session.load.find_shapes = run_input_options_shapes;
    options->session.load.values_at_hand = &at_hand;
    struct work work = {.options = options, .reference = count == 2 ? words[1] : NULL};
    work.expects = options->expect_count > 0 || (count == 2 && is_expected(words[1]));
    options->session.load.several = !same_graph && !work.expects;
    work.with = other_options(options, same_graph);
    work.side = (struct side){.graph = words[0], .options = &options->session, .skip = options->skip};
    if (!work.expects)
        work.other = (struct side){.graph = words[count - 1], .options = &work.with};
    if (!work.expects && same_graph)
        work.reference = words[0];
    int code = compare(&work);
    free(at_hand.arguments);
    return code;
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"expect", required_argument, NULL, 'e'},
        {"tolerance", required_argument, NULL, 't'},
        {"absolute", required_argument, NULL, 'a'},
        {"nodes", optional_argument, NULL, 'n'},
        {"json", no_argument, NULL, 'j'},
        {"with-backend", required_argument, NULL, 'B'},
        {"with-device", required_argument, NULL, 'D'},
        {"with-threads", required_argument, NULL, 'T'},
        {"with-strict", no_argument, NULL, 'S'},
        {"with-weights", required_argument, NULL, 'W'},
        {"without-pass", required_argument, NULL, 'p'},
        RUN_INPUT_LONG_OPTIONS,
        SESSION_LONG_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct compare_options options = {
        .session = SESSION_OPTIONS_INIT, .inputs = RUN_INPUT_OPTIONS_INIT, .tolerances = default_tolerances};
    int code = -1;
    for (int option; code < 0 && (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            code = command_help(&command_compare);
        else if (!take_option(&options, option, optarg))
            code = command_usage(&command_compare);
    }
    if (code < 0)
        code = check_words(&options, argc - optind, argv + optind);
    if (code < 0)
        code = compare_words(&options, argc - optind, argv + optind);
    free(options.expect);
    free(options.inputs.arguments);
    return code;
}

const struct command command_compare = {"compare", "compares models, backends and expected values", help,
                                        run};
