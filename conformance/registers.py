#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what a compiler has made of the kernels that multiply float32 matrices: registers.py LIBWEBNN_SO OBJDUMP.

The sums of a tile stay in registers in the loop over its terms. Only among so many that another multiplication waits
anyhow, one may go by way of the stack: where there are 28, that is not felt."""
import re
import subprocess
import sys

UNFELT = 12  # multiply-adds for each that waits for the stack
FUNCTION = re.compile(r"^[0-9a-f]+ <((?:tile_\d+x\d+|pixels_(?:halves_)?\d+)_(?:avx2|avx512))>:")
LINE = re.compile(r"^\s*([0-9a-f]+):\t(.*)")
JUMP = re.compile(r"^j\w+\s+([0-9a-f]+)\b")
ADD = re.compile(r"^vfn?madd\d+ps\b")
FROM_STACK = re.compile(r"\(%rsp.*%[xyz]mm\d+")


def functions(text):
    name = None
    for line in text.splitlines():
        if line.endswith(">:"):
            if name:
                yield name, lines
            found = FUNCTION.match(line)
            name, lines = found and found.group(1), []
        elif name and (found := LINE.match(line)):
            lines.append((int(found.group(1), 16), found.group(2)))
    if name:
        yield name, lines


def product_loops(lines):
    """The loops without others in them that multiply and add."""
    loops = []
    for address, text in lines:
        jump = JUMP.match(text)
        if jump and lines[0][0] <= int(jump.group(1), 16) <= address:
            loops.append((int(jump.group(1), 16), address))
    for begin, end in loops:
        if not any((begin, end) != loop and begin <= loop[0] and loop[1] <= end for loop in loops):
            body = [text for address, text in lines if begin <= address <= end]
            if any(ADD.match(text) for text in body):
                yield body


def main(library, objdump):
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", library], check=True, capture_output=True,
                          text=True).stdout
    checked, wrong = 0, []
    for name, lines in functions(text):
        loops = list(product_loops(lines))
        checked += len(loops) > 0
        for body in loops:
            # What is only written there makes nobody wait.
            spilled = [text for text in body if FROM_STACK.search(text)]
            if len(spilled) * UNFELT > sum(bool(ADD.match(text)) for text in body):
                wrong += [f"{name}: {text}" for text in spilled]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{checked} kernels multiply and add in loops, {len(wrong)} instructions too many read the stack there")
    return 1 if wrong or checked < 20 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
