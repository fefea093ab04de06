// SPDX-License-Identifier: Apache-2.0
//
// The operators as data: their names, operands and attributes, and functions that record any of them by its name. For
// front ends that are made of a table, as bindings of other languages and readers of files are; what is recorded is the
// same as by the functions of webnn/ops.h. conformance/js is an example.
//
// Operators, operands and attributes are found by their index, from 0 on. Indices belong to the library that runs: names
// are for ever. Text that is handed out is static. All functions that have no builder may be called from any thread.

#ifndef WEBNN_REFLECTION_H_
#define WEBNN_REFLECTION_H_

#include <webnn/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------------------------
// What there is
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNOperatorInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView name;                  // the specification's name of the method, or that of a form of 2024 (argMinAxes)
    size_t operandCount, attributeCount;
    bool isActivation;                   // wnnGraphBuilderCallActivation can make one of it
} WNNOperatorInfo;
#define WNN_OPERATOR_INFO_INIT { NULL, WNN_STRING_VIEW_INIT, 0, 0, false }

typedef enum WNNOperandKind {
    WNNOperandKind_Input = 1,  // an argument of the method: WNNOperatorCall.inputs
    WNNOperandKind_Option = 2, // a member of the options: given as an attribute of type Operand
    WNNOperandKind_Output = 3,
    WNNOperandKind_Force32 = 0x7FFFFFFF
} WNNOperandKind;

// No index.
#define WNN_INDEX_NONE UINT32_MAX

typedef struct WNNOperandInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView name; // the specification's name of the argument, option or output
    WNNOperandKind kind;
    bool isOptional;         // it need not be given, or is there only if an attribute asks for it
    bool isList;             // any number of operands stand for it (concat, split)
    uint32_t dataTypes;      // that are allowed: bit (1u << WNNDataType_X) for each; 0: that of another
    uint32_t typeOf;         // the index of that operand, or WNN_INDEX_NONE
    uint32_t minRank, maxRank;
} WNNOperandInfo;
#define WNN_OPERAND_INFO_INIT                                                                                        \
    { NULL, WNN_STRING_VIEW_INIT, WNNOperandKind_Input, false, false, 0, WNN_INDEX_NONE, 0, 0 }

// What an attribute is, and the member of WNNAttributeValue.value that holds it.
typedef enum WNNAttributeType {
    WNNAttributeType_Undefined = 0,
    WNNAttributeType_Uint32 = 1,       // u32
    WNNAttributeType_Int32 = 2,        // i32
    WNNAttributeType_Bool = 3,         // boolean
    WNNAttributeType_Float64 = 4,      // f64
    WNNAttributeType_Number = 5,       // number
    WNNAttributeType_Uint32List = 6,   // u32List
    WNNAttributeType_Float32List = 7,  // f32List
    WNNAttributeType_DataType = 8,     // dataType
    WNNAttributeType_Enumerator = 9,   // i32: an enumerator of webnn/ops.h, from 1 on
    WNNAttributeType_Activation = 10,  // activation
    WNNAttributeType_ActivationList = 11, // activationList
    WNNAttributeType_Operand = 12,     // operand: an optional one
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

// Attributes of one name or one place are the same thing in several types (split's number and list) or by several names
// (cast's dataType and type): one of them is given.
typedef struct WNNAttributeInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView name;
    WNNAttributeType type;
    bool isArgument;                // an argument of the method, which must be given; others are options
    uint32_t place;                 // the index of the first attribute in the same place
    WNNAttributeValue defaultValue; // type Undefined: there is none
    size_t enumeratorCount;         // the specification's names of the enumerators from 1 on
    const char *const *enumerators;
} WNNAttributeInfo;
#define WNN_ATTRIBUTE_INFO_INIT                                                                                      \
    { NULL, WNN_STRING_VIEW_INIT, WNNAttributeType_Undefined, false, 0, WNN_ATTRIBUTE_VALUE_INIT, 0, NULL }

WNN_EXPORT size_t wnnGetOperatorCount(void);

// The index of an operator, or WNN_INDEX_NONE.
WNN_EXPORT uint32_t wnnFindOperator(WNNStringView name);

// TypeError: no such index, no place for the answer, a chained struct.
WNN_EXPORT WNNStatus wnnGetOperatorInfo(uint32_t index, WNNOperatorInfo *info);
WNN_EXPORT WNNStatus wnnGetOperandInfo(uint32_t operatorIndex, uint32_t index, WNNOperandInfo *info);
WNN_EXPORT WNNStatus wnnGetAttributeInfo(uint32_t operatorIndex, uint32_t index, WNNAttributeInfo *info);

// ---------------------------------------------------------------------------------------------------------------
// Calling
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNNamedAttribute {
    WNNStringView name;
    WNNAttributeValue value;
} WNNNamedAttribute;
#define WNN_NAMED_ATTRIBUTE_INIT { WNN_STRING_VIEW_INIT, WNN_ATTRIBUTE_VALUE_INIT }

typedef struct WNNOperatorCall {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNStringView name; // of the operator
    size_t inputCount;
    const WNNOperand *inputs; // in the order of the operands whose kind is Input
    size_t attributeCount;
    const WNNNamedAttribute *attributes; // in any order; those that are not given have their defaults
} WNNOperatorCall;
#define WNN_OPERATOR_CALL_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, 0, NULL, 0, NULL }

// Records an operator. Writes its outputs, at most `capacity`, and returns their number, 0 after an error, which the builder
// keeps. TypeError, beside what the function of webnn/ops.h refuses: no such operator or attribute, one of another type or
// given twice, an argument that is missing, another number of inputs, no room for the outputs. The builder's thread.
WNN_EXPORT size_t wnnGraphBuilderCall(WNNGraphBuilder builder, const WNNOperatorCall *call, size_t capacity,
                                      WNNOperand *outputs);

// An activation, of the attributes of its operator; there are no inputs, and softmax has no axis.
WNN_EXPORT WNNActivation wnnGraphBuilderCallActivation(WNNGraphBuilder builder, const WNNOperatorCall *call);

// ---------------------------------------------------------------------------------------------------------------
// What has been recorded, for those that write graphs elsewhere. The builder's thread. Text and arrays live until the
// next call of the same function with the builder, or its release.
// ---------------------------------------------------------------------------------------------------------------

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
    WNNStringView name; // of an input
    WNNDataType dataType;
    WNNUint32List shape;
    const void *data; // of a constant, of any alignment, as long as the builder; NULL: it is promised
    size_t byteLength;
} WNNRecordedOperand;
#define WNN_RECORDED_OPERAND_INIT                                                                                    \
    { NULL, NULL, WNNOperandSource_Input, WNN_STRING_VIEW_INIT, WNNDataType_Undefined, WNN_UINT32_LIST_INIT, NULL, 0 }

// In the order in which they were made.
WNN_EXPORT size_t wnnGraphBuilderGetOperandCount(WNNGraphBuilder builder);
WNN_EXPORT WNNStatus wnnGraphBuilderGetOperand(WNNGraphBuilder builder, size_t index, WNNRecordedOperand *operand);

// The index of an operand in its builder; SIZE_MAX: NULL.
WNN_EXPORT size_t wnnOperandGetIndex(WNNOperand operand);

// An operator or activation as wnnGraphBuilderCall takes it: recording it again gives the same, with activations that
// are made again of what wnnGraphBuilderGetActivation tells. Attributes that have their defaults are left out; the others
// are complete, as they were computed with.
typedef struct WNNRecordedOperator {
    WNNChainedStruct *nextInChain;
    WNNOperatorCall call; // no chain
    size_t outputCount;   // none of an activation
    const WNNOperand *outputs;
} WNNRecordedOperator;
#define WNN_RECORDED_OPERATOR_INIT { NULL, WNN_OPERATOR_CALL_INIT, 0, NULL }

// In an order in which operands are made before they are used.
WNN_EXPORT size_t wnnGraphBuilderGetOperatorCount(WNNGraphBuilder builder);
WNN_EXPORT WNNStatus wnnGraphBuilderGetOperator(WNNGraphBuilder builder, size_t index,
                                                WNNRecordedOperator *recorded);
WNN_EXPORT WNNStatus wnnGraphBuilderGetActivation(WNNGraphBuilder builder, WNNActivation activation,
                                                  WNNRecordedOperator *recorded);

#ifdef __cplusplus
}
#endif

#endif
