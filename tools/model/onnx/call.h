// SPDX-License-Identifier: Apache-2.0
//
// One node of an ONNX graph, as the functions that record it see it. Operators are declared once, in
// operators.def, each with the function that composes it.

#ifndef TOOLS_MODEL_ONNX_CALL_H_
#define TOOLS_MODEL_ONNX_CALL_H_

#include "tools/model/onnx/file.h"
#include "tools/model/tensor.h"

struct scope;

struct call {
    struct recording *r;
    const struct onnx_node *node;
    struct tensor **inputs; // NULL: left out
    size_t input_count;
    struct tensor **outputs; // to be set
    size_t output_count;
    int64_t version; // of the operator set
    int parameter;   // of the operator, from the table
    struct scope *scope;
    // In a function: the node that it is computed for, and the function.
    const struct call *caller;
    const struct onnx_function *function;
};

typedef void (*record_operator)(struct call *c);

struct onnx_operator {
    const char *domain, *name;
    size_t least, most; // inputs; those that are needed come first
    record_operator record;
    int parameter;
};

// NULL if there is none.
const struct onnx_operator *wnn_onnx_operator(struct bytes domain, struct bytes name);

// Why an operator that there is none for cannot be recorded; NULL: nothing is known of it.
const char *wnn_onnx_refusal(struct bytes name);

// Attributes by name.
bool find_attribute(const struct call *c, const char *name,
                    struct onnx_attribute *to); // false: it is left out
bool has_attribute(const struct call *c, const char *name);
int64_t get_int(const struct call *c, const char *name, int64_t otherwise);
double get_float(const struct call *c, const char *name, double otherwise);
bool has_text(const struct call *c, const char *name, const char *text, const char *otherwise);
// A list of numbers, or of at most 64 texts; `count` 0 and NULL if it is left out.
int64_t *get_ints(const struct call *c, const char *name, size_t *count);
float *get_floats(const struct call *c, const char *name, size_t *count);
struct bytes *get_texts(const struct call *c, const char *name, size_t *count);

// An input; NULL if it was left out.
struct tensor *input(const struct call *c, size_t index);
struct tensor *needed(struct call *c, size_t index, const char *name);        // left out: an error
bool is_float(struct recording *r, const struct tensor *t, const char *name); // otherwise an error
bool wants(const struct call *c, size_t index);                               // whether an output is used
void set_output(struct call *c, size_t index, struct tensor *t);
void set_list(struct call *c, struct tensor *t); // output 0

struct tensor *make_initializer(struct recording *r, const struct onnx_tensor *source);

// Numbers that are given by an attribute in old operator sets, by an input in later ones. False: neither, or
// an error.
bool get_list(struct call *c, size_t index, const char *name, size_t *count, int64_t **numbers);

// Records another graph which sees the names of this one, up to its outputs; false: an error.
bool record_graph(struct call *c, const struct onnx_graph *graph, size_t count, struct tensor *const *inputs,
                  struct tensor **outputs);
bool get_graph(struct call *c, const char *name, struct onnx_graph *graph);

// The product of matrices, and of vectors as numpy has it.
struct tensor *multiply(struct recording *r, struct tensor *a, struct tensor *b);
// The convolution, or the pool, that a node's attributes describe, of tensors of rank 3, 4 or 5; `bias` may
// be NULL.
struct tensor *convolve(struct call *c, struct tensor *x, struct tensor *w, struct tensor *bias);
struct tensor *average_windows(struct call *c, struct tensor *x);
// The activation that the attributes of a fused operator name.
struct tensor *activate(struct call *c, struct tensor *t);
// Axes of a tensor of that rank, no one twice; false: an error.
bool find_axes(struct recording *r, size_t rank, size_t count, const int64_t *numbers, size_t *axes);
// Softmax over an axis, or, as operator sets before 13 have it, over all axes from there on.
struct tensor *softmax_from(struct recording *r, struct tensor *x, int64_t axis, bool flattens);
// Over the axes from `axis` on; scale and bias are broadcast to their shape, or NULL.
struct tensor *normalize(struct recording *r, struct tensor *x, size_t axis, struct tensor *scale,
                         struct tensor *bias, double epsilon);
// Real numbers of quantized ones, with a scale and a zero point (NULL: 0) for all or for an index of an axis.
struct tensor *dequantize(struct recording *r, struct tensor *x, struct tensor *scale, struct tensor *zero,
                          int64_t axis, int64_t block);

// Where the elements of windows of a length lie, as [windows, size]; the length may be late.
struct tensor *window_places(struct recording *r, int64_t length, int64_t size, int64_t step);

// The axes of a shape with the second one last, as NHWC has it, and back.
struct tensor *channels_last(struct recording *r, struct tensor *t);
struct tensor *channels_second(struct recording *r, struct tensor *t);

#define ONNX_OPERATOR(domain, name, least, most, function, parameter) void function(struct call *c);
#include "tools/model/onnx/operators.def"
#undef ONNX_OPERATOR

#endif
