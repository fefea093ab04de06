// SPDX-License-Identifier: Apache-2.0
//
// Every exported function with NULL for each pointer that it gets, one at a time: see
// conformance/null_sweep.py. The calls are made in a child process, so that all that fail are named.

#include "conformance/unit/null_fixture.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// ---------------------------------------------------------------------------------------------------------------
// The fixture
// ---------------------------------------------------------------------------------------------------------------

static void *allocate(size_t size, size_t alignment, void *unused)
{
    (void)unused;
    void *memory = NULL;
    return posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, size) == 0 ? memory
                                                                                                     : NULL;
}

static void release(void *memory, size_t size, size_t alignment, void *unused)
{
    (void)size, (void)alignment, (void)unused;
    free(memory);
}

static void one_by_one(size_t count, void (*task)(void *argument, size_t index), void *argument, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

static size_t load(const void *key, size_t key_length, void *data, size_t capacity, void *unused)
{
    (void)key, (void)key_length, (void)data, (void)capacity, (void)unused;
    return 0;
}

static void store(const void *key, size_t key_length, const void *data, size_t length, void *unused)
{
    (void)key, (void)key_length, (void)data, (void)length, (void)unused;
}

static void on_request(WNNStatus status, WNNStringView message, void *fixture, void *unused)
{
    (void)message, (void)unused;
    ((struct fixture *)fixture)->calls++;
    ((struct fixture *)fixture)->status = status;
}

static void on_build(WNNStatus status, WNNGraph graph, WNNStringView message, void *fixture, void *unused)
{
    ((struct fixture *)fixture)->built = graph;
    on_request(status, message, fixture, unused);
}

static WNNOperand input(struct fixture *f, WNNDataType type, size_t rank, const uint32_t *dims)
{
    char name[] = {(char)('a' + f->count++), 0};
    WNNOperandDescriptor descriptor = {NULL, type, {dims, rank}};
    WNNOperand operand = wnnGraphBuilderInput(f->builder, (WNNStringView){name, WNN_STRLEN}, &descriptor);
    REQUIRE(operand);
    return operand;
}

#define FLOATS(...)                                                                                          \
    input(f, WNNDataType_Float32, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),                      \
          (uint32_t[]){__VA_ARGS__})

static void wait_for(struct fixture *f, WNNFuture future)
{
    WNNFutureWaitInfo info = {future, false};
    REQUIRE_EQUAL_INT(wnnContextWaitAny(f->context, 1, &info, WNN_WAIT_FOREVER), WNNWaitStatus_Success);
}

static void make_operands(struct fixture *f)
{
    f->matrix = FLOATS(2, 2);
    f->vector = FLOATS(2);
    f->image = FLOATS(1, 2, 4, 4);
    f->filter = FLOATS(2, 2, 2, 2);
    f->sequence = FLOATS(2, 2, 2);
    f->weights[0] = FLOATS(1, 6, 2);
    f->weights[1] = FLOATS(6, 2);
    f->weights[2] = FLOATS(1, 8, 2);
    f->weights[3] = FLOATS(8, 2);
    f->bytes = input(f, WNNDataType_Uint8, 2, f->dims);
    f->indices = input(f, WNNDataType_Int32, 2, f->dims);
    for (int32_t i = 0; i < 3; i++) {
        WNNOperandDescriptor descriptor = {NULL, WNNDataType_Int32, {(const uint32_t[]){2}, 1}};
        f->sizes[i] = wnnGraphBuilderConstant(f->builder, &descriptor, (const int32_t[]){i, i}, 8);
    }
    for (int i = 0; i < 2; i++)
        f->numbers[i] =
            wnnGraphBuilderScalarConstant(f->builder, WNNDataType_Int32, wnnNumberInt64(i ? 4 : 1));
    f->activation = wnnGraphBuilderActivationRelu(f->builder, NULL);
    f->sum = wnnGraphBuilderAdd(f->builder, f->matrix, f->matrix, NULL);
    REQUIRE(f->activation && f->sum);
    f->output = (WNNNamedOperand){f->name, f->sum};
}

// Keeps the bytes, as far as there is room.
static WNNStatus keep_bytes(const void *data, size_t size, uint64_t rest, void *fixture, void *unused)
{
    struct fixture *f = fixture;
    (void)rest;
    (void)unused;
    if (size <= sizeof f->serialized - f->deserialize.byteLength) {
        memcpy(f->serialized + f->deserialize.byteLength, data, size);
        f->deserialize.byteLength += size;
    }
    return WNNStatus_Success;
}

static void serialize(struct fixture *f)
{
    f->serialize = (WNNSerializeDescriptor){NULL, 1, &f->output, NULL, keep_bytes, f, NULL};
    f->deserialize = (WNNDeserializeDescriptor){NULL, f->serialized, 0, NULL, NULL, NULL};
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(f->builder, &f->serialize, 0, NULL), WNNStatus_Success);
}

static WNNStatus keep_compiled(const void *data, size_t size, uint64_t rest, void *fixture, void *unused)
{
    struct fixture *f = fixture;
    (void)unused;
    if (f->load.bytes.byteLength + size + rest > sizeof f->compiled)
        f->load.bytes.byteLength = 0; // of another case
    memcpy(f->compiled + f->load.bytes.byteLength, data, size);
    f->load.bytes.byteLength += size;
    return WNNStatus_Success;
}

static void save(struct fixture *f)
{
    f->save = (WNNSaveGraphDescriptor){NULL, keep_compiled, f, NULL};
    f->load = (WNNLoadGraphDescriptor)WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    f->load.bytes.data = f->compiled;
    REQUIRE_EQUAL_INT(wnnGraphSaveSync(f->graph, &f->save, 0, NULL), WNNStatus_Success);
}

static WNNTensor tensor(struct fixture *f)
{
    WNNTensor made = NULL;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(f->context, &f->tensor_descriptor, &made), WNNStatus_Success);
    return made;
}

static void make_requests(struct fixture *f)
{
    WNNStringView x = {"a", 1}; // the first input
    f->tensor = tensor(f);
    f->result_tensor = tensor(f);
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(f->context, &f->constant_descriptor, f->floats,
                                                     sizeof f->floats, &f->constant),
                      WNNStatus_Success);
    f->inputs[0] = (WNNNamedBuffer){x, f->floats, sizeof f->floats, WNNDataType_Float32};
    f->results[0] = (WNNNamedBuffer){f->name, f->out_floats, sizeof f->out_floats, WNNDataType_Float32};
    f->input_tensors[0] = (WNNNamedTensor){x, f->tensor};
    f->output_tensors[0] = (WNNNamedTensor){f->name, f->result_tensor};
    f->compute = (WNNComputeDescriptor){NULL, WNN_STRING_VIEW_INIT, f->graph, 1, 1, f->inputs, f->results};
    f->dispatch = (WNNDispatchDescriptor){NULL, WNN_STRING_VIEW_INIT, f->graph,         1,
                                          1,    f->input_tensors,     f->output_tensors};
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){
        .name = {"y", 1}, .dims = {2, 2}, .one = {1, 1}, .two = {0, 1}, .floats = {1, 2, 3, 4}};
    f->shape = (WNNUint32List){f->dims, 2};
    f->named_shape = (WNNNamedShape){{"a", 1}, f->shape};
    f->dimension = (WNNDimension)WNN_DIMENSION_INIT;
    f->output_shape = (WNNOutputShape)WNN_OUTPUT_SHAPE_INIT;
    f->ones = (WNNUint32List){f->one, 2};
    f->zeros = (WNNUint32List){f->zero, 2};
    f->axes = (WNNUint32List){f->two, 2};
    f->number = wnnNumberInt64(1);
    f->limits = (WNNLimits)WNN_LIMITS_INIT;
    f->allocator = (WNNAllocator){NULL, allocate, release, NULL};
    f->parallel = (WNNParallelFor){NULL, one_by_one, 1, NULL};
    f->cache = (WNNCache){NULL, load, store, NULL};
    f->context_descriptor = (WNNContextDescriptor)WNN_CONTEXT_DESCRIPTOR_INIT;
    f->context_descriptor.threadCount = 1;
    f->pool_descriptor = (WNNThreadPoolDescriptor)WNN_THREAD_POOL_DESCRIPTOR_INIT;
    f->pool_descriptor.computeThreads = 1;
    f->budget_descriptor = (WNNBudgetDescriptor)WNN_BUDGET_DESCRIPTOR_INIT;
    f->shared_descriptor = (WNNSharedWeightsDescriptor)WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    f->operand_descriptor = (WNNOperandDescriptor){NULL, WNNDataType_Float32, f->shape};
    f->constant_descriptor = (WNNTensorDescriptor)WNN_TENSOR_DESCRIPTOR_INIT;
    f->constant_descriptor.dataType = WNNDataType_Float32;
    f->constant_descriptor.shape = f->shape;
    f->tensor_descriptor = f->constant_descriptor;
    f->tensor_descriptor.readable = f->tensor_descriptor.writable = true;
    f->loan = (WNNExternalBytes){NULL, f->floats, sizeof f->floats, NULL, NULL, NULL};
    f->reference = (WNNConstantReference){NULL, WNNConstantForm_Id, 0, 0, "id", 2};
    f->build_info = (WNNBuildCallbackInfo){NULL, WNNCallbackMode_WaitAnyOnly, on_build, f, NULL};
    f->request_info = (WNNRequestCallbackInfo){NULL, WNNCallbackMode_WaitAnyOnly, on_request, f, NULL};
    REQUIRE_EQUAL_INT(wnnCreateBudget(&f->budget_descriptor, &f->budget), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnCreateSharedWeights(&f->shared_descriptor, &f->shared), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnCreateThreadPool(&f->pool_descriptor, &f->pool), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnCreateContext(&f->context_descriptor, &f->context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(f->context, &f->builder), WNNStatus_Success);
    make_operands(f);
    f->attribute = (WNNNamedAttribute){{"alpha", 5}, {WNNAttributeType_Float64, {.f64 = 0.5}}};
    f->call = f->activation_call =
        (WNNOperatorCall){.name = {"elu", 3}, .attributeCount = 1, .attributes = &f->attribute};
    f->call.inputCount = 1;
    f->call.inputs = &f->matrix;
    serialize(f);
    const WNNSavable savable = WNN_SAVABLE_INIT;
    f->build_info.nextInChain = &savable.chain;
    f->future = wnnGraphBuilderBuild(f->builder, 1, &f->output, f->build_info);
    f->build_info.nextInChain = NULL;
    wait_for(f, f->future);
    f->graph = f->built;
    f->built = NULL;
    REQUIRE(f->graph);
    save(f);
    make_requests(f);
    f->wait.future = f->future;
    f->calls = 0;
}

static void end(struct fixture *f)
{
    wnnGraphRelease(f->graph);
    wnnGraphRelease(f->built);
    wnnTensorRelease(f->tensor);
    wnnTensorRelease(f->result_tensor);
    wnnTensorRelease(f->constant);
    wnnTensorRelease(f->new_tensor);
    wnnGraphBuilderRelease(f->new_builder);
    wnnGraphBuilderRelease(f->builder);
    wnnContextRelease(f->new_context);
    wnnContextRelease(f->context);
    wnnThreadPoolRelease(f->new_pool);
    wnnThreadPoolRelease(f->pool);
    wnnBudgetRelease(f->new_budget);
    wnnSharedWeightsRelease(f->new_shared);
    wnnSharedWeightsRelease(f->shared);
    wnnBudgetRelease(f->budget);
}

// ---------------------------------------------------------------------------------------------------------------
// Results
// ---------------------------------------------------------------------------------------------------------------

static const struct null_case *running;

static void check(struct fixture *f, bool accepted, enum expected expected)
{
    if (expected == UNCHECKED || accepted == (expected == ACCEPTED))
        return;
    WNNError error = {0};
    if (f->builder)
        wnnGraphBuilderGetError(f->builder, &error);
    fprintf(stderr, "%s, NULL for %s: %s; expected the opposite. %.*s\n", running->function, running->what,
            accepted ? "accepted" : "refused", (int)error.message.length,
            error.message.data ? error.message.data : "");
    case_fail();
}

// A refused call that had a builder leaves an error in it.
static void check_recorded(struct fixture *f, bool accepted, enum expected expected)
{
    check(f, accepted, expected);
    WNNError error;
    wnnGraphBuilderGetError(f->builder, &error);
    if (accepted)
        REQUIRE_EQUAL_INT(error.status, WNNStatus_Success);
    else if (strcmp(running->what, "builder") != 0)
        REQUIRE_EQUAL_INT(error.status, WNNStatus_TypeError);
}

void check_WNNOperand(struct fixture *f, WNNOperand operand, enum expected expected)
{
    check_recorded(f, operand != NULL, expected);
}

void check_WNNActivation(struct fixture *f, WNNActivation activation, enum expected expected)
{
    check_recorded(f, activation != NULL, expected);
}

void check_size_t(struct fixture *f, size_t count, enum expected expected)
{
    check_recorded(f, count > 0, expected);
}

void check_WNNStatus(struct fixture *f, WNNStatus status, enum expected expected)
{
    check(f, status == WNNStatus_Success, expected);
}

void check_WNNFuture(struct fixture *f, WNNFuture future, enum expected expected)
{
    if (future.id)
        wait_for(f, future);
    if (expected == UNCHECKED)
        return;
    if (f->calls != 1) {
        fprintf(stderr, "%s, NULL for %s: %d callbacks\n", running->function, running->what, f->calls);
        case_fail();
    }
    check(f, f->calls > 0 && f->status == WNNStatus_Success, expected);
}

// ---------------------------------------------------------------------------------------------------------------
// Processes
// ---------------------------------------------------------------------------------------------------------------

// Runs cases from *next on until one of them fails; true: all have run.
static bool run_child(volatile size_t *next, size_t limit)
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (; *next < limit; (*next)++) {
            static struct fixture fixture;
            running = &null_cases[*next];
            if (SANITIZED && strcmp(running->function, "wnnEnumerateDevices") == 0)
                continue; // drivers leak, and are unloaded before it is looked at
            begin(&fixture);
            running->call(&fixture, running->variant);
            end(&fixture);
        }
        exit(0);
    }
    int status = 0;
    REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && *next < limit)
        fprintf(stderr, "%s, NULL for %s: signal %d\n", null_cases[*next].function, null_cases[*next].what,
                WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_function(volatile size_t *next, size_t limit)
{
    unsigned failures = 0;
    while (!run_child(next, limit)) {
        failures++;
        if (++*next >= limit)
            break;
    }
    REQUIRE_EQUAL_INT(failures, 0);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    volatile size_t *next =
        mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(next != MAP_FAILED);
    for (size_t first = 0, limit = 0; first < null_case_count; first = limit) {
        const char *function = null_cases[first].function;
        while (limit < null_case_count && strcmp(null_cases[limit].function, function) == 0)
            limit++;
        *next = first;
        CASE_AS(function, test_function(next, limit));
    }
    return cases_end();
}
