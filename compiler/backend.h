// SPDX-License-Identifier: Apache-2.0
//
// A backend: what turns an optimized graph into something that runs. Each is one constant struct;
// runtime/backends.c names them. Of one state the functions that a build needs, `lower` and `measure` the
// last of them, are called one at a time by who builds, mostly the builder's thread; beside them the others
// one at a time on the worker of its context, or on threads that wait for what it does; and some on any
// thread, which say so.

#ifndef COMPILER_BACKEND_H_
#define COMPILER_BACKEND_H_

#include "compiler/plan.h"
#include "lib/interrupt.h"
#include "lib/parallel.h"
#include "ops/op.h"

// Of webnn/vulkan.h, which only the runtime and the backend that they are for include.
struct WNNVulkanBuffer;
struct WNNVulkanDevice;
struct WNNVulkanHandles;
struct WNNVulkanMemory;
struct WNNVulkanSync;

struct backend_options {
    struct allocator *allocator;
    const struct parallel *parallel;
    bool strict_numerics, fast_numerics; // not both
    WNNPowerPreference power_preference;
    struct string device;  // which one, if there are several (WNNContextDescriptor.device)
    struct string target;  // what to compile for, with `takes_target`; empty: what it computes on
    const WNNCache *cache; // of the host, which outlives the state; NULL: none
    const WNNLog *log;     // likewise
    const struct WNNVulkanDevice *external; // the caller's device, or NULL; valid during the creation
};

// Where the operands of an execution lie while it runs.
struct operand_resolver {
    const void *(*locate)(const struct operand_resolver *resolver, const struct operand *operand);
};

// Somebody who watches an execution, on its thread, node by node. Any function may be NULL.
struct observer {
    void (*before)(const struct observer *observer, const struct node *node,
                   const struct operand_resolver *resolver);
    void (*after)(const struct observer *observer, const struct node *node,
                  const struct operand_resolver *resolver);

    // After it, by backends whose device has a clock, instead of the above: how many nanoseconds the device
    // worked on each node, in order, and last, without a node, on all of them together.
    void (*timed)(const struct observer *observer, const struct node *node, uint64_t nanoseconds);
    bool whole; // only the last is wanted, which is faster

    // Behind the nodes: an output of that number has been copied to where it belongs, since it was computed
    // elsewhere (bindings.staged), has two names or is constant; how long by the device's clock, 0 where
    // `timed` is not called.
    void (*copied)(const struct observer *observer, size_t output, uint64_t nanoseconds);
};

// The memory of one execution, by slot of the graph's inputs and outputs. Pointers are aligned to the element
// size. Inputs may end where mapped memory ends. An output that the caller does not want is NULL.
struct bindings {
    const void *const *inputs;
    void *const *outputs;
    // By output: it lies where an input does that is still read when the output is computed, so that it is
    // computed elsewhere and copied at the end; NULL: none. Any other output that shares memory with inputs
    // may be written as soon as the plan has it, in place (compiler/aliases.h). Outputs never share memory.
    const bool *staged;
    const struct observer *observer; // NULL: nobody watches; backends that tell nothing ignore it
    bool tensors; // the pointers are the backend's tensors (tensor_create), all outputs are there
    const struct WNNVulkanSync *sync;  // of an execution on such tensors, or NULL; valid until its end
    const struct interrupt *interrupt; // of the execution, or NULL; valid until its end
};

// Bytes that an executable holds, beside the plan.
struct executable_size {
    uint64_t weights;   // constants in whatever form its kernels read them
    uint64_t execution; // memory of executions: what lies between inputs and outputs, and scratch
    uint64_t device;    // of these, and all else, in memory of a device that is not the host's
};

// node->lowering of a node whose outputs are views of its input, or concat's inputs views of its output
// (compiler/plan_memory.c): it is not to be run.
#define WNN_LOWER_VIEW 0xFFFFu

struct backend {
    const char *name;
    WNNInputOperandLayout preferred_layout;

    // Runs graphs as they were recorded: of the passes only prune comes before it.
    bool no_optimize;

    // Leaves out the nodes whose lowering is WNN_LOWER_VIEW. Operands may then lie at any multiple of their
    // element size.
    bool views;
    size_t view_alignment; // views begin at multiples of so many bytes only; 0: anywhere

    // With `views`: what concat joins may lie in its output already, when that is an output of the graph too
    // (placement.within), and the concat is left out if all of it does.
    bool concat_in_place;

    // Runs nodes of one level (node->level) at the same time.
    bool levels;

    // (optional, without `levels`) Whether it computes a node along with `first`, of which neither waits for
    // the other, faster than one after the other; they are on one level then. Of a node and itself: whether
    // there may be such others.
    bool (*joins)(void *state, const struct node *first, const struct node *node);

    // Its executions tell an observer of each node, before and after it, with the operands that it has then.
    bool shows_operands;

    // (optional) The data types of one row of an operator that the backend can do; NULL: all of the table.
    uint32_t (*types)(enum op op, const struct op_row *row);

    // (optional) Loads and opens everything that the process may not be allowed to later. Any thread.
    bool (*preload)(struct error *error);

    // (optional) The devices that there are: fills in up to `capacity`, returns how many there are. Any
    // thread.
    size_t (*enumerate)(size_t capacity, WNNDeviceInfo *devices);

    bool (*create)(const struct backend_options *options, void **state, struct error *error);
    void (*destroy)(void *state);

    // There are states for targets that are described (options.target) as describe_target does it. They
    // compile, and nothing is executed.
    bool takes_target;

    // (optional) What graphs are compiled for, which lives as long as the state: nodes have it (node->target)
    // before any pass sees them.
    const void *(*target)(void *state);

    // (optional) Whether it computes a node with all that is fused with it (node->fused), as fast as it would
    // the parts alone. What was put there last is the first of the list. NULL: with nothing. It is asked
    // about activations; about chains of operators of single elements at inputs and outputs, with
    // `fuses_chains`; if not, about the addition of an operand of the result's type; and about
    // dequantizeLinear at inputs and quantizeLinear at the output, with `supports_quantized`; and only at
    // constant second operands of products of matrices, with `quantized_weights`.
    //
    // What goes into each step of a chain, fused or not, and into an activation, is rounded to its type, and
    // no product is contracted with a sum: the results are the bits of the separate operators.
    bool (*can_fuse)(void *state, const struct node *node);
    bool fuses_chains, supports_quantized, quantized_weights;

    // (optional) Whether it computes a float16 convolution or product of matrices as fast with constant
    // weights and biases of float32. NULL: never.
    bool (*wide_weights)(void *state, const struct node *node);

    // (optional) Whether a convolution over several channels a group, which come second, is so much faster
    // with them in the preferred place that whatever has to be transposed for it is worth it. NULL: none is.
    bool (*prefers_nhwc)(const struct node *node, uint32_t groups);

    // (optional, both or none) Whether products of so many columns each, with constant weights and the same
    // input as this one, are faster as one product of several matrices (stack_products.h); and whether the
    // parts that a product is used in are faster as products of their own (split_products.c).
    bool (*stacks_products)(const struct node *node, uint32_t columns);
    bool (*splits_product)(const struct node *node, unsigned parts);

    // Whether convolutions of windows that are side by side are faster as products of matrices with
    // transposes around them (unfold_patches.c).
    bool unfolds_patches;

    // (optional) Whether an operator that has a layout is as fast with either. NULL: none is.
    bool (*any_layout)(const struct node *node);

    // (optional) Computes one node from constants while a graph is built. `in` and `out` are dense, aligned
    // to WNN_ALIGNMENT and have WNN_SLACK; absent operands are NULL. False: not possible, the node stays.
    // `portable`: what comes out is to be stored, and must not depend on the processor that computes it; else
    // it is what running the node would give. What it has computed when an interrupt came is worth nothing.
    bool (*evaluate)(void *state, const struct node *node, const void *const *in, void *const *out,
                     bool portable, const struct interrupt *interrupt);

    // (optional) Whether it computes an operator that only the compiler makes (from WNN_OP_COUNT on); no pass
    // makes one that it does not. NULL: none.
    bool (*computes)(enum op op);

    // (optional) Whether it computes an attention faster with the ranges of keys that its mask lets rows
    // attend to (attendedKeys), which so many attentions share. NULL: none.
    bool (*wants_attended)(void *state, const struct node *node, size_t sharing);

    // (optional) Looks at the finished graph before memory is planned: sets node->lowering, node->choice,
    // node->scratch_bytes, node->deferred and, already here or in lower(), node->reason; and placement.staged
    // of inputs that it needs in memory of its own. Places are not known yet. False (and `error`): no memory.
    bool (*partition)(void *state, struct plan *plan, struct error *error);

    // (optional) Whether output 0 of a node may lie where input i lies, given that both have as many bytes
    // and that the input is not used again. NULL: never.
    bool (*in_place)(void *state, const struct node *node, unsigned input);

    // (optional, all or none) Tensors in memory of the device, which executions get in place of pointers.
    // Creating and freeing happen on any thread, several at once and beside all else; nothing uses what is
    // freed. A chain has what webnn/vulkan.h defines for tensors, checked for being known; without one the
    // tensor is filled with zeros. Reading and writing fail only with the device; tensor_mapped: writing is
    // no more than a copy by the host. tensor_export: of one that was created with a WNNVulkanExport.
    bool (*tensor_create)(void *state, size_t bytes, const WNNChainedStruct *chain, void **tensor,
                          struct error *error);
    void (*tensor_free)(void *state, void *tensor);
    bool (*tensor_read)(void *state, void *tensor, void *data, struct error *error);
    bool (*tensor_write)(void *state, void *tensor, const void *data, struct error *error);
    bool (*tensor_mapped)(void *state, void *tensor);
    bool (*tensor_export)(void *state, void *tensor, struct WNNVulkanMemory *memory, struct error *error);
    bool (*tensor_buffer)(void *state, void *tensor, struct WNNVulkanBuffer *buffer, struct error *error);

    // (optional) Vulkan's own names of what the state works with. Any thread.
    void (*handles)(void *state, struct WNNVulkanHandles *handles);
    // (optional) Whether an execution can wait for semaphores and signal them (bindings.sync). NULL: not.
    bool (*syncs)(void *state);

    // (optional) The bytes that one operand can have at most. Any thread.
    uint64_t (*max_bytes)(void *state);

    // (optional) What the state computes on: text that lives as long as the state; and whether that takes
    // denormal numbers for 0. Any thread.
    const char *(*device_name)(void *state);
    bool (*flushes_denormals)(void *state);
    // (optional) Who that is: fills in a struct of zeros, but for nextInChain. Opens no files. Any thread.
    void (*identify)(void *state, WNNDeviceInfo *info);

    // Makes an executable of a plan, which outlives it, and says what computes its nodes (node->kernel,
    // node->reason). Everything that can fail, fails here. Constants that runs do not read may be released:
    // an operand's `constant` has no data then, but keeps its number of bytes.
    bool (*lower)(void *state, struct plan *plan, void **executable, struct error *error);
    void (*release)(void *state, void *executable);

    // (optional: otherwise graphs of the backend cannot be saved.) What a stored plan depends on, beside the
    // library: one that is to be loaded needs the same text. Of a plan that is savable constants keep their
    // data, but for those that packed weights stand for, and of one that is weightless those that have an
    // origin. Constants keep that in any case.
    void (*describe_target)(void *state, struct text *text);

    // (optional, both or none) Of a node whose constants may lack their data since its weights come packed
    // (node->stored): which inputs, by bit; nothing but lower() reads them, and that fails if the weights are
    // not there in either form. And the packed weights of a node of an executable, which it has as long as it
    // lives; *bytes 0: none that can be stored.
    uint32_t (*packed_inputs)(void *state, const struct node *node);
    const void *(*packed_weights)(const void *executable, const struct node *node, uint64_t *bytes);

    // (optional) Whether lower() has the bytes of promised constants by itself (plan.resolver), each when it
    // is needed. NULL: all are there before partition().
    bool (*resolves)(void *state);

    // The backend puts bytes of constants in an order of its own (operand->arranged), and takes those of a
    // graph that was loaded as they are; partition() fails if nothing reads them in that order.
    bool arranges;

    // (optional) Entry `number` of the code for a device that an executable of a savable plan was made with,
    // which it has as long as it lives; false: there is none of that number. Of the same graph it is the same
    // code in the same order, whatever the state did before. It comes back as graph.code.
    bool (*code)(const void *executable, size_t number, struct stored_code *code);

    // (optional) What an executable that has just been made holds.
    void (*measure)(void *state, const void *executable, struct executable_size *size);

    // (optional) Whether the device is gone for good, and the context with it: asked when a build or an
    // execution has failed. NULL: an execution that fails loses the context, a build does not. Any thread.
    bool (*lost)(void *state);

    // Runs it. On failure outputs hold nothing of other memory; see `lost`.
    bool (*execute)(void *state, void *executable, const struct bindings *bindings, struct error *error);

    // (optional, both or none) The same in two halves, so that a device has its next work before it has done
    // the last. `submit` takes the inputs and begins; what is then to be given to `retire` goes to *flight.
    // NULL there: it cannot begin before an earlier execution has been retired (with none in flight it always
    // can). `retire` waits for the end and writes the outputs, also when that fails. It is called once for
    // each flight, in the order of submission, one at a time, on any thread, while other functions but
    // `release` of the executable run.
    bool (*submit)(void *state, void *executable, const struct bindings *bindings, void **flight,
                   struct error *error);
    bool (*retire)(void *state, void *executable, void *flight, const struct bindings *bindings,
                   struct error *error);
};

// The data types that an operand of an operator may have on the backend. compile.c
uint32_t wnn_supported_types(const struct backend *backend, enum op op, const struct op_row *row);

// Lowers and executes nothing; outputs become zero.
extern const struct backend wnn_backend_dummy;

#endif
