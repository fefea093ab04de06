// SPDX-License-Identifier: Apache-2.0
//
// Tests are programs of cases: `main` makes what all cases need between cases_begin and cases_end, and says
// CASE(test_something()) for each of them. A requirement that does not hold prints both sides and leaves its
// case, the next one follows; outside of a case, in another thread or in a child process it ends the program.
//
//   lib_test              runs all cases
//   lib_test 'text*'      those whose names match a pattern of the shell
//   lib_test --list       names them
//
// Exit codes: 0 passed, 1 failed, 2 no case of that name, 77 skipped.

#ifndef CONFORMANCE_UNIT_REQUIRE_H_
#define CONFORMANCE_UNIT_REQUIRE_H_

#include <webnn/webnn.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdbool.h>
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

// The dimensions of a shape: as two arguments, and as a list.
#define DIMS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define LIST(...) ((WNNUint32List){DIMS(__VA_ARGS__)})

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

// Takes the arguments of the program, which are patterns and --list; those of its own come before them.
void cases_begin(int argc, char **argv);

// Takes the first argument if it is an option of the program's own, in the form of sscanf: "--seed=%u".
bool case_option(int *argc, char ***argv, const char *format, void *value);

// Returns the exit code, after saying which cases have failed.
int cases_end(void);

// The same where the rest cannot run: SKIPPED, unless a case has failed.
int cases_skip(const char *why);

// Whether all cases have run and passed so far, so that what they have left behind can be looked at.
bool cases_complete(void);

// A statement that is a case; its name is the call without test_ and empty parentheses.
#define CASE(...) CASE_AS(#__VA_ARGS__, __VA_ARGS__)

// The same by another name. Variables of the caller that the statement changes are lost where it fails.
#define CASE_AS(name, ...)                                                                                   \
    do {                                                                                                     \
        if (case_begin(name)) {                                                                              \
            if (!setjmp(case_exit))                                                                          \
                __VA_ARGS__;                                                                                 \
            case_end();                                                                                      \
        }                                                                                                    \
    } while (0)

// A name made of parts, in memory that the next one takes.
const char *case_name(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Says more of a case that has failed, if a program sets it.
extern void (*case_explain)(void);

// Leaves the case, which has failed and has said why.
void case_fail(void) __attribute__((noreturn));

extern jmp_buf case_exit;
bool case_begin(const char *name); // whether it is to run
void case_end(void);

// What setjmp might lose is said above.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

// ---------------------------------------------------------------------------------------------------------------
// Requirements
// ---------------------------------------------------------------------------------------------------------------

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                          \
            case_fail();                                                                                     \
        }                                                                                                    \
    } while (0)

#define REQUIRE_EQUAL_INT(got, expected)                                                                     \
    require_equal_int((intmax_t)(got), (intmax_t)(expected), #got, __FILE__, __LINE__)

// Two C strings.
#define REQUIRE_EQUAL_STR(got, expected)                                                                     \
    require_equal_text((got), strlen(got), (expected), strlen(expected), #got, __FILE__, __LINE__)

// A WNNStringView and a C string.
#define REQUIRE_EQUAL_VIEW(got, expected)                                                                    \
    require_equal_text((got).data, (got).length, (expected), strlen(expected), #got, __FILE__, __LINE__)

// A C string that holds another.
#define REQUIRE_CONTAINS(got, part) require_contains((got), (part), #got, __FILE__, __LINE__)

// Floats of the same bits.
#define REQUIRE_EQUAL_FLOAT(got, expected) require_equal_float((got), (expected), #got, __FILE__, __LINE__)

void require_equal_int(intmax_t got, intmax_t expected, const char *what, const char *file, int line);
void require_equal_text(const char *got, size_t got_length, const char *expected, size_t expected_length,
                        const char *what, const char *file, int line);
void require_contains(const char *got, const char *part, const char *what, const char *file, int line);
void require_equal_float(float got, float expected, const char *what, const char *file, int line);

#endif
