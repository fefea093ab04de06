# SPDX-License-Identifier: Apache-2.0
"""Networks that are there as ONNX and as .webnn compute the same bits: LeNet, MobileNetV2, whose graph file has its images
with channels last, and SqueezeNet, whose ONNX file is written here.

usage: twins.py WEBNN MODELS

MODELS is the folder of the networks, which need not be there. Exit status 77: something that this needs is missing.
"""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

FLOAT = onnx.TensorProto.FLOAT
WEBNN, MODELS = sys.argv[1], pathlib.Path(sys.argv[2])


def compute(model, folder, x, *options):
    """The result of a network of one input, as numbers and as bytes."""
    path = folder / "x.npy"
    if isinstance(x, np.ndarray):
        np.save(path, x)
    subprocess.run([WEBNN, "run", "--quiet", *options, f"--output={folder / 'y.npy'}", model, path if isinstance(x, np.ndarray) else x], check=True)
    return np.load(folder / "y.npy")


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], {"F32": np.float32}[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def options_of(text):
    """The operands and the options of a call in a graph file."""
    options = {key: json.loads(value) for key, value in re.findall(r"(\w+)=(\[[^\]]*\]|\d+)", text)}
    operands = re.findall(r"[A-Za-z_]\w*(?![\w=])", re.sub(r"(\w+)=(\[[^\]]*\]|\d+)", "", text.replace("bias=", "")))
    return operands, options


def make_node(operation, operands, options, result, shapes):
    """The node of ONNX that an operator of the graph file is."""
    if operation == "conv2d":
        top, bottom, left, right = options.get("padding", [0] * 4)
        return helper.make_node("Conv", operands, [result], strides=options.get("strides", [1, 1]), pads=[top, left, bottom, right])
    if operation in ("maxPool2d", "averagePool2d"):
        return helper.make_node("MaxPool" if operation[0] == "m" else "AveragePool", operands, [result],
                                kernel_shape=options["windowDimensions"], strides=options["strides"])
    if operation == "concat":
        return helper.make_node("Concat", operands, [result], axis=options["axis"])
    if operation == "reshape":
        shapes.append(numpy_helper.from_array(np.array(options["newShape"], np.int64), f"shape{len(shapes)}"))
        return helper.make_node("Reshape", [*operands, shapes[-1].name], [result])
    return helper.make_node({"relu": "Relu"}[operation], operands, [result])


def write_onnx(graph, weights, path):
    """Writes a graph file of such operators as ONNX."""
    text, nodes, shapes = graph.read_text(), [], []
    for result, operation, arguments in re.findall(r"^    (\w+) = (\w+)\((.*)\);$", text, re.M):
        nodes.append(make_node(operation, *options_of(arguments), result, shapes))
    tensors = [numpy_helper.from_array(tensor, name) for name, tensor in read_safetensors(weights).items()]
    name, sides = re.search(r"(\w+): f32\[(.*?)\];", text).groups()
    x = helper.make_tensor_value_info(name, FLOAT, [int(side) for side in sides.split(",")])
    y = helper.make_tensor_value_info(re.search(r"outputs \{ (\w+)", text)[1], FLOAT, [1, 1000])
    model = helper.make_model(helper.make_graph(nodes, "twin", [x], [y], tensors + shapes),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def lenet(folder):
    place = MODELS / "lenet"
    for digit in sorted(place.glob("digit*.pgm")):
        yield digit.name, *(compute(place / f"lenet.{ending}", folder, digit) for ending in ("onnx", "webnn"))


def mobilenet_v2(folder):
    place = MODELS / "mobilenet_v2"
    image = np.fromfile(place / "input_nhwc.f32", np.float32).reshape(1, 224, 224, 3)
    random = np.random.default_rng(5).standard_normal(image.shape, np.float32)
    for name, x in (("image", image), ("random", random)):
        yield name, compute(place / "mobilenet_v2.onnx", folder, np.ascontiguousarray(x.transpose(0, 3, 1, 2))), \
            compute(place / "mobilenet_v2.webnn", folder, x)


def squeezenet(folder):
    place = MODELS / "squeezenet1.1"
    write_onnx(place / "squeezenet1.1.webnn", place / "squeezenet1.1.safetensors", folder / "twin.onnx")
    for index in range(2):
        x = np.load(place / f"input{index}.npy")
        yield f"input {index}", compute(folder / "twin.onnx", folder, x), compute(place / "squeezenet1.1.webnn", folder, x)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as path:
        for network, place in ((lenet, "lenet"), (mobilenet_v2, "mobilenet_v2"), (squeezenet, "squeezenet1.1")):
            if not (MODELS / place).is_dir():
                print(f"skipped: {MODELS / place} is not there")
                continue
            for name, one, other in network(pathlib.Path(path)):
                same = one.dtype == other.dtype and one.size == other.size and one.tobytes() == other.tobytes()
                print(f"{'passed' if same else 'failed'}: {place}: {name}: {(one.ravel() != other.ravel()).sum()} of {one.size} elements differ")
                passed += same
                failed += not same
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
