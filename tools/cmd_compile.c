// SPDX-License-Identifier: Apache-2.0
//
// `webnn compile`: what building a graph takes, done once.

#include "tools/command.h"
#include "tools/compiled_file.h"
#include "tools/late_sizes.h"
#include "tools/load.h"
#include "tools/model/mapping.h"
#include "tools/standard_input.h"
#include "tools/target_file.h"
#include "tools/terminal.h"

#include <webnn/compiled.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "Compiles a graph for this machine and this library, and writes it with its weights in the\n"
    "form that kernels read. webnn run and webnn bench take such a file for GRAPH: it is\n"
    "mapped, not read, and is ready in milliseconds. Another library or processor refuses it.\n"
    "With --backend=gpu it is for the GPU and its driver, and has what that has compiled. With\n"
    "--target it is for another machine than this one.\n"
    "Sizes that the model leaves open, and --dim and --shape do not say, stay open: webnn run\n"
    "and webnn bench find them in the inputs, or are told by --dim and --shape. With\n"
    "--weightless the file is small: it says where the weights lie in the files of GRAPH, which\n"
    "webnn run takes as --weights.\n\n"
    "Usage: webnn compile [OPTIONS] GRAPH FILE\n\n"
    "GRAPH is a model of ONNX or TensorFlow Lite, a .webnn file or a built-in architecture. The\n"
    "name of FILE ends in .wnnc by convention; - is standard output.\n\n"
    "  --target=FILE     compiles for the machine on which webnn info --json has printed FILE, or\n"
    "                    for the one that FILE has been compiled for; the same library has to be\n"
    "                    there. The bytes are those that would have been written there\n"
    "  --portable        the file also holds what the model says, of which another library, for\n"
    "                    another processor or GPU, builds the graph anew. It is larger by the\n"
    "                    weights that kernels here read in a form of their own\n"
    "  --weightless      without the bytes of weights that lie in files, also beside "
    "--portable\n" SESSION_HELP "\nExamples:\n\n"
    "  webnn compile mobilenet_v2 mobilenet.wnnc\n"
    "  webnn run --random mobilenet.wnnc\n"
    "  webnn compile --weightless model.onnx model.wnnc\n"
    "  webnn run --random --weights=model.onnx model.wnnc\n"
    "  webnn compile --backend=gpu mobilenet_v2 gpu.wnnc\n"
    "  webnn run --trust --random gpu.wnnc\n"
    "  webnn compile bert.onnx bert.wnnc\n"
    "  webnn run --random --dim=sequence=128 bert.wnnc\n"
    "  ssh server webnn info --json >server.json\n"
    "  webnn compile --target=server.json mobilenet_v2 server.wnnc\n";

struct choice {
    bool portable, weightless;
};

static bool compile(const struct session_options *options, const struct choice *choice, const char *path,
                    const char *output, struct session *session, struct model *model, struct error *error)
{
    WNNGraph graph = NULL;
    enum keeping keeping = choice->portable     ? KEEPS_RECORDED
                           : choice->weightless ? KEEPS_NO_WEIGHTS
                                                : KEEPS_PLAN;
    struct stat status;
    bool good = session_open(session, options, error) && model_begin(model, session->context, error) &&
                model_load(model, path, &options->load, error) &&
                session_build_savable(session, model, keeping, &graph, error) &&
                compiled_file_save(graph, output, choice->weightless, error) && mapping_check(error);
    if (good && !is_standard(output) && stat(output, &status) == 0)
        printf("%s: %.1f MB%s\n", SHOWN_STRING(output), (double)status.st_size * 1e-6,
               late_sizes_has(graph) ? ", for all sizes" : "");
    wnnGraphRelease(graph);
    return good;
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {{"portable", no_argument, NULL, 'p'},
                                                 {"target", required_argument, NULL, 't'},
                                                 {"weightless", no_argument, NULL, 'w'},
                                                 SESSION_LONG_OPTIONS,
                                                 {NULL, 0, NULL, 0}};
    struct session_options options = SESSION_OPTIONS_INIT;
    const char *path = NULL;
    struct choice choice = {false, false};
    options.load.late = true;
    for (int option; (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            return command_help(&command_compile);
        if (option == 'p')
            choice.portable = true;
        else if (option == 'w')
            choice.weightless = true;
        else if (option == 't')
            path = optarg;
        else if (!session_option(&options, option, optarg))
            return command_usage(&command_compile);
    }
    if (argc - optind != 2)
        return command_wrong(&command_compile, argc == optind       ? "which graph?"
                                               : argc == optind + 1 ? "to which file?"
                                                                    : "one graph and one file at a time");
    struct session session = {0};
    struct model model = {.builder = NULL};
    struct error error = {WNNStatus_Success, ""};
    struct target_file target = {0};
    bool good = !path || target_file_read(&target, path, options.backend, &error);
    options.target = target.target;
    if (path)
        options.backend = target.backend;
    good = good && compile(&options, &choice, argv[optind], argv[optind + 1], &session, &model, &error);
    if (model.builder)
        model_end(&model);
    session_close(&session);
    target_file_free(&target);
    return good ? CODE_GOOD : command_failed(&error);
}

const struct command command_compile = {"compile", "writes a graph as it is to be run", help, run};
