// SPDX-License-Identifier: Apache-2.0
//
// The objects behind the handles. Two counts keep each: `handles`, which the caller changes, and
// `references`, one for all the handles together and one for everybody inside who still needs the memory. A
// context's memory is needed by its worker, its builders, graphs and tensors, and by calls that may run
// callbacks.

#ifndef RUNTIME_INTERNAL_H_
#define RUNTIME_INTERNAL_H_

#include "compiler/aliases.h"
#include "compiler/explain.h"
#include "compiler/stored.h"
#include "lib/log.h"
#include "lib/parallel.h"
#include "lib/string_pool.h"
#include "ops/builder.h"
#include "runtime/budget.h"
#include "runtime/fork.h"
#include "runtime/queue.h"
#include "runtime/spare.h"
#include "runtime/thread_pool.h"

#include <webnn/vulkan.h>

#include <fenv.h>

struct WNNContextImpl {
    atomic_uint handles, references;
    struct allocator allocator; // of everything but this struct, which comes straight from the host
    struct queue queue;
    struct spare spare; // for calls and requests
    struct thread worker;
    struct thread builder;
    struct thread completion_thread; // of a backend with `submit`

    // Do not change after wnnCreateContext.
    unsigned forks; // fork.h
    const struct backend *backend;
    WNNLimits limits;
    WNNContextLostCallbackInfo lost_callback;
    WNNErrorCallbackInfo error_callback;
    bool accelerated, strict_numerics, fast_numerics;
    bool described; // what it compiles for is: nothing is executed (WNNContextTarget)
    bool external;  // the device is the caller's, who is told when it is not used any more
    WNNVulkanDevice external_device;
    WNNPowerPreference power_preference;
    WNNParallelFor host_parallel; // parallelFor NULL: threads of our own
    WNNThreadPool thread_pool;    // NULL: threads of its own
    WNNPriority priority;         // in that
    WNNBudget shared_budget;      // or NULL
    struct budget *budget;        // its own part, or NULL
    uint64_t threads;             // taken of it
    bool counted;                 // as an object of it
    WNNCache cache;               // load NULL: none
    WNNTrace trace;               // event NULL: none
    WNNLog log;                   // callback NULL: none
    WNNOperatorLimits *operator_limits;
    size_t operator_count;

    // Who can load what it saves: STORED_LIBRARY_TEXT and STORED_TARGET_TEXT bytes; empty: nobody.
    char library[STORED_LIBRARY_TEXT], target[STORED_TARGET_TEXT];

    // Of the worker and of whoever runs a request in its place.
    void *state; // of the backend
    struct parallel parallel;
    struct pool *pool; // of its own or of the thread pool; NULL: one thread, or the host's

    pthread_mutex_t pthreadpool_lock; // a leaf, taken only to make the next
    void *pthreadpool;                // of libraries that want one; NULL until they do

    // Tensors in memory of the device, and calls that need the backend's state for one; a leaf.
    struct stored {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        WNNTensor first;
        unsigned calls;
        bool closed; // the state is about to go
    } stored;

    // Under the queue's lock.
    WNNGraph graphs; // those that have an executable
    struct compile_settings {
        uint32_t skip;
        bool verify;
        bool shares; // tests: graphs of known sizes are compiled as specializations are
        void (*observe)(void *argument, const char *pass, const struct graph *graph);
        void *observer;
        struct explainer explainer;
    } compile;
    enum {
        WORKER_STARTS,
        WORKER_RUNS,
        WORKER_FAILED
    } started;
    // Of wnnCreateContext, while it waits for the worker.
    struct error *start_error;
    const WNNContextDescriptor *start_descriptor;

    atomic_uint_fast64_t builder_count, graph_count, tensor_count;
    atomic_uint_fast64_t trace_flows; // the id of the next
};

// An input or output of a built graph.
struct port {
    struct string name;
    struct descriptor type;
    size_t bytes;
};

struct port_list {
    struct port *ports;
    WNNNamedDescriptor *named; // the same for the caller
    uint32_t *sorted;          // indices, by name
    size_t count;
};

enum form {
    FORM_ORDINARY,
    FORM_WAITS, // a specialization, for its executable
    FORM_READY,
    FORM_FAILED
};

struct graph_info {
    WNNGraphInfo info;
    struct node_record {
        uint16_t op; // enum op
        struct string label;
        const char *kernel, *reason; // static text, or NULL
        uint64_t bytes, operations;  // of one execution
    } * nodes;                       // info.nodeCount; in the graph's arena
    struct string_pool *strings;     // where the labels lie
    uint64_t begin, compiled;        // CLOCK_MONOTONIC
    const char *part;                // of the build, in a trace; NULL: none has begun
};

struct compile_job;
struct transcript;

struct WNNGraphImpl {
    WNNContext context;
    atomic_uint handles, references;
    atomic_bool destroyed;
    uint64_t work;      // of an execution: multiply-adds
    struct arena arena; // of what follows
    struct port_list inputs, outputs;
    struct aliases aliases; // of these, once there is an executable
    struct late *late;      // of a graph with sizes that are not known, which has no executable; or NULL
    WNNGraph parent;        // of a specialization: whose it is, for comparison only; or NULL
    bool savable;           // its plan, or its transcript, has all that its nodes are packed of
    bool weightless;        // likewise, but for constants that have an origin
    bool promised;          // some of these are not there, so that there is no executable
    bool recompiled;        // it was loaded for another library or target, and built
    struct transcript *transcript; // what was recorded, to be saved; or NULL
    atomic_int form;               // enum form, changed under the queue's lock
    struct error fault;            // why it has failed
    // Changed by the worker, under the queue's lock; both NULL when the executable has been released.
    void *executable;
    struct plan *plan;
    struct graph_info info;
    WNNGraph next, previous; // of context->graphs
    atomic_bool watched;     // executions go through profile.c; the rest is under the queue's lock
    bool profiling;
    uint64_t profile_epoch;          // how often profiling was switched
    struct profile *profile;         // made by an execution
    const struct observer *observer; // instead of the profile
    struct request dispose;          // releases the executable when it is its turn
};

struct WNNTensorImpl {
    WNNContext context;
    atomic_uint handles, references;
    atomic_uint uses; // of the storage: one until it is destroyed, and one for each request
    atomic_bool destroyed;
    bool readable, writable, is_constant;
    struct descriptor type;
    size_t bytes;
    void *data;               // of a tensor that is neither constant nor in memory of the device
    void *stored;             // of one that is there: the backend's, NULL when it is freed
    WNNTensor next, previous; // of context->stored
    bool exportable;
    struct constant *constant; // of one that is
};

// What WNNGraphBuilder points to, with what the runtime adds.
struct builder {
    struct WNNGraphBuilderImpl impl; // first
    WNNContext context;
    struct tensor_link *tensors; // those that operands of the builder stem from
};

// build.c
// Of the context, for who records on a thread of it; ends with wnn_builder_free.
void wnn_builder_begin(struct builder *builder, WNNContext context);
// Builds what was recorded or loaded: for all sizes, if they are not known yet, or as a plan with an
// executable. What is kept of the former (graph->transcript) may be there already. One at a time
// (queue.builder_busy).
bool wnn_graph_build(WNNContext context, const struct compile_job *job, WNNGraph graph, struct error *error);
// Whether the tensor of a constant is not destroyed.
bool wnn_tensor_is_alive(const void *origin);

// context.c
void wnn_context_ref(WNNContext context);
void wnn_context_unref(WNNContext context);
bool wnn_context_usable(WNNContext context, struct error *error); // false: lost

// False: the context only compiles; `method` is what it is asked to do.
bool wnn_context_executes(WNNContext context, const char *method, struct error *error);
// Tells the error callback, if there is an error; returns the status.
WNNStatus wnn_context_report(WNNContext context, const struct error *error);

// Counts one more object in the budget; given back by wnn_budget_give.
bool wnn_take_object(WNNContext context, struct error *error);

// limits.c
bool wnn_limits_create(WNNContext context, struct error *error);

// parallel.c
bool wnn_threads_create(WNNContext context, uint32_t threads, struct error *error);
void wnn_threads_destroy(WNNContext context);
// Starts every thread that could be needed later. Any thread, while the context is held.
bool wnn_threads_preload(WNNContext context, struct error *error);

// graph.c
bool wnn_graph_describe(WNNGraph graph, const struct graph *source, struct error *error);
void wnn_graph_ref(WNNGraph graph);
void wnn_graph_unref(WNNGraph graph);
// The index of the port of that name, count if there is none. `guess` is looked at first.
size_t wnn_port_find(const struct port_list *ports, struct string name, size_t guess);
// On the worker at its end: releases the executables that are left. False: the timeline holds something
// again.
bool wnn_graphs_end(WNNContext context);

// late.c, of a graph that has `late`
void wnn_late_free(WNNGraph graph);
void wnn_late_destroy(WNNGraph graph); // as wnnGraphDestroy, of all specializations
// The specialization that was used last, with a reference, or NULL: what the graph tells of its nodes is
// that one's. And each of them, under the lock.
WNNGraph wnn_late_last(WNNGraph graph);
void wnn_late_for_each(WNNGraph graph, void (*visit)(WNNGraph specialization, void *argument),
                       void *argument);

// profile.c, while an execution runs
// Runs the graph while it is watched.
bool wnn_profile_execute(WNNGraph graph, const struct bindings *bindings, struct error *error);
void wnn_profile_free(WNNGraph graph);

// tensor.c
void wnn_tensor_ref(WNNTensor tensor);
void wnn_tensor_unref(WNNTensor tensor);
// On the worker at its end: frees what tensors have on the device, and lets nobody make more.
void wnn_tensors_end(WNNContext context);
// The storage, for a request: false when the tensor is destroyed.
bool wnn_tensor_begin_use(WNNTensor tensor);
void wnn_tensor_end_use(WNNTensor tensor);

// Sorts in place without memory; not stable.
void wnn_sort(void *items, size_t count, size_t size,
              bool (*less)(const void *a, const void *b, const void *argument), const void *argument);

#endif
