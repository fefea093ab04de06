// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/elements.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// From so many invocations on, groups are large; and below what gets literals, where few start sooner than
// many.
#define LARGE_WORK ((uint64_t)1 << 16)

// Bits that invocations read and write at a time, up to which they do so twice.
#define FEW_BITS 256

void wnn_elements_begin(struct elements *elements, struct lowering *lowering, size_t count)
{
    memset(elements, 0, sizeof *elements);
    wnn_shader_begin(&elements->shader, lowering, NULL, count);
    elements->body = (struct shader){.lowering = lowering};
    elements->count = count;
}

void wnn_elements_map(struct elements *elements, const char *name, const struct tensor *tensor,
                      enum form form, unsigned rank, const uint32_t *dims, const int64_t *steps,
                      int64_t offset)
{
    struct element_input *input = &elements->inputs[elements->input_count++];
    *input = (struct element_input){.name = name, .tensor = tensor, .form = form};
    input->map.rank = rank;
    input->map.offset = offset;
    memcpy(input->map.dims, dims, rank * sizeof dims[0]);
    memcpy(input->map.steps, steps, rank * sizeof steps[0]);
}

void wnn_elements_same(struct elements *elements, const char *name, const struct tensor *tensor,
                       enum form form)
{
    const uint32_t count = (uint32_t)elements->count;
    wnn_elements_map(elements, name, tensor, form, 1, &count, (const int64_t[]){1}, 0);
}

void wnn_elements_broadcast(struct elements *elements, const char *name, const struct tensor *tensor,
                            enum form form, const struct shape *to)
{
    size_t strides[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    wnn_shape_broadcast_strides(&tensor->shape, to, strides);
    for (unsigned d = 0; d < to->rank; d++)
        steps[d] = (int64_t)strides[d];
    wnn_elements_map(elements, name, tensor, form, to->rank, to->dim, steps, 0);
}

void wnn_elements_do(struct elements *elements, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    // The longest statements are chosen by us.
    wnn_shader_text(&elements->body, "%.*s\n", length < (int)sizeof text ? length : 0, text);
}

void wnn_elements_output(struct elements *elements, const char *value, const struct tensor *tensor,
                         enum form form)
{
    elements->outputs[elements->output_count++] =
        (struct element_output){.value = value, .tensor = tensor, .form = form};
}

// ---------------------------------------------------------------------------------------------------------------
// How elements are read
// ---------------------------------------------------------------------------------------------------------------

static unsigned form_bits(const struct tensor *tensor, enum form form)
{
    return form == FORM_QUAD ? 128 : form == FORM_PAIR ? 64 : wnn_dtype_bits(tensor->type);
}

static const char *form_type(const struct tensor *tensor, enum form form)
{
    return form == FORM_QUAD   ? "vec4"
           : form == FORM_PAIR ? "vec2"
           : form == FORM_BITS ? (wnn_dtype_bits(tensor->type) == 64 ? "uvec2" : "uint")
                               : wnn_shader_type(tensor->type);
}

// Whether one binding sees the region, in steps of 16 bytes.
static bool reads_quads(const struct elements *elements, const struct region *region)
{
    return region->offset % 16 == 0 &&
           wnn_shader_bindings(elements->shader.lowering->gpu, region->bytes) == 1;
}

// So many that the largest elements make 16 bytes, and that no two invocations write to one word.
static unsigned choose_side(const struct elements *elements)
{
    unsigned widest = 4, narrowest = 32;
    for (unsigned i = 0; i < elements->output_count; i++) {
        unsigned bits = form_bits(elements->outputs[i].tensor, elements->outputs[i].form);
        widest = bits > widest ? bits : widest;
        narrowest = bits < narrowest ? bits : narrowest;
    }
    unsigned least = 32 / narrowest;
    if (!elements->shader.large)
        return least;
    for (unsigned i = 0; i < elements->input_count; i++) {
        const struct element_input *input = &elements->inputs[i];
        unsigned bits = form_bits(input->tensor, input->form);
        if (input->tensor->count > 1 && input->form <= FORM_BITS && bits > widest)
            widest = bits;
    }
    unsigned side = 128 / widest;
    return side > least ? side : least;
}

// Elements that lie side by side in the output lie so in the input, or are one.
static void choose_way(const struct elements *elements, struct element_input *input)
{
    struct element_map map;
    const struct element_map *from = &input->map;
    unsigned side = elements->side;
    map.rank = wnn_shader_collapse(from->rank, from->dims, from->steps, map.dims, map.steps);
    bool fits = map.rank == 0 || map.dims[0] % side == 0;
    input->reading = READ_EACH;
    if (map.rank == 0 || (map.steps[0] == 0 && (fits || map.rank == 1))) {
        input->reading = READ_ONCE;
        return;
    }
    if (input->tensor->fused || map.steps[0] != 1 || (!fits && map.rank > 1) || input->form > FORM_BITS ||
        !reads_quads(elements, &input->tensor->region) || !elements->shader.large)
        return;
    bool aligned = from->offset % side == 0;
    for (unsigned d = 1; d < map.rank; d++)
        aligned = aligned && map.steps[d] % (int64_t)side == 0;
    if (aligned)
        input->reading = READ_WORDS;
}

// ---------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------

// The number of element e of the invocation, or of the last element of all.
static const char *number_of(const struct elements *elements, unsigned e, char text[48])
{
    snprintf(text, 48, elements->whole ? "i + %uu" : "min(i + %uu, COUNT - 1u)", e);
    return text;
}

// "v.y" for word k of the vectors that begin with `name`.
static const char *word_of(const char *name, unsigned words, unsigned k, char text[48])
{
    if (words == 1)
        snprintf(text, 48, "%s_0 AT_TURN", name);
    else
        snprintf(text, 48, "%s_%u AT_TURN.%c", name, k / 4, "xyzw"[k % 4]);
    return text;
}

// A vector of words and where their elements lie.
static const char *vector_type(unsigned width)
{
    return width == 1 ? "uint" : width == 2 ? "uvec2" : "uvec4";
}

static void add_view(struct shader *shader, unsigned k, unsigned width, const char *qualifier)
{
    if (width > 1)
        wnn_shader_text(shader, "layout(std430, set = 0, binding = %u) %s buffer V%u { %s v%u[]; };\n", k,
                        qualifier, k, vector_type(width), k);
}

// <name>_load(at): words of the region from word `at` on.
static void add_loader(struct elements *elements, const struct element_input *input, unsigned width)
{
    struct shader *shader = &elements->shader;
    unsigned k = input->binding;
    char last[32];
    snprintf(last, sizeof last, "%s_LAST", input->name);
    if (!elements->whole)
        wnn_shader_number(shader, last, (uint32_t)((input->tensor->region.bytes + 3) / 4 - 1));
    wnn_shader_text(shader, "%s %s_load(uint at) {\n", vector_type(width), input->name);
    if (!elements->whole && width > 1) {
        wnn_shader_text(shader, "if (at + %uu > %s) return %s(", width - 1, last, vector_type(width));
        for (unsigned i = 0; i < width; i++)
            wnn_shader_text(shader, "%sw%u(min(at + %uu, %s))", i ? ", " : "", k, i, last);
        wnn_shader_text(shader, ");\n");
    }
    if (width == 1)
        wnn_shader_text(shader, "return w%u(at);\n}\n", k);
    else
        wnn_shader_text(shader, "return v%u[(base%u + at) / %uu];\n}\n", k, k, width);
}

// The words that so many elements lie in.
static unsigned words_of(const struct elements *elements, unsigned bits)
{
    return (elements->side * bits + 31) / 32;
}

// Where the words of an input are kept that an invocation needs, or its one element.
static void add_room(struct elements *elements, const struct element_input *input)
{
    unsigned words = words_of(elements, form_bits(input->tensor, input->form)), width = words < 4 ? words : 4;
    if (input->reading == READ_ONCE)
        wnn_shader_text(&elements->shader, "%s %s_0 OF_TURNS;\n", form_type(input->tensor, input->form),
                        input->name);
    for (unsigned k = 0; input->reading == READ_WORDS && k < words / width; k++)
        wnn_shader_text(&elements->shader, "%s %s_%u OF_TURNS;\n", vector_type(width), input->name, k);
}

// The words of an input that an invocation needs; of a part of one, with that at its beginning.
static void add_loads(struct elements *elements, const struct element_input *input)
{
    struct shader *shader = &elements->shader;
    unsigned bits = form_bits(input->tensor, input->form), words = words_of(elements, bits);
    unsigned width = words < 4 ? words : 4;
    const char *name = input->name;
    wnn_shader_text(shader, "uint %s_from = %s_index(i) %c %uu;\n", name, name, bits == 64 ? '*' : '/',
                    bits == 64 ? 2 : 32 / bits);
    for (unsigned at = 0; at < words; at += width)
        wnn_shader_text(shader, "%s_%u AT_TURN = %s_load(%s_from + %uu);\n", name, at / width, name, name,
                        at);
    if (elements->side * bits < 32)
        wnn_shader_text(shader, "%s_0 AT_TURN >>= %s_index(i) * %uu %% 32u;\n", name, name, bits);
}

// Element e of what an invocation has read of an input.
static void add_element(struct elements *elements, const struct element_input *input, unsigned e)
{
    struct shader *shader = &elements->shader;
    unsigned bits = form_bits(input->tensor, input->form), words = words_of(elements, bits);
    char number[48], word[48], next[48];
    if (input->reading == READ_ONCE) {
        wnn_shader_text(shader, "%s_0 AT_TURN", input->name);
        return;
    }
    if (input->reading == READ_EACH) {
        wnn_shader_text(shader, "%s_at(%s_index(%s))", input->name, input->name,
                        number_of(elements, e, number));
        return;
    }
    word_of(input->name, words, e * bits / 32, word);
    bool is_bits = input->form == FORM_BITS, is_float = !is_bits && wnn_dtype_is_float(input->tensor->type);
    const char *type = form_type(input->tensor, input->form);
    unsigned shift = e * bits % 32;
    if (bits == 64)
        wnn_shader_text(shader, "%s(%s, %s)", type, word, word_of(input->name, words, 2 * e + 1, next));
    else if (bits == 32)
        wnn_shader_text(shader, "%s(%s)", is_float ? "uintBitsToFloat" : type, word);
    else if (is_float)
        wnn_shader_text(shader, "loaded_halves(%s).%c", word, shift ? 'y' : 'x');
    else
        wnn_shader_text(shader, "bitfieldExtract(%s(%s), %u, %u)", type, word, shift, bits);
}

// Word k of the results that an invocation has computed.
static void add_result(struct elements *elements, unsigned output, unsigned k)
{
    struct shader *shader = &elements->shader;
    const struct element_output *to = &elements->outputs[output];
    unsigned bits = form_bits(to->tensor, to->form);
    bool is_float = to->form != FORM_BITS && wnn_dtype_is_float(to->tensor->type);
    if (bits > 32) {
        unsigned e = k / (bits / 32), part = k % (bits / 32);
        const char *const parts[] = {"x", "y", "z", "w"}, *const halves[] = {"lo", "hi"};
        wnn_shader_text(shader, "%s(r%u_%u.%s)", is_float ? "floatBitsToUint" : "uint", output, e,
                        is_float || to->form == FORM_BITS ? parts[part] : halves[part]);
        return;
    }
    for (unsigned e = k * 32 / bits; e < (k + 1) * 32 / bits; e++) {
        unsigned shift = e * bits % 32;
        if (bits == 32)
            wnn_shader_text(shader, "%s(r%u_%u)", is_float ? "floatBitsToUint" : "uint", output, e);
        else if (is_float && shift == 0)
            wnn_shader_text(shader, "stored_halves(vec2(r%u_%u, r%u_%u))", output, e, output, e + 1);
        else if (!is_float)
            wnn_shader_text(shader, "%s(uint(r%u_%u) & %uu) << %u", shift ? " | " : "", output, e,
                            (1u << bits) - 1, shift);
    }
}

// <name>_store(at, words).
static void add_storer(struct elements *elements, unsigned output, unsigned width)
{
    struct shader *shader = &elements->shader;
    const struct element_output *to = &elements->outputs[output];
    unsigned k = to->binding;
    char words[32];
    snprintf(words, sizeof words, "WORDS_%u", output);
    wnn_shader_number(shader, words, (uint32_t)((to->tensor->region.bytes + 3) / 4));
    wnn_shader_text(shader, "void r%u_store(uint at, %s v) {\n", output, vector_type(width));
    if (width == 1) {
        if (!elements->whole)
            wnn_shader_text(shader, "if (at < %s)\n", words);
        wnn_shader_text(shader, "{ s%u(at, v); }\n}\n", k);
        return;
    }
    if (!elements->whole) {
        wnn_shader_text(shader, "if (at + %uu > %s) {\n", width, words);
        for (unsigned i = 0; i < width; i++)
            wnn_shader_text(shader, "if (at + %uu < %s) { s%u(at + %uu, v.%c); }\n", i, words, k, i,
                            "xyzw"[i]);
        wnn_shader_text(shader, "return;\n}\n");
    }
    wnn_shader_text(shader, "v%u[(base%u + at) / %uu] = v;\n}\n", k, k, width);
}

static void add_stores(struct elements *elements, unsigned output)
{
    struct shader *shader = &elements->shader;
    const struct element_output *to = &elements->outputs[output];
    unsigned words = elements->side * form_bits(to->tensor, to->form) / 32, width = to->width;
    for (unsigned at = 0; at < words; at += width) {
        wnn_shader_text(shader, "r%u_store(unit * %uu + %uu, %s(", output, words, at, vector_type(width));
        for (unsigned i = 0; i < width; i++) {
            wnn_shader_text(shader, "%s", i ? ", " : "");
            add_result(elements, output, at + i);
        }
        wnn_shader_text(shader, "));\n");
    }
}

static void declare(struct elements *elements)
{
    struct shader *shader = &elements->shader;
    for (unsigned i = 0; i < elements->input_count; i++) {
        struct element_input *input = &elements->inputs[i];
        unsigned words = words_of(elements, form_bits(input->tensor, input->form));
        choose_way(elements, input);
        wnn_shader_map(shader, input->name, input->map.rank, input->map.dims, input->map.steps,
                       input->map.offset);
        input->binding = wnn_shader_input(shader, input->name, input->tensor, input->form);
        if (input->reading == READ_WORDS) {
            add_view(shader, input->binding, words < 4 ? words : 4, "readonly");
            add_loader(elements, input, words < 4 ? words : 4);
        }
    }
    for (unsigned i = 0; i < elements->output_count; i++) {
        struct element_output *to = &elements->outputs[i];
        unsigned words = elements->side * form_bits(to->tensor, to->form) / 32;
        to->width = words % 2 != 0 || !shader->large || !reads_quads(elements, &to->tensor->region) ? 1
                    : words % 4 != 0                                                                ? 2
                                                                                                    : 4;
        to->binding = wnn_shader_bind(shader, &to->tensor->region, true);
        add_view(shader, to->binding, to->width, "writeonly");
        add_storer(elements, i, to->width);
    }
}

// "void compute(uint i, float a, ..., out float r0)", with what the outputs are at its end.
static void add_function(struct elements *elements, const struct fused *fused)
{
    struct shader *shader = &elements->shader;
    if (elements->output_count > 0)
        wnn_shader_finish(shader, fused);
    wnn_shader_text(shader, "void compute(uint i");
    for (unsigned i = 0; i < elements->input_count; i++)
        wnn_shader_text(shader, ", %s %s", form_type(elements->inputs[i].tensor, elements->inputs[i].form),
                        elements->inputs[i].name);
    for (unsigned i = 0; i < elements->output_count; i++)
        wnn_shader_text(shader, ", out %s r%u",
                        form_type(elements->outputs[i].tensor, elements->outputs[i].form), i);
    wnn_shader_text(shader, ") {\n");
    wnn_shader_join(shader, &elements->body);
    for (unsigned i = 0; i < elements->output_count; i++)
        wnn_shader_text(shader, i == 0 ? "r%u = finish(%s, i);\n" : "r%u = %s;\n", i,
                        elements->outputs[i].value);
    wnn_shader_text(shader, "}\n");
}

static void add_calls(struct elements *elements)
{
    struct shader *shader = &elements->shader;
    char number[48];
    for (unsigned e = 0; e < elements->side; e++) {
        for (unsigned i = 0; i < elements->output_count; i++)
            wnn_shader_text(shader, "%s r%u_%u;\n",
                            form_type(elements->outputs[i].tensor, elements->outputs[i].form), i, e);
        wnn_shader_text(shader, "compute(%s", number_of(elements, e, number));
        for (unsigned i = 0; i < elements->input_count; i++) {
            wnn_shader_text(shader, ", ");
            add_element(elements, &elements->inputs[i], e);
        }
        for (unsigned i = 0; i < elements->output_count; i++)
            wnn_shader_text(shader, ", r%u_%u", i, e);
        wnn_shader_text(shader, ");\n");
    }
}

// Begins the main function. Where an invocation has little to ask memory for, it asks for another part of its
// work group's at the same time.
static void add_turns(struct elements *elements, uint64_t units)
{
    struct shader *shader = &elements->shader;
    unsigned bits = 0;
    for (unsigned i = 0; i < elements->input_count; i++)
        if (elements->inputs[i].reading == READ_WORDS)
            bits += elements->side * form_bits(elements->inputs[i].tensor, elements->inputs[i].form);
    for (unsigned i = 0; i < elements->output_count; i++)
        bits += elements->side * form_bits(elements->outputs[i].tensor, elements->outputs[i].form);
    if (units >= LARGE_WORK || !shader->literal)
        shader->local_size = wnn_shader_large_group(shader->lowering->gpu);
    bool twice = shader->literal && elements->whole && units >= 2 * LARGE_WORK &&
                 units % (2 * shader->local_size) == 0 && bits <= FEW_BITS;
    elements->passes = twice ? 2 : 1;
    if (elements->passes == 1)
        wnn_shader_text(shader, "#define OF_TURNS\n#define AT_TURN\n#define EACH_TURN\n#define UNIT first\n");
    else
        wnn_shader_text(shader,
                        "#define OF_TURNS [%u]\n#define AT_TURN [turn]\n"
                        "#define EACH_TURN [[unroll]] for (uint turn = 0u; turn < %uu; turn++)\n"
                        "#define UNIT (first + turn * gl_WorkGroupSize.x)\n",
                        elements->passes, elements->passes);
    unsigned together = elements->passes * shader->local_size;
    bool full = !shader->late && wnn_shader_fills(units, together);
    wnn_shader_text(shader, "void main() {\nuint first = (%s) * %uu + gl_LocalInvocationID.x;\n",
                    full ? "gl_WorkGroupID.x" : "gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x",
                    together);
    if (full)
        return;
    wnn_shader_number(shader, "UNITS", (uint32_t)units);
    wnn_shader_text(shader, "if (first >= UNITS) return;\n");
}

void wnn_elements_end(struct elements *elements, const struct fused *fused)
{
    struct shader *shader = &elements->shader;
    elements->side = choose_side(elements);
    elements->whole = !shader->late && elements->count % elements->side == 0;
    uint64_t units = ((uint64_t)elements->count + elements->side - 1) / elements->side;
    wnn_shader_number(shader, "COUNT", (uint32_t)elements->count);
    declare(elements);
    add_function(elements, fused);
    add_turns(elements, units);
    for (unsigned i = 0; i < elements->input_count; i++)
        add_room(elements, &elements->inputs[i]);
    wnn_shader_text(shader, "EACH_TURN {\nuint i = UNIT * %uu;\n", elements->side);
    for (unsigned i = 0; i < elements->input_count; i++) {
        const struct element_input *input = &elements->inputs[i];
        if (input->reading == READ_WORDS)
            add_loads(elements, input);
        else if (input->reading == READ_ONCE)
            wnn_shader_text(shader, "%s_0 AT_TURN = %s_at(%s_index(i));\n", input->name, input->name,
                            input->name);
    }
    wnn_shader_text(shader, "}\nEACH_TURN {\nuint unit = UNIT, i = unit * %uu;\n", elements->side);
    add_calls(elements);
    for (unsigned i = 0; i < elements->output_count; i++)
        add_stores(elements, i);
    wnn_shader_text(shader, "}\n}\n");
    wnn_shader_end_groups(shader, units, (uint64_t)shader->local_size * elements->passes);
}
