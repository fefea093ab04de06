// SPDX-License-Identifier: Apache-2.0
//
// Small graphs that are computed on one backend and on another, to compare the bytes of what they make.
// Functions are `static inline` since not every test uses all of them.

#ifndef CONFORMANCE_UNIT_DIFFERENTIAL_FIXTURE_H_
#define CONFORMANCE_UNIT_DIFFERENTIAL_FIXTURE_H_

#include "conformance/backends.h"
#include "conformance/unit/runtime_fixture.h"
#include "lib/dtype.h"
#include "lib/half.h"

#include <math.h>

enum {
    MAX_INPUTS = 16,
    MAX_OUTPUTS = 5,
    MAX_BYTES = 1 << 21 // of an input, and of all outputs
};

// NULL: it has no device, or there is no such backend.
static inline WNNContext create_on(const struct backend *backend)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    descriptor.threadCount = 2;
    return backend && wnn_create_context_on(backend, &descriptor, &context) == WNNStatus_Success ? context
                                                                                                 : NULL;
}

static inline bool has_device(void)
{
    WNNContext context = create_on(find_backend("vulkan"));
    if (context)
        wnnContextRelease(context);
    return context != NULL;
}

// A random number of 24 bits.
static inline uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

// Numbers around 0 of floats; any bits of integers, or small numbers.
static inline void fill_any(void *data, WNNDataType type, size_t count, unsigned seed)
{
    size_t bytes = wnn_dtype_bytes(type, count);
    for (size_t i = 0; i < (wnn_dtype_is_float(type) ? count : bytes); i++) {
        seed = seed * 1664525 + 1013904223;
        float x = (float)(int)(seed >> 8) / (float)(1 << 23) - 1;
        if (type == WNNDataType_Float16)
            ((uint16_t *)data)[i] = wnn_half_from_float(x);
        else if (type == WNNDataType_Float32)
            ((float *)data)[i] = x;
        else
            ((unsigned char *)data)[i] = (unsigned char)(seed >> 24);
    }
}

// A graph that is being made, of inputs of one type.
struct subject {
    WNNGraphBuilder builder;
    WNNDataType type;
    const void *argument;
    unsigned input_count, output_count;
    WNNOperand outputs[MAX_OUTPUTS];
    char names[MAX_INPUTS][4];
    size_t counts[MAX_INPUTS]; // elements
};

static inline WNNOperand input(struct subject *subject, unsigned rank, const uint32_t *dims)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    unsigned k = subject->input_count++;
    REQUIRE(k < MAX_INPUTS);
    descriptor.dataType = subject->type;
    descriptor.shape = (WNNUint32List){dims, rank};
    subject->counts[k] = 1;
    for (unsigned d = 0; d < rank; d++)
        subject->counts[k] *= dims[d];
    snprintf(subject->names[k], sizeof subject->names[k], "x%u", k);
    return wnnGraphBuilderInput(subject->builder, view(subject->names[k]), &descriptor);
}
#define INPUT(subject, ...)                                                                                  \
    input(subject, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

// A constant of the inputs' type, of numbers from fill_any().
static inline WNNOperand constant_any(struct subject *subject, unsigned rank, const uint32_t *dims,
                                      uint32_t seed)
{
    static unsigned char numbers[MAX_BYTES];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    size_t count = 1;
    descriptor.dataType = subject->type;
    descriptor.shape = (WNNUint32List){dims, rank};
    for (unsigned d = 0; d < rank; d++)
        count *= dims[d];
    size_t bytes = wnn_dtype_bytes(subject->type, count);
    REQUIRE(bytes <= sizeof numbers);
    fill_any(numbers, subject->type, count, seed);
    return wnnGraphBuilderConstant(subject->builder, &descriptor, numbers, bytes);
}

static inline void output(struct subject *subject, WNNOperand operand)
{
    REQUIRE(operand && subject->output_count < MAX_OUTPUTS);
    subject->outputs[subject->output_count++] = operand;
}

typedef void maker(struct subject *subject);

struct trial {
    maker *make;
    const void *argument; // the maker's
    WNNDataType type;
    void (*fill)(void *data, WNNDataType type, size_t count, unsigned seed);
    void (*look)(const struct graph *planned); // (optional) at what became of the graph
};

// The outputs lie one behind the other; returns their bytes.
static inline size_t run_trial(WNNContext context, const struct trial *trial, unsigned char *results)
{
    static unsigned char inputs[MAX_INPUTS][MAX_BYTES];
    static const char *const names[MAX_OUTPUTS] = {"y0", "y1", "y2", "y3", "y4"};
    struct subject subject = {
        .builder = create_builder(context), .type = trial->type, .argument = trial->argument};
    WNNNamedOperand named[MAX_OUTPUTS];
    WNNNamedBuffer from[MAX_INPUTS], to[MAX_OUTPUTS];
    size_t at = 0;
    trial->make(&subject);
    for (unsigned i = 0; i < subject.output_count; i++) {
        const struct operand *operand = wnn_operand(subject.outputs[i]);
        size_t bytes = wnn_descriptor_bytes(&operand->type);
        named[i] = (WNNNamedOperand){view(names[i]), subject.outputs[i]};
        to[i] = (WNNNamedBuffer){view(names[i]), results + at, bytes, operand->type.type};
        at += (bytes + 63) / 64 * 64;
        REQUIRE(at <= MAX_BYTES);
    }
    WNNGraph graph = build_outputs(context, subject.builder, subject.output_count, named);
    for (unsigned i = 0; i < subject.input_count; i++) {
        size_t bytes = wnn_dtype_bytes(trial->type, subject.counts[i]);
        REQUIRE(bytes <= MAX_BYTES);
        trial->fill(inputs[i], trial->type, subject.counts[i], i + 1);
        from[i] = (WNNNamedBuffer){view(subject.names[i]), inputs[i], bytes, trial->type};
    }
    compute_buffers(context, graph, subject.input_count, from, subject.output_count, to);
    if (trial->look)
        trial->look(&wnn_graph_plan(graph)->graph);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(subject.builder);
    return at;
}

static inline double number_at(const unsigned char *data, WNNDataType type, size_t i)
{
    return type == WNNDataType_Float16 ? wnn_half_to_float(((const uint16_t *)(const void *)data)[i])
                                       : ((const float *)(const void *)data)[i];
}

// Floats are as the processor's within a tolerance, 0 for equal bits, of what `name` and `number` say.
static inline void compare(WNNContext context, WNNContext cpu, maker *make, const void *argument,
                           WNNDataType type, double tolerance, const char *name, unsigned number)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    memset(got, 0, sizeof got);
    memset(expected, 0, sizeof expected);
    const struct trial trial = {make, argument, type, fill_any, NULL};
    size_t bytes = run_trial(context, &trial, got);
    REQUIRE_EQUAL_INT(run_trial(cpu, &trial, expected), bytes);
    if (tolerance == 0) {
        for (size_t i = 0; i < bytes; i++)
            if (got[i] != expected[i]) {
                fprintf(stderr, "%s %u of %s: byte %zu is %02x; expected %02x\n", name, number,
                        wnn_dtype_name(type), i, got[i], expected[i]);
                case_fail();
            }
        return;
    }
    for (size_t i = 0; i < bytes / (type == WNNDataType_Float16 ? 2 : 4); i++) {
        double y = number_at(got, type, i), want = number_at(expected, type, i);
        if (y == want || (isnan(y) && isnan(want)))
            continue;
        if (!(fabs(y - want) <= tolerance * (0.1 + fabs(want)))) {
            fprintf(stderr, "%s %u of %s: number %zu is %.9g; expected %.9g\n", name, number,
                    wnn_dtype_name(type), i, y, want);
            case_fail();
        }
    }
}

static inline void run_on(const struct backend *backend, WNNContext cpu,
                          void (*cases)(WNNContext context, WNNContext cpu))
{
    WNNContext context = create_on(backend);
    REQUIRE(context);
    cases(context, cpu);
    wnnContextRelease(context);
}

// Cases on the device as it is, with the minimum of features, and (optional) with all that suits them on
// matrix units, each beside the CPU; the exit status.
static inline int run_on_devices(void (*cases)(WNNContext context, WNNContext cpu),
                                 void (*minimal_cases)(WNNContext context, WNNContext cpu),
                                 void (*matrix_cases)(WNNContext context, WNNContext cpu))
{
    if (!has_device())
        return cases_skip("there is no device");
    WNNContext cpu = create_on(wnn_backend_find("cpu"));
    REQUIRE(cpu);
    run_on(find_backend("vulkan"), cpu, cases);
    run_on(find_backend("vulkan-minimal"), cpu, minimal_cases);
    if (matrix_cases)
        run_on(find_backend("vulkan-matrices"), cpu, matrix_cases);
    wnnContextRelease(cpu);
    return cases_end();
}

#endif
