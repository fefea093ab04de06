// SPDX-License-Identifier: Apache-2.0
//
// What must not reach XNNPACK: nodes on which the packaged library aborts, touches memory that is not its
// own, or computes something else, and nodes that it is worse at than the operator's own kernel.

#include "conformance/unit/xnnpack_subject.h"

static void test_refused_conv2d(void)
{
    struct subject s;
    struct conv_case c = plain;
    make_conv2d(&s, &c);
    REQUIRE(accepted(&s));

    // Shapes that contradict the parameters: XNNPACK writes what it computes, not what was declared.
    c.out[0] = 5;
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    c.out[0] = 7;
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    c = plain;
    make_conv2d(&s, &c);
    s.operands[3].type.shape.dim[3] += 1;
    REQUIRE(!accepted(&s));
    make_conv2d(&s, &c);
    s.operands[1].type.shape.dim[1] = 5;
    REQUIRE(!accepted(&s));

    // Weights that come at run time; other data types.
    make_conv2d(&s, &c);
    s.operands[1].constant = NULL;
    REQUIRE(!accepted(&s));
    c.bias = true;
    make_conv2d(&s, &c);
    REQUIRE(accepted(&s));
    s.operands[2].constant = NULL;
    REQUIRE(!accepted(&s));
    c = plain;
    for (WNNDataType type = WNNDataType_Float16; type <= WNNDataType_Uint8; type = (WNNDataType)(type + 1)) {
        make_conv2d(&s, &c);
        s.operands[0].type.type = s.operands[1].type.type = s.operands[3].type.type = type;
        REQUIRE(!accepted(&s));
    }
    unmap_all();

    // One channel a group: only where there are kernels for it.
    c = (struct conv_case){.n = 1,
                           .in = {9, 9},
                           .out = {3, 3},
                           .group_in = 1,
                           .group_out = 1,
                           .groups = 16,
                           .kernel = {7, 7},
                           .strides = {1, 1},
                           .dilations = {1, 1},
                           .first = true,
                           .layout = 1};
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    c.kernel[0] = c.kernel[1] = 5;
    c.out[0] = c.out[1] = 5;
    make_conv2d(&s, &c);
    REQUIRE(accepted(&s));

    // With the channels last, the own kernels are faster.
    c.first = false;
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    unmap_all();
}

// Parameters for which sizes inside of the library would overflow or be out of all proportion.
static void test_refused_sizes(void)
{
    struct subject s;
    struct conv_case c = plain;
    make_conv2d(&s, &c);
    s.strides[0] = 0x80000000u;
    s.operands[3].type.shape.dim[2] = 1;
    REQUIRE(!accepted(&s));
    make_conv2d(&s, &c);
    s.dilations[0] = 0x80000000u;
    REQUIRE(!accepted(&s));
    make_conv2d(&s, &c);
    s.padding[0] = 0xFFFFFFFFu;
    s.padding[1] = 1;
    REQUIRE(!accepted(&s));
    unmap_all();

    c.group_in = 1;
    for (int i = 0; i < 2; i++) {
        c.kernel[i] = c.in[i] = 65536;
        c.out[i] = 1;
    }
    make_pool(&s, WNN_OP_averagePool2d, &c);
    REQUIRE(!accepted(&s));
    make_pool(&s, WNN_OP_maxPool2d, &c);
    REQUIRE(!accepted(&s));
    // 2^16 pointers for each of 2^14 pixels.
    for (int i = 0; i < 2; i++) {
        c.kernel[i] = 256;
        c.in[i] = 383;
        c.out[i] = 128;
    }
    make_pool(&s, WNN_OP_maxPool2d, &c);
    REQUIRE(!accepted(&s));

    c = plain;
    c.group_in = 1 << 15; // a row of sums on the stack of a thread
    make_pool(&s, WNN_OP_averagePool2d, &c);
    REQUIRE(!accepted(&s));
    make_pool(&s, WNN_OP_maxPool2d, &c);
    REQUIRE(accepted(&s));

    // Few outputs in each of many groups are filled up to whole tiles.
    c = plain;
    c.groups = 65536;
    c.group_in = 1;
    c.group_out = 2;
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    unmap_all();
}

static void test_refused_transposed(void)
{
    struct subject s;
    // 1 element to 2 with a stride of 3: the library's tables would be overrun.
    struct conv_case c = {.n = 1,
                          .in = {1, 4},
                          .out = {2, 5},
                          .group_in = 3,
                          .group_out = 3,
                          .groups = 1,
                          .kernel = {3, 2},
                          .strides = {3, 1},
                          .dilations = {1, 1},
                          .padding = {0, 1},
                          .layout = 1};
    make_transposed(&s, &c);
    REQUIRE(!accepted(&s));
    c.padding[1] = 0;
    c.out[0] = 3;
    make_transposed(&s, &c);
    REQUIRE(accepted(&s));
    // A size that is not to be had with a padding below the stride.
    c.out[0] = 6;
    make_transposed(&s, &c);
    REQUIRE(!accepted(&s));
    // Rows without gaps and overlaps are better computed without it.
    c.out[0] = 3;
    c.kernel[1] = 1;
    c.out[1] = 4;
    make_transposed(&s, &c);
    REQUIRE(!accepted(&s));
    unmap_all();
}

static void test_refused_pools(void)
{
    static const enum op ops[] = {WNN_OP_averagePool2d, WNN_OP_maxPool2d};
    struct subject s;
    for (int i = 0; i < 2; i++) {
        struct conv_case c = plain;
        make_pool(&s, ops[i], &c);
        REQUIRE(accepted(&s));
        s.operands[3].type.shape.dim[1] += 1; // channels out of nowhere
        REQUIRE(!accepted(&s));

        // A window of one element.
        c.kernel[0] = c.kernel[1] = 1;
        c.out[0] = c.out[1] = 8;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));

        // Windows that lie in the padding: in front, behind, and behind because of rounding up.
        c = plain;
        c.padding[0] = 3;
        c.out[0] = 9;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));
        c = plain;
        c.padding[3] = 3;
        c.out[1] = 9;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));
        c = plain;
        c.strides[0] = 9;
        c.out[0] = 2;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));

        // Dilation.
        c = plain;
        c.dilations[0] = 2;
        c.out[0] = 4;
        make_pool(&s, ops[i], &c);
        REQUIRE(accepted(&s) == (ops[i] == WNN_OP_maxPool2d));
        c.padding[0] = 1;
        c.out[0] = 5;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));
        c.padding[0] = 0;
        c.padding[2] = 1;
        c.out[0] = 4;
        c.out[1] = 7;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));
    }
    struct conv_case c = plain;
    make_pool(&s, WNN_OP_l2Pool2d, &c);
    REQUIRE(!accepted(&s));
}

static void test_refused_others(void)
{
    struct subject s;
    make_gemm(&s, 2, 16, 4, false);
    REQUIRE(accepted(&s));
    s.attrs.gemm.alpha = 2; // could overflow in the weights
    REQUIRE(!accepted(&s));
    s.attrs.gemm.alpha = 0;
    REQUIRE(!accepted(&s));
    make_gemm(&s, 16, 16, 4, false);
    s.attrs.gemm.aTranspose = true;
    REQUIRE(!accepted(&s));
    make_gemm(&s, 2, 16, 4, false);
    add_constant(&s, 1, make_shape(2, 2, 4, 0, 0)); // another bias for every row
    REQUIRE(!accepted(&s));
    make_gemm(&s, 2, 16, 4, false);
    s.operands[1].constant = NULL;
    REQUIRE(!accepted(&s));
    unmap_all();
    begin(&s, WNN_OP_matmul, make_shape(3, 2, 3, 16, 0), make_shape(3, 2, 3, 4, 0));
    add_constant(&s, 0, make_shape(3, 2, 16, 4, 0)); // a batch of weights
    REQUIRE(!accepted(&s));

    make_resample(&s, false, 1, (const uint32_t[2]){4, 4}, (const uint32_t[2]){8, 8}, 3);
    REQUIRE(accepted(&s));
    s.attrs.resample.mode = WNNInterpolationMode_NearestNeighbor;
    REQUIRE(!accepted(&s));
    s.attrs.resample.mode = WNNInterpolationMode_Linear;
    s.axes[1] = 3; // height and channels
    REQUIRE(!accepted(&s));
    make_resample(&s, false, 1, (const uint32_t[2]){4, 4}, (const uint32_t[2]){7, 8}, 3);
    REQUIRE(!accepted(&s)); // coordinates that float32 cannot hold

    // Element-wise operators: NaN would become -infinity, prelu and elu have restrictions, fusing clamps
    // fails.
    static const enum op ops[] = {WNN_OP_add,       WNN_OP_relu,       WNN_OP_clamp,
                                  WNN_OP_prelu,     WNN_OP_elu,        WNN_OP_softmax,
                                  WNN_OP_hardSwish, WNN_OP_reduceMean, WNN_OP_quantizeLinear};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        begin(&s, ops[i], make_shape(4, 1, 8, 8, 4), make_shape(4, 1, 8, 8, 4));
        REQUIRE(!accepted(&s));
    }
    unmap_all();
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    skip_without_xnnpack();
    CASE(test_refused_conv2d());
    CASE(test_refused_sizes());
    CASE(test_refused_transposed());
    CASE(test_refused_pools());
    CASE(test_refused_others());
    return cases_end();
}
