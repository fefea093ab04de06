#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C example of a page, README.md for example, to a file: readme.py PAGE OUTPUT. With --check PROGRAM instead
of OUTPUT, runs the compiled example and compares what it prints with the indented block that follows the example."""
import re
import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    example, prints = re.search(r"^```c\n(.*?)^```\n\nIt prints\n\n((?:    [^\n]*\n)+)", file.read(), re.M | re.S).groups()
if sys.argv[2] != "--check":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(example)
    sys.exit(0)

expected = re.sub(r"^    ", "", prints, flags=re.M)
run = subprocess.run([sys.argv[3]], stdout=subprocess.PIPE, text=True, check=False)
if run.returncode != 0 or run.stdout != expected:
    sys.exit(f"the example exits with {run.returncode} and prints\n{run.stdout}{sys.argv[1]} says\n{expected}")
