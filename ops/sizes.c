// SPDX-License-Identifier: Apache-2.0
//
// The public side of sizes that are not known: dimensions by name, arithmetic, what a size is.

#include "ops/builder.h"

static struct bounds bounds_of(const WNNLimits *limits, const WNNDimension *dimension)
{
    int64_t least = limits->acceptEmptyTensors ? 0 : 1;
    return (struct bounds){dimension->minSize > least ? dimension->minSize : least,
                           dimension->maxSize < WNN_MAX_DIMENSION ? dimension->maxSize : WNN_MAX_DIMENSION};
}

// Gives one dimension of an input its name.
static bool name_dimension(struct WNNGraphBuilderImpl *builder, const char *what, unsigned index,
                           const WNNDimension *dimension, uint32_t *size)
{
    struct size_table *sizes = &builder->graph.sizes;
    struct string name = wnn_string(dimension->name);
    struct bounds bounds = bounds_of(&builder->limits, dimension);
    if (!wnn_check_string(&builder->limits, "the name of a dimension", dimension->name, &builder->error))
        return false;
    if (name.length == 0 && !dimension->isUnknown)
        return true;
    if (name.length && dimension->isUnknown)
        return wnn_fail(&builder->error, WNNStatus_TypeError,
                        "%s: dimension %u has a name, and is said to have none", what, index);
    if (bounds.min > bounds.max)
        return wnn_fail(&builder->error, WNNStatus_TypeError,
                        "%s: dimension %u has a size from %lld to %lld; expected at least one", what, index,
                        (long long)bounds.min, (long long)bounds.max);
    if (!wnn_size_named(sizes, name, bounds, size))
        return wnn_fail(
            &builder->error, WNNStatus_TypeError,
            "%s: dimension %u has a size from %lld to %lld; no size that its name had before is one", what,
            index, (long long)bounds.min, (long long)bounds.max);
    return !sizes->exhausted ||
           wnn_fail(&builder->error, WNNStatus_OutOfMemory,
                    "%s: more than %d sizes that are not known, or no memory for them", what, WNN_MAX_SIZES);
}

const struct bounds *wnn_named_bounds(struct WNNGraphBuilderImpl *builder,
                                      const WNNNamedDimensions *dimensions)
{
    struct bounds *bounds =
        wnn_arena_allocate(&builder->graph.arena, (dimensions->dimensionCount + 1) * sizeof *bounds);
    for (size_t i = 0; bounds && i < dimensions->dimensionCount; i++) {
        const WNNDimension *dimension = &dimensions->dimensions[i];
        bool named = wnn_string(dimension->name).length || dimension->isUnknown;
        bounds[i] = named ? bounds_of(&builder->limits, dimension) : (struct bounds){1, 0};
    }
    return bounds;
}

bool wnn_name_dimensions(struct WNNGraphBuilderImpl *builder, const char *what,
                         const WNNNamedDimensions *dimensions, WNNUint32List shape, uint32_t *sizes)
{
    if (shape.count == WNN_LIST_ABSENT || shape.count > WNN_MAX_RANK || (shape.count && !shape.data))
        return true; // which is refused as the shape that it is
    if (dimensions->dimensionCount != shape.count || (shape.count && !dimensions->dimensions))
        return wnn_fail(&builder->error, WNNStatus_TypeError, "%s has rank %zu and %zu dimensions", what,
                        shape.count, dimensions->dimensions ? dimensions->dimensionCount : 0);
    for (size_t i = 0; i < shape.count; i++) {
        sizes[i] = shape.data[i];
        if (!name_dimension(builder, what, (unsigned)i, &dimensions->dimensions[i], &sizes[i]))
            return false;
    }
    return true;
}

uint32_t wnn_builder_size(struct WNNGraphBuilderImpl *builder, const char *what, const struct amount *amount)
{
    struct size_table *sizes = &builder->graph.sizes;
    uint32_t size = wnn_amount_size(sizes, amount);
    if (!sizes->exhausted)
        return size;
    wnn_fail(&builder->error, WNNStatus_OutOfMemory,
             "%s: more than %d sizes that are not known, or no memory for them", what, WNN_MAX_SIZES);
    return 0;
}

static bool check_size(struct WNNGraphBuilderImpl *builder, uint32_t size)
{
    return size <= WNN_MAX_DIMENSION || wnn_size_is_symbolic(&builder->graph.sizes, size) ||
           wnn_fail(&builder->error, WNNStatus_TypeError, "computeSize: %u is not a size of this builder",
                    size);
}

uint32_t wnnGraphBuilderComputeSize(WNNGraphBuilder builder, WNNSizeOperator operation, uint32_t a,
                                    uint32_t b)
{
    if (!builder || !builder->host->usable(builder->context, &builder->error) || !check_size(builder, a) ||
        !check_size(builder, b))
        return 0;
    struct size_table *sizes = &builder->graph.sizes;
    struct amount x = wnn_amount(sizes, a), y = wnn_amount(sizes, b), result = {0};
    switch (operation) {
    case WNNSizeOperator_Add:
        result = wnn_amount_add(sizes, x, y);
        break;
    case WNNSizeOperator_Subtract:
        result = wnn_amount_add(sizes, x, wnn_amount_times(y, -1));
        break;
    case WNNSizeOperator_Multiply:
        result = wnn_amount_product(sizes, x, y);
        break;
    case WNNSizeOperator_Divide:
        if (y.count || y.constant == 0) {
            wnn_fail(&builder->error, WNNStatus_TypeError,
                     "computeSize: the divisor is %s; expected a number", y.count ? "not known" : "0");
            return 0;
        }
        result = wnn_amount_divide(sizes, x, y.constant);
        break;
    case WNNSizeOperator_Minimum:
        result = wnn_amount_minimum(sizes, x, y);
        break;
    case WNNSizeOperator_Maximum: // what is left of both
        result = wnn_amount_add(sizes, wnn_amount_add(sizes, x, y),
                                wnn_amount_times(wnn_amount_minimum(sizes, x, y), -1));
        break;
    default:
        wnn_fail(&builder->error, WNNStatus_TypeError, "computeSize: operator %d does not exist",
                 (int)operation);
        return 0;
    }
    struct bounds range = wnn_amount_range(sizes, &result);
    if (range.max < 0 || range.min > WNN_MAX_DIMENSION) {
        wnn_fail(&builder->error, WNNStatus_TypeError,
                 "computeSize: the size would be %lld; expected 0 to %u",
                 (long long)(range.max < 0 ? range.max : range.min), WNN_MAX_DIMENSION);
        return 0;
    }
    return wnn_builder_size(builder, "computeSize", &result);
}

bool wnn_describe_size(const struct size_table *sizes, uint32_t size, WNNDimension *dimension)
{
    *dimension = (WNNDimension){.name = {"", 0}, .minSize = size, .maxSize = size};
    if (size > WNN_MAX_DIMENSION && !wnn_size_is_symbolic(sizes, size))
        return false;
    if (!wnn_size_is_symbolic(sizes, size))
        return true;
    const struct size *of = &sizes->items[size & ~WNN_SYMBOLIC];
    struct bounds range = of->range;
    dimension->name = of->kind == SIZE_NAME ? wnn_string_view(of->name) : dimension->name;
    dimension->isUnknown = dimension->name.length == 0;
    dimension->minSize = range.min < 0                   ? 0
                         : range.min > WNN_MAX_DIMENSION ? WNN_MAX_DIMENSION
                                                         : (uint32_t)range.min;
    dimension->maxSize = range.max > WNN_MAX_DIMENSION ? WNN_MAX_DIMENSION
                         : range.max < 0               ? 0
                                                       : (uint32_t)range.max;
    return true;
}

WNNStatus wnnGraphBuilderGetSize(WNNGraphBuilder builder, uint32_t size, WNNDimension *dimension)
{
    if (!builder || !dimension)
        return WNNStatus_TypeError;
    return wnn_describe_size(&builder->graph.sizes, size, dimension) ? WNNStatus_Success
                                                                     : WNNStatus_TypeError;
}
