# SPDX-License-Identifier: Apache-2.0
"""Compares the headers with those of an earlier version as binaries see them, with libabigail.

usage: compare.py OLD_INCLUDE NEW_INCLUDE LIBRARY
       compare.py --keep OLD_INCLUDE NEW_INCLUDE: makes the new headers, without their comments, the old ones

Of the headers of either version a library is made that has every struct as a variable and every function without a body.
What an old program relies on must be in the new one, and every old function in LIBRARY.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADERS = ["webnn.h", "ops.h", "reflection.h", "serialize.h", "vulkan.h"]
INCOMPATIBLE = 4 | 8  # of abidiff's exit status: a change of the interface, one that no program survives


def text_of(include):
    return "\n".join(re.sub(r"//.*", "", pathlib.Path(include, "webnn", name).read_text()) for name in HEADERS)


def functions(text):
    return re.findall(r"^WNN_EXPORT\s+([^;{]*?\b(wnn\w+)\([^;]*\));", text, re.M)


def make_library(include, folder):
    text = text_of(include)
    lines = [f"#include <webnn/{name}>" for name in HEADERS]
    lines += [f"extern struct {name} layout_of_{name}; struct {name} layout_of_{name};"
              for name in re.findall(r"typedef struct (\w+) \{", text)]
    lines += [f"WNN_EXPORT {declaration} {{ __builtin_unreachable(); }}" for declaration, _ in functions(text)]
    source, library = folder / "interface.c", folder / "interface.so"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["cc", "-w", "-g", "-shared", "-fPIC", "-I", include, source, "-o", library], check=True)
    return library


def keep(old, new):
    for name in HEADERS:
        text = re.sub(r"[ \t]*//.*", "", pathlib.Path(new, "webnn", name).read_text())
        text = "// SPDX-License-Identifier: Apache-2.0\n" + re.sub(r"\n{2,}", "\n\n", text).lstrip("\n")
        pathlib.Path(old, "webnn", name).write_text(text)


def main():
    if sys.argv[1:2] == ["--keep"]:
        keep(*sys.argv[2:])
        return 0
    old, new, library = sys.argv[1:]
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.split()
    missing = [name for _, name in functions(text_of(old)) if name not in symbols]
    for name in missing:
        print(f"{name}: no longer there")
    if not shutil.which("abidiff"):
        print("skipped: there is no abidiff (abigail-tools)")
        return 1 if missing else 77
    with tempfile.TemporaryDirectory() as place:
        libraries = []
        for name, include in (("old", old), ("new", new)):
            folder = pathlib.Path(place, name)
            folder.mkdir()
            libraries.append(make_library(include, folder))
        result = subprocess.run(["abidiff", "--no-added-syms", *libraries], capture_output=True, text=True)
    print(result.stdout[-8000:] + result.stderr)
    print(f"{len(functions(text_of(old)))} functions, {len(missing)} missing")
    return 1 if missing or result.returncode & INCOMPATIBLE or result.returncode & 3 else 0


if __name__ == "__main__":
    sys.exit(main())
