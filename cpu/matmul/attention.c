// SPDX-License-Identifier: Apache-2.0
//
// Attention: softmax(Q * K * scale + mask) * V for each head, some rows of Q at a time, so that the scores of
// these rows never leave the cache. K and V are packed once a head, without what the mask excludes.
// Heads are read where they lie, whatever the order of their dimensions.

#include "cpu/matmul/attention.h"
#include "cpu/matmul/gemm.h"
#include "cpu/simd/isa.h"

#include <math.h>

enum {
    MAX_ROWS = 64,          // of Q at a time
    SCORES = 32768,         // floats of their scores
    PART_ROWS = 64,         // of a head that are worth a thread's packing of K and V once more
    MAX_SCRATCH = 64 << 20, // bytes of all threads, if it goes with so little
};

// A slot's scratch memory.
struct slot {
    const struct attention *attention;
    float *keys, *values, *scores, *mixed, *mask;
    size_t head;                     // whose keys and values are packed; SIZE_MAX: none
    struct gemm_range keyed, valued; // which of them are
};

// ---------------------------------------------------------------------------------------------------------------
// Views
// ---------------------------------------------------------------------------------------------------------------

size_t wnn_attention_offset(const struct attention *a, const struct view *view, size_t head)
{
    size_t offset = 0;
    for (unsigned d = a->heads.rank; d-- > 0;) {
        offset += head % a->heads.dim[d] * view->head[d];
        head /= a->heads.dim[d];
    }
    return offset;
}

size_t wnn_attention_row(const struct attention *a, const struct view *view, size_t row)
{
    return wnn_attention_offset(a, view, row / a->rows) + row % a->rows * view->row;
}

const float *wnn_attention_load(const struct view *view, size_t offset, size_t stride, size_t count,
                                float *buffer)
{
    const uint16_t *halves = view->tensor->data;
    const float *floats = view->tensor->data;
    if (view->tensor->type == WNNDataType_Float32) {
        if (stride == 1)
            return floats + offset;
        for (size_t i = 0; i < count; i++)
            buffer[i] = floats[offset + i * stride];
    } else if (stride == 1) {
        wnn_half_to_float_array(halves + offset, buffer, count);
    } else {
        for (size_t i = 0; i < count; i++)
            buffer[i] = wnn_half_to_float(halves[offset + i * stride]);
    }
    return buffer;
}

void wnn_attention_store(const struct view *view, size_t offset, size_t stride, const float *values,
                         size_t count)
{
    uint16_t *halves = view->tensor->data;
    float *floats = view->tensor->data;
    if (view->tensor->type == WNNDataType_Float32) {
        for (size_t i = 0; i < count; i++)
            floats[offset + i * stride] = values[i];
    } else if (stride == 1) {
        wnn_half_from_float_array(values, halves + offset, count);
    } else {
        for (size_t i = 0; i < count; i++)
            halves[offset + i * stride] = wnn_half_from_float(values[i]);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Products
// ---------------------------------------------------------------------------------------------------------------

// A matrix of a view, from `offset` on.
struct matrix {
    const struct view *view;
    size_t offset;
};

static void matrix_panel(const struct gemm *gemm, size_t k, size_t length, size_t column, unsigned count,
                         float *panel, unsigned width)
{
    const struct matrix *matrix = gemm->argument;
    const struct view *view = matrix->view;
    size_t first = matrix->offset + k * view->row + column * view->column;
    if (view->tensor->type == WNNDataType_Float32)
        wnn_gemm_pack((const float *)view->tensor->data + first, view->column, view->row, count, length,
                      panel, width);
    else
        wnn_gemm_pack_halves((const uint16_t *)view->tensor->data + first, view->column, view->row, count,
                             length, panel, width);
}

static void matrix_rows(const struct gemm *gemm, size_t row, unsigned count, size_t k, size_t segments,
                        size_t length, unsigned mr, const float **pointers, float *buffer)
{
    const struct matrix *matrix = gemm->argument;
    const struct view *view = matrix->view;
    (void)segments, (void)mr;
    for (unsigned r = 0; r < count; r++)
        pointers[r] = wnn_attention_load(view, matrix->offset + (row + r) * view->row + k * view->column,
                                         view->column, length, buffer + r * WNN_GEMM_KC);
}

static void score_rows(const struct gemm *gemm, size_t row, unsigned count, size_t k, size_t segments,
                       size_t length, unsigned mr, const float **pointers, float *buffer)
{
    (void)segments, (void)length, (void)mr, (void)buffer;
    for (unsigned r = 0; r < count; r++)
        pointers[r] = (const float *)gemm->argument + (row + r) * wnn_attention_padded(gemm->k) + k;
}

static void pack_keys(struct slot *slot, const struct attention_keys *keys)
{
    const struct parallel alone = wnn_parallel_alone(slot->attention->interrupt);
    const struct attention *a = slot->attention;
    struct matrix key = {&a->key, wnn_attention_offset(a, &a->key, slot->head)};
    struct matrix value = {&a->value, wnn_attention_offset(a, &a->value, slot->head)};
    struct gemm scores = {.kernels = a->kernels,
                          .n = a->columns,
                          .k = a->depth,
                          .unit = a->depth,
                          .panel = matrix_panel,
                          .columns = {keys->begin, keys->end},
                          .argument = &key};
    struct gemm mix = {.kernels = a->kernels,
                       .n = a->width,
                       .k = a->columns,
                       .unit = a->columns,
                       .panel = matrix_panel,
                       .terms = {keys->begin, keys->end},
                       .argument = &value};
    wnn_gemm_pack_more(&scores, &alone, slot->keys, &slot->keyed);
    wnn_gemm_pack_more(&mix, &alone, slot->values, &slot->valued);
}

// Whether two heads have the same keys and values.
static bool shares_head(const struct attention *a, size_t one, size_t other)
{
    return wnn_attention_offset(a, &a->key, one) == wnn_attention_offset(a, &a->key, other) &&
           wnn_attention_offset(a, &a->value, one) == wnn_attention_offset(a, &a->value, other);
}

// ---------------------------------------------------------------------------------------------------------------
// Work
// ---------------------------------------------------------------------------------------------------------------

// Some rows of the slot's head.
static void attend(struct slot *slot, size_t first, size_t count)
{
    const struct parallel alone = wnn_parallel_alone(slot->attention->interrupt);
    const struct attention *a = slot->attention;
    size_t stride = wnn_attention_padded(a->columns);
    size_t of_all = slot->head * a->rows + first; // rows of all heads
    struct attention_keys keys = wnn_attention_keys(a, of_all, of_all + count, slot->mask);
    pack_keys(slot, &keys);
    struct matrix query = {&a->query, wnn_attention_offset(a, &a->query, slot->head) + first * a->query.row};
    struct gemm scores = {.kernels = a->kernels,
                          .m = count,
                          .n = a->columns,
                          .k = a->depth,
                          .unit = a->depth,
                          .rows = matrix_rows,
                          .c = slot->scores,
                          .row_stride = stride,
                          .columns = {keys.begin, keys.end},
                          .argument = &query,
                          .packed = slot->keys};
    wnn_gemm_run(&scores, &alone, NULL);

    float factors[MAX_ROWS];
    size_t left = keys.end - keys.begin;
    for (size_t r = 0; r < count; r++) {
        float *weights = slot->scores + r * stride + keys.begin;
        size_t mask = a->mask.tensor != NULL
                          ? wnn_attention_row(a, &a->mask, of_all + r) + keys.begin * a->mask.column
                          : 0;
        double sum = wnn_attention_weigh(a, weights, left, slot->mask, mask).sum;
        bool is_zero = a->zero_nan && !(sum > 0);
        factors[r] = is_zero ? 0 : 1 / (float)sum;
        if (is_zero)
            memset(weights, 0, left * sizeof *weights);
    }

    struct gemm mix = {.kernels = a->kernels,
                       .m = count,
                       .n = a->width,
                       .k = a->columns,
                       .unit = a->columns,
                       .rows = score_rows,
                       .c = slot->mixed,
                       .row_stride = a->width,
                       .terms = {keys.begin, keys.end},
                       .argument = slot->scores,
                       .packed = slot->values};
    wnn_gemm_run(&mix, &alone, NULL);
    size_t out = wnn_attention_offset(a, &a->out, slot->head) + first * a->out.row;
    for (size_t r = 0; r < count; r++) {
        float *values = slot->mixed + r * a->width;
        for (size_t j = 0; j < a->width; j++)
            values[j] *= factors[r];
        wnn_attention_store(&a->out, out + r * a->out.row, a->out.column, values, a->width);
    }
}

static size_t slot_floats(const struct attention *a)
{
    return wnn_gemm_packed_floats(a->kernels, a->columns, a->depth) +
           wnn_gemm_packed_floats(a->kernels, a->width, a->columns) +
           (a->block + 1) * wnn_attention_padded(a->columns) + wnn_attention_padded(a->block * a->width);
}

static void run_slots(void *argument, size_t begin, size_t end)
{
    const struct attention *a = argument;
    size_t items = a->head_count * a->parts;
    for (size_t s = begin; s < end; s++) {
        struct slot slot = {.attention = a, .keys = a->scratch + s * slot_floats(a), .head = SIZE_MAX};
        slot.values = slot.keys + wnn_gemm_packed_floats(a->kernels, a->columns, a->depth);
        slot.scores = slot.values + wnn_gemm_packed_floats(a->kernels, a->width, a->columns);
        slot.mask = slot.scores + a->block * wnn_attention_padded(a->columns);
        slot.mixed = slot.mask + wnn_attention_padded(a->columns);
        for (size_t i = items * s / a->slots; i < items * (s + 1) / a->slots; i++) {
            size_t head = i / a->parts, part = i % a->parts;
            size_t row = a->rows * part / a->parts, row_end = a->rows * (part + 1) / a->parts;
            if (slot.head == SIZE_MAX || !shares_head(a, head, slot.head))
                slot.keyed = slot.valued = (struct gemm_range){0, 0};
            slot.head = head;
            for (; row < row_end && !wnn_interrupted(a->interrupt); row += a->block)
                attend(&slot, row, wnn_min(a->block, row_end - row));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// From nodes
// ---------------------------------------------------------------------------------------------------------------

// The tensor with its dimensions in the order of the permutation: [heads, rows, columns].
static struct view view_of(const struct shape *shape, WNNUint32List permutation)
{
    struct view view = {0};
    size_t strides[WNN_MAX_RANK];
    unsigned rank = shape->rank;
    wnn_shape_strides(shape, strides);
    for (unsigned d = 0; d + 2 < rank; d++)
        view.head[d] = shape->dim[permutation.data[d]] > 1 ? strides[permutation.data[d]] : 0;
    view.row = strides[permutation.data[rank - 2]];
    view.column = strides[permutation.data[rank - 1]];
    return view;
}

static struct attention describe_attention(const struct node *node, unsigned threads)
{
    const struct attention_attrs *attrs = node->attrs;
    const struct shape *query = &node->in[0]->type.shape, *key = &node->in[1]->type.shape;
    const struct shape *value = &node->in[2]->type.shape, *out = &node->out[0]->type.shape;
    unsigned rank = query->rank;
    struct attention a = {
        .kernels = wnn_float_kernels_of(wnn_cpu_target(node)->isa),
        .query = view_of(query, attrs->queryPermutation),
        .key = view_of(key, attrs->keyPermutation),
        .value = view_of(value, attrs->valuePermutation),
        .heads = {.rank = rank - 2},
        .head_count = 1,
        .rows = query->dim[attrs->queryPermutation.data[rank - 2]],
        .depth = query->dim[attrs->queryPermutation.data[rank - 1]],
        .columns = key->dim[attrs->keyPermutation.data[rank - 1]],
        .width = value->dim[attrs->valuePermutation.data[rank - 1]],
        .scale = (float)attrs->scale,
        .zero_nan = attrs->zeroNan,
        .window = attrs->window,
        .window_end = attrs->windowEnd,
        .parts = 1,
    };
    for (unsigned d = 0; d + 2 < rank; d++) {
        a.heads.dim[d] = query->dim[attrs->queryPermutation.data[d]];
        a.head_count *= a.heads.dim[d];
    }
    // Dimension d of the result goes to where the permutation has d.
    size_t strides[WNN_MAX_RANK], place[WNN_MAX_RANK] = {0};
    wnn_shape_strides(out, strides);
    for (unsigned d = 0; d < rank; d++)
        place[attrs->outputPermutation.data[d]] = strides[d];
    memcpy(a.out.head, place, sizeof a.out.head);
    a.out.row = place[rank - 2];
    a.out.column = place[rank - 1];
    if (node->in[3] != NULL) {
        struct shape scores = a.heads;
        wnn_shape_append(&scores, (uint32_t[]){(uint32_t)a.rows, (uint32_t)a.columns}, 2);
        wnn_shape_broadcast_strides(&node->in[3]->type.shape, &scores, strides);
        memcpy(a.mask.head, strides, sizeof a.mask.head);
        a.mask.row = strides[rank - 2];
        a.mask.column = strides[rank - 1];
    }
    size_t block = SCORES / (a.columns + 1) / 8 * 8, most = 4 * (size_t)threads;
    a.block = block < 8 ? 8 : block > MAX_ROWS ? MAX_ROWS : block;
    if (threads > 1 && a.head_count < most)
        a.parts = wnn_min((a.rows + PART_ROWS - 1) / PART_ROWS, (most + a.head_count - 1) / a.head_count);
    size_t items = a.head_count * a.parts, affordable = MAX_SCRATCH / sizeof(float) / slot_floats(&a);
    a.slots = threads == 1 ? 1 : wnn_min(wnn_min(items, most), affordable < threads ? threads : affordable);
    return a;
}

static void run_attention(const struct kernel_call *call)
{
    struct attention a = describe_attention(call->node, call->parallel->threads);
    a.query.tensor = &call->in[0];
    a.key.tensor = &call->in[1];
    a.value.tensor = &call->in[2];
    a.mask.tensor = call->in[3].data != NULL ? &call->in[3] : NULL;
    a.out.tensor = &call->out[0];
    a.scratch = call->scratch;
    a.interrupt = call->parallel->interrupt;
    if (call->out[0].count == 0)
        return;
    if (wnn_attention_is_few(&a)) {
        wnn_attention_run_few(&a, call->scratch, call->parallel);
        return;
    }
    wnn_parallel_for(call->parallel, a.slots, 1, run_slots, &a);
}

static size_t scratch_bytes(const struct node *node, unsigned threads)
{
    struct attention a = describe_attention(node, threads);
    return wnn_attention_is_few(&a) ? wnn_attention_few_bytes(&a) : sizeof(float) * a.slots * slot_floats(&a);
}

const struct kernel wnn_cpu_attention = {.run = run_attention, .scratch = scratch_bytes};
