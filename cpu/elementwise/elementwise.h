// SPDX-License-Identifier: Apache-2.0
//
// What element-wise kernels share. They work on chunks: at most WNN_CHUNK consecutive elements of the output,
// together with the elements of every operand that belong to them, side by side in memory whatever the
// operand's shape. Hence each inner loop exists once, without strides, for the compiler to vectorise.

#ifndef CPU_ELEMENTWISE_H_
#define CPU_ELEMENTWISE_H_

#include "cpu/kernel.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/simd/isa.h"
#include "cpu/simd/vmath.h"

#define WNN_CHUNK 512

// There may be more elements that are smaller than the largest: their bytes are as many.
#define WNN_CHUNK_BYTES  (WNN_CHUNK * sizeof(uint64_t))
#define WNN_FLOATS_CHUNK (WNN_CHUNK_BYTES / sizeof(float))
#define WNN_HALVES_CHUNK (WNN_CHUNK_BYTES / sizeof(uint16_t)) // of float16 as it lies in memory

// Elements that are worth a thread: for a loop that only moves and adds, and for one that calls a function.
#define WNN_GRAIN_CHEAP  16384
#define WNN_GRAIN_COSTLY 2048

// A tensor read as if it had another shape, in which an element may stand several times: where the sizes
// differ, each index is repeated size / own size times. A broadcast dimension (of size 1, or missing in
// front) is the special case of one block, the blocks of quantized tensors the general one.
struct view {
    const unsigned char *data;
    WNNDataType type;
    unsigned rank;                   // at least 1
    size_t dim[2 * WNN_MAX_RANK];    // from the last dimension on; neighbours that act as one are one
    size_t stride[2 * WNN_MAX_RANK]; // in elements; the first is 0 or 1
};

// No size of `from` is 0.
void wnn_cpu_view_init(struct view *view, const struct tensor *from, const struct shape *to);

// One thread's position in a view. About 4 KiB.
struct cursor {
    const struct view *view;
    size_t filled, offset; // that many elements of the buffer repeat the one at this offset
    _Alignas(64) unsigned char buffer[WNN_CHUNK_BYTES];
};

void wnn_cpu_cursor_init(struct cursor *cursor, const struct view *view);

// Elements [index, index + count) of the shape that is viewed, one after another: in the tensor's own memory
// or in the cursor's. Elements of 4-bit types become int8 or uint8. They are no more than WNN_CHUNK_BYTES.
const void *wnn_cpu_cursor_read(struct cursor *cursor, size_t index, size_t count);

// The same for float types, as float32: `floats` (WNN_CHUNK of them) is used for float16.
const float *wnn_cpu_cursor_read_floats(struct cursor *cursor, size_t index, size_t count, float *floats);

// Puts elements [index, index + count) of a 4-bit type into `out`, where element 0 begins: two a byte, the
// even one in the low half. index is even.
void wnn_cpu_pack_pairs(const unsigned char *values, unsigned char *out, size_t index, size_t count);

// Where a thread makes chunks of an output: in their place, or stored past the caches.
struct chunk_room {
    bool non_temporal;
    _Alignas(64) unsigned char buffer[WNN_CHUNK_BYTES];
};

// Whether chunks of an output go past the caches: whole bytes. What takes the place of an input is in them.
static inline bool wnn_cpu_chunks_non_temporal(const struct kernel_call *call, const struct tensor *out)
{
    for (unsigned i = 0; i < call->node->in_count; i++)
        if (call->in[i].data == out->data)
            return false;
    return wnn_is_non_temporal(out->count * (wnn_dtype_bits(out->type) / 8));
}

static inline void *wnn_cpu_chunk_begin(struct chunk_room *room, void *out)
{
    return room->non_temporal ? room->buffer : out;
}

static inline void wnn_cpu_chunk_end(const struct chunk_room *room, void *out, size_t bytes)
{
    if (room->non_temporal)
        wnn_nt_store(out, room->buffer, bytes);
}

// Behind a thread's last chunk.
static inline void wnn_cpu_chunks_end(const struct chunk_room *room)
{
    if (room->non_temporal)
        wnn_nt_fence();
}

// The options of an operator of one input, converted to the data type.
struct unary_constants {
    float alpha, beta;         // clamp: the bounds
    WNNNumber least, greatest; // clamp of integers
};

typedef void (*unary_loop)(const void *in, void *out, size_t count, const struct unary_constants *constants);
typedef void (*binary_loop)(const void *left, const void *right, void *out, size_t count);
// Of float16 as it lies in memory, past the caches if `stream` says so. For 0 elements they only return
// whether this processor has such a loop.
typedef bool (*unary_half_loop)(const uint16_t *in, uint16_t *out, size_t count,
                                const struct unary_constants *constants, bool stream);
typedef bool (*binary_half_loop)(const uint16_t *left, const uint16_t *right, uint16_t *out, size_t count,
                                 bool stream);
typedef void (*cast_loop)(const void *in, void *out, size_t count);
typedef void (*quantize_loop)(const void *x, const float *scale, const void *zero, void *out, size_t count);

// One operator on a chunk whose elements lie side by side: those of float16 as float32, before the rounding
// that the caller owes them, and those of 4-bit types as int8 or uint8.
struct chunk_step {
    void (*run)(const struct chunk_step *step, const void *const in[3], void *out, size_t count);
    // (optional) The same past the caches. The caller ends that.
    void (*stream)(const struct chunk_step *step, const void *const in[3], void *out, size_t count);
    // (optional) The same of float16 as it lies in memory, rounded; as half_loop below.
    bool (*halves)(const struct chunk_step *step, const uint16_t *const in[3], uint16_t *out, size_t count,
                   bool stream);
    union {
        unary_loop unary;
        binary_loop binary;
        cast_loop cast; // NULL: the bits stay
        quantize_loop quantize;
    } loop;
    union {
        unary_half_loop unary;
        binary_half_loop binary;
    } half_loop;
    struct unary_constants constants;
    struct vmath_chain chain; // of joined steps
    size_t size;              // of an element of the result, where the loop does not know it
    size_t grain;             // WNN_GRAIN_...
};

// The steps of the kernels; `type` is that of the first operand (where: of the values).
struct chunk_step wnn_cpu_unary_step(enum op op, const void *attrs, WNNDataType type);
struct chunk_step wnn_cpu_binary_step(enum op op, WNNDataType type);
struct chunk_step wnn_cpu_power_step(const struct tensor *exponent); // of floats
struct chunk_step wnn_cpu_where_step(WNNDataType type);
struct chunk_step wnn_cpu_cast_step(WNNDataType from, WNNDataType to);
struct chunk_step wnn_cpu_quantize_step(WNNDataType to);
struct chunk_step wnn_cpu_dequantize_step(WNNDataType from);

// Some steps of a chain that one loop computes to the same bits.
struct joined_steps {
    struct chunk_step loop;
    uint8_t in_count, in[2]; // numbers of the values that it reads
    uint32_t steps;          // bit i: step i
};

// Whether there is a loop for step `last` and some before it, whose results nothing else needs.
bool wnn_cpu_join_steps(const struct elementwise_attrs *attrs, const struct tensor *in, unsigned input_count,
                        unsigned last, struct joined_steps *joined);

// The first element of a tensor of floats.
static inline float wnn_cpu_first_float(const struct tensor *tensor)
{
    return tensor->type == WNNDataType_Float16 ? wnn_half_to_float(*(const uint16_t *)tensor->data)
                                               : *(const float *)tensor->data;
}

// The bytes of an element in a chunk.
static inline size_t wnn_cpu_chunk_size(WNNDataType type)
{
    unsigned bits = wnn_dtype_bits(type);
    return type == WNNDataType_Float16 ? sizeof(float) : bits < 8 ? 1 : bits / 8;
}

// A table of the results for each float16 that there is, in a node's scratch memory. table.c
#define WNN_TABLE_BYTES (65536 * sizeof(uint16_t))

// The least elements of a tensor for which one is made, which takes as long as computing an eighth of them.
// Tests are built with less.
#ifndef WNN_TABLE_ELEMENTS
#define WNN_TABLE_ELEMENTS ((size_t)8 << 16)
#endif

static inline bool wnn_cpu_fills_table(const struct operand *in, const struct operand *out)
{
    return in->type.type == WNNDataType_Float16 && out->type.type == WNNDataType_Float16 &&
           wnn_shape_elements(&in->type.shape) >= WNN_TABLE_ELEMENTS;
}

// Makes the memory of a table a tensor of all float16, by their bits. In its place the results are computed,
// and then looked up for the elements of an input, of which there are as many as in output 0.
struct tensor wnn_cpu_all_halves(void *table);
void wnn_cpu_look_up(const struct kernel_call *call, const struct tensor *in);

// Whether a lookup is faster than this operator of one float16.
bool wnn_cpu_is_slow_unary(enum op op, const struct cpu_target *target);

// Fetches so many elements of float16 that are read in the next chunk, and those that this one writes in
// their place, while numbers are converted.
static inline void wnn_cpu_expect(const struct chunk_room *room, const void *in, void *out, size_t count)
{
    for (size_t i = 0; i < count * sizeof(uint16_t); i += 64) {
        __builtin_prefetch((const char *)in + i);
        if (!room->non_temporal)
            __builtin_prefetch((char *)out + i, 1);
    }
}

// The integral value nearest to x, the even one of two; NaN and infinities as they are. In this form, and not
// rintf, since it vectorises everywhere.
static inline float wnn_cpu_round_even(float x)
{
    float size = __builtin_fabsf(x),
          rounded = (size + 0x1p23f) - 0x1p23f; // no room for a fraction in the sum
    return __builtin_copysignf(size < 0x1p23f ? rounded : size, x);
}

// The same as an integer, of what is nearest to x from -1024 to 1024; of NaN 0.
static inline int32_t wnn_cpu_round_small(float x)
{
    x = x < -1024.0f ? -1024.0f : x;
    x = x > 1024.0f ? 1024.0f : x;
    float shifted = (x == x ? x : 0.0f) + 0x1.8p23f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits - 0x4B400000;
}

#endif
