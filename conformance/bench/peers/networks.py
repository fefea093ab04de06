#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks that `webnn bench` has not built in as ONNX, as frameworks export them, with random weights.

usage: networks.py WEBNN efficientnet_b0|mobilenet_v3|bert_int8 FOLDER

FOLDER gets model.onnx, x.npy, and y.npy: what this library makes of it, for onnxruntime.mjs:

    build/tools/webnn bench --vs='node conformance/bench/peers/onnxruntime.mjs FOLDER conformance/bench/peers' \\
        FOLDER/model.onnx
"""
import os
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self):
        self.nodes, self.initializers, self.random = [], [], numpy.random.default_rng(1)

    def constant(self, array):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def put(self, kind, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def normal(self, *shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(numpy.float32)

    def conv(self, x, channels, to, kernel=1, stride=1, groups=1):
        inner = channels // groups * kernel * kernel
        weights = self.constant(self.normal(to, channels // groups, kernel, kernel, scale=(2 / inner) ** 0.5))
        return self.put("Conv", x, weights, self.constant(self.normal(to, scale=0.1)), kernel_shape=[kernel] * 2,
                        strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)

    def squeeze(self, x, channels, inner, activate, gate):
        mean = self.put("GlobalAveragePool", x)
        gates = self.conv(activate(self.conv(mean, channels, inner)), inner, channels)
        return self.put("Mul", x, gate(gates))

    def classify(self, x, channels, classes=1000):
        flat = self.put("Flatten", self.put("GlobalAveragePool", x))
        return self.dense(flat, channels, classes)

    def dense(self, x, inner, outer):
        weights = self.constant(self.normal(outer, inner, scale=inner ** -0.5))
        return self.put("Gemm", x, weights, self.constant(self.normal(outer, scale=0.1)), transB=1)

    def sigmoid(self, x):
        return self.put("Sigmoid", x)

    def swish(self, x):
        return self.put("Mul", x, self.sigmoid(x))

    def relu(self, x):
        return self.put("Relu", x)

    def hard_swish(self, x):
        return self.put("HardSwish", x)

    def hard_sigmoid(self, x):
        return self.put("HardSigmoid", x, alpha=1 / 6, beta=0.5)


def efficientnet_b0(net):
    x, channels = net.swish(net.conv("x", 3, 32, 3, 2)), 32
    for expand, to, repeats, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                                (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for i in range(repeats):
            wide, step = channels * expand, stride if i == 0 else 1
            y = net.swish(net.conv(x, channels, wide)) if expand > 1 else x
            y = net.swish(net.conv(y, wide, wide, kernel, step, wide))
            y = net.conv(net.squeeze(y, wide, max(1, channels // 4), net.swish, net.sigmoid), wide, to)
            x, channels = (net.put("Add", x, y) if channels == to and step == 1 else y), to
    return [1, 3, 224, 224], net.classify(net.swish(net.conv(x, channels, 1280)), 1280)


def mobilenet_v3(net):
    x, channels = net.hard_swish(net.conv("x", 3, 16, 3, 2)), 16
    for kernel, wide, to, squeezes, hard, stride in (
            (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
            (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
            (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1),
            (5, 960, 160, 1, 1, 1)):
        act = net.hard_swish if hard else net.relu
        y = act(net.conv(x, channels, wide)) if wide != channels else x
        y = act(net.conv(y, wide, wide, kernel, stride, wide))
        if squeezes:
            y = net.squeeze(y, wide, (wide // 4 + 4) // 8 * 8, net.relu, net.hard_sigmoid)
        y = net.conv(y, wide, to)
        x, channels = (net.put("Add", x, y) if channels == to and stride == 1 else y), to
    x = net.put("Flatten", net.put("GlobalAveragePool", net.hard_swish(net.conv(x, channels, 960))))
    return [1, 3, 224, 224], net.dense(net.hard_swish(net.dense(x, 960, 1280)), 1280, 1000)


def bert_int8(net, layers=4, length=128, width=768, heads=12):
    """Activations of unsigned bytes, weights of signed ones with a scale for each column."""
    head = width // heads

    def quantized(x, span=4.0):
        scale, zero = net.constant(numpy.float32(2 * span / 255)), net.constant(numpy.uint8(128))
        return net.put("DequantizeLinear", net.put("QuantizeLinear", x, scale, zero), scale, zero)

    def dense(x, inner, outer):
        weights = net.constant(net.random.integers(-127, 128, (inner, outer), numpy.int8))
        scales = net.constant((net.random.uniform(0.5, 1, outer) * inner ** -0.5 / 74).astype(numpy.float32))
        read = net.put("DequantizeLinear", weights, scales, net.constant(numpy.zeros(outer, numpy.int8)), axis=1)
        return net.put("Add", net.put("MatMul", x, read), net.constant(net.normal(outer, scale=0.1)))

    def normalized(x):
        return net.put("LayerNormalization", x, net.constant(numpy.ones(width, numpy.float32)),
                       net.constant(numpy.zeros(width, numpy.float32)), axis=-1, epsilon=1e-12)

    def split(x, order):
        shape = net.constant(numpy.array([1, length, heads, head], numpy.int64))
        return net.put("Transpose", net.put("Reshape", x, shape), perm=order)

    def gelu(x):
        erf = net.put("Erf", net.put("Div", x, net.constant(numpy.float32(2 ** 0.5))))
        whole = net.put("Mul", x, net.put("Add", erf, net.constant(numpy.float32(1))))
        return net.put("Mul", whole, net.constant(numpy.float32(0.5)))

    x = normalized("x")
    for _ in range(layers):
        read = quantized(x)
        q, k, v = (dense(read, width, width) for _ in range(3))
        scores = net.put("MatMul", split(q, (0, 2, 1, 3)), split(k, (0, 2, 3, 1)))
        weights = net.put("Softmax", net.put("Div", scores, net.constant(numpy.float32(head ** 0.5))), axis=-1)
        mixed = net.put("Transpose", net.put("MatMul", weights, split(v, (0, 2, 1, 3))), perm=(0, 2, 1, 3))
        flat = net.put("Reshape", mixed, net.constant(numpy.array([1, length, width], numpy.int64)))
        x = normalized(net.put("Add", x, dense(quantized(flat), width, width)))
        inner = gelu(dense(quantized(x), width, 4 * width))
        x = normalized(net.put("Add", x, dense(quantized(inner), 4 * width, width)))
    return [1, length, width], x


NETWORKS = {function.__name__: function for function in (efficientnet_b0, mobilenet_v3, bert_int8)}


def main():
    webnn, name, folder = sys.argv[1:]
    net = Network()
    shape, last = NETWORKS[name](net)
    net.nodes.append(helper.make_node("Identity", [last], ["y"]))
    graph = helper.make_graph(net.nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], net.initializers)
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    model.ir_version = 8
    onnx.checker.check_model(model)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    numpy.save(os.path.join(folder, "x.npy"), net.normal(*shape))
    subprocess.run([webnn, "run", "--quiet", f"--output=y={folder}/y.npy", path, f"x={folder}/x.npy"], check=True)


if __name__ == "__main__":
    main()
