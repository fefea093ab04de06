# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX in all versions of the operator set from 7 on, against ONNX Runtime: a table of cases where versions
differ, and random models of every operator.

usage: versions.py [--seed=N] [--count=N] WEBNN MODULES [CASE or OPERATOR...]

MODULES is the folder whose node_modules has onnxruntime-node. --count is how many random models there are of each operator,
5 without it; --seed the first of their seeds. Exit status 77: something that this needs is missing.
"""

import argparse
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

import generators
from runtime import INT4, UINT4, Case, Nibbles, Peers, one, run

random = np.random.default_rng(11)


def floats(*shape, scale=1):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def value(name, *shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def truth(name):
    return value(name, kind=TensorProto.BOOL)


# ----------------------------------------------------------------------------------------------------------------
# An attribute in one version, an input in the next
# ----------------------------------------------------------------------------------------------------------------

def attributes_and_inputs():
    x = {"x": floats(1, 3, 1, 5)}
    for opset in (7, 11):
        yield f"Squeeze {opset}", one("Squeeze", x, "y", opset=opset, axes=[0, 2] if opset < 11 else [-4, -2])
        yield f"Unsqueeze {opset}", one("Unsqueeze", x, "y", opset=opset, axes=[0, 3] if opset < 11 else [0, -1])
        yield f"ReduceSum {opset}", one("ReduceSum", x, "y", opset=opset, axes=[1] if opset < 11 else [-3], keepdims=0)
        yield f"Split {opset}", one("Split", x, "a,b", opset=opset, axis=1, split=[1, 2])
        yield f"Split {opset} equal", one("Split", {"x": floats(6, 2)}, "a,b,c", opset=opset)
    for opset in (13, 18, 21):
        yield f"Squeeze {opset}", one("Squeeze", x, "y", {"a": ints(0, -2)}, opset=opset)
        yield f"Squeeze {opset} all", one("Squeeze", x, "y", opset=opset)
        yield f"Unsqueeze {opset}", one("Unsqueeze", x, "y", {"a": ints(-1, 0)}, opset=opset)
        yield f"ReduceSum {opset}", one("ReduceSum", x, "y", {"a": ints(1, -1)}, opset=opset)
        yield f"ReduceSum {opset} none", one("ReduceSum", x, "y", opset=opset, noop_with_empty_axes=1)
        yield f"ReduceSum {opset} empty", one("ReduceSum", x, "y", {"a": ints()}, opset=opset, keepdims=0)
        yield f"Split {opset}", one("Split", x, "a,b", {"s": ints(2, 1)}, opset=opset, axis=1)
    yield "ReduceMax 13", one("ReduceMax", x, "y", opset=13, axes=[1, 3])
    yield "ReduceMax 18", one("ReduceMax", x, "y", {"a": ints(1, 3)}, opset=18)
    yield "ReduceMax 20 bool", one("ReduceMax", {"x": random.integers(0, 2, (3, 4)).astype(bool)}, "y", {"a": ints(1)}, opset=20)
    yield "ReduceL2 18 none", one("ReduceL2", x, "y", opset=18, noop_with_empty_axes=1)
    yield "ReduceSumSquare 18 none", one("ReduceSumSquare", x, "y", opset=18, noop_with_empty_axes=1)
    yield "ReduceLogSumExp 18 none", one("ReduceLogSumExp", x, "y", opset=18, noop_with_empty_axes=1)
    yield "Split 18 uneven", one("Split", {"x": floats(7, 2)}, "a,b,c", opset=18, num_outputs=3)
    yield "Pad 7", one("Pad", {"x": floats(3, 4)}, "y", opset=7, pads=[0, 1, 2, -1], value=1.5)
    yield "Pad 7 reflect", one("Pad", {"x": floats(3, 4)}, "y", opset=7, pads=[2, 1, 0, 3], mode="reflect")
    yield "Pad 11", one("Pad", {"x": floats(3, 4)}, "y", {"p": ints(0, 1, 2, -1), "v": np.float32(2)}, opset=11)
    yield "Pad 13 int", one("Pad", {"x": ints(3, 4)}, "y", {"p": ints(2, 1), "v": np.int64(7)}, opset=13)
    yield "Pad 18 axes", one("Pad", {"x": floats(3, 4)}, "y", {"p": ints(1, 2), "a": ints(-1)}, "x,p,,a", opset=18)
    yield "Pad 19 wrap", one("Pad", {"x": floats(3, 4)}, "y", {"p": ints(1, 2, 2, 3)}, opset=19, mode="wrap")
    yield "Slice 7", one("Slice", {"x": floats(4, 6)}, "y", opset=7, starts=[1, -3], ends=[100, -1])
    yield "Slice 9 axes", one("Slice", {"x": floats(4, 6)}, "y", opset=9, axes=[1], starts=[-4], ends=[5])
    yield "Slice 10", one("Slice", {"x": floats(4, 6)}, "y", {"s": ints(3, 5), "e": ints(-9, 0), "a": ints(0, -1), "t": ints(-1, -2)}, opset=10)
    yield "Slice 13 int32", one("Slice", {"x": floats(4, 6)}, "y", {"s": np.array([1], np.int32), "e": np.array([2 ** 31 - 1], np.int32),
                                                                    "a": np.array([1], np.int32), "t": np.array([2], np.int32)}, opset=13)
    yield "Clip 7", one("Clip", x, "y", opset=7, max=0.5)
    yield "Clip 11 low", one("Clip", x, "y", {"l": np.float32(-0.25)}, opset=11)
    yield "Clip 12 high", one("Clip", {"x": ints(-3, 4, 9)}, "y", {"h": np.int64(5)}, "x,,h", opset=12)
    yield "Clip 13 swapped", one("Clip", x, "y", {"l": np.float32(1), "h": np.float32(-1)}, opset=13)
    yield "Dropout 7", one("Dropout", x, "y", opset=7, ratio=0.5)
    yield "Dropout 10", one("Dropout", x, "y", opset=10, ratio=0.5)
    yield "Dropout 12", one("Dropout", x, "y,m", {"r": np.float32(0.5)}, opset=12)
    yield "Dropout 13 inference", one("Dropout", x, "y,m", {"r": np.float32(0.5), "t": np.array(False)}, opset=13)
    yield "TopK 7", one("TopK", {"x": floats(3, 9)}, "y,i", opset=7, k=4)
    yield "TopK 10", one("TopK", {"x": floats(3, 9)}, "y,i", {"k": ints(4)}, opset=10, axis=0 - 1)
    yield "TopK 11 smallest", one("TopK", {"x": floats(9, 3)}, "y,i", {"k": ints(2)}, opset=11, axis=0, largest=0)
    yield "TopK 11 many", one("TopK", {"x": floats(2, 5000)}, "y,i", {"k": ints(100)}, opset=11)
    yield "TopK 11 ties", one("TopK", {"x": random.integers(0, 9, (2, 6000)).astype(np.int32)}, "y,i", {"k": ints(37)}, opset=11)
    yield "TopK 11 least of ties", one("TopK", {"x": random.integers(-9, 9, (5001,)).astype(np.int64)}, "y,i", {"k": ints(12)}, opset=11, largest=0)
    yield "Upsample 7", one("Upsample", {"x": floats(1, 2, 3, 4)}, "y", opset=7, scales=[1.0, 1.0, 2.0, 1.5])
    yield "Upsample 9 linear", one("Upsample", {"x": floats(1, 2, 3, 4)}, "y", {"s": np.array([1, 1, 2, 3], np.float32)}, opset=9, mode="linear")
    yield "Resize 10", one("Resize", {"x": floats(1, 2, 3, 4)}, "y", {"s": np.array([1, 1, 0.7, 2.5], np.float32)}, opset=10)
    yield "Resize 10 linear", one("Resize", {"x": floats(1, 2, 3, 4)}, "y", {"s": np.array([1, 1, 0.7, 2.5], np.float32)}, opset=10, mode="linear")
    crop = {"r": np.array([0, 0, 0.4, -0.1, 1, 1, 1.2, 0.9], np.float32), "n": np.zeros(0, np.float32), "s": ints(1, 1, 5, 3)}
    yield "Resize 11 crop", one("Resize", {"x": floats(1, 1, 4, 6)}, "y", crop, opset=11, mode="linear", extrapolation_value=7.0,
                                coordinate_transformation_mode="tf_crop_and_resize")
    yield "Resize 13 crop cubic", one("Resize", {"x": floats(1, 1, 4, 6)}, "y", crop, "x,r,,s", opset=13, mode="cubic",
                                      coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3.0)
    yield "Resize 11 nearest of TensorFlow", one(
        "Resize", {"x": floats(1, 1, 4, 6)}, "y", {"r": np.zeros(0, np.float32), "n": np.zeros(0, np.float32), "s": ints(1, 1, 7, 9)},
        opset=11, nearest_mode="floor", coordinate_transformation_mode="tf_half_pixel_for_nn")
    for places, rounding in (("asymmetric", "floor"), ("half_pixel", "floor"), ("half_pixel", "round_prefer_ceil"),
                             ("pytorch_half_pixel", "ceil")):
        # Positions that are whole numbers but for what float32 rounds.
        yield f"Resize 13 nearest {places} {rounding}", one(
            "Resize", {"x": floats(1, 2, 5, 20)}, "y", {"s": np.array([1, 1, 0.6, 1.2], np.float32)}, "x,,s", opset=13,
            mode="nearest", coordinate_transformation_mode=places, nearest_mode=rounding)
    yield "Einsum 12 capital letters", one("Einsum", {"a": floats(2, 3, 4), "b": floats(4, 5)}, "y", opset=12, equation="...bA,AC->C...b")
    a, b = floats(2, 3), floats(3, 4)
    yield "Einsum 12 capital letters first", one("Einsum", {"a": a, "b": b}, "y", opset=12, equation="aZ,ZB", expected={"y": (a @ b).T})
    yield "Resize 18 antialias", one("Resize", {"x": floats(1, 1, 9, 8)}, "y", {"s": ints(1, 1, 4, 3)}, "x,,,s", opset=18, mode="cubic",
                                     antialias=1, tolerance=1e-5)
    yield "Resize 18 antialias crop", one(
        "Resize", {"x": floats(1, 1, 9, 8)}, "y", {"r": np.array([0, 0, 0.1, 0.2, 1, 1, 0.9, 1.1], np.float32), "s": ints(1, 1, 4, 3)},
        "x,r,,s", opset=18, mode="linear", antialias=1, coordinate_transformation_mode="tf_crop_and_resize", tolerance=1e-5)
    yield "Resize 18 axes", one("Resize", {"x": floats(1, 1, 4, 6)}, "y", {"s": ints(9, 7)}, "x,,,s", opset=18, mode="linear", axes=[3, 2])
    yield "Resize 19 symmetric", one("Resize", {"x": floats(1, 1, 4, 6)}, "y", {"s": np.array([0.6, 0.7], np.float32)}, "x,,s", opset=19,
                                     mode="linear", axes=[2, 3], coordinate_transformation_mode="half_pixel_symmetric")
    yield "DFT 17", one("DFT", {"x": floats(2, 6, 4, 1)}, "y", opset=17, axis=2, onesided=1, tolerance=1e-5)
    yield "DFT 20", one("DFT", {"x": floats(2, 6, 4, 1)}, "y", {"n": np.int64(5), "a": np.int64(1)}, opset=20, tolerance=1e-5)
    yield "DFT 20 default axis", one("DFT", {"x": floats(2, 6, 4, 2)}, "y", opset=20, inverse=1, tolerance=1e-5)


# ----------------------------------------------------------------------------------------------------------------
# Another meaning from one version to the next
# ----------------------------------------------------------------------------------------------------------------

def batch_statistics(opset, outputs, shape, momentum=0.9):
    """Normalization with the statistics of the batch, as numpy computes it: ONNX Runtime leaves training to another library."""
    x, c = floats(*shape), shape[1]
    s, b, m, v = floats(c), floats(c), floats(c), np.abs(floats(c)) + np.float32(0.1)
    axes = tuple(i for i in range(x.ndim) if i != 1)
    mean, spread = x.mean(axes), x.var(axes)
    column = (slice(None), *[None] * (x.ndim - 2))
    y = (x - mean[column]) / np.sqrt(spread[column] + 1e-5) * s[column] + b[column]
    kept = [y, m * momentum + mean * (1 - momentum), v * momentum + spread * (1 - momentum), mean, spread]
    names = outputs.split(",")
    more = {"training_mode": 1} if opset >= 14 else {}
    return one("BatchNormalization", {"x": x}, outputs, {"s": s, "b": b, "m": m, "v": v}, opset=opset, momentum=momentum,
               expected={name: array.astype(np.float32) for name, array in zip(names, kept)}, tolerance=1e-5, **more)


def for_each_activation(opset):
    """Statistics of each activation, not of each channel, which numpy computes: ONNX Runtime does not."""
    x, (s, b, m) = floats(2, 3, 4, 5), floats(3, 3, 4, 5)
    v = np.abs(floats(3, 4, 5)) + np.float32(0.1)
    expected = {"y": ((x - m) / np.sqrt(v + 1e-5) * s + b).astype(np.float32)}
    return one("BatchNormalization", {"x": x}, "y", {"s": s, "b": b, "m": m, "v": v}, opset=opset, spatial=0, expected=expected,
               tolerance=1e-5)


def meanings():
    x = {"x": floats(2, 3, 4)}
    for opset in (7, 11, 12, 13, 18):
        for op in ("Softmax", "LogSoftmax", "Hardmax"):
            yield f"{op} {opset}", one(op, x, "y", opset=opset, tolerance=4e-6)
        yield f"Softmax {opset} axis 0", one("Softmax", x, "y", opset=opset, axis=0, tolerance=4e-6)
    for opset in (7, 9):
        yield f"BatchNormalization {opset} training", batch_statistics(opset, "y,m2,v2,sm,sv", (3, 2, 4, 5))
    yield "BatchNormalization 14 training", batch_statistics(14, "y,m2,v2", (3, 2, 4))
    yield "BatchNormalization 15 training", batch_statistics(15, "y,m2,v2", (6, 2), 0.6)
    yield "BatchNormalization 7 activations", for_each_activation(7)
    yield "Flatten 7", one("Flatten", x, "y", opset=7, axis=0)
    yield "Flatten 11", one("Flatten", x, "y", opset=11, axis=-1)
    yield "Reshape 7", one("Reshape", x, "y", {"s": ints(0, -1)}, opset=7)
    yield "Reshape 14", one("Reshape", x, "y", {"s": ints(0, -1, 2)}, opset=14, allowzero=0)
    yield "Gemm 7", one("Gemm", {"a": floats(3, 4), "b": floats(4, 5)}, "y", {"c": floats(5)}, opset=7, alpha=0.5, beta=2.0)
    yield "Gemm 9 column", one("Gemm", {"a": floats(3, 4), "b": floats(4, 5)}, "y", {"c": floats(3, 1)}, opset=9)
    yield "Gemm 11 no bias", one("Gemm", {"a": floats(4, 3), "b": floats(5, 4)}, "y", opset=11, transA=1, transB=1)
    yield "Gemm 13 double", one("Gemm", {"a": floats(3, 4).astype(np.float64)}, "y", {"b": floats(4, 5).astype(np.float64)}, opset=13)
    a, b = random.integers(-9, 9, (3, 4)).astype(np.int32), random.integers(-9, 9, (4, 5)).astype(np.int32)
    yield "Gemm 13 int", one("Gemm", {"a": a}, "y", {"b": b, "c": np.array([7], np.int32)}, opset=13,
                             expected={"y": a @ b + np.int32(7)}) # which ONNX Runtime does not compute
    for opset in (10, 11, 17, 19, 22):
        yield f"AveragePool {opset} ceil", one("AveragePool", {"x": floats(1, 2, 7, 8)}, "y", opset=opset, kernel_shape=[3, 3],
                                               strides=[2, 2], ceil_mode=1)
        yield f"MaxPool {opset} ceil", one("MaxPool", {"x": floats(1, 2, 7, 8)}, "y,i", opset=min(opset, 12), kernel_shape=[3, 2],
                                           strides=[2, 3], ceil_mode=1, pads=[1, 0, 1, 1])
    yield "AveragePool 19 dilations", one("AveragePool", {"x": floats(1, 2, 7, 8)}, "y", opset=19, kernel_shape=[2, 3],
                                          dilations=[2, 2], count_include_pad=1, pads=[1, 1, 1, 1])
    yield "AveragePool 22 ceil with pads", one("AveragePool", {"x": floats(1, 1, 6, 6)}, "y", opset=22, kernel_shape=[3, 3],
                                               strides=[2, 2], ceil_mode=1, count_include_pad=1, pads=[1, 1, 1, 1])
    yield "LpPool 18 dilations", one("LpPool", {"x": floats(1, 2, 7, 8)}, "y", opset=18, kernel_shape=[2, 3], dilations=[2, 1], p=3)
    yield "MaxPool 8 columns", one("MaxPool", {"x": floats(1, 2, 4, 6)}, "y,i", opset=8, kernel_shape=[2, 2], storage_order=1)
    for opset, width in ((18, 2), (20, 2), (21, 6)):
        yield f"GroupNormalization {opset}", one("GroupNormalization", {"x": floats(2, 6, 4)}, "y", {"s": floats(width), "b": floats(width)},
                                                 opset=opset, num_groups=2, tolerance=1e-5)
    yield "LayerNormalization 17 half", one("LayerNormalization", {"x": floats(2, 3, 8).astype(np.float16)}, "y",
                                            {"s": floats(8).astype(np.float16)}, opset=17, stash_type=1)
    yield "Equal 7 bool", one("Equal", {"a": np.array([True, False, True]), "b": np.array([True, True, False])}, "y", opset=7)
    yield "Equal 19", one("Equal", {"a": floats(3), "b": floats(3)}, "y", opset=19)
    yield "Cast 9 to bool", one("Cast", {"x": np.array([0, -0.5, 2], np.float32)}, "y", opset=9, to=TensorProto.BOOL)
    yield "Cast 19", one("Cast", {"x": floats(3, scale=9)}, "y", opset=19, to=TensorProto.INT32)
    yield "CastLike 15", one("CastLike", {"x": floats(3, scale=9)}, "y", {"like": ints(1)}, opset=15)
    bands = {"n": ints(8)[0], "l": ints(64)[0], "r": ints(8000)[0], "a": np.float32(20), "b": np.float32(4000)}
    yield "MelWeightMatrix 17", one("MelWeightMatrix", {}, "y", bands, "n,l,r,a,b", opset=17)
    yield "Range 11", one("Range", {}, "y", {"a": np.float32(1), "b": np.float32(2), "c": np.float32(0.3)}, opset=11)
    yield "Range 11 down", one("Range", {}, "y", {"a": np.int32(5), "b": np.int32(-4), "c": np.int32(-3)}, opset=11)
    yield "Gather 11 negative", one("Gather", x, "y", {"i": ints(-1, 0)}, opset=11, axis=-2)
    yield "GatherND 12 batch", one("GatherND", x, "y", {"i": np.array([[[1], [-1]], [[0], [2]]], np.int64)}, opset=12, batch_dims=1)
    yield "OneHot 11 negative", one("OneHot", {"x": ints(-1, 2)}, "y", {"d": np.int64(3), "v": ints(5, 6)}, opset=11, axis=0)
    yield "Pow 12 types", one("Pow", {"a": ints(2, 3), "b": np.array([0.5, 2], np.float32)}, "y", opset=12)
    yield "Shape 15", one("Shape", {}, "y", {"x": floats(2, 3, 4)}, opset=15, start=-2)
    yield "ArgMax 12 last", one("ArgMax", {"x": np.array([[1, 3, 3], [2, 2, 0]], np.float32)}, "y", opset=12, axis=1, select_last_index=1)
    yield "DepthToSpace 11", one("DepthToSpace", {"x": floats(1, 8, 2, 3)}, "y", opset=11, blocksize=2, mode="CRD")
    yield "GridSample 16", one("GridSample", {"x": floats(1, 2, 4, 5), "g": floats(1, 3, 2, 2)}, "y", opset=16, mode="bicubic", tolerance=1e-5)
    yield "GridSample 20", one("GridSample", {"x": floats(1, 2, 4, 5), "g": floats(1, 3, 2, 2)}, "y", opset=20, mode="cubic",
                               padding_mode="reflection", tolerance=1e-5)
    yield "Scatter 9", one("Scatter", {"x": floats(3, 3), "u": floats(2, 2)}, "y", {"i": np.array([[1, 0], [0, 2]], np.int64)}, "x,i,u", opset=9)
    for opset, reduction in ((16, "add"), (16, "mul"), (18, "max"), (18, "min")):
        index = random.integers(-5, 5, (100, 3)).astype(np.int64)
        yield f"ScatterElements {opset} {reduction}", one("ScatterElements", {"x": floats(5, 4), "i": index, "u": floats(100, 3)}, "y",
                                                          opset=opset, reduction=reduction, tolerance=1e-5)
        places = random.integers(0, 5, (120, 1)).astype(np.int64)
        yield f"ScatterND {opset} {reduction}", one("ScatterND", {"x": floats(5, 4), "i": places, "u": floats(120, 4)}, "y", opset=opset,
                                                    reduction=reduction, tolerance=1e-5)
        few = places[:9]
        yield f"ScatterND {opset} {reduction} known", one("ScatterND", {"x": floats(5, 4), "u": floats(9, 4)}, "y", {"i": few}, "x,i,u",
                                                          opset=opset, reduction=reduction, tolerance=1e-5)
    yield "RoiAlign 10", one("RoiAlign", {"x": floats(2, 3, 8, 8), "r": np.array([[0, 1, 5, 6], [2, 2, 7, 4]], np.float32)}, "y",
                             {"b": ints(0, 1)}, opset=10, output_height=3, output_width=2, sampling_ratio=2, tolerance=1e-5)
    yield "Constant 12", Case([helper.make_node("Constant", [], ["c"], value_floats=[1.0, 2.0, 3.0]), node("Add", "x,c", "y")],
                              {"x": floats(2, 3)}, ["y"], opset=12)


# ----------------------------------------------------------------------------------------------------------------
# Quantization
# ----------------------------------------------------------------------------------------------------------------

def quantizations():
    x = floats(4, 6)
    scale, zero = np.abs(floats(6)) + np.float32(0.01), random.integers(-9, 9, 6).astype(np.int8)
    yield "QuantizeLinear 10", one("QuantizeLinear", {"x": x}, "y", {"s": np.float32(0.02), "z": np.uint8(99)}, opset=10)
    yield "QuantizeLinear 13", one("QuantizeLinear", {"x": x}, "y", {"s": scale, "z": zero}, opset=13)
    yield "QuantizeLinear 19", one("QuantizeLinear", {"x": x}, "y", {"s": scale}, opset=19, axis=-1)
    blocks, points = np.abs(floats(4, 3)) + np.float32(0.05), random.integers(-3, 3, (4, 3)).astype(np.int8)
    yield "QuantizeLinear 21 blocks", one("QuantizeLinear", {"x": x}, "y", {"s": blocks, "z": points}, opset=21, block_size=2)
    yield "QuantizeLinear 21 uint16", one("QuantizeLinear", {"x": x}, "y", {"s": np.float32(0.001), "z": np.uint16(30000)}, opset=21)
    yield "QuantizeLinear 21 type", one("QuantizeLinear", {"x": x}, "y", {"s": np.float32(0.02)}, opset=21,
                                        output_dtype=TensorProto.INT8)
    wide = random.integers(-2000, 2000, (4, 6)).astype(np.int32)
    yield "DequantizeLinear 10", one("DequantizeLinear", {"x": wide}, "y", {"s": np.float32(0.02)}, opset=10)
    bytes_ = random.integers(-128, 127, (4, 6)).astype(np.int8)
    yield "DequantizeLinear 13", one("DequantizeLinear", {"x": bytes_}, "y", {"s": scale, "z": zero}, opset=13, axis=1)
    yield "DequantizeLinear 21 blocks", one("DequantizeLinear", {"x": bytes_}, "y", {"s": blocks, "z": points}, opset=21, block_size=2)
    for kind, low in ((UINT4, 0), (INT4, -8)):
        weights = Nibbles(random.integers(low, low + 16, (4, 6)), kind)
        nibbles = Nibbles(random.integers(low, low + 16, (4, 3)), kind)
        name = "uint4" if kind == UINT4 else "int4"
        nodes = [node("DequantizeLinear", "w,s,z", "d", block_size=2), node("MatMul", "x,d", "y")]
        yield f"DequantizeLinear 21 {name}", Case(nodes, {"x": floats(2, 4)}, ["y"], {"w": weights, "s": blocks, "z": nibbles}, 21)
        nodes = [node("DequantizeLinear", "w,s", "d", axis=0), node("MatMul", "x,d", "y")]
        yield f"DequantizeLinear 21 {name} axis", Case(nodes, {"x": floats(2, 4)}, ["y"], {"w": weights, "s": blocks[:, 0].copy()}, 21)
        nodes = [node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,z", "y")]
        yield f"QuantizeLinear 21 {name}", Case(nodes, {"x": floats(3, 5)}, ["y"],
                                                {"s": np.float32(0.4), "z": Nibbles(np.array(3), kind)}, 21)
    yield "DynamicQuantizeLinear 11", one("DynamicQuantizeLinear", {"x": x}, "y,s,z", opset=11)
    yield "ConvInteger 10", one("ConvInteger", {"x": random.integers(0, 255, (1, 2, 5, 5)).astype(np.uint8)}, "y",
                                {"w": random.integers(-99, 99, (3, 2, 3, 3)).astype(np.int8), "xz": np.uint8(7),
                                 "wz": np.int8(3)}, opset=10, pads=[1, 1, 1, 1])


# ----------------------------------------------------------------------------------------------------------------
# Graphs within graphs
# ----------------------------------------------------------------------------------------------------------------

def counting(opset, trips=3):
    """Some trips, of which the sum and each step are kept."""
    body = helper.make_graph(
        [node("Add", "s,x", "s2"), node("Identity", "c", "c2"), node("Identity", "s2", "step")], "body",
        [value("i", kind=TensorProto.INT64), truth("c"), value("s", 2)], [truth("c2"), value("s2", 2), value("step", 2)])
    loop = helper.make_node("Loop", ["n", "", "z"], ["y", "all"], body=body)
    values = {"x": floats(2), "z": floats(2)}
    given = "x" if trips else "z"  # what the results depend on
    constants = {name: value for name, value in values.items() if name != given}
    return Case([loop], {given: values[given]}, ["y", "all"], {"n": np.array(trips, np.int64), **constants}, opset)


def ended(opset):
    """At most five trips, until a sum is too large, which only the graph knows."""
    body = helper.make_graph(
        [node("Add", "s,x", "s2"), node("Less", "s2,limit", "c2")], "body",
        [value("i", kind=TensorProto.INT64), truth("c"), value("s")], [truth("c2"), value("s2")])
    loop = helper.make_node("Loop", ["n", "", "z"], ["y"], body=body)
    return Case([loop], {"x": np.array(2, np.float32)}, ["y"],
                {"n": np.array(5, np.int64), "z": np.array(0, np.float32), "limit": np.array(5, np.float32)}, opset)


def chosen(opset, known):
    branches = {name: helper.make_graph([node(op, "x,x", f"{name}_y")], name, [], [value(f"{name}_y", 3)])
                for name, op in (("then_branch", "Add"), ("else_branch", "Mul"))}
    condition = np.array(False)
    inputs, constants = {"x": floats(3)}, {}
    (constants if known else inputs)["c"] = condition
    return Case([helper.make_node("If", ["c"], ["y"], **branches)], inputs, ["y"], constants, opset)


def scanned(opset, **attributes):
    """The running sum of rows, and each row times it."""
    body = helper.make_graph([node("Add", "s,x", "s2"), node("Mul", "s2,x", "p")], "body", [value("s", 2), value("x", 2)],
                             [value("s2", 2), value("p", 2)])
    if opset < 9:
        scan = helper.make_node("Scan", ["", "z", "x"], ["y", "all"], body=body, num_scan_inputs=1, **attributes)
        return Case([scan], {"z": floats(3, 2), "x": floats(3, 4, 2)}, ["y", "all"], opset=opset)
    scan = helper.make_node("Scan", ["z", "x"], ["y", "all"], body=body, num_scan_inputs=1, **attributes)
    return Case([scan], {"z": floats(2), "x": floats(4, 2)}, ["y", "all"], opset=opset)


def sequences(opset):
    """What is split, changed and joined again."""
    x = floats(4, 3)
    yield "split and at", Case([node("SplitToSequence", "x", "s"), node("SequenceAt", "s,i", "y")], {"x": x}, ["y"],
                               {"i": np.array(-2, np.int64)}, opset)
    yield "rows", Case([node("SplitToSequence", "x", "s", axis=1, keepdims=0), node("ConcatFromSequence", "s", "y", axis=0, new_axis=1)],
                       {"x": x}, ["y"], opset=opset)
    yield "sizes", Case([node("SplitToSequence", "x,n", "s"), node("SequenceErase", "s,i", "t"), node("SequenceLength", "t", "l"),
                         node("ConcatFromSequence", "t", "y", axis=0)], {"x": x}, ["y", "l"],
                        {"n": ints(1, 2, 1), "i": np.array(1, np.int64)}, opset)
    for position in (0, -1, 2):
        yield f"insert at {position}", Case(
            [node("SequenceConstruct", "x,x", "s"), node("Neg", "x", "n"), node("SequenceInsert", "s,n,i", "t"),
             node("ConcatFromSequence", "t", "y", axis=0)], {"x": x}, ["y"], {"i": np.array(position, np.int64)}, opset)


def control():
    for opset in (7, 11, 13, 21):
        yield f"Loop {opset}", counting(opset)
        yield f"Loop {opset} without trips", counting(opset, 0)
        yield f"Loop {opset} ended by the graph", ended(max(opset, 9))
        yield f"If {opset}", chosen(opset, True)
        yield f"If {opset} computed", chosen(opset, False)
    yield "Scan 8", scanned(8)
    yield "Scan 8 backwards", scanned(8, directions=[1])
    for opset in (9, 11, 21):
        yield f"Scan {opset}", scanned(opset)
    yield "Scan 9 backwards", scanned(9, scan_input_directions=[1], scan_output_directions=[1])
    for opset in (11, 13, 17):
        for title, case in sequences(opset):
            yield f"sequence {opset} {title}", case
    one_more = helper.make_graph([node("Add", "a,a", "b")], "body", [value("a", 3)], [value("b", 3)])
    yield "SequenceMap 17", Case([node("SplitToSequence", "x", "s", axis=0, keepdims=0),
                                  helper.make_node("SequenceMap", ["s"], ["t"], body=one_more),
                                  node("ConcatFromSequence", "t", "y", axis=0)], {"x": floats(4, 3)}, ["y"], opset=17)


def counts():
    """Words that are numbers."""
    x, pool = random.integers(0, 4, (3, 9)).astype(np.int32), [0, 1, 2, 3, 1, 2, 2, 2, 0, 3, 1, 2, 3]
    for mode in ("TF", "IDF", "TFIDF"):
        for skip in (0, 2):
            yield f"TfIdfVectorizer {mode} {skip}", one(
                "TfIdfVectorizer", {"x": x}, "y", opset=9, mode=mode, min_gram_length=1, max_gram_length=3, max_skip_count=skip,
                ngram_counts=[0, 4, 10], ngram_indexes=[0, 1, 2, 3, 5, 4, 6, 7], pool_int64s=pool,
                weights=[0.5, 2.0, 1.0, 1.0, 3.0, 0.25, 1.0, 4.0])


def transformers():
    """What operator sets 23 and 24 have."""
    q, k, v = floats(2, 4, 5, 8), floats(2, 2, 7, 8), floats(2, 2, 7, 8)
    heads, new = {"q": q, "k": k, "v": v}, {"q": q, "k": floats(2, 2, 5, 8), "v": floats(2, 2, 5, 8)}
    past = {"pk": floats(2, 2, 3, 8), "pv": floats(2, 2, 3, 8)}
    visible = random.integers(0, 2, (2, 1, 5, 7)).astype(bool)
    visible[..., 0] = True
    for opset in (23, 24):
        yield f"Attention {opset}", one("Attention", heads, "y", opset=opset)
        yield f"Attention {opset} causal", one("Attention", heads, "y", opset=opset, is_causal=1)
        yield f"Attention {opset} scale", one("Attention", heads, "y", opset=opset, scale=0.3, softcap=2.0)
        yield f"Attention {opset} mask", one("Attention", heads | {"m": floats(5, 7)}, "y", opset=opset, softcap=2.0)
        yield f"Attention {opset} mask of heads", one("Attention", heads | {"m": floats(4, 5, 7)}, "y", opset=opset)
        yield f"Attention {opset} truths", one("Attention", heads | {"m": visible}, "y", opset=opset)
        yield f"Attention {opset} past", one("Attention", new | past, "y,k2,v2", None, "q,k,v,,pk,pv", opset=opset, is_causal=1)
        for mode in range(4):
            yield f"Attention {opset} scores {mode}", one("Attention", heads | {"m": floats(5, 7)}, "y,,,s", opset=opset, softcap=2.0,
                                                          qk_matmul_output_mode=mode)
    flat = {"q": floats(2, 5, 32), "k": floats(2, 7, 16), "v": floats(2, 7, 24)}
    yield "Attention 23 flat", one("Attention", flat, "y", opset=23, q_num_heads=4, kv_num_heads=2)
    yield "Attention 24 lengths", one("Attention", heads | {"l": ints(4, 7)}, "y", None, "q,k,v,,,,l", opset=24)
    yield "Attention 24 lengths causal", one("Attention", heads | {"l": ints(5, 7)}, "y", None, "q,k,v,,,,l", opset=24, is_causal=1)
    x, angles = floats(2, 3, 5, 8), {"c": floats(2, 5, 4), "s": floats(2, 5, 4)}
    table, places = {"c": floats(9, 3), "s": floats(9, 3)}, {"p": random.integers(0, 9, (2, 5)).astype(np.int64)}
    yield "RotaryEmbedding 23", one("RotaryEmbedding", {"x": x} | angles, "y", opset=23)
    yield "RotaryEmbedding 23 interleaved", one("RotaryEmbedding", {"x": x} | angles, "y", opset=23, interleaved=1)
    yield "RotaryEmbedding 23 part", one("RotaryEmbedding", {"x": x} | places, "y", table, "x,c,s,p", opset=23, rotary_embedding_dim=6)
    yield "RotaryEmbedding 23 flat", one("RotaryEmbedding", {"x": floats(2, 5, 24)} | angles, "y", opset=23, num_heads=3)
    yield "RMSNormalization 23", one("RMSNormalization", {"x": floats(2, 3, 8)}, "y", {"s": floats(8)}, opset=23, tolerance=1e-5)
    yield "RMSNormalization 23 axis", one("RMSNormalization", {"x": floats(2, 3, 8)}, "y", {"s": floats(3, 8)}, opset=23, axis=1,
                                          epsilon=0.01, tolerance=1e-5)
    yield "Swish 24", one("Swish", {"x": floats(3, 4)}, "y", opset=24, alpha=1.5)
    buffer, rows = floats(2, 3, 6, 4), floats(2, 3, 2, 4)
    for mode in ("linear", "circular"):
        first = ints(3, 1) if mode == "linear" else ints(5, 2)
        yield f"TensorScatter 24 {mode}", one("TensorScatter", {"p": buffer, "u": rows, "i": first}, "y", opset=24, mode=mode)
        yield f"TensorScatter 24 {mode} known", one("TensorScatter", {"p": buffer, "u": rows}, "y", {"i": first}, opset=24, mode=mode)


def functions():
    """Operators that the model itself describes."""
    scaled = helper.make_node("LeakyRelu", ["s"], ["y"])
    slope = scaled.attribute.add()  # which is an attribute of the function
    slope.name, slope.ref_attr_name, slope.type = "alpha", "slope", onnx.AttributeProto.FLOAT
    inner = helper.make_function("own", "AddLeaky", ["a", "b"], ["y"], [node("Add", "a,b", "s"), scaled],
                                 [helper.make_opsetid("", 17)], ["slope"])
    outer_node = helper.make_node("AddLeaky", ["a", "a"], ["t"], domain="own")
    passed = outer_node.attribute.add()
    passed.name, passed.ref_attr_name, passed.type = "slope", "slope", onnx.AttributeProto.FLOAT
    clip = helper.make_node("Clip", ["t", "low", "high"], ["y"])
    outer = helper.make_function("own", "Twice", ["a", "low", "high"], ["y"], [outer_node, clip],
                                 [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)], ["slope"])
    for title, names in (("", ["x", "l", "h"]), (" without an input", ["x", "", "h"])):
        case = Case([helper.make_node("Twice", names, ["y"], domain="own", slope=0.3)], {"x": floats(3, 4)}, ["y"],
                    {"l": np.float32(-0.5), "h": np.float32(1)})
        case.model.functions.extend([inner, outer])
        case.model.opset_import.append(helper.make_opsetid("own", 1))
        yield "function" + title, case


def orders():
    """Nodes before those that make what they read, as tools leave them that insert nodes at the end."""
    links = [node("Mul", f"v{i},v{max(i - 3, 0)}", f"v{i + 1}") if i % 2 else node("Add", f"v{i},x", f"v{i + 1}") for i in range(40)]
    links[0] = node("Relu", "x", "v1")
    links = [links[0], *(node(link.op_type, ",".join("x" if name == "v0" else name for name in link.input), link.output[0])
                         for link in links[1:])]
    inner = [node("Sigmoid", "late", "i1"), node("Sub", "i1,x", "i2"), node("Tanh", "i2", "i3")]
    body = [node("Exp", "later", "e")]

    def chain(shuffle):
        return [links[i] for i in shuffle(len(links))]

    def branches(shuffle):
        then = helper.make_graph([inner[i] for i in shuffle(len(inner))], "then", [], [onnx.ValueInfoProto(name="i3")])
        other = helper.make_graph(body, "else", [], [onnx.ValueInfoProto(name="e")])
        nodes = [node("Neg", "x", "later"), node("Mul", "later,x", "late"),
                 helper.make_node("If", ["c"], ["f"], then_branch=then, else_branch=other), node("Add", "f,late", "y")]
        return [nodes[i] for i in shuffle(len(nodes))]

    ways = {"backwards": lambda count: range(count - 1, -1, -1), "by chance": random.permutation,
            "the first at last": lambda count: [*range(1, count), 0]}
    for title, shuffle in ways.items():
        x = floats(3, 4, scale=0.1)
        yield f"chain {title}", Case(chain(shuffle), {"x": x}, ["v40"])
        late = -x * x
        for taken in (True, False):  # ONNX Runtime wants the nodes of a branch in order
            found = np.tanh(1 / (1 + np.exp(-late)) - x) if taken else np.exp(-x)
            yield f"branches {title}, {taken}", Case(branches(shuffle), {"x": x}, ["y"], {"c": np.bool_(taken)},
                                                     expected={"y": found + late})


TABLES = (functions, orders, transformers, attributes_and_inputs, meanings, quantizations, control, counts)


def cases():
    for table in TABLES:
        yield from table()


def drawn(count, seed):
    for name in generators.GENERATORS:
        for i in range(seed, seed + count):
            yield f"{name} of seed {i}", generators.draw(name, i)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("webnn")
    parser.add_argument("modules")
    parser.add_argument("wanted", nargs="*")
    arguments = parser.parse_args()
    peers = Peers(arguments.webnn, arguments.modules)
    if peers.missing():
        print(f"skipped: {peers.missing()}")
        return 77
    chosen_ones = [(title, case) for title, case in cases() if not arguments.wanted or title in arguments.wanted]
    chosen_ones += [(title, case) for title, case in drawn(arguments.count, arguments.seed)
                    if not arguments.wanted or title.split()[0] in arguments.wanted or title in arguments.wanted]
    with peers:
        passed, failed = run(peers, chosen_ones)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
