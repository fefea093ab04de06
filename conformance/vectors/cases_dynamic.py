# SPDX-License-Identifier: Apache-2.0
"""Tests of the operators about shapes: one operator each, and sizes that a graph computes."""

from cases_data import _configured, _storage
from graph import Graph, Suite
from numeric import FLOATS, TYPES, tensor
from values import anything, reals, spread, text

LIST_TYPES = ("uint32", "int32", "int64")
SHAPES = [(), (1,), (5,), (1, 1), (2, 3), (1, 4, 1), (2, 1, 3, 1), (3, 2, 1, 2, 1), (1, 2, 1, 3, 1, 1, 2, 1)]


def shape():
    return _configured("shape", [(s, {}) for s in SHAPES], share=2)


def range_():
    suite = Suite("range")
    whole = [(0, 5, 1), (3, 17, 4), (3, 18, 5), (7, 8, 9), (100, 0, -7), (5, 4, -3), (0, 120, 1)]
    real = [(0, 1, 0.25), (-2, 2, 0.5), (1, -1, -0.125), (0, 1, 0.1), (10, 0, -3), (0.5, 300, 1)]
    for kind in TYPES:
        for start, limit, delta in whole + (real if kind in FLOATS else []):
            if delta < 0 and kind.startswith("uint"):
                continue
            suite.test("%s from %s to %s by %s" % (kind, start, limit, delta),
                       {"start": tensor(kind, start), "limit": tensor(kind, limit), "delta": tensor(kind, delta)},
                       constant=["start", "limit", "delta"])
    return suite


def squeeze():
    forms = [(s, {}) for s in SHAPES]
    forms += [((1, 4, 1), {"axes": [0]}), ((1, 4, 1), {"axes": [2, 0]}), ((2, 1, 3, 1), {"axes": [3]}),
              ((2, 3), {"axes": []}), ((1,), {"axes": [0]}), ((1, 2, 1, 3, 1, 1, 2, 1), {"axes": [7, 0, 4]})]
    return _storage(_configured("squeeze", forms), (1, 16, 1), {"axes": [0]})


def unsqueeze():
    forms = [((), [0]), ((), [0, 1, 2]), ((5,), [0]), ((5,), [1]), ((2, 3), [1]), ((2, 3), [3, 0]), ((2, 3), [4, 1, 2]),
             ((2, 3), []), ((2, 1, 3, 2), [2]), ((2, 2), [0, 7, 1, 6, 2, 5])]
    return _storage(_configured("unsqueeze", [(s, {"axes": a}) for s, a in forms]), (16,), {"axes": [1]})


def reshape_to_2d():
    forms = [((), {"axis": 0}), ((5,), {}), ((5,), {"axis": 0}), ((2, 3), {}), ((2, 3), {"axis": 2}), ((2, 3, 4), {}),
             ((2, 3, 4), {"axis": 2}), ((2, 3, 4), {"axis": 0}), ((3, 2, 1, 2, 1), {"axis": 3})]
    return _configured("reshapeTo2d", forms)


def _dynamic(op, forms, kinds=TYPES):
    """forms: (shape of the input, {operand: list}, attributes)."""
    suite = Suite(op)
    for number, (kind, (size, lists, attributes)) in enumerate(spread(forms, kinds, share=2)):
        operands = {"input": anything(suite.random, kind, size)}
        operands.update({key: tensor(LIST_TYPES[number % 3], items, (len(items),)) for key, items in lists.items()})
        what = " ".join("%s=%s" % (k, text(v) if isinstance(v, list) else v) for k, v in
                        list(lists.items()) + list(attributes.items()))
        suite.test("%s %s %s" % (kind, text(size), what or "default"), operands, attributes, constant=list(lists))
    return suite


def reshape_dynamic():
    forms = [((), []), ((), [1, 1]), ((6,), [2, 3]), ((2, 3, 4), [4, 6]), ((4, 6), [2, 3, 4]), ((1,), []),
             ((8,), [1, 2, 1, 2, 1, 2, 1, 1])]
    return _dynamic("reshapeDynamic", [(s, {"newShape": n}, {}) for s, n in forms])


def expand_dynamic():
    forms = [((), [2, 3]), ((), []), ((3,), [2, 3]), ((2, 1), [2, 4]), ((1, 2, 1), [3, 2, 2]), ((4,), [4])]
    return _dynamic("expandDynamic", [(s, {"newShape": n}, {}) for s, n in forms])


def tile_dynamic():
    forms = [((), []), ((3,), [2]), ((2, 3), [1, 2]), ((2, 3), [3, 1]), ((2, 1, 3), [2, 2, 2])]
    return _dynamic("tileDynamic", [(s, {"repetitions": r}, {}) for s, r in forms])


def slice_dynamic():
    forms = [((), [], [], {}), ((7,), [2], [3], {}), ((7,), [1], [6], {"strides": [3]}), ((3, 5), [1, 2], [2, 2], {}),
             ((3, 5), [0, 1], [3, 4], {"strides": [2, 3]}), ((2, 3, 4), [0, 1, 1], [2, 1, 3], {})]
    return _dynamic("sliceDynamic", [(s, {"starts": b, "sizes": n}, at) for s, b, n, at in forms])


def split_dynamic():
    forms = [((6,), [1, 2, 3], {}), ((6,), [6], {}), ((4, 6), [1, 3], {"axis": 0}), ((4, 6), [2, 1, 3], {"axis": 1}),
             ((2, 3, 4), [1, 3], {"axis": 2})]
    return _dynamic("splitDynamic", [(s, {"splits": n}, at) for s, n, at in forms])


def pad_dynamic():
    forms = [((5,), [1], [2], {}), ((2, 3), [1, 0], [0, 2], {"value": 7}), ((3, 4), [1, 2], [2, 1], {"mode": "edge"}),
             ((3, 4), [1, 2], [2, 3], {"mode": "reflection"}), ((2, 3, 2), [0, 1, 0], [1, 0, 1], {}),
             ((2, 3), [0, 0], [0, 0], {})]
    return _dynamic("padDynamic", [(s, {"beginningPadding": b, "endingPadding": e}, at) for s, b, e, at in forms])


def resample2d_dynamic():
    suite = Suite("resample2dDynamic")
    forms = [([4, 6], {}), ([6, 4], {"mode": "linear"}), (None, {"scales": [2.0, 3.0]}), ([5, 6], {"axes": [1, 2]}),
             ([4, 9], {"scales": [9.0, 9.0]}), ([4, 4], {"mode": "linear", "axes": [1, 2]})]
    for number, (sizes, attributes) in enumerate(forms):
        for kind in FLOATS:
            operands = {"input": reals(suite.random, kind, (1, 2, 3, 4), -9, 9)}
            if sizes:
                operands["sizes"] = tensor(LIST_TYPES[number % 3], sizes)
            what = " ".join("%s=%s" % (k, text(v) if isinstance(v, list) else v) for k, v in attributes.items())
            suite.test("%s to %s %s" % (kind, text(sizes or []), what or "default"), operands, attributes,
                       constant=["sizes"])
    return suite


# ---- sizes that a graph computes ------------------------------------------------------------------------------

class _Model:
    """A graph of which `x` is the input."""

    def __init__(self, random, kind, *size):
        self.graph, self.count = Graph(), 0
        self.x = self.graph.input("x", anything(random, kind, size))

    def list(self, *items, kind="int32"):
        self.count += 1
        return self.graph.constant("list%d" % self.count, tensor(kind, items, (len(items),)))

    def op(self, name, operands, **attributes):
        return self.graph.add(name, operands, attributes)

    def two(self, name, a, b):
        return self.op(name, {"a": a, "b": b})

    def sizes(self, of=None):
        return self.op("cast", {"input": self.op("shape", {"input": of or self.x})}, dataType="int32")

    def part(self, of, first, count=1):
        return self.op("slice", {"input": of}, starts=[first], sizes=[count])

    def join(self, *parts):
        return self.op("concat", {"inputs": list(parts)}, axis=0)


def _pad_to_blocks(m):
    more = m.two("modulusFloor", m.op("neg", {"input": m.part(m.sizes(), 0)}), m.list(4))
    padded = m.op("padDynamic", {"input": m.x, "beginningPadding": m.list(0, 0), "endingPadding": m.join(more, m.list(0))})
    rows = m.two("div", m.part(m.sizes(padded), 0), m.list(4))
    return m.op("reshapeDynamic", {"input": padded, "newShape": m.join(rows, m.list(4), m.part(m.sizes(), 1))})


def _left_out(m):
    wanted = m.list(-1, 2)
    known = m.op("where", {"condition": m.two("equal", wanted, m.list(-1)), "trueValue": m.list(1), "falseValue": wanted})
    rest = m.two("div", m.op("reduceProduct", {"input": m.sizes()}), m.op("reduceProduct", {"input": known}))
    size = m.op("where", {"condition": m.two("lesser", wanted, m.list(0)), "trueValue": rest, "falseValue": wanted})
    return m.op("reshapeDynamic", {"input": m.x, "newShape": size})


def _first_half(m):
    half = m.two("max", m.two("div", m.sizes(), m.list(2)), m.list(1))
    return m.op("sliceDynamic", {"input": m.x, "starts": m.two("sub", m.sizes(), half), "sizes": half})


def _places(m):
    size = m.op("squeeze", {"input": m.part(m.sizes(), 0)}, axes=[0])
    zero, one = (m.op("squeeze", {"input": m.list(v)}) for v in (0, 1))
    places = m.op("range", {"start": zero, "limit": size, "delta": one})
    return m.op("gather", {"input": m.x, "indices": m.op("reverse", {"input": places})}, axis=0)


def _heads(m):
    sizes = m.op("shape", {"input": m.x})
    first = m.op("gather", {"input": sizes, "indices": m.list(0)}, axis=0)
    return m.op("expandDynamic", {"input": m.op("unsqueeze", {"input": m.x}, axes=[1]),
                                  "newShape": m.join(first, m.list(3, kind="uint32"), m.part(sizes, 1))})


def _parts(m):
    rows = m.part(m.sizes(), 0)
    return m.op("splitDynamic", {"input": m.x, "splits": m.join(m.list(1), m.two("sub", rows, m.list(1)))}, axis=0)


def _both(m):
    last = m.op("tileDynamic", {"input": m.sizes(), "repetitions": m.list(2)})
    return m.op("tileDynamic", {"input": m.x, "repetitions": m.two("min", m.part(last, 1, 2), m.list(2))})


def _half_ceil(m):
    real = m.op("cast", {"input": m.sizes()}, dataType="float32")
    two = m.op("cast", {"input": m.list(2)}, dataType="float32")
    half = m.op("ceil", {"input": m.two("mul", real, m.op("reciprocal", {"input": two}))})
    return m.op("sliceDynamic", {"input": m.x, "starts": m.list(0, 0),
                                 "sizes": m.op("cast", {"input": half}, dataType="int64")})


def dynamic():
    suite = Suite("dynamic")
    models = {"padded to blocks": _pad_to_blocks, "a size that is left out": _left_out, "the last half": _first_half,
              "places in reverse": _places, "heads": _heads, "two parts": _parts, "repeated": _both,
              "half, rounded up": _half_ceil}
    for name, make in models.items():
        for kind, size in (("float32", (5, 4)), ("float16", (3, 2)), ("int32", (8, 2))):
            model = _Model(suite.random, kind, *size)
            outputs = make(model)
            suite.graph("%s %s %s" % (name, kind, text(size)), model.graph,
                        [outputs] if isinstance(outputs, str) else outputs, {"metric": "ULP", "value": 0})
    return suite


def suites():
    for make in (shape, range_, squeeze, unsqueeze, reshape_to_2d, reshape_dynamic, expand_dynamic, tile_dynamic,
                 slice_dynamic, split_dynamic, pad_dynamic, resample2d_dynamic, dynamic):
        yield make()
