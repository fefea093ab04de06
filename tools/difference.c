// SPDX-License-Identifier: Apache-2.0
#include "tools/difference.h"

#include "tools/terminal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In the order of element_types: rounding to a type makes errors of 6e-8 (float32), 5e-4 (float16) and 4e-3
// (bfloat16) of a number, and a network adds some of them up.
const struct tolerances default_tolerances = {.by_type = {1e-4, 1e-2, 1e-4, 5e-2}};

static size_t index_of(const struct element_type *type)
{
    return (size_t)(type - element_types);
}

bool tolerances_parse(struct tolerances *tolerances, const char *argument)
{
    const char *equal = strchr(argument, '='), *number = equal ? equal + 1 : argument;
    char *end;
    double value = strtod(number, &end);
    bool found = false, good = end != number && *end == '\0' && value >= 0 && value <= DBL_MAX;
    for (size_t i = 0; good && i < ELEMENT_TYPES; i++) {
        const struct element_type *type = &element_types[i];
        size_t length = strlen(type->name);
        bool meant = equal
                         ? length == (size_t)(equal - argument) && strncmp(type->name, argument, length) == 0
                         : type->kind == ELEMENT_REAL;
        if (meant)
            tolerances->by_type[i] = value;
        found |= meant;
    }
    if (!found)
        fprintf(stderr, "webnn: --tolerance=%s: expected a number from 0 on, or TYPE=NUMBER\n",
                SHOWN_STRING(argument));
    return found;
}

bool difference_begin(struct difference *difference, const struct array *is, const struct shape *shape,
                      const struct array *reference, const struct shape *reference_shape,
                      const struct tolerances *tolerances)
{
    bool real = is->element->kind == ELEMENT_REAL;
    *difference = (struct difference){
        .type = is->element,
        .reference_type = reference->element,
        .shape = *shape,
        .reference_shape = *reference_shape,
        .exact = !real,
        .tolerance = fmax(tolerances->by_type[index_of(is->element)],
                          tolerances->by_type[index_of(reference->element)]),
    };
    if (real != (reference->element->kind == ELEMENT_REAL))
        difference->kind = DIFFERENCE_OF_KINDS;
    else if (!wnn_shape_equal(shape, reference_shape))
        difference->kind = DIFFERENCE_OF_SHAPES;
    return difference->kind == DIFFERENCE_OF_NUMBERS;
}

static double find_scale(const struct array *reference, size_t begin, size_t count)
{
    double scale = 0;
    for (size_t i = 0; i < count; i++) {
        double value = fabs(wnn_number_double(array_element(reference, begin + i)));
        scale = isfinite(value) && value > scale ? value : scale;
    }
    return scale;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

// How far two whole numbers are apart, exactly, and at most 2^64 - 1.
static uint64_t whole_distance(WNNNumber a, WNNNumber b)
{
    bool a_negative = a.type == WNNNumberType_Int64 && a.value.i64 < 0,
         b_negative = b.type == WNNNumberType_Int64 && b.value.i64 < 0;
    uint64_t x = a_negative ? magnitude(a.value.i64) : a.value.u64,
             y = b_negative ? magnitude(b.value.i64) : b.value.u64;
    if (a_negative != b_negative)
        return x + y < x ? UINT64_MAX : x + y;
    return x > y ? x - y : y - x;
}

// The smallest normal number: smaller ones may be 0 on one side.
static double least_normal(const struct element_type *type)
{
    return type->kind != ELEMENT_REAL ? 0 : type->bits == 16 && type->type ? 0x1p-14 : (double)FLT_MIN;
}

// Whether the numbers are not both finite; counts them if they differ.
static bool add_special(struct difference *difference, const struct deviation *at)
{
    double is = wnn_number_double(at->is), reference = wnn_number_double(at->reference);
    if (isfinite(is) && isfinite(reference))
        return false;
    if (is == reference || (isnan(is) && isnan(reference)))
        return true;
    bool nan = isnan(is) || isnan(reference);
    if ((nan ? difference->nans++ : difference->infinities++) == 0)
        *(nan ? &difference->nan : &difference->infinity) = *at;
    difference->unequal++;
    difference->beyond++;
    return true;
}

void difference_add(struct difference *difference, const struct tolerances *tolerances, size_t item,
                    const struct array *is, size_t is_begin, const struct array *reference,
                    size_t reference_begin)
{
    size_t count = wnn_shape_elements(&difference->shape);
    double scale = find_scale(reference, reference_begin, count);
    double allowed = difference->exact
                         ? difference->tolerance
                         : difference->tolerance * scale + tolerances->absolute +
                               fmax(least_normal(is->element), least_normal(reference->element));
    difference->elements += count;
    if (item == 0)
        difference->scale = scale;
    for (size_t i = 0; i < count; i++) {
        const struct deviation at = {item, i, array_element(is, is_begin + i),
                                     array_element(reference, reference_begin + i)};
        if (add_special(difference, &at))
            continue;
        double distance = difference->exact
                              ? (double)whole_distance(at.is, at.reference)
                              : fabs(wnn_number_double(at.is) - wnn_number_double(at.reference));
        double relative = difference->exact || distance == 0 ? distance : distance / scale;
        difference->unequal += distance > 0;
        difference->beyond += distance > allowed;
        bool greater = relative > difference->relative ||
                       (relative == difference->relative && distance > difference->largest);
        if (greater || (i == 0 && item == 0)) {
            difference->relative = relative;
            difference->largest = distance;
            difference->scale = scale;
            difference->at = at;
        }
    }
}

bool difference_within(const struct difference *difference)
{
    return difference->kind == DIFFERENCE_OF_NUMBERS && difference->beyond == 0;
}
