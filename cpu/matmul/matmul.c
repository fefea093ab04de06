// SPDX-License-Identifier: Apache-2.0
//
// matmul and gemm: batches of products of strided matrices, of which the thin ones do without packing.
// Matrices of weights are packed once.

#include "cpu/matmul/gemm.h"

// alpha * A * B + beta * C
struct product {
    size_t m, n, k;
    const float *a, *b, *addend;
    const float *packed;                    // B as panels, or NULL
    const uint16_t *b_halves;               // B instead of b: to be packed, or of a thin product
    size_t a_row, a_term, b_term, b_column; // strides
    size_t addend_row, addend_column;
    float *c;                     // [m, n], dense
    const float *range;           // of C where it is computed from panels, or NULL
    struct activation activation; // where it is; attrs NULL: none
    float alpha, beta;
    const struct interrupt *interrupt;
};

static void finish_values(const struct product *product, float *values, size_t row, size_t column,
                          size_t count)
{
    if (product->alpha != 1) {
        for (size_t j = 0; j < count; j++)
            values[j] *= product->alpha;
    }
    if (product->addend != NULL) {
        const float *addend = product->addend + row * product->addend_row + column * product->addend_column;
        if (product->addend_column == 0) {
            float value = product->beta * *addend;
            for (size_t j = 0; j < count; j++)
                values[j] += value;
        } else {
            for (size_t j = 0; j < count; j++)
                values[j] += product->beta * addend[j];
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Thick products: packed
// ---------------------------------------------------------------------------------------------------------------

static void product_rows(const struct gemm *gemm, size_t row, unsigned count, size_t k, size_t segments,
                         size_t length, unsigned mr, const float **pointers, float *buffer)
{
    const struct product *product = gemm->argument;
    const float *from = product->a + row * product->a_row + k * product->a_term;
    (void)segments;
    (void)mr;
    for (unsigned r = 0; r < count; r++) {
        if (product->a_term == 1) {
            pointers[r] = from + r * product->a_row;
            continue;
        }
        float *copy = buffer + r * WNN_GEMM_KC;
        for (size_t i = 0; i < length; i++)
            copy[i] = from[r * product->a_row + i * product->a_term];
        pointers[r] = copy;
    }
}

static void product_panel(const struct gemm *gemm, size_t k, size_t length, size_t column, unsigned count,
                          float *panel, unsigned width)
{
    const struct product *product = gemm->argument;
    size_t first = k * product->b_term + column * product->b_column;
    if (product->b_halves != NULL)
        wnn_gemm_pack_halves(product->b_halves + first, product->b_column, product->b_term, count, length,
                             panel, width);
    else
        wnn_gemm_pack(product->b + first, product->b_column, product->b_term, count, length, panel, width);
}

static void product_finish(const struct gemm *gemm, float *tile, unsigned width, size_t row, unsigned rows,
                           size_t column, unsigned columns)
{
    for (unsigned r = 0; r < rows; r++)
        finish_values(gemm->argument, tile + r * width, row + r, column, columns);
}

static void product_polish(const struct gemm *gemm, float *c, size_t rows, size_t columns)
{
    const struct product *product = gemm->argument;
    for (size_t r = 0; r < rows; r++)
        wnn_cpu_activate_floats(&product->activation, c + r * gemm->row_stride, columns, columns);
}

// ---------------------------------------------------------------------------------------------------------------
// Thin products: every element of B is used so seldom that packing it would cost more than the product
// ---------------------------------------------------------------------------------------------------------------

#define THIN_ROWS    4
#define THIN_UNIT    64   // columns are divided between threads at multiples of this, which vectors divide
#define THIN_COLUMNS 1024 // at a time
#define THIN_TERMS   32
#define THIN_HALVES  256       // columns of float16 at a time
#define DOT_HALVES   2048      // terms of float16 at a time
#define DOT_TERMS    (1 << 17) // terms of float32 at a time, and between two looks at the interrupt
#define ROW_TERMS    1024      // likewise of rows that are added up

// Whether the product is to stop before term k, which is asked every `period` terms.
static bool is_over(const struct product *product, size_t k, size_t period)
{
    return k > 0 && k % period == 0 && wnn_interrupted(product->interrupt);
}

// Rows of B are contiguous: they are added up, some at a time, to rows of C.
static void add_terms(const struct product *product, size_t k, size_t terms, size_t column, size_t count)
{
    const struct float_kernels *kernels = wnn_float_kernels();
    const float *rows[THIN_TERMS];
    float scale[THIN_TERMS], copy[THIN_TERMS][THIN_HALVES];
    for (size_t t = 0; t < terms; t++) {
        size_t from = (k + t) * product->b_term + column;
        if (product->b_halves != NULL)
            wnn_half_to_float_array(product->b_halves + from, copy[t], count);
        rows[t] = product->b_halves != NULL ? copy[t] : product->b + from;
    }
    for (size_t i = 0; i < product->m; i++) {
        for (size_t t = 0; t < terms; t++)
            scale[t] = product->a[i * product->a_row + (k + t) * product->a_term];
        kernels->combine(product->c + i * product->n + column, count, rows, scale, terms);
    }
}

static void add_rows(void *argument, size_t begin, size_t end)
{
    const struct product *product = argument;
    size_t most = product->b_halves != NULL ? THIN_HALVES : THIN_COLUMNS;

    end = end * THIN_UNIT < product->n ? end * THIN_UNIT : product->n;
    for (size_t column = begin * THIN_UNIT; column < end; column += most) {
        size_t count = end - column < most ? end - column : most;
        for (size_t i = 0; i < product->m; i++)
            memset(product->c + i * product->n + column, 0, count * sizeof *product->c);
        for (size_t k = 0; k < product->k && !is_over(product, k, ROW_TERMS); k += THIN_TERMS)
            add_terms(product, k, product->k - k < THIN_TERMS ? product->k - k : THIN_TERMS, column, count);
        for (size_t i = 0; i < product->m; i++)
            finish_values(product, product->c + i * product->n + column, i, column, count);
    }
}

// Rows of A and columns of B are contiguous. The pieces are of the longer side of C, so that the other matrix
// is read once.
static void dot_columns(void *argument, size_t begin, size_t end)
{
    const struct product *product = argument;
    const struct float_kernels *kernels = wnn_float_kernels();
    size_t step = product->b_halves != NULL ? DOT_HALVES : DOT_TERMS;
    float copy[DOT_HALVES];
    for (size_t j = begin; j < end; j++) {
        float sums[THIN_ROWS] = {0};
        for (size_t k = 0, terms; k < product->k && !is_over(product, k, DOT_TERMS); k += terms) {
            size_t from = j * product->b_column + k;
            terms = product->k - k < step ? product->k - k : step;
            if (product->b_halves != NULL)
                wnn_half_to_float_array(product->b_halves + from, copy, terms);
            const float *b = product->b_halves != NULL ? copy : product->b + from;
            for (size_t i = 0; i < product->m; i++)
                sums[i] += kernels->dot(product->a + i * product->a_row + k, b, terms);
        }
        for (size_t i = 0; i < product->m; i++) {
            float *c = product->c + i * product->n + j;
            *c = sums[i];
            finish_values(product, c, i, j, 1);
        }
    }
}

static void dot_rows(void *argument, size_t begin, size_t end)
{
    const struct product *product = argument;
    const struct float_kernels *kernels = wnn_float_kernels();
    for (size_t i = begin; i < end; i++) {
        for (size_t j = 0; j < product->n; j++) {
            float *c = product->c + i * product->n + j;
            const float *a = product->a + i * product->a_row, *b = product->b + j * product->b_column;
            *c = 0;
            for (size_t k = 0, terms; k < product->k && !is_over(product, k, DOT_TERMS); k += terms) {
                terms = product->k - k < DOT_TERMS ? product->k - k : DOT_TERMS;
                *c += kernels->dot(a + k, b + k, terms);
            }
            finish_values(product, c, i, j, 1);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Small products: time is spent elsewhere, so that they may as well be exact
// ---------------------------------------------------------------------------------------------------------------

#define SMALL_WORK 4096

static void sum_exactly(const struct product *product)
{
    for (size_t i = 0; i < product->m; i++) {
        for (size_t j = 0; j < product->n; j++) {
            const float *a = product->a + i * product->a_row, *b = product->b + j * product->b_column;
            double sum = 0;
            for (size_t k = 0; k < product->k; k++)
                sum += (double)a[k * product->a_term] * b[k * product->b_term];
            sum *= product->alpha;
            if (product->addend != NULL)
                sum += (double)product->beta *
                       product->addend[i * product->addend_row + j * product->addend_column];
            product->c[i * product->n + j] = (float)sum;
        }
    }
}

// Multiplications by a matrix that lies in a cache: about 10 us. With less of them the second thread's half
// is won only if it is awake in time.
static size_t grain(size_t work)
{
    return 1 + 262144 / (work + 1);
}

// The ways to a product, which its sizes and strides decide.
enum way {
    EXACTLY,
    ROWS_OF_B,
    DOTS,
    PANELS
};

static enum way way_of(const struct product *product)
{
    bool thin = product->m <= THIN_ROWS || product->n <= THIN_ROWS;
    if (product->m * product->n * product->k <= SMALL_WORK)
        return EXACTLY;
    if (product->m <= THIN_ROWS && product->b_column == 1 && product->n > THIN_ROWS)
        return ROWS_OF_B;
    return thin && product->a_term == 1 && product->b_term == 1 ? DOTS : PANELS;
}

// Whether the product reads B once, so that float16 is converted on the way.
static bool reads_halves(const struct product *product)
{
    enum way way = way_of(product);
    return way == ROWS_OF_B || (way == DOTS && product->m < product->n);
}

static struct gemm gemm_of(const struct product *product)
{
    bool plain = product->alpha == 1 && (product->addend == NULL || product->beta == 1);
    bool row = product->addend != NULL && product->addend_row == 0 && product->addend_column == 1;
    return (struct gemm){
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .unit = product->k,
        .rows = product_rows,
        .panel = product_panel,
        .start = plain && row ? product->addend : NULL,
        .finish = plain && (row || product->addend == NULL) ? NULL : product_finish,
        .c = product->c,
        .row_stride = product->n,
        .argument = product,
        .in_place = product->a_term == 1,
        .packed = product->packed,
        .range = product->range,
        .polish = product->activation.attrs != NULL ? product_polish : NULL,
    };
}

static void run_product(const struct product *product, const struct parallel *parallel, float *scratch)
{
    if (product->m == 0 || product->n == 0)
        return;
    switch (way_of(product)) {
    case EXACTLY:
        sum_exactly(product);
        break;
    case ROWS_OF_B: {
        // Wide pieces: of rows that are cut short the processor fetches too much ahead.
        size_t units = (product->n + THIN_UNIT - 1) / THIN_UNIT, wide = units / (2 * parallel->threads);
        size_t least = grain(product->m * product->k * THIN_UNIT);
        wnn_parallel_for(parallel, units, wide > least ? wide : least, add_rows, (void *)product);
        break;
    }
    case DOTS:
        if (product->m < product->n)
            wnn_parallel_for(parallel, product->n, grain(product->m * product->k), dot_columns,
                             (void *)product);
        else
            wnn_parallel_for(parallel, product->m, grain(product->n * product->k), dot_rows, (void *)product);
        break;
    case PANELS: {
        struct gemm gemm = gemm_of(product);
        wnn_gemm_run(&gemm, parallel, scratch);
        break;
    }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// matmul
// ---------------------------------------------------------------------------------------------------------------

struct batch {
    struct product product; // the first
    struct shape shape;     // the leading dimensions of the result
    size_t a_stride[WNN_MAX_RANK], b_stride[WNN_MAX_RANK];
    size_t count, chunks;
    float *scratch;        // NULL: not needed
    size_t scratch_floats; // of one chunk
};

static void run_one(const struct batch *batch, size_t index, const struct parallel *parallel, float *scratch)
{
    struct product product = batch->product;
    size_t b_offset = 0;
    product.c += index * product.m * product.n;
    for (unsigned d = batch->shape.rank; d-- > 0;) {
        size_t coordinate = index % batch->shape.dim[d];
        index /= batch->shape.dim[d];
        product.a += coordinate * batch->a_stride[d];
        b_offset += coordinate * batch->b_stride[d];
    }
    if (product.packed != NULL)
        product.packed += b_offset / (product.k * product.n) * wnn_gemm_packed_floats(product.n, product.k);
    else if (product.b_halves != NULL)
        product.b_halves += b_offset;
    else
        product.b += b_offset;
    run_product(&product, parallel, scratch);
}

static void run_chunks(void *argument, size_t begin, size_t end)
{
    const struct batch *batch = argument;
    const struct parallel alone = wnn_parallel_alone(batch->product.interrupt);
    for (size_t chunk = begin; chunk < end; chunk++) {
        float *scratch = batch->scratch == NULL ? NULL : batch->scratch + chunk * batch->scratch_floats;
        size_t last = batch->count * (chunk + 1) / batch->chunks;
        for (size_t i = batch->count * chunk / batch->chunks;
             i < last && !wnn_interrupted(batch->product.interrupt); i++)
            run_one(batch, i, &alone, scratch);
    }
}

static size_t batch_chunks(size_t count, unsigned threads)
{
    size_t chunks = 4 * (size_t)threads;
    return count < chunks ? count : chunks;
}

static size_t leading(const struct shape *shape)
{
    return shape->rank > 2 ? wnn_shape_product(shape, 0, shape->rank - 2) : 1;
}

// Strides, in elements, of the matrices of an operand along the leading dimensions of the result.
static void matrix_strides(const struct shape *operand, const struct shape *result,
                           size_t strides[WNN_MAX_RANK])
{
    struct shape from = *operand, to = *result;
    size_t matrix = (size_t)operand->dim[operand->rank - 2] * operand->dim[operand->rank - 1];
    from.rank -= 2;
    to.rank -= 2;
    wnn_shape_broadcast_strides(&from, &to, strides);
    for (unsigned d = 0; d < to.rank; d++)
        strides[d] *= matrix;
}

// Everything but the data.
static struct batch describe_matmul(const struct shape *a, const struct shape *b, const struct shape *c)
{
    struct batch batch = {
        .product =
            {
                .m = a->dim[a->rank - 2],
                .k = a->dim[a->rank - 1],
                .n = b->dim[b->rank - 1],
                .a_row = a->dim[a->rank - 1],
                .a_term = 1,
                .b_term = b->dim[b->rank - 1],
                .b_column = 1,
                .alpha = 1,
            },
        .shape = *c,
        .count = leading(c),
    };
    batch.shape.rank -= 2;
    matrix_strides(a, c, batch.a_stride);
    matrix_strides(b, c, batch.b_stride);
    if (leading(b) == 1 && leading(a) == batch.count) {
        // One matrix on the right: those on the left are one below the other.
        batch.product.m *= batch.count;
        batch.shape.rank = 0;
        batch.count = 1;
    }
    return batch;
}

static struct product describe_gemm(const WNNGemmOptions *options, const struct shape *a,
                                    const struct shape *b)
{
    return (struct product){
        .m = a->dim[options->aTranspose],
        .k = a->dim[!options->aTranspose],
        .n = b->dim[!options->bTranspose],
        .a_row = options->aTranspose ? 1 : a->dim[1],
        .a_term = options->aTranspose ? a->dim[1] : 1,
        .b_term = options->bTranspose ? 1 : b->dim[1],
        .b_column = options->bTranspose ? b->dim[1] : 1,
        .alpha = (float)options->alpha,
        .beta = (float)options->beta,
    };
}

static struct product describe_node(const struct node *node)
{
    const struct shape *a = &node->in[0]->type.shape, *b = &node->in[1]->type.shape;
    return node->op == WNN_OP_gemm ? describe_gemm(node->attrs, a, b)
                                   : describe_matmul(a, b, &node->out[0]->type.shape).product;
}

// B: what has been packed, the tensor, or a copy of it.
static void load_b(const struct kernel_call *call, struct product *product, struct scratch *scratch)
{
    if (call->in[1].type == WNNDataType_Float16 && reads_halves(product))
        product->b_halves = call->in[1].data;
    else if (call->packed == NULL)
        product->b = wnn_floats_in(call, 1, scratch);
    else if (way_of(product) == PANELS)
        product->packed = call->packed;
    else
        product->b = call->packed;
}

// Products from panels apply the activations of float32 by themselves.
static bool activates(const struct product *product, const struct node *node)
{
    return wnn_epilogue(node).activation.attrs && node->out[0]->type.type == WNNDataType_Float32 &&
           way_of(product) == PANELS;
}

static void set_activation(struct product *product, const struct node *node, float range[2])
{
    if (!activates(product, node))
        return;
    if (wnn_activation_range(node, range))
        product->range = range;
    else
        product->activation = wnn_epilogue(node).activation;
}

static void run_matmul(const struct kernel_call *call)
{
    struct scratch scratch = {call->scratch};
    if (call->out[0].count == 0)
        return;

    struct batch batch = describe_matmul(&call->in[0].shape, &call->in[1].shape, &call->out[0].shape);
    batch.product.a = wnn_floats_in(call, 0, &scratch);
    load_b(call, &batch.product, &scratch);
    float *values = batch.product.c = wnn_floats_out(call, 0, &scratch), range[2];
    set_activation(&batch.product, call->node, range);
    batch.product.interrupt = call->parallel->interrupt;
    batch.scratch = batch.product.packed != NULL ? NULL : (float *)scratch.next;

    size_t work = batch.product.m * batch.product.n * (batch.product.k + 1);
    if (batch.count >= 2 * (size_t)call->parallel->threads || (batch.count > 1 && work < 1 << 18)) {
        batch.chunks = batch_chunks(batch.count, call->parallel->threads);
        batch.scratch_floats = wnn_gemm_scratch(batch.product.n, batch.product.k) / sizeof(float);
        wnn_parallel_for(call->parallel, batch.chunks, 1 + 65536 / (work * (batch.count / batch.chunks)),
                         run_chunks, &batch);
    } else {
        for (size_t i = 0; i < batch.count; i++)
            run_one(&batch, i, call->parallel, batch.scratch);
    }
    wnn_floats_store(call, 0, values);
}

static void run_gemm(const struct kernel_call *call)
{
    struct scratch scratch = {call->scratch};
    if (call->out[0].count == 0)
        return;

    struct product product = describe_gemm(call->node->attrs, &call->in[0].shape, &call->in[1].shape);
    product.a = wnn_floats_in(call, 0, &scratch);
    load_b(call, &product, &scratch);
    if (call->node->in_count > 2 && call->in[2].data != NULL) {
        size_t strides[WNN_MAX_RANK];
        product.addend = wnn_floats_in(call, 2, &scratch);
        wnn_shape_broadcast_strides(&call->in[2].shape, &call->out[0].shape, strides);
        product.addend_row = strides[0];
        product.addend_column = strides[1];
    }
    product.c = wnn_floats_out(call, 0, &scratch);
    product.interrupt = call->parallel->interrupt;
    float range[2];
    set_activation(&product, call->node, range);
    run_product(&product, call->parallel, (float *)scratch.next);
    wnn_floats_store(call, 0, product.c);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory and weights of both
// ---------------------------------------------------------------------------------------------------------------

// Products that read B as it is have it packed only to spare them the conversion.
static size_t packed_bytes(const struct node *node)
{
    const struct descriptor *b = &node->in[1]->type;
    const struct product product = describe_node(node);
    if (!wnn_has_weights(node) || wnn_shape_elements(&node->out[0]->type.shape) == 0)
        return 0;
    if (way_of(&product) == PANELS)
        return leading(&b->shape) * wnn_gemm_packed_floats(product.n, product.k) * sizeof(float);
    return b->type == WNNDataType_Float16 && !reads_halves(&product)
               ? wnn_shape_elements(&b->shape) * sizeof(float)
               : 0;
}

static size_t scratch_bytes(const struct node *node, unsigned threads)
{
    const struct product product = describe_node(node);
    bool packed = packed_bytes(node) > 0;
    size_t bytes = packed || reads_halves(&product) ? wnn_floats_scratch_without_weights(node)
                                                    : wnn_floats_scratch(node);
    if (!packed && way_of(&product) == PANELS)
        bytes += batch_chunks(leading(&node->out[0]->type.shape), threads) *
                 wnn_gemm_scratch(product.n, product.k);
    return bytes;
}

static void pack_weights(const struct kernel_call *call, void *packed)
{
    const struct tensor *b = &call->in[1];
    struct product product = describe_node(call->node);
    if (way_of(&product) != PANELS) {
        wnn_floats_copy(b, packed, call->parallel);
        return;
    }
    float *to = packed;
    for (size_t i = 0; i < leading(&b->shape); i++, to += wnn_gemm_packed_floats(product.n, product.k)) {
        struct gemm gemm = gemm_of(&product);
        if (b->type == WNNDataType_Float16)
            product.b_halves = (const uint16_t *)b->data + i * product.k * product.n;
        else
            product.b = (const float *)b->data + i * product.k * product.n;
        wnn_gemm_pack_all(&gemm, call->parallel, to);
    }
}

static bool applies_activation(const struct node *node)
{
    const struct product product = describe_node(node);
    return activates(&product, node);
}

bool wnn_cpu_matmul_reads_halves(const struct node *node)
{
    const struct product product = describe_node(node);
    return reads_halves(&product);
}

const struct kernel wnn_cpu_gemm = {.run = run_gemm,
                                    .scratch = scratch_bytes,
                                    .packed_bytes = packed_bytes,
                                    .pack = pack_weights,
                                    .activates = applies_activation};
const struct kernel wnn_cpu_matmul = {.run = run_matmul,
                                      .scratch = scratch_bytes,
                                      .packed_bytes = packed_bytes,
                                      .pack = pack_weights,
                                      .activates = applies_activation};
