// SPDX-License-Identifier: Apache-2.0
#include "compiler/resolve.h"

#include "lib/dtype.h"

enum {
    MAX_OWN_BYTES = 1024 // of constants that each graph may have for itself
};

static bool is_aligned(const struct constant *constant, WNNDataType type)
{
    unsigned bytes = wnn_dtype_bits(type) / 8;
    return bytes < 2 || (uintptr_t)constant->data % bytes == 0;
}

// Bytes of the context's memory, or that a kernel would have to copy. All others that are lent stay where
// they are, as do those that a graph was loaded from.
static bool is_to_be_copied(const struct operand *operand)
{
    const struct constant *constant = operand->constant;
    return constant->external ? !is_aligned(constant, operand->type.type) : !constant->loan.release;
}

struct constant *wnn_resolve_shared(struct derived *set, const struct resolver *resolver,
                                    const struct operand *operand, struct error *error)
{
    struct constant *promised = operand->constant;
    if (promised->bytes <= MAX_OWN_BYTES)
        return wnn_resolve(resolver, promised, error);
    struct constant *found = resolver ? wnn_derived_find_bytes(set, resolver->allocator, promised) : NULL;
    struct constant *resolved = found ? NULL : wnn_resolve(resolver, promised, error);
    if (!resolved)
        return found;
    bool lent = resolved->external && is_aligned(resolved, operand->type.type);
    struct constant *shared = wnn_derived_share_bytes(set, resolver->allocator, resolved, lent);
    wnn_constant_unref(resolved);
    if (!shared)
        wnn_fail_memory(error);
    return shared;
}

// A reference, or NULL.
static struct constant *share_constant(struct derived *set, const struct resolver *resolver,
                                       const struct operand *operand, struct error *error)
{
    struct constant *constant = operand->constant;
    if (wnn_constant_is_promised(constant) && resolver->find)
        return wnn_resolve_shared(set, resolver, operand, error);
    if (!constant->data || constant->bytes <= MAX_OWN_BYTES || !is_to_be_copied(operand))
        return wnn_constant_ref(constant);
    struct constant *shared = wnn_derived_share_bytes(set, resolver->allocator, constant, false);
    if (!shared)
        wnn_fail_memory(error);
    return shared;
}

// What operands have had, which may be the same, and what they have now.
struct exchange {
    const struct constant *from; // NULL: an empty place of the table
    struct constant *to;
};

// The place of a constant in a table of a power of two of them, half of which are empty.
static struct exchange *place_of(struct exchange *exchanges, size_t places, const struct constant *from)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)from * UINT64_C(0x9E3779B97F4A7C15) >> 32);
    while (exchanges[at & (places - 1)].from && exchanges[at & (places - 1)].from != from)
        at++;
    return &exchanges[at & (places - 1)];
}

static bool may_be_shared(const struct operand *operand)
{
    return operand->constant && operand->uses > 0 && !wnn_derived_has_bytes(operand->constant);
}

bool wnn_share_constants(struct derived *set, const struct resolver *resolver, struct graph *graph,
                         struct error *error)
{
    size_t count = 0, places = 1;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < graph->operand_count; i++)
        count += may_be_shared(graph->operands[i]);
    while (places <= 2 * count)
        places *= 2;
    struct exchange *exchanges = wnn_allocate_zero(resolver->allocator, places * sizeof exchanges[0]);
    bool done = exchanges || wnn_fail_memory(error);
    for (size_t i = 0; done && i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        struct constant *from = operand->constant;
        if (!may_be_shared(operand))
            continue;
        struct exchange *exchange = place_of(exchanges, places, from);
        struct constant *to =
            exchange->from ? wnn_constant_ref(exchange->to) : share_constant(set, resolver, operand, error);
        done = to && wnn_interrupt_check(resolver->interrupt, error);
        if (!to)
            break;
        if (to != from)
            *exchange = (struct exchange){from, to};
        operand->constant = to;
        wnn_constant_unref(from);
    }
    wnn_release(resolver->allocator, exchanges);
    return done;
}
