#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up what the tests of several builds say: tally.py FOLDER [BUILDS THAT FAILED TO BUILD OR RUN...].

A test that prints "N passed, N failed[, N skipped]" counts as that many, any other as one. Names what failed, with the
end of what it printed, and what was skipped, and ends with one such line of its own."""
import glob
import json
import os
import re
import sys

LINE = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
LINES_TOLD = 20  # of a test that failed
SKIP = re.compile(r"^skipped: .*$", re.M)

passed = failed = skipped = 0
for log in sorted(glob.glob(os.path.join(sys.argv[1], "*", "meson-logs", "testlog*.json"))):
    build = log.split(os.sep)[-3]
    with open(log, encoding="utf-8") as file:
        tests = [json.loads(line) for line in file]
    for test in tests:
        output = test.get("stdout", "")
        counts = [tuple(int(n or 0) for n in found) for found in LINE.findall(output)]
        good, bad, left = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
        if test["result"] == "SKIP":
            left += 1
        elif test["result"] not in ("OK", "EXPECTEDFAIL"):
            bad += bad == 0
        elif not counts:
            good += 1
        passed, failed, skipped = passed + good, failed + bad, skipped + left
        if bad:
            print(f"failed: {build}: {test['name']}: {bad} ({test['result'].lower()} after {test['duration']:.0f} s)")
            said = (output + test.get("stderr", "")).splitlines()
            print("".join(f"    {line}\n" for line in said[-LINES_TOLD:]), end="")
        if left:
            reasons = SKIP.findall(output) or ["skipped: the test says no more"]
            print(f"{build}: {test['name']}: {'; '.join(reasons[:3])}")

broken = [name for name in sys.argv[2:] if not glob.glob(os.path.join(sys.argv[1], name, "meson-logs", "testlog*.json"))]
for name in broken:
    print(f"failed: {name} did not build")
failed += len(broken)
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed or passed == 0 else 0)
