// SPDX-License-Identifier: Apache-2.0
//
// For tests that call kernels of the CPU backend on nodes that a builder has made.

#ifndef CONFORMANCE_UNIT_KERNEL_FIXTURE_H_
#define CONFORMANCE_UNIT_KERNEL_FIXTURE_H_

#include "conformance/unit/runtime_fixture.h"
#include "cpu/kernel.h"
#include "ops/builder.h"

static WNNContext context;
static WNNGraphBuilder builder;

// Its operands and nodes have room for what the compiler adds, since kernels read that.
static inline WNNGraphBuilder create_kernel_builder(void)
{
    WNNGraphBuilder made = create_builder(context);
    made->graph.in_builder = false;
    return made;
}

static inline void begin_kernels(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    builder = create_kernel_builder();
}

static inline void end_kernels(void)
{
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
}

// Another input of the builder.
static inline WNNOperand input(WNNDataType type, const uint32_t *dimensions, size_t rank)
{
    static int inputs;
    char name[16];
    WNNOperandDescriptor descriptor = {.dataType = type, .shape = {(uint32_t *)dimensions, rank}};
    snprintf(name, sizeof name, "i%d", inputs++);
    return wnnGraphBuilderInput(builder, view(name), &descriptor);
}

// The calling thread, which cuts loops as that many threads would.
static inline struct parallel in_turn(unsigned threads)
{
    struct parallel parallel = wnn_serial;
    parallel.threads = threads;
    return parallel;
}

static inline size_t size_of(const struct tensor *tensor)
{
    return wnn_dtype_bits(tensor->type) / 8;
}

#define GUARD 0xa5

// Room for the operand's elements; there is nothing behind the last one, or `behind` bytes of GUARD.
static inline struct tensor make_tensor(const struct operand *operand, size_t behind)
{
    struct tensor tensor = {.type = operand->type.type, .shape = operand->type.shape};
    tensor.count = wnn_shape_elements(&tensor.shape);
    size_t bytes = tensor.count * size_of(&tensor);
    tensor.data = malloc(bytes + behind);
    REQUIRE(tensor.data);
    memset(tensor.data, 0, bytes);
    memset((char *)tensor.data + bytes, GUARD, behind);
    return tensor;
}

#endif
