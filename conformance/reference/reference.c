// SPDX-License-Identifier: Apache-2.0

#include "conformance/reference/reference.h"

#include "conformance/reference/kernels.h"
#include "conformance/tolerance.h"
#include "ops/expression.h"

static const reference_kernel kernels[WNN_OP_COUNT] = {
    [WNN_OP_argMin] = wnn_reference_arg_min_max,
    [WNN_OP_argMax] = wnn_reference_arg_min_max,
    [WNN_OP_batchNormalization] = wnn_reference_batch_normalization,
    [WNN_OP_cast] = wnn_reference_cast,
    [WNN_OP_clamp] = wnn_reference_clamp,
    [WNN_OP_concat] = wnn_reference_concat,
    [WNN_OP_conv2d] = wnn_reference_conv2d,
    [WNN_OP_convTranspose2d] = wnn_reference_conv_transpose2d,
    [WNN_OP_cumulativeSum] = wnn_reference_cumulative_sum,
    [WNN_OP_add] = wnn_reference_binary,
    [WNN_OP_sub] = wnn_reference_binary,
    [WNN_OP_mul] = wnn_reference_binary,
    [WNN_OP_div] = wnn_reference_binary,
    [WNN_OP_max] = wnn_reference_binary,
    [WNN_OP_min] = wnn_reference_binary,
    [WNN_OP_pow] = wnn_reference_binary,
    [WNN_OP_modulusFloor] = wnn_reference_binary,
    [WNN_OP_modulusTruncate] = wnn_reference_binary,
    [WNN_OP_equal] = wnn_reference_comparison,
    [WNN_OP_notEqual] = wnn_reference_comparison,
    [WNN_OP_greater] = wnn_reference_comparison,
    [WNN_OP_greaterOrEqual] = wnn_reference_comparison,
    [WNN_OP_lesser] = wnn_reference_comparison,
    [WNN_OP_lesserOrEqual] = wnn_reference_comparison,
    [WNN_OP_logicalNot] = wnn_reference_test,
    [WNN_OP_logicalAnd] = wnn_reference_comparison,
    [WNN_OP_logicalOr] = wnn_reference_comparison,
    [WNN_OP_logicalXor] = wnn_reference_comparison,
    [WNN_OP_isNaN] = wnn_reference_test,
    [WNN_OP_isInfinite] = wnn_reference_test,
    [WNN_OP_abs] = wnn_reference_unary,
    [WNN_OP_ceil] = wnn_reference_unary,
    [WNN_OP_cos] = wnn_reference_unary,
    [WNN_OP_erf] = wnn_reference_unary,
    [WNN_OP_exp] = wnn_reference_unary,
    [WNN_OP_floor] = wnn_reference_unary,
    [WNN_OP_identity] = wnn_reference_copy,
    [WNN_OP_log] = wnn_reference_unary,
    [WNN_OP_neg] = wnn_reference_unary,
    [WNN_OP_reciprocal] = wnn_reference_unary,
    [WNN_OP_roundEven] = wnn_reference_unary,
    [WNN_OP_sign] = wnn_reference_unary,
    [WNN_OP_sin] = wnn_reference_unary,
    [WNN_OP_sqrt] = wnn_reference_unary,
    [WNN_OP_tan] = wnn_reference_unary,
    [WNN_OP_dequantizeLinear] = wnn_reference_dequantize,
    [WNN_OP_quantizeLinear] = wnn_reference_quantize,
    [WNN_OP_elu] = wnn_reference_unary,
    [WNN_OP_expand] = wnn_reference_expand,
    [WNN_OP_gather] = wnn_reference_gather,
    [WNN_OP_gatherElements] = wnn_reference_gather_elements,
    [WNN_OP_gatherND] = wnn_reference_gather_nd,
    [WNN_OP_gelu] = wnn_reference_unary,
    [WNN_OP_gemm] = wnn_reference_gemm,
    [WNN_OP_gru] = wnn_reference_gru,
    [WNN_OP_gruCell] = wnn_reference_gru_cell,
    [WNN_OP_hardSigmoid] = wnn_reference_unary,
    [WNN_OP_hardSwish] = wnn_reference_unary,
    [WNN_OP_instanceNormalization] = wnn_reference_instance_normalization,
    [WNN_OP_layerNormalization] = wnn_reference_layer_normalization,
    [WNN_OP_leakyRelu] = wnn_reference_unary,
    [WNN_OP_linear] = wnn_reference_unary,
    [WNN_OP_lstm] = wnn_reference_lstm,
    [WNN_OP_lstmCell] = wnn_reference_lstm_cell,
    [WNN_OP_matmul] = wnn_reference_matmul,
    [WNN_OP_pad] = wnn_reference_pad,
    [WNN_OP_averagePool2d] = wnn_reference_pool2d,
    [WNN_OP_l2Pool2d] = wnn_reference_pool2d,
    [WNN_OP_maxPool2d] = wnn_reference_pool2d,
    [WNN_OP_prelu] = wnn_reference_binary,
    [WNN_OP_reduceL1] = wnn_reference_reduce,
    [WNN_OP_reduceL2] = wnn_reference_reduce,
    [WNN_OP_reduceLogSum] = wnn_reference_reduce,
    [WNN_OP_reduceLogSumExp] = wnn_reference_reduce,
    [WNN_OP_reduceMax] = wnn_reference_reduce,
    [WNN_OP_reduceMean] = wnn_reference_reduce,
    [WNN_OP_reduceMin] = wnn_reference_reduce,
    [WNN_OP_reduceProduct] = wnn_reference_reduce,
    [WNN_OP_reduceSum] = wnn_reference_reduce,
    [WNN_OP_reduceSumSquare] = wnn_reference_reduce,
    [WNN_OP_relu] = wnn_reference_unary,
    [WNN_OP_resample2d] = wnn_reference_resample2d,
    [WNN_OP_reshape] = wnn_reference_copy,
    [WNN_OP_reverse] = wnn_reference_reverse,
    [WNN_OP_scatterElements] = wnn_reference_scatter_elements,
    [WNN_OP_scatterND] = wnn_reference_scatter_nd,
    [WNN_OP_sigmoid] = wnn_reference_unary,
    [WNN_OP_slice] = wnn_reference_slice,
    [WNN_OP_softmax] = wnn_reference_softmax,
    [WNN_OP_softplus] = wnn_reference_unary,
    [WNN_OP_softsign] = wnn_reference_unary,
    [WNN_OP_split] = wnn_reference_split,
    [WNN_OP_tanh] = wnn_reference_unary,
    [WNN_OP_tile] = wnn_reference_tile,
    [WNN_OP_transpose] = wnn_reference_transpose,
    [WNN_OP_triangular] = wnn_reference_triangular,
    [WNN_OP_where] = wnn_reference_where,
};

struct state {
    struct allocator *allocator;
    bool perturbed;
    uint64_t random;
};

struct step {
    const struct node *node;
    struct tensor *in, *out;
    struct tensor *perturbed; // as `in`, but float operands have room of their own for changed copies
    struct tensor
        *numbers; // of a node with quantized operands: the floats that the operator sees, the result last
};

struct executable {
    struct allocator *allocator;
    struct plan *plan;
    struct tensor *operands; // by operand index
    struct step *steps;      // by node index
};

// ---------------------------------------------------------------------------------------------------------------
// Perturbation
// ---------------------------------------------------------------------------------------------------------------

static uint64_t next_random(struct state *state)
{
    uint64_t x = state->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

// The number of units by which a node's operands and results are moved. Tolerances that no implementation
// needs in full are cut.
static double units_of(const struct node *node)
{
    struct tolerance tolerance = wnn_node_tolerance(node);
    double units = tolerance.absolute ? 16 : tolerance.value;
    return wnn_dtype_is_float(node->out[0]->type.type) ? fmin(units, 64) : 0;
}

static void perturb(struct state *state, const struct tensor *from, const struct tensor *to, double units)
{
    double part = units * (from->type == WNNDataType_Float16 ? 0x1p-10 : 0x1p-23);
    for (size_t i = 0; i < from->count; i++)
        store(to, i, load(from, i) * (next_random(state) & 1 ? 1 + part : 1 - part));
}

static const struct tensor *perturbed_inputs(struct state *state, const struct step *step, double units)
{
    for (unsigned i = 0; i < step->node->in_count; i++) {
        const struct tensor *copy = &step->perturbed[i];
        if (copy->data != step->in[i].data)
            perturb(state, &step->in[i], copy, units);
    }
    return step->perturbed;
}

// ---------------------------------------------------------------------------------------------------------------
// The backend
// ---------------------------------------------------------------------------------------------------------------

static bool create_state(const struct backend_options *options, bool perturbed, void **result,
                         struct error *error)
{
    struct state *state = wnn_allocate_zero(options->allocator, sizeof *state);
    if (state == NULL)
        return wnn_fail_memory(error);
    state->allocator = options->allocator;
    state->perturbed = perturbed;
    *result = state;
    return true;
}

static bool create(const struct backend_options *options, void **state, struct error *error)
{
    return create_state(options, false, state, error);
}

static bool create_perturbed(const struct backend_options *options, void **state, struct error *error)
{
    return create_state(options, true, state, error);
}

static void destroy(void *opaque)
{
    struct state *state = opaque;
    wnn_release(state->allocator, state);
}

// Where the scale of tensor k of step->numbers stands in node->in; 0: the tensor is not quantized.
static unsigned scale_of(const struct node *node, unsigned k)
{
    return k < node->in_count ? wnn_prologue_scale(node, k) : wnn_epilogue(node).scale;
}

static void release(void *opaque, void *opaque_executable)
{
    struct state *state = opaque;
    struct executable *executable = opaque_executable;
    const struct graph *graph = &executable->plan->graph;
    for (size_t i = 0; executable->operands != NULL && i < graph->operand_count; i++)
        if (graph->operands[i]->constant == NULL)
            wnn_release(state->allocator, executable->operands[i].data);
    for (size_t i = 0; executable->steps != NULL && i < graph->node_count; i++) {
        struct step *step = &executable->steps[i];
        for (unsigned k = 0; step->perturbed != NULL && k < graph->nodes[i]->in_count; k++)
            if (step->perturbed[k].data != step->in[k].data)
                wnn_release(state->allocator, step->perturbed[k].data);
        for (unsigned k = 0; step->numbers != NULL && k <= graph->nodes[i]->in_count; k++)
            if (scale_of(graph->nodes[i], k))
                wnn_release(state->allocator, step->numbers[k].data);
        wnn_release(state->allocator, step->numbers);
        wnn_release(state->allocator, step->perturbed);
        wnn_release(state->allocator, step->in);
        wnn_release(state->allocator, step->out);
    }
    wnn_release(state->allocator, executable->operands);
    wnn_release(state->allocator, executable->steps);
    wnn_release(state->allocator, executable);
}

static bool make_operands(struct executable *executable)
{
    const struct graph *graph = &executable->plan->graph;
    executable->operands =
        wnn_allocate_zero(executable->allocator, graph->operand_count * sizeof *executable->operands);
    if (executable->operands == NULL)
        return false;
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        struct tensor *tensor = &executable->operands[i];
        tensor->type = operand->type.type;
        tensor->shape = operand->type.shape;
        tensor->count = wnn_shape_elements(&tensor->shape);
        if (operand->constant != NULL)
            tensor->data = (unsigned char *)(uintptr_t)operand->constant->data; // only read
        else
            tensor->data = wnn_allocate_zero(executable->allocator, wnn_descriptor_bytes(&operand->type));
        if (tensor->data == NULL)
            return false;
    }
    return true;
}

static bool gather_tensors(const struct executable *executable, struct operand *const *operands,
                           unsigned count, struct tensor **tensors)
{
    *tensors = wnn_allocate_zero(executable->allocator, (count + 1) * sizeof **tensors);
    if (*tensors == NULL)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (operands[i] != NULL)
            (*tensors)[i] = executable->operands[operands[i]->index];
    return true;
}

static bool make_numbers(const struct executable *executable, const struct node *node, struct step *step)
{
    unsigned own = node->in_count;
    step->numbers = wnn_allocate_zero(executable->allocator, (own + 1) * sizeof *step->numbers);
    if (step->numbers == NULL)
        return false;
    for (unsigned k = 0; k <= own; k++) {
        struct tensor *tensor = &step->numbers[k];
        *tensor = k < own ? step->in[k] : step->out[0];
        if (!scale_of(node, k))
            continue;
        tensor->data = NULL;
        tensor->type = node->in[scale_of(node, k)]->type.type;
        tensor->data = wnn_allocate(executable->allocator, tensor->count * sizeof(float));
        if (tensor->data == NULL)
            return false;
    }
    return true;
}

static bool make_steps(struct executable *executable, bool perturbed)
{
    const struct graph *graph = &executable->plan->graph;
    executable->steps =
        wnn_allocate_zero(executable->allocator, graph->node_count * sizeof *executable->steps);
    if (executable->steps == NULL)
        return false;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        struct step *step = &executable->steps[i];
        step->node = node;
        if (!gather_tensors(executable, node->in, wnn_operand_count(node), &step->in) ||
            !gather_tensors(executable, node->out, node->out_count, &step->out))
            return false;
        if (wnn_is_quantized(node) && !make_numbers(executable, node, step))
            return false;
        if (!perturbed)
            continue;
        if (!gather_tensors(executable, node->in, node->in_count, &step->perturbed))
            return false;
        for (unsigned k = 0; k < node->in_count; k++) {
            if (node->in[k] == NULL || !is_float(&step->in[k]))
                continue;
            size_t bytes = wnn_descriptor_bytes(&node->in[k]->type);
            step->perturbed[k].data = wnn_allocate(executable->allocator, bytes);
            if (step->perturbed[k].data == NULL)
                return false;
        }
    }
    return true;
}

static bool lower(void *opaque, struct plan *plan, void **result, struct error *error)
{
    struct state *state = opaque;
    for (size_t i = 0; i < plan->graph.node_count; i++)
        if (kernels[plan->graph.nodes[i]->op] == NULL)
            return wnn_fail(error, WNNStatus_OperationError, "the reference has no %s",
                            wnn_ops[plan->graph.nodes[i]->op].name);
    struct executable *executable = wnn_allocate_zero(state->allocator, sizeof *executable);
    if (executable == NULL)
        return wnn_fail_memory(error);
    executable->allocator = state->allocator;
    executable->plan = plan;
    if (!make_operands(executable) || !make_steps(executable, state->perturbed)) {
        release(state, executable);
        return wnn_fail_memory(error);
    }
    *result = executable;
    return true;
}

// A node with quantized operands: dequantizeLinear, the operator and its activation, quantizeLinear.
static void run_quantized(const struct step *step)
{
    const struct node *node = step->node;
    const struct epilogue epilogue = wnn_epilogue(node);
    const struct tensor *result = &step->numbers[node->in_count];
    for (unsigned k = 0; k < node->in_count; k++) {
        unsigned scale = scale_of(node, k);
        if (!scale)
            continue;
        const struct tensor in[3] = {step->in[k], step->in[scale], step->in[scale + 1]};
        wnn_reference_dequantize(node, in, &step->numbers[k]);
    }
    kernels[node->op](node, step->numbers, result);
    if (epilogue.activation.attrs != NULL)
        wnn_reference_activate(&epilogue.activation, result);
    if (epilogue.scale) {
        const struct tensor in[3] = {*result, step->in[epilogue.scale], step->in[epilogue.scale + 1]};
        wnn_reference_quantize(node, in, &step->out[0]);
    }
}

static void run_step(struct state *state, const struct step *step)
{
    const struct node *node = step->node;
    if (wnn_is_quantized(node)) {
        run_quantized(step);
        return;
    }
    double units = state->perturbed ? units_of(node) : 0;
    kernels[node->op](node, units > 0 ? perturbed_inputs(state, step, units) : step->in, step->out);
    const struct activation activation = wnn_epilogue(node).activation;
    if (activation.attrs != NULL)
        wnn_reference_activate(&activation, &step->out[0]);
    for (unsigned i = 0; units > 0 && i < node->out_count; i++)
        if (step->out[i].data != NULL)
            perturb(state, &step->out[i], &step->out[i], units);
}

static struct tensor tensor_at(const struct operand *operand, const void *data)
{
    if (operand == NULL)
        return (struct tensor){0};
    return (struct tensor){operand->type.type, operand->type.shape, wnn_shape_elements(&operand->type.shape),
                           (unsigned char *)(uintptr_t)data};
}

void wnn_reference_run(const struct node *node, const void *const *in, void *const *out)
{
    enum {
        MOST = 512
    };
    struct tensor tensors[2][MOST];
    if (node->in_count > MOST || node->out_count > MOST)
        return;
    for (unsigned i = 0; i < node->in_count; i++)
        tensors[0][i] = tensor_at(node->in[i], in[i]);
    for (unsigned i = 0; i < node->out_count; i++)
        tensors[1][i] = tensor_at(node->out[i], out[i]);
    kernels[node->op](node, tensors[0], tensors[1]);
}

static bool execute(void *opaque, void *opaque_executable, const struct bindings *bindings,
                    struct error *error)
{
    struct state *state = opaque;
    const struct executable *executable = opaque_executable;
    const struct graph *graph = &executable->plan->graph;
    (void)error;
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct operand *operand = graph->inputs[i].operand;
        memcpy(executable->operands[operand->index].data, bindings->inputs[i],
               wnn_descriptor_bytes(&operand->type));
    }
    for (size_t i = 0; i < graph->node_count; i++)
        run_step(state, &executable->steps[i]);
    for (size_t i = 0; i < graph->output_count; i++) {
        const struct operand *operand = graph->outputs[i].operand;
        if (bindings->outputs[i] != NULL)
            memcpy(bindings->outputs[i], executable->operands[operand->index].data,
                   wnn_descriptor_bytes(&operand->type));
    }
    return true;
}

const struct backend wnn_backend_reference = {
    .name = "reference",
    .preferred_layout = WNNInputOperandLayout_NCHW,
    .no_optimize = true,
    .create = create,
    .destroy = destroy,
    .lower = lower,
    .release = release,
    .execute = execute,
};

// Activations and quantized operands.
static bool can_fuse(void *state, const struct node *node)
{
    (void)state;
    const struct epilogue epilogue = wnn_epilogue(node);
    for (unsigned i = 0; i < node->in_count; i++)
        if (wnn_fused(node, i) && !wnn_prologue_scale(node, i))
            return false;
    return !epilogue.other && !epilogue.addend && kernels[node->op] != NULL;
}

// Operands are loaded whatever their types are.
static bool wide_weights(void *state, const struct node *node)
{
    (void)state;
    (void)node;
    return true;
}

const struct backend wnn_backend_compiled = {
    .name = "compiled",
    .preferred_layout = WNNInputOperandLayout_NCHW,
    .create = create,
    .destroy = destroy,
    .wide_weights = wide_weights,
    .can_fuse = can_fuse,
    .supports_quantized = true,
    .lower = lower,
    .release = release,
    .execute = execute,
};

const struct backend wnn_backend_perturbed = {
    .name = "perturbed",
    .preferred_layout = WNNInputOperandLayout_NCHW,
    .no_optimize = true,
    .create = create_perturbed,
    .destroy = destroy,
    .lower = lower,
    .release = release,
    .execute = execute,
};
