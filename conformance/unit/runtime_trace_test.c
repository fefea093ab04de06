// SPDX-License-Identifier: Apache-2.0
//
// Events of a trace: slices of a thread are nested, every flow begins once and ends once whatever becomes of
// its request, and nodes, labels and graphs are told by their names. On the CPU, on a backend whose
// executions are in flight, and on a GPU where there is one.

#include "conformance/unit/runtime_fixture.h"

enum {
    MAX_EVENTS = 1 << 14,
    MAX_THREADS = 16,
    MAX_DEPTH = 16,
    WIDTH = 4
};

static const float x[WIDTH] = {1, 2, 3, 4};
static float y[WIDTH];

// ---------------------------------------------------------------------------------------------------------------
// What was heard
// ---------------------------------------------------------------------------------------------------------------

struct heard {
    pthread_t thread;
    WNNTracePhase phase;
    WNNTraceFlow flow;
    char category[16], name[32], label[64];
    uint64_t flow_id, graph_id;
    WNNStatus status;
};

static struct record {
    pthread_mutex_t lock;
    size_t count;
    struct heard events[MAX_EVENTS];
} heard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void copy_view(WNNStringView text, char *to, size_t capacity)
{
    REQUIRE(text.data && text.length < capacity);
    memcpy(to, text.data, text.length);
    to[text.length] = 0;
}

static void hear(const WNNTraceEvent *event, void *record, void *unused)
{
    struct record *r = record;
    REQUIRE(!unused && !event->nextInChain);
    pthread_mutex_lock(&r->lock);
    REQUIRE(r->count < MAX_EVENTS);
    struct heard *e = &r->events[r->count++];
    *e = (struct heard){.thread = pthread_self(),
                        .phase = event->phase,
                        .flow = event->flow,
                        .flow_id = event->flowId,
                        .graph_id = event->graphId,
                        .status = event->status};
    copy_view(event->category, e->category, sizeof e->category);
    copy_view(event->name, e->name, sizeof e->name);
    copy_view(event->label, e->label, sizeof e->label);
    pthread_mutex_unlock(&r->lock);
}

// How often an event of that name began; with a label if one is given.
static int count_of(const char *category, const char *name, const char *label)
{
    int count = 0;
    for (size_t i = 0; i < heard.count; i++) {
        const struct heard *e = &heard.events[i];
        count += e->phase != WNNTracePhase_End && (!category || strcmp(e->category, category) == 0) &&
                 (!name || strcmp(e->name, name) == 0) && (!label || strcmp(e->label, label) == 0);
    }
    return count;
}

struct stack {
    pthread_t thread;
    unsigned depth;
    const struct heard *open[MAX_DEPTH];
};

static struct stack *stack_of(struct stack stacks[MAX_THREADS], unsigned *count, pthread_t thread)
{
    for (unsigned i = 0; i < *count; i++)
        if (pthread_equal(stacks[i].thread, thread))
            return &stacks[i];
    REQUIRE(*count < MAX_THREADS);
    stacks[*count] = (struct stack){.thread = thread};
    return &stacks[(*count)++];
}

static void require_nested(void)
{
    struct stack stacks[MAX_THREADS];
    unsigned count = 0;
    for (size_t i = 0; i < heard.count; i++) {
        const struct heard *e = &heard.events[i];
        struct stack *stack = stack_of(stacks, &count, e->thread);
        if (e->phase == WNNTracePhase_Begin) {
            REQUIRE(stack->depth < MAX_DEPTH);
            stack->open[stack->depth++] = e;
        } else if (e->phase == WNNTracePhase_End) {
            REQUIRE(stack->depth > 0);
            const struct heard *begin = stack->open[--stack->depth];
            REQUIRE_EQUAL_STR(e->name, begin->name);
            REQUIRE_EQUAL_STR(e->category, begin->category);
            REQUIRE_EQUAL_INT(e->flow, WNNTraceFlow_None);
        } else {
            REQUIRE_EQUAL_INT(e->phase, WNNTracePhase_Instant);
        }
    }
    for (unsigned i = 0; i < count; i++)
        REQUIRE_EQUAL_INT(stacks[i].depth, 0);
}

static void require_flows(void)
{
    for (size_t i = 0; i < heard.count; i++) {
        const struct heard *e = &heard.events[i];
        REQUIRE((e->flow == WNNTraceFlow_None) == (e->flow_id == 0));
        REQUIRE(e->flow_id < (uint64_t)1 << 53);
        if (e->flow != WNNTraceFlow_Begin)
            continue;
        bool ended = false;
        for (size_t k = 0; k < heard.count; k++) {
            const struct heard *other = &heard.events[k];
            if (other->flow_id != e->flow_id || k == i)
                continue;
            REQUIRE(k > i && !ended && other->flow != WNNTraceFlow_Begin);
            ended = other->flow == WNNTraceFlow_End;
        }
        REQUIRE(ended);
    }
    // None without a begin: as many as there are, and each found its end.
    for (size_t i = 0; i < heard.count; i++) {
        bool began = heard.events[i].flow_id == 0;
        for (size_t k = 0; k <= i && !began; k++)
            began = heard.events[k].flow == WNNTraceFlow_Begin &&
                    heard.events[k].flow_id == heard.events[i].flow_id;
        REQUIRE(began);
    }
}

// Of a context that is gone, so that nothing comes any more.
static void require_consistent(void)
{
    require_nested();
    require_flows();
}

// ---------------------------------------------------------------------------------------------------------------
// Contexts
// ---------------------------------------------------------------------------------------------------------------

static enum subject {
    ON_CPU,
    IN_FLIGHT,
    ON_GPU
} subject;

static WNNContext create(struct answer *error, struct answer *lost, bool nodes)
{
    WNNTrace trace = WNN_TRACE_INIT;
    trace.event = hear;
    trace.userdata1 = &heard;
    trace.includeNodes = nodes;
    WNNContextDescriptor descriptor = describe_context(error, lost);
    descriptor.nextInChain = &trace.chain;
    heard.count = 0;
    everything_flies = subject == IN_FLIGHT;
    WNNContext context = NULL;
    if (subject == ON_GPU) {
        descriptor.deviceType = WNNDeviceType_GPU;
        wnnCreateContext(&descriptor, &context);
    } else {
        REQUIRE_EQUAL_INT(wnn_create_context_on(gated_backend(), &descriptor, &context), WNNStatus_Success);
    }
    return context;
}

static WNNFuture compute_with_label(WNNContext context, WNNGraph graph, const char *label,
                                    WNNRequestCallbackInfo info)
{
    WNNNamedBuffer input = {view("x"), (void *)(uintptr_t)x, sizeof x, WNNDataType_Float32};
    WNNNamedBuffer output = {view("y"), y, sizeof y, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.label = view(label);
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &input;
    descriptor.outputs = &output;
    return wnnContextCompute(context, &descriptor, info);
}

static WNNGraph build_scores(WNNContext context)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
    options.label = view("scores");
    WNNNamedOperand output = {
        view("y"), wnnGraphBuilderSoftmax(builder, add_input(builder, "x", 1, WIDTH), 1, &options)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// One of everything that succeeds.
static void test_requests(void)
{
    WNNContext context = create(NULL, NULL, false);
    WNNGraph graph = build_scores(context);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(graph, &info);
    REQUIRE(info.id > 0);
    for (int mode = WNNCallbackMode_WaitAnyOnly; mode <= WNNCallbackMode_AllowSpontaneous; mode++) {
        struct answer answer = {0};
        wait_for(context, compute_with_label(context, graph, "frame", tell(&answer, (WNNCallbackMode)mode)));
        REQUIRE_EQUAL_INT(answer.calls, 1);
    }
    wait_for(context, compute_with_label(context, graph, "", tell_nobody()));

    WNNTensor in = create_tensor(context, 1, WIDTH), out = create_tensor(context, 1, WIDTH);
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, in, x, sizeof x), WNNStatus_Success);
    WNNNamedTensor input = {view("x"), in}, output = {view("y"), out};
    WNNDispatchDescriptor dispatch = WNN_DISPATCH_DESCRIPTOR_INIT;
    dispatch.graph = graph;
    dispatch.inputCount = dispatch.outputCount = 1;
    dispatch.inputs = &input;
    dispatch.outputs = &output;
    wnnContextDispatch(context, &dispatch, tell_nobody());
    // Behind the dispatch, as like as not.
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, in, x, sizeof x), WNNStatus_Success);
    wait_for(context, wnnContextReadTensor(context, out, y, sizeof y, tell_nobody()));
    wnnTensorRelease(in);
    wnnTensorRelease(out);
    wnnGraphRelease(graph);
    wnnContextRelease(context);

    require_consistent();
    REQUIRE_EQUAL_INT(count_of("webnn", "build", NULL), 1);
    REQUIRE_EQUAL_INT(count_of("webnn", "compile", NULL), 1);
    REQUIRE_EQUAL_INT(count_of("webnn", "lower", NULL), 1);
    REQUIRE_EQUAL_INT(count_of("webnn", "compute", "frame"), 3);
    REQUIRE_EQUAL_INT(count_of("webnn", "compute", NULL), 4);
    REQUIRE_EQUAL_INT(count_of("webnn", "dispatch", NULL), 1);
    REQUIRE_EQUAL_INT(count_of("webnn", "writeTensor", NULL), 2);
    REQUIRE_EQUAL_INT(count_of("webnn", "readTensor", NULL), 1);
    REQUIRE_EQUAL_INT(count_of("webnn", "complete", NULL), 9);
    REQUIRE_EQUAL_INT(count_of("webnn", "releaseGraph", NULL), 1);
    REQUIRE_EQUAL_INT(count_of("webnn", "lost", "its last handle was released"), 1);
    REQUIRE(count_of("webnn", "run", "frame") >= 3);
    REQUIRE(subject == ON_CPU ? count_of("webnn", "wait", NULL) == 0
                              : count_of("webnn", "wait", "frame") == 3);
    REQUIRE_EQUAL_INT(count_of("webnn.node", NULL, NULL), 0);
    unsigned builds = 0;
    for (size_t i = 0; i < heard.count; i++) {
        const struct heard *e = &heard.events[i];
        if (strcmp(e->label, "frame") == 0 && strcmp(e->name, "compute") != 0)
            REQUIRE_EQUAL_INT(e->graph_id, info.id);
        builds += strcmp(e->name, "build") == 0 && e->flow_id == info.id;
        REQUIRE_EQUAL_INT(e->status, WNNStatus_Success);
    }
    REQUIRE_EQUAL_INT(builds, 1);
}

// Refused for what they say, and for what they are asked of.
static void test_refusals(void)
{
    struct answer error = {0}, answers[4] = {0};
    WNNContext context = create(&error, NULL, false);
    WNNGraph graph = build_scores(context);
    WNNTensor tensor = create_tensor(context, 1, WIDTH);
    WNNGraphBuilder builder = create_builder(context);
    for (int mode = WNNCallbackMode_WaitAnyOnly; mode <= WNNCallbackMode_AllowSpontaneous; mode++) {
        struct answer *answer = &answers[mode];
        wait_for(context, compute_with_label(context, NULL, "without", tell(answer, (WNNCallbackMode)mode)));
        REQUIRE_EQUAL_INT(answer->status, WNNStatus_TypeError);
    }
    wait_for(context, compute_with_label(context, graph, "chained",
                                         (WNNRequestCallbackInfo){.mode = (WNNCallbackMode)7}));
    wait_for(context, wnnContextReadTensor(context, tensor, y, 3, tell_nobody()));
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, x, 3), WNNStatus_TypeError);
    wait_for(context, start_build(builder, "y", NULL, &answers[0], WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(answers[0].status, WNNStatus_TypeError);
    wnnContextDestroy(context);
    wait_for(context, compute_with_label(context, graph, "late", tell_nobody()));
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, x, sizeof x), WNNStatus_InvalidStateError);
    // Nobody waits for this one.
    compute_with_label(context, graph, "left", tell(&answers[0], WNNCallbackMode_WaitAnyOnly));
    wnnGraphBuilderRelease(builder);
    wnnTensorRelease(tensor);
    wnnGraphRelease(graph);
    wnnContextRelease(context);

    require_consistent();
    int refused = 0;
    for (size_t i = 0; i < heard.count; i++)
        refused +=
            strcmp(heard.events[i].name, "complete") == 0 && heard.events[i].status != WNNStatus_Success;
    REQUIRE_EQUAL_INT(refused, 10);
    REQUIRE_EQUAL_INT(count_of("webnn", "lost", "wnnContextDestroy was called"), 1);
}

// Taken back, cancelled by the end of the context, and failing.
static void test_cancelling(void)
{
    struct answer error = {0}, answers[4] = {0};
    WNNContext context = create(&error, NULL, true);
    WNNGraph graph = build_scores(context);
    WNNFuture futures[4];
    set_gate(true);
    for (int i = 0; i < 4; i++)
        futures[i] = compute_with_label(context, graph, "frame",
                                        i == 3 ? tell_nobody()
                                               : tell(&answers[i], i % 2 ? WNNCallbackMode_AllowSpontaneous
                                                                         : WNNCallbackMode_WaitAnyOnly));
    wait_for_gate(1);
    WNNStatus taken = wnnContextCancel(context, futures[1]);
    if (subject == ON_CPU) // in flight it may have begun
        REQUIRE_EQUAL_INT(taken, WNNStatus_Success);
    gate.fail = true;
    set_gate(false);
    wait_for(context, futures[0]);
    REQUIRE_EQUAL_INT(answers[0].status, WNNStatus_UnknownError);
    for (int i = 1; i < 4; i++)
        wait_for(context, futures[i]);
    gate.fail = false;
    wnnGraphRelease(graph);
    wnnContextRelease(context);

    require_consistent();
    int cancelled = 0;
    for (size_t i = 0; i < heard.count; i++)
        cancelled += heard.events[i].status == WNNStatus_Cancelled;
    REQUIRE(subject == ON_CPU ? cancelled == 3 : cancelled <= 3);
    REQUIRE_EQUAL_INT(count_of("webnn", "lost", "the device fell off the bus"), 1);
}

// Builds that fail close what they opened.
static bool lower_nothing(void *state, struct plan *plan, void **executable, struct error *error)
{
    (void)state;
    (void)plan;
    (void)executable;
    return wnn_fail(error, WNNStatus_OperationError, "there is no room");
}

static void test_failing_build(void)
{
    struct backend failing = *wnn_backend_find("cpu");
    failing.lower = lower_nothing;
    WNNTrace trace = WNN_TRACE_INIT;
    trace.event = hear;
    trace.userdata1 = &heard;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.nextInChain = &trace.chain;
    heard.count = 0;
    WNNContext context;
    struct answer answer = {0};
    REQUIRE_EQUAL_INT(wnn_create_context_on(&failing, &descriptor, &context), WNNStatus_Success);
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand operand = wnnGraphBuilderRelu(builder, add_input(builder, "x", 1, WIDTH), NULL);
    wait_for(context, start_build(builder, "y", operand, &answer, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_OperationError);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
    require_consistent();
    REQUIRE_EQUAL_INT(count_of("webnn", "lower", NULL), 1);
}

// What the same thread did last before an event (`step` is -1), or first after it (1).
static const struct heard *beside(size_t event, int step)
{
    size_t i = event + (size_t)step;
    while (i < heard.count && !pthread_equal(heard.events[i].thread, heard.events[event].thread))
        i += (size_t)step;
    REQUIRE(i < heard.count); // before the first one too
    return &heard.events[i];
}

// A node is inside of a run, with or without a profile; a GPU has none.
static void test_nodes(void)
{
    WNNContext context = create(NULL, NULL, true);
    WNNGraph graph = build_scores(context);
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            wnnGraphSetProfiling(graph, true);
        wait_for(context, compute_with_label(context, graph, "frame", tell_nobody()));
    }
    WNNGraphProfile profile;
    profile_of(graph, &profile, 0, NULL);
    REQUIRE_EQUAL_INT(profile.runs, 2);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    require_consistent();
    REQUIRE_EQUAL_INT(count_of("webnn.node", "softmax", "scores"), subject == ON_CPU ? 4 : 0);
    REQUIRE_EQUAL_INT(count_of("webnn.node", NULL, NULL), subject == ON_CPU ? 4 : 0);
    for (size_t i = 0; i < heard.count; i++)
        if (heard.events[i].phase == WNNTracePhase_Begin &&
            strcmp(heard.events[i].category, "webnn.node") == 0) {
            REQUIRE_EQUAL_STR(beside(i, -1)->name, "run");
            REQUIRE_EQUAL_STR(beside(i, 1)->name, "softmax");
        }
}

// Callbacks that start further requests, on several threads.
struct chain {
    WNNContext context;
    WNNGraph graph;
    atomic_int left, done;
};

static void go_on(WNNStatus status, WNNStringView message, void *data, void *unused)
{
    struct chain *chain = data;
    (void)message;
    (void)unused;
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    if (atomic_fetch_sub(&chain->left, 1) > 0)
        compute_with_label(
            chain->context, chain->graph, "chain",
            (WNNRequestCallbackInfo){NULL, WNNCallbackMode_AllowSpontaneous, go_on, chain, NULL});
    else
        atomic_store(&chain->done, 1);
}

static void *compute_often(void *data)
{
    struct chain *chain = data;
    float out[WIDTH];
    for (int i = 0; i < 50; i++)
        wait_for(chain->context, compute_chain(chain->context, chain->graph, x, out, WIDTH, tell_nobody()));
    return NULL;
}

static void test_threads(void)
{
    struct chain chain = {.context = create(NULL, NULL, true), .left = 50};
    chain.graph = build_scores(chain.context);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], NULL, compute_often, &chain) == 0);
    go_on(WNNStatus_Success, view(""), &chain, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 10000 && !atomic_load(&chain.done); i++)
        sleep_milliseconds(1);
    REQUIRE(atomic_load(&chain.done));
    wnnGraphRelease(chain.graph);
    wnnContextRelease(chain.context);
    require_consistent();
    REQUIRE_EQUAL_INT(count_of("webnn", "compute", NULL), 200);
    REQUIRE_EQUAL_INT(count_of("webnn", "complete", NULL), 201);
}

static void test_descriptor(void)
{
    WNNTrace trace = WNN_TRACE_INIT;
    struct answer error = {0};
    WNNContextDescriptor descriptor = describe_context(&error, NULL);
    descriptor.nextInChain = &trace.chain;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_TypeError);
    REQUIRE_CONTAINS(error.message, "trace");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_descriptor());
    CASE(test_failing_build());
    for (subject = ON_CPU; subject <= ON_GPU; subject++) {
        if (subject == ON_GPU && SANITIZED)
            break; // the driver has races of its own
        if (subject == ON_GPU) {
            WNNContext context = create(NULL, NULL, false);
            if (!context) {
                puts("trace: no GPU");
                break;
            }
            wnnContextRelease(context);
        } else {
            CASE(test_cancelling());
        }
        CASE(test_requests());
        CASE(test_refusals());
        CASE(test_nodes());
        CASE(test_threads());
    }
    return cases_end();
}
