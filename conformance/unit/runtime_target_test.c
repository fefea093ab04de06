// SPDX-License-Identifier: Apache-2.0
//
// Contexts for a target that is described: what they say, compile, save and load is what the target itself
// would, and they compute nothing. Descriptions that are wrong in any way are refused with the reason.

#include "conformance/backends.h"
#include "conformance/compiled.h"
#include "conformance/unit/runtime_fixture.h"
#include "cpu/cpu.h"
#include "cpu/describe_target.h"

enum {
    MAX_TEXT = 256
};

struct description {
    char text[MAX_TEXT];
};

static struct description describe(const struct cpu_target *target)
{
    struct description description = {""};
    struct text text = TEXT(description.text);
    wnn_cpu_describe_target(target, &text);
    return description;
}

struct attempt {
    WNNContext context; // NULL: refused
    struct answer error;
};

static struct attempt attempt(const struct backend *backend, WNNStringView target, const char *device,
                              uint32_t threads)
{
    static struct answer error; // which contexts report to for as long as they live
    struct attempt attempt = {.context = NULL};
    WNNContextTarget chained = WNN_CONTEXT_TARGET_INIT;
    WNNContextDescriptor descriptor = describe_context(&error, NULL);
    error = (struct answer){0};
    chained.target = target;
    chained.chain.next = descriptor.nextInChain;
    descriptor.nextInChain = &chained.chain;
    descriptor.device.data = device;
    descriptor.threadCount = threads;
    wnn_create_context_on(backend, &descriptor, &attempt.context);
    attempt.error = error;
    return attempt;
}

static WNNContext create_for(const char *target, uint32_t threads)
{
    struct attempt made = attempt(&wnn_backend_cpu, view(target), NULL, threads);
    REQUIRE(made.context);
    return made.context;
}

static WNNContext create_here(uint32_t threads)
{
    WNNContext context;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = threads;
    REQUIRE_EQUAL_INT(wnn_create_context_on(&wnn_backend_cpu, &descriptor, &context), WNNStatus_Success);
    return context;
}

static void require_refused(const struct backend *backend, WNNStringView target, const char *device,
                            WNNStatus status, const char *part)
{
    struct attempt made = attempt(backend, target, device, 1);
    REQUIRE(!made.context);
    REQUIRE_EQUAL_INT(made.error.status, status);
    if (!strstr(made.error.message, part))
        printf("%s\n", made.error.message);
    REQUIRE(strstr(made.error.message, part));
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

static float random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) / (1 << 23) - 1;
}

// x * w + tanh(c), of [9, 96] by [96, 200]: panels that no two ISAs have alike, and what is computed of
// constants.
static WNNGraph build_product(WNNContext context)
{
    static float weights[96 * 200], shift[200];
    const uint32_t shape[] = {96, 200};
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, {shape, 2}};
    uint64_t state = 3;
    for (size_t i = 0; i < 96 * 200; i++)
        weights[i] = random_number(&state);
    for (size_t i = 0; i < 200; i++)
        shift[i] = random_number(&state);
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", 9, 96);
    WNNOperand w = wnnGraphBuilderConstant(builder, &descriptor, weights, sizeof weights);
    descriptor.shape = (WNNUint32List){shape + 1, 1};
    WNNOperand c = wnnGraphBuilderConstant(builder, &descriptor, shift, sizeof shift);
    WNNOperand product = wnnGraphBuilderMatmul(builder, x, w, NULL);
    WNNOperand y = wnnGraphBuilderAdd(builder, product, wnnGraphBuilderTanh(builder, c, NULL), NULL);
    WNNNamedOperand output = {view("y"), y};
    WNNGraph graph;
    char message[1024] = "";
    WNNStatus status = wnn_build_savable(context, builder, 1, &output, &graph, sizeof message, message);
    if (status)
        printf("%s\n", message);
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static struct serialized compile(WNNContext context)
{
    struct serialized bytes = {0};
    WNNGraph graph = build_product(context);
    REQUIRE_EQUAL_INT(wnn_save_graph(graph, &bytes, 0, NULL), WNNStatus_Success);
    wnnGraphRelease(graph);
    return bytes;
}

static bool equal(WNNStringView view, const char *text)
{
    return view.length == strlen(text) && memcmp(view.data, text, view.length) == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

static void test_tells(void)
{
    WNNTargetInfo here = WNN_TARGET_INFO_INIT, described = WNN_TARGET_INFO_INIT;
    WNNCompiledGraphInfo head = WNN_COMPILED_GRAPH_INFO_INIT;
    WNNContext context = create_here(2);
    REQUIRE_EQUAL_INT(wnnContextGetTarget(context, &here), WNNStatus_Success);
    REQUIRE(equal(here.backend, "cpu") && !here.isDescribed);
    REQUIRE(equal(here.target, describe(wnn_cpu_this_processor()).text));
    struct serialized bytes = compile(context);
    REQUIRE_EQUAL_INT(wnnGetCompiledGraphInfo(bytes.data, bytes.size, &head), WNNStatus_Success);
    REQUIRE(equal(head.target, here.target.data) && equal(head.library, here.library.data));
    const struct description any = describe(wnn_cpu_any_processor());
    WNNContext other = create_for(any.text, 1);
    REQUIRE_EQUAL_INT(wnnContextGetTarget(other, &described), WNNStatus_Success);
    REQUIRE(equal(described.target, any.text) && described.isDescribed);
    REQUIRE_EQUAL_INT(wnnContextGetTarget(NULL, &described), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnContextGetTarget(other, NULL), WNNStatus_TypeError);
    wnnContextDestroy(other); // and still answers
    REQUIRE_EQUAL_INT(wnnContextGetTarget(other, &described), WNNStatus_Success);
    wnnContextRelease(other);
    wnnContextRelease(context);
    free(bytes.data);
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    REQUIRE_EQUAL_INT(wnn_create_context_on(&wnn_backend_dummy, &descriptor, &context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextGetTarget(context, &described), WNNStatus_NotSupportedError);
    wnnContextRelease(context);
}

// As the processor, without a description, with any number of threads.
static void test_same_bytes(void)
{
    WNNContext here = create_here(1);
    struct serialized bytes = compile(here);
    wnnContextRelease(here);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        WNNContext context = create_for(describe(wnn_cpu_this_processor()).text, threads);
        struct serialized again = compile(context);
        REQUIRE(wnn_serialized_equal(&bytes, &again));
        free(again.data);
        wnnContextRelease(context);
    }
    free(bytes.data);
}

// All that there are, most of which this processor is not.
static void test_others(void)
{
    WNNContext here = create_here(2);
    const struct cpu_target *target;
    for (unsigned i = 0; (target = wnn_cpu_known_target(i)); i++) {
        bool own = target == wnn_cpu_this_processor();
        const struct description name = describe(target);
        WNNContext context = create_for(name.text, 2);
        struct serialized bytes = compile(context), again = compile(context);
        REQUIRE(wnn_serialized_equal(&bytes, &again));
        // It loads what is for it, and so does the processor, if it is the processor.
        WNNGraph graph = NULL;
        char message[1024] = "";
        REQUIRE_EQUAL_INT(wnn_load_copy(context, bytes.data, bytes.size, &graph, sizeof message, message),
                          WNNStatus_Success);
        wnnGraphRelease(graph);
        WNNStatus status = wnn_load_copy(here, bytes.data, bytes.size, &graph, sizeof message, message);
        REQUIRE_EQUAL_INT(status, own ? WNNStatus_Success : WNNStatus_NotSupportedError);
        if (own)
            wnn_compute_any(here, graph);
        else
            REQUIRE(strstr(message, name.text) && strstr(message, describe(wnn_cpu_this_processor()).text));
        wnnGraphRelease(graph);
        free(bytes.data);
        free(again.data);
        wnnContextRelease(context);
    }
    wnnContextRelease(here);
}

// A processor with tiles is named as one of the sort that it is of, and only as that.
static void test_tiles(void)
{
    const struct cpu_target *target;
    for (unsigned i = 0; (target = wnn_cpu_known_target(i)); i++) {
        const struct description name = describe(target);
        const char *edition = strchr(strchr(name.text, ',') + 1, ',');
        char with_tiles[MAX_TEXT + 16];
        snprintf(with_tiles, sizeof with_tiles, "%.*s AMX-INT8%s", (int)(edition - name.text), name.text,
                 edition);
        if (!target->avx512_vnni) {
            require_refused(&wnn_backend_cpu, view(with_tiles), NULL, WNNStatus_NotSupportedError,
                            "does not compile for");
            continue;
        }
        WNNContext context = create_for(with_tiles, 1), same = create_for(name.text, 1);
        WNNTargetInfo info = WNN_TARGET_INFO_INIT;
        REQUIRE_EQUAL_INT(wnnContextGetTarget(context, &info), WNNStatus_Success);
        REQUIRE(equal(info.target, name.text));
        struct serialized bytes = compile(context), again = compile(same);
        REQUIRE(wnn_serialized_equal(&bytes, &again));
        free(bytes.data);
        free(again.data);
        wnnContextRelease(context);
        wnnContextRelease(same);
    }
}

static void test_computes_nothing(void)
{
    struct answer answer = {0};
    const struct description name = describe(wnn_cpu_this_processor());
    struct attempt made = attempt(&wnn_backend_cpu, view(name.text), NULL, 1);
    WNNGraph graph = build_product(made.context);
    static float x[9 * 96], y[9 * 200];
    WNNNamedBuffer in = {view("x"), x, sizeof x, WNNDataType_Float32};
    WNNNamedBuffer out = {view("y"), y, sizeof y, WNNDataType_Float32};
    WNNFuture future =
        start_compute(made.context, graph, 1, &in, 1, &out, tell(&answer, WNNCallbackMode_WaitAnyOnly));
    wait_for(made.context, future);
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_NotSupportedError);
    REQUIRE(strstr(answer.message, "compute: the context only compiles") &&
            strstr(answer.message, name.text));
    WNNDispatchDescriptor dispatch = WNN_DISPATCH_DESCRIPTOR_INIT;
    dispatch.graph = graph;
    answer = (struct answer){0};
    wait_for(made.context,
             wnnContextDispatch(made.context, &dispatch, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_NotSupportedError);
    REQUIRE(strstr(answer.message, "dispatch: the context only compiles"));
    const uint32_t shape[] = {2, 2};
    WNNTensorDescriptor tensor = WNN_TENSOR_DESCRIPTOR_INIT;
    tensor.dataType = WNNDataType_Float32;
    tensor.shape = (WNNUint32List){shape, 2};
    WNNTensor none = NULL;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(made.context, &tensor, &none), WNNStatus_NotSupportedError);
    REQUIRE(!none && !wnnContextIsLost(made.context));
    wnnGraphRelease(graph);
    wnnContextRelease(made.context);
}

// Any that is not one of those that there are, by a byte more, less or another one.
static void test_wrong_text(void)
{
    const struct description right = describe(wnn_cpu_this_processor());
    size_t length = strlen(right.text), refused = 0;
    for (size_t i = 0; i < length; i++) {
        require_refused(&wnn_backend_cpu, (WNNStringView){right.text, i}, NULL,
                        i ? WNNStatus_NotSupportedError : WNNStatus_TypeError, "target: ");
        for (unsigned bit = 0; bit < 8; bit++) {
            struct description wrong = right;
            wrong.text[i] ^= (char)(1 << bit);
            struct attempt made = attempt(&wnn_backend_cpu, (WNNStringView){wrong.text, length}, NULL, 1);
            REQUIRE(!made.context);
            REQUIRE(made.error.message[0]);
            REQUIRE_EQUAL_INT(made.error.status, (unsigned char)wrong.text[i] < 128 && wrong.text[i]
                                                     ? WNNStatus_NotSupportedError
                                                     : made.error.status);
            refused++;
        }
    }
    REQUIRE_EQUAL_INT(refused, 8 * length);
    char more[MAX_TEXT + 1];
    snprintf(more, sizeof more, "%s ", right.text);
    require_refused(&wnn_backend_cpu, view(more), NULL, WNNStatus_NotSupportedError, "does not compile for");
    static char long_text[1 << 16];
    memset(long_text, 'x', sizeof long_text - 1);
    require_refused(&wnn_backend_cpu, view(long_text), NULL, WNNStatus_NotSupportedError, "...\"");
}

// What is wrong with it is named.
static void test_reasons(void)
{
    const struct description right = describe(wnn_cpu_this_processor());
    const char *text = right.text, *rest = strchr(text, ',');
    char wrong[2 * MAX_TEXT];
    snprintf(wrong, sizeof wrong, "PDP-11%s", rest);
    require_refused(&wnn_backend_cpu, view(wrong), NULL, WNNStatus_NotSupportedError,
                    "expected its own architecture");
    snprintf(wrong, sizeof wrong, "%.*s, MMX%s", (int)(rest - text), text, strchr(rest + 1, ','));
    require_refused(&wnn_backend_cpu, view(wrong), NULL, WNNStatus_NotSupportedError, "expected one of");
    snprintf(wrong, sizeof wrong, "%.*s, XNNPACK of 1999", (int)(strchr(rest + 1, ',') - text), text);
    require_refused(&wnn_backend_cpu, view(wrong), NULL, WNNStatus_NotSupportedError, "XNNPACK");
    require_refused(&wnn_backend_cpu, view(""), NULL, WNNStatus_TypeError, "no text that describes it");
    require_refused(&wnn_backend_cpu, (WNNStringView){NULL, 7}, NULL, WNNStatus_TypeError, "the target");
    require_refused(&wnn_backend_dummy, view(text), NULL, WNNStatus_NotSupportedError,
                    "the backend dummy compiles only for what it computes on");
    require_refused(&wnn_backend_cpu, view(text), "0", WNNStatus_TypeError, "device");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_tells());
    CASE(test_same_bytes());
    CASE(test_others());
    CASE(test_tiles());
    CASE(test_computes_nothing());
    CASE(test_wrong_text());
    CASE(test_reasons());
    return cases_end();
}
