#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the n-th C example of the README to a file: readme.py README N OUTPUT. With --check PROGRAM instead of OUTPUT,
runs the compiled example and compares what it prints with the indented block that follows the example."""
import re
import subprocess
import sys

readme, number = sys.argv[1], int(sys.argv[2])
with open(readme, encoding="utf-8") as file:
    example, prints = re.findall(r"^```c\n(.*?)^```\n\nIt prints\n\n((?:    [^\n]*\n)+)", file.read(), re.M | re.S)[number]
if sys.argv[3] != "--check":
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(example)
    sys.exit(0)

expected = re.sub(r"^    ", "", prints, flags=re.M)
run = subprocess.run([sys.argv[4]], stdout=subprocess.PIPE, text=True, check=False)
if run.returncode != 0 or run.stdout != expected:
    sys.exit(f"example {number} exits with {run.returncode} and prints\n{run.stdout}the README says\n{expected}")
