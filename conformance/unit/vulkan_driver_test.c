// SPDX-License-Identifier: Apache-2.0
//
// What contexts ask of their driver, and what they think of it: weights and tensors of any size go through
// little memory of the host's, and a device that computes wrong numbers builds no graph. Skipped where Vulkan
// has no device.

#include "conformance/unit/fault_layer.h"
#include "conformance/unit/runtime_fixture.h"
#include "vulkan/device/device.h"
#include "vulkan/device/open.h"
#include "vulkan/vulkan.h"

// The memory that shaders work on: the host's too, or out of which the host does not read, or out of its
// sight.
static const struct variant {
    const char *name;
    struct gpu_origin origin;
} variants[] = {{"unified", {.get = fault_get}},
                {"apart", {.get = fault_get, .apart = true}},
                {"minimal", {.get = fault_get, .minimal = true}}},
  *variant = variants;

static bool create_state(const struct backend_options *options, void **state, struct error *error)
{
    return wnn_vulkan_create(options, &variant->origin, state, error);
}

static WNNStatus create(struct answer *error, WNNContext *context)
{
    static struct backend watched;
    watched = wnn_backend_vulkan;
    watched.create = create_state;
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    return wnn_create_context_on(&watched, &descriptor, context);
}

static WNNContext create_working(void)
{
    struct answer error = {0};
    WNNContext context;
    create(&error, &context);
    REQUIRE_EQUAL_STR(error.message, "");
    return context;
}

// It is tested before the first graph.
static void test_wrong_numbers(void)
{
    WNNContext context = create_working();
    struct answer answer = {0};
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", 2, 3);
    fault_subtract(true);
    WNNOperand sum = wnnGraphBuilderAdd(builder, x, x, NULL);
    wait_for(context, start_build(builder, "y", sum, &answer, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_NotSupportedError);
    REQUIRE_CONTAINS(answer.message, "computes wrong numbers");
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
    fault_subtract(false);
    context = create_working();
    wnnGraphRelease(build_sum(context));
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Staging
// ---------------------------------------------------------------------------------------------------------------

#define MAX_STAGING ((uint64_t)64 << 20)

// Two matrices of 44 MiB: what fits at once ends inside of a row of the second.
enum {
    MATRICES = 2,
    ROWS = 700,
    LENGTH = 65537,
    BORDER = (int)(((uint64_t)MAX_STAGING - (uint64_t)ROWS * LENGTH) / LENGTH)
};

static unsigned char byte_at(unsigned matrix, size_t i)
{
    return (unsigned char)((((uint32_t)i * 2654435761u) >> 24) + matrix);
}

static WNNGraph build_rows(WNNContext context, unsigned char *bytes)
{
    static const char *const names[MATRICES] = {"y0", "y1"};
    const uint32_t dims[] = {ROWS, LENGTH};
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Int32;
    WNNOperand row = wnnGraphBuilderInput(builder, view("row"), &type);
    type.dataType = WNNDataType_Uint8;
    type.shape = (WNNUint32List){dims, 2};
    WNNNamedOperand outputs[MATRICES];
    for (unsigned matrix = 0; matrix < MATRICES; matrix++) {
        for (size_t i = 0; i < (size_t)ROWS * LENGTH; i++)
            bytes[i] = byte_at(matrix, i);
        WNNOperand rows = wnnGraphBuilderConstant(builder, &type, bytes, (size_t)ROWS * LENGTH);
        outputs[matrix] =
            (WNNNamedOperand){view(names[matrix]), wnnGraphBuilderGather(builder, rows, row, NULL)};
    }
    WNNGraph graph = build_outputs(context, builder, MATRICES, outputs);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// Weights that are more than may be on their way at once.
static void test_weights(WNNContext context, unsigned char *bytes)
{
    static const int32_t rows[] = {0, BORDER - 1, BORDER, BORDER + 1, ROWS - 1};
    static unsigned char results[MATRICES][LENGTH];
    fault_staging();
    WNNGraph graph = build_rows(context, bytes);
    uint64_t most = fault_staging();
    printf("%s: %.1f MiB of weights by way of %.1f MiB\n", variant->name,
           MATRICES * (double)ROWS * LENGTH / (1 << 20), (double)most / (1 << 20));
    REQUIRE(most <= MAX_STAGING);
    // Others map what they work on; what executions have of their own is small.
    REQUIRE((most > 1 << 20) == variant->origin.minimal);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t row = rows[i];
        WNNNamedBuffer input = {view("row"), &row, sizeof row, WNNDataType_Int32};
        WNNNamedBuffer outputs[] = {{view("y0"), results[0], LENGTH, WNNDataType_Uint8},
                                    {view("y1"), results[1], LENGTH, WNNDataType_Uint8}};
        compute_buffers(context, graph, 1, &input, MATRICES, outputs);
        for (unsigned matrix = 0; matrix < MATRICES; matrix++)
            for (size_t k = 0; k < LENGTH; k++)
                REQUIRE(results[matrix][k] == byte_at(matrix, (size_t)row * LENGTH + k));
    }
    wnnGraphRelease(graph);
}

// A tensor of 88 MiB is written and read.
static void test_transfers(WNNContext context, unsigned char *bytes)
{
    const uint32_t dims[] = {MATRICES * ROWS, LENGTH};
    const size_t size = (size_t)MATRICES * ROWS * LENGTH;
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    WNNTensor tensor;
    descriptor.dataType = WNNDataType_Uint8;
    descriptor.shape = (WNNUint32List){dims, 2};
    descriptor.readable = descriptor.writable = true;
    fault_staging();
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &tensor), WNNStatus_Success);
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_at(7, i);
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, bytes, size), WNNStatus_Success);
    memset(bytes, 0, size);
    wait_for(context, wnnContextReadTensor(context, tensor, bytes, size, tell_nobody()));
    for (size_t i = 0; i < size; i++)
        REQUIRE(bytes[i] == byte_at(7, i));
    REQUIRE(fault_staging() <= MAX_STAGING);
    wnnTensorRelease(tensor);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    struct answer error = {0};
    WNNContext context;
    if (!fault_begin() || create(&error, &context) != WNNStatus_Success)
        return cases_skip(error.message);
    wnnContextRelease(context);
    unsigned char *bytes = malloc((size_t)MATRICES * ROWS * LENGTH);
    REQUIRE(bytes);
    for (variant = variants; variant < variants + sizeof variants / sizeof *variants; variant++) {
        CASE(test_wrong_numbers());
        context = create_working();
        CASE(test_weights(context, bytes));
        CASE(test_transfers(context, bytes));
        wnnContextRelease(context);
    }
    free(bytes);
    fault_end();
    return cases_end();
}
