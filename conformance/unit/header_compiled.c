// SPDX-License-Identifier: Apache-2.0
//
// <webnn/compiled.h> compiles alone, as C and as C++, and each of its INIT macros initializes its struct.

#include <webnn/compiled.h>

int main(void)
{
    const WNNSavable v0 = WNN_SAVABLE_INIT;
    const WNNSaveGraphDescriptor v1 = WNN_SAVE_GRAPH_DESCRIPTOR_INIT;
    const WNNLoadGraphDescriptor v2 = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    const WNNCompiledGraphInfo v3 = WNN_COMPILED_GRAPH_INFO_INIT;
    const WNNRecompilable v4 = WNN_RECOMPILABLE_INIT;
    const WNNContextTarget v5 = WNN_CONTEXT_TARGET_INIT;
    const WNNTargetInfo v6 = WNN_TARGET_INFO_INIT;
    const WNNWeightless v7 = WNN_WEIGHTLESS_INIT;
    const WNNConstantSource v8 = WNN_CONSTANT_SOURCE_INIT;
    return !(v0.chain.sType == WNNSType_Savable && !v1.write && !v2.bytes.data && !v2.skipDataCheck &&
             !v3.dataBytes && v4.chain.sType == WNNSType_Recompilable &&
             v5.chain.sType == WNNSType_ContextTarget && !v5.target.data && !v6.isDescribed &&
             v7.chain.sType == WNNSType_Weightless && v8.chain.sType == WNNSType_ConstantSource && !v8.find);
}
