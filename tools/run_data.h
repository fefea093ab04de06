// SPDX-License-Identifier: Apache-2.0
//
// The data of `webnn run`: files that become inputs, and outputs that become files.

#ifndef TOOLS_RUN_DATA_H_
#define TOOLS_RUN_DATA_H_

#include "tools/array.h"
#include "tools/image.h"
#include "tools/session.h"

// An input or output of the graph, with room for one value.
struct run_port {
    struct string name;
    struct descriptor type;
    unsigned char *data;
    size_t bytes;
    // Of one that is wanted as a file:
    const char *path;
    unsigned char *kept; // the values of all items, one after another
    size_t kept_bytes, kept_capacity;
};

// A file with one or several values for an input: an image, an array, raw bytes.
struct run_file {
    const char *path;
    struct image image; // without pixels: it is none
    struct array array; // of numbers; raw bytes are an array of the input's type
    size_t items;       // how many values it has
};

// Ports for the inputs or outputs of a graph, and the same as buffers for the API.
struct run_port *run_ports_make(const WNNNamedDescriptor *list, size_t count, WNNNamedBuffer **buffers);
// Pointers to them, to be freed.
struct run_port **run_ports_list(struct run_port *ports, size_t count);
void run_ports_free(struct run_port *ports, size_t count, WNNNamedBuffer *buffers);

// Floats in [-1, 1), or whole numbers from 0 to 3, the same in every run of the program.
void run_port_randomise(struct run_port *port, uint64_t *seed);

// How many values of a shape an array has: one if it has that shape, or as many as an additional first
// dimension says; 0: it has another shape. Sizes of 1 do not count.
size_t count_values(const struct shape *array, const struct shape *value);

// Opens a file for an input: one value (or, if `many`, any number of them one after another). "-" is standard
// input.
bool run_file_open(struct run_file *file, const char *path, const struct run_port *port, bool many,
                   struct error *error);
// The same of an array, which becomes the file's; it is closed on failure, too.
bool run_file_take(struct run_file *file, const char *path, struct array *array, const struct run_port *port,
                   bool many, struct error *error);
void run_file_close(struct run_file *file);

// Puts value `item` into the port.
bool run_file_load(const struct run_file *file, size_t item, const struct pixel_rule *rule,
                   struct run_port *port, struct error *error);

// Keeps a value for its file, and writes the file after the last.
void run_port_keep(struct run_port *port);
bool run_port_write(const struct run_port *port, size_t items, struct error *error);

#endif
