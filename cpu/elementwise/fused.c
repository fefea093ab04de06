// SPDX-License-Identifier: Apache-2.0
//
// elementwise: the steps of a chain one after the other on a chunk at a time, so that what lies between them
// stays in the first-level cache. Each step is the loop of its operator's own kernel, or one for several
// steps (joined.c), and rounds to float16 as that does: the results are the same bits.

#include "cpu/elementwise/elementwise.h"

enum {
    VALUES = WNN_ELEMENTWISE_INPUTS + WNN_ELEMENTWISE_STEPS,
    POOL_BYTES = 32768, // for the chunks that have no other place
    // So many of the fastest take longer than a lookup in a table.
    SLOW_STEPS = 4,
    SLOW_STEPS_AVX512 = 8,
};

// Where a value lies while a chunk is computed.
struct value {
    WNNDataType type;
    uint8_t last;      // the last step that reads it
    uint8_t slot;      // of the pool
    bool pooled;       // in that slot; else an input in its tensor or cursor, or an output in its tensor
    bool non_temporal; // of an output
    const struct tensor *out; // of an output, or NULL
};

// What computes a step, and of which values.
struct link {
    struct chunk_step loop; // without `run`: a later one computes this step, too
    uint8_t in_count, in[3];
    bool packed; // it reads and writes float16 where that lies
};

struct chain {
    const struct elementwise_step *steps;
    unsigned input_count, step_count;
    struct link links[WNN_ELEMENTWISE_STEPS];
    struct view views[WNN_ELEMENTWISE_INPUTS];
    struct value values[VALUES]; // inputs, results of steps
    bool non_temporal;           // some output
    uint32_t joined;             // bit i: link i is of several steps
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

// Puts a value that step `from` makes into the first slot that is free then. The last read of a slot's old
// value must lie before, since the loops may not write over their operands in chunks of another size.
static void assign_slot(struct value *value, unsigned from, uint8_t *busy_until, unsigned *slots)
{
    unsigned slot = 0;
    while (slot < *slots && busy_until[slot] >= from)
        slot++;
    *slots += slot == *slots;
    busy_until[slot] = value->last;
    value->slot = (uint8_t)slot;
    value->pooled = true;
}

// Returns the number of slots.
static unsigned assign_slots(struct chain *chain)
{
    uint8_t busy_until[VALUES]; // by slot: the last step that reads what lies there
    unsigned slots = 0;
    for (unsigned i = 0; i < chain->step_count; i++) {
        const struct link *link = &chain->links[i];
        if (!link->loop.run || link->packed)
            continue;
        for (unsigned j = 0; j < link->in_count; j++) {
            struct value *value = &chain->values[link->in[j]];
            if (link->in[j] < chain->input_count && value->type == WNNDataType_Float16 && !value->pooled)
                assign_slot(value, i, busy_until, &slots);
        }
        struct value *result = &chain->values[chain->input_count + i];
        if (!result->out || !is_plain(result->type) || (result->non_temporal && result->last > i))
            assign_slot(result, i, busy_until, &slots);
    }
    return slots;
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
        chain->joined |= (uint32_t)1 << i;
    }
}

// Whether float16 that the joined steps read is there as such, and nothing in the chain reads what they make.
static bool is_packed(const struct chain *chain, const struct link *link, unsigned step)
{
    const struct value *result = &chain->values[chain->input_count + step];
    bool packed = result->type == WNNDataType_Float16 && result->out && result->last == step &&
                  link->loop.chain.form != VMATH_CHAIN_GELU_BY_TANH;
    for (unsigned i = 0; i < link->in_count; i++)
        packed &= link->in[i] < chain->input_count;
    return packed;
}

// The last step that reads each value.
static void find_last(struct chain *chain)
{
    for (unsigned i = 0; i < chain->step_count; i++) {
        const struct link *link = &chain->links[i];
        chain->values[chain->input_count + i].last = (uint8_t)i;
        for (unsigned j = 0; j < link->in_count && link->loop.run; j++)
            chain->values[link->in[j]].last = (uint8_t)i;
    }
    for (unsigned i = 0; i < chain->step_count; i++) {
        struct link *link = &chain->links[i];
        link->packed = chain->joined >> i & 1 && is_packed(chain, link, i);
        link->loop.chain.packed = link->packed;
    }
}

static void prepare(const struct kernel_call *call, struct chain *chain)
{
    const struct elementwise_attrs *attrs = call->node->attrs;
    chain->steps = attrs->steps;
    chain->step_count = attrs->count;
    chain->input_count = call->node->in_count;
    chain->non_temporal = false;
    chain->joined = 0;
    chain->count = call->out[0].count;
    size_t size = 1;
    for (unsigned i = 0; i < chain->input_count + chain->step_count; i++)
        chain->values[i] =
            (struct value){.type = i < chain->input_count ? call->in[i].type
                                                          : chain->steps[i - chain->input_count].type.type};
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
        size_t own = wnn_cpu_chunk_size(result->type);
        size = own > size ? own : size;
    }
    for (unsigned i = 0; i < chain->input_count; i++)
        if (chain->values[i].type == WNNDataType_Float16 && size < sizeof(float))
            size = sizeof(float);
    join_steps(call, chain);
    find_last(chain);
    unsigned slots = assign_slots(chain);
    chain->chunk = WNN_CHUNK;
    while (slots * chain->chunk * size > POOL_BYTES)
        chain->chunk /= 2;
    chain->slot_bytes = chain->chunk * size;
}
_Static_assert(VALUES * 64 * sizeof(uint64_t) <= POOL_BYTES, "chunks have at least 64 elements");

// What one thread needs besides.
struct room {
    struct cursor cursors[WNN_ELEMENTWISE_INPUTS];
    _Alignas(64) unsigned char pool[POOL_BYTES];
    _Alignas(64) uint16_t halves[WNN_CHUNK];
    struct chunk_room output; // that no later step reads
};

// Elements [index, index + count) of an input.
static const void *read_input(const struct chain *chain, struct room *room, unsigned input, size_t index,
                              size_t count)
{
    const struct value *value = &chain->values[input];
    const void *elements = wnn_cpu_cursor_read(&room->cursors[input], index, count);
    if (!value->pooled)
        return elements;
    for (size_t i = 0; i < count * sizeof(uint16_t);
         i += WNN_LINE) // what is next, while numbers are converted
        __builtin_prefetch((const char *)elements + chain->chunk * sizeof(uint16_t) + i);
    float *floats = (float *)(void *)(room->pool + value->slot * chain->slot_bytes);
    wnn_half_to_float_array(elements, floats, count);
    return floats;
}

// Rounds a result to float16 as it stands there, and puts it into the output that it is.
static void put_halves(const struct value *value, struct room *room, float *floats, bool read, size_t index,
                       size_t count)
{
    if (!value->out) {
        wnn_half_round_array(floats, count);
        return;
    }
    uint16_t *out = (uint16_t *)value->out->data + index, *halves = value->non_temporal ? room->halves : out;
    wnn_half_from_float_array(floats, halves, count);
    if (value->non_temporal)
        wnn_nt_store(out, halves, count * sizeof *halves);
    if (read)
        wnn_half_to_float_array(halves, floats, count);
}

// Runs a step, and puts its result into the output that it is. Returns where the steps behind it find the
// result.
static const void *run_link(const struct chain *chain, struct room *room, unsigned number,
                            const void *const in[3], size_t index, size_t count)
{
    const struct value *value = &chain->values[chain->input_count + number];
    const struct chunk_step *loop = &chain->links[number].loop;
    bool packed = chain->links[number].packed;
    size_t size = packed ? sizeof(uint16_t) : wnn_cpu_chunk_size(value->type);
    if (!value->pooled) {
        unsigned char *out = (unsigned char *)value->out->data + index * size;
        room->output.non_temporal = value->non_temporal;
        if (value->non_temporal && loop->stream) {
            loop->stream(loop, in, out, count);
        } else {
            loop->run(loop, in, wnn_cpu_chunk_begin(&room->output, out), count);
            wnn_cpu_chunk_end(&room->output, out, count * size);
        }
        return out;
    }
    unsigned char *slot = room->pool + value->slot * chain->slot_bytes;
    loop->run(loop, in, slot, count);
    if (value->type == WNNDataType_Float16)
        put_halves(value, room, (float *)(void *)slot, value->last > number, index, count);
    else if (value->out && is_plain(value->type))
        wnn_nt_store((unsigned char *)value->out->data + index * size, slot, count * size);
    else if (value->out)
        wnn_cpu_pack_pairs(slot, value->out->data, index, count);
    return slot;
}

static void run_chunk(const struct chain *chain, struct room *room, size_t index, size_t count)
{
    const void *at[VALUES];
    for (unsigned i = 0; i < chain->input_count; i++)
        at[i] = NULL;
    for (unsigned i = 0; i < chain->step_count; i++) {
        const struct link *link = &chain->links[i];
        const void *in[3] = {NULL};
        if (!link->loop.run)
            continue;
        for (unsigned j = 0; j < link->in_count; j++) {
            unsigned value = link->in[j];
            if (link->packed)
                in[j] = wnn_cpu_cursor_read(&room->cursors[value], index, count);
            else if (!at[value])
                at[value] = read_input(chain, room, value, index, count);
            in[j] = link->packed ? in[j] : at[value];
        }
        at[chain->input_count + i] = run_link(chain, room, i, in, index, count);
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
