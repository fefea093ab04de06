#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the program `webnn`, from outside: what it prints, what it writes, how it ends.

Usage: cli_test.py WEBNN SOURCE_ROOT [MODELS [TEST...]]

WEBNN is the program, SOURCE_ROOT the folder with tools/digits. MODELS is a folder of larger networks with expected
results; without it, or if it does not exist, their tests are skipped. Needs nothing but Python's standard library.
"""
import base64
import contextlib
import fcntl
import json
import math
import os
import pty
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import zipfile
import xml.etree.ElementTree
import zlib

WEBNN = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(sys.argv[2])
MODELS = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
DIGITS = os.path.join(ROOT, "tools", "digits")
DIGITS_GRAPH = os.path.join(DIGITS, "digits.webnn")
FORMATS = {"<f4": "f", "<f2": "e", "<f8": "d", "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q", "|i1": "b",
           "|u1": "B", "|b1": "B"}

# Where a sanitizer finds something, the exit code is none that the program has.
ENVIRONMENT = {**os.environ, "UBSAN_OPTIONS": "exitcode=99:halt_on_error=1",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") +
                               ":exitcode=99:allocator_may_return_null=1:malloc_context_size=8:handle_sigill=1"}
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

def create(path):
    """A file to be written in the place of one that may be there: to empty that would wait for the disk."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    return open(path, "wb")


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def write_npy(path, descr, shape, values, version=1):
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    prefix = 10 if version == 1 else 12
    header += b" " * (-(prefix + len(header) + 1) % 64) + b"\n"
    with create(path) as file:
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
    with create(path) as file:
        file.write(struct.pack("<Q", len(header) if length is None else length) + header + body)


def write_png(path, width, height, channels, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(pixels[y * width * channels:(y + 1) * width * channels]) for y in range(height))
    with create(path) as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8,
                                                                  2 if channels == 3 else 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def field(number, value):
    """A field of a protocol buffer: a whole number, or bytes."""
    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def proto_value(name, shape):
    """A ValueInfoProto of float32."""
    dims = b"".join(field(1, field(1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def proto_model(nodes, inputs, outputs, shape, opset=13):
    """nodes: (operator, label, names of operands, names of results)"""
    body = b"".join(field(1, b"".join(field(1, name) for name in operands) + b"".join(field(2, name) for name in results) +
                             field(3, label) + field(4, operator)) for operator, label, operands, results in nodes)
    body += field(2, "test") + b"".join(field(11, proto_value(name, shape)) for name in inputs)
    body += b"".join(field(12, proto_value(name, shape)) for name in outputs)
    return field(1, 8) + field(7, body) + field(8, field(1, "") + field(2, opset))


def proto_tensor(kind, shape, raw=b"", name="", more=b""):
    """A TensorProto, as in test data of ONNX."""
    return (b"".join(field(1, size) for size in shape) + field(2, kind) + (field(8, name) if name else b"") +
            (field(9, raw) if raw else b"") + more)


class Folder(tempfile.TemporaryDirectory):
    def __call__(self, name):
        return os.path.join(self.name, name)

    def graph(self, text, name="graph.webnn"):
        return self.write(name, text.encode())

    def write(self, name, data):
        path = self(name)
        with create(path) as file:
            file.write(data)
        return path


def graph(nodes, outputs="y", inputs="x: f32[2, 3];", consts=""):
    return (f'webnn_graph "test" v1 {{\n  inputs {{ {inputs} }}\n  consts {{ {consts} }}\n  nodes {{\n'
            f'    {nodes}\n  }}\n  outputs {{ {outputs} }}\n}}\n')


# ----------------------------------------------------------------------------------------------------------------
# Tests
# ----------------------------------------------------------------------------------------------------------------

def test_why(folder):
    nodes = "s = matmul(q, k);\n p = softmax(s, 1);\n y = matmul(p, v);"
    def why(nodes, inputs, outputs="y", consts="", *options):
        return good("graph", "--why", "--threads=1", *options, folder.graph(graph(nodes, outputs, inputs, consts), "why.webnn"))
    text = why(nodes, "q: f32[9, 4]; k: f32[4, 7]; v: f32[7, 3];")
    check("attention \"y\" [9, 3]\n    attention: taken (fuse_attention)\n" in text, text)
    text = why(nodes, "q: f32[2, 4]; k: f32[4, 7]; v: f32[7, 3];")
    check("attention \"y\" [2, 3]\n    attention: taken (fuse_attention)\n" in text, text)
    text = why("y = matmul(q, k);", "q: f32[2, 4]; k: f32[4, 7];")
    check("no pattern is near" in text, text)
    text = why(nodes, "q: f32[9, 4]; k: f32[4, 7]; v: f32[7, 3];", "y, p")
    check("not taken: the result of softmax has other uses" in text, text)
    text = why(nodes.replace("softmax(s, 1)", "softmax(s, 0)"), "q: f32[9, 4]; k: f32[4, 7]; v: f32[7, 3];")
    check("not taken: softmax is not of the last dimension" in text, text)
    text = why(nodes.replace("p = softmax(s, 1)", "h = relu(s);\n p = softmax(h, 1)"), "q: f32[9, 4]; k: f32[4, 7]; v: f32[7, 3];")
    check("not taken: what softmax reads is no product" in text, text)

    # Weights of integers.
    consts = "w: i8[64, 32] @scalar(3); s: f32[2, 32] @scalar(0.5); z: i8[2, 32] @scalar(1);"
    text = why("f = dequantizeLinear(w, s, z);\n y = matmul(x, f);", "x: f32[4, 64];", "y", consts)
    check("product of integers: taken (fuse_quantized)" in text, text)
    text = why("f = dequantizeLinear(i, s, z);\n y = matmul(x, f);", "x: f32[4, 64]; i: i8[64, 32];", "y", consts)
    check("product of integers: not taken: " in text, text)

    # Normalizations.
    parts = ["m = reduceMean(x, axes=[1], keepDimensions=true);", "c = sub(x, m);", "q = pow(c, two);",
             "v = reduceMean(q, axes=[1], keepDimensions=true);", "e = add(v, epsilon);", "r = sqrt(e);", "y = div(c, r);"]
    consts = "two: f32[] @scalar(2); epsilon: f32[] @scalar(0.00001); less: f32[] @scalar(-1);"
    text = why("\n".join(parts), "x: f32[4, 8];", "y", consts)
    check("layerNormalization \"y\" [4, 8]\n    layerNormalization: taken (recognize)" in text, text)
    for was, becomes, reason in (("r = sqrt(e)", "r = exp(e)", "exp stands in the place of sqrt"),
                                 ("q = pow(c, two)", "q = pow(c, epsilon)", "a constant stands in the place of 2"),
                                 ("add(v, epsilon)", "add(v, less)", "its axes, or sizes or values of its constants, are others")):
        text = why("\n".join(parts).replace(was, becomes), "x: f32[4, 8];", "y", consts)
        check(f"layerNormalization: not taken: {reason} (recognize)" in text, f"{reason}: {text}")
    text = why("\n".join(parts), "x: f32[4, 8];", "y, r", consts)
    check("has other uses (recognize)" in text, text)
    check("taken" not in why(parts[0].replace("m =", "y ="), "x: f32[4, 8];"), "nothing to say")

    # A label cannot command the terminal.
    text = why('y = matmul(q, k, label="\\u001b[31m");', "q: f32[9, 4]; k: f32[4, 7];")
    check("\x1b" not in text and "no pattern is near" in text, repr(text))
    for option in "--before", "--after=all", "--emit=webnn", "--format=dot":
        bad(2, "not with", "graph", "--why", option, DIGITS_GRAPH)


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
    bad(1, "only Strict", "run", "--strict", "--fast", DIGITS_GRAPH)
    bad(1, "no backend nonsense", "run", "--backend=nonsense", DIGITS_GRAPH)
    check(good("--version").startswith("webnn 0."), "--version")
    for command in "run", "compare", "compile", "info", "graph", "bench", "ops":
        text = good("help", command)
        check("Usage: webnn " + command in text and "Example" in text, f"help {command} teaches")
        check(text == good(command, "--help"), f"{command} --help is help {command}")
        check("\033" not in text, f"help {command} has no colours")
    check(all(name in good("help") for name in ("run", "compare", "compile", "info", "graph", "bench", "ops")), "help lists the commands")


# What the tree does not have: models, images and programs of the reader's own.
NOT_HERE = re.compile(r"model\.|bert\.|server|(small|large)\.onnx|cat\.(png|jpg)|\./peer")
# In the place of large networks and of seconds, so that it is the command line that is tested.
SMALLER = {"mobilenet_v2": "gru", "resnet50": "gru", "--time=10": "--time=0.01", "webnn bench": "webnn bench --time=0.01", " | less": ""}


def test_examples(folder):
    """The examples of the help and of the manual page work where the tree has what they need, in their order."""
    with open(os.path.join(ROOT, "tools", "webnn.1"), encoding="utf-8") as page:
        manual = re.search(r"^\.SH EXAMPLES\n\.nf\n(.*?)^\.fi", page.read(), re.M | re.S)[1].replace("\\-", "-")
    texts = [good("help", command) for command in ("run", "compare", "compile", "info", "graph", "bench", "convert", "ops")]
    examples = [line.strip() for text in texts for line in re.sub(r" \\\n\s+", " ", text.split("Example")[-1]).splitlines()
                if line.startswith("  webnn ")] + manual.splitlines()
    check(len(examples) > 35, f"examples: {examples}")
    os.symlink(os.path.join(ROOT, "tools"), folder("tools"))
    os.mkdir(folder("bin"))
    os.symlink(WEBNN, folder("bin/webnn"))
    environment = {**ENVIRONMENT, "PATH": folder("bin") + os.pathsep + os.environ["PATH"]}
    gpu, dot, tried = run("info", "--limits", "--backend=gpu").returncode == 0, shutil.which("dot"), 0
    for example in examples:
        if NOT_HERE.search(example) or (not gpu and re.search("gpu|--device", example)) or (not dot and "svg" in example):
            continue
        for name, other in SMALLER.items():
            example = example.replace(name, other)
        result = subprocess.run(["bash", "-c", example], cwd=folder.name, env=environment, capture_output=True, text=True, timeout=300)
        check(result.returncode == 0 and (result.stdout or ">" in example), f"{example}: {result.returncode} {result.stderr}")
        tried += 1
    check(tried > 15, f"{tried} examples")


def test_compile(folder):
    """What was compiled gives the same numbers; what is damaged or is no such file is refused."""
    path, again, built, loaded = map(folder, ("a.wnnc", "b.wnnc", "built.npy", "loaded.npy"))
    check("MB" in good("compile", DIGITS_GRAPH, path), "the size of what was compiled")
    good("compile", "--threads=1", DIGITS_GRAPH, again)
    with open(path, "rb") as one, open(again, "rb") as other:
        compiled = one.read()
        check(compiled == other.read(), "the same graph gives the same bytes")
    check(sorted(os.listdir(folder.name)) == ["a.wnnc", "b.wnnc"], "nothing else is left")
    good("run", "--random", "--output=" + built, DIGITS_GRAPH)
    good("run", "--random", "--output=" + loaded, path)
    with open(built, "rb") as one, open(loaded, "rb") as other:
        check(one.read() == other.read(), "what was compiled gives the same numbers")
    check("a.wnnc" in good("bench", "--iterations=2", "--warm-up=1", path), "bench takes it")
    text = good("info", path)
    check("backend  cpu" in text and "loads here" in text and "does not" not in text, "info tells what it is: " + text)
    report = json.loads(good("info", "--json", path))
    check(report["loads"] and report["backend"] == "cpu" and report["headBytes"] + report["dataBytes"] == len(compiled), "info --json")
    bad(1, "strictNumerics", "run", "--random", "--strict", path)
    check("does not load here" in good("info", "--strict", path), "info tells why not")
    bad(1, "need the model", "run", "--random", "--dump=all", path)
    bad(1, "does not load graphs", "run", "--random", "--backend=dummy", path)
    result = run("run", "--random", "--backend=gpu", path)
    check(result.returncode == 1 and ("no context" in result.stderr or "for the backend \"cpu\"" in result.stderr
          and "\"vulkan\"" in result.stderr), "the error names both backends: " + result.stderr)
    bad(1, "does not save graphs", "compile", "--backend=dummy", DIGITS_GRAPH, again)
    bad(1, "No such file", "compile", DIGITS_GRAPH, folder("none/a.wnnc"))
    bad(2, "to which file", "compile", DIGITS_GRAPH)
    bad(2, "which graph", "compile")
    for at, words in (40, "digest"), (200, "digest"), (len(compiled) - 100, "checksum"):
        with create(again) as file:
            file.write(compiled[:at] + bytes([compiled[at] ^ 1]) + compiled[at + 1:])
        bad(1, "damaged", "run", "--random", again)
    with create(again) as file:
        file.write(compiled[:len(compiled) // 2])
    bad(1, "its header says", "run", "--random", again)


def test_compile_for_target(folder):
    """For a machine that is described: as that machine would have compiled it. Descriptions that are wrong are refused."""
    here, path, other, again = map(folder, ("here.wnnc", "a.wnnc", "b.wnnc", "c.wnnc"))
    devices = json.loads(good("info", "--json"))["devices"]
    target = next(device["target"] for device in devices if device["type"] == "cpu")
    check(sorted(target) == ["backend", "library", "target"] and target["backend"] == "cpu", f"the target of the CPU: {target}")
    check("compiles for " + target["target"] in good("info"), "info tells it, too")

    def described(name, value):
        with open(folder(name), "w") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))
        return "--target=" + folder(name)

    def equal(one, two):
        with open(one, "rb") as a, open(two, "rb") as b:
            return a.read() == b.read()

    good("compile", DIGITS_GRAPH, here)
    for name, value in ("info.json", {"devices": devices}), ("target.json", target), ("device.json", {"target": target}):
        good("compile", described(name, value), DIGITS_GRAPH, path)
        check(equal(here, path), name + " describes this machine")
    good("compile", "--target=" + here, DIGITS_GRAPH, path)
    check(equal(here, path), "so does what was compiled here")
    with open(folder("info.json")) as file:
        check(subprocess.run([WEBNN, "compile", "--target=-", DIGITS_GRAPH, path], stdin=file, env=ENVIRONMENT,
                             stdout=subprocess.DEVNULL).returncode == 0 and equal(here, path), "standard input does, too")

    architecture, instructions, edition = target["target"].split(", ", 2)
    plain = {**target, "target": f"{architecture}, {'NEON' if architecture == 'AArch64' else 'portable'}, {edition}"}
    good("compile", described("plain.json", plain), DIGITS_GRAPH, other)
    report = json.loads(good("info", "--json", other))
    check(report["target"] == plain["target"] and report["loads"] == (plain == target), f"for the plainest processor: {report}")
    good("compile", "--threads=1", "--target=" + other, DIGITS_GRAPH, again)
    check(equal(other, again), "the same bytes, of the description and of what was compiled for it")
    if plain != target:
        bad(1, f"compiled for the target \"{plain['target']}\"", "run", "--random", other)

    def refused(words, value, *more):
        bad(1, words, "compile", *more, described("wrong.json", value), DIGITS_GRAPH, again)

    refused("expected its own architecture", {**target, "target": "PDP-11, portable, " + edition})
    refused("expected one of", {**target, "target": f"{architecture}, MMX, {edition}"})
    refused("does not compile for", {**target, "target": f"{architecture}, {instructions}, XNNPACK of 1999"})
    refused("would refuse what this one", {**target, "library": "0.0.9 0123"})
    refused("the text of the target is empty", {**target, "target": ""})
    refused('no "library"', {"backend": "cpu", "target": "x"})
    refused('no "backend"', {"library": "x", "target": "x"})
    refused('has no "threads"', {**target, "threads": 4})
    refused("is no text", {**target, "target": 4})
    refused("twice", json.dumps(target)[:-1] + ', "target": "x"}')
    refused("is no array", {"devices": 4})
    refused("no device has a target", {"devices": [{"type": "cpu"}]})
    refused("2 devices have targets", {"devices": [{"target": target}, {"target": target}]})
    refused("is no object", {"devices": [{"target": "x"}]})
    refused("of the backend cpu, and not of dummy", target, "--backend=dummy")
    refused("no backend nonsense", target, "--backend=nonsense")
    refused("a device is named", target, "--device=0")
    refused("this build has no backend", {**target, "backend": "nonsense"})
    refused("compiles only for what it computes on", {**target, "backend": "dummy"})
    for text in "", "4", "[]", "{", "{}", json.dumps(target) + "x", "\0" * 10, "[" * 100000, " " * (1 << 20) + "{}":
        check(run("compile", described("wrong.json", text), DIGITS_GRAPH, again).returncode == 1, "no description: " + repr(text[:20]))
    with open(here, "rb") as file:
        compiled = file.read()
    for at in 100, 130:
        with create(path) as file:
            file.write(compiled[:at] + bytes([compiled[at] ^ 1]) + compiled[at + 1:])
        bad(1, "damaged", "compile", "--target=" + path, DIGITS_GRAPH, again)
    bad(1, "No such file", "compile", "--target=" + folder("none.json"), DIGITS_GRAPH, again)
    text = json.dumps(target)
    for i in range(0, len(text), 3 if SANITIZED else 1):
        result = run("compile", described("wrong.json", text[:i] + chr(ord(text[i]) ^ 1) + text[i + 1:]), DIGITS_GRAPH, again)
        check(result.returncode == 1 and result.stderr.startswith("webnn: "), f"byte {i} is another one: {result}")


def test_compile_weightless(folder):
    """Without weights a compiled graph is small, and finds them by the names of the files that they lie in."""
    whole, path, built, loaded = map(folder, ("whole.wnnc", "small.wnnc", "built.npy", "loaded.npy"))
    weights = DIGITS_GRAPH.replace(".webnn", ".safetensors")
    good("compile", DIGITS_GRAPH, whole)
    good("compile", "--weightless", DIGITS_GRAPH, path)
    check(os.path.getsize(path) < os.path.getsize(whole) // 2, "a file without weights is smaller")
    good("run", "--random", "--output=" + built, DIGITS_GRAPH)
    for given in weights, DIGITS_GRAPH:  # the file, or another one beside it
        good("run", "--random", "--output=" + loaded, "--weights=" + given, path)
        with open(built, "rb") as one, open(loaded, "rb") as other:
            check(one.read() == other.read(), "what was compiled without weights gives the same numbers")
    bad(1, "--weights says which file", "run", "--random", path)
    bad(1, "No such file", "run", "--random", "--weights=" + folder("none.safetensors"), path)
    name = os.path.basename(weights)
    with open(weights, "rb") as file, open(folder(name), "wb") as short:
        short.write(file.read(100))
    bad(1, "ends before byte", "run", "--random", "--weights=" + folder(name), path)


def test_compile_for_gpu(folder):
    """The same of a GPU, whose code is run as it is only if one says so."""
    path, again, built, loaded, trusted = map(folder, ("a.wnnc", "b.wnnc", "built.npy", "loaded.npy", "trusted.npy"))
    result = run("compile", "--backend=gpu", DIGITS_GRAPH, path)
    if result.returncode:
        print("skipped: graphs compiled for a GPU:", result.stderr.strip())
        return
    good("compile", "--backend=gpu", DIGITS_GRAPH, again)
    with open(path, "rb") as one, open(again, "rb") as other:
        compiled = one.read()
        check(compiled == other.read(), "the same graph gives the same bytes")
    good("run", "--backend=gpu", "--random", "--output=" + built, DIGITS_GRAPH)
    good("run", "--backend=gpu", "--random", "--output=" + loaded, path)
    good("run", "--backend=gpu", "--trust", "--random", "--output=" + trusted, path)
    with open(built, "rb") as one:
        numbers = one.read()
    for name in loaded, trusted:
        with open(name, "rb") as one:
            check(one.read() == numbers, "what was compiled gives the same numbers: " + name)
    report = json.loads(good("info", "--json", "--backend=gpu", path))
    check(report["loads"] and report["backend"] == "vulkan" and "driver" in report["target"], f"info --json: {report}")
    # The same device as it is described: compiled for without its driver, and run by it.
    with open(folder("gpu.json"), "w") as file:
        json.dump({key: report[key] for key in ("library", "backend", "target")}, file)
    described, again_described = folder("described.wnnc"), folder("again.wnnc")
    good("compile", "--target=" + folder("gpu.json"), DIGITS_GRAPH, described)
    result = subprocess.run([WEBNN, "compile", "--target=" + path, DIGITS_GRAPH, again_described], capture_output=True,
                            env={**ENVIRONMENT, "VK_DRIVER_FILES": "/dev/null", "VK_ICD_FILENAMES": "/dev/null"})
    check(result.returncode == 0, f"compiled without a driver: {result.stderr}")
    with open(described, "rb") as one, open(again_described, "rb") as other:
        check(one.read() == other.read(), "the same bytes with and without a driver")
    good("run", "--backend=gpu", "--trust", "--random", "--output=" + trusted, described)
    with open(trusted, "rb") as one:
        check(one.read() == numbers, "what was compiled for a described device gives the same numbers")
    # Without --backend it is the one that the file is for.
    good("run", "--random", "--output=" + loaded, path)
    with open(loaded, "rb") as one:
        check(one.read() == numbers, "the backend of the file")
    check(json.loads(good("info", "--json", path))["loads"], "info finds the backend of the file")
    report = json.loads(good("bench", "--json", "--iterations=2", "--warm-up=1", path))
    check(report["backend"] == "vulkan", f"bench finds the backend of the file: {report}")
    for command in ["run", "--random"], ["bench", "--iterations=2"]:
        message = bad(1, "for the backend \"vulkan\"", *command, "--backend=cpu", path)
        check("\"cpu\"" in message, "the error names both backends: " + message)
    for at, words in (200, "digest"), (len(compiled) - 100, "checksum"):
        with create(again) as file:
            file.write(compiled[:at] + bytes([compiled[at] ^ 1]) + compiled[at + 1:])
        bad(1, "damaged", "run", "--backend=gpu", "--trust", "--random", again)


def test_compile_late(folder):
    """Sizes that a model leaves open stay open in what is compiled, and come with arrays or options."""
    two = net_file(folder, [net_node("Add", ["x", "w"], "t"), net_node("Mul", ["t", "v"], "y")],
                   [net_value("x", "rows", "columns"), net_value("v", "", "columns")], [net_value("y", "rows", "columns")],
                   [net_tensor("w", [1], [1.0])])
    x, v, out, path = folder("x.npy"), folder("v.npy"), folder("y.npy"), folder("two.wnnc")
    write_npy(x, "<f4", (2, 3), range(6))
    write_npy(v, "<f4", (1, 3), (1, 2, 3))
    check("for all sizes" in good("compile", two, path), "sizes stay open")
    good("run", "--quiet", "--output=" + out, path, x, v)
    check(read_npy(out) == ("<f4", (2, 3), [1, 4, 9, 4, 10, 18]), f"{read_npy(out)}")
    good("run", "--quiet", "--random", "--output=" + out, path, "--dim=rows=4", "--dim=columns=5", "--shape=v=1x5")
    check(read_npy(out)[1] == (4, 5), f"{read_npy(out)}")
    check("two.wnnc" in good("bench", "--iterations=2", "--warm-up=1", "--shape=x=2x3", "--shape=v=1x3", path), "bench takes it")
    check("runs at all sizes" in good("info", path), "info tells that sizes are open")
    report = json.loads(good("info", "--json", path))
    check(report["lateSizes"] and report["recordedBytes"] > 0 and not report["recompiled"], f"info --json: {report}")
    bad(1, "the input x has shape [rows, columns]: say --dim=rows=SIZE or --shape=x=SIZExSIZE", "run", "--random", path)
    bad(1, "the input v has shape [?, 3]: say --shape=v=", "run", "--random", "--dim=rows=2", "--dim=columns=3", path)
    bad(1, "--dim=row: no input has a dimension of that name", "run", "--random", "--dim=row=2", path)
    bad(1, "--shape=z: the graph has no input of that name", "run", "--random", "--shape=z=2", path)
    bad(1, "--shape=x has 1 sizes; the input has rank 2", "run", "--random", "--shape=x=2", path)
    bad(1, "columns", "run", "--random", "--shape=x=2x3", "--shape=v=1x4", path)


def test_compile_late_weightless(folder):
    """Without weights, a model whose sizes stay open is some kilobytes, and finds them as others do."""
    wide = net_file(folder, [net_node("MatMul", ["x", "w"], "t"), net_node("Add", ["t", "b"], "y")], [net_value("x", "rows", 64)],
                    [net_value("y", "rows", 100)],
                    [net_tensor("w", [64, 100], [i % 13 - 6 for i in range(6400)]), net_tensor("b", [100], range(100))])
    whole, path, built, loaded, short = map(folder, ("whole.wnnc", "small.wnnc", "built.npy", "loaded.npy", "short.onnx"))
    good("compile", wide, whole)
    for options in [], ["--portable"]:
        check("for all sizes" in good("compile", "--weightless", *options, wide, path), "sizes stay open")
        check(os.path.getsize(path) < 4096 < os.path.getsize(whole) // 4, "a file without weights is small")
        for rows in 1, 5:
            dim = f"--dim=rows={rows}"
            good("run", "--random", dim, "--output=" + built, whole)
            good("run", "--random", dim, "--output=" + loaded, "--weights=" + wide, path)
            check(read_npy(built) == read_npy(loaded) and read_npy(built)[1] == (rows, 100), f"the same numbers of {rows} rows")
        result = run("run", "--random", "--strict", "--dim=rows=3", "--weights=" + wide, path)
        check(result.returncode == 0 and "is built anew" in result.stderr, "it is built anew: " + result.stderr)
    check("small.wnnc" in good("bench", "--iterations=2", "--warm-up=1", "--dim=rows=3", "--weights=" + wide, path), "bench takes it")
    report = json.loads(good("info", "--json", "--weights=" + wide, path))
    check(report["lateSizes"] and report["recordedBytes"] > 0 and report["loads"], f"info --json: {report}")
    bad(1, "--weights says which file", "run", "--random", "--dim=rows=3", path)
    with open(wide, "rb") as file, open(short, "wb") as to:
        to.write(file.read(1000))
    os.replace(short, wide)
    bad(1, "ends before byte", "run", "--random", "--dim=rows=3", "--weights=" + wide, path)


def test_compile_portable(folder):
    """With what was recorded, a compiled graph is built anew where it cannot be loaded."""
    plain, path, strict, loaded = map(folder, ("plain.wnnc", "a.wnnc", "strict.npy", "loaded.npy"))
    good("compile", DIGITS_GRAPH, plain)
    good("compile", "--portable", DIGITS_GRAPH, path)
    check(os.path.getsize(path) > os.path.getsize(plain), "what was recorded takes room")
    bad(1, "strictNumerics", "run", "--random", "--strict", plain)
    good("run", "--random", "--strict", "--output=" + strict, DIGITS_GRAPH)
    result = run("run", "--random", "--strict", "--output=" + loaded, path)
    check(result.returncode == 0 and "is built anew" in result.stderr, "it is built anew: " + result.stderr)
    with open(strict, "rb") as one, open(loaded, "rb") as other:
        check(one.read() == other.read(), "what was recorded gives the same numbers")
    check("is built anew here" in good("info", "--strict", path), "info tells that it is built anew")
    check("loads here" in good("info", path), "it is loaded here")
    good("compile", "--portable", "--weightless", DIGITS_GRAPH, path)
    check(os.path.getsize(path) < os.path.getsize(plain) // 2, "a file without weights is smaller")
    good("run", "--random", "--strict", "--weights=" + DIGITS_GRAPH, "--output=" + loaded, path)
    check(read_npy(strict) == read_npy(loaded), "what was recorded finds its weights")


def test_help(folder):
    """Like git's: commands and topics by name, everything without one, and what was meant where there is none."""
    overview = good("help")
    check(overview == good("--help") == good("-h") == good("help", "help") and overview == run().stderr, "the overview")
    commands, topics = (re.findall(r"^  (\w+) +\S", part.split("\n\n")[1], re.M) for part in re.split("Commands:|Topics:", overview)[1:])
    check(commands[0] == "run" and len(commands) >= 5 and topics == ["format", "limits"], f"{commands} {topics}")
    for command in commands:
        text = good("help", command)
        check(text == good(command, "--help") == good("--help", command) and f"Usage: webnn {command}" in text, f"help of {command}")
        check(all(len(line) <= 100 for line in text.splitlines()), f"lines of the help of {command}")
    for topic in topics:
        check(len(good("help", topic)) > 500 and run(topic).returncode == 2, f"the topic {topic}")
    for words, meant in ((["rnu"], "run"), (["help", "rnu"], "run"), (["help", "fromat"], "format"), (["grahp"], "graph")):
        bad(2, [f"no command{' or topic' if len(words) > 1 else ''} {words[-1]}; did you mean {meant}?", "webnn help"], *words)
    check("mean" not in bad(2, "no command fromat\n", "fromat"), "a topic is no command")
    bad(2, "one command or topic", "help", "run", "info")


# ----------------------------------------------------------------------------------------------------------------
# What `webnn help format` says
# ----------------------------------------------------------------------------------------------------------------

def read_grammar(text):
    """Rules by name: ("or", [...]), ("and", [...]), ("maybe", rule), ("many", rule), a terminal in quotes or a name."""
    rules = {}
    for name, rule in re.findall(r"^  (\w+) += (.*?) ;$", text, re.M | re.S):
        tokens = re.findall(r'"[^"]+"|\w+|[][{}|]', rule)

        def choice():
            options = [[]]
            while tokens and tokens[0] not in ("]", "}"):
                token = tokens.pop(0)
                if token == "|":
                    options.append([])
                elif token in ("[", "{"):
                    inner = choice()
                    check(tokens.pop(0) == {"[": "]", "{": "}"}[token], f"brackets of {name}")
                    options[-1].append(("maybe" if token == "[" else "many", inner))
                else:
                    options[-1].append(token)
            return ("or", [("and", option) for option in options])
        rules[name] = choice()
    return rules


# What the text defines in words.
TERMINALS = {
    "word": ["x", "_a", "/b/c.d", "$e", "relu", "Z9.8", "null", "true", "nodes", "a//b"],
    "string": ['"x"', '"a b:0"', '"\\"q\\""', '"\\\\"', '"\\u{1B}"', '"\\u{10ffFF}"', '"\\n"', '"π"'],
    "number": ["0", "1.5", "-2", "+3", ".5", "1.", "-1e-3", "2E+4", "inf", "-Infinity", "+NaN", "18446744073709551615"],
    "size": ["1", "2", "255"],
    "datatype": ["f32", "float16", "u4", "int64"],
}
SPACES = [" ", " ", "\n", "\t", " // comment\n", " # comment\n", "\r\n"]


def make_sentence(rules, rule, generator, depth):
    """Words of a sentence; deep down as few as there can be."""
    if isinstance(rule, str):
        if rule.startswith('"'):
            return [rule[1:-1]]
        if rule in TERMINALS:
            return [generator.choice(TERMINALS[rule])]
        return make_sentence(rules, rules[rule], generator, depth + 1)
    kind, inner = rule
    if kind == "or":
        return make_sentence(rules, generator.choice(inner), generator, depth)
    if kind == "and":
        return [word for part in inner for word in make_sentence(rules, part, generator, depth)]
    count = 0 if depth > 11 else generator.randrange(2 if kind == "maybe" else 4)
    return [word for _ in range(count) for word in make_sentence(rules, inner, generator, depth + 1)]


def test_format_grammar(folder):
    """Sentences of the grammar are read, whatever they mean; what is not in it is refused."""
    rules = read_grammar(good("help", "format"))
    check(len(rules) == 15 and all(name in rules for name in ("graph", "block", "statement", "call", "argument", "source")), f"{list(rules)}")
    wrong = r":\d+:\d+: (expected |'.*' has no meaning|.* is not a (whole )?number|this string|a constant has one value)"
    generator = random.Random(7)
    accepted = longest = refused = 0
    for i in range(150):
        words = make_sentence(rules, "graph", generator, 0)
        text = "".join(word + generator.choice(SPACES) for word in words)
        longest = max(longest, len(words))
        result = run("graph", "--before", "--backend=dummy", folder.graph(text))
        fits = not re.search(wrong, result.stderr) or re.search("more than 8 dimensions|nested too deeply", result.stderr)
        check(fits, f"a sentence of the grammar is refused: {text!r}: {result.stderr[:400]}")
        accepted += fits and len(words) > 30
        # Without one of its signs it is no sentence, but where that may be left out.
        at = generator.randrange(len(words))
        if i < 50 and words[at] in ("webnn_graph", ":", "=", "(", ")", "@", "}") and len(words) > 30:
            text = " ".join(words[:at] + words[at + 1:])
            result = run("graph", "--before", "--backend=dummy", folder.graph(text))
            check(result.returncode == 1 and re.search(wrong, result.stderr), f"no sentence of the grammar: {text!r}: {result.stderr[:400]}")
            refused += 1
    check(accepted > 20 and longest > 100 and refused > 5, f"{accepted} sentences, {longest} words, {refused} that are none")


def write_named_weights(folder, text):
    """The tensors that a graph asks for, of zeros; those of 4 bits as the text says."""
    types = {short: name for name, short in TYPES.items()}
    bits = {"f32": 32, "f16": 16, "i32": 32, "i4": 4, "u4": 4}
    tensors = {}
    constants = re.search(r"consts\s*{(.*?)}", text, re.S)
    for name, kind, shape, source, key in re.findall(r'([\w/]+): +(\w+)\[(.*?)\](?: @(\w+)\((?:"([^"]*)")?)?', constants[1] if constants else ""):
        if source in ("", "weights"):
            check(kind in types, f"the type {kind} of {name}")
            sizes = [int(size) for size in shape.split(",") if size]
            count = math.prod(sizes) * bits[kind] // 8
            tensors[key or name] = ("U8", [count], bytes(count)) if bits[kind] == 4 else (kind.upper(), sizes, bytes(count))
    write_safetensors(folder("graph.safetensors"), tensors)


def test_format_examples(folder):
    """The graphs in the text are right, and do what the text says of them."""
    text = good("help", "format")
    check(all(len(line) <= 96 for line in text.splitlines()), "lines of the format's text")
    examples = {}
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.M):
        if "webnn_graph" in block:
            examples[re.search('webnn_graph "(.*?)"', block)[1]] = block
    check(list(examples) == ["layer", "names", "constants", "weights", "calls", "of 2024", "dump"], f"examples: {list(examples)}")
    for name, example in examples.items():
        path = folder.graph(example)
        write_named_weights(folder, example)
        check("output " in good("graph", "--before", path), f"the example {name}")
        emitted = [good("graph", "--emit=webnn", "--weights-out=" + folder("again.safetensors"), path)]
        emitted.append(good("graph", "--emit=webnn", "--weights-out=" + folder("third.safetensors"), folder.graph(emitted[0], "again.webnn")))
        check(emitted[0] == emitted[1], f"the example {name} is written and read again: {emitted}")
        good("run", "--random", path)
    # The table of 4 bits, and the epilogues of a dump.
    write_npy(folder("x.npy"), "<f4", (2, 3), [0] * 6)
    good("run", "--quiet", "--output=" + folder("out.npy"), folder.graph(examples["constants"]), folder("x.npy"))
    check(read_npy(folder("out.npy"))[2] == [-.5, 0, .5, 1, 1.5, 2], f"two elements in a byte, the first in the low half: {read_npy(folder('out.npy'))}")
    write_npy(folder("x.npy"), "<f4", (1, 4), [-5, 1, 1, 1.5])
    good("run", "--quiet", "--output=" + folder("out.npy"), folder.graph(examples["dump"]), folder("x.npy"))
    check(all(abs(value + math.exp(0.5)) < 1e-5 for value in read_npy(folder("out.npy"))[2]), f"epilogues: {read_npy(folder('out.npy'))}")
    # What compiles to epilogues is read again where it is shown.
    compiled = good("graph", "--backend=dummy", folder.graph(examples["dump"]))
    nodes = "\n".join(line for line in compiled.splitlines() if re.match(r"\w+ = ", line))
    check(") + relu; //" in nodes, f"the dump has epilogues: {compiled}")
    constants = "".join(f"{name}: {kind} @scalar(1); " for name, kind in re.findall(r"^const (\w+): (.*);$", compiled, re.M))
    good("graph", "--before", folder.graph(graph(nodes, outputs=nodes.splitlines()[-1].split()[0], inputs="x: f32[1, 4];", consts=constants)))


def test_format_types(folder):
    """Each row of the table of types: both names, and the type in .safetensors."""
    rows = re.findall(r"^  ([fiu]\d+) +(\w+) +([A-Z0-9, ]+)$", good("help", "format"), re.M)
    check(sorted(short for short, _, _ in rows) == sorted(TYPES.values()), f"the rows: {rows}")
    for short, name, dtypes in rows:
        check(TYPES[name] == short, f"the names of {short}")
        size = int(short[1:]) * 3 / 8
        for dtype in dtypes.split(", "):
            data = bytes(math.ceil(size))
            write_safetensors(folder("graph.safetensors"), {"c": (dtype, [len(data)] if short.endswith("4") and len(short) == 2 else [3], data)})
            for written in short, name:
                check(f"c: {short}[3] @" in good("graph", "--emit=webnn", folder.graph(graph("y = relu(x);", consts=f"c: {written}[3];"))),
                      f"{written} of {dtype}")
    words = good("help", "format")
    for dtype, bits in (("F64", 64), ("BF16", 16), ("I16", 16), ("U16", 16), ("F8_E4M3", 8), ("F8_E5M2", 8)):
        check(re.search(rf"\b{dtype}\b", words), f"the text names {dtype}")
        write_safetensors(folder("graph.safetensors"), {"c": ("F32", [1], bytes(4)), "d": (dtype, [2], bytes(bits // 4))})
        good("graph", "--before", folder.graph(graph("y = relu(x);", consts="c: f32[1];")))
    # Numbers of @scalar.
    for kind, number, wanted in (("i32", "2.9", 2), ("i32", "-2.9", -2), ("u8", "-1", 0), ("u8", "300", 255), ("i8", "-1e9", -128),
                                 ("i64", "9223372036854775807", 2 ** 63 - 1), ("u64", "18446744073709551615", 2 ** 64 - 1)):
        path = folder.graph(graph("y = cast(c, u8); z = identity(c);", outputs="z", consts=f"c: {kind}[2] @scalar({number});"))
        good("run", "--random", "--quiet", "--output=" + folder("out.npy"), path)
        check(read_npy(folder("out.npy"))[2] == [wanted, wanted], f"@scalar({number}) of {kind}: {read_npy(folder('out.npy'))}")
    nested = "relu(" * 16 + "x" + ")" * 16
    good("graph", "--before", folder.graph(graph(f"y = {nested};")))
    bad(1, "nested too deeply", "graph", "--before", folder.graph(graph(f"y = relu({nested});")))


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
    (graph("y = relu(x);", inputs="x: f32[2147483648];"), "2:19", "2147483647"),
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
        with create(weights) as file:
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
        with create(weights) as file:
            file.write(noisy[:generator.randrange(1, len(noisy) + 1)])
        check(run("graph", "--before", path).returncode in (0, 1), f"noise in the weights: {bytes(noisy)}")


def test_weights_in_parts(folder):
    """A list of .safetensors files names files beside it, wherever the graph is."""
    path = folder.graph(graph("y = add(add(x, a), b);", consts="a: f32[2, 3]; b: f32[2, 3];"))
    for place in "", "elsewhere/":
        os.makedirs(folder(place + "parts"), exist_ok=True)
        write_safetensors(folder(place + "1.safetensors"), {"a": ("F32", [2, 3], struct.pack("<6f", *[1 + len(place)] * 6))})
        write_safetensors(folder(place + "parts/2.safetensors"), {"b": ("F32", [2, 3], struct.pack("<6f", *[10] * 6))})
        with open(folder(place + "graph.safetensors.index.json"), "w") as file:
            json.dump({"metadata": {}, "weight_map": {"a": "1.safetensors", "b": "parts/2.safetensors"}}, file)
    write_npy(folder("x.npy"), "<f4", (2, 3), [0] * 6)
    for extra, wanted in ([], 11), (["--weights=" + folder("elsewhere/graph.safetensors.index.json")], 21):
        good("run", "--quiet", "--output=" + folder("out.npy"), *extra, path, folder("x.npy"))
        check(read_npy(folder("out.npy"))[2] == [wanted] * 6, f"weights in parts, {extra}: {read_npy(folder('out.npy'))}")
    with open(folder("graph.safetensors.index.json"), "w") as file:
        json.dump({"weight_map": {"a": "../1.safetensors"}}, file)
    bad(1, "not in the folder", "graph", path)


def test_nothing(folder):
    """Arrays without elements are read and written, and an input that has none needs no file."""
    path = folder.graph(graph("y = relu(x);\n    s = reduceSum(x, axes=[0]);", inputs="x: f32[0, 3];", outputs="y; s"))
    write_npy(folder("none.npy"), "<f4", (0, 3), [])
    for files in [], ["x=" + folder("none.npy")]:
        text = good("run", "--output=y=" + folder("y.npy"), "--output=s=" + folder("s.npy"), path, *files)
        check("no elements" in text, f"an output without elements: {text}")
        check(read_npy(folder("s.npy"))[2] == [0] * 3 and read_npy(folder("y.npy"))[1:] == ((0, 3), []),
              f"a sum of nothing: {read_npy(folder('s.npy'))}, {read_npy(folder('y.npy'))}")
    good("compare", path, path)


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
        with create(path) as file:
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
    ('"a b" = relu(x); y = "a b";', "t = relu(x); y = t;"),
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


def test_two_names(folder):
    """An operand that is two outputs is written with both names, quoted or not."""
    for first, second in ("a", "b"), ("a:0", "b"), ("a", "b:0"), ("a:0", "b:0"), ("null", "nodes"):
        path = folder.graph(graph(f'"{first}" = relu(x); "{second}" = "{first}";', outputs=f'"{first}"; "{second}"'))
        emitted = good("graph", "--emit=webnn", path)
        again = folder.graph(emitted, "again.webnn")
        check(good("graph", "--emit=webnn", again) == emitted, f"two names are written and read again: {emitted}")
        check(good("graph", "--before", again).count("output ") == 2, f"two outputs: {emitted}")


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
    write_npy(folder("in.npy"), "<i8", [3], [1, 2, 200])
    bad(1, "element 2, 200, is no int8", "run", path, folder("in.npy"))
    write_npy(folder("in.npy"), "|i1", [4], [1, 2, 3, 4])
    bad(1, "shape [4]", "run", path, folder("in.npy"))
    with open(folder("in.npy"), "r+b") as file:
        file.truncate(130)
    bad(1, "shorter", "run", path, folder("in.npy"))
    with create(folder("in.npy")) as file:
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


def npy(descr, shape, body, fortran=False, version=1):
    """The bytes of a .npy file, whatever is in them."""
    header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + body


def test_array_shapes(folder):
    """An array has the shape of the input, or a first dimension more for several values; nothing is cut in pieces."""
    image = folder.graph(graph("y = identity(x);", inputs="x: f32[1, 28, 28, 1];"))
    scalar = folder.graph(graph("y = identity(x);", inputs="x: f32[];"), "scalar.webnn")
    two = folder.graph(graph("y = add(x, z);", inputs="x: f32[2, 3]; z: f32[2, 3];"), "two.webnn")
    x, y = folder("x.npy"), folder("y.npy")
    for path, shape, result in (
            (image, (1, 28, 28, 1), (1, 28, 28, 1)), (image, (28, 28), (1, 28, 28, 1)),
            (image, (1, 1, 28, 1, 28), (1, 28, 28, 1)), (image, (3, 28, 28), (3, 28, 28, 1)),
            (image, (3, 1, 28, 28, 1), (3, 28, 28, 1)), (image, (2, 28, 28, 1), (2, 28, 28, 1)),
            (scalar, (), ()), (scalar, (1,), ()), (scalar, (4,), (4,)),
            (image, (1, 28, 28, 2), None), (image, (784,), None), (image, (28, 28, 3), None), (image, (1, 3, 28, 28), None),
            (image, (2, 2, 28, 28), None), (image, (28, 56), None), (image, (0, 28, 28), None), (scalar, (2, 2), None),
            (scalar, (0,), None)):
        with create(x) as file:
            file.write(npy("<f4", shape, bytes(4 * math.prod(shape))))
        if result is None:
            shown = "[" + ", ".join(map(str, shape)) + "]"
            bad(1, [f"an array of shape {shown}; the input x has shape [", "[1, 28, 28, 1]" if path == image else "[]"],
                "run", path, x)
        else:
            good("run", "--quiet", "--output=" + y, path, x)
            check(read_npy(y)[1] == result, f"{shape} for {path}: {read_npy(y)[1]}, not {result}")
    write_npy(x, "<f4", (2, 2, 3), range(12))
    bad(1, "2 values for the input x, which takes one", "run", two, x, x)


def test_array_types(folder):
    """Every kind of element that NumPy writes is read or refused, never taken for another."""
    x, y = folder("x.npy"), folder("y.npy")
    graphs = {name: folder.graph(graph("y = identity(x);", inputs=f"x: {name}[2, 3];"), name + ".webnn")
              for name in ("f32", "f16", "i32", "i64", "u8")}

    def read(name, data):
        with create(x) as file:
            file.write(data)
        good("run", "--quiet", "--output=" + y, graphs[name], x)
        return read_npy(y)

    def refused(name, data, *words):
        with create(x) as file:
            file.write(data)
        bad(1, ["x.npy: ", *words], "run", graphs[name], x)

    whole = [0, 1, -2, 3, 4, 5]
    for order in "<>=":
        little = "<" if order == "=" else order
        for code, name in ("f4", "f32"), ("f2", "f32"), ("f8", "f32"), ("f4", "f16"), ("i2", "i32"), ("i8", "i32"), ("i4", "i64"):
            values = struct.pack(f"{little}6{FORMATS.get('<' + code, 'h')}", *whole)
            check(read(name, npy(order + code, (2, 3), values))[2] == whole, f"{order}{code} for {name}")
            columns = struct.pack(f"{little}6{FORMATS.get('<' + code, 'h')}", *(whole[i] for i in (0, 3, 1, 4, 2, 5)))
            check(read(name, npy(order + code, (2, 3), columns, True))[2] == whole, f"{order}{code} in Fortran order for {name}")
    check(read("u8", npy("|b1", (2, 3), bytes([0, 1, 255, 0, 1, 2])))[2] == [0, 1, 1, 0, 1, 1], "bool for uint8")
    check(read("i32", npy("|b1", (2, 3), bytes([0, 1, 1, 0, 1, 1])))[2] == [0, 1, 1, 0, 1, 1], "bool for int32")
    consts = "s: f32[1, 1] @scalar(1); zero: i4[1, 1] @scalar(0);"
    graphs["i4"] = folder.graph(graph("y = dequantizeLinear(x, s, zero);", inputs="x: i4[2, 3];", consts=consts), "i4.webnn")
    check(read("i4", npy("|i1", (2, 3), struct.pack("6b", *whole)))[2] == whole, "int8 for int4")
    graphs["to i4"] = folder.graph(graph("y = quantizeLinear(x, s, zero);", consts=consts), "to_i4.webnn")
    check(read("to i4", npy("<f4", (2, 3), struct.pack("<6f", *whole))) == ("|i1", (2, 3), whole), "an output of int4 has bytes")
    pixels = read("f32", npy("|u1", (2, 3), bytes([0, 51, 102, 153, 204, 255])))[2]
    check(max(abs(p - i / 5) for i, p in enumerate(pixels)) < 1e-6, f"bytes are pixels: {pixels}")
    check(read("f32", npy("<f8", (2, 3), struct.pack("<6d", *[math.inf] * 5, 0.1)))[2][4:] ==
          [math.inf, struct.unpack("f", struct.pack("f", 0.1))[0]], "float64 is rounded")
    for name, descr, said in (("f32", "<i8", "int64"), ("f32", "<u4", "uint32"), ("f32", "|b1", "bool"), ("f16", "<i2", "int16"),
                              ("i32", "<f4", "float32"), ("i64", "<f8", "float64"), ("u8", "<f2", "float16")):
        body = bytes(6 * int(descr[2]))
        refused(name, npy(descr, (2, 3), body), f"an array of {said}[2, 3]; the input x is ", "[2, 3]")
    refused("f32", npy("<f8", (2, 3), struct.pack("<6d", 1, 2, 3, 1e300, 5, 6)), "element 3, 1e+300, is no float32")
    refused("u8", npy("<i8", (2, 3), struct.pack("<6q", *whole)), "element 2, -2, is no uint8")
    for descr in "<c8", "<U4", "|S4", "|O", "<M8[ns]", "|V2", "<f16", "<i3", "<f1", "<b8", "f", "", "<", "<f44", "|u16":
        refused("f32", npy(descr, (2, 3), bytes(96)), "cannot be read" if descr else "not a .npy file")
    good_header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    for header in (good_header, good_header.replace(", }", "}"), '{"shape":(2,3,),"fortran_order":False,"descr":"<f4"}', good_header + " " * 40,
                   good_header.replace("2, 3", "2L, 3L")):
        data = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<6f", *whole)
        check(read("f32", data)[2] == whole, f"a header of {header}")
    for header in ("", "{}", "{", "}", "[1]", good_header[:-1], good_header[1:], good_header + "}", good_header.replace("2", "-2"),
                   good_header.replace("(", "["), good_header.replace("2, 3", "2 3"), good_header.replace("2", "2.5"),
                   good_header.replace("False", "None"), good_header.replace("'<f4'", "[('a', '<f4')]"), good_header.replace("descr", "desc"),
                   good_header.replace("'shape': (2, 3), ", ""), good_header.replace("'fortran_order': False, ", ""),
                   good_header[:-1] + "'shape': (2, 3), }", good_header.replace(",", "", 1), "{" * 4000):
        refused("f32", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + bytes(24), "not a .npy file")
    for version in 2, 3:
        check(read("f32", npy("<f4", (2, 3), struct.pack("<6f", *whole), version=version))[2] == whole, f"version {version}")
    for version in 0, 4, 255:
        refused("f32", npy("<f4", (2, 3), bytes(24), version=version), "not a .npy file")
    refused("f32", npy("<f4", [1] * 9, bytes(4)), "an array of 9 dimensions; 8 are the most")
    refused("f32", npy("<f4", [1] * 3000, bytes(4)), "dimensions; 8 are the most")
    refused("f32", npy("<f4", [2 ** 40], b""), "its shape is too large")
    refused("f32", npy("<f4", [65536] * 4, b""), "its shape is too large")
    refused("f32", npy("<f4", [10 ** 40], b""), "its shape is too large")
    refused("f32", npy("<f4", [0, 10 ** 40], b""), "its shape is too large")


def test_dump(folder):
    """Values of operands and nodes as files, whose names are safe whatever those are called."""
    out, x = folder("out"), folder("x.npy")
    write_npy(x, "<f4", (2, 3), [-3, -2, -1, 1, 2, 3])
    path = folder.graph(graph("t = relu(x); u = mul(t, c); [a, b] = split(u, [1, 2], axis=1); y = neg(u); dead = neg(x);", outputs="y; u",
                              consts="c: f32[] @scalar(2);"))
    expected = {"x": ((2, 3), [-3, -2, -1, 1, 2, 3]), "t": ((2, 3), [0, 0, 0, 1, 2, 3]), "u": ((2, 3), [0, 0, 0, 2, 4, 6]),
                "y": ((2, 3), [0, 0, 0, -2, -4, -6]), "c": ((), [2])}

    def written():
        return {name[:-4]: read_npy(os.path.join(out, name))[1:] for name in sorted(os.listdir(out))}

    for backend in "cpu", "gpu":
        if backend == "gpu" and run("run", "--random", "--quiet", "--backend=gpu", "relu:4").returncode:
            print("skipped: values of a GPU")
            continue
        for names in ["t"], ["u"], ["x"], ["c"], ["y", "t", "y"], ["all"], ["all", "c", "t"]:
            text = good("run", "--dump-to=" + out, "--output=y=" + folder("y.npy"), "--backend=" + backend,
                        *("--dump=" + name for name in names), path, x)
            wanted = set(names) - {"all"} | (set("xtuy") if "all" in names else set())
            check(written() == {name: expected[name] for name in wanted}, f"{backend}: values of {names}: {written()}")
            check(all(f"{name}: f32[" in text and name + ".npy" in text for name in wanted), f"what is written is said: {text}")
            check(read_npy(folder("y.npy"))[1:] == expected["y"], "outputs stay what they are")
            for name in os.listdir(out):
                os.unlink(os.path.join(out, name))
    write_npy(folder("three.npy"), "<f4", (3, 2, 3), range(18))
    good("run", "--quiet", "--dump-to=" + out, "--dump=t", "--dump=x", path, folder("three.npy"))
    check(written() == {"t": ((3, 2, 3), list(range(18))), "x": ((3, 2, 3), list(range(18)))}, f"several items: {written()}")
    bad(1, "--dump=tt: no operand or node that the outputs depend on is called so; did you mean t?", "run", "--random", "--dump=tt", path)
    for name in "dead", "a", "", "../t":
        bad(1, "--dump=" + name, "run", "--random", "--dump-to=" + out, "--dump=" + name, path)
    bad(1, "Not a directory", "run", "--random", "--dump=t", "--dump-to=" + path, path)
    bad(1, "No such file", "run", "--random", "--dump=t", "--dump-to=" + folder("no/folder"), path)
    # In the folder where it runs, without an option.
    result = subprocess.run([WEBNN, "run", "--random", "--quiet", "--dump=t", path], cwd=out, env=ENVIRONMENT)
    check(result.returncode == 0 and "t.npy" in os.listdir(out), "the folder of a dump is the current one")
    # Operands of ONNX, labels, and what one node becomes.
    model = folder.write("model.onnx", proto_model([("Softplus", "/act/soft", ["x"], ["/h"]), ("Mish", "/act/mish", ["/h"], ["/i"]),
                                                    ("Neg", "", ["/i"], ["y"])], ["x"], ["y"], [2, 3], 18))
    inner = {"%2Fact%2Fmish%7E1.npy", "%2Fact%2Fmish%7E2.npy"}
    for names, files in ((["all"], inner | {"x.npy", "%2Fh.npy", "%2Fi.npy", "y.npy"}), (["/act/mish"], inner | {"%2Fi.npy"}), (["/act/soft"], {"%2Fh.npy"}),
                         (["/i"], {"%2Fi.npy"}), (["/act/mish~2", "y"], {"%2Fact%2Fmish%7E2.npy", "y.npy"})):
        good("run", "--quiet", *("--dump=" + name for name in names), "--dump-to=" + folder("onnx"), model, x)
        check(set(os.listdir(folder("onnx"))) == files, f"values of ONNX, {names}: {os.listdir(folder('onnx'))}")
        for name in os.listdir(folder("onnx")):
            os.unlink(os.path.join(folder("onnx"), name))
    # Names that are none for files.
    names = ["..", ".", ".hidden", "/etc/passwd", "../../up", "a b", "A b", "con\\nul:", "%2F", "~", "x" * 5000, "x" * 5001, "X" * 5002, HOSTILE,
             "\N{SNOWMAN}", "-rf", "t\tab", "all"]
    quoted = [json.dumps(name) for name in names]
    path = folder.graph(graph("".join(f"{name} = neg(x);" for name in quoted), outputs="; ".join(quoted)))
    os.mkdir(folder("deep"))
    deep = folder("deep/deeper")
    text = good("run", "--quiet", "--dump=all", "--dump-to=" + deep, path, x)
    files = sorted(os.listdir(deep))
    check(len(files) == len(names) + 1 and len({name.lower() for name in files}) == len(files), f"a file for each: {files}")
    check(os.listdir(folder("deep")) == ["deeper"] and all(re.fullmatch(r"[A-Za-z0-9_%~-][A-Za-z0-9_.%~-]*[.]npy", name) and len(name) < 256
                                                           for name in files), f"safe names: {files}")
    check(all(read_npy(os.path.join(deep, name))[2] == [3, 2, 1, -1, -2, -3] for name in files if name != "x.npy"), "with the values")


def test_standard_streams(folder):
    """A model, an input or labels from standard input, an array to standard output."""
    x = folder("x.npy")
    write_npy(x, "<f4", (2, 3), [-3, -2, -1, 1, 2, 3])
    result = npy("<f4", (2, 3), struct.pack("<6f", 3, 2, 1, -1, -2, -3))
    text = graph("y = neg(x);").encode()
    path = folder.write("graph.webnn", text)
    model = proto_model([("Neg", "n", ["x"], ["y"])], ["x"], ["y"], [2, 3])
    with open(x, "rb") as file:
        array = file.read()

    def values(data):
        with create(folder("out.npy")) as file:
            file.write(data)
        return read_npy(folder("out.npy"))

    wanted = values(result)

    def fed(data, *arguments, code=0, says="", cwd=None):
        """Standard input as a pipe, a file, and a socket, which has no name to be opened by."""
        folder.write("in", data)
        ours, theirs = socket.socketpair()
        threading.Thread(target=lambda: (ours.sendall(data), ours.shutdown(socket.SHUT_WR)), daemon=True).start()
        with open(folder("in"), "rb") as file:
            for how in {"input": data}, {"stdin": file}, {"stdin": theirs}:
                process = subprocess.run([WEBNN, *arguments], capture_output=True, env=ENVIRONMENT, timeout=60, cwd=cwd, **how)
                check(process.returncode == code and says.encode() in process.stderr, f"{arguments} {how}: {process.returncode} {process.stderr}")
                if code == 0:
                    check(values(process.stdout) == wanted, f"{arguments} {how}: {process.stdout}")
        ours.close()
        theirs.close()

    fed(text, "run", "--output=-", "-", x)
    fed(text, "run", "--output=y=-", "--input=x=" + x, "-")
    fed(model, "run", "--output=-", "-", x)
    fed(array, "run", "--output=-", path, "-")
    fed(array, "run", "--output=-", path, "x=-")
    fed(array, "run", "--output=-", "--input=x=-", path)
    fed(array[-24:], "run", "--output=-", "--input=x=-", path)
    fed(b"", "run", "--random", "-", code=1, says="webnn: standard input: ")
    fed(b"", "run", path, "-", code=1, says="0 bytes")
    weighed = graph("y = add(x, c);", consts="c: f32[2, 3];").encode()
    write_safetensors(folder("standard input.safetensors"), {"c": ("F32", [2, 3], bytes(24))})
    fed(weighed, "run", "--random", "-", code=1, says="webnn: standard input:3:12: no weights: their file has to be named\n", cwd=folder(""))
    write_safetensors(folder("c.safetensors"), {"c": ("F32", [2, 3], struct.pack("<6f", 6, 4, 2, -2, -4, -6))})
    fed(weighed, "run", "--output=-", "--weights=" + folder("c.safetensors"), "-", x)
    process = subprocess.run([WEBNN, "run", "--labels=-", folder.graph(graph("y = neg(x);", inputs="x: f32[3];"), "row.webnn"), "--random"],
                             input="one\ntwo\nthree\n", capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    check(process.returncode == 0 and "two" in process.stdout, f"labels from standard input: {process}")
    for arguments in (["-", "-"], ["--labels=-", "-"], ["--input=x=-", "-"], ["--input=-", path, "x=-"], ["--expect=-", path, "-"]):
        bad(2, "standard input, -, can be read once only", "run", *arguments)
    two = folder.graph(graph("y = neg(x); z = neg(y);", outputs="y; z"), "two.webnn")
    bad(2, "can have one file only", "run", "--random", "--output=y=-", "--output=z=-", two)
    for option in "--profile", "--find-nan", "--expect=" + x, "--repeat=2":
        bad(2, "--output=- leaves no place", "run", "--random", "--output=-", option, path)
    # It is no file that has that name.
    check(not os.path.exists("-"), "no file is called -")
    process = subprocess.run([WEBNN, "run", "--random", "-"], stdin=subprocess.DEVNULL, preexec_fn=lambda: os.close(0), capture_output=True,
                             env=ENVIRONMENT, timeout=60)
    check(process.returncode == 1 and b"standard input: Bad file descriptor" in process.stderr, f"no standard input: {process}")
    process = subprocess.Popen([WEBNN, "run", "--random", "--output=-", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT,
                               preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
    process.stdout.close()
    message = process.stderr.read()
    check(process.wait() == 1 and b"standard output: Broken pipe" in message, f"nobody reads: {message}")
    process.stderr.close()
    ours, theirs = pty.openpty()
    process = subprocess.run([WEBNN, "run", "--random", "--output=-", path], stdout=theirs, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=60)
    check(process.returncode == 1 and b"nothing for a terminal" in process.stderr, f"an array for a terminal: {process}")
    os.close(ours)
    os.close(theirs)
    check("inputs" in subprocess.run([WEBNN, "info", "-"], input=text, capture_output=True, env=ENVIRONMENT).stdout.decode(), "info of a stream")


def test_files_as_streams(folder):
    """- for every file that is read or written whole: weights, traces, reports, graphs, compiled graphs."""
    def streamed(*arguments, code=0, data=b"", says=""):
        result = subprocess.run([WEBNN, *arguments], input=data, capture_output=True, env=ENVIRONMENT, timeout=120, cwd=folder(""))
        check(result.returncode == code and says in result.stderr.decode(), f"{arguments}: {result.returncode} {result.stderr}")
        return result.stdout

    write_npy(folder("x.npy"), "<f4", (2, 3), [1, 2, 3, 4, 5, 6])
    x = "--input=x=" + folder("x.npy")
    path = folder.graph(graph("y = add(x, c);", consts="c: f32[2, 3];"))
    write_safetensors(folder("far.safetensors"), {"c": ("F32", [2, 3], struct.pack("<6f", 6, 5, 4, 3, 2, 1))})
    weights = read_bytes(folder("far.safetensors"))
    streamed("run", "--random", path, code=1, says="no weights")

    # Weights: from a pipe and a file, by all commands, and where they are read twice.
    sum_of = ["run", "--output=" + folder("out.npy"), "--weights=-", x]
    streamed(*sum_of, path, data=weights)
    check(read_npy(folder("out.npy"))[2] == [7.0] * 6, "weights of a pipe")
    with open(folder("far.safetensors"), "rb") as file:
        check(subprocess.run([WEBNN, *sum_of, path], stdin=file, capture_output=True, env=ENVIRONMENT, timeout=60).returncode == 0,
              "weights of a file")
    check("add" in streamed("graph", "--weights=-", path, data=weights).decode(), "graph")
    text = streamed("info", "--weights=-", path, data=weights).decode()
    check("24 bytes" in text or "24 B" in text, f"info: {text}")
    streamed("bench", "--time=0.01", "--weights=-", path, path, data=weights)
    streamed("compare", "--with-strict", "--weights=-", path, data=weights)
    streamed("compare", "--with-weights=-", "--weights=" + folder("far.safetensors"), path, data=weights)
    streamed("convert", "--weights-in=-", path, folder("copy.webnn"), data=weights)
    streamed(*sum_of, path, code=1, says="/dev/stdin: no safetensors file")
    text = read_bytes(path)
    for command in ["run", "--random"], ["graph"], ["info"], ["bench"], ["compare", "--with-strict"]:
        streamed(*command, "--weights=-", "-", data=text, code=1 if command[0] in ("graph", "info") else 2, says="can be read once only")

    # Traces and reports, with nothing else.
    events = json.loads(streamed("run", "--random", "--repeat=2", "--trace=-", "gru"))
    check(len([e for e in events if e["name"] == "execution"]) == 2, "a trace on standard output")
    check(len(json.loads(streamed("bench", "--time=0.01", "--trace=-", "relu:1x4"))) >= 2, "a trace of a benchmark")
    page = streamed("bench", "--time=0.01", "--rounds=1", "--report=-", "relu:1x4", "softmax:4x8").decode()
    check(page.count("\nrelu:1x4") == page.count("\nsoftmax:4x8") == page.count("GFLOP/s") >= 1 and "median" not in page, f"a report: {page}")
    for arguments in (["bench", "--trace=-", "--report=-", "gru"], ["bench", "--report=-", "--json", "gru"], ["bench", "--trace=-", "--profile", "gru"],
                      ["run", "--random", "--trace=-", "--profile", "gru"], ["run", "--random", "--trace=-", "--expect=" + folder("x.npy"), "gru"],
                      ["convert", "--json", "--weights-out=-", "gru", folder("o.webnn")]):
        streamed(*arguments, code=2, says="leaves no place")
    streamed("run", "--random", "--trace=-", "--output=-", "gru", code=2, says="one file only")

    # Graphs and weights that are written.
    streamed("graph", "--emit=webnn", "--weights-out=-", path, code=2, says="standard output has the graph")
    streamed("graph", "--weights-out=" + folder("w"), path, code=2, says="--weights-out is for --emit")
    text = streamed("convert", "--weights-out=" + folder("gru.safetensors"), "gru", "-")
    other = streamed("convert", "--weights-out=-", "gru", folder("gru.webnn"))
    check(text == read_bytes(folder("gru.webnn")) and other == read_bytes(folder("gru.safetensors")), "a graph and weights on standard output")
    streamed("compare", "gru", folder("gru.webnn"))
    streamed("convert", "gru", "-", code=2, says="--weights-out=FILE has to say")
    streamed("convert", "--weights-out=-", "gru", "-", code=2, says="one file only")

    # What was compiled, from one to the next.
    compiled = streamed("compile", "gru", "-")
    streamed("run", "--random", "-", data=compiled)
    streamed("bench", "--time=0.01", "-", data=compiled)
    check("a compiled graph" in streamed("info", "-", data=compiled).decode(), "info of a compiled stream")
    streamed("run", "--random", "-", data=compiled[:1000], code=1)
    check(not [name for name in os.listdir(folder("")) if name.startswith("-") or name.endswith(".tmp")], "no file is called -, and none is left")


def compared(code, *arguments):
    """What `webnn compare --json` says, with an exit code."""
    result = run("compare", "--json", *arguments)
    check(result.returncode == code, f"compare {' '.join(arguments)}: {result.returncode}, expected {code}: {result.stdout} {result.stderr}")
    report = json.loads(result.stdout) if result.stdout else {"outputs": [{}], "nodes": {}}
    check(report.get("within") == (code == 0), f"compare {' '.join(arguments)}: within or not: {report}")
    return report


def write_npz(path, arrays, compression=zipfile.ZIP_STORED, **more):
    with zipfile.ZipFile(path, "w", compression, **more) as file:
        for name, data in arrays.items():
            file.writestr(name + ".npy", data)


def test_compare(folder):
    """Models, backends and expected values, and where they part."""
    x = folder("x.npy")
    write_npy(x, "<f4", (2, 3), [-3, -2, -1, 1, 2, 3])
    nodes = "t = mul(x, w); u = relu(t); y = neg(u); z = abs(t);"

    def model(name, weight=2.0, nodes=nodes, outputs="y; z", inputs="x: f32[2, 3];", consts=None):
        return folder.graph(graph(nodes, outputs, inputs, consts or f"w: f32[2, 3] @scalar({weight});"), name)

    first, same = model("first.webnn"), model("same.webnn")
    other = model("other.webnn", nodes="t = mul(x, w); u = clamp(t, minValue=0, maxValue=4); y = neg(u); z = abs(t);")
    text = good("compare", "--input=" + x, first, same)
    check(text.count("all 6 elements are equal") == 2 and "2 of 2 outputs within tolerance" in text, f"the same: {text}")
    text = run("compare", "--nodes", "--input=" + x, first, other).stdout
    for words in ("y: float32[2, 3]", "1 of 6 elements beyond 0.0001 of the scale",
                  "largest difference 2, 0.5 of the scale 4, at [1, 2]: -6, reference -4", "all 6 elements are equal",
                  'They part first at the node 1, relu "u", with the value', "of the value t, float32[2, 3]: equal", "1 of 2 outputs within"):
        check(words in text, f"two models: {words!r} is not in {text}")
    report = compared(1, "--nodes", "--input=" + x, first, other)
    y, z = report["outputs"]
    check((y["name"], y["type"], y["shape"], y["elements"], y["beyond"], y["unequal"], y["max_difference"], y["max_relative"], y["scale"]) ==
          ("y", "float32", [2, 3], 6, 1, 1, 2, 0.5, 4) and y["largest"] == {"item": 0, "at": [1, 2], "value": -6, "reference": -4}, f"y: {y}")
    check(z["within"] and not y["within"] and z["unequal"] == 0, f"z: {z}")
    found = report["nodes"]["first"]
    check((found["name"], found["node"], found["operator"], found["label"]) == ("u", 1, "relu", "u") and
          [(o["kind"], o["name"], o["within"]) for o in found["operands"]] == [("value", "t", True)], f"the node: {found}")
    heavy = model("heavy.webnn", 2.5)
    found = compared(1, "--nodes", "--input=" + x, first, heavy)["nodes"]["first"]
    operands = {o["kind"]: o for o in found["operands"]}
    check(found["name"] == "t" and operands["constant"]["name"] == "w" and operands["constant"]["max_difference"] == 0.5, f"a weight: {found}")
    every = compared(1, "--nodes=all", "--input=" + x, first, heavy)["nodes"]
    check([(v["name"], v["within"]) for v in every["all"]] == [("t", False), ("u", False), ("y", False), ("z", False)], f"all values: {every}")
    check("within u" not in run("compare", "--nodes=all", "--input=" + x, first, heavy).stdout, "all values are shown")
    # One model, in different ways.
    for options in ["--with-strict"], ["--with-threads=1"], ["--with-backend=cpu"], ["--without-pass=fuse_activations"], ["--strict", "--with-threads=2"]:
        check(compared(0, *options, DIGITS_GRAPH)["items"] == 1, f"{options}")
        check(compared(0, "--nodes", *options, DIGITS_GRAPH)["nodes"]["compared"] == 10, f"{options}: all nodes")
    gpu = not run("run", "--random", "--quiet", "--backend=gpu", "relu:4").returncode
    if not gpu:
        print("skipped: comparing with a GPU")
    for pair in (["--with-backend=gpu"], ["--backend=gpu", "--with-backend=cpu"], ["--device=0", "--with-backend=cpu"]) if gpu else ():
        report = compared(0, "--nodes", *pair, DIGITS_GRAPH)
        check({report["backend"], report["reference_backend"]} == {"cpu", "vulkan"} and report["nodes"]["compared"] == 10, f"{pair}: {report}")
    report = compared(1, "--nodes", "--with-backend=dummy", DIGITS_GRAPH)
    check(report["nodes"]["first"]["label"] == "conv1", f"a backend that computes nothing: {report['nodes']}")
    report = compared(0, "--with-strict", "--input=" + os.path.join(DIGITS, "test.npy"), DIGITS_GRAPH)
    check(report["items"] == 450 and report["outputs"][0]["elements"] == 4500, f"every item of an array: {report}")
    # More values than one graph computes beside each other.
    chain = "".join(f"n{i} = add({f'n{i - 1}' if i else 'x'}, c);" for i in range(1200)) + "y = relu(n1199);"
    long, bent = (folder.graph(graph(text, consts="c: f32[2, 3] @scalar(1);"), name) for text, name in
                  ((chain, "long.webnn"), (chain.replace("n1000 = add", "n1000 = sub"), "bent.webnn")))
    check(compared(0, "--nodes", "--with-strict", long)["nodes"]["compared"] == 1201, "a long model")
    found = compared(1, "--nodes", long, bent)["nodes"]
    check(found["first"]["name"] == "n1000" and 1001 <= found["compared"] < 1201, f"the end of a long model is left out: {found}")
    # Nodes of ONNX by their labels, whatever operators they become; those without a label are not matched.
    nodes = [("Softplus", "a", ["x"], ["p"]), ("Mish", "b", ["p"], ["q"]), ("Neg", "", ["q"], ["r"]), ("Neg", "", ["r"], ["s"]), ("Abs", "c", ["s"], ["y"])]
    mish = folder.write("mish.onnx", proto_model(nodes, ["x"], ["y"], [2, 3], 18))
    nodes[1] = ("Relu", "b", ["p"], ["q"])
    relu = folder.write("relu.onnx", proto_model(nodes, ["x"], ["y"], [2, 3], 18))
    found = compared(1, "--nodes=all", mish, relu)["nodes"]
    check([v["name"] for v in found["all"]] == ["p", "q", "r", "s", "y"] and found["first"]["label"] == "b", f"names of operands: {found}")
    nodes = [(operator, label, ["x" if name == "x" else "other " + name for name in operands], ["y" if name == "y" else "other " + name for name in results])
             for operator, label, operands, results in nodes]
    renamed = folder.write("renamed.onnx", proto_model(nodes, ["x"], ["y"], [2, 3], 18))
    for first_model, second in (mish, renamed), (renamed, mish):
        found = compared(1, "--nodes=all", first_model, second)["nodes"]
        check([v["label"] for v in found["all"]] == ["a", "b", "c"] and found["first"]["label"] == "b", f"labels: {found}")
    check(compared(0, "--nodes", "--with-strict", mish)["nodes"]["compared"] == 7, "all nodes of ONNX")
    good("run", "--random", "--quiet", "--dump=all", "--dump-to=" + folder("values"), "bert_layer")
    report = compared(0, "--nodes", "bert_layer", folder("values"))
    check(len(report["outputs"]) == 1 and report["nodes"]["compared"] == report["nodes"]["values"] > 20, f"a dump of a built-in network: {report}")
    # The seed.
    outputs = [compared(0, *seed, first, same)["outputs"][1]["scale"] for seed in ([], ["--seed=0"], ["--seed=1"], ["--seed=18446744073709551615"])]
    check(outputs[0] == outputs[1] and len(set(outputs)) == 3, f"random numbers of seeds: {outputs}")
    # Names that differ, and what one side has alone.
    renamed = model("renamed.webnn", nodes="p = mul(x2, w); q = relu(p); r = neg(q); s = abs(p);", outputs="r; s", inputs="x2: f32[2, 3];")
    report = compared(0, "--nodes", "--input=" + x, first, renamed)
    check([o["name"] for o in report["outputs"]] == ["y", "z"] and report["nodes"]["compared"] == 0, f"by number: {report}")
    more = model("more.webnn", outputs="y; z; u")
    report = compared(1, first, more)
    check(report["only_of_reference"] == [{"name": "u"}] and all(o["within"] for o in report["outputs"]), f"an output more: {report}")
    check("u: float32[2, 3], only of the reference" in run("compare", first, more).stdout, "an output more")
    report = compared(1, more, first)
    check(report["not_compared"] == [{"name": "u"}], f"an output less: {report}")
    swapped = model("swapped.webnn", outputs="z; y")
    compared(0, first, swapped)
    two = model("two.webnn", nodes="y = add(x, b);", outputs="y", inputs="x: f32[2, 3]; b: f32[2, 3];")
    one = model("one.webnn", nodes="y = add(x, x);", outputs="y")
    compared(0, "--input=x=" + x, "--input=b=" + x, two, one)
    compared(0, "--input=x=" + x, "--input=b=" + x, one, two)
    compared(1, "--input=x=" + x, one, two)
    half = model("half.webnn", inputs="x: f16[2, 3];", consts="w: f16[2, 3] @scalar(2);")
    report = compared(0, first, half)
    check(report["outputs"][0]["reference_type"] == "float16" and report["outputs"][0]["tolerance"] == 0.01, f"types that differ: {report}")
    check(report["outputs"][0]["unequal"] == 0, "both get the numbers that float16 has")
    flat = model("flat.webnn", nodes="t = mul(x, w); u = relu(t); y = reshape(u, [6]); z = cast(t, i32);")
    first_outputs = compared(1, "--input=" + x, first, flat)["outputs"]
    check([o.get("mismatch") for o in first_outputs] == ["shape", "type"], f"shapes and types: {first_outputs}")
    text = run("compare", first, flat).stdout
    check("float32[2, 3], reference float32[6]" in text and "of another shape" in text and "another kind" in text, f"in words: {text}")
    wide = model("wide.webnn", nodes="y = neg(x); z = abs(x);", inputs="x: f32[3, 3];")
    bad(2, "the input x is float32[2, 3], that of the reference float32[3, 3]", "compare", first, wide)
    # Standard input is read once and serves both.
    with open(DIGITS_GRAPH, "rb") as file:
        result = subprocess.run([WEBNN, "compare", "--json", "--with-strict", "--weights=" + os.path.join(DIGITS, "digits.safetensors"), "-"],
                                stdin=file, capture_output=True, env=ENVIRONMENT, timeout=60)
    check(result.returncode == 0 and json.loads(result.stdout)["within"], f"a model on standard input: {result}")
    # What cannot be compared is neither the same nor different.
    for words, arguments in (
            ("No such file", [first, "/nonexistent.webnn"]), ("No such file", ["/nonexistent.webnn", first]), ("No such file", ["--random", DIGITS_GRAPH, "/no.npy"]),
            ("No such file", ["--input=/no.npy", first, same]), ("compare with what", [first]), ("which graph", []), ("one reference", [first, same, x]),
            ("no backend nonsense", ["--with-backend=nonsense", first]), ("no pass", ["--without-pass=nonsense", first]), ("--with-threads=0", ["--with-threads=0", first]),
            ("--nodes=some", ["--nodes=some", first, same]), ("--absolute=-1", ["--absolute=-1", first, same]), ("leave no place", ["--expect=" + x, first, same]),
            ("leave no place", ["--with-strict", first, x]), ("read once", ["--input=-", "-", first]), ("read once", ["-", "-"]), ("read once", ["--expect=-", "-"]),
            ("say NAME=FILE", ["--random", "--expect=" + x, first]), ("the input x has a file", ["--input=x=" + x, "--input=x=" + x, two, one])):
        error = bad(2, words, "compare", *arguments)
        check(error.startswith("webnn: "), f"compare {arguments}: {error}")
    for value in "nan", "-1", "inf", "", "x", "1x", "float33=1", "=1", "uint8=", "float32=-1", "1e999":
        bad(2, f"--tolerance={value}: expected a number", "compare", "--tolerance=" + value, first, same)
    with open("/dev/full", "w") as full:
        check(subprocess.run([WEBNN, "compare", first, same], stdout=full, stderr=subprocess.DEVNULL, env=ENVIRONMENT).returncode == 2, "a full disk")


def test_compare_tolerances(folder):
    """Numbers that are near, far, denormal, infinite or none at all."""
    shape = (2, 3)
    x, e = folder("x.npy"), folder("e.npy")

    def output(dtype, is_, expected, *options, descr=None, code=0):
        """Compares numbers that a graph hands on with expected ones."""
        path = folder.graph(graph("y = identity(x);", inputs=f"x: {dtype}[2, 3];"))
        own = {"f32": "<f4", "f16": "<f2", "i32": "<i4", "i64": "<i8", "u64": "<u8", "u8": "|u1"}[dtype]
        write_npy(x, own, shape, is_)
        write_npy(e, descr or own, shape, expected)
        return compared(code, *options, "--input=" + x, path, e)["outputs"][0]

    base = [0, 1, 2, 3, 4, -8]
    for dtype, near, far in ("f32", 7e-4, 9e-4), ("f16", 0.0625, 0.125):
        output(dtype, [near] + base[1:], base)
        found = output(dtype, [far] + base[1:], base, code=1)
        check(found["beyond"] == 1 and found["scale"] == 8 and found["largest"]["at"] == [0, 0], f"{dtype}: {found}")
        output(dtype, [far] + base[1:], base, "--tolerance=0.1")
        output(dtype, [near] + base[1:], base, "--tolerance=0", code=1)
        output(dtype, [far] + base[1:], base, "--absolute=0.2")
        output(dtype, [far] + base[1:], base, f"--tolerance={'float32' if dtype == 'f32' else 'float16'}=0.1")
        output(dtype, [far] + base[1:], base, "--tolerance=int8=100", code=1)
    output("f32", [1e-39] + base[1:], [0] + base[1:], "--tolerance=0")
    output("f32", [1e-39, 0, 0, 0, 0, 0], [0, 0, -1e-39, 0, 0, 0])
    found = output("f32", [1e-9, 0, 0, 0, 0, 0], [0] * 6, code=1)
    check(found["max_relative"] == "Infinity" and found["scale"] == 0, f"nothing but zeros: {found}")
    output("f32", base, base, descr="<f8")
    output("f32", [0.1, 0, 0, 0, 0, 0], [0.1, 0, 0, 0, 0, 0], descr="<f8")
    # NaN and infinities.
    nan, inf = math.nan, math.inf
    found = output("f32", [nan, inf, -inf, 1, 2, 3], [nan, inf, -inf, 1, 2, 3])
    check(found["unequal"] == 0 and found["scale"] == 3, f"the same specials: {found}")
    found = output("f32", [1, nan, inf, -inf, 5, nan], [1, 2, 3, inf, inf, inf], code=1)
    check((found["beyond"], found["nans"], found["infinities"], found["scale"], found["max_difference"]) == (5, 2, 3, 3, 0), f"specials: {found}")
    check(found["first_nan"] == {"item": 0, "at": [0, 1], "value": "NaN", "reference": 2} and
          found["first_infinity"] == {"item": 0, "at": [0, 2], "value": "Infinity", "reference": 3}, f"the first specials: {found}")
    found = output("f32", [0] * 6, [nan] * 6, "--tolerance=1e300", "--absolute=1e300", code=1)
    check(found["nans"] == 6, f"no tolerance is for NaN: {found}")
    path = folder.graph(graph("y = identity(x);"))
    write_npy(x, "<f4", shape, [1, nan, inf, -inf, 5, nan])
    write_npy(e, "<f4", shape, [1, 2, 3, inf, 5, nan])
    text = run("compare", "--input=" + x, path, e).stdout
    check("1 NaN on one side alone, the first at [0, 1]: nan, reference 2" in text and
          "2 infinite on one side alone, or of the other sign, the first at [0, 2]: inf, reference 3" in text, f"specials in words: {text}")
    # Whole numbers are exact, also those that no double has.
    for dtype, low, high in ("i64", -2 ** 63, 2 ** 63 - 1), ("u64", 0, 2 ** 64 - 1), ("i32", -2 ** 31, 2 ** 31 - 1), ("u8", 0, 255):
        output(dtype, [low, high, 1, 2, 3, 4], [low, high, 1, 2, 3, 4])
        found = output(dtype, [low, high, 1, 2, 3, 4], [low, high - 1, 1, 2, 3, 4], code=1)
        check((found["max_difference"], found["exact"], found["largest"]["value"], found["largest"]["reference"]) == (1, True, high, high - 1),
              f"{dtype}: {found}")
        found = output(dtype, [low, low, 1, 2, 3, 4], [low, high, 1, 2, 3, 4], code=1)
        check(found["max_difference"] == float(high - low), f"{dtype}: {found}")
        name = {"i64": "int64", "u64": "uint64", "i32": "int32", "u8": "uint8"}[dtype]
        output(dtype, [low, high, 1, 2, 3, 4], [low, high - 2, 1, 2, 3, 4], f"--tolerance={name}=2")
        output(dtype, [low, high, 1, 2, 3, 4], [low, high - 3, 1, 2, 3, 4], f"--tolerance={name}=2", "--tolerance=100", code=1)
    output("i64", [1, 2, 3, 4, 5, -6], [1, 2, 3, 4, 5, -6], descr="<i4")
    output("u64", [1, 2, 3, 4, 5, 2 ** 64 - 6], [1, 2, 3, 4, 5, -6], descr="<i8", code=1)
    output("u8", [0, 1, 0, 1, 1, 0], [0, 1, 0, 1, 1, 0], descr="|b1")
    check(output("f32", base, [0, 1, 2, 3, 4, -8], descr="<i8", code=1)["mismatch"] == "type", "another kind of numbers")


def test_compare_expected(folder):
    """Expected values of arrays, archives, folders and ONNX's test data."""
    x, values = folder("x.npy"), [-3, -2, -1, 1, 2, 3]
    write_npy(x, "<f4", (2, 3), values)
    floats = lambda numbers: struct.pack(f"<{len(numbers)}f", *numbers)
    path = folder.graph(graph("t = relu(x); y = neg(t); z = abs(x);", outputs="y; z"))
    one = folder.graph(graph("y = neg(x);"), "one.webnn")
    arrays = {"x": npy("<f4", (2, 3), floats(values)), "t": npy("<f4", (2, 3), floats([0, 0, 0, 1, 2, 3])),
              "y": npy("<f4", (2, 3), floats([0, 0, 0, -1, -2, -3])), "z": npy("<f4", (2, 3), floats([3, 2, 1, 1, 2, 3]))}
    wrong = dict(arrays, t=npy("<f4", (2, 3), floats([0, 9, 0, 1, 2, 3])))
    y, z = folder.write("y.npy", arrays["y"]), folder.write("z.npy", arrays["z"])
    report = compared(0, "--input=" + x, f"--expect=y={y}", f"--expect=z={z}", path)
    check([o["unequal"] for o in report["outputs"]] == [0, 0], f"a file for each: {report}")
    report = compared(0, "--input=" + x, f"--expect=z={z}", path)
    check([o["name"] for o in report["outputs"]] == ["z"] and report["not_compared"] == [{"name": "y"}], f"one of two: {report}")
    compared(1, "--input=" + x, f"--expect=z={y}", path)
    bad(2, "no file for the input x", "compare", f"--expect=z={z}", path)
    compared(1, "--random", f"--expect=z={z}", path)
    minus = folder.write("minus.npy", npy("<f4", (2, 3), floats([-v for v in values])))
    compared(0, "--input=" + x, one, minus)
    result = subprocess.run([WEBNN, "compare", "--input=" + x, "--expect=y=-", one], input=open(minus, "rb").read(), capture_output=True, env=ENVIRONMENT)
    check(result.returncode == 0, f"expected values from standard input: {result}")
    # Archives, with inputs and values of nodes.
    for how, more in (zipfile.ZIP_STORED, {}), (zipfile.ZIP_DEFLATED, {}), (zipfile.ZIP_DEFLATED, {"compresslevel": 9}):
        archive, bent = folder("good.npz"), folder("bent.npz")
        write_npz(archive, arrays, how, **more)
        write_npz(bent, wrong, how, **more)
        for arguments in [path, archive], ["--expect=" + archive, path], ["--input=" + archive, path, archive], ["--input=" + x, path, archive]:
            report = compared(0, "--nodes", *arguments)
            check(len(report["outputs"]) == 2 and report["nodes"]["compared"] == 3, f"an archive: {report}")
        report = compared(1, "--nodes", path, bent)
        check(all(o["within"] for o in report["outputs"]) and report["nodes"]["first"]["name"] == "t", f"a value of a node: {report}")
        compared(0, path, bent)
        good("run", "--quiet", "--output=z=" + folder("out.npy"), path, archive)
        check(read_npy(folder("out.npy"))[2] == [3, 2, 1, 1, 2, 3], "an archive as input")
    # What was dumped.
    good("run", "--quiet", "--random", "--seed=7", "--dump=all", "--dump-to=" + folder("dump"), DIGITS_GRAPH)
    report = compared(0, "--nodes", DIGITS_GRAPH, folder("dump"))
    check(report["nodes"]["compared"] == 10 and report["outputs"][0]["unequal"] <= 10, f"a dump: {report}")
    good("run", "--quiet", "--dump=all", "--dump-to=" + folder("many"), DIGITS_GRAPH, os.path.join(DIGITS, "test.npy"))
    check(compared(0, "--nodes", DIGITS_GRAPH, folder("many"))["items"] == 450, "a dump of several items")
    first = folder.write("first.npy", npy("|u1", (8, 8), open(os.path.join(DIGITS, "test.npy"), "rb").read()[-64:]))
    bad(2, "450 values for the output probabilities; 1 were computed", "compare", "--input=" + first, DIGITS_GRAPH, folder("many"))
    # ONNX's test data: by the names of tensors, or by number.
    model = folder.write("model.onnx", proto_model([("Sub", "minus", ["a", "b"], ["c"]), ("Neg", "n", ["c"], ["d"])], ["a", "b"], ["c", "d"], [2, 3]))
    a, b = [6, 5, 4, 3, 2, 1], [1, 1, 2, 3, 5, 8]
    c = [i - k for i, k in zip(a, b)]
    d = [-i for i in c]
    data = folder("test_data_set_0")
    os.mkdir(data)
    bad(2, "no arrays in this folder", "compare", model, data)
    double = field(10, struct.pack("<6d", *c))
    for names in ("", "", "", ""), ("a", "b", "c", "d"), ("q", "r", "s", "t"):
        tensors = [proto_tensor(1, [2, 3], floats(numbers), name) for numbers, name in zip((a, b, c, d), names)]
        for more in tensors[2], proto_tensor(11, [2, 3], b"", names[2], double), proto_tensor(1, [2, 3], b"", names[2], field(4, floats(c))), \
                proto_tensor(1, [2, 3], b"", names[2], b"".join(b"\x25" + floats([v]) for v in c)):
            for name, tensor in ("input_0", tensors[0]), ("input_1", tensors[1]), ("output_0", more), ("output_1", tensors[3]):
                folder.write(os.path.join("test_data_set_0", name + ".pb"), tensor)
            check([o["unequal"] for o in compared(0, model, data)["outputs"]] == [0, 0], f"test data of {names}")
    for name, number in ("input_0", 1), ("input_1", 0):  # a name counts more than a number
        folder.write(os.path.join("test_data_set_0", name + ".pb"), proto_tensor(1, [2, 3], floats((a, b)[number]), "ab"[number]))
    compared(0, model, data)
    good("run", "--quiet", "--output=d=" + folder("d.npy"), model, "b=" + os.path.join(data, "input_0.pb"), os.path.join(data, "input_1.pb"))
    check(read_npy(folder("d.npy"))[2] == d, "tensors of ONNX as inputs")
    check(compared(0, "--input=a=" + os.path.join(data, "input_1.pb"), "--input=b=" + os.path.join(data, "input_0.pb"),
                   "--expect=d=" + os.path.join(data, "output_1.pb"), model)["outputs"][0]["name"] == "d", "single tensors")
    # Every type, raw and in fields.
    for name, kind, code, numbers in (("u8", 2, "B", [0, 255]), ("i8", 3, "b", [-128, 127]), ("i32", 6, "i", [-2 ** 31, 2 ** 31 - 1]),
                                      ("i64", 7, "q", [-2 ** 63, 2 ** 63 - 1]), ("u32", 12, "I", [0, 2 ** 32 - 1]), ("u64", 13, "Q", [0, 2 ** 64 - 1]),
                                      ("f16", 10, "e", [1.5, -2]), ("u8", 9, "B", [0, 1]), ("i32", 4, "H", [0, 65535]), ("i32", 5, "h", [-32768, 32767])):
        graph_path = folder.graph(graph("y = identity(x);", inputs=f"x: {name}[2];"), "typed.webnn")
        raw = struct.pack(f"<2{code}", *numbers)
        bits = [int.from_bytes(raw[i:i + len(raw) // 2], "little", signed=code in "bhiq" and kind != 10) for i in (0, len(raw) // 2)]
        varints = b"".join(field(1, v % 2 ** 64)[1:] for v in bits)
        number = 7 if kind == 7 else 11 if kind in (12, 13) else 5
        raw_file = folder.write("raw.pb", proto_tensor(kind, [2], raw))
        packed = folder.write("packed.pb", proto_tensor(kind, [2], more=field(number, varints)))
        apart = folder.write("apart.pb", proto_tensor(kind, [2], more=b"".join(field(number, v % 2 ** 64) for v in bits)))
        for tensor in raw_file, packed, apart:
            check(compared(0, "--input=" + tensor, graph_path, raw_file)["outputs"][0]["unequal"] == 0, f"ONNX type {kind} in {tensor}")
    brain = folder.write("brain.pb", proto_tensor(16, [2, 3], b"".join(struct.pack("<f", v)[2:] for v in values)))
    check(compared(0, "--input=" + x, "--expect=z=" + folder.write("z.pb", proto_tensor(16, [2, 3], b"".join(struct.pack("<f", abs(v))[2:] for v in values))),
                   path)["outputs"][0]["reference_type"] == "bfloat16", "bfloat16")
    good("run", path, brain)
    # Damaged ones.
    tensor = proto_tensor(1, [2, 3], floats(a))
    for data, words in ((b"", "type is 0"), (tensor[:-1], "no tensor of ONNX"), (b"\0" + tensor, "no tensor of ONNX"), (proto_tensor(8, [2, 3]), "its type is 8"),
                        (proto_tensor(14, [1], bytes(8)), "its type is 14"), (proto_tensor(99, [1], bytes(8)), "its type is 99"),
                        (proto_tensor(1, [2, 3], floats(a)[:-4]), "has not the data"), (proto_tensor(1, [2, 3]), "has not the data"),
                        (proto_tensor(1, [2, 3], more=field(4, floats(a) + bytes(4))), "has not the data"), (proto_tensor(7, [2 ** 31 - 1]), "has not the data"),
                        (proto_tensor(1, [2 ** 31]), "too large"), (proto_tensor(1, [2 ** 64 - 6], floats(a)), "too large"), (proto_tensor(1, [1] * 9, bytes(4)), "9 dimensions"),
                        (proto_tensor(7, [2], more=field(7, b"\x80" * 11)), "has not the data"), (proto_tensor(1, [2, 3], more=field(14, 1)), "in another file"),
                        (field(1, b"\1" * (1 << 18)) + field(2, 1), "262144 dimensions"), (b"noise" * 9, "no tensor of ONNX")):
        bad(1, words, "run", one, folder.write("bad.pb", data))
        bad(2, words, "compare", "--input=" + x, one, folder("bad.pb"))


def test_archives(folder):
    """Archives that are damaged or lie."""
    one = folder.graph(graph("y = neg(x);"))
    x = npy("<f4", (2, 3), bytes(24))
    path, y = folder("a.npz"), folder.write("y.npy", x)

    def refused(data, *words):
        folder.write("a.npz", data)
        for code, arguments in (1, ["run", one, path]), (2, ["compare", "--input=" + path, one, y]):
            result, _, error, peak = limited(*arguments)
            check(result == code and all(word in error for word in words), f"{arguments}: {result} {error!r} does not say {words}")
            check(SANITIZED or peak < 100 << 20, f"{arguments}: {peak >> 20} MiB")

    archives = []
    for how in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
        write_npz(path, {"x": x, "y": x}, how)
        with open(path, "rb") as file:
            archives.append(file.read())
        good("run", "--quiet", one, path)
        with zipfile.ZipFile(path, "w", how) as file:  # as numpy writes them
            with file.open("x.npy", "w", force_zip64=True) as entry:
                entry.write(x)
        good("run", "--quiet", one, path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", x)
        file.comment = b"PK" * 30000
    good("run", "--quiet", one, path)
    # The sizes of an entry and of the list of entries in 64 bits, as of archives of more than 4 GiB.
    name, size = b"x.npy", len(x)
    local = b"PK\3\4" + struct.pack("<5H3I2H", 45, 0, 0, 0, 0, zlib.crc32(x), 0xffffffff, 0xffffffff, len(name), 0) + name
    extra = struct.pack("<2H3Q", 1, 24, size, size, 0)
    entry = b"PK\1\2" + struct.pack("<6H3I5H2I", 45, 45, 0, 0, 0, 0, zlib.crc32(x), 0xffffffff, 0xffffffff, len(name), len(extra), 0, 0, 0, 0,
                                     0xffffffff) + name + extra
    begin = len(local) + size

    def large(entry=entry, count=1, length=None, begin=begin, far=None):
        length = len(entry) if length is None else length
        end = b"PK\6\6" + struct.pack("<Q2H2I4Q", 44, 45, 45, 0, 0, count, count, length, begin)
        far = len(local) + size + len(entry) if far is None else far
        return (local + x + entry + end + b"PK\6\7" + struct.pack("<IQI", 0, far, 1) +
                b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0))

    folder.write("a.npz", large())
    good("run", "--quiet", one, path)
    for data in (large(count=2), large(count=2 ** 60), large(begin=2 ** 63), large(length=2 ** 64 - 1), large(far=2 ** 64 - 1), large(far=0),
                 large(entry.replace(extra, struct.pack("<2H3Q", 1, 24, size, size, 2 ** 64 - 1))), large(entry.replace(extra, struct.pack("<2H3Q", 1, 24, 2 ** 63, 2 ** 63, 0))),
                 large(entry.replace(extra, struct.pack("<2H3Q", 1, 99, size, size, 0))), large(entry.replace(extra, struct.pack("<2H3Q", 2, 24, size, size, 0)))):
        refused(data, "a.npz", "damaged archive")
    for archive in archives:  # noise in all bytes: npz_noise.py
        refused(archive[:-1], "damaged archive")
        refused(archive[:30], "damaged archive")
        refused(archive[1:], "damaged archive")
        bent = bytearray(archive)
        bent[archive.index(b"PK\1\2") + 16] ^= 1
        refused(bytes(bent), "a.npz[x]: a damaged archive")
        bent = bytearray(archive)
        bent[archive.index(b"PK\1\2") + 8] |= 1
        refused(bytes(bent), "a.npz[x]: encrypted")
        bent = bytearray(archive)
        bent[archive.index(b"PK\1\2") + 10] = 12
        refused(bytes(bent), "compressed in an unknown way")
    for size in 2 ** 30, 2 ** 32 - 2:  # what a few bytes cannot be
        bent = bytearray(archives[1])
        bent[archives[1].index(b"PK\1\2") + 24:archives[1].index(b"PK\1\2") + 28] = struct.pack("<I", size)
        refused(bytes(bent), "are the most that are read" if size > 2 ** 30 else "damaged archive")
    refused(b"", "damaged archive")
    refused(b"PK\5\6" + bytes(18), "an archive of no arrays")
    write_npz(path, {}, zipfile.ZIP_STORED)
    bad(1, "an archive of no arrays", "run", one, path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme.txt", "nothing")
    bad(1, "an archive of no arrays", "run", one, path)
    write_npz(path, {"q": x})
    bad(1, "no file for the input x", "run", one, path)
    bad(2, "no output of the graph has a value", "compare", "--random", one, path)
    write_npz(path, {"x": npy("<f4", (2, 2), bytes(16))})
    bad(1, ["a.npz[x]: an array of shape [2, 2]", "[2, 3]"], "run", one, path)
    write_npz(path, {"x": b"noise"})
    bad(1, "a.npz[x]: not a .npy file", "run", one, path)
    bad(1, "an archive of arrays", "run", one, "x=" + path)


def test_images(folder):
    nchw = folder.graph(graph("y = identity(x);", inputs="x: f32[1, 3, 2, 2];"), "nchw.webnn")
    nhwc = folder.graph(graph("y = identity(x);", inputs="x: u8[1, 2, 2, 3];"), "nhwc.webnn")
    grey = folder.graph(graph("y = identity(x);", inputs="x: f32[1, 4];"), "grey.webnn")
    pixels = [255, 0, 0, 0, 255, 0, 0, 0, 255, 51, 102, 204]
    write_png(folder("a.png"), 2, 2, 3, pixels)
    with create(folder("a.ppm")) as file:
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
    with create(folder("broken.png")) as file:
        file.write(b"\x89PNG\r\n\x1a\nnonsense")
    bad(1, "broken.png", "run", nhwc, folder("broken.png"))
    with create(folder("broken.jpg")) as file:
        file.write(b"\xff\xd8\xff\xe0nonsense")
    bad(1, "broken.jpg", "run", nhwc, folder("broken.jpg"))
    with create(folder("broken.pgm")) as file:
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
    with create(image) as file:
        file.write(base64.b64decode(JPEG))
    good("run", "--output=" + folder("out.npy"), path, image)
    check(read_npy(folder("out.npy"))[2] == [200, 100, 50] * 4, "a JPEG image")
    result = subprocess.run(f"cat {image} | {WEBNN} run {path} /dev/stdin", shell=True, stdout=subprocess.PIPE, text=True)
    check("50 to 200: 200 100 50" in result.stdout, "an image from a pipe")
    for cut in 5, 100, 400:
        with create(image) as file:
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
    bad(1, "No space left", "graph", "--emit=webnn", "--weights-out=/dev/full", DIGITS_GRAPH)
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


def test_images_of_graphs(folder):
    """Images are what dot makes of the graph; where it is missing or fails, the program says so and fails."""
    def draw(path, *arguments):
        return subprocess.run([WEBNN, "graph", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                              env={**ENVIRONMENT, "PATH": path})

    bad(2, "expected text, dot, svg or png", "graph", "--format=pdf", DIGITS_GRAPH)
    bad(2, "--after=PASS", "graph", "--format=svg", "--after=all", DIGITS_GRAPH)
    result = draw(folder.name, "--format=svg", DIGITS_GRAPH)
    check(result.returncode == 1 and b"dot, a program of Graphviz, does not start: No such file" in result.stderr and not result.stdout,
          f"no dot: {result}")
    fake = folder("dot")
    for script, code, words in (("cat >/dev/null; exit 3", 1, "dot failed with status 3"), ("exit 3", 1, "dot failed with status 3"),
                                ("exec 0<&-; exit 0", 1, "before it had read"), ("kill -9 $$", 1, "signal 9"),
                                ("kill -13 $$", 1, "signal 13"), ("cat; echo $@", 0, "")):
        with open(fake, "w") as file:
            file.write(f"#!/bin/sh\nPATH={os.environ['PATH']}\n{script}\n")
        os.chmod(fake, 0o755)
        for model in [DIGITS_GRAPH] if "exec" not in script else []:
            result = draw(folder.name, "--format=svg", model)
            check(result.returncode == code and words in result.stderr.decode(), f"a dot that does {script!r}: {result}")
        result = draw(folder.name, "--format=svg", "chain:4000")  # more than a pipe holds
        check(result.returncode == code and words in result.stderr.decode(), f"a dot that does {script!r}: {result.stderr}")
        if code == 0:
            check(result.stdout.decode() == good("graph", "--format=dot", "chain:4000") + "-Tsvg\n", "dot gets the whole graph")
    if not shutil.which("dot"):
        print("skipped: images of graphs (no dot)")
        return
    for extra in ["--before"], ["--after=prune"], []:
        text = good("graph", "--format=svg", *extra, DIGITS_GRAPH)
        root = xml.etree.ElementTree.fromstring(text)
        shown = "".join(root.itertext())
        check(root.tag.endswith("}svg") and shown.count("conv2d") == 3 and "probabilities" in shown, f"an SVG image of the graph {extra}: {shown}")
    result = draw(os.environ["PATH"], "--format=png", DIGITS_GRAPH)
    check(result.returncode == 0 and result.stdout.startswith(b"\x89PNG") and b"IEND" in result.stdout[-12:], "a PNG image of the graph")
    path, _ = hostile_model(folder)
    text = good("graph", "--format=svg", path)
    check("\\u{1B}" in "".join(xml.etree.ElementTree.fromstring(text).itertext()), "hostile names in an image")
    for name in "&amp;<b>", "&#27;[31m&#x1b;]0;&#7;", "a\\\\N", "\\\"", "]]>", "{a|b}", "<<b>x</b>>":
        text = good("graph", "--format=svg", "--before", folder.graph(graph(f'"{name}" = relu(x);', outputs=f'"{name}"')))
        shown = "".join(xml.etree.ElementTree.fromstring(text).itertext())
        check(name.replace("\\\\", "\\").replace("\\\"", '"') in shown, f"the name {name} in an image: {shown!r}")


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
    check("No node makes" in good("run", "--quiet", "--find-nan", "--backend=dummy", graph, x), "zeros of a backend that computes nothing")


def test_find_nan_on_gpu(folder):
    """What the nodes of the model make one by one: the first, whatever the compiler would fuse."""
    gpu = run("run", "--random", "--quiet", "--backend=gpu", "relu:4")
    if gpu.returncode:
        print("skipped: NaN on a GPU:", gpu.stderr.strip())
        return
    x, path = folder("x.npy"), folder.graph(NAN_GRAPH)
    for values, words, others in (([1.0, 4.0, -1.0, 2.0], ['do not explain: nan, made by sqrt "rooted", element 2 of output 0, at [2] of float32[4]'], ["holds"]),
                                  ([1.0, 4.0, 1.0, 2.0], ["No node makes"], ["explain"]),
                                  ([1.0, float("nan"), 1.0, float("inf")], ["The input x holds a NaN (element 1)", "holds an infinity (element 3)", "No node makes"],
                                   ["explain"])):
        write_npy(x, "<f4", (4,), values)
        text = good("run", "--quiet", "--find-nan", "--backend=gpu", path, x)
        check(all(word in text for word in words) and not any(word in text for word in others), f"{values}: {text}")
    # Weights, beside a dump, and of float16.
    write_safetensors(folder("graph.safetensors"), {"w": ("F32", [4], struct.pack("<4f", 1, math.nan, 1, math.inf))})
    path = folder.graph(graph("t = mul(x, w); u = exp(t); y = relu(u); i = argMax(x, 0);", inputs="x: f32[4];", consts='w: f32[4] @weights("w");', outputs="y; i"))
    write_npy(x, "<f4", (4,), [500, 1, 2, 3])
    text = good("run", "--quiet", "--find-nan", "--backend=gpu", "--dump=all", "--dump-to=" + folder("dump"), path, x)
    check("The constant w holds a NaN (element 1)" in text and "The constant w holds an infinity (element 3)" in text and
          "comes of a constant: nan, made by mul" in text and "No node makes" in text, f"a constant: {text}")
    path = folder.graph(graph("t = mul(x, x); y = tanh(t);", inputs="x: f16[4];"))
    write_npy(x, "<f2", (4,), [1, 300, 2, 3])
    text = good("run", "--quiet", "--find-nan", "--backend=gpu", path, x)
    check('do not explain: inf, made by mul "t", element 1' in text, f"float16: {text}")


def test_bench_settings(folder):
    """How often, how many at once, on what: all of it is in the JSON, with what came of it."""
    path = folder.graph(graph("y = add(x, x); z = neg(x);", outputs="y; z"))
    line = json.loads(good("bench", "--json", "--iterations=40", "--warm-up=3", "--threads=2", path))
    wanted = {"graph": path, "name": "test", "backend": "cpu", "threads": 2, "iterations": 40, "runs": 40, "warm_up": 3, "repeats": 1,
              "in_flight": 1, "tensors": False, "strict": False, "fast": False, "version": good("--version").split()[1],
              "inputs": [{"name": "x", "type": "float32", "shape": [2, 3]}],
              "outputs": [{"name": name, "type": "float32", "shape": [2, 3]} for name in "yz"]}
    check({key: line.get(key) for key in wanted} == wanted, f"the settings of a benchmark: {line}")
    check(0 < line["min_ms"] <= line["median_ms"] <= line["p90_ms"] <= line["p99_ms"] <= line["max_ms"] and
          line["min_ms"] <= line["mean_ms"] <= line["max_ms"] and 0 <= line["deviation_ms"] <= line["max_ms"], f"times: {line}")
    check(line["device"] and line["spread_percent"] >= 0 and line["execution_bytes"] > 0 and line["device_bytes"] == 0, f"the rest: {line}")
    check(0 < line["runs_per_s"] <= 1000 / line["min_ms"], f"one at a time, no more than the fastest allow: {line}")
    # Matrices that take a while, so that the number in flight shows in how long each of them waits: on average it is what
    # arrives in a time, times how long it stays, also where a busy machine makes a few stay ten times as long.
    product = "matmul:384x384x384"
    line = json.loads(good("bench", "--json", "--iterations=30", "--in-flight=5", "--threads=1", product))
    check(line["in_flight"] == 5 and line["runs"] == 30 and line["runs_per_s"] * line["mean_ms"] > 2000,
          f"five in flight wait for each other: {line}")
    for extra in [], ["--in-flight=3"], ["--tensors"], ["--tensors", "--in-flight=3", "--repeats=4"], ["--warm-up=0"], ["--strict"], ["--fast"]:
        line = json.loads(good("bench", "--json", "--iterations=7", *extra, path))
        repeats = 4 if "--repeats=4" in extra else 1
        check(line["runs"] == 7 * repeats and line["repeats"] == repeats and line["tensors"] == ("--tensors" in extra) and
              line["strict"] == ("--strict" in extra) and line["fast"] == ("--fast" in extra) and line["first_ms"] > 0, f"{extra}: {line}")
    text = good("bench", "--iterations=5", path)
    check(all(word in text for word in ("median", "p99", "spread", "runs/s")) and text.split()[-1] == "5", f"a table: {text}")
    gpu = run("bench", "--json", "--iterations=5", "--backend=gpu", "--tensors", "--in-flight=2", path)
    if gpu.returncode:
        print("skipped: settings on a GPU:", gpu.stderr.strip())
    else:
        line = json.loads(gpu.stdout)
        check(line["runs"] == 5 and line["tensors"] and line["backend"] == "gpu", f"tensors of a GPU: {line}")
        check(line["peak_device_bytes"] >= line["device_bytes"] > 0 and line["device_memory_bytes"] > 0, f"memory of a GPU: {line}")
    bad(2, "either --time or --iterations", "bench", "--time=1", "--iterations=1", path)
    for option, values in (("iterations", ["0", "-1", "nan", "1.5", ""]), ("warm-up", ["-1", "nan", "1e3"]), ("repeats", ["0", "-3"]),
                           ("in-flight", ["0", "-1", "1025"])):
        for value in values:
            bad(2, f"--{option}={value}: expected a number from", "bench", f"--{option}={value}", path)


FUSED_GRAPH = """webnn_graph "fused" v1 {
  inputs { x: f32[1, 8, 8, 4]; }
  consts { w: f32[4, 3, 3, 4] @scalar(0.1); b: f32[4] @scalar(1); }
  nodes {
    first = conv2d(x, w, inputLayout="nhwc", filterLayout="ohwi", padding=[1, 1, 1, 1], bias=b);
    bent = relu(first);
    twice = exp(bent);
    again = exp(bent);
    same = identity(again);
    sum = add(twice, same);
    shares = softmax(sum, 3);
    squares = mul(w, w);
    second = conv2d(shares, squares, inputLayout="nhwc", filterLayout="ohwi", padding=[1, 1, 1, 1]);
    y = add(second, bent);
  }
  outputs { y }
}
"""


def test_profile_operators(folder):
    """What was fused is named in full, what is computed twice or when the graph is built is counted once or not at all."""
    path = folder.graph(FUSED_GRAPH)
    for backend in "cpu", "gpu":
        result = run("bench", "--json", "--iterations=3", "--profile", "--backend=" + backend, path)
        if result.returncode and backend == "gpu":
            print("skipped: operators of a GPU:", result.stderr.strip())
            continue
        line = json.loads(result.stdout)
        groups = [[operator["label"] for operator in entry["operators"]] for entry in line["profile_operators"]]
        check(["first", "bent"] in groups and ["second", "y"] in groups, f"{backend}: fused operators: {groups}")
        check(sorted(sum(groups, [])) == sorted(["first", "bent", "twice", "again", "same", "sum", "shares", "second", "y"]),
              f"{backend}: every operator once: {groups}")
        times = [entry["mean_ms"] for entry in line["profile_operators"]]
        check(times == sorted(times, reverse=True) and 50 < sum(entry["percent"] for entry in line["profile_operators"]) < 100.001,
              f"{backend}: the longest first, with shares: {line['profile_operators']}")
        check(abs(sum(times) - sum(node["mean_ms"] for node in line["profile"])) < 1e-6 * sum(times) and
              abs(sum(times) - sum(entry["mean_ms"] for entry in line["profile_types"])) < 1e-6 * sum(times), f"{backend}: sums")
        types = {tuple(entry["types"]): entry["times"] for entry in line["profile_types"]}
        check(types.get(("conv2d", "relu")) == 1 and types.get(("conv2d", "add")) == 1, f"{backend}: types: {types}")
        text = good("run", "--random", "--quiet", "--profile", "--backend=" + backend, path)
        check("conv2d first + relu bent" in text and "conv2d second + add y" in text and "squares" not in text, f"{backend}: {text}")
    text = good("run", "--random", "--quiet", "--profile", "--strict", path)
    check("conv2d second\n" in text and "add y\n" in text, f"what is not fused stands alone: {text}")
    # Operators of a format have its types, and nodes without a name that of their output.
    path = net_file(folder, [net_node("Gemm", ["x", "w"], "t", "first"), net_node("Selu", ["t"], "u"), net_node("ThresholdedRelu", ["u"], "v", "last")],
                      [net_value("x", 3, 4)], [net_value("v", 3, 2)], [net_tensor("w", (4, 2), range(8))])
    line = json.loads(good("bench", "--json", "--iterations=3", "--profile", path))
    operators = {operator["label"]: operator["type"] for entry in line["profile_operators"] for operator in entry["operators"]}
    check(operators == {"first": "Gemm", "u": "Selu", "last": "ThresholdedRelu"}, f"operators of ONNX: {operators}")
    # A kernel that the compiler adds is that of the operator that needs it.
    line = json.loads(good("bench", "--json", "--iterations=3", "--profile", "bert_layer"))
    added = [node for node in line["profile"] if node["added_by_compiler"]]
    check(added and all(node["operators"] for node in added), f"nodes of the compiler: {added}")
    check(any(len(entry["kernels"]) > 1 for entry in line["profile_operators"]), "operators with several kernels")


def protobuf(*fields):
    """A message: pairs of a field's number and an integer, text, bytes, or a list of integers, which is packed."""
    def varint(value):
        data = b""
        while value > 127:
            data, value = data + bytes([value & 127 | 128]), value >> 7
        return data + bytes([value])
    message = b""
    for number, value in fields:
        if isinstance(value, int):
            message += varint(number << 3) + varint(value)
            continue
        data = b"".join(map(varint, value)) if isinstance(value, list) else value if isinstance(value, bytes) else value.encode()
        message += varint(number << 3 | 2) + varint(len(data)) + data
    return message


def net_node(operation, inputs, output, name="", domain=""):
    return protobuf(*((1, text) for text in inputs), (2, output), (3, name), (4, operation), (7, domain))


def net_value(name, *shape, kind=1):
    """Of float32, or the kind 7, int64; dimensions are numbers or names."""
    dimensions = [(1, protobuf((2, size) if isinstance(size, str) else (1, size))) for size in shape]
    return protobuf((1, name), (2, protobuf((1, protobuf((1, kind), (2, protobuf(*dimensions)))))))


def net_tensor(name, shape, values):
    return protobuf((1, list(shape)), (2, 1), (8, name), (9, struct.pack(f"<{len(values)}f", *values)))


def net_file(folder, nodes, inputs, outputs, tensors=(), metadata=(), name="net"):
    """Writes a model; returns its path."""
    graph = protobuf(*((1, node) for node in nodes), (2, name), *((5, tensor) for tensor in tensors), *((11, value) for value in inputs),
                     *((12, value) for value in outputs))
    path = folder("model.onnx")
    with create(path) as file:
        file.write(protobuf((1, 8), (2, "maker" + HOSTILE), (3, "1.5"), (7, graph), (8, protobuf((1, ""), (2, 13))),
                            *((14, protobuf((1, key), (2, value))) for key, value in metadata)))
    return path


def test_shapes_of_inputs(folder):
    """Sizes that a model leaves open are those of the arrays that it gets."""
    two = net_file(folder, [net_node("Add", ["x", "w"], "t"), net_node("Mul", ["t", "v"], "y")],
                   [net_value("x", "rows", "columns"), net_value("v", "", "columns")], [net_value("y", "rows", "columns")],
                   [net_tensor("w", [1], [1.0])])
    x, v, out = folder("x.npy"), folder("v.npy"), folder("y.npy")
    write_npy(x, "<f4", (2, 3), range(6))
    write_npy(v, "<f4", (1, 3), (1, 2, 3))
    wanted = [1, 4, 9, 4, 10, 18]

    def gives(shape, values, *arguments):
        good("run", "--quiet", "--output=" + out, two, *arguments)
        check(read_npy(out) == ("<f4", shape, values), f"{arguments}: {read_npy(out)}")

    gives((2, 3), wanted, x, v)
    gives((2, 3), wanted, "v=" + v, x)
    gives((2, 3), wanted, "v=" + v, "x=" + x, "--dim=rows=2")
    write_npz(folder("all.npz"), {"v": npy("<f4", (1, 3), struct.pack("<3f", 1, 2, 3)), "x": npy("<f4", (2, 3), struct.pack("<6f", *range(6)))})
    gives((2, 3), wanted, folder("all.npz"))
    os.mkdir(folder("set"))
    folder.write("set/input_0.pb", proto_tensor(1, (2, 3), struct.pack("<6f", *range(6))))
    folder.write("set/input_1.pb", proto_tensor(1, (1, 3), struct.pack("<3f", 1, 2, 3)))
    gives((2, 3), wanted, folder("set"))
    compared(0, "--input=x=" + x, "--input=v=" + v, "--expect=y=" + out, two)
    folder.write("set/output_0.pb", proto_tensor(1, (2, 3), struct.pack("<6f", *wanted)))
    compared(0, two, folder("set"))
    os.remove(folder("set/output_0.pb"))
    bad(1, ["an array of shape [2, 3]", "has shape [4, 3]"], "run", "--dim=rows=4", two, x, v)
    bad(1, 'dimensions 0, 1 "columns" of input "v" have no values', "run", two, x)
    write_npy(v, "<f4", (3,), (1, 2, 3))
    bad(1, "an array of shape [3]; the input v has shape [?, columns]", "run", two, x, v)
    write_npy(v, "<f4", (1, 4), (1, 2, 3, 4))
    bad(1, "model.onnx: ", "run", two, x, v)
    # What no size would mend is told beside what is missing.
    odd = net_file(folder, [net_node("Neg", ["x"], "t"), net_node("Foo", ["t"], "y")], [net_value("x", "", "columns")],
                   [net_value("y", "", "columns")])
    bad(1, ['dimensions 0, 1 "columns" of input "x"', '(Foo): the operator is not supported', "2 reasons"], "run", odd)
    two = net_file(folder, [net_node("Add", ["x", "w"], "t"), net_node("Mul", ["t", "v"], "y")],
                   [net_value("x", "rows", "columns"), net_value("v", "", "columns")], [net_value("y", "rows", "columns")],
                   [net_tensor("w", [1], [1.0])])
    # What the model has not, and what is said twice.
    bad(1, "--dim=row: no input has a dimension of that name", "run", "--dim=row=2", "--random", two)
    bad(1, "--shape=z: the model has no input of that name", "run", "--shape=z=2x3", "--random", two)
    bad(1, "--dim=rows is given twice", "run", "--dim=rows=2", "--dim=rows=3", "--random", two)
    bad(1, "--shape=x is given twice", "run", "--shape=x=2x3", "--shape=x=2x3", "--random", two)
    bad(1, "the model has no input z", "run", "--value=z=1", "--random", two)
    # Two models are told of each other's inputs.
    compared(0, "--shape=x=2x3", "--shape=v=1x3", "--shape=z=4", "--value=w=1", two, two)
    # Several values for one input, one after the other.
    one = net_file(folder, [net_node("Neg", ["x"], "y")], [net_value("x", "", "columns")], [net_value("y", "", "columns")])
    write_npy(x, "<f4", (4, 1, 2), range(8))
    good("run", "--quiet", "--output=" + out, one, x)
    check(read_npy(out)[2] == [-i for i in range(8)], f"several values: {read_npy(out)}")
    write_npy(x, "<f4", (4, 0), ())
    good("run", "--quiet", "--output=" + out, one, x)
    check(read_npy(out)[1] == (4, 0), f"no values: {read_npy(out)}")
    bad(1, 'dimensions 0, 1 "columns" of input "x" have no values', "run", "--random", one)


def test_info_json(folder):
    """Everything that info says, as one JSON object; names that command a terminal are escaped in it."""
    def ask(*arguments, code=0):
        result = run("info", "--json", *arguments)
        check(result.returncode == code, f"info --json {arguments}: {result.returncode} {result.stderr}")
        hidden = {c for c in HOSTILE if not c.isascii() or c < " " or c == "\x7f"}
        check(result.stdout.count("\n") == 1 and not hidden & set(result.stdout[:-1]), f"info --json {arguments}: {result.stdout!r}")
        return json.loads(result.stdout)

    devices = ask()
    check({backend["name"]: backend["available"] for backend in devices["backends"]}.items() >= {"cpu": True, "dummy": True}.items(),
          f"backends: {devices}")
    processor = devices["devices"][0]
    check(devices["version"] == good("--version").split()[1] and processor["type"] == "cpu" and processor["name"] and
          processor["processors"] == len(os.sched_getaffinity(0)), f"devices: {devices}")
    gpus = [device for device in devices["devices"] if device["type"] == "gpu"]
    check(good("info").count("UUID") == len(gpus) and all(len(gpu["uuid"]) == 36 and "memory_bytes" in gpu for gpu in gpus), f"GPUs: {gpus}")

    limits = ask("--limits")
    table = read_limits(good("info", "--limits"))
    for operator in [{"name": "tensors", "operands": limits["tensors"]}, *limits["operators"]]:
        operands = {operand["name"]: (operand["optional"], operand["data_types"], operand["min_rank"], operand["max_rank"])
                    for operand in operator["operands"]}
        wanted = {name: (optional, sorted(types), *ranks) for name, (optional, types, *ranks) in table.pop(operator["name"]).items()}
        check({name: (optional, sorted(types), *ranks) for name, (optional, types, *ranks) in operands.items()} == wanted,
              f"limits of {operator['name']}: {operands}")
    check(not table and limits["max_tensor_bytes"] > 1 << 20 and limits["preferred_layout"] in ("nchw", "nhwc"), f"limits: {table}")

    digits = ask(DIGITS_GRAPH)
    check(digits["file"]["format"] == "WebNN" and digits["plan"]["backend"] == "cpu" and digits["plan"]["nodes"] > 0, f"a graph file: {digits}")
    text = good("info", DIGITS_GRAPH)
    for operator in digits["graph"]["operators"]:
        check(re.search(rf"^  {operator['name']} +{operator['count']} +yes", text, re.MULTILINE) and
              operator["targets"]["cpu"] == {"supported": True, "missing_types": []}, f"{operator} in {text}")
    check(f"{digits['graph']['constants']['parameters']} parameters in {digits['graph']['constants']['tensors']} tensors" in text,
          f"constants: {text}")

    path, name = hostile_model(folder)
    hostile = ask(path)
    check(hostile["path"] == path and name in [port["name"] for port in hostile["graph"]["outputs"]], f"names are kept: {hostile}")
    path = folder.graph(graph("y = neg(x);", inputs="x: u8[2, 3];"))
    refused = run("info", "--json", path)
    check(refused.returncode == 1 and "error" in json.loads(refused.stdout), f"a graph that cannot be recorded: {refused.stdout}")
    check("No such file" in ask("/nonexistent.onnx", code=1)["error"], "no file")

    symbol, odd = "batch" + HOSTILE, "odd" + HOSTILE
    path = net_file(folder, [net_node("Gemm", ["x", "w"], "t", "first"), net_node("Relu", ["t"], "y"), net_node("Relu", ["y"], "z"),
                               net_node("Mystery", ["t"], odd, domain="my.own")],
                      [net_value("x", symbol, 4)], [net_value("z", symbol, 2)], [net_tensor("w", (4, 2), range(8))],
                      [("author", 'a "quoted" \\ name'), ("key" + HOSTILE, "value" + HOSTILE)])
    model = ask(path, code=1)
    file = model["file"]
    check({key: file[key] for key in ("format", "format_version", "name", "producer", "producer_version", "nodes", "weight_bytes")} ==
          {"format": "ONNX", "format_version": 8, "name": "net", "producer": "maker" + HOSTILE, "producer_version": "1.5", "nodes": 4,
           "weight_bytes": 32}, f"what a model says of itself: {file}")
    check(file["inputs"] == [{"name": "x", "type": "float32", "operand_type": "float32", "shape": [symbol, 4]}], f"symbols: {file}")
    check({operator["name"]: (operator["domain"], operator["count"], operator["supported"]) for operator in file["operators"]} ==
          {"Gemm": ("", 1, True), "Relu": ("", 2, True), "Mystery": ("my.own", 1, False)}, f"operators: {file}")
    check(file["metadata"][0] == {"key": "author", "value": 'a "quoted" \\ name'} and file["metadata"][1]["value"] == "value" + HOSTILE,
          f"metadata: {file}")
    check("graph" not in model and [word in fault for word, fault in zip(("batch", "Mystery"), model["faults"])] == [True, True],
          f"why there is no graph: {model}")
    text = run("info", path)
    check(text.returncode == 1 and "batch\\u{1B}" in text.stdout and "not supported, of my.own" in text.stdout and
          "batch" in text.stderr, f"the same as text: {text}")
    path = net_file(folder, [net_node("Relu", ["x"], "y")], [net_value("x", "n", 4)], [net_value("y", "n", 4)])
    model = ask("--dim=n=3", path)
    check(model["graph"]["inputs"] == [{"name": "x", "type": "float32", "shape": [3, 4], "bytes": 48}] and
          model["graph"]["operators"][0]["name"] == "relu", f"a model with its dimensions: {model}")

    path = net_file(folder, [net_node("Mystery", ["x"], f"y{k}", f"a long name of a node, number {k}") for k in range(50)],
                    [net_value("x", 4)], [net_value("y49", 4)])
    refused = run("info", "--json", path)
    faults = json.loads(refused.stdout)["faults"]
    check(len(faults) == 50 and "number 49" in faults[49] and all(fault in refused.stderr for fault in faults) and
          json.loads(refused.stdout)["error"] == "50 reasons why it cannot be recorded", f"all nodes at once: {refused}")


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
        while True:
            try:
                with open(f"/proc/{process.pid}/status") as file:
                    peak[0] = max([peak[0]] + [int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM")])
            except OSError:
                pass
            if ended.wait(0.02):
                break

    ended, observer = threading.Event(), threading.Thread(target=watch, daemon=True)
    observer.start()
    killer = threading.Timer(seconds * (6 if SANITIZED else 1), process.kill)
    killer.start()
    out, err = process.stdout.read(), process.stderr.read()
    code = process.wait()
    ended.set()
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
    empty = folder("empty")
    os.mkdir(empty)
    x = folder("x.bin")
    with create(x) as file:
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
            ("its format is not known", None, 100, ["graph", "/dev/zero"]),
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
            ("no arrays in this folder", None, 100, ["run", one, empty]),
            ("Is a directory", None, 100, ["run", one, "x=" + empty]),
            ("Is a directory", None, 100, ["run", "--labels=" + folder.name, one, x]),
            ("is longer than 1048576 bytes", None, 100, ["bench", "--time=0.01", "--vs=cat /dev/zero", "relu:4"])):
        code, _, error, peak = limited(*arguments, feed=feed)
        check(code == 1 and words in error, f"{' '.join(arguments)}: {code} {error!r} does not say {words!r}")
        check(SANITIZED or peak < memory << 20, f"{' '.join(arguments)}: {peak >> 20} MiB, more than {memory}")
    zero = {}
    for name in "npz", "npy", "pb":
        zero[name] = folder("zero." + name)
        os.symlink("/dev/zero", zero[name])
        os.mkdir(folder("zero_" + name))
        os.symlink("/dev/zero", folder(f"zero_{name}/output_0.{name}"))
    big = proto_tensor(1, [2, 3], bytes(24))
    for words, feed, memory, arguments in (
            ("its format is not known", None, 100, ["run", "--random", "/dev/zero"]),
            ("its format is not known", zeros(), 100, ["run", "--random", "-"]),
            ("is longer than 67108864 bytes", zeros(text + b" " * 1000), 400, ["run", "--random", "-"]),
            ("is longer than 268435456 bytes", zeros(), 700, ["run", one, "-"]),
            ("is longer than 24 bytes", zeros(), 100, ["run", two, x, "-"]),
            (f"is longer than {len(array)} bytes", zeros(array), 100, ["run", one, "x=-"]),
            ("is longer than 4194304 bytes", zeros(), 100, ["run", "--labels=-", one, x]),
            ("not a .npy", zeros(), 100, ["run", "--expect=-", one, x]),
            ("damaged archive", None, 100, ["run", one, zero["npz"]]),
            ("no tensor of ONNX", None, 100, ["run", one, zero["pb"]]),
            ("no tensor of ONNX", None, 100, ["run", one, folder("zero_pb")]),
            ("no file for the input x", None, 100, ["run", one, folder("zero_npy")]),
            ("its format is not known", None, 100, ["compare", one, "/dev/zero"]),
            ("its format is not known", zeros(), 100, ["compare", "-", one]),
            ("is longer than 268435456 bytes", zeros(field(1, 8) + bytes(60)), 900, ["compare", "--input=x=-", one, one]),
            ("is longer than 268435456 bytes", zeros(image), 700, ["compare", "--input=-", one, one]),
            ("not a .npy", None, 100, ["compare", "--random", one, zero["npy"]]),
            ("damaged archive", None, 100, ["compare", "--random", one, zero["npz"]]),
            ("no tensor of ONNX", None, 100, ["compare", "--random", one, zero["pb"]]),
            ("no tensor of ONNX", None, 100, ["compare", "--random", one, folder("zero_pb")]),
            ("is longer than 268435456 bytes", zeros(b"PK\3\4"), 700, ["run", one, "/dev/stdin"]),
            ("not a .npy", zeros(big), 100, ["compare", "--random", "--expect=-", one])):
        code, _, error, peak = limited(*arguments, feed=feed)
        check(code == (2 if arguments[0] == "compare" else 1) and words in error, f"{arguments}: {code} {error!r} does not say {words!r}")
        check(SANITIZED or peak < memory << 20, f"{arguments}: {peak >> 20} MiB, more than {memory}")
    # A model without an end.
    code, _, error, peak = limited("run", "--random", "-", feed=zeros(proto_model([], [], [], [])), seconds=60)
    check(code == 1 and ("is longer than 1073741824 bytes" in error or "out of memory" in error.lower()), f"a model without an end: {code} {error}")
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
        with create(image) as file:
            file.write(jpeg_of_scans(64, 64, scans))
        result, _, error, _ = limited("run", path, image)
        check(result == code and (code == 0 or "scans" in error), f"{scans} scans: {result} {error}")
    with create(image) as file:
        file.write(jpeg_of_scans(8000, 8000, 704))
    result, _, error, peak = limited("run", path, image, seconds=10)
    check(result == 1 and "scans" in error, f"704 scans of a large image: {result} {error}")
    for words, data in (
            ("image", b"\xff\xd8\xff\xc0\0\x0b\x08\xff\xff\xff\xff\1\1\x11\0\xff\xda\0\x08\1\1\0\0\x3f\0"),
            ("too large", b"P5 32768 32768 255\n"), ("missing", b"P2 11000 11000 255\n1 2 3"),
            ("last pixel", b"P6 11000 11000 255\n")):
        with create(image) as file:
            file.write(data)
        result, _, error, peak = limited("run", path, image)
        check(result == 1 and words in error and (SANITIZED or peak < 100 << 20), f"{data[:20]}: {peak} {error}")
    # A PNG that says it is huge, and one that is and has few bytes.
    for width, height, words in (32768, 32768, "too large"), (2 ** 31 - 1, 1, "image"), (11000, 11000, "image"):
        with create(image) as file:
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
    with create(raw) as file:
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
    dump = ["--dump=all", "--dump-to=" + folder("d" + HOSTILE.replace("/", ""))]
    shown("run", "--random", *dump, path, says="t\\u{1B}")
    shown("run", "--random", "--dump=worse" + HOSTILE, path, code=1)
    shown("run", "--random", "--output=-", "--dump=x", "--dump-to=" + folder("d"), "--input=no" + HOSTILE, path, code=1)
    for extra in [], ["--nodes"], ["--nodes=all"], ["--json", "--nodes=all"]:
        shown("compare", "--with-strict", *extra, path)
        shown("compare", "--with-backend=dummy", *extra, path, code=1)
        shown("compare", *extra, path, folder("d" + HOSTILE.replace("/", "")), says="m\\u")
    report = json.loads(shown("compare", "--json", "--with-strict", path))
    check([output["name"] for output in report["outputs"]] == [name, "q" + HOSTILE], f"JSON keeps names: {report}")
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
    with create(folder("x.npy")) as file:
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
    for value in " -1", "\t-1", "-1", "+1", "nan", "":
        for option in "seed", "top", "repeat":
            bad(2, f"--{option}=", "run", f"--{option}={value}", DIGITS_GRAPH)
    path = net_file(folder, [net_node("Reshape", ["x", "s"], "y")], [net_value("x", 2, 3), net_value("s", 2, kind=7)], [net_value("y", "a", "b")])
    good("run", "--random", "--quiet", "--value=s=3,2", path)
    for value in "1.5,2", "nan,2", "inf,2", "1e30,2", "6,1x", ",6":
        bad(1, "--value=s=" + value + ": ", "run", "--random", "--quiet", "--value=s=" + value, path)
    for shape in "0", "-1", "4x-1", "99999999999", "4294967297", "nan", "", "x", "4x", "1x1x1x1x1x1x1x1x1", "65536x65536x65536x65536":
        for operator in "relu", "matmul", "matmul_uint4", "attention", "conv2d", "copy", "chain":
            code, _, error, peak = limited("bench", "--time=0.01", f"{operator}:{shape}")
            check(code == 1 and error.startswith("webnn: "), f"{operator}:{shape}: {code} {error}")
            check(SANITIZED or peak < 400 << 20, f"{operator}:{shape}: {peak >> 20} MiB")
    # Sanitizers get as much memory as there is.
    for shape in "x".join(["10000000" if SANITIZED else "100000"] * 3), "1x4294967264x4294967295":
        for operator in "matmul", "matmul_uint4", "attention":
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
    # Constants that are fused into a node, and those that operators make of others.
    path = folder.graph(graph('t = conv2d(x, w, inputLayout="nhwc", filterLayout="ohwi"); s = add(t, w2); y = cos(s);', inputs="x: f32[1, 4, 4, 32];",
                              consts='w: f32[16, 1, 1, 32] @scalar(0.1); w2: f32[1, 4, 4, 16] @weights("w");'))
    values = [1.0] * 256
    values[9] = values[200] = math.nan
    values[100] = -math.inf
    write_safetensors(folder("graph.safetensors"), {"w": ("F32", [1, 4, 4, 16], struct.pack("<256f", *values))})
    text = good("run", "--random", "--quiet", "--find-nan", path)
    check("The constant w2 holds a NaN (element 9) at [0, 0, 0, 9]; 2 of its 256 elements are NaN." in text and
          "The constant w2 holds an infinity (element 100) at [0, 1, 2, 4]; 1 of its 256 elements are infinite." in text and
          re.search(r'comes of a constant: nan, made by conv2d "t" \(node 0: conv2d t \+ add s\), element 9 of output 0, at \[0, 0, 0, 9\]', text),
          f"a constant that is fused into a node: {text}")
    check("No node makes" in text, f"the constant explains the rest: {text}")
    path = net_file(folder, [net_node("MatMul", ["x", "w" + HOSTILE], "y", "product")], [net_value("x", 3, 4)], [net_value("y", 3, 2)],
                      [net_tensor("w" + HOSTILE, (4, 2), [1, 2, 3, math.nan, 5, math.nan, math.inf, 8])])
    text = good("run", "--random", "--quiet", "--find-nan", path)
    check(re.search(r"constant w\\u\{1B\}.* holds a NaN \(element 3\) at \[1, 1\]; 2 of its 8 elements are NaN", text) and
          "an infinity (element 6) at [3, 0]; 1 of its 8" in text and 'matmul "product" (node 0: MatMul product)' in text and
          "No node makes" in text, f"a constant of ONNX: {text}")
    path = folder.graph(graph("r = sqrt(c); t = cos(r); y = add(x, t);", inputs="x: f32[4];", consts="c: f32[4] @scalar(-1);"))
    text = good("run", "--random", "--quiet", "--find-nan", path)
    check('do not explain: nan, made by sqrt "r"' in text and "holds" not in text, f"a NaN that is made of constants: {text}")


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
                with create(path) as file:
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


# ----------------------------------------------------------------------------------------------------------------
# Converting
# ----------------------------------------------------------------------------------------------------------------

def weights_graph(folder, tensors, nodes, inputs, outputs, name="model"):
    """A graph file with random weights; tensors: name -> (data type in graph files, shape)."""
    numbers = random.Random(name)
    codes = {"f32": ("F32", "f"), "f16": ("F16", "e")}
    write_safetensors(folder(name + ".safetensors"), {
        key: (codes[kind][0], shape, struct.pack(f"<{math.prod(shape)}{codes[kind][1]}",
                                                 *(numbers.gauss(0, 0.1) for _ in range(math.prod(shape)))))
        for key, (kind, shape) in tensors.items()})
    consts = " ".join(f'{key}: {kind}{shape} @weights("{key}");' for key, (kind, shape) in tensors.items())
    return folder.graph(graph(nodes, outputs=outputs, inputs=inputs, consts=consts), name + ".webnn")


def convert(source, out, *options):
    """What --json says, with constants by name and differences by output."""
    said = json.loads(good("convert", "--json", *options, source, out))
    said["constants"] = {constant.get("name"): constant for constant in said["constants"]}
    said["differences"] = {difference["output"]: difference for difference in said.get("differences", [])}
    return said


def is_near(said, relative, what):
    for name, difference in said["differences"].items():
        check(difference["relative"] is not None and difference["relative"] <= relative and
              difference["cosine"] > 1 - relative, f"{what}: {name} {difference}")
    check(said["differences"], f"{what}: compared")


def test_convert(folder):
    out = folder("out.webnn")
    good("convert", DIGITS_GRAPH, out)
    check(sorted(os.listdir(folder.name)) == ["out.safetensors", "out.webnn"], "convert writes two files")
    outputs = []
    for path in DIGITS_GRAPH, out:
        good("run", "--quiet", "--output=" + folder("out.npy"), path, os.path.join(DIGITS, "test.npy"))
        outputs.append(read_npy(folder("out.npy")))
    check(outputs[0] == outputs[1], "the converted network gives the same bits")
    text = good("convert", "--weights=int8", "--verbose", DIGITS_GRAPH, folder("small.webnn"))
    for words in ("becomes int8, scales", ": bias of conv2d", "constants converted", "difference", "probabilities"):
        check(words in text, f"convert --verbose says {words}: {text}")
    check("difference" not in good("convert", "--weights=int8", "--no-compare", DIGITS_GRAPH, folder("small.webnn")),
          "--no-compare")
    again = convert(folder("small.webnn"), folder("again.webnn"), "--weights=int8")
    check(again["converted"] == 0, "what is int8 stays as it is")
    images = os.path.join(DIGITS, "images", "digit3.png")
    seeds = [convert(DIGITS_GRAPH, folder("s.webnn"), "--weights=int8", *options)["differences"]["probabilities"]
             for options in ([], ["--seed=1"], ["--seed=2"], ["--input=" + images], ["--input=image=" + images])]
    check(seeds[0] == seeds[1] != seeds[2] and seeds[2] != seeds[3] == seeds[4], f"--seed and --input: {seeds}")
    built_in = convert("matmul:2x256x128", folder("built.webnn"), "--weights=uint4:64")
    check(built_in["converted"] == 1 and "[4, 128]" in good("info", folder("built.webnn")) + str(built_in),
          f"a built-in architecture: {built_in}")
    other = folder("elsewhere.bin")
    good("convert", "--weights-out=" + other, DIGITS_GRAPH, folder("apart.webnn"))
    check(not os.path.exists(folder("apart.safetensors")) and "probabilities" in
          good("info", "--weights=" + other, folder("apart.webnn")), "--weights-out")
    check("probabilities" in good("convert", "--weights-in=" + other, folder("apart.webnn"), folder("whole.webnn"))
          + good("info", folder("whole.webnn")), "--weights-in")
    for code, words, *arguments in (
            (2, "which graph?",), (2, "which file is to be written?", DIGITS_GRAPH),
            (2, "one graph at a time", DIGITS_GRAPH, out, out),
            (2, "what can be written is NAME.webnn", DIGITS_GRAPH, folder("out.onnx")),
            (2, "expected float16, int8, int8:BLOCK, uint4 or uint4:BLOCK", "--weights=x.safetensors", DIGITS_GRAPH, out),
            (2, "expected float16", "--weights=float16:32", DIGITS_GRAPH, out),
            (2, "expected a number from 2", "--weights=uint4:0", DIGITS_GRAPH, out),
            (2, "expected a number from 1", "--seed=0", DIGITS_GRAPH, out),
            (1, "expected NAME=FILE", "--weights=int8", "--input=y=" + images, DIGITS_GRAPH, out),
            (1, "No such file", folder("none.webnn"), out)):
        bad(code, words, "convert", *arguments)


def onnx(number, *contents):
    """A field of a message: its number and a number, text, bytes or fields."""
    def varint(value):
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)
    if isinstance(contents[0], int):
        return varint(number << 3) + varint(contents[0])
    data = b"".join(part.encode() if isinstance(part, str) else part for part in contents)
    return varint(number << 3 | 2) + varint(len(data)) + data


def test_convert_onnx(folder):
    def value(number, name, *dims):
        shape = b"".join(onnx(1, onnx(1, dim) if isinstance(dim, int) else onnx(2, dim)) for dim in dims)
        return onnx(number, onnx(1, name), onnx(2, onnx(1, onnx(1, 1), onnx(2, shape))))

    def write(name, *where):
        tensor = onnx(5, onnx(1, 64), onnx(1, 32), onnx(2, 1), onnx(8, "w"), *where)
        node = onnx(1, onnx(1, "x"), onnx(1, "w"), onnx(2, "y"), onnx(3, "dense"), onnx(4, "MatMul"))
        with create(folder(name)) as file:
            file.write(onnx(1, 8) + onnx(8, onnx(2, 17)) +
                       onnx(7, node, onnx(2, "net"), tensor, value(11, "x", "batch", 64), value(12, "y", "batch", 32)))
    weights = struct.pack("<2048f", *(math.sin(i) for i in range(64 * 32)))
    write("model.onnx", onnx(9, weights))
    write("external.onnx", onnx(13, onnx(1, "location"), onnx(2, "out.safetensors")), onnx(14, 1))
    with create(folder("out.safetensors")) as file:
        file.write(weights)
    out = folder("out.webnn")
    bad(1, "is read for", "convert", "--dim=batch=3", folder("external.onnx"), out)
    said = convert(folder("external.onnx"), folder("other.webnn"), "--dim=batch=3", "--weights=int8")
    check(said["converted"] == 1, f"weights in a file beside the model: {said}")
    bad(1, "batch", "convert", folder("model.onnx"), out)
    check(not os.path.exists(out), "a model that cannot be read leaves no file")
    for form, worst in ("float16", 1e-3), ("int8", 0.02), ("uint4", 0.2):
        said = convert(folder("model.onnx"), out, "--dim=batch=3", "--weights=" + form)
        check(said["converted"] == 1 and said["expanded"] == 0, f"{form}: {said}")
        is_near(said, worst, form)
        check("[3, 64]" in good("info", out), "the dimension is fixed")


def test_convert_weights(folder):
    """Every way in which weights are read, with sizes that blocks do not divide."""
    source = weights_graph(folder, {
        "table": ("f32", [300, 64]), "w37": ("f32", [64, 37]), "w131": ("f32", [37, 131]), "w1000": ("f32", [131, 1000]),
        "half": ("f16", [1000, 33]), "batched": ("f32", [3, 20, 33]), "both": ("f16", [40, 33]),
        "filter": ("f32", [32, 3, 3, 5]), "bias": ("f32", [1000]), "summand": ("f32", [20, 1000]), "tiny": ("f32", [33, 4])},
        """e = gather(table, i); a = matmul(e, w37); b = gemm(a, w131); c = gemm(b, w1000, c=bias); d = add(c, summand);
        wide = cast(half, dataType="float32"); f = matmul(d, wide); back = transpose(table); y = matmul(e, back);
        turned = transpose(batched, permutation=[0, 2, 1]); z = matmul(f, turned); s = matmul(f, tiny);
        bothwide = cast(both, dataType="float32"); v = gather(bothwide, i); q = gather(both, i);
        k = conv2d(image, filter, filterLayout="ohwi", inputLayout="nhwc");""",
        "i: i32[20]; image: f32[1, 9, 9, 5];", "y; z; s; v; q; k")
    blocks = {"float16": {}, "int8": {"table": [300, 1], "w37": [1, 37], "half": [1, 33], "batched": [3, 20, 1],
                                      "filter": [32, 1, 1, 1], "both": [40, 1]},
              # 37 terms are one block; no number near 32 divides 131.
              "int8:32": {"table": [300, 2], "w37": [2, 37], "w131": [1, 131], "w1000": [1, 1000], "half": [40, 33],
                          "filter": [32, 1, 1, 1]},
              "uint4": {"table": [300, 1], "w37": [2, 37], "w131": [1, 131], "w1000": [1, 1000], "half": [40, 33],
                        "filter": [32, 1, 1, 1], "batched": [3, 20, 1]}}
    for form, worst in ("float16", 2e-3), ("int8", 0.04), ("int8:32", 0.04), ("uint4", 0.35):
        said = convert(source, folder("out.webnn"), "--weights=" + form)
        constants = said["constants"]
        is_near(said, worst, form)
        for name, scale in blocks[form].items():
            check(constants[name].get("scale_shape") == scale, f"{form}: {constants[name]}")
        for name, reason in ("bias", "c of gemm"), ("summand", "b of add"), ("tiny", "it is small"):
            check(constants[name]["reason"] == reason and constants[name]["type"] == "float32", f"{form}: {constants[name]}")
        check(said["bytes"] == sum(constant["bytes"] for constant in constants.values()) < 0.7 * said["bytes_before"],
              f"{form}: bytes {said['bytes']}")
        plan = good("graph", folder("out.webnn"))
        check(said["expanded"] == 0 and plan.count("matmul(") + plan.count("gemm(") == 7, f"{form}: {said['expanded']} {plan}")
        if form != "float16":
            check(len(re.findall(r"(?:gemm|matmul)\(t\d+, dequantizeLinear\(c", plan)) == 5,
                  f"{form}: products read integers: {plan}")
    types = {name: constant["type"] for name, constant in constants.items()}
    check(types["w37"] == types["half"] == types["filter"] == "uint4", f"uint4: {types}")
    check(types["table"] == types["w1000"] == "int8" and "gather" in constants["table"]["reason"] and
          "block" in constants["w1000"]["reason"], f"what takes the place of uint4: {constants}")
    size = convert(source, folder("out.webnn"), "--weights=int8", "--min-elements=100000")
    check(size["converted"] == 1, f"--min-elements: {size}")


def test_convert_networks(folder):
    chain = " ".join(f"t{i} = matmul(r{i}, w{i}); r{i + 1} = relu(t{i});" for i in range(4))
    mlp = weights_graph(folder, {f"w{i}": ("f32", [a, b]) for i, (a, b) in enumerate([(96, 200), (200, 77), (77, 96), (96, 64)])},
                        "r0 = identity(x); " + chain, "x: f32[5, 96];", "r4", "mlp")
    attention = weights_graph(
        folder, {name: ("f32", [96, 96]) for name in "qkvo"} | {"up": ("f32", [96, 384]), "down": ("f32", [384, 96])},
        """a = matmul(x, q); b = matmul(x, k); c = matmul(x, v); bt = transpose(b, permutation=[0, 2, 1]); d = matmul(a, bt);
        e = softmax(d, 2); f = matmul(e, c); g = matmul(f, o); h = add(x, g); u = matmul(h, up); w = gelu(u); z = matmul(w, down);
        y = add(h, z);""", "x: f32[1, 20, 96];", "y", "attention")
    half = weights_graph(folder, {"w": ("f16", [64, 128]), "f": ("f16", [64, 16, 3, 3])},
                         "y = matmul(x, w); z = conv2d(p, f);", "x: f16[4, 64]; p: f16[1, 16, 8, 8];", "y; z", "half")
    recurrent = weights_graph(
        folder, {"w": ("f32", [1, 512, 80]), "r": ("f32", [1, 512, 128]), "b": ("f32", [1, 512])},
        "[y, c] = lstm(x, w, r, 5, 128, bias=b, activations=[sigmoid, tanh, tanh]);", "x: f32[5, 2, 80];", "y; c", "lstm")
    for source, weights in (mlp, 4), (attention, 6), (half, 2), (recurrent, 2):
        what = os.path.basename(source)
        for form, worst in ("float16", 2e-3), ("int8", 0.03), ("int8:16", 0.03), ("uint4", 0.3), ("uint4:16", 0.25):
            said = convert(source, folder("out.webnn"), "--weights=" + form)
            if what == "half.webnn" and form == "float16":
                check(said["converted"] == 0, f"float16 already: {said}")
                continue
            is_near(said, worst, f"{what} {form}")
            # A recurrent network reads no integers, but floats that are made once.
            check(said["converted"] == weights and said["expanded"] == 0, f"{what} {form}: {said}")
    errors = [convert(mlp, folder("out.webnn"), "--weights=" + form)["differences"]["r4"]["rms"]
              for form in ("float16", "int8", "uint4:16", "uint4:200")]
    check(errors == sorted(errors), f"fewer bits and larger blocks are less precise: {errors}")


def test_convert_numbers(folder):
    """Numbers that do not fit."""
    def weights(name, values):
        return {name: ("F32", [len(values) // 32, 32], struct.pack(f"<{len(values)}f", *values))}
    plain = [math.sin(i) for i in range(1024)]
    tensors = {**weights("nan", [math.nan] + plain[1:]), **weights("huge", [1e30] + plain[1:]),
               **weights("tiny", [value * 1e-20 for value in plain]), **weights("zero", [0] * 1024),
               **weights("column", [0 if i % 32 == 7 else value for i, value in enumerate(plain)])}
    write_safetensors(folder("n.safetensors"), tensors)
    source = folder.graph(graph(" ".join(f"y_{name} = matmul(x, {name});" for name in tensors), inputs="x: f32[2, 32];",
                                outputs="; ".join(f"y_{name}" for name in tensors),
                                consts=" ".join(f'{name}: f32[32, 32] @weights("{name}");' for name in tensors)), "n.webnn")
    expected = {"float16": {"nan": "finite", "huge": "float16 does not", "tiny": "float16 does not"},
                "int8": {"nan": "finite"}, "uint4": {"nan": "finite"}}
    for form, reasons in expected.items():
        said = convert(source, folder("out.webnn"), "--weights=" + form)
        for name, constant in said["constants"].items():
            check(reasons.get(name, "") in constant.get("reason", "") and (constant["type"] == "float32") == (name in reasons),
                  f"{form}: {name} {constant}")
        for name in "zero", "column", "nan":
            check(said["differences"]["y_" + name]["relative"] < (0.3 if form == "uint4" else 0.02),
                  f"{form} {name}: {said['differences']}")
        check(said["differences"]["y_zero"]["max"] == 0, f"{form}: zeros stay zeros")


def test_convert_files(folder):
    """Nothing that is read is replaced, and nothing is half written."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    good("convert", DIGITS_GRAPH, folder("a.webnn"))
    with open(folder("a.safetensors"), "rb") as file:
        before = file.read()
    os.symlink(folder("a.webnn"), folder("link.webnn"))
    os.link(folder("a.webnn"), folder("hard.webnn"))
    os.mkdir(folder("folder.webnn"))
    for words, *arguments in (
            ("is read for", folder("a.webnn"), folder("a.webnn")), ("is read for", folder("a.webnn"), folder("hard.webnn")),
            ("is read for", "--weights-out=" + folder("a.safetensors"), folder("a.webnn"), folder("b.webnn")),
            ("is read for", "--weights-out=" + folder("a.webnn"), folder("a.webnn"), folder("b.webnn")),
            ("two files", "--weights-out=" + folder("b.webnn"), folder("a.webnn"), folder("b.webnn")),
            ("no regular file", folder("a.webnn"), folder("link.webnn")),
            ("no regular file", DIGITS_GRAPH, folder("folder.webnn")),
            ("No such file", DIGITS_GRAPH, folder("none/b.webnn")),
            ("No such file", "--weights-out=" + folder("none/b"), DIGITS_GRAPH, folder("b.webnn"))):
        bad(1, words, "convert", "--weights=int8", *arguments)
    result = subprocess.run([WEBNN, "convert", DIGITS_GRAPH, folder("b.webnn")], capture_output=True, text=True,
                            env=ENVIRONMENT, preexec_fn=limit, timeout=300)
    check(result.returncode == 1 and "too large" in result.stderr, f"a full disk: {result.stderr}")
    check(sorted(os.listdir(folder.name)) == ["a.safetensors", "a.webnn", "folder.webnn", "hard.webnn", "link.webnn"],
          f"nothing is left of what failed: {os.listdir(folder.name)}")
    with open(folder("a.safetensors"), "rb") as file:
        check(file.read() == before, "weights stay what they are")
    good("convert", DIGITS_GRAPH, folder("b.webnn"))
    good("convert", "--weights=int8", DIGITS_GRAPH, folder("b.webnn"))
    check("int8" in good("graph", "--before", folder("b.webnn")), "an older result is replaced")
    check(not [name for name in os.listdir(folder.name) if name.endswith(".tmp")], "no temporary files are left")


def test_convert_names(folder):
    """Names that take others' places, and what a terminal would obey."""
    name = "w\\u{1B}[31m"
    write_safetensors(folder("n.safetensors"), {"w": ("F32", [32, 64], bytes(8192)), "v": ("F32", [64, 32], bytes(8192))})
    source = folder.graph(
        graph(f'"{name}.int8" = matmul(x, "{name}"); "{name}.scale" = matmul("{name}.int8", v); "v.int8" = relu("{name}.scale");',
              outputs=f'"{name}.scale"; "v.int8"', inputs="x: f32[1, 32];",
              consts=f'"{name}": f32[32, 64] @weights("w"); v: f32[64, 32] @weights("v");'), "n.webnn")
    text = good("convert", "--weights=int8", "--verbose", source, folder("out.webnn"))
    check("2 of 2 constants converted" in text, f"names that are taken: {text}")
    good("run", "--random", "--quiet", folder("out.webnn"))
    check("\x1b" not in good("convert", "--weights=int8", "--json", source, folder("out.webnn")), "JSON of such names")


def test_convert_models(folder):
    if not MODELS or not os.path.isdir(MODELS):
        print("skipped: larger models (no folder of them)")
        return
    out = folder("out.webnn")
    lenet, mobilenet, squeezenet = (os.path.join(MODELS, name) for name in ("lenet", "mobilenet_v2", "squeezenet1.1"))
    for form, smaller in ("float16", 0.51), ("int8", 0.27), ("uint4", 0.17):
        said = convert(os.path.join(lenet, "lenet.onnx"), out, "--weights=" + form)
        check(said["bytes"] < smaller * said["bytes_before"] and said["expanded"] == 0, f"LeNet {form}: {said}")
        for digit in range(10):
            text = good("run", "--top=1", out, os.path.join(lenet, f"digit{digit}.pgm"))
            check(text.split()[-1] == f"#{digit}", f"LeNet of {form} sees {digit}: {text}")
    with open(os.path.join(mobilenet, "expected.f32"), "rb") as file:
        expected = struct.unpack("<1000f", file.read())
    for form in "float16", "int8":
        said = convert(os.path.join(mobilenet, "mobilenet_v2.webnn"), out, "--weights=" + form,
                       "--input=" + os.path.join(mobilenet, "input_nhwc.f32"))
        check(said["expanded"] == 0, f"MobileNetV2 {form}: {said}")
        is_near(said, 0.2, f"MobileNetV2 {form}")
        good("run", "--quiet", "--output=" + folder("out.f32"), out, os.path.join(mobilenet, "input_nhwc.f32"))
        with open(folder("out.f32"), "rb") as file:
            got = struct.unpack("<1000f", file.read())
        check(got.index(max(got)) == expected.index(max(expected)), f"MobileNetV2 of {form}: {got.index(max(got))}")
        convert(os.path.join(squeezenet, "squeezenet1.1.webnn"), out, "--weights=" + form, "--no-compare")
        for i in 0, 1:
            good("run", "--quiet", "--output=" + folder("out.npy"), out, os.path.join(squeezenet, f"input{i}.npy"))
            got = read_npy(folder("out.npy"))[2]
            check(got.index(max(got)) == 490, f"SqueezeNet of {form} on input {i}: {got.index(max(got))}")


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
