// SPDX-License-Identifier: Apache-2.0
//
// Rotary embedding: an element of one half meets that of the other half.

#include "vulkan/ops/rotary.h"

#include "ops/geometry.h"
#include "vulkan/ops/elements.h"
#include "vulkan/ops/operators.h"

enum {
    X,
    COSINE,
    SINE,
    OTHER, // of the other half
    OPERANDS
};

static const char *const names[OPERANDS] = {"x", "cosine", "sine", "other"};

#define TURNED "x * cosine + (i / HALF %% 2u == 0u ? -other : other) * sine"

// Where the operands of an element lie: the halves are a dimension of their own, before the axis.
struct turn {
    unsigned rank;
    uint32_t dims[GPU_MAP_RANK], half;
    int64_t steps[OPERANDS][GPU_MAP_RANK], offset; // of the other half's element
};

static struct turn describe_turn(const struct node *node)
{
    uint32_t axis = ((const struct rotary_embedding_attrs *)node->attrs)->axis;
    const struct rotation r = wnn_node_rotation(node);
    struct turn turn = {.rank = r.rank + 1, .half = 1, .offset = (int64_t)r.far[0]};
    for (unsigned d = 0; d < turn.rank; d++) {
        unsigned from = d > axis ? d - 1 : d;
        turn.dims[d] = d == axis ? 2 : r.dim[from];
        for (unsigned i = X; i <= SINE; i++)
            turn.steps[i][d] = (int64_t)(d == axis ? r.far[i] : r.steps[i][from]);
        turn.steps[OTHER][d] = d == axis ? -turn.steps[X][d] : turn.steps[X][d];
        turn.half *= d > axis ? turn.dims[d] : 1;
    }
    return turn;
}

static void lower(struct lowering *lowering)
{
    const struct turn turn = describe_turn(lowering->node);
    const struct tensor *in = lowering->in, *out = &lowering->out[0];
    struct elements elements;
    wnn_elements_begin(&elements, lowering, out->count);
    for (unsigned i = X; i < OPERANDS; i++)
        wnn_elements_map(&elements, names[i], &in[i == OTHER ? X : i], FORM_VALUE, turn.rank, turn.dims,
                         turn.steps[i], i == OTHER ? turn.offset : 0);
    wnn_shader_number(&elements.shader, "HALF", turn.half);
    wnn_elements_do(&elements, "float turned = " TURNED ";");
    wnn_elements_output(&elements, "turned", out, FORM_VALUE);
    wnn_elements_end(&elements, lowering->fused);
}

void wnn_shader_rotated(struct shader *shader, const struct deferred *deferred)
{
    const struct turn turn = describe_turn(deferred->node);
    for (unsigned i = X; i < OPERANDS; i++) {
        wnn_shader_map(shader, names[i], turn.rank, turn.dims, turn.steps[i], i == OTHER ? turn.offset : 0);
        if (i != OTHER)
            wnn_shader_input(shader, names[i], &deferred->in[i], FORM_VALUE);
    }
    wnn_shader_number(shader, "HALF", turn.half);
    wnn_shader_text(shader,
                    "float rotated_at(uint i)\n{\nfloat x = x_at(x_index(i)), other = x_at(other_index(i)), "
                    "cosine = cosine_at(cosine_index(i)), sine = sine_at(sine_index(i));\nreturn " TURNED
                    ";\n}\n");
}

const struct gpu_operator wnn_gpu_rotaryEmbedding = {.lower = lower, .fuses_epilogue = true};
