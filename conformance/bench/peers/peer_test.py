#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that a peer of `webnn bench --vs` runs, computes the same, and says what it does not have.

usage: peer_test.py WEBNN PEER

Exit code 77: the library is not installed.
"""
import json
import os
import subprocess
import sys
import tempfile

WEBNN, PEER = os.path.abspath(sys.argv[1]), sys.argv[2]
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer.sh")
GRAPHS = ["matmul:8x16x24", "conv2d:9x9x4x8x3x2", "conv2d:8x8x8x8x3x1x8", "softmax:4x8", "gru"]
MISSING = "matmul_uint4:1x32x8"


def bench(graphs, folder):
    environment = {**os.environ, "WEBNN": WEBNN, "PEER_FOLDER": folder, "PEER_SECONDS": "0.01"}
    return subprocess.run([WEBNN, "bench", "--json", "--threads=1", "--time=0.01", "--rounds=1",
                           f"--vs={SCRIPT} {PEER}", *graphs], env=environment, stdout=subprocess.PIPE, text=True,
                          check=False)


def main():
    installed = subprocess.run([SCRIPT, PEER, "--installed"], check=False).returncode
    if installed:
        sys.exit(installed)
    with tempfile.TemporaryDirectory() as folder:
        run = bench(GRAPHS + [MISSING], folder)
        results = {result["graph"]: result["peers"][0] for result in map(json.loads, run.stdout.splitlines())}
        for graph in GRAPHS:
            if not results[graph]["peer"].startswith(PEER + " ") or not results[graph]["min_ms"] > 0:
                sys.exit(f"{graph}: {results[graph]}")
        if run.returncode or "min_ms" in results[MISSING]:
            sys.exit(f"{MISSING} has a time: {results[MISSING]}")

        # What does not compute the same is no peer.
        expected = os.path.join(folder, GRAPHS[0], "output.npy")
        with open(expected, "r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"\0\0\0\x42")
        if bench(GRAPHS[:1], folder).returncode == 0:
            sys.exit("a wrong result is taken")


if __name__ == "__main__":
    main()
