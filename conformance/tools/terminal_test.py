# SPDX-License-Identifier: Apache-2.0
"""Checks that the webnn program shows names of models, of ONNX and .webnn, as text: whatever is in them, nothing of it
commands the terminal or begins a line, and what cannot be recorded is told a line for each node.

usage: terminal_test.py WEBNN

Exit status 77: python3-onnx is missing.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

WEBNN = sys.argv[1]
# A color, a title, a line that looks like another message, deletion, C1, directions of text, what nobody sees.
HOSTILE = "\033[31m\033]0;title\a\nwebnn: all is well\r\x7f\u009b1m\u202egnp.\u2066\u061c\u200b\u2028\U000e0041"
HIDDEN = {c for c in HOSTILE if not c.isascii() or c < " " or c == "\x7f"} - {"\n"}
# Where a sanitizer finds something, the exit code is none that the program has.
ENVIRONMENT = {**os.environ, "UBSAN_OPTIONS": "exitcode=99:halt_on_error=1",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":exitcode=99:handle_sigill=1"}
problems = []


def check(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED:", what)


def run(codes, *arguments):
    """What a command prints, all of it; it ends with that exit code, or one of these."""
    codes = codes if isinstance(codes, tuple) else (codes,)
    result = subprocess.run([WEBNN, *arguments], capture_output=True, text=True, errors="surrogateescape", timeout=300,
                            check=False, env=ENVIRONMENT)
    words = result.stdout + result.stderr
    check(result.returncode in codes, f"{arguments!r}: exit code {result.returncode}, expected {codes}: {words!r}")
    check(not HIDDEN & set(words), f"{arguments!r}: {sorted(HIDDEN & set(words))} in {words!r}")
    check(not any(line.startswith("webnn: all is well") for line in words.splitlines()), f"{arguments!r}: a forged line: {words!r}")
    return words


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "graph" + HOSTILE, [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("domain" + HOSTILE, 1)],
                              producer_name="producer" + HOSTILE, producer_version="1" + HOSTILE, doc_string="text" + HOSTILE)
    helper.set_model_props(model, {"key" + HOSTILE: "value" + HOSTILE})
    onnx.save(model, path)
    return str(path)


def name(letter):
    return letter + HOSTILE


def check_good(folder):
    path = save(folder / "good.onnx",
                [helper.make_node("MatMul", [name("x"), name("w")], [name("m")], name=name("product")),
                 helper.make_node("Add", [name("m"), "b"], [name("s")], name=name("sum")),
                 helper.make_node("Softmax", [name("s")], [name("y")], name=name("softmax")),
                 helper.make_node("Identity", [name("y")], [name("z")], name=name("identity"))],
                [(name("x"), [2, 3])], [name("y"), name("z")],
                [helper.make_tensor(name("w"), TensorProto.FLOAT, [3, 2], [1, 2, 3, 4, 5, float("nan")]),
                 helper.make_tensor("b", TensorProto.FLOAT, [2], [1, 2])])
    again = str(folder / "again.webnn")
    emitted = subprocess.run([WEBNN, "graph", "--emit=webnn", "--weights-out=" + again[:-6] + ".safetensors", path],
                             capture_output=True, text=True, check=True).stdout
    pathlib.Path(again).write_text(emitted, encoding="utf-8")
    for model in path, again:
        for words in ["info"], ["graph"], ["graph", "--before"], ["graph", "--format=dot"], ["graph", "--after=all"], \
                ["graph", "--emit=webnn", "--weights-out=" + str(folder / "out.safetensors")], ["run", "--random"], \
                ["run", "--random", "--profile"], ["run", "--random", "--find-nan"], ["run", "--random", "--draw"], \
                ["bench", "--time=0.01"], ["bench", "--time=0.01", "--profile"], ["bench", "--time=0.01", "--report=/dev/stdout"], \
                ["bench", "--time=0.01", "--json", "--profile"], ["info", "--json"], ["compare", "--nodes=all", "--with-strict"], \
                ["compare", "--json", "--nodes=all", "--with-strict"], ["run", "--random", "--dump=all", "--dump-to=" + str(folder / "dump")]:
            # What a NaN among weights does to others is not the same with --strict.
            text = run((0, 1) if words[0] == "compare" else 0, *words, model)
            if words == ["info"]:
                check("x\\u{1B}" in text and "graph\\u{1B}" in text, f"info escapes names: {text!r}")
            if "--json" in words:
                check(text.startswith("{") and json.loads(text), f"JSON: {text!r}")
        run(0, "convert", "--weights=int8", "--min-elements=1", "--verbose", model, str(folder / "converted.webnn"))
        run(0, "compare", "--random", f"--expect={folder / 'dump'}", "--tolerance=1e30", model)
        text = run(1, "run", model)
        check("no file for the input x\\u{1B}[31m" in text and "\\u{A}" in text and text.count("\n") == 1, f"one message, one line: {text!r}")
        run(1, "run", "--random", "--output=" + str(folder / "y.npy"), model)
        run(0, "run", "--random", "--quiet", f"--output={name('y')}={folder / 'y.npy'}", f"--trace={folder / 'trace.json'}", model)
        trace = folder / "trace.json"
        check(trace.exists() and not HIDDEN & set(trace.read_text(encoding="utf-8")), "a trace has no such characters")
    run(1, "run", "--random", f"--shape={name('x')}=2x4", again)


def check_bad(folder):
    path = save(folder / "bad.onnx",
                [helper.make_node(name("Nonsense"), [name("x")], [name("a")], name=name("first")),
                 helper.make_node("Relu", [name("x")], [name("b")], name=name("second"), domain="domain" + HOSTILE),
                 helper.make_node("Reshape", [name("x"), "shape"], [name("c")], name=name("third")),
                 helper.make_node("MatMul", [name("x"), name("x")], [name("d")], name=name("fourth"))],
                [(name("x"), [2, 3])], [name(letter) for letter in "abcd"],
                [helper.make_tensor("shape", TensorProto.INT64, [1], [7])])
    graph = folder / "bad.webnn"
    quoted = '"' + HOSTILE.replace("\n", "\\u{A}") + '"'
    graph.write_text('webnn_graph "bad" v1 { inputs { x: f32[2]; } nodes {\n'
                     f'{quoted} = reshape(x, [7]); a = relu("q{quoted[1:]}); b = elu(x, "{quoted[1:]}); c = cast(x, {quoted});\n'
                     f'd = pad(x, [0], [0], mode={quoted}); x = relu(x); {quoted} = relu(x); }} outputs {{ {quoted}; }} }}',
                     encoding="utf-8")
    for words in ["info"], ["graph"], ["graph", "--before"], ["run", "--random"], ["bench", "--time=0.01"], ["convert", "--weights=int8"]:
        words, behind = (words, [str(folder / "converted.webnn")]) if words[0] == "convert" else (words, [])
        text = run(1, *words, path, *behind)
        lines = [line for line in text.splitlines() if "bad.onnx: node " in line]
        check(len(lines) == 4 and lines[0].startswith("webnn: ") and all(line.startswith(" " * 7 + str(folder)) for line in lines[1:]),
              f"{words}: a line for each node: {text!r}")
        text = run(1, *words, str(graph), *behind)
        lines = [line for line in text.splitlines() if "bad.webnn:" in line]
        check(len(lines) == 7 and all(f"bad.webnn:{2 + (i > 3)}:" in line for i, line in enumerate(lines)), f"{words}: a line for each error: {text!r}")
    # Files that are named so.
    for path in folder / ("m" + HOSTILE.replace("/", "") + ".webnn"), folder / ("m" + HOSTILE.replace("/", "") + ".onnx"):
        for content in "webnn_graph \"x\" v9", "nothing that is known":
            path.write_text(content, encoding="utf-8")
            check(run(1, "info", str(path)).count("\n") == 1, "a path with a line break is one line")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_good(pathlib.Path(folder))
        check_bad(pathlib.Path(folder))
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
