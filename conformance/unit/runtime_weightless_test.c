// SPDX-License-Identifier: Apache-2.0
//
// Constants whose bytes come late: recorded without them, saved without them, had one by one when a graph is
// built or loaded, and given back. The first argument is the backend.

#include "conformance/unit/weights_fixture.h"

// ---------------------------------------------------------------------------------------------------------------
// Saved without, loaded with
// ---------------------------------------------------------------------------------------------------------------

static void require_travels(recorder *record, enum how with)
{
    WNNGraph right = build(context, record, COPIED, NULL),
             built = build(context, record, with, &weightless.chain);
    struct serialized bytes = save(built);
    fprintf(stderr, "%zu bytes without %llu of constants\n", bytes.size, (unsigned long long)all_bytes());
    WNNGraph loaded = load(other, &bytes);
    // What is had of bytes that are there is what would be there without a name.
    bool exact = with == LENT || record == record_plain;
    require_same(compute(context, right), compute(other, loaded), exact);
    if (with == LENT)
        require_same(compute(context, right), compute(context, built), true);
    // A device has code then, and filters in an order of its own.
    struct serialized again = save(loaded);
    REQUIRE(!is_cpu() || wnn_serialized_equal(&bytes, &again));
    wnnGraphRelease(loaded);
    require_given_back();
    loaded = load(other, &again);
    require_same(compute(context, right), compute(other, loaded), exact);
    wnnGraphRelease(loaded);
    require_given_back();
    wnnGraphRelease(right);
    wnnGraphRelease(built);
    free(bytes.data);
    free(again.data);
}

static void test_lent(void)
{
    require_travels(record_plain, LENT);
    require_travels(record_numbers, LENT);
    require_travels(record_bytes, LENT);
}

// Weights that are parts of a constant: of few, each knows how it is made; of many, all are made together.
static size_t record_parts(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    static const uint32_t counts[] = {8, 40};
    WNNOperand rows = input(b, "rows", DIMS(8, 16)), y = NULL, parts[40];
    WNNSplitOptions split = WNN_SPLIT_OPTIONS_INIT;
    split.axis = 1;
    for (unsigned i = 0; i < 2; i++) {
        WNNOperand whole = floats(b, (uint32_t[]){16, 24 * counts[i]}, 2);
        wnnGraphBuilderSplit(b, whole, counts[i], &split, counts[i], parts);
        for (unsigned k = 0; k < counts[i]; k++) {
            WNNOperand product = wnnGraphBuilderMatmul(b, rows, parts[k], NULL);
            y = y ? wnnGraphBuilderAdd(b, y, product, NULL) : product;
        }
    }
    size_t count = 0;
    add(outputs, &count, "sum", y);
    return count;
}

static void test_parts(void)
{
    require_travels(record_parts, LENT);
    require_travels(record_parts, PROMISED);
}

static void test_promised(void)
{
    require_travels(record_plain, PROMISED);
    require_travels(record_numbers, PROMISED);
    require_travels(record_bytes, PROMISED);
}

// The same bytes, whether constants were there or not, if nothing has to see numbers.
static void test_same_bytes(void)
{
    WNNGraph one = build(context, record_plain, LENT, &weightless.chain),
             two = build(other, record_plain, PROMISED, &savable.chain);
    struct serialized a = save(one), b = save(two);
    REQUIRE(wnn_serialized_equal(&a, &b));
    REQUIRE(a.size < all_bytes() / 8);
    wnnGraphRelease(one);
    wnnGraphRelease(two);
    free(a.data);
    free(b.data);
}

// Whether never all was lent at once.
static void require_pieces(void)
{
    // The table of gather, which is read as it is, and what a kernel packs; a device has copies of all.
    uint64_t table = is_cpu() ? 900 * 9 * 4 : 0;
    fprintf(stderr, "%ld bytes at once of %llu, %ld kept\n", atomic_load(&lent.max_bytes),
            (unsigned long long)all_bytes(), atomic_load(&lent.bytes));
    REQUIRE((uint64_t)atomic_load(&lent.max_bytes) <= table + max_bytes() + (is_cpu() ? 4096 : 0));
    // It was lent where no float can lie, so that there is a copy.
    REQUIRE((uint64_t)atomic_load(&lent.bytes) <= (is_cpu() ? 2 * table + 16384 : 0));
}

// One after the other, each given back when it has been packed.
static void test_pieces(void)
{
    WNNGraph built = build(context, record_plain, PROMISED, &weightless.chain);
    struct serialized bytes = save(built);
    atomic_store(&lent.max_bytes, 0);
    WNNGraph loaded = load(other, &bytes);
    require_pieces();
    wnnGraphRelease(loaded);
    require_given_back();
    atomic_store(&lent.max_bytes, 0);
    loaded = build(other, record_plain, PROMISED, &source.chain);
    require_pieces();
    wnnGraphRelease(loaded);
    require_given_back();
    wnnGraphRelease(built);
    free(bytes.data);
}

// Without a file in between.
static void test_built_with_source(void)
{
    WNNGraph right = build(context, record_plain, COPIED, NULL),
             built = build(context, record_plain, PROMISED, &source.chain);
    require_same(compute(context, right), compute(context, built), true);
    wnnGraphRelease(right);
    wnnGraphRelease(built);
    require_given_back();
}

// One that has all can be saved either way, one that has given up bytes only without.
static void test_both_ways(void)
{
    char message[1024];
    struct serialized with = {0}, without = {0};
    WNNGraph built = build(context, record_plain, LENT, &savable.chain);
    REQUIRE_EQUAL_INT(try_save(built, false, &with, message), WNNStatus_Success);
    REQUIRE_EQUAL_INT(try_save(built, true, &without, message), WNNStatus_Success);
    REQUIRE(with.size > all_bytes() / 2 && without.size < with.size);
    WNNGraph loaded;
    try_load(other, with.data, with.size, NULL, &loaded, message);
    REQUIRE_EQUAL_STR(message, "");
    require_same(compute(context, built), compute(other, loaded), true);
    REQUIRE_EQUAL_INT(try_save(loaded, true, &without, message), WNNStatus_Success);
    REQUIRE(wnn_serialized_equal(&with, &without)); // which have no names any more
    wnnGraphRelease(loaded);
    wnnGraphRelease(built);

    built = build(context, record_plain, LENT, &weightless.chain);
    REQUIRE_EQUAL_INT(try_save(built, false, &with, message), WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "it can be saved as WNNWeightless");
    free(without.data);
    without = save(built);
    loaded = load(other, &without);
    REQUIRE_EQUAL_INT(try_save(loaded, false, &with, message), WNNStatus_InvalidStateError);
    wnnGraphRelease(loaded);
    wnnGraphRelease(built);
    built = build(context, record_plain, PROMISED, &savable.chain);
    REQUIRE_EQUAL_INT(try_save(built, false, &with, message), WNNStatus_InvalidStateError);
    wnnGraphRelease(built);
    built = build(context, record_plain, LENT, NULL);
    REQUIRE_EQUAL_INT(try_save(built, true, &with, message), WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "was not built as WNNSavable");
    wnnGraphRelease(built);
    require_given_back();
    free(with.data);
    free(without.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Refusals
// ---------------------------------------------------------------------------------------------------------------

static void require_builder_error(WNNGraphBuilder b, WNNOperand operand, const char *part)
{
    WNNError error = WNN_ERROR_INIT;
    wnnGraphBuilderGetError(b, &error);
    REQUIRE(!operand);
    REQUIRE_EQUAL_INT(error.status, WNNStatus_TypeError);
    REQUIRE_CONTAINS(error.message.data, part);
    wnnGraphBuilderClearError(b);
}

static void test_references(void)
{
    static const char id[WNN_MAX_CONSTANT_ID + 1] = "i";
    static const float numbers[4] = {0};
    WNNGraphBuilder b = create_builder(context);
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNNamedBytes named = WNN_NAMED_BYTES_INIT;
    WNNConstantReference *reference = &named.reference;
    const WNNExternalBytes bytes = {&named.chain, numbers, sizeof numbers, NULL, NULL, NULL};
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = LIST(4);
    require_builder_error(b, wnnGraphBuilderPromisedConstant(b, &descriptor, NULL), "no reference");
    require_builder_error(b, wnnGraphBuilderPromisedConstant(b, &descriptor, reference),
                          "of form 1; expected");
    require_builder_error(b, wnnGraphBuilderExternalConstant(b, &descriptor, &bytes), "of form 1; expected");
    reference->form = WNNConstantForm_Id;
    require_builder_error(b, wnnGraphBuilderPromisedConstant(b, &descriptor, reference), "id of 0 bytes");
    reference->id = id;
    reference->idLength = sizeof id;
    require_builder_error(b, wnnGraphBuilderPromisedConstant(b, &descriptor, reference), "id of 257 bytes");
    reference->idLength = 0;
    require_builder_error(b, wnnGraphBuilderExternalConstant(b, &descriptor, &bytes), "id of 0 bytes");
    reference->idLength = 1;
    require_builder_error(b, wnnGraphBuilderPromisedConstant(b, NULL, reference), "no descriptor");
    const WNNChainedStruct unknown = {NULL, 999};
    reference->nextInChain = (WNNChainedStruct *)(uintptr_t)&unknown;
    require_builder_error(b, wnnGraphBuilderPromisedConstant(b, &descriptor, reference), "999");
    reference->nextInChain = NULL;
    named.chain.next = &unknown;
    require_builder_error(b, wnnGraphBuilderExternalConstant(b, &descriptor, &bytes), "999");
    named.chain.next = NULL;
    descriptor.shape = LIST(0x7FFFFFFF, 2);
    require_builder_error(b, wnnGraphBuilderPromisedConstant(b, &descriptor, reference), "elements");
    REQUIRE(!wnnGraphBuilderPromisedConstant(NULL, &descriptor, reference));
    wnnGraphBuilderRelease(b);
}

// Who runs a graph that lacks bytes, and who has them.
static void test_lacking(void)
{
    struct answer answer;
    WNNGraph graph;
    char message[1024];
    REQUIRE_EQUAL_INT(try_build(context, record_plain, PROMISED, NULL, &graph, &answer),
                      WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(answer.message, "constant \"c0\" has no bytes yet");
    WNNConstantSource nobody = WNN_CONSTANT_SOURCE_INIT;
    REQUIRE_EQUAL_INT(try_build(context, record_plain, PROMISED, &nobody.chain, &graph, &answer),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(answer.message, "build: the source of constants has no callback");
    graph = build(context, record_plain, PROMISED, &weightless.chain);
    WNNComputeDescriptor execution = WNN_COMPUTE_DESCRIPTOR_INIT;
    execution.graph = graph;
    REQUIRE_EQUAL_INT(wnnContextComputeSync(context, &execution, sizeof message, message),
                      WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "constants whose bytes are promised");
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetInfo(graph, &info), WNNStatus_Success);
    REQUIRE(info.nodeCount > 0 && info.constantBytes == all_bytes());
    wnnGraphSetProfiling(graph, true);
    struct serialized bytes = save(graph);
    wnnGraphRelease(graph);
    require_source_needed(&bytes);
    free(bytes.data);
}

static void test_failing(recorder *record)
{
    WNNGraph graph = build(context, record, LENT, &weightless.chain);
    struct serialized bytes = save(graph);
    wnnGraphRelease(graph);
    require_failures(record, &bytes);
    require_failures(record, NULL);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Recorded here, compiled there
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand promise(WNNGraphBuilder b, const WNNOperandDescriptor *descriptor,
                          const WNNConstantReference *reference, void *userdata1, void *userdata2)
{
    (void)userdata1;
    (void)userdata2;
    return wnnGraphBuilderPromisedConstant(b, descriptor, reference);
}

static void test_serialized(void)
{
    WNNGraphBuilder from = create_builder(context), to = create_builder(context);
    WNNNamedOperand outputs[MAX_OUTPUTS];
    struct serialized bytes = {0}, again = {0};
    WNNSerializeDescriptor writer = WNN_SERIALIZE_DESCRIPTOR_INIT;
    char message[1024] = "";
    constant_count = 0;
    how = PROMISED;
    writer.outputCount = record_plain(from, outputs);
    writer.outputs = outputs;
    writer.write = wnn_serialized_add;
    writer.userdata1 = &bytes;
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(from, &writer, sizeof message, message), WNNStatus_Success);
    WNNDeserializeDescriptor reader = WNN_DESERIALIZE_DESCRIPTOR_INIT;
    WNNDeserializedGraph read = WNN_DESERIALIZED_GRAPH_INIT;
    reader.data = bytes.data;
    reader.byteLength = bytes.size;
    reader.find = promise;
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, &reader, &read), WNNStatus_Success);
    WNNRecordedOperand recorded = WNN_RECORDED_OPERAND_INIT;
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperand(to, 2, &recorded), WNNStatus_Success);
    REQUIRE(recorded.source == WNNOperandSource_Constant && !recorded.data && recorded.byteLength == 64 * 4);
    writer.outputCount = read.outputCount;
    writer.outputs = read.outputs;
    writer.userdata1 = &again;
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(to, &writer, sizeof message, message), WNNStatus_Success);
    REQUIRE(wnn_serialized_equal(&bytes, &again));

    struct answer answer = {.calls = 0};
    WNNGraph two;
    build_chained(context, to, read.outputCount, read.outputs, &weightless.chain, &two, &answer);
    REQUIRE_EQUAL_STR(answer.message, "");
    struct serialized b = save(two);
    WNNGraph right = build(context, record_plain, COPIED, NULL), loaded = load(other, &b);
    require_same(compute(context, right), compute(other, loaded), true);
    wnnGraphRelease(right);
    wnnGraphRelease(loaded);
    wnnGraphRelease(two);
    wnnGraphBuilderRelease(from);
    wnnGraphBuilderRelease(to);
    require_given_back();
    free(bytes.data);
    free(again.data);
    free(b.data);
}

// Sizes that numbers tell cannot be told by numbers that are not there.
static void test_sizes(void)
{
    WNNGraphBuilder b = create_builder(context);
    constant_count = 0;
    how = PROMISED;
    WNNOperand sizes = constant(b, WNNDataType_Int64, DIMS(2), 1);
    require_builder_error(b, wnnGraphBuilderReshapeDynamic(b, input(b, "x", DIMS(4, 3)), sizes, NULL),
                          "expected a constant");
    WNNOperand sum = wnnGraphBuilderAdd(b, sizes, sizes, NULL);
    require_builder_error(b, wnnGraphBuilderReshapeDynamic(b, input(b, "y", DIMS(4, 3)), sum, NULL),
                          "expected a constant");
    wnnGraphBuilderRelease(b);
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes from a stranger
// ---------------------------------------------------------------------------------------------------------------

static WNNContext create_limited(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = &wnn_limits_of_strangers;
    descriptor.threadCount = 1;
    return create_described(&descriptor);
}

static unsigned refused, ran;

static void try(WNNContext on, const struct serialized *bytes, const unsigned char *copy)
{
    WNNGraph graph;
    char message[1024];
    WNNStatus status = try_load(on, copy, bytes->size, &source.chain, &graph, message);
    REQUIRE((status == WNNStatus_Success) == (graph != NULL));
    REQUIRE(graph || message[0]);
    if (graph)
        wnn_compute_any(on, graph);
    wnnGraphRelease(graph);
    *(graph ? &ran : &refused) += 1;
}

// Every word of the head is what counts and numbers often go wrong with, or has a bit that is another.
static void test_stranger(recorder *record, bool without)
{
    static const uint32_t words[] = {0,   1,   2,       3,          4,          7,      8,         9,
                                     255, 256, 0x10000, 0x7FFFFFFF, 0x80000000, 1 << 9, UINT32_MAX};
    char message[1024];
    WNNGraph built =
        build(context, record, without ? PROMISED : COPIED, without ? &weightless.chain : &savable.chain);
    struct serialized bytes = {0};
    REQUIRE_EQUAL_INT(try_save(built, without, &bytes, message), WNNStatus_Success);
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    WNNContext limited = create_limited();
    unsigned char *copy = malloc(bytes.size);
    REQUIRE(copy);
    memcpy(copy, bytes.data, bytes.size);
    wnnGraphRelease(built);
    REQUIRE_EQUAL_INT(wnnGetCompiledGraphInfo(bytes.data, bytes.size, &info), WNNStatus_Success);
    refused = ran = 0;
    try(limited, &bytes, copy);
    REQUIRE_EQUAL_INT(ran, 1);
    size_t step = SANITIZED || !is_cpu() ? 12 : 4;
    for (size_t i = 96; i + 4 <= info.headBytes; i += step)
        for (size_t j = 0; j < sizeof words / sizeof words[0] + 3; j++) {
            if (j < sizeof words / sizeof words[0])
                memcpy(copy + i, &words[j], 4);
            else
                copy[i + j % 4] ^= (unsigned char)(1u << (i + j) % 8);
            wnn_seal_compiled(copy, bytes.size);
            try(limited, &bytes, copy);
            memcpy(copy + i, bytes.data + i, 4);
        }
    fprintf(stderr, "%zu bytes of head: %u refused, %u ran\n", (size_t)info.headBytes, refused, ran);
    REQUIRE(refused > 100 && ran > 100);
    wnnContextRelease(limited);
    require_given_back();
    free(copy);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory that runs out
// ---------------------------------------------------------------------------------------------------------------

// Loading, and saving again.
static void test_memory_of_load(void)
{
    WNNGraph built = build(context, record_plain, PROMISED, &weightless.chain), graph;
    struct serialized bytes = save(built), again = {0};
    char message[1024];
    WNNContext own = create_failing();
    wnnGraphRelease(built);
    for (long n = 1;; n++) {
        atomic_store(&until_failure, n);
        WNNStatus status = try_load(own, bytes.data, bytes.size, &source.chain, &graph, message);
        if (status == WNNStatus_Success) {
            WNNStatus saved = try_save(graph, true, &again, message);
            wnnGraphRelease(graph);
            bool done = atomic_exchange(&until_failure, 0) > 0;
            REQUIRE(saved == WNNStatus_Success ? !is_cpu() || wnn_serialized_equal(&bytes, &again)
                                               : saved == WNNStatus_OutOfMemory);
            if (done)
                break;
        } else {
            REQUIRE_EQUAL_INT(status, WNNStatus_OutOfMemory);
        }
        atomic_store(&until_failure, 0);
    }
    end_failing(own);
    free(bytes.data);
    free(again.data);
}

// Recording and building, without bytes and then with them. Whatever is not folded for want of memory is
// computed later, so that there may be a graph.
static void test_memory_of_build(void)
{
    WNNContext own = create_failing();
    struct answer answer;
    for (long n = 1;; n += is_cpu() ? 1 : 3) {
        WNNNamedOperand outputs[MAX_OUTPUTS];
        WNNGraph graph = NULL;
        WNNGraphBuilder b = create_builder(own);
        atomic_store(&until_failure, n);
        constant_count = 0;
        how = PROMISED;
        answer = (struct answer){.calls = 0};
        size_t count = record_plain(b, outputs);
        WNNError error = WNN_ERROR_INIT;
        wnnGraphBuilderGetError(b, &error);
        if (error.status == WNNStatus_Success)
            build_chained(own, b, count, outputs, n % 2 ? &source.chain : &weightless.chain, &graph, &answer);
        bool done = atomic_exchange(&until_failure, 0) > 0;
        REQUIRE(graph || error.status == WNNStatus_OutOfMemory || answer.status == WNNStatus_OutOfMemory);
        wnnGraphRelease(graph);
        wnnGraphBuilderRelease(b);
        if (done)
            break;
    }
    end_failing(own);
}

int main(int argc, char **argv)
{
    if (!begin_contexts(argc, argv))
        return cases_skip("there is no device");
    CASE(test_lent());
    CASE(test_promised());
    CASE(test_parts());
    if (is_cpu())
        CASE(test_same_bytes());
    CASE(test_pieces());
    CASE(test_built_with_source());
    CASE(test_both_ways());
    CASE(test_references());
    CASE(test_lacking());
    CASE(test_failing(record_plain));
    CASE(test_failing(record_numbers));
    CASE(test_failing(record_bytes));
    CASE(test_serialized());
    CASE(test_sizes());
    CASE(test_stranger(record_plain, true));
    CASE(test_stranger(record_numbers, true));
    CASE(test_stranger(record_bytes, true));
    CASE(test_stranger(record_bytes, false));
    CASE(test_memory_of_load());
    CASE(test_memory_of_build());
    return end_contexts();
}
