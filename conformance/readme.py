#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C example of a page, README.md for example, to a file: readme.py PAGE OUTPUT. With --check PROGRAM instead
of OUTPUT, runs the compiled example and compares what it prints with the indented block that follows the example. With
--model OUTPUT, the example is the indented block about a model, with the rest of a program around it."""
import re
import subprocess
import sys

MODEL = """#include <stdio.h>
#include <webnn/model.h>

int main(void)
{
    WNNContext context;
    WNNGraph graph;
    char message[256];
    if (wnnCreateContext(NULL, &context))
        return 1;

%s
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    return 0;
}
"""

with open(sys.argv[1], encoding="utf-8") as file:
    page = file.read()
if sys.argv[2] == "--model":
    block = re.search(r"^    WNNModelDescriptor .*\n(?:    .*\n)*", page, re.M)[0]
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(MODEL % block)
    sys.exit(0)

example, prints = re.search(r"^```c\n(.*?)^```\n\nIt prints\n\n((?:    [^\n]*\n)+)", page, re.M | re.S).groups()
if sys.argv[2] != "--check":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(example)
    sys.exit(0)

expected = re.sub(r"^    ", "", prints, flags=re.M)
run = subprocess.run([sys.argv[3]], stdout=subprocess.PIPE, text=True, check=False)
if run.returncode != 0 or run.stdout != expected:
    sys.exit(f"the example exits with {run.returncode} and prints\n{run.stdout}{sys.argv[1]} says\n{expected}")
