// SPDX-License-Identifier: Apache-2.0
//
// Bombs: graphs that are quick to record and might take for ever to build, or fill the memory. Each is
// recorded, built, dumped and released at several sizes; what that costs, in instructions (or processor time,
// where those cannot be counted) and in bytes at the peak, must grow hardly faster than the size.
//
// --eager comes before patterns, and has a backend of that name take the place of the CPU. With
// WNN_LONG=1 in the environment they are four times as large.

#include "conformance/unit/runtime_fixture.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>
#endif

#define MAX_EXPONENT     1.2
#define MAX_CACHES       0.5 // what growth may be more, in seconds, where caches are left
#define SIZES            4   // n, 2n, 4n, 8n
#define MAX_SECONDS      5   // none takes a tenth of that
#define ATTEMPTS         4
#define ATTEMPTS_BY_TIME 24 // where instructions can't be counted: something else may run for a second

// ---------------------------------------------------------------------------------------------------------------
// Measuring
// ---------------------------------------------------------------------------------------------------------------

static int counter = -1; // of instructions, threads included

static void open_counter(void)
{
#ifdef __linux__
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .inherit = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
#endif
}

// Instructions, or microseconds.
static double count_work(void)
{
    uint64_t count;
    if (counter >= 0 && read(counter, &count, sizeof count) == sizeof count)
        return (double)count;
    return processor_seconds() * 1e6;
}

struct cost {
    double work, seconds, bytes;
};

// How long it takes to write so many bytes of new memory, and to visit them again in no order.
static double visit(double bytes)
{
    enum {
        RECORD = 128,
        VISITS = 4
    };
    size_t count = (size_t)bytes / RECORD + 1;
    uint64_t random = 1;
    double least = INFINITY;
    for (int attempt = 0; attempt < 3; attempt++) {
        double begin = processor_seconds();
        char *memory = calloc(count, RECORD);
        REQUIRE(memory);
        for (size_t i = 0; i < VISITS * count; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            *(volatile char *)&memory[(size_t)(random >> 32) % count * RECORD] += 1;
        }
        free(memory);
        least = fmin(least, processor_seconds() - begin);
    }
    return least;
}

// ---------------------------------------------------------------------------------------------------------------
// Recording
// ---------------------------------------------------------------------------------------------------------------

struct recording {
    WNNContext context;
    WNNGraphBuilder builder;
    WNNNamedOperand *outputs;
    size_t output_count, output_capacity;
    char (*names)[24];
    uint32_t random;
    unsigned builds; // more than one: that many, of the same builder
    bool run;        // with a profile
    char *long_names;
};

static uint32_t next_random(struct recording *r)
{
    r->random = r->random * 1664525 + 1013904223;
    return r->random >> 8;
}

static void add_output(struct recording *r, WNNOperand operand)
{
    REQUIRE(operand && r->output_count < r->output_capacity);
    char *name = r->names[r->output_count];
    snprintf(name, sizeof r->names[0], "y%zu", r->output_count);
    r->outputs[r->output_count++] = (WNNNamedOperand){view(name), operand};
}

static WNNOperand input(struct recording *r, const char *name, unsigned rank, const uint32_t *dims)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderInput(r->builder, view(name), &descriptor);
}

static WNNOperand vector(struct recording *r, const char *name, uint32_t size)
{
    return input(r, name, 1, &size);
}

static WNNOperand filled(struct recording *r, unsigned rank, const uint32_t *dims, float value)
{
    size_t count = 1;
    for (unsigned i = 0; i < rank; i++)
        count *= dims[i];
    float *data = malloc(count * sizeof *data);
    REQUIRE(data);
    for (size_t i = 0; i < count; i++)
        data[i] = value;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    WNNOperand constant = wnnGraphBuilderConstant(r->builder, &descriptor, data, count * sizeof *data);
    free(data);
    return constant;
}

static WNNOperand number(struct recording *r, double value)
{
    return wnnGraphBuilderScalarConstant(r->builder, WNNDataType_Float32, wnnNumberFloat64(value));
}

// An operator that is equal to no other of another number.
static WNNOperand distinct(struct recording *r, WNNOperand x, size_t i)
{
    WNNLinearOptions options = WNN_LINEAR_OPTIONS_INIT;
    options.alpha = 1 + (double)i;
    return wnnGraphBuilderLinear(r->builder, x, &options);
}

// One operand of any number of them.
static WNNOperand gather_up(struct recording *r, WNNOperand *operands, size_t count)
{
    while (count > 1) {
        size_t kept = 0;
        for (size_t i = 0; i < count; i += 4096)
            operands[kept++] =
                wnnGraphBuilderConcat(r->builder, count - i < 4096 ? count - i : 4096, operands + i, 0, NULL);
        count = kept;
    }
    return operands[0];
}

static WNNOperand *room(size_t count)
{
    WNNOperand *operands = calloc(count + 1, sizeof *operands);
    REQUIRE(operands);
    return operands;
}

static void shuffle(struct recording *r, WNNOperand *operands, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = next_random(r) % i;
        WNNOperand other = operands[i - 1];
        operands[i - 1] = operands[j];
        operands[j] = other;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Bombs
// ---------------------------------------------------------------------------------------------------------------

static void unary_chain(struct recording *r, size_t n)
{
    WNNOperand y = vector(r, "x", 4);
    for (size_t i = 0; i < n; i++)
        y = i % 3 == 0   ? wnnGraphBuilderSin(r->builder, y, NULL)
            : i % 3 == 1 ? wnnGraphBuilderExp(r->builder, y, NULL)
                         : wnnGraphBuilderTanh(r->builder, y, NULL);
    add_output(r, y);
}

static void movement_chain(struct recording *r, size_t n)
{
    WNNOperand y = input(r, "x", 2, (uint32_t[]){2, 3});
    for (size_t i = 0; i < n; i++)
        y = i % 4 == 0   ? wnnGraphBuilderReshape(r->builder, y, (WNNUint32List){(uint32_t[]){3, 2}, 2}, NULL)
            : i % 4 == 1 ? wnnGraphBuilderTranspose(r->builder, y, NULL)
            : i % 4 == 2 ? wnnGraphBuilderIdentity(r->builder, y, NULL)
                         : wnnGraphBuilderNeg(r->builder, y, NULL);
    add_output(r, y);
}

static void one_operator_chain(struct recording *r, size_t n, int kind)
{
    WNNOperand y = input(r, "x", 2, (uint32_t[]){3, 3});
    for (size_t i = 0; i < n; i++)
        y = kind == 0
                ? wnnGraphBuilderReshape(r->builder, y,
                                         (WNNUint32List){(uint32_t[]){i % 2 ? 9 : 1, i % 2 ? 1 : 9}, 2}, NULL)
            : kind == 1 ? wnnGraphBuilderTranspose(r->builder, y, NULL)
            : kind == 2 ? wnnGraphBuilderIdentity(r->builder, y, NULL)
                        : wnnGraphBuilderNeg(r->builder, y, NULL);
    add_output(r, wnnGraphBuilderSin(r->builder, y, NULL));
}

static void reshape_chain(struct recording *r, size_t n)
{
    one_operator_chain(r, n, 0);
}

static void transpose_chain(struct recording *r, size_t n)
{
    one_operator_chain(r, n, 1);
}

static void identity_chain(struct recording *r, size_t n)
{
    one_operator_chain(r, n, 2);
}

static void neg_chain(struct recording *r, size_t n)
{
    one_operator_chain(r, n, 3);
}

static void add_mul_chain(struct recording *r, size_t n)
{
    WNNOperand x = vector(r, "x", 4), y = x;
    for (size_t i = 0; i < n; i++)
        y = i % 2 ? wnnGraphBuilderMul(r->builder, y, x, NULL) : wnnGraphBuilderAdd(r->builder, y, x, NULL);
    add_output(r, y);
}

static void matrix_chain(struct recording *r, size_t n)
{
    WNNOperand x = input(r, "x", 2, (uint32_t[]){4, 4}), y = x;
    for (size_t i = 0; i < n; i++)
        y = i % 2 ? wnnGraphBuilderSoftmax(r->builder, y, 1, NULL)
                  : wnnGraphBuilderMatmul(r->builder, y, x, NULL);
    add_output(r, y);
}

static void diamonds(struct recording *r, size_t n)
{
    WNNOperand y = vector(r, "x", 4);
    for (size_t i = 0; i < n; i += 3)
        y = wnnGraphBuilderAdd(r->builder, wnnGraphBuilderSin(r->builder, y, NULL),
                               wnnGraphBuilderCos(r->builder, y, NULL), NULL);
    add_output(r, y);
}

// The same with operators that are not fused.
static void matrix_diamonds(struct recording *r, size_t n)
{
    WNNOperand x = input(r, "x", 2, (uint32_t[]){4, 4}), y = x;
    for (size_t i = 0; i < n; i += 3)
        y = wnnGraphBuilderMatmul(r->builder, wnnGraphBuilderMatmul(r->builder, y, x, NULL),
                                  wnnGraphBuilderSoftmax(r->builder, y, 0, NULL), NULL);
    add_output(r, y);
}

// y = y + y: a graph whose paths are countless.
static void doubling(struct recording *r, size_t n)
{
    WNNOperand y = vector(r, "x", 4);
    for (size_t i = 0; i < n; i++)
        y = wnnGraphBuilderAdd(r->builder, y, y, NULL);
    add_output(r, y);
}

static void fan_out(struct recording *r, size_t n)
{
    WNNOperand x = wnnGraphBuilderSin(r->builder, vector(r, "x", 4), NULL), *made = room(n);
    for (size_t i = 0; i < n; i++)
        made[i] = distinct(r, x, i);
    add_output(r, gather_up(r, made, n));
    free(made);
}

static void equal_expressions(struct recording *r, size_t n)
{
    WNNOperand x = vector(r, "x", 4), *made = room(n);
    for (size_t i = 0; i < n; i++)
        made[i] = wnnGraphBuilderSin(r->builder, x, NULL);
    add_output(r, gather_up(r, made, n));
    free(made);
}

// Nodes that differ in a number only.
static void clamps(struct recording *r, size_t n)
{
    WNNOperand x = vector(r, "x", 4), *made = room(n);
    for (size_t i = 0; i < n; i++) {
        WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
        options.minValue = wnnNumberFloat64((double)i / 2);
        options.maxValue = wnnNumberFloat64((double)n);
        made[i] = wnnGraphBuilderClamp(r->builder, x, &options);
    }
    add_output(r, gather_up(r, made, n));
    free(made);
}

static void many_outputs(struct recording *r, size_t n)
{
    WNNOperand x = vector(r, "x", 4);
    for (size_t i = 0; i < n; i++)
        add_output(r, distinct(r, x, i));
}

static void one_output_under_many_names(struct recording *r, size_t n)
{
    WNNOperand y = wnnGraphBuilderSin(r->builder, vector(r, "x", 4), NULL);
    for (size_t i = 0; i < n; i++)
        add_output(r, y);
}

static void many_inputs(struct recording *r, size_t n)
{
    WNNOperand y = vector(r, "x", 4);
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "x%zu", i);
        y = wnnGraphBuilderAdd(r->builder, y, vector(r, name, 4), NULL);
    }
    add_output(r, y);
}

static void sum_of_constants(struct recording *r, size_t n, bool scalars, bool equal)
{
    WNNOperand x = vector(r, "x", 4), *made = room(n);
    for (size_t i = 0; i < n; i++) {
        float value = equal ? 2 : (float)i;
        WNNOperand c = scalars ? number(r, (double)value) : filled(r, 1, (uint32_t[]){4}, value);
        made[i] = wnnGraphBuilderMul(r->builder, x, c, NULL);
    }
    add_output(r, gather_up(r, made, n));
    free(made);
}

static void constants(struct recording *r, size_t n)
{
    sum_of_constants(r, n, false, false);
}

static void equal_constants(struct recording *r, size_t n)
{
    sum_of_constants(r, n, false, true);
}

static void scalars(struct recording *r, size_t n)
{
    sum_of_constants(r, n, true, false);
}

static void equal_scalars(struct recording *r, size_t n)
{
    sum_of_constants(r, n, true, true);
}

// Branches of different depth that meet at the end.
static void branches(struct recording *r, size_t n)
{
    WNNOperand x = input(r, "x", 2, (uint32_t[]){4, 4}), *made = room(n);
    size_t count = 0;
    for (size_t i = 0; i < n;) {
        WNNOperand y = distinct(r, x, i);
        size_t depth = 1 + next_random(r) % 64;
        for (size_t j = 0; j < depth && i < n; j++, i++)
            y = wnnGraphBuilderMatmul(r->builder, y, x, NULL);
        made[count++] = y;
    }
    add_output(r, gather_up(r, made, count));
    free(made);
}

// Everything is made first, and used at the end: as many bytes at a time as there are.
static void long_lives(struct recording *r, size_t n)
{
    WNNOperand y = NULL, *made = room(n);
    for (size_t i = 0; i < n; i++) {
        WNNOperand x = i ? made[i - 1] : input(r, "x", 2, (uint32_t[]){4, 4});
        made[i] = wnnGraphBuilderMatmul(r->builder, x, x, NULL);
    }
    for (size_t i = n; i-- > 0;)
        y = y ? wnnGraphBuilderMatmul(r->builder, y, made[i], NULL) : made[i];
    add_output(r, y);
    free(made);
}

// Lives and sizes of all kinds.
static void mixed_lives(struct recording *r, size_t n)
{
    enum {
        KEPT = 256
    };
    WNNOperand kept[KEPT] = {NULL};
    WNNOperand x = input(r, "x", 2, (uint32_t[]){1, 1});
    for (size_t i = 0; i < n; i++) {
        size_t at = next_random(r) % KEPT;
        WNNOperand y = kept[at] ? wnnGraphBuilderReduceSum(r->builder, kept[at], NULL) : x;
        y = wnnGraphBuilderReshape(r->builder, y, (WNNUint32List){(uint32_t[]){1, 1}, 2}, NULL);
        y = wnnGraphBuilderMatmul(r->builder, y, filled(r, 2, (uint32_t[]){1, 1 + next_random(r) % 64}, 1),
                                  NULL);
        kept[at] = wnnGraphBuilderSoftmax(r->builder, y, 1, NULL);
    }
    for (size_t i = 0; i < KEPT; i++)
        if (kept[i])
            add_output(r, kept[i]);
}

#define LONGEST 65536

static void labelled(struct recording *r, size_t n, bool differ)
{
    char *label = malloc(LONGEST);
    REQUIRE(label);
    memset(label, 'l', LONGEST);
    WNNOperand y = vector(r, "x", 4);
    for (size_t i = 0; i < n; i++) {
        WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
        options.label = (WNNStringView){label, LONGEST};
        if (differ)
            snprintf(label, 16, "%08u", (unsigned)i);
        y = wnnGraphBuilderSin(r->builder, y, &options);
    }
    free(label);
    add_output(r, y);
}

#define MAX_PARTS 8192

// `count` concats of the same operands in changing order.
static void concats(struct recording *r, size_t parts, size_t count, bool split)
{
    // No concat takes more; then there are more concats.
    for (; parts > MAX_PARTS; parts /= 2)
        count *= 2;
    WNNOperand *made = room(parts), *joined = room(count);
    if (split) {
        WNNOperand x = vector(r, "x", (uint32_t)parts);
        REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(r->builder, wnnGraphBuilderSin(r->builder, x, NULL),
                                               (uint32_t)parts, NULL, parts, made),
                          parts);
    } else {
        WNNOperand x = vector(r, "x", 1);
        for (size_t i = 0; i < parts; i++)
            made[i] = distinct(r, x, i);
    }
    for (size_t i = 0; i < count; i++) {
        shuffle(r, made, parts);
        joined[i] = wnnGraphBuilderConcat(r->builder, parts, made, 0, NULL);
        joined[i] = wnnGraphBuilderReduceSum(r->builder, joined[i], NULL);
        joined[i] = wnnGraphBuilderReshape(r->builder, joined[i], (WNNUint32List){(uint32_t[]){1}, 1}, NULL);
    }
    add_output(r, gather_up(r, joined, count));
    free(joined);
    free(made);
}

static void concats_of_the_same(struct recording *r, size_t n)
{
    concats(r, n, 8, false);
}

static void more_concats_of_the_same(struct recording *r, size_t n)
{
    concats(r, 256, n, false);
}

static void concats_of_a_split(struct recording *r, size_t n)
{
    concats(r, n, 8, true);
}

static void more_concats_of_a_split(struct recording *r, size_t n)
{
    concats(r, 1024, n, true);
}

static void concats_of_many(struct recording *r, size_t n)
{
    concats(r, MAX_PARTS, n, false);
}

// Also run, with a profile.
static void profiled_concats(struct recording *r, size_t n)
{
    concats(r, n, 8, false);
    r->run = true;
}

static void profiled_labels(struct recording *r, size_t n)
{
    labelled(r, n, false);
    r->run = true;
}

// The parts of a split of that size, or of several.
static WNNOperand *split_up(struct recording *r, size_t n)
{
    WNNOperand *made = room(n);
    for (size_t i = 0; i < n; i += MAX_PARTS) {
        uint32_t parts = (uint32_t)(n - i < MAX_PARTS ? n - i : MAX_PARTS);
        char name[24];
        snprintf(name, sizeof name, "x%zu", i);
        WNNOperand x = wnnGraphBuilderSin(r->builder, vector(r, name, parts), NULL);
        REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(r->builder, x, parts, NULL, parts, made + i), parts);
    }
    shuffle(r, made, n);
    return made;
}

// One node for each part.
static void pieces_of_a_split(struct recording *r, size_t n)
{
    WNNOperand *made = split_up(r, n);
    for (size_t i = 0; i < n; i++)
        made[i] = distinct(r, made[i], i);
    add_output(r, gather_up(r, made, n));
    free(made);
}

// Concats of two parts.
static void pairs_of_a_split(struct recording *r, size_t n)
{
    WNNOperand *made = split_up(r, n), *pairs = room(n);
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.keepDimensions = true;
    for (size_t i = 0; i + 1 < n; i++)
        pairs[i] = wnnGraphBuilderReduceSum(
            r->builder, wnnGraphBuilderConcat(r->builder, 2, made + i, 0, NULL), &options);
    add_output(r, gather_up(r, pairs, n - 1));
    free(pairs);
    free(made);
}

// Concats that wait for the last of their inputs.
static void late_inputs(struct recording *r, size_t n)
{
    enum {
        PARTS = 256
    };
    WNNOperand x = vector(r, "x", 4), y = input(r, "z", 2, (uint32_t[]){2, 2}), parts[PARTS];
    for (size_t i = 0; i + 1 < PARTS; i++)
        parts[i] = distinct(r, x, i);
    for (size_t i = 0; i < n; i++) {
        y = wnnGraphBuilderMatmul(r->builder, y, y, NULL);
        parts[PARTS - 1] = wnnGraphBuilderReshape(r->builder, y, (WNNUint32List){(uint32_t[]){4}, 1}, NULL);
        WNNOperand joined = wnnGraphBuilderConcat(r->builder, PARTS, parts, 0, NULL);
        add_output(r, wnnGraphBuilderReduceSum(r->builder, joined, NULL));
    }
}

static void splits(struct recording *r, size_t n)
{
    enum {
        PARTS = 64
    };
    WNNOperand x = vector(r, "x", PARTS), parts[PARTS];
    for (size_t i = 0; i < n; i += PARTS) {
        wnnGraphBuilderSplit(r->builder, x, PARTS, NULL, PARTS, parts);
        shuffle(r, parts, PARTS);
        x = wnnGraphBuilderConcat(r->builder, PARTS, parts, 0, NULL);
    }
    add_output(r, x);
}

// A concat of a concat of a concat.
static void concats_of_concats(struct recording *r, size_t n)
{
    WNNOperand x = vector(r, "x", 1), y = distinct(r, x, 0);
    for (size_t i = 1; i < n; i++)
        y = wnnGraphBuilderConcat(r->builder, 2, (WNNOperand[]){y, distinct(r, x, i)}, 0, NULL);
    add_output(r, y);
}

// The same with views between them.
static void concats_of_views(struct recording *r, size_t n)
{
    WNNOperand x = vector(r, "x", 1), y = distinct(r, x, 0);
    for (uint32_t i = 1; i < n; i++) {
        y = wnnGraphBuilderReshape(r->builder, y, (WNNUint32List){(uint32_t[]){1, i}, 2}, NULL);
        y = wnnGraphBuilderReshape(r->builder, y, (WNNUint32List){&i, 1}, NULL);
        y = wnnGraphBuilderConcat(r->builder, 2, (WNNOperand[]){y, distinct(r, x, i)}, 0, NULL);
    }
    add_output(r, y);
}

static void slices_of_slices(struct recording *r, size_t n)
{
    WNNOperand y = wnnGraphBuilderSin(r->builder, vector(r, "x", (uint32_t)n + 1), NULL);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t start = 1, size = (uint32_t)n - i;
        y = wnnGraphBuilderSlice(r->builder, y, (WNNUint32List){&start, 1}, (WNNUint32List){&size, 1}, NULL);
    }
    add_output(r, y);
}

static void slices_of_one(struct recording *r, size_t n)
{
    WNNOperand x = wnnGraphBuilderSin(r->builder, vector(r, "x", (uint32_t)n + 1), NULL), *made = room(n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = 2;
        made[i] =
            wnnGraphBuilderSlice(r->builder, x, (WNNUint32List){&i, 1}, (WNNUint32List){&size, 1}, NULL);
        made[i] = wnnGraphBuilderTanh(r->builder, made[i], NULL);
    }
    add_output(r, gather_up(r, made, n));
    free(made);
}

static void long_labels(struct recording *r, size_t n)
{
    labelled(r, n, true);
}

static void equal_long_labels(struct recording *r, size_t n)
{
    labelled(r, n, false);
}

static void builds_of_long_labels(struct recording *r, size_t n)
{
    labelled(r, 8, true);
    r->builds = (unsigned)n;
}

static void long_names(struct recording *r, size_t n)
{
    char *name = malloc(LONGEST);
    REQUIRE(name);
    memset(name, 'n', LONGEST);
    WNNOperand y = vector(r, "x", 4);
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){(uint32_t[]){4}, 1};
    for (size_t i = 0; i < n; i++) {
        snprintf(name + LONGEST - 9, 9, "%08u", (unsigned)i);
        name[LONGEST - 1] = 'n';
        y = wnnGraphBuilderAdd(r->builder, y,
                               wnnGraphBuilderInput(r->builder, (WNNStringView){name, LONGEST}, &descriptor),
                               NULL);
    }
    free(name);
    add_output(r, y);
}

// All begin with the same bytes.
static void long_output_names(struct recording *r, size_t n)
{
    many_outputs(r, n);
    r->long_names = calloc(n, LONGEST);
    REQUIRE(r->long_names);
    for (size_t i = 0; i < n; i++) {
        char *name = r->long_names + i * LONGEST;
        memset(name, 'n', LONGEST);
        snprintf(name + LONGEST - 9, 9, "%08u", (unsigned)i);
        r->outputs[i].name = (WNNStringView){name, LONGEST - 1};
    }
}

// Calls that fail leave nothing.
static void failures(struct recording *r, size_t n)
{
    char *label = malloc(LONGEST);
    REQUIRE(label);
    memset(label, 'l', LONGEST);
    WNNOperand x = vector(r, "x", 4), other = vector(r, "y", 3);
    for (size_t i = 0; i < n; i++) {
        WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
        options.label = (WNNStringView){label, LONGEST};
        snprintf(label, 16, "%08u", (unsigned)i);
        REQUIRE(!wnnGraphBuilderAdd(r->builder, x, other, &options));
    }
    wnnGraphBuilderClearError(r->builder);
    free(label);
    add_output(r, wnnGraphBuilderSin(r->builder, x, NULL));
}

static void quantized_chain(struct recording *r, size_t n)
{
    WNNOperand x = input(r, "x", 2, (uint32_t[]){4, 4}), y = x;
    WNNOperand scale = filled(r, 2, (uint32_t[]){1, 1}, 0.5f);
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Int8;
    descriptor.shape = (WNNUint32List){(uint32_t[]){1, 1}, 2};
    WNNOperand zero = wnnGraphBuilderConstant(r->builder, &descriptor, (int8_t[]){3}, 1);
    for (size_t i = 0; i < n; i += 3) {
        y = wnnGraphBuilderQuantizeLinear(r->builder, y, scale, zero, NULL);
        y = wnnGraphBuilderDequantizeLinear(r->builder, y, scale, zero, NULL);
        y = i % 2   ? wnnGraphBuilderTranspose(r->builder, y, NULL)
            : i % 5 ? wnnGraphBuilderAdd(r->builder, y, y, NULL)
                    : wnnGraphBuilderMatmul(r->builder, y, x, NULL);
    }
    add_output(r, y);
}

static void convolutions(struct recording *r, size_t n)
{
    WNNOperand y = input(r, "x", 4, (uint32_t[]){1, 4, 4, 4});
    for (size_t i = 0; i < n; i += 4) {
        WNNOperand filter = filled(r, 4, (uint32_t[]){4, 4, 1, 1}, 1 + (float)i);
        WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
        if (i % 8)
            conv.bias = filled(r, 1, (uint32_t[]){4}, (float)i);
        WNNOperand before = y;
        y = wnnGraphBuilderConv2d(r->builder, y, filter, &conv);
        WNNBatchNormalizationOptions norm = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
        y = wnnGraphBuilderBatchNormalization(r->builder, y, filled(r, 1, (uint32_t[]){4}, 1),
                                              filled(r, 1, (uint32_t[]){4}, 2 + (float)i), &norm);
        if (i % 12 == 0)
            y = wnnGraphBuilderAdd(r->builder, y, before, NULL);
        y = wnnGraphBuilderRelu(r->builder, y, NULL);
    }
    add_output(r, y);
}

static void attentions(struct recording *r, size_t n)
{
    WNNOperand y = input(r, "x", 3, (uint32_t[]){2, 8, 4});
    for (size_t i = 0; i < n; i += 6) {
        WNNTransposeOptions turn = WNN_TRANSPOSE_OPTIONS_INIT;
        turn.permutation = (WNNUint32List){(uint32_t[]){0, 2, 1}, 3};
        WNNOperand scores =
            wnnGraphBuilderMatmul(r->builder, y, wnnGraphBuilderTranspose(r->builder, y, &turn), NULL);
        scores = wnnGraphBuilderMul(r->builder, scores, number(r, 0.5), NULL);
        if (i % 4 == 0)
            scores = wnnGraphBuilderAdd(r->builder, scores, number(r, (double)i), NULL);
        scores = wnnGraphBuilderSoftmax(r->builder, scores, 2, NULL);
        y = wnnGraphBuilderMatmul(r->builder, scores, y, NULL);
    }
    add_output(r, y);
}

// mul(mul(x, 0.5), add(erf(div(x, sqrt(2))), 1)), every other one with a 2.
static void almost_gelu(struct recording *r, size_t n)
{
    WNNOperand y = vector(r, "x", 4), half = number(r, 0.5), root = number(r, 1.4142135623730951),
               one = number(r, 1), two = number(r, 2);
    for (size_t i = 0; i < n; i += 5) {
        WNNOperand erf = wnnGraphBuilderErf(r->builder, wnnGraphBuilderDiv(r->builder, y, root, NULL), NULL);
        erf = wnnGraphBuilderAdd(r->builder, erf, i % 2 ? one : two, NULL);
        y = wnnGraphBuilderMul(r->builder, wnnGraphBuilderMul(r->builder, y, half, NULL), erf, NULL);
    }
    add_output(r, y);
}

static void nested_multiplications(struct recording *r, size_t n)
{
    WNNOperand x = vector(r, "x", 4), six = number(r, 6), y = x;
    for (size_t i = 0; i < n; i++)
        y = i % 3 == 0   ? wnnGraphBuilderMul(r->builder, y, y, NULL)
            : i % 3 == 1 ? wnnGraphBuilderDiv(r->builder, y, six, NULL)
                         : wnnGraphBuilderMul(r->builder, x, y, NULL);
    add_output(r, y);
}

static void layouts(struct recording *r, size_t n)
{
    WNNOperand x = input(r, "x", 4, (uint32_t[]){1, 4, 4, 4}), y = x;
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    pool.windowDimensions = (WNNUint32List){(uint32_t[]){1, 1}, 2};
    for (size_t i = 0; i < n; i += 3) {
        y = wnnGraphBuilderAveragePool2d(r->builder, y, &pool);
        y = wnnGraphBuilderSoftmax(r->builder, y, i % 2 ? 1 : 3, NULL);
        y = wnnGraphBuilderReshape(r->builder, y, (WNNUint32List){(uint32_t[]){1, 4, 4, 4}, 4}, NULL);
        y = wnnGraphBuilderAdd(r->builder, y, x, NULL);
    }
    add_output(r, y);
}

static void cells(struct recording *r, size_t n)
{
    WNNOperand x = input(r, "x", 2, (uint32_t[]){1, 2}), h = x, weight = filled(r, 2, (uint32_t[]){6, 2}, 1);
    for (size_t i = 0; i < n; i++)
        h = wnnGraphBuilderGruCell(r->builder, x, weight, weight, h, 2, NULL);
    add_output(r, h);
}

// ---------------------------------------------------------------------------------------------------------------
// Constants whose folding is huge. Whatever the size, the bytes of the constants themselves are few.
// ---------------------------------------------------------------------------------------------------------------

// Chains over a constant that would stay in memory one after the other.
static void folded_chain(struct recording *r, size_t n)
{
    WNNOperand y = filled(r, 1, (uint32_t[]){65536}, 1);
    for (size_t i = 0; i < n; i++)
        y = wnnGraphBuilderSin(r->builder, y, NULL);
    add_output(r, wnnGraphBuilderAdd(r->builder, vector(r, "x", 65536), y, NULL));
}

// c = concat(c, c) until it has the most elements that there may be; n times.
static void folded_doubling(struct recording *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        WNNOperand y = filled(r, 1, (uint32_t[]){1}, (float)i);
        for (unsigned j = 0; j < 24; j++)
            y = wnnGraphBuilderConcat(r->builder, 2, (WNNOperand[]){y, y}, 0, NULL);
        add_output(r, wnnGraphBuilderReduceSum(r->builder, y, NULL));
    }
}

// Filters are folded whatever they are made of.
static void folded_filter(struct recording *r, size_t n)
{
    WNNOperand x = input(r, "x", 4, (uint32_t[]){1, 1, 1, 1});
    for (size_t i = 0; i < n; i++) {
        uint32_t shape[4] = {1u << 28, 1, 1, 1};
        WNNOperand filter =
            wnnGraphBuilderExpand(r->builder, number(r, (double)i), (WNNUint32List){shape, 4}, NULL);
        WNNOperand y = wnnGraphBuilderConv2d(r->builder, x, filter, NULL);
        add_output(r, wnnGraphBuilderReduceSum(r->builder, y, NULL));
    }
}

// Little memory, and much to do: products of constants.
static void folded_products(struct recording *r, size_t n)
{
    WNNOperand a = filled(r, 2, (uint32_t[]){768, 768}, 1), y = a;
    for (size_t i = 0; i < n; i++)
        y = wnnGraphBuilderMatmul(r->builder, y, a, NULL);
    add_output(r, wnnGraphBuilderMatmul(r->builder, input(r, "x", 2, (uint32_t[]){1, 768}), y, NULL));
}

static void folded_convolutions(struct recording *r, size_t n)
{
    WNNOperand filter = filled(r, 4, (uint32_t[]){16, 16, 9, 9}, 1),
               y = filled(r, 4, (uint32_t[]){1, 16, 64, 64}, 1);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.padding = (WNNUint32List){(uint32_t[]){4, 4, 4, 4}, 4};
    for (size_t i = 0; i < n; i++)
        y = wnnGraphBuilderConv2d(r->builder, y, filter, &options);
    add_output(r, wnnGraphBuilderAdd(r->builder, input(r, "x", 4, (uint32_t[]){1, 1, 1, 1}), y, NULL));
}

// Many results of the size up to which everything is folded.
static void folded_expansions(struct recording *r, size_t n)
{
    WNNOperand x = vector(r, "x", 16384);
    uint32_t size = 16384;
    for (size_t i = 0; i < n; i++) {
        WNNOperand y =
            wnnGraphBuilderExpand(r->builder, number(r, (double)i), (WNNUint32List){&size, 1}, NULL);
        x = wnnGraphBuilderMul(r->builder, x, y, NULL);
    }
    add_output(r, x);
}

// Every node takes a piece of one large constant, which is external and has to be copied.
static const float external[1 << 18];

static void folded_pieces(struct recording *r, size_t n)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){(uint32_t[]){1 << 18}, 1};
    WNNExternalBytes bytes = {.data = external, .byteLength = sizeof external};
    WNNOperand c = wnnGraphBuilderExternalConstant(r->builder, &descriptor, &bytes), x = vector(r, "x", 2);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = 2;
        x = wnnGraphBuilderMul(
            r->builder, x,
            wnnGraphBuilderSlice(r->builder, c, (WNNUint32List){&i, 1}, (WNNUint32List){&size, 1}, NULL),
            NULL);
    }
    add_output(r, x);
}

static const struct bomb {
    const char *name;
    void (*record)(struct recording *r, size_t n);
    size_t n;         // of the smallest graph
    double megabytes; // that any of them may take; 0: as many as they like
} bombs[] = {
    {"unary chain", unary_chain, 2000},
    {"movement chain", movement_chain, 2000},
    {"reshape chain", reshape_chain, 2000},
    {"transpose chain", transpose_chain, 2000},
    {"identity chain", identity_chain, 2000},
    {"neg chain", neg_chain, 2000},
    {"add and mul chain", add_mul_chain, 2000},
    {"matrix chain", matrix_chain, 1000},
    {"diamonds", diamonds, 2000},
    {"matrix diamonds", matrix_diamonds, 1000},
    {"doubling", doubling, 2000},
    {"fan-out", fan_out, 1000},
    {"equal expressions", equal_expressions, 2000},
    {"clamps", clamps, 1000},
    {"outputs", many_outputs, 1000},
    {"one output under many names", one_output_under_many_names, 2000},
    {"inputs", many_inputs, 1000},
    {"constants", constants, 1000},
    {"equal constants", equal_constants, 1000},
    {"scalars", scalars, 1000},
    {"equal scalars", equal_scalars, 1000},
    {"branches", branches, 2000},
    {"long lives", long_lives, 500},
    {"mixed lives", mixed_lives, 1000},
    {"concats of the same", concats_of_the_same, 1000},
    {"more concats of the same", more_concats_of_the_same, 25},
    {"concats of many", concats_of_many, 12},
    {"profiled concats", profiled_concats, 1000},
    {"profiled labels", profiled_labels, 50, 8},
    {"concats of a split", concats_of_a_split, 1000},
    {"more concats of a split", more_concats_of_a_split, 10},
    {"pieces of a split", pieces_of_a_split, 1000},
    {"pairs of a split", pairs_of_a_split, 1000},
    {"late inputs", late_inputs, 50},
    {"splits", splits, 2000},
    {"concats of concats", concats_of_concats, 500},
    {"concats of views", concats_of_views, 500},
    {"slices of slices", slices_of_slices, 1000},
    {"slices of one", slices_of_one, 1000},
    {"long labels", long_labels, 50},
    {"equal long labels", equal_long_labels, 50},
    {"builds of long labels", builds_of_long_labels, 50},
    {"long names", long_names, 25},
    {"long output names", long_output_names, 25},
    {"failures", failures, 100},
    {"quantized chain", quantized_chain, 1000},
    {"convolutions", convolutions, 1000},
    {"attentions", attentions, 1000},
    {"almost gelu", almost_gelu, 1000},
    {"nested multiplications", nested_multiplications, 1000},
    {"layouts", layouts, 1000},
    {"cells", cells, 500},
    {"folded chain", folded_chain, 100, 16},
    {"folded doubling", folded_doubling, 2, 384},
    {"folded filter", folded_filter, 2, 16},
    {"folded products", folded_products, 4, 128},
    {"folded convolutions", folded_convolutions, 4, 64},
    {"folded expansions", folded_expansions, 250, 192},
    {"folded pieces", folded_pieces, 100, 16},
};

// ---------------------------------------------------------------------------------------------------------------
// The test
// ---------------------------------------------------------------------------------------------------------------

static void ignore(void *argument, const char *text, size_t length)
{
    (void)text;
    *(size_t *)argument += length;
}

// A backend that computes nothing and lets the compiler do whatever it does for any backend.
static bool computes(enum op op)
{
    (void)op;
    return true;
}

static bool can_fuse(void *state, const struct node *node)
{
    (void)state;
    return node->fused->at == WNN_AT_OUTPUT || node->in_count <= 4;
}

static bool in_place(void *state, const struct node *node, unsigned input)
{
    (void)state;
    return wnn_shape_equal(&node->in[input]->type.shape, &node->out[0]->type.shape);
}

static const struct backend *backend;
static struct backend eager;

static void make_eager(void)
{
    eager = wnn_backend_dummy;
    eager.name = "eager";
    eager.views = eager.concat_in_place = eager.levels = true;
    eager.view_alignment = 4;
    eager.computes = computes;
    eager.can_fuse = can_fuse;
    eager.fuses_chains = true;
    eager.in_place = in_place;
}

// Graphs of one input x and one output of 8 elements at most.
static void run_once(struct recording *r, WNNGraph graph)
{
    const struct graph *plan = &wnn_graph_plan(graph)->graph;
    float x[8] = {0}, y[8];
    WNNNamedBuffer in = {view("x"), x, wnn_descriptor_bytes(&plan->inputs[0].operand->type),
                         WNNDataType_Float32},
                   out = {view("y0"), y, wnn_descriptor_bytes(&plan->outputs[0].operand->type),
                          WNNDataType_Float32};
    wnnGraphSetProfiling(graph, true);
    compute_buffers(r->context, graph, 1, &in, 1, &out);
    REQUIRE(profile_of(graph, NULL, 0, NULL) > 0);
}

static void build_once(struct recording *r)
{
    struct answer answer = {0};
    wait_for(r->context, wnnGraphBuilderBuild(r->builder, r->output_count, r->outputs,
                                              (WNNBuildCallbackInfo){NULL, WNNCallbackMode_WaitAnyOnly,
                                                                     on_build, &answer, NULL}));
    // What is too much to be computed does not fit in memory either: that is an answer, if it comes soon.
    if (answer.status == WNNStatus_OutOfMemory)
        return;
    REQUIRE_EQUAL_STR(answer.message, "");
    size_t length = 0;
    const struct text_sink sink = {ignore, &length, NULL};
    wnn_dump_text(&wnn_graph_plan(answer.graph)->graph, &sink);
    wnn_dump_dot(&wnn_graph_plan(answer.graph)->graph, &sink);
    REQUIRE(length > 0);
    if (r->run && backend != &eager)
        run_once(r, answer.graph);
    wnnGraphRelease(answer.graph);
}

static struct cost measure(const struct bomb *bomb, size_t n)
{
    double work = count_work(), seconds = processor_seconds();
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxMemoryBytes = UINT64_C(1) << 30;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.limits = &limits;
    struct recording r = {.output_capacity = 8 * n + 4096, .random = 1, .builds = 1};
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &r.context), WNNStatus_Success);
    r.builder = create_builder(r.context);
    r.outputs = calloc(r.output_capacity, sizeof *r.outputs);
    r.names = calloc(r.output_capacity, sizeof *r.names);
    REQUIRE(r.outputs && r.names);
    bomb->record(&r, n);
    for (unsigned i = 0; i < r.builds; i++)
        build_once(&r);
    wnnGraphBuilderRelease(r.builder);
    WNNContextCounters counters = counters_of(r.context);
    wnnContextRelease(r.context);
    free(r.long_names);
    free(r.names);
    free(r.outputs);
    return (struct cost){count_work() - work, processor_seconds() - seconds,
                         (double)counters.maxAllocatedBytes};
}

static double exponent(double small, double large)
{
    return log(large / small) / log(1 << (SIZES - 1));
}

// By how much seconds grow faster than instructions, since larger graphs do not stay in a cache, and page by
// page of memory is new: as far as that can be told from memory alone.
static double growth_of_caches(const struct cost *smallest, const struct cost *largest)
{
    if (counter >= 0 || largest->bytes < 2 * smallest->bytes)
        return 0;
    double growth =
        log(visit(largest->bytes) / visit(smallest->bytes)) / log(largest->bytes / smallest->bytes) - 1;
    return fmin(fmax(growth, 0), MAX_CACHES);
}

// On a busy machine time gets longer, never shorter, so that the shortest of several counts.
static bool check(const struct bomb *bomb, size_t scale)
{
    struct cost cost[SIZES];
    double work = 0, bytes = 0, caches = 0;
    int attempts = counter >= 0 ? ATTEMPTS : ATTEMPTS_BY_TIME;
    for (int attempt = 0; attempt < attempts; attempt++) {
        for (int i = 0; i < SIZES; i++) {
            struct cost now = measure(bomb, bomb->n * scale << i);
            cost[i] = attempt == 0
                          ? now
                          : (struct cost){fmin(cost[i].work, now.work), fmin(cost[i].seconds, now.seconds),
                                          fmin(cost[i].bytes, now.bytes)};
        }
        work = exponent(cost[0].work, cost[SIZES - 1].work);
        bytes = exponent(cost[0].bytes, cost[SIZES - 1].bytes);
        if (work < MAX_EXPONENT)
            break;
        caches = growth_of_caches(&cost[0], &cost[SIZES - 1]);
        if (work - caches < MAX_EXPONENT)
            break;
    }
    work -= caches;
    const struct cost *largest = &cost[SIZES - 1];
    bool good = work < MAX_EXPONENT && bytes < MAX_EXPONENT &&
                largest->seconds < MAX_SECONDS * (double)scale &&
                (bomb->megabytes == 0 || largest->bytes < bomb->megabytes * (double)scale * 1e6);
    printf("%-28s", bomb->name);
    for (int i = 0; i < SIZES; i++)
        printf(" %9.1f", cost[i].seconds * 1e3);
    printf(" ms, %.2f", work);
    if (caches > 0)
        printf(" (and %.2f for caches)", caches);
    printf("; ");
    printf("%8.1f MB, %.2f%s\n", largest->bytes * 1e-6, bytes, good ? "" : " FAILED");
    fflush(stdout);
    return good;
}

int main(int argc, char **argv)
{
    if (SANITIZED)
        return cases_skip("what bombs cost depends on what the sanitizers do");
    const char *long_run = getenv("WNN_LONG");
    size_t scale = long_run && strcmp(long_run, "1") == 0 ? 4 : 1;
    open_counter();
    make_eager();
    backend = wnn_backend_find("cpu");
    if (argc > 1 && strcmp(argv[1], "--eager") == 0) {
        backend = &eager;
        argv[1] = argv[0];
        argc--;
        argv++;
    }
    printf("processor time at n, 2n, 4n and 8n; growth of %s and of memory\n",
           counter >= 0 ? "instructions" : "that time");
    measure(&bombs[0], bombs[0].n); // what happens once
    cases_begin(argc, argv);
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++)
        CASE_AS(bombs[i].name, REQUIRE(check(&bombs[i], scale)));
    return cases_end();
}
