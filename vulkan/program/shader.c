// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/shader.h"

#include "vulkan/program/sources.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Every device takes so many work groups along a dimension.
#define GROUPS_IN_A_ROW 65535
// Dispatches of this much work and more get literals.
#define LITERAL_WORK ((size_t)1 << 16)
// Indices below this are divided fast; those of elements that are not literal work are.
#define SMALL_INDICES ((uint64_t)1 << 16)

static void fail(struct lowering *lowering)
{
    if (!lowering->failed)
        wnn_fail_memory(lowering->error);
    lowering->failed = true;
}

// ---------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------

static bool reserve(struct shader *shader, size_t more)
{
    struct lowering *lowering = shader->lowering;
    if (lowering->failed)
        return false;
    if (shader->length + more < shader->capacity)
        return true;
    size_t capacity = 2 * (shader->length + more) + 4096;
    char *text = wnn_arena_allocate(&lowering->program->texts, capacity);
    if (!text) {
        fail(lowering);
        return false;
    }
    if (shader->length)
        memcpy(text, shader->text, shader->length);
    shader->text = text;
    shader->capacity = capacity;
    return true;
}

static void add_bytes(struct shader *shader, const char *bytes, size_t length)
{
    if (!reserve(shader, length))
        return;
    memcpy(shader->text + shader->length, bytes, length);
    shader->length += length;
}

static void add_text(struct shader *shader, const char *text)
{
    add_bytes(shader, text, strlen(text));
}

void wnn_shader_text(struct shader *shader, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text)
        fail(shader->lowering);
    else
        add_bytes(shader, text, (size_t)length);
}

void wnn_shader_join(struct shader *shader, const struct shader *other)
{
    if (other->length)
        add_bytes(shader, other->text, other->length);
}

unsigned wnn_shader_large_group(const struct gpu *gpu)
{
    return gpu->can.invocations >= 256 ? 256 : GPU_MIN_INVOCATIONS;
}

void wnn_shader_begin(struct shader *shader, struct lowering *lowering, const char *family, size_t work)
{
    *shader = (struct shader){.lowering = lowering,
                              .family = family,
                              .local_size = 64,
                              .large = lowering->late || lowering->gpu->can.minimal || work >= LITERAL_WORK,
                              .late = lowering->late,
                              .per = 1};
    shader->literal = shader->large && !shader->late;
    if (!shader->large)
        shader->binding_count = 1; // the parameters
}

bool wnn_node_is_late(const struct node *node)
{
    const struct graph *graph = node->out_count > 0 ? node->out[0]->graph : NULL;
    return graph && graph->recorded;
}

void wnn_shader_define(struct shader *shader, const char *name, const char *format, ...)
{
    char line[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    wnn_shader_text(shader, "#define %s %s\n", name, line);
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------

// Appends parameters; returns the number of the first.
static size_t add_parameters(struct shader *shader, const uint32_t *values, size_t count)
{
    size_t first = shader->parameter_count;
    for (size_t i = 0; i < count && !shader->lowering->failed; i++) {
        uint32_t *grown =
            wnn_arena_grow(&shader->lowering->program->texts, shader->parameters, shader->parameter_count,
                           &shader->parameter_capacity, sizeof grown[0]);
        if (!grown) {
            fail(shader->lowering);
            return 0;
        }
        shader->parameters = grown;
        shader->parameters[shader->parameter_count++] = values[i];
    }
    return first;
}

// "5u", or the place of a parameter.
#define NUMBER_TEXT   32
#define QUOTIENT_TEXT 96
static const char *number_text(struct shader *shader, uint32_t value, char text[NUMBER_TEXT])
{
    if (shader->literal)
        snprintf(text, NUMBER_TEXT, "%uu", value);
    else
        snprintf(text, NUMBER_TEXT, "P(%zu)", add_parameters(shader, &value, 1));
    return text;
}

void wnn_shader_number(struct shader *shader, const char *name, uint32_t value)
{
    char text[NUMBER_TEXT];
    wnn_shader_define(shader, name, "%s", number_text(shader, value, text));
}

void wnn_shader_fixed(struct shader *shader, const char *name, uint32_t value)
{
    if (shader->late)
        wnn_shader_define(shader, name, "%uu", value);
    else
        wnn_shader_number(shader, name, value);
}

void wnn_shader_number_if(struct shader *shader, const char *name, uint32_t value, bool fixed)
{
    if (fixed)
        wnn_shader_fixed(shader, name, value);
    else
        wnn_shader_number(shader, name, value);
}

// Division of any number by one that is not known: a product, of which the upper half counts, and two shifts
// (Granlund and Montgomery). Returns the factor; the shifts are those of a word's halves.
static uint32_t inverse_of(uint32_t value, uint32_t *shifts)
{
    unsigned log = 0; // rounded up
    if (value == 0)   // nobody divides by it
        value = 1;
    while (log < 32 && (uint64_t)1 << log < value)
        log++;
    *shifts = (log > 0) | (log > 0 ? log - 1 : 0) << 16;
    return (uint32_t)((((((uint64_t)1 << log) - value) << 32) / value) + 1);
}

// How often a number is in i. Indices of small dispatches are multiplied by 2^32 / value, rounded up, which
// is right below 2^16: to divide by a number that the compiler does not know takes longer than all the rest.
static void quotient_text(struct shader *shader, uint32_t value, bool is_small, const char *i,
                          char text[QUOTIENT_TEXT])
{
    char number[NUMBER_TEXT];
    if (shader->late) {
        uint32_t shifts, inverse = inverse_of(value, &shifts);
        char other[NUMBER_TEXT];
        number_text(shader, inverse, number);
        snprintf(text, QUOTIENT_TEXT, "any_quotient(%s, %s, %s)", i, number,
                 number_text(shader, shifts, other));
        return;
    }
    if (shader->literal || !is_small)
        snprintf(text, QUOTIENT_TEXT, "%s / %s", i, number_text(shader, value, number));
    else
        snprintf(text, QUOTIENT_TEXT, "small_quotient(%s, %s)", i,
                 number_text(shader, value > 1 ? UINT32_MAX / value + 1 : 0, number));
}

void wnn_shader_divisor(struct shader *shader, const char *name, uint32_t value)
{
    char quotient[QUOTIENT_TEXT];
    wnn_shader_number(shader, name, value);
    quotient_text(shader, value, !shader->literal, "(i)", quotient);
    wnn_shader_text(shader, "#define %s_in(i) (%s)\n", name, quotient);
}

static const char *fixed_text(struct shader *shader, uint32_t value, char text[NUMBER_TEXT])
{
    if (!shader->late)
        return number_text(shader, value, text);
    snprintf(text, NUMBER_TEXT, "%uu", value);
    return text;
}

static uint32_t float_bits(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

void wnn_shader_float(struct shader *shader, const char *name, double value)
{
    char text[NUMBER_TEXT];
    wnn_shader_define(shader, name, "uintBitsToFloat(%s)", fixed_text(shader, float_bits(value), text));
}

void wnn_shader_share(struct shader *shader, const char *name, size_t count)
{
    char text[NUMBER_TEXT];
    wnn_shader_define(shader, name, "uintBitsToFloat(%s)",
                      number_text(shader, float_bits(1.0 / (double)count), text));
}

void wnn_shader_numbers(struct shader *shader, const char *name, const uint32_t *values, unsigned count)
{
    uint32_t all[WNN_MAX_RANK] = {0};
    memcpy(all, values, count * sizeof values[0]);
    if (!shader->literal) {
        size_t first = add_parameters(shader, all, shader->late ? count : WNN_MAX_RANK);
        wnn_shader_text(shader, "#define %s(d) P(%zuu + d)\n", name, first);
        return;
    }
    wnn_shader_text(shader, "const uint %s_list[%u] = uint[](", name, count ? count : 1);
    for (unsigned i = 0; i == 0 || i < count; i++)
        wnn_shader_text(shader, "%s%uu", i ? ", " : "", all[i]);
    wnn_shader_text(shader, ");\n#define %s(d) %s_list[d]\n", name, name);
}

void wnn_shader_value(struct shader *shader, const char *name, WNNDataType type, WNNNumber number)
{
    char low[NUMBER_TEXT], high[NUMBER_TEXT];
    if (wnn_dtype_is_float(type)) {
        wnn_shader_float(shader, name, wnn_number_double(number));
        return;
    }
    uint64_t bits = number.value.u64; // of signed integers too
    fixed_text(shader, (uint32_t)bits, low);
    if (wnn_dtype_bits(type) == 64)
        wnn_shader_define(shader, name, "%s(%s, %s)", wnn_shader_type(type), low,
                          fixed_text(shader, (uint32_t)(bits >> 32), high));
    else
        wnn_shader_define(shader, name, "%s(%s)", wnn_shader_type(type), low);
}

// ---------------------------------------------------------------------------------------------------------------
// Index maps
// ---------------------------------------------------------------------------------------------------------------

unsigned wnn_shader_collapse(unsigned rank, const uint32_t *dims, const int64_t *steps, uint32_t *sizes,
                             int64_t *strides)
{
    unsigned count = 0;
    for (unsigned d = rank; d-- > 0;) {
        if (dims[d] == 1)
            continue;
        if (count > 0 && steps[d] == strides[count - 1] * (int64_t)sizes[count - 1]) {
            sizes[count - 1] *= dims[d];
            continue;
        }
        sizes[count] = dims[d];
        strides[count++] = steps[d];
    }
    return count;
}

void wnn_shader_map(struct shader *shader, const char *name, unsigned rank, const uint32_t *dims,
                    const int64_t *steps, int64_t offset)
{
    uint32_t sizes[GPU_MAP_RANK];
    int64_t strides[GPU_MAP_RANK];
    unsigned count = wnn_shader_collapse(rank, dims, steps, sizes, strides);
    if (offset == 0 && (count == 0 || (count == 1 && strides[0] == 0))) {
        wnn_shader_text(shader, "#define %s_index(i) 0u\n", name);
        return;
    }
    if (offset == 0 && count == 1 && strides[0] == 1) {
        wnn_shader_text(shader, "#define %s_index(i) (i)\n", name);
        return;
    }
    char start[NUMBER_TEXT], step[NUMBER_TEXT], quotient[QUOTIENT_TEXT];
    uint64_t bound = 1; // of i
    for (unsigned d = 0; d < count && bound <= SMALL_INDICES; d++)
        bound *= sizes[d];
    number_text(shader, (uint32_t)offset, start);
    number_text(shader, count > 0 ? (uint32_t)strides[0] : 0, step);
    wnn_shader_text(shader, "uint %s_index(uint i) {\nuint o = %s + i * %s;\n", name, start, step);
    // A step in dimension d + 1 takes back all those in dimension d.
    for (unsigned d = 0; d + 1 < count; d++) {
        quotient_text(shader, sizes[d], bound <= SMALL_INDICES, "i", quotient);
        number_text(shader, (uint32_t)(strides[d + 1] - strides[d] * (int64_t)sizes[d]), step);
        wnn_shader_text(shader, "i = %s;\no += i * %s;\n", quotient, step);
    }
    add_text(shader, "return o;\n}\n");
}

void wnn_shader_broadcast(struct shader *shader, const char *name, const struct shape *from,
                          const struct shape *to)
{
    size_t strides[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    wnn_shape_broadcast_strides(from, to, strides);
    for (unsigned d = 0; d < to->rank; d++)
        steps[d] = (int64_t)strides[d];
    wnn_shader_map(shader, name, to->rank, to->dim, steps, 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Tensors
// ---------------------------------------------------------------------------------------------------------------

const char *wnn_shader_type(WNNDataType type)
{
    switch (type) {
    case WNNDataType_Float32:
    case WNNDataType_Float16:
        return "float";
    case WNNDataType_Int64:
        return "I64";
    case WNNDataType_Uint64:
        return "U64";
    case WNNDataType_Int32:
    case WNNDataType_Int8:
    case WNNDataType_Int4:
        return "int";
    default:
        return "uint";
    }
}

size_t wnn_shader_piece(const struct gpu *gpu)
{
    return (size_t)(gpu->can.storage_range - 256) / 256 * 256;
}

unsigned wnn_shader_bindings(const struct gpu *gpu, size_t bytes)
{
    size_t count = bytes / wnn_shader_piece(gpu) + (bytes % wnn_shader_piece(gpu) != 0);
    return count == 0 ? 1 : count > GPU_BUFFERS ? GPU_BUFFERS + 1 : (unsigned)count;
}

unsigned wnn_shader_node_bindings(const struct gpu *gpu, const struct node *node)
{
    unsigned bindings = 2 + wnn_shader_bindings(gpu, wnn_descriptor_bytes(&node->out[0]->type));
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i])
            bindings += wnn_shader_bindings(gpu, wnn_descriptor_bytes(&node->in[i]->type));
    return bindings;
}

// Declares w<k>(i), word i of a region, and s<k>(i, word) if it is written; returns k. A region that is more
// than a binding can see gets several.
static unsigned add_binding(struct shader *shader, const struct region *region, bool writes,
                            const char *qualifier)
{
    const struct gpu *gpu = shader->lowering->gpu;
    size_t piece = wnn_shader_piece(gpu), rest = region->bytes;
    unsigned first = shader->binding_count;
    for (size_t at = 0; at == 0 || rest > 0; at += piece) {
        unsigned number = shader->binding_count;
        if (number >= gpu->can.buffers) {
            if (!shader->lowering->failed)
                wnn_fail(shader->lowering->error, WNNStatus_OperationError,
                         "%s: its tensors need more than the %u buffers of %llu bytes that the device's "
                         "shaders can see",
                         wnn_ops[shader->lowering->node->op].name, gpu->can.buffers,
                         (unsigned long long)gpu->can.storage_range);
            shader->lowering->failed = true;
            return 0;
        }
        size_t bytes = rest < piece ? rest : piece;
        shader->bindings[number] = (struct binding){{region->buffer, region->offset + at, bytes}, writes};
        wnn_shader_text(shader, "layout(std430, set = 0, binding = %u) %s buffer B%u { uint b%u[]; };\n",
                        number, qualifier, number, number);
        shader->binding_count++;
        rest -= bytes;
    }
    unsigned last = shader->binding_count - 1;
    if (first == last) {
        wnn_shader_text(shader, "#define w%u(i) b%u[base%u + (i)]\n", first, first, first);
        if (writes)
            wnn_shader_text(shader, "#define s%u(i, v) b%u[base%u + (i)] = v\n", first, first, first);
        return first;
    }
    wnn_shader_text(shader, writes ? "void s%u(uint i, uint v) {\n" : "uint w%u(uint i) {\n", first);
    for (unsigned k = first; k <= last; k++) {
        if (k < last)
            wnn_shader_text(shader, "if (i < %zuu) ", piece / 4);
        if (writes)
            wnn_shader_text(shader, "{ b%u[base%u + i] = v; return; }\n", k, k);
        else
            wnn_shader_text(shader, "return b%u[base%u + i];\n", k, k);
        if (k < last)
            wnn_shader_text(shader, "i -= %zuu;\n", piece / 4);
    }
    wnn_shader_text(shader, "}\n");
    return first;
}

unsigned wnn_shader_bind(struct shader *shader, const struct region *region, bool writes)
{
    return add_binding(shader, region, writes, writes ? "writeonly" : "readonly");
}

// <name>_at(i) as the steps make it of <name>_stored_at(i).
static unsigned add_made_input(struct shader *shader, const char *name, const struct tensor *tensor)
{
    struct tensor stored = *tensor;
    char text[32];
    stored.fused = NULL;
    stored.type = tensor->fused->from;
    snprintf(text, sizeof text, "%s_made", name);
    wnn_shader_fused(shader, text, tensor->fused, false,
                     wnn_dtype_is_float(tensor->type) && wnn_shader_has_quads(shader->lowering, tensor));
    snprintf(text, sizeof text, "%s_stored", name);
    unsigned k = wnn_shader_input(shader, text, &stored, FORM_VALUE);
    wnn_shader_text(shader, "%s %s_at(uint i) { return %s_made(%s_stored_at(i), i); }\n",
                    wnn_shader_type(tensor->type), name, name, name);
    return k;
}

unsigned wnn_shader_input(struct shader *shader, const char *name, const struct tensor *tensor,
                          enum form form)
{
    if (tensor->fused)
        return add_made_input(shader, name, tensor);
    unsigned k = add_binding(shader, &tensor->region, false, "readonly"), bits = wnn_dtype_bits(tensor->type);
    const char *type = wnn_shader_type(tensor->type);
    if (form == FORM_PAIR || form == FORM_QUAD) {
        unsigned width = form == FORM_PAIR ? 2 : 4;
        wnn_shader_text(shader, "vec%u %s_at(uint i) { return uintBitsToFloat(uvec%u(", width, name, width);
        for (unsigned i = 0; i < width; i++)
            wnn_shader_text(shader, "%sw%u(%uu * i + %uu)", i ? ", " : "", k, width, i);
        add_text(shader, ")); }\n");
        return k;
    }
    if (bits == 64) {
        wnn_shader_text(shader, "%s %s_at(uint i) { return %s(w%u(2u * i), w%u(2u * i + 1u)); }\n",
                        form == FORM_BITS ? "uvec2" : type, name, form == FORM_BITS ? "uvec2" : type, k, k);
        return k;
    }
    unsigned shift = bits == 32 ? 0 : bits == 16 ? 1 : bits == 8 ? 2 : 3;
    char word[96];
    if (shift == 0)
        snprintf(word, sizeof word, "w%u(i)", k);
    else
        snprintf(word, sizeof word, "w%u(i >> %uu)", k, shift);
    const char *result = form == FORM_BITS ? "uint" : type;
    wnn_shader_text(shader, "%s %s_at(uint i) { return ", result, name);
    char place[64];
    snprintf(place, sizeof place, "int(i & %uu) * %u, %u", (1u << shift) - 1, bits, bits);
    bool whole = shift == 0, is_float = wnn_dtype_is_float(tensor->type) && form == FORM_VALUE;
    if (is_float && whole)
        wnn_shader_text(shader, "uintBitsToFloat(%s); }\n", word);
    else if (is_float)
        wnn_shader_text(shader, "loaded_half(bitfieldExtract(%s, %s)); }\n", word, place);
    else if (whole)
        wnn_shader_text(shader, "%s(%s); }\n", result, word);
    else
        wnn_shader_text(shader, "bitfieldExtract(%s(%s), %s); }\n", result, word, place);
    return k;
}

bool wnn_shader_has_quads(const struct lowering *lowering, const struct tensor *tensor)
{
    WNNDataType stored = tensor->fused ? tensor->fused->from : tensor->type;
    unsigned bits = wnn_dtype_bits(stored);
    return (wnn_dtype_is_float(stored) || bits <= 8) &&
           tensor->region.bytes <= wnn_shader_piece(lowering->gpu) &&
           tensor->region.offset % (bits <= 8 ? 4 : bits / 2) == 0;
}

const char *wnn_shader_quad_type(WNNDataType type)
{
    return wnn_dtype_is_float(type) ? "vec4" : wnn_dtype_is_signed(type) ? "ivec4" : "uvec4";
}

// Four integers of a word, or half a word.
static void add_small_quads(struct shader *shader, const char *name, WNNDataType type, unsigned k)
{
    unsigned bits = wnn_dtype_bits(type);
    const char *is = wnn_shader_type(type), *quad = wnn_shader_quad_type(type);
    wnn_shader_text(shader, "%s %s_quad(uint i)\n{\n%s q = %s(w%u(i / %uu)%s);\nreturn %s(", quad, name, is,
                    is, k, 32 / bits, bits == 4 ? " >> (i % 8u * 4u)" : "", quad);
    for (unsigned e = 0; e < 4; e++)
        wnn_shader_text(shader, "%sbitfieldExtract(q, %u, %u)", e ? ", " : "", e * bits, bits);
    add_text(shader, ");\n}\n");
}

// Of what is stored in binding k.
static void add_quads(struct shader *shader, const char *name, WNNDataType type, unsigned k)
{
    bool half = type == WNNDataType_Float16;
    if (!wnn_dtype_is_float(type)) {
        add_small_quads(shader, name, type, k);
        return;
    }
    wnn_shader_text(shader, "layout(std430, set = 0, binding = %u) readonly buffer Q%u { %s q%u[]; };\n", k,
                    k, half ? "uvec2" : "vec4", k);
    if (half)
        wnn_shader_text(shader,
                        "vec4 %s_quad(uint i)\n{\nuvec2 q = q%u[(base%u + i / 2u) / 2u];\n"
                        "return vec4(loaded_halves(q.x), loaded_halves(q.y));\n}\n",
                        name, k, k);
    else
        wnn_shader_text(shader, "#define %s_quad(i) q%u[(base%u + (i)) / 4u]\n", name, k, k);
}

void wnn_shader_quads(struct shader *shader, const char *name, const struct tensor *tensor)
{
    char stored[32];
    if (!tensor->fused) {
        add_quads(shader, name, tensor->type, shader->binding_count - 1);
        return;
    }
    snprintf(stored, sizeof stored, "%s_stored", name);
    add_quads(shader, stored, tensor->fused->from, shader->binding_count - 1);
    wnn_shader_text(shader,
                    "vec4 %s_quad(uint i)\n{\n%s q = %s_stored_quad(i);\n"
                    "return %s_made(q.x, q.y, q.z, q.w, i);\n}\n",
                    name, wnn_shader_quad_type(tensor->fused->from), name, name);
}

void wnn_shader_output_quads(struct shader *shader, const struct tensor *tensor)
{
    unsigned k = shader->binding_count;
    bool half = tensor->type == WNNDataType_Float16;
    shader->quads = true;
    wnn_shader_text(shader, "layout(std430, set = 0, binding = %u) writeonly buffer Q%u { %s q%u[]; };\n", k,
                    k, half ? "uvec2" : "vec4", k);
    // Neighbours may share a word, of which each has its half.
    if (half)
        wnn_shader_text(
            shader,
            "layout(std430, set = 0, binding = %u) buffer H%u { uint h%u[]; };\n"
            "void out_one(uint i, float x)\n{\nuint shift = 16u * (i & 1u), at = base%u + i / 2u;\n"
            "atomicAnd(h%u[at], ~(0xFFFFu << shift));\n"
            "atomicOr(h%u[at], (stored_halves(vec2(x, 0.0)) & 0xFFFFu) << shift);\n}\n"
            "void out_pair(uint i, vec2 x) { h%u[base%u + i / 2u] = stored_halves(x); }\n",
            k, k, k, k, k, k, k, k);
    else
        add_text(shader, "#define out_one(i, x) store(i, floatBitsToUint(x))\n"
                         "#define out_pair(i, v) out_one(i, v.x); out_one(i + 1u, v.y)\n");
    if (half)
        wnn_shader_text(shader,
                        "void out_quad(uint i, vec4 x)\n{\nq%u[(base%u + i / 2u) / 2u] = uvec2("
                        "stored_halves(x.xy), stored_halves(x.zw));\n}\n",
                        k, k);
    else
        wnn_shader_text(shader, "#define out_quad(i, x) q%u[(base%u + (i)) / 4u] = x\n", k, k);
}

void wnn_shader_words(struct shader *shader, const char *name, const struct region *region)
{
    unsigned k = shader->binding_count;
    if (region->bytes + 256 > shader->lowering->gpu->can.storage_range && !shader->lowering->failed) {
        wnn_fail(shader->lowering->error, WNNStatus_OperationError,
                 "%s: scratch memory of %zu bytes is more than the device's shaders can see",
                 wnn_ops[shader->lowering->node->op].name, region->bytes);
        shader->lowering->failed = true;
        return;
    }
    add_binding(shader, region, true, "coherent");
    wnn_shader_text(shader, "#define %s_word(i) b%u[base%u + (i)]\n", name, k, k);
}

void wnn_shader_unroll(struct shader *shader, const char *name, bool unrolls)
{
    wnn_shader_define(shader, name, "%s", unrolls ? "[[unroll]]" : "[[dont_unroll]]");
}

bool wnn_shader_can_count(const struct lowering *lowering)
{
    const struct gpu *gpu = lowering->gpu;
    return lowering->program->counters && wnn_shader_bindings(gpu, lowering->scratch.bytes) == 1 &&
           wnn_shader_node_bindings(gpu, lowering->node) < gpu->can.buffers;
}

void wnn_shader_splits(struct shader *shader, const struct region *sums, bool quads, uint32_t splits,
                       size_t counters)
{
    struct region counted = wnn_program_counters(shader->lowering->program, counters);
    unsigned k = shader->binding_count;
    wnn_shader_words(shader, "sums", sums);
    if (quads)
        wnn_shader_text(
            shader,
            "layout(std430, set = 0, binding = %u) coherent buffer Sums { uvec4 sums_quads[]; };\n"
            "#define sums_quad(at) sums_quads[(base%u >> 2) + ((at) >> 2)]\n",
            k, k);
    wnn_shader_words(shader, "counters", &counted);
    wnn_shader_number(shader, "SPLITS", splits);
    wnn_shader_include(shader, "splits");
}

void wnn_shader_finish(struct shader *shader, const struct fused *fused)
{
    if (!fused) {
        add_text(shader, "#define finish(x, i) (x)\n#define finish_quad(x, i) (x)\n");
        return;
    }
    wnn_shader_fused(shader, "finish", fused, true, shader->quads);
    if (shader->quads)
        add_text(shader, "vec4 finish_quad(vec4 v, uint i) { return finish(v.x, v.y, v.z, v.w, i); }\n");
}

void wnn_shader_output(struct shader *shader, const struct tensor *tensor, enum form form,
                       const struct fused *fused)
{
    unsigned k = add_binding(shader, &tensor->region, true, "writeonly");
    unsigned bits = form == FORM_QUAD ? 128 : form == FORM_PAIR ? 64 : wnn_dtype_bits(tensor->type);
    const char *type = form == FORM_QUAD   ? "vec4"
                       : form == FORM_PAIR ? "vec2"
                       : form == FORM_BITS ? (bits == 64 ? "uvec2" : "uint")
                                           : wnn_shader_type(tensor->type);
    shader->count = tensor->count;
    shader->per = bits >= 32 ? 1 : 32 / bits;
    wnn_shader_number(shader, "COUNT", (uint32_t)tensor->count);
    wnn_shader_define(shader, "OUT", "%s", type);
    wnn_shader_define(shader, "PER", "%uu", shader->per);
    if (bits == 128) {
        add_text(shader, "#define WORD uvec4\n"
                         "void put(inout uvec4 word, uint e, vec4 v) { word = floatBitsToUint(v); }\n");
        wnn_shader_text(
            shader,
            "void store(uint i, uvec4 word) { for (uint k = 0u; k < 4u; k++) s%u(4u * i + k, word[k]); }\n",
            k);
    } else if (bits == 64) {
        add_text(shader, "#define WORD uvec2\n");
        wnn_shader_text(shader, "void put(inout uvec2 word, uint e, %s v) { word = %s; }\n", type,
                        form == FORM_PAIR   ? "floatBitsToUint(v)"
                        : form == FORM_BITS ? "v"
                                            : "uvec2(v.lo, v.hi)");
        wnn_shader_text(shader,
                        "void store(uint i, uvec2 word) { s%u(2u * i, word.x); s%u(2u * i + 1u, word.y); }\n",
                        k, k);
    } else {
        const char *encoded = form == FORM_BITS || !wnn_dtype_is_float(tensor->type) ? "uint(v)"
                              : bits == 32                                           ? "floatBitsToUint(v)"
                                                                                     : "half_bits(v)";
        add_text(shader, "#define WORD uint\n");
        if (bits == 32)
            wnn_shader_text(shader, "void put(inout uint word, uint e, %s v) { word = %s; }\n", type,
                            encoded);
        else
            wnn_shader_text(shader,
                            "void put(inout uint word, uint e, %s v) { word |= (%s & %uu) << (e * %uu); }\n",
                            type, encoded, (1u << bits) - 1, bits);
        wnn_shader_text(shader, "void store(uint i, uint word) { s%u(i, word); }\n", k);
    }
    wnn_shader_finish(shader, fused);
}

struct tensor wnn_scratch(const struct lowering *lowering, size_t offset, WNNDataType type, size_t count)
{
    struct tensor tensor = {.type = type, .shape = {1, {(uint32_t)count}}, .count = count};
    tensor.region = (struct region){lowering->scratch.buffer, lowering->scratch.offset + offset,
                                    count * (wnn_dtype_bits(type) / 8)};
    return tensor;
}

void wnn_copy(struct lowering *lowering, const struct region *from, const struct region *to)
{
    if ((from->buffer == to->buffer && from->offset == to->offset) || to->bytes == 0)
        return;
    struct step *copy = wnn_program_add(lowering->program, STEP_COPY, lowering->node);
    if (!copy) {
        lowering->failed = !wnn_fail_memory(lowering->error);
        return;
    }
    copy->binding_count = 2;
    copy->bindings[0] = (struct binding){*from, false};
    copy->bindings[1] = (struct binding){*to, true};
}

void wnn_fill(struct lowering *lowering, const struct region *region)
{
    struct step *fill = wnn_program_add(lowering->program, STEP_FILL, lowering->node);
    if (!fill) {
        lowering->failed = !wnn_fail_memory(lowering->error);
        return;
    }
    fill->binding_count = 1;
    fill->bindings[0] = (struct binding){*region, true};
}

// ---------------------------------------------------------------------------------------------------------------
// Putting it together
// ---------------------------------------------------------------------------------------------------------------

static void add_words(struct word_set *set, const struct word_set *more)
{
    for (size_t i = 0; i < GPU_WORDS / 64; i++)
        set->bits[i] |= more->bits[i];
}

// Those of a text that functions of the library are asked for by.
static struct word_set words_of(const char *text)
{
    struct word_set set = {{0}};
    for (size_t length; (length = wnn_gpu_next_word(&text)) > 0; text += length) {
        const struct word_slot *slot;
        for (size_t i = wnn_gpu_hash_word(text, length); (slot = &wnn_gpu_words[i])->word;
             i = (i + 1) % GPU_WORD_SLOTS)
            if (slot->length == length && memcmp(slot->word, text, length) == 0) {
                set.bits[slot->number / 64] |= (uint64_t)1 << slot->number % 64;
                break;
            }
    }
    return set;
}

static bool are_among(const struct word_set *words, const struct word_set *all)
{
    bool among = true;
    for (size_t i = 0; i < GPU_WORDS / 64; i++)
        among = among && !(words->bits[i] & ~all->bits[i]);
    return among;
}

static const struct source_text *find_family(const char *name)
{
    static const struct source_text none = {NULL, "#error no such family\n", 22, {{0}}, {{0}}};
    const struct source_text *family = wnn_gpu_families;
    while (family->name && strcmp(family->name, name) != 0)
        family++;
    return family->name ? family : &none;
}

const char *wnn_shader_family(const char *name)
{
    return find_family(name)->text;
}

void wnn_shader_include(struct shader *shader, const char *name)
{
    const struct source_text *family = find_family(name);
    add_bytes(shader, family->text, family->length);
}

// Whether the parameters are push constants: those of small dispatches, where another trip to memory would
// show.
static bool are_pushed(const struct shader *shader)
{
    return shader->parameter_count > 0 &&
           shader->parameter_count <= shader->lowering->gpu->can.max_push_constants;
}

// Whether a shader must be told where what it is bound to begins: tensors lie at multiples of GPU_QUAD bytes,
// so that bindings begin where they do if the device lets them, but for pieces of tensors. What need not be
// asked for is not waited for.
static bool has_bases(const struct shader *shader)
{
    size_t alignment = shader->lowering->gpu->can.storage_alignment;
    bool pushes = shader->literal || shader->parameter_count == 0 || are_pushed(shader),
         has = !pushes || shader->shifts || shader->late || GPU_QUAD % alignment != 0;
    for (unsigned i = shader->large ? 0 : 1; i < shader->binding_count; i++)
        has = has || shader->bindings[i].region.offset % alignment != 0;
    return has;
}

// Whether there is a binding for parameters, which a small dispatch has in any case.
static bool has_parameters(const struct shader *shader)
{
    return !shader->large || (shader->late && shader->parameter_count > 0 && !are_pushed(shader));
}

// Behind all others.
static void bind_parameters(struct shader *shader)
{
    struct lowering *lowering = shader->lowering;
    if (shader->large && has_parameters(shader)) {
        shader->parameter_binding = shader->binding_count++;
        if (shader->binding_count > lowering->gpu->can.buffers && !lowering->failed) {
            wnn_fail(lowering->error, WNNStatus_OperationError,
                     "%s: its tensors need more than the %u buffers that the device's shaders can see",
                     wnn_ops[lowering->node->op].name, lowering->gpu->can.buffers - 1);
            lowering->failed = true;
        }
    }
}

static void add_header(struct shader *shader)
{
    const struct capabilities *can = &shader->lowering->gpu->can;
    add_text(shader, "#version 450\n#extension GL_EXT_control_flow_attributes : require\n");
    if (shader->extensions)
        add_text(shader, shader->extensions);
    if (can->single_rounding_fma)
        add_text(shader, "#define FUSED\n");
    if (can->halves)
        add_text(shader, "#define HALVES\n");
    if (can->rounds_halves)
        add_text(shader, "#define ROUNDS_HALVES\n");
    if (can->keeps_special)
        add_text(shader, "#define SPECIAL\n");
    if (can->keeps_special || can->keeps_denormals)
        add_text(shader, "#extension GL_EXT_spirv_intrinsics : require\n");
    if (can->keeps_special)
        add_text(shader, "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = "
                         "[4466], 4461, 32);\n");
    if (can->keeps_denormals)
        add_text(shader, "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = "
                         "[4464], 4459, 32);\n");
    wnn_shader_text(shader, "layout(local_size_x = %u) in;\n", shader->local_size);
    bool bases = has_bases(shader), pushed = are_pushed(shader);
    if (bases || pushed)
        add_text(shader, "layout(push_constant) uniform Pushed {\n");
    for (unsigned i = 0; i < shader->binding_count; i++)
        wnn_shader_text(shader, bases ? "uint base%u;\n" : "#define base%u 0u\n", i);
    if (pushed)
        wnn_shader_text(shader, "uint pushed[%zu];\n#define P(k) pushed[k]\n", shader->parameter_count);
    if (bases || pushed)
        add_text(shader, "};\n");
    unsigned k = shader->parameter_binding;
    if (!pushed && has_parameters(shader))
        wnn_shader_text(shader,
                        "layout(std430, set = 0, binding = %u) readonly buffer B%u { uint b%u[]; };\n"
                        "#define P(k) b%u[base%u + (k)]\n",
                        k, k, k, k, k);
}

static void append(struct shader *shader, uint32_t x, uint32_t y, uint32_t z)
{
    enum {
        MAX_TEXTS = 160
    };
    struct lowering *lowering = shader->lowering;
    struct program *program = lowering->program;
    add_bytes(shader, "", 1); // a NUL
    bind_parameters(shader);
    if (lowering->failed)
        return;
    // From the end to the beginning, so that pieces that pieces need are found too.
    const struct source_text own = {NULL, shader->text, shader->length - 1, {{0}}, words_of(shader->text)};
    const struct source_text *texts[MAX_TEXTS];
    struct word_set words = {{0}};
    size_t count = 0;
    if (shader->elements)
        texts[count++] = &wnn_gpu_elements;
    if (shader->family)
        texts[count++] = find_family(shader->family);
    texts[count++] = &own;
    for (size_t i = 0; i < count; i++)
        add_words(&words, &texts[i]->words);
    for (size_t i = wnn_gpu_library_count; i-- > 0 && count < MAX_TEXTS;)
        if (are_among(&wnn_gpu_library[i].names, &words)) {
            texts[count++] = &wnn_gpu_library[i];
            add_words(&words, &wnn_gpu_library[i].words);
        }

    struct shader whole = *shader;
    whole.text = NULL;
    whole.length = whole.capacity = 0;
    add_header(&whole);
    while (count-- > 0)
        add_bytes(&whole, texts[count]->text, texts[count]->length);
    add_bytes(&whole, "", 1);
    if (lowering->failed)
        return;
    struct pipeline *pipeline =
        wnn_pipelines_find(program->pipelines, whole.text, whole.length - 1, shader->binding_count);
    bool pushed = are_pushed(shader), stored = !pushed && shader->parameter_count > 0;
    static const uint32_t nothing[1]; // is bound where there is nothing else to be
    size_t stored_words = !has_parameters(shader) ? 0 : stored ? shader->parameter_count : 1;
    uint32_t first = wnn_program_parameters(program, stored ? shader->parameters : nothing, stored_words);
    struct step *step = wnn_program_add(program, STEP_DISPATCH, lowering->node);
    if (!pipeline || !step || first == UINT32_MAX) {
        if (pipeline && !step)
            wnn_pipelines_unref(program->pipelines, pipeline);
        else if (step)
            step->pipeline = pipeline;
        fail(lowering);
        return;
    }
    step->pipeline = pipeline;
    if (!lowering->kernel)
        lowering->kernel = shader->family ? shader->family : "elements";
    step->binding_count = shader->binding_count;
    memcpy(step->bindings, shader->bindings, sizeof step->bindings);
    step->has_parameters = has_parameters(shader);
    step->parameter_binding = shader->parameter_binding;
    step->has_bases = has_bases(shader);
    if (step->has_parameters)
        step->bindings[step->parameter_binding] =
            (struct binding){.region = {NULL, first * sizeof(uint32_t), stored_words * sizeof(uint32_t)}};
    if (pushed) {
        step->pushed_count = (uint32_t)shader->parameter_count;
        memcpy(step->pushed, shader->parameters, step->pushed_count * sizeof step->pushed[0]);
    }
    step->groups[0] = x;
    step->groups[1] = y;
    step->groups[2] = z;
}

void wnn_shader_end_grid(struct shader *shader, uint32_t x, uint32_t y, uint32_t z)
{
    if (x == 0 || y == 0 || z == 0) // nothing to do
        return;
    append(shader, x, y, z);
    wnn_arena_rewind(&shader->lowering->program->texts, (struct arena_mark){0});
}

bool wnn_shader_fills(uint64_t units, uint64_t together)
{
    return units % together == 0 && units / together <= GROUPS_IN_A_ROW;
}

void wnn_shader_end_groups(struct shader *shader, uint64_t units, uint64_t together)
{
    // Folded; shaders check their range.
    const uint32_t most = GROUPS_IN_A_ROW;
    uint64_t groups = units / together + (units % together != 0), rows = (groups + most - 1) / most;
    uint32_t x = groups <= most ? (uint32_t)groups : (uint32_t)((groups + rows - 1) / rows);
    if (rows > most) {
        wnn_fail(shader->lowering->error, WNNStatus_OperationError, "Vulkan: %llu work groups are too many",
                 (unsigned long long)groups);
        shader->lowering->failed = true;
        return;
    }
    wnn_shader_end_grid(shader, x, (uint32_t)rows, 1);
}

void wnn_shader_end(struct shader *shader)
{
    shader->elements = true;
    if (!shader->literal) // a few groups start sooner than many
        shader->local_size = wnn_shader_large_group(shader->lowering->gpu);
    uint64_t together = (uint64_t)shader->local_size * shader->per;
    wnn_shader_define(shader, "FULL", "%d", !shader->late && wnn_shader_fills(shader->count, together));
    wnn_shader_end_groups(shader, shader->count, together);
}
