// SPDX-License-Identifier: Apache-2.0
//
// Writing one dispatch: a family of vulkan/shaders, and the declarations that go before it. Numbers become
// literals in large dispatches, for the driver's optimizer, and parameters in small ones, so that
// their pipelines serve many shapes. What fails is noted in the lowering and seen at its end.
//
// A graph whose dimensions have names becomes one for each set of sizes, and the text of a shader must be the
// same for all of them, but for a few classes of sizes. Its numbers are parameters, whatever the work, unless
// they are said to be fixed: those of attributes and constants, and what a kernel was chosen by.

#ifndef VULKAN_SHADER_H_
#define VULKAN_SHADER_H_

#include "ops/op.h"
#include "vulkan/program/program.h"

// How many pieces cover the whole.
static inline uint32_t wnn_divide_up(uint32_t whole, uint32_t piece)
{
    return whole / piece + (whole % piece != 0);
}

struct fused;
struct deferred;

// An operand or a piece of scratch memory.
struct tensor {
    struct region region; // no buffer: an optional operand that is not given
    WNNDataType type;
    struct shape shape;
    size_t count; // elements
    const struct fused
        *fused; // what elements go through when they are read, which makes `type`; NULL: nothing
    const struct deferred *deferred; // it is in no memory: what its readers compute it of; NULL: it is there
};

// A node that those compute which read what it makes (vulkan/ops/deferred.h).
struct deferred {
    const struct node *node;
    const struct tensor *in; // as node->in
};

// Operators of single elements that a shader computes along with its own: of what it reads, or of its results
// before it writes them. Value 0 is such an element, the next are those of the inputs at the same place, then
// come the results of the steps, the last of which takes the place of value 0.
struct fused {
    const struct elementwise_step *list;
    unsigned count;
    const struct tensor *inputs;
    unsigned input_count;
    WNNDataType from; // the type of value 0
};

// The lowering of one node.
struct lowering {
    struct gpu *gpu;
    struct program *program;
    const struct node *node;
    const struct fused *fused; // what becomes of the results; NULL: nothing
    struct error *error;
    bool failed;
    bool late;               // the graph is a specialization (graph.recorded)
    struct tensor *in, *out; // as node->in and node->out
    struct region scratch;   // node->scratch_bytes
    uint64_t work_beside;    // multiply-adds of what may run at the same time
    // The family of its first dispatch, and why it is not another: static text, or NULL.
    const char *kernel, *reason;
};

// How a shader sees the elements of a tensor.
enum form {
    FORM_VALUE, // float, int, uint, I64 or U64
    FORM_BITS,  // uint, or uvec2 of 64-bit types: for what only moves
    FORM_PAIR,  // vec2 and vec4 of floats: in scratch memory
    FORM_QUAD,
};

struct shader {
    struct lowering *lowering;
    const char *family, *extensions; // extensions: their lines; NULL: none
    char *text;
    size_t length, capacity;
    uint32_t *parameters;
    size_t parameter_count, parameter_capacity;
    unsigned local_size;
    bool large;           // kernels are those for much work
    bool literal;         // numbers are literals; if not, and not `late`, binding 0 has the parameters
    bool late;            // numbers are parameters, in the last binding, but for those that are fixed
    bool elements, quads; // quads: of the output
    bool shifts;          // the dispatch is repeated on pieces that may begin anywhere
    unsigned binding_count, parameter_binding;
    struct binding bindings[GPU_BUFFERS];
    size_t count; // elements of the output
    unsigned per; // elements of a word of the output
};

// The text of shaders/<name>.comp; and what appends it, for what several families have in common.
const char *wnn_shader_family(const char *name);
void wnn_shader_include(struct shader *shader, const char *name);

// Invocations of a large work group.
unsigned wnn_shader_large_group(const struct gpu *gpu);

// `work`: elements, or steps of loops altogether. No family: the main function is written as text.
void wnn_shader_begin(struct shader *shader, struct lowering *lowering, const char *family, size_t work);

// Whether a node is of a specialization of a graph whose dimensions have names.
bool wnn_node_is_late(const struct node *node);

// Declarations: "#define NAME text" and the like.
void wnn_shader_define(struct shader *shader, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void wnn_shader_number(struct shader *shader, const char *name, uint32_t value);
// A number that is the same for all sizes of a graph, or one of few.
void wnn_shader_fixed(struct shader *shader, const char *name, uint32_t value);
// One or the other.
void wnn_shader_number_if(struct shader *shader, const char *name, uint32_t value, bool fixed);
// NAME, and NAME_in(i): i / NAME for indices of elements.
void wnn_shader_divisor(struct shader *shader, const char *name, uint32_t value);
// A float of attributes; and 1 / count.
void wnn_shader_float(struct shader *shader, const char *name, double value);
void wnn_shader_share(struct shader *shader, const char *name, size_t count);
// NAME(d), for d below `count`, which is at most WNN_MAX_RANK.
void wnn_shader_numbers(struct shader *shader, const char *name, const uint32_t *values, unsigned count);
// A number of a type of the table, as a shader has it.
void wnn_shader_value(struct shader *shader, const char *name, WNNDataType type, WNNNumber number);

// <name>_index(i): offset plus, for each of the dimensions that i counts in row-major order, position times
// step. Steps may be negative.
#define GPU_MAP_RANK (2 * WNN_MAX_RANK)
void wnn_shader_map(struct shader *shader, const char *name, unsigned rank, const uint32_t *dims,
                    const int64_t *steps, int64_t offset);
// For a tensor that broadcasts to a shape.
void wnn_shader_broadcast(struct shader *shader, const char *name, const struct shape *from,
                          const struct shape *to);

// Joins dimensions that are one, and drops those of 1; returns how many are left, the innermost first.
unsigned wnn_shader_collapse(unsigned rank, const uint32_t *dims, const int64_t *steps, uint32_t *sizes,
                             int64_t *strides);

// <name>_at(i): element i of a tensor. Returns its binding's number k, of which w<k>(i) is word i.
unsigned wnn_shader_input(struct shader *shader, const char *name, const struct tensor *tensor,
                          enum form form);
// Returns the number k of a binding with w<k>(i) or, if it is written, s<k>(i, word) for word i of a region.
unsigned wnn_shader_bind(struct shader *shader, const struct region *region, bool writes);
// COUNT, OUT, WORD, PER, put() and store(). finish(x, i) makes of result i what is to be put at element i of
// the output, by the steps, which see x rounded to the output's type. What writes an element must be what
// finishes it, since inputs of the steps may lie where the output does.
void wnn_shader_output(struct shader *shader, const struct tensor *tensor, enum form form,
                       const struct fused *fused);

// finish() alone, and finish_quad().
void wnn_shader_finish(struct shader *shader, const struct fused *fused);

// <name>(x, i), in elementwise.c: element i after the steps, each of which sees the values before it rounded
// to their types, x too if it comes `fresh` from arithmetic; if not, what the last makes is rounded as well.
// With `quads`, <name>(x, y, z, w, i) makes four floats, from element i on, a multiple of 4.
void wnn_shader_fused(struct shader *shader, const char *name, const struct fused *fused, bool fresh,
                      bool quads);

// Whether that is much code: many steps are, pow, and functions of float32, which keep denormal numbers
// whatever the device does. NULL is not.
bool wnn_fused_is_large(const struct fused *fused);

// Bytes of a tensor that one binding sees, wherever they begin.
size_t wnn_shader_piece(const struct gpu *gpu);

// How many bindings a region of so many bytes takes.
unsigned wnn_shader_bindings(const struct gpu *gpu, size_t bytes);

// What the kernels of a node bind: parameters, scratch memory, and each operand.
unsigned wnn_shader_node_bindings(const struct gpu *gpu, const struct node *node);

// <name>_quad(i): four elements from element i on, a multiple of 4; after wnn_shader_input, if the tensor has
// them in one piece, evenly aligned: floats, or integers of 8 bits at most.
bool wnn_shader_has_quads(const struct lowering *lowering, const struct tensor *tensor);
void wnn_shader_quads(struct shader *shader, const char *name, const struct tensor *tensor);
const char *wnn_shader_quad_type(WNNDataType type);
// out_quad(i, x), likewise of floats; before wnn_shader_output, which then has finish_quad(x, i) as well.
void wnn_shader_output_quads(struct shader *shader, const struct tensor *tensor);

// <name>_word(i): words that are read and written.
void wnn_shader_words(struct shader *shader, const char *name, const struct region *region);

// Loops that are marked `name` are unrolled, or expressly not: drivers for processors take long to unroll as
// much.
void wnn_shader_unroll(struct shader *shader, const char *name, bool unrolls);

// Whether work groups can be counted, by counters that a shader has beside all else.
bool wnn_shader_can_count(const struct lowering *lowering);

// The partial sums of so many SPLITS in scratch memory, sums_word(i) and, with `quads`, sums_quad(i); and for
// each counter LEAVE_UNLESS_LAST (splits.comp).
void wnn_shader_splits(struct shader *shader, const struct region *sums, bool quads, uint32_t splits,
                       size_t counters);

// Appends the text of another, which is nothing but text.
void wnn_shader_join(struct shader *shader, const struct shader *other);

// Anything else that has to stand before the family.
void wnn_shader_text(struct shader *shader, const char *format, ...) __attribute__((format(printf, 2, 3)));

// GLSL's type of the elements.
const char *wnn_shader_type(WNNDataType type);

// An expression of the function of a WNNActivation on the float variable x; its constants are declared with
// `prefix`. unary.c
void wnn_shader_function(struct shader *shader, const char *prefix, enum op op, const void *attrs,
                         WNNDataType type, char *expression, size_t size);

// Appends the dispatch: an invocation for each word of the output, or so many work groups. They may run in
// several pieces (budget.c): of gl_NumWorkGroups a shader sees x as it is here where there is more than one
// row of them.
void wnn_shader_end(struct shader *shader);
// Whether units fill work groups that process so many each, of which there is one row then: no invocation
// need ask whether it has one.
bool wnn_shader_fills(uint64_t units, uint64_t together);
// The dispatch: as many work groups as so many units need.
void wnn_shader_end_groups(struct shader *shader, uint64_t units, uint64_t together);
void wnn_shader_end_grid(struct shader *shader, uint32_t x, uint32_t y, uint32_t z);

// A tensor in scratch memory, `count` elements from byte `offset` on.
struct tensor wnn_scratch(const struct lowering *lowering, size_t offset, WNNDataType type, size_t count);

// Appends the step that copies a region to another of as many bytes, which may be the same then: nothing is
// copied if that is so where the program runs.
void wnn_copy(struct lowering *lowering, const struct region *from, const struct region *to);

// Appends the step that makes a region zeros before what follows.
void wnn_fill(struct lowering *lowering, const struct region *region);

#endif
