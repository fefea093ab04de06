// SPDX-License-Identifier: Apache-2.0
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <stdio.h>
#include <string.h>

#define MAX_MATRIX 128 // rows of a matrix that is inverted

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

// The first axis after those of the batch: [rows, batch..., k] as [batch..., rows, k].
static struct tensor *rows_after_batch(struct recording *r, struct tensor *t)
{
    size_t order[MAX_RANK];
    if (t->rank < 3)
        return t;
    for (size_t i = 0; i < t->rank; i++)
        order[i] = i + 1 == t->rank ? i : i + 2 == t->rank ? 0 : i + 1;
    return transpose(r, t, order);
}

// Parameter 1: with an activation.
void record_fused_matmul(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *b = input(c, 1);
    a = get_int(c, "transBatchA", 0) ? rows_after_batch(r, a) : a;
    b = get_int(c, "transBatchB", 0) ? rows_after_batch(r, b) : b;
    if (!a || !b)
        return;
    if (get_int(c, "transA", 0) && a->rank > 1)
        a = swap_axes(r, a, a->rank - 2, a->rank - 1);
    if (get_int(c, "transB", 0) && b->rank > 1)
        b = swap_axes(r, b, b->rank - 2, b->rank - 1);
    double alpha = get_float(c, "alpha", 1);
    struct tensor *y = multiply(r, a, b);
    y = alpha == 1 ? y : with_number(r, MUL, y, alpha);
    set_output(c, 0, c->parameter ? activate(c, y) : y);
}

// Distances of all rows of one matrix to all of another.
void record_distances(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *b = input(c, 1);
    if (a->rank != 2 || b->rank != 2) {
        fail(r, "rows of tensors of ranks %zu and %zu", a->rank, b->rank);
        return;
    }
    struct tensor *difference = binary(r, SUB, unsqueeze(r, a, 1), unsqueeze(r, b, 0));
    bool is_root = has_text(c, "metric", "euclidean", "sqeuclidean");
    set_output(c, 0, reduce(r, is_root ? L2 : SUM_SQUARE, difference, 1, (size_t[]){2}, false));
}

void record_gemm_gelu(struct call *c)
{
    struct tensor *y = multiply(c->r, input(c, 0), input(c, 1));
    set_output(c, 0, gelu_tanh(c->r, input(c, 2) ? binary(c->r, ADD, y, input(c, 2)) : y));
}

// Integers of 16 bits, as real numbers.
void record_short_matmul(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *y = multiply(r, cast(r, input(c, 0), ONNX_FLOAT), cast(r, input(c, 1), ONNX_FLOAT));
    set_output(c, 0, cast(r, y, ONNX_INT32));
}

// As real numbers, which are given as integers again.
static struct tensor *multiply_integers(struct call *c, struct tensor *a, struct tensor *b,
                                        struct tensor *bias)
{
    struct recording *r = c->r;
    double alpha = get_float(c, "alpha", 1), beta = get_float(c, "beta", 1);
    if (a->rank != 2 || b->rank != 2)
        return fail(r, "a product of tensors of ranks %zu and %zu", a->rank, b->rank);
    a = get_int(c, "transA", 0) ? swap_axes(r, a, 0, 1) : a;
    b = get_int(c, "transB", 0) ? swap_axes(r, b, 0, 1) : b;
    if (alpha == 1 && beta == 1) {
        struct tensor *y = multiply(r, a, b);
        return bias ? binary(r, ADD, y, bias) : y;
    }
    struct tensor *y = multiply(r, cast(r, a, ONNX_FLOAT), cast(r, b, ONNX_FLOAT));
    y = with_number(r, MUL, y, alpha);
    if (bias)
        y = binary(r, ADD, y, with_number(r, MUL, cast(r, bias, ONNX_FLOAT), beta));
    return cast(r, y, input(c, 0)->type);
}

// Parameter 1: with an activation.
void record_gemm(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *b = input(c, 1), *bias = input(c, 2);
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    if (!is_real(a->type)) {
        set_output(c, 0, multiply_integers(c, a, b, bias));
        return;
    }
    options.label = label_of(r);
    options.alpha = get_float(c, "alpha", 1);
    options.beta = get_float(c, "beta", 1);
    options.aTranspose = get_int(c, "transA", 0) != 0;
    options.bTranspose = get_int(c, "transB", 0) != 0;
    WNNOperand x = operand_of(r, a), y = operand_of(r, b);
    options.c = bias ? operand_of(r, bias) : NULL;
    if (!x || !y || r->failed)
        return;
    struct tensor *product = make_operand(r, a->type, wnnGraphBuilderGemm(r->builder, x, y, &options));
    set_output(c, 0, c->parameter ? activate(c, product) : product);
}

// ---------------------------------------------------------------------------------------------------------------
// Sums of products by a formula
// ---------------------------------------------------------------------------------------------------------------

#define ELLIPSIS 1 // the last of its axes; those before it are 2, 3 ..., which are no letters

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

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
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
        } else if (!is_letter(text[i]) || at >= MAX_RANK) {
            return fail(r, "the equation has what is no letter of a to z and A to Z, or too many");
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
    struct onnx_attribute equation;
    bool given = find_attribute(c, "equation", &equation);
    for (size_t i = 0; given && i < equation.s.size && length < sizeof text - 1; i++)
        if (equation.s.data[i] != ' ')
            text[length++] = (char)equation.s.data[i];
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
            if (!is_letter(*a) && (size_t)(*a - ELLIPSIS) + 1 > dots)
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
    for (int letter = 'A'; letter <= 'z'; letter++)
        if (is_letter((char)letter) && seen[letter] == 1)
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
    struct formula *f = wnn_model_allocate(r->memory, 1, sizeof *f);
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
// Elimination
// ---------------------------------------------------------------------------------------------------------------

// What Gauss' elimination makes of matrices [..., n, width]: a row for each column, from the diagonal on, and
// whether rows were exchanged for it.
struct elimination {
    int64_t n;
    struct tensor *rows[MAX_MATRIX]; // [..., 1, width - k]
    struct tensor *sign;             // [..., 1, 1]: 1, or -1 after an odd number of exchanges
};

// Takes the row whose first element is the largest out of those that are left, and subtracts as much of it
// from the others that they lose their first element.
static struct tensor *eliminate_column(struct recording *r, struct elimination *e, struct tensor *x,
                                       int64_t k)
{
    size_t last = x->rank - 1;
    int64_t rows = x->dims[last - 1], width = x->dims[last], dims[MAX_RANK];
    struct tensor *column = slice_axis(r, x, last, 0, 1, 1);
    struct tensor *place = arg_max(r, unary(r, ABS, column), last - 1, false, true); // [..., 1, 1]
    memcpy(dims, x->dims, sizeof dims);
    dims[last - 1] = 1;
    struct tensor *pivot = gather_elements(r, x, expand(r, place, x->rank, dims), last - 1);
    struct tensor *moved = with_number(r, GREATER, place, 0);
    struct tensor *flip = choose(r, moved, make_number(r, x->type, -1), make_number(r, x->type, 1));
    e->rows[k] = pivot;
    e->sign = e->sign ? binary(r, MUL, e->sign, flip) : flip;
    if (rows == 1)
        return NULL;
    // The first row goes to where the pivot was.
    struct tensor *range = reshape(r, make_range(r, ONNX_INT64, 1, rows - 1, 1), 2, (int64_t[]){rows - 1, 1});
    struct tensor *rest = choose(r, binary(r, EQUAL, range, place), slice_axis(r, x, last - 1, 0, 1, 1),
                                 slice_axis(r, x, last - 1, 1, rows - 1, 1));
    struct tensor *head = slice_axis(r, pivot, last, 0, 1, 1);
    head = choose(r, with_number(r, EQUAL, head, 0), make_number(r, x->type, 1), head);
    struct tensor *factor = binary(r, DIV, slice_axis(r, rest, last, 0, 1, 1), head);
    return binary(r, SUB, slice_axis(r, rest, last, 1, width - 1, 1),
                  binary(r, MUL, factor, slice_axis(r, pivot, last, 1, width - 1, 1)));
}

static bool eliminate(struct recording *r, struct elimination *e, struct tensor *x)
{
    for (int64_t k = 0; k < e->n && x && !r->failed; k++)
        x = eliminate_column(r, e, x, k);
    return !r->failed;
}

static bool is_square(struct recording *r, const struct tensor *x)
{
    if (!is_float(r, x, "a matrix"))
        return false;
    int64_t rows = x->rank > 1 ? x->dims[x->rank - 2] : 0;
    if (x->rank > 1 && has_late(x->dims + x->rank - 2, 2))
        return fail(r, "a matrix of a size that is not known");
    return (rows >= 1 && rows <= MAX_MATRIX && x->dims[x->rank - 1] == rows) ||
           fail(r, "a matrix that is not square, or larger than %d", MAX_MATRIX);
}

// The product of the diagonal.
void record_det(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *result;
    struct elimination e = {.n = x->rank > 1 ? x->dims[x->rank - 2] : 0};
    if (!is_square(r, x) || !eliminate(r, &e, x))
        return;
    result = e.sign;
    for (int64_t k = 0; k < e.n; k++)
        result = binary(r, MUL, result, slice_axis(r, e.rows[k], e.rows[k]->rank - 1, 0, 1, 1));
    set_output(c, 0, reshape(r, result, x->rank - 2, x->dims));
}

// Rows of the solution of [x, identity], from the last one up.
void record_inverse(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *result = NULL;
    struct elimination e = {.n = x->rank > 1 ? x->dims[x->rank - 2] : 0};
    size_t last = x->rank - 1;
    if (!is_square(r, x))
        return;
    struct tensor *identity = make_known(r, x->type, 2, (int64_t[]){e.n, e.n});
    for (int64_t k = 0; identity && k < e.n; k++)
        set_known(identity, k * e.n + k, 1);
    if (!eliminate(r, &e, concat(r, 2, (struct tensor *[]){x, expand(r, identity, x->rank, x->dims)}, last)))
        return;
    for (int64_t k = e.n; k-- > 0 && !r->failed;) {
        struct tensor *row = slice_axis(r, e.rows[k], last, e.n - k, e.n, 1);
        if (result) {
            struct tensor *above = slice_axis(r, e.rows[k], last, 1, e.n - k - 1, 1);
            row = binary(r, SUB, row, matmul(r, above, result));
        }
        row = binary(r, DIV, row, slice_axis(r, e.rows[k], last, 0, 1, 1));
        result = result ? concat(r, 2, (struct tensor *[]){row, result}, last - 1) : row;
    }
    set_output(c, 0, result);
}
