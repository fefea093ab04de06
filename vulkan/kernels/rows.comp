// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalisations of rows that lie one behind the other: LANES invocations see to a row, of which they keep
// HELD times four elements each in registers from the only load to the store. With MORE there are others behind
// these, which are loaded again: a cache has them. With EDGES, rows begin anywhere: their first and last four elements
// are partly others'. prepared(x, i) is what is made of element i when it is loaded.

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

// Whether a lane has no quad j.
#if WHOLE
#define BEHIND(j) false
#else
#define BEHIND(j) ((j) >= QUADS)
#endif

#if EDGES
#define QUADS           ((MEMBERS + 6u) / 4u)
#define MEMBER(r, j, c) (4u * (j) + uint(c) - (r).head) // wraps in front of the row
#define IS_MEMBER(r, j, c) (MEMBER(r, j, c) < MEMBERS)

vec4 load(Row r, uint j, float none)
{
    uint at = r.base + 4u * j;
    vec4 x = vec4(none);
    if (!r.exists || BEHIND(j))
        return x;
    if (IS_MEMBER(r, j, 0) && IS_MEMBER(r, j, 3)) {
        x = a_quad(at);
        return vec4(prepared(x.x, at), prepared(x.y, at + 1u), prepared(x.z, at + 2u), prepared(x.w, at + 3u));
    }
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        if (IS_MEMBER(r, j, c))
            x[c] = prepared(a_at(at + c), at + c);
    return x;
}

void save(Row r, uint j, vec4 x)
{
    uint at = r.base + 4u * j;
    if (!r.exists || BEHIND(j))
        return;
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        x[c] = finish(x[c], min(at + c, TOTAL - 1u));
    if (IS_MEMBER(r, j, 0) && IS_MEMBER(r, j, 3))
        out_quad(at, x);
    else
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            if (IS_MEMBER(r, j, c))
                out_one(at + c, x[c]);
}
#else
#define QUADS              (MEMBERS / 4u)
#define MEMBER(r, j, c)    (4u * (j) + uint(c))
#define IS_MEMBER(r, j, c) (!BEHIND(j))

vec4 load(Row r, uint j, float none)
{
    if (!r.exists || BEHIND(j))
        return vec4(none);
    uint at = r.base + 4u * j;
    vec4 x = a_quad(at);
    return vec4(prepared(x.x, at), prepared(x.y, at + 1u), prepared(x.z, at + 2u), prepared(x.w, at + 3u));
}

void save(Row r, uint j, vec4 x)
{
    if (!r.exists || BEHIND(j))
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

// What goes over the quads of a lane, those that are held and the others.
#define EACH_HELD(k, j) [[unroll]] for (uint k = 0u, j = lane; k < uint(HELD); k++, j += uint(LANES))
#if MORE
#define EACH_OTHER(j) for (uint j = lane + uint(LANES * HELD); j < QUADS; j += uint(LANES))
#else
#define EACH_OTHER(j) for (uint j = 0u; false;)
#endif

float total(vec4 x) { return (x.x + x.y) + (x.z + x.w); }
#define plus(a, b) ((a) + (b))

#if SOFTMAX
float greater(float a, float b) { return b > a ? b : a; } // not of NaN: the sum of exponentials will be that
float greatest_of(vec4 x) { return greater(greater(x.x, x.y), greater(x.z, x.w)); }

float weight(float x, float top)
{
#if HALF
    precise float d = x - top, y = exp2((d < -40.0 ? -40.0 : d) * 1.44269504);
    return y;
#else
    return exp_down(x, top);
#endif
}
vec4 weights(vec4 x, float top) { return vec4(weight(x.x, top), weight(x.y, top), weight(x.z, top), weight(x.w, top)); }
#else
// The sums of the differences from what is nearly the mean, and of their squares.
vec2 moments(Row r, uint j, vec4 x, float mean)
{
    precise vec4 d = x - mean;
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        d[c] = IS_MEMBER(r, j, c) ? d[c] : 0.0;
    return vec2(total(d), total(d * d));
}

void save_normalised(Row r, uint j, vec4 x, vec2 mean, vec2 factor)
{
    if (!r.exists || BEHIND(j))
        return;
    vec4 scale = SCALE(r, j), bias = BIAS(r, j);
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        x[c] = NORMALISED(x[c], vec4(mean, factor), scale[c], bias[c]);
    save(r, j, x);
}
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
    vec4 held[HELD];
    EACH_HELD(k, j)
        held[k] = load(row, j, NONE);
#if SOFTMAX
    float top = -INF, sum = 0.0;
    EACH_HELD(k, j)
        top = greater(top, greatest_of(held[k]));
    // The sum of the others is that for the greatest element so far.
    EACH_OTHER(j) {
        vec4 x = load(row, j, NONE);
        float most = greatest_of(x);
        if (most > top) {
            sum *= weight(top, most);
            top = most;
        }
        sum += total(weights(x, top));
    }
    float own = top;
    ALL_LANES(top, greater)
    sum *= weight(own, top);
    EACH_HELD(k, j) {
        held[k] = weights(held[k], top);
        sum += total(held[k]);
    }
    ALL_LANES(sum, plus)
    float share = quotient(1.0, sum);
    EACH_HELD(k, j)
        save(row, j, held[k] * share);
    EACH_OTHER(j)
        save(row, j, weights(load(row, j, NONE), top) * share);
#else
    vec2 sums = vec2(0.0);
    EACH_HELD(k, j)
        sums.x += total(held[k]);
    EACH_OTHER(j)
        sums.x += total(load(row, j, NONE));
    ALL_LANES(sums, plus)
    vec2 mean = vec2(sums.x * SHARE, 0.0);
    sums = vec2(0.0);
    EACH_HELD(k, j)
        sums += moments(row, j, held[k], mean.x);
    EACH_OTHER(j)
        sums += moments(row, j, load(row, j, NONE), mean.x);
    ALL_LANES(sums, plus)
    mean.y = sums.x * SHARE;
    precise float variance = sums.y * SHARE - mean.y * mean.y;
    vec2 factor = inverse_root(vec2((variance < 0.0 ? 0.0 : variance) + EPSILON, 0.0));
    EACH_HELD(k, j)
        save_normalised(row, j, held[k], mean, factor);
    EACH_OTHER(j)
        save_normalised(row, j, load(row, j, NONE), mean, factor);
#endif
}
