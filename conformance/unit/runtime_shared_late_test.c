// SPDX-License-Identifier: Apache-2.0
//
// Weights that graphs share of which sizes are told late: with each other and with graphs of known sizes, at
// any sizes, in whatever order graphs go. The first argument is the backend.

#include "conformance/unit/weights_fixture.h"
#include "runtime/late.h"

// ---------------------------------------------------------------------------------------------------------------
// What is shared
// ---------------------------------------------------------------------------------------------------------------

// Prefill and decode: two graphs, at several sizes each, and one of known sizes.
static void require_shared(enum how with)
{
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, with == PROMISED ? &source.chain : NULL);
    WNNGraph first = build_rows(context, 0, with, &sharing.chain);
    run_rows(context, first, 8);
    uint64_t one = wnnSharedWeightsGetByteLength(weights);
    REQUIRE(one > all_bytes() / 4);
    require_right(context, first, 1);
    uint64_t bytes = wnnSharedWeightsGetByteLength(weights);
    long calls = atomic_load(&lent.calls);
    WNNGraph second = build_rows(other, 0, with, &sharing.chain);
    for (uint32_t rows = 1; rows < 12; rows++)
        require_right(other, second, rows);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), bytes);
    // What is small, and what is gone when others have been made of it.
    REQUIRE(atomic_load(&lent.calls) - calls <= 8);
    WNNGraph fixed = build_rows(other, 8, with, &sharing.chain);
    require_right(other, fixed, 8);
    fprintf(stderr, "%llu and %llu bytes packed of %llu, %ld constants asked for again\n",
            (unsigned long long)one, (unsigned long long)bytes, (unsigned long long)all_bytes(),
            atomic_load(&lent.calls) - calls);
    // Where numbers are promised no filter is normalized while it is built.
    REQUIRE(wnnSharedWeightsGetByteLength(weights) <= bytes + (with == PROMISED ? 32 * 32 * 4 + 512 : 0));
    bytes = wnnSharedWeightsGetByteLength(weights);
    REQUIRE(atomic_load(&lent.calls) - calls <= 16);
    wnnGraphRelease(first);
    require_right(other, second, 12);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), bytes);
    wnnGraphRelease(second);
    require_right(other, fixed, 8);
    wnnGraphRelease(fixed);
    require_none(weights);
    require_given_back();
    wnnSharedWeightsRelease(weights);
}

static void test_shared(void)
{
    require_shared(LENT);
    require_shared(PROMISED);
    require_shared(ADDRESSED);
    require_shared(COPIED);
}

// Nothing of a graph that is gone is needed, whether others have been compiled for sizes before or not.
static void test_orders(void)
{
    for (unsigned order = 0; order < 8; order++) {
        WNNSharedWeights weights = create_shared(NULL);
        const WNNWeightSharing sharing = sharing_of(weights, NULL);
        enum how with = order & 1 ? COPIED : LENT;
        WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
        descriptor.threadCount = 1;
        WNNContext own = create_described(&descriptor);
        WNNGraph first = build_rows(own, 0, with, &sharing.chain),
                 second = build_rows(other, 0, with, &sharing.chain);
        run_rows(own, first, 8);
        uint64_t bytes = wnnSharedWeightsGetByteLength(weights);
        if (order & 2)
            run_rows(other, second, 8);
        if (order & 4)
            wnnGraphDestroy(first);
        wnnGraphRelease(first);
        wnnContextRelease(own); // which waits until all of it is gone
        require_right(other, second, 8);
        REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), bytes);
        wnnSharedWeightsRelease(weights); // the graph has its own
        require_right(other, second, 3);
        wnnGraphRelease(second);
    }
}

// A specialization that is gone, for want of room, leaves what it has packed to the next.
static void test_evicted(void)
{
    WNNLimits limits = WNN_LIMITS_INIT;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    limits.maxSpecializations = 1;
    descriptor.limits = &limits;
    descriptor.threadCount = 1;
    WNNContext own = create_described(&descriptor);
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, NULL);
    WNNGraph graph = build_rows(own, 0, LENT, &sharing.chain);
    run_rows(own, graph, 8);
    run_rows(own, graph, 1);
    uint64_t bytes = wnnSharedWeightsGetByteLength(weights);
    struct derived_size made = wnn_late_derived(graph);
    for (uint32_t rows = 1; rows < 9; rows++) {
        run_rows(own, graph, rows);
        REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), bytes);
    }
    REQUIRE_EQUAL_INT(made.packed_bytes, 0); // it is all there
    REQUIRE_EQUAL_INT(wnn_late_derived(graph).constant_bytes, made.constant_bytes);
    wnnGraphRelease(graph);
    require_none(weights);
    wnnSharedWeightsRelease(weights);
    wnnContextRelease(own);
}

static uint64_t host_bytes(WNNBudget budget)
{
    WNNResources now = WNN_RESOURCES_INIT;
    wnnBudgetGetResources(budget, &now, NULL);
    return now.hostBytes;
}

// Counted once, where the host says; a second graph takes next to nothing, and a third without sharing all.
static void require_counted(enum how with)
{
    WNNBudgetDescriptor descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNBudget budget;
    descriptor.limits.hostBytes = 1u << 30;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&descriptor, &budget), WNNStatus_Success);
    WNNSharedWeights weights = create_shared(budget);
    const WNNWeightSharing sharing = sharing_of(weights, with == PROMISED ? &source.chain : NULL);
    WNNGraph first = build_rows(context, 0, with, &sharing.chain);
    run_rows(context, first, 8);
    uint64_t shared = host_bytes(budget), before = settled_bytes(other);
    REQUIRE(shared >= wnnSharedWeightsGetByteLength(weights));
    WNNGraph second = build_rows(other, 0, with, &sharing.chain);
    run_rows(other, second, 8);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(second, &info);
    uint64_t own = settled_bytes(other) - before - info.executionBytes;
    REQUIRE_EQUAL_INT(host_bytes(budget), shared);
    before = settled_bytes(other);
    WNNGraph alone = build_rows(other, 0, with, with == PROMISED ? &source.chain : NULL);
    run_rows(other, alone, 8);
    uint64_t apart = settled_bytes(other) - before - info.executionBytes;
    fprintf(stderr, "%llu bytes of its own beside %llu shared, or %llu\n", (unsigned long long)own,
            (unsigned long long)shared, (unsigned long long)apart);
    REQUIRE(wnn_late_derived(second).constant_bytes <= 1024 && own < 160000 && apart > own + 2 * all_bytes());
    wnnGraphRelease(first);
    wnnGraphRelease(second);
    wnnGraphRelease(alone);
    require_none(weights);
    wnnSharedWeightsRelease(weights);
    for (int i = 0; i < 5000 && host_bytes(budget); i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(host_bytes(budget), 0);
    wnnBudgetRelease(budget);
    require_given_back();
}

static void test_budget(void)
{
    require_counted(LENT);
    require_counted(PROMISED);
    require_counted(ADDRESSED);
    require_counted(COPIED);
}

// What does not fit is refused: by the build, or, where that has all of its own, by the first execution.
static void require_full(uint64_t limit, bool builds)
{
    WNNBudgetDescriptor descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNBudget small;
    struct answer answer;
    WNNGraph graph;
    char message[1024];
    descriptor.limits.hostBytes = limit;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&descriptor, &small), WNNStatus_Success);
    WNNSharedWeights weights = create_shared(small);
    const WNNWeightSharing sharing = sharing_of(weights, NULL);
    recorded_rows = 0;
    WNNStatus status = try_build(context, record_rows, COPIED, &sharing.chain, &graph, &answer);
    REQUIRE_EQUAL_INT(status, builds ? WNNStatus_Success : WNNStatus_OutOfMemory);
    if (builds)
        REQUIRE_EQUAL_INT(try_compute(context, graph, 8, NULL, message), WNNStatus_OutOfMemory);
    REQUIRE(host_bytes(small) <= limit);
    wnnGraphRelease(graph);
    require_none(weights);
    wnnSharedWeightsRelease(weights);
    wnnBudgetRelease(small);
}

static void test_full(void)
{
    require_full(20000, false);
    require_full(all_bytes() + 100000, true);
}

// Nobody has part who was not told to.
static void test_apart(void)
{
    WNNSharedWeights one = create_shared(NULL), two = create_shared(NULL);
    const WNNWeightSharing with_one = sharing_of(one, NULL), with_two = sharing_of(two, NULL);
    WNNGraph first = build_rows(context, 0, LENT, &with_one.chain),
             alone = build_rows(context, 0, LENT, NULL);
    run_rows(context, first, 8);
    uint64_t bytes = wnnSharedWeightsGetByteLength(one);
    run_rows(context, alone, 8);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(two), 0);
    WNNGraph second = build_rows(context, 0, LENT, &with_two.chain);
    run_rows(context, second, 8);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(one), bytes);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(two), bytes);
    wnnGraphRelease(first);
    require_none(one);
    wnnGraphRelease(alone);
    wnnGraphDestroy(second);
    wnnGraphRelease(second);
    require_none(two);
    wnnSharedWeightsRelease(one);
    wnnSharedWeightsRelease(two);
}

// ---------------------------------------------------------------------------------------------------------------
// Loaded graphs
// ---------------------------------------------------------------------------------------------------------------

// Graphs of what was recorded, each from memory of its own, and of constants that were copied.
static void test_loaded(void)
{
    WNNSharedWeights weights = create_shared(NULL);
    WNNWeightSharing sharing = sharing_of(weights, NULL);
    struct serialized bytes = {0}, again = {0};
    char message[1024];
    sharing.chain.next = &savable.chain;
    WNNGraph built = build_rows(context, 0, COPIED, &sharing.chain);
    REQUIRE_EQUAL_INT(try_save(built, false, &bytes, message), WNNStatus_Success);
    sharing.chain.next = NULL;
    run_rows(context, built, 8);
    uint64_t packed = wnnSharedWeightsGetByteLength(weights);
    WNNGraph first = load_chained(context, &bytes, &sharing.chain),
             second = load_chained(other, &bytes, &sharing.chain);
    require_right(context, first, 8);
    require_right(other, second, 8);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), packed);
    wnnGraphRelease(built);
    wnnGraphRelease(first);
    require_right(other, second, 8);
    REQUIRE(wnnSharedWeightsGetByteLength(weights) + all_bytes() / 2 < packed); // what was copied is gone
    REQUIRE_EQUAL_INT(try_save(second, false, &again, message), WNNStatus_Success);
    REQUIRE(wnn_serialized_equal(&bytes, &again));
    wnnGraphRelease(second);
    require_none(weights);
    wnnSharedWeightsRelease(weights);
    free(bytes.data);
    free(again.data);
}

static WNNOperand promise(WNNGraphBuilder b, const WNNOperandDescriptor *descriptor,
                          const WNNConstantReference *reference, void *userdata1, void *userdata2)
{
    (void)userdata1;
    (void)userdata2;
    return wnnGraphBuilderPromisedConstant(b, descriptor, reference);
}

// Recorded, sent to somebody who has the bytes, and built there: the names are what is shared.
static void test_sent(void)
{
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, &source.chain);
    WNNGraph first = build_rows(context, 0, PROMISED, &sharing.chain);
    run_rows(context, first, 8);
    uint64_t packed = wnnSharedWeightsGetByteLength(weights);
    WNNGraphBuilder from = create_builder(context), to = create_builder(other);
    WNNNamedOperand outputs[MAX_OUTPUTS];
    constant_count = 0;
    how = PROMISED;
    recorded_rows = 0;
    size_t count = record_rows(from, outputs);
    struct serialized bytes = {0};
    WNNSerializeDescriptor writer = {NULL, count, outputs, NULL, wnn_serialized_add, &bytes, NULL};
    WNNDeserializeDescriptor reader = WNN_DESERIALIZE_DESCRIPTOR_INIT;
    WNNDeserializedGraph recorded = WNN_DESERIALIZED_GRAPH_INIT;
    char message[1024] = "";
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(from, &writer, sizeof message, message), WNNStatus_Success);
    reader.data = bytes.data;
    reader.byteLength = bytes.size;
    reader.find = promise;
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, &reader, &recorded), WNNStatus_Success);
    struct answer answer = {.calls = 0};
    WNNGraph second;
    build_chained(other, to, recorded.outputCount, recorded.outputs, &sharing.chain, &second, &answer);
    REQUIRE_EQUAL_STR(answer.message, "");
    require_right(other, second, 8);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), packed);
    wnnGraphBuilderRelease(from);
    wnnGraphBuilderRelease(to);
    wnnGraphRelease(first);
    require_right(other, second, 8);
    wnnGraphRelease(second);
    require_none(weights);
    require_given_back();
    wnnSharedWeightsRelease(weights);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads, and memory that runs out
// ---------------------------------------------------------------------------------------------------------------

enum {
    THREADS = 4,
    ROUNDS = SANITIZED ? 3 : 9
};

struct turn {
    pthread_mutex_t lock; // of the store of constants
    const WNNChainedStruct *chain;
    WNNGraph common; // of the context `other`
};

static void *take_turns(void *argument)
{
    struct turn *turn = argument;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = 1;
    WNNContext own = create_described(&descriptor);
    for (unsigned round = 0; round < ROUNDS; round++) {
        WNNNamedOperand outputs[MAX_OUTPUTS];
        WNNGraphBuilder b = create_builder(own);
        pthread_mutex_lock(&turn->lock);
        constant_count = 0;
        how = (const enum how[]){LENT, ADDRESSED, COPIED}[round % 3];
        recorded_rows = round % 4 == 3 ? 5 : 0;
        size_t count = record_rows(b, outputs);
        pthread_mutex_unlock(&turn->lock);
        struct answer answer = {.calls = 0};
        WNNGraph graph;
        build_chained(own, b, count, outputs, turn->chain, &graph, &answer);
        REQUIRE_EQUAL_STR(answer.message, "");
        wnnGraphBuilderRelease(b);
        run_rows(own, graph, 5);
        run_rows(other, turn->common, 1 + round);
        if (recorded_rows == 0)
            run_rows(own, graph, 1 + round % 2);
        wnnGraphRelease(graph);
    }
    wnnContextRelease(own);
    return NULL;
}

static void test_threads(void)
{
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, NULL);
    struct turn turn = {.chain = &sharing.chain};
    turn.common = build_rows(other, 0, LENT, &sharing.chain); // writes the store
    pthread_mutex_init(&turn.lock, NULL);
    run_threads(THREADS, take_turns, &turn);
    wnnGraphRelease(turn.common);
    require_none(weights);
    wnnSharedWeightsRelease(weights);
    pthread_mutex_destroy(&turn.lock);
}

// The n-th allocation fails, of the context or of the weights. Returns whether none did.
static bool try_memory(WNNContext own, long n, enum how with)
{
    WNNSharedWeightsDescriptor descriptor = WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    WNNSharedWeights weights;
    WNNGraph graphs[2] = {NULL, NULL};
    WNNNamedOperand outputs[MAX_OUTPUTS];
    WNNGraphBuilder b = create_builder(own);
    char message[1024];
    descriptor.allocator = &failing_allocator;
    constant_count = 0;
    how = with;
    recorded_rows = 0;
    size_t count = record_rows(b, outputs);
    atomic_store(&until_failure, n);
    WNNStatus status = wnnCreateSharedWeights(&descriptor, &weights);
    const WNNWeightSharing sharing = sharing_of(weights, with == PROMISED ? &source.chain : NULL);
    for (unsigned i = 0; i < 2 && status == WNNStatus_Success; i++) {
        struct answer answer = {.calls = 0};
        status = build_chained(own, b, count, outputs, &sharing.chain, &graphs[i], &answer);
        if (status == WNNStatus_Success)
            status = try_compute(own, graphs[i], 2 + i, NULL, message);
    }
    bool done = atomic_exchange(&until_failure, 0) > 0;
    REQUIRE(status == WNNStatus_Success || (status == WNNStatus_OutOfMemory && !done));
    // What could not be done once can be done when there is memory.
    if (graphs[0])
        run_rows(own, graphs[0], 4);
    wnnGraphRelease(graphs[0]);
    wnnGraphRelease(graphs[1]);
    wnnGraphBuilderRelease(b);
    wnnSharedWeightsRelease(weights);
    return done;
}

static void test_memory(void)
{
    static const enum how all[] = {LENT, PROMISED, COPIED};
    WNNContext own = create_failing();
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        for (long n = 1; !try_memory(own, n, all[i]); n += SANITIZED ? 7 : 1)
            ;
    end_failing(own);
}

// ---------------------------------------------------------------------------------------------------------------
// On a device
// ---------------------------------------------------------------------------------------------------------------

static void require_on_budget(WNNBudget budget, uint64_t bytes)
{
    for (int i = 0; i < 5000 && device_bytes(budget) > bytes; i++)
        sleep_milliseconds(1);
    REQUIRE(device_bytes(budget) <= bytes);
}

// Buffers of constants are there once for the graphs of a context, whatever sizes these have, and nothing of
// a graph that is gone is kept.
static void require_on_device(enum how with)
{
    WNNBudgetDescriptor budget_descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNBudget budget;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&budget_descriptor, &budget), WNNStatus_Success);
    descriptor.threadCount = 1;
    descriptor.budget = budget;
    WNNContext own = create_described(&descriptor);
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, with == PROMISED ? &source.chain : NULL);
    uint64_t before = device_bytes(budget);
    WNNGraph first = build_rows(own, 0, with, &sharing.chain);
    require_right(own, first, 8);
    uint64_t one = device_bytes(budget) - before;
    WNNGraph second = build_rows(own, 0, with, &sharing.chain);
    require_right(own, second, 8);
    uint64_t two = device_bytes(budget) - before - one;
    WNNGraph fixed = build_rows(own, 8, with, &sharing.chain);
    require_right(own, fixed, 8);
    uint64_t three = device_bytes(budget) - before - one - two;
    fprintf(stderr, "%llu bytes on the device, %llu and %llu\n", (unsigned long long)one,
            (unsigned long long)two, (unsigned long long)three);
    REQUIRE(one > all_bytes() && two + all_bytes() / 2 <= one && three + all_bytes() / 2 <= one);
    wnnGraphRelease(first);
    require_right(own, second, 3);
    require_right(own, second, 8);
    wnnGraphRelease(second);
    if (with == PROMISED)
        require_given_back(); // though buffers of these bytes are still there
    WNNGraph third = build_rows(own, 0, with, &sharing.chain);
    require_right(own, third, 8);
    wnnGraphRelease(fixed);
    require_right(own, third, 3);
    wnnGraphRelease(third);
    require_on_budget(budget, before);
    wnnContextRelease(own);
    require_none(weights);
    require_given_back();
    wnnSharedWeightsRelease(weights);
    wnnBudgetRelease(budget);
}

static void test_device(void)
{
    require_on_device(LENT);
    require_on_device(PROMISED);
    require_on_device(COPIED);
}

int main(int argc, char **argv)
{
    if (!begin_contexts(argc, argv))
        return cases_skip("there is no device");
    if (is_cpu()) {
        CASE(test_shared());
        CASE(test_orders());
        CASE(test_evicted());
        CASE(test_budget());
        CASE(test_full());
        CASE(test_apart());
        CASE(test_loaded());
        CASE(test_sent());
        CASE(test_memory());
    } else {
        CASE(test_device());
    }
    CASE(test_threads());
    return end_contexts();
}
