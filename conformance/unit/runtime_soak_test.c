// SPDX-License-Identifier: Apache-2.0
//
// The same graph, inputs and thread count give the same bits, whatever else runs: contexts of several thread
// counts compute random graphs one after the other, and then all at once, each on a thread of its own, on
// these contexts and on new ones. Before patterns: --seconds=N, --seed=N; an hour if the environment says
// WNN_LONG=1.

#include "conformance/cross/generate.h"
#include "conformance/unit/runtime_fixture.h"

enum {
    CONTEXTS = 5,
    GRAPHS = 16,       // of one context and round
    MAX_OUTPUTS = 16,  // of one graph
    ROUND_SECONDS = 5, // after which there are other graphs
    SHORT_SECONDS = 4,
    LONG_SECONDS = 3600
};

// A random graph, built, and what it gave when nothing else ran.
struct sample {
    struct random_graph *recorded;
    WNNGraph graph;
    WNNNamedBuffer *inputs, outputs[MAX_OUTPUTS];
    size_t input_count, output_count;
    char *expected[MAX_OUTPUTS];
};

struct member {
    WNNContextDescriptor descriptor;
    WNNContext context;
    struct sample samples[GRAPHS];
    uint64_t seed, random;
    unsigned long executions;
    double end;
};

static unsigned below(struct member *member, unsigned end)
{
    member->random = member->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(member->random >> 33) % end;
}

static size_t bytes_of(const WNNOperandDescriptor *descriptor)
{
    struct descriptor type = {.type = descriptor->dataType};
    wnn_shape_append(&type.shape, descriptor->shape.data, (unsigned)descriptor->shape.count);
    return wnn_descriptor_bytes(&type);
}

// The same seed gives the same graph on every context. NULL if it has no outputs.
static WNNGraph build_random(WNNContext context, uint64_t seed, struct random_graph *recorded)
{
    WNNGraphBuilder builder = create_builder(context);
    wnn_random_graph(seed, (struct random_kind){.small = false}, builder, recorded);
    WNNNamedOperand outputs[MAX_OUTPUTS];
    size_t count = 0;
    for (; count < recorded->output_count && count < MAX_OUTPUTS; count++)
        outputs[count] =
            (WNNNamedOperand){view(recorded->outputs[count].name), recorded->outputs[count].value->operand};
    WNNGraph graph = count && !recorded->refused ? build_outputs(context, builder, count, outputs) : NULL;
    wnnGraphBuilderRelease(builder);
    return graph;
}

static const struct random_input *find_input(const struct random_graph *recorded, WNNStringView name)
{
    for (size_t i = 0; i < recorded->input_count; i++)
        if (strlen(recorded->inputs[i].name) == name.length &&
            memcmp(recorded->inputs[i].name, name.data, name.length) == 0)
            return &recorded->inputs[i];
    return NULL;
}

static void make_sample(struct sample *sample, WNNContext context, uint64_t seed)
{
    *sample = (struct sample){.recorded = malloc(sizeof *sample->recorded)};
    REQUIRE(sample->recorded);
    sample->graph = build_random(context, seed, sample->recorded);
    if (!sample->graph)
        return;
    const WNNNamedDescriptor *list = wnnGraphGetInputs(sample->graph, &sample->input_count);
    sample->inputs = calloc(sample->input_count + 1, sizeof sample->inputs[0]);
    REQUIRE(sample->inputs);
    for (size_t i = 0; i < sample->input_count; i++) {
        const struct random_input *input = find_input(sample->recorded, list[i].name);
        REQUIRE(input);
        sample->inputs[i] = (WNNNamedBuffer){view(input->name), input->data, input->bytes, input->type.type};
    }
    list = wnnGraphGetOutputs(sample->graph, &sample->output_count);
    for (size_t i = 0; i < sample->output_count; i++) {
        size_t bytes = bytes_of(&list[i].descriptor);
        sample->expected[i] = malloc(bytes);
        sample->outputs[i] = (WNNNamedBuffer){view(sample->recorded->outputs[i].name), malloc(bytes), bytes,
                                              list[i].descriptor.dataType};
        REQUIRE(sample->expected[i] && sample->outputs[i].data);
    }
}

static void free_sample(struct sample *sample)
{
    wnnGraphRelease(sample->graph);
    for (size_t i = 0; i < sample->output_count; i++) {
        free(sample->expected[i]);
        free(sample->outputs[i].data);
    }
    wnn_random_graph_free(sample->recorded);
    free(sample->recorded);
    free(sample->inputs);
}

static void run(const struct member *member, WNNContext context, WNNGraph graph, struct sample *sample,
                int pattern)
{
    for (size_t i = 0; i < sample->output_count; i++)
        memset(sample->outputs[i].data, pattern, sample->outputs[i].byteLength);
    compute_buffers(context, graph, sample->input_count, sample->inputs, sample->output_count,
                    sample->outputs);
    for (size_t i = 0; i < sample->output_count; i++)
        if (pattern == 0) {
            memcpy(sample->expected[i], sample->outputs[i].data, sample->outputs[i].byteLength);
        } else if (memcmp(sample->expected[i], sample->outputs[i].data, sample->outputs[i].byteLength) != 0) {
            fprintf(stderr, "graph of seed %llu, %u threads%s%s: output %zu is not what it was\n",
                    (unsigned long long)(member->seed + (uint64_t)(sample - member->samples)),
                    member->descriptor.threadCount, member->descriptor.strictNumerics ? ", strict" : "",
                    graph == sample->graph ? "" : ", built again", i);
            case_fail();
        }
}

// The same graph on a context that begins now.
static void run_anew(struct member *member, struct sample *sample)
{
    WNNContext context;
    struct random_graph *recorded = malloc(sizeof *recorded);
    REQUIRE(recorded);
    REQUIRE_EQUAL_INT(wnnCreateContext(&member->descriptor, &context), WNNStatus_Success);
    WNNGraph graph = build_random(context, member->seed + (uint64_t)(sample - member->samples), recorded);
    REQUIRE(graph);
    run(member, context, graph, sample, 0xA5);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    wnn_random_graph_free(recorded);
    free(recorded);
}

static void *work(void *argument)
{
    struct member *member = argument;
    while (now_seconds() < member->end) {
        struct sample *sample = &member->samples[below(member, GRAPHS)];
        if (!sample->graph)
            continue;
        if (below(member, 16) == 0)
            run_anew(member, sample);
        else
            run(member, member->context, sample->graph, sample, 1 + (int)below(member, 255));
        member->executions++;
    }
    return NULL;
}

static unsigned long soak(uint64_t seed, double seconds)
{
    static struct member members[CONTEXTS];
    pthread_t threads[CONTEXTS];
    unsigned long executions = 0;
    for (unsigned c = 0; c < CONTEXTS; c++) {
        struct member *member = &members[c];
        *member =
            (struct member){.descriptor = WNN_CONTEXT_DESCRIPTOR_INIT, .seed = seed, .random = seed + c};
        // ThreadSanitizer does not see how pthreadpool orders its threads.
        member->descriptor.threadCount = THREAD_SANITIZED ? 1 : 1 + c % 4;
        member->descriptor.strictNumerics = c % 2;
        REQUIRE_EQUAL_INT(wnnCreateContext(&member->descriptor, &member->context), WNNStatus_Success);
        for (unsigned i = 0; i < GRAPHS; i++) {
            make_sample(&member->samples[i], member->context, seed + i);
            if (member->samples[i].graph)
                run(member, member->context, member->samples[i].graph, &member->samples[i], 0);
        }
    }
    double end = now_seconds() + seconds;
    for (unsigned c = 0; c < CONTEXTS; c++) {
        members[c].end = end;
        REQUIRE_EQUAL_INT(pthread_create(&threads[c], NULL, work, &members[c]), 0);
    }
    for (unsigned c = 0; c < CONTEXTS; c++) {
        pthread_join(threads[c], NULL);
        executions += members[c].executions;
        for (unsigned i = 0; i < GRAPHS; i++)
            free_sample(&members[c].samples[i]);
        WNNContextCounters counters = counters_of(members[c].context);
        REQUIRE_EQUAL_INT(counters.builders + counters.graphs + counters.tensors + counters.pendingRequests,
                          0);
        wnnContextRelease(members[c].context);
    }
    return executions;
}

static void test_soak(unsigned long long seed, double seconds)
{
    unsigned long executions = 0;
    double end = now_seconds() + seconds;
    for (double left = seconds; left > 0; left = end - now_seconds(), seed += GRAPHS)
        executions += soak(seed, left < ROUND_SECONDS ? left : ROUND_SECONDS);
    printf("%lu executions\n", executions);
    REQUIRE(executions > 0);
}

int main(int argc, char **argv)
{
    const char *patience = getenv("WNN_LONG");
    double seconds = patience && strcmp(patience, "1") == 0 ? LONG_SECONDS : SHORT_SECONDS;
    unsigned long long seed = (unsigned long long)time(NULL) / 86400 * 1000000; // others each day
    while (case_option(&argc, &argv, "--seconds=%lf", &seconds) ||
           case_option(&argc, &argv, "--seed=%llu", &seed))
        continue;
    cases_begin(argc, argv);
    fprintf(stderr, "--seconds=%g --seed=%llu\n", seconds, seed);
    CASE(test_soak(seed, seconds));
    return cases_end();
}
