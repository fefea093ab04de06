# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX models of the client tests: models.py FOLDER.

One model for each operator and form that the WebNN execution provider of ONNX Runtime Web knows, and a few small
networks: an MLP (float32, float16), a convolution, one like MobileNetV2, a transformer block. Needs python3-onnx."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "i64": TensorProto.INT64, "i32": TensorProto.INT32,
         "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "bool": TensorProto.BOOL}
INT4 = 22  # newer than the package
MICROSOFT = "com.microsoft"

random = np.random.default_rng(1)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return (np.abs(random.standard_normal(shape)) + .5).astype(np.float32)


def bytes_of(*shape):
    return random.integers(0, 255, shape).astype(np.uint8)


def ints(*values):
    return np.array(values, np.int64)


def info(text):
    """'x f32 2 3' -> a value of that name, type and shape; sizes may be names."""
    name, kind, *shape = text.split()
    return helper.make_tensor_value_info(name, TYPES[kind], [int(s) if s.isdigit() else s for s in shape])


def save(folder, name, nodes, inputs, outputs, weights, opset, domain="", check=False):
    tensors = [w if isinstance(w, onnx.TensorProto) else numpy_helper.from_array(np.asarray(w), n)
               for n, w in weights.items()]
    graph = helper.make_graph(nodes, name, [info(i) for i in inputs], [info(o) for o in outputs], tensors)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 10 if opset > 17 else 8
    if check:
        onnx.checker.check_model(model)
    onnx.save(model, os.path.join(folder, name + ".onnx"))


# ----------------------------------------------------------------------------------------------------------------------
# One operator each
# ----------------------------------------------------------------------------------------------------------------------

CASES = []


def one(name, op, inputs, outputs, weights=None, order=None, opset=21, domain="", **attributes):
    """The node's inputs are `inputs`, then `weights`, unless `order` says otherwise."""
    inputs, outputs, weights = inputs.split(", ") if inputs else [], outputs.split(", "), weights or {}
    names = order.split(",") if order is not None else [i.split()[0] for i in inputs] + list(weights)
    node = helper.make_node(op, names, [o.split()[0] for o in outputs], domain=domain, **attributes)
    CASES.append((name, [node], inputs, outputs, weights, opset, domain))


def element_wise():
    for op in ("Abs Ceil Cos Erf Exp Floor Identity Log Neg Reciprocal Round Sin Sign Sqrt Tan Tanh Relu Sigmoid "
               "Softplus Softsign HardSwish Elu LeakyRelu HardSigmoid Gelu").split():
        one(op, op, "x f32 2 3", "y f32 2 3")
    one("GeluTanh", "Gelu", "x f32 2 3", "y f32 2 3", approximate="tanh")
    for op in ("IsNaN", "IsInf"):
        one(op, op, "x f32 2 3", "y bool 2 3")
    for op in "Add Sub Mul Div Pow PRelu".split():
        one(op, op, "a f32 2 3", "y f32 2 3", {"b": positive(3)})
    for op in ("Max", "Min"):
        one(op, op, "a f32 2 3, b f32 3, c f32 2 1", "y f32 2 3")
    for op in ("Sum", "Mean"):
        one(op, op, "a f32 2 3, b f32 3", "y f32 2 3")
    for op in "Equal Greater GreaterOrEqual Less LessOrEqual".split():
        one(op, op, "a f32 2 3, b f32 3", "y bool 2 3")
    for op in "And Or Xor".split():
        one(op, op, "a bool 2 3, b bool 3", "y bool 2 3")
    one("Not", "Not", "a bool 2 3", "y bool 2 3")
    one("Mod", "Mod", "a f32 2 3", "y f32 2 3", {"b": positive(3)}, fmod=1)
    one("Cast", "Cast", "x f32 2 3", "y i32 2 3", to=TensorProto.INT32)
    one("CastI64", "Cast", "x i32 2 3", "y i64 2 3", to=TensorProto.INT64)
    one("Clip", "Clip", "x f32 2 3", "y f32 2 3", {"lo": np.float32(-.5), "hi": np.float32(.5)})
    one("Dropout", "Dropout", "x f32 2 4", "y f32 2 4")
    one("Where", "Where", "c bool 2 3, a f32 2 3, b f32 3", "y f32 2 3")


def convolutions_and_pools():
    one("Conv", "Conv", "x f32 1 4 8 8", "y f32 1 4 4 4", {"w": normal(4, 2, 3, 3), "b": normal(4)},
        pads=[1, 1, 1, 1], strides=[2, 2], group=2)
    one("ConvSameUpper", "Conv", "x f32 1 3 7 7", "y f32 1 4 4 4", {"w": normal(4, 3, 3, 3)},
        auto_pad="SAME_UPPER", strides=[2, 2])
    one("Conv1D", "Conv", "x f32 1 4 8", "y f32 1 4 6", {"w": normal(4, 4, 3)})
    one("ConvTranspose", "ConvTranspose", "x f32 1 4 4 4", "y f32 1 3 8 8", {"w": normal(4, 3, 3, 3), "b": normal(3)},
        pads=[1, 1, 1, 1], strides=[2, 2], output_padding=[1, 1])
    one("ConvTransposeOutShape", "ConvTranspose", "x f32 1 4 4 4", "y f32 1 3 8 8", {"w": normal(4, 3, 3, 3)},
        strides=[2, 2], output_shape=[8, 8])
    one("ConvInteger", "ConvInteger", "x u8 1 2 4 4", "y i32 1 2 2 2",
        {"w": bytes_of(2, 2, 3, 3), "xz": np.uint8(3), "wz": np.uint8(5)})
    for op in "GlobalAveragePool GlobalMaxPool GlobalLpPool".split():
        one(op, op, "x f32 1 3 4 4", "y f32 1 3 1 1")
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    one("AveragePool", "AveragePool", "x f32 1 3 5 5", "y f32 1 3 3 3", **window)
    one("AveragePoolCIP", "AveragePool", "x f32 1 3 5 5", "y f32 1 3 3 3", **window, count_include_pad=1)
    one("MaxPoolCeil", "MaxPool", "x f32 1 3 6 6", "y f32 1 3 3 3", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    one("LpPool", "LpPool", "x f32 1 3 4 4", "y f32 1 3 2 2", kernel_shape=[2, 2], strides=[2, 2])


def quantisation():
    one("DequantizeLinear", "DequantizeLinear", "x u8 2 4", "y f32 2 4",
        {"s": positive(4), "z": np.array([1, 2, 3, 4], np.uint8)}, axis=1)
    one("DequantizeLinearBlock", "DequantizeLinear", "x i8 2 4", "y f32 2 4",
        {"s": positive(2, 2), "z": np.zeros((2, 2), np.int8)}, axis=1, block_size=2)
    one("DequantizeLinearInt4", "DequantizeLinear", "", "y f32 2 4",
        {"x": TensorProto(name="x", data_type=INT4, dims=[2, 4], raw_data=bytes([0xE1, 0xC3, 0xA5, 0x87])),
         "s": positive(2, 2)}, axis=1, block_size=2)
    one("QuantizeLinear", "QuantizeLinear", "x f32 2 4", "y u8 2 4", {"s": np.float32(.05), "z": np.uint8(128)})
    one("QuantizeLinearI8", "QuantizeLinear", "x f32 2 4", "y i8 2 4", {"s": np.float32(.05), "z": np.int8(3)})
    one("DynamicQuantizeLinear", "DynamicQuantizeLinear", "x f32 2 4", "y u8 2 4, ys f32, yz u8")
    one("MatMulInteger", "MatMulInteger", "a u8 2 3", "y i32 2 4",
        {"b": bytes_of(3, 4), "az": np.uint8(2), "bz": np.uint8(7)})


def matrices_and_normalisation():
    one("Einsum", "Einsum", "a f32 2 3, b f32 3 4", "y f32 2 4", equation="ij,jk->ik")
    one("EinsumB", "Einsum", "a f32 2 3 4, b f32 2 5 4", "y f32 2 3 5", equation="bik,bjk->bij")
    one("Gemm", "Gemm", "a f32 3 2", "y f32 2 4", {"b": normal(4, 3), "c": normal(4)},
        transA=1, transB=1, alpha=.5, beta=2.)
    one("MatMul", "MatMul", "a f32 2 3 4, b f32 2 4 5", "y f32 2 3 5")
    one("MatMul1D", "MatMul", "a f32 4, b f32 4 5", "y f32 5")
    one("InstanceNormalization", "InstanceNormalization", "x f32 1 3 4 4", "y f32 1 3 4 4",
        {"s": normal(3), "b": normal(3)})
    one("LayerNormalization", "LayerNormalization", "x f32 2 3 4", "y f32 2 3 4", {"s": normal(4), "b": normal(4)})
    one("BatchNormalization", "BatchNormalization", "x f32 1 3 4 4", "y f32 1 3 4 4",
        {"s": normal(3), "b": normal(3), "m": normal(3), "v": positive(3)}, opset=15)
    one("GroupNormalization", "GroupNormalization", "x f32 1 4 4 4", "y f32 1 4 4 4",
        {"s": normal(4), "b": normal(4)}, num_groups=2)
    one("LRN", "LRN", "x f32 1 4 3 3", "y f32 1 4 3 3", size=3)
    one("LpNormalization", "LpNormalization", "x f32 2 3", "y f32 2 3")
    one("Softmax", "Softmax", "x f32 2 3 4", "y f32 2 3 4", axis=1)
    one("CumSum", "CumSum", "x f32 2 3", "y f32 2 3", {"ax": np.int64(1)}, exclusive=1, reverse=1)
    for op in ("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
               "ReduceSumSquare ReduceSum").split():
        one(op, op, "x f32 2 3 4", "y f32 2 1 4", {"ax": ints(1)})
    one("ArgMax", "ArgMax", "x f32 2 3", "y i64 2 1", axis=1)
    one("ArgMin", "ArgMin", "x f32 2 3", "y i64 3", axis=0, keepdims=0)


def movement():
    one("Concat", "Concat", "a f32 2 3, b f32 2 2", "y f32 2 5", axis=1)
    one("DepthToSpace", "DepthToSpace", "x f32 1 8 2 2", "y f32 1 2 4 4", blocksize=2)
    one("SpaceToDepth", "SpaceToDepth", "x f32 1 2 4 4", "y f32 1 8 2 2", blocksize=2)
    one("Expand", "Expand", "x f32 3 1", "y f32 2 3 4", {"s": ints(2, 3, 4)})
    one("Flatten", "Flatten", "x f32 2 3 4", "y f32 2 12")
    one("Gather", "Gather", "x f32 4 3", "y f32 2 2 3", {"i": ints([0, 1], [-1, 2])})
    one("GatherDyn", "Gather", "x f32 4 3, i i64 2", "y f32 2 3")
    one("GatherScalar", "Gather", "x f32 4 3", "y f32 3", {"i": np.int64(2)})
    one("GatherElements", "GatherElements", "x f32 3 3", "y f32 2 3", {"i": ints([1, 2, 0], [2, 0, 0])})
    one("GatherND", "GatherND", "x f32 2 2 3", "y f32 2 3", {"i": ints([0, 1], [1, 0])})
    for mode in ("constant", "edge", "reflect"):
        one("Pad_" + mode, "Pad", "x f32 3 4", "y f32 5 7", {"p": ints(1, 1, 1, 2)}, mode=mode)
    one("Reshape", "Reshape", "x f32 2 6", "y f32 3 4", {"s": ints(3, -1)})
    one("Squeeze", "Squeeze", "x f32 2 1 3", "y f32 2 3", {"a": ints(1)})
    one("Unsqueeze", "Unsqueeze", "x f32 2 3", "y f32 2 1 3", {"a": ints(1)})
    one("ResizeNearest", "Resize", "x f32 1 2 3 3", "y f32 1 2 6 6", {"sc": np.array([1, 1, 2, 2], np.float32)},
        "x,,sc", mode="nearest")
    one("ResizeLinear", "Resize", "x f32 1 2 3 3", "y f32 1 2 6 6", {"sz": ints(1, 2, 6, 6)}, "x,,,sz", mode="linear")
    one("ScatterElements", "ScatterElements", "x f32 3 3, u f32 1 3", "y f32 3 3", {"i": ints([1, 0, 2])}, "x,i,u")
    one("ScatterND", "ScatterND", "x f32 4 2, u f32 2 2", "y f32 4 2", {"i": ints([1], [3])}, "x,i,u")
    one("Shape", "Shape", "x f32 2 3", "y i64 2")
    one("Slice", "Slice", "x f32 4 5", "y f32 2 3", {"s": ints(1, 0), "e": ints(3, 5), "a": ints(0, 1), "t": ints(1, 2)})
    one("SliceNeg", "Slice", "x f32 4 5", "y f32 4 5", {"s": ints(-1), "e": ints(-100), "a": ints(1), "t": ints(-1)})
    one("Split", "Split", "x f32 2 6", "y0 f32 2 2, y1 f32 2 4", {"sp": ints(2, 4)}, axis=1)
    one("SplitEq", "Split", "x f32 2 6", "y0 f32 2 3, y1 f32 2 3", axis=1, num_outputs=2)
    one("Tile", "Tile", "x f32 2 3", "y f32 4 3", {"r": ints(2, 1)})
    one("Transpose", "Transpose", "x f32 2 3 4", "y f32 4 2 3", perm=[2, 0, 1])
    one("Trilu", "Trilu", "x f32 3 3", "y f32 3 3", {"k": np.int64(1)}, upper=0)


def recurrent():
    one("LSTM", "LSTM", "x f32 4 2 3", "y f32 4 1 2 5, yh f32 1 2 5, yc f32 1 2 5",
        {"w": normal(1, 20, 3), "r": normal(1, 20, 5), "b": normal(1, 40)}, hidden_size=5)
    one("GRU", "GRU", "x f32 4 2 3", "y f32 4 1 2 5, yh f32 1 2 5",
        {"w": normal(1, 15, 3), "r": normal(1, 15, 5), "b": normal(1, 30)}, hidden_size=5, linear_before_reset=1)
    one("GRUBefore", "GRU", "x f32 4 2 3", "y f32 4 1 2 5, yh f32 1 2 5",
        {"w": normal(1, 15, 3), "r": normal(1, 15, 5), "b": normal(1, 30)}, hidden_size=5)


def of_microsoft():
    one("SkipLayerNorm", "SkipLayerNormalization", "x f32 1 3 4, s f32 1 3 4", "y f32 1 3 4",
        {"g": normal(4), "b": normal(4)}, domain=MICROSOFT)
    one("SimplifiedLN", "SimplifiedLayerNormalization", "x f32 2 3 4", "y f32 2 3 4", {"s": normal(4)})
    one("SkipSimplifiedLN", "SkipSimplifiedLayerNormalization", "x f32 1 3 4, s f32 1 3 4", "y f32 1 3 4",
        {"g": normal(4)}, domain=MICROSOFT)
    one("MHA", "MultiHeadAttention", "q f32 1 4 8, k f32 1 4 8, v f32 1 4 8", "y f32 1 4 8",
        domain=MICROSOFT, num_heads=2)
    one("RotaryEmb", "RotaryEmbedding", "x f32 1 4 16, p i64 1 4", "y f32 1 4 16",
        {"c": normal(8, 4), "s": normal(8, 4)}, domain=MICROSOFT, num_heads=2)
    one("MatMulNBits", "MatMulNBits", "a f32 2 32", "y f32 2 4", {"b": bytes_of(4, 1, 16), "s": positive(4)},
        domain=MICROSOFT, K=32, N=4, bits=4, block_size=32)
    one("QuickGelu", "QuickGelu", "x f32 2 3", "y f32 2 3", domain=MICROSOFT)
    one("FusedGelu", "Gelu", "x f32 2 3", "y f32 2 3", domain=MICROSOFT)
    cache = "1 2 8 8"
    one("GQA", "GroupQueryAttention",
        f"q f32 1 1 16, k f32 1 1 16, v f32 1 1 16, pk f32 {cache}, pv f32 {cache}",
        f"y f32 1 1 16, ok f32 {cache}, ov f32 {cache}", {"sl": np.array([[7]], np.int32), "tl": np.int32(8)}, domain=MICROSOFT, num_heads=2, kv_num_heads=2)


# ----------------------------------------------------------------------------------------------------------------------
# Networks
# ----------------------------------------------------------------------------------------------------------------------

class Network:
    """Nodes and weights as they are added; every method returns the name of its result."""

    def __init__(self):
        self.nodes, self.weights, self.count = [], {"lo": np.float32(0), "hi": np.float32(6)}, 0

    def weight(self, value):
        self.count += 1
        self.weights[f"w{self.count}"] = np.asarray(value)
        return f"w{self.count}"

    def add(self, op, inputs, output=None, **attributes):
        self.count += 1
        output = output or f"t{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def convolution(self, x, channels, outputs, size, stride=1, groups=1, clip=True):
        scale = (2 / (channels // groups * size * size)) ** .5
        filters = self.weight((normal(outputs, channels // groups, size, size) * scale).astype(np.float32))
        x = self.add("Conv", [x, filters], kernel_shape=[size] * 2, pads=[size // 2] * 4, strides=[stride] * 2,
                     group=groups)
        statistics = (positive(outputs), normal(outputs) * .1, normal(outputs) * .1, positive(outputs))
        x = self.add("BatchNormalization", [x] + [self.weight(v.astype(np.float32)) for v in statistics])
        return self.add("Clip", [x, "lo", "hi"]) if clip else x

    def inverted_residual(self, x, channels, outputs, stride, expansion):
        y, inner = x, channels * expansion
        if expansion > 1:
            y = self.convolution(y, channels, inner, 1)
        y = self.convolution(y, inner, inner, 3, stride, inner)
        y = self.convolution(y, inner, outputs, 1, clip=False)
        return self.add("Add", [x, y]) if stride == 1 and channels == outputs else y


def mobilenet(folder):
    net = Network()
    x = net.convolution("x", 3, 16, 3, 2)
    x = net.inverted_residual(x, 16, 8, 1, 1)
    for channels, outputs, stride in [(8, 12, 2), (12, 12, 1), (12, 16, 2), (16, 16, 1), (16, 24, 1)]:
        x = net.inverted_residual(x, channels, outputs, stride, 4)
    x = net.convolution(x, 24, 64, 1)
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x])], axis=1)
    x = net.add("Gemm", [x, net.weight(normal(10, 64) * np.float32(.2)), net.weight(normal(10))], transB=1)
    net.add("Softmax", [x], "y", axis=1)
    save(folder, "mobilenet", net.nodes, ["x f32 N 3 64 64"], ["y f32 N 10"], net.weights, 17, check=True)


def transformer(folder):
    net, size = Network(), 16

    def matmul(x, rows, columns):
        return net.add("MatMul", [x, net.weight(normal(rows, columns) * np.float32(.3))])

    def heads(x, order):
        return net.add("Transpose", [net.add("Reshape", [x, shape])], perm=order)

    shape = net.weight(ints(1, -1, 4, 4))
    embedded = net.add("Gather", [net.weight(normal(50, size)), "ids"])
    x = net.add("LayerNormalization", [embedded, net.weight(positive(size)), net.weight(normal(size))], axis=-1)
    query, key, value = (matmul(x, size, size) for _ in range(3))
    scores = net.add("MatMul", [heads(query, [0, 2, 1, 3]), heads(key, [0, 2, 3, 1])])
    weights = net.add("Softmax", [net.add("Mul", [scores, net.weight(np.float32(.25))])], axis=-1)
    mixed = net.add("Transpose", [net.add("MatMul", [weights, heads(value, [0, 2, 1, 3])])], perm=[0, 2, 1, 3])
    x = net.add("Add", [embedded, net.add("Reshape", [mixed, net.weight(ints(1, -1, size))])])
    hidden = matmul(x, size, 4 * size)
    hidden = net.add("Mul", [hidden, net.add("Erf", [hidden])])
    net.add("Add", [x, matmul(hidden, 4 * size, size)], "y")
    save(folder, "transformer", net.nodes, ["ids i64 1 S"], [f"y f32 1 S {size}"], net.weights, 17, check=True)


def mlp(folder, name, kind):
    net, dtype = Network(), np.float16 if kind == "f16" else np.float32
    x = net.add("MatMul", ["x", net.weight(normal(3, 4).astype(dtype))])
    net.add("Relu", [net.add("Add", [x, net.weight(normal(4).astype(dtype))])], "y")
    save(folder, name, net.nodes, [f"x {kind} 2 3"], [f"y {kind} 2 4"], net.weights, 17, check=True)


def convolution(folder):
    net = Network()
    x = net.add("Conv", ["x", net.weight(normal(8, 3, 3, 3) * np.float32(.2)), net.weight(normal(8))],
                kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    net.add("MaxPool", [net.add("Clip", [x, "lo", "hi"])], "y", kernel_shape=[2, 2], strides=[2, 2])
    save(folder, "conv", net.nodes, ["x f32 1 3 16 16"], ["y f32 1 8 4 4"], net.weights, 17, check=True)


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "operators"), exist_ok=True)
    for family in (element_wise, convolutions_and_pools, quantisation, matrices_and_normalisation, movement, recurrent,
                   of_microsoft):
        family()
    for name, nodes, inputs, outputs, weights, opset, domain in CASES:
        save(os.path.join(folder, "operators"), name, nodes, inputs, outputs, weights, opset, domain)
    mlp(folder, "mlp", "f32")
    mlp(folder, "mlp16", "f16")
    convolution(folder)
    mobilenet(folder)
    transformer(folder)


main()
