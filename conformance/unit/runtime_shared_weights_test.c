// SPDX-License-Identifier: Apache-2.0
//
// Weights that graphs share, of one context and of several: they are there once, are counted once, outlive
// whoever packed them, and nobody has part in them who was not told to. The first argument is the backend.

#include "conformance/unit/weights_fixture.h"

// The first graph packs, all others have what it has packed, and it may go.
static void require_shared(enum how with)
{
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, with == PROMISED ? &source.chain : NULL);
    WNNGraph right = build(context, record_plain, COPIED, NULL),
             first = build(context, record_plain, with, &sharing.chain);
    uint64_t bytes = wnnSharedWeightsGetByteLength(weights);
    atomic_store(&lent.calls, 0);
    WNNGraph second = build(context, record_plain, with, &sharing.chain),
             third = build(other, record_plain, with, &sharing.chain);
    fprintf(stderr, "%llu bytes packed of %llu, %ld constants asked for again\n", (unsigned long long)bytes,
            (unsigned long long)all_bytes(), atomic_load(&lent.calls));
    // Only what is read as it is.
    REQUIRE(with != PROMISED || atomic_load(&lent.calls) <= 2 * 8);
    REQUIRE(bytes > all_bytes() / 4);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), bytes);
    require_same(compute(context, right), compute(context, first), false);
    require_same(compute(context, first), compute(other, third), true);
    wnnGraphRelease(first);
    require_same(compute(context, second), compute(other, third), true);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), bytes);
    wnnSharedWeightsRelease(weights); // graphs keep theirs
    wnnGraphRelease(second);
    require_same(compute(context, right), compute(other, third), false);
    wnnGraphRelease(third);
    wnnGraphRelease(right);
    require_given_back();
}

static void test_shared(void)
{
    require_shared(LENT);
    require_shared(PROMISED);
    require_shared(ADDRESSED);
    require_shared(COPIED);
}

// Other contexts, other objects, and none.
static void test_apart(void)
{
    WNNSharedWeights one = create_shared(NULL), two = create_shared(NULL);
    const WNNWeightSharing with_one = sharing_of(one, NULL), with_two = sharing_of(two, NULL);
    WNNGraph first = build(context, record_plain, LENT, &with_one.chain);
    uint64_t bytes = wnnSharedWeightsGetByteLength(one);
    WNNGraph alone = build(context, record_plain, LENT, NULL);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(two), 0);
    WNNGraph second = build(other, record_plain, LENT, &with_two.chain);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(one), bytes);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(two), bytes);
    wnnGraphRelease(first);
    require_none(one);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(two), bytes);
    wnnGraphRelease(alone);
    wnnGraphDestroy(second);
    require_none(two);
    wnnGraphRelease(second);
    wnnSharedWeightsRelease(one);
    wnnSharedWeightsRelease(two);
}

// Counted once, where the host says.
static void test_budget(void)
{
    WNNBudgetDescriptor descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNResources now = WNN_RESOURCES_INIT, later = WNN_RESOURCES_INIT;
    WNNBudget budget;
    descriptor.limits.hostBytes = 1u << 30;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&descriptor, &budget), WNNStatus_Success);
    WNNSharedWeights weights = create_shared(budget);
    const WNNWeightSharing sharing = sharing_of(weights, NULL);
    uint64_t before = settled_bytes(context);
    WNNGraph first = build(context, record_plain, LENT, &sharing.chain);
    uint64_t own = settled_bytes(context) - before;
    wnnBudgetGetResources(budget, &now, NULL);
    REQUIRE(now.hostBytes >= wnnSharedWeightsGetByteLength(weights));
    WNNGraph second = build(other, record_plain, LENT, &sharing.chain);
    wnnBudgetGetResources(budget, &later, NULL);
    REQUIRE_EQUAL_INT(now.hostBytes, later.hostBytes);
    WNNGraph alone = build(context, record_plain, LENT, NULL);
    // What it takes to have it for itself.
    uint64_t both = settled_bytes(context) - before;
    REQUIRE(both - own > own + wnnSharedWeightsGetByteLength(weights) / 2);
    wnnGraphRelease(alone);
    wnnGraphRelease(first);
    wnnGraphRelease(second);
    require_none(weights);
    wnnSharedWeightsRelease(weights);
    for (int i = 0; i < 5000 && later.hostBytes; i++, sleep_milliseconds(1))
        wnnBudgetGetResources(budget, &later, NULL);
    REQUIRE_EQUAL_INT(later.hostBytes, 0);
    wnnBudgetRelease(budget);
}

// What does not fit is refused.
static void test_full(void)
{
    WNNBudgetDescriptor descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNBudget small;
    struct answer answer;
    WNNGraph graph;
    descriptor.limits.hostBytes = 20000;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&descriptor, &small), WNNStatus_Success);
    WNNSharedWeights weights = create_shared(small);
    const WNNWeightSharing sharing = sharing_of(weights, NULL);
    REQUIRE_EQUAL_INT(try_build(context, record_plain, LENT, &sharing.chain, &graph, &answer),
                      WNNStatus_OutOfMemory);
    require_none(weights);
    wnnSharedWeightsRelease(weights);
    wnnBudgetRelease(small);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory that is lent without a name
// ---------------------------------------------------------------------------------------------------------------

enum {
    BLOCK = 1 << 14 // numbers
};

static atomic_int loans;
static float *block;

static void give_back(const void *data, size_t bytes, void *userdata1, void *userdata2)
{
    (void)data;
    (void)bytes;
    (void)userdata1;
    (void)userdata2;
    float *gone = block;
    if (atomic_fetch_sub(&loans, 1) == 1)
        free(gone);
}

static void wait_for_loans(void)
{
    for (int i = 0; i < 5000 && atomic_load(&loans); i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(atomic_load(&loans), 0);
}

static WNNOperand lend_block(WNNGraphBuilder b, const uint32_t *dims)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    const WNNExternalBytes bytes = {NULL, block, BLOCK * sizeof *block, give_back, NULL, NULL};
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, 2};
    atomic_fetch_add(&loans, 1);
    return wnnGraphBuilderExternalConstant(b, &descriptor, &bytes);
}

static uint32_t block_rows;

// The products of the block as it lies, and transposed.
static size_t record_block(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    const uint32_t dims[2] = {block_rows, BLOCK / block_rows};
    WNNOperand x = input(b, "x", DIMS(8, dims[0])), y = input(b, "y", DIMS(8, dims[1])),
               weights = lend_block(b, dims);
    WNNOperand turned = wnnGraphBuilderTranspose(b, weights, NULL);
    outputs[0] = (WNNNamedOperand){view("product"), wnnGraphBuilderMatmul(b, x, weights, NULL)};
    outputs[1] = (WNNNamedOperand){view("turned"), wnnGraphBuilderMatmul(b, y, turned, NULL)};
    return 2;
}

static WNNGraph build_block(WNNContext on, uint32_t rows, float first, const WNNChainedStruct *chain)
{
    if (atomic_load(&loans) == 0) {
        block = malloc(BLOCK * sizeof *block);
        REQUIRE(block);
        for (size_t i = 0; i < BLOCK; i++)
            block[i] = first + (float)(i % 13) * 0.125f;
    }
    block_rows = rows;
    return build(on, record_block, ADDRESSED, chain);
}

struct sample {
    float values[2];
};

static struct sample sample_of(WNNContext on, WNNGraph graph)
{
    struct sample sample;
    struct results results = compute(on, graph);
    for (size_t i = 0; i < 2; i++)
        sample.values[i] = ((const float *)results.buffers[i].data)[1];
    free_results(&results);
    return sample;
}

static bool is_near(struct sample a, struct sample b)
{
    for (unsigned i = 0; i < 2; i++)
        if (!(a.values[i] - b.values[i] < 1e-3f && b.values[i] - a.values[i] < 1e-3f))
            return false;
    return true;
}

static struct sample sample_alone(uint32_t rows)
{
    WNNGraph graph = build_block(context, rows, 0, NULL);
    struct sample sample = sample_of(context, graph);
    wnnGraphRelease(graph);
    wait_for_loans();
    return sample;
}

// An address means what it meant as long as anybody shares what was packed of it, and then something else;
// the same address with another shape is other weights.
static void test_addresses(void)
{
    struct sample wanted = sample_alone(64), wanted_wide = sample_alone(32);
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, NULL);
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = 1;
    WNNContext short_lived = create_described(&descriptor);
    WNNGraph first = build_block(short_lived, 64, 0, &sharing.chain);
    uint64_t bytes = wnnSharedWeightsGetByteLength(weights);
    REQUIRE(bytes >= BLOCK * sizeof *block);
    WNNGraph second = build_block(other, 64, 0, &sharing.chain);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), bytes);
    WNNGraph wide = build_block(other, 32, 0, &sharing.chain);
    REQUIRE(wnnSharedWeightsGetByteLength(weights) > bytes);
    wnnGraphRelease(first);
    wnnContextRelease(short_lived);
    REQUIRE(atomic_load(&loans) >= 2);
    REQUIRE(is_near(sample_of(other, second), wanted));
    REQUIRE(is_near(sample_of(other, wide), wanted_wide));
    wnnGraphRelease(second);
    wnnGraphRelease(wide);
    require_none(weights);
    wait_for_loans();
    WNNGraph renewed = build_block(other, 64, 1, &sharing.chain); // perhaps at the same address
    REQUIRE(!is_near(sample_of(other, renewed), wanted));
    wnnGraphRelease(renewed);
    require_none(weights);
    wait_for_loans();
    wnnSharedWeightsRelease(weights);
}

// ---------------------------------------------------------------------------------------------------------------
// Loaded graphs, refusals
// ---------------------------------------------------------------------------------------------------------------

static void test_loaded(void)
{
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, &source.chain);
    WNNGraph built = build(context, record_plain, PROMISED, &weightless.chain);
    struct serialized bytes = save(built);
    wnnGraphRelease(built);
    WNNGraph first = load_chained(context, &bytes, &sharing.chain);
    uint64_t packed = wnnSharedWeightsGetByteLength(weights);
    long calls = atomic_load(&lent.calls);
    WNNGraph second = load_chained(other, &bytes, &sharing.chain);
    REQUIRE(packed > all_bytes() / 4);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), packed);
    REQUIRE(atomic_load(&lent.calls) - calls <= 8);
    require_same(compute(context, first), compute(other, second), true);
    // And beside what is built of the same names.
    WNNGraph third = build(other, record_plain, PROMISED, &sharing.chain);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), packed);
    wnnGraphRelease(first);
    require_same(compute(other, second), compute(other, third), true);
    struct serialized again = save(second);
    REQUIRE(wnn_serialized_equal(&bytes, &again));
    wnnGraphRelease(second);
    wnnGraphRelease(third);
    require_none(weights);
    require_given_back();
    wnnSharedWeightsRelease(weights);
    free(bytes.data);
    free(again.data);
}

// Weights that fill no panel.
static size_t record_odd(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    size_t count = 0;
    WNNOperand image = input(b, "image", DIMS(1, 5, 9, 9)), rows = input(b, "rows", DIMS(40, 37));
    add(outputs, &count, "conv", wnnGraphBuilderConv2d(b, image, floats(b, DIMS(7, 5, 3, 3)), NULL));
    add(outputs, &count, "product", wnnGraphBuilderMatmul(b, rows, floats(b, DIMS(37, 61)), NULL));
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    gemm.bTranspose = true;
    add(outputs, &count, "gemm", wnnGraphBuilderGemm(b, rows, floats(b, DIMS(53, 37)), &gemm));
    return count;
}

// What one graph has packed for itself another saves: the bytes that it would have packed.
static void test_saved(void)
{
    WNNSharedWeightsDescriptor descriptor = WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    WNNWeightSharing sharing = WNN_WEIGHT_SHARING_INIT;
    struct serialized bytes = {0}, right = {0};
    char message[1024];
    descriptor.allocator = &failing_allocator; // of memory that is not clean
    REQUIRE_EQUAL_INT(wnnCreateSharedWeights(&descriptor, &sharing.weights), WNNStatus_Success);
    WNNGraph plain = build(context, record_odd, COPIED, &sharing.chain);
    sharing.chain.next = &savable.chain;
    WNNGraph saved = build(context, record_odd, COPIED, &sharing.chain),
             alone = build(context, record_odd, COPIED, &savable.chain);
    REQUIRE_EQUAL_INT(try_save(saved, false, &bytes, message), WNNStatus_Success);
    REQUIRE_EQUAL_INT(try_save(alone, false, &right, message), WNNStatus_Success);
    REQUIRE(wnn_serialized_equal(&bytes, &right));
    wnnGraphRelease(plain);
    wnnGraphRelease(saved);
    wnnGraphRelease(alone);
    wnnSharedWeightsRelease(sharing.weights);
    require_no_blocks();
    free(bytes.data);
    free(right.data);
}

static void test_refused(void)
{
    struct answer answer;
    WNNGraph graph;
    const WNNWeightSharing nothing = sharing_of(NULL, NULL);
    REQUIRE_EQUAL_INT(try_build(context, record_plain, LENT, &nothing.chain, &graph, &answer),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(answer.message, "build: there are no weights to be shared");
    char bytes[64] = {0}, message[1024];
    REQUIRE_EQUAL_INT(try_load(context, bytes, sizeof bytes, &nothing.chain, &graph, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "load: there are no weights to be shared");
}

static void test_descriptors(void)
{
    WNNSharedWeights none;
    WNNSharedWeightsDescriptor descriptor = WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    const WNNChainedStruct unknown = {NULL, 999};
    const WNNAllocator incomplete = {NULL, allocate_or_fail, NULL, NULL};
    descriptor.nextInChain = &unknown;
    REQUIRE_EQUAL_INT(wnnCreateSharedWeights(&descriptor, &none), WNNStatus_TypeError);
    REQUIRE(!none);
    descriptor.nextInChain = NULL;
    descriptor.allocator = &incomplete;
    REQUIRE_EQUAL_INT(wnnCreateSharedWeights(&descriptor, &none), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnCreateSharedWeights(NULL, NULL), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnCreateSharedWeights(NULL, &none), WNNStatus_Success);
    wnnSharedWeightsAddRef(none);
    wnnSharedWeightsRelease(none);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(none), 0);
    wnnSharedWeightsRelease(none);
    wnnSharedWeightsRelease(NULL);
    wnnSharedWeightsAddRef(NULL);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(NULL), 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads, and memory that runs out
// ---------------------------------------------------------------------------------------------------------------

enum {
    THREADS = 4,
    ROUNDS = SANITIZED ? 4 : 12
};

struct turn {
    pthread_mutex_t lock; // of the store of constants
    const WNNChainedStruct *chain;
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
        how = round % 2 ? LENT : ADDRESSED;
        size_t count = record_plain(b, outputs);
        pthread_mutex_unlock(&turn->lock);
        struct answer answer = {.calls = 0};
        WNNGraph graph;
        build_chained(own, b, count, outputs, turn->chain, &graph, &answer);
        REQUIRE_EQUAL_STR(answer.message, "");
        wnnGraphBuilderRelease(b);
        struct results results = compute(own, graph);
        free_results(&results);
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
    wnnGraphRelease(build(context, record_plain, LENT, NULL)); // writes the store
    pthread_mutex_init(&turn.lock, NULL);
    run_threads(THREADS, take_turns, &turn);
    require_none(weights);
    wnnSharedWeightsRelease(weights);
    pthread_mutex_destroy(&turn.lock);
}

// The n-th allocation fails, of the context or of the weights. Returns whether none did.
static bool try_memory(WNNContext own, long n)
{
    WNNSharedWeightsDescriptor descriptor = WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    WNNSharedWeights weights;
    struct answer answer = {.calls = 0};
    WNNGraph graph = NULL, second = NULL;
    WNNNamedOperand outputs[MAX_OUTPUTS];
    WNNGraphBuilder b = create_builder(own);
    descriptor.allocator = &failing_allocator;
    constant_count = 0;
    how = LENT;
    size_t count = record_plain(b, outputs);
    atomic_store(&until_failure, n);
    WNNStatus status = wnnCreateSharedWeights(&descriptor, &weights);
    REQUIRE_EQUAL_INT(status, weights ? WNNStatus_Success : WNNStatus_OutOfMemory);
    const WNNWeightSharing sharing = sharing_of(weights, NULL);
    if (weights)
        build_chained(own, b, count, outputs, &sharing.chain, &graph, &answer);
    if (graph)
        build_chained(own, b, count, outputs, &sharing.chain, &second, &answer);
    bool done = atomic_exchange(&until_failure, 0) > 0;
    if (!second && weights)
        REQUIRE_EQUAL_INT(answer.status, WNNStatus_OutOfMemory);
    wnnGraphRelease(graph);
    wnnGraphRelease(second);
    wnnGraphBuilderRelease(b);
    wnnSharedWeightsRelease(weights);
    return done;
}

static void test_memory(void)
{
    WNNContext own = create_failing();
    for (long n = 1; !try_memory(own, n); n++)
        ;
    end_failing(own);
}

// ---------------------------------------------------------------------------------------------------------------
// On a device
// ---------------------------------------------------------------------------------------------------------------

// Buffers of equal constants are there once for the graphs of a context.
static void test_device(void)
{
    WNNBudgetDescriptor budget_descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNBudget budget;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&budget_descriptor, &budget), WNNStatus_Success);
    descriptor.threadCount = 1;
    descriptor.budget = budget;
    WNNContext own = create_described(&descriptor);
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, NULL);
    WNNGraph right = build(own, record_plain, LENT, NULL);
    uint64_t before = device_bytes(budget);
    WNNGraph first = build(own, record_plain, LENT, &sharing.chain);
    uint64_t one = device_bytes(budget) - before;
    WNNGraph second = build(own, record_plain, LENT, &sharing.chain);
    uint64_t two = device_bytes(budget) - before - one;
    fprintf(stderr, "%llu bytes on the device, and %llu\n", (unsigned long long)one, (unsigned long long)two);
    REQUIRE(one > all_bytes() && two + all_bytes() <= one);
    require_same(compute(own, right), compute(own, first), true);
    wnnGraphRelease(first);
    require_same(compute(own, right), compute(own, second), true);
    wnnGraphRelease(second);
    for (int i = 0; i < 5000 && device_bytes(budget) > before; i++)
        sleep_milliseconds(1);
    REQUIRE(device_bytes(budget) <= before);
    wnnGraphRelease(right);
    wnnContextRelease(own);
    wnnSharedWeightsRelease(weights);
    wnnBudgetRelease(budget);
}

int main(int argc, char **argv)
{
    if (!begin_contexts(argc, argv))
        return cases_skip("there is no device");
    if (is_cpu()) {
        CASE(test_shared());
        CASE(test_apart());
        CASE(test_budget());
        CASE(test_full());
        CASE(test_addresses());
        CASE(test_loaded());
        CASE(test_saved());
        CASE(test_memory());
    } else {
        CASE(test_device());
    }
    CASE(test_refused());
    CASE(test_descriptors());
    CASE(test_threads());
    return end_contexts();
}
