// SPDX-License-Identifier: Apache-2.0
//
// What indices move on the CPU backend, on tensors that are larger than what its kernels work on at a time
// and that end where their last element does. Indices of each type, many of which name nothing; against plain
// loops, cut for one thread and for some, in place too.

#include "conformance/unit/kernel_fixture.h"

static uint32_t state = 7;

static uint32_t draw(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static struct tensor random_tensor(const struct operand *operand)
{
    struct tensor tensor = make_tensor(operand, 0);
    uint8_t *data = tensor.data;
    for (size_t i = 0, bytes = tensor.count * size_of(&tensor); i < bytes; i++)
        data[i] = (uint8_t)draw();
    return tensor;
}

static void set_index(const struct tensor *indices, size_t i, int64_t index)
{
    if (indices->type == WNNDataType_Int64)
        ((int64_t *)indices->data)[i] = index;
    else
        ((uint32_t *)indices->data)[i] = (uint32_t)index;
}

// Most name one of the first elements of a dimension of `size`, counted from one of its ends.
static void fill_indices(const struct tensor *indices, uint32_t size)
{
    static const int64_t hostile[] = {INT32_MIN, INT32_MAX, -1, 0, INT32_MIN + 1, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < indices->count; i++) {
        int64_t index = draw() % size;
        uint32_t kind = draw() % 16;
        if (kind < 7)
            index = hostile[kind];
        else if (kind == 7)
            index = size;
        else if (kind == 8)
            index = -(int64_t)size - draw() % 2;
        else if (kind == 9)
            index -= size;
        if (indices->type == WNNDataType_Int64 && kind < 2)
            index = kind == 0 ? INT64_MIN : INT64_MAX;
        set_index(indices, i, index);
    }
}

// All name one of `few` elements, but for one in some thousands that is hostile. They begin somewhere else in
// each eighth of the indices: at the end of the dimension in the last one.
static void fill_few(const struct tensor *indices, uint32_t size, uint32_t few)
{
    for (size_t i = 0; i < indices->count; i++) {
        uint32_t first = (uint32_t)((size - few) * (i * 8 / indices->count) / 7);
        set_index(indices, i, draw() % 30000 == 0 ? -1 : (int64_t)(first + draw() % few));
    }
}

static size_t index_of(const struct tensor *indices, size_t i, uint32_t size)
{
    int64_t index;
    if (indices->type == WNNDataType_Int64)
        index = ((int64_t *)indices->data)[i];
    else if (indices->type == WNNDataType_Int32)
        index = ((int32_t *)indices->data)[i];
    else
        index = ((uint32_t *)indices->data)[i];
    if (index < -(int64_t)size)
        return 0;
    if (index >= (int64_t)size)
        return size - 1;
    return (size_t)(index < 0 ? index + size : index);
}

struct subject {
    uint32_t outer, size, inner; // of the larger side
    uint32_t steps;              // indices
    uint32_t few;                // elements that they name side by side; 0: any, and what is none
};

static void move(const struct tensor *to, size_t i, const struct tensor *from, size_t j, size_t count)
{
    size_t size = size_of(to);
    memcpy((char *)to->data + i * size, (const char *)from->data + j * size, count * size);
}

static void gather_plainly(const struct subject *s, const struct tensor *in, const struct tensor *out)
{
    for (size_t o = 0; o < s->outer; o++)
        for (size_t k = 0; k < s->steps; k++)
            move(out, (o * s->steps + k) * s->inner, &in[0],
                 (o * s->size + index_of(&in[1], k, s->size)) * s->inner, s->inner);
}

static void move_elements_plainly(const struct subject *s, const struct tensor *in, const struct tensor *out)
{
    for (size_t i = 0; i < in[1].count; i++) {
        size_t o = i / s->inner / s->steps;
        size_t place = (o * s->size + index_of(&in[1], i, s->size)) * s->inner + i % s->inner;
        if (in[2].data)
            move(out, place, &in[2], i, 1);
        else
            move(out, i, &in[0], place, 1);
    }
}

// Pairs of indices; the first two dimensions are outer and size.
static void move_blocks_plainly(const struct subject *s, const struct tensor *in, const struct tensor *out)
{
    for (size_t k = 0; k < s->steps; k++) {
        size_t place = index_of(&in[1], 2 * k, s->outer) * s->size + index_of(&in[1], 2 * k + 1, s->size);
        if (in[2].data)
            move(out, place * s->inner, &in[2], k * s->inner, s->inner);
        else
            move(out, k * s->inner, &in[0], place * s->inner, s->inner);
    }
}

static void check(WNNOperand result, const struct subject *s,
                  void (*plainly)(const struct subject *, const struct tensor *, const struct tensor *))
{
    REQUIRE(result);
    const struct node *node = wnn_operand(result)->producer;
    struct tensor in[3] = {random_tensor(node->in[0]), random_tensor(node->in[1])};
    struct tensor out = random_tensor(node->out[0]), expected = random_tensor(node->out[0]);
    size_t bytes = out.count * size_of(&out);
    if (node->in_count > 2) {
        in[2] = random_tensor(node->in[2]);
        memcpy(expected.data, in[0].data, bytes);
    }
    if (s->few > 0)
        fill_few(&in[1], s->size, s->few);
    else
        fill_indices(&in[1], s->size);
    plainly(s, in, &expected);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        struct parallel parallel = in_turn(threads);
        struct kernel_call call = {node, in, &out, NULL, &parallel};
        memset(out.data, 0xee, bytes);
        wnn_cpu_kernels[node->op]->run(&call);
        REQUIRE(memcmp(out.data, expected.data, bytes) == 0);
        if (node->in_count > 2 && threads > 1) {
            call.out = &in[0];
            wnn_cpu_kernels[node->op]->run(&call);
            REQUIRE(memcmp(in[0].data, expected.data, bytes) == 0);
        }
    }
    for (int i = 0; i < 3; i++)
        free(in[i].data);
    free(out.data);
    free(expected.data);
}

static void test(const struct subject *s, WNNDataType type, WNNDataType index_type)
{
    const uint32_t larger[] = {s->outer, s->size, s->inner}, smaller[] = {s->outer, s->steps, s->inner};
    const uint32_t pairs[] = {s->steps, 2}, blocks[] = {s->steps, s->inner};
    WNNGatherOptions gather = WNN_GATHER_OPTIONS_INIT;
    WNNScatterElementsOptions scatter = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    gather.axis = scatter.axis = 1;
    WNNOperand x = input(type, larger, 3), elements = input(index_type, smaller, 3),
               tuples = input(index_type, pairs, 2);
    check(wnnGraphBuilderGather(builder, x, input(index_type, &s->steps, 1), &gather), s, gather_plainly);
    check(wnnGraphBuilderGatherElements(builder, x, elements, &gather), s, move_elements_plainly);
    check(wnnGraphBuilderGatherND(builder, x, tuples, NULL), s, move_blocks_plainly);
    check(wnnGraphBuilderScatterElements(builder, x, elements, input(type, smaller, 3), &scatter), s,
          move_elements_plainly);
    check(wnnGraphBuilderScatterND(builder, x, tuples, input(type, blocks, 2), NULL), s, move_blocks_plainly);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    static const struct subject subjects[] = {
        {1, 1, 1, 1},      {1, 3, 1, 40},     {3, 2, 1, 2},     {700, 5, 1, 3},    {130, 1, 3, 2},
        {2, 300, 1, 1700}, {5, 7, 2, 130},    {33, 9, 5, 4},    {1, 70, 300, 9},   {2, 90, 1001, 33},
        {1, 4000, 70, 60}, {1, 9, 16, 700},   {1, 5, 33, 65},   {2, 3, 4100, 5},   {1, 20000, 17, 21000},
        {3, 30, 3, 400},   {9, 200, 1, 1100}, {37, 256, 1, 65}, {18, 129, 1, 640},
    };
    static const WNNDataType types[] = {WNNDataType_Uint8, WNNDataType_Float16, WNNDataType_Int32,
                                        WNNDataType_Int64},
                             index_types[] = {WNNDataType_Int32, WNNDataType_Uint32, WNNDataType_Int64};
    // Outputs that are written past the caches.
    static const struct subject large[] = {{4101, 700, 1, 1031}, {1, 4099, 1030, 4105}};
    // Tiles that are wide enough, narrow and short ones, and rows of which no two lie alike.
    static const struct subject few[] = {
        {2, 300, 100, 1130, 7},  {1, 4000, 1100, 140, 256}, {3, 500, 64, 640, 200},
        {1, 700, 577, 200, 257}, {1, 900, 640, 257, 1},
    };
    begin_kernels();
    for (size_t s = 0; s < sizeof few / sizeof few[0]; s++)
        for (size_t i = 0; i < 3; i++)
            CASE_AS(case_name("few rows %zu, index type %zu", s, i),
                    test(&few[s], WNNDataType_Uint8, index_types[i]));
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++)
        for (size_t t = 0; t < 4; t++)
            CASE_AS(case_name("shape %zu, type %zu", s, t),
                    test(&subjects[s], types[t], index_types[(s + t) % 3]));
    for (size_t s = 0; s < sizeof large / sizeof large[0]; s++)
        CASE_AS(case_name("large %zu", s), test(&large[s], WNNDataType_Int32, WNNDataType_Int32));
    end_kernels();
    return cases_end();
}
