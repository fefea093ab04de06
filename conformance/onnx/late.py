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


CASES = {
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
    nodes, shape, weights, sizes = case
    graph = helper.make_graph(nodes, "late", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)], ir_version=8)
    path = pathlib.Path(folder) / "model.onnx"
    path.write_bytes(model.SerializeToString())
    ran = subprocess.run([program, path, "x", *sizes], capture_output=True, text=True, check=False)
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
