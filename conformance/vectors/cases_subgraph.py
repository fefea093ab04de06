# SPDX-License-Identifier: Apache-2.0
"""Small graphs of several operators: what a graph compiler likes to fold, fuse, share or reorder.

Data are positive or exact, so that the sum of the operators' tolerances stays meaningful."""

import numpy as np

from graph import Graph, Suite
from numeric import tensor
from values import dyadic, positive


class _Maker:
    """Shorthand for one graph: numbered inputs and constants, operators by attribute access."""

    def __init__(self, random, kind):
        self.random, self.kind, self.graph, self.count = random, kind, Graph(), 0

    def _name(self, prefix):
        self.count += 1
        return "%s%d" % (prefix, self.count)

    def input(self, shape, low=0.5, high=2.0):
        return self.graph.input(self._name("input"), positive(self.random, self.kind, shape, low, high))

    def exact_input(self, shape, low=-1, high=1, step=0.5):
        return self.graph.input(self._name("input"), dyadic(self.random, self.kind, shape, low, high, step))

    def constant(self, shape, low=0.5, high=1.5):
        return self.graph.constant(self._name("constant"), positive(self.random, self.kind, shape, low, high))

    def exact_constant(self, shape, low=-1, high=1, step=0.5):
        return self.graph.constant(self._name("constant"), dyadic(self.random, self.kind, shape, low, high, step))

    def value(self, values, kind=None):
        return self.graph.constant(self._name("constant"), tensor(kind or self.kind, values))

    def data(self, values, kind=None):
        return self.graph.input(self._name("input"), tensor(kind or self.kind, values))

    def op(self, name, **parameters):
        """Operands are the parameters that name values of the graph; all others are attributes."""
        def is_operand(v):
            return v in self.graph.values if isinstance(v, str) else \
                isinstance(v, list) and bool(v) and all(isinstance(i, str) and i in self.graph.values for i in v)
        operands = {k: v for k, v in parameters.items() if is_operand(v)}
        attributes = {k: v for k, v in parameters.items() if not is_operand(v)}
        return self.graph.add(name, operands, attributes)

    def binary(self, name, a, b):
        return self.op(name, a=a, b=b)

    def unary(self, name, x, **attributes):
        return self.op(name, input=x, **attributes)


# ---- convolutional --------------------------------------------------------------------------------------------

def conv_bias_relu(m):
    x = m.op("conv2d", input=m.exact_input((1, 2, 4, 4)), filter=m.exact_constant((3, 2, 3, 3)),
             bias=m.exact_constant((3,)), padding=[1, 1, 1, 1])
    return m.unary("relu", x)


def conv_add_relu6_nhwc(m):
    x = m.op("conv2d", input=m.input((1, 4, 4, 2)), filter=m.constant((3, 2, 3, 2), 0.1, 0.3), inputLayout="nhwc",
             filterLayout="ohwi")
    x = m.binary("add", x, m.constant((3,)))
    return m.unary("clamp", x, minValue=0, maxValue=6)


def conv_batch_normalization_relu(m):
    x = m.op("conv2d", input=m.input((1, 2, 3, 3)), filter=m.constant((4, 2, 2, 2)))
    x = m.op("batchNormalization", input=x, mean=m.constant((4,), -2, -1), variance=m.constant((4,)),
             scale=m.constant((4,)), bias=m.constant((4,)))
    return m.unary("relu", x)


def conv_batch_normalization_nhwc(m):
    x = m.op("conv2d", input=m.input((1, 3, 3, 2)), filter=m.constant((2, 2, 2, 4)), inputLayout="nhwc",
             filterLayout="hwio", bias=m.constant((4,)))
    return m.op("batchNormalization", input=x, mean=m.constant((4,), -2, -1), variance=m.constant((4,)), axis=3)


def residual_block(m):
    x = m.input((1, 3, 4, 4))
    y = m.op("conv2d", input=x, filter=m.constant((3, 3, 3, 3), 0.05, 0.2), bias=m.constant((3,)), padding=[1] * 4)
    y = m.unary("relu", y)
    y = m.op("conv2d", input=y, filter=m.constant((3, 3, 1, 1), 0.1, 0.3))
    return m.unary("relu", m.binary("add", x, y))


def residual_both_outputs(m):
    x = m.exact_input((1, 2, 3, 3))
    y = m.op("conv2d", input=x, filter=m.exact_constant((2, 2, 3, 3)), padding=[1] * 4)
    z = m.binary("add", y, x)
    return [y, z, m.unary("relu", z)]


def depthwise_separable(m):
    x = m.op("conv2d", input=m.input((1, 4, 4, 4)), filter=m.constant((4, 1, 3, 3), 0.1, 0.5), groups=4,
             padding=[1] * 4, bias=m.constant((4,)))
    x = m.unary("clamp", x, minValue=0, maxValue=6)
    x = m.op("conv2d", input=x, filter=m.constant((5, 4, 1, 1), 0.1, 0.5))
    return m.unary("hardSwish", x)


def padded_convolution(m):
    x = m.op("pad", input=m.exact_input((1, 2, 3, 3)), beginningPadding=[0, 0, 1, 0], endingPadding=[0, 0, 1, 2])
    return m.op("conv2d", input=x, filter=m.exact_constant((2, 2, 3, 3)), strides=[1, 2])


def padded_with_ones(m):
    x = m.op("pad", input=m.exact_input((1, 2, 3, 3)), beginningPadding=[0, 0, 1, 1], endingPadding=[0, 0, 1, 1],
             value=1)
    return m.op("conv2d", input=x, filter=m.exact_constant((2, 2, 3, 3)), padding=[1, 1, 1, 1])


def transposed_convolution(m):
    x = m.unary("transpose", m.input((1, 4, 4, 2)), permutation=[0, 3, 1, 2])
    x = m.op("conv2d", input=x, filter=m.constant((3, 2, 2, 2)), bias=m.constant((3,)))
    x = m.op("maxPool2d", input=x, windowDimensions=[2, 2])
    return m.unary("transpose", x, permutation=[0, 2, 3, 1])


def squeeze_and_excite(m):
    x = m.input((1, 4, 3, 3))
    y = m.op("averagePool2d", input=x)
    y = m.unary("relu", m.op("conv2d", input=y, filter=m.constant((2, 4, 1, 1)), bias=m.constant((2,))))
    y = m.op("conv2d", input=y, filter=m.constant((4, 2, 1, 1), 0.05, 0.2))
    return m.binary("mul", x, m.unary("hardSigmoid", y))


def global_pool_classifier(m):
    x = m.op("averagePool2d", input=m.input((2, 3, 4, 4)))
    x = m.unary("reshape", x, newShape=[2, 3])
    x = m.op("gemm", a=x, b=m.constant((5, 3)), c=m.constant((5,)), bTranspose=True)
    return m.unary("softmax", x, axis=1)


def inception(m):
    x = m.input((1, 3, 4, 4))
    branches = [m.unary("relu", m.op("conv2d", input=x, filter=m.constant((2, 3, 1, 1)))),
                m.unary("relu", m.op("conv2d", input=x, filter=m.constant((1, 3, 3, 3)), padding=[1] * 4)),
                m.op("maxPool2d", input=x, windowDimensions=[3, 3], padding=[1] * 4)]
    return m.op("concat", inputs=branches, axis=1)


def decoder(m):
    x = m.op("convTranspose2d", input=m.input((1, 2, 3, 3)), filter=m.constant((2, 3, 2, 2)), strides=[2, 2],
             bias=m.constant((3,)))
    x = m.unary("leakyRelu", x, alpha=0.25)
    return m.unary("resample2d", x, mode="linear", sizes=[9, 12])


def two_convolutions_one_filter(m):
    w = m.exact_constant((2, 2, 2, 2))
    x = m.op("conv2d", input=m.exact_input((1, 2, 3, 3)), filter=w)
    y = m.op("conv2d", input=m.exact_input((1, 2, 4, 3)), filter=w, padding=[0, 0, 1, 0])
    return [m.unary("relu", x), y]


def fused_and_separate_activation(m):
    x, w = m.exact_input((1, 1, 4, 4)), m.exact_constant((2, 1, 2, 2))
    y = m.op("conv2d", input=x, filter=w, activation={"name": "relu"})
    return m.binary("sub", y, m.unary("clamp", m.op("conv2d", input=x, filter=w), minValue=-1, maxValue=1))


def computed_filter(m):
    w = m.unary("transpose", m.exact_constant((2, 2, 2, 3)), permutation=[3, 2, 0, 1])
    w = m.binary("mul", w, m.value(0.5))
    return m.op("conv2d", input=m.exact_input((1, 2, 3, 3)), filter=w)


# ---- dense, attention, normalization ----------------------------------------------------------------------------

def mlp(m):
    x = m.op("gemm", a=m.input((3, 4)), b=m.constant((4, 6), 0.1, 0.5), c=m.constant((6,)))
    x = m.unary("gelu", x)
    return m.op("gemm", a=x, b=m.constant((3, 6), 0.1, 0.5), c=m.constant((3,)), bTranspose=True)


def matmul_bias_relu(m):
    x = m.op("matmul", a=m.exact_input((2, 3, 4)), b=m.exact_constant((4, 5)))
    return m.unary("relu", m.binary("add", x, m.exact_constant((5,))))


def matmul_transposed(m):
    x = m.op("matmul", a=m.input((2, 3)), b=m.unary("transpose", m.constant((4, 3))))
    return m.op("matmul", a=m.unary("transpose", x), b=m.input((2, 2)))


def attention(m):
    x = m.input((1, 3, 4))
    q, k, v = (m.op("matmul", a=x, b=m.constant((4, 4), 0.05, 0.3)) for _ in range(3))

    def heads(t):
        t = m.unary("reshape", t, newShape=[1, 3, 2, 2])
        return m.unary("transpose", t, permutation=[0, 2, 1, 3])
    q, v = heads(q), heads(v)
    k = m.unary("transpose", heads(k), permutation=[0, 1, 3, 2])
    scores = m.binary("div", m.op("matmul", a=q, b=k), m.value(float(np.sqrt(2))))
    mixed = m.op("matmul", a=m.unary("softmax", scores, axis=3), b=v)
    mixed = m.unary("transpose", mixed, permutation=[0, 2, 1, 3])
    return m.binary("add", x, m.unary("reshape", mixed, newShape=[1, 3, 4]))


def masked_attention(m):
    scores = m.op("matmul", a=m.input((1, 3, 2)), b=m.input((1, 2, 3)))
    mask = m.unary("triangular", m.value([[1] * 3] * 3), upper=False)
    keep = m.op("cast", input=mask, dataType="uint8")
    scores = m.op("where", condition=keep, trueValue=scores, falseValue=m.value(-30000))
    return m.op("matmul", a=m.unary("softmax", scores, axis=2), b=m.constant((3, 2)))


def gelu_from_erf(m):
    x = m.input((3, 5), 0.25, 3)
    e = m.unary("erf", m.binary("div", x, m.value(float(np.sqrt(2)))))
    half = m.binary("mul", x, m.value(0.5))
    return m.binary("mul", half, m.binary("add", e, m.value(1)))


def layer_normalization_from_parts(m):
    x = m.data([[1, 2, 3, 6], [-4, 0, 2, 2], [8, 4, -4, 0]])
    mean = m.unary("reduceMean", x, axes=[1], keepDimensions=True)
    d = m.binary("sub", x, mean)
    variance = m.unary("reduceMean", m.binary("pow", d, m.value(2)), axes=[1], keepDimensions=True)
    y = m.binary("div", d, m.unary("sqrt", m.binary("add", variance, m.value(0.001))))
    return m.binary("add", m.binary("mul", y, m.constant((4,))), m.constant((4,), 8, 12))


def layer_normalization_twice(m):
    x = m.data([[1, 2, 3, 6], [-4, 0, 2, 2]])
    y = m.op("layerNormalization", input=x, scale=m.constant((4,)), bias=m.constant((4,), 8, 9), axes=[1])
    return [y, m.binary("add", y, m.value([[10] * 4] * 2))]


def softmax_from_parts(m):
    x = m.input((2, 5), -2, 2)
    e = m.unary("exp", m.binary("sub", x, m.unary("reduceMax", x, axes=[1], keepDimensions=True)))
    return m.binary("div", e, m.unary("reduceSum", e, axes=[1], keepDimensions=True))


def batch_normalization_from_parts(m):
    x = m.input((2, 3, 2), 2, 4)
    mean, variance = m.constant((1, 3, 1), 0.25, 1), m.constant((1, 3, 1))
    y = m.binary("div", m.binary("sub", x, mean), m.unary("sqrt", m.binary("add", variance, m.value(0.001))))
    return m.binary("add", m.binary("mul", y, m.constant((1, 3, 1))), m.constant((1, 3, 1)))


def swish(m):
    x = m.input((4, 5), -3, 3)
    return m.binary("mul", x, m.unary("sigmoid", x))


def hard_swish_from_parts(m):
    x = m.input((4, 5), -2.5, 5)
    y = m.unary("clamp", m.binary("add", x, m.value(3)), minValue=0, maxValue=6)
    return m.binary("div", m.binary("mul", x, y), m.value(6))


def l2_normalization(m):
    x = m.input((3, 4), -2, 2)
    return m.binary("div", x, m.unary("reduceL2", x, axes=[1], keepDimensions=True))


def embedding(m):
    rows = m.op("gather", input=m.constant((7, 4)), indices=m.data([[0, 3], [6, 1], [2, 2]], "int32"))
    x = m.binary("add", rows, m.constant((1, 2, 4)))
    return m.unary("reduceSum", x, axes=[1])


def transformer_feed_forward(m):
    x = m.input((2, 3, 4))
    y = m.op("matmul", a=x, b=m.constant((4, 6), 0.1, 0.4))
    y = m.unary("gelu", m.binary("add", y, m.constant((6,))))
    y = m.binary("add", m.op("matmul", a=y, b=m.constant((6, 4), 0.1, 0.4)), m.constant((4,)))
    return m.binary("add", x, y)


def gru_then_dense(m):
    gates = [m.op("gru", input=m.input((2, 1, 2), 0.1, 1), weight=m.constant((1, 9, 2), 0.05, 0.4),
                  recurrentWeight=m.constant((1, 9, 3), 0.05, 0.4), steps=2, hiddenSize=3)]
    x = m.unary("reshape", gates[0], newShape=[1, 3])
    return m.op("gemm", a=x, b=m.constant((3, 2)), c=m.constant((2,)))


def lstm_cell_unrolled(m):
    w, r, b = m.constant((8, 2), 0.05, 0.4), m.constant((8, 2), 0.05, 0.4), m.constant((8,), 0.05, 0.4)
    h, c = m.value([[0, 0]]), m.value([[0, 0]])
    for _ in range(2):
        h, c = m.op("lstmCell", input=m.input((1, 2), 0.1, 1), weight=w, recurrentWeight=r, hiddenState=h, cellState=c,
                    bias=b, hiddenSize=2)
    return [h, c]


# ---- folding, sharing, outputs --------------------------------------------------------------------------------

def all_constant(m):
    x = m.binary("mul", m.binary("add", m.value([[1, 2], [3, 4]]), m.value(0.5)), m.value([2, 4]))
    return m.unary("transpose", x)


def constant_subtree(m):
    k = m.unary("sqrt", m.binary("add", m.value([4, 9, 16]), m.value(0)))
    return m.binary("mul", m.exact_input((2, 3)), k)


def constant_used_twice(m):
    k, x = m.exact_constant((3,)), m.exact_input((2, 3))
    return m.binary("mul", m.binary("add", x, k), k)


def constant_used_by_different_operators(m):
    k = m.constant((3, 3))
    x = m.op("matmul", a=m.input((2, 3)), b=k)
    return m.op("gemm", a=x, b=k, bTranspose=True, c=m.unary("reduceSum", k, axes=[0]))


def constant_as_two_outputs(m):
    k = m.exact_constant((2, 3))
    return [m.unary("identity", k), m.unary("reshape", k, newShape=[3, 2]), m.unary("neg", m.exact_input((2,)))]


def intermediate_is_output(m):
    x = m.exact_input((2, 4))
    y = m.unary("relu", x)
    return [y, m.binary("mul", y, m.value(2)), m.unary("neg", y)]


def same_subexpression(m):
    x, k = m.exact_input((3, 3)), m.exact_constant((3,))
    return m.binary("mul", m.unary("abs", m.binary("add", x, k)), m.binary("add", x, k))


def identities(m):
    x = m.exact_input((2, 3))
    y = m.binary("mul", m.binary("add", x, m.value(0)), m.value(1))
    y = m.binary("div", m.binary("sub", y, m.value(0)), m.value(1))
    y = m.unary("reshape", y, newShape=[2, 3])
    return m.unary("identity", m.unary("transpose", y, permutation=[0, 1]))


def double_negation(m):
    x = m.exact_input((5,))
    x = m.unary("reciprocal", m.unary("reciprocal", m.binary("add", x, m.value(3))))
    return m.unary("neg", m.unary("neg", x))


def double_transpose(m):
    x = m.unary("transpose", m.exact_input((2, 3, 4)), permutation=[2, 0, 1])
    x = m.unary("transpose", m.unary("relu", x), permutation=[1, 2, 0])
    return m.unary("reshape", m.unary("reshape", x, newShape=[6, 4]), newShape=[3, 8])


def elementwise_chain(m):
    x, y = m.input((3, 4)), m.input((4,))
    z = m.binary("add", m.binary("mul", x, y), m.value(1))
    z = m.unary("sqrt", m.binary("div", z, m.input((3, 1))))
    return m.binary("max", m.binary("min", z, m.value(1.5)), m.value(0.75))


def broadcast_chain(m):
    x = m.binary("add", m.exact_input((2, 1, 3)), m.exact_input((4, 1)))
    x = m.binary("mul", x, m.exact_input(()))
    return m.binary("sub", x, m.exact_constant((2, 4, 3)))


def diamond(m):
    x = m.exact_input((2, 2), 1, 2)
    for _ in range(4):
        x = m.binary("add", m.binary("mul", x, m.value(0.5)), m.binary("mul", x, m.value(0.25)))
    return x


def split_and_concat(m):
    a, b, c = m.unary("split", m.exact_input((2, 6)), splits=[1, 2, 3], axis=1)
    return [m.op("concat", inputs=[c, m.unary("relu", a), b, a], axis=1), b]


def slice_pad_reverse(m):
    x = m.op("slice", input=m.exact_input((3, 5)), starts=[1, 0], sizes=[2, 5], strides=[1, 2])
    x = m.op("pad", input=x, beginningPadding=[1, 0], endingPadding=[0, 1], mode="edge")
    return m.unary("tile", m.unary("reverse", x, axes=[1]), repetitions=[1, 2])


def expand_reduce(m):
    x = m.unary("expand", m.exact_input((1, 3)), newShape=[4, 3])
    return [m.unary("reduceSum", x), m.unary("reduceMax", x, axes=[0]), m.unary("reduceMin", x, axes=[1])]


def compare_and_select(m):
    x, y = m.exact_input((3, 4)), m.exact_input((4,))
    greater = m.binary("greater", x, y)
    other = m.op("logicalNot", a=m.binary("equal", x, y))
    both = m.binary("logicalAnd", greater, other)
    return m.op("where", condition=both, trueValue=x, falseValue=m.unary("neg", y))


def masks_as_outputs(m):
    x = m.data([[1, 2, float("nan")], [float("inf"), -1, 0]])
    bad = m.binary("logicalOr", m.op("isNaN", a=x), m.op("isInfinite", a=x))
    return [bad, m.op("where", condition=bad, trueValue=m.value(0), falseValue=x)]


def top_index(m):
    x = m.op("matmul", a=m.exact_input((3, 4)), b=m.exact_constant((4, 5)))
    index = m.unary("argMax", x, axis=1, keepDimensions=True)
    return [index, m.op("gatherElements", input=x, indices=index, axis=1)]


def integer_chain(m):
    x = m.op("cast", input=m.data([[1.5, -2.75, 300], [7, 0, -128.5]]), dataType="int32")
    x = m.binary("mul", m.binary("add", x, m.value(7, "int32")), m.value([[3], [-2]], "int32"))
    return [m.op("cast", input=x, dataType="int8"), m.op("cast", input=m.binary("div", x, m.value(4, "int32")),
                                                         dataType=m.kind)]


def scatter_then_gather(m):
    x = m.op("scatterND", input=m.exact_input((4, 3)), indices=m.value([[1], [3]], "int32"),
             updates=m.exact_input((2, 3)))
    x = m.op("scatterElements", input=x, indices=m.value([[0, 2, 1]], "int32"), updates=m.exact_constant((1, 3)))
    return m.op("gatherND", input=x, indices=m.value([[0, 0], [2, 1], [3, -1]], "int32"))


def cumulative(m):
    x = m.op("cumulativeSum", input=m.exact_input((2, 5)), axis=1)
    return m.binary("sub", x, m.op("cumulativeSum", input=m.exact_constant((5,)), axis=0, exclusive=True))


def one_input_many_outputs(m):
    x = m.exact_input((2, 3))
    return [m.unary("abs", x), m.unary("sign", x), m.unary("floor", x), m.unary("identity", x),
            m.unary("transpose", x), m.unary("reduceSum", x)]


def ignored_branch(m):
    x = m.exact_input((3,))
    m.binary("mul", x, m.value(5))
    return m.binary("add", x, m.value(5))


# ---- quantized ------------------------------------------------------------------------------------------------

def _dequantized(m, kind, shape, low, high, scale, zero, constant=True):
    add = m.value if constant else m.data
    q = add(m.random.randint(low, high + 1, shape), kind)
    one = [1] * len(shape)
    return m.op("dequantizeLinear", input=q, scale=m.value(np.full(one, scale)),
                zeroPoint=m.value(np.full(one, zero), kind))


def quantize_and_back(m):
    s, z = m.value([[0.25]]), m.value([[3]], "int8")
    q = m.op("quantizeLinear", input=m.exact_input((3, 4), -4, 4, 0.25), scale=s, zeroPoint=z)
    return m.op("dequantizeLinear", input=q, scale=s, zeroPoint=z)


def quantized_convolution(m):
    x = _dequantized(m, "uint8", (1, 2, 4, 4), 0, 15, 0.5, 8, constant=False)
    w = _dequantized(m, "int8", (3, 2, 3, 3), -3, 3, 0.25, 0)
    b = _dequantized(m, "int32", (3,), -8, 8, 0.125, 0)
    y = m.unary("relu", m.op("conv2d", input=x, filter=w, bias=b, padding=[1] * 4))
    return m.op("quantizeLinear", input=y, scale=m.value([[[[0.5]]]]), zeroPoint=m.value([[[[10]]]], "uint8"))


def quantized_matmul(m):
    a = _dequantized(m, "int8", (3, 4), -8, 8, 0.5, 1, constant=False)
    b = _dequantized(m, "int8", (4, 5), -4, 4, 0.25, 0)
    return m.op("matmul", a=a, b=b)


def four_bit_weights(m):
    w = m.value(m.random.randint(0, 16, (4, 6)), "uint4")
    w = m.op("dequantizeLinear", input=w, scale=m.value([[0.5, 0.25]] * 4), zeroPoint=m.value([[8, 7]] * 4, "uint4"))
    return m.op("matmul", a=m.exact_input((2, 4)), b=w)


def signed_four_bit_weights(m):
    w = m.value(m.random.randint(-8, 8, (6, 4)), "int4")
    w = m.op("dequantizeLinear", input=w, scale=m.value([[0.5] * 4, [0.25] * 4]),
             zeroPoint=m.value([[0] * 4] * 2, "int4"))
    return m.op("gemm", a=m.exact_input((2, 6)), b=w, c=m.exact_constant((4,)))


def quantized_relu(m):
    q = m.op("quantizeLinear", input=m.exact_input((2, 5), -4, 4, 0.25), scale=m.value([[0.5]]),
             zeroPoint=m.value([[0]], "int8"))
    return m.unary("relu", q)


GRAPHS = [
    conv_bias_relu, conv_add_relu6_nhwc, conv_batch_normalization_relu, conv_batch_normalization_nhwc, residual_block,
    residual_both_outputs, depthwise_separable, padded_convolution, padded_with_ones, transposed_convolution,
    squeeze_and_excite, global_pool_classifier, inception, decoder, two_convolutions_one_filter,
    fused_and_separate_activation, computed_filter, mlp, matmul_bias_relu, matmul_transposed, attention,
    masked_attention, gelu_from_erf, layer_normalization_from_parts, layer_normalization_twice, softmax_from_parts,
    batch_normalization_from_parts, swish, hard_swish_from_parts, l2_normalization, embedding,
    transformer_feed_forward, gru_then_dense, lstm_cell_unrolled, all_constant, constant_subtree, constant_used_twice,
    constant_used_by_different_operators, constant_as_two_outputs, intermediate_is_output, same_subexpression,
    identities, double_negation, double_transpose, elementwise_chain, broadcast_chain, diamond, split_and_concat,
    slice_pad_reverse, expand_reduce, compare_and_select, masks_as_outputs, top_index, integer_chain,
    scatter_then_gather, cumulative, one_input_many_outputs, ignored_branch, quantize_and_back, quantized_convolution,
    quantized_matmul, four_bit_weights, signed_four_bit_weights, quantized_relu,
]


def suites():
    suite = Suite("subgraph")
    for build in GRAPHS:
        for kind in ("float32", "float16"):
            maker = _Maker(suite.random, kind)
            outputs = build(maker)
            outputs = [outputs] if isinstance(outputs, str) else outputs
            suite.graph("%s %s" % (build.__name__.replace("_", " "), kind), maker.graph, outputs)
    yield suite
