// SPDX-License-Identifier: Apache-2.0
//
// matmul and gemm: batches of products of strided matrices, of which the thin ones do without packing.
// Matrices of weights are packed once.

#include "cpu/matmul/gemm.h"
#include "cpu/matmul/scale.h"
#include "cpu/matmul/strips_half.h"

// How a product is computed, which its sizes and strides decide.
enum product_method {
    EXACTLY,
    ROWS_OF_B,
    SMALL_GEMM,
    PANELS
};

// One product of matrices, and what follows it.
struct float_product {
    enum product_method method;
    const struct float_kernels *kernels; // whose panels are packed
    size_t m, n, k;
    const float *a, *b;
    const float *packed;                    // B as panels, or NULL
    const uint16_t *b_halves;               // B instead of b: to be packed, or of a thin product
    const uint16_t *strips;                 // B as strips_half.h has it, or NULL
    size_t a_row, a_term, b_term, b_column; // strides
    float *c;                               // [m, n], dense
    const float *range;                     // of C where it is computed from panels, or NULL
    struct activation activation;           // where it is; attrs NULL: none
    struct gemm_scale scale;
    const struct interrupt *interrupt;
};

// ---------------------------------------------------------------------------------------------------------------
// Thick products: packed
// ---------------------------------------------------------------------------------------------------------------

static void product_rows(const struct gemm *gemm, size_t row, unsigned count, size_t k, size_t segments,
                         size_t length, unsigned mr, const float **pointers, float *buffer)
{
    const struct float_product *product = gemm->argument;
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
    const struct float_product *product = gemm->argument;
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
    const struct float_product *product = gemm->argument;
    for (unsigned r = 0; r < rows; r++)
        wnn_gemm_scale_values(&product->scale, tile + r * width, row + r, column, columns);
}

static void product_polish(const struct gemm *gemm, float *c, size_t rows, size_t columns)
{
    const struct float_product *product = gemm->argument;
    for (size_t r = 0; r < rows; r++)
        wnn_cpu_activate_floats(&product->activation, c + r * gemm->row_stride, columns, columns);
}

// ---------------------------------------------------------------------------------------------------------------
// Thin products: every element of B is used so seldom that packing it would cost more than the product
// ---------------------------------------------------------------------------------------------------------------

#define THIN_ROWS  4
#define THIN_UNIT  32 // columns are divided between threads at multiples of this, which vectors divide
#define PART_BYTES 65536
#define THIN_BYTES 4096 // of a row at a time: a page, since those of wide rows are far from one another
#define THIN_WHOLE 4096 // columns whose sums stay in the first cache: rows of so many are read whole
#define THIN_TERMS 32
#define DOT_TERMS  (1 << 17) // at a time, and between two looks at the interrupt
#define ROW_TERMS  1024      // likewise of rows that are added up

#define PIECES_PER_THREAD 4 // that wnn_parallel_for cuts

// Whether the product is to stop before term k, which is asked every `period` terms.
static bool is_over(const struct float_product *product, size_t k, size_t period)
{
    return k > 0 && k % period == 0 && wnn_interrupted(product->interrupt);
}

// Rows of B are contiguous: they are added up, some at a time, to rows of C.
static void add_terms(const struct float_product *product, size_t k, size_t terms, size_t column,
                      size_t count)
{
    size_t from = k * product->b_term + column;
    struct float_rows rows = {
        .stride = product->b_term, .halves = product->b_halves != NULL, .once = product->m == 1};
    rows.data = rows.halves ? (const void *)(product->b_halves + from) : product->b + from;
    for (size_t i = 0; i < product->m; i++)
        wnn_float_kernels()->add_rows(product->c + i * product->n + column, count, &rows,
                                      product->a + i * product->a_row + k * product->a_term, product->a_term,
                                      terms);
}

static void add_rows(void *argument, size_t begin, size_t end)
{
    const struct float_product *product = argument;
    // Several rows of A meet terms that the first one has brought into a cache.
    size_t most = product->m > 1 ? THIN_TERMS : ROW_TERMS,
           columns = THIN_BYTES / (product->b_halves ? sizeof(uint16_t) : sizeof(float));

    end = end * THIN_UNIT < product->n ? end * THIN_UNIT : product->n;
    if (begin == 0 && end == product->n && product->b_term == product->n && product->n <= THIN_WHOLE)
        columns = product->n;
    for (size_t column = begin * THIN_UNIT; column < end; column += columns) {
        size_t count = end - column < columns ? end - column : columns;
        for (size_t i = 0; i < product->m; i++)
            memset(product->c + i * product->n + column, 0, count * sizeof *product->c);
        for (size_t k = 0; k < product->k && !is_over(product, k, ROW_TERMS); k += most)
            add_terms(product, k, product->k - k < most ? product->k - k : most, column, count);
        for (size_t i = 0; i < product->m; i++)
            wnn_gemm_scale_values(&product->scale, product->c + i * product->n + column, i, column, count);
    }
}

// Columns [column, last) of B in strips.
static void multiply_columns(const struct float_product *product, size_t column, size_t last)
{
    const struct half_strips strips = {product->n, product->k, product->strips};
    struct half_rows rows = {
        .m = product->m, .a = product->a, .row = product->a_row, .term = product->a_term};
    for (size_t count; column < last; column += count) {
        count = wnn_min(WNN_HALF_GROUP - column % WNN_HALF_GROUP, last - column);
        size_t columns = wnn_min(count, product->n - column);
        memset(rows.totals, 0, rows.m * WNN_HALF_GROUP * sizeof rows.totals[0]);
        for (size_t k = 0; k < product->k && !is_over(product, k, ROW_TERMS); k += ROW_TERMS)
            wnn_half_strips_multiply(&strips, &rows, column, count, k, wnn_min(k + ROW_TERMS, product->k));
        for (size_t i = 0; i < product->m; i++) {
            float *c = product->c + i * product->n + column;
            memcpy(c, rows.totals + i * WNN_HALF_GROUP, columns * sizeof *c);
            wnn_gemm_scale_values(&product->scale, c, i, column, columns);
        }
    }
}

// Products of the same rows of A, cut into pieces of so many columns: product i begins with piece first[i].
struct joint {
    const struct float_product *products;
    size_t count, columns, first[WNN_MAX_JOINED + 1];
};

static void multiply_pieces(void *argument, size_t begin, size_t end)
{
    const struct joint *joint = argument;
    for (size_t i = 0; i < joint->count; i++) {
        const struct float_product *product = &joint->products[i];
        size_t first = begin > joint->first[i] ? begin : joint->first[i];
        size_t last = wnn_min(end, joint->first[i + 1]);
        if (first < last)
            multiply_columns(
                product, (first - joint->first[i]) * joint->columns,
                wnn_min((last - joint->first[i]) * joint->columns, wnn_round_up(product->n, WNN_HALF_UNIT)));
    }
}

// Rows of A and columns of B are contiguous. The pieces are of the longer side of C, so that the other matrix
// is read once.
static void dot_columns(void *argument, size_t begin, size_t end)
{
    const struct float_product *product = argument;
    const struct float_kernels *kernels = wnn_float_kernels();
    for (size_t j = begin; j < end; j++) {
        float sums[THIN_ROWS] = {0};
        for (size_t k = 0, terms; k < product->k && !is_over(product, k, DOT_TERMS); k += terms) {
            size_t from = j * product->b_column + k;
            terms = product->k - k < DOT_TERMS ? product->k - k : DOT_TERMS;
            for (size_t i = 0; i < product->m; i++) {
                const float *a = product->a + i * product->a_row + k;
                sums[i] += product->b_halves != NULL ? kernels->dot_halves(a, product->b_halves + from, terms)
                                                     : kernels->dot(a, product->b + from, terms);
            }
        }
        for (size_t i = 0; i < product->m; i++) {
            float *c = product->c + i * product->n + j;
            *c = sums[i];
            wnn_gemm_scale_values(&product->scale, c, i, j, 1);
        }
    }
}

static void dot_rows(void *argument, size_t begin, size_t end)
{
    const struct float_product *product = argument;
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
            wnn_gemm_scale_values(&product->scale, c, i, j, 1);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Small products: time is spent elsewhere, so that they may as well be exact
// ---------------------------------------------------------------------------------------------------------------

#define SMALL_WORK 4096

static void sum_exactly(const struct float_product *product)
{
    for (size_t i = 0; i < product->m; i++) {
        for (size_t j = 0; j < product->n; j++) {
            const float *a = product->a + i * product->a_row, *b = product->b + j * product->b_column;
            double sum = 0;
            for (size_t k = 0; k < product->k; k++)
                sum += (double)a[k * product->a_term] * b[k * product->b_term];
            sum *= product->scale.alpha;
            if (product->scale.addend != NULL)
                sum +=
                    (double)product->scale.beta *
                    product->scale.addend[i * product->scale.addend_row + j * product->scale.addend_column];
            product->c[i * product->n + j] = (float)sum;
        }
    }
}

// How many items, each of which reads so many elements of a matrix, are worth a thread's attention: some
// microseconds of reading, be it from a cache or from memory.
static size_t grain(const struct float_product *product, size_t elements)
{
    size_t bytes = elements * (product->b_halves != NULL ? sizeof(uint16_t) : sizeof(float));
    return 1 + PART_BYTES / (bytes * product->m + 1);
}

static enum product_method choose_method(const struct float_product *product)
{
    bool thin = product->m <= THIN_ROWS || product->n <= THIN_ROWS;
    if (product->m * product->n * product->k <= SMALL_WORK)
        return EXACTLY;
    if (product->m <= THIN_ROWS && product->b_column == 1 && product->n > THIN_ROWS)
        return ROWS_OF_B;
    return thin && product->a_term == 1 && product->b_term == 1 ? SMALL_GEMM : PANELS;
}

// Whether the product reads B once, so that float16 is converted on the way.
static bool reads_halves(const struct float_product *product)
{
    return product->method == ROWS_OF_B || (product->method == SMALL_GEMM && product->m < product->n);
}

static struct gemm gemm_of(const struct float_product *product)
{
    bool plain = product->scale.alpha == 1 && (product->scale.addend == NULL || product->scale.beta == 1);
    bool row =
        product->scale.addend != NULL && product->scale.addend_row == 0 && product->scale.addend_column == 1;
    return (struct gemm){
        .kernels = product->kernels,
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .unit = product->k,
        .rows = product_rows,
        .panel = product_panel,
        .start = plain && row ? product->scale.addend : NULL,
        .finish = plain && (row || product->scale.addend == NULL) ? NULL : product_finish,
        .c = product->c,
        .row_stride = product->n,
        .argument = product,
        .in_place = product->a_term == 1,
        .packed = product->packed,
        .range = product->range,
        .polish = product->activation.attrs != NULL ? product_polish : NULL,
    };
}

// Whole groups of columns, if that is enough for all threads.
static void run_strips(const struct float_product *products, size_t count, const struct parallel *parallel)
{
    struct joint joint = {.products = products, .count = count};
    size_t groups = 0;
    for (size_t i = 0; i < count; i++)
        groups += (products[i].n + WNN_HALF_GROUP - 1) / WNN_HALF_GROUP;
    bool whole = groups >= PIECES_PER_THREAD * (size_t)parallel->threads;
    joint.columns = whole ? WNN_HALF_GROUP : WNN_HALF_UNIT;
    for (size_t i = 0; i < count; i++)
        joint.first[i + 1] = joint.first[i] + (products[i].n + joint.columns - 1) / joint.columns;
    wnn_parallel_for(parallel, joint.first[count], grain(products, products->k * joint.columns),
                     multiply_pieces, &joint);
}

static void run_product(const struct float_product *product, const struct parallel *parallel, float *scratch)
{
    if (product->m == 0 || product->n == 0)
        return;
    switch (product->method) {
    case EXACTLY:
        sum_exactly(product);
        break;
    case ROWS_OF_B: {
        if (product->strips != NULL) {
            run_strips(product, 1, parallel);
            break;
        }
        // Wide pieces: of rows that are cut short the processor fetches too much ahead.
        size_t units = (product->n + THIN_UNIT - 1) / THIN_UNIT, wide = units / (2 * parallel->threads);
        size_t least = grain(product, product->k * THIN_UNIT);
        wnn_parallel_for(parallel, units, wide > least ? wide : least, add_rows, (void *)product);
        break;
    }
    case SMALL_GEMM:
        if (product->m < product->n)
            wnn_parallel_for(parallel, product->n, grain(product, product->k), dot_columns, (void *)product);
        else
            wnn_parallel_for(parallel, product->m, 1 + PART_BYTES / 4 / (product->n * product->k + 1),
                             dot_rows, (void *)product);
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
    struct float_product product; // the first
    struct matrix_product of;
    bool activates; // by itself: with `range` or product.activation
    float range[2];
    size_t chunks;
    float *scratch;        // NULL: not needed
    size_t scratch_floats; // of one chunk
};

static void run_one(const struct batch *batch, size_t index, const struct parallel *parallel, float *scratch)
{
    struct float_product product = batch->product;
    size_t b_offset = 0;
    product.c += index * product.m * product.n;
    for (unsigned d = batch->of.batch.rank; d-- > 0;) {
        size_t coordinate = index % batch->of.batch.dim[d];
        index /= batch->of.batch.dim[d];
        product.a += coordinate * batch->of.a_steps[d];
        b_offset += coordinate * batch->of.b_steps[d];
    }
    if (product.strips != NULL)
        product.strips += b_offset / (product.k * product.n) *
                          (wnn_half_strips_bytes(product.n, product.k) / sizeof *product.strips);
    else if (product.packed != NULL)
        product.packed += b_offset / (product.k * product.n) *
                          wnn_gemm_packed_floats(product.kernels, product.n, product.k);
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
        size_t last = batch->of.count * (chunk + 1) / batch->chunks;
        for (size_t i = batch->of.count * chunk / batch->chunks;
             i < last && !wnn_interrupted(batch->product.interrupt); i++)
            run_one(batch, i, &alone, scratch);
    }
}

static size_t batch_chunks(size_t count, unsigned threads)
{
    size_t chunks = 4 * (size_t)threads;
    return count < chunks ? count : chunks;
}

static void choose(const struct node *node, void *choice)
{
    const struct matrix_product p = wnn_node_matrix_product(node);
    struct batch *batch = choice;
    *batch = (struct batch){.product = {.kernels = wnn_float_kernels_of(wnn_cpu_target(node)->isa),
                                        .m = p.m,
                                        .n = p.n,
                                        .k = p.k,
                                        .a_row = p.a_row,
                                        .a_term = p.a_term,
                                        .b_term = p.b_term,
                                        .b_column = p.b_column,
                                        .scale = wnn_gemm_scale_of(&p)},
                            .of = p};
    batch->product.method = choose_method(&batch->product);
    bool activates = wnn_epilogue(node).activation.attrs && node->out[0]->type.type == WNNDataType_Float32 &&
                     batch->product.method == PANELS;
    if (activates && !wnn_activation_range(node, batch->range))
        batch->product.activation = wnn_epilogue(node).activation;
    batch->activates = activates;
}

// Everything but the data.
static struct batch batch_of(const struct node *node)
{
    struct batch memory;
    return *(const struct batch *)wnn_choice(node, choose, &memory);
}

// Whether B, if it is packed, is packed as strips.
static bool is_in_strips(const struct float_product *product, const struct descriptor *b)
{
    return product->method == ROWS_OF_B && b->type == WNNDataType_Float16;
}

// B: what has been packed, the tensor, or a copy of it.
static void load_b(const struct kernel_call *call, struct float_product *product, struct scratch *scratch)
{
    if (call->packed != NULL && is_in_strips(product, &call->node->in[1]->type))
        product->strips = call->packed;
    else if (call->in[1].type == WNNDataType_Float16 && reads_halves(product))
        product->b_halves = call->in[1].data;
    else if (call->packed == NULL)
        product->b = wnn_floats_in(call, 1, scratch);
    else if (product->method == PANELS)
        product->packed = call->packed;
    else
        product->b = call->packed;
}

static void run(const struct kernel_call *call)
{
    struct scratch scratch = {call->scratch};
    if (call->out[0].count == 0)
        return;

    struct batch batch = batch_of(call->node);
    struct float_product *product = &batch.product;
    product->a = wnn_floats_in(call, 0, &scratch);
    load_b(call, product, &scratch);
    wnn_gemm_read_addend(&product->scale, call, &scratch);
    float *values = product->c = wnn_floats_out(call, 0, &scratch);
    if (batch.activates && !product->activation.attrs)
        product->range = batch.range;
    product->interrupt = call->parallel->interrupt;
    batch.scratch = product->packed != NULL ? NULL : (float *)scratch.next;

    size_t work = product->m * product->n * (product->k + 1);
    if (batch.of.count >= 2 * (size_t)call->parallel->threads || (batch.of.count > 1 && work < 1 << 18)) {
        batch.chunks = batch_chunks(batch.of.count, call->parallel->threads);
        batch.scratch_floats = wnn_gemm_scratch(product->n, product->k) / sizeof(float);
        wnn_parallel_for(call->parallel, batch.chunks, 1 + 65536 / (work * (batch.of.count / batch.chunks)),
                         run_chunks, &batch);
    } else {
        for (size_t i = 0; i < batch.of.count; i++)
            run_one(&batch, i, call->parallel, batch.scratch);
    }
    wnn_floats_store(call, 0, values);
}

static void run_joined(const struct kernel_call *calls, size_t count)
{
    struct float_product products[WNN_MAX_JOINED] = {batch_of(calls[0].node).product};
    struct scratch first = {calls[0].scratch};
    const float *a = wnn_floats_in(&calls[0], 0, &first);
    for (size_t i = 0; i < count; i++) {
        struct scratch own = {calls[i].scratch}, *scratch = i == 0 ? &first : &own;
        products[i] = batch_of(calls[i].node).product;
        products[i].a = a;
        products[i].strips = calls[i].packed;
        wnn_gemm_read_addend(&products[i].scale, &calls[i], scratch);
        products[i].c = wnn_floats_out(&calls[i], 0, scratch);
        products[i].interrupt = calls[i].parallel->interrupt;
    }
    run_strips(products, count, calls[0].parallel);
    for (size_t i = 0; i < count; i++)
        wnn_floats_store(&calls[i], 0, products[i].c);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory and weights of both
// ---------------------------------------------------------------------------------------------------------------

// Products that read B as it is have it packed only to spare them the conversion, or for one stream of it.
static size_t packed_bytes(const struct node *node)
{
    const struct descriptor *b = &node->in[1]->type;
    const struct batch batch = batch_of(node);
    const struct float_product *product = &batch.product;
    if (!wnn_has_weights(node) || wnn_shape_elements(&node->out[0]->type.shape) == 0)
        return 0;
    if (product->method == PANELS)
        return batch.of.b_count * wnn_gemm_packed_floats(product->kernels, product->n, product->k) *
               sizeof(float);
    if (is_in_strips(product, b))
        return batch.of.b_count * wnn_half_strips_bytes(product->n, product->k);
    return b->type == WNNDataType_Float16 && !reads_halves(product)
               ? wnn_shape_elements(&b->shape) * sizeof(float)
               : 0;
}

static size_t scratch_bytes(const struct node *node, unsigned threads)
{
    const struct batch batch = batch_of(node);
    const struct float_product *product = &batch.product;
    bool packed = packed_bytes(node) > 0;
    size_t bytes =
        packed || reads_halves(product) ? wnn_floats_scratch_without_weights(node) : wnn_floats_scratch(node);
    if (!packed && product->method == PANELS)
        bytes += batch_chunks(batch.of.count, threads) * wnn_gemm_scratch(product->n, product->k);
    return bytes;
}

struct strip_packing {
    struct half_strips strips;
    const uint16_t *from;
    size_t stride;
    uint16_t *to;
};

static void pack_groups(void *argument, size_t begin, size_t end)
{
    const struct strip_packing *packing = argument;
    wnn_half_strips_pack(&packing->strips, packing->from, packing->stride, begin, end, packing->to);
}

static void pack_strips(const struct batch *batch, const struct kernel_call *call, uint16_t *packed)
{
    const struct float_product *product = &batch->product;
    size_t bytes = wnn_half_strips_bytes(product->n, product->k);
    for (size_t i = 0; i < batch->of.b_count; i++) {
        struct strip_packing packing = {.strips = {product->n, product->k, NULL},
                                        .from =
                                            (const uint16_t *)call->in[1].data + i * product->k * product->n,
                                        .stride = product->b_term,
                                        .to = packed + i * (bytes / sizeof *packed)};
        wnn_parallel_for(call->parallel, (product->n + WNN_HALF_GROUP - 1) / WNN_HALF_GROUP,
                         1 + PART_BYTES / (WNN_HALF_GROUP * sizeof *packed * (product->k + 1)), pack_groups,
                         &packing);
    }
}

static void pack_weights(const struct kernel_call *call, void *packed)
{
    const struct tensor *b = &call->in[1];
    struct batch batch = batch_of(call->node);
    struct float_product *product = &batch.product;
    if (is_in_strips(product, &call->node->in[1]->type)) {
        pack_strips(&batch, call, packed);
        return;
    }
    if (product->method != PANELS) {
        wnn_floats_copy(b, packed, call->parallel);
        return;
    }
    float *to = packed;
    for (size_t i = 0; i < batch.of.b_count;
         i++, to += wnn_gemm_packed_floats(product->kernels, product->n, product->k)) {
        struct gemm gemm = gemm_of(product);
        if (b->type == WNNDataType_Float16)
            product->b_halves = (const uint16_t *)b->data + i * product->k * product->n;
        else
            product->b = (const float *)b->data + i * product->k * product->n;
        wnn_gemm_pack_all(&gemm, call->parallel, to);
    }
}

static bool joins(const struct node *first, const struct node *node)
{
    const struct batch batch = batch_of(first), other = batch_of(node);
    const struct float_product *a = &batch.product, *b = &other.product;
    return packed_bytes(first) > 0 && packed_bytes(node) > 0 && is_in_strips(a, &first->in[1]->type) &&
           is_in_strips(b, &node->in[1]->type) && batch.of.count == 1 && other.of.count == 1 &&
           a->m == b->m && a->k == b->k && a->a_row == b->a_row && a->a_term == b->a_term;
}

static uint64_t packed_variant(const struct node *node)
{
    return batch_of(node).product.method;
}

static bool activates(const struct node *node)
{
    return batch_of(node).activates;
}

bool wnn_cpu_matmul_reads_halves(const struct node *node)
{
    const struct batch batch = batch_of(node);
    return reads_halves(&batch.product);
}

static const char *method(const struct node *node)
{
    static const char *const names[] = {[EXACTLY] = "native sums",
                                        [ROWS_OF_B] = "native rows",
                                        [SMALL_GEMM] = "native small product",
                                        [PANELS] = "native product"};
    const struct batch batch = batch_of(node);
    bool strips = is_in_strips(&batch.product, &node->in[1]->type) && packed_bytes(node) > 0;
    return strips ? "native strips" : names[batch.product.method];
}

#define KERNEL_OF_PRODUCTS                                                                                   \
    {                                                                                                        \
        .run = run, .choose = choose, .choice_bytes = sizeof(struct batch), .scratch = scratch_bytes,        \
        .packed_bytes = packed_bytes, .pack = pack_weights, .packed_variant = packed_variant,                \
        .method = method, .activates = activates, .joins = joins, .run_joined = run_joined,                  \
    }
const struct kernel wnn_cpu_gemm = KERNEL_OF_PRODUCTS, wnn_cpu_matmul = KERNEL_OF_PRODUCTS;
