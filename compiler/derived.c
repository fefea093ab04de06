// SPDX-License-Identifier: Apache-2.0
#include "compiler/derived.h"

#include "ops/attr_sink.h"
#include "ops/attrs.h"

#include <pthread.h>
#include <string.h>

#define BUCKETS     256
#define SMALL_BYTES 1024 // constants up to this size are compared byte by byte
#define MAX_WORDS   512  // of a key; a node that has more shares nothing

enum {
    MAX_IDENTITIES = 16 // constants of a node that has part in a set of the host's
};

// Who constants are, whatever graph has them.
struct identities {
    unsigned count;
    unsigned char digests[MAX_IDENTITIES][WNN_SHA256_BYTES]; // by operand of the node; zeros: it is none
};

struct packed {
    struct packed *next;
    struct derived *set;
    atomic_uint users;    // of packed weights, and the set itself unless it is the host's
    struct packed *under; // a reference to the entry of the host's set that stands for it; or NULL
    struct arena arena;   // of an entry of the host's
    const struct identities *identities; // likewise
    size_t bytes;
    uint64_t hash;
    const uint32_t *words;
    size_t word_count;
    enum op op;
    const void *attrs;
    bool complete;
    struct constant **constants; // by operand of the node, references; NULL: it is none
    unsigned operand_count;
    _Atomic(void *) memory; // packed weights, NULL before somebody has packed them; or
    struct constant *made;  // a reference; or
    WNNExternalBytes loan;  // of the bytes of a constant
};

struct derived {
    atomic_uint references;
    struct allocator *allocator;
    struct arena arena;   // of entries
    pthread_mutex_t lock; // of all below, and taking an entry
    struct packed *buckets[BUCKETS];
    bool shared;            // it is the host's
    struct derived *parent; // a reference to the host's set that it has part in, or NULL
    void (*ended)(void *argument);
    void *argument;
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

static struct derived *create(struct allocator *allocator)
{
    struct derived *derived = wnn_allocate_zero(allocator, sizeof *derived);
    if (!derived)
        return NULL;
    derived->allocator = allocator;
    wnn_arena_init(&derived->arena, allocator);
    pthread_mutex_init(&derived->lock, NULL);
    atomic_init(&derived->references, 1);
    return derived;
}

struct derived *wnn_derived_create_shared(struct allocator *allocator, void (*ended)(void *argument),
                                          void *argument)
{
    struct derived *derived = create(allocator);
    if (!derived)
        return NULL;
    derived->shared = true;
    derived->ended = ended;
    derived->argument = argument;
    return derived;
}

struct derived *wnn_derived_create(struct allocator *allocator, const struct graph *recorded,
                                   struct derived *shared)
{
    struct derived *derived = create(allocator);
    if (!derived)
        return NULL;
    derived->parent = shared ? wnn_derived_ref(shared) : NULL;
    derived->max_constant_bytes = recorded->constant_bytes;
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
        for (struct packed *entry = derived->buckets[i]; entry; entry = entry->next) {
            wnn_packed_unref(entry->under); // while constants keep the memory lent by which it is known
            for (unsigned k = 0; k < entry->operand_count; k++)
                wnn_constant_unref(entry->constants[k]);
            wnn_constant_unref(entry->made);
            wnn_release(derived->allocator, atomic_load(&entry->memory));
        }
    struct derived *parent = derived->parent;
    void (*ended)(void *argument) = derived->ended;
    void *argument = derived->argument;
    wnn_release(derived->allocator, derived->known);
    wnn_arena_free(&derived->arena);
    pthread_mutex_destroy(&derived->lock);
    wnn_release(derived->allocator, derived);
    if (ended)
        ended(argument);
    wnn_derived_unref(parent);
}

bool wnn_derived_is_shared(const struct derived *derived)
{
    return derived && derived->shared;
}

bool wnn_derived_has_part(const struct derived *derived)
{
    return derived && (derived->shared || derived->parent);
}

struct derived *wnn_derived_host(struct derived *derived)
{
    return wnn_derived_is_shared(derived) ? derived : derived ? derived->parent : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Who constants are
// ---------------------------------------------------------------------------------------------------------------

static void hash_u64(struct sha256 *hash, uint64_t number)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> 8 * i);
    wnn_sha256_add(hash, bytes, sizeof bytes);
}

static void give_back(const void *data, size_t bytes, void *argument, void *kept);

// By the node that makes it, and what that is made of.
static bool hash_made(struct sha256 *hash, const struct origin *origin)
{
    const struct node *node = origin->made->nodes[0];
    unsigned char digest[WNN_SHA256_BYTES];
    struct arena arena;
    struct sink sink = {.arena = &arena};
    hash_u64(hash, node->op);
    hash_u64(hash, origin->output);
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!node->in[i]) {
            hash_u64(hash, UINT64_MAX);
            continue;
        }
        const struct descriptor *type = &node->in[i]->type;
        if (!wnn_derived_identify(node->in[i]->constant, digest))
            return false;
        wnn_sha256_add(hash, digest, sizeof digest);
        hash_u64(hash, type->type);
        hash_u64(hash, type->shape.rank);
        for (unsigned d = 0; d < type->shape.rank; d++)
            hash_u64(hash, type->shape.dim[d]);
    }
    wnn_arena_init(&arena, origin->allocator);
    wnn_sink_attrs(&sink, (enum op)node->op, node->attrs);
    if (!sink.full)
        wnn_sha256_add(hash, sink.bytes, sink.size);
    wnn_arena_free(&arena);
    return !sink.full;
}

// By the caller's name for it, by what makes it, by where its bytes are lent, or by these if they are few or
// have been copied.
bool wnn_derived_identify(const struct constant *constant, unsigned char digest[WNN_SHA256_BYTES])
{
    const struct origin *origin = constant->origin;
    struct sha256 hash;
    bool done = true;
    if (constant->loan.release == give_back) {
        const struct packed *entry = constant->loan.userdata1;
        memcpy(digest, entry->identities->digests[0], WNN_SHA256_BYTES);
        return true;
    }
    wnn_sha256_begin(&hash);
    hash_u64(&hash, constant->bytes);
    if (origin && !origin->made) {
        hash_u64(&hash, 1 + origin->id_length);
        wnn_sha256_add(&hash, origin->id, origin->id_length);
        hash_u64(&hash, origin->file);
        hash_u64(&hash, origin->offset);
    } else if (origin) {
        hash_u64(&hash, UINT64_MAX);
        done = hash_made(&hash, origin);
    } else if (constant->data && (constant->bytes <= SMALL_BYTES || !constant->external)) {
        hash_u64(&hash, UINT64_MAX - 1);
        wnn_sha256_add(&hash, constant->data, constant->bytes);
    } else if (constant->data) {
        hash_u64(&hash, UINT64_MAX - 2);
        hash_u64(&hash, (uintptr_t)constant->data);
    } else {
        done = false;
    }
    wnn_sha256_end(&hash, digest);
    return done;
}

bool wnn_derived_identifies(const struct constant *constant)
{
    unsigned char digest[WNN_SHA256_BYTES];
    return wnn_derived_identify(constant, digest);
}

static bool identify_all(const struct node *node, struct identities *identities)
{
    *identities = (struct identities){.count = wnn_operand_count(node)};
    if (identities->count > MAX_IDENTITIES)
        return false;
    for (unsigned i = 0; i < identities->count; i++)
        if (node->in[i] && node->in[i]->constant &&
            !wnn_derived_identify(node->in[i]->constant, identities->digests[i]))
            return false;
    return true;
}

// The constant of an operand, or NULL.
static const struct constant *constant_of(const struct node *node, unsigned i)
{
    return node->in[i] ? node->in[i]->constant : NULL;
}

bool wnn_derived_knows(const struct derived *derived, const struct node *node)
{
    struct identities identities;
    if (derived->shared)
        return identify_all(node, &identities);
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        const struct constant *constant = constant_of(node, i);
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

// `identities` NULL: constants are known by themselves.
static uint64_t hash_of(const struct words *words, const struct identities *identities,
                        const struct node *node)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < words->count; i++)
        hash = mix(hash, words->items[i]);
    for (unsigned i = 0; identities && i < identities->count; i++) {
        uint64_t word;
        memcpy(&word, identities->digests[i], sizeof word);
        hash = mix(hash, word);
    }
    if (identities)
        return hash;
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

bool wnn_derived_keys_equal(const struct derived_key *a, const struct derived_key *b)
{
    struct words of_a, of_b;
    if (a->node->op >= WNN_OP_COUNT || !spell(a, &of_a) || !spell(b, &of_b) || of_a.count != of_b.count ||
        memcmp(of_a.items, of_b.items, of_a.count * sizeof of_a.items[0]) != 0)
        return false;
    for (unsigned i = 0; i < wnn_operand_count(a->node); i++)
        if (!constants_equal(constant_of(a->node, i), constant_of(b->node, i)))
            return false;
    return wnn_op_attrs_equal((enum op)a->node->op, a->node->attrs, b->node->attrs, a->complete);
}

static bool is_entry(const struct packed *entry, const struct derived_key *key, const struct words *words,
                     const struct identities *identities)
{
    const struct node *node = key->node;
    if (entry->word_count != words->count ||
        memcmp(entry->words, words->items, words->count * sizeof words->items[0]) != 0)
        return false;
    if (identities && (entry->identities->count != identities->count ||
                       memcmp(entry->identities->digests, identities->digests,
                              identities->count * sizeof identities->digests[0]) != 0))
        return false;
    for (unsigned i = 0; !identities && i < entry->operand_count; i++)
        if (!constants_equal(entry->constants[i], constant_of(node, i)))
            return false;
    return wnn_op_attrs_equal(entry->op, entry->attrs, node->attrs, entry->complete);
}

// A key as entries are compared with.
struct spelling {
    struct words words;
    struct identities identities;
    const struct identities *shared; // these, or NULL
    uint64_t hash;
};

static bool begin_spelling(const struct derived *derived, const struct derived_key *key,
                           struct spelling *spelling)
{
    if (key->node->op >= WNN_OP_COUNT || !spell(key, &spelling->words) ||
        (derived->shared && !identify_all(key->node, &spelling->identities)))
        return false;
    spelling->shared = derived->shared ? &spelling->identities : NULL;
    spelling->hash = hash_of(&spelling->words, spelling->shared, key->node);
    return true;
}

// Under the lock.
static struct packed *find(const struct derived *derived, const struct derived_key *key,
                           const struct spelling *spelling)
{
    for (struct packed *entry = derived->buckets[spelling->hash % BUCKETS]; entry; entry = entry->next)
        if (entry->hash == spelling->hash && is_entry(entry, key, &spelling->words, spelling->shared))
            return entry;
    return NULL;
}

struct constant *wnn_derived_constant(struct derived *derived, const struct derived_key *key)
{
    struct spelling spelling;
    if (derived->shared || !begin_spelling(derived, key, &spelling))
        return NULL;
    pthread_mutex_lock(&derived->lock);
    const struct packed *entry = find(derived, key, &spelling);
    pthread_mutex_unlock(&derived->lock);
    return entry ? entry->made : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Adding
// ---------------------------------------------------------------------------------------------------------------

// Copies what a key says into an arena; the entry is there, and in no list yet. False: no memory.
static bool copy_key(struct packed *entry, struct arena *arena, const struct derived_key *key,
                     const struct spelling *spelling)
{
    const struct node *node = key->node;
    const struct words *words = &spelling->words;
    unsigned count = wnn_operand_count(node);
    entry->words = wnn_arena_copy(arena, words->items, words->count * sizeof words->items[0]);
    entry->attrs = wnn_op_copy_attrs(arena, (enum op)node->op, node->attrs);
    entry->constants = wnn_arena_allocate(arena, count * sizeof entry->constants[0]);
    if (spelling->shared)
        entry->identities = wnn_arena_copy(arena, spelling->shared, sizeof *spelling->shared);
    entry->word_count = words->count;
    entry->hash = spelling->hash;
    entry->op = (enum op)node->op;
    entry->complete = key->complete;
    entry->bytes = key->bytes;
    return entry->words && entry->attrs && entry->constants && (entry->identities || !spelling->shared);
}

// A new entry, in no list yet, which the set uses if it is not the host's, and then has references to the
// constants of the node; NULL: no memory.
static struct packed *create_entry(struct derived *derived, const struct derived_key *key,
                                   const struct spelling *spelling)
{
    struct arena own, *arena = derived->shared ? &own : &derived->arena;
    wnn_arena_init(&own, derived->allocator);
    struct arena_mark mark = wnn_arena_mark(arena);
    struct packed *entry = wnn_arena_allocate(arena, sizeof *entry);
    if (!entry || !copy_key(entry, arena, key, spelling)) {
        wnn_arena_rewind(arena, mark);
        return NULL;
    }
    entry->arena = own;
    entry->set = derived;
    atomic_init(&entry->memory, NULL);
    atomic_init(&entry->users, derived->shared ? 0 : 1);
    for (unsigned i = 0; !derived->shared && i < wnn_operand_count(key->node); i++) {
        struct operand *in = key->node->in[i];
        entry->constants[i] = in && in->constant ? wnn_constant_ref(in->constant) : NULL;
    }
    entry->operand_count = derived->shared ? 0 : wnn_operand_count(key->node);
    return entry;
}

static void enter(struct derived *derived, struct packed *entry)
{
    struct packed **bucket = &derived->buckets[entry->hash % BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
}

// The entry of an equal key, as a reference, or NULL.
static struct packed *ref_entry(struct derived *derived, const struct derived_key *key,
                                const struct spelling *spelling)
{
    pthread_mutex_lock(&derived->lock);
    struct packed *entry = find(derived, key, spelling);
    if (entry)
        atomic_fetch_add(&entry->users, 1);
    pthread_mutex_unlock(&derived->lock);
    return entry;
}

// The same of a set of the host's, to which several add at once: made if it is not there.
static bool take_shared(struct derived *derived, const struct derived_key *key,
                        const struct spelling *spelling, struct packed **packed)
{
    pthread_mutex_lock(&derived->lock);
    struct packed *entry = find(derived, key, spelling);
    if (!entry && (entry = create_entry(derived, key, spelling)))
        enter(derived, entry);
    if (entry)
        atomic_fetch_add(&entry->users, 1);
    pthread_mutex_unlock(&derived->lock);
    *packed = entry;
    return entry != NULL;
}

bool wnn_derived_take(struct derived *derived, const struct derived_key *key, struct packed **packed)
{
    struct spelling spelling;
    *packed = NULL;
    if ((!derived->shared && !wnn_derived_knows(derived, key->node)) ||
        !begin_spelling(derived, key, &spelling))
        return true;
    if (derived->shared)
        return take_shared(derived, key, &spelling, packed);
    if ((*packed = ref_entry(derived, key, &spelling)))
        return true;
    struct packed *under = NULL;
    if (derived->parent && !wnn_derived_take(derived->parent, key, &under))
        return false;
    struct packed *entry = create_entry(derived, key, &spelling);
    if (!entry) {
        wnn_packed_unref(under);
        return false;
    }
    entry->under = under;
    atomic_fetch_add(&entry->users, 1);
    pthread_mutex_lock(&derived->lock);
    enter(derived, entry);
    pthread_mutex_unlock(&derived->lock);
    *packed = entry;
    return true;
}

const void *wnn_packed_memory(const struct packed *packed)
{
    return atomic_load(&(packed->under ? packed->under : packed)->memory);
}

struct allocator *wnn_packed_allocator(const struct packed *packed)
{
    return (packed->under ? packed->under : packed)->set->allocator;
}

const void *wnn_packed_fill(struct packed *packed, void *memory)
{
    struct packed *entry = packed->under ? packed->under : packed;
    struct derived *derived = entry->set;
    pthread_mutex_lock(&derived->lock);
    void *there = atomic_load(&entry->memory);
    if (!there) {
        atomic_store(&entry->memory, memory);
        derived->size.packed_bytes += entry->bytes;
    }
    pthread_mutex_unlock(&derived->lock);
    if (!there)
        return memory;
    wnn_release(derived->allocator, memory);
    return there;
}

// Gives back what nobody uses any more, and no set keeps.
static void free_entry(struct packed *entry)
{
    const WNNExternalBytes loan = entry->loan;
    struct arena arena = entry->arena; // in which it lies
    wnn_release(entry->set->allocator, loan.data ? NULL : atomic_load(&entry->memory));
    wnn_arena_free(&arena);
    if (loan.release)
        loan.release(loan.data, loan.byteLength, loan.userdata1, loan.userdata2);
}

void wnn_packed_unref(struct packed *packed)
{
    if (!packed)
        return;
    struct derived *derived = packed->set;
    pthread_mutex_lock(&derived->lock);
    bool last = atomic_fetch_sub(&packed->users, 1) == 1;
    if (last) {
        struct packed **at = &derived->buckets[packed->hash % BUCKETS];
        while (*at != packed)
            at = &(*at)->next;
        *at = packed->next;
        derived->size.packed_bytes -= atomic_load(&packed->memory) && !packed->loan.data ? packed->bytes : 0;
    }
    pthread_mutex_unlock(&derived->lock);
    if (last)
        free_entry(packed);
}

// The constant, or an equal one that has its bytes in the host's set; takes a reference and gives one.
static struct constant *lend_made(struct derived *derived, struct constant *constant)
{
    bool worth = derived->parent && constant->data && !constant->external && constant->bytes > SMALL_BYTES;
    struct constant *shared =
        worth ? wnn_derived_share_bytes(derived->parent, derived->allocator, constant, false) : NULL;
    if (!shared)
        return constant;
    wnn_constant_unref(constant);
    return shared;
}

struct constant *wnn_derived_add_constant(struct derived *derived, const struct derived_key *key,
                                          struct constant *constant)
{
    struct spelling spelling;
    uint64_t bytes = constant->data ? constant->bytes : 0;
    if (derived->shared || bytes > derived->max_constant_bytes - derived->size.constant_bytes ||
        !reserve(derived, derived->known_count + 1) || !begin_spelling(derived, key, &spelling))
        return constant;
    struct packed *entry = create_entry(derived, key, &spelling);
    if (!entry)
        return constant;
    constant = lend_made(derived, constant);
    entry->made = wnn_constant_ref(constant);
    know(derived, constant);
    pthread_mutex_lock(&derived->lock);
    derived->size.constant_bytes += bytes;
    enter(derived, entry);
    pthread_mutex_unlock(&derived->lock);
    return constant;
}

struct derived_size wnn_derived_size(struct derived *derived)
{
    pthread_mutex_lock(&derived->lock);
    struct derived_size size = derived->size;
    pthread_mutex_unlock(&derived->lock);
    return size;
}

// ---------------------------------------------------------------------------------------------------------------
// Constants as they are
// ---------------------------------------------------------------------------------------------------------------

static void give_back(const void *data, size_t bytes, void *argument, void *kept)
{
    struct packed *entry = argument;
    struct derived *derived = entry->set;
    (void)data;
    (void)bytes;
    wnn_packed_unref(entry);
    wnn_constant_unref(kept);
    wnn_derived_unref(derived);
}

// The place of the bytes themselves: what identity makes of them.
static struct packed *take_bytes(struct derived *derived, struct constant *constant)
{
    static const char maker = 0;
    static const WNNOperatorOptions attrs = WNN_OPERATOR_OPTIONS_INIT;
    struct operand operand = {.constant = constant, .type = {.type = WNNDataType_Uint8}}, *in = &operand;
    const struct node node = {
        .op = WNN_OP_identity, .attrs = (void *)(uintptr_t)&attrs, .in = &in, .in_count = 1};
    const struct derived_key key = {.node = &node, .maker = &maker, .bytes = constant->bytes};
    struct packed *entry;
    wnn_derived_take(derived, &key, &entry);
    return entry;
}

// A constant that lends the bytes of an entry, whose reference passes on. What is known by its address is
// kept, so that it stays lent.
static struct constant *lend(struct packed *entry, struct allocator *allocator, struct constant *equal)
{
    const WNNExternalBytes loan = {.data = wnn_packed_memory(entry),
                                   .byteLength = entry->bytes,
                                   .release = give_back,
                                   .userdata1 = entry};
    struct constant *constant = loan.data ? wnn_constant_lend(allocator, &loan) : NULL;
    if (!constant) {
        wnn_packed_unref(entry);
        return NULL;
    }
    constant->external = entry->loan.data != NULL;
    constant->origin = wnn_origin_ref(equal->origin);
    if (equal->external && !equal->origin)
        constant->loan.userdata2 = wnn_constant_ref(equal);
    wnn_derived_ref(entry->set);
    return constant;
}

struct constant *wnn_derived_find_bytes(struct derived *derived, struct allocator *allocator,
                                        struct constant *constant)
{
    struct packed *entry = take_bytes(derived, constant);
    return entry ? lend(entry, allocator, constant) : NULL;
}

// Under no lock: passes the loan on to the entry, which has one already or gets it.
static void fill_lent(struct packed *entry, struct constant *constant)
{
    struct derived *derived = entry->set;
    pthread_mutex_lock(&derived->lock);
    if (!atomic_load(&entry->memory)) {
        entry->loan = (WNNExternalBytes){.data = constant->data,
                                         .byteLength = constant->bytes,
                                         .release = constant->loan.release,
                                         .userdata1 = constant->loan.userdata1,
                                         .userdata2 = constant->loan.userdata2};
        atomic_store(&entry->memory, (void *)(uintptr_t)constant->data);
        constant->loan.release = NULL;
    }
    pthread_mutex_unlock(&derived->lock);
}

static bool fill_copied(struct packed *entry, const struct constant *constant)
{
    char *copy = wnn_allocate(entry->set->allocator, constant->bytes);
    if (!copy)
        return false;
    memcpy(copy, constant->data, constant->bytes);
    memset(copy + constant->bytes, 0, WNN_SLACK);
    wnn_packed_fill(entry, copy);
    return true;
}

struct constant *wnn_derived_share_bytes(struct derived *derived, struct allocator *allocator,
                                         struct constant *constant, bool lent)
{
    struct packed *entry = take_bytes(derived, constant);
    if (!entry)
        return NULL;
    if (lent)
        fill_lent(entry, constant);
    else if (!wnn_packed_memory(entry) && !fill_copied(entry, constant)) {
        wnn_packed_unref(entry);
        return NULL;
    }
    return lend(entry, allocator, constant);
}

bool wnn_derived_has_bytes(const struct constant *constant)
{
    return constant->loan.release == give_back;
}
