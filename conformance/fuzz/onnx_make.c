// SPDX-License-Identifier: Apache-2.0
#include "conformance/fuzz/onnx_make.h"

#include "conformance/fuzz/onnx_edit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DIMS = 8,
    MAX_ELEMENTS = 4096, // of an initializer
    MAX_VALUES = 200,
    MAX_NODES = 12, // of a graph
    MAX_LEVELS = 3, // of graphs in graphs
    MAX_NAME = 24
};

enum type {
    FLOAT32 = 1,
    UINT8,
    INT8,
    UINT16,
    INT16,
    INT32,
    INT64,
    BOOL = 9,
    FLOAT16,
    FLOAT64,
    UINT32,
    UINT64,
    BFLOAT16 = 16,
    UINT4 = 21,
    INT4
};

static const struct form {
    const char *domain, *operation, *inputs, *outputs, *attributes;
} forms[] = {
#define ONNX_NODE(domain, name, inputs, outputs, attributes) {domain, name, inputs, outputs, attributes},
#include "conformance/fuzz/onnx_nodes.def"
#undef ONNX_NODE
};

struct value {
    char name[MAX_NAME];
    enum type type;
    bool shaped; // the shape is known
    size_t rank;
    int64_t dims[MAX_DIMS];
};

struct maker {
    struct wire_pool *pool;
    struct edits *edits;
    unsigned storage, names, level;
    struct contents *external;
    struct wire_message *top, *graph; // graph: the one at hand
    struct value values[MAX_VALUES];  // that the graph at hand can use
    size_t value_count;
};

// What is the same in all of a node.
struct choice {
    int64_t sizes[26];
    enum type real, number, index, byte, nibble, whole;
};

static bool one_in(struct maker *m, unsigned n)
{
    return take(m->edits) % n == n - 1;
}

static void make_name(struct maker *m, char *name, char letter)
{
    snprintf(name, MAX_NAME, "%c%u", letter, m->names++);
}

static struct value *add_value(struct maker *m, const char *name, enum type type)
{
    if (m->value_count == MAX_VALUES)
        m->value_count--;
    struct value *value = &m->values[m->value_count++];
    *value = (struct value){.type = type};
    snprintf(value->name, sizeof value->name, "%s", name);
    return value;
}

static struct value *add_shaped(struct maker *m, const char *name, enum type type, size_t rank,
                                const int64_t *dims)
{
    struct value *value = add_value(m, name, type);
    value->shaped = true;
    value->rank = rank;
    if (rank)
        memcpy(value->dims, dims, rank * sizeof *dims);
    return value;
}

// ---------------------------------------------------------------------------------------------------------------
// Elements
// ---------------------------------------------------------------------------------------------------------------

static int64_t count_of(size_t rank, const int64_t *dims)
{
    int64_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    return count;
}

static unsigned bits_of(enum type type)
{
    switch (type) {
    case UINT4:
    case INT4:
        return 4;
    case UINT8:
    case INT8:
    case BOOL:
        return 8;
    case UINT16:
    case INT16:
    case FLOAT16:
    case BFLOAT16:
        return 16;
    case INT64:
    case UINT64:
    case FLOAT64:
        return 64;
    default:
        return 32;
    }
}

// Numbers whose bits are few, as those of float16; they are exact in all types.
static uint64_t bits_of_number(enum type type, double number)
{
    float single = (float)number;
    uint32_t bits;
    uint64_t all;
    memcpy(&bits, &single, sizeof bits);
    memcpy(&all, &number, sizeof all);
    int exponent = (int)(bits >> 23 & 255) - 127;
    switch (type) {
    case FLOAT32:
        return bits;
    case FLOAT64:
        return all;
    case BFLOAT16:
        return bits >> 16;
    case FLOAT16:
        return number == 0 || exponent < -14
                   ? bits >> 31 << 15
                   : bits >> 31 << 15 | (uint32_t)(exponent + 15) << 10 | (bits >> 13 & 1023);
    case BOOL:
        return number != 0;
    default:
        return number >= 9223372036854775807.0 ? (uint64_t)INT64_MAX : (uint64_t)(int64_t)number;
    }
}

// The field that numbers of a type stand in one by one.
static uint32_t field_of(enum type type)
{
    switch (type) {
    case FLOAT32:
        return 4;
    case INT64:
        return 7;
    case FLOAT64:
        return 10;
    case UINT32:
    case UINT64:
        return 11;
    default:
        return 5;
    }
}

static char *pack_elements(struct maker *m, enum type type, size_t count, const double *numbers, size_t *size)
{
    unsigned bits = bits_of(type);
    *size = (count * bits + 7) / 8;
    char *data = wire_allocate(m->pool, *size + 1);
    memset(data, 0, *size + 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t word = bits_of_number(type, numbers[i]);
        if (bits == 4)
            data[i / 2] = (char)(data[i / 2] | (char)((word & 15) << (i % 2 ? 4 : 0)));
        for (unsigned k = 0; k < bits / 8; k++)
            data[i * bits / 8 + k] = (char)(word >> 8 * k);
    }
    return data;
}

static void store_one_by_one(struct maker *m, struct wire_message *tensor, enum type type, size_t count,
                             const double *numbers)
{
    uint32_t field = field_of(type);
    size_t size;
    if (field == 4 || field == 10) {
        bool packed = !one_in(m, 3);
        const char *data = pack_elements(m, type, count, numbers, &size);
        if (packed)
            wire_add_bytes(m->pool, tensor, field, data, size);
        for (size_t i = 0; !packed && i < count; i++) {
            struct wire_field *one = wire_insert(m->pool, tensor, tensor->count);
            *one = (struct wire_field){.number = field,
                                       .form = field == 4 ? WIRE_32_BITS : WIRE_64_BITS,
                                       .value = bits_of_number(type, numbers[i])};
        }
        return;
    }
    // Two numbers of 4 bits share one.
    size_t step = bits_of(type) == 4 ? 2 : 1, all = (count + step - 1) / step;
    int64_t *words = wire_allocate(m->pool, (all + 1) * sizeof *words);
    for (size_t i = 0; i < all; i++) {
        uint64_t word = bits_of_number(type, numbers[i * step]);
        if (step == 2)
            word = (word & 15) | (i * 2 + 1 < count ? bits_of_number(type, numbers[i * 2 + 1]) & 15 : 0) << 4;
        words[i] = (int64_t)word;
    }
    wire_add_numbers(m->pool, tensor, field, all, words, !one_in(m, 3));
}

static void add_pair(struct maker *m, struct wire_message *message, uint32_t number, const char *key,
                     const char *value)
{
    struct wire_message *pair = wire_add_message(m->pool, message, number, &onnx_pair);
    wire_add_text(m->pool, pair, 1, key);
    wire_add_text(m->pool, pair, 2, value);
}

static void store_outside(struct maker *m, struct wire_message *tensor, const char *data, size_t size)
{
    char number[24];
    add_pair(m, tensor, 13, "location", ONNX_EXTERNAL);
    snprintf(number, sizeof number, "%zu", m->external->size);
    add_pair(m, tensor, 13, "offset", number);
    snprintf(number, sizeof number, "%zu", size);
    add_pair(m, tensor, 13, "length", number);
    wire_add_number(m->pool, tensor, 14, 1);
    replace(m->external, m->external->size, 0, data, size, 1);
}

static void fill_tensor(struct maker *m, struct wire_message *tensor, const char *name, enum type type,
                        size_t rank, const int64_t *dims, const double *numbers)
{
    size_t count = (size_t)count_of(rank, dims), size;
    unsigned storage = take(m->edits) + m->storage;
    if (rank > 0)
        wire_add_numbers(m->pool, tensor, 1, rank, dims, one_in(m, 2));
    wire_add_number(m->pool, tensor, 2, type);
    if (name)
        wire_add_text(m->pool, tensor, 8, name);
    const char *data = pack_elements(m, type, count, numbers, &size);
    // As many choices are taken in each way, so that what follows is the same.
    struct edits before = *m->edits;
    one_in(m, 3);
    struct edits after = *m->edits;
    *m->edits = before;
    if (storage % ONNX_STORAGES == 0 || count == 0)
        store_one_by_one(m, tensor, type, count, numbers);
    else if (storage % ONNX_STORAGES == 1 || !name)
        wire_add_bytes(m->pool, tensor, 9, data, size);
    else
        store_outside(m, tensor, data, size);
    *m->edits = after;
}

// Numbers below a bound, or any small ones if it is 0.
static double *make_elements(struct maker *m, enum type type, size_t count, int64_t bound)
{
    static const double reals[] = {0, 1, -1, 0.5, 2, -0.25, 3, 0.125, -2, 4, 1.5, -0.5, 8, 0.75, -3, 6};
    double *numbers = wire_allocate(m->pool, (count + 1) * sizeof *numbers);
    uint32_t state = take_long(m->edits);
    bool is_real = type == FLOAT32 || type == FLOAT16 || type == FLOAT64 || type == BFLOAT16;
    bool is_signed = type == INT8 || type == INT16 || type == INT32 || type == INT64;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        unsigned random = state >> 24;
        numbers[i] = bound > 0            ? (double)(random % (uint64_t)bound)
                     : is_real            ? reals[random % 16]
                     : type == BOOL       ? (double)(random % 2)
                     : is_signed          ? (double)(random % 16) - 8
                     : bits_of(type) == 4 ? (double)(random % 8)
                                          : (double)random;
    }
    return numbers;
}

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

static void add_value_info(struct maker *m, struct wire_message *graph, uint32_t number,
                           const struct value *value, bool symbolic)
{
    struct wire_message *info = wire_add_message(m->pool, graph, number, &onnx_value);
    wire_add_text(m->pool, info, 1, value->name);
    struct wire_message *type = wire_add_message(m->pool, info, 2, &onnx_type),
                        *tensor = wire_add_message(m->pool, type, 1, &onnx_tensor_type);
    wire_add_number(m->pool, tensor, 1, value->type);
    if (!value->shaped)
        return;
    struct wire_message *shape = wire_add_message(m->pool, tensor, 2, &onnx_shape);
    for (size_t i = 0; i < value->rank; i++) {
        struct wire_message *dimension = wire_add_message(m->pool, shape, 1, &onnx_dimension);
        char name[40];
        snprintf(name, sizeof name, "n%u=%lld", m->names++, (long long)value->dims[i]);
        if (symbolic && one_in(m, 2))
            wire_add_text(m->pool, dimension, 2, name);
        else
            wire_add_number(m->pool, dimension, 1, (uint64_t)value->dims[i]);
    }
}

static struct wire_message *add_node(struct maker *m, const char *domain, const char *operation)
{
    char name[MAX_NAME];
    struct wire_message *node = wire_add_message(m->pool, m->graph, 1, &onnx_node);
    make_name(m, name, 'N');
    wire_add_text(m->pool, node, 3, name);
    wire_add_text(m->pool, node, 4, operation);
    if (domain[0])
        wire_add_text(m->pool, node, 7, domain);
    return node;
}

static struct wire_message *add_attribute(struct maker *m, struct wire_message *node, const char *name,
                                          unsigned type)
{
    struct wire_message *attribute = wire_add_message(m->pool, node, 5, &onnx_attribute);
    wire_add_text(m->pool, attribute, 1, name);
    wire_add_number(m->pool, attribute, 20, type);
    return attribute;
}

// A new operand: an input of the model, an initializer of the graph at hand or what a node gives. `numbers`
// NULL: any elements, below the bound if it is not 0.
static struct value *make_operand(struct maker *m, enum type type, size_t rank, const int64_t *dims,
                                  int64_t bound, const double *numbers)
{
    char name[MAX_NAME];
    int64_t count = count_of(rank, dims);
    unsigned kind = take(m->edits) % 16;
    bool given = (numbers ? kind == 15 : kind < 9) || count > MAX_ELEMENTS;
    make_name(m, name, given ? 'x' : 'w');
    struct value *value = add_shaped(m, name, type, rank, dims);
    if (given) {
        add_value_info(m, m->top, 11, value, one_in(m, 2));
        return value;
    }
    const double *elements = numbers ? numbers : make_elements(m, type, (size_t)count, bound);
    if (kind % 4 == 2) {
        struct wire_message *node = add_node(m, "", "Constant");
        fill_tensor(m, wire_add_message(m->pool, add_attribute(m, node, "value", 4), 5, &onnx_tensor), NULL,
                    type, rank, dims, elements);
        wire_add_text(m->pool, node, 2, name);
        return value;
    }
    struct wire_message *graph = kind % 4 == 1 ? m->top : m->graph;
    fill_tensor(m, wire_add_message(m->pool, graph, 5, &onnx_tensor), name, type, rank, dims, elements);
    if (graph == m->top && kind == 13)
        add_value_info(m, m->top, 11, value, false);
    return value;
}

// Adds the sum of an operand that is there to a new one, so that nodes depend on each other.
static struct value *graft(struct maker *m, struct value *value)
{
    size_t at = take(m->edits) % m->value_count;
    struct value copy = *value, *other = &m->values[at];
    char sum[MAX_NAME], name[MAX_NAME];
    if (other->type != value->type)
        return value;
    make_name(m, sum, 's');
    make_name(m, name, 'g');
    struct wire_message *node = add_node(m, "", "ReduceSum");
    wire_add_text(m->pool, node, 1, other->name);
    wire_add_text(m->pool, node, 2, sum);
    wire_add_number(m->pool, add_attribute(m, node, "keepdims", 2), 3, 0);
    node = add_node(m, "", "Add");
    wire_add_text(m->pool, node, 1, copy.name);
    wire_add_text(m->pool, node, 1, sum);
    wire_add_text(m->pool, node, 2, name);
    return add_shaped(m, name, copy.type, copy.rank, copy.dims);
}

static bool same_shape(const struct value *value, size_t rank, const int64_t *dims)
{
    return value->shaped && value->rank == rank &&
           (rank == 0 || memcmp(value->dims, dims, rank * sizeof *dims) == 0);
}

static struct value *find_operand(struct maker *m, enum type type, size_t rank, const int64_t *dims,
                                  int64_t bound)
{
    if (bound == 0 && one_in(m, 2))
        for (size_t i = m->value_count; i-- > 0;)
            if (m->values[i].type == type && same_shape(&m->values[i], rank, dims))
                return &m->values[i];
    struct value *value = make_operand(m, type, rank, dims, bound, NULL);
    return bound == 0 && one_in(m, 4) ? graft(m, value) : value;
}

// One of any shape.
static struct value *any_operand(struct maker *m, enum type type)
{
    size_t start = m->value_count ? take(m->edits) % m->value_count : 0;
    for (size_t i = 0; i < m->value_count; i++) {
        struct value *value = &m->values[(start + i) % m->value_count];
        if (value->type == type)
            return value;
    }
    int64_t dims[3];
    size_t rank = take(m->edits) % 4;
    for (size_t i = 0; i < rank; i++)
        dims[i] = 1 + take(m->edits) % 4;
    return make_operand(m, type, rank, dims, 0, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes
// ---------------------------------------------------------------------------------------------------------------

static struct choice choose_all(struct maker *m)
{
    static const enum type reals[] = {FLOAT32, FLOAT32, FLOAT32, FLOAT32,
                                      FLOAT32, FLOAT16, FLOAT64, BFLOAT16},
                           numbers[] = {FLOAT32, INT32,   INT64,   UINT8, INT8,   UINT32,
                                        UINT64,  FLOAT16, FLOAT64, INT16, UINT16, BFLOAT16},
                           wholes[] = {UINT8, UINT16, UINT32, UINT64};
    struct choice choice;
    unsigned types = take(m->edits), more = take(m->edits), odd = take(m->edits);
    choice.real = reals[types % 8];
    choice.number = types / 8 % 2 ? choice.real : numbers[more % 12];
    choice.index = types / 16 % 2 ? INT64 : INT32;
    choice.byte = types / 32 % 2 ? UINT8 : INT8;
    choice.nibble = types / 64 % 2 ? UINT4 : INT4;
    choice.whole = wholes[more / 12 % 4];
    uint32_t state = take_long(m->edits) + 1;
    for (int i = 0; i < 26; i++) {
        state = state * 1664525 + 1013904223;
        choice.sizes[i] = 1 + (state >> 24) % 4;
    }
    // Sometimes one of the sizes is none, or larger.
    if (odd >= 240)
        choice.sizes[odd % 26] = odd % 2 ? 0 : 9;
    return choice;
}

static enum type type_of(const struct choice *choice, char letter)
{
    switch (letter) {
    case 'F':
        return FLOAT32;
    case 'n':
        return choice->number;
    case 'i':
        return choice->index;
    case 'l':
        return INT64;
    case 'd':
        return INT32;
    case 'b':
        return BOOL;
    case 'u':
        return UINT8;
    case 's':
        return INT8;
    case 'q':
        return choice->byte;
    case 'p':
        return choice->nibble;
    case 'U':
        return choice->whole;
    default:
        return choice->real;
    }
}

// "3H+4" with the sizes of a node.
static double parse_number(const struct choice *choice, const char **at)
{
    double sum = 0;
    do {
        *at += **at == '+';
        double product = **at == '-' ? -1 : 1;
        *at += **at == '-';
        if (isdigit((unsigned char)**at)) {
            char *end;
            product *= strtod(*at, &end);
            *at = end;
        }
        for (; isupper((unsigned char)**at); ++*at)
            product *= (double)choice->sizes[**at - 'A'];
        sum += product;
    } while (**at == '+');
    return sum;
}

// Numbers with commas between, up to `end` or a bar.
static size_t parse_list(const struct choice *choice, const char **at, size_t capacity, double *numbers)
{
    size_t count = 0;
    while (**at && !strchr("|)}] ", **at) && count < capacity) {
        numbers[count++] = parse_number(choice, at);
        *at += **at == ',';
    }
    return count;
}

// Moves to one of the alternatives that `end` ends.
static const char *choose_alternative(struct maker *m, const char *at, char end)
{
    size_t count = 1;
    for (const char *c = at; *c && *c != end; c++)
        count += *c == '|';
    for (size_t skip = take(m->edits) % count; skip > 0; skip--)
        at = strchr(at, '|') + 1;
    return at;
}

// The operand that a slot describes, as onnx_nodes.def says; moves behind it. NULL: it is left out.
static const struct value *make_slot(struct maker *m, const struct choice *choice, const char **at,
                                     const struct value *before)
{
    double numbers[MAX_DIMS * 2];
    int64_t dims[MAX_DIMS], bound = 0;
    const char *begin = *at, *c = begin;
    *at = begin + strcspn(begin, " ");
    bool left_out = *c == '-' || (*c == '?' && one_in(m, 2));
    c += *c == '?';
    if (left_out)
        return NULL;
    enum type type = type_of(choice, *c++);
    if (*c == '<') {
        c++;
        bound = (int64_t)parse_number(choice, &c);
    }
    if (*c == '{' || *c == '(') {
        char open = *c, end = open == '{' ? '}' : ')';
        c = choose_alternative(m, c + 1, end);
        int64_t count = (int64_t)parse_list(choice, &c, MAX_DIMS * 2, numbers);
        // Sometimes another number than is right.
        if (count > 0 && take(m->edits) >= 250)
            numbers[take(m->edits) % (size_t)count] += take(m->edits) % 2 ? 1 : -1;
        return make_operand(m, type, open == '{', &count, 0, numbers);
    }
    if (*c == '*')
        return any_operand(m, type);
    if (*c == '[') {
        c++;
        size_t rank = parse_list(choice, &c, MAX_DIMS, numbers);
        for (size_t i = 0; i < rank; i++)
            dims[i] = (int64_t)numbers[i];
        return find_operand(m, type, rank, dims, bound);
    }
    // That of the operand before; ~: with some sizes 1, and the first ones left out.
    struct value shape = before ? *before : (struct value){0};
    size_t skip = *c == '~' && shape.rank > 0 ? take(m->edits) % (shape.rank + 1) : 0;
    unsigned ones = *c == '~' ? take(m->edits) : 0;
    for (size_t i = skip; i < shape.rank; i++)
        dims[i - skip] = ones >> i & 1 ? 1 : shape.dims[i];
    return find_operand(m, type, shape.rank - skip, dims, bound);
}

static void add_texts(struct maker *m, struct wire_message *attribute, const char *at)
{
    while (*at && *at != ' ' && *at != '|') {
        size_t length = strcspn(at, ",| ");
        wire_add_bytes(m->pool, attribute, 9, at, length);
        at += length + (at[length] == ',');
    }
}

static void add_tensor(struct maker *m, const struct choice *choice, struct wire_message *attribute,
                       const char *at)
{
    double numbers[MAX_DIMS];
    enum type type = type_of(choice, *at++);
    bool is_list = *at++ == '{';
    at = choose_alternative(m, at, is_list ? '}' : ')');
    int64_t count = (int64_t)parse_list(choice, &at, MAX_DIMS, numbers);
    fill_tensor(m, wire_add_message(m->pool, attribute, 5, &onnx_tensor), NULL, type, is_list, &count,
                numbers);
}

// "?name=i:1|2"; moves behind it.
static void make_attribute(struct maker *m, const struct choice *choice, const char **at,
                           struct wire_message *node)
{
    static const char kinds[] = " fist  FIS"; // by number
    char name[40];
    double numbers[MAX_DIMS];
    int64_t integers[MAX_DIMS];
    const char *c = *at;
    *at = c + strcspn(c, " ");
    bool left_out = *c == '?' && one_in(m, 2);
    c += *c == '?';
    size_t length = strcspn(c, "=");
    if (left_out || length >= sizeof name)
        return;
    memcpy(name, c, length);
    name[length] = '\0';
    c += length + 1;
    char kind = *c;
    c += 2;
    struct wire_message *attribute = add_attribute(m, node, name, (unsigned)(strchr(kinds, kind) - kinds));
    if (kind == 't') {
        add_tensor(m, choice, attribute, c);
        return;
    }
    c = choose_alternative(m, c, ' ');
    if (kind == 's')
        wire_add_bytes(m->pool, attribute, 4, c, strcspn(c, "| "));
    if (kind == 'S')
        add_texts(m, attribute, c);
    if (kind == 's' || kind == 'S')
        return;
    size_t count = parse_list(choice, &c, MAX_DIMS, numbers);
    for (size_t i = 0; i < count; i++)
        integers[i] = (int64_t)numbers[i];
    if (kind == 'i')
        wire_add_number(m->pool, attribute, 3, (uint64_t)integers[0]);
    else if (kind == 'f')
        wire_add_float(m->pool, attribute, 2, (float)numbers[0]);
    else if (kind == 'I')
        wire_add_numbers(m->pool, attribute, 8, count, integers, one_in(m, 2));
    for (size_t i = 0; kind == 'F' && i < count; i++)
        wire_add_float(m->pool, attribute, 7, (float)numbers[i]);
}

static void make_outputs(struct maker *m, const char *outputs, struct wire_message *node,
                         const struct value *like)
{
    unsigned least = (unsigned)(outputs[0] - '0'), most = outputs[1] ? (unsigned)(outputs[2] - '0') : least;
    unsigned count = least + (most > least ? take(m->edits) % (most - least + 1) : 0);
    struct value shape = like ? *like : (struct value){.type = FLOAT32};
    for (unsigned i = 0; i < count; i++) {
        char name[MAX_NAME] = "";
        if (i + 1 == count || !one_in(m, 4))
            make_name(m, name, 'y');
        wire_add_text(m->pool, node, 2, name);
        if (name[0] && shape.shaped)
            add_shaped(m, name, shape.type, shape.rank, shape.dims);
        else if (name[0])
            add_value(m, name, shape.type);
    }
}

static void make_plain(struct maker *m)
{
    const struct form *form = &forms[take_long(m->edits) % (sizeof forms / sizeof forms[0])];
    struct choice choice = choose_all(m);
    char names[16][MAX_NAME];
    size_t count = 0;
    struct value first = {.type = choice.real}, before = {0};
    for (const char *at = form->inputs; *at; at += *at == ' ') {
        const struct value *value = make_slot(m, &choice, &at, &before);
        snprintf(names[count++], MAX_NAME, "%s", value ? value->name : "");
        before = value ? *value : before;
        if (count == 1)
            first = before;
    }
    struct wire_message *node = add_node(m, form->domain, form->operation);
    while (count > 0 && names[count - 1][0] == '\0')
        count--;
    for (size_t i = 0; i < count; i++)
        wire_add_text(m->pool, node, 1, names[i]);
    for (const char *at = form->attributes; *at; at += *at == ' ')
        make_attribute(m, &choice, &at, node);
    // Only elementwise operators keep the shape.
    first.shaped &= strchr(form->inputs, '*') != NULL;
    make_outputs(m, form->outputs, node, &first);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs in graphs
// ---------------------------------------------------------------------------------------------------------------

static void make_node(struct maker *m);

struct outer {
    struct wire_message *graph;
    size_t value_count;
};

static struct outer enter(struct maker *m, struct wire_message *node, const char *name)
{
    struct outer outer = {m->graph, m->value_count};
    m->graph = wire_add_message(m->pool, add_attribute(m, node, name, 5), 6, &onnx_graph);
    m->level++;
    return outer;
}

static void leave(struct maker *m, struct outer outer)
{
    m->graph = outer.graph;
    m->value_count = outer.value_count;
    m->level--;
}

// A node of one input and one output.
static struct value *pass_on(struct maker *m, const char *operation, const char *from, const struct value *as)
{
    char name[MAX_NAME];
    struct value like = *as;
    struct wire_message *node = add_node(m, "", operation);
    make_name(m, name, 'p');
    wire_add_text(m->pool, node, 1, from);
    wire_add_text(m->pool, node, 2, name);
    struct value *value = add_value(m, name, like.type);
    snprintf(like.name, sizeof like.name, "%s", name);
    *value = like;
    return value;
}

static void make_some_nodes(struct maker *m)
{
    for (unsigned i = take(m->edits) % 3; i > 0; i--)
        make_node(m);
}

// Both branches give operands of the same shapes, mostly.
static void make_if(struct maker *m)
{
    static const double truths[] = {0, 1};
    const struct value x = *any_operand(m, one_in(m, 4) ? INT64 : FLOAT32);
    unsigned kind = take(m->edits) % 4, count = 1 + take(m->edits) % 2;
    struct value condition =
        *make_operand(m, BOOL, kind / 2, (int64_t[]){1}, 0, kind % 2 ? truths + kind / 2 : NULL);
    struct wire_message *node = add_node(m, "", "If");
    wire_add_text(m->pool, node, 1, condition.name);
    for (int branch = 0; branch < 2; branch++) {
        struct outer outer = enter(m, node, branch ? "else_branch" : "then_branch");
        make_some_nodes(m);
        for (unsigned i = 0; i < count; i++)
            add_value_info(
                m, m->graph, 12,
                pass_on(m, branch ? "Neg" : "Abs", one_in(m, 4) ? any_operand(m, x.type)->name : x.name, &x),
                false);
        leave(m, outer);
    }
    make_outputs(m, count == 1 ? "1" : "2", node, &x);
}

static void make_loop(struct maker *m)
{
    static const double trips[] = {0, 1, 2, 5, 3, 7, -1, 17};
    unsigned kind = take(m->edits);
    struct value most = *make_operand(m, INT64, kind % 2, (int64_t[]){1}, 0, &trips[kind / 2 % 8]),
                 truth = *make_operand(m, BOOL, 0, NULL, 0, &trips[1]), x = *any_operand(m, FLOAT32);
    struct wire_message *node = add_node(m, "", "Loop");
    wire_add_text(m->pool, node, 1, kind & 16 ? "" : most.name);
    wire_add_text(m->pool, node, 1, kind & 32 ? "" : truth.name);
    wire_add_text(m->pool, node, 1, x.name);
    struct outer outer = enter(m, node, "body");
    struct value inner[3];
    for (int i = 0; i < 3; i++) {
        char name[MAX_NAME];
        make_name(m, name, 'l');
        inner[i] = *(i == 2 ? add_value(m, name, FLOAT32) : add_shaped(m, name, i ? BOOL : INT64, 0, NULL));
        add_value_info(m, m->graph, 11, &inner[i], false);
    }
    make_some_nodes(m);
    struct value next = *pass_on(m, "Identity", inner[1].name, &inner[1]);
    if (kind & 64) { // as long as the trip is below 4
        struct value limit = *make_operand(m, INT64, 0, NULL, 0, (double[]){4});
        struct wire_message *less = add_node(m, "", "Less");
        wire_add_text(m->pool, less, 1, inner[0].name);
        wire_add_text(m->pool, less, 1, limit.name);
        make_outputs(m, "1", less, &next);
        next = m->values[m->value_count - 1];
    }
    add_value_info(m, m->graph, 12, &next, false);
    struct value out = *pass_on(m, "Abs", any_operand(m, FLOAT32)->name, &x);
    add_value_info(m, m->graph, 12, &out, false);
    if (kind & 128)
        add_value_info(m, m->graph, 12, pass_on(m, "Neg", kind & 8 ? inner[0].name : out.name, &out), false);
    leave(m, outer);
    make_outputs(m, kind & 128 ? "2" : "1", node, &x);
}

static void make_scan(struct maker *m)
{
    int64_t dims[3] = {1 + take(m->edits) % 4, 1 + take(m->edits) % 4, 1 + take(m->edits) % 4};
    unsigned kind = take(m->edits);
    struct value state = *find_operand(m, FLOAT32, 1, dims, 0), x = *find_operand(m, FLOAT32, 2, dims + 1, 0);
    struct wire_message *node = add_node(m, "", "Scan");
    wire_add_text(m->pool, node, 1, state.name);
    wire_add_text(m->pool, node, 1, x.name);
    wire_add_number(m->pool, add_attribute(m, node, "num_scan_inputs", 2), 3, 1);
    static const char *const lists[] = {"scan_input_axes", "scan_input_directions", "scan_output_axes",
                                        "scan_output_directions"};
    for (int i = 0; i < 4; i++)
        if (kind >> i & 1)
            wire_add_number(m->pool, add_attribute(m, node, lists[i], 7), 8, kind >> (4 + i) & 1);
    struct outer outer = enter(m, node, "body");
    int64_t width = kind & 1 && kind >> 4 & 1 ? dims[1] : dims[2];
    struct value inner[2];
    for (int i = 0; i < 2; i++) {
        char name[MAX_NAME];
        make_name(m, name, 'c');
        inner[i] = *add_shaped(m, name, FLOAT32, 1, i ? &width : dims);
        add_value_info(m, m->graph, 11, &inner[i], false);
    }
    make_some_nodes(m);
    add_value_info(m, m->graph, 12, graft(m, &inner[0]), false);
    add_value_info(m, m->graph, 12, pass_on(m, "Neg", inner[1].name, &inner[1]), false);
    leave(m, outer);
    make_outputs(m, "2", node, NULL);
}

static void make_node(struct maker *m)
{
    unsigned kind = take(m->edits) % 32;
    if (kind == 29 && m->level < MAX_LEVELS)
        make_if(m);
    else if (kind == 30 && m->level < MAX_LEVELS)
        make_loop(m);
    else if (kind == 31 && m->level < MAX_LEVELS)
        make_scan(m);
    else
        make_plain(m);
}

// ---------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------

// The last operands, and of those before some.
static void add_outputs(struct maker *m)
{
    size_t count = 0;
    for (size_t i = m->value_count; i-- > 0 && count < 6;)
        if (m->values[i].name[0] != 'x' && m->values[i].name[0] != 'w' && (count == 0 || one_in(m, 3))) {
            struct value value = m->values[i];
            value.shaped = false;
            add_value_info(m, m->graph, 12, &value, false);
            count++;
        }
}

struct wire_message *onnx_make(struct wire_pool *pool, struct edits *edits, unsigned storage,
                               struct contents *external)
{
    static const unsigned versions[] = {13, 17, 18, 21, 6, 9, 10, 11, 12, 19, 14, 20, 7, 8, 5, 16};
    struct maker *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    *m = (struct maker){.pool = pool, .edits = edits, .storage = storage, .external = external};
    struct wire_message *model = wire_make(pool, &onnx_model);
    wire_add_number(pool, model, 1, 8);
    wire_add_text(pool, model, 2, "fuzz");
    m->top = m->graph = wire_add_message(pool, model, 7, &onnx_graph);
    for (size_t i = 0; i < 2; i++) {
        struct wire_message *opset = wire_add_message(pool, model, 8, &onnx_opset);
        wire_add_text(pool, opset, 1, i ? "com.microsoft" : "");
        wire_add_number(pool, opset, 2, i ? 1 : versions[take(edits) % 16]);
    }
    for (unsigned i = take(edits) % 3; i > 0; i--)
        add_pair(m, model, 14, "key", "value");
    for (unsigned i = 1 + take(edits) % (1 + take(edits) % MAX_NODES); i > 0 && edits->length > 0; i--)
        make_node(m);
    add_outputs(m);
    wire_add_text(pool, m->graph, 2, "graph");
    free(m);
    return model;
}
