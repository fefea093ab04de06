// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalisations of rows that lie one behind the other: LANES invocations see to a row, or to one of the
// PARTS of a long one, of which each keeps HELD vectors of four elements in registers. prepared(x, i) is what is made
// of element i when it is loaded.
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
#define PART  vec3 // the mean and what it lacks, the sum of squares less that
#define WORDS 3u
#define NONE  0.0
#endif

#if LANES > 1
shared SUMS parts[gl_WorkGroupSize.x];
// In two steps, by way of NEAR lanes, or in one; by way of one lane, in halves.
#if NEAR == 1
#define NEAR_LANES(join)                                                                                               \
    [[unroll]] for (uint far = uint(LANES) / 2u; far > 0u; far >>= 1) {                                                \
        if (lane < far)                                                                                                \
            parts[self] = join(parts[self], parts[self + far]);                                                        \
        barrier();                                                                                                     \
    }
#elif NEAR < LANES
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
    x = parts[self - lane];                                                                                            \
    [[unroll]] for (uint other = 1u; other < uint(NEAR); other++)                                                      \
        x = join(x, parts[self - lane + other]);                                                                       \
    barrier();
#else
#define ALL_LANES(x, join)
#endif

// A part of a row: units from begin to below end, of which unit u lies from element base + UNIT u on. Member m of the
// row is element base + head + m.
struct Row {
    uint number, base, head, begin, end;
};

// With EDGES, rows begin anywhere. A unit is a word, and lanes beside one another have words beside one another; else
// it is a vector.
#if EDGES
#define UNIT          PER
#define UNIT_OF(j, c) ((j) + uint(c) / PER * uint(LANES))
#else
#define UNIT          4u
#define UNIT_OF(j, c) (j)
#endif
#define STEP             (4u / UNIT * uint(LANES))
#define ELEMENT(r, j, c) ((r).base + UNIT * UNIT_OF(j, c) + uint(c) % UNIT)
#define MEMBER(r, j, c)  (UNIT * UNIT_OF(j, c) + uint(c) % UNIT - (r).head) // wraps in front of the row

// Whether element c of vector k, which begins at unit j, is a member; of the first vectors of all parts that is known.
#define IS_SURE(k, c)                                                                                                  \
    (4u / UNIT * uint(LANES) * uint(k) + (uint(c) / UNIT + 1u) * uint(LANES) <= LEAST &&                               \
     (UNIT != 2u || uint(k) > 0u || uint(c) > 0u))
#define IS_MEMBER(r, k, j, c)                                                                                          \
    (IS_SURE(k, c) || (UNIT_OF(j, c) < (r).end && (EDGES == 0 || MEMBER(r, j, c) < MEMBERS)))

Row part_of(uint number, uint part)
{
    Row r;
    r.number = number;
    r.base = number * MEMBERS / UNIT * UNIT;
    r.head = number * MEMBERS - r.base;
    r.begin = part * CHUNK;
    r.end = min((r.head + MEMBERS + UNIT - 1u) / UNIT, r.begin + CHUNK);
    return r;
}

// Whether there are rows for all lanes.
#define EXACT     (GROUPS % ROWS_TOGETHER == 0u)
#define EXISTS(r) (EXACT || (r).number < GROUPS)

// What lies where vector k does, or elsewhere if there is nothing: a lane asks for all vectors before it looks at one.
uint place_of(Row r, uint k, uint j, uint c)
{
    uint at = ELEMENT(r, j, c), last = EDGES == 0 ? TOTAL - 4u : TOTAL - 1u;
    return EXACT && IS_SURE(k, c) ? at : min(at, last);
}

vec4 raw(Row r, uint k, uint j)
{
#if EDGES == 0
    return a_quad(place_of(r, k, j, 0u));
#elif PAIRS
    return vec4(a_pair(place_of(r, k, j, 0u)), a_pair(place_of(r, k, j, 2u)));
#else
    return vec4(a_at(place_of(r, k, j, 0u)), a_at(place_of(r, k, j, 1u)), a_at(place_of(r, k, j, 2u)),
                a_at(place_of(r, k, j, 3u)));
#endif
}

vec4 settled(Row r, uint k, uint j, vec4 x, float none)
{
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        x[c] = IS_MEMBER(r, k, j, c) ? prepared(x[c], ELEMENT(r, j, c)) : none;
    return x;
}

void save(Row r, uint k, uint j, vec4 x)
{
#if EDGES
    [[unroll]] for (uint c = 0u; c < 4u; c += PER) {
        bool first = EXISTS(r) && IS_MEMBER(r, k, j, c), last = EXISTS(r) && IS_MEMBER(r, k, j, c + PER - 1u);
        uint at = ELEMENT(r, j, c);
        if (PER == 2u && first && last) {
            out_pair(at, vec2(finish(x[c], at), finish(x[(c + 1u) % 4u], at + 1u)));
        } else {
            if (first)
                out_one(at, finish(x[c], at));
            if (PER == 2u && last)
                out_one(at + 1u, finish(x[(c + 1u) % 4u], at + 1u));
        }
    }
#else
    if (EXISTS(r) && IS_MEMBER(r, k, j, 0))
        out_quad(ELEMENT(r, j, 0), finish_quad(x, ELEMENT(r, j, 0)));
#endif
}

// The parameters of four members: there are as many as members, or one for some rows.
#define MEMBER_WITHIN(r, k, j, c) (IS_SURE(k, c) ? MEMBER(r, j, c) : min(MEMBER(r, j, c), MEMBERS - 1u))
#define OF_MEMBERS(at, r, k, j)                                                                                        \
    vec4(at(MEMBER_WITHIN(r, k, j, 0)), at(MEMBER_WITHIN(r, k, j, 1)), at(MEMBER_WITHIN(r, k, j, 2)),                  \
         at(MEMBER_WITHIN(r, k, j, 3)))
#define OF_QUADS(quad, r, k, j) quad(4u * (IS_SURE(k, 0) ? (j) : min(j, MEMBERS / 4u - 1u)))
#define OF_GROUPS(at, r, k, j)  vec4(at(parameter_index(min((r).number, GROUPS - 1u))))

// What goes over the vectors of a lane: EACH_HELD(DO) is DO(k) for those that are held, which are in registers if no
// loop needs to be unrolled for it, and a loop for those of any part, in the same order.
#define AT(k)           (row.begin + lane + uint(k) * STEP)
#define EACH_OF(r, j)   for (uint j = r.begin + lane; j < r.end; j += STEP)
#define load(r, j)      settled(r, uint(HELD), j, raw(r, uint(HELD), j), NONE)

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
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        d[c] = IS_MEMBER(r, k, j, c) ? d[c] : 0.0;
    return vec2(total(d), total(d * d));
}

vec4 normalised_vector(vec4 x, vec4 around, vec4 scale, vec4 bias)
{
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        x[c] = NORMALISED(x[c], around, scale[c], bias[c]);
    return x;
}

PART about(float mean, vec2 sums, float share)
{
    precise float more = sums.x * share, squares = sums.y - sums.x * more;
    return PART(mean, more, abs(squares));
}
#endif

#if PARTS > 1
float members_of(Row r)
{
    return float(min(UNIT * r.end - r.head, MEMBERS) - (r.begin == 0u ? 0u : UNIT * r.begin - r.head));
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

// What the lanes that see to that part tell.
PART computed(Row r, uint self, uint lane)
{
#if SOFTMAX
    float top = -INF, sum = 0.0;
    EACH_OF(r, j)
        top = greater(top, greatest_of(load(r, j)));
    ALL_LANES(top, greater)
    EACH_OF(r, j)
        sum += total(weights(load(r, j), finite(top)));
    ALL_LANES(sum, plus)
    return PART(top, sum);
#else
    vec2 sums = vec2(0.0);
    EACH_OF(r, j)
        sums.x += total(load(r, j));
    ALL_LANES(sums, plus)
    float share = 1.0 / members_of(r), mean = sums.x * share;
    sums = vec2(0.0);
    EACH_OF(r, j)
        sums += moments(r, uint(HELD), j, load(r, j), mean);
    ALL_LANES(sums, plus)
    return about(mean, sums, share);
#endif
}

// What is known of part number `lane` of the row.
PART heard(Row row, uint own_part, PART own, uint self, uint lane)
{
    PART x = own;
    bool there = lane >= uint(PARTS) || lane == own_part;
    for (uint turn = 0u; turn < TURNS && !there; turn++)
        there = hear(row.number, lane, x);
    if (self == 0u)
        lacking = 0u;
    barrier();
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

#define EACH_PART(part) for (uint part = lane; part < uint(PARTS); part += uint(LANES))
PART joined(Row row, PART x, uint self, uint lane)
{
#if SOFTMAX
    float top = -INF, sum = 0.0;
    EACH_PART(part)
        top = greater(top, KNOWN(part).x);
    ALL_LANES(top, greater)
    EACH_PART(part) {
        PART y = KNOWN(part);
        sum += y.y * weight(finite(y.x), finite(top));
    }
    ALL_LANES(sum, plus)
    return PART(top, sum);
#else
    vec2 sums = vec2(0.0);
    EACH_PART(part)
        sums.x += KNOWN(part).x * members_of(part_of(row.number, part));
    ALL_LANES(sums, plus)
    float mean = sums.x * SHARE;
    sums = vec2(0.0);
    EACH_PART(part) {
        PART y = KNOWN(part);
        float members = members_of(part_of(row.number, part));
        precise float d = (y.x - mean) + y.y;
        sums += vec2(members * d, y.z + members * d * d);
    }
    ALL_LANES(sums, plus)
    return about(mean, sums, SHARE);
#endif
}
#endif

// A condition that drivers cannot decide, so that they load nothing behind it early: that leaves registers for more
// work groups at once.
#if FRUGAL
#define IN_TURN    if (row.number < GROUPS)
#else
#define IN_TURN
#endif
#define LOAD(k)    held[k] = vec4(NONE); IN_TURN held[k] = raw(row, k, AT(k));
#define SETTLE(k)  held[k] = settled(row, k, AT(k), held[k], NONE);
#define RAISE(k)   top = greater(top, greatest_of(held[k]));
#define WEIGH(k)   held[k] = weights(held[k], finite(top)); sum += total(held[k]);
#define ADD(k)     sums.x += total(held[k]);
#define MOMENTS(k) sums += moments(row, k, AT(k), held[k], mean);

void main()
{
    uint self = gl_LocalInvocationID.x, lane = self % uint(LANES);
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * ROWS_TOGETHER;
    if (unit >= GROUPS * uint(PARTS))
        return;
    unit += self / uint(LANES);
    uint part = unit % uint(PARTS);
    Row row = part_of(unit / uint(PARTS), part);
    vec4 held[HELD];
    EACH_HELD(LOAD)
    EACH_HELD(SETTLE)
    PART known = PART(0.0);
#if STAGE != FINISH
#if SOFTMAX
    float top = -INF, sum = 0.0;
    EACH_HELD(RAISE)
    ALL_LANES(top, greater)
    EACH_HELD(WEIGH)
    ALL_LANES(sum, plus)
    known = PART(top, sum);
#else
#if PARTS > 1
    float share = 1.0 / members_of(row);
#else
    const float share = SHARE;
#endif
    vec2 sums = vec2(0.0);
    EACH_HELD(ADD)
    ALL_LANES(sums, plus)
    float mean = sums.x * share;
    sums = vec2(0.0);
    EACH_HELD(MOMENTS)
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
#if SOFTMAX
    float factor = quotient(1.0, known.y);
#if PARTS > 1
    factor = known.x == -INF ? NAN : factor;
#endif
#if STAGE == TOGETHER
    factor *= weight(finite(top), finite(known.x));
#endif
#if STAGE == FINISH
#define SAVE(k) save(row, k, AT(k), weights(held[k], finite(known.x)) * factor);
#else
#define SAVE(k) save(row, k, AT(k), held[k] * factor);
#endif
#else
    precise float variance = known.z * SHARE;
    vec4 around = vec4(known.xy, inverse_root(vec2(variance + EPSILON, 0.0)));
#define SAVE(k)                                                                                                        \
    IN_TURN save(row, k, AT(k), normalised_vector(held[k], around, SCALE(row, k, AT(k)), BIAS(row, k, AT(k))));
#endif
    EACH_HELD(SAVE)
}
