// SPDX-License-Identifier: Apache-2.0
//
// Validation of the operators that move elements: concat, expand, pad, reshape, reverse, slice, split, tile,
// transpose, triangular.

#include "conformance/unit/validation.h"

static void test_concat(void)
{
#define CONCAT(axis, ...)                                                                                    \
    wnnGraphBuilderConcat(b, sizeof((WNNOperand[]){__VA_ARGS__}) / sizeof(WNNOperand),                       \
                          (WNNOperand[]){__VA_ARGS__}, axis, NULL)
    ACCEPTS(CONCAT(0, F32(2)), Float32, LIST(2));
    ACCEPTS(CONCAT(1, I8(2, 3), I8(2, 1), I8(2, 4)), Int8, LIST(2, 8));
    ACCEPTS(CONCAT(0, I8(BIG - 1), I8(1)), Int8, LIST(BIG));
    REFUSES(CONCAT(0, I8(BIG - 1), I8(2)),
            "concat: the sizes along axis 0 add up to 2147483648; expected at most 2147483647");
    REFUSES(CONCAT(1, F32(2), F32(2)), "concat: axis is 1; inputs[0] [2] has rank 1");
    REFUSES(CONCAT(0, SCALAR(Float32)), "concat: inputs has shape [] of rank 0; expected rank 1 to 8");
    REFUSES(CONCAT(0, F32(2), F16(2)),
            "concat: inputs[1] has data type float16; expected float32, the type of inputs[0]");
    REFUSES(CONCAT(0, F32(2), F32(2), F32(2, 2)),
            "concat: inputs[2] [2, 2] has rank 2; expected 1, the rank of inputs[0] [2]");
    REFUSES(CONCAT(1, F32(2, 3), F32(3, 3)),
            "concat: inputs[1] [3, 3] has size 3 in dimension 0; expected 2, that of inputs[0] [2, 3]");
    REFUSES(wnnGraphBuilderConcat(b, 0, NULL, 0, NULL), "concat: got 0 operands; expected 1 to 8192");
    REFUSES(wnnGraphBuilderConcat(b, 3, NULL, 0, NULL), "concat: got 0 operands; expected 1 to 8192");
    static WNNOperand many[8193];
    for (size_t i = 0; i < 8193; i++)
        many[i] = i ? many[0] : F32(1);
    ACCEPTS(wnnGraphBuilderConcat(b, 8192, many, 0, NULL), Float32, LIST(8192));
    REFUSES(wnnGraphBuilderConcat(b, 8193, many, 0, NULL), "concat: got 8193 operands; expected 1 to 8192");
}

static void test_expand(void)
{
    ACCEPTS(wnnGraphBuilderExpand(b, SCALAR(Uint64), EMPTY, NULL), Uint64, EMPTY);
    ACCEPTS(wnnGraphBuilderExpand(b, SCALAR(Float32), LIST(2, 3), NULL), Float32, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderExpand(b, F32(3), LIST(2, 3), NULL), Float32, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderExpand(b, F32(2, 1), LIST(4, 2, 3), NULL), Float32, LIST(4, 2, 3));
    ACCEPTS(wnnGraphBuilderExpand(b, F32(1), LIST(1, 1, 1, 1, 1, 1, 1, 1), NULL), Float32,
            LIST(1, 1, 1, 1, 1, 1, 1, 1));
    REFUSES(wnnGraphBuilderExpand(b, F32(2, 3), LIST(3), NULL),
            "expand: input [2, 3] cannot be broadcast to newShape [3]");
    REFUSES(wnnGraphBuilderExpand(b, F32(2), LIST(3), NULL),
            "expand: input [2] cannot be broadcast to newShape [3]");
    REFUSES(wnnGraphBuilderExpand(b, F32(2), LIST(1), NULL),
            "expand: input [2] cannot be broadcast to newShape [1]");
    REFUSES(wnnGraphBuilderExpand(b, F32(1), LIST(0), NULL),
            "expand: output has shape [0]; expected each dimension to be 1 to 2147483647");
    REFUSES(wnnGraphBuilderExpand(b, F32(1), LIST(0x80000000u), NULL),
            "expand: output has shape [2147483648]; expected each dimension to be 1 to 2147483647");
    REFUSES(wnnGraphBuilderExpand(b, F32(1), LIST(46341, 46341), NULL),
            "expand: output has shape [46341, 46341]; expected at most 2147483647 elements");
    REFUSES(
        wnnGraphBuilderExpand(b, F32(1), LIST(BIG, BIG, BIG, BIG, BIG, BIG, BIG, BIG), NULL),
        "expand: output has shape [2147483647, 2147483647, 2147483647, 2147483647, 2147483647, 2147483647, "
        "2147483647, 2147483647]; expected at most 2147483647 elements");
    REFUSES(wnnGraphBuilderExpand(b, F32(1), LIST(1, 1, 1, 1, 1, 1, 1, 1, 1), NULL),
            "expand: newShape has 9 items; expected at most 8");
    REFUSES(wnnGraphBuilderExpand(b, F32(1), ABSENT, NULL), "expand: newShape is absent");
    REFUSES(wnnGraphBuilderExpand(b, F32(1), ((WNNUint32List){NULL, 1}), NULL),
            "expand: newShape has 1 items but no data");
    REFUSES(wnnGraphBuilderExpand(b, F32(1), ((WNNUint32List){NULL, 8193}), NULL),
            "expand: newShape has 8193 items; expected at most 8192");
}

static void test_reshape(void)
{
    ACCEPTS(wnnGraphBuilderReshape(b, F32(2, 3), LIST(6), NULL), Float32, LIST(6));
    ACCEPTS(wnnGraphBuilderReshape(b, F32(1, 1), EMPTY, NULL), Float32, EMPTY);
    ACCEPTS(wnnGraphBuilderReshape(b, SCALAR(Int8), LIST(1, 1, 1, 1, 1, 1, 1, 1), NULL), Int8,
            LIST(1, 1, 1, 1, 1, 1, 1, 1));
    ACCEPTS(wnnGraphBuilderReshape(b, I8(BIG), LIST(1, BIG), NULL), Int8, LIST(1, BIG));
    REFUSES(wnnGraphBuilderReshape(b, F32(2, 3), LIST(4), NULL),
            "reshape: newShape [4] does not have the 6 elements of input [2, 3]");
    REFUSES(wnnGraphBuilderReshape(b, F32(2, 3), EMPTY, NULL),
            "reshape: newShape [] does not have the 6 elements of input [2, 3]");
    REFUSES(wnnGraphBuilderReshape(b, F32(2), LIST(0, 2), NULL),
            "reshape: newShape [0, 2] does not have the 2 elements of input [2]");
    REFUSES(wnnGraphBuilderReshape(b, F32(1), LIST(0x80000000u, 0x80000000u, 4), NULL),
            "reshape: newShape [2147483648, 2147483648, 4] does not have the 1 elements of input [1]");
    REFUSES(wnnGraphBuilderReshape(b, F32(1), LIST(1, 1, 1, 1, 1, 1, 1, 1, 1), NULL),
            "reshape: newShape has 9 items; expected at most 8");
    REFUSES(wnnGraphBuilderReshape(b, F32(1), ABSENT, NULL), "reshape: newShape is absent");
}

static const WNNPadOptions pad_defaults = WNN_PAD_OPTIONS_INIT;
static WNNPadOptions pad;
#define PAD(x, before, after, padding_mode)                                                                  \
    (pad = pad_defaults, pad.mode = WNNPaddingMode_##padding_mode,                                           \
     wnnGraphBuilderPad(b, x, before, after, &pad))

static void test_pad(void)
{
    ACCEPTS(wnnGraphBuilderPad(b, SCALAR(Float32), EMPTY, EMPTY, NULL), Float32, EMPTY);
    ACCEPTS(wnnGraphBuilderPad(b, F32(2, 3), LIST(1, 0), LIST(9, 2), NULL), Float32, LIST(12, 5));
    ACCEPTS(PAD(U8(2, 3), LIST(9, 9), LIST(9, 9), Edge), Uint8, LIST(20, 21));
    ACCEPTS(PAD(F32(2, 3), LIST(1, 2), LIST(0, 2), Reflection), Float32, LIST(3, 7));
    ACCEPTS(PAD(F32(2, 3), LIST(2, 3), LIST(0, 3), Symmetric), Float32, LIST(4, 9));
    ACCEPTS(PAD(I8(1), LIST(BIG - 1), LIST(0), Constant), Int8, LIST(BIG));
    REFUSES(PAD(F32(2, 3), LIST(1), LIST(0, 0), Constant), "pad: beginningPadding has 1 items; expected 2");
    REFUSES(PAD(F32(2, 3), LIST(1, 1), EMPTY, Constant), "pad: endingPadding has 0 items; expected 2");
    REFUSES(PAD(F32(2, 3), ABSENT, LIST(0, 0), Constant), "pad: beginningPadding is absent");
    REFUSES(PAD(F32(2, 3), LIST(0, 0), ABSENT, Constant), "pad: endingPadding is absent");
    REFUSES(PAD(F32(2, 3), LIST(0, 3), LIST(0, 0), Reflection),
            "pad: padding 3 of dimension 1; reflection needs less than its size 3");
    REFUSES(PAD(F32(2, 3), LIST(0, 0), LIST(2, 0), Reflection),
            "pad: padding 2 of dimension 0; reflection needs less than its size 2");
    REFUSES(PAD(F32(2, 3), LIST(0, 4), LIST(0, 0), Symmetric),
            "pad: padding 4 of dimension 1; symmetric padding needs at most its size 3");
    REFUSES(PAD(F32(2, 3), LIST(0, 0), LIST(0, 4), Symmetric),
            "pad: padding 4 of dimension 1; symmetric padding needs at most its size 3");
    REFUSES(PAD(I8(1), LIST(BIG - 1), LIST(1), Constant),
            "pad: dimension 0 of 1 with padding 2147483646 and 1 is larger than 2147483647");
    REFUSES(PAD(I8(1), LIST(0xFFFFFFFFu), LIST(0xFFFFFFFFu), Edge),
            "pad: dimension 0 of 1 with padding 4294967295 and 4294967295 is larger than 2147483647");
    REFUSES(PAD(I8(2, 2), LIST(65536, 65536), LIST(0, 0), Edge),
            "pad: output has shape [65538, 65538]; expected at most 2147483647 elements");
    pad = pad_defaults;
    pad.mode = (WNNPaddingMode)5;
    REFUSES(wnnGraphBuilderPad(b, F32(1), LIST(0), LIST(0), &pad),
            "pad: mode is 5; expected an enumerator from 1 to 4");
    pad = pad_defaults;
    pad.value = wnnNumberFloat64(NAN);
    ACCEPTS(wnnGraphBuilderPad(b, F32(1), LIST(1), LIST(0), &pad), Float32, LIST(2));
    ACCEPTS(wnnGraphBuilderPad(b, I32(1), LIST(1), LIST(0), &pad), Int32, LIST(2));
    pad.value.type = (WNNNumberType)9;
    REFUSES(wnnGraphBuilderPad(b, F32(1), LIST(0), LIST(0), &pad),
            "pad: value has number type 9, which does not exist");
}

static void test_reverse(void)
{
    WNNReverseOptions options = WNN_REVERSE_OPTIONS_INIT;
    ACCEPTS(wnnGraphBuilderReverse(b, SCALAR(Float32), NULL), Float32, EMPTY);
    ACCEPTS(wnnGraphBuilderReverse(b, F32(2, 3), NULL), Float32, LIST(2, 3));
    options.axes = EMPTY;
    ACCEPTS(wnnGraphBuilderReverse(b, F32(2, 3), &options), Float32, LIST(2, 3));
    options.axes = LIST(1, 0);
    ACCEPTS(wnnGraphBuilderReverse(b, F32(2, 3), &options), Float32, LIST(2, 3));
    options.axes = LIST(1, 2);
    REFUSES(wnnGraphBuilderReverse(b, F32(2, 3), &options), "reverse: axes[1] is 2; input [2, 3] has rank 2");
    options.axes = LIST(1, 1);
    REFUSES(wnnGraphBuilderReverse(b, F32(2, 3), &options), "reverse: axes[1] repeats axis 1");
    options.axes = LIST(0);
    REFUSES(wnnGraphBuilderReverse(b, SCALAR(Float32), &options),
            "reverse: axes[0] is 0; input [] has rank 0");
}

static void test_slice(void)
{
    WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
    WNNOperand x = F32(4, 5);
    ACCEPTS(wnnGraphBuilderSlice(b, SCALAR(Int8), EMPTY, EMPTY, NULL), Int8, EMPTY);
    ACCEPTS(wnnGraphBuilderSlice(b, x, LIST(0, 0), LIST(4, 5), NULL), Float32, LIST(4, 5));
    ACCEPTS(wnnGraphBuilderSlice(b, x, LIST(3, 1), LIST(1, 4), NULL), Float32, LIST(1, 4));
    options.strides = LIST(3, 2);
    ACCEPTS(wnnGraphBuilderSlice(b, x, LIST(0, 0), LIST(4, 5), &options), Float32, LIST(2, 3));
    options.strides = LIST(0xFFFFFFFFu, 1);
    ACCEPTS(wnnGraphBuilderSlice(b, x, LIST(1, 0), LIST(3, 5), &options), Float32, LIST(1, 5));
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(0), LIST(1, 1), NULL), "slice: starts has 1 items; expected 2");
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(0, 0), LIST(1), NULL), "slice: sizes has 1 items; expected 2");
    REFUSES(wnnGraphBuilderSlice(b, x, ABSENT, LIST(1, 1), NULL), "slice: starts is absent");
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(0, 0), ABSENT, NULL), "slice: sizes is absent");
    options.strides = LIST(1);
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(0, 0), LIST(1, 1), &options),
            "slice: strides has 1 items; expected 2");
    options.strides = LIST(1, 0);
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(0, 0), LIST(1, 1), &options),
            "slice: strides[1] is 0; expected at least 1");
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(0, 0), LIST(1, 0), NULL),
            "slice: sizes[1] is 0; expected at least 1");
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(4, 0), LIST(1, 1), NULL),
            "slice: starts[0] + sizes[0] is 5; dimension 0 of input [4, 5] has size 4");
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(0, 1), LIST(1, 5), NULL),
            "slice: starts[1] + sizes[1] is 6; dimension 1 of input [4, 5] has size 5");
    REFUSES(wnnGraphBuilderSlice(b, x, LIST(0xFFFFFFFFu, 0), LIST(2, 1), NULL),
            "slice: starts[0] + sizes[0] is 4294967297; dimension 0 of input [4, 5] has size 4");
}

static void test_split(void)
{
    WNNSplitOptions options = WNN_SPLIT_OPTIONS_INIT;
    static WNNOperand parts[8193];
    WNNOperand x = F32(4, 6);
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(b, x, 2, NULL, 3, parts), 2);
    ACCEPTS(parts[0], Float32, LIST(2, 6));
    ACCEPTS(parts[1], Float32, LIST(2, 6));
    REQUIRE(parts[2] == NULL);
    options.axis = 1;
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplitSizes(b, x, LIST(1, 3, 2), &options, 3, parts), 3);
    ACCEPTS(parts[1], Float32, LIST(4, 3));
    ACCEPTS(parts[2], Float32, LIST(4, 2));
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplitSizes(b, x, LIST(6), &options, 1, parts), 1);
    ACCEPTS(parts[0], Float32, LIST(4, 6));
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(b, I8(8192), 8192, NULL, 8193, parts), 8192);
    ACCEPTS(parts[8191], Int8, LIST(1));
    REFUSES(wnnGraphBuilderSplit(b, x, 0, NULL, 9, parts), "split: splits is 0; expected 1 to 8192 parts");
    REFUSES(wnnGraphBuilderSplit(b, I8(8193), 8193, NULL, 8193, parts),
            "split: splits is 8193; expected 1 to 8192 parts");
    REFUSES(wnnGraphBuilderSplit(b, x, 3, NULL, 9, parts),
            "split: splits is 3, which does not divide size 4 of dimension 0 of input [4, 6]");
    REFUSES(wnnGraphBuilderSplitSizes(b, x, LIST(4, 0), NULL, 9, parts),
            "split: splits[1] is 0; expected at least 1");
    REFUSES(wnnGraphBuilderSplitSizes(b, x, LIST(3, 2), NULL, 9, parts),
            "split: splits add up to 5; expected 4, dimension 0 of input [4, 6]");
    REFUSES(wnnGraphBuilderSplitSizes(b, x, LIST(0xFFFFFFFFu, 5), NULL, 9, parts),
            "split: splits add up to 4294967300; expected 4, dimension 0 of input [4, 6]");
    REFUSES(wnnGraphBuilderSplitSizes(b, x, EMPTY, NULL, 9, parts),
            "split: splits is 0; expected 1 to 8192 parts");
    REFUSES(wnnGraphBuilderSplitSizes(b, x, ABSENT, NULL, 9, parts),
            "split: splits is 0; expected 1 to 8192 parts");
    static const uint32_t ones[8193];
    REFUSES(wnnGraphBuilderSplitSizes(b, x, ((WNNUint32List){ones, 8193}), NULL, 9, parts),
            "split: splits has 8193 items; expected at most 8192");
    REFUSES(wnnGraphBuilderSplit(b, x, 4, NULL, 3, parts), "split: has 4 outputs; there is room for 3");
    REFUSES(wnnGraphBuilderSplit(b, x, 4, NULL, 4, NULL), "split: has 4 outputs; there is room for 0");
    options.axis = 2;
    REFUSES(wnnGraphBuilderSplit(b, x, 1, &options, 1, parts), "split: axis is 2; input [4, 6] has rank 2");
    REFUSES(wnnGraphBuilderSplit(b, SCALAR(Float32), 1, NULL, 1, parts),
            "split: input has shape [] of rank 0; expected rank 1 to 8");
}

static void test_tile(void)
{
    ACCEPTS(wnnGraphBuilderTile(b, SCALAR(Float32), EMPTY, NULL), Float32, EMPTY);
    ACCEPTS(wnnGraphBuilderTile(b, F32(2, 3), LIST(1, 4), NULL), Float32, LIST(2, 12));
    ACCEPTS(wnnGraphBuilderTile(b, I8(1), LIST(BIG), NULL), Int8, LIST(BIG));
    REFUSES(wnnGraphBuilderTile(b, F32(2, 3), LIST(1), NULL), "tile: repetitions has 1 items; expected 2");
    REFUSES(wnnGraphBuilderTile(b, F32(2, 3), ABSENT, NULL), "tile: repetitions is absent");
    REFUSES(wnnGraphBuilderTile(b, F32(2, 3), LIST(1, 0), NULL),
            "tile: repetitions[1] is 0; expected at least 1");
    REFUSES(wnnGraphBuilderTile(b, I8(2), LIST(0x40000000u), NULL),
            "tile: dimension 0 of 2 repeated 1073741824 times is larger than 2147483647");
    REFUSES(wnnGraphBuilderTile(b, I8(BIG), LIST(0xFFFFFFFFu), NULL),
            "tile: dimension 0 of 2147483647 repeated 4294967295 times is larger than 2147483647");
    REFUSES(wnnGraphBuilderTile(b, I8(2, 2), LIST(32768, 32768), NULL),
            "tile: output has shape [65536, 65536]; expected at most 2147483647 elements");
}

static void test_transpose(void)
{
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    WNNOperand x = F32(2, 3, 4);
    ACCEPTS(wnnGraphBuilderTranspose(b, x, NULL), Float32, LIST(4, 3, 2));
    ACCEPTS(wnnGraphBuilderTranspose(b, SCALAR(Int8), NULL), Int8, EMPTY);
    options.permutation = LIST(2, 0, 1);
    ACCEPTS(wnnGraphBuilderTranspose(b, x, &options), Float32, LIST(4, 2, 3));
    options.permutation = EMPTY;
    ACCEPTS(wnnGraphBuilderTranspose(b, SCALAR(Int8), &options), Int8, EMPTY);
    REFUSES(wnnGraphBuilderTranspose(b, x, &options), "transpose: permutation has 0 items; expected 3");
    options.permutation = LIST(0, 1, 2, 3);
    REFUSES(wnnGraphBuilderTranspose(b, x, &options), "transpose: permutation has 4 items; expected 3");
    options.permutation = LIST(0, 3, 1);
    REFUSES(wnnGraphBuilderTranspose(b, x, &options),
            "transpose: permutation[1] is 3; input [2, 3, 4] has rank 3");
    options.permutation = LIST(0, 1, 0);
    REFUSES(wnnGraphBuilderTranspose(b, x, &options), "transpose: permutation[2] repeats dimension 0");
}

static void test_triangular(void)
{
    WNNTriangularOptions options = WNN_TRIANGULAR_OPTIONS_INIT;
    options.diagonal = INT32_MIN;
    options.upper = false;
    ACCEPTS(wnnGraphBuilderTriangular(b, F32(2, 3, 4), &options), Float32, LIST(2, 3, 4));
    REFUSES(wnnGraphBuilderTriangular(b, F32(3), NULL),
            "triangular: input has shape [3] of rank 1; expected rank 2 to 8");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_concat());
    CASE(test_expand());
    CASE(test_reshape());
    CASE(test_pad());
    CASE(test_reverse());
    CASE(test_slice());
    CASE(test_split());
    CASE(test_tile());
    CASE(test_transpose());
    CASE(test_triangular());
    end();
    return cases_end();
}
