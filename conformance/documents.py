#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what documents say about the tree.

usage: documents.py [BUILD WEBNN]

Links and paths lead somewhere, files that comments of sources name exist, the numbers of README.md are those of
tools/BENCHMARK.txt, and with a build folder and its program `webnn`: include/operators.md is what the program prints, and
tests and suites that are named exist.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "include/examples.md", "include/webnn/INTEGRATION.md",
             "conformance/js/README.md"]
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "build"))}
PATH = re.compile(r"(?<![\w./-])(\w+(?:/[\w.-]+)+)")
SOURCES = {".c", ".h", ".inc", ".comp", ".glsl"}
NAMED = re.compile(r"(?<![\w/.<-])((?:\w+/)*\w+\.(?:c|h|inc|comp|glsl))\b(?![(.])")


def check_links(name, text):
    folder = (ROOT / name).parent
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        if not (folder / target).exists():
            yield f"{name}: there is no {target}"
    for path in PATH.findall(text):
        path = path.rstrip(".")
        if path.split("/")[0] in FOLDERS and not re.search("[A-Z]{4}", path.rsplit(".", 1)[0].rsplit("/", 1)[1]) \
                and not (ROOT / path).exists():
            yield f"{name}: there is no {path}"


def check_comments():
    """Of sources: a name alone may be that of any file, a path goes on from some folder of ours."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")
             if path.suffix in SOURCES and "node_modules" not in path.parts]
    known = {"/" + path.relative_to(ROOT).as_posix() for path in paths}
    for path in paths:
        for comment in re.findall(r"(?<!:)//(.*)$", path.read_text(encoding="utf-8"), re.M):
            for name in NAMED.findall(comment):
                if not any(other.endswith("/" + name) for other in known):
                    yield f"{path.relative_to(ROOT)}: there is no {name}"


def check_numbers(text):
    """Rows of the table against the page for one thread."""
    page = (ROOT / "tools/BENCHMARK.txt").read_text(encoding="utf-8").split("2 threads")[0]
    rows = re.findall(r"^\| (\S+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text, re.M)
    for name, *numbers in rows:
        block = re.search(rf"^{re.escape(name)} .*\n.*\n?", page, re.M)
        for number in numbers:
            if not block or number not in block[0].split():
                yield f"README.md: tools/BENCHMARK.txt does not say that {name} takes {number}"
    if not rows:
        yield "README.md: there are no numbers"


def check_tests(name, text, build):
    tests = json.loads((build / "meson-info/intro-tests.json").read_text(encoding="utf-8"))
    known = {test["name"] for test in tests} | {suite.split(":")[-1] for test in tests for suite in test["suite"]}
    for options in re.findall(r"^ .*meson test -C build\b(.*?)(?:\s+#.*)?$", text, re.M):
        for word in options.replace("--suite", "").split():
            if not word.startswith("-") and word not in known:
                yield f"{name}: there is no test or suite {word}"
    for program in re.findall(r"build/(?:conformance|tools)/([\w-]+)(?=\s)", text):
        if not any((build / folder / program).exists() for folder in ("conformance", "tools")):
            yield f"{name}: there is no program {program}"


def main():
    problems = []
    for name in DOCUMENTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        problems += check_links(name, text)
        if len(sys.argv) == 3:
            problems += check_tests(name, text, pathlib.Path(sys.argv[1]))
    problems += check_comments()
    problems += check_numbers((ROOT / "README.md").read_text(encoding="utf-8"))
    if len(sys.argv) == 3:
        table = subprocess.run([sys.argv[2], "ops", "--format=markdown"], check=True, stdout=subprocess.PIPE,
                               text=True).stdout
        if table != (ROOT / "include/operators.md").read_text(encoding="utf-8"):
            problems.append("include/operators.md: not what `webnn ops --format=markdown` prints")
    print("\n".join(problems) if problems else f"{len(DOCUMENTS)} documents")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
