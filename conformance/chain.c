// SPDX-License-Identifier: Apache-2.0
#include "conformance/chain.h"

#include "lib/half.h"

#include <assert.h>

WNNOperand make_scalar(WNNGraphBuilder builder, WNNDataType type, double value)
{
    float single = (float)value;
    uint16_t half = wnn_half_from_float(single);
    bool is_half = type == WNNDataType_Float16;
    WNNOperandDescriptor descriptor = {.dataType = type};
    return wnnGraphBuilderConstant(builder, &descriptor, is_half ? (const void *)&half : &single,
                                   is_half ? sizeof half : sizeof single);
}

static bool is_among(struct operand *const *operands, unsigned count, const struct operand *operand)
{
    for (unsigned i = 0; i < count; i++)
        if (operands[i] == operand)
            return true;
    return false;
}

// Operands before what is computed of them.
static void visit(struct chain *chain, struct operand *operand)
{
    const struct node *node = operand->producer;
    if (!node && !is_among(chain->in, chain->node.in_count, operand)) {
        assert(chain->node.in_count < WNN_ELEMENTWISE_INPUTS);
        chain->in[chain->node.in_count++] = operand;
    }
    if (!node || is_among(chain->results, chain->attrs.count, operand))
        return;
    for (unsigned i = 0; i < node->in_count; i++)
        visit(chain, node->in[i]);
    assert(chain->attrs.count < WNN_ELEMENTWISE_STEPS);
    chain->results[chain->attrs.count++] = operand;
}

static uint8_t number_of(const struct chain *chain, const struct operand *operand)
{
    unsigned number = 0;
    while (number < chain->node.in_count && chain->in[number] != operand)
        number++;
    for (unsigned i = 0; number == chain->node.in_count + i && chain->results[i] != operand; i++)
        number++;
    return (uint8_t)number;
}

void make_chain(struct chain *chain, struct operand *result)
{
    *chain = (struct chain){.out = {result}};
    chain->node = (struct node){
        .op = WNN_OP_elementwise, .attrs = &chain->attrs, .in = chain->in, .out = chain->out, .out_count = 1};
    visit(chain, result);
    for (unsigned i = 0; i < chain->attrs.count; i++) {
        const struct node *node = chain->results[i]->producer;
        struct elementwise_step *step = &chain->steps[i];
        *step = (struct elementwise_step){.op = node->op,
                                          .in_count = (uint8_t)node->in_count,
                                          .output = i + 1 == chain->attrs.count ? 0 : WNN_NO_OUTPUT,
                                          .attrs = node->attrs,
                                          .type = chain->results[i]->type};
        for (unsigned j = 0; j < node->in_count; j++)
            step->in[j] = number_of(chain, node->in[j]);
    }
    chain->attrs.steps = chain->steps;
}

void add_output(struct chain *chain, struct operand *result)
{
    unsigned step = 0;
    while (chain->results[step] != result)
        step++;
    chain->steps[step].output = (uint8_t)chain->node.out_count;
    chain->out[chain->node.out_count++] = result;
}
