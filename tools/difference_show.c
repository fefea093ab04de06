// SPDX-License-Identifier: Apache-2.0
#include "tools/difference_show.h"

#include "tools/memory.h"
#include "tools/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------

#define NUMBER_TEXT 40

static const char *number_text(WNNNumber number, char buffer[NUMBER_TEXT])
{
    if (number.type == WNNNumberType_Int64)
        snprintf(buffer, NUMBER_TEXT, "%lld", (long long)number.value.i64);
    else if (number.type == WNNNumberType_Uint64)
        snprintf(buffer, NUMBER_TEXT, "%llu", (unsigned long long)number.value.u64);
    else
        snprintf(buffer, NUMBER_TEXT, "%.9g", number.value.f64);
    return buffer;
}
#define NUMBER(number) number_text((number), (char[NUMBER_TEXT]){0})

const char *type_text(const struct element_type *type, const struct shape *shape, char buffer[TYPE_TEXT])
{
    snprintf(buffer, TYPE_TEXT, "%s%s", type->name, SHAPE_TEXT(shape));
    return buffer;
}

// Where an element is, as an index of each dimension.
static struct shape place_of(const struct difference *difference, size_t element)
{
    struct shape place = {.rank = difference->shape.rank};
    for (unsigned i = place.rank; i-- > 0;) {
        place.dim[i] = (uint32_t)(element % difference->shape.dim[i]);
        element /= difference->shape.dim[i];
    }
    return place;
}

// " at [0, 3] of item 7: 1.5, reference 1.25"
static void show_deviation(const struct difference *difference, const struct deviation *at, size_t items)
{
    struct shape place = place_of(difference, at->element);
    printf(" at %s", SHAPE_TEXT(&place));
    if (items > 1)
        printf(" of item %zu", at->item);
    printf(": %s, reference %s\n", NUMBER(at->is), NUMBER(at->reference));
}

static void show_largest(const struct difference *difference, size_t items)
{
    if (difference->largest == 0)
        return;
    printf("    largest difference %.4g", difference->largest);
    if (!difference->exact && difference->scale > 0)
        printf(", %.3g of the scale %.4g,", difference->relative, difference->scale);
    show_deviation(difference, &difference->at, items);
}

static void show_counts(const struct difference *difference)
{
    if (difference->unequal == 0) {
        printf("    all %zu elements are equal\n", difference->elements);
        return;
    }
    printf("    %s%zu of %zu elements beyond ", difference->beyond ? STYLE_BOLD : "", difference->beyond,
           difference->elements);
    if (difference->exact)
        printf(difference->tolerance > 0 ? "a difference of %g" : "equality", difference->tolerance);
    else
        printf("%g of the scale", difference->tolerance);
    printf("%s\n", difference->beyond ? STYLE_NONE : "");
}

void difference_show(struct string name, const struct difference *difference, size_t items)
{
    char type[TYPE_TEXT], reference[TYPE_TEXT];
    bool same = difference->type == difference->reference_type &&
                wnn_shape_equal(&difference->shape, &difference->reference_shape);
    printf("  %s%s%s: %s%s%s\n", STYLE_BOLD, SHOWN(name), STYLE_NONE,
           type_text(difference->type, &difference->shape, type), same ? "" : ", reference ",
           same ? "" : type_text(difference->reference_type, &difference->reference_shape, reference));
    if (difference->kind == DIFFERENCE_OF_SHAPES)
        printf("    %sof another shape%s\n", STYLE_BOLD, STYLE_NONE);
    if (difference->kind == DIFFERENCE_OF_KINDS)
        printf("    %sof another kind of numbers%s\n", STYLE_BOLD, STYLE_NONE);
    if (difference->kind != DIFFERENCE_OF_NUMBERS)
        return;
    show_counts(difference);
    show_largest(difference, items);
    if (difference->nans) {
        printf("    %zu NaN on one side alone, the first", difference->nans);
        show_deviation(difference, &difference->nan, items);
    }
    if (difference->infinities) {
        printf("    %zu infinite on one side alone, or of the other sign, the first", difference->infinities);
        show_deviation(difference, &difference->infinity, items);
    }
}

const char *difference_text(const struct difference *difference, char buffer[DIFFERENCE_TEXT])
{
    if (difference->kind != DIFFERENCE_OF_NUMBERS)
        snprintf(buffer, DIFFERENCE_TEXT, "another %s",
                 difference->kind == DIFFERENCE_OF_SHAPES ? "shape" : "kind of numbers");
    else if (difference->nans + difference->infinities)
        snprintf(buffer, DIFFERENCE_TEXT, "%zu NaN or infinite on one side alone",
                 difference->nans + difference->infinities);
    else if (difference->largest == 0)
        snprintf(buffer, DIFFERENCE_TEXT, "equal");
    else if (difference->exact || difference->scale == 0)
        snprintf(buffer, DIFFERENCE_TEXT, "differs by %.3g", difference->largest);
    else
        snprintf(buffer, DIFFERENCE_TEXT, "differs by %.3g of the scale", difference->relative);
    return buffer;
}

// ---------------------------------------------------------------------------------------------------------------
// JSON
// ---------------------------------------------------------------------------------------------------------------

void json_add_string(cJSON *object, const char *key, struct string text)
{
    char *copy = must_allocate(text.length + 1);
    memcpy(copy, text.data, text.length);
    must(cJSON_AddStringToObject(object, key, copy));
    free(copy);
}

void json_add_number(cJSON *object, const char *key, WNNNumber number)
{
    double value = wnn_number_double(number);
    if (number.type != WNNNumberType_Float64)
        must(cJSON_AddRawToObject(object, key, NUMBER(number)));
    else if (isfinite(value))
        must(cJSON_AddNumberToObject(object, key, value));
    else
        must(cJSON_AddStringToObject(object, key,
                                     isnan(value) ? "NaN"
                                     : value > 0  ? "Infinity"
                                                  : "-Infinity"));
}

void json_add_shape(cJSON *object, const char *key, const struct shape *shape)
{
    cJSON *array = must(cJSON_AddArrayToObject(object, key));
    for (unsigned i = 0; i < shape->rank; i++)
        must(cJSON_AddItemToArray(array, must(cJSON_CreateNumber(shape->dim[i]))) ? array : NULL);
}

static void add_deviation(cJSON *object, const char *key, const struct difference *difference,
                          const struct deviation *at)
{
    cJSON *entry = must(cJSON_AddObjectToObject(object, key));
    struct shape place = place_of(difference, at->element);
    must(cJSON_AddNumberToObject(entry, "item", (double)at->item));
    json_add_shape(entry, "at", &place);
    json_add_number(entry, "value", at->is);
    json_add_number(entry, "reference", at->reference);
}

cJSON *difference_json(struct string name, const struct difference *difference)
{
    cJSON *object = must(cJSON_CreateObject());
    json_add_string(object, "name", name);
    must(cJSON_AddStringToObject(object, "type", difference->type->name));
    json_add_shape(object, "shape", &difference->shape);
    must(cJSON_AddStringToObject(object, "reference_type", difference->reference_type->name));
    json_add_shape(object, "reference_shape", &difference->reference_shape);
    must(cJSON_AddBoolToObject(object, "within", difference_within(difference)));
    if (difference->kind != DIFFERENCE_OF_NUMBERS) {
        const char *mismatch = difference->kind == DIFFERENCE_OF_SHAPES ? "shape" : "type";
        must(cJSON_AddStringToObject(object, "mismatch", mismatch));
        return object;
    }
    must(cJSON_AddNumberToObject(object, "elements", (double)difference->elements));
    must(cJSON_AddNumberToObject(object, "unequal", (double)difference->unequal));
    must(cJSON_AddNumberToObject(object, "beyond", (double)difference->beyond));
    must(cJSON_AddNumberToObject(object, "tolerance", difference->tolerance));
    must(cJSON_AddBoolToObject(object, "exact", difference->exact));
    must(cJSON_AddNumberToObject(object, "max_difference", difference->largest));
    if (!difference->exact) {
        json_add_number(object, "max_relative", wnnNumberFloat64(difference->relative));
        must(cJSON_AddNumberToObject(object, "scale", difference->scale));
    }
    add_deviation(object, "largest", difference, &difference->at);
    must(cJSON_AddNumberToObject(object, "nans", (double)difference->nans));
    must(cJSON_AddNumberToObject(object, "infinities", (double)difference->infinities));
    if (difference->nans)
        add_deviation(object, "first_nan", difference, &difference->nan);
    if (difference->infinities)
        add_deviation(object, "first_infinity", difference, &difference->infinity);
    return object;
}
