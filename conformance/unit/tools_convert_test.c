// SPDX-License-Identifier: Apache-2.0
//
// Models that are recorded anew say what they said, and weights in fewer bits lie as near to what they were
// as their bits allow.

#include "conformance/unit/require.h"

#include "compiler/compile.h"
#include "conformance/fuzz/fuzz.h"
#include "lib/half.h"
#include "tools/quantize_numbers.h"
#include "tools/quantize_weights.h"
#include "tools/rebuild.h"

#include <math.h>

static WNNContext context;

static void begin(struct model *model)
{
    struct error error = {WNNStatus_Success, ""};
    REQUIRE(model_begin(model, context, &error));
}

// ---------------------------------------------------------------------------------------------------------------
// Recording anew
// ---------------------------------------------------------------------------------------------------------------

struct writer {
    const bool *live;
    size_t *numbers; // by operand, of the live nodes that computed operands come from
};

static uint32_t sum_of(const struct constant *constant)
{
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < constant->bytes; i++)
        sum = (sum ^ ((const unsigned char *)constant->data)[i]) * 16777619u;
    return sum;
}

// An operand by what does not depend on the order of its graph.
static void add_operand(void *argument, const struct operand *operand, struct text *text)
{
    const struct writer *writer = argument;
    if (operand->input)
        wnn_text_add(text, "%.*s", (int)wnn_operand_name(operand).length, wnn_operand_name(operand).data);
    else if (operand->constant)
        wnn_text_add(text, "%s%s#%08x", wnn_dtype_name(operand->type.type), SHAPE_TEXT(&operand->type.shape),
                     sum_of(operand->constant));
    else
        wnn_text_add(text, "t%zu.%u", writer->numbers[operand->index], operand->output);
}

// What a model computes, a line a node that an output depends on; to be freed.
static char *describe(const struct model *model)
{
    enum {
        LONGEST = 1 << 16
    };
    static char call[LONGEST];
    char *all;
    size_t size, count = 0;
    const struct graph *graph = model_graph(model);
    bool *live = rebuild_find_live(model);
    struct writer writer = {live, calloc(graph->operand_count, sizeof *writer.numbers)};
    FILE *file = open_memstream(&all, &size);
    REQUIRE(writer.numbers && file);
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->input)
            fprintf(file, "%.*s: %s%s\n", (int)wnn_operand_name(graph->operands[i]).length,
                    wnn_operand_name(graph->operands[i]).data, wnn_dtype_name(graph->operands[i]->type.type),
                    SHAPE_TEXT(&graph->operands[i]->type.shape));
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool wanted = false;
        for (unsigned k = 0; k < node->out_count; k++)
            wanted = wanted || live[node->out[k]->index];
        if (!wanted)
            continue;
        struct text text = TEXT(call);
        call[0] = '\0';
        wnn_dump_call(node, add_operand, &writer, &text);
        fprintf(file, "t%zu = %s \"%.*s\"\n", count, call, (int)node->label.length, node->label.data);
        for (unsigned k = 0; k < node->out_count; k++)
            writer.numbers[node->out[k]->index] = count;
        count++;
    }
    for (size_t i = 0; i < model->output_count; i++) {
        struct text text = TEXT(call);
        call[0] = '\0';
        add_operand(&writer, wnn_operand(model->outputs[i].operand), &text);
        fprintf(file, "%s = %s\n", model->outputs[i].name.data, call);
    }
    fclose(file);
    free(writer.numbers);
    free(live);
    return all;
}

static const struct weights_form UNCHANGED = {.min_elements = 1};

static void convert(const struct model *from, const struct weights_form *form, struct model *to,
                    struct conversion *conversion)
{
    struct error error = {WNNStatus_Success, ""};
    begin(to);
    bool good = quantize_weights(from, form, to, conversion, &error);
    REQUIRE_EQUAL_STR(error.message, "");
    REQUIRE(good);
}

static void test_rebuild(unsigned seeds)
{
    for (unsigned seed = 1; seed <= seeds; seed++) {
        struct model from, to;
        struct conversion conversion;
        begin(&from);
        fuzz_random_model(&from, seed);
        convert(&from, &UNCHANGED, &to, &conversion);
        char *before = describe(&from), *after = describe(&to);
        REQUIRE_EQUAL_STR(after, before);
        free(before);
        free(after);
        conversion_free(&conversion);
        model_end(&to);
        model_end(&from);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Weights of random graphs
// ---------------------------------------------------------------------------------------------------------------

// The outputs keep their types and shapes, and what is converted gets smaller.
static void test_forms(unsigned seeds)
{
    static const struct weights_form forms[] = {{WNNDataType_Float16, 0, 1},
                                                {WNNDataType_Int8, 0, 1},
                                                {WNNDataType_Int8, 3, 1},
                                                {WNNDataType_Uint4, 4, 1}};
    size_t converted[4] = {0};
    for (unsigned seed = 1; seed <= seeds; seed++) {
        struct model from, to;
        struct conversion conversion;
        begin(&from);
        fuzz_random_model(&from, seed);
        convert(&from, &forms[seed % 4], &to, &conversion);
        REQUIRE_EQUAL_INT(to.output_count, from.output_count);
        for (size_t i = 0; i < to.output_count; i++)
            REQUIRE(wnn_descriptor_equal(&wnn_operand(to.outputs[i].operand)->type,
                                         &wnn_operand(from.outputs[i].operand)->type));
        for (size_t i = 0; i < conversion.constant_count; i++) {
            const struct converted_constant *constant = &conversion.constants[i];
            if (constant->stored_name)
                REQUIRE(constant->bytes < constant->operand->constant->bytes);
            else
                REQUIRE(constant->reason[0]);
            converted[seed % 4] += constant->stored_name != NULL;
        }
        conversion_free(&conversion);
        model_end(&to);
        model_end(&from);
    }
    for (unsigned i = 0; i < 4; i++)
        REQUIRE(converted[i] > seeds / 100);
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------

static double random_number(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (double)(*state >> 8) / (1 << 23) - 1;
}

// The place of an element's scale.
static size_t scale_of(const struct shape *shape, const struct shape *scale, size_t element)
{
    size_t place = 0, stride = 1;
    for (unsigned d = shape->rank; d-- > 0;) {
        size_t index = element % shape->dim[d];
        element /= shape->dim[d];
        place += index / (shape->dim[d] / scale->dim[d]) * stride;
        stride *= scale->dim[d];
    }
    return place;
}

static double number(WNNDataType type, const void *data, size_t index)
{
    return wnn_number_double(wnn_number_load(type, data, index));
}

// Every number comes back within half a step, and steps are no longer than the range of a block needs.
static void check_numbers(const struct shape *shape, const struct shape *scale, WNNDataType type,
                          WNNDataType from, double magnitude)
{
    size_t elements = wnn_shape_elements(shape), scales = wnn_shape_elements(scale);
    size_t bytes = wnn_dtype_bytes(from, elements);
    unsigned char *memory = malloc(bytes + 1), *data = memory + 1; // of odd alignment
    double *low = calloc(scales, sizeof *low), *high = calloc(scales, sizeof *high);
    uint32_t state = 7;
    REQUIRE(memory && low && high);
    for (size_t i = 0; i < elements; i++) {
        uint64_t aligned = 0;
        size_t at = scale_of(shape, scale, i), width = wnn_dtype_bytes(from, 1);
        WNNNumber value = wnnNumberFloat64(magnitude * (random_number(&state) + (at % 3 ? 0.5 : 0)));
        if (at % 5 == 4)
            value = wnnNumberFloat64(0);
        wnn_number_store(wnn_number_convert(value, from), from, &aligned, 0);
        memcpy(data + i * width, &aligned, width);
        low[at] = fmin(low[at], number(from, &aligned, 0));
        high[at] = fmax(high[at], number(from, &aligned, 0));
    }
    struct numbers numbers = {data, {from, *shape}};
    struct integers integers = quantize_numbers(&numbers, type, scale, from);
    double most = type == WNNDataType_Int8 ? 127 : 15;
    for (size_t i = 0; i < scales; i++) {
        double step = number(from, integers.scales, i), zero = number(type, integers.zero_points, i);
        double range = type == WNNDataType_Int8 ? fmax(high[i], -low[i]) : high[i] - low[i];
        REQUIRE(step > 0 && (type == WNNDataType_Uint4 || zero == 0));
        if (range > 0 && from == WNNDataType_Float32)
            REQUIRE(fabs(step - range / most) <= 1e-6 * step);
        else if (range > 0)
            REQUIRE(step >= range / most && step <= range / most * (1 + 0x1p-9) + 0x1p-24);
    }
    for (size_t i = 0; i < elements; i++) {
        size_t at = scale_of(shape, scale, i);
        double step = number(from, integers.scales, at);
        double back = (number(type, integers.data, i) - number(type, integers.zero_points, at)) * step;
        uint64_t aligned = 0;
        memcpy(&aligned, data + i * wnn_dtype_bytes(from, 1), wnn_dtype_bytes(from, 1));
        // The zero point is rounded, which moves both ends by up to half a step.
        double allowed = (type == WNNDataType_Int8 ? 0.5 : 1.0) * step * 1.0001;
        REQUIRE(fabs(back - number(from, &aligned, 0)) <= allowed);
    }
    free(integers.data);
    free(integers.scales);
    free(integers.zero_points);
    free(memory);
    free(low);
    free(high);
}

static void test_numbers(void)
{
    static const struct {
        struct shape shape, scale;
    } cases[] = {
        {{1, {1}}, {1, {1}}},
        {{2, {7, 5}}, {2, {1, 5}}},
        {{2, {7, 5}}, {2, {7, 1}}},
        {{2, {96, 33}}, {2, {3, 33}}},
        {{2, {33, 96}}, {2, {33, 3}}},
        {{2, {3, 5000}}, {2, {3, 1}}},
        {{2, {3, 5000}}, {2, {1, 2}}},
        {{2, {2, 3003}}, {2, {2, 1001}}},
        {{4, {6, 4, 3, 3}}, {4, {6, 2, 1, 1}}},
        {{4, {3, 3, 4, 6}}, {4, {1, 1, 2, 6}}},
        {{5, {2, 1, 3, 8, 5}}, {5, {2, 1, 1, 4, 5}}},
    };
    static const WNNDataType types[] = {WNNDataType_Int8, WNNDataType_Uint4},
                             from[] = {WNNDataType_Float32, WNNDataType_Float16};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned k = 0; k < 4; k++)
            for (double magnitude = 1e-4; magnitude < 1e5; magnitude *= 1e4)
                check_numbers(&cases[i].shape, &cases[i].scale, types[k % 2], from[k / 2], magnitude);
}

static void test_magnitude(void)
{
    float values[3] = {1, -3, 2};
    struct numbers numbers = {values, {WNNDataType_Float32, {1, {3}}}};
    REQUIRE(numbers_magnitude(&numbers) == 3);
    uint16_t *halves = numbers_to_float16(&numbers);
    REQUIRE_EQUAL_INT(halves[1], wnn_half_from_float(-3));
    free(halves);
    values[2] = NAN;
    REQUIRE(isinf(numbers_magnitude(&numbers)));
    values[2] = -INFINITY;
    REQUIRE(isinf(numbers_magnitude(&numbers)));
}

int main(int argc, char **argv)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    cases_begin(argc, argv);
    descriptor.threadCount = 1;
    REQUIRE(wnnCreateContext(&descriptor, &context) == WNNStatus_Success);
    CASE(test_rebuild(SANITIZED ? 200 : 2000));
    CASE(test_forms(SANITIZED ? 200 : 2000));
    CASE(test_numbers());
    CASE(test_magnitude());
    wnnContextRelease(context);
    return cases_end();
}
