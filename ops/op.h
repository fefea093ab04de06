// SPDX-License-Identifier: Apache-2.0
//
// The operator table, made of ops.def, and the one call of an operator that everybody uses: the public
// functions, the reader of graph files, the conformance runner.

#ifndef OPS_OP_H_
#define OPS_OP_H_

#include "lib/graph.h"

#include <webnn/ops.h>

// One id an operator, spelled as in the specification: WNN_OP_conv2d. The last three are the forms of 2024
// that have an id of their own only until they are inferred: they are recorded as argMin, argMax and softmax.
// From WNN_OP_COUNT to WNN_OP_END there are operators that only the compiler makes.
enum op {
#define OP(class, id, ...) WNN_OP_##id,
#include "ops/ops.def"
    WNN_OP_COUNT,
#define OP(...)
#define OPI(class, id, ...) WNN_OP_##id,
#include "ops/ops.def"
    WNN_OP_END
};

// What operators have in common. Of those down to CLASS_ELEMENTWISE each element of the result depends on one
// element of each operand, broadcast to its shape; from CLASS_CONVOLUTION to CLASS_RECURRENT the work is
// multiply-adds.
enum op_class {
    CLASS_UNARY,
    CLASS_ACTIVATION, // a unary one that other operators can apply to their results
    CLASS_BINARY,
    CLASS_ELEMENTWISE, // any other
    CLASS_CONVOLUTION,
    CLASS_PRODUCT,
    CLASS_ATTENTION,
    CLASS_RECURRENT,
    CLASS_POOLING,
    CLASS_REDUCTION,
    CLASS_FUSED,  // several element-wise operators
    CLASS_GATHER, // input 1 says which elements of input 0 are read or written
    CLASS_COPY,   // the elements of its input in their order
    CLASS_OTHER,
    CLASS_SHAPING, // about shapes: others take its place when all sizes are known (ops/shaping.c)
    CLASS_FORM,    // a form of 2024
};

enum row_kind {
    ROW_INPUT,          // a positional operand
    ROW_INPUT_LIST,     // concat's operands
    ROW_OPTIONAL_INPUT, // an operand that stands in the options
    ROW_OUTPUT,
    ROW_OPTIONAL_OUTPUT, // there only if an option asks for it
    ROW_OUTPUT_LIST,     // split's results
    ROW_ATTRIBUTE,
};

// What an attribute says about dimensions of input 0, and of the operands that have the same.
enum attr_role {
    ROLE_NONE,
    ROLE_AXIS,           // one of them
    ROLE_AXES,           // a list of them, in any order
    ROLE_ORDERED_AXES,   // a list of them, in an order that other operands follow
    ROLE_SPATIAL_AXES,   // a list of height and width
    ROLE_EACH_DIMENSION, // a list of one item a dimension
    ROLE_EACH_SIZE,      // likewise, of sizes
    ROLE_SIZES,          // a size, or a list of them, which belong to no dimension of an operand
    ROLE_LAYOUT,         // an enumerator that says which are the channels
};

// How an attribute is stored.
enum attr_kind {
    ATTR_u32,         // uint32_t
    ATTR_i32,         // int32_t
    ATTR_bool,        // bool
    ATTR_f64,         // double, finite
    ATTR_number,      // WNNNumber
    ATTR_u32s,        // WNNUint32List
    ATTR_f32s,        // WNNFloat32List, finite
    ATTR_dtype,       // WNNDataType
    ATTR_enum,        // an enumerator; `names` are its spellings in the specification, from value 1
    ATTR_activation,  // WNNActivation
    ATTR_activations, // WNNActivationList
};

#define WNN_SAME 0x80000000u

// One line of ops.def below the operator's name.
struct op_row {
    enum row_kind kind;
    const char *name;  // the specification's; NULL ends the rows
    uint32_t types;    // allowed data types, or WNN_SAME | i: the type of operand i
    uint32_t required; // what the draft obliges implementations to support
    uint8_t min_rank, max_rank;
    uint16_t offset; // of an optional operand or an attribute in the attributes struct
    enum attr_kind attr;
    enum attr_role role;
    const char *const *names;
    bool argument;     // an attribute that has no default: a positional argument of the method
    bool may_be_empty; // an operand that may have no elements where the result has some
};

static inline bool wnn_op_row_is_input(const struct op_row *row)
{
    return row->kind == ROW_INPUT || row->kind == ROW_INPUT_LIST || row->kind == ROW_OPTIONAL_INPUT;
}

static inline bool wnn_op_row_is_optional(const struct op_row *row)
{
    return row->kind == ROW_OPTIONAL_INPUT || row->kind == ROW_OPTIONAL_OUTPUT;
}

static inline bool wnn_op_row_is_list(const struct op_row *row)
{
    return row->kind == ROW_INPUT_LIST || row->kind == ROW_OUTPUT_LIST;
}

struct op_call;

struct op_info {
    const char *name; // the specification's
    enum op_class class;
    const struct op_row *rows;
    uint16_t attrs_size;
    const void *defaults; // the attributes when no option is given
    bool (*infer)(struct op_call *call);
};
extern const struct op_info wnn_ops[WNN_OP_END];

// What takes the place of an operator of CLASS_SHAPING when all sizes are known; others stay what they are.
enum op wnn_op_sibling(enum op op);

// WNN_OP_COUNT if there is no operator of that name.
enum op wnn_op_find(struct string name);

// The row of that kind of thing and name, or NULL. Several attribute rows may share a name (split: a number
// or a list): `attr` of the wanted one, or -1 for the first.
const struct op_row *wnn_op_operand_row(const struct op_info *info, struct string name,
                                        unsigned *input_index);
const struct op_row *wnn_op_attr_row(const struct op_info *info, struct string name, int attr);

size_t wnn_attr_bytes(enum attr_kind kind);

// A finite number that became the infinity `value` in the type of an operand.
double wnn_attr_given(double value);

// Whether a reader needs to be told an attribute: not if it is the default, absent, or stands in another row.
bool wnn_attr_is_told(const struct op_info *info, const struct op_row *row, const void *attrs);

// Whether no row before it is of the same member: several names may stand for one.
bool wnn_op_row_is_first(const struct op_info *info, const struct op_row *row);

// The row that holds what a complete attribute says: split's sizes stand in the second of two of one name.
const struct op_row *wnn_attr_telling_row(const struct op_info *info, const struct op_row *row);

// Copies the attributes with all lists and activations. Labels are not copied: their bytes belong to the
// string pool of a graph, or to the caller.
void *wnn_op_copy_attrs(struct arena *arena, enum op op, const void *attrs);

// The attribute rows that are arguments, which come before the options. Rows of one name or member are one
// argument (split's number or list, the two spellings of cast's).
unsigned wnn_op_argument_rows(const struct op_info *info);

// The number of rows that are inputs, optional ones included.
unsigned wnn_op_input_rows(const struct op_info *info);

// ---------------------------------------------------------------------------------------------------------------
// Attributes of the operators that take more than operands and options. The options come first.
// ---------------------------------------------------------------------------------------------------------------

struct arg_min_max_attrs { // argMin, argMax
    WNNArgMinMaxOptions options;
    uint32_t axis;      // as called; read axes
    WNNUint32List axes; // ascending; data NULL before it is completed
    bool selectLastIndex;
};
struct attended_keys_attrs {
    WNNOperatorOptions options;
    double distance;
};
enum { // what attendedKeys tells of a row
    WNN_ATTENDED_FIRST,
    WNN_ATTENDED_END,
    WNN_ATTENDED_ZEROS,
    WNN_ATTENDED_NUMBERS
};
// By which the mask of a key is less than the greatest of its row, so that its weight is 0 for all scores
// that occur (webnn.h).
#define WNN_EXCLUDED_DISTANCE 30000.0
struct attention_attrs {
    WNNOperatorOptions options;
    double scale;
    bool zeroNan; // rows whose softmax is NaN give zeros
    // Unless window is 0, the mask lets row r attend to the `window` keys that end before key r + windowEnd,
    // as far as there are such keys, adds nothing to their scores, and excludes all others.
    uint32_t window, windowEnd;
    // As transpose's: of the inputs before, and of the result after they have met.
    WNNUint32List queryPermutation, keyPermutation, valuePermutation, outputPermutation;
};
struct cast_attrs {
    WNNOperatorOptions options;
    WNNDataType dataType;
};
struct concat_attrs {
    WNNOperatorOptions options;
    uint32_t axis;
};
struct cumulative_sum_attrs {
    WNNCumulativeSumOptions options;
    uint32_t axis;
};

struct elementwise_attrs { // elementwise: a few operators of single elements, one after the other
    WNNOperatorOptions options;
    const struct elementwise_step *steps; // their inputs are those of the node
    unsigned count;
};
struct expand_attrs { // expand, reshape
    WNNOperatorOptions options;
    WNNUint32List newShape;
};
struct gru_attrs {
    WNNGruOptions options;
    uint32_t steps, hiddenSize;
};
struct gru_cell_attrs {
    WNNGruCellOptions options;
    uint32_t hiddenSize;
};
struct lstm_attrs {
    WNNLstmOptions options;
    uint32_t steps, hiddenSize;
};
struct lstm_cell_attrs {
    WNNLstmCellOptions options;
    uint32_t hiddenSize;
};
struct pad_attrs {
    WNNPadOptions options;
    WNNUint32List beginningPadding, endingPadding;
};
struct rms_normalization_attrs {
    WNNOperatorOptions options;
    WNNUint32List axes; // of the mean; scale has their dimensions, in their order
    double epsilon;
};
struct rotary_embedding_attrs {
    WNNOperatorOptions options;
    uint32_t axis; // along which the halves lie one behind the other
};
struct slice_attrs {
    WNNSliceOptions options;
    WNNUint32List starts, sizes;
};
struct softmax_attrs {
    WNNOperatorOptions options;
    uint32_t axis;
};
struct split_attrs {
    WNNSplitOptions options;
    uint32_t count; // as called, if sizes is absent; read sizes
    WNNUint32List sizes;
};
struct split_dynamic_attrs {
    WNNSplitOptions options;
};
struct tile_attrs {
    WNNOperatorOptions options;
    WNNUint32List repetitions;
};
struct unsqueeze_attrs {
    WNNOperatorOptions options;
    WNNUint32List axes;
};

// ---------------------------------------------------------------------------------------------------------------
// Calling
// ---------------------------------------------------------------------------------------------------------------

// Records one operator: checks ownership, attributes, data types and ranks against the table, infers the
// outputs, and appends a node. `operands` are the positional ones in table order. `attrs` is the struct of
// the operator (NULL: the defaults). Writes at most `capacity` outputs and returns their number, 0 after an
// error.
size_t wnn_builder_call(WNNGraphBuilder builder, enum op op, size_t operand_count, const WNNOperand *operands,
                        const void *attrs, size_t capacity, WNNOperand *outputs);

// An activation of one of the 13 operators that have one.
WNNActivation wnn_builder_activation(WNNGraphBuilder builder, enum op op, const void *attrs);
static inline bool wnn_op_is_activation(enum op op)
{
    return wnn_ops[op].class == CLASS_ACTIVATION || op == WNN_OP_softmax;
}

// Whether elementwise can do it.
static inline bool wnn_op_is_elementwise(enum op op)
{
    return wnn_ops[op].class <= CLASS_ELEMENTWISE;
}

// Whether the result has the elements of the input, in their order, and nothing else.
static inline bool wnn_op_hands_on(enum op op)
{
    return op == WNN_OP_reshape || op == WNN_OP_identity;
}

// Whether its work is multiply-adds.
static inline bool wnn_op_multiplies(enum op op)
{
    return wnn_ops[op].class >= CLASS_CONVOLUTION && wnn_ops[op].class <= CLASS_RECURRENT;
}

// ---------------------------------------------------------------------------------------------------------------
// Inference: one function an operator family, in the order of the specification's steps
// ---------------------------------------------------------------------------------------------------------------

struct op_call {
    enum op op; // a form of 2024 replaces it by the operator it is recorded as
    const struct op_info *info;
    struct operand *const *in; // as node.in
    unsigned in_count;
    void *attrs;            // the call's own copy, which infer completes (and may replace)
    struct descriptor *out; // to be filled in; room for `out_capacity`
    unsigned out_count, out_capacity;
    struct arena *arena;
    struct size_table *sizes; // that dimensions may refer to, or NULL
    const WNNLimits *limits;
    struct error *error;
    void *sibling_attrs;         // of the operator that can take its place now (wnn_op_sibling), or NULL
    const struct values *values; // of the outputs, as far as anything is known (ops/values.h), or NULL
    uint32_t unranked; // by bit, outputs whose rank is not known, and is 0; bit 0 is for all of a list
};

// Text of shapes and sizes for messages of a call.
#define SHAPE_OF(call, shape) wnn_sizes_text((call)->sizes, (shape), (char[WNN_SIZES_TEXT]){0})
#define SIZE_OF(call, size)   wnn_size_text((call)->sizes, (size), (char[WNN_SIZE_TEXT]){0})
#define AMOUNT_OF(call, of)   wnn_amount_text((call)->sizes, (of), (char[WNN_SIZE_TEXT]){0})

// Whether an attribute is a size or a list of sizes, which may not be known while recording.
static inline bool wnn_op_row_is_size(const struct op_row *row)
{
    return row->kind == ROW_ATTRIBUTE && (row->role == ROLE_EACH_SIZE || row->role == ROLE_SIZES);
}

// Records an error with the operator's name and label in front; returns false.
bool wnn_op_fail(struct op_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

// What the specification leaves to implementations: whether the outputs that were inferred, and the work,
// keep the limits, https://www.w3.org/TR/webnn/#mloperanddescriptor-check-dimensions
bool wnn_op_check_outputs(struct op_call *call);

// The smallest size of a dimension: 0 where operands without elements are accepted.
static inline uint32_t wnn_min_dimension(const WNNLimits *limits)
{
    return limits->acceptEmptyTensors ? 0 : 1;
}

// Multiply-adds of one node, or elements where it has none: what WNNLimits.maxOperatorWork counts.
uint64_t wnn_op_work(enum op op, struct operand *const *in, const struct descriptor *out, unsigned out_count,
                     const void *attrs);

#define OP(class, id, method, options, defaults, infer, ...) bool wnn_infer_##infer(struct op_call *call);
#define OPX(class, id, method, options, defaults, attrs, infer, ...)                                         \
    bool wnn_infer_##infer(struct op_call *call);
#define OPI(class, id, attrs, infer, ...) bool wnn_infer_##infer(struct op_call *call);
#include "ops/ops.def"

#endif
