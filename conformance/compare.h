// SPDX-License-Identifier: Apache-2.0
//
// Comparing results: distances in units in the last place (of integers: differences) or absolute ones. Equal
// values are equal, NaN equals any NaN and nothing else, and the sign of zero does not count, unless the
// flags say otherwise.

#ifndef CONFORMANCE_COMPARE_H_
#define CONFORMANCE_COMPARE_H_

#include "conformance/tolerance.h"

enum {
    COMPARE_ZERO_SIGNS = 1, // -0 is not 0
    COMPARE_LOST_NAN = 2,   // an infinity will do where NaN is expected
    COMPARE_FLUSHED = 4,    // denormal numbers of float32 are 0
};

struct difference {
    size_t count;               // elements that are too far off
    size_t first;               // the first of them
    double distance;            // how far the first is off, infinite for NaN
    double greatest;            // the greatest distance of all elements
    char got[48], expected[48]; // the first as text
};

// Whether all elements are within the tolerance.
bool wnn_compare(WNNDataType type, size_t count, const void *got, const void *expected,
                 const struct tolerance *tolerance, unsigned flags, struct difference *difference);

// One element as a double (64-bit integers rounded), and as text.
double wnn_element_double(WNNDataType type, const void *data, size_t index);
void wnn_element_text(WNNDataType type, const void *data, size_t index, char *buffer, size_t size);

#endif
