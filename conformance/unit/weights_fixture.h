// SPDX-License-Identifier: Apache-2.0
//
// What the tests of weights that come late, or are shared, have in common: a store of constants, which are
// lent, promised or copied; a source that lends them one by one; graphs with all kinds of them. Functions are
// `static inline` since not every test uses all of them.

#ifndef CONFORMANCE_UNIT_WEIGHTS_FIXTURE_H_
#define CONFORMANCE_UNIT_WEIGHTS_FIXTURE_H_

#include "conformance/backends.h"
#include "conformance/compiled.h"
#include "conformance/unit/failing_allocator.h"
#include "conformance/unit/runtime_fixture.h"

static const struct backend *backend;
static WNNContext context, other;

static inline bool is_cpu(void)
{
    return strcmp(backend->name, "cpu") == 0;
}

static inline WNNContext create_described(const WNNContextDescriptor *descriptor)
{
    WNNContext made;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, descriptor, &made), WNNStatus_Success);
    return made;
}

// ---------------------------------------------------------------------------------------------------------------
// A store of constants
// ---------------------------------------------------------------------------------------------------------------

enum how {
    LENT, // with a name
    PROMISED,
    ADDRESSED, // lent without one
    COPIED     // likewise
};

enum {
    MAX_CONSTANTS = 32,
    MAX_BYTES = 1 << 17
};

static struct {
    size_t bytes;
    bool frozen; // somebody may read it
    unsigned char data[MAX_BYTES + 64];
} constants[MAX_CONSTANTS];
static size_t constant_count; // of one recording, so that equal recordings have equal names
static enum how how;

// Every third is a range of a file, the others have an id.
static inline WNNConstantReference refer(size_t number, char id[32])
{
    WNNConstantReference reference = WNN_CONSTANT_REFERENCE_INIT;
    if (number % 3 == 2) {
        reference.form = WNNConstantForm_FileRange;
        reference.file = 7;
        reference.offset = (UINT64_C(1) << 33) + number * MAX_BYTES;
    } else {
        reference.form = WNNConstantForm_Id;
        reference.idLength = (size_t)snprintf(id, 32, "c%zu", number);
        reference.id = id;
    }
    return reference;
}

// The number of the constant, or SIZE_MAX.
static inline size_t number_of(const WNNConstantReference *reference)
{
    char text[32] = "";
    if (reference->form == WNNConstantForm_FileRange)
        return reference->file == 7 ? (size_t)((reference->offset - (UINT64_C(1) << 33)) / MAX_BYTES)
                                    : SIZE_MAX;
    if (reference->form != WNNConstantForm_Id || reference->idLength >= sizeof text)
        return SIZE_MAX;
    memcpy(text, reference->id, reference->idLength);
    return text[0] == 'c' ? strtoul(text + 1, NULL, 10) : SIZE_MAX;
}

static inline WNNOperand constant(WNNGraphBuilder b, WNNDataType type, const uint32_t *dims, size_t rank,
                                  double step)
{
    size_t number = constant_count++, count = 1;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    char id[32];
    REQUIRE(number < MAX_CONSTANTS);
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){dims, rank};
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    size_t bytes = wnn_dtype_bytes(type, count);
    REQUIRE(bytes <= MAX_BYTES);
    constants[number].bytes = bytes;
    for (size_t i = 0; i < count && !constants[number].frozen; i++)
        wnn_number_store(wnn_number_convert(wnnNumberFloat64((double)(i % 7 + 1 + number) * step), type),
                         type, constants[number].data, i);
    WNNNamedBytes named = WNN_NAMED_BYTES_INIT;
    named.reference = refer(number, id);
    if (how == PROMISED)
        return wnnGraphBuilderPromisedConstant(b, &descriptor, &named.reference);
    if (how == COPIED)
        return wnnGraphBuilderConstant(b, &descriptor, constants[number].data, bytes);
    const WNNExternalBytes loan = {
        how == LENT ? &named.chain : NULL, constants[number].data, bytes, NULL, NULL, NULL};
    return wnnGraphBuilderExternalConstant(b, &descriptor, &loan);
}

static inline WNNOperand floats(WNNGraphBuilder b, const uint32_t *dims, size_t rank)
{
    return constant(b, WNNDataType_Float32, dims, rank, 0.03125);
}

// What a source has lent and not got back, each a block of its own, so that a sanitizer sees who reads what
// was given back.
static struct {
    atomic_long blocks, bytes, max_bytes, calls;
    long fails_at; // the call that fails; 0: none
    WNNStatus status;
    long odd_bytes; // how many too many it gives
} lent;

static inline void take_back(const void *data, size_t bytes, void *userdata1, void *userdata2)
{
    (void)data;
    (void)userdata2;
    free(userdata1);
    atomic_fetch_sub(&lent.bytes, (long)bytes);
    atomic_fetch_sub(&lent.blocks, 1); // last, since that is what is waited for
}

static inline WNNStatus find(const WNNConstantReference *reference, uint64_t bytes, WNNExternalBytes *found,
                             void *userdata1, void *userdata2)
{
    size_t number = number_of(reference);
    long call = atomic_fetch_add(&lent.calls, 1) + 1;
    REQUIRE(!reference->nextInChain && userdata1 == &lent && !userdata2);
    if (lent.fails_at && call >= lent.fails_at)
        return lent.status;
    if (number >= MAX_CONSTANTS || !bytes || bytes > MAX_BYTES)
        return WNNStatus_OperationError;
    // At an address that no type of more than a byte likes.
    unsigned char *block = malloc(bytes + 65);
    REQUIRE(block);
    memcpy(block + 1, constants[number].data, bytes);
    size_t given = bytes + (size_t)lent.odd_bytes;
    *found = (WNNExternalBytes){NULL, block + 1, given, take_back, block, NULL};
    atomic_fetch_add(&lent.blocks, 1);
    long now = atomic_fetch_add(&lent.bytes, (long)given) + (long)given, most = atomic_load(&lent.max_bytes);
    while (now > most && !atomic_compare_exchange_weak(&lent.max_bytes, &most, now))
        ;
    return WNNStatus_Success;
}

static const WNNConstantSource source = {{NULL, WNNSType_ConstantSource}, find, &lent, NULL};

static inline void require_given_back(void)
{
    for (int i = 0; i < 5000 && atomic_load(&lent.blocks); i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(atomic_load(&lent.blocks), 0);
    REQUIRE_EQUAL_INT(atomic_load(&lent.bytes), 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Building, saving, loading
// ---------------------------------------------------------------------------------------------------------------

typedef size_t recorder(WNNGraphBuilder b, WNNNamedOperand *outputs);

enum {
    MAX_OUTPUTS = 16
};

static inline WNNStatus build_chained(WNNContext on, WNNGraphBuilder b, size_t count,
                                      const WNNNamedOperand *outputs, const WNNChainedStruct *chain,
                                      WNNGraph *graph, struct answer *answer)
{
    const WNNBuildCallbackInfo info = {chain, WNNCallbackMode_WaitAnyOnly, on_build, answer, NULL};
    wait_for(on, wnnGraphBuilderBuild(b, count, outputs, info));
    *graph = answer->graph;
    return answer->status;
}

static inline WNNStatus try_build(WNNContext on, recorder *record, enum how with,
                                  const WNNChainedStruct *chain, WNNGraph *graph, struct answer *answer)
{
    WNNNamedOperand outputs[MAX_OUTPUTS];
    WNNGraphBuilder b = create_builder(on);
    WNNError error = WNN_ERROR_INIT;
    constant_count = 0;
    how = with;
    *answer = (struct answer){.calls = 0};
    size_t count = record(b, outputs);
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_STR(error.message.data, "");
    WNNStatus status = build_chained(on, b, count, outputs, chain, graph, answer);
    wnnGraphBuilderRelease(b);
    return status;
}

static inline WNNGraph build(WNNContext on, recorder *record, enum how with, const WNNChainedStruct *chain)
{
    struct answer answer;
    WNNGraph graph;
    try_build(on, record, with, chain, &graph, &answer);
    REQUIRE_EQUAL_STR(answer.message, "");
    return graph;
}

static const WNNWeightless weightless = WNN_WEIGHTLESS_INIT;
static const WNNSavable savable = WNN_SAVABLE_INIT;

static inline WNNStatus try_save(WNNGraph graph, bool without, struct serialized *to, char message[1024])
{
    message[0] = 0;
    return wnn_save_chained(graph, without ? &weightless.chain : NULL, to, 1024, message);
}

static inline struct serialized save(WNNGraph graph)
{
    struct serialized bytes = {0};
    char message[1024];
    WNNStatus status = try_save(graph, true, &bytes, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    return bytes;
}

static inline WNNStatus try_load(WNNContext on, const void *data, size_t size, const WNNChainedStruct *chain,
                                 WNNGraph *graph, char message[1024])
{
    message[0] = 0;
    return wnn_load_chained(on, chain, data, size, graph, 1024, message);
}

static inline WNNGraph load_chained(WNNContext on, const struct serialized *bytes,
                                    const WNNChainedStruct *chain)
{
    WNNGraph graph;
    char message[1024];
    try_load(on, bytes->data, bytes->size, chain, &graph, message);
    REQUIRE_EQUAL_STR(message, "");
    return graph;
}

static inline WNNGraph load(WNNContext on, const struct serialized *bytes)
{
    return load_chained(on, bytes, &source.chain);
}

// ---------------------------------------------------------------------------------------------------------------
// Executions
// ---------------------------------------------------------------------------------------------------------------

struct results {
    size_t count;
    WNNNamedBuffer buffers[MAX_OUTPUTS];
};

static inline size_t bytes_of(const WNNNamedDescriptor *named)
{
    size_t count = 1;
    for (size_t i = 0; i < named->descriptor.shape.count; i++)
        count *= named->descriptor.shape.data[i];
    return wnn_dtype_bytes(named->descriptor.dataType, count);
}

static inline struct results compute(WNNContext on, WNNGraph graph)
{
    size_t input_count, output_count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &input_count),
                             *outputs = wnnGraphGetOutputs(graph, &output_count);
    WNNNamedBuffer given[8];
    struct results results = {.count = output_count};
    REQUIRE(input_count <= 8 && output_count <= MAX_OUTPUTS);
    for (size_t i = 0; i < input_count; i++) {
        float *data = malloc(bytes_of(&inputs[i]));
        REQUIRE(data);
        for (size_t j = 0; j < bytes_of(&inputs[i]) / sizeof *data; j++)
            data[j] = (float)(j % 11) * 0.125f - 0.5f;
        given[i] =
            (WNNNamedBuffer){inputs[i].name, data, bytes_of(&inputs[i]), inputs[i].descriptor.dataType};
    }
    for (size_t i = 0; i < output_count; i++)
        results.buffers[i] = (WNNNamedBuffer){outputs[i].name, calloc(1, bytes_of(&outputs[i]) + 8),
                                              bytes_of(&outputs[i]), outputs[i].descriptor.dataType};
    compute_buffers(on, graph, input_count, given, output_count, results.buffers);
    for (size_t i = 0; i < input_count; i++)
        free(given[i].data);
    return results;
}

static inline void free_results(struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        free(results->buffers[i].data);
}

// To the last bit, or nearly so.
static inline void require_same(struct results a, struct results b, bool exact)
{
    REQUIRE_EQUAL_INT(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        const float *x = a.buffers[i].data, *y = b.buffers[i].data;
        REQUIRE_EQUAL_INT(a.buffers[i].byteLength, b.buffers[i].byteLength);
        if (exact)
            REQUIRE(memcmp(x, y, a.buffers[i].byteLength) == 0);
        for (size_t j = 0; j < a.buffers[i].byteLength / sizeof *x; j++) {
            float off = x[j] - y[j], size = x[j] < 0 ? -x[j] : x[j];
            REQUIRE((off < 0 ? -off : off) <= 1e-4f * (1 + size));
        }
    }
    free_results(&a);
    free_results(&b);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

static inline WNNOperand input(WNNGraphBuilder b, const char *name, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

static inline void add(WNNNamedOperand *outputs, size_t *count, const char *name, WNNOperand operand)
{
    outputs[(*count)++] = (WNNNamedOperand){view(name), operand};
}

// Returns the last of them.
static inline WNNOperand add_convolutions(WNNGraphBuilder b, WNNOperand image, WNNNamedOperand *outputs,
                                          size_t *count)
{
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    conv.bias = floats(b, DIMS(64));
    WNNOperand y =
        wnnGraphBuilderRelu(b, wnnGraphBuilderConv2d(b, image, floats(b, DIMS(64, 4, 3, 3)), &conv), NULL);
    conv.bias = NULL;
    y = wnnGraphBuilderConv2d(b, y, floats(b, DIMS(32, 64, 3, 3)), &conv);
    add(outputs, count, "conv", y);
    return y;
}

// One with weights as they are, and one whose weights are made of others.
static inline void add_products(WNNGraphBuilder b, WNNOperand rows, WNNNamedOperand *outputs, size_t *count)
{
    WNNOperand y, two[2];
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    gemm.c = floats(b, DIMS(64));
    add(outputs, count, "gemm", wnnGraphBuilderGemm(b, rows, floats(b, DIMS(16, 64)), &gemm));
    WNNSplitOptions split = WNN_SPLIT_OPTIONS_INIT;
    split.axis = 1;
    wnnGraphBuilderSplit(b, floats(b, DIMS(16, 512)), 2, &split, 2, two);
    y = wnnGraphBuilderAdd(b, wnnGraphBuilderMatmul(b, rows, two[0], NULL),
                           wnnGraphBuilderMatmul(b, rows, wnnGraphBuilderNeg(b, two[1], NULL), NULL), NULL);
    add(outputs, count, "split", y);
}

// Weights that kernels pack, that they read as they are, and that the compiler makes others of: filters in
// another order, integers that become floats, sums.
static inline size_t record_plain(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    size_t count = 0;
    WNNOperand image = input(b, "image", DIMS(1, 4, 10, 10)), rows = input(b, "rows", DIMS(8, 16)), two[2];
    add_convolutions(b, image, outputs, &count);
    add_products(b, rows, outputs, &count);
    WNNGruOptions gru = WNN_GRU_OPTIONS_INIT;
    WNNOperand steps = wnnGraphBuilderReshape(b, rows, LIST(4, 2, 16), NULL);
    if (wnnGraphBuilderGru(b, steps, floats(b, DIMS(1, 24, 16)), floats(b, DIMS(1, 24, 8)), 4, 8, &gru, two))
        add(outputs, &count, "gru", two[0]);
    WNNOperand indices = wnnGraphBuilderCast(b, rows, WNNDataType_Int32, NULL),
               table = floats(b, DIMS(900, 9));
    add(outputs, &count, "gather", wnnGraphBuilderGather(b, table, indices, NULL));
    add(outputs, &count, "again",
        wnnGraphBuilderGather(b, wnnGraphBuilderReshape(b, table, LIST(90, 90), NULL), indices, NULL));
    add(outputs, &count, "sum", wnnGraphBuilderAdd(b, floats(b, DIMS(40, 5)), floats(b, DIMS(5)), NULL));
    return count;
}

// What looks at numbers while it is compiled: a normalization that goes into weights, and integers. How it is
// computed depends on whether they are there.
static inline size_t record_numbers(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    size_t count = 0;
    WNNOperand image = input(b, "image", DIMS(1, 4, 10, 10)), rows = input(b, "rows", DIMS(8, 16)), y;
    WNNBatchNormalizationOptions normalization = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
    normalization.scale = floats(b, DIMS(16));
    normalization.bias = floats(b, DIMS(16));
    y = wnnGraphBuilderConv2d(b, image, floats(b, DIMS(16, 4, 3, 3)), NULL);
    add(outputs, &count, "normalized",
        wnnGraphBuilderBatchNormalization(b, y, floats(b, DIMS(16)), floats(b, DIMS(16)), &normalization));
    WNNOperand scale = constant(b, WNNDataType_Float32, DIMS(1, 64), 0.0078125),
               zero = constant(b, WNNDataType_Int8, DIMS(1, 64), 1),
               integers = constant(b, WNNDataType_Int8, DIMS(16, 64), 1);
    y = wnnGraphBuilderDequantizeLinear(b, integers, scale, zero, NULL);
    add(outputs, &count, "integers", wnnGraphBuilderMatmul(b, rows, y, NULL));
    WNNOperand one = constant(b, WNNDataType_Float32, DIMS(1, 1), 0.03125),
               none = constant(b, WNNDataType_Uint8, DIMS(1, 1), 100);
    y = wnnGraphBuilderQuantizeLinear(b, wnnGraphBuilderTanh(b, rows, NULL), one, none, NULL);
    add(outputs, &count, "bytes", wnnGraphBuilderDequantizeLinear(b, y, one, none, NULL));
    y = wnnGraphBuilderSqrt(b,
                            wnnGraphBuilderAdd(b, wnnGraphBuilderMul(b, rows, rows, NULL),
                                               constant(b, WNNDataType_Float32, DIMS(1), 1e-5), NULL),
                            NULL);
    add(outputs, &count, "root", y);
    return count;
}

// Products of bytes with a bias, whose numbers kernels look at: with scales that are there, whatever else is.
static inline size_t record_bytes(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    size_t count = 0;
    enum how with = how;
    how = with == PROMISED ? COPIED : with;
    WNNOperand one = constant(b, WNNDataType_Float32, DIMS(1, 1), 0.03125),
               none = constant(b, WNNDataType_Uint8, DIMS(1, 1), 10),
               scale = constant(b, WNNDataType_Float32, DIMS(1, 64), 0.0078125),
               zero = constant(b, WNNDataType_Int8, DIMS(1, 64), 0),
               per_filter = constant(b, WNNDataType_Float32, DIMS(32, 1, 1, 1), 0.0078125),
               zeros = constant(b, WNNDataType_Int8, DIMS(32, 1, 1, 1), 0),
               of_image = constant(b, WNNDataType_Float32, DIMS(1, 1, 1, 1), 0.0078125),
               zero_of_image = constant(b, WNNDataType_Uint8, DIMS(1, 1, 1, 1), 5);
    how = with;
    WNNOperand image = input(b, "image", DIMS(1, 4, 10, 10)), rows = input(b, "rows", DIMS(8, 16)), y;
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    gemm.c = floats(b, DIMS(64));
    conv.bias = floats(b, DIMS(32));
    WNNOperand weights = constant(b, WNNDataType_Int8, DIMS(16, 64), 1),
               filter = constant(b, WNNDataType_Int8, DIMS(32, 4, 3, 3), 1);
    y = wnnGraphBuilderDequantizeLinear(b, wnnGraphBuilderQuantizeLinear(b, rows, one, none, NULL), one, none,
                                        NULL);
    y = wnnGraphBuilderGemm(b, y, wnnGraphBuilderDequantizeLinear(b, weights, scale, zero, NULL), &gemm);
    add(outputs, &count, "rows of bytes", y);
    y = wnnGraphBuilderQuantizeLinear(b, image, of_image, zero_of_image, NULL);
    y = wnnGraphBuilderDequantizeLinear(b, y, of_image, zero_of_image, NULL);
    y = wnnGraphBuilderConv2d(b, y, wnnGraphBuilderDequantizeLinear(b, filter, per_filter, zeros, NULL),
                              &conv);
    add(outputs, &count, "image of bytes", y);
    return count;
}

static inline uint64_t all_bytes(void)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < constant_count; i++)
        bytes += constants[i].bytes;
    return bytes;
}

static inline size_t max_bytes(void)
{
    size_t most = 0;
    for (size_t i = 0; i < constant_count; i++)
        most = constants[i].bytes > most ? constants[i].bytes : most;
    return most;
}

// Two contexts of the backend that the arguments name, and begins the cases. False: there is no device.
static inline bool begin_contexts(int argc, char **argv)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    backend = argc > 1 ? find_backend(argv[1]) : NULL;
    REQUIRE(backend);
    cases_begin(argc - 1, argv + 1);
    descriptor.threadCount = 1;
    WNNStatus status = wnn_create_context_on(backend, &descriptor, &context);
    if (status == WNNStatus_NotSupportedError && !is_cpu())
        return false;
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    descriptor.threadCount = 2;
    other = create_described(&descriptor);
    return true;
}

static inline int end_contexts(void)
{
    wnnContextRelease(context);
    wnnContextRelease(other);
    return cases_end();
}

// ---------------------------------------------------------------------------------------------------------------
// Sources that fail
// ---------------------------------------------------------------------------------------------------------------

// A graph that is loaded, or built if there are no bytes.
static inline WNNStatus try_either(recorder *record, const struct serialized *bytes, WNNGraph *graph,
                                   char message[1024])
{
    static struct answer answer;
    if (bytes)
        return try_load(other, bytes->data, bytes->size, &source.chain, graph, message);
    WNNStatus status = try_build(other, record, PROMISED, &source.chain, graph, &answer);
    memcpy(message, answer.message, sizeof answer.message);
    return status;
}

// A file without weights is not loaded without a source, nor with one that nobody can ask.
static inline void require_source_needed(const struct serialized *bytes)
{
    static const WNNConstantSource nobody = WNN_CONSTANT_SOURCE_INIT;
    WNNGraph graph;
    char message[1024];
    REQUIRE_EQUAL_INT(try_load(other, bytes->data, bytes->size, NULL, &graph, message),
                      WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "has no bytes yet");
    REQUIRE_EQUAL_INT(try_load(other, bytes->data, bytes->size, &nobody.chain, &graph, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "load: the source of constants has no callback");
}

// A source that fails now or later, and one that has other bytes.
static inline void require_failures(recorder *record, const struct serialized *bytes)
{
    WNNGraph graph;
    char message[1024];
    lent.status = WNNStatus_SecurityError;
    unsigned failed = 0;
    for (long n = 1; n < 100; n++) {
        atomic_store(&lent.calls, 0);
        lent.fails_at = n;
        WNNStatus status = try_either(record, bytes, &graph, message);
        if (status == WNNStatus_Success)
            break;
        REQUIRE_EQUAL_INT(status, WNNStatus_SecurityError);
        REQUIRE_CONTAINS(message, "the host has no bytes for it");
        REQUIRE_CONTAINS(message, "constant ");
        require_given_back();
        failed++;
    }
    REQUIRE(failed > 3);
    wnnGraphRelease(graph);
    lent.fails_at = 0;
    lent.odd_bytes = 1;
    REQUIRE_EQUAL_INT(try_either(record, bytes, &graph, message), WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "; expected ");
    lent.odd_bytes = -1;
    REQUIRE_EQUAL_INT(try_either(record, bytes, &graph, message), WNNStatus_TypeError);
    lent.odd_bytes = 0;
    require_given_back();
}

// ---------------------------------------------------------------------------------------------------------------
// Weights that are shared
// ---------------------------------------------------------------------------------------------------------------

static inline WNNSharedWeights create_shared(WNNBudget budget)
{
    WNNSharedWeightsDescriptor descriptor = WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    WNNSharedWeights weights;
    descriptor.budget = budget;
    REQUIRE_EQUAL_INT(wnnCreateSharedWeights(&descriptor, &weights), WNNStatus_Success);
    return weights;
}

static inline WNNWeightSharing sharing_of(WNNSharedWeights weights, const WNNChainedStruct *next)
{
    WNNWeightSharing sharing = WNN_WEIGHT_SHARING_INIT;
    sharing.chain.next = next;
    sharing.weights = weights;
    return sharing;
}

// Executables are released on the worker.
static inline void require_none(WNNSharedWeights weights)
{
    for (int i = 0; i < 5000 && wnnSharedWeightsGetByteLength(weights); i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(wnnSharedWeightsGetByteLength(weights), 0);
}

static inline void freeze(bool frozen)
{
    for (size_t i = 0; i < MAX_CONSTANTS; i++)
        constants[i].frozen = frozen;
}

// Threads that record the constants that there are: none is new to them.
static inline void run_threads(unsigned count, void *(*work)(void *argument), void *argument)
{
    pthread_t threads[16];
    REQUIRE(count <= sizeof threads / sizeof threads[0]);
    freeze(true);
    for (unsigned i = 0; i < count; i++)
        REQUIRE(!pthread_create(&threads[i], NULL, work, argument));
    for (unsigned i = 0; i < count; i++)
        REQUIRE(!pthread_join(threads[i], NULL));
    freeze(false);
}

// What a context holds when its worker has given up what a request took.
static inline uint64_t settled_bytes(WNNContext of)
{
    uint64_t bytes = counters_of(of).allocatedBytes, before;
    do {
        before = bytes;
        sleep_milliseconds(5);
        bytes = counters_of(of).allocatedBytes;
    } while (bytes != before);
    return bytes;
}

static inline uint64_t device_bytes(WNNBudget budget)
{
    WNNResources now = WNN_RESOURCES_INIT;
    wnnBudgetGetResources(budget, &now, NULL);
    return now.deviceBytes;
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs of any number of rows
// ---------------------------------------------------------------------------------------------------------------

static _Thread_local uint32_t recorded_rows; // 0: told late

static inline WNNOperand any_input(WNNGraphBuilder b, const char *name, uint32_t *dims, size_t rank)
{
    WNNNamedDimensions names = WNN_NAMED_DIMENSIONS_INIT;
    WNNDimension dimensions[4];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    for (size_t i = 0; i < rank; i++)
        dimensions[i] = (WNNDimension)WNN_DIMENSION_INIT;
    dimensions[0].name = view("n");
    dims[0] = recorded_rows;
    names.dimensionCount = rank;
    names.dimensions = dimensions;
    if (recorded_rows == 0)
        descriptor.nextInChain = &names.chain;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

// What is packed as it is, in another order, or made of others by operators or by arithmetic; and what is
// read as it is, or transposed.
static inline size_t record_rows(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    size_t count = 0;
    WNNOperand image = any_input(b, "image", (uint32_t[]){0, 4, 10, 10}, 4),
               rows = any_input(b, "rows", (uint32_t[]){0, 16}, 2), y;
    y = add_convolutions(b, image, outputs, &count);
    y = wnnGraphBuilderConv2d(b, y, floats(b, DIMS(32, 32, 1, 1)), NULL);
    y = wnnGraphBuilderBatchNormalization(
        b, y, floats(b, DIMS(32)), floats(b, DIMS(32)),
        &(WNNBatchNormalizationOptions)WNN_BATCH_NORMALIZATION_OPTIONS_INIT);
    add(outputs, &count, "normalized", y);

    add_products(b, rows, outputs, &count);
    WNNOperand indices = wnnGraphBuilderCast(b, rows, WNNDataType_Int32, NULL),
               table = floats(b, DIMS(90, 90));
    add(outputs, &count, "gather", wnnGraphBuilderGather(b, table, indices, NULL));
    add(outputs, &count, "turned",
        wnnGraphBuilderGather(b, wnnGraphBuilderTranspose(b, table, NULL), indices, NULL));
    return count;
}

static inline WNNGraph build_rows(WNNContext on, uint32_t rows, enum how with, const WNNChainedStruct *chain)
{
    recorded_rows = rows;
    return build(on, record_rows, with, chain);
}

static inline void fill(float *data, size_t count)
{
    for (size_t j = 0; j < count; j++)
        data[j] = (float)(j % 11) * 0.125f - 0.5f;
}

// The status of an execution at so many rows; `results`, which may be NULL, is for the caller to be freed.
static inline WNNStatus try_compute(WNNContext on, WNNGraph graph, uint32_t rows, struct results *results,
                                    char message[1024])
{
    static const uint32_t widths[] = {400, 16};
    const WNNNamedShape shapes[] = {{view("image"), LIST(rows, 4, 10, 10)}, {view("rows"), LIST(rows, 16)}};
    WNNOutputShape outputs[MAX_OUTPUTS];
    WNNNamedBuffer given[2];
    WNNInputShapes chained = {{NULL, WNNSType_InputShapes}, 2, shapes};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    struct results own = {.count = 0};
    wnnGraphGetOutputs(graph, &own.count);
    for (size_t i = 0; i < own.count; i++)
        outputs[i] = (WNNOutputShape)WNN_OUTPUT_SHAPE_INIT;
    message[0] = 0;
    WNNStatus status = wnnGraphComputeShapes(graph, 2, shapes, own.count, outputs, 1024, message);
    if (status != WNNStatus_Success)
        return status;
    for (size_t i = 0; i < own.count; i++)
        own.buffers[i] = (WNNNamedBuffer){outputs[i].name, calloc(1, outputs[i].byteLength + 8),
                                          outputs[i].byteLength, outputs[i].dataType};
    for (size_t i = 0; i < 2; i++) {
        size_t count = (size_t)rows * widths[i];
        given[i] = (WNNNamedBuffer){shapes[i].name, malloc(count * sizeof(float)), count * sizeof(float),
                                    WNNDataType_Float32};
        fill(given[i].data, count);
    }
    descriptor.nextInChain = &chained.chain;
    descriptor.graph = graph;
    descriptor.inputCount = 2;
    descriptor.inputs = given;
    descriptor.outputCount = own.count;
    descriptor.outputs = own.buffers;
    status = wnnContextComputeSync(on, &descriptor, 1024, message);
    for (size_t i = 0; i < 2; i++)
        free(given[i].data);
    if (results)
        *results = own;
    else
        free_results(&own);
    return status;
}

static inline struct results compute_rows(WNNContext on, WNNGraph graph, uint32_t rows)
{
    struct results results;
    char message[1024];
    try_compute(on, graph, rows, &results, message);
    REQUIRE_EQUAL_STR(message, "");
    return results;
}

static inline void run_rows(WNNContext on, WNNGraph graph, uint32_t rows)
{
    struct results results = compute_rows(on, graph, rows);
    free_results(&results);
}

// Against a graph that shares nothing, and of which sizes are known.
static inline void require_right(WNNContext on, WNNGraph graph, uint32_t rows)
{
    freeze(true);
    WNNGraph right = build_rows(context, rows, COPIED, NULL);
    freeze(false);
    require_same(compute_rows(context, right, rows), compute_rows(on, graph, rows), false);
    wnnGraphRelease(right);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory that runs out
// ---------------------------------------------------------------------------------------------------------------

static inline WNNContext create_failing(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.allocator = &failing_allocator;
    descriptor.threadCount = 1;
    return create_described(&descriptor);
}

static inline void end_failing(WNNContext own)
{
    wnnContextRelease(own);
    require_no_blocks();
    require_given_back();
}

#endif
