// SPDX-License-Identifier: Apache-2.0
//
// `webnn`: runs, shows and measures neural networks with libwebnn.

#include "tools/command.h"
#include "tools/bounds.h"
#include "model/mapping.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
    fputs("\n  webnn help COMMAND says everything about a command, with examples.\n"
          "  webnn help limits says how much is read of files.\n"
          "  webnn --version prints the version.\n\n"
          "Networks are models of ONNX, .webnn text files with their weights in a .safetensors file beside "
          "them,\n"
          "or built-in architectures with random weights (webnn help bench lists them).\n\n"
          "Try this in the source folder:\n\n"
          "  webnn run --draw --labels=tools/digits/labels.txt tools/digits/digits.webnn "
          "tools/digits/images/digit*.png\n\n"
          "Exit codes: 0 all went well, 1 the work failed, 2 the command line is wrong.\n",
          file);
}

static void print_limits(void)
{
    printf(
        "How much webnn reads. What is longer or larger is refused.\n\n"
        "  %12zu  bytes of a .webnn file\n"
        "  %12zu  bytes of constants that a .webnn file makes of one number each, together\n"
        "  %12zu  bytes of the header of a .safetensors file; its data may have any length\n"
        "  %12zu  bytes of weights from a pipe or a device\n"
        "  %12zu  bytes of arrays and raw numbers from a pipe or a device, but never more than\n"
        "                an array says that it has, or one input of several takes\n"
        "  %12zu  bytes of an image\n"
        "  %12u  pixels of an image, and %u of its width and height\n"
        "  %12u  scans of a JPEG image; from 16 on, times its pixels at most %llu\n"
        "  %12zu  bytes of a file of labels\n"
        "  %12zu  bytes that a command of bench --vs prints\n\n"
        "Weights and arrays in files are mapped, not copied. A file that is changed or shortened meanwhile\n"
        "is an error at the end.\n",
        MAX_GRAPH_TEXT, MAX_FILLED, MAX_WEIGHTS_HEADER, MAX_WEIGHTS_STREAM, MAX_DATA_STREAM, MAX_IMAGE_FILE,
        MAX_IMAGE_PIXELS, MAX_IMAGE_SIDE, MAX_JPEG_SCANS, MAX_JPEG_WORK, MAX_LABELS, MAX_PEER_OUTPUT);
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
    char *message;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&message, format, arguments) < 0)
        message = must(NULL);
    va_end(arguments);
    terminal_line(stderr, "webnn: ", message);
    free(message);
    return command_usage(command);
}

int command_failed(const struct error *error)
{
    terminal_line(stderr, "webnn: ", error->message[0] ? error->message : wnnStatusName(error->status).data);
    return CODE_FAILED;
}

int command_option(int argc, char **argv, const struct option *options)
{
    opterr = 0; // its messages would show what was typed as it is
    int option = getopt_long(argc, argv, ":h", options, NULL);
    if (option != '?' && option != ':')
        return option;
    const char *word = SHOWN_STRING(argv[optind - 1]);
    if (option == ':')
        fprintf(stderr, "webnn: %s needs a value\n", word);
    else if (optopt && strncmp(argv[optind - 1], "--", 2) == 0)
        fprintf(stderr, "webnn: %s: this option takes no value\n", word);
    else
        fprintf(stderr, "webnn: unrecognized option %s\n", word);
    return '?';
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
        printf("webnn %s\n", wnnGetVersionText().data);
        return CODE_GOOD;
    }
    if (help && argc == 2) {
        print_overview(stdout);
        return CODE_GOOD;
    }
    if (help && strcmp(argv[2], "limits") == 0) {
        print_limits();
        return CODE_GOOD;
    }
    const struct command *command = find(help ? argv[2] : word);
    if (!command) {
        fprintf(stderr, "webnn: there is no command %s\nTry: webnn help\n",
                SHOWN_STRING(help ? argv[2] : word));
        return CODE_USAGE;
    }
    return help ? command_help(command) : command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    struct error error = {WNNStatus_Success, ""};
    mapping_guard();
    int code = dispatch(argc, argv);
    if (code == CODE_GOOD && !mapping_check(&error))
        code = command_failed(&error);
    // A full disk or a closed pipe is a failure too.
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (code == CODE_GOOD)
            perror("webnn: standard output");
        return code == CODE_GOOD ? CODE_FAILED : code;
    }
    return code;
}
