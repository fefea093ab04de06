# SPDX-License-Identifier: Apache-2.0
"""Operands without elements: what every operator makes of them, and what none is defined to make."""

import json

import oracle
from graph import Graph, Suite
from numeric import FLOATS, NUMPY_TYPE, Tensor
from values import anything, text

REAL = ("abs", "ceil", "cos", "elu", "erf", "exp", "floor", "gelu", "hardSigmoid", "hardSwish", "leakyRelu", "linear",
        "log", "neg", "reciprocal", "relu", "roundEven", "sigmoid", "sign", "sin", "softplus", "softsign", "sqrt",
        "tan", "tanh")
BINARY = ("add", "sub", "mul", "div", "max", "min", "pow", "modulusFloor", "modulusTruncate", "equal", "notEqual", "greater", "greaterOrEqual", "lesser",
          "lesserOrEqual")
SUMS = ("reduceL1", "reduceL2", "reduceLogSum", "reduceLogSumExp", "reduceProduct", "reduceSum", "reduceSumSquare")
EXTREMES = ("reduceMax", "reduceMean", "reduceMin")
INTEGER_SUMS = ("reduceL1", "reduceProduct", "reduceSum", "reduceSumSquare")


class Items:
    """An operand that is a constant list of sizes, or one number."""

    def __init__(self, *items, scalar=False):
        self.items = items[0] if scalar else list(items)

    def __str__(self):
        return json.dumps(self.items, separators=(",", ":"))


def weights(prefix, gates, hidden, inputs):
    """The shapes of the weights of a recurrent operator; prefix holds the directions, if there are any."""
    return {"weight": prefix + (gates * hidden, inputs), "recurrentWeight": prefix + (gates * hidden, hidden)}


def defined():
    """(operator, {operand: shape or [shapes]}, attributes, {operand: type} or one type)."""
    for op in REAL:
        yield op, {"input": (2, 0, 3)}, {}, "float32"
    for op in ("isNaN", "isInfinite"):
        yield op, {"a": (0,)}, {}, "float16"
    yield "logicalNot", {"a": (0, 2)}, {}, "uint8"
    yield "identity", {"input": (0,)}, {}, "int64"
    yield "clamp", {"input": (0, 4)}, {"minValue": 0, "maxValue": 6}, "int32"
    yield "cast", {"input": (3, 0)}, {"dataType": "int8"}, "float16"
    for op in BINARY:
        yield op, {"a": (2, 0), "b": (1, 1)}, {}, "float32"
    for op in ("logicalAnd", "logicalOr", "logicalXor"):
        yield op, {"a": (2, 1), "b": (1, 0)}, {}, "uint8"
    yield "add", {"a": (), "b": (0,)}, {}, "int64"
    yield "mul", {"a": (3, 1, 2), "b": (0, 1)}, {}, "float16"
    yield "prelu", {"input": (2, 0), "slope": (1,)}, {}, "float32"
    yield "where", {"condition": (1, 3), "trueValue": (0, 1), "falseValue": ()}, {}, {"condition": "uint8"}
    yield "where", {"condition": (0,), "trueValue": (1,), "falseValue": (2, 1)}, {}, {"condition": "uint8"}

    for op in SUMS + EXTREMES:
        yield op, {"input": (0, 3)}, {"axes": [1]}, "float32"
        yield op, {"input": (2, 0)}, {"axes": [], "keepDimensions": True}, "float16"
    for op in SUMS:
        yield op, {"input": (2, 0)}, {"axes": [1]}, "float32"
        yield op, {"input": (2, 0, 3)}, {"axes": [1, 0], "keepDimensions": True}, "float16"
        yield op, {"input": (0,)}, {}, "float16"
    for op in INTEGER_SUMS:
        yield op, {"input": (0, 2)}, {"axes": [0]}, "int64"
        yield op, {"input": (2, 0, 2)}, {"axes": [1]}, "uint32"
    for op in ("argMin", "argMax"):
        yield op, {"input": (0, 3)}, {"axis": 1}, "float32"
        yield op, {"input": (2, 3, 0)}, {"axis": 0, "outputDataType": "int64", "keepDimensions": True}, "int32"
    yield "cumulativeSum", {"input": (2, 0)}, {"axis": 1, "exclusive": True, "reversed": True}, "float32"
    yield "cumulativeSum", {"input": (0, 2)}, {"axis": 1}, "int32"
    yield "softmax", {"input": (2, 0)}, {"axis": 1}, "float32"
    yield "softmax", {"input": (0, 2)}, {"axis": 1}, "float16"

    yield "batchNormalization", {"input": (0, 2, 3), "mean": (2,), "variance": (2,), "scale": (2,)}, {}, "float32"
    yield "batchNormalization", {"input": (2, 0, 3), "mean": (0,), "variance": (0,), "bias": (0,)}, {}, "float16"
    yield "instanceNormalization", {"input": (1, 2, 0, 3), "scale": (2,)}, {}, "float32"
    yield "instanceNormalization", {"input": (1, 2, 3, 0), "bias": (0,)}, {"layout": "nhwc"}, "float16"
    yield "layerNormalization", {"input": (2, 0), "scale": (0,), "bias": (0,)}, {}, "float32"
    yield "layerNormalization", {"input": (0, 2, 3), "scale": (3,)}, {"axes": [2]}, "float32"

    yield "matmul", {"a": (2, 0), "b": (0, 3)}, {}, "float32"
    yield "matmul", {"a": (3, 1, 2, 0), "b": (2, 0, 3)}, {}, "float16"
    yield "matmul", {"a": (0, 2, 3), "b": (3, 4)}, {}, "float32"
    yield "matmul", {"a": (2, 3), "b": (3, 0)}, {}, "float32"
    yield "gemm", {"a": (2, 0), "b": (0, 3)}, {}, "float32"
    yield "gemm", {"a": (0, 2), "b": (3, 0), "c": (3,)}, {"aTranspose": True, "bTranspose": True, "alpha": 2.0,
                                                         "beta": 0.5}, "float32"
    yield "gemm", {"a": (2, 0), "b": (0, 3), "c": (2, 1)}, {"beta": 0.0}, "float16"
    yield "gemm", {"a": (0, 2), "b": (2, 3), "c": (1, 3)}, {}, "float32"

    yield "conv2d", {"input": (1, 0, 3, 2), "filter": (2, 0, 2, 1), "bias": (2,)}, {}, "float32"
    yield "conv2d", {"input": (1, 3, 2, 0), "filter": (4, 2, 1, 0), "bias": (4,)}, {
        "inputLayout": "nhwc", "filterLayout": "ohwi", "groups": 2}, "float32"
    yield "conv2d", {"input": (1, 2, 0, 3), "filter": (2, 2, 2, 2), "bias": (2,)}, {"padding": [1, 1, 0, 0]}, "float16"
    yield "conv2d", {"input": (0, 2, 3, 3), "filter": (2, 2, 3, 3)}, {"strides": [2, 2]}, "float32"
    yield "conv2d", {"input": (1, 2, 3, 3), "filter": (0, 2, 3, 3), "bias": (0,)}, {}, "float32"
    yield "conv2d", {"input": (2, 0, 2, 2), "filter": (3, 0, 1, 1)}, {"activation": {"name": "sigmoid"}}, "float32"
    yield "convTranspose2d", {"input": (1, 0, 2, 2), "filter": (0, 2, 3, 3), "bias": (2,)}, {
        "strides": [2, 2], "padding": [1, 0, 0, 1]}, "float32"
    yield "convTranspose2d", {"input": (1, 2, 2, 0), "filter": (3, 1, 1, 0)}, {
        "inputLayout": "nhwc", "filterLayout": "ohwi"}, "float16"
    yield "convTranspose2d", {"input": (0, 2, 2, 2), "filter": (2, 3, 2, 2)}, {}, "float32"
    yield "convTranspose2d", {"input": (1, 2, 2, 2), "filter": (2, 0, 2, 2), "bias": (0,)}, {}, "float32"
    for op in ("averagePool2d", "l2Pool2d", "maxPool2d"):
        yield op, {"input": (0, 2, 4, 4)}, {"windowDimensions": [2, 2], "strides": [2, 2]}, "float32"
        yield op, {"input": (1, 4, 3, 0)}, {"layout": "nhwc"}, "float16"
    yield "l2Pool2d", {"input": (1, 2, 0, 3)}, {"windowDimensions": [2, 2], "padding": [1, 1, 0, 0]}, "float32"
    for mode in ("nearest-neighbor", "linear"):
        yield "resample2d", {"input": (0, 2, 3, 3)}, {"mode": mode, "scales": [2.0, 1.5]}, "float32"
        yield "resample2d", {"input": (1, 2, 3, 3)}, {"mode": mode, "sizes": [0, 4]}, "float16"
    yield "resample2d", {"input": (1, 0, 3, 2)}, {"scales": [2.0, 0.5], "axes": [1, 2]}, "float32"

    for batch, inputs, hidden, steps in ((0, 3, 2, 2), (2, 0, 2, 2), (2, 3, 2, 0), (2, 3, 0, 2)):
        for directions, direction in ((1, "backward"), (2, "both")):
            state = (directions, batch, hidden)
            gru = dict({"input": (steps, batch, inputs)}, **weights((directions,), 3, hidden, inputs))
            lstm = dict({"input": (steps, batch, inputs)}, **weights((directions,), 4, hidden, inputs))
            options = {"steps": steps, "hiddenSize": hidden, "direction": direction}
            yield "gru", gru, dict(options, returnSequence=True), "float32"
            yield "gru", dict(gru, initialHiddenState=state, bias=(directions, 3 * hidden)), options, "float16"
            yield "lstm", dict(lstm, initialCellState=state), options, "float32"
            yield "lstm", dict(lstm, initialHiddenState=state, peepholeWeight=(directions, 3 * hidden)), dict(
                options, returnSequence=True), "float32"
        if steps:
            cell = {"input": (batch, inputs), "hiddenState": (batch, hidden)}
            yield "gruCell", dict(cell, **weights((), 3, hidden, inputs)), {"hiddenSize": hidden}, "float32"
            yield "lstmCell", dict(cell, cellState=(batch, hidden), **weights((), 4, hidden, inputs)), {
                "hiddenSize": hidden}, "float32"

    yield "concat", {"inputs": [(2, 0), (2, 3), (2, 0), (2, 1)]}, {"axis": 1}, "int64"
    yield "concat", {"inputs": [(0,), (0,)]}, {"axis": 0}, "float32"
    yield "concat", {"inputs": [(0, 2), (0, 3)]}, {"axis": 1}, "uint8"
    yield "concat", {"inputs": [(0, 2), (3, 2)]}, {"axis": 0}, "float16"
    yield "expand", {"input": (2, 1)}, {"newShape": [2, 0]}, "float32"
    yield "expand", {"input": ()}, {"newShape": [0]}, "int8"
    yield "expand", {"input": (0, 1)}, {"newShape": [2, 0, 3]}, "float32"
    yield "reshape", {"input": (0, 4)}, {"newShape": [2, 0, 7]}, "int32"
    yield "transpose", {"input": (0, 2, 3)}, {"permutation": [2, 0, 1]}, "float32"
    yield "reverse", {"input": (2, 0)}, {}, "float16"
    yield "tile", {"input": (2, 3)}, {"repetitions": [0, 2]}, "float32"
    yield "tile", {"input": (0, 3)}, {"repetitions": [4, 2]}, "uint64"
    yield "slice", {"input": (3, 4)}, {"starts": [3, 1], "sizes": [0, 2]}, "float32"
    yield "slice", {"input": (0, 4)}, {"starts": [0, 1], "sizes": [0, 3], "strides": [1, 2]}, "int8"
    yield "split", {"input": (4, 2)}, {"splits": [0, 3, 0, 1]}, "float32"
    yield "split", {"input": (2, 0)}, {"splits": 3, "axis": 1}, "int32"
    yield "split", {"input": (0, 4)}, {"splits": [1, 3], "axis": 1}, "float16"
    yield "triangular", {"input": (0, 3)}, {"upper": False}, "float32"
    yield "triangular", {"input": (2, 3, 0)}, {"diagonal": -1}, "float32"
    yield "pad", {"input": (0, 2)}, {"beginningPadding": [1, 0], "endingPadding": [2, 1], "value": 7}, "float32"
    yield "pad", {"input": (2, 0)}, {"beginningPadding": [0, 0], "endingPadding": [0, 3], "value": -3}, "int8"
    yield "pad", {"input": (2, 0)}, {"beginningPadding": [1, 0], "endingPadding": [0, 0]}, "float32"
    for mode in ("edge", "reflection", "symmetric"):
        yield "pad", {"input": (2, 0)}, {"beginningPadding": [1, 0], "endingPadding": [1, 0], "mode": mode}, "float16"

    index = {"indices": "int32"}
    yield "gather", {"input": (3, 2), "indices": (0,)}, {}, index
    yield "gather", {"input": (3, 0), "indices": (2, 1)}, {}, index
    yield "gather", {"input": (0, 3), "indices": (2,)}, {"axis": 1}, index
    yield "gather", {"input": (0, 3), "indices": (2, 0)}, {}, {"indices": "int64"}
    yield "gatherElements", {"input": (3, 2), "indices": (0, 2)}, {}, index
    yield "gatherElements", {"input": (0, 2), "indices": (0, 1)}, {"axis": 1}, index
    yield "gatherND", {"input": (3, 2), "indices": (0, 2)}, {}, index
    yield "gatherND", {"input": (3, 0), "indices": (2, 1)}, {}, index
    yield "gatherND", {"input": (3, 2), "indices": (2, 0)}, {}, {"indices": "uint32"}
    yield "gatherND", {"input": (2,), "indices": (0,)}, {}, index
    yield "scatterElements", {"input": (3, 2), "indices": (0, 2), "updates": (0, 2)}, {}, index
    yield "scatterElements", {"input": (0, 2), "indices": (0, 1), "updates": (0, 1)}, {"axis": 1}, index
    yield "scatterND", {"input": (3, 2), "indices": (0, 1), "updates": (0, 2)}, {}, index
    yield "scatterND", {"input": (3, 0), "indices": (2, 1), "updates": (2, 0)}, {}, index
    yield "scatterND", {"input": (3, 2), "indices": (2, 2, 0), "updates": (2, 2, 3, 2)}, {}, index
    yield "scatterND", {"input": (3,), "indices": (0,), "updates": (3,)}, {}, {"indices": "uint32"}

    yield "shape", {"input": (2, 0)}, {}, "int8"
    yield "shape", {"input": ()}, {}, "float32"
    yield "range", {key: Items(v, scalar=True) for key, v in (("start", 3), ("limit", 1), ("delta", 1))}, {}, "float32"
    yield "squeeze", {"input": (1, 0, 1)}, {}, "float32"
    yield "unsqueeze", {"input": (0, 2)}, {"axes": [1]}, "int32"
    yield "reshapeTo2d", {"input": (2, 0, 3)}, {}, "float16"
    yield "reshapeDynamic", {"input": (0, 4), "newShape": Items(2, 0, 7)}, {}, "int32"
    yield "expandDynamic", {"input": (2, 1), "newShape": Items(2, 0)}, {}, "float32"
    yield "tileDynamic", {"input": (2, 3), "repetitions": Items(0, 2)}, {}, "float32"
    yield "sliceDynamic", {"input": (3, 4), "starts": Items(3, 1), "sizes": Items(0, 2)}, {}, "float32"
    yield "splitDynamic", {"input": (4, 2), "splits": Items(0, 3, 0, 1)}, {}, "float32"
    yield "padDynamic", {"input": (2, 0), "beginningPadding": Items(1, 0), "endingPadding": Items(0, 2)}, {}, "float32"
    yield "resample2dDynamic", {"input": (0, 2, 3, 3), "sizes": Items(2, 4)}, {}, "float32"

    for scale, shape in (((1, 1), (2, 0)), ((2, 0), (2, 0)), ((1, 3), (2, 0))):
        yield "quantizeLinear", {"input": shape, "scale": scale, "zeroPoint": scale}, {}, {"zeroPoint": "int8"}
        yield "dequantizeLinear", {"input": shape, "scale": scale, "zeroPoint": scale}, {}, {
            "input": "uint8", "zeroPoint": "uint8"}
    yield "dequantizeLinear", {"input": (0, 2), "scale": (1, 1), "zeroPoint": (1, 1)}, {}, {
        "input": "int4", "zeroPoint": "int4"}


def undefined():
    """(operator, {operand: shape}, attributes, {operand: type} or one type) of which there is no result."""
    for op in EXTREMES:
        yield op, {"input": (2, 0)}, {"axes": [1]}, "float32"
        yield op, {"input": (0,)}, {}, "float16"
    yield "reduceMax", {"input": (0, 2)}, {"axes": [0]}, "int32"
    for op in ("argMin", "argMax"):
        yield op, {"input": (2, 0)}, {"axis": 1}, "float32"
    for op in ("averagePool2d", "maxPool2d"):
        yield op, {"input": (1, 2, 0, 3)}, {"windowDimensions": [2, 2], "padding": [1, 1, 0, 0]}, "float32"
    for op in ("averagePool2d", "l2Pool2d", "maxPool2d"):
        yield op, {"input": (1, 2, 0, 3)}, {}, "float32"
        yield op, {"input": (1, 2, 3, 3)}, {"windowDimensions": [0, 2]}, "float32"
    for mode in ("nearest-neighbor", "linear"):
        yield "resample2d", {"input": (1, 2, 0, 3)}, {"mode": mode, "sizes": [2, 3]}, "float32"
    yield "conv2d", {"input": (1, 2, 3, 3), "filter": (2, 2, 0, 1)}, {}, "float32"
    yield "conv2d", {"input": (1, 2, 0, 3), "filter": (2, 2, 1, 1)}, {}, "float32"
    yield "conv2d", {"input": (1, 0, 3, 3), "filter": (2, 0, 1, 1)}, {"groups": 0}, "float32"
    yield "convTranspose2d", {"input": (1, 2, 0, 3), "filter": (2, 2, 3, 3)}, {}, "float32"
    yield "convTranspose2d", {"input": (1, 2, 3, 3), "filter": (2, 2, 1, 0)}, {}, "float32"
    yield "matmul", {"a": (2, 0), "b": (1, 3)}, {}, "float32"
    yield "gemm", {"a": (2, 0), "b": (0, 3), "c": (0,)}, {}, "float32"
    yield "add", {"a": (0,), "b": (2,)}, {}, "float32"
    yield "where", {"condition": (0,), "trueValue": (3,), "falseValue": ()}, {}, {"condition": "uint8"}
    yield "expand", {"input": (0,)}, {"newShape": [2]}, "float32"
    yield "reshape", {"input": (0, 2)}, {"newShape": [2]}, "float32"
    yield "reshape", {"input": (0,)}, {"newShape": []}, "float32"
    yield "concat", {"inputs": [(0,), (2, 3)]}, {"axis": 0}, "float32"
    yield "split", {"input": (0,)}, {"splits": 0}, "float32"
    yield "split", {"input": (0,)}, {"splits": [0, 1]}, "float32"
    yield "slice", {"input": (0, 2)}, {"starts": [0, 0], "sizes": [1, 2]}, "float32"
    yield "slice", {"input": (2,)}, {"starts": [3], "sizes": [0]}, "float32"
    for mode in ("edge", "reflection", "symmetric"):
        yield "pad", {"input": (2, 0)}, {"beginningPadding": [0, 1], "endingPadding": [0, 0], "mode": mode}, "float32"
    index = {"indices": "int32"}
    yield "gather", {"input": (0, 3), "indices": (2,)}, {}, index
    yield "gather", {"input": (0,), "indices": ()}, {}, index
    yield "gatherElements", {"input": (0, 3), "indices": (2, 3)}, {}, index
    yield "gatherND", {"input": (0, 3), "indices": (2, 1)}, {}, index
    yield "scatterElements", {"input": (3,), "indices": (0,), "updates": (1,)}, {}, index
    yield "quantizeLinear", {"input": (2,), "scale": (0,), "zeroPoint": (0,)}, {}, {"zeroPoint": "int8"}
    yield "dequantizeLinear", {"input": (2,), "scale": (0,), "zeroPoint": (0,)}, {}, {
        "input": "int8", "zeroPoint": "int8"}
    yield "gru", dict({"input": (0, 2, 3)}, **weights((1,), 3, 2, 3)), {"steps": 1, "hiddenSize": 2}, "float32"


def label(op, operands, attributes):
    """A name that tells the shapes and the attributes."""
    shapes = ["/".join(text(s) for s in shape) if isinstance(shape, list)
              else str(shape) if isinstance(shape, Items) else text(shape)
              for shape in operands.values()]
    said = ["%s=%s" % (k, json.dumps(v, separators=(",", ":")).replace('"', "")) for k, v in attributes.items()]
    return " ".join([op] + shapes + said)


def type_of(types, operand):
    return types if isinstance(types, str) else types.get(operand, "float32")


def value(random, kind, operand, shape):
    """Elements that operands of that name take: indices are small, scales and variances positive."""
    if operand == "indices":
        return Tensor(kind, random.randint(0, 2, shape))
    if kind in FLOATS:
        return Tensor(kind, (random.randint(1, 17, shape) / 8).astype(NUMPY_TYPE[kind]))
    return anything(random, kind, shape)


def add(graph, random, op, operands, attributes, types, index, base):
    """Records one operator with operands of its own, every third of which is a constant."""
    names = {}
    for key, shapes in operands.items():
        inputs = []
        if isinstance(shapes, Items):
            kind = "int64" if isinstance(shapes.items, list) else type_of(types, key)
            names[key] = graph.constant("%s_%d" % (key, len(graph.inputs)), Tensor(kind, shapes.items))
            continue
        for shape in shapes if isinstance(shapes, list) else [shapes]:
            kind = type_of(types, key)
            inputs.append(graph.input("%s_%d" % (key, len(graph.inputs)), value(random, kind, key, shape),
                                      kind == "int4" or (index + len(graph.inputs)) % 3 == 1))
        names[key] = inputs if isinstance(shapes, list) else inputs[0]
    results = graph.add(op, names, attributes, base)
    return [results] if isinstance(results, str) else results


def several(suite):
    """Graphs in which some is made of none, and none of some."""
    random = suite.random
    graph = Graph()
    x = graph.input("x", value(random, "float32", "x", (2, 3)))
    nothing = graph.add("slice", {"input": x}, {"starts": [0, 3], "sizes": [2, 0]})
    total = graph.add("reduceSum", {"input": nothing}, {"axes": [1], "keepDimensions": True})
    joined = graph.add("concat", {"inputs": [x, total, nothing]}, {"axis": 1}, "joined")
    suite.graph("nothing of something and back", graph, [joined])

    graph = Graph()
    x = graph.input("x", value(random, "float32", "x", (0, 3)))
    w = graph.constant("w", value(random, "float32", "w", (3, 4)))
    y = graph.add("relu", {"input": graph.add("matmul", {"a": x, "b": w})}, {}, "y")
    suite.graph("a batch of none", graph, [y])

    graph = Graph()
    x = graph.input("x", value(random, "float16", "x", (0,)))
    c = graph.constant("c", value(random, "float16", "c", (0, 2)))
    outputs = [graph.add("identity", {"input": x}, {}, "same"), graph.add("abs", {"input": c}, {}, "constant"),
               graph.add("reshape", {"input": x}, {"newShape": [4, 0]}, "reshaped")]
    suite.graph("all outputs without elements", graph, outputs)

    graph = Graph()
    x = graph.input("x", value(random, "float32", "x", (0, 2)))
    z = graph.input("z", value(random, "float32", "z", (1, 2)))
    bottom = graph.add("reduceLogSumExp", {"input": x}, {"axes": [0], "keepDimensions": True})
    outputs = [graph.add("max", {"a": bottom, "b": z}, {}, "greatest"), graph.add("add", {"a": x, "b": z}, {}, "none")]
    suite.graph("some outputs with elements and some without", graph, outputs)


class Refusals:
    """A file of calls that fail."""
    op, graphs = "emptyRefused", []

    def __init__(self):
        self.lines = []
        for op, operands, attributes, types in undefined():
            inputs, names = {}, {}
            for key, shapes in operands.items():
                made = []
                for shape in shapes if isinstance(shapes, list) else [shapes]:
                    made.append("%s_%d" % (key, len(inputs)))
                    inputs[made[-1]] = {"dataType": type_of(types, key), "shape": list(shape)}
                names[key] = made if isinstance(shapes, list) else made[0]
            entry = {"name": label(op, operands, attributes), "source": "generated", "file": "generate.py",
                     "expect": "TypeError", "inputs": inputs,
                     "operators": [{"name": op, "operands": names, "attributes": attributes, "outputs": ["output"]}]}
            self.lines.append(json.dumps(entry, separators=(",", ":"), allow_nan=False))

    def text(self):
        head = '{"op":"%s","kind":"validation","format":1,"count":%d,"tests":[\n' % (self.op, len(self.lines))
        return head + ",\n".join(self.lines) + "\n]}\n"


def suites():
    suite = Suite("empty")
    for index, (op, operands, attributes, types) in enumerate(defined()):
        graph = Graph()
        outputs = add(graph, suite.random, op, operands, attributes, types, index, "output")
        assert any(0 in graph.values[n].shape for n in list(graph.inputs) + outputs), (op, operands)
        suite.graph(label(op, operands, attributes), graph, outputs, graph.single_tolerance())
    several(suite)
    missing = set(oracle.operators()) - {json.loads(line)["operators"][0]["name"] for line in suite.lines}
    assert not missing, missing
    yield suite
    yield Refusals()
