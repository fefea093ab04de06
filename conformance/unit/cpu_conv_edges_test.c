// SPDX-License-Identifier: Apache-2.0
//
// Convolutions at the edges of their kernels, against the reference: output elements that no tap reaches, or
// whose taps are all outside of the input, combined with the numbers of channels, pixels and taps at which
// kernels cut their loops. Each runs with constant weights, with weights that are inputs, and folded, with
// and without strictNumerics.

#include "conformance/reference/reference.h"
#include "conformance/unit/runtime_fixture.h"
#include "lib/half.h"

#include <math.h>

static uint64_t state = 11;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

#define PICK(list) (list)[draw(sizeof(list) / sizeof(list)[0])]

struct subject {
    bool transposed, last, half, bias, relu;
    uint32_t batch, height, width, groups, inputs, outputs; // inputs and outputs: channels of a group
    uint32_t size[2], strides[2], dilations[2], padding[4];
    // Of convTranspose2d: output sizes, 0: none are given; and a number of filter_layouts.
    uint32_t out[2], layout;
};

static const WNNConvTranspose2dFilterOperandLayout filter_layouts[] = {
    WNNConvTranspose2dFilterOperandLayout_IOHW, WNNConvTranspose2dFilterOperandLayout_OHWI,
    WNNConvTranspose2dFilterOperandLayout_HWOI};

// What graphs are made of.
enum form {
    CONSTANT_WEIGHTS,
    ALL_INPUTS,
    ALL_CONSTANT,
    FORMS
};

struct array {
    WNNOperandDescriptor type;
    uint32_t shape[4];
    void *data;
    size_t count, bytes;
};

static struct array make_array(bool half, size_t rank, const uint32_t *shape)
{
    struct array array = {.count = 1};
    for (size_t d = 0; d < rank; d++)
        array.count *= array.shape[d] = shape[d];
    array.bytes = array.count * (half ? 2 : 4);
    array.data = malloc(array.bytes);
    REQUIRE(array.data);
    array.type.dataType = half ? WNNDataType_Float16 : WNNDataType_Float32;
    array.type.shape.count = rank;
    for (size_t i = 0; i < array.count; i++) {
        float value = (float)((int)draw(17) - 8) / 8;
        uint16_t rounded = wnn_half_from_float(value);
        memcpy((char *)array.data + i * (half ? 2 : 4), half ? (void *)&rounded : &value, half ? 2 : 4);
    }
    return array;
}

static WNNOperand operand(WNNGraphBuilder to, const char *name, struct array *array, bool constant)
{
    array->type.shape.data = array->shape;
    return constant ? wnnGraphBuilderConstant(to, &array->type, array->data, array->bytes)
                    : wnnGraphBuilderInput(to, view(name), &array->type);
}

// x, filter and bias.
static void make_arrays(const struct subject *s, struct array arrays[3])
{
    uint32_t in = s->inputs * s->groups, out = s->outputs * s->groups;
    uint32_t image[2][4] = {{s->batch, in, s->height, s->width}, {s->batch, s->height, s->width, in}};
    uint32_t transposed[][4] = {{in, s->outputs, s->size[0], s->size[1]},
                                {s->outputs, s->size[0], s->size[1], in},
                                {s->size[0], s->size[1], s->outputs, in}};
    // OIHW, OHWI.
    uint32_t plain[2][4] = {{out, s->inputs, s->size[0], s->size[1]},
                            {out, s->size[0], s->size[1], s->inputs}};
    arrays[0] = make_array(s->half, 4, image[s->last]);
    arrays[1] = make_array(s->half, 4, s->transposed ? transposed[s->layout] : plain[s->last]);
    arrays[2] = make_array(s->half, 1, &out);
}

static WNNOperand convolve(const struct subject *s, WNNGraphBuilder to, WNNOperand x, WNNOperand filter,
                           WNNOperand bias)
{
    WNNInputOperandLayout layout = s->last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    if (s->transposed) {
        WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
        options.padding = (WNNUint32List){s->padding, 4};
        options.strides = (WNNUint32List){s->strides, 2};
        options.dilations = (WNNUint32List){s->dilations, 2};
        if (s->out[0])
            options.outputSizes = (WNNUint32List){s->out, 2};
        options.groups = s->groups;
        options.inputLayout = layout;
        options.filterLayout = filter_layouts[s->layout];
        options.bias = s->bias ? bias : NULL;
        return wnnGraphBuilderConvTranspose2d(to, x, filter, &options);
    }
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.padding = (WNNUint32List){s->padding, 4};
    options.strides = (WNNUint32List){s->strides, 2};
    options.dilations = (WNNUint32List){s->dilations, 2};
    options.groups = s->groups;
    options.inputLayout = layout;
    options.filterLayout = s->last ? WNNConv2dFilterOperandLayout_OHWI : WNNConv2dFilterOperandLayout_OIHW;
    options.bias = s->bias ? bias : NULL;
    return wnnGraphBuilderConv2d(to, x, filter, &options);
}

// Returns the output, filled with a pattern before.
static struct array compute(const struct subject *s, WNNContext context, struct array arrays[3],
                            enum form form)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = operand(builder, "x", &arrays[0], form == ALL_CONSTANT);
    WNNOperand filter = operand(builder, "filter", &arrays[1], form != ALL_INPUTS);
    WNNOperand bias = operand(builder, "bias", &arrays[2], form != ALL_INPUTS);
    WNNOperand y = convolve(s, builder, x, filter, bias);
    if (s->relu)
        y = wnnGraphBuilderRelu(builder, y, NULL);
    WNNError error;
    wnnGraphBuilderGetError(builder, &error);
    REQUIRE_EQUAL_VIEW(error.message, "");
    struct array out = make_array(s->half, 4, wnn_operand(y)->type.shape.dim);
    memset(out.data, 0x5A, out.bytes);
    WNNNamedOperand output = {view("y"), y};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    WNNNamedBuffer inputs[] = {{view("x"), arrays[0].data, arrays[0].bytes, arrays[0].type.dataType},
                               {view("filter"), arrays[1].data, arrays[1].bytes, arrays[1].type.dataType},
                               {view("bias"), arrays[2].data, arrays[2].bytes, arrays[2].type.dataType}};
    WNNNamedBuffer outputs = {view("y"), out.data, out.bytes, out.type.dataType};
    size_t count = form == ALL_CONSTANT ? 0 : form == CONSTANT_WEIGHTS ? 1 : s->bias ? 3 : 2;
    compute_buffers(context, graph, count, inputs, 1, &outputs);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    return out;
}

static void print(const struct subject *s, const char *what)
{
    fprintf(stderr,
            "%s: %s, %s, float%d, input %ux%ux%u, %u groups of %u to %u, filter %ux%u, strides %u %u, "
            "dilations %u %u, padding %u %u %u %u, sizes %u %u\n",
            what, s->transposed ? "convTranspose2d" : "conv2d", s->last ? "nhwc" : "nchw", s->half ? 16 : 32,
            s->batch, s->height, s->width, s->groups, s->inputs, s->outputs, s->size[0], s->size[1],
            s->strides[0], s->strides[1], s->dilations[0], s->dilations[1], s->padding[0], s->padding[1],
            s->padding[2], s->padding[3], s->out[0], s->out[1]);
}

static double element(const struct array *array, size_t i, bool half)
{
    return half ? (double)wnn_half_to_float(((const uint16_t *)array->data)[i])
                : (double)((const float *)array->data)[i];
}

static WNNContext reference, contexts[2];
static const char *const names[] = {"default", "strict"};

static void check(const struct subject *s)
{
    struct array arrays[3];
    make_arrays(s, arrays);
    if (getenv("CONV_EDGES_VERBOSE"))
        print(s, "next");
    struct array expected = compute(s, reference, arrays, ALL_INPUTS);
    // Operands are multiples of 1 / 8 of at most 1.
    double terms = (double)s->inputs * s->size[0] * s->size[1] + 1;
    double allowed = s->half ? terms * 0x1p-10 + 1e-3 : terms * 1e-6;
    for (enum form form = 0; form < FORMS; form++)
        for (int c = 0; c < 2; c++) {
            struct array got = compute(s, contexts[c], arrays, form);
            for (size_t i = 0; i < got.count; i++) {
                double difference = fabs(element(&got, i, s->half) - element(&expected, i, s->half));
                if (difference <= allowed) // not if it is no number
                    continue;
                print(s, names[c]);
                fprintf(stderr, "form %d, element %zu: got %g, expected %g\n", form, i,
                        element(&got, i, s->half), element(&expected, i, s->half));
                case_fail();
            }
            free(got.data);
        }
    free(expected.data);
    for (int i = 0; i < 3; i++)
        free(arrays[i].data);
}

// The smallest images, all of a filter's one tap, and strides that leave outputs without one.
static void test_without_taps(void)
{
    static const uint32_t channels[] = {1, 15, 16, 511, 512, 513, 1024, 1025, 3000};
    static const uint32_t outputs[] = {1, 3, 15, 16, 17, 64, 65};
    static const uint32_t strides[][2] = {{1, 2}, {2, 1}, {2, 2}, {3, 5}};
    for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++)
        for (size_t o = 0; o < sizeof outputs / sizeof outputs[0]; o++)
            for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++)
                for (int form = 0; form < 4; form++)
                    check(&(struct subject){.transposed = true,
                                            .last = form & 1,
                                            .half = form & 2,
                                            .bias = (c + o + i) & 1,
                                            .relu = (c + o) & 1,
                                            .batch = 1,
                                            .height = 1,
                                            .width = 1,
                                            .groups = c < 2 ? 3 : 1,
                                            .inputs = channels[c],
                                            .outputs = outputs[o],
                                            .size = {1, 1},
                                            .strides = {strides[i][0], strides[i][1]},
                                            .dilations = {1, 1},
                                            .out = {strides[i][0], strides[i][1]}});
}

// The graph that was found to end the process, as it was found.
static void test_found(void)
{
    for (int i = 0; i < 2; i++)
        check(&(struct subject){.transposed = true,
                                .last = true,
                                .batch = 1,
                                .height = 1,
                                .width = 1,
                                .groups = 1,
                                .inputs = 3000,
                                .outputs = 1,
                                .size = {1, 1},
                                .strides = {i ? 2 : 1, i ? 1 : 2},
                                .dilations = {1, 1},
                                .out = {i ? 2 : 1, i ? 1 : 2}});
}

// Numbers at which kernels cut: channels of a chunk of terms, of a panel, of a vector; pixels of a tile; taps
// of a block. Those that make an image large meet small ones only.
static void test_random(int count)
{
    static const uint32_t few[] = {1, 1, 2, 3, 4, 5, 7, 8, 9}, groups[] = {1, 1, 1, 2, 3, 17, 64, 65};
    static const uint32_t many[] = {14, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129};
    static const uint32_t most[] = {255, 256, 257, 511, 512, 513, 600, 1023, 1024, 1025, 1030, 1537};
    static const uint32_t sizes[] = {1, 1, 2, 3, 4, 7, 8, 9, 33}, strides[] = {1, 1, 2, 3, 4, 7, 12};
    for (int done = 0; done < count;) {
        struct subject s = {.transposed = draw(2), .last = draw(2), .half = draw(4) == 0};
        s.layout = draw(3);
        s.bias = draw(2);
        s.relu = draw(2);
        s.batch = 1 + draw(2);
        s.groups = PICK(groups);
        s.inputs = draw(3) ? PICK(few) : draw(2) ? PICK(many) : PICK(most);
        s.outputs = draw(2) ? PICK(few) : PICK(many);
        s.height = draw(3) ? PICK(few) : 1 + draw(20);
        s.width = draw(3) ? PICK(few) : 1 + draw(20);
        double work = (double)s.batch * s.groups * s.inputs * s.outputs * s.height * s.width;
        uint32_t size[2] = {s.height, s.width};
        bool legal = true;
        for (int i = 0; i < 2; i++) {
            s.size[i] = draw(3) ? 1 + draw(3) : PICK(sizes);
            s.strides[i] = PICK(strides);
            s.dilations[i] = draw(3) ? 1 : 1 + draw(5);
            s.padding[2 * i] = draw(2) ? 0 : draw(4);
            s.padding[2 * i + 1] = draw(2) ? 0 : draw(4);
            uint32_t extent = (s.size[i] - 1) * s.dilations[i] + 1;
            uint32_t both = s.padding[2 * i] + s.padding[2 * i + 1],
                     whole = (size[i] - 1) * s.strides[i] + extent;
            if (s.transposed) {
                legal = legal && whole > both;
                s.out[i] = whole - both + draw(s.strides[i]);
                work *= s.strides[i] > s.size[i] ? s.strides[i] : s.size[i];
            } else {
                legal = legal && size[i] + both >= extent;
                work *= s.size[i];
            }
        }
        if (!legal || work > 2e6 || work * (s.inputs + s.outputs) > 1e9)
            continue;
        check(&s);
        done++;
    }
}

// Groups of few channels in rows of all lengths: of several pixels, groups and outputs at once, and what is
// left of each.
static void test_small_groups(void)
{
    static const uint32_t groups[] = {2, 3, 4, 5, 8, 9, 13}, inputs[] = {1, 3, 4, 8, 12},
                          outputs[] = {4, 8, 12};
    for (uint32_t width = 1; width <= 34; width++)
        for (int i = 0; i < 5; i++) {
            uint32_t taps = width > 4 && i % 4 == 0 ? 5 : 3, stride = i % 3 == 0 ? 2 : 1;
            check(&(struct subject){.last = true,
                                    .half = i % 5 == 0,
                                    .bias = draw(2),
                                    .relu = draw(2),
                                    .batch = 1,
                                    .height = 1 + draw(4),
                                    .width = width,
                                    .groups = PICK(groups),
                                    .inputs = PICK(inputs),
                                    .outputs = PICK(outputs),
                                    .size = {3, taps},
                                    .strides = {1, stride},
                                    .dilations = {1, 1},
                                    .padding = {1, 1, taps / 2, taps / 2}});
        }
}

// Filters that cover rows of the output without gaps and overlaps, or just do not.
static void test_covering(int count)
{
    static const uint32_t inputs[] = {1, 3, 8, 15, 24, 64, 513}, outputs[] = {1, 2, 3, 8, 15, 16, 24, 33, 65};
    for (int i = 0; i < count; i++) {
        struct subject s = {.transposed = true, .last = draw(4) > 0, .half = draw(4) == 0, .layout = draw(3)};
        s.bias = draw(2);
        s.relu = draw(2);
        s.batch = 1 + draw(2);
        s.groups = draw(4) ? 1 : 2;
        s.inputs = PICK(inputs);
        s.outputs = PICK(outputs);
        s.height = 1 + draw(4);
        s.width = 1 + draw(22);
        for (int d = 0; d < 2; d++) {
            s.strides[d] = 1 + draw(4);
            s.size[d] = draw(5) ? s.strides[d] : 1 + draw(4);
            s.dilations[d] = draw(8) ? 1 : 2;
            uint32_t whole =
                ((d ? s.width : s.height) - 1) * s.strides[d] + 1 + (s.size[d] - 1) * s.dilations[d];
            s.padding[2 * d] = draw(6) || whole < 3 ? 0 : 1;
            s.padding[2 * d + 1] = draw(6) || whole < 3 ? 0 : 1;
            uint32_t least = whole - s.padding[2 * d] - s.padding[2 * d + 1];
            s.out[d] = least + (draw(6) ? 0 : draw(s.strides[d]));
        }
        check(&s);
    }
}

// Strides of so many rows and columns, from one pixel: phases are not visited one by one, whether the filter
// has one tap, or one for each of them.
static void check_many_phases(uint32_t size, uint32_t taps)
{
    struct subject s = {.transposed = true,
                        .batch = 1,
                        .height = 1,
                        .width = 1,
                        .groups = 1,
                        .inputs = 1,
                        .outputs = 1,
                        .size = {taps, taps},
                        .strides = {size, size},
                        .dilations = {1, 1},
                        .out = {size, size}};
    struct array arrays[3];
    for (int i = 0; i < 2; i++) {
        s.last = i == 0;
        make_arrays(&s, arrays);
        double start = processor_seconds();
        struct array out = compute(&s, contexts[i], arrays, CONSTANT_WEIGHTS);
        // It takes a tenth of a second, and took 18 and 4.
        REQUIRE(processor_seconds() - start < 6);
        const float *pixels = out.data, *filter = arrays[1].data;
        for (size_t at = 0; at < out.count; at++) {
            size_t y = at / size, x = at % size;
            float weight = y < taps && x < taps ? filter[y * taps + x] : 0;
            REQUIRE(pixels[at] == *(float *)arrays[0].data * weight);
        }
        free(out.data);
        for (int a = 0; a < 3; a++)
            free(arrays[a].data);
    }
}

static void test_many_phases(void)
{
    check_many_phases(6000, 1);
    check_many_phases(2000, 2000);
    check_many_phases(1500, 1400);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    REQUIRE_EQUAL_INT(wnn_create_context_on(&wnn_backend_reference, &descriptor, &reference),
                      WNNStatus_Success);
    descriptor.threadCount = 2;
    for (int i = 0; i < 2; i++) {
        descriptor.strictNumerics = i == 1;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &contexts[i]), WNNStatus_Success);
    }
    const char *count = getenv("CONV_EDGES_COUNT");
    CASE(test_found());
    CASE(test_without_taps());
    CASE(test_many_phases());
    CASE(test_small_groups());
    CASE(test_covering(count ? atoi(count) : 400));
    CASE(test_random(count ? atoi(count) : 250));
    wnnContextRelease(reference);
    wnnContextRelease(contexts[0]);
    wnnContextRelease(contexts[1]);
    return cases_end();
}
