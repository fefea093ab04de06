// SPDX-License-Identifier: Apache-2.0
//
// elementwise: the steps of a chain one after the other on a chunk at a time, so that what lies between them
// stays in the first-level cache. Each step is the loop of its operator's own kernel, or one for several
// steps (joined.c), and rounds to float16 as that does: the results are the same bits.
//
// Values of float16 have two forms, float32 and as they lie in memory. Loops that read and write the latter
// are taken where there are some; a value gets the other form when it is read in that.

#include "cpu/elementwise/elementwise.h"

enum {
    VALUES = WNN_ELEMENTWISE_INPUTS + WNN_ELEMENTWISE_STEPS,
    POOL_BYTES = 32768, // for the chunks that have no other place, if they need not be shorter than
    LEAST_CHUNK = 64,   // elements
    // So many of the fastest take longer than a lookup in a table.
    SLOW_STEPS = 4,
    SLOW_STEPS_AVX512 = 8,
};

enum form {
    FORM_CHUNK, // as most loops have elements (chunk_step)
    FORM_HALVES,
    FORM_COUNT
};

enum {
    NO_SLOT = 0xFF // in the tensor or cursor of an input, or in the tensor of an output
};

// Where a value lies while a chunk is computed.
struct value {
    WNNDataType type;
    uint8_t last;             // the last step that reads it
    bool read[FORM_COUNT];    // by some step
    uint8_t slot[FORM_COUNT]; // of the pool
    bool non_temporal;        // of an output
    const struct tensor *out; // of an output, or NULL
};

// What computes a step, and of which values.
struct link {
    struct chunk_step loop; // without `run`: a later one computes this step, too
    uint8_t in_count, in[3];
    enum form form; // of what it reads and writes
};

struct chain {
    const struct elementwise_step *steps;
    unsigned input_count, step_count;
    struct link links[WNN_ELEMENTWISE_STEPS];
    struct view views[WNN_ELEMENTWISE_INPUTS];
    struct value values[VALUES]; // inputs, results of steps
    bool non_temporal;           // some output
    size_t count;                // elements
    size_t chunk, slot_bytes;
};

static struct chunk_step step_of(const struct chain *chain, const struct elementwise_step *step,
                                 const struct tensor *in)
{
    WNNDataType type = chain->values[step->in[0]].type;
    switch (step->op) {
    case WNN_OP_pow:
        return wnn_dtype_is_float(type) && step->in[1] < chain->input_count
                   ? wnn_cpu_power_step(&in[step->in[1]])
                   : wnn_cpu_binary_step(WNN_OP_pow, type);
    case WNN_OP_cast:
        return wnn_cpu_cast_step(type, step->type.type);
    case WNN_OP_where:
        return wnn_cpu_where_step(step->type.type);
    case WNN_OP_quantizeLinear:
        return wnn_cpu_quantize_step(step->type.type);
    case WNN_OP_dequantizeLinear:
        return wnn_cpu_dequantize_step(type);
    default:
        return step->in_count == 2 ? wnn_cpu_binary_step((enum op)step->op, type)
                                   : wnn_cpu_unary_step((enum op)step->op, step->attrs, type);
    }
}

// Whether elements lie in a chunk as they do in the tensor.
static bool is_plain(WNNDataType type)
{
    return type != WNNDataType_Float16 && wnn_dtype_bits(type) >= 8;
}

// Which slots of the pool hold what.
struct slots {
    unsigned count;
    uint8_t busy_until[FORM_COUNT * VALUES]; // by slot: the last step that reads what lies there
};

// Puts a form of a value that is made in step `from` into the first slot that is free then, if it has none.
// The last read of a slot's old value must lie before, since the loops may not write over their operands in
// chunks of another size.
static void assign_slot(struct slots *slots, struct value *value, enum form form, unsigned from)
{
    unsigned slot = 0;
    if (value->slot[form] != NO_SLOT)
        return;
    while (slot < slots->count && slots->busy_until[slot] >= from)
        slot++;
    slots->count += slot == slots->count;
    slots->busy_until[slot] = value->last;
    value->slot[form] = (uint8_t)slot;
}

// Whether a step's result is made in the pool: it is not where it goes, or read again after it went past the
// caches.
static bool is_pooled(const struct value *result, enum form form, unsigned step)
{
    return !result->out || (form == FORM_CHUNK && !is_plain(result->type)) ||
           (result->non_temporal && result->last > step);
}

// Returns the number of slots.
static unsigned assign_slots(struct chain *chain)
{
    struct slots slots = {0};
    for (unsigned i = 0; i < chain->step_count; i++) {
        const struct link *link = &chain->links[i];
        struct value *result = &chain->values[chain->input_count + i];
        if (!link->loop.run)
            continue;
        for (unsigned j = 0; j < link->in_count; j++)
            if (chain->values[link->in[j]].type == WNNDataType_Float16 && link->form == FORM_CHUNK)
                assign_slot(&slots, &chain->values[link->in[j]], FORM_CHUNK, i);
        if (is_pooled(result, link->form, i))
            assign_slot(&slots, result, link->form, i);
        // What is made as float32 is rounded on the way to its output, or to who reads it.
        if (result->type == WNNDataType_Float16 && link->form == FORM_CHUNK &&
            (result->out ? result->non_temporal : result->read[FORM_HALVES]))
            assign_slot(&slots, result, FORM_HALVES, i);
    }
    return slots.count;
}

// Whether an output that another step makes takes the place of an input of the joined ones: they read it
// late.
static bool is_overwritten(const struct kernel_call *call, const struct joined_steps *joined, unsigned last)
{
    const struct elementwise_attrs *attrs = call->node->attrs;
    for (unsigned i = 0; i < attrs->count; i++)
        for (unsigned j = 0; j < joined->in_count && i != last; j++)
            if (attrs->steps[i].output != WNN_NO_OUTPUT && joined->in[j] < call->node->in_count &&
                call->out[attrs->steps[i].output].data == call->in[joined->in[j]].data)
                return true;
    return false;
}

static void join_steps(const struct kernel_call *call, struct chain *chain)
{
    for (unsigned i = chain->step_count; i-- > 1;) {
        struct joined_steps joined;
        struct link *link = &chain->links[i];
        if (chain->steps[i].op != WNN_OP_mul || !link->loop.run ||
            !wnn_cpu_join_steps(call->node->attrs, call->in, chain->input_count, i, &joined) ||
            is_overwritten(call, &joined, i))
            continue;
        for (unsigned j = 0; j < i; j++)
            if (joined.steps >> j & 1)
                chain->links[j].loop.run = NULL;
        *link = (struct link){joined.loop, joined.in_count, {joined.in[0], joined.in[1]}};
    }
}

// Whether a step has a loop of float16 as it lies in memory, for this processor.
static bool reads_halves(const struct chain *chain, const struct link *link, unsigned step)
{
    const uint16_t *const nothing[3] = {NULL};
    bool halves = chain->values[chain->input_count + step].type == WNNDataType_Float16 && link->loop.halves &&
                  link->loop.halves(&link->loop, nothing, NULL, 0, false);
    for (unsigned i = 0; i < link->in_count; i++)
        halves &= chain->values[link->in[i]].type == WNNDataType_Float16;
    return halves;
}

// The forms that steps read, and the last step that reads each value.
static void find_readers(struct chain *chain)
{
    for (unsigned i = 0; i < chain->step_count; i++) {
        struct link *link = &chain->links[i];
        chain->values[chain->input_count + i].last = (uint8_t)i;
        if (!link->loop.run)
            continue;
        link->form = reads_halves(chain, link, i) ? FORM_HALVES : FORM_CHUNK;
        for (unsigned j = 0; j < link->in_count; j++) {
            struct value *value = &chain->values[link->in[j]];
            value->last = (uint8_t)i;
            value->read[link->form] = true;
        }
    }
}

// The bytes of the largest elements in a chunk: of float16, if no step reads or makes it as float32, two.
static size_t largest_element(const struct chain *chain)
{
    size_t size = sizeof(uint16_t);
    for (unsigned i = 0; i < chain->step_count; i++) {
        const struct link *link = &chain->links[i];
        if (!link->loop.run || link->form == FORM_HALVES)
            continue;
        size_t own = wnn_cpu_chunk_size(chain->values[chain->input_count + i].type);
        size = own > size ? own : size;
        for (unsigned j = 0; j < link->in_count; j++) {
            own = wnn_cpu_chunk_size(chain->values[link->in[j]].type);
            size = own > size ? own : size;
        }
    }
    return size;
}

// Whether chunks are to be long: those of one loop, unless it reads so much that memory is the limit. Of more
// loops one reads and another writes, and what they do overlaps less in long chunks.
static bool gains_by_length(const struct chain *chain)
{
    unsigned loops = 0, operands = 0;
    for (unsigned i = 0; i < chain->step_count; i++) {
        loops += chain->links[i].loop.run != NULL;
        operands += chain->links[i].loop.run ? chain->links[i].in_count : 0;
    }
    return loops == 1 && (operands == 1 || !chain->non_temporal);
}

static void prepare(const struct kernel_call *call, struct chain *chain)
{
    const struct elementwise_attrs *attrs = call->node->attrs;
    chain->steps = attrs->steps;
    chain->step_count = attrs->count;
    chain->input_count = call->node->in_count;
    chain->non_temporal = false;
    chain->count = call->out[0].count;
    for (unsigned i = 0; i < chain->input_count + chain->step_count; i++)
        chain->values[i] =
            (struct value){.type = i < chain->input_count ? call->in[i].type
                                                          : chain->steps[i - chain->input_count].type.type,
                           .slot = {NO_SLOT, NO_SLOT}};
    for (unsigned i = 0; i < chain->step_count; i++) {
        const struct elementwise_step *step = &chain->steps[i];
        struct value *result = &chain->values[chain->input_count + i];
        result->out = step->output == WNN_NO_OUTPUT ? NULL : &call->out[step->output];
        result->non_temporal = result->out && wnn_cpu_chunks_non_temporal(call, result->out);
        chain->non_temporal |= result->non_temporal;
        for (unsigned j = 0; j < step->in_count; j++)
            if (step->in[j] < chain->input_count)
                wnn_cpu_view_init(&chain->views[step->in[j]], &call->in[step->in[j]], &step->type.shape);
        chain->links[i].loop = step_of(chain, step, call->in);
        chain->links[i].in_count = step->in_count;
        memcpy(chain->links[i].in, step->in, sizeof step->in);
    }
    join_steps(call, chain);
    find_readers(chain);
    size_t slots = assign_slots(chain), size = largest_element(chain);
    bool takes_long = size == sizeof(uint16_t) || gains_by_length(chain);
    chain->chunk = takes_long ? WNN_CHUNK_BYTES / size : WNN_CHUNK;
    while (slots * chain->chunk * size > POOL_BYTES && chain->chunk > LEAST_CHUNK)
        chain->chunk /= 2;
    chain->slot_bytes = chain->chunk * size;
}

// What one thread needs besides.
struct room {
    struct cursor cursors[WNN_ELEMENTWISE_INPUTS];
    _Alignas(64) unsigned char pool[FORM_COUNT * VALUES * LEAST_CHUNK * sizeof(uint64_t)];
    struct chunk_room output; // that no later step reads
};

// Elements [index, index + count) of all values, in each of their forms, or NULL where that has not been
// made.
struct chunk {
    size_t index, count;
    void *at[VALUES][FORM_COUNT];
};

WNN_INLINE void *slot_of(const struct chain *chain, struct room *room, const struct value *value,
                         enum form form)
{
    return value->slot[form] == NO_SLOT ? NULL : room->pool + value->slot[form] * chain->slot_bytes;
}

// Makes a form of a value, if it is not there.
WNN_INLINE const void *read_value(const struct chain *chain, struct room *room, struct chunk *chunk,
                                  unsigned number, enum form form)
{
    const struct value *value = &chain->values[number];
    void **at = chunk->at[number];
    enum form own = value->type == WNNDataType_Float16 ? FORM_HALVES : FORM_CHUNK; // of inputs
    if (!at[form] && !at[own])                                                     // nobody writes there
        at[own] = (void *)(uintptr_t)wnn_cpu_cursor_read(&room->cursors[number], chunk->index, chunk->count);
    if (at[form])
        return at[form];
    const char *halves = at[FORM_HALVES];
    size_t bytes = number < chain->input_count ? chunk->count * sizeof(uint16_t) : 0;
    for (size_t i = 0; i < bytes; i += WNN_LINE) // what is next, while numbers are converted
        __builtin_prefetch(halves + chain->chunk * sizeof(uint16_t) + i);
    at[form] = slot_of(chain, room, value, form);
    wnn_half_to_float_array(at[FORM_HALVES], at[form], chunk->count);
    return at[form];
}

// Rounds a result to float16 as it stands there, or in the other form, and puts it into the output that it
// is.
static void put_halves(const struct chain *chain, struct room *room, struct chunk *chunk, unsigned number)
{
    const struct value *value = &chain->values[number];
    void **at = chunk->at[number];
    size_t count = chunk->count;
    uint16_t *out = value->out ? (uint16_t *)value->out->data + chunk->index : NULL;
    uint16_t *halves = slot_of(chain, room, value, FORM_HALVES);
    at[FORM_HALVES] = halves = halves ? halves : out;
    if (!halves) {
        wnn_half_round_array(at[FORM_CHUNK], count);
        return;
    }
    wnn_half_from_float_array(at[FORM_CHUNK], halves, count);
    if (out && halves != out)
        wnn_nt_store(out, halves, count * sizeof *halves);
    if (value->read[FORM_CHUNK])
        wnn_half_to_float_array(halves, at[FORM_CHUNK], count);
}

// Runs a step into the pool or into an output.
WNN_INLINE void run_loop(const struct chunk_step *loop, enum form form, struct room *room,
                         const void *const in[3], void *out, size_t count, size_t bytes)
{
    if (form == FORM_HALVES) {
        const uint16_t *const halves[3] = {in[0], in[1], in[2]};
        loop->halves(loop, halves, out, count, room->output.non_temporal);
    } else if (room->output.non_temporal && loop->stream) {
        loop->stream(loop, in, out, count);
    } else {
        loop->run(loop, in, wnn_cpu_chunk_begin(&room->output, out), count);
        wnn_cpu_chunk_end(&room->output, out, bytes);
    }
}

// Runs a step, and puts its result into the output that it is.
WNN_INLINE void run_link(const struct chain *chain, struct room *room, struct chunk *chunk, unsigned step,
                         const void *const in[3])
{
    const unsigned number = chain->input_count + step;
    const struct value *value = &chain->values[number];
    const struct chunk_step *loop = &chain->links[step].loop;
    enum form form = chain->links[step].form;
    size_t size = form == FORM_HALVES ? sizeof(uint16_t) : wnn_cpu_chunk_size(value->type);
    size_t bytes = chunk->count * size;
    bool as_it_lies = form == FORM_HALVES || is_plain(value->type);
    unsigned char *out =
        value->out && as_it_lies ? (unsigned char *)value->out->data + chunk->index * size : NULL;
    void *slot = slot_of(chain, room, value, form);
    room->output.non_temporal = value->non_temporal && !slot;
    run_loop(loop, form, room, in, slot ? slot : out, chunk->count, bytes);
    chunk->at[number][form] = slot ? slot : out;
    if (form == FORM_CHUNK && value->type == WNNDataType_Float16)
        put_halves(chain, room, chunk, number);
    else if (out && slot)
        wnn_nt_store(out, slot, bytes);
    else if (value->out && !as_it_lies)
        wnn_cpu_pack_pairs(slot, value->out->data, chunk->index, chunk->count);
}

static void run_chunk(const struct chain *chain, struct room *room, size_t index, size_t count)
{
    struct chunk chunk;
    chunk.index = index;
    chunk.count = count;
    for (unsigned i = 0; i < chain->input_count + chain->step_count; i++)
        chunk.at[i][FORM_CHUNK] = chunk.at[i][FORM_HALVES] = NULL;
    for (unsigned i = 0; i < chain->step_count; i++) {
        const struct link *link = &chain->links[i];
        const void *in[3] = {NULL};
        if (!link->loop.run)
            continue;
        for (unsigned j = 0; j < link->in_count; j++)
            in[j] = read_value(chain, room, &chunk, link->in[j], link->form);
        run_link(chain, room, &chunk, i, in);
    }
}

// Over chunks, so that two 4-bit elements of one byte are written by one thread.
static void run_piece(void *argument, size_t begin, size_t end)
{
    const struct chain *chain = argument;
    struct room room;
    for (unsigned i = 0; i < chain->input_count; i++)
        wnn_cpu_cursor_init(&room.cursors[i], &chain->views[i]);
    for (size_t i = begin; i < end; i++) {
        size_t index = i * chain->chunk;
        run_chunk(chain, &room, index,
                  chain->count - index < chain->chunk ? chain->count - index : chain->chunk);
    }
    if (chain->non_temporal)
        wnn_nt_fence();
}

static void run_steps(const struct kernel_call *call)
{
    struct chain chain;
    if (call->out[0].count == 0)
        return;
    prepare(call, &chain);
    // As many elements as together are worth a thread.
    double work = 0;
    for (unsigned i = 0; i < chain.step_count; i++)
        work += chain.links[i].loop.run ? 1.0 / (double)chain.links[i].loop.grain : 0;
    size_t grain = (size_t)(1 / work / (double)chain.chunk) + 1;
    wnn_parallel_for(call->parallel, (chain.count + chain.chunk - 1) / chain.chunk, grain, run_piece, &chain);
}

// Whether a chain makes one float16 of another, which is input `x`, and of numbers, and takes longer than
// looking it up.
static bool is_tabled(const struct node *node, unsigned *x)
{
    const struct elementwise_attrs *attrs = node->attrs;
    const struct cpu_target *target = wnn_cpu_target(node);
    unsigned others = 0;
    bool slow = attrs->count >= (target->isa == WNN_ISA_AVX512 ? SLOW_STEPS_AVX512 : SLOW_STEPS);
    for (unsigned i = 0; i < node->in_count; i++) {
        bool number = wnn_shape_elements(&node->in[i]->type.shape) == 1;
        *x = number ? *x : i;
        others += !number;
    }
    for (unsigned i = 0; i < attrs->count; i++) {
        const struct elementwise_step *step = &attrs->steps[i];
        slow |= wnn_cpu_is_slow_unary((enum op)step->op, target);
        if (!wnn_shape_equal(&step->type.shape, &node->out[0]->type.shape) ||
            (step->output == WNN_NO_OUTPUT) != (i + 1 < attrs->count))
            return false;
    }
    return slow && others == 1 && wnn_shape_equal(&node->in[*x]->type.shape, &node->out[0]->type.shape) &&
           wnn_cpu_fills_table(node->in[*x], node->out[0]);
}

static size_t elementwise_scratch(const struct node *node, unsigned threads)
{
    unsigned x = 0;
    (void)threads;
    return is_tabled(node, &x) ? WNN_TABLE_BYTES : 0;
}

// The same steps on all float16 there are.
static void make_table(const struct kernel_call *call, unsigned x)
{
    struct elementwise_step steps[WNN_ELEMENTWISE_STEPS];
    struct elementwise_attrs attrs = *(const struct elementwise_attrs *)call->node->attrs;
    struct node node = *call->node;
    struct tensor in[WNN_ELEMENTWISE_INPUTS], all = wnn_cpu_all_halves(call->scratch);
    for (unsigned i = 0; i < node.in_count; i++) {
        in[i] = i == x ? all : call->in[i];
        in[i].shape.rank = i == x; // of numbers 0
    }
    for (unsigned i = 0; i < attrs.count; i++) {
        steps[i] = attrs.steps[i];
        steps[i].type.shape = all.shape;
    }
    attrs.steps = steps;
    node.attrs = &attrs;
    run_steps(&(struct kernel_call){&node, in, &all, NULL, call->parallel});
}

static void run_elementwise(const struct kernel_call *call)
{
    unsigned x = 0;
    if (is_tabled(call->node, &x)) {
        make_table(call, x);
        wnn_cpu_look_up(call, &call->in[x]);
    } else {
        run_steps(call);
    }
}

// The output must not be written before the input has been read for the last time.
static bool may_alias(const struct node *node, unsigned input)
{
    const struct elementwise_attrs *attrs = node->attrs;
    unsigned last = 0, written = 0;
    for (unsigned i = 0; i < attrs->count; i++) {
        const struct elementwise_step *step = &attrs->steps[i];
        for (unsigned j = 0; j < step->in_count; j++)
            if (step->in[j] == input)
                last = i;
        if (step->output == 0)
            written = i;
    }
    return last <= written;
}

const struct kernel wnn_cpu_elementwise = {
    .run = run_elementwise, .scratch = elementwise_scratch, .in_place = ~0u, .may_alias = may_alias};
