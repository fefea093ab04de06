// SPDX-License-Identifier: Apache-2.0
#include "tools/side.h"

#include <string.h>

bool side_open(struct side *side, struct error *error)
{
    if (!session_open(&side->session, side->options, error) ||
        !model_begin(&side->model, side->session.context, error) ||
        !model_load(&side->model, side->graph, &side->options->load, error))
        return false;
    wnn_context_set_compile_options(side->session.context, side->skip, false, NULL, NULL);
    if (!session_build(&side->session, &side->model, &side->built, error))
        return false;
    subject_begin(&side->subject, &side->session, side->built);
    return true;
}

void side_close(struct side *side)
{
    subject_end(&side->subject);
    wnnGraphRelease(side->built);
    if (side->model.builder)
        model_end(&side->model);
    if (side->session.context)
        session_close(&side->session);
    *side = (struct side){.graph = NULL};
}

bool probe_open(struct probe *probe, struct side *side, size_t count, const WNNNamedOperand *outputs,
                struct error *error)
{
    *probe = (struct probe){.graph = NULL};
    // Only the outputs of the model decide what is built.
    struct model model = side->model;
    model.outputs = (WNNNamedOperand *)(uintptr_t)outputs;
    model.output_count = count;
    if (!session_build(&side->session, &model, &probe->graph, error))
        return false;
    subject_begin(&probe->subject, &side->session, probe->graph);
    for (size_t i = 0; i < probe->subject.input_count; i++)
        for (size_t k = 0; k < side->subject.input_count; k++) {
            struct run_port *to = &probe->subject.inputs[i], *from = &side->subject.inputs[k];
            if (wnn_string_equal(to->name, from->name))
                memcpy(to->data, from->data, to->bytes);
        }
    return true;
}

void probe_close(struct probe *probe)
{
    subject_end(&probe->subject);
    wnnGraphRelease(probe->graph);
    *probe = (struct probe){.graph = NULL};
}
