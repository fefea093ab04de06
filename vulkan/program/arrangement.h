// SPDX-License-Identifier: Apache-2.0
//
// Orders in which constants lie on the device that are not their own. What partition() has chosen stands in
// operand->arrangement, and the bytes are put in order while they are uploaded, so that no more than a piece
// of them is there twice.

#ifndef VULKAN_ARRANGEMENT_H_
#define VULKAN_ARRANGEMENT_H_

#include "compiler/resolve.h"
#include "vulkan/program/upload.h"

enum arrangement {
    ARRANGED_AS_IT_IS,
    ARRANGED_COLUMNS, // of a matrix, whose type stays what it is (operand->arranged)
    // Filters, whose type has its dimensions in the new order:
    ARRANGED_OHWI, // "oihw" of conv2d as "ohwi";
    ARRANGED_IHWO, // as "ihwo", and "iohw" of convTranspose2d as "ohwi"
    ARRANGEMENTS
};

// The dimensions of a filter in their new order.
extern const uint32_t wnn_filter_orders[ARRANGEMENTS][4];

// Uploads a constant that has its bytes, as the operand's arrangement says.
bool wnn_arrange(struct uploads *uploads, const struct operand *operand, const struct constant *constant,
                 struct region to, struct error *error);
// The same bytes as a constant, of the origin that those have which are in that order; NULL when memory runs
// out.
struct constant *wnn_arranged(struct allocator *allocator, const struct operand *operand,
                              struct constant *constant);
// That origin, as a reference, or NULL: there is none, or no memory.
struct origin *wnn_arranged_origin(struct allocator *allocator, const struct operand *operand,
                                   struct constant *constant);

// Of a promised constant that a transpose makes of another: this one, to be arranged when it is uploaded.
void wnn_take_transpose(struct operand *operand);

// A constant with its bytes, for the caller; NULL: it fails. Outside of the gate while somebody is asked for
// them, or they are made.
struct constant *wnn_with_bytes(struct gpu *gpu, const struct resolver *resolver, struct constant *constant,
                                struct error *error);

#endif
