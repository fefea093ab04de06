// SPDX-License-Identifier: Apache-2.0
//
// How far results are from a reference.

#ifndef TOOLS_DIFFERENCE_H_
#define TOOLS_DIFFERENCE_H_

#include "tools/array.h"

// How far an element may be off, by its type: a part of the scale of what it belongs to, which is the
// greatest finite magnitude there in the reference; of whole numbers a difference.
struct tolerances {
    double by_type[ELEMENT_TYPES];
    double absolute; // a difference of numbers with a fraction that is always allowed
};

extern const struct tolerances default_tolerances;

// "0.001", of all numbers with a fraction, or "uint8=1". False after a message.
bool tolerances_parse(struct tolerances *tolerances, const char *argument);

// An element that is off.
struct deviation {
    size_t item, element;
    WNNNumber is, reference;
};

struct difference {
    enum {
        DIFFERENCE_OF_NUMBERS,
        DIFFERENCE_OF_SHAPES, // nothing is compared then
        DIFFERENCE_OF_KINDS   // whole numbers and others: nothing is compared
    } kind;
    const struct element_type *type, *reference_type;
    struct shape shape, reference_shape;
    size_t elements; // of all items that were compared
    size_t unequal, beyond;
    double tolerance; // of the coarser type
    bool exact;       // the tolerance is a difference, not a part of the scale

    // Of finite numbers, the greatest part of its item's scale, or of whole numbers the greatest difference;
    // the others are those of the same element.
    double relative, largest, scale;
    struct deviation at;
    // Elements that are NaN on one side alone, or infinite and not the same on both; they are beyond.
    size_t nans, infinities;
    struct deviation nan, infinity; // the first ones
};

// Compares the shapes and types of one item of each side. False: nothing else can be compared.
bool difference_begin(struct difference *difference, const struct array *is, const struct shape *shape,
                      const struct array *reference, const struct shape *reference_shape,
                      const struct tolerances *tolerances);

// Compares the elements of one item, which begin at some element of the arrays.
void difference_add(struct difference *difference, const struct tolerances *tolerances, size_t item,
                    const struct array *is, size_t is_begin, const struct array *reference,
                    size_t reference_begin);

bool difference_within(const struct difference *difference);

#endif
