// SPDX-License-Identifier: Apache-2.0
//
// `webnn`: runs, shows and measures neural networks with libwebnn.

#include "tools/command.h"
#include "tools/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&command_run, &command_info, &command_graph, &command_bench,
                                                 &command_ops};
#define COMMANDS (sizeof commands / sizeof *commands)

static void print_overview(FILE *file)
{
    fputs("webnn: runs, shows and measures neural networks with libwebnn\n\n"
          "Usage: webnn COMMAND [ARGUMENTS]\n\n",
          file);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs(
        "\n  webnn help COMMAND says everything about a command, with examples.\n"
        "  webnn --version prints the version.\n\n"
        "Networks are .webnn text files with their weights in a .safetensors file beside them, or built-in\n"
        "architectures with random weights (webnn help bench lists them).\n\n"
        "Try this in the source folder:\n\n"
        "  webnn run --draw --labels=tools/digits/labels.txt tools/digits/digits.webnn "
        "tools/digits/images/digit*.png\n\n"
        "Exit codes: 0 all went well, 1 the work failed, 2 the command line is wrong.\n",
        file);
}

int command_help(const struct command *command)
{
    fputs(command->help, stdout);
    return CODE_GOOD;
}

int command_usage(const struct command *command)
{
    fprintf(stderr, "Try: webnn help %s\n", command->name);
    return CODE_USAGE;
}

int command_wrong(const struct command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("webnn: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return command_usage(command);
}

int command_failed(const struct error *error)
{
    fprintf(stderr, "webnn: %s\n", error->message[0] ? error->message : wnnStatusName(error->status).data);
    return CODE_FAILED;
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return CODE_USAGE;
    }
    const char *word = argv[1];
    bool help = strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (strcmp(word, "--version") == 0) {
        printf("webnn %s\n", wnnGetVersion().data);
        return CODE_GOOD;
    }
    if (help && argc == 2) {
        print_overview(stdout);
        return CODE_GOOD;
    }
    const struct command *command = find(help ? argv[2] : word);
    if (!command) {
        fprintf(stderr, "webnn: there is no command %s\nTry: webnn help\n", help ? argv[2] : word);
        return CODE_USAGE;
    }
    return help ? command_help(command) : command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int code = dispatch(argc, argv);
    // A full disk or a closed pipe is a failure too.
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (code == CODE_GOOD)
            perror("webnn: standard output");
        return code == CODE_GOOD ? CODE_FAILED : code;
    }
    return code;
}
