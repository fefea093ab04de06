#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that C and C++ sources look as clang-format 14 with .clang-format writes them.

usage: format.py [--fix]

--fix rewrites the files. Left out are ops/ops.def and the public headers, old ones too, whose columns are set by hand, and the templates
of kernels (.inc): clang-format takes their NAME(load)(pointer) for two statements. Exit code 77: there is no clang-format 14;
other versions format differently.
"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["lib", "ops", "compiler", "cpu", "vulkan", "runtime", "tools", "conformance"]
OLD = ROOT / "conformance/abi/last"
VERSION = "14"


def find_program():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path and re.search(rf"version {VERSION}\.", subprocess.run([path, "--version"], check=True, text=True,
                                                                       stdout=subprocess.PIPE).stdout):
            return path
    return None


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cpp", ".cc") and "node_modules" not in path.parts and OLD not in path.parents:
                yield path.relative_to(ROOT).as_posix()


def main():
    program, files = find_program(), list(sources())
    if not program:
        print(f"skipped: there is no clang-format {VERSION}")
        sys.exit(77)
    if sys.argv[1:] == ["--fix"]:
        subprocess.run([program, "-i", *files], cwd=ROOT, check=True)
        return
    result = subprocess.run([program, "--dry-run", "-Werror", *files], cwd=ROOT, check=False, text=True,
                            stderr=subprocess.PIPE)
    wrong = re.findall(r"^(\S+?):(\d+):\d+: error:", result.stderr, re.M)
    for file, line in wrong:
        print(f"{file}:{line} is not formatted")
    print(f"{len(files)} files, {len(wrong)} places; conformance/format.py --fix formats them")
    sys.exit(1 if result.returncode else 0)


if __name__ == "__main__":
    main()
