// SPDX-License-Identifier: Apache-2.0
//
// Rotary embeddings as frameworks write them: random ones, seeded, each one operator of the plan, against the
// scalar reference on the same numbers; and what is nearly one, which stays as it is. The argument names the
// backend: cpu or vulkan; skipped where Vulkan has no device.

#include "conformance/backends.h"
#include "conformance/reference/reference.h"
#include "conformance/unit/differential_fixture.h"

// What is wrong with a form that must not be taken.
enum fault {
    FAULT_NONE,
    FAULT_SIGN,    // of the sines
    FAULT_CROSSED, // the halves are not
    FAULT_ANGLES,  // the halves are turned by different angles, or the sign has another number
    FAULT_USED,    // what lies between is an output
    FAULTS
};

struct form {
    enum {
        HALVES, // concat(a * c - b * s, b * c + a * s)
        WHOLE,  // x * c + concat(-b, a) * s
        SIGNED, // x * c + concat(b, a) * s * d
        STYLES
    } style;
    enum fault fault;
    bool paired;  // every other element
    bool sliced;  // the halves are slices, not outputs of split
    bool swapped; // operands of add and mul
    uint32_t dims[4], axis;
    unsigned shared; // bit d: cosines and sines are the same along dimension d
    uint32_t seed;
};

static const struct form *form;
static WNNDataType rounded_to;

static void fill(void *data, WNNDataType type, size_t count, unsigned number)
{
    uint32_t state = form->seed * 8 + number;
    for (size_t i = 0; i < count; i++) {
        float x = (float)(next(&state) % 4001) / 1000 - 2;
        uint16_t half = wnn_half_from_float(x);
        if (type == WNNDataType_Float16)
            ((uint16_t *)data)[i] = half;
        else
            ((float *)data)[i] = rounded_to == WNNDataType_Float16 ? wnn_half_to_float(half) : x;
    }
}

static WNNOperand mul(struct subject *s, WNNOperand a, WNNOperand b)
{
    return form->swapped ? wnnGraphBuilderMul(s->builder, b, a, NULL)
                         : wnnGraphBuilderMul(s->builder, a, b, NULL);
}

static WNNOperand add(struct subject *s, WNNOperand a, WNNOperand b)
{
    return form->swapped ? wnnGraphBuilderAdd(s->builder, b, a, NULL)
                         : wnnGraphBuilderAdd(s->builder, a, b, NULL);
}

static void make_halves(struct subject *s, WNNOperand x, WNNOperand half[2])
{
    uint32_t starts[4] = {0}, sizes[4], strides[4] = {1, 1, 1, 1};
    WNNSplitOptions split = WNN_SPLIT_OPTIONS_INIT;
    split.axis = form->axis;
    if (!form->paired && !form->sliced) {
        REQUIRE(wnnGraphBuilderSplit(s->builder, x, 2, &split, 2, half));
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
        memcpy(sizes, form->dims, sizeof sizes);
        if (form->paired) {
            starts[3] = i;
            sizes[3] -= i;
            strides[3] = 2;
        } else {
            sizes[form->axis] /= 2;
            starts[form->axis] = i * sizes[form->axis];
        }
        options.strides = (WNNUint32List){strides, 4};
        half[i] = wnnGraphBuilderSlice(s->builder, x, (WNNUint32List){starts, 4}, (WNNUint32List){sizes, 4},
                                       &options);
    }
}

static WNNOperand join(struct subject *s, WNNOperand a, WNNOperand b)
{
    const WNNOperand parts[2] = {a, b};
    if (!form->paired)
        return wnnGraphBuilderConcat(s->builder, 2, parts, form->axis, NULL);
    const uint32_t single[5] = {form->dims[0], form->dims[1], form->dims[2], form->dims[3] / 2, 1};
    const WNNOperand pairs[2] = {wnnGraphBuilderReshape(s->builder, a, (WNNUint32List){single, 5}, NULL),
                                 wnnGraphBuilderReshape(s->builder, b, (WNNUint32List){single, 5}, NULL)};
    WNNOperand joined = wnnGraphBuilderConcat(s->builder, 2, pairs, 4, NULL);
    return wnnGraphBuilderReshape(s->builder, joined, (WNNUint32List){form->dims, 4}, NULL);
}

// -1 at the first half, 1 at the second.
static WNNOperand make_sign(struct subject *s)
{
    uint32_t dims[4] = {1, 1, 1, 1}, size = form->dims[form->axis];
    float floats[512];
    uint16_t halves[512];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    dims[form->axis] = size;
    descriptor.dataType = s->type;
    descriptor.shape = (WNNUint32List){dims, 4};
    REQUIRE(size <= 512);
    for (uint32_t i = 0; i < size; i++) {
        floats[i] = (i < size / 2) == (form->fault != FAULT_SIGN) ? -1 : 1;
        if (form->fault == FAULT_ANGLES && i == size - 1)
            floats[i] = 2;
        halves[i] = wnn_half_from_float(floats[i]);
    }
    return s->type == WNNDataType_Float16
               ? wnnGraphBuilderConstant(s->builder, &descriptor, halves, size * sizeof halves[0])
               : wnnGraphBuilderConstant(s->builder, &descriptor, floats, size * sizeof floats[0]);
}

static void make_rotary(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    uint32_t dims[4], crossed = form->fault != FAULT_CROSSED;
    memcpy(dims, form->dims, sizeof dims);
    WNNOperand half[2], x = input(s, 4, form->dims);
    for (unsigned d = 0; d < 4; d++)
        if (form->shared >> d & 1 && d != form->axis)
            dims[d] = 1;
    if (form->style == HALVES)
        dims[form->axis] /= 2;
    WNNOperand c = input(s, 4, dims), sines = input(s, 4, dims);
    make_halves(s, x, half);
    if (form->style == HALVES) {
        WNNOperand other = form->fault == FAULT_ANGLES ? input(s, 4, dims) : c;
        WNNOperand straight = mul(s, half[0], c), turned = mul(s, half[crossed], sines);
        WNNOperand first = form->fault == FAULT_SIGN ? add(s, straight, turned)
                                                     : wnnGraphBuilderSub(b, straight, turned, NULL);
        if (form->fault == FAULT_USED)
            output(s, first);
        output(s, join(s, first, add(s, mul(s, half[1], other), mul(s, half[0], sines))));
        return;
    }
    WNNOperand turned;
    if (form->style == WHOLE)
        turned = form->fault == FAULT_SIGN
                     ? join(s, half[1], wnnGraphBuilderNeg(b, half[0], NULL))
                     : join(s, wnnGraphBuilderNeg(b, half[crossed], NULL), half[form->fault == FAULT_ANGLES]);
    else
        turned = join(s, half[crossed], half[!crossed]);
    turned = mul(s, turned, sines);
    if (form->fault == FAULT_USED)
        output(s, turned);
    if (form->style == SIGNED)
        turned = mul(s, turned, make_sign(s));
    output(s, add(s, mul(s, x, c), turned));
}

static unsigned taken, left;

static void look(const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        taken += graph->nodes[i]->op == WNN_OP_rotaryEmbedding;
        left += graph->nodes[i]->op == WNN_OP_concat || graph->nodes[i]->op == WNN_OP_elementwise;
    }
}

static struct form random_form(uint32_t *seed)
{
    static const uint32_t usual[] = {2, 4, 6, 10, 16, 22, 64, 80, 128, 300};
    struct form f = {
        .seed = next(seed), .style = next(seed) % STYLES, .axis = next(seed) % 3 ? 3 : next(seed) % 4};
    f.paired = f.style != SIGNED && f.axis == 3 && next(seed) % 3 == 0;
    f.sliced = next(seed) % 2;
    f.swapped = next(seed) % 2;
    f.shared = next(seed) % 16;
    for (unsigned d = 0; d < 4; d++)
        f.dims[d] = d == f.axis ? usual[next(seed) % 10] : 1 + next(seed) % (d == 3 ? 40 : 5);
    return f;
}

static void say(const struct form *f, WNNDataType type)
{
    fprintf(stderr,
            "%s: form %d%s%s%s, [%u, %u, %u, %u] along %u, shared %x, seed %u: ", wnn_dtype_name(type),
            (int)f->style, f->paired ? ", paired" : "", f->sliced ? ", sliced" : "",
            f->swapped ? ", swapped" : "", f->dims[0], f->dims[1], f->dims[2], f->dims[3], f->axis, f->shared,
            f->seed);
}

static void test_random(const struct backend *backend, unsigned count, uint32_t seed)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned n = 0; n < count; n++) {
        const struct form random = random_form(&seed);
        WNNDataType type = n % 2 ? WNNDataType_Float16 : WNNDataType_Float32;
        const struct trial trial = {make_rotary, NULL, type, fill, look},
                           same = {make_rotary, NULL, WNNDataType_Float32, fill, NULL};
        form = &random;
        rounded_to = type;
        taken = left = 0;
        run_trial(context, &trial, got);
        run_trial(reference, &same, expected);
        if (taken != 1 || left > 0) {
            say(form, type);
            fprintf(stderr, "%u taken, %u operators left\n", taken, left);
            case_fail();
        }
        double tolerance = type == WNNDataType_Float16 ? 0x1p-10 : 0x1p-22;
        size_t elements = (size_t)random.dims[0] * random.dims[1] * random.dims[2] * random.dims[3];
        for (size_t i = 0; i < elements; i++) {
            double y = number_at(got, type, i), want = number_at(expected, WNNDataType_Float32, i);
            if (fabs(y - want) <= tolerance * 8)
                continue;
            say(form, type);
            fprintf(stderr, "number %zu is %.9g; expected %.9g\n", i, y, want);
            case_fail();
            break;
        }
    }
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// Results are those of the operators, which are there.
static void test_faults(const struct backend *backend, unsigned count)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    uint32_t seed = 77;
    rounded_to = WNNDataType_Float32;
    for (unsigned n = 0; n < count; n++) {
        struct form random = random_form(&seed);
        random.fault = 1 + n % (FAULTS - 1);
        const struct trial trial = {make_rotary, NULL, WNNDataType_Float32, fill, look},
                           same = {make_rotary, NULL, WNNDataType_Float32, fill, NULL};
        form = &random;
        taken = left = 0;
        size_t bytes = run_trial(context, &trial, got);
        REQUIRE_EQUAL_INT(run_trial(reference, &same, expected), bytes);
        if (taken > 0) {
            say(form, WNNDataType_Float32);
            fprintf(stderr, "taken in spite of fault %d\n", (int)random.fault);
            case_fail();
        }
        size_t elements = (size_t)random.dims[0] * random.dims[1] * random.dims[2] * random.dims[3];
        unsigned first = random.fault == FAULT_USED ? 1 : 0;
        for (size_t i = 0; !first && i < elements; i++)
            REQUIRE(fabs(number_at(got, WNNDataType_Float32, i) -
                         number_at(expected, WNNDataType_Float32, i)) <= 2e-6);
    }
    wnnContextRelease(reference);
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
    CASE(test_random(backend, on_vulkan ? 40 : 300, 5));
    CASE(test_faults(backend, on_vulkan ? 12 : 60));
    if (on_vulkan)
        CASE(test_random(find_backend("vulkan-minimal"), 20, 9));
    return cases_end();
}
