// SPDX-License-Identifier: Apache-2.0
//
// A model that is recorded once and computed at many sizes, beside one that is recorded for each:
//
//   onnx-late MODEL INPUT SIZExSIZE...
//
// Prints "same", or "refused: " and why it cannot be recorded without its sizes; exit status 1: something
// else.

#include <webnn/model.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FLOATS (1 << 16)
#define TOLERANCE  1e-5 // of the largest: kernels for other sizes sum in another order

static char message[2048];

static WNNGraph build(WNNContext context, const char *path, const WNNModelInputValue *input)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    WNNGraph graph = NULL;
    descriptor.path.data = path;
    options.nameDimensions = input == NULL;
    options.inputCount = input != NULL;
    options.inputs = input;
    wnnModelBuildSync(&descriptor, context, &options, &graph, sizeof message, message);
    return graph;
}

// The number of floats, or 0 after an error.
static size_t compute(WNNContext context, WNNGraph graph, const WNNModelInputValue *input, float *result)
{
    static float values[MAX_FLOATS];
    size_t count, elements = 1;
    WNNNamedShape shape = {input->name, input->shape};
    WNNOutputShape outputs[8];
    for (size_t i = 0; i < input->shape.count; i++)
        elements *= input->shape.data[i];
    for (size_t i = 0; i < elements && i < MAX_FLOATS; i++)
        values[i] = (float)(i * 7919 % 255) / 255 - 0.5f;
    for (size_t i = 0; i < 8; i++)
        outputs[i] = (WNNOutputShape)WNN_OUTPUT_SHAPE_INIT;
    const WNNNamedDescriptor *named = wnnGraphGetOutputs(graph, &count);
    if (wnnGraphComputeShapes(graph, 1, &shape, 8, outputs, sizeof message, message) ||
        outputs[0].byteLength > MAX_FLOATS * sizeof *result || elements > MAX_FLOATS)
        return 0;
    WNNInputShapes shapes = WNN_INPUT_SHAPES_INIT;
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    WNNNamedBuffer in = {input->name, values, elements * sizeof *values, WNNDataType_Float32};
    WNNNamedBuffer out = {named[0].name, result, outputs[0].byteLength, WNNDataType_Float32};
    shapes.shapeCount = 1;
    shapes.shapes = &shape;
    descriptor.nextInChain = &shapes.chain;
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &in;
    descriptor.outputs = &out;
    if (count != 1 || wnnContextComputeSync(context, &descriptor, sizeof message, message))
        return 0;
    return outputs[0].byteLength / sizeof *result;
}

static bool is_same(WNNContext context, WNNGraph late, const char *path, const WNNModelInputValue *input)
{
    static float results[2][MAX_FLOATS];
    WNNGraph known = build(context, path, input);
    size_t count = known ? compute(context, known, input, results[0]) : 0;
    bool good = count > 0 && compute(context, late, input, results[1]) == count;
    double largest = 0, difference = 0;
    for (size_t i = 0; good && i < count; i++) {
        largest = fmax(largest, fabs((double)results[0][i]));
        difference = fmax(difference, fabs((double)results[0][i] - (double)results[1][i]));
        good = isfinite(results[1][i]);
    }
    wnnGraphRelease(known);
    if (good && difference > TOLERANCE * largest)
        snprintf(message, sizeof message, "%g off, of %g", difference, largest);
    return good && difference <= TOLERANCE * largest;
}

int main(int argc, char **argv)
{
    WNNContext context;
    if (argc < 4 || wnnCreateContext(NULL, &context))
        return 1;
    WNNGraph late = build(context, argv[1], NULL);
    bool good = true;
    if (!late)
        printf("refused: %s\n", message);
    for (int i = 3; late && good && i < argc; i++) {
        uint32_t sizes[8];
        WNNModelInputValue input = WNN_MODEL_INPUT_VALUE_INIT;
        input.name.data = argv[2];
        input.shape = (WNNUint32List){sizes, 0};
        for (char *at = argv[i]; *at && input.shape.count < 8; at += *at == 'x')
            sizes[input.shape.count++] = (uint32_t)strtoul(at, &at, 10);
        good = is_same(context, late, argv[1], &input);
        if (!good)
            fprintf(stderr, "%s: %s\n", argv[i], message);
    }
    if (late && good)
        puts("same");
    wnnGraphRelease(late);
    wnnContextRelease(context);
    return good ? 0 : 1;
}
