// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalisations of rows that lie one behind the other: LANES invocations see to a row, which they keep in
// registers from its only load to its store, HELD times four elements each. Where HELD is 0 the row is too long for
// that, and is loaded again. With EDGES, rows begin anywhere: their first and last four elements are partly others'.
// prepared(x, i) is what is made of element i when it is loaded.

#define ROWS_TOGETHER (gl_WorkGroupSize.x / uint(LANES))
#define TOTAL         (GROUPS * MEMBERS)

#if LANES > 1
shared PART parts[gl_WorkGroupSize.x];
#define ALL_LANES(x, join)                                                                                             \
    parts[self] = x;                                                                                                   \
    barrier();                                                                                                         \
    [[unroll]] for (uint far = uint(LANES) / 2u; far > 0u; far >>= 1) {                                                \
        if (lane < far)                                                                                                \
            parts[self] = join(parts[self], parts[self + far]);                                                        \
        barrier();                                                                                                     \
    }                                                                                                                  \
    x = parts[self - lane];                                                                                            \
    barrier();
#else
#define ALL_LANES(x, join)
#endif

// Where a row's elements are: quad j of them begins at base + 4 j, and member m of the row is its element head + m.
struct Row {
    uint number, base, head;
    bool exists;
};

#if EDGES
#define QUADS           ((MEMBERS + 6u) / 4u)
#define MEMBER(r, j, c) (4u * (j) + uint(c) - (r).head) // wraps in front of the row
#define IS_MEMBER(r, j, c) (MEMBER(r, j, c) < MEMBERS)

vec4 load(Row r, uint j, float none)
{
    uint at = r.base + 4u * j;
    vec4 x = vec4(none);
    if (!r.exists || at >= TOTAL)
        return x;
    if (at + 4u <= TOTAL)
        x = a_quad(at);
    else
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            x[c] = a_at(min(at + c, TOTAL - 1u));
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        x[c] = IS_MEMBER(r, j, c) ? prepared(x[c], min(at + c, TOTAL - 1u)) : none;
    return x;
}

void save(Row r, uint j, vec4 x)
{
    uint at = r.base + 4u * j;
    if (!r.exists)
        return;
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        x[c] = finish(x[c], min(at + c, TOTAL - 1u));
    if (IS_MEMBER(r, j, 0) && IS_MEMBER(r, j, 3))
        out_quad(at, x);
    else
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            if (IS_MEMBER(r, j, c))
                store(at + c, floatBitsToUint(x[c]));
}
#else
#define QUADS              (MEMBERS / 4u)
#define MEMBER(r, j, c)    (4u * (j) + uint(c))
#define IS_MEMBER(r, j, c) ((j) < QUADS)

vec4 load(Row r, uint j, float none)
{
    if (!r.exists || j >= QUADS)
        return vec4(none);
    uint at = r.base + 4u * j;
    vec4 x = a_quad(at);
    return vec4(prepared(x.x, at), prepared(x.y, at + 1u), prepared(x.z, at + 2u), prepared(x.w, at + 3u));
}

void save(Row r, uint j, vec4 x)
{
    if (!r.exists || j >= QUADS)
        return;
    uint at = r.base + 4u * j;
    out_quad(at, finish_quad(x, at));
}
#endif

// The parameters of four members: there are as many as members, or one for some rows.
#define OF_MEMBERS(at, r, j)                                                                                           \
    vec4(at(min(MEMBER(r, j, 0), MEMBERS - 1u)), at(min(MEMBER(r, j, 1), MEMBERS - 1u)),                               \
         at(min(MEMBER(r, j, 2), MEMBERS - 1u)), at(min(MEMBER(r, j, 3), MEMBERS - 1u)))
#define OF_QUADS(quad, r, j) quad(4u * (j))
#define OF_ROW(at, r)        vec4(at(parameter_index((r).number)))

// What follows goes over the quads of a lane: x is one of them, and may be changed where the row is held.
#if HELD
#define EACH_QUAD(k, j) [[unroll]] for (uint k = 0u, j = lane; k < uint(HELD); k++, j += uint(LANES))
#define QUAD(k, j, none) held[k]
#else
#define EACH_QUAD(k, j) for (uint k = 0u, j = lane; j < QUADS; k++, j += uint(LANES))
#define QUAD(k, j, none) load(row, j, none)
#endif

#if SOFTMAX
float greater(float a, float b) { return b > a ? b : a; } // not of NaN: the sum of exponentials will be that
float plus(float a, float b) { return a + b; }
float total(vec4 x) { return (x.x + x.y) + (x.z + x.w); }
vec4 exp4(vec4 x, float top) { return vec4(exp_down(x.x, top), exp_down(x.y, top), exp_down(x.z, top), exp_down(x.w, top)); }
#else
// A sum, and what was lost on the way to it.
vec2 plus(vec2 sum, float x)
{
    float error, y = exact_sum(sum.x, x, error);
    return vec2(y, sum.y + error);
}
vec2 plus(vec2 a, vec2 b)
{
    float error, y = exact_sum(a.x, b.x, error);
    precise float low = error + (a.y + b.y);
    return vec2(y, low);
}
vec2 settled(vec2 sum) { return is_nan(sum.y) || is_inf(sum.y) ? vec2(sum.x, 0.0) : sum; }
#endif

void main()
{
    uint self = gl_LocalInvocationID.x, lane = self % uint(LANES);
    Row row;
    row.number = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * ROWS_TOGETHER + self / uint(LANES);
    row.exists = row.number < GROUPS;
    row.base = row.number * MEMBERS;
    row.head = 0u;
#if EDGES
    row.head = row.base % 4u;
    row.base -= row.head;
#endif
#if HELD
    vec4 held[HELD];
    EACH_QUAD(k, j)
        held[k] = load(row, j, NONE);
#endif
#if SOFTMAX
    float top = -INF, sum = 0.0;
#if HELD
    EACH_QUAD(k, j)
        top = greater(top, greater(greater(held[k].x, held[k].y), greater(held[k].z, held[k].w)));
    ALL_LANES(top, greater)
    EACH_QUAD(k, j) {
        held[k] = exp4(held[k], top);
        sum += total(held[k]);
    }
#else
    // The sum is that for the greatest element so far.
    EACH_QUAD(k, j) {
        vec4 x = load(row, j, NONE);
        float most = greater(greater(x.x, x.y), greater(x.z, x.w));
        if (most > top) {
            sum = sum * exp_down(top, most);
            top = most;
        }
        sum += total(exp4(x, top));
    }
    float own = top;
    ALL_LANES(top, greater)
    sum = sum * exp_down(own, top);
#endif
    ALL_LANES(sum, plus)
    float share = quotient(1.0, sum);
    EACH_QUAD(k, j) {
#if HELD
        vec4 y = held[k] * share;
#else
        vec4 y = exp4(load(row, j, NONE), top) * share;
#endif
        save(row, j, y);
    }
#else
    vec2 sum = vec2(0.0);
    EACH_QUAD(k, j) {
        vec4 x = QUAD(k, j, 0.0);
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            sum = plus(sum, x[c]);
    }
    ALL_LANES(sum, plus)
    // One over the number of members is known in two floats.
    vec2 share = vec2(SHARE, SHARE_REST);
    vec2 mean = times2(settled(sum), share), squares = vec2(0.0);
    EACH_QUAD(k, j) {
        vec4 x = QUAD(k, j, 0.0);
        precise vec4 d = (x - mean.x) - mean.y;
#if EDGES
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            d[c] = IS_MEMBER(row, j, c) ? d[c] : 0.0;
#else
        d = j < QUADS ? d : vec4(0.0);
#endif
        precise float four = (d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w);
        squares = plus(squares, four);
    }
    ALL_LANES(squares, plus)
    vec2 factor = inverse_root(sum2(times2(settled(squares), share), vec2(EPSILON, 0.0)));
    EACH_QUAD(k, j) {
        if (!row.exists || j >= QUADS)
            continue;
        vec4 x = QUAD(k, j, 0.0), scale = SCALE(row, j), bias = BIAS(row, j), y;
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            y[c] = normalised(x[c], vec4(mean, factor), scale[c], bias[c]);
        save(row, j, y);
    }
#endif
}
