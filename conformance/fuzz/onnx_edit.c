// SPDX-License-Identifier: Apache-2.0
#include "conformance/fuzz/onnx_edit.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PLACES 3000 // fields among which one is chosen
#define MAX_COPIED 3000 // fields of a message that is put elsewhere

// ---------------------------------------------------------------------------------------------------------------
// What messages are made of
// ---------------------------------------------------------------------------------------------------------------

const struct wire_kind onnx_pair = {"StringStringEntry", {{1, WIRE_TEXT, NULL}, {2, WIRE_TEXT, NULL}}};
const struct wire_kind onnx_opset = {"OperatorSetId", {{1, WIRE_TEXT, NULL}}};
const struct wire_kind onnx_dimension = {"Dimension", {{2, WIRE_TEXT, NULL}, {3, WIRE_TEXT, NULL}}};
const struct wire_kind onnx_shape = {"TensorShape", {{1, WIRE_INNER, &onnx_dimension}}};
const struct wire_kind onnx_tensor_type = {"Type.Tensor", {{2, WIRE_INNER, &onnx_shape}}};
static const struct wire_kind onnx_sequence_type = {"Type.Sequence", {{1, WIRE_INNER, &onnx_type}}};
const struct wire_kind onnx_type = {"Type",
                                    {{1, WIRE_INNER, &onnx_tensor_type},
                                     {4, WIRE_INNER, &onnx_sequence_type},
                                     {6, WIRE_TEXT, NULL},
                                     {9, WIRE_INNER, &onnx_sequence_type}}};
const struct wire_kind onnx_value = {
    "ValueInfo", {{1, WIRE_TEXT, NULL}, {2, WIRE_INNER, &onnx_type}, {3, WIRE_TEXT, NULL}}};
const struct wire_kind onnx_tensor = {"Tensor",
                                      {{1, WIRE_NUMBERS, NULL},
                                       {4, WIRE_FLOATS, NULL},
                                       {5, WIRE_NUMBERS, NULL},
                                       {6, WIRE_TEXT, NULL},
                                       {7, WIRE_NUMBERS, NULL},
                                       {8, WIRE_TEXT, NULL},
                                       {9, WIRE_OPAQUE, NULL},
                                       {10, WIRE_DOUBLES, NULL},
                                       {11, WIRE_NUMBERS, NULL},
                                       {12, WIRE_TEXT, NULL},
                                       {13, WIRE_INNER, &onnx_pair}}};
const struct wire_kind onnx_attribute = {"Attribute",
                                         {{1, WIRE_TEXT, NULL},
                                          {4, WIRE_TEXT, NULL},
                                          {5, WIRE_INNER, &onnx_tensor},
                                          {6, WIRE_INNER, &onnx_graph},
                                          {7, WIRE_FLOATS, NULL},
                                          {8, WIRE_NUMBERS, NULL},
                                          {9, WIRE_TEXT, NULL},
                                          {10, WIRE_INNER, &onnx_tensor},
                                          {11, WIRE_INNER, &onnx_graph},
                                          {13, WIRE_TEXT, NULL},
                                          {14, WIRE_INNER, &onnx_type},
                                          {21, WIRE_TEXT, NULL}}};
const struct wire_kind onnx_node = {"Node",
                                    {{1, WIRE_TEXT, NULL},
                                     {2, WIRE_TEXT, NULL},
                                     {3, WIRE_TEXT, NULL},
                                     {4, WIRE_TEXT, NULL},
                                     {5, WIRE_INNER, &onnx_attribute},
                                     {6, WIRE_TEXT, NULL},
                                     {7, WIRE_TEXT, NULL}}};
static const struct wire_kind onnx_sparse = {
    "SparseTensor", {{1, WIRE_INNER, &onnx_tensor}, {2, WIRE_INNER, &onnx_tensor}, {3, WIRE_NUMBERS, NULL}}};
const struct wire_kind onnx_graph = {"Graph",
                                     {{1, WIRE_INNER, &onnx_node},
                                      {2, WIRE_TEXT, NULL},
                                      {5, WIRE_INNER, &onnx_tensor},
                                      {10, WIRE_TEXT, NULL},
                                      {11, WIRE_INNER, &onnx_value},
                                      {12, WIRE_INNER, &onnx_value},
                                      {13, WIRE_INNER, &onnx_value},
                                      {15, WIRE_INNER, &onnx_sparse}}};
static const struct wire_kind onnx_function = {"Function",
                                               {{1, WIRE_TEXT, NULL},
                                                {4, WIRE_TEXT, NULL},
                                                {5, WIRE_TEXT, NULL},
                                                {6, WIRE_TEXT, NULL},
                                                {7, WIRE_INNER, &onnx_node},
                                                {9, WIRE_INNER, &onnx_opset},
                                                {10, WIRE_TEXT, NULL}}};
const struct wire_kind onnx_model = {"Model",
                                     {{2, WIRE_TEXT, NULL},
                                      {3, WIRE_TEXT, NULL},
                                      {4, WIRE_TEXT, NULL},
                                      {6, WIRE_TEXT, NULL},
                                      {7, WIRE_INNER, &onnx_graph},
                                      {8, WIRE_INNER, &onnx_opset},
                                      {14, WIRE_INNER, &onnx_pair},
                                      {25, WIRE_INNER, &onnx_function}}};

const struct onnx_operator_name onnx_operators[] = {
#define ONNX_OPERATOR(domain, name, least, most, function, parameter) {domain, name},
#include "tools/model/onnx/operators.def"
#undef ONNX_OPERATOR
};
const size_t onnx_operator_count = sizeof onnx_operators / sizeof onnx_operators[0];

// ---------------------------------------------------------------------------------------------------------------
// Choices
// ---------------------------------------------------------------------------------------------------------------

struct place {
    struct wire_message *message;
    size_t index;
};

struct spoiler {
    struct wire_pool *pool;
    struct wire_message *model;
    struct edits *edits;
    struct place places[MAX_PLACES];
    size_t place_count;
};

static struct wire_field *field_at(struct place place)
{
    return &place.message->fields[place.index];
}

static void list_places(struct spoiler *s, struct wire_message *message)
{
    for (size_t i = 0; i < message->count && s->place_count < MAX_PLACES; i++) {
        s->places[s->place_count++] = (struct place){message, i};
        if (message->fields[i].form == WIRE_MESSAGE)
            list_places(s, message->fields[i].message);
    }
}

static size_t choose(struct spoiler *s, size_t count)
{
    return count ? take_long(s->edits) % count : 0;
}

// One of the fields for which `fits` holds; false: there is none.
static bool choose_place(struct spoiler *s, bool (*fits)(struct place place), struct place *place)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < s->place_count; i++)
        count += fits(s->places[i]);
    size_t wanted = choose(s, count);
    for (size_t i = 0; i < s->place_count; i++)
        if (fits(s->places[i]) && at++ == wanted) {
            *place = s->places[i];
            return true;
        }
    return false;
}

static bool is_any(struct place place)
{
    (void)place;
    return true;
}

static bool is_number(struct place place)
{
    return field_at(place)->form == WIRE_NUMBER;
}

static bool is_message(struct place place)
{
    return field_at(place)->form == WIRE_MESSAGE;
}

static bool is_leaf(struct place place, enum wire_leaf leaf)
{
    const struct wire_field *field = field_at(place);
    return field->form == WIRE_BYTES && wire_rule_of(place.message, field->number).leaf == leaf;
}

static bool is_text(struct place place)
{
    return is_leaf(place, WIRE_TEXT);
}

static bool is_list(struct place place)
{
    return is_leaf(place, WIRE_NUMBERS);
}

static bool is_real(struct place place)
{
    return is_leaf(place, WIRE_FLOATS) || is_leaf(place, WIRE_DOUBLES) ||
           field_at(place)->form == WIRE_32_BITS;
}

static bool is_bytes(struct place place)
{
    return field_at(place)->form == WIRE_BYTES;
}

static bool is_node(struct place place)
{
    return is_message(place) && field_at(place)->message->kind == &onnx_node;
}

static bool is_graph(struct place place)
{
    return is_message(place) && field_at(place)->message->kind == &onnx_graph;
}

// A field that says of which type something is.
static bool is_type(struct place place)
{
    const struct wire_kind *kind = place.message->kind;
    uint32_t number = field_at(place)->number;
    return is_number(place) && ((kind == &onnx_tensor && (number == 2 || number == 14)) ||
                                (kind == &onnx_tensor_type && number == 1) ||
                                (kind == &onnx_attribute && (number == 3 || number == 20)));
}

static bool is_size(struct place place)
{
    const struct wire_kind *kind = place.message->kind;
    return (is_number(place) && (kind == &onnx_dimension || kind == &onnx_tensor)) ||
           (is_list(place) && kind == &onnx_tensor && field_at(place)->number == 1);
}

static int64_t hostile_number(struct edits *edits)
{
    static const int64_t numbers[] = {
        0,         1,          -1,         2,         -2,          3,         4,        7,
        8,         9,          16,         64,        255,         256,       4096,     4097,
        65535,     65536,      65537,      1 << 20,   1 << 24,     1 << 26,   1 << 28,  INT32_MAX,
        INT32_MIN, UINT32_MAX, 1L << 32,   1L << 31,  46341,       1L << 40,  1L << 60, 1L << 62,
        INT64_MAX, INT64_MIN,  -INT64_MAX, -(1 << 8), -(1L << 40), 1000000007};
    return numbers[take(edits) % (sizeof numbers / sizeof numbers[0])];
}

static double hostile_real(struct edits *edits)
{
    static const double reals[] = {0,     -0.0,  1,      -1,     0.5,    -0.5,   2,   1e-45,        1e-5,
                                   1e30,  -1e30, 3.4e38, 1e300,  -1e300, 1e-300, 255, 4294967296.0, 1e19,
                                   -1e19, 65504, 65520,  1.0 / 3};
    unsigned which = take(edits) % (sizeof reals / sizeof reals[0] + 3);
    return which == 0   ? (double)__builtin_inff()
           : which == 1 ? -(double)__builtin_inff()
           : which == 2 ? (double)__builtin_nanf("")
                        : reals[which - 3];
}

static void set_bytes(struct spoiler *s, struct wire_field *field, const char *data, size_t size)
{
    char *copy = wire_allocate(s->pool, size + 1);
    if (size)
        memcpy(copy, data, size);
    field->form = WIRE_BYTES;
    field->data = copy;
    field->size = size;
}

// ---------------------------------------------------------------------------------------------------------------
// Mistakes. Each is made at a place that is chosen; nothing happens if there is none.
// ---------------------------------------------------------------------------------------------------------------

static void spoil_number(struct spoiler *s)
{
    struct place place, other;
    if (!choose_place(s, is_number, &place))
        return;
    uint64_t *value = &field_at(place)->value;
    switch (take(s->edits) % 4) {
    case 0:
        *value += take(s->edits) % 2 ? 1 : UINT64_MAX;
        break;
    case 1:
        if (choose_place(s, is_number, &other))
            *value = field_at(other)->value;
        break;
    default:
        *value = (uint64_t)hostile_number(s->edits);
    }
}

static void spoil_type(struct spoiler *s)
{
    struct place place;
    if (choose_place(s, is_type, &place))
        field_at(place)->value = take(s->edits) % 26;
}

// One number of a list: another, one more, one less, or all of them another.
static void spoil_numbers(struct spoiler *s, bool (*fits)(struct place place))
{
    enum {
        MAX_NUMBERS = 256
    };
    int64_t numbers[MAX_NUMBERS + 1];
    struct place place;
    if (!choose_place(s, fits, &place))
        return;
    struct wire_field *field = field_at(place);
    if (field->form == WIRE_NUMBER) {
        field->value = (uint64_t)hostile_number(s->edits);
        return;
    }
    size_t count = wire_unpack(field->data, field->size, MAX_NUMBERS, numbers);
    size_t at = choose(s, count + 1), rest = count - at;
    switch (take(s->edits) % 6) {
    case 0: // left out
        if (rest > 0)
            memmove(numbers + at, numbers + at + 1, (rest - 1) * sizeof *numbers);
        count -= rest > 0;
        break;
    case 1: // one more
        memmove(numbers + at + 1, numbers + at, rest * sizeof *numbers);
        numbers[at] = hostile_number(s->edits);
        count++;
        break;
    case 2: // a field for each
        wire_remove(place.message, place.index);
        for (size_t i = 0; i < count; i++)
            wire_add_number(s->pool, place.message, wire_find(place.message, 1) ? 1 : 8,
                            (uint64_t)numbers[i]);
        return;
    case 3:
        for (size_t i = 0; i < count; i++)
            numbers[i] = hostile_number(s->edits);
        break;
    default:
        if (rest > 0)
            numbers[at] = hostile_number(s->edits);
    }
    field->data = wire_pack(s->pool, count, numbers, &field->size);
}

static void spoil_list(struct spoiler *s)
{
    spoil_numbers(s, is_list);
}

static void spoil_size(struct spoiler *s)
{
    spoil_numbers(s, is_size);
}

static void spoil_real(struct spoiler *s)
{
    struct place place;
    if (!choose_place(s, is_real, &place))
        return;
    struct wire_field *field = field_at(place);
    double number = hostile_real(s->edits);
    float single = (float)number;
    size_t width = is_leaf(place, WIRE_DOUBLES) ? 8 : 4;
    if (field->form != WIRE_BYTES) {
        field->value = 0;
        memcpy(&field->value, &single, sizeof single);
        return;
    }
    size_t at = choose(s, field->size / width + 1) * width;
    char *data = wire_allocate(s->pool, field->size + width);
    if (field->size)
        memcpy(data, field->data, field->size);
    memcpy(data + at, width == 8 ? (const void *)&number : &single, width);
    field->data = data;
    field->size = at + width > field->size ? at + width : field->size;
}

// A text becomes that of another field, which makes names equal, missing, and ends of circles.
static void spoil_name(struct spoiler *s)
{
    struct place place, other;
    if (!choose_place(s, is_text, &place) || !choose_place(s, is_text, &other))
        return;
    struct wire_field *to = field_at(place), *from = field_at(other), old = *to;
    to->data = from->data;
    to->size = from->size;
    if (take(s->edits) % 4 == 0) {
        from->data = old.data;
        from->size = old.size;
    }
}

static void spoil_text(struct spoiler *s)
{
    static const char *const words[] = {"",
                                        "x",
                                        "ai.onnx",
                                        "com.microsoft",
                                        "axis",
                                        "axes",
                                        "value",
                                        "value_ints",
                                        "value_float",
                                        "body",
                                        "then_branch",
                                        "pads",
                                        "mode",
                                        "to",
                                        "SAME_UPPER",
                                        "location",
                                        "offset",
                                        "length",
                                        "w.bin",
                                        "../w.bin",
                                        "/etc/passwd",
                                        "18446744073709551615",
                                        "4294967296",
                                        "-1",
                                        "n=0",
                                        "n=4294967295",
                                        "ij,jk->ik",
                                        "...i,i...->...",
                                        "bidirectional",
                                        "\xff\xfe",
                                        "\x1b[31m",
                                        "a\nb",
                                        "%s%n",
                                        "Unique",
                                        "SequenceAt"};
    static const unsigned count = sizeof words / sizeof words[0];
    struct place place;
    if (!choose_place(s, is_text, &place))
        return;
    struct wire_field *field = field_at(place);
    unsigned kind = take(s->edits) % 8, amount = take(s->edits);
    if (kind == 0 && field->size > 0) { // shorter
        field->size = amount % field->size;
    } else if (kind == 1) { // long
        struct contents text = {calloc(1, 1), 0};
        replace(&text, 0, 0, amount % 2 ? "name" : "\xc3\xa9", amount % 2 ? 4 : 2, (size_t)1 << amount % 14);
        set_bytes(s, field, text.data, text.size);
        free(text.data);
    } else if (kind == 2 && field->size > 0) { // one byte
        char byte = (char)take(s->edits);
        size_t at = choose(s, field->size);
        set_bytes(s, field, field->data, field->size);
        ((char *)(uintptr_t)field->data)[at] = byte;
    } else {
        set_bytes(s, field, words[amount % count], strlen(words[amount % count]));
    }
}

static void spoil_bytes(struct spoiler *s)
{
    struct place place;
    if (!choose_place(s, is_bytes, &place))
        return;
    struct wire_field *field = field_at(place);
    struct contents bytes = {malloc(field->size + 1), field->size};
    if (!bytes.data)
        abort();
    if (field->size)
        memcpy(bytes.data, field->data, field->size);
    spoil(&bytes, s->edits);
    set_bytes(s, field, bytes.data, bytes.size);
    free(bytes.data);
}

static void leave_out(struct spoiler *s)
{
    struct place place;
    if (choose_place(s, is_any, &place))
        wire_remove(place.message, place.index);
}

// Again, up to many times.
static void repeat(struct spoiler *s)
{
    struct place place;
    if (!choose_place(s, is_any, &place))
        return;
    struct wire_field field = *field_at(place);
    unsigned amount = take(s->edits);
    for (size_t i = 0; i < (amount < 160 ? 1 : (size_t)1 << amount % 16); i++)
        *wire_insert(s->pool, place.message, place.message->count) = field;
}

// A copy of a field into another message, any or of the same kind as the one that it is in.
static void put_elsewhere(struct spoiler *s)
{
    struct place place, other;
    if (!choose_place(s, is_any, &place) || !choose_place(s, is_message, &other))
        return;
    struct wire_field field = *field_at(place);
    struct wire_message *to = field_at(other)->message;
    if (field.form == WIRE_MESSAGE && !(field.message = wire_copy(s->pool, field.message, MAX_COPIED)))
        return;
    *wire_insert(s->pool, to, choose(s, to->count + 1)) = field;
}

// A message becomes a copy of another one of its kind.
static void replace_message(struct spoiler *s)
{
    struct place place, other;
    if (!choose_place(s, is_message, &place))
        return;
    struct wire_field *field = field_at(place);
    for (int attempt = 0; attempt < 8 && choose_place(s, is_message, &other); attempt++) {
        struct wire_message *from = field_at(other)->message;
        if (from == field->message || from->kind != field->message->kind)
            continue;
        struct wire_message *copied = wire_copy(s->pool, from, MAX_COPIED);
        field->message = copied ? copied : field->message;
        return;
    }
}

static void swap_fields(struct spoiler *s)
{
    struct place place;
    if (!choose_place(s, is_any, &place))
        return;
    struct wire_field *a = field_at(place), *b = &place.message->fields[choose(s, place.message->count)];
    struct wire_field old = *a;
    *a = *b;
    *b = old;
}

static void change_form(struct spoiler *s)
{
    static const enum wire_form forms[] = {WIRE_NUMBER, WIRE_64_BITS, WIRE_BYTES, WIRE_32_BITS};
    struct place place;
    if (choose_place(s, is_any, &place))
        field_at(place)->form = forms[take(s->edits) % 4];
}

static void change_number(struct spoiler *s)
{
    struct place place;
    if (choose_place(s, is_any, &place))
        field_at(place)->number = 1 + take(s->edits) % 26;
}

static void change_operator(struct spoiler *s)
{
    struct place place;
    if (!choose_place(s, is_node, &place))
        return;
    struct wire_message *node = field_at(place)->message;
    const struct onnx_operator_name *name = &onnx_operators[choose(s, onnx_operator_count)];
    struct wire_field *operation = wire_find(node, 4);
    if (operation)
        set_bytes(s, operation, name->name, strlen(name->name));
    if (name->domain[0])
        wire_add_text(s->pool, node, 7, name->domain);
}

// An initializer that is true.
static void add_truth(struct wire_pool *pool, struct wire_message *graph, const char *name)
{
    struct wire_message *tensor = wire_add_message(pool, graph, 5, &onnx_tensor);
    wire_add_number(pool, tensor, 2, 9);
    wire_add_text(pool, tensor, 8, name);
    wire_add_bytes(pool, tensor, 9, "\1", 1);
}

static struct wire_message *add_branch(struct wire_pool *pool, struct wire_message *node, const char *name)
{
    struct wire_message *attribute = wire_add_message(pool, node, 5, &onnx_attribute);
    wire_add_text(pool, attribute, 1, name);
    return wire_add_message(pool, attribute, 6, &onnx_graph);
}

// A graph with a node whose branch is the graph that was there, up to many times.
static void nest(struct spoiler *s)
{
    struct place place;
    if (!choose_place(s, is_graph, &place))
        return;
    struct wire_message *graph = field_at(place)->message;
    unsigned depth = 1u << take(s->edits) % 7;
    bool both = take(s->edits) % 4 == 0;
    for (; depth > 0 && wire_size(graph) < MAX_EDITED / 4; depth--) {
        struct wire_message *outer = wire_make(s->pool, &onnx_graph),
                            *node = wire_add_message(s->pool, outer, 1, &onnx_node);
        wire_add_text(s->pool, node, 1, "truth");
        wire_add_text(s->pool, node, 4, "If");
        for (size_t i = 0; i < graph->count; i++) {
            struct wire_field *field = &graph->fields[i], *name = wire_find(field->message, 1);
            if (field->number == 12 && name && name->form == WIRE_BYTES)
                wire_add_bytes(s->pool, node, 2, name->data, name->size);
            if (field->number == 11 || field->number == 12)
                *wire_insert(s->pool, outer, outer->count) = *field;
        }
        add_truth(s->pool, outer, "truth");
        *add_branch(s->pool, node, "then_branch") = *graph;
        if (both)
            *add_branch(s->pool, node, "else_branch") = *graph;
        graph = outer;
    }
    field_at(place)->message = graph;
}

void onnx_spoil(struct wire_pool *pool, struct wire_message *model, struct edits *edits)
{
    static void (*const kinds[])(struct spoiler * s) = {
        spoil_number, spoil_number, spoil_type,    spoil_list,    spoil_list,      spoil_size,
        spoil_size,   spoil_real,   spoil_name,    spoil_name,    spoil_text,      spoil_bytes,
        leave_out,    leave_out,    repeat,        put_elsewhere, replace_message, replace_message,
        swap_fields,  change_form,  change_number, nest,          change_operator, change_operator,
    };
    struct spoiler *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->pool = pool;
    s->model = model;
    s->edits = edits;
    list_places(s, model);
    kinds[take(edits) % (sizeof kinds / sizeof kinds[0])](s);
    free(s);
}
