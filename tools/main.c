// SPDX-License-Identifier: Apache-2.0
//
// `webnn`: runs, shows and measures neural networks with libwebnn.

#include "tools/command.h"
#include "tools/bounds.h"
#include "tools/help_format.h"
#include "tools/memory.h"
#include "tools/model/mapping.h"
#include "tools/model/webnn/recorder.h"
#include "tools/terminal.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command *const commands[] = {&command_run,     &command_compare, &command_convert,
                                                 &command_compile, &command_info,    &command_graph,
                                                 &command_bench,   &command_ops};
#define COMMANDS (sizeof commands / sizeof *commands)

static void print_format(void)
{
    fputs(help_format, stdout);
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
        "  %12zu  bytes of an array that is compressed, before and after\n"
        "  %12zu  bytes of an image\n"
        "  %12u  pixels of an image, and %u of its width and height\n"
        "  %12u  scans of a JPEG image; from 16 on, times its pixels at most %llu\n"
        "  %12zu  bytes of a file of labels\n"
        "  %12zu  bytes that a command of bench --vs prints\n\n"
        "Weights and arrays in files are mapped, not copied. A file that is changed or shortened meanwhile\n"
        "is an error at the end.\n",
        MAX_GRAPH_TEXT, MAX_FILLED, MAX_WEIGHTS_HEADER, MAX_MODEL_STREAM, MAX_DATA_STREAM, MAX_UNPACKED,
        MAX_IMAGE_FILE, MAX_IMAGE_PIXELS, MAX_IMAGE_SIDE, MAX_JPEG_SCANS, MAX_JPEG_WORK, MAX_LABELS,
        MAX_PEER_OUTPUT);
}

// What webnn help tells beside the commands.
static const struct topic {
    const char *name, *summary;
    void (*print)(void);
} topics[] = {{"format", "the .webnn format: graphs as text, with weights in .safetensors", print_format},
              {"limits", "how much is read of files", print_limits}};
#define TOPICS (sizeof topics / sizeof *topics)

static void print_overview(FILE *file)
{
    fputs("webnn: runs, shows and measures neural networks with libwebnn\n\n"
          "Usage: webnn COMMAND [ARGUMENTS]\n"
          "       webnn help [COMMAND or TOPIC]\n"
          "       webnn --version\n\n"
          "Commands:\n\n",
          file);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nTopics:\n\n", file);
    for (size_t i = 0; i < TOPICS; i++)
        fprintf(file, "  %-8s %s\n", topics[i].name, topics[i].summary);
    fputs("\nwebnn help COMMAND, or webnn COMMAND --help, says everything about a command, with examples.\n\n"
          "Networks are models of ONNX or TensorFlow Lite, .webnn text files with their weights in a\n"
          ".safetensors file beside them, or built-in architectures with random weights (webnn help bench "
          "lists them).\n\n"
          "Try this in the source folder:\n\n"
          "  webnn run --draw --labels=tools/digits/labels.txt tools/digits/digits.webnn "
          "tools/digits/images/digit*.png\n\n"
          "Exit codes: 0 all went well, 1 the work failed, 2 the command line is wrong; of compare: 0 the\n"
          "same, 1 not the same, 2 everything else.\n",
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
    const char *message = error->message[0] ? error->message : wnnStatusName(error->status).data;
    terminal_line(stderr, "webnn: ", message);
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

// Names of commands, and then of topics if `end` lies beyond them.
struct name_list {
    size_t next, end;
};

static const char *next_name(void *argument)
{
    struct name_list *list = argument;
    size_t i = list->next++;
    return i >= list->end ? NULL : i < COMMANDS ? commands[i]->name : topics[i - COMMANDS].name;
}

static int fail_word(const char *word, bool is_help)
{
    struct name_list list = {0, is_help ? COMMANDS + TOPICS : COMMANDS};
    const char *meant = webnn_nearest_name((struct string){word, strlen(word)}, next_name, &list);
    fprintf(stderr, "webnn: there is no command %s%s%s%s%s\nTry: webnn help\n", is_help ? "or topic " : "",
            SHOWN_STRING(word), meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
    return CODE_USAGE;
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

// What stands behind "help": nothing, or one command or topic.
static int help(int count, char **words)
{
    if (count > 1) {
        fputs("webnn: help is of one command or topic\nTry: webnn help\n", stderr);
        return CODE_USAGE;
    }
    if (count == 0 || is_help(words[0])) {
        print_overview(stdout);
        return CODE_GOOD;
    }
    for (size_t i = 0; i < TOPICS; i++)
        if (strcmp(topics[i].name, words[0]) == 0) {
            topics[i].print();
            return CODE_GOOD;
        }
    const struct command *command = find(words[0]);
    return command ? command_help(command) : fail_word(words[0], true);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return CODE_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("webnn %s\n", wnnGetVersionText().data);
        return CODE_GOOD;
    }
    if (is_help(argv[1]))
        return help(argc - 2, argv + 2);
    const struct command *command = find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : fail_word(argv[1], false);
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
