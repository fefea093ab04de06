// SPDX-License-Identifier: Apache-2.0
//
// Outputs that replace inputs, on the CPU or the backend that the first argument names: a decoder that keeps
// its cache, in place or not, what has to be copied, and what is refused.

#include "conformance/backends.h"
#include "conformance/reference/reference.h"
#include "conformance/unit/graph_fixture.h"

enum {
    MAX_STATES = 8
};

static const struct backend *backend;
static WNNContext context;
static int step_count; // of decoders

// ---------------------------------------------------------------------------------------------------------------
// What is counted
// ---------------------------------------------------------------------------------------------------------------

static atomic_long allocations, passes;

static void *allocate(size_t size, size_t alignment, void *userdata)
{
    (void)userdata;
    void *memory;
    atomic_fetch_add(&allocations, 1);
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0)
        return NULL;
    return memory;
}

static void release(void *memory, size_t size, size_t alignment, void *userdata)
{
    (void)size;
    (void)alignment;
    (void)userdata;
    free(memory);
}

static const WNNAllocator allocator = {NULL, allocate, release, NULL};

static void count_pass(void *argument, const char *pass, const struct graph *graph)
{
    (void)argument;
    (void)pass;
    (void)graph;
    atomic_fetch_add(&passes, 1);
}

static WNNContext create_context_on(const struct backend *on)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.allocator = &allocator;
    WNNContext made = NULL;
    if (wnn_create_context_on(on, &descriptor, &made) == WNNStatus_Success)
        wnn_context_set_compile_options(made, 0, true, count_pass, NULL);
    return made;
}

// ---------------------------------------------------------------------------------------------------------------
// Executions
// ---------------------------------------------------------------------------------------------------------------

// A graph and memory for each of its ports.
struct run {
    WNNContext context;
    struct model model;
    WNNGraph graph;
    const struct graph *plan;
    size_t inputs, outputs;
    WNNNamedTensor in[MAX_STATES], out[MAX_STATES];
    WNNNamedBuffer from[MAX_STATES], to[MAX_STATES];
};

static void begin_run(struct run *run, WNNContext on, const char *blocks)
{
    *run = (struct run){.context = on};
    run->graph = build_blocks(on, "state", blocks, &run->model);
    run->plan = &wnn_graph_plan(run->graph)->graph;
    run->inputs = run->plan->input_count;
    run->outputs = run->plan->output_count;
    REQUIRE(run->inputs <= MAX_STATES && run->outputs <= MAX_STATES);
    for (size_t i = 0; i < run->inputs + run->outputs; i++) {
        bool input = i < run->inputs;
        size_t k = input ? i : i - run->inputs;
        const struct graph_port *port = input ? &run->plan->inputs[k] : &run->plan->outputs[k];
        const struct descriptor *type = &port->operand->type;
        WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
        descriptor.dataType = type->type;
        descriptor.shape = (WNNUint32List){type->shape.dim, type->shape.rank};
        descriptor.readable = descriptor.writable = true;
        WNNNamedTensor *tensor = input ? &run->in[k] : &run->out[k];
        WNNNamedBuffer *buffer = input ? &run->from[k] : &run->to[k];
        size_t bytes = wnn_descriptor_bytes(type);
        tensor->name = wnn_string_view(port->name);
        REQUIRE_EQUAL_INT(wnnContextCreateTensor(on, &descriptor, &tensor->tensor), WNNStatus_Success);
        *buffer =
            (WNNNamedBuffer){tensor->name, aligned_alloc(64, (bytes + 63) / 64 * 64), bytes, type->type};
        REQUIRE(buffer->data);
    }
}

// What was put there more than once goes once.
static void end_run(struct run *run)
{
    for (size_t i = 0; i < run->inputs; i++) {
        wnnTensorRelease(run->in[i].tensor);
        free(run->from[i].data);
    }
    for (size_t i = 0; i < run->outputs; i++) {
        wnnTensorRelease(run->out[i].tensor);
        free(run->to[i].data);
    }
    wnnGraphRelease(run->graph);
    model_end(&run->model);
}

static size_t find(const struct graph_port *ports, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (ports[i].name.length == strlen(name) && memcmp(ports[i].name.data, name, strlen(name)) == 0)
            return i;
    REQUIRE(!"there is no port of that name");
    return 0;
}

static size_t input_of(const struct run *run, const char *name)
{
    return find(run->plan->inputs, run->inputs, name);
}

static size_t output_of(const struct run *run, const char *name)
{
    return find(run->plan->outputs, run->outputs, name);
}

static void fill(struct run *run, const char *name, int salt)
{
    size_t i = input_of(run, name);
    const struct descriptor *type = &run->plan->inputs[i].operand->type;
    uint32_t random = 12345u + (uint32_t)salt;
    for (size_t k = 0; k < wnn_shape_elements(&type->shape); k++) {
        random = random * 1664525u + 1013904223u;
        WNNNumber number = wnnNumberFloat64((double)(int)(random >> 24) / 16 - 8);
        wnn_number_store(wnn_number_convert(number, type->type), type->type, run->from[i].data, k);
    }
}

static void write_inputs(const struct run *run)
{
    for (size_t i = 0; i < run->inputs; i++)
        wnnContextWriteTensor(run->context, run->in[i].tensor, run->from[i].data, run->from[i].byteLength);
}

static WNNFuture start_dispatch(const struct run *run, const WNNNamedTensor *out, struct answer *answer)
{
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.graph = run->graph;
    descriptor.inputCount = run->inputs;
    descriptor.outputCount = run->outputs;
    descriptor.inputs = run->in;
    descriptor.outputs = out;
    return wnnContextDispatch(run->context, &descriptor, tell(answer, WNNCallbackMode_WaitAnyOnly));
}

static void dispatch(const struct run *run, const WNNNamedTensor *out)
{
    struct answer answer = {0};
    wait_for(run->context, start_dispatch(run, out, &answer));
    REQUIRE_EQUAL_STR(answer.message, "");
}

static void read_tensor(const struct run *run, WNNTensor tensor, void *data, size_t bytes)
{
    REQUIRE_EQUAL_INT(wnnContextReadTensorSync(run->context, tensor, data, bytes, 0, NULL),
                      WNNStatus_Success);
}

static WNNFuture start_compute_on(const struct run *run, const WNNNamedBuffer *in, const WNNNamedBuffer *out,
                                  struct answer *answer)
{
    return start_compute(run->context, run->graph, run->inputs, in, run->outputs, out,
                         tell(answer, WNNCallbackMode_WaitAnyOnly));
}

// An output, "y", in the place of an input, "x".
struct replacement {
    const char *y, *x;
};

static void replace(const struct run *run, const struct replacement *list, size_t count, WNNNamedTensor *out,
                    WNNNamedBuffer *to)
{
    memcpy(out, run->out, sizeof run->out);
    memcpy(to, run->to, sizeof run->to);
    for (size_t i = 0; i < count; i++) {
        size_t y = output_of(run, list[i].y), x = input_of(run, list[i].x);
        out[y].tensor = run->in[x].tensor;
        to[y].data = run->from[x].data;
    }
}

#define REPLACE(run, out, to, ...)                                                                           \
    replace(run, (const struct replacement[]){__VA_ARGS__},                                                  \
            sizeof(const struct replacement[]){__VA_ARGS__} / sizeof(struct replacement), out, to)

// Computes in memory of its own, then with the replacements, in tensors and in memory: all gives the same.
// The outputs stay in run->to.
static void require_same(struct run *run, const struct replacement *list, size_t count)
{
    WNNNamedTensor out[MAX_STATES];
    WNNNamedBuffer to[MAX_STATES];
    struct answer answer = {0};
    compute_buffers(run->context, run->graph, run->inputs, run->from, run->outputs, run->to);
    replace(run, list, count, out, to);
    for (int turn = 0; turn < 3; turn++) { // on memory that was prepared for it, too
        write_inputs(run);
        dispatch(run, out);
        for (size_t i = 0; i < run->outputs; i++) {
            void *data = malloc(to[i].byteLength);
            REQUIRE(data);
            read_tensor(run, out[i].tensor, data, to[i].byteLength);
            bool same = memcmp(data, run->to[i].data, to[i].byteLength) == 0;
            free(data);
            REQUIRE(same);
        }
    }
    wait_for(run->context, start_compute_on(run, run->from, to, &answer));
    REQUIRE_EQUAL_STR(answer.message, "");
    for (size_t i = 0; i < run->outputs; i++)
        REQUIRE(memcmp(to[i].data, run->to[i].data, to[i].byteLength) == 0);
}

#define REQUIRE_SAME(run, ...)                                                                               \
    require_same(run, (const struct replacement[]){__VA_ARGS__},                                             \
                 sizeof(const struct replacement[]){__VA_ARGS__} / sizeof(struct replacement))

// ---------------------------------------------------------------------------------------------------------------
// A decoder
// ---------------------------------------------------------------------------------------------------------------

// Heads of 16, a cache of 2,048 places. All of its state is replaced: a step is one dispatch.
static const char decoder[] =
    "inputs { k: f32[4, 2048, 16]; v: f32[4, 2048, 16]; at: i32[1, 1, 1]; x: f32[4, 1, 16]; }"
    "consts { w: f32[16, 16] @scalar(0.0625); one: i32[] @scalar(1); half: f32[] @scalar(0.5);"
    "  heads: i32[4, 1, 1] @bytes([0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]); }"
    "nodes {"
    "  places = expand(at, newShape=[4, 1, 1]);"
    "  where = concat([heads, places], axis=2);"
    "  a = sin(x);"
    "  key = matmul(a, w);"
    "  value = add(a, key);"
    "  keys = scatterND(k, where, key);"
    "  values = scatterND(v, where, value);"
    "  turned = transpose(keys, permutation=[0, 2, 1]);"
    "  scores = matmul(x, turned);"
    "  weights = softmax(scores, axis=2);"
    "  found = matmul(weights, values);"
    "  scaled = mul(x, half);"
    "  y = add(scaled, found);"
    "  next = add(at, one);"
    "}"
    "outputs { keys; values; next; y }";

static void start_decoding(struct run *run)
{
    memset(run->from[input_of(run, "k")].data, 0, run->from[input_of(run, "k")].byteLength);
    memset(run->from[input_of(run, "v")].data, 0, run->from[input_of(run, "v")].byteLength);
    *(int32_t *)run->from[input_of(run, "at")].data = 0;
    fill(run, "x", 1);
    write_inputs(run);
}

static void require_same_state(const struct run *a, const struct run *b, const WNNNamedTensor *in_a,
                               const WNNNamedTensor *in_b)
{
    for (size_t i = 0; i < a->inputs; i++) {
        size_t bytes = a->from[i].byteLength;
        void *one = malloc(bytes), *other = malloc(bytes);
        REQUIRE(one && other);
        read_tensor(a, in_a[i].tensor, one, bytes);
        read_tensor(b, in_b[i].tensor, other, bytes);
        bool same = memcmp(one, other, bytes) == 0;
        free(one);
        free(other);
        REQUIRE(same);
    }
}

// Steps that took memory, after the first ones.
struct steady {
    long seen, first, later;
};

static void steady_step(struct steady *steady, int step)
{
    long now = allocations;
    if (now != steady->seen)
        *(step <= 16 ? &steady->first : &steady->later) += 1;
    steady->seen = now;
}

// Step by step beside a run whose outputs are the next step's inputs.
static void test_decoder(void)
{
    static const struct replacement all[] = {{"keys", "k"}, {"values", "v"}, {"next", "at"}, {"y", "x"}};
    struct run run, apart;
    begin_run(&run, context, decoder);
    begin_run(&apart, context, decoder);
    WNNNamedTensor out[MAX_STATES], apart_out[MAX_STATES];
    WNNNamedBuffer to[MAX_STATES];
    start_decoding(&run);
    start_decoding(&apart);
    replace(&run, all, 4, out, to);
    memcpy(apart_out, apart.out, sizeof apart_out);
    wnnGraphSetProfiling(run.graph, true);
    dispatch(&run, out);
    WNNNodeProfile nodes[32];
    size_t count = profile_of(run.graph, NULL, 32, nodes), planned = nodes_of(run.graph, 0, NULL);
    wnnGraphSetProfiling(run.graph, false);
    REQUIRE_EQUAL_INT(count, planned); // nothing was copied
    struct steady steady = {0};
    long compiled = passes;
    for (int step = 1; step < step_count; step++) {
        dispatch(&run, out);
        steady_step(&steady, step);
    }
    REQUIRE_EQUAL_INT(steady.later, 0);
    REQUIRE_EQUAL_INT(passes, compiled);
    for (int step = 0; step < step_count; step++) {
        dispatch(&apart, apart_out);
        for (size_t i = 0; i < 4; i++) {
            size_t x = input_of(&apart, all[i].x), y = output_of(&apart, all[i].y);
            WNNTensor old = apart.in[x].tensor;
            apart.in[x].tensor = apart_out[y].tensor;
            apart_out[y].tensor = apart.out[y].tensor = old;
        }
    }
    require_same_state(&run, &apart, run.in, apart.in);
    int32_t steps;
    read_tensor(&run, run.in[input_of(&run, "at")].tensor, &steps, sizeof steps);
    REQUIRE_EQUAL_INT(steps, step_count);
    end_run(&run);
    end_run(&apart);
}

// The same on memory of the caller's.
static void test_decoder_in_memory(void)
{
    static const struct replacement all[] = {{"keys", "k"}, {"values", "v"}, {"next", "at"}, {"y", "x"}};
    struct run run, tensors;
    begin_run(&run, context, decoder);
    begin_run(&tensors, context, decoder);
    WNNNamedTensor out[MAX_STATES];
    WNNNamedBuffer to[MAX_STATES];
    start_decoding(&run);
    start_decoding(&tensors);
    replace(&tensors, all, 4, out, to);
    replace(&run, all, 4, out, to);
    struct steady steady = {0};
    int before = atomic_load(&passes);
    for (int step = 0; step < step_count; step++) {
        struct answer answer = {0};
        wait_for(context, start_compute_on(&run, run.from, to, &answer));
        REQUIRE_EQUAL_STR(answer.message, "");
        steady_step(&steady, step);
    }
    REQUIRE_EQUAL_INT(steady.later, 0);
    REQUIRE_EQUAL_INT(atomic_load(&passes), before); // nothing was compiled again
    replace(&tensors, all, 4, out, to);
    for (int step = 0; step < step_count; step++)
        dispatch(&tensors, out);
    for (size_t i = 0; i < run.inputs; i++) {
        void *data = malloc(run.from[i].byteLength);
        REQUIRE(data);
        read_tensor(&tensors, tensors.in[i].tensor, data, run.from[i].byteLength);
        bool same = memcmp(data, run.from[i].data, run.from[i].byteLength) == 0;
        free(data);
        REQUIRE(same);
    }
    end_run(&run);
    end_run(&tensors);
}

// A device that is slower than it was thought to be is measured at first, and what it gets is recorded anew,
// some times. Then no step takes memory.
static void test_learning(void)
{
    static const struct replacement all[] = {{"keys", "k"}, {"values", "v"}, {"next", "at"}, {"y", "x"}};
    struct run run;
    WNNNamedTensor out[MAX_STATES];
    WNNNamedBuffer to[MAX_STATES];
    struct steady steady = {0};
    begin_run(&run, context, decoder);
    start_decoding(&run);
    replace(&run, all, 4, out, to);
    dispatch(&run, out);
    steady.seen = allocations;
    for (int step = 1; step < 64; step++) {
        dispatch(&run, out);
        steady_step(&steady, step);
    }
    REQUIRE(steady.first > 1);
    REQUIRE_EQUAL_INT(steady.later, 0);
    end_run(&run);
}

// ---------------------------------------------------------------------------------------------------------------
// Updates
// ---------------------------------------------------------------------------------------------------------------

// The outputs of the same inputs on the reference.
static void require_right(const struct run *run, const char *blocks)
{
    WNNContext plain = create_context_on(&wnn_backend_reference);
    struct run right;
    begin_run(&right, plain, blocks);
    for (size_t i = 0; i < run->inputs; i++)
        memcpy(right.from[i].data, run->from[i].data, run->from[i].byteLength);
    compute_buffers(plain, right.graph, right.inputs, right.from, right.outputs, right.to);
    for (size_t i = 0; i < run->outputs; i++)
        REQUIRE(memcmp(run->to[i].data, right.to[i].data, right.to[i].byteLength) == 0);
    end_run(&right);
    wnnContextRelease(plain);
}

// Rows, elements and slices of every type, in place: few updates and many, of whole words and of parts, and
// several of one place.
static void test_updates(const char *type)
{
    static const char *const graphs[] = {
        "inputs { c: %s[3, 40, 6]; i: i32[5, 2]; u: %s[5, 6]; }"
        "nodes { y = scatterND(c, i, u); } outputs { y }",
        "inputs { c: %s[3, 40, 8]; i: i64[90, 2]; u: %s[90, 8]; }"
        "nodes { y = scatterND(c, i, u); } outputs { y }",
        "inputs { c: %s[7, 11, 3]; i: u32[200, 3]; u: %s[200]; }"
        "nodes { y = scatterND(c, i, u); } outputs { y }",
        "inputs { c: %s[3, 40, 5]; i: i32[3, 4, 5]; u: %s[3, 4, 5]; }"
        "nodes { y = scatterElements(c, i, u, axis=1); } outputs { y }",
        "inputs { c: %s[90, 3]; i: i32[80, 3]; u: %s[80, 3]; }"
        "nodes { y = scatterElements(c, i, u, axis=0); } outputs { y }",
        "inputs { c: %s[2, 9, 64]; u: %s[2, 1, 64]; }"
        "nodes { a = slice(c, starts=[0, 0, 0], sizes=[2, 4, 64]); b = slice(c, starts=[0, 5, 0], sizes=[2, "
        "4, 64]);"
        "  y = concat([a, u, b], axis=1); } outputs { y }",
    };
    for (size_t g = 0; g < sizeof graphs / sizeof graphs[0]; g++) {
        char blocks[1024];
        snprintf(blocks, sizeof blocks, graphs[g], type, type);
        struct run run;
        begin_run(&run, context, blocks);
        fill(&run, "c", 1);
        fill(&run, "u", 2);
        if (run.inputs == 3)
            fill(&run, "i", 3);
        void *cache = malloc(run.from[0].byteLength);
        REQUIRE(cache);
        memcpy(cache, run.from[input_of(&run, "c")].data, run.from[input_of(&run, "c")].byteLength);
        wnnGraphSetProfiling(run.graph, true);
        REQUIRE_SAME(&run, {"y", "c"});
        REQUIRE_EQUAL_INT(profile_of(run.graph, NULL, 0, NULL), nodes_of(run.graph, 0, NULL));
        memcpy(run.from[input_of(&run, "c")].data, cache, run.from[input_of(&run, "c")].byteLength);
        free(cache);
        require_right(&run, blocks);
        end_run(&run);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// What has to be copied
// ---------------------------------------------------------------------------------------------------------------

static uint64_t copies_of(const struct run *run, const char *output)
{
    WNNNodeProfile nodes[32];
    size_t count = profile_of(run->graph, NULL, 32, nodes), planned = nodes_of(run->graph, 0, NULL);
    for (size_t i = planned; i < count && i < 32; i++) {
        REQUIRE_EQUAL_VIEW(nodes[i].operation, "copy");
        REQUIRE_EQUAL_VIEW(nodes[i].kernel, "copy");
        REQUIRE(nodes[i].bytes > 0 && nodes[i].operations == 0);
        if (nodes[i].label.length == strlen(output) &&
            memcmp(nodes[i].label.data, output, strlen(output)) == 0)
            return nodes[i].runs;
    }
    return 0;
}

// a and b change places: at least one of them waits for the other's readers.
static void test_swapped(void)
{
    struct run run;
    begin_run(&run, context,
              "inputs { a: f32[70, 3]; b: f32[70, 3]; }"
              "nodes { p = transpose(b); q = reshape(p, newShape=[70, 3]);"
              "  r = softmax(a, axis=0); } outputs { q; r }");
    fill(&run, "a", 1);
    fill(&run, "b", 2);
    wnnGraphSetProfiling(run.graph, true);
    REQUIRE_SAME(&run, {"q", "a"}, {"r", "b"});
    REQUIRE(copies_of(&run, "q") + copies_of(&run, "r") >= 3);
    end_run(&run);
}

// What hands inputs on.
static void test_handed_on(void)
{
    struct run run;
    begin_run(&run, context,
              "inputs { a: f16[33]; b: f16[33]; c: i8[5, 7]; }"
              "nodes { p = identity(b); q = identity(a); r = identity(c); s = neg(a); }"
              "outputs { p; q; r; s }");
    fill(&run, "a", 1);
    fill(&run, "b", 2);
    fill(&run, "c", 3);
    REQUIRE_SAME(&run, {"p", "a"}, {"q", "b"}, {"r", "c"});
    fill(&run, "a", 4);
    REQUIRE_SAME(&run, {"p", "b"}, {"s", "a"});
    end_run(&run);
}

// An input that is read when the output has been written, which depends on that; and one that is moved.
static void test_read_later(void)
{
    struct run run;
    begin_run(&run, context,
              "inputs { a: f32[64, 64]; b: f32[64, 64]; row: f32[1, 64]; }"
              "nodes { y = neg(a); t = matmul(y, a);"
              "  rest = slice(b, starts=[1, 0], sizes=[63, 64]);"
              "  z = concat([rest, row], axis=0); } outputs { y; t; z }");
    fill(&run, "a", 1);
    fill(&run, "b", 2);
    fill(&run, "row", 3);
    wnnGraphSetProfiling(run.graph, true);
    REQUIRE_SAME(&run, {"y", "a"}, {"z", "b"});
    REQUIRE_EQUAL_INT(copies_of(&run, "y"),
                      backend->tensor_create ? 3 : 4); // compute() on a device copies all
    REQUIRE_EQUAL_INT(copies_of(&run, "z"), backend->tensor_create ? 3 : 4);
    REQUIRE_EQUAL_INT(copies_of(&run, "t"), 0);
    end_run(&run);
}

// One tensor is two inputs, and the output.
static void test_one_tensor(void)
{
    struct run run;
    begin_run(&run, context,
              "inputs { a: f32[2, 2]; b: f32[2, 2]; }"
              "nodes { s = add(a, b); m = matmul(a, b); } outputs { s; m }");
    static const float x[] = {1, 2, 3, 4}, sum[] = {2, 4, 6, 8}, product[] = {7, 10, 15, 22};
    float got[4];
    WNNNamedTensor out[MAX_STATES];
    WNNNamedBuffer to[MAX_STATES];
    struct answer answer = {0};
    wnnTensorRelease(run.in[1].tensor);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "m" : "s";
        run.in[1].tensor = run.in[0].tensor;
        REPLACE(&run, out, to, {name, "a"});
        wnnContextWriteTensor(context, run.in[0].tensor, x, sizeof x);
        dispatch(&run, out);
        read_tensor(&run, out[output_of(&run, "s")].tensor, got, sizeof got);
        REQUIRE(memcmp(got, sum, sizeof got) == 0);
        read_tensor(&run, out[output_of(&run, "m")].tensor, got, sizeof got);
        REQUIRE(memcmp(got, product, sizeof got) == 0);
        WNNNamedBuffer from[] = {run.from[0], run.from[1]};
        from[1].data = from[0].data;
        REPLACE(&run, out, to, {name, "a"});
        memcpy(from[0].data, x, sizeof x);
        wait_for(context, start_compute_on(&run, from, to, &answer));
        REQUIRE_EQUAL_STR(answer.message, "");
        REQUIRE(memcmp(to[output_of(&run, "s")].data, sum, sizeof sum) == 0);
        REQUIRE(memcmp(to[output_of(&run, "m")].data, product, sizeof product) == 0);
    }
    wnnTensorRelease(run.in[0].tensor);
    free(run.from[0].data);
    for (size_t i = 0; i < run.outputs; i++) {
        wnnTensorRelease(run.out[i].tensor);
        free(run.to[i].data);
    }
    free(run.from[1].data);
    wnnGraphRelease(run.graph);
    model_end(&run.model);
}

// ---------------------------------------------------------------------------------------------------------------
// What is refused
// ---------------------------------------------------------------------------------------------------------------

static void test_refused(void)
{
    struct run run;
    begin_run(&run, context,
              "inputs { a: f32[4]; b: f32[4]; }"
              "nodes { y = add(a, b); z = cast(a, dataType=\"int32\"); } outputs { y; z }");
    WNNNamedTensor out[MAX_STATES];
    WNNNamedBuffer to[MAX_STATES];
    struct answer answer = {0};
    fill(&run, "a", 1);
    fill(&run, "b", 2);
    memcpy(to, run.to, sizeof to);
    to[output_of(&run, "z")].data = to[output_of(&run, "y")].data;
    wait_for(context, start_compute_on(&run, run.from, to, &answer));
    REQUIRE_EQUAL_STR(answer.message, "compute: the memory of \"y\" and that of \"z\" overlap");
    REPLACE(&run, out, to, {"z", "a"}); // of another type
    wait_for(context, start_compute_on(&run, run.from, to, &answer));
    REQUIRE_EQUAL_STR(answer.message, "compute: the memory of \"a\" and that of \"z\" overlap");
    REPLACE(&run, out, to, {"y", "a"});
    WNNNamedBuffer from[] = {run.from[0], run.from[1]};
    from[input_of(&run, "b")].data = (char *)run.from[input_of(&run, "a")].data + 4;
    wait_for(context, start_compute_on(&run, from, to, &answer));
    REQUIRE_EQUAL_STR(answer.message, "compute: the memory of \"b\" and that of \"y\" overlap");
    end_run(&run);
}

// What is one tensor is of one type and shape; what was to be replaced is as it was.
static void test_tensors_refused(void)
{
    struct run run;
    begin_run(&run, context,
              "inputs { a: f32[4]; b: f32[4]; c: f32[2, 2]; }"
              "nodes { y = add(a, b); z = cast(a, dataType=\"int32\"); w = neg(c); } outputs { y; z; w }");
    static const struct {
        struct replacement replaced;
        const char *message;
    } wrong[] = {
        {{"z", "a"}, "dispatch: output \"z\": the tensor is float32 [4]; expected int32 [4]"},
        {{"y", "c"}, "dispatch: output \"y\": the tensor is float32 [2, 2]; expected float32 [4]"},
        {{"w", "b"}, "dispatch: output \"w\": the tensor is float32 [4]; expected float32 [2, 2]"},
    };
    WNNNamedTensor out[MAX_STATES];
    WNNNamedBuffer to[MAX_STATES];
    fill(&run, "a", 1);
    fill(&run, "b", 2);
    fill(&run, "c", 3);
    write_inputs(&run);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct answer answer = {0};
        float now[4];
        size_t x = input_of(&run, wrong[i].replaced.x);
        replace(&run, &wrong[i].replaced, 1, out, to);
        wait_for(context, start_dispatch(&run, out, &answer));
        REQUIRE_EQUAL_INT(answer.status, WNNStatus_TypeError);
        REQUIRE_EQUAL_STR(answer.message, wrong[i].message);
        read_tensor(&run, run.in[x].tensor, now, sizeof now);
        REQUIRE(memcmp(now, run.from[x].data, sizeof now) == 0);
    }
    end_run(&run);
    // Two outputs cannot replace one input.
    struct answer answer = {0};
    begin_run(&run, context, "inputs { a: f32[4]; } nodes { y = neg(a); z = abs(a); } outputs { y; z }");
    fill(&run, "a", 1);
    write_inputs(&run);
    memcpy(out, run.out, sizeof out);
    out[0].tensor = out[1].tensor = run.in[0].tensor;
    wait_for(context, start_dispatch(&run, out, &answer));
    REQUIRE_EQUAL_STR(answer.message, "dispatch: \"y\" and \"z\" are the same tensor");
    end_run(&run);
}

int main(int argc, char **argv)
{
    bool named = argc > 1 && find_backend(argv[1]);
    backend = find_backend(named ? argv[1] : "cpu");
    context = create_context_on(backend);
    if (!context) {
        printf("skipped: no context on %s\n", backend->name);
        return 77;
    }
    cases_begin(argc - named, argv + named);
    // A processor that plays the device, perhaps with layers that look at all it does, takes minutes for
    // more.
    step_count = backend->submit ? 128 : SANITIZED ? 512 : 2048;
    // Where nothing else decides how long steps take, they take no memory.
    WNNContext usual = context;
    const struct backend *slow = backend->submit ? find_backend("vulkan-hurried") : NULL;
    context = backend->submit ? create_context_on(find_backend("vulkan-unhurried")) : usual;
    CASE(test_decoder());
    CASE(test_decoder_in_memory());
    if (context != usual)
        wnnContextRelease(context);
    if (slow) {
        context = create_context_on(slow);
        CASE(test_learning());
        wnnContextRelease(context);
    }
    context = usual;
    static const char *const types[] = {"f32", "f16", "i32", "u32", "i64", "u64", "i8", "u8"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        CASE_AS(case_name("updates of %s", types[i]), test_updates(types[i]));
    CASE(test_swapped());
    CASE(test_handed_on());
    CASE(test_read_later());
    CASE(test_one_tensor());
    CASE(test_refused());
    CASE(test_tensors_refused());
    wnnContextRelease(context);
    return cases_end();
}
