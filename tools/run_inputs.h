// SPDX-License-Identifier: Apache-2.0
//
// Values for the inputs of a graph, one after another: of files, of arrays with names, or random ones.

#ifndef TOOLS_RUN_INPUTS_H_
#define TOOLS_RUN_INPUTS_H_

#include "tools/array_set.h"
#include "tools/model.h"
#include "tools/run_data.h"

struct run_inputs {
    struct run_port **ports; // borrowed
    size_t count;
    const struct pixel_rule *rule;     // borrowed
    const char **files;                // of one input, any number; else one for each input, or NULL
    size_t file_count;                 // of one input
    const struct named_array **arrays; // for each input, or NULL; a file comes first
    bool random;                       // for what is left
    uint64_t seed;

    // Of one input: the file that its value is from, or NULL, and the number of the value among the file's.
    const char *path;
    size_t item, items;
    // What comes next.
    size_t next_file, next_item;
    struct run_file file;
    char *place; // of an array
    bool open, ended;
};

struct run_input_options {
    struct pixel_rule rule;
    const char **arguments; // "FILE" or "NAME=FILE"
    size_t count, capacity;
    bool random;
    unsigned long seed; // any number
};
#define RUN_INPUT_OPTIONS_INIT                                                                               \
    {                                                                                                        \
        .rule = PIXEL_RULE_INIT                                                                              \
    }

// For getopt_long, beyond the options of sessions.
#define RUN_INPUT_LONG_OPTIONS                                                                               \
    {"scale", required_argument, NULL, 1100}, {"mean", required_argument, NULL, 1101},                       \
        {"std", required_argument, NULL, 1102}, {"invert", no_argument, NULL, 1103},                         \
        {"layout", required_argument, NULL, 1104}, {"random", no_argument, NULL, 1105},                      \
        {"seed", required_argument, NULL, 1106},                                                             \
    {                                                                                                        \
        "input", required_argument, NULL, 1107                                                               \
    }

// Takes one of these options. False: it was wrong, and a message has been printed.
bool is_run_input_option(int option);
bool run_input_option(struct run_input_options *options, int option, const char *argument);

// Splits "NAME=FILE" if there is a port of that name; otherwise the whole is a file and the result `count`.
size_t run_port_named(struct run_port *const *ports, size_t count, const char *argument, const char **path);

// Takes an argument, which has to stay.
void run_input_options_add(struct run_input_options *options, const char *argument);

// Whether "FILE" or "NAME=FILE" is a standard stream, and how many of the arguments are.
bool is_stream_argument(const char *argument);
size_t run_input_options_streams(const struct run_input_options *options);

// The shapes of the arrays among the arguments, for the inputs that they are for (load_options.find_shapes).
// What is no array, or cannot be read, has none; reading it later says why.
void run_input_options_shapes(const void *options, size_t count, const struct string *names,
                              struct shape *shapes);

// Archives and folders among the arguments are added to `set`, which has arrays for inputs by name, or by
// their numbers among the inputs of the models.
bool run_inputs_begin(struct run_inputs *inputs, struct run_port *const *ports, size_t count,
                      const struct run_input_options *options, struct array_set *set,
                      const struct model *const *models, size_t model_count, struct error *error);
void run_inputs_end(struct run_inputs *inputs); // of ones that have not begun, too, if they are zero

// Puts the next value into every input. False: there is none, or an error.
bool run_inputs_next(struct run_inputs *inputs, struct error *error);

#endif
