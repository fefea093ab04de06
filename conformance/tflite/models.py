# SPDX-License-Identifier: Apache-2.0
"""Models of npm packages, against LiteRT.js, or against the same model as an ONNX file beside it.

usage: models.py WEBNN MODULES [MODEL...]

MODULES is the folder whose node_modules has @litertjs/core, and packages with .tflite files. Exit status 77: something that
this needs is missing.
"""

import re
import subprocess
import sys

from runtime import PATIENCE, Broken, Peers, Refused, difference, np

TOLERANCE = 1e-3  # of the largest element of an output
# Shapes of inputs that a model leaves open, where those in the file are too small.
SHAPES = {"melspectrogram": (1, 16000)}
# Models whose ONNX files are other networks.
OTHERS = {"hey_rhasspy_v0.1": "it has twice as many units as its ONNX file"}


def read_ports(text):
    """Inputs and outputs as the program lists them: name, type and shape."""
    kinds, found = {"inputs": [], "outputs": []}, None
    for line in text.splitlines():
        found = kinds.get(line.strip(), found if line.startswith("  ") else None)
        values = re.match(r"  (.+?) +([a-z]+[0-9]+) +\[(.*?)\] ", line)
        if values and found is not None:
            found.append((values[1], values[2], tuple(int(size) for size in values[3].split(",") if size.strip())))
    return kinds["inputs"], kinds["outputs"]


def describe(peers, file, shape=None):
    """Inputs and outputs, and the options that give a model with one input its shape, if it leaves that open."""
    options = []
    for _ in range(2):
        done = subprocess.run([peers.webnn, "info", *options, file], capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 0:
            return *read_ports(done.stdout), options
        name = re.search(r'input "([^"]*)"', done.stderr)
        if name and shape:
            options = [f"--shape={name[1]}={'x'.join(map(str, shape))}"]
        elif shape:
            options = [f"--shape=serving_default_input:0={'x'.join(map(str, shape))}"]
    raise Refused(done.stderr.strip())


def check_litert(peers, file):
    """What differs from LiteRT.js, or None."""
    inputs, outputs, _ = describe(peers, file)
    random = np.random.default_rng(3)
    feeds = {name: random.random(shape).astype(kind) if kind == "float32" else random.integers(0, 255, shape).astype(kind)
             for name, kind, shape in inputs}
    results = peers.compute(file, feeds, [name for name, _, _ in outputs])
    expected = peers.expect(file, feeds, results)
    worst = max(difference(results[name], expected[name]) for name in results)
    print(f"{file.stem}: {worst:.2g} of the largest element")
    return f"differs by {worst:.3g}, more than {TOLERANCE}" if not worst <= TOLERANCE else None


def check_twin(peers, file):
    """What differs from the ONNX file beside it, or None. Both have one input and one output."""
    results, shape, value = [], SHAPES.get(file.stem), None
    for one in (file, file.with_suffix(".onnx")):
        inputs, outputs, options = describe(peers, one, shape)
        (name, _, shape), (result, _, _) = inputs[0], outputs[0]
        if value is None:
            value = np.random.default_rng(3).standard_normal(shape).astype("float32")
        results.append(peers.compute(one, {name: value}, [result], *options)[result].reshape(-1))
    worst = difference(*results)
    print(f"{file.stem}: {worst:.2g} of the largest element, from ONNX")
    return f"differs from ONNX by {worst:.3g}, more than {TOLERANCE}" if not worst <= TOLERANCE else None


def main():
    webnn, modules, *wanted = sys.argv[1:]
    peers = Peers(webnn, modules)
    files = sorted(file for file in (peers.modules / "node_modules").rglob("*.tflite") if file.stat().st_size)
    files = [file for file in files if not wanted or any(one in file.name for one in wanted)]
    fault = peers.missing() or (None if files else f"there are no models in {peers.modules}/node_modules")
    if fault:
        print(f"skipped: {fault}")
        return 77
    passed, failed = 0, 0
    with peers:
        for file in files:
            checks = [] if file.stem in SHAPES else [check_litert]
            if file.stem in OTHERS:
                print(f"{file.stem}: {OTHERS[file.stem]}")
            elif file.with_suffix(".onnx").exists():
                checks.append(check_twin)
            for check in checks:
                try:
                    fault = check(peers, file)
                except Refused as error:
                    fault = f"refused: {error}"
                except Broken as error:
                    fault = f"LiteRT.js: {error}"
                if fault:
                    print(f"{file.stem}: {fault}")
                passed, failed = passed + (not fault), failed + bool(fault)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
