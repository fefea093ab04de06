// SPDX-License-Identifier: Apache-2.0
//
// rotaryEmbedding (compiler/fuse_rotary.c): lines of one half and the other, along the last dimension that
// has any length.

#include "cpu/kernel.h"
#include "cpu/simd/isa.h"
#include "ops/geometry.h"

enum {
    PIECE = 128,    // elements of a line at a time
    GRAIN = 1 << 14 // elements
};

struct rotary {
    struct rotation r;
    const struct tensor *in, *out;
    unsigned along; // of `r`
};

// Elements of a line: where they are, or in `buffer`.
static const float *read_line(const struct tensor *tensor, size_t at, size_t step, size_t count,
                              float *buffer)
{
    const float *floats = tensor->data;
    const uint16_t *halves = tensor->data;
    if (tensor->type == WNNDataType_Float32 && step == 1)
        return floats + at;
    if (tensor->type == WNNDataType_Float16 && step == 1)
        wnn_half_to_float_array(halves + at, buffer, count);
    else
        for (size_t i = 0; i < count; i++)
            buffer[i] = tensor->type == WNNDataType_Float32 ? floats[at + i * step]
                                                            : wnn_half_to_float(halves[at + i * step]);
    return buffer;
}

static void write_line(const struct tensor *tensor, size_t at, size_t step, size_t count, const float *values)
{
    if (tensor->type == WNNDataType_Float16 && step == 1)
        wnn_half_from_float_array(values, (uint16_t *)tensor->data + at, count);
    else if (tensor->type == WNNDataType_Float16)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)tensor->data)[at + i * step] = wnn_half_from_float(values[i]);
    else
        for (size_t i = 0; i < count; i++)
            ((float *)tensor->data)[at + i * step] = values[i];
}

WNN_BODY turn_body(const float *const *a, const float *const *b, float *first, float *second, size_t count)
{
    const float *x = a[0], *y = b[0];
    for (size_t i = 0; i < count; i++) {
        first[i] = x[i] * a[1][i] - y[i] * a[2][i];
        second[i] = y[i] * b[1][i] + x[i] * b[2][i];
    }
}
WNN_DISPATCH(turn, (const float *const *a, const float *const *b, float *first, float *second, size_t count),
             (a, b, first, second, count))

static void turn_lines(void *argument, size_t begin, size_t end)
{
    const struct rotary *rotary = argument;
    const struct rotation *r = &rotary->r;
    size_t length = r->dim[rotary->along];
    for (size_t line = begin; line < end; line++) {
        size_t at[3] = {0};
        size_t rest = line;
        for (unsigned d = r->rank; d-- > 0;) {
            if (d == rotary->along)
                continue;
            for (unsigned i = 0; i < 3; i++)
                at[i] += rest % r->dim[d] * r->steps[i][d];
            rest /= r->dim[d];
        }
        for (size_t done = 0; done < length; done += PIECE) {
            float buffers[6][PIECE], turned[2][PIECE];
            const float *halves[2][3];
            size_t count = length - done < PIECE ? length - done : PIECE, step = r->steps[0][rotary->along];
            for (unsigned i = 0; i < 3; i++) {
                size_t along = r->steps[i][rotary->along], from = at[i] + done * along;
                halves[0][i] = read_line(&rotary->in[i], from, along, count, buffers[i]);
                halves[1][i] = i == 0 || r->far[i] > 0
                                   ? read_line(&rotary->in[i], from + r->far[i], along, count, buffers[3 + i])
                                   : halves[0][i];
            }
            turn(halves[0], halves[1], turned[0], turned[1], count);
            write_line(rotary->out, at[0] + done * step, step, count, turned[0]);
            write_line(rotary->out, at[0] + r->far[0] + done * step, step, count, turned[1]);
        }
    }
}

static void run_rotary(const struct kernel_call *call)
{
    struct rotary rotary = {wnn_node_rotation(call->node), call->in, call->out, 0};
    for (unsigned d = 0; d < rotary.r.rank; d++)
        rotary.along = rotary.r.dim[d] > 1 ? d : rotary.along;
    if (call->in[0].count == 0)
        return;
    size_t length = rotary.r.dim[rotary.along];
    wnn_parallel_for(call->parallel, call->in[0].count / 2 / length, GRAIN / length + 1, turn_lines, &rotary);
}

// What it reads of a line comes before what it writes.
const struct kernel wnn_cpu_rotaryEmbedding = {.run = run_rotary, .in_place = 1};
