// SPDX-License-Identifier: Apache-2.0
#include "tools/model/inputs.h"

#include "lib/text.h"
#include "tools/model/errors.h"
#include "tools/model/late.h"

static struct bytes bytes_of(WNNStringView view)
{
    struct string text = wnn_string(view);
    return (struct bytes){(const unsigned char *)text.data, text.length};
}

static const WNNModelInputValue *find_given(const WNNModelRecordOptions *options, struct bytes name)
{
    for (size_t i = 0; i < options->inputCount; i++)
        if (same_text(bytes_of(options->inputs[i].name), name))
            return &options->inputs[i];
    return NULL;
}

static bool has_shape(const WNNModelInputValue *given)
{
    return given && given->shape.count != WNN_LIST_ABSENT;
}

// Says which dimensions of an input have no value, by bit.
static bool fail_open(struct recording *r, const struct model_input *input, size_t rank, unsigned open)
{
    char name[120], symbol[120], list[400];
    struct text text = TEXT(list);
    bool several = (open & (open - 1)) != 0;
    wnn_model_print(name, sizeof name, input->name);
    for (size_t i = 0, said = 0; i < rank; i++) {
        if (!(open >> i & 1))
            continue;
        wnn_model_print(symbol, sizeof symbol, input->has_shape ? input->dims[i].name : (struct bytes){0});
        if (!several)
            return symbol[0]
                       ? fail(r, "dimension %zu of input \"%s\" is \"%s\", which has no value", i, name,
                              symbol)
                       : fail(r, "dimension %zu of input \"%s\" is unknown; give the input a shape", i, name);
        wnn_text_add(&text, symbol[0] ? "%s%zu \"%s\"" : "%s%zu", said++ ? ", " : "", i, symbol);
    }
    return fail(r, "dimensions %s of input \"%s\" have no values", list, name);
}

// A size of less than 0 is not known, where the recording allows it.
static bool find_shape(struct recording *r, const WNNModelRecordOptions *options,
                       const struct model_input *input, const WNNModelInputValue *known, size_t *rank,
                       int64_t *dims)
{
    char name[120];
    unsigned open = 0;
    wnn_model_print(name, sizeof name, input->name);
    *rank = has_shape(known) ? known->shape.count : input->rank;
    if (!input->has_shape && !has_shape(known))
        return fail(r, "input \"%s\" has no shape in the model; give it one", name);
    if (*rank > MAX_RANK || (input->has_shape && *rank != input->rank))
        return fail(r, "input \"%s\" of rank %zu%s", name, *rank,
                    *rank > MAX_RANK ? "; more than 8 are not supported" : ", which is not the model's");
    for (size_t i = 0; i < *rank; i++) {
        const struct model_dimension *d = input->has_shape ? &input->dims[i] : NULL;
        int64_t given = has_shape(known) ? (int64_t)known->shape.data[i] : -1, size = d ? d->size : -1;
        for (size_t k = 0; d && size < 0 && given < 0 && d->name.size && k < options->dimensionCount; k++)
            if (same_text(bytes_of(options->dimensions[k].name), d->name))
                given = options->dimensions[k].value;
        if (size >= 0 && given >= 0 && given != size)
            return fail(r, "dimension %zu of input \"%s\" is %lld, not %lld", i, name, (long long)size,
                        (long long)given);
        dims[i] = size >= 0 ? size : given < 0 && d && d->usual > 0 ? d->usual : given;
        if (dims[i] < 0 && !(r->late && d && !(known && known->data)))
            open |= 1u << i;
    }
    return !open || fail_open(r, input, *rank, open);
}

// An input whose elements the options give.
static struct tensor *make_given(struct recording *r, const WNNModelInputValue *known, int64_t type,
                                 size_t rank, const int64_t *dims)
{
    struct constant given = {.type = type, .bytes = {known->data, known->byteLength}};
    struct tensor *t = make_constant(r, &given, rank, dims);
    if (!require_known(r, t, "an input"))
        return NULL;
    t->source = NULL; // its bytes are the caller's
    return t;
}

static bool is_open(size_t rank, const int64_t *dims)
{
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0)
            return true;
    return false;
}

// Dimensions that are not known, chained to a descriptor: names, or sizes of their own.
static WNNNamedDimensions name_dimensions(const struct model_input *input, size_t rank, const int64_t *dims,
                                          WNNDimension *dimensions)
{
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    for (size_t i = 0; i < rank; i++) {
        dimensions[i] = (WNNDimension)WNN_DIMENSION_INIT;
        if (dims[i] >= 0)
            continue;
        struct bytes name = input->dims[i].name;
        dimensions[i].name = (WNNStringView){(const char *)name.data, name.size};
        dimensions[i].isUnknown = name.size == 0;
        dimensions[i].minSize = 0;
    }
    named.dimensionCount = rank;
    named.dimensions = dimensions;
    return named;
}

struct tensor *make_input(struct recording *r, const WNNModelRecordOptions *options,
                          const struct model_input *input)
{
    const WNNModelInputValue *known = find_given(options, input->name);
    size_t rank;
    int64_t dims[MAX_RANK];
    char name[120];
    wnn_model_print(name, sizeof name, input->name);
    if (!find_shape(r, options, input, known, &rank, dims))
        return NULL;
    bool open = is_open(rank, dims);
    if (!open && product(dims, rank) == 0) // nothing has to be given
        return make_known(r, input->type, rank, dims);
    if (known && known->data)
        return make_given(r, known, input->type, rank, dims);
    uint32_t shape[MAX_RANK];
    for (size_t i = 0; i < rank; i++)
        shape[i] = dims[i] < 0 ? 1 : (uint32_t)(dims[i] < UINT32_MAX ? dims[i] : UINT32_MAX);
    if (known && known->operand) {
        WNNUint32List has = wnnOperandGetShape(known->operand);
        bool fits =
            wnnOperandGetDataType(known->operand) == operand_type(r, input->type) && has.count == rank;
        for (size_t i = 0; fits && i < rank; i++)
            fits = dims[i] < 0 || has.data[i] == shape[i];
        if (!fits)
            return fail(r, "the operand for input \"%s\" is not of its type and shape", name);
        return make_operand(r, input->type, known->operand);
    }
    WNNDimension dimensions[MAX_RANK];
    WNNNamedDimensions named = name_dimensions(input, rank, dims, dimensions);
    WNNOperandDescriptor descriptor = {
        open ? &named.chain : NULL, operand_type(r, input->type), {shape, rank}};
    if (descriptor.dataType == WNNDataType_Undefined)
        return fail(r, "input \"%s\": WebNN has no type for %s%s", name, type_name(input->type),
                    is_narrowed(input->type) ? ", and narrowing was not asked for" : "");
    struct tensor *t = make_operand(
        r, input->type,
        wnnGraphBuilderInput(r->builder, (WNNStringView){(const char *)input->name.data, input->name.size},
                             &descriptor));
    if (t)
        t->is_input = true;
    return t;
}

WNNOperand output_operand(struct recording *r, struct tensor *t)
{
    bool own = t->operand && !t->is_input && !t->source && !t->ints && !t->reals;
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, WNN_STRING_VIEW_INIT};
    if (!operand || own)
        return operand;
    struct tensor *copy = make_operand(r, t->type, wnnGraphBuilderIdentity(r->builder, operand, &options));
    return copy ? copy->operand : NULL;
}
