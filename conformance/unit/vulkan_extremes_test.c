// SPDX-License-Identifier: Apache-2.0
//
// Strides as large as a number can be: shaders count to 2^32. Skipped where Vulkan has no device.

#include "conformance/backends.h"
#include "conformance/unit/runtime_fixture.h"

#include <math.h>

#define FAR 0xFFFFFFFFu

static WNNOperand add_image(WNNGraphBuilder builder, const uint32_t dims[4])
{
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Float32;
    type.shape = (WNNUint32List){dims, 4};
    return wnnGraphBuilderInput(builder, view("x"), &type);
}

static WNNOperand add_filter(WNNGraphBuilder builder, const uint32_t dims[4], const float *values,
                             size_t count)
{
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Float32;
    type.shape = (WNNUint32List){dims, 4};
    return wnnGraphBuilderConstant(builder, &type, values, count * sizeof values[0]);
}

// Of x = 1, 2, 3 ...; `y` gets what is computed.
static void compute(WNNContext context, WNNGraphBuilder builder, WNNOperand output, size_t in, size_t out,
                    float *y)
{
    enum {
        MOST = 64
    };
    float x[MOST];
    REQUIRE(in <= MOST);
    for (size_t i = 0; i < in; i++)
        x[i] = (float)(i + 1);
    WNNNamedOperand named = {view("y"), output};
    WNNGraph graph = build_outputs(context, builder, 1, &named);
    WNNNamedBuffer input = {view("x"), x, in * sizeof *x, 0}, result = {view("y"), y, out * sizeof *y, 0};
    compute_buffers(context, graph, 1, &input, 1, &result);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
}

// A filter a channel, one step: nothing is at the second.
static void test_convolution(WNNContext context)
{
    const uint32_t dims[] = {1, 2, 1, 4}, filter[] = {1, 1, 1, 4}, strides[] = {1, FAR};
    const float twos[] = {2, 2, 2, 2};
    float y[8];
    WNNGraphBuilder builder = create_builder(context);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.strides = (WNNUint32List){strides, 2};
    options.groups = 4;
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = WNNConv2dFilterOperandLayout_IHWO;
    WNNOperand x = add_image(builder, dims);
    compute(context, builder,
            wnnGraphBuilderConv2d(builder, x, add_filter(builder, filter, twos, 4), &options), 8, 8, y);
    for (int i = 0; i < 8; i++)
        REQUIRE_EQUAL_FLOAT(y[i], (float)(2 * i + 2));
}

// The second window lies far beyond the image.
static void test_pool(WNNContext context)
{
    const uint32_t dims[] = {1, 1, 1, 4}, window[] = {1, 2}, strides[] = {1, FAR};
    for (int greatest = 0; greatest < 2; greatest++) {
        float y[2];
        WNNGraphBuilder builder = create_builder(context);
        WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
        options.windowDimensions = (WNNUint32List){window, 2};
        options.strides = (WNNUint32List){strides, 2};
        options.roundingType = WNNRoundingType_Ceil;
        WNNOperand x = add_image(builder, dims);
        compute(context, builder,
                greatest ? wnnGraphBuilderMaxPool2d(builder, x, &options)
                         : wnnGraphBuilderAveragePool2d(builder, x, &options),
                4, 2, y);
        REQUIRE_EQUAL_FLOAT(y[0], greatest ? 2 : 1.5f);
        REQUIRE_EQUAL_FLOAT(y[1], greatest ? -INFINITY : 0);
    }
}

// Nearly all of the output is cut off, on the one side; what is left is at the end of the image.
static void test_transposed(WNNContext context)
{
    const uint32_t dims[] = {1, 1, 1, 2}, filter[] = {1, 1, 1, 1}, strides[] = {1, FAR - 1},
                   padding[] = {0, 0, FAR - 4, 0}, sizes[] = {1, 8};
    const float one = 1;
    struct answer built = {0};
    WNNGraphBuilder builder = create_builder(context);
    WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    options.strides = (WNNUint32List){strides, 2};
    options.padding = (WNNUint32List){padding, 4};
    options.outputSizes = (WNNUint32List){sizes, 2};
    WNNOperand x = add_image(builder, dims);
    WNNOperand y = wnnGraphBuilderConvTranspose2d(builder, x, add_filter(builder, filter, &one, 1), &options);
    wait_for(context, start_build(builder, "y", y, &built, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(built.status, WNNStatus_TypeError);
    REQUIRE_CONTAINS(built.message, "the output width without padding would be 4294967295");
    wnnGraphBuilderRelease(builder);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    static const char *const names[] = {"cpu", "vulkan", "vulkan-minimal"};
    for (int i = 0; i < 3; i++) {
        struct answer error = {0};
        WNNContextDescriptor descriptor = describe_context(&error, NULL);
        WNNContext context;
        if (wnn_create_context_on(find_backend(names[i]), &descriptor, &context) != WNNStatus_Success)
            return cases_skip(error.message);
        CASE(test_convolution(context));
        CASE(test_pool(context));
        CASE(test_transposed(context));
        wnnContextRelease(context);
    }
    return cases_end();
}
