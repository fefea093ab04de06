// SPDX-License-Identifier: Apache-2.0
//
// The CPU backend's own kernels: every operator, data type and rank, one implementation a family. kernels.c
// is the table.
//
// What a kernel may rely on: the graph has been validated, so that types and shapes are legal for the
// operator, the attributes are complete (no absent lists, numbers converted), and no size overflows. Data are
// dense, row-major, aligned to the element size; inputs have no slack behind them. Zero elements are a no-op.
// It must not allocate, and it cannot fail. It writes every element of its outputs, reads no input after it
// has written the output element that `in_place` lets it share memory with, and gives the same bits for any
// number of threads that lib/parallel.h cuts the loop alike for. float16 is computed in float32 and
// rounded once. The fused activation of the node is applied by the caller of the kernel (wnn_cpu_activate),
// unless the kernel says that it does so.

#ifndef CPU_KERNEL_H_
#define CPU_KERNEL_H_

#include "cpu/target.h"
#include "lib/half.h"
#include "lib/parallel.h"
#include "ops/expression.h"

struct tensor {
    void *data; // NULL: an optional operand that is absent
    WNNDataType type;
    struct shape shape;
    size_t count; // elements
};

struct kernel_call {
    const struct node *node;
    const struct tensor *in, *out; // as node->in, with the operands of what is fused, and node->out
    void *scratch;                 // as many bytes as asked for, aligned to WNN_ALIGNMENT
    const struct parallel *parallel;
    const void *packed; // what `pack` has made of the node's weights, or NULL
};

#define WNN_MAX_JOINED 8

// How the backend lowers a node (node->lowering).
enum cpu_lowering {
    LOWER_NATIVE,
    LOWER_FAST, // likewise, by the faster method, if kernel.fast has said that there is one
    LOWER_XNNPACK,
    LOWER_ROUNDED, // by the method that rounds operands, if kernel.rounds has said that there is one
};

struct kernel {
    void (*run)(const struct kernel_call *call);

    // (optional) Finds out what all below and `run` go by: sizes, steps, which of its methods computes the
    // node. Writes choice_bytes bytes, which a plan keeps (wnn_choice).
    void (*choose)(const struct node *node, void *choice);
    size_t choice_bytes;

    // (optional) What wnn_kernel_scratch returns; NULL: 0.
    size_t (*scratch)(const struct node *node, unsigned threads);

    // Bit i: out[0] may be the same memory as in[i], if they have as many bytes and in[i] has the shape of
    // out[0].
    uint32_t in_place;

    // (optional) Bytes that the weights of the node take in the form that runs are best served with, 0 if
    // that is the one they have; 0 too unless they are constant and input 0 is not. `pack` writes that form
    // once, from call->in. Every run of the node gets it then, in memory aligned to WNN_ALIGNMENT, and reads
    // the weights no longer, whose data may be gone. Weights are the inputs of which the bit is set in
    // `weights`, or input 1 if none is.
    size_t (*packed_bytes)(const struct node *node);
    void (*pack)(const struct kernel_call *call, void *packed);

    // (optional) What the packed form depends on beside the constants that the node has, its attributes but
    // for those that are sizes, and the types of its other operands (compiler/derived.h): it is packed once
    // for all sizes that give the same number. NULL: on nothing else.
    uint64_t (*packed_variant)(const struct node *node);

    // (optional) Which of its methods it takes for this node: "native product", static text.
    const char *(*method)(const struct node *node);

    // (optional) Whether a run applies the activation of this node by itself.
    bool (*activates)(const struct node *node);

    // (optional) What else `in_place` depends on.
    bool (*may_alias)(const struct node *node, unsigned input);

    // (optional) Whether a run can add an operand (wnn_epilogue) to the output of this node, which may be the
    // same memory, before the activation.
    bool (*can_add_residual)(const struct node *node);

    // (optional) Whether there is a faster method that does not keep all of IEEE's details.
    bool (*fast)(const struct node *node);

    // (optional) Whether there is a faster method that rounds operands to integers, which WNNNumerics_Fast
    // allows.
    bool (*rounds)(const struct node *node);

    // (optional, both or none) Whether a node can be computed along with `first` (backend.joins), which reads
    // the same elements as input 0 and nothing else but constants; and computes at most WNN_MAX_JOINED such
    // nodes.
    bool (*joins)(const struct node *first, const struct node *node);
    void (*run_joined)(const struct kernel_call *calls, size_t count);

    uint32_t weights;

    // (of quantized operands) Whether it can compute this node.
    bool (*accepts)(const struct node *node);
};

// Bytes of scratch memory that a run on so many threads needs.
static inline size_t wnn_kernel_scratch(const struct kernel *kernel, const struct node *node,
                                        unsigned threads)
{
    return kernel->scratch ? kernel->scratch(node, threads) : 0;
}

// What `choose` finds out of a node: its plan's, or, as long as it is in none, made now in `memory`.
static inline const void *wnn_choice(const struct node *node,
                                     void (*choose)(const struct node *node, void *choice), void *memory)
{
    if (node->choice)
        return node->choice;
    choose(node, memory);
    return memory;
}

// By operator; NULL for the forms of 2024.
extern const struct kernel *const wnn_cpu_kernels[WNN_OP_END];

// Each is defined by the file of its family.
#define KERNEL(id, name) extern const struct kernel wnn_cpu_##name;
#include "ops/kernels.def"

// Of quantized operands; gemm_nbit is for floats with a quantized matrix, gemm_int8 for matmul too.
extern const struct kernel wnn_cpu_conv2d_int8, wnn_cpu_elementwise_int8, wnn_cpu_gemm_int8,
    wnn_cpu_gemm_nbit, wnn_cpu_pool_int8;

// The kernel of a node, which is another than that of its operator if operands are quantized; and whether
// there is one for the node as it stands. kernels.c
const struct kernel *wnn_cpu_kernel(const struct node *node);
bool wnn_cpu_accepts_quantized(const struct node *node);

// Applies the function of single elements in place. unary.c
void wnn_cpu_activate(const struct activation *activation, const struct tensor *tensor,
                      const struct parallel *parallel);

// The function on float32 values, in place: for the gates of gru and lstm. `row` is the length of the last
// dimension, which softmax works along; count is a multiple of it.
void wnn_cpu_activate_floats(const struct activation *activation, float *values, size_t count, size_t row);

// softmax of each `row` elements that follow one another, in place. softmax.c
void wnn_cpu_softmax_rows(const struct tensor *tensor, size_t row, const struct parallel *parallel);

// Whether float16 weights are read from where they lie, by gemm and matmul. matmul.c
bool wnn_cpu_matmul_reads_halves(const struct node *node);

// gemm_int8.c
bool wnn_int8_activates(const struct node *node);

#endif
