# SPDX-License-Identifier: Apache-2.0
"""The webnn program on TensorFlow Lite files: info, run, bench and graph, and what it says of files that are none.

usage: program.py WEBNN
"""

import pathlib
import subprocess
import sys
import tempfile

from runtime import PATIENCE, Model, Tensor, np

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def run(*arguments):
    done = subprocess.run([str(one) for one in arguments], capture_output=True, timeout=PATIENCE)
    check(done.returncode in (0, 1, 2), f"{arguments[1]}: exit code {done.returncode}")
    check(b"\033" not in done.stdout + done.stderr, f"{arguments[1]}: text of a file reaches the terminal")
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def classifier():
    """relu6(x w + b), of bytes that stand for -1 to 1: as quantized networks are exported."""
    random = np.random.default_rng(5)
    model = Model()
    graph = model.graphs[0]
    x = graph.input("uint8", (1, 8), scale=1 / 128, zero=128)
    model.feeds["t0"] = random.integers(0, 256, (1, 8), dtype=np.uint8)
    weights = random.integers(0, 256, (4, 8), dtype=np.uint8)
    w = graph.const(weights, "uint8", scale=0.01, zero=125)
    bias = graph.const(random.integers(-900, 900, 4), "int32", scale=0.01 / 128)
    y = graph.op("FULLY_CONNECTED", [x, w, bias], Tensor("uint8", (1, 4), scale=6 / 255),
                 options=("FullyConnected", {0: ("b", 3)}))
    graph.give(y)
    real = (model.feeds["t0"].astype(float) - 128) / 128 @ ((weights.astype(float) - 125) * 0.01).T + \
        graph.tensors[bias].data * 0.01 / 128
    return model, np.clip(np.round(real / (6 / 255)), 0, 255)


def check_file(webnn, folder):
    model, expected = classifier()
    file, feed, result = folder / "small.tflite", folder / "x.bin", folder / "y.npy"
    file.write_bytes(model.write())
    feed.write_bytes(model.feeds["t0"].tobytes())
    code, out, _ = run(webnn, "info", file)
    check(code == 0 and "main" in out and "uint8" in out, f"info says {out}")
    check("quantizeLinear" in out and "gemm" in out, "info names operators")
    code, _, error = run(webnn, "run", "--quiet", f"--output={result}", file, feed)
    check(code == 0, f"run: {error}")
    check(code == 0 and np.abs(np.load(result).astype(float) - expected).max() <= 1, "run computes what it should")
    code, out, _ = run(webnn, "bench", "--time=0.05", file)
    check(code == 0 and "small.tflite" in out, "bench measures it")
    code, out, _ = run(webnn, "graph", file)
    check(code == 0 and 'gemm(dequantizeLinear(' in out, f"graph shows fused integers, not {out}")
    code, out, _ = run(webnn, "graph", "--before", file)
    check(code == 0 and out.count("dequantizeLinear(") == 2 and "clamp" not in out,
          "what the numbers of a result imply is left out")


def check_unsupported(webnn, folder):
    model = Model()
    graph = model.graphs[0]
    x = graph.input("float32", (2,))
    made = graph.op("CUSTOM", [x], "float32", custom=("\033]0;owned\007Pool", b""))
    made = graph.op("UNIQUE", [graph.op("NEG", [made])], "float32", "int32")
    graph.give(made[0], graph.op("RANDOM_UNIFORM", [np.int32([3])], "float32"))
    file = folder / "odd.tflite"
    file.write_bytes(model.write())
    code, _, error = run(webnn, "info", file)
    check(code == 1 and "(?]0;owned?Pool): the operator is not supported: it is a custom operator" in error,
          f"a custom operator is refused by its name: {error}")
    check("(RANDOM_UNIFORM): the operator is not supported: WebNN has no random numbers" in error,
          "all operators that are not supported are named")
    check("(UNIQUE)" in error and "(NEG)" not in error, "and none that only follows them")


def check_broken(webnn, folder):
    whole = classifier()[0].write()
    for name, content, expected in (
            ("short", whole[:200], "not in the file"), ("empty", whole[:8], "shorter than its beginning says"),
            ("none", b"\x1c\0\0\0TFL2" + whole[8:], "")):
        file = folder / f"{name}.tflite"
        file.write_bytes(content)
        code, _, error = run(webnn, "info", file)
        check(code == 1 and expected in error, f"{name}: exit code {code}: {error}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (check_file, check_unsupported, check_broken):
            part(sys.argv[1], pathlib.Path(folder))
    print("failed" if failures else "passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
