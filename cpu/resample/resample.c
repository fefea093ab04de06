// SPDX-License-Identifier: Apache-2.0
//
// resample2d: nearest and linear, along any two axes. Pixel centres are at halves; the scale of an axis is
// the quotient of its sizes. Lines are made one below the other, in blocks of elements that the first cache
// holds, so that what two of them have in common is done once: linear lines of the input are blended along
// the second axis and wait, as float32, for those of the output that lie between them. Where integers of 8
// bits lie at simple fractions, 16 bits hold the same sums.

#include "cpu/kernel.h"
#include "cpu/simd/lanes.h"
#include "cpu/simd/runs.h"
#include "cpu/simd/non_temporal.h"
#include "ops/geometry.h"

enum {
    ROWS = 256,       // positions of axis 0, whose neighbours are found once for many lines
    POSITIONS = 1024, // of axis 1, likewise
    PICKED = 1024,    // bytes of short runs that are put in order at once
    BLOCK = 1024,     // elements that are told apart, of a line that is blended
    RUNS = 2048,      // those of runs, which need no table
    SHORT = 16,       // elements of runs that are told apart
    RAW = 2048,       // elements of lines of the input as float32
    WAITING = 4096,   // elements of blended lines
    TOGETHER = 16,    // lines that are blended at once, at most; a power of two
    PADDED = 64,      // elements that each of these is a multiple of
    LINE = 64,        // bytes of a line of the caches
    BUFFER = 8192,    // bytes of a block, at most
    AWAY = 1024,      // elements of lines that are stored past the caches at once
    AHEAD = 1024,     // bytes behind those that are blended, which are fetched meanwhile
    NEAR = 8,         // bytes that are blended at once come from as many pairs within a window of twice that
    SLACK = 64        // elements that may be touched behind those that count
};

struct resample {
    bool linear, non_temporal;
    WNNDataType type;
    size_t size; // bytes of an element
    const char *input;
    char *output;
    // [outer, axis 0, middle, axis 1, run]: the two axes, in the order of the dimensions.
    size_t middle, run;
    size_t in[2], out[2];
    size_t in_line, out_line; // elements of axis 1 and run
    size_t in_count;          // of the input
    // Weights of 16 bits: the sum of two along each axis, of which all are multiples; 0: there are none.
    unsigned unit[2];
};

// The neighbours of an output element along an axis, and the part of the second one. They do not change along
// with the order in which elements are computed.
struct neighbours {
    size_t low, high;
    float part;
    uint32_t weights[2]; // of both in units, twice
};

static struct neighbours alone(const struct resample *resample, unsigned axis, size_t element)
{
    return (struct neighbours){element, element, 0, {resample->unit[axis] * 0x10001, 0}};
}

// (position + 0.5) * in / out - 0.5 is (a / b) with integers a and b, of at most 64 bits; so are floor and
// remainder.
static struct neighbours find_neighbours(const struct resample *resample, unsigned axis, size_t position)
{
    int64_t in = (int64_t)resample->in[axis], out = (int64_t)resample->out[axis];
    int64_t twice = (2 * (int64_t)position + 1) * in - out, whole = 2 * out;
    if (twice <= 0)
        return alone(resample, axis, 0);
    int64_t low = twice / whole;
    if (low >= in - 1)
        return alone(resample, axis, (size_t)in - 1);
    float part = (float)((double)(twice % whole) / (double)whole);
    uint32_t unit = resample->unit[axis], weight = (uint32_t)(part * (float)unit);
    return (struct neighbours){
        (size_t)low, (size_t)low + 1, part, {(unit - weight) * 0x10001, weight * 0x10001}};
}

// The smallest integer not below the coordinate minus a half: of two equally near elements the lower.
static size_t find_nearest(const struct resample *resample, unsigned axis, size_t position)
{
    int64_t in = (int64_t)resample->in[axis], out = (int64_t)resample->out[axis];
    int64_t twice = (2 * (int64_t)position + 1) * in - 2 * out, unit = 2 * out;
    int64_t nearest = twice <= 0 ? 0 : (twice + unit - 1) / unit;
    return (size_t)(nearest < in ? nearest : in - 1);
}

// The least n such that all parts are multiples of 2^-n; 9: it is more than 8.
static unsigned find_bits(const struct resample *resample, unsigned axis)
{
    int64_t in = (int64_t)resample->in[axis], out = (int64_t)resample->out[axis];
    unsigned bits = 0;
    if (in > 1)
        while (bits < 9 && ((in - out) * (1 << bits) % (2 * out) != 0 || in * (1 << bits) % out != 0))
            bits++;
    return bits;
}

// Products of two weights count in 256ths, so that 16 bits hold sums of bytes and a half, and those of the
// second axis are bytes with a sign.
static void find_units(struct resample *resample)
{
    unsigned first = find_bits(resample, 0), second = find_bits(resample, 1);
    if (resample->size != 1 || first > 7 || second > 6 || first + second > 8)
        return;
    resample->unit[1] = first > 2 ? 256 >> first : 64;
    resample->unit[0] = 256 / resample->unit[1];
}

// ---------------------------------------------------------------------------------------------------------------
// Lines: planes [outer, middle] of the tensor have them along axis 0
// ---------------------------------------------------------------------------------------------------------------

// Where a line begins, as elements.
WNN_INLINE size_t line_at(const struct resample *resample, size_t plane, size_t y, size_t height,
                          size_t length)
{
    size_t outer = plane / resample->middle, middle = plane % resample->middle;
    return ((outer * height + y) * resample->middle + middle) * length;
}

// The same for the input, whose lines are counted in all planes.
WNN_INLINE size_t line_of_input(const struct resample *resample, size_t line)
{
    if (resample->middle == 1)
        return line * resample->in_line;
    return line_at(resample, line / resample->in[0], line % resample->in[0], resample->in[0],
                   resample->in_line);
}

// The last line of the input that one of the output is made of.
static size_t last_line(const struct resample *resample, size_t line)
{
    size_t plane = line / resample->out[0], y = line % resample->out[0];
    return plane * resample->in[0] + find_neighbours(resample, 0, y).high;
}

// Positions of axis 0 that are known.
struct rows {
    size_t first, count;
    struct neighbours of[ROWS];
};

// A part of a block of lines of the output, from one plane.
struct section {
    size_t plane, count;
    const struct neighbours *of; // lines of this plane of the input
    char *to;                    // where to make the lines
    size_t pitch;                // bytes between them
};

// How a block of lines gets to its place: at once, or past the caches, a few of them at a time, so that
// they are in flight while the next ones are made.
struct sink {
    size_t bytes, pitch; // of a line; between two
    size_t filled;       // bytes for `to`
    char *to, *next;     // the place of the line that comes next
    _Alignas(LINE) char buffer[BUFFER + LINE];
};

// Bytes of a cache line that the next line goes on with may stay.
static void drain(struct sink *sink, bool all)
{
    if (sink->filled == 0)
        return;
    if (sink->pitch != sink->bytes) {
        for (size_t done = 0; done < sink->filled; done += sink->bytes, sink->to += sink->pitch)
            wnn_nt_store(sink->to, sink->buffer + done, sink->bytes);
        sink->filled = 0;
        return;
    }
    size_t rest = all ? 0 : wnn_min((uintptr_t)sink->next % LINE, sink->filled), whole = sink->filled - rest;
    wnn_nt_store(sink->to, sink->buffer, whole);
    memmove(sink->buffer, sink->buffer + whole, rest);
    sink->to += whole;
    sink->filled = rest;
}

// What begins with that line of the output, behind `first` elements of it.
static struct section find_section(const struct resample *resample, struct rows *rows, struct sink *sink,
                                   size_t first, size_t line, size_t end)
{
    size_t height = resample->out[0], plane = line / height, y = line % height;
    if (y < rows->first || y >= rows->first + rows->count) {
        rows->first = height <= ROWS ? 0 : y;
        rows->count = wnn_min(height - rows->first, ROWS);
        for (size_t i = 0; i < rows->count; i++)
            rows->of[i] = resample->linear
                              ? find_neighbours(resample, 0, rows->first + i)
                              : (struct neighbours){.low = find_nearest(resample, 0, rows->first + i)};
    }
    struct section section = {.plane = plane,
                              .count = wnn_min(rows->first + rows->count - y, end - line),
                              .of = rows->of + (y - rows->first),
                              .to = resample->output +
                                    (line_at(resample, plane, y, height, resample->out_line) + first) *
                                        resample->size,
                              .pitch = sink->pitch};
    if (!resample->non_temporal || sink->bytes > BUFFER)
        return section;
    const size_t away = AWAY * resample->size;
    if (section.to != sink->next || sink->filled + sink->bytes > away)
        drain(sink, section.to != sink->next);
    if (sink->filled == 0)
        sink->to = section.to;
    size_t most = sink->bytes < away ? (away + LINE - sink->filled) / sink->bytes : 1;
    section.count = wnn_min(section.count, most);
    sink->next = section.to + section.count * sink->pitch;
    section.to = sink->buffer + sink->filled;
    section.pitch = sink->bytes;
    sink->filled += section.count * sink->bytes;
    return section;
}

// Before the lines of another block.
static void start_block(const struct resample *resample, struct sink *sink, size_t elements)
{
    drain(sink, true);
    sink->bytes = elements * resample->size;
    sink->pitch = resample->middle * resample->out_line * resample->size;
}

static void finish(const struct resample *resample, struct sink *sink)
{
    drain(sink, true);
    if (resample->non_temporal)
        wnn_nt_fence();
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks of a line
// ---------------------------------------------------------------------------------------------------------------

#define PIECE 16 // bytes, of which a processor can put each where it likes

// Nearest: where runs of bytes at some positions come from; and, if neighbouring ones are close enough, the
// same for pieces of the block, of one PIECE, or of four if the loop can leave out bytes.
struct picks {
    size_t count, offsets[POSITIONS];
    size_t width, pieces;
    struct piece {
        size_t at, from;         // bytes
        uint64_t taken, given;   // bits of the bytes that are read and written
        int32_t words[PIECE];    // from which each PIECE begins
        uint8_t order[4][PIECE]; // bytes of these
    } piece[PICKED / PIECE];
};

// Returns whether they are close enough.
static bool find_piece(struct picks *picks, size_t run, struct piece *piece)
{
    size_t first = piece->at / run;
    for (size_t s = 0; s < picks->width / PIECE; s++) {
        size_t begin = 0;
        for (size_t i = 0; i < PIECE; i++) {
            size_t position = first + (s * PIECE + i) / run;
            position = position < picks->count ? position : picks->count - 1;
            size_t place = picks->offsets[position] + i % run - piece->from;
            if (i == 0 && s > 0) {
                begin = place / 4 * 4;
                begin = begin < 3 * PIECE ? begin : 3 * PIECE;
            }
            if (place - begin >= PIECE)
                return false;
            piece->order[s][i] = (uint8_t)(place - begin);
        }
        for (size_t i = 0; i < 4; i++)
            piece->words[s * 4 + i] = (int32_t)(begin / 4 + i);
    }
    return true;
}

static bool find_pieces(struct picks *picks, size_t run, size_t line, size_t width)
{
    size_t bytes = picks->count * run;
    bool whole = width == PIECE; // the last one ends where the others would not
    if (run > PIECE / 2 || (run & (run - 1)) != 0 || (whole && (bytes < PIECE || line < PIECE)))
        return false;
    picks->width = width;
    picks->pieces = (bytes + width - 1) / width;
    for (size_t p = 0; p < picks->pieces; p++) {
        struct piece *piece = &picks->piece[p];
        piece->at = whole && (p + 1) * width > bytes ? bytes - width : p * width;
        piece->from = picks->offsets[piece->at / run];
        if (whole && piece->from > line - width)
            piece->from = line - width;
        piece->taken = wnn_first_bits(line - piece->from);
        piece->given = wnn_first_bits(bytes - piece->at);
        if (!find_piece(picks, run, piece))
            return false;
    }
    return true;
}

static void find_picks(const struct resample *resample, size_t position, size_t run, size_t widest,
                       struct picks *picks)
{
    size_t most = run <= PIECE / 2 ? PICKED / run : run < BUFFER ? BUFFER / run : 1;
    most = most < POSITIONS ? most : POSITIONS;
    picks->count = resample->out[1] - position < most ? resample->out[1] - position : most;
    for (size_t i = 0; i < picks->count; i++)
        picks->offsets[i] = find_nearest(resample, 1, position + i) * run;
    while (widest >= PIECE && !find_pieces(picks, run, resample->in[1] * run, widest))
        widest /= 4;
    picks->width = widest;
}

#define COPY_RUNS(bytes)                                                                                     \
    for (size_t i = 0; i < picks->count; i++)                                                                \
    memcpy(to + i * (bytes), line + picks->offsets[i], bytes)

static void copy_runs(const struct picks *picks, size_t run, const char *line, char *to)
{
    switch (run) {
    case 1:
        COPY_RUNS(1);
        break;
    case 2:
        COPY_RUNS(2);
        break;
    case 4:
        COPY_RUNS(4);
        break;
    case 8:
        COPY_RUNS(8);
        break;
    case 16:
        COPY_RUNS(16);
        break;
    default:
        for (size_t i = 0; i < picks->count; i++)
            wnn_copy_run(to + i * run, line + picks->offsets[i], run);
        break;
    }
}

// Lines of a section of the plane of the input, whose lines are `pitch` bytes apart. One that is made of the
// same as that before is a copy of that.
static void copy_lines(const struct picks *picks, size_t run, const char *plane, size_t pitch,
                       const struct section *section)
{
    for (size_t i = 0; i < section->count; i++) {
        char *to = section->to + i * section->pitch;
        if (i > 0 && section->of[i].low == section->of[i - 1].low)
            wnn_copy_run(to, to - section->pitch, picks->count * run);
        else
            copy_runs(picks, run, plane + section->of[i].low * pitch, to);
    }
}

// A run that is longer than a buffer.
static void copy_long(const struct resample *resample, size_t run, const char *plane, size_t pitch,
                      const struct section *section)
{
    for (size_t i = 0; i < section->count; i++) {
        char *to = section->to + i * section->pitch;
        if (resample->non_temporal)
            wnn_nt_store(to, plane + section->of[i].low * pitch, run);
        else
            memcpy(to, plane + section->of[i].low * pitch, run);
    }
}

// Linear: elements [first, first + count) of a line.
struct block {
    size_t first, count;
    // Blended lines: elements from one to the next, how many wait, and how many are made ahead.
    size_t pitch, waiting, ahead;
    // Elements that are told apart come from [from, from + spanned) of the line of the input: that at `low`
    // after the first one of its vector's window, and the one a run behind it.
    size_t from, spanned, raw_pitch;
    unsigned reach; // how many vectors a window has, at most; 3: more than two
    int32_t low[BLOCK + SLACK];
    float part[BLOCK + SLACK];
    uint32_t window[BLOCK / LANES_any + SLACK]; // after `from`
    // Integers with weights of 16 bits: there is a window for each NEAR of them, where both neighbours of
    // each have their places and weights.
    bool has_units;
    uint8_t order[2 * (BLOCK + SLACK)], weights[2 * (BLOCK + SLACK)];
    // Those of runs come from pieces of them. Of integers each takes `room` elements.
    size_t pieces, length, room;
    struct neighbours of[RUNS / SHORT]; // elements of a line of the input
};

// Puts elements in order within windows, one for each `lanes` of them.
static void find_windows(struct block *block, size_t lanes)
{
    block->reach = 1;
    for (size_t i = block->count; i % lanes != 0; i++) {
        block->low[i] = block->low[i - 1];
        block->part[i] = 0;
    }
    for (size_t i = 0; i < block->count; i += lanes) {
        int32_t least = block->low[i], most = least;
        for (size_t j = i; j < i + lanes; j++) {
            least = block->low[j] < least ? block->low[j] : least;
            most = block->low[j] > most ? block->low[j] : most;
        }
        for (size_t j = i; j < i + lanes; j++)
            block->low[j] -= least;
        block->window[i / lanes] = (uint32_t)least;
        unsigned reach = (size_t)(most - least) < lanes ? 1 : (size_t)(most - least) < 2 * lanes ? 2 : 3;
        block->reach = reach > block->reach ? reach : block->reach;
    }
}

// Where vectors of so many lanes have the NEAR elements behind that one: two, of 16 bits, become one of bytes
// part by part.
static size_t near_at(size_t i, size_t lanes)
{
    size_t length = 4 * lanes, within = i % length / NEAR;
    return i / length * length + within % 2 * (length / 2) + within / 2 * NEAR;
}

// Returns whether the windows are large enough.
static bool find_near(const struct resample *resample, struct block *block, size_t lanes)
{
    const size_t count = block->count, run = resample->run, unit = resample->unit[1];
    memset(block->window, 0, sizeof block->window);
    memset(block->order, 0, sizeof block->order);
    memset(block->weights, 0, sizeof block->weights);
    for (size_t i = 0; i < count; i += NEAR) {
        size_t end = wnn_min(i + NEAR, count), at = near_at(i, lanes);
        int32_t least = block->low[i];
        for (size_t j = i; j < end; j++)
            least = block->low[j] < least ? block->low[j] : least;
        block->window[at / NEAR] = (uint32_t)least;
        for (size_t j = i, to = 2 * at; j < end; j++, to += 2) {
            size_t weight = (size_t)(block->part[j] * (float)unit);
            size_t low = (size_t)(block->low[j] - least), high = low + (weight > 0 ? run : 0);
            if (high >= 2 * NEAR)
                return false;
            block->order[to] = (uint8_t)low;
            block->order[to + 1] = (uint8_t)high;
            block->weights[to] = (uint8_t)(unit - weight);
            block->weights[to + 1] = (uint8_t)weight;
        }
    }
    block->pieces = 1;
    block->length = block->room = count;
    return true;
}

static void find_elements(const struct resample *resample, struct block *block, size_t lanes)
{
    size_t run = resample->run, position = block->first / run, channel = block->first % run;
    struct neighbours of = find_neighbours(resample, 1, position);
    size_t first = of.low, most = wnn_min(resample->out_line - block->first, BLOCK);
    block->from = first * run;
    for (block->count = 0; block->count < most; block->count++) {
        size_t i = block->count;
        if ((of.high - first + 1) * run > RAW / 2 - SLACK)
            break;
        block->spanned = (of.high - first + 1) * run;
        block->low[i] = (int32_t)((of.low - first) * run + channel);
        block->part[i] = of.part;
        if (++channel == run) {
            channel = 0;
            of = find_neighbours(resample, 1, ++position);
        }
    }
    block->raw_pitch = block->spanned + SLACK;
    block->has_units = resample->unit[1] != 0 && find_near(resample, block, lanes);
    if (!block->has_units)
        find_windows(block, lanes);
}

// Whole runs, or a part of one that is not short.
static void find_runs(const struct resample *resample, struct block *block)
{
    size_t run = resample->run, position = block->first / run, channel = block->first % run;
    size_t left = run - channel;
    // Of short runs of integers too many lanes would be wasted.
    block->has_units = resample->unit[1] != 0 && run >= PADDED / 2;
    size_t most = block->has_units ? 2 * RUNS : RUNS;
    block->length = left <= most ? left : left < 2 * most ? left / 2 : most;
    block->room = block->has_units ? (block->length + PADDED - 1) / PADDED * PADDED : block->length;
    block->pieces = run <= most ? wnn_min(most / block->room, resample->out[1] - position) : 1;
    block->count = block->pieces * block->length;
    block->raw_pitch = 0;
    for (size_t i = 0; i < block->pieces; i++) {
        block->of[i] = find_neighbours(resample, 1, position + i);
        block->of[i].low = block->of[i].low * run + channel;
        block->of[i].high = block->of[i].high * run + channel;
    }
}

static void find_block(const struct resample *resample, size_t first, size_t lanes, struct block *block)
{
    block->first = first;
    if (resample->run < SHORT)
        find_elements(resample, block, lanes);
    else
        find_runs(resample, block);
    if (block->has_units && resample->run >= SHORT)
        block->pitch = block->pieces * block->room;
    else
        block->pitch = (block->count + PADDED - 1) / PADDED * PADDED;
    size_t room = block->has_units ? 2 * WAITING : WAITING;
    block->waiting = TOGETHER;
    while (block->waiting * block->pitch > room || block->waiting * block->raw_pitch > RAW)
        block->waiting /= 2;
    // Lines between those that are read are left alone.
    block->ahead = resample->in[0] <= resample->out[0] ? block->waiting : 0;
}
_Static_assert(2 * RUNS <= WAITING && 2 * BLOCK <= WAITING, "two lines have room");

// Where the blended line of that number is.
WNN_INLINE size_t place_of(const struct block *block, size_t line)
{
    return (line & (block->waiting - 1)) * block->pitch;
}

// Short lines are read in bursts that a processor's own guesses follow badly.
WNN_INLINE void expect(const struct resample *resample, const char *from, size_t bytes)
{
    if (!resample->non_temporal)
        return; // what makes less is in the caches
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_prefetch(from + AHEAD + i);
}

// ---------------------------------------------------------------------------------------------------------------
// What is needed here only of each set of vectors (lanes.h)
//   load_int8, load_uint8  LANES of them
//
//   store_bytes            the bytes nearest to the first `count` of four vectors, which are in range
//
//   pick                   elements at LANES places, less than `reach` vectors away, or anywhere if it is 3
//
//   unless_zero            `value` where `part` is not 0, and `otherwise`
//
//   words                  2 * LANES integers of 16 bits, or twice as many bytes; `has_sign` is of the bytes
//   load_words, store_words
//   load_some_bytes        the first `count` bytes only, less than all
//   spread_weight          the same two words in each two lanes
//   blend_near             sums of pairs of bytes, ordered and weighted, from windows of a line
//   blend_far              sums of bytes that lie in two vectors, in two as store_narrow has them
//   even_ties              one less where that is odd as 256ths
//   store_narrow           the first `count` of two vectors, as 256ths rounded down
//
//   pick_lines             a section of lines in the order of `picks`
// ---------------------------------------------------------------------------------------------------------------

enum {
    widest_any = 0, // bytes that pick_lines puts in order at once
    widest_avx2 = PIECE,
    widest_avx512 = 4 * PIECE
};

WNN_INLINE vector_any load_int8_any(const int8_t *from)
{
    return (vector_any){from[0], from[1], from[2], from[3]};
}

WNN_INLINE vector_any load_uint8_any(const uint8_t *from)
{
    return (vector_any){from[0], from[1], from[2], from[3]};
}

WNN_INLINE void store_bytes_any(char *to, size_t count, const vector_any v[4], const bool has_sign)
{
    (void)has_sign;
    for (size_t i = 0; i < count; i++) {
        ints_any bits = (ints_any)(v[i / LANES_any] + 0x1.8p23f); // rounds
        to[i] = (char)bits[i % LANES_any];
    }
}

WNN_INLINE vector_any pick_any(const float *from, const int32_t *at, const unsigned reach)
{
    (void)reach;
    return (vector_any){from[at[0]], from[at[1]], from[at[2]], from[at[3]]};
}

WNN_INLINE vector_any unless_zero_any(vector_any part, vector_any value, vector_any otherwise)
{
    ints_any zero = part == 0.0f;
    return (vector_any)(((ints_any)otherwise & zero) | ((ints_any)value & ~zero));
}

typedef uint16_t words_any __attribute__((vector_size(16)));

WNN_INLINE words_any load_words_any(const void *from)
{
    words_any v;
    memcpy(&v, from, sizeof v);
    return v;
}

WNN_INLINE void store_words_any(void *to, words_any v)
{
    memcpy(to, &v, sizeof v);
}

WNN_INLINE words_any load_some_bytes_any(const char *from, size_t count)
{
    words_any v = {0};
    memcpy(&v, from, count);
    return v;
}

WNN_INLINE words_any broadcast_weight_any(uint32_t pair)
{
    return (words_any){0} + (uint16_t)pair;
}

WNN_INLINE int byte_at(const char *from, const bool has_sign)
{
    return has_sign ? (int8_t)*from : (uint8_t)*from;
}

WNN_INLINE words_any blend_near_any(const char *line, const size_t *window, words_any order,
                                    words_any weights, const bool has_sign)
{
    const char *from = line + window[0];
    uint8_t at[2 * NEAR], weight[2 * NEAR];
    uint16_t sums[NEAR];
    memcpy(at, &order, sizeof at);
    memcpy(weight, &weights, sizeof weight);
    for (size_t i = 0; i < NEAR; i++)
        sums[i] = (uint16_t)(byte_at(from + at[2 * i], has_sign) * weight[2 * i] +
                             byte_at(from + at[2 * i + 1], has_sign) * weight[2 * i + 1]);
    return load_words_any(sums);
}

WNN_INLINE void blend_far_any(words_any low, words_any high, words_any weights, words_any to[2],
                              const bool has_sign)
{
    char lows[2 * NEAR], highs[2 * NEAR];
    uint16_t sums[2 * NEAR];
    memcpy(lows, &low, sizeof lows);
    memcpy(highs, &high, sizeof highs);
    for (size_t i = 0; i < 2 * NEAR; i++)
        sums[i] = (uint16_t)(byte_at(lows + i, has_sign) * (weights[0] & 0xff) +
                             byte_at(highs + i, has_sign) * (weights[0] >> 8));
    to[0] = load_words_any(sums);
    to[1] = load_words_any(sums + NEAR);
}

WNN_INLINE words_any even_ties_any(words_any v)
{
    return v - (v >> 8 & 1);
}

WNN_INLINE void store_narrow_any(char *to, size_t count, const words_any v[2], const bool has_sign)
{
    (void)has_sign;
    for (size_t i = 0; i < count && i < 2 * NEAR; i++)
        to[i] = (char)(v[i / NEAR][i % NEAR] >> 8);
}

WNN_INLINE void pick_lines_any(const struct picks *picks, size_t run, const char *plane, size_t pitch,
                               const struct section *section)
{
    copy_lines(picks, run, plane, pitch, section);
}

#if WNN_X86_64
#define INLINE WNN_INLINE WNN_TARGET_AVX2

INLINE vector_avx2 load_int8_avx2(const int8_t *from)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return (vector_avx2)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

INLINE vector_avx2 load_uint8_avx2(const uint8_t *from)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return (vector_avx2)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

// Those of four vectors are packed within the halves of one.
INLINE void store_bytes_avx2(char *to, size_t count, const vector_avx2 v[4], const bool has_sign)
{
    __m256i i[4], pairs[2], bytes;
    UNROLL
    for (int k = 0; k < 4; k++)
        i[k] = _mm256_cvtps_epi32((__m256)v[k]);
    pairs[0] = _mm256_packs_epi32(i[0], i[1]);
    pairs[1] = _mm256_packs_epi32(i[2], i[3]);
    bytes = has_sign ? _mm256_packs_epi16(pairs[0], pairs[1]) : _mm256_packus_epi16(pairs[0], pairs[1]);
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    if (count >= sizeof bytes)
        _mm256_storeu_si256((__m256i *)(void *)to, bytes);
    else
        memcpy(to, &bytes, count);
}

INLINE vector_avx2 pick_avx2(const float *from, const int32_t *at, const unsigned reach)
{
    if (reach > 2)
        return (vector_avx2){from[at[0]], from[at[1]], from[at[2]], from[at[3]],
                             from[at[4]], from[at[5]], from[at[6]], from[at[7]]};
    __m256i order = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256 near = _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), order);
    if (reach == 1)
        return (vector_avx2)near;
    __m256 far = _mm256_permutevar8x32_ps(_mm256_loadu_ps(from + LANES_avx2), order);
    __m256i beyond = _mm256_cmpgt_epi32(order, _mm256_set1_epi32(LANES_avx2 - 1));
    return (vector_avx2)_mm256_blendv_ps(near, far, _mm256_castsi256_ps(beyond));
}

INLINE vector_avx2 unless_zero_avx2(vector_avx2 part, vector_avx2 value, vector_avx2 otherwise)
{
    __m256 zero = _mm256_cmp_ps((__m256)part, _mm256_setzero_ps(), _CMP_EQ_OQ);
    return (vector_avx2)_mm256_blendv_ps((__m256)value, (__m256)otherwise, zero);
}

typedef uint16_t words_avx2 __attribute__((vector_size(32)));

INLINE words_avx2 load_words_avx2(const void *from)
{
    return (words_avx2)_mm256_loadu_si256(from);
}

INLINE void store_words_avx2(void *to, words_avx2 v)
{
    _mm256_storeu_si256(to, (__m256i)v);
}

INLINE words_avx2 load_some_bytes_avx2(const char *from, size_t count)
{
    words_avx2 v = {0};
    memcpy(&v, from, count);
    return v;
}

INLINE words_avx2 broadcast_weight_avx2(uint32_t pair)
{
    return (words_avx2)_mm256_set1_epi32((int)pair);
}

INLINE __m256i blend_pairs_avx2(__m256i pairs, __m256i weights, const bool has_sign)
{
    return has_sign ? _mm256_maddubs_epi16(weights, pairs) : _mm256_maddubs_epi16(pairs, weights);
}

INLINE words_avx2 blend_near_avx2(const char *line, const size_t *window, words_avx2 order,
                                  words_avx2 weights, const bool has_sign)
{
    __m256i bytes = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(line + window[0])));
    bytes = _mm256_inserti128_si256(bytes, _mm_loadu_si128((const void *)(line + window[1])), 1);
    bytes = _mm256_shuffle_epi8(bytes, (__m256i)order);
    return (words_avx2)blend_pairs_avx2(bytes, (__m256i)weights, has_sign);
}

INLINE void blend_far_avx2(words_avx2 low, words_avx2 high, words_avx2 weights, words_avx2 to[2],
                           const bool has_sign)
{
    __m256i pairs[2] = {_mm256_unpacklo_epi8((__m256i)low, (__m256i)high),
                        _mm256_unpackhi_epi8((__m256i)low, (__m256i)high)};
    for (int i = 0; i < 2; i++)
        to[i] = (words_avx2)blend_pairs_avx2(pairs[i], (__m256i)weights, has_sign);
}

INLINE words_avx2 even_ties_avx2(words_avx2 v)
{
    return v - (v >> 8 & 1);
}

INLINE void store_narrow_avx2(char *to, size_t count, const words_avx2 v[2], const bool has_sign)
{
    const __m256i low = (__m256i)v[0], high = (__m256i)v[1];
    __m256i bytes = has_sign ? _mm256_packs_epi16(_mm256_srai_epi16(low, 8), _mm256_srai_epi16(high, 8))
                             : _mm256_packus_epi16(_mm256_srli_epi16(low, 8), _mm256_srli_epi16(high, 8));
    if (count >= sizeof bytes)
        _mm256_storeu_si256((__m256i *)(void *)to, bytes);
    else
        memcpy(to, &bytes, count);
}

INLINE void pick_lines_avx2(const struct picks *picks, size_t run, const char *plane, size_t pitch,
                            const struct section *section)
{
    if (picks->width != PIECE) {
        copy_lines(picks, run, plane, pitch, section);
        return;
    }
    for (const struct piece *piece = picks->piece; piece < picks->piece + picks->pieces; piece++) {
        __m128i order = _mm_loadu_si128((const __m128i *)(const void *)piece->order);
        const char *from = plane + piece->from;
        char *to = section->to + piece->at;
        for (size_t i = 0, count = section->count, step = section->pitch; i < count; i++, to += step) {
            const char *line = from + section->of[i].low * pitch;
            __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)line);
            _mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(bytes, order));
        }
    }
}

#undef INLINE
#define INLINE WNN_INLINE WNN_TARGET_AVX512

INLINE vector_avx512 load_int8_avx512(const int8_t *from)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    return (vector_avx512)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}

INLINE vector_avx512 load_uint8_avx512(const uint8_t *from)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    return (vector_avx512)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

INLINE void store_bytes_avx512(char *to, size_t count, const vector_avx512 v[4], const bool has_sign)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i i[4], pairs[2], bytes;
    UNROLL
    for (int k = 0; k < 4; k++)
        i[k] = _mm512_cvtps_epi32((__m512)v[k]);
    pairs[0] = _mm512_packs_epi32(i[0], i[1]);
    pairs[1] = _mm512_packs_epi32(i[2], i[3]);
    bytes = has_sign ? _mm512_packs_epi16(pairs[0], pairs[1]) : _mm512_packus_epi16(pairs[0], pairs[1]);
    bytes = _mm512_permutexvar_epi32(order, bytes);
    if (count >= sizeof bytes)
        _mm512_storeu_si512(to, bytes);
    else
        _mm512_mask_storeu_epi8(to, wnn_first_bits(count), bytes);
}

INLINE vector_avx512 pick_avx512(const float *from, const int32_t *at, const unsigned reach)
{
    if (reach > 2)
        return (vector_avx512){from[at[0]],  from[at[1]],  from[at[2]],  from[at[3]],
                               from[at[4]],  from[at[5]],  from[at[6]],  from[at[7]],
                               from[at[8]],  from[at[9]],  from[at[10]], from[at[11]],
                               from[at[12]], from[at[13]], from[at[14]], from[at[15]]};
    __m512i order = _mm512_loadu_si512(at);
    if (reach == 1)
        return (vector_avx512)_mm512_permutexvar_ps(order, _mm512_loadu_ps(from));
    return (vector_avx512)_mm512_permutex2var_ps(_mm512_loadu_ps(from), order,
                                                 _mm512_loadu_ps(from + LANES_avx512));
}

INLINE vector_avx512 unless_zero_avx512(vector_avx512 part, vector_avx512 value, vector_avx512 otherwise)
{
    __mmask16 some = _mm512_cmp_ps_mask((__m512)part, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    return (vector_avx512)_mm512_mask_mov_ps((__m512)otherwise, some, (__m512)value);
}

typedef uint16_t words_avx512 __attribute__((vector_size(64)));

INLINE words_avx512 load_words_avx512(const void *from)
{
    return (words_avx512)_mm512_loadu_si512(from);
}

INLINE void store_words_avx512(void *to, words_avx512 v)
{
    _mm512_storeu_si512(to, (__m512i)v);
}

INLINE words_avx512 load_some_bytes_avx512(const char *from, size_t count)
{
    return (words_avx512)_mm512_maskz_loadu_epi8(wnn_first_bits(count), from);
}

INLINE words_avx512 broadcast_weight_avx512(uint32_t pair)
{
    return (words_avx512)_mm512_set1_epi32((int)pair);
}

INLINE __m512i blend_pairs_avx512(__m512i pairs, __m512i weights, const bool has_sign)
{
    return has_sign ? _mm512_maddubs_epi16(weights, pairs) : _mm512_maddubs_epi16(pairs, weights);
}

INLINE words_avx512 blend_near_avx512(const char *line, const size_t *window, words_avx512 order,
                                      words_avx512 weights, const bool has_sign)
{
    __m512i bytes = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(line + window[0])));
    bytes = _mm512_inserti32x4(bytes, _mm_loadu_si128((const void *)(line + window[1])), 1);
    bytes = _mm512_inserti32x4(bytes, _mm_loadu_si128((const void *)(line + window[2])), 2);
    bytes = _mm512_inserti32x4(bytes, _mm_loadu_si128((const void *)(line + window[3])), 3);
    bytes = _mm512_shuffle_epi8(bytes, (__m512i)order);
    return (words_avx512)blend_pairs_avx512(bytes, (__m512i)weights, has_sign);
}

INLINE void blend_far_avx512(words_avx512 low, words_avx512 high, words_avx512 weights, words_avx512 to[2],
                             const bool has_sign)
{
    __m512i pairs[2] = {_mm512_unpacklo_epi8((__m512i)low, (__m512i)high),
                        _mm512_unpackhi_epi8((__m512i)low, (__m512i)high)};
    for (int i = 0; i < 2; i++)
        to[i] = (words_avx512)blend_pairs_avx512(pairs[i], (__m512i)weights, has_sign);
}

INLINE words_avx512 even_ties_avx512(words_avx512 v)
{
    __mmask32 odd = _mm512_test_epi16_mask((__m512i)v, _mm512_set1_epi16(0x100));
    return (words_avx512)_mm512_mask_add_epi16((__m512i)v, odd, (__m512i)v, _mm512_set1_epi16(-1));
}

INLINE void store_narrow_avx512(char *to, size_t count, const words_avx512 v[2], const bool has_sign)
{
    const __m512i low = (__m512i)v[0], high = (__m512i)v[1];
    __m512i bytes = has_sign ? _mm512_packs_epi16(_mm512_srai_epi16(low, 8), _mm512_srai_epi16(high, 8))
                             : _mm512_packus_epi16(_mm512_srli_epi16(low, 8), _mm512_srli_epi16(high, 8));
    if (count >= sizeof bytes)
        _mm512_storeu_si512(to, bytes);
    else
        _mm512_mask_storeu_epi8(to, wnn_first_bits(count), bytes);
}

INLINE void pick_lines_avx512(const struct picks *picks, size_t run, const char *plane, size_t pitch,
                              const struct section *section)
{
    if (picks->width != 4 * PIECE) {
        pick_lines_avx2(picks, run, plane, pitch, section);
        return;
    }
    for (const struct piece *piece = picks->piece; piece < picks->piece + picks->pieces; piece++) {
        __m512i words = _mm512_loadu_si512(piece->words), order = _mm512_loadu_si512(piece->order);
        __mmask64 taken = piece->taken, given = piece->given;
        const char *from = plane + piece->from;
        char *to = section->to + piece->at;
        for (size_t i = 0, count = section->count, step = section->pitch; i < count; i++, to += step) {
            __m512i bytes = _mm512_maskz_loadu_epi8(taken, from + section->of[i].low * pitch);
            bytes = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(words, bytes), order);
            _mm512_mask_storeu_epi8(to, given, bytes);
        }
    }
}

#undef INLINE
#endif

// Known where the type is.
WNN_INLINE size_t size_of(const WNNDataType type)
{
    return type == WNNDataType_Float32 ? 4 : type == WNNDataType_Float16 ? 2 : 1;
}

#define LOOPS "cpu/resample/resample.inc"
#include "cpu/simd/each_isa.inc"

static void run_resample2d(const struct kernel_call *call)
{
    const struct resampling r = wnn_node_resampling(call->node);
    if (call->out[0].count == 0)
        return;
    struct resample resample = {
        .linear = r.linear,
        .type = call->in[0].type,
        .size = wnn_dtype_bits(call->in[0].type) / 8,
        .input = call->in[0].data,
        .output = call->out[0].data,
        .middle = r.middle,
        .run = r.inner,
        .in_count = call->in[0].count,
        .in = {r.in[0], r.in[1]},
        .out = {r.out[0], r.out[1]},
    };
    resample.in_line = resample.in[1] * resample.run;
    resample.out_line = resample.out[1] * resample.run;
    if (resample.linear)
        find_units(&resample);
    resample.non_temporal = wnn_is_non_temporal(call->out[0].count * resample.size);
    wnn_parallel_for(call->parallel, r.outer * r.middle * resample.out[0], 1 + 8192 / resample.out_line,
                     resample.linear ? WNN_BEST_ISA(linear_lines) : WNN_BEST_ISA(nearest_lines), &resample);
}

const struct kernel wnn_cpu_resample2d = {.run = run_resample2d};
