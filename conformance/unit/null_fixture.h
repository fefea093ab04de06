// SPDX-License-Identifier: Apache-2.0
//
// Valid arguments for every exported function, and what is expected of one that gets NULL instead of one of
// them. The functions that use it are written by conformance/null_sweep.py; runtime_null_test.c runs them.

#ifndef CONFORMANCE_UNIT_NULL_FIXTURE_H_
#define CONFORMANCE_UNIT_NULL_FIXTURE_H_

#include "conformance/unit/require.h"

#include <webnn/compiled.h>
#include <webnn/ops.h>
#include <webnn/serialize.h>
#include <webnn/vulkan.h>

enum expected {
    ACCEPTED,
    REFUSED,
    UNCHECKED // returning is enough
};

// Made anew for each call, which may change all of it.
struct fixture {
    WNNContext context, new_context;
    WNNThreadPool pool, new_pool;
    WNNBudget budget, new_budget;
    WNNSharedWeights shared, new_shared;
    WNNGraphBuilder builder, new_builder;
    WNNGraph graph; // y = x + x, float32 [2, 2]
    WNNTensor tensor, constant, new_tensor;
    // Operands: float32 [2, 2], [2], [1, 2, 4, 4], [2, 2, 2, 2] and [2, 2, 2]; uint8 and int32 [2, 2];
    // weights of gru, gruCell, lstm and lstmCell; an operator's result.
    WNNOperand matrix, vector, image, filter, sequence, bytes, indices, weights[4], sum;
    WNNOperand sizes[3], numbers[2]; // constants of int32: [0, 0], [1, 1] and [2, 2]; 1 and 4
    WNNActivation activation;
    WNNOperand outputs[8];
    WNNStringView name;
    uint32_t dims[2], one[2], zero[2], two[2];
    WNNUint32List shape, ones, zeros, axes;
    WNNNumber number;
    WNNFuture future;
    float floats[4], out_floats[4];
    WNNDimension dimension;
    WNNNamedShape named_shape; // of the graph's input
    WNNOutputShape output_shape;
    WNNOperandDescriptor operand_descriptor;
    WNNTensorDescriptor tensor_descriptor, constant_descriptor;
    WNNContextDescriptor context_descriptor;
    WNNThreadPoolDescriptor pool_descriptor;
    WNNBudgetDescriptor budget_descriptor;
    WNNSharedWeightsDescriptor shared_descriptor;
    WNNResources resources;
    WNNAllocator allocator;
    WNNParallelFor parallel;
    WNNCache cache;
    WNNNamedOperand output;
    WNNNamedBuffer inputs[1], results[1];
    WNNNamedTensor input_tensors[1], output_tensors[1];
    WNNTensor result_tensor;
    WNNComputeDescriptor compute;
    WNNDispatchDescriptor dispatch;
    WNNExternalBytes loan;
    WNNConstantReference reference;
    WNNBuildCallbackInfo build_info;
    WNNRequestCallbackInfo request_info;
    WNNError error;
    WNNLimits limits;
    WNNContextCounters counters;
    WNNOpSupportLimits support;
    WNNFutureWaitInfo wait;
    WNNDeviceInfo devices[2];
    size_t count;
    WNNGraphProfile profile;
    WNNNodeProfile nodes[2];
    WNNGraphInfo graph_info;
    WNNNodeInfo node_infos[2];
    WNNVulkanHandles handles;
    WNNVulkanBuffer buffer;
    WNNVulkanMemory memory;
    WNNOperatorCall call, activation_call;
    WNNNamedAttribute attribute;
    WNNOperatorInfo operator_info;
    WNNOperandInfo operand_info;
    WNNAttributeInfo attribute_info;
    WNNRecordedOperand recorded_operand;
    WNNRecordedOperator recorded_operator;
    WNNSerializeDescriptor serialize;
    WNNDeserializeDescriptor deserialize;
    WNNDeserializedGraph deserialized;
    unsigned char serialized[4096]; // what the builder held when it was made
    WNNSaveGraphDescriptor save;    // of the graph, which can be saved

    WNNLoadGraphDescriptor load;
    WNNCompiledGraphInfo compiled_info;
    WNNTargetInfo target_info;
    _Alignas(64) unsigned char compiled[8192]; // what it is saved as
    char text[64];
    int calls; // of callbacks
    WNNStatus status;
    WNNGraph built;
};

struct null_case {
    const char *function, *what;
    void (*call)(struct fixture *fixture, int variant);
    int variant;
};
extern const struct null_case null_cases[];
extern const size_t null_case_count;

// What a function returned. Where a builder was used and an operand refused, it says why.
void check_WNNOperand(struct fixture *f, WNNOperand operand, enum expected expected);
void check_WNNActivation(struct fixture *f, WNNActivation activation, enum expected expected);
void check_WNNStatus(struct fixture *f, WNNStatus status, enum expected expected);
void check_WNNFuture(struct fixture *f, WNNFuture future, enum expected expected);
void check_size_t(struct fixture *f, size_t count, enum expected expected);

#endif
