// SPDX-License-Identifier: Apache-2.0
//
// Windows of convolutions and pools, as attributes of ONNX describe them. WebNN has them for two spatial
// axes.

#ifndef TOOLS_MODEL_ONNX_WINDOW_H_
#define TOOLS_MODEL_ONNX_WINDOW_H_

#include "tools/model/onnx/call.h"

#define LARGEST   INT32_MAX // of sizes and attributes, so that sums and products of two stay within int64
#define MAX_PARTS 1024      // operators that one node may become because of the size of its window

enum automatic {
    NOTSET,
    VALID,
    SAME_UPPER,
    SAME_LOWER
};

struct window {
    size_t count; // of spatial axes
    int64_t kernel[3], strides[3], dilations[3], before[3], after[3];
    bool rounds_up; // the number of windows of a pool, which WebNN counts
};

// Options of an operator on planes, as WebNN wants them.
struct plane_lists {
    uint32_t kernel[2], strides[2], dilations[2], padding[4];
};

int64_t within(int64_t value, int64_t low, int64_t high);
// Which of the texts an attribute is; the first one if it is left out.
int find_text(const struct call *c, const char *name, size_t count, const char *const *texts);
enum automatic find_automatic(const struct call *c);
// A list with a number for each axis, or all `otherwise`; false: an error.
bool read_numbers(const struct call *c, const char *name, size_t count, int64_t least, int64_t otherwise,
                  int64_t *values);
// Whether a tensor has a rank of `least` to `most`, and sizes that can be computed with, or are late; false:
// an error.
bool check_sizes(struct recording *r, const struct tensor *t, const char *what, size_t least, size_t most);
bool check_known_sizes(struct recording *r, const struct tensor *t, const char *what, size_t least,
                       size_t most); // none is late
// `kernel`: the sizes that weights have, or NULL: they are an attribute. False: an error.
bool read_window(const struct call *c, const struct tensor *x, const int64_t *kernel, struct window *w);
bool read_pads(const struct call *c, const struct tensor *x, struct window *w);
// From the first to the last element of a window, and how many windows fit, along a spatial axis.
int64_t extent(const struct window *w, size_t axis);
int64_t count_windows(struct recording *r, const struct tensor *x, const struct window *w, size_t axis);
// Padding that is late, or all of it, becomes elements of the input.
struct tensor *take_padding(struct recording *r, struct tensor *x, struct window *w, bool all, double value);
// The last two axes of a window; of a single axis, after one of size 1.
struct window last_two(const struct window *w);
struct plane_lists lists_of(const struct window *w);

#endif
