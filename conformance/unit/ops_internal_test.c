// SPDX-License-Identifier: Apache-2.0
//
// Validation of the operators that only the compiler makes: what compiler/verify.c would say of a node that a
// pass has got wrong. They are inferred by hand, since nothing records them.

#include "conformance/unit/validation.h"

#include "ops/op.h"

static struct operand make(WNNOperand like)
{
    return (struct operand){.type = wnn_operand(like)->type};
}

// Whether the operator is inferred from these; the message of its error otherwise.
static const char *infer(enum op op, const void *attrs, struct operand *const *in, unsigned in_count,
                         struct descriptor *out)
{
    static struct error error;
    struct allocator allocator;
    struct arena arena;
    wnn_allocator_init(&allocator, NULL, 0);
    wnn_arena_init(&arena, &allocator);
    WNNLimits limits = no_limits();
    error = (struct error){0};
    struct op_call call = {.op = op,
                           .info = &wnn_ops[op],
                           .in = in,
                           .in_count = in_count,
                           .attrs = wnn_op_copy_attrs(&arena, op, attrs),
                           .out = out,
                           .out_count = 1,
                           .out_capacity = 1,
                           .arena = &arena,
                           .limits = &limits,
                           .error = &error};
    REQUIRE(call.attrs != NULL);
    bool done = call.info->infer(&call);
    if (done)
        out[0] = call.out[0];
    wnn_arena_free(&arena);
    REQUIRE(done == (error.message[0] == '\0'));
    return done ? NULL : error.message;
}

#define BREAKS(message) REQUIRE_EQUAL_STR(infer(op, &attrs, in, count, &out), message)

static void test_attention(void)
{
    static const uint32_t straight[] = {0, 1, 2}, turned[] = {0, 2, 1}, twice[] = {0, 1, 1};
    struct operand query = make(F32(2, 9, 4)), key = make(F32(2, 7, 4)), value = make(F32(2, 7, 5)),
                   mask = make(F32(9, 7)), column = make(F32(9, 1)), flat = make(F32(4));
    struct operand keys = make(F32(9, 3)), pairs = make(F32(9, 2));
    struct operand *in[5] = {&query, &key, &value, &mask};
    unsigned count = 5;
    keys.type.type = pairs.type.type = WNNDataType_Uint32;
    enum op op = WNN_OP_attention;
    struct attention_attrs attrs = *(const struct attention_attrs *)wnn_ops[op].defaults;
    attrs.queryPermutation = attrs.valuePermutation = attrs.outputPermutation = (WNNUint32List){straight, 3};
    attrs.keyPermutation = (WNNUint32List){turned, 3};
    struct descriptor out;
    REQUIRE(infer(op, &attrs, in, count, &out) == NULL);
    REQUIRE_EQUAL_INT(out.type, WNNDataType_Float32);
    REQUIRE_EQUAL_INT(out.shape.rank, 3);
    REQUIRE_EQUAL_INT(out.shape.dim[1], 9);
    REQUIRE_EQUAL_INT(out.shape.dim[2], 5);

    in[4] = &keys;
    REQUIRE(infer(op, &attrs, in, count, &out) == NULL);
    in[4] = &pairs;
    BREAKS("attention: attended keys [9, 2] are not those of the mask");
    in[4] = &keys;
    in[3] = NULL;
    BREAKS("attention: attended keys [9, 3] are not those of the mask");
    in[3] = &column; // one number for all keys of a row
    BREAKS("attention: attended keys [9, 3] are not those of the mask");
    in[3] = &mask;
    in[4] = NULL;
    count = 4;
    BREAKS("attention: expected query, key, value, mask and attended keys, of rank 2 or more");
    count = 5;
    in[0] = &flat;
    BREAKS("attention: expected query, key, value, mask and attended keys, of rank 2 or more");
    in[0] = &query;
    in[3] = &query;
    BREAKS("attention: mask [2, 9, 4] cannot be broadcast to [2, 9, 7]");
    in[3] = &mask;
    attrs.window = 3;
    BREAKS("attention: window is 3 and windowEnd 0; expected a mask, and keys for each row");
    attrs.windowEnd = 2; // the last row sees keys [7, 10)
    BREAKS("attention: window is 3 and windowEnd 2; expected a mask, and keys for each row");
    attrs.window = 4;
    REQUIRE(infer(op, &attrs, in, count, &out) == NULL);
    in[3] = NULL;
    BREAKS("attention: window is 4 and windowEnd 2; expected a mask, and keys for each row");
    in[3] = &mask;
    attrs.window = attrs.windowEnd = 0;
    attrs.keyPermutation.count = 2;
    BREAKS("attention: keyPermutation has 2 items; expected 3");
    attrs.keyPermutation = (WNNUint32List){twice, 3};
    BREAKS("attention: keyPermutation[2] is 1; expected another dimension below 3");
    attrs.keyPermutation = (WNNUint32List){straight, 3};
    BREAKS("attention: query [2, 9, 4], key [2, 7, 4] and value [2, 7, 5] do not fit");
}

static void test_attended_keys(void)
{
    struct operand mask = make(F32(2, 9, 7));
    struct operand *in[1] = {&mask};
    unsigned count = 1;
    enum op op = WNN_OP_attendedKeys;
    struct attended_keys_attrs attrs = *(const struct attended_keys_attrs *)wnn_ops[op].defaults;
    struct descriptor out;
    REQUIRE(infer(op, &attrs, in, count, &out) == NULL);
    REQUIRE_EQUAL_INT(out.type, WNNDataType_Uint32);
    REQUIRE_EQUAL_INT(out.shape.rank, 3);
    REQUIRE_EQUAL_INT(out.shape.dim[1], 9);
    REQUIRE_EQUAL_INT(out.shape.dim[2], 3);
    attrs.distance = -1;
    BREAKS("attendedKeys: distance is -1; expected 0 or more");
}

static void test_rms_normalization(void)
{
    static const uint32_t axes[] = {1, 2};
    struct operand x = make(F32(2, 3, 4)), scale = make(F32(3, 4)), other = make(F32(4, 3));
    struct operand *in[2] = {&x, &scale};
    unsigned count = 2;
    enum op op = WNN_OP_rmsNormalization;
    struct rms_normalization_attrs attrs = *(const struct rms_normalization_attrs *)wnn_ops[op].defaults;
    attrs.axes = (WNNUint32List){axes, 2};
    struct descriptor out;
    REQUIRE(infer(op, &attrs, in, count, &out) == NULL);
    REQUIRE(wnn_descriptor_equal(&out, &x.type));
    in[1] = NULL;
    REQUIRE(infer(op, &attrs, in, count, &out) == NULL);

    in[1] = &other;
    BREAKS("rmsNormalization: scale [4, 3] has size 4 in dimension 0; expected 3, dimension 1 of input "
           "[2, 3, 4]");
    in[1] = &scale;
    attrs.axes.count = 0;
    BREAKS("rmsNormalization: expected input and scale, and axes");
    attrs.axes = (WNNUint32List){axes, 1};
    BREAKS("rmsNormalization: scale [3, 4] has rank 2; expected 1, the number of axes");
}

static void test_rotary_embedding(void)
{
    struct operand x = make(F32(2, 6, 4)), half = make(F32(3, 4)), whole = make(F32(2, 6, 1)),
                   other = make(F32(2, 4));
    struct operand *in[3] = {&x, &half, &whole};
    unsigned count = 3;
    enum op op = WNN_OP_rotaryEmbedding;
    struct rotary_embedding_attrs attrs = *(const struct rotary_embedding_attrs *)wnn_ops[op].defaults;
    attrs.axis = 1;
    struct descriptor out;
    REQUIRE(infer(op, &attrs, in, count, &out) == NULL);
    REQUIRE(wnn_descriptor_equal(&out, &x.type));

    in[2] = &other;
    BREAKS("rotaryEmbedding: sines [2, 4] cannot be broadcast to input [2, 6, 4], or to a half of it");
    in[1] = &other;
    BREAKS("rotaryEmbedding: cosines [2, 4] cannot be broadcast to input [2, 6, 4], or to a half of it");
    attrs.axis = 3;
    BREAKS("rotaryEmbedding: input [2, 6, 4] has no halves along axis 3");
    in[0] = &half;
    attrs.axis = 0;
    BREAKS("rotaryEmbedding: input [3, 4] has no halves along axis 0");
    count = 2;
    BREAKS("rotaryEmbedding: expected input, cosines and sines");
}

static void test_elementwise(void)
{
    struct operand x = make(F32(2, 3)), y = make(F32(3));
    struct operand *in[WNN_ELEMENTWISE_INPUTS + 1] = {&x, &y, &x, &x, &x, &x, &x, &x, &x};
    unsigned count = 2;
    enum op op = WNN_OP_elementwise;
    struct elementwise_step steps[2] = {
        {.op = WNN_OP_add, .in_count = 2, .in = {0, 1}, .output = WNN_NO_OUTPUT, .type = x.type},
        {.op = WNN_OP_exp, .in_count = 1, .in = {2}, .output = 0, .type = x.type}};
    for (unsigned i = 0; i < 2; i++)
        steps[i].attrs = wnn_ops[steps[i].op].defaults;
    struct elementwise_attrs attrs = *(const struct elementwise_attrs *)wnn_ops[op].defaults;
    attrs.steps = steps;
    attrs.count = 2;
    struct descriptor out;
    REQUIRE(infer(op, &attrs, in, count, &out) == NULL);
    REQUIRE(wnn_descriptor_equal(&out, &x.type));

    count = WNN_ELEMENTWISE_INPUTS + 1;
    BREAKS("elementwise: 9 operands and 2 steps");
    count = 2;
    steps[1].in[0] = 3;
    BREAKS("elementwise: exp takes value 3 of 3");
    steps[1].in[0] = 2;
    steps[1].output = WNN_ELEMENTWISE_OUTPUTS;
    BREAKS("elementwise: output 4");
    steps[1].output = 0;
    steps[1].type = y.type;
    BREAKS("elementwise: step 1 is not what exp infers");
    steps[1].type = x.type;
    steps[1].op = WNN_OP_softmax;
    BREAKS("elementwise: softmax has no place in it");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_attended_keys());
    CASE(test_attention());
    CASE(test_elementwise());
    CASE(test_rms_normalization());
    CASE(test_rotary_embedding());
    end();
    return cases_end();
}
