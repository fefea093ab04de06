// SPDX-License-Identifier: Apache-2.0
#include "lib/constant.h"

#include <string.h>

struct constant *wnn_constant_create(struct allocator *allocator, size_t bytes)
{
    // The bytes follow the record, in the same block.
    size_t head = wnn_aligned(sizeof(struct constant));
    struct constant *constant = wnn_allocate(allocator, head + bytes);
    if (!constant)
        return NULL;
    char *data = (char *)constant + head;
    memset(data + bytes, 0, WNN_SLACK);
    *constant = (struct constant){.references = 1, .allocator = allocator, .data = data, .bytes = bytes};
    return constant;
}

struct constant *wnn_constant_lend(struct allocator *allocator, const WNNExternalBytes *loan)
{
    struct constant *constant = wnn_allocate_record(allocator, sizeof *constant);
    if (!constant)
        return NULL;
    *constant = (struct constant){.references = 1,
                                  .allocator = allocator,
                                  .data = loan->data,
                                  .bytes = loan->byteLength,
                                  .is_record = true,
                                  .external = true,
                                  .loan = {loan->release, loan->userdata1, loan->userdata2}};
    return constant;
}

struct constant *wnn_constant_promise(struct allocator *allocator, size_t bytes, struct origin *origin)
{
    const WNNExternalBytes nothing = {.byteLength = bytes};
    // Of no bytes there are none to wait for.
    struct constant *constant =
        bytes ? wnn_constant_lend(allocator, &nothing) : wnn_constant_create(allocator, 0);
    if (constant)
        constant->origin = wnn_origin_ref(origin);
    return constant;
}

struct constant *wnn_constant_ref(struct constant *constant)
{
    atomic_fetch_add(&constant->references, 1);
    return constant;
}

void wnn_constant_unref(struct constant *constant)
{
    if (!constant || atomic_fetch_sub(&constant->references, 1) != 1)
        return;
    struct constant last = *constant;
    wnn_origin_unref(last.origin);
    if (last.is_record)
        wnn_release_record(last.allocator, constant, sizeof *constant);
    else
        wnn_release(last.allocator, constant);
    if (last.loan.release)
        last.loan.release(last.data, last.bytes, last.loan.userdata1, last.loan.userdata2);
}

// ---------------------------------------------------------------------------------------------------------------
// Origins
// ---------------------------------------------------------------------------------------------------------------

struct origin *wnn_origin_name(struct allocator *allocator, size_t bytes, uint64_t file, uint64_t offset,
                               const void *id, size_t id_length)
{
    struct origin *origin = wnn_allocate_record(allocator, sizeof *origin + id_length);
    if (!origin)
        return NULL;
    *origin = (struct origin){.references = 1,
                              .allocator = allocator,
                              .bytes = bytes,
                              .asks = true,
                              .depth = 1,
                              .file = file,
                              .offset = offset,
                              .id_length = (uint32_t)id_length};
    if (id_length)
        memcpy(origin->id, id, id_length);
    return origin;
}

struct origin *wnn_origin_ref(struct origin *origin)
{
    if (origin)
        atomic_fetch_add(&origin->references, 1);
    return origin;
}

void wnn_origin_unref(struct origin *origin)
{
    if (!origin || atomic_fetch_sub(&origin->references, 1) != 1)
        return;
    if (origin->made)
        origin->free_made(origin->allocator, origin->made);
    wnn_release_record(origin->allocator, origin, sizeof *origin + origin->id_length);
}
