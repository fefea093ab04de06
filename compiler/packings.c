// SPDX-License-Identifier: Apache-2.0
#include "compiler/packings.h"

#include <stdlib.h>

struct packing {
    struct packing_key key;
    void *packed;
    struct packing *next;
};

struct packings {
    atomic_uint references;
    struct allocator *allocator;
    struct packing *first;
    size_t count;                       // of constants
    const struct constant *constants[]; // in the order of their addresses
};

static int compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const struct constant *const *)a,
              y = (uintptr_t) * (const struct constant *const *)b;
    return (x > y) - (x < y);
}

struct packings *wnn_packings_create(struct allocator *allocator, const struct graph *recorded)
{
    size_t count = 0;
    for (size_t i = 0; i < recorded->operand_count; i++)
        count += recorded->operands[i]->constant != NULL;
    struct packings *packings =
        wnn_allocate(allocator, sizeof *packings + count * sizeof packings->constants[0]);
    if (!packings)
        return NULL;
    *packings = (struct packings){.allocator = allocator};
    atomic_init(&packings->references, 1);
    for (size_t i = 0; i < recorded->operand_count; i++)
        if (recorded->operands[i]->constant)
            packings->constants[packings->count++] = recorded->operands[i]->constant;
    qsort(packings->constants, packings->count, sizeof packings->constants[0], compare);
    return packings;
}

struct packings *wnn_packings_ref(struct packings *packings)
{
    atomic_fetch_add(&packings->references, 1);
    return packings;
}

void wnn_packings_unref(struct packings *packings)
{
    if (!packings || atomic_fetch_sub(&packings->references, 1) != 1)
        return;
    for (struct packing *packing = packings->first, *next; packing; packing = next) {
        next = packing->next;
        wnn_release(packings->allocator, packing->packed);
        wnn_release(packings->allocator, packing);
    }
    wnn_release(packings->allocator, packings);
}

bool wnn_packings_take(const struct packings *packings, const struct constant *weights)
{
    return packings->count &&
           bsearch(&weights, packings->constants, packings->count, sizeof packings->constants[0], compare);
}

void *wnn_packings_find(const struct packings *packings, const struct packing_key *key)
{
    for (struct packing *packing = packings->first; packing; packing = packing->next)
        if (packing->key.weights == key->weights && packing->key.kernel == key->kernel &&
            packing->key.variant == key->variant && packing->key.bytes == key->bytes &&
            wnn_descriptor_equal(&packing->key.type, &key->type))
            return packing->packed;
    return NULL;
}

bool wnn_packings_add(struct packings *packings, const struct packing_key *key, void *packed)
{
    struct packing *packing = wnn_allocate(packings->allocator, sizeof *packing);
    if (!packing)
        return false;
    *packing = (struct packing){*key, packed, packings->first};
    packings->first = packing;
    return true;
}
