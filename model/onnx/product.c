// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// As numpy multiplies: a vector is a row on the left and a column on the right, which the result loses again.
struct tensor *multiply(struct recording *r, struct tensor *a, struct tensor *b)
{
    if (!a || !b || r->failed)
        return NULL;
    if (a->rank == 0 || b->rank == 0)
        return fail(r, "a product of a tensor of rank 0");
    bool row = a->rank == 1, column = b->rank == 1;
    a = row ? unsqueeze(r, a, 0) : a;
    b = column ? unsqueeze(r, b, 1) : b;
    int64_t type = a ? a->type : 0;
    bool whole = is_integer(type);
    if (whole) { // float32 is exact for sums below 2^24, as integers of exported networks are
        a = cast(r, a, ONNX_FLOAT);
        b = cast(r, b, ONNX_FLOAT);
    }
    struct tensor *result = matmul(r, a, b);
    result = whole ? cast(r, result, type) : result;
    if (result && column)
        result = squeeze(r, result, result->rank - 1);
    if (result && row)
        result = squeeze(r, result, result->rank - (column ? 1 : 2));
    return result;
}

void record_matmul(struct call *c)
{
    set_output(c, 0, multiply(c->r, input(c, 0), input(c, 1)));
}

void record_fused_matmul(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *b = input(c, 1);
    if (get_int(c, "transBatchA", 0) || get_int(c, "transBatchB", 0)) {
        fail(r, "batches that are transposed");
        return;
    }
    if (get_int(c, "transA", 0) && a->rank > 1)
        a = swap_axes(r, a, a->rank - 2, a->rank - 1);
    if (get_int(c, "transB", 0) && b->rank > 1)
        b = swap_axes(r, b, b->rank - 2, b->rank - 1);
    double alpha = get_float(c, "alpha", 1);
    struct tensor *y = multiply(r, a, b);
    set_output(c, 0, alpha == 1 ? y : with_number(r, MUL, y, alpha));
}

void record_gemm(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *b = input(c, 1), *bias = input(c, 2);
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.label = label_of(r);
    options.alpha = get_float(c, "alpha", 1);
    options.beta = get_float(c, "beta", 1);
    options.aTranspose = get_int(c, "transA", 0) != 0;
    options.bTranspose = get_int(c, "transB", 0) != 0;
    WNNOperand x = operand_of(r, a), y = operand_of(r, b);
    options.c = bias ? operand_of(r, bias) : NULL;
    if (x && y && !r->failed)
        set_output(c, 0, make_operand(r, a->type, wnnGraphBuilderGemm(r->builder, x, y, &options)));
}

// ---------------------------------------------------------------------------------------------------------------
// Sums of products by a formula
// ---------------------------------------------------------------------------------------------------------------

#define ELLIPSIS 'A' // the first of its axes: capital letters B, C ... follow, counted from the last

struct formula {
    char axes[64][MAX_RANK + 1]; // of each operand
    char result[MAX_RANK + 1];
    size_t operands;
    bool has_result;
};

static char *find_letter(char *text, char letter)
{
    return letter ? strchr(text, letter) : NULL;
}

static void add_letter(char *text, char letter)
{
    size_t length = strlen(text);
    text[length] = letter;
    text[length + 1] = 0;
}

static bool parse_operand(struct recording *r, const char *text, size_t length, size_t rank, char *axes)
{
    size_t letters = 0, at = 0;
    for (size_t i = 0; i < length; i++)
        letters += text[i] != '.';
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.') {
            if (i + 2 >= length || text[i + 1] != '.' || text[i + 2] != '.' || letters > rank)
                return fail(r, "the equation cannot be read");
            for (size_t k = rank - letters; k-- > 0;)
                axes[at++] = (char)(ELLIPSIS + k);
            i += 2;
            letters = rank;
        } else if (text[i] < 'a' || text[i] > 'z' || at >= MAX_RANK) {
            return fail(r, "the equation has letters beyond a to z, or too many");
        } else {
            axes[at++] = text[i];
        }
    }
    axes[at] = 0;
    return at == rank || fail(r, "an operand of rank %zu has %zu letters", rank, at);
}

static bool parse_formula(struct call *c, struct formula *f)
{
    char text[256];
    size_t length = 0, begin = 0, rank = 0;
    const struct onnx_attribute *equation = find_attribute(c, "equation");
    for (size_t i = 0; equation && i < equation->s.size && length < sizeof text - 1; i++)
        if (equation->s.data[i] != ' ')
            text[length++] = (char)equation->s.data[i];
    text[length] = 0;
    char *arrow = strstr(text, "->");
    size_t end = arrow ? (size_t)(arrow - text) : length;
    for (size_t i = 0; i <= end; i++) {
        if (i < end && text[i] != ',')
            continue;
        if (f->operands >= c->input_count || f->operands >= 64 || !input(c, f->operands))
            return fail(c->r, "the equation has more operands than there are");
        if (!parse_operand(c->r, text + begin, i - begin, input(c, f->operands)->rank, f->axes[f->operands]))
            return false;
        begin = i + 1;
        f->operands++;
    }
    if (f->operands != c->input_count)
        return fail(c->r, "the equation has fewer operands than there are");
    // The axes of an ellipsis, in all operands, come first.
    char seen[128] = {0}, all[128];
    size_t count = 0, dots = 0;
    for (size_t i = 0; i < f->operands; i++)
        for (const char *a = f->axes[i]; *a; a++) {
            seen[(int)*a]++;
            if (*a < 'a' && (size_t)(*a - ELLIPSIS) + 1 > dots)
                dots = (size_t)(*a - ELLIPSIS) + 1;
        }
    for (size_t k = dots; k-- > 0;)
        all[count++] = (char)(ELLIPSIS + k);
    if (arrow) {
        const char *to = arrow + 2;
        size_t letters = 0;
        for (const char *a = to; *a; a++)
            letters += *a != '.';
        rank = letters + (strchr(to, '.') ? dots : 0);
        if (rank > MAX_RANK)
            return fail(c->r, "a result of rank %zu", rank);
        if (!parse_operand(c->r, to, strlen(to), rank, f->result))
            return false;
        for (const char *a = f->result; *a; a++)
            if (!seen[(int)*a] || strchr(a + 1, *a))
                return fail(c->r, "the result has an axis that no operand has, or one twice");
        return true;
    }
    for (int letter = 'a'; letter <= 'z'; letter++)
        if (seen[letter] == 1)
            all[count++] = (char)letter;
    if (count > MAX_RANK)
        return fail(c->r, "a result of rank %zu", count);
    memcpy(f->result, all, count);
    f->result[count] = 0;
    return true;
}

// An axis that an operand has twice becomes its diagonal.
static struct tensor *take_diagonals(struct recording *r, struct tensor *x, char *axes)
{
    for (size_t i = 0; x && axes[i]; i++) {
        char *again = find_letter(axes + i + 1, axes[i]);
        if (!again)
            continue;
        size_t k = (size_t)(again - axes);
        int64_t size = x->dims[i], dims[MAX_RANK];
        if (x->dims[k] != size)
            return fail(r, "one axis of sizes %lld and %lld", (long long)size, (long long)x->dims[k]);
        memcpy(dims, x->dims, sizeof dims);
        for (size_t j = 0; j < x->rank; j++)
            dims[j] = j == i || j == k ? size : 1;
        struct tensor *eye = make_known(r, x->type, x->rank, dims);
        for (int64_t j = 0; eye && j < size; j++)
            set_known(eye, j * size + j, 1);
        x = reduce(r, SUM, binary(r, MUL, x, eye), 1, &k, false);
        memmove(again, again + 1, strlen(again));
        i--;
    }
    return x;
}

static struct tensor *sum_axis(struct recording *r, struct tensor *x, char *axes, size_t axis)
{
    memmove(axes + axis, axes + axis + 1, strlen(axes + axis));
    return reduce(r, SUM, x, 1, &axis, false);
}

// In the order of `to`; axes that it lacks get a size of 1.
static struct tensor *arrange(struct recording *r, struct tensor *x, const char *axes, const char *to)
{
    size_t order[MAX_RANK], count = 0, rank = strlen(to);
    int64_t dims[MAX_RANK];
    if (!x || rank > MAX_RANK)
        return x ? fail(r, "a tensor of rank %zu; more than %d are not supported", rank, MAX_RANK) : NULL;
    for (size_t i = 0; i < rank; i++) {
        const char *at = strchr(axes, to[i]);
        dims[i] = at ? x->dims[at - axes] : 1;
        if (at)
            order[count++] = (size_t)(at - axes);
    }
    return reshape(r, transpose(r, x, order), rank, dims);
}

// Two operands into one with the axes `keep`: batches, then a product of matrices.
static struct tensor *contract(struct recording *r, struct tensor *a, char *in_a, struct tensor *b,
                               char *in_b, const char *keep, char *result)
{
    // What is in one only and not kept is summed first.
    for (size_t i = 0; a && in_a[i];)
        if (!strchr(keep, in_a[i]) && !strchr(in_b, in_a[i]))
            a = sum_axis(r, a, in_a, i);
        else
            i++;
    for (size_t i = 0; b && in_b[i];)
        if (!strchr(keep, in_b[i]) && !strchr(in_a, in_b[i]))
            b = sum_axis(r, b, in_b, i);
        else
            i++;
    char batch[2 * MAX_RANK + 1] = "", rows[MAX_RANK + 1] = "", columns[MAX_RANK + 1] = "",
                              inner[MAX_RANK + 1] = "";
    for (const char *x = in_a; *x; x++)
        add_letter(!strchr(in_b, *x) ? rows : strchr(keep, *x) ? batch : inner, *x);
    for (const char *x = in_b; *x; x++)
        if (!strchr(in_a, *x))
            add_letter(columns, *x);
    if (!a || !b)
        return NULL;
    size_t batches = strlen(batch);
    int64_t dims[2][MAX_RANK + 2], whole[3 * MAX_RANK], sizes[2][3] = {{1, 1, 1}, {1, 1, 1}};
    char order[2][64] = {"", ""}, axes[64];
    size_t rank = 0;
    snprintf(order[0], sizeof order[0], "%s%s%s", batch, rows, inner);
    snprintf(order[1], sizeof order[1], "%s%s%s", batch, inner, columns);
    a = arrange(r, a, in_a, order[0]);
    b = arrange(r, b, in_b, order[1]);
    if (!a || !b || batches + 2 > MAX_RANK)
        return a && b ? fail(r, "more batches than are supported") : NULL;
    for (size_t i = batches; i < a->rank; i++)
        sizes[0][i < batches + strlen(rows) ? 0 : 1] *= a->dims[i];
    for (size_t i = batches; i < b->rank; i++)
        sizes[1][i < batches + strlen(inner) ? 0 : 1] *= b->dims[i];
    memcpy(dims[0], a->dims, batches * sizeof *whole);
    memcpy(dims[1], b->dims, batches * sizeof *whole);
    for (int k = 0; k < 2; k++)
        memcpy(dims[k] + batches, sizes[k], 2 * sizeof *whole);
    for (size_t i = 0; i < batches; i++)
        whole[rank++] = a->dims[i] > b->dims[i] ? a->dims[i] : b->dims[i];
    for (size_t i = 0; i < strlen(rows); i++)
        whole[rank++] = a->dims[batches + i];
    for (size_t i = 0; i < strlen(columns); i++)
        whole[rank++] = b->dims[batches + strlen(inner) + i];
    if (rank > MAX_RANK)
        return fail(r, "an intermediate tensor of rank %zu", rank);
    snprintf(axes, sizeof axes, "%s%s%s", batch, rows, columns);
    memcpy(result, axes, MAX_RANK + 1); // as many as `rank`
    struct tensor *y = multiply(r, reshape(r, a, batches + 2, dims[0]), reshape(r, b, batches + 2, dims[1]));
    return reshape(r, y, rank, whole);
}

void record_einsum(struct call *c)
{
    struct recording *r = c->r;
    struct formula *f = wnn_onnx_allocate(r->memory, 1, sizeof *f);
    if (!f) {
        fail(r, "there is not enough memory");
        return;
    }
    if (!parse_formula(c, f))
        return;
    struct tensor *sum = take_diagonals(r, input(c, 0), f->axes[0]);
    char axes[MAX_RANK + 1];
    memcpy(axes, f->axes[0], sizeof axes);
    for (size_t i = 1; i < f->operands && sum; i++) {
        char keep[128] = "", result[MAX_RANK + 1] = "";
        strncat(keep, f->result, sizeof keep - 1);
        for (size_t k = i + 1; k < f->operands; k++)
            for (const char *a = f->axes[k]; *a; a++)
                if (!strchr(keep, *a))
                    add_letter(keep, *a);
        struct tensor *next = take_diagonals(r, input(c, i), f->axes[i]);
        sum = contract(r, sum, axes, next, f->axes[i], keep, result);
        memcpy(axes, result, sizeof axes);
    }
    for (size_t i = 0; sum && axes[i];)
        if (!strchr(f->result, axes[i]))
            sum = sum_axis(r, sum, axes, i);
        else
            i++;
    set_output(c, 0, arrange(r, sum, axes, f->result));
}

// ---------------------------------------------------------------------------------------------------------------
// Determinants and Fourier transforms
// ---------------------------------------------------------------------------------------------------------------

// The minor without row 0 and a column.
static struct tensor *minor_of(struct recording *r, struct tensor *x, size_t column)
{
    size_t last = x->rank - 1;
    int64_t n = x->dims[last];
    x = slice_axis(r, x, last - 1, 1, n - 1, 1);
    struct tensor *parts[2];
    size_t count = 0;
    if (column > 0)
        parts[count++] = slice_axis(r, x, last, 0, (int64_t)column, 1);
    if ((int64_t)column + 1 < n)
        parts[count++] = slice_axis(r, x, last, (int64_t)column + 1, n - 1 - (int64_t)column, 1);
    return concat(r, count, parts, last);
}

static struct tensor *determinant(struct recording *r, struct tensor *x)
{
    if (!x || r->failed)
        return NULL;
    size_t last = x->rank - 1;
    if (x->dims[last] == 1)
        return squeeze(r, squeeze(r, x, last), last - 1);
    struct tensor *sum = NULL;
    for (size_t i = 0; i < (size_t)x->dims[last] && !r->failed; i++) {
        struct tensor *head = slice_axis(r, slice_axis(r, x, last - 1, 0, 1, 1), last, (int64_t)i, 1, 1);
        struct tensor *term = binary(r, MUL, determinant(r, head), determinant(r, minor_of(r, x, i)));
        sum = !sum ? term : binary(r, i % 2 ? SUB : ADD, sum, term);
    }
    return sum;
}

void record_det(struct call *c)
{
    struct tensor *x = input(c, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2] || x->dims[x->rank - 1] < 1 ||
        x->dims[x->rank - 1] > 5) {
        fail(c->r, "the determinant of a matrix that is not square, or larger than 5");
        return;
    }
    set_output(c, 0, determinant(c->r, x));
}

static struct tensor *wave(struct recording *r, int64_t type, int64_t from, int64_t to, bool sine)
{
    struct tensor *t = make_known(r, type, 2, (int64_t[]){from, to});
    double turn = 4 * acos(0);
    for (int64_t i = 0; t && i < from; i++)
        for (int64_t k = 0; k < to; k++) {
            double angle = turn * (double)(i * k % from) / (double)from;
            set_known(t, i * to + k, sine ? sin(angle) : cos(angle));
        }
    return t;
}

// As products with matrices of waves, over the axis that was moved next to the last.
void record_dft(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *length = input(c, 1);
    bool inverse = get_int(c, "inverse", 0) != 0, half = get_int(c, "onesided", 0) != 0;
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", 1), x->rank, &axis))
        return;
    if (x->rank < 3 || axis + 1 == x->rank || x->dims[x->rank - 1] < 1 || x->dims[x->rank - 1] > 2) {
        fail(r, "signals of shapes other than [batch, ..., 1 or 2]");
        return;
    }
    if (length && (!require_known(r, length, "the length of the transform") || count_elements(length) != 1))
        return;
    int64_t n = length ? known_integer(length, 0) : x->dims[axis];
    if (n < 1 || n > 8192) {
        fail(r, "a transform of %lld numbers; up to 8192 are supported", (long long)n);
        return;
    }
    int64_t zeros[MAX_RANK] = {0}, more[MAX_RANK] = {0};
    more[axis] = n - x->dims[axis];
    x = pad(r, x, zeros, more, WNNPaddingMode_Constant, 0);
    if (!x)
        return;
    size_t last = x->rank - 1;
    int64_t bins = half ? n / 2 + 1 : n;
    struct tensor *parts[2] = {NULL, NULL}, *cosine = wave(r, x->type, n, bins, false),
                  *sine = wave(r, x->type, n, bins, true);
    for (int64_t i = 0; i < x->dims[last]; i++)
        parts[i] = swap_axes(r, squeeze(r, slice_axis(r, x, last, i, 1, 1), last), axis, last - 1);
    struct tensor *real = matmul(r, parts[0], cosine), *imaginary = matmul(r, parts[0], sine);
    if (!inverse)
        imaginary = unary(r, NEG, imaginary);
    if (parts[1]) { // (a + bi)(cos -+ i sin)
        struct tensor *s = matmul(r, parts[1], sine);
        real = binary(r, inverse ? SUB : ADD, real, s);
        imaginary = binary(r, ADD, imaginary, matmul(r, parts[1], cosine));
    }
    struct tensor *both[2] = {real, imaginary};
    for (size_t i = 0; i < 2; i++) {
        both[i] = inverse ? with_number(r, DIV, both[i], (double)n) : both[i];
        both[i] = swap_axes(r, both[i], axis, last - 1);
        both[i] = both[i] ? unsqueeze(r, both[i], last) : NULL;
    }
    set_output(c, 0, concat(r, 2, both, last));
}
