// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the runtime share: answers that callbacks fill in, small graphs, and a backend whose
// executions wait at a gate. Functions are `static inline` since not every test uses all of them.

#ifndef CONFORMANCE_UNIT_RUNTIME_FIXTURE_H_
#define CONFORMANCE_UNIT_RUNTIME_FIXTURE_H_

#include "conformance/clock.h"
#include "conformance/unit/require.h"
#include "runtime/backends.h"
#include "runtime/context.h"

#include <webnn/ops.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

// ---------------------------------------------------------------------------------------------------------------
// Answers
// ---------------------------------------------------------------------------------------------------------------

struct answer {
    atomic_int calls;
    WNNStatus status;
    WNNGraph graph;
    pthread_t thread;
    int order;                   // the how manieth of all answers it is
    WNNContextLostReason reason; // of a lost context
    char message[1024];
};

static atomic_int answer_count;

static inline void note_answer(struct answer *answer, WNNStatus status, WNNStringView message)
{
    answer->status = status;
    answer->thread = pthread_self();
    answer->order = atomic_fetch_add(&answer_count, 1);
    REQUIRE(message.data && message.length < sizeof answer->message && message.data[message.length] == 0);
    memcpy(answer->message, message.data, message.length + 1);
    REQUIRE((status == WNNStatus_Success) == (message.length == 0));
    atomic_fetch_add(&answer->calls, 1);
}

static inline void on_request(WNNStatus status, WNNStringView message, void *answer, void *unused)
{
    (void)unused;
    note_answer(answer, status, message);
}

static inline void on_build(WNNStatus status, WNNGraph graph, WNNStringView message, void *answer,
                            void *unused)
{
    (void)unused;
    REQUIRE((status == WNNStatus_Success) == (graph != NULL));
    ((struct answer *)answer)->graph = graph;
    note_answer(answer, status, message);
}

// The error and lost callbacks fill in answers too.
static inline WNNContextDescriptor describe_context(struct answer *error, struct answer *lost)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = 1;
    descriptor.errorCallbackInfo.callback = error ? on_request : NULL;
    descriptor.errorCallbackInfo.userdata1 = error;
    if (lost)
        descriptor.lostCallbackInfo.userdata1 = lost;
    return descriptor;
}

static inline WNNRequestCallbackInfo tell(struct answer *answer, WNNCallbackMode mode)
{
    return (WNNRequestCallbackInfo){NULL, mode, on_request, answer, NULL};
}

static inline WNNRequestCallbackInfo tell_nobody(void)
{
    return (WNNRequestCallbackInfo)WNN_REQUEST_CALLBACK_INFO_INIT;
}

static inline void wait_for(WNNContext context, WNNFuture future)
{
    WNNFutureWaitInfo info = {future, false};
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 1, &info, WNN_WAIT_FOREVER), WNNWaitStatus_Success);
    REQUIRE(info.completed);
}

static inline void sleep_milliseconds(long milliseconds)
{
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static inline WNNContextCounters counters_of(WNNContext context)
{
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    wnnContextGetCounters(context, &counters);
    return counters;
}

// These return how many there are.
static inline size_t nodes_of(WNNGraph graph, size_t capacity, WNNNodeInfo *nodes)
{
    size_t count = 0;
    REQUIRE_EQUAL_INT(wnnGraphGetNodes(graph, capacity, nodes, &count), WNNStatus_Success);
    return count;
}

static inline size_t profile_of(WNNGraph graph, WNNGraphProfile *profile, size_t capacity,
                                WNNNodeProfile *nodes)
{
    size_t count = 0;
    if (profile)
        profile->nextInChain = NULL;
    for (size_t i = 0; nodes && i < capacity; i++)
        nodes[i].nextInChain = NULL;
    REQUIRE_EQUAL_INT(wnnGraphGetProfile(graph, profile, capacity, nodes, &count), WNNStatus_Success);
    return count;
}

static inline size_t count_devices(size_t capacity, WNNDeviceInfo *devices)
{
    size_t count = 0;
    REQUIRE_EQUAL_INT(wnnEnumerateDevices(capacity, devices, &count), WNNStatus_Success);
    return count;
}

// Executables are released on the worker: waits until that is over.
static inline void require_bytes(WNNContext context, uint64_t expected)
{
    for (int i = 0; i < 5000 && counters_of(context).allocatedBytes != expected; i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(counters_of(context).allocatedBytes, expected);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

static inline WNNStringView view(const char *text)
{
    return (WNNStringView){text, WNN_STRLEN};
}

static inline WNNOperand add_input(WNNGraphBuilder builder, const char *name, uint32_t rows, uint32_t columns)
{
    uint32_t dims[] = {rows, columns};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, 2};
    return wnnGraphBuilderInput(builder, view(name), &descriptor);
}

static inline WNNFuture start_build(WNNGraphBuilder builder, const char *name, WNNOperand operand,
                                    struct answer *answer, WNNCallbackMode mode)
{
    WNNNamedOperand output = {view(name), operand};
    return wnnGraphBuilderBuild(builder, 1, &output,
                                (WNNBuildCallbackInfo){NULL, mode, on_build, answer, NULL});
}

static inline WNNGraphBuilder create_builder(WNNContext context)
{
    WNNGraphBuilder builder;
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &builder), WNNStatus_Success);
    return builder;
}

static inline WNNGraph build_outputs(WNNContext context, WNNGraphBuilder builder, size_t count,
                                     const WNNNamedOperand *outputs)
{
    struct answer answer = {0};
    wait_for(context, wnnGraphBuilderBuild(builder, count, outputs,
                                           (WNNBuildCallbackInfo){NULL, WNNCallbackMode_WaitAnyOnly, on_build,
                                                                  &answer, NULL}));
    REQUIRE_EQUAL_INT(answer.calls, 1);
    REQUIRE_EQUAL_STR(answer.message, "");
    return answer.graph;
}

// sum = a + b, double = a + a; both float32 [2, 2].
static inline WNNGraph build_sum(WNNContext context)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand a = add_input(builder, "a", 2, 2), b = add_input(builder, "b", 2, 2);
    WNNNamedOperand outputs[] = {{view("sum"), wnnGraphBuilderAdd(builder, a, b, NULL)},
                                 {view("double"), wnnGraphBuilderAdd(builder, a, a, NULL)}};
    WNNGraph graph = build_outputs(context, builder, 2, outputs);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// y = a chain of `length` additions of x, float32 [1, width].
static inline WNNGraph build_chain(WNNContext context, unsigned length, uint32_t width)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", 1, width), y = x;
    for (unsigned i = 0; i < length; i++)
        y = wnnGraphBuilderAdd(builder, y, x, NULL);
    WNNNamedOperand output = {view("y"), y};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static inline WNNFuture start_compute(WNNContext context, WNNGraph graph, size_t input_count,
                                      const WNNNamedBuffer *inputs, size_t output_count,
                                      const WNNNamedBuffer *outputs, WNNRequestCallbackInfo info)
{
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = input_count;
    descriptor.inputs = inputs;
    descriptor.outputCount = output_count;
    descriptor.outputs = outputs;
    return wnnContextCompute(context, &descriptor, info);
}

// Waits until it is done, without an error.
static inline void compute_buffers(WNNContext context, WNNGraph graph, size_t input_count,
                                   const WNNNamedBuffer *inputs, size_t output_count,
                                   const WNNNamedBuffer *outputs)
{
    struct answer answer = {0};
    wait_for(context, start_compute(context, graph, input_count, inputs, output_count, outputs,
                                    tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(answer.message, "");
}

static inline WNNFuture compute_chain(WNNContext context, WNNGraph graph, const float *x, float *y,
                                      size_t width, WNNRequestCallbackInfo info)
{
    WNNNamedBuffer input = {view("x"), (void *)(uintptr_t)x, width * sizeof *x, WNNDataType_Float32};
    WNNNamedBuffer output = {view("y"), y, width * sizeof *y, WNNDataType_Float32};
    return start_compute(context, graph, 1, &input, 1, &output, info);
}

static inline WNNTensor create_tensor(WNNContext context, uint32_t rows, uint32_t columns)
{
    uint32_t dims[] = {rows, columns};
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, 2};
    descriptor.readable = descriptor.writable = true;
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &tensor), WNNStatus_Success);
    return tensor;
}

// ---------------------------------------------------------------------------------------------------------------
// The CPU backend with a gate in front of every execution
// ---------------------------------------------------------------------------------------------------------------

static struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;
    int entered; // executions that came to the gate
    bool fail;   // executions fail
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0, false};

static inline void set_gate(bool closed)
{
    pthread_mutex_lock(&gate.lock);
    gate.closed = closed;
    if (closed)
        gate.entered = 0;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

// Waits until that many executions came to the gate since it was closed.
static inline void wait_for_gate(int entered)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.entered < entered)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static inline bool pass_gate(struct error *error)
{
    pthread_mutex_lock(&gate.lock);
    gate.entered++;
    pthread_cond_broadcast(&gate.changed);
    while (gate.closed)
        pthread_cond_wait(&gate.changed, &gate.lock);
    bool fails = gate.fail;
    pthread_mutex_unlock(&gate.lock);
    return !fails || wnn_fail(error, WNNStatus_UnknownError, "the device fell off the bus");
}

static inline bool execute_at_gate(void *state, void *executable, const struct bindings *bindings,
                                   struct error *error)
{
    return pass_gate(error) && wnn_backend_find("cpu")->execute(state, executable, bindings, error);
}

// ---------------------------------------------------------------------------------------------------------------
// The same as a device: executions are in flight from `submit` to `retire`, where the gate stands
// ---------------------------------------------------------------------------------------------------------------

enum {
    FLYING_OUTPUTS = 4
};

struct flying_executable {
    const struct plan *plan;
    void *inner;
    atomic_uint flights;
};

// Results on their way.
struct flight {
    void *outputs[FLYING_OUTPUTS];
};

static atomic_uint max_flights = 1; // of one executable
static atomic_uint flights_at_once; // the most there were

static inline size_t flying_bytes(const struct flying_executable *executable, size_t output)
{
    return wnn_descriptor_bytes(&executable->plan->graph.outputs[output].operand->type);
}

static inline bool lower_flying(void *state, struct plan *plan, void **result, struct error *error)
{
    struct flying_executable *executable = calloc(1, sizeof *executable);
    REQUIRE(executable && plan->graph.output_count <= FLYING_OUTPUTS);
    executable->plan = plan;
    *result = executable;
    if (wnn_backend_find("cpu")->lower(state, plan, &executable->inner, error))
        return true;
    free(executable);
    return false;
}

static inline void release_flying(void *state, void *pointer)
{
    struct flying_executable *executable = pointer;
    REQUIRE_EQUAL_INT(executable->flights, 0);
    wnn_backend_find("cpu")->release(state, executable->inner);
    free(executable);
}

static inline bool submit_flying(void *state, void *pointer, const struct bindings *bindings, void **result,
                                 struct error *error)
{
    struct flying_executable *executable = pointer;
    *result = NULL;
    if (executable->flights == max_flights)
        return true;
    struct flight *flight = calloc(1, sizeof *flight);
    REQUIRE(flight);
    for (size_t i = 0; i < executable->plan->graph.output_count; i++)
        if (bindings->outputs[i])
            REQUIRE((flight->outputs[i] = aligned_alloc(64, (flying_bytes(executable, i) + 63) / 64 * 64)));
    const struct bindings inner = {
        .inputs = bindings->inputs, .outputs = flight->outputs, .observer = bindings->observer};
    unsigned flights = atomic_fetch_add(&executable->flights, 1) + 1;
    if (flights > flights_at_once)
        flights_at_once = flights;
    *result = flight;
    return wnn_backend_find("cpu")->execute(state, executable->inner, &inner, error);
}

static inline bool retire_flying(void *state, void *pointer, void *in_flight, const struct bindings *bindings,
                                 struct error *error)
{
    (void)state;
    struct flying_executable *executable = pointer;
    struct flight *flight = in_flight;
    bool good = pass_gate(error);
    for (size_t i = 0; i < executable->plan->graph.output_count; i++) {
        if (good && bindings->outputs[i])
            memcpy(bindings->outputs[i], flight->outputs[i], flying_bytes(executable, i));
        free(flight->outputs[i]);
    }
    free(flight);
    atomic_fetch_sub(&executable->flights, 1);
    return good;
}

static inline bool execute_flying(void *state, void *executable, const struct bindings *bindings,
                                  struct error *error)
{
    void *flight;
    return submit_flying(state, executable, bindings, &flight, error) &&
           retire_flying(state, executable, flight, bindings, error);
}

static struct backend gated, flying;
static bool everything_flies; // contexts at a gate are those of the flying backend

static inline void make_backends(void)
{
    gated = flying = *wnn_backend_find("cpu");
    gated.execute = execute_at_gate;
    flying.lower = lower_flying;
    flying.release = release_flying;
    flying.execute = execute_flying;
    flying.submit = submit_flying;
    flying.retire = retire_flying;
    flying.measure = NULL;
}

static inline const struct backend *gated_backend(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_backends);
    return everything_flies ? &flying : &gated;
}

static inline WNNContext create_gated_context(struct answer *error, struct answer *lost)
{
    WNNContextDescriptor descriptor = describe_context(error, lost);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(gated_backend(), &descriptor, &context), WNNStatus_Success);
    return context;
}

#endif
