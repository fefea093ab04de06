#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the n-th C example of the README to a file: readme.py README N OUTPUT. With --check PROGRAM instead of OUTPUT,
runs the compiled example and compares what it prints with the comment behind the printf that prints it."""
import re
import subprocess
import sys

readme, number = sys.argv[1], int(sys.argv[2])
with open(readme, encoding="utf-8") as file:
    example = re.findall(r"^```c\n(.*?)^```$", file.read(), re.M | re.S)[number]
if sys.argv[3] != "--check":
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(example)
    sys.exit(0)

expected = "".join(line + "\n" for line in re.findall(r"printf\(.*\); // (.*)$", example, re.M))
run = subprocess.run([sys.argv[4]], stdout=subprocess.PIPE, text=True, check=False)
if run.returncode != 0 or run.stdout != expected or not expected:
    sys.exit(f"example {number} exits with {run.returncode} and prints\n{run.stdout}the README says\n{expected}")
