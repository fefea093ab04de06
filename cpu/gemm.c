// SPDX-License-Identifier: Apache-2.0
//
// The product of matrices: blocks of B are packed into panels, and tiles of C are computed from rows of A and
// one panel each. A block of B stays in the second-level cache, the rows of a tile in the first-level cache.

#include "cpu/gemm.h"

#include <math.h>

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void run_serial(const struct parallel *parallel, size_t count,
                       void (*task)(void *argument, size_t index), void *argument)
{
    (void)parallel;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

const struct parallel wnn_serial = {.run = run_serial, .threads = 1};

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

struct block {
    const struct gemm *gemm;
    const struct float_kernels *kernels;
    size_t column, columns;     // of C
    size_t k, segments, length; // terms
    bool first, last;           // of the terms
    float *panels;              // one behind the other; a last one of half as many columns is half as wide
    size_t panel_count, groups; // groups of panels that share an item of the tile loop
};

static unsigned panel_width(const struct block *block)
{
    return 2 * block->kernels->lanes;
}

static void pack_panels(void *argument, size_t begin, size_t end)
{
    const struct block *block = argument;
    unsigned width = panel_width(block), half = block->kernels->lanes;
    size_t terms = block->segments * block->length;

    for (size_t i = begin; i < end; i++) {
        size_t column = i * width;
        unsigned columns = (unsigned)smaller(width, block->columns - column);
        block->gemm->panel(block->gemm, block->k, terms, block->column + column, columns,
                           block->panels + column * terms, columns > half ? width : half);
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

// Items are groups of panels of one row of tiles.
static void compute_tiles(void *argument, size_t begin, size_t end)
{
    const struct block *block = argument;
    const struct gemm *gemm = block->gemm;
    const struct float_kernels *kernels = block->kernels;
    unsigned mr = kernels->mr, width = panel_width(block);
    size_t terms = block->segments * block->length;
    const float *pointers[WNN_GEMM_MAX_SEGMENTS * WNN_GEMM_MAX_MR];
    float buffer[WNN_GEMM_MAX_MR * WNN_GEMM_KC];
    float tile[WNN_GEMM_MAX_MR * WNN_GEMM_MAX_NR];
    bool whole = gemm->scatter == NULL && !(block->last && gemm->finish != NULL);
    size_t known = SIZE_MAX;
    unsigned rows = 0, height = 0;

    for (size_t item = begin; item < end; item++) {
        size_t row = item / block->groups * mr, group = item % block->groups;
        if (row != known) {
            known = row;
            rows = (unsigned)smaller(mr, gemm->m - row);
            height = rows;
            while (kernels->tile[0][height] == NULL)
                height++;
            if (terms > 0)
                gemm->rows(gemm, row, rows, block->k, block->segments, block->length, mr, pointers, buffer);
            for (size_t s = 0; s < block->segments; s++) {
                for (unsigned r = rows; r < height; r++)
                    pointers[s * mr + r] = pointers[s * mr];
            }
        }
        size_t panel = block->panel_count * group / block->groups;
        size_t panel_end = block->panel_count * (group + 1) / block->groups;
        for (; panel < panel_end; panel++) {
            size_t column = panel * width;
            unsigned columns = (unsigned)smaller(width, block->columns - column);
            unsigned vectors = columns > kernels->lanes ? 2 : 1;
            wnn_tile_kernel kernel = kernels->tile[vectors - 1][height];
            const float *b = block->panels + column * terms;
            if (whole && rows == height && columns == vectors * kernels->lanes) {
                const float *start =
                    block->first && gemm->start != NULL ? gemm->start + block->column + column : NULL;
                kernel(pointers, block->segments, block->length, b, vectors * kernels->lanes, start,
                       gemm->c + row * gemm->row_stride + block->column + column, gemm->row_stride,
                       !block->first, block->last ? gemm->range : NULL);
            } else {
                kernel(pointers, block->segments, block->length, b, vectors * kernels->lanes, NULL, tile,
                       width, false, NULL);
                store_tile(block, tile, row, rows, block->column + column, columns);
            }
        }
    }
}

// How many terms the block that starts with term k has.
static void cut_terms(const struct gemm *gemm, struct block *block)
{
    size_t unit = gemm->unit;
    if (unit < WNN_GEMM_KC && unit < gemm->k) {
        block->segments = smaller(WNN_GEMM_KC / unit, (gemm->k - block->k) / unit);
        block->length = unit;
    } else {
        size_t pieces = (unit + WNN_GEMM_KC - 1) / WNN_GEMM_KC;
        block->segments = gemm->k > 0;
        block->length = gemm->k > 0 ? smaller((unit + pieces - 1) / pieces, unit - block->k % unit) : 0;
    }
}

// The blocks of B in the order of their panels: the first, and the next, false behind the last.
static struct block first_block(const struct gemm *gemm, float *panels)
{
    struct block block = {.gemm = gemm, .kernels = wnn_float_kernels(), .panels = panels, .first = true};
    unsigned width = panel_width(&block);
    block.columns = smaller(WNN_GEMM_NC, gemm->n);
    block.panel_count = (block.columns + width - 1) / width;
    cut_terms(gemm, &block);
    block.last = block.segments * block.length == gemm->k;
    return block;
}

static size_t block_floats(const struct block *block)
{
    size_t lanes = block->kernels->lanes;
    return (block->columns + lanes - 1) / lanes * lanes * block->segments * block->length;
}

static bool next_block(struct block *block)
{
    const struct gemm *gemm = block->gemm;
    unsigned width = panel_width(block);
    block->k += block->segments * block->length;
    block->first = block->k == gemm->k;
    if (block->first) {
        block->k = 0;
        block->column += block->columns;
        block->columns = smaller(WNN_GEMM_NC, gemm->n - block->column);
        block->panel_count = (block->columns + width - 1) / width;
    }
    cut_terms(gemm, block);
    block->last = block->k + block->segments * block->length == gemm->k;
    return block->columns > 0;
}

static void pack_block(const struct block *block, const struct parallel *parallel)
{
    size_t terms = block->segments * block->length;
    if (terms > 0)
        wnn_parallel_for(parallel, block->panel_count, 1 + 16384 / (terms * panel_width(block)), pack_panels,
                         (void *)block);
}

void wnn_gemm_run(const struct gemm *gemm, const struct parallel *parallel, float *scratch)
{
    if (gemm->m == 0 || gemm->n == 0)
        return;

    struct block block = first_block(gemm, gemm->packed != NULL ? (float *)gemm->packed : scratch);
    unsigned mr = block.kernels->mr;
    size_t row_count = (gemm->m + mr - 1) / mr;
    do {
        size_t terms = block.segments * block.length;
        block.groups =
            smaller(block.panel_count, (4 * (size_t)parallel->threads + row_count - 1) / row_count);
        if (parallel->threads == 1)
            block.groups = 1;
        if (gemm->packed == NULL)
            pack_block(&block, parallel);
        size_t item_work = (terms + 8) * mr * (block.columns / block.groups + 1);
        wnn_parallel_for(parallel, row_count * block.groups, 1 + 65536 / item_work, compute_tiles, &block);
        if (gemm->packed != NULL)
            block.panels += block_floats(&block);
    } while (next_block(&block));
}

void wnn_gemm_pack_all(const struct gemm *gemm, const struct parallel *parallel, float *packed)
{
    if (gemm->n == 0)
        return;
    struct block block = first_block(gemm, packed);
    do {
        pack_block(&block, parallel);
        block.panels += block_floats(&block);
    } while (next_block(&block));
}

size_t wnn_gemm_packed_floats(size_t n, size_t k)
{
    size_t lanes = wnn_float_kernels()->lanes, unit = WNN_ALIGNMENT / sizeof(float);
    return ((n + lanes - 1) / lanes * lanes * k + unit - 1) / unit * unit;
}

size_t wnn_gemm_scratch(size_t n, size_t k)
{
    size_t columns = (smaller(n, WNN_GEMM_NC) + WNN_GEMM_MAX_NR - 1) / WNN_GEMM_MAX_NR * WNN_GEMM_MAX_NR;
    return wnn_scratch_round(columns * smaller(k, WNN_GEMM_KC) * sizeof(float));
}

// ---------------------------------------------------------------------------------------------------------------
// float32 copies
// ---------------------------------------------------------------------------------------------------------------

size_t wnn_scratch_round(size_t bytes)
{
    return (bytes + WNN_ALIGNMENT - 1) / WNN_ALIGNMENT * WNN_ALIGNMENT;
}

void *wnn_scratch_take(struct scratch *scratch, size_t bytes)
{
    void *memory = scratch->next;
    scratch->next += wnn_scratch_round(bytes);
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
static float float_bound(WNNNumber number, float none)
{
    if (number.type == WNNNumberType_Undefined)
        return none;
    float bound = (float)wnn_number_double(wnn_number_convert(number, WNNDataType_Float32));
    return isnan(bound) ? none : bound;
}

bool wnn_activation_range(const struct node *node, float range[2])
{
    const struct activation *activation = node->activation;
    if (activation == NULL || node->out[0]->type.type != WNNDataType_Float32)
        return false;
    if (activation->op == WNN_OP_clamp) {
        const WNNClampOptions *clamp = activation->attrs;
        range[0] = float_bound(clamp->minValue, -INFINITY);
        range[1] = float_bound(clamp->maxValue, INFINITY);
        return true;
    }
    range[0] = 0;
    range[1] = INFINITY;
    return activation->op == WNN_OP_relu;
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

static size_t copy_bytes(const struct operand *operand)
{
    if (operand == NULL || operand->type.type != WNNDataType_Float16)
        return 0;
    return wnn_scratch_round(wnn_shape_elements(&operand->type.shape) * sizeof(float));
}

size_t wnn_floats_scratch(const struct node *node)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < node->in_count; i++)
        bytes += copy_bytes(node->in[i]);
    for (unsigned i = 0; i < node->out_count; i++)
        bytes += copy_bytes(node->out[i]);
    return bytes;
}

size_t wnn_floats_scratch_without_weights(const struct node *node)
{
    return wnn_floats_scratch(node) - copy_bytes(node->in[1]);
}
