// SPDX-License-Identifier: Apache-2.0
//
// Eight threads that build, compute, dispatch, read, cancel, destroy and release at random, on a context that
// they share and on contexts of their own: first on the processor, then where executions fly, or on the
// backend that is named. Before patterns: --seconds=N, --seed=N,
// --backend=NAME.

#include "conformance/unit/runtime_fixture.h"

enum {
    THREADS = 8,
    WIDTH = 64,
    SLOTS = 6
};

static double end_time;
static uint64_t seed;
static const struct backend *backend;
static bool keeps_nothing = true; // of graphs that are gone

struct shared {
    WNNContext context;
    WNNGraph graph; // a chain of 3
    WNNTensor in, out;
};

struct job {
    struct shared shared;
    uint64_t random;
    unsigned requests, answers, rounds;
};

// https://prng.di.unimi.it/splitmix64.c
static uint64_t next_random(struct job *job)
{
    uint64_t z = job->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static unsigned pick(struct job *job, unsigned count)
{
    return (unsigned)(next_random(job) % count);
}

// One request in flight, with memory of its own, which its callback checks.
struct slot {
    atomic_int calls;
    bool started, checks;
    WNNFuture future;
    WNNContext context;
    WNNStatus status;
    WNNGraph built;
    float x[WIDTH], y[WIDTH];
};

static void note(struct slot *slot, WNNStatus status)
{
    REQUIRE(status == WNNStatus_Success || status == WNNStatus_Cancelled ||
            status == WNNStatus_InvalidStateError || status == WNNStatus_TypeError);
    slot->status = status;
    REQUIRE_EQUAL_INT(atomic_fetch_add(&slot->calls, 1), 0);
}

static void slot_done(WNNStatus status, WNNStringView message, void *slot, void *unused)
{
    (void)message;
    (void)unused;
    struct slot *s = slot;
    // What was stopped while it ran may have begun to write its output, which is zeros then.
    float left = status == WNNStatus_Cancelled && s->y[0] == 0 ? 0 : -1;
    if (s->checks)
        for (size_t i = 0; i < WIDTH; i++)
            REQUIRE_EQUAL_FLOAT(s->y[i], status == WNNStatus_Success ? 4 * s->x[i] : left);
    note(s, status);
}

static void slot_built(WNNStatus status, WNNGraph graph, WNNStringView message, void *slot, void *unused)
{
    (void)message;
    (void)unused;
    ((struct slot *)slot)->built = graph;
    note(slot, status);
}

static WNNCallbackMode random_mode(struct job *job)
{
    return (WNNCallbackMode)(WNNCallbackMode_WaitAnyOnly + (int)pick(job, 3));
}

static void start_random_build(struct job *job, struct slot *slot)
{
    WNNGraphBuilder builder;
    if (wnnContextCreateGraphBuilder(slot->context, &builder) != WNNStatus_Success)
        return;
    WNNOperand x = add_input(builder, "x", 1, WIDTH), y = x;
    for (unsigned i = pick(job, 20) + 1; i-- > 0;)
        y = pick(job, 2) ? wnnGraphBuilderAdd(builder, y, x, NULL) : wnnGraphBuilderRelu(builder, y, NULL);
    WNNNamedOperand output = {view("y"), y};
    slot->started = true;
    slot->future = wnnGraphBuilderBuild(
        builder, 1, &output, (WNNBuildCallbackInfo){NULL, random_mode(job), slot_built, slot, NULL});
    wnnGraphBuilderRelease(builder);
}

static void start_request(struct job *job, struct slot *slot, const struct shared *s)
{
    *slot = (struct slot){.context = s->context};
    WNNRequestCallbackInfo info = {NULL, random_mode(job), slot_done, slot, NULL};
    for (size_t i = 0; i < WIDTH; i++) {
        slot->x[i] = (float)pick(job, 1000);
        slot->y[i] = -1;
    }
    switch (pick(job, 6)) {
    case 0:
        start_random_build(job, slot);
        break;
    case 1: {
        WNNNamedTensor input = {view("x"), s->in}, output = {view("y"), s->out};
        WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
        descriptor.graph = s->graph;
        descriptor.inputCount = descriptor.outputCount = 1;
        descriptor.inputs = &input;
        descriptor.outputs = &output;
        slot->future = wnnContextDispatch(s->context, &descriptor, info);
        slot->started = true;
        break;
    }
    case 2:
        wnnContextWriteTensor(s->context, s->in, slot->x, sizeof slot->x);
        slot->future =
            wnnContextReadTensor(s->context, pick(job, 2) ? s->in : s->out, slot->y, sizeof slot->y, info);
        slot->started = true;
        break;
    default:
        slot->checks = true;
        slot->future = compute_chain(s->context, s->graph, slot->x, slot->y, WIDTH, info);
        slot->started = true;
        break;
    }
    job->requests += slot->started;
}

static void finish_slot(struct job *job, struct slot *slot)
{
    if (!slot->started)
        return;
    if (pick(job, 4) == 0) {
        WNNStatus status = wnnContextCancel(slot->context, slot->future);
        REQUIRE(status == WNNStatus_Success || status == WNNStatus_InvalidStateError);
    }
    if (pick(job, 4) == 0)
        wnnContextProcessEvents(slot->context);
    if (pick(job, 4) == 0)
        wnnContextWaitAny(slot->context, 1, &(WNNFutureWaitInfo){slot->future, false}, pick(job, 100000));
    wait_for(slot->context, slot->future);
    REQUIRE_EQUAL_INT(slot->calls, 1);
    if (slot->built && pick(job, 2))
        wnnGraphDestroy(slot->built);
    wnnGraphRelease(slot->built);
    slot->started = false;
    job->answers++;
}

static void release_context(WNNStatus status, WNNStringView message, void *context, void *released)
{
    (void)status;
    (void)message;
    wnnContextRelease(context);
    atomic_fetch_add((atomic_int *)released, 1);
}

// The last release, in this thread or in a callback, on the worker if the context is not lost.
static void release_last(struct job *job, const struct shared *own)
{
    if (pick(job, 3)) {
        wnnContextRelease(own->context);
        return;
    }
    float x[WIDTH] = {0}, y[WIDTH];
    atomic_int released = 0;
    compute_chain(own->context, own->graph, x, y, WIDTH,
                  (WNNRequestCallbackInfo){NULL, WNNCallbackMode_AllowSpontaneous, release_context,
                                           own->context, &released});
    while (atomic_load(&released) == 0)
        sleep_milliseconds(1);
}

// A context that ends at any moment of its work, in one of several ways; every callback must have run by
// then.
static void use_private_context(struct job *job)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    struct shared own;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &own.context), WNNStatus_Success);
    own.graph = build_chain(own.context, 3, WIDTH);
    own.in = create_tensor(own.context, 1, WIDTH);
    own.out = create_tensor(own.context, 1, WIDTH);
    struct slot slots[SLOTS] = {0};
    unsigned count = pick(job, SLOTS + 1);
    for (unsigned i = 0; i < count; i++)
        start_request(job, &slots[i], &own);
    if (pick(job, 3) == 0)
        wnnTensorDestroy(own.in);
    if (pick(job, 3) == 0)
        wnnGraphDestroy(own.graph);
    if (pick(job, 3) == 0)
        wnnContextDestroy(own.context);
    if (pick(job, 2))
        for (unsigned i = 0; i < count; i++)
            finish_slot(job, &slots[i]);
    if (pick(job, 2)) {
        wnnGraphAddRef(own.graph);
        release_last(job, &own);
        wnnGraphRelease(own.graph);
    } else {
        release_last(job, &own);
    }
    wnnGraphRelease(own.graph);
    wnnTensorRelease(own.in);
    wnnTensorRelease(own.out);
    for (unsigned i = 0; i < count; i++)
        if (slots[i].started) {
            REQUIRE_EQUAL_INT(slots[i].calls, 1);
            wnnGraphRelease(slots[i].built);
            job->answers++;
        }
}

static void *work(void *argument)
{
    struct job *job = argument;
    struct slot slots[SLOTS] = {0};
    while (now_seconds() < end_time) {
        job->rounds++;
        if (pick(job, 40) == 0)
            use_private_context(job);
        struct slot *slot = &slots[pick(job, SLOTS)];
        finish_slot(job, slot);
        start_request(job, slot, &job->shared);
    }
    for (unsigned i = 0; i < SLOTS; i++)
        finish_slot(job, &slots[i]);
    return NULL;
}

static void stress(double seconds)
{
    end_time = now_seconds() + seconds;
    struct shared shared;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &shared.context), WNNStatus_Success);
    uint64_t bytes = counters_of(shared.context).allocatedBytes;
    shared.graph = build_chain(shared.context, 3, WIDTH);
    shared.in = create_tensor(shared.context, 1, WIDTH);
    shared.out = create_tensor(shared.context, 1, WIDTH);

    struct job jobs[THREADS] = {0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i].shared = shared;
        jobs[i].random = seed * THREADS + (uint64_t)i;
        REQUIRE_EQUAL_INT(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
    }
    unsigned requests = 0, answers = 0, rounds = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        requests += jobs[i].requests;
        answers += jobs[i].answers;
        rounds += jobs[i].rounds;
    }
    printf("%u rounds, %u requests\n", rounds, requests);
    REQUIRE_EQUAL_INT(answers, requests);
    wnnGraphRelease(shared.graph);
    wnnTensorRelease(shared.in);
    wnnTensorRelease(shared.out);
    WNNContextCounters counters = counters_of(shared.context);
    REQUIRE_EQUAL_INT(counters.builders + counters.graphs + counters.tensors + counters.pendingRequests, 0);
    if (keeps_nothing)
        require_bytes(shared.context, bytes);
    wnnContextRelease(shared.context);
}

int main(int argc, char **argv)
{
    double seconds = 3;
    char name[32] = "";
    seed = (uint64_t)time(NULL);
    while (case_option(&argc, &argv, "--seconds=%lf", &seconds) ||
           case_option(&argc, &argv, "--seed=%" SCNu64, &seed) ||
           case_option(&argc, &argv, "--backend=%31s", name))
        continue;
    cases_begin(argc, argv);
    fprintf(stderr, "--seconds=%g --seed=%" PRIu64 "\n", seconds, seed);
    if (name[0]) {
        REQUIRE((backend = wnn_backend_find(name)));
        keeps_nothing = false;
        CASE(stress(seconds));
        return cases_end();
    }
    backend = wnn_backend_find("cpu");
    CASE_AS("cpu", stress(seconds / 2));
    max_flights = 3;
    everything_flies = true;
    backend = gated_backend();
    CASE_AS("executions in flight", stress(seconds / 2));
    return cases_end();
}
