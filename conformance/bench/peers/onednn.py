#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX model of a folder that model.py wrote as the steps of onednn.cpp.

usage: onednn.py FOLDER

FOLDER gets plan.txt, a step a line, and plan.bin, the constants. What oneDNN can fuse is fused here: a bias, an
activation, a scale, the addition of a residual, and a transposition of a product's result.
"""
import os
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

UNTRANSLATED = 77
NOTHING = "none 0 0"


def untranslated(what):
    print(f"there is no translation of {what}", file=sys.stderr)
    sys.exit(UNTRANSLATED)


def words(values):
    return " ".join(str(value) for value in values)


class Plan:
    def __init__(self, graph):
        self.nodes, self.lines, self.data, self.written = list(graph.node), [], [], set()
        self.constants = {array.name: numpy_helper.to_array(array) for array in graph.initializer}
        self.outputs = {value.name for value in graph.output}
        self.known = {value.name for value in graph.input}
        self.offset, self.done = 0, set()
        for value in graph.input:
            self.lines.append(f"input {value.name} {words(d.dim_value for d in value.type.tensor_type.shape.dim)}")
        for index, node in enumerate(self.nodes):
            if index in self.done:
                continue
            method = getattr(self, node.op_type, None)
            if not method:
                untranslated(node.op_type)
            attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
            method(index, list(node.input), node.output[0], attributes)
            self.known.add(node.output[0])
        self.lines += [f"output {name}" for name in sorted(self.outputs)]

    def constant(self, name, array=None):
        if name not in self.written:
            array = numpy.ascontiguousarray(self.constants[name] if array is None else array, numpy.float32)
            self.lines.append(f"constant {name} {self.offset} {words(array.shape)}")
            self.data.append(array.tobytes())
            self.offset += array.nbytes
            self.written.add(name)
        return name

    def operand(self, name):
        return self.constant(name) if name in self.constants else name

    def readers(self, name):
        return [index for index, node in enumerate(self.nodes) if name in node.input]

    def only_reader(self, name):
        """The node that alone reads a value, or None."""
        readers = self.readers(name)
        return (readers[0], self.nodes[readers[0]]) if len(readers) == 1 and name not in self.outputs else None

    def take(self, found):
        """The node becomes a part of the step before."""
        self.done.add(found[0])
        self.known.add(found[1].output[0])
        return found[1].output[0]

    def epilogue(self, name):
        """The activation or scale that follows, and the name of the result."""
        found = self.only_reader(name)
        kind = found[1].op_type if found else None
        if kind == "Relu":
            return "relu 0 0", self.take(found)
        if kind == "Gelu":
            return "gelu 0 0", self.take(found)
        if kind == "Clip":
            bounds = [float(self.constants[bound]) for bound in found[1].input[1:]]
            return f"clip {words(bounds)}", self.take(found)
        if kind == "Mul" and self.constants.get(found[1].input[1], numpy.zeros(2)).size == 1:
            return f"linear {float(self.constants[found[1].input[1]])} 0", self.take(found)
        return NOTHING, name

    def residual(self, name):
        """The value that is added next, if it is there already, and the name of the result."""
        found = self.only_reader(name)
        if found and found[1].op_type == "Add":
            other = [operand for operand in found[1].input if operand != name]
            if len(other) == 1 and other[0] in self.known:
                return other[0], self.take(found)
        return "-", name

    def bias(self, name):
        """The vector that is added next, and the name of the result."""
        found = self.only_reader(name)
        if found and found[1].op_type == "Add":
            vector = next((operand for operand in found[1].input if operand in self.constants), None)
            if vector and self.constants[vector].ndim == 1:
                return self.constant(vector), self.take(found)
        return "-", name

    def put(self, kind, output, *arguments):
        self.lines.append(f"{kind} {output} {words(arguments)}")

    def Conv(self, index, inputs, output, attributes):
        inputs = [inputs[0], *map(self.constant, inputs[1:]), "-"][:3]
        addend, result = self.residual(output)
        dead = addend not in self.outputs and all(i <= index or i in self.done for i in self.readers(addend))
        activation, result = self.epilogue(result)
        self.put("conv", result, *inputs, words(attributes["strides"]), words(attributes["pads"]), attributes["group"],
                 addend, int(dead), activation)

    def pool(self, kind, inputs, output, attributes):
        self.put("pool", output, inputs[0], kind, words(attributes["kernel_shape"]), words(attributes["strides"]),
                 words(attributes["pads"]))

    def MaxPool(self, _, inputs, output, attributes):
        self.pool("max", inputs, output, attributes)

    def AveragePool(self, _, inputs, output, attributes):
        self.pool("average", inputs, output, attributes)

    def Gemm(self, _, inputs, output, attributes):
        if [attributes[key] for key in ("alpha", "beta", "transA", "transB")] != [1, 1, 0, 1]:
            untranslated("this form of gemm")
        self.put("inner", output, *[inputs[0], *map(self.constant, inputs[1:]), "-"][:3])

    def MatMul(self, _, inputs, output, __):
        fixed = int(inputs[1] in self.constants)
        inputs = [self.operand(name) for name in inputs]
        bias, result = self.bias(output)
        activation, result = self.epilogue(result)
        addend, result = self.residual(result) if activation == NOTHING else ("-", result)
        order, found = "-", self.only_reader(result)
        if found and found[1].op_type == "Transpose" and addend == "-":
            order = ",".join(words(found[1].attribute[0].ints).split())
            result = self.take(found)
        self.put("matmul", result, *inputs, fixed, bias, addend, order, activation)

    def Add(self, _, inputs, output, __):
        activation, result = self.epilogue(output)
        self.put("add", result, *map(self.operand, inputs), activation)

    def Relu(self, _, inputs, output, __):
        self.put("elementwise", output, inputs[0], "relu 0 0")

    def Gelu(self, _, inputs, output, __):
        self.put("elementwise", output, inputs[0], "gelu 0 0")

    def Softmax(self, _, inputs, output, attributes):
        self.put("softmax", output, inputs[0], attributes["axis"])

    def LayerNormalization(self, _, inputs, output, attributes):
        if len(inputs) != 3:
            untranslated("layerNormalization without a bias")
        self.put("norm", output, inputs[0], *map(self.constant, inputs[1:]), attributes["epsilon"])

    def Reshape(self, _, inputs, output, __):
        self.put("reshape", output, inputs[0], words(self.constants[inputs[1]]))

    def Transpose(self, _, inputs, output, attributes):
        self.put("transpose", output, inputs[0], words(attributes["perm"]))

    def recurrent(self, kind, order, inputs, output):
        """ONNX has two biases, and the gates in an order of its own."""
        def gates(array, axis):
            parts = numpy.split(array, len(order), axis)
            return numpy.concatenate([parts[i] for i in order], axis)

        weight, recurrent, biases = (self.constants[name] for name in inputs[1:4])
        bias = sum(numpy.split(biases, 2, axis=1))
        arrays = {"weight": gates(weight, 1), "recurrent": gates(recurrent, 1), "bias": gates(bias, 1)}
        self.put(kind, output, inputs[0], *[self.constant(f"{output}_{name}", array) for name, array in arrays.items()])

    def GRU(self, _, inputs, output, attributes):
        if attributes["linear_before_reset"]:
            untranslated("a GRU that resets after the product")
        self.recurrent("gru", [0, 1, 2], inputs, output)

    def LSTM(self, _, inputs, output, __):
        self.recurrent("lstm", [0, 2, 3, 1], inputs, output)


def main():
    folder = sys.argv[1]
    plan = Plan(onnx.load(os.path.join(folder, "model.onnx")).graph)
    with open(os.path.join(folder, "plan.bin"), "wb") as file:
        file.write(b"".join(plan.data))
    with open(os.path.join(folder, "plan.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(plan.lines) + "\n")


if __name__ == "__main__":
    main()
