// SPDX-License-Identifier: Apache-2.0
#ifndef WEBNN_REFLECTION_H_
#define WEBNN_REFLECTION_H_

#include <webnn/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WNNOperatorInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView name;
    size_t operandCount, attributeCount;
    bool isActivation;
} WNNOperatorInfo;
#define WNN_OPERATOR_INFO_INIT { NULL, WNN_STRING_VIEW_INIT, 0, 0, false }

typedef enum WNNOperandKind {
    WNNOperandKind_Input = 1,
    WNNOperandKind_Option = 2,
    WNNOperandKind_Output = 3,
    WNNOperandKind_Force32 = 0x7FFFFFFF
} WNNOperandKind;

#define WNN_INDEX_NONE UINT32_MAX

typedef struct WNNOperandInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView name;
    WNNOperandKind kind;
    bool isOptional;
    bool isList;
    uint32_t dataTypes;
    uint32_t typeOf;
    uint32_t minRank, maxRank;
} WNNOperandInfo;
#define WNN_OPERAND_INFO_INIT                                                                                        \
    { NULL, WNN_STRING_VIEW_INIT, WNNOperandKind_Input, false, false, 0, WNN_INDEX_NONE, 0, 0 }

typedef enum WNNAttributeType {
    WNNAttributeType_Undefined = 0,
    WNNAttributeType_Uint32 = 1,
    WNNAttributeType_Int32 = 2,
    WNNAttributeType_Bool = 3,
    WNNAttributeType_Float64 = 4,
    WNNAttributeType_Number = 5,
    WNNAttributeType_Uint32List = 6,
    WNNAttributeType_Float32List = 7,
    WNNAttributeType_DataType = 8,
    WNNAttributeType_Enumerator = 9,
    WNNAttributeType_Activation = 10,
    WNNAttributeType_ActivationList = 11,
    WNNAttributeType_Operand = 12,
    WNNAttributeType_Force32 = 0x7FFFFFFF
} WNNAttributeType;

typedef struct WNNAttributeValue {
    WNNAttributeType type;
    union {
        uint32_t u32;
        int32_t i32;
        bool boolean;
        double f64;
        WNNNumber number;
        WNNUint32List u32List;
        WNNFloat32List f32List;
        WNNDataType dataType;
        WNNActivation activation;
        WNNActivationList activationList;
        WNNOperand operand;
    } value;
} WNNAttributeValue;
#define WNN_ATTRIBUTE_VALUE_INIT { WNNAttributeType_Undefined, { 0 } }

typedef struct WNNAttributeInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView name;
    WNNAttributeType type;
    bool isArgument;
    uint32_t place;
    WNNAttributeValue defaultValue;
    size_t enumeratorCount;
    const char *const *enumerators;
} WNNAttributeInfo;
#define WNN_ATTRIBUTE_INFO_INIT                                                                                      \
    { NULL, WNN_STRING_VIEW_INIT, WNNAttributeType_Undefined, false, 0, WNN_ATTRIBUTE_VALUE_INIT, 0, NULL }

WNN_EXPORT size_t wnnGetOperatorCount(void);

WNN_EXPORT uint32_t wnnFindOperator(WNNStringView name);

WNN_EXPORT WNNStatus wnnGetOperatorInfo(uint32_t index, WNNOperatorInfo *info);
WNN_EXPORT WNNStatus wnnGetOperandInfo(uint32_t operatorIndex, uint32_t index, WNNOperandInfo *info);
WNN_EXPORT WNNStatus wnnGetAttributeInfo(uint32_t operatorIndex, uint32_t index, WNNAttributeInfo *info);

typedef struct WNNNamedAttribute {
    WNNStringView name;
    WNNAttributeValue value;
} WNNNamedAttribute;
#define WNN_NAMED_ATTRIBUTE_INIT { WNN_STRING_VIEW_INIT, WNN_ATTRIBUTE_VALUE_INIT }

typedef struct WNNOperatorCall {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNStringView name;
    size_t inputCount;
    const WNNOperand *inputs;
    size_t attributeCount;
    const WNNNamedAttribute *attributes;
} WNNOperatorCall;
#define WNN_OPERATOR_CALL_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, 0, NULL, 0, NULL }

WNN_EXPORT size_t wnnGraphBuilderCall(WNNGraphBuilder builder, const WNNOperatorCall *call, size_t capacity,
                                      WNNOperand *outputs);

WNN_EXPORT WNNActivation wnnGraphBuilderCallActivation(WNNGraphBuilder builder, const WNNOperatorCall *call);

typedef enum WNNOperandSource {
    WNNOperandSource_Input = 1,
    WNNOperandSource_Constant = 2,
    WNNOperandSource_Operator = 3,
    WNNOperandSource_Force32 = 0x7FFFFFFF
} WNNOperandSource;

typedef struct WNNRecordedOperand {
    WNNChainedStruct *nextInChain;
    WNNOperand operand;
    WNNOperandSource source;
    WNNStringView name;
    WNNDataType dataType;
    WNNUint32List shape;
    const void *data;
    size_t byteLength;
} WNNRecordedOperand;
#define WNN_RECORDED_OPERAND_INIT                                                                                    \
    { NULL, NULL, WNNOperandSource_Input, WNN_STRING_VIEW_INIT, WNNDataType_Undefined, WNN_UINT32_LIST_INIT, NULL, 0 }

WNN_EXPORT size_t wnnGraphBuilderGetOperandCount(WNNGraphBuilder builder);
WNN_EXPORT WNNStatus wnnGraphBuilderGetOperand(WNNGraphBuilder builder, size_t index, WNNRecordedOperand *operand);

WNN_EXPORT size_t wnnOperandGetIndex(WNNOperand operand);

typedef struct WNNRecordedOperator {
    WNNChainedStruct *nextInChain;
    WNNOperatorCall call;
    size_t outputCount;
    const WNNOperand *outputs;
} WNNRecordedOperator;
#define WNN_RECORDED_OPERATOR_INIT { NULL, WNN_OPERATOR_CALL_INIT, 0, NULL }

WNN_EXPORT size_t wnnGraphBuilderGetOperatorCount(WNNGraphBuilder builder);
WNN_EXPORT WNNStatus wnnGraphBuilderGetOperator(WNNGraphBuilder builder, size_t index,
                                                WNNRecordedOperator *recorded);
WNN_EXPORT WNNStatus wnnGraphBuilderGetActivation(WNNGraphBuilder builder, WNNActivation activation,
                                                  WNNRecordedOperator *recorded);

#ifdef __cplusplus
}
#endif

#endif
