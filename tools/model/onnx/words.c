// SPDX-License-Identifier: Apache-2.0
//
// Counts of sequences of words (n-grams), where words are integers.
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <string.h>

#define MAX_GRAM 64
#define MAX_SKIP 64

struct pool {
    struct recording *r;
    const int64_t *words, *starts, *places; // of all n-grams: words, where those of a length begin, results
    size_t word_count, length_count, place_count;
    int64_t width; // of the result
};

static bool read_pool(struct call *c, struct pool *p)
{
    *p = (struct pool){.r = c->r};
    p->words = get_ints(c, "pool_int64s", &p->word_count);
    p->starts = get_ints(c, "ngram_counts", &p->length_count);
    p->places = get_ints(c, "ngram_indexes", &p->place_count);
    if (has_attribute(c, "pool_strings") || !p->words || !p->starts || !p->places)
        return fail(c->r, "WebNN has no strings: words have to be integers");
    for (size_t i = 0; i < p->place_count; i++) {
        if (p->places[i] < 0 || p->places[i] >= INT32_MAX)
            return fail(c->r, "a count at place %lld", (long long)p->places[i]);
        p->width = p->places[i] >= p->width ? p->places[i] + 1 : p->width;
    }
    size_t grams = 0;
    for (size_t i = 0; i < p->length_count; i++) {
        int64_t end = i + 1 < p->length_count ? p->starts[i + 1] : (int64_t)p->word_count;
        if (p->starts[i] < 0 || end < p->starts[i] || end > (int64_t)p->word_count ||
            (end - p->starts[i]) % (int64_t)(i + 1))
            return fail(c->r, "ngram_counts does not fit the pool");
        grams += (size_t)(end - p->starts[i]) / (i + 1);
    }
    if (p->length_count > MAX_GRAM)
        return fail(c->r, "n-grams of up to %zu words", p->length_count);
    return grams == p->place_count || fail(c->r, "%zu places for %zu n-grams", p->place_count, grams);
}

// How often each n-gram of a length is there with so many words between its own: [rows, grams] of float32
static struct tensor *count_grams(const struct pool *p, struct tensor *x, int64_t length, int64_t step)
{
    struct recording *r = p->r;
    int64_t first = p->starts[length - 1], words = x->dims[1];
    int64_t end = length < (int64_t)p->length_count ? p->starts[length] : (int64_t)p->word_count;
    int64_t grams = (end - first) / length, places = words - (length - 1) * step;
    struct tensor *all = NULL;
    for (int64_t k = 0; k < length; k++) {
        struct tensor *own = make_known(r, x->type, 3, (int64_t[]){1, 1, grams});
        for (int64_t i = 0; own && i < grams; i++)
            own->ints[i] = p->words[first + i * length + k];
        struct tensor *word = unsqueeze(r, slice_axis(r, x, 1, k * step, places, 1), 2);
        struct tensor *same = binary(r, EQUAL, word, own);
        all = all ? binary(r, AND, all, same) : same;
    }
    return reduce(r, SUM, cast(r, all, ONNX_FLOAT), 1, (size_t[]){1}, false);
}

// Counts of n-grams, in their order, as the result has them: [rows, width]
static struct tensor *place_grams(const struct pool *p, struct tensor *counts)
{
    struct recording *r = p->r;
    if (!counts || r->failed)
        return NULL;
    // What no n-gram is counted at is a column of zeros after all of them.
    struct tensor *zeros = make_filled(r, ONNX_FLOAT, 2, (int64_t[]){counts->dims[0], 1}, 0);
    struct tensor *from = make_filled(r, ONNX_INT64, 1, &p->width, (double)p->place_count);
    for (size_t i = 0; from && i < p->place_count; i++) {
        if (from->ints[p->places[i]] != (int64_t)p->place_count)
            return fail(r, "two n-grams are counted at place %lld", (long long)p->places[i]);
        from->ints[p->places[i]] = (int64_t)i;
    }
    return gather(r, concat(r, 2, (struct tensor *[]){counts, zeros}, 1), from, 1);
}

static struct tensor *count_all(struct call *c, const struct pool *p, struct tensor *x, int64_t least,
                                int64_t most, int64_t skip)
{
    struct recording *r = c->r;
    struct tensor *parts[MAX_GRAM];
    size_t count = 0;
    for (int64_t length = 1; length <= (int64_t)p->length_count && !r->failed; length++) {
        int64_t end = length < (int64_t)p->length_count ? p->starts[length] : (int64_t)p->word_count;
        int64_t grams = (end - p->starts[length - 1]) / length;
        struct tensor *counts = NULL;
        for (int64_t step = 1; step <= (length == 1 ? 1 : skip + 1); step++) {
            if (grams == 0 || length < least || length > most || (length - 1) * step >= x->dims[1])
                continue;
            struct tensor *more = count_grams(p, x, length, step);
            counts = counts ? binary(r, ADD, counts, more) : more;
        }
        if (grams > 0)
            parts[count++] =
                counts ? counts : make_filled(r, ONNX_FLOAT, 2, (int64_t[]){x->dims[0], grams}, 0);
    }
    return count ? place_grams(p, concat(r, count, parts, 1)) : fail(r, "no n-grams");
}

// IDF: whether an n-gram is there, TFIDF: how often; both times its weight.
static struct tensor *weigh(struct call *c, const struct pool *p, struct tensor *counts)
{
    struct recording *r = c->r;
    size_t count;
    const float *weights = get_floats(c, "weights", &count);
    if (has_text(c, "mode", "IDF", ""))
        counts = cast(r, with_number(r, GREATER, counts, 0), ONNX_FLOAT);
    if (has_text(c, "mode", "TF", "") || !weights)
        return counts;
    struct tensor *each = make_filled(r, ONNX_FLOAT, 1, &p->width, 1);
    if (count != p->place_count)
        return fail(r, "%zu weights for %zu n-grams", count, p->place_count);
    for (size_t i = 0; each && i < count; i++)
        set_known(each, p->places[i], (double)weights[i]);
    return binary(r, MUL, counts, each);
}

void record_tf_idf(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    struct pool p;
    int64_t least = get_int(c, "min_gram_length", 1), most = get_int(c, "max_gram_length", 1),
            skip = get_int(c, "max_skip_count", 0);
    if (!read_pool(c, &p))
        return;
    if (!is_integer(x->type) || x->rank < 1 || x->rank > 2 || least < 1 || skip < 0 || skip > MAX_SKIP) {
        fail(r, "n-grams of %lld to %lld words with %lld between them, of a tensor of rank %zu",
             (long long)least, (long long)most, (long long)skip, x->rank);
        return;
    }
    if (is_late(x->dims[x->rank - 1])) {
        fail(r, "n-grams of a number of words that is not known");
        return;
    }
    bool row = x->rank == 1;
    x = row ? unsqueeze(r, x, 0) : x;
    struct tensor *counts = x ? weigh(c, &p, count_all(c, &p, x, least, most, skip)) : NULL;
    set_output(c, 0, row ? squeeze(r, counts, 0) : counts);
}
