// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/require.h"

#include "conformance/unit/processor.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#define MAX_NAME 128

jmp_buf case_exit;
void (*case_explain)(void);

static struct {
    char **patterns; // ends with NULL
    bool list;
    bool running; // `name`, by this thread of this process
    pid_t process;
    pthread_t thread;
    bool left_out;
    char name[MAX_NAME];
    unsigned passed;
    char (*failed)[MAX_NAME];
    unsigned failed_count;
} cases;

void cases_begin(int argc, char **argv)
{
    play_processor();
    cases.list = argc > 1 && strcmp(argv[1], "--list") == 0;
    cases.patterns = argv + 1 + cases.list;
    cases.process = getpid();
    cases.thread = pthread_self();
    setvbuf(stdout, NULL, _IOLBF, 0); // in order with what is required
}

bool case_option(int *argc, char ***argv, const char *format, void *value)
{
    if (*argc < 2 || sscanf((*argv)[1], format, value) != 1)
        return false;
    (*argc)--;
    (*argv)++;
    return true;
}

const char *case_name(const char *format, ...)
{
    static char name[MAX_NAME];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return name;
}

static bool is_wanted(const char *name)
{
    for (char **pattern = cases.patterns; *pattern; pattern++)
        if (fnmatch(*pattern, name, 0) == 0)
            return true;
    return !*cases.patterns;
}

bool case_begin(const char *name)
{
    static const char prefix[] = "test_";
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
        name += sizeof prefix - 1;
    snprintf(cases.name, sizeof cases.name, "%s", name);
    char *parentheses = strstr(cases.name, "()");
    if (parentheses && !parentheses[2])
        *parentheses = '\0';
    bool wanted = is_wanted(cases.name);
    cases.left_out |= !wanted || cases.list;
    if (wanted && cases.list) {
        puts(cases.name);
        cases.passed++;
    }
    if (!wanted || cases.list)
        return false;
    cases.running = true;
    return true;
}

void case_end(void)
{
    if (cases.running)
        cases.passed++;
    cases.running = false;
}

bool cases_complete(void)
{
    return !cases.left_out && cases.failed_count == 0;
}

static void say_failures(void)
{
    if (cases.failed_count > 0)
        fprintf(stderr, "%u of %u cases failed:\n", cases.failed_count, cases.passed + cases.failed_count);
    for (unsigned i = 0; i < cases.failed_count; i++)
        fprintf(stderr, "  %s\n", cases.failed[i]);
}

int cases_end(void)
{
    unsigned count = cases.passed + cases.failed_count;
    say_failures();
    free(cases.failed);
    if (count == 0 && *cases.patterns) {
        fprintf(stderr, "no case matches %s\n", *cases.patterns);
        return 2;
    }
    if (!cases.list && cases.failed_count == 0)
        printf("%u cases passed\n", count);
    return cases.failed_count > 0;
}

int cases_skip(const char *why)
{
    fprintf(stderr, "skipped: %s\n", why);
    say_failures();
    return cases.failed_count > 0 ? 1 : SKIPPED;
}

void case_fail(void)
{
    bool here = cases.process == getpid() && pthread_equal(cases.thread, pthread_self());
    if (cases.running)
        fprintf(stderr, "in case %s\n", cases.name);
    if (case_explain)
        case_explain();
    char(*failed)[MAX_NAME] = NULL;
    if (cases.running && here)
        failed = realloc(cases.failed, (cases.failed_count + 1) * sizeof *failed);
    if (!failed) {
        if (here)
            say_failures();
        exit(1);
    }
    cases.failed = failed;
    memcpy(failed[cases.failed_count++], cases.name, MAX_NAME);
    cases.running = false;
    longjmp(case_exit, 1);
}

// ---------------------------------------------------------------------------------------------------------------

void require_equal_int(intmax_t got, intmax_t expected, const char *what, const char *file, int line)
{
    if (got == expected)
        return;
    fprintf(stderr, "%s:%d: %s is %" PRIdMAX "; expected %" PRIdMAX "\n", file, line, what, got, expected);
    case_fail();
}

void require_equal_text(const char *got, size_t got_length, const char *expected, size_t expected_length,
                        const char *what, const char *file, int line)
{
    if (got_length == expected_length && (got_length == 0 || memcmp(got, expected, got_length) == 0))
        return;
    fprintf(stderr, "%s:%d: %s is \"%.*s\"; expected \"%s\"\n", file, line, what, (int)got_length, got,
            expected);
    case_fail();
}

void require_contains(const char *got, const char *part, const char *what, const char *file, int line)
{
    if (strstr(got, part))
        return;
    fprintf(stderr, "%s:%d: %s is \"%s\"; expected \"%s\" in it\n", file, line, what, got, part);
    case_fail();
}

void require_equal_float(float got, float expected, const char *what, const char *file, int line)
{
    if (memcmp(&got, &expected, sizeof got) == 0)
        return;
    fprintf(stderr, "%s:%d: %s is %.9g (%a); expected %.9g (%a)\n", file, line, what, (double)got,
            (double)got, (double)expected, (double)expected);
    case_fail();
}
