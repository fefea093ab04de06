// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, no dead nodes, common subexpressions computed once. Guarantees: where the nodes
// of a pattern below compute a float32 or float16 operand and nothing else, one node of the operator that
// they spell out does, if the backend has it.
//
// A pattern is a call as in a graph file, without attributes: operators by name, operands as single letters
// (one letter is one operand), numbers as constants of which every element has that value. The operands of
// add, mul, max and min may stand the other way round.

#include "compiler/rewrite.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NODES = 16,
    MAX_ELEMENTS = 64 // of a constant that stands for a number
};

// How far a match came that failed: what was expected in the place of which operand.
struct miss {
    const struct pattern *pattern;
    unsigned nodes;
    const char *expected; // of the text of the pattern
    const struct operand *found;
};

struct match {
    struct miss *miss; // NULL: nobody wants to know
    struct operand *letter[26];
    struct node *node[MAX_NODES]; // the first is the pattern's root
    unsigned uses[MAX_NODES];     // of its result, inside of the pattern
    unsigned count;
};

struct pattern {
    const char *text;
    enum op op;
    enum op needs; // an operator that the pattern has and few graphs do
    // Sets attributes and inputs beyond the first, which is x; *fits becomes false if it is not that operator
    // after all. NULL: there are none. Returns false when memory runs out.
    bool (*build)(struct graph *graph, const struct match *match, struct node *node, bool *fits);
};

static bool build_softmax(struct graph *graph, const struct match *match, struct node *node, bool *fits);
static bool build_layer_normalization(struct graph *graph, const struct match *match, struct node *node,
                                      bool *fits);
static bool build_rms_normalization(struct graph *graph, const struct match *match, struct node *node,
                                    bool *fits);
static bool build_narrow_normalization(struct graph *graph, const struct match *match, struct node *node,
                                       bool *fits);
static bool build_hard_swish(struct graph *graph, const struct match *match, struct node *node, bool *fits);

#define ERF_DIV            "add(erf(div(x,1.4142135623730951)),1)"
#define ERF_MUL            "add(erf(mul(x,0.7071067811865476)),1)"
#define SIX                "min(max(add(x,3),0),6)"
#define SIX_2              "max(min(add(x,3),6),0)"
#define SIX_3              "clamp(add(x,3))"
#define CENTRED            "sub(x,reduceMean(x))"
#define SPREAD(square)     "div(" CENTRED ",sqrt(add(reduceMean(" square "),e)))"
#define SPREAD_POW(square) "div(" CENTRED ",pow(add(reduceMean(" square "),e),0.5))"
#define SQUARE_POW         "pow(" CENTRED ",2)"
#define SQUARE_MUL         "mul(" CENTRED "," CENTRED ")"
#define LAYER(normalized)                                                                                    \
    {"add(mul(s," normalized "),b)", WNN_OP_layerNormalization, WNN_OP_reduceMean,                           \
     build_layer_normalization},                                                                             \
        {"mul(s," normalized ")", WNN_OP_layerNormalization, WNN_OP_reduceMean, build_layer_normalization},  \
        {"add(b," normalized ")", WNN_OP_layerNormalization, WNN_OP_reduceMean, build_layer_normalization},  \
    {                                                                                                        \
        normalized, WNN_OP_layerNormalization, WNN_OP_reduceMean, build_layer_normalization                  \
    }
#define RMS_OF(ROW, x, square)                                                                               \
    ROW("div(" x ",sqrt(add(reduceMean(" square "),e)))"),                                                   \
        ROW("mul(" x ",reciprocal(sqrt(add(reduceMean(" square "),e))))"),                                   \
        ROW("mul(" x ",div(1,sqrt(add(reduceMean(" square "),e))))"),                                        \
        ROW("div(" x ",pow(add(reduceMean(" square "),e),0.5))")
#define RMS(normalized)                                                                                      \
    {"mul(s," normalized ")", WNN_OP_rmsNormalization, WNN_OP_reduceMean, build_rms_normalization},          \
    {                                                                                                        \
        normalized, WNN_OP_rmsNormalization, WNN_OP_reduceMean, build_rms_normalization                      \
    }
#define RMS_WIDE(normalized)                                                                                 \
    {                                                                                                        \
        "mul(s,cast(" normalized "))", WNN_OP_rmsNormalization, WNN_OP_reduceMean, build_rms_normalization   \
    }
#define GELU(erf)                                                                                            \
    {"mul(mul(x,0.5)," erf ")", WNN_OP_gelu, WNN_OP_erf, NULL},                                              \
        {"mul(x,mul(" erf ",0.5))", WNN_OP_gelu, WNN_OP_erf, NULL},                                          \
    {                                                                                                        \
        "mul(mul(x," erf "),0.5)", WNN_OP_gelu, WNN_OP_erf, NULL                                             \
    }
#define HARD_SWISH(six, needs)                                                                               \
    {"div(mul(x," six "),6)", WNN_OP_hardSwish, needs, build_hard_swish},                                    \
        {"mul(x,div(" six ",6))", WNN_OP_hardSwish, needs, build_hard_swish},                                \
        {"mul(x,mul(" six ",0.16666666666666667))", WNN_OP_hardSwish, needs, build_hard_swish},              \
    {                                                                                                        \
        "mul(mul(x," six "),0.16666666666666667)", WNN_OP_hardSwish, needs, build_hard_swish                 \
    }

static const struct pattern patterns[] = {
    GELU(ERF_DIV),
    GELU(ERF_MUL),
    HARD_SWISH(SIX, WNN_OP_min),
    HARD_SWISH(SIX_2, WNN_OP_min),
    HARD_SWISH(SIX_3, WNN_OP_clamp),
    {"mul(x,hardSigmoid(x))", WNN_OP_hardSwish, WNN_OP_hardSigmoid, build_hard_swish},
    {"div(exp(sub(x,reduceMax(x))),reduceSum(exp(sub(x,reduceMax(x)))))", WNN_OP_softmax, WNN_OP_reduceMax,
     build_softmax},
    LAYER(SPREAD(SQUARE_POW)),
    LAYER(SPREAD(SQUARE_MUL)),
    LAYER(SPREAD_POW(SQUARE_POW)),
    LAYER(SPREAD_POW(SQUARE_MUL)),
    {"cast(layerNormalization(cast(x),s,b))", WNN_OP_layerNormalization, WNN_OP_layerNormalization,
     build_narrow_normalization},
    RMS_OF(RMS, "x", "pow(x,2)"),
    RMS_OF(RMS, "x", "mul(x,x)"),
    RMS_OF(RMS_WIDE, "cast(x)", "pow(cast(x),2)"),
    RMS_OF(RMS_WIDE, "cast(x)", "mul(cast(x),cast(x))"),
};

enum {
    PATTERNS = sizeof patterns / sizeof patterns[0]
};

// ---------------------------------------------------------------------------------------------------------------
// Matching
// ---------------------------------------------------------------------------------------------------------------

// The end of a call, letter or number.
static const char *skip(const char *text)
{
    int depth = 0;
    for (; *text; text++) {
        if (depth == 0 && (*text == ',' || *text == ')'))
            break;
        depth += (*text == '(') - (*text == ')');
        if (*text == ')' && depth == 0)
            return text + 1;
    }
    return text;
}

// Whether every element is the number, rounded to the type, give or take a last bit.
static bool is_number(const struct operand *operand, double number)
{
    if (!wnn_rewrite_is_floats(operand))
        return false;
    size_t count = wnn_shape_elements(&operand->type.shape);
    double last = operand->type.type == WNNDataType_Float16 ? 0x1p-10 : 0x1p-22;
    bool exact = number == wnn_round_to_dtype(number, WNNDataType_Float16);
    for (size_t i = 0; i < count && count <= MAX_ELEMENTS; i++) {
        double value = wnn_rewrite_value(operand, i);
        if (exact ? value != number : !(fabs(value - number) <= fabs(number) * last))
            return false;
    }
    return count > 0 && count <= MAX_ELEMENTS;
}

static bool is_letter(const char *text)
{
    return islower((unsigned char)text[0]) && (text[1] == ',' || text[1] == ')' || text[1] == 0);
}

static bool is_commutative(const struct node *node)
{
    return node->op == WNN_OP_add || node->op == WNN_OP_mul || node->op == WNN_OP_max ||
           node->op == WNN_OP_min;
}

static bool match_operand(const char *text, struct operand *operand, bool again, struct match *match);

// False, and remembered if no match came further.
static bool misses(const struct match *match, const char *expected, const struct operand *found)
{
    if (match->miss && match->count > match->miss->nodes) {
        match->miss->nodes = match->count;
        match->miss->expected = expected;
        match->miss->found = found;
    }
    return false;
}

static bool match_inputs(const char *text, const struct node *node, bool swapped, bool again,
                         struct match *match)
{
    for (unsigned i = 0; i < node->in_count; i++) {
        struct operand *in = node->in[swapped ? 1 - i : i];
        if (in ? !match_operand(text, in, again, match) : !is_letter(text)) // whose operand is absent, too
            return false;
        text = skip(text);
        if (*text != (i + 1 == node->in_count ? ')' : ','))
            return false;
        text++;
    }
    return true;
}

// The operands of a call of that operator; NULL: it is a call of another.
static const char *operands_of(const char *text, const char *name)
{
    for (; *name && *name == *text; name++)
        text++;
    return *name || *text != '(' ? NULL : text + 1;
}

// `again`: below a node that has been counted already, whose operands are not used once more by this.
static bool match_operand(const char *text, struct operand *operand, bool again, struct match *match)
{
    if (is_letter(text)) {
        struct operand **letter = &match->letter[text[0] - 'a'];
        if (!*letter)
            *letter = operand;
        return *letter == operand || misses(match, text, operand);
    }
    if (isdigit((unsigned char)text[0]))
        return is_number(operand, strtod(text, NULL)) || misses(match, text, operand);
    struct node *node = operand->producer;
    const char *operands = node ? operands_of(text, wnn_ops[node->op].name) : NULL;
    if (!operands)
        return misses(match, text, operand);
    unsigned i = 0;
    while (i < match->count && match->node[i] != node)
        i++;
    if (i == MAX_NODES)
        return false;
    bool seen = i < match->count;
    if (!seen) {
        match->node[match->count] = node;
        match->uses[match->count++] = 0;
    }
    match->uses[i] += !again;
    if (!is_commutative(node))
        return match_inputs(operands, node, false, again || seen, match);
    struct match before = *match;
    if (match_inputs(operands, node, false, again || seen, match))
        return true;
    *match = before;
    return match_inputs(operands, node, true, again || seen, match);
}

// Whether the pattern ends in this node, and what it computes on the way is used by nothing else.
static bool match_pattern(const struct pattern *pattern, const struct node *root, struct match *match,
                          struct miss *miss)
{
    match->count = 0;
    memset(match->letter, 0, sizeof match->letter);
    match->miss = miss;
    if (!match_operand(pattern->text, root->out[0], false, match))
        return false;
    for (unsigned i = 1; i < match->count; i++)
        if (match->node[i]->out[0]->uses != match->uses[i])
            return misses(match, NULL, match->node[i]->out[0]);
    const struct operand *x = match->letter['x' - 'a'];
    return wnn_dtype_is_float(x->type.type) && wnn_descriptor_equal(&x->type, &root->out[0]->type);
}

// ---------------------------------------------------------------------------------------------------------------
// Building
// ---------------------------------------------------------------------------------------------------------------

// The axes of all reductions of a match, if they are the same and keep their dimensions.
static bool reduced_axes(const struct match *match, WNNUint32List *axes)
{
    axes->count = 0;
    for (unsigned i = 0; i < match->count; i++) {
        enum op op = (enum op)match->node[i]->op;
        if (op != WNN_OP_reduceMean && op != WNN_OP_reduceMax && op != WNN_OP_reduceSum)
            continue;
        const WNNReduceOptions *options = match->node[i]->attrs;
        if (!options->keepDimensions || options->axes.count == 0 ||
            (axes->count &&
             (axes->count != options->axes.count ||
              memcmp(axes->data, options->axes.data, axes->count * sizeof axes->data[0]) != 0)))
            return false;
        *axes = options->axes;
    }
    return axes->count > 0;
}

static bool build_softmax(struct graph *graph, const struct match *match, struct node *node, bool *fits)
{
    (void)graph;
    WNNUint32List axes;
    *fits = reduced_axes(match, &axes) && axes.count == 1;
    if (*fits)
        ((struct softmax_attrs *)node->attrs)->axis = axes.data[0];
    return true;
}

// Whether the operand has the sizes of the last dimensions, and nothing else.
static bool has_last_sizes(const struct operand *operand, const struct shape *of, size_t count)
{
    const struct shape *shape = &operand->type.shape;
    return shape->rank == count &&
           memcmp(shape->dim, of->dim + of->rank - count, count * sizeof shape->dim[0]) == 0;
}

// The number that stands for an epsilon; negative: it is none.
static double epsilon_of(const struct match *match)
{
    const struct operand *epsilon = match->letter['e' - 'a'];
    bool fits = wnn_rewrite_is_number(epsilon) && isfinite(wnn_rewrite_value(epsilon, 0));
    return fits ? wnn_rewrite_value(epsilon, 0) : -1;
}

// Whether the axes are the last ones, which scales broadcast along.
static bool are_last(WNNUint32List axes, const struct shape *shape)
{
    for (size_t i = 0; i < axes.count; i++)
        if (axes.data[i] != shape->rank - axes.count + i)
            return false;
    return true;
}

static bool build_layer_normalization(struct graph *graph, const struct match *match, struct node *node,
                                      bool *fits)
{
    WNNLayerNormalizationOptions *options = node->attrs;
    const struct shape *shape = &match->letter['x' - 'a']->type.shape;
    struct operand *scale = match->letter['s' - 'a'], *bias = match->letter['b' - 'a'];
    WNNUint32List axes;
    *fits = reduced_axes(match, &axes) && epsilon_of(match) >= 0 &&
            ((!scale && !bias) || are_last(axes, shape)) &&
            (!scale || has_last_sizes(scale, shape, axes.count)) &&
            (!bias || has_last_sizes(bias, shape, axes.count));
    if (!*fits)
        return true;
    options->epsilon = epsilon_of(match);
    node->in[1] = scale;
    node->in[2] = bias;
    return wnn_rewrite_list(graph, &options->axes, axes.data, axes.count);
}

// Between the operand and the result numbers may be float32, not less.
static bool build_rms_normalization(struct graph *graph, const struct match *match, struct node *node,
                                    bool *fits)
{
    struct rms_normalization_attrs *attrs = node->attrs;
    const struct operand *x = match->letter['x' - 'a'];
    struct operand *scale = match->letter['s' - 'a'];
    WNNUint32List axes;
    *fits = reduced_axes(match, &axes) && epsilon_of(match) >= 0 &&
            (!scale || (are_last(axes, &x->type.shape) && has_last_sizes(scale, &x->type.shape, axes.count)));
    for (unsigned i = 0; *fits && i < match->count; i++) {
        WNNDataType type = match->node[i]->out[0]->type.type;
        *fits = type == x->type.type || type == WNNDataType_Float32;
    }
    if (!*fits)
        return true;
    attrs->epsilon = epsilon_of(match);
    node->in[1] = scale;
    return wnn_rewrite_list(graph, &attrs->axes, axes.data, axes.count);
}

// Whether an operand is absent, or a constant of which the type has all numbers.
static bool is_narrow(const struct operand *operand, WNNDataType type)
{
    bool narrow = !operand || wnn_rewrite_is_floats(operand);
    for (size_t i = 0; operand && narrow && i < wnn_shape_elements(&operand->type.shape); i++) {
        double value = wnn_rewrite_value(operand, i);
        narrow = wnn_round_to_dtype(value, type) == value;
    }
    return narrow;
}

// The operand, if it is not absent, as one of the type, which is folded later. False: out of memory.
static bool narrow(struct graph *graph, struct operand **operand, WNNDataType type, size_t place)
{
    if (!*operand)
        return true;
    *operand = wnn_rewrite_cast(graph, *operand, type, place);
    return *operand != NULL;
}

// What is computed of float16 as float32: kernels do that anyway, and an epsilon need not be a float16.
static bool build_narrow_normalization(struct graph *graph, const struct match *match, struct node *node,
                                       bool *fits)
{
    const struct node *wide = match->node[1];
    const WNNLayerNormalizationOptions *from = wide->attrs;
    WNNLayerNormalizationOptions *options = node->attrs;
    WNNDataType type = match->letter['x' - 'a']->type.type;
    node->in[1] = match->letter['s' - 'a'];
    node->in[2] = match->letter['b' - 'a'];
    *fits = type == WNNDataType_Float16 && wide->out[0]->type.type == WNNDataType_Float32 &&
            is_narrow(node->in[1], type) && is_narrow(node->in[2], type);
    options->epsilon = from->epsilon;
    return !*fits || (narrow(graph, &node->in[1], type, node->index) &&
                      narrow(graph, &node->in[2], type, node->index) &&
                      wnn_rewrite_list(graph, &options->axes, from->axes.data, from->axes.count));
}

static bool build_hard_swish(struct graph *graph, const struct match *match, struct node *node, bool *fits)
{
    (void)graph;
    (void)node;
    WNNDataType type = match->letter['x' - 'a']->type.type;
    for (unsigned i = 0; i < match->count; i++) {
        if (match->node[i]->op == WNN_OP_hardSigmoid) {
            const WNNHardSigmoidOptions *options = match->node[i]->attrs;
            *fits = options->alpha == wnn_round_to_dtype(1.0 / 6, type) && options->beta == 0.5;
        } else if (match->node[i]->op == WNN_OP_clamp) {
            const WNNClampOptions *options = match->node[i]->attrs;
            *fits = options->minValue.type != WNNNumberType_Undefined &&
                    wnn_number_double(options->minValue) == 0 &&
                    options->maxValue.type != WNNNumberType_Undefined &&
                    wnn_number_double(options->maxValue) == 6;
        }
    }
    return true;
}

// Makes `root` the operator, if it is one.
static bool replace(struct graph *graph, const struct pattern *pattern, const struct match *match,
                    struct node *root, bool *fits)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    struct node made = *root;
    made.op = pattern->op;
    made.in_count = wnn_op_input_rows(&wnn_ops[pattern->op]);
    made.in = wnn_arena_allocate(&graph->arena, made.in_count * sizeof made.in[0]);
    made.attrs = wnn_rewrite_attrs(graph, pattern->op);
    if (!made.in || !made.attrs)
        return false;
    made.in[0] = match->letter['x' - 'a'];
    *fits = true;
    if (pattern->build && !pattern->build(graph, match, &made, fits))
        return false;
    if (*fits)
        *root = made;
    else
        wnn_arena_rewind(&graph->arena, mark);
    return true;
}

// Whether the operator is one that the backend has.
static bool is_computed(const struct pass_context *context, enum op op)
{
    return op < WNN_OP_COUNT || (context->backend->computes && context->backend->computes(op));
}

// Fewer nodes of a pattern are nothing near.
#define NEAR 3

static void explain(const struct pass_context *context, const struct node *root, const struct miss *miss)
{
    char reason[128];
    const char *found = miss->found->producer ? wnn_ops[miss->found->producer->op].name
                        : miss->found->input  ? "an input"
                                              : "a constant";
    const char *expected = miss->expected;
    if (!expected)
        snprintf(reason, sizeof reason, "the result of %s has other uses", found);
    else if (is_letter(expected))
        snprintf(reason, sizeof reason, "%s stands where %c should stand again", found, expected[0]);
    else
        snprintf(reason, sizeof reason, "%s stands in the place of %.*s", found,
                 (int)strcspn(expected, "(),"), expected);
    wnn_explain(context->explainer, "recognize", wnn_ops[miss->pattern->op].name, root->out[0], reason);
}

bool wnn_recognize(struct pass_context *context, struct graph *graph)
{
    bool has[WNN_OP_END] = {false};
    const struct pattern *possible[PATTERNS];
    size_t count = 0;
    bool changed = false;
    size_t old_count = graph->node_count;
    for (size_t i = 0; i < graph->node_count; i++)
        has[graph->nodes[i]->op] = true;
    for (size_t j = 0; j < PATTERNS; j++)
        if (has[patterns[j].needs] && is_computed(context, patterns[j].op))
            possible[count++] = &patterns[j];
    if (count == 0)
        return true;
    wnn_graph_count_uses(graph);
    // From the end, so that the largest of patterns that hold one another is found first.
    for (size_t i = graph->node_count; i-- > 0;) {
        struct node *root = graph->nodes[i];
        struct miss nearest = {.nodes = NEAR - 1};
        if (root->out_count != 1 || (root->op != WNN_OP_mul && root->op != WNN_OP_div &&
                                     root->op != WNN_OP_add && root->op != WNN_OP_cast))
            continue;
        const struct pattern *other = NULL; // the first that matches, but for what is not in its text
        bool fits = false;
        for (size_t j = 0; !fits && j < count; j++) {
            const struct pattern *pattern = possible[j];
            struct match match;
            unsigned before = nearest.nodes;
            if (!operands_of(pattern->text, wnn_ops[root->op].name))
                continue;
            if (match_pattern(pattern, root, &match, context->explainer ? &nearest : NULL)) {
                if (!replace(graph, pattern, &match, root, &fits))
                    return wnn_fail_memory(context->error);
                other = fits ? NULL : other ? other : pattern;
                changed |= fits;
                if (fits)
                    wnn_explain(context->explainer, "recognize", wnn_ops[pattern->op].name, root->out[0],
                                NULL);
            }
            if (nearest.nodes > before)
                nearest.pattern = pattern;
        }
        if (other)
            wnn_explain(context->explainer, "recognize", wnn_ops[other->op].name, root->out[0],
                        "its axes, or sizes or values of its constants, are others");
        else if (!fits && nearest.pattern)
            explain(context, root, &nearest);
    }
    return !changed || (wnn_rewrite_order(context, graph, old_count) && wnn_prune(context, graph));
}
