// SPDX-License-Identifier: Apache-2.0
//
// <webnn/model.h> compiles alone, as C and as C++, and each of its INIT macros initializes its struct.

#include <webnn/model.h>

int main(void)
{
    const WNNModelDescriptor v0 = WNN_MODEL_DESCRIPTOR_INIT;
    const WNNModelInfo v1 = WNN_MODEL_INFO_INIT;
    const WNNModelInputValue v2 = WNN_MODEL_INPUT_VALUE_INIT;
    const WNNModelRecordOptions v3 = WNN_MODEL_RECORD_OPTIONS_INIT;
    const WNNModelSaveDescriptor v4 = WNN_MODEL_SAVE_DESCRIPTOR_INIT;
    return !(!v0.data && v1.nodeCount == 0 && v2.shape.count == WNN_LIST_ABSENT && !v3.narrow && !v3.onName &&
             !v4.names);
}
