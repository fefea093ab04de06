// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/int8_tiles.h"

#include <string.h>

#define MIN_ROWS 8 // are worth tiles

// ---------------------------------------------------------------------------------------------------------------
// Loops
// ---------------------------------------------------------------------------------------------------------------

// A tile without rows has no bytes either.
static void set_tile(struct tile_config *config, unsigned tile, unsigned rows, unsigned bytes)
{
    config->rows[tile] = (uint8_t)rows;
    config->bytes[tile] = (uint16_t)(rows ? bytes : 0);
}

#define OWN(x)  emulated_##x
#define TILE(x) EMULATED_##x
#define TARGET
#include "cpu/matmul/int8_tiles.inc"

#if WNN_X86_64
#define OWN(x)  amx_##x
#define TILE(x) AMX_##x
#define TARGET  __attribute__((target(WNN_AMX_FEATURES)))
#include "cpu/matmul/int8_tiles.inc"
#endif

const struct int8_tile_loops *wnn_int8_tile_loops(enum tiles tiles)
{
#if WNN_X86_64
    if (tiles == WNN_TILES_AMX)
        return &amx_loops;
#endif
    return tiles == WNN_TILES_EMULATED ? &emulated_loops : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Rows
// ---------------------------------------------------------------------------------------------------------------

// Tiles take long to be made ready, and more where rows are made of small pieces, which are copied; one row
// is limited by how fast B is read.
bool wnn_int8_worth_tiles(const struct int8_gemm *gemm)
{
    return gemm->kernels->finish[1] && gemm->m >= MIN_ROWS && gemm->unit * gemm->n >= 1024 &&
           gemm->m * gemm->n * gemm->k >= 1 << 17;
}

struct int8_tile_steps wnn_int8_tile_steps(const struct int8_gemm *gemm)
{
    size_t groups = wnn_int8_group_count(gemm->kernels, gemm->k, gemm->unit);
    struct int8_tile_steps steps = {.groups = groups, .in_step = wnn_min(groups, WNN_INT8_TILE_GROUPS)};
    steps.count = (groups + steps.in_step - 1) / steps.in_step;
    // The last one if some of it is zeros; those that are of several pieces, or of rows at any places.
    steps.copied = gemm->in_place && !gemm->even ? steps.count : groups % steps.in_step != 0;
    return steps;
}

// The pieces of 16 rows or less.
struct half {
    const void *const *pointers; // of the first of them
    unsigned count;
    size_t pieces, groups; // groups of a piece
};

// Kernels with tiles find that many rows at a time.
enum {
    PART = WNN_INT8_MAX_MR
};

static void load_piece(const struct half *half, size_t piece, const char *rows[WNN_TILE_ROWS])
{
    const void *const *from = half->pointers + piece * PART;
    memcpy(rows, from, PART * sizeof *rows);
    if (half->count > PART)
        memcpy(rows + PART, from + half->pieces * PART, PART * sizeof *rows);
}

// Whether rows are equally far apart.
static bool find_stride(const struct half *half, const char *const rows[WNN_TILE_ROWS],
                        struct int8_tile_rows *to)
{
    uintptr_t at[WNN_TILE_ROWS], stride = WNN_TILE_BYTES, different = 0;
    memcpy(at, rows, sizeof at);
    if (half->count > 1)
        stride = at[1] - at[0];
    if (half->count == WNN_TILE_ROWS) {
        for (unsigned r = 2; r < WNN_TILE_ROWS; r++)
            different |= (at[r] - at[r - 1]) ^ stride;
    } else {
        for (unsigned r = 2; r < half->count; r++)
            different |= (at[r] - at[r - 1]) ^ stride;
    }
    *to = (struct int8_tile_rows){rows[0], stride};
    return different == 0;
}

// So many groups of each row, from one of a piece on.
static void copy_groups(const struct half *half, size_t piece, size_t group, size_t groups, char *to)
{
    const char *rows[WNN_TILE_ROWS];
    for (size_t some; groups > 0; groups -= some, to += 4 * some, piece++, group = 0) {
        some = wnn_min(groups, half->groups - group);
        load_piece(half, piece, rows);
        for (unsigned r = 0; r < half->count; r++) {
            const char *from = rows[r] + 4 * group;
            char *row = to + r * WNN_TILE_BYTES;
            size_t i = 0;
            for (; i + 4 <= some; i += 4)
                memcpy(row + 4 * i, from + 4 * i, 16);
            for (; i < some; i++)
                memcpy(row + 4 * i, from + 4 * i, 4);
        }
    }
}

static void find_half(const struct half *half, const struct int8_tile_steps *steps, char *copies,
                      struct int8_tile_rows *to)
{
    const char *rows[WNN_TILE_ROWS] = {NULL};
    struct int8_tile_rows found = {NULL, 0};
    size_t piece = 0, in = 0, looked = SIZE_MAX;
    bool even = false;
    for (size_t step = 0, groups; step < steps->count; step++, to += 2) {
        groups = wnn_min(steps->in_step, steps->groups - step * steps->in_step);
        if (piece != looked) {
            load_piece(half, piece, rows);
            even = find_stride(half, (const char *const *)rows, &found);
            looked = piece;
        }
        if (even && groups == steps->in_step && in + groups <= half->groups) {
            *to = (struct int8_tile_rows){(const char *)found.base + 4 * in, found.stride};
        } else {
            size_t zeros = 4 * (steps->in_step - groups);
            for (unsigned r = 0; r < half->count && zeros; r++)
                memset(copies + r * WNN_TILE_BYTES, 0, zeros);
            copy_groups(half, piece, in, groups, copies + zeros);
            *to = (struct int8_tile_rows){copies, WNN_TILE_BYTES};
            copies += WNN_INT8_TILE_ROWS * WNN_TILE_BYTES;
        }
        for (in += groups; in >= half->groups; in -= half->groups)
            piece++;
    }
}

void wnn_int8_tile_find(const struct int8_gemm *gemm, const struct int8_tile_steps *steps,
                        const void *const *pointers, unsigned count, char *copies, struct int8_tile_rows *to)
{
    struct half half = {.pieces = gemm->k / gemm->unit,
                        .groups = wnn_int8_group_count(gemm->kernels, gemm->unit, gemm->unit)};
    for (unsigned first = 0; first < count; first += WNN_TILE_ROWS, to++) {
        half.pointers = pointers + first * half.pieces;
        half.count = (unsigned)wnn_min(WNN_TILE_ROWS, count - first);
        find_half(&half, steps, copies + first * WNN_TILE_BYTES, to);
    }
}
