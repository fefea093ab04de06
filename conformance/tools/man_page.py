# SPDX-License-Identifier: Apache-2.0
"""Checks that the manual page of the webnn program has every command, topic and option that the program's own help has, no
others, and is well-formed; and that the program reads the graph in it.

usage: man_page.py WEBNN MAN_PAGE
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def check_graphs(webnn, page):
    """The weights of a graph may be missing; all else of it is right."""
    graphs = re.findall(r"^\.nf\n(webnn_graph.*?)^\.fi$", page, re.MULTILINE | re.DOTALL)
    for graph in graphs:
        with tempfile.NamedTemporaryFile("w", suffix=".webnn") as file:
            file.write(graph)
            file.flush()
            said = subprocess.run([webnn, "graph", "--before", file.name], capture_output=True, text=True, check=False).stderr
            if said and (said.count("\n") > 1 or "no weights" not in said):
                yield f"a graph is wrong: {said}"
    if not graphs:
        yield "there is no graph"


def main():
    webnn, path = sys.argv[1:]
    page = pathlib.Path(path).read_text(encoding="utf-8").replace("\\-", "-")
    commands = re.findall(r"^  ([a-z]+) +\S", run(webnn, "help"), re.MULTILINE)
    commands = [command for command in commands if command != "webnn"]
    problems = [f"no command {command}" for command in commands if not re.search(rf"^\.B {command}$", page, re.MULTILINE)]
    options = {"--version", "--help"}
    for command in commands:
        # Examples have the options of other programs.
        options |= set(OPTION.findall(run(webnn, "help", command).split("\nExamples:")[0]))
    named = set(OPTION.findall(page))
    problems += [f"no option {option}" for option in sorted(options - named)]
    problems += [f"{option} is no option" for option in sorted(named - options)]
    problems += check_graphs(webnn, page)
    if shutil.which("groff"):
        said = subprocess.run(["groff", "-man", "-Tutf8", "-ww", path], capture_output=True, text=True, check=False).stderr
        problems += said.splitlines()
    for problem in problems:
        print(f"{path}: {problem}")
    print(f"{len(commands)} commands, {len(options)} options, {len(problems)} problems")
    return 1 if problems or len(commands) < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
