// SPDX-License-Identifier: Apache-2.0
//
// <webnn/reflection.h> compiles alone, as C and as C++, and each of its INIT macros initializes its struct.

#include <webnn/reflection.h>

int main(void)
{
    const WNNOperatorInfo v0 = WNN_OPERATOR_INFO_INIT;
    const WNNOperandInfo v1 = WNN_OPERAND_INFO_INIT;
    const WNNAttributeValue v2 = WNN_ATTRIBUTE_VALUE_INIT;
    const WNNAttributeInfo v3 = WNN_ATTRIBUTE_INFO_INIT;
    const WNNNamedAttribute v4 = WNN_NAMED_ATTRIBUTE_INIT;
    const WNNOperatorCall v5 = WNN_OPERATOR_CALL_INIT;
    const WNNRecordedOperand v6 = WNN_RECORDED_OPERAND_INIT;
    const WNNRecordedOperator v7 = WNN_RECORDED_OPERATOR_INIT;
    return !(!v0.isActivation && v1.typeOf == WNN_INDEX_NONE && v2.type == WNNAttributeType_Undefined &&
             v3.defaultValue.type == WNNAttributeType_Undefined && !v4.name.data && !v5.inputs &&
             !v6.operand && !v7.outputs);
}
