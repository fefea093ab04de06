// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalizations of short rows that lie one behind the other. A work group processes HELD sets of SET_ROWS
// whole rows, which are as many vectors of four elements as there are lanes: each of these has one vector of every set,
// which keeps in registers what are the same members everywhere. With EDGES, rows begin anywhere in vectors.
// prepared(x, i) is what is made of element i when it is loaded.

#define LANES gl_WorkGroupSize.x
#define ROWS  (HELD * SET_ROWS)
#define TOTAL (GROUPS * uint(MEMBERS))

#if SOFTMAX
#define SUMS  float
#define BANKS 32
#define KNOWN float // the greatest element, then the inverse of the sum of exponentials less that
#else
#define SUMS  vec2
#define BANKS 16
#if HALF
#define KNOWN         vec2 // the mean, and the inverse of the deviation
#define AROUND(known) vec4((known).x, 0.0, (known).y, 0.0)
#else
#define KNOWN         vec4 // both in two numbers
#define AROUND(known) (known)
#endif
#endif

// What vectors make of their parts of rows, piece p of what follows the vector where a row begins by p. Whether a row
// has one more than all have depends on where it begins. PITCH is such that lanes beside one another write to different
// banks of shared memory.
#define SURE    ((MEMBERS + 3) / 4)
#define MORE(i) (EDGES != 0 && (i) * uint(MEMBERS) % 4u + uint(MEMBERS) > 4u * uint(SURE))
#define APART   ((BANKS + SURE - 1) / SURE)
#define PITCH   ((ROWS - APART + BANKS - 1) / BANKS * BANKS + APART)
shared SUMS pieces[(SURE + EDGES) * PITCH];
shared KNOWN known[ROWS + 1];

// EACH_ROW(x, join) ... END_ROWS: with x, which joins all pieces of row i.
#define EACH_ROW(x, join)                                                                                              \
    barrier();                                                                                                         \
    [[unroll]] for (uint some = 0u; some < uint(ROWS); some += LANES)                                                  \
    if (some + LANES <= uint(ROWS) || some + lane < uint(ROWS)) {                                                      \
        uint i = some + lane;                                                                                          \
        SUMS x = pieces[i];                                                                                            \
        [[unroll]] for (uint p = 1u; p < uint(SURE); p++)                                                              \
            x = join(x, pieces[p * uint(PITCH) + i]);                                                                  \
        if (MORE(i))                                                                                                   \
            x = join(x, pieces[uint(SURE * PITCH) + i]);
#define END_ROWS                                                                                                       \
    }                                                                                                                  \
    barrier();

// Of a vector's elements, the first `own` lie in the row where it begins, and the others in the next.
vec4 chosen(uint own, vec4 a, vec4 b)
{
    return EDGES == 0 ? a : vec4(a.x, own > 1u ? a.y : b.y, own > 2u ? a.z : b.z, own > 3u ? a.w : b.w);
}
#define PUT(k, of, x, none)                                                                                            \
    pieces[cell + uint(k) * uint(SET_ROWS)] = of(chosen(own, x, vec4(none)));                                          \
    if (EDGES != 0 && own < 4u)                                                                                        \
        pieces[ROW(k) + 1u] = of(chosen(own, vec4(none), x));
#define SPREAD(k) chosen(own, vec4(known[ROW(k)].x), vec4(known[ROW(k) + 1u].x))

// Element 0 of the vector of set k, and the row where it lies.
#define AT(k)  (at + uint(k) * 4u * LANES)
#define ROW(k) (row + uint(k) * uint(SET_ROWS))

// The parameters of a vector: there are as many as members, or one for some rows.
#define WRAPPED(i)              ((i) < uint(MEMBERS) ? (i) : (i) - uint(MEMBERS))
#define OF_MEMBERS(at, r, k, j) vec4(at(j), at(WRAPPED((j) + 1u)), at(WRAPPED((j) + 2u)), at(WRAPPED((j) + 3u)))
#define OF_QUADS(quad, r, k, j) quad(j)
#define OF_GROUP(at, r)         at(parameter_index(min(r, GROUPS - 1u)))
#define OF_GROUPS(at, r, k, j)  chosen(own, vec4(OF_GROUP(at, r)), vec4(OF_GROUP(at, (r) + 1u)))

float total(vec4 x) { return (x.x + x.y) + (x.z + x.w); }
#define plus(a, b) ((a) + (b))

#if SOFTMAX
float greater(float a, float b) { return b > a ? b : a; } // not of NaN: the sum of exponentials will be that
float greatest_of(vec4 x) { return greater(greater(x.x, x.y), greater(x.z, x.w)); }
vec4 weights(vec4 x, vec4 top)
{
    return vec4(weight(x.x, top.x), weight(x.y, top.y), weight(x.z, top.z), weight(x.w, top.w));
}
#else
vec2 sum_of(vec4 x) { return vec2(total(x), 0.0); }
vec2 moments_of(vec4 x) { return vec2(total(x), total(x * x)); }
vec4 difference(vec4 x, vec4 mean)
{
    precise vec4 d = x - mean;
    return d;
}
vec4 normalized_vector(vec4 x, uint own, vec4 a, vec4 b, vec4 scale, vec4 bias)
{
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        x[c] = NORMALIZED(x[c], (EDGES == 0 || c < own ? a : b), scale[c], bias[c]);
    return x;
}
#endif

// A lane asks for all vectors before it looks at one. If the last one of all is not whole, a lane has it as `tail`.
#define END       (TOTAL / 4u * 4u)
#define LOAD(k)   held[k] = a_quad(min(AT(k), END - 4u));
#define SETTLE(k) held[k] = settled(TAIL != 0 && k == tail_set ? tail : held[k], AT(k));
#define SAVE(k, x)                                                                                                     \
    if (TAIL != 0 && k == tail_set)                                                                                    \
        tail = x;                                                                                                      \
    else if (AT(k) < END)                                                                                              \
        out_quad(AT(k), finish_quad(x, AT(k)));

vec4 settled(vec4 x, uint at)
{
    return vec4(prepared(x.x, at), prepared(x.y, at + 1u), prepared(x.z, at + 2u), prepared(x.w, at + 3u));
}

#if SOFTMAX
#define TELL(k) PUT(k, greatest_of, held[k], -INF)
#define WEIGH(k)                                                                                                       \
    held[k] = weights(held[k], SPREAD(k));                                                                             \
    PUT(k, total, held[k], 0.0)
#define FINISH(k) SAVE(k, held[k] * SPREAD(k))
#else
#define TELL(k)    PUT(k, sum_of, held[k], 0.0)
#define MOMENTS(k) PUT(k, moments_of, difference(held[k], SPREAD(k)), 0.0)
#if BY_MEMBER
#define PARAMETER(of, k) of##_of_all
#else
#define PARAMETER(of, k) of(first + ROW(k), k, 0u)
#endif
#define FINISH(k)                                                                                                      \
    held[k] = normalized_vector(held[k], own, AROUND(known[ROW(k)]), AROUND(known[ROW(k) + 1u]), PARAMETER(SCALE, k),  \
                                PARAMETER(BIAS, k));                                                                   \
    SAVE(k, held[k])
#endif

void main()
{
    uint first = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * uint(ROWS);
    if (first >= GROUPS)
        return;
    uint lane = gl_LocalInvocationID.x, row = 4u * lane / uint(MEMBERS), member = 4u * lane - row * uint(MEMBERS);
    uint own = min(uint(MEMBERS) - member, 4u), cell = (lane - row * uint(MEMBERS) / 4u) * uint(PITCH) + row;
    uint at = first * uint(MEMBERS) + 4u * lane;
    vec4 held[HELD];
    EACH_HELD(LOAD)
#if !SOFTMAX && BY_MEMBER
    vec4 PARAMETER(SCALE, 0) = SCALE(first, 0u, member), PARAMETER(BIAS, 0) = BIAS(first, 0u, member);
#endif
    uint tail_set = HELD;
    vec4 tail;
#if TAIL
    if (at <= END && (END - at) % (4u * LANES) == 0u && (END - at) / (4u * LANES) < HELD) {
        tail_set = (END - at) / (4u * LANES);
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            tail[c] = a_at(min(END + c, TOTAL - 1u));
    }
#endif
    EACH_HELD(SETTLE)
    EACH_HELD(TELL)
#if SOFTMAX
    EACH_ROW(top, greater)
        known[i] = top;
    END_ROWS
    EACH_HELD(WEIGH)
    EACH_ROW(sum, plus)
        known[i] = quotient(1.0, sum);
    END_ROWS
#else
    EACH_ROW(sums, plus)
        known[i].x = CENTERED == 0 ? 0.0 : sums.x * SHARE;
    END_ROWS
    EACH_HELD(MOMENTS)
    EACH_ROW(sums, plus)
        precise float more = CENTERED == 0 ? 0.0 : sums.x * SHARE;
        precise float squares = CENTERED == 0 ? sums.y : sums.y - sums.x * more, variance = abs(squares) * SHARE;
        vec2 root = inverse_root(vec2(variance + EPSILON, 0.0));
#if HALF
        known[i] = vec2(known[i].x + more, root.x);
#else
        known[i] = vec4(known[i].x, more, root);
#endif
    END_ROWS
#endif
    EACH_HELD(FINISH)
#if TAIL
    if (tail_set < HELD)
        [[unroll]] for (uint c = 0u; c < 3u; c++)
            if (END + c < TOTAL) {
                out_one(END + c, finish(tail[c], END + c));
            }
#endif
}
