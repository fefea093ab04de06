// SPDX-License-Identifier: Apache-2.0
//
// An execution that takes long on whatever device there is: products of matrices, one behind the other.

#ifndef CONFORMANCE_UNIT_LONG_TASK_H_
#define CONFORMANCE_UNIT_LONG_TASK_H_

#include "conformance/unit/runtime_fixture.h"

// y = x, multiplied `length` times by x, float32 [size, size].
static inline WNNGraph build_powers(WNNContext context, uint32_t size, unsigned length)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", size, size), y = x;
    for (unsigned i = 0; i < length; i++)
        y = wnnGraphBuilderMatmul(builder, y, x, NULL);
    WNNNamedOperand output = {view("y"), y};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static struct {
    uint32_t size;
    unsigned length;
    WNNGraph graph;
    float *x, *y;
} task;

static inline WNNFuture start_task(WNNContext context, WNNRequestCallbackInfo info)
{
    return compute_chain(context, task.graph, task.x, task.y, (size_t)task.size * task.size, info);
}

// Makes a task that takes the device a second and more, of products that take it 0.04 s and more each.
static inline void make_task(WNNContext context)
{
    enum {
        MAX_SIZE = 8192,
        MIN_LENGTH = 8,
        MAX_LENGTH = 40
    };
    double seconds = 0;
    for (task.size = 256; seconds < 0.04 && task.size < MAX_SIZE;) {
        task.size *= 2;
        free(task.x);
        free(task.y);
        task.x = calloc((size_t)task.size * task.size, sizeof *task.x);
        task.y = calloc((size_t)task.size * task.size, sizeof *task.y);
        REQUIRE(task.x && task.y);
        task.graph = build_powers(context, task.size, 4);
        wait_for(context, start_task(context, tell_nobody()));
        double begin = now_seconds();
        wait_for(context, start_task(context, tell_nobody()));
        seconds = (now_seconds() - begin) / 4;
        wnnGraphRelease(task.graph);
    }
    double length = 1.6 / seconds;
    task.length = length < MIN_LENGTH ? MIN_LENGTH : length > MAX_LENGTH ? MAX_LENGTH : (unsigned)length;
    task.graph = build_powers(context, task.size, task.length);
}

#endif
