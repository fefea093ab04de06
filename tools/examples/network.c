// SPDX-License-Identifier: Apache-2.0
#include "tools/examples/network.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Those of ASCII, and those of Unicode as UTF-8 has them, from C2 80 to C2 9F.
static void hide_controls(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if ((*c < ' ' && *c != '\n') || *c == 0x7F || (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0))
            *c = '?';
}

void complain(const char *format, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    hide_controls(line);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
}

// Gets the message of what a function reports by its status alone.
static void report_error(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
    (void)userdata1, (void)userdata2;
    complain("%s: %.*s", wnnStatusName(status).data, (int)message.length, message.data);
}

WNNContext open_context(int *argc, char ***argv)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.errorCallbackInfo.callback = report_error;
    if (*argc > 1 && strcmp((*argv)[1], "--gpu") == 0) {
        descriptor.deviceType = WNNDeviceType_GPU;
        --*argc, ++*argv;
    }
    // A model's file may be made shorter while it is mapped; this program is not ended then.
    wnnModelGuardFiles();
    WNNContext context = NULL;
    wnnCreateContext(&descriptor, &context);
    return context;
}

bool network_open(struct network *network, WNNContext context, const char *path)
{
    *network = (struct network){.path = path, .context = context};
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    file.path.data = path;
    char message[1024];
    WNNStatus status = wnnModelOpen(&file, &network->model, sizeof message, message);
    if (status != WNNStatus_Success)
        complain("%s", message);
    return status == WNNStatus_Success;
}

bool network_build(struct network *network, size_t count, const WNNModelInputValue *inputs)
{
    WNNGraphBuilder builder;
    if (wnnContextCreateGraphBuilder(network->context, &builder) != WNNStatus_Success)
        return false;

    // Record: the model's operators are put into the builder, and its outputs become operands.
    size_t outputCount;
    wnnModelGetOutputs(network->model, &outputCount);
    WNNNamedOperand *outputs = calloc(outputCount, sizeof *outputs);
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    options.inputCount = count;
    options.inputs = inputs;
    char message[4096] = "out of memory";
    WNNStatus status = outputs ? wnnModelRecord(network->model, builder, &options, outputCount, outputs,
                                                &outputCount, sizeof message, message)
                               : WNNStatus_OutOfMemory;

    if (status != WNNStatus_Success)
        complain("%s", message);

    // Build: the compiler makes a graph that computes them.
    wnnGraphRelease(network->graph);
    network->graph = NULL;
    if (status == WNNStatus_Success) {
        status =
            wnnGraphBuilderBuildSync(builder, outputCount, outputs, &network->graph, sizeof message, message);
        if (status != WNNStatus_Success)
            complain("%s: %s", network->path, message);
    }
    free(outputs);
    wnnGraphBuilderRelease(builder);
    return status == WNNStatus_Success;
}

// Elements of a shape; those of an operand are fewer than 2^31.
static size_t count_elements(WNNUint32List shape)
{
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    return count;
}

static bool build_for_shape(struct network *network, const uint32_t shape[4])
{
    if (network->graph && memcmp(network->shape, shape, sizeof network->shape) == 0)
        return true;
    size_t inputCount, outputCount;
    const WNNModelValue *input = wnnModelGetInputs(network->model, &inputCount),
                        *output = wnnModelGetOutputs(network->model, &outputCount);
    if (inputCount != 1 || outputCount != 1 || input->dataType != WNNDataType_Float32 ||
        output->dataType != WNNDataType_Float32) {
        complain("%s: expected a network with one input and one output of float32", network->path);
        return false;
    }
    WNNModelInputValue value = WNN_MODEL_INPUT_VALUE_INIT;
    value.name = input->name;
    value.shape = (WNNUint32List){shape, 4};
    memcpy(network->shape, shape, sizeof network->shape);
    return network_build(network, 1, &value);
}

float *network_apply(struct network *network, const uint32_t shape[4], const float *input,
                     WNNUint32List *output_shape)
{
    if (!build_for_shape(network, shape))
        return NULL;
    size_t count;
    const WNNNamedDescriptor *from = wnnGraphGetInputs(network->graph, &count),
                             *to = wnnGraphGetOutputs(network->graph, &count);
    *output_shape = to->descriptor.shape;
    size_t bytes = count_elements(*output_shape) * sizeof(float);
    float *output = malloc(bytes);
    char message[1024] = "out of memory";
    WNNNamedBuffer in = WNN_NAMED_BUFFER_INIT, out = WNN_NAMED_BUFFER_INIT;
    in.name = from->name;
    in.data = (void *)input; // which is only read
    in.byteLength = count_elements(from->descriptor.shape) * sizeof(float);
    out.name = to->name;
    out.data = output;
    out.byteLength = bytes;

    // Compute: buffers are named as the inputs and outputs are, and may lie anywhere.
    WNNComputeDescriptor compute = WNN_COMPUTE_DESCRIPTOR_INIT;
    compute.graph = network->graph;
    compute.inputCount = compute.outputCount = 1;
    compute.inputs = &in;
    compute.outputs = &out;
    if (!output ||
        wnnContextComputeSync(network->context, &compute, sizeof message, message) != WNNStatus_Success) {
        complain("%s: %s", network->path, message);
        free(output);
        return NULL;
    }
    return output;
}

void network_close(struct network *network)
{
    wnnGraphRelease(network->graph);
    wnnModelRelease(network->model);
}
