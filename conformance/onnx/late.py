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


def lengths(op, gates, state=False, **attributes):
    nodes, _, weights, _ = recurrent(op, gates, **attributes)
    nodes[0].input.extend(["L", *(["h"] if state else [])])
    nodes[0].output[:] = ["y", "last", *(["cell"] if op == "LSTM" else [])]
    inputs = {"x": STEPS, "L": (TensorProto.INT32, ["n"]), **({"h": [1, "n", 8]} if state else {})}
    runs = ["x=5x2x6,L=2:5;3,h=1x2x8", "x=4x3x6,L=3:1;4;0,h=1x3x8"]
    return nodes, inputs, weights, runs, *nodes[0].output


SCALES = {"s": np.float32(.02), "z": np.uint8(128), "ws": np.float32(.01), "wz": np.int8(0), "os": np.float32(.05), "oz": np.uint8(120)}


def quantized(op, inputs, shape, sizes, weights=(), domain="", **attributes):
    """An operator of bytes between a quantization and its reverse."""
    nodes = [node("QuantizeLinear", "x s z", "q"), node(op, inputs, "c", domain, **attributes), node("DequantizeLinear", "c os oz")]
    return nodes, shape, {**SCALES, **dict(weights)}, sizes


def one(op, inputs, shape, sizes, weights=(), domain="", **attributes):
    return [node(op, inputs, domain=domain, **attributes)], shape, dict(weights), sizes


def ints(*values):
    return np.array(values, np.int64)


def scan(shape, sizes):
    """The sums of rows up to each one."""
    body = helper.make_graph([node("Add", "before row", "after"), node("Identity", "after", "shown")], "body",
                             [helper.make_tensor_value_info("before", TensorProto.FLOAT, None),
                              helper.make_tensor_value_info("row", TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("after", "shown")])
    start = [node("ReduceSum", "x first", "all", keepdims=0), node("Sub", "all all", "none")]
    return [*start, node("Scan", "none x", "end y", body=body, num_scan_inputs=1)], shape, {"first": ints(0)}, sizes


def loop(trips):
    """A state of a late size, doubled so many times."""
    body = helper.make_graph([node("Add", "before before", "after"), node("Identity", "going", "still")], "body",
                             [helper.make_tensor_value_info("trip", TensorProto.INT64, []),
                              helper.make_tensor_value_info("going", TensorProto.BOOL, []),
                              helper.make_tensor_value_info("before", TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info("still", TensorProto.BOOL, []),
                              helper.make_tensor_value_info("after", TensorProto.FLOAT, None)])
    return [helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)], MATRIX, {"trips": np.array(trips, np.int64)}, MATRICES


def resize(scales, **attributes):
    return one("Resize", "x none s", IMAGE, IMAGES, {"s": np.array(scales, np.float32), "none": np.array([], np.float32)}, **attributes)


def resized(scales):
    """To sizes that are computed as numbers of floating point, as old exporters do."""
    nodes = [node("Shape", "x", "s"), node("Slice", "s two four", "wh"), node("Cast", "wh", "f", to=TensorProto.FLOAT), node("Mul", "f by", "m"),
             node("Floor", "m", "l"), node("Cast", "l", "to", to=TensorProto.INT64), node("Slice", "s zero two", "nc"),
             node("Concat", "nc to", "size", axis=0), node("Resize", "x none none size", mode="linear")]
    return nodes, IMAGE, {"two": ints(2), "four": ints(4), "zero": ints(0), "none": np.array([], np.float32),
                          "by": np.array(scales, np.float32)}, IMAGES


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
    "to the size of another": ([node("Shape", "z", "s"), node("Slice", "s two four", "wh"), node("Shape", "x", "sx"), node("Slice", "sx zero two", "nc"),
                                node("Concat", "nc wh", "size", axis=0), node("Resize", "x none none size", mode="linear")],
                               {"x": IMAGE, "z": ["n", 4, "c", "d"]}, {"two": ints(2), "four": ints(4), "zero": ints(0), "none": np.array([], np.float32)},
                               ["x=1x4x5x6,z=1x4x9x3", "x=2x4x3x3,z=2x4x1x7"]),
    "resized by computed sizes": resized([2.5, .75]),
    "nearest by part": resize([1, 1, 1.5, .6], mode="nearest"),
    "nearest by part, asymmetric": resize([1, 1, 1.5, .6], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "nearest by part, above": resize([1, 1, 2.5, 3], mode="nearest", coordinate_transformation_mode="align_corners", nearest_mode="round_prefer_ceil"),
    "linear by part": resize([1, 1, 1.5, .6], mode="linear", coordinate_transformation_mode="pytorch_half_pixel"),
    "linear between corners": resize([1, 1, 1.5, 2], mode="linear", coordinate_transformation_mode="align_corners"),
    "cubic": resize([1, 1, 1.5, 2], mode="cubic"),
    "same windows": one("Conv", "x W", IMAGE, ["1x4x5x6", "2x4x8x7", "1x4x1x2"], {"W": floats(3, 4, 3, 3)}, auto_pad="SAME_UPPER", strides=[2, 2]),
    "same windows of the largest": one("MaxPool", "x", IMAGE, IMAGES, kernel_shape=[3, 3], auto_pad="SAME_LOWER", strides=[2, 3]),
    "same windows of the mean": one("AveragePool", "x", IMAGE, IMAGES, kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 3]),
    "same windows of the mean, all": one("AveragePool", "x", IMAGE, IMAGES, kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2],
                                         count_include_pad=1),
    "windows rounded up": one("MaxPool", "x", IMAGE, IMAGES, kernel_shape=[2, 2], pads=[1, 0, 1, 1], strides=[2, 3], ceil_mode=1),
    "windows of the mean, rounded up": one("AveragePool", "x", IMAGE, IMAGES, kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 3],
                                           ceil_mode=1, count_include_pad=1),
    "windows of the mean, rounded up along one axis": one("AveragePool", "x", ["n", 4, "a", 6], ["1x4x5x6", "2x4x8x6"], kernel_shape=[3, 2],
                                                          pads=[1, 1, 1, 1], strides=[3, 1], ceil_mode=1, count_include_pad=1),
    "windows of the mean, same along one axis": one("AveragePool", "x", IMAGE, IMAGES, kernel_shape=[3, 2], strides=[2, 1], auto_pad="SAME_UPPER",
                                                    count_include_pad=1),
    "windows of powers, rounded up": one("LpPool", "x", IMAGE, IMAGES, kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1, p=3),
    "where the largest are": ([node("MaxPool", "x", "y i", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])], IMAGE, {}, IMAGES, "y", "i"),
    "where the largest are, rounded up": ([node("MaxPool", "x", "y i", kernel_shape=[2, 2], strides=[2, 3], ceil_mode=1, storage_order=1)],
                                          IMAGE, {}, IMAGES, "y", "i"),
    "where the largest of same windows are": ([node("MaxPool", "x", "y i", kernel_shape=[3, 2], strides=[2, 3], auto_pad="SAME_LOWER")], IMAGE,
                                              {}, IMAGES, "y", "i"),
    "put back": ([node("MaxPool", "x", "z i", kernel_shape=[2, 2], strides=[2, 2]), node("Shape", "x", "s"),
                  node("MaxUnpool", "z i s", kernel_shape=[2, 2], strides=[2, 2])], IMAGE, {}, IMAGES),
    "columns": one("Col2Im", "x image block", ["n", 12, "l"], ["1x12x20", "3x12x20"], {"image": ints(5, 6), "block": ints(2, 2)}),
    "in a circle": one("Pad", "x p", MATRIX, MATRICES, {"p": ints(2, 1, 4, 0)}, mode="wrap"),
    "volume": one("Conv", "x W", ["n", 2, "d", "a", "b"], ["1x2x4x5x6", "2x2x3x4x3"], {"W": floats(3, 2, 2, 3, 3)}, pads=[1] * 6, strides=[1, 2, 1]),
    "volume, transposed": one("ConvTranspose", "x W", ["n", 2, "d", "a", "b"], ["1x2x4x5x6", "2x2x3x4x3"], {"W": floats(2, 3, 2, 3, 3)},
                              strides=[2, 2, 1]),
    "volume of the largest": one("MaxPool", "x", ["n", 2, "d", "a", "b"], ["1x2x4x5x6", "2x2x3x4x3"], kernel_shape=[2, 3, 3], strides=[2, 1, 1]),
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
    "lstm of lengths": lengths("LSTM", 4, direction="bidirectional"), "gru of lengths": lengths("GRU", 3, direction="reverse"),
    "rnn of lengths": lengths("RNN", 1), "gru of lengths and a state": lengths("GRU", 3, state=True, linear_before_reset=1),
    "rnn": recurrent("RNN", 1), "rnn, both ways": recurrent("RNN", 1, direction="bidirectional", activations=["Tanh", "Tanh"]),
    "rnn of relu": recurrent("RNN", 1, direction="reverse", activations=["Relu"]),
    "reversed sequences": one("ReverseSequence", "x L", ["t", 3], ["3x3", "5x3"], {"L": ints(1, 2, 3)}, time_axis=0, batch_axis=1),
    "largest": ([node("TopK", "x k", "y i", axis=1)], MATRIX, {"k": ints(2)}, MATRICES, "y", "i"),
    "largest of a late size": ([node("TopK", "x k", "y i", axis=0)], MATRIX, {"k": ints(2)}, ["3x6", "7x6", "2x6"], "y", "i"),
    "sorted": ([node("Shape", "x", "s"), node("Gather", "s at", "k0"), node("Unsqueeze", "k0 zero", "k"),
                node("TopK", "x k", "y i", axis=0, largest=0)], MATRIX, {"at": np.array(0, np.int64), "zero": ints(0)}, MATRICES, "y", "i"),
    "largest by a network": ([node("TopK", "x k", "y i", axis=1)], ["n", 700], {"k": ints(70)}, ["1x700", "3x700"], "y", "i"),
    "last of the largest": one("ArgMax", "x", MATRIX, MATRICES, axis=0, select_last_index=1, keepdims=0),
    "hardmax of a late size": one("Hardmax", "x", MATRIX, MATRICES, axis=0),
    "windows of an axis": one("UnfoldTensor", "x", ["n", "t", 4], ["1x5x4", "2x9x4"], domain=MICROSOFT, dim=1, size=3, step=2),
    "slice, backwards": one("Slice", "x s e a t", MATRIX, ["3x6", "8x6", "2x6"], {"s": ints(20), "e": ints(0), "a": ints(0), "t": ints(-2)}),
    "slice, backwards to a far end": one("Slice", "x s e a t", MATRIX, MATRICES, {"s": ints(-1), "e": ints(-100), "a": ints(0), "t": ints(-3)}),
    "slice, backwards to an end": one("Slice", "x s e a t", MATRIX, ["5x6", "9x6", "4x6"], {"s": ints(-1), "e": ints(-4), "a": ints(0),
                                      "t": ints(-2)}),
    "the first of windows": ([node("Conv", "x W", "c"), node("Slice", "c s e a")], ["n", 4, "a"], {"W": floats(3, 4, 3), "s": ints(0),
                             "e": ints(4), "a": ints(2)}, ["1x4x5", "2x4x9"]),
    "squeezed": one("Squeeze", "x a", ["n", "t", 3], ["1x4x3", "1x2x3"], {"a": ints(0)}),
    "integers of a late size, averaged": ([node("Cast", "x", "i", to=TensorProto.INT32), node("ReduceMean", "i", axes=[0])], MATRIX, {},
                                          ["3x6:7;2;9;-4", "5x6:1;8;-3"]),
    "one hot of a late depth": ([node("Shape", "x", "s"), node("Gather", "s at", "d"), node("OneHot", "k d v")], MATRIX,
                                {"at": np.array(0, np.int64), "k": ints(0, -1, 2), "v": np.array([0, 1], np.float32)}, ["3x6", "7x6"]),
    "identity": one("EyeLike", "x", ["n", "m"], ["3x6", "4x2"], k=1),
    "cropped and padded": one("CenterCropPad", "x size", ["n", "t", 4], ["1x5x4", "2x9x4", "2x6x4", "1x4x4"], {"size": ints(6)}, axes=[1]),
    "cropped to another": ([node("Shape", "z", "size"), node("CenterCropPad", "x size")], {"x": ["a", "b"], "z": ["c", "d"]}, {},
                           ["x=5x4,z=3x6", "x=2x7,z=4x2"]),
    "scattered rows": ([node("TensorScatter", "x z w")], {"x": ["n", "t", 4], "z": ["n", "s", 4], "w": (TensorProto.INT64, ["n"])}, {},
                       ["x=2x6x4,z=2x2x4,w=2:1;3", "x=1x4x4,z=1x4x4,w=1:0"]),
    "window": ([node("Shape", "x", "s"), node("Gather", "s at", "k"), node("HannWindow", "k", "w"), node("Mul", "x w")], ["n", "t"],
               {"at": np.array(1, np.int64)}, ["1x5", "2x8"]),
    "table": one("TorchEmbedding", "T i", {"i": (TensorProto.INT64, ["n", "t"])}, ["i=2x3:1;4;0", "i=1x1:2"], {"T": floats(5, 3)}, MICROSOFT),
    "integers added": one("ReduceSumInteger", "x", {"x": (TensorProto.UINT8, ["n", 4])}, ["x=3x4:1;250;7", "x=1x4:9"], domain=MICROSOFT,
                          axes=[1], keepdims=0),
    "determinants": one("Det", "x", ["n", 3, 3], ["1x3x3", "4x3x3"]),
    "inverses": one("Inverse", "x", ["n", 3, 3], ["1x3x3:1;2;0;3;1;1;0;2;5", "2x3x3:1;2;0;3;1;1;0;2;5"], domain=MICROSOFT),
    "spectrum": one("DFT", "x", ["n", 8, 1], ["1x8x1", "3x8x1"], axis=1, onesided=1),
    "spectrogram": one("STFT", "x step w", ["n", "t", 1], ["1x16x1", "2x33x1"], {"step": np.array(4, np.int64), "w": np.hanning(8).astype(np.float32)}),
    "relative positions": ([node("Shape", "x", "s"), node("Gather", "s at", "k"), node("RelativePositionBias", "T k k", "b", MICROSOFT,
                            max_distance=12, is_bidirectional=1), node("Add", "x b")], [1, 2, "t", "t"],
                           {"at": np.array(2, np.int64), "T": floats(8, 2)}, ["1x2x5x5", "1x2x30x30"]),
    "gated positions": one("GatedRelativePositionBias", "x qb z W b g", {"x": ["n", "t", 8], "z": [1, 2, "t", "t"]},
                           ["x=2x3x8,z=1x2x3x3", "x=1x5x8,z=1x2x5x5"], {"qb": floats(8), "W": floats(4, 8), "b": floats(8),
                           "g": floats(1, 2, 1, 1)}, MICROSOFT, num_heads=2),
    "loss": one("SoftmaxCrossEntropyLoss", "x t w", {"x": ["n", 5], "t": (TensorProto.INT64, ["n"])}, ["x=3x5,t=3:0;4;2", "x=1x5,t=1:1"],
                {"w": np.abs(floats(5))}, ignore_index=2),
    "samples": one("GridSample", "x g", {"x": ["n", 2, "a", "b"], "g": ["n", "h", "w", 2]}, ["x=1x2x4x5,g=1x3x2x2", "x=2x2x3x7,g=2x5x4x2"]),
    "samples, reflected": one("GridSample", "x g", {"x": ["n", 2, "a", "b"], "g": ["n", "h", "w", 2]},
                              ["x=1x2x4x5,g=1x3x2x2:-1.7;.3;2.1", "x=2x2x3x1,g=2x5x4x2:-1.7;.3;2.1"], padding_mode="reflection",
                              align_corners=1, mode="bicubic"),
    "samples, nearest": one("GridSample", "x g", {"x": ["n", 2, "a", "b"], "g": ["n", "h", "w", 2]},
                            ["x=1x2x4x5,g=1x3x2x2:-1.7;.3;2.1", "x=2x2x3x6,g=2x5x4x2:-1.7;.3;2.1"], padding_mode="border", mode="nearest"),
    "grid": ([node("Shape", "x", "s"), node("AffineGrid", "t s", align_corners=1)], {"x": ["n", 2, "a", "b"], "t": ["n", 2, 3]}, {},
             ["x=1x2x3x4,t=1x2x3", "x=2x2x5x1,t=2x2x3"], "y"),
    "regions, averaged": one("RoiAlign", "x boxes i", {"x": ["n", 2, "a", "b"], "boxes": ["r", 4], "i": (TensorProto.INT64, ["r"])},
                             ["x=1x2x6x7,boxes=2x4:.5;1;3;4,i=2:0", "x=2x2x9x8,boxes=3x4:1;2;5;7,i=3:1;0;1"], output_height=2, output_width=3,
                             sampling_ratio=2),
    "cropped regions": one("CropAndResize", "x boxes i size", {"x": ["n", 2, "a", "b"], "boxes": ["r", 4], "i": (TensorProto.INT32, ["r"])},
                           ["x=1x2x6x7,boxes=2x4:.1;.2;.8;1.2,i=2:0", "x=2x2x9x8,boxes=3x4:.1;0;.8;.9,i=3:1;0;1"],
                           {"size": np.array([4, 3], np.int32)}, MICROSOFT),
    "deformed convolution": one("DeformConv", "x W o", {"x": ["n", 2, "a", "b"], "o": ["n", 8, "c", "d"]},
                                ["x=1x2x5x6,o=1x8x4x5", "x=2x2x3x4,o=2x8x2x3"], {"W": floats(3, 2, 2, 2)}, pads=[0] * 4),
    "added to elements": one("ScatterElements", "x i u", {"x": ["n", 4], "i": (TensorProto.INT64, ["m", 4]), "u": ["m", 4]},
                             ["x=5x4,i=3x4:0;4;-1;2,u=3x4", "x=2x4,i=1x4:1;0;1;1,u=1x4"], axis=0, reduction="add"),
    "added to rows": one("ScatterND", "x i u", {"x": ["n", 4], "i": (TensorProto.INT64, ["m", 1]), "u": ["m", 4]},
                         ["x=5x4,i=3x1:0;4;0,u=3x4", "x=2x4,i=4x1:1;0;1;1,u=4x4"], reduction="add"),
    "added to some rows": one("ScatterND", "x i u", {"x": ["n", 4], "u": [3, 4]}, ["x=5x4,u=3x4", "x=4x4,u=3x4"],
                              {"i": ints([0], [3], [0])}, reduction="max"),
    "sequences": ([node("SequenceConstruct", "x x", "s"), node("SequenceInsert", "s x", "t"), node("ConcatFromSequence", "t", axis=1)],
                  MATRIX, {}, MATRICES),
    "a loop": loop(3),
    "a scan": scan([4, "n"], ["4x3", "4x7"]),
    "heads": one("MultiHeadAttention", "x x x", WORDS, TEXTS, domain=MICROSOFT, num_heads=2),
    "attention": one("Attention", "x W B", WORDS, TEXTS, {"W": floats(8, 24), "B": floats(24)}, MICROSOFT, num_heads=2),
    "causal attention": one("Attention", "x W B", WORDS, TEXTS, {"W": floats(8, 24), "B": floats(24)}, MICROSOFT, num_heads=2,
                            unidirectional=1),
}
# ----------------------------------------------------------------------------------------------------------------
# What exporters write
# ----------------------------------------------------------------------------------------------------------------

class Graph:
    """Nodes that are written like calls; constants are arrays, numbers or lists of them."""

    def __init__(self, **inputs):
        self.nodes, self.inputs, self.constants, self.count = [], inputs, {}, 0

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def operand(self, value):
        if isinstance(value, str):
            return value
        name = self.name()
        self.constants[name] = np.asarray(value, None if isinstance(value, (np.ndarray, np.generic)) else np.int64)
        return name

    def __getattr__(self, op):
        def call(*operands, outputs=None, **attributes):
            names = outputs.split() if outputs else [self.name()]
            self.nodes.append(helper.make_node(op, [self.operand(value) for value in operands], names, **attributes))
            return names[0] if len(names) == 1 else names
        return call

    def size(self, x, axis):
        return self.Gather(self.Shape(x), axis, axis=0)

    def list(self, *sizes):
        """Of rank 1, each size by itself, as tracing exporters write shapes."""
        return self.Concat(*(self.Unsqueeze(size, [0]) if isinstance(size, str) else self.operand([size]) for size in sizes), axis=0)

    def case(self, runs, *results):
        for index, result in enumerate(results):
            self.Identity(result, outputs=f"y{index}")
        return self.nodes, self.inputs, self.constants, runs, *(f"y{index}" for index in range(len(results)))


def split_heads():
    """Shape, Gather, Unsqueeze, Concat, Reshape; and a mask of a triangle with padding."""
    g = Graph(x=["n", "t", 8], m=(TensorProto.INT64, ["n", "t"]))
    n, t = g.size("x", 0), g.size("x", 1)
    heads = g.Transpose(g.Reshape("x", g.list(n, t, 2, g.Div(g.size("x", 2), 2))), perm=[0, 2, 1, 3])
    places = g.Range(0, t, 1)
    band = g.LessOrEqual(g.Unsqueeze(places, [0]), g.Unsqueeze(places, [1]))
    seen = g.Cast(g.Expand(g.Unsqueeze("m", [1, 2]), g.list(n, 1, t, t)), to=TensorProto.BOOL)
    scores = g.MatMul(heads, g.Transpose(heads, perm=[0, 1, 3, 2]))
    scores = g.Where(g.And(seen, band), scores, np.float32(-1e9))
    mixed = g.Transpose(g.MatMul(g.Softmax(scores, axis=-1), heads), perm=[0, 2, 1, 3])
    return g.case(["x=1x5x8,m=1x5:1", "x=2x7x8,m=2x7:1;1;1;1;1;1;0", "x=1x1x8,m=1x1:1"], g.Reshape(mixed, g.list(n, t, -1)))


def oldest_range():
    """Positions as where ones are, before there was an operator for them; and of a grid."""
    g = Graph(x=["n", "t", 4])
    ones = numpy_helper.from_array(np.array([1], np.int64))
    places = g.Squeeze(g.Transpose(g.NonZero(g.ConstantOfShape(g.Unsqueeze(g.size("x", 1), [0]), value=ones)), perm=[1, 0]), [1])
    grid = g.NonZero(g.ConstantOfShape(g.Slice(g.Shape("x"), [0], [2], [0]), value=ones))
    return g.case(["x=1x5x4", "x=3x2x4"], g.Add("x", g.Unsqueeze(g.Cast(places, to=TensorProto.FLOAT), [1])), grid)


def triangle():
    """A mask made of ConstantOfShape and Trilu, with a past, as old exporters do."""
    g = Graph(x=["n", "t", 4], p=["n", "past", 4])
    t, past = g.size("x", 1), g.size("p", 1)
    total = g.Add(t, past)
    full = g.ConstantOfShape(g.list(t, total), value=numpy_helper.from_array(np.array([-1], np.float32)))
    mask = g.Trilu(full, 1)
    mask = g.Slice(mask, [0], g.Unsqueeze(t, [0]), [0])
    keys = g.Concat("p", "x", axis=1)
    scores = g.Add(g.MatMul("x", g.Transpose(keys, perm=[0, 2, 1])), g.Unsqueeze(mask, [0]))
    return g.case(["x=1x3x4,p=1x2x4", "x=2x1x4,p=2x6x4"], g.MatMul(g.Softmax(scores), keys))


def buckets():
    """Relative positions in buckets of their logarithms."""
    g = Graph(x=["n", "t", 8])
    t = g.size("x", 1)
    places = g.Range(0, t, 1)
    distance = g.Sub(g.Unsqueeze(places, [0]), g.Unsqueeze(places, [1]))
    far, near = g.Mul(g.Cast(g.Less(distance, 0), to=TensorProto.INT64), 8), g.Abs(distance)
    share = g.Div(g.Log(g.Div(g.Cast(near, to=TensorProto.FLOAT), np.float32(4))), np.float32(np.log(32 / 4)))
    large = g.Min(g.Add(g.Cast(g.Mul(share, np.float32(4)), to=TensorProto.INT64), 4), g.Expand(7, g.Shape(near)))
    bucket = g.Add(g.Where(g.Less(near, 4), near, large), far)
    bias = g.Transpose(g.Gather(floats(16, 2), bucket), perm=[2, 0, 1])
    scores = g.MatMul("x", g.Transpose("x", perm=[0, 2, 1]))
    return g.case(["x=1x5x8", "x=2x40x8"], g.Add(g.Unsqueeze(scores, [1]), bias))


def pyramid():
    """An image that is halved by windows, and enlarged again to the size that it had."""
    g = Graph(x=["n", 3, "h", "w"])
    low = g.MaxPool(g.Conv("x", floats(4, 3, 3, 3), pads=[1] * 4), kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    lower = g.Conv(low, floats(4, 4, 3, 3), strides=[2, 2], pads=[1] * 4)

    def as_large(small, other):
        size = g.Concat(g.Slice(g.Shape(small), [0], [2], [0]), g.Slice(g.Shape(other), [2], [4], [0]), axis=0)
        return g.Resize(small, "", "", size, mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    joined = g.Concat(as_large(lower, low), low, axis=1)
    nearest = g.Resize(joined, "", "", g.Concat(g.Slice(g.Shape(joined), [0], [2], [0]), g.list(g.size("x", 2), g.size("x", 3)), axis=0),
                       mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return g.case(["x=1x3x8x10", "x=2x3x7x5", "x=1x3x13x6"], nearest)


def scaled():
    """An image at the size of another by scales that are computed of both, as exporters of older operator sets do."""
    g = Graph(x=["n", 3, "h", "w"], z=["n", 3, "c", "d"])
    old, new = (g.Cast(g.Slice(g.Shape(t), [2], [4], [0]), to=TensorProto.FLOAT) for t in ("x", "z"))
    scales = g.Concat(np.ones(2, np.float32), g.Div(new, old), axis=0)
    enlarged = g.Resize("x", np.zeros(0, np.float32), scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return g.case(["x=1x3x4x5,z=1x3x8x10", "x=2x3x6x8,z=2x3x3x6"], g.Conv(enlarged, floats(2, 3, 1, 1)))


def windows_of_attention():
    """Images that are padded to whole windows, cut into them, joined and cropped; by a remainder."""
    g = Graph(x=["n", "h", "w", 4])
    n, h, w = (g.size("x", axis) for axis in range(3))
    down, right = (g.Mod(g.Sub(4, g.Mod(size, 4)), 4) for size in (h, w))
    padded = g.Pad("x", g.Concat(g.Expand(0, [5]), g.Unsqueeze(down, [0]), g.Unsqueeze(right, [0]), [0], axis=0))
    rows, columns = (g.Div(g.size(padded, axis), 4) for axis in (1, 2))
    cut = g.Transpose(g.Reshape(padded, g.list(n, rows, 4, columns, 4, 4)), perm=[0, 1, 3, 2, 4, 5])
    cut = g.Reshape(cut, [-1, 16, 4])
    mixed = g.MatMul(g.Softmax(g.MatMul(cut, g.Transpose(cut, perm=[0, 2, 1]))), cut)
    back = g.Transpose(g.Reshape(mixed, g.list(n, rows, columns, 4, 4, -1)), perm=[0, 1, 3, 2, 4, 5])
    back = g.Reshape(back, g.list(n, g.Add(h, down), g.Add(w, right), -1))
    return g.case(["x=1x5x7x4", "x=2x8x4x4", "x=1x3x9x4"], g.Slice(back, [0, 0], g.list(h, w), [1, 2]))


def speech():
    """Frames that windows shorten, with the lengths that are left, which hide what is behind them; and a head for CTC."""
    g = Graph(x=["n", "t", 6], lengths=(TensorProto.INT64, ["n"]))
    y = g.Unsqueeze("x", [1])
    left = "lengths"
    for channels, kernel in ((1, 3), (2, 3)):
        y = g.Relu(g.Conv(y, floats(2, channels, kernel, 3), strides=[2, 1], pads=[0, 1, 0, 1]))
        left = g.Add(g.Div(g.Sub(left, kernel), 2), 1)
    n, t = g.size(y, 0), g.size(y, 2)
    rows = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), g.list(n, t, -1))
    hidden = g.GreaterOrEqual(g.Unsqueeze(g.Range(0, t, 1), [0]), g.Unsqueeze(left, [1]))
    rows = g.Where(g.Unsqueeze(hidden, [2]), np.float32(0), rows)
    logits = g.LogSoftmax(g.MatMul(rows, floats(12, 5)), axis=-1)
    return g.case(["x=1x11x6,lengths=1:11", "x=2x24x6,lengths=2:24;13"], logits, g.ArgMax(logits, axis=-1, keepdims=0), left)


def waves():
    """Angles of as many positions as there are, computed as real numbers, as diffusion models and encoders do."""
    g = Graph(x=["n", "t", 8])
    t = g.Cast(g.size("x", 1), to=TensorProto.FLOAT)
    places = g.Range(np.float32(0), t, np.float32(1))
    angles = g.Mul(g.Unsqueeze(g.Div(places, t), [1]), np.array([[1, .5, .25, .125]], np.float32))
    code = g.Concat(g.Sin(angles), g.Cos(angles), axis=1)
    half = g.Cast(g.Ceil(g.Div(t, np.float32(2))), to=TensorProto.INT64)
    first = g.Slice(g.Add("x", code), [0], g.Unsqueeze(half, [0]), [1])
    return g.case(["x=1x5x8", "x=3x8x8"], first, g.ReduceMean(first, axes=[1]))


def neighbors():
    """Distances of points, of which the nearest are gathered, as networks on points do."""
    g = Graph(x=["n", "p", 3])
    square = g.ReduceSum(g.Mul("x", "x"), [2], keepdims=1)
    products = g.Mul(g.MatMul("x", g.Transpose("x", perm=[0, 2, 1])), np.float32(-2))
    distances = g.Add(g.Add(products, square), g.Transpose(square, perm=[0, 2, 1]))
    _, index = g.TopK(distances, [3], axis=2, largest=0, outputs="near index")
    n, p = g.size("x", 0), g.size("x", 1)
    first = g.Unsqueeze(g.Mul(g.Range(0, n, 1), p), [1, 2])
    flat = g.Reshape("x", g.list(g.Mul(n, p), 3))
    taken = g.Gather(flat, g.Reshape(g.Add(index, first), [-1]), axis=0)
    taken = g.Reshape(taken, g.list(n, p, 3, 3))
    return g.case(["x=1x4x3", "x=2x9x3"], g.ReduceMax(g.Sub(taken, g.Unsqueeze("x", [2])), axes=[2], keepdims=0))


def rolled():
    """Rows that are shifted in a circle, and every other one, as windows that move do."""
    g = Graph(x=["n", "t", 4])
    shifted = g.Concat(g.Slice("x", [-2], [2 ** 62], [1]), g.Slice("x", [0], [-2], [1]), axis=1)
    even, odd = g.Slice(shifted, [0], [2 ** 62], [1], [2]), g.Slice(shifted, [1], [2 ** 62], [1], [2])
    return g.case(["x=1x4x4", "x=2x10x4"], g.MatMul(g.Concat(even, odd, axis=2), floats(8, 3)))


CASES |= {
    "exported heads": split_heads(), "exported positions": oldest_range(), "exported triangle": triangle(), "exported buckets": buckets(), "exported pyramid": pyramid(),
    "exported scales": scaled(),
    "exported windows": windows_of_attention(), "exported speech": speech(), "exported waves": waves(),
    "exported neighbors": neighbors(), "exported rolls": rolled(),
}
REFUSED = {
    "nonzero": (one("NonZero", "x", MATRIX, MATRICES), "on which the shape of the result depends"),
    "transform of all": (one("DFT", "x", ["n", "t", 1], ["1x4x1"]), "a transform of a size that is not known"),
    "inverse": (one("Inverse", "x", ["n", "m", "m"], ["1x4x4"], domain=MICROSOFT), "a matrix of a size that is not known"),
    "parts": (([node("SplitToSequence", "x", "s", axis=0), node("ConcatFromSequence", "s", axis=1)], MATRIX, {}, MATRICES),
              "how many parts there are depends on a size that is not known"),
    "words": (one("TfIdfVectorizer", "x", {"x": (TensorProto.INT64, ["n", "t"])}, ["x=1x3"], max_gram_length=1, max_skip_count=0, min_gram_length=1,
                  mode="TF", ngram_counts=[0], ngram_indexes=[0, 1], pool_int64s=[2, 3]), "a number of words that is not known"),
    "steps of a loop": (scan(["t", 6], ["3x6"]), "the number of trips depends on a size that is not known"),
    "cells of lengths": (lengths("LSTM", 4, activations=["Relu", "Tanh", "Tanh"]), "last cells of sequences of different lengths"),
    "regions": (one("MaxRoiPool", "x boxes", IMAGE, IMAGES, {"boxes": np.array([[0, 1, 1, 3, 3]], np.float32)}, pooled_shape=[2, 2]),
                "how many windows cover a bin"),
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
    opset = 19 if any(attribute.s == b"wrap" for part in nodes for attribute in part.attribute) else 18
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)], ir_version=8)
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
