# SPDX-License-Identifier: Apache-2.0
"""Recording of test graphs, and the list of tests of one file."""

import json
import zlib

import numpy as np

import numeric
import oracle
import oracle_data  # noqa: F401  (the imports fill the registry)
import oracle_dynamic  # noqa: F401
import oracle_nn  # noqa: F401
import oracle_recurrent  # noqa: F401
import tolerance

# Parameters that hold trained values in practice.
WEIGHTS = {"filter", "bias", "weight", "recurrentWeight", "recurrentBias", "peepholeWeight", "scale", "zeroPoint",
           "mean", "variance", "slope"}


class Graph:
    """Operators in build order with the value of every operand. Operands are referred to by name."""

    def __init__(self):
        self.values, self.inputs, self.operators = {}, {}, []

    def input(self, name, value, constant=False):
        assert name not in self.values, name
        self.values[name] = value
        self.inputs[name] = constant
        return name

    def constant(self, name, value):
        return self.input(name, value, True)

    def add(self, op, operands, attributes=None, base=None):
        """Append an operator; returns the name of its output, or the list of names if there are several.

        base is the name of a single output, and the start of the names of several."""
        attributes = attributes or {}
        results = oracle.evaluate(op, self._resolve(operands), attributes)
        base = base or "%s%d" % (op, len(self.operators))
        outputs = [base] if len(results) == 1 else ["%s_%d" % (base, i) for i in range(len(results))]
        for name, value in zip(outputs, results):
            assert name not in self.values, name
            self.values[name] = value
        self.operators.append({"name": op, "operands": operands, "attributes": attributes, "outputs": outputs})
        return outputs[0] if len(outputs) == 1 else outputs

    def _resolve(self, operands, values=None):
        values = values or self.values
        return {key: [values[n] for n in name] if isinstance(name, list) else values[name]
                for key, name in operands.items()}

    def used(self):
        names = set()
        for op in self.operators:
            for name in op["operands"].values():
                names.update(name if isinstance(name, list) else [name])
        return names

    def single_tolerance(self):
        op = self.operators[0]
        return tolerance.single(op["name"], self._resolve(op["operands"]), op["attributes"],
                                self.values[op["outputs"][0]].type)

    def summed_tolerance(self, kind):
        return {"metric": "ULP", "value": sum(tolerance.ulp(op["name"], self._resolve(op["operands"]),
                                                            op["attributes"], kind) for op in self.operators)}

    def evaluate_in(self, numpy_type, outputs):
        """The outputs when everything is calculated in another working type."""
        numeric.set_work_type(numpy_type)
        values = {name: self.values[name] for name in self.inputs}
        for op in self.operators:
            results = oracle.evaluate(op["name"], self._resolve(op["operands"], values), op["attributes"])
            values.update(zip(op["outputs"], results))
        numeric.set_work_type(np.float64)
        return [values[name] for name in outputs]


def special_values(tensors):
    """Which kinds of special floating-point values occur."""
    found = []
    arrays = [t.a for t in tensors if t.is_float]
    for word, test in (("NaN", np.isnan), ("Infinity", np.isinf),
                       ("denormal", lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny))):
        if any(test(a).any() for a in arrays):
            found.append(word)
    return found


class Suite:
    """The tests of one operator (or of subgraphs): one JSON file."""

    def __init__(self, op):
        self.op, self.lines, self.names, self.graphs = op, [], set(), []
        self.random = np.random.RandomState(zlib.crc32(op.encode()) & 0x7FFFFFFF)

    def test(self, label, operands, attributes=None, constant=None, prefix=""):
        """Add a test with one operator. operands: parameter -> tensor, or list of tensors.

        constant: names of the parameters to make constants; by default weights usually are, others sometimes.
        4-bit tensors, which exist to hold weights, always are."""
        graph, index = Graph(), len(self.lines)
        names = {}
        for position, (key, value) in enumerate(operands.items()):
            if constant is not None:
                is_constant = key in constant
            elif key in WEIGHTS:
                is_constant = index % 3 != 2
            else:
                is_constant = (index + position) % 4 == 1 if position else index % 9 == 4
            if isinstance(value, list):
                names[key] = [graph.input("%s%d" % (key, i), v, (index + i) % 4 == 1)
                              for i, v in enumerate(value)]
            else:
                names[key] = graph.input(key, value, is_constant or value.type in ("int4", "uint4"))
        results = graph.add(self.op, names, attributes, "output")
        outputs = [results] if isinstance(results, str) else results
        self.graph("%s%s %s" % (prefix, self.op, label), graph, outputs, graph.single_tolerance())

    def graph(self, name, graph, outputs, allowed=None):
        """Add a test from a graph."""
        unique, number = name, 2
        while unique in self.names:
            unique, number = "%s (%d)" % (name, number), number + 1
        self.names.add(unique)
        unused = set(graph.inputs) - graph.used()
        assert not unused, (unique, unused)
        if allowed is None:
            allowed = graph.summed_tolerance(graph.values[outputs[0]].type)
        entry = {"name": unique, "source": "generated", "file": "generate.py"}
        special = special_values([graph.values[n] for n in list(graph.inputs) + list(outputs)])
        if special:
            entry["notes"] = ["special values: " + ", ".join(special)]
        entry.update({
            "tolerance": allowed, "oracle": {"maxUlp": 0},
            "inputs": {n: numeric.to_json(graph.values[n], constant) for n, constant in graph.inputs.items()},
            "operators": graph.operators,
            "expectedOutputs": {n: numeric.to_json(graph.values[n]) for n in outputs},
        })
        self.lines.append(json.dumps(entry, separators=(",", ":"), allow_nan=False))
        self.graphs.append((unique, graph, outputs, allowed))

    def text(self):
        head = '{"op":"%s","kind":"conformance","format":1,"count":%d,"tests":[\n' % (self.op, len(self.lines))
        return head + ",\n".join(self.lines) + "\n]}\n"
