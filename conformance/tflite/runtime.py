# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Lite models made of a few operators, computed by the webnn program and by LiteRT.js, whose results are
compared."""

import json
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import flatbuffer

HERE = pathlib.Path(__file__).parent
TOLERANCE = 2e-5  # of the largest element of an output
PATIENCE = 120  # seconds

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "complex64": 8, "int8": 9, "float64": 10,
         "uint32": 15, "int4": 17}
# What LiteRT.js gives a program.
GIVEN = ("float32", "int32", "uint8")

# The union of options, in the order of the schema, from 1 on.
OPTIONS = """
Conv2D DepthwiseConv2D ConcatEmbeddings LSHProjection Pool2D SVDF RNN FullyConnected Softmax Concatenation Add L2Norm
LocalResponseNormalization LSTM ResizeBilinear Call Reshape SkipGram SpaceToDepth EmbeddingLookupSparse Mul Pad Gather
BatchToSpaceND SpaceToBatchND Transpose Reducer Sub Div Squeeze SequenceRNN StridedSlice Exp TopKV2 Split LogSoftmax Cast
Dequantize MaximumMinimum ArgMax Less Neg PadV2 Greater GreaterEqual LessEqual Select Slice TransposeConv SparseToDense Tile
ExpandDims Equal NotEqual Shape Pow ArgMin FakeQuant Pack LogicalOr OneHot LogicalAnd LogicalNot Unpack FloorDiv Square
ZerosLike Fill BidirectionalSequenceLSTM BidirectionalSequenceRNN UnidirectionalSequenceLSTM FloorMod Range
ResizeNearestNeighbor LeakyRelu SquaredDifference MirrorPad Abs SplitV Unique ReverseV2 AddN GatherNd Cos Where Rank
ReverseSequence MatrixDiag Quantize MatrixSetDiag HardSwish If While DepthToSpace NonMaxSuppressionV4 NonMaxSuppressionV5
ScatterNd SelectV2 Densify SegmentSum BatchMatMul Cumsum CallOnce BroadcastTo Rfft2d Conv3D Hashtable HashtableFind
HashtableImport HashtableSize VarHandle ReadVariable AssignVariable Random Bucketize Gelu DynamicUpdateSlice
UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentSum ATan2 Sign Bitcast BitwiseXor RightShift
""".split()


# Numbers of operators by name, and the names of those that are recorded, from the table that declares them.
_TABLE = (HERE / "../../tools/model/tflite/operators.def").read_text()
OPERATORS = {name: int(number) for number, name in re.findall(r"TFLITE_(?:OPERATOR|REFUSED)\((\d+), (\w+),", _TABLE)}
RECORDED = set(re.findall(r"TFLITE_OPERATOR\(\d+, (\w+),", _TABLE)) | set(re.findall(r'TFLITE_CUSTOM_OPERATOR\("(\w+)"', _TABLE))


class Tensor:
    """Of a graph; `data` of a constant, `scale` and `zero` of quantized numbers."""

    def __init__(self, kind, shape=(), data=None, scale=None, zero=0, axis=0, variable=False):
        self.kind, self.shape, self.data, self.axis, self.variable = kind, tuple(shape), data, axis, variable
        self.scale = None if scale is None else np.atleast_1d(np.float32(scale))
        self.zero = np.broadcast_to(zero, self.scale.shape) if scale is not None else None
        self.sparsity = None

    def table(self, name, buffer):
        quantization = None
        if self.scale is not None:
            quantization = {2: ("vf", self.scale.tolist()), 3: ("vq", [int(zero) for zero in self.zero]),
                            6: ("i", self.axis)}
        return {0: ("vi", list(self.shape)), 1: ("b", TYPES[self.kind]), 2: ("I", buffer), 3: name, 4: quantization,
                5: ("B", int(self.variable)), 6: self.sparsity, 8: ("B", 1)}


def pack(data, kind):
    """The bytes of a constant."""
    if kind != "int4":
        return np.ascontiguousarray(data, dtype=np.dtype(kind)).tobytes()
    flat = np.asarray(data, np.int64).reshape(-1) & 15
    flat = np.append(flat, np.zeros(flat.size % 2, np.int64))
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()


class Graph:
    """A subgraph, which operators are added to one after the other."""

    def __init__(self, model):
        self.model, self.tensors, self.operators, self.inputs, self.outputs = model, [], [], [], []

    def add(self, tensor):
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def input(self, kind, shape, **more):
        self.inputs.append(self.add(Tensor(kind, shape, **more)))
        return self.inputs[-1]

    def const(self, data, kind=None, **more):
        data = np.asarray(data)
        if kind is None:
            kind = {"f": "float32", "i": "int32", "u": "uint8", "b": "bool"}[data.dtype.kind] \
                if data.dtype.name not in TYPES or data.dtype in (np.float64, np.int64) else data.dtype.name
        return self.add(Tensor(kind, data.shape, data, **more))

    def variable(self, kind, shape, **more):
        return self.add(Tensor(kind, shape, variable=True, **more))

    def op(self, name, inputs, *results, options=None, custom=None, version=1):
        """Inputs are numbers of tensors, -1 for none, or arrays: constants. Results are Tensors or names of types."""
        inputs = [one if type(one) is int else self.const(one) for one in inputs]
        results = [self.add(Tensor(one) if isinstance(one, str) else one) for one in results or ["float32"]]
        self.operators.append((name, inputs, results, options, custom, version))
        return results[0] if len(results) == 1 else results

    def give(self, *outputs):
        self.outputs += outputs


class Model:
    """A TensorFlow Lite model with the values of its inputs. Inputs and outputs of types that LiteRT.js does not give are
    converted."""

    def __init__(self):
        self.graphs, self.feeds, self.exact = [], {}, {}
        self.expected = None  # outputs, where LiteRT.js does not compute them
        self.graph()

    def graph(self):
        self.graphs.append(Graph(self))
        return self.graphs[-1]

    def feed(self, value, kind=None, scale=None, zero=0):
        """An input of the model, quantized where there is a scale."""
        graph, value = self.graphs[0], np.asarray(value)
        kind = kind or {"f": "float32", "i": "int32", "u": "uint8", "b": "bool"}[value.dtype.kind]
        direct = kind if kind in GIVEN and scale is None else "float32" if scale is not None or kind == "float16" else "int32"
        made = graph.input(direct, value.shape)
        self.feeds[f"t{made}"] = value.astype(direct)
        if scale is not None:
            return graph.op("QUANTIZE", [made], Tensor(kind, value.shape, scale=scale, zero=zero))
        return made if direct == kind else graph.op("CAST", [made], Tensor(kind, value.shape))

    def take(self, *tensors, steps=1):
        """Outputs of the model; quantized numbers may be off by `steps` of their scale."""
        graph = self.graphs[0]
        for one in tensors:
            tensor = graph.tensors[one]
            self.exact[one] = 0
            if tensor.scale is not None:
                made = graph.op("DEQUANTIZE", [one], "float32")
                self.exact[made] = float(tensor.scale[0]) * steps
            elif tensor.kind in GIVEN:
                made = one
            else:
                made = graph.op("CAST", [one], "float32" if tensor.kind.startswith("float") else "int32")
            graph.give(made)

    def results(self):
        """What all operators compute, but for complex numbers."""
        graph = self.graphs[0]
        return [one for operator in graph.operators for one in operator[2] if graph.tensors[one].kind != "complex64"]

    def write(self, every=False):
        """The file; `every`: with all results as outputs."""
        codes, buffers, graphs = {}, [{}], []
        for graph in self.graphs:
            tensors, operators = [], []
            for i, tensor in enumerate(graph.tensors):
                at = 0
                if tensor.data is not None and (tensor.data.size or tensor.sparsity):
                    at = len(buffers)
                    buffers.append({0: pack(tensor.data, tensor.kind)})
                tensors.append(tensor.table(f"t{i}", at))
            for name, inputs, results, options, custom, version, *options2 in graph.operators:
                key = ("CUSTOM", custom[0], version) if custom else (name, None, version)
                operators.append({
                    0: ("I", codes.setdefault(key, len(codes))), 1: ("vi", inputs), 2: ("vi", results),
                    3: ("B", OPTIONS.index(options[0]) + 1) if options else None, 4: options[1] if options else None,
                    5: custom[1] if custom else None, 11: ("B", 21) if options2 else None,
                    12: options2[0] if options2 else None})
            outputs = graph.outputs
            if every and graph is self.graphs[0]:
                outputs = self.results()
            graphs.append({0: tensors, 1: ("vi", graph.inputs), 2: ("vi", outputs), 3: operators, 4: "main"})
        table = []
        for (name, custom, version) in codes:
            number = 32 if custom else OPERATORS[name]
            table.append({0: ("b", min(number, 127)), 1: custom, 2: ("i", version), 3: ("i", number)})
        return flatbuffer.write({0: ("I", 3), 1: table, 2: graphs, 3: "made by a test", 4: buffers})


class Refused(Exception):
    """The program does not record a model, and says why."""


class Broken(Exception):
    """LiteRT.js does not compute a model, and says why."""


class Peers:
    """The two that compute a model. `missing` says what they lack."""

    def __init__(self, webnn, modules):
        self.webnn, self.modules, self.process = webnn, pathlib.Path(modules), None

    def missing(self):
        if not shutil.which("node"):
            return "there is no node"
        if not (self.modules / "node_modules/@litertjs/core").is_dir():
            return f"there is no @litertjs/core in {self.modules}/node_modules"
        return None

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        return self

    def __exit__(self, *error):
        self.stop()
        self.folder.cleanup()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def feed_files(self, feeds):
        files = {}
        for name, value in feeds.items():
            files[name] = self.path / f"{len(files)}.bin"
            files[name].write_bytes(np.ascontiguousarray(value).tobytes())
        return files

    def compute(self, file, feeds, names, *options):
        """What the program gives, by the names of outputs."""
        files = self.feed_files(feeds)
        written = {name: self.path / f"{i}.npy" for i, name in enumerate(names)}
        command = [self.webnn, "run", "--quiet", "--narrow", *options]
        command += [f"--output={name}={path}" for name, path in written.items()]
        command += [str(file)] + [f"{name}={path}" for name, path in files.items()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise Refused(done.stderr.strip().replace(f"webnn: {file}: ", ""))
        return {name: np.load(path) for name, path in written.items()}

    def ask(self, request):
        """The answer of LiteRT.js, which is started again where its memory is lost."""
        if not self.process:
            self.process = subprocess.Popen(["node", HERE / "litert.mjs", self.modules], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        ready = select.select([self.process.stdout], [], [], PATIENCE)[0]
        line = self.process.stdout.readline() if ready else ""
        if not line.endswith("\n") or line.strip():
            self.stop()
            raise Broken(line.strip() or "it ended")

    def expect(self, file, feeds, results):
        """What LiteRT.js gives, as arrays like the results."""
        files = self.feed_files(feeds)
        written = {name: self.path / f"{i}.out" for i, name in enumerate(results)}
        self.ask({"model": str(file), "outputs": {name: str(path) for name, path in written.items()},
                  "feeds": {name: {"type": value.dtype.name, "dims": value.shape, "file": str(files[name])}
                            for name, value in feeds.items()}})
        expected = {}
        for name, result in results.items():
            data = written[name].read_bytes()
            if len(data) != result.nbytes:
                raise Broken(f"{name} has {len(data)} bytes, not those of {result.shape}")
            expected[name] = np.frombuffer(data, result.dtype).reshape(result.shape)
        return expected


def difference(result, expected):
    """The largest difference, of the largest element for real numbers."""
    a, b = np.asarray(result, np.float64), np.asarray(expected, np.float64)
    if not a.size:
        return 0.0
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    worst = np.abs(np.where(same, 0, a - b)).max()
    finite = np.abs(b[np.isfinite(b)])
    return float(worst / max(finite.max(initial=0), 1e-6)) if result.dtype.kind == "f" else float(worst)


def compare(peers, model, tolerance):
    """What differs between the two, or None."""
    file = peers.path / "case.tflite"
    names = [f"t{one}" for one in model.results()]
    file.write_bytes(model.write(every=True))
    results = peers.compute(file, model.feeds, names)
    for name, result in results.items():
        model.graphs[0].tensors[int(name[1:])].shape = result.shape
    file.write_bytes(model.write())
    outputs = {f"t{one}": results[f"t{one}"] for one in model.graphs[0].outputs}
    computed = dict(zip(outputs, model.expected)) if model.expected else peers.expect(file, model.feeds, outputs)
    for name, expected in computed.items():
        if outputs[name].shape != expected.shape:
            return f"{name} is {outputs[name].shape}, not {expected.shape}"
        result, allowed = outputs[name], tolerance
        step = model.exact.get(int(name[1:]), 0)
        if step:
            worst = float(np.abs(result.astype(np.float64) - expected).max(initial=0) / step)
            allowed = 1.001
        else:
            worst = difference(result, expected)
            allowed = tolerance if result.dtype.kind == "f" else 0
        if not worst <= allowed:
            return f"{name} differs by {worst:.3g}, more than {allowed:.3g}"
    return None
