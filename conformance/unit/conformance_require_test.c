// SPDX-License-Identifier: Apache-2.0
//
// What the programs of this folder are made of: a case that fails is named and the next one runs, patterns
// choose cases, and a skip does not hide a failure. The program runs itself with cases of which some fail.

#include "conformance/unit/require.h"

#include <sys/wait.h>
#include <unistd.h>

static const char *program;

static int run_subject(int argc, char **argv)
{
    bool skips = argc > 1 && strcmp(argv[1], "skip") == 0;
    cases_begin(argc - skips, argv + skips);
    CASE_AS("first fails", REQUIRE_EQUAL_INT(1 + 1, 3));
    CASE_AS("second", puts("second runs"));
    CASE_AS("child", {
        pid_t child = fork();
        if (child == 0)
            REQUIRE(!"the child ends here");
        int status = 0;
        REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    });
    return skips ? cases_skip("for a reason") : cases_end();
}

// The exit code and all that is printed.
static int run(const char *arguments, char output[4096])
{
    char command[512];
    snprintf(command, sizeof command, "'%s' subject %s 2>&1", program, arguments);
    FILE *pipe = popen(command, "r");
    REQUIRE(pipe);
    output[fread(output, 1, 4095, pipe)] = '\0';
    int status = pclose(pipe);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_failure(void)
{
    char output[4096];
    REQUIRE_EQUAL_INT(run("", output), 1);
    REQUIRE_CONTAINS(output, "1 + 1 is 2; expected 3");
    REQUIRE_CONTAINS(output, "second runs");
    REQUIRE_CONTAINS(output, "1 of 3 cases failed:\n  first fails\n");
}

static void test_patterns(void)
{
    char output[4096];
    REQUIRE_EQUAL_INT(run("'sec*'", output), 0);
    REQUIRE_EQUAL_STR(output, "second runs\n1 cases passed\n");
    REQUIRE_EQUAL_INT(run("third", output), 2);
    REQUIRE_EQUAL_INT(run("--list", output), 0);
    REQUIRE_EQUAL_STR(output, "first fails\nsecond\nchild\n");
}

static void test_skip(void)
{
    char output[4096];
    REQUIRE_EQUAL_INT(run("skip", output), 1);
    REQUIRE_EQUAL_INT(run("skip second", output), SKIPPED);
    REQUIRE_CONTAINS(output, "skipped: for a reason");
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "subject") == 0)
        return run_subject(argc - 1, argv + 1);
    cases_begin(argc, argv);
    CASE(test_failure());
    CASE(test_patterns());
    CASE(test_skip());
    return cases_end();
}
