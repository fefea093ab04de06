// SPDX-License-Identifier: Apache-2.0
//
// <webnn/webnn.h> compiles alone, as C and as C++, and each of its INIT macros initializes its struct.

#include <webnn/webnn.h>

int main(void)
{
    const WNNStringView v0 = WNN_STRING_VIEW_INIT;
    const WNNUint32List v1 = WNN_UINT32_LIST_INIT;
    const WNNFloat32List v2 = WNN_FLOAT32_LIST_INIT;
    const WNNNumber v3 = WNN_NUMBER_INIT;
    const WNNError v4 = WNN_ERROR_INIT;
    const WNNOperandDescriptor v5 = WNN_OPERAND_DESCRIPTOR_INIT;
    const WNNFuture v6 = WNN_FUTURE_INIT;
    const WNNFutureWaitInfo v7 = WNN_FUTURE_WAIT_INFO_INIT;
    const WNNTimeLimit v8 = WNN_TIME_LIMIT_INIT;
    const WNNBuildCallbackInfo v9 = WNN_BUILD_CALLBACK_INFO_INIT;
    const WNNRequestCallbackInfo v10 = WNN_REQUEST_CALLBACK_INFO_INIT;
    const WNNAllocator v11 = WNN_ALLOCATOR_INIT;
    const WNNParallelFor v12 = WNN_PARALLEL_FOR_INIT;
    const WNNResources v13 = WNN_RESOURCES_INIT;
    const WNNBudgetDescriptor v14 = WNN_BUDGET_DESCRIPTOR_INIT;
    const WNNThreadPoolDescriptor v15 = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    const WNNCache v16 = WNN_CACHE_INIT;
    const WNNLimits v17 = WNN_LIMITS_INIT;
    const WNNContextLostCallbackInfo v18 = WNN_CONTEXT_LOST_CALLBACK_INFO_INIT;
    const WNNErrorCallbackInfo v19 = WNN_ERROR_CALLBACK_INFO_INIT;
    const WNNDeviceInfo v20 = WNN_DEVICE_INFO_INIT;
    const WNNTraceEvent v21 = WNN_TRACE_EVENT_INIT;
    const WNNTrace v22 = WNN_TRACE_INIT;
    const WNNLog v23 = WNN_LOG_INIT;
    const WNNContextDescriptor v24 = WNN_CONTEXT_DESCRIPTOR_INIT;
    const WNNContextCounters v25 = WNN_CONTEXT_COUNTERS_INIT;
    const WNNTensorLimits v26 = WNN_TENSOR_LIMITS_INIT;
    const WNNOperandLimits v27 = WNN_OPERAND_LIMITS_INIT;
    const WNNOperatorLimits v28 = WNN_OPERATOR_LIMITS_INIT;
    const WNNOpSupportLimits v29 = WNN_OP_SUPPORT_LIMITS_INIT;
    const WNNExternalBytes v30 = WNN_EXTERNAL_BYTES_INIT;
    const WNNNamedOperand v31 = WNN_NAMED_OPERAND_INIT;
    const WNNNamedDescriptor v32 = WNN_NAMED_DESCRIPTOR_INIT;
    const WNNGraphInfo v33 = WNN_GRAPH_INFO_INIT;
    const WNNNodeInfo v34 = WNN_NODE_INFO_INIT;
    const WNNGraphProfile v35 = WNN_GRAPH_PROFILE_INIT;
    const WNNNodeProfile v36 = WNN_NODE_PROFILE_INIT;
    const WNNNamedBuffer v37 = WNN_NAMED_BUFFER_INIT;
    const WNNComputeDescriptor v38 = WNN_COMPUTE_DESCRIPTOR_INIT;
    const WNNTensorDescriptor v39 = WNN_TENSOR_DESCRIPTOR_INIT;
    const WNNNamedTensor v40 = WNN_NAMED_TENSOR_INIT;
    const WNNDispatchDescriptor v41 = WNN_DISPATCH_DESCRIPTOR_INIT;
    const WNNDimension v42 = WNN_DIMENSION_INIT;
    const WNNNamedDimensions v43 = WNN_NAMED_DIMENSIONS_INIT;
    const WNNNamedShape v44 = WNN_NAMED_SHAPE_INIT;
    const WNNInputShapes v45 = WNN_INPUT_SHAPES_INIT;
    const WNNOutputShape v46 = WNN_OUTPUT_SHAPE_INIT;
    const WNNContextNumerics v47 = WNN_CONTEXT_NUMERICS_INIT;
    const WNNSharedWeightsDescriptor v48 = WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    const WNNWeightSharing v49 = WNN_WEIGHT_SHARING_INIT;
    return !(sizeof v48 > 0 && sizeof v49 > 0 && sizeof v0 > 0 && sizeof v1 > 0 && sizeof v2 > 0 &&
             sizeof v3 > 0 && sizeof v4 > 0 && sizeof v5 > 0 && sizeof v6 > 0 && sizeof v7 > 0 &&
             sizeof v8 > 0 && sizeof v9 > 0 && sizeof v10 > 0 && sizeof v11 > 0 && sizeof v12 > 0 &&
             sizeof v13 > 0 && sizeof v14 > 0 && sizeof v15 > 0 && sizeof v16 > 0 && sizeof v17 > 0 &&
             sizeof v18 > 0 && sizeof v19 > 0 && sizeof v20 > 0 && sizeof v21 > 0 && sizeof v22 > 0 &&
             sizeof v23 > 0 && sizeof v24 > 0 && sizeof v25 > 0 && sizeof v26 > 0 && sizeof v27 > 0 &&
             sizeof v28 > 0 && sizeof v29 > 0 && sizeof v30 > 0 && sizeof v31 > 0 && sizeof v32 > 0 &&
             sizeof v33 > 0 && sizeof v34 > 0 && sizeof v35 > 0 && sizeof v36 > 0 && sizeof v37 > 0 &&
             sizeof v38 > 0 && sizeof v39 > 0 && sizeof v40 > 0 && sizeof v41 > 0 && sizeof v42 > 0 &&
             sizeof v43 > 0 && sizeof v44 > 0 && sizeof v45 > 0 && sizeof v46 > 0 && sizeof v47 > 0);
}
