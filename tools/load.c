// SPDX-License-Identifier: Apache-2.0
#include "tools/load.h"

#include "tools/bench_models.h"
#include "tools/graph_file.h"

bool model_load(struct model *model, const char *what, const char *weights, struct error *error)
{
    const struct bench_model *builtin = bench_model_find(what);
    return builtin ? bench_model_build(builtin, what, model, error)
                   : graph_file_read(model, what, weights, error);
}
