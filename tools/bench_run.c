// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_run.h"

#include "tools/bounds.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <stdlib.h>

struct lane {
    struct run_port *outputs; // of its own; NULL: the subject's, or tensors
    WNNNamedBuffer *buffers;
    WNNNamedTensor *tensors;
    WNNFuture future;
    bool running;
    double begin;
    struct error error;
};

// ---------------------------------------------------------------------------------------------------------------
// What it runs on
// ---------------------------------------------------------------------------------------------------------------

// Tensors for the ports, but for those that are there; the bytes of inputs are written.
static bool make_tensors(const struct subject *subject, const struct run_port *ports, size_t count,
                         bool inputs, WNNNamedTensor *tensors, struct error *error)
{
    WNNContext context = subject->session->context;
    for (size_t i = 0; i < count; i++) {
        WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
        descriptor.dataType = ports[i].type.type;
        descriptor.shape = (WNNUint32List){ports[i].type.shape.dim, ports[i].type.shape.rank};
        descriptor.writable = inputs;
        tensors[i].name = (WNNStringView){ports[i].name.data, ports[i].name.length};
        if (tensors[i].tensor)
            continue;
        WNNStatus status = wnnContextCreateTensor(context, &descriptor, &tensors[i].tensor);
        if (status == WNNStatus_Success && inputs)
            status = wnnContextWriteTensor(context, tensors[i].tensor, ports[i].data, ports[i].bytes);
        if (status != WNNStatus_Success)
            return wnn_fail(error, status, "no tensor for the %s %.*s: %s", inputs ? "input" : "output",
                            (int)ports[i].name.length, ports[i].name.data, subject->session->error.message);
    }
    return true;
}

// Outputs that replace inputs have their tensors.
static void share_tensors(const struct bench_run *run, WNNNamedTensor *outputs)
{
    for (size_t i = 0; i < run->subject->output_count; i++) {
        size_t input = subject_replaced(run->subject, i);
        if (input == SIZE_MAX)
            continue;
        outputs[i].tensor = run->inputs[input].tensor;
        wnnTensorAddRef(outputs[i].tensor);
    }
}

static void free_tensors(WNNNamedTensor *tensors, size_t count)
{
    for (size_t i = 0; tensors && i < count; i++)
        wnnTensorRelease(tensors[i].tensor);
    free(tensors);
}

bool bench_run_begin(struct bench_run *run, struct subject *subject, size_t in_flight, bool tensors,
                     struct error *error)
{
    *run = (struct bench_run){.subject = subject, .lane_count = in_flight};
    run->lanes = must_allocate(in_flight * sizeof *run->lanes);
    if (tensors)
        run->inputs = must_allocate(subject->input_count * sizeof *run->inputs);
    bool good =
        !tensors || make_tensors(subject, subject->inputs, subject->input_count, true, run->inputs, error);
    for (size_t i = 0; good && i < in_flight; i++) {
        struct lane *lane = &run->lanes[i];
        size_t count;
        if (tensors) {
            lane->tensors = must_allocate(subject->output_count * sizeof *lane->tensors);
            share_tensors(run, lane->tensors);
            good =
                make_tensors(subject, subject->outputs, subject->output_count, false, lane->tensors, error);
        } else if (i > 0) {
            const WNNNamedDescriptor *list = wnnGraphGetOutputs(subject->graph, &count);
            lane->outputs = run_ports_make(list, count, &lane->buffers);
        }
    }
    return good;
}

void bench_run_end(struct bench_run *run)
{
    for (size_t i = 0; i < run->lane_count; i++) {
        struct lane *lane = &run->lanes[i];
        free_tensors(lane->tensors, run->subject->output_count);
        if (lane->outputs)
            run_ports_free(lane->outputs, run->subject->output_count, lane->buffers);
    }
    if (run->inputs)
        free_tensors(run->inputs, run->subject->input_count);
    free(run->lanes);
    *run = (struct bench_run){.lanes = NULL};
}

// ---------------------------------------------------------------------------------------------------------------
// Executions
// ---------------------------------------------------------------------------------------------------------------

static void begin_execution(struct bench_run *run, struct lane *lane)
{
    const struct subject *subject = run->subject;
    lane->error = (struct error){WNNStatus_Success, ""};
    lane->running = true;
    lane->begin = now();
    if (run->inputs)
        lane->future =
            session_begin_dispatch(subject->session, subject->graph, subject->input_count, run->inputs,
                                   subject->output_count, lane->tensors, &lane->error);
    else
        lane->future = session_begin_compute(
            subject->session, subject->graph, subject->input_count, subject->input_buffers,
            subject->output_count, lane->buffers ? lane->buffers : subject->output_buffers, &lane->error);
}

static bool end_execution(struct bench_run *run, struct lane *lane, struct error *error)
{
    bool good = session_await(run->subject->session, lane->future, &lane->error);
    lane->running = false;
    if (good)
        subject_add_time(run->subject, now() - lane->begin);
    else if (error->status == WNNStatus_Success)
        *error = lane->error;
    return good;
}

bool bench_length_reached(const struct bench_length *length, size_t runs, double begin)
{
    if (length->iterations)
        return runs >= length->iterations;
    return runs >= 3 && now() - begin >= length->seconds;
}

// Executions end in the order in which they begin, so that the lanes take turns.
bool bench_run_execute(struct bench_run *run, const struct bench_length *length, const char *what,
                       double *seconds, struct error *error)
{
    bool good = true;
    struct progress progress;
    progress_begin(&progress, what);
    double begin = now();
    size_t begun = 0, ended = 0;
    while (good && !bench_length_reached(length, begun, begin) && run->subject->time_count < MAX_TIMES) {
        struct lane *lane = &run->lanes[begun % run->lane_count];
        if (lane->running) {
            good = end_execution(run, lane, error);
            ended++;
        }
        if (good) {
            begin_execution(run, lane);
            begun++;
        }
        progress_show(&progress, 0, 0);
    }
    for (; ended < begun; ended++)
        good = end_execution(run, &run->lanes[ended % run->lane_count], error) && good;
    *seconds += now() - begin;
    progress_end(&progress);
    return good;
}
