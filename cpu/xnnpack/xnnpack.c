// SPDX-License-Identifier: Apache-2.0
//
// One XNNPACK runtime a node. Everything that XNNPACK allocates and everything in it that can fail happens
// when the step is made; a run sets pointers and computes.
//
// Convolutions with one channel a group are plain grouped convolutions here: the library finds its depthwise
// kernels by itself. The only flag that is used asks the threads of the pool to sleep after the work.

#include "cpu/xnnpack/xnnpack.h"

#include "cpu/xnnpack/rules.h"
#include "lib/status.h"

#include <math.h>
#include <sys/mman.h>

#pragma GCC diagnostic push // newer headers than Debian's
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <xnnpack.h>
#pragma GCC diagnostic pop

_Static_assert(XNN_EXTRA_BYTES <= WNN_SLACK, "XNNPACK reads no further than slack goes");

struct xnnpack_step {
    struct allocator *allocator;
    uint64_t charged; // bytes of XNNPACK's own that count as the allocator's
    xnn_runtime_t runtime;
    struct xnnpack_op op;
};

static bool fail(struct error *error, enum xnn_status status, const char *what)
{
    if (status == xnn_status_out_of_memory)
        return wnn_fail_memory(error);
    return wnn_fail(error, WNNStatus_OperationError, "XNNPACK: %s failed with status %d", what, (int)status);
}

bool wnn_xnnpack_preload(struct error *error)
{
    enum xnn_status status = xnn_initialize(NULL);
    return status == xnn_status_success || fail(error, status, "initialization");
}

// Above this many nanoseconds on one thread a node is not for XNNPACK, which cannot be interrupted.
#define MAX_NANOSECONDS 16e6

// About how long the node takes: what the slower kernels reach, one element at a time or with a channel a
// group.
static double nanoseconds(const struct xnnpack_op *op)
{
    size_t taps = (size_t)op->kernel[0] * op->kernel[1], terms = taps * op->group_in;
    double work = (double)wnn_image_elements(&op->out, op->batch) * (double)(terms ? terms : taps ? taps : 4);
    return work / (op->group_in > 1 ? 40 : 10);
}

bool wnn_xnnpack_accepts(const struct node *node, const char **refusal)
{
    struct xnnpack_op op;
    bool accepted = wnn_xnnpack_describe(node, &op), brief = accepted && nanoseconds(&op) <= MAX_NANOSECONDS;
    *refusal = !accepted ? op.refusal : brief ? NULL : "XNNPACK could not be stopped in time";
    return brief;
}

const char *wnn_xnnpack_edition(void)
{
#ifdef HAVE_XNN_DEFINE_UNARY
    return "XNNPACK, newer than 2022";
#else
    return "XNNPACK of 2022 or so";
#endif
}

// ---------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------

// Bytes of a copy of an image, with slack, as a multiple of the alignment.
static size_t copy_bytes(const struct xnnpack_op *op, const struct xnnpack_image *image)
{
    return wnn_aligned(wnn_image_elements(image, op->batch) * sizeof(float) + WNN_SLACK);
}

// Max pooling goes over large windows several times and reads what it has written, in whole vectors.
static bool reads_output(const struct xnnpack_op *op)
{
    return op->kind == XNNPACK_MAX_POOL && op->kernel[0] * op->kernel[1] > 9;
}

size_t wnn_xnnpack_scratch(const struct node *node)
{
    struct xnnpack_op op;
    if (!wnn_xnnpack_describe(node, &op))
        return 0;
    bool copied = wnn_image_reordered(&op, &op.out) || reads_output(&op);
    return copy_bytes(&op, &op.in) + (copied ? copy_bytes(&op, &op.out) : 0);
}

// Most kernels read up to XNN_EXTRA_BYTES behind their input.
static bool has_slack(const struct operand *operand)
{
    switch (operand->placement.place) {
    case PLACE_ARENA:
        return true;
    case PLACE_INPUT:
        return operand->placement.staged;
    case PLACE_CONSTANT:
        return operand->constant && !operand->constant->external;
    default:
        return false;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Weights
// ---------------------------------------------------------------------------------------------------------------

struct weights {
    const float *filter, *bias; // bias NULL: none
    float *own_filter, *own_bias;
};

static bool is_aligned(const void *data)
{
    return (uintptr_t)data % _Alignof(float) == 0;
}

// Lent constants may lie anywhere.
static float load(const void *data, size_t index)
{
    float value;
    memcpy(&value, (const char *)data + index * sizeof value, sizeof value);
    return value;
}

// Whether the filter is [group, output, height, width, input] as it is.
static bool filter_is_packed(const struct xnnpack_op *op)
{
    size_t row = op->kernel[1] * op->group_in, all = op->kernel[0] * row;
    return (op->group_in == 1 || op->in_step == 1) && (op->kernel[1] == 1 || op->step[1] == op->group_in) &&
           (op->kernel[0] == 1 || op->step[0] == row) && (op->group_out == 1 || op->out_step == all) &&
           (op->groups == 1 || op->group_step == op->group_out * all);
}

static void pack_filter(const struct xnnpack_op *op, const void *from, float factor, float *to)
{
    for (size_t group = 0; group < op->groups; group++) {
        for (size_t out = 0; out < op->group_out; out++) {
            size_t first = group * op->group_step + out * op->out_step;
            for (size_t y = 0; y < op->kernel[0]; y++) {
                for (size_t x = 0; x < op->kernel[1]; x++) {
                    size_t tap = first + y * op->step[0] + x * op->step[1];
                    for (size_t in = 0; in < op->group_in; in++)
                        *to++ = load(from, tap + in * op->in_step) * factor;
                }
            }
        }
    }
}

static bool make_weights(const struct node *node, const struct xnnpack_op *op, struct allocator *allocator,
                         struct weights *weights)
{
    const WNNGemmOptions *gemm = node->op == WNN_OP_gemm ? node->attrs : NULL;
    const void *filter = node->in[1]->constant->data;
    float alpha = gemm ? (float)gemm->alpha : 1, beta = gemm ? (float)gemm->beta : 1;

    if (alpha == 1 && is_aligned(filter) && filter_is_packed(op)) {
        weights->filter = filter;
    } else {
        size_t count = op->groups * op->group_out * op->kernel[0] * op->kernel[1] * op->group_in;
        weights->own_filter = wnn_allocate(allocator, count * sizeof(float));
        if (!weights->own_filter)
            return false;
        pack_filter(op, filter, alpha, weights->own_filter);
        weights->filter = weights->own_filter;
    }

    const struct operand *bias = node->in_count > 2 ? node->in[2] : NULL;
    if (!bias)
        return true;
    const void *data = bias->constant->data;
    size_t count = op->out.channels, given = wnn_shape_elements(&bias->type.shape);
    if (beta == 1 && is_aligned(data) && given == count) {
        weights->bias = data;
        return true;
    }
    weights->own_bias = wnn_allocate(allocator, count * sizeof(float));
    if (!weights->own_bias)
        return false;
    for (size_t i = 0; i < count; i++)
        weights->own_bias[i] = load(data, given == 1 ? 0 : i) * beta;
    weights->bias = weights->own_bias;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The runtime
// ---------------------------------------------------------------------------------------------------------------

enum {
    INPUT_ID,
    OUTPUT_ID,
    EXTERNAL_COUNT
};

static enum xnn_status define_tensor(xnn_subgraph_t graph, size_t rank, const size_t *shape,
                                     const float *data, uint32_t external, uint32_t flags, uint32_t *id)
{
    return xnn_define_tensor_value(graph, xnn_datatype_fp32, rank, shape, data, external, flags, id);
}

static enum xnn_status define_image(xnn_subgraph_t graph, const struct xnnpack_op *op,
                                    const struct xnnpack_image *image, uint32_t external, uint32_t flags)
{
    uint32_t id;
    return define_tensor(graph, 4, (const size_t[]){op->batch, image->height, image->width, image->channels},
                         NULL, external, flags, &id);
}

static enum xnn_status define_weights(xnn_subgraph_t graph, const struct xnnpack_op *op,
                                      const struct weights *weights, uint32_t *filter, uint32_t *bias)
{
    const size_t outputs = op->groups * op->group_out;
    const size_t shape[4] = {outputs, op->kernel[0], op->kernel[1], op->group_in};
    enum xnn_status status = define_tensor(graph, 4, shape, weights->filter, XNN_INVALID_VALUE_ID, 0, filter);
    *bias = XNN_INVALID_VALUE_ID;
    if (status == xnn_status_success && weights->bias)
        status = define_tensor(graph, 1, &outputs, weights->bias, XNN_INVALID_VALUE_ID, 0, bias);
    return status;
}

static enum xnn_status define_node(xnn_subgraph_t graph, const struct xnnpack_op *op, uint32_t filter,
                                   uint32_t bias)
{
    const uint32_t *kernel = op->kernel, *stride = op->stride, *dilation = op->dilation;
    const uint32_t *before = op->before, *after = op->after;
    switch (op->kind) {
    case XNNPACK_CONVOLUTION:
        return xnn_define_convolution_2d(graph, before[0], after[1], after[0], before[1], kernel[0],
                                         kernel[1], stride[0], stride[1], dilation[0], dilation[1],
                                         op->groups, op->group_in, op->group_out, op->min, op->max, INPUT_ID,
                                         filter, bias, OUTPUT_ID, 0);
    case XNNPACK_DECONVOLUTION:
        return xnn_define_deconvolution_2d(graph, before[0], after[1], after[0], before[1], op->adjustment[0],
                                           op->adjustment[1], kernel[0], kernel[1], stride[0], stride[1],
                                           dilation[0], dilation[1], op->groups, op->group_in, op->group_out,
                                           op->min, op->max, INPUT_ID, filter, bias, OUTPUT_ID, 0);
    case XNNPACK_AVERAGE_POOL:
        return xnn_define_average_pooling_2d(graph, before[0], after[1], after[0], before[1], kernel[0],
                                             kernel[1], stride[0], stride[1], op->min, op->max, INPUT_ID,
                                             OUTPUT_ID, 0);
    case XNNPACK_MAX_POOL:
        return xnn_define_max_pooling_2d(graph, before[0], after[1], after[0], before[1], kernel[0],
                                         kernel[1], stride[0], stride[1], dilation[0], dilation[1], op->min,
                                         op->max, INPUT_ID, OUTPUT_ID, 0);
    case XNNPACK_RESIZE:
        return xnn_define_static_resize_bilinear_2d(graph, op->out.height, op->out.width, INPUT_ID, OUTPUT_ID,
                                                    0);
    }
    return xnn_status_invalid_parameter;
}

static enum xnn_status define(xnn_subgraph_t graph, const struct xnnpack_op *op,
                              const struct weights *weights)
{
    uint32_t filter = XNN_INVALID_VALUE_ID, bias = XNN_INVALID_VALUE_ID;
    enum xnn_status status = define_image(graph, op, &op->in, INPUT_ID, XNN_VALUE_FLAG_EXTERNAL_INPUT);
    if (status == xnn_status_success)
        status = define_image(graph, op, &op->out, OUTPUT_ID, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
    if (status == xnn_status_success && weights->filter)
        status = define_weights(graph, op, weights, &filter, &bias);
    return status == xnn_status_success ? define_node(graph, op, filter, bias) : status;
}

static enum xnn_status bind(struct xnnpack_step *step, const void *input, void *output)
{
    const struct xnn_external_value externals[EXTERNAL_COUNT] = {
        {INPUT_ID, (void *)(uintptr_t)input},
        {OUTPUT_ID, output},
    };
    return xnn_setup_runtime(step->runtime, EXTERNAL_COUNT, externals);
}

// Lets XNNPACK build its tables of pointers to pixels. Later runs shift the pointers by the distance between
// their input and this one, which is not read here, but has to be a place of its own: a pixel at the address
// of the library's row of zeros would be taken for padding from then on.
static enum xnn_status bind_first(struct xnnpack_step *step)
{
    size_t bytes = copy_bytes(&step->op, &step->op.in);
    void *place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return xnn_status_out_of_memory;
    enum xnn_status status = bind(step, place, place);
    munmap(place, bytes);
    return status;
}

// Below this many nanoseconds on one thread, to wake and to wait for another takes longer than it saves: the
// pool cuts in equal parts, and where another process holds one processor, all wait for the part that is
// there.
#define WORTH_THREADS 50000

static bool is_worth_threads(const struct xnnpack_op *op)
{
    return nanoseconds(op) > WORTH_THREADS;
}

static bool make_runtime(struct xnnpack_step *step, const struct weights *weights,
                         const struct parallel *parallel, struct error *error)
{
    xnn_subgraph_t graph = NULL;
    enum xnn_status status = xnn_create_subgraph(EXTERNAL_COUNT, 0, &graph);
    if (status != xnn_status_success)
        return fail(error, status, "making a graph");
    status = define(graph, &step->op, weights);
    if (status == xnn_status_success)
        status = xnn_create_runtime_v2(
            graph, is_worth_threads(&step->op) ? wnn_parallel_pthreadpool(parallel) : NULL,
            XNN_FLAG_YIELD_WORKERS, &step->runtime);
    if (status == xnn_status_success)
        status = bind_first(step);
    xnn_delete_subgraph(graph);
    return status == xnn_status_success || fail(error, status, "making a runtime");
}

bool wnn_xnnpack_create(const struct node *node, struct allocator *allocator, const struct parallel *parallel,
                        struct xnnpack_step **step, struct error *error)
{
    *step = NULL;
    struct xnnpack_op op;
    if (!wnn_xnnpack_describe(node, &op))
        return wnn_fail(error, WNNStatus_UnknownError, "XNNPACK was given a node that it does not accept");
    if (!wnn_xnnpack_preload(error))
        return false;

    struct weights weights = {0};
    struct xnnpack_step *made = wnn_allocate_zero(allocator, sizeof *made);
    // XNNPACK has one allocator a process. What it takes for a step is counted here.
    bool ok = made && wnn_charge(allocator, WNNResource_HostMemory, op.memory);
    if (ok) {
        made->allocator = allocator;
        made->charged = op.memory;
        made->op = op;
        bool weighted =
            node->op != WNN_OP_averagePool2d && node->op != WNN_OP_maxPool2d && node->op != WNN_OP_resample2d;
        ok = !weighted || make_weights(node, &op, allocator, &weights);
    }
    if (!ok)
        wnn_fail_memory(error);
    else
        ok = make_runtime(made, &weights, parallel, error);
    wnn_release(allocator, weights.own_filter);
    wnn_release(allocator, weights.own_bias);
    if (ok)
        *step = made;
    else if (made && made->allocator)
        wnn_xnnpack_destroy(made);
    else
        wnn_release(allocator, made);
    return ok;
}

void wnn_xnnpack_destroy(struct xnnpack_step *step)
{
    if (!step)
        return;
    if (step->runtime)
        xnn_delete_runtime(step->runtime);
    struct allocator *allocator = step->allocator;
    wnn_discharge(allocator, WNNResource_HostMemory, step->charged);
    wnn_release(allocator, step);
}

uint64_t wnn_xnnpack_bytes(const struct xnnpack_step *step)
{
    return step ? step->charged : 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------

// A square of this many elements goes through the first-level cache in whole lines both ways.
#define BLOCK 16

struct transposition {
    const float *from;
    float *to;
    size_t rows, columns; // of one matrix
    size_t strips;        // of BLOCK columns, in one matrix
};

static void transpose_strips(void *argument, size_t begin, size_t end)
{
    const struct transposition *t = argument;
    for (size_t strip = begin; strip < end; strip++) {
        size_t matrix = strip / t->strips * t->rows * t->columns;
        size_t first = strip % t->strips * BLOCK,
               last = first + BLOCK < t->columns ? first + BLOCK : t->columns;
        for (size_t row = 0; row < t->rows; row += BLOCK) {
            size_t rows = t->rows - row < BLOCK ? t->rows - row : BLOCK;
            for (size_t column = first; column < last; column++) {
                const float *from = t->from + matrix + row * t->columns + column;
                float *to = t->to + matrix + column * t->rows + row;
                for (size_t i = 0; i < rows; i++)
                    to[i] = from[i * t->columns];
            }
        }
    }
}

static void transpose(const float *from, float *to, size_t count, size_t rows, size_t columns,
                      const struct parallel *parallel)
{
    struct transposition t = {from, to, rows, columns, (columns + BLOCK - 1) / BLOCK};
    size_t grain = 1 + 16384 / (BLOCK * rows);
    wnn_parallel_for(parallel, count * t.strips, grain, transpose_strips, &t);
}

bool wnn_xnnpack_run(struct xnnpack_step *step, const struct kernel_call *call)
{
    const struct xnnpack_op *op = &step->op;
    const float *input = call->in[0].data;
    float *output = call->out[0].data, *scratch = call->scratch, *result = output;
    size_t in_bytes = wnn_image_elements(&op->in, op->batch) * sizeof(float);
    size_t out_bytes = wnn_image_elements(&op->out, op->batch) * sizeof(float);
    if (wnn_image_reordered(op, &op->in)) {
        transpose(input, scratch, op->batch, op->in.channels, op->in.height * op->in.width, call->parallel);
        input = scratch;
    } else if (!has_slack(call->node->in[0])) {
        memcpy(scratch, input, in_bytes);
        input = scratch;
    }
    bool reordered = wnn_image_reordered(op, &op->out);
    if (reordered || (reads_output(op) && !has_slack(call->node->out[0])))
        result = scratch + copy_bytes(op, &op->in) / sizeof(float);

    if (bind(step, input, result) != xnn_status_success ||
        xnn_invoke_runtime(step->runtime) != xnn_status_success)
        return false;

    if (reordered)
        transpose(result, output, op->batch, op->out.height * op->out.width, op->out.channels,
                  call->parallel);
    else if (result != output)
        memcpy(output, result, out_bytes);
    const struct activation activation = wnn_epilogue(call->node).activation;
    if (op->activate)
        wnn_cpu_activate(&activation, &call->out[0], call->parallel);
    return true;
}
