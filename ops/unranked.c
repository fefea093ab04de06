// SPDX-License-Identifier: Apache-2.0
#include "ops/unranked.h"

#include "ops/values.h"

#include <assert.h>
#include <string.h>

enum {
    MAX_RESULTS = 3 // that are not a list
};

// What the results of all trials have in common.
struct common {
    bool some; // there was one
    bool evaluated;
    unsigned count;
    uint32_t unranked; // as in struct op_call
    struct descriptor out[MAX_RESULTS];
};

struct trials {
    struct op_call *call;
    bool (*check)(struct op_call *call, void *context);
    void *context;
    // NULL: all of a list, which have one rank.
    const struct operand *unranked[WNN_UNRANKED_OPERANDS];
    unsigned count;                        // of them
    unsigned ranks[WNN_UNRANKED_OPERANDS]; // of this trial
    unsigned least[WNN_UNRANKED_OPERANDS], most[WNN_UNRANKED_OPERANDS];
    bool list;    // the results are one
    size_t sizes; // that there were before
    struct common common;
    struct error error; // of the last trial that failed
    bool differ;        // the errors of trials
};

bool wnn_has_unranked(struct operand *const *in, unsigned count)
{
    bool unranked = false;
    for (unsigned i = 0; i < count; i++)
        unranked |= in[i] && in[i]->unranked;
    return unranked;
}

static struct bounds any_size(const struct op_call *call)
{
    return (struct bounds){wnn_min_dimension(call->limits), WNN_MAX_DIMENSION};
}

// ---------------------------------------------------------------------------------------------------------------
// One rank of each
// ---------------------------------------------------------------------------------------------------------------

// An operand of that rank, of whose dimensions nothing is known.
static struct operand *try_operand(const struct trials *trials, const struct operand *operand, unsigned rank)
{
    struct operand *to = wnn_graph_copy_operand(operand, trials->call->arena);
    if (!to)
        return NULL;
    to->unranked = false;
    to->type.shape.rank = rank;
    for (unsigned d = 0; d < rank; d++)
        to->type.shape.dim[d] = wnn_size_unknown(trials->call->sizes, any_size(trials->call));
    return to;
}

static struct operand **try_operands(const struct trials *trials)
{
    const struct op_call *call = trials->call;
    struct operand **in = wnn_arena_copy(call->arena, call->in, call->in_count * sizeof in[0]);
    for (unsigned i = 0; in && i < call->in_count; i++) {
        unsigned k = 0, first;
        if (!in[i] || !call->in[i]->unranked)
            continue;
        while (trials->unranked[k] && trials->unranked[k] != call->in[i])
            k++;
        // What is there twice is the same, but in a list, which may be long.
        for (first = trials->unranked[k] ? 0 : i; call->in[first] != call->in[i]; first++)
            continue;
        in[i] = first < i ? in[first] : try_operand(trials, call->in[i], trials->ranks[k]);
        if (!in[i])
            return NULL;
    }
    return in;
}

static bool is_old(const struct trials *trials, uint32_t size)
{
    return !(size & WNN_SYMBOLIC) || (size & ~WNN_SYMBOLIC) < trials->sizes;
}

static void take_common(struct trials *trials, const struct op_call *trial)
{
    struct common *common = &trials->common;
    unsigned count = trials->list ? 1 : trial->out_count;
    for (unsigned i = 0; i < count; i++) {
        const struct shape *shape = &trial->out[i].shape;
        if (!common->some)
            common->out[i] = trial->out[i];
        struct shape *all = &common->out[i].shape;
        if (trials->list || trial->unranked >> i & 1 || all->rank != shape->rank)
            common->unranked |= 1u << i;
        for (unsigned d = 0; d < shape->rank; d++)
            if (all->dim[d] != shape->dim[d] || !is_old(trials, shape->dim[d]))
                all->dim[d] = WNN_SYMBOLIC | WNN_MAX_DIMENSION; // none that is old
    }
    common->evaluated = (!common->some || common->evaluated) && trial->values;
    common->count = trial->out_count;
    common->some = true;
}

static void note_error(struct trials *trials, const struct error *error)
{
    trials->differ |=
        trials->error.status != WNNStatus_Success && strcmp(trials->error.message, error->message) != 0;
    trials->error = *error;
}

// False: it cannot go on.
static bool try_ranks(struct trials *trials)
{
    struct op_call *call = trials->call, trial = *call;
    struct arena_mark mark = wnn_arena_mark(call->arena);
    struct error error = {0};
    bool exhausted;
    trial.error = &error;
    trial.in = try_operands(trials);
    trial.attrs = wnn_op_copy_attrs(call->arena, call->op, call->attrs);
    if (!trials->list)
        memset(call->out, 0, call->out_capacity * sizeof call->out[0]);
    bool good = (trial.in && trial.attrs) || wnn_fail_memory(&error);
    good = good && trials->check(&trial, trials->context) && call->info->infer(&trial) &&
           wnn_values_infer(&trial) && wnn_op_check_outputs(&trial);
    if (good && trial.op != call->op)
        good =
            wnn_op_fail(&trial, "has an operand of which the rank is not known, which this form is not for");
    exhausted = call->sizes->exhausted || error.status == WNNStatus_OutOfMemory;
    if (good && !exhausted)
        take_common(trials, &trial);
    else
        note_error(trials, &error);
    wnn_sizes_rewind(call->sizes, trials->sizes);
    call->sizes->exhausted = exhausted && error.status != WNNStatus_OutOfMemory;
    wnn_arena_rewind(call->arena, mark);
    return !exhausted;
}

// ---------------------------------------------------------------------------------------------------------------
// All of them
// ---------------------------------------------------------------------------------------------------------------

// The operands without a rank, each once, and the ranks that the table lets them have.
static void list_unranked(struct trials *trials)
{
    const struct op_call *call = trials->call;
    unsigned index = 0;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        unsigned end = row->kind == ROW_INPUT_LIST ? call->in_count : index + wnn_op_row_is_input(row);
        for (; index < end; index++) {
            const struct operand *operand = call->in[index];
            unsigned k = 0;
            if (!operand || !operand->unranked)
                continue;
            operand = row->kind == ROW_INPUT_LIST ? NULL : operand;
            while (k < trials->count && trials->unranked[k] != operand)
                k++;
            assert(k < WNN_UNRANKED_OPERANDS);
            if (k == trials->count) {
                trials->unranked[trials->count++] = operand;
                trials->most[k] = WNN_MAX_RANK;
            }
            trials->least[k] = trials->least[k] > row->min_rank ? trials->least[k] : row->min_rank;
            trials->most[k] = trials->most[k] < row->max_rank ? trials->most[k] : row->max_rank;
        }
    }
}

// The next combination; false: that was the last.
static bool next_ranks(struct trials *trials)
{
    for (unsigned k = 0; k < trials->count; k++) {
        if (trials->ranks[k] < trials->most[k]) {
            trials->ranks[k]++;
            return true;
        }
        trials->ranks[k] = trials->least[k];
    }
    return false;
}

static bool give_results(const struct trials *trials)
{
    struct op_call *call = trials->call;
    const struct common *common = &trials->common;
    struct descriptor *out = wnn_arena_allocate(call->arena, common->count * sizeof out[0]);
    struct values *values = wnn_arena_allocate(call->arena, common->count * sizeof values[0]);
    if (!out || !values)
        return wnn_fail_memory(call->error);
    for (unsigned i = 0; i < common->count; i++) {
        unsigned from = trials->list ? 0 : i;
        struct shape *shape = &out[i].shape;
        out[i] = common->out[from];
        if (common->unranked >> from & 1)
            *shape = (struct shape){0};
        for (unsigned d = 0; d < shape->rank; d++)
            if (!is_old(trials, shape->dim[d]))
                shape->dim[d] = wnn_size_unknown(call->sizes, any_size(call));
        values[i] = (struct values){0, NULL};
    }
    call->out = out;
    call->out_count = common->count;
    call->unranked = common->unranked;
    call->values = common->evaluated ? values : NULL;
    return true;
}

bool wnn_infer_unranked(struct op_call *call, bool (*check)(struct op_call *call, void *context),
                        void *context)
{
    struct trials trials = {
        .call = call, .check = check, .context = context, .sizes = call->sizes->count, .list = !call->out};
    list_unranked(&trials);
    memcpy(trials.ranks, trials.least, sizeof trials.ranks);
    do {
        if (!try_ranks(&trials))
            break;
    } while (next_ranks(&trials));
    if (call->sizes->exhausted)
        return true; // which the builder tells
    if (trials.error.status == WNNStatus_OutOfMemory || !trials.common.some)
        return wnn_fail(call->error, trials.error.status, "%s%s", trials.error.message,
                        trials.differ ? ", and no other rank fits" : "");
    return give_results(&trials);
}
