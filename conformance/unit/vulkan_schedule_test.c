// SPDX-License-Identifier: Apache-2.0
//
// The order in which steps are recorded, and the barriers between them.

#include "conformance/unit/fault_layer.h"
#include "conformance/unit/runtime_fixture.h"
#include "vulkan/device/open.h"
#include "vulkan/program/schedule.h"
#include "vulkan/vulkan.h"

// ---------------------------------------------------------------------------------------------------------------
// Steps on pieces of one buffer
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_STEPS = 1024
};

static const struct buffer memory = {.handle = (VkBuffer)(uintptr_t)1};
static struct step steps[MAX_STEPS];
static size_t step_count;
static struct slot slots[MAX_STEPS];

static struct binding piece(size_t number, bool writes)
{
    return (struct binding){{&memory, 8 * number, 8}, writes};
}

// One that makes piece `to` of pieces `a` and `b`.
static struct step *add(size_t a, size_t b, size_t to)
{
    static const struct node node;
    struct step *step = &steps[step_count];
    *step = (struct step){
        .node = &node, .binding_count = 3, .bindings = {piece(a, false), piece(b, false), piece(to, true)}};
    if (step_count++ > 0)
        step[-1].next = step;
    return step;
}

// The highest level.
static size_t schedule(bool in_order)
{
    struct allocator allocator;
    struct arena arena;
    size_t count;
    const struct program program = {.first = steps};
    wnn_allocator_init(&allocator, NULL, 0);
    wnn_arena_init(&arena, &allocator);
    const struct slot *made =
        wnn_program_schedule(&program, &(struct record_params){0}, in_order, &arena, &count);
    REQUIRE(made);
    REQUIRE_EQUAL_INT(count, step_count);
    memcpy(slots, made, count * sizeof slots[0]);
    wnn_arena_free(&arena);
    step_count = 0;
    return slots[count - 1].level;
}

static void require_order(const char *positions, const char *levels)
{
    for (size_t i = 0; positions[i]; i++) {
        REQUIRE_EQUAL_INT(slots[i].position, positions[i] - '0');
        REQUIRE_EQUAL_INT(slots[i].level, levels[i] - '0');
        REQUIRE(slots[i].step == &steps[slots[i].position]);
    }
}

// Two branches that meet.
static void add_branches(void)
{
    add(0, 0, 1);
    add(1, 0, 2);
    add(0, 0, 3);
    add(3, 0, 4);
    add(2, 4, 5);
}

static void test_order(void)
{
    add_branches();
    REQUIRE_EQUAL_INT(schedule(false), 2);
    require_order("02134", "00112");
    add_branches();
    REQUIRE_EQUAL_INT(schedule(true), 3);
    require_order("01234", "01123");

    // What is written waits for those that read or wrote it before.
    add(0, 0, 1);
    add(1, 1, 2);
    add(0, 0, 1);
    add(0, 0, 1);
    REQUIRE_EQUAL_INT(schedule(false), 3);
    require_order("0123", "0123");

    // Nothing passes from one submission into another, nor nodes copies.
    add_branches();
    steps[2].submission = steps[3].submission = steps[4].submission = 1;
    REQUIRE_EQUAL_INT(schedule(false), 3);
    require_order("01234", "01123");
    add_branches();
    steps[2].node = NULL;
    REQUIRE_EQUAL_INT(schedule(false), 3);
    require_order("01234", "01123");
}

// Many steps, each after at most two others; the last of some wait for what was long before them.
static void test_random(void)
{
    unsigned seed = 1;
    for (size_t i = 1; i < MAX_STEPS; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t back = (seed >> 8) % 7 == 0 ? 400 : 20;
        add(i - 1 - (seed >> 12) % (i < back ? i : back), i - 1 - (seed >> 20) % (i < back ? i : back),
            i % 50 == 0 ? i / 2 : i);
    }
    schedule(false);
    for (size_t i = 0; i + 1 < MAX_STEPS; i++) {
        steps[slots[i].position].barriers = slots[i].level;
        REQUIRE(i == 0 || slots[i].level == slots[i - 1].level || slots[i].level == slots[i - 1].level + 1);
    }
    struct error error = {0};
    const struct program program = {.first = steps};
    REQUIRE(wnn_program_check(&program, &(struct record_params){0}, &error));
}

// ---------------------------------------------------------------------------------------------------------------
// A graph
// ---------------------------------------------------------------------------------------------------------------

static bool create_state(const struct backend_options *options, void **state, struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.get = fault_get}, state, error);
}

enum {
    BRANCHES = 4,
    SIZE = 24
};

// The barriers of four branches of so many rows of softmax, recorded one branch behind the other.
static unsigned count_barriers(WNNContext context, unsigned depth)
{
    static const char inputs[BRANCHES][2] = {"a", "b", "c", "d"}, outputs[BRANCHES][2] = {"e", "f", "g", "h"};
    static float x[BRANCHES][SIZE * SIZE], y[BRANCHES][SIZE * SIZE];
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand named[BRANCHES];
    WNNNamedBuffer from[BRANCHES], to[BRANCHES];
    for (unsigned i = 0; i < BRANCHES; i++) {
        WNNOperand z = add_input(builder, inputs[i], SIZE, SIZE);
        for (unsigned k = 0; k < depth; k++)
            z = wnnGraphBuilderSoftmax(builder, z, k % 2, NULL);
        named[i] = (WNNNamedOperand){view(outputs[i]), z};
        from[i] = (WNNNamedBuffer){view(inputs[i]), x[i], sizeof x[i], WNNDataType_Float32};
        to[i] = (WNNNamedBuffer){view(outputs[i]), y[i], sizeof y[i], WNNDataType_Float32};
    }
    unsigned before = fault_barriers();
    WNNGraph graph = build_outputs(context, builder, BRANCHES, named);
    compute_buffers(context, graph, BRANCHES, from, BRANCHES, to);
    unsigned barriers = fault_barriers() - before;
    for (unsigned i = 0; i < BRANCHES; i++)
        for (unsigned k = 0; k < SIZE * SIZE; k++)
            REQUIRE(y[i][k] * SIZE > 0.99f && y[i][k] * SIZE < 1.01f);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    return barriers;
}

// Each level more needs one barrier more, whatever copies around them need.
static bool test_barriers(void)
{
    static struct backend counted;
    struct answer answer = {0};
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    WNNContext context;
    counted = wnn_backend_vulkan;
    counted.create = create_state;
    if (wnn_create_context_on(&counted, &descriptor, &context) != WNNStatus_Success) {
        fprintf(stderr, "skipped: %s\n", answer.message);
        return false;
    }
    unsigned one = count_barriers(context, 1);
    REQUIRE_EQUAL_INT(count_barriers(context, 2), one + 1);
    REQUIRE_EQUAL_INT(count_barriers(context, 5), one + 4);
    wnnContextRelease(context);
    return true;
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_order());
    CASE(test_random());
    if (!fault_begin() || !test_barriers())
        return cases_skip("there is no device");
    fault_end();
    return cases_end();
}
