// SPDX-License-Identifier: Apache-2.0
//
// Recurrent networks whose steps threads share: the same bits for any number of threads, and what the scalar
// reference computes but for rounding, in all directions, forms and sizes, also of parts of vectors.

#include "conformance/backends.h"
#include "conformance/reference/reference.h"
#include "conformance/unit/differential_fixture.h"

enum {
    STEPS = 5,
    INPUTS = 9
};

struct form {
    bool lstm, reset_after, initial, constant, peephole, biased;
    WNNRecurrentNetworkDirection direction;
    enum {
        USUAL,
        OTHERS, // relu, elu and linear
        ROWS    // softmax, which looks at all units
    } activations;
    uint32_t batch, hidden;
};

static uint32_t directions_of(const struct form *form)
{
    return form->direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
}

// Small numbers, as constants or as inputs.
static WNNOperand weights(struct subject *s, bool constant, unsigned rank, const uint32_t *dims,
                          unsigned seed)
{
    static float floats[MAX_BYTES / sizeof(float)];
    static uint16_t halves[MAX_BYTES / sizeof(float)];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    size_t count = 1;
    if (!constant)
        return input(s, rank, dims);
    descriptor.dataType = s->type;
    descriptor.shape = (WNNUint32List){dims, rank};
    for (unsigned d = 0; d < rank; d++)
        count *= dims[d];
    REQUIRE(count <= sizeof floats / sizeof floats[0]);
    fill_any(floats, WNNDataType_Float32, count, seed);
    for (size_t i = 0; i < count; i++)
        halves[i] = wnn_half_from_float(floats[i] *= 0.1f);
    return s->type == WNNDataType_Float16
               ? wnnGraphBuilderConstant(s->builder, &descriptor, halves, count * sizeof halves[0])
               : wnnGraphBuilderConstant(s->builder, &descriptor, floats, count * sizeof floats[0]);
}

static WNNActivation activation(WNNGraphBuilder b, const struct form *form, unsigned i)
{
    if (form->activations == ROWS && i == 1)
        return wnnGraphBuilderActivationSoftmax(b, NULL);
    return i == 0   ? wnnGraphBuilderActivationRelu(b, NULL)
           : i == 1 ? wnnGraphBuilderActivationElu(b, NULL)
                    : wnnGraphBuilderActivationLinear(b, NULL);
}

static void make(struct subject *s)
{
    const struct form *form = s->argument;
    WNNGraphBuilder b = s->builder;
    uint32_t n = directions_of(form), h = form->hidden, gates = form->lstm ? 4 : 3;
    WNNOperand outputs[3] = {NULL, NULL, NULL};
    WNNActivation list[3];
    WNNOperand x = INPUT(s, STEPS, form->batch, INPUTS);
    WNNOperand w = weights(s, form->constant, 3, (uint32_t[]){n, gates * h, INPUTS}, 2);
    WNNOperand r = weights(s, form->constant, 3, (uint32_t[]){n, gates * h, h}, 3);
    WNNOperand bias = form->biased ? weights(s, true, 2, (uint32_t[]){n, gates * h}, 4) : NULL;
    WNNOperand state = form->initial ? INPUT(s, n, form->batch, h) : NULL;
    WNNActivationList activations = WNN_ACTIVATION_LIST_INIT;
    for (unsigned i = 0; i < 3; i++)
        list[i] = activation(b, form, i);
    if (form->activations != USUAL)
        activations = (WNNActivationList){list, form->lstm ? 3 : 2};
    size_t count;
    if (form->lstm) {
        WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
        options.bias = options.recurrentBias = bias;
        options.initialHiddenState = options.initialCellState = state;
        options.peepholeWeight = form->peephole ? weights(s, true, 2, (uint32_t[]){n, 3 * h}, 5) : NULL;
        options.returnSequence = true;
        options.direction = form->direction;
        options.activations = activations;
        count = wnnGraphBuilderLstm(b, x, w, r, STEPS, h, &options, outputs);
    } else {
        WNNGruOptions options = WNN_GRU_OPTIONS_INIT;
        options.bias = options.recurrentBias = bias;
        options.initialHiddenState = state;
        options.resetAfter = form->reset_after;
        options.returnSequence = true;
        options.direction = form->direction;
        options.activations = activations;
        count = wnnGraphBuilderGru(b, x, w, r, STEPS, h, &options, outputs);
    }
    REQUIRE_EQUAL_INT(count, form->lstm ? 3 : 2);
    for (size_t i = 0; i < count; i++)
        output(s, outputs[i]);
}

// Weights that are inputs are small, too.
static void fill(void *data, WNNDataType type, size_t count, unsigned seed)
{
    fill_any(data, type, count, seed);
    for (size_t i = 0; i < count; i++) {
        if (type == WNNDataType_Float16)
            ((uint16_t *)data)[i] = wnn_half_from_float(0.2f * wnn_half_to_float(((uint16_t *)data)[i]));
        else
            ((float *)data)[i] *= 0.2f;
    }
}

static WNNContext create(unsigned threads)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context = NULL;
    descriptor.threadCount = threads;
    REQUIRE_EQUAL_INT(wnn_create_context_on(wnn_backend_find("cpu"), &descriptor, &context),
                      WNNStatus_Success);
    return context;
}

static void compare_form(const WNNContext contexts[4], WNNContext reference, const struct form *form,
                         WNNDataType type)
{
    static unsigned char results[4][MAX_BYTES], expected[MAX_BYTES];
    const struct trial trial = {make, form, type, fill, NULL};
    size_t bytes = 0;
    for (unsigned i = 0; i < 4; i++) {
        memset(results[i], 0, bytes ? bytes : MAX_BYTES);
        bytes = run_trial(contexts[i], &trial, results[i]);
        REQUIRE(memcmp(results[i], results[0], bytes) == 0);
    }
    memset(expected, 0, bytes);
    run_trial(reference, &trial, expected);
    double tolerance = type == WNNDataType_Float16 ? 4e-3 : 2e-6;
    for (size_t i = 0; i < bytes / (type == WNNDataType_Float16 ? 2 : 4); i++) {
        double y = number_at(results[0], type, i), want = number_at(expected, type, i);
        REQUIRE(fabs(y - want) <= tolerance * (1 + fabs(want)));
    }
}

static void test_threads(void)
{
    static const uint32_t sizes[][2] = {{1, 160}, {3, 70}, {2, 1}};
    WNNContext contexts[4] = {create(1), create(2), create(3), create(7)},
               reference = create_on(&wnn_backend_reference);
    REQUIRE(reference);
    for (unsigned i = 0; i < 3 * 3 * 3 * 3; i++) {
        const struct form form = {.lstm = i % 3 == 0,
                                  .reset_after = i % 3 == 1,
                                  .initial = i % 2 == 0,
                                  .constant = i % 4 < 2,
                                  .peephole = i % 5 < 2,
                                  .biased = i % 7 < 4,
                                  .direction = (WNNRecurrentNetworkDirection)(1 + i / 3 % 3),
                                  .activations = i / 27,
                                  .batch = sizes[i / 9 % 3][0],
                                  .hidden = sizes[i / 9 % 3][1]};
        compare_form(contexts, reference, &form, i % 2 ? WNNDataType_Float16 : WNNDataType_Float32);
    }
    wnnContextRelease(reference);
    for (unsigned i = 0; i < 4; i++)
        wnnContextRelease(contexts[i]);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_threads());
    return cases_end();
}
