# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX made of a few nodes, computed by the webnn program and by ONNX Runtime, whose results are compared."""

import json
import pathlib
import shutil
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

MICROSOFT = "com.microsoft"
TOLERANCE = 4e-6  # of the largest element of an output of real numbers
HALF_TOLERANCE = 2e-3
# Signed weights are less than that: where there are no instructions for four products, ONNX Runtime adds up two of bytes in
# 16 bits, which saturate.
WEIGHT = 64
UINT4, INT4 = 21, 22  # TensorProto's, which onnx has since version 1.16
TYPES = {
    np.dtype(np.float32): "float32", np.dtype(np.float64): "float64", np.dtype(np.float16): "float16",
    np.dtype(np.int8): "int8", np.dtype(np.int16): "int16", np.dtype(np.int32): "int32", np.dtype(np.int64): "int64",
    np.dtype(np.uint8): "uint8", np.dtype(np.uint16): "uint16", np.dtype(np.uint32): "uint32",
    np.dtype(np.uint64): "uint64", np.dtype(np.bool_): "bool",
}
# What the program computes with instead, if it may.
WIDENED = {np.dtype(np.float64): np.float32, np.dtype(np.int16): np.int32, np.dtype(np.uint16): np.int32,
           np.dtype(np.bool_): np.uint8}


class Nibbles:
    """Integers of 4 bits, as an initializer."""

    def __init__(self, values, kind):
        self.values, self.kind = np.asarray(values), kind

    def tensor(self, name):
        flat = self.values.astype(np.int64).reshape(-1) & 15
        flat = np.append(flat, np.zeros(flat.size % 2, np.int64))
        made = onnx.TensorProto(name=name, data_type=self.kind, dims=self.values.shape)
        made.raw_data = (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()
        return made


def tensor(value, name):
    return value.tensor(name) if isinstance(value, Nibbles) else numpy_helper.from_array(np.asarray(value), name)


class Case:
    """A model with its inputs, and, where ONNX Runtime does not compute it, what it gives."""

    def __init__(self, nodes, inputs, outputs, constants=None, opset=17, tolerance=None, expected=None):
        """Inputs and constants by name; an output whose name is empty is left out."""
        self.inputs = {name: np.asarray(value) for name, value in inputs.items()}
        self.outputs = [name for name in outputs if name]
        self.tolerance, self.expected = tolerance, expected
        values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype)
                                                if hasattr(helper, "np_dtype_to_tensor_dtype")
                                                else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[value.dtype], value.shape)
                  for name, value in self.inputs.items()]
        results = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        tensors = [tensor(value, name) for name, value in (constants or {}).items()]
        graph = helper.make_graph(nodes, "case", values, results, tensors)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])
        self.model.ir_version = 10 if opset > 20 else 8


def one(op, inputs, outputs, constants=None, order=None, domain="", opset=17, tolerance=None, expected=None, **attributes):
    """A node whose operands are the inputs and then the constants, or in the given order; an empty name is left out."""
    names = order.split(",") if order is not None else [*inputs, *(constants or {})]
    results = outputs.split(",")
    attributes = {name: value for name, value in attributes.items() if value is not None}
    node = helper.make_node(op, names, results, domain=domain, name=op, **attributes)
    return Case([node], inputs, results, constants, opset, tolerance, expected)


class Refused(Exception):
    """The program does not record a model."""


class Invalid(Exception):
    """ONNX Runtime does not compute a model."""


class Peers:
    """The program and a process of ONNX Runtime, for as many models as are wanted."""

    def __init__(self, webnn, modules):
        self.webnn, self.modules = webnn, pathlib.Path(modules)
        self.node = shutil.which("node")

    def missing(self):
        if not self.node or not (self.modules / "node_modules/onnxruntime-node").is_dir():
            return "there is no onnxruntime-node"
        return None

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.start()
        return self

    def start(self):
        script = pathlib.Path(__file__).with_name("ort.mjs")
        self.runtime = subprocess.Popen([self.node, script, self.modules.resolve()], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __exit__(self, *_):
        self.runtime.stdin.close()
        self.runtime.wait()
        self.temporary.cleanup()

    def expect(self, case, path):
        """What ONNX Runtime computes: arrays by name."""
        feeds = {}
        for index, (name, value) in enumerate(case.inputs.items()):
            file = self.folder / f"in{index}"
            value.tofile(file)
            feeds[name] = {"type": TYPES[value.dtype], "dims": value.shape, "file": str(file)}
        outputs = {name: str(self.folder / f"expected{index}") for index, name in enumerate(case.outputs)}
        self.runtime.stdin.write(json.dumps({"model": str(path), "feeds": feeds, "outputs": outputs}) + "\n")
        self.runtime.stdin.flush()
        line = self.runtime.stdout.readline()
        if not line:
            self.start()
            raise Invalid("its process ended")
        answer = json.loads(line)
        if "error" in answer:
            raise Invalid(answer["error"])
        return {name: np.fromfile(file, answer[name]["type"]).reshape(answer[name]["dims"]) for name, file in outputs.items()}

    def compute(self, case, path):
        """What the program computes."""
        words = []
        for index, (name, value) in enumerate(case.inputs.items()):
            file = self.folder / f"ours{index}.npy"
            np.save(file, np.ascontiguousarray(value, WIDENED.get(value.dtype, value.dtype)))
            words.append(f"{name}={file}")
        files = {name: self.folder / f"got{index}.npy" for index, name in enumerate(case.outputs)}
        ran = subprocess.run([self.webnn, "run", "--quiet", "--narrow",
                              *(f"--output={name}={file}" for name, file in files.items()), path, *words],
                             capture_output=True, text=True, check=False)
        if ran.returncode:
            raise Refused(ran.stderr.strip())
        return {name: np.load(file) for name, file in files.items()}

    def difference(self, case):
        """None, or how the results differ."""
        path = self.folder / "model.onnx"
        onnx.save(case.model, str(path))
        expected = case.expected or self.expect(case, path)
        got = self.compute(case, path)
        for name in case.outputs:
            fault = compare(np.asarray(expected[name]), got[name], case.tolerance)
            if fault:
                return f"{name} {fault}"
        return None


def compare(expected, got, tolerance=None):
    """None, or how an output differs."""
    if expected.shape != got.shape:
        return f"has shape {list(got.shape)}, expected {list(expected.shape)}"
    if got.dtype != WIDENED.get(expected.dtype, expected.dtype):
        return f"is of {got.dtype}, expected {expected.dtype}"
    if expected.dtype.kind != "f" and tolerance is None:
        wrong = np.flatnonzero(expected.astype(got.dtype) != got)
        return f"differs at {wrong.size} of {got.size} elements: {got.flat[wrong[0]]}, expected " \
               f"{expected.flat[wrong[0]]}" if wrong.size else None
    limit = tolerance if tolerance is not None else HALF_TOLERANCE if expected.dtype == np.float16 else TOLERANCE
    expected, got = expected.astype(np.float64), got.astype(np.float64)
    if expected.size == 0:
        return None
    odd = ~np.isfinite(expected)
    if not np.array_equal(expected[odd], got[odd], equal_nan=True):
        return "has other infinities or NaN"
    size = np.abs(expected[~odd]).max(initial=0)
    error = np.abs(expected[~odd] - got[~odd]).max(initial=0) / max(size, 1e-9)
    return None if error <= limit else f"differs by {error:.2g} of its largest element"


def run(peers, cases, wanted=()):
    """Compares cases, as pairs of title and Case, and shows what differs; returns how many passed and failed."""
    passed = failed = 0
    for title, case in cases:
        if wanted and title not in wanted:
            continue
        try:
            fault = peers.difference(case)
        except Refused as error:
            fault = f"refused: {error}"
        except Invalid as error:
            fault = f"ONNX Runtime: {error}"
        if fault:
            print(f"failed: {title}: {fault}")
        passed += not fault
        failed += bool(fault)
    return passed, failed
