// SPDX-License-Identifier: Apache-2.0
//
// Element-wise operators on quantized numbers: of two operands, chunk by chunk with the very float32
// arithmetic of dequantizeLinear, the operator and quantizeLinear; of one operand, by a table of the 256
// results of that.

#include "cpu/elementwise/elementwise.h"
#include "cpu/simd/isa.h"

static bool is_byte(WNNDataType type)
{
    return type == WNNDataType_Int8 || type == WNNDataType_Uint8;
}

static bool has_one_scale(const struct node *node, unsigned at)
{
    const struct operand *scale = at ? node->in[at] : NULL;
    return scale && scale->type.type == WNNDataType_Float32 && wnn_shape_elements(&scale->type.shape) == 1;
}

static bool output_fits(const struct node *node)
{
    return is_byte(node->out[0]->type.type) && has_one_scale(node, wnn_epilogue(node).scale);
}

struct quantum {
    WNNDataType type;
    float scale;
    int32_t zero;
};

static struct quantum quantum_of(const struct node *node, unsigned at)
{
    const struct operand *scale = node->in[at], *zero = node->in[at + 1];
    struct quantum quantum = {.type = zero->type.type};
    quantum.scale = (float)wnn_number_double(wnn_number_load(scale->type.type, scale->constant->data, 0));
    quantum.zero = (int32_t)wnn_number_double(wnn_number_load(zero->type.type, zero->constant->data, 0));
    return quantum;
}

WNN_INLINE void dequantize(const struct quantum *quantum, const void *from, size_t count, float *to)
{
    float scale = quantum->scale;
    int32_t zero = quantum->zero;
    if (quantum->type == WNNDataType_Int8) {
        for (size_t i = 0; i < count; i++)
            to[i] = (float)(((const int8_t *)from)[i] - zero) * scale;
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = (float)(((const uint8_t *)from)[i] - zero) * scale;
    }
}

// As quantize.c does it, NaN to the zero point. Compilers do badly with conditions in front of a conversion
// to a narrower type, hence the second loop.
WNN_INLINE void quantize(const struct quantum *quantum, const float *from, size_t count, uint8_t *to)
{
    float scale = quantum->scale;
    int32_t zero = quantum->zero, low = quantum->type == WNNDataType_Int8 ? INT8_MIN : 0, high = low + 255;
    int32_t sums[WNN_CHUNK];
    for (size_t i = 0; i < count; i++) {
        int32_t sum = wnn_cpu_round_small(from[i] / scale) + zero;
        sum = sum < low ? low : sum;
        sums[i] = sum > high ? high : sum;
    }
    for (size_t i = 0; i < count; i++)
        to[i] = (uint8_t)sums[i];
}

// ---------------------------------------------------------------------------------------------------------------
// Two operands
// ---------------------------------------------------------------------------------------------------------------

struct job {
    enum op op;
    struct activation activation;
    struct view a, b;
    struct quantum a_quantum, b_quantum, quantum;
    uint8_t *out;
};

static bool is_binary(enum op op)
{
    return op == WNN_OP_add || op == WNN_OP_sub || op == WNN_OP_mul || op == WNN_OP_max || op == WNN_OP_min;
}

#define EACH(expression)                                                                                     \
    for (size_t i = 0; i < count; i++)                                                                       \
    x[i] = (expression)

WNN_INLINE void combine(enum op op, float *restrict x, const float *restrict y, size_t count)
{
    if (op == WNN_OP_add)
        EACH(x[i] + y[i]);
    else if (op == WNN_OP_sub)
        EACH(x[i] - y[i]);
    else if (op == WNN_OP_mul)
        EACH(x[i] * y[i]);
    else if (op == WNN_OP_max)
        EACH(y[i] > x[i] ? y[i] : x[i]);
    else
        EACH(y[i] < x[i] ? y[i] : x[i]);
}

static void run_piece(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    struct cursor a, b;
    float x[WNN_CHUNK], y[WNN_CHUNK];
    wnn_cpu_cursor_init(&a, &job->a);
    wnn_cpu_cursor_init(&b, &job->b);
    for (size_t at = begin, count; at < end; at += count) {
        count = end - at < WNN_CHUNK ? end - at : WNN_CHUNK;
        dequantize(&job->a_quantum, wnn_cpu_cursor_read(&a, at, count), count, x);
        dequantize(&job->b_quantum, wnn_cpu_cursor_read(&b, at, count), count, y);
        combine(job->op, x, y, count);
        if (job->activation.attrs)
            wnn_cpu_activate_floats(&job->activation, x, count, count);
        quantize(&job->quantum, x, count, job->out + at);
    }
}
WNN_VARIANTS(run_piece)

static void run_binary(const struct kernel_call *call)
{
    const struct node *node = call->node;
    const struct epilogue epilogue = wnn_epilogue(node);
    const struct tensor *out = call->out;
    struct job job = {.op = (enum op)node->op,
                      .activation = epilogue.activation,
                      .a_quantum = quantum_of(node, wnn_prologue_scale(node, 0)),
                      .b_quantum = quantum_of(node, wnn_prologue_scale(node, 1)),
                      .quantum = quantum_of(node, epilogue.scale),
                      .out = out->data};
    wnn_cpu_view_init(&job.a, &call->in[0], &out->shape);
    wnn_cpu_view_init(&job.b, &call->in[1], &out->shape);
    wnn_parallel_for(call->parallel, out->count, WNN_GRAIN_CHEAP, WNN_BEST_ISA(run_piece), &job);
}

// ---------------------------------------------------------------------------------------------------------------
// One operand: the table is what is packed of the constants
// ---------------------------------------------------------------------------------------------------------------

struct lookup {
    const uint8_t *table, *in;
    uint8_t *out;
};

static void look_up(void *argument, size_t begin, size_t end)
{
    const struct lookup *lookup = argument;
    for (size_t i = begin; i < end; i++)
        lookup->out[i] = lookup->table[lookup->in[i]];
}

static size_t packed_bytes(const struct node *node)
{
    return is_binary((enum op)node->op) ? 0 : 256;
}

static void pack_table(const struct kernel_call *call, void *packed)
{
    const struct epilogue epilogue = wnn_epilogue(call->node);
    struct quantum in = quantum_of(call->node, wnn_prologue_scale(call->node, 0)),
                   out = quantum_of(call->node, epilogue.scale);
    uint8_t bytes[256];
    float values[256];
    for (unsigned i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    dequantize(&in, bytes, 256, values);
    struct tensor tensor = {values, WNNDataType_Float32, {1, {256}}, 256};
    struct kernel_call inner = {.node = call->node, .in = &tensor, .out = &tensor};
    // Alone, so that numbers are those of any processor.
    const struct parallel alone = wnn_parallel_alone(call->parallel->interrupt);
    bool before = wnn_portable_numbers;
    inner.parallel = &alone;
    wnn_portable_numbers = true;
    wnn_cpu_kernels[call->node->op]->run(&inner);
    if (epilogue.activation.attrs)
        wnn_cpu_activate(&epilogue.activation, &tensor, &alone);
    wnn_portable_numbers = before;
    quantize(&out, values, 256, packed);
}

static void run_elementwise(const struct kernel_call *call)
{
    struct lookup lookup = {call->packed, call->in[0].data, call->out[0].data};
    if (call->out[0].count == 0)
        return;
    if (is_binary((enum op)call->node->op))
        run_binary(call);
    else
        wnn_parallel_for(call->parallel, call->out[0].count, WNN_GRAIN_CHEAP, look_up, &lookup);
}

static bool accepts(const struct node *node)
{
    bool binary = is_binary((enum op)node->op);
    if (!output_fits(node) ||
        (!binary && (wnn_cpu_kernels[node->op] != &wnn_cpu_unary || node->in[0]->constant)))
        return false;
    for (unsigned i = 0; i <= binary; i++)
        if (!is_byte(node->in[i]->type.type) || !has_one_scale(node, wnn_prologue_scale(node, i)))
            return false;
    return true;
}

static bool activates(const struct node *node)
{
    (void)node;
    return true;
}

const struct kernel wnn_cpu_elementwise_int8 = {.run = run_elementwise,
                                                .in_place = 3,
                                                .packed_bytes = packed_bytes,
                                                .pack = pack_table,
                                                .activates = activates,
                                                .accepts = accepts};
