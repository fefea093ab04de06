// SPDX-License-Identifier: Apache-2.0
#include "conformance/serialized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What an id is: where the bytes of a constant stand.
struct address {
    const void *data;
    size_t size;
};

// Of a call while it runs.
struct writing {
    struct serialized *to;
    struct address address; // the last one
};

static WNNStatus refer(const WNNRecordedOperand *constant, WNNConstantReference *reference, void *userdata1,
                       void *userdata2)
{
    struct writing *writing = userdata1;
    (void)userdata2;
    writing->address = (struct address){constant->data, constant->byteLength};
    reference->form = WNNConstantForm_Id;
    reference->id = &writing->address;
    reference->idLength = sizeof writing->address;
    return WNNStatus_Success;
}

WNNStatus wnn_serialized_add(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    struct serialized *to = userdata1;
    (void)userdata2;
    if (to->size + size + rest > to->capacity) {
        to->capacity = to->size + size + rest;
        to->data = realloc(to->data, to->capacity);
        if (!to->data)
            abort();
    }
    memcpy(to->data + to->size, data, size);
    to->size += size;
    return WNNStatus_Success;
}

static WNNStatus add(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    return wnn_serialized_add(data, size, rest, ((struct writing *)userdata1)->to, userdata2);
}

WNNStatus wnn_serialize(WNNGraphBuilder builder, size_t output_count, const WNNNamedOperand *outputs,
                        bool by_address, struct serialized *to, size_t message_size, char *message)
{
    struct writing writing = {.to = to};
    WNNSerializeDescriptor descriptor = WNN_SERIALIZE_DESCRIPTOR_INIT;
    descriptor.outputCount = output_count;
    descriptor.outputs = outputs;
    descriptor.refer = by_address ? refer : NULL;
    descriptor.write = add;
    descriptor.userdata1 = &writing;
    to->size = 0;
    return wnnGraphBuilderSerialize(builder, &descriptor, message_size, message);
}

static WNNOperand find(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                       const WNNConstantReference *reference, void *userdata1, void *userdata2)
{
    struct address address;
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    (void)userdata1;
    (void)userdata2;
    if (reference->form != WNNConstantForm_Id || reference->idLength != sizeof address)
        return NULL;
    memcpy(&address, reference->id, sizeof address);
    bytes.data = address.data;
    bytes.byteLength = address.size;
    return wnnGraphBuilderExternalConstant(builder, descriptor, &bytes);
}

WNNStatus wnn_deserialize(WNNGraphBuilder builder, const struct serialized *from, WNNDeserializedGraph *graph)
{
    WNNDeserializeDescriptor descriptor = WNN_DESERIALIZE_DESCRIPTOR_INIT;
    descriptor.data = from->data;
    descriptor.byteLength = from->size;
    descriptor.find = find;
    *graph = (WNNDeserializedGraph)WNN_DESERIALIZED_GRAPH_INIT;
    return wnnGraphBuilderDeserialize(builder, &descriptor, graph);
}

bool wnn_serialized_equal(const struct serialized *a, const struct serialized *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

const char *wnn_serialize_across(WNNGraphBuilder from, size_t output_count, const WNNNamedOperand *outputs,
                                 bool by_address, WNNGraphBuilder to, WNNDeserializedGraph *graph,
                                 size_t message_size, char *message)
{
    struct serialized first = {0}, second = {0};
    const char *problem = NULL;
    WNNError error = WNN_ERROR_INIT;
    if (wnn_serialize(from, output_count, outputs, by_address, &first, message_size, message)) {
        problem = message;
    } else if (wnn_deserialize(to, &first, graph)) {
        wnnGraphBuilderGetError(to, &error);
        snprintf(message, message_size, "%s", error.message.data);
        problem = message;
    } else if (wnn_serialize(to, graph->outputCount, graph->outputs, by_address, &second, message_size,
                             message)) {
        problem = message;
    } else if (!wnn_serialized_equal(&first, &second)) {
        problem = "what was read is written as something else";
    }
    free(first.data);
    free(second.data);
    return problem;
}
