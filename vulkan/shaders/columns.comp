// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalizations of groups whose elements lie STRIDE apart, and beside those of others: an invocation sees
// to four groups beside one another, together with others of the LANES that share them, and keeps HELD elements of each
// in registers from the only load to the store. prepared(x, i) is what is made of element i when it is loaded.

#define ACROSS (gl_WorkGroupSize.x / uint(LANES))

#if LANES > 1
shared vec4 parts[gl_WorkGroupSize.x];
#define ALL_LANES(x, join)                                                                                             \
    parts[self] = x;                                                                                                   \
    barrier();                                                                                                         \
    [[unroll]] for (uint far = uint(LANES) / 2u; far > 0u; far >>= 1) {                                                \
        if (lane < far)                                                                                                \
            parts[self] = join(parts[self], parts[self + far * ACROSS]);                                               \
        barrier();                                                                                                     \
    }                                                                                                                  \
    x = parts[self % ACROSS];                                                                                          \
    barrier();
#else
#define ALL_LANES(x, join)
#endif

// The parameters of four groups: there are as many as members, or one for each group.
#define OF_MEMBERS(at, number, k, j) vec4(at(j))
#define OF_GROUPS(at, number, k, j)                                                                                    \
    vec4(at(parameter_index(number)), at(parameter_index(number + 1u)), at(parameter_index(number + 2u)),              \
         at(parameter_index(number + 3u)))

// EACH_HELD(DO) is DO(k) for all that are held, which are in registers if no loop needs to be unrolled for it.
#define AT(k)        (lane + uint(k) * uint(LANES))
#define IS_MEMBER(k) (uint(LANES) * (uint(k) + 1u) <= MEMBERS || AT(k) < MEMBERS)
#define ELEMENT(k)   (base + AT(k) * STRIDE)

#define plus(a, b) ((a) + (b))

#if SOFTMAX
#define NONE vec4(-INF)
float greater_of(float a, float b) { return b > a ? b : a; } // not of NaN: the sum of exponentials will be that
vec4 greater(vec4 a, vec4 b)
{
    return vec4(greater_of(a.x, b.x), greater_of(a.y, b.y), greater_of(a.z, b.z), greater_of(a.w, b.w));
}
vec4 weights(vec4 x, vec4 top)
{
    return vec4(weight(x.x, top.x), weight(x.y, top.y), weight(x.z, top.z), weight(x.w, top.w));
}
#else
#define NONE vec4(0.0)
#endif

vec4 settled(vec4 x, uint at)
{
    return vec4(prepared(x.x, at), prepared(x.y, at + 1u), prepared(x.z, at + 2u), prepared(x.w, at + 3u));
}

#define LOAD(k)   held[k] = a_quad(base + min(AT(k), MEMBERS - 1u) * STRIDE);
#define SETTLE(k) held[k] = IS_MEMBER(k) ? settled(held[k], ELEMENT(k)) : NONE;
#define RAISE(k)  top = greater(top, held[k]);
#define WEIGH(k)                                                                                                       \
    held[k] = weights(held[k], top);                                                                                   \
    sum += IS_MEMBER(k) ? held[k] : vec4(0.0);
#define ADD(k) sum += held[k];
#define MOMENTS(k)                                                                                                     \
    d = IS_MEMBER(k) ? held[k] - mean : vec4(0.0);                                                                     \
    sum += d;                                                                                                          \
    squares += d * d;
#if SOFTMAX
#define RESULT(k) (held[k] * share)
#else
#define RESULT(k) normalized_vector(held[k], around, SCALE(number, k, AT(k)), BIAS(number, k, AT(k)))
vec4 normalized_vector(vec4 x, vec4 around[4], vec4 scale, vec4 bias)
{
    return vec4(NORMALIZED(x.x, around[0], scale.x, bias.x), NORMALIZED(x.y, around[1], scale.y, bias.y),
                NORMALIZED(x.z, around[2], scale.z, bias.z), NORMALIZED(x.w, around[3], scale.w, bias.w));
}
#endif
#define SAVE(k)                                                                                                        \
    if (exists && IS_MEMBER(k))                                                                                        \
        out_quad(ELEMENT(k), finish_quad(RESULT(k), ELEMENT(k)));

void main()
{
    uint self = gl_LocalInvocationID.x, lane = self / ACROSS;
    uint number = ((gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * ACROSS + self % ACROSS) * 4u;
    bool exists = number < GROUPS;
    uint base = group_index(exists ? number : 0u);
    vec4 held[HELD], sum = vec4(0.0);
    EACH_HELD(LOAD)
    EACH_HELD(SETTLE)
#if SOFTMAX
    vec4 top = NONE;
    EACH_HELD(RAISE)
    ALL_LANES(top, greater)
    EACH_HELD(WEIGH)
    ALL_LANES(sum, plus)
    vec4 share = vec4(quotient(1.0, sum.x), quotient(1.0, sum.y), quotient(1.0, sum.z), quotient(1.0, sum.w));
#else
#if CENTERED
    EACH_HELD(ADD)
    ALL_LANES(sum, plus)
#endif
    vec4 mean = sum * SHARE, squares = vec4(0.0);
    precise vec4 d;
    sum = vec4(0.0);
    EACH_HELD(MOMENTS)
    ALL_LANES(sum, plus)
    ALL_LANES(squares, plus)
    vec4 around[4];
    [[unroll]] for (uint c = 0u; c < 4u; c++) {
        precise float more = CENTERED == 0 ? 0.0 : sum[c] * SHARE, variance = squares[c] * SHARE - more * more;
        around[c] = vec4(mean[c], more, inverse_root(vec2(abs(variance) + EPSILON, 0.0)));
    }
#endif
    EACH_HELD(SAVE)
}
