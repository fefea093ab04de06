# SPDX-License-Identifier: Apache-2.0
"""Tests of convolution, pooling, matrix products, normalization, reductions and resampling.

Operands are positive, or small multiples of a power of two whose results are exact, so that a tolerance in ULP means
something whatever the order of summation."""

import numpy as np

from graph import Suite
from numeric import FLOATS, TYPES, tensor
from values import INF, NAN, SHAPES, anything, dyadic, integers, positive, reals, spread, text, wide_integers

# Fused activations of 2024.
ACTIVATIONS = [
    {"name": "relu"}, {"name": "clamp", "minValue": -0.5, "maxValue": 2}, {"name": "clamp", "minValue": 0.5},
    {"name": "elu"}, {"name": "elu", "alpha": 2}, {"name": "gelu"}, {"name": "hardSigmoid"},
    {"name": "hardSigmoid", "alpha": 0.25, "beta": 0.25}, {"name": "hardSwish"}, {"name": "leakyRelu", "alpha": 0.25},
    {"name": "leakyRelu"}, {"name": "linear", "alpha": 2, "beta": 0.5}, {"name": "sigmoid"}, {"name": "softplus"},
    {"name": "softplus", "steepness": 2}, {"name": "softsign"}, {"name": "tanh"}]


def describe(attributes):
    """Attributes in a test name."""
    return " ".join("%s=%s" % (k, text(v) if isinstance(v, (list, tuple)) else v["name"] if isinstance(v, dict) else v)
                    for k, v in attributes.items()) or "default"


# ---- convolution ----------------------------------------------------------------------------------------------

def _arrange(t, source, target):
    """Reorder the dimensions of a tensor from one layout string to another."""
    return tensor(t.type, t.a.transpose([source.index(c) for c in target]))


def _convolution_operands(random, kind, op, config, exact):
    """Operands of a convolution: config is (batch, channels, height, width), (outputs, kh, kw), bias, attributes."""
    (n, c, h, w), (o, kh, kw), bias, at = config
    make = (lambda s: dyadic(random, kind, s, -1, 1)) if exact else (lambda s: positive(random, kind, s))
    layout = at.get("inputLayout", "nchw")
    groups = at.get("groups", 1)
    if op == "conv2d":
        weight = _arrange(make((o, c // groups, kh, kw)), "oihw", at.get("filterLayout", "oihw"))
    else:
        weight = _arrange(make((c, o // groups, kh, kw)), "iohw", at.get("filterLayout", "iohw"))
    operands = {"input": _arrange(make((n, c, h, w)), "nchw", layout), "filter": weight}
    if bias:
        operands["bias"] = make((o,))
    return operands


CONV2D = [  # input nchw, filter (outputs, height, width), bias, attributes; each for every pair of layouts
    ((1, 1, 3, 3), (1, 2, 2), False, {}),
    ((2, 3, 4, 5), (4, 3, 3), True, {"padding": [1, 1, 1, 1], "strides": [2, 2]}),
    ((1, 4, 4, 4), (4, 2, 3), True, {"groups": 2, "padding": [1, 0, 2, 1]}),
    ((1, 3, 5, 4), (3, 3, 3), True, {"groups": 3, "padding": [1, 1, 1, 1]}),
]
CONV2D_OPTIONS = [
    ((1, 1, 1, 1), (1, 1, 1), False, {}), ((1, 8, 2, 2), (17, 1, 1), True, {}), ((1, 5, 1, 1), (6, 1, 1), True, {}),
    ((1, 1, 6, 7), (2, 3, 3), False, {"dilations": [2, 2]}), ((1, 2, 6, 7), (2, 3, 2), True, {"dilations": [1, 3]}),
    ((1, 2, 7, 6), (1, 2, 2), True, {"dilations": [3, 2], "strides": [2, 1], "padding": [1, 2, 0, 3]}),
    ((1, 2, 4, 4), (2, 2, 2), False, {"padding": [0, 1, 2, 0]}),
    ((1, 1, 3, 3), (2, 2, 2), True, {"padding": [3, 2, 2, 3]}),
    ((1, 2, 5, 5), (2, 3, 3), False, {"strides": [3, 2]}), ((1, 1, 3, 9), (1, 1, 5), False, {"padding": [0, 0, 2, 2]}),
    ((1, 1, 9, 3), (1, 5, 1), True, {"padding": [2, 2, 0, 0]}), ((3, 2, 3, 3), (2, 2, 2), True, {}),
    ((1, 2, 4, 4), (4, 2, 2), True, {"groups": 2, "dilations": [2, 2]}),
    ((1, 4, 4, 4), (8, 3, 3), True, {"groups": 4, "padding": [1, 1, 1, 1], "strides": [2, 2]}),
    ((1, 6, 3, 3), (3, 2, 2), False, {"groups": 3}), ((1, 3, 3, 3), (2, 3, 3), True, {}),
    ((1, 2, 5, 5), (2, 5, 5), True, {"padding": [2, 2, 2, 2]}),
    ((1, 1, 2, 2), (1, 3, 3), False, {"padding": [1, 1, 1, 1]}),
    ((1, 16, 1, 3), (3, 1, 1), True, {"strides": [1, 2]}),
    ((2, 8, 3, 3), (8, 3, 3), True, {"groups": 8, "padding": [1] * 4}),
    ((1, 1, 4, 4), (9, 2, 2), False, {"strides": [4, 4]}), ((1, 2, 1, 8), (2, 1, 3), False, {"strides": [1, 5]}),
]


def _convolution(op, per_layout, options, input_layouts, filter_layouts, activations_shape):
    suite = Suite(op)
    random = suite.random

    def test(kind, config):
        exact = len(suite.lines) % 3 == 1
        shape, kernel, bias, at = config
        suite.test("%s %s kernel %s %s%s" % (kind, text(shape), text(kernel), describe(at), " bias" if bias else ""),
                   _convolution_operands(random, kind, op, config, exact), at)
    for kind in FLOATS:
        for layout in input_layouts:
            for filter_layout in filter_layouts:
                for i, (shape, kernel, bias, at) in enumerate(per_layout):
                    if kind == "float16" and (i + (layout == "nhwc")) % 2:
                        continue
                    test(kind, (shape, kernel, bias, dict(at, inputLayout=layout, filterLayout=filter_layout)))
        for config in options:
            test(kind, config)
            shape, kernel, bias, at = config
            if kind == "float32":
                test(kind, (shape, kernel, not bias, dict(at, inputLayout="nhwc", filterLayout=filter_layouts[-1])))
        for i, activation in enumerate(ACTIVATIONS):
            shape, kernel = activations_shape
            for layout in input_layouts if kind == "float32" else input_layouts[i % 2:i % 2 + 1]:
                at = {"activation": activation, "inputLayout": layout}
                operands = _convolution_operands(random, kind, op, (shape, kernel, False, at), True)
                # Results are exact and of both signs, but nowhere ill conditioned for an activation.
                operands["input"] = dyadic(random, kind, operands["input"].shape, 0, 1, 0.5)
                operands["filter"] = dyadic(random, kind, operands["filter"].shape, -0.25, 0.25, 0.125)
                operands["bias"] = dyadic(random, kind, (kernel[0],), -0.25, 0.25, 0.25)
                suite.test("%s activation %s %s" % (kind, activation["name"], layout), operands, at)
        operands = _convolution_operands(random, kind, op, per_layout[1], True)
        suite.test("%s all operands constant" % kind, operands, per_layout[1][3], constant=list(operands))
        suite.test("%s all operands inputs" % kind, operands, per_layout[1][3], constant=[])
    return suite


def conv2d():
    return _convolution("conv2d", CONV2D, CONV2D_OPTIONS, ("nchw", "nhwc"), ("oihw", "hwio", "ihwo", "ohwi"),
                        ((1, 2, 3, 3), (2, 2, 2)))


CONV_TRANSPOSE = [
    ((1, 1, 3, 3), (1, 2, 2), False, {}),
    ((2, 3, 2, 3), (2, 3, 3), True, {"padding": [1, 1, 1, 1], "strides": [2, 2]}),
    ((1, 4, 2, 3), (4, 2, 3), True, {"groups": 2, "padding": [1, 0, 2, 1]}),
    ((1, 3, 3, 2), (3, 3, 3), True, {"groups": 3, "strides": [2, 3]}),
    ((1, 2, 3, 2), (3, 3, 2), True, {"strides": [3, 2], "outputPadding": [2, 1]}),
]
CONV_TRANSPOSE_OPTIONS = [
    ((1, 1, 1, 1), (1, 1, 1), False, {}), ((1, 8, 2, 2), (9, 1, 1), True, {}),
    ((1, 1, 3, 4), (2, 3, 3), False, {"dilations": [2, 2]}), ((1, 2, 3, 2), (2, 2, 2), True, {"dilations": [1, 3]}),
    ((1, 2, 3, 3), (1, 2, 2), True, {"dilations": [3, 2], "strides": [2, 1], "padding": [1, 2, 0, 1]}),
    ((1, 2, 3, 3), (2, 3, 3), False, {"strides": [2, 2], "outputPadding": [1, 1], "padding": [1, 1, 1, 1]}),
    ((1, 1, 3, 3), (2, 3, 3), True, {"strides": [3, 2], "outputSizes": [10, 8]}),
    ((1, 1, 3, 3), (2, 2, 2), True, {"strides": [3, 2], "outputSizes": [8, 6]}),
    ((1, 1, 2, 2), (1, 3, 3), False, {"strides": [2, 2], "padding": [1, 1, 1, 1], "outputSizes": [4, 4]}),
    ((1, 1, 2, 2), (1, 3, 3), True, {"strides": [2, 2], "padding": [0, 1, 1, 0], "outputSizes": [5, 4],
                                     "outputPadding": [1, 1]}),
    ((1, 2, 2, 2), (2, 2, 2), False, {"strides": [3, 3]}), ((1, 1, 2, 2), (1, 1, 1), True, {"strides": [3, 3]}),
    ((1, 1, 2, 2), (1, 1, 1), True, {"strides": [3, 3], "outputPadding": [2, 2]}),
    ((3, 2, 2, 2), (2, 2, 2), True, {}), ((1, 4, 2, 2), (8, 3, 3), True, {"groups": 4, "strides": [2, 2]}),
    ((1, 6, 2, 2), (3, 2, 2), False, {"groups": 3}), ((1, 1, 4, 1), (2, 3, 1), False, {"padding": [2, 1, 0, 0]}),
    ((1, 4, 3, 3), (2, 4, 4), True, {"strides": [2, 2], "padding": [1, 1, 1, 1], "groups": 2}),
    ((1, 2, 2, 2), (2, 2, 2), True, {"groups": 2, "dilations": [2, 2], "outputSizes": [4, 4]}),
]


def conv_transpose2d():
    return _convolution("convTranspose2d", CONV_TRANSPOSE, CONV_TRANSPOSE_OPTIONS, ("nchw", "nhwc"),
                        ("iohw", "hwoi", "ohwi"), ((1, 2, 2, 2), (2, 2, 2)))


# ---- pooling --------------------------------------------------------------------------------------------------

POOLS = [
    ((1, 2, 4, 4), {}), ((2, 1, 3, 5), {"windowDimensions": [2, 2]}), ((1, 1, 3, 3), {"windowDimensions": [1, 1]}),
    ((1, 2, 5, 5), {"windowDimensions": [3, 3], "strides": [2, 2]}),
    ((1, 2, 5, 6), {"windowDimensions": [2, 3], "strides": [1, 2], "padding": [1, 0, 2, 1]}),
    ((1, 1, 5, 5), {"windowDimensions": [3, 3], "padding": [1, 1, 1, 1]}),
    ((1, 3, 6, 5), {"windowDimensions": [2, 2], "dilations": [2, 3]}),
    ((1, 1, 7, 7), {"windowDimensions": [3, 2], "dilations": [2, 2], "strides": [2, 1], "padding": [1, 2, 0, 1]}),
    ((1, 2, 5, 6), {"windowDimensions": [2, 2], "strides": [2, 2], "outputShapeRounding": "ceil"}),
    ((1, 2, 5, 6), {"windowDimensions": [2, 2], "strides": [2, 2], "outputShapeRounding": "floor"}),
    ((1, 1, 7, 8), {"windowDimensions": [3, 3], "strides": [3, 3], "padding": [1, 0, 0, 1],
                    "outputShapeRounding": "ceil"}),
    ((1, 1, 5, 5), {"windowDimensions": [2, 2], "strides": [2, 2], "outputSizes": [3, 3]}),
    ((1, 1, 5, 5), {"windowDimensions": [2, 2], "strides": [2, 2], "outputSizes": [2, 2]}),
    ((1, 1, 5, 5), {"windowDimensions": [2, 2], "strides": [2, 2], "outputSizes": [3, 3],
                    "outputShapeRounding": "floor"}),
    ((1, 1, 6, 6), {"windowDimensions": [3, 3], "strides": [2, 2], "padding": [0, 1, 0, 1], "outputSizes": [3, 3]}),
    ((1, 2, 2, 2), {"windowDimensions": [3, 3], "strides": [2, 2], "outputShapeRounding": "ceil"}),
    ((1, 1, 4, 4), {"windowDimensions": [1, 1], "strides": [2, 2], "outputShapeRounding": "ceil"}),
    ((1, 1, 2, 3), {"windowDimensions": [2, 2], "padding": [2, 2, 3, 2]}),
    ((1, 2, 3, 3), {"windowDimensions": [3, 3], "dilations": [2, 2], "padding": [2, 2, 2, 2]}),
    ((1, 1, 3, 3), {"windowDimensions": [2, 2], "dilations": [4, 4], "padding": [3, 3, 3, 3]}),
    ((1, 17, 2, 2), {"windowDimensions": [2, 2]}), ((2, 3, 1, 1), {}), ((1, 2, 3, 7), {}),
    ((1, 1, 1, 9), {"windowDimensions": [1, 4], "strides": [1, 3]}), ((1, 1, 9, 1), {"windowDimensions": [4, 1]}),
]


def pool(op):
    suite = Suite(op)
    random = suite.random
    kinds = TYPES if op == "maxPool2d" else FLOATS
    for kind, (shape, at) in spread(POOLS, kinds, full=FLOATS, share=5):
        for layout in ("nchw", "nhwc"):
            if op == "maxPool2d":
                t = anything(random, kind, shape)
            else:
                t = positive(random, kind, shape) if op == "averagePool2d" else reals(random, kind, shape, -3, 3)
            attributes = dict(at, layout=layout) if layout == "nhwc" or len(suite.lines) % 2 else at
            suite.test("%s %s %s" % (kind, text(shape), describe(attributes)),
                       {"input": _arrange(t, "nchw", attributes.get("layout", "nchw"))}, attributes)
    for kind in FLOATS:
        values = [[[[NAN, 1, 2, 3], [4, INF, 6, 7], [8, 9, -INF, -INF], [-1, -2, -INF, -INF]]]]
        suite.test("%s NaN and infinities" % kind, {"input": tensor(kind, values)},
                   {"windowDimensions": [2, 2], "strides": [2, 2]})
        suite.test("%s negative values" % kind, {"input": dyadic(random, kind, (1, 2, 3, 3), -4, -1)},
                   {"windowDimensions": [2, 2], "padding": [1, 1, 1, 1]})
        suite.test("%s constant input" % kind, {"input": dyadic(random, kind, (1, 1, 4, 4), 1, 4)},
                   {"windowDimensions": [3, 3]}, constant=["input"])
    return suite


# ---- matrix products ------------------------------------------------------------------------------------------

MATMULS = [
    ((1, 1), (1, 1)), ((2, 3), (3, 4)), ((1, 7), (7, 1)), ((5, 1), (1, 4)), ((1, 16), (16, 5)), ((3, 33), (33, 2)),
    ((9, 4), (4, 17)), ((4, 5), (5, 1)), ((2, 3, 4), (4, 2)), ((3, 4), (2, 4, 2)), ((2, 3, 4), (2, 4, 2)),
    ((1, 3, 2), (3, 2, 3)), ((3, 2, 3), (1, 3, 2)), ((2, 1, 2, 3), (1, 3, 3, 2)), ((2, 2, 2, 3), (2, 2, 3, 2)),
    ((2, 2, 2, 3), (3, 2)), ((2, 3), (2, 2, 3, 2)), ((2, 1, 3, 2, 2), (3, 2, 3)), ((1, 2, 1, 2, 3), (2, 1, 3, 3, 1)),
    ((1, 2, 1, 2, 1, 1, 2, 3), (2, 1, 3, 1)), ((2, 8, 8), (2, 8, 3)), ((1, 1, 5), (1, 5, 1)),
]


def matmul():
    suite = Suite("matmul")
    for kind in FLOATS:
        for a, b in MATMULS:
            suite.test("%s %s %s" % (kind, text(a), text(b)),
                       {"a": positive(suite.random, kind, a), "b": positive(suite.random, kind, b)})
            suite.test("%s %s %s mixed signs" % (kind, text(a), text(b)),
                       {"a": dyadic(suite.random, kind, a, -2, 2, 0.5), "b": dyadic(suite.random, kind, b, -1, 1, 0.5)},
                       constant=["b"])
        suite.test("%s both constant" % kind, {"a": positive(suite.random, kind, (3, 4)),
                                               "b": positive(suite.random, kind, (4, 3))}, constant=["a", "b"])
        suite.test("%s constant left" % kind, {"a": positive(suite.random, kind, (3, 4)),
                                               "b": positive(suite.random, kind, (2, 4, 3))}, constant=["a"])
    return suite


def gemm():
    suite = Suite("gemm")
    random = suite.random
    sizes = [(2, 3, 4), (1, 5, 1), (4, 1, 3), (1, 16, 6), (3, 7, 17), (8, 8, 8)]
    scalings = [{}, {"alpha": 0.5}, {"beta": 0.25}, {"alpha": 2, "beta": 3}, {"alpha": 1.5, "beta": 0},
                {"alpha": 0, "beta": 2}]
    number = 0
    for kind in FLOATS:
        for m, k, n in sizes:
            for transposed in range(4):
                for c in (None, (), (1,), (n,), (1, n), (m, 1), (m, n)):
                    number += 1
                    if number % 3 and ((m, k, n) != sizes[0] or kind == "float16"):
                        continue
                    at = dict(scalings[number % len(scalings)])
                    if transposed & 1:
                        at["aTranspose"] = True
                    if transposed & 2:
                        at["bTranspose"] = True
                    exact = number % 4 == 0
                    make = (lambda s: dyadic(random, kind, s, -2, 2, 0.5)) if exact else \
                        (lambda s: positive(random, kind, s))
                    operands = {"a": make((k, m) if transposed & 1 else (m, k)),
                                "b": make((n, k) if transposed & 2 else (k, n))}
                    if c is not None:
                        operands["c"] = make(c)
                    suite.test("%s [%d,%d,%d] c %s %s" % (kind, m, k, n, "absent" if c is None else text(c),
                                                          describe(at)), operands, at,
                               constant=["b", "c"] if number % 2 else None)
        suite.test("%s negative alpha and beta" % kind,
                   {"a": dyadic(random, kind, (2, 3), -2, 2, 0.5), "b": dyadic(random, kind, (3, 2), -2, 2, 0.5),
                    "c": dyadic(random, kind, (2, 2), -2, 2, 0.5)}, {"alpha": -1, "beta": -2})
    return suite


# ---- normalization --------------------------------------------------------------------------------------------

def balanced(random, kind, shape, axes, low=-4, high=4):
    """Integers whose mean over the axes is an integer too, so that deviations and their squares are exact."""
    values = random.randint(low, high + 1, shape)
    others = [i for i in range(len(shape)) if i not in axes]
    moved = values.transpose(others + list(axes))
    rows = moved.reshape(-1, int(np.prod([shape[a] for a in axes], dtype=np.int64)))
    for row in rows:
        row[:row.sum() % len(row)] -= 1
    back = rows.reshape(moved.shape).transpose(np.argsort(others + list(axes)))
    return tensor(kind, back)


def batch_normalization():
    suite = Suite("batchNormalization")
    random = suite.random
    forms = [((6,), 0), ((4, 6), 1), ((4, 6), 0), ((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3, 4), 0), ((2, 3, 2, 2), 1),
             ((2, 2, 2, 3), 3), ((2, 3, 2, 2), 2), ((2, 3, 1, 2, 2), 1), ((2, 1, 2, 2, 3), 4), ((1, 3, 1, 5), 1),
             ((1, 2, 1, 3, 1, 2, 1, 1), 3), ((1, 17, 1, 2), 1)]

    def operands(kind, shape, axis, parts, exact=False):
        c = (shape[axis],)
        if exact:  # everything is a multiple of a power of two, and so is the result
            made = {"input": dyadic(random, kind, shape, -1, 2, 0.5), "mean": dyadic(random, kind, c, 0, 0.5, 0.5),
                    "variance": tensor(kind, 4.0 ** random.randint(0, 2, c)),
                    "scale": dyadic(random, kind, c, 0.5, 1, 0.25), "bias": dyadic(random, kind, c, 0, 0.5, 0.25)}
        else:  # x - mean and the sum with bias have operands of one sign
            made = {"input": positive(random, kind, shape), "mean": reals(random, kind, c, -2, -0.25),
                    "variance": positive(random, kind, c, 0.25, 4), "scale": positive(random, kind, c),
                    "bias": positive(random, kind, c, 0.25, 1)}
        return {key: value for key, value in made.items() if key in ("input", "mean", "variance") + parts}
    for kind in FLOATS:
        for shape, axis in forms:
            for parts in ((), ("scale",), ("bias",), ("scale", "bias"))[::1 if kind == "float32" else 3]:
                at = {"axis": axis} if axis != 1 or len(parts) == 1 else {}
                suite.test("%s %s axis %d %s" % (kind, text(shape), axis, " ".join(parts)),
                           operands(kind, shape, axis, parts), at)
        for epsilon in (0.001, 0.5, 0, 1e-4):
            suite.test("%s epsilon %s" % (kind, epsilon),
                       operands(kind, (2, 3, 2, 2), 1, ("scale", "bias"), epsilon == 0), {"epsilon": epsilon})
        for activation in ACTIVATIONS:
            suite.test("%s activation %s" % (kind, activation["name"]),
                       operands(kind, (2, 3, 2, 2), 1, ("scale", "bias"), True),
                       {"epsilon": 0, "activation": activation})
        for parts in ((), ("scale", "bias")):
            suite.test("%s activation softmax %s" % (kind, " ".join(parts)), operands(kind, (3, 5), 1, parts, True),
                       {"epsilon": 0, "activation": {"name": "softmax"}})
        suite.test("%s constants" % kind, operands(kind, (2, 3, 2), 1, ("scale", "bias")), {},
                   constant=["input", "mean", "variance", "scale", "bias"])
        suite.test("%s graph inputs" % kind, operands(kind, (2, 3, 2), 1, ("scale", "bias")), {}, constant=[])
        suite.test("%s negative values" % kind,
                   {"input": reals(random, kind, (2, 3, 2), -4, -0.5), "mean": positive(random, kind, (3,)),
                    "variance": positive(random, kind, (3,)), "scale": reals(random, kind, (3,), -2, -0.5),
                    "bias": positive(random, kind, (3,))})
    return suite


def _affine(random, kind, operands, shape, parts):
    """Scale and bias; the bias is large, so that the sum does not cancel."""
    if "scale" in parts:
        operands["scale"] = positive(random, kind, shape, 0.5, 1.5)
    if "bias" in parts:
        operands["bias"] = reals(random, kind, shape, 8, 16)
    return operands


def instance_normalization():
    suite = Suite("instanceNormalization")
    random = suite.random
    for kind in FLOATS:
        for shape in ((1, 1, 2, 2), (2, 3, 2, 3), (1, 5, 4, 4), (2, 2, 1, 1), (1, 3, 1, 7), (3, 1, 5, 1)):
            for layout in ("nchw", "nhwc"):
                for parts in ((), ("scale",), ("bias",), ("scale", "bias")):
                    at = {"layout": layout} if layout == "nhwc" or len(suite.lines) % 2 else {}
                    if len(suite.lines) % 3 == 0:
                        at["epsilon"] = (0.001, 0.5, 1e-4)[len(suite.lines) // 3 % 3]
                    t = _arrange(balanced(random, kind, shape, (2, 3)), "nchw", layout)
                    suite.test("%s %s %s %s" % (kind, text(shape), describe(at), " ".join(parts)),
                               _affine(random, kind, {"input": t}, (shape[1],), parts), at)
        suite.test("%s uniform input" % kind, _affine(random, kind, {"input": tensor(kind, np.full((1, 2, 3, 3), 5))},
                                                      (2,), ("scale", "bias")))
        suite.test("%s constant input" % kind, {"input": balanced(random, kind, (1, 2, 3, 3), (2, 3))},
                   constant=["input"])
    return suite


def layer_normalization():
    suite = Suite("layerNormalization")
    random = suite.random
    forms = [((), None), ((), []), ((5,), None), ((5,), [0]), ((5,), []), ((3, 4), None), ((3, 4), [1]), ((3, 4), [0]),
             ((3, 4), [0, 1]), ((3, 4), [1, 0]), ((3, 4), []), ((2, 3, 4), None), ((2, 3, 4), [2]), ((2, 3, 4), [2, 1]),
             ((2, 3, 4), [0, 2]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 2, 2), None), ((2, 3, 2, 2), [3, 1, 2]),
             ((2, 3, 2, 4), [1]), ((2, 3, 2, 4), [0, 3]), ((2, 3, 2, 4), [3, 0]), ((2, 1, 3, 2, 2), None),
             ((2, 1, 3, 2, 2), [4, 2]), ((1, 2, 1, 2, 1, 2, 2, 1), [7, 1, 3]), ((2, 33), [1])]
    for kind in FLOATS:
        for shape, axes in forms:
            used = axes if axes is not None else list(range(1, len(shape)))
            for parts in ((), ("scale",), ("bias",), ("scale", "bias"))[::1 if kind == "float32" else 3]:
                at = {} if axes is None else {"axes": axes}
                if len(suite.lines) % 4 == 0:
                    at["epsilon"] = (0.001, 0.5, 1e-4)[len(suite.lines) // 4 % 3]
                t = balanced(random, kind, shape, used) if used else integers(random, kind, shape, -4, 4)
                suite.test("%s %s %s %s" % (kind, text(shape), describe(at), " ".join(parts)),
                           _affine(random, kind, {"input": t}, tuple(shape[a] for a in used), parts), at)
        suite.test("%s constant input" % kind, {"input": balanced(random, kind, (2, 6), (1,))}, constant=["input"])
        suite.test("%s uniform rows" % kind, {"input": tensor(kind, [[3] * 4, [-2] * 4])})
    return suite


def softmax():
    suite = Suite("softmax")
    random = suite.random
    for kind in FLOATS:
        for rank, shape in SHAPES.items():
            for axis in range(rank):
                suite.test("%s %s axis %d" % (kind, text(shape), axis), {"input": reals(random, kind, shape, -4, 4)},
                           {"axis": axis})
        for length in (1, 2, 16, 17, 33):
            suite.test("%s length %d" % (kind, length), {"input": reals(random, kind, (2, length), -4, 4)}, {"axis": 1})
        for shape in ((1, 1), (3, 4), (2, 9), (17, 2)):
            suite.test("%s 2024 form %s" % (kind, text(shape)), {"input": reals(random, kind, shape, -4, 4)})
            suite.test("%s 2024 form %s constant" % (kind, text(shape)), {"input": reals(random, kind, shape, -4, 4)},
                       constant=["input"])
        suite.test("%s all -Infinity" % kind, {"input": tensor(kind, [[-INF] * 4, [0, 1, 2, 3]])}, {"axis": 1})
        suite.test("%s some -Infinity" % kind, {"input": tensor(kind, [[-INF, 0, 1, -INF], [-INF, -INF, -INF, 2]])},
                   {"axis": 1})
        suite.test("%s NaN" % kind, {"input": tensor(kind, [[1, NAN, 2], [1, 2, 3]])}, {"axis": 1})
        suite.test("%s large values" % kind, {"input": tensor(kind, [[1000, 1001, 1002], [-1000, -1001, -1002],
                                                                     [60000, 60000, 60000]])}, {"axis": 1})
        suite.test("%s equal values" % kind, {"input": tensor(kind, np.full((4, 5), 0.5))}, {"axis": 0})
    return suite


# ---- reductions -----------------------------------------------------------------------------------------------

REDUCTIONS = ("reduceL1", "reduceL2", "reduceLogSum", "reduceLogSumExp", "reduceMax", "reduceMean", "reduceMin",
              "reduceProduct", "reduceSum", "reduceSumSquare")
AXES = [((), None), ((), []), ((7,), None), ((7,), [0]), ((7,), []), ((3, 5), None), ((3, 5), [0]), ((3, 5), [1]),
        ((3, 5), [0, 1]), ((3, 5), []), ((2, 3, 4), None), ((2, 3, 4), [0]), ((2, 3, 4), [1]), ((2, 3, 4), [2]),
        ((2, 3, 4), [0, 2]), ((2, 3, 4), [2, 1]), ((2, 3, 2, 2), None), ((2, 3, 2, 2), [2, 3]), ((2, 3, 2, 2), [1]),
        ((2, 3, 2, 2), [0, 3]), ((2, 3, 2, 2), [3, 1, 0]), ((2, 1, 3, 2, 2), None), ((2, 1, 3, 2, 2), [4]),
        ((2, 1, 3, 2, 2), [0, 2, 4]), ((2, 1, 3, 2, 2), [1, 3]), ((1, 2, 1, 2, 1, 2, 2, 1), None),
        ((1, 2, 1, 2, 1, 2, 2, 1), [1, 3, 5]), ((1, 2, 1, 2, 1, 2, 2, 1), [6, 0]), ((33,), [0]), ((2, 19), [1]),
        ((19, 3), [0])]
_REDUCE_RANGE = {"reduceL1": (-3, 3), "reduceL2": (-3, 3), "reduceLogSum": (2, 5), "reduceLogSumExp": (0.5, 3),
                 "reduceMax": (-50, 50), "reduceMin": (-50, 50), "reduceMean": (0.5, 4), "reduceProduct": (0.8, 1.25),
                 "reduceSum": (0.5, 4), "reduceSumSquare": (-3, 3)}
_REDUCE_SPECIAL = {
    "reduceL1": [[NAN, 1], [INF, -INF], [-INF, 2], [0, -0.0]], "reduceL2": [[NAN, 1], [INF, 1], [-INF, 2], [0, -0.0]],
    "reduceLogSum": [[NAN, 1], [INF, 1], [0, 0], [-1, -2], [1, 1]],
    "reduceLogSumExp": [[NAN, 1], [INF, 1], [-INF, -INF], [-INF, 3], [500, 500], [-500, -500]],
    "reduceMax": [[NAN, 1], [1, NAN], [INF, 1], [-INF, -INF], [NAN, INF], [-1, -2]],
    "reduceMin": [[NAN, 1], [1, NAN], [-INF, 1], [INF, INF], [NAN, -INF], [1, 2]],
    "reduceMean": [[NAN, 1], [INF, 1], [INF, -INF], [0, 0]],
    "reduceProduct": [[NAN, 1], [INF, 2], [INF, 0], [0, 5], [-2, 3], [-2, -3]],
    "reduceSum": [[NAN, 1], [INF, 1], [INF, -INF], [-INF, 5], [0, 0], [3, -3]],
    "reduceSumSquare": [[NAN, 1], [INF, 1], [-INF, 0], [0, -0.0]],
}


def reduce(op):
    suite = Suite(op)
    random = suite.random
    kinds = FLOATS
    if op in ("reduceMax", "reduceMin"):
        kinds = TYPES
    elif op in ("reduceL1", "reduceProduct", "reduceSum", "reduceSumSquare"):
        kinds = ("float32", "float16", "int32", "uint32", "int64", "uint64")
    low, high = _REDUCE_RANGE[op]
    for kind, (shape, axes) in spread(AXES, kinds, full=FLOATS):
        t = reals(random, kind, shape, low, high) if kind in FLOATS else anything(random, kind, shape)
        for keep in (None, True) if kind == "float32" else ((None, True, False)[len(suite.lines) % 3],):
            at = {} if axes is None else {"axes": axes}
            if keep is not None:
                at["keepDimensions"] = keep
            suite.test("%s %s %s" % (kind, text(shape), describe(at)), {"input": t}, at)
    for kind in kinds:
        if kind in FLOATS:
            suite.test("%s special values" % kind, {"input": tensor(kind, _REDUCE_SPECIAL[op])}, {"axes": [1]})
            if op in ("reduceSum", "reduceMean"):
                suite.test("%s mixed signs" % kind, {"input": dyadic(random, kind, (4, 8), -4, 4, 0.5)}, {"axes": [1]})
            if op == "reduceLogSumExp":
                suite.test("%s negative values" % kind, {"input": reals(random, kind, (3, 4), -9, -5)}, {"axes": [1]})
            suite.test("%s constant input" % kind, {"input": reals(random, kind, (3, 4), low, high)}, {"axes": [0]},
                       constant=["input"])
        elif kind not in ("uint8", "int8"):
            suite.test("%s wraps" % kind, {"input": wide_integers(random, kind, (3, 7))}, {"axes": [1]})
            suite.test("%s wraps, axes []" % kind, {"input": wide_integers(random, kind, (7,))}, {"axes": []})
        else:
            suite.test("%s whole range" % kind, {"input": wide_integers(random, kind, (5, 9))}, {"axes": [0]})
    return suite


def arg(op):
    """argMin and argMax in the form of 2026 (one axis) and of 2024 (axes list, last index)."""
    suite = Suite(op)
    random = suite.random

    def values(kind, shape):
        return tensor(kind, random.randint(0, 5, shape)) if len(suite.lines) % 2 else anything(random, kind, shape)
    single = [((7,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3, 2, 2), 1),
              ((2, 3, 2, 3), 3), ((2, 1, 3, 2, 2), 2), ((2, 1, 3, 2, 2), 1), ((1, 2, 1, 2, 1, 2, 3, 1), 6), ((33,), 0),
              ((1,), 0)]
    for i, (kind, (shape, axis)) in enumerate(spread(single, TYPES, full=("float32",), share=2)):
        at = {"axis": axis}
        if i % 3 == 1:
            at["keepDimensions"] = True
        if i % 4 in (1, 2):
            at["outputDataType"] = ("int64", "int32")[i % 4 - 1]
        suite.test("%s %s %s" % (kind, text(shape), describe(at)), {"input": values(kind, shape)}, at)
    several = [s for s in AXES if s[0]]
    for i, (kind, (shape, axes)) in enumerate(spread(several, TYPES, full=("float32", "float16"), share=4)):
        at = {} if axes is None else {"axes": axes}
        if i % 3:
            at["selectLastIndex"] = i % 3 == 1
        if i % 4 == 1:
            at["keepDimensions"] = True
        suite.test("2024 form %s %s %s" % (kind, text(shape), describe(at)), {"input": values(kind, shape)}, at)
    for kind in FLOATS:
        rows = [[NAN, 2, 1, 3], [NAN, NAN, NAN, NAN], [5, NAN, 5, NAN], [NAN, INF, -INF, INF], [NAN, -INF, NAN, -INF],
                [NAN, INF, NAN, INF], [0, -0.0, 0, -0.0], [1, 1, 1, 1]]
        for at in ({"axis": 1}, {"axis": 1, "outputDataType": "int64"}, {"axis": 0}, {"axes": [1]},
                   {"axes": [1], "selectLastIndex": True}, {}, {"selectLastIndex": True}):
            suite.test("%s special values %s" % (kind, describe(at)), {"input": tensor(kind, rows)}, at)
        suite.test("%s constant" % kind, {"input": values(kind, (3, 4))}, {"axis": 1}, constant=["input"])
    for kind in TYPES[2:]:
        suite.test("%s whole range" % kind, {"input": wide_integers(random, kind, (3, 7))}, {"axis": 1})
    return suite


def cumulative_sum():
    suite = Suite("cumulativeSum")
    random = suite.random
    forms = [((7,), 0), ((1,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), 2),
             ((2, 3, 2, 2), 1), ((2, 3, 2, 3), 3), ((2, 1, 3, 2, 2), 2), ((1, 2, 1, 2, 1, 2, 3, 1), 6), ((33,), 0)]
    kinds = ("float32", "float16", "int32", "uint32", "int64", "uint64")
    for i, (kind, (shape, axis)) in enumerate(spread(forms, kinds, full=("float32",), share=2)):
        flags = range(4) if kind in FLOATS else (i % 4,)
        for flag in flags:
            at = {"axis": axis}
            if flag & 1:
                at["exclusive"] = True
            if flag & 2:
                at["reversed"] = True
            t = positive(random, kind, shape) if kind in FLOATS else anything(random, kind, shape)
            suite.test("%s %s %s" % (kind, text(shape), describe(at)), {"input": t}, at)
    for kind in kinds[2:]:
        suite.test("%s wraps" % kind, {"input": wide_integers(random, kind, (2, 9))}, {"axis": 1})
    for kind in FLOATS:
        suite.test("%s mixed signs" % kind, {"input": dyadic(random, kind, (2, 9), -4, 4, 0.5)}, {"axis": 1})
        suite.test("%s special values" % kind, {"input": tensor(kind, [[1, INF, 2], [1, NAN, 2], [INF, 1, -INF]])},
                   {"axis": 1})
        suite.test("%s explicit defaults" % kind, {"input": positive(random, kind, (4,))},
                   {"axis": 0, "exclusive": False, "reversed": False})
    return suite


# ---- resampling -----------------------------------------------------------------------------------------------

RESAMPLES = [
    ((1, 2, 2, 3), {}), ((1, 1, 2, 3), {"scales": [2, 2]}), ((1, 2, 3, 3), {"scales": [1, 3]}),
    ((1, 1, 4, 6), {"scales": [0.5, 0.5]}), ((1, 1, 3, 5), {"scales": [1.5, 0.7]}), ((2, 1, 2, 2), {"sizes": [3, 5]}),
    ((1, 1, 5, 4), {"sizes": [2, 3]}), ((1, 1, 4, 4), {"sizes": [4, 4]}), ((1, 1, 1, 1), {"sizes": [3, 2]}),
    ((1, 1, 6, 7), {"sizes": [1, 1]}), ((1, 1, 4, 3), {"sizes": [6, 2]}),
    ((1, 2, 3, 2), {"sizes": [5, 7], "axes": [2, 3]}),
    ((1, 3, 2, 2), {"sizes": [5, 3], "axes": [1, 2]}), ((2, 3, 2, 1), {"scales": [2, 2], "axes": [0, 1]}),
    ((2, 1, 2, 3), {"scales": [2, 1.5], "axes": [0, 3]}),
    ((1, 2, 2, 3), {"sizes": [3, 4], "axes": [3, 2]}),
    ((2, 3, 1, 2), {"sizes": [3, 1], "axes": [1, 0]}), ((2, 1, 3, 1), {"sizes": [3, 4], "axes": [0, 2]}),
    ((1, 3, 1, 4), {"sizes": [2, 3], "axes": [1, 3]}), ((1, 2, 2, 2), {"scales": [3, 3], "sizes": [3, 5]}),
    ((1, 3, 3, 2), {"scales": [2, 2], "axes": [1, 2]}), ((1, 1, 2, 8), {"scales": [1, 0.25]}),
]


def resample2d():
    suite = Suite("resample2d")
    random = suite.random
    for kind in ("float32", "float16", "uint8", "int8"):
        for i, (shape, options) in enumerate(RESAMPLES):
            for mode in (None, "nearest-neighbor", "linear"):
                if kind in ("uint8", "int8") and mode != "linear" and i % 2:
                    continue
                if mode == "nearest-neighbor" and len(suite.lines) % 3:
                    continue
                at = dict(options) if mode is None else dict(options, mode=mode)
                t = positive(random, kind, shape, 1, 10) if kind in FLOATS else anything(random, kind, shape)
                suite.test("%s %s %s" % (kind, text(shape), describe(at)), {"input": t}, at)
    return suite


def suites():
    yield conv2d()
    yield conv_transpose2d()
    for op in ("averagePool2d", "l2Pool2d", "maxPool2d"):
        yield pool(op)
    yield matmul()
    yield gemm()
    yield batch_normalization()
    yield instance_normalization()
    yield layer_normalization()
    yield softmax()
    for op in REDUCTIONS:
        yield reduce(op)
    for op in ("argMin", "argMax"):
        yield arg(op)
    yield cumulative_sum()
    yield resample2d()
