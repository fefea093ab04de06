// SPDX-License-Identifier: Apache-2.0
//
// The text of a .webnn file as a tree: what stands where, before anything is known about operators.
//
//   webnn_graph "name" v1 {
//     inputs  { x: f32[1, 3, 224, 224]; }
//     consts  { w: f32[20, 3, 5, 5] @weights("key"); half: f32[] @scalar(0.5); table: u8[2] @bytes([1, 2]); }
//     nodes   { y = conv2d(x, w, strides=[2, 2], inputLayout="nchw"); [a, b] = split(y, 2, axis=1); }
//     outputs { a; b }
//   }
//
// Dumps of the compiler may stand in nodes: `y = conv2d(x, w) + relu;` is the convolution and relu of it, and
// the braces around the statements of one node change nothing. Comments begin with // or # and end with the
// line. Names that are not plain words can be quoted; \", \\ and \u{1B}, a character by its number in
// hexadecimal digits, are escapes there, and there is no NUL. Values are numbers, strings, words (operands,
// true, false, enumerators), lists and calls (activations).

#ifndef TOOLS_MODEL_WEBNN_TEXT_H_
#define TOOLS_MODEL_WEBNN_TEXT_H_

#include "lib/arena.h"
#include "lib/shape.h"
#include "lib/status.h"
#include "lib/text.h"

// Both count from 1; a column is a character.
struct place {
    unsigned line, column;
};

struct value {
    enum value_kind {
        VALUE_NUMBER,
        VALUE_STRING,
        VALUE_WORD,
        VALUE_LIST,
        VALUE_CALL
    } kind;
    struct place place;
    struct string text; // the word, the string's content, the number as written, or what is called
    WNNNumber number;
    struct value *items; // of a list
    size_t item_count;
    struct argument *arguments; // of a call
    size_t argument_count;
};

struct argument {
    struct string name; // empty: it has none
    struct place place;
    struct value value;
};

struct text_name {
    struct string name;
    struct place place;
};

// One line of inputs or consts.
struct declaration {
    struct text_name name;
    struct descriptor type;
    enum {
        FROM_WEIGHTS,
        FROM_SCALAR,
        FROM_BYTES
    } source; // of a constant
    struct place source_place;
    struct string key;
    WNNNumber scalar;
    unsigned char *bytes;
    size_t byte_count;
};

// One line of nodes. `y = x;` gives the operand x a second name.
struct statement {
    struct text_name *targets;
    size_t target_count;
    bool list; // written in brackets
    struct value value;
};

struct graph_text {
    const char *path;
    struct string name;
    unsigned version; // of the format
    struct declaration *inputs, *constants;
    size_t input_count, constant_count;
    struct statement *statements;
    size_t statement_count;
    struct text_name *outputs;
    size_t output_count;
};

// Parses `size` bytes; everything is made in `arena` and refers to no other memory but `path`. False: the
// error says path, line and column.
bool graph_text_parse(const char *path, const unsigned char *data, size_t size, struct arena *arena,
                      struct graph_text *text, struct error *error);

// Records "path:line:column: ..."; returns false.
bool graph_text_fail(const struct graph_text *text, struct place place, struct error *error,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

// The number that a value is, also for the words inf, infinity and nan, quoted or not; false if it is none.
bool graph_text_number(const struct value *value, WNNNumber *number);

// A data type by its name in graph files ("f32") or in the specification ("float32"); Undefined if there is
// none.
WNNDataType graph_text_dtype(struct string name);
const char *graph_text_dtype_name(WNNDataType type); // "f32"

// A name in quotes, where what a terminal might obey stands as escapes; NULL: no memory.
const char *graph_text_quote(struct arena *arena, struct string name);

// Whether a name can stand in a graph file without quotes.
bool graph_text_is_word(struct string name);

#endif
