// SPDX-License-Identifier: Apache-2.0
#include "conformance/fuzz/serial_edit.h"

#include "lib/dtype.h"
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 48
#define MAX_DEPTH    4
#define NONE         SIZE_MAX

// A message while it is copied, piece by piece. The piece with the number `target` becomes another one.
struct copy {
    struct edits *edits;
    size_t target, piece;
    const unsigned char *in;
    size_t at, end;           // of records and outputs
    size_t data_at, data_end; // of the data
    struct buffer {
        unsigned char *bytes;
        size_t size, capacity;
    } out, data;
    uint32_t operands; // that the records say that they make
    unsigned depth;
    bool broken; // nothing is known of what follows
};

// ---------------------------------------------------------------------------------------------------------------
// Bytes
// ---------------------------------------------------------------------------------------------------------------

static void put(struct buffer *to, const void *bytes, size_t size)
{
    if (to->size + size > to->capacity) {
        to->capacity = (to->size + size) * 2 + 4096;
        to->bytes = realloc(to->bytes, to->capacity);
        if (!to->bytes)
            abort();
    }
    if (size)
        memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void put_word(struct buffer *to, uint32_t word)
{
    unsigned char bytes[4] = {(unsigned char)word, (unsigned char)(word >> 8), (unsigned char)(word >> 16),
                              (unsigned char)(word >> 24)};
    put(to, bytes, sizeof bytes);
}

static void put_zeros(struct buffer *to, size_t alignment)
{
    static const char zeros[8];
    put(to, zeros, (alignment - to->size % alignment) % alignment);
}

static uint32_t word_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void set_word(unsigned char *bytes, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(word >> 8 * i);
}

static uint32_t take_word(struct copy *copy)
{
    copy->broken |= copy->end - copy->at < 4;
    if (copy->broken)
        return 0;
    copy->at += 4;
    return word_at(copy->in + copy->at - 4);
}

static bool is_target(struct copy *copy)
{
    return copy->piece++ == copy->target;
}

// ---------------------------------------------------------------------------------------------------------------
// Pieces
// ---------------------------------------------------------------------------------------------------------------

static uint32_t other_word(struct edits *edits, uint32_t word)
{
    static const uint32_t words[] = {0,          1,          2,          3,          4,          7,
                                     8,          9,          10,         11,         12,         13,
                                     0x100,      0x10001,    0x108,      0x901,      0x7FFF,     0x10000,
                                     0x7F800000, 0x7FC00000, 0xFF800000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    unsigned value = take(edits);
    switch (take(edits) % 6) {
    case 0:
        return words[value % (sizeof words / sizeof *words)];
    case 1:
        return word + 1;
    case 2:
        return word - 1;
    case 3:
        return word ^ 1u << value % 32;
    case 4:
        return value;
    default:
        return word * (value % 5);
    }
}

// Returns the word as it was.
static uint32_t copy_word(struct copy *copy)
{
    uint32_t word = take_word(copy);
    bool changed = is_target(copy);
    if (!copy->broken)
        put_word(&copy->out, changed ? other_word(copy->edits, word) : word);
    return word;
}

static void put_other_text(struct copy *copy)
{
    static const char *const texts[] = {"", "x", "\xff", "\xe2\x80\xae", "input", "y0"};
    const struct op_info *info = &wnn_ops[take(copy->edits) % WNN_OP_COUNT];
    unsigned kind = take(copy->edits);
    const char *text = info->name;
    size_t length;
    char *repeated = NULL;
    if (kind % 4 == 1) {
        size_t rows = 0;
        while (info->rows[rows].name)
            rows++;
        text = info->rows[take(copy->edits) % rows].name;
    } else if (kind % 4 == 2) {
        text = texts[kind / 4 % (sizeof texts / sizeof *texts)];
    }
    length = strlen(text);
    if (kind % 4 == 3) {
        length = (size_t)1 << kind / 4 % 18;
        text = repeated = malloc(length);
        if (!repeated)
            abort();
        memset(repeated, 'n', length);
    }
    put_word(&copy->out, (uint32_t)length);
    put(&copy->out, text, length);
    put_zeros(&copy->out, 4);
    free(repeated);
}

static void copy_text(struct copy *copy)
{
    uint32_t length = take_word(copy);
    size_t size = ((size_t)length + 3) / 4 * 4;
    bool changed = is_target(copy);
    copy->broken |= copy->end - copy->at < size;
    if (copy->broken)
        return;
    if (changed) {
        put_other_text(copy);
    } else {
        put_word(&copy->out, length);
        put(&copy->out, copy->in + copy->at, size);
    }
    copy->at += size;
}

// Returns how many items it becomes.
static uint32_t copy_item(struct copy *copy, void (*item)(struct copy *))
{
    size_t begin = copy->out.size, data_begin = copy->data.size;
    bool changed = is_target(copy);
    unsigned times = 1;
    item(copy);
    if (!changed || copy->broken)
        return 1;
    unsigned kind = take(copy->edits);
    if (kind % 2 == 0) { // left out
        copy->out.size = begin;
        copy->data.size = data_begin;
        return 0;
    }
    for (unsigned wanted = 1 + (1u << kind / 2 % 10); times < wanted; times++) {
        size_t size = copy->out.size - begin, data_size = copy->data.size - data_begin;
        if (copy->out.size + copy->data.size + size + data_size > MAX_EDITED)
            break;
        unsigned char *again = malloc(size + data_size + 1);
        if (!again)
            abort();
        size /= times;
        data_size /= times;
        memcpy(again, copy->out.bytes + begin, size);
        if (data_size)
            memcpy(again + size, copy->data.bytes + data_begin, data_size);
        put(&copy->out, again, size);
        put(&copy->data, again + size, data_size);
        free(again);
    }
    return times;
}

static uint32_t copy_items(struct copy *copy, uint32_t count, void (*item)(struct copy *))
{
    uint32_t copied = 0;
    for (uint32_t i = 0; i < count && !copy->broken; i++)
        copied += copy_item(copy, item);
    return copied;
}

// Returns how many items it had.
static uint32_t copy_list(struct copy *copy, void (*item)(struct copy *))
{
    size_t place = copy->out.size;
    uint32_t count = take_word(copy), copied;
    if (copy->broken)
        return 0;
    put_word(&copy->out, 0);
    copied = copy_items(copy, count, item);
    if (is_target(copy))
        copied = other_word(copy->edits, copied);
    set_word(copy->out.bytes + place, copied);
    return count;
}

// ---------------------------------------------------------------------------------------------------------------
// The format
// ---------------------------------------------------------------------------------------------------------------

static void copy_attribute(struct copy *copy);

static void copy_item_word(struct copy *copy)
{
    copy_word(copy);
}

static void copy_activation(struct copy *copy)
{
    copy->broken |= ++copy->depth > MAX_DEPTH;
    copy_text(copy);
    copy_list(copy, copy_attribute);
    copy->depth--;
}

static void copy_attribute(struct copy *copy)
{
    // By type: how many words; the lists; activations.
    static const unsigned char words[] = {0, 1, 1, 1, 2, 3, 0, 0, 1, 1, 0, 0, 1};
    copy_text(copy);
    uint32_t type = copy_word(copy);
    copy->broken |= type == 0 || type >= sizeof words;
    if (copy->broken)
        return;
    for (unsigned i = 0; i < words[type]; i++)
        copy_word(copy);
    if (type == 6 || type == 7)
        copy_list(copy, copy_item_word);
    else if (type == 10)
        copy_activation(copy);
    else if (type == 11)
        copy_list(copy, copy_activation);
}

// Returns the bytes of a constant of that type, with the zeros behind them.
static uint64_t copy_type(struct copy *copy)
{
    uint32_t word = copy_word(copy);
    WNNDataType type = (WNNDataType)(word & 0xFF);
    unsigned rank = word >> 8 & 0xFF;
    uint64_t count = 1;
    copy->broken |= rank > WNN_MAX_RANK || !wnn_dtype_valid(type);
    for (unsigned i = 0; i < rank && !copy->broken; i++) {
        count *= copy_word(copy);
        copy->broken |= count > MAX_EDITED;
    }
    return copy->broken ? 0 : ((count * wnn_dtype_bits(type) + 7) / 8 + 7) / 8 * 8;
}

static void copy_record(struct copy *copy)
{
    uint32_t kind = copy_word(copy);
    copy->broken |= kind == 0 || kind > 5;
    if (copy->broken)
        return;
    if (kind == 5) {
        copy_text(copy);
        copy_text(copy);
        copy_list(copy, copy_item_word);
        copy_list(copy, copy_attribute);
        copy->operands += copy_list(copy, copy_item_word);
        return;
    }
    uint64_t bytes = copy_type(copy);
    copy->operands++;
    if (kind == 1 || kind == 4)
        copy_text(copy);
    for (unsigned i = 0; kind == 3 && i < 4; i++)
        copy_word(copy);
    if (kind != 2)
        return;
    copy->broken |= bytes > copy->data_end - copy->data_at;
    if (!copy->broken)
        put(&copy->data, copy->in + copy->data_at, (size_t)bytes);
    copy->data_at += copy->broken ? 0 : (size_t)bytes;
}

static void copy_output(struct copy *copy)
{
    copy_text(copy);
    copy_word(copy);
}

// Copies the message with the target changed, and returns how many pieces it has.
static size_t copy_message(struct copy *copy, const struct contents *bytes)
{
    copy->in = (const unsigned char *)bytes->data;
    copy->broken = bytes->size < HEADER_BYTES || word_at(copy->in + 32) > bytes->size - HEADER_BYTES;
    if (copy->broken)
        return 0;
    copy->at = HEADER_BYTES;
    copy->end = copy->data_at = HEADER_BYTES + (size_t)word_at(copy->in + 32);
    copy->data_end = bytes->size;
    put(&copy->out, copy->in, HEADER_BYTES);
    uint32_t records = copy_items(copy, word_at(copy->in + 16), copy_record);
    uint32_t outputs = copy_items(copy, word_at(copy->in + 24), copy_output);
    if (copy->broken)
        put(&copy->out, copy->in + copy->at, copy->end - copy->at);
    put_zeros(&copy->out, 8);
    unsigned char *header = copy->out.bytes;
    if (!copy->broken) {
        set_word(header + 16, records);
        set_word(header + 24, outputs);
    } else {
        put(&copy->data, copy->in + copy->data_at, copy->data_end - copy->data_at);
    }
    set_word(header + 32, (uint32_t)(copy->out.size - HEADER_BYTES));
    set_word(header + 40, (uint32_t)copy->data.size);
    return copy->piece;
}

static void free_copy(struct copy *copy)
{
    free(copy->out.bytes);
    free(copy->data.bytes);
}

static struct copy look(const struct contents *bytes)
{
    struct copy copy = {.target = NONE};
    copy_message(&copy, bytes);
    free_copy(&copy);
    return copy;
}

static void change_piece(struct contents *bytes, struct edits *edits)
{
    size_t pieces = look(bytes).piece;
    struct copy copy = {.edits = edits};
    copy.target = (take_long(edits) << 8 | take(edits)) % (pieces + !pieces);
    if (copy_message(&copy, bytes)) {
        put(&copy.out, copy.data.bytes, copy.data.size);
        replace(bytes, 0, bytes->size, (const char *)copy.out.bytes, copy.out.size, 1);
        struct copy changed = look(bytes);
        if (!changed.broken)
            set_word((unsigned char *)bytes->data + 20, changed.operands);
    }
    free_copy(&copy);
}

void serial_spoil(struct contents *bytes, struct edits *edits)
{
    unsigned kind = take(edits);
    if (kind % 16 == 0) {
        spoil(bytes, edits);
    } else if (kind % 16 == 1 && bytes->size >= HEADER_BYTES) {
        unsigned char *word = (unsigned char *)bytes->data + take(edits) % (HEADER_BYTES / 4) * 4;
        set_word(word, other_word(edits, word_at(word)));
    } else {
        change_piece(bytes, edits);
    }
}
