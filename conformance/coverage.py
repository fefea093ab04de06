# SPDX-License-Identifier: Apache-2.0
"""Tells whether every place where ops/ refuses something has been reached.

usage: coverage.py BUILD_DIRECTORY

The build directory was configured with -Db_coverage=true --buildtype=debug, and the validation tests have run in it.
A place is a line of ops/*.c with a call of wnn_op_fail, wnn_fail or a local function fail_...; running out of memory
does not count. Exits with 1 if one was never executed.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALL = re.compile(r"\b(?:wnn_op_fail|wnn_fail|fail_\w+)\(")
DEFINITION = re.compile(r"^(?:static\s+)?\w[\w\s*]*\b(?:wnn_op_fail|wnn_fail|fail_\w+)\(")


def places():
    """(path, line number, text) of every refusal."""
    for path in sorted((ROOT / "ops").glob("*.c")):
        macro = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            macro = macro or line.startswith("#define")
            if CALL.search(line) and not DEFINITION.match(line) and not macro:
                yield path, number, line.strip()
            macro = macro and line.endswith("\\")


def executed(build):
    """{(path, line number): count}, the sum over all objects."""
    counts = {}
    for data in sorted(build.rglob("ops_*.gcda")):
        result = subprocess.run(["gcov", "--json-format", "--stdout", str(data)], cwd=build, check=True,
                                capture_output=True, text=True)
        for text in result.stdout.splitlines():
            report = json.loads(text)
            for file in report["files"]:
                path = pathlib.Path(report["current_working_directory"], file["file"]).resolve()
                for line in file["lines"]:
                    key = path, line["line_number"]
                    counts[key] = counts.get(key, 0) + line["count"]
    return counts


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    counts = executed(pathlib.Path(sys.argv[1]).resolve())
    total = reached = 0
    for path, number, text in places():
        total += 1
        if counts.get((path, number), 0) > 0:
            reached += 1
        else:
            print(f"{path.relative_to(ROOT)}:{number}: never reached: {text}")
    print(f"{reached} of {total} reject branches reached")
    return 0 if total and reached == total else 1


if __name__ == "__main__":
    sys.exit(main())
