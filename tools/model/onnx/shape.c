// SPDX-License-Identifier: Apache-2.0
//
// Operators whose results are known when the graph is recorded.
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <math.h>

#define MAX_RANGE (1 << 20) // numbers: of positions, times, frequencies

void record_constant(struct call *c)
{
    struct recording *r = c->r;
    struct onnx_attribute attribute;
    struct onnx_tensor tensor;
    size_t count;
    if (find_attribute(c, "value", &attribute)) {
        const char *fault = wnn_onnx_tensor(r->memory, attribute.tensor, &tensor);
        if (fault)
            fail(r, "its value: %s", fault);
        else
            set_output(c, 0, make_initializer(r, &tensor));
    } else if (has_attribute(c, "value_float")) {
        set_output(c, 0, make_number(r, ONNX_FLOAT, get_float(c, "value_float", 0)));
    } else if (has_attribute(c, "value_int")) {
        struct tensor *t = make_number(r, ONNX_INT64, 0);
        if (t)
            t->ints[0] = get_int(c, "value_int", 0);
        set_output(c, 0, t);
    } else if (has_attribute(c, "value_ints")) {
        int64_t *numbers = get_ints(c, "value_ints", &count);
        set_output(c, 0, make_ints(r, count, numbers));
    } else if (has_attribute(c, "value_floats")) {
        float *numbers = get_floats(c, "value_floats", &count);
        struct tensor *t = make_known(r, ONNX_FLOAT, 1, &(int64_t){(int64_t)count});
        for (size_t i = 0; t && i < count; i++)
            t->reals[i] = (double)numbers[i];
        set_output(c, 0, t);
    } else {
        fail(r, "its value is a string or a sparse tensor");
    }
}

// Parameter 1: Size.
void record_shape(struct call *c)
{
    struct tensor *x = input(c, 0);
    int64_t rank = (int64_t)x->rank, start = get_int(c, "start", 0), end = get_int(c, "end", rank);
    if (c->parameter) {
        struct tensor *count = make_number(c->r, ONNX_INT64, 0);
        if (count)
            count->ints[0] = size_product(c->r, x->dims, x->rank);
        set_output(c, 0, count);
        return;
    }
    start += start < 0 ? rank : 0;
    end += end < 0 ? rank : 0;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end < start ? start : end > rank ? rank : end;
    set_output(c, 0, make_ints(c->r, (size_t)(end - start), x->dims + start));
}

void record_constant_of_shape(struct call *c)
{
    struct recording *r = c->r;
    struct onnx_attribute attribute;
    struct tensor *value = make_number(r, ONNX_FLOAT, 0);
    size_t count;
    int64_t *dims;
    if (find_attribute(c, "value", &attribute)) {
        struct onnx_tensor tensor;
        const char *fault = wnn_onnx_tensor(r->memory, attribute.tensor, &tensor);
        if (fault) {
            fail(r, "its value: %s", fault);
            return;
        }
        value = make_initializer(r, &tensor);
    }
    if (!require_known(r, value, "its value") || !get_list(c, 0, "shape", &count, &dims))
        return;
    if (count > MAX_RANK || count_elements(value) != 1) {
        fail(r, "a shape of %zu dimensions", count);
        return;
    }
    if (!(value = reshape(r, value, 0, NULL)))
        return;
    for (size_t i = 0; i < count; i++)
        if (dims[i] < 0) {
            fail(r, "a dimension of size %lld", (long long)dims[i]);
            return;
        }
    if (product(dims, count) == 0)
        set_output(c, 0, make_known(r, value->type, count, dims));
    else
        set_output(c, 0, expand(r, value, count, dims));
}

void record_range(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *start = input(c, 0), *limit = input(c, 1),
                  *step = input(c, 2) ? input(c, 2) : make_number(r, start->type, 1),
                  *all[] = {start, limit, step};
    bool known = true;
    for (size_t i = 0; i < 3; i++) {
        if (!all[i] || count_elements(all[i]) != 1) {
            fail(r, "a bound of the range is not one number");
            return;
        }
        if (!r->late && !require_known(r, all[i], "a bound of the range"))
            return;
        known = known && is_known(r, all[i]) && !has_late_elements(all[i]);
    }
    if (!known) {
        set_output(c, 0, range(r, start, limit, step));
        return;
    }
    double first = known_number(start, 0), by = known_number(step, 0);
    double count = ceil((known_number(limit, 0) - first) / by);
    if (!(fabs(count) <= MAX_RANGE)) {
        fail(r, "a range of %g numbers", count);
        return;
    }
    int64_t size = count > 0 ? (int64_t)count : 0;
    struct tensor *t = make_known(r, start->type, 1, &size);
    for (int64_t i = 0; t && i < size; i++)
        set_known(t, i, first + (double)i * by);
    set_output(c, 0, t);
}

void record_eye_like(struct call *c)
{
    struct tensor *x = input(c, 0);
    int64_t k = get_int(c, "k", 0);
    if (x->rank != 2) {
        fail(c->r, "a tensor of rank %zu, not 2", x->rank);
        return;
    }
    int64_t rows = x->dims[0], columns = x->dims[1];
    if (!knows_shape(x)) {
        struct tensor *row = unsqueeze(c->r, make_range(c->r, ONNX_INT64, 0, rows, 1), 1);
        struct tensor *column = make_range(c->r, ONNX_INT64, 0, columns, 1);
        struct tensor *here = binary(c->r, EQUAL, with_number(c->r, SUB, column, (double)k), row);
        set_output(c, 0, cast(c->r, here, get_int(c, "dtype", x->type)));
        return;
    }
    struct tensor *t = make_known(c->r, get_int(c, "dtype", x->type), 2, x->dims);
    bool there = columns > 0 && k > -rows && k < columns;
    for (int64_t i = 0; t && there && i < rows; i++)
        if (i + k >= 0 && i + k < columns)
            set_known(t, i * columns + i + k, 1);
    set_output(c, 0, t);
}

// The coordinates of all elements of a shape, [rank, elements].
static struct tensor *coordinates(struct recording *r, size_t rank, const int64_t *dims)
{
    struct tensor *rows[MAX_RANK];
    const int64_t row[] = {1, size_product(r, dims, rank)};
    for (size_t i = 0; i < rank; i++) {
        int64_t along[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        along[i] = dims[i];
        struct tensor *at = reshape(r, make_range(r, ONNX_INT64, 0, dims[i], 1), rank, along);
        rows[i] = reshape(r, expand(r, at, rank, dims), 2, row);
    }
    return r->failed || rank == 0 ? NULL : concat(r, rank, rows, 0);
}

void record_non_zero(struct call *c)
{
    struct tensor *x = input(c, 0);
    if (!is_known(c->r, x) && x->every && !has_late_elements(x->every) && known_number(x->every, 0) != 0) {
        set_output(c, 0, coordinates(c->r, x->rank, x->dims));
        return;
    }
    if (!require_known(c->r, x, "the tensor, on which the shape of the result depends,"))
        return;
    int64_t found = 0, at = 0, total = count_elements(x);
    for (int64_t i = 0; i < total; i++)
        found += known_number(x, i) != 0;
    struct tensor *t = make_known(c->r, ONNX_INT64, 2, (int64_t[]){(int64_t)x->rank, found});
    for (int64_t i = 0; t && i < total; i++) {
        if (known_number(x, i) == 0)
            continue;
        int64_t rest = i;
        for (size_t k = x->rank; k-- > 0; rest /= x->dims[k])
            t->ints[(int64_t)k * found + at] = rest % x->dims[k];
        at++;
    }
    set_output(c, 0, t);
}

// A window of a size that is not known.
static struct tensor *late_window(struct call *c, int64_t size, const double *terms)
{
    struct recording *r = c->r;
    struct tensor *place = make_range(r, ONNX_FLOAT, 0, size, 1), *period = make_size(r, ONNX_FLOAT, size);
    if (!get_int(c, "periodic", 1))
        period = with_number(r, SUB, period, 1);
    struct tensor *turn = binary(r, DIV, with_number(r, MUL, place, 4 * acos(0)), period);
    struct tensor *sum = with_number(r, MUL, unary(r, COS, turn), -terms[1]);
    turn = with_number(r, MUL, turn, 2);
    sum = binary(r, ADD, sum, with_number(r, MUL, unary(r, COS, turn), terms[2]));
    return cast(r, with_number(r, ADD, sum, terms[0]), get_int(c, "output_datatype", ONNX_FLOAT));
}

// Parameter 0: Hann, 1: Hamming, 2: Blackman.
void record_window(struct call *c)
{
    static const double terms[][3] = {{0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
    struct tensor *size = input(c, 0);
    if (!require_sizes(c->r, size, "the size of the window") || count_elements(size) != 1)
        return;
    int64_t n = known_integer(size, 0);
    const double *a = terms[c->parameter];
    if (is_late(n)) {
        set_output(c, 0, late_window(c, n, a));
        return;
    }
    if (n < 0 || n > MAX_RANGE) {
        fail(c->r, "a window of %lld numbers", (long long)n);
        return;
    }
    double period = (double)(get_int(c, "periodic", 1) ? n : n - 1), turn = 4 * acos(0);
    struct tensor *t = make_known(c->r, get_int(c, "output_datatype", ONNX_FLOAT), 1, &n);
    for (int64_t i = 0; t && i < n; i++)
        set_known(t, i,
                  a[0] - a[1] * cos(turn * (double)i / period) + a[2] * cos(2 * turn * (double)i / period));
    set_output(c, 0, t);
}

static double mel_of(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

void record_mel_weight_matrix(struct call *c)
{
    struct recording *r = c->r;
    double numbers[5];
    for (size_t i = 0; i < 5; i++) {
        if (!require_known(r, input(c, i), "a parameter of the matrix") || count_elements(input(c, i)) != 1)
            return;
        numbers[i] = known_number(input(c, i), 0);
    }
    if (!(numbers[0] >= 1 && numbers[0] <= 4096 && numbers[1] >= 1 && numbers[1] <= 65536 &&
          numbers[2] > 0)) {
        fail(r, "%g bins of a transform of %g", numbers[0], numbers[1]);
        return;
    }
    int64_t bins = (int64_t)numbers[0], length = (int64_t)numbers[1], rows = length / 2 + 1, edges[4098];
    double low = mel_of(numbers[3]), high = mel_of(numbers[4]), step = (high - low) / (double)(bins + 2);
    for (int64_t i = 0; i < bins + 2; i++) {
        double hertz = 700 * (pow(10, ((double)i * step + low) / 2595) - 1);
        double at = floor((double)(length + 1) * hertz / numbers[2]);
        edges[i] = !(at > 0) ? 0 : at > (double)rows ? rows : (int64_t)at;
    }
    struct tensor *t = make_known(r, get_int(c, "output_datatype", ONNX_FLOAT), 2, (int64_t[]){rows, bins});
    for (int64_t i = 0; t && i < bins; i++) {
        int64_t a = edges[i], b = edges[i + 1], e = edges[i + 2];
        for (int64_t k = a; k <= b && k < rows; k++)
            set_known(t, k * bins + i, b == a ? 1 : (double)(k - a) / (double)(b - a));
        for (int64_t k = b; k < e && k < rows; k++)
            set_known(t, k * bins + i, (double)(e - k) / (double)(e - b));
    }
    set_output(c, 0, t);
}
