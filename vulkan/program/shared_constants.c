// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/shared_constants.h"

#include "lib/sha256.h"

#include <string.h>

struct shared_constant {
    struct shared_constant *next;
    // Of one that is known by what was recorded, references, or NULL: that, and what stands for it in graphs.
    struct constant *source, *made;
    enum shared_form form;
    unsigned users; // of these: executables, and the build that runs
    bool reserved;  // for that
    bool is_hashed; // it is known by its digest
    unsigned char digest[WNN_SHA256_BYTES];
    size_t bytes;
    struct shared_piece *piece; // NULL: not yet
    size_t offset;
};

void wnn_shared_open(struct shared_constants *shared, struct gpu *gpu)
{
    *shared = (struct shared_constants){.gpu = gpu};
    pthread_mutex_init(&shared->lock, NULL);
}

static void free_constant(struct shared_constants *shared, struct shared_constant *constant)
{
    wnn_constant_unref(constant->source);
    wnn_constant_unref(constant->made);
    wnn_release(shared->gpu->allocator, constant);
}

// Under the lock: forgets the constants of a piece, or those of none.
static void forget(struct shared_constants *shared, const struct shared_piece *piece)
{
    for (struct shared_constant **at = &shared->first, *constant; (constant = *at);) {
        if (constant->piece != piece) {
            at = &constant->next;
            continue;
        }
        *at = constant->next;
        free_constant(shared, constant);
    }
}

static bool has_digest(const struct shared_constant *known, const struct shared_constant *value)
{
    return known->is_hashed && value->is_hashed && known->bytes == value->bytes &&
           memcmp(known->digest, value->digest, sizeof known->digest) == 0;
}

// Under the lock: takes a constant that is known otherwise too off the list. NULL: it is not.
static struct shared_constant *take_double(struct shared_constants *shared, struct shared_constant *constant)
{
    const struct shared_constant *other = shared->first;
    while (other && (other == constant || other->piece != constant->piece || !has_digest(other, constant)))
        other = other->next;
    struct shared_constant **at = &shared->first;
    while (other && *at != constant)
        at = &(*at)->next;
    if (!other)
        return NULL;
    *at = constant->next;
    return constant;
}

// Nobody uses it any more as what was recorded, so that this is kept no longer: who knows its bytes need not.
static void unuse(struct shared_constants *shared, struct shared_constant *constant)
{
    struct constant *source = NULL, *made = NULL;
    struct shared_constant *gone = NULL;
    pthread_mutex_lock(&shared->lock);
    if (--constant->users == 0 && constant->is_hashed) {
        source = constant->source;
        made = constant->made;
        constant->source = constant->made = NULL;
        gone = take_double(shared, constant);
    }
    pthread_mutex_unlock(&shared->lock);
    wnn_constant_unref(source);
    wnn_constant_unref(made);
    wnn_release(shared->gpu->allocator, gone);
}

// Gives back a piece.
static void release(struct shared_constants *shared, struct shared_piece *piece)
{
    struct shared_piece **at = &shared->pieces;
    pthread_mutex_lock(&shared->lock);
    bool last = --piece->users == 0;
    if (last) {
        forget(shared, piece);
        while (*at != piece)
            at = &(*at)->next;
        *at = piece->next;
    }
    pthread_mutex_unlock(&shared->lock);
    if (!last)
        return;
    wnn_buffer_free(shared->gpu, &piece->buffer);
    wnn_release(shared->gpu->allocator, piece);
}

// Likewise a constant.
static struct shared_constant *take_reserved_constant(struct shared_constants *shared)
{
    pthread_mutex_lock(&shared->lock);
    struct shared_constant *constant = shared->first;
    while (constant && !constant->reserved)
        constant = constant->next;
    if (constant)
        constant->reserved = false;
    pthread_mutex_unlock(&shared->lock);
    return constant;
}

// Under the lock: one that a build has reserved, which it no longer does; NULL: there is none.
static struct shared_piece *take_reserved(struct shared_constants *shared)
{
    struct shared_piece *piece = shared->pieces;
    while (piece && !piece->reserved)
        piece = piece->next;
    if (piece)
        piece->reserved = false;
    return piece;
}

void wnn_shared_purge(struct shared_constants *shared)
{
    struct shared_piece *piece;
    for (struct shared_constant *constant; (constant = take_reserved_constant(shared));)
        unuse(shared, constant);
    do {
        pthread_mutex_lock(&shared->lock);
        forget(shared, NULL);
        piece = take_reserved(shared);
        pthread_mutex_unlock(&shared->lock);
        if (piece)
            release(shared, piece);
    } while (piece);
}

void wnn_shared_close(struct shared_constants *shared)
{
    if (!shared->gpu)
        return;
    wnn_shared_purge(shared);
    pthread_mutex_destroy(&shared->lock);
    *shared = (struct shared_constants){0};
}

struct constant *wnn_shared_find(struct shared_constants *shared, const struct constant *source,
                                 enum shared_form form)
{
    struct constant *made = NULL;
    pthread_mutex_lock(&shared->lock);
    for (struct shared_constant *constant = shared->first; constant && !made; constant = constant->next)
        if (constant->source == source && constant->form == form) {
            struct shared_piece *piece = constant->piece;
            made = wnn_constant_ref(constant->made);
            if (!constant->reserved) {
                constant->reserved = true;
                constant->users++;
            }
            if (piece && !piece->reserved) {
                piece->reserved = true;
                piece->users++;
            }
        }
    pthread_mutex_unlock(&shared->lock);
    return made;
}

static bool is_recorded(const struct graph *graph, const struct constant *source)
{
    const struct graph *recorded = graph->recorded;
    for (size_t i = 0; recorded && i < recorded->operand_count; i++)
        if (recorded->operands[i]->constant == source)
            return true;
    return false;
}

// Adds one that is in no list yet; NULL: no memory, and nothing has happened.
static struct shared_constant *add(struct shared_constants *shared, const struct shared_constant *value)
{
    struct shared_constant *constant = wnn_allocate(shared->gpu->allocator, sizeof *constant);
    if (!constant)
        return NULL;
    *constant = *value;
    if (constant->source)
        wnn_constant_ref(constant->source);
    if (constant->made)
        wnn_constant_ref(constant->made);
    pthread_mutex_lock(&shared->lock);
    constant->next = shared->first;
    shared->first = constant;
    pthread_mutex_unlock(&shared->lock);
    return constant;
}

void wnn_shared_note(struct shared_constants *shared, const struct graph *graph, struct constant *source,
                     enum shared_form form, struct constant *made)
{
    if (is_recorded(graph, source))
        add(shared,
            &(struct shared_constant){.source = source, .form = form, .made = made, .bytes = made->bytes});
}

// ---------------------------------------------------------------------------------------------------------------
// Placing
// ---------------------------------------------------------------------------------------------------------------

struct placing {
    struct shared_constants *shared;
    const struct graph *graph;
    bool by_bytes; // with other graphs
    struct region *regions;
    struct shared_holds *holds;
    struct shared_piece *fresh;     // the piece that is filled now
    struct shared_constant *values; // by operand: what becomes known of those that are new
    struct upload *uploads;
    size_t upload_count;
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
static void hold_constant(struct placing *placing, struct shared_constant *constant)
{
    struct shared_holds *holds = placing->holds;
    if (!constant->made)
        return;
    holds->constants[holds->constant_count++] = constant;
    constant->users++;
}

static bool matches(const struct shared_constant *known, const struct shared_constant *value)
{
    return (value->made && known->made == value->made) || has_digest(known, value);
}

// Where the same constant is, by what was recorded if anybody knows that; NULL: nowhere.
static struct shared_constant *find(const struct shared_constants *shared,
                                    const struct shared_constant *value)
{
    struct shared_constant *equal = NULL;
    for (struct shared_constant *known = shared->first; known; known = known->next) {
        if (known->piece && value->made && known->made == value->made)
            return known;
        if (known->piece && !equal && has_digest(known, value))
            equal = known;
    }
    return equal;
}

static void hash(struct shared_constant *value, const struct constant *constant)
{
    struct sha256 hash;
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, constant->data, constant->bytes);
    wnn_sha256_end(&hash, value->digest);
    value->is_hashed = true;
}

// What is known of a constant before it is placed: who it is, or what its bytes are if the next
// specialization will have others that are the same.
static struct shared_constant describe(const struct placing *placing, struct constant *constant)
{
    struct shared_constant value = {.bytes = constant->bytes};
    bool is_noted = false;
    pthread_mutex_lock(&placing->shared->lock);
    for (const struct shared_constant *known = placing->shared->first; known && !is_noted;
         known = known->next)
        is_noted = known->made == constant;
    pthread_mutex_unlock(&placing->shared->lock);
    if (is_noted || is_recorded(placing->graph, constant))
        value.source = value.made = constant;
    else
        hash(&value, constant);
    return value;
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

// Takes its region from a piece that there is. False: there is none.
static bool place_there(struct placing *placing, size_t i)
{
    struct shared_constant *value = &placing->values[i];
    pthread_mutex_lock(&placing->shared->lock);
    struct shared_constant *known = find(placing->shared, value);
    struct shared_piece *piece = known ? known->piece : NULL;
    if (piece) {
        hold(placing, piece);
        placing->regions[i] = (struct region){&piece->buffer, known->offset, known->bytes};
        if (value->made && known->made == value->made) {
            hold_constant(placing, known);
        } else if (value->made) { // others have brought it there
            value->piece = piece;
            value->offset = known->offset;
        }
    }
    pthread_mutex_unlock(&placing->shared->lock);
    return piece != NULL;
}

// Likewise from what this graph has already got. False: nothing of it is the same.
static bool place_beside(struct placing *placing, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (placing->values[k].piece && matches(&placing->values[k], &placing->values[i])) {
            placing->regions[i] = placing->regions[k];
            return true;
        }
    return false;
}

// There, or in one of the new pieces. False: no memory.
static bool place(struct placing *placing, size_t i, uint64_t most)
{
    struct constant *constant = placing->graph->operands[i]->constant;
    struct shared_constant *value = &placing->values[i];
    *value = describe(placing, constant);
    if (place_there(placing, i) || place_beside(placing, i))
        return true;
    if (placing->by_bytes && !value->is_hashed) {
        hash(value, constant);
        if (place_there(placing, i) || place_beside(placing, i))
            return true;
    }
    size_t bytes = wnn_aligned(constant->bytes);
    if ((!placing->fresh || placing->fresh->buffer.bytes + bytes > most) && !begin_piece(placing))
        return false;
    value->piece = placing->fresh;
    value->offset = placing->fresh->buffer.bytes;
    placing->fresh->buffer.bytes += bytes; // of which there will be a buffer
    placing->regions[i] = (struct region){&value->piece->buffer, value->offset, constant->bytes};
    placing->uploads[placing->upload_count++] = (struct upload){constant->data, placing->regions[i]};
    return true;
}

// Buffers for those pieces that have none yet.
static bool create_buffers(struct placing *placing, struct error *error)
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

// Under the lock: what is known of a constant by what was recorded; NULL: nothing.
static struct shared_constant *find_recorded(const struct shared_constants *shared,
                                             const struct constant *made)
{
    struct shared_constant *known = shared->first;
    while (known && known->made != made)
        known = known->next;
    return known;
}

// Lets others find what is on the device now. What stands for a form need not have its data any longer.
static bool publish(struct placing *placing, const struct shared_constant *value)
{
    struct shared_constants *shared = placing->shared;
    pthread_mutex_lock(&shared->lock);
    struct shared_constant *known = value->made ? find_recorded(shared, value->made) : NULL;
    if (known) {
        known->piece = value->piece;
        known->offset = value->offset;
        known->is_hashed = value->is_hashed;
        memcpy(known->digest, value->digest, sizeof known->digest);
    }
    pthread_mutex_unlock(&shared->lock);
    if (!known && !(known = add(shared, value)))
        return false;
    pthread_mutex_lock(&shared->lock);
    hold_constant(placing, known);
    pthread_mutex_unlock(&shared->lock);
    if (known->form == SHARED_AS_IT_IS)
        return true;
    WNNExternalBytes nothing = {.byteLength = known->bytes};
    struct constant *empty = wnn_constant_lend(shared->gpu->allocator, &nothing);
    if (!empty)
        return false;
    wnn_constant_unref(known->made);
    known->made = empty;
    return true;
}

static bool place_all(struct placing *placing, struct program *program, uint64_t most, struct error *error)
{
    const struct graph *graph = placing->graph;
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->constant && graph->operands[i]->uses > 0 && !place(placing, i, most))
            return wnn_fail_memory(error);
    if (!create_buffers(placing, error) || !wnn_gpu_upload(placing->shared->gpu, &program->command_pool,
                                                           placing->uploads, placing->upload_count, error))
        return false;
    for (size_t i = 0; i < graph->operand_count; i++)
        if (placing->values[i].piece && !publish(placing, &placing->values[i]))
            return wnn_fail_memory(error);
    return true;
}

bool wnn_shared_place(struct shared_constants *shared, struct program *program, const struct plan *plan,
                      uint64_t most, struct region *regions, struct shared_holds *holds, struct error *error)
{
    const struct graph *graph = &plan->graph;
    struct placing placing = {.shared = shared,
                              .graph = graph,
                              .by_bytes = wnn_derived_has_part(plan->derived),
                              .regions = regions,
                              .holds = holds};
    struct arena arena;
    wnn_arena_init(&arena, shared->gpu->allocator);
    placing.values = wnn_arena_allocate(&arena, graph->operand_count * sizeof placing.values[0]);
    placing.uploads = wnn_arena_allocate(&arena, graph->operand_count * sizeof placing.uploads[0]);
    bool done = placing.values && placing.uploads ? place_all(&placing, program, most, error)
                                                  : wnn_fail_memory(error);
    wnn_arena_free(&arena);
    return done;
}

void wnn_shared_release(struct shared_constants *shared, const struct shared_holds *holds)
{
    for (size_t i = 0; i < holds->constant_count; i++)
        unuse(shared, holds->constants[i]);
    for (size_t i = 0; i < holds->piece_count; i++)
        release(shared, holds->pieces[i]);
}
