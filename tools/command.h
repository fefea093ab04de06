// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `webnn`. Each takes its own arguments (argv[0] is its name) and returns an exit code.

#ifndef TOOLS_COMMAND_H_
#define TOOLS_COMMAND_H_

#include "lib/status.h"

enum {
    CODE_GOOD = 0,
    CODE_FAILED = 1,
    CODE_USAGE = 2
};

struct command {
    const char *name;
    const char *summary; // one line
    const char *help;    // everything
    int (*run)(int argc, char **argv);
};

extern const struct command command_run, command_compare, command_compile, command_info, command_graph,
    command_bench, command_convert, command_ops;

// Prints the help on standard output; CODE_GOOD.
int command_help(const struct command *command);

// Says where the help is, on standard error; CODE_USAGE.
int command_usage(const struct command *command);

// getopt_long of -h and these options; what is wrong has been printed when it returns '?'.
struct option;
int command_option(int argc, char **argv, const struct option *options);

// Prints "webnn: " and a message on standard error.
int command_wrong(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));     // and then like command_usage
int command_failed(const struct error *error); // CODE_FAILED

#endif
