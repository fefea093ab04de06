// SPDX-License-Identifier: Apache-2.0
//
// A context with the options that every subcommand has, and calls that wait.

#ifndef TOOLS_SESSION_H_
#define TOOLS_SESSION_H_

#include "runtime/context.h"
#include "tools/file_cache.h"
#include "tools/load.h"

#include <webnn/compiled.h>

#include <getopt.h>

#define MAX_THREADS 1024

struct session_options {
    const char *backend; // cpu, gpu, or the name of any backend of this build; NULL: nobody has asked for one
    unsigned threads;    // 0: all
    bool strict, fast;   // not both
    struct load_options load;
    const char *device; // an index or a UUID, or NULL
    const char *target; // what to compile for, as wnnContextGetTarget tells it; NULL: what it runs on
    const char *cache;  // a directory for what a GPU compiles; NULL: none
    bool trust;         // code for a GPU in compiled graphs is run as it is
    WNNBudget budget;   // of the context, or NULL
};
#define SESSION_OPTIONS_INIT                                                                                 \
    {                                                                                                        \
        .backend = NULL                                                                                      \
    }

// For getopt_long; their values begin beyond any letter. `weights` is what the option of that meaning is
// called.
#define SESSION_LONG_OPTIONS SESSION_LONG_OPTIONS_WITH("weights")
#define SESSION_LONG_OPTIONS_WITH(weights)                                                                   \
    {"backend", required_argument, NULL, 1001}, {"threads", required_argument, NULL, 1002},                  \
        {"strict", no_argument, NULL, 1003}, {weights, required_argument, NULL, 1004},                       \
        {"device", required_argument, NULL, 1006}, {"cache", required_argument, NULL, 1005},                 \
        {"dim", required_argument, NULL, 1007}, {"shape", required_argument, NULL, 1008},                    \
        {"narrow", no_argument, NULL, 1009}, {"value", required_argument, NULL, 1010},                       \
        {"fast", no_argument, NULL, 1011}, {"trust", no_argument, NULL, 1012},                               \
    {                                                                                                        \
        "help", no_argument, NULL, 'h'                                                                       \
    }

#define SESSION_HELP SESSION_HELP_WITH("--weights=FILE   ")
#define SESSION_HELP_WITH(weights)                                                                           \
    "  --backend=NAME    cpu, gpu, or dummy, which computes nothing; by default that of what was\n"          \
    "                    compiled before, or cpu\n"                                                          \
    "  --device=ID       the index or UUID of a GPU, of those that webnn info lists\n"                       \
    "  --threads=N       compute threads; by default one per processor\n"                                    \
    "  --strict          what operators give one by one: rounding, overflow, NaN, denormals\n"               \
    "  --fast            rounds what meets quantized weights to 8 bits, where that is faster\n"              \
    "  " weights " the weights, if they do not lie beside GRAPH as .safetensors; - is\n"                     \
    "                    standard input. Of a file of webnn compile --weightless: the model\n"               \
    "  --dim=NAME=SIZE   a dimension that the model leaves open; may be given several times\n"               \
    "  --shape=NAME=1x3x224x224\n"                                                                           \
    "                    the shape of an input that the model leaves open; several times, too\n"             \
    "  --value=NAME=NUMBER[,NUMBER...]\n"                                                                    \
    "                    makes an input a constant: what decides shapes or branches of the model\n"          \
    "  --narrow          float64 becomes float32, 16-bit integers become int32\n"                            \
    "  --cache=DIR       keeps what a GPU compiles in files, for the next time\n"                            \
    "  --trust           runs what a file of webnn compile has compiled for a GPU, which otherwise\n"        \
    "                    is compiled again: for files that no stranger has written\n"

// Takes one of these options. False: it was wrong, and a message has been printed.
bool session_option(struct session_options *options, int option, const char *argument);

struct late_sizes;

struct session {
    WNNContext context;
    struct late_sizes *sizes; // of the compiled graph, if they are not known otherwise; or NULL
    const struct backend *backend;
    struct file_cache cache;
    bool trust;
    const char *weights; // a file whose bytes compiled graphs need, or NULL
    struct error error;  // the last one that the context reported by a status alone
};

// On the backend that is asked for, otherwise that of the device that is, otherwise the CPU. False: a message
// is in *error. It must stay where it is until it is closed.
bool session_open(struct session *session, const struct session_options *options, struct error *error);
void session_close(struct session *session);

// "gpu" is the Vulkan backend; NULL if this build has no such backend.
const struct backend *session_find_backend(const char *name);

// Builds, and shows on a terminal that it takes time.
bool session_build(struct session *session, const struct model *model, WNNGraph *graph, struct error *error);
// What is kept of a graph that is built, so that it can be saved.
enum keeping {
    KEEPS_PLAN,      // its plan, with the weights
    KEEPS_RECORDED,  // and what was recorded
    KEEPS_NO_WEIGHTS // its plan, which finds the weights elsewhere
};
bool session_build_savable(struct session *session, const struct model *model, enum keeping keeping,
                           WNNGraph *graph, struct error *error);

// Loads what was compiled, or builds it anew if it is for another library or target and holds what was
// recorded. What it has compiled for a GPU is run as it is if the session trusts it; weights
// are looked through for damage unless that is skipped. `source` has those that it has not; NULL: nobody.
bool session_load(struct session *session, WNNExternalBytes bytes, const WNNConstantSource *source,
                  bool skip_data_check, WNNGraph *graph, struct error *error);

// Begins one execution; `error` stays where it is until the end, and gets what goes wrong.
WNNFuture session_begin_compute(struct session *session, WNNGraph graph, size_t input_count,
                                const WNNNamedBuffer *inputs, size_t output_count,
                                const WNNNamedBuffer *outputs, struct error *error);
WNNFuture session_begin_dispatch(struct session *session, WNNGraph graph, size_t input_count,
                                 const WNNNamedTensor *inputs, size_t output_count,
                                 const WNNNamedTensor *outputs, struct error *error);

// Waits for its end. False: `error` says why.
bool session_await(struct session *session, WNNFuture future, const struct error *error);

// One execution.
bool session_compute(struct session *session, WNNGraph graph, size_t input_count,
                     const WNNNamedBuffer *inputs, size_t output_count, const WNNNamedBuffer *outputs,
                     struct error *error);

// A number from `low` to `high`; false after a message that names the option.
bool parse_count(const char *option, const char *argument, unsigned long low, unsigned long high,
                 unsigned long *value);
bool parse_real(const char *option, const char *argument, double low, double high, double *value);

#endif
