// SPDX-License-Identifier: Apache-2.0
//
// Compiled graphs that hold what was recorded: those of sizes that are not known, which run at any as they
// did before; those that another library or target has written, which are built of it where the caller allows
// that; and bytes from a stranger. The first argument is the backend.

#include "compiler/stored.h"
#include "conformance/backends.h"
#include "conformance/compiled.h"
#include "conformance/unit/failing_allocator.h"
#include "conformance/unit/runtime_fixture.h"
#include "lib/checksum.h"
#include "ops/sink.h"

static const struct backend *backend;
static WNNContext context, other;

static WNNContext create_context(const WNNLimits *limits, const WNNAllocator *allocator, bool strict)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext made;
    descriptor.threadCount = 1;
    descriptor.limits = limits;
    descriptor.allocator = allocator;
    descriptor.strictNumerics = strict;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &made), WNNStatus_Success);
    return made;
}

// ---------------------------------------------------------------------------------------------------------------
// A network with a state that grows, of known sizes or of such as are not
// ---------------------------------------------------------------------------------------------------------------

enum {
    WIDTH = 24
};

static WNNOperand weights_of(WNNGraphBuilder b, uint32_t rows, uint32_t columns)
{
    static float values[WIDTH * 2 * WIDTH * 2];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = rows > 1 ? LIST(rows, columns) : LIST(columns);
    for (size_t i = 0; i < (size_t)rows * columns; i++)
        values[i] = (float)(i % 11) * 0.0625f - 0.25f;
    return wnnGraphBuilderConstant(b, &descriptor, values, (size_t)rows * columns * sizeof values[0]);
}

static WNNOperand rows_of(WNNGraphBuilder b, const char *name, uint32_t rows, const char *size)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNDimension dimensions[2] = {WNN_DIMENSION_INIT, WNN_DIMENSION_INIT};
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    dimensions[0].name = view(size);
    dimensions[0].maxSize = 64;
    named.dimensionCount = 2;
    named.dimensions = dimensions;
    descriptor.nextInChain = rows ? NULL : &named.chain;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = LIST(rows, WIDTH);
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

// `steps` and `past` are numbers of rows, 0: not known. The state is the last rows of past and new ones; one
// operator has no rank while its sizes are not known.
static size_t record(WNNGraphBuilder b, uint32_t steps, uint32_t past, WNNNamedOperand *outputs)
{
    WNNOperand x = rows_of(b, "x", steps, "steps"), before = rows_of(b, "before", past, "past");
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    gemm.c = weights_of(b, 1, WIDTH);
    gemm.label = view("keys");
    WNNOperand w = weights_of(b, WIDTH, WIDTH);
    WNNOperand keys = wnnGraphBuilderRelu(b, wnnGraphBuilderGemm(b, x, w, &gemm), NULL);
    WNNOperand all = wnnGraphBuilderConcat(b, 2, (WNNOperand[]){before, keys}, 0, NULL);
    WNNOperand scores = wnnGraphBuilderMatmul(b, x, wnnGraphBuilderTranspose(b, all, NULL), NULL);
    WNNOperand y = wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 1, NULL), all, NULL);
    y = wnnGraphBuilderMatmul(b, y, w, NULL);
    // All rows but the first, of a number that is computed.
    uint32_t total = wnnOperandGetShape(all).data[0];
    uint32_t kept = wnnGraphBuilderComputeSize(b, WNNSizeOperator_Subtract, total, 1);
    const uint32_t starts[2] = {1, 0}, sizes[2] = {kept, WIDTH};
    outputs[0] = (WNNNamedOperand){view("y"), y};
    outputs[1] = (WNNNamedOperand){view("after"), wnnGraphBuilderSlice(b, all, (WNNUint32List){starts, 2},
                                                                       (WNNUint32List){sizes, 2}, NULL)};
    outputs[2] = (WNNNamedOperand){view("few"), wnnGraphBuilderSqueeze(b, keys, NULL)};
    return 3;
}

static WNNGraph build(WNNContext on, uint32_t steps, uint32_t past)
{
    WNNGraphBuilder builder = create_builder(on);
    WNNNamedOperand outputs[3];
    char message[1024] = "";
    WNNGraph graph;
    size_t count = record(builder, steps, past, outputs);
    WNNError error = WNN_ERROR_INIT;
    wnnGraphBuilderGetError(builder, &error);
    REQUIRE_EQUAL_STR(error.message.data, "");
    wnn_build_recompilable(on, builder, count, outputs, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    wnnGraphBuilderRelease(builder);
    return graph;
}

struct results {
    float x[64 * WIDTH], before[64 * WIDTH];
    float y[64 * WIDTH], after[128 * WIDTH], few[64 * WIDTH];
};

static struct results *compute(WNNContext on, WNNGraph graph, uint32_t steps, uint32_t past)
{
    struct results *results = calloc(1, sizeof *results);
    const WNNNamedShape shapes[] = {{view("x"), LIST(steps, WIDTH)}, {view("before"), LIST(past, WIDTH)}};
    const WNNInputShapes given = {{NULL, WNNSType_InputShapes}, 2, shapes};
    const size_t row = WIDTH * sizeof(float);
    for (size_t i = 0; i < 64 * WIDTH; i++) {
        results->x[i] = (float)((i * 37 + steps) % 29) * 0.0625f - 0.75f;
        results->before[i] = (float)((i * 53 + past) % 31) * 0.0625f - 1;
    }
    const WNNNamedBuffer inputs[] = {{view("x"), results->x, steps * row, WNNDataType_Float32},
                                     {view("before"), results->before, past * row, WNNDataType_Float32}};
    const WNNNamedBuffer outputs[] = {
        {view("y"), results->y, steps * row, WNNDataType_Float32},
        {view("after"), results->after, (steps + past - 1) * row, WNNDataType_Float32},
        {view("few"), results->few, steps * row, WNNDataType_Float32}};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    char message[1024] = "";
    descriptor.nextInChain = &given.chain;
    descriptor.graph = graph;
    descriptor.inputCount = 2;
    descriptor.inputs = inputs;
    descriptor.outputCount = 3;
    descriptor.outputs = outputs;
    wnnContextComputeSync(on, &descriptor, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    return results;
}

static void require_same(WNNGraph built, WNNContext on, WNNGraph loaded, uint32_t steps, uint32_t past)
{
    struct results *a = compute(context, built, steps, past), *b = compute(on, loaded, steps, past);
    REQUIRE(a->y[0] != 0 && memcmp(a, b, sizeof *a) == 0);
    free(a);
    free(b);
}

static struct serialized save(WNNGraph graph)
{
    struct serialized bytes = {0};
    char message[1024] = "";
    WNNStatus status = wnn_save_graph(graph, &bytes, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    return bytes;
}

static WNNGraph load(WNNContext on, const void *data, size_t size, bool recompiles)
{
    WNNGraph graph;
    char message[1024] = "";
    (recompiles ? wnn_load_recompiling : wnn_load_copy)(on, data, size, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE(graph);
    return graph;
}

static void require_refused(const void *data, size_t size, bool recompiles, WNNStatus status,
                            const char *part)
{
    WNNGraph graph;
    char message[1024] = "";
    REQUIRE_EQUAL_INT((recompiles ? wnn_load_recompiling : wnn_load_copy)(other, data, size, &graph,
                                                                          sizeof message, message),
                      status);
    REQUIRE(!graph);
    REQUIRE_CONTAINS(message, part);
}

// ---------------------------------------------------------------------------------------------------------------
// Sizes that are not known
// ---------------------------------------------------------------------------------------------------------------

static void test_late(void)
{
    static const uint32_t sizes[][2] = {{1, 1}, {3, 5}, {1, 7}, {20, 2}, {64, 64}};
    WNNGraph built = build(context, 0, 0), twin = build(other, 0, 0);
    struct serialized bytes = save(built), again = save(twin);
    REQUIRE(wnn_serialized_equal(&bytes, &again));
    free(again.data);
    WNNGraph loaded = load(other, bytes.data, bytes.size, false);
    REQUIRE(!wnnGraphIsRecompiled(loaded));
    again = save(loaded);
    REQUIRE(wnn_serialized_equal(&bytes, &again));
    free(again.data);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        require_same(built, other, loaded, sizes[i][0], sizes[i][1]);
    // What has run on the CPU leaves no trace.
    again = save(built);
    REQUIRE(backend->code || wnn_serialized_equal(&bytes, &again));
    free(again.data);
    wnnGraphDestroy(loaded);
    char message[256];
    REQUIRE_EQUAL_INT(wnn_save_graph(loaded, &again, sizeof message, message), WNNStatus_InvalidStateError);
    wnnGraphRelease(loaded);
    wnnGraphRelease(built);
    wnnGraphRelease(twin);
    free(bytes.data);
}

static void test_names(void)
{
    WNNGraph built = build(context, 0, 0);
    struct serialized bytes = save(built);
    WNNGraph loaded = load(other, bytes.data, bytes.size, false);
    size_t count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(loaded, &count);
    REQUIRE_EQUAL_INT(count, 2);
    WNNDimension dimension = WNN_DIMENSION_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetSize(loaded, inputs[0].descriptor.shape.data[0], &dimension),
                      WNNStatus_Success);
    REQUIRE(dimension.name.length == 5 && memcmp(dimension.name.data, "steps", 5) == 0);
    REQUIRE_EQUAL_INT(dimension.minSize, 1);
    REQUIRE_EQUAL_INT(dimension.maxSize, 64);
    wnnGraphRelease(loaded);
    wnnGraphRelease(built);
    free(bytes.data);
}

static size_t count_load(const void *key, size_t length, void *data, size_t capacity, void *asked)
{
    (void)key, (void)length, (void)data, (void)capacity;
    ++*(unsigned *)asked;
    return 0;
}

static void ignore_entry(const void *key, size_t length, const void *data, size_t size, void *asked)
{
    (void)key, (void)length, (void)data, (void)size, (void)asked;
}

// How many shaders a new context asks the cache of its host for, when it loads the bytes and runs them.
static unsigned count_asked(WNNGraph built, const struct serialized *bytes, bool vouched)
{
    unsigned asked = 0, before;
    const WNNCache cache = {NULL, count_load, ignore_entry, &asked};
    WNNContextDescriptor on = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    char message[1024] = "";
    void *memory = wnn_aligned_copy(bytes->data, bytes->size);
    WNNContext own;
    WNNGraph graph;
    on.threadCount = 1;
    on.cache = &cache;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &on, &own), WNNStatus_Success);
    descriptor.bytes.data = memory;
    descriptor.bytes.byteLength = bytes->size;
    descriptor.authenticate = vouched ? wnn_vouch : NULL;
    before = asked;
    wnnContextLoadGraphSync(own, &descriptor, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    require_same(built, own, graph, 3, 5);
    wnnGraphRelease(graph);
    wnnContextRelease(own);
    free(memory);
    return asked - before;
}

// What a device has compiled for sizes so far goes along, and is run if the host vouches for it.
static void test_late_code(void)
{
    WNNGraph built = build(context, 0, 0);
    struct serialized none = save(built), bytes;
    free(compute(context, built, 3, 5));
    free(compute(context, built, 4, 6)); // by the same code, mostly, which is stored once
    bytes = save(built);
    REQUIRE(bytes.size > none.size);
    unsigned all = count_asked(built, &none, true);
    fprintf(stderr, "%u shaders\n", all);
    REQUIRE(all > 3);
    REQUIRE_EQUAL_INT(count_asked(built, &bytes, false), all);
    REQUIRE_EQUAL_INT(count_asked(built, &bytes, true), 0);
    wnnGraphRelease(built);
    free(none.data);
    free(bytes.data);
}

// A plan in the place of what was recorded, and the other way round.
static void test_kinds(void)
{
    WNNGraph late = build(context, 0, 0), known = build(context, 3, 5);
    struct serialized bytes = save(late);
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    copy[12] &= (unsigned char)~STORED_LATE;
    wnn_seal_compiled(copy, bytes.size);
    require_refused(copy, bytes.size, true, WNNStatus_TypeError, "there are no outputs");
    free(copy);
    free(bytes.data);
    bytes = save(known);
    copy = wnn_aligned_copy(bytes.data, bytes.size);
    copy[12] |= STORED_LATE;
    wnn_seal_compiled(copy, bytes.size);
    require_refused(copy, bytes.size, true, WNNStatus_TypeError, "there is a plan");
    free(copy);
    free(bytes.data);
    wnnGraphRelease(late);
    wnnGraphRelease(known);
}

// ---------------------------------------------------------------------------------------------------------------
// For another library or target
// ---------------------------------------------------------------------------------------------------------------

// Bytes that are refused for `part` are built of what was recorded, compute the same, and are saved as new.
static void require_recompiled(WNNGraph built, const struct serialized *own, const unsigned char *data,
                               const char *part)
{
    require_refused(data, own->size, false, WNNStatus_NotSupportedError, part);
    WNNGraph loaded = load(other, data, own->size, true);
    REQUIRE(wnnGraphIsRecompiled(loaded) && !wnnGraphIsRecompiled(built) && !wnnGraphIsRecompiled(NULL));
    require_same(built, other, loaded, 3, 5);
    struct serialized again = save(loaded);
    REQUIRE(backend->code || wnn_serialized_equal(own, &again));
    wnnGraphRelease(loaded);
    loaded = load(other, again.data, again.size, true);
    REQUIRE(!wnnGraphIsRecompiled(loaded));
    require_same(built, other, loaded, 3, 5);
    wnnGraphRelease(loaded);
    free(again.data);
}

static void test_recompiled(void)
{
    for (uint32_t late = 0; late < 2; late++) {
        WNNGraph built = build(context, late ? 0 : 3, late ? 0 : 5);
        struct serialized bytes = save(built);
        unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
        WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
        wnnGetCompiledGraphInfo(copy, bytes.size, &info);
        size_t library = (size_t)((const unsigned char *)info.library.data - copy),
               target = (size_t)((const unsigned char *)info.target.data - copy);
        REQUIRE(info.headBytes + info.dataBytes < bytes.size);
        copy[library] ^= 1;
        wnn_seal_compiled(copy, bytes.size);
        require_recompiled(built, &bytes, copy, "compiled by the library");
        copy[library] ^= 1;
        copy[target] ^= 1;
        wnn_seal_compiled(copy, bytes.size);
        require_recompiled(built, &bytes, copy, "compiled for the target");
        copy[target] ^= 1;
        copy[12] ^= STORED_STRICT;
        wnn_seal_compiled(copy, bytes.size);
        require_recompiled(built, &bytes, copy, "strictNumerics");
        copy[12] ^= STORED_STRICT;
        // Of a later version of the format nothing else is known than where what was recorded is.
        copy[8] = 9;
        memset(copy + 24, 0xAB, 24);
        memset(copy + 56, 0xCD, (size_t)info.headBytes - 56);
        require_recompiled(built, &bytes, copy, "version 9 of the format");
        wnnGraphRelease(built);
        free(copy);
        free(bytes.data);
    }
}

static void test_other_backends(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext dummy;
    WNNGraph built = build(context, 3, 5), graph;
    struct serialized bytes = save(built);
    char message[1024] = "";
    REQUIRE_EQUAL_INT(wnn_create_context_on(find_backend("dummy"), &descriptor, &dummy), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnn_load_copy(dummy, bytes.data, bytes.size, &graph, sizeof message, message),
                      WNNStatus_NotSupportedError);
    REQUIRE_EQUAL_INT(wnn_load_recompiling(dummy, bytes.data, bytes.size, &graph, 0, NULL),
                      WNNStatus_Success);
    REQUIRE(wnnGraphIsRecompiled(graph));
    wnnGraphRelease(graph);
    wnnGraphRelease(built);
    wnnContextRelease(dummy);
    free(bytes.data);
}

// What is not there, or damaged, helps nobody.
// A size that no operand has, and that is a sum of more terms than one has room for, cannot be stored.
static void test_not_recorded(void)
{
    WNNGraphBuilder builder = create_builder(context);
    char name[2] = "a", message[1024] = "";
    uint32_t shape[2] = {1, WIDTH};
    for (unsigned i = 0; i < 8; i++, name[0]++) {
        WNNOperand rows = rows_of(builder, name, 0, name);
        shape[0] = wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Add, shape[0],
                                              wnnOperandGetShape(rows).data[0]);
    }
    WNNOperand one = rows_of(builder, "one", 1, "one");
    WNNNamedOperand output = {view("y"),
                              wnnGraphBuilderExpand(builder, one, (WNNUint32List){shape, 2}, NULL)};
    WNNGraph graph = NULL;
    WNNStatus status = wnn_build_recompilable(context, builder, 1, &output, &graph, sizeof message, message);
    REQUIRE_EQUAL_INT(status, WNNStatus_NotSupportedError);
    REQUIRE(strstr(message, "build: serialize: expand has a size in newShape"));
    wnnGraphBuilderRelease(builder);
}

static void test_refused(void)
{
    WNNGraph built = build(context, 3, 5);
    struct serialized bytes = save(built);
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    size_t transcript = wnn_compiled_recording(bytes.data, bytes.size);
    REQUIRE(transcript < bytes.size && transcript % 64 == 0);
    copy[8] = 9;
    copy[transcript + 70] ^= 1;
    require_refused(copy, bytes.size, true, WNNStatus_TypeError, "what was recorded has another digest");
    copy[transcript + 70] ^= 1;
    copy[transcript] = 3;
    wnn_seal_compiled(copy, bytes.size);
    require_refused(copy, bytes.size, true, WNNStatus_NotSupportedError, "what was recorded has version 3");
    copy[transcript] = 1;
    copy[transcript + 64 + 16] ^= 1; // a checksum
    wnn_seal_compiled(copy, bytes.size);
    require_refused(copy, bytes.size, true, WNNStatus_TypeError, "has another checksum");
    copy[transcript + 64 + 16] ^= 1;
    copy[transcript + 64] ^= 1; // a place
    wnn_seal_compiled(copy, bytes.size);
    require_refused(copy, bytes.size, true, WNNStatus_TypeError, "lies where it cannot");
    copy[transcript + 64] ^= 1;
    copy[transcript + 8] ^= 64; // a length
    wnn_seal_compiled(copy, bytes.size);
    require_refused(copy, bytes.size, true, WNNStatus_TypeError, "another length");
    memcpy(copy, bytes.data, bytes.size);
    wnn_store_u64(copy + STORED_TRANSCRIPT_AT, 0);
    wnn_store_u32(copy + 8, 9);
    require_refused(copy, bytes.size, true, WNNStatus_NotSupportedError, "version 9 of the format");
    wnn_store_u64(copy + STORED_TRANSCRIPT_AT, UINT64_MAX - 63);
    require_refused(copy, bytes.size, true, WNNStatus_TypeError, "does not begin where it can");
    wnn_store_u32(copy + 8, 3); // which had none
    require_refused(copy, bytes.size, true, WNNStatus_NotSupportedError, "version 3 of the format");
    wnnGraphRelease(built);
    free(copy);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes from a stranger
// ---------------------------------------------------------------------------------------------------------------

// Every word of what was recorded, as one with which counts and numbers often go wrong.
static void try_words(WNNContext limited, const struct serialized *bytes, unsigned *refused, unsigned *ran)
{
    static const uint32_t words[] = {0, 1, 3, 8, 255, 0x7FFFFFFF, 0x80000000, 0x80000001, UINT32_MAX};
    unsigned char *copy = wnn_aligned_copy(bytes->data, bytes->size);
    size_t transcript = wnn_compiled_recording(bytes->data, bytes->size);
    for (size_t i = transcript; i + 4 <= bytes->size; i += 4)
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++) {
            WNNGraph graph;
            char message[1024] = "";
            memcpy(copy + i, &words[j], 4);
            wnn_seal_compiled(copy, bytes->size);
            WNNStatus status =
                wnn_load_recompiling(limited, copy, bytes->size, &graph, sizeof message, message);
            REQUIRE((status == WNNStatus_Success) == (graph != NULL) && (graph || message[0]));
            ++*(graph ? ran : refused);
            if (graph)
                wnn_compute_any(limited, graph);
            wnnGraphRelease(graph);
            memcpy(copy + i, bytes->data + i, 4);
        }
    free(copy);
}

static void test_words(void)
{
    WNNContext limited = create_context(&wnn_limits_of_strangers, NULL, false);
    for (uint32_t late = 0; late < 2; late++) {
        WNNGraph built = build(context, late ? 0 : 3, late ? 0 : 5);
        struct serialized bytes = save(built);
        unsigned refused = 0, ran = 0;
        if (!late)
            bytes.data[8] = 9; // so that it is built
        try_words(limited, &bytes, &refused, &ran);
        fprintf(stderr, "%s: %u refused, %u ran\n", late ? "late" : "known", refused, ran);
        REQUIRE(refused > 100 && ran > 100);
        wnnGraphRelease(built);
        free(bytes.data);
    }
    wnnContextRelease(limited);
}

static void test_ends(void)
{
    WNNGraph built = build(context, 0, 0);
    struct serialized bytes = save(built);
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    for (size_t size = 0; size < bytes.size; size += 8) {
        require_refused(copy, size, true, WNNStatus_TypeError, "load: ");
        wnn_seal_compiled(copy, size);
        require_refused(copy, size, true, WNNStatus_TypeError, "");
        memcpy(copy, bytes.data, bytes.size);
    }
    free(copy);
    wnnGraphRelease(built);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory that runs out
// ---------------------------------------------------------------------------------------------------------------

// Loads and saves with the n-th allocation failing, for all n.
static void sweep(WNNContext own, const struct serialized *bytes, const struct serialized *expected)
{
    char message[1024];
    struct serialized again = {0};
    for (long n = 1, done = 0; !done; n++) {
        WNNGraph graph;
        atomic_store(&until_failure, n);
        WNNStatus status =
            wnn_load_recompiling(own, bytes->data, bytes->size, &graph, sizeof message, message);
        if (status == WNNStatus_Success) {
            WNNStatus saved = wnn_save_graph(graph, &again, sizeof message, message);
            wnnGraphRelease(graph);
            done = atomic_exchange(&until_failure, 0) > 0;
            REQUIRE(saved == WNNStatus_Success ? backend->code || wnn_serialized_equal(expected, &again)
                                               : saved == WNNStatus_OutOfMemory);
        } else {
            REQUIRE_EQUAL_INT(status, WNNStatus_OutOfMemory);
        }
        atomic_store(&until_failure, 0);
    }
    free(again.data);
}

static void test_memory(void)
{
    WNNContext own = create_context(NULL, &failing_allocator, false);
    for (uint32_t late = 0; late < 2; late++) {
        WNNGraph built = build(context, late ? 0 : 3, late ? 0 : 5);
        struct serialized bytes = save(built),
                          later = {wnn_aligned_copy(bytes.data, bytes.size), bytes.size, bytes.size};
        later.data[8] = 9;
        sweep(own, &bytes, &bytes);
        sweep(own, &later, &bytes);
        wnnGraphRelease(built);
        free(bytes.data);
        free(later.data);
    }
    wnnContextRelease(own);
    require_no_blocks();
}

int main(int argc, char **argv)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    backend = argc > 1 ? find_backend(argv[1]) : NULL;
    REQUIRE(backend);
    cases_begin(argc - 1, argv + 1);
    descriptor.threadCount = 1;
    WNNStatus status = wnn_create_context_on(backend, &descriptor, &context);
    if (status == WNNStatus_NotSupportedError && strcmp(backend->name, "cpu") != 0)
        return cases_skip("there is no device");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    other = create_context(NULL, NULL, false);
    CASE(test_late());
    CASE(test_names());
    if (backend->code)
        CASE(test_late_code());
    CASE(test_kinds());
    CASE(test_recompiled());
    CASE(test_other_backends());
    CASE(test_not_recorded());
    CASE(test_refused());
    CASE(test_ends());
    CASE(test_words());
    CASE(test_memory());
    wnnContextRelease(context);
    wnnContextRelease(other);
    return cases_end();
}
