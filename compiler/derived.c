// SPDX-License-Identifier: Apache-2.0
#include "compiler/derived.h"

#include "ops/attrs.h"

#include <string.h>

#define BUCKETS     256
#define SMALL_BYTES 1024 // constants up to this size are compared byte by byte
#define MAX_WORDS   512  // of a key; a node that has more shares nothing

struct entry {
    struct entry *next;
    uint64_t hash;
    const uint32_t *words;
    size_t word_count;
    enum op op;
    const void *attrs;
    bool complete;
    struct constant **constants; // by operand of the node, references; NULL: it is none
    unsigned operand_count;
    void *packed;          // or
    struct constant *made; // a reference
};

struct derived {
    atomic_uint references;
    struct allocator *allocator;
    struct arena arena; // of entries
    struct entry *buckets[BUCKETS];
    // Of the graph's constants and those that were added, a table with open addresses.
    const struct constant **known;
    size_t known_count, known_mask;
    struct derived_size size;
    uint64_t max_constant_bytes;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

// ---------------------------------------------------------------------------------------------------------------
// Constants that are known
// ---------------------------------------------------------------------------------------------------------------

static const struct constant **place_of(const struct constant **known, size_t mask,
                                        const struct constant *constant)
{
    size_t at = (size_t)mix(0, (uintptr_t)constant) & mask;
    while (known[at] && known[at] != constant)
        at = (at + 1) & mask;
    return &known[at];
}

// Makes room for `count` in all.
static bool reserve(struct derived *derived, size_t count)
{
    size_t size = derived->known ? derived->known_mask + 1 : 64;
    while (size < 2 * count)
        size *= 2;
    if (derived->known && size == derived->known_mask + 1)
        return true;
    const struct constant **known = wnn_allocate_zero(derived->allocator, size * sizeof known[0]);
    if (!known)
        return false;
    for (size_t i = 0; derived->known && i <= derived->known_mask; i++)
        if (derived->known[i])
            *place_of(known, size - 1, derived->known[i]) = derived->known[i];
    wnn_release(derived->allocator, derived->known);
    derived->known = known;
    derived->known_mask = size - 1;
    return true;
}

// There is room for it.
static void know(struct derived *derived, const struct constant *constant)
{
    const struct constant **place = place_of(derived->known, derived->known_mask, constant);
    derived->known_count += !*place;
    *place = constant;
}

struct derived *wnn_derived_create(struct allocator *allocator, const struct graph *recorded)
{
    struct derived *derived = wnn_allocate_zero(allocator, sizeof *derived);
    if (!derived)
        return NULL;
    derived->allocator = allocator;
    derived->max_constant_bytes = recorded->constant_bytes;
    wnn_arena_init(&derived->arena, allocator);
    atomic_init(&derived->references, 1);
    size_t count = 0;
    for (size_t i = 0; i < recorded->operand_count; i++)
        count += recorded->operands[i]->constant != NULL;
    if (!reserve(derived, count)) {
        wnn_derived_unref(derived);
        return NULL;
    }
    for (size_t i = 0; i < recorded->operand_count; i++)
        if (recorded->operands[i]->constant)
            know(derived, recorded->operands[i]->constant);
    return derived;
}

struct derived *wnn_derived_ref(struct derived *derived)
{
    atomic_fetch_add(&derived->references, 1);
    return derived;
}

void wnn_derived_unref(struct derived *derived)
{
    if (!derived || atomic_fetch_sub(&derived->references, 1) != 1)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct entry *entry = derived->buckets[i]; entry; entry = entry->next) {
            for (unsigned k = 0; k < entry->operand_count; k++)
                wnn_constant_unref(entry->constants[k]);
            wnn_constant_unref(entry->made);
            wnn_release(derived->allocator, entry->packed);
        }
    wnn_release(derived->allocator, derived->known);
    wnn_arena_free(&derived->arena);
    wnn_release(derived->allocator, derived);
}

bool wnn_derived_knows(const struct derived *derived, const struct node *node)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        const struct constant *constant = node->in[i] ? node->in[i]->constant : NULL;
        if (constant && !*place_of(derived->known, derived->known_mask, constant) &&
            (constant->bytes > SMALL_BYTES || !constant->data))
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Keys
// ---------------------------------------------------------------------------------------------------------------

// All of a key but its constants and attributes.
struct words {
    uint32_t items[MAX_WORDS];
    size_t count; // more than MAX_WORDS: too many
};

static void add(struct words *words, uint32_t word)
{
    if (words->count < MAX_WORDS)
        words->items[words->count] = word;
    words->count++;
}

static void add_long(struct words *words, uint64_t word)
{
    add(words, (uint32_t)word);
    add(words, (uint32_t)(word >> 32));
}

static void add_type(struct words *words, const struct descriptor *type, bool shape)
{
    add(words, (uint32_t)type->type);
    for (unsigned i = 0; shape && i < type->shape.rank; i++)
        add(words, type->shape.dim[i]);
    add(words, shape ? type->shape.rank : UINT32_MAX);
}

static void add_fused(struct words *words, const struct expression *fused)
{
    for (; fused; fused = fused->next) {
        add(words, fused->at);
        add(words, (uint32_t)fused->from);
        add(words, fused->first);
        add(words, fused->operand_count);
        for (unsigned i = 0; i < fused->count; i++)
            add(words, (uint32_t)fused->steps[i].op);
        add(words, fused->count);
    }
}

static bool spell(const struct derived_key *key, struct words *words)
{
    const struct node *node = key->node;
    words->count = 0;
    add_long(words, (uintptr_t)key->maker);
    add_long(words, key->variant);
    add_long(words, key->bytes);
    add(words, key->complete);
    add(words, node->op);
    add(words, node->in_count);
    add(words, wnn_operand_count(node));
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i])
            add_type(words, &node->in[i]->type, node->in[i]->constant != NULL);
        else
            add(words, 0);
    for (unsigned i = 0; i < node->out_count; i++)
        add_type(words, &node->out[i]->type, key->complete);
    add_fused(words, node->fused);
    return words->count <= MAX_WORDS;
}

static uint64_t hash_of(const struct words *words, const struct node *node)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < words->count; i++)
        hash = mix(hash, words->items[i]);
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] && node->in[i]->constant && node->in[i]->constant->bytes > SMALL_BYTES)
            hash = mix(hash, (uintptr_t)node->in[i]->constant);
    return hash;
}

static bool constants_equal(const struct constant *a, const struct constant *b)
{
    return a == b || (a && b && a->bytes == b->bytes && a->bytes <= SMALL_BYTES && a->data && b->data &&
                      memcmp(a->data, b->data, a->bytes) == 0);
}

static bool is_entry(const struct entry *entry, const struct derived_key *key, const struct words *words)
{
    const struct node *node = key->node;
    if (entry->word_count != words->count ||
        memcmp(entry->words, words->items, words->count * sizeof words->items[0]) != 0)
        return false;
    for (unsigned i = 0; i < entry->operand_count; i++)
        if (!constants_equal(entry->constants[i], node->in[i] ? node->in[i]->constant : NULL))
            return false;
    return wnn_op_attrs_equal(entry->op, entry->attrs, node->attrs, entry->complete);
}

static const struct entry *find(const struct derived *derived, const struct derived_key *key)
{
    struct words words;
    if (key->node->op >= WNN_OP_COUNT || !spell(key, &words))
        return NULL;
    uint64_t hash = hash_of(&words, key->node);
    for (const struct entry *entry = derived->buckets[hash % BUCKETS]; entry; entry = entry->next)
        if (entry->hash == hash && is_entry(entry, key, &words))
            return entry;
    return NULL;
}

void *wnn_derived_packed(const struct derived *derived, const struct derived_key *key)
{
    const struct entry *entry = find(derived, key);
    return entry ? entry->packed : NULL;
}

struct constant *wnn_derived_constant(const struct derived *derived, const struct derived_key *key)
{
    const struct entry *entry = find(derived, key);
    return entry ? entry->made : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Adding
// ---------------------------------------------------------------------------------------------------------------

// A new entry, with references to the constants of the node; NULL: no memory.
static struct entry *enter(struct derived *derived, const struct derived_key *key)
{
    struct words words;
    const struct node *node = key->node;
    unsigned count = wnn_operand_count(node);
    if (node->op >= WNN_OP_COUNT || !spell(key, &words))
        return NULL;
    struct arena *arena = &derived->arena;
    struct arena_mark mark = wnn_arena_mark(arena);
    struct entry *entry = wnn_arena_allocate(arena, sizeof *entry);
    const uint32_t *copy = wnn_arena_copy(arena, words.items, words.count * sizeof words.items[0]);
    struct constant **constants = wnn_arena_allocate(arena, count * sizeof constants[0]);
    void *attrs = wnn_op_copy_attrs(arena, (enum op)node->op, node->attrs);
    if (!entry || !copy || !constants || !attrs) {
        wnn_arena_rewind(arena, mark);
        return NULL;
    }
    for (unsigned i = 0; i < count; i++)
        if (node->in[i] && node->in[i]->constant)
            constants[i] = wnn_constant_ref(node->in[i]->constant);
    uint64_t hash = hash_of(&words, node);
    struct entry **bucket = &derived->buckets[hash % BUCKETS];
    *entry = (struct entry){.next = *bucket,
                            .hash = hash,
                            .words = copy,
                            .word_count = words.count,
                            .op = (enum op)node->op,
                            .attrs = attrs,
                            .complete = key->complete,
                            .constants = constants,
                            .operand_count = count};
    *bucket = entry;
    return entry;
}

bool wnn_derived_add_packed(struct derived *derived, const struct derived_key *key, void *packed)
{
    struct entry *entry = enter(derived, key);
    if (!entry)
        return false;
    entry->packed = packed;
    derived->size.packed_bytes += key->bytes;
    return true;
}

void wnn_derived_add_constant(struct derived *derived, const struct derived_key *key,
                              struct constant *constant)
{
    if (constant->bytes > derived->max_constant_bytes - derived->size.constant_bytes ||
        !reserve(derived, derived->known_count + 1))
        return;
    struct entry *entry = enter(derived, key);
    if (!entry)
        return;
    entry->made = wnn_constant_ref(constant);
    derived->size.constant_bytes += constant->bytes;
    know(derived, constant);
}

struct derived_size wnn_derived_size(const struct derived *derived)
{
    return derived->size;
}
