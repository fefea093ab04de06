// SPDX-License-Identifier: Apache-2.0
#include "conformance/cross/generate.h"
#include "conformance/fuzz/fuzz.h"
#include "tools/model.h"

void fuzz_random_model(struct model *model, unsigned seed)
{
    static struct random_graph graph;
    wnn_random_graph(seed, (struct random_kind){.small = true}, model->builder, &graph);
    for (size_t i = 0; i < graph.output_count; i++)
        model_add_output(model, wnn_string((WNNStringView){graph.outputs[i].name, WNN_STRLEN}),
                         graph.outputs[i].value->operand);
    wnn_random_graph_free(&graph);
}
