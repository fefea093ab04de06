// SPDX-License-Identifier: Apache-2.0
//
// One operator of a TensorFlow Lite graph, as the functions that record it see it. Operators are declared
// once, in operators.def, each with the function that composes it.

#ifndef TOOLS_MODEL_TFLITE_CALL_H_
#define TOOLS_MODEL_TFLITE_CALL_H_

#include "tools/model/tensor.h"
#include "tools/model/tflite/file.h"

struct scope;

// A tensor of a subgraph while an operator of it is recorded. Quantized numbers are `stored`, `real` is what
// they stand for; each is made of the other when it is asked for.
struct value {
    const struct tflite_tensor *about;
    struct tensor *stored, *real; // both NULL: not there, or not yet
    uint32_t node;                // for whose sake it is (recording.node)
};

struct call {
    struct recording *r;
    const struct tflite_operator *node;
    struct value **inputs; // NULL: left out
    size_t input_count;
    struct value **outputs; // to be given; NULL: left out, but for the first
    size_t output_count;
    int parameter; // of the operator, from the table
    struct scope *scope;
};

typedef void (*compose_operator)(struct call *c);

struct tflite_builtin {
    const char *name;
    size_t least, most; // inputs; those that are needed come first
    compose_operator compose;
    int parameter;
};

// What composes an operator, or NULL; its name, which may be text of the file; and why it cannot be composed,
// or NULL: nothing is known of it.
const struct tflite_builtin *wnn_tflite_find(const struct tflite_operator *node);
struct bytes wnn_tflite_name(const struct tflite_operator *node);
const char *wnn_tflite_refusal(const struct tflite_operator *node);

// ---------------------------------------------------------------------------------------------------------------
// Options: fields of the operator's own table
// ---------------------------------------------------------------------------------------------------------------

int64_t option_int(const struct call *c, unsigned field, int64_t otherwise);
int64_t option_enum(const struct call *c, unsigned field);
bool option_bool(const struct call *c, unsigned field);
double option_float(const struct call *c, unsigned field);

// Numbers of an axis, a size or a factor are limited, so that sums and products of two stay within int64.
#define LARGEST INT32_MAX

enum activation {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    ACTIVATION_RELU_N1_TO_1,
    ACTIVATION_RELU6,
    ACTIVATION_TANH,
    ACTIVATION_SIGN_BIT
};

struct tensor *apply_activation(struct recording *r, struct tensor *t, int64_t activation);
// Applies the activation of the operator to what output 0 is to be. It is left out where quantization has no
// numbers beyond its limits.
struct tensor *activate_output(struct call *c, struct tensor *t, int64_t activation);

// ---------------------------------------------------------------------------------------------------------------
// Inputs and outputs
// ---------------------------------------------------------------------------------------------------------------

bool has_input(const struct call *c, size_t index);
// As it is stored; NULL: left out, or an error.
struct tensor *stored_at(struct call *c, size_t index);
// What quantized numbers stand for; others as they are stored.
struct tensor *real_at(struct call *c, size_t index);
// As it is stored if output 0 is quantized alike, so that elements can be moved there; otherwise as real_at.
struct tensor *moved_at(struct call *c, size_t index);
// The same, also of numbers of 32 bits with scales, which are not quantized elsewhere.
struct tensor *scaled_at(struct call *c, size_t index);
// A bias that counts in products of the scales of inputs `x` and `w`; NULL: left out, or an error.
struct tensor *bias_at(struct call *c, size_t index, size_t x, size_t w);

// Sets an output: real numbers are quantized if it is, others become of its type.
void give(struct call *c, size_t index, struct tensor *t);
// Sets output 0 to complex numbers, which have an axis more while they are recorded.
void give_complex(struct call *c, struct tensor *real, struct tensor *imaginary);
int64_t given_type(const struct call *c, size_t index); // of an output; enum element_type

// The integers of an input that has to be known, up to `capacity`; `what` names them. False: an error.
bool known_ints(struct call *c, size_t index, const char *what, size_t capacity, size_t *count,
                int64_t *numbers);
bool known_int(struct call *c, size_t index, const char *what, int64_t *number);
// The same as axes of a tensor, none of them twice; those that are given again count once.
bool known_axes(struct call *c, size_t index, const struct tensor *t, size_t *count, size_t *axes);

// The size of an output as the file says; false: it does not, or with open sizes.
bool static_shape(const struct call *c, size_t index, size_t *rank, int64_t *dims);

// ---------------------------------------------------------------------------------------------------------------
// Quantization
// ---------------------------------------------------------------------------------------------------------------

// Whether numbers of a tensor are quantized: of at most 16 bits, with scales.
bool is_quantized_tensor(const struct tflite_tensor *about);
bool is_quantized_alike(const struct tflite_tensor *a, const struct tflite_tensor *b);
struct tensor *dequantized(struct recording *r, const struct tflite_tensor *about, struct tensor *t);
struct tensor *quantized(struct recording *r, const struct tflite_tensor *about, struct tensor *t);
// What is stored or real of a value; NULL: an error.
struct tensor *stored_of(struct recording *r, struct value *value);
struct tensor *real_of(struct recording *r, struct value *value);
// Scale `i`, and its zero point.
double scale_at(const struct tflite_tensor *about, size_t i);
int64_t zero_at(const struct tflite_tensor *about, size_t i);

// ---------------------------------------------------------------------------------------------------------------
// Constants, subgraphs and compositions that several families use
// ---------------------------------------------------------------------------------------------------------------

// The dense form of a sparse constant.
struct tensor *densify(struct recording *r, const struct tflite_tensor *about);
// A constant of the file.
struct tensor *make_file_constant(struct recording *r, const struct tflite_tensor *about);

// Sets a value to what another one is; false: an error, as they have other types or scales.
bool pass_value(struct recording *r, struct value *to, const struct value *from);
// Records a subgraph with values for its inputs, up to its outputs, which `outputs` has room for. False: an
// error.
bool record_subgraph(struct call *c, int64_t index, size_t count, const struct value *inputs,
                     struct value *outputs);
// How many inputs and outputs a subgraph has; false: an error.
bool count_subgraph(struct call *c, int64_t index, size_t *inputs, size_t *outputs);

struct tensor *floor_div(struct recording *r, struct tensor *a, struct tensor *b);
// x * weights^T + bias, with the rows of the last axis of x; bias may be NULL.
struct tensor *multiply_rows(struct recording *r, struct tensor *x, struct tensor *weights,
                             struct tensor *bias);
// 1 where indices [count] are 0, 1 ... n - 1, of a type: [count, n].
struct tensor *one_hot(struct recording *r, struct tensor *indices, int64_t n, int64_t type);

#define TFLITE_OPERATOR(number, name, least, most, function, parameter) void function(struct call *c);
#define TFLITE_CUSTOM_OPERATOR(name, least, most, function, parameter)  void function(struct call *c);
#include "tools/model/tflite/operators.def"
#undef TFLITE_OPERATOR
#undef TFLITE_CUSTOM_OPERATOR

#endif
