// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalizations of rows that lie one behind the other: LANES invocations process a row, or to one of the
// PARTS of a long one, of which each keeps HELD vectors of four elements in registers. prepared(x, i) is what is made
// of element i when it is looked at.
//
// What is to be known of a row comes from what is known of its parts, PART, by way of the words of `known`: in two
// dispatches, KEEP and FINISH, or in one, TOGETHER, which loads elements once. There, work groups wait for those beside
// them; nothing says that these run, so that who has waited for long computes what they would have told.

#define ROWS_TOGETHER (gl_WorkGroupSize.x / uint(LANES))
#define TOTAL         (GROUPS * MEMBERS)

#define KEEP     1
#define FINISH   2
#define TOGETHER 3

#if SOFTMAX
#define SUMS  float
#define PART  vec2 // the greatest element, the sum of exponentials less that
#define WORDS 2u
#define NONE  -INF
#else
#define SUMS  vec2
#define PART  vec3 // the mean and what it lacks, the sum of squares less that; if not CENTERED, the mean is 0
#define WORDS 3u
#define NONE  0.0
#endif

// ALL_LANES(x, join): the x of all lanes of a row or part. Where SHUFFLES lanes can hand them over, they do, and the
// first of them tells the others; else NEAR lanes join those of others.
#if LANES > 1
shared SUMS parts[gl_WorkGroupSize.x];
#define FROM_PARTS(x, join, count)                                                                                     \
    x = parts[self - lane];                                                                                            \
    [[unroll]] for (uint other = 1u; other < (count); other++)                                                         \
        x = join(x, parts[self - lane + other]);                                                                       \
    barrier();
#if LANES > SHUFFLES && SHUFFLES > 0
#define BY_PARTS(x, join)                                                                                              \
    if (lane % uint(SHUFFLES) == 0u)                                                                                   \
        parts[self - lane + lane / uint(SHUFFLES)] = x;                                                                \
    barrier();                                                                                                         \
    FROM_PARTS(x, join, uint(LANES / SHUFFLES))
#else
#define BY_PARTS(x, join)
#endif
#if SHUFFLES
#define ALL_LANES(x, join)                                                                                             \
    [[unroll]] for (uint far = 1u; far < uint(min(LANES, SHUFFLES)); far <<= 1)                                        \
        x = join(x, subgroupShuffleXor(x, far));                                                                       \
    BY_PARTS(x, join)
#else
#if NEAR < LANES
#define NEAR_LANES(join)                                                                                               \
    if (lane < uint(NEAR)) {                                                                                           \
        SUMS near = parts[self];                                                                                       \
        [[unroll]] for (uint far = uint(NEAR); far < uint(LANES); far += uint(NEAR))                                   \
            near = join(near, parts[self + far]);                                                                      \
        parts[self] = near;                                                                                            \
    }                                                                                                                  \
    barrier();
#else
#define NEAR_LANES(join)
#endif
#define ALL_LANES(x, join)                                                                                             \
    parts[self] = x;                                                                                                   \
    barrier();                                                                                                         \
    NEAR_LANES(join)                                                                                                   \
    FROM_PARTS(x, join, uint(NEAR))
#endif
#else
#define ALL_LANES(x, join)
#endif

// A part of a row: vectors from begin to below end, counted from element `base` on. With EDGES, rows begin
// anywhere: up to three elements lie in front of `base`, from `start` on, and up to three behind the last vector.
struct Row {
    uint number, start, base, begin, end;
};

#define ELEMENT(r, j) ((r).base + 4u * (j))
#define MEMBER(r, j)  (ELEMENT(r, j) - (r).start)
#define WHOLE(r)      ((MEMBERS - ((r).base - (r).start)) / 4u)

// Whether vector k, which is the one at j, belongs to the part; of the first ones of all parts that is known.
#define IS_SURE(k)         (uint(LANES) * (uint(k) + 1u) <= LEAST)
#define IS_MEMBER(r, k, j) (IS_SURE(k) || (j) < (r).end)

Row part_of(uint number, uint part)
{
    Row r;
    r.number = number;
    r.start = number * MEMBERS;
    r.base = EDGES == 0 ? r.start : (r.start + 3u) / 4u * 4u;
    r.begin = part * CHUNK;
    r.end = min(WHOLE(r), r.begin + CHUNK);
    return r;
}

// Whether there are rows for all lanes.
#define EXACT     (GROUPS % ROWS_TOGETHER == 0u)
#define EXISTS(r) (EXACT || (r).number < GROUPS)

// Where vector k lies, or another if there is none: a lane asks for all vectors before it looks at one.
uint place_of(Row r, uint k, uint j)
{
    return EXACT && IS_SURE(k) ? ELEMENT(r, j) : min(ELEMENT(r, j), TOTAL / 4u * 4u - 4u);
}

vec4 settled(Row r, uint k, uint j, vec4 x)
{
    uint at = ELEMENT(r, j);
    x = vec4(prepared(x.x, at), prepared(x.y, at + 1u), prepared(x.z, at + 2u), prepared(x.w, at + 3u));
    return IS_MEMBER(r, k, j) ? x : vec4(NONE);
}

void save(Row r, uint k, uint j, vec4 x)
{
    if (EXISTS(r) && IS_MEMBER(r, k, j))
        out_quad(ELEMENT(r, j), finish_quad(x, ELEMENT(r, j)));
}

// What is left of a row belongs to its first part: each of eight lanes has a word of it, if there are so many.
#if EDGES
#define ON_EDGE(DO) DO

struct Edge {
    uint at, begin, end;
};

Edge edge_of(Row r, uint lane)
{
    bool front = lane < 4u;
    uint behind = r.base + 4u * WHOLE(r);
    Edge e = Edge((front ? r.start / PER * PER : behind - 4u * PER) + PER * lane, front ? r.start : behind, 0u);
    if (r.begin == 0u && lane < 8u && EXISTS(r))
        e.end = front ? r.base : r.start + MEMBERS;
    return e;
}

#define IS_EDGE(e, c) ((e).at + (c) >= (e).begin && (e).at + (c) < (e).end && (c) < PER)

// What lies there: all lanes ask for it, since who asked for itself would wait for it.
vec2 edge_raw(Edge e)
{
#if PAIRS
    return a_pair(min(e.at, TOTAL - 1u));
#else
    return vec2(a_at(min(e.at, TOTAL - 1u)), a_at(min(e.at + PER - 1u, TOTAL - 1u)));
#endif
}

vec2 edge_settled(Edge e, vec2 x)
{
    return vec2(IS_EDGE(e, 0u) ? prepared(x.x, e.at) : NONE, IS_EDGE(e, 1u) ? prepared(x.y, e.at + 1u) : NONE);
}

void save_edge(Edge e, vec2 x)
{
    bool first = IS_EDGE(e, 0u), last = IS_EDGE(e, 1u);
    if (first && last) {
        out_pair(e.at, vec2(finish(x.x, e.at), finish(x.y, e.at + 1u)));
    } else if (first || last) {
        uint at = e.at + (last ? 1u : 0u);
        out_one(at, finish(last ? x.y : x.x, at));
    }
}
#else
#define ON_EDGE(DO)
#endif

// The parameters of a member or a vector of them: there are as many as members, or one for some rows.
#define OF_MEMBER(at, r, i)     at(min((i) - (r).start, MEMBERS - 1u))
#define OF_GROUP(at, r, i)      at(parameter_index(min((r).number, GROUPS - 1u)))
#define OF_MEMBERS(at, r, k, j)                                                                                        \
    vec4(OF_MEMBER(at, r, ELEMENT(r, j)), OF_MEMBER(at, r, ELEMENT(r, j) + 1u), OF_MEMBER(at, r, ELEMENT(r, j) + 2u),  \
         OF_MEMBER(at, r, ELEMENT(r, j) + 3u))
#define OF_GROUPS(at, r, k, j)  vec4(OF_GROUP(at, r, 0u))
#define FIRST(k, j)             (4u * (IS_SURE(k) ? (j) : min(j, MEMBERS / 4u - 1u)))
#define OF_QUADS(quad, r, k, j) quad(FIRST(k, j))

// With EDGES, the vectors of parameters lie elsewhere than those of members: there are two for each of these. `words`
// is told whether it can load a vector, or there are not enough elements for that.
#if EDGES
#define IS_BEFORE(k)  (PARTS == 1 && 4u * (uint(LANES) * (uint(k) + 1u) + 1u) <= MEMBERS)
#define SECOND(k, j)  (4u * (IS_BEFORE(k) ? (j) + 1u : min((j) + 1u, MEMBERS / 4u)))
#define OF_WORDS(words, r, k, j)                                                                                       \
    floats(behind(words(FIRST(k, j), true), words(SECOND(k, j), IS_BEFORE(k) || SECOND(k, j) + 4u <= MEMBERS),         \
                  (r).base - (r).start))

// Four elements from element `at` of two vectors on.
uvec4 behind(uvec4 a, uvec4 b, uint at)
{
    uint next = (at & 2u) != 0u ? b.z : b.x;
    a = (at & 2u) != 0u ? uvec4(a.zw, b.xy) : a;
    return (at & 1u) != 0u ? uvec4(a.yzw, next) : a;
}

uvec2 behind(uvec2 a, uvec2 b, uint at)
{
    uint next = (at & 2u) != 0u ? b.y : b.x;
    a = (at & 2u) != 0u ? uvec2(a.y, b.x) : a;
    return (at & 1u) != 0u ? uvec2(a.x >> 16 | a.y << 16, a.y >> 16 | next << 16) : a;
}

vec4 floats(uvec4 x) { return uintBitsToFloat(x); }
#endif
#if EDGES || PACKED
vec4 floats(uvec2 x) { return vec4(loaded_halves(x.x), loaded_halves(x.y)); }
#endif

// What goes over the vectors of a lane: EACH_HELD(DO) is DO(k) for those that are held, which are in registers if no
// loop needs to be unrolled for it, and a loop for those of any part, in the same order.
#define AT(k)           (row.begin + lane + uint(k) * uint(LANES))
#define EACH_OF(r, j)   for (uint j = r.begin + lane; j < r.end; j += uint(LANES))
#define load(r, j)      settled(r, uint(HELD), j, a_quad(place_of(r, uint(HELD), j)))

float total(vec4 x) { return (x.x + x.y) + (x.z + x.w); }
#define plus(a, b) ((a) + (b))

#if SOFTMAX
float greater(float a, float b) { return b > a ? b : a; } // not of NaN: the sum of exponentials will be that
float greatest_of(vec4 x) { return greater(greater(x.x, x.y), greater(x.z, x.w)); }

vec4 weights(vec4 x, float top) { return vec4(weight(x.x, top), weight(x.y, top), weight(x.z, top), weight(x.w, top)); }

// Others know whether an element is greater than -Inf; less this, exponentials are not NaN.
#if PARTS > 1
float finite(float top) { return top == -INF ? -3.4028235e38 : top; }
#else
#define finite(top) top
#endif
#else
// The sums of the differences from what is nearly the mean, and of their squares.
vec2 moments(Row r, uint k, uint j, vec4 x, float mean)
{
    precise vec4 d = x - mean;
    d = IS_MEMBER(r, k, j) ? d : vec4(0.0);
    return vec2(total(d), total(d * d));
}

#if EDGES
vec2 edge_moments(Edge e, vec2 x, float mean)
{
    precise vec2 d = x - mean;
    d = vec2(IS_EDGE(e, 0u) ? d.x : 0.0, IS_EDGE(e, 1u) ? d.y : 0.0);
    return vec2(d.x + d.y, d.x * d.x + d.y * d.y);
}
#endif

vec4 normalized_vector(vec4 x, vec4 around, vec4 scale, vec4 bias)
{
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        x[c] = NORMALIZED(x[c], around, scale[c], bias[c]);
    return x;
}

PART about(float mean, vec2 sums, float share)
{
    if (CENTERED == 0)
        return PART(0.0, 0.0, sums.y);
    precise float more = sums.x * share, squares = sums.y - sums.x * more;
    return PART(mean, more, abs(squares));
}
#endif

#if PARTS > 1
float members_of(Row r)
{
    uint members = 4u * (r.end - r.begin);
    return float(r.begin == 0u ? members + MEMBERS - 4u * WHOLE(r) : members);
}

// Zeros are what nobody has told yet.
void tell(uint number, uint part, PART x)
{
    [[unroll]] for (uint c = 0u; c < WORDS; c++) {
        uint word = floatBitsToUint(x[c]);
        atomicExchange(known_word((number * uint(PARTS) + part) * WORDS + c), word == 0u ? 0x80000000u : word);
    }
}

#if STAGE == TOGETHER
shared uint lacking, lacks;

bool hear(uint number, uint part, out PART x)
{
    bool all = true;
    [[unroll]] for (uint c = 0u; c < WORDS; c++) {
        uint word = atomicOr(known_word((number * uint(PARTS) + part) * WORDS + c), 0u);
        x[c] = uintBitsToFloat(word);
        all = all && word != 0u;
    }
    return all;
}

// What the lanes that process that part tell.
PART computed(Row r, uint self, uint lane)
{
#if SOFTMAX
    float top = -INF, sum = 0.0;
    ON_EDGE(Edge edge = edge_of(r, lane); vec2 rest = edge_settled(edge, edge_raw(edge));)
    ON_EDGE(top = greater(rest.x, rest.y);)
    EACH_OF(r, j)
        top = greater(top, greatest_of(load(r, j)));
    ALL_LANES(top, greater)
    ON_EDGE(sum = weight(rest.x, finite(top)) + weight(rest.y, finite(top));)
    EACH_OF(r, j)
        sum += total(weights(load(r, j), finite(top)));
    ALL_LANES(sum, plus)
    return PART(top, sum);
#else
    vec2 sums = vec2(0.0);
    ON_EDGE(Edge edge = edge_of(r, lane); vec2 rest = edge_settled(edge, edge_raw(edge));)
#if CENTERED
    ON_EDGE(sums.x = rest.x + rest.y;)
    EACH_OF(r, j)
        sums.x += total(load(r, j));
    ALL_LANES(sums, plus)
#endif
    float share = 1.0 / members_of(r), mean = sums.x * share;
    sums = vec2(0.0);
    ON_EDGE(sums = edge_moments(edge, rest, mean);)
    EACH_OF(r, j)
        sums += moments(r, uint(HELD), j, load(r, j), mean);
    ALL_LANES(sums, plus)
    return about(mean, sums, share);
#endif
}

// What is known of part number `lane` of the row; main() has set `lacking` to 0.
PART heard(Row row, uint own_part, PART own, uint self, uint lane)
{
    PART x = own;
    bool there = lane >= uint(PARTS) || lane == own_part;
    for (uint turn = 0u; turn < TURNS && !there; turn++)
        there = hear(row.number, lane, x);
    if (!there)
        lacking = 1u;
    barrier();
    if (lacking == 0u)
        return x;
    for (uint part = 0u; part < uint(PARTS); part++) {
        if (lane == part)
            lacks = there ? 0u : 1u;
        barrier();
        bool again = lacks != 0u;
        barrier();
        if (again) {
            PART y = computed(part_of(row.number, part), self, lane);
            if (lane == part)
                x = y;
        }
    }
    return x;
}
#define KNOWN(part) x
#else
#define KNOWN(part) told(row.number, part)
PART told(uint number, uint part)
{
    PART x;
    [[unroll]] for (uint c = 0u; c < WORDS; c++)
        x[c] = uintBitsToFloat(known_word((number * uint(PARTS) + part) * WORDS + c));
    return x;
}
#endif

// Only the first lanes have parts.
#define ALL_PARTS(x, join)                                                                                             \
    parts[lane] = x;                                                                                                   \
    barrier();                                                                                                         \
    FROM_PARTS(x, join, uint(min(PARTS, LANES)))
#define EACH_PART(part) for (uint part = lane; part < uint(PARTS); part += uint(LANES))
PART joined(Row row, PART x, uint self, uint lane)
{
#if SOFTMAX
    float top = -INF, sum = 0.0;
    EACH_PART(part)
        top = greater(top, KNOWN(part).x);
    ALL_PARTS(top, greater)
    EACH_PART(part) {
        PART y = KNOWN(part);
        sum += y.y * weight(finite(y.x), finite(top));
    }
    ALL_PARTS(sum, plus)
    return PART(top, sum);
#else
    vec2 sums = vec2(0.0);
#if CENTERED
    EACH_PART(part)
        sums.x += KNOWN(part).x * members_of(part_of(row.number, part));
    ALL_PARTS(sums, plus)
#endif
    float mean = sums.x * SHARE;
    sums = vec2(0.0);
    EACH_PART(part) {
        PART y = KNOWN(part);
        float members = members_of(part_of(row.number, part));
        precise float d = (y.x - mean) + y.y;
        sums += vec2(members * d, y.z + members * d * d);
    }
    ALL_PARTS(sums, plus)
    return about(mean, sums, SHARE);
#endif
}
#endif

// A condition that drivers cannot decide, so that they load nothing behind it early: that leaves registers for more
// work groups at once.
#define IN_TURN if (row.number < GROUPS)

// PACKED, halves stay as they are loaded, for the same reason: `veil` is 0, which drivers do not know, or they would
// keep what they make of them.
#if PACKED
#define KEPT               uvec2
#define LOAD(k)            held[k] = uvec2(0u); IN_TURN held[k] = a_halves(place_of(row, k, AT(k)));
#define SETTLE(k)
#define X(k)               settled(row, k, AT(k), floats(held[k] ^ veil))
#define WEIGH(k)           sum += total(weights(X(k), finite(top)));
#define WEIGHED(k, factor) (weights(X(k), finite(top)) * (factor))
#define OTHER_VEIL         veil += gl_WorkGroupID.z;
#else
#define KEPT               vec4
#define LOAD(k)            held[k] = vec4(NONE); IN_TURN held[k] = a_quad(place_of(row, k, AT(k)));
#define SETTLE(k)          held[k] = settled(row, k, AT(k), held[k]);
#define X(k)               held[k]
#define WEIGH(k)           held[k] = weights(held[k], finite(top)); sum += total(held[k]);
#define WEIGHED(k, factor) (held[k] * (factor))
#define OTHER_VEIL
#endif
#define RAISE(k)   top = greater(top, greatest_of(X(k)));
#define ADD(k)     sums.x += total(X(k));
#define MOMENTS(k) sums += moments(row, k, AT(k), X(k), mean);

void main()
{
#if SHUFFLES
    uint self = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
#else
    uint self = gl_LocalInvocationID.x;
#endif
    uint lane = self % uint(LANES);
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * ROWS_TOGETHER;
    if (unit >= GROUPS * uint(PARTS))
        return;
    unit += self / uint(LANES);
    uint part = unit % uint(PARTS);
    Row row = part_of(unit / uint(PARTS), part);
#if STAGE == TOGETHER
    if (self == 0u)
        lacking = 0u;
#endif
    KEPT held[HELD];
#if PACKED
    uint veil = 0u;
#endif
    ON_EDGE(Edge edge = edge_of(row, lane); vec2 rest = edge_raw(edge);)
    EACH_HELD(LOAD)
    ON_EDGE(rest = edge_settled(edge, rest);)
    EACH_HELD(SETTLE)
    PART known = PART(0.0);
#if STAGE != FINISH
#if SOFTMAX
    float top = -INF, sum = 0.0;
    EACH_HELD(RAISE)
    ON_EDGE(top = greater(top, greater(rest.x, rest.y));)
    ALL_LANES(top, greater)
    OTHER_VEIL
    EACH_HELD(WEIGH)
    ON_EDGE(rest = vec2(weight(rest.x, finite(top)), weight(rest.y, finite(top))); sum += rest.x + rest.y;)
    ALL_LANES(sum, plus)
    known = PART(top, sum);
#else
#if PARTS > 1
    float share = 1.0 / members_of(row);
#else
    const float share = SHARE;
#endif
    vec2 sums = vec2(0.0);
#if CENTERED
    EACH_HELD(ADD)
    ON_EDGE(sums.x += rest.x + rest.y;)
    ALL_LANES(sums, plus)
    OTHER_VEIL
#endif
    float mean = sums.x * share;
    sums = vec2(0.0);
    EACH_HELD(MOMENTS)
    ON_EDGE(sums += edge_moments(edge, rest, mean);)
    ALL_LANES(sums, plus)
    known = about(mean, sums, share);
#endif
#endif
#if STAGE == KEEP
    if (lane == 0u)
        tell(row.number, part, known);
    return;
#elif STAGE == TOGETHER
    if (lane == 0u)
        tell(row.number, part, known);
    known = joined(row, heard(row, part, known, self, lane), self, lane);
#elif STAGE == FINISH
    known = joined(row, known, self, lane);
#endif
    OTHER_VEIL
#if SOFTMAX
    float factor = quotient(1.0, known.y);
#if PARTS > 1
    factor = known.x == -INF ? NAN : factor;
#endif
#if STAGE == TOGETHER
    factor *= weight(finite(top), finite(known.x));
#endif
#if STAGE == FINISH
#define SAVE(k) save(row, k, AT(k), weights(X(k), finite(known.x)) * factor);
    ON_EDGE(rest = vec2(weight(rest.x, finite(known.x)), weight(rest.y, finite(known.x))) * factor;)
#else
#define SAVE(k) save(row, k, AT(k), WEIGHED(k, factor));
    ON_EDGE(rest *= factor;)
#endif
#else
    precise float variance = known.z * SHARE;
    vec4 around = vec4(known.xy, inverse_root(vec2(variance + EPSILON, 0.0)));
#define SAVE(k)                                                                                                        \
    save(row, k, AT(k), normalized_vector(X(k), around, SCALE(row, k, AT(k)), BIAS(row, k, AT(k))));
#define NORMALIZED_EDGE(x, i) NORMALIZED(x, around, SCALE_OF(row, i), BIAS_OF(row, i))
    ON_EDGE(rest = vec2(NORMALIZED_EDGE(rest.x, edge.at), NORMALIZED_EDGE(rest.y, edge.at + 1u));)
#endif
#if SOFTMAX
    EACH_HELD(SAVE)
#else
    TWO_HELD(SAVE)
#endif
    ON_EDGE(save_edge(edge, rest);)
}
