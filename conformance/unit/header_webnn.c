// SPDX-License-Identifier: Apache-2.0
//
// <webnn/webnn.h> compiles alone, as C and as C++, and each of its INIT macros initialises its struct.

#include <webnn/webnn.h>

int main(void)
{
    const WNNStringView v0 = WNN_STRING_VIEW_INIT;
    const WNNUint32List v1 = WNN_UINT32_LIST_INIT;
    const WNNFloat32List v2 = WNN_FLOAT32_LIST_INIT;
    const WNNNumber v3 = WNN_NUMBER_INIT;
    const WNNOperandDescriptor v4 = WNN_OPERAND_DESCRIPTOR_INIT;
    const WNNBuildCallbackInfo v5 = WNN_BUILD_CALLBACK_INFO_INIT;
    const WNNRequestCallbackInfo v6 = WNN_REQUEST_CALLBACK_INFO_INIT;
    const WNNLimits v7 = WNN_LIMITS_INIT;
    const WNNContextLostCallbackInfo v8 = WNN_CONTEXT_LOST_CALLBACK_INFO_INIT;
    const WNNErrorCallbackInfo v9 = WNN_ERROR_CALLBACK_INFO_INIT;
    const WNNContextDescriptor v10 = WNN_CONTEXT_DESCRIPTOR_INIT;
    const WNNLentBytes v11 = WNN_LENT_BYTES_INIT;
    const WNNComputeDescriptor v12 = WNN_COMPUTE_DESCRIPTOR_INIT;
    const WNNTensorDescriptor v13 = WNN_TENSOR_DESCRIPTOR_INIT;
    const WNNDispatchDescriptor v14 = WNN_DISPATCH_DESCRIPTOR_INIT;
    const WNNDeviceInfo v15 = WNN_DEVICE_INFO_INIT;
    const WNNTrace v16 = WNN_TRACE_INIT;
    const WNNGraphInfo v17 = WNN_GRAPH_INFO_INIT;
    const WNNNodeInfo v18 = WNN_NODE_INFO_INIT;
    const WNNTimeLimit v19 = WNN_TIME_LIMIT_INIT;
    const WNNResources v20 = WNN_RESOURCES_INIT;
    const WNNBudgetDescriptor v21 = WNN_BUDGET_DESCRIPTOR_INIT;
    const WNNThreadPoolDescriptor v22 = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    return !(sizeof v0 > 0 && sizeof v1 > 0 && sizeof v2 > 0 && sizeof v3 > 0 && sizeof v4 > 0 &&
             sizeof v5 > 0 && sizeof v6 > 0 && sizeof v7 > 0 && sizeof v8 > 0 && sizeof v9 > 0 &&
             sizeof v10 > 0 && sizeof v11 > 0 && sizeof v12 > 0 && sizeof v13 > 0 && sizeof v14 > 0 &&
             sizeof v15 > 0 && sizeof v16 > 0 && sizeof v17 > 0 && sizeof v18 > 0 && sizeof v19 > 0 &&
             sizeof v20 > 0 && sizeof v21 > 0 && sizeof v22 > 0);
}
