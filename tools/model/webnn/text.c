// SPDX-License-Identifier: Apache-2.0
#include "tools/model/webnn/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEEPEST_VALUE 16

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_MARK
};

struct token {
    enum token_kind kind;
    char mark;          // of a TOKEN_MARK
    struct string text; // as written; of a string, without the quotes and escapes
    struct place place;
};

struct parser {
    struct graph_text *text;
    struct arena *arena;
    struct arena lists; // while they grow: most are short, and stay as long as they are
    struct error *error;
    const char *next, *end;
    struct place place;                                                            // of next
    struct token token;                                                            // the one to be looked at
    size_t input_capacity, constant_capacity, statement_capacity, output_capacity; // of lists in text
};

static const struct {
    const char *name;
    WNNDataType type;
} dtypes[] = {
    {"f32", WNNDataType_Float32}, {"f16", WNNDataType_Float16}, {"i32", WNNDataType_Int32},
    {"u32", WNNDataType_Uint32},  {"i64", WNNDataType_Int64},   {"u64", WNNDataType_Uint64},
    {"i8", WNNDataType_Int8},     {"u8", WNNDataType_Uint8},    {"i4", WNNDataType_Int4},
    {"u4", WNNDataType_Uint4},
};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

static bool is(struct string string, const char *literal)
{
    return string.length == strlen(literal) && memcmp(string.data, literal, string.length) == 0;
}

WNNDataType graph_text_dtype(struct string name)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (is(name, dtypes[i].name) || is(name, wnn_dtype_name(dtypes[i].type)))
            return dtypes[i].type;
    return WNNDataType_Undefined;
}

const char *graph_text_dtype_name(WNNDataType type)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].type == type)
            return dtypes[i].name;
    return "?";
}

bool graph_text_fail(const struct graph_text *text, struct place place, struct error *error,
                     const char *format, ...)
{
    char message[WNN_MESSAGE_SIZE];
    struct text line = TEXT(message);
    va_list arguments;
    va_start(arguments, format);
    wnn_text_add_list(&line, format, arguments);
    va_end(arguments);
    return wnn_fail(error, WNNStatus_TypeError, "%s:%u:%u: %s", text->path, place.line, place.column,
                    message);
}

#define FAIL(place, ...) graph_text_fail(parser->text, (place), parser->error, __VA_ARGS__)

// ---------------------------------------------------------------------------------------------------------------
// Tokens
// ---------------------------------------------------------------------------------------------------------------

static bool begins_word(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '/' || c == '$';
}

static bool continues_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '/' || c == '$';
}

const char *graph_text_quote(struct arena *arena, struct string name)
{
    enum {
        MAX_ESCAPE = 10 // bytes, "\u{10FFFF}", for one
    };
    size_t capacity = name.length * MAX_ESCAPE + 3;
    char *quoted = wnn_arena_allocate(arena, capacity);
    if (!quoted)
        return NULL;
    struct text text = {quoted, capacity, 0};
    wnn_text_add(&text, "\"");
    for (size_t i = 0, end; i < name.length; i = end) {
        for (end = i; end < name.length && name.data[end] != '"' && name.data[end] != '\\';)
            end++;
        wnn_text_add_quoted(&text, (struct string){name.data + i, end - i}, end - i);
        if (end < name.length)
            wnn_text_add(&text, "\\%c", name.data[end++]);
    }
    wnn_text_add(&text, "\"");
    return quoted;
}

bool graph_text_is_word(struct string name)
{
    if (name.length == 0 || !begins_word(name.data[0]) ||
        (name.length > 1 && name.data[0] == '/' && name.data[1] == '/'))
        return false;
    for (size_t i = 1; i < name.length; i++)
        if (!continues_word(name.data[i]))
            return false;
    return true;
}

static void step(struct parser *parser)
{
    char c = *parser->next++;
    if (c == '\n') {
        parser->place.line++;
        parser->place.column = 1;
    } else if (((unsigned char)c & 0xC0) != 0x80) {
        parser->place.column++;
    }
}

static char peek(const struct parser *parser, size_t ahead)
{
    return (size_t)(parser->end - parser->next) > ahead ? parser->next[ahead] : '\0';
}

static void skip_space(struct parser *parser)
{
    while (parser->next < parser->end) {
        char c = *parser->next;
        if (c == '#' || (c == '/' && peek(parser, 1) == '/')) {
            while (parser->next < parser->end && *parser->next != '\n')
                step(parser);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            step(parser);
        } else {
            break;
        }
    }
}

// The character that "\u{1B}" means, and how long the escape is; 0: this is none.
static size_t read_escape(const char *at, size_t length, uint32_t *character)
{
    size_t i = 3;
    if (length < 5 || memcmp(at, "\\u{", 3) != 0)
        return 0;
    for (*character = 0; i < length && i < 9 && isxdigit((unsigned char)at[i]); i++) {
        int digit = isdigit((unsigned char)at[i]) ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10;
        *character = *character << 4 | (uint32_t)digit;
    }
    return i > 3 && i < length && at[i] == '}' ? i + 1 : 0;
}

// As UTF-8, or what is none if there is no such character; its length.
static size_t encode(uint32_t character, char out[4])
{
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    if (length == 1) {
        out[0] = (char)character;
        return 1;
    }
    for (size_t i = length; i-- > 1; character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3F));
    out[0] = (char)((0xF00u >> length & 0xF0) | (character & 0xFF));
    return length;
}

static bool lex_string(struct parser *parser)
{
    struct token *token = &parser->token;
    token->kind = TOKEN_STRING;
    step(parser);
    const char *begin = parser->next;
    while (parser->next < parser->end && *parser->next != '"' && *parser->next != '\n') {
        if (*parser->next == '\\' && (peek(parser, 1) == '"' || peek(parser, 1) == '\\'))
            step(parser);
        step(parser);
    }
    if (parser->next >= parser->end || *parser->next != '"')
        return FAIL(token->place, "this string has no end on its line");
    size_t length = (size_t)(parser->next - begin);
    step(parser);
    char *content = wnn_arena_allocate(parser->arena, length + 1);
    if (!content)
        return wnn_fail_memory(parser->error);
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t escape = read_escape(begin + i, length - i, &character);
        if (escape) {
            used += encode(character, content + used);
            i += escape;
            continue;
        }
        if (begin[i] == '\\' && i + 1 < length && (begin[i + 1] == '"' || begin[i + 1] == '\\'))
            i++;
        content[used++] = begin[i++];
    }
    token->text = (struct string){content, used};
    if (!wnn_string_is_utf8(token->text) || memchr(content, '\0', used))
        return FAIL(token->place, "this string is not UTF-8, or has a NUL in it");
    return true;
}

// Reads the next token into parser->token.
static bool advance(struct parser *parser)
{
    skip_space(parser);
    struct token *token = &parser->token;
    *token = (struct token){TOKEN_END, '\0', {"", 0}, parser->place};
    if (parser->next >= parser->end)
        return true;
    const char *begin = parser->next;
    char c = *begin;
    bool sign = c == '-' || c == '+';
    if (c == '"')
        return lex_string(parser);
    if (isdigit((unsigned char)c) ||
        ((sign || c == '.') && (isalnum((unsigned char)peek(parser, 1)) || peek(parser, 1) == '.'))) {
        token->kind = TOKEN_NUMBER;
        do {
            bool exponent = *parser->next == 'e' || *parser->next == 'E';
            step(parser);
            if (exponent && (peek(parser, 0) == '-' || peek(parser, 0) == '+'))
                step(parser);
        } while (isalnum((unsigned char)peek(parser, 0)) || peek(parser, 0) == '.');
    } else if (begins_word(c)) {
        token->kind = TOKEN_WORD;
        while (parser->next < parser->end && continues_word(*parser->next))
            step(parser);
    } else if (strchr("{}()[]:;,=@+", c) && c) {
        token->kind = TOKEN_MARK;
        token->mark = c;
        step(parser);
        token->text = (struct string){begin, 1}; // only for messages
        return true;
    } else {
        char shown[32];
        struct text text = TEXT(shown);
        shown[0] = '\0';
        size_t length = 1;
        while (length < 4 && begin + length < parser->end && ((unsigned char)begin[length] & 0xC0) == 0x80)
            length++;
        wnn_text_add_quoted(&text, (struct string){begin, length}, 4);
        return FAIL(token->place, "'%s' has no meaning here", shown);
    }
    // Words and numbers live as long as the tree, the file's bytes do not.
    token->text = wnn_string_copy(parser->arena, (struct string){begin, (size_t)(parser->next - begin)});
    return token->text.data ? true : wnn_fail_memory(parser->error);
}

static bool at_mark(const struct parser *parser, char mark)
{
    return parser->token.kind == TOKEN_MARK && parser->token.mark == mark;
}

static bool at_word(const struct parser *parser, const char *word)
{
    return parser->token.kind == TOKEN_WORD && is(parser->token.text, word);
}

// "expected X, found Y"
static bool fail_token(struct parser *parser, const char *expected)
{
    const struct token *token = &parser->token;
    char found[64];
    struct text text = TEXT(found);
    found[0] = '\0';
    wnn_text_add_quoted(&text, token->text, 40);
    if (token->kind == TOKEN_END)
        return FAIL(token->place, "expected %s, found the end of the file", expected);
    return FAIL(token->place,
                token->kind == TOKEN_STRING ? "expected %s, found \"%s\"" : "expected %s, found '%s'",
                expected, found);
}

// Takes a mark, or fails.
static bool expect(struct parser *parser, char mark, const char *expected)
{
    if (!at_mark(parser, mark))
        return fail_token(parser, expected);
    return advance(parser);
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers, names, types
// ---------------------------------------------------------------------------------------------------------------

static bool word_number(struct string word, double *value)
{
    bool negative = word.length > 0 && word.data[0] == '-';
    size_t skip = negative || (word.length > 0 && word.data[0] == '+');
    const char *rest = word.data + skip;
    size_t length = word.length - skip;
    if ((length == 3 && strncasecmp(rest, "inf", 3) == 0) ||
        (length == 8 && strncasecmp(rest, "infinity", 8) == 0))
        *value = negative ? -(double)INFINITY : (double)INFINITY;
    else if (length == 3 && strncasecmp(rest, "nan", 3) == 0)
        *value = (double)NAN;
    else
        return false;
    return true;
}

static bool parse_number(struct string text, WNNNumber *number)
{
    double word;
    if (word_number(text, &word)) {
        *number = wnnNumberFloat64(word);
        return true;
    }
    if (text.length > 64)
        return false;
    char digits[65], *end;
    memcpy(digits, text.data, text.length);
    digits[text.length] = '\0';
    for (const char *c = digits; *c; c++)
        if (!isdigit((unsigned char)*c) && !strchr("+-.eE", *c))
            return false;
    // No integer is a negative zero.
    bool negative_zero = digits[0] == '-' && digits[1 + strspn(digits + 1, "0")] == '\0';
    bool whole = !negative_zero && !strpbrk(digits, ".eE");
    errno = 0;
    *number = wnnNumberInt64(whole ? strtoll(digits, &end, 10) : 0);
    if (whole && errno == ERANGE && digits[0] != '-') {
        errno = 0;
        *number = wnnNumberUint64(strtoull(digits, &end, 10));
    }
    if (!whole || errno == ERANGE)
        *number = wnnNumberFloat64(strtod(digits, &end));
    return end != digits && *end == '\0';
}

bool graph_text_number(const struct value *value, WNNNumber *number)
{
    double word;
    if (value->kind == VALUE_NUMBER) {
        *number = value->number;
        return true;
    }
    if ((value->kind != VALUE_WORD && value->kind != VALUE_STRING) || !word_number(value->text, &word))
        return false;
    *number = wnnNumberFloat64(word);
    return true;
}

static bool take_number(struct parser *parser, WNNNumber *number)
{
    if (parser->token.kind != TOKEN_NUMBER && parser->token.kind != TOKEN_WORD)
        return fail_token(parser, "a number");
    if (!parse_number(parser->token.text, number))
        return fail_token(parser, "a number");
    return advance(parser);
}

static bool take_size(struct parser *parser, uint64_t highest, uint64_t *size)
{
    WNNNumber number;
    struct place place = parser->token.place;
    if (parser->token.kind != TOKEN_NUMBER)
        return fail_token(parser, "a whole number");
    if (!parse_number(parser->token.text, &number) || number.type != WNNNumberType_Int64 ||
        number.value.i64 < 0 || (uint64_t)number.value.i64 > highest)
        return FAIL(place, "%s is not a whole number from 0 to %llu", parser->token.text.data,
                    (unsigned long long)highest);
    *size = (uint64_t)number.value.i64;
    return advance(parser);
}

static bool take_name(struct parser *parser, const char *expected, struct text_name *name)
{
    if ((parser->token.kind != TOKEN_WORD && parser->token.kind != TOKEN_STRING) ||
        parser->token.text.length == 0)
        return fail_token(parser, expected);
    *name = (struct text_name){parser->token.text, parser->token.place};
    return advance(parser);
}

// "f32[1, 3]"
static bool take_type(struct parser *parser, struct descriptor *type)
{
    *type = (struct descriptor){WNNDataType_Undefined, {0, {0}}};
    if (parser->token.kind == TOKEN_WORD)
        type->type = graph_text_dtype(parser->token.text);
    if (type->type == WNNDataType_Undefined)
        return fail_token(parser, "a data type (f32, f16, i32, u32, i64, u64, i8, u8, i4 or u4)");
    if (!advance(parser) || !expect(parser, '[', "'[' and the shape"))
        return false;
    while (!at_mark(parser, ']')) {
        struct place place = parser->token.place;
        uint64_t dimension;
        if (at_word(parser, "dyn"))
            return FAIL(place, "a dynamic dimension: shapes must be fixed, write the size instead");
        if (!take_size(parser, WNN_MAX_DIMENSION, &dimension))
            return false;
        if (type->shape.rank == WNN_MAX_RANK)
            return FAIL(place, "more than %d dimensions", WNN_MAX_RANK);
        type->shape.dim[type->shape.rank++] = (uint32_t)dimension;
        if (!at_mark(parser, ']') && !expect(parser, ',', "',' or ']' in the shape"))
            return false;
    }
    return advance(parser);
}

// ---------------------------------------------------------------------------------------------------------------
// Values
// ---------------------------------------------------------------------------------------------------------------

static bool take_value(struct parser *parser, unsigned depth, struct value *value);

// A list that has grown, as long as it is; NULL and an error: no memory.
static void *keep_list(struct parser *parser, struct arena_mark mark, const void *items, size_t size)
{
    void *kept = wnn_arena_copy(parser->arena, items, size);
    wnn_arena_rewind(&parser->lists, mark);
    if (!kept)
        wnn_fail_memory(parser->error);
    return kept;
}

static bool take_list(struct parser *parser, unsigned depth, struct value *value)
{
    struct arena_mark mark = wnn_arena_mark(&parser->lists);
    struct value *items = NULL;
    size_t capacity = 0;
    value->kind = VALUE_LIST;
    if (!advance(parser))
        return false;
    while (!at_mark(parser, ']')) {
        struct value item;
        if (!take_value(parser, depth + 1, &item))
            return false;
        items = wnn_arena_grow(&parser->lists, items, value->item_count, &capacity, sizeof item);
        if (!items)
            return wnn_fail_memory(parser->error);
        items[value->item_count++] = item;
        if (!at_mark(parser, ']') && !expect(parser, ',', "',' or ']' in the list"))
            return false;
    }
    value->items = keep_list(parser, mark, items, value->item_count * sizeof *items);
    return value->items && advance(parser);
}

// The arguments of a call whose name has been read into value->text.
static bool take_arguments(struct parser *parser, unsigned depth, struct value *value)
{
    struct arena_mark mark = wnn_arena_mark(&parser->lists);
    struct argument *arguments = NULL;
    size_t capacity = 0;
    value->kind = VALUE_CALL;
    if (!expect(parser, '(', "'('"))
        return false;
    while (!at_mark(parser, ')')) {
        struct argument argument = {.name = {"", 0}, .place = parser->token.place};
        if (!take_value(parser, depth + 1, &argument.value))
            return false;
        if (argument.value.kind == VALUE_WORD && at_mark(parser, '=')) {
            argument.name = argument.value.text;
            if (!advance(parser) || !take_value(parser, depth + 1, &argument.value))
                return false;
        }
        arguments =
            wnn_arena_grow(&parser->lists, arguments, value->argument_count, &capacity, sizeof argument);
        if (!arguments)
            return wnn_fail_memory(parser->error);
        arguments[value->argument_count++] = argument;
        if (!at_mark(parser, ')') && !expect(parser, ',', "',' or ')' after the argument"))
            return false;
    }
    value->arguments = keep_list(parser, mark, arguments, value->argument_count * sizeof *arguments);
    return value->arguments && advance(parser);
}

static bool take_value(struct parser *parser, unsigned depth, struct value *value)
{
    const struct token token = parser->token;
    *value = (struct value){.kind = VALUE_WORD, .place = token.place, .text = token.text};
    if (depth > DEEPEST_VALUE)
        return FAIL(token.place, "lists and calls are nested too deeply");
    if (at_mark(parser, '['))
        return take_list(parser, depth, value);
    if (token.kind == TOKEN_NUMBER) {
        value->kind = VALUE_NUMBER;
        if (!parse_number(token.text, &value->number))
            return FAIL(token.place, "'%.60s' is not a number", token.text.data);
        return advance(parser);
    }
    if (token.kind == TOKEN_STRING) {
        value->kind = VALUE_STRING;
        return advance(parser);
    }
    if (token.kind != TOKEN_WORD)
        return fail_token(parser, "a value");
    if (!advance(parser))
        return false;
    return at_mark(parser, '(') ? take_arguments(parser, depth, value) : true;
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks
// ---------------------------------------------------------------------------------------------------------------

// @weights("key"), @scalar(1.5) or @bytes([1, 2]), after the '@'.
static bool take_source(struct parser *parser, struct declaration *constant)
{
    constant->source_place = parser->token.place;
    bool weights = at_word(parser, "weights"), scalar = at_word(parser, "scalar"),
         bytes = at_word(parser, "bytes");
    if (!weights && !scalar && !bytes)
        return fail_token(parser, "weights, scalar or bytes");
    if (!advance(parser) || !expect(parser, '(', "'('"))
        return false;
    if (weights) {
        if (parser->token.kind != TOKEN_STRING)
            return fail_token(parser, "the key of the weights in quotes");
        constant->source = FROM_WEIGHTS;
        constant->key = parser->token.text;
        if (!advance(parser))
            return false;
    } else if (scalar) {
        constant->source = FROM_SCALAR;
        if (!take_number(parser, &constant->scalar))
            return false;
    } else {
        size_t capacity = 0;
        constant->source = FROM_BYTES;
        if (!expect(parser, '[', "'[' and the bytes"))
            return false;
        while (!at_mark(parser, ']')) {
            uint64_t byte;
            if (!take_size(parser, 255, &byte))
                return false;
            constant->bytes =
                wnn_arena_grow(parser->arena, constant->bytes, constant->byte_count, &capacity, 1);
            if (!constant->bytes)
                return wnn_fail_memory(parser->error);
            constant->bytes[constant->byte_count++] = (unsigned char)byte;
            if (!at_mark(parser, ']') && !expect(parser, ',', "',' or ']' between the bytes"))
                return false;
        }
        if (!advance(parser))
            return false;
    }
    return expect(parser, ')', "')'");
}

static bool take_declarations(struct parser *parser, bool constants, struct declaration **list, size_t *count,
                              size_t *capacity)
{
    while (!at_mark(parser, '}')) {
        struct declaration item = {.source = FROM_WEIGHTS};
        if (!take_name(parser, constants ? "the name of a constant" : "the name of an input", &item.name) ||
            !expect(parser, ':', "':' and a type") || !take_type(parser, &item.type))
            return false;
        item.key = item.name.name;
        item.source_place = item.name.place;
        if (constants && at_mark(parser, '@') && (!advance(parser) || !take_source(parser, &item)))
            return false;
        if (constants && at_mark(parser, '@'))
            return FAIL(parser->token.place, "a constant has one value");
        if (!expect(parser, ';', "';' after the declaration"))
            return false;
        *list = wnn_arena_grow(parser->arena, *list, *count, capacity, sizeof item);
        if (!*list)
            return wnn_fail_memory(parser->error);
        (*list)[(*count)++] = item;
    }
    return true;
}

static bool add_name(struct parser *parser, struct text_name **names, size_t *count, size_t *capacity,
                     const struct text_name *name)
{
    *names = wnn_arena_grow(parser->arena, *names, *count, capacity, sizeof *name);
    if (!*names)
        return wnn_fail_memory(parser->error);
    (*names)[(*count)++] = *name;
    return true;
}

static bool add_statement(struct parser *parser, const struct statement *statement)
{
    struct graph_text *text = parser->text;
    text->statements = wnn_arena_grow(parser->arena, text->statements, text->statement_count,
                                      &parser->statement_capacity, sizeof *statement);
    if (!text->statements)
        return wnn_fail_memory(parser->error);
    text->statements[text->statement_count++] = *statement;
    return true;
}

// How much of a name is in those that are made of it.
#define MAX_OF_NAME 64

// "NAME before 1": a name that no file is likely to have. It is short even if the name is not, since there
// may be many made of one; where a long name stands in the file tells it from others then.
static struct string name_before(struct parser *parser, const struct text_name *name, unsigned count)
{
    char made[MAX_OF_NAME + 64];
    size_t length = name->name.length;
    if (length <= MAX_OF_NAME) {
        snprintf(made, sizeof made, "%.*s before %u", (int)length, name->name.data, count);
    } else {
        for (length = MAX_OF_NAME; ((unsigned char)name->name.data[length] & 0xC0) == 0x80;)
            length--;
        snprintf(made, sizeof made, "%.*s... of %u:%u before %u", (int)length, name->name.data,
                 name->place.line, name->place.column, count);
    }
    return wnn_string_copy(parser->arena, (struct string){made, strlen(made)});
}

// "y = conv2d(x, w) + add(b) + relu;" is what dumps say of a node that adds b and applies relu too: the
// result gets a name of its own, with which add is called, and so on. `count`: names before this one.
static bool take_epilogue(struct parser *parser, struct statement *item, unsigned count)
{
    struct statement before = *item;
    const struct string made = name_before(parser, &item->targets[0], count);
    before.targets = wnn_arena_copy(parser->arena, item->targets, sizeof item->targets[0]);
    if (!made.data || !before.targets)
        return wnn_fail_memory(parser->error);
    before.targets[0].name = made;
    if (!add_statement(parser, &before) || !advance(parser))
        return false;
    if (parser->token.kind != TOKEN_WORD)
        return fail_token(parser, "an operator");
    struct value value;
    if (!take_value(parser, 0, &value))
        return false;
    struct argument *arguments =
        wnn_arena_allocate(parser->arena, (value.argument_count + 1) * sizeof arguments[0]);
    if (!arguments)
        return wnn_fail_memory(parser->error);
    arguments[0] = (struct argument){
        .name = {"", 0},
        .place = value.place,
        .value = {.kind = VALUE_STRING, .place = value.place, .text = before.targets[0].name}};
    if (value.argument_count)
        memcpy(arguments + 1, value.arguments, value.argument_count * sizeof arguments[0]);
    value.kind = VALUE_CALL;
    value.arguments = arguments;
    value.argument_count++;
    item->value = value;
    return true;
}

static bool take_statement(struct parser *parser)
{
    struct statement item = {.list = at_mark(parser, '[')};
    size_t targets = 0;
    struct text_name name;
    if (item.list && !advance(parser))
        return false;
    do {
        if (item.target_count && !advance(parser))
            return false;
        if (!take_name(parser, "the name of a result", &name) ||
            !add_name(parser, &item.targets, &item.target_count, &targets, &name))
            return false;
    } while (item.list && at_mark(parser, ','));
    if ((item.list && !expect(parser, ']', "',' or ']' after the name")) ||
        !expect(parser, '=', "'=' after the name of the result"))
        return false;
    if (parser->token.kind != TOKEN_WORD && parser->token.kind != TOKEN_STRING)
        return fail_token(parser, "an operator");
    if (!take_value(parser, 0, &item.value))
        return false;
    for (unsigned i = 0; item.target_count == 1 && at_mark(parser, '+'); i++)
        if (!take_epilogue(parser, &item, i))
            return false;
    return expect(parser, ';', "';' after the call") && add_statement(parser, &item);
}

// Braces around statements mean nothing here: in dumps they hold what one node computes.
static bool take_statements(struct parser *parser)
{
    bool inside = false;
    while (inside || !at_mark(parser, '}')) {
        if (at_mark(parser, inside ? '}' : '{')) {
            inside = !inside;
            if (!advance(parser))
                return false;
        } else if (!take_statement(parser)) {
            return false;
        }
    }
    return true;
}

static bool take_outputs(struct parser *parser)
{
    struct graph_text *text = parser->text;
    while (!at_mark(parser, '}')) {
        struct text_name name;
        if (!take_name(parser, "the name of an output", &name) ||
            !add_name(parser, &text->outputs, &text->output_count, &parser->output_capacity, &name))
            return false;
        if ((at_mark(parser, ';') || at_mark(parser, ',')) && !advance(parser))
            return false;
    }
    return true;
}

static bool take_block(struct parser *parser)
{
    struct graph_text *text = parser->text;
    bool inputs = at_word(parser, "inputs"), constants = at_word(parser, "consts"),
         nodes = at_word(parser, "nodes");
    if (!inputs && !constants && !nodes && !at_word(parser, "outputs"))
        return fail_token(parser, "inputs, consts, nodes, outputs or '}'");
    if (!advance(parser) || !expect(parser, '{', "'{'"))
        return false;
    bool good =
        inputs ? take_declarations(parser, false, &text->inputs, &text->input_count, &parser->input_capacity)
        : constants ? take_declarations(parser, true, &text->constants, &text->constant_count,
                                        &parser->constant_capacity)
        : nodes     ? take_statements(parser)
                    : take_outputs(parser);
    return good && advance(parser);
}

static bool take_header(struct parser *parser)
{
    if (!at_word(parser, "webnn_graph"))
        return fail_token(parser, "webnn_graph and the graph's name at the beginning of a graph file");
    if (!advance(parser))
        return false;
    if (parser->token.kind != TOKEN_STRING)
        return fail_token(parser, "the graph's name in quotes");
    parser->text->name = parser->token.text;
    if (!advance(parser))
        return false;
    if (!at_word(parser, "v1") && !at_word(parser, "v2"))
        return fail_token(parser, "v1 or v2, the version of the format");
    parser->text->version = at_word(parser, "v1") ? 1 : 2;
    if (!advance(parser))
        return false;
    if (at_mark(parser, '@')) {
        // A remark for programs that quantize; it changes nothing here.
        if (!advance(parser) || !at_word(parser, "quantized"))
            return fail_token(parser, "quantized");
        if (!advance(parser))
            return false;
    }
    return expect(parser, '{', "'{'");
}

static bool take_graph(struct parser *parser)
{
    if (!advance(parser) || !take_header(parser))
        return false;
    while (!at_mark(parser, '}'))
        if (!take_block(parser))
            return false;
    if (!advance(parser))
        return false;
    if (parser->token.kind != TOKEN_END)
        return fail_token(parser, "the end of the file");
    return true;
}

bool graph_text_parse(const char *path, const unsigned char *data, size_t size, struct arena *arena,
                      struct graph_text *text, struct error *error)
{
    *text = (struct graph_text){.path = path, .name = {"", 0}};
    struct parser parser = {.text = text,
                            .arena = arena,
                            .error = error,
                            .next = (const char *)data,
                            .end = (const char *)data + size,
                            .place = {1, 1}};
    wnn_arena_init(&parser.lists, arena->allocator);
    bool good = take_graph(&parser);
    wnn_arena_free(&parser.lists);
    return good;
}
