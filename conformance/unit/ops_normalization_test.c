// SPDX-License-Identifier: Apache-2.0
//
// Validation of batch, instance and layer normalization.

#include "conformance/unit/validation.h"

static const WNNBatchNormalizationOptions batch_defaults = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
static const WNNInstanceNormalizationOptions instance_defaults = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
static const WNNLayerNormalizationOptions layer_defaults = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
static WNNBatchNormalizationOptions batch;
static WNNInstanceNormalizationOptions instance;
static WNNLayerNormalizationOptions layer;
#define BATCH(x, m, v, ...)                                                                                  \
    (batch = batch_defaults, __VA_ARGS__, wnnGraphBuilderBatchNormalization(b, x, m, v, &batch))
#define INSTANCE(x, ...)                                                                                     \
    (instance = instance_defaults, __VA_ARGS__, wnnGraphBuilderInstanceNormalization(b, x, &instance))
#define LAYER(x, ...) (layer = layer_defaults, __VA_ARGS__, wnnGraphBuilderLayerNormalization(b, x, &layer))

static void test_batch(void)
{
    WNNOperand x = F32(2, 3, 4), three = F32(3);
    ACCEPTS(wnnGraphBuilderBatchNormalization(b, x, three, three, NULL), Float32, LIST(2, 3, 4));
    ACCEPTS(BATCH(F32(4), F32(4), F32(4), batch.axis = 0), Float32, LIST(4));
    ACCEPTS(BATCH(x, F32(4), F32(4), batch.axis = 2, batch.scale = F32(4), batch.bias = F32(4)), Float32,
            LIST(2, 3, 4));
    ACCEPTS(BATCH(x, three, three, batch.epsilon = -1), Float32, LIST(2, 3, 4));
    ACCEPTS(BATCH(F32(2, 3), three, three, batch.activation = wnnGraphBuilderActivationSoftmax(b, NULL)),
            Float32, LIST(2, 3));
    REFUSES(BATCH(x, three, three, batch.axis = 3),
            "batchNormalization: axis is 3; input [2, 3, 4] has rank 3");
    REFUSES(wnnGraphBuilderBatchNormalization(b, x, F32(4), three, NULL),
            "batchNormalization: mean has shape [4]; expected [3] (input [2, 3, 4])");
    REFUSES(wnnGraphBuilderBatchNormalization(b, x, three, F32(2), NULL),
            "batchNormalization: variance has shape [2]; expected [3] (input [2, 3, 4])");
    REFUSES(BATCH(x, three, three, batch.scale = F32(1)),
            "batchNormalization: scale has shape [1]; expected [3] (input [2, 3, 4])");
    REFUSES(BATCH(x, three, three, batch.bias = F32(4)),
            "batchNormalization: bias has shape [4]; expected [3] (input [2, 3, 4])");
    REFUSES(BATCH(x, three, three, batch.epsilon = NAN),
            "batchNormalization: epsilon is nan; expected a finite number");
    REFUSES(BATCH(x, three, three, batch.activation = wnnGraphBuilderActivationSoftmax(b, NULL)),
            "batchNormalization: activation softmax on an output of shape [2, 3, 4]; expected rank 2");
    REFUSES(wnnGraphBuilderBatchNormalization(b, x, F16(3), three, NULL),
            "batchNormalization: mean has data type float16; expected float32, the type of input");
}

static void test_instance(void)
{
    WNNOperand x = F32(2, 3, 4, 5);
    ACCEPTS(wnnGraphBuilderInstanceNormalization(b, x, NULL), Float32, LIST(2, 3, 4, 5));
    ACCEPTS(INSTANCE(x, instance.scale = F32(3), instance.bias = F32(3)), Float32, LIST(2, 3, 4, 5));
    ACCEPTS(INSTANCE(x, instance.layout = WNNInputOperandLayout_NHWC, instance.bias = F32(5)), Float32,
            LIST(2, 3, 4, 5));
    REFUSES(INSTANCE(x, instance.scale = F32(5)),
            "instanceNormalization: scale has shape [5]; expected [3] (input [2, 3, 4, 5])");
    REFUSES(INSTANCE(x, instance.layout = WNNInputOperandLayout_NHWC, instance.bias = F32(3)),
            "instanceNormalization: bias has shape [3]; expected [5] (input [2, 3, 4, 5])");
    REFUSES(INSTANCE(x, instance.epsilon = INFINITY),
            "instanceNormalization: epsilon is inf; expected a finite number");
    REFUSES(INSTANCE(x, instance.layout = (WNNInputOperandLayout)9),
            "instanceNormalization: layout is 9; expected an enumerator from 1 to 2");
    REFUSES(wnnGraphBuilderInstanceNormalization(b, F32(2, 3), NULL),
            "instanceNormalization: input has shape [2, 3] of rank 2; expected rank 4");
}

static void test_layer(void)
{
    WNNOperand x = F32(2, 3, 4);
    ACCEPTS(wnnGraphBuilderLayerNormalization(b, x, NULL), Float32, LIST(2, 3, 4));
    // Absent axes: all but the first, which is none for rank 0 and 1.
    ACCEPTS(LAYER(x, layer.scale = F32(3, 4), layer.bias = F32(3, 4)), Float32, LIST(2, 3, 4));
    ACCEPTS(LAYER(SCALAR(Float32), layer.scale = SCALAR(Float32)), Float32, EMPTY);
    ACCEPTS(LAYER(F32(3), layer.bias = SCALAR(Float32)), Float32, LIST(3));
    ACCEPTS(LAYER(x, layer.axes = EMPTY, layer.scale = SCALAR(Float32)), Float32, LIST(2, 3, 4));
    ACCEPTS(LAYER(x, layer.axes = LIST(2, 0), layer.scale = F32(4, 2)), Float32, LIST(2, 3, 4));
    REFUSES(LAYER(x, layer.axes = LIST(2, 0), layer.scale = F32(2, 4)),
            "layerNormalization: scale [2, 4] has size 2 in dimension 0; expected 4, dimension 2 of input "
            "[2, 3, 4]");
    REFUSES(LAYER(x, layer.bias = F32(3, 3)), "layerNormalization: bias [3, 3] has size 3 in dimension 1; "
                                              "expected 4, dimension 2 of input [2, 3, 4]");
    REFUSES(LAYER(x, layer.scale = F32(4)),
            "layerNormalization: scale [4] has rank 1; expected 2, the number of axes");
    REFUSES(LAYER(x, layer.axes = EMPTY, layer.bias = F32(1)),
            "layerNormalization: bias [1] has rank 1; expected 0, the number of axes");
    REFUSES(LAYER(x, layer.axes = LIST(3)), "layerNormalization: axes[0] is 3; input [2, 3, 4] has rank 3");
    REFUSES(LAYER(x, layer.axes = LIST(1, 2, 1)), "layerNormalization: axes[2] repeats axis 1");
    REFUSES(LAYER(x, layer.epsilon = -INFINITY),
            "layerNormalization: epsilon is -inf; expected a finite number");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_batch());
    CASE(test_instance());
    CASE(test_layer());
    end();
    return cases_end();
}
