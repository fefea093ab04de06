// SPDX-License-Identifier: Apache-2.0
//
// Products of bytes on tiles (cpu/simd/tiles.h): what struct int8_kernels packs for vectors of 16 lanes are
// rows of tiles, so that one form of B serves both.

#ifndef CPU_MATMUL_INT8_TILES_H_
#define CPU_MATMUL_INT8_TILES_H_

#include "cpu/matmul/int8.h"
#include "cpu/simd/tiles.h"

enum {
    WNN_INT8_TILE_ROWS = 2 * WNN_TILE_ROWS, // of A, that meet a panel at once
    WNN_INT8_TILE_GROUPS = WNN_TILE_ROWS,   // of four terms, that a step is of at most
    WNN_INT8_TILE_COLUMNS = 32              // of a panel, or half of it
};

// Where one step of up to 16 rows of A lies: the first row, and how many bytes are between two.
struct int8_tile_rows {
    const void *base;
    size_t stride;
};

// Sums over all groups of A and of a panel of B. All steps have as many groups; the last one ends with the
// last group, and what it has in common with the one before is zeros in A.
struct int8_tile_product {
    const struct int8_tile_rows *rows; // [step][2]
    size_t steps, groups;              // groups: of a row
    const void *b;
    unsigned vectors; // of 16 columns: 1 or 2
    bool a_signed;
    // What vectors do meanwhile: called once a step.
    void (*meanwhile)(void *argument);
    void *argument;
};

struct int8_tile_loops {
    // Makes the thread ready for so many rows, at most WNN_INT8_TILE_ROWS, and groups of a step.
    void (*configure)(struct tile_file *file, unsigned rows, unsigned groups);
    // For others' loops: so many rows in all tiles of sums and rows.
    void (*configure_alike)(struct tile_file *file, unsigned rows, unsigned groups);
    void (*multiply)(struct tile_file *file, const struct int8_tile_product *product,
                     int32_t sums[WNN_INT8_TILE_ROWS][WNN_INT8_TILE_COLUMNS]);
    void (*release)(struct tile_file *file);
};

// Whether they are faster than vectors, wherever there are tiles.
bool wnn_int8_worth_tiles(const struct int8_gemm *gemm);

// The groups of a row in steps.
struct int8_tile_steps {
    size_t groups;  // of all steps, each counted once
    size_t in_step; // groups
    size_t count;
    size_t copied; // of the steps, at most
};
struct int8_tile_steps wnn_int8_tile_steps(const struct int8_gemm *gemm);

// Where the steps of `count` rows lie, as [step][2], in place or in copies: there is room for the steps that
// may be copied, of WNN_INT8_TILE_ROWS rows. Pointers are what gemm->find makes of kernels->mr rows, one
// after the other.
void wnn_int8_tile_find(const struct int8_gemm *gemm, const struct int8_tile_steps *steps,
                        const void *const *pointers, unsigned count, char *copies, struct int8_tile_rows *to);

// NULL: there are no tiles.
const struct int8_tile_loops *wnn_int8_tile_loops(enum tiles tiles);

#endif
