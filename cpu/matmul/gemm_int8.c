// SPDX-License-Identifier: Apache-2.0
//
// The product of matrices of 8-bit integers: B is packed once, with everything that is done to a column;
// tiles of C are computed from rows of A and one panel of B each, over all terms at once. And gemm and matmul
// on it.

#include "cpu/matmul/int8.h"

#include "cpu/matmul/gemm.h"
#include "cpu/matmul/int8_tiles.h"
#include "cpu/simd/isa.h"
#include "ops/geometry.h"

#include <math.h>

// More terms could overflow 32 bits: differences of bytes are at most 255.
#define MAX_TERMS 33000

// Bytes of B that stay in the second-level cache while rows of A go by.
#define BLOCK_BYTES (512u * 1024)

// ---------------------------------------------------------------------------------------------------------------
// From nodes
// ---------------------------------------------------------------------------------------------------------------

static double constant_value(const struct operand *operand, size_t index)
{
    return wnn_number_double(wnn_number_load(operand->type.type, operand->constant->data, index));
}

static bool is_byte(const struct operand *operand)
{
    return operand->type.type == WNNDataType_Int8 || operand->type.type == WNNDataType_Uint8;
}

static bool has_one_scale(const struct node *node, unsigned at)
{
    return wnn_shape_elements(&node->in[at]->type.shape) == 1;
}

// One scale for all weights, or one for each column; one zero point.
static bool weights_fit(const struct node *node, const struct int8_layer *layer)
{
    const struct operand *scale = node->in[wnn_prologue_scale(node, 1)],
                         *zero = node->in[wnn_prologue_scale(node, 1) + 1];
    size_t count = wnn_shape_elements(&scale->type.shape);
    if (count != 1 &&
        (count != layer->columns || scale->type.shape.dim[layer->column_axis] != layer->columns))
        return false;
    for (size_t i = 1; i < count; i++)
        if (constant_value(zero, i) != constant_value(zero, 0))
            return false;
    return true;
}

// The range that an activation moves its operand into. False: it is something else.
static bool activation_range(struct activation activation, double range[2])
{
    range[0] = -INFINITY;
    range[1] = INFINITY;
    if (!activation.attrs)
        return true;
    if (activation.op == WNN_OP_relu) {
        range[0] = 0;
        return true;
    }
    if (activation.op != WNN_OP_clamp)
        return false;
    const WNNClampOptions *clamp = activation.attrs;
    const WNNNumber bounds[2] = {clamp->minValue, clamp->maxValue};
    for (unsigned i = 0; i < 2; i++)
        if (bounds[i].type != WNNNumberType_Undefined && !isnan(wnn_number_double(bounds[i])))
            range[i] = wnn_number_double(bounds[i]);
    return true;
}

struct int8_scales wnn_int8_scales(const struct node *node, const struct int8_layer *layer)
{
    unsigned in = wnn_prologue_scale(node, 0), out = wnn_epilogue(node).scale;
    struct int8_scales scales = {.weights = node->in[wnn_prologue_scale(node, 1)],
                                 .bias = layer->bias,
                                 .product = layer->alpha * constant_value(node->in[in], 0),
                                 .beta = layer->beta,
                                 .out = 1};
    scales.weight_step = wnn_shape_elements(&scales.weights->type.shape) > 1;
    scales.bias_step = layer->bias && wnn_shape_elements(&layer->bias->type.shape) > 1;
    if (out)
        scales.out = constant_value(node->in[out], 0);
    return scales;
}

static double scale_of(const struct int8_scales *scales, size_t column)
{
    return scales->product * constant_value(scales->weights, column * scales->weight_step) / scales->out;
}

static double offset_of(const struct int8_scales *scales, size_t column)
{
    return scales->bias
               ? scales->beta * constant_value(scales->bias, column * scales->bias_step) / scales->out
               : 0;
}

void wnn_int8_scale(const struct int8_scales *scales, size_t column, float *scale, float *offset)
{
    *scale = (float)scale_of(scales, column);
    *offset = (float)offset_of(scales, column);
}

bool wnn_int8_accepts(const struct node *node, const struct int8_layer *layer)
{
    double range[2];
    const struct epilogue epilogue = wnn_epilogue(node);
    unsigned in = wnn_prologue_scale(node, 0);
    if (!in || !wnn_prologue_scale(node, 1) || wnn_fused(node, 2) || !node->in[1]->constant ||
        !is_byte(node->in[0]) || !is_byte(node->in[1]) || !has_one_scale(node, in) ||
        !weights_fit(node, layer) || layer->terms > MAX_TERMS)
        return false;
    if (layer->bias && !wnn_constant_has_bytes(layer->bias->constant))
        return false;
    if (epilogue.scale ? !is_byte(node->out[0]) || !has_one_scale(node, epilogue.scale) ||
                             !activation_range(epilogue.activation, range)
                       : node->out[0]->type.type != WNNDataType_Float32)
        return false;
    struct int8_scales scales = wnn_int8_scales(node, layer);
    for (size_t i = 0; i < layer->columns; i++) {
        double scale = scale_of(&scales, i), offset = offset_of(&scales, i);
        if (!(fabs(scale) < 0x1p90) || !(fabs(offset) < 0x1p120) || (scale != 0 && fabs(scale) < 0x1p-120))
            return false;
    }
    return true;
}

static int32_t zero_point(const struct node *node, unsigned scale)
{
    return (int32_t)constant_value(node->in[scale + 1], 0);
}

static bool computes_zero(const struct node *node)
{
    return !node->in[wnn_prologue_scale(node, 0) + 1]->constant;
}

// A bound, as quantizeLinear makes an integer of it.
static float quantized_bound(double bound, float scale, int32_t zero, float low, float high)
{
    float steps = nearbyintf((float)bound / scale) + (float)zero;
    return (steps < low ? low : steps > high ? high : steps) - (float)zero;
}

struct int8_numbers wnn_int8_read(const struct node *node)
{
    struct int8_numbers numbers = {.a_type = node->in[0]->type.type,
                                   .b_type = node->in[1]->type.type,
                                   .computes_zero = computes_zero(node),
                                   .b_zero = zero_point(node, wnn_prologue_scale(node, 1))};
    numbers.a_zero = numbers.computes_zero ? 1 : zero_point(node, wnn_prologue_scale(node, 0));
    const struct epilogue epilogue = wnn_epilogue(node);
    double range[2];
    if (!activation_range(epilogue.activation, range))
        range[0] = -INFINITY, range[1] = INFINITY;
    numbers.finish.low = (float)range[0];
    numbers.finish.high = (float)range[1];
    if (!epilogue.scale)
        return numbers;
    float scale = (float)constant_value(node->in[epilogue.scale], 0);
    int32_t zero = zero_point(node, epilogue.scale);
    float low = node->out[0]->type.type == WNNDataType_Int8 ? INT8_MIN : 0;
    numbers.finish.low = quantized_bound(range[0], scale, zero, low, low + 255);
    numbers.finish.high = quantized_bound(range[1], scale, zero, low, low + 255);
    numbers.finish.bytes = true;
    numbers.finish.is_signed = low < 0;
    numbers.finish.zero = zero;
    return numbers;
}

struct int8_numbers wnn_int8_read_run(const struct kernel_call *call)
{
    struct int8_numbers numbers = wnn_int8_read(call->node);
    const void *zero = call->in[wnn_prologue_scale(call->node, 0) + 1].data;
    if (numbers.computes_zero)
        numbers.a_zero = numbers.a_type == WNNDataType_Int8 ? *(const int8_t *)zero : *(const uint8_t *)zero;
    return numbers;
}

bool wnn_int8_activates(const struct node *node)
{
    double range[2];
    return activation_range(wnn_epilogue(node).activation, range);
}

// ---------------------------------------------------------------------------------------------------------------
// Packing: what happens to columns, then the panels. The last panel of half as many columns is half as wide.
// ---------------------------------------------------------------------------------------------------------------

static size_t padded_columns(const struct int8_kernels *kernels, size_t n)
{
    return wnn_round_up(n, kernels->lanes);
}

size_t wnn_int8_gemm_packed_bytes(const struct int8_kernels *kernels, size_t n, size_t k, size_t unit)
{
    size_t columns = padded_columns(kernels, n);
    return wnn_aligned(columns * 3 * sizeof(int32_t) +
                       columns * wnn_int8_group_count(kernels, k, unit) * sizeof(int32_t));
}

// The numbers of a product as tiles take them: what is added to every b, and the zero points then.
struct form {
    bool a_signed;
    int32_t change, a_zero, b_zero;
};

static struct form form_of(const struct int8_gemm *gemm)
{
    const struct int8_numbers *numbers = &gemm->numbers;
    struct form form = {.a_signed = numbers->a_type == WNNDataType_Int8,
                        .a_zero = numbers->a_zero,
                        .b_zero = numbers->b_zero};
    if (gemm->kernels->size == 2) { // the zero points are gone by then
        form.a_signed = false;
        form.change = -numbers->b_zero;
        form.a_zero = form.b_zero = 0;
        return form;
    }
    bool b_signed = numbers->b_type == WNNDataType_Int8;
    if (b_signed == form.a_signed)
        form.change = b_signed ? 128 : -128;
    form.b_zero += form.change;
    return form;
}

struct packing {
    const struct int8_gemm *gemm;
    char *packed;
};

#define PIECE 256 // terms that are read at a time, so that columns side by side meet in the first-level cache

// `count` terms of a column, as tiles take them, to every `stride`th group from `to` on. Returns their sum,
// where it is needed.
static uint32_t pack_column(const struct int8_gemm *gemm, const struct form *form, const uint8_t *weights,
                            size_t count, char *to, size_t stride)
{
    const struct int8_kernels *kernels = gemm->kernels;
    bool b_signed = gemm->numbers.b_type == WNNDataType_Int8;
    uint8_t bytes[PIECE] = {0};
    int16_t wide[PIECE] = {0};
    const char *from = kernels->size == 2 ? (const char *)wide : (const char *)bytes;
    size_t groups = (count + wnn_int8_group_terms(kernels) - 1) / wnn_int8_group_terms(kernels);
    if (kernels->size == 1) {
        for (size_t i = 0; i < count; i++)
            bytes[i] = (uint8_t)(weights[i] + form->change);
    } else if (b_signed) {
        for (size_t i = 0; i < count; i++)
            wide[i] = (int16_t)((int8_t)weights[i] + form->change);
    } else {
        for (size_t i = 0; i < count; i++)
            wide[i] = (int16_t)(weights[i] + form->change);
    }
    for (size_t i = 0; i < groups; i++)
        memcpy(to + 4 * i * stride, from + 4 * i, 4);
    uint32_t sum = 0;
    for (size_t i = 0; kernels->size == 1 && i < count; i++)
        sum += form->a_signed ? bytes[i] : (uint32_t)(int8_t)bytes[i];
    return sum;
}

// Items are panels.
static void pack_panels(void *argument, size_t begin, size_t end)
{
    const struct packing *packing = argument;
    const struct int8_gemm *gemm = packing->gemm;
    const struct int8_kernels *kernels = gemm->kernels;
    struct form form = form_of(gemm);
    size_t terms = wnn_int8_group_terms(kernels),
           groups = wnn_int8_group_count(kernels, gemm->unit, gemm->unit);
    size_t columns = padded_columns(kernels, gemm->n), whole = 2 * kernels->lanes;
    int32_t *start = (int32_t *)(void *)packing->packed;
    float *scale = (float *)(start + columns), *offset = scale + columns;
    char *panels = (char *)(offset + columns);

    for (size_t panel = begin; panel < end; panel++) {
        size_t first = panel * whole, width = wnn_min(whole, columns - first);
        size_t count = wnn_min(width, gemm->n - first), place[WNN_INT8_MAX_NR];
        char *to = panels + 4 * first * wnn_int8_group_count(kernels, gemm->k, gemm->unit);
        uint8_t weights[PIECE];
        uint32_t sum[WNN_INT8_MAX_NR] = {0};
        for (size_t i = 0; i < width; i++)
            place[i] = kernels->ordered && width == whole ? wnn_int8_column_order(i) : i;
        if (count < width)
            memset(to, 0, 4 * width * wnn_int8_group_count(kernels, gemm->k, gemm->unit));
        for (size_t piece = 0; piece < gemm->k; piece += gemm->unit, to += 4 * width * groups)
            for (size_t i = 0, length; i < gemm->unit; i += length) {
                length = wnn_min(PIECE, gemm->unit - i);
                for (size_t j = 0; j < count; j++) {
                    gemm->weights(gemm, piece + i, length, first + j, weights);
                    sum[j] += pack_column(gemm, &form, weights, length,
                                          to + 4 * (i / terms * width + place[j]), width);
                }
            }
        for (size_t i = 0; i < width; i++) {
            size_t at = first + place[i];
            start[at] = (int32_t)((uint32_t)gemm->k * (uint32_t)(form.a_zero * form.b_zero) -
                                  (uint32_t)form.a_zero * sum[i]);
            scale[at] = offset[at] = 0;
            if (i < count)
                gemm->scale(gemm, first + i, &scale[at], &offset[at]);
        }
    }
}

void wnn_int8_gemm_pack(const struct int8_gemm *gemm, const struct parallel *parallel, char *packed)
{
    struct packing packing = {gemm, packed};
    size_t width = 2 * gemm->kernels->lanes;
    wnn_parallel_for(parallel, (gemm->n + width - 1) / width, 1 + 1024 / gemm->k, pack_panels, &packing);
}

// ---------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------

struct block {
    const struct int8_gemm *gemm;
    struct form form;
    const struct int8_tile_loops *tiles; // NULL: vectors
    struct int8_tile_steps steps;        // of them
    unsigned mr;                         // rows of an item
    size_t pieces, in_piece;             // of a row of A; groups of a piece
    size_t column, columns, padded;      // of C
    size_t groups;                       // of panels, that share an item
    size_t items, chunks;
    const int32_t *start; // what the sums of all columns begin with
    char *scratch;
    size_t scratch_bytes; // of one chunk
};

// Memory of one chunk: pointers to the pieces of rows, copies of rows, and of one row before it is widened.
// For tiles, all that for several times kernels->mr rows, where their steps lie, and copies of steps.
struct room {
    const void **pointers;
    char *rows;
    uint8_t *bytes;
    struct int8_tile_rows *steps;
    char *copies;
};

static size_t row_bytes(const struct int8_kernels *kernels, size_t k, size_t unit)
{
    return 4 * wnn_int8_group_count(kernels, k, unit);
}

static unsigned rows_of_item(const struct int8_gemm *gemm)
{
    return wnn_int8_worth_tiles(gemm) ? WNN_INT8_TILE_ROWS : gemm->kernels->mr;
}

// Bytes of each part.
struct room_sizes {
    size_t pointers, rows, bytes, steps, copies;
};

static struct room_sizes measure_room(const struct int8_gemm *gemm)
{
    size_t bytes = row_bytes(gemm->kernels, gemm->k, gemm->unit), rows = rows_of_item(gemm);
    struct room_sizes sizes = {.pointers = gemm->k / gemm->unit * rows * sizeof(void *),
                               .rows = !gemm->in_place || gemm->copies ? rows * bytes : 0,
                               .bytes = gemm->in_place ? 0 : bytes};
    if (wnn_int8_worth_tiles(gemm)) {
        const struct int8_tile_steps steps = wnn_int8_tile_steps(gemm);
        sizes.steps = 2 * steps.count * sizeof(struct int8_tile_rows);
        sizes.copies = steps.copied * WNN_INT8_TILE_ROWS * WNN_TILE_BYTES;
    }
    return sizes;
}

static size_t room_bytes(const struct int8_gemm *gemm)
{
    const struct room_sizes sizes = measure_room(gemm);
    return wnn_aligned(sizes.pointers) + wnn_aligned(sizes.rows) + wnn_aligned(sizes.bytes) +
           wnn_aligned(sizes.steps) + wnn_aligned(sizes.copies);
}

static struct room room_of(const struct int8_gemm *gemm, char *memory)
{
    const struct room_sizes sizes = measure_room(gemm);
    struct scratch scratch = {memory};
    struct room room;
    room.pointers = wnn_scratch_take(&scratch, sizes.pointers);
    room.rows = wnn_scratch_take(&scratch, sizes.rows);
    room.bytes = wnn_scratch_take(&scratch, sizes.bytes);
    room.steps = wnn_scratch_take(&scratch, sizes.steps);
    room.copies = wnn_scratch_take(&scratch, sizes.copies);
    return room;
}

static void widen(const struct int8_numbers *numbers, const uint8_t *from, size_t count, int16_t *to)
{
    if (numbers->a_type == WNNDataType_Int8) {
        for (size_t i = 0; i < count; i++)
            to[i] = (int16_t)((int8_t)from[i] - numbers->a_zero);
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = (int16_t)(from[i] - numbers->a_zero);
    }
}

// Points at `count` rows, those up to `height` at the first again, and sums them up where that is needed.
WNN_INLINE void load_rows(const struct block *block, size_t row, unsigned count, unsigned height,
                          const struct room *room, int32_t *row_start)
{
    const struct int8_gemm *gemm = block->gemm;
    const struct int8_kernels *kernels = gemm->kernels;
    const size_t pieces = block->pieces;
    if (gemm->in_place) {
        gemm->find(gemm, row, count, room->pointers, (uint8_t *)room->rows);
    } else {
        size_t bytes = row_bytes(kernels, gemm->k, gemm->unit);
        for (unsigned r = 0; r < count; r++) {
            uint8_t *to = (uint8_t *)room->rows + r * bytes;
            room->pointers[r] = to;
            gemm->copy(gemm, row + r, kernels->size == 1 ? to : room->bytes);
            if (kernels->size == 2)
                widen(&gemm->numbers, room->bytes, gemm->k, (int16_t *)(void *)to);
            memset(to + gemm->k * kernels->size, 0, bytes - gemm->k * kernels->size);
        }
    }
    for (size_t s = 0; s < pieces && count < height; s++)
        for (unsigned r = count; r < height; r++)
            room->pointers[s * kernels->mr + r] = room->pointers[s * kernels->mr];
    for (unsigned r = 0; r < count && block->form.b_zero != 0; r++) {
        uint32_t sum = 0;
        for (size_t s = 0; s < pieces; s++)
            sum +=
                (uint32_t)kernels->sum(room->pointers[s * kernels->mr + r], gemm->unit, block->form.a_signed);
        row_start[r] = (int32_t)(0u - sum * (uint32_t)block->form.b_zero);
    }
}

// Pointers to the pieces of some rows are as far apart as those of parts of kernels->mr rows.
static struct room part_of(const struct int8_gemm *gemm, const struct room *room, unsigned row)
{
    struct room part = *room;
    part.pointers += row * (gemm->k / gemm->unit);
    if (!gemm->in_place || gemm->copies)
        part.rows += row * row_bytes(gemm->kernels, gemm->k, gemm->unit);
    return part;
}

static void load_tile_rows(const struct block *block, size_t row, unsigned count, const struct room *room,
                           int32_t *row_start)
{
    unsigned mr = block->gemm->kernels->mr;
    for (unsigned first = 0, some; first < count; first += some) {
        struct room part = part_of(block->gemm, room, first);
        some = (unsigned)wnn_min(mr, count - first);
        load_rows(block, row + first, some, some, &part, row_start + first);
    }
    wnn_int8_tile_find(block->gemm, &block->steps, room->pointers, count, room->copies, room->steps);
}

static void store(const struct int8_gemm *gemm, const char *tile, size_t tile_row, size_t row, unsigned rows,
                  size_t column, unsigned columns)
{
    size_t size = gemm->numbers.finish.bytes ? 1 : sizeof(float);
    for (unsigned r = 0; r < rows; r++) {
        size_t place = gemm->place ? gemm->place(gemm, row + r) : (row + r) * gemm->row_stride;
        char *to = gemm->c + (place + column * gemm->column_stride) * size;
        const char *from = tile + r * tile_row;
        if (gemm->column_stride == 1) {
            memcpy(to, from, columns * size);
        } else {
            for (unsigned j = 0; j < columns; j++)
                memcpy(to + j * gemm->column_stride * size, from + j * size, size);
        }
    }
}

// A row of tiles.
struct tile_row {
    size_t row;
    unsigned rows, height; // those that there are, those of the loop
    bool direct;           // results can go to their place
    const struct room *room;
    const int32_t *starts;
    struct tile_file *file;
};

// One tile, and where its results go: to their place, or, if that is not `whole`, to memory of its own first.
struct tile {
    size_t column;
    unsigned columns, vectors;
    bool whole;
    const char *b;
    struct int8_finish finish;
    char *c;
    size_t ldc;
};

// Moves `tile`, whose `finish` is that of the product, to a column.
WNN_INLINE void move_tile(const struct block *block, const struct tile_row *row, size_t column, char *memory,
                          struct tile *tile)
{
    const struct int8_gemm *gemm = block->gemm;
    unsigned lanes = gemm->kernels->lanes;
    size_t size = gemm->numbers.finish.bytes ? 1 : sizeof(float);
    size_t all = block->padded;
    const float *scale = (const float *)(const void *)gemm->packed + all;
    tile->column = column;
    tile->columns = (unsigned)wnn_min(2 * lanes, gemm->n - column);
    tile->vectors = tile->columns > lanes ? 2 : 1;
    tile->whole = row->direct && tile->columns == tile->vectors * lanes;
    tile->b = gemm->packed + 4 * (3 * all + column * block->steps.groups);
    tile->finish.start = block->start + column;
    tile->finish.scale = scale + column;
    tile->finish.offset = scale + all + column;
    tile->c = tile->whole ? gemm->c + (row->row * gemm->row_stride + column) * size : memory;
    tile->ldc = (tile->whole ? gemm->row_stride : 2 * lanes) * size;
}

// Panels [begin, end) of the block.
static void compute_tiles(const struct block *block, const struct tile_row *row, size_t begin, size_t end)
{
    const struct int8_gemm *gemm = block->gemm;
    const struct int8_kernels *kernels = gemm->kernels;
    _Alignas(64) char memory[WNN_INT8_MAX_MR * WNN_INT8_MAX_NR * sizeof(float)];
    struct tile tile = {.finish = gemm->numbers.finish};
    for (; begin < end; begin++) {
        move_tile(block, row, block->column + begin * 2 * kernels->lanes, memory, &tile);
        kernels->tile[block->form.a_signed][tile.vectors - 1][row->height](
            row->room->pointers, block->pieces, block->in_piece, tile.b, row->starts, &tile.finish, tile.c,
            tile.ldc);
        if (!tile.whole)
            store(gemm, memory, tile.ldc, row->row, row->rows, tile.column, tile.columns);
    }
}

// A tile whose sums become results while those of the next one are made.
struct unfinished {
    const struct block *block;
    const struct tile_row *row;
    struct tile tile;
    const int32_t (*sums)[WNN_INT8_MAX_NR];
    unsigned done; // rows
};

static void finish_rows(void *argument)
{
    struct unfinished *it = argument;
    const struct int8_gemm *gemm = it->block->gemm;
    unsigned done = it->done, rows = (unsigned)wnn_min(gemm->kernels->mr, it->row->rows - done);
    if (rows == 0)
        return;
    char *c = it->tile.c + done * it->tile.ldc;
    gemm->kernels->finish[it->tile.vectors - 1](it->sums + done, rows, it->row->starts + done,
                                                &it->tile.finish, c, it->tile.ldc);
    if (!it->tile.whole)
        store(gemm, c, it->tile.ldc, it->row->row + done, rows, it->tile.column, it->tile.columns);
    it->done += rows;
}

static void finish_rest(struct unfinished *it)
{
    while (it->done < it->row->rows)
        finish_rows(it);
}

// The same on tiles of the processor.
static void compute_on_tiles(const struct block *block, const struct tile_row *row, size_t begin, size_t end)
{
    _Alignas(64) int32_t sums[2][WNN_INT8_TILE_ROWS][WNN_INT8_TILE_COLUMNS];
    _Alignas(64) char memory[WNN_INT8_TILE_ROWS * WNN_INT8_MAX_NR * sizeof(float)];
    struct unfinished before = {.block = block, .row = row, .done = row->rows};
    struct tile tile = {.finish = block->gemm->numbers.finish};
    for (unsigned turn = 0; begin < end; begin++, turn ^= 1) {
        move_tile(block, row, block->column + begin * WNN_INT8_TILE_COLUMNS, memory, &tile);
        const struct int8_tile_product product = {.rows = row->room->steps,
                                                  .steps = block->steps.count,
                                                  .groups = block->steps.groups,
                                                  .b = tile.b,
                                                  .vectors = tile.vectors,
                                                  .a_signed = block->form.a_signed,
                                                  .meanwhile = finish_rows,
                                                  .argument = &before};
        block->tiles->multiply(row->file, &product, sums[turn]);
        finish_rest(&before);
        before.tile = tile;
        before.sums = (const int32_t(*)[WNN_INT8_MAX_NR])sums[turn];
        before.done = 0;
    }
    finish_rest(&before);
}

// Points at the rows of an item.
static void load_item(const struct block *block, struct tile_row *row, int32_t *starts)
{
    const struct int8_kernels *kernels = block->gemm->kernels;
    row->starts = starts;
    row->height = row->rows;
    if (block->tiles) {
        load_tile_rows(block, row->row, row->rows, row->room, starts);
        block->tiles->configure(row->file, row->rows, (unsigned)block->steps.in_step);
        return;
    }
    while (kernels->tile[0][0][row->height] == NULL)
        row->height++;
    load_rows(block, row->row, row->rows, row->height, row->room, starts);
}

// Items are groups of panels of one row of tiles.
static void compute_items(const struct block *block, size_t begin, size_t end, const struct room *room,
                          struct tile_file *file)
{
    const struct int8_gemm *gemm = block->gemm;
    size_t width = 2 * gemm->kernels->lanes, panels = (block->columns + width - 1) / width;
    size_t group = begin % block->groups;
    struct tile_row row = {.row = begin / block->groups * block->mr, .room = room, .file = file};
    int32_t starts[WNN_INT8_TILE_ROWS] = {0}; // those of all rows are set, or none

    for (size_t item = begin; item < end; row.row += block->mr, group = 0) {
        if (wnn_interrupted(gemm->interrupt))
            return;
        row.rows = (unsigned)wnn_min(block->mr, gemm->m - row.row);
        load_item(block, &row, starts);
        row.direct = gemm->place == NULL && gemm->column_stride == 1 && row.rows == row.height;
        size_t last = wnn_min(block->groups, group + (end - item));
        (block->tiles ? compute_on_tiles : compute_tiles)(block, &row, panels * group / block->groups,
                                                          panels * last / block->groups);
        item += last - group;
    }
}

static void compute_chunks(void *argument, size_t begin, size_t end)
{
    const struct block *block = argument;
    struct tile_file file;
    file.config.palette = 0;
    for (size_t chunk = begin; chunk < end; chunk++) {
        struct room room = room_of(block->gemm, block->scratch + chunk * block->scratch_bytes);
        compute_items(block, block->items * chunk / block->chunks, block->items * (chunk + 1) / block->chunks,
                      &room, &file);
    }
    if (block->tiles)
        block->tiles->release(&file);
}

static size_t max_chunks(unsigned threads)
{
    return threads == 1 ? 1 : 4 * (size_t)threads;
}

static size_t start_bytes(const struct int8_gemm *gemm)
{
    size_t columns = padded_columns(gemm->kernels, gemm->n);
    return gemm->numbers.computes_zero ? wnn_aligned(columns * sizeof(int32_t)) : 0;
}

size_t wnn_int8_gemm_scratch(const struct int8_gemm *gemm, unsigned threads)
{
    return start_bytes(gemm) + max_chunks(threads) * room_bytes(gemm);
}

// What sums begin with, in `memory` unless it is what is packed.
static const int32_t *find_start(const struct int8_gemm *gemm, int32_t *memory)
{
    const int32_t *packed = (const int32_t *)(const void *)gemm->packed;
    if (!gemm->numbers.computes_zero)
        return packed;
    uint32_t zero = (uint32_t)gemm->numbers.a_zero;
    for (size_t i = 0; i < padded_columns(gemm->kernels, gemm->n); i++)
        memory[i] = (int32_t)(zero * (uint32_t)packed[i]);
    return memory;
}

void wnn_int8_gemm_run(const struct int8_gemm *description, const struct parallel *parallel, char *scratch)
{
    struct int8_gemm interruptible = *description, *gemm = &interruptible;
    gemm->interrupt = parallel->interrupt;
    const struct int8_kernels *kernels = gemm->kernels;
    const struct int8_tile_loops *tiles =
        wnn_int8_worth_tiles(gemm) ? wnn_int8_tile_loops(wnn_tiles()) : NULL;
    unsigned mr = tiles ? WNN_INT8_TILE_ROWS : kernels->mr;
    size_t width = 2 * kernels->lanes, row_count = (gemm->m + mr - 1) / mr;
    size_t column_bytes = row_bytes(kernels, gemm->k, gemm->unit);
    struct block block = {.gemm = gemm,
                          .form = form_of(gemm),
                          .tiles = tiles,
                          .steps = wnn_int8_tile_steps(gemm),
                          .mr = mr,
                          .pieces = gemm->k / gemm->unit,
                          .in_piece = wnn_int8_group_count(kernels, gemm->unit, gemm->unit),
                          .padded = padded_columns(kernels, gemm->n),
                          .start = find_start(gemm, (int32_t *)(void *)scratch),
                          .scratch = scratch + start_bytes(gemm),
                          .scratch_bytes = room_bytes(gemm)};
    size_t step =
        row_count == 1 ? gemm->n : wnn_min(gemm->n, (1 + BLOCK_BYTES / column_bytes / width) * width);
    for (; block.column < gemm->n; block.column += step) {
        block.columns = wnn_min(step, gemm->n - block.column);
        size_t panel_count = (block.columns + width - 1) / width;
        block.groups =
            parallel->threads == 1
                ? 1
                : wnn_min(panel_count, (4 * (size_t)parallel->threads + row_count - 1) / row_count);
        block.items = row_count * block.groups;
        block.chunks = wnn_min(block.items, max_chunks(parallel->threads));
        size_t work = (gemm->k + 32) * block.columns * gemm->m / block.chunks;
        size_t enough = tiles ? 1 << 20 : 1 << 18; // for a thread
        wnn_parallel_for(parallel, block.chunks, 1 + enough / (work + 1), compute_chunks, &block);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// gemm and matmul
// ---------------------------------------------------------------------------------------------------------------

struct int8_product {
    const struct node *node;
    const uint8_t *a, *b;
    size_t m, n, k;
    size_t b_term, b_column; // strides
    struct int8_layer layer;
    struct int8_scales scales; // for packing
};

static void choose(const struct node *node, void *choice)
{
    const struct matrix_product p = wnn_node_matrix_product(node);
    const WNNGemmOptions *gemm = node->op == WNN_OP_gemm ? node->attrs : NULL;
    *(struct int8_product *)choice = (struct int8_product){
        .node = node,
        .m = p.m,
        .n = p.n,
        .k = p.k,
        .b_term = p.b_term,
        .b_column = p.b_column,
        .layer = {.columns = p.n,
                  .column_axis = gemm ? !gemm->bTranspose : node->in[1]->type.shape.rank - 1,
                  .bias = gemm ? node->in[2] : NULL,
                  .alpha = p.alpha,
                  .beta = gemm ? p.beta : 1,
                  .terms = p.k}};
}

static struct int8_product product_of(const struct node *node)
{
    struct int8_product memory;
    return *(const struct int8_product *)wnn_choice(node, choose, &memory);
}

static bool accepts(const struct node *node)
{
    const struct matrix_product p = wnn_node_matrix_product(node);
    if (p.b_count != 1 || p.a_term != 1)
        return false;
    const struct int8_layer layer = product_of(node).layer;
    if (layer.bias) {
        const struct shape *c = &layer.bias->type.shape;
        size_t count = wnn_shape_elements(c);
        if (count != 1 && (count != layer.columns || c->dim[c->rank - 1] != layer.columns))
            return false;
    }
    return wnn_int8_accepts(node, &layer);
}

static void find_rows(const struct int8_gemm *gemm, size_t row, unsigned count, const void **pointers,
                      uint8_t *room)
{
    (void)room;
    const struct int8_product *product = gemm->argument;
    for (unsigned r = 0; r < count; r++)
        pointers[r] = product->a + (row + r) * product->k;
}

static void copy_row(const struct int8_gemm *gemm, size_t row, uint8_t *to)
{
    const struct int8_product *product = gemm->argument;
    memcpy(to, product->a + row * product->k, product->k);
}

static void read_weights(const struct int8_gemm *gemm, size_t term, size_t count, size_t column, uint8_t *to)
{
    const struct int8_product *product = gemm->argument;
    wnn_int8_gather(product->b + term * product->b_term + column * product->b_column, product->b_term, count,
                    to);
}

static void read_scale(const struct int8_gemm *gemm, size_t column, float *scale, float *offset)
{
    const struct int8_product *product = gemm->argument;
    wnn_int8_scale(&product->scales, column, scale, offset);
}

static struct int8_gemm gemm_of(const struct int8_product *product)
{
    const struct int8_kernels *kernels = wnn_int8_kernels(wnn_cpu_target(product->node));
    return (struct int8_gemm){
        .kernels = kernels,
        .numbers = wnn_int8_read(product->node),
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .unit = product->k,
        .in_place = kernels->size == 1 && product->k % 4 == 0,
        .even = true,
        .argument = product,
        .find = find_rows,
        .copy = copy_row,
        .weights = read_weights,
        .scale = read_scale,
        .row_stride = product->n,
        .column_stride = 1,
    };
}

static size_t packed_bytes(const struct node *node)
{
    struct int8_product product = product_of(node);
    return wnn_int8_gemm_packed_bytes(wnn_int8_kernels(wnn_cpu_target(node)), product.n, product.k,
                                      product.k);
}

static void pack_weights(const struct kernel_call *call, void *packed)
{
    struct int8_product product = product_of(call->node);
    product.b = call->in[1].data;
    product.scales = wnn_int8_scales(call->node, &product.layer);
    struct int8_gemm gemm = gemm_of(&product);
    wnn_int8_gemm_pack(&gemm, call->parallel, packed);
}

static size_t scratch_bytes(const struct node *node, unsigned threads)
{
    struct int8_product product = product_of(node);
    struct int8_gemm gemm = gemm_of(&product);
    return wnn_int8_gemm_scratch(&gemm, threads);
}

static void run_gemm(const struct kernel_call *call)
{
    struct int8_product product = product_of(call->node);
    product.a = call->in[0].data;
    struct int8_gemm gemm = gemm_of(&product);
    gemm.numbers = wnn_int8_read_run(call);
    gemm.packed = call->packed;
    gemm.c = call->out[0].data;
    wnn_int8_gemm_run(&gemm, call->parallel, call->scratch);
}

static const char *method(const struct node *node)
{
    (void)node;
    return "quantized product";
}

const struct kernel wnn_cpu_gemm_int8 = {.run = run_gemm,
                                         .choose = choose,
                                         .choice_bytes = sizeof(struct int8_product),
                                         .scratch = scratch_bytes,
                                         .packed_bytes = packed_bytes,
                                         .pack = pack_weights,
                                         .method = method,
                                         .activates = wnn_int8_activates,
                                         .accepts = accepts};
