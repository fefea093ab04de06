// SPDX-License-Identifier: Apache-2.0

#include "conformance/test.h"

#include "conformance/call.h"
#include "conformance/compare.h"
#include "conformance/compiled.h"
#include "conformance/vector.h"
#include "conformance/weightless.h"
#include "ops/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// More outputs of one operator than any vector has.
#define MAX_OUTPUTS 64

// ---------------------------------------------------------------------------------------------------------------
// Waiting
// ---------------------------------------------------------------------------------------------------------------

struct answer {
    WNNStatus status;
    WNNGraph graph;
    struct text *message;
};

static void take_graph(WNNStatus status, WNNGraph graph, WNNStringView message, void *userdata1,
                       void *userdata2)
{
    struct answer *answer = userdata1;
    (void)userdata2;
    answer->status = status;
    answer->graph = graph;
    if (status != WNNStatus_Success)
        wnn_text_add(answer->message, "%s: %s", wnnStatusName(status).data, message.data);
}

static void take_status(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
    take_graph(status, NULL, message, userdata1, userdata2);
}

static void wait_for(WNNContext context, WNNFuture future)
{
    WNNFutureWaitInfo wait = {future, false};
    wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
}

bool wnn_build_and_wait(WNNContext context, WNNGraphBuilder builder, size_t output_count,
                        const WNNNamedOperand *outputs, WNNGraph *graph, struct text *message)
{
    struct answer answer = {WNNStatus_UnknownError, NULL, message};
    WNNBuildCallbackInfo callback = WNN_BUILD_CALLBACK_INFO_INIT;
    callback.callback = take_graph;
    callback.userdata1 = &answer;
    wait_for(context, wnnGraphBuilderBuild(builder, output_count, outputs, callback));
    *graph = answer.graph;
    return answer.status == WNNStatus_Success;
}

bool wnn_compute_and_wait(WNNContext context, WNNGraph graph, size_t input_count,
                          const WNNNamedBuffer *inputs, size_t output_count, const WNNNamedBuffer *outputs,
                          struct text *message)
{
    struct answer answer = {WNNStatus_UnknownError, NULL, message};
    WNNRequestCallbackInfo callback = WNN_REQUEST_CALLBACK_INFO_INIT;
    callback.callback = take_status;
    callback.userdata1 = &answer;
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = input_count;
    descriptor.inputs = inputs;
    descriptor.outputCount = output_count;
    descriptor.outputs = outputs;
    wait_for(context, wnnContextCompute(context, &descriptor, callback));
    return answer.status == WNNStatus_Success;
}

// A tensor for a buffer, of the type of the graph's port of that name.
static WNNTensor make_tensor(WNNContext context, const WNNNamedDescriptor *ports, size_t count,
                             const WNNNamedBuffer *buffer)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    WNNTensor tensor = NULL;
    struct string name = wnn_string(buffer->name);
    descriptor.readable = descriptor.writable = true;
    for (size_t i = 0; i < count; i++)
        if (wnn_string_equal(wnn_string(ports[i].name), name)) {
            descriptor.dataType = ports[i].descriptor.dataType;
            descriptor.shape = ports[i].descriptor.shape;
        }
    wnnContextCreateTensor(context, &descriptor, &tensor);
    return tensor;
}

bool wnn_dispatch_and_wait(WNNContext context, WNNGraph graph, size_t input_count,
                           const WNNNamedBuffer *inputs, size_t output_count, const WNNNamedBuffer *outputs,
                           struct text *message)
{
    struct answer answer = {WNNStatus_Success, NULL, message};
    WNNRequestCallbackInfo callback = WNN_REQUEST_CALLBACK_INFO_INIT;
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    size_t count = input_count + output_count, in, out;
    const WNNNamedDescriptor *in_ports = wnnGraphGetInputs(graph, &in),
                             *out_ports = wnnGraphGetOutputs(graph, &out);
    WNNNamedTensor *tensors = calloc(count + 1, sizeof *tensors);
    bool made = tensors;
    for (size_t i = 0; made && i < count; i++) {
        const WNNNamedBuffer *buffer = i < input_count ? &inputs[i] : &outputs[i - input_count];
        tensors[i].name = buffer->name;
        tensors[i].tensor = i < input_count ? make_tensor(context, in_ports, in, buffer)
                                            : make_tensor(context, out_ports, out, buffer);
        made = tensors[i].tensor &&
               (i >= input_count || wnnContextWriteTensor(context, tensors[i].tensor, buffer->data,
                                                          buffer->byteLength) == WNNStatus_Success);
    }
    callback.callback = take_status;
    callback.userdata1 = &answer;
    descriptor.graph = graph;
    descriptor.inputCount = input_count;
    descriptor.inputs = tensors;
    descriptor.outputCount = output_count;
    descriptor.outputs = tensors + input_count;
    // The second runs what may have been kept of the first.
    for (int turn = 0; made && turn < 2 && answer.status == WNNStatus_Success; turn++)
        wait_for(context, wnnContextDispatch(context, &descriptor, callback));
    for (size_t i = 0; made && i < output_count && answer.status == WNNStatus_Success; i++)
        wait_for(context, wnnContextReadTensor(context, tensors[input_count + i].tensor, outputs[i].data,
                                               outputs[i].byteLength, callback));
    for (size_t i = 0; tensors && i < count; i++)
        wnnTensorRelease(tensors[i].tensor);
    free(tensors);
    if (!made)
        wnn_text_add(message, "no tensors");
    return made && answer.status == WNNStatus_Success;
}

// ---------------------------------------------------------------------------------------------------------------
// Recording
// ---------------------------------------------------------------------------------------------------------------

// What one test holds on to until it ends.
struct run {
    const struct subject *subject;
    const cJSON *test;
    WNNGraphBuilder builder, other; // `other`: of operands that do not belong to the graph
    WNNGraphBuilder copy;           // that has read the bytes of the first one, or NULL
    WNNGraph graph;
    struct scope scope;
    struct allocator allocator;
    struct arena arena;
    struct vector *inputs, *expected;
    WNNNamedBuffer *input_buffers, *output_buffers;
    size_t input_count, input_buffer_count, expected_count;
    bool beyond_device; // nothing is to be said about it here
    struct text *message;
};

static bool fail(struct run *run, const char *text)
{
    wnn_text_add(run->message, "%s", text);
    return false;
}

static bool add_builder_error(struct run *run, WNNGraphBuilder builder)
{
    WNNError error;
    wnnGraphBuilderGetError(builder, &error);
    wnn_text_add(run->message, "%s: %s", wnnStatusName(error.status).data, error.message.data);
    return false;
}

static WNNStringView view(const char *text)
{
    return (WNNStringView){text, WNN_STRLEN};
}

// Whether a tensor that the specification allows is larger than what the device can do.
static bool is_beyond_device(struct run *run, uint64_t bytes)
{
    WNNLimits usual = WNN_LIMITS_INIT, limits = WNN_LIMITS_INIT;
    wnnContextGetLimits(run->subject->context, &limits);
    run->beyond_device = bytes > limits.maxTensorByteLength && bytes <= usual.maxTensorByteLength;
    if (run->beyond_device)
        wnn_text_add(run->message, "the device takes tensors of up to %llu bytes",
                     (unsigned long long)limits.maxTensorByteLength);
    return run->beyond_device;
}

static bool add_input(struct run *run, const cJSON *json, bool with_data)
{
    struct vector *vector = &run->inputs[run->input_count++];
    bool constant =
        run->subject->constants || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "constant"));
    bool other = cJSON_HasObjectItem(json, "builder");
    if (!wnn_vector_read(json, with_data, vector, run->message))
        return false;
    if (other && run->other == NULL &&
        wnnContextCreateGraphBuilder(run->subject->context, &run->other) != WNNStatus_Success)
        return fail(run, "no second builder");
    WNNGraphBuilder builder = other ? run->other : run->builder;
    WNNOperandDescriptor descriptor = wnn_vector_descriptor(vector);
    WNNOperand operand;
    if (is_beyond_device(run, vector->bytes))
        return false;
    if (constant) {
        if (!with_data && !wnn_vector_fill_zero(vector))
            return fail(run, "there is no memory for a constant");
        operand = wnnGraphBuilderConstant(builder, &descriptor, vector->data, vector->bytes);
    } else {
        operand = wnnGraphBuilderInput(builder, view(json->string), &descriptor);
        if (with_data)
            run->input_buffers[run->input_buffer_count++] =
                (WNNNamedBuffer){view(json->string), vector->data, vector->bytes, vector->type};
    }
    if (operand == NULL)
        return add_builder_error(run, builder);
    return wnn_scope_add(&run->scope, json->string, operand) || fail(run, "out of memory");
}

static bool add_inputs(struct run *run, bool with_data)
{
    const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(run->test, "inputs"), *json;
    size_t count = (size_t)cJSON_GetArraySize(inputs);
    run->inputs = calloc(count + 1, sizeof *run->inputs);
    run->input_buffers = calloc(count + 1, sizeof *run->input_buffers);
    if (run->inputs == NULL || run->input_buffers == NULL)
        return fail(run, "out of memory");
    cJSON_ArrayForEach(json, inputs)
    {
        if (!add_input(run, json, with_data))
            return false;
    }
    return true;
}

static bool name_outputs(struct run *run, const cJSON *operator, const WNNOperand * outputs, size_t count)
{
    const cJSON *name;
    size_t i = 0;
    cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(operator, "outputs"))
    {
        if (i == count)
            return fail(run, "the operator gives fewer outputs than the file names");
        if (!wnn_scope_add(&run->scope, name->valuestring, outputs[i++]))
            return fail(run, "out of memory");
    }
    return true;
}

// Records all operators that the last one follows, and then the last one.
static enum call_result call_operators(struct run *run, size_t *count, WNNOperand outputs[MAX_OUTPUTS],
                                       bool *last)
{
    const cJSON *operator;
    unsigned index = 0;
    enum call_result result = CALL_DONE;
    *last = false;
    cJSON_ArrayForEach(operator, cJSON_GetObjectItemCaseSensitive(run->test, "operators"))
    {
        *last = operator->next == NULL;
        result = wnn_call_json(run->builder, operator, index++, &run->scope, &run->arena, MAX_OUTPUTS,
                               outputs, count, run->message);
        if (result == CALL_DONE && !name_outputs(run, operator, outputs, *count))
            result = CALL_UNKNOWN;
        if (result != CALL_DONE)
            break;
    }
    return result;
}

static bool begin(struct run *run)
{
    wnn_allocator_init(&run->allocator, NULL, 0);
    wnn_arena_init(&run->arena, &run->allocator);
    if (wnnContextCreateGraphBuilder(run->subject->context, &run->builder) != WNNStatus_Success)
        return fail(run, "no builder");
    return true;
}

static void end(struct run *run)
{
    wnnGraphRelease(run->graph);
    wnnGraphBuilderRelease(run->builder);
    wnnGraphBuilderRelease(run->other);
    wnnGraphBuilderRelease(run->copy);
    wnn_scope_free(&run->scope);
    for (size_t i = 0; i < run->input_count; i++)
        wnn_vector_free(&run->inputs[i]);
    for (size_t i = 0; i < run->expected_count; i++) {
        wnn_vector_free(&run->expected[i]);
        free(run->output_buffers[i].data);
    }
    free(run->inputs);
    free(run->expected);
    free(run->input_buffers);
    free(run->output_buffers);
    wnn_arena_free(&run->arena);
}

// ---------------------------------------------------------------------------------------------------------------
// Results
// ---------------------------------------------------------------------------------------------------------------

static bool read_expected(struct run *run)
{
    const cJSON *outputs = cJSON_GetObjectItemCaseSensitive(run->test, "expectedOutputs"), *json;
    size_t count = (size_t)cJSON_GetArraySize(outputs);
    run->expected = calloc(count + 1, sizeof *run->expected);
    run->output_buffers = calloc(count + 1, sizeof *run->output_buffers);
    if (run->expected == NULL || run->output_buffers == NULL)
        return fail(run, "out of memory");
    cJSON_ArrayForEach(json, outputs)
    {
        size_t i = run->expected_count++;
        struct vector *vector = &run->expected[i];
        if (!wnn_vector_read(json, true, vector, run->message))
            return false;
        void *data = malloc(vector->bytes + 1);
        if (data == NULL)
            return fail(run, "out of memory");
        memset(data, 0x5A, vector->bytes);
        run->output_buffers[i] = (WNNNamedBuffer){view(json->string), data, vector->bytes, vector->type};
    }
    return true;
}

static bool same_descriptor(const struct vector *vector, WNNDataType type, WNNUint32List shape,
                            struct text *message)
{
    if (type == vector->type && shape.count == vector->rank &&
        (shape.count == 0 || memcmp(shape.data, vector->dims, shape.count * sizeof shape.data[0]) == 0))
        return true;
    wnn_text_add(message, "got %s [", wnn_dtype_name(type));
    for (size_t i = 0; i < shape.count; i++)
        wnn_text_add(message, i == 0 ? "%u" : ", %u", shape.data[i]);
    wnn_text_add(message, "], expected %s [", wnn_dtype_name(vector->type));
    for (size_t i = 0; i < vector->rank; i++)
        wnn_text_add(message, i == 0 ? "%u" : ", %u", vector->dims[i]);
    wnn_text_add(message, "]");
    return false;
}

static bool build_copy(struct run *run, size_t count, const WNNNamedOperand *outputs)
{
    char message[1024];
    WNNDeserializedGraph read;
    if (wnnContextCreateGraphBuilder(run->subject->context, &run->copy) != WNNStatus_Success)
        return fail(run, "no builder");
    const char *problem =
        wnn_serialize_across(run->builder, count, outputs, false, run->copy, &read, sizeof message, message);
    if (problem)
        return fail(run, problem);
    return wnn_build_and_wait(run->subject->context, run->copy, read.outputCount, read.outputs, &run->graph,
                              run->message);
}

// Built, saved, loaded, and saved again: the same bytes. With mistakes there is what was recorded, too.
static bool build_compiled(struct run *run, size_t count, const WNNNamedOperand *outputs)
{
    WNNContext context = run->subject->context;
    struct serialized first = {0}, second = {0};
    WNNGraph built = NULL;
    char message[1024] = "";
    bool done =
        (run->subject->spoiled ? wnn_build_recompilable : wnn_build_savable)(
            context, run->builder, count, outputs, &built, sizeof message, message) == WNNStatus_Success &&
        wnn_save_graph(built, &first, sizeof message, message) == WNNStatus_Success &&
        wnn_load_copy(context, first.data, first.size, &run->graph, sizeof message, message) ==
            WNNStatus_Success &&
        wnn_save_graph(run->graph, &second, sizeof message, message) == WNNStatus_Success;
    if (!done)
        fail(run, message);
    else if (!wnn_serialized_equal(&first, &second))
        done = fail(run, "what was loaded is saved as something else");
    if (done && run->subject->spoiled)
        wnn_try_spoiled(run->subject->spoiled, &first, NULL, run->subject->spoiled_count,
                        first.size * 0x9E3779B97F4A7C15u);
    wnnGraphRelease(built);
    free(first.data);
    free(second.data);
    return done;
}

static bool build_weightless(struct run *run, size_t count, const WNNNamedOperand *outputs)
{
    struct serialized bytes = {0};
    char message[1024];
    run->graph = wnn_build_weightless(run->subject->context, run->builder, count, outputs, count, &bytes,
                                      sizeof message, message);
    free(bytes.data);
    return run->graph || fail(run, message);
}

// Compiled, and added to the file behind the number of its bytes.
static bool build_and_save(struct run *run, size_t count, const WNNNamedOperand *outputs)
{
    struct serialized bytes = {0};
    char message[1024] = "";
    bool done = wnn_build_savable(run->subject->context, run->builder, count, outputs, &run->graph,
                                  sizeof message, message) == WNNStatus_Success &&
                wnn_save_graph(run->graph, &bytes, sizeof message, message) == WNNStatus_Success;
    uint64_t size = bytes.size;
    if (!done)
        fail(run, message);
    else if (fwrite(&size, sizeof size, 1, run->subject->saved_to) != 1 ||
             fwrite(bytes.data, 1, bytes.size, run->subject->saved_to) != bytes.size)
        done = fail(run, "the file cannot be written");
    free(bytes.data);
    return done;
}

// What has been saved so.
static bool load_saved(struct run *run)
{
    uint64_t size;
    char message[1024] = "";
    FILE *file = run->subject->loaded_from;
    if (fread(&size, sizeof size, 1, file) != 1 || size > SIZE_MAX / 2)
        return fail(run, "the file has no more graphs");
    unsigned char *data = malloc((size_t)size + 1);
    bool done = data && fread(data, 1, (size_t)size, file) == size;
    if (!done)
        fail(run, "the file ends in a graph");
    else if (wnn_load_copy(run->subject->context, data, (size_t)size, &run->graph, sizeof message, message) !=
             WNNStatus_Success)
        done = fail(run, message);
    free(data);
    return done;
}

static bool build(struct run *run)
{
    WNNNamedOperand *outputs = calloc(run->expected_count + 1, sizeof *outputs);
    bool done = outputs != NULL || fail(run, "out of memory");
    for (size_t i = 0; done && i < run->expected_count; i++) {
        outputs[i].name = run->output_buffers[i].name;
        done = wnn_scope_find(&run->scope, outputs[i].name.data, &outputs[i].operand) ||
               fail(run, "an expected output is not computed");
    }
    done = done && (run->subject->compiled      ? build_compiled(run, run->expected_count, outputs)
                    : run->subject->weightless  ? build_weightless(run, run->expected_count, outputs)
                    : run->subject->saved_to    ? build_and_save(run, run->expected_count, outputs)
                    : run->subject->loaded_from ? load_saved(run)
                    : run->subject->serialized
                        ? build_copy(run, run->expected_count, outputs)
                        : wnn_build_and_wait(run->subject->context, run->builder, run->expected_count,
                                             outputs, &run->graph, run->message));
    free(outputs);
    return done;
}

static bool check_graph_outputs(struct run *run)
{
    size_t count;
    const WNNNamedDescriptor *outputs = wnnGraphGetOutputs(run->graph, &count);
    if (count != run->expected_count)
        return fail(run, "the graph has another number of outputs");
    for (size_t i = 0; i < count; i++)
        if (!same_descriptor(&run->expected[i], outputs[i].descriptor.dataType, outputs[i].descriptor.shape,
                             run->message))
            return false;
    return true;
}

static struct tolerance tolerance_of(const struct run *run)
{
    const cJSON *json = cJSON_GetObjectItemCaseSensitive(run->test, "tolerance");
    const char *metric = wnn_json_string(json, "metric");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, "value");
    if (metric == NULL || !cJSON_IsNumber(value))
        return wnn_graph_tolerance(&run->builder->graph);
    return (struct tolerance){strcmp(metric, "ATOL") == 0, value->valuedouble};
}

// Tests of storage and of float16 rounding look at every bit but those of NaNs.
static bool is_exact(const char *name)
{
    static const char *const prefixes[] = {"storage:", "cast float32 -> float16"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

// The operators that run on XNNPACK; see "Numbers" in webnn/webnn.h.
static bool may_lose_nan(const struct run *run)
{
    static const char *const names[] = {"averagePool2d", "conv2d",    "convTranspose2d", "gemm",
                                        "matmul",        "maxPool2d", "resample2d"};
    const cJSON *operator;
    cJSON_ArrayForEach(operator, cJSON_GetObjectItemCaseSensitive(run->test, "operators"))
    {
        const char *name = wnn_json_string(operator, "name");
        for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++)
            if (strcmp(name, names[i]) == 0)
                return run->subject->lossy;
    }
    return false;
}

static bool compare_outputs(struct run *run)
{
    const char *name = wnn_json_string(run->test, "name");
    struct tolerance tolerance = tolerance_of(run);
    bool exact = name != NULL && is_exact(name);
    unsigned flags = (exact ? COMPARE_ZERO_SIGNS : 0u) | (may_lose_nan(run) ? COMPARE_LOST_NAN : 0u) |
                     (run->subject->flushes ? COMPARE_FLUSHED : 0u);
    if (exact)
        tolerance = (struct tolerance){false, 0};
    for (size_t i = 0; i < run->expected_count; i++) {
        const struct vector *expected = &run->expected[i];
        struct difference difference;
        if (wnn_compare(expected->type, expected->count, run->output_buffers[i].data, expected->data,
                        &tolerance, flags, &difference))
            continue;
        wnn_text_add(run->message,
                     "output %s, element %zu: got %s, expected %s: %.4g %s apart, tolerance %.4g; ",
                     run->output_buffers[i].name.data, difference.first, difference.got, difference.expected,
                     difference.distance, tolerance.absolute ? "(absolute)" : "ULP", tolerance.value);
        wnn_text_add(run->message, "%zu of %zu elements differ, by up to %.4g", difference.count,
                     expected->count, difference.greatest);
        return false;
    }
    return true;
}

static bool run_values(struct run *run)
{
    WNNOperand outputs[MAX_OUTPUTS];
    size_t count;
    bool last;
    if (!begin(run) || !add_inputs(run, true) || !read_expected(run))
        return false;
    enum call_result result = call_operators(run, &count, outputs, &last);
    if (result == CALL_REFUSED)
        return add_builder_error(run, run->builder);
    if (result != CALL_DONE || !build(run) || !check_graph_outputs(run))
        return false;
    if (run->subject->saved_to)
        return true;
    return (run->subject->tensors ? wnn_dispatch_and_wait : wnn_compute_and_wait)(
               run->subject->context, run->graph, run->input_buffer_count, run->input_buffers,
               run->expected_count, run->output_buffers, run->message) &&
           (!run->subject->values || compare_outputs(run));
}

// ---------------------------------------------------------------------------------------------------------------
// Validation
// ---------------------------------------------------------------------------------------------------------------

// Whether the builder's error is what the test expects of a call that failed.
static bool check_refusal(struct run *run, WNNGraphBuilder builder)
{
    const char *expect = wnn_json_string(run->test, "expect");
    WNNError error;
    wnnGraphBuilderGetError(builder, &error);
    if (expect != NULL && strcmp(expect, wnnStatusName(error.status).data) == 0) {
        if (error.message.length > 0)
            return true;
        return fail(run, "the error has no message");
    }
    wnn_text_add(run->message, "expected %s, got ", expect != NULL ? expect : "?");
    return add_builder_error(run, builder);
}

// {"call": "input" | "constant", "inputName", "descriptor", "byteLength", "expect"}
static bool run_builder_call(struct run *run)
{
    const cJSON *length = cJSON_GetObjectItemCaseSensitive(run->test, "byteLength");
    const char *call = wnn_json_string(run->test, "call"), *name = wnn_json_string(run->test, "inputName");
    struct vector vector;
    WNNOperand operand;
    if (!wnn_vector_read(cJSON_GetObjectItemCaseSensitive(run->test, "descriptor"), false, &vector,
                         run->message))
        return false;
    WNNOperandDescriptor descriptor = wnn_vector_descriptor(&vector);
    if (strcmp(call, "constant") == 0) {
        size_t bytes = cJSON_IsNumber(length) ? (size_t)length->valuedouble : vector.bytes;
        void *data = calloc(bytes + 1, 1);
        if (data == NULL)
            return fail(run, "out of memory");
        operand = wnnGraphBuilderConstant(run->builder, &descriptor, data, bytes);
        free(data);
    } else {
        operand = wnnGraphBuilderInput(run->builder, view(name != NULL ? name : ""), &descriptor);
    }
    bool accepted = strcmp(wnn_json_string(run->test, "expect"), "ok") == 0;
    if (operand == NULL)
        return accepted ? add_builder_error(run, run->builder) : check_refusal(run, run->builder);
    return accepted || fail(run, "the call was accepted");
}

static bool check_descriptors(struct run *run, const WNNOperand *outputs, size_t count)
{
    const cJSON *expected = cJSON_GetObjectItemCaseSensitive(run->test, "expectedOutputs"), *json;
    size_t i = 0;
    if ((size_t)cJSON_GetArraySize(expected) != count) {
        wnn_text_add(run->message, "got %zu outputs, expected %d", count, cJSON_GetArraySize(expected));
        return false;
    }
    cJSON_ArrayForEach(json, expected)
    {
        struct vector vector;
        if (!wnn_vector_read(json, false, &vector, run->message) ||
            !same_descriptor(&vector, wnnOperandGetDataType(outputs[i]), wnnOperandGetShape(outputs[i]),
                             run->message))
            return false;
        i++;
    }
    return true;
}

static bool run_validation(struct run *run)
{
    WNNOperand outputs[MAX_OUTPUTS];
    size_t count = 0;
    bool last;
    const char *expect = wnn_json_string(run->test, "expect");
    if (!begin(run) || expect == NULL)
        return false;
    if (cJSON_HasObjectItem(run->test, "call"))
        return run_builder_call(run);
    if (!add_inputs(run, false))
        return false;
    enum call_result result = call_operators(run, &count, outputs, &last);
    if (result == CALL_UNKNOWN)
        return false;
    if (strcmp(expect, "ok") == 0) {
        if (result == CALL_REFUSED)
            return add_builder_error(run, run->builder);
        return result == CALL_DONE && check_descriptors(run, outputs, count);
    }
    if (result == CALL_DONE)
        return fail(run, "the call was accepted");
    if (!last)
        return result == CALL_REFUSED ? add_builder_error(run, run->builder) : false;
    return result == CALL_NO_VALUE || check_refusal(run, run->builder);
}

enum outcome wnn_run_test(const struct subject *subject, const char *kind, const cJSON *test,
                          struct text *message)
{
    struct run run = {.subject = subject, .test = test, .message = message};
    bool passed = strcmp(kind, "validation") == 0 ? run_validation(&run) : run_values(&run);
    end(&run);
    return passed ? OUTCOME_PASSED : run.beyond_device ? OUTCOME_SKIPPED : OUTCOME_FAILED;
}
