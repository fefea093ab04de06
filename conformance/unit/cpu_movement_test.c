// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the CPU backend that mostly move data, on tensors that are larger than what they work on at a
// time: blocks of rows, of channels and of positions, and what is left of them. Against plain loops, cut for
// one thread and for some.

#include "conformance/unit/kernel_fixture.h"

#include <float.h>
#include <math.h>

static uint32_t state = 7;
static float magnitude = 1; // the greatest of floating-point numbers

static float load(const struct tensor *tensor, size_t i)
{
    if (tensor->type == WNNDataType_Float32)
        return ((const float *)tensor->data)[i];
    if (tensor->type == WNNDataType_Float16)
        return wnn_half_to_float(((const uint16_t *)tensor->data)[i]);
    if (tensor->type == WNNDataType_Int8)
        return ((const int8_t *)tensor->data)[i];
    return ((const uint8_t *)tensor->data)[i];
}

#define BEHIND 64

static struct tensor random_tensor(const struct operand *operand, size_t behind)
{
    struct tensor tensor = make_tensor(operand, behind);
    size_t size = size_of(&tensor);
    for (size_t i = 0; i < tensor.count; i++) {
        state = state * 1664525u + 1013904223u;
        float value = (float)(int32_t)(state >> 8) * (1.0f / (1 << 23)) - 1;
        value *= magnitude;
        uint16_t half = wnn_half_from_float(value);
        uint8_t byte = (uint8_t)(state >> 24);
        memcpy((char *)tensor.data + i * size,
               size == 4   ? (void *)&value
               : size == 2 ? (void *)&half
                           : (void *)&byte,
               size);
    }
    return tensor;
}

// The value that belongs to an element of the output, at [n][y][x][c] or [n][c][y][x] if images are meant.
typedef double (*plain_value)(const struct tensor *in, const struct tensor *out, const void *what, size_t i);

static void check(WNNOperand result, plain_value value, const void *what)
{
    REQUIRE(result);
    const struct node *node = wnn_operand(result)->producer;
    struct tensor in = random_tensor(node->in[0], 0), out = random_tensor(node->out[0], BEHIND),
                  again = random_tensor(node->out[0], BEHIND);
    size_t bytes = out.count * wnn_dtype_bits(out.type) / 8;
    struct parallel one = in_turn(1), some = in_turn(3);
    struct kernel_call call = {node, &in, &out, NULL, &one}, other = {node, &in, &again, NULL, &some};
    wnn_cpu_kernels[node->op]->run(&call);
    wnn_cpu_kernels[node->op]->run(&other);
    REQUIRE(memcmp(out.data, again.data, bytes + BEHIND) == 0);
    for (size_t i = 0; i < BEHIND; i++)
        REQUIRE(((unsigned char *)out.data)[bytes + i] == GUARD);
    double slack = out.type == WNNDataType_Float32 ? 1e-5 : out.type == WNNDataType_Float16 ? 2e-3 : 0.51;
    for (size_t i = 0; i < out.count; i++) {
        double expected = value(&in, &out, what, i), got = (double)load(&out, i);
        double room = size_of(&out) == 1 ? slack : slack * ((double)magnitude + fabs(expected));
        if (!(expected == got || fabs(expected - got) <= room + 0x1p-149)) {
            fprintf(stderr, "operator %d, type %d, element %zu: %g; expected %g\n", (int)node->op,
                    (int)out.type, i, got, expected);
            case_fail();
        }
    }
    free(in.data);
    free(out.data);
    free(again.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Images
// ---------------------------------------------------------------------------------------------------------------

struct image {
    uint32_t channels, size[2];
    bool last; // channels are
};

struct place {
    size_t n, c, y, x;
};

static struct place place_of(const struct shape *shape, bool last, size_t i)
{
    const uint32_t *d = shape->dim;
    size_t a = i % d[3], b = i / d[3] % d[2], c = i / d[3] / d[2] % d[1], n = i / d[3] / d[2] / d[1];
    return last ? (struct place){n, a, c, b} : (struct place){n, c, b, a};
}

static double pixel(const struct tensor *in, bool last, struct place p)
{
    const uint32_t *d = in->shape.dim;
    size_t i = last ? ((p.n * d[1] + p.y) * d[2] + p.x) * d[3] + p.c
                    : ((p.n * d[1] + p.c) * d[2] + p.y) * d[3] + p.x;
    return (double)load(in, i);
}

struct pooling {
    struct image image;
    uint32_t window[2], stride[2], dilation[2], padding[4];
    int kind; // maximum, average, l2
};

static double pooled(const struct tensor *in, const struct tensor *out, const void *what, size_t i)
{
    const struct pooling *p = what;
    struct place to = place_of(&out->shape, p->image.last, i);
    double sum = 0, most = size_of(out) > 1 ? -INFINITY : out->type == WNNDataType_Int8 ? INT8_MIN : 0;
    int taps = 0;
    for (uint32_t t = 0; t < p->window[0] * p->window[1]; t++) {
        int64_t y = (int64_t)(to.y * p->stride[0] + t / p->window[1] * p->dilation[0]) - p->padding[0];
        int64_t x = (int64_t)(to.x * p->stride[1] + t % p->window[1] * p->dilation[1]) - p->padding[2];
        if (y < 0 || y >= p->image.size[0] || x < 0 || x >= p->image.size[1])
            continue;
        double value = pixel(in, p->image.last, (struct place){to.n, to.c, (size_t)y, (size_t)x});
        most = fmax(most, value);
        sum += p->kind == 2 ? value * value : value;
        taps++;
    }
    return p->kind == 0 ? most : p->kind == 2 ? sqrt(sum) : taps ? sum / taps : 0;
}

static void make_shape(const struct image *image, uint32_t batch, uint32_t shape[4])
{
    shape[0] = batch;
    shape[image->last ? 3 : 1] = image->channels;
    shape[image->last ? 1 : 2] = image->size[0];
    shape[image->last ? 2 : 3] = image->size[1];
}

static const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Uint8,
                                    WNNDataType_Int8};

static void test_pooling(void)
{
    static const struct pooling subjects[] = {
        {{3, {57, 31}, false}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 0},
        {{2, {70, 29}, false}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 0},
        {{2, {9, 3000}, false}, {2, 3}, {1, 2}, {2, 1}, {0, 1, 1, 0}, 0},
        {{3, {23, 7}, false}, {2, 5}, {3, 5}, {1, 2}, {1, 0, 2, 4}, 0},
        {{2, {40, 41}, false}, {5, 1}, {1, 3}, {3, 1}, {6, 6, 0, 0}, 0},
        {{3, {33, 33}, false}, {33, 33}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 0},
        {{24, {19, 40}, true}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 0},
        {{3, {12, 700}, true}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 0},
        {{3001, {5, 6}, true}, {3, 2}, {1, 1}, {1, 2}, {1, 1, 0, 1}, 0},
        {{1030, {6, 5}, true}, {6, 5}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 0},
        {{3, {24, 56}, false}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, 0},
        {{2, {8, 2600}, false}, {3, 6}, {1, 4}, {1, 1}, {0, 0, 1, 2}, 0},
        {{2, {20, 60}, false}, {9, 9}, {2, 1}, {1, 1}, {4, 4, 4, 4}, 0},
        {{200, {9, 20}, true}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 0},
        {{520, {5, 12}, true}, {2, 3}, {2, 2}, {1, 1}, {0, 0, 0, 1}, 0},
        // Channels that are whole vectors: bands of rows, of which the last is not full.
        {{272, {6, 70}, true}, {3, 3}, {1, 1}, {1, 1}, {1, 2, 2, 1}, 0},
        {{80, {6, 9}, true}, {2, 2}, {1, 1}, {1, 1}, {0, 1, 1, 0}, 0},
        {{64, {9, 5}, true}, {2, 3}, {1, 1}, {1, 1}, {0, 0, 0, 2}, 0},
        {{96, {1, 3}, true}, {3, 2}, {1, 1}, {1, 1}, {2, 2, 1, 1}, 0},
        {{2, {70, 56}, false}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 0},
        {{2, {71, 113}, false}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 0},
        {{2, {9, 2600}, false}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 2, 2}, 0},
        {{2, {9, 2601}, false}, {2, 3}, {2, 2}, {3, 1}, {0, 1, 1, 0}, 0},
        {{2, {40, 33}, false}, {9, 2}, {3, 1}, {2, 1}, {8, 8, 1, 1}, 0},
        {{3, {5, 3}, false}, {1, 3}, {2, 1}, {1, 1}, {0, 0, 2, 2}, 0},
        {{3, {2, 1}, false}, {2, 2}, {1, 2}, {1, 1}, {1, 1, 1, 1}, 0},
        // Taps that pass by the only element, and some that do not.
        {{3, {1, 1}, false}, {2, 2}, {1, 1}, {2, 2}, {1, 1, 0, 2}, 0},
        {{5, {1, 1}, true}, {3, 1}, {1, 1}, {2, 1}, {2, 2, 0, 0}, 0},
        // More elements than float32 adds up float16 of.
        {{1, {66, 80}, false}, {65, 70}, {1, 2}, {1, 1}, {0, 0, 0, 0}, 0},
        {{2, {72, 60}, true}, {70, 60}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 0},
    };
    // Sums, and squares, that float32 does not have, and nothing.
    static const float magnitudes[3][4] = {
        {1, FLT_MAX}, {1, FLT_MAX, 0x1p-140f, 0}, {1, 0x1p100f, 0x1p-80f, 0}};
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++) {
        for (int t = 0; t < 4; t++) {
            for (int m = 0; m < (t < 2 ? 12 : 1); m++) {
                const int kind = m / 4;
                magnitude = magnitudes[kind][m % 4];
                if (m % 4 > 0 && (t > 0 || (kind == 0 && m % 4 > 1)))
                    continue;
                struct pooling p = subjects[s];
                uint32_t shape[4];
                p.kind = kind;
                make_shape(&p.image, 2, shape);
                WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
                options.windowDimensions = (WNNUint32List){p.window, 2};
                options.strides = (WNNUint32List){p.stride, 2};
                options.dilations = (WNNUint32List){p.dilation, 2};
                options.padding = (WNNUint32List){p.padding, 4};
                options.layout = p.image.last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
                WNNOperand x = input(types[t], shape, 4);
                check(kind == 0   ? wnnGraphBuilderMaxPool2d(builder, x, &options)
                      : kind == 1 ? wnnGraphBuilderAveragePool2d(builder, x, &options)
                                  : wnnGraphBuilderL2Pool2d(builder, x, &options),
                      pooled, &p);
            }
        }
    }
    magnitude = 1;
}

// What is not a number stays in the maximum of every window that it is in, wherever in it.
static void test_not_a_number(void)
{
    static const uint32_t shape[4] = {1, 1, 9, 70};
    for (int t = 0; t < 2; t++) {
        WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
        options.windowDimensions = (WNNUint32List){(uint32_t[]){3, 3}, 2};
        options.padding = (WNNUint32List){(uint32_t[]){1, 1, 1, 1}, 4};
        WNNOperand result = wnnGraphBuilderMaxPool2d(builder, input(types[t], shape, 4), &options);
        const struct node *node = wnn_operand(result)->producer;
        struct tensor in = random_tensor(node->in[0], 0), out = random_tensor(node->out[0], 0);
        struct parallel one = in_turn(1);
        struct kernel_call call = {node, &in, &out, NULL, &one};
        for (size_t at = 0; at < in.count; at += 37) {
            uint32_t kept = 0, nan = t == 0 ? 0xFF812345u : at % 2 == 0 ? 0xFD01u : 0x7C01u;
            memcpy(&kept, (char *)in.data + at * size_of(&in), size_of(&in));
            memcpy((char *)in.data + at * size_of(&in), &nan, size_of(&in));
            wnn_cpu_kernels[node->op]->run(&call);
            memcpy((char *)in.data + at * size_of(&in), &kept, size_of(&in));
            for (size_t i = 0; i < out.count; i++) {
                const size_t y = i / 70, x = i % 70, row = at / 70, column = at % 70;
                bool meets = y + 1 >= row && y <= row + 1 && x + 1 >= column && x <= column + 1;
                REQUIRE_EQUAL_INT(isnan(load(&out, i)), meets);
            }
        }
        free(in.data);
        free(out.data);
    }
}

struct resampling {
    struct image image;
    uint32_t size[2];
    bool linear;
};

static double resampled(const struct tensor *in, const struct tensor *out, const void *what, size_t i)
{
    const struct resampling *r = what;
    struct place to = place_of(&out->shape, r->image.last, i);
    size_t at[2] = {to.y, to.x}, low[2], high[2];
    double part[2];
    for (int a = 0; a < 2; a++) {
        double last = r->image.size[a] - 1.0, x = ((double)at[a] + 0.5) * r->image.size[a] / r->size[a] - 0.5;
        x = r->linear ? x : ceil(x - 0.5);
        x = x < 0 ? 0 : x > last ? last : x;
        low[a] = (size_t)floor(x);
        high[a] = low[a] < r->image.size[a] - 1 ? low[a] + 1 : low[a];
        part[a] = x - floor(x);
    }
    double sum = 0;
    for (int tap = 0; tap < 4; tap++) {
        struct place from = {to.n, to.c, tap / 2 ? high[0] : low[0], tap % 2 ? high[1] : low[1]};
        sum += (tap / 2 ? part[0] : 1 - part[0]) * (tap % 2 ? part[1] : 1 - part[1]) *
               pixel(in, r->image.last, from);
    }
    return sum;
}

static void test_resampling(void)
{
    static const struct resampling subjects[] = {
        {{3, {21, 29}, false}, {42, 58}, true},  {{2, {7, 3000}, false}, {9, 4001}, true},
        {{2, {300, 7}, false}, {301, 11}, true}, {{2, {40, 900}, false}, {13, 31}, true},
        {{2, {8, 20}, false}, {8, 21}, true},    {{24, {9, 40}, true}, {17, 81}, true},
        {{3001, {3, 4}, true}, {5, 7}, true},    {{1030, {4, 9}, true}, {3, 4}, true},
        {{3, {30, 40}, true}, {60, 80}, true},   {{5, {19, 300}, true}, {300, 301}, true},
        {{15, {6, 70}, true}, {9, 33}, true},    {{16, {33, 5}, true}, {33, 10}, true},
        {{7, {28, 28}, false}, {56, 56}, true},  {{2, {600, 130}, false}, {300, 65}, true},
        {{4, {1, 1}, false}, {64, 64}, true},    {{2, {50, 64}, false}, {50, 64}, true},
        {{2, {3, 2600}, false}, {2, 100}, true}, {{8200, {2, 3}, true}, {3, 5}, true},
    };
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++) {
        for (int t = 0; t < 6; t++) {
            struct resampling r = subjects[s];
            uint32_t shape[4];
            r.linear = t >= 3;
            make_shape(&r.image, 2, shape);
            WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
            options.mode = r.linear ? WNNInterpolationMode_Linear : WNNInterpolationMode_NearestNeighbor;
            options.sizes = (WNNUint32List){r.size, 2};
            options.axes = r.image.last ? LIST(1, 2) : LIST(2, 3);
            check(wnnGraphBuilderResample2d(builder, input(types[t % 3], shape, 4), &options), resampled, &r);
        }
    }
}

// The same, of which the nearest integer is expected, or of two the even one.
static double resampled_exactly(const struct tensor *in, const struct tensor *out, const void *what, size_t i)
{
    return nearbyint(resampled(in, out, what, i));
}

static void test_exact_resampling(void)
{
    // Products of weights are multiples of 2^-8 in most.
    static const struct resampling subjects[] = {
        {{7, {28, 28}, false}, {56, 56}, true},    {{3, {1, 3}, false}, {5, 6}, true},
        {{2, {9, 31}, false}, {36, 124}, true},    {{2, {5, 7}, false}, {40, 56}, true},
        {{2, {6, 300}, false}, {96, 600}, true},   {{2, {4, 2}, false}, {4, 64}, true},
        {{2, {40, 1}, false}, {20, 9}, true},      {{3, {30, 50}, false}, {15, 25}, true},
        {{3, {8, 2300}, false}, {16, 4600}, true}, {{2, {50, 64}, false}, {50, 64}, true},
        {{1, {3, 1}, false}, {768, 1}, true},      {{3, {5, 20}, true}, {10, 40}, true},
        {{8, {5, 20}, true}, {10, 40}, true},      {{9, {5, 20}, true}, {20, 40}, true},
        {{16, {5, 8}, true}, {10, 16}, true},      {{31, {5, 9}, true}, {10, 72}, true},
        {{77, {6, 5}, true}, {12, 20}, true},      {{4200, {2, 2}, true}, {4, 4}, true},
        {{1, {2, 4}, false}, {64, 32}, true},      {{20, {4, 4}, true}, {128, 2}, true},
    };
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++) {
        for (int t = 0; t < 2; t++) {
            const struct resampling *r = &subjects[s];
            uint32_t shape[4];
            make_shape(&r->image, 2, shape);
            WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
            options.mode = WNNInterpolationMode_Linear;
            options.sizes = (WNNUint32List){(uint32_t *)r->size, 2};
            options.axes = r->image.last ? LIST(1, 2) : LIST(2, 3);
            WNNOperand x = input(t ? WNNDataType_Int8 : WNNDataType_Uint8, shape, 4);
            check(wnnGraphBuilderResample2d(builder, x, &options), resampled_exactly, r);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Transposition and padding
// ---------------------------------------------------------------------------------------------------------------

static double transposed(const struct tensor *in, const struct tensor *out, const void *what, size_t i)
{
    const uint32_t *permutation = what;
    size_t index[4], offset = 0;
    for (unsigned d = 4; d-- > 0; i /= out->shape.dim[d])
        index[permutation[d]] = i % out->shape.dim[d];
    for (unsigned d = 0; d < 4; d++)
        offset = offset * in->shape.dim[d] + index[d];
    return (double)load(in, offset);
}

static void test_transposition(void)
{
    static uint32_t shapes[][4] = {{1, 2, 193, 131},
                                   {3, 70, 5, 67},
                                   {2, 65, 64, 3},
                                   {2, 3, 8, 1100},
                                   {5, 33, 3, 64}},
                    permutations[][4] = {{0, 3, 1, 2}, {0, 2, 3, 1}, {0, 2, 1, 3}, {3, 2, 1, 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int t = 0; t < 3; t++) {
            for (size_t p = 0; p < sizeof permutations / sizeof permutations[0]; p++) {
                WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
                options.permutation = (WNNUint32List){permutations[p], 4};
                check(wnnGraphBuilderTranspose(builder, input(types[t], shapes[s], 4), &options), transposed,
                      permutations[p]);
            }
        }
    }
}

struct padding {
    uint32_t shape[4], before[4], after[4];
    WNNPaddingMode mode;
};

static double padded(const struct tensor *in, const struct tensor *out, const void *what, size_t i)
{
    const struct padding *p = what;
    size_t offset = 0, step = 1;
    for (unsigned d = 4; d-- > 0; i /= out->shape.dim[d], step *= in->shape.dim[d]) {
        int64_t at = (int64_t)(i % out->shape.dim[d]) - p->before[d], size = in->shape.dim[d];
        if (p->mode == WNNPaddingMode_Constant && (at < 0 || at >= size))
            return 5;
        int64_t mirror = p->mode == WNNPaddingMode_Reflection ? 0 : 1;
        if (p->mode == WNNPaddingMode_Edge)
            at = at < 0 ? 0 : at >= size ? size - 1 : at;
        at = at < 0 ? -at - mirror : at >= size ? 2 * size - 2 + mirror - at : at;
        offset += (size_t)at * step;
    }
    return (double)load(in, offset);
}

static void test_padding(void)
{
    static const struct padding subjects[] = {
        {{3, 4, 14, 14}, {0, 0, 1, 1}, {0, 0, 1, 1}, WNNPaddingMode_Constant},
        {{3, 2, 9, 600}, {1, 0, 2, 3}, {0, 1, 1, 17}, WNNPaddingMode_Constant},
        {{2, 9, 11, 24}, {0, 1, 2, 0}, {0, 3, 1, 0}, WNNPaddingMode_Constant},
        {{5, 3, 7, 2}, {2, 0, 0, 0}, {1, 0, 0, 0}, WNNPaddingMode_Constant},
        {{2, 130, 14, 14}, {0, 0, 1, 1}, {0, 0, 1, 1}, WNNPaddingMode_Constant},
        {{3, 50, 5, 3}, {0, 0, 0, 2}, {0, 0, 1, 1}, WNNPaddingMode_Constant},
        {{3, 7, 20, 57}, {1, 2, 0, 0}, {1, 0, 0, 9}, WNNPaddingMode_Constant},
        {{1, 1, 1, 3}, {0, 0, 0, 1}, {0, 0, 0, 1}, WNNPaddingMode_Constant}, // less than a vector
        {{1, 2, 1, 3}, {0, 0, 0, 2}, {0, 0, 0, 0}, WNNPaddingMode_Constant},
    };
    static const WNNPaddingMode modes[] = {WNNPaddingMode_Constant, WNNPaddingMode_Edge,
                                           WNNPaddingMode_Reflection};
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++) {
        for (int t = 0; t < 9; t++) {
            struct padding p = subjects[s];
            WNNPadOptions options = WNN_PAD_OPTIONS_INIT;
            options.mode = p.mode = modes[t / 3];
            options.value = wnnNumberFloat64(5);
            check(wnnGraphBuilderPad(builder, input(types[t % 3], p.shape, 4), (WNNUint32List){p.before, 4},
                                     (WNNUint32List){p.after, 4}, &options),
                  padded, &p);
        }
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin_kernels();
    CASE(test_pooling());
    CASE(test_not_a_number());
    CASE(test_resampling());
    CASE(test_exact_resampling());
    CASE(test_transposition());
    CASE(test_padding());
    end_kernels();
    return cases_end();
}
