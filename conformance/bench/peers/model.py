#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a graph that `webnn bench` measures as an ONNX model, for programs that run the same with something else.

usage: model.py WEBNN GRAPH FOLDER

FOLDER gets model.onnx, INPUT.npy with random numbers for each input, and OUTPUT.npy: what this library makes of them.
Images have their channels first, as ONNX has them: a graph with the channels last gets no transposition but where an
operator sees the order. Exit code 77: the graph has something that is not translated.
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

UNTRANSLATED = 77
TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
FILTERS = {"oihw": (0, 1, 2, 3), "hwio": (3, 2, 0, 1), "ohwi": (0, 3, 1, 2), "ihwo": (3, 0, 1, 2)}
ELEMENTWISE = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "relu": "Relu", "sigmoid": "Sigmoid",
               "tanh": "Tanh", "exp": "Exp", "sqrt": "Sqrt", "abs": "Abs", "neg": "Neg", "erf": "Erf"}


def untranslated(what):
    print(f"there is no translation of {what}", file=sys.stderr)
    sys.exit(UNTRANSLATED)


def read_value(text):
    """A value of a graph file: a list, a quoted string, a number, a boolean or a word."""
    if text.startswith("["):
        return [read_value(item) for item in re.split(r",\s*", text[1:-1]) if item]
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_weights(path):
    """The float32 arrays of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    return {name: numpy.frombuffer(data, "<f4", math.prod(entry["shape"]), begin + entry["data_offsets"][0])
            .reshape(entry["shape"]) for name, entry in header.items()
            if name != "__metadata__" and entry["dtype"] == "F32"}


class Graph:
    """A graph file as `webnn graph --emit=webnn` writes it."""

    def __init__(self, text, weights):
        self.inputs, self.constants, self.nodes, section = {}, {}, [], ""
        for line in map(str.strip, text.splitlines()):
            if heading := re.fullmatch(r"(\w+) {", line):
                section = heading[1]
            elif outputs := re.fullmatch(r"outputs { (.*?);? }", line):
                self.outputs = re.split(r"[;,]\s*", outputs[1])
            elif operand := re.fullmatch(r"(\w+): (\w+)\[(.*)\](?: @(\w+)\((.*)\))?;", line):
                self.read_operand(section, *operand.groups(), weights)
            elif node := re.fullmatch(r"\[?([\w, ]+?)\]? = (\w+)\((.*)\);", line):
                self.read_node(*node.groups())
            elif section and line not in ("", "}"):
                untranslated(line)

    def read_operand(self, section, name, dtype, dims, kind, value, weights):
        if dtype != "f32":
            untranslated(f"the data type {dtype}")
        if section == "inputs":
            self.inputs[name] = read_value(f"[{dims}]")
        elif kind == "scalar":
            self.constants[name] = numpy.array(float(value), numpy.float32)
        else:
            self.constants[name] = weights[json.loads(value)]

    def read_node(self, outputs, operator, arguments):
        words = re.findall(r"(?:(\w+)=)?(\[.*?\]|\"[^\"]*\"|[^,\s]+)", arguments)
        self.nodes.append((operator, outputs.split(", "), [word for key, word in words if not key],
                           {key: read_value(word) for key, word in words if key}))


class Translation:
    """The ONNX nodes. `images` are the values that have their channels first and had them last."""

    def __init__(self, graph):
        self.graph, self.nodes, self.initializers, self.images, self.copies = graph, [], {}, set(), set()
        for name, dims in graph.inputs.items():
            readers = [node for node in graph.nodes if name in node[2]]
            if len(dims) == 4 and readers and all("nhwc" in node[3].values() for node in readers):
                self.images.add(name)
        for operator, outputs, inputs, options in graph.nodes:
            method = getattr(self, operator, None)
            if method:
                method(outputs, inputs, options)
            elif operator in ELEMENTWISE and not options:
                self.elementwise(ELEMENTWISE[operator], outputs, inputs)
            else:
                untranslated(operator)

    def dims(self, name, dims):
        return [dims[i] for i in TO_NCHW] if name in self.images else dims

    def constant(self, name, array):
        self.initializers[name] = numpy.ascontiguousarray(array)
        return name

    def put(self, kind, inputs, outputs, **attributes):
        for name in inputs:
            if name in self.graph.constants and name not in self.initializers:
                self.constant(name, self.graph.constants[name])
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))

    def reordered(self, name, suffix, order):
        copy = name + suffix
        if copy not in self.copies:
            self.put("Transpose", [name], [copy], perm=order)
            self.copies.add(copy)
        return copy

    def plain(self, name):
        """The value in the order of the graph."""
        return self.reordered(name, "_nhwc", TO_NHWC) if name in self.images else name

    def image(self, name):
        """The value with its channels first."""
        return name if name in self.images else self.reordered(name, "_nchw", TO_NCHW)

    def elementwise(self, kind, outputs, inputs, **attributes):
        if all(name in self.images for name in inputs):
            self.images.update(outputs)
        else:
            inputs = [self.plain(name) for name in inputs]
        self.put(kind, inputs, outputs, **attributes)

    def clamp(self, outputs, inputs, options):
        bounds = [self.constant(f"{outputs[0]}_{key}", numpy.array(float(options[key]), numpy.float32))
                  for key in ("minValue", "maxValue")]
        if inputs[0] in self.images:
            self.images.update(outputs)
        self.put("Clip", inputs + bounds, outputs)

    def gelu(self, outputs, inputs, _):
        self.put("Gelu", [self.plain(inputs[0])], outputs, domain="com.microsoft")

    def conv2d(self, outputs, inputs, options):
        self.windowed("Conv", outputs, inputs[0], options, options.get("inputLayout"), group=options.get("groups", 1),
                      more=[self.filter(inputs[1], options), *([options["bias"]] if "bias" in options else [])])

    def filter(self, name, options):
        order = FILTERS[options.get("filterLayout", "oihw")]
        return self.constant(name + "_oihw", self.graph.constants[name].transpose(order))

    def averagePool2d(self, outputs, inputs, options):
        self.windowed("AveragePool", outputs, inputs[0], options, options.get("layout"),
                      kernel_shape=options["windowDimensions"])

    def maxPool2d(self, outputs, inputs, options):
        self.windowed("MaxPool", outputs, inputs[0], options, options.get("layout"),
                      kernel_shape=options["windowDimensions"])

    def windowed(self, kind, outputs, value, options, layout, more=(), **attributes):
        if options.get("dilations", [1, 1]) != [1, 1]:
            untranslated("dilations")
        top, bottom, left, right = options.get("padding", [0, 0, 0, 0])
        if layout == "nhwc":
            value = self.image(value)
            self.images.update(outputs)
        self.put(kind, [value, *more], outputs, pads=[top, left, bottom, right], strides=options.get("strides", [1, 1]),
                 **attributes)

    def matmul(self, outputs, inputs, _):
        self.put("MatMul", [self.plain(name) for name in inputs], outputs)

    def gemm(self, outputs, inputs, options):
        more = [options["c"]] if "c" in options else []
        self.put("Gemm", [*inputs, *more], outputs, alpha=options.get("alpha", 1.0), beta=options.get("beta", 1.0),
                 transA=int(options.get("aTranspose", False)), transB=int(options.get("bTranspose", False)))

    def reshape(self, outputs, inputs, options):
        shape = self.constant(outputs[0] + "_shape", numpy.array(options["newShape"], numpy.int64))
        self.put("Reshape", [self.flat(inputs[0]), shape], outputs)

    def flat(self, name):
        """As `plain`; an image of one pixel has the same bytes in both orders."""
        producer = next((node for node in self.graph.nodes if name in node[1]), None)
        one_pixel = producer and producer[3].get("outputSizes") == [1, 1]
        return name if one_pixel else self.plain(name)

    def transpose(self, outputs, inputs, options):
        self.put("Transpose", [self.plain(inputs[0])], outputs, perm=options["permutation"])

    def softmax(self, outputs, inputs, options):
        self.put("Softmax", [self.plain(inputs[0])], outputs, axis=options["axis"])

    def layerNormalization(self, outputs, inputs, options):
        axes = options["axes"]
        if len(axes) != 1 or "scale" not in options:
            untranslated("layerNormalization over several axes or without a scale")
        self.put("LayerNormalization", [inputs[0], *(options[key] for key in ("scale", "bias") if key in options)],
                 outputs, axis=axes[0], epsilon=options.get("epsilon", 1e-5))

    def recurrent(self, kind, outputs, inputs, options, **attributes):
        """Gates stand in the same order in both; ONNX has both biases in one."""
        known = {"bias", "recurrentBias", "steps", "hiddenSize", "returnSequence", "activations"}
        if options.keys() - {"resetAfter"} != known or not options["returnSequence"]:
            untranslated(f"the options of {kind}")
        bias = self.constant(outputs[0] + "_bias", numpy.concatenate(
            [self.graph.constants[options[key]] for key in ("bias", "recurrentBias")], axis=1))
        self.put(kind, [*inputs, bias], [outputs[-1], *outputs[:-1]], hidden_size=options["hiddenSize"], **attributes)

    def gru(self, outputs, inputs, options):
        self.recurrent("GRU", outputs, inputs, options, linear_before_reset=int(options.get("resetAfter", True)))

    def lstm(self, outputs, inputs, options):
        self.recurrent("LSTM", outputs, inputs, options)

    def model(self, outputs):
        def value(name, dims):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

        graph = helper.make_graph(self.nodes, "graph",
                                  [value(name, self.dims(name, dims)) for name, dims in self.graph.inputs.items()],
                                  [value(name, self.dims(name, list(array.shape))) for name, array in outputs.items()],
                                  [numpy_helper.from_array(array, name) for name, array in self.initializers.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                        helper.make_opsetid("com.microsoft", 1)])
        model.ir_version = 8
        return model


def emit(webnn, word, folder):
    weights = os.path.join(folder, "weights.safetensors")
    text = subprocess.run([webnn, "graph", "--emit=webnn", f"--weights-out={weights}", word], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return Graph(text, read_weights(weights) if os.path.exists(weights) else {})


def run(webnn, word, folder, graph):
    """Random inputs, and what this library makes of them."""
    generator, inputs = numpy.random.default_rng(1), {}
    for name, dims in graph.inputs.items():
        inputs[name] = generator.uniform(-1, 1, dims).astype(numpy.float32)
        numpy.save(os.path.join(folder, name + ".npy"), inputs[name])
    subprocess.run([webnn, "run", "--quiet", *(f"--output={name}={folder}/{name}.npy" for name in graph.outputs), word,
                    *(f"{name}={folder}/{name}.npy" for name in inputs)], check=True)
    return inputs, {name: numpy.load(os.path.join(folder, name + ".npy")) for name in graph.outputs}


def main():
    webnn, word, target = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        graph = emit(webnn, word, folder)
        translation = Translation(graph)
        inputs, outputs = run(webnn, word, folder, graph)
    os.makedirs(target, exist_ok=True)
    for name, array in {**inputs, **outputs}.items():
        ordered = array.transpose(TO_NCHW) if name in translation.images else array
        numpy.save(os.path.join(target, name + ".npy"), numpy.ascontiguousarray(ordered))
    model = translation.model(outputs)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(target, "model.onnx"))


if __name__ == "__main__":
    main()
