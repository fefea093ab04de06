// SPDX-License-Identifier: Apache-2.0
//
// What a graph becomes: a list of dispatches, copies and fills on regions of buffers, recorded into command
// buffers once for each set of buffers that it runs on, with barriers between the levels of what may run at
// the same time (schedule.h).

#ifndef VULKAN_PROGRAM_H_
#define VULKAN_PROGRAM_H_

#include "lib/arena.h"
#include "vulkan/program/pipeline.h"
#include "vulkan/program/upload.h"

struct binding {
    struct region region;
    bool writes;
};

enum step_kind {
    STEP_DISPATCH,
    STEP_COPY, // bindings: from, to; nothing if they lie in one place
    STEP_FILL, // binding: what becomes zeros, whole words
};

struct step {
    enum step_kind kind;
    struct step *next;
    const struct node *node; // NULL: of no node
    size_t output;           // of which it is the copy behind the nodes, from 1; 0: it is none
    struct pipeline *pipeline;
    unsigned binding_count;
    struct binding bindings[GPU_BUFFERS];
    bool has_parameters; // one binding is a piece of the program's:
    unsigned parameter_binding;
    bool has_bases; // push constants say where in each binding its region begins; else all do where it does
    uint32_t pushed[GPU_PUSHED], pushed_count; // parameters that are push constants
    uint32_t groups[3];
    uint32_t cooperating_dispatches; // dispatches that do the node's work in turns; 0: any one may do it all
    double cost;                     // nanoseconds that it takes: estimated, then measured
    size_t submission;               // that it is in, the first if it is cut
    uint32_t parts;                  // dispatches that it is cut into, each a submission
    size_t barriers;                 // before it in the last recording
};

// How a node is computed, of which the device was asked.
struct choice {
    struct choice *next;
    struct cache_choice choice;
};

struct program {
    struct gpu *gpu;
    struct pipelines *pipelines;
    struct arena records, texts; // texts: while shaders are written
    struct step *first, **last;
    size_t steps, dispatches;
    const struct buffer *variables; // that stand for buffers which only a recording knows
    size_t variable_count;
    const struct buffer *counters; // one of them; NULL: nobody makes them zeros
    size_t counter_bytes;
    uint32_t *words; // parameters of all dispatches
    size_t word_count, word_capacity;
    struct buffer parameters;
    struct command_pool command_pool; // of its recordings, and of uploads while it is made
    size_t submissions;
    unsigned version;       // recordings of another are out of date
    struct choice *choices; // the last first
    bool searches;          // it may be asked
    bool kept;              // entries of its pipelines are (pipeline.entry)
    bool measured;          // it is so long that its recordings measure their submissions
    bool settled;           // and that has shown that they are as they should be
};

// Where a variable lies.
struct location {
    VkBuffer handle;
    size_t offset;
};

// What a program is recorded for.
struct record_params {
    const struct location *locations; // of its variables
    struct step *before, *after;      // lists of copies around its steps; while it is recorded
    const VkBuffer *foreign;          // buffers of VK_QUEUE_FAMILY_EXTERNAL, taken from there and given back
    size_t foreign_count;
    bool ordered; // it follows what was submitted before it, and what is submitted later follows it
    enum timestamps {
        TIMESTAMPS_NONE,
        TIMESTAMPS_SUBMISSIONS, // the device notes the begin and the end of each submission,
        TIMESTAMPS_NODES,       // the begin of the first node and the end of each node and copy of an output,
        TIMESTAMPS_WHOLE        // the begin of the first and the end of the last of these
    } timestamps;
};

// What is submitted, in pieces of which none should keep the device for longer than its budget (gpu.budget).
struct recording {
    struct program *program; // which outlives it
    unsigned version;        // of the program
    VkDescriptorPool pool;
    VkCommandBuffer *commands; // one for each submission
    struct batch *batches;     // room for one more
    size_t count, capacity;
    size_t barriers; // between levels
    enum timestamps timestamps;
    VkQueryPool queries;
    uint32_t timestamp_count, stamp_capacity;
    size_t *copied; // with TIMESTAMPS_NODES: the outputs whose copies are noted behind the nodes, in order
    size_t copy_count;
};

void wnn_program_init(struct program *program, struct gpu *gpu, struct pipelines *pipelines);
void wnn_program_free(struct program *program);

// Appends a step, which is to be filled in; NULL: out of memory.
struct step *wnn_program_add(struct program *program, enum step_kind kind, const struct node *node);
// Appends a copy of a dispatch, the bindings of which may be changed then; NULL: out of memory.
struct step *wnn_program_repeat(struct program *program, const struct step *step);
// Appends words to the parameters and returns where; UINT32_MAX: out of memory.
uint32_t wnn_program_parameters(struct program *program, const uint32_t *words, size_t count);

// Takes words, of a program that has counters: zeros when an execution begins, as they have to be when it
// ends.
struct region wnn_program_counters(struct program *program, size_t count);

// Looks for an answer of the key, and fills it in; keeps one as long as the program. False: there is none; no
// memory.
bool wnn_program_find_choice(const struct program *program, struct cache_choice *choice);
bool wnn_program_keep_choice(struct program *program, const struct cache_choice *choice);

// Compiles all pipelines, and uploads the parameters. Nothing can be added then.
bool wnn_program_finish(struct program *program, struct error *error);

// Records a finished program; what has been recorded is to be freed in any case. A device that has no clock
// notes nothing.
bool wnn_program_record(struct program *program, const struct record_params *params,
                        struct recording *recording, struct error *error);
void wnn_recording_free(struct recording *recording); // one of zeros is accepted

// Nanoseconds between the stamps of a recording that has been run: one less than timestamp_count, or one for
// each submission with TIMESTAMPS_SUBMISSIONS. False: they are not to be had.
bool wnn_recording_times(const struct recording *recording, double *times);

// Learns from an execution that took so many nanoseconds, as seen from the host, how long the steps take; the
// program's version is another then if what is recorded is not good enough.
void wnn_program_learn(struct program *program, const struct recording *recording, double nanoseconds);

// budget.c: how long the steps take, before anything is known; and what submissions they are in, by that.
void wnn_program_estimate(struct program *program);
void wnn_program_cut(struct program *program);

// The words of a buffer that a binding touches: shaders read and write whole ones.
struct access {
    VkBuffer buffer;
    size_t begin, end;
    bool writes;
};
struct access wnn_program_access(const struct program *program, const struct record_params *params,
                                 const struct binding *binding);
// Whether they touch the same bytes, one of them to write.
bool wnn_access_conflicts(const struct access *a, const struct access *b);

// Whether a step copies what lies in its place already, so that it is left out.
bool wnn_program_omits(const struct program *program, const struct record_params *params,
                       const struct step *step);

// Whether of any two steps that conflict the first has been recorded before a barrier, and the second behind
// it. Quadratic; looks at what was recorded, not at how.
bool wnn_program_check(const struct program *program, const struct record_params *params,
                       struct error *error);

#endif
