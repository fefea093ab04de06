// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a model's graph while it is recorded, and the operators of WebNN on them, for every format.
//
// A tensor's type and rank are always known, and its sizes but for those that are late (tools/model/late.h).
// Its elements are when it comes from a constant, from a
// shape or from arithmetic on such: then every function here computes what it would have recorded, in int64
// or float64, so that what exporters write about shapes never reaches the graph, and one composition of an
// operator serves both. Only what cannot be known becomes operators of the builder.
//
// Errors stick as in the builder: the first one of a node is kept, functions return NULL then, and accept
// NULL for any tensor, so that a composition needs no checks but for what it reads itself.

#ifndef TOOLS_MODEL_TENSOR_H_
#define TOOLS_MODEL_TENSOR_H_

#include "tools/model/memory.h"
#include "tools/model/source.h"

#include <webnn/ops.h>

#define MAX_RANK 8 // of operands

// Types of elements, as models have them; their numbers are those of ONNX.
enum element_type {
    TYPE_UNDEFINED,
    TYPE_FLOAT32,
    TYPE_UINT8,
    TYPE_INT8,
    TYPE_UINT16,
    TYPE_INT16,
    TYPE_INT32,
    TYPE_INT64,
    TYPE_STRING,
    TYPE_BOOL,
    TYPE_FLOAT16,
    TYPE_FLOAT64,
    TYPE_UINT32,
    TYPE_UINT64,
    TYPE_COMPLEX64,
    TYPE_COMPLEX128,
    TYPE_BFLOAT16,
    TYPE_FLOAT8E4M3FN,
    TYPE_FLOAT8E4M3FNUZ,
    TYPE_FLOAT8E5M2,
    TYPE_FLOAT8E5M2FNUZ,
    TYPE_UINT4,
    TYPE_INT4,
    TYPE_FLOAT4E2M1,
    TYPE_FLOAT8E8M0,
    TYPE_UINT2,
    TYPE_INT2,
    TYPE_SEQUENCE = 64,
    TYPE_NOTHING, // an optional value that is not there
    TYPE_OPTIONAL,
    TYPE_MAP,
    TYPE_SPARSE,
    TYPE_OPAQUE
};

struct recording;
struct tensor;

// What has been recorded for a late size, which models ask for at every layer.
struct late_operands {
    int64_t size;
    struct tensor *number, *range; // [1] of int64, and 0, 1 ... up to it; or NULL
    struct late_operands *next;    // of the same bucket
};
#define LATE_BUCKETS 64

// A constant as a file has it.
struct constant {
    int64_t type;       // enum element_type
    struct bytes bytes; // the elements as they lie in memory, little endian; empty: the functions find them
    // The bytes where they lie in another file; NULL: there is none. An error is recorded.
    struct bytes (*find)(struct recording *r, const struct constant *constant);
    // Sets all elements of a tensor where no bytes are as they lie in memory; NULL: there is no such form.
    // False: an error, which is recorded.
    bool (*read)(struct recording *r, const struct constant *constant, struct tensor *t);
    struct bytes form; // the format's, for the functions
};

struct tensor {
    int64_t type; // enum element_type, as the model says
    size_t rank;
    int64_t dims[MAX_RANK];
    WNNOperand operand;            // NULL: not recorded yet, as the elements are known
    const struct constant *source; // of the file, or NULL
    // The elements, once they were asked for: of integers and booleans, or of floating-point numbers.
    int64_t *ints;
    double *reals;
    bool is_input; // of the model, to be given when the graph is computed
    uint32_t node; // in whose memory it is
    const struct tensor
        *every; // of one known element, which all are, also where their number is late; NULL: none
    // Of a sequence, whose type is TYPE_SEQUENCE and whose rank is 0. Of other tensors: the lists that were
    // joined to it, or none.
    struct tensor **items;
    size_t item_count;
};

struct recording {
    struct model_memory *memory;
    // How often something that was there before the node at hand has come to refer to memory that is the
    // node's: it is freed behind the node otherwise.
    size_t kept_count;
    uint32_t node; // at hand: their number, from 1 on, grows; 0: none
    WNNGraphBuilder builder;
    bool narrow; // float64 may become float32, integers of 16 bits those of 32
    bool late;   // dimensions of inputs that have no value stay names
    struct late_operands *late_operands[LATE_BUCKETS];
    struct bytes label;          // of the node at hand, for the builder
    bool failed;                 // the node at hand cannot be recorded
    char fault[512];             // why
    struct model_source *source; // where external data are, and what is lent; may be NULL
    uint64_t work_limit;         // what wnn_model_work found last
};

// The label of what is recorded for the node at hand.
static inline WNNStringView label_of(const struct recording *r)
{
    return (WNNStringView){(const char *)r->label.data, r->label.size};
}

// Records why the node at hand cannot be recorded, unless something was wrong before; returns NULL.
void *wnn_model_fail(struct recording *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define fail wnn_model_fail

// Counts work that a file asks for as often as it likes, by loops, functions, and constants that many nodes
// read: fields and elements. False: it is too much for a file of its size, which is an error.
bool wnn_model_work(struct recording *r, uint64_t work);

// ---------------------------------------------------------------------------------------------------------------
// Types and shapes
// ---------------------------------------------------------------------------------------------------------------

bool is_real(int64_t type);
bool is_integer(int64_t type);       // without booleans
bool is_signed(int64_t type);        // a number that can be negative
unsigned element_bits(int64_t type); // as they are stored; 0: they cannot be read
const char *type_name(int64_t type);
bool is_narrowed(int64_t type); // one that WebNN has not, and another is used for where that was asked for
struct type_limits {
    double low, high; // infinities for floating-point numbers
};
struct type_limits limits_of(int64_t type);
// The data type of an operand for it; Undefined: there is none.
WNNDataType operand_type(const struct recording *r, int64_t type);

// The product of some dimensions; 1 for none. INT64_MAX: it is not known, or cannot be counted.
int64_t product(const int64_t *dims, size_t count);
int64_t count_elements(const struct tensor *t);
// An axis that may count from the end; false: an error.
bool find_axis(struct recording *r, int64_t axis, size_t rank, size_t *result);

// ---------------------------------------------------------------------------------------------------------------
// Making tensors
// ---------------------------------------------------------------------------------------------------------------

struct tensor *make_tensor(struct recording *r, int64_t type, size_t rank, const int64_t *dims);
struct tensor *make_known(struct recording *r, int64_t type, size_t rank, const int64_t *dims); // zeros
struct tensor *make_ints(struct recording *r, size_t count, const int64_t *values); // int64, [count]
struct tensor *make_number(struct recording *r, int64_t type, double value);        // rank 0
// Dimensions that are late make an operand of it, whose elements are not at hand.
struct tensor *make_filled(struct recording *r, int64_t type, size_t rank, const int64_t *dims, double value);
// Each of the three may be late.
struct tensor *make_range(struct recording *r, int64_t type, int64_t start, int64_t count, int64_t step);
struct tensor *make_size(struct recording *r, int64_t type, int64_t size); // rank 0; the size may be late
struct tensor *make_constant(struct recording *r, const struct constant *source, size_t rank,
                             const int64_t *dims);
struct tensor *make_operand(struct recording *r, int64_t type,
                            WNNOperand operand); // NULL: the builder's error
// Whether an operand is all that is known of a tensor, and will be: sizes may be found in late ones.
bool is_plain_operand(const struct recording *r, const struct tensor *t);

// The operand of a tensor; records it if its elements were known. NULL: an error.
WNNOperand operand_of(struct recording *r, struct tensor *t);

// A tensor whose elements are not to be computed with while recording: too many would come of it, or numbers
// of which some may be negative that sizes are not.
struct tensor *forget(struct recording *r, struct tensor *t);
// The same as an operand, if what is made of it has more elements than are computed while recording.
struct tensor *limit_known(struct recording *r, struct tensor *t, int64_t elements);
// Whether what is made of known tensors is computed while recording: it is small, or WebNN has no type for
// it.
bool is_computed(const struct recording *r, int64_t type, size_t rank, const int64_t *dims);
// Whether the elements are at hand in ints or reals; the tensor is small enough for it.
bool is_known(struct recording *r, struct tensor *t);
// They have to be; `what` names the operand for the message. Of sizes some may be late.
bool require_known(struct recording *r, struct tensor *t, const char *what);
bool require_sizes(struct recording *r, struct tensor *t, const char *what);
double known_number(const struct tensor *t, int64_t index);
int64_t known_integer(const struct tensor *t, int64_t index); // towards zero, and saturated
int64_t to_integer(double value);                             // the same
void set_known(struct tensor *t, int64_t index, double value);
void set_stored(struct tensor *t, int64_t index, uint64_t bits); // the bits that a file has for it
// Element `i` of a known tensor, as it lies in the memory of an operand.
void store_element(const struct tensor *t, WNNDataType type, int64_t i, unsigned char *data);

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

enum unary {
    ABS,
    CEIL,
    COS,
    ERF,
    EXP,
    FLOOR,
    LOG,
    NEG,
    RECIPROCAL,
    ROUND,
    SIGN,
    SIN,
    SQRT,
    TAN,
    TANH,
    SIGMOID,
    RELU,
    SOFTPLUS,
    SOFTSIGN,
    GELU,
    HARD_SWISH,
    IS_NAN,
    IS_INFINITE,
    NOT
};
enum binary {
    ADD,
    SUB,
    MUL,
    DIV,
    MAX,
    MIN,
    POW,
    EQUAL,
    GREATER,
    GREATER_OR_EQUAL,
    LESSER,
    LESSER_OR_EQUAL,
    AND,
    OR,
    XOR
};
enum reduction {
    SUM,
    MEAN,
    MAXIMUM,
    MINIMUM,
    PRODUCT,
    L1,
    L2,
    LOG_SUM,
    LOG_SUM_EXP,
    SUM_SQUARE
};

struct tensor *unary(struct recording *r, enum unary op, struct tensor *a);
struct tensor *binary(struct recording *r, enum binary op, struct tensor *a, struct tensor *b); // broadcasts
struct tensor *with_number(struct recording *r, enum binary op, struct tensor *a, double b);    // of a's type
struct tensor *number_with(struct recording *r, enum binary op, double a, struct tensor *b);    // of b's type
struct tensor *with_size(struct recording *r, enum binary op, struct tensor *a, int64_t b);     // may be late
struct tensor *choose(struct recording *r, struct tensor *condition, struct tensor *a, struct tensor *b);
struct tensor *clamp(struct recording *r, struct tensor *t, double low, double high);
struct tensor *clamp_to_size(struct recording *r, struct tensor *t, int64_t size); // 0 to size - 1
struct tensor *elu(struct recording *r, struct tensor *t, double alpha);
struct tensor *leaky_relu(struct recording *r, struct tensor *t, double alpha);
struct tensor *hard_sigmoid(struct recording *r, struct tensor *t, double alpha, double beta);
struct tensor *gelu_tanh(struct recording *r, struct tensor *t);   // by its approximation
struct tensor *arc_tangent(struct recording *r, struct tensor *t); // of numbers that are none too large
struct tensor *cast(struct recording *r, struct tensor *t, int64_t type);

struct tensor *reshape(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims);
struct tensor *transpose(struct recording *r, struct tensor *t, const size_t *permutation);
struct tensor *swap_axes(struct recording *r, struct tensor *t, size_t a, size_t b);
struct tensor *expand(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims);
struct tensor *slice(struct recording *r, struct tensor *t, const int64_t *starts, const int64_t *sizes,
                     const int64_t *steps); // steps may be negative, or NULL: ones
struct tensor *slice_axis(struct recording *r, struct tensor *t, size_t axis, int64_t start, int64_t size,
                          int64_t step);
struct tensor *concat(struct recording *r, size_t count, struct tensor *const *tensors, size_t axis);
struct tensor *gather(struct recording *r, struct tensor *t, struct tensor *indices, size_t axis);
struct tensor *gather_elements(struct recording *r, struct tensor *t, struct tensor *indices, size_t axis);
struct tensor *pad(struct recording *r, struct tensor *t, const int64_t *before, const int64_t *after,
                   WNNPaddingMode mode, double value);
struct tensor *reduce(struct recording *r, enum reduction op, struct tensor *t, size_t count,
                      const size_t *axes, bool keep);
struct tensor *reduce_axis(struct recording *r, enum reduction op, struct tensor *t, size_t axis); // keeps it
struct tensor *arg_max(struct recording *r, struct tensor *t, size_t axis, bool least, bool keep); // int64
struct tensor *matmul(struct recording *r, struct tensor *a, struct tensor *b); // ranks of at least 2
struct tensor *softmax(struct recording *r, struct tensor *t, size_t axis);
// What there is for a late size; NULL: there is no memory.
struct late_operands *find_late(struct recording *r, int64_t size);
// From start to limit in steps, three numbers of one type that follow from sizes.
struct tensor *range(struct recording *r, struct tensor *start, struct tensor *limit, struct tensor *step);
// 0, 1 ... of int64, up to a size that is late.
struct tensor *late_range(struct recording *r, int64_t count);
struct tensor *cumulative_sum(struct recording *r, struct tensor *t, size_t axis, bool exclusive,
                              bool reversed);
// The last axis of the indices says which element of `t`, or which part.
struct tensor *gather_nd(struct recording *r, struct tensor *t, struct tensor *indices);
struct tensor *scatter_nd(struct recording *r, struct tensor *t, struct tensor *indices,
                          struct tensor *updates);
struct tensor *tile(struct recording *r, struct tensor *t, const int64_t *repetitions);
// The first `length` elements of `axis` backwards, with a length for each index of `batch`.
struct tensor *reverse_sequence(struct recording *r, struct tensor *t, struct tensor *lengths, size_t batch,
                                size_t axis);
struct tensor *log_softmax(struct recording *r, struct tensor *t, size_t axis);
// The k largest, or least, elements of an axis in order, and where they are, int64; the first of equal ones
// first.
bool top_k(struct recording *r, struct tensor *t, size_t axis, int64_t k, bool least, struct tensor **values,
           struct tensor **places);
// Scale and zero point have the rank of `t`, and sizes that divide its.
struct tensor *quantize_linear(struct recording *r, struct tensor *t, struct tensor *scale,
                               struct tensor *zero, int64_t type);
struct tensor *dequantize_linear(struct recording *r, struct tensor *t, struct tensor *scale,
                                 struct tensor *zero);
struct tensor *unsqueeze(struct recording *r, struct tensor *t, size_t axis);
struct tensor *squeeze(struct recording *r, struct tensor *t, size_t axis);

// ---------------------------------------------------------------------------------------------------------------
// Sizes of which some are late
// ---------------------------------------------------------------------------------------------------------------

bool knows_shape(const struct tensor *t);       // all of it
bool has_late_elements(const struct tensor *t); // of which only some functions know

// The result, where it is certain at all sizes; false: it is not, or is no size, and no error is recorded.
bool compute_late(struct recording *r, enum binary op, int64_t a, int64_t b, int64_t *result);

// Of sizes, late or not: ADD, SUB, MUL, DIV, which rounds down, MIN or MAX. 0: an error.
int64_t compute_size(struct recording *r, enum binary op, int64_t a, int64_t b);
// The size that a number is which the graph computes; an error if it does not follow from sizes.
int64_t settle(struct recording *r, struct tensor *number);
int64_t size_product(struct recording *r, const int64_t *dims, size_t count);
// Whether two sizes are certainly not the same: what may be is found out when they are known.
bool sizes_differ(int64_t a, int64_t b);

// Whether the elements of integers that the graph computes follow from sizes: then they are known from now
// on, as late ones.
bool find_sizes(struct recording *r, struct tensor *t);
// An element of a list, of rank 0: known where it was before lists were joined.
struct tensor *list_element(struct recording *r, struct tensor *t, int64_t index);

// The operand of known integers of which some are late.
struct tensor *record_late(struct recording *r, const struct tensor *t);

// What a size is called, for people: "seq", or "?".
const char *late_name(const struct recording *r, int64_t size, char buffer[120]);

// The shape of two that are broadcast; false: an error.
bool broadcast(struct recording *r, const struct tensor *a, const struct tensor *b, size_t *rank,
               int64_t *dims);

#endif
