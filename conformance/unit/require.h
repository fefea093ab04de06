// SPDX-License-Identifier: Apache-2.0
//
// Tests are programs: 0 passed, 1 failed, 77 skipped. A requirement that does not hold prints both sides and
// ends the program.

#ifndef CONFORMANCE_UNIT_REQUIRE_H_
#define CONFORMANCE_UNIT_REQUIRE_H_

#include <webnn/webnn.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77

// Whether the program is slowed down by a sanitizer, so that time limits mean nothing; and whether that is
// the thread sanitizer, which does not see how a library that was built without it (pthreadpool) orders its
// threads.
#if defined(__has_feature)
#define HAS_FEATURE(feature) __has_feature(feature)
#else
#define HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define THREAD_SANITIZED 1
#else
#define THREAD_SANITIZED 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer) || HAS_FEATURE(memory_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED THREAD_SANITIZED
#endif

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define REQUIRE_EQUAL_INT(got, expected)                                                                     \
    require_equal_int((intmax_t)(got), (intmax_t)(expected), #got, __FILE__, __LINE__)

// The dimensions of a shape: as two arguments, and as a list.
#define DIMS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define LIST(...) ((WNNUint32List){DIMS(__VA_ARGS__)})

// Two C strings.
#define REQUIRE_EQUAL_STR(got, expected)                                                                     \
    require_equal_text((got), strlen(got), (expected), strlen(expected), #got, __FILE__, __LINE__)

// A WNNStringView and a C string.
#define REQUIRE_EQUAL_VIEW(got, expected)                                                                    \
    require_equal_text((got).data, (got).length, (expected), strlen(expected), #got, __FILE__, __LINE__)

// A C string that holds another.
#define REQUIRE_CONTAINS(got, part)                                                                          \
    do {                                                                                                     \
        if (!strstr((got), (part))) {                                                                        \
            fprintf(stderr, "%s:%d: %s is \"%s\"; expected \"%s\" in it\n", __FILE__, __LINE__, #got, (got), \
                    (part));                                                                                 \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

// Floats of the same bits.
#define REQUIRE_EQUAL_FLOAT(got, expected)                                                                   \
    do {                                                                                                     \
        float got_ = (got), expected_ = (expected);                                                          \
        if (memcmp(&got_, &expected_, sizeof got_) != 0) {                                                   \
            fprintf(stderr, "%s:%d: %s is %.9g (%a); expected %.9g (%a)\n", __FILE__, __LINE__, #got,        \
                    (double)got_, (double)got_, (double)expected_, (double)expected_);                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static inline void require_equal_int(intmax_t got, intmax_t expected, const char *what, const char *file,
                                     int line)
{
    if (got == expected)
        return;
    fprintf(stderr, "%s:%d: %s is %" PRIdMAX "; expected %" PRIdMAX "\n", file, line, what, got, expected);
    exit(1);
}

static inline void require_equal_text(const char *got, size_t got_length, const char *expected,
                                      size_t expected_length, const char *what, const char *file, int line)
{
    if (got_length == expected_length && (got_length == 0 || memcmp(got, expected, got_length) == 0))
        return;
    fprintf(stderr, "%s:%d: %s is \"%.*s\"; expected \"%s\"\n", file, line, what, (int)got_length, got,
            expected);
    exit(1);
}

#endif
