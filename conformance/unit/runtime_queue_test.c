// SPDX-License-Identifier: Apache-2.0
//
// The timeline: order, the three callback modes, waiting, cancelling, and contexts that end in the middle of
// work.

#include "conformance/unit/runtime_fixture.h"

#include <fenv.h>

enum {
    WIDTH = 4
};

static const float x[WIDTH] = {1, 2, 3, 4};

static void on_lost(WNNContextLostReason reason, WNNStringView message, void *answer, void *unused)
{
    (void)unused;
    ((struct answer *)answer)->reason = reason;
    note_answer(answer, WNNStatus_UnknownError, message);
}

static WNNContext create_context_with_lost(struct answer *error, struct answer *lost)
{
    WNNContextDescriptor descriptor = describe_context(error, lost);
    descriptor.lostCallbackInfo.callback = on_lost;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(gated_backend(), &descriptor, &context), WNNStatus_Success);
    return context;
}

// What waits behind a request that runs. In flight that may have ended by now.
static void require_cancelled(const struct answer *answer)
{
    if (!everything_flies || answer->status != WNNStatus_Success)
        REQUIRE_EQUAL_INT(answer->status, WNNStatus_Cancelled);
}

// Until the first request is at the gate and nothing else happens.
static void wait_for_first(void)
{
    wait_for_gate(1);
    if (everything_flies)
        sleep_milliseconds(20); // the worker asks for room for the next, which cannot be cancelled meanwhile
}

static WNNWaitStatus wait_one(WNNContext context, WNNFuture future, uint64_t nanoseconds)
{
    WNNFutureWaitInfo info = {future, false};
    WNNWaitStatus status = wnnContextWaitAny(context, 1, &info, nanoseconds);
    REQUIRE_EQUAL_INT(info.completed, status == WNNWaitStatus_Success);
    return status;
}

// Where the callback of each mode runs, and when.
static void test_modes(void)
{
    WNNContext context = create_gated_context(NULL, NULL);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    struct answer wait = {0}, events = {0}, spontaneous = {0};
    float y[4][WIDTH];
    WNNFuture first = compute_chain(context, graph, x, y[0], WIDTH, tell(&wait, WNNCallbackMode_WaitAnyOnly));
    WNNFuture second =
        compute_chain(context, graph, x, y[1], WIDTH, tell(&events, WNNCallbackMode_AllowProcessEvents));
    WNNFuture third =
        compute_chain(context, graph, x, y[2], WIDTH, tell(&spontaneous, WNNCallbackMode_AllowSpontaneous));
    WNNFuture fourth = compute_chain(context, graph, x, y[3], WIDTH, tell_nobody());
    REQUIRE(first.id != 0 && first.id < second.id && second.id < third.id && third.id < fourth.id);

    wait_for(context, fourth);
    REQUIRE_EQUAL_INT(spontaneous.calls, 1);
    REQUIRE(!pthread_equal(spontaneous.thread, pthread_self()));
    REQUIRE_EQUAL_INT(wait.calls + events.calls, 0);
    REQUIRE_EQUAL_INT(counters_of(context).pendingRequests, 2);
    wnnContextProcessEvents(context);
    REQUIRE_EQUAL_INT(events.calls, 1);
    REQUIRE(pthread_equal(events.thread, pthread_self()));
    REQUIRE_EQUAL_INT(wait.calls, 0);
    wait_for(context, third);
    wait_for(context, second);
    REQUIRE_EQUAL_INT(wait.calls, 0);
    wait_for(context, first);
    REQUIRE_EQUAL_INT(wait.calls, 1);
    wait_for(context, first);
    REQUIRE_EQUAL_INT(wait.calls, 1);
    REQUIRE_EQUAL_INT(counters_of(context).pendingRequests, 0);

    // A future of mode AllowProcessEvents is delivered by WaitAny too.
    wait_for(context, compute_chain(context, graph, x, y[0], WIDTH,
                                    tell(&events, WNNCallbackMode_AllowProcessEvents)));
    REQUIRE_EQUAL_INT(events.calls, 2);
    wnnContextProcessEvents(context);
    REQUIRE_EQUAL_INT(events.calls, 2);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// Executions, writes and reads happen in the order of the calls.
static void test_order(void)
{
    enum {
        COUNT = 50
    };
    WNNContext context = create_gated_context(NULL, NULL);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    WNNTensor in = create_tensor(context, 1, WIDTH), out = create_tensor(context, 1, WIDTH);
    WNNNamedTensor input = {view("x"), in}, output = {view("y"), out};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &input;
    descriptor.outputs = &output;
    struct answer answers[COUNT] = {0};
    float results[COUNT][WIDTH];
    WNNFuture last = {0};
    set_gate(true);
    for (int i = 0; i < COUNT; i++) {
        float values[WIDTH] = {(float)i, 1, 2, 3};
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, in, values, sizeof values), WNNStatus_Success);
        wnnContextDispatch(context, &descriptor, tell_nobody());
        last = wnnContextReadTensor(context, out, results[i], sizeof results[i],
                                    tell(&answers[i], WNNCallbackMode_AllowSpontaneous));
    }
    REQUIRE_EQUAL_INT(answers[0].calls, 0);
    REQUIRE_EQUAL_INT(counters_of(context).pendingRequests, 2 * COUNT);
    set_gate(false);
    wait_for(context, last);
    for (int i = 0; i < COUNT; i++) {
        REQUIRE_EQUAL_INT(answers[i].calls, 1);
        REQUIRE_EQUAL_INT(answers[i].status, WNNStatus_Success);
        REQUIRE(i == 0 || answers[i].order == answers[i - 1].order + 1);
        REQUIRE_EQUAL_FLOAT(results[i][0], 2 * (float)i);
        REQUIRE_EQUAL_FLOAT(results[i][3], 6);
    }
    wnnTensorRelease(in);
    wnnTensorRelease(out);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static void test_waiting(void)
{
    struct answer first = {0}, second = {0};
    WNNContext context = create_gated_context(NULL, NULL), other = create_gated_context(NULL, NULL);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    WNNGraph foreign = build_chain(other, 1, WIDTH);
    float y[3][WIDTH];
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 0, NULL, 0), WNNWaitStatus_Error);
    REQUIRE_EQUAL_INT(wait_one(context, (WNNFuture){0}, 0), WNNWaitStatus_Error);
    WNNFuture strange = compute_chain(other, foreign, x, y[2], WIDTH, tell_nobody());
    REQUIRE_EQUAL_INT(wait_one(context, strange, 0), WNNWaitStatus_Error);

    set_gate(true);
    WNNFutureWaitInfo infos[3] = {
        {compute_chain(context, graph, x, y[0], WIDTH, tell(&first, WNNCallbackMode_WaitAnyOnly)), true},
        {compute_chain(context, graph, x, y[1], WIDTH, tell(&second, WNNCallbackMode_WaitAnyOnly)), true},
        {{0}, true}};
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 3, infos, 0), WNNWaitStatus_Error);
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 2, infos, 0), WNNWaitStatus_TimedOut);
    REQUIRE(!infos[0].completed && !infos[1].completed);
    double before = now_seconds();
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 2, infos, 50000000), WNNWaitStatus_TimedOut);
    double passed = now_seconds() - before;
    REQUIRE(passed >= 0.049 && passed < 5);
    set_gate(false);
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 2, infos, UINT64_MAX - 1), WNNWaitStatus_Success);
    REQUIRE(infos[0].completed);
    REQUIRE_EQUAL_INT(first.calls, 1);
    REQUIRE_EQUAL_INT(infos[1].completed, second.calls);
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 1, &infos[1], 10000000000), WNNWaitStatus_Success);
    REQUIRE_EQUAL_INT(second.calls, 1);
    wait_for(other, strange);
    wnnGraphRelease(foreign);
    wnnGraphRelease(graph);
    wnnContextRelease(other);
    wnnContextRelease(context);
}

static void test_cancelling(void)
{
    struct answer error = {0}, answers[4] = {0};
    WNNContext context = create_gated_context(&error, NULL);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[4][WIDTH] = {{-1}, {-1}, {-1}, {-1}};
    WNNFuture futures[4];
    set_gate(true);
    const WNNCallbackMode modes[4] = {WNNCallbackMode_WaitAnyOnly, WNNCallbackMode_WaitAnyOnly,
                                      WNNCallbackMode_AllowProcessEvents, WNNCallbackMode_AllowSpontaneous};
    for (int i = 0; i < 4; i++)
        futures[i] = compute_chain(context, graph, x, y[i], WIDTH, tell(&answers[i], modes[i]));
    wait_for_first();
    REQUIRE_EQUAL_INT(wnnContextCancel(context, (WNNFuture){0}), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnContextCancel(context, (WNNFuture){futures[3].id + 1}), WNNStatus_TypeError);
    for (int i = 1; i < 4; i++)
        REQUIRE_EQUAL_INT(wnnContextCancel(context, futures[i]), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCancel(context, futures[1]), WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(error.message, "has ended");
    // Where executions fly, the worker is free for the last.
    REQUIRE_EQUAL_INT(answers[1].calls + answers[2].calls + (everything_flies ? 0 : answers[3].calls), 0);
    wait_for(context, futures[1]);
    wnnContextProcessEvents(context);
    REQUIRE_EQUAL_INT(answers[0].calls, 0);
    set_gate(false);
    wait_for(context, futures[3]);
    wait_for(context, futures[0]);
    REQUIRE_EQUAL_INT(answers[0].status, WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCancel(context, futures[0]), WNNStatus_InvalidStateError);
    for (int i = 1; i < 4; i++) {
        REQUIRE_EQUAL_INT(answers[i].calls, 1);
        REQUIRE_EQUAL_INT(answers[i].status, WNNStatus_Cancelled);
        REQUIRE_EQUAL_STR(answers[i].message, "cancelled by wnnContextCancel");
        REQUIRE_EQUAL_FLOAT(y[i][0], -1);
    }
    REQUIRE(!pthread_equal(answers[3].thread, pthread_self()));
    REQUIRE_EQUAL_INT(wnnContextCancel(context, futures[0]), WNNStatus_InvalidStateError);
    REQUIRE_EQUAL_INT(counters_of(context).pendingRequests, 0);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static void test_destroying(void)
{
    struct answer lost = {0}, answers[4] = {0};
    WNNContext context = create_context_with_lost(NULL, &lost);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[4][WIDTH] = {{-1}, {-1}, {-1}, {-1}};
    WNNFuture futures[4];
    set_gate(true);
    const WNNCallbackMode modes[4] = {WNNCallbackMode_WaitAnyOnly, WNNCallbackMode_WaitAnyOnly,
                                      WNNCallbackMode_AllowProcessEvents, WNNCallbackMode_AllowSpontaneous};
    for (int i = 0; i < 4; i++)
        futures[i] = compute_chain(context, graph, x, y[i], WIDTH, tell(&answers[i], modes[i]));
    wait_for_first();
    wnnContextDestroy(context);
    REQUIRE_EQUAL_INT(lost.calls, 1);
    REQUIRE_EQUAL_INT(answers[3].calls, 1);
    REQUIRE(pthread_equal(answers[3].thread, pthread_self()));
    REQUIRE_CONTAINS(answers[3].message, "cancelled: wnnContextDestroy");
    wnnContextProcessEvents(context);
    REQUIRE_EQUAL_INT(answers[2].calls, 1);
    REQUIRE_EQUAL_INT(answers[1].calls, 0);
    set_gate(false);
    wait_for(context, futures[0]);
    wait_for(context, futures[1]);
    // What is in flight here has been computed.
    if (!everything_flies)
        REQUIRE_CONTAINS(answers[0].message, "cancelled while it ran: wnnContextDestroy");
    for (int i = everything_flies; i < 4; i++) {
        REQUIRE_EQUAL_INT(answers[i].status, WNNStatus_Cancelled);
        REQUIRE_EQUAL_FLOAT(y[i][0], -1);
    }
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(lost.calls, 1);
}

static void *open_gate_later(void *unused)
{
    sleep_milliseconds(30);
    set_gate(false);
    return unused;
}

// The last release stops what runs, cancels what waits, and delivers everything.
static void test_release_with_work(void)
{
    for (int mode = WNNCallbackMode_WaitAnyOnly; mode <= WNNCallbackMode_AllowSpontaneous; mode++) {
        struct answer lost = {0}, done = {0}, running = {0}, waiting = {0}, building = {0};
        WNNContext context = create_context_with_lost(NULL, &lost);
        WNNGraph graph = build_chain(context, 1, WIDTH);
        float y[3][WIDTH];
        compute_chain(context, graph, x, y[0], WIDTH, tell(&done, WNNCallbackMode_WaitAnyOnly));
        wait_for(context, compute_chain(context, graph, x, y[1], WIDTH, tell_nobody()));
        set_gate(true);
        compute_chain(context, graph, x, y[1], WIDTH, tell(&running, (WNNCallbackMode)mode));
        compute_chain(context, graph, x, y[2], WIDTH, tell(&waiting, (WNNCallbackMode)mode));
        WNNGraphBuilder builder = create_builder(context);
        start_build(builder, "y", wnnGraphBuilderRelu(builder, add_input(builder, "x", 1, 1), NULL),
                    &building, (WNNCallbackMode)mode);
        wnnGraphBuilderRelease(builder);
        wait_for_first();
        wnnGraphRelease(graph);
        pthread_t thread;
        REQUIRE_EQUAL_INT(pthread_create(&thread, NULL, open_gate_later, NULL), 0);
        wnnContextRelease(context);
        REQUIRE_EQUAL_INT(lost.calls, 1);
        REQUIRE_EQUAL_INT(done.calls, 1);
        REQUIRE_EQUAL_INT(done.status, WNNStatus_Success);
        REQUIRE_EQUAL_INT(running.calls, 1);
        REQUIRE_EQUAL_INT(running.status, everything_flies ? WNNStatus_Success : WNNStatus_Cancelled);
        REQUIRE_EQUAL_INT(waiting.calls, 1);
        REQUIRE_EQUAL_INT(waiting.status, WNNStatus_Cancelled);
        REQUIRE_EQUAL_INT(building.calls, 1);
        REQUIRE(building.status == WNNStatus_Success ||
                building.status == WNNStatus_Cancelled); // beside the rest
        wnnGraphRelease(building.graph);
        pthread_join(thread, NULL);
    }
}

struct release_plan {
    WNNContext context;
    WNNGraph graph;
    struct answer answer;
};

static void release_in_callback(WNNStatus status, WNNStringView message, void *argument, void *unused)
{
    (void)unused;
    struct release_plan *plan = argument;
    wnnGraphRelease(plan->graph);
    wnnContextRelease(plan->context);
    note_answer(&plan->answer, status, message);
}

// The last release inside of callbacks: on the worker, in WaitAny, in a refused call.
static void test_release_in_callback(void)
{
    for (int place = 0; place < 3; place++) {
        struct answer lost = {0}, waiting = {0};
        struct release_plan plan = {.context = create_context_with_lost(NULL, &lost)};
        plan.graph = build_chain(plan.context, 1, WIDTH);
        WNNContext context = plan.context;
        float y[2][WIDTH];
        WNNRequestCallbackInfo info = {NULL, WNNCallbackMode_AllowSpontaneous, release_in_callback, &plan,
                                       NULL};
        if (place == 0) {
            set_gate(true);
            compute_chain(context, plan.graph, x, y[0], WIDTH, info);
            compute_chain(context, plan.graph, x, y[1], WIDTH, tell(&waiting, WNNCallbackMode_WaitAnyOnly));
            set_gate(false);
            // Another thread than the one that calls back may answer what waits.
            while (atomic_load(&plan.answer.calls) == 0 || atomic_load(&waiting.calls) == 0 ||
                   atomic_load(&lost.calls) == 0)
                sleep_milliseconds(1);
            REQUIRE_EQUAL_INT(waiting.calls, 1);
            require_cancelled(&waiting);
        } else if (place == 1) {
            info.mode = WNNCallbackMode_WaitAnyOnly;
            wait_for(context, compute_chain(context, plan.graph, x, y[0], WIDTH, info));
        } else {
            compute_chain(context, plan.graph, x, NULL, WIDTH, info);
            REQUIRE_EQUAL_INT(plan.answer.status, WNNStatus_TypeError);
        }
        REQUIRE_EQUAL_INT(plan.answer.calls, 1);
        REQUIRE_EQUAL_INT(lost.calls, 1);
    }
    sleep_milliseconds(50); // for the worker that ends by itself, so that a leak checker sees it gone
}

struct nested {
    WNNContext context;
    WNNGraph graph;
    float y[WIDTH];
    WNNFuture future;
    WNNWaitStatus with_timeout, without_timeout;
    struct answer inner, outer;
};

static void wait_in_callback(WNNStatus status, WNNStringView message, void *argument, void *unused)
{
    (void)unused;
    struct nested *nested = argument;
    nested->future = compute_chain(nested->context, nested->graph, x, nested->y, WIDTH,
                                   tell(&nested->inner, WNNCallbackMode_WaitAnyOnly));
    WNNFutureWaitInfo info = {nested->future, false};
    nested->without_timeout = wnnContextWaitAny(nested->context, 1, &info, 0);
    nested->with_timeout = wnnContextWaitAny(nested->context, 1, &info, 1000000000);
    note_answer(&nested->outer, status, message);
}

// From a spontaneous callback nobody can wait, from the others one can.
static void test_waiting_in_callback(void)
{
    WNNContext context = create_gated_context(NULL, NULL);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[WIDTH];
    for (int mode = WNNCallbackMode_WaitAnyOnly; mode <= WNNCallbackMode_AllowSpontaneous; mode++)
        for (int refused = 0; refused < 2; refused++) {
            struct nested nested = {.context = context, .graph = graph};
            WNNRequestCallbackInfo info = {NULL, (WNNCallbackMode)mode, wait_in_callback, &nested, NULL};
            wait_for(context, compute_chain(context, refused ? NULL : graph, x, y, WIDTH, info));
            bool spontaneous = mode == WNNCallbackMode_AllowSpontaneous;
            REQUIRE_EQUAL_INT(nested.with_timeout, spontaneous ? WNNWaitStatus_Error : WNNWaitStatus_Success);
            REQUIRE(nested.without_timeout != WNNWaitStatus_Error);
            REQUIRE_EQUAL_INT(nested.outer.calls, 1);
            wait_for(context, nested.future);
            REQUIRE_EQUAL_INT(nested.inner.calls, 1);
        }
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// A failing device loses the context once.
static void test_failing_device(void)
{
    struct answer lost = {0}, answers[2] = {0};
    WNNContext context = create_context_with_lost(NULL, &lost);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[2][WIDTH];
    set_gate(true);
    gate.fail = true;
    WNNFuture futures[2];
    for (int i = 0; i < 2; i++)
        futures[i] =
            compute_chain(context, graph, x, y[i], WIDTH, tell(&answers[i], WNNCallbackMode_WaitAnyOnly));
    set_gate(false);
    wait_for(context, futures[0]);
    REQUIRE(wnnContextIsLost(context));
    wait_for(context, futures[1]);
    gate.fail = false;
    REQUIRE_EQUAL_INT(answers[0].status, WNNStatus_UnknownError);
    REQUIRE_EQUAL_STR(answers[0].message, "the device fell off the bus");
    REQUIRE(answers[1].status == WNNStatus_Cancelled ||
            (everything_flies && answers[1].status == WNNStatus_UnknownError));
    wnnGraphRelease(graph);
    REQUIRE_EQUAL_INT(wnnContextGetLostReason(context), WNNContextLostReason_Failed);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(lost.calls, 1);
    REQUIRE_EQUAL_STR(lost.message, "the device fell off the bus");
    REQUIRE_EQUAL_INT(lost.reason, WNNContextLostReason_Failed);
}

// Infos that are wrong in themselves are answered inside of the call.
static void test_bad_callback_infos(void)
{
    struct answer answer = {0};
    WNNContext context = create_gated_context(NULL, NULL);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[WIDTH];
    WNNFuture future = compute_chain(context, graph, x, y, WIDTH, tell(&answer, (WNNCallbackMode)4));
    REQUIRE_EQUAL_INT(answer.calls, 1);
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_TypeError);
    REQUIRE_CONTAINS(answer.message, "callback mode 4");
    REQUIRE_EQUAL_INT(wait_one(context, future, 0), WNNWaitStatus_Success);
    WNNChainedStruct chained = {NULL, 3};
    WNNRequestCallbackInfo info = tell(&answer, WNNCallbackMode_WaitAnyOnly);
    info.nextInChain = &chained;
    REQUIRE_EQUAL_INT(wait_one(context, compute_chain(context, graph, x, y, WIDTH, info), 0),
                      WNNWaitStatus_Success);
    REQUIRE_EQUAL_INT(answer.calls, 2);
    REQUIRE_CONTAINS(answer.message, "struct of type 3");
    answer.calls = 0;
    REQUIRE_EQUAL_INT(compute_chain(NULL, graph, x, y, WIDTH, tell(&answer, WNNCallbackMode_WaitAnyOnly)).id,
                      0);
    REQUIRE_EQUAL_INT(answer.calls, 1);
    REQUIRE_EQUAL_INT(
        wnnGraphBuilderBuild(
            NULL, 0, NULL, (WNNBuildCallbackInfo){NULL, WNNCallbackMode_WaitAnyOnly, on_build, &answer, NULL})
            .id,
        0);
    REQUIRE_EQUAL_INT(answer.calls, 2);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// A graph that is destroyed or released does not take queued work with it.
static void test_graph_life(void)
{
    struct answer answers[2] = {0}, late = {0};
    WNNContext context = create_gated_context(NULL, NULL);
    uint64_t bytes = counters_of(context).allocatedBytes;
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[2][WIDTH];
    set_gate(true);
    WNNFuture futures[2];
    for (int i = 0; i < 2; i++)
        futures[i] =
            compute_chain(context, graph, x, y[i], WIDTH, tell(&answers[i], WNNCallbackMode_WaitAnyOnly));
    wnnGraphDestroy(graph);
    wnnGraphDestroy(graph);
    wait_for(context,
             compute_chain(context, graph, x, y[0], WIDTH, tell(&late, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(late.status, WNNStatus_InvalidStateError);
    REQUIRE_EQUAL_STR(late.message, "compute: the graph was destroyed");
    wnnGraphRelease(graph);
    REQUIRE_EQUAL_INT(counters_of(context).graphs, 0);
    set_gate(false);
    for (int i = 0; i < 2; i++) {
        wait_for(context, futures[i]);
        REQUIRE_EQUAL_INT(answers[i].status, WNNStatus_Success);
        REQUIRE_EQUAL_FLOAT(y[i][3], 8);
    }
    require_bytes(context, bytes);
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads that wait run what they wait for
// ---------------------------------------------------------------------------------------------------------------

static struct {
    pthread_t thread;
    int rounding;
    atomic_uint runs, milliseconds;
} last_execution;

static bool execute_and_note(void *state, void *executable, const struct bindings *bindings,
                             struct error *error)
{
    last_execution.thread = pthread_self();
    last_execution.rounding = fegetround();
    atomic_fetch_add(&last_execution.runs, 1);
    sleep_milliseconds(atomic_load(&last_execution.milliseconds));
    return wnn_backend_find("cpu")->execute(state, executable, bindings, error);
}

static WNNContext create_noting_context(void)
{
    static struct backend noting;
    noting = *wnn_backend_find("cpu");
    noting.execute = execute_and_note;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(&noting, &descriptor, &context), WNNStatus_Success);
    return context;
}

// Mostly before the worker wakes, and never with the floating-point environment of the caller. Who has a time
// to keep, and who only looks, does not.
static void test_running_here(void)
{
    enum {
        ROUNDS = 200
    };
    WNNContext context = create_noting_context();
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[WIDTH];
    unsigned here = 0;
    fesetround(FE_UPWARD);
    for (int i = 0; i < ROUNDS; i++) {
        struct answer answer = {0};
        wait_for(context,
                 compute_chain(context, graph, x, y, WIDTH, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
        here += pthread_equal(last_execution.thread, pthread_self()) != 0;
        REQUIRE(pthread_equal(answer.thread, pthread_self()));
        REQUIRE_EQUAL_INT(last_execution.rounding, FE_TONEAREST);
        REQUIRE_EQUAL_INT(fegetround(), FE_UPWARD);
        REQUIRE_EQUAL_FLOAT(y[3], 8);
    }
    fesetround(FE_TONEAREST);
    printf("%u of %d executions ran on the thread that waited\n", here, ROUNDS);
    REQUIRE(here > ROUNDS / 2);
    for (int i = 0; i < ROUNDS; i++) {
        struct answer answer = {0};
        WNNCallbackMode mode = i % 2 ? WNNCallbackMode_AllowSpontaneous : WNNCallbackMode_AllowProcessEvents;
        WNNFuture future = compute_chain(context, graph, x, y, WIDTH, tell(&answer, mode));
        if (i % 2)
            wait_for(context, future);
        else
            while (wait_one(context, future, i % 4 ? 0 : 1000000000) != WNNWaitStatus_Success)
                ;
        REQUIRE(!pthread_equal(last_execution.thread, pthread_self()));
        REQUIRE_EQUAL_INT(pthread_equal(answer.thread, pthread_self()), i % 2 == 0);
    }
    REQUIRE_EQUAL_INT(last_execution.runs, 2 * ROUNDS);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// A thread that has waited for the worker takes over from it.
static void test_taking_over(void)
{
    enum {
        ROUNDS = 20,
        MORE = 4
    };
    WNNContext context = create_noting_context();
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[WIDTH];
    int here = 0;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&last_execution.milliseconds, 10);
        WNNFuture future = compute_chain(context, graph, x, y, WIDTH, tell_nobody());
        sleep_milliseconds(5);
        wait_for(context, future);
        atomic_store(&last_execution.milliseconds, 0);
        for (int k = 0; k < MORE; k++) {
            wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
            here += pthread_equal(last_execution.thread, pthread_self()) != 0;
        }
    }
    printf("%d of %d executions ran on the thread that had waited\n", here, ROUNDS * MORE);
    REQUIRE(here > ROUNDS * MORE / 2);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

struct waiter {
    WNNContext context;
    WNNFuture future;
};

static void *wait_elsewhere(void *argument)
{
    struct waiter *waiter = argument;
    wait_for(waiter->context, waiter->future);
    wnnContextRelease(waiter->context);
    return NULL;
}

// The context ends while a thread that waits runs a request of it, others behind that.
static void test_release_while_running_here(void)
{
    for (int round = 0; round < 50; round++) {
        WNNContext context = create_gated_context(NULL, NULL);
        WNNGraph graph = build_chain(context, 1, WIDTH);
        float y[3][WIDTH];
        struct answer answers[3] = {0};
        struct waiter waiters[3];
        pthread_t threads[3];
        set_gate(true);
        for (int i = 0; i < 3; i++) {
            WNNRequestCallbackInfo info = tell(&answers[i], WNNCallbackMode_WaitAnyOnly);
            waiters[i] = (struct waiter){context, compute_chain(context, graph, x, y[i], WIDTH, info)};
            wnnContextAddRef(context);
            REQUIRE(pthread_create(&threads[i], NULL, wait_elsewhere, &waiters[i]) == 0);
        }
        wait_for_gate(1);
        wnnGraphRelease(graph);
        wnnContextDestroy(context);
        wnnContextRelease(context);
        set_gate(false);
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], NULL);
            REQUIRE_EQUAL_INT(answers[i].calls, 1);
            require_cancelled(&answers[i]); // what is in flight has been computed, and may be retired
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Requests in flight
// ---------------------------------------------------------------------------------------------------------------

// As many as there is room for fly at once, and a build that is asked for meanwhile ends before them.
static void test_flights(void)
{
    enum {
        COUNT = 6
    };
    WNNContext context = create_gated_context(NULL, NULL);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    struct answer answers[COUNT] = {0}, built = {0};
    float in[COUNT][WIDTH], out[COUNT][WIDTH];
    WNNFuture last = {0};
    flights_at_once = 0;
    max_flights = 3;
    set_gate(true);
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < WIDTH; k++)
            in[i][k] = (float)(i * WIDTH + k);
        last = compute_chain(context, graph, in[i], out[i], WIDTH,
                             tell(&answers[i], WNNCallbackMode_AllowSpontaneous));
        if (i == 2) {
            WNNGraphBuilder builder = create_builder(context);
            start_build(builder, "y", wnnGraphBuilderRelu(builder, add_input(builder, "x", 1, 1), NULL),
                        &built, WNNCallbackMode_AllowSpontaneous);
            wnnGraphBuilderRelease(builder);
        }
    }
    for (int i = 0; i < 60000 && (built.calls == 0 || flights_at_once < 3); i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(built.calls, 1);
    REQUIRE_EQUAL_INT(answers[0].calls, 0);
    set_gate(false);
    wait_for(context, last);
    REQUIRE_EQUAL_INT(flights_at_once, 3);
    for (int i = 0; i < COUNT; i++) {
        REQUIRE_EQUAL_INT(answers[i].status, WNNStatus_Success);
        REQUIRE_EQUAL_INT(answers[i].order, answers[0].order + i);
        REQUIRE_EQUAL_FLOAT(out[i][1], 2 * in[i][1]);
    }
    max_flights = 1;
    wnnGraphRelease(built.graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// An execution that reads what another has yet to write waits for that, by whatever part of it.
static void test_chained_flights(void)
{
    WNNContext context = create_gated_context(NULL, NULL);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float values[5][WIDTH] = {{1, 2, 3, 4}};
    WNNFuture last = {0};
    max_flights = 8;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 4; i++)
            last = compute_chain(context, graph, values[i], values[i + 1], WIDTH, tell_nobody());
        wait_for(context, last);
        REQUIRE_EQUAL_FLOAT(values[4][3], 16 * 4);
    }
    max_flights = 1;
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// The device fails while several fly and others wait: each is told, the context is lost once.
static void test_failing_flights(void)
{
    enum {
        COUNT = 5
    };
    struct answer lost = {0}, answers[COUNT] = {0};
    WNNContext context = create_context_with_lost(NULL, &lost);
    WNNGraph graph = build_chain(context, 1, WIDTH);
    float y[COUNT][WIDTH];
    max_flights = 2;
    set_gate(true);
    gate.fail = true;
    for (int i = 0; i < COUNT; i++)
        compute_chain(context, graph, x, y[i], WIDTH, tell(&answers[i], (WNNCallbackMode)(1 + i % 3)));
    wait_for_gate(1);
    wnnGraphRelease(graph);
    set_gate(false);
    for (int i = 0; i < 5000 && !wnnContextIsLost(context); i++)
        sleep_milliseconds(1);
    wnnContextRelease(context);
    gate.fail = false;
    max_flights = 1;
    REQUIRE_EQUAL_INT(lost.calls, 1);
    for (int i = 0; i < COUNT; i++) {
        REQUIRE_EQUAL_INT(answers[i].calls, 1);
        REQUIRE(answers[i].status == WNNStatus_Cancelled || answers[i].status == WNNStatus_UnknownError);
    }
    REQUIRE_EQUAL_INT(answers[0].status, WNNStatus_UnknownError);
}

static void test_all(void)
{
    test_modes();
    test_order();
    test_waiting();
    test_cancelling();
    test_destroying();
    test_release_with_work();
    test_release_in_callback();
    test_waiting_in_callback();
    test_failing_device();
    test_release_while_running_here();
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_all());
    CASE(test_bad_callback_infos());
    CASE(test_graph_life());
    CASE(test_running_here());
    CASE(test_taking_over());
    everything_flies = true;
    CASE(test_all());
    CASE(test_flights());
    CASE(test_chained_flights());
    CASE(test_failing_flights());
    return cases_end();
}
