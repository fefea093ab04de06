#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""usage: pytorch.py FOLDER, with WEBNN_THREADS and PEER_SECONDS in the environment

Runs the ONNX model of a folder that model.py wrote in PyTorch, as a traced, frozen and optimized script with images that
have their channels last, compares the results with those of the folder, and prints how long it took as `webnn bench --vs`
reads it.
"""
import json
import os
import sys
import time

import numpy
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper

UNTRANSLATED = 77


def untranslated(what):
    print(f"there is no translation of {what}", file=sys.stderr)
    sys.exit(UNTRANSLATED)


def sides(pads):
    top, left, bottom, right = pads
    return left, right, top, bottom


def padded(x, pads, value=0.0):
    """The padding that an operator takes itself, and x with what it does not take."""
    if pads[:2] == pads[2:]:
        return x, pads[:2]
    return F.pad(x, sides(pads), value=value), [0, 0]


def conv(x, weight, bias=None, *, pads, strides, group):
    x, padding = padded(x, pads)
    return F.conv2d(x, weight, bias, strides, padding, groups=group)


def max_pool(x, *, kernel_shape, pads, strides):
    x, padding = padded(x, pads, float("-inf"))
    return F.max_pool2d(x, kernel_shape, strides, padding)


def average_pool(x, *, kernel_shape, pads, strides):
    if any(pads):
        untranslated("an average pool with padding")
    return F.avg_pool2d(x, kernel_shape, strides)


def gemm(a, b, c=None, *, alpha, beta, transA, transB):
    if (alpha, beta, transA, transB) != (1, 1, 0, 1):
        untranslated("this form of gemm")
    return F.linear(a, b, c)


def gru(x, weight, recurrent, bias, *, hidden_size, linear_before_reset):
    """PyTorch's own GRU resets after the product only: the other one is written out."""
    if linear_before_reset:
        untranslated("a GRU that resets after the product")
    hidden = torch.zeros(x.shape[1], hidden_size)
    input_bias, recurrent_bias = bias[0].split(3 * hidden_size)
    gates = F.linear(x, weight[0], input_bias + recurrent_bias)
    outputs = []
    for gate in gates:
        z, r = torch.sigmoid(gate[:, :2 * hidden_size]
                             + F.linear(hidden, recurrent[0][:2 * hidden_size])).chunk(2, dim=1)
        n = torch.tanh(gate[:, 2 * hidden_size:] + F.linear(r * hidden, recurrent[0][2 * hidden_size:]))
        hidden = n + z * (hidden - n)
        outputs.append(hidden)
    return torch.stack(outputs).unsqueeze(1)


def lstm(x, weight, recurrent, bias, *, hidden_size):
    def gates(matrix):
        """ONNX has the gates in the order i, o, f, c; PyTorch i, f, c, o."""
        i, o, f, c = matrix.split(hidden_size)
        return torch.cat([i, f, c, o])

    input_bias, recurrent_bias = bias[0].split(4 * hidden_size)
    parameters = [gates(part) for part in (weight[0], recurrent[0], input_bias, recurrent_bias)]
    zero = torch.zeros(1, x.shape[1], hidden_size)
    return torch.lstm(x, (zero, zero), parameters, True, 1, 0.0, False, False, False)[0].unsqueeze(1)


FUNCTIONS = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Relu": torch.relu,
    "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Exp": torch.exp, "Sqrt": torch.sqrt, "Abs": torch.abs,
    "Neg": torch.neg, "Erf": torch.erf, "Gelu": F.gelu, "MatMul": torch.matmul,
    "Clip": lambda x, low, high: torch.clamp(x, float(low), float(high)),
    "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool, "Gemm": gemm, "GRU": gru, "LSTM": lstm,
    "Reshape": lambda x, shape: x.reshape(shape.tolist()),
    "Transpose": lambda x, *, perm: x.permute(perm),
    "Softmax": lambda x, *, axis: torch.softmax(x, axis),
    "LayerNormalization": lambda x, scale, bias=None, *, axis, epsilon:
        F.layer_norm(x, x.shape[axis:], scale, bias, epsilon),
}


class Network(torch.nn.Module):
    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.constants = {array.name: self.tensor(numpy_helper.to_array(array)) for array in graph.initializer}
        for node in graph.node:
            if node.op_type not in FUNCTIONS:
                untranslated(node.op_type)

    @staticmethod
    def tensor(array):
        tensor = torch.from_numpy(numpy.array(array))
        return tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor

    def forward(self, *inputs):
        values = {**self.constants, **{value.name: x for value, x in zip(self.graph.input, inputs)}}
        for node in self.graph.node:
            attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
            values[node.output[0]] = FUNCTIONS[node.op_type](*(values[name] for name in node.input), **attributes)
        return tuple(values[value.name] for value in self.graph.output)


def main():
    folder = sys.argv[1]
    torch.set_num_threads(int(os.environ.get("WEBNN_THREADS", "1")))
    seconds = float(os.environ.get("PEER_SECONDS", "0.3"))
    graph = onnx.load(os.path.join(folder, "model.onnx")).graph
    inputs = [Network.tensor(numpy.load(os.path.join(folder, value.name + ".npy"))) for value in graph.input]
    with torch.inference_mode():
        traced = torch.jit.trace(Network(graph).eval(), inputs, check_trace=False)
        network = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
        for _ in range(3):  # the first runs compile
            results = network(*inputs)
        for value, result in zip(graph.output, results):
            expected = numpy.load(os.path.join(folder, value.name + ".npy"))
            error = numpy.abs(result.numpy() - expected).max() / numpy.abs(expected).max()
            if not error < 1e-3:
                sys.exit(f"{value.name} differs by {error} from what this library computes")
        least, runs, begin = float("inf"), 0, time.perf_counter()
        while runs < 3 or time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            network(*inputs)
            least, runs = min(least, time.perf_counter() - start), runs + 1
    print(json.dumps({"peer": f"pytorch {torch.__version__}", "min_ms": least * 1e3}))


if __name__ == "__main__":
    main()
