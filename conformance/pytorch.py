#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what README.md tells users of PyTorch, line by line, on a network of PyTorch: pytorch.py PAGE WEBNN. Exit status 77:
there is no PyTorch here."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def make_network():
    """Classifies images, with what torchvision's networks are made of."""
    torch.manual_seed(3)
    layers = torch.nn
    return layers.Sequential(layers.Conv2d(3, 8, 3, stride=2, padding=1), layers.BatchNorm2d(8), layers.ReLU6(),
                             layers.Conv2d(8, 8, 3, stride=2, padding=1, groups=8), layers.Hardswish(), layers.MaxPool2d(3, 2, 1),
                             layers.Conv2d(8, 24, 1), layers.AdaptiveAvgPool2d(1), layers.Flatten(), layers.Dropout(0.2),
                             layers.Linear(24, 10)).eval()


def main():
    page, webnn = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), os.path.abspath(sys.argv[2])
    block = re.search(r"^From PyTorch: .*\n\n((?:    .*\n)+)", page, re.M)[1]
    first, *others = [line.strip() for line in block.splitlines()]
    assert len(others) == 3 and all(line.startswith("webnn ") for line in others), block
    environment = {**os.environ, "PATH": os.path.dirname(webnn) + ":" + os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("labels.txt").write_text("".join(f"label {index}\n" for index in range(10)), encoding="utf-8")
        names = {"torch": torch, "numpy": numpy, "model": make_network(), "x": torch.randn(1, 3, 224, 224)}
        exec(first, names)
        best = int(numpy.load("y.npy").argmax())
        expected = (f"label {best}", "1 of 1 outputs within tolerance", "median")
        for line, words in zip(others, expected):
            ran = subprocess.run(line, shell=True, capture_output=True, text=True, env=environment, check=False)
            print(f"$ {line}\n{ran.stdout}{ran.stderr}", end="")
            if ran.returncode or words not in ran.stdout:
                print(f"exit status {ran.returncode}; expected {words!r}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
