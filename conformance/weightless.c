// SPDX-License-Identifier: Apache-2.0
#include "conformance/weightless.h"

#include "conformance/compiled.h"
#include "ops/shaping.h"
#include "runtime/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static WNNStatus refer(const WNNRecordedOperand *constant, WNNConstantReference *reference, void *unused,
                       void *index)
{
    (void)unused;
    *(uint32_t *)index = wnn_operand(constant->operand)->index;
    reference->form = WNNConstantForm_Id;
    reference->id = index;
    reference->idLength = sizeof(uint32_t);
    return WNNStatus_Success;
}

static const struct constant *find_constant(const struct WNNGraphBuilderImpl *builder,
                                            const WNNConstantReference *reference)
{
    uint32_t index;
    if (reference->form != WNNConstantForm_Id || reference->idLength != sizeof index)
        return NULL;
    memcpy(&index, reference->id, sizeof index);
    return index < builder->graph.operand_count ? builder->graph.operands[index]->constant : NULL;
}

static void free_copy(const void *data, size_t bytes, void *userdata1, void *userdata2)
{
    (void)bytes, (void)userdata1, (void)userdata2;
    free((void *)(uintptr_t)data);
}

// A block of its own, so that a sanitizer sees who reads what was given back.
static WNNExternalBytes lend(const struct constant *constant)
{
    void *copy = malloc(constant->bytes + 1);
    if (!copy)
        abort();
    memcpy(copy, constant->data, constant->bytes);
    return (WNNExternalBytes){NULL, copy, constant->bytes, free_copy, NULL, NULL};
}

static WNNStatus find_bytes(const WNNConstantReference *reference, uint64_t size, WNNExternalBytes *bytes,
                            void *builder, void *unused)
{
    const struct constant *constant = find_constant(builder, reference);
    (void)size, (void)unused;
    if (!constant)
        return WNNStatus_OperationError;
    *bytes = lend(constant);
    return WNNStatus_Success;
}

WNNConstantSource wnn_source_of(WNNGraphBuilder builder)
{
    return (WNNConstantSource){{NULL, WNNSType_ConstantSource}, find_bytes, builder, NULL};
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDu;
    return x ^ x >> 33;
}

struct naming {
    WNNGraphBuilder from;
    uint64_t salt;
};

// What may tell sizes is no mere name, with which no operator could be recorded.
static WNNOperand record_constant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                  const WNNConstantReference *reference, void *userdata, void *unused)
{
    const struct naming *naming = userdata;
    const struct constant *constant = find_constant(naming->from, reference);
    uint32_t index;
    (void)unused;
    memcpy(&index, reference->id, sizeof index);
    uint64_t choice = mix(naming->salt + index) % 4;
    bool integers = !wnn_dtype_is_float(descriptor->dataType), scalar = descriptor->shape.count == 0;
    if (choice < 2 && !((integers || scalar) && wnn_may_tell_sizes(descriptor->dataType, constant->bytes)))
        return wnnGraphBuilderPromisedConstant(builder, descriptor, reference);
    WNNNamedBytes name = WNN_NAMED_BYTES_INIT;
    name.reference = *reference;
    WNNExternalBytes bytes = lend(constant);
    bytes.nextInChain = choice < 3 ? &name.chain : NULL;
    return wnnGraphBuilderExternalConstant(builder, descriptor, &bytes);
}

static WNNStatus record(const struct naming *naming, size_t output_count, const WNNNamedOperand *outputs,
                        WNNGraphBuilder to, WNNDeserializedGraph *read, size_t message_size, char *message)
{
    struct serialized bytes = {0};
    uint32_t index;
    WNNSerializeDescriptor writer = WNN_SERIALIZE_DESCRIPTOR_INIT;
    WNNDeserializeDescriptor reader = WNN_DESERIALIZE_DESCRIPTOR_INIT;
    WNNError error = WNN_ERROR_INIT;
    writer.outputCount = output_count;
    writer.outputs = outputs;
    writer.refer = refer;
    writer.write = wnn_serialized_add;
    writer.userdata1 = &bytes;
    writer.userdata2 = &index;
    WNNStatus status = wnnGraphBuilderSerialize(naming->from, &writer, message_size, message);
    reader.data = bytes.data;
    reader.byteLength = bytes.size;
    reader.find = record_constant;
    reader.userdata1 = (void *)(uintptr_t)naming;
    if (status == WNNStatus_Success && (status = wnnGraphBuilderDeserialize(to, &reader, read)) != 0) {
        wnnGraphBuilderGetError(to, &error);
        snprintf(message, message_size, "%s", error.message.data);
    }
    free(bytes.data);
    return status;
}

// What was recorded is the same bytes when it is saved again. A plan may have packed, or put in an order of
// the backend's, what nobody had read before.
static void check_again(WNNGraph loaded, const struct serialized *bytes, const WNNChainedStruct *without,
                        size_t message_size, char *message)
{
    struct serialized again = {0};
    if (!wnn_save_chained(loaded, without, &again, message_size, message) && loaded->late &&
        !wnn_serialized_equal(bytes, &again))
        snprintf(message, message_size, "what was loaded is saved as something else");
    free(again.data);
}

WNNGraph wnn_build_weightless(WNNContext context, WNNGraphBuilder from, size_t output_count,
                              const WNNNamedOperand *outputs, uint64_t salt, struct serialized *bytes,
                              size_t message_size, char *message)
{
    static const WNNWeightless weightless = WNN_WEIGHTLESS_INIT;
    const struct naming naming = {from, salt};
    const WNNConstantSource source = wnn_source_of(from);
    WNNDeserializedGraph read = WNN_DESERIALIZED_GRAPH_INIT;
    WNNGraphBuilder builder;
    WNNGraph built = NULL, loaded = NULL;
    if (wnnContextCreateGraphBuilder(context, &builder))
        abort();
    message[0] = 0;
    if (!record(&naming, output_count, outputs, builder, &read, message_size, message) &&
        !wnn_build_chained(context, builder, &weightless.chain, read.outputCount, read.outputs, &built,
                           message_size, message) &&
        !wnn_save_chained(built, &weightless.chain, bytes, message_size, message) &&
        !wnn_load_chained(context, &source.chain, bytes->data, bytes->size, &loaded, message_size, message))
        check_again(loaded, bytes, &weightless.chain, message_size, message);
    wnnGraphRelease(built);
    wnnGraphBuilderRelease(builder);
    if (!message[0])
        return loaded;
    wnnGraphRelease(loaded);
    return NULL;
}
