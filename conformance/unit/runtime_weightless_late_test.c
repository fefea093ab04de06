// SPDX-License-Identifier: Apache-2.0
//
// Graphs with sizes that are not known, saved without the bytes of constants that have a name: what was
// recorded, which asks for them where it is loaded. And what was recorded of others, saved so for another
// library. The first argument is the backend.

#include "compiler/stored.h"
#include "conformance/unit/weights_fixture.h"
#include "ops/sink.h"

enum {
    MAX_FILE = 4096 // bytes of what record_rows records, however large its constants are
};

// Of what numbers tell: sizes, by themselves and as what others are computed of, scales and zero points.
static size_t record_told(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    size_t count = 0;
    WNNOperand repetitions = constant(b, WNNDataType_Int32, DIMS(2), 1), // 1 and 2
        width = constant(b, WNNDataType_Uint32, DIMS(1), 8);             // 16
    WNNOperand image = any_input(b, "image", (uint32_t[]){0, 4, 10, 10}, 4),
               rows = any_input(b, "rows", (uint32_t[]){0, 16}, 2), y;
    add(outputs, &count, "image", wnnGraphBuilderRelu(b, image, NULL));
    add(outputs, &count, "tiled", wnnGraphBuilderTileDynamic(b, rows, repetitions, NULL));
    WNNOperand first = wnnGraphBuilderSlice(b, wnnGraphBuilderShape(b, image, NULL), LIST(0), LIST(1), NULL);
    y = wnnGraphBuilderReshapeDynamic(
        b, rows, wnnGraphBuilderConcat(b, 2, (WNNOperand[]){first, width}, 0, NULL), NULL);
    WNNOperand scale = constant(b, WNNDataType_Float32, DIMS(1, 64), 0.0078125),
               zero = constant(b, WNNDataType_Int8, DIMS(1, 64), 1),
               integers = constant(b, WNNDataType_Int8, DIMS(16, 64), 1);
    WNNOperand weights = wnnGraphBuilderDequantizeLinear(b, integers, scale, zero, NULL);
    add(outputs, &count, "integers", wnnGraphBuilderMatmul(b, y, weights, NULL));
    WNNOperand one = constant(b, WNNDataType_Float32, DIMS(1, 1), 0.03125),
               none = constant(b, WNNDataType_Uint8, DIMS(1, 1), 100);
    y = wnnGraphBuilderQuantizeLinear(b, wnnGraphBuilderTanh(b, rows, NULL), one, none, NULL);
    add(outputs, &count, "bytes", wnnGraphBuilderDequantizeLinear(b, y, one, none, NULL));
    return count;
}

static WNNContext create_fresh(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = 1;
    return create_described(&descriptor);
}

static void require_like(WNNGraph right, WNNContext on, WNNGraph graph, uint32_t rows, bool exact)
{
    require_same(compute_rows(context, right, rows), compute_rows(on, graph, rows), exact);
}

static void require_equal(WNNGraph right, WNNContext on, WNNGraph graph, uint32_t rows)
{
    require_like(right, on, graph, rows, true);
}

static void require_saves(WNNGraph graph, const struct serialized *expected)
{
    struct serialized bytes = save(graph);
    REQUIRE(wnn_serialized_equal(expected, &bytes));
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Saved without, loaded with
// ---------------------------------------------------------------------------------------------------------------

// What was lent before is all that is.
static void require_lent(long expected)
{
    for (int i = 0; i < 5000 && atomic_load(&lent.blocks) > expected; i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(atomic_load(&lent.blocks), expected);
}

// Loaded in a new context, at sizes that it was specialized for where it was saved, and at others.
static void require_loads(WNNGraph right, const struct serialized *bytes)
{
    long held = atomic_load(&lent.blocks);
    WNNContext fresh = create_fresh();
    WNNGraph loaded = load(fresh, bytes);
    REQUIRE(!wnnGraphIsRecompiled(loaded));
    struct serialized again = save(loaded);
    for (uint32_t rows = 1; rows < 10; rows += 2)
        require_equal(right, fresh, loaded, rows);
    wnnGraphRelease(loaded);
    require_lent(held);
    // And again, of what was saved of that.
    loaded = load(fresh, &again);
    require_saves(loaded, &again);
    require_equal(right, fresh, loaded, 3);
    wnnGraphRelease(loaded);
    wnnContextRelease(fresh);
    free(again.data);
}

static void require_travels(recorder *record, enum how with, const WNNChainedStruct *chain)
{
    recorded_rows = 0;
    WNNGraph right = build(context, record, COPIED, NULL), built = build(context, record, with, chain);
    struct serialized before = save(built), after = {0};
    fprintf(stderr, "%zu bytes without %llu of constants\n", before.size, (unsigned long long)all_bytes());
    REQUIRE(before.size < MAX_FILE);
    require_loads(right, &before);
    char message[1024];
    if (try_compute(context, built, 3, NULL, message) == WNNStatus_Success) {
        require_equal(right, context, built, 3);
        require_equal(right, context, built, 8);
        REQUIRE_EQUAL_INT(try_save(built, true, &after, message), WNNStatus_Success);
        REQUIRE(is_cpu() ? wnn_serialized_equal(&before, &after) : after.size > before.size);
        require_loads(right, &after);
    } else {
        REQUIRE(with == PROMISED);
        REQUIRE_CONTAINS(message, "constants whose bytes are promised");
    }
    wnnGraphRelease(right);
    wnnGraphRelease(built);
    require_given_back();
    free(before.data);
    free(after.data);
}

static const WNNWeightless sourced = {{&source.chain, WNNSType_Weightless}};
static const WNNSavable sourced_whole = {{&source.chain, WNNSType_Savable}};

static void test_travels(void)
{
    require_travels(record_rows, LENT, &weightless.chain);
    require_travels(record_rows, LENT, &savable.chain);
    require_travels(record_rows, PROMISED, &weightless.chain);
    require_travels(record_rows, PROMISED, &sourced.chain);
    require_travels(record_rows, PROMISED, &sourced_whole.chain);
    require_travels(record_told, LENT, &weightless.chain);
}

// The same bytes, whether constants were there or not.
static void test_same_bytes(void)
{
    WNNGraph one = build_rows(context, 0, LENT, &weightless.chain),
             two = build_rows(other, 0, PROMISED, &savable.chain),
             three = build_rows(other, 0, PROMISED, &sourced.chain);
    struct serialized bytes = save(one);
    require_saves(two, &bytes);
    require_saves(three, &bytes);
    wnnGraphRelease(one);
    wnnGraphRelease(two);
    wnnGraphRelease(three);
    free(bytes.data);
}

// What has no name is saved by its bytes, and nobody need be asked for it.
static void test_copied(void)
{
    WNNGraph built = build_rows(context, 0, COPIED, &weightless.chain), loaded;
    struct serialized bytes = save(built), whole = {0};
    char message[1024];
    REQUIRE(bytes.size > all_bytes());
    loaded = load_chained(other, &bytes, NULL);
    // Nothing is lacking, so that it can be saved either way.
    require_saves(loaded, &bytes);
    REQUIRE_EQUAL_INT(try_save(loaded, false, &whole, message), WNNStatus_Success);
    REQUIRE(wnn_serialized_equal(&bytes, &whole));
    require_equal(built, other, loaded, 5);
    wnnGraphRelease(loaded);
    wnnGraphRelease(built);
    free(bytes.data);
    free(whole.data);
}

static void require_refused(WNNGraph graph, const char *part)
{
    struct serialized bytes = {0};
    char message[1024];
    REQUIRE_EQUAL_INT(try_save(graph, false, &bytes, message), WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, part);
    free(bytes.data);
    wnnGraphRelease(graph);
}

// One that has all can be saved either way, one that has given up bytes only without.
static void test_both_ways(void)
{
    char message[1024];
    struct serialized with = {0}, without = {0};
    WNNGraph built = build_rows(context, 0, LENT, &savable.chain), loaded;
    REQUIRE_EQUAL_INT(try_save(built, false, &with, message), WNNStatus_Success);
    REQUIRE_EQUAL_INT(try_save(built, true, &without, message), WNNStatus_Success);
    REQUIRE(with.size > all_bytes() && without.size < MAX_FILE);
    loaded = load_chained(other, &with, NULL);
    require_saves(loaded, &with); // which have no names any more
    require_equal(built, other, loaded, 4);
    wnnGraphRelease(loaded);
    wnnGraphRelease(built);

    built = build_rows(context, 0, LENT, &weightless.chain);
    free(without.data);
    without = save(built);
    require_refused(built, "it can be saved as WNNWeightless");
    require_refused(load(other, &without), "it can be saved as WNNWeightless");
    require_refused(build_rows(context, 0, PROMISED, &savable.chain), "it can be saved as WNNWeightless");
    built = build_rows(context, 0, LENT, NULL);
    REQUIRE_EQUAL_INT(try_save(built, true, &with, message), WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "was not built as WNNSavable");
    wnnGraphDestroy(built);
    require_refused(built, "the graph was destroyed");
    require_given_back();
    free(with.data);
    free(without.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Sources
// ---------------------------------------------------------------------------------------------------------------

// Who runs a graph that lacks bytes, and who has them.
static void test_lacking(void)
{
    struct answer answer;
    WNNGraph graph;
    char message[1024];
    recorded_rows = 0;
    REQUIRE_EQUAL_INT(try_build(context, record_rows, PROMISED, NULL, &graph, &answer),
                      WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(answer.message, "constant \"c0\" has no bytes yet");
    graph = build_rows(context, 0, PROMISED, &weightless.chain);
    REQUIRE_EQUAL_INT(try_compute(context, graph, 3, NULL, message), WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "constants whose bytes are promised");
    struct serialized bytes = save(graph);
    wnnGraphRelease(graph);
    require_source_needed(&bytes);
    free(bytes.data);
}

// A source that fails, or gives other bytes, leaves nothing behind, and the next one is asked again.
static void test_failing(recorder *record)
{
    recorded_rows = 0;
    WNNGraph built = build(context, record, LENT, &weightless.chain);
    struct serialized bytes = save(built);
    require_failures(record, &bytes);
    WNNGraph loaded = load(other, &bytes);
    require_equal(built, other, loaded, 6);
    wnnGraphRelease(loaded);
    wnnGraphRelease(built);
    require_given_back();
    free(bytes.data);
}

// What is had for a graph is given back as early as if it could not be saved.
static void test_given_back(void)
{
    WNNGraph graph = build_rows(context, 0, PROMISED, &source.chain);
    long held = atomic_load(&lent.blocks);
    wnnGraphRelease(graph);
    require_given_back();
    graph = build_rows(context, 0, PROMISED, &sourced.chain);
    require_lent(held);
    struct serialized bytes = save(graph);
    wnnGraphRelease(graph);
    require_given_back();
    graph = load(other, &bytes);
    require_lent(held);
    wnnGraphRelease(graph);
    require_given_back();
    free(bytes.data);
}

// Two loads, of which the second one asks for little, and a graph that is built of the same names.
static void test_shared(void)
{
    WNNSharedWeights weights = create_shared(NULL);
    const WNNWeightSharing sharing = sharing_of(weights, &source.chain);
    WNNGraph built = build_rows(context, 0, LENT, &weightless.chain),
             right = build_rows(context, 0, COPIED, NULL);
    struct serialized bytes = save(built);
    wnnGraphRelease(built);
    WNNGraph first = load_chained(other, &bytes, &sharing.chain);
    require_equal(right, other, first, 8);
    uint64_t shared = wnnSharedWeightsGetByteLength(weights);
    REQUIRE(shared > all_bytes() / 2);
    atomic_store(&lent.calls, 0);
    WNNGraph second = load_chained(other, &bytes, &sharing.chain),
             third = build_rows(other, 0, PROMISED, &sharing.chain);
    require_saves(second, &bytes);
    for (uint32_t rows = 5; rows < 9; rows++) {
        require_equal(right, other, second, rows);
        require_equal(right, other, third, rows);
    }
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), shared);
    // What is small.
    fprintf(stderr, "%ld constants asked for again\n", atomic_load(&lent.calls));
    REQUIRE(atomic_load(&lent.calls) <= 16);
    wnnGraphRelease(first);
    require_equal(right, other, second, 9);
    wnnGraphRelease(second);
    require_equal(right, other, third, 10);
    wnnGraphRelease(third);
    wnnGraphRelease(right);
    require_none(weights);
    require_given_back();
    wnnSharedWeightsRelease(weights);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// For another library or target
// ---------------------------------------------------------------------------------------------------------------

static const WNNRecompilable recompilable = WNN_RECOMPILABLE_INIT;
static const WNNRecompilable sourced_anew = {{&source.chain, WNNSType_Recompilable}};

// Of known sizes too, of which a plan and what was recorded both are without bytes. Such a graph computes
// what it would if its constants were promised, in another order if some of them are not there while it is
// built.
static void require_recompiles(recorder *record, uint32_t rows, enum how with, const WNNChainedStruct *chain)
{
    recorded_rows = rows;
    WNNGraph right = build(context, record, COPIED, NULL), built = build(context, record, with, chain),
             loaded;
    struct serialized bytes = save(built);
    char message[1024];
    uint32_t at = rows ? rows : 5;
    REQUIRE(bytes.size < (rows ? 3 : 1) * (size_t)MAX_FILE || !is_cpu());
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    wnnGetCompiledGraphInfo(bytes.data, bytes.size, &info);
    loaded = load(other, &bytes);
    require_like(right, other, loaded, at, !rows || with == LENT);
    wnnGraphRelease(loaded);
    bytes.data[(const unsigned char *)info.library.data - bytes.data] ^= 1;
    wnn_seal_compiled(bytes.data, bytes.size);
    REQUIRE_EQUAL_INT(try_load(other, bytes.data, bytes.size, &source.chain, &loaded, message),
                      WNNStatus_NotSupportedError);
    REQUIRE_EQUAL_INT(try_load(other, bytes.data, bytes.size, &recompilable.chain, &loaded, message),
                      WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "has no bytes yet");
    loaded = load_chained(other, &bytes, &sourced_anew.chain);
    REQUIRE(wnnGraphIsRecompiled(loaded));
    require_like(right, other, loaded, at, !rows);
    struct serialized again = save(loaded);
    wnnGraphRelease(loaded);
    loaded = load(other, &again);
    require_like(right, other, loaded, at, !rows);
    wnnGraphRelease(loaded);
    wnnGraphRelease(right);
    wnnGraphRelease(built);
    require_given_back();
    free(bytes.data);
    free(again.data);
}

static void test_recompiled(void)
{
    for (uint32_t rows = 0; rows < 8; rows += 5) {
        require_recompiles(record_rows, rows, LENT, &recompilable.chain);
        require_recompiles(record_rows, rows, PROMISED, &recompilable.chain);
        require_recompiles(record_rows, rows, PROMISED, &sourced_anew.chain);
        require_recompiles(record_told, rows, LENT, &recompilable.chain);
    }
}

// The constant is read by a pass, which needs no more than its type.
static size_t record_unread(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    WNNOperand x = input(b, "x", DIMS(3, 4)), unread = floats(b, DIMS(7, 4));
    size_t count = 0;
    add(outputs, &count, "y",
        wnnGraphBuilderConcat(
            b, 2, (WNNOperand[]){x, wnnGraphBuilderSlice(b, unread, LIST(0, 0), LIST(0, 4), NULL)}, 0, NULL));
    return count;
}

// The plan has all bytes, what was recorded has not.
static void test_unread(void)
{
    struct serialized bytes = {0};
    char message[1024];
    WNNGraph built = build(context, record_unread, PROMISED, &recompilable.chain);
    REQUIRE_EQUAL_INT(try_save(built, false, &bytes, message), WNNStatus_NotSupportedError);
    REQUIRE_CONTAINS(message, "what was recorded has constants whose bytes are not there");
    REQUIRE_EQUAL_INT(try_save(built, true, &bytes, message), WNNStatus_Success);
    WNNGraph loaded = load_chained(other, &bytes, NULL);
    require_same(compute(context, built), compute(other, loaded), true);
    wnnGraphRelease(loaded);
    wnnGraphRelease(built);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes from a stranger
// ---------------------------------------------------------------------------------------------------------------

static unsigned refused, ran;

static void try_bytes(WNNContext on, const unsigned char *data, size_t size)
{
    WNNGraph graph;
    char message[1024];
    WNNStatus status = try_load(on, data, size, &sourced_anew.chain, &graph, message);
    REQUIRE((status == WNNStatus_Success) == (graph != NULL) && (graph || message[0]));
    if (graph)
        wnn_compute_any(on, graph);
    wnnGraphRelease(graph);
    *(graph ? &ran : &refused) += 1;
}

static void try_word(WNNContext on, const struct serialized *bytes, unsigned char *copy, size_t at)
{
    static const uint32_t words[] = {0, 1, 2, 3, 8, 64, 255, 0x7FFFFFFF, 0x80000000, 0x80000001, UINT32_MAX};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        memcpy(copy + at, &words[i], 4);
        wnn_seal_compiled(copy, bytes->size);
        try_bytes(on, copy, bytes->size);
    }
    memcpy(copy + at, bytes->data + at, 4);
}

static void try_bits(WNNContext on, const struct serialized *bytes, unsigned char *copy, size_t at)
{
    for (unsigned bit = (unsigned)(at % 3); bit < 8; bit += 3) {
        copy[at] ^= (unsigned char)(1u << bit);
        wnn_seal_compiled(copy, bytes->size);
        try_bytes(on, copy, bytes->size);
        copy[at] ^= (unsigned char)(1u << bit);
    }
}

static struct serialized save_built(recorder *record, const WNNChainedStruct *chain)
{
    recorded_rows = 0;
    WNNGraph built = build(context, record, LENT, chain);
    struct serialized bytes = save(built);
    wnnGraphRelease(built);
    return bytes;
}

// Every word and bit of what was recorded, sealed so that it is believed.
static void test_stranger(recorder *record)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = &wnn_limits_of_strangers;
    descriptor.threadCount = 1;
    WNNContext limited = create_described(&descriptor);
    struct serialized bytes = save_built(record, &weightless.chain);
    unsigned char *copy = malloc(bytes.size);
    REQUIRE(copy);
    memcpy(copy, bytes.data, bytes.size);
    refused = ran = 0;
    try_bytes(limited, copy, bytes.size);
    REQUIRE_EQUAL_INT(ran, 1);
    unsigned step = !is_cpu() ? 16 : SANITIZED ? 3 : 1;
    for (size_t at = 96; at < bytes.size; at += step) {
        if (at % 4 == 0)
            try_word(limited, &bytes, copy, at);
        try_bits(limited, &bytes, copy, at);
    }
    fprintf(stderr, "%zu bytes: %u refused, %u ran\n", bytes.size, refused, ran);
    REQUIRE(refused > 100 && ran > 100);
    wnnContextRelease(limited);
    require_given_back();
    free(copy);
    free(bytes.data);
}

static void test_ends(void)
{
    struct serialized bytes = save_built(record_rows, &weightless.chain);
    unsigned char *copy = malloc(bytes.size);
    REQUIRE(copy);
    refused = ran = 0;
    for (size_t size = 8; size < bytes.size; size += 8) {
        memcpy(copy, bytes.data, bytes.size);
        try_bytes(other, copy, size);
        wnn_seal_compiled(copy, size);
        try_bytes(other, copy, size);
    }
    REQUIRE(refused > 100);
    REQUIRE_EQUAL_INT(ran, 0);
    require_given_back();
    free(copy);
    free(bytes.data);
}

static void require_spoiled(struct serialized bytes, size_t at, uint32_t word, const char *part)
{
    WNNGraph graph;
    char message[1024];
    uint32_t before;
    memcpy(&before, bytes.data + at, 4);
    wnn_store_u32(bytes.data + at, word);
    wnn_seal_compiled(bytes.data, bytes.size);
    REQUIRE_EQUAL_INT(try_load(other, bytes.data, bytes.size, &source.chain, &graph, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, part);
    memcpy(bytes.data + at, &before, 4);
}

static uint64_t u64_at(const unsigned char *data)
{
    uint64_t number = 0;
    for (unsigned i = 8; i-- > 0;)
        number = number << 8 | data[i];
    return number;
}

// What is wrong with a name, and where there is to be none.
static void test_names(void)
{
    struct serialized bytes = save_built(record_rows, &weightless.chain);
    size_t begin = wnn_compiled_recording(bytes.data, bytes.size), place = begin + STORED_TRANSCRIPT_BYTES;
    const unsigned char *recording = bytes.data + begin;
    size_t count = recording[4], name = place + count * STORED_PLACE_BYTES + (size_t)u64_at(recording + 8);
    REQUIRE(recording[0] == STORED_NAMED_TRANSCRIPT_VERSION && count == constant_count);
    REQUIRE_EQUAL_INT(bytes.data[name], WNNConstantForm_Id);
    require_spoiled(bytes, begin, STORED_TRANSCRIPT_VERSION, "lies where it cannot");
    require_spoiled(bytes, place, 65, "lies where it cannot");
    require_spoiled(bytes, place + 8, 4, "constant has 4 bytes");
    require_spoiled(bytes, place + 12, 1, "constant has ");
    require_spoiled(bytes, place + 16, 1, "bytes that stand for nothing");
    require_spoiled(bytes, name, WNNConstantForm_Value, "can be had from nowhere");
    require_spoiled(bytes, name, STORED_MADE, "can be had from nowhere");
    require_spoiled(bytes, name + 4, 0, "no bytes or more than 256");
    require_spoiled(bytes, name + 4, UINT32_MAX, "it ends too early");
    require_given_back();
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory that runs out
// ---------------------------------------------------------------------------------------------------------------

// Loading, running and saving again.
static void test_memory_of_load(void)
{
    struct serialized bytes = save_built(record_rows, &weightless.chain), again = {0};
    char message[1024];
    WNNContext own = create_failing();
    for (long n = 1, done = 0; !done; n += is_cpu() && !SANITIZED ? 1 : 5) {
        WNNGraph graph;
        atomic_store(&until_failure, n);
        WNNStatus status = try_load(own, bytes.data, bytes.size, &source.chain, &graph, message);
        if (status == WNNStatus_Success && (status = try_save(graph, true, &again, message)) == 0) {
            REQUIRE(wnn_serialized_equal(&bytes, &again));
            status = try_compute(own, graph, 3, NULL, message);
        }
        done = atomic_exchange(&until_failure, 0) > 0;
        REQUIRE(status == WNNStatus_Success || (status == WNNStatus_OutOfMemory && !done));
        wnnGraphRelease(graph);
    }
    end_failing(own);
    free(bytes.data);
    free(again.data);
}

// Recording, building without bytes, and saving.
static void test_memory_of_build(void)
{
    WNNContext own = create_failing();
    struct serialized bytes = {0};
    char message[1024];
    for (long n = 1, done = 0; !done; n += is_cpu() ? 1 : 3) {
        WNNNamedOperand outputs[MAX_OUTPUTS];
        WNNGraph graph = NULL;
        WNNGraphBuilder b = create_builder(own);
        WNNError error = WNN_ERROR_INIT;
        struct answer answer = {.calls = 0};
        constant_count = 0;
        recorded_rows = 0;
        how = n % 2 ? PROMISED : LENT;
        atomic_store(&until_failure, n);
        size_t count = record_rows(b, outputs);
        wnnGraphBuilderGetError(b, &error);
        WNNStatus status = error.status;
        if (status == WNNStatus_Success)
            status = build_chained(own, b, count, outputs, &weightless.chain, &graph, &answer);
        if (status == WNNStatus_Success)
            status = try_save(graph, true, &bytes, message);
        done = atomic_exchange(&until_failure, 0) > 0;
        REQUIRE(status == WNNStatus_Success || (status == WNNStatus_OutOfMemory && !done));
        wnnGraphRelease(graph);
        wnnGraphBuilderRelease(b);
    }
    REQUIRE(bytes.size < MAX_FILE);
    end_failing(own);
    free(bytes.data);
}

int main(int argc, char **argv)
{
    if (!begin_contexts(argc, argv))
        return cases_skip("there is no device");
    CASE(test_travels());
    CASE(test_same_bytes());
    CASE(test_copied());
    CASE(test_both_ways());
    CASE(test_lacking());
    CASE(test_failing(record_rows));
    CASE(test_failing(record_told));
    CASE(test_given_back());
    CASE(test_shared());
    CASE(test_recompiled());
    CASE(test_unread());
    CASE(test_stranger(record_rows));
    CASE(test_stranger(record_told));
    CASE(test_ends());
    CASE(test_names());
    CASE(test_memory_of_load());
    CASE(test_memory_of_build());
    return end_contexts();
}
