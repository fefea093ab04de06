// SPDX-License-Identifier: Apache-2.0
//
// .webnn as a format of models: text, with the weights in .safetensors files. Everything about operators
// comes from webnn/reflection.h, so that a file can say exactly what the API can.

#ifndef TOOLS_MODEL_WEBNN_RECORDER_H_
#define TOOLS_MODEL_WEBNN_RECORDER_H_

#include "tools/model/webnn/text.h"

#include <webnn/model.h>

#include <stdio.h>

// What a name of the file stands for.
struct webnn_name {
    struct string name;
    WNNOperand operand; // NULL: its operator could not be recorded
    struct string key;  // of a constant, among the weights; empty otherwise
    bool is_output;
    struct webnn_name *next;
};

// A file while it is recorded.
struct webnn_recorder {
    WNNGraphBuilder builder;
    const struct graph_text *text;
    struct arena *arena;
    struct webnn_name *names; // in the order of the file
    size_t name_count;
    struct webnn_name **buckets;
    size_t bucket_count;
};

// NULL if there is none.
struct webnn_name *webnn_find_name(const struct webnn_recorder *recorder, struct string name);

// False: the name is taken, and the error says so.
bool webnn_add_name(struct webnn_recorder *recorder, const struct text_name *name, WNNOperand operand,
                    struct string key, struct error *error);

// Records what the builder says of what was recorded last, with the place in the file in front, and clears
// it; returns false.
bool webnn_fail_builder(const struct webnn_recorder *recorder, struct place place, struct error *error);

// Records one line of the nodes block (call.c). False: an error, or, without one, an operand that it takes
// could not be recorded before.
bool webnn_record_call(struct webnn_recorder *recorder, const struct statement *statement,
                       struct error *error);

// The name nearest to `wanted` that `next` gives (NULL ends the names), if one is near enough to be meant.
const char *webnn_nearest_name(struct string wanted, const char *(*next)(void *argument), void *argument);

// "dir/name.safetensors" for "dir/name.webnn", to be freed; NULL: no memory.
char *webnn_weights_beside(const char *path);

// Writes what a builder holds as text (write.c). Constants stand in the text if they are small, or `weights`
// is NULL and they have no key; reading both back gives the same graph. `keys` are of operands, by index:
// where their bytes are in weights that exist; it may be NULL.
bool webnn_write(WNNGraphBuilder builder, const WNNModelSaveDescriptor *descriptor, FILE *file,
                 const char *weights, const char *const *keys, struct error *error);

#endif
