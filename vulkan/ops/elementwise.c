// SPDX-License-Identifier: Apache-2.0
//
// Operators whose output elements depend on the input elements at the same place: a function each, and chains
// of them, in one dispatch as long as the device has buffers enough. What a step of a chain computes is
// rounded as its operator alone would round it, so that the results are the same bits.

#include "ops/geometry.h"
#include "vulkan/ops/elements.h"
#include "vulkan/ops/operators.h"

#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Functions
// ---------------------------------------------------------------------------------------------------------------

// Of a and b.
struct function {
    const char *text;
    const char *half; // of float16 numbers, which are never denormal floats; or NULL
};

static const struct function add_row = {"add(a, b)", "a + b"};
static const struct function sub_row = {"sub(a, b)", "a - b"};
static const struct function mul_row = {"mul(a, b)", "a * b"};
static const struct function div_row = {"div(a, b)", "a / b"};
static const struct function max_row = {"greatest(a, b)", "is_nan(a) || a > b ? a : b"};
static const struct function min_row = {"least(a, b)", "is_nan(a) || a < b ? a : b"};
static const struct function pow_row = {"power(a, b)", "pow_half(a, b)"};
static const struct function modulusFloor_row = {"modulus_floor(a, b)", NULL};
static const struct function modulusTruncate_row = {"modulus_truncate(a, b)", NULL};
static const struct function prelu_row = {"prelu_of(a, b)", "a < 0.0 ? a * b : a"};
static const struct function equal_row = {"uint(equal(a, b))", NULL};
static const struct function notEqual_row = {"uint(!equal(a, b))", NULL};
static const struct function greater_row = {"uint(less(b, a))", NULL};
static const struct function greaterOrEqual_row = {"uint(at_least(a, b))", NULL};
static const struct function lesser_row = {"uint(less(a, b))", NULL};
static const struct function lesserOrEqual_row = {"uint(at_least(b, a))", NULL};
static const struct function logicalAnd_row = {"uint(a != 0u && b != 0u)", NULL};
static const struct function logicalOr_row = {"uint(a != 0u || b != 0u)", NULL};
static const struct function logicalXor_row = {"uint((a != 0u) != (b != 0u))", NULL};

static const struct function *const functions[WNN_OP_COUNT] = {
#define OP(...)
#define OP_BINARY(id, ...) [WNN_OP_##id] = &id##_row,
#include "ops/ops.def"
};

static const char *conversion(WNNDataType type)
{
    switch (type) {
    case WNNDataType_Float32:
    case WNNDataType_Float16:
        return "float_of(x)";
    case WNNDataType_Int64:
        return "i64_of(x)";
    case WNNDataType_Uint64:
        return "u64_of(x)";
    case WNNDataType_Int32:
        return "int_of(x, -2147483648.0, 2147483648.0)";
    case WNNDataType_Int8:
        return "int_of(x, -128.0, 127.0)";
    case WNNDataType_Int4:
        return "int_of(x, -8.0, 7.0)";
    case WNNDataType_Uint32:
        return "uint_of(x, 4294967296.0)";
    case WNNDataType_Uint8:
        return "uint_of(x, 255.0)";
    default:
        return "uint_of(x, 15.0)";
    }
}

// The bounds of a type of at most 8 bits.
static void bounds(WNNDataType type, int *low, int *high)
{
    int values = 1 << wnn_dtype_bits(type);
    *low = wnn_dtype_is_signed(type) ? -values / 2 : 0;
    *high = *low + values - 1;
}

// What a step computes from its operands x, or a and b, or x, s and z, or c, a and b; attributes become
// constants that begin with `prefix`. The text is that of a function's body. `coarse`: it need not be right
// below 2^-100.
static void define_body(struct shader *shader, const char *prefix, const struct elementwise_step *step,
                        WNNDataType from, bool coarse, char *text, size_t size)
{
    WNNDataType to = step->type.type;
    char constants[2][32];
    int low, high;
    switch (step->op) {
    case WNN_OP_cast:
        if (wnn_dtype_is_float(from) && !wnn_dtype_is_float(to) && wnn_dtype_bits(to) == 64)
            wnn_shader_text(shader, "#define trunc64\n");
        snprintf(text, size, "return %s;", from == to ? "x" : conversion(to));
        return;
    case WNN_OP_clamp:
        if (wnn_dtype_is_float(from))
            break;
        snprintf(constants[0], sizeof constants[0], "%s_LEAST", prefix);
        snprintf(constants[1], sizeof constants[1], "%s_GREATEST", prefix);
        wnn_shader_value(shader, constants[0], from, ((const WNNClampOptions *)step->attrs)->minValue);
        wnn_shader_value(shader, constants[1], from, ((const WNNClampOptions *)step->attrs)->maxValue);
        snprintf(text, size, "return within(x, %s, %s);", constants[0], constants[1]);
        return;
    case WNN_OP_where:
        snprintf(text, size, "if (c != 0u) { return a; }\nreturn b;");
        return;
    case WNN_OP_quantizeLinear:
        if (wnn_dtype_bits(to) == 32) {
            wnn_shader_text(shader, "#define trunc64\n");
            snprintf(text, size, "return quantized(roundEven(%s(x, s)), z);",
                     from == WNNDataType_Float16 ? "steps_half" : "steps_of");
            return;
        }
        bounds(to, &low, &high);
        snprintf(text, size, "return %s(%s, %d - int(z), %d - int(z)) + int(z));", wnn_shader_type(to),
                 from == WNNDataType_Float16 ? "whole_half(x, s" : "whole_of(steps_of(x, s)", low, high);
        return;
    case WNN_OP_dequantizeLinear:
        snprintf(text, size, "return %s;",
                 wnn_dtype_bits(from) < 32   ? "scaled(int(x) - int(z), s)"
                 : to == WNNDataType_Float16 ? "dequantized_half(x, z, s)"
                                             : "dequantized(sub(i64_of(x), i64_of(z)), s)");
        return;
    default:
        break;
    }
    if ((step->op == WNN_OP_div || step->op == WNN_OP_pow) && wnn_dtype_bits(from) == 8) {
        snprintf(text, size, step->op == WNN_OP_div ? "return divided8(a, b);" : "return power8(a, b);");
        return;
    }
    if (step->in_count == 2) {
        const struct function *function = functions[step->op];
        if (coarse && step->op == WNN_OP_mul && !shader->lowering->gpu->can.keeps_denormals) {
            snprintf(text, size, "return mul_coarse(a, b);");
            return;
        }
        bool half = (from == WNNDataType_Float16 || coarse) && function->half;
        snprintf(text, size, half ? "precise float y = %s;\nreturn y;" : "return %s;",
                 half ? function->half : function->text);
        return;
    }
    char expression[256];
    wnn_shader_function(shader, prefix, (enum op)step->op, step->attrs, from, expression, sizeof expression);
    snprintf(text, size, "return %s;", expression);
}

// Declares the function of a step on values of these types.
static void define_function(struct shader *shader, const char *name, const struct elementwise_step *step,
                            const WNNDataType *types, bool coarse)
{
    const char *names = step->op == WNN_OP_where ? "cab"
                        : step->in_count == 3    ? "xsz"
                        : step->in_count == 2    ? "ab"
                                                 : "x";
    char body[512];
    define_body(shader, name, step, types[0], coarse, body, sizeof body);
    wnn_shader_text(shader, "%s %s(", wnn_shader_type(step->type.type), name);
    for (unsigned i = 0; i < step->in_count; i++)
        wnn_shader_text(shader, "%s%s %c", i ? ", " : "", wnn_shader_type(types[i]), names[i]);
    wnn_shader_text(shader, ") {\n%s\n}\n", body);
}

// A value of a type that a shader's is wider than, as it would be after a store and a load.
static const char *narrowing(WNNDataType type)
{
    switch (type) {
    case WNNDataType_Float16:
        return "rounded_f16(%s)";
    case WNNDataType_Int8:
        return "bitfieldExtract(%s, 0, 8)";
    case WNNDataType_Uint8:
        return "(%s & 255u)";
    case WNNDataType_Int4:
        return "bitfieldExtract(%s, 0, 4)";
    case WNNDataType_Uint4:
        return "(%s & 15u)";
    default:
        return "%s";
    }
}

// An index map of what has an element for each block of a tensor; returns the rank.
static unsigned map_blocks(const struct shape *blocks, const struct shape *shape, uint32_t dims[GPU_MAP_RANK],
                           int64_t steps[GPU_MAP_RANK])
{
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(blocks, strides);
    for (unsigned d = 0; d < shape->rank; d++) {
        dims[2 * d] = blocks->dim[d];
        dims[2 * d + 1] = shape->dim[d] / blocks->dim[d];
        steps[2 * d] = (int64_t)strides[d];
        steps[2 * d + 1] = 0;
    }
    return 2 * shape->rank;
}

// Whether operand j of a step is a scale or zero point, of which there is one for each block.
static bool has_blocks(const struct elementwise_step *step, unsigned j)
{
    return j > 0 && (step->op == WNN_OP_quantizeLinear || step->op == WNN_OP_dequantizeLinear);
}

enum {
    MAX_VALUES = WNN_ELEMENTWISE_INPUTS + WNN_ELEMENTWISE_STEPS + 1
};

// ---------------------------------------------------------------------------------------------------------------
// Fused with other operators
// ---------------------------------------------------------------------------------------------------------------

// How four elements that lie side by side, from a multiple of 4 on, find what an input has for them.
enum load_method {
    LOAD_EACH,   // wherever it is
    LOAD_ONCE,   // one element for all
    LOAD_BESIDE, // side by side
    LOAD_QUAD,   // as a quad
};

static enum load_method choose_load_method(const struct lowering *lowering, const struct tensor *tensor,
                                           unsigned rank, const uint32_t *dims, const int64_t *steps)
{
    uint32_t sizes[GPU_MAP_RANK];
    int64_t strides[GPU_MAP_RANK];
    unsigned count = wnn_shader_collapse(rank, dims, steps, sizes, strides);
    bool fits = count <= 1 || sizes[0] % 4 == 0, aligned = true;
    for (unsigned d = 1; d < count; d++)
        aligned = aligned && strides[d] % 4 == 0;
    if (count == 0 || (strides[0] == 0 && fits))
        return LOAD_ONCE;
    if (strides[0] != 1 || !fits)
        return LOAD_EACH;
    return aligned && wnn_shader_has_quads(lowering, tensor) ? LOAD_QUAD : LOAD_BESIDE;
}

// <name>_at(<name>_index(i)): what operand j of a step is for element i. With `quads`, <name>_quad too, if
// that is how. Of one that is deferred it is what the kernel has put into `partner`.
static enum load_method add_fused_input(struct shader *shader, const char *name, const struct tensor *tensor,
                                        const struct elementwise_step *step, unsigned j, bool quads)
{
    const struct shape *shape = &step->type.shape;
    if (tensor->deferred) {
        wnn_shader_text(shader, "#define %s_index(i) (i)\n#define %s_at(i) partner\n", name, name);
        return LOAD_EACH;
    }
    uint32_t dims[GPU_MAP_RANK] = {(uint32_t)tensor->count};
    int64_t steps[GPU_MAP_RANK] = {1};
    unsigned rank = 1;
    if (has_blocks(step, j) && tensor->count != wnn_shape_elements(shape)) {
        rank = map_blocks(&tensor->shape, shape, dims, steps);
    } else if (tensor->count != wnn_shape_elements(shape)) {
        size_t strides[WNN_MAX_RANK];
        wnn_shape_broadcast_strides(&tensor->shape, shape, strides);
        rank = shape->rank;
        for (unsigned d = 0; d < rank; d++) {
            dims[d] = shape->dim[d];
            steps[d] = (int64_t)strides[d];
        }
    }
    enum load_method method =
        quads ? choose_load_method(shader->lowering, tensor, rank, dims, steps) : LOAD_EACH;
    wnn_shader_map(shader, name, rank, dims, steps, 0);
    wnn_shader_input(shader, name, tensor, FORM_VALUE);
    if (method == LOAD_QUAD)
        wnn_shader_quads(shader, name, tensor);
    return method;
}

// Whether all that becomes of a step's result is float16, by way of what makes nothing larger: what is too
// small for that is 0 then.
static bool becomes_half(const struct fused *fused, unsigned number)
{
    bool used = false;
    for (unsigned i = number + 1; i < fused->count; i++) {
        const struct elementwise_step *step = &fused->list[i];
        bool narrows = step->op == WNN_OP_cast && step->type.type == WNNDataType_Float16,
             keeps = step->type.type == WNNDataType_Float32 &&
                     (step->op == WNN_OP_add || step->op == WNN_OP_sub || step->op == WNN_OP_neg ||
                      step->op == WNN_OP_abs || step->op == WNN_OP_relu);
        for (unsigned j = 0; j < step->in_count; j++) {
            if (step->in[j] != fused->input_count + 1 + number)
                continue;
            if (!narrows && !(keeps && becomes_half(fused, i)))
                return false;
            used = true;
        }
    }
    return used;
}

static WNNDataType type_of(const struct fused *fused, unsigned value)
{
    return value == 0                    ? fused->from
           : value <= fused->input_count ? fused->inputs[value - 1].type
                                         : fused->list[value - fused->input_count - 1].type.type;
}

// Whether it is a float32 that has been float16.
static bool was_half(const struct fused *fused, unsigned value)
{
    if (value <= fused->input_count)
        return false;
    const struct elementwise_step *step = &fused->list[value - fused->input_count - 1];
    return step->op == WNN_OP_cast && type_of(fused, step->in[0]) == WNNDataType_Float16;
}

// Whether nobody sees what a step of float32 makes of denormal numbers: of such a factor the other is no more
// than float16 has, or infinite.
static bool is_coarse(const struct fused *fused, unsigned number)
{
    const struct elementwise_step *step = &fused->list[number];
    bool may = step->op == WNN_OP_add || step->op == WNN_OP_sub ||
               (step->op == WNN_OP_mul && (was_half(fused, step->in[0]) || was_half(fused, step->in[1])));
    return may && step->type.type == WNNDataType_Float32 && becomes_half(fused, number);
}

bool wnn_fused_is_large(const struct fused *fused)
{
    enum {
        MANY_STEPS = 8
    };
    unsigned products = 0;
    if (fused && fused->count >= MANY_STEPS)
        return true;
    for (unsigned i = 0; fused && i < fused->count; i++) {
        const struct elementwise_step *step = &fused->list[i];
        bool half = step->type.type != WNNDataType_Float32 && step->op != WNN_OP_pow;
        bool plain = half || step->op == WNN_OP_cast || step->op == WNN_OP_relu || step->op == WNN_OP_clamp ||
                     step->op == WNN_OP_neg || step->op == WNN_OP_abs || step->op == WNN_OP_identity ||
                     is_coarse(fused, i);
        products += step->op == WNN_OP_mul && !plain;
        if ((!plain && step->op != WNN_OP_mul) || products > 1)
            return true;
    }
    return false;
}

// A function of value 0 and the inputs' values, all that has to do with numbers.
static void define_steps(struct shader *shader, const char *name, const struct fused *fused, bool fresh)
{
    WNNDataType types[MAX_VALUES] = {fused->from};
    unsigned first = fused->input_count + 1; // of the steps' values
    char function[32], call[192], value[256];
    for (unsigned v = 1; v < first; v++)
        types[v] = fused->inputs[v - 1].type;
    for (unsigned i = 0; i < fused->count; i++) {
        const struct elementwise_step *step = &fused->list[i];
        const WNNDataType from[3] = {types[step->in[0]], types[step->in[1]], types[step->in[2]]};
        snprintf(function, sizeof function, "%s_f%u", name, i);
        define_function(shader, function, step, from, is_coarse(fused, i));
        types[first + i] = step->type.type;
    }
    wnn_shader_text(shader, "%s %s_of(", wnn_shader_type(types[first + fused->count - 1]), name);
    for (unsigned v = 0; v < first; v++)
        wnn_shader_text(shader, "%s%s v%u", v ? ", " : "", wnn_shader_type(types[v]), v);
    wnn_shader_text(shader, ")\n{\n");
    if (fresh) {
        snprintf(value, sizeof value, narrowing(fused->from), "v0");
        wnn_shader_text(shader, "v0 = %s;\n", value);
    }
    for (unsigned i = 0; i < fused->count; i++) {
        const struct elementwise_step *step = &fused->list[i];
        int length = snprintf(call, sizeof call, "%s_f%u(", name, i);
        for (unsigned j = 0; j < step->in_count; j++)
            length +=
                snprintf(call + length, sizeof call - (size_t)length, "%sv%u", j ? ", " : "", step->in[j]);
        snprintf(call + length, sizeof call - (size_t)length, ")");
        snprintf(value, sizeof value, fresh && i + 1 == fused->count ? "%s" : narrowing(step->type.type),
                 call);
        wnn_shader_text(shader, "%s v%u = %s;\n", wnn_shader_type(step->type.type), first + i, value);
    }
    wnn_shader_text(shader, "return v%u;\n}\n", first + fused->count - 1);
}

// <name>(a, b, c, d, i) of the values 0 of four elements.
static void define_quad(struct shader *shader, const char *name, const struct fused *fused,
                        const enum load_method *methods)
{
    const char *from = wnn_shader_type(fused->from);
    wnn_shader_text(shader, "vec4 %s(%s a, %s b, %s c, %s d, uint i)\n{\n", name, from, from, from, from);
    for (unsigned v = 1; v <= fused->input_count; v++) {
        WNNDataType type = fused->inputs[v - 1].type;
        const char *is = wnn_shader_type(type);
        if (methods[v] == LOAD_ONCE)
            wnn_shader_text(shader, "%s v%u = %s_x%u_at(%s_x%u_index(i));\n", is, v, name, v, name, v);
        else if (methods[v] == LOAD_QUAD)
            wnn_shader_text(shader, "%s v%u = %s_x%u_quad(%s_x%u_index(i));\n", wnn_shader_quad_type(type), v,
                            name, v, name, v);
        else if (methods[v] == LOAD_BESIDE)
            wnn_shader_text(shader, "uint v%u = %s_x%u_index(i);\n", v, name, v);
    }
    for (unsigned e = 0; e < 4; e++) {
        wnn_shader_text(shader, "%s%s_of(%c", e ? ", " : "return vec4(", name, "abcd"[e]);
        for (unsigned v = 1; v <= fused->input_count; v++) {
            if (methods[v] == LOAD_ONCE)
                wnn_shader_text(shader, ", v%u", v);
            else if (methods[v] == LOAD_QUAD)
                wnn_shader_text(shader, ", v%u.%c", v, "xyzw"[e]);
            else if (methods[v] == LOAD_BESIDE)
                wnn_shader_text(shader, ", %s_x%u_at(v%u + %uu)", name, v, v, e);
            else
                wnn_shader_text(shader, ", %s_x%u_at(%s_x%u_index(i + %uu))", name, v, name, v, e);
        }
        wnn_shader_text(shader, ")");
    }
    wnn_shader_text(shader, ");\n}\n");
}

void wnn_shader_fused(struct shader *shader, const char *name, const struct fused *fused, bool fresh,
                      bool quads)
{
    enum load_method methods[MAX_VALUES] = {0};
    bool known[MAX_VALUES] = {true};
    char input[32];
    for (unsigned i = 0; i < fused->count; i++)
        for (unsigned j = 0; j < fused->list[i].in_count; j++) {
            unsigned v = fused->list[i].in[j];
            if (known[v] || v > fused->input_count)
                continue;
            known[v] = true;
            snprintf(input, sizeof input, "%s_x%u", name, v);
            methods[v] = add_fused_input(shader, input, &fused->inputs[v - 1], &fused->list[i], j, quads);
        }
    define_steps(shader, name, fused, fresh);
    const struct elementwise_step *last = &fused->list[fused->count - 1];
    wnn_shader_text(shader, "%s %s(%s v0, uint i) { return %s_of(v0", wnn_shader_type(last->type.type), name,
                    wnn_shader_type(fused->from), name);
    for (unsigned v = 1; v <= fused->input_count; v++)
        wnn_shader_text(shader, ", %s_x%u_at(%s_x%u_index(i))", name, v, name, v);
    wnn_shader_text(shader, "); }\n");
    if (quads)
        define_quad(shader, name, fused, methods);
}

// ---------------------------------------------------------------------------------------------------------------
// Chains
// ---------------------------------------------------------------------------------------------------------------

// Values are numbered as elementwise_attrs does it. Steps [begin, end) are one dispatch.
struct chain {
    const struct gpu *gpu;
    const struct elementwise_step *steps;
    unsigned input_count, step_count;
    struct descriptor types[MAX_VALUES];
    unsigned last[MAX_VALUES]; // the last step that reads a value, 0 of one that none reads
    size_t stored[MAX_VALUES]; // where in scratch memory a value is, SIZE_MAX: nowhere
    unsigned begin, end;
    size_t scratch;
};

static bool is_read(const struct chain *chain, unsigned value, unsigned begin, unsigned end)
{
    for (unsigned i = begin; i < end; i++)
        for (unsigned j = 0; j < chain->steps[i].in_count; j++)
            if (chain->steps[i].in[j] == value)
                return true;
    return false;
}

static bool is_computed(const struct chain *chain, unsigned value, unsigned begin, unsigned end)
{
    return value >= chain->input_count + begin && value < chain->input_count + end;
}

// Whether steps [begin, end) leave a value in memory for those behind them or for others.
static bool is_written(const struct chain *chain, unsigned value, unsigned begin, unsigned end)
{
    return is_computed(chain, value, begin, end) &&
           (chain->steps[value - chain->input_count].output != WNN_NO_OUTPUT || chain->last[value] >= end);
}

static bool fits(const struct chain *chain, unsigned begin, unsigned end)
{
    unsigned bindings = 1; // the parameters
    for (unsigned v = 0; v < chain->input_count + end; v++)
        if (is_written(chain, v, begin, end) ||
            (!is_computed(chain, v, begin, end) && is_read(chain, v, begin, end)))
            bindings += wnn_shader_bindings(chain->gpu, wnn_descriptor_bytes(&chain->types[v]));
    return bindings <= chain->gpu->can.buffers;
}

static struct chain describe_chain(const struct gpu *gpu, const struct elementwise_step *steps,
                                   unsigned step_count, const struct node *node)
{
    struct chain chain = {
        .gpu = gpu, .steps = steps, .step_count = step_count, .input_count = node->in_count};
    for (unsigned i = 0; i < node->in_count; i++)
        chain.types[i] = node->in[i]->type;
    for (unsigned i = 0; i < step_count; i++) {
        chain.types[node->in_count + i] = steps[i].type;
        for (unsigned j = 0; j < steps[i].in_count; j++)
            chain.last[steps[i].in[j]] = i;
    }
    for (unsigned v = 0; v < MAX_VALUES; v++)
        chain.stored[v] = SIZE_MAX;
    return chain;
}

// Goes on to the steps of the next dispatch, as many as there are buffers for. False: there are no more.
static bool next_part(struct chain *chain)
{
    chain->begin = chain->end;
    chain->end = chain->step_count;
    while (chain->end > chain->begin + 1 && !fits(chain, chain->begin, chain->end))
        chain->end--;
    for (unsigned i = chain->begin; i < chain->end && chain->end < chain->step_count; i++) {
        unsigned value = chain->input_count + i;
        if (chain->steps[i].output != WNN_NO_OUTPUT || chain->last[value] < chain->end)
            continue;
        chain->stored[value] = chain->scratch;
        chain->scratch = wnn_aligned(chain->scratch + wnn_descriptor_bytes(&chain->types[value]) + 4);
    }
    return chain->begin < chain->end;
}

// Where a value lies that is not computed in this dispatch, or is written by it.
static struct tensor tensor_of(const struct chain *chain, const struct lowering *lowering, unsigned value)
{
    if (value < chain->input_count)
        return lowering->in[value];
    unsigned output = chain->steps[value - chain->input_count].output;
    if (output != WNN_NO_OUTPUT)
        return lowering->out[output];
    const struct descriptor *type = &chain->types[value];
    size_t count = wnn_shape_elements(&type->shape);
    struct tensor tensor = wnn_scratch(lowering, chain->stored[value], type->type, count);
    tensor.region.bytes = wnn_descriptor_bytes(type);
    return tensor;
}

// Adds operand j of a step, which is not computed in this dispatch.
static void add_operand(struct elements *elements, const char *name, const struct tensor *tensor,
                        const struct elementwise_step *step, unsigned j)
{
    uint32_t dims[GPU_MAP_RANK];
    int64_t steps[GPU_MAP_RANK];
    if (tensor->count == elements->count)
        wnn_elements_same(elements, name, tensor, FORM_VALUE);
    else if (has_blocks(step, j))
        wnn_elements_map(elements, name, tensor, FORM_VALUE,
                         map_blocks(&tensor->shape, &step->type.shape, dims, steps), dims, steps, 0);
    else
        wnn_elements_broadcast(elements, name, tensor, FORM_VALUE, &step->type.shape);
}

static void lower_part(struct lowering *lowering, const struct chain *chain, const struct fused *fused)
{
    struct elements elements;
    struct tensor tensors[MAX_VALUES];
    char names[MAX_VALUES][8];
    bool known[MAX_VALUES] = {false};
    wnn_elements_begin(&elements, lowering, wnn_shape_elements(&chain->steps[0].type.shape));
    for (unsigned i = chain->begin; i < chain->end; i++) {
        const struct elementwise_step *step = &chain->steps[i];
        WNNDataType types[3] = {0};
        char call[64], function[16];
        snprintf(function, sizeof function, "f%u", i);
        int length = snprintf(call, sizeof call, "%s(", function);
        for (unsigned j = 0; j < step->in_count; j++) {
            unsigned v = step->in[j];
            types[j] = chain->types[v].type;
            length += snprintf(call + length, sizeof call - (size_t)length, "%sv%u", j ? ", " : "", v);
            if (known[v])
                continue;
            known[v] = true;
            tensors[v] = tensor_of(chain, lowering, v);
            snprintf(names[v], sizeof names[v], "v%u", v);
            add_operand(&elements, names[v], &tensors[v], step, j);
        }
        snprintf(call + length, sizeof call - (size_t)length, ")");
        unsigned result = chain->input_count + i;
        char value[128];
        snprintf(names[result], sizeof names[result], "v%u", result);
        define_function(&elements.shader, function, step, types, false);
        snprintf(value, sizeof value,
                 is_read(chain, result, i + 1, chain->end) ? narrowing(step->type.type) : "%s", call);
        wnn_elements_do(&elements, "%s v%u = %s;", wnn_shader_type(step->type.type), result, value);
        known[result] = true;
    }
    for (unsigned i = chain->begin; i < chain->end; i++) {
        unsigned result = chain->input_count + i;
        if (!is_written(chain, result, chain->begin, chain->end))
            continue;
        tensors[result] = tensor_of(chain, lowering, result);
        wnn_elements_output(&elements, names[result], &tensors[result], FORM_VALUE);
    }
    wnn_elements_end(&elements, fused);
}

static void lower_elementwise(struct lowering *lowering)
{
    const struct elementwise_attrs *attrs = lowering->node->attrs;
    struct chain chain = describe_chain(lowering->gpu, attrs->steps, attrs->count, lowering->node);
    while (!lowering->failed && next_part(&chain))
        lower_part(lowering, &chain, NULL);
}

size_t wnn_scratch_of_elementwise(const struct gpu *gpu, const struct node *node)
{
    const struct elementwise_attrs *attrs = node->attrs;
    struct chain chain = describe_chain(gpu, attrs->steps, attrs->count, node);
    while (next_part(&chain))
        ;
    return chain.scratch;
}

bool wnn_elementwise_shares(const struct gpu *gpu, const struct node *node, unsigned input)
{
    const struct elementwise_attrs *attrs = node->attrs;
    const struct descriptor *in = &node->in[input]->type, *out = &node->out[0]->type;
    struct chain chain = describe_chain(gpu, attrs->steps, attrs->count, node);
    return wnn_shape_elements(&in->shape) == wnn_shape_elements(&out->shape) &&
           wnn_dtype_bits(in->type) == wnn_dtype_bits(out->type) && fits(&chain, 0, attrs->count);
}

// ---------------------------------------------------------------------------------------------------------------
// Single operators
// ---------------------------------------------------------------------------------------------------------------

// A chain of one step.
static void lower_step(struct lowering *lowering)
{
    const struct node *node = lowering->node;
    const struct elementwise_step step = {.op = node->op,
                                          .in_count = (uint8_t)node->in_count,
                                          .in = {0, 1, 2},
                                          .output = 0,
                                          .attrs = node->attrs,
                                          .type = node->out[0]->type};
    struct chain chain = describe_chain(lowering->gpu, &step, 1, node);
    next_part(&chain);
    lower_part(lowering, &chain, lowering->fused);
}

// As bits, whatever they mean.
static void lower_where(struct lowering *lowering)
{
    const struct tensor *out = &lowering->out[0];
    struct elements elements;
    wnn_elements_begin(&elements, lowering, out->count);
    wnn_elements_broadcast(&elements, "c", &lowering->in[0], FORM_VALUE, &out->shape);
    wnn_elements_broadcast(&elements, "a", &lowering->in[1], FORM_BITS, &out->shape);
    wnn_elements_broadcast(&elements, "b", &lowering->in[2], FORM_BITS, &out->shape);
    wnn_elements_output(&elements, "c != 0u ? a : b", out, FORM_BITS);
    wnn_elements_end(&elements, NULL);
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias, along one axis.
static void lower_batch_normalization(struct lowering *lowering)
{
    const WNNBatchNormalizationOptions *options = lowering->node->attrs;
    static const char *const names[5] = {"x", "mean", "variance", "scale", "bias"};
    const struct tensor *out = &lowering->out[0];
    struct elements elements;
    int64_t steps[WNN_MAX_RANK] = {0};
    steps[options->axis] = 1;
    wnn_elements_begin(&elements, lowering, out->count);
    wnn_elements_same(&elements, "x", &lowering->in[0], FORM_VALUE);
    for (unsigned i = 1; i < 5; i++) {
        if (lowering->in[i].region.buffer)
            wnn_elements_map(&elements, names[i], &lowering->in[i], FORM_VALUE, out->shape.rank,
                             out->shape.dim, steps, 0);
        else
            wnn_elements_do(&elements, "float %s = %s;", names[i], i == 3 ? "1.0" : "-0.0");
    }
    wnn_shader_float(&elements.shader, "EPSILON", options->epsilon);
    wnn_elements_output(&elements,
                        "normalized(x, vec4(mean, 0.0, inverse_root(sum2(vec2(variance, 0.0), vec2(EPSILON, "
                        "0.0)))), scale, bias)",
                        out, FORM_VALUE);
    wnn_elements_end(&elements, lowering->fused);
}

void wnn_lower_convert(struct lowering *lowering, const struct tensor *from, const struct tensor *to)
{
    struct elements elements;
    enum form form = from->type == to->type ? FORM_BITS : FORM_VALUE;
    const struct elementwise_step step = {.op = WNN_OP_cast, .in_count = 1, .type = {to->type, to->shape}};
    wnn_elements_begin(&elements, lowering, to->count);
    if (form == FORM_VALUE)
        define_function(&elements.shader, "f0", &step, &from->type, false);
    wnn_elements_same(&elements, "x", from, form);
    wnn_elements_output(&elements, form == FORM_BITS ? "x" : "f0(x)", to, form);
    wnn_elements_end(&elements, NULL);
}

static void lower_cast(struct lowering *lowering)
{
    wnn_lower_convert(lowering, &lowering->in[0], &lowering->out[0]);
}

const struct gpu_operator wnn_gpu_unary = {.lower = lower_step, .in_place = ~0u, .fuses_epilogue = true};
const struct gpu_operator wnn_gpu_binary = {.lower = lower_step, .in_place = ~0u, .fuses_epilogue = true};
const struct gpu_operator wnn_gpu_quantizeLinear = {.lower = lower_step};
const struct gpu_operator wnn_gpu_dequantizeLinear = {.lower = lower_step};
const struct gpu_operator wnn_gpu_cast = {.lower = lower_cast};
const struct gpu_operator wnn_gpu_where = {.lower = lower_where, .in_place = 6};
const struct gpu_operator wnn_gpu_batchNormalization = {
    .lower = lower_batch_normalization, .in_place = 1, .fuses_epilogue = true};
const struct gpu_operator wnn_gpu_elementwise = {.lower = lower_elementwise};
