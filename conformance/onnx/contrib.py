# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft, which ONNX has no tests of, against ONNX Runtime: each as a model of one node with random
operands, run by the webnn program and by onnxruntime-node.

usage: contrib.py WEBNN MODULES [CASE...]

MODULES is the folder whose node_modules has onnxruntime-node. Exit status 77: something that this needs is missing.
"""

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
FLOAT = onnx.TensorProto.FLOAT
TOLERANCE = 2e-6  # of the largest element of an output
random = np.random.default_rng(7)


def floats(*shape, scale=1):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def integers(low, high, *shape, dtype=np.uint8):
    return random.integers(low, high, shape).astype(dtype)


def model(nodes, inputs, outputs, constants):
    """Inputs and outputs by name and shape, all of float32."""
    values = [[helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in side.items()] for side in (inputs, outputs)]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "case", *values, tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])
    made.ir_version = 8
    return made


def one(op, inputs, outputs, constants=None, order=None, domain=MICROSOFT, **attributes):
    """A node whose operands are the inputs and then the constants, or in the given order; an empty name is left out."""
    constants = constants or {}
    names = order.split(",") if order else [*inputs, *constants]
    node = helper.make_node(op, names, list(outputs), domain=domain, name=op, **attributes)
    return model([node], inputs, outputs, constants)


def quantized(op, operands, shape, result, constants, domain=MICROSOFT, **attributes):
    """Between a quantization of the input and a dequantization of the result."""
    constants = {"xs": np.float32(0.02), "xz": np.uint8(120), "ys": np.float32(0.05), "yz": np.uint8(128), **constants}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node(op, operands.split(","), ["r"], domain=domain, name=op, **attributes),
        helper.make_node("DequantizeLinear", ["r", "ys", "yz"], ["y"]),
    ]
    return model(nodes, {"x": shape}, {"y": result}, constants)


def n_bits(bits, k, n, block, *more, rows=(2, 3)):
    blocks = -(-k // block)
    constants = {"w": integers(0, 256, n, blocks, block * bits // 8), "s": floats(n * blocks)}
    if "zero" in more:
        constants["z"] = integers(0, 256, n * -(-blocks * bits // 8))
    if "bias" in more:
        constants["b"] = floats(n)
    order = "x,w,s," + ("z" if "zero" in more else "") + (",,b" if "bias" in more else "")
    return one("MatMulNBits", {"x": [*rows, k]}, {"y": [*rows, n]}, constants, order.rstrip(","), K=k, N=n, bits=bits,
               block_size=block)


def angles(size):
    turns = np.arange(32)[:, None] * np.linspace(0.1, 1, size)[None]
    return {"cos": np.cos(turns).astype(np.float32), "sin": np.sin(turns).astype(np.float32)}


def grouped(batch, rows, size, past=0, packed=False, **attributes):
    """4 heads of queries, 2 of keys and values."""
    inputs = {"q": [batch, rows, (8 if packed else 4) * size]}
    if not packed:
        inputs |= {"k": [batch, rows, 2 * size], "v": [batch, rows, 2 * size]}
    if past:
        inputs |= {"pk": [batch, 2, past, size], "pv": [batch, 2, past, size]}
    total = past + rows
    constants = {"l": np.full(batch, total - 1, np.int32), "t": np.array(total, np.int32)}
    order = ("q,,," if packed else "q,k,v,") + ("pk,pv," if past else ",,") + "l,t"
    if attributes.get("do_rotary"):
        constants |= angles(size // 2)
        order += ",cos,sin"
    outputs = {"y": [batch, rows, 4 * size], "k2": [batch, 2, total, size], "v2": [batch, 2, total, size]}
    return one("GroupQueryAttention", inputs, outputs, constants, order, num_heads=4, kv_num_heads=2, **attributes)


def cases():
    row, rows = {"x": [4, 8]}, {"y": [4, 8]}
    block, result = {"x": [2, 4, 8], "s": [2, 4, 8]}, {"y": [2, 4, 8]}
    heads = {"q": [2, 5, 16], "k": [2, 7, 16], "v": [2, 7, 16]}
    qkv = {"w": floats(16, 48, scale=0.3), "b": floats(48)}
    other = {"b": integers(0, 255, 8), "bs": np.float32(0.03), "bz": np.uint8(100)}
    matrix = {"ws": np.float32(0.01), "wz": np.uint8(90)}
    image = [1, 3, 8, 8]
    position = {"p": np.array([[3, 4, 5, 6, 7], [1, 2, 3, 4, 5]], np.int64)}
    yield "Gelu", one("Gelu", row, rows)
    yield "FastGelu", one("FastGelu", row, rows, {"b": floats(8)})
    yield "BiasGelu", one("BiasGelu", row, rows, {"b": floats(8)})
    yield "QuickGelu", one("QuickGelu", row, rows, alpha=1.5)
    yield "SkipLayerNormalization", one(
        "SkipLayerNormalization", block, result, {"g": floats(8), "b": floats(8), "c": floats(8)}, epsilon=1e-5)
    yield "SkipSimplifiedLayerNormalization", one(
        "SkipSimplifiedLayerNormalization", block, result, {"g": floats(8)}, epsilon=1e-5)
    yield "SimplifiedLayerNormalization", one(
        "SimplifiedLayerNormalization", {"x": [2, 4, 8]}, result, {"g": floats(8)}, domain="", axis=-1)
    yield "FusedMatMul", one(
        "FusedMatMul", {"a": [2, 8, 4], "b": [2, 6, 8]}, {"y": [2, 4, 6]}, transA=1, transB=1, alpha=0.5)
    yield "FusedConv", one(
        "FusedConv", {"x": image}, {"y": [1, 4, 6, 6]}, {"w": floats(4, 3, 3, 3), "b": floats(4)},
        kernel_shape=[3, 3], activation="LeakyRelu", activation_params=[0.2])
    yield "MatMulNBits", n_bits(4, 64, 48, 32)
    yield "MatMulNBits zero points", n_bits(4, 64, 48, 32, "zero")
    yield "MatMulNBits odd blocks", n_bits(4, 80, 20, 32, "zero")
    yield "MatMulNBits bias", n_bits(4, 64, 48, 16, "bias")
    yield "MatMulNBits 8 bits", n_bits(8, 64, 48, 32)
    yield "Attention", one("Attention", {"x": [2, 5, 16]}, {"y": [2, 5, 16]}, qkv, num_heads=4)
    yield "Attention causal", one("Attention", {"x": [2, 5, 16]}, {"y": [2, 5, 16]}, qkv, num_heads=4, unidirectional=1)
    yield "Attention mask", one(
        "Attention", {"x": [2, 5, 16]}, {"y": [2, 5, 16]},
        qkv | {"m": np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], np.int32)}, num_heads=4)
    yield "Attention past", one(
        "Attention", {"x": [2, 3, 16], "p": [2, 2, 4, 6, 4]}, {"y": [2, 3, 16], "n": [2, 2, 4, 9, 4]}, qkv, "x,w,b,,p",
        num_heads=4, unidirectional=1)
    yield "MultiHeadAttention", one("MultiHeadAttention", heads, {"y": [2, 5, 16]}, {"b": floats(48)}, num_heads=4)
    yield "MultiHeadAttention mask", one(
        "MultiHeadAttention", heads, {"y": [2, 5, 16]}, {"m": np.array([[1] * 5 + [0] * 2, [1] * 7], np.int32)},
        "q,k,v,,m", num_heads=4)
    yield "MultiHeadAttention bias", one(
        "MultiHeadAttention", heads | {"a": [1, 4, 5, 7]}, {"y": [2, 5, 16]}, None, "q,k,v,,,a", num_heads=4,
        scale=0.3)
    yield "MultiHeadAttention past", one(
        "MultiHeadAttention",
        {"q": [2, 3, 16], "k": [2, 3, 16], "v": [2, 3, 16], "pk": [2, 4, 6, 4], "pv": [2, 4, 6, 4]},
        {"y": [2, 3, 16], "k2": [2, 4, 9, 4], "v2": [2, 4, 9, 4]}, None, "q,k,v,,,,pk,pv", num_heads=4)
    yield "RotaryEmbedding", one("RotaryEmbedding", {"x": [2, 5, 16]}, {"y": [2, 5, 16]}, position | angles(4))
    yield "RotaryEmbedding interleaved", one(
        "RotaryEmbedding", {"x": [2, 5, 16]}, {"y": [2, 5, 16]}, {"p": np.array([2], np.int64)} | angles(4),
        interleaved=1)
    yield "GroupQueryAttention", grouped(1, 5, 8)
    yield "GroupQueryAttention past", grouped(1, 1, 16, past=6, do_rotary=1)
    yield "GroupQueryAttention packed", grouped(1, 5, 16, packed=True, do_rotary=1, local_window_size=3)
    yield "GroupQueryAttention window", grouped(1, 7, 8, local_window_size=3)
    yield "GroupQueryAttention softcap", grouped(2, 7, 8, softcap=5.0, scale=0.7)
    yield "QLinearAdd", quantized("QLinearAdd", "q,xs,xz,b,bs,bz,ys,yz", [2, 8], [2, 8], other)
    yield "QLinearMul", quantized("QLinearMul", "q,xs,xz,b,bs,bz,ys,yz", [2, 8], [2, 8], other)
    yield "QLinearSigmoid", quantized("QLinearSigmoid", "q,xs,xz,ys,yz", [2, 8], [2, 8], {})
    yield "QLinearLeakyRelu", quantized("QLinearLeakyRelu", "q,xs,xz,ys,yz", [2, 8], [2, 8], {}, alpha=0.1)
    yield "QLinearGlobalAveragePool", quantized(
        "QLinearGlobalAveragePool", "q,xs,xz,ys,yz", [1, 3, 4, 4], [1, 3, 1, 1], {}, channels_last=0)
    yield "QLinearConv", quantized(
        "QLinearConv", "q,xs,xz,w,ws,wz,ys,yz,b", image, [1, 4, 8, 8],
        {"w": integers(-100, 100, 4, 3, 3, 3, dtype=np.int8), "ws": np.array([0.01, 0.02, 0.015, 0.005], np.float32),
         "wz": np.zeros(4, np.int8), "b": integers(-300, 300, 4, dtype=np.int32)},
        domain="", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    yield "QLinearMatMul", quantized(
        "QLinearMatMul", "q,xs,xz,w,ws,wz,ys,yz", [4, 8], [4, 6], matrix | {"w": integers(0, 200, 8, 6)},
        domain="")
    yield "QGemm", quantized(
        "QGemm", "q,xs,xz,w,ws,wz,b,ys,yz", [4, 8], [4, 6],
        matrix | {"w": integers(0, 200, 6, 8), "b": integers(-300, 300, 6, dtype=np.int32)}, transB=1, alpha=1.0)
    yield "DynamicQuantizeMatMul", one(
        "DynamicQuantizeMatMul", row, {"y": [4, 6]}, {"w": integers(0, 200, 8, 6), **matrix, "b": floats(6)})


def compare(webnn, runtime, folder, name, made):
    """None, or what differs."""
    path = folder / "model.onnx"
    onnx.save(made, str(path))
    feeds, words = {}, []
    for index, value in enumerate(made.graph.input):
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        file = folder / f"in{index}"
        floats(*dims).tofile(file)
        feeds[value.name] = {"type": "float32", "dims": dims, "file": str(file)}
        words.append(f"{value.name}={file}")
    outputs = {value.name: str(folder / f"expected{index}") for index, value in enumerate(made.graph.output)}
    runtime.stdin.write(json.dumps({"model": str(path), "feeds": feeds, "outputs": outputs}) + "\n")
    runtime.stdin.flush()
    refusal = runtime.stdout.readline().strip()
    if refusal:
        return f"ONNX Runtime: {refusal}"
    ours = {output: str(folder / f"ours{index}") for index, output in enumerate(outputs)}
    ran = subprocess.run([webnn, "run", "--quiet", *(f"--output={output}={file}" for output, file in ours.items()), path, *words],
                         capture_output=True, text=True, check=False)
    if ran.returncode:
        return ran.stderr.strip()
    for output, file in outputs.items():
        expected, got = np.fromfile(file, np.float32), np.fromfile(ours[output], np.float32)
        if expected.size != got.size:
            return f"{output} has {got.size} elements, expected {expected.size}"
        error = np.abs(expected - got).max() / max(np.abs(expected).max(), 1e-9)
        if not error <= TOLERANCE:
            return f"{output} differs by {error:.2g} of its largest element"
    return None


def main():
    webnn, modules, *wanted = sys.argv[1:]
    node = shutil.which("node")
    if not node or not (pathlib.Path(modules) / "node_modules/onnxruntime-node").is_dir():
        print("skipped: there is no onnxruntime-node")
        return 77
    script = pathlib.Path(__file__).with_name("ort.mjs")
    failed = count = 0
    with tempfile.TemporaryDirectory() as name, subprocess.Popen([node, script, pathlib.Path(modules).resolve()], text=True,
                                                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runtime:
        for title, made in cases():
            if wanted and title not in wanted:
                continue
            count += 1
            difference = compare(webnn, runtime, pathlib.Path(name), title, made)
            if difference:
                failed += 1
                print(f"failed: {title}: {difference}")
        runtime.stdin.close()
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
