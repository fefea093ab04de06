# SPDX-License-Identifier: Apache-2.0
"""Every operator of TensorFlow Lite that is recorded, against LiteRT.js: each as models of one node, with several attributes,
shapes and types.

usage: operators.py WEBNN MODULES [CASE...]

MODULES is the folder whose node_modules has @litertjs/core. Exit status 77: something that this needs is missing.
"""

import struct
import sys

from runtime import RECORDED, TOLERANCE, Broken, Model, Peers, Refused, Tensor, compare, np

random = np.random.default_rng(11)
NONE, RELU, RELU_N1_TO_1, RELU6, TANH = range(5)
SAME, VALID = range(2)


def floats(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def positive(*shape):
    return (random.random(shape) * 3 + 0.1).astype(np.float32)


def integers(low, high, *shape, dtype=np.int32):
    return random.integers(low, high, shape).astype(dtype)


def i(value):
    return ("i", value)


def b(value):
    return ("b", value)


def B(value):
    return ("B", int(value))


def f(value):
    return ("f", value)


def one(op, *inputs, results=("float32",), options=None, version=1, steps=1, expected=None):
    """An operator on inputs, of which arrays are fed. `expected`: its results, where LiteRT.js does not compute it."""
    model = Model()
    model.expected = expected
    graph = model.graphs[0]
    made = []
    for value in inputs:
        if value is None:
            made.append(-1)
        elif isinstance(value, Const):
            made.append(graph.const(value.data, value.kind, **value.more))
        elif isinstance(value, Fed):
            made.append(model.feed(value.data, value.kind, value.scale, value.zero))
        elif isinstance(value, Variable):
            made.append(graph.variable(value.kind, value.shape, **value.more))
        else:
            made.append(model.feed(value))
    if not model.feeds or op in ("SHAPE", "RANK", "ZEROS_LIKE"):  # whose results do not depend on inputs
        model.take(graph.op("RELU", [model.feed(floats(2))]))
        model.feeds = {name: value for name, value in model.feeds.items() if int(name[1:]) not in made}
    given = graph.op(op, made, *[Tensor(*r) if isinstance(r, tuple) else r if isinstance(r, Tensor) else Tensor(r)
                                 for r in results], options=options, version=version)
    model.take(*(given if isinstance(given, list) else [given]), steps=steps)
    return model


class Const:
    def __init__(self, data, kind=None, **more):
        self.data, self.kind, self.more = np.asarray(data), kind, more


class Fed:
    def __init__(self, data, kind=None, scale=None, zero=0):
        self.data, self.kind, self.scale, self.zero = np.asarray(data), kind, scale, zero


class Variable:
    def __init__(self, shape, kind="float32", **more):
        self.shape, self.kind, self.more = shape, kind, more


def ints(*values):
    return Const(np.array(values, np.int32))


def quantized(kind="int8", scale=0.05, zero=3):
    return Tensor(kind, scale=scale, zero=zero)


def quant(data, kind="int8", scale=0.05, zero=3):
    return Fed(data, kind, scale, zero)


def quantized_weights(shape, kind="int8", channels=None, axis=0, zero=0):
    """A constant with a scale, or one for each channel."""
    low, high = {"int8": (-127, 128), "int4": (-7, 8), "uint8": (0, 256)}[kind]
    scale = (random.random(channels or 1) * 0.02 + 0.005).astype(np.float32)
    return Const(integers(low, high, *shape, dtype=np.int8 if kind != "uint8" else np.uint8), kind, scale=scale, axis=axis,
                 zero=zero)


def quantized_bias(weights, input_scale, wide=False):
    """A bias for weights of quantized_weights and an input of a scale."""
    scale = weights.more["scale"] * np.float32(input_scale)
    count = weights.data.shape[weights.more["axis"]]
    data = integers(-500, 500, count, dtype=np.int64 if wide else np.int32)
    return Const(data, "int64" if wide else "int32", scale=scale, zero=0)


# ---------------------------------------------------------------------------------------------------------------
# Elementwise
# ---------------------------------------------------------------------------------------------------------------


def unary_cases():
    wide, above = floats(2, 3, 5, scale=3), positive(2, 3, 5)
    options = {"ABS": "Abs", "EXP": "Exp", "NEG": "Neg", "SQUARE": "Square", "COS": "Cos", "HARD_SWISH": "HardSwish"}
    for name in ("ABS", "CEIL", "COS", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6", "RELU_N1_TO_1",
                 "RELU_0_TO_1", "SIN", "SQUARE", "TANH", "ELU"):
        yield name, one(name, wide, options=(options[name], {}) if name in options else None)
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.2, -3.7], np.float32)
    yield "ROUND", one("ROUND", halves)
    yield "SIGN", one("SIGN", halves, options=("Sign", {}))
    for name in ("LOG", "SQRT", "RSQRT"):
        yield name, one(name, above)
    yield "ABS int32", one("ABS", integers(-9, 9, 4, 5), results=["int32"])
    yield "NEG int32", one("NEG", integers(-9, 9, 4, 5), results=["int32"])
    yield "NEG int64", one("NEG", Fed(integers(-9, 9, 4, 5), "int64"), results=["int64"])
    yield "GELU", one("GELU", wide, options=("Gelu", {0: B(False)}))
    yield "GELU approximate", one("GELU", wide, options=("Gelu", {0: B(True)}))
    for alpha in (0.2, 1.5, -0.5):
        yield f"LEAKY_RELU {alpha}", one("LEAKY_RELU", wide, options=("LeakyRelu", {0: f(alpha)}))
    yield "PRELU", one("PRELU", floats(2, 4, 4, 3), Const(floats(1, 1, 3)))
    yield "PRELU scalar", one("PRELU", floats(2, 3), Const(floats(1)))
    yield "LOGICAL_NOT", one("LOGICAL_NOT", Fed(integers(0, 2, 7), "bool"), results=["bool"])
    for kind in ("int8", "uint8"):
        zero = 3 if kind == "int8" else 130
        for name in ("ABS", "LOGISTIC", "TANH", "RELU", "RELU6", "HARD_SWISH", "LEAKY_RELU", "EXP", "ELU", "NEG"):
            if kind == "uint8" and name in ("ABS", "EXP", "ELU", "NEG"):
                continue
            zero = 0 if name == "NEG" else zero  # LiteRT takes the negative of what is stored
            result = quantized(kind, 0.05, zero)
            if name == "LOGISTIC":
                result = quantized(kind, 1 / 256, -128 if kind == "int8" else 0)
            if name == "TANH":
                result = quantized(kind, 1 / 128, 0 if kind == "int8" else 128)
            more = {"options": ("LeakyRelu", {0: f(0.3)})} if name == "LEAKY_RELU" else {}
            yield f"{name} {kind}", one(name, quant(floats(2, 3, 5, scale=2), kind, 0.05, zero), results=[result], **more)
    yield "LOG int8", one("LOG", quant(positive(3, 5), scale=0.03, zero=-128), results=[quantized(scale=0.03, zero=10)])
    yield "RSQRT int8", one("RSQRT", quant(positive(3, 5), scale=0.03, zero=-128), results=[quantized(scale=0.02, zero=-128)])
    yield "PRELU int8", one("PRELU", quant(floats(1, 4, 4, 3)), Const(integers(-90, 90, 1, 1, 3), "int8", scale=0.01),
                            results=[quantized()])
    for a, c in (("float32", "int32"), ("int32", "float32"), ("float32", "uint8"), ("uint8", "float32"), ("int32", "int64"),
                 ("int64", "float32"), ("float32", "bool"), ("bool", "float32"), ("int32", "uint8"), ("float32", "int64"),
                 ("uint8", "int32"), ("int32", "int8"), ("float32", "float16"), ("float32", "int16"), ("int32", "uint32")):
        value = integers(0, 100, 3, 4) if a != "bool" else integers(0, 2, 3, 4)
        yield f"CAST {a} {c}", one("CAST", Fed(value, a) if a != "float32" else value.astype(np.float32) + 0.25, results=[c])
    yield "BUCKETIZE", one("BUCKETIZE", floats(3, 4, scale=3), results=["int32"],
                           options=("Bucketize", {0: ("vf", [-1.0, 0.0, 0.5, 2.0])}))


def binary_cases():
    shapes = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((3, 1), (2, 1, 5)), ((), (3,)), ((2, 1, 3, 1, 2), (4, 1, 5, 1))]
    for name in ("ADD", "SUB", "MUL", "DIV"):
        options = name.capitalize()
        for k, (x, y) in enumerate(shapes):
            yield f"{name} {k}", one(name, floats(*x), positive(*y), options=(options, {0: b(NONE)}))
        for activation in (RELU, RELU_N1_TO_1, RELU6):
            yield f"{name} activation {activation}", one(name, floats(3, 4, scale=4), positive(4),
                                                         options=(options, {0: b(activation)}))
        yield f"{name} constant", one(name, floats(3, 4), Const(positive(4)), options=(options, {0: b(NONE)}))
        yield f"{name} int32", one(name, integers(-50, 50, 3, 4), integers(1, 9, 4), results=["int32"],
                                   options=(options, {0: b(NONE)}))
        if name != "DIV":
            yield f"{name} int64", one(name, Fed(integers(-50, 50, 3, 4), "int64"), Fed(integers(1, 9, 4), "int64"),
                                       results=["int64"], options=(options, {0: b(NONE)}))
            yield f"{name} int8", one(name, quant(floats(2, 3, 4)), quant(floats(2, 3, 4), scale=0.03, zero=-5),
                                      results=[quantized(scale=0.07, zero=11)], options=(options, {0: b(NONE)}))
            yield f"{name} int8 relu", one(name, quant(floats(2, 3, 4)), quant(floats(4), scale=0.03, zero=-5),
                                           results=[quantized(scale=0.04, zero=-128)], options=(options, {0: b(RELU)}))
            yield f"{name} int8 relu6", one(name, quant(floats(2, 3, 4, scale=3), scale=0.08), quant(floats(1), scale=0.03),
                                            results=[quantized(scale=0.1, zero=-20)], options=(options, {0: b(RELU6)}))
            yield f"{name} int16", one(name, Fed(floats(2, 3, 4), "int16", 2e-4), Fed(floats(2, 3, 4), "int16", 1e-4),
                                       results=[Tensor("int16", scale=3e-4)],
                                       options=(options, {0: b(NONE), 1: B(False)} if name != "MUL" else {0: b(NONE)}))
        # Far from zero, which LiteRT divides to the least number.
        yield f"{name} uint8", one(name, quant(floats(2, 3, 4) + (4 if name == "DIV" else 0), "uint8", 0.05, 60),
                                   quant(positive(2, 3, 4) + 1, "uint8", 0.03, 5),
                                   results=[quantized("uint8", 0.07, 90)], options=(options, {0: b(NONE)}))
    yield "ADD_N", one("ADD_N", floats(3, 4), floats(3, 4), floats(3, 4), options=("AddN", {}))
    yield "ADD_N int32", one("ADD_N", integers(0, 9, 3), integers(0, 9, 3), results=["int32"])
    for name in ("MAXIMUM", "MINIMUM"):
        for k, (x, y) in enumerate(shapes[:4]):
            yield f"{name} {k}", one(name, floats(*x), floats(*y), options=("MaximumMinimum", {}))
        yield f"{name} int32", one(name, integers(-9, 9, 3, 4), integers(-9, 9, 4), results=["int32"])
        yield f"{name} int8", one(name, quant(floats(2, 3)), quant(floats(3)), results=[quantized()])
    yield "POW", one("POW", positive(3, 4), floats(4), options=("Pow", {}))
    yield "POW int32", one("POW", integers(-4, 5, 3, 4), integers(0, 4, 4), results=["int32"])
    a, c = integers(-3, 3, 4, 5), integers(-3, 3, 5)
    names = {"EQUAL": "Equal", "NOT_EQUAL": "NotEqual", "GREATER": "Greater", "GREATER_EQUAL": "GreaterEqual", "LESS": "Less",
             "LESS_EQUAL": "LessEqual"}
    for name, option in names.items():
        yield name, one(name, a.astype(np.float32), c.astype(np.float32), results=["bool"], options=(option, {}))
        yield f"{name} int32", one(name, a, c, results=["bool"])
        yield f"{name} int64", one(name, Fed(a, "int64"), Fed(c, "int64"), results=["bool"])
        yield f"{name} int8", one(name, quant(a * 0.5, scale=0.25, zero=0), quant(c * 0.5, scale=0.25, zero=0), results=["bool"])
    yield "EQUAL bool", one("EQUAL", Fed(a > 0, "bool"), Fed(c > 0, "bool"), results=["bool"])
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        yield name, one(name, Fed(a > 0, "bool"), Fed(c > 0, "bool"), results=["bool"])
    yield "SQUARED_DIFFERENCE", one("SQUARED_DIFFERENCE", floats(3, 4), floats(4), options=("SquaredDifference", {}))
    yield "SQUARED_DIFFERENCE int32", one("SQUARED_DIFFERENCE", a, c, results=["int32"])
    yield "SQUARED_DIFFERENCE int8", one("SQUARED_DIFFERENCE", quant(floats(3, 4)), quant(floats(3, 4), scale=0.04),
                                         results=[quantized(scale=0.1, zero=-128)])
    signed = np.where(c == 0, 2, c)
    for name in ("FLOOR_DIV", "FLOOR_MOD"):
        yield name, one(name, floats(3, 5, scale=4), signed.astype(np.float32))
        yield f"{name} int32", one(name, integers(-50, 50, 3, 5), signed, results=["int32"])
    yield "FLOOR_MOD int64", one("FLOOR_MOD", Fed(integers(-50, 50, 3, 5), "int64"), Fed(signed, "int64"), results=["int64"])
    yield "ATAN2", one("ATAN2", floats(4, 9), floats(4, 9), options=("ATan2", {}))
    edges = np.array([0, 0, 1, -1, 1, -1, 0.001, 1e6], np.float32)
    yield "ATAN2 edges", one("ATAN2", edges, edges[::-1].copy())
    yield "BITWISE_XOR", one("BITWISE_XOR", integers(-9000, 9000, 4, 5), integers(-9000, 9000, 4, 5), results=["int32"])
    yield "BITWISE_XOR int8", one("BITWISE_XOR", Fed(integers(-120, 120, 4, 5), "int8"), Fed(integers(-120, 120, 5), "int8"),
                                  results=["int8"])
    yield "BITWISE_XOR uint8", one("BITWISE_XOR", integers(0, 256, 9, dtype=np.uint8), integers(0, 256, 9, dtype=np.uint8),
                                   results=["uint8"])
    yield "RIGHT_SHIFT", one("RIGHT_SHIFT", integers(-5000, 5000, 4, 5), integers(0, 12, 4, 5), results=["int32"])
    yield "RIGHT_SHIFT int8", one("RIGHT_SHIFT", Fed(integers(-120, 120, 4, 5), "int8"), Fed(integers(0, 7, 4, 5), "int8"),
                                  results=["int8"])
    condition = Fed(integers(0, 2, 3, 4), "bool")
    yield "SELECT", one("SELECT", condition, floats(3, 4), floats(3, 4), options=("Select", {}))
    yield "SELECT rows", one("SELECT", Fed(integers(0, 2, 3), "bool"), floats(3, 4), floats(3, 4))
    yield "SELECT scalar", one("SELECT", Fed(np.array(1), "bool"), floats(3, 4), floats(3, 4))
    yield "SELECT_V2", one("SELECT_V2", Fed(integers(0, 2, 3, 1), "bool"), floats(4), floats(3, 4), options=("SelectV2", {}))
    yield "SELECT_V2 int32", one("SELECT_V2", condition, integers(0, 9, 3, 4), integers(0, 9, 1), results=["int32"])
    yield "SELECT int8", one("SELECT", condition, quant(floats(3, 4)), quant(floats(3, 4)), results=[quantized()])
    for name in ("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"):
        yield name, one(name, floats(3, 4), floats(3, 4))


# ---------------------------------------------------------------------------------------------------------------
# Movement
# ---------------------------------------------------------------------------------------------------------------


def reshape_cases():
    x = floats(2, 3, 4)
    yield "RESHAPE", one("RESHAPE", x, ints(4, 6), options=("Reshape", {0: ("vi", [4, 6])}))
    yield "RESHAPE rest", one("RESHAPE", x, ints(2, -1))
    yield "RESHAPE option", one("RESHAPE", x, options=("Reshape", {0: ("vi", [6, -1])}))
    single = floats(1, 1)
    yield "RESHAPE scalar", one("RESHAPE", single, Const(np.zeros(0, np.int32)), expected=[single[0, 0]])
    yield "RESHAPE int8", one("RESHAPE", quant(x), ints(3, 8), results=[quantized()])
    yield "SQUEEZE", one("SQUEEZE", floats(1, 3, 1, 4), options=("Squeeze", {0: ("vi", [])}))
    yield "SQUEEZE axes", one("SQUEEZE", floats(1, 3, 1, 4), options=("Squeeze", {0: ("vi", [-2])}))
    for axis in (0, 1, -1):
        yield f"EXPAND_DIMS {axis}", one("EXPAND_DIMS", x, ints(axis), options=("ExpandDims", {}))
    yield "TRANSPOSE", one("TRANSPOSE", x, ints(2, 0, 1), options=("Transpose", {}))
    yield "TRANSPOSE rank 4", one("TRANSPOSE", floats(2, 3, 4, 5), ints(0, 3, 1, 2))
    yield "TRANSPOSE int8", one("TRANSPOSE", quant(x), ints(1, 0, 2), results=[quantized()])
    column = floats(3, 1)
    yield "BROADCAST_TO", one("BROADCAST_TO", column, ints(2, 3, 4), options=("BroadcastTo", {}),
                              expected=[np.broadcast_to(column, (2, 3, 4))])
    for axis in (0, 1, -1):
        yield f"CONCATENATION {axis}", one("CONCATENATION", x, floats(2, 3, 4), floats(2, 3, 4),
                                           options=("Concatenation", {0: i(axis), 1: b(NONE)}))
    yield "CONCATENATION int8", one("CONCATENATION", quant(x), quant(x), results=[quantized()],
                                    options=("Concatenation", {0: i(1), 1: b(NONE)}))
    yield "CONCATENATION int8 scales", one("CONCATENATION", quant(x), quant(x, scale=0.05, zero=3), results=[quantized()],
                                           options=("Concatenation", {0: i(2), 1: b(NONE)}))
    yield "CONCATENATION uint8 scales", one("CONCATENATION", quant(x, "uint8", 0.05, 120), quant(x, "uint8", 0.02, 128),
                                            results=[quantized("uint8", 0.04, 110)],
                                            options=("Concatenation", {0: i(2), 1: b(NONE)}))
    yield "CONCATENATION int32", one("CONCATENATION", integers(0, 9, 2, 3), integers(0, 9, 2, 3), results=["int32"],
                                     options=("Concatenation", {0: i(1), 1: b(NONE)}))
    for axis in (0, 2, -1):
        yield f"PACK {axis}", one("PACK", x, floats(2, 3, 4), options=("Pack", {0: i(2), 1: i(axis)}))
    yield "PACK int32", one("PACK", integers(0, 9, 4), integers(0, 9, 4), results=["int32"],
                            options=("Pack", {0: i(2), 1: i(1)}))
    yield "UNPACK", one("UNPACK", x, results=["float32"] * 3, options=("Unpack", {0: i(3), 1: i(1)}))
    yield "UNPACK last", one("UNPACK", x, results=["float32"] * 4, options=("Unpack", {0: i(4), 1: i(-1)}))
    yield "SPLIT", one("SPLIT", ints(1), floats(2, 6, 2), results=["float32"] * 3, options=("Split", {0: i(3)}))
    yield "SPLIT last", one("SPLIT", ints(-1), floats(2, 6), results=["float32"] * 2, options=("Split", {0: i(2)}))
    yield "SPLIT_V", one("SPLIT_V", floats(2, 7), ints(1, 4, 2), ints(1), results=["float32"] * 3,
                         options=("SplitV", {0: i(3)}))
    yield "SPLIT_V rest", one("SPLIT_V", floats(2, 7), ints(1, -1), ints(-1), results=["float32"] * 2,
                              options=("SplitV", {0: i(2)}))
    yield "SLICE", one("SLICE", floats(4, 5, 6), ints(1, 0, 2), ints(2, -1, 3), options=("Slice", {}))
    yield "SLICE int8", one("SLICE", quant(floats(4, 5)), ints(1, 2), ints(2, 2), results=[quantized()])


def strided_slice_cases():
    def case(x, begin, end, strides, *masks, **more):
        fields = {k: i(mask) for k, mask in enumerate(masks)}
        return one("STRIDED_SLICE", x, ints(*begin), ints(*end), ints(*strides), options=("StridedSlice", fields),
                   version=8 if len(masks) > 2 and (masks[2] or masks[3]) else 1, **more)

    x = floats(4, 5, 6)
    yield "STRIDED_SLICE", case(x, (1, 0, 2), (3, 5, 6), (1, 2, 3))
    yield "STRIDED_SLICE negative", case(x, (3, -1, 4), (0, 0, 1), (-1, -2, -1))
    yield "STRIDED_SLICE masks", case(x, (1, 2, 3), (2, 3, 4), (1, 1, 2), 0b101, 0b011)
    yield "STRIDED_SLICE back masks", case(x, (1, 2, 3), (2, 3, 4), (-1, -1, -2), 0b101, 0b011)
    yield "STRIDED_SLICE shrink", case(x, (1, 0, -1), (2, 5, 6), (1, 1, 1), 0, 0, 0, 0, 0b101)
    yield "STRIDED_SLICE few", case(x, (1,), (3,), (1,))
    yield "STRIDED_SLICE beyond", case(x, (-9, 1, 2), (9, 99, -1), (1, 1, 1))
    yield "STRIDED_SLICE new axis", case(floats(4, 5), (0, 1, 0), (0, 3, 4), (1, 1, 1), 0, 0, 0, 0b001, 0)
    yield "STRIDED_SLICE ellipsis", case(floats(3, 4, 5), (0, 1), (0, 4), (1, 2), 0, 0, 0b01, 0, 0)
    yield "STRIDED_SLICE ellipsis shrink", case(floats(3, 4, 5), (1, 0, 1), (2, 0, 2), (1, 1, 1), 0, 0, 0b010, 0, 0b101)
    yield "STRIDED_SLICE int8", case(quant(floats(4, 5)), (0, 1), (4, 4), (2, 1), results=[quantized()])
    yield "STRIDED_SLICE int32", case(integers(0, 99, 9), (7,), (1,), (-2,), results=["int32"])


def padding_cases():
    x = floats(2, 3, 4)
    pads = Const(np.array([[1, 0], [0, 2], [1, 3]], np.int32))
    yield "PAD", one("PAD", x, pads, options=("Pad", {}))
    yield "PAD rank 4", one("PAD", floats(1, 4, 4, 2), Const(np.array([[0, 0], [1, 2], [3, 0], [0, 0]], np.int32)))
    yield "PAD int8", one("PAD", quant(x), pads, results=[quantized()])
    yield "PADV2", one("PADV2", x, pads, Const(np.float32(1.5)), options=("PadV2", {}))
    yield "PADV2 int8", one("PADV2", quant(x), pads, Const(np.int8(17), "int8", scale=0.05, zero=3), results=[quantized()])
    for mode, name in enumerate(("reflect", "symmetric")):
        yield f"MIRROR_PAD {name}", one("MIRROR_PAD", x, Const(np.array([[1, 0], [2, 1], [3, 2]], np.int32)),
                                        options=("MirrorPad", {0: b(mode)}))
    yield "TILE", one("TILE", x, ints(2, 1, 3), options=("Tile", {}))
    yield "TILE int32", one("TILE", integers(0, 9, 2, 2), ints(2, 2), results=["int32"])
    yield "REVERSE_V2", one("REVERSE_V2", x, ints(1), options=("ReverseV2", {}))
    yield "REVERSE_V2 two", one("REVERSE_V2", x, ints(1, 2))
    yield "REVERSE_SEQUENCE", one("REVERSE_SEQUENCE", floats(3, 5, 2), Const(np.array([2, 5, 1], np.int32)),
                                  options=("ReverseSequence", {0: i(1), 1: i(0)}))
    yield "REVERSE_SEQUENCE time first", one("REVERSE_SEQUENCE", floats(5, 3, 2), integers(1, 6, 3),
                                             options=("ReverseSequence", {0: i(0), 1: i(1)}))
    for size in (2, 3):
        yield f"SPACE_TO_DEPTH {size}", one("SPACE_TO_DEPTH", floats(2, 6, 6, 3), options=("SpaceToDepth", {0: i(size)}))
        yield f"DEPTH_TO_SPACE {size}", one("DEPTH_TO_SPACE", floats(2, 2, 3, 2 * size * size),
                                            options=("DepthToSpace", {0: i(size)}))
    yield "DEPTH_TO_SPACE int8", one("DEPTH_TO_SPACE", quant(floats(1, 2, 2, 8)), results=[quantized()],
                                     options=("DepthToSpace", {0: i(2)}))
    crops = Const(np.array([[1, 1], [0, 2]], np.int32))
    yield "SPACE_TO_BATCH_ND", one("SPACE_TO_BATCH_ND", floats(2, 4, 4, 3), ints(2, 3), crops, options=("SpaceToBatchND", {}))
    yield "SPACE_TO_BATCH_ND rank 3", one("SPACE_TO_BATCH_ND", floats(2, 6, 3), ints(2), Const(np.array([[1, 1]], np.int32)))
    yield "SPACE_TO_BATCH_ND int8", one("SPACE_TO_BATCH_ND", quant(floats(1, 4, 4, 2)), ints(2, 3), crops,
                                        results=[quantized()])
    yield "BATCH_TO_SPACE_ND", one("BATCH_TO_SPACE_ND", floats(12, 3, 3, 2), ints(2, 3), crops, options=("BatchToSpaceND", {}))
    yield "BATCH_TO_SPACE_ND rank 3", one("BATCH_TO_SPACE_ND", floats(4, 3, 2), ints(2), Const(np.array([[1, 0]], np.int32)))
    yield "DILATE", one("DILATE", floats(3, 4), ints(2, 3), Const(np.float32(-1)))
    yield "MATRIX_DIAG", one("MATRIX_DIAG", floats(2, 4), options=("MatrixDiag", {}))
    yield "MATRIX_SET_DIAG", one("MATRIX_SET_DIAG", floats(2, 4, 4), floats(2, 4), options=("MatrixSetDiag", {}))
    yield "MATRIX_SET_DIAG wide", one("MATRIX_SET_DIAG", floats(2, 3, 5), floats(2, 3))
    yield "MATRIX_SET_DIAG tall", one("MATRIX_SET_DIAG", floats(2, 5, 3), floats(2, 3))
    for name, start in (("known", ints(1, 2, 0)), ("computed", np.array([1, 2, 0], np.int32)),
                        ("clamped", np.array([9, -3, 1], np.int32))):
        yield f"DYNAMIC_UPDATE_SLICE {name}", one("DYNAMIC_UPDATE_SLICE", floats(4, 5, 3), floats(2, 1, 3), start,
                                                  options=("DynamicUpdateSlice", {}))


def shape_cases():
    # LiteRT.js does not give what is known before it computes: the first result of these is that of another operator.
    def known(expected, op, *inputs, **more):
        model = one(op, *inputs, **more)
        model.expected = [np.maximum(next(iter(model.feeds.values())), 0), np.asarray(expected)]
        return model

    x, condition = floats(2, 3, 4), integers(0, 2, 3, 4)
    yield "SHAPE", known(np.int32([2, 3, 4]), "SHAPE", x, results=["int32"], options=("Shape", {0: b(2)}))
    yield "SHAPE int64", known(np.int32([2, 3, 4]), "SHAPE", x, results=["int64"], options=("Shape", {0: b(4)}))
    yield "RANK", known(np.int32(3), "RANK", x, results=["int32"], options=("Rank", {}))
    yield "ZEROS_LIKE", known(np.zeros((2, 3, 4), np.float32), "ZEROS_LIKE", x, options=("ZerosLike", {}))
    yield "ZEROS_LIKE int32", known(np.zeros(3, np.int32), "ZEROS_LIKE", integers(0, 9, 3), results=["int32"])
    yield "FILL", one("FILL", ints(2, 3), np.float32(2.5), options=("Fill", {}))
    yield "FILL int32", known(np.full(4, 7, np.int32), "FILL", ints(4), Const(np.int32(7)), results=["int32"])
    yield "RANGE", known(np.int32([2, 5, 8]), "RANGE", Const(np.int32(2)), Const(np.int32(11)), Const(np.int32(3)),
                         results=["int32"], options=("Range", {}))
    yield "RANGE float", known(np.float32([1, 0.75, 0.5, 0.25]), "RANGE", Const(np.float32(1)), Const(np.float32(0)),
                               Const(np.float32(-0.25)))
    yield "WHERE", known(np.argwhere(condition).astype(np.int32), "WHERE", Const(condition == 1), results=["int64"],
                         options=("Where", {}))
    yield "WHERE float", known(np.argwhere(condition[0]).astype(np.int32), "WHERE", Const(condition[0].astype(np.float32)),
                               results=["int64"])
    yield "BROADCAST_ARGS", known(np.int32([2, 3, 4]), "BROADCAST_ARGS", ints(2, 1, 4), ints(3, 1), results=["int32"])
    dense = np.full((3, 4), -1, np.float32)
    dense[0, 1], dense[2, 3] = 5, 7
    yield "SPARSE_TO_DENSE", known(dense, "SPARSE_TO_DENSE", Const(np.array([[0, 1], [2, 3]], np.int32)), ints(3, 4),
                                   Const(np.array([5, 7], np.float32)), Const(np.float32(-1)),
                                   options=("SparseToDense", {0: B(False)}))
    yield "SPARSE_TO_DENSE scalar", one("SPARSE_TO_DENSE", ints(1, 3), ints(5), np.float32(2), Const(np.float32(0)),
                                        options=("SparseToDense", {0: B(False)}))
    model = Model()
    graph = model.graphs[0]
    value = floats(2, 3, 4)
    x = model.feed(value)
    shape = graph.op("SHAPE", [x], Tensor("int32", (3,)), options=("Shape", {0: b(2)}))
    part = graph.op("STRIDED_SLICE", [shape, np.int32([1]), np.int32([2]), np.int32([1])], Tensor("int32"),
                    options=("StridedSlice", {4: i(1)}))
    packed = graph.op("PACK", [part, np.int32(-1)], Tensor("int32"), options=("Pack", {0: i(2), 1: i(0)}))
    model.take(graph.op("RESHAPE", [x, packed]))
    model.expected = [value.reshape(3, -1)]
    yield "shape arithmetic", model


# ---------------------------------------------------------------------------------------------------------------
# Indices
# ---------------------------------------------------------------------------------------------------------------


def gather_cases():
    x = floats(4, 5, 6)
    for axis in (0, 1, -1):
        yield f"GATHER {axis}", one("GATHER", x, integers(0, 4, 2, 3), options=("Gather", {0: i(axis)}))
    yield "GATHER scalar", one("GATHER", x, Const(np.int32(2)), options=("Gather", {0: i(1)}))
    yield "GATHER int64", one("GATHER", x, Fed(integers(0, 4, 7), "int64"), options=("Gather", {0: i(0)}))
    yield "GATHER int8", one("GATHER", quant(x), integers(0, 4, 3), results=[quantized()], options=("Gather", {0: i(0)}))
    yield "GATHER int32", one("GATHER", integers(0, 99, 5, 2), integers(0, 5, 3), results=["int32"],
                              options=("Gather", {0: i(0)}))
    yield "GATHER batch 1", one("GATHER", floats(3, 5, 6), integers(0, 5, 3, 2), options=("Gather", {0: i(1), 1: i(1)}))
    yield "GATHER batch 2", one("GATHER", floats(2, 3, 5, 4), integers(0, 5, 2, 3, 2), options=("Gather", {0: i(2), 1: i(2)}))
    yield "GATHER batch before", one("GATHER", floats(2, 3, 5, 4), integers(0, 5, 2, 3, 2),
                                     options=("Gather", {0: i(2), 1: i(1)}))
    yield "GATHER_ND", one("GATHER_ND", x, Const(np.array([[0, 1], [3, 4]], np.int32)), options=("GatherNd", {}))
    yield "GATHER_ND deep", one("GATHER_ND", x, np.array([[[0, 1, 5]], [[3, 4, 2]]], np.int32))
    yield "GATHER_ND int8", one("GATHER_ND", quant(x), np.array([[0], [3]], np.int32), results=[quantized()])
    yield "SCATTER_ND", one("SCATTER_ND", Const(np.array([[4], [1]], np.int32)), floats(2, 3), ints(6, 3),
                            options=("ScatterNd", {}))
    yield "SCATTER_ND duplicates", one("SCATTER_ND", Const(np.array([[1], [4], [1]], np.int32)), floats(3, 3), ints(6, 3))
    yield "SCATTER_ND computed", one("SCATTER_ND", np.array([[1, 2], [0, 1], [1, 2]], np.int32), floats(3, 4), ints(2, 3, 4))
    yield "SCATTER_ND int32", one("SCATTER_ND", np.array([[3], [0]], np.int32), integers(0, 99, 2), ints(5), results=["int32"])
    for axis in (0, -1, 1):
        yield f"ONE_HOT {axis}", one("ONE_HOT", integers(-1, 5, 2, 3), Const(np.int32(4)), Const(np.float32(2)),
                                      Const(np.float32(-1)),
                                     options=("OneHot", {0: i(axis)}))
    yield "ONE_HOT int32", one("ONE_HOT", integers(0, 3, 4), Const(np.int32(3)), Const(np.int32(1)), Const(np.int32(0)),
                               results=["int32"], options=("OneHot", {0: i(-1)}))
    yield "EMBEDDING_LOOKUP", one("EMBEDDING_LOOKUP", integers(0, 7, 5), Const(floats(7, 4)))
    yield "EMBEDDING_LOOKUP hybrid", one("EMBEDDING_LOOKUP", integers(0, 7, 5),
                                         Const(integers(-127, 128, 7, 4), "int8", scale=0.02))
    yield "EMBEDDING_LOOKUP rows", one("EMBEDDING_LOOKUP", integers(0, 7, 5),
                                       Const(integers(-127, 128, 7, 4), "int8", scale=positive(7) / 50))
    for k in (1, 3, 10):
        yield f"TOPK_V2 {k}", one("TOPK_V2", floats(3, 10), Const(np.int32(k)), results=["float32", "int32"],
                                  options=("TopKV2", {}))
    yield "TOPK_V2 ties", one("TOPK_V2", integers(0, 3, 2, 9), Const(np.int32(5)), results=["int32", "int32"])
    yield "TOPK_V2 many", one("TOPK_V2", floats(400), Const(np.int32(20)), results=["float32", "int32"])
    yield "TOPK_V2 int8", one("TOPK_V2", quant(floats(2, 30)), Const(np.int32(4)), results=[quantized(), "int32"])
    ids = np.array([0, 0, 1, 2, 2], np.int32)
    for value in (floats(5, 3), integers(0, 9, 5, 2, 2)):
        expected = np.stack([value[ids == k].sum(axis=0) for k in range(3)]).astype(value.dtype)
        yield f"SEGMENT_SUM {value.dtype.name}", one("SEGMENT_SUM", value, Const(ids), results=[value.dtype.name],
                                                     options=("SegmentSum", {}), expected=[expected])
    mixed = np.array([2, 0, 2, 1, 0], np.int32)
    for name, reduce in (("SUM", np.sum), ("PROD", np.prod), ("MAX", np.max), ("MIN", np.min)):
        for value in (floats(5, 3), integers(-9, 9, 5, 2)):
            expected = np.stack([reduce(value[mixed == k], axis=0) for k in range(3)]).astype(value.dtype)
            yield f"UNSORTED_SEGMENT_{name} {value.dtype.name}", one(
                f"UNSORTED_SEGMENT_{name}", value, mixed, Const(np.int32(3)), results=[value.dtype.name],
                options=(f"UnsortedSegment{name.capitalize()}", {}), expected=[expected])


# ---------------------------------------------------------------------------------------------------------------
# Convolutions, pools, products
# ---------------------------------------------------------------------------------------------------------------


def conv_options(padding=SAME, strides=(1, 1), activation=NONE, dilations=(1, 1)):
    return ("Conv2D", {0: b(padding), 1: i(strides[1]), 2: i(strides[0]), 3: b(activation), 4: i(dilations[1]),
                       5: i(dilations[0])})


def depthwise_options(padding=SAME, strides=(1, 1), multiplier=1, activation=NONE, dilations=(1, 1)):
    return ("DepthwiseConv2D", {0: b(padding), 1: i(strides[1]), 2: i(strides[0]), 3: i(multiplier), 4: b(activation),
                                5: i(dilations[1]), 6: i(dilations[0])})


def conv_cases():
    variants = [(SAME, (1, 1), NONE, (1, 1)), (VALID, (1, 1), RELU, (1, 1)), (SAME, (2, 2), RELU6, (1, 1)),
                (VALID, (2, 3), NONE, (1, 1)), (SAME, (1, 1), RELU_N1_TO_1, (2, 2)), (VALID, (1, 1), NONE, (1, 2)),
                (SAME, (3, 2), NONE, (1, 1))]
    for k, variant in enumerate(variants):
        yield f"CONV_2D {k}", one("CONV_2D", floats(2, 9, 8, 3), Const(floats(5, 3, 3, 3)), Const(floats(5)),
                                  options=conv_options(*variant))
    x, w = floats(1, 2, 2, 3), floats(4, 1, 1, 3)
    yield "CONV_2D no bias", one("CONV_2D", x, Const(w), options=conv_options(), expected=[x @ w[:, 0, 0].T])
    yield "CONV_2D 1x1", one("CONV_2D", floats(1, 5, 5, 8), Const(floats(16, 1, 1, 8)), Const(floats(16)),
                             options=conv_options())
    yield "CONV_2D groups", one("CONV_2D", floats(1, 5, 5, 6), Const(floats(4, 3, 3, 3)), Const(floats(4)),
                                options=conv_options(), version=6)
    yield "CONV_2D computed", one("CONV_2D", floats(1, 5, 5, 2), floats(3, 3, 3, 2), Const(floats(3)), options=conv_options())
    for k, (padding, strides, activation, dilations) in enumerate(variants):
        if strides[0] != strides[1]:
            continue
        for multiplier in (1, 2):
            yield f"DEPTHWISE_CONV_2D {k} times {multiplier}", one(
                "DEPTHWISE_CONV_2D", floats(2, 9, 8, 4), Const(floats(1, 3, 3, 4 * multiplier)), Const(floats(4 * multiplier)),
                options=depthwise_options(padding, strides, multiplier, activation, dilations))
    yield "DEPTHWISE_CONV_2D one channel", one("DEPTHWISE_CONV_2D", floats(1, 6, 6, 1), Const(floats(1, 5, 5, 8)),
                                               Const(floats(8)), options=depthwise_options(multiplier=8))
    # Quantized.
    for kind, zero, out in (("int8", 4, -10), ("uint8", 120, 110)):
        for channels in ([None, 6] if kind == "int8" else [None]):
            x = quant(floats(1, 7, 8, 3), kind, 0.03, zero)
            w = quantized_weights((6, 3, 3, 3), kind, channels, zero=0 if kind == "int8" else 125)
            name = f"{kind} {'channels' if channels else 'tensor'}"
            yield f"CONV_2D {name}", one("CONV_2D", x, w, quantized_bias(w, 0.03), results=[quantized(kind, 0.1, out)],
                                         options=conv_options(SAME, (2, 2)))
            yield f"CONV_2D relu6 {name}", one("CONV_2D", x, w, quantized_bias(w, 0.03),
                                               results=[quantized(kind, 6 / 255, -128 if kind == "int8" else 0)],
                                               options=conv_options(VALID, activation=RELU6))
            w = quantized_weights((1, 3, 3, 6), kind, channels, 3, zero=0 if kind == "int8" else 125)
            yield f"DEPTHWISE_CONV_2D {name}", one("DEPTHWISE_CONV_2D", x, w, quantized_bias(w, 0.03),
                                                   results=[quantized(kind, 0.08, out)],
                                                   options=depthwise_options(SAME, (1, 1), 2, RELU))
    w = quantized_weights((6, 3, 3, 3), "int8", 6)
    yield "CONV_2D int16", one("CONV_2D", Fed(floats(1, 7, 8, 3), "int16", 1e-4), w, quantized_bias(w, 1e-4, True),
                               results=[Tensor("int16", scale=5e-4)], options=conv_options(), steps=2)
    yield "CONV_2D float16", float16_weights()


def float16_weights():
    model = Model()
    graph = model.graphs[0]
    w = graph.op("DEQUANTIZE", [graph.const(floats(4, 3, 3, 2), "float16")], Tensor("float32", (4, 3, 3, 2)))
    bias = graph.op("DEQUANTIZE", [graph.const(floats(4), "float16")], Tensor("float32", (4,)))
    model.take(graph.op("CONV_2D", [model.feed(floats(1, 5, 5, 2)), w, bias], "float32", options=conv_options()))
    return model


def transpose_conv_cases():
    def options(padding, stride, activation=NONE):
        return ("TransposeConv", {0: b(padding), 1: i(stride[1]), 2: i(stride[0]), 3: b(activation)})

    for k, (padding, stride, kernel, out) in enumerate([
            (SAME, (2, 2), (3, 3), (10, 8)), (SAME, (2, 2), (3, 3), (9, 7)), (VALID, (2, 2), (3, 3), (11, 9)),
            (SAME, (1, 1), (3, 2), (5, 4)), (VALID, (1, 2), (2, 2), (6, 8)), (SAME, (2, 2), (2, 2), (10, 8)),
            (SAME, (2, 2), (4, 4), (10, 8)), (VALID, (3, 3), (2, 2), (14, 11))]):
        yield f"TRANSPOSE_CONV {k}", one("TRANSPOSE_CONV", ints(1, *out, 6), Const(floats(6, *kernel, 3)), floats(1, 5, 4, 3),
                                         options=options(padding, stride))
        yield f"TRANSPOSE_CONV {k} bias", one("TRANSPOSE_CONV", ints(1, *out, 6), Const(floats(6, *kernel, 3)),
                                              floats(1, 5, 4, 3), Const(floats(6)), options=options(padding, stride), version=3)
    w = quantized_weights((6, 3, 3, 3), "int8", 6)
    yield "TRANSPOSE_CONV int8", one("TRANSPOSE_CONV", ints(1, 10, 8, 6), w, quant(floats(1, 5, 4, 3), scale=0.03),
                                     quantized_bias(w, 0.03), results=[quantized(scale=0.1)], options=options(SAME, (2, 2)),
                                     version=3)
    for k, (padding, stride, size) in enumerate([(1, (2, 2), (4, 4)), (1, (2, 2), (3, 3)), (1, (2, 2), (2, 2)),
                                                 (2, (2, 2), (2, 2)), (2, (2, 2), (3, 3)), (1, (1, 1), (3, 3))]):
        model = Model()
        graph = model.graphs[0]
        x = model.feed(floats(1, 5, 4, 3))
        made = graph.op("CUSTOM", [x, floats(6, *size, 3), floats(6)], "float32",
                        custom=("Convolution2DTransposeBias", struct.pack("<iii", padding, stride[1], stride[0])))
        model.take(made)
        yield f"Convolution2DTransposeBias {k}", model


def conv_3d_cases():
    def options(padding, strides=(1, 1, 1), activation=NONE, dilations=(1, 1, 1)):
        return ("Conv3D", {0: b(padding), 1: i(strides[0]), 2: i(strides[2]), 3: i(strides[1]), 4: b(activation),
                           5: i(dilations[0]), 6: i(dilations[2]), 7: i(dilations[1])})

    for k, variant in enumerate([(SAME,), (VALID, (1, 1, 1), RELU), (SAME, (2, 1, 2)), (VALID, (1, 1, 1), NONE, (2, 1, 2))]):
        yield f"CONV_3D {k}", one("CONV_3D", floats(1, 6, 5, 7, 2), Const(floats(3, 2, 3, 2, 4)), Const(floats(4)),
                                  options=options(*variant))
    for k, (padding, strides, size, out) in enumerate([
            (SAME, (1, 1, 1), (3, 3, 3), (3, 4, 5)), (SAME, (2, 2, 2), (3, 2, 3), (6, 8, 10)),
            (VALID, (1, 1, 1), (3, 2, 3), (5, 5, 7)), (VALID, (2, 1, 2), (3, 2, 3), (7, 5, 11))]):
        yield f"CONV_3D_TRANSPOSE {k}", one("CONV_3D_TRANSPOSE", ints(1, *out, 4), Const(floats(*size, 4, 2)),
                                            floats(1, 3, 4, 5, 2), options=options(padding, strides))
    # Of a filter that is as deep as it is not wide LiteRT takes other padding.
    x, w = floats(1, 3, 1, 1, 1), floats(3, 1, 1, 1, 1)
    yield "CONV_3D_TRANSPOSE deep", one("CONV_3D_TRANSPOSE", ints(1, 3, 1, 1, 1), Const(w), x, options=options(SAME),
                                        expected=[np.convolve(x.ravel(), w.ravel(), "same").reshape(x.shape)])


def pool_cases():
    def options(padding, strides, size, activation=NONE):
        return ("Pool2D", {0: b(padding), 1: i(strides[1]), 2: i(strides[0]), 3: i(size[1]), 4: i(size[0]), 5: b(activation)})

    variants = [(SAME, (1, 1), (3, 3)), (VALID, (2, 2), (2, 2)), (SAME, (2, 2), (3, 2)), (SAME, (2, 2), (2, 2), RELU),
                (VALID, (1, 2), (3, 1), RELU6), (VALID, (1, 1), (7, 9))]
    for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
        for k, variant in enumerate(variants):
            yield f"{name} {k}", one(name, floats(2, 7, 9, 3), options=options(*variant))
        if name == "L2_POOL_2D":
            continue
        for kind, zero in (("int8", 3), ("uint8", 120)):
            for k, variant in enumerate(variants[:4]):
                yield f"{name} {kind} {k}", one(name, quant(floats(1, 7, 9, 3), kind, 0.03, zero),
                                                results=[quantized(kind, 0.03, zero)], options=options(*variant))
    for name, option, first in (("RESIZE_BILINEAR", "ResizeBilinear", 2), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor", 0)):
        for corners, centers in ((False, False), (True, False), (False, True)):
            fields = {first: B(corners), first + 1: B(centers)}
            for size in ((10, 14), (3, 4), (5, 21), (1, 1)):
                yield f"{name} {int(corners)}{int(centers)} {size}", one(name, floats(2, 5, 7, 3), ints(*size),
                                                                         options=(option, fields), version=3)
        yield f"{name} int8", one(name, quant(floats(1, 5, 7, 3)), ints(10, 14), results=[quantized()], options=(option, {}),
                                  version=2)


def product_cases():
    def options(activation=NONE, keep=False):
        return ("FullyConnected", {0: b(activation), 2: B(keep)})

    w = Const(floats(6, 8))
    yield "FULLY_CONNECTED", one("FULLY_CONNECTED", floats(3, 8), w, Const(floats(6)), options=options())
    yield "FULLY_CONNECTED no bias", one("FULLY_CONNECTED", floats(3, 8), w, None, options=options(RELU), version=6)
    yield "FULLY_CONNECTED rank 4", one("FULLY_CONNECTED", floats(2, 2, 2, 4), w, Const(floats(6)), options=options(RELU6))
    yield "FULLY_CONNECTED keep", one("FULLY_CONNECTED", floats(2, 3, 8), w, Const(floats(6)), options=options(NONE, True),
                                      version=5)
    yield "FULLY_CONNECTED rank 1", one("FULLY_CONNECTED", floats(8), w, Const(floats(6)), options=options())
    yield "FULLY_CONNECTED computed", one("FULLY_CONNECTED", floats(3, 8), floats(6, 8), Const(floats(6)), options=options())
    for kind, zero, out in (("int8", 4, -10), ("uint8", 120, 110)):
        w = quantized_weights((6, 8), kind, zero=0 if kind == "int8" else 125)
        yield f"FULLY_CONNECTED {kind}", one("FULLY_CONNECTED", quant(floats(3, 8), kind, 0.03, zero), w,
                                             quantized_bias(w, 0.03), results=[quantized(kind, 0.05, out)],
                                             options=options(), version=4)
    w = quantized_weights((6, 8), "int8", 6)
    yield "FULLY_CONNECTED int8 channels", one("FULLY_CONNECTED", quant(floats(3, 8), scale=0.03), w, quantized_bias(w, 0.03),
                                               results=[quantized()], options=options(RELU), version=12)
    w = quantized_weights((6, 8), "int4", 6)
    yield "FULLY_CONNECTED int4", one("FULLY_CONNECTED", quant(floats(3, 8), scale=0.03), w, quantized_bias(w, 0.03),
                                      results=[quantized(scale=0.01)], options=options(), version=10)
    for kind, channels in (("int8", None), ("int8", 6), ("int4", 6)):
        w = quantized_weights((6, 8), kind, channels)
        yield f"FULLY_CONNECTED hybrid {kind} {'channels' if channels else 'tensor'}", one(
            "FULLY_CONNECTED", floats(3, 8), w, Const(floats(6)), options=options(), version=12), 0.02
    for x_flag, y_flag in ((False, False), (True, False), (False, True), (True, True)):
        a = floats(2, 5, 3) if x_flag else floats(2, 3, 5)
        c = floats(2, 4, 5) if y_flag else floats(2, 5, 4)
        yield f"BATCH_MATMUL {int(x_flag)}{int(y_flag)}", one("BATCH_MATMUL", a, c,
                                                              options=("BatchMatMul", {0: B(x_flag), 1: B(y_flag)}))
    yield "BATCH_MATMUL broadcast", one("BATCH_MATMUL", floats(3, 1, 4, 5), floats(2, 5, 2), options=("BatchMatMul", {}))
    yield "BATCH_MATMUL constant", one("BATCH_MATMUL", floats(2, 4, 5), Const(floats(5, 3)), options=("BatchMatMul", {}))
    yield "BATCH_MATMUL int8", one("BATCH_MATMUL", quant(floats(2, 4, 5)), quant(floats(2, 5, 3), scale=0.02, zero=0),
                                   results=[quantized(scale=0.1)], options=("BatchMatMul", {}), version=2)


def normalization_cases():
    for beta in (1.0, 0.5):
        yield f"SOFTMAX {beta}", one("SOFTMAX", floats(3, 7, scale=3), options=("Softmax", {0: f(beta)}))
    yield "SOFTMAX rank 4", one("SOFTMAX", floats(2, 3, 2, 5), options=("Softmax", {0: f(1)}))
    yield "SOFTMAX int8", one("SOFTMAX", quant(floats(3, 7, scale=2)), results=[quantized(scale=1 / 256, zero=-128)],
                              options=("Softmax", {0: f(1)}))
    yield "SOFTMAX uint8", one("SOFTMAX", quant(floats(3, 7, scale=2), "uint8", 0.05, 120),
                               results=[quantized("uint8", 1 / 256, 0)], options=("Softmax", {0: f(1)}))
    yield "LOG_SOFTMAX", one("LOG_SOFTMAX", floats(3, 7, scale=3), options=("LogSoftmax", {}))
    yield "LOG_SOFTMAX int8", one("LOG_SOFTMAX", quant(floats(3, 7)), results=[quantized(scale=16 / 256, zero=127)])
    yield "L2_NORMALIZATION", one("L2_NORMALIZATION", floats(3, 7), options=("L2Norm", {0: b(NONE)}))
    yield "L2_NORMALIZATION rank 4", one("L2_NORMALIZATION", floats(1, 2, 3, 4), options=("L2Norm", {0: b(NONE)}))
    yield "L2_NORMALIZATION zero", one("L2_NORMALIZATION", np.zeros((2, 3), np.float32), options=("L2Norm", {0: b(NONE)}))
    yield "L2_NORMALIZATION int8", one("L2_NORMALIZATION", quant(floats(3, 7)), results=[quantized(scale=1 / 128, zero=0)],
                                       options=("L2Norm", {0: b(NONE)}))
    for radius, bias, alpha, beta in ((2, 1.0, 0.5, 0.75), (20, 2.0, 0.1, 0.5)):
        yield f"LOCAL_RESPONSE_NORMALIZATION {radius}", one(
            "LOCAL_RESPONSE_NORMALIZATION", floats(1, 2, 3, 9),
            options=("LocalResponseNormalization", {0: i(radius), 1: f(bias), 2: f(alpha), 3: f(beta)}))


def reduction_cases():
    def options(keep):
        return ("Reducer", {0: B(keep)})

    x = (floats(2, 3, 4, 5) * 0.5 + 1).astype(np.float32)
    for name in ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"):
        for axes in ((1,), (1, 2), (-1, 0), (0, 1, 2, 3)):
            for keep in (False, True):
                yield f"{name} {axes} {int(keep)}", one(name, x, ints(*axes), options=options(keep))
        yield f"{name} scalar axis", one(name, x, Const(np.int32(2)), options=options(False))
        yield f"{name} int32", one(name, integers(-5, 6, 3, 4), ints(1), results=["int32"], options=options(False))
    yield "SUM int64", one("SUM", Fed(integers(-5, 6, 3, 4), "int64"), ints(1), results=["int64"], options=options(False))
    for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        result = quantized() if name != "SUM" else quantized(scale=0.2)
        yield f"{name} int8", one(name, quant(floats(1, 4, 4, 3)), ints(1, 2), results=[result], options=options(True))
        yield f"{name} uint8", one(name, quant(floats(1, 4, 4, 3), "uint8", 0.05, 120), ints(1, 2),
                                   results=[quantized("uint8", 0.05 if name != "SUM" else 0.2, 120)], options=options(False))
    for name in ("REDUCE_ANY", "REDUCE_ALL"):
        for axes in ((1,), (0, 1)):
            yield f"{name} {axes}", one(name, Fed(integers(0, 2, 3, 2), "bool"), ints(*axes), results=["bool"],
                                        options=options(False))
    for name, option in (("ARG_MAX", "ArgMax"), ("ARG_MIN", "ArgMin")):
        for axis in (0, 1, -1):
            yield f"{name} {axis}", one(name, floats(3, 4, 5), Const(np.int32(axis)), results=["int32"],
                                        options=(option, {0: b(2)}))
        yield f"{name} int64", one(name, floats(3, 4), Const(np.int32(1)), results=["int64"], options=(option, {0: b(4)}))
        yield f"{name} int8", one(name, quant(floats(3, 9)), Const(np.int32(1)), results=["int32"], options=(option, {0: b(2)}))
        yield f"{name} int32", one(name, integers(0, 3, 3, 9), Const(np.int32(1)), results=["int32"],
                                   options=(option, {0: b(2)}))
    for exclusive in (False, True):
        for reverse in (False, True):
            yield f"CUMSUM {int(exclusive)}{int(reverse)}", one("CUMSUM", floats(3, 4), Const(np.int32(1)),
                                                                options=("Cumsum", {0: B(exclusive), 1: B(reverse)}))
    yield "CUMSUM int32", one("CUMSUM", integers(0, 9, 3, 4), Const(np.int32(0)), results=["int32"], options=("Cumsum", {}))


# ---------------------------------------------------------------------------------------------------------------
# Quantization
# ---------------------------------------------------------------------------------------------------------------


def quantization_cases():
    x = floats(3, 9)
    for kind, zero in (("int8", 3), ("uint8", 120), ("int16", 0)):
        scale = 2e-4 if kind == "int16" else 0.05
        yield f"QUANTIZE {kind}", one("QUANTIZE", x, results=[quantized(kind, scale, zero)], options=("Quantize", {}))
    yield "QUANTIZE requantize", one("QUANTIZE", quant(x), results=[quantized(scale=0.03, zero=-7)])
    yield "QUANTIZE int8 to uint8", one("QUANTIZE", quant(x), results=[quantized("uint8", 0.05, 131)])
    for low, high, bits, narrow in ((-3.0, 3.0, 8, False), (-0.7, 5.0, 8, False), (0.0, 6.0, 4, False), (-1.0, 1.0, 3, False)):
        yield f"FAKE_QUANT {low} {high} {bits}", one(
            "FAKE_QUANT", floats(3, 9, scale=3), options=("FakeQuant", {0: f(low), 1: f(high), 2: i(bits), 3: B(narrow)}))
    # A dequantized constant.
    for kind, channels in (("int8", None), ("uint8", None), ("int8", 4)):
        model = Model()
        graph = model.graphs[0]
        w = quantized_weights((3, 4), kind, channels, 1, zero=0 if kind == "int8" else 125)
        made = graph.op("DEQUANTIZE", [graph.const(w.data, kind, **w.more)], "float32")
        model.take(graph.op("ADD", [model.feed(floats(3, 4)), made], "float32", options=("Add", {0: b(NONE)})))
        yield f"DEQUANTIZE {kind} {'channels' if channels else 'tensor'}", model


def sparse_cases():
    dense = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4], [0, 5, 6, 0]], np.float32)
    rows, columns = [0], []
    for row in dense:
        columns += [int(c) for c in np.nonzero(row)[0]]
        rows.append(len(columns))
    for kind, vector in (("B", 3), ("H", 2), ("i", 1)):
        model = Model()
        graph = model.graphs[0]
        w = graph.const(dense[dense != 0], "float32")
        graph.tensors[w].shape = dense.shape
        graph.tensors[w].sparsity = {
            0: ("vi", [0, 1]), 1: None,
            2: [{0: ("b", 0), 1: ("i", 4)},
                {0: ("b", 1), 2: ("B", vector), 3: {0: ("v" + kind, rows)}, 4: ("B", vector), 5: {0: ("v" + kind, columns)}}]}
        made = graph.op("DENSIFY", [w], Tensor("float32", dense.shape), options=("Densify", {}))
        model.take(graph.op("FULLY_CONNECTED", [model.feed(floats(2, 4)), made, -1], "float32",
                            options=("FullyConnected", {0: b(NONE)})))
        yield f"DENSIFY {kind}", model
    # Blocks of 2 x 2, of which the second row has one.
    model = Model()
    graph = model.graphs[0]
    w = graph.const(np.arange(1, 13, dtype=np.float32), "float32")
    graph.tensors[w].shape = (4, 4)
    graph.tensors[w].sparsity = {
        0: ("vi", [0, 1, 2, 3]), 1: ("vi", [0, 1]),
        2: [{0: ("b", 0), 1: ("i", 2)}, {0: ("b", 1), 2: ("B", 3), 3: {0: ("vB", [0, 2, 3])}, 4: ("B", 3), 5: {0: ("vB", [0, 1, 1])}},
            {0: ("b", 0), 1: ("i", 2)}, {0: ("b", 0), 1: ("i", 2)}]}
    made = graph.op("DENSIFY", [w], Tensor("float32", (4, 4)), options=("Densify", {}))
    model.take(graph.op("ADD", [model.feed(floats(4, 4)), made], "float32", options=("Add", {0: b(NONE)})))
    yield "DENSIFY blocks", model


# ---------------------------------------------------------------------------------------------------------------
# Recurrent networks
# ---------------------------------------------------------------------------------------------------------------


# LiteRT.js takes no variables, so what is expected of these is computed here.


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {NONE: lambda x: x, RELU: lambda x: np.maximum(x, 0), TANH: np.tanh}


def lstm_weights(inputs, units, outputs, cifg=False, peephole=False, projection=False, bias=False):
    """Weights as inputs 1 to 17: of input, forget, cell and output gates."""
    def weights(*shape):
        return Const(floats(*shape, scale=0.4))

    gates = [None if cifg and k == 0 else weights(units, inputs) for k in range(4)]
    gates += [None if cifg and k == 0 else weights(units, outputs) for k in range(4)]
    gates += [weights(units) if peephole and not (cifg and k == 0) else None for k in range(3)]
    gates += [None if cifg and k == 0 else weights(units) for k in range(4)]
    gates += [weights(outputs, units) if projection else None, weights(outputs) if projection and bias else None]
    return gates


def run_lstm(x, weights, norms=(None,) * 4, clip=0.0, backwards=False):
    """[time, batch, outputs] of [time, batch, inputs]."""
    arrays = [None if w is None else w.data * w.more.get("scale", 1) for w in weights]
    w, u, p, bias, (projection, shift) = arrays[:4], arrays[4:8], arrays[8:11], arrays[11:15], arrays[15:]
    batch, units = x.shape[1], w[3].shape[0]
    h, c = np.zeros((batch, u[3].shape[1])), np.zeros((batch, units))
    result = np.zeros(x.shape[:2] + (h.shape[1],))

    def gate(k, step, cell, peephole):
        total = x[step] @ w[k].T + h @ u[k].T + (0 if peephole is None else cell * peephole)
        if norms[k] is None:
            return total + bias[k]
        total = (total - total.mean(1, keepdims=True)) / np.sqrt(total.var(1, keepdims=True) + 1e-8)
        return total * norms[k].data + bias[k]

    for step in reversed(range(len(x))) if backwards else range(len(x)):
        forget = sigmoid(gate(1, step, c, p[1]))
        taken = 1 - forget if w[0] is None else sigmoid(gate(0, step, c, p[0]))
        c = forget * c + taken * np.tanh(gate(2, step, c, None))
        c = np.clip(c, -clip, clip) if clip else c
        h = sigmoid(gate(3, step, c, p[2])) * np.tanh(c)
        if projection is not None:
            h = h @ projection.T + (0 if shift is None else shift)
        result[step] = h
    return result.astype(np.float32)


def arranged(x, major):
    return x if major else np.ascontiguousarray(x.swapaxes(0, 1))


def lstm_cases():
    inputs, units, batch, steps = 5, 6, 2, 4
    kinds = {"plain": {}, "cifg": {"cifg": True}, "peephole": {"peephole": True}, "projection": {"projection": True},
             "projection bias": {"projection": True, "bias": True}, "cifg peephole": {"cifg": True, "peephole": True}}

    def sequence(x, weights, major=True, norms=(None,) * 4, clip=0.0, version=1):
        outputs = weights[7].data.shape[1]
        states = [Variable((batch, outputs)), Variable((batch, units))]
        return one("UNIDIRECTIONAL_SEQUENCE_LSTM", arranged(x, major), *weights, *states, *norms, version=version,
                   options=("UnidirectionalSequenceLSTM", {0: b(TANH), 1: f(clip), 2: f(0), 3: B(major)}),
                   expected=[arranged(run_lstm(x, weights, norms, clip), major)])

    x = floats(steps, batch, inputs, scale=2)
    for name, kind in kinds.items():
        weights = lstm_weights(inputs, units, 3 if kind.get("projection") else units, **kind)
        for major in (True, False):
            yield f"UNIDIRECTIONAL_SEQUENCE_LSTM {name} {'time' if major else 'batch'}", sequence(x, weights, major)
        states = [Variable((batch, weights[7].data.shape[1])), Variable((batch, units))]
        yield f"LSTM {name}", one("LSTM", x[0], *weights, *states, None, None, None, None,
                                  options=("LSTM", {0: b(TANH), 1: f(0), 2: f(0), 3: b(0)}),
                                  expected=[run_lstm(x[:1], weights)[0]])
    weights = lstm_weights(inputs, units, units)
    yield "UNIDIRECTIONAL_SEQUENCE_LSTM clip", sequence(x, weights, clip=0.3)
    yield "UNIDIRECTIONAL_SEQUENCE_LSTM norm", sequence(x, weights, norms=[Const(positive(units)) for _ in range(4)], version=2)
    hybrid = [Const((w.data * 100).astype(np.int8), "int8", scale=0.01) if w is not None and w.data.ndim == 2 else w
              for w in weights]
    yield "UNIDIRECTIONAL_SEQUENCE_LSTM hybrid", sequence(x, hybrid)
    for merge in (False, True):
        for major in (True, False):
            ways = [lstm_weights(inputs, units, units) for _ in range(2)]
            both = [arranged(run_lstm(x, way, backwards=k == 1), major) for k, way in enumerate(ways)]
            yield f"BIDIRECTIONAL_SEQUENCE_LSTM {int(merge)}{int(major)}", one(
                "BIDIRECTIONAL_SEQUENCE_LSTM", arranged(x, major), *ways[0], *ways[1],
                *[Variable((batch, units)) for _ in range(4)], *[None] * 9, results=["float32"] * (1 if merge else 2),
                options=("BidirectionalSequenceLSTM", {0: b(TANH), 1: f(0), 2: f(0), 3: B(merge), 4: B(major)}),
                expected=[np.concatenate(both, 2)] if merge else both)
    # The kernel of one product: input, cell, forget and output gates. Its state is computed from what is given.
    x, h, c, w, shift = floats(2, inputs), floats(2, units), floats(2, units), floats(4 * units, inputs + units), floats(4 * units)
    joined = np.concatenate([x, h], 1)
    sums = joined @ w.T + shift
    gates = np.split(sums, 4, 1)
    state = sigmoid(gates[0]) * np.tanh(gates[1]) + sigmoid(gates[2]) * c
    yield "LSTM basic", one("LSTM", x, h, Const(w), Const(shift), c, results=["float32"] * 4, version=2,
                            options=("LSTM", {0: b(TANH), 1: f(0), 2: f(0), 3: b(1)}),
                            expected=[sigmoid(gates[3]) * np.tanh(state), state, joined, sums])


def run_rnn(x, w, u, bias, activation, backwards=False):
    h, result = np.zeros((x.shape[1], len(bias.data))), np.zeros(x.shape[:2] + bias.data.shape, np.float32)
    for step in reversed(range(len(x))) if backwards else range(len(x)):
        h = result[step] = ACTIVATIONS[activation](x[step] @ w.data.T + h @ u.data.T + bias.data)
    return result


def rnn_cases():
    inputs, units, batch, steps = 5, 6, 2, 4

    def weights():
        return [Const(floats(units, inputs, scale=0.4)), Const(floats(units, units, scale=0.4)), Const(floats(units))]

    x, state = floats(steps, batch, inputs), Variable((batch, units))
    for activation in (NONE, RELU, TANH):
        way = weights()
        yield f"RNN {activation}", one("RNN", x[0], *way, state, options=("RNN", {0: b(activation)}),
                                       expected=[run_rnn(x[:1], *way, activation)[0]])
    for major in (True, False):
        way, back = weights(), weights()
        yield f"UNIDIRECTIONAL_SEQUENCE_RNN {int(major)}", one(
            "UNIDIRECTIONAL_SEQUENCE_RNN", arranged(x, major), *way, state, options=("SequenceRNN", {0: B(major), 1: b(RELU)}),
            expected=[arranged(run_rnn(x, *way, RELU), major)])
        both = [arranged(run_rnn(x, *way, TANH), major), arranged(run_rnn(x, *back, TANH, True), major)]
        for merge in (False, True):
            yield f"BIDIRECTIONAL_SEQUENCE_RNN {int(merge)}{int(major)}", one(
                "BIDIRECTIONAL_SEQUENCE_RNN", arranged(x, major), *way, state, *back, Variable((batch, units)), *[None] * 3,
                results=["float32"] * (1 if merge else 2),
                options=("BidirectionalSequenceRNN", {0: B(major), 1: b(TANH), 2: B(merge)}),
                expected=[np.concatenate(both, 2)] if merge else both)
    for rank in (1, 2):
        features, time, bias = floats(units, inputs), floats(units, 4), floats(units // rank)
        expected = (x[0] @ features.T * time[:, -1]).reshape(batch, -1, rank).sum(2) + bias
        yield f"SVDF {rank}", one("SVDF", x[0], Const(features), Const(time), Const(bias), Variable((batch, units * 4)),
                                  options=("SVDF", {0: i(rank), 1: b(RELU)}), expected=[np.maximum(expected, 0)])


# ---------------------------------------------------------------------------------------------------------------
# Control flow
# ---------------------------------------------------------------------------------------------------------------


def branches(model, condition):
    """IF with a sum or a product."""
    for name in ("ADD", "MUL"):
        graph = model.graph()
        x, y = graph.input("float32", (3,)), graph.input("float32", (3,))
        graph.give(graph.op(name, [x, y], Tensor("float32", (3,)), options=(name.capitalize(), {0: b(NONE)})))
    x, y = model.feed(floats(3)), model.feed(floats(3))
    graph = model.graphs[0]
    model.take(graph.op("IF", [condition, x, y], Tensor("float32", (3,)), options=("If", {0: i(1), 1: i(2)})))
    return model


def control_cases():
    for value in (False, True):
        model = Model()
        yield f"IF known {value}", branches(model, model.graphs[0].const(np.bool_(value)))
        model = Model()
        yield f"IF computed {value}", branches(model, model.feed(np.array(value), "bool"))
    # x doubles while a counter is below 5.
    model = Model()
    test, body, graph = model.graph(), model.graph(), model.graphs[0]
    n = test.input("int32", ())
    test.input("float32", (3,))
    test.give(test.op("LESS", [n, np.int32(5)], Tensor("bool", ()), options=("Less", {})))
    n, x = body.input("int32", ()), body.input("float32", (3,))
    body.give(body.op("ADD", [n, np.int32(1)], Tensor("int32", ()), options=("Add", {0: b(NONE)})),
              body.op("ADD", [x, x], Tensor("float32", (3,)), options=("Add", {0: b(NONE)})))
    counts = graph.op("WHILE", [np.int32(2), model.feed(floats(3))], Tensor("int32", ()), Tensor("float32", (3,)),
                      options=("While", {0: i(1), 1: i(2)}))
    model.take(*counts)
    yield "WHILE", model


def call_cases():
    for name, options in (("CALL", ("Call", {0: ("I", 1)})), ("STABLEHLO_COMPOSITE", None)):
        model = Model()
        body, graph, value = model.graph(), model.graphs[0], floats(3)
        x = body.input("float32", (3,))
        body.give(body.op("ADD", [x, x], Tensor("float32", (3,)), options=("Add", {0: b(NONE)})))
        made = graph.op(name, [model.feed(value)], Tensor("float32", (3,)), options=options)
        if options is None:
            graph.operators[-1] = (*graph.operators[-1], {0: "odml.twice", 1: i(1)})
        model.take(made)
        model.expected = [value + value]
        yield name, model


def signal_cases():
    for shape, lengths in (((2, 3, 16), (1, 16)), ((3, 8, 12), (8, 16)), ((5, 7), (8, 4)), ((1, 400), (1, 512))):
        for name in ("REAL", "IMAG", "COMPLEX_ABS"):
            model = Model()
            graph = model.graphs[0]
            spectrum = graph.op("RFFT2D", [model.feed(floats(*shape)), np.int32(lengths)], "complex64", options=("Rfft2d", {}))
            made = graph.op(name, [spectrum], "float32")
            model.take(made)
            yield f"RFFT2D {name} {shape} {lengths}", model
    model = Model()
    graph, x, y = model.graphs[0], floats(3, 4), floats(3, 4)
    both = graph.op("COMPLEX", [model.feed(x), model.feed(y)], "complex64")
    made = graph.op("COMPLEX_ABS", [both], "float32")
    model.take(made)
    model.expected = [np.hypot(x, y)]
    yield "COMPLEX COMPLEX_ABS", model


def refused_cases():
    """What the program has to refuse, with what it has to say."""
    model = Model()
    model.take(model.graphs[0].op("CUSTOM", [model.feed(floats(1, 4, 4, 2))], "float32", custom=("MaxPoolingWithArgmax2D", b"")))
    yield "MaxPoolingWithArgmax2D", model, 'node "t1" (MaxPoolingWithArgmax2D): the operator is not supported: it is a custom'
    yield "UNIQUE", one("UNIQUE", floats(4), results=["float32", "int32"]), "how many elements remain depends on what they are"
    yield "WHERE computed", one("WHERE", Fed(integers(0, 2, 4), "bool"), results=["int64"]), "has to be known"
    # A shape that is computed is what the file says of the result, which here cannot be.
    model = one("TRANSPOSE_CONV", np.int32([1, 10, 8, 6]), Const(floats(6, 3, 3, 3)), floats(1, 5, 4, 3),
                options=("TransposeConv", {0: b(SAME), 1: i(2), 2: i(2)}))
    model.graphs[0].tensors[-1].shape = (1,) * 8
    yield "TRANSPOSE_CONV rank 8", model, "a result of rank 8, not 4"
    model = Model()
    graph = model.graphs[0]
    model.take(graph.op("NEG", [graph.op("RFFT2D", [model.feed(floats(8, 8)), np.int32([8, 8])], "complex64")]))
    yield "NEG complex64", model, "WebNN has no complex numbers"


FAMILIES = (unary_cases, binary_cases, reshape_cases, strided_slice_cases, padding_cases, shape_cases, gather_cases, conv_cases,
            transpose_conv_cases, conv_3d_cases, pool_cases, product_cases, normalization_cases, reduction_cases,
            quantization_cases, sparse_cases, lstm_cases, rnn_cases, control_cases,
            call_cases, signal_cases)


def operators_of(model):
    """Names of operators, of custom ones their own."""
    return {operator[4][0] if operator[4] else operator[0] for graph in model.graphs for operator in graph.operators}


def check_refused(peers, model, reason):
    file = peers.path / "case.tflite"
    file.write_bytes(model.write())
    try:
        peers.compute(file, model.feeds, [])
    except Refused as error:
        return None if reason in str(error) else f"it says {error}"
    return "it is not refused"


def check(peers, model, tolerance=TOLERANCE):
    try:
        return compare(peers, model, tolerance)
    except Refused as error:
        return f"refused: {error}"
    except Broken as error:
        return f"LiteRT.js: {error}"


def main():
    webnn, modules, *wanted = sys.argv[1:]
    peers = Peers(webnn, modules)
    if peers.missing():
        print(f"skipped: {peers.missing()}")
        return 77
    passed, failed, seen = 0, 0, set()
    with peers:
        for name, run, model, *case in [(name, check, *case) for family in FAMILIES for name, *case in family()] + \
                [(name, check_refused, *case) for name, *case in refused_cases()]:
            seen |= operators_of(model)
            if wanted and not any(one in name for one in wanted):
                continue
            fault = run(peers, model, *case)
            if fault:
                print(f"{name}: {fault}")
            passed, failed = passed + (not fault), failed + bool(fault)
    missing = [] if wanted else sorted(RECORDED - seen)
    if missing:
        print("without a case: " + ", ".join(missing))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 or missing else 0


if __name__ == "__main__":
    sys.exit(main())
