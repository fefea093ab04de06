// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the CPU backend that go along rows and columns, where vectors end, with numbers that are rare:
// argMin, argMax, reduceMin and reduceMax against a plain loop, softmax and layerNormalization against
// double, how often a long softmax asks for the time, and the roundings of hardSwish.

#include "conformance/unit/kernel_fixture.h"

#include <math.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t state = 7;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(state >> 8) * below >> 24);
}

static const struct node *producer(WNNOperand result)
{
    REQUIRE(result);
    return wnn_operand(result)->producer;
}

static void run(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    struct parallel parallel = in_turn(3);
    struct kernel_call call = {node, in, out, NULL, &parallel};
    wnn_cpu_kernels[node->op]->run(&call);
}

// ---------------------------------------------------------------------------------------------------------------
// argMin and argMax
// ---------------------------------------------------------------------------------------------------------------

// Numbers are drawn from the first `kinds` of those below; of integers, the least and the greatest are among
// the first.
static void fill(const struct tensor *tensor, uint32_t kinds)
{
    static const float floats[] = {NAN, -INFINITY, -0.0f, 0.0f, INFINITY, 0x1p-24f, -65504, 65504};
    size_t size = wnn_dtype_bits(tensor->type) / 8;
    for (size_t i = 0; i < tensor->count; i++) {
        uint32_t kind = draw(kinds);
        float value = kind < 8 ? floats[kind] : (float)draw(2000) - 1000;
        uint16_t half = wnn_half_from_float(value);
        uint64_t bits = (uint64_t)draw(256) << 56 | draw(256);
        uint64_t least = (uint64_t)1 << (8 * size - 1), word = kind == 0   ? 0
                                                               : kind == 1 ? least
                                                               : kind == 2 ? UINT64_MAX
                                                               : kind == 3 ? least - 1
                                                                           : bits >> (64 - 8 * size);
        memcpy((char *)tensor->data + i * size,
               tensor->type == WNNDataType_Float32   ? (void *)&value
               : tensor->type == WNNDataType_Float16 ? (void *)&half
                                                     : (void *)&word,
               size);
    }
}

struct number {
    bool exists; // is no NaN
    double real;
    uint64_t whole; // in the order of unsigned numbers
};

static struct number number(const struct tensor *tensor, size_t i)
{
    size_t size = wnn_dtype_bits(tensor->type) / 8;
    struct number n = {.exists = true};
    if (wnn_dtype_is_float(tensor->type)) {
        n.real = (double)(tensor->type == WNNDataType_Float32
                              ? ((const float *)tensor->data)[i]
                              : wnn_half_to_float(((const uint16_t *)tensor->data)[i]));
        n.exists = !isnan(n.real);
        return n;
    }
    memcpy(&n.whole, (const char *)tensor->data + i * size, size); // as little-endian processors have it
    bool is_unsigned = tensor->type == WNNDataType_Uint8 || tensor->type == WNNDataType_Uint32 ||
                       tensor->type == WNNDataType_Uint64;
    n.whole ^= is_unsigned ? 0 : (uint64_t)1 << (8 * size - 1);
    return n;
}

static bool above(struct number a, struct number b)
{
    return a.real > b.real || a.whole > b.whole;
}

// `axes` has bit d set if dimension d is reduced.
static int64_t plain_place(const struct tensor *in, uint32_t axes, const size_t kept[3], bool min, bool last)
{
    const uint32_t *d = in->shape.dim;
    struct number best = {0};
    int64_t place = -1, position = 0;
    for (size_t i = 0; i < in->count; i++) {
        size_t index[3] = {i / d[2] / d[1], i / d[2] % d[1], i % d[2]};
        bool here = true;
        for (unsigned a = 0; a < 3; a++)
            here &= (axes >> a & 1) || index[a] == kept[a];
        if (!here)
            continue;
        struct number x = number(in, i);
        bool better = min ? above(best, x) : above(x, best), worse = min ? above(x, best) : above(best, x);
        if (x.exists && (place < 0 || better || (last && !worse))) {
            place = position;
            best = x;
        }
        position++;
    }
    return place < 0 ? 0 : place;
}

static void check_places(const uint32_t shape[3], uint32_t axes, WNNDataType type)
{
    for (int form = 0; form < 4; form++) {
        uint32_t list[3], count = 0;
        for (uint32_t a = 0; a < 3; a++) {
            if (axes >> a & 1)
                list[count++] = a;
        }
        bool min = form & 1, last = form & 2;
        WNNArgMinMaxAxesOptions options = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
        options.axes = (WNNUint32List){list, count};
        options.selectLastIndex = last;
        options.keepDimensions = true;
        const struct node *node =
            producer(min ? wnnGraphBuilderArgMinAxes(builder, input(type, shape, 3), &options)
                         : wnnGraphBuilderArgMaxAxes(builder, input(type, shape, 3), &options));
        struct tensor in = make_tensor(node->in[0], 0), out = make_tensor(node->out[0], 0);
        for (uint32_t kinds = 1; kinds <= 16; kinds += kinds < 4 ? 1 : 6) {
            fill(&in, kinds);
            run(node, &in, &out);
            for (size_t i = 0; i < out.count; i++) {
                const uint32_t *d = out.shape.dim;
                size_t kept[3] = {i / d[2] / d[1], i / d[2] % d[1], i % d[2]};
                REQUIRE_EQUAL_INT(((int64_t *)out.data)[i], plain_place(&in, axes, kept, min, last));
            }
        }
        free(in.data);
        free(out.data);
    }
}

static void test_places(void)
{
    static const struct {
        uint32_t shape[3], axes;
    } subjects[] = {
        {{1, 3, 257}, 2}, {{2, 300, 5}, 2}, {{1, 3, 1}, 2},     {{2, 3, 9}, 4},
        {{1, 2, 777}, 4}, {{3, 7, 150}, 5}, {{1, 1, 10000}, 4}, {{5, 3, 4}, 7},
    };
    for (int type = 0; type < WNN_DATA_TYPE_COUNT; type++) {
        if (wnn_dtype_bits((WNNDataType)type) < 8)
            continue;
        for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++)
            check_places(subjects[s].shape, subjects[s].axes, (WNNDataType)type);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// reduceMin and reduceMax along rows
// ---------------------------------------------------------------------------------------------------------------

// NaN if there is one.
static void check_extremes(const uint32_t shape[3], WNNDataType type, bool min)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    uint32_t axis = 2;
    options.axes = (WNNUint32List){&axis, 1};
    WNNOperand x = input(type, shape, 3);
    const struct node *node = producer(min ? wnnGraphBuilderReduceMin(builder, x, &options)
                                           : wnnGraphBuilderReduceMax(builder, x, &options));
    struct tensor in = make_tensor(node->in[0], 0), out = make_tensor(node->out[0], 0);
    for (uint32_t kinds = 1; kinds <= 4000; kinds = kinds * 4 + 1) {
        fill(&in, kinds);
        run(node, &in, &out);
        for (size_t i = 0; i < out.count; i++) {
            struct number best = number(&in, i * shape[2]), got = number(&out, i);
            for (size_t j = 1; j < shape[2] && best.exists; j++) {
                struct number next = number(&in, i * shape[2] + j);
                if (!next.exists || (min ? above(best, next) : above(next, best)))
                    best = next;
            }
            REQUIRE(best.exists ? got.exists && !above(best, got) && !above(got, best) : !got.exists);
        }
    }
    free(in.data);
    free(out.data);
}

static void test_extremes(void)
{
    static const uint32_t lengths[] = {2, 31, 64, 65, 300, 511, 512, 777, 1024, 1500};
    for (int type = 0; type < WNN_DATA_TYPE_COUNT; type++) {
        for (size_t i = 0; wnn_dtype_bits((WNNDataType)type) >= 8 && i < sizeof lengths / sizeof *lengths;
             i++) {
            check_extremes((uint32_t[]){1, 5, lengths[i]}, (WNNDataType)type, false);
            check_extremes((uint32_t[]){1, 5, lengths[i]}, (WNNDataType)type, true);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// softmax of float32: a few units in the last place, whether the greatest number is near 0 or not
// ---------------------------------------------------------------------------------------------------------------

static void check_softmax_floats(const uint32_t shape[3], uint32_t axis, float spread, float middle,
                                 float one, bool in_place)
{
    const struct node *node =
        producer(wnnGraphBuilderSoftmax(builder, input(WNNDataType_Float32, shape, 3), axis, NULL));
    struct tensor in = make_tensor(node->in[0], 0), out = make_tensor(node->out[0], 0);
    float *x = in.data, *y = out.data;
    for (size_t i = 0; i < in.count; i++)
        x[i] = ((float)draw(1 << 20) * 0x1p-19f - 1) * spread + middle;
    if (one != 0)
        x[draw((uint32_t)in.count)] = one;
    if (in_place)
        memcpy(y, x, in.count * sizeof *x);
    run(node, in_place ? &out : &in, &out);
    size_t step = 1, rows = shape[axis];
    for (uint32_t d = axis + 1; d < 3; d++)
        step *= shape[d];
    double *powers = malloc(rows * sizeof *powers);
    REQUIRE(powers);
    for (size_t column = 0; column < in.count / rows; column++) {
        size_t first = column / step * rows * step + column % step;
        volatile double most = -INFINITY;
        double sum = 0;
        for (size_t row = 0; row < rows; row++)
            most = fmax(most, (double)x[first + row * step]);
        for (size_t row = 0; row < rows; row++)
            sum += powers[row] = exp((double)x[first + row * step] - most);
        for (size_t row = 0; row < rows; row++) {
            double expected = powers[row] / sum, got = (double)y[first + row * step];
            REQUIRE(isnan(expected) ? isnan(got) : fabs(got - expected) <= 0x1p-21 * expected + 0x1.8p-149);
        }
    }
    free(powers);
    free(in.data);
    free(out.data);
}

static void test_softmax_floats(bool in_place)
{
    static const float middles[] = {0, -12, 44, 60, 177, -200, 5000};
    static const uint32_t lengths[] = {3, 16, 33, 64, 100, 1024, 20000, 20011};
    for (size_t m = 0; m < sizeof middles / sizeof *middles; m++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            uint32_t few = lengths[i] > 5000 ? 2 : 5;
            check_softmax_floats((uint32_t[]){1, few, lengths[i]}, 2, 0.4f, middles[m], 0, in_place);
            check_softmax_floats((uint32_t[]){1, few, lengths[i]}, 2, 90, middles[m], 0, in_place);
            check_softmax_floats((uint32_t[]){few, lengths[i], 1}, 1, 1, middles[m], NAN, in_place);
            check_softmax_floats((uint32_t[]){1, few, lengths[i]}, 2, 1, middles[m], -INFINITY, in_place);
            check_softmax_floats((uint32_t[]){1, few, lengths[i]}, 2, 1, middles[m], INFINITY, in_place);
            check_softmax_floats((uint32_t[]){2, 37, few * 19}, 1, 1, middles[m], i % 2 ? 100 : 0, in_place);
        }
        // Columns that are longer than a tile of them.
        static const float ones[] = {0, 100, 144, NAN, INFINITY, -INFINITY};
        for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
            check_softmax_floats((uint32_t[]){2, 700, 40}, 1, 1, middles[m], ones[i], in_place);
            check_softmax_floats((uint32_t[]){1, 321, 300}, 1, 90, middles[m], ones[i], in_place);
        }
    }
    check_softmax_floats((uint32_t[]){1, 64, 192}, 1, 100, 0, 0, in_place);
    check_softmax_floats((uint32_t[]){1, 2, 64}, 2, 1, -INFINITY, 0, in_place);
}

// ---------------------------------------------------------------------------------------------------------------
// layerNormalization and instanceNormalization of float32: rounded once, rows of any length
// ---------------------------------------------------------------------------------------------------------------

static void check_layer(uint32_t rows, uint32_t length, float middle, bool scaled, bool biased)
{
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    uint32_t axis = 1;
    options.axes = (WNNUint32List){&axis, 1};
    if (scaled)
        options.scale = input(WNNDataType_Float32, &length, 1);
    if (biased)
        options.bias = input(WNNDataType_Float32, &length, 1);
    const struct node *node = producer(wnnGraphBuilderLayerNormalization(
        builder, input(WNNDataType_Float32, (uint32_t[]){rows, length}, 2), &options));
    struct tensor in[3] = {make_tensor(node->in[0], 0)}, out = make_tensor(node->out[0], 0);
    for (unsigned i = 0; i < 3; i++) {
        if (i > 0 && !(i == 1 ? scaled : biased))
            continue;
        if (i > 0)
            in[i] = make_tensor(node->in[i], 0);
        for (size_t j = 0; j < in[i].count; j++)
            ((float *)in[i].data)[j] = (float)draw(1 << 20) * 0x1p-19f - 1 + (i == 0 ? middle : 0);
    }
    run(node, in, &out);
    for (size_t row = 0; row < rows; row++) {
        const float *x = (const float *)in[0].data + row * length,
                    *y = (const float *)out.data + row * length;
        double mean = 0, squares = 0;
        for (size_t j = 0; j < length; j++)
            mean += (double)x[j] / length;
        for (size_t j = 0; j < length; j++)
            squares += ((double)x[j] - mean) * ((double)x[j] - mean);
        for (size_t j = 0; j < length; j++) {
            double d = ((double)x[j] - mean) / sqrt(squares / length + options.epsilon);
            double expected = d * (scaled ? (double)((float *)in[1].data)[j] : 1) +
                              (biased ? (double)((float *)in[2].data)[j] : 0);
            REQUIRE(fabs((double)y[j] - expected) <= 0x1.1p-24 * fabs(expected) + 1e-11);
        }
    }
    for (unsigned i = 0; i < 3; i++)
        free(in[i].data);
    free(out.data);
}

static void test_layers(void)
{
    static const uint32_t lengths[] = {2, 7, 16, 31, 32, 64, 100, 768, 1000, 4096, 5001};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (unsigned form = 0; form < 4; form++)
            check_layer(lengths[i] > 1000 ? 2 : 19, lengths[i], i % 2 ? 0 : 3, form & 1, form & 2);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// softmax of float16: within one unit in the last place
// ---------------------------------------------------------------------------------------------------------------

// Numbers are no farther than `spread` from `middle`, but for one of them, if it is not 0.
static void check_softmax(const uint32_t shape[3], uint32_t axis, float spread, float middle, float one)
{
    const struct node *node =
        producer(wnnGraphBuilderSoftmax(builder, input(WNNDataType_Float16, shape, 3), axis, NULL));
    struct tensor in = make_tensor(node->in[0], 0), out = make_tensor(node->out[0], 0);
    uint16_t *x = in.data, *y = out.data;
    for (size_t i = 0; i < in.count; i++)
        x[i] = wnn_half_from_float(((float)draw(1 << 20) * 0x1p-19f - 1) * spread + middle);
    if (one != 0)
        x[draw((uint32_t)in.count)] = wnn_half_from_float(one);
    run(node, &in, &out);
    size_t step = 1, rows = shape[axis];
    for (uint32_t d = axis + 1; d < 3; d++)
        step *= shape[d];
    double *powers = malloc(rows * sizeof *powers);
    REQUIRE(powers);
    for (size_t column = 0; column < in.count / rows; column++) {
        size_t first = column / step * rows * step + column % step;
        volatile double most = -INFINITY; // gcc 12 for AArch64 fails to make vectors of the loop
        double sum = 0;
        for (size_t row = 0; row < rows; row++)
            most = fmax(most, (double)wnn_half_to_float(x[first + row * step]));
        for (size_t row = 0; row < rows; row++)
            sum += powers[row] = exp((double)wnn_half_to_float(x[first + row * step]) - most);
        for (size_t row = 0, i = first; row < rows; row++, i += step) {
            double expected = powers[row] / sum;
            if (isnan(expected)) {
                REQUIRE(isnan(wnn_half_to_float(y[i])));
                continue;
            }
            double unit = fmax(0x1p-24, ldexp(1, ilogb(fmax(expected, 0x1p-30)) - 10));
            REQUIRE(fabs((double)wnn_half_to_float(y[i]) - expected) <= 0.7 * unit);
        }
    }
    free(powers);
    free(in.data);
    free(out.data);
}

static void test_softmax(void)
{
    static const struct {
        uint32_t shape[3], axis;
    } subjects[] = {
        {{1, 7, 300}, 2}, {{1, 40, 21}, 2}, {{9, 30, 3}, 2},    {{1, 64, 70}, 1},
        {{2, 300, 5}, 1}, {{1, 1, 600}, 0}, {{1, 330, 700}, 1}, {{2, 900, 37}, 1},
    };
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++) {
        static const float numbers[][3] = {
            {1, 0, 0},     {12, 0, 0},        {65504, 0, 0},     {12, 20, 0},      {4, -30, 0},
            {2, 32, 0},    {1, -1000, 0},     {9, 0, NAN},       {9, 0, INFINITY}, {9, 0, 50},
            {9, 0, 65504}, {9, 0, -INFINITY}, {0, -INFINITY, 0}, {5, -40, -1},     {0, -INFINITY, -60},
            {9, 0, 93},    {9, 0, 140},       {9, 0, 178},       {9, 0, -110},     {1, 88.5f, 0},
            {1, 176, 0},
        };
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
            check_softmax(subjects[s].shape, subjects[s].axis, numbers[i][0], numbers[i][1], numbers[i][2]);
    }
}

// Columns that are longer than a tile, one of them far from 0, cut for some threads.
static void test_threads(WNNDataType type)
{
    enum {
        ROWS = 700,
        COLUMNS = 600
    };
    const struct node *node =
        producer(wnnGraphBuilderSoftmax(builder, input(type, (uint32_t[]){ROWS, COLUMNS}, 2), 0, NULL));
    struct tensor in = make_tensor(node->in[0], 0), first = make_tensor(node->out[0], 0);
    float *floats = malloc(in.count * sizeof *floats);
    REQUIRE(floats);
    for (size_t i = 0; i < in.count; i++)
        floats[i] = i == 123 ? 300 : ((float)draw(1 << 20) * 0x1p-19f - 1) * 9;
    if (type == WNNDataType_Float16)
        wnn_half_from_float_array(floats, in.data, in.count);
    else
        memcpy(in.data, floats, in.count * sizeof *floats);
    for (unsigned threads = 1; threads <= 16; threads++) {
        struct parallel parallel = in_turn(threads);
        struct tensor out = threads == 1 ? first : make_tensor(node->out[0], 0);
        wnn_cpu_kernels[node->op]->run(&(struct kernel_call){node, &in, &out, NULL, &parallel});
        REQUIRE(memcmp(out.data, first.data, out.count * size_of(&out)) == 0);
        if (threads > 1)
            free(out.data);
    }
    free(first.data);
    free(in.data);
    free(floats);
}

static size_t clock_readings;

// In place of the C library's. A sanitizer does not see what a system call writes.
int clock_gettime(clockid_t clock, struct timespec *now)
{
    clock_readings++;
    *now = (struct timespec){0};
    return (int)syscall(SYS_clock_gettime, clock, now);
}

// A long row far from 0 with a time limit: whether that has passed is asked now and then, in every pass over
// the row, but not so often that asking takes long.
static void test_limit(WNNDataType type)
{
    const uint32_t length = 1 << 20;
    const struct node *node = producer(wnnGraphBuilderSoftmax(builder, input(type, &length, 1), 0, NULL));
    struct tensor in = make_tensor(node->in[0], 0), out = make_tensor(node->out[0], 0);
    struct interrupt interrupt;
    struct parallel parallel = in_turn(1);
    for (size_t i = 0; i < length; i++) {
        if (type == WNNDataType_Float16)
            ((uint16_t *)in.data)[i] = wnn_half_from_float(1000);
        else
            ((float *)in.data)[i] = 1000;
    }
    wnn_interrupt_init(&interrupt, UINT64_MAX);
    parallel.interrupt = &interrupt;
    clock_readings = 0;
    wnn_cpu_kernels[node->op]->run(&(struct kernel_call){node, &in, &out, NULL, &parallel});
    REQUIRE(clock_readings >= 3 * length / 4096 && clock_readings <= length / 512);
    free(in.data);
    free(out.data);
}

// Each step is rounded once.
static void test_hard_swish(void)
{
    WNNOperand x = input(WNNDataType_Float32, (uint32_t[]){100003}, 1);
    const struct node *node = producer(wnnGraphBuilderHardSwish(builder, x, NULL));
    struct tensor in = make_tensor(node->in[0], 0), out = make_tensor(node->out[0], 0);
    float *from = in.data, *to = out.data;
    for (size_t i = 0; i < in.count; i++)
        from[i] = ((float)draw(1 << 24) - (1 << 23)) / (float)(1 << (18 + i % 6));
    run(node, &in, &out);
    for (size_t i = 0; i < in.count; i++) {
        float sum = from[i] + 3.0f, clamped = sum < 0 ? 0.0f : sum > 6 ? 6.0f : sum;
        REQUIRE_EQUAL_FLOAT(to[i], from[i] * (float)((double)clamped / 6));
    }
    free(in.data);
    free(out.data);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin_kernels();
    CASE(test_places());
    CASE(test_extremes());
    CASE(test_softmax());
    CASE(test_softmax_floats(false));
    CASE(test_softmax_floats(true));
    CASE(test_threads(WNNDataType_Float32));
    CASE(test_threads(WNNDataType_Float16));
    CASE(test_limit(WNNDataType_Float32));
    CASE(test_limit(WNNDataType_Float16));
    CASE(test_layers());
    CASE(test_hard_swish());
    end_kernels();
    return cases_end();
}
