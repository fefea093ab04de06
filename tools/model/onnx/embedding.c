// SPDX-License-Identifier: Apache-2.0
//
// What transformers know of positions, and the tables that they look words up in.
#include "tools/model/late.h"
#include "tools/model/onnx/heads.h"

#include <math.h>

// ---------------------------------------------------------------------------------------------------------------
// Rotary embedding
// ---------------------------------------------------------------------------------------------------------------

// The input of RotaryEmbedding as [B, S, N, H] or [B, N, S, H].
static struct tensor *rotary_heads(struct call *c, struct tensor *x, int64_t angles)
{
    struct recording *r = c->r;
    int64_t heads = get_int(c, "num_heads", 0), turned = get_int(c, "rotary_embedding_dim", 0);
    if (heads < 0 || heads > LARGEST || turned < 0 || turned > LARGEST)
        return fail(r, "num_heads or rotary_embedding_dim is out of range");
    if (turned > 0 && turned != 2 * angles)
        return fail(r, "rotary_embedding_dim is %lld, but there are %lld angles", (long long)turned,
                    (long long)angles);
    if (turned > 0 && heads == 0 && x->rank == 3)
        return fail(r, "rotary_embedding_dim needs num_heads");
    if (x->rank == 4)
        return heads == 0 || x->dims[1] == heads ? x : fail(r, "the input has other heads than num_heads");
    if (x->rank != 3)
        return fail(r, "an input of rank %zu", x->rank);
    if (heads == 0 && (angles < 1 || x->dims[2] % (2 * angles)))
        return fail(r, "%lld angles do not fit a size of %lld", (long long)angles, (long long)x->dims[2]);
    return split_heads(r, x, heads ? heads : x->dims[2] / (2 * angles));
}

// Of ONNX, from operator set 23 on: angles are those of each row, or found by positions.
void record_plain_rotary_embedding(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *cosine = input(c, 1), *sine = input(c, 2), *positions = input(c, 3);
    size_t axis = x->rank == 4 ? 1 : 2; // of heads
    int64_t turned = get_int(c, "rotary_embedding_dim", 0);
    if (!is_float(r, x, "the input") || !is_float(r, cosine, "cos_cache"))
        return;
    struct tensor *heads = x->rank == 4 ? x
                           : has_shape(r, x, "the input", 3, (int64_t[]){-1, -1, -1})
                               ? split_heads(r, x, get_heads(c, "num_heads"))
                               : NULL;
    if (!heads)
        return;
    int64_t rows[] = {heads->dims[0], heads->dims[3 - axis], cosine->dims[cosine->rank - 1]};
    bool fits = positions
                    ? is_index(r, positions, "position_ids") && check_caches(r, cosine, sine) &&
                          has_shape(r, positions, "position_ids", 2, rows)
                    : has_shape(r, cosine, "cos_cache", 3, rows) && has_shape(r, sine, "sin_cache", 3, rows);
    if (!fits || (turned > 0 && turned != 2 * rows[2])) {
        fail(r, "rotary_embedding_dim is %lld, but there are %lld angles", (long long)turned,
             (long long)rows[2]);
        return;
    }
    struct tensor *angles[] = {cosine, sine};
    for (size_t i = 0; i < 2; i++)
        angles[i] = positions ? angles_at(r, angles[i], positions, axis, x->type)
                              : unsqueeze(r, cast(r, angles[i], x->type), axis);
    struct tensor *y = rotate(r, heads, angles[0], angles[1], get_int(c, "interleaved", 0) != 0);
    set_output(c, 0, reshape(r, y, x->rank, x->dims));
}

void record_rotary_embedding(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = needed(c, 0, "input"), *positions = needed(c, 1, "position_ids");
    struct tensor *cosine = needed(c, 2, "cos_cache"), *sine = needed(c, 3, "sin_cache");
    if (!is_float(r, x, "input") || !is_index(r, positions, "position_ids") || !check_caches(r, cosine, sine))
        return;
    struct tensor *heads = rotary_heads(c, x, cosine->dims[1]);
    if (!heads)
        return;
    size_t axis = x->rank == 4 ? 1 : 2; // of heads
    int64_t rows = heads->dims[3 - axis];
    if (positions->rank <= 1 && count_elements(positions) == 1)
        positions = positions_from(r, positions, 1, rows);
    else if (!has_shape(r, positions, "position_ids", 2, (int64_t[]){x->dims[0], rows}))
        return;
    struct tensor *turned =
        rotate(r, heads, angles_at(r, cosine, positions, axis, x->type),
               angles_at(r, sine, positions, axis, x->type), get_int(c, "interleaved", 0));
    set_output(c, 0, reshape(r, turned, x->rank, x->dims));
}

// ---------------------------------------------------------------------------------------------------------------
// Biases of distances
// ---------------------------------------------------------------------------------------------------------------

// Which of the buckets a distance is in: one each for small ones, then as their logarithms.
static int64_t bucket_of(int64_t distance, int64_t buckets, int64_t most, bool both_ways)
{
    int64_t first = 0;
    if (both_ways) {
        buckets /= 2;
        first = distance > 0 ? buckets : 0;
        distance = distance < 0 ? -distance : distance;
    } else {
        distance = distance < 0 ? -distance : 0;
    }
    int64_t exact = buckets / 2;
    if (distance < exact)
        return first + distance;
    double share = log((double)(float)distance / (double)exact) / log((double)most / (double)exact);
    int64_t at = exact + (int64_t)(float)(share * (double)(buckets - exact));
    return first + (at < buckets ? at : buckets - 1);
}

#define MAX_DISTANCE (1 << 20)

// A table [buckets, N] at the distances of columns from rows: [1, N, rows, columns]
void record_relative_position_bias(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *table = input(c, 0);
    int64_t most = get_int(c, "max_distance", 128), sizes[2];
    bool both_ways = get_int(c, "is_bidirectional", 0) != 0;
    for (size_t i = 0; i < 2; i++) {
        if (!require_sizes(r, input(c, 1 + i), "the length of queries or keys") ||
            count_elements(input(c, 1 + i)) != 1)
            return;
        sizes[i] = known_integer(input(c, 1 + i), 0);
        if (sizes[i] < 1 || (sizes[i] > LARGEST && !is_late(sizes[i]))) {
            fail(r, "a length of %lld", (long long)sizes[i]);
            return;
        }
    }
    if (table->rank != 2 || table->dims[0] < (both_ways ? 4 : 2) || most <= table->dims[0] / 2) {
        fail(r, "%lld distances in a table of rank %zu", (long long)most, table->rank);
        return;
    }
    // What is further away than the most is in the bucket of the most.
    int64_t far = compute_size(r, MAX, sizes[0], sizes[1]), count;
    far = is_late(far) || far > most ? most : far;
    if (r->failed || far > MAX_DISTANCE) {
        fail(r, "a distance of %lld", (long long)far);
        return;
    }
    count = 2 * far + 1;
    struct tensor *buckets = make_known(r, ONNX_INT64, 1, &count);
    for (int64_t i = 0; buckets && i < count; i++)
        buckets->ints[i] = bucket_of(i - far, table->dims[0], most, both_ways);
    struct tensor *row = make_range(r, ONNX_INT64, 0, sizes[0], 1),
                  *column = make_range(r, ONNX_INT64, 0, sizes[1], 1);
    struct tensor *distance = binary(r, SUB, column, row ? unsqueeze(r, row, 1) : NULL);
    distance = with_number(r, ADD, clamp(r, distance, (double)-far, (double)far), (double)far);
    struct tensor *bias = gather(r, table, gather(r, buckets, distance, 0), 0);
    set_output(c, 0, unsqueeze(r, transpose(r, bias, (size_t[]){2, 0, 1}), 0));
}

// A bias of positions that gates of the query scale: [B, N, S, S]
void record_gated_position_bias(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *query = input(c, 0), *weight = input(c, 3), *bias = input(c, 4);
    int64_t heads = get_heads(c, "num_heads");
    if (!has_shape(r, query, "query_layer", 3, (int64_t[]){-1, -1, -1}) ||
        !has_shape(r, weight, "weight", 2, (int64_t[]){-1, -1}) || !refuse_input(c, 6, "token_offset"))
        return;
    query = turn_heads(r, split_heads(r, binary(r, ADD, query, input(c, 1)), heads));
    if (!query || weight->dims[0] != query->dims[3] || weight->dims[1] % 2 || weight->dims[1] < 2) {
        fail(r, "weights that do not fit a head");
        return;
    }
    struct tensor *gates = binary(r, ADD, matmul(r, query, weight), bias);
    gates = reshape(r, gates, 5, (int64_t[]){query->dims[0], heads, query->dims[2], 2, weight->dims[1] / 2});
    gates = unary(r, SIGMOID, reduce(r, SUM, gates, 1, (size_t[]){4}, false));
    struct tensor *gate = slice_axis(r, gates, 3, 0, 1, 1), *scale = slice_axis(r, gates, 3, 1, 1, 1);
    scale = with_number(r, SUB, binary(r, MUL, scale, input(c, 5)), 1);
    set_output(c, 0, binary(r, MUL, with_number(r, ADD, binary(r, MUL, gate, scale), 2), input(c, 2)));
}

// ---------------------------------------------------------------------------------------------------------------
// Embeddings
// ---------------------------------------------------------------------------------------------------------------

// What rows are looked up in, and what they are normalized with. Tables of bytes have a scale and a zero
// point.
struct embedding {
    struct tensor *ids, *segments, *positions, *mask;
    struct table {
        struct tensor *numbers, *scale, *zero; // scale NULL: of real numbers
    } words, places, kinds;
    struct tensor *scale, *bias;
    int64_t type, width;
};

// Rows of a table [rows, width] at indices.
static struct tensor *look_up(struct recording *r, const struct embedding *e, const struct table *t,
                              struct tensor *indices, const char *name)
{
    if (!is_index(r, indices, "an index") || !has_shape(r, t->numbers, name, 2, (int64_t[]){-1, e->width}))
        return NULL;
    struct tensor *rows = gather(r, t->numbers, indices, 0);
    rows = t->scale ? dequantize(r, rows, t->scale, t->zero, 0, 0) : rows;
    return has_type(r, rows, name, e->type) ? rows : NULL;
}

static struct tensor *embed(struct recording *r, const struct embedding *e)
{
    int64_t rows = e->ids->dims[1];
    struct tensor *positions = e->positions, *places = e->places.numbers;
    if (positions && (positions->rank != 2 || sizes_differ(positions->dims[1], rows) ||
                      (positions->dims[0] != 1 && sizes_differ(positions->dims[0], e->ids->dims[0]))))
        return fail(r, "position_ids does not fit input_ids");
    if (!places || (!positions && (places->rank != 2 || (!is_late(rows) && places->dims[0] < rows))))
        return fail(r, "there are more rows than embeddings of positions");
    if (!positions)
        positions = positions_from(r, make_number(r, ONNX_INT64, 0), 1, rows);
    struct tensor *sum = look_up(r, e, &e->words, e->ids, "word_embedding");
    sum = binary(r, ADD, sum, look_up(r, e, &e->places, positions, "position_embedding"));
    if (!e->segments)
        return sum;
    if (!e->kinds.numbers)
        return fail(r, "segment_ids without segment_embedding");
    if (!has_shape(r, e->segments, "segment_ids", 2, e->ids->dims))
        return NULL;
    return binary(r, ADD, sum, look_up(r, e, &e->kinds, e->segments, "segment_embedding"));
}

// How many of each row are not masked; zeros without a mask, as its readers expect.
static struct tensor *mask_lengths(struct recording *r, struct tensor *mask, const int64_t *dims)
{
    if (!mask)
        return make_filled(r, ONNX_INT32, 1, dims, 0);
    if (!is_index(r, mask, "mask") || !has_shape(r, mask, "mask", 2, dims))
        return NULL;
    return reduce(r, SUM, cast(r, mask, ONNX_INT32), 1, (size_t[]){1}, false);
}

static void set_embedding(struct call *c, struct embedding *e)
{
    struct recording *r = c->r;
    if (!has_shape(r, e->ids, "input_ids", 2, (int64_t[]){-1, -1}) ||
        !has_shape(r, e->words.numbers, "word_embedding", 2, (int64_t[]){-1, -1}))
        return;
    e->width = e->words.numbers->dims[1];
    if (!has_type(r, e->scale, "gamma", e->type) || !has_shape(r, e->scale, "gamma", 1, &e->width) ||
        !has_type(r, e->bias, "beta", e->type) || !has_shape(r, e->bias, "beta", 1, &e->width))
        return;
    struct tensor *sum = embed(r, e);
    set_output(c, 0, normalize(r, sum, 2, e->scale, e->bias, get_float(c, "epsilon", 1e-12)));
    if (wants(c, 1))
        set_output(c, 1, mask_lengths(r, e->mask, e->ids->dims));
    set_output(c, 2, sum);
}

void record_embed_layer_normalization(struct call *c)
{
    struct embedding e = {.ids = needed(c, 0, "input_ids"),
                          .segments = input(c, 1),
                          .words = {needed(c, 2, "word_embedding"), NULL, NULL},
                          .places = {needed(c, 3, "position_embedding"), NULL, NULL},
                          .kinds = {input(c, 4), NULL, NULL},
                          .scale = needed(c, 5, "gamma"),
                          .bias = needed(c, 6, "beta"),
                          .mask = input(c, 7),
                          .positions = input(c, 8)};
    if (is_float(c->r, e.words.numbers, "word_embedding")) {
        e.type = e.words.numbers->type;
        set_embedding(c, &e);
    }
}

// All tables are of bytes, with scales in the order of inputs from 8 on, then zero points.
void record_quantized_embed_layer_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *scale = needed(c, 8, "word_embedding_scale");
    struct embedding e = {.ids = needed(c, 0, "input_ids"),
                          .segments = input(c, 1),
                          .words = {needed(c, 2, "word_embedding_quant"), scale, input(c, 13)},
                          .places = {needed(c, 3, "position_embedding_quant"), input(c, 9), input(c, 14)},
                          .kinds = {input(c, 4), input(c, 10), input(c, 15)},
                          .scale = dequantize(r, input(c, 5), input(c, 11), input(c, 16), 0, 0),
                          .bias = dequantize(r, input(c, 6), input(c, 12), input(c, 17), 0, 0),
                          .mask = input(c, 7)};
    if (is_float(r, scale, "word_embedding_scale")) {
        e.type = scale->type;
        set_embedding(c, &e);
    }
}
