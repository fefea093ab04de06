// SPDX-License-Identifier: Apache-2.0
//
// Tests of lib/: half floats, numbers, data types, shapes, text, memory, loops.

#include "conformance/unit/float_bits.h"
#include "conformance/unit/require.h"
#include "lib/arena.h"
#include "lib/checksum.h"
#include "lib/graph.h"
#include "lib/half.h"
#include "lib/parallel.h"
#include "lib/sha256.h"
#include "lib/string_pool.h"

#include <math.h>
#include <stddef.h>
#include <sys/mman.h>

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

// ---------------------------------------------------------------------------------------------------------------
// Half floats, against exact arithmetic in double
// ---------------------------------------------------------------------------------------------------------------

static double exact_half(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                       : exponent == 0 ? ldexp(mantissa, -24)
                                       : ldexp(1024 + mantissa, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

// The nearest half of a double that is not NaN, ties to even: by comparing with both neighbours.
static uint16_t nearest_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    value = fabs(value);
    if (value >= 65520)
        return sign | 0x7C00;
    uint16_t low = 0, high = 0x7C00; // low is at most the value, high above it
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if (exact_half(middle) <= value)
            low = middle;
        else
            high = middle;
    }
    if (high == 0x7C00) // below 65520, above 65504
        return sign | low;
    double below = value - exact_half(low), above = exact_half(high) - value;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

static void require_half(float value)
{
    uint16_t expected = nearest_half((double)value), array[9];
    uint16_t got = wnn_half_from_float(value);
    if (got != expected) {
        fprintf(stderr, "half of %a is %04x; expected %04x\n", (double)value, got, expected);
        case_fail();
    }
    float values[9];
    for (int i = 0; i < 9; i++) // eight go together, the ninth alone
        values[i] = value;
    wnn_half_from_float_array(values, array, 9);
    REQUIRE_EQUAL_INT(array[0], expected);
    REQUIRE_EQUAL_INT(array[8], expected);
}

static void test_half(void)
{
    static uint16_t halves[65536 + 3], back[65536 + 3];
    static float values[65536 + 3];
    for (unsigned i = 0; i < 65536 + 3; i++)
        halves[i] = (uint16_t)i;
    wnn_half_to_float_array(halves, values, 65536 + 3);
    wnn_half_from_float_array(values, back, 65536 + 3);
    for (unsigned i = 0; i < 65536 + 3; i++) {
        float one = wnn_half_to_float(halves[i]);
        double exact = exact_half(halves[i]);
        if (isnan(exact)) {
            REQUIRE(isnan(one) && isnan(values[i]));
            REQUIRE((back[i] & 0x7C00) == 0x7C00 && (back[i] & 1023) != 0);
            REQUIRE((wnn_half_from_float(one) & 0x8000) == (halves[i] & 0x8000));
            continue;
        }
        REQUIRE((double)one == exact && !signbit(one) == !signbit(exact));
        REQUIRE_EQUAL_INT(bits_of(values[i]), bits_of(one));
        REQUIRE_EQUAL_INT(back[i], halves[i]);
        REQUIRE_EQUAL_INT(wnn_half_from_float(one), halves[i]);
        // What lies between two halves, and a hair to either side.
        double next = exact_half((uint16_t)(halves[i] + 1));
        if (isfinite(exact) && isfinite(next) && (halves[i] & 0x7FFF) < 0x7BFF) {
            float middle = (float)((exact + next) / 2);
            require_half(middle);
            require_half(nextafterf(middle, INFINITY));
            require_half(nextafterf(middle, -INFINITY));
        }
    }
    static const float edges[] = {0.0f,      -0.0f,     65504.0f,   65519.996f,      65520.0f,
                                  -65520.0f, 65536.0f,  1e30f,      -1e38f,          INFINITY,
                                  -INFINITY, 0x1p-24f,  0x1p-25f,   0x1.000002p-25f, 0x1p-26f,
                                  0x1p-14f,  0x1p-149f, -0x1p-149f, 0x1.ffep-15f};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        require_half(edges[i]);
    for (unsigned i = 0; i < 300000; i++) {
        float value = float_of((uint32_t)random_bits());
        if (isnan(value)) {
            uint16_t half = wnn_half_from_float(value);
            REQUIRE((half & 0x7C00) == 0x7C00 && (half & 1023) != 0);
        } else {
            require_half(value);
        }
        require_half(ldexpf((float)(random_bits() % 16777216), (int)(random_bits() % 40) - 50));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------

#define I wnnNumberInt64
#define U wnnNumberUint64
#define F wnnNumberFloat64

static void require_signed(WNNNumber number, WNNDataType type, int64_t expected)
{
    WNNNumber got = wnn_number_convert(number, type);
    REQUIRE_EQUAL_INT(got.type, WNNNumberType_Int64);
    REQUIRE_EQUAL_INT(got.value.i64, expected);
}

static void require_unsigned(WNNNumber number, WNNDataType type, uint64_t expected)
{
    WNNNumber got = wnn_number_convert(number, type);
    REQUIRE_EQUAL_INT(got.type, WNNNumberType_Uint64);
    REQUIRE(got.value.u64 == expected);
}

static void require_float(WNNNumber number, WNNDataType type, double expected)
{
    WNNNumber got = wnn_number_convert(number, type);
    REQUIRE_EQUAL_INT(got.type, WNNNumberType_Float64);
    if (memcmp(&got.value.f64, &expected, sizeof expected) != 0 &&
        !(isnan(got.value.f64) && isnan(expected))) {
        fprintf(stderr, "converted to %s: %a; expected %a\n", wnn_dtype_name(type), got.value.f64, expected);
        case_fail();
    }
}

static void test_integers(void)
{
    static const struct {
        WNNDataType type;
        int64_t low, high;
    } signed_types[] = {{WNNDataType_Int4, -8, 7},
                        {WNNDataType_Int8, INT8_MIN, INT8_MAX},
                        {WNNDataType_Int32, INT32_MIN, INT32_MAX},
                        {WNNDataType_Int64, INT64_MIN, INT64_MAX}};
    for (size_t i = 0; i < sizeof signed_types / sizeof *signed_types; i++) {
        WNNDataType type = signed_types[i].type;
        int64_t low = signed_types[i].low, high = signed_types[i].high;
        require_signed(F(2.9), type, 2);
        require_signed(F(-2.9), type, -2);
        require_signed(F(-0.0), type, 0);
        require_signed(F(NAN), type, 0);
        require_signed(F(INFINITY), type, high);
        require_signed(F(-INFINITY), type, low);
        require_signed(F(1e300), type, high);
        require_signed(F((double)low), type, low);
        require_signed(F((double)high), type, high);
        require_signed(I(low), type, low);
        require_signed(I(high), type, high);
        require_signed(I(INT64_MIN), type, low);
        require_signed(U(UINT64_MAX), type, high);
        require_signed(U(5), type, 5);
    }
    static const struct {
        WNNDataType type;
        uint64_t high;
    } unsigned_types[] = {{WNNDataType_Uint4, 15},
                          {WNNDataType_Uint8, UINT8_MAX},
                          {WNNDataType_Uint32, UINT32_MAX},
                          {WNNDataType_Uint64, UINT64_MAX}};
    for (size_t i = 0; i < sizeof unsigned_types / sizeof *unsigned_types; i++) {
        WNNDataType type = unsigned_types[i].type;
        uint64_t high = unsigned_types[i].high;
        require_unsigned(F(2.9), type, 2);
        require_unsigned(F(-2.9), type, 0);
        require_unsigned(F(NAN), type, 0);
        require_unsigned(F(INFINITY), type, high);
        require_unsigned(F(-INFINITY), type, 0);
        require_unsigned(F((double)high), type, high);
        require_unsigned(I(INT64_MIN), type, 0);
        require_unsigned(I(7), type, 7);
        require_unsigned(U(UINT64_MAX), type, high);
    }
    require_signed(F(9223372036854774784.0), WNNDataType_Int64, 9223372036854774784);
    require_unsigned(F(18446744073709549568.0), WNNDataType_Uint64, 18446744073709549568u);
}

static void test_floats(void)
{
    require_float(F(0.1), WNNDataType_Float32, (double)0.1f);
    require_float(F(-0.0), WNNDataType_Float32, -0.0);
    require_float(F(1e39), WNNDataType_Float32, INFINITY);
    require_float(F(0x1.fffffefffffffp127), WNNDataType_Float32, 0x1.fffffep127);
    require_float(F(0x1.ffffffp127), WNNDataType_Float32, INFINITY);
    require_float(F(NAN), WNNDataType_Float16, NAN);
    require_float(F(65520), WNNDataType_Float16, INFINITY);
    require_float(F(65519.999), WNNDataType_Float16, 65504);
    require_float(F(-1e-30), WNNDataType_Float16, -0.0);
    require_float(I(INT64_MAX), WNNDataType_Float32, 0x1p63);
    require_float(U(UINT64_MAX), WNNDataType_Float32, 0x1p64);
    require_float(I(2049), WNNDataType_Float16, 2048);
    require_float(I(2051), WNNDataType_Float16, 2052);
    // A detour through float32 would round twice: just above a tie in float16.
    require_float(F(1 + 0x1p-11 + 0x1p-40), WNNDataType_Float16, 1 + 0x1p-10);
    require_float(F(1 + 0x1p-11), WNNDataType_Float16, 1);
    require_float(F(1 + 3 * 0x1p-11 - 0x1p-40), WNNDataType_Float16, 1 + 0x1p-10);
    require_float(F(0x1p-25 + 0x1p-60), WNNDataType_Float16, 0x1p-24);
    require_float(F(0x1p-25), WNNDataType_Float16, 0);
    for (unsigned i = 0; i < 200000; i++) {
        double value;
        uint64_t bits = random_bits();
        if (i % 2) // near the range of float16
            bits = (bits & ~(UINT64_C(0x7FF) << 52)) | (uint64_t)(1023 - 28 + bits % 46) << 52;
        memcpy(&value, &bits, sizeof value);
        if (isnan(value))
            continue;
        require_float(F(value), WNNDataType_Float16, exact_half(nearest_half(value)));
        require_float(F(value), WNNDataType_Float32, (double)(float)value);
    }
}

static void test_store(void)
{
    for (int t = WNNDataType_Float32; t <= WNNDataType_Uint4; t++) {
        WNNDataType type = (WNNDataType)t;
        unsigned char data[8 * 7 + 1];
        memset(data, 0xA5, sizeof data);
        for (size_t i = 0; i < 7; i++)
            wnn_number_store(wnn_number_convert(I((int64_t)i - 3), type), type, data, i);
        for (size_t i = 0; i < 7; i++) {
            double expected = (double)i - 3;
            if (!wnn_dtype_is_signed(type) && expected < 0)
                expected = 0;
            REQUIRE(wnn_number_double(wnn_number_load(type, data, i)) == expected);
        }
        // Nothing beyond it is touched, half a byte included.
        if (wnn_dtype_bits(type) == 4)
            REQUIRE_EQUAL_INT(data[3] & 0xF0, 0xA0);
        REQUIRE_EQUAL_INT(data[wnn_dtype_bytes(type, 7)], 0xA5);
    }
    REQUIRE_EQUAL_INT(wnn_dtype_bytes(WNNDataType_Uint4, 7), 4);
    REQUIRE_EQUAL_INT(wnn_dtype_bytes(WNNDataType_Int4, 0x7FFFFFFF), 0x40000000);
    REQUIRE_EQUAL_INT(wnn_dtype_bytes(WNNDataType_Float16, 7), 14);
    REQUIRE(wnn_dtype_bytes(WNNDataType_Int64, 0x7FFFFFFF) == 17179869176u);
    char buffer[WNN_DTYPES_TEXT];
    REQUIRE_EQUAL_STR(wnn_dtypes_text(F32, buffer), "float32");
    REQUIRE_EQUAL_STR(wnn_dtypes_text(F32 | U8, buffer), "float32 or uint8");
    REQUIRE_EQUAL_STR(wnn_dtypes_text(F32 | F16 | I32 | U32 | I64 | U64 | I8 | U8 | I4 | U4, buffer),
                      "float32, float16, int32, uint32, int64, uint64, int8, uint8, int4 or uint4");
    REQUIRE(!wnn_dtype_valid(WNNDataType_Undefined) && !wnn_dtype_valid((WNNDataType)11) &&
            !wnn_dtype_valid((WNNDataType)-1));
}

// ---------------------------------------------------------------------------------------------------------------
// Shapes
// ---------------------------------------------------------------------------------------------------------------

static void test_shapes(void)
{
    size_t count = 99;
    struct shape big = {8, {1, 1, 1, WNN_MAX_DIMENSION, 1, 1, 1, 1}}, out;
    REQUIRE(wnn_shape_count(&big, &count) && count == WNN_MAX_DIMENSION);
    REQUIRE(!wnn_shape_count(&(struct shape){2, {65536, 32768}}, &count));
    REQUIRE(wnn_shape_count(&(struct shape){2, {65535, 32768}}, &count) && count == 2147450880u);
    REQUIRE(!wnn_shape_count(&(struct shape){8, {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u}}, &count));
    REQUIRE(!wnn_shape_count(&(struct shape){4, {65536, 65536, 65536, 65536}}, &count)); // 2^64
    REQUIRE(wnn_shape_count(&(struct shape){2, {5, 0}}, &count) && count == 0);
    REQUIRE_EQUAL_INT(wnn_shape_elements(&(struct shape){0}), 1);

    const struct shape scalar = {0}, a = {3, {4, 1, 3}}, c = {2, {2, 1}}, bad = {1, {2}};
    REQUIRE(wnn_shape_broadcast(&a, &c, &out) && wnn_shape_equal(&out, &(struct shape){3, {4, 2, 3}}));
    REQUIRE(wnn_shape_broadcast(&scalar, &a, &out) && wnn_shape_equal(&out, &a));
    REQUIRE(wnn_shape_broadcast(&scalar, &scalar, &out) && out.rank == 0);
    REQUIRE(!wnn_shape_broadcast(&a, &bad, &out));
    REQUIRE(wnn_shape_broadcast_to(&c, &(struct shape){3, {4, 2, 3}}));
    REQUIRE(!wnn_shape_broadcast_to(&(struct shape){3, {4, 2, 3}}, &c));
    REQUIRE(!wnn_shape_broadcast_to(&bad, &(struct shape){1, {1}}));
    REQUIRE(!wnn_shape_broadcast_to(&(struct shape){2, {1, 1}}, &(struct shape){1, {1}}));
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(&(struct shape){3, {2, 3, 4}}, strides);
    REQUIRE(strides[0] == 12 && strides[1] == 4 && strides[2] == 1);
    wnn_shape_broadcast_strides(&c, &(struct shape){3, {4, 2, 3}}, strides);
    REQUIRE(strides[0] == 0 && strides[1] == 1 && strides[2] == 0);
    out = a;
    REQUIRE(wnn_shape_append(&out, a.dim, 3) && out.rank == 6 && out.dim[5] == 3);
    REQUIRE(!wnn_shape_append(&out, a.dim, 3) && out.rank == WNN_MAX_RANK + 1);
    char text[WNN_SHAPE_TEXT];
    REQUIRE_EQUAL_STR(wnn_shape_text(&scalar, text), "[]");
    REQUIRE_EQUAL_STR(wnn_shape_text(&(struct shape){8, {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u}}, text),
                      "[4294967295, 4294967295, 4294967295, 4294967295, 4294967295, 4294967295, 4294967295, "
                      "4294967295]");
}

// ---------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------

static bool is_utf8(const char *bytes)
{
    return wnn_string_is_utf8((struct string){bytes, strlen(bytes)});
}

static void require_quoted(const char *bytes, size_t length, size_t limit, const char *expected)
{
    char buffer[64];
    struct text text = TEXT(buffer);
    wnn_text_add(&text, "%s", "");
    wnn_text_add_quoted(&text, (struct string){bytes, length}, limit);
    buffer[text.length] = 0;
    REQUIRE_EQUAL_STR(buffer, expected);
}

static void test_text(void)
{
    REQUIRE(is_utf8("") && is_utf8("a\u00E9\u7D4C\U0001F600") && is_utf8("\xF4\x8F\xBF\xBF") &&
            is_utf8("\xEF\xBF\xBF"));
    static const char *const bad[] = {"\x80",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xC3",
                                      "\xE0\x80\x80",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xED\xBF\xBF",
                                      "\xE4\xBD",
                                      "\xF0\x80\x80\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFF",
                                      "a\xFE",
                                      "\xC3\x28"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        REQUIRE(!is_utf8(bad[i]));
    require_quoted("plain \u7D4C", 9, 100, "plain \u7D4C");
    require_quoted("a\0b\x7F\n", 5, 100, "a\\u{0}b\\u{7F}\\u{A}");
    require_quoted("\u202E\u2066\u200F\uFEFF", 12, 100, "\\u{202E}\\u{2066}\\u{200F}\\u{FEFF}");
    require_quoted("\u061C\u200B\u2060\U000E0041", 12, 100, "\\u{61C}\\u{200B}\\u{2060}\\u{E0041}");
    require_quoted("\u0645\u200D\u200C\u0645", 10, 100,
                   "\u0645\u200D\u200C\u0645"); // letters that join, or do not
    require_quoted("a\xFF\xC3", 3, 100, "a\\xFF\\xC3");
    require_quoted("0123456789", 10, 5, "01234...");
    require_quoted("0123\u7D4C9", 8, 5, "0123\u7D4C...");

    // Cut at a character, marked, and full from then on.
    char small[12];
    struct text text = TEXT(small);
    wnn_text_add(&text, "0123456789");
    REQUIRE_EQUAL_STR(small, "0123456789");
    wnn_text_add(&text, "ab");
    REQUIRE_EQUAL_STR(small, "01234567...");
    wnn_text_add(&text, "more");
    REQUIRE_EQUAL_STR(small, "01234567...");
    for (int lead = 0; lead < 6; lead++) {
        text = TEXT(small);
        wnn_text_add(&text, "%.*s\u7D4C\u7D4C\u7D4C\u7D4C", lead, "abcdef");
        REQUIRE(strlen(small) < sizeof small && is_utf8(small));
        REQUIRE_EQUAL_STR(small + strlen(small) - 3, "...");
    }
    REQUIRE(wnn_string_equal(wnn_string((WNNStringView){"a\0b", 3}), (struct string){"a\0b", 3}));
    REQUIRE(!wnn_string_equal(STRING("a"), STRING("ab")));
    REQUIRE_EQUAL_INT(wnn_string((WNNStringView)WNN_STRING_VIEW_INIT).length, 0);
    REQUIRE_EQUAL_INT(wnn_string((WNNStringView){"abc", WNN_STRLEN}).length, 3);

    struct error error = {0};
    REQUIRE(!wnn_fail(&error, WNNStatus_TypeError, "first %d", 1) &&
            !wnn_fail(&error, WNNStatus_UnknownError, "second"));
    REQUIRE_EQUAL_INT(error.status, WNNStatus_TypeError);
    REQUIRE_EQUAL_VIEW(wnn_error_message(&error), "first 1");
    error = (struct error){0};
    wnn_fail(&error, WNNStatus_TypeError, "%01200d", 7);
    REQUIRE_EQUAL_INT(wnn_error_message(&error).length, WNN_MESSAGE_SIZE - 1);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------

static int live_blocks;
static bool fails;

static void *allocate(size_t size, size_t alignment, void *userdata)
{
    REQUIRE(userdata == &live_blocks && size > 0 && alignment == WNN_ALIGNMENT);
    void *memory = fails ? NULL : aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    live_blocks += memory != NULL;
    return memory;
}

static void release(void *memory, size_t size, size_t alignment, void *userdata)
{
    REQUIRE(memory && size > 0 && alignment == WNN_ALIGNMENT && userdata == &live_blocks);
    live_blocks--;
    free(memory);
}

static void test_allocator(void)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, &(WNNAllocator){NULL, allocate, release, &live_blocks}, 10000);
    char *a = wnn_allocate(&allocator, 1000), *c = wnn_allocate_zero(&allocator, 0);
    REQUIRE(a && c && (uintptr_t)a % WNN_ALIGNMENT == 0 && (uintptr_t)c % WNN_ALIGNMENT == 0);
    memset(a, 1, 1000 + WNN_SLACK);
    REQUIRE(c[0] == 0);
    uint64_t now = allocator.now;
    REQUIRE(now >= 1000 && now < 2000 && allocator.peak == now);
    REQUIRE(!wnn_allocate(&allocator, 9500)); // above the limit
    REQUIRE(!wnn_allocate(&allocator, SIZE_MAX) && !wnn_allocate(&allocator, SIZE_MAX - 64));
    fails = true;
    REQUIRE(!wnn_allocate(&allocator, 1));
    fails = false;
    REQUIRE(allocator.now == now && allocator.peak == now);
    wnn_release(&allocator, a);
    wnn_release(&allocator, NULL);
    REQUIRE(allocator.now < now && allocator.peak == now);
    wnn_release(&allocator, c);
    REQUIRE_EQUAL_INT(live_blocks, 0);
    REQUIRE(allocator.now == 0);
}

// Whether the mapping that an address lies in is one for which huge pages have been asked
// (proc_pid_smaps(5)).
static bool is_for_huge_pages(const void *address)
{
    char line[4096];
    unsigned long long begin, end;
    bool inside = false, huge = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && !huge && fgets(line, sizeof line, file))
        if (sscanf(line, "%llx-%llx ", &begin, &end) == 2)
            inside = (uintptr_t)address >= begin && (uintptr_t)address < end;
        else
            huge = inside && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg");
    if (file)
        fclose(file);
    return huge;
}

// Of large memory what is whole pages, where the system tells.
static void test_huge_pages(void)
{
    enum {
        SIZE = 9 << 20
    };
    char *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    madvise(mapped, SIZE, MADV_HUGEPAGE);
    bool told = is_for_huge_pages(mapped + SIZE / 2);
    munmap(mapped, SIZE);
    struct allocator allocator;
    wnn_allocator_init(&allocator, NULL, 0);
    char *memory[] = {wnn_allocate(&allocator, SIZE), wnn_allocate_bare(&allocator, SIZE)};
    for (unsigned i = 0; i < 2; i++) {
        REQUIRE(memory[i]);
        REQUIRE(!told || is_for_huge_pages(memory[i] + SIZE / 2));
        memset(memory[i], 1, SIZE);
        wnn_release(&allocator, memory[i]);
    }
    REQUIRE(allocator.now == 0);
}

static void test_arena(void)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, &(WNNAllocator){NULL, allocate, release, &live_blocks}, 0);
    struct arena arena;
    wnn_arena_init(&arena, &allocator);
    struct arena_mark empty = wnn_arena_mark(&arena);
    REQUIRE(wnn_arena_copy(&arena, NULL, 0));
    int *first = wnn_arena_copy(&arena, &(int){42}, sizeof(int));
    struct arena_mark mark = wnn_arena_mark(&arena);
    for (size_t size = 1; size < 300000; size = size * 3 + 1) {
        unsigned char *memory = wnn_arena_allocate(&arena, size);
        REQUIRE(memory && (uintptr_t)memory % _Alignof(max_align_t) == 0);
        REQUIRE(memory[0] == 0 && memory[size - 1] == 0);
        memset(memory, 0xFF, size);
    }
    REQUIRE_EQUAL_INT(*first, 42);
    wnn_arena_rewind(&arena, mark);
    unsigned char *again = wnn_arena_allocate(&arena, 64); // used before
    for (int i = 0; i < 64; i++)
        REQUIRE(again[i] == 0);
    REQUIRE(!wnn_arena_allocate(&arena, SIZE_MAX) && !wnn_arena_allocate(&arena, SIZE_MAX / 2));
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        items = wnn_arena_grow(&arena, items, i, &capacity, sizeof *items);
        REQUIRE(items && capacity > i);
        items[i] = i;
    }
    for (uint32_t i = 0; i < 5000; i++)
        REQUIRE(items[i] == i);
    fails = true;
    REQUIRE(!wnn_arena_allocate(&arena, 10000000));
    fails = false;
    wnn_arena_rewind(&arena, empty);
    REQUIRE_EQUAL_INT(live_blocks, 0);
    wnn_arena_free(&arena);
}

static int loans_back;

static void give_back(const void *data, size_t bytes, void *userdata1, void *userdata2)
{
    (void)data, (void)bytes, (void)userdata1, (void)userdata2;
    loans_back++;
}

// Equal strings are one, whoever lives on.
static void test_string_pool(void)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, &(WNNAllocator){NULL, allocate, release, &live_blocks}, 0);
    int blocks = live_blocks;
    struct string_pool *pool = wnn_string_pool_create(&allocator), *reader = wnn_string_pool_ref(pool);
    static struct string kept[3000];
    int missed = 0;
    bool full;
    for (int i = 0; i < 3000; i++) {
        char text[24];
        int length = snprintf(text, sizeof text, "%d", i / 2);
        kept[i] = wnn_string_pool_add(pool, (struct string){text, (size_t)length}, 0, &full);
        REQUIRE(!full && kept[i].data != text && kept[i].data[length] == 0);
        REQUIRE_EQUAL_INT(atoi(kept[i].data), i / 2);
        missed += i % 2 == 1 && kept[i].data != kept[i - 1].data;
    }
    // Nearly all are found again, at once and later.
    for (int i = 0; i < 3000; i++)
        missed += wnn_string_pool_add(pool, kept[i], 0, &full).data != kept[i].data;
    uint64_t bytes = wnn_string_pool_bytes(pool);
    REQUIRE(missed < 15 && bytes < 10 * 2 + 90 * 3 + 900 * 4 + 500 * 5 + 15 * 5);
    REQUIRE(!wnn_string_pool_add(pool, STRING("new"), bytes + 3, &full).data && full);
    REQUIRE(wnn_string_pool_add(pool, STRING("new"), bytes + 4, &full).data && !full);
    REQUIRE(!wnn_string_pool_add(pool, STRING("newer"), 1, &full).data && full);
    REQUIRE(wnn_string_pool_add(pool, STRING("new"), 1, &full).data && !full);
    wnn_string_pool_unref(pool);
    REQUIRE_EQUAL_INT(atoi(kept[2999].data), 1499);
    wnn_string_pool_unref(reader);
    wnn_string_pool_unref(wnn_string_pool_ref(NULL));
    REQUIRE_EQUAL_INT(live_blocks, blocks);
}

static void test_constant(void)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, NULL, 0);
    struct constant *own = wnn_constant_create(&allocator, 100);
    REQUIRE(own && !own->external && own->bytes == 100 && (uintptr_t)own->data % WNN_ALIGNMENT == 0);
    REQUIRE(wnn_constant_ref(own) == own);
    wnn_constant_unref(own);
    memset((void *)(uintptr_t)own->data, 1, 100 + WNN_SLACK);
    wnn_constant_unref(own);
    WNNExternalBytes loan = WNN_EXTERNAL_BYTES_INIT;
    loan.data = "x";
    loan.byteLength = 1;
    loan.release = give_back;
    struct constant *external = wnn_constant_lend(&allocator, &loan);
    REQUIRE(external && external->external && external->data == loan.data);
    wnn_constant_ref(external);
    wnn_constant_unref(external);
    REQUIRE_EQUAL_INT(loans_back, 0);
    wnn_constant_unref(external);
    REQUIRE_EQUAL_INT(loans_back, 1);
    wnn_constant_unref(NULL);
    REQUIRE(allocator.now == 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Loops
// ---------------------------------------------------------------------------------------------------------------

static void run_backwards(const struct parallel *parallel, size_t count,
                          void (*task)(void *argument, size_t index), void *argument)
{
    (void)parallel;
    while (count-- > 0)
        task(argument, count);
}

struct coverage {
    unsigned char *times;
    size_t count, pieces, shortest;
};

static void cover(void *argument, size_t begin, size_t end)
{
    struct coverage *coverage = argument;
    REQUIRE(begin < end && end <= coverage->count);
    for (size_t i = begin; i < end; i++)
        coverage->times[i]++;
    coverage->pieces++;
    if (end - begin < coverage->shortest)
        coverage->shortest = end - begin;
}

static void test_parallel(void)
{
    static const size_t counts[] = {0, 1, 2, 7, 63, 64, 65, 1000, 4097};
    static const size_t grains[] = {0, 1, 3, 64, 1000, SIZE_MAX};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
            for (unsigned threads = 1; threads < 20; threads += 3) {
                struct parallel parallel = {.run = run_backwards, .threads = threads};
                struct coverage coverage = {calloc(counts[c] + 1, 1), counts[c], 0, SIZE_MAX};
                REQUIRE(coverage.times);
                wnn_parallel_for(&parallel, counts[c], grains[g], cover, &coverage);
                for (size_t i = 0; i < counts[c]; i++)
                    REQUIRE_EQUAL_INT(coverage.times[i], 1);
                REQUIRE((coverage.pieces == 0) == (counts[c] == 0));
                REQUIRE(coverage.pieces <= 1 || coverage.shortest >= grains[g]);
                REQUIRE(threads > 1 || coverage.pieces <= 1);
                free(coverage.times);
            }
}

// ---------------------------------------------------------------------------------------------------------------
// Digests
// ---------------------------------------------------------------------------------------------------------------

// `count` times the text, in pieces of `piece` bytes.
static void require_digest(const char *text, size_t count, size_t piece, const char *expected)
{
    size_t length = strlen(text), total = length * count;
    char *all = malloc(total + 1), hex[2 * WNN_SHA256_BYTES + 1];
    REQUIRE(all);
    for (size_t i = 0; i < count; i++)
        memcpy(all + i * length, text, length);
    struct sha256 hash;
    unsigned char digest[WNN_SHA256_BYTES];
    wnn_sha256_begin(&hash);
    for (size_t at = 0; at < total; at += piece)
        wnn_sha256_add(&hash, all + at, total - at < piece ? total - at : piece);
    wnn_sha256_end(&hash, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    REQUIRE_EQUAL_STR(hex, expected);
    free(all);
}

static void test_digests(void)
{
    require_digest("", 1, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (size_t piece = 1; piece < 200; piece++) {
        require_digest("abc", 1, piece, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        require_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, piece,
                       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
    require_digest("a", 1000000, 777, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// In pieces of whole lines or in one, on any threads, with a last line of any length; a changed bit is seen.
static void test_checksum(void)
{
    static unsigned char data[2 * WNN_CHECKSUM_CHUNK + 3 * WNN_CHECKSUM_LINE + 5];
    const struct parallel parallel = {.run = run_backwards, .threads = 3};
    const size_t sizes[] = {0,
                            1,
                            WNN_CHECKSUM_LINE,
                            WNN_CHECKSUM_CHUNK - 1,
                            WNN_CHECKSUM_CHUNK,
                            WNN_CHECKSUM_CHUNK + 1,
                            2 * WNN_CHECKSUM_CHUNK,
                            sizeof data};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t whole = wnn_checksum(&wnn_serial, data, sizes[s]);
        REQUIRE(wnn_checksum(&parallel, data, sizes[s]) == whole);
        struct checksum checksum;
        wnn_checksum_begin(&checksum);
        for (size_t at = 0, some; at < sizes[s]; at += some) {
            some = WNN_CHECKSUM_LINE * (1 + at / 97 % 9001);
            some = some < sizes[s] - at ? some : sizes[s] - at;
            wnn_checksum_add(&checksum, data + at, some);
        }
        REQUIRE(wnn_checksum_end(&checksum) == whole);
        for (size_t at = 0; at < sizes[s]; at += 1 + sizes[s] / 7) {
            data[at] ^= 4;
            REQUIRE(wnn_checksum(&parallel, data, sizes[s]) != whole);
            data[at] ^= 4;
        }
        REQUIRE(s == 0 || wnn_checksum(&wnn_serial, data, sizes[s] - 1) != whole || data[sizes[s] - 1] == 0);
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_half());
    CASE(test_integers());
    CASE(test_floats());
    CASE(test_store());
    CASE(test_shapes());
    CASE(test_text());
    CASE(test_allocator());
    CASE(test_huge_pages());
    CASE(test_arena());
    CASE(test_string_pool());
    CASE(test_constant());
    CASE(test_parallel());
    CASE(test_digests());
    CASE(test_checksum());
    return cases_end();
}
