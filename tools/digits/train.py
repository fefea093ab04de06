# SPDX-License-Identifier: Apache-2.0
"""Train the demo's digit classifier and write every file that depends on it.

Usage: python3 train.py [--out DIR] [--epochs N]

Needs PyTorch, NumPy and scikit-learn; nothing is downloaded. The same
software on the same kind of processor writes the same bytes every time.
"""
import argparse
import json
import os
import struct
import sys
import time
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 20240
BATCH = 64
PEAK_RATE = 4e-3
WEIGHT_DECAY = 1e-3
DROPOUT = 0.3
MINIMUM_ACCURACY = 0.97

# Name and shape of every constant, in file and graph order.
SHAPES = {
    "conv1_w": (16, 1, 3, 3),
    "conv1_b": (16,),
    "conv2_w": (32, 16, 3, 3),
    "conv2_b": (32,),
    "conv3_w": (32, 32, 3, 3),
    "conv3_b": (32,),
    "fc_w": (10, 512),
    "fc_b": (10,),
}

NODES = """\
    conv1 = conv2d(image, conv1_w, bias=conv1_b, padding=[1, 1, 1, 1]);
    relu1 = relu(conv1);
    conv2 = conv2d(relu1, conv2_w, bias=conv2_b, padding=[1, 1, 1, 1]);
    relu2 = relu(conv2);
    pool = maxPool2d(relu2, windowDimensions=[2, 2], strides=[2, 2]);
    conv3 = conv2d(pool, conv3_w, bias=conv3_b, padding=[1, 1, 1, 1]);
    relu3 = relu(conv3);
    flat = reshape(relu3, newShape=[1, 512]);
    logits = gemm(flat, fc_w, c=fc_b, bTranspose=true);
    probabilities = softmax(logits, axis=1);
"""


def forward(p, x, drop=False):
    """Logits for a batch x [n, 1, 8, 8]; must agree with NODES."""
    x = F.relu(F.conv2d(x, p["conv1_w"], p["conv1_b"], padding=1))
    x = F.relu(F.conv2d(x, p["conv2_w"], p["conv2_b"], padding=1))
    x = F.max_pool2d(x, 2)
    x = F.relu(F.conv2d(x, p["conv3_w"], p["conv3_b"], padding=1))
    x = F.dropout(x.flatten(1), DROPOUT, training=drop)
    return F.linear(x, p["fc_w"], p["fc_b"])


def load_split():
    """uint8 pixels [n, 8, 8] and labels: train, test, train, test."""
    data = load_digits()
    pixels = np.rint(data.images * 255.0 / 16.0).astype(np.uint8)
    labels = data.target.astype(np.uint8)
    return train_test_split(pixels, labels, test_size=0.25,
                            random_state=SEED, stratify=labels)


def as_input(pixels):
    """What the program feeds the graph: float32 pixel / 255."""
    scaled = pixels.astype(np.float32) / np.float32(255)
    return torch.from_numpy(scaled[:, None])


def shifted(x, rng):
    """Move half of the images by at most one pixel each way, zero filled."""
    n = x.shape[0]
    offset = torch.randint(0, 3, (n, 2), generator=rng)
    still = torch.rand(n, generator=rng) < 0.5
    offset[still] = 1
    padded = F.pad(x, (1, 1, 1, 1))
    at = torch.arange(8)
    rows = (offset[:, 0, None] + at)[:, :, None]
    columns = (offset[:, 1, None] + at)[:, None, :]
    return padded[torch.arange(n)[:, None, None], 0, rows, columns][:, None]


def initial():
    params = {}
    for name, shape in SHAPES.items():
        t = torch.zeros(shape)
        if name.endswith("_w"):
            torch.nn.init.kaiming_normal_(t, nonlinearity="relu")
        params[name] = t.requires_grad_()
    return params


def train(x, y, epochs):
    """Fixed-length training; the test images play no part in it."""
    rng = torch.Generator().manual_seed(SEED)
    params = initial()
    optimizer = torch.optim.AdamW(params.values(), lr=PEAK_RATE,
                                  weight_decay=WEIGHT_DECAY)
    batches = (len(x) + BATCH - 1) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=PEAK_RATE, total_steps=batches * epochs)
    for epoch in range(1, epochs + 1):
        started = time.monotonic()
        total_loss, correct = 0.0, 0
        for pick in torch.randperm(len(x), generator=rng).split(BATCH):
            logits = forward(params, shifted(x[pick], rng), drop=True)
            loss = F.cross_entropy(logits, y[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total_loss += loss.item() * len(pick)
            correct += int((logits.argmax(1) == y[pick]).sum())
        print("epoch %2d/%d  loss %.4f  augmented train accuracy %.2f %%"
              "  %.2f s" % (epoch, epochs, total_loss / len(x),
                            100.0 * correct / len(x),
                            time.monotonic() - started), flush=True)
    return {k: v.detach().numpy() for k, v in params.items()}


def write_bytes(path, data):
    with open(path, "wb") as f:
        f.write(data)


def safetensors_bytes(arrays):
    header, parts, end = {}, [], 0
    for name, a in arrays.items():
        raw = np.ascontiguousarray(a, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(a.shape),
                        "data_offsets": [end, end + len(raw)]}
        parts.append(raw)
        end += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def read_safetensors(path):
    with open(path, "rb") as f:
        blob = f.read()
    (length,) = struct.unpack_from("<Q", blob)
    data = blob[8 + length:]
    arrays = {}
    for name, entry in json.loads(blob[8:8 + length]).items():
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(data[begin:end], dtype="<f4")
        arrays[name] = flat.reshape(entry["shape"])
    return arrays


def graph_text():
    consts = "".join('    %s: f32[%s] @weights("%s");\n'
                     % (name, ", ".join(map(str, shape)), name)
                     for name, shape in SHAPES.items())
    return ('webnn_graph "digits" v1 {\n'
            "  inputs {\n    image: f32[1, 1, 8, 8];\n  }\n\n"
            "  consts {\n" + consts + "  }\n\n"
            "  nodes {\n" + NODES + "  }\n\n"
            "  outputs { probabilities }\n}\n")


def png_bytes(pixels):
    """An 8-bit greyscale PNG of a uint8 array [height, width]."""
    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body
                + struct.pack(">I", zlib.crc32(kind + body)))
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height,
                                         8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 9))
            + chunk(b"IEND", b""))


def shortest(value):
    """The fewest digits that give this float32 back."""
    return float(str(np.float32(value)))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=here, help="folder to write to")
    parser.add_argument("--epochs", type=int, default=60)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)

    train_px, test_px, train_y, test_y = load_split()
    print("%d training images, %d test images" % (len(train_px), len(test_px)))
    started = time.monotonic()
    weights = train(as_input(train_px),
                    torch.from_numpy(train_y.astype(np.int64)), args.epochs)
    print("trained in %.1f s" % (time.monotonic() - started))

    images = os.path.join(args.out, "images")
    os.makedirs(images, exist_ok=True)

    def path(name):
        return os.path.join(args.out, name)

    write_bytes(path("digits.safetensors"), safetensors_bytes(weights))
    write_bytes(path("digits.webnn"), graph_text().encode("ascii"))
    write_bytes(path("labels.txt"), b"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    np.save(path("test.npy"), np.ascontiguousarray(test_px))
    np.save(path("test_labels.npy"), test_y)

    # Everything measured below comes from the saved file, in float64.
    saved = {k: torch.from_numpy(v.astype(np.float64))
             for k, v in read_safetensors(path("digits.safetensors")).items()}
    test_x = as_input(test_px)
    exact = F.softmax(forward(saved, test_x.double()), dim=1).numpy()
    single = {k: v.float() for k, v in saved.items()}
    rough = F.softmax(forward(single, test_x), dim=1).numpy()
    predicted = exact.argmax(1)
    correct = int((predicted == test_y).sum())
    accuracy = correct / len(test_y)

    entries = []
    for digit in range(10):
        # The first test image of the class that the network gets right.
        hits = np.flatnonzero((test_y == digit) & (predicted == digit))
        if len(hits) == 0:
            sys.exit("no test image of class %d is recognized" % digit)
        index = int(hits[0])
        name = "digit%d.png" % digit
        write_bytes(os.path.join(images, name), png_bytes(test_px[index]))
        entries.append({"file": "images/" + name, "label": digit,
                        "test_index": index,
                        "probabilities": [shortest(v) for v in exact[index]]})
    lines = ",\n".join("    " + json.dumps(e) for e in entries)
    text = ('{\n  "test_accuracy": %s,\n  "test_correct": %d,\n'
            '  "test_count": %d,\n  "images": [\n%s\n  ]\n}\n'
            % (json.dumps(accuracy), correct, len(test_y), lines))
    write_bytes(path("expected.json"), text.encode("ascii"))

    top = np.sort(exact, axis=1)
    print("test accuracy %.2f %% (%d of %d)"
          % (100.0 * accuracy, correct, len(test_y)))
    print("closest decision in the test set: %.3g apart"
          % (top[:, -1] - top[:, -2]).min())
    print("float32 against float64: at most %.3g apart"
          % np.abs(exact - rough).max())
    if accuracy < MINIMUM_ACCURACY:
        sys.exit("accuracy is below %.0f %%" % (100.0 * MINIMUM_ACCURACY))


if __name__ == "__main__":
    main()
