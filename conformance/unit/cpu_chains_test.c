// SPDX-License-Identifier: Apache-2.0
//
// Chains of operators of single elements: one node gives the bits that the operators give one after another,
// for numbers of all sizes, in whatever form a function is written, wherever outputs lie; loops of float16 as
// it lies in memory give the bits that loops of float32 give, rounded; powers that are products are those of
// pow; and tables of float16 have what operators compute.

#include "conformance/chain.h"
#include "conformance/unit/float_bits.h"
#include "conformance/unit/kernel_fixture.h"
#include "cpu/elementwise/elementwise.h"

#include <math.h>

enum {
    MOST = 5000, // elements
    HALVES = 65536,
    TABLED = 9 * HALVES + 3, // elements of float16 for which there are tables
    OPERANDS = 48,
    SEEDS = 2000, // of chains of chance
};

static WNNOperand times(WNNOperand a, WNNOperand b)
{
    return wnnGraphBuilderMul(builder, a, b, NULL);
}

static WNNOperand plus(WNNOperand a, WNNOperand b)
{
    return wnnGraphBuilderAdd(builder, a, b, NULL);
}

static WNNOperand power(WNNOperand a, WNNOperand b)
{
    return wnnGraphBuilderPow(builder, a, b, NULL);
}

static WNNDataType type;

static WNNOperand number(double value)
{
    return make_scalar(builder, type, value);
}

static WNNOperand silu(WNNOperand x)
{
    return times(x, wnnGraphBuilderSigmoid(builder, x, NULL));
}

// 1 + tanh(0.8 * (x + cubic))
static WNNOperand one_and_tanh(WNNOperand x, WNNOperand cubic)
{
    WNNOperand u = times(plus(x, cubic), number(0.7978845608));
    return plus(number(1), wnnGraphBuilderTanh(builder, u, NULL));
}

static WNNOperand cubic_last(WNNOperand x)
{
    return times(x, times(times(x, x), number(0.044715)));
}

static WNNOperand cubic_first(WNNOperand x)
{
    return times(number(0.044715), times(times(x, x), x));
}

static WNNOperand cubic_power(WNNOperand x)
{
    return times(power(x, number(3)), number(0.044715));
}

static WNNOperand silu_of_sum(WNNOperand x, WNNOperand y)
{
    return silu(plus(x, y));
}

static WNNOperand silu_turned(WNNOperand x, WNNOperand y)
{
    (void)y;
    return times(wnnGraphBuilderSigmoid(builder, x, NULL), x);
}

static WNNOperand swiglu(WNNOperand x, WNNOperand y)
{
    return times(silu(x), y);
}

static WNNOperand swiglu_turned(WNNOperand x, WNNOperand y)
{
    return times(y, silu(x));
}

static WNNOperand square_of_silu(WNNOperand x, WNNOperand y)
{
    WNNOperand s = silu(x);
    (void)y;
    return times(s, s);
}

static WNNOperand gelu_halved_before(WNNOperand x, WNNOperand y)
{
    (void)y;
    return times(times(x, number(0.5)), one_and_tanh(x, cubic_last(x)));
}

static WNNOperand gelu_halved_behind(WNNOperand x, WNNOperand y)
{
    (void)y;
    return times(number(0.5), times(x, one_and_tanh(x, cubic_power(x))));
}

static WNNOperand gelu_of_half_tanh(WNNOperand x, WNNOperand y)
{
    (void)y;
    return times(x, times(one_and_tanh(x, cubic_first(x)), number(0.5)));
}

static WNNOperand gelu_of_product(WNNOperand x, WNNOperand y)
{
    return plus(gelu_halved_before(times(x, y), y), y);
}

// Not what it looks like: of another number, or of two values.
static WNNOperand no_gelu(WNNOperand x, WNNOperand y)
{
    return times(times(x, number(0.25)), one_and_tanh(x, cubic_last(y)));
}

static WNNOperand no_silu(WNNOperand x, WNNOperand y)
{
    return times(y, wnnGraphBuilderSigmoid(builder, x, NULL));
}

static WNNOperand tanh_read_twice(WNNOperand x, WNNOperand y)
{
    WNNOperand inner = one_and_tanh(x, cubic_power(x));
    (void)y;
    return plus(times(times(x, number(0.5)), inner), inner);
}

static WNNOperand powers(WNNOperand x, WNNOperand y)
{
    return plus(power(x, number(2)), times(power(y, number(3)), power(x, number(0.5))));
}

static const struct recipe {
    const char *name;
    WNNOperand (*record)(WNNOperand x, WNNOperand y);
    unsigned joined; // steps that one loop computes
} recipes[] = {
    {"silu of a sum", silu_of_sum, 2},
    {"silu turned", silu_turned, 2},
    {"swiglu", swiglu, 3},
    {"swiglu turned", swiglu_turned, 3},
    {"square of silu", square_of_silu, 2},
    {"gelu halved before", gelu_halved_before, 9},
    {"gelu halved behind", gelu_halved_behind, 8},
    {"gelu of half of tanh", gelu_of_half_tanh, 9},
    {"gelu of a product", gelu_of_product, 9},
    {"no gelu", no_gelu, 0},
    {"no silu", no_silu, 0},
    {"tanh read twice", tanh_read_twice, 0},
    {"powers", powers, 0},
};

// Of all signs and exponents, and many that are neither large nor small.
static void fill(const struct tensor *tensor, uint32_t seed)
{
    for (size_t i = 0; i < tensor->count; i++) {
        seed = seed * 1664525 + 1013904223;
        float value = i % 3 == 0 ? float_of(seed) : ((float)(seed >> 8) / 0x1p24f - 0.5f) * 20;
        if (tensor->type == WNNDataType_Float32)
            ((float *)tensor->data)[i] = value;
        else
            ((uint16_t *)tensor->data)[i] = i % 3 == 0 ? (uint16_t)(seed >> 16) : wnn_half_from_float(value);
    }
}

static void run(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    struct parallel parallel = in_turn(3);
    const struct kernel *kernel = wnn_cpu_kernels[node->op];
    size_t bytes = wnn_kernel_scratch(kernel, node, parallel.threads);
    struct kernel_call call = {node, in, out, bytes ? malloc(bytes) : NULL, &parallel};
    REQUIRE(!bytes || call.scratch);
    kernel->run(&call);
    free(call.scratch);
}

// What has been computed so far, operand by operand.
struct values {
    const struct operand *operand[OPERANDS];
    struct tensor tensor[OPERANDS];
    unsigned count;
};

static struct tensor value_of(struct values *values, const struct operand *operand)
{
    for (unsigned i = 0; i < values->count; i++)
        if (values->operand[i] == operand)
            return values->tensor[i];
    struct tensor in[3], made = make_tensor(operand, 0);
    if (operand->constant)
        memcpy(made.data, operand->constant->data, operand->constant->bytes);
    else if (!operand->producer)
        fill(&made, 7 + values->count);
    for (unsigned i = 0; operand->producer && i < operand->producer->in_count; i++)
        in[i] = value_of(values, operand->producer->in[i]);
    if (operand->producer)
        run(operand->producer, in, &made);
    REQUIRE(values->count < OPERANDS);
    values->operand[values->count] = operand;
    values->tensor[values->count++] = made;
    return made;
}

static float float_at(const struct tensor *tensor, size_t i)
{
    return tensor->type == WNNDataType_Float16 ? wnn_half_to_float(((const uint16_t *)tensor->data)[i])
                                               : ((const float *)tensor->data)[i];
}

static void require_same(const struct tensor *got, const struct tensor *want)
{
    if (!wnn_dtype_is_float(want->type)) {
        REQUIRE(memcmp(got->data, want->data, want->count * size_of(want)) == 0);
        return;
    }
    for (size_t i = 0; i < want->count; i++) {
        float a = float_at(got, i), b = float_at(want, i);
        REQUIRE(isnan(b) ? isnan(a) : bits_of(a) == bits_of(b));
    }
}

static unsigned most_joined(const struct chain *chain, const struct tensor *in)
{
    unsigned most = 0;
    for (unsigned last = 0; last < chain->attrs.count; last++) {
        struct joined_steps joined;
        unsigned count = 0;
        if (wnn_cpu_join_steps(&chain->attrs, in, chain->node.in_count, last, &joined))
            for (uint32_t steps = joined.steps; steps; steps &= steps - 1)
                count++;
        most = count > most ? count : most;
    }
    return most;
}

static void test_count(const struct recipe *recipe, uint32_t count)
{
    struct values values = {.count = 0};
    struct chain chain;
    const uint32_t shape[] = {count};
    WNNOperand result = recipe->record(input(type, shape, 1), input(type, shape, 1));
    REQUIRE(result);
    make_chain(&chain, wnn_operand(result));
    struct tensor want = value_of(&values, wnn_operand(result)), in[WNN_ELEMENTWISE_INPUTS];
    for (unsigned i = 0; i < chain.node.in_count; i++)
        in[i] = value_of(&values, chain.in[i]);
    if (count > 1) // else all are numbers
        REQUIRE_EQUAL_INT(most_joined(&chain, in), recipe->joined);
    struct tensor out = make_tensor(chain.out[0], 64);
    run(&chain.node, in, &out);
    require_same(&out, &want);
    for (size_t i = 0; i < 64; i++)
        REQUIRE(((unsigned char *)out.data)[out.count * size_of(&out) + i] == GUARD);
    for (unsigned i = 0; i < chain.node.in_count; i++) { // in the place of an input
        if (in[i].count != out.count || chain.in[i]->constant)
            continue;
        struct tensor kept = in[i];
        memcpy(out.data, kept.data, out.count * size_of(&out));
        in[i].data = out.data;
        run(&chain.node, in, &out);
        require_same(&out, &want);
        in[i] = kept;
    }
    free(out.data);
    for (unsigned i = 0; i < values.count; i++)
        free(values.tensor[i].data);
}

static void test_chain(const struct recipe *recipe, WNNDataType of)
{
    type = of;
    for (uint32_t count = 1; count <= MOST; count = count * 3 + 1)
        test_count(recipe, count);
    if (type == WNNDataType_Float16)
        test_count(recipe, TABLED);
}

// A result that two steps make: one of them in the place of what the joined steps read.
static void test_two_outputs(void)
{
    type = WNNDataType_Float32;
    for (int aliased = 0; aliased < 2; aliased++) {
        const uint32_t shape[] = {1000};
        struct values values = {.count = 0};
        struct chain chain;
        WNNOperand x = input(type, shape, 1), y = input(type, shape, 1), s = silu(x), first = plus(x, y);
        WNNOperand result = times(s, first);
        make_chain(&chain, wnn_operand(result));
        struct tensor want = value_of(&values, wnn_operand(result)),
                      want_first = value_of(&values, wnn_operand(first)), in[WNN_ELEMENTWISE_INPUTS];
        for (unsigned i = 0; i < chain.node.in_count; i++)
            in[i] = value_of(&values, chain.in[i]);
        add_output(&chain, wnn_operand(first));
        struct tensor out[2] = {make_tensor(chain.out[0], 0), make_tensor(chain.out[1], 0)};
        if (aliased) {
            memcpy(out[1].data, in[0].data, in[0].count * sizeof(float));
            in[0].data = out[1].data;
        }
        run(&chain.node, in, out);
        require_same(&out[0], &want);
        require_same(&out[1], &want_first);
        free(out[0].data);
        free(out[1].data);
        for (unsigned i = 0; i < values.count; i++)
            free(values.tensor[i].data);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// float16 as it lies in memory, and as float32
// ---------------------------------------------------------------------------------------------------------------

static uint32_t state;
static WNNOperand three, tenth, seven; // numbers, the last of int8

static uint32_t below(uint32_t most)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % most;
}

// An operator with a loop of float16, or with none: of powers, of another steepness, of two types.
static WNNOperand record_any(WNNOperand x, WNNOperand y)
{
    WNNClampOptions bounds = WNN_CLAMP_OPTIONS_INIT;
    WNNSoftplusOptions steep = WNN_SOFTPLUS_OPTIONS_INIT;
    bounds.minValue = wnnNumberFloat64(-3);
    bounds.maxValue = wnnNumberFloat64(2.5);
    steep.steepness = 2;
    switch (below(21)) {
    case 0:
        return plus(x, y);
    case 1:
        return times(x, y);
    case 2:
        return wnnGraphBuilderSub(builder, x, y, NULL);
    case 3:
        return wnnGraphBuilderMax(builder, x, y, NULL);
    case 4:
        return wnnGraphBuilderMin(builder, x, y, NULL);
    case 5:
        return wnnGraphBuilderDiv(builder, x, y, NULL);
    case 6:
        return wnnGraphBuilderPrelu(builder, x, y, NULL);
    case 7:
        return wnnGraphBuilderClamp(builder, x, &bounds);
    case 8:
        return wnnGraphBuilderRelu(builder, x, NULL);
    case 9:
        return wnnGraphBuilderAbs(builder, x, NULL);
    case 10:
        return wnnGraphBuilderNeg(builder, x, NULL);
    case 11:
        return wnnGraphBuilderHardSwish(builder, x, NULL);
    case 12:
        return wnnGraphBuilderHardSigmoid(builder, x, NULL);
    case 13:
        return wnnGraphBuilderTanh(builder, x, NULL);
    case 14:
        return silu(x);
    case 15:
        return wnnGraphBuilderSoftplus(builder, x, &steep);
    case 16:
        return wnnGraphBuilderSqrt(builder, wnnGraphBuilderAbs(builder, x, NULL), NULL);
    case 17:
        return power(x, three);
    case 18:
        x = wnnGraphBuilderCast(builder, x, WNNDataType_Float32, NULL);
        return wnnGraphBuilderCast(builder, wnnGraphBuilderFloor(builder, x, NULL), type, NULL);
    case 19:
        x = wnnGraphBuilderQuantizeLinear(builder, x, tenth, seven, NULL);
        return wnnGraphBuilderDequantizeLinear(builder, x, tenth, seven, NULL);
    default:
        return wnnGraphBuilderWhere(builder, wnnGraphBuilderGreater(builder, x, y, NULL), x, y, NULL);
    }
}

static WNNOperand vector_of_one(WNNDataType of, const void *bytes)
{
    const uint32_t one[] = {1};
    WNNOperandDescriptor descriptor = {.dataType = of, .shape = {one, 1}};
    return wnnGraphBuilderConstant(builder, &descriptor, bytes, wnn_dtype_bits(of) / 8);
}

// A chain of such, of which some results are outputs too, and one perhaps takes the place of an input.
static void test_form(uint32_t seed)
{
    enum {
        VALUES = 9,
        OUTPUTS = 3
    };
    type = WNNDataType_Float16;
    state = seed;
    three = number(3);
    tenth = vector_of_one(WNNDataType_Float16, &(uint16_t){0x2E66});
    seven = vector_of_one(WNNDataType_Int8, &(int8_t){7});
    struct values values = {.count = 0};
    struct chain chain;
    const uint32_t shape[] = {1 + below(MOST)}, one[] = {1};
    WNNOperand made[VALUES] = {input(type, shape, 1), input(type, below(4) ? shape : one, 1)}, last;
    for (unsigned i = 2; i < VALUES; i++) {
        unsigned x = below(2) ? i - 1 : below(i);
        made[i] = record_any(made[x == 1 ? 0 : x], made[below(i)]);
        REQUIRE(made[i]);
    }
    last = plus(plus(made[VALUES - 1], made[0]), times(made[VALUES - 2], made[VALUES - 3]));
    make_chain(&chain, wnn_operand(last));
    struct tensor in[WNN_ELEMENTWISE_INPUTS], want[OUTPUTS], out[OUTPUTS];
    for (unsigned i = 0; i < chain.node.in_count; i++)
        in[i] = value_of(&values, chain.in[i]);
    for (unsigned i = 0; i + 1 < chain.attrs.count && chain.node.out_count < OUTPUTS; i++)
        if (below(4) == 0)
            add_output(&chain, chain.results[i]);
    for (unsigned i = 0; i < chain.node.out_count; i++) {
        want[i] = value_of(&values, chain.out[i]);
        out[i] = make_tensor(chain.out[i], 0);
    }
    for (unsigned i = below(3); i < chain.node.in_count; i++)
        if (in[i].count == shape[0] && wnn_cpu_elementwise.may_alias(&chain.node, i)) {
            memcpy(out[0].data, in[i].data, out[0].count * size_of(out));
            in[i].data = out[0].data;
            break;
        }
    run(&chain.node, in, out);
    for (unsigned i = 0; i < chain.node.out_count; i++) {
        require_same(&out[i], &want[i]);
        free(out[i].data);
    }
    for (unsigned i = 0; i < values.count; i++)
        free(values.tensor[i].data);
}

static void test_forms(uint32_t first, uint32_t count)
{
    for (uint32_t seed = first; seed < first + count; seed++)
        test_form(seed);
}

enum {
    LONGEST = 300 // elements of what is computed in both ways
};

// A loop of float16 against that of float32 and a rounding: of so many elements, at an odd place.
static void compare_loops(const struct chunk_step *step, const uint16_t *const in[3], size_t count,
                          bool stream)
{
    static float floats[3][LONGEST];
    static _Alignas(64) uint16_t got[LONGEST + 2], want[LONGEST];
    const void *from[3] = {floats[0], floats[1], floats[2]};
    REQUIRE(count <= LONGEST);
    for (unsigned i = 0; i < 3 && in[i]; i++)
        wnn_half_to_float_array(in[i], floats[i], count);
    step->run(step, from, floats[2], count);
    wnn_half_from_float_array(floats[2], want, count);
    got[count + 1] = GUARD;
    REQUIRE(step->halves(step, in, got + 1, count, stream));
    REQUIRE_EQUAL_INT(got[count + 1], GUARD);
    for (size_t i = 0; i < count; i++) {
        bool none = isnan(wnn_half_to_float(want[i]));
        REQUIRE(none ? isnan(wnn_half_to_float(got[i + 1])) : got[i + 1] == want[i]);
    }
}

// All float16, and each with others.
static void test_loops_of_halves(void)
{
    static uint16_t x[LONGEST], y[LONGEST];
    WNNClampOptions bounds = WNN_CLAMP_OPTIONS_INIT;
    WNNLeakyReluOptions leaky = WNN_LEAKY_RELU_OPTIONS_INIT;
    WNNLinearOptions linear = WNN_LINEAR_OPTIONS_INIT;
    const WNNHardSigmoidOptions line = WNN_HARD_SIGMOID_OPTIONS_INIT;
    bounds.minValue = wnnNumberFloat64(-3);
    bounds.maxValue = wnnNumberFloat64(2.5);
    leaky.alpha = 0.01f;
    linear.alpha = 0.3f;
    linear.beta = -1.7f;
    const struct {
        enum op op;
        const void *attrs;
    } unary[] = {{WNN_OP_abs, NULL},       {WNN_OP_clamp, &bounds},    {WNN_OP_hardSigmoid, &line},
                 {WNN_OP_hardSwish, NULL}, {WNN_OP_leakyRelu, &leaky}, {WNN_OP_linear, &linear},
                 {WNN_OP_neg, NULL},       {WNN_OP_reciprocal, NULL},  {WNN_OP_relu, NULL}};
    static const enum op binary[] = {WNN_OP_add, WNN_OP_div,   WNN_OP_max, WNN_OP_min,
                                     WNN_OP_mul, WNN_OP_prelu, WNN_OP_sub};
    const uint16_t *const one[3] = {x}, *const two[3] = {x, y};
    state = 1;
    for (uint32_t first = 0, count = 1; first < HALVES; first += count) {
        count = 1 + below(LONGEST);
        for (uint32_t i = 0; i < count; i++) {
            x[i] = (uint16_t)(first + i);
            y[i] = (uint16_t)below(HALVES);
        }
        for (size_t i = 0; i < sizeof unary / sizeof unary[0]; i++) {
            struct chunk_step step = wnn_cpu_unary_step(unary[i].op, unary[i].attrs, WNNDataType_Float16);
            REQUIRE(step.halves);
            if (step.halves(&step, one, NULL, 0, false))
                compare_loops(&step, one, count, below(2));
        }
        for (size_t i = 0; i < sizeof binary / sizeof binary[0]; i++) {
            struct chunk_step step = wnn_cpu_binary_step(binary[i], WNNDataType_Float16);
            REQUIRE(step.halves);
            if (step.halves(&step, two, NULL, 0, false))
                compare_loops(&step, two, count, below(2));
        }
    }
    wnn_nt_fence();
}

// ---------------------------------------------------------------------------------------------------------------
// Tables
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand gelu_of_sine(WNNOperand x)
{
    WNNOperand y = wnnGraphBuilderGelu(builder, wnnGraphBuilderSin(builder, x, NULL), NULL);
    return plus(times(y, number(0.75)), number(-1));
}

static WNNOperand eight_cheap(WNNOperand x)
{
    for (int i = 0; i < 2; i++)
        x = plus(wnnGraphBuilderAbs(builder, plus(times(x, number(0.75)), number(-1)), NULL), x);
    return x;
}

static bool is_slow(const struct chain *chain)
{
    bool slow = chain->attrs.count > 1;
    for (unsigned i = 0; i < chain->attrs.count; i++)
        slow |= wnn_cpu_is_slow_unary((enum op)chain->steps[i].op, wnn_cpu_this_processor());
    return slow;
}

// Computes x, of so many elements, all of float16 in turn; `tabled`: by a table if that is faster.
static struct tensor compute_halves(WNNOperand (*record)(WNNOperand x), uint32_t count, bool tabled)
{
    struct values values = {.count = 0};
    struct chain chain;
    const uint32_t shape[] = {count};
    WNNOperand result = record(input(type, shape, 1));
    make_chain(&chain, wnn_operand(result));
    const struct node *node = chain.attrs.count > 1 ? &chain.node : wnn_operand(result)->producer;
    struct tensor in[WNN_ELEMENTWISE_INPUTS] = {{0}}, out = make_tensor(node->out[0], 64);
    const struct kernel *kernel = wnn_cpu_kernels[node->op];
    REQUIRE_EQUAL_INT(kernel->scratch(node, 1) > 0,
                      is_slow(&chain) && (tabled || WNN_TABLE_ELEMENTS < HALVES));
    for (unsigned i = 0; i < node->in_count; i++) {
        in[i] = value_of(&values, node->in[i]);
        for (uint32_t j = 0; j < count && in[i].count == count; j++)
            ((uint16_t *)in[i].data)[j] = (uint16_t)j;
    }
    run(node, in, &out);
    for (size_t i = 0; i < 64; i++)
        REQUIRE(((unsigned char *)out.data)[out.count * sizeof(uint16_t) + i] == GUARD);
    for (unsigned i = 0; i < values.count; i++)
        free(values.tensor[i].data);
    return out;
}

#define UNARY(Name)                                                                                          \
    static WNNOperand record_##Name(WNNOperand x)                                                            \
    {                                                                                                        \
        return wnnGraphBuilder##Name(builder, x, NULL);                                                      \
    }
UNARY(Cos)
UNARY(Elu)
UNARY(Erf)
UNARY(Gelu)
UNARY(Log)
UNARY(Sigmoid)
UNARY(Sin)
UNARY(Softplus)
UNARY(Tan)
UNARY(Tanh)
#undef UNARY

static void test_table(WNNOperand (*record)(WNNOperand x))
{
    type = WNNDataType_Float16;
    struct tensor all = compute_halves(record, HALVES, false), out = compute_halves(record, TABLED, true);
    for (size_t i = 0; i < out.count; i++)
        REQUIRE(((uint16_t *)out.data)[i] == ((uint16_t *)all.data)[i % HALVES]);
    free(all.data);
    free(out.data);
}

static void test_powers(void)
{
    static const float exponents[] = {2, 3};
    type = WNNDataType_Float32;
    for (int e = 0; e < 2; e++) {
        const uint32_t shape[] = {MOST}, one[] = {1};
        WNNOperand result = power(input(type, shape, 1), input(type, one, 1));
        const struct node *node = wnn_operand(result)->producer;
        struct tensor in[2] = {make_tensor(node->in[0], 0), make_tensor(node->in[1], 0)},
                      out = make_tensor(node->out[0], 0);
        fill(&in[0], 3);
        *(float *)in[1].data = exponents[e];
        run(node, in, &out);
        for (size_t i = 0; i < out.count; i++) {
            float x = ((float *)in[0].data)[i], got = ((float *)out.data)[i];
            float want = (float)pow((double)x, (double)exponents[e]);
            REQUIRE(isnan(want) ? isnan(got) : bits_of(got) == bits_of(want));
        }
        free(in[0].data);
        free(in[1].data);
        free(out.data);
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin_kernels();
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        CASE_AS(case_name("%s in float32", recipes[i].name), test_chain(&recipes[i], WNNDataType_Float32));
        CASE_AS(case_name("%s in float16", recipes[i].name), test_chain(&recipes[i], WNNDataType_Float16));
    }
#define TABLE(Name) CASE_AS(case_name("table of " #Name), test_table(record_##Name))
    TABLE(Cos);
    TABLE(Elu);
    TABLE(Erf);
    TABLE(Gelu);
    TABLE(Log);
    TABLE(Sigmoid);
    TABLE(Sin);
    TABLE(Softplus);
    TABLE(Tan);
    TABLE(Tanh);
    CASE_AS(case_name("table of gelu_of_sine"), test_table(gelu_of_sine));
    CASE_AS(case_name("table of eight_cheap"), test_table(eight_cheap));
    for (uint32_t seed = 1; seed <= SEEDS; seed += SEEDS / 10)
        CASE_AS(case_name("forms of float16, from %u on", seed), test_forms(seed, SEEDS / 10));
    CASE(test_loops_of_halves());
    CASE(test_two_outputs());
    CASE(test_powers());
    end_kernels();
    return cases_end();
}
