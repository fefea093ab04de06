// SPDX-License-Identifier: Apache-2.0
//
// Bytes become a program of calls of the public API: contexts that share a budget and a thread pool, graphs
// of all operators, executions on buffers and on tensors, cancelling, destroying and releasing, in callbacks
// too, with allocations that fail, and with a second thread that gets in the way. What must hold whatever the
// program is: every callback comes exactly once, with a status that the header allows for what was done;
// outputs are complete, untouched or zeros, and the same for the same graph and inputs; inputs and the bytes
// around buffers stay as they are; nothing is refused but to who has a limit; nothing is left when everything
// is released, in the budget neither. WNN_FUZZ_DEVICE=gpu: on a GPU. WNN_FUZZ_TRACE=1: says what is recorded.

#include "conformance/fuzz/fuzz.h"
#include "conformance/fuzz/shared.h"
#include "conformance/unit/require.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAX_SESSIONS = 3,
    MAX_GRAPHS = 4,
    MAX_REQUESTS = 40,
    MAX_COMMANDS = 90,
    MAX_PORTS = 40, // inputs or outputs of one graph that are computed
    SEEDS = 2,      // sets of inputs of one graph
    GUARD = 64,     // bytes before and behind a buffer
    SHARED = 8      // bytes at the end of a program that say what contexts share
};

#define MAX_MEMORY  (96u << 20)
#define BIT(status) (1u << WNNStatus_##status)

unsigned long fuzz_built;

// ---------------------------------------------------------------------------------------------------------------
// What a program has made
// ---------------------------------------------------------------------------------------------------------------

struct session {
    WNNContext context;
    struct recorder recorder;
    struct heap heap;
    struct shared *shared;
    struct trace_log log;
    bool counted;       // its memory comes from the heap
    bool starved;       // allocations may have failed, or limits on memory and requests been reached
    bool hurried;       // it has limits of time
    atomic_bool lost;   // somebody destroyed it
    atomic_bool ending; // its handle must not be used any more, in callbacks
    atomic_int lost_calls;
};

struct built {
    WNNGraph handle;
    struct session *session;
    atomic_bool destroyed;
    atomic_bool hunted;              // a callback may have cancelled its executions
    char *results[SEEDS][MAX_PORTS]; // the outputs as they came first; NULL: not yet
};

struct buffer {
    char *memory;         // GUARD bytes, the data at some alignment, GUARD bytes
    WNNNamedBuffer named; // which may say that it has plain bytes
    WNNDataType type;
};

// What a callback does.
enum action {
    ACT_NOTHING,
    ACT_COMPUTE_NOTHING,
    ACT_CANCEL,
    ACT_CANCEL_GRAPH,
    ACT_DESTROY_GRAPH,
    ACT_DESTROY_CONTEXT,
    ACT_LOOK
};

struct request {
    atomic_int calls;
    struct session *session;
    struct built *graph; // of an execution
    WNNFuture future;
    WNNCallbackMode mode;
    WNNStatus status;
    WNNGraph built;
    char message[200];
    uint32_t allowed; // statuses besides Success, and those that later events allow
    bool is_build, finished;
    enum action action;
    struct request *victim; // an earlier one of the session, or NULL
    WNNGraph held;          // the graph, for the callback
    bool unknown;           // what it reads is not known
    atomic_bool cancelled;
    struct request *after; // whose success the result needs
    unsigned seed;
    uint8_t pattern;
    struct buffer inputs[MAX_PORTS], outputs[MAX_PORTS];
    unsigned ports[MAX_PORTS]; // which outputs of the graph
    size_t input_count, output_count;
};

struct world {
    struct bytes bytes, sharing;
    struct shared shared;
    struct session sessions[MAX_SESSIONS];
    size_t session_count;
    struct session *now;
    struct built graphs[MAX_GRAPHS];
    size_t graph_count;
    struct request *requests[MAX_REQUESTS];
    size_t request_count;
    bool closing; // graphs are not kept any more
    bool racing;  // a second thread destroys and cancels
    struct racer {
        pthread_t thread;
        struct bytes bytes;
        pthread_mutex_t lock; // over what follows
        WNNContext contexts[MAX_SESSIONS];
        WNNGraph graphs[MAX_GRAPHS];
        WNNTensor tensor;
        uint64_t last_future;
        atomic_bool stop;
    } racer;
};

static void fail(const char *what, const struct request *request)
{
    fprintf(stderr, "%s", what);
    if (request)
        fprintf(stderr, " (%s, status %d, \"%s\", seed %u)", request->is_build ? "build" : "execution",
                (int)request->status, request->message, request->seed);
    fputc('\n', stderr);
    abort();
}

static bool on_gpu(void)
{
    const char *device = getenv("WNN_FUZZ_DEVICE");
    return device && strcmp(device, "gpu") == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Contexts
// ---------------------------------------------------------------------------------------------------------------

// A pool of the host's that has one thread and begins at the end.
static void backwards(size_t count, void (*task)(void *argument, size_t index), void *argument,
                      void *userdata)
{
    (void)userdata;
    while (count-- > 0)
        task(argument, count);
}

static void on_lost(WNNContextLostReason reason, WNNStringView message, void *session, void *unused)
{
    (void)message, (void)unused;
    if (reason != WNNContextLostReason_Destroyed && reason != WNNContextLostReason_Released)
        fail("a context is lost without a reason", NULL);
    if (atomic_fetch_add(&((struct session *)session)->lost_calls, 1) != 0)
        fail("a context is lost twice", NULL);
}

static void on_error(WNNStatus status, WNNStringView message, void *unused1, void *unused2)
{
    (void)unused1, (void)unused2;
    if (status == WNNStatus_Success || status > WNNStatus_Cancelled || message.length == 0)
        fail("an error without a status or message", NULL);
}

static void share(struct world *w, struct session *s, WNNContextDescriptor *descriptor)
{
    uint8_t byte = take(&w->sharing);
    s->shared = &w->shared;
    descriptor->priority = (WNNPriority)(1 + byte / 16 % 3);
    descriptor->threadPool = byte & 1 ? w->shared.pool : NULL;
    if (byte & 2) {
        descriptor->budget = w->shared.budget;
        s->starved |= fuzz_is_limited(&w->shared);
    }
    if (byte & 4) {
        fuzz_trace_begin(&s->log, byte & 8);
        descriptor->nextInChain = &s->log.trace.chain;
    }
}

static bool open_session(struct world *w)
{
    struct bytes *b = &w->bytes;
    struct session *s = &w->sessions[w->session_count];
    uint8_t byte = take(b), tight = take(b);
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxTensorByteLength = 1u << 20;
    limits.maxMemoryBytes = tight >= 250 ? 1u << 20 : MAX_MEMORY;
    limits.maxConstantBytes = 8u << 20;
    limits.maxOperators = tight >= 240 ? 6 : 400;
    limits.maxOperands = 2000;
    limits.maxInputsAndOutputs = tight % 32 == 31 ? 4 : 64;
    limits.maxStringLength = 100;
    limits.maxWindowSize = tight % 32 == 30 ? 3 : 0;
    limits.maxStride = tight % 32 == 29 ? 2 : 0;
    limits.maxDilation = tight % 32 == 28 ? 2 : 0;
    limits.acceptEmptyTensors = byte & 8;
    limits.maxOperatorWork = 1u << 22;
    limits.maxGraphWork = 1u << 24;
    limits.maxPendingRequests = tight % 32 == 27 ? 3 : 0;
    limits.maxExecutionNanoseconds = tight % 32 == 26 ? 50000 : 0;
    limits.maxBuildNanoseconds = tight % 32 == 25 ? 1000000 : 0;
    s->hurried = tight % 32 == 26 || tight % 32 == 25;
    const WNNAllocator allocator = fuzz_allocator(&s->heap);
    const WNNParallelFor parallel = {NULL, backwards, 1 + byte % 4, NULL};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.deviceType = on_gpu() ? WNNDeviceType_GPU : WNNDeviceType_CPU;
    descriptor.limits = &limits;
    descriptor.threadCount = THREAD_SANITIZED ? 1 : 1 + byte % 3;
    descriptor.strictNumerics = byte & 16;
    s->counted = !(byte & 128);
    descriptor.allocator = s->counted ? &allocator : NULL;
    descriptor.parallelFor = (byte & 96) == 96 ? &parallel : NULL;
    descriptor.lostCallbackInfo =
        (WNNContextLostCallbackInfo){NULL, (WNNCallbackMode)(1 + byte % 3), on_lost, s, NULL};
    descriptor.errorCallbackInfo.callback = on_error;
    s->starved = tight >= 250 || tight % 32 == 27;
    share(w, s, &descriptor);
    if (tight >= 246 && tight < 250) {
        s->heap.until_failure = 1 + take(b);
        s->starved |= s->counted;
    }
    WNNStatus status = wnnCreateContext(&descriptor, &s->context);
    if (status == WNNStatus_Success) {
        w->session_count++;
        s->recorder =
            (struct recorder){.bytes = b, .context = s->context, .empty = limits.acceptEmptyTensors};
        return true;
    }
    if (on_gpu() && status == WNNStatus_NotSupportedError) {
        puts("skipped: there is no GPU");
        exit(SKIPPED);
    }
    if (!s->starved || status != WNNStatus_OutOfMemory || s->context || !fuzz_heap_is_empty(&s->heap))
        fail("a context cannot be made, or leaves something", NULL);
    fuzz_trace_end(&s->log);
    memset(s, 0, sizeof *s);
    return false;
}

// ---------------------------------------------------------------------------------------------------------------
// Requests
// ---------------------------------------------------------------------------------------------------------------

static size_t descriptor_bytes(const WNNOperandDescriptor *descriptor, struct descriptor *type)
{
    *type = (struct descriptor){.type = descriptor->dataType};
    wnn_shape_append(&type->shape, descriptor->shape.data, (unsigned)descriptor->shape.count);
    return wnn_descriptor_bytes(type);
}

// At any alignment, between guards.
static void make_buffer(struct buffer *buffer, const WNNNamedDescriptor *named, uint8_t pattern,
                        unsigned shift)
{
    struct descriptor type;
    size_t length = descriptor_bytes(&named->descriptor, &type);
    buffer->memory = malloc(length + 2 * GUARD + 16);
    if (!buffer->memory)
        abort();
    memset(buffer->memory, pattern, length + 2 * GUARD + 16);
    buffer->named = (WNNNamedBuffer){named->name, buffer->memory + GUARD + shift % 16, length,
                                     shift & 16 ? WNNDataType_Undefined : named->descriptor.dataType};
    buffer->type = named->descriptor.dataType;
}

// `untouched`: an output of an execution that failed has its pattern still, or is all zeros if it was
// stopped.
static void check_buffer(const struct request *request, const struct buffer *buffer, bool untouched)
{
    const uint8_t *data = buffer->named.data;
    uint8_t first = data[0] == 0 ? 0 : request->pattern;
    for (size_t i = 1; i <= GUARD; i++)
        if (data[-(ptrdiff_t)i] != request->pattern ||
            data[buffer->named.byteLength + i - 1] != request->pattern)
            fail("bytes beside a buffer have changed", request);
    for (size_t i = 0; untouched && i < buffer->named.byteLength; i++)
        if (data[i] != first)
            fail("an execution that failed has left a part of its results", request);
}

// In a callback, on any thread.
static void act(const struct request *request)
{
    struct session *s = request->session;
    if (atomic_load(&s->ending))
        return;
    switch (request->action) {
    case ACT_NOTHING:
        break;
    case ACT_COMPUTE_NOTHING:
        wnnContextCompute(s->context, NULL, (WNNRequestCallbackInfo)WNN_REQUEST_CALLBACK_INFO_INIT);
        if (request->mode != WNNCallbackMode_AllowSpontaneous)
            wnnContextProcessEvents(s->context);
        break;
    case ACT_CANCEL:
        if (request->victim) {
            atomic_store(&request->victim->cancelled, true);
            wnnContextCancel(s->context, request->victim->future);
        }
        break;
    case ACT_CANCEL_GRAPH:
        if (request->held) {
            atomic_store(&request->graph->hunted, true);
            wnnGraphCancel(request->held);
        }
        break;
    case ACT_DESTROY_GRAPH:
        if (request->held) {
            atomic_store(&request->graph->destroyed, true);
            wnnGraphDestroy(request->held);
        }
        break;
    case ACT_DESTROY_CONTEXT:
        atomic_store(&s->lost, true);
        wnnContextDestroy(s->context);
        break;
    case ACT_LOOK:
        fuzz_check_budget(s->shared);
        wnnContextGetCounters(s->context, &(WNNContextCounters){0});
        break;
    }
}

static void answer(struct request *request, WNNStatus status, WNNStringView message)
{
    if (!message.data || message.data[message.length] != 0 ||
        (status == WNNStatus_Success) != (message.length == 0))
        fail("a message that does not go with its status", request);
    request->status = status;
    snprintf(request->message, sizeof request->message, "%s", message.data);
    act(request);
    if (atomic_fetch_add(&request->calls, 1) != 0)
        fail("a callback came twice", request);
}

static void on_request(WNNStatus status, WNNStringView message, void *request, void *unused)
{
    (void)unused;
    answer(request, status, message);
}

static void on_built(WNNStatus status, WNNGraph graph, WNNStringView message, void *request, void *unused)
{
    (void)unused;
    ((struct request *)request)->built = graph;
    if ((status == WNNStatus_Success) != (graph != NULL))
        fail("a graph that does not go with its status", request);
    answer(request, status, message);
}

static enum action action_of(uint8_t byte)
{
    static const enum action actions[] = {ACT_COMPUTE_NOTHING, ACT_CANCEL,         ACT_CANCEL,
                                          ACT_CANCEL_GRAPH,    ACT_CANCEL_GRAPH,   ACT_LOOK,
                                          ACT_DESTROY_GRAPH,   ACT_DESTROY_CONTEXT};
    return byte < 224 ? ACT_NOTHING : actions[(byte & 31) / 4];
}

static struct request *new_request(struct world *w, bool is_build)
{
    if (w->request_count == MAX_REQUESTS)
        return NULL;
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        abort();
    uint8_t byte = take(&w->bytes);
    request->session = w->now;
    request->is_build = is_build;
    request->mode = (WNNCallbackMode)(1 + byte % 3);
    request->action = action_of(byte);
    if (w->request_count > 0 && w->requests[w->request_count - 1]->session == w->now &&
        w->requests[w->request_count - 1]->future.id)
        request->victim = w->requests[w->request_count - 1];
    request->seed = byte >> 2 & 1;
    request->pattern = w->request_count % 2 ? 0x5A : 0xA5;
    w->requests[w->request_count++] = request;
    return request;
}

static void aim(struct request *request, struct built *graph)
{
    request->graph = graph;
    if (request->action == ACT_CANCEL_GRAPH || request->action == ACT_DESTROY_GRAPH)
        wnnGraphAddRef(request->held = graph->handle);
}

static WNNRequestCallbackInfo tell(struct request *request)
{
    return (WNNRequestCallbackInfo){NULL, request->mode, on_request, request, NULL};
}

// Sometimes there is a limit of time, which may be short.
static const WNNChainedStruct *maybe_limit(struct world *w, struct request *request, WNNTimeLimit *limit)
{
    uint8_t byte = take(&w->bytes);
    if (byte < 240)
        return NULL;
    *limit = (WNNTimeLimit)WNN_TIME_LIMIT_INIT;
    limit->nanoseconds = 1ull << (byte - 240) * 2;
    request->cancelled = true;
    return &limit->chain;
}

static void started(struct world *w, struct request *request, WNNFuture future)
{
    if (future.id == 0)
        fail("a request has no future", request);
    request->future = future;
    pthread_mutex_lock(&w->racer.lock);
    w->racer.last_future = future.id;
    pthread_mutex_unlock(&w->racer.lock);
}

// Statuses that what happened to the request, its graph and its context allow.
static uint32_t allowed_statuses(const struct world *w, const struct request *request)
{
    const struct session *s = request->session;
    uint32_t allowed = request->allowed | BIT(Success);
    if (atomic_load(&s->lost) || w->racing)
        allowed |= BIT(Cancelled) | BIT(InvalidStateError);
    if (atomic_load(&request->cancelled) || atomic_load(&s->ending) || s->hurried)
        allowed |= BIT(Cancelled);
    if (request->graph && atomic_load(&request->graph->destroyed))
        allowed |= BIT(InvalidStateError);
    if (request->graph && atomic_load(&request->graph->hunted))
        allowed |= BIT(Cancelled);
    if (s->starved)
        allowed |= BIT(OutOfMemory);
    return allowed;
}

// Whether the byte is of a NaN. Of several NaN that meet, which one's sign goes on depends on how work is
// divided.
static bool is_nan(WNNDataType type, const char *data, size_t at)
{
    float number = 0;
    uint16_t half = 0;
    if (type == WNNDataType_Float16) {
        memcpy(&half, data + at / 2 * 2, sizeof half);
        return (half & 0x7FFF) > 0x7C00;
    }
    if (type == WNNDataType_Float32)
        memcpy(&number, data + at / 4 * 4, sizeof number);
    return number != number;
}

// The same graph and inputs have the same results, which the first of them are kept for.
static void compare(const struct request *request, char **first, const WNNNamedBuffer *output,
                    WNNDataType type)
{
    const char *data = output->data;
    if (!*first) {
        *first = malloc(output->byteLength);
        if (!*first)
            abort();
        memcpy(*first, data, output->byteLength);
    }
    for (size_t i = 0; i < output->byteLength; i++)
        if (data[i] != (*first)[i] && !(is_nan(type, data, i) && is_nan(type, *first, i))) {
            fprintf(stderr, "output \"%.*s\" of %zu bytes, type %d: byte %zu is %02x, was %02x%s\n",
                    (int)output->name.length, output->name.data, output->byteLength, (int)output->dataType, i,
                    data[i] & 0xFF, (*first)[i] & 0xFF, request->after ? ", by dispatch" : "");
            fail("the same graph and inputs gave other bits", request);
        }
}

// Looks at what came, once.
static void finish(struct world *w, struct request *request)
{
    if (request->finished || atomic_load(&request->calls) == 0 ||
        (request->after && atomic_load(&request->after->calls) == 0))
        return;
    request->finished = true;
    wnnGraphRelease(request->held);
    if (!(allowed_statuses(w, request) >> request->status & 1))
        fail("a status that nothing explains", request);
    for (size_t i = 0; i < request->input_count; i++) {
        struct buffer *input = &request->inputs[i];
        check_buffer(request, input, false);
        free(input->memory);
    }
    bool complete = request->status == WNNStatus_Success;
    bool comparable =
        complete && !request->unknown && (!request->after || request->after->status == WNNStatus_Success);
    for (size_t i = 0; i < request->output_count; i++) {
        struct buffer *output = &request->outputs[i];
        check_buffer(request, output, !complete);
        if (comparable)
            compare(request, &request->graph->results[request->seed][request->ports[i]], &output->named,
                    output->type);
        free(output->memory);
    }
    struct built *graph = &w->graphs[w->graph_count];
    if (request->built && w->graph_count < MAX_GRAPHS && !w->closing) {
        *graph = (struct built){.handle = request->built, .session = request->session};
        fuzz_built++;
        pthread_mutex_lock(&w->racer.lock);
        if (w->racing && !atomic_load(&w->racer.stop) && !w->racer.graphs[w->graph_count]) {
            wnnGraphAddRef(graph->handle);
            w->racer.graphs[w->graph_count] = graph->handle;
        }
        pthread_mutex_unlock(&w->racer.lock);
        w->graph_count++;
    } else {
        wnnGraphRelease(request->built);
    }
    request->built = NULL;
}

static void finish_all(struct world *w)
{
    for (size_t i = 0; i < w->request_count; i++)
        finish(w, w->requests[i]);
}

static void wait_for(struct world *w, struct request *request)
{
    WNNFutureWaitInfo info = {request->future, false};
    if (wnnContextWaitAny(request->session->context, 1, &info, WNN_WAIT_FOREVER) != WNNWaitStatus_Success)
        fail("waiting failed", request);
    if (!info.completed || atomic_load(&request->calls) != 1)
        fail("a request is complete whose callback has not run", request);
    finish_all(w);
}

static void wait_for_some(struct world *w)
{
    static const uint64_t timeouts[] = {0, 1, 1000, 100000, 1000000, WNN_WAIT_FOREVER};
    WNNFutureWaitInfo infos[8];
    size_t count = 0;
    uint8_t byte = take(&w->bytes);
    for (size_t i = 0; i < w->request_count && count < 8; i++)
        if (w->requests[i]->session == w->now && w->requests[i]->future.id)
            infos[count++] = (WNNFutureWaitInfo){w->requests[i]->future, false};
    if (byte == 255)
        infos[0].future.id = 1u << 30;
    uint64_t timeout = timeouts[byte % 6];
    WNNWaitStatus status = wnnContextWaitAny(w->now->context, count, infos, byte == 255 ? 0 : timeout);
    if (status == WNNWaitStatus_TimedOut ? timeout == WNN_WAIT_FOREVER
                                         : (status == WNNWaitStatus_Error) != (count == 0 || byte == 255))
        fail("waiting has a wrong result", NULL);
    finish_all(w);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs and executions
// ---------------------------------------------------------------------------------------------------------------

static WNNGraphBuilder builder_of(struct session *s)
{
    struct recorder *r = &s->recorder;
    if (r->builder)
        return r->builder;
    WNNStatus status = wnnContextCreateGraphBuilder(s->context, &r->builder);
    if ((status == WNNStatus_Success) != (r->builder != NULL))
        fail("a builder that does not go with its status", NULL);
    return r->builder;
}

static void record(struct world *w, void (*how)(struct recorder *recorder))
{
    if (!builder_of(w->now))
        return;
    how(&w->now->recorder);
    WNNError error;
    wnnGraphBuilderGetError(w->now->recorder.builder, &error);
    if ((error.status == WNNStatus_Success) != (error.message.length == 0) ||
        error.status > WNNStatus_OutOfMemory || error.status == WNNStatus_UnknownError)
        fail("a builder has an error without a status or message", NULL);
    if (take(&w->bytes) != 255)
        wnnGraphBuilderClearError(w->now->recorder.builder);
}

static struct request *build(struct world *w)
{
    struct recorder *r = &w->now->recorder;
    WNNNamedOperand outputs[4];
    static const char *const names[] = {"y0", "y1", "y2", "y3"};
    size_t wanted = 1 + take_below(&w->bytes, 4), count = 0;
    uint8_t byte = take(&w->bytes);
    if (!builder_of(w->now))
        return NULL;
    for (size_t i = r->operand_count, skip = 0; i-- > 0 && count < wanted;)
        if ((r->operands[i].computed || byte == 255) && skip-- == 0) {
            outputs[count] =
                (WNNNamedOperand){{names[byte == 254 ? 0 : count], WNN_STRLEN}, r->operands[i].operand};
            count++;
            skip = byte % 3;
        }
    struct request *request = new_request(w, true);
    if (!request)
        return NULL;
    request->allowed = BIT(TypeError) | BIT(OutOfMemory); // of the builder, or of too much work
    WNNTimeLimit limit;
    WNNBuildCallbackInfo info = {maybe_limit(w, request, &limit), request->mode, on_built, request, NULL};
    started(w, request, wnnGraphBuilderBuild(r->builder, count, outputs, info));
    finish_all(w);
    return request;
}

static struct built *choose_graph(struct world *w)
{
    size_t of = take(&w->bytes);
    for (size_t i = 0; i < w->graph_count; i++) {
        struct built *graph = &w->graphs[(of + i) % w->graph_count];
        if (graph->handle && graph->session == w->now)
            return graph;
    }
    return NULL;
}

// The buffers of a request; false if the graph has more ports than one request of ours can have.
static bool make_buffers(struct request *request, struct built *graph, uint8_t byte)
{
    size_t input_count, output_count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph->handle, &input_count);
    const WNNNamedDescriptor *outputs = wnnGraphGetOutputs(graph->handle, &output_count);
    if (input_count > MAX_PORTS || output_count > MAX_PORTS)
        return false;
    for (size_t i = 0; i < input_count; i++) {
        struct buffer *input = &request->inputs[request->input_count++];
        struct descriptor type;
        make_buffer(input, &inputs[i], request->pattern, byte * (unsigned)(i + 1));
        descriptor_bytes(&inputs[i].descriptor, &type);
        fuzz_fill(input->named.data, &type, request->seed * 3 + (unsigned)i * 2);
    }
    for (size_t i = 0; i < output_count; i++)
        if (i == 0 || byte < 200) { // one is enough
            make_buffer(&request->outputs[request->output_count], &outputs[i], request->pattern,
                        byte * (unsigned)(i + 3));
            request->ports[request->output_count++] = (unsigned)i;
        }
    return true;
}

static struct request *compute(struct world *w, struct built *graph)
{
    uint8_t byte = take(&w->bytes);
    struct request *request = graph ? new_request(w, false) : NULL;
    if (!request)
        return NULL;
    WNNNamedBuffer inputs[MAX_PORTS], outputs[MAX_PORTS];
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    WNNTimeLimit limit;
    descriptor.nextInChain = maybe_limit(w, request, &limit);
    if (make_buffers(request, graph, byte)) {
        aim(request, graph);
        for (size_t i = 0; i < request->input_count; i++)
            inputs[i] = request->inputs[i].named;
        for (size_t i = 0; i < request->output_count; i++)
            outputs[i] = request->outputs[i].named;
        descriptor.graph = graph->handle;
        descriptor.inputCount = request->input_count;
        descriptor.outputCount = request->output_count;
        descriptor.inputs = inputs;
        descriptor.outputs = outputs;
        if (byte >= 240) { // refused, one way or another
            request->allowed = BIT(TypeError);
            switch (byte % 6) {
            case 0: // overlaps, by the last byte
                if (request->input_count && inputs[0].byteLength > 1 && outputs[0].byteLength > 0)
                    outputs[0].data = (char *)inputs[0].data + (inputs[0].byteLength - 1);
                else
                    outputs[0].byteLength++;
                break;
            case 1:
                outputs[0].byteLength++;
                break;
            case 2:
                outputs[0].name = (WNNStringView){"nobody", WNN_STRLEN};
                break;
            case 3:
                descriptor.inputCount = request->input_count ? request->input_count - 1 : 1u << 20;
                descriptor.inputs = request->input_count ? inputs : NULL;
                break;
            case 4:
                outputs[0].dataType = (WNNDataType)12;
                break;
            default:
                descriptor.outputCount = 0;
            }
        }
    } else {
        request->allowed = BIT(TypeError);
    }
    started(w, request, wnnContextCompute(w->now->context, &descriptor, tell(request)));
    if (byte >= 240 && atomic_load(&request->calls) && request->status == WNNStatus_Success)
        fail("a wrong execution was taken", request);
    finish_all(w);
    return request;
}

static bool create_tensor(const struct world *w, struct session *s, const WNNTensorDescriptor *descriptor,
                          WNNTensor *created)
{
    WNNStatus status = wnnContextCreateTensor(s->context, descriptor, created);
    WNNTensor tensor = *created;
    if ((status == WNNStatus_Success) != (tensor != NULL))
        fail("a tensor that does not go with its status", NULL);
    bool fine = status == WNNStatus_Success || (status == WNNStatus_OutOfMemory && s->starved) ||
                (status == WNNStatus_InvalidStateError && (w->racing || atomic_load(&s->lost)));
    if (!fine)
        fail("a tensor cannot be made", NULL);
    return tensor != NULL;
}

// The first input of the type of output 0, which may replace it; NULL: there is none.
static WNNTensor replaceable(const struct built *graph, const WNNNamedTensor *inputs)
{
    size_t count, ignored;
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph->handle, &count);
    struct descriptor type, output;
    descriptor_bytes(&wnnGraphGetOutputs(graph->handle, &ignored)[0].descriptor, &output);
    for (size_t i = 0; i < count; i++) {
        descriptor_bytes(&list[i].descriptor, &type);
        if (wnn_descriptor_equal(&type, &output))
            return inputs[i].tensor;
    }
    return NULL;
}

// An execution on tensors, whose outputs are read: they are what buffers get. The first may replace an input.
static void dispatch(struct world *w, struct built *graph)
{
    WNNNamedTensor inputs[MAX_PORTS] = {0}, outputs[MAX_PORTS] = {0};
    uint8_t byte = take(&w->bytes);
    struct request *request = graph ? new_request(w, false) : NULL,
                   source = {.seed = request ? request->seed : 0};
    if (!request || !make_buffers(&source, graph, 0))
        return;
    struct session *s = w->now;
    bool good = true;
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    for (size_t i = 0; i < source.input_count + source.output_count; i++) {
        bool in = i < source.input_count;
        struct buffer *buffer = in ? &source.inputs[i] : &source.outputs[i - source.input_count];
        WNNNamedTensor *named = in ? &inputs[i] : &outputs[i - source.input_count];
        const WNNNamedDescriptor *list = in ? wnnGraphGetInputs(graph->handle, &descriptor.inputCount)
                                            : wnnGraphGetOutputs(graph->handle, &descriptor.outputCount);
        const WNNOperandDescriptor *type = &list[in ? i : i - source.input_count].descriptor;
        WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
        wanted.dataType = type->dataType;
        wanted.shape = type->shape;
        wanted.readable = wanted.writable = true;
        named->name = buffer->named.name;
        if (i == source.input_count && byte >= 200 && byte < 250)
            named->tensor = replaceable(graph, inputs);
        if (named->tensor)
            wnnTensorAddRef(named->tensor);
        else
            good &= create_tensor(w, s, &wanted, &named->tensor);
        if (in && named->tensor)
            good &= wnnContextWriteTensor(s->context, named->tensor, buffer->named.data,
                                          buffer->named.byteLength) == WNNStatus_Success;
        free(buffer->memory);
    }
    descriptor.graph = graph->handle;
    descriptor.inputCount = source.input_count;
    descriptor.outputCount = source.output_count;
    descriptor.inputs = inputs;
    descriptor.outputs = outputs;
    WNNTimeLimit limit;
    descriptor.nextInChain = maybe_limit(w, request, &limit);
    aim(request, graph);
    request->allowed = good && byte < 250 ? 0 : BIT(TypeError);
    WNNTensor replaced = inputs[0].tensor;
    if (byte >= 250 && descriptor.inputCount > 0)
        inputs[0].tensor = NULL;
    if (w->racing && outputs[0].tensor) {
        pthread_mutex_lock(&w->racer.lock);
        if (!w->racer.tensor) {
            wnnTensorAddRef(outputs[0].tensor);
            w->racer.tensor = outputs[0].tensor;
        }
        pthread_mutex_unlock(&w->racer.lock);
        request->allowed |= BIT(TypeError);
    }
    started(w, request, wnnContextDispatch(s->context, &descriptor, tell(request)));
    for (size_t i = 0; i < source.output_count; i++) {
        struct request *reading = outputs[i].tensor ? new_request(w, false) : NULL;
        if (!reading)
            break;
        aim(reading, graph);
        reading->seed = request->seed;
        reading->after = request;
        reading->unknown = !good;
        size_t count;
        make_buffer(&reading->outputs[0], &wnnGraphGetOutputs(graph->handle, &count)[i], reading->pattern,
                    byte);
        reading->ports[0] = (unsigned)i;
        reading->output_count = 1;
        reading->allowed = w->racing || byte >= 200 ? BIT(TypeError) | BIT(InvalidStateError) : 0;
        WNNNamedBuffer *to = &reading->outputs[0].named;
        started(w, reading,
                wnnContextReadTensor(s->context, outputs[i].tensor, to->data, to->byteLength, tell(reading)));
        if (byte >= 240 && byte % 2)
            wnnTensorDestroy(outputs[i].tensor);
    }
    for (size_t i = 0; i < source.input_count + source.output_count; i++) {
        WNNTensor tensor = i < source.input_count ? inputs[i].tensor : outputs[i - source.input_count].tensor;
        if (i == 0 && descriptor.inputCount > 0)
            tensor = replaced;
        if (byte % 4 == 3 && i < source.input_count)
            wnnTensorDestroy(tensor);
        wnnTensorRelease(tensor);
    }
    finish_all(w);
}

// ---------------------------------------------------------------------------------------------------------------
// The second thread
// ---------------------------------------------------------------------------------------------------------------

static void *race(void *argument)
{
    struct world *w = argument;
    struct racer *racer = &w->racer;
    while (!atomic_load(&racer->stop) && racer->bytes.left > 0) {
        uint8_t byte = take(&racer->bytes);
        nanosleep(&(struct timespec){0, (long)(byte >> 3) * 9000}, NULL);
        pthread_mutex_lock(&racer->lock);
        struct session *session = &w->sessions[byte / 8 % MAX_SESSIONS];
        WNNContext context = racer->contexts[byte / 8 % MAX_SESSIONS];
        WNNGraph graph = racer->graphs[byte >> 6];
        WNNTensor tensor = racer->tensor;
        uint64_t last = racer->last_future;
        pthread_mutex_unlock(&racer->lock);
        switch (context ? byte % 8 : 0) {
        case 1:
            wnnContextCancel(context, (WNNFuture){last > (byte >> 4) ? last - (byte >> 4) : 1});
            break;
        case 2:
            wnnContextProcessEvents(context);
            break;
        case 3:
            if (byte >= 128)
                wnnGraphCancel(graph);
            else if (byte >= 64)
                wnnGraphDestroy(graph);
            break;
        case 4:
            wnnTensorDestroy(tensor);
            break;
        case 5:
            wnnContextWaitAny(context, 1, &(WNNFutureWaitInfo){{last}, false}, 1000);
            break;
        case 6:
            wnnContextGetCounters(context, &(WNNContextCounters){0});
            wnnGraphSetProfiling(graph, byte & 64);
            fuzz_check_budget(&w->shared);
            break;
        case 7:
            if (byte >= 200) {
                atomic_store(&session->lost, true);
                wnnContextDestroy(context);
            }
            break;
        default:
            break;
        }
    }
    return NULL;
}

static void start_race(struct world *w, const uint8_t *data, size_t size)
{
    w->racer.bytes = (struct bytes){data, size};
    w->racing = true;
    if (pthread_create(&w->racer.thread, NULL, race, w) != 0)
        abort();
}

static void add_to_race(struct world *w, struct session *session)
{
    if (!w->racing)
        return;
    wnnContextAddRef(session->context);
    pthread_mutex_lock(&w->racer.lock);
    w->racer.contexts[session - w->sessions] = session->context;
    pthread_mutex_unlock(&w->racer.lock);
}

static void end_race(struct world *w)
{
    if (!w->racing)
        return;
    atomic_store(&w->racer.stop, true);
    pthread_join(w->racer.thread, NULL);
    for (size_t i = 0; i < MAX_GRAPHS; i++)
        wnnGraphRelease(w->racer.graphs[i]);
    wnnTensorRelease(w->racer.tensor);
    for (size_t i = 0; i < MAX_SESSIONS; i++)
        wnnContextRelease(w->racer.contexts[i]);
}

// ---------------------------------------------------------------------------------------------------------------
// Programs
// ---------------------------------------------------------------------------------------------------------------

static void look_around(struct world *w)
{
    struct session *s = w->now;
    struct built *graph = choose_graph(w);
    WNNGraphProfile profile = {0};
    WNNNodeProfile nodes[3] = {0};
    WNNOpSupportLimits support = {0};
    WNNContextCounters counters = {0};
    WNNLimits limits = WNN_LIMITS_INIT;
    WNNDeviceInfo device = WNN_DEVICE_INFO_INIT;
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    WNNNodeInfo infos[3] = {0};
    wnnContextGetOpSupportLimits(s->context, &support);
    wnnContextGetCounters(s->context, &counters);
    wnnContextGetLimits(s->context, &limits);
    wnnContextGetDeviceInfo(s->context, &device);
    if (support.operatorCount == 0 || counters.allocatedBytes > counters.maxAllocatedBytes ||
        (limits.maxMemoryBytes && counters.maxAllocatedBytes > limits.maxMemoryBytes))
        fail("a context has no operators, or more memory than it may", NULL);
    if (!graph)
        return;
    wnnGraphGetInfo(graph->handle, &info);
    wnnGraphGetNodes(graph->handle, 3, infos, NULL);
    size_t count;
    wnnGraphGetProfile(graph->handle, &profile, 3, nodes, &count);
    for (size_t i = 0; i < count && i < 3; i++)
        if (nodes[i].operation.length == 0 || nodes[i].runs > profile.runs)
            fail("the profile of a node makes no sense", NULL);
    wnnGraphSetProfiling(graph->handle, take(&w->bytes) & 1);
}

static void cancel_one(struct world *w)
{
    if (w->request_count == 0)
        return;
    struct request *request = w->requests[w->request_count - 1 - take(&w->bytes) % w->request_count];
    if (!request->future.id)
        return;
    atomic_store(&request->cancelled, true);
    WNNStatus status = wnnContextCancel(request->session->context, request->future);
    if (status != WNNStatus_Success && status != WNNStatus_InvalidStateError)
        fail("a request cannot be cancelled", request);
    finish_all(w);
}

static void cancel_graph(struct world *w)
{
    struct built *graph = choose_graph(w);
    if (!graph)
        return;
    for (size_t i = 0; i < w->request_count; i++)
        if (w->requests[i]->graph == graph)
            atomic_store(&w->requests[i]->cancelled, true);
    wnnGraphCancel(graph->handle);
}

// One execution of each context, side by side.
static void compute_everywhere(struct world *w)
{
    struct session *now = w->now;
    for (size_t i = 0; i < w->session_count; i++) {
        w->now = &w->sessions[i];
        compute(w, choose_graph(w));
    }
    w->now = now;
}

static void run_command(struct world *w, uint8_t byte)
{
    struct session *s = w->now;
    struct built *graph;
    switch (byte % 64) {
    default:
        record(w, fuzz_record_operator);
        break;
    case 21:
        fuzz_renew_pool(&w->shared, take(&w->bytes));
        break;
    case 22:
        compute_everywhere(w);
        break;
    case 23:
        fuzz_check_budget(&w->shared);
        break;
    case 24 ... 27:
        record(w, fuzz_record_source);
        break;
    case 28 ... 35:
        record(w, fuzz_record_motif);
        break;
    case 36 ... 38: {
        struct request *request = build(w);
        if (request && byte < 192)
            wait_for(w, request);
        break;
    }
    case 39 ... 45: {
        struct request *request = compute(w, choose_graph(w));
        if (request && byte >= 192)
            wait_for(w, request);
        break;
    }
    case 46 ... 48:
        dispatch(w, choose_graph(w));
        break;
    case 49:
        wnnContextProcessEvents(s->context);
        finish_all(w);
        break;
    case 50:
    case 51:
        wait_for_some(w);
        break;
    case 52:
        cancel_graph(w);
        break;
    case 53:
        cancel_one(w);
        break;
    case 54:
        graph = choose_graph(w);
        if (graph && byte >= 128) {
            atomic_store(&graph->destroyed, true);
            wnnGraphDestroy(graph->handle);
        }
        break;
    case 55:
        graph = choose_graph(w);
        if (graph && byte >= 128) {
            wnnGraphRelease(graph->handle);
            graph->handle = NULL;
        }
        break;
    case 56:
    case 57:
        look_around(w);
        break;
    case 58:
        if (s->counted) {
            s->starved = true;
            atomic_store(&s->heap.until_failure, 1 + take(&w->bytes) % 100);
        }
        break;
    case 59:
    case 60:
        if (w->session_count < MAX_SESSIONS && byte >= 128) {
            if (open_session(w))
                add_to_race(w, &w->sessions[w->session_count - 1]);
        } else {
            w->now = &w->sessions[take(&w->bytes) % w->session_count];
        }
        break;
    case 61:
        wnnGraphBuilderRelease(s->recorder.builder);
        s->recorder =
            (struct recorder){.bytes = &w->bytes, .context = s->context, .empty = s->recorder.empty};
        break;
    case 62:
        if (byte >= 192) {
            atomic_store(&s->lost, true);
            wnnContextDestroy(s->context);
            if (!wnnContextIsLost(s->context))
                fail("a context survives its end", NULL);
            finish_all(w);
        }
        break;
    case 63: // an operand, graph or tensor of elsewhere, and nothing at all
        if (w->session_count > 1) {
            struct recorder *other = &w->sessions[s == w->sessions].recorder;
            if (builder_of(s) && other->operand_count)
                wnnGraphBuilderRelu(s->recorder.builder, other->operands[0].operand, NULL);
            if (s->recorder.builder)
                wnnGraphBuilderClearError(s->recorder.builder);
        }
        break;
    }
}

// Everything is answered, and nothing is left but the context.
static void close_sessions(struct world *w, uint8_t how)
{
    for (size_t i = 0; i < w->request_count && how < 128; i++)
        wait_for(w, w->requests[i]);
    for (size_t i = 0; i < w->session_count; i++)
        wnnGraphBuilderRelease(w->sessions[i].recorder.builder);
    if (how & 1) // the handles of a context that has gone are valid
        for (size_t i = 0; i < w->session_count; i++) {
            atomic_store(&w->sessions[i].ending, true);
            wnnContextRelease(w->sessions[i].context);
        }
    if (how & 1)
        end_race(w);
    finish_all(w);
    w->closing = true;
    for (size_t i = 0; i < w->graph_count; i++)
        wnnGraphRelease(w->graphs[i].handle);
    if (!(how & 1)) {
        end_race(w);
        for (size_t i = 0; i < w->session_count; i++) {
            struct session *s = &w->sessions[i];
            WNNContextCounters counters = {0};
            wnnContextGetCounters(s->context, &counters);
            if (how < 128 && (counters.builders + counters.graphs + counters.tensors > 0))
                fail("a context has objects that have been released", NULL);
            atomic_store(&s->ending, true);
            wnnContextRelease(s->context);
        }
    }
    finish_all(w);
    for (size_t i = 0; i < w->request_count; i++) {
        if (atomic_load(&w->requests[i]->calls) != 1)
            fail("a request was not answered once", w->requests[i]);
        free(w->requests[i]);
    }
    for (size_t i = 0; i < w->graph_count * SEEDS * MAX_PORTS; i++)
        free(w->graphs[i / MAX_PORTS / SEEDS].results[i / MAX_PORTS % SEEDS][i % MAX_PORTS]);
    for (size_t i = 0; i < w->session_count; i++) {
        struct session *s = &w->sessions[i];
        if (s->lost_calls != 1)
            fail("a context was not lost once", NULL);
        if (!fuzz_heap_is_empty(&s->heap))
            fail("memory is left, or was given back twice", NULL);
        fuzz_trace_end(&s->log);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    struct world *w = &world;
    memset(w, 0, sizeof *w);
    pthread_mutex_init(&w->racer.lock, NULL);
    w->bytes = (struct bytes){data, size};
    uint8_t how = take(&w->bytes), race_bytes = take(&w->bytes);
    size_t sharing = w->bytes.left < SHARED ? w->bytes.left : SHARED;
    w->bytes.left -= sharing;
    w->sharing = (struct bytes){w->bytes.at + w->bytes.left, sharing};
    fuzz_share(&w->shared, &w->sharing);
    if (!open_session(w)) {
        fuzz_unshare(&w->shared);
        return 0;
    }
    w->now = &w->sessions[0];
    if (race_bytes >= 192 && w->bytes.left > 64) {
        w->bytes.left -= 40;
        start_race(w, w->bytes.at + w->bytes.left, 40);
        add_to_race(w, w->now);
    }
    for (int i = 0; i < MAX_COMMANDS && w->bytes.left > 0; i++)
        run_command(w, take(&w->bytes));
    // What has been recorded is computed twice in any case.
    size_t before = w->graph_count;
    struct request *request = build(w);
    if (request)
        wait_for(w, request);
    for (int i = 0; i < 2 && w->graph_count > before && w->graphs[before].session == w->now; i++)
        compute(w, &w->graphs[before]);
    close_sessions(w, how);
    fuzz_unshare(&w->shared);
    pthread_mutex_destroy(&w->racer.lock);
    return 0;
}
