// SPDX-License-Identifier: Apache-2.0
//
// Products on matrix units against sums of float64: every tile, edges, operands turned, unaligned and
// gathered, splits, batches, what is not finite. On devices without matrix units they are emulated, so that
// all but the instructions themselves is seen. And the completion of SPIR-V, of good modules and bad. Skipped
// where Vulkan has no device.

#include "conformance/unit/require.h"
#include "lib/half.h"
#include "vulkan/device/open.h"
#include "vulkan/ops/attention_tiles.h"
#include "vulkan/ops/cooperative_tiles.h"
#include "vulkan/ops/gemm_cooperative.h"
#include "vulkan/program/spirv.h"

#include <math.h>
#include <string.h>

enum {
    ROOM = 1 << 18, // elements of an operand
    SCRATCH = 1 << 21
};

static struct gpu gpu;
static struct command_pool command_pool;
static struct pipelines pipelines;
static struct buffer arena, readback, counters;
static float a[ROOM], b[ROOM], c[ROOM];

// ---------------------------------------------------------------------------------------------------------------
// Products
// ---------------------------------------------------------------------------------------------------------------

struct test_case {
    WNNDataType type;
    unsigned tile; // from 1 on
    uint32_t rows, columns, inner, matrices;
    bool a_turned, b_turned;
    size_t shift;   // of the operands in memory, in elements
    size_t scratch; // for so many splits
    const struct gather *gather;
    bool infinite, alpha;
    bool counts; // with counters, so that splits are summed where they are made
};

static unsigned random_state = 1;

// Of any magnitude around 1, as near to 0 as can be, with all bits of its mantissa.
static float random_number(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return ((float)(random_state >> 8) - 0x1p23f) * 0x1p-23f;
}

static void fill(float *values, size_t count, bool half)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = random_number();
        if (half)
            values[i] = wnn_half_to_float(wnn_half_from_float(values[i]));
    }
}

static struct tensor place(WNNDataType type, size_t offset, size_t shift, size_t count)
{
    size_t bytes = wnn_dtype_bits(type) / 8;
    return (struct tensor){
        {&arena, offset + shift * bytes, count * bytes}, type, {1, {(uint32_t)count}}, count};
}

static void upload(const float *values, const struct tensor *tensor)
{
    static uint16_t halves[ROOM];
    struct error error = {0};
    bool half = tensor->type == WNNDataType_Float16;
    for (size_t i = 0; half && i < tensor->count; i++)
        halves[i] = wnn_half_from_float(values[i]);
    const struct upload piece = {half ? (const void *)halves : values, tensor->region};
    REQUIRE(wnn_gpu_upload(&gpu, &command_pool, &piece, 1, &error));
}

static bool element_of_a(const struct product *p, uint32_t matrix, uint32_t m, uint32_t k, size_t *at)
{
    const struct gather *g = p->gather;
    *at = (size_t)matrix * (size_t)p->a_steps[0] + (size_t)m * p->a_row + (size_t)k * p->a_inner;
    if (!g)
        return true;
    uint32_t x = m % g->out_width, y = m / g->out_width % g->out_height, n = m / g->out_width / g->out_height;
    uint32_t tap = k / g->channels;
    int64_t from_y = (int64_t)y * g->strides[0] + tap / g->filter_width * g->dilations[0] - g->padding[0],
            from_x = (int64_t)x * g->strides[1] + tap % g->filter_width * g->dilations[1] - g->padding[1];
    *at = n * g->image + (size_t)from_y * g->line + (size_t)from_x * g->pixel + k % g->channels;
    return from_y >= 0 && from_y < g->in_height && from_x >= 0 && from_x < g->in_width;
}

static void compare(const struct test_case *t, const struct product *p, const void *results)
{
    bool half = t->type == WNNDataType_Float16;
    for (size_t i = 0; i < p->out->count; i++) {
        uint32_t n = (uint32_t)(i % t->columns), m = (uint32_t)(i / t->columns % t->rows),
                 matrix = (uint32_t)(i / t->columns / t->rows);
        double sum = 0, most = 0;
        for (uint32_t k = 0; k < t->inner; k++) {
            size_t at;
            if (!element_of_a(p, matrix, m, k, &at))
                continue;
            double product = (double)a[at] * b[matrix * p->b_steps[0] + n * p->b_column + k * p->b_inner];
            sum += product;
            most += fabs(product);
        }
        if (t->alpha) {
            sum = sum * p->alpha + p->beta * c[n];
            most = most * fabs(p->alpha) + fabs(p->beta * c[n]);
        }
        float got;
        if (half)
            got = wnn_half_to_float(((const uint16_t *)results)[i]);
        else
            got = ((const float *)results)[i];
        // A float32 of pieces is to be as good as one that rounds at each of the sums.
        double bound = most * 0x1p-22 + (half ? fabs(sum) * 0x1p-11 + 0x1p-25 : 0);
        bool same = isnan(sum) ? isnan(got) : isinf(sum) ? got == (float)sum : fabs(got - sum) <= bound;
        if (!same)
            fprintf(stderr, "type %d tile %u, %ux%ux%u: element %zu is %.9g, expected %.9g\n", t->type,
                    t->tile, t->rows, t->columns, t->inner, i, (double)got, sum);
        REQUIRE(same);
    }
}

static bool run_all(const struct recording *recording, struct error *error)
{
    bool done = true;
    for (size_t i = 0; done && i < recording->count; i++)
        done = wnn_gpu_run(&gpu, &command_pool, recording->commands[i], error);
    return done;
}

static void upload_zeros(struct region region)
{
    static const char zeros[4 * ROOM];
    struct error error = {0};
    REQUIRE(region.bytes <= sizeof zeros);
    REQUIRE(wnn_gpu_upload(&gpu, &command_pool, &(struct upload){zeros, region}, 1, &error));
}

// Runs a program, which ends with that; the output is read back. What counts is run twice: counters are left
// as they were found.
static void finish(struct program *program, const struct tensor *out)
{
    struct error error = {0};
    struct recording recording = {0};
    struct step *copy = wnn_program_add(program, STEP_COPY, NULL);
    REQUIRE(copy);
    copy->binding_count = 2;
    copy->bindings[0] = (struct binding){out->region, false};
    copy->bindings[1] = (struct binding){{&readback, 0, out->region.bytes}, true};
    bool done = wnn_program_finish(program, &error) &&
                wnn_program_record(program, &(struct record_params){0}, &recording, &error);
    done = done && run_all(&recording, &error);
    if (done && program->counter_bytes > 0) {
        upload_zeros(out->region);
        done = run_all(&recording, &error);
    }
    if (!done || !wnn_buffer_invalidate(&gpu, &readback, &error))
        fprintf(stderr, "%s\n", error.message);
    REQUIRE(error.status == WNNStatus_Success);
    wnn_recording_free(&recording);
    wnn_program_free(program);
}

static void run(const struct test_case *t)
{
    static const size_t from_b = 1 << 20, from_c = 2 << 20, from_out = 3 << 20, from_scratch = 4 << 20;
    bool half = t->type == WNNDataType_Float16;
    uint32_t matrices = t->matrices ? t->matrices : 1;
    size_t a_count = (size_t)t->rows * t->inner, b_count = (size_t)t->inner * t->columns;
    if (t->gather)
        a_count = (size_t)t->gather->image * (t->rows / t->gather->out_height / t->gather->out_width);
    REQUIRE(a_count * matrices <= ROOM && b_count * matrices <= ROOM);
    struct tensor ta = place(t->type, 0, t->shift, a_count * matrices),
                  tb = place(t->type, from_b, t->shift, b_count * matrices),
                  tc = place(t->type, from_c, 0, t->columns),
                  out = place(t->type, from_out, 0, (size_t)t->rows * t->columns * matrices);
    struct product p = {.a = &ta,
                        .b = &tb,
                        .out = &out,
                        .c = t->alpha ? &tc : NULL,
                        .gather = t->gather,
                        .rows = t->rows,
                        .columns = t->columns,
                        .inner = t->inner,
                        .matrices = matrices,
                        .a_row = t->a_turned ? 1 : t->inner,
                        .a_inner = t->a_turned ? t->rows : 1,
                        .b_column = t->b_turned ? t->inner : 1,
                        .b_inner = t->b_turned ? 1 : t->columns,
                        .b_run = t->inner,
                        .out_row = t->columns,
                        .alpha = t->alpha ? 0.5 : 1,
                        .beta = t->alpha ? 3 : 1,
                        .rank = 1,
                        .dims = {matrices},
                        .a_steps = {(int64_t)a_count},
                        .b_steps = {(int64_t)b_count},
                        .out_steps = {(int64_t)t->rows * t->columns},
                        .c_dims = {t->rows * matrices, t->columns},
                        .c_steps = {0, 1}};
    fill(a, ta.count, half);
    fill(b, tb.count, half);
    fill(c, tc.count, half);
    if (t->infinite) {
        a[3] = INFINITY;
        a[t->inner + 5] = NAN;
        a[2 * t->inner + 1] = half ? 65504 : 3.4e38f;
        b[t->columns * 2 + 4] = -INFINITY;
    }
    upload(a, &ta);
    upload(b, &tb);
    upload(c, &tc);

    // What the node says is only used for an estimate of the work.
    struct operand operands[] = {{.type = {t->type, {3, {matrices, t->rows, t->inner}}}},
                                 {.type = {t->type, {3, {matrices, t->inner, t->columns}}}},
                                 {.type = {t->type, {3, {matrices, t->rows, t->columns}}}}};
    struct operand *inputs[] = {&operands[0], &operands[1]}, *outputs[] = {&operands[2]};
    const struct node node = {
        .op = WNN_OP_matmul, .in = inputs, .out = outputs, .in_count = 2, .out_count = 1};
    struct error error = {0};
    struct program program;
    struct lowering lowering = {.gpu = &gpu, .program = &program, .node = &node, .error = &error};
    lowering.scratch = (struct region){&arena, from_scratch, t->scratch * out.count * sizeof(float)};
    REQUIRE(lowering.scratch.bytes <= SCRATCH);
    wnn_program_init(&program, &gpu, &pipelines);
    if (t->counts)
        program.counters = &counters;
    gpu.can.matrix_tile = t->tile;
    bool lowered = wnn_lower_cooperative(&lowering, &p);
    REQUIRE(lowered || t->tile > 0);
    if (!lowered) { // the device has too little shared memory for it
        wnn_program_free(&program);
        return;
    }
    REQUIRE(!lowering.failed);
    REQUIRE(program.dispatches == (t->scratch && !t->counts ? 2 : 1));
    REQUIRE((program.counter_bytes > 0) == t->counts && program.counter_bytes <= counters.bytes);
    finish(&program, &out);
    compare(t, &p, readback.mapped);
}

// Images of these sizes, whose channels come last.
#define IMAGES(height, width, depth)                                                                         \
    .in_height = (height), .in_width = (width), .channels = (depth), .image = (height) * (width) * (depth),  \
    .line = (width) * (depth), .pixel = (depth)

static void test_products(WNNDataType type)
{
    static const struct gather gathered = {IMAGES(9, 11, 16),  .out_height = 4,   .out_width = 6,
                                           .filter_width = 2,  .padding = {1, 2}, .strides = {2, 2},
                                           .dilations = {3, 2}},
                               padded = {IMAGES(9, 11, 3),   .out_height = 5,   .out_width = 6,
                                         .filter_width = 7,  .padding = {3, 3}, .strides = {2, 2},
                                         .dilations = {1, 1}},
                               narrow = {IMAGES(6, 3, 1),    .out_height = 6,   .out_width = 5,
                                         .filter_width = 11, .padding = {2, 6}, .strides = {1, 1},
                                         .dilations = {2, 1}},
                               of_three = {IMAGES(9, 11, 3),   .out_height = 4,   .out_width = 5,
                                           .filter_width = 3,  .padding = {0, 0}, .strides = {2, 2},
                                           .dilations = {1, 1}},
                               of_many = {IMAGES(5, 6, 128),   .out_height = 5,   .out_width = 6,
                                          .filter_width = 3,   .padding = {1, 1}, .strides = {1, 1},
                                          .dilations = {1, 1}, .fixed = true};
    const struct test_case cases[] = {
        {.rows = 35, .columns = 18, .inner = 37},
        {.rows = 64, .columns = 64, .inner = 128},
        {.rows = 40, .columns = 50, .inner = 70, .a_turned = true},
        {.rows = 48, .columns = 40, .inner = 70, .b_turned = true},
        {.rows = 40, .columns = 48, .inner = 72, .a_turned = true, .b_turned = true},
        {.rows = 40, .columns = 48, .inner = 72, .shift = 2},
        {.rows = 40, .columns = 48, .inner = 76, .shift = 4},
        {.rows = 33, .columns = 34, .inner = 35, .matrices = 3},
        {.rows = 33, .columns = 34, .inner = 300, .tile = 4, .scratch = 3, .alpha = true},
        {.rows = 20, .columns = 22, .inner = 24, .alpha = true},
        {.rows = 17, .columns = 20, .inner = 64, .infinite = true},
        {.rows = 48, .columns = 24, .inner = 64, .gather = &gathered, .b_turned = true},
        {.rows = 40, .columns = 24, .inner = 27, .gather = &of_three},
        {.rows = 60, .columns = 40, .inner = 147, .gather = &padded, .b_turned = true},
        {.rows = 60, .columns = 34, .inner = 147, .gather = &padded},
        {.rows = 60, .columns = 24, .inner = 147, .gather = &padded, .b_turned = true, .shift = 2},
        {.rows = 90, .columns = 18, .inner = 33, .gather = &narrow, .b_turned = true, .alpha = true},
        // Steps of one tap each, and so many that the last is read again rather than none.
        {.rows = 60, .columns = 24, .inner = 1152, .gather = &of_many, .b_turned = true},
        {.rows = 60, .columns = 24, .inner = 1152, .gather = &of_many, .b_turned = true, .scratch = 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_case with_type = cases[i];
        with_type.type = type;
        run(&with_type);
    }
    // Two elements of a word are in two rows.
    if (type == WNNDataType_Float16)
        run(&(struct test_case){.type = type, .rows = 21, .columns = 23, .inner = 40, .scratch = 1});
    else
        run(&(struct test_case){.type = type, .rows = 21, .columns = 23, .inner = 40});
    for (unsigned tile = 1; tile <= COOPERATIVE_TILES; tile++) {
        const struct test_case large = {.type = type,
                                        .tile = tile,
                                        .rows = 66,
                                        .columns = 70,
                                        .inner = 80,
                                        .a_turned = tile % 2 == 0,
                                        .b_turned = tile % 2 == 0};
        run(&large);
        // Words of two columns, and four that lie beside one another; tiles that are filled, and that are
        // not.
        const struct test_case summed[] = {
            {.rows = 66, .columns = 72, .inner = 256, .scratch = 3},
            {.rows = 18, .columns = 70, .inner = 140, .scratch = 2, .b_turned = true, .alpha = true},
            {.rows = 33, .columns = 36, .inner = 300, .scratch = 4, .matrices = 3, .a_turned = true}};
        struct test_case counting = summed[tile % (sizeof summed / sizeof summed[0])];
        counting.type = type;
        counting.tile = tile;
        counting.counts = true;
        run(&counting);
    }
}

// Tiles of whole steps, the last of which begin before their place, down and across.
static void test_overlaps(void)
{
    const struct product any = {.rows = 512, .columns = 512, .inner = 512, .matrices = 1};
    const struct cooperative_operands with = {.half = true};
    struct cooperative_schedule schedule;
    for (unsigned tile = 1; tile <= COOPERATIVE_TILES; tile++) {
        gpu.can.matrix_tile = tile;
        if (!wnn_cooperative_choose(&gpu.can, &any, &with, 1, &schedule))
            continue;
        struct test_case t = {.type = WNNDataType_Float16,
                              .tile = tile,
                              .rows = schedule.tile.m + 8,
                              .columns = schedule.tile.n + 8,
                              .inner = schedule.tile.k,
                              .a_turned = tile % 2,
                              .b_turned = tile / 2 % 2,
                              .alpha = tile % 3 == 0};
        if (tile % 4 == 0) {
            t.inner *= 2;
            t.scratch = 2;
            t.counts = tile % 8 == 0;
        }
        run(&t);
    }
}

// On an H100, whatever is here: of one round of tiles slices share the parts, what runs beside others takes
// tiles that keep processors busy for the least time, and no splits.
static void test_choices(void)
{
    const struct capabilities can = {.invocations = 1024,
                                     .shared_bytes = 48 << 10,
                                     .subgroup = 32,
                                     .groups = {INT32_MAX, 65535, 65535},
                                     .half_matrices = {16, 16, 16}};
    const struct product queries = {.rows = 512, .columns = 4096, .inner = 4096, .matrices = 1},
                         keys = {.rows = 512, .columns = 1024, .inner = 4096, .matrices = 1},
                         pixels = {.rows = 6272, .columns = 256, .inner = 2304, .matrices = 1};
    struct cooperative_operands with = {.half = true};
    struct cooperative_schedule schedule;
    REQUIRE(wnn_cooperative_choose(&can, &pixels, &with, 1, &schedule));
    REQUIRE(schedule.tile.slices == 2 && schedule.splits == 1);
    REQUIRE(schedule.tiles_m * schedule.tile.m >= pixels.rows && schedule.tiles_n == 2);
    REQUIRE(wnn_cooperative_choose(&can, &keys, &with, 8, &schedule));
    REQUIRE(schedule.splits > 1 && schedule.split * schedule.splits >= keys.inner);
    with.beside = wnn_cooperative_time((uint64_t)queries.rows * queries.columns * queries.inner, true);
    REQUIRE(with.beside > 20 && with.beside < 100);
    REQUIRE(wnn_cooperative_choose(&can, &keys, &with, 8, &schedule));
    REQUIRE(schedule.splits == 1 && schedule.tile.m == 64);
    // Few rows of a large matrix are split until memory is busy, and summed where they are made; large tiles
    // are not, whose work groups would take longer than a dispatch.
    const struct product few = {.rows = 8, .columns = 4096, .inner = 14336, .matrices = 1},
                         odd = {.rows = 1568, .columns = 512, .inner = 4608, .matrices = 1};
    with = (struct cooperative_operands){.half = true, .counts = true};
    REQUIRE(wnn_cooperative_splits(&few) >= 8);
    REQUIRE(wnn_cooperative_choose(&can, &few, &with, 8, &schedule));
    REQUIRE(schedule.tile.m == 16 && schedule.splits == 8 && schedule.sums_inside);
    REQUIRE(wnn_cooperative_choose(&can, &odd, &with, 4, &schedule));
    REQUIRE(schedule.splits > 1 && !schedule.sums_inside);
    with.counts = false;
    REQUIRE(wnn_cooperative_choose(&can, &few, &with, 8, &schedule));
    REQUIRE(schedule.splits > 1 && !schedule.sums_inside);
    // What is fused and reads as much as there are results is sooner read by the sum of splits.
    unsigned more = 0;
    for (uint32_t inner = 512; inner <= 8192; inner += 256) {
        const struct product sums = {.rows = 512, .columns = 4096, .inner = inner, .matrices = 1};
        struct cooperative_schedule reading;
        REQUIRE(
            wnn_cooperative_choose(&can, &sums, &(struct cooperative_operands){.half = true}, 2, &schedule));
        REQUIRE(wnn_cooperative_choose(
            &can, &sums, &(struct cooperative_operands){.half = true, .reads = true}, 2, &reading));
        REQUIRE(reading.splits >= schedule.splits);
        more += reading.splits > schedule.splits;
    }
    REQUIRE(more > 0);
}

// Which elements invocations have is known of what is emulated, and of devices where the lanes of a subgroup
// have those that attention takes for granted; any other answer is none.
static void test_places(void)
{
    struct tensor out = place(WNNDataType_Uint32, 0, 0, WNN_PLACES);
    struct error error = {0};
    struct program program;
    struct lowering lowering = {.gpu = &gpu, .program = &program, .out = &out, .error = &error};
    uint32_t places[WNN_PLACES];
    REQUIRE(gpu.can.matrix_units != MATRIX_UNITS_EMULATED || wnn_may_know_places(&gpu.can));
    if (!wnn_may_know_places(&gpu.can))
        return;
    wnn_program_init(&program, &gpu, &pipelines);
    wnn_lower_places(&lowering);
    REQUIRE(!lowering.failed);
    finish(&program, &out);
    memcpy(places, readback.mapped, sizeof places);
    REQUIRE(gpu.can.matrix_units != MATRIX_UNITS_EMULATED || wnn_are_places(places));
    for (unsigned i = 0; i < WNN_PLACES; i += 37) {
        places[i] ^= 1;
        REQUIRE(!wnn_are_places(places));
        places[i] ^= 1;
    }
    gpu.can.hides_places = true;
    REQUIRE(!wnn_may_know_places(&gpu.can));
    gpu.can.hides_places = false;
    REQUIRE(!wnn_are_described_places(&gpu.can) || wnn_are_places(places));
    const struct capabilities others[] = {{.vendor = 0x1002, .matrix_units = MATRIX_UNITS_KHR},
                                          {.vendor = 0x10DE, .matrix_units = MATRIX_UNITS_KHR}};
    REQUIRE(!wnn_are_described_places(&others[0]) && wnn_are_described_places(&others[1]));
}

// ---------------------------------------------------------------------------------------------------------------
// SPIR-V
// ---------------------------------------------------------------------------------------------------------------

#define WORDS(count, op) ((uint32_t)(count) << 16 | (op))

static void test_spirv(void)
{
    enum {
        FLOAT = 22,
        MATRIX = 4456,
        OTHER = 17
    };
    // Matrices of bfloat16, which is not declared; of float32, which is before it; of float16, which is
    // behind.
    const uint32_t module[] = {0x07230203,
                               0x10500,
                               0,
                               20,
                               0,
                               WORDS(2, OTHER),
                               1,
                               WORDS(3, FLOAT),
                               7,
                               32,
                               WORDS(7, MATRIX),
                               8,
                               SPIRV_BFLOAT16,
                               2,
                               3,
                               3,
                               4,
                               WORDS(7, MATRIX),
                               9,
                               SPIRV_FLOAT32,
                               2,
                               3,
                               3,
                               4,
                               WORDS(7, MATRIX),
                               10,
                               SPIRV_FLOAT16,
                               2,
                               3,
                               3,
                               4,
                               WORDS(7, MATRIX),
                               11,
                               SPIRV_FLOAT16,
                               2,
                               3,
                               3,
                               5,
                               WORDS(3, FLOAT),
                               12,
                               16,
                               WORDS(2, OTHER),
                               5};
    const uint32_t expected[] = {0x07230203,
                                 0x10500,
                                 0,
                                 21,
                                 0,
                                 WORDS(2, OTHER),
                                 1,
                                 WORDS(3, FLOAT),
                                 7,
                                 32,
                                 WORDS(4, FLOAT),
                                 20,
                                 16,
                                 0,
                                 WORDS(7, MATRIX),
                                 8,
                                 20,
                                 2,
                                 3,
                                 3,
                                 4,
                                 WORDS(7, MATRIX),
                                 9,
                                 7,
                                 2,
                                 3,
                                 3,
                                 4,
                                 WORDS(3, FLOAT),
                                 12,
                                 16,
                                 WORDS(7, MATRIX),
                                 10,
                                 12,
                                 2,
                                 3,
                                 3,
                                 4,
                                 WORDS(7, MATRIX),
                                 11,
                                 12,
                                 2,
                                 3,
                                 3,
                                 5,
                                 WORDS(2, OTHER),
                                 5};
    enum {
        COUNT = sizeof module / sizeof module[0]
    };
    uint32_t out[COUNT + SPIRV_GROWTH], broken[COUNT];
    REQUIRE(wnn_spirv_incomplete(module, COUNT));
    REQUIRE_EQUAL_INT(wnn_spirv_complete(module, COUNT, out), sizeof expected / sizeof expected[0]);
    REQUIRE(memcmp(out, expected, sizeof expected) == 0);
    REQUIRE(!wnn_spirv_incomplete(out, sizeof expected / sizeof expected[0]));
    REQUIRE_EQUAL_INT(wnn_spirv_complete(expected, sizeof expected / sizeof expected[0], out),
                      sizeof expected / sizeof expected[0]); // what is complete stays as it is
    REQUIRE(memcmp(out, expected, sizeof expected) == 0);

    // Instructions that end beyond the module, have no length, or are cut; no header.
    for (size_t count = 0; count < COUNT; count++) {
        bool whole = count == 5 || count == 7 || count == 10 || count == 17 || count == 24 || count == 31 ||
                     count == 38 || count == 41;
        REQUIRE_EQUAL_INT(wnn_spirv_complete(module, count, out) > 0, whole);
    }
    memcpy(broken, module, sizeof module);
    broken[7] = FLOAT;
    REQUIRE_EQUAL_INT(wnn_spirv_complete(broken, COUNT, out), 0);
    REQUIRE(!wnn_spirv_incomplete(broken, COUNT));
    memcpy(broken, module, sizeof module);
    broken[0]++;
    REQUIRE_EQUAL_INT(wnn_spirv_complete(broken, COUNT, out), 0);
}

// ---------------------------------------------------------------------------------------------------------------

static void run_tasks(const struct parallel *parallel, size_t count,
                      void (*task)(void *argument, size_t index), void *argument)
{
    (void)parallel;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

// An element after the other is for a processor, and for sums of few terms.
static void test_small(void)
{
    const struct capabilities discrete = {.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU},
                              processor = {.type = VK_PHYSICAL_DEVICE_TYPE_CPU};
    const struct product row = {.rows = 1, .columns = 32, .inner = 784, .matrices = 1},
                         many = {.rows = 1, .columns = 64, .inner = 64, .matrices = 16},
                         few_terms = {.rows = 200, .columns = 5, .inner = 9, .matrices = 1};
    REQUIRE(!wnn_product_is_small(&discrete, &row) && wnn_product_is_small(&processor, &row));
    REQUIRE(!wnn_product_is_small(&discrete, &many) && !wnn_product_is_small(&processor, &many));
    REQUIRE(wnn_product_is_small(&discrete, &few_terms) && wnn_product_is_small(&processor, &few_terms));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    struct allocator allocator;
    struct error error = {0};
    const struct parallel parallel = {.run = run_tasks, .threads = 1};
    const struct backend_options options = {.allocator = &allocator, .parallel = &parallel};
    wnn_allocator_init(&allocator, NULL, 0);
    CASE(test_choices());
    CASE(test_small());
    CASE(test_spirv());
    if (!wnn_gpu_open(&gpu, &options, &(struct gpu_origin){.matrices = true}, &error))
        return cases_skip(error.message);
    REQUIRE(wnn_pipelines_open(&pipelines, &gpu, &options, &error));
    REQUIRE(wnn_buffer_create(&gpu, (4 << 20) + SCRATCH, BUFFER_DEVICE, &arena, &error));
    REQUIRE(wnn_buffer_create(&gpu, 1 << 20, BUFFER_READBACK, &readback, &error));
    REQUIRE(wnn_buffer_create(&gpu, 4096, BUFFER_DEVICE, &counters, &error));
    upload_zeros((struct region){&counters, 0, counters.bytes});
    if (gpu.can.half_matrices.m > 0)
        CASE(test_places());
    CASE(test_products(WNNDataType_Float16));
    CASE(test_overlaps());
    if (gpu.can.bfloat16_matrices.m > 0)
        CASE(test_products(WNNDataType_Float32));
    wnn_buffer_free(&gpu, &counters);
    wnn_buffer_free(&gpu, &readback);
    wnn_buffer_free(&gpu, &arena);
    wnn_pipelines_close(&pipelines);
    wnn_command_pool_free(&gpu, &command_pool);
    wnn_gpu_close(&gpu);
    return cases_end();
}
