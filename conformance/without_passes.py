#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaves out one pass of the compiler after the other, and all at once: without_passes.py RUNNER RANDOM-GRAPHS COUNT
DISPUTED VECTORS. The vectors have to give what they give with all passes, and so have COUNT random graphs."""
import subprocess
import sys

runner, random_graphs, count, disputed, vectors = sys.argv[1:]
names = subprocess.run([runner, "--passes"], check=True, capture_output=True, text=True).stdout.split()
if not names:
    sys.exit("there are no passes")
passed = failed = 0
for number, left_out in enumerate([[name] for name in names] + [names]):
    options = ["--without-pass=" + name for name in left_out]
    title = left_out[0] if len(left_out) == 1 else "any pass"
    for command in ([runner, "--disputed=" + disputed, "--backend=cpu", *options, vectors],
                    [random_graphs, "--count=" + count, f"--seed={1000 + number}", *options]):
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        last = run.stdout.strip().rpartition("\n")[2]
        print(f"without {title}: {last}", flush=True)
        if run.returncode == 0:
            passed += 1
        else:
            failed += 1
            print(f"FAILED ({run.returncode}): {' '.join(command)}\n{run.stdout[-4000:]}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
