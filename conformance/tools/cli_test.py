#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the program `webnn`, from outside: what it prints, what it writes, how it ends.

Usage: cli_test.py WEBNN SOURCE_ROOT [MODELS [TEST...]]

WEBNN is the program, SOURCE_ROOT the folder with tools/digits. MODELS is a folder of larger networks with expected
results; without it, or if it does not exist, their tests are skipped. Needs nothing but Python's standard library.
"""
import base64
import fcntl
import json
import math
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import zlib

WEBNN = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(sys.argv[2])
MODELS = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
DIGITS = os.path.join(ROOT, "tools", "digits")
DIGITS_GRAPH = os.path.join(DIGITS, "digits.webnn")
FORMATS = {"<f4": "f", "<f2": "e", "<f8": "d", "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q", "|i1": "b",
           "|u1": "B", "|b1": "B"}

# Where a sanitizer finds something, the exit code is none that the program has.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "exitcode=99:allocator_may_return_null=1", "UBSAN_OPTIONS": "exitcode=99"}
with open(WEBNN, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()

checks = 0
failures = []


def check(condition, what):
    global checks
    checks += 1
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def run(*arguments):
    result = subprocess.run([WEBNN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="replace", timeout=300, env=ENVIRONMENT)
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
              f"{images[i]} is recognized: {lines[2 * i + 1]}")
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
    (graph("y = relu(x);", consts="c: f32[1] @bytes([0, 0, 0, 0]) @bytes([0, 0, 0, 0]);"), "3:43", "one value"),
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
    check(all(re.search(" by (native (product|direct|depthwise)|XNNPACK|Winograd)", line) for line in fused.splitlines() if " = conv2d(" in line) and
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


# ----------------------------------------------------------------------------------------------------------------
# Hostile files
# ----------------------------------------------------------------------------------------------------------------

# A program that reads without bound meets this first.
MEMORY = 1536 << 20
SECONDS = 20


# Meson has malloc write to all memory that it gives, which is then counted although nobody uses it.
UNTOUCHED = {name: value for name, value in ENVIRONMENT.items() if name != "MALLOC_PERTURB_"}


def limited(*arguments, feed=None, seconds=SECONDS):
    """Runs with little memory and time; `feed` writes to the program's standard input until it has enough."""
    def shrink():
        # A sanitizer reserves more addresses than there are; it has limits of its own.
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    process = subprocess.Popen([WEBNN, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=shrink, env=UNTOUCHED)

    def pump():
        try:
            for piece in feed or ():
                process.stdin.write(piece)
            process.stdin.close()
        except OSError:
            pass  # it has closed its end, or has ended

    feeder = threading.Thread(target=pump, daemon=True)
    feeder.start()
    peak = [0]

    def watch():
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status") as file:
                    peak[0] = max([peak[0]] + [int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM")])
            except OSError:
                pass
            time.sleep(0.02)

    observer = threading.Thread(target=watch, daemon=True)
    observer.start()
    killer = threading.Timer(seconds * (6 if SANITIZED else 1), process.kill)
    killer.start()
    out, err = process.stdout.read(), process.stderr.read()
    code = process.wait()
    killer.cancel()
    observer.join()
    check(code in (0, 1, 2), f"{' '.join(arguments)} with little memory and time: exit code {code} {err[-300:]}")
    return code, out.decode(errors="replace"), err.decode(errors="replace"), peak[0]


def zeros(first=b""):
    yield first
    while True:
        yield bytes(1 << 20)


def test_endless_files(folder):
    """What does not end is not read to the end: a stated limit, or the size that is known, is where it stops."""
    one = folder.graph(graph("y = relu(x);"), "one.webnn")
    two = folder.graph(graph("y = add(x, z);", inputs="x: f32[2, 3]; z: f32[2, 3];"), "two.webnn")
    weighed = folder.graph(graph("y = add(x, c);", consts="c: f32[2, 3];"), "weighed.webnn")
    x = folder("x.bin")
    with open(x, "wb") as file:
        file.write(bytes(24))
    header = json.dumps({"c": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    endless = json.dumps({"c": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 2 ** 40]}}).encode()
    text = graph("y = relu(x);").encode()
    npy = folder("x.npy")
    write_npy(npy, "<f4", (2, 3), [1, 2, 3, 4, 5, 6])
    with open(npy, "rb") as file:
        array = file.read()
    write_png(folder("x.png"), 2, 3, 1, bytes(6))
    with open(folder("x.png"), "rb") as file:
        image = file.read()
    weights = struct.pack("<Q", len(header)) + header
    for words, feed, memory, arguments in (
            ("is longer than 67108864 bytes", None, 400, ["graph", "/dev/zero"]),
            ("is longer than 67108864 bytes", zeros(text + b" " * 1000), 400, ["graph", "/dev/stdin"]),
            ("JSON", None, 100, ["graph", "--weights=/dev/zero", weighed]),
            (f"is longer than {len(weights) + 24} bytes", zeros(weights), 100, ["graph", "--weights=/dev/stdin", weighed]),
            ("data_offsets", zeros(struct.pack("<Q", len(endless)) + endless), 1200,
             ["graph", "--weights=/dev/stdin", weighed]),
            ("16777216 at most", zeros(struct.pack("<Q", 2 ** 40)), 100, ["graph", "--weights=/dev/stdin", weighed]),
            ("is longer than 268435456 bytes", None, 700, ["run", one, "/dev/zero"]),
            ("is longer than 24 bytes", None, 100, ["run", two, x, "/dev/zero"]),
            (f"is longer than {len(array)} bytes", zeros(array), 100, ["run", one, "/dev/stdin"]),
            ("/dev/stdin", zeros(b"\x93NUMPY\1\0\xff\xff" + b" " * 65535), 100, ["run", one, "/dev/stdin"]),
            ("is longer than 268435456 bytes", zeros(image), 700, ["run", one, "/dev/stdin"]),
            ("is longer than 4194304 bytes", None, 100, ["run", "--labels=/dev/zero", one, x]),
            ("is longer than 4194304 bytes", zeros(b"\n" * 10), 100, ["run", "--labels=/dev/stdin", one, x]),
            ("not a .npy", None, 100, ["run", "--expect=/dev/zero", one, x]),
            ("Is a directory", None, 100, ["graph", folder.name]),
            ("Is a directory", None, 100, ["run", one, folder.name]),
            ("Is a directory", None, 100, ["run", "--labels=" + folder.name, one, x]),
            ("is longer than 1048576 bytes", None, 100, ["bench", "--time=0.01", "--vs=cat /dev/zero", "relu:4"])):
        code, _, error, peak = limited(*arguments, feed=feed)
        check(code == 1 and words in error, f"{' '.join(arguments)}: {code} {error!r} does not say {words!r}")
        check(SANITIZED or peak < memory << 20, f"{' '.join(arguments)}: {peak >> 20} MiB, more than {memory}")
    # What says how long it is comes through a pipe as it does from a file.
    for feed, arguments in (([weights, bytes(24)], ["graph", "--weights=/dev/stdin", weighed]), ([array], ["run", one, "/dev/stdin"]),
                            ([text], ["graph", "/dev/stdin"]), ([bytes(24)], ["run", two, x, "/dev/stdin"]),
                            ([bytes(72)], ["run", one, "/dev/stdin"])):
        code, _, error, _ = limited(*arguments, feed=feed)
        check(code == 0, f"{' '.join(arguments)} from a pipe: {error}")
    limits = good("help", "limits")
    check("67108864" in limits and "4194304" in limits, f"help says what is read: {limits}")
    # A few bytes do not make gigabytes.
    path = folder.graph(graph("y = relu(x);", consts="c: f32[65536, 4096] @scalar(1);"))
    code, _, error, peak = limited("graph", path)
    check(code == 1 and "268435456" in error and peak < 400 << 20, f"a constant of one number: {peak} {error}")


def test_memory_of_text(folder):
    """Memory and time are linear in the length of a graph file."""
    name = "n" * 60000
    nested = "relu(" * 15 + "x" + ")" * 15
    for what, text, code in (
            ("an epilogue", graph(f'"{name}" = relu(x)' + " + relu" * 5000 + f';\n y = neg("{name}");'), 0),
            ("long names", graph("".join(f'"{"m" * 50000}{i}" = relu(x);\n' for i in range(20)) + "y = neg(x);"), 0),
            ("numbers", graph("y = transpose(x, permutation=[" + "1," * 500000 + "1]);"), 1),
            ("marks", graph("y = relu(x);" + ";" * 1000000), 1),
            ("calls", graph("".join(f"y{i} = {nested};\n" for i in range(500)) + "y = relu(x);"), 0),
            ("bytes", graph("y = relu(x);", consts="c: u8[300000] @bytes([" + "1," * 299999 + "1]);"), 0),
            ("one letter", "a" * 1000000, 1), ("a comment", graph("y = relu(x); // " + "c" * 1000000), 0),
            ("brackets", graph("y = " + "[" * 1000000), 1)):
        path = folder.graph(text)
        result, _, error, peak = limited("graph", "--before", "--backend=dummy", path)
        check(result == code, f"{what}: {result} {error[:300]}")
        check(SANITIZED or peak < 300 << 20, f"{what}: a file of {len(text)} bytes takes {peak >> 20} MiB")


def jpeg_of_scans(width, height, scans):
    """A grey progressive image: the first scan has the first coefficients, the others say nothing more."""
    def segment(kind, data):
        return bytes([0xff, kind]) + struct.pack(">H", len(data) + 2) + data
    blocks = ((width + 7) // 8) * ((height + 7) // 8)
    first = b"\0" * ((blocks * 1 + 7) // 8)  # code 0: no difference
    runs = b"\0" * 1
    table = bytes([1] + [0] * 15 + [0])  # one code of one bit
    long_run = bytes([1] + [0] * 15 + [0xe0])  # a run of 2^14 and 14 bits more of blocks
    data = b"\xff\xd8" + segment(0xdb, b"\0" + b"\1" * 64)
    data += segment(0xc2, struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0")
    data += segment(0xc4, b"\0" + table) + segment(0xc4, b"\x10" + long_run)
    data += segment(0xda, b"\1\1\0\0\0\0") + first
    for _ in range(scans - 1):
        count, body = blocks, b""
        bits = ""
        while count > 0:
            run = min(count, 32767)
            if run < 16384:
                break
            bits += "0" + format(run - 16384, "014b")
            count -= run
        bits += "1" * (-len(bits) % 8)
        body = int(bits, 2).to_bytes(len(bits) // 8, "big") if bits else runs
        data += segment(0xda, b"\1\1\0\1\x3f\0") + body.replace(b"\xff", b"\xff\0")
    return data + b"\xff\xd9"


def test_image_bombs(folder):
    path = folder.graph(graph("y = identity(x);", inputs="x: f32[1, 4, 4];"))
    image = folder("image")
    # A few scans are what images have.
    for scans, code in (3, 0), (12, 0), (5000, 1):
        with open(image, "wb") as file:
            file.write(jpeg_of_scans(64, 64, scans))
        result, _, error, _ = limited("run", path, image)
        check(result == code and (code == 0 or "scans" in error), f"{scans} scans: {result} {error}")
    with open(image, "wb") as file:
        file.write(jpeg_of_scans(8000, 8000, 704))
    result, _, error, peak = limited("run", path, image, seconds=10)
    check(result == 1 and "scans" in error, f"704 scans of a large image: {result} {error}")
    for words, data in (
            ("image", b"\xff\xd8\xff\xc0\0\x0b\x08\xff\xff\xff\xff\1\1\x11\0\xff\xda\0\x08\1\1\0\0\x3f\0"),
            ("too large", b"P5 32768 32768 255\n"), ("missing", b"P2 11000 11000 255\n1 2 3"),
            ("last pixel", b"P6 11000 11000 255\n")):
        with open(image, "wb") as file:
            file.write(data)
        result, _, error, peak = limited("run", path, image)
        check(result == 1 and words in error and (SANITIZED or peak < 100 << 20), f"{data[:20]}: {peak} {error}")
    # A PNG that says it is huge, and one that is and has few bytes.
    for width, height, words in (32768, 32768, "too large"), (2 ** 31 - 1, 1, "image"), (11000, 11000, "image"):
        with open(image, "wb") as file:
            chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 1)
            file.write(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)))
            body = b"IDAT" + zlib.compress(bytes(1 << 20))
            file.write(struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)))
        result, _, error, peak = limited("run", path, image)
        check(result == 1 and words in error, f"a PNG image of {width} x {height}: {error}")


def truncated_meanwhile(folder, what, arguments, victim, words):
    """Nobody reads what the program prints, so that it waits in the middle; then the file is cut off."""
    process = subprocess.Popen([WEBNN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    held, last = 0, -1
    for _ in range(600):  # until the pipe is full and stays so
        time.sleep(0.1)
        held = int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, b"\0" * 4), sys.byteorder)
        if (held == last and held >= 32768) or process.poll() is not None:
            break
        last = held
    check(process.poll() is None, f"{what}: it waits for its reader, who has {held} bytes")
    os.truncate(victim, 0)
    killer = threading.Timer(120, process.kill)
    killer.start()
    errors = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read().decode(errors="replace")))
    reader.start()
    process.stdout.read()
    code = process.wait()
    reader.join()
    killer.cancel()
    check(code == 1 and words in errors[0], f"{what}: exit code {code} {errors[0]!r}")


def test_truncated_meanwhile(folder):
    """A mapped file that gets shorter does not kill the program, which says so and fails."""
    one = folder.graph(graph("y = relu(x);", inputs="x: f32[1, 64];"), "one.webnn")
    raw = folder("raw.bin")
    with open(raw, "wb") as file:
        file.write(bytes(range(256)) * 4000)
    truncated_meanwhile(folder, "raw inputs", ["run", one, raw], raw, "raw.bin changed while it was read")
    # Weights, read by the worker that builds: the dumps of its passes are what fills the pipe.
    count = 150
    weights = folder("many.safetensors")
    write_safetensors(weights, {f"c{i}": ("F32", [64, 64], bytes(range(256)) * 64) for i in range(count)})
    nodes = "\n".join(f"t{i} = matmul({f't{i - 1}' if i else 'x'}, c{i});" for i in range(count))
    many = folder.graph(graph(nodes + f"y = relu(t{count - 1});", inputs="x: f32[1, 64];",
                              consts=" ".join(f"c{i}: f32[64, 64];" for i in range(count))), "many.webnn")
    truncated_meanwhile(folder, "weights", ["graph", "--after=all", many], weights,
                        "many.safetensors changed while it was read")
    # One that is replaced stays what it is for those who have it open, be it the program itself.
    write_safetensors(weights, {f"c{i}": ("F32", [64, 64], bytes(range(256)) * 64) for i in range(count)})
    emitted = good("graph", "--emit=webnn", "--weights-out=" + weights, many)
    with open(weights, "rb") as file:
        check(file.read().count(bytes(range(256)) * 64) == count, "weights that are written over themselves")
    check(sorted(os.listdir(folder.name)) == ["many.safetensors", "many.webnn", "one.webnn", "raw.bin"], "no temporaries are left")
    good("run", "--random", "--quiet", folder.graph(emitted, "many.webnn"))
    # A signal that is no fault of a mapping does what it always did.
    process = subprocess.Popen([WEBNN, "bench", "--time=60", "relu:4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGBUS)
    process.communicate(timeout=60)
    check(SANITIZED or process.returncode == -signal.SIGBUS, f"SIGBUS of somebody else: {process.returncode}")


HOSTILE = "\033[31m\033]0;title\a\x7f\u009b1m\u202egnp.\u2066\u061c\u200b\u2028\U000e0041"


def hostile_model(folder):
    name = "bad" + HOSTILE
    text = graph(f'"t{HOSTILE}" = add(x, "w{HOSTILE}"); "{name}" = softmax("t{HOSTILE}", 1); "q{HOSTILE}" = neg("p{HOSTILE}");',
                 outputs=f'"{name}"; "q{HOSTILE}"',
                 inputs=f'x: f32[2, 3]; "p{HOSTILE}": f32[2, 3];', consts=f'"w{HOSTILE}": f32[2, 3] @weights("k{HOSTILE}");')
    path = folder.graph(text.replace('"test"', f'"test{HOSTILE}"'), f"m{HOSTILE.replace('/', '')}.webnn")
    write_safetensors(path[:-6] + ".safetensors", {"k" + HOSTILE: ("F32", [2, 3], struct.pack("<6f", *range(5), math.nan))})
    return path, name


def test_hostile_names(folder):
    """Names, labels and messages from files do not command the terminal."""
    path, name = hostile_model(folder)
    hidden = {c for c in HOSTILE if not c.isascii() or c < " " or c == "\x7f"}

    def shown(*arguments, code=0, says=None):
        result = subprocess.run([WEBNN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                errors="surrogateescape", timeout=300, env=ENVIRONMENT)
        words = result.stdout + result.stderr
        check(result.returncode == code, f"{arguments!r}: exit code {result.returncode} {words!r}")
        check(not hidden & set(words), f"{arguments!r}: {sorted(hidden & set(words))} in {words!r}")
        check(says is None or says in words, f"{arguments!r}: {says!r} is not in {words!r}")
        return result.stdout

    labels = folder("labels")
    with open(labels, "w") as file:
        file.write("\n".join(["label" + HOSTILE] * 10))
    image = folder("i" + HOSTILE.replace("/", "") + ".png")
    write_png(image, 8, 8, 1, bytes(range(64)))
    outputs = ["--output=" + folder("out.npy")]
    shown("info", path, says="bad\\u{1B}")
    for extra in [], ["--before"], ["--format=dot"], ["--after=all"]:
        shown("graph", *extra, path)
    shown("run", "--random", path, says="bad\\u{1B}")
    shown("run", "--random", "--profile", path)
    shown("run", "--random", "--find-nan", path, says="w\\u{1B}")
    shown("run", "--random", "--output=" + name + "=" + folder("out.npy"), path)
    shown("run", "--random", *outputs, path, code=1)
    shown("run", path, code=1, says="no file for the input")
    shown("run", "--labels=" + labels, DIGITS_GRAPH, image, says="label\\u{1B}")
    shown("run", "--draw", "--labels=" + labels, DIGITS_GRAPH, image, image)
    shown("bench", "--time=0.01", path, says="m\\u{1B}")
    shown("bench", "--time=0.01", "--rounds=1", "--vs=echo 1 '" + HOSTILE + "'", path)
    shown("bench", "--time=0.01", "--rounds=1", "--vs=echo '{\"peer\": \"" + json.dumps(HOSTILE)[1:-1] + "\", \"min_ms\": 1}'", path)
    shown("bench", "--time=0.01", "--rounds=1", "--report=/dev/stdout", path, path)
    line = json.loads(shown("bench", "--json", "--time=0.01", "--profile", path))
    check(line["graph"] == path and any(HOSTILE in node["label"] for node in line["profile"]), f"JSON keeps names: {line}")
    trace = folder("trace.json")
    shown("run", "--random", "--quiet", "--trace=" + trace, path)
    with open(trace) as file:
        check(not hidden - {"\n"} & set(file.read()), "a trace has no such characters either")
    # A file that is written can be read again, with the same names.
    emitted = shown("graph", "--emit=webnn", "--weights-out=" + folder("again.safetensors"), path, says="\\u{1B}")
    again = folder.graph(emitted, "again.webnn")
    check(shown("graph", "--emit=webnn", "--weights-out=" + folder("third.safetensors"), again) == emitted, "escapes are read")
    shown("run", "--random", "--quiet", "--output=" + name + "=" + folder("out.npy"), again)
    # Messages.
    for text in (graph(f'y = relu("{HOSTILE}");'), graph(f'"{HOSTILE}" = relu(x); "{HOSTILE}" = relu(x);'), graph("y = relu(x);", outputs=f'"{HOSTILE}"'),
                 graph(f'y = "{HOSTILE}"(x);'), graph("y = relu(x);", inputs=f'"{HOSTILE}": f33[2];'), f"webnn_graph {HOSTILE}",
                 graph(f'y = elu(x, "{HOSTILE}"=1);'), graph(f'y = pad(x, [0,0], [0,0], mode="{HOSTILE}");'), graph(f'y = cast(x, "{HOSTILE}");'),
                 graph("y = add(x, c);", consts=f'c: f32[2, 3] @weights("{HOSTILE}");'), graph(f'"{HOSTILE}" = reshape(x, [7]); y = relu(x);'),
                 graph(f'y = gru(x, x, x, 1, 1, activations=["{HOSTILE}"]);')):
        shown("graph", folder.graph(text), code=1)
    weights = folder("graph.safetensors")
    path = folder.graph(graph("y = add(x, c);", consts="c: f32[2, 3];"))
    for header in ({HOSTILE: 1}, {HOSTILE: {"dtype": HOSTILE}}, {HOSTILE: {"dtype": "F32", "shape": [9], "data_offsets": [0, 24]}},
                   {"c": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]}, HOSTILE: {"dtype": "F32", "shape": [6], "data_offsets": [4, 28]}}):
        write_raw_safetensors(weights, json.dumps(header).encode(), bytes(48))
        shown("graph", path, code=1)
    with open(folder("x.npy"), "wb") as file:
        header = ("{'descr': '" + HOSTILE + "', 'fortran_order': False, 'shape': (6,)}\n").encode()
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(24))
    shown("run", DIGITS_GRAPH, folder("x.npy"), code=1)
    for arguments in (["graph", HOSTILE], ["ops", HOSTILE], [HOSTILE], ["run", "--" + HOSTILE, "x"], ["bench", "--time=" + HOSTILE, "x"], ["bench", "--type=" + HOSTILE],
                      ["run", "--threads=" + HOSTILE, "x"], ["run", "--backend=" + HOSTILE, DIGITS_GRAPH], ["run", "--layout=" + HOSTILE, "x"],
                      ["run", "--device=" + HOSTILE, DIGITS_GRAPH], ["graph", "--after=" + HOSTILE, "x"], ["graph", "--format=" + HOSTILE, "x"],
                      ["run", "--mean=" + HOSTILE, "x"], ["bench", "matmul:" + HOSTILE], ["bench", "relu:" + HOSTILE], ["help", HOSTILE]):
        result = run(*arguments)
        check(result.returncode in (1, 2) and not hidden - {"\n"} & set(result.stdout + result.stderr), f"{arguments!r}: {result.stderr!r}")


def test_hostile_numbers(folder):
    """Numbers that mean nothing are refused before anything is done."""
    nothing = ["-1", "nan", "inf", "-inf", "", "1x", "1e400", " ", "0x"]
    for option, values in (("time", nothing + ["1e9"]), ("threads", nothing + ["0", "1025", "4294967297", "99999999999999999999", "1.5"]),
                           ("rounds", nothing + ["0", "99999999999"])):
        for value in values:
            bad(2, f"--{option}={value}: expected a number from", "bench", f"--{option}={value}", "relu:4")
    for option, values in (("top", ["0", "-1", "1e3", "99999999999"]), ("repeat", ["0", "-1", "99999999999"]), ("scale", ["nan", "inf", "1e300", ""]),
                           ("mean", ["nan", "1,2", "1,2,3,4", "1,,2", "inf"]), ("std", ["0", "-1", "nan", "1,0,1", "1e-300"])):
        for value in values:
            bad(2, f"--{option}=", "run", f"--{option}={value}", DIGITS_GRAPH)
    for shape in "0", "-1", "4x-1", "99999999999", "4294967297", "nan", "", "x", "4x", "1x1x1x1x1x1x1x1x1", "65536x65536x65536x65536":
        for operator in "relu", "matmul", "matmul_uint4", "conv2d", "copy", "chain":
            code, _, error, peak = limited("bench", "--time=0.01", f"{operator}:{shape}")
            check(code == 1 and error.startswith("webnn: "), f"{operator}:{shape}: {code} {error}")
            check(SANITIZED or peak < 400 << 20, f"{operator}:{shape}: {peak >> 20} MiB")
    for shape in "100000x100000x100000", "1x4294967264x4294967295":
        for operator in "matmul", "matmul_uint4":
            code, _, error, _ = limited("bench", "--time=0.01", f"{operator}:{shape}")
            check(code == 1, f"{operator}:{shape}: {code} {error}")
    for shape in "1000000x1000000x1000x1000", "8x8x3x4x0", "8x8x3x4x3x0", "8x8x3x4x3x1x0", "8x8x0x4", "8x8x4x0":
        code, _, error, _ = limited("bench", "--time=0.01", "conv2d:" + shape)
        check(code == 1, f"conv2d:{shape}: {code} {error}")
    # What is said is what computes.
    processors = len(os.sched_getaffinity(0))
    for arguments, threads in ([], processors), (["--threads=1"], 1), (["--threads=3"], 3):
        line = json.loads(good("bench", "--json", "--time=0.01", *arguments, "relu:4"))
        check(line["threads"] == threads, f"bench --json {arguments} says {line['threads']} threads")


def test_nan_weights(folder):
    """A NaN in weights is told as such; nodes that hand it on, even as an infinity, are not blamed."""
    inputs = "x: f32[4, 32];"
    values = [0.5] * (32 * 16)
    values[100] = math.nan
    for nodes, shape in (("y = gemm(x, w);", [32, 16]), ("y = matmul(x, w);", [32, 16]), ("t = add(x, x); y = gemm(t, w, bTranspose=true);", [16, 32]),
                         ("y = gemm(x, w, b); z = relu(y);", [32, 16]), ("t = mul(w, w); y = matmul(x, t);", [32, 16])):
        path = folder.graph(graph(nodes, inputs=inputs, consts=f'w: f32{shape} @weights("w"); b: f32[16] @scalar(1);'))
        for value in math.nan, math.inf:
            values[100] = value
            write_safetensors(folder("graph.safetensors"), {"w": ("F32", shape, struct.pack("<512f", *values))})
            for extra in [], ["--strict"], ["--threads=1"]:
                text = good("run", "--random", "--quiet", "--find-nan", *extra, path)
                kind = "a NaN" if math.isnan(value) else "an infinity"
                check(f"The constant w holds {kind} (element 100)" in text and "No node makes" in text, f"{nodes} {extra}: {text}")
    path = folder.graph(graph("t = sqrt(x); y = matmul(t, w);", inputs=inputs, consts='w: f32[32, 16] @scalar(1);'))
    write_npy(folder("x.npy"), "<f4", (4, 32), [1.0] * 127 + [-1.0])
    text = good("run", "--quiet", "--find-nan", path, folder("x.npy"))
    check('sqrt "t"' in text and "element 127" in text and "constant" not in text, f"a node is still found: {text}")


def test_cache_directory(folder):
    """A cache is private: it is made so, and one that others can write to is refused."""
    cache = folder("cache")
    good("run", "--random", "--quiet", "--cache=" + cache, "gru")
    check(os.stat(cache).st_mode & 0o777 == 0o700, f"the mode of a cache: {os.stat(cache).st_mode:o}")
    for mode in 0o777, 0o770, 0o702:
        os.chmod(cache, mode)
        bad(1, "others may write", "run", "--random", "--quiet", "--cache=" + cache, "gru")
    os.chmod(cache, 0o755)
    good("run", "--random", "--quiet", "--cache=" + cache, "gru")
    os.symlink(cache, folder("link"))
    bad(1, "symbolic link", "run", "--random", "--quiet", "--cache=" + folder("link"), "gru")
    with open(folder("file"), "w"):
        pass
    bad(1, "Not a directory", "run", "--random", "--quiet", "--cache=" + folder("file"), "gru")
    bad(1, "No such file", "run", "--random", "--quiet", "--cache=" + folder("no/cache"), "gru")
    if os.geteuid() == 0:
        os.chown(cache, 12345, 12345)
        bad(1, "another user", "run", "--random", "--quiet", "--cache=" + cache, "gru")
        os.chown(cache, 0, 0)
    gpu = run("run", "--random", "--quiet", "--backend=gpu", "--cache=" + cache, "relu:4")
    if gpu.returncode:
        print("skipped: the cache of a GPU:", gpu.stderr.strip())
        return
    entries = os.listdir(cache)
    check(entries and all(os.stat(os.path.join(cache, e)).st_mode & 0o777 == 0o600 for e in entries) and
          not any("." in e for e in entries), f"entries are for their owner only: {entries}")
    # What lies there instead of entries is not followed, waited for or read.
    victim = folder("victim")
    for what in "link", "pipe", "directory", "noise", "short", "huge":
        with open(victim, "w") as file:
            file.write("precious")
        for entry in entries:
            path = os.path.join(cache, entry)
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            elif os.path.lexists(path):
                os.unlink(path)
            if what == "link":
                os.symlink(victim, path)
            elif what == "pipe":
                os.mkfifo(path)
            elif what == "directory":
                os.mkdir(path)
            else:
                with open(path, "wb") as file:
                    file.write(b"noise" * 1000 if what == "noise" else b"n")
                    file.truncate(1 << 42 if what == "huge" else 5000 if what == "noise" else 1)
        result = run("run", "--random", "--quiet", "--backend=gpu", "--cache=" + cache, "relu:4")
        check(result.returncode == 0, f"a {what} in the cache: {result.stderr}")
        with open(victim) as file:
            check(file.read() == "precious", f"a {what} in the cache is not written through")
        check(not any("." in entry for entry in os.listdir(cache)), f"no temporaries are left: {os.listdir(cache)}")


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
    only = sys.argv[4:]  # names of tests, for who works on one
    for name, test in list(globals().items()):
        if name.startswith("test_") and (not only or name[5:] in only):
            folder = Folder()
            with folder:
                test(folder)
            print("done:", name[5:].replace("_", " "))
    print(f"{checks - len(failures)} of {checks} checks passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
