// SPDX-License-Identifier: Apache-2.0
//
// The float32 matrix product that matmul, gemm and the convolutions stand on, the loops over vectors below
// it, and the float32 copies of float16 tensors. Internal to the kernels of the CPU backend.
//
// Sums are taken in an order that depends on the sizes alone, so that results have the same bits for any
// number of threads.

#ifndef CPU_GEMM_H_
#define CPU_GEMM_H_

#include "cpu/kernel.h"

#define WNN_GEMM_MAX_MR       8    // rows of a tile
#define WNN_GEMM_MAX_NR       48   // columns of a tile, at most three vectors
#define WNN_GEMM_KC           512  // terms that are summed before the tile is stored
#define WNN_GEMM_NC           1056 // columns of B that are packed at a time, whole tiles
#define WNN_GEMM_MAX_SEGMENTS 32
#define WNN_GEMM_AHEAD        4

static inline size_t wnn_round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// ---------------------------------------------------------------------------------------------------------------
// Vector loops
// ---------------------------------------------------------------------------------------------------------------

// Four floats anywhere.
typedef float wnn_quad __attribute__((vector_size(16)));

static inline wnn_quad wnn_quad_load(const float *from)
{
    wnn_quad quad;
    memcpy(&quad, from, sizeof quad);
    return quad;
}

static inline void wnn_quad_store(float *to, wnn_quad quad)
{
    memcpy(to, &quad, sizeof quad);
}

// Where the sums of a tile go, and what is done with them on the way.
struct tile_end {
    const float *start; // a row that is added to each, or NULL
    float *c;
    size_t ldc;
    bool add;           // to what is in c
    const float *range; // the least and the greatest value, which sums are moved into, or NULL; NaN stays NaN
    const float *ahead; // the next WNN_GEMM_AHEAD floats a term are fetched into the second-level cache
};

// A tile of C: its row r is the sum over segment s and i < length of rows[s * mr + r][i] times row s * length
// + i of b, a panel as wide as the tile.
typedef void (*wnn_tile_kernel)(const float *const *rows, size_t segments, size_t length, const float *b,
                                const struct tile_end *end);

// Rows of float32, or of float16.
struct float_rows {
    const void *data;
    size_t stride; // elements from one to the next
    bool halves;
    bool once; // nothing has read them lately: they come from memory, and one after the other does so fastest
};

// What one instruction set does best.
struct float_kernels {
    unsigned mr, nr, lanes;
    // Tiles of a full number of rows, or 6, 4, 2 or 1, and of up to nr vectors: tile[vectors - 1][rows],
    // where NULL means the next larger number of rows.
    wnn_tile_kernel tile[3][WNN_GEMM_MAX_MR + 1];

    // c[j] += sum over t of scale[t] * in[t][j]
    void (*combine)(float *c, size_t count, const float *const *in, const float *scale, size_t terms);

    // c[j] = sum over t of scale[t] * in[t][j], and of c[j] if `add`, else of `start`; count is a multiple
    // of 16.
    void (*weigh)(float *c, size_t count, float start, const float *const *in, const float *scale,
                  size_t terms, bool add);

    // c[j] += sum over t of a[t][j] * b[t][j]
    void (*multiply_add)(float *c, size_t count, const float *const *a, const float *const *b, size_t terms);

    // c[j] += sum over t of scale[t * step] * the float16 or float32 in row t of b, whose rows are `stride`
    // elements apart. Rows further down are fetched on the way: memory is what takes the time.
    void (*add_rows)(float *c, size_t count, const struct float_rows *b, const float *scale, size_t step,
                     size_t terms);

    float (*dot)(const float *a, const float *b, size_t count);
    float (*dot_halves)(const float *a, const uint16_t *b, size_t count);

    // The same in double.
    double (*dot_double)(const double *a, const float *b, size_t count);
};

// The best set for this processor, and the one of an ISA, in whose panels weights are packed.
const struct float_kernels *wnn_float_kernels(void);
const struct float_kernels *wnn_float_kernels_of(enum isa isa);

// ---------------------------------------------------------------------------------------------------------------
// Product of matrices
// ---------------------------------------------------------------------------------------------------------------

// C [m, n] = A [m, k] * B [k, n], where A and B are only known to the functions that deliver pieces of them.
struct gemm {
    const struct float_kernels *kernels;
    size_t m, n, k;

    // Pieces of a row of A that end at a multiple of `unit` are never joined with the next; k if there are no
    // such boundaries. A unit below WNN_GEMM_KC must be at least WNN_GEMM_KC / WNN_GEMM_MAX_SEGMENTS unless
    // it is k.
    size_t unit;

    // Sets pointers[s * mr + r] for r < count to `length` terms of row `row` + r of A that begin with term
    // k + s * length, either in place or in `buffer`, which has room for mr * WNN_GEMM_KC floats.
    void (*rows)(const struct gemm *gemm, size_t row, unsigned count, size_t k, size_t segments,
                 size_t length, unsigned mr, const float **pointers, float *buffer);

    // Writes the columns [column, column + count) of rows [k, k + length) of B to `panel`, `width` floats a
    // row, with zeros behind the last column.
    void (*panel)(const struct gemm *gemm, size_t k, size_t length, size_t column, unsigned count,
                  float *panel, unsigned width);

    // (optional) Tells when the rest is not wanted any more; wnn_gemm_run takes it from its loops.
    const struct interrupt *interrupt;

    // (optional) Of what has been packed: the terms that are added up, in one piece (unit is k), and the
    // columns that are wanted; others may be written, too. An end of 0: all.
    struct gemm_range {
        size_t begin, end;
    } terms, columns;

    // (optional) A row of n floats that is added to every row of C.
    const float *start;

    // (optional) The least and the greatest value of C.
    const float *range;

    // (optional) Changes finished sums before they are moved into the range and stored: rows [row, row +
    // rows) and columns [column, column + columns), with `width` floats a row.
    void (*finish)(const struct gemm *gemm, float *tile, unsigned width, size_t row, unsigned rows,
                   size_t column, unsigned columns);

    // (optional) Changes elements that have been stored, some rows and columns of C from `c` on; not with
    // `scatter`.
    void (*polish)(const struct gemm *gemm, float *c, size_t rows, size_t columns);

    // Where elements are stored: element (i, j) is c[i * row_stride + j]. If scatter is set, it gives the
    // offsets of rows (or columns, if scatter_columns is true) instead: element (i, j) is then
    // c[offset of row i + j], or c[i * row_stride + offset of column j].
    float *c;
    size_t row_stride;
    void (*scatter)(const struct gemm *gemm, size_t first, unsigned count, size_t *offsets);
    bool scatter_columns;

    const void *argument; // for the functions
    bool in_place;        // `rows` only points at A, so that it may be asked again and again

    // (optional) All of B, as wnn_gemm_pack_all has left it: `panel` is not called then.
    const float *packed;
};

// `scratch` has wnn_gemm_scratch(n, k) bytes; it is not needed with a packed B.
void wnn_gemm_run(const struct gemm *gemm, const struct parallel *parallel, float *scratch);
size_t wnn_gemm_scratch(size_t n, size_t k);

// Packs all of B. Only kernels, n, k, unit, panel, and argument are looked at; this processor need not have
// the ISA of the kernels.
void wnn_gemm_pack_all(const struct gemm *gemm, const struct parallel *parallel, float *packed);

// The same where `gemm` wants some of the terms, or of the columns: packs what of these is not `done`, which
// is {0, 0} at first and tells in the end what is.
void wnn_gemm_pack_more(const struct gemm *gemm, const struct parallel *parallel, float *packed,
                        struct gemm_range *done);
size_t wnn_gemm_packed_floats(const struct float_kernels *kernels, size_t n,
                              size_t k); // a multiple of WNN_ALIGNMENT bytes

// Packs `lanes` columns and `length` rows of a matrix with any strides into a panel, see gemm.panel.
void wnn_gemm_pack(const float *from, size_t lane_stride, size_t k_stride, unsigned lanes, size_t length,
                   float *panel, unsigned width);
void wnn_gemm_pack_halves(const uint16_t *from, size_t lane_stride, size_t k_stride, unsigned lanes,
                          size_t length, float *panel, unsigned width);

// ---------------------------------------------------------------------------------------------------------------
// float32 copies
// ---------------------------------------------------------------------------------------------------------------

// Scratch memory that is handed out from its beginning, in multiples of WNN_ALIGNMENT.
struct scratch {
    char *next;
};
void *wnn_scratch_take(struct scratch *scratch, size_t bytes);

// The elements of a float tensor as float32: in place, or a copy. NULL for an absent tensor.
const float *wnn_floats_in(const struct kernel_call *call, unsigned index, struct scratch *scratch);

// Where to compute an output: in place, or in scratch memory from which wnn_floats_store rounds it to its
// place.
float *wnn_floats_out(const struct kernel_call *call, unsigned index, struct scratch *scratch);
void wnn_floats_store(const struct kernel_call *call, unsigned index, const float *values);

// The bytes that the copies of all operands of a node take; of all but the inputs whose bits are set; of all
// but input 1, its weights.
size_t wnn_floats_scratch(const struct node *node);
size_t wnn_floats_copy_bytes(const struct operand *operand); // of one, which may be NULL
size_t wnn_floats_scratch_without(const struct node *node, uint32_t inputs);
size_t wnn_floats_scratch_without_weights(const struct node *node);

// Whether the activation of a node is a range, like relu, that its product can take as gemm.range.
bool wnn_activation_range(const struct node *node, float range[2]);

// Whether input 1 of a node holds weights, that is a constant, while input 0 differs from run to run. (Nodes
// that have nothing but constants are folded.)
bool wnn_has_weights(const struct node *node);

// The elements of a float tensor, as float32, anywhere.
void wnn_floats_copy(const struct tensor *tensor, float *to, const struct parallel *parallel);

#endif
