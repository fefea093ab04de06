# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft, which ONNX has no tests of, against ONNX Runtime: each as a model of one node with random
operands, run by the webnn program and by onnxruntime-node.

usage: contrib.py WEBNN MODULES [CASE...]

MODULES is the folder whose node_modules has onnxruntime-node. Exit status 77: something that this needs is missing.
"""

import functools
import sys

from runtime import INT4, MICROSOFT, UINT4, Case, Nibbles, Peers, run
import runtime

import numpy as np
from onnx import helper

random = np.random.default_rng(7)
one = functools.partial(runtime.one, domain=MICROSOFT)


def floats(*shape, scale=1):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def integers(low, high, *shape, dtype=np.uint8):
    return random.integers(low, high, shape).astype(dtype)


def signed(*shape):
    return integers(1 - runtime.WEIGHT, runtime.WEIGHT, *shape, dtype=np.int8)


def indices(*values):
    return np.array(values, np.int64)


def counts(*values):
    return np.array(values, np.int32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    """Of float64, by an approximation of the error function whose error is below 2e-7 (Abramowitz and Stegun 7.1.26)."""
    z = np.abs(x) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * np.exp(-z * z)
    return x * (1 + np.sign(x) * (1 - tail)) / 2


def quantized(op, operands, shape, constants, domain=MICROSOFT, **attributes):
    """Between a quantization of the input and a dequantization of the result, with scales that make no ties."""
    constants = {"xs": np.float32(0.0213), "xz": np.uint8(120), "ys": np.float32(0.0507), "yz": np.uint8(128), **constants}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node(op, operands.split(","), ["r"], domain=domain, name=op, **attributes),
        helper.make_node("DequantizeLinear", ["r", "ys", "yz"], ["y"]),
    ]
    return Case(nodes, {"x": floats(*shape)}, ["y"], constants)


def n_bits(bits, k, n, block, *more, rows=(2, 3)):
    blocks = -(-k // block)
    constants = {"w": integers(0, 256, n, blocks, block * bits // 8), "s": floats(n * blocks)}
    if "zero" in more:
        constants["z"] = integers(0, 256, n * -(-blocks * bits // 8))
    if "real zero" in more:
        constants["z"] = floats(n * blocks)
    if "bias" in more:
        constants["b"] = floats(n)
    if "index" in more:
        constants["i"] = integers(0, blocks, k, dtype=np.int32)
    expected, x = None, floats(*rows, k)
    if "index" in more and "zero" in more: # which ONNX Runtime 1.30 leaves out then
        numbers = np.stack([constants["w"].reshape(n, -1) & 15, constants["w"].reshape(n, -1) >> 4], -1).reshape(n, -1)[:, :k]
        points = np.stack([constants["z"].reshape(n, -1) & 15, constants["z"].reshape(n, -1) >> 4], -1).reshape(n, -1)
        weights = (numbers - points[:, constants["i"]].astype(np.float32)) * constants["s"].reshape(n, -1)[:, constants["i"]]
        expected = {"y": x @ weights.T}
    names = [name if name in constants else "" for name in "zib"]
    return one("MatMulNBits", {"x": x}, "y", constants, ",".join(["x,w,s", *names]).rstrip(","), K=k, N=n, bits=bits,
               block_size=block, expected=expected, tolerance=1e-5)


def angles(size):
    turns = np.arange(32)[:, None] * np.linspace(0.1, 1, size)[None]
    return {"cos": np.cos(turns).astype(np.float32), "sin": np.sin(turns).astype(np.float32)}


# ----------------------------------------------------------------------------------------------------------------
# Elementwise, movement, normalizations
# ----------------------------------------------------------------------------------------------------------------

def activations():
    x = {"x": floats(4, 8)}
    yield "Gelu", one("Gelu", x, "y")
    yield "FastGelu", one("FastGelu", x, "y", {"b": floats(8)})
    yield "BiasGelu", one("BiasGelu", x, "y", {"b": floats(8)})
    yield "QuickGelu", one("QuickGelu", x, "y", alpha=1.5)
    # The rest is not there on the CPU.
    x, bias, skip = floats(2, 3, 8), floats(8), floats(2, 3, 8)
    yield "BiasAdd", one("BiasAdd", {"x": x, "s": skip}, "y", {"b": bias}, "x,b,s", expected={"y": x + bias + skip})
    half = (x + bias).astype(np.float64)
    yield "BiasSplitGelu", one("BiasSplitGelu", {"x": x}, "y", {"b": bias}, tolerance=1e-6,
                               expected={"y": (half[..., :4] * gelu(half[..., 4:])).astype(np.float32)})
    mask = floats(2, 1, 3, 8)
    score = floats(2, 4, 3, 8)
    share = np.exp(score + mask)
    yield "BiasSoftmax", one("BiasSoftmax", {"x": score, "m": mask}, "y", axis=3, is_inner_broadcast=0, tolerance=1e-5,
                             expected={"y": share / share.sum(-1, keepdims=True)})


def movements():
    yield "ExpandDims", one("ExpandDims", {"x": floats(2, 3)}, "y", {"a": counts(-1)[0]})
    yield "Trilu", one("Trilu", {"x": floats(2, 4, 5)}, "y", {"k": indices(1)[0]}, upper=0)
    yield "Unique", one("Unique", {}, "y,i,c", {"x": np.array([3, 1, 3, 2, 1, 3], np.float32)})
    yield "Pad", one("Pad", {"x": floats(2, 3)}, "y", {"p": indices(0, 1, 2, -1), "v": np.float32(7)})
    yield "Pad of a row", one("Pad", {"x": floats(2, 3)}, "y", {"p": indices([0, 1, 1, 0]), "v": np.float32(7)})
    yield "Range", one("Range", {}, "y", {"a": np.float32(1), "b": np.float32(4)})
    yield "GatherND", one("GatherND", {"x": floats(2, 3, 4)}, "y", {"i": indices([0, 1], [1, 2])})
    yield "UnfoldTensor", one("UnfoldTensor", {"x": floats(2, 9, 3)}, "y", dim=1, size=4, step=2)
    table, rows = floats(5, 3), indices([0, 2], [4, 4])
    yield "TorchEmbedding", one("TorchEmbedding", {"t": table, "i": rows}, "y", expected={"y": table[rows]})
    yield "ReduceSumInteger", one("ReduceSumInteger", {"x": (x := integers(0, 255, 3, 4))}, "y", axes=[1], keepdims=0,
                                  expected={"y": x.sum(1, dtype=np.int32)})
    boxes = np.array([[0, 0, 1, 1], [0.1, 0.2, 1.3, 0.7], [0.5, -0.2, 0.1, 0.4]], np.float32)
    for mode in ("bilinear", "nearest"):
        yield f"CropAndResize {mode}", one(
            "CropAndResize", {"x": floats(2, 3, 6, 7), "b": boxes}, "y", {"i": counts(1, 0, 1), "s": counts(4, 3)}, mode=mode,
            extrapolation_value=5.0, tolerance=1e-5)
    yield "CropAndResize to a point", one("CropAndResize", {"x": floats(2, 3, 6, 7), "b": boxes}, "y",
                                          {"i": counts(1, 0, 1), "s": counts(1, 1)}, tolerance=1e-5)
    yield "GridSample", one("GridSample", {"x": floats(1, 2, 4, 5), "g": floats(1, 3, 2, 2)}, "y", mode="bicubic",
                            padding_mode="border", align_corners=1, tolerance=1e-5)


def groups_of(x, groups, scale, bias):
    """Group normalization of NHWC, with an epsilon of 1e-5."""
    n, h, w, c = x.shape
    parts = x.reshape(n, h * w, groups, c // groups).astype(np.float64)
    parts = (parts - parts.mean((1, 3), keepdims=True)) / np.sqrt(parts.var((1, 3), keepdims=True) + 1e-5)
    return parts.reshape(x.shape) * scale + bias


def normalizations():
    block = {"x": floats(2, 4, 8), "s": floats(2, 4, 8)}
    more = {"g": floats(8), "b": floats(8), "c": floats(8)}
    yield "SkipLayerNormalization", one("SkipLayerNormalization", block, "y", more, epsilon=1e-5)
    yield "SkipLayerNormalization sum", one("SkipLayerNormalization", block, "y,,,t", more, epsilon=1e-5)
    yield "SkipLayerNormalization no beta", one("SkipLayerNormalization", block, "y", {"g": more["g"], "c": more["c"]},
                                                "x,s,g,,c", epsilon=1e-5)
    yield "SkipLayerNormalization broadcast", one(
        "SkipLayerNormalization", {"x": floats(2, 4, 8), "s": floats(4, 8)}, "y", {"g": more["g"]}, epsilon=1e-5)
    t = (block["x"] + block["s"] + more["c"]).astype(np.float64)
    mean, deviation = t.mean(-1, keepdims=True), 1 / np.sqrt(t.var(-1, keepdims=True) + 1e-5)
    expected = {"y": (t - mean) * deviation * more["g"] + more["b"], "m": mean, "d": deviation, "t": t}
    yield "SkipLayerNormalization statistics", one(
        "SkipLayerNormalization", block, "y,m,d,t", more, epsilon=1e-5, tolerance=1e-5,
        expected={name: value.astype(np.float32) for name, value in expected.items()})
    yield "SkipSimplifiedLayerNormalization", one("SkipSimplifiedLayerNormalization", block, "y", {"g": floats(8)}, epsilon=1e-5)
    yield "SkipSimplifiedLayerNormalization sum", one(
        "SkipSimplifiedLayerNormalization", block, "y,,,t", {"g": floats(8), "c": floats(8)}, epsilon=1e-5)
    yield "SimplifiedLayerNormalization", one(
        "SimplifiedLayerNormalization", {"x": floats(2, 4, 8)}, "y", {"g": floats(8)}, domain="", axis=-1)
    # What is all the same, with an epsilon that float16 does not have.
    x = np.zeros((3, 8), np.float16)
    x[1] = np.linspace(-1, 1, 8)
    g = np.linspace(0.5, 2, 8).astype(np.float16)
    wide = x.astype(np.float64)
    y = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-12) * g
    yield "LayerNormalization small epsilon", one("LayerNormalization", {"x": x}, "y", {"g": g}, domain="", epsilon=1e-12,
                                                  expected={"y": y.astype(np.float16)}, tolerance=1e-3)
    images = x.reshape(1, 3, 2, 4)
    y = y / g * np.array([1, 2, 3])[:, None] + np.array([0, 1, 2])[:, None]
    yield "InstanceNormalization small epsilon", one(
        "InstanceNormalization", {"x": images}, "y", {"g": np.array([1, 2, 3], np.float16), "b": np.array([0, 1, 2], np.float16)},
        domain="", epsilon=1e-12, expected={"y": y.reshape(images.shape).astype(np.float16)}, tolerance=1e-3)
    words = {"w": floats(9, 8), "p": floats(6, 8), "s": floats(2, 8), "g": floats(8), "b": floats(8)}
    ids = {"i": integers(0, 9, 2, 5, dtype=np.int32), "k": integers(0, 2, 2, 5, dtype=np.int32)}
    yield "EmbedLayerNormalization", one("EmbedLayerNormalization", ids, "y,m", words, "i,k,w,p,s,g,b", tolerance=1e-5)
    yield "EmbedLayerNormalization no segments", one("EmbedLayerNormalization", {"i": ids["i"]}, "y,m", words, "i,,w,p,,g,b",
                                                     tolerance=1e-5)
    mask = {"m": counts([1, 1, 1, 0, 0], [1, 1, 1, 1, 1])}
    yield "EmbedLayerNormalization mask", one("EmbedLayerNormalization", ids | mask, "y,l,e", words, "i,k,w,p,s,g,b,m",
                                              epsilon=1e-4, tolerance=1e-5)
    place = {"o": integers(0, 6, 2, 5, dtype=np.int32)}
    yield "EmbedLayerNormalization positions", one("EmbedLayerNormalization", ids | place, "y,l", words, "i,k,w,p,s,g,b,,o",
                                                   tolerance=1e-5)
    tables = {name: integers(0, 255, *value.shape) for name, value in words.items()}
    scales = {name + "s": np.float32(0.01 + 0.01 * i) for i, name in enumerate("wpsgb")}
    zeros = {name + "z": np.uint8(100 + i) for i, name in enumerate("wpsgb")}
    yield "QEmbedLayerNormalization", one(
        "QEmbedLayerNormalization", ids, "y,m", tables | scales | zeros, "i,k,w,p,s,g,b,,ws,ps,ss,gs,bs,wz,pz,sz,gz,bz",
        tolerance=1e-5)
    # The rest is not there on the CPU.
    x, scale, bias = floats(2, 4, 3, 6), floats(6), floats(6)
    y = groups_of(x, 3, scale, bias)
    yield "GroupNorm", one("GroupNorm", {"x": x}, "y", {"g": scale, "b": bias}, groups=3, activation=0, epsilon=1e-5,
                           tolerance=1e-5, expected={"y": y.astype(np.float32)})
    yield "GroupNorm activation", one("GroupNorm", {"x": x}, "y", {"g": scale, "b": bias}, groups=3, activation=1, epsilon=1e-5,
                                      tolerance=1e-5, expected={"y": (y * sigmoid(y)).astype(np.float32)})
    yield "GroupNorm channels first", one(
        "GroupNorm", {"x": x.transpose(0, 3, 1, 2)}, "y", {"g": scale, "b": bias}, groups=3, activation=0, epsilon=1e-5,
        channels_last=0, tolerance=1e-5, expected={"y": y.transpose(0, 3, 1, 2).astype(np.float32)})
    for title, skip in (("", floats(2, 4, 3, 6)), (" of channels", floats(2, 6)), (" of images", floats(2, 1, 1, 6))):
        shift = floats(6)
        t = x + (skip[:, None, None] if skip.ndim == 2 else skip) + shift
        yield "SkipGroupNorm" + title, one(
            "SkipGroupNorm", {"x": x, "s": skip}, "y,t", {"g": scale, "b": bias, "c": shift}, "x,g,b,s,c", groups=2, activation=0,
            epsilon=1e-5, tolerance=1e-5, expected={"y": groups_of(t, 2, scale, bias).astype(np.float32), "t": t})


# ----------------------------------------------------------------------------------------------------------------
# Products
# ----------------------------------------------------------------------------------------------------------------

def products():
    pair = {"a": floats(2, 8, 4), "b": floats(2, 6, 8)}
    yield "FusedMatMul", one("FusedMatMul", pair, "y", transA=1, transB=1, alpha=0.5)
    yield "FusedMatMul vector", one("FusedMatMul", {"a": floats(8), "b": floats(2, 8, 4)}, "y", alpha=2.0)
    yield "FusedMatMul batches", one("FusedMatMul", {"a": floats(5, 2, 8), "b": floats(6, 2, 8)}, "y", transBatchA=1, transBatchB=1,
                                     transB=1)
    yield "FusedMatMul batches transposed", one("FusedMatMul", {"a": floats(8, 2, 3, 5), "b": floats(2, 3, 8, 4)}, "y",
                                                transBatchA=1, transA=1)
    yield "TransposeMatMul", one("TransposeMatMul", pair, "y", transA=1, transB=1, alpha=0.5)
    matrix = {"a": floats(3, 8)}
    for activation, more in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Tanh", {}), ("Sigmoid", {}),
                             ("Elu", {"activation_alpha": 1.5}), ("Softplus", {}), ("Softsign", {}),
                             ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})):
        yield f"FusedGemm {activation}", one("FusedGemm", matrix, "y", {"b": floats(5, 8), "c": floats(5)}, transB=1, alpha=0.5,
                                             beta=2.0, activation=activation, **more)
    a, b = floats(3, 8), floats(8, 5)
    yield "FusedMatMulActivation", one("FusedMatMulActivation", {"a": a, "b": b}, "y", activation="Relu",
                                       expected={"y": np.maximum(a @ b, 0)})
    bias, x = floats(5), (a @ b).astype(np.float64)
    t = x + bias
    fast = 0.5 * t * (1 + np.tanh(np.sqrt(2 / np.pi) * (t + 0.044715 * t ** 3)))
    yield "GemmFastGelu", one("GemmFastGelu", {"a": a, "b": b}, "y", {"c": bias}, tolerance=1e-5,
                              expected={"y": fast.astype(np.float32)})
    for metric in ("euclidean", "sqeuclidean"):
        yield f"CDist {metric}", one("CDist", {"a": floats(4, 6), "b": floats(5, 6)}, "y", metric=metric, tolerance=1e-5)
    yield "Inverse", one("Inverse", {"x": floats(5, 5)}, "y", tolerance=2e-4)
    yield "Inverse batch", one("Inverse", {"x": floats(2, 3, 4, 4)}, "y", tolerance=2e-4)
    yield "Inverse of a swap", one("Inverse", {"x": np.array([[0, 2, 0], [1, 0, 0], [0, 0, 4]], np.float32)}, "y")
    short = {"a": integers(-300, 300, 3, 8, dtype=np.int16)}
    yield "MatMulInteger16", one("MatMulInteger16", short, "y", {"b": integers(-300, 300, 8, 4, dtype=np.int16)})
    for kind in (0, 1):
        yield f"MatMulBnb4 {kind}", one("MatMulBnb4", {"x": floats(3, 32)}, "y", {"w": integers(0, 256, 16 * 24), "m": floats(24)},
                                        K=32, N=24, block_size=32, quant_type=kind, tolerance=1e-5)
    conv = {"w": floats(4, 3, 3, 3), "b": floats(4)}
    for activation, params in (("Relu", None), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4])):
        yield f"FusedConv {activation}", one("FusedConv", {"x": floats(1, 3, 8, 8)}, "y", conv, kernel_shape=[3, 3],
                                             activation=activation, activation_params=params)
    yield "FusedConv sum", one("FusedConv", {"x": floats(1, 3, 8, 8), "z": floats(1, 4, 6, 6)}, "y", conv, "x,w,b,z",
                               kernel_shape=[3, 3], activation="Relu")
    yield "NhwcMaxPool", one("NhwcMaxPool", {"x": integers(-99, 99, 1, 6, 7, 3, dtype=np.int8)}, "y", kernel_shape=[3, 2],
                             strides=[2, 1], pads=[1, 0, 1, 1])
    # The rest is not there on the CPU.
    x = floats(1, 5, 6, 3)
    kernel = {"w": floats(4, 2, 2, 3), "b": floats(4)}
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (1, 2))  # [1, 4, 5, 3, 2, 2]
    y = np.einsum("nhwcij,oijc->nhwo", windows, kernel["w"]) + kernel["b"]
    yield "NhwcConv", one("NhwcConv", {"x": x}, "y", kernel, kernel_shape=[2, 2], tolerance=1e-5, expected={"y": y})
    turned = {"w": kernel["w"].transpose(0, 3, 1, 2).copy(), "b": kernel["b"]}
    z = floats(1, 4, 5, 4)
    yield "NhwcFusedConv", one("NhwcFusedConv", {"x": x, "z": z}, "y", turned, "x,w,b,z", kernel_shape=[2, 2], activation="Relu",
                               expected={"y": np.maximum(y + z, 0)}, tolerance=1e-5)
    yield "ConvTransposeWithDynamicPads", one(
        "ConvTransposeWithDynamicPads", {"x": floats(1, 2, 4, 5)}, "y", {"w": floats(2, 3, 3, 3), "p": indices(1, 0, 1, 1), "b": floats(3)},
        strides=[2, 2], output_padding=[1, 0], tolerance=1e-5)


# ----------------------------------------------------------------------------------------------------------------
# Attention
# ----------------------------------------------------------------------------------------------------------------

def attend(q, k, v, heads, visible=True):
    """[batch, rows, heads * size] of float64."""
    def split(t):
        return t.reshape(*t.shape[:2], heads, -1).transpose(0, 2, 1, 3).astype(np.float64)
    q, k, v = split(q), split(k), split(v)
    scores = np.where(visible, q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]), -1e30)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = shares / shares.sum(-1, keepdims=True) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1).astype(np.float32)


def attentions():
    x, qkv = {"x": floats(2, 5, 16)}, {"w": floats(16, 48, scale=0.3), "b": floats(48)}
    half = {"m": counts([1, 1, 1, 1, 0], [1, 1, 1, 0, 0])}
    past = {"x": floats(2, 3, 16), "p": floats(2, 2, 4, 6, 4)}
    attention = functools.partial(one, "Attention", num_heads=4)
    yield "Attention", attention(x, "y", qkv)
    yield "Attention causal", attention(x, "y", qkv, unidirectional=1)
    yield "Attention mask", attention(x, "y", qkv | half)
    yield "Attention mask causal", attention(x, "y", qkv | half, unidirectional=1)
    yield "Attention mask value", attention(x, "y", qkv | half, mask_filter_value=-5.0)
    yield "Attention lengths", attention(x, "y", qkv | {"m": counts(3, 5)})
    yield "Attention ends and beginnings", attention(x, "y", qkv | {"m": counts(4, 5, 1, 0)})
    yield "Attention mask of rows", attention(x, "y", qkv | {"m": np.tril(np.ones((2, 5, 5), np.int32))})
    yield "Attention bias", attention(x | {"a": floats(2, 4, 5, 5)}, "y", qkv, "x,w,b,,,a")
    yield "Attention bias of all", attention(x | {"a": floats(1, 1, 5, 5)}, "y", qkv, "x,w,b,,,a", scale=0.2)
    yield "Attention sizes", attention(x, "y", {"w": floats(16, 56), "b": floats(56)}, qkv_hidden_sizes=[16, 16, 24])
    yield "Attention past", attention(past, "y,n", qkv, "x,w,b,,p", unidirectional=1)
    yield "Attention past mask", attention(past, "y,n", qkv | {"m": counts([1] * 9, [0] * 2 + [1] * 7)}, "x,w,b,m,p",
                                           unidirectional=1)
    q, k, v = (x["x"] @ part + b for part, b in zip(np.split(qkv["w"], 3, 1), np.split(qkv["b"], 3)))
    square = np.zeros((2, 1, 8, 8), np.int32)
    square[:, :, :, :4] = 1
    yield "Attention mask of rank 4", attention(x, "y", qkv | {"m": square}, tolerance=1e-5,
                                                expected={"y": attend(q, k, v, 4, np.arange(5) < 4)})
    matrix = {"w": integers(0, 255, 16, 48), "b": floats(48), "xs": np.float32(0.02), "ws": np.float32(0.01)}
    zeros = {"xz": np.uint8(120), "wz": np.uint8(128)}
    words = integers(0, 255, 2, 5, 16)
    quantized_attention = functools.partial(one, "QAttention", num_heads=4, tolerance=1e-5)
    yield "QAttention", quantized_attention({"x": words}, "y", matrix | zeros, "x,w,b,xs,ws,,xz,wz")
    yield "QAttention mask", quantized_attention({"x": words}, "y", matrix | zeros | half, "x,w,b,xs,ws,m,xz,wz", unidirectional=1)
    columns = {"w": signed(16, 48), "ws": np.abs(floats(48)) * np.float32(0.01), "wz": np.zeros(48, np.int8)}
    yield "QAttention columns", quantized_attention({"x": words}, "y", matrix | zeros | columns, "x,w,b,xs,ws,,xz,wz")
    yield "QAttention past", quantized_attention({"x": words, "p": floats(2, 2, 4, 6, 4)}, "y,n", matrix | zeros,
                                                 "x,w,b,xs,ws,,xz,wz,p", unidirectional=1)


def multi_head():
    heads = {"q": floats(2, 5, 16), "k": floats(2, 7, 16), "v": floats(2, 7, 16)}
    new = {"q": floats(2, 3, 16), "k": floats(2, 3, 16), "v": floats(2, 3, 16), "pk": floats(2, 4, 6, 4), "pv": floats(2, 4, 6, 4)}
    mha = functools.partial(one, "MultiHeadAttention", num_heads=4)
    yield "MultiHeadAttention", mha(heads, "y", {"b": floats(48)})
    yield "MultiHeadAttention mask", mha(heads, "y", {"m": counts([1] * 5 + [0] * 2, [1] * 7)}, "q,k,v,,m")
    yield "MultiHeadAttention lengths", mha(heads, "y", {"m": counts(4, 7)}, "q,k,v,,m")
    yield "MultiHeadAttention lengths of packed rows", mha(heads, "y", {"m": counts(4, 7, 0, 5, 10, 0, 7, 14)}, "q,k,v,,m")
    yield "MultiHeadAttention mask of rows", mha(heads, "y", {"m": integers(0, 2, 2, 5, 7, dtype=np.int32)}, "q,k,v,,m")
    yield "MultiHeadAttention all masked", mha(heads, "y", {"m": np.zeros((2, 7), np.int32)}, "q,k,v,,m")
    yield "MultiHeadAttention bias", mha(heads | {"a": floats(1, 4, 5, 7)}, "y", None, "q,k,v,,,a", scale=0.3)
    yield "MultiHeadAttention bias of a batch", mha(heads | {"a": floats(2, 1, 5, 7)}, "y", None, "q,k,v,,,a")
    yield "MultiHeadAttention causal", mha({"q": floats(2, 5, 16), "k": floats(2, 5, 16), "v": floats(2, 5, 16)}, "y", unidirectional=1)
    yield "MultiHeadAttention wide values", mha({"q": floats(2, 5, 16), "k": floats(2, 7, 16), "v": floats(2, 7, 32)}, "y",
                                                {"b": floats(64)})
    turned = {"q": floats(2, 5, 16), "k": floats(2, 4, 7, 4), "v": floats(2, 4, 7, 4)}
    yield "MultiHeadAttention keys by heads", mha(turned, "y")
    yield "MultiHeadAttention keys by heads, bias", mha(turned, "y", {"b": floats(48)})
    yield "MultiHeadAttention present", mha(heads, "y,k2,v2", {"b": floats(48)})
    yield "MultiHeadAttention past", mha(new, "y,k2,v2", None, "q,k,v,,,,pk,pv")
    yield "MultiHeadAttention past causal", mha(new, "y,k2,v2", None, "q,k,v,,,,pk,pv", unidirectional=1)
    yield "MultiHeadAttention past mask", mha(new, "y,k2,v2", {"m": counts([1] * 9, [0] * 2 + [1] * 7)}, "q,k,v,,m,,pk,pv")
    yield "MultiHeadAttention past bias", mha(new | {"a": floats(1, 4, 3, 9)}, "y,k2,v2", {"b": floats(48)}, "q,k,v,b,,a,pk,pv")
    yield "MultiHeadAttention past by heads", mha(
        {"q": floats(2, 3, 16), "k": floats(2, 4, 3, 4), "v": floats(2, 4, 3, 4), "pk": floats(2, 4, 6, 4), "pv": floats(2, 4, 6, 4)},
        "y,k2,v2", None, "q,k,v,,,,pk,pv")
    # The rest is not there, or not right, on the CPU.
    q, k, v = floats(2, 5, 16), floats(2, 5, 16), floats(2, 5, 16)
    packed = np.stack([t.reshape(2, 5, 4, 4) for t in (q, k, v)], 3)
    yield "MultiHeadAttention packed", mha({"q": packed}, "y", expected={"y": attend(q, k, v, 4)}, tolerance=1e-5)
    bias = floats(48)
    parts = [t + b for t, b in zip((q, k, v), np.split(bias, 3))]
    yield "MultiHeadAttention packed, bias", mha({"q": packed}, "y", {"b": bias}, "q,,,b", expected={"y": attend(*parts, 4)},
                                                 tolerance=1e-5)
    yield "MultiHeadAttention packed keys", mha({"q": q, "k": packed[:, :, :, 1:].copy()}, "y",
                                                expected={"y": attend(q, k, v, 4)}, tolerance=1e-5)
    buffer = {name: new[name].copy() for name in ("pk", "pv")}
    row = {name: new[name][:, :1].copy() for name in "qkv"}
    for name, own in (("pk", "k"), ("pv", "v")):
        buffer[name][:, :, 4] = row[own].reshape(2, 4, 4)
    rows = [buffer[name][:, :, :5].transpose(0, 2, 1, 3).reshape(2, 5, 16) for name in ("pk", "pv")]
    yield "MultiHeadAttention buffer", mha(
        row | {name: new[name] for name in ("pk", "pv")}, "y,k2,v2", {"l": counts(4)}, "q,k,v,,,,pk,pv,l", tolerance=1e-5,
        expected={"y": attend(row["q"], *rows, 4), "k2": buffer["pk"], "v2": buffer["pv"]})


def rotations():
    x, position = {"x": floats(2, 5, 16)}, {"p": indices([3, 4, 5, 6, 7], [1, 2, 3, 4, 5])}
    rotary = functools.partial(one, "RotaryEmbedding")
    yield "RotaryEmbedding", rotary(x, "y", position | angles(4))
    yield "RotaryEmbedding interleaved", rotary(x, "y", {"p": indices(2)} | angles(4), interleaved=1)
    yield "RotaryEmbedding part", rotary({"x": floats(2, 5, 32)}, "y", position | angles(4), num_heads=2, rotary_embedding_dim=8)
    yield "RotaryEmbedding by heads", rotary({"x": floats(2, 3, 5, 16)}, "y", position | angles(8), interleaved=1)
    yield "RotaryEmbedding part by heads", rotary({"x": floats(2, 3, 5, 16)}, "y", position | angles(4), num_heads=3,
                                                  rotary_embedding_dim=8)
    yield "RotaryEmbedding computed positions", rotary(x | position, "y", angles(4))
    for both in (0, 1):
        yield f"RelativePositionBias {both}", one(
            "RelativePositionBias", {"t": (table := floats(16, 3))}, "y", {"q": indices(7)[0], "k": indices(9)[0]}, is_bidirectional=both,
            max_distance=20, expected={"y": distances(table, 7, 9, 20, both)})
    query, bias, place = floats(2, 5, 12), floats(12), floats(1, 3, 5, 5)
    weight, shift, scale = floats(4, 8), floats(8), floats(1, 3, 1, 1)
    turned = (query + bias).reshape(2, 5, 3, 4).transpose(0, 2, 1, 3)
    gates = sigmoid((turned @ weight + shift).reshape(2, 3, 5, 2, 4).sum(-1))
    gate, reset = gates[..., :1], gates[..., 1:]
    yield "GatedRelativePositionBias", one(
        "GatedRelativePositionBias", {"q": query}, "y", {"b": bias, "p": place, "w": weight, "c": shift, "e": scale}, num_heads=3,
        expected={"y": ((gate * (reset * scale - 1) + 2) * place).astype(np.float32)}, tolerance=1e-5)


def distances(table, rows, columns, most, both):
    """Relative position biases as T5 has them."""
    distance = np.arange(columns)[None] - np.arange(rows)[:, None]
    buckets, first = len(table), np.zeros_like(distance)
    if both:
        buckets //= 2
        first = (distance > 0) * buckets
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    far = exact + (np.log(np.maximum(distance, 1) / exact) / np.log(most / exact) * (buckets - exact)).astype(np.int64)
    return table[first + np.where(distance < exact, distance, np.minimum(far, buckets - 1))].transpose(2, 0, 1)[None]


def grouped(batch, rows, size, past=0, buffer=0, lengths=None, known=True, total=None, packed=False, more=None, order="",
            outputs="y,k2,v2", heads=4, shared=2, **attributes):
    """Attention of heads that share keys and values; `past` rows of a `buffer`, `lengths` of all rows without the last."""
    buffer, total = buffer or past, total or past + rows
    inputs = {"q": floats(batch, rows, ((heads + 2 * shared) if packed else heads) * size)}
    if not packed:
        inputs |= {"k": floats(batch, rows, shared * size), "v": floats(batch, rows, shared * size)}
    if buffer:
        inputs |= {"pk": floats(batch, shared, buffer, size), "pv": floats(batch, shared, buffer, size)}
    constants = {"t": np.array(total, np.int32), **(more or {})}
    (constants if known else inputs)["l"] = np.array(lengths or [total - 1] * batch, np.int32)
    names = ("q,,," if packed else "q,k,v,") + ("pk,pv," if buffer else ",,") + "l,t,"
    if attributes.get("do_rotary"):
        constants |= angles(size // 2)
        names += "cos,sin"
    else:
        names += ","
    return one("GroupQueryAttention", inputs, outputs, constants, (names + order).rstrip(","), num_heads=heads,
               kv_num_heads=shared, **attributes)


def groups():
    yield "GroupQueryAttention", grouped(1, 5, 8)
    yield "GroupQueryAttention past", grouped(1, 1, 16, past=6, do_rotary=1)
    yield "GroupQueryAttention packed", grouped(1, 5, 16, packed=True, do_rotary=1, local_window_size=3)
    yield "GroupQueryAttention packed past", grouped(1, 1, 16, past=4, packed=True, do_rotary=1, local_window_size=3)
    yield "GroupQueryAttention window", grouped(1, 7, 8, local_window_size=3)
    yield "GroupQueryAttention large window", grouped(1, 7, 8, local_window_size=20)
    yield "GroupQueryAttention softcap", grouped(2, 7, 8, softcap=5.0, scale=0.7)
    yield "GroupQueryAttention several new rows", grouped(1, 3, 8, past=6)
    yield "GroupQueryAttention one for all", grouped(1, 5, 8, shared=1, past=3)
    yield "GroupQueryAttention one for each", grouped(1, 5, 8, shared=4)
    yield "GroupQueryAttention interleaved", grouped(1, 5, 16, do_rotary=1, rotary_interleaved=1)
    yield "GroupQueryAttention positions", grouped(1, 5, 16, do_rotary=1, more={"p": indices([3, 4, 5, 6, 7])}, order=",p")
    yield "GroupQueryAttention bias", grouped(1, 2, 8, past=4, more={"b": floats(1, 4, 2, 6)}, order=",,b")
    yield "GroupQueryAttention bias of all heads", grouped(1, 5, 8, more={"b": floats(1, 1, 5, 5)}, order=",,b")
    yield "GroupQueryAttention sink", grouped(1, 5, 8, more={"h": floats(4)}, order=",,,h")
    yield "GroupQueryAttention sink past", grouped(1, 1, 8, past=4, more={"h": floats(4)}, order=",,,h")
    yield "GroupQueryAttention smooth", grouped(2, 5, 8, smooth_softmax=1, softcap=5.0)
    for kind in (1, 2):
        yield f"GroupQueryAttention scores {kind}", grouped(1, 5, 8, qk_output=kind, outputs="y,k2,v2,s")
        yield f"GroupQueryAttention scores {kind} past", grouped(1, 2, 8, past=4, qk_output=kind, local_window_size=3,
                                                                 outputs="y,k2,v2,s")
    # What is behind the rows that there are differs in the present: ONNX Runtime has zeros where it may not keep the past.
    for known in (True, False):
        title = "" if known else ", computed"
        buffer = functools.partial(grouped, past=6, buffer=12, known=known)
        yield "GroupQueryAttention lengths" + title, first_rows(grouped(2, 1, 8, past=6, lengths=[6, 3], known=known), 4)
        yield "GroupQueryAttention rotated lengths" + title, first_rows(
            grouped(2, 1, 16, past=6, lengths=[6, 3], known=known, do_rotary=1), 4)
        yield "GroupQueryAttention buffer" + title, first_rows(buffer(1, 1, 8), 7)
        yield "GroupQueryAttention rotated buffer" + title, first_rows(buffer(1, 1, 16, do_rotary=1), 7)
        yield "GroupQueryAttention buffers" + title, first_rows(buffer(2, 1, 8, lengths=[6, 3]), 4)
        yield "GroupQueryAttention rows in a buffer" + title, first_rows(buffer(1, 3, 8, local_window_size=4), 9)
        yield "GroupQueryAttention full buffer" + title, grouped(1, 1, 8, past=11, buffer=12, known=known)
    yield "GroupQueryAttention first rows in a buffer", first_rows(grouped(1, 5, 8, buffer=12), 5)


def first_rows(case, count):
    """With as many rows of the present as there are in all of the batch."""
    graph = case.model.graph
    graph.initializer.extend(runtime.tensor(np.array([value]), name) for name, value in (("first", 0), ("end", count), ("axis", 2)))
    for value in graph.output:
        if value.name != "y":
            graph.node.append(helper.make_node("Slice", [value.name, "first", "end", "axis"], [value.name + "s"]))
            value.name += "s"
    case.outputs = [value.name for value in graph.output]
    return case


# ----------------------------------------------------------------------------------------------------------------
# Quantization
# ----------------------------------------------------------------------------------------------------------------

def quantized_means():
    """QLinearReduceMean, of which ONNX Runtime has the definition, and no kernel."""
    q, scales = integers(0, 255, 2, 3, 5), {"xs": np.float32(0.02), "xz": np.uint8(120), "ys": np.float32(0.011), "yz": np.uint8(131)}
    for name, axes, keep in (("all", None, 1), ("last", [-1], 1), ("two", [0, 2], 0), ("middle", [1], 0)):
        reals = (q.astype(np.float64) - 120) * np.float64(scales["xs"])
        mean = reals.mean(axis=tuple(axes) if axes else None, keepdims=bool(keep))
        y = np.clip(np.rint(mean / np.float64(scales["ys"])) + 131, 0, 255).astype(np.uint8)
        yield f"QLinearReduceMean {name}", one("QLinearReduceMean", {"q": q}, "y", scales, axes=axes, keepdims=keep,
                                               expected={"y": y})
    y = np.clip(np.rint(q.astype(np.float64).mean(axis=2, keepdims=True)), 0, 255).astype(np.uint8)
    yield "QLinearReduceMean without zero points", one(
        "QLinearReduceMean", {"q": q}, "y", {"xs": np.float32(0.5), "ys": np.float32(0.5)}, "q,xs,,ys", axes=[2], expected={"y": y})


def quantizations():
    other = {"b": integers(0, 255, 8), "bs": np.float32(0.03), "bz": np.uint8(100)}
    matrix = {"ws": np.float32(0.01), "wz": np.uint8(90)}
    yield "QLinearAdd", quantized("QLinearAdd", "q,xs,xz,b,bs,bz,ys,yz", [2, 8], other)
    yield "QLinearMul", quantized("QLinearMul", "q,xs,xz,b,bs,bz,ys,yz", [2, 8], other)
    yield "QLinearSigmoid", quantized("QLinearSigmoid", "q,xs,xz,ys,yz", [2, 8], {})
    yield "QLinearLeakyRelu", quantized("QLinearLeakyRelu", "q,xs,xz,ys,yz", [2, 8], {}, alpha=0.1)
    for last in (0, 1):
        yield f"QLinearGlobalAveragePool {last}", quantized(
            "QLinearGlobalAveragePool", "q,xs,xz,ys,yz", [1, 3, 4, 4], {}, channels_last=last)
        yield f"QLinearAveragePool {last}", quantized(
            "QLinearAveragePool", "q,xs,xz,ys,yz", [1, 5, 6, 4], {}, channels_last=last, kernel_shape=[2, 3], strides=[2, 1],
            pads=[0, 1, 1, 1])
    yield "QLinearAveragePool all", quantized("QLinearAveragePool", "q,xs,xz,ys,yz", [1, 2, 5, 6], {}, kernel_shape=[3, 3],
                                              pads=[1, 1, 1, 1], count_include_pad=1)
    small = {"ys": np.float32(1 / 256), "yz": np.uint8(0)}
    yield "QLinearSoftmax", quantized("QLinearSoftmax", "q,xs,xz,ys,yz", [2, 3, 8], small, opset=13, axis=-1)
    yield "QLinearSoftmax axis", quantized("QLinearSoftmax", "q,xs,xz,ys,yz", [2, 3, 8], small, opset=13, axis=1)
    yield "QLinearSoftmax flat", quantized("QLinearSoftmax", "q,xs,xz,ys,yz", [2, 3, 8], small, opset=11, axis=1)
    yield from quantized_means()
    yield "QLinearConcat", quantized("QLinearConcat", "ys,yz,q,xs,xz,b,bs,bz", [2, 8], other | {"b": integers(0, 255, 3, 8)}, axis=0)
    condition = {"c": integers(0, 2, 2, 8).astype(bool)}
    yield "QLinearWhere", quantized("QLinearWhere", "c,q,xs,xz,b,bs,bz,ys,yz", [2, 8], other | condition)
    weights = {"w": signed(4, 3, 3, 3), "ws": np.array([0.01, 0.02, 0.015, 0.005], np.float32),
               "wz": np.zeros(4, np.int8), "b": integers(-300, 300, 4, dtype=np.int32)}
    yield "QLinearConv", quantized("QLinearConv", "q,xs,xz,w,ws,wz,ys,yz,b", [1, 3, 8, 8], weights, domain="", kernel_shape=[3, 3],
                                   pads=[1, 1, 1, 1])
    yield "QLinearConv channels last", quantized("QLinearConv", "q,xs,xz,w,ws,wz,ys,yz,b", [1, 8, 7, 3], weights,
                                                 kernel_shape=[3, 3], pads=[1, 1, 1, 1], channels_last=1)
    yield "QLinearMatMul", quantized(
        "QLinearMatMul", "q,xs,xz,w,ws,wz,ys,yz", [4, 8], matrix | {"w": integers(0, 200, 8, 6)}, domain="")
    linear = matrix | {"w": integers(0, 200, 6, 8), "b": integers(-300, 300, 6, dtype=np.int32)}
    yield "QGemm", quantized("QGemm", "q,xs,xz,w,ws,wz,b,ys,yz", [4, 8], linear, transB=1, alpha=1.0)
    bytes_ = {"x": integers(0, 255, 4, 8)}
    ends = {"xs": np.float32(0.02), "xz": np.uint8(120)}
    yield "QGemm real result", one("QGemm", bytes_, "y", linear | ends, "x,xs,xz,w,ws,wz,b", transB=1, tolerance=1e-5)
    yield "QGemm columns", one(
        "QGemm", bytes_, "y", linear | ends | {"w": signed(6, 8), "ws": np.abs(floats(6)), "wz": np.zeros(6, np.int8)},
        "x,xs,xz,w,ws,wz", transB=1, tolerance=1e-5)
    more = {"w": integers(0, 200, 8, 6), **matrix, "b": floats(6)}
    yield "DynamicQuantizeMatMul", one("DynamicQuantizeMatMul", {"x": floats(4, 8)}, "y", more)
    yield "DynamicQuantizeMatMul columns", one(
        "DynamicQuantizeMatMul", {"x": floats(2, 4, 8)}, "y",
        {"w": signed(8, 6), "ws": np.abs(floats(6)), "wz": np.zeros(6, np.int8)}, tolerance=1e-5)
    yield "MatMulIntegerToFloat", one("MatMulIntegerToFloat", bytes_, "y", more | ends, "x,w,xs,ws,xz,wz,b", tolerance=1e-5)
    yield "MatMulIntegerToFloat columns", one(
        "MatMulIntegerToFloat", bytes_, "y", ends | {"w": signed(8, 6), "ws": np.abs(floats(6))}, "x,w,xs,ws,xz",
        tolerance=1e-5)
    a, b = integers(0, 255, 3, 4), integers(0, 255, 4)
    yield "MulInteger", one("MulInteger", {"a": a, "b": b}, "y", {"az": np.uint8(7)}, "a,az,b",
                            expected={"y": (a.astype(np.int32) - 7) * b})
    half = {"x": floats(4, 6), "s": np.float32(0.001)}
    yield "QuantizeLinear", one("QuantizeLinear", {"x": half["x"]}, "y", {"s": half["s"], "z": np.int16(-300)})
    yield "DequantizeLinear", one("DequantizeLinear", {"x": integers(-3000, 3000, 4, 6, dtype=np.int16)}, "y",
                                  {"s": np.abs(floats(6)), "z": integers(-9, 9, 6, dtype=np.int16)}, axis=1)
    yield "DynamicQuantizeLSTM", one(
        "DynamicQuantizeLSTM", {"x": floats(4, 2, 5)}, "y,h,c",
        {"w": signed(1, 5, 12), "r": signed(1, 3, 12), "b": floats(1, 24),
         "ws": np.array([0.005], np.float32), "wz": np.zeros(1, np.int8), "rs": np.array([0.006], np.float32), "rz": np.zeros(1, np.int8)},
        "x,w,r,b,,,,,ws,wz,rs,rz", hidden_size=3, tolerance=0.02)  # inputs are not quantized on the way
    yield "DynamicQuantizeLSTM columns", one(
        "DynamicQuantizeLSTM", {"x": floats(4, 2, 5)}, "y,h,c",
        {"w": signed(2, 5, 12), "r": signed(2, 3, 12),
         "ws": np.abs(floats(2, 12)) * np.float32(0.005), "wz": np.zeros((2, 12), np.int8),
         "rs": np.abs(floats(2, 12)) * np.float32(0.005), "rz": np.zeros((2, 12), np.int8)},
        "x,w,r,,,,,,ws,wz,rs,rz", hidden_size=3, direction="bidirectional", tolerance=0.02)


def few_bits():
    yield "MatMulNBits", n_bits(4, 64, 48, 32)
    yield "MatMulNBits zero points", n_bits(4, 64, 48, 32, "zero")
    yield "MatMulNBits real zero points", n_bits(4, 64, 48, 32, "real zero")
    yield "MatMulNBits odd blocks", n_bits(4, 80, 20, 32, "zero")
    yield "MatMulNBits bias", n_bits(4, 64, 48, 16, "bias")
    yield "MatMulNBits index", n_bits(4, 64, 16, 16, "zero", "index")
    yield "MatMulNBits index without zero points", n_bits(4, 64, 16, 16, "index")
    yield "MatMulNBits 8 bits", n_bits(8, 64, 48, 32)
    yield "MatMulNBits 8 bits zero points", n_bits(8, 64, 48, 32, "zero", "bias")
    yield "MatMulNBits 2 bits", n_bits(2, 64, 48, 32)
    yield "MatMulNBits 2 bits zero points", n_bits(2, 96, 48, 32, "zero")
    table = {"w": integers(0, 256, 7, 32), "s": floats(7, 4)}
    rows = {"i": indices([0, 6], [3, 3])}
    gather = functools.partial(one, "GatherBlockQuantized", rows, "y", block_size=16, quantize_axis=1)
    yield "GatherBlockQuantized bytes", gather(table, "w,i,s", bits=4)
    yield "GatherBlockQuantized bytes zero points", gather(table | {"z": integers(0, 256, 7, 2)}, "w,i,s,z", bits=4)
    yield "GatherBlockQuantized 8 bits", gather({"w": integers(0, 256, 7, 64), "s": floats(7, 4)}, "w,i,s", bits=8)
    for kind, low in ((UINT4, 0), (INT4, -8)):
        values = {"w": Nibbles(integers(low, low + 16, 7, 64, dtype=np.int64), kind), "s": floats(7, 4)}
        points = {"z": Nibbles(integers(low, low + 16, 7, 4, dtype=np.int64), kind)}
        name = "uint4" if kind == UINT4 else "int4"
        yield f"GatherBlockQuantized {name}", gather(values, "w,i,s", opset=21)
        yield f"GatherBlockQuantized {name} zero points", gather(values | points, "w,i,s,z", opset=21)


FAMILIES = (activations, movements, normalizations, products, attentions, multi_head, rotations, groups, quantizations, few_bits)


def cases():
    for family in FAMILIES:
        yield from family()


def main():
    webnn, modules, *wanted = sys.argv[1:]
    peers = Peers(webnn, modules)
    if peers.missing():
        print(f"skipped: {peers.missing()}")
        return 77
    with peers:
        passed, failed = run(peers, cases(), wanted)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
