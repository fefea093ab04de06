# SPDX-License-Identifier: Apache-2.0
"""Tests of gru, gruCell, lstm and lstmCell.

Two kinds of data: positive operands for the smooth activations, so that no sum cancels, and small multiples of a
power of two for relu, where results are exact."""

from graph import Suite
from numeric import FLOATS
from values import dyadic, positive

GRU_LISTS = [["relu", "relu"], ["sigmoid", "tanh"], ["sigmoid", "sigmoid"], ["tanh", "relu"], ["sigmoid", "relu"]]
GRU_OBJECTS = [
    [{"name": "hardSigmoid", "alpha": 0.25, "beta": 0.25}, {"name": "tanh"}],
    [{"name": "sigmoid"}, {"name": "leakyRelu", "alpha": 0.25}], ["sigmoid", {"name": "linear", "alpha": 0.5}],
    [{"name": "clamp", "minValue": 0, "maxValue": 1}, "relu"], [{"name": "hardSigmoid"}, {"name": "softsign"}],
    ["sigmoid", {"name": "elu", "alpha": 2}], [{"name": "sigmoid"}, {"name": "softplus", "steepness": 2}],
    ["sigmoid", {"name": "gelu"}], [{"name": "hardSigmoid"}, {"name": "hardSwish"}]]
LSTM_LISTS = [["relu", "relu", "relu"], ["sigmoid", "tanh", "tanh"], ["sigmoid", "relu", "tanh"],
              ["tanh", "sigmoid", "relu"]]
LSTM_OBJECTS = [
    [{"name": "hardSigmoid", "alpha": 0.25, "beta": 0.25}, {"name": "tanh"}, {"name": "tanh"}],
    ["sigmoid", {"name": "leakyRelu", "alpha": 0.25}, "tanh"], ["sigmoid", "tanh", {"name": "linear", "alpha": 0.5}],
    [{"name": "clamp", "minValue": 0, "maxValue": 1}, "relu", {"name": "linear"}],
    ["sigmoid", {"name": "softsign"}, {"name": "elu", "alpha": 2}], [{"name": "sigmoid"}, {"name": "softplus"}, "tanh"],
    ["sigmoid", {"name": "gelu"}, {"name": "hardSwish"}]]

# Steps, batch, input size, hidden size.
SIZES = [(1, 1, 1, 1), (1, 2, 3, 2), (3, 1, 2, 3), (2, 2, 2, 3), (3, 2, 1, 2), (2, 1, 5, 1), (4, 1, 2, 2)]


def _makers(random, kind, exact):
    """Functions that make weights, and states or inputs, of a shape."""
    if exact:
        return (lambda s: dyadic(random, kind, s, -1, 1, 0.5)), (lambda s: dyadic(random, kind, s, 0, 1, 0.5))
    return (lambda s: positive(random, kind, s, 0.05, 0.45)), (lambda s: positive(random, kind, s, 0.1, 1))


def _operands(random, kind, op, size, directions, parts, exact):
    """Operands of a network (directions given) or of a cell (directions None)."""
    steps, batch, inputs, hidden = size
    gates = 3 if op.startswith("gru") else 4
    weight, state = _makers(random, kind, exact)
    lead = () if directions is None else (directions,)
    made = {"input": state((batch, inputs) if directions is None else (steps, batch, inputs)),
            "weight": weight(lead + (gates * hidden, inputs)),
            "recurrentWeight": weight(lead + (gates * hidden, hidden))}
    if directions is None:
        made["hiddenState"] = state((batch, hidden))
        if gates == 4:
            made["cellState"] = state((batch, hidden))
    shapes = {"bias": (gates * hidden,), "recurrentBias": (gates * hidden,), "peepholeWeight": (3 * hidden,),
              "initialHiddenState": (batch, hidden), "initialCellState": (batch, hidden)}
    for part in parts:
        made[part] = (state if part.startswith("initial") else weight)(lead + shapes[part])
    return made


def _is_exact(activations):
    """Only activations that are exact on exact operands."""
    names = [item if isinstance(item, str) else item["name"] for item in activations or ["sigmoid"]]
    return all(name in ("relu", "clamp", "leakyRelu", "linear") for name in names)


def _label(size, at, parts):
    steps, batch, inputs, hidden = size
    shown = []
    for key, value in at.items():
        if key in ("steps", "hiddenSize"):
            continue
        if key == "activations":
            value = "/".join(v if isinstance(v, str) else "{%s}" % v["name"] for v in value)
        shown.append("%s=%s" % (key, value))
    sizes = "steps %d batch %d input %d hidden %d" % (steps, batch, inputs, hidden)
    return " ".join([sizes] + shown + ["+".join(parts)]).strip()


def _network(op, layouts, optional, lists, objects):
    suite = Suite(op)
    is_gru = op == "gru"

    def test(kind, size, at, parts, constant=None):
        exact = "activations" in at and _is_exact(at["activations"])
        if exact:  # longer sequences would need too many bits
            size = (min(size[0], 2 if kind == "float32" else 1),) + size[1:]
        at = dict({"steps": size[0], "hiddenSize": size[3]}, **at)
        directions = 2 if at.get("direction") == "both" else 1
        operands = _operands(suite.random, kind, op, size, directions, parts, exact)
        suite.test("%s %s" % (kind, _label(size, at, parts)), operands, at, constant=constant)
    none, everything = (), tuple(optional)
    for kind in FLOATS:
        number = 0
        for direction in ("forward", "backward", "both"):
            for layout in layouts:
                for sequence in (False, True):
                    for variant in (True, False) if is_gru else (None,):
                        number += 1
                        at = {}
                        if direction != "forward" or number % 2:
                            at["direction"] = direction
                        if layout != layouts[0] or number % 3 == 0:
                            at["layout"] = layout
                        if sequence or number % 4 == 0:
                            at["returnSequence"] = sequence
                        if variant is not None and (not variant or number % 3):
                            at["resetAfter"] = variant
                        parts = (everything, none, optional[:2], optional[2:])[number % 4]
                        test(kind, SIZES[number % len(SIZES)], at, parts)
        for i, part in enumerate(optional):  # each optional operand alone, and each missing alone
            test(kind, SIZES[2], {"returnSequence": True}, (part,))
            test(kind, SIZES[3], {"direction": "both"}, everything[:i] + everything[i + 1:])
        for i, activations in enumerate(lists + objects):
            for variant in (True, False) if is_gru else (None,):
                at = {"activations": activations}
                if variant is False:
                    at["resetAfter"] = False
                test(kind, SIZES[1], at, everything)
                if kind == "float32" or activations in lists:
                    test(kind, SIZES[2 + i % 3], dict(at, direction="both", returnSequence=True), optional[:2])
        for direction in ("forward", "backward", "both"):
            test(kind, (2, 2, 2, 2) if kind == "float32" else (1, 2, 2, 2),
                 {"activations": lists[0], "direction": direction, "returnSequence": True}, optional[:2])
        test(kind, SIZES[3], {"direction": "both"}, everything,
             constant=["weight", "recurrentWeight", "bias", "recurrentBias"])
        test(kind, SIZES[3], {}, everything, constant=[])
        test(kind, SIZES[1], {}, everything, constant=["input", "weight", "recurrentWeight"] + list(optional))
        test(kind, (2, 1, 6, 5), {"returnSequence": True}, optional[:1])
    return suite


def _cell(op, layouts, optional, lists, objects):
    suite = Suite(op)
    is_gru = op == "gruCell"

    def test(kind, size, at, parts, constant=None):
        at = dict({"hiddenSize": size[3]}, **at)
        exact = "activations" in at and _is_exact(at["activations"])
        operands = _operands(suite.random, kind, op, size, None, parts, exact)
        suite.test("%s %s" % (kind, _label(size, at, parts)), operands, at, constant=constant)
    subsets = [tuple(p for i, p in enumerate(optional) if bits >> i & 1) for bits in range(2 ** len(optional))]
    for kind in FLOATS:
        for i, parts in enumerate(subsets):
            for layout in layouts if kind == "float32" else layouts[i % 2:i % 2 + 1]:
                for variant in (True, False) if is_gru else (None,):
                    at = {"layout": layout} if layout != layouts[0] or i % 2 else {}
                    if variant is not None and (not variant or i % 2):
                        at["resetAfter"] = variant
                    test(kind, SIZES[len(suite.lines) % len(SIZES)], at, parts)
                    test(kind, SIZES[(len(suite.lines) + 3) % len(SIZES)], dict(at, activations=lists[0]), parts)
        for i, activations in enumerate(lists + objects):
            for layout in layouts if kind == "float32" else layouts[i % 2:i % 2 + 1]:
                at = {"activations": activations, "layout": layout}
                if is_gru and layout == layouts[1]:
                    at["resetAfter"] = False
                test(kind, SIZES[3], at, tuple(optional))
        test(kind, SIZES[3], {}, tuple(optional), constant=["weight", "recurrentWeight"] + list(optional))
        test(kind, SIZES[3], {}, tuple(optional), constant=[])
        test(kind, (1, 1, 6, 9), {}, optional[:1])
    return suite


GRU_OPTIONAL = ("bias", "recurrentBias", "initialHiddenState")
LSTM_OPTIONAL = ("bias", "recurrentBias", "peepholeWeight", "initialHiddenState", "initialCellState")


def suites():
    yield _network("gru", ("zrn", "rzn"), GRU_OPTIONAL, GRU_LISTS, GRU_OBJECTS)
    yield _cell("gruCell", ("zrn", "rzn"), GRU_OPTIONAL[:2], GRU_LISTS, GRU_OBJECTS)
    yield _network("lstm", ("iofg", "ifgo"), LSTM_OPTIONAL, LSTM_LISTS, LSTM_OBJECTS)
    yield _cell("lstmCell", ("iofg", "ifgo"), LSTM_OPTIONAL[:3], LSTM_LISTS, LSTM_OBJECTS)
