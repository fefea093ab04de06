// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/arrangement.h"

#include "ops/attrs.h"

#include <string.h>

const uint32_t wnn_filter_orders[ARRANGEMENTS][4] = {
    [ARRANGED_OHWI] = {0, 2, 3, 1}, [ARRANGED_IHWO] = {1, 2, 3, 0}};

// ---------------------------------------------------------------------------------------------------------------
// Bytes in order
// ---------------------------------------------------------------------------------------------------------------

// What is arranged consists of lines, which are wherever it is cut: columns of a matrix, or elements along
// the last dimension of a filter.
struct lines {
    enum arrangement arrangement;
    unsigned bits; // of an element
    size_t count, length;
    size_t columns;              // of the matrix
    size_t sizes[4], strides[4]; // of the arranged filter, and the elements between its own
};

static struct lines lines_of(const struct operand *operand)
{
    struct lines lines = {.arrangement = operand->arrangement, .bits = wnn_dtype_bits(operand->type.type)};
    const uint32_t *dim = operand->type.shape.dim, *order = wnn_filter_orders[operand->arrangement];
    if (lines.arrangement == ARRANGED_COLUMNS) {
        lines.length = dim[0];
        lines.count = lines.columns = dim[1];
        return lines;
    }
    for (unsigned d = 0; d < 4; d++) {
        lines.sizes[d] = dim[d];
        lines.strides[d] = 1;
        for (unsigned other = 0; other < 4; other++) // those that lie behind it in the constant's own order
            lines.strides[d] *= order[other] > order[d] ? dim[other] : 1;
    }
    lines.length = dim[3];
    lines.count = lines.sizes[0] * lines.sizes[1] * lines.sizes[2];
    return lines;
}

// Elements i to i_end of columns j to j_end, those of a block that the caches hold; `first` is column 0 of
// what is written.
struct block {
    size_t i, i_end, j, j_end, first;
};

static void turn_nibbles(const struct lines *lines, unsigned char *to, const unsigned char *from,
                         const struct block *block)
{
    for (size_t j = block->j; j < block->j_end; j++)
        for (size_t i = block->i; i < block->i_end; i++) {
            size_t at = i * lines->columns + j, place = (j - block->first) * lines->length + i;
            to[place / 2] |= (unsigned char)((from[at / 2] >> at % 2 * 4 & 15) << place % 2 * 4);
        }
}

static void turn_bytes(const struct lines *lines, unsigned char *to, const unsigned char *from,
                       const struct block *block)
{
    size_t bytes = lines->bits / 8;
    for (size_t j = block->j; j < block->j_end; j++)
        for (size_t i = block->i; i < block->i_end; i++)
            memcpy(to + ((j - block->first) * lines->length + i) * bytes,
                   from + (i * lines->columns + j) * bytes, bytes);
}

static void write_columns(const struct lines *lines, unsigned char *to, const unsigned char *from,
                          size_t begin, size_t end)
{
    enum {
        SIDE = 64
    };
    size_t rows = lines->length;
    if (lines->bits == 4)
        memset(to, 0, ((end - begin) * rows + 1) / 2);
    for (size_t i = 0; i < rows; i += SIDE)
        for (size_t j = begin; j < end; j += SIDE) {
            const struct block block = {i, i + SIDE < rows ? i + SIDE : rows, j,
                                        j + SIDE < end ? j + SIDE : end, begin};
            if (lines->bits == 4)
                turn_nibbles(lines, to, from, &block);
            else
                turn_bytes(lines, to, from, &block);
        }
}

static void write_filter(const struct lines *lines, unsigned char *to, const unsigned char *from,
                         size_t begin, size_t end)
{
    size_t bytes = lines->bits / 8;
    for (size_t line = begin; line < end; line++) {
        size_t k = line % lines->sizes[2], j = line / lines->sizes[2] % lines->sizes[1],
               i = line / lines->sizes[2] / lines->sizes[1];
        const unsigned char *at =
            from + (i * lines->strides[0] + j * lines->strides[1] + k * lines->strides[2]) * bytes;
        for (size_t l = 0; l < lines->length; l++, to += bytes)
            memcpy(to, at + l * lines->strides[3] * bytes, bytes);
    }
}

static void write_lines(const struct lines *lines, void *to, const void *from, size_t begin, size_t end)
{
    (lines->arrangement == ARRANGED_COLUMNS ? write_columns : write_filter)(lines, to, from, begin, end);
}

bool wnn_arrange(struct uploads *uploads, const struct operand *operand, const struct constant *constant,
                 struct region to, struct error *error)
{
    enum {
        PIECE = 512 * 1024
    };
    if (operand->arrangement == ARRANGED_AS_IT_IS || uploads->gpu->is_described)
        return wnn_uploads_add(uploads, constant->data, to, error);
    const struct lines lines = lines_of(operand);
    // Two lines of nibbles are whole bytes.
    size_t two = lines.length * lines.bits / 4, pairs = two < PIECE ? PIECE / (two ? two : 1) : 1;
    void *piece = wnn_allocate(uploads->gpu->allocator, pairs * two);
    bool done = piece || wnn_fail_memory(error);
    for (size_t line = 0, end; done && line < lines.count; line = end) {
        size_t begin = line / 2 * two;
        end = lines.count - line < 2 * pairs ? lines.count : line + 2 * pairs;
        write_lines(&lines, piece, constant->data, line, end);
        size_t bytes = end == lines.count ? to.bytes - begin : pairs * two;
        done = wnn_uploads_add(uploads, piece, (struct region){to.buffer, to.offset + begin, bytes}, error);
    }
    wnn_release(uploads->gpu->allocator, piece);
    return done;
}

struct constant *wnn_arranged(struct allocator *allocator, const struct operand *operand,
                              struct constant *constant)
{
    if (operand->arrangement == ARRANGED_AS_IT_IS)
        return wnn_constant_ref(constant);
    const struct lines lines = lines_of(operand);
    struct constant *arranged = wnn_constant_create(allocator, constant->bytes);
    if (!arranged)
        return NULL;
    write_lines(&lines, (void *)(uintptr_t)arranged->data, constant->data, 0, lines.count);
    arranged->origin = wnn_arranged_origin(allocator, operand, constant);
    return arranged;
}

// ---------------------------------------------------------------------------------------------------------------
// Origins
// ---------------------------------------------------------------------------------------------------------------

struct origin *wnn_arranged_origin(struct allocator *allocator, const struct operand *operand,
                                   struct constant *constant)
{
    const uint32_t *order = wnn_filter_orders[operand->arrangement];
    if (operand->arrangement == ARRANGED_AS_IT_IS || operand->arrangement == ARRANGED_COLUMNS)
        return wnn_origin_ref(constant->origin);
    struct operand from = {.type = operand->type, .constant = constant}, out = {.type = operand->type},
                   *in[] = {&from}, *outs[] = {&out};
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    const struct node node = {
        .op = WNN_OP_transpose, .attrs = &options, .in = in, .out = outs, .in_count = 1, .out_count = 1};
    struct error error = {0};
    options.permutation = (WNNUint32List){order, 4};
    for (unsigned d = 0; d < 4; d++)
        from.type.shape.dim[order[d]] = operand->type.shape.dim[d];
    return wnn_is_worth_origin(&node) && wnn_can_have_origin(&node)
               ? wnn_origin_of(allocator, &node, 0, false, UINT64_MAX, &error)
               : NULL;
}

void wnn_take_transpose(struct operand *operand)
{
    const struct constant *constant = operand->constant;
    const struct graph *made = wnn_constant_is_promised(constant) ? constant->origin->made : NULL;
    const struct node *node = made ? made->nodes[0] : NULL;
    if (!node || node->op != WNN_OP_transpose || operand->arranged || operand->type.shape.rank != 4 ||
        wnn_dtype_bits(operand->type.type) < 8 || operand->type.type != node->out[0]->type.type ||
        !wnn_shape_equal(&operand->type.shape, &node->out[0]->type.shape))
        return;
    const uint32_t *permutation = ((const WNNTransposeOptions *)node->attrs)->permutation.data;
    for (unsigned i = ARRANGED_OHWI; i < ARRANGEMENTS && !operand->arrangement; i++)
        if (memcmp(permutation, wnn_filter_orders[i], sizeof wnn_filter_orders[i]) == 0)
            operand->arrangement = (unsigned char)i;
    if (!operand->arrangement)
        return;
    struct constant *from = wnn_constant_ref(node->in[0]->constant);
    wnn_constant_unref(operand->constant);
    operand->constant = from;
}

// ---------------------------------------------------------------------------------------------------------------
// Having bytes
// ---------------------------------------------------------------------------------------------------------------

struct constant *wnn_with_bytes(struct gpu *gpu, const struct resolver *resolver, struct constant *constant,
                                struct error *error)
{
    if (!wnn_constant_is_promised(constant))
        return wnn_constant_ref(constant);
    wnn_gate_leave(&gpu->gate);
    struct constant *made = wnn_resolve(resolver, constant, error);
    wnn_gate_enter(&gpu->gate);
    if (!gpu->gone)
        return made;
    wnn_constant_unref(made);
    wnn_gpu_fail(gpu, VK_ERROR_DEVICE_LOST, "an earlier call", error);
    return NULL;
}
