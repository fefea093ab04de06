// SPDX-License-Identifier: Apache-2.0
//
// Operators whose results are known when the graph is recorded, or at least their shapes.
#include "tools/model/tflite/call.h"

#include <math.h>
#include <string.h>

#define MAX_RANGE (1 << 20) // numbers: of positions, times, frequencies

// Parameter 1: the rank.
void compose_shape(struct call *c)
{
    struct tensor *x =
        has_input(c, 0) ? (c->inputs[0]->stored ? c->inputs[0]->stored : c->inputs[0]->real) : NULL;
    if (!x)
        return;
    give(c, 0,
         c->parameter ? make_number(c->r, TYPE_INT64, (double)x->rank) : make_ints(c->r, x->rank, x->dims));
}

void compose_zeros_like(struct call *c)
{
    struct tensor *x = moved_at(c, 0), *zero = x ? make_number(c->r, x->type, 0) : NULL;
    if (x && !is_real(x->type) && is_quantized_tensor(c->inputs[0]->about))
        zero = make_number(c->r, x->type, (double)zero_at(c->inputs[0]->about, 0));
    if (x)
        give(c, 0, expand(c->r, zero, x->rank, x->dims));
}

void compose_fill(struct call *c)
{
    struct tensor *value = stored_at(c, 1);
    int64_t dims[MAX_RANK];
    size_t rank;
    if (!value || !known_ints(c, 0, "the shape", MAX_RANK, &rank, dims))
        return;
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0) {
            fail(c->r, "a dimension of size %lld", (long long)dims[i]);
            return;
        }
    if (count_elements(value) != 1)
        fail(c->r, "several values to fill with");
    else if (product(dims, rank) == 0)
        give(c, 0, make_known(c->r, value->type, rank, dims));
    else
        give(c, 0, expand(c->r, reshape(c->r, value, 0, NULL), rank, dims));
}

void compose_range(struct call *c)
{
    struct recording *r = c->r;
    double bounds[3];
    for (size_t i = 0; i < 3; i++) {
        struct tensor *t = real_at(c, i);
        if (!require_known(r, t, "a bound of the range"))
            return;
        bounds[i] = count_elements(t) == 1 ? known_number(t, 0) : NAN;
    }
    double count = ceil((bounds[1] - bounds[0]) / bounds[2]);
    if (!(fabs(count) <= MAX_RANGE)) {
        fail(r, "a range of %g numbers", count);
        return;
    }
    int64_t size = count > 0 ? (int64_t)count : 0;
    struct tensor *t = make_known(r, stored_at(c, 0)->type, 1, &size);
    for (int64_t i = 0; t && i < size; i++)
        set_known(t, i, bounds[0] + (double)i * bounds[2]);
    give(c, 0, t);
}

// Where elements are not 0: [how many, rank].
void compose_where(struct call *c)
{
    struct tensor *x = stored_at(c, 0);
    if (!require_known(c->r, x, "the condition, on which the shape of the result depends,"))
        return;
    int64_t found = 0, at = 0, total = count_elements(x);
    for (int64_t i = 0; i < total; i++)
        found += known_number(x, i) != 0;
    struct tensor *t = make_known(c->r, TYPE_INT64, 2, (int64_t[]){found, (int64_t)x->rank});
    for (int64_t i = 0; t && i < total; i++) {
        if (known_number(x, i) == 0)
            continue;
        int64_t rest = i;
        for (size_t k = x->rank; k-- > 0; rest /= x->dims[k])
            t->ints[at * (int64_t)x->rank + (int64_t)k] = rest % x->dims[k];
        at++;
    }
    give(c, 0, t);
}

// The shape of two shapes that are broadcast.
void compose_broadcast_args(struct call *c)
{
    struct tensor a = {0}, b = {0};
    size_t rank;
    int64_t dims[MAX_RANK];
    if (known_ints(c, 0, "a shape", MAX_RANK, &a.rank, a.dims) &&
        known_ints(c, 1, "a shape", MAX_RANK, &b.rank, b.dims) && broadcast(c->r, &a, &b, &rank, dims))
        give(c, 0, make_ints(c->r, rank, dims));
}

// ---------------------------------------------------------------------------------------------------------------
// Sparse tensors
// ---------------------------------------------------------------------------------------------------------------

// A value for some places, given by indices of rank 0, 1 or 2, and another one for the rest.
void compose_sparse_to_dense(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *at = stored_at(c, 0), *values = stored_at(c, 2), *rest = stored_at(c, 3);
    int64_t dims[MAX_RANK], flat[2] = {1, 1};
    size_t rank;
    if (!at || !values || !rest || !known_ints(c, 1, "the shape", MAX_RANK, &rank, dims))
        return;
    if (at->rank > 2 || values->rank > 1 || count_elements(rest) != 1) {
        fail(r, "indices of rank %zu, values of rank %zu", at->rank, values->rank);
        return;
    }
    flat[0] = at->rank ? at->dims[0] : 1;
    flat[1] = at->rank == 2 ? at->dims[1] : 1;
    struct tensor *y = expand(r, reshape(r, rest, 0, NULL), rank, dims);
    give(c, 0, scatter_nd(r, y, reshape(r, at, 2, flat), expand(r, values, 1, flat)));
}

#define MAX_LEVELS (2 * MAX_RANK)     // axes, then those of blocks
#define MAX_VISITS ((int64_t)1 << 28) // of indices of levels, also where no element follows

// Axes in the order in which a sparse tensor is stored: each has all its indices, or a list of those that
// there are for each index before.
struct levels {
    size_t count, rank;
    struct level {
        int64_t size; // of an axis that is dense
        size_t axis;  // of the tensor
        bool sparse, inner;
        struct flatbuffer_vector segments, indices;
        enum flatbuffer_type segment_type, index_type;
    } items[MAX_LEVELS];
    int64_t block[MAX_RANK]; // sizes of blocks, by axis
    int64_t dims[MAX_RANK];
};

// A union of vectors of numbers with 32, 16 or 8 bits.
static bool read_numbers(struct recording *r, const struct flatbuffer_table *from, unsigned field,
                         struct flatbuffer_vector *numbers, enum flatbuffer_type *type)
{
    struct flatbuffer_table table = wnn_flatbuffer_table(from, field + 1);
    switch (wnn_flatbuffer_number(from, field, FLATBUFFER_UINT8, 0)) {
    case 1:
        *type = FLATBUFFER_INT32;
        *numbers = wnn_flatbuffer_vector(&table, 0, 4);
        return true;
    case 2:
        *type = FLATBUFFER_UINT16;
        *numbers = wnn_flatbuffer_vector(&table, 0, 2);
        return true;
    case 3:
        *type = FLATBUFFER_UINT8;
        *numbers = wnn_flatbuffer_vector(&table, 0, 1);
        return true;
    default:
        return fail(r, "a sparse constant without indices");
    }
}

static bool read_levels(struct recording *r, const struct tflite_tensor *about, struct levels *l)
{
    struct flatbuffer_vector order = wnn_flatbuffer_vector(&about->sparsity, 0, 4),
                             blocks = wnn_flatbuffer_vector(&about->sparsity, 1, 4),
                             metadata = wnn_flatbuffer_vector(&about->sparsity, 2, 4);
    l->rank = about->shape.count;
    l->count = l->rank + blocks.count;
    if (l->rank > MAX_RANK || l->count > MAX_LEVELS || order.count != l->count || metadata.count != l->count)
        return fail(r, "a sparse constant of rank %zu with %zu levels", l->rank, order.count);
    for (size_t i = 0; i < l->rank; i++) {
        l->dims[i] = wnn_flatbuffer_number_at(&about->shape, FLATBUFFER_INT32, i);
        l->block[i] = 1;
    }
    bool used[MAX_LEVELS] = {false};
    for (size_t i = 0; i < l->count; i++) {
        struct level *level = &l->items[i];
        struct flatbuffer_table item = wnn_flatbuffer_item(&metadata, i);
        int64_t place = wnn_flatbuffer_number_at(&order, FLATBUFFER_INT32, i);
        if (place < 0 || place >= (int64_t)l->count || used[place])
            return fail(r, "a sparse constant whose levels are no permutation");
        used[place] = true;
        level->inner = place >= (int64_t)l->rank;
        int64_t axis = level->inner
                           ? wnn_flatbuffer_number_at(&blocks, FLATBUFFER_INT32, (size_t)place - l->rank)
                           : place;
        if (axis < 0 || axis >= (int64_t)l->rank)
            return fail(r, "a sparse constant with blocks of axis %lld", (long long)axis);
        level->axis = (size_t)axis;
        level->sparse = wnn_flatbuffer_number(&item, 0, FLATBUFFER_INT8, 0) == 1;
        level->size = wnn_flatbuffer_number(&item, 1, FLATBUFFER_INT32, 0);
        if (level->sparse && (!read_numbers(r, &item, 2, &level->segments, &level->segment_type) ||
                              !read_numbers(r, &item, 4, &level->indices, &level->index_type)))
            return false;
        if (level->inner && (level->sparse || level->size < 1))
            return fail(r, "a sparse constant with blocks that are sparse");
        if (level->inner)
            l->block[level->axis] = level->size;
    }
    return true;
}

struct sparse {
    struct recording *r;
    const struct levels *levels;
    struct tensor *from, *to; // from: elements one after the other
    int64_t used, visits;     // of those, and of indices
};

// Puts the elements that levels from one on hold, below index `segment` of the level before.
static bool put_elements(struct sparse *s, size_t level, int64_t segment, const int64_t *index)
{
    const struct levels *l = s->levels;
    if (level == l->count) {
        int64_t at = 0;
        for (size_t i = 0; i < l->rank; i++) {
            if (index[i] >= l->dims[i])
                return fail(s->r, "a sparse constant with an element that is not in it");
            at = at * l->dims[i] + index[i];
        }
        if (s->used >= count_elements(s->from))
            return fail(s->r, "a sparse constant with fewer elements than indices");
        set_known(s->to, at, known_number(s->from, s->used++));
        return true;
    }
    const struct level *now = &l->items[level];
    int64_t next[MAX_RANK], first = 0, last = now->size;
    memcpy(next, index, sizeof next);
    if (now->sparse) {
        first = wnn_flatbuffer_number_at(&now->segments, now->segment_type, (size_t)segment);
        last = wnn_flatbuffer_number_at(&now->segments, now->segment_type, (size_t)segment + 1);
        if (first < 0 || last < first || last > (int64_t)now->indices.count)
            return fail(s->r, "a sparse constant with segments that are none");
    } else if (last < 0 || last > l->dims[now->axis]) {
        return fail(s->r, "a sparse constant with a level of %lld", (long long)last);
    }
    for (int64_t i = first; i < last; i++) {
        if (++s->visits > MAX_VISITS)
            return fail(s->r, "a sparse constant with more than %lld indices", (long long)MAX_VISITS);
        int64_t at = now->sparse ? wnn_flatbuffer_number_at(&now->indices, now->index_type, (size_t)i) : i;
        if (at < 0 || at > LARGEST)
            return fail(s->r, "a sparse constant with index %lld", (long long)at);
        next[now->axis] = now->inner ? index[now->axis] + at : at * l->block[now->axis];
        if (!put_elements(s, level + 1, now->sparse ? i : segment * now->size + i, next))
            return false;
    }
    return true;
}

struct tensor *densify(struct recording *r, const struct tflite_tensor *about)
{
    struct levels levels = {0};
    if (!read_levels(r, about, &levels))
        return NULL;
    struct tensor *to = make_known(r, about->type, levels.rank, levels.dims);
    int64_t bytes = (int64_t)about->data.size, width = element_bits(about->type) / 8;
    if (!to || !width)
        return fail(r, "a sparse constant of type %s", type_name(about->type));
    int64_t stored = bytes / width, index[MAX_RANK] = {0};
    struct constant constant = {.type = about->type, .bytes = about->data};
    struct tensor *from = make_constant(r, &constant, 1, &stored);
    if (!require_known(r, from, "a sparse constant"))
        return NULL;
    // Elements that are not there are zeros.
    for (int64_t i = 0; is_quantized_tensor(about) && i < count_elements(to); i++)
        set_known(to, i, (double)zero_at(about, 0));
    struct sparse sparse = {r, &levels, from, to, 0, 0};
    return put_elements(&sparse, 0, 0, index) ? to : NULL;
}

// Sparse constants are dense as soon as they are read.
void compose_densify(struct call *c)
{
    give(c, 0, moved_at(c, 0));
}
