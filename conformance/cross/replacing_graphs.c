// SPDX-License-Identifier: Apache-2.0
//
// webnn-replacing-graphs: random graphs whose outputs replace their inputs. Each is run on memory of its own,
// then with some outputs where inputs of their type lie, in tensors and in memory of the caller's. All
// outputs must be the same bits, and all inputs that were not replaced untouched.

#include "conformance/backends.h"
#include "conformance/cross/generate.h"
#include "conformance/reference/reference.h"
#include "conformance/test.h"
#include "lib/graph.h"
#include "runtime/context.h"
#include "runtime/internal.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MORE_OUTPUTS = 6, // values of the types of inputs, beside the outputs that a graph has anyway
    NONE = -1
};

static const char usage[] =
    "usage: webnn-replacing-graphs [--count=N] [--seed=S] [--start=I] [--backend=NAME]\n";

// A graph, the bytes of its inputs and outputs, and which input an output replaces.
struct trial {
    WNNContext context;
    WNNGraphBuilder builder;
    WNNGraph graph;
    struct random_graph recorded;
    const WNNNamedDescriptor *inputs, *outputs;
    size_t input_count, output_count;
    const void *given[MAX_VALUES]; // by input
    void *expected[MAX_VALUES];    // by output
    int replaced[MAX_VALUES];      // by output: an input, or NONE
    int same[MAX_VALUES];          // by input: another that lies in the same place, or itself
    size_t bytes[2 * MAX_VALUES];  // inputs, then outputs
};

static uint64_t in_place, staged, replaced_graphs, state;

static uint32_t random_below(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 33) % limit);
}

static size_t bytes_of(const WNNOperandDescriptor *descriptor)
{
    struct descriptor type = {.type = descriptor->dataType,
                              .shape = {.rank = (unsigned)descriptor->shape.count}};
    memcpy(type.shape.dim, descriptor->shape.data, descriptor->shape.count * sizeof type.shape.dim[0]);
    return wnn_descriptor_bytes(&type);
}

static bool same_type(const WNNOperandDescriptor *a, const WNNOperandDescriptor *b)
{
    return a->dataType == b->dataType && a->shape.count == b->shape.count &&
           memcmp(a->shape.data, b->shape.data, a->shape.count * sizeof a->shape.data[0]) == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Making a graph
// ---------------------------------------------------------------------------------------------------------------

static bool has_type_of_input(const struct random_graph *recorded, const struct value *value)
{
    for (size_t i = 0; i < recorded->input_count; i++)
        if (wnn_descriptor_equal(&recorded->inputs[i].type, &value->type))
            return true;
    return false;
}

static bool is_output(const struct random_graph *recorded, const struct value *value)
{
    for (size_t i = 0; i < recorded->output_count; i++)
        if (recorded->outputs[i].value == value)
            return true;
    return false;
}

// Values inside of the graph become outputs too, which others read.
static void add_outputs(struct random_graph *recorded)
{
    for (int i = 0; i < MORE_OUTPUTS && recorded->value_count > 0 && recorded->output_count < MAX_VALUES;
         i++) {
        const struct value *value = &recorded->values[random_below((uint32_t)recorded->value_count)];
        if (!wnn_operand(value->operand)->producer || !has_type_of_input(recorded, value) ||
            is_output(recorded, value))
            continue;
        struct random_output *output = &recorded->outputs[recorded->output_count++];
        snprintf(output->name, sizeof output->name, "more%d", i);
        output->value = value;
    }
}

static bool build(struct trial *s, uint64_t seed, struct random_kind kind, struct text *message)
{
    WNNNamedOperand outputs[MAX_VALUES];
    struct random_graph *recorded = &s->recorded;
    if (wnnContextCreateGraphBuilder(s->context, &s->builder) != WNNStatus_Success)
        return false;
    wnn_random_graph(seed, kind, s->builder, recorded);
    add_outputs(recorded);
    if (recorded->output_count == 0)
        return true;
    for (size_t i = 0; i < recorded->output_count; i++)
        outputs[i] =
            (WNNNamedOperand){{recorded->outputs[i].name, WNN_STRLEN}, recorded->outputs[i].value->operand};
    if (!wnn_build_and_wait(s->context, s->builder, recorded->output_count, outputs, &s->graph, message))
        return false;
    s->inputs = wnnGraphGetInputs(s->graph, &s->input_count);
    s->outputs = wnnGraphGetOutputs(s->graph, &s->output_count);
    for (size_t i = 0; i < s->input_count; i++) {
        s->same[i] = (int)i;
        for (size_t k = 0; k < recorded->input_count; k++)
            if (strcmp(recorded->inputs[k].name, s->inputs[i].name.data) == 0)
                s->given[i] = recorded->inputs[k].data;
        s->bytes[i] = bytes_of(&s->inputs[i].descriptor);
    }
    for (size_t i = 0; i < s->output_count; i++) {
        s->bytes[s->input_count + i] = bytes_of(&s->outputs[i].descriptor);
        s->expected[i] = calloc(1, s->bytes[s->input_count + i] + 1);
    }
    return true;
}

// Two inputs of one type may be one, and each output may replace one that no other does.
static bool choose_replacements(struct trial *s)
{
    bool taken[MAX_VALUES] = {false}, any = false;
    for (size_t i = 1; i < s->input_count; i++) {
        size_t k = random_below((uint32_t)i);
        if (random_below(4) == 0 && s->same[k] == (int)k &&
            same_type(&s->inputs[i].descriptor, &s->inputs[k].descriptor))
            s->same[i] = (int)k;
    }
    for (size_t i = 0; i < s->output_count; i++) {
        s->replaced[i] = NONE;
        for (int tries = 0; s->input_count > 0 && s->replaced[i] == NONE && tries < 4; tries++) {
            size_t k = random_below((uint32_t)s->input_count), place = (size_t)s->same[k];
            if (taken[place] || !same_type(&s->inputs[k].descriptor, &s->outputs[i].descriptor))
                continue;
            taken[place] = any = true;
            s->replaced[i] = (int)place;
        }
    }
    for (size_t i = 0; i < s->output_count; i++)
        for (size_t k = 0; k < s->input_count; k++)
            if (s->same[k] == s->replaced[i])
                *(wnn_may_alias(&s->graph->aliases, k, i) ? &in_place : &staged) += 1;
    return any;
}

// ---------------------------------------------------------------------------------------------------------------
// Running it
// ---------------------------------------------------------------------------------------------------------------

static const void *bytes_given(const struct trial *s, size_t input)
{
    return s->given[s->same[input]];
}

static bool is_replaced(const struct trial *s, size_t input)
{
    for (size_t i = 0; i < s->output_count; i++)
        if (s->replaced[i] == s->same[input])
            return true;
    return false;
}

static bool check(const struct trial *s, const char *how, void *const *inputs, void *const *outputs,
                  struct text *message)
{
    for (size_t i = 0; i < s->output_count; i++)
        if (memcmp(outputs[i], s->expected[i], s->bytes[s->input_count + i]) != 0) {
            wnn_text_add(message, "%s: output %s%s%s differs", how, s->outputs[i].name.data,
                         s->replaced[i] == NONE ? "" : " in the place of ",
                         s->replaced[i] == NONE ? "" : s->inputs[s->replaced[i]].name.data);
            return false;
        }
    for (size_t i = 0; i < s->input_count; i++)
        if (!is_replaced(s, i) && memcmp(inputs[i], bytes_given(s, i), s->bytes[i]) != 0) {
            wnn_text_add(message, "%s: input %s changed", how, s->inputs[i].name.data);
            return false;
        }
    return true;
}

// In memory of the caller's, in which `replacing` outputs lie where inputs do.
static bool run_on_memory(struct trial *s, bool replacing, struct text *message)
{
    WNNNamedBuffer inputs[MAX_VALUES], outputs[MAX_VALUES];
    void *memory[MAX_VALUES] = {NULL}, *own[MAX_VALUES] = {NULL}, *in[MAX_VALUES], *out[MAX_VALUES];
    for (size_t i = 0; i < s->input_count; i++) {
        memory[i] = malloc(s->bytes[i] + 1);
        memcpy(memory[i], s->given[i], s->bytes[i]);
        in[i] = memory[s->same[i]];
        inputs[i] = (WNNNamedBuffer){s->inputs[i].name, in[i], s->bytes[i], s->inputs[i].descriptor.dataType};
    }
    for (size_t i = 0; i < s->output_count; i++) {
        size_t bytes = s->bytes[s->input_count + i];
        own[i] = malloc(bytes + 1);
        out[i] = replacing && s->replaced[i] != NONE ? memory[s->replaced[i]] : own[i];
        outputs[i] = (WNNNamedBuffer){s->outputs[i].name, out[i], bytes, s->outputs[i].descriptor.dataType};
    }
    bool good =
        wnn_compute_and_wait(s->context, s->graph, s->input_count, inputs, s->output_count, outputs, message);
    for (size_t i = 0; good && !replacing && i < s->output_count; i++)
        memcpy(s->expected[i], out[i], s->bytes[s->input_count + i]);
    good = good && (!replacing || check(s, "compute", in, out, message));
    for (size_t i = 0; i < s->input_count; i++)
        free(memory[i]);
    for (size_t i = 0; i < s->output_count; i++)
        free(own[i]);
    return good;
}

static WNNTensor create_tensor(const struct trial *s, const WNNOperandDescriptor *type)
{
    WNNTensor tensor = NULL;
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = type->dataType;
    descriptor.shape = type->shape;
    descriptor.readable = descriptor.writable = true;
    wnnContextCreateTensor(s->context, &descriptor, &tensor);
    return tensor;
}

static void note_status(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
    *(WNNStatus *)userdata1 = status;
    if (status != WNNStatus_Success)
        wnn_text_add(userdata2, "dispatch: %.*s", (int)message.length, message.data);
}

static bool dispatch(const struct trial *s, const WNNTensor *inputs, const WNNTensor *outputs,
                     struct text *message)
{
    WNNNamedTensor in[MAX_VALUES], out[MAX_VALUES];
    WNNStatus status = WNNStatus_Cancelled;
    for (size_t i = 0; i < s->input_count; i++)
        in[i] = (WNNNamedTensor){s->inputs[i].name, inputs[i]};
    for (size_t i = 0; i < s->output_count; i++)
        out[i] = (WNNNamedTensor){s->outputs[i].name, outputs[i]};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.graph = s->graph;
    descriptor.inputCount = s->input_count;
    descriptor.outputCount = s->output_count;
    descriptor.inputs = in;
    descriptor.outputs = out;
    WNNRequestCallbackInfo callback = WNN_REQUEST_CALLBACK_INFO_INIT;
    callback.mode = WNNCallbackMode_WaitAnyOnly;
    callback.callback = note_status;
    callback.userdata1 = &status;
    callback.userdata2 = message;
    WNNFutureWaitInfo wait = {wnnContextDispatch(s->context, &descriptor, callback), false};
    wnnContextWaitAny(s->context, 1, &wait, UINT64_MAX);
    return status == WNNStatus_Success;
}

// Twice on the same tensors, which are written anew in between.
static bool run_on_tensors(struct trial *s, struct text *message)
{
    WNNTensor tensors[MAX_VALUES] = {NULL}, own[MAX_VALUES] = {NULL}, inputs[MAX_VALUES], outputs[MAX_VALUES];
    void *in[MAX_VALUES] = {NULL}, *out[MAX_VALUES] = {NULL};
    for (size_t i = 0; i < s->input_count; i++) {
        tensors[i] = create_tensor(s, &s->inputs[i].descriptor);
        inputs[i] = tensors[s->same[i]];
        in[i] = calloc(1, s->bytes[i] + 1);
    }
    for (size_t i = 0; i < s->output_count; i++) {
        own[i] = create_tensor(s, &s->outputs[i].descriptor);
        outputs[i] = s->replaced[i] == NONE ? own[i] : tensors[s->replaced[i]];
        out[i] = calloc(1, s->bytes[s->input_count + i] + 1);
    }
    bool good = true;
    for (int run = 0; good && run < 2; run++) {
        for (size_t i = 0; i < s->input_count; i++)
            wnnContextWriteTensor(s->context, tensors[i], s->given[i], s->bytes[i]);
        good = dispatch(s, inputs, outputs, message);
        for (size_t i = 0; good && i < s->input_count; i++)
            wnnContextReadTensorSync(s->context, inputs[i], in[i], s->bytes[i], 0, NULL);
        for (size_t i = 0; good && i < s->output_count; i++)
            wnnContextReadTensorSync(s->context, outputs[i], out[i], s->bytes[s->input_count + i], 0, NULL);
        good = good && check(s, "dispatch", in, out, message);
    }
    for (size_t i = 0; i < s->input_count; i++) {
        wnnTensorRelease(tensors[i]);
        free(in[i]);
    }
    for (size_t i = 0; i < s->output_count; i++) {
        wnnTensorRelease(own[i]);
        free(out[i]);
    }
    return good;
}

static void print(void *argument, const char *text, size_t length)
{
    fwrite(text, 1, length, argument);
}

static bool run_graph(WNNContext context, uint64_t seed, uint64_t index)
{
    static struct trial trial;
    char buffer[1200] = "";
    struct text message = TEXT(buffer);
    struct trial *s = &trial;
    *s = (struct trial){.context = context};
    state = seed * 0x9E3779B97F4A7C15u + index * 0xC2B2AE3D27D4EB4Fu + 1;
    for (int i = 0; i < 4; i++)
        random_below(2);
    const struct random_kind kind = {.flushed = wnn_context_flushes_denormals(context)};
    bool good = build(s, state, kind, &message);
    if (good && s->graph && choose_replacements(s)) {
        replaced_graphs++;
        good = run_on_memory(s, false, &message) && run_on_memory(s, true, &message) &&
               run_on_tensors(s, &message);
    }
    if (!good) {
        printf("FAIL graph %" PRIu64 " of seed %" PRIu64 ": %s\n", index, seed, buffer);
        if (s->graph)
            wnn_dump_text(&wnn_graph_plan(s->graph)->graph, &(struct text_sink){print, stdout});
        fflush(stdout);
    }
    for (size_t i = 0; i < s->output_count; i++)
        free(s->expected[i]);
    wnn_random_graph_free(&s->recorded);
    wnnGraphRelease(s->graph);
    wnnGraphBuilderRelease(s->builder);
    return good;
}

int main(int count, char **arguments)
{
    static const struct option options[] = {
        {"count", required_argument, NULL, 'c'}, {"seed", required_argument, NULL, 's'},
        {"start", required_argument, NULL, 'i'}, {"backend", required_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    uint64_t graphs = 200, seed = 1, start = 0, failures = 0;
    const char *backend = "cpu";
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        uint64_t *numbers[] = {['c'] = &graphs, ['s'] = &seed, ['i'] = &start};
        if (option == 'b')
            backend = optarg;
        else if (option == 'c' || option == 's' || option == 'i')
            *numbers[option] = strtoull(optarg, NULL, 0);
        else {
            fputs(usage, option == 'h' ? stdout : stderr);
            return 2;
        }
    }
    const struct backend *on =
        strcmp(backend, "reference") == 0 ? &wnn_backend_reference : find_backend(backend);
    const WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context = NULL;
    WNNStatus status = on ? wnn_create_context_on(on, &descriptor, &context) : WNNStatus_TypeError;
    if (status != WNNStatus_Success) {
        fprintf(stderr, "webnn-replacing-graphs: no context on %s\n", backend);
        return status == WNNStatus_NotSupportedError ? 77 : 2;
    }
    wnn_context_set_compile_options(context, 0, true, NULL, NULL);
    for (uint64_t i = start; i < start + graphs; i++)
        failures += !run_graph(context, seed, i);
    wnnContextRelease(context);
    printf("%" PRIu64 " graphs, %" PRIu64 " of them with replacements: %" PRIu64 " in place, %" PRIu64
           " staged; %" PRIu64 " failures\n",
           graphs, replaced_graphs, in_place, staged, failures);
    return failures > 0 || (graphs >= 100 && (in_place == 0 || staged == 0));
}
