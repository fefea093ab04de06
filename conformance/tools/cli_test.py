#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the program `webnn`, from outside: what it prints, what it writes, how it ends.

Usage: cli_test.py WEBNN SOURCE_ROOT [MODELS]

WEBNN is the program, SOURCE_ROOT the folder with tools/digits. MODELS is a folder of larger networks with expected
results; without it, or if it does not exist, their tests are skipped. Needs nothing but Python's standard library.
"""
import base64
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib

WEBNN = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(sys.argv[2])
MODELS = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
DIGITS = os.path.join(ROOT, "tools", "digits")
DIGITS_GRAPH = os.path.join(DIGITS, "digits.webnn")
FORMATS = {"<f4": "f", "<f2": "e", "<f8": "d", "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q", "|i1": "b",
           "|u1": "B", "|b1": "B"}

checks = 0
failures = []


def check(condition, what):
    global checks
    checks += 1
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def run(*arguments):
    # Where a sanitizer finds something, the exit code is none that the program has.
    result = subprocess.run([WEBNN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="replace", timeout=300,
                            env={**os.environ, "ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "exitcode=99"})
    check(result.returncode in (0, 1, 2), f"{' '.join(arguments)}: exit code {result.returncode} {result.stderr}")
    check("\033" not in result.stdout + result.stderr, f"{' '.join(arguments)}: colours without a terminal")
    return result


def good(*arguments):
    result = run(*arguments)
    check(result.returncode == 0, f"{' '.join(arguments)}: {result.returncode} {result.stderr}")
    return result.stdout


def bad(code, expected, *arguments):
    """Runs, and expects an exit code and words on standard error."""
    result = run(*arguments)
    check(result.returncode == code, f"{' '.join(arguments)}: exit code {result.returncode}, expected {code}")
    for words in [expected] if isinstance(expected, str) else expected:
        check(words in result.stderr, f"{' '.join(arguments)}: {result.stderr!r} does not say {words!r}")
    return result.stderr


# ----------------------------------------------------------------------------------------------------------------
# Files
# ----------------------------------------------------------------------------------------------------------------

def write_npy(path, descr, shape, values, version=1):
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    prefix = 10 if version == 1 else 12
    header += b" " * (-(prefix + len(header) + 1) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY" + bytes([version, 0]))
        file.write(struct.pack("<H" if version == 1 else "<I", len(header)) + header)
        file.write(struct.pack(f"<{len(values)}{FORMATS[descr]}", *values))


def read_npy(path):
    """descr, shape and a flat list."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0] if data[6] == 1 else struct.unpack("<I", data[8:12])[0]
    start = (10 if data[6] == 1 else 12) + length
    header = eval(data[start - length:start], {"__builtins__": {}})  # the format is defined like this
    count = math.prod(header["shape"])
    return header["descr"], header["shape"], list(
        struct.unpack(f"<{count}{FORMATS[header['descr']]}", data[start:]))


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, shape, bytes)"""
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    write_raw_safetensors(path, json.dumps(header).encode(), body)


def write_raw_safetensors(path, header, body, length=None):
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header) if length is None else length) + header + body)


def write_png(path, width, height, channels, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(pixels[y * width * channels:(y + 1) * width * channels]) for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8,
                                                                  2 if channels == 3 else 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Folder(tempfile.TemporaryDirectory):
    def __call__(self, name):
        return os.path.join(self.name, name)

    def graph(self, text, name="graph.webnn"):
        path = self(name)
        with open(path, "w") as file:
            file.write(text)
        return path


def graph(nodes, outputs="y", inputs="x: f32[2, 3];", consts=""):
    return (f'webnn_graph "test" v1 {{\n  inputs {{ {inputs} }}\n  consts {{ {consts} }}\n  nodes {{\n'
            f'    {nodes}\n  }}\n  outputs {{ {outputs} }}\n}}\n')


# ----------------------------------------------------------------------------------------------------------------
# Tests
# ----------------------------------------------------------------------------------------------------------------

def test_command_line(folder):
    check(run().returncode == 2, "no command is a usage error")
    bad(2, "no command nonsense", "nonsense")
    bad(2, "webnn help run", "run")
    check("devices" in good("info"), "info alone lists the devices")
    bad(1, "no ", "run", "--device=nonsense", DIGITS_GRAPH)
    bad(2, "--threads=many", "run", "--threads=many", DIGITS_GRAPH)
    bad(2, "unrecognized option", "bench", "--nonsense")
    bad(2, "there is no pass", "graph", "--after=nonsense", DIGITS_GRAPH)
    bad(2, "there is no operator", "ops", "nonsense")
    bad(1, "/nonexistent.webnn: No such file", "run", "/nonexistent.webnn")
    bad(1, "no backend nonsense", "run", "--backend=nonsense", DIGITS_GRAPH)
    check(good("--version").startswith("webnn 0."), "--version")
    for command in "run", "info", "graph", "bench", "ops":
        text = good("help", command)
        check("Usage: webnn " + command in text and "Example" in text, f"help {command} teaches")
        check(text == good(command, "--help"), f"{command} --help is help {command}")
        check("\033" not in text, f"help {command} has no colours")
    check(all(name in good("help") for name in ("run", "info", "graph", "bench", "ops")), "help lists the commands")


def test_digits(folder):
    with open(os.path.join(DIGITS, "expected.json")) as file:
        expected = json.load(file)
    images = [os.path.join(DIGITS, image["file"]) for image in expected["images"]]
    output = folder("probabilities.npy")
    text = good("run", "--output=" + output, "--top=1", "--labels=" + os.path.join(DIGITS, "labels.txt"),
                DIGITS_GRAPH, *images)
    lines = text.splitlines()
    with open(os.path.join(DIGITS, "labels.txt")) as file:
        labels = file.read().split("\n")
    for i, image in enumerate(expected["images"]):
        check(lines[2 * i] == images[i] and lines[2 * i + 1].split(None, 1)[1] == labels[image["label"]],
              f"{images[i]} is recognised: {lines[2 * i + 1]}")
    descr, shape, values = read_npy(output)
    check((descr, shape) == ("<f4", (10, 10)), f"ten results make an array of ten rows: {descr} {shape}")
    for i, image in enumerate(expected["images"]):
        for k, probability in enumerate(image["probabilities"]):
            check(abs(values[10 * i + k] - probability) <= 1e-5, f"probability {k} of {image['file']}")

    drawn = good("run", "--draw", DIGITS_GRAPH, images[0])
    check("█" in drawn and "%" in drawn and "\033" not in drawn, "--draw without a terminal has no colours")
    wanted = f"{expected['test_correct']} of {expected['test_count']} right"
    for extra in [], ["--threads=1"], ["--strict", "--threads=2"]:
        text = good("run", *extra, "--expect=" + os.path.join(DIGITS, "test_labels.npy"), DIGITS_GRAPH,
                    os.path.join(DIGITS, "test.npy"))
        check(text.startswith(wanted), f"all test images, {extra}: {text}")
    text = good("run", "--quiet", "--repeat=3", DIGITS_GRAPH, images[0])
    check(text.startswith("3 runs: median "), f"--repeat: {text}")
    good("run", "--backend=dummy", DIGITS_GRAPH, images[0])


BROKEN = [
    # text, place, words
    ("", "1:1", "webnn_graph"),
    ('webnn_graph "t" v3 {}', "1:17", "v1 or v2"),
    ('webnn_graph "t" v1 {\n  inputs { x: f33[1]; }\n}', "2:15", "data type"),
    ('webnn_graph "t" v1 {\n  inputs { x: f32[1,,2]; }\n}', "2:21", "whole number"),
    ('webnn_graph "t" v1 {\n  inputs { x: f32[dyn("batch", 4)]; }\n}', "2:19", "dynamic dimension"),
    ('webnn_graph "t" v1 {\n  inputs { x: f32[1,1,1,1,1,1,1,1,1]; }\n}', "2:35", "dimensions"),
    ('webnn_graph "t" v1 {\n  inputs { x: f32[1] }\n}', "2:22", "';'"),
    ('webnn_graph "t', "1:13", "no end"),
    ('webnn_graph "t" v1 {\n  nodes { y = rleu(x; }\n}', "2:21", "')'"),
    ('webnn_graph "t" v1 {\n  nodes { y = relu(x); }\n', "3:1", "end of the file"),
    ('webnn_graph "t" v1 {\n  € \n}', "2:3", "'€'"),
    (graph("y = rleu(x);"), "5:9", "no operator rleu; did you mean relu?"),
    (graph("y = relu(xx);"), "5:14", "nothing is called xx; did you mean x?"),
    (graph("y = elu(x, alfa=1);"), "5:16", "no option alfa; did you mean alpha?"),
    (graph("y = elu(x, alpha=true);"), "5:22", "alpha of elu is a number"),
    (graph("y = elu(x, alpha=1, alpha=2);"), "5:25", "twice"),
    (graph("y = softmax(x, axis=-1);"), "5:25", "whole number from 0"),
    (graph("y = softmax(x, axis=2);"), "5:9", 'softmax "y"'),
    (graph("y = reshape(x);"), "5:9", "misses newShape"),
    (graph("y = add(x);"), "5:9", "misses its operand b"),
    (graph("y = add(x, x, x);"), "5:19", "no further argument"),
    (graph("y = transpose(x, permutation=1);"), "5:34", "a list"),
    (graph('y = pad(x, [0, 0], [1, 1], mode="mirror");'), "5:37", '"reflection"'),
    (graph('y = cast(x, "f33");'), "5:17", "data type"),
    (graph("y = relu(x);\n    y = relu(x);"), "6:5", "defined already"),
    (graph("[y, z] = relu(x);"), "5:6", "1 result here, but 2 names"),
    (graph("y = split(x, 3, axis=1);"), "5:5", "3 results here, but 1 name"),
    (graph("y = gru(x, x, x, 1, 1, activations=[relu, add]);"), "5:47", "not an activation"),
    (graph("y = relu(x);", outputs="z"), "7:13", "nothing is called z"),
    (graph("y = relu(x);", consts="c: f32[2, 2] @bytes([1, 2]);"), "3:12", "16"),
    (graph("y = relu(x);", consts="c: f32[2] @bytes([256]);"), "3:30", "0 to 255"),
    (graph("y = relu(x);", consts='c: f32[2] @weights("c");'), "3:23", "graph.safetensors: No such file"),
    (graph("y = relu(x);", inputs="x: f32[0];"), "2:12", "dimension"),
    (graph("y = [" * 40), "5:9", "an operator"),
    (graph("y = concat(" + "[" * 40), "5:32", "nested too deeply"),
]


def test_errors(folder):
    for text, place, words in BROKEN:
        path = folder.graph(text)
        bad(1, [f"{path}:{place}: ", words], "graph", "--before", path)
    tensors = {"c": ("F32", [2, 3], bytes(24)), "h": ("BF16", [2], bytes(4))}
    write_safetensors(folder("graph.safetensors"), tensors)
    for declaration, words in (('c: f32[3, 2] @weights("c");', "[2, 3]"), ('c: i32[2, 3] @weights("c");', "F32"),
                               ('c: f32[2, 3] @weights("d");', 'no tensor "d"'), ('c: f16[2] @weights("h");', "BF16")):
        path = folder.graph(graph("y = add(x, c);", consts=declaration))
        bad(1, [f"{path}:3:", words], "graph", "--before", path)
    bad(1, "no file for the input image", "run", DIGITS_GRAPH)
    bad(1, "No such file", "run", DIGITS_GRAPH, "nonexistent.png")
    bad(1, "neither an image nor .npy", "run", DIGITS_GRAPH, DIGITS_GRAPH)


def test_hostile_weights(folder):
    path = folder.graph(graph("y = add(x, c);", consts='c: f32[2, 3] @weights("c");'))
    weights = folder("graph.safetensors")

    def tensor(dtype="F32", shape=(2, 3), offsets=(0, 24)):
        return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}

    def header(value):
        return (value if isinstance(value, str) else json.dumps(value)).encode()

    cases = {
        "empty": b"", "seven bytes": bytes(7), "length only": struct.pack("<Q", 5),
        "length of 2^64-1": b"\xff" * 8 + b"{}", "length beyond the file": struct.pack("<Q", 100) + b"{}",
    }
    for name, value in {
        "not JSON": "{", "a list": "[]", "a number": "1", "text after it": "{} {}", "nested": "[" * 5000 + "]" * 5000,
        "NUL": '{"c\0": {}}', "no dtype": {"c": {"shape": [2, 3], "data_offsets": [0, 24]}},
        "tensor is a list": {"c": [1, 2]}, "tensor is null": {"c": None},
        "unknown dtype": {"c": tensor("F33")}, "negative size": {"c": tensor(shape=(-2, -3))},
        "half size": {"c": tensor(shape=(2.5, 3))}, "huge size": {"c": tensor(shape=(2 ** 31, 2 ** 31, 2 ** 31))},
        "overflowing size": {"c": tensor(shape=(2 ** 32 - 1, 2 ** 32 - 1, 2 ** 32 - 1))},
        "string size": {"c": tensor(shape=("2", "3"))}, "no offsets": {"c": {"dtype": "F32", "shape": [2, 3]}},
        "one offset": {"c": tensor(offsets=(0,))}, "three offsets": {"c": tensor(offsets=(0, 24, 48))},
        "end before begin": {"c": tensor(offsets=(24, 0))}, "beyond the file": {"c": tensor(offsets=(8, 32))},
        "negative offset": {"c": tensor(offsets=(-24, 0))}, "huge offset": {"c": tensor(offsets=(1e300, 1e301))},
        "offset of 2^64": {"c": tensor(offsets=(2 ** 64, 2 ** 64 + 24))},
        "too few bytes": {"c": tensor(offsets=(0, 20))}, "too many bytes": {"c": tensor(shape=(2, 2))},
        "overlap": {"c": tensor(), "d": tensor(offsets=(4, 28))},
        "inside another": {"c": tensor(), "d": tensor(shape=(1,), offsets=(4, 8))},
        "twice": '{"c": %s, "c": %s}' % (json.dumps(tensor()), json.dumps(tensor(offsets=(24, 48)))),
        "nine dimensions": {"c": tensor(shape=(1, 1, 1, 1, 1, 1, 1, 2, 3))},
    }.items():
        cases[name] = struct.pack("<Q", len(header(value))) + header(value) + bytes(
            28 if name in ("overlap", "inside another") else 48 if name == "twice" else 24)
    for name, data in cases.items():
        with open(weights, "wb") as file:
            file.write(data)
        bad(1, f"{path}:3:", "graph", "--before", path)
    # Headers that are odd but right: metadata, holes, any alignment, padding.
    for value, body in (({"__metadata__": {"format": "pt"}, "c": tensor()}, bytes(24)),
                        ({"c": tensor(offsets=(3, 27))}, bytes(30))):
        write_raw_safetensors(weights, header(value) + b"   ", body)
        good("run", "--random", path)
    # Noise in a good file never does more than fail.
    write_safetensors(weights, {"c": ("F32", [2, 3], bytes(24)), "d": ("F32", [1], bytes(4))})
    with open(weights, "rb") as file:
        original = file.read()
    generator = random.Random(1)
    for _ in range(60):
        noisy = bytearray(original)
        for _ in range(generator.randrange(1, 4)):
            noisy[generator.randrange(len(noisy))] = generator.randrange(256)
        with open(weights, "wb") as file:
            file.write(noisy[:generator.randrange(1, len(noisy) + 1)])
        check(run("graph", "--before", path).returncode in (0, 1), f"noise in the weights: {bytes(noisy)}")


def test_noise_in_text(folder):
    with open(DIGITS_GRAPH, "rb") as file:
        original = file.read()
    weights = os.path.join(DIGITS, "digits.safetensors")
    generator = random.Random(2)
    pieces = [b"[", b"]", b"{", b"}", b"(", b")", b"=", b",", b";", b"@", b'"', b"\\", b"-", b"1e999", b"99999999999999",
              b"null", b"nan", b"\xff", b"\0", b"//", b"relu", b"x"]
    for _ in range(150):
        noisy = bytearray(original)
        for _ in range(generator.randrange(1, 5)):
            at = generator.randrange(len(noisy))
            noisy[at:at + generator.randrange(4)] = generator.choice(pieces)
        path = folder("noise.webnn")
        with open(path, "wb") as file:
            file.write(noisy)
        check(run("graph", "--before", "--weights=" + weights, path).returncode in (0, 1),
              f"noise in the text: {bytes(noisy)}")


# Every form of argument, and operators of every shape of table row.
FORMS = [
    ("y = softmax(x, 1);", "y = softmax(x, axis=1);"),
    ("y = softmax(x);", "y = softmax(x, axis=1);"),
    ("y = reshape(x, [3, 2]);", "y = reshape(x, newShape=[3, 2]);"),
    ("y = concat([x, x], 0);", "y = concat(x, x, axis=0);"),
    ("[y, z] = split(x, [1, 2], axis=1);", "[y, z] = split(x, splits=[1, 2], axis=1);"),
    ("[y, z] = split(x, 2);", "[y, z] = split(x, splits=2, axis=0);"),
    ('y = cast(x, "int32");', "y = cast(x, type=i32);"),
    ('y = cast(x, dataType="uint8");', "y = cast(x, u8);"),
    ("y = pad(x, [1, 0], [0, 2], value=-1.5);", 'y = pad(x, beginningPadding=[1, 0], endingPadding=[0, 2], '
                                                'mode="constant", value=-1.5e0);'),
    ("y = slice(x, [0, 1], [2, 2]);", "y = slice(x, starts=[0, 1], sizes=[2, 2], strides=[1, 1]);"),
    ("y = expand(x, [4, 2, 3]);", "y = expand(x, newShape=[4, 2, 3]);"),
    ("y = tile(x, [2, 1]);", "y = tile(x, repetitions=[2, 1]);"),
    ("y = transpose(x);", "y = transpose(x, permutation=[1, 0]);"),
    ("y = argMin(x);", "y = argMin(x, axes=[0, 1]);"),
    ("y = argMax(x, 1, keepDimensions=true);", "y = argMax(x, axis=1, keepDimensions=true);"),
    ("y = argMax(x, axes=[1], selectLastIndex=true);", "y = argMaxAxes(x, axes=[1], selectLastIndex=true);"),
    ("y = cumulativeSum(x, 1, reversed=true);", "y = cumulativeSum(x, axis=1, reversed=true, exclusive=false);"),
    ("y = reduceSum(x);", "y = reduceSum(x, axes=[0, 1]);"),
    ("y = reduceSum(x, axes=[]);", "y = identity(x);"),
    ("y = clamp(x, minValue=-inf, maxValue=0.25);", "y = clamp(x, maxValue=0.25);"),
    ("t = matmul(x, x2); y = gemm(x, x2, c=null);", "y = matmul(x, x2);"),
    ("y = gemm(x, x2, c=half, alpha=0.5);", "y = gemm(a=x, b=x2, alpha=0.5, c=half);"),
    ("t = relu(x); y = t;", "y = relu(x);"),
    ('"a b" = relu(x); y = neg("a b");', "t = relu(x); y = neg(t);"),
    ("y = linear(x, alpha=2, beta=1) ; # comment", "// comment\n y = linear(x, alpha=2.0, beta=1);"),
    ("y = where(m, x, half);", "y = where(m, trueValue=x, falseValue=half);"),
    ("y = triangular(x, upper=false, diagonal=-1);", "y = triangular(x, diagonal=-1, upper=false);"),
    ("y = conv2d(image, filter, activation=relu);", "t = conv2d(image, filter); y = relu(t);"),
    ("y = conv2d(image, filter, activation=clamp(minValue=0, maxValue=0.1));",
     "t = conv2d(image, filter); y = clamp(t, minValue=0, maxValue=0.1);"),
    ("[y, z] = gru(seq, w, r, 2, 2, returnSequence=true);",
     "[y, z] = gru(seq, w, r, steps=2, hiddenSize=2, returnSequence=true, activations=[sigmoid, tanh]);"),
    ("y = resample2d(image, scales=[2, 2.0]);", "y = resample2d(image, sizes=[8, 8], axes=[2, 3]);"),
    ("y = conv2d(image, filter, fb);", "y = conv2d(image, filter, bias=fb);"),
    ("y = layerNormalization(x, s3, s3, axes=[1]);", "y = layerNormalization(x, scale=s3, bias=s3, axes=[1]);"),
    ('y = cast(x, to="int8");', "y = cast(x, i8);"),
    ("y = averagePool2d(image);", 'y = averagePool2d(image, windowDimensions=[4, 4], layout="nchw");'),
    ("y = dequantizeLinear(q, s, zero);", "y = dequantizeLinear(input=q, scale=s, zeroPoint=zero);"),
    ("y = add(x, b4);", "y = add(x, b4f);"),
]
FORM_INPUTS = "x: f32[2, 3]; x2: f32[3, 3]; m: u8[2, 3]; image: f32[1, 1, 4, 4]; seq: f32[2, 1, 3];"
FORM_CONSTS = ("half: f32[] @scalar(0.5); filter: f32[2, 1, 2, 2] @scalar(0.25); w: f32[1, 6, 3] @scalar(0.1); "
               "r: f32[1, 6, 2] @scalar(-0.2); q: i4[2, 3] @bytes([16, 50, 255]); s: f32[1, 1] @scalar(0.5); "
               "zero: i4[1, 1] @scalar(-1); b4: f32[1] @bytes([0, 0, 128, 63]); b4f: f32[1] @scalar(1); fb: f32[2] @bytes([0, 0, 0, 63, 0, 0, 128, 63]); s3: f32[3] @scalar(0.75);")


def test_forms(folder):
    """Two spellings give the same bytes, and so does what is written of them and read again."""
    for first, second in FORMS:
        results = []
        for text in first, second:
            outputs = "y; z" if text.startswith("[") else "y"
            path = folder.graph(graph(text, outputs, FORM_INPUTS, FORM_CONSTS))
            for again in False, True:
                if again:
                    emitted = good("graph", "--emit=webnn", path)
                    weights = folder("emitted.safetensors")
                    more = good("graph", "--emit=webnn", "--weights-out=" + weights, path)
                    check(emitted == good("graph", "--emit=webnn", folder.graph(emitted, "emitted.webnn")),
                          f"what is written is written again the same: {text}")
                    path = folder.graph(more, "emitted.webnn")
                out = [f"--output={name}={folder(name + '.npy')}" for name in outputs.split("; ")]
                result = run("run", "--random", "--quiet", *out, path)
                check(result.returncode == 0, f"{text}{' read again' if again else ''}: {result.stderr}")
                if result.returncode == 0:
                    results.append([read_npy(folder(name + ".npy")) for name in outputs.split("; ")])
        # Different inputs may be used: the same names get the same random numbers only in the same order.
        check(len(results) == 4 and all(repr(result) == repr(results[0]) for result in results),
              f"{first} and {second} give the same: {results}")


def test_arrays(folder):
    values = {"f32": [-1.5, 0, 3.25], "f16": [-1.5, 0, 3.25], "i32": [-2 ** 31, 0, 2 ** 31 - 1], "u32": [0, 1, 2 ** 32 - 1],
              "i64": [-2 ** 63, 0, 2 ** 63 - 1], "u64": [0, 1, 2 ** 64 - 1], "i8": [-128, 0, 127], "u8": [0, 1, 255]}
    names = dict(zip(values, ("<f4", "<f2", "<i4", "<u4", "<i8", "<u8", "|i1", "|u1")))
    for name, numbers in values.items():
        path = folder.graph(graph("y = identity(x);", inputs=f"x: {name}[3];"))
        write_npy(folder("in.npy"), names[name], [3], numbers, version=1 + (name == "i8"))
        for argument in folder("in.npy"), "x=" + folder("in.npy"):
            good("run", "--quiet", "--output=" + folder("out.npy"), path, argument)
            check(read_npy(folder("out.npy")) == (names[name], (3,), numbers), f"{name} in and out as .npy")
        good("run", "--output=y=" + folder("out.bin"), path, folder("in.npy"))
        with open(folder("out.bin"), "rb") as file:
            raw = file.read()
        check(raw == struct.pack(f"<3{FORMATS[names[name]]}", *numbers), f"{name} out as raw bytes")
        good("run", "--output=" + folder("out.npy"), path, folder("out.bin"))
        check(read_npy(folder("out.npy"))[2] == numbers, f"{name} in as raw bytes")
    path = folder.graph(graph("y = identity(x);", inputs="x: i8[3];"))
    write_npy(folder("in.npy"), "<i8", [3], [1, -128, 127])
    good("run", "--output=" + folder("out.npy"), path, folder("in.npy"))
    check(read_npy(folder("out.npy"))[2] == [1, -128, 127], "whole numbers are converted where they fit")
    write_npy(folder("in.npy"), "<f8", [3], [1, 2, 2.5])
    bad(1, "element 2, 2.5, is no int8", "run", path, folder("in.npy"))
    write_npy(folder("in.npy"), "|i1", [4], [1, 2, 3, 4])
    bad(1, "shape [4]", "run", path, folder("in.npy"))
    with open(folder("in.npy"), "r+b") as file:
        file.truncate(130)
    bad(1, "shorter", "run", path, folder("in.npy"))
    with open(folder("in.npy"), "wb") as file:
        file.write(b"\x93NUMPY\x02\0\xff\xff\xff\xff")
    bad(1, "not a .npy file", "run", path, folder("in.npy"))

    text = graph("y = sub(a, b);", inputs="a: f32[2]; b: f32[2];")
    path = folder.graph(text)
    for name, numbers in ("a.npy", [5, 7]), ("b.npy", [1, 2]):
        write_npy(folder(name), "<f4", [2], numbers)
    for arguments in ([folder("a.npy"), folder("b.npy")], ["b=" + folder("b.npy"), "a=" + folder("a.npy")],
                      ["b=" + folder("b.npy"), folder("a.npy")]):
        good("run", "--quiet", "--output=" + folder("out.npy"), path, *arguments)
        check(read_npy(folder("out.npy"))[2] == [4, 5], f"inputs in order and by name: {arguments}")
    bad(1, "no file for the input b", "run", path, folder("a.npy"))
    bad(1, "only 2 inputs", "run", path, *[folder("a.npy")] * 3)


def test_images(folder):
    nchw = folder.graph(graph("y = identity(x);", inputs="x: f32[1, 3, 2, 2];"), "nchw.webnn")
    nhwc = folder.graph(graph("y = identity(x);", inputs="x: u8[1, 2, 2, 3];"), "nhwc.webnn")
    grey = folder.graph(graph("y = identity(x);", inputs="x: f32[1, 4];"), "grey.webnn")
    pixels = [255, 0, 0, 0, 255, 0, 0, 0, 255, 51, 102, 204]
    write_png(folder("a.png"), 2, 2, 3, pixels)
    with open(folder("a.ppm"), "wb") as file:
        file.write(b"P6 # comment\n2 2\n255\n" + bytes(pixels))

    def values(*arguments):
        good("run", "--quiet", "--output=" + folder("out.npy"), *arguments)
        return read_npy(folder("out.npy"))[2]

    for name in "a.png", "a.ppm":
        planes = [pixels[i + c] / 255 for c in range(3) for i in range(0, 12, 3)]
        check(max(abs(a - b) for a, b in zip(values(nchw, folder(name)), planes)) < 1e-6, f"{name}, channels first")
        check(values(nhwc, folder(name)) == pixels, f"{name}, channels last, bytes")
        inverted = [255 - p for p in pixels]
        check(values("--invert", nhwc, folder(name)) == inverted, f"{name}, inverted")
    normal = [(pixels[i + c] / 255 - m) / d for c, (m, d) in enumerate(((.5, .25), (.4, .2), (.3, .1)))
              for i in range(0, 12, 3)]
    got = values("--mean=0.5,0.4,0.3", "--std=.25,.2,.1", nchw, folder("a.png"))
    check(max(abs(a - b) for a, b in zip(got, normal)) < 1e-5, "--mean and --std by channel")
    luminance = [(.299 * r + .587 * g + .114 * b) / 255 for r, g, b in zip(*[iter(pixels)] * 3)]
    got = values(grey, folder("a.png"))
    check(max(abs(a - b) for a, b in zip(got, luminance)) < 1e-5, "colour to grey")
    write_png(folder("flat.png"), 7, 5, 1, [100] * 35)
    check(values(nhwc, folder("flat.png")) == [100] * 12, "a resized flat image stays flat, grey becomes colour")
    with open(folder("broken.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\nnonsense")
    bad(1, "broken.png", "run", nhwc, folder("broken.png"))
    with open(folder("broken.jpg"), "wb") as file:
        file.write(b"\xff\xd8\xff\xe0nonsense")
    bad(1, "broken.jpg", "run", nhwc, folder("broken.jpg"))
    with open(folder("broken.pgm"), "wb") as file:
        file.write(b"P5 100000 100000 255\n")
    bad(1, "too large", "run", nhwc, folder("broken.pgm"))
    bad(1, "is not an image", "run", folder.graph(graph("y = identity(x);", inputs="x: f32[2, 2, 2, 2];")),
        folder("a.png"))


# 16 x 8 pixels, all (200, 100, 50).
JPEG = """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMU
FRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU
FBQUFBQUFBT/wAARCAAIABADASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUF
BAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW
V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi
4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAEC
AxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVm
Z2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq
8vP09fb3+Pn6/9oADAMBAAIRAxEAPwCpRRRX4ef0gf/Z
"""


def test_jpeg(folder):
    path = folder.graph(graph("y = identity(x);", inputs="x: u8[1, 2, 2, 3];"))
    image = folder("image")
    with open(image, "wb") as file:
        file.write(base64.b64decode(JPEG))
    good("run", "--output=" + folder("out.npy"), path, image)
    check(read_npy(folder("out.npy"))[2] == [200, 100, 50] * 4, "a JPEG image")
    result = subprocess.run(f"cat {image} | {WEBNN} run {path} /dev/stdin", shell=True, stdout=subprocess.PIPE, text=True)
    check("50 to 200: 200 100 50" in result.stdout, "an image from a pipe")
    for cut in 5, 100, 400:
        with open(image, "wb") as file:
            file.write(base64.b64decode(JPEG)[:cut])
        bad(1, "image", "run", path, image)


def test_graph_command(folder):
    copy, weights = folder("copy.webnn"), folder("copy.safetensors")
    with open(copy, "w") as file:
        file.write(good("graph", "--emit=webnn", "--weights-out=" + weights, DIGITS_GRAPH))
    outputs = []
    for path in DIGITS_GRAPH, copy:
        good("run", "--quiet", "--output=" + folder("out.npy"), path, os.path.join(DIGITS, "test.npy"))
        outputs.append(read_npy(folder("out.npy")))
    check(outputs[0] == outputs[1], "the demo network written and read again gives the same bits")
    check(outputs[0][1] == (450, 10), "an array of 450 images gives 450 results")
    passes = good("graph", "--passes").split()
    check(len(passes) > 1 and "prune" in passes, f"--passes: {passes}")
    before = good("graph", "--before", DIGITS_GRAPH)
    check(before.count("relu(") == 3 and before.count("conv2d(") == 3, "--before shows what was recorded")
    for name in passes:
        check("conv2d(" in good("graph", "--after=" + name, DIGITS_GRAPH), f"--after={name}")
    every = good("graph", "--after=all", DIGITS_GRAPH)
    check(all(f"// after {name}\n" in every for name in passes), "--after=all shows every pass")
    fused = good("graph", DIGITS_GRAPH)
    check(fused.count("\n") < before.count("\n"), "passes make the graph smaller")
    check(all(re.search(" by (native|XNNPACK|Winograd)", line) for line in fused.splitlines() if " = conv2d(" in line) and
          " by " not in before, "a plan says who computes what")
    if "fuse_activations" in passes:
        apart = good("graph", "--without-pass=fuse_activations", DIGITS_GRAPH)
        check(apart.count("relu(") == 3, "--without-pass leaves a pass out")
    for extra in ["--before"], []:
        dot = good("graph", "--format=dot", *extra, DIGITS_GRAPH)
        check(dot.startswith("digraph") and dot.rstrip().endswith("}") and "conv2d" in dot, "--format=dot")
    information = good("info", DIGITS_GRAPH)
    for words in ("image", "float32", "[1, 1, 8, 8]", "probabilities", "conv2d", "19178 parameters", "bytes", "cpu"):
        check(words in information, f"info says {words}")


def test_ops(folder):
    table = json.loads(good("ops", "--format=json"))
    names = [operator["name"] for operator in table]
    check(len(names) == len(set(names)) and len(names) >= 95, f"{len(names)} operators")
    conv2d = table[names.index("conv2d")]
    options = {option["name"]: option for option in conv2d["attributes"]}
    check(options["groups"]["default"] == 1 and options["inputLayout"]["values"] == ["nchw", "nhwc"], "conv2d in JSON")
    check([operand["name"] for operand in conv2d["operands"]] == ["input", "filter", "bias"], "operands of conv2d")
    markdown = good("ops", "--format=markdown").splitlines()
    check(len(markdown) == len(names) + 2 and all(line.count("|") == 5 for line in markdown), "ops in Markdown")
    text = good("ops", "softmax", "add")
    check("softmax" in text and "axis" in text and "conv2d" not in text, "ops of some operators")
    for name in names:
        check(name in good("ops"), f"ops has {name}") if name in ("add", "where", "softmax2d") else None


TYPES = {"float32": "f32", "float16": "f16", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
         "int8": "i8", "uint8": "u8", "int4": "i4", "uint4": "u4"}


def read_limits(text):
    """name -> operand -> (optional, data types, lowest rank, highest rank)"""
    limits = {}
    for line in text.splitlines():
        name, _, operands = line.strip().partition(" ")
        if ", rank " not in operands:
            continue
        limits[name] = {}
        for group in operands.strip().split("; "):
            names, _, rest = group.partition(": ")
            types, _, ranks = rest.partition(", rank ")
            ranks = [int(rank) for rank in ranks.split(" to ")]
            for operand in names.split(", "):
                limits[name][operand.rstrip("?")] = (operand.endswith("?"), types.replace(" or ", ", ").split(", "),
                                                     ranks[0], ranks[-1])
    return limits


def table_limits():
    """The same of `webnn ops`, without the forms of 2024, which a context does not count as operators."""
    limits = {}
    for operator in json.loads(good("ops", "--format=json")):
        if operator["name"] in ("argMinAxes", "argMaxAxes", "softmax2d"):
            continue
        rows, operands = limits.setdefault(operator["name"], {}), operator["operands"]
        for row in operands + operator["results"]:
            like = row
            while "sameTypeAs" in like:
                like = operands[like["sameTypeAs"]]
            rows[row["name"]] = (row["optional"], like["dataTypes"], row["minRank"], row["maxRank"])
    return limits


def test_limits(folder):
    bad(2, "no graph", "info", "--limits", DIGITS_GRAPH)
    bad(1, "no backend nonsense", "info", "--limits", "--backend=nonsense")
    table = table_limits()
    gpu = run("info", "--limits", "--backend=gpu")
    if gpu.returncode:
        print("skipped: limits of a GPU:", gpu.stderr.strip())
    for backend in ["cpu"] if gpu.returncode else ["cpu", "gpu"]:
        text = gpu.stdout if backend == "gpu" else good("info", "--limits")
        limits = read_limits(text)
        tensors = limits.pop("tensors", {})
        check(list(tensors) == ["input", "constant", "output"] and len(set(map(str, tensors.values()))) == 1 and
              set(tensors["input"][1]) == set(TYPES), f"{backend}: limits of all tensors: {tensors}")
        check(limits.keys() == table.keys(), f"{backend}: operators with limits: {limits.keys() ^ table.keys()}")
        for name, operands in table.items():
            check(limits.get(name) == operands, f"{backend}: limits of {name}: {limits.get(name)}, not {operands}")
        largest = int(text.split("largest tensor")[1].split()[0])
        check(2**20 <= largest < 2**34 and "preferred layout        n" in text,
              f"{backend}: limits of a context: {text}")
        # What is said is what happens.
        for name, short in TYPES.items():
            path = folder.graph(graph("y = neg(x);", inputs=f"x: {short}[2, 3];"))
            result = run("run", "--random", "--quiet", "--backend=" + backend, path)
            check((result.returncode == 0) == (name in limits["neg"]["input"][1]), f"{backend}: neg of {name}")
        lowest, highest = limits["triangular"]["input"][2:]
        for rank in range(10):
            path = folder.graph(graph("y = triangular(x);", inputs=f"x: f32{[2] * rank};"))
            result = run("run", "--random", "--quiet", "--backend=" + backend, path)
            check((result.returncode == 0) == (lowest <= rank <= highest), f"{backend}: triangular of rank {rank}")


def test_bench(folder):
    line = json.loads(good("bench", "--json", "--time=0.05", "--threads=1", "relu:1x4"))
    for key in ("median_ms", "min_ms", "p90_ms", "first_ms", "build_ms", "gflops", "peak_rss_bytes", "runs"):
        check(line[key] > 0, f"bench --json has {key}")
    check(json.loads(good("bench", "--json", "--time=0.01", "matmul:8x16x4"))["multiply_adds"] == 512, "work of matmul")
    text = good("bench", "--time=0.01", "conv2d:8x8x4x4", "softmax:4x8", DIGITS_GRAPH)
    check(len(text.splitlines()) == 4, f"a line for each graph: {text}")
    bad(1, "matmul:8x8", "bench", "matmul:8x8")
    bad(1, "conv2d:8x8x3x4x3x1x2", "bench", "conv2d:8x8x3x4x3x1x2")


def test_bench_peers(folder):
    line = json.loads(good("bench", "--json", "--time=0.01", "--rounds=2", "--vs=echo 3; echo 2.5 ms", "relu:1x4"))
    check(line["peers"][0]["min_ms"] == 2.5, f"the least of a peer: {line['peers']}")
    check(abs(line["peers"][0]["ratio"] * 2.5 - line["min_ms"]) < 1e-9, "the ratio of the least times")
    line = json.loads(good("bench", "--json", "--time=0.01", "--rounds=1", "--threads=2", "relu:1x4",
                           "--vs=echo '{\"peer\": \"other\", \"min_ms\": 7}'", "--vs=exit 77",
                           "--vs=test $WEBNN_GRAPH = relu:1x4 && echo $WEBNN_THREADS"))
    check(line["peers"][0] == {"peer": "other", "min_ms": 7, "ratio": line["peers"][0]["ratio"]}, "a peer's JSON")
    check("min_ms" not in line["peers"][1] and line["peers"][2]["min_ms"] == 2, f"three peers: {line['peers']}")
    text = good("bench", "--time=0.01", "--rounds=1", "--vs=echo 5", "relu:1x4")
    check("echo 5" in text and "5.000" in text, f"a line for the peer: {text}")
    bad(1, "no milliseconds", "bench", "--time=0.01", "--vs=echo none", "relu:1x4")
    bad(1, "status 3", "bench", "--time=0.01", "--vs=echo 1; exit 3", "relu:1x4")
    bad(2, "--rounds=0", "bench", "--rounds=0")
    page = folder("page.txt")
    good("bench", "--time=0.01", "--rounds=1", "--vs=echo 5", "--report=" + page, "relu:1x4", "softmax:4x8")
    with open(page) as file:
        text = file.read()
    check("machine" in text and "--vs='echo 5'" in text, f"the head of the page: {text}")
    check(text.count("\nrelu:1x4") == text.count("\nsoftmax:4x8") == text.count("GFLOP/s") >= 1, f"the page: {text}")
    bad(1, "nowhere", "bench", "--report=" + folder("nowhere/page.txt"), "relu:1x4")


def test_profile(folder):
    text = good("run", "--random", "--quiet", "--repeat=3", "--profile", "bert_layer")
    check("GFLOP/s" in text and "layerNormalization" in text and "3 runs" in text, f"the profile of a network: {text}")
    line = json.loads(good("bench", "--json", "--time=0.01", "--profile", "matmul:8x16x4"))
    product = line["profile"][0]
    check(product["operator"] in ("matmul", "gemm") and product["operations"] >= 1024, f"a profile in JSON: {product}")
    trace = folder("trace.json")
    good("run", "--random", "--quiet", "--repeat=2", "--trace=" + trace, "gru")
    with open(trace) as file:
        events = json.load(file)
    check(len([e for e in events if e["name"] == "execution"]) == 2, "an event for each run")
    nodes = [e for e in events if e["tid"] == 2]
    check(nodes and all(e["ph"] == "X" and e["dur"] >= 0 and e["ts"] >= 0 for e in nodes), "events of nodes")
    good("bench", "--time=0.01", "--trace=" + trace, "relu:1x4")
    with open(trace) as file:
        check(len(json.load(file)) >= 6, "a trace of a benchmark")
    bad(1, "nowhere", "run", "--random", "--trace=" + folder("nowhere/trace.json"), "gru")
    bad(2, "one graph", "bench", "--trace=" + trace, "gru", "lstm")


def test_device_times(folder):
    result = run("bench", "--json", "--time=0.02", "--backend=gpu", "relu:64x64")
    if result.returncode:
        print("skipped: times of a GPU:", result.stderr.strip())
        return
    line = json.loads(result.stdout)
    text = good("run", "--random", "--quiet", "--repeat=2", "--profile", "--backend=gpu", "gru")
    check("gru" in text and "2 runs" in text, f"the profile of a GPU: {text}")
    if "device_min_ms" in line:
        check(0 < line["device_min_ms"] <= line["device_median_ms"], f"times by the device's clock: {line}")
        check("device's clock" in text, f"the clock of a profile: {text}")


NAN_GRAPH = """webnn_graph "root" v1 {
  inputs { x: f32[4]; }
  nodes {
    doubled = add(x, x);
    rooted = sqrt(doubled);
    y = cos(rooted);
  }
  outputs { y }
}
"""


def test_find_nan(folder):
    x = folder("x.npy")
    write_npy(x, "<f4", (4,), [1.0, 4.0, -1.0, 2.0])
    graph = folder("root.webnn")
    with open(graph, "w") as file:
        file.write(NAN_GRAPH)
    text = good("run", "--quiet", "--find-nan", graph, x)
    check("sqrt \"rooted\"" in text and "NaN" in text and "element 2" in text, f"the node that makes a NaN: {text}")
    check("infinity" not in text, f"no infinity: {text}")
    write_npy(x, "<f4", (4,), [1.0, 4.0, 1.0, 2.0])
    check("No node makes" in good("run", "--quiet", "--find-nan", graph, x), "no NaN")
    write_npy(x, "<f4", (4,), [1.0, float("nan"), 1.0, float("inf")])
    text = good("run", "--quiet", "--find-nan", graph, x)
    check("holds a NaN" in text and "No node makes" in text, f"a NaN from outside: {text}")
    bad(2, "--find-nan", "run", "--find-nan", "--profile", graph, x)
    bad(1, "cannot be watched", "run", "--find-nan", "--backend=dummy", graph, x)


def test_models(folder):
    if not MODELS or not os.path.isdir(MODELS):
        print("skipped: larger models (no folder of them)")
        return
    lenet = os.path.join(MODELS, "lenet")
    for digit in range(10):
        text = good("run", "--top=1", os.path.join(lenet, "lenet.webnn"), os.path.join(lenet, f"digit{digit}.pgm"))
        check(text.split()[-1] == f"#{digit}", f"LeNet sees {digit}: {text}")
    squeezenet = os.path.join(MODELS, "squeezenet1.1")
    for i in 0, 1:
        good("run", "--quiet", "--output=" + folder("out.npy"), os.path.join(squeezenet, "squeezenet1.1.webnn"),
             os.path.join(squeezenet, f"input{i}.npy"))
        got, wanted = read_npy(folder("out.npy"))[2], read_npy(os.path.join(squeezenet, f"expected{i}.npy"))[2]
        worst = max(abs(a - e) - 1e-3 * abs(e) for a, e in zip(got, wanted))
        check(worst <= 1e-3 and got.index(max(got)) == 490, f"SqueezeNet on input {i}: {worst}")
    mobilenet = os.path.join(MODELS, "mobilenet_v2")
    good("run", "--quiet", "--output=" + folder("out.f32"), os.path.join(mobilenet, "mobilenet_v2.webnn"),
         os.path.join(mobilenet, "input_nhwc.f32"))
    both = []
    for path in folder("out.f32"), os.path.join(mobilenet, "expected.f32"):
        with open(path, "rb") as file:
            both.append(struct.unpack("<1000f", file.read()))
    worst = max(abs(a - e) for a, e in zip(*both))
    check(worst <= 1e-4, f"MobileNetV2: {worst}")


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            folder = Folder()
            with folder:
                test(folder)
            print("done:", name[5:].replace("_", " "))
    print(f"{checks - len(failures)} of {checks} checks passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
