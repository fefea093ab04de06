// SPDX-License-Identifier: Apache-2.0
//
// The product of matrices: blocks of B are packed into panels, and tiles of C are computed from rows of A and
// one panel each. A block of B stays in the second-level cache, the rows of a tile in the first-level cache.

#include "cpu/matmul/gemm.h"

#include <math.h>

// Multiplications that are worth a thread's attention.
#define THREAD_WORK      ((size_t)1 << 18)
#define PARTS_PER_THREAD 4 // at most

// ---------------------------------------------------------------------------------------------------------------
// Packing
// ---------------------------------------------------------------------------------------------------------------

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
#endif
#endif

#ifdef HAVE_SHUFFLE
// Four lanes of four terms each, transposed.
static inline void transpose_quad(const float *from, size_t lane_stride, float *to, unsigned width)
{
    wnn_quad a = wnn_quad_load(from), b = wnn_quad_load(from + lane_stride),
             c = wnn_quad_load(from + 2 * lane_stride);
    wnn_quad d = wnn_quad_load(from + 3 * lane_stride);
    wnn_quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    wnn_quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    wnn_quad_store(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    wnn_quad_store(to + width, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    wnn_quad_store(to + 2 * width, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    wnn_quad_store(to + 3 * width, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}
#else
static inline void transpose_quad(const float *from, size_t lane_stride, float *to, unsigned width)
{
    for (unsigned k = 0; k < 4; k++) {
        for (unsigned lane = 0; lane < 4; lane++)
            to[k * width + lane] = from[lane * lane_stride + k];
    }
}
#endif

static void clear_lanes(unsigned lanes, size_t length, float *panel, unsigned width)
{
    if (lanes < width) {
        for (size_t k = 0; k < length; k++)
            memset(panel + k * width + lanes, 0, (width - lanes) * sizeof *panel);
    }
}

void wnn_gemm_pack(const float *from, size_t lane_stride, size_t k_stride, unsigned lanes, size_t length,
                   float *panel, unsigned width)
{
    if (lane_stride == 1) {
        for (size_t k = 0; k < length; k++)
            memcpy(panel + k * width, from + k * k_stride, lanes * sizeof *from);
    } else if (k_stride == 1) {
        size_t k = 0;
        for (; k + 4 <= length; k += 4) {
            unsigned lane = 0;
            for (; lane + 4 <= lanes; lane += 4)
                transpose_quad(from + lane * lane_stride + k, lane_stride, panel + k * width + lane, width);
            for (; lane < lanes; lane++) {
                for (size_t i = k; i < k + 4; i++)
                    panel[i * width + lane] = from[lane * lane_stride + i];
            }
        }
        for (; k < length; k++) {
            for (unsigned lane = 0; lane < lanes; lane++)
                panel[k * width + lane] = from[lane * lane_stride + k];
        }
    } else {
        for (size_t k = 0; k < length; k++) {
            for (unsigned lane = 0; lane < lanes; lane++)
                panel[k * width + lane] = from[lane * lane_stride + k * k_stride];
        }
    }
    clear_lanes(lanes, length, panel, width);
}

void wnn_gemm_pack_halves(const uint16_t *from, size_t lane_stride, size_t k_stride, unsigned lanes,
                          size_t length, float *panel, unsigned width)
{
    uint16_t row[WNN_GEMM_MAX_NR];
    for (size_t k = 0; k < length; k++) {
        for (unsigned lane = 0; lane < lanes; lane++)
            row[lane] = from[lane * lane_stride + k * k_stride];
        wnn_half_to_float_array(row, panel + k * width, lanes);
    }
    clear_lanes(lanes, length, panel, width);
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks and tiles
// ---------------------------------------------------------------------------------------------------------------

enum {
    PACKED_NC = 288,  // columns of B that are packed once: two blocks leave room in the second-level cache
    ALONE_ROWS = 512, // of A, of which WNN_GEMM_KC terms stay in the second-level cache
    REUSED = 1 << 17, // floats of C that terms are added to while the second-level cache has them
};

struct block {
    const struct gemm *gemm;
    const struct float_kernels *kernels;
    size_t column, columns;     // of C
    size_t k, segments, length; // terms
    bool first, last;           // of the terms
    float *panels;              // one behind the other; the last one is as many vectors wide as it needs
    size_t packed, skipped;     // terms of the panels, and the first of them that are passed over
};

static unsigned panel_width(const struct block *block)
{
    return block->kernels->nr * block->kernels->lanes;
}

static size_t panel_count(const struct block *block)
{
    return (block->columns + panel_width(block) - 1) / panel_width(block);
}

static void pack_panels(void *argument, size_t begin, size_t end)
{
    const struct block *block = argument;
    unsigned width = panel_width(block), lanes = block->kernels->lanes;
    size_t terms = block->segments * block->length;

    for (size_t i = begin; i < end; i++) {
        size_t column = i * width;
        unsigned columns = (unsigned)wnn_min(width, block->columns - column);
        block->gemm->panel(block->gemm, block->k, terms, block->column + column, columns,
                           block->panels + column * terms, (columns + lanes - 1) / lanes * lanes);
    }
}

// Stores a tile that cannot go to C as it is.
static void store_tile(const struct block *block, float *tile, size_t row, unsigned rows, size_t column,
                       unsigned columns)
{
    const struct gemm *gemm = block->gemm;
    unsigned width = panel_width(block);
    size_t row_offset[WNN_GEMM_MAX_MR], column_offset[WNN_GEMM_MAX_NR];
    bool scatter_columns = gemm->scatter != NULL && gemm->scatter_columns;

    for (unsigned r = 0; r < rows; r++)
        row_offset[r] = (row + r) * gemm->row_stride + (scatter_columns ? 0 : column);
    if (scatter_columns) {
        gemm->scatter(gemm, column, columns, column_offset);
    } else if (gemm->scatter != NULL) {
        gemm->scatter(gemm, row, rows, row_offset);
        for (unsigned r = 0; r < rows; r++)
            row_offset[r] += column;
    }
    if (block->first && gemm->start != NULL) {
        for (unsigned r = 0; r < rows; r++) {
            for (unsigned j = 0; j < columns; j++)
                tile[r * width + j] += gemm->start[column + j];
        }
    }
    if (!block->first) {
        for (unsigned r = 0; r < rows; r++) {
            const float *from = gemm->c + row_offset[r];
            float *sums = tile + r * width;
            for (unsigned j = 0; j < columns; j++)
                sums[j] += from[scatter_columns ? column_offset[j] : j];
        }
    }
    if (block->last && gemm->finish != NULL)
        gemm->finish(gemm, tile, width, row, rows, column, columns);
    if (block->last && gemm->range != NULL) {
        float least = gemm->range[0], greatest = gemm->range[1];
        for (unsigned i = 0; i < rows * width; i++) {
            float value = tile[i] < least ? least : tile[i];
            tile[i] = value > greatest ? greatest : value;
        }
    }
    for (unsigned r = 0; r < rows; r++) {
        float *to = gemm->c + row_offset[r];
        const float *sums = tile + r * width;
        if (scatter_columns) {
            for (unsigned j = 0; j < columns; j++)
                to[column_offset[j]] = sums[j];
        } else {
            memcpy(to, sums, columns * sizeof *to);
        }
    }
}

// Rows of tiles and panels of a block, or of all of C.
struct region {
    size_t row, row_end, panel, panel_end;
};

// Panels that will be needed next.
struct ahead {
    const float *next, *end;
};

static const float *fetch_ahead(struct ahead *ahead, size_t terms, const float *otherwise)
{
    const float *next = ahead->next;
    if (next >= ahead->end)
        return otherwise;
    ahead->next += wnn_min(WNN_GEMM_AHEAD * terms, (size_t)(ahead->end - next));
    return next;
}

static void compute_tile(const struct block *block, const float *const *pointers, size_t row, unsigned rows,
                         unsigned height, size_t panel, struct ahead *ahead)
{
    const struct gemm *gemm = block->gemm;
    const struct float_kernels *kernels = block->kernels;
    unsigned width = panel_width(block);
    size_t first = panel * width, column = block->column + first;
    unsigned columns = (unsigned)wnn_min(width, block->columns - first);
    // A division takes long, and few panels need it.
    unsigned vectors = columns == width ? kernels->nr : (columns + kernels->lanes - 1) / kernels->lanes;
    wnn_tile_kernel kernel = kernels->tile[vectors - 1][height];
    const float *b = block->panels + first * block->packed + block->skipped * vectors * kernels->lanes;
    struct tile_end end = {.ahead = fetch_ahead(ahead, block->segments * block->length, b)};
    bool whole = gemm->scatter == NULL && !(block->last && gemm->finish != NULL);

    if (whole && rows == height && columns == vectors * kernels->lanes) {
        end.start = block->first && gemm->start != NULL ? gemm->start + column : NULL;
        end.c = gemm->c + row * gemm->row_stride + column;
        end.ldc = gemm->row_stride;
        end.add = !block->first;
        end.range = block->last ? gemm->range : NULL;
        kernel(pointers, block->segments, block->length, b, &end);
    } else {
        float tile[WNN_GEMM_MAX_MR * WNN_GEMM_MAX_NR];
        end.c = tile;
        end.ldc = width;
        kernel(pointers, block->segments, block->length, b, &end);
        store_tile(block, tile, row, rows, column, columns);
    }
}

static void compute_region(const struct block *block, const struct region *region, struct ahead *ahead)
{
    const struct gemm *gemm = block->gemm;
    const struct float_kernels *kernels = block->kernels;
    unsigned mr = kernels->mr;
    const float *pointers[WNN_GEMM_MAX_SEGMENTS * WNN_GEMM_MAX_MR];
    float buffer[WNN_GEMM_MAX_MR * WNN_GEMM_KC];

    for (size_t i = region->row; i < region->row_end; i++) {
        size_t row = i * mr;
        unsigned rows = (unsigned)wnn_min(mr, gemm->m - row), height = rows;
        if (wnn_interrupted(gemm->interrupt))
            return;
        while (kernels->tile[0][height] == NULL)
            height++;
        if (block->segments * block->length > 0)
            gemm->rows(gemm, row, rows, block->k, block->segments, block->length, mr, pointers, buffer);
        for (size_t s = 0; s < block->segments; s++) {
            for (unsigned r = rows; r < height; r++)
                pointers[s * mr + r] = pointers[s * mr];
        }
        for (size_t panel = region->panel; panel < region->panel_end; panel++)
            compute_tile(block, pointers, row, rows, height, panel, ahead);
        if (block->last && gemm->polish != NULL) {
            size_t column = region->panel * panel_width(block);
            size_t end = wnn_min(region->panel_end * panel_width(block), block->columns);
            gemm->polish(gemm, gemm->c + row * gemm->row_stride + block->column + column, rows, end - column);
        }
    }
}

// How many terms the block that starts with term k has.
static void cut_terms(const struct gemm *gemm, struct block *block)
{
    size_t unit = gemm->unit;
    if (unit < WNN_GEMM_KC && unit < gemm->k) {
        block->segments = wnn_min(WNN_GEMM_KC / unit, (gemm->k - block->k) / unit);
        block->length = unit;
    } else {
        size_t pieces = (unit + WNN_GEMM_KC - 1) / WNN_GEMM_KC;
        block->segments = gemm->k > 0;
        block->length = gemm->k > 0 ? wnn_min((unit + pieces - 1) / pieces, unit - block->k % unit) : 0;
    }
}

// The block of B that begins with a term and a column, which is a multiple of `limit`. `panels` is where its
// panels are, or with `all` where those of all of B are.
static struct block block_at(const struct gemm *gemm, size_t column, size_t k, size_t limit,
                             const float *panels, bool all)
{
    struct block block = {.gemm = gemm, .kernels = gemm->kernels, .column = column, .k = k};
    size_t lanes = block.kernels->lanes;
    block.columns = wnn_min(limit, gemm->n - column);
    cut_terms(gemm, &block);
    block.first = k == 0;
    block.packed = block.segments * block.length;
    block.last = k + block.packed == gemm->k;
    size_t before = all ? column * gemm->k + (block.columns + lanes - 1) / lanes * lanes * k : 0;
    block.panels = (float *)(uintptr_t)panels + before;
    return block;
}

// False behind the last block of these columns.
static bool next_terms(const struct block *block, size_t *k)
{
    *k = block->k + block->segments * block->length;
    return !block->last;
}

static void pack_block(const struct block *block, const struct parallel *parallel)
{
    size_t terms = block->segments * block->length;
    if (terms > 0)
        wnn_parallel_for(parallel, panel_count(block), 1 + 16384 / (terms * panel_width(block)), pack_panels,
                         (void *)(uintptr_t)block);
}

// C, or a block of its columns, in parts for threads: equal shares of its tiles, in lines along the shorter
// side, so that what belongs to this side is read by all, and the rest once.
struct parts {
    const struct gemm *gemm;
    const struct block *block; // NULL: all of a packed B
    size_t rows, panels, count;
    bool columns; // lines of rows; else of panels
};

// Into parts that are worth a thread's attention each.
static struct parts cut(const struct gemm *gemm, const struct block *block, size_t terms,
                        const struct parallel *parallel)
{
    const struct float_kernels *kernels = gemm->kernels;
    size_t width = kernels->nr * kernels->lanes, columns = block != NULL ? block->columns : gemm->n;
    struct parts parts = {.gemm = gemm,
                          .block = block,
                          .rows = (gemm->m + kernels->mr - 1) / kernels->mr,
                          .panels = (columns + width - 1) / width,
                          .count = 1,
                          .columns = 2 * gemm->m < columns};
    double work = (double)parts.rows * kernels->mr * (double)parts.panels * (double)(width * (terms + 8));
    size_t most = PARTS_PER_THREAD * (size_t)parallel->threads;
    if (work < (double)most * THREAD_WORK)
        most = (size_t)(work / THREAD_WORK);
    if (parallel->threads > 1 && most > 1)
        parts.count = wnn_min(most, parts.rows * parts.panels);
    return parts;
}

static size_t first_tile(const struct parts *parts, size_t index)
{
    size_t tiles = parts->rows * parts->panels;
    return tiles / parts->count * index + wnn_min(index, tiles % parts->count);
}

// The region that begins with a tile, as numbered along lines: the rest of its line, or whole lines. Moves
// `tile` behind it.
static struct region next_region(const struct parts *parts, size_t *tile, size_t end)
{
    size_t length = parts->columns ? parts->rows : parts->panels;
    size_t line = *tile / length, first = *tile % length, left = end - *tile;
    size_t lines = first > 0 || left < length ? 1 : left / length, last = wnn_min(length, first + left);
    *tile += lines * (last - first);
    return parts->columns ? (struct region){first, last, line, line + lines}
                          : (struct region){line, line + lines, first, last};
}

static void compute_parts(void *argument, size_t begin, size_t end)
{
    const struct parts *parts = argument;
    end = first_tile(parts, end);
    for (size_t tile = first_tile(parts, begin); tile < end;) {
        struct region region = next_region(parts, &tile, end);
        struct ahead nothing = {NULL, NULL};
        compute_region(parts->block, &region, &nothing);
    }
}

// Which panels of a block are among those of a region of C.
static struct region clip(const struct region *region, const struct block *block)
{
    size_t first = block->column / panel_width(block), count = panel_count(block);
    struct region clipped = *region;
    clipped.panel = region->panel > first ? wnn_min(region->panel - first, count) : 0;
    clipped.panel_end = region->panel_end > first ? wnn_min(region->panel_end - first, count) : 0;
    return clipped;
}

static struct ahead panels_of(const struct block *block, const struct region *region)
{
    size_t terms = block->segments * block->length, width = panel_width(block), lanes = block->kernels->lanes;
    struct region clipped = clip(region, block);
    size_t columns = wnn_min(clipped.panel_end * width, (block->columns + lanes - 1) / lanes * lanes);
    return (struct ahead){block->panels + clipped.panel * width * terms, block->panels + columns * terms};
}

// Passes over the terms that are not wanted; false: all of them.
static bool limit_terms(struct block *block)
{
    const struct gemm_range *wanted = &block->gemm->terms;
    if (wanted->end == 0)
        return true;
    size_t begin = wanted->begin > block->k ? wanted->begin : block->k;
    size_t end = wnn_min(wanted->end, block->k + block->packed);
    if (begin >= end)
        return false;
    block->skipped = begin - block->k;
    block->k = begin;
    block->length = end - begin;
    block->first = begin == wanted->begin;
    block->last = end == wanted->end;
    return true;
}

// All terms of some columns. Some rows at a time meet them, lest their sums go to memory and come back for
// each block.
static void compute_packed_columns(const struct gemm *gemm, size_t column, const struct region *region)
{
    struct block block = block_at(gemm, column, 0, PACKED_NC, gemm->packed, true);
    size_t step = 1 + REUSED / (block.columns * block.kernels->mr),
           end = region->panel_end * panel_width(&block);
    for (size_t row = region->row; row < region->row_end; row += step) {
        struct region rows = *region;
        rows.row = row;
        rows.row_end = wnn_min(row + step, region->row_end);
        size_t k = 0;
        for (bool more = true; more && !wnn_interrupted(gemm->interrupt);) {
            block = block_at(gemm, column, k, PACKED_NC, gemm->packed, true);
            struct ahead ahead = {NULL, NULL};
            more = next_terms(&block, &k);
            if (more || column + PACKED_NC < end) {
                struct block next = block_at(gemm, more ? column : column + PACKED_NC, more ? k : 0,
                                             PACKED_NC, gemm->packed, true);
                ahead = panels_of(&next, region);
            }
            struct region clipped = clip(&rows, &block);
            if (limit_terms(&block))
                compute_region(&block, &clipped, &ahead);
        }
    }
}

static void limit_columns(const struct gemm_range *wanted, size_t width, struct region *region)
{
    if (wanted->end == 0)
        return;
    size_t first = wanted->begin / width, end = (wanted->end + width - 1) / width;
    region->panel = region->panel > first ? region->panel : first;
    region->panel_end = wnn_min(region->panel_end, end);
}

static void compute_packed_parts(void *argument, size_t begin, size_t end)
{
    const struct parts *parts = argument;
    size_t width = parts->gemm->kernels->nr * parts->gemm->kernels->lanes;
    end = first_tile(parts, end);
    for (size_t tile = first_tile(parts, begin); tile < end;) {
        struct region region = next_region(parts, &tile, end);
        limit_columns(&parts->gemm->columns, width, &region);
        for (size_t column = region.panel * width / PACKED_NC * PACKED_NC; column < region.panel_end * width;
             column += PACKED_NC)
            compute_packed_columns(parts->gemm, column, &region);
    }
}

// Items are equal numbers of panels, each of which is packed to meet all rows at once.
struct alone {
    const struct gemm *gemm;
    size_t rows, panels, count;
    float *scratch; // room for a panel for each
};

static size_t first_panel(const struct alone *alone, size_t index)
{
    return alone->panels / alone->count * index + wnn_min(index, alone->panels % alone->count);
}

static void compute_alone(void *argument, size_t begin, size_t end)
{
    const struct alone *alone = argument;
    size_t width = alone->gemm->kernels->nr * alone->gemm->kernels->lanes;
    float *room = alone->scratch + begin * width * wnn_min(alone->gemm->k, WNN_GEMM_KC);
    for (size_t panel = first_panel(alone, begin); panel < first_panel(alone, end); panel++) {
        size_t k = 0;
        for (bool more = true; more && !wnn_interrupted(alone->gemm->interrupt);) {
            struct block block = block_at(alone->gemm, panel * width, k, width, room, false);
            struct region region = {0, alone->rows, 0, 1};
            struct ahead nothing = {NULL, NULL};
            pack_panels(&block, 0, 1);
            compute_region(&block, &region, &nothing);
            more = next_terms(&block, &k);
        }
    }
}

// Whether it was worth it: few rows, which are asked for with every panel, so that they and the panel stay in
// the caches.
static bool run_alone(const struct gemm *gemm, const struct parallel *parallel, float *scratch)
{
    struct parts parts = cut(gemm, NULL, gemm->k, parallel);
    size_t most = wnn_min(gemm->n, WNN_GEMM_NC) / (gemm->kernels->nr * gemm->kernels->lanes);
    if (!gemm->in_place || !parts.columns || gemm->m > ALONE_ROWS || parts.count > most)
        return false;
    struct alone alone = {gemm, parts.rows, parts.panels, wnn_min(parts.count, parts.panels), scratch};
    wnn_parallel_for(parallel, alone.count, 1, compute_alone, &alone);
    return true;
}

static void run_parts(const struct parts *parts, const struct parallel *parallel)
{
    wnn_parallel_for(parallel, parts->count, 1, parts->block != NULL ? compute_parts : compute_packed_parts,
                     (void *)(uintptr_t)parts);
}

void wnn_gemm_run(const struct gemm *description, const struct parallel *parallel, float *scratch)
{
    if (description->m == 0 || description->n == 0)
        return;
    struct gemm interruptible = *description, *gemm = &interruptible;
    gemm->interrupt = parallel->interrupt;
    if (gemm->packed != NULL) {
        struct parts parts = cut(gemm, NULL, gemm->k, parallel);
        run_parts(&parts, parallel);
        return;
    }
    if (run_alone(gemm, parallel, scratch))
        return;
    for (size_t column = 0; column < gemm->n; column += WNN_GEMM_NC) {
        size_t k = 0;
        for (bool more = true; more && !wnn_interrupted(gemm->interrupt);) {
            struct block block = block_at(gemm, column, k, WNN_GEMM_NC, scratch, false);
            struct parts parts = cut(gemm, &block, block.segments * block.length, parallel);
            pack_block(&block, parallel);
            run_parts(&parts, parallel);
            more = next_terms(&block, &k);
        }
    }
}

// From the first to the last of both; one that ends at 0 has none.
static struct gemm_range hull(struct gemm_range a, struct gemm_range b)
{
    if (a.end == 0 || b.end == 0)
        return a.end == 0 ? b : a;
    return (struct gemm_range){wnn_min(a.begin, b.begin), a.end > b.end ? a.end : b.end};
}

static bool covers(const struct gemm_range *range, const struct gemm_range *other)
{
    return range->begin <= other->begin && other->end <= range->end;
}

void wnn_gemm_pack_more(const struct gemm *gemm, const struct parallel *parallel, float *packed,
                        struct gemm_range *done)
{
    bool terms = gemm->terms.end > 0;
    struct gemm_range wanted = hull(terms ? gemm->terms : gemm->columns, *done), before = *done;
    if (covers(done, &wanted))
        return;
    for (size_t column = 0; column < gemm->n; column += PACKED_NC) {
        size_t k = 0;
        for (bool more = true; more && !wnn_interrupted(parallel->interrupt);) {
            struct block block = block_at(gemm, column, k, PACKED_NC, packed, true);
            struct gemm_range whole = {terms ? k : column, terms ? k + block.packed : column + block.columns};
            if (whole.begin < wanted.end && whole.end > wanted.begin && !covers(&before, &whole)) {
                pack_block(&block, parallel);
                *done = hull(*done, whole);
            }
            more = next_terms(&block, &k);
        }
    }
}

void wnn_gemm_pack_all(const struct gemm *gemm, const struct parallel *parallel, float *packed)
{
    struct gemm all = *gemm;
    all.terms = (struct gemm_range){0, 0};
    all.columns = (struct gemm_range){0, gemm->n};
    wnn_gemm_pack_more(&all, parallel, packed, &(struct gemm_range){0, 0});
}

size_t wnn_gemm_packed_floats(const struct float_kernels *kernels, size_t n, size_t k)
{
    size_t lanes = kernels->lanes, unit = WNN_ALIGNMENT / sizeof(float);
    return ((n + lanes - 1) / lanes * lanes * k + unit - 1) / unit * unit;
}

size_t wnn_gemm_scratch(size_t n, size_t k)
{
    size_t columns = (wnn_min(n, WNN_GEMM_NC) + WNN_GEMM_MAX_NR - 1) / WNN_GEMM_MAX_NR * WNN_GEMM_MAX_NR;
    return wnn_aligned(columns * wnn_min(k, WNN_GEMM_KC) * sizeof(float));
}

// ---------------------------------------------------------------------------------------------------------------
// float32 copies
// ---------------------------------------------------------------------------------------------------------------

void *wnn_scratch_take(struct scratch *scratch, size_t bytes)
{
    void *memory = scratch->next;
    scratch->next += wnn_aligned(bytes);
    return memory;
}

struct conversion {
    uint16_t *halves;
    float *values;
};

static void widen(void *argument, size_t begin, size_t end)
{
    const struct conversion *conversion = argument;
    wnn_half_to_float_array(conversion->halves + begin, conversion->values + begin, end - begin);
}

static void narrow(void *argument, size_t begin, size_t end)
{
    const struct conversion *conversion = argument;
    wnn_half_from_float_array(conversion->values + begin, conversion->halves + begin, end - begin);
}

#define CONVERSION_GRAIN 16384

const float *wnn_floats_in(const struct kernel_call *call, unsigned index, struct scratch *scratch)
{
    const struct tensor *tensor = &call->in[index];
    if (tensor->data == NULL || tensor->type == WNNDataType_Float32)
        return tensor->data;
    float *values = wnn_scratch_take(scratch, tensor->count * sizeof *values);
    struct conversion conversion = {tensor->data, values};
    wnn_parallel_for(call->parallel, tensor->count, CONVERSION_GRAIN, widen, &conversion);
    return values;
}

void wnn_floats_copy(const struct tensor *tensor, float *to, const struct parallel *parallel)
{
    struct conversion conversion = {tensor->data, to};
    if (tensor->type == WNNDataType_Float32)
        memcpy(to, tensor->data, tensor->count * sizeof *to);
    else
        wnn_parallel_for(parallel, tensor->count, CONVERSION_GRAIN, widen, &conversion);
}

// As for clamp on its own, NaN is no bound.
static float float_bound(WNNNumber number, WNNDataType type, float none)
{
    if (number.type == WNNNumberType_Undefined)
        return none;
    float bound = (float)wnn_number_double(wnn_number_convert(number, type));
    return isnan(bound) ? none : bound;
}

bool wnn_activation_range(const struct node *node, float range[2])
{
    const struct activation activation = wnn_epilogue(node).activation;
    // Bounds are numbers of the type, so that sums may as well be rounded to it when they are within.
    WNNDataType type = node->out[0]->type.type;
    if (!activation.attrs || !wnn_dtype_is_float(type))
        return false;
    if (activation.op == WNN_OP_clamp) {
        const WNNClampOptions *clamp = activation.attrs;
        range[0] = float_bound(clamp->minValue, type, -INFINITY);
        range[1] = float_bound(clamp->maxValue, type, INFINITY);
        return true;
    }
    range[0] = 0;
    range[1] = INFINITY;
    return activation.op == WNN_OP_relu;
}

bool wnn_has_weights(const struct node *node)
{
    return node->in[1]->constant != NULL && node->in[0]->constant == NULL;
}

float *wnn_floats_out(const struct kernel_call *call, unsigned index, struct scratch *scratch)
{
    const struct tensor *tensor = &call->out[index];
    if (tensor->data == NULL || tensor->type == WNNDataType_Float32)
        return tensor->data;
    return wnn_scratch_take(scratch, tensor->count * sizeof(float));
}

void wnn_floats_store(const struct kernel_call *call, unsigned index, const float *values)
{
    const struct tensor *tensor = &call->out[index];
    if (tensor->data == NULL || tensor->type == WNNDataType_Float32)
        return;
    struct conversion conversion = {tensor->data, (float *)values};
    wnn_parallel_for(call->parallel, tensor->count, CONVERSION_GRAIN, narrow, &conversion);
}

size_t wnn_floats_copy_bytes(const struct operand *operand)
{
    if (operand == NULL || operand->type.type != WNNDataType_Float16)
        return 0;
    return wnn_aligned(wnn_shape_elements(&operand->type.shape) * sizeof(float));
}

size_t wnn_floats_scratch_without(const struct node *node, uint32_t inputs)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!(inputs >> i & 1))
            bytes += wnn_floats_copy_bytes(node->in[i]);
    }
    for (unsigned i = 0; i < node->out_count; i++)
        bytes += wnn_floats_copy_bytes(node->out[i]);
    return bytes;
}

size_t wnn_floats_scratch(const struct node *node)
{
    return wnn_floats_scratch_without(node, 0);
}

size_t wnn_floats_scratch_without_weights(const struct node *node)
{
    return wnn_floats_scratch_without(node, 2);
}
