// SPDX-License-Identifier: Apache-2.0
//
// The library for Node: flat functions that take numbers, strings, arrays and bytes. What the Web IDL of the
// specification asks for is the business of the JavaScript in front (../webnn.mjs), which alone calls these
// functions.
//
// Everything here runs on the thread of one JavaScript environment, except on_built and on_done (request.c),
// which the library calls on a context's worker. They take instance->lock, and no other lock while they hold
// it.

#ifndef CONFORMANCE_JS_ADDON_ADDON_H_
#define CONFORMANCE_JS_ADDON_ADDON_H_

#include <webnn/reflection.h>
#include <webnn/webnn.h>

#include <node_api.h>
#include <pthread.h>

struct request;

// Memory of one call, zeros at first, freed all at once.
struct scratch {
    struct scratch_block *first;
};

// What belongs to one JavaScript environment: the main thread's, or a worker thread's.
struct instance {
    napi_threadsafe_function wake;
    unsigned references; // handles, and one for the environment
    unsigned pending;    // requests that keep the process alive
    bool closed;         // the environment ends: no JavaScript any more
    struct handle *contexts;
    struct handle *objects; // of all other kinds
    uint32_t live[4];       // handles by kind
    int64_t external_bytes; // what the garbage collector answered last: those of all modules
    int64_t grown_bytes;    // since the objects were looked through
    char message[1024];     // of the call that failed last with a status alone

    pthread_mutex_t lock;
    struct request *done, **done_end; // under the lock
};

enum handle_kind {
    HANDLE_CONTEXT,
    HANDLE_TENSOR,
    HANDLE_BUILDER,
    HANDLE_GRAPH,
};

// What a JavaScript external points to. Operands and activations are indices into their builder's.
struct handle {
    enum handle_kind kind;
    unsigned references; // the external, and whoever needs the handle for longer
    struct instance *instance;
    struct handle *context; // of the other kinds, referenced
    union {
        WNNContext context; // NULL once the environment ends
        WNNTensor tensor;
        WNNGraphBuilder builder;
        WNNGraph graph;
    } of;

    struct handle *next, *previous; // of instance->contexts or instance->objects
    napi_ref weak;                  // an object's external, as long as it is not collected

    // A context's.
    napi_ref lost;                // the function to be told
    struct request *lost_request; // until it is settled
    int64_t accounted;            // bytes that the garbage collector knows of

    // A builder's, malloc'ed.
    WNNOperand *operands;
    WNNActivation *activations;
    size_t operand_count, operand_capacity, activation_count, activation_capacity;
};

enum request_kind {
    REQUEST_BUILD,
    REQUEST_READ,
    REQUEST_COMPUTE,
    REQUEST_DISPATCH,
    REQUEST_SAVE,
    REQUEST_LOST,
};

// Work of a context that something waits for. The worker writes status, message and graph, and passes the
// request on by instance->done.
struct request {
    enum request_kind kind;
    struct request *next;
    struct instance *instance; // referenced
    struct handle *context;    // referenced; by REQUEST_LOST not, which may find NULL here
    napi_deferred promise;     // NULL: nobody waits
    napi_ref keep;             // values whose memory the worker uses, or the array to read into
    void *bytes;               // malloc'ed: what was read, on its way to `keep`
    size_t byte_length;        // of them, or that may still be written to `file`
    int file;                  // -1, or what is closed with the request
    pthread_t thread;          // of JavaScript
    bool starting;             // inside of the call that starts it
    bool refused;              // by that call
    WNNStatus status;
    char *message; // malloc'ed, NULL if memory ran out
    WNNGraph graph;
};

// module.c
struct instance *wnn_js_instance(napi_env env);
void wnn_js_instance_drop(struct instance *instance);
// A handle and its external. The context is NULL for a context.
struct handle *wnn_js_handle_create(napi_env env, enum handle_kind kind, struct handle *context,
                                    napi_value *external);
void wnn_js_handle_drop(napi_env env, struct handle *handle);
// NULL: an exception is pending.
struct handle *wnn_js_handle(napi_env env, napi_value value, enum handle_kind kind);
// Puts a handle into a list of the instance, takes it out again.
void wnn_js_list(struct handle **list, struct handle *handle);
void wnn_js_unlist(struct handle **list, struct handle *handle);
// Tells the garbage collector what the context has allocated; frees what it has collected once that is much.
void wnn_js_account(napi_env env, struct handle *context);

// request.c
struct request *wnn_js_request(napi_env env, enum request_kind kind, struct handle *context);
void wnn_js_request_free(napi_env env, struct request *request);
// Called after the call that starts a request: a promise, undefined for a dispatch, or a pending exception.
napi_value wnn_js_request_started(napi_env env, struct request *request);
void wnn_js_on_built(WNNStatus status, WNNGraph graph, WNNStringView message, void *request, void *unused);
void wnn_js_on_done(WNNStatus status, WNNStringView message, void *request, void *unused);
void wnn_js_on_lost(WNNContextLostReason reason, WNNStringView message, void *request, void *unused);
// Settles what is done; the function of instance->wake.
void wnn_js_settle(napi_env env, napi_value unused, void *instance, void *nothing);
// Without an environment: frees what is done.
void wnn_js_discard(struct instance *instance);

// value.c. Functions that return bool or a pointer leave an exception pending when they fail.
bool wnn_js_ok(napi_env env, napi_status status);
void wnn_js_throw(napi_env env, WNNStatus status, WNNStringView message);
void wnn_js_throw_memory(napi_env env);
napi_value wnn_js_error(napi_env env, WNNStatus status, WNNStringView message);
bool wnn_js_arguments(napi_env env, napi_callback_info info, size_t count, napi_value *values);
bool wnn_js_get_u32(napi_env env, napi_value value, uint32_t *number);
bool wnn_js_get_bool(napi_env env, napi_value value, bool *truth);
bool wnn_js_get_number(napi_env env, napi_value value, WNNNumber *number);
bool wnn_js_get_string(napi_env env, napi_value value, struct scratch *scratch, WNNStringView *string);
bool wnn_js_get_type(napi_env env, napi_value value, WNNDataType *type);
bool wnn_js_get_u32s(napi_env env, napi_value value, struct scratch *scratch, WNNUint32List *list);
bool wnn_js_get_f32s(napi_env env, napi_value value, struct scratch *scratch, WNNFloat32List *list);
bool wnn_js_get_bytes(napi_env env, napi_value value, void **data, size_t *byte_length);
void wnn_js_scratch_free(struct scratch *scratch);
void *wnn_js_allocate(napi_env env, struct scratch *scratch, size_t count, size_t size);
// A malloc'ed array with room for one more than `count` items.
void *wnn_js_grow(napi_env env, void *items, size_t count, size_t *capacity, size_t size);
bool wnn_js_is_undefined(napi_env env, napi_value value);
napi_value wnn_js_string(napi_env env, const char *text);
napi_value wnn_js_string_view(napi_env env, WNNStringView view);
bool wnn_js_set(napi_env env, napi_value object, const char *name, napi_value value);
bool wnn_js_set_u32(napi_env env, napi_value object, const char *name, double number);
bool wnn_js_set_bool(napi_env env, napi_value object, const char *name, bool truth);
// {dataType, shape} are set on an object. Sizes that are not known are those of the builder or else of the
// graph, either of which may be NULL: the name of the dimension, or "?" if it has none.
bool wnn_js_set_descriptor(napi_env env, napi_value object, WNNDataType type, WNNUint32List shape,
                           WNNGraphBuilder builder, WNNGraph graph);
// The names of a set of data types.
napi_value wnn_js_types(napi_env env, uint32_t types);

// table.c
napi_value wnn_js_operators(napi_env env);
napi_value wnn_js_op_support_limits(napi_env env, napi_callback_info info);

// context.c
napi_value wnn_js_create_context(napi_env env, napi_callback_info info);
napi_value wnn_js_destroy_context(napi_env env, napi_callback_info info);
napi_value wnn_js_counters(napi_env env, napi_callback_info info);
napi_value wnn_js_create_tensor(napi_env env, napi_callback_info info);
napi_value wnn_js_create_constant_tensor(napi_env env, napi_callback_info info);
napi_value wnn_js_destroy_tensor(napi_env env, napi_callback_info info);
napi_value wnn_js_write_tensor(napi_env env, napi_callback_info info);
napi_value wnn_js_read_tensor(napi_env env, napi_callback_info info);
napi_value wnn_js_dispatch(napi_env env, napi_callback_info info);
napi_value wnn_js_compute(napi_env env, napi_callback_info info);
napi_value wnn_js_destroy_graph(napi_env env, napi_callback_info info);
napi_value wnn_js_compute_shapes(napi_env env, napi_callback_info info);

// builder.c
napi_value wnn_js_create_builder(napi_env env, napi_callback_info info);
napi_value wnn_js_release_builder(napi_env env, napi_callback_info info);
napi_value wnn_js_input(napi_env env, napi_callback_info info);
napi_value wnn_js_constant(napi_env env, napi_callback_info info);
napi_value wnn_js_scalar_constant(napi_env env, napi_callback_info info);
napi_value wnn_js_range_constant(napi_env env, napi_callback_info info);
napi_value wnn_js_tensor_constant(napi_env env, napi_callback_info info);
napi_value wnn_js_operator(napi_env env, napi_callback_info info);
napi_value wnn_js_activation(napi_env env, napi_callback_info info);
napi_value wnn_js_build(napi_env env, napi_callback_info info);
napi_value wnn_js_serialize(napi_env env, napi_callback_info info);

// compiled.c
napi_value wnn_js_describe_device(napi_env env, napi_callback_info info);
napi_value wnn_js_save_graph(napi_env env, napi_callback_info info);
napi_value wnn_js_load_graph(napi_env env, napi_callback_info info);

#endif
