# SPDX-License-Identifier: Apache-2.0
"""Checks that the folders are the architecture.

usage: layering.py [LIBWEBNN_SO]

A source file includes its own folder and those to its left in
include <- lib <- ops <- compiler <- {cpu | vulkan} <- runtime <- {conformance | tools}; runtime/backends.c alone names
the backends, and conformance/backends.h those of tests; tools/model records by the public headers, and has the helpers of
lib; the scalar reference shares nothing with cpu/, and the addon for Node and the examples use the public headers alone.
Modules, each the files of one name in a folder, do not include each other in a circle. Every file begins with its license.
With the path of the shared library of a release build (buildtype=release, b_ndebug=if-release, without sanitizers and
coverage) it also checks that the library cannot end the process by its own decision and exports nothing but wnn[A-Z]*.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASE = {"include", "lib", "ops", "compiler"}
LEFT = {  # what each folder may include besides itself
    "include": set(),
    "lib": {"include"},
    "ops": {"include", "lib"},
    "compiler": {"include", "lib", "ops"},
    "cpu": BASE,
    "vulkan": BASE,
    "runtime": BASE,
    "tools/model": {"include", "lib"},
    "tools/examples": {"include"},
    "conformance": BASE | {"runtime", "tools/model"},
    "tools": BASE | {"runtime", "tools/model"},
}
# The only files that name the backends: of the library, and of tests.
ALSO = {
    "runtime/backends.c": {"cpu", "vulkan"},
    "conformance/backends.h": {"vulkan"},
}
# The unit test or benchmark of a module of a backend includes it; tests of passes read graphs as the program does, and
# a fuzzer is of how it does that.
MODULES = ("conformance/unit/", "conformance/bench/", "conformance/fuzz/")
UNIT = {"cpu", "vulkan", "tools"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
COMMENTS = {".c": "//", ".h": "//", ".def": "//", ".comp": "//", ".glsl": "//", ".cc": "//", ".cpp": "//", ".js": "//", ".mjs": "//",
            ".py": "#", ".sh": "#"}
FORBIDDEN = {"abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail", "__assert", "terminate"}


def area(name):
    """The folder of LEFT that a file lies in."""
    return max((folder for folder in LEFT if name.startswith(folder + "/")), key=len, default=name.split("/")[0])


def sources():
    for top in sorted({folder.split("/")[0] for folder in LEFT}):
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file() and "node_modules" not in path.parts:
                yield area(path.relative_to(ROOT).as_posix()), path


def allowed(folder, path):
    name = path.relative_to(ROOT).as_posix()
    result = {folder} | LEFT[folder] | ALSO.get(name, set())
    if name.startswith(MODULES):
        result |= UNIT
    return result


def check_includes(folder, path, text):
    name = path.relative_to(ROOT).as_posix()
    for target in INCLUDE.findall(text):
        if target.startswith("webnn/"):
            yield f'{name}: includes "{target}"; public headers are included as <{target}>'
            continue
        to = area(target)
        if "/" not in target or not (ROOT / to).is_dir():
            if not (path.parent / target).is_file() and "/" in target:
                yield f'{name}: includes "{target}", which is in no folder'
            elif "/" not in target and folder not in ("include",) and not target.endswith(".inc"):
                yield f'{name}: includes "{target}"; paths begin at the root'
            continue
        if to not in allowed(folder, path):
            yield f'{name}: includes "{target}", to the right of {folder}/'
        if name.startswith("conformance/js/") and not target.startswith("conformance/js/"):
            yield f'{name}: includes "{target}"; the addon uses the public headers alone'
        if name.startswith("conformance/reference/") and to not in ("include", "lib", "ops", "compiler", "conformance"):
            yield f'{name}: the reference includes "{target}"'


def module(path):
    """What a .c file, its header and its templates are together."""
    return path.with_suffix("").as_posix()


def find_circles(edges):
    """The strongly connected components of more than one module (Tarjan)."""
    index, low, stack, circles = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            start = stack.index(node)
            circles.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return [circle for circle in circles if len(circle) > 1]


def check_circles(edges):
    for circle in find_circles(edges):
        yield "these include each other in a circle: " + ", ".join(circle)


def check_license(path, text):
    name = path.relative_to(ROOT).as_posix()
    comment = "#" if path.name in ("meson.build", "meson_options.txt") else COMMENTS.get(path.suffix)
    lines = text.splitlines()
    if comment and lines and lines[0].startswith("#!"):
        lines = lines[1:]
    if comment and (not lines or lines[0] != f"{comment} SPDX-License-Identifier: Apache-2.0"):
        yield f"{name}: does not begin with its SPDX line"


def symbols(library, *options):
    output = subprocess.run(["nm", "-D", *options, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in output.splitlines() if line.strip()}


def check_library(library):
    for symbol in sorted(symbols(library, "--undefined-only") & FORBIDDEN):
        yield f"{library}: imports {symbol}"
    exported = {s for s in symbols(library, "--defined-only") if not re.fullmatch(r"wnn[A-Z]\w*", s)}
    for symbol in sorted(exported):
        yield f"{library}: exports {symbol}"


def main():
    problems = []
    count = 0
    edges = {}
    for folder, path in sources():
        if path.suffix not in COMMENTS and path.name not in ("meson.build",):
            continue
        count += 1
        text = path.read_text(encoding="utf-8")
        problems += check_license(path, text)
        if COMMENTS.get(path.suffix) == "//" and path.suffix not in (".js", ".mjs"):
            problems += check_includes(folder, path, text)
            name = module(path.relative_to(ROOT))
            edges.setdefault(name, set()).update(module(pathlib.Path(target)) for target in INCLUDE.findall(text)
                                                 if (ROOT / target).is_file() and module(pathlib.Path(target)) != name)
    for path in (ROOT / "meson.build", ROOT / "meson_options.txt"):
        problems += check_license(path, path.read_text(encoding="utf-8"))
    problems += check_circles(edges)
    for library in sys.argv[1:]:
        problems += check_library(library)
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
