// SPDX-License-Identifier: Apache-2.0
//
// Shaders that compute elements from the elements at the same places, or where an index map says, of their
// inputs. An invocation computes elements that lie side by side, and reads and writes them 16 bytes at a time
// where they lie so.

#ifndef VULKAN_ELEMENTS_H_
#define VULKAN_ELEMENTS_H_

#include "vulkan/program/shader.h"

enum {
    MAX_ELEMENT_INPUTS = GPU_BUFFERS,
    MAX_ELEMENT_OUTPUTS = GPU_BUFFERS
};

// An index map as wnn_shader_map takes it.
struct element_map {
    unsigned rank;
    uint32_t dims[GPU_MAP_RANK];
    int64_t steps[GPU_MAP_RANK], offset;
};

struct element_input {
    const char *name; // of the variable that holds the element
    const struct tensor *tensor;
    enum form form;
    struct element_map map;
    // Chosen at the end:
    enum {
        READ_EACH,  // an element at a time
        READ_ONCE,  // one element for all of an invocation
        READ_WORDS, // words of elements
    } reading;
    unsigned binding;
};

struct element_output {
    const char *value; // an expression
    const struct tensor *tensor;
    enum form form;
    // Chosen at the end:
    unsigned binding, width; // words that are written together
};

struct elements {
    struct shader shader; // declarations may be added to it
    struct shader body;   // text only
    size_t count;
    unsigned side;   // elements of an invocation at a time
    unsigned passes; // how many times
    bool whole;      // the last invocation has as many as the others
    struct element_input inputs[MAX_ELEMENT_INPUTS];
    struct element_output outputs[MAX_ELEMENT_OUTPUTS];
    unsigned input_count, output_count;
};

// Of outputs of `count` elements. The struct and what is passed later stay in use until the end.
void wnn_elements_begin(struct elements *elements, struct lowering *lowering, size_t count);

// Inputs. `name` is at most 15 letters.
void wnn_elements_map(struct elements *elements, const char *name, const struct tensor *tensor,
                      enum form form, unsigned rank, const uint32_t *dims, const int64_t *steps,
                      int64_t offset);
void wnn_elements_same(struct elements *elements, const char *name, const struct tensor *tensor,
                       enum form form);
void wnn_elements_broadcast(struct elements *elements, const char *name, const struct tensor *tensor,
                            enum form form, const struct shape *to);

// Statements, which know the inputs by their names and the number of the element as i.
void wnn_elements_do(struct elements *elements, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// What is written. What is fused is that of the first output.
void wnn_elements_output(struct elements *elements, const char *value, const struct tensor *tensor,
                         enum form form);
void wnn_elements_end(struct elements *elements, const struct fused *fused);

#endif
