// SPDX-License-Identifier: Apache-2.0
#include "tools/late_sizes.h"

#include "tools/memory.h"
#include "tools/terminal.h"

#include <stdlib.h>
#include <string.h>

static bool is_late(uint32_t size)
{
    return size > WNN_MAX_DIMENSION;
}

bool late_sizes_has(WNNGraph graph)
{
    size_t count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &count);
    bool late = false;
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < inputs[i].descriptor.shape.count; d++)
            late |= is_late(inputs[i].descriptor.shape.data[d]);
    return late;
}

// ---------------------------------------------------------------------------------------------------------------
// What is said
// ---------------------------------------------------------------------------------------------------------------

static const WNNModelInputValue *find_shape(const struct load_options *options, WNNStringView name)
{
    for (size_t i = 0; i < options->input_count; i++)
        if (wnn_string_equal(wnn_string(options->inputs[i].name), wnn_string(name)))
            return &options->inputs[i];
    return NULL;
}

static uint32_t find_dimension(const struct load_options *options, WNNStringView name)
{
    for (size_t i = 0; name.length && i < options->dimension_count; i++)
        if (wnn_string_equal(wnn_string(options->dimensions[i].name), wnn_string(name)))
            return options->dimensions[i].value;
    return 0;
}

static bool check_said(WNNGraph graph, const struct late_sizes *sizes, const struct load_options *options,
                       struct error *error)
{
    for (size_t i = 0; i < options->dimension_count; i++) {
        bool found = false;
        for (size_t k = 0; k < sizes->input_count; k++)
            for (size_t d = 0; d < sizes->inputs[k].descriptor.shape.count; d++) {
                WNNDimension dimension = WNN_DIMENSION_INIT;
                wnnGraphGetSize(graph, sizes->inputs[k].descriptor.shape.data[d], &dimension);
                found |= dimension.name.length && wnn_string_equal(wnn_string(dimension.name),
                                                                   wnn_string(options->dimensions[i].name));
            }
        if (!found)
            return wnn_fail(error, WNNStatus_TypeError, "--dim=%s: no input has a dimension of that name",
                            SHOWN(wnn_string(options->dimensions[i].name)));
    }
    for (size_t i = 0; i < options->input_count; i++) {
        size_t k = 0;
        while (k < sizes->input_count &&
               !wnn_string_equal(wnn_string(sizes->inputs[k].name), wnn_string(options->inputs[i].name)))
            k++;
        if (k == sizes->input_count)
            return wnn_fail(error, WNNStatus_TypeError, "--shape=%s: the graph has no input of that name",
                            SHOWN(wnn_string(options->inputs[i].name)));
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs
// ---------------------------------------------------------------------------------------------------------------

// The shapes that values at hand have, without a dimension more in front; of rank 0 if there are none.
static struct shape *shapes_at_hand(const struct late_sizes *sizes, const struct load_options *options)
{
    struct shape *shapes = must_allocate((sizes->input_count + 1) * sizeof *shapes);
    struct string *names = must_allocate((sizes->input_count + 1) * sizeof *names);
    for (size_t i = 0; i < sizes->input_count; i++)
        names[i] = wnn_string(sizes->inputs[i].name);
    if (options->find_shapes)
        options->find_shapes(options->values_at_hand, sizes->input_count, names, shapes);
    for (size_t i = 0; i < sizes->input_count; i++)
        if (shapes[i].rank == sizes->inputs[i].descriptor.shape.count + 1) {
            memmove(shapes[i].dim, shapes[i].dim + 1, (shapes[i].rank - 1) * sizeof shapes[i].dim[0]);
            shapes[i].rank--;
        }
    free(names);
    return shapes;
}

// Sizes that an input has make those of one name known in others.
static void say_of(WNNUint32List recorded, uint32_t late, uint32_t value, uint32_t *dims)
{
    for (size_t d = 0; d < recorded.count; d++)
        if (recorded.data[d] == late && dims[d] == 0)
            dims[d] = value;
}

static void share_known(struct late_sizes *sizes, uint32_t *const *dims)
{
    for (size_t i = 0; i < sizes->input_count; i++) {
        WNNUint32List from = sizes->inputs[i].descriptor.shape;
        for (size_t d = 0; d < from.count; d++)
            for (size_t k = 0; dims[i][d] && is_late(from.data[d]) && k < sizes->input_count; k++)
                say_of(sizes->inputs[k].descriptor.shape, from.data[d], dims[i][d], dims[k]);
    }
}

static bool fail_open(WNNGraph graph, const WNNNamedDescriptor *input, const uint32_t *dims,
                      struct error *error)
{
    char shape[256], name[128] = "";
    struct text text = TEXT(shape);
    shape[0] = 0;
    for (size_t d = 0; d < input->descriptor.shape.count; d++) {
        WNNDimension dimension = WNN_DIMENSION_INIT;
        wnnGraphGetSize(graph, input->descriptor.shape.data[d], &dimension);
        wnn_text_add(&text, d ? ", " : "");
        if (dims[d])
            wnn_text_add(&text, "%u", dims[d]);
        else
            wnn_text_add(&text, "%s", dimension.name.length ? SHOWN(wnn_string(dimension.name)) : "?");
        if (!dims[d] && dimension.name.length && !name[0])
            snprintf(name, sizeof name, "--dim=%s=SIZE or ", SHOWN(wnn_string(dimension.name)));
    }
    return wnn_fail(error, WNNStatus_TypeError, "the input %s has shape [%s]: say %s--shape=%s=SIZExSIZE...",
                    SHOWN(wnn_string(input->name)), shape, name, SHOWN(wnn_string(input->name)));
}

// What is said of one input; 0 where nothing is.
static bool take_said(WNNGraph graph, const WNNNamedDescriptor *input, const struct load_options *options,
                      const struct shape *at_hand, uint32_t *dims, struct error *error)
{
    WNNUint32List recorded = input->descriptor.shape;
    const WNNModelInputValue *said = find_shape(options, input->name);
    if (said && said->shape.count != recorded.count)
        return wnn_fail(error, WNNStatus_TypeError, "--shape=%s has %zu sizes; the input has rank %zu",
                        SHOWN(wnn_string(input->name)), said->shape.count, recorded.count);
    for (size_t d = 0; d < recorded.count; d++) {
        WNNDimension dimension = WNN_DIMENSION_INIT;
        wnnGraphGetSize(graph, recorded.data[d], &dimension);
        uint32_t of_name = find_dimension(options, dimension.name);
        dims[d] = !is_late(recorded.data[d])        ? recorded.data[d]
                  : said                            ? said->shape.data[d]
                  : of_name                         ? of_name
                  : at_hand->rank == recorded.count ? at_hand->dim[d]
                                                    : 0;
    }
    return true;
}

static bool find_inputs(WNNGraph graph, struct late_sizes *sizes, const struct load_options *options,
                        uint32_t *const *dims, struct error *error)
{
    struct shape *at_hand = shapes_at_hand(sizes, options);
    bool good = check_said(graph, sizes, options, error);
    for (size_t i = 0; good && i < sizes->input_count; i++)
        good = take_said(graph, &sizes->inputs[i], options, &at_hand[i], dims[i], error);
    if (good)
        share_known(sizes, dims);
    for (size_t i = 0; good && i < sizes->input_count; i++)
        for (size_t d = 0; good && d < sizes->inputs[i].descriptor.shape.count; d++)
            good = dims[i][d] || fail_open(graph, &sizes->inputs[i], dims[i], error);
    free(at_hand);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Outputs
// ---------------------------------------------------------------------------------------------------------------

static bool find_outputs(WNNGraph graph, struct late_sizes *sizes, uint32_t *const *dims, struct error *error)
{
    WNNOutputShape *made = must_allocate((sizes->output_count + 1) * sizeof *made);
    char message[WNN_MESSAGE_SIZE];
    WNNStatus status = wnnGraphComputeShapes(graph, sizes->input_count, sizes->shapes, sizes->output_count,
                                             made, sizeof message, message);
    for (size_t i = 0; !status && i < sizes->output_count; i++) {
        uint32_t *to = dims[sizes->input_count + i];
        memcpy(to, made[i].dimensions, made[i].rank * sizeof to[0]);
        sizes->outputs[i].descriptor.shape = (WNNUint32List){to, made[i].rank};
    }
    free(made);
    return !status || wnn_fail(error, status, "%s", message);
}

// Without them the graph is as it was recorded.
static struct late_sizes *begin(WNNGraph graph)
{
    struct late_sizes *sizes = must_allocate(sizeof *sizes);
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &sizes->input_count),
                             *outputs = wnnGraphGetOutputs(graph, &sizes->output_count);
    size_t ports = sizes->input_count + sizes->output_count;
    sizes->inputs = must_allocate((sizes->input_count + 1) * sizeof *inputs);
    sizes->outputs = must_allocate((sizes->output_count + 1) * sizeof *outputs);
    sizes->shapes = must_allocate((sizes->input_count + 1) * sizeof *sizes->shapes);
    sizes->dims = must_allocate((ports + 1) * WNN_MAX_RANK * sizeof *sizes->dims);
    memcpy(sizes->inputs, inputs, sizes->input_count * sizeof *inputs);
    memcpy(sizes->outputs, outputs, sizes->output_count * sizeof *outputs);
    return sizes;
}

struct late_sizes *late_sizes_find(WNNGraph graph, const struct load_options *options, struct error *error)
{
    static const struct load_options nothing;
    struct late_sizes *sizes = begin(graph);
    size_t ports = sizes->input_count + sizes->output_count;
    uint32_t **dims = must_allocate((ports + 1) * sizeof *dims);
    for (size_t i = 0; i < ports; i++)
        dims[i] = sizes->dims + i * WNN_MAX_RANK;
    bool good = find_inputs(graph, sizes, options ? options : &nothing, dims, error);
    for (size_t i = 0; i < sizes->input_count; i++) {
        sizes->inputs[i].descriptor.shape.data = dims[i];
        sizes->shapes[i] = (WNNNamedShape){sizes->inputs[i].name, sizes->inputs[i].descriptor.shape};
    }
    sizes->chain = (WNNInputShapes){{NULL, WNNSType_InputShapes}, sizes->input_count, sizes->shapes};
    good = good && find_outputs(graph, sizes, dims, error);
    free(dims);
    if (good)
        return sizes;
    late_sizes_free(sizes);
    return NULL;
}

void late_sizes_free(struct late_sizes *sizes)
{
    if (!sizes)
        return;
    free(sizes->shapes);
    free(sizes->inputs);
    free(sizes->outputs);
    free(sizes->dims);
    free(sizes);
}
