# SPDX-License-Identifier: Apache-2.0
"""Models whose inputs leave sizes open, recorded once and computed at several of them, compute what models do that are
recorded for each; what needs its sizes says which.

usage: late.py PROGRAM

PROGRAM is the one of late.c. Exit status 77: there is no Python library of ONNX.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

RANDOM = np.random.default_rng(1)
MICROSOFT = "com.microsoft"
MATRIX, IMAGE, WORDS = ["n", 6], ["n", 4, "a", "b"], ["n", "t", 8]
MATRICES, IMAGES, TEXTS = ["3x6", "7x6", "1x6"], ["1x4x5x6", "2x4x8x7"], ["1x5x8", "2x9x8", "1x1x8"]
STEPS, STEP_SIZES = ["t", "n", 6], ["5x1x6", "9x3x6", "1x1x6"]


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def signed(*shape):
    return RANDOM.integers(-127, 127, shape).astype(np.int8)


def node(op, inputs, output="y", domain="", **attributes):
    return helper.make_node(op, inputs.split(), output.split(), domain=domain, **attributes)


def recurrent(op, gates, **attributes):
    sides = 2 if attributes.get("direction") == "bidirectional" else 1
    weights = {"W": floats(sides, gates * 8, 6), "R": floats(sides, gates * 8, 8), "B": floats(sides, 2 * gates * 8)}
    return [node(op, "x W R B", hidden_size=8, **attributes)], STEPS, weights, STEP_SIZES


SCALES = {"s": np.float32(.02), "z": np.uint8(128), "ws": np.float32(.01), "wz": np.int8(0), "os": np.float32(.05), "oz": np.uint8(120)}


def quantized(op, inputs, shape, sizes, weights=(), domain="", **attributes):
    """An operator of bytes between a quantization and its reverse."""
    nodes = [node("QuantizeLinear", "x s z", "q"), node(op, inputs, "c", domain, **attributes), node("DequantizeLinear", "c os oz")]
    return nodes, shape, {**SCALES, **dict(weights)}, sizes


def one(op, inputs, shape, sizes, weights=(), domain="", **attributes):
    return [node(op, inputs, domain=domain, **attributes)], shape, dict(weights), sizes


CACHE = ["b", 2, "p", 8]
NUMBERS = {"one": np.array([1], np.int64), "at": np.array(1, np.int64), "units": np.array(1, np.int64)}
# What exporters compute lengths with: of a mask of all columns.
LENGTHS = [node("ReduceSum", "mask one", "counts", keepdims=0), node("Sub", "counts units", "ends"),
           node("Cast", "ends", "lengths", to=TensorProto.INT32), node("Shape", "mask", "sizes"),
           node("Gather", "sizes at", "whole"), node("Cast", "whole", "total", to=TensorProto.INT32)]
ANGLES = {"cosine": np.cos(np.arange(32)[:, None] * np.array([1, .3, .1, .05])).astype(np.float32),
          "sine": np.sin(np.arange(32)[:, None] * np.array([1, .3, .1, .05])).astype(np.float32)}


def group_query(runs, packed=False, inputs="", **attributes):
    """Attention with a past that grows, or, where a run has no more columns than the past, lies in a buffer."""
    given = {"q": ["b", "s", 64 if packed else 32], "mask": (TensorProto.INT64, ["b", "t"]), "pk": CACHE, "pv": CACHE}
    if not packed:
        given.update(k=["b", "s", 16], v=["b", "s", 16])
    operands = ["q", *(["", ""] if packed else ["k", "v"]), "pk", "pv", "lengths", "total", *inputs.split()]
    attention = helper.make_node("GroupQueryAttention", operands, ["y", "key", "value"], domain=MICROSOFT, num_heads=4, kv_num_heads=2,
                                 **attributes)
    lines = []
    for batch, rows, past, columns, *hidden in runs:
        mask = f"mask={batch}x{columns}:" + ";".join("0" if at in hidden else "1" for at in range(batch * columns))
        lines.append(f"q={batch}x{rows}x{64 if packed else 32},k={batch}x{rows}x16,v={batch}x{rows}x16,"
                     f"pk={batch}x2x{past}x8,pv={batch}x2x{past}x8,{mask}")
    return [*LENGTHS, attention], given, {**NUMBERS, **ANGLES}, lines, "y", "key", "value"


def decoder(layers, tokens):
    """A language model whose weights are of 4 bits: a prompt of three words, and then one word after the other."""
    weights = {**NUMBERS, **ANGLES, "table": floats(50, 32), "norm": np.abs(floats(32))}
    nodes = [*LENGTHS, node("Gather", "table ids", "h0")]
    given = {"ids": (TensorProto.INT64, ["b", "s"]), "mask": (TensorProto.INT64, ["b", "t"])}

    def product(name, x, rows, columns):
        weights[name] = RANDOM.integers(0, 256, (columns, rows // 32, 16)).astype(np.uint8)
        weights[name + "s"] = np.abs(floats(columns * (rows // 32))) / 16
        nodes.append(node("MatMulNBits", f"{x} {name} {name}s", name + "y", MICROSOFT, K=rows, N=columns, bits=4, block_size=32))
        return name + "y"

    for i in range(layers):
        given.update({f"pk{i}": CACHE, f"pv{i}": CACHE})
        nodes.append(node("SimplifiedLayerNormalization", f"h{i} norm", f"n{i}"))
        operands = [product(f"qkv{i}", f"n{i}", 32, 64), "", "", f"pk{i}", f"pv{i}", "lengths", "total", "cosine", "sine"]
        nodes.append(helper.make_node("GroupQueryAttention", operands, [f"a{i}", f"key{i}", f"value{i}"], domain=MICROSOFT, num_heads=4,
                                      kv_num_heads=2, do_rotary=1))
        nodes.append(node("SkipSimplifiedLayerNormalization", f"{product(f'o{i}', f'a{i}', 32, 32)} h{i} norm", f"m{i}", MICROSOFT))
        nodes.append(node("QuickGelu", product(f"up{i}", f"m{i}", 32, 64), f"g{i}", MICROSOFT))
        nodes.append(node("Add", f"{product(f'down{i}', f'g{i}', 64, 32)} m{i}", f"h{i + 1}"))
    nodes.append(node("Identity", product("head", f"h{layers}", 32, 50), "y"))
    runs = ["ids=1x3:7;3;41,mask=1x3:1," + ",".join(f"{name}=1x2x0x8" for name in given if name[0] == "p")]
    for i in range(1, tokens):
        caches = ",".join(f"pk{k}=@key{k},pv{k}=@value{k}" for k in range(layers))
        runs.append(f"ids=1x1:{i * 11 % 50},mask=1x{3 + i}:1,{caches}")
    return nodes, given, weights, runs, "y", *[f"{name}{i}" for i in range(layers) for name in ("key", "value")]


# Batch, rows, past and columns, and which of the mask are hidden.
GROWING = [(1, 5, 0, 5), (1, 1, 5, 6), (2, 3, 4, 7), (2, 3, 4, 7, 6)]
BUFFER = [(1, 5, 16, 5), (1, 1, 16, 6), (2, 2, 9, 9, 8), (2, 1, 9, 4)]

CASES = {
    "group query": group_query(GROWING, do_rotary=1, inputs="cosine sine"),
    "group query in a buffer": group_query(BUFFER, do_rotary=1, inputs="cosine sine"),
    "group query, packed": group_query(GROWING, packed=True, do_rotary=1, rotary_interleaved=1, inputs="cosine sine"),
    "group query of neighbors": group_query(GROWING, local_window_size=3, softcap=20.),
    "a decoder of 16 words": decoder(2, 16),
    "lstm": recurrent("LSTM", 4), "lstm, both ways": recurrent("LSTM", 4, direction="bidirectional"),
    "gru": recurrent("GRU", 3), "gru, reset before": recurrent("GRU", 3, linear_before_reset=1, direction="reverse"),
    "depth to space": one("DepthToSpace", "x", IMAGE, IMAGES, blocksize=2),
    "depth to space, columns first": one("DepthToSpace", "x", IMAGE, IMAGES, blocksize=2, mode="CRD"),
    "space to depth": one("SpaceToDepth", "x", IMAGE, ["1x4x4x6", "2x4x8x2"], blocksize=2),
    "transposed convolution": one("ConvTranspose", "x W", IMAGE, IMAGES, {"W": floats(4, 3, 3, 3)}, strides=[2, 2], pads=[1, 0, 0, 1],
                                  output_padding=[1, 0]),
    "transposed convolution, same": one("ConvTranspose", "x W", IMAGE, IMAGES, {"W": floats(4, 3, 3, 3)}, strides=[2, 3],
                                        auto_pad="SAME_UPPER"),
    "transposed convolution of lines": one("ConvTranspose", "x W", ["n", 4, "a"], ["1x4x5", "2x4x9"], {"W": floats(4, 3, 3)}, strides=[2]),
    "nearest": one("Resize", "x none s", IMAGE, IMAGES, {"s": np.array([1, 1, 2, 3], np.float32),
                   "none": np.array([], np.float32)}, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "linear": one("Resize", "x none s", IMAGE, IMAGES, {"s": np.array([1, 1, 2, 2], np.float32), "none": np.array([], np.float32)},
                  mode="linear"),
    "local response": one("LRN", "x", IMAGE, IMAGES, size=3), "hardmax": one("Hardmax", "x", MATRIX, MATRICES, axis=1),
    "gather nd": ([node("Transpose", "x", "t", perm=[1, 0]), node("GatherND", "t k")], MATRIX, {"k": np.array([[2], [0]], np.int64)}, MATRICES),
    "einsum": one("Einsum", "x W", MATRIX, MATRICES, {"W": floats(6, 5)}, equation="nk,km->nm"),
    "dynamic quantization": ([node("DynamicQuantizeLinear", "x", "q s z"), node("MatMulInteger", "q W z", "i"),
                              node("Cast", "i", "f", to=TensorProto.FLOAT), node("Mul", "f s")], MATRIX, {"W": signed(6, 5)}, MATRICES),
    "dynamic matmul": one("DynamicQuantizeMatMul", "x W ws wz", MATRIX, MATRICES, {**SCALES, "W": signed(6, 5)}, MICROSOFT),
    "convolution of bytes": quantized("QLinearConv", "q s z W ws wz os oz", IMAGE, IMAGES, {"W": signed(5, 4, 3, 3)}, pads=[1] * 4),
    "matmul of bytes": quantized("QLinearMatMul", "q s z W ws wz os oz", MATRIX, MATRICES, {"W": signed(6, 5)}),
    "sum of bytes": quantized("QLinearAdd", "q s z q s z os oz", MATRIX, MATRICES, domain=MICROSOFT),
    "sigmoid of bytes": quantized("QLinearSigmoid", "q s z os oz", MATRIX, MATRICES, domain=MICROSOFT),
    "mean of bytes": quantized("QLinearGlobalAveragePool", "q s z os oz", IMAGE, IMAGES, domain=MICROSOFT),
    "joined bytes": quantized("QLinearConcat", "os oz q s z q s z", MATRIX, MATRICES, domain=MICROSOFT, axis=0),
    "rotary embedding": one("RotaryEmbedding", "x p c s", ["n", 2, 7, 8], ["1x2x7x8", "3x2x7x8"],
                            {"p": np.array([0], np.int64), "c": floats(16, 4), "s": floats(16, 4)}, MICROSOFT),
    "heads": one("MultiHeadAttention", "x x x", WORDS, TEXTS, domain=MICROSOFT, num_heads=2),
    "attention": one("Attention", "x W B", WORDS, TEXTS, {"W": floats(8, 24), "B": floats(24)}, MICROSOFT, num_heads=2),
    "causal attention": one("Attention", "x W B", WORDS, TEXTS, {"W": floats(8, 24), "B": floats(24)}, MICROSOFT, num_heads=2,
                            unidirectional=1),
}
REFUSED = {
    "rnn": (recurrent("RNN", 1), "steps, or a batch, of a size that is not known"),
    "reversed sequences": (one("ReverseSequence", "x L", ["t", 3], ["3x3"], {"L": np.array([1, 2, 3], np.int64)}, time_axis=0, batch_axis=1),
                           'without the size of dimension 0 of input 0; give "t" a value'),
    "largest": (([node("TopK", "x k", "y i", axis=1)], MATRIX, {"k": np.array([2], np.int64)}, MATRICES),
                'without the size of dimension 0 of input 0; give "n" a value'),
}


def try_case(program, folder, case):
    """What the program prints of the model, or its error."""
    nodes, inputs, weights, runs, *outputs = case
    if isinstance(inputs, list):
        inputs, runs = {"x": inputs}, [f"x={run}" for run in runs]
    kinds = {name: (shape if isinstance(shape, tuple) else (TensorProto.FLOAT, shape)) for name, shape in inputs.items()}
    graph = helper.make_graph(nodes, "late", [helper.make_tensor_value_info(name, *kind) for name, kind in kinds.items()],
                              [onnx.ValueInfoProto(name=name) for name in outputs or ["y"]],
                              [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)], ir_version=8)
    path = pathlib.Path(folder) / "model.onnx"
    path.write_bytes(model.SerializeToString())
    ran = subprocess.run([program, path, *runs], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else f"error: {ran.stdout}{ran.stderr}".strip()


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            said = try_case(sys.argv[1], folder, case)
            failed += said != "same"
            print(f"{'passed' if said == 'same' else 'failed'}: {name}: {said}")
        for name, (case, reason) in REFUSED.items():
            said = try_case(sys.argv[1], folder, case)
            failed += reason not in said
            print(f"{'passed' if reason in said else 'failed'}: {name}: {said}")
    print(f"{len(CASES) + len(REFUSED) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
