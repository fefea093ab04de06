// SPDX-License-Identifier: Apache-2.0
//
// Attention of every form that the compiler makes one operator of: random ones, seeded, against the scalar
// reference on the same numbers, which computes in float32 what the backend does in float16. The argument
// names the backend: cpu or vulkan; skipped where Vulkan has no device.

#include "conformance/backends.h"
#include "conformance/reference/reference.h"
#include "conformance/unit/differential_fixture.h"

enum {
    RANK = 5 // at most: [batch, groups, times, rows, columns]
};

enum mask {
    MASK_NONE,
    MASK_ANY,
    MASK_CAUSAL, // -inf
    MASK_LOWEST, // a finite number
    MASK_WINDOW, // -inf in front of some keys and behind them
    MASK_ROWS,   // some rows are all -inf
    MASK_NAN
};

struct form {
    uint32_t batch, groups, times, rows, keys, depth, width;
    enum {
        SHARE_DIMENSION, // heads of a group read keys of a dimension of 1,
        SHARE_EXPAND     // or what expand makes of them
    } share;
    bool one_batch; // of keys and values
    bool permuted;
    enum mask mask;
    unsigned mask_dims; // bit d: it has dimension d, of 5
    enum choice {
        ADD,          // the mask
        ADD_AND_SEEN, // likewise, and then where(seen, scores, low)
        SEEN,
        UNSEEN // where(unseen, low, scores)
    } choice;
    float low;
    bool infinite;   // some keys and values are
    unsigned scaled; // bit 0: queries are, too; bit 1: keys are
    bool zeros;      // NaN that softmax makes is taken for zeros
    uint32_t seed;
};

static const struct form *form;
static WNNDataType rounded_to;

static void put(void *data, WNNDataType type, size_t i, float x)
{
    if (type == WNNDataType_Float16)
        ((uint16_t *)data)[i] = wnn_half_from_float(x);
    else
        ((float *)data)[i] =
            rounded_to == WNNDataType_Float16 ? wnn_half_to_float(wnn_half_from_float(x)) : x;
}

static float mask_number(size_t i, uint32_t random)
{
    uint32_t keys = form->mask_dims & 16 ? form->keys : 1, rows = form->mask_dims & 8 ? form->rows : 1;
    uint32_t key = (uint32_t)(i % keys), row = (uint32_t)(i / keys % rows);
    bool behind = (uint64_t)key * form->rows > (uint64_t)(row + 1) * form->keys;
    switch (form->mask) {
    case MASK_CAUSAL:
        return behind ? -INFINITY : 0;
    case MASK_LOWEST:
        return behind || random % 3 == 0 ? -65504 : 0;
    case MASK_WINDOW:
        return key < keys / 3 || key > keys / 2 + row % 4 ? -INFINITY : (float)(random % 100) / 50;
    case MASK_ROWS:
        return row % 3 == 1 ? -INFINITY : random % 5 == 0 ? -INFINITY : 0.5f;
    case MASK_NAN:
        return random % 97 == 0 ? NAN : 0;
    default:
        return (float)(random % 1000) / 250 - 2;
    }
}

static void fill(void *data, WNNDataType type, size_t count, unsigned number)
{
    uint32_t state = form->seed * 4 + number;
    for (size_t i = 0; i < count; i++) {
        uint32_t random = next(&state);
        float x = (float)(random % 4001) / 1000 - 2;
        if (number == 4)
            x = mask_number(i, random);
        else if (form->infinite && number > 1 && random % 211 == 0)
            x = random % 2 ? INFINITY : NAN;
        put(data, type, i, x);
    }
}

// An input that is a transpose of what it stands for, or not.
static WNNOperand source(struct subject *s, unsigned rank, const uint32_t *dims, uint32_t *seed)
{
    uint32_t order[RANK], back[RANK], moved[RANK];
    for (unsigned d = 0; d < rank; d++)
        order[d] = d;
    for (unsigned d = rank; form->permuted && d-- > 1;) {
        uint32_t k = next(seed) % (d + 1), kept = order[d];
        order[d] = order[k];
        order[k] = kept;
    }
    for (unsigned d = 0; d < rank; d++) {
        moved[d] = dims[order[d]];
        back[order[d]] = d;
    }
    WNNOperand operand = input(s, rank, moved);
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){back, rank};
    return form->permuted ? wnnGraphBuilderTranspose(s->builder, operand, &options) : operand;
}

// The matrices of each group for all heads of it.
static WNNOperand repeat(struct subject *s, WNNOperand x, uint32_t rows, uint32_t columns)
{
    uint32_t batch = form->one_batch ? 1 : form->batch;
    const uint32_t apart[] = {batch, form->groups, 1, rows, columns},
                   repeated[] = {batch, form->groups, form->times, rows, columns},
                   joined[] = {batch, form->groups * form->times, rows, columns};
    x = wnnGraphBuilderReshape(s->builder, x, (WNNUint32List){apart, 5}, NULL);
    x = wnnGraphBuilderExpand(s->builder, x, (WNNUint32List){repeated, 5}, NULL);
    return wnnGraphBuilderReshape(s->builder, x, (WNNUint32List){joined, 4}, NULL);
}

static WNNOperand shared(struct subject *s, uint32_t rows, uint32_t columns, uint32_t *seed)
{
    uint32_t batch = form->one_batch ? 1 : form->batch;
    if (form->share == SHARE_DIMENSION)
        return source(s, 5, (uint32_t[]){batch, form->groups, 1, rows, columns}, seed);
    WNNOperand x = source(s, 4, (uint32_t[]){batch, form->groups, rows, columns}, seed);
    return repeat(s, x, rows, columns);
}

static WNNOperand single(struct subject *s, float number)
{
    WNNOperandDescriptor one = WNN_OPERAND_DESCRIPTOR_INIT;
    uint16_t half = wnn_half_from_float(number);
    one.dataType = s->type;
    return s->type == WNNDataType_Float16 ? wnnGraphBuilderConstant(s->builder, &one, &half, sizeof half)
                                          : wnnGraphBuilderConstant(s->builder, &one, &number, sizeof number);
}

static WNNOperand scale(struct subject *s)
{
    return single(s, 0.25f);
}

// Where the mask is a low number, or as it is.
static WNNOperand masked(struct subject *s, WNNOperand scores, WNNOperand mask)
{
    WNNGraphBuilder b = s->builder;
    WNNOperand limit = single(s, -10);
    if (form->choice == ADD || form->choice == ADD_AND_SEEN)
        scores = wnnGraphBuilderAdd(b, scores, mask, NULL);
    if (form->choice == UNSEEN)
        return wnnGraphBuilderWhere(b, wnnGraphBuilderLesser(b, mask, limit, NULL), single(s, form->low),
                                    scores, NULL);
    if (form->choice != ADD)
        return wnnGraphBuilderWhere(b, wnnGraphBuilderGreaterOrEqual(b, mask, limit, NULL), scores,
                                    single(s, form->low), NULL);
    return scores;
}

static void make_attention(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    uint32_t seed = form->seed, heads = form->groups * form->times;
    bool five = form->share == SHARE_DIMENSION;
    const uint32_t dims[] = {form->batch, form->groups, form->times, form->rows, form->depth},
                   flat[] = {form->batch, heads, form->rows, form->depth};
    WNNOperand q = source(s, five ? 5 : 4, five ? dims : flat, &seed);
    WNNOperand k, v;
    if (seed % 3) {
        k = shared(s, form->depth, form->keys, &seed);
    } else {
        const uint32_t order[2][5] = {{0, 1, 3, 2}, {0, 1, 2, 4, 3}};
        WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
        options.permutation = (WNNUint32List){order[five], five ? 5 : 4};
        k = wnnGraphBuilderTranspose(b, shared(s, form->keys, form->depth, &seed), &options);
    }
    v = shared(s, form->keys, form->width, &seed);
    if (form->scaled & 1)
        q = wnnGraphBuilderMul(b, q, scale(s), NULL);
    if (form->scaled & 2)
        k = wnnGraphBuilderMul(b, single(s, 2), k, NULL);
    WNNOperand scores = wnnGraphBuilderMatmul(b, q, k, NULL);
    if (form->seed % 4)
        scores = wnnGraphBuilderMul(b, scores, scale(s), NULL);
    if (form->mask != MASK_NONE) {
        uint32_t mask[5] = {form->batch, form->groups, form->times, form->rows, form->keys};
        for (unsigned d = 0; d < 5; d++)
            if (!(form->mask_dims & 1u << d))
                mask[d] = 1;
        if (!five) {
            mask[1] = form->mask_dims & 2 ? heads : 1;
            memmove(mask + 2, mask + 3, 2 * sizeof mask[0]);
        }
        scores = masked(s, scores, input(s, five ? 5 : 4, mask));
    }
    WNNOperand y = wnnGraphBuilderSoftmax(b, scores, five ? 4 : 3, NULL);
    if (form->zeros)
        y = wnnGraphBuilderWhere(b, wnnGraphBuilderIsNaN(b, y, NULL), single(s, 0), y, NULL);
    y = wnnGraphBuilderMatmul(b, y, v, NULL);
    if (form->permuted) {
        const uint32_t order[3][5] = {{0, 2, 1, 3}, {0, 3, 1, 2, 4}, {4, 1, 0, 2, 3}};
        WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
        options.permutation = (WNNUint32List){order[five ? 1 + form->seed / 4 % 2 : 0], five ? 5 : 4};
        y = wnnGraphBuilderTranspose(b, y, &options);
    }
    output(s, y);
}

static unsigned taken;    // for one operator,
static unsigned in_tiles; // whose scores are not in memory,
static unsigned on_units; // and on matrix units
static unsigned expanded; // keys and values that are repeated in memory
static size_t scratch;

static void look(const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        // A transpose of matrices of one column, or of one row, is seen as a reshape.
        expanded += node->op == WNN_OP_expand && form->depth > 1 && form->keys > 1;
        if (node->op != WNN_OP_attention)
            continue;
        taken++;
        scratch = node->scratch_bytes;
        in_tiles += strncmp(node->kernel, "attention", 9) == 0;
        on_units += strcmp(node->kernel, "attention_units") == 0;
    }
}

// What scores that are rounded to float16 make of it is not as near.
static double tolerance_of(WNNDataType type, bool tiles)
{
    return type != WNNDataType_Float16 ? 6e-5 : tiles ? 4e-3 : 3e-2; // scores are up to 80
}

static void compare_made(void (*make)(struct subject *s), void (*look_at)(const struct graph *graph),
                         WNNContext context, WNNContext reference, const struct form *of, WNNDataType type)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    const struct trial trial = {make, NULL, type, fill, look_at},
                       same = {make, NULL, WNNDataType_Float32, fill, NULL};
    size_t count = (size_t)of->batch * of->groups * of->times * of->rows * of->width;
    unsigned before = in_tiles;
    form = of;
    rounded_to = type;
    run_trial(context, &trial, got);
    run_trial(reference, &same, expected);
    double tolerance = tolerance_of(type, in_tiles > before);
    for (size_t i = 0; i < count; i++) {
        double y = number_at(got, type, i), want = number_at(expected, WNNDataType_Float32, i);
        if (isnan(y) && isnan(want))
            continue;
        if (of->infinite && type == WNNDataType_Float16 && !isfinite(y) && !isfinite(want))
            continue; // weights of float16 may be 0 where those of float32 are not
        if (!(y == want || fabs(y - want) <= tolerance * (1 + fabs(want)))) {
            fprintf(stderr,
                    "%s: batch %u%s, %u x %u heads%s, %u rows, %u keys, %u deep, %u wide%s, mask %d of %u, "
                    "seed %u: "
                    "number %zu is %.9g; expected %.9g\n",
                    wnn_dtype_name(type), of->batch, of->one_batch ? " of one" : "", of->groups, of->times,
                    of->share == SHARE_EXPAND ? " expanded" : "", of->rows, of->keys, of->depth, of->width,
                    of->permuted ? ", permuted" : "", (int)of->mask, of->mask_dims, of->seed, i, y, want);
            case_fail();
            return;
        }
    }
}

static void compare_form(WNNContext context, WNNContext reference, const struct form *of, WNNDataType type)
{
    compare_made(make_attention, look, context, reference, of, type);
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

static uint32_t size(uint32_t *seed, uint32_t most)
{
    static const uint32_t usual[] = {1, 2, 8, 16, 17, 31, 32, 33, 64, 65, 80, 96, 127, 128, 192, 256};
    uint32_t x = next(seed) % 3 ? usual[next(seed) % 16] : 1 + next(seed) % most;
    return x < most ? x : most;
}

// Whether keys may be passed over that have weights of 0: what these are multiplied with need not be seen.
static bool excludes_keys(enum mask mask)
{
    return mask == MASK_CAUSAL || mask == MASK_LOWEST || mask == MASK_WINDOW || mask == MASK_ROWS;
}

static struct form random_form(uint32_t *seed)
{
    struct form f = {.seed = next(seed)};
    f.batch = 1 + next(seed) % 2;
    f.groups = 1 + next(seed) % 3;
    f.times = next(seed) % 2 ? 1 : 1 + next(seed) % 4;
    f.rows = next(seed) % 3 == 0 ? 1 + next(seed) % 17 : size(seed, 300);
    f.keys = next(seed) % 4 == 0 ? 1 + next(seed) % 700 : size(seed, 300);
    f.depth = size(seed, 256);
    f.width = next(seed) % 2 ? f.depth : size(seed, 256);
    if ((uint64_t)f.batch * f.groups * f.times * f.rows * f.keys > 60000) // the reference takes its time
        f.batch = f.groups = 1, f.rows = f.rows % 40 + 1;
    f.share = next(seed) % 2 ? SHARE_DIMENSION : SHARE_EXPAND;
    f.one_batch = next(seed) % 5 == 0;
    f.permuted = next(seed) % 2;
    f.mask = next(seed) % 7;
    f.mask_dims = next(seed) % 32;
    if (f.mask == MASK_CAUSAL || f.mask == MASK_WINDOW || f.mask == MASK_ROWS)
        f.mask_dims |= 24;
    if (excludes_keys(f.mask))
        f.choice = (enum choice)(f.seed / 128 % 4);
    f.low = f.seed / 512 % 2 ? -INFINITY : -65504;
    f.infinite = next(seed) % 9 == 0 && !excludes_keys(f.mask);
    f.scaled = f.seed / 64 % 4;
    f.zeros = f.seed / 16 % 2 == 0 && !f.infinite; // where values are not finite, zeros times these are NaN
    return f;
}

static void test_random(const struct backend *backend, unsigned count, uint32_t seed)
{
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    taken = in_tiles = on_units = expanded = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct form random = random_form(&seed);
        compare_form(context, reference, &random, i % 2 ? WNNDataType_Float16 : WNNDataType_Float32);
    }
    REQUIRE_EQUAL_INT(taken, count);
    REQUIRE_EQUAL_INT(expanded, 0);
    if (strncmp(backend->name, "vulkan-", 7) == 0) // a processor may do without
        REQUIRE_EQUAL_INT(in_tiles, count);
    if (strcmp(backend->name, "vulkan-matrices") == 0 || strcmp(backend->name, "vulkan-places-hidden") == 0)
        REQUIRE(on_units * 3 >= count);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

static uint32_t long_heads, long_rows;

static void make_long(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    WNNOperand q = INPUT(s, 1, long_heads, long_rows, 64), k = INPUT(s, 1, long_heads, 64, long_rows);
    WNNOperand v = INPUT(s, 1, long_heads, long_rows, 64);
    WNNOperand scores = wnnGraphBuilderMul(b, wnnGraphBuilderMatmul(b, q, k, NULL), scale(s), NULL);
    output(s, wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 3, NULL), v, NULL));
}

// Memory does not grow as scores do, of which these would be a quarter of a gigabyte or half of one; built,
// not run.
static void test_memory(const struct backend *backend, WNNDataType type)
{
    WNNContext context = create_on(backend);
    REQUIRE(context);
    struct subject subject = {.builder = create_builder(context), .type = type};
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    long_heads = 16;
    long_rows = type == WNNDataType_Float16 ? 4096 : 2048;
    make_long(&subject);
    WNNNamedOperand named = {view("y"), subject.outputs[0]};
    WNNGraph graph = build_outputs(context, subject.builder, 1, &named);
    REQUIRE_EQUAL_INT(wnnGraphGetInfo(graph, &info), WNNStatus_Success);
    REQUIRE(info.executionBytes < 64 << 20);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(subject.builder);
    wnnContextRelease(context);
}

// So many rows that a large device is busy with work groups of many of them.
static void test_many_rows(const struct backend *backend)
{
    static const struct form many[] = {
        {2, 16, 1, 1000, 40, 16, 16, .seed = 11, .mask = MASK_ANY, .mask_dims = 24},
        {2, 16, 1, 1000, 40, 16, 16, .seed = 13, .mask = MASK_ROWS, .mask_dims = 24, .zeros = true},
    };
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned i = 0; i < sizeof many / sizeof many[0]; i++)
        compare_form(context, reference, &many[i], WNNDataType_Float16);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// In float16 and in float32.
static void compare_both(const struct backend *backend, const struct form *forms, size_t count)
{
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (size_t i = 0; i < count; i++) {
        compare_form(context, reference, &forms[i], WNNDataType_Float16);
        compare_form(context, reference, &forms[i], WNNDataType_Float32);
    }
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// Rows that see no key have equal weights for all of them if what takes these out is a finite number.
static void test_unseen(const struct backend *backend)
{
    static const struct form forms[] = {
        {1, 2, 1, 35, 132, 16, 24, .seed = 17, .mask = MASK_ROWS, .mask_dims = 24, .choice = SEEN,
         .low = -65504},
        {2, 1, 1, 17, 80, 17, 16, .seed = 18, .mask = MASK_ROWS, .mask_dims = 29, .choice = UNSEEN,
         .low = -20000},
        {1, 1, 1, 3, 132, 16, 24, .seed = 19, .mask = MASK_ROWS, .mask_dims = 24, .choice = SEEN,
         .low = -65504},
    };
    compare_both(backend, forms, sizeof forms / sizeof forms[0]);
}

// Many keys, whose scores would be half a gigabyte, or that fill a device with one row of the query.
static void test_long(const struct backend *backend)
{
    static const struct form forms[] = {
        {1, 1, 1, 33, 4100, 16, 24, .seed = 8, .mask = MASK_ANY, .mask_dims = 16},
        {1, 1, 1, 35, 4100, 16, 24, .seed = 12, .mask = MASK_ROWS, .mask_dims = 24, .zeros = true},
        {1, 2, 2, 1, 4096, 56, 64, .share = SHARE_EXPAND, .seed = 5},
        {1, 1, 1, 1, 3001, 40, 36, .seed = 9},
        {1, 1, 1, 40, 1000, 72, 72, .seed = 10, .mask = MASK_ANY, .mask_dims = 24},
        {1, 2, 1, 70, 1300, 32, 40, .seed = 14, .mask = MASK_WINDOW, .mask_dims = 24},
        {1, 2, 3, 5, 2500, 64, 64, .seed = 15, .mask = MASK_WINDOW, .mask_dims = 31},
        {2, 1, 1, 600, 640, 16, 24, .seed = 16, .mask = MASK_CAUSAL, .mask_dims = 24},
    };
    compare_both(backend, forms, sizeof forms / sizeof forms[0]);
}

// Few rows of the query for each key, of one head or of several, which share what they compute in many ways.
static void test_few_rows(const struct backend *backend)
{
    static const struct form forms[] = {
        {1, 2, 1, 1, 1500, 64, 64, .seed = 21},
        {1, 1, 1, 1, 777, 256, 8, .seed = 22, .mask = MASK_ANY, .mask_dims = 16},
        {1, 2, 2, 1, 700, 128, 128, .share = SHARE_EXPAND, .seed = 23},
        {1, 1, 3, 1, 600, 64, 72, .share = SHARE_EXPAND, .seed = 24, .mask = MASK_ANY, .mask_dims = 31},
        {1, 1, 4, 1, 900, 128, 128, .share = SHARE_DIMENSION, .seed = 25},
        {2, 1, 1, 5, 513, 40, 36, .seed = 26, .mask = MASK_ANY, .mask_dims = 24},
        {1, 1, 7, 1, 640, 80, 80, .share = SHARE_EXPAND, .seed = 27, .permuted = true},
        {1, 1, 2, 4, 800, 128, 96, .share = SHARE_EXPAND, .seed = 28, .mask = MASK_CAUSAL, .mask_dims = 24},
        {1, 1, 4, 3, 400, 8, 256, .share = SHARE_EXPAND, .seed = 29},
        {1, 1, 1, 16, 500, 256, 256, .seed = 30, .mask = MASK_ROWS, .mask_dims = 24, .zeros = true},
    };
    compare_both(backend, forms, sizeof forms / sizeof forms[0]);
}

static uint32_t band_end, band_window; // row r attends to keys [r + end - window, r + end)
static unsigned bands;

static bool attends_to(uint32_t row, uint32_t key)
{
    return key < row + band_end && key + band_window >= row + band_end;
}

static void make_band(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    uint32_t rows = form->rows, keys = form->keys, heads = form->groups * form->times;
    size_t count = (size_t)rows * keys, bytes = wnn_dtype_bytes(s->type, count);
    void *mask = malloc(bytes);
    REQUIRE(mask);
    for (size_t i = 0; i < count; i++)
        put(mask, s->type, i, attends_to((uint32_t)(i / keys), (uint32_t)(i % keys)) ? 0 : form->low);
    const uint32_t shape[] = {rows, keys};
    const WNNOperandDescriptor descriptor = {NULL, s->type, {shape, 2}};
    WNNOperand q = INPUT(s, 1, heads, rows, form->depth);
    WNNOperand k = INPUT(s, 1, form->groups, form->depth, keys),
               v = INPUT(s, 1, form->groups, keys, form->width);
    if (form->times > 1) {
        k = repeat(s, k, form->depth, keys);
        v = repeat(s, v, keys, form->width);
    }
    WNNOperand scores = wnnGraphBuilderAdd(b, wnnGraphBuilderMatmul(b, q, k, NULL),
                                           wnnGraphBuilderConstant(b, &descriptor, mask, bytes), NULL);
    output(s, wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 3, NULL), v, NULL));
    free(mask);
}

static void look_for_bands(const struct graph *graph)
{
    look(graph);
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i]->op == WNN_OP_attention)
            bands += ((const struct attention_attrs *)graph->nodes[i]->attrs)->window > 0;
}

// Constant masks of which each row is the one before, moved by a key: causal, with keys before the first row
// or without, and sliding windows; of many rows and of few.
static void test_bands(const struct backend *backend, unsigned count, uint32_t seed)
{
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    bands = 0;
    for (unsigned i = 0; i < count; i++) {
        struct form f = {.batch = 1, .groups = 1 + next(&seed) % 3, .times = 1 + next(&seed) % 3};
        f.rows = 2 + (next(&seed) % 3 ? size(&seed, 260) : next(&seed) % 6);
        f.keys = f.rows + (next(&seed) % 2 ? 0 : next(&seed) % 300);
        f.depth = size(&seed, 80);
        f.width = size(&seed, 80);
        f.low = next(&seed) % 2 ? -INFINITY : -65504;
        f.seed = next(&seed);
        band_end = f.keys - f.rows + 1;
        if (next(&seed) % 3 == 0 && band_end > 1)
            band_end = 1 + next(&seed) % band_end;
        band_window = next(&seed) % 2 ? f.rows + band_end : 1 + next(&seed) % 100;
        compare_made(make_band, look_for_bands, context, reference, &f,
                     i % 2 ? WNNDataType_Float16 : WNNDataType_Float32);
    }
    REQUIRE_EQUAL_INT(bands, count);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

enum {
    LEFT_KEYS = 1900,
    LEFT_BEGIN = 630,
    LEFT_END = 760,
    LEFT_ROWS = 70,
    LEFT_ROUND = 512 // keys that a GPU reads at once, at most
};
static uint32_t left_rows, left_margin; // keys beside those that are left, which may be read, too
static bool left_apart;                 // each row has a mask of its own

static void make_left(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    WNNOperand q = INPUT(s, 1, 2, left_rows, 32), k = INPUT(s, 1, 2, 32, LEFT_KEYS);
    WNNOperand v = INPUT(s, 1, 2, LEFT_KEYS, 40),
               mask = INPUT(s, 1, 1, left_apart ? left_rows : 1, LEFT_KEYS);
    WNNOperand scores = wnnGraphBuilderAdd(b, wnnGraphBuilderMatmul(b, q, k, NULL), mask, NULL);
    output(s, wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 3, NULL), v, NULL));
}

// Scores are q * k = 0; values of a column are the same.
static void fill_left(void *data, WNNDataType type, size_t count, unsigned number)
{
    static const float fallow[] = {-INFINITY, -65504, -40000};
    for (size_t i = 0; i < count; i++) {
        size_t key = number == 3 ? i / 40 % LEFT_KEYS : i % LEFT_KEYS;
        bool left = key >= LEFT_BEGIN && key < LEFT_END,
             read = key + left_margin >= LEFT_BEGIN && key < LEFT_END + left_margin;
        float x = number == 1 ? 0 : number == 3 ? (float)(i % 40) : number == 4 ? 2 : 1;
        if (number == 4 && !left)
            x = fallow[key % 3];
        put(data, type, i, number == 1 || number == 4 || read ? x : NAN);
    }
}

// Keys and values that a mask excludes are not read on a processor, whatever the kernel, and on a GPU not
// where tiles have nothing else.
static void test_left(const struct backend *backend, WNNDataType type)
{
    static unsigned char got[MAX_BYTES];
    const struct trial trial = {make_left, NULL, type, fill_left, look};
    WNNContext context = create_on(backend);
    REQUIRE(context);
    rounded_to = type;
    taken = 0;
    left_margin = strcmp(backend->name, "cpu") == 0 ? 0 : LEFT_ROUND;
    for (unsigned i = 0; i < 4; i++) {
        left_rows = i % 2 ? LEFT_ROWS : 1;
        left_apart = i / 2;
        form = &(struct form){.depth = 32, .keys = LEFT_KEYS};
        run_trial(context, &trial, got);
        for (size_t k = 0; k < (size_t)2 * left_rows * 40; k++)
            REQUIRE(fabs(number_at(got, type, k) - (double)(k % 40)) <= 1e-3);
    }
    REQUIRE_EQUAL_INT(taken, 4);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    bool on_vulkan = argc > 1 && strcmp(argv[1], "vulkan") == 0,
         on_cpu = argc > 1 && strcmp(argv[1], "cpu") == 0;
    const struct backend *backend = find_backend(on_vulkan ? "vulkan" : "cpu");
    cases_begin(argc - (on_vulkan || on_cpu), argv + (on_vulkan || on_cpu));
    if (on_vulkan && !has_device())
        return cases_skip("there is no device");
    CASE(test_random(backend, on_vulkan ? 24 : 160, 1));
    CASE(test_long(backend));
    CASE(test_many_rows(backend));
    CASE(test_few_rows(backend));
    CASE(test_unseen(backend));
    CASE(test_bands(backend, on_vulkan ? 8 : 60, 4));
    if (!on_vulkan) {
        CASE(test_left(backend, WNNDataType_Float32));
        CASE(test_left(backend, WNNDataType_Float16));
    }
    if (on_vulkan) {
        CASE(test_bands(find_backend("vulkan-minimal"), 12, 5));
        CASE(test_bands(find_backend("vulkan-matrices"), 8, 6));
        CASE(test_bands(find_backend("vulkan-places-hidden"), 4, 7));
        CASE(test_few_rows(find_backend("vulkan-minimal")));
        CASE(test_few_rows(find_backend("vulkan-matrices")));
        CASE(test_unseen(find_backend("vulkan-minimal")));
        CASE(test_unseen(find_backend("vulkan-matrices")));
        CASE(test_unseen(find_backend("vulkan-places-hidden")));
        CASE(test_left(find_backend("vulkan-minimal"), WNNDataType_Float32));
        CASE(test_left(find_backend("vulkan-minimal"), WNNDataType_Float16));
        CASE(test_left(find_backend("vulkan-matrices"), WNNDataType_Float16));
        CASE(test_left(find_backend("vulkan-places-hidden"), WNNDataType_Float16));
        CASE(test_random(find_backend("vulkan-minimal"), 20, 2));
        CASE(test_random(find_backend("vulkan-matrices"), 14, 3));
        CASE(test_random(find_backend("vulkan-places-hidden"), 14, 3));
        CASE(test_memory(backend, WNNDataType_Float16));
        CASE(test_memory(backend, WNNDataType_Float32));
        CASE(test_long(find_backend("vulkan-minimal")));
        CASE(test_long(find_backend("vulkan-matrices")));
        CASE(test_long(find_backend("vulkan-places-hidden")));
    }
    return cases_end();
}
