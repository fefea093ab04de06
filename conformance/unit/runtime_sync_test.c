// SPDX-License-Identifier: Apache-2.0
//
// The calls that wait: results, messages, and where they may be called.

#include "conformance/unit/runtime_fixture.h"
#include "runtime/internal.h"

#include <sys/wait.h>
#include <unistd.h>

static WNNContext create_context(void)
{
    WNNContext context;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    return context;
}

// y = -x, of four elements.
static WNNGraph build_negation(WNNContext context)
{
    char message[64] = "not empty";
    WNNGraph graph = NULL;
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderNeg(builder, add_input(builder, "x", 1, 4), NULL)};
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(builder, 1, &output, &graph, sizeof message, message),
                      WNNStatus_Success);
    REQUIRE(graph);
    REQUIRE_EQUAL_STR(message, "");
    wnnGraphBuilderRelease(builder);
    return graph;
}

static WNNStatus negate(WNNContext context, WNNGraph graph, size_t bytes, float *y, size_t capacity,
                        char *message)
{
    static float x[4] = {1, 2, 3, 4};
    WNNNamedBuffer input = {view("x"), x, bytes, WNNDataType_Float32},
                   output = {view("y"), y, sizeof x, WNNDataType_Float32};
    WNNComputeDescriptor compute = {NULL, WNN_STRING_VIEW_INIT, graph, 1, 1, &input, &output};
    return wnnContextComputeSync(context, &compute, capacity, message);
}

static void test_results(void)
{
    WNNContext context = create_context();
    WNNGraph graph = build_negation(context);
    float y[4] = {0};
    char message[256];
    REQUIRE_EQUAL_INT(negate(context, graph, sizeof y, y, sizeof message, message), WNNStatus_Success);
    REQUIRE(y[0] == -1 && y[3] == -4);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE_EQUAL_INT(negate(context, graph, sizeof y, y, 0, NULL), WNNStatus_Success);
    WNNTensor tensor = create_tensor(context, 1, 4);
    float z[4] = {5, 6, 7, 8};
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, z, sizeof z), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextReadTensorSync(context, tensor, y, sizeof y, sizeof message, message),
                      WNNStatus_Success);
    REQUIRE(memcmp(y, z, sizeof y) == 0);
    wnnTensorRelease(tensor);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static void test_messages(void)
{
    WNNContext context = create_context();
    WNNGraph graph = build_negation(context);
    float y[4];
    char message[256], cut[12];
    REQUIRE_EQUAL_INT(negate(context, graph, 4, y, sizeof message, message), WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "expected 16");
    REQUIRE_EQUAL_INT(negate(context, graph, 4, y, sizeof cut, cut), WNNStatus_TypeError);
    REQUIRE(strlen(cut) < sizeof cut && strncmp(cut, message, strlen(cut) - 3) == 0);
    message[0] = 'x';
    REQUIRE_EQUAL_INT(negate(context, graph, 4, y, 0, message), WNNStatus_TypeError);
    REQUIRE(message[0] == 'x');
    REQUIRE_EQUAL_INT(wnnContextReadTensorSync(context, NULL, y, sizeof y, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "readTensor");

    WNNGraphBuilder builder = create_builder(context);
    WNNGraph none = graph;
    WNNNamedOperand output = {view("y"), wnnGraphBuilderNeg(builder, NULL, NULL)};
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(builder, 1, &output, &none, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE(!none);
    REQUIRE_CONTAINS(message, "input is NULL");
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(builder, 1, &output, NULL, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "no place");
    wnnGraphBuilderRelease(builder);
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(NULL, 1, &output, &none, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE(message[0]);

    wnnContextDestroy(context);
    REQUIRE_EQUAL_INT(negate(context, graph, sizeof y, y, sizeof message, message),
                      WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "lost");
    REQUIRE_EQUAL_INT(negate(NULL, graph, sizeof y, y, sizeof message, message), WNNStatus_TypeError);
    REQUIRE(message[0]);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

struct inner {
    WNNContext context;
    WNNGraph graph;
    WNNStatus status;
    char message[128];
    atomic_bool called;
};

static void compute_inside(WNNStatus status, WNNStringView message, void *userdata, void *unused)
{
    struct inner *inner = userdata;
    float y[4];
    (void)status, (void)message, (void)unused;
    inner->status = negate(inner->context, inner->graph, sizeof y, y, sizeof inner->message, inner->message);
    atomic_store(&inner->called, true);
}

// Other callbacks run in calls that wait, and may wait themselves.
static void test_callbacks(void)
{
    WNNContext context = create_context();
    struct inner inner = {.context = context, .graph = build_negation(context)};
    WNNTensor tensor = create_tensor(context, 1, 4);
    for (int mode = WNNCallbackMode_WaitAnyOnly; mode <= WNNCallbackMode_AllowSpontaneous; mode++) {
        float y[4];
        WNNRequestCallbackInfo info = {NULL, (WNNCallbackMode)mode, compute_inside, &inner, NULL};
        atomic_store(&inner.called, false);
        wait_for(context, wnnContextReadTensor(context, tensor, y, sizeof y, info));
        REQUIRE(atomic_load(&inner.called));
        if (mode == WNNCallbackMode_AllowSpontaneous) {
            REQUIRE_EQUAL_INT(inner.status, WNNStatus_InvalidStateError);
            REQUIRE_CONTAINS(inner.message, "cannot wait");
        } else
            REQUIRE_EQUAL_INT(inner.status, WNNStatus_Success);
    }
    wnnTensorRelease(tensor);
    wnnGraphRelease(inner.graph);
    wnnContextRelease(context);
}

static void *compute_often(void *inner)
{
    struct inner *mine = inner;
    for (int i = 0; i < 50; i++) {
        float y[4] = {0};
        REQUIRE_EQUAL_INT(negate(mine->context, mine->graph, sizeof y, y, 0, NULL), WNNStatus_Success);
        REQUIRE(y[0] == -1 && y[3] == -4);
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[3];
    WNNContext context = create_context();
    struct inner inner = {.context = context, .graph = build_negation(context)};
    for (int i = 0; i < 3; i++)
        REQUIRE_EQUAL_INT(pthread_create(&threads[i], NULL, compute_often, &inner), 0);
    for (int i = 0; i < 3; i++)
        REQUIRE_EQUAL_INT(pthread_join(threads[i], NULL), 0);
    wnnGraphRelease(inner.graph);
    wnnContextRelease(context);
}

// A forked process is told at once, whatever threads that it does not have were about to do.
static void test_fork(void)
{
    WNNContext context = create_context();
    WNNGraph graph = build_negation(context);
    pthread_mutex_lock(&context->queue.lock);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        float y[4];
        char message[128];
        alarm(20);
        REQUIRE_EQUAL_INT(negate(context, graph, sizeof y, y, sizeof message, message),
                          WNNStatus_InvalidStateError);
        REQUIRE_CONTAINS(message, "forked");
        _exit(0);
    }
    pthread_mutex_unlock(&context->queue.lock);
    int status = 0;
    REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

int main(void)
{
    test_results();
    test_messages();
    test_callbacks();
    test_threads();
    test_fork();
    return 0;
}
