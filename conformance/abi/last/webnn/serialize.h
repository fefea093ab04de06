// SPDX-License-Identifier: Apache-2.0
#ifndef WEBNN_SERIALIZE_H_
#define WEBNN_SERIALIZE_H_

#include <webnn/reflection.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum WNNConstantForm {
    WNNConstantForm_Value = 1,
    WNNConstantForm_FileRange = 2,
    WNNConstantForm_Id = 3,
    WNNConstantForm_Force32 = 0x7FFFFFFF
} WNNConstantForm;

#define WNN_MAX_CONSTANT_ID 256

typedef struct WNNConstantReference {
    WNNChainedStruct *nextInChain;
    WNNConstantForm form;
    uint64_t file, offset;
    const void *id;
    size_t idLength;
} WNNConstantReference;
#define WNN_CONSTANT_REFERENCE_INIT { NULL, WNNConstantForm_Value, 0, 0, NULL, 0 }

typedef WNNStatus (*WNNReferConstantCallback)(const WNNRecordedOperand *constant, WNNConstantReference *reference,
                                              void *userdata1, void *userdata2);

typedef WNNStatus (*WNNWriteCallback)(const void *data, size_t byteLength, uint64_t rest, void *userdata1, void *userdata2);

typedef struct WNNSerializeDescriptor {
    const WNNChainedStruct *nextInChain;
    size_t outputCount;
    const WNNNamedOperand *outputs;
    WNNReferConstantCallback refer;
    WNNWriteCallback write;
    void *userdata1, *userdata2;
} WNNSerializeDescriptor;
#define WNN_SERIALIZE_DESCRIPTOR_INIT { NULL, 0, NULL, NULL, NULL, NULL, NULL }

WNN_EXPORT WNNStatus wnnGraphBuilderSerialize(WNNGraphBuilder builder, const WNNSerializeDescriptor *descriptor,
                                              size_t capacity, char *message);

typedef WNNOperand (*WNNFindConstantCallback)(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                              const WNNConstantReference *reference, void *userdata1, void *userdata2);

typedef struct WNNDeserializeDescriptor {
    const WNNChainedStruct *nextInChain;
    const void *data;
    size_t byteLength;
    WNNFindConstantCallback find;
    void *userdata1, *userdata2;
} WNNDeserializeDescriptor;
#define WNN_DESERIALIZE_DESCRIPTOR_INIT { NULL, NULL, 0, NULL, NULL, NULL }

typedef struct WNNDeserializedGraph {
    WNNChainedStruct *nextInChain;
    size_t outputCount;
    const WNNNamedOperand *outputs;
    size_t operandCount;
    const WNNOperand *operands;
} WNNDeserializedGraph;
#define WNN_DESERIALIZED_GRAPH_INIT { NULL, 0, NULL, 0, NULL }

WNN_EXPORT WNNStatus wnnGraphBuilderDeserialize(WNNGraphBuilder builder, const WNNDeserializeDescriptor *descriptor,
                                                WNNDeserializedGraph *graph);

#ifdef __cplusplus
}
#endif

#endif
