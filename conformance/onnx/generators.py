# SPDX-License-Identifier: Apache-2.0
"""Random models of one node, for every operator of ONNX that ONNX Runtime computes: shapes, types, attributes and the
version of the operator set are drawn from a generator of random numbers."""

import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from runtime import WEIGHT, Case, one

REAL = [np.float32]
WHOLE = [np.int32, np.int64]
GENERATORS = {}  # by the operator: its versions and a function of Draw that makes a Case


class Draw:
    """What a generator draws from."""

    def __init__(self, seed, versions):
        self.random = np.random.default_rng(seed)
        self.opset = self.pick(versions)

    def pick(self, items):
        return items[self.random.integers(len(items))]

    def chance(self, share=0.5):
        return bool(self.random.random() < share)

    def size(self, low=1, high=5):
        return int(self.random.integers(low, high + 1))

    def shape(self, low=1, high=4, most=5):
        return [self.size(1, most) for _ in range(self.size(low, high))]

    def data(self, shape, dtype=np.float32, low=-9, high=9):
        if np.dtype(dtype).kind == "f":
            return (self.random.standard_normal(shape) * 2).astype(dtype)
        if np.dtype(dtype) == np.bool_:
            return self.random.integers(0, 2, shape).astype(bool)
        return self.random.integers(max(low, np.iinfo(dtype).min), high, shape).astype(dtype)

    def axis(self, rank, negative=True):
        return int(self.random.integers(-rank if negative else 0, rank))

    def axes(self, rank, negative=True, least=1):
        count = self.size(least, rank)
        chosen = self.random.permutation(rank)[:count]
        return [int(a) - (rank if negative and self.chance(0.3) else 0) for a in chosen]

    def broadcast(self, shape):
        """A shape that is broadcast to this one."""
        kept = shape[self.size(0, len(shape)):]
        return [1 if self.chance(0.3) else size for size in kept]

    def maybe(self, value, share=0.5):
        return value if self.chance(share) else None

    def given(self, name, value, inputs, constants):
        """Makes an operand an input of the graph, or one of its constants."""
        (inputs if self.chance() else constants)[name] = value


    def unused(self, op, x, constants=None, **attributes):
        """A case whose operator may leave its input alone, which therefore has another reader."""
        nodes = [helper.make_node(op, ["x", *(constants or {})], ["y"], name=op,
                                  **{name: value for name, value in attributes.items() if value is not None}),
                 helper.make_node("Identity", ["x"], ["x2"])]
        return Case(nodes, {"x": x}, ["y", "x2"], constants, self.opset)


def operator(*names, versions):
    """Adds a generator for operators, which the function takes by name."""
    def add(function):
        for name in names:
            GENERATORS[name] = (versions, function)
        return function
    return add


# ----------------------------------------------------------------------------------------------------------------
# Elementwise
# ----------------------------------------------------------------------------------------------------------------

@operator("Ceil", "Cos", "Erf", "Exp", "Floor", "Round", "Sin", "Tanh", "Sigmoid", "Softplus", "Softsign", "Sinh", "Cosh",
          "Atan", "Asinh", "HardSwish", "Mish", versions=[22, 21, 18, 14])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0))}, "y", opset=max(g.opset, 18) if op == "Mish" else g.opset, tolerance=4e-6)


@operator("Asin", "Acos", "Atanh", versions=[7, 9, 22])
def _(g, op):
    return one(op, {"x": np.tanh(g.data(g.shape(0)))}, "y", opset=max(g.opset, 9), tolerance=4e-6)


@operator("Log", "Sqrt", "Reciprocal", "Acosh", versions=[7, 9, 13, 22])
def _(g, op):
    return one(op, {"x": np.abs(g.data(g.shape(0))) + np.float32(1.1)}, "y", opset=max(g.opset, 9))


@operator("Abs", "Neg", "Sign", versions=[9, 13])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0), g.pick([np.float32, np.int32, np.int64, np.int8]))}, "y", opset=g.opset)


@operator("Tan", versions=[7, 22])
def _(g, op):
    return one(op, {"x": np.tanh(g.data(g.shape(0)))}, "y", opset=g.opset)


@operator("Relu", versions=[7, 13, 14])
def _(g, op):
    kinds = [np.float32, np.int32, np.int8] if g.opset >= 14 else REAL
    return one(op, {"x": g.data(g.shape(0), g.pick(kinds))}, "y", opset=g.opset)


@operator("Not", versions=[7])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0), np.bool_)}, "y", opset=g.opset)


@operator("IsNaN", "IsInf", versions=[10, 13, 20])
def _(g, op):
    x = g.data(g.shape(1))
    x[g.random.random(x.shape) < 0.3] = np.nan if op == "IsNaN" else np.inf
    x[g.random.random(x.shape) < 0.2] = -np.inf
    more = {} if op == "IsNaN" else {"detect_negative": g.maybe(g.size(0, 1)), "detect_positive": g.maybe(g.size(0, 1))}
    return g.unused(op, x, **more)


@operator("Elu", "LeakyRelu", "Celu", "ThresholdedRelu", versions=[12, 16, 22])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0))}, "y", opset=g.opset, alpha=g.maybe(float(g.random.random() + 0.1)))


@operator("Selu", versions=[7, 22])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0))}, "y", opset=g.opset, alpha=g.maybe(1.2), gamma=g.maybe(0.8))


@operator("HardSigmoid", versions=[7, 22])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0))}, "y", opset=g.opset, alpha=g.maybe(0.3), beta=g.maybe(0.4))


@operator("Shrink", versions=[9])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0), g.pick([np.float32, np.int32]))}, "y", opset=g.opset, bias=g.maybe(1.0),
               lambd=g.maybe(1.5))


@operator("Gelu", versions=[20])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0))}, "y", opset=g.opset, approximate=g.pick([None, "none", "tanh"]))


@operator("PRelu", versions=[7, 9, 16])
def _(g, op):
    x, inputs, constants = g.data(g.shape(1)), {}, {}
    inputs["x"] = x
    g.given("s", g.data(g.broadcast(list(x.shape))), inputs, constants)
    return one(op, inputs, "y", constants, "x,s", opset=g.opset)


@operator("Add", "Sub", "Mul", "Div", versions=[7, 13, 14])
def _(g, op):
    kinds = [np.float32, np.int32, np.int64, np.uint32, np.uint64] + ([np.int8, np.uint8] if g.opset >= 14 else [])
    shape, kind, inputs, constants = g.shape(0), g.pick(kinds), {}, {}
    a, b = g.data(shape, kind), g.data(g.broadcast(shape), kind)
    if op == "Div" and b.dtype.kind != "f":
        b = np.where(b == 0, 1, b).astype(kind)
    pair = [a, b] if g.chance() or op == "Div" else [b, a]
    g.given("a", pair[0], inputs, constants)
    g.given("b", pair[1], inputs, constants)
    return one(op, inputs, "y", constants, "a,b", opset=g.opset)


@operator("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", versions=[7, 9, 11, 12, 13, 16, 19])
def _(g, op):
    opset = max(g.opset, 12) if op.endswith("OrEqual") else g.opset
    kinds = [np.int32, np.int64, np.bool_] if op == "Equal" and opset < 11 else REAL if opset < 9 else [
        np.float32, np.int32, np.int64] + ([np.bool_] if op == "Equal" else [])
    shape, kind = g.shape(0), g.pick(kinds)
    inputs, constants = {"a": g.data(shape, kind, -2, 3)}, {}
    g.given("b", g.data(g.broadcast(shape), kind, -2, 3), inputs, constants)
    return one(op, inputs, "y", constants, "a,b", opset=opset)


@operator("And", "Or", "Xor", versions=[7])
def _(g, op):
    shape = g.shape(0)
    return one(op, {"a": g.data(shape, np.bool_), "b": g.data(g.broadcast(shape), np.bool_)}, "y", opset=g.opset)


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor", versions=[18])
def _(g, op):
    kind, shape = g.pick([np.int8, np.uint8, np.int32, np.int64, np.uint32, np.uint64, np.int16, np.uint16]), g.shape(0)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    inputs, constants = {"a": g.random.integers(low, high, shape, dtype=kind, endpoint=True)}, {}
    inputs["a"] = np.asarray(inputs["a"])
    g.given("b", np.asarray(g.random.integers(low, high, g.broadcast(shape), dtype=kind, endpoint=True)), inputs, constants)
    return one(op, inputs, "y", constants, "a,b", opset=g.opset)


@operator("BitwiseNot", versions=[18])
def _(g, op):
    kind = g.pick([np.int8, np.uint8, np.int32, np.int64, np.uint32, np.uint64, np.int16, np.uint16])
    return one(op, {"x": np.asarray(g.random.integers(np.iinfo(kind).min, np.iinfo(kind).max, g.shape(0), dtype=kind))},
               "y", opset=g.opset)


@operator("BitShift", versions=[11])
def _(g, op):
    kind, shape = g.pick([np.uint8, np.uint32, np.uint64]), g.shape(1)
    return one(op, {"a": g.data(shape, kind, 0, 200), "b": g.data(g.broadcast(shape), kind, 0, 8)}, "y", opset=g.opset,
               direction=g.pick(["LEFT", "RIGHT"]))


@operator("Pow", versions=[7, 12, 13, 15])
def _(g, op):
    shape, inputs, constants = g.shape(0), {}, {}
    if g.opset < 12:
        a, b = np.abs(g.data(shape)) + np.float32(0.1), g.data(g.broadcast(shape))
    else:
        kinds = [(np.float32, np.float32), (np.float32, np.int32), (np.float32, np.int64), (np.int32, np.int32),
                 (np.int64, np.int64), (np.int32, np.float32), (np.int64, np.float32), (np.float64, np.float32)]
        kind, other = g.pick(kinds)
        a = np.abs(g.data(shape, kind)) + kind(0.1 if kind != np.int32 and kind != np.int64 else 1)
        b = g.data(g.broadcast(shape), np.int32, 0, 4).astype(other)
        a = np.asarray(a, kind)
    inputs["a"] = a
    g.given("b", b, inputs, constants)
    return one(op, inputs, "y", constants, "a,b", opset=g.opset, tolerance=4e-6)


@operator("Mod", versions=[10, 13])
def _(g, op):
    kind, shape = g.pick([np.float32, np.int32, np.int64, np.uint32, np.int8, np.uint8]), g.shape(0)
    a, b = g.data(shape, kind), g.data(g.broadcast(shape), kind)
    if b.dtype.kind != "f":
        b = np.where(b == 0, 3, b).astype(kind)
    fmod = 1 if kind == np.float32 else g.size(0, 1)
    return one(op, {"a": a, "b": b}, "y", opset=g.opset, fmod=fmod)


@operator("Max", "Min", "Sum", "Mean", versions=[8, 12, 13])
def _(g, op):
    kind = g.pick([np.float32, np.int32, np.int64]) if g.opset >= 12 and op in ("Max", "Min") else np.float32
    shape, inputs, constants = g.shape(0), {}, {}
    names = [f"x{i}" for i in range(g.size(1, 4))]
    for name in names:
        g.given(name, g.data(g.broadcast(shape), kind), inputs, constants)
    inputs.setdefault(names[0], constants.pop(names[0], inputs.get(names[0])))
    return one(op, inputs, "y", constants, ",".join(names), opset=g.opset)


@operator("Where", versions=[9, 16])
def _(g, op):
    shape, kind = g.shape(0), g.pick([np.float32, np.int32, np.int64, np.uint8])
    inputs, constants = {"c": g.data(g.broadcast(shape), np.bool_)}, {}
    g.given("a", g.data(shape, kind), inputs, constants)
    g.given("b", g.data(g.broadcast(shape), kind), inputs, constants)
    return one(op, inputs, "y", constants, "c,a,b", opset=g.opset)


@operator("Clip", versions=[7, 11, 12, 13])
def _(g, op):
    if g.opset < 11:
        return one(op, {"x": g.data(g.shape(0))}, "y", opset=g.opset, min=g.maybe(-1.5), max=g.maybe(0.75))
    kind, constants, inputs = g.pick([np.float32, np.int32, np.int64, np.uint8] if g.opset >= 12 else REAL), {}, {}
    inputs["x"] = g.data(g.shape(0), kind)
    if g.chance(0.8):
        g.given("low", np.array(1, kind), inputs, constants)
    if g.chance(0.8):
        g.given("high", np.array(3, kind), inputs, constants)
    names = {*inputs, *constants}
    order = ",".join(["x", "low" if "low" in names else "", "high" if "high" in names else ""]).rstrip(",")
    return one(op, inputs, "y", constants, order, opset=g.opset)


@operator("Cast", "CastLike", versions=[7, 9, 13, 15, 19, 21])
def _(g, op):
    kinds = [np.float32, np.int32, np.int64, np.uint8, np.int8, np.bool_, np.uint32, np.float16, np.float64]
    kind, to, opset = g.pick(kinds), g.pick(kinds), max(g.opset, 15) if op == "CastLike" else g.opset
    x = np.abs(g.data(g.shape(0), kind)) if np.dtype(to).kind == "u" and kind != np.bool_ else g.data(g.shape(0), kind)
    if op == "CastLike":
        return one(op, {"x": np.asarray(x)}, "y", {"like": np.zeros(1, to)}, opset=opset)
    return one(op, {"x": np.asarray(x)}, "y", opset=opset, to=helper.TensorProto.DataType.Value({
        "float32": "FLOAT", "float64": "DOUBLE", "float16": "FLOAT16"}.get(np.dtype(to).name, np.dtype(to).name.upper())))


# ----------------------------------------------------------------------------------------------------------------
# Movement
# ----------------------------------------------------------------------------------------------------------------

@operator("Identity", versions=[7, 13, 14, 16, 19, 21])
def _(g, op):
    return one(op, {"x": g.data(g.shape(0), g.pick([np.float32, np.int64, np.bool_]))}, "y", opset=g.opset)


@operator("Dropout", versions=[7, 10, 12, 13])
def _(g, op):
    outputs = g.pick(["y", "y,m"])
    if g.opset < 12: # whose mask nothing says anything about
        return one(op, {"x": g.data(g.shape(1))}, "y", opset=g.opset, ratio=g.maybe(0.3))
    constants = {"r": np.array(0.4, np.float32)} if g.chance() else {}
    return one(op, {"x": g.data(g.shape(1))}, outputs, constants, opset=g.opset)


@operator("Reshape", versions=[7, 13, 14, 19, 21])
def _(g, op):
    x = g.data(g.shape(1), g.pick([np.float32, np.int64, np.uint8]))
    dims, to = list(x.shape), []
    while dims:
        if len(dims) > 1 and g.chance(0.4):
            dims[:2] = [dims[0] * dims[1]]
        else:
            to.append(dims.pop(0))
    for i, size in enumerate(to):
        if i < x.ndim and size == x.shape[i] and g.chance(0.3):
            to[i] = 0
    if g.chance():
        to[g.size(0, len(to) - 1)] = -1
    return one(op, {"x": x}, "y", {"s": np.array(to, np.int64)}, opset=g.opset)


@operator("Flatten", versions=[7, 9, 11, 13, 21])
def _(g, op):
    x = g.data(g.shape(1))
    axis = g.size(0, x.ndim) if g.opset < 11 else int(g.random.integers(-x.ndim, x.ndim + 1))
    return one(op, {"x": x}, "y", opset=g.opset, axis=g.maybe(axis, 0.8))


@operator("Squeeze", versions=[7, 11, 13, 21])
def _(g, op):
    shape = g.shape(1)
    where = g.axes(len(shape), g.opset >= 11)
    for axis in where:
        shape[axis] = 1
    x = g.data(shape)
    if g.chance(0.2):
        return one(op, {"x": x}, "y", opset=g.opset)
    if g.opset < 13:
        return one(op, {"x": x}, "y", opset=g.opset, axes=where)
    return one(op, {"x": x}, "y", {"a": np.array(where, np.int64)}, opset=g.opset)


@operator("Unsqueeze", versions=[7, 11, 13, 21])
def _(g, op):
    x = g.data(g.shape(0, 3))
    where = g.axes(x.ndim + 2, g.opset >= 11)[:2]
    where = where if len(where) == 2 else [0, x.ndim + 1]
    if g.opset < 13:
        return one(op, {"x": x}, "y", opset=g.opset, axes=where)
    return one(op, {"x": x}, "y", {"a": np.array(where, np.int64)}, opset=g.opset)


@operator("Transpose", versions=[7, 13, 21])
def _(g, op):
    x = g.data(g.shape(1, 5), g.pick([np.float32, np.uint8, np.int64]))
    return one(op, {"x": x}, "y", opset=g.opset, perm=g.maybe([int(a) for a in g.random.permutation(x.ndim)], 0.8))


@operator("Concat", versions=[7, 11, 13])
def _(g, op):
    shape, inputs = g.shape(1), {}
    axis = g.axis(len(shape), g.opset >= 11)
    for i in range(g.size(1, 4)):
        shape[axis] = g.size()
        inputs[f"x{i}"] = g.data(shape)
    return one(op, inputs, "y", opset=g.opset, axis=axis)


@operator("Split", versions=[7, 11, 13, 18])
def _(g, op):
    shape = g.shape(1)
    axis, parts = g.axis(len(shape), g.opset >= 11), [g.size(1, 3) for _ in range(g.size(1, 4))]
    outputs = ",".join(f"y{i}" for i in range(len(parts)))
    way = g.pick(["equal", "given", "uneven"])
    if way != "given":
        parts = [parts[0]] * len(parts)
    shape[axis] = sum(parts)
    if way == "uneven" and g.opset >= 18 and parts[0] > 1:
        shape[axis] -= 1
    x = {"x": g.data(shape)}
    if way != "given":
        return one(op, x, outputs, opset=g.opset, axis=axis, num_outputs=len(parts) if g.opset >= 18 else None)
    if g.opset < 13:
        return one(op, x, outputs, opset=g.opset, axis=axis, split=parts)
    return one(op, x, outputs, {"s": np.array(parts, np.int64)}, opset=g.opset, axis=axis)


@operator("Slice", versions=[7, 10, 11, 13])
def _(g, op):
    x = g.data(g.shape(1, 4, 6), g.pick([np.float32, np.int64]))
    where = g.axes(x.ndim, g.opset >= 10)
    starts, ends, steps = [], [], []
    for axis in where:
        size, step = x.shape[axis], g.pick([1, 1, 2, 3, -1, -2]) if g.opset >= 10 else 1
        low, high = sorted(int(n) for n in g.random.choice(size + 1, 2, replace=False))
        if step < 0:
            low, high = high - 1, low - 1 if low else -size - 1
        elif g.chance(0.2):
            high = g.pick([2 ** 31 - 1, 2 ** 63 - 1, size + 3])
        elif g.chance(0.3):
            low -= size
        starts.append(low)
        ends.append(high)
        steps.append(step)
    if g.opset < 10:
        return one(op, {"x": x}, "y", opset=g.opset, starts=starts, ends=ends, axes=where)
    kind = g.pick(WHOLE)
    ends = [min(e, np.iinfo(kind).max) for e in ends]
    return one(op, {"x": x}, "y", {"s": np.array(starts, kind), "e": np.array(ends, kind), "a": np.array(where, kind),
                                   "t": np.array(steps, kind)}, opset=g.opset)


@operator("Expand", versions=[8, 13])
def _(g, op):
    shape = g.shape(1)
    x = g.data(g.broadcast(shape))
    if g.chance(0.3):
        shape = [1 if i >= len(shape) - x.ndim and g.chance(0.3) else size for i, size in enumerate(shape)]
    return one(op, {"x": x}, "y", {"s": np.array(shape, np.int64)}, opset=g.opset)


@operator("Tile", versions=[7, 13])
def _(g, op):
    x = g.data(g.shape(1, 4, 3))
    return one(op, {"x": x}, "y", {"r": np.array([g.size(1, 3) for _ in x.shape], np.int64)}, opset=g.opset)


@operator("Pad", versions=[7, 11, 13, 18, 19, 21])
def _(g, op):
    mode = g.pick(["constant", "edge", "reflect"] + (["wrap"] if g.opset >= 19 else []))
    x = g.data([size + 1 for size in g.shape(1)])
    most = min(x.shape) - 1
    negative = mode == "constant" and g.chance(0.3)
    axes = g.axes(x.ndim) if g.opset >= 18 and g.chance() else None
    pads = [g.size(-1 if negative and s > 2 else 0, max(most, 0)) for s in (2 * [x.shape[a] for a in axes or range(x.ndim)])]
    if g.opset < 11:
        return one(op, {"x": x}, "y", opset=g.opset, pads=pads, mode=mode, value=g.maybe(1.5))
    constants = {"p": np.array(pads, np.int64)}
    order = "x,p"
    if g.chance() or axes:
        constants["v"] = np.array(2.5, np.float32)
        order += ",v"
    if axes:
        constants["a"] = np.array(axes, np.int64)
        order += ",a"
    return one(op, {"x": x}, "y", constants, order, opset=g.opset, mode=mode)


@operator("DepthToSpace", "SpaceToDepth", versions=[7, 11, 13])
def _(g, op):
    b, n, d, h, w = g.size(1, 3), g.size(1, 2), g.size(1, 3), g.size(1, 3), g.size(1, 3)
    shape = [n, d * b * b, h, w] if op == "DepthToSpace" else [n, d, h * b, w * b]
    mode = g.pick([None, "DCR", "CRD"]) if op == "DepthToSpace" and g.opset >= 11 else None
    return one(op, {"x": g.data(shape)}, "y", opset=g.opset, blocksize=b, mode=mode)


@operator("Trilu", versions=[14])
def _(g, op):
    constants = {"k": np.array(g.size(-4, 4), np.int64)} if g.chance() else {}
    return one(op, {"x": g.data(g.shape(2), g.pick([np.float32, np.int64]))}, "y", constants, opset=g.opset,
               upper=g.maybe(g.size(0, 1)))


@operator("ReverseSequence", versions=[10])
def _(g, op):
    x, batch = g.data([g.size(), g.size()] + g.shape(0, 2)), g.size(0, 1)
    lengths = g.random.integers(1, x.shape[1 - batch] + 1, x.shape[batch]).astype(np.int64)
    inputs, constants = {"x": x}, {}
    g.given("n", lengths, inputs, constants)
    return one(op, inputs, "y", constants, opset=g.opset, batch_axis=batch, time_axis=1 - batch)


@operator("CenterCropPad", versions=[18])
def _(g, op):
    x = g.data(g.shape(1))
    axes = g.maybe(g.axes(x.ndim))
    size = [g.size(1, 7) for _ in (axes or x.shape)]
    return one(op, {"x": x}, "y", {"s": np.array(size, np.int64)}, opset=g.opset, axes=axes)


# ----------------------------------------------------------------------------------------------------------------
# Shapes and known tensors
# ----------------------------------------------------------------------------------------------------------------

@operator("Shape", "Size", versions=[7, 13, 15, 19, 21])
def _(g, op):
    more = {"start": g.maybe(g.size(-5, 5)), "end": g.maybe(g.size(-5, 5))} if op == "Shape" and g.opset >= 15 else {}
    x = g.data(g.shape(1))
    if more and len(range(x.ndim)[slice(more["start"], more["end"])]) == 0:
        more = {}
    return g.unused(op, x, **more)


@operator("ConstantOfShape", versions=[9, 20, 21])
def _(g, op):
    kind = g.pick([np.float32, np.int64, np.bool_, np.uint8])
    value = helper.make_tensor("v", TensorProto.DataType.Value({"float32": "FLOAT"}.get(np.dtype(kind).name,
                                                                                      np.dtype(kind).name.upper())), [1], [1])
    return one(op, {}, "y", {"s": np.array(g.shape(0), np.int64)}, opset=g.opset, value=g.maybe(value))


@operator("Range", versions=[11])
def _(g, op):
    kind = g.pick([np.float32, np.int64, np.int32])
    start, step = g.size(-5, 5), g.pick([1, 2, 3, -1, -2])
    stop = start + step * g.size(1, 6) - g.size(0, 1) * (1 if step > 0 else -1) * (abs(step) > 1)
    scale = 0.3 if kind == np.float32 else 1
    return one(op, {}, "y", {"a": np.array(start * scale, kind), "b": np.array(stop * scale, kind),
                             "c": np.array(step * scale, kind)}, opset=g.opset)


@operator("EyeLike", versions=[9, 22])
def _(g, op):
    return g.unused(op, g.data(g.shape(2, 2)), k=g.maybe(g.size(-3, 3)), dtype=g.pick([None, TensorProto.FLOAT, TensorProto.INT64]))


@operator("NonZero", versions=[9, 13])
def _(g, op):
    x = g.data(g.shape(1), g.pick([np.float32, np.int64, np.bool_]), -1, 2)
    x.flat[0] = 1
    return one(op, {}, "y", {"x": x}, opset=g.opset)


@operator("HannWindow", "HammingWindow", "BlackmanWindow", versions=[17])
def _(g, op):
    return one(op, {}, "y", {"n": np.array(g.size(2, 20), np.int64)}, opset=g.opset, periodic=g.maybe(g.size(0, 1)))


# ----------------------------------------------------------------------------------------------------------------
# Indices
# ----------------------------------------------------------------------------------------------------------------

@operator("Gather", versions=[7, 11, 13])
def _(g, op):
    x = g.data(g.shape(1), g.pick([np.float32, np.int64, np.bool_]))
    axis, inputs, constants = g.axis(x.ndim), {"x": x}, {}
    low = -x.shape[axis] if g.opset >= 11 else 0
    g.given("i", np.asarray(g.random.integers(low, x.shape[axis], g.shape(0, 2))).astype(g.pick(WHOLE)), inputs, constants)
    return one(op, inputs, "y", constants, opset=g.opset, axis=g.maybe(axis, 0.8) if axis == 0 else axis)


@operator("GatherElements", versions=[11, 13])
def _(g, op):
    x = g.data(g.shape(1))
    axis, inputs, constants = g.axis(x.ndim), {"x": x}, {}
    shape = [g.size(1, 5) if i == axis % x.ndim else g.size(1, size) for i, size in enumerate(x.shape)]
    g.given("i", g.random.integers(-x.shape[axis], x.shape[axis], shape).astype(g.pick(WHOLE)), inputs, constants)
    return one(op, inputs, "y", constants, opset=g.opset, axis=axis)


@operator("GatherND", versions=[11, 12, 13])
def _(g, op):
    x = g.data(g.shape(1))
    batch = g.size(0, x.ndim - 1) if g.opset >= 12 and g.chance() else 0
    depth = g.size(1, x.ndim - batch)
    shape = [*x.shape[:batch], *g.shape(0, 2, 3), depth]
    indices = np.stack([np.asarray(g.random.integers(-n, n, shape[:-1])) for n in x.shape[batch:batch + depth]], -1)
    inputs, constants = {"x": x}, {}
    g.given("i", indices.astype(np.int64), inputs, constants)
    return one(op, inputs, "y", constants, opset=g.opset, batch_dims=batch if g.opset >= 12 else None)


def unique_indices(g, count, size):
    """So many different ones, of which some count from the end."""
    chosen = g.random.permutation(size)[:count]
    return chosen - size * (g.random.random(chosen.shape) < 0.3)


@operator("Scatter", "ScatterElements", versions=[9, 11, 13, 16, 18])
def _(g, op):
    opset = min(g.opset, 10) if op == "Scatter" else max(g.opset, 11)
    reductions = ["none"] if opset >= 16 else []
    reductions += (["add", "mul"] if opset >= 16 else []) + (["max", "min"] if opset >= 18 else [])
    kind = g.pick([np.float32, np.int64])
    x = g.data(g.shape(1), kind)
    axis = g.axis(x.ndim, opset >= 11)
    reduction = g.pick([None] + reductions)
    shape = [g.size(1, size) for size in x.shape]
    if reduction and reduction != "none":
        shape[axis] = g.size(1, 4)
        indices = g.random.integers(-x.shape[axis], x.shape[axis], shape)
    else:
        moved = shape[:]
        count = moved.pop(axis)
        indices = np.stack([unique_indices(g, count, x.shape[axis]) for _ in range(int(np.prod(moved)))], -1)
        indices = np.moveaxis(indices.reshape([count, *moved]), 0, axis)
        if op == "Scatter" or opset < 11:
            indices %= x.shape[axis]
    inputs, constants = {"x": x}, {}
    g.given("i", indices.astype(np.int64), inputs, constants)
    inputs["u"] = g.data(indices.shape, kind)
    return one(op, inputs, "y", constants, "x,i,u", opset=opset, axis=axis, reduction=reduction)


@operator("ScatterND", versions=[11, 13, 16, 18])
def _(g, op):
    kind = g.pick([np.float32, np.int64])
    x = g.data(g.shape(1), kind)
    reduction = g.pick([None] + (["none", "add", "mul"] if g.opset >= 16 else []) + (["max", "min"] if g.opset >= 18 else []))
    depth = g.size(1, x.ndim)
    places = int(np.prod(x.shape[:depth]))
    if reduction in (None, "none"):
        flat = g.random.permutation(places)[:g.size(1, places)]
    else:
        flat = g.random.integers(0, places, g.size(1, 6))
    indices = np.stack(np.unravel_index(flat, x.shape[:depth]), -1)
    inputs, constants = {"x": x}, {}
    g.given("i", indices.astype(np.int64), inputs, constants)
    inputs["u"] = g.data([len(flat), *x.shape[depth:]], kind)
    return one(op, inputs, "y", constants, "x,i,u", opset=g.opset, reduction=reduction)


@operator("OneHot", versions=[9, 11])
def _(g, op):
    depth = g.size(2, 6)
    x = g.data(g.shape(1, 3), g.pick([np.int64, np.float32]), 0, depth)
    x = np.round(np.abs(x)).astype(x.dtype) % depth
    if g.opset >= 11:
        x = (x - depth * (g.random.random(x.shape) < 0.3)).astype(x.dtype)
    kind = g.pick([np.float32, np.int64]) if x.dtype == np.int64 else np.float32
    return one(op, {"x": x}, "y", {"d": np.array(g.pick([depth, [depth]]), x.dtype), "v": np.array([-1, 2], kind)},
               opset=g.opset, axis=g.maybe(g.axis(x.ndim + 1)))


@operator("Compress", versions=[9, 11])
def _(g, op):
    x = g.data(g.shape(1))
    axis = g.maybe(g.axis(x.ndim, g.opset >= 11))
    size = x.size if axis is None else x.shape[axis]
    condition = g.data([g.size(1, size)], np.bool_)
    condition[0] = True
    return one(op, {"x": x}, "y", {"c": condition}, opset=g.opset, axis=axis)


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", versions=[12, 13])
def _(g, op):
    n, c, more = g.size(), g.size(2, 5), g.shape(0, 2)
    x = g.data([n, c, *more])
    target = g.random.integers(0, c, [n, *more]).astype(np.int64)
    inputs = {"x": x, "t": target}
    if g.chance():
        inputs["w"] = np.abs(g.data([c])) + np.float32(0.1)
    ignored = g.maybe(int(target.flat[0]), 0.3) if target.size > 1 and (target != target.flat[0]).any() else None
    outputs = "y,l" if op == "SoftmaxCrossEntropyLoss" and g.chance() else "y"
    return one(op, inputs, outputs, opset=g.opset, reduction=g.pick([None, "none", "sum", "mean"]), ignore_index=ignored)


@operator("TopK", versions=[7, 10, 11])
def _(g, op):
    x = g.data(g.shape(1, 3, 70), g.pick([np.float32] + ([np.int64, np.int32] if g.opset >= 11 else [])))
    if g.chance(0.3):
        x.flat[:: 3] = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    axis = g.axis(x.ndim, g.opset >= 11)
    k = g.size(1, x.shape[axis])
    if g.opset < 10:
        return one(op, {"x": x}, "y,i", opset=g.opset, axis=axis, k=k)
    return one(op, {"x": x}, "y,i", {"k": np.array([k], np.int64)}, opset=g.opset, axis=axis,
               largest=g.maybe(g.size(0, 1)) if g.opset >= 11 else None)


@operator("Unique", versions=[11])
def _(g, op):
    x = g.data(g.shape(1, 3, 4), g.pick([np.float32, np.int64]), 0, 3)
    x = np.round(x).astype(x.dtype)
    return one(op, {}, g.pick(["y", "y,f,i,c", "y,,i,c"]), {"x": x}, opset=g.opset, axis=g.maybe(g.axis(x.ndim)),
               sorted=g.maybe(g.size(0, 1)))


# ----------------------------------------------------------------------------------------------------------------
# Products
# ----------------------------------------------------------------------------------------------------------------

@operator("MatMul", versions=[7, 9, 13])
def _(g, op):
    kind = g.pick([np.float32, np.float32, np.int32, np.int64] if g.opset >= 9 else REAL)
    batch, n, k, m = g.shape(0, 2), g.size(), g.size(), g.size()
    a, b = [*g.broadcast(batch), n, k], [*batch, k, m]
    if g.chance(0.2):
        a = [k]
    elif g.chance(0.2):
        b = [k]
    inputs, constants = {"a": g.data(a, kind)}, {}
    g.given("b", g.data(b, kind), inputs, constants)
    return one(op, inputs, "y", constants, "a,b", opset=g.opset)


@operator("Gemm", versions=[7, 9, 11, 13])
def _(g, op):
    kind = g.pick([np.float32, np.float32, np.float64])
    n, k, m, ta, tb = g.size(), g.size(), g.size(), g.size(0, 1), g.size(0, 1)
    inputs = {"a": g.data([k, n] if ta else [n, k], kind)}
    constants = {"b": g.data([m, k] if tb else [k, m], kind)}
    if g.opset < 11 or g.chance(0.7):
        g.given("c", g.data(g.pick([[], [1], [m], [1, m], [n, 1], [n, m]]), kind), inputs, constants)
    order = "a,b,c" if "c" in inputs or "c" in constants else "a,b"
    return one(op, inputs, "y", constants, order, opset=g.opset, alpha=g.maybe(0.5), beta=g.maybe(1.5),
               transA=ta or None, transB=tb or None)


@operator("Einsum", versions=[12])
def _(g, op):
    sizes = {letter: g.size(1, 4) for letter in "abcdij"}
    formula = g.pick(["ab,bc->ac", "abc,acd->abd", "ab,ab->a", "ij->ji", "ii->i", "abc->b", "ab,cd->acbd", "abc,cd", "abij,abdj->abid",
                      "a,b->ab", "ab,bc,cd->ad", "...ij,...jd->...id", "...a->...", "ab->ba", "abc,bc->a"])
    inputs = {}
    for i, letters in enumerate(formula.split("->")[0].split(",")):
        sizes["."] = 2
        shape = [sizes[letter] for letter in letters.replace("...", ".")]
        if letters == "ii":
            shape = [sizes["i"]] * 2
        inputs[f"x{i}"] = g.data(shape)
    return one(op, inputs, "y", opset=g.opset, equation=formula)


@operator("Det", versions=[11, 22])
def _(g, op):
    n = g.size(1, 9)
    return one(op, {"x": g.data([*g.shape(0, 2, 3), n, n])}, "y", opset=g.opset, tolerance=2e-5)


@operator("DFT", versions=[17, 20])
def _(g, op):
    x = g.data([*g.shape(2, 3, 9), g.size(1, 2)])
    x = x if x.shape[-2] > 1 else np.concatenate([x, x], -2)
    onesided = g.size(0, 1) if x.shape[-1] == 1 else 0
    inverse = 0 if onesided else g.size(0, 1)
    axis = g.size(1 if g.opset < 20 else 0, x.ndim - 2)
    constants, order = {}, "x"
    if g.chance(0.3):
        constants["n"] = np.array(g.size(2, 12), np.int64)
        order += ",n"
    if g.opset < 20:
        return one(op, {"x": x}, "y", constants, order, opset=g.opset, axis=axis, onesided=onesided, inverse=inverse,
                   tolerance=1e-5)
    if g.chance():
        constants["a"] = np.array(axis - (x.ndim if g.chance() else 0), np.int64)
        order = "x,n,a" if "n" in constants else "x,,a"
    return one(op, {"x": x}, "y", constants, order, opset=g.opset, onesided=onesided, inverse=inverse, tolerance=1e-5)


@operator("STFT", versions=[17])
def _(g, op):
    n, step = g.size(2, 9), g.size(1, 4)
    x = g.data([g.size(1, 3), n + step * g.size(0, 5) + g.size(0, step - 1), 1])
    constants = {"s": np.array(step, np.int64)}
    if g.chance():
        constants |= {"w": np.abs(g.data([n]))}
        return one(op, {"x": x}, "y", constants, "x,s,w", opset=g.opset, onesided=g.maybe(g.size(0, 1)), tolerance=1e-5)
    constants |= {"n": np.array(n, np.int64)}
    return one(op, {"x": x}, "y", constants, "x,s,,n", opset=g.opset, onesided=g.maybe(g.size(0, 1)), tolerance=1e-5)


# ----------------------------------------------------------------------------------------------------------------
# Convolutions and pools
# ----------------------------------------------------------------------------------------------------------------

def window(g, axes, size, kernel=None, dilated=True):
    """Attributes of a window that fits, with how large it is. Windows of SAME that are dilated, or smaller than a stride,
    are not what ONNX Runtime computes."""
    kernel = kernel or [g.size(1, 3) for _ in range(axes)]
    way = g.pick(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    same = way.startswith("SAME")
    more = {"strides": g.maybe([g.size(1, k if same else 3) for k in kernel])}
    dilations = [g.size(1, 2) for _ in range(axes)] if dilated and not same and g.chance(0.4) else None
    more["dilations"] = dilations
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations or [1] * axes)]
    if way == "NOTSET":
        more["pads"] = g.maybe([g.size(0, k // 2) for k in kernel * 2])
    else:
        more["auto_pad"] = way
    return kernel, more, [max(s, e) for s, e in zip(size, extents)]


@operator("Conv", "ConvInteger", versions=[7, 11, 22])
def _(g, op):
    axes, groups = g.size(1, 3), g.size(1, 3)
    size = [g.size(1, 7) for _ in range(axes)]
    kernel, more, size = window(g, axes, size)
    n, cin, cout = g.size(1, 2), groups * g.size(1, 2), groups * g.size(1, 2)
    if op == "ConvInteger":
        x, w = g.data([n, cin, *size], np.uint8, 0, 200), g.data([cout, cin // groups, *kernel], np.uint8, 0, 200)
        constants, order = {"w": w}, "x,w"
        if g.chance():
            constants |= {"xz": np.uint8(100)}
            order += ",xz"
        return one(op, {"x": x}, "y", constants, order, opset=max(g.opset, 10), group=groups, **more)
    constants = {"w": g.data([cout, cin // groups, *kernel])}
    if g.chance():
        constants["b"] = g.data([cout])
    return one(op, {"x": g.data([n, cin, *size])}, "y", constants, opset=g.opset, group=groups,
               kernel_shape=g.maybe(kernel), **more)


@operator("ConvTranspose", versions=[7, 11, 22])
def _(g, op):
    axes, groups = g.size(1, 3), g.size(1, 2)
    size, kernel = [g.size(1, 5) for _ in range(axes)], [g.size(1, 3) for _ in range(axes)]
    strides, dilations = [g.size(1, 3) for _ in range(axes)], [g.size(1, 2) for _ in range(axes)]
    n, cin, cout = g.size(1, 2), groups * g.size(1, 2), g.size(1, 2)
    more, way = {}, g.pick(["pads", "shape", "none"])
    full = [(s - 1) * t + (k - 1) * d + 1 for s, t, k, d in zip(size, strides, kernel, dilations)]
    if way == "pads":
        more["pads"] = [g.size(0, min(1, f // 3)) for f in full * 2]
        more["output_padding"] = [g.size(0, min(t - 1, 1)) for t in strides]
    elif way == "shape":
        more["output_shape"] = [max(1, f - g.size(0, 2)) for f in full]
        more["auto_pad"] = g.pick([None, "SAME_UPPER", "SAME_LOWER"])
    constants = {"w": g.data([cin, cout, *kernel])}
    if g.chance():
        constants["b"] = g.data([cout * groups])
    return one(op, {"x": g.data([n, cin, *size])}, "y", constants, opset=g.opset, group=groups, strides=strides,
               dilations=dilations, **more)


@operator("MaxPool", "AveragePool", "LpPool", versions=[7, 8, 10, 11, 12, 18, 19, 22])
def _(g, op):
    axes = g.size(1, 3)
    opset = {18: 17}.get(g.opset, g.opset) if op == "AveragePool" else g.opset
    dilated = opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    kernel, more, size = window(g, axes, [g.size(2, 8) for _ in range(axes)], dilated=dilated)
    if not dilated:
        more["dilations"] = None
    if "auto_pad" not in more and opset >= (18 if op == "LpPool" else 10) and g.chance(0.4):
        more["ceil_mode"] = 1
    outputs, kind = "y", np.float32
    if op == "MaxPool":
        outputs = "y,i" if opset >= 8 and g.chance(0.4) else "y"
        more["storage_order"] = g.maybe(g.size(0, 1)) if opset >= 8 else None
        kind = np.int8 if opset >= 12 and g.chance(0.2) else np.float32
    elif op == "AveragePool" and not more.get("ceil_mode"):
        more["count_include_pad"] = g.maybe(g.size(0, 1))
    elif op == "LpPool":
        more["p"] = g.maybe(g.size(1, 3))
    return one(op, {"x": g.data([g.size(1, 2), g.size(1, 3), *size], kind)}, outputs, opset=opset, kernel_shape=kernel, **more)


@operator("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", versions=[7, 21])
def _(g, op):
    p = g.maybe(g.size(1, 3)) if op == "GlobalLpPool" else None
    return one(op, {"x": g.data([*g.shape(2, 2), *g.shape(1, 3)])}, "y", opset=g.opset, p=p)


@operator("MaxUnpool", versions=[9, 11, 22])
def _(g, op):
    axes = g.size(1, 3)
    size, kernel = [g.size(1, 3) for _ in range(axes)], [g.size(1, 3) for _ in range(axes)]
    full = [s * k for s, k in zip(size, kernel)]
    n, c = g.size(1, 2), g.size(1, 2)
    base = np.arange(n * c * int(np.prod(full))).reshape([n, c, *full])
    cells = base[(slice(None), slice(None), *[slice(None, None, k) for k in kernel])]
    inputs, constants = {"x": g.data(cells.shape), "i": cells.astype(np.int64)}, {}
    return one(op, inputs, "y", constants, opset=g.opset, kernel_shape=kernel, strides=kernel)


@operator("MaxRoiPool", versions=[7, 21])
def _(g, op):
    x, rois = g.data([g.size(1, 2), g.size(1, 3), g.size(3, 9), g.size(3, 9)]), []
    for _ in range(g.size(1, 4)):
        x1, y1 = g.size(0, x.shape[3] - 1), g.size(0, x.shape[2] - 1)
        rois.append([g.size(0, x.shape[0] - 1), x1, y1, g.size(x1, x.shape[3] - 1), g.size(y1, x.shape[2] - 1)])
    inputs, constants = {"x": x}, {}
    g.given("r", np.array(rois, np.float32), inputs, constants)
    return one(op, inputs, "y", constants, "x,r", opset=g.opset, pooled_shape=[g.size(1, 4), g.size(1, 4)],
               spatial_scale=g.maybe(0.75))


@operator("RoiAlign", versions=[10, 16, 21])
def _(g, op):
    x, inputs, constants = g.data([g.size(1, 2), g.size(1, 3), g.size(3, 9), g.size(3, 9)]), {}, {}
    count = g.size(1, 4)
    corner, extent = g.random.random([count, 2]) * 6 - 1, g.random.random([count, 2]) * 6
    inputs["x"] = x
    rois = np.concatenate([corner, corner + extent], 1).astype(np.float32)
    ratio = g.size(0, 3)
    if ratio:
        g.given("r", rois, inputs, constants)
    else:
        constants["r"] = rois
    g.given("b", g.random.integers(0, x.shape[0], count).astype(np.int64), inputs, constants)
    mode = g.pick([None, "half_pixel", "output_half_pixel"]) if g.opset >= 16 else None
    return one(op, inputs, "y", constants, "x,r,b", opset=g.opset, output_height=g.size(1, 4), output_width=g.size(1, 4),
               sampling_ratio=ratio, spatial_scale=g.maybe(0.75), mode=g.pick([None, "avg", "max"]),
               coordinate_transformation_mode=mode, tolerance=1e-5)


@operator("Resize", versions=[10, 11, 13, 18, 19])
def _(g, op):
    mode = g.pick(["nearest", "linear", "cubic"]) if g.opset >= 11 else g.pick(["nearest", "linear"])
    shape = [g.size(1, 2), g.size(1, 2), g.size(2, 7), g.size(2, 7)]
    places = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", None]
    more = {"mode": mode}
    if g.opset >= 19:
        places.append("half_pixel_symmetric")
    if g.opset >= 11:
        more["coordinate_transformation_mode"] = g.pick(places)
        more["nearest_mode"] = g.pick([None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
        more["cubic_coeff_a"] = g.maybe(-0.5)
        more["exclude_outside"] = g.maybe(1) if mode == "cubic" else None
    if g.opset >= 18 and mode != "nearest":
        more["antialias"] = g.maybe(1)
        if more["antialias"]:
            more["coordinate_transformation_mode"] = None
    sized = g.opset >= 11 and g.chance()
    to = [g.size(1, 12), g.size(1, 12)]
    axes = [2, 3] if g.opset >= 18 and g.chance() else None
    first = [] if axes else shape[:2] if sized else [1, 1]
    if sized:
        constants, order = {"s": np.array(first + to, np.int64)}, "x,,,s"
        if axes and g.chance():
            more["keep_aspect_ratio_policy"] = g.pick(["stretch", "not_larger", "not_smaller"])
    else:
        scales = [t / s for t, s in zip(to, shape[2:])] if g.chance() else [g.pick([0.5, 2, 3, 1.5, 0.7]) for _ in to]
        if more.get("coordinate_transformation_mode") == "align_corners": # otherwise of a size that is rounded, or not
            scales = [g.size(1, 3) for _ in to]
        constants, order = {"s": np.array(first + scales, np.float32)}, "x,s" if g.opset < 11 else "x,,s"
    if g.opset in (11, 12) and sized:
        constants |= {"none": np.zeros(0, np.float32)}
        order = "x,none,none,s"
    elif g.opset in (11, 12):
        constants |= {"none": np.zeros(0, np.float32)}
        order = "x,none,s"
    return one(op, {"x": g.data(shape)}, "y", constants, order, opset=g.opset, axes=axes, tolerance=1e-5, **more)


@operator("Upsample", versions=[7, 9])
def _(g, op):
    scales = [1.0, 1.0, g.pick([1.0, 2.0, 1.5, 3.0]), g.pick([1.0, 2.0, 2.5])]
    x, mode = {"x": g.data([1, 2, g.size(), g.size()])}, g.pick([None, "nearest", "linear"])
    if g.opset < 9:
        return one(op, x, "y", opset=g.opset, mode=mode, scales=scales)
    return one(op, x, "y", {"s": np.array(scales, np.float32)}, opset=g.opset, mode=mode)


@operator("GridSample", versions=[16, 20, 22])
def _(g, op):
    axes = 3 if g.opset >= 20 and g.chance(0.4) else 2
    modes = ["bilinear", "nearest", "bicubic"] if g.opset < 20 else ["linear", "nearest"] + (["cubic"] if axes == 2 else [])
    n, c = g.size(1, 2), g.size(1, 3)
    x = g.data([n, c, *[g.size(2, 5) for _ in range(axes)]])
    grid = (g.random.random([n, *[g.size(1, 4) for _ in range(axes)], axes]) * 3 - 1.5).astype(np.float32)
    return one(op, {"x": x, "g": grid}, "y", opset=g.opset, mode=g.pick([None, *modes]), tolerance=1e-5,
               padding_mode=g.pick([None, "zeros", "border", "reflection"]), align_corners=g.maybe(g.size(0, 1)))


@operator("AffineGrid", versions=[20])
def _(g, op):
    axes, n = g.size(2, 3), g.size(1, 2)
    inputs, constants = {}, {"s": np.array([n, 2, *[g.size(2, 5) for _ in range(axes)]], np.int64)}
    inputs["t"] = g.data([n, axes, axes + 1])
    return one(op, inputs, "y", constants, "t,s", opset=g.opset, align_corners=g.maybe(g.size(0, 1)))


def col_to_im(x, image, block, strides, dilations, pads):
    """Columns added to images; ONNX Runtime 1.30 mistakes where channels begin if pads are not the same at both ends."""
    channels, grid = x.shape[1] // int(np.prod(block)), [*np.ndindex(*block)]
    blocks = [(i + a + b - (k - 1) * d - 1) // s + 1
              for i, k, s, d, a, b in zip(image, block, strides, dilations, pads, pads[len(image):])]
    y = np.zeros([x.shape[0], channels, *image], np.float32)
    for k, element in enumerate(grid):
        for column, place in enumerate(np.ndindex(*blocks)):
            at = [p * s + e * d - a for p, s, e, d, a in zip(place, strides, element, dilations, pads)]
            if all(0 <= a < size for a, size in zip(at, image)):
                y[(slice(None), slice(None), *at)] += x[:, k::len(grid), column]
    return y


@operator("Col2Im", versions=[18])
def _(g, op):
    axes, n, c = g.size(1, 3), g.size(1, 2), g.size(1, 2)
    block, image = [g.size(1, 3) for _ in range(axes)], [g.size(5, 7) for _ in range(axes)]
    strides, dilations, pads = [g.size(1, 2) for _ in block], [g.size(1, 2) for _ in block], [g.size(0, 1) for _ in block * 2]
    blocks = [(i + pads[k] + pads[k + axes] - (b - 1) * d - 1) // s + 1
              for k, (i, b, d, s) in enumerate(zip(image, block, dilations, strides))]
    x = g.data([n, c * int(np.prod(block)), int(np.prod(blocks))])
    expected = {"y": col_to_im(x, image, block, strides, dilations, pads)}
    return one(op, {"x": x}, "y", {"i": np.array(image, np.int64), "b": np.array(block, np.int64)}, opset=g.opset,
               expected=expected, strides=strides, dilations=dilations, pads=pads)


@operator("DeformConv", versions=[19, 22])
def _(g, op):
    groups, parts = g.size(1, 2), g.size(1, 2)
    kernel, strides, dilations = [[g.size(1, m) for _ in range(2)] for m in (3, 2, 2)]
    pads, n, size = [g.size(0, 1) for _ in range(4)], g.size(1, 2), [g.size(5, 7) for _ in range(2)]
    cin, cout = 2 * groups * parts, groups * g.size(1, 2)
    out = [(s + pads[i] + pads[i + 2] - (k - 1) * d - 1) // t + 1
           for i, (s, k, t, d) in enumerate(zip(size, kernel, strides, dilations))]
    inputs = {"x": g.data([n, cin, *size]), "o": g.data([n, parts * 2 * kernel[0] * kernel[1], *out])}
    constants, order = {"w": g.data([cout, cin // groups, *kernel])}, "x,w,o"
    if g.chance():
        constants["b"] = g.data([cout])
    if g.chance():
        inputs["m"] = g.data([n, parts * kernel[0] * kernel[1], *out])
    order += (",b" if "b" in constants else ",") + (",m" if "m" in inputs else "")
    return one(op, inputs, "y", constants, order.rstrip(","), opset=g.opset, group=groups, offset_group=parts, strides=strides,
               dilations=dilations, pads=pads, kernel_shape=kernel, tolerance=1e-5)


# ----------------------------------------------------------------------------------------------------------------
# Normalizations and reductions
# ----------------------------------------------------------------------------------------------------------------

@operator("BatchNormalization", versions=[7, 9, 14, 15])
def _(g, op):
    x = g.data(g.shape(2, 5))
    c = x.shape[1]
    constants = {"s": g.data([c]), "b": g.data([c]), "m": g.data([c]), "v": np.abs(g.data([c])) + np.float32(0.1)}
    return one(op, {"x": x}, "y", constants, opset=g.opset, epsilon=g.maybe(1e-3), tolerance=4e-6)


@operator("InstanceNormalization", versions=[7, 22])
def _(g, op):
    x = g.data([*g.shape(2, 2), *[g.size(2, 5) for _ in range(g.size(1, 3))]])
    return one(op, {"x": x}, "y", {"s": g.data([x.shape[1]]), "b": g.data([x.shape[1]])}, opset=g.opset,
               epsilon=g.maybe(1e-3), tolerance=1e-5)


@operator("LayerNormalization", versions=[17])
def _(g, op):
    x = g.data([*g.shape(0, 3), g.size(3, 8)])
    axis = g.axis(x.ndim)
    tail = x.shape[axis:]
    constants = {"s": g.data(tail)}
    if g.chance(0.7):
        constants["b"] = g.data(tail)
    return one(op, {"x": x}, g.pick(["y", "y,m,d"]), constants, opset=g.opset, axis=axis, epsilon=g.maybe(1e-3),
               stash_type=g.maybe(1), tolerance=1e-5)


@operator("GroupNormalization", versions=[18, 21])
def _(g, op):
    groups = g.size(1, 3)
    c = groups * g.size(1, 3)
    x = g.data([g.size(1, 2), c, *[g.size(2, 5) for _ in range(g.size(1, 2))]])
    width = c if g.opset >= 21 else groups
    return one(op, {"x": x}, "y", {"s": g.data([width]), "b": g.data([width])}, opset=g.opset, num_groups=groups,
               epsilon=g.maybe(1e-3), tolerance=1e-5)


@operator("MeanVarianceNormalization", versions=[9, 13])
def _(g, op):
    x = g.data([g.size(2, 3) for _ in range(4)])
    return one(op, {"x": x}, "y", opset=g.opset, axes=g.pick([None, [0, 2, 3], [2, 3]]), tolerance=1e-5)


@operator("LpNormalization", versions=[7, 22])
def _(g, op):
    x = g.data(g.shape(1))
    return one(op, {"x": x}, "y", opset=g.opset, axis=g.maybe(g.axis(x.ndim)), p=g.maybe(g.size(1, 2)))


@operator("LRN", versions=[7, 13])
def _(g, op):
    x = g.data([1, g.size(1, 7), *g.shape(2, 2)])
    return one(op, {"x": x}, "y", opset=g.opset, size=2 * g.size(0, 2) + 1, alpha=g.maybe(0.3), beta=g.maybe(0.6),
               bias=g.maybe(2.0))


@operator("Softmax", "LogSoftmax", "Hardmax", versions=[7, 11, 13])
def _(g, op):
    x = g.data(g.shape(2))
    return one(op, {"x": x}, "y", opset=g.opset, axis=g.maybe(g.axis(x.ndim, g.opset >= 11)), tolerance=4e-6)


@operator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
          "ReduceLogSumExp", "ReduceSumSquare", versions=[7, 11, 12, 13, 18, 20])
def _(g, op):
    kinds = [np.float32, np.float32, np.int32] + ([np.int64] if op not in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp") else [])
    if op == "ReduceLogSumExp":
        kinds = REAL
    if op in ("ReduceMax", "ReduceMin"):
        kinds += [np.int8, np.uint8] if g.opset >= 12 else []
        kinds += [np.bool_] if g.opset >= 20 else []
    x = g.data(g.shape(1), g.pick(kinds))
    if op == "ReduceProd":
        x = np.clip(x, -1, 1) if x.dtype.kind == "i" else np.clip(x, -2, 2)
    if op == "ReduceLogSum":
        x = np.abs(x) + x.dtype.type(1)
    axes = g.maybe(g.axes(x.ndim, g.opset >= 11), 0.8)
    more = {"keepdims": g.maybe(g.size(0, 1)), "tolerance": 1e-5 if x.dtype.kind == "f" else None}
    if g.opset < (13 if op == "ReduceSum" else 18):
        return one(op, {"x": x}, "y", opset=g.opset, axes=axes, **more)
    noop = g.maybe(g.size(0, 1)) if axes is None else None
    constants = {"a": np.array(axes, np.int64)} if axes else {}
    return one(op, {"x": x}, "y", constants, opset=g.opset, noop_with_empty_axes=noop, **more)


@operator("ArgMax", "ArgMin", versions=[7, 11, 12, 13])
def _(g, op):
    x = g.data(g.shape(1), g.pick([np.float32, np.int32]), 0, 4)
    return one(op, {"x": x}, "y", opset=g.opset, axis=g.maybe(g.axis(x.ndim, g.opset >= 11)), keepdims=g.maybe(g.size(0, 1)),
               select_last_index=g.maybe(g.size(0, 1)) if g.opset >= 12 else None)


@operator("CumSum", versions=[11, 14])
def _(g, op):
    x = g.data(g.shape(1), g.pick([np.float32, np.int32, np.int64]))
    return one(op, {"x": x}, "y", {"a": np.array(g.axis(x.ndim), np.int64)}, opset=g.opset, exclusive=g.maybe(g.size(0, 1)),
               reverse=g.maybe(g.size(0, 1)))


# ----------------------------------------------------------------------------------------------------------------
# Quantization
# ----------------------------------------------------------------------------------------------------------------

@operator("QuantizeLinear", "DequantizeLinear", versions=[10, 13, 19, 21])
def _(g, op):
    x = g.data([size * 2 for size in g.shape(2, 3)])
    kind = g.pick([np.uint8, np.int8] + ([np.uint16, np.int16] if g.opset >= 21 else []))
    axis, way, more = g.axis(x.ndim), g.pick(["all", "axis", "blocks"]), {}
    if g.opset < 13 or (way == "blocks" and g.opset < 21):
        way = "all"
    shape = []
    if way == "axis":
        shape, more["axis"] = [x.shape[axis]], axis
    elif way == "blocks":
        shape = list(x.shape)
        shape[axis] //= 2
        more |= {"axis": axis, "block_size": 2}
    constants = {"s": np.asarray(np.abs(g.data(shape)) * np.float32(0.1) + np.float32(0.02), np.float32)}
    if g.chance(0.7):
        constants["z"] = np.asarray(g.data(shape, kind, -5, 9), kind)
    elif op == "QuantizeLinear":
        kind = np.uint8
    if op == "QuantizeLinear":
        return one(op, {"x": x}, "y", constants, opset=g.opset, **more)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return one(op, {"x": g.random.integers(low, high, x.shape).astype(kind)}, "y", constants, opset=g.opset, **more)


@operator("DynamicQuantizeLinear", versions=[11])
def _(g, op):
    return one(op, {"x": g.data(g.shape(1))}, "y,s,z", opset=g.opset)


@operator("MatMulInteger", versions=[10])
def _(g, op):
    kind, n, k, m, batch = g.pick([np.uint8, np.int8]), g.size(), g.size(), g.size(), g.shape(0, 1)
    inputs, constants, order = {"a": g.data([*batch, n, k], np.uint8, 0, 255)}, {"b": g.data([k, m], kind, 1 - WEIGHT, WEIGHT)}, "a,b"
    if g.chance():
        constants["az"] = np.array(g.size(0, 200), np.uint8)
        order += ",az"
        if g.chance():
            constants["bz"] = g.data(g.pick([[], [m]]), kind, -9, 9)
            order += ",bz"
    return one(op, inputs, "y", constants, order, opset=g.opset)


@operator("QLinearMatMul", versions=[10, 21])
def _(g, op):
    n, k, m = g.size(), g.size(), g.size()
    constants = {"as": np.float32(0.02), "az": np.uint8(g.size(0, 200)), "b": g.data([k, m], np.uint8, 0, 200),
                 "bs": np.float32(0.013), "bz": np.uint8(g.size(0, 200)), "ys": np.float32(0.31), "yz": np.uint8(120)}
    return one(op, {"a": g.data([*g.shape(0, 1), n, k], np.uint8, 0, 255)}, "y", constants, "a,as,az,b,bs,bz,ys,yz",
               opset=g.opset, tolerance=0.02)


@operator("QLinearConv", versions=[10])
def _(g, op):
    groups = g.size(1, 2)
    kernel, more, size = window(g, 2, [g.size(2, 6), g.size(2, 6)])
    cin, cout, each = groups * g.size(1, 2), groups * g.size(1, 2), g.chance()
    constants = {"xs": np.float32(0.02), "xz": np.uint8(g.size(0, 200)),
                 "w": g.data([cout, cin // groups, *kernel], np.int8, 1 - WEIGHT, WEIGHT),
                 "ws": np.abs(g.data([cout] if each else [])) * np.float32(0.01) + np.float32(0.001),
                 "wz": np.zeros([cout] if each else [], np.int8), "ys": np.float32(0.31), "yz": np.uint8(120)}
    constants["ws"] = np.asarray(constants["ws"], np.float32)
    order = "x,xs,xz,w,ws,wz,ys,yz"
    if g.chance():
        constants["b"] = g.data([cout], np.int32, -300, 300)
        order += ",b"
    return one(op, {"x": g.data([1, cin, *size], np.uint8, 0, 255)}, "y", constants, order, opset=g.opset, group=groups,
               tolerance=0.02, **more)


# ----------------------------------------------------------------------------------------------------------------
# Recurrent networks
# ----------------------------------------------------------------------------------------------------------------

@operator("LSTM", "GRU", "RNN", versions=[7, 14, 22])
def _(g, op):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    steps, batch, width, hidden = g.size(1, 4), g.size(1, 3), g.size(1, 4), g.size(1, 4)
    direction = g.pick([None, "forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    inputs = {"x": g.data([steps, batch, width])}
    constants = {"w": g.data([d, gates * hidden, width]) / 4, "r": g.data([d, gates * hidden, hidden]) / 4}
    order = "x,w,r"
    names = ["b", "n", "h"] + (["c", "p"] if op == "LSTM" else [])
    values = {"b": g.data([d, 2 * gates * hidden]), "n": g.random.integers(1, steps + 1, batch).astype(np.int32),
              "h": g.data([d, batch, hidden]), "c": g.data([d, batch, hidden]), "p": g.data([d, 3 * hidden])}
    for name in names:
        kept = g.chance(0.4)
        if kept:
            g.given(name, values[name], inputs, constants)
        order += "," + (name if kept else "")
    kinds = ["Sigmoid", "Tanh", "Relu", "Softsign", "HardSigmoid", "LeakyRelu", "Elu"]
    count = d * {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
    more = {"clip": g.maybe(1.5, 0.2)}
    if g.chance(0.3):
        more["activations"] = [g.pick(kinds) for _ in range(count)]
    if op == "GRU":
        more["linear_before_reset"] = g.maybe(g.size(0, 1))
    if op == "LSTM":
        more["input_forget"] = g.maybe(1, 0.2)
    outputs = g.pick(["y,h2", "y", ",h2"]) + (",c2" if op == "LSTM" and g.chance() else "")
    return one(op, inputs, outputs, constants, order.rstrip(","), opset=g.opset, hidden_size=hidden, direction=direction,
               tolerance=1e-5, **more)


# Operators whose real numbers may all be float16.
HALVES = set("""
    Ceil Cos Erf Exp Floor Round Sin Tanh Sigmoid Softplus Softsign Log Sqrt Reciprocal Abs Neg Sign Relu Elu LeakyRelu HardSigmoid
    Gelu PRelu Add Sub Mul Div Equal Less Greater Max Min Where Clip Reshape Transpose Concat Split Slice Expand Tile Pad Gather
    GatherElements GatherND TopK MatMul Gemm Conv ConvTranspose MaxPool AveragePool GlobalAveragePool
    BatchNormalization InstanceNormalization LayerNormalization GroupNormalization Softmax LogSoftmax ReduceSum ReduceMean ReduceMax
    ReduceL2 ReduceLogSumExp ArgMax Einsum Trilu ReverseSequence DepthToSpace SpaceToDepth HardSwish Mish IsNaN Pow Selu Hardmax
    LRN CenterCropPad GridSample RoiAlign GRU RNN""".split())


def halved(case):
    """With float16 for float32."""
    case.inputs = {name: value.astype(np.float16) if value.dtype == np.float32 else value for name, value in case.inputs.items()}
    for value in case.model.graph.input:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for constant in case.model.graph.initializer:
        if constant.data_type == TensorProto.FLOAT:
            constant.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant).astype(np.float16), constant.name))
    case.tolerance = None
    return case


def draw(name, seed):
    """The case of an operator that a seed makes; every fifth one is of float16, if it may be."""
    versions, function = GENERATORS[name]
    case = function(Draw([zlib.crc32(name.encode()), seed], versions), name)
    return halved(case) if seed % 5 == 4 and name in HALVES else case


__all__ = ["GENERATORS", "draw"]
