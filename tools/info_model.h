// SPDX-License-Identifier: Apache-2.0
//
// What `webnn info` says of a network: of its file, of the graph that is recorded of it, of the backends that
// may run it, and of the plan for one of them.

#ifndef TOOLS_INFO_MODEL_H_
#define TOOLS_INFO_MODEL_H_

#include "tools/session.h"

#include <cjson/cJSON.h>

// The backends that are asked, in this order.
enum {
    INFO_TARGETS = 3
};
extern const char *const info_targets[INFO_TARGETS];

struct info_target {
    struct session session;
    bool open;
    WNNOpSupportLimits limits;
    struct error error; // why it is not
};

// With one compute thread.
void info_target_open(struct info_target *target, const char *backend);
void info_target_close(struct info_target *target);

struct info_model {
    const char *path;
    WNNModel file;             // NULL: a built-in architecture, or it could not be opened
    const struct model *model; // NULL: it could not be recorded
    struct string faults;      // of its nodes, a line each
    struct info_target *targets;
    // Of the plan, if there is a graph.
    WNNGraph graph;
    const char *backend;
};

void info_model_print(const struct info_model *info);
void info_model_print_plan(const struct info_model *info);
cJSON *info_model_json(const struct info_model *info, const struct error *error); // with its message, if any

#endif
