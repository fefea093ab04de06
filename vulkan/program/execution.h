// SPDX-License-Identifier: Apache-2.0
//
// Executables, and their executions: on tensors where they lie, or on memory of the host, which is copied to
// and from the device where that has memory of its own.

#ifndef VULKAN_EXECUTION_H_
#define VULKAN_EXECUTION_H_

#include "vulkan/program/program.h"
#include "vulkan/program/shared_constants.h"
#include "vulkan/device/tensor.h"

// A recording and what it was made for.
struct cached_recording {
    struct cached_recording *next;
    struct recording recording;
    bool on_tensors;    // or on memory of the host
    uint64_t numbers[]; // of inputs and outputs, if they are tensors
};

enum {
    FLIGHTS = 2, // executions of a graph that can be in flight, each on memory of its own

    // An execution of more submissions than AT_ONCE is submitted in pieces, of PIECE submissions at first,
    // each when the one before the last has ended: what is ahead takes about two budgets (gpu.budget), and
    // the rest can be left out.
    PIECE = 2,
    PIECES = 2,
    AT_ONCE = PIECE * PIECES
};

struct flight {
    struct buffer arena;
    struct buffer inputs;           // where they lie if they are not tensors, or such as shaders cannot see
    struct buffer upload, readback; // where the host cannot map those
    struct buffer counters;         // of work groups that are done with their share: zeros between executions
    bool is_counting;               // an execution was left in the middle: they are not zeros
    struct cached_recording *cached; // what was used last comes first
    size_t take_count;
    struct recording *last;      // that was submitted
    VkCommandBuffer preparation; // made when it is needed, as is the next, and freed with its pool
    VkCommandBuffer clearing;    // of tensors, if it is stopped

    // Its submissions, how many have been made, and in how many pieces, which end at these moments by turns.
    const struct batch *batches;
    size_t count, submitted;
    unsigned pieces, ended;
    struct sync_point ends[PIECES];
    double begin, length; // nanoseconds, from the first submission to the last one's end

    atomic_bool in_flight;
};

// The variables of an executable's program: the arena, the inputs by slot, the outputs by slot, and counters.
struct executable {
    struct plan *plan;
    struct program program;
    struct arena records;
    struct buffer *variables;
    struct flight flights[FLIGHTS];
    size_t flight_count, max_flights;
    size_t input_bytes, readback_bytes;
    struct buffer *constants; // pieces
    size_t constant_count;
    struct shared_holds shared; // instead, of a specialization, or one that shares them
    struct region *regions;     // by operand
    // Of a savable plan: what it was made with, each once.
    struct pipeline **pipelines;
    size_t pipeline_count;
};

// Gives all operands but constants their regions; with what follows only sizes change.
bool wnn_executable_begin(struct gpu *gpu, struct executable *executable, struct error *error);
// Makes all that the first execution needs, when the program is finished.
bool wnn_executable_end(struct gpu *gpu, struct executable *executable, struct error *error);
void wnn_executable_free(struct gpu *gpu, struct executable *executable); // but for the constants

// Writes zeros to outputs in the host's memory: an execution has failed.
void wnn_execution_clear(const struct executable *executable, const struct bindings *bindings);

// As struct backend has them.
bool wnn_execution_submit(struct gpu *gpu, struct executable *executable, const struct bindings *bindings,
                          void **flight, struct error *error);
bool wnn_execution_retire(struct gpu *gpu, const struct executable *executable, struct flight *flight,
                          const struct bindings *bindings, struct error *error);

#endif
