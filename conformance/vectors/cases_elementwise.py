# SPDX-License-Identifier: Apache-2.0
"""Tests of the element-wise operators, of casts, and of quantization."""

from graph import Graph, Suite
from numeric import FLOATS, INTEGERS, TYPES, limits, tensor
from values import (BROADCASTS, INF, NAN, SHAPES, anything, dyadic, largest, reals, smallest_normal, spread, storage,
                    text, tiny, wide_integers)

SIGNED = ("float32", "float16", "int64", "int32", "int8")

# Lengths around the widths of vector units.
LENGTHS = (1, 2, 3, 4, 8, 15, 17, 33)

# Per operator: range of ordinary inputs for float32 and for float16 (None: the same), and special inputs with a
# result that is the same on every conforming implementation.
UNARY = {
    "abs": ((-50, 50), None, [NAN, INF, -INF, 0, -0.0]),
    "ceil": ((-9, 9), None, [NAN, INF, -INF, 0, -0.0, 0.5, -0.5, 1.5, -2.5, 2, -3]),
    "cos": ((-7, 7), None, [NAN, INF, -INF, 0, 100, -1000]),
    "erf": ((-3, 3), None, [NAN, INF, -INF, 0, 10, -10]),
    "exp": ((-20, 20), (-9, 10), [NAN, INF, -INF, 0, -0.0, 1, -1, 1000, -1000]),
    "floor": ((-9, 9), None, [NAN, INF, -INF, 0, -0.0, 0.5, -0.5, 1.5, -2.5, 2, -3]),
    "log": ((0.1, 50), None, [NAN, INF, 0, -0.0, -1, -INF, 1]),
    "neg": ((-50, 50), None, [NAN, INF, -INF, 0, -0.0]),
    "reciprocal": ((0.1, 50), None, [NAN, INF, -INF, 0, -0.0, -2, -0.3]),
    "roundEven": ((-9, 9), None, [NAN, INF, -INF, 0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 0.4998, 1023.5]),
    "sign": ((-9, 9), None, [NAN, INF, -INF, 0, -0.0, 1e-3, -1e-3]),
    "sin": ((-7, 7), None, [NAN, INF, -INF, 0, 100, -1000]),
    "sqrt": ((0.1, 90), None, [NAN, INF, -INF, 0, -0.0, -1, 4, 65536 / 4]),
    "tan": ((-1.3, 1.3), None, [NAN, INF, -INF, 0, 3.25, -3.25]),
    "identity": ((-50, 50), None, [NAN, INF, -INF, 0, -0.0]),
    "relu": ((-50, 50), None, [NAN, INF, -INF, 0, -0.0]),
    "tanh": ((-4, 4), None, [NAN, INF, -INF, 0, -0.0, 50, -50, 1000]),
    "sigmoid": ((-12, 12), (-9, 9), [NAN, INF, -INF, 0, -0.0, 1000, -1000]),
    "softsign": ((-20, 20), None, [NAN, 0, -0.0, 1000, -1000]),
    "softplus": ((-12, 20), (-9, 20), [NAN, INF, -INF, 0, -0.0, 1000]),
    "gelu": ((-1, 6), (-4, 6), [NAN, INF, 0, -0.0, 20, -0.001]),
    "hardSwish": ((-5, 8), None, [NAN, INF, 0, -0.0, 3, -3, 6, -100, 1000]),
    "elu": ((-6, 10), None, [NAN, INF, -INF, 0, -0.0, -100]),
    "leakyRelu": ((-50, 50), None, [NAN, INF, -INF, 0, -0.0]),
    "linear": ((0.5, 50), None, [NAN, INF, -INF, 0, -0.0, -4]),
    "hardSigmoid": ((-1.5, 4), None, [NAN, INF, -INF, 0, -0.0, -3, 2.5]),
    "clamp": ((-50, 50), None, [NAN, INF, -INF, 0, -0.0]),
}

# Operators that must keep denormals and the sign of zero.
EXACT_BITS = ("abs", "neg", "identity", "clamp", "relu")

# Attribute sets beyond the defaults.
OPTIONS = {
    "elu": [{"alpha": 2}, {"alpha": 0.5}, {"alpha": -1.5}, {"alpha": 0}],
    "leakyRelu": [{"alpha": 0.25}, {"alpha": 0}, {"alpha": -2}, {"alpha": 1}, {"alpha": 3.5}],
    "linear": [{"alpha": 2.5}, {"beta": 3}, {"alpha": 0.5, "beta": 0.75}, {"alpha": 7, "beta": 100}],
    "hardSigmoid": [{"alpha": 0.25}, {"beta": 0.25}, {"alpha": 0.5, "beta": 0.125}, {"alpha": -0.125, "beta": 0.75},
                    {"alpha": 0, "beta": 0.5}],
    "softplus": [{"steepness": 1}, {"steepness": 2}, {"steepness": 0.5}, {"steepness": -1}, {"steepness": 4}],
}


def unary(op):
    """Ranks, lengths, special values and options of a unary operator."""
    suite = Suite(op)
    random = suite.random
    for kind in FLOATS:
        range32, range16, special = UNARY[op]
        low, high = range16 if kind == "float16" and range16 else range32
        for rank, shape in SHAPES.items():
            suite.test("%s rank %d" % (kind, rank), {"input": reals(random, kind, shape, low, high)})
        for length in LENGTHS if kind == "float32" else LENGTHS[5:]:
            suite.test("%s length %d" % (kind, length), {"input": reals(random, kind, (length,), low, high)})
        suite.test("%s constant input" % kind, {"input": reals(random, kind, (2, 5), low, high)}, constant=["input"])
        suite.test("%s uniform input" % kind, {"input": tensor(kind, [[high] * 4] * 5)})
        suite.test("%s special values" % kind, {"input": tensor(kind, special)})
        suite.test("%s special values, rank 2, constant" % kind, {"input": tensor(kind, [special, special[::-1]])},
                   constant=["input"])
        if op in EXACT_BITS:
            suite.test("%s denormals, extremes, signed zeros" % kind, {"input": storage(kind, (2, 16))},
                       prefix="storage: " if op in ("abs", "neg", "identity") else "")
        for attributes in OPTIONS.get(op, []):
            name = ", ".join("%s=%s" % item for item in attributes.items())
            for shape in ((3, 4), (2, 2, 3, 1, 2)) if kind == "float32" else ((17,),):
                suite.test("%s %s %s" % (kind, name, text(shape)), {"input": reals(random, kind, shape, low, high)},
                           attributes)
    if op == "elu":
        suite.test("float32 small negative", {"input": tensor("float32", [-1e-3, -1e-4, -0.01, -0.1, 1e-4])})
    if op == "identity":
        for kind in INTEGERS:
            for rank, shape in SHAPES.items():
                suite.test("%s rank %d" % (kind, rank), {"input": anything(random, kind, shape)})
            suite.test("%s extremes" % kind, {"input": storage(kind, (4, 4))})
    elif op in ("abs", "neg", "sign", "relu"):
        for kind in SIGNED[2:]:
            low, high = limits(kind)
            for rank, shape in SHAPES.items():
                suite.test("%s rank %d" % (kind, rank), {"input": anything(random, kind, shape)})
            suite.test("%s extremes" % kind, {"input": tensor(kind, [low, low + 1, -1, 0, 1, high - 1, high])})
            suite.test("%s length 33" % kind, {"input": wide_integers(random, kind, (33,))})
    return suite


def clamp():
    """clamp: every type, absent and NaN bounds, big integers, equal bounds."""
    suite = unary("clamp")
    random = suite.random
    bounds = [{"minValue": -10}, {"maxValue": 10}, {"minValue": -10, "maxValue": 10}, {"minValue": 0, "maxValue": 6},
              {"minValue": 5, "maxValue": 5}, {"minValue": 0, "maxValue": 0}, {"minValue": "NaN"},
              {"maxValue": "NaN"}, {"minValue": "NaN", "maxValue": 3}, {"minValue": -3, "maxValue": "NaN"},
              {"minValue": "-Infinity", "maxValue": "Infinity"}, {"minValue": 1, "maxValue": "Infinity"},
              {"minValue": "-Infinity", "maxValue": -1}, {"minValue": "-7", "maxValue": "9"}]
    for kind in FLOATS:
        for attributes in bounds + [{"minValue": 0.1, "maxValue": 0.7}, {"minValue": -1.5}, {"minValue": "Infinity"},
                                    {"maxValue": "-Infinity"}]:
            name = ", ".join("%s=%s" % item for item in attributes.items())
            values = [NAN, INF, -INF, 0, -0.0, 20, -20, 3, -3, 5, 0.5, -0.25, 6, -11]
            suite.test("%s %s" % (kind, name), {"input": tensor(kind, values)}, attributes)
        suite.test("%s denormal bounds" % kind, {"input": tensor(kind, [1, tiny(kind), 0, -1, 5 * tiny(kind)])},
                   {"minValue": 2 * tiny(kind), "maxValue": smallest_normal(kind)})
    for kind in INTEGERS:
        low, high = limits(kind)
        wide = [{"minValue": str(low + 1), "maxValue": str(high - 1)}, {"minValue": str(high)},
                {"maxValue": str(low)}, {"minValue": str(low - 1000), "maxValue": str(high + 1000)},
                {"minValue": -2.25, "maxValue": 9.25}, {"minValue": 1e30}, {"maxValue": -1e30}, {}]
        for attributes in bounds + wide:
            if kind.startswith("u") and attributes == bounds[12]:
                continue  # a maximum below the range is the last of the wide ones
            name = ", ".join("%s=%s" % item for item in attributes.items()) or "no bounds"
            values = [low, low + 1, 0, 1, 3, 5, 9, 10, 100, high - 1, high] + ([-1, -9, -100] if low else [6, 7, 8])
            suite.test("%s %s" % (kind, name), {"input": tensor(kind, values)}, attributes)
        for rank, shape in SHAPES.items():
            suite.test("%s rank %d" % (kind, rank), {"input": anything(random, kind, shape)},
                       {"minValue": 20, "maxValue": 90})
    return suite


# ---- two operands ---------------------------------------------------------------------------------------------

ARITHMETIC = ("add", "sub", "mul", "div", "max", "min", "pow", "modulusFloor", "modulusTruncate")
COMPARISONS = ("equal", "notEqual", "greater", "greaterOrEqual", "lesser", "lesserOrEqual")


def _pair(op, random, kind, shape_a, shape_b):
    """Two operands with a benign result."""
    if kind in FLOATS:
        if op == "pow":
            return reals(random, kind, shape_a, 0.5, 3), dyadic(random, kind, shape_b, -3, 3, 0.25)
        if op == "div":
            return reals(random, kind, shape_a, -30, 30), reals(random, kind, shape_b, 0.5, 20)
        if op in ("add", "sub"):
            return dyadic(random, kind, shape_a, -16, 16, 0.125), reals(random, kind, shape_b, 17, 40)
        if op in COMPARISONS:
            return dyadic(random, kind, shape_a, -1, 1, 0.5), dyadic(random, kind, shape_b, -1, 1, 0.5)
        return reals(random, kind, shape_a, -30, 30), reals(random, kind, shape_b, -30, 30)
    if op in COMPARISONS:
        return (tensor(kind, random.randint(0, 4, shape_a)), tensor(kind, random.randint(0, 4, shape_b)))
    if op == "pow":
        return anything(random, kind, shape_a), tensor(kind, random.randint(0, 6, shape_b))
    return anything(random, kind, shape_a), anything(random, kind, shape_b)


def _special_operands(op, kind):
    """A column and a row that meet in every combination."""
    if kind in FLOATS:
        if op == "pow":
            column = [NAN, INF, -INF, 0, -0.0, 1, -1, 2, 0.5, -3]
            row = [NAN, INF, -INF, 0, -0.0, 1, -1, 2, 3, 0.5, -2]
        elif op == "div":
            column = row = [NAN, INF, -INF, 0, -0.0, 1, -1, 2.5, -7]
        else:
            column = row = [NAN, INF, -INF, 0, -0.0, 1, -1, tiny(kind), -3 * tiny(kind), smallest_normal(kind),
                            largest(kind)]
    else:
        low, high = limits(kind)
        column = [low, low + 1, 0, 1, 2, 3, high // 2 + 1, high - 1, high] + ([-1, -2, -3] if low else [10, 77])
        row = column
        if op == "pow":
            row = [0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100, high] + ([-1, -2, -3, low] if low else [])
            row = [v for v in row if v <= high]
    return tensor(kind, [[v] for v in column]), tensor(kind, [row])


def binary(op):
    """Ranks, broadcasting and special values of a binary operator, in every type."""
    suite = Suite(op)
    random = suite.random

    def test(label, a, b, constant=None):
        suite.test(label, {"a": a, "b": b}, constant=constant)
    for kind in TYPES:
        for rank, shape in SHAPES.items():
            test("%s rank %d" % (kind, rank), *_pair(op, random, kind, shape, shape))
        test("%s special values" % kind, *_special_operands(op, kind))
        if kind in ("int32", "uint32", "int64", "uint64", "int8", "uint8") and op not in COMPARISONS + ("pow",):
            test("%s whole range" % kind, wide_integers(random, kind, (4, 6)), wide_integers(random, kind, (4, 6)))
        if kind in ("float32", "float16"):
            for length in (1, 3, 16, 19, 35):
                test("%s length %d" % (kind, length), *_pair(op, random, kind, (length,), (length,)))
            test("%s constant operands" % kind, *_pair(op, random, kind, (3, 4), (4,)), constant=["a", "b"])
            test("%s constant left operand" % kind, *_pair(op, random, kind, (3, 1), (3, 4)), constant=["a"])
            test("%s constant right scalar" % kind, *_pair(op, random, kind, (3, 4), ()), constant=["b"])
    for kind, (a, b) in spread(BROADCASTS, TYPES, share=4, every_rank=False):
        test("%s broadcast %s %s" % (kind, text(a), text(b)), *_pair(op, random, kind, a, b))
    _same_operand(suite, op)
    return suite


def _same_operand(suite, op):
    """One tensor as both operands."""
    for kind in ("float32", "float16", "int32"):
        graph = Graph()
        if kind == "int32":
            graph.input("a", tensor(kind, suite.random.randint(1, 7, (2, 5))))
        else:
            graph.input("a", reals(suite.random, kind, (2, 5), 0.5, 2))
        graph.add(op, {"a": "a", "b": "a"}, base="output")
        suite.graph("%s %s same operand twice" % (op, kind), graph, ["output"], graph.single_tolerance())


def logical(op):
    """logicalAnd, logicalOr, logicalXor: any non-zero value counts as true."""
    suite = Suite(op)
    random = suite.random

    def bits(shape):
        return tensor("uint8", random.randint(0, 256, shape) * random.randint(0, 2, shape))
    for rank, shape in SHAPES.items():
        suite.test("rank %d" % rank, {"a": bits(shape), "b": bits(shape)})
    for a, b in BROADCASTS:
        suite.test("broadcast %s %s" % (text(a), text(b)), {"a": bits(a), "b": bits(b)})
    suite.test("truth table", {"a": tensor("uint8", [[0], [1], [2], [255]]), "b": tensor("uint8", [0, 1, 128, 255])})
    for length in (16, 17, 40):
        suite.test("length %d" % length, {"a": bits((length,)), "b": bits((length,))})
    suite.test("constants", {"a": bits((3, 3)), "b": bits((3, 3))}, constant=["a", "b"])
    suite.test("constant scalar", {"a": bits((3, 3)), "b": tensor("uint8", 1)}, constant=["b"])
    return suite


def logical_not():
    suite = Suite("logicalNot")
    for rank, shape in SHAPES.items():
        values = suite.random.randint(0, 256, shape) * suite.random.randint(0, 2, shape)
        suite.test("rank %d" % rank, {"a": tensor("uint8", values)})
    suite.test("all values", {"a": tensor("uint8", list(range(256)), (16, 16))})
    suite.test("zeros", {"a": tensor("uint8", [0] * 20, (4, 5))})
    for length in (1, 15, 33):
        suite.test("length %d" % length, {"a": tensor("uint8", suite.random.randint(0, 2, length))})
    suite.test("constant", {"a": tensor("uint8", [0, 1, 2, 255])}, constant=["a"])
    return suite


def classify(op):
    """isNaN and isInfinite."""
    suite = Suite(op)
    for kind in FLOATS:
        for rank, shape in SHAPES.items():
            values = suite.random.choice([NAN, INF, -INF, 0.0, 1.5, -2.0], shape)
            suite.test("%s rank %d" % (kind, rank), {"a": tensor(kind, values)})
        suite.test("%s all kinds of values" % kind, {"a": storage(kind, (16,))})
        for value in (NAN, INF, -INF, 0.0, largest(kind)):
            suite.test("%s scalar %s" % (kind, value), {"a": tensor(kind, value)})
        for length in (1, 17, 33):
            suite.test("%s length %d" % (kind, length), {"a": storage(kind, (length,))})
        suite.test("%s constant" % kind, {"a": storage(kind, (4, 4))}, constant=["a"])
    return suite


def prelu():
    suite = Suite("prelu")
    random = suite.random
    for kind in ("float32", "float16", "int64", "int32", "int8"):
        def slope(shape):
            return reals(random, kind, shape, -2, 2) if kind in FLOATS else tensor(kind, random.randint(-5, 6, shape))

        def source(shape):
            return reals(random, kind, shape, -9, 9) if kind in FLOATS else anything(random, kind, shape)
        for rank, shape in SHAPES.items():
            suite.test("%s rank %d" % (kind, rank), {"input": source(shape), "slope": slope(shape)})
        for a, b in BROADCASTS:
            if kind in FLOATS or len(a) % 2:
                suite.test("%s broadcast %s %s" % (kind, text(a), text(b)), {"input": source(a), "slope": slope(b)})
        suite.test("%s slope per channel" % kind, {"input": source((1, 3, 2, 4)), "slope": slope((3, 1, 1))},
                   constant=["slope"])
        if kind in FLOATS:
            suite.test("%s special values" % kind, {"input": tensor(kind, [NAN, INF, -INF, 0, -0.0, 1, -1]),
                                                    "slope": tensor(kind, 0.5)})
        else:
            low, high = limits(kind)
            suite.test("%s wraps" % kind, {"input": tensor(kind, [[low], [low + 1], [-1], [0], [high]]),
                                           "slope": tensor(kind, [low, -1, 0, 2, 3, high])})
    return suite


def where():
    suite = Suite("where")
    random = suite.random

    def condition(shape):
        return tensor("uint8", random.randint(0, 256, shape) * random.randint(0, 2, shape))
    forms = [((3, 4), (), ()), ((), (2, 3), (2, 3)), ((2, 1), (1, 3), (3,)), ((2, 3, 4), (4,), (3, 1)),
             ((4,), (2, 1, 4), (3, 1)), ((2, 2, 3), (3,), ()), ((1, 3), (2, 1, 1), (1,)), ((2, 2, 2, 2), (2,), (2, 1)),
             ((5,), (1,), (1,)), ((1,), (3, 1), (1, 2))]
    for kind in TYPES:
        for rank, shape in SHAPES.items():
            suite.test("%s rank %d" % (kind, rank), {"condition": condition(shape),
                                                     "trueValue": anything(random, kind, shape),
                                                     "falseValue": anything(random, kind, shape)})
        suite.test("%s extremes" % kind, {"condition": tensor("uint8", [[0], [1], [2], [128], [255]]),
                                          "trueValue": storage(kind, (16,)),
                                          "falseValue": storage(kind, (5, 16))}, prefix="storage: ")
    for kind, (c, t, f) in spread(forms, TYPES, full=("float32", "float16", "int32"), share=2):
        suite.test("%s broadcast %s %s %s" % (kind, text(c), text(t), text(f)),
                   {"condition": condition(c), "trueValue": anything(random, kind, t),
                    "falseValue": anything(random, kind, f)})
    return suite


def cast():
    """Every pair of types: ordinary values, extremes, ranks."""
    suite = Suite("cast")
    random = suite.random
    for source in TYPES:
        for target in TYPES:
            pair, attributes = "%s to %s" % (source, target), {"dataType": target}
            rank = (TYPES.index(source) + TYPES.index(target)) % 6
            suite.test("%s rank %d" % (pair, rank), {"input": anything(random, source, SHAPES[rank])}, attributes)
            values = [v for v in _cast_edges(source, target)]
            suite.test("%s edges" % pair, {"input": tensor(source, values)}, attributes)
            if source not in FLOATS:
                suite.test("%s whole range" % pair, {"input": wide_integers(random, source, (12,))}, attributes)
    for rank, shape in SHAPES.items():
        for pair in (("float32", "float16"), ("float16", "float32"), ("float32", "int32"), ("int8", "float32"),
                     ("uint8", "float16")):
            suite.test("%s to %s shape of rank %d" % (pair + (rank,)), {"input": anything(random, pair[0], shape)},
                       {"dataType": pair[1]})
    for length in (1, 17, 33):
        for pair in (("float32", "float16"), ("float16", "float32"), ("float32", "uint8")):
            suite.test("%s to %s length %d" % (pair + (length,)), {"input": anything(random, pair[0], (length,))},
                       {"dataType": pair[1]})
    rounding = [1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11, 1 + 2.0 ** -11 + 2.0 ** -23, 65504, 65519.996, 65520, 65535,
                -65520, 2.0 ** -24, 2.0 ** -25, 1.5 * 2.0 ** -25, 2.0 ** -14 - 2.0 ** -25, -0.0, 0.0, 2.0 ** -149,
                -2.0 ** -26, 1e-7, NAN, INF, -INF]
    suite.test("float32 -> float16 rounding", {"input": tensor("float32", rounding)}, {"dataType": "float16"})
    return suite


def _cast_edges(source, target):
    """Values near the limits of both types that the source type can hold."""
    if source in FLOATS:
        values = [NAN, INF, -INF, 0, -0.0, 0.5, -0.5, 0.999, 1.5, -1.5, 2.5, -2.75, 127, 128, 255, 256, -128, -129]
        if target in FLOATS:
            return values + [largest(source), -largest(source), tiny(source), smallest_normal(source), 65519, 65520]
        if source == "float32":
            low, high = limits(target)
            values += [float(low), float(high), float(high) * 2, float(low) * 2, 3e9, -3e9, 1e30, -1e30, 16777217.0,
                       2147483520.0]
        else:
            values += [65504, -65504, 2049, -300]
        return values
    low, high = limits(source)
    values = [low, low + 1, 0, 1, 2, 127, high // 2 + 1, high - 1, high]
    values += [v for v in (-1, -2, -128, -129, 128, 255, 256, 65535, 65536, 2049, 2051, 16777217, 16777219, 65519,
                           65520, 2 ** 31, 2 ** 32, 2 ** 53 + 1, 2 ** 62 + 2 ** 38, 2 ** 62 + 2 ** 38 + 1)
               if low <= v <= high]
    return values


# ---- quantization ---------------------------------------------------------------------------------------------

QUANTIZED = ("uint8", "int8", "uint32", "int32", "int4", "uint4")

# Input shape and shape of scale and zero point.
BLOCKS = [((), ()), ((7,), (1,)), ((6,), (6,)), ((6,), (3,)), ((3, 4), (1, 1)), ((3, 4), (3, 1)), ((3, 4), (1, 4)),
          ((4, 6), (2, 3)), ((4, 6), (4, 2)), ((2, 3, 4), (1, 3, 1)), ((2, 4, 6), (2, 2, 3)),
          ((1, 4, 2, 2), (1, 4, 1, 1)), ((2, 4, 2, 2), (1, 2, 1, 2)), ((2, 1, 3, 2, 2), (1, 1, 3, 1, 1)),
          ((1, 2, 1, 2, 1, 2, 2, 1), (1, 2, 1, 1, 1, 1, 2, 1)), ((33,), (1,))]


def _zero_point(random, kind, shape):
    low, high = limits(kind)
    return tensor(kind, random.randint(max(low, -100), min(high, 100) + 1, shape))


def quantize():
    suite = Suite("quantizeLinear")
    random = suite.random
    for kind in FLOATS:
        for target, (shape, block) in spread(BLOCKS, QUANTIZED, full=("uint8",)):
            suite.test("%s to %s %s scale %s" % (kind, target, text(shape), text(block)),
                       {"input": reals(random, kind, shape, -8, 8), "scale": reals(random, kind, block, 0.05, 0.5),
                        "zeroPoint": _zero_point(random, target, block)})
        for target in QUANTIZED:
            low, high = limits(target)
            ties = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.25, 0.75, 3.5, -3.5, 0, -0.0]
            suite.test("%s to %s ties" % (kind, target),
                       {"input": tensor(kind, ties), "scale": tensor(kind, [1]),
                        "zeroPoint": tensor(target, [0 if low else 5])})
            special = [NAN, INF, -INF, 1e4, -1e4, 0, 1, -1] + ([1e20, -1e20, 3e9, -3e9] if kind == "float32" else [])
            for zero in (0, 5):
                suite.test("%s to %s special values, zeroPoint %d" % (kind, target, zero),
                           {"input": tensor(kind, special), "scale": tensor(kind, [0.5]),
                            "zeroPoint": tensor(target, [zero])})
            suite.test("%s to %s extreme zeroPoint" % (kind, target),
                       {"input": tensor(kind, [[-3, 0, 3, 100, -100]] * 2), "scale": tensor(kind, [[0.5], [2]]),
                        "zeroPoint": tensor(target, [[low], [high]])})
    return suite


def dequantize():
    suite = Suite("dequantizeLinear")
    random = suite.random
    for kind in FLOATS:
        for source, (shape, block) in spread(BLOCKS, QUANTIZED, full=("uint8",)):
            suite.test("%s to %s %s scale %s" % (source, kind, text(shape), text(block)),
                       {"input": _zero_point(random, source, shape), "scale": reals(random, kind, block, 0.05, 0.5),
                        "zeroPoint": _zero_point(random, source, block)})
        for source in QUANTIZED:
            low, high = limits(source)
            suite.test("%s to %s extremes" % (source, kind),
                       {"input": tensor(source, [[low, low + 1, 0, 1, high - 1, high]] * 3),
                        "scale": tensor(kind, [[0.5]] * 3), "zeroPoint": tensor(source, [[low], [high], [0]])})
            suite.test("%s to %s constants" % (source, kind),
                       {"input": _zero_point(random, source, (3, 2)), "scale": tensor(kind, [[0.25]] * 3),
                        "zeroPoint": _zero_point(random, source, (3, 1))}, constant=["input", "scale", "zeroPoint"])
            suite.test("%s to %s negative and zero scale" % (source, kind),
                       {"input": _zero_point(random, source, (2, 3)), "scale": tensor(kind, [[-0.5], [0]]),
                        "zeroPoint": _zero_point(random, source, (2, 1))})
    return suite


def suites():
    for op in UNARY:
        yield clamp() if op == "clamp" else unary(op)
    for op in ARITHMETIC + COMPARISONS:
        yield binary(op)
    for op in ("logicalAnd", "logicalOr", "logicalXor"):
        yield logical(op)
    yield logical_not()
    for op in ("isNaN", "isInfinite"):
        yield classify(op)
    yield prelu()
    yield where()
    yield cast()
    yield quantize()
    yield dequantize()
