// SPDX-License-Identifier: Apache-2.0
//
// A driver that fails. Contexts are created, graphs are built, computed and released while the Nth call of
// Vulkan that can fail so does, for N = 1, 2, ... and every result that there is, until none does; and the
// same with the Nth allocation of the host's memory. Every failure is a status with a message, everything
// that was created is destroyed, outputs hold nothing half done. What is no loss of the device leaves the
// context as it was; a loss is told once and stays, while other contexts go on and new ones can be made.

#include "conformance/backends.h"
#include "conformance/unit/fault_layer.h"
#include "conformance/unit/runtime_fixture.h"
#include "vulkan/device/device.h"
#include "vulkan/device/open.h"
#include "vulkan/vulkan.h"

#include <math.h>

// ---------------------------------------------------------------------------------------------------------------
// The host's memory, which may fail too, and its cache, which makes contexts cheap
// ---------------------------------------------------------------------------------------------------------------

static atomic_long blocks, until_failure; // until_failure 0: none fails
static atomic_bool allocation_failed;

static void *allocate(size_t size, size_t alignment, void *unused)
{
    (void)unused;
    void *memory;
    if (atomic_load(&until_failure) > 0 && atomic_fetch_sub(&until_failure, 1) == 1) {
        atomic_store(&allocation_failed, true);
        return NULL;
    }
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0)
        return NULL;
    memset(memory, 0xCD, size);
    atomic_fetch_add(&blocks, 1);
    return memory;
}

static void release(void *memory, size_t size, size_t alignment, void *unused)
{
    (void)size;
    (void)alignment;
    (void)unused;
    atomic_fetch_sub(&blocks, 1);
    free(memory);
}

static const WNNAllocator allocator = {NULL, allocate, release, NULL};

enum {
    MAX_ENTRIES = 256
};
static struct {
    unsigned char key[32];
    void *data;
    size_t bytes;
} entries[MAX_ENTRIES];
static size_t entry_count;

static size_t load(const void *key, size_t length, void *data, size_t capacity, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < entry_count; i++)
        if (memcmp(entries[i].key, key, length) == 0) {
            if (data && entries[i].bytes <= capacity)
                memcpy(data, entries[i].data, entries[i].bytes);
            return entries[i].bytes;
        }
    return 0;
}

static void store(const void *key, size_t length, const void *data, size_t bytes, void *unused)
{
    void *copy = malloc(bytes);
    (void)unused;
    REQUIRE(copy && length == sizeof entries[0].key);
    if (load(key, length, NULL, 0, NULL) || entry_count == MAX_ENTRIES) {
        free(copy);
        return;
    }
    memcpy(entries[entry_count].key, key, length);
    entries[entry_count].data = memcpy(copy, data, bytes);
    entries[entry_count++].bytes = bytes;
}

static void forget_entries(void)
{
    while (entry_count > 0)
        free(entries[--entry_count].data);
}

// ---------------------------------------------------------------------------------------------------------------
// Contexts
// ---------------------------------------------------------------------------------------------------------------

static bool minimal; // staging memory for everything

static bool create_state(const struct backend_options *options, void **state, struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.get = fault_get, .minimal = minimal}, state,
                             error);
}

// Whom a context tells.
struct ears {
    struct answer error;
    atomic_int losses;
    char message[1024]; // of the last loss
    WNNContextLostReason reason;
};

static void on_lost(WNNContextLostReason reason, WNNStringView message, void *ears, void *unused)
{
    struct ears *e = ears;
    (void)unused;
    REQUIRE(message.length > 0 && message.length < sizeof e->message);
    e->reason = reason;
    memcpy(e->message, message.data, message.length + 1);
    atomic_fetch_add(&e->losses, 1);
}

static WNNStatus create(struct ears *ears, WNNContext *context)
{
    static struct backend faulty;
    const WNNCache cache = {NULL, load, store, NULL};
    WNNLimits limits = WNN_LIMITS_INIT;
    // Each specialization goes when the next one comes.
    limits.maxSpecializations = minimal ? 0 : 1;
    limits.maxSpecializationBytes = minimal ? 1 : 0;
    *ears = (struct ears){.losses = 0};
    WNNContextDescriptor descriptor = describe_context(&ears->error, NULL);
    descriptor.lostCallbackInfo.callback = on_lost;
    descriptor.lostCallbackInfo.userdata1 = ears;
    descriptor.allocator = &allocator;
    descriptor.cache = &cache;
    descriptor.limits = &limits;
    faulty = minimal ? *vulkan_minimal() : wnn_backend_vulkan;
    faulty.create = create_state;
    return wnn_create_context_on(&faulty, &descriptor, context);
}

// ---------------------------------------------------------------------------------------------------------------
// The graphs: one input "x" and one output "y", both float32 of 4 x 6 elements
// ---------------------------------------------------------------------------------------------------------------

enum {
    ROWS = 4,
    COLUMNS = 6,
    COUNT = ROWS * COLUMNS
};

static WNNOperand add_constant(WNNGraphBuilder builder, const uint32_t *dims, size_t rank, size_t count)
{
    float values[64];
    REQUIRE(count <= 64);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i % 5) - 1;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderConstant(builder, &descriptor, values, count * sizeof values[0]);
}

static WNNOperand record_sum(WNNGraphBuilder b, WNNOperand x)
{
    return wnnGraphBuilderAdd(b, x, x, NULL);
}

static WNNOperand record_product(WNNGraphBuilder b, WNNOperand x)
{
    return wnnGraphBuilderMatmul(b, x, add_constant(b, DIMS(COLUMNS, COLUMNS), COLUMNS * COLUMNS), NULL);
}

static WNNOperand record_convolution(WNNGraphBuilder b, WNNOperand x)
{
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    const uint32_t padding[] = {1, 1, 1, 1};
    options.padding = (WNNUint32List){padding, 4};
    WNNOperand image = wnnGraphBuilderReshape(b, x, (WNNUint32List){DIMS(1, 1, ROWS, COLUMNS)}, NULL);
    image = wnnGraphBuilderConv2d(b, image, add_constant(b, DIMS(1, 1, 3, 3), 9), &options);
    return wnnGraphBuilderReshape(b, image, (WNNUint32List){DIMS(ROWS, COLUMNS)}, NULL);
}

// Several nodes, one of constants alone.
static WNNOperand record_several(WNNGraphBuilder b, WNNOperand x)
{
    WNNOperand folded = wnnGraphBuilderCumulativeSum(b, add_constant(b, DIMS(COLUMNS), COLUMNS), 0, NULL);
    WNNOperand y = wnnGraphBuilderCumulativeSum(b, wnnGraphBuilderMul(b, x, folded, NULL), 1, NULL);
    return wnnGraphBuilderSub(b, wnnGraphBuilderSoftmax(b, y, 1, NULL), x, NULL);
}

// Weights, some of which are put in order first, and an image that is as wide as there are rows.
static WNNOperand record_layers(WNNGraphBuilder b, WNNOperand x)
{
    WNNOperand weights = add_constant(b, DIMS(COLUMNS, COLUMNS), COLUMNS * COLUMNS);
    WNNOperand y = wnnGraphBuilderMatmul(b, x, wnnGraphBuilderTranspose(b, weights, NULL), NULL);
    y = wnnGraphBuilderAdd(b, y, add_constant(b, DIMS(COLUMNS), COLUMNS), NULL);
    uint32_t rows = x ? wnnOperandGetShape(x).data[0] : ROWS; // memory may have run out
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.inputLayout = WNNInputOperandLayout_NHWC;
    y = wnnGraphBuilderReshape(b, y, (WNNUint32List){DIMS(1, 1, rows, COLUMNS)}, NULL);
    y = wnnGraphBuilderConv2d(b, y, add_constant(b, DIMS(COLUMNS, COLUMNS, 1, 1), COLUMNS * COLUMNS),
                              &options);
    y = wnnGraphBuilderReshape(b, y, (WNNUint32List){DIMS(rows, COLUMNS)}, NULL);
    return wnnGraphBuilderSoftmax(b, y, 1, NULL);
}

// A table that goes through all slots of staging memory more than once, and of which few rows are read.
static WNNOperand record_table(WNNGraphBuilder b, WNNOperand x)
{
    enum {
        TABLE_ROWS = 1 << 16
    };
    static float table[TABLE_ROWS * COLUMNS];
    const WNNExternalBytes bytes = {NULL, table, sizeof table, NULL, NULL, NULL};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    for (size_t i = 0; table[0] == 0 && i < TABLE_ROWS * COLUMNS; i++)
        table[TABLE_ROWS * COLUMNS - 1 - i] = (float)(i % 997) + 1;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){DIMS(TABLE_ROWS, COLUMNS)};
    options.axes = LIST(1);
    WNNOperand row = wnnGraphBuilderReduceMax(b, x, &options); // up to 4
    for (int i = 0; i < 2; i++)
        row = wnnGraphBuilderMul(b, row, wnnGraphBuilderMul(b, row, row, NULL), NULL);
    return wnnGraphBuilderGather(b, wnnGraphBuilderExternalConstant(b, &descriptor, &bytes),
                                 wnnGraphBuilderCast(b, row, WNNDataType_Int32, NULL), NULL);
}

static const struct subject {
    const char *name;
    WNNOperand (*record)(WNNGraphBuilder builder, WNNOperand x);
    bool late; // how many rows there are comes late, and is another before
} subjects[] = {{"sum", record_sum, false},
                {"product", record_product, false},
                {"convolution", record_convolution, false},
                {"several", record_several, false},
                {"table", record_table, false},
                {"late", record_layers, true}};

static WNNOperand add_late_input(WNNGraphBuilder builder)
{
    WNNDimension dimensions[] = {WNN_DIMENSION_INIT, WNN_DIMENSION_INIT};
    dimensions[0].name = view("n");
    WNNNamedDimensions named = {{NULL, WNNSType_NamedDimensions}, 2, dimensions};
    WNNOperandDescriptor type = {&named.chain, WNNDataType_Float32, {(const uint32_t[]){0, COLUMNS}, 2}};
    return wnnGraphBuilderInput(builder, view("x"), &type);
}

enum stage {
    STAGE_CREATE,
    STAGE_BUILD,
    STAGE_COMPUTE,
    STAGE_TENSORS,
    STAGE_RELEASE,
    STAGES
};
static const char *const stage_names[] = {"create", "build", "compute", "tensors", "release"};

// What is tried at present, for messages.
static struct trial {
    enum stage stage;
    const struct subject *subject;
    unsigned call;
    size_t fault;
    bool and_after;     // and all calls after it
    const char *failed; // the function
} trial;

static void build(WNNContext context, const struct subject *subject, struct answer *built)
{
    WNNGraphBuilder builder;
    *built = (struct answer){.calls = 0};
    WNNStatus status = wnnContextCreateGraphBuilder(context, &builder);
    if (status != WNNStatus_Success) {
        built->status = status;
        strcpy(built->message, "no builder");
        return;
    }
    WNNOperand x = subject->late ? add_late_input(builder) : add_input(builder, "x", ROWS, COLUMNS);
    WNNOperand y = subject->record(builder, x);
    wait_for(context, start_build(builder, "y", y, built, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(built->calls, 1);
    wnnGraphBuilderRelease(builder);
}

#define UNTOUCHED 12345.0f

static void fill_input(float x[COUNT], float y[COUNT])
{
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)(i % 7) - 2;
        y[i] = UNTOUCHED;
    }
}

static void compute_rows(WNNContext context, WNNGraph graph, uint32_t rows, float *x, float *y,
                         struct answer *computed)
{
    const uint32_t dims[] = {rows, COLUMNS};
    WNNNamedShape shape = {view("x"), {dims, 2}};
    WNNInputShapes shapes = {{NULL, WNNSType_InputShapes}, 1, &shape};
    size_t bytes = rows * COLUMNS * sizeof *x;
    WNNNamedBuffer in = {view("x"), x, bytes, WNNDataType_Float32},
                   out = {view("y"), y, bytes, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = {&shapes.chain, WNN_STRING_VIEW_INIT, graph, 1, 1, &in, &out};
    *computed = (struct answer){.calls = 0};
    wait_for(context, wnnContextCompute(context, &descriptor, tell(computed, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(computed->calls, 1);
}

static void compute(WNNContext context, WNNGraph graph, float y[COUNT], struct answer *computed)
{
    float x[COUNT], fewer[COUNT];
    fill_input(x, y);
    *computed = (struct answer){.calls = 0};
    if (trial.subject->late)
        compute_rows(context, graph, ROWS / 2, x, fewer, computed);
    if (computed->status == WNNStatus_Success)
        compute_rows(context, graph, ROWS, x, y, computed);
}

// The results without faults, by graph. The processor's may differ by roundings.
static float expected[sizeof subjects / sizeof *subjects][COUNT];

static void require_works(WNNContext context, const struct subject *subject)
{
    struct answer built, computed;
    float y[COUNT];
    build(context, subject, &built);
    REQUIRE_EQUAL_STR(built.message, "");
    compute(context, built.graph, y, &computed);
    REQUIRE_EQUAL_STR(computed.message, "");
    for (int i = 0; i < COUNT; i++)
        REQUIRE(fabsf(y[i] - expected[subject - subjects][i]) <= 1e-6f * fabsf(y[i]));
    wnnGraphRelease(built.graph);
}

// ---------------------------------------------------------------------------------------------------------------
// One failure
// ---------------------------------------------------------------------------------------------------------------

static const struct {
    VkResult result;
    WNNStatus status; // of what fails by it
} faults[] = {{VK_ERROR_OUT_OF_HOST_MEMORY, WNNStatus_OutOfMemory},
              {VK_ERROR_OUT_OF_DEVICE_MEMORY, WNNStatus_OutOfMemory},
              {VK_ERROR_MEMORY_MAP_FAILED, WNNStatus_OutOfMemory},
              {VK_ERROR_TOO_MANY_OBJECTS, WNNStatus_OutOfMemory},
              {VK_ERROR_FRAGMENTED_POOL, WNNStatus_OutOfMemory},
              {VK_ERROR_OUT_OF_POOL_MEMORY, WNNStatus_OutOfMemory},
              {VK_ERROR_INITIALIZATION_FAILED, WNNStatus_NotSupportedError},
              {VK_ERROR_INCOMPATIBLE_DRIVER, WNNStatus_NotSupportedError},
              {VK_ERROR_FEATURE_NOT_PRESENT, WNNStatus_NotSupportedError},
              {VK_ERROR_INVALID_SHADER_NV, WNNStatus_UnknownError},
              {VK_ERROR_DEVICE_LOST, WNNStatus_UnknownError}};

static void say_trial(void)
{
    fprintf(stderr, "in %s of %s, %s: %s (call %u) %s gave %d\n", stage_names[trial.stage],
            trial.subject->name, minimal ? "vulkan-minimal" : "vulkan",
            trial.failed ? trial.failed : "nothing", trial.call, trial.and_after ? " and all after it" : "",
            (int)faults[trial.fault].result);
}

static void arm(enum stage stage)
{
    if (stage == trial.stage)
        fault_arm(trial.call, faults[trial.fault].result, trial.and_after);
}

// True: a call failed.
static bool disarm(enum stage stage)
{
    if (stage != trial.stage)
        return false;
    trial.failed = fault_disarm();
    return trial.failed != NULL;
}

static void require_error(WNNStatus status, const char *message)
{
    REQUIRE(trial.failed);
    REQUIRE(message[0]);
    // A failure of something that can be done without is forgotten, but not a loss by it.
    if (!(trial.and_after && status == WNNStatus_UnknownError))
        REQUIRE_EQUAL_INT(status, faults[trial.fault].status);
    bool is_loss = faults[trial.fault].result == VK_ERROR_DEVICE_LOST;
    REQUIRE_CONTAINS(message, is_loss ? "LOST" : trial.and_after ? "Vulkan" : trial.failed);
}

// A lost context stays lost, has told so once, and others do not care.
static void require_lost(WNNContext context, const struct ears *ears, WNNContext other, WNNContext cpu)
{
    struct answer built;
    for (int i = 0; i < 2000 && atomic_load(&ears->losses) == 0; i++)
        sleep_milliseconds(1);
    REQUIRE(wnnContextIsLost(context));
    REQUIRE_EQUAL_INT(ears->losses, 1);
    REQUIRE(ears->message[0]);
    // A device that cannot be waited for is given up as well.
    bool is_loss = faults[trial.fault].result == VK_ERROR_DEVICE_LOST;
    REQUIRE(ears->reason == WNNContextLostReason_DeviceLost ||
            (!is_loss && ears->reason == WNNContextLostReason_Failed));
    REQUIRE_EQUAL_INT(wnnContextGetLostReason(context), ears->reason);
    build(context, trial.subject, &built);
    REQUIRE_EQUAL_INT(built.status, WNNStatus_InvalidStateError);
    require_works(other, trial.subject);
    struct answer on_cpu;
    build(cpu, trial.subject, &on_cpu);
    REQUIRE_EQUAL_STR(on_cpu.message, "");
    wnnGraphRelease(on_cpu.graph);
}

// The remains of a context.
static void require_nothing(void)
{
    struct fault_objects objects = fault_objects();
    if (objects.lasting || objects.others || objects.mistakes)
        fault_print_objects();
    REQUIRE_EQUAL_INT(objects.mistakes, 0);
    REQUIRE_EQUAL_INT(objects.lasting + objects.others, 0);
    REQUIRE_EQUAL_INT(atomic_load(&blocks), 0);
}

// Executables are released on the worker, some time. `kept`: what may stay besides, all of it or nothing.
static void require_no_more(unsigned before, unsigned kept)
{
    struct fault_objects objects = fault_objects();
    for (int i = 0; i < 5000 && objects.others > before && (i < 5 || objects.others != before + kept); i++) {
        sleep_milliseconds(1);
        objects = fault_objects();
    }
    if (objects.others != before && objects.others != before + kept)
        fault_print_objects();
    REQUIRE(objects.others == before || objects.others == before + kept);
    REQUIRE_EQUAL_INT(objects.mistakes, 0);
}

// A device is lost when a call says so, or when nobody can wait for it.
static void require_loss_or_none(WNNContext context)
{
    if (faults[trial.fault].result == VK_ERROR_DEVICE_LOST ? !trial.failed : !trial.and_after)
        REQUIRE(!wnnContextIsLost(context));
}

// A failure while a graph is computed: all or nothing has been written. What waits for a specialization may
// hear first that its context is lost.
static void check_computed(WNNContext context, const struct answer *computed, const float y[COUNT])
{
    if (computed->status == WNNStatus_Success) {
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_FLOAT(y[i], expected[trial.subject - subjects][i]);
        return;
    }
    if (trial.subject->late &&
        (computed->status == WNNStatus_Cancelled || computed->status == WNNStatus_InvalidStateError))
        REQUIRE(trial.failed && wnnContextIsLost(context));
    else
        require_error(computed->status, computed->message);
    for (int i = 0; i < COUNT; i++)
        REQUIRE(y[i] == UNTOUCHED || y[i] == 0);
}

// Tensors on the device: made, written, dispatched, read. `result` gets the first failure.
static void use_tensors(WNNContext context, WNNGraph graph, struct ears *ears, struct answer *result,
                        float y[COUNT])
{
    WNNTensor tensors[2] = {NULL, NULL};
    float x[COUNT];
    fill_input(x, y);
    *result = ears->error = (struct answer){.calls = 0};
    for (int i = 0; i < 2 && result->status == WNNStatus_Success; i++) {
        WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
        descriptor.dataType = WNNDataType_Float32;
        descriptor.shape = (WNNUint32List){(const uint32_t[]){ROWS, COLUMNS}, 2};
        descriptor.readable = descriptor.writable = true;
        result->status = wnnContextCreateTensor(context, &descriptor, &tensors[i]);
        strcpy(result->message, ears->error.message);
    }
    WNNNamedTensor input = {view("x"), tensors[0]}, output = {view("y"), tensors[1]};
    WNNDispatchDescriptor dispatch = WNN_DISPATCH_DESCRIPTOR_INIT;
    dispatch.graph = graph;
    dispatch.inputCount = dispatch.outputCount = 1;
    dispatch.inputs = &input;
    dispatch.outputs = &output;
    if (result->status == WNNStatus_Success) {
        result->status = wnnContextWriteTensor(context, tensors[0], x, sizeof x);
        strcpy(result->message, ears->error.message);
    }
    // At a size that comes late, once more where the input lies.
    for (int step = 0; step < (trial.subject->late ? 4 : 2) && result->status == WNNStatus_Success; step++) {
        *result = (struct answer){.calls = 0};
        WNNRequestCallbackInfo info = tell(result, WNNCallbackMode_WaitAnyOnly);
        output.tensor = tensors[step < 2];
        wait_for(context, step % 2 == 0
                              ? wnnContextDispatch(context, &dispatch, info)
                              : wnnContextReadTensor(context, output.tensor, y, COUNT * sizeof *y, info));
        REQUIRE_EQUAL_INT(result->calls, 1);
    }
    wnnTensorRelease(tensors[0]);
    wnnTensorRelease(tensors[1]);
}

// A tensor that nobody has written is zeros also when its first use has failed: they are not taken for given.
static unsigned test_zeros(void)
{
    struct ears ears;
    WNNContext context;
    float y[COUNT];
    REQUIRE_EQUAL_INT(create(&ears, &context), WNNStatus_Success);
    for (trial.call = 1;; trial.call++) {
        WNNTensor tensor = create_tensor(context, ROWS, COLUMNS);
        struct answer read = {.calls = 0};
        fault_arm(trial.call, VK_ERROR_OUT_OF_DEVICE_MEMORY, false);
        wait_for(context, wnnContextReadTensor(context, tensor, y, sizeof y,
                                               tell(&read, WNNCallbackMode_WaitAnyOnly)));
        trial.failed = fault_disarm();
        unsigned fills = fault_fills();
        if (read.status != WNNStatus_Success && !wnnContextIsLost(context)) {
            wait_for(context, wnnContextReadTensor(context, tensor, y, sizeof y, tell_nobody()));
            REQUIRE(fault_fills() > fills);
        }
        for (int i = 0; !wnnContextIsLost(context) && i < COUNT; i++)
            REQUIRE_EQUAL_FLOAT(y[i], 0);
        wnnTensorRelease(tensor);
        if (!trial.failed || wnnContextIsLost(context))
            break;
    }
    wnnContextRelease(context);
    return trial.call - 1;
}

// The whole life of a context, in which one call fails. False: there are not as many calls.
static bool try_fault(WNNContext other, WNNContext cpu)
{
    struct ears ears;
    struct answer built, computed;
    WNNContext context;
    float y[COUNT];
    bool fired = false;
    trial.failed = NULL;
    arm(STAGE_CREATE);
    WNNStatus status = create(&ears, &context);
    fired |= disarm(STAGE_CREATE);
    if (status != WNNStatus_Success) {
        require_error(status, ears.error.message);
        REQUIRE_EQUAL_INT(ears.losses, 0);
        require_nothing();
        return true;
    }
    REQUIRE(!fired || faults[trial.fault].result != VK_ERROR_DEVICE_LOST); // a context on a lost device
    unsigned before = fault_objects().others;
    arm(STAGE_BUILD);
    build(context, trial.subject, &built);
    fired |= disarm(STAGE_BUILD);
    require_loss_or_none(context);
    if (built.status != WNNStatus_Success) {
        require_error(built.status, built.message);
        require_no_more(before, 0);
        if (!wnnContextIsLost(context)) {
            build(context, trial.subject, &built);
            REQUIRE_EQUAL_STR(built.message, "");
        }
    }
    WNNGraph graph = built.graph;
    if (graph) {
        arm(STAGE_COMPUTE);
        compute(context, graph, y, &computed);
        fired |= disarm(STAGE_COMPUTE);
        require_loss_or_none(context);
        check_computed(context, &computed, y);
        if (!wnnContextIsLost(context)) {
            compute(context, graph, y, &computed);
            REQUIRE_EQUAL_STR(computed.message, "");
            check_computed(context, &computed, y);
        }
    }
    if (graph && !wnnContextIsLost(context)) {
        arm(STAGE_TENSORS);
        use_tensors(context, graph, &ears, &computed, y);
        fired |= disarm(STAGE_TENSORS);
        // A write that fails tells nobody else.
        if (computed.status == WNNStatus_InvalidStateError || computed.status == WNNStatus_Cancelled)
            REQUIRE(trial.failed && wnnContextIsLost(context));
        else if (computed.status != WNNStatus_Success)
            require_error(computed.status, computed.message);
        else
            check_computed(context, &computed, y);
        if (!wnnContextIsLost(context)) {
            use_tensors(context, graph, &ears, &computed, y);
            REQUIRE_EQUAL_STR(computed.message, "");
            check_computed(context, &computed, y);
        }
    }
    if (wnnContextIsLost(context))
        require_lost(context, &ears, other, cpu);
    arm(STAGE_RELEASE);
    wnnGraphRelease(graph);
    if (!wnnContextIsLost(context)) {
        // Where the host does not see the device's memory, the first tensor has made a buffer for all.
        require_no_more(before, graph ? 2 : 0);
    }
    wnnContextRelease(context);
    fired |= disarm(STAGE_RELEASE);
    REQUIRE_EQUAL_INT(ears.losses, 1); // by its release, if not before
    require_nothing();
    return fired;
}

static unsigned try_stage(WNNContext other, WNNContext cpu)
{
    // Not every call fails so, and others with the next result: each try takes long.
    unsigned tries = 0, step = SANITIZED ? 5 : 2;
    for (trial.fault = 0; trial.fault < sizeof faults / sizeof *faults; trial.fault++)
        // Whatever fails always is tried with one of the results only, and a loss stays anyway.
        for (int and_after = 0; and_after < (trial.fault ? 1 : 2); and_after++) {
            trial.and_after = and_after;
            for (trial.call = 1 + (unsigned)trial.fault % step; try_fault(other, cpu); trial.call += step)
                tries++;
        }
    return tries;
}

// ---------------------------------------------------------------------------------------------------------------
// Memory of the host
// ---------------------------------------------------------------------------------------------------------------

// As try_fault, with the host's allocator; false: there are not as many allocations.
static bool try_allocation(const struct subject *subject, long n)
{
    struct ears ears;
    struct answer built, computed = {.calls = 0};
    WNNContext context;
    float y[COUNT];
    atomic_store(&allocation_failed, false);
    atomic_store(&until_failure, n);
    WNNStatus status = create(&ears, &context);
    const char *message = ears.error.message;
    if (status == WNNStatus_Success) {
        build(context, subject, &built);
        status = built.status;
        message = built.message;
        if (built.graph) {
            compute(context, built.graph, y, &computed);
            if (subject->late && computed.status == WNNStatus_Success)
                use_tensors(context, built.graph, &ears, &computed, y);
            status = computed.status;
            message = computed.message;
            wnnGraphRelease(built.graph);
        }
        atomic_store(&until_failure, 0);
        if (status != WNNStatus_Success && !wnnContextIsLost(context))
            require_works(context, subject);
        wnnContextRelease(context);
    }
    atomic_store(&until_failure, 0);
    if (status != WNNStatus_Success) {
        REQUIRE(atomic_load(&allocation_failed));
        if (status != WNNStatus_OutOfMemory)
            fprintf(stderr, "allocation %ld: %s\n", n, message);
        REQUIRE_EQUAL_INT(status, WNNStatus_OutOfMemory);
    } else {
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_FLOAT(y[i], expected[subject - subjects][i]);
    }
    require_nothing();
    return atomic_load(&allocation_failed);
}

// ---------------------------------------------------------------------------------------------------------------
// Functions that are not there
// ---------------------------------------------------------------------------------------------------------------

static void test_missing_functions(void)
{
    static const char *const names[] = {
#define F(name) "vk" #name,
        VK_GLOBAL_FUNCTIONS(F) VK_INSTANCE_FUNCTIONS(F) VK_DEVICE_FUNCTIONS(F)
#undef F
    };
    static const char *const more[] = {
#define F(name) "vk" #name,
        VK_TIMELINE_FUNCTIONS(F) VK_SHARING_FUNCTIONS(F)
#undef F
    };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (!fault_knows(more[i])) {
            fprintf(stderr, "the fault layer does not know %s\n", more[i]);
            case_fail();
        }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct ears ears;
        WNNContext context;
        struct fault_objects before = fault_objects(), after;
        if (!fault_knows(names[i])) {
            fprintf(stderr, "the fault layer does not know %s\n", names[i]);
            case_fail();
        }
        fault_hide(names[i]);
        REQUIRE_EQUAL_INT(create(&ears, &context), WNNStatus_NotSupportedError);
        REQUIRE_CONTAINS(ears.error.message, "Vulkan");
        fault_hide(NULL);
        after = fault_objects();
        REQUIRE_EQUAL_INT(atomic_load(&blocks), 0);
        // What would destroy it may be what is missing.
        if (strcmp(names[i], "vkDestroyDevice") != 0 && strcmp(names[i], "vkDestroyInstance") != 0)
            REQUIRE_EQUAL_INT(after.lasting + after.others, before.lasting + before.others);
    }
}

static double begin_seconds;

static void report(const char *what, const char *of, unsigned long tries)
{
    printf("%-15s %-12s %-12s %5lu failures, %.1f s\n", minimal ? "vulkan-minimal" : "vulkan", what, of,
           tries, now_seconds() - begin_seconds);
    fflush(stdout);
    begin_seconds = now_seconds();
}

// What works does so without failures, too.
static void test_subject(size_t i)
{
    struct ears ears;
    struct answer built, computed;
    WNNContext context;
    trial = (struct trial){.subject = &subjects[i]};
    REQUIRE_EQUAL_INT(create(&ears, &context), WNNStatus_Success);
    build(context, &subjects[i], &built);
    REQUIRE_EQUAL_STR(built.message, "");
    compute(context, built.graph, expected[i], &computed);
    REQUIRE_EQUAL_STR(computed.message, "");
    wnnGraphRelease(built.graph);
    wnnContextRelease(context);
    require_nothing();
}

static void test_stage(enum stage stage, const struct subject *subject, WNNContext other, WNNContext cpu)
{
    trial = (struct trial){.stage = stage, .subject = subject};
    report(stage_names[stage], subject->name, try_stage(other, cpu));
}

static void test_allocations(const struct subject *subject)
{
    long n = 1;
    trial = (struct trial){.subject = subject};
    while (try_allocation(subject, n))
        n++;
    report("memory", subject->name, (unsigned long)n - 1);
}

static void test_backend(WNNContext other, WNNContext cpu)
{
    const size_t count = sizeof subjects / sizeof *subjects;
    const char *backend = minimal ? "vulkan-minimal" : "vulkan";
    for (size_t i = 0; i < count; i++)
        test_subject(i);
    for (size_t i = 0; i < count; i++)
        for (int stage = 0; stage < STAGES; stage++)
            if ((stage != STAGE_CREATE && stage != STAGE_TENSORS) || i == 0 ||
                (stage == STAGE_TENSORS && subjects[i].late))
                CASE_AS(case_name("%s, %s on %s", stage_names[stage], subjects[i].name, backend),
                        test_stage((enum stage)stage, &subjects[i], other, cpu));
    CASE_AS(case_name("zeros on %s", backend), report("zeros", "tensor", test_zeros()));
    for (size_t i = 0; i < count; i++)
        CASE_AS(case_name("memory, %s on %s", subjects[i].name, backend), test_allocations(&subjects[i]));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    struct ears quiet = {.losses = 0};
    WNNContext other, cpu;
    WNNContextDescriptor descriptor = describe_context(&quiet.error, NULL);
    begin_seconds = now_seconds();
    if (!fault_begin() ||
        wnn_create_context_on(&wnn_backend_vulkan, &descriptor, &other) != WNNStatus_Success)
        return cases_skip(quiet.error.message);
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &cpu), WNNStatus_Success);
    case_explain = say_trial;
    test_backend(other, cpu);
    minimal = true;
    test_backend(other, cpu);
    CASE(test_missing_functions());
    wnnContextRelease(other);
    wnnContextRelease(cpu);
    forget_entries();
    fault_end();
    return cases_end();
}
