// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/shared_constants.h"

#include <string.h>

void wnn_shared_open(struct shared_constants *shared, struct gpu *gpu)
{
    *shared = (struct shared_constants){.gpu = gpu};
    pthread_mutex_init(&shared->lock, NULL);
}

void wnn_shared_close(struct shared_constants *shared)
{
    if (!shared->gpu)
        return;
    pthread_mutex_destroy(&shared->lock);
    *shared = (struct shared_constants){0};
}

// Takes the constants of a piece off the list, and returns a list of them.
static struct shared_constant *take_constants(struct shared_constants *shared,
                                              const struct shared_piece *piece)
{
    struct shared_constant *taken = NULL;
    for (struct shared_constant **at = &shared->first, *constant; (constant = *at);) {
        if (constant->piece != piece) {
            at = &constant->next;
            continue;
        }
        *at = constant->next;
        constant->next = taken;
        taken = constant;
    }
    return taken;
}

// Gives back a piece.
static void release(struct shared_constants *shared, struct shared_piece *piece)
{
    struct shared_piece **at = &shared->pieces;
    struct shared_constant *constants = NULL;
    pthread_mutex_lock(&shared->lock);
    bool last = --piece->users == 0;
    if (last) {
        constants = take_constants(shared, piece);
        while (*at != piece)
            at = &(*at)->next;
        *at = piece->next;
    }
    pthread_mutex_unlock(&shared->lock);
    if (!last)
        return;
    for (struct shared_constant *next; constants; constants = next) {
        next = constants->next;
        wnn_constant_unref(constants->source);
        wnn_derived_unref(constants->set);
        wnn_release(shared->gpu->allocator, constants);
    }
    wnn_buffer_free(shared->gpu, &piece->buffer);
    wnn_release(shared->gpu->allocator, piece);
}

static bool has_digest(const struct shared_constant *known, const struct shared_constant *value)
{
    return known->has_digest && value->has_digest && known->arrangement == value->arrangement &&
           known->set == value->set && known->bytes == value->bytes &&
           memcmp(known->digest, value->digest, sizeof known->digest) == 0;
}

// Under the lock: takes a constant off the list that another is known by the digest of. False: there is none.
static bool take_double(struct shared_constants *shared, struct shared_constant *constant)
{
    const struct shared_constant *other = shared->first;
    while (other && (other == constant || other->piece != constant->piece || !has_digest(other, constant)))
        other = other->next;
    struct shared_constant **at = &shared->first;
    while (other && *at != constant)
        at = &(*at)->next;
    if (other)
        *at = constant->next;
    return other;
}

// When nobody uses it any more as what was recorded, that is kept no longer if it is known otherwise.
static void unuse(struct shared_constants *shared, struct shared_constant *constant)
{
    struct constant *source = NULL;
    bool taken = false;
    pthread_mutex_lock(&shared->lock);
    if (--constant->users == 0 && constant->has_digest) {
        source = constant->source;
        constant->source = NULL;
        taken = take_double(shared, constant);
    }
    pthread_mutex_unlock(&shared->lock);
    wnn_constant_unref(source);
    if (!taken)
        return;
    wnn_derived_unref(constant->set);
    wnn_release(shared->gpu->allocator, constant);
}

void wnn_shared_release(struct shared_constants *shared, const struct shared_holds *holds)
{
    for (size_t i = 0; i < holds->constant_count; i++)
        unuse(shared, holds->constants[i]);
    for (size_t i = 0; i < holds->piece_count; i++)
        release(shared, holds->pieces[i]);
}

// ---------------------------------------------------------------------------------------------------------------
// Placing
// ---------------------------------------------------------------------------------------------------------------

struct placing {
    struct shared_constants *shared;
    const struct plan *plan;
    struct region *regions;
    struct shared_constant *values; // by operand
    struct shared_holds *holds;
    struct shared_piece *fresh; // the piece that is filled now
    uint64_t most;
};

// Under the lock: lets the executable hold a piece.
static void hold(struct placing *placing, struct shared_piece *piece)
{
    struct shared_holds *holds = placing->holds;
    for (size_t i = 0; i < holds->piece_count; i++)
        if (holds->pieces[i] == piece)
            return;
    holds->pieces[holds->piece_count++] = piece;
    piece->users++;
}

// Under the lock: lets it hold what it knows by what was recorded.
static void hold_constant(struct shared_holds *holds, struct shared_constant *constant)
{
    holds->constants[holds->constant_count++] = constant;
    constant->users++;
}

static bool has_source(const struct shared_constant *known, const struct shared_constant *value)
{
    return value->source && known->source == value->source && known->arrangement == value->arrangement;
}

// Where the same constant is, by what was recorded if it is known by that; NULL: nowhere.
static struct shared_constant *find(const struct shared_constants *shared,
                                    const struct shared_constant *value)
{
    struct shared_constant *equal = NULL;
    for (struct shared_constant *known = shared->first; known; known = known->next) {
        if (has_source(known, value))
            return known;
        if (!equal && has_digest(known, value))
            equal = known;
    }
    return equal;
}

static bool is_recorded(const struct graph *graph, const struct constant *source)
{
    const struct graph *recorded = graph->recorded;
    for (size_t i = 0; recorded && i < recorded->operand_count; i++)
        if (recorded->operands[i]->constant == source)
            return true;
    return false;
}

// Whether names alone say what the bytes are, and not where others lie that are lent.
static bool has_name(const struct constant *constant)
{
    enum {
        MAX_HELD = 1024 // which identify themselves
    };
    return constant->origin && constant->origin->held <= MAX_HELD;
}

// By its name, or by its bytes if the next graph will have others that are the same.
static bool identify(const struct placing *placing, struct constant *constant, struct shared_constant *value,
                     struct error *error)
{
    const struct plan *plan = placing->plan;
    struct derived *host = wnn_derived_host(plan->derived);
    value->has_digest = true;
    if (host && has_name(constant) && wnn_derived_identify(constant, value->digest)) {
        value->set = host;
        return true;
    }
    struct constant *with = wnn_with_bytes(placing->shared->gpu, plan->resolver, constant, error);
    if (!with)
        return false;
    struct sha256 hash;
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, with->data, with->bytes);
    wnn_sha256_end(&hash, value->digest);
    wnn_constant_unref(with);
    return true;
}

// False: no memory.
static bool begin_piece(struct placing *placing)
{
    struct shared_piece *piece = wnn_allocate_zero(placing->shared->gpu->allocator, sizeof *placing->fresh);
    if (!piece)
        return false;
    pthread_mutex_lock(&placing->shared->lock);
    piece->next = placing->shared->pieces;
    placing->shared->pieces = piece;
    hold(placing, piece);
    pthread_mutex_unlock(&placing->shared->lock);
    placing->fresh = piece;
    return true;
}

// Whether others have it there already. What is known by its digest alone will be known by what was recorded.
static bool place_there(struct placing *placing, size_t i)
{
    struct shared_constant *value = &placing->values[i];
    pthread_mutex_lock(&placing->shared->lock);
    struct shared_constant *known = find(placing->shared, value);
    if (known) {
        hold(placing, known->piece);
        placing->regions[i] = (struct region){&known->piece->buffer, known->offset, known->bytes};
        if (has_source(known, value)) {
            hold_constant(placing->holds, known);
        } else if (value->source) {
            value->piece = known->piece;
            value->offset = known->offset;
        }
    }
    pthread_mutex_unlock(&placing->shared->lock);
    return known;
}

// Whether this graph has got it already.
static bool place_beside(struct placing *placing, size_t i)
{
    const struct shared_constant *value = &placing->values[i];
    for (size_t k = 0; k < i; k++)
        if (placing->values[k].piece &&
            (has_source(&placing->values[k], value) || has_digest(&placing->values[k], value))) {
            placing->regions[i] = placing->regions[k];
            return true;
        }
    return false;
}

// There, or in one of the new pieces.
static bool place(struct placing *placing, size_t i, struct error *error)
{
    const struct operand *operand = placing->plan->graph.operands[i];
    struct constant *constant = operand->constant;
    struct shared_constant *value = &placing->values[i];
    *value = (struct shared_constant){.arrangement = operand->arrangement, .bytes = constant->bytes};
    if (is_recorded(&placing->plan->graph, constant)) {
        value->source = constant;
        if (place_there(placing, i) || place_beside(placing, i))
            return true;
    }
    if (!value->source || wnn_derived_has_part(placing->plan->derived)) {
        if (!identify(placing, constant, value, error))
            return false;
        if (place_there(placing, i) || place_beside(placing, i))
            return true;
    }
    size_t bytes = wnn_aligned(value->bytes);
    if ((!placing->fresh || placing->fresh->buffer.bytes + bytes > placing->most) && !begin_piece(placing))
        return wnn_fail_memory(error);
    value->is_new = true;
    value->piece = placing->fresh;
    value->offset = placing->fresh->buffer.bytes;
    placing->fresh->buffer.bytes += bytes; // of which there will be a buffer
    placing->regions[i] = (struct region){&value->piece->buffer, value->offset, value->bytes};
    return true;
}

// Buffers for those pieces that have none yet.
static bool create_buffers(const struct placing *placing, struct error *error)
{
    for (size_t i = 0; i < placing->holds->piece_count; i++) {
        struct buffer *buffer = &placing->holds->pieces[i]->buffer;
        size_t bytes = buffer->bytes;
        if (!buffer->handle &&
            !wnn_buffer_create(placing->shared->gpu, bytes, BUFFER_WRITABLE, buffer, error))
            return false;
    }
    return true;
}

bool wnn_shared_place(struct shared_constants *shared, const struct plan *plan, uint64_t most,
                      struct region *regions, struct shared_constant *values, struct shared_holds *holds,
                      struct error *error)
{
    struct placing placing = {shared, plan, regions, values, holds, NULL, most};
    for (size_t i = 0; i < plan->graph.operand_count; i++)
        if (plan->graph.operands[i]->constant && plan->graph.operands[i]->uses > 0 &&
            !place(&placing, i, error))
            return false;
    return create_buffers(&placing, error);
}

// ---------------------------------------------------------------------------------------------------------------
// Publishing
// ---------------------------------------------------------------------------------------------------------------

bool wnn_shared_publish(struct shared_constants *shared, const struct shared_constant *values, size_t count,
                        struct shared_holds *holds, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (!values[i].piece)
            continue;
        struct shared_constant *constant = wnn_allocate(shared->gpu->allocator, sizeof *constant);
        if (!constant)
            return wnn_fail_memory(error);
        *constant = values[i];
        constant->is_new = false;
        if (constant->source)
            wnn_constant_ref(constant->source);
        if (constant->set)
            wnn_derived_ref(constant->set);
        pthread_mutex_lock(&shared->lock);
        constant->next = shared->first;
        shared->first = constant;
        if (constant->source)
            hold_constant(holds, constant);
        pthread_mutex_unlock(&shared->lock);
    }
    return true;
}
