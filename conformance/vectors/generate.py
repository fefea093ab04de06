# SPDX-License-Identifier: Apache-2.0
"""Generates the conformance vectors of this folder, one JSON file per operator.

    python3 generate.py                  rewrite all files
    python3 generate.py --check          exit 1 if a file differs from what would be written
    python3 generate.py --conditioning   also list tests that plain float32 arithmetic passes only narrowly

Needs numpy and torch. Expected values come from float64 (or exact integer) arithmetic that shares no code with the
library, on inputs already rounded to their types, rounded once to the type of the output. The data are pseudo-random
with fixed seeds, so the same files come out each time."""

import argparse
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402

import cases_data  # noqa: E402
import cases_dynamic  # noqa: E402
import cases_elementwise  # noqa: E402
import cases_empty  # noqa: E402
import cases_nn  # noqa: E402
import cases_recurrent  # noqa: E402
import cases_subgraph  # noqa: E402
import numeric  # noqa: E402
import oracle  # noqa: E402

FOLDER = os.path.dirname(os.path.abspath(__file__))
SEVERAL = {"dynamic", "subgraph", "empty", "emptyRefused"}  # files that are not of one operator


def all_suites():
    for module in (cases_elementwise, cases_data, cases_nn, cases_recurrent, cases_subgraph, cases_empty,
                   cases_dynamic):
        yield from module.suites()


def validate(op, text):
    """Check the text of one file for consistency with the format."""
    content = json.loads(text)
    assert content["op"] == op and content["count"] == len(content["tests"])
    names = [test["name"] for test in content["tests"]]
    assert len(set(names)) == len(names)
    for test in content["tests"]:
        known, used = set(), set()
        known.update(test["inputs"])
        for entry in test["inputs"].values() if content["kind"] == "conformance" else []:
            numeric.from_json(entry)
        for operator in test["operators"]:
            assert operator["name"] in oracle.operators(), operator["name"]
            assert op in SEVERAL | {operator["name"]}, test["name"]
            for value in operator["operands"].values():
                for name in value if isinstance(value, list) else [value]:
                    assert name in known, (test["name"], name)
                    used.add(name)
            assert not known & set(operator["outputs"]), test["name"]
            known.update(operator["outputs"])
        assert set(test["inputs"]) <= used, test["name"]
        for name, entry in test.get("expectedOutputs", {}).items():
            numeric.from_json(entry)
            assert name in known and name not in test["inputs"], (test["name"], name)


def report_conditioning(suite):
    """Evaluate each test in float32: a test that needs most of its tolerance then is a poor test."""
    for name, graph, outputs, allowed in suite.graphs:
        worst = 0
        for actual, output in zip(graph.evaluate_in(np.float32, outputs), outputs):
            worst = max(worst, numeric.distance(actual, graph.values[output], allowed["metric"]))
        if worst > max(allowed["value"] / 2, min(allowed["value"], 1)):
            print("narrow: %s: %s of %s" % (name, worst, allowed["value"]))


def main():
    parser = argparse.ArgumentParser(description="Generate the conformance vectors.")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    parser.add_argument("--conditioning", action="store_true", help="list tests that float32 passes only narrowly")
    arguments = parser.parse_args()
    counts, size, different, written = {}, 0, [], set()
    for suite in all_suites():
        text = suite.text()
        validate(suite.op, text)
        assert suite.op not in counts, suite.op
        counts[suite.op] = len(suite.lines)
        size += len(text)
        path = os.path.join(FOLDER, suite.op + ".json")
        written.add(suite.op + ".json")
        if arguments.check:
            present = os.path.exists(path)
            if not present or open(path, encoding="ascii").read() != text:
                different.append(suite.op)
        else:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        if arguments.conditioning:
            report_conditioning(suite)
    assert set(oracle.operators()) == set(counts) - SEVERAL, set(oracle.operators()) ^ set(counts)
    stale = sorted(f for f in os.listdir(FOLDER) if f.endswith(".json") and f not in written)
    for op in sorted(counts):
        print("%-24s%5d" % (op, counts[op]))
    print("%-24s%5d in %d files, %d bytes" % ("total", sum(counts.values()), len(counts), size))
    if stale:
        print("not generated: " + " ".join(stale))
    if different:
        print("differ: " + " ".join(different))
    return 1 if different or stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
