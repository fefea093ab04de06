# SPDX-License-Identifier: Apache-2.0
"""Tests of the operators that move data."""

from graph import Suite
from numeric import FLOATS, TYPES, limits, tensor
from values import INF, NAN, anything, spread, storage, text

INDEX_TYPES = ("int32", "uint32", "int64")


def _configured(op, configurations, key="input", share=3):
    """Tests of an operator with one operand: pairs (shape, attributes), each for many types."""
    suite = Suite(op)
    for kind, (shape, attributes) in spread(configurations, TYPES, share=share):
        name = " ".join("%s=%s" % (k, text(v) if isinstance(v, (list, tuple)) else v)
                        for k, v in attributes.items())
        suite.test("%s %s %s" % (kind, text(shape), name or "default"),
                   {key: anything(suite.random, kind, shape)}, attributes)
    return suite


def _storage(suite, shape, attributes):
    """The same operator on values whose bits must survive."""
    for kind in TYPES:
        suite.test("%s bits survive" % kind, {"input": storage(kind, shape)}, attributes, prefix="storage: ")
    return suite


def concat():
    suite = Suite("concat")
    forms = [([(3,)], 0), ([(2,), (3,), (1,)], 0), ([(2, 3), (2, 3)], 0), ([(2, 3), (2, 1)], 1),
             ([(1, 2, 3), (2, 2, 3)], 0), ([(2, 1, 3), (2, 2, 3), (2, 1, 3)], 1), ([(2, 2, 1), (2, 2, 4)], 2),
             ([(1, 2, 2, 2), (1, 3, 2, 2)], 1), ([(2, 1, 2, 2), (2, 1, 2, 1)], 3), ([(1, 2, 1, 2, 1)] * 3, 4),
             ([(2, 1, 2, 1, 3), (2, 1, 1, 1, 3)], 2), ([(1, 2, 1, 2, 1, 1, 2, 1)] * 2, 5), ([(1,)] * 12, 0),
             ([(2, 2)] * 5, 1), ([(1, 1, 2, 3)] * 2, 2)]
    for kind, (shapes, axis) in spread(forms, TYPES, share=2):
        suite.test("%s %s axis %d" % (kind, " ".join(text(s) for s in shapes[:4]), axis),
                   {"inputs": [anything(suite.random, kind, s) for s in shapes]}, {"axis": axis})
    for kind in TYPES:
        suite.test("%s bits survive" % kind, {"inputs": [storage(kind, (1, 16)), storage(kind, (2, 16))]},
                   {"axis": 0}, prefix="storage: ")
    return suite


def expand():
    forms = [((), [3]), ((), [2, 3]), ((), []), ((1,), [5]), ((3,), [3]), ((3,), [2, 3]), ((2, 1), [2, 4]),
             ((1, 3), [2, 3]), ((1, 1), [2, 2, 3]), ((2, 1, 3), [2, 2, 3]), ((1, 2, 1, 2), [3, 2, 2, 2]),
             ((2, 1, 1), [2, 2, 2, 2]), ((1, 2, 1, 1, 2), [2, 2, 1, 3, 2]), ((4,), [1, 2, 1, 1, 2, 1, 2, 4]),
             ((1,), [1, 1, 1, 1]), ((17,), [2, 17])]
    suite = _configured("expand", [(s, {"newShape": n}) for s, n in forms])
    return _storage(suite, (16, 1), {"newShape": [16, 2]})


def reshape():
    forms = [((), [1]), ((), []), ((1,), []), ((1, 1, 1), []), ((6,), [2, 3]), ((6,), [6]), ((2, 3), [6]),
             ((2, 3, 4), [4, 6]), ((4, 6), [2, 3, 4]), ((2, 3, 2, 2), [3, 8]), ((24,), [2, 1, 3, 2, 2]),
             ((2, 1, 3, 2, 2), [24, 1]), ((8,), [1, 2, 1, 2, 1, 2, 1, 1]), ((1, 2, 1, 2, 1, 2, 2, 1), [16]),
             ((3, 5), [1, 15, 1]), ((1,), [1, 1, 1, 1, 1, 1, 1, 1])]
    suite = _configured("reshape", [(s, {"newShape": n}) for s, n in forms])
    return _storage(suite, (4, 4), {"newShape": [2, 8]})


def transpose():
    forms = [((), None), ((5,), None), ((5,), [0]), ((2, 3), None), ((2, 3), [0, 1]), ((2, 3), [1, 0]),
             ((2, 3, 4), None), ((2, 3, 4), [0, 2, 1]), ((2, 3, 4), [1, 2, 0]), ((2, 3, 4), [2, 0, 1]),
             ((2, 3, 2, 2), None), ((2, 3, 2, 4), [0, 2, 3, 1]), ((2, 3, 2, 4), [0, 3, 1, 2]),
             ((2, 3, 1, 4), [3, 2, 0, 1]), ((2, 1, 3, 2, 2), [4, 1, 0, 3, 2]), ((2, 3, 2, 1, 2), [0, 2, 1, 4, 3]),
             ((1, 2, 1, 2, 1, 2, 3, 1), None), ((1, 2, 3, 2, 1, 2, 1, 1), [2, 0, 1, 4, 3, 7, 6, 5]),
             ((9, 17), [1, 0]), ((), [])]
    suite = _configured("transpose", [(s, {"permutation": p} if p is not None else {}) for s, p in forms])
    return _storage(suite, (4, 4), {})


def reverse():
    forms = [((), None), ((), []), ((5,), None), ((5,), []), ((5,), [0]), ((3, 4), None), ((3, 4), [0]),
             ((3, 4), [1]), ((3, 4), [1, 0]), ((2, 3, 4), [1]), ((2, 3, 4), [2, 0]), ((2, 3, 2, 2), [1, 3]),
             ((2, 3, 2, 2), None), ((2, 1, 3, 2, 2), [4, 0, 2]), ((1, 2, 1, 2, 1, 2, 2, 1), [1, 6]), ((19,), [0])]
    suite = _configured("reverse", [(s, {"axes": a} if a is not None else {}) for s, a in forms])
    return _storage(suite, (4, 4), {})


def tile():
    forms = [((), []), ((3,), [1]), ((3,), [3]), ((2, 3), [2, 1]), ((2, 3), [1, 2]), ((2, 3), [2, 2]),
             ((1, 2, 3), [3, 1, 2]), ((2, 1, 2), [1, 4, 1]), ((2, 1, 2, 2), [1, 2, 1, 2]),
             ((1, 1, 1, 1), [2, 2, 2, 2]),
             ((1, 2, 1, 2, 1), [2, 1, 2, 1, 3]), ((1, 2, 1, 1, 1, 2, 1, 1), [2, 1, 1, 2, 1, 1, 1, 2]), ((1,), [9]),
             ((5,), [7])]
    suite = _configured("tile", [(s, {"repetitions": r}) for s, r in forms])
    return _storage(suite, (16,), {"repetitions": [2]})


def slice_():
    forms = [((), [], [], None), ((7,), [0], [7], None), ((7,), [2], [3], None), ((7,), [6], [1], None),
             ((7,), [0], [7], [2]), ((7,), [1], [6], [3]), ((7,), [2], [4], [9]), ((3, 5), [1, 2], [2, 2], None),
             ((3, 5), [0, 1], [3, 4], [2, 3]), ((3, 5), [0, 0], [3, 5], [1, 1]), 
             ((2, 3, 4), [0, 1, 1], [2, 1, 3], None),
             ((2, 3, 4), [0, 0, 1], [2, 3, 3], [1, 2, 2]), ((2, 3, 2, 4), [1, 0, 0, 2], [1, 3, 2, 2], None),
             ((2, 3, 2, 4), [0, 0, 0, 0], [2, 3, 2, 4], [2, 2, 2, 3]),
             ((2, 1, 3, 2, 2), [0, 0, 1, 0, 1], [2, 1, 2, 2, 1], None),
             ((2, 1, 3, 2, 2), [0, 0, 0, 0, 0], [2, 1, 3, 2, 2], [1, 1, 2, 1, 2]),
             ((1, 2, 1, 3, 1, 2, 2, 1), [0, 1, 0, 1, 0, 0, 1, 0], [1, 1, 1, 2, 1, 2, 1, 1], None),
             ((40,), [3], [35], [4]), ((1, 5, 5, 2), [0, 1, 1, 0], [1, 3, 3, 2], [1, 2, 2, 1])]
    suite = _configured("slice", [(s, dict({"starts": b, "sizes": n}, **({"strides": t} if t else {})))
                                  for s, b, n, t in forms])
    return _storage(suite, (18,), {"starts": [1], "sizes": [17]})


def split():
    forms = [((6,), 3, None), ((6,), 1, None), ((6,), [1, 2, 3], None), ((6,), [6], None), ((4, 6), 2, 0),
             ((4, 6), 3, 1), ((4, 6), [1, 3], 0), ((4, 6), [2, 1, 3], 1), ((2, 3, 4), 3, 1), ((2, 3, 4), [1, 3], 2),
             ((2, 4, 2, 2), 2, 1), ((2, 4, 2, 3), [1, 1, 1], 3), ((2, 1, 3, 2, 2), 3, 2), ((2, 1, 3, 2, 4), [3, 1], 4),
             ((1, 2, 1, 2, 1, 2, 4, 1), 2, 6), ((8,), 8, 0), ((12, 2), [5, 7], None)]
    suite = _configured("split", [(s, dict({"splits": n}, **({"axis": a} if a is not None else {})))
                                  for s, n, a in forms])
    return _storage(suite, (2, 16), {"splits": 2})


def pad():
    suite = Suite("pad")
    forms = [((), [], []), ((5,), [1], [2]), ((5,), [0], [0]), ((5,), [3], [0]), ((3, 4), [1, 0], [0, 2]),
             ((3, 4), [2, 3], [2, 1]), ((2, 3, 3), [1, 1, 2], [1, 2, 1]), ((1, 2, 3, 3), [0, 0, 1, 1], [0, 0, 1, 1]),
             ((2, 2, 2, 3), [1, 1, 1, 2], [1, 0, 1, 2]), ((2, 1, 3, 2, 2), [0, 0, 2, 1, 0], [1, 0, 1, 0, 1]),
             ((1, 2, 1, 2, 1, 2, 2, 1), [0, 1, 0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 0, 1, 0, 0])]
    configurations = []
    for shape, begin, end in forms:
        for mode in ("constant", "edge", "reflection", "symmetric"):
            most = 1 if mode == "reflection" else 0 if mode == "symmetric" else -99
            if all(b + most <= n and e + most <= n for n, b, e in zip(shape, begin, end)):
                configurations.append((shape, begin, end, mode))
    for kind, (shape, begin, end, mode) in spread(configurations, TYPES, share=4):
        attributes = {"beginningPadding": begin, "endingPadding": end, "mode": mode}
        suite.test("%s %s %s begin %s end %s" % (kind, mode, text(shape), text(begin), text(end)),
                   {"input": anything(suite.random, kind, shape)}, attributes)
    for kind in TYPES:
        low, high = (-2.5, "Infinity") if kind in FLOATS else limits(kind)
        values = [1, 9.25, "NaN", "-Infinity", "Infinity", str(high) if high != "Infinity" else 0.1,
                  low if kind in FLOATS else str(low), "12345678901234567890123" if kind not in FLOATS else 7]
        for value in values:
            suite.test("%s value %s" % (kind, value), {"input": anything(suite.random, kind, (2, 3))},
                       {"beginningPadding": [1, 0], "endingPadding": [0, 2], "value": value})
        suite.test("%s default mode" % kind, {"input": anything(suite.random, kind, (2, 2))},
                   {"beginningPadding": [1, 1], "endingPadding": [0, 1]})
        for mode in ("constant", "edge", "reflection", "symmetric") if kind in FLOATS else ("reflection",):
            suite.test("%s %s bits survive" % (kind, mode), {"input": storage(kind, (16,))},
                       {"beginningPadding": [3], "endingPadding": [2], "mode": mode}, prefix="storage: ")
    return suite


def triangular():
    suite = Suite("triangular")
    forms = [(shape, upper, diagonal) for shape in ((3, 4), (4, 3), (1, 5), (5, 1), (3, 3))
             for upper in (True, False) for diagonal in (0, 1, -1, -2, 3)]
    forms += [((2, 3, 3), True, 0), ((2, 3, 3), False, -1), ((2, 2, 2, 3), True, 1), ((2, 1, 2, 3, 2), False, 0),
              ((1, 2, 1, 2, 1, 2, 2, 2), True, 0), ((3, 3), True, 2147483647), ((3, 3), True, -2147483648),
              ((3, 3), False, 2147483647), ((3, 3), False, -2147483648), ((9, 18), True, 2)]
    for kind, (shape, upper, diagonal) in spread(forms, TYPES, share=10):
        suite.test("%s %s upper=%s diagonal=%d" % (kind, text(shape), upper, diagonal),
                   {"input": anything(suite.random, kind, shape)}, {"upper": upper, "diagonal": diagonal})
    for kind in TYPES:
        suite.test("%s default" % kind, {"input": anything(suite.random, kind, (3, 3))})
        suite.test("%s lower" % kind, {"input": anything(suite.random, kind, (3, 4))}, {"upper": False})
        suite.test("%s bits survive" % kind, {"input": storage(kind, (4, 4))}, {"diagonal": -1}, prefix="storage: ")
    suite.test("float32 NaN and infinity are replaced by zero", {"input": tensor("float32", [[NAN, INF], [NAN, -INF]])},
               {"diagonal": 1})
    return suite


# ---- gather and scatter ---------------------------------------------------------------------------------------

def _indices(random, kind, shape, size, wild=False):
    """Indices into a dimension; wild ones leave its range (and negative ones count from the end)."""
    if not wild:
        return tensor(kind, random.randint(0 if kind == "uint32" else -size, size, shape))
    low, high = limits(kind)
    choice = [0, size - 1, size, size + 7, high, 2 ** 31 - 1]
    choice += [-1, -size, -size - 1, -100, low] if low else [2 ** 31, high - 1]
    picked = random.randint(0, len(choice), shape)
    return tensor(kind, [choice[i] for i in picked.reshape(-1)], shape)


def gather():
    suite = Suite("gather")
    random = suite.random
    forms = [((5,), 0, ()), ((5,), 0, (3,)), ((5,), 0, (2, 2)), ((3, 4), 0, (2,)), ((3, 4), 1, (2, 3)),
             ((3, 4), 1, ()), ((2, 3, 4), 1, (4,)), ((2, 3, 4), 2, (1, 2)), ((2, 3, 2, 2), 1, (2,)),
             ((2, 3, 2, 2), 3, (2, 1)), ((2, 1, 3, 2, 2), 2, (2,)), ((1, 2, 1, 2, 1, 2, 2, 1), 6, (3,)),
             ((3,), 0, (1, 2, 1, 2, 1, 1, 2, 1)), ((1, 4), 0, (3,)), ((30, 3), 0, (4,))]
    for i, (kind, (shape, axis, index)) in enumerate(spread(forms, TYPES, share=4)):
        for wild in (False, True) if kind == "float32" else (i % 2 == 1,):
            index_kind = INDEX_TYPES[(i + wild) % 3]
            suite.test("%s %s axis %d %s indices %s%s" % (kind, text(shape), axis, index_kind, text(index),
                                                          " out of range" if wild else ""),
                       {"input": anything(random, kind, shape),
                        "indices": _indices(random, index_kind, index, shape[axis], wild)}, {"axis": axis})
    for kind in TYPES:
        for index_kind in INDEX_TYPES:
            suite.test("%s default axis %s constant indices" % (kind, index_kind),
                       {"input": anything(random, kind, (4, 2)),
                        "indices": _indices(random, index_kind, (3,), 4, True)}, constant=["indices"])
        suite.test("%s bits survive" % kind, {"input": storage(kind, (16,)),
                                              "indices": tensor("int32", list(range(15, -1, -1)))},
                   prefix="storage: ")
    return suite


def gather_elements():
    suite = Suite("gatherElements")
    random = suite.random
    forms = [((5,), 0, (3,)), ((5,), 0, (9,)), ((3, 4), 0, (2, 4)), ((3, 4), 1, (3, 2)), ((3, 4), 1, (3, 6)),
             ((2, 3, 4), 0, (3, 3, 4)), ((2, 3, 4), 1, (2, 2, 4)), ((2, 3, 4), 2, (2, 3, 1)),
             ((2, 3, 2, 2), 1, (2, 1, 2, 2)), ((2, 3, 2, 2), 3, (2, 3, 2, 3)), ((2, 1, 3, 2, 2), 2, (2, 1, 2, 2, 2)),
             ((1, 2, 1, 2, 1, 2, 2, 1), 3, (1, 2, 1, 3, 1, 2, 2, 1))]
    for i, (kind, (shape, axis, index)) in enumerate(spread(forms, TYPES, share=4)):
        for wild in (False, True) if kind == "float32" else (i % 2 == 1,):
            index_kind = INDEX_TYPES[(i + wild) % 3]
            suite.test("%s %s axis %d %s indices %s%s" % (kind, text(shape), axis, index_kind, text(index),
                                                          " out of range" if wild else ""),
                       {"input": anything(random, kind, shape),
                        "indices": _indices(random, index_kind, index, shape[axis], wild)}, {"axis": axis})
    for kind in TYPES:
        suite.test("%s default axis" % kind, {"input": anything(random, kind, (3, 2)),
                                              "indices": _indices(random, "int32", (2, 2), 3)})
        suite.test("%s bits survive" % kind, {"input": storage(kind, (16,)),
                                              "indices": tensor("int64", list(range(15, -1, -1)))},
                   constant=["indices"], prefix="storage: ")
    return suite


# Input shape and index shape; the last index dimension is the number of coordinates.
ND_FORMS = [((5,), (1,)), ((5,), (3, 1)), ((5,), (2, 2, 1)), ((3, 4), (2,)), ((3, 4), (3, 2)), ((3, 4), (2, 1)),
            ((2, 3, 4), (2, 3)), ((2, 3, 4), (2, 2)), ((2, 3, 4), (2, 1)), ((2, 3, 4), (2, 2, 2)),
            ((2, 3, 2, 2), (3, 4)), ((2, 3, 2, 2), (2, 2, 3)), ((2, 1, 3, 2, 2), (2, 5)), ((2, 1, 3, 2, 2), (2, 3)),
            ((1, 2, 1, 2, 1, 2, 2, 1), (2, 8)), ((1, 2, 1, 2, 1, 2, 2, 1), (2, 7)), ((9,), (1, 1))]


def _nd_indices(random, kind, index_shape, shape, wild):
    parts = [_indices(random, kind, index_shape[:-1], shape[i], wild).a for i in range(index_shape[-1])]
    out = tensor(kind, random.randint(0, 1, index_shape))
    for i, part in enumerate(parts):
        out.a[..., i] = part
    return out


def gather_nd():
    suite = Suite("gatherND")
    random = suite.random
    for i, (kind, (shape, index)) in enumerate(spread(ND_FORMS, TYPES, share=4)):
        for wild in (False, True) if kind == "float32" else (i % 2 == 1,):
            index_kind = INDEX_TYPES[(i + wild) % 3]
            suite.test("%s %s %s indices %s%s" % (kind, text(shape), index_kind, text(index),
                                                  " out of range" if wild else ""),
                       {"input": anything(random, kind, shape),
                        "indices": _nd_indices(random, index_kind, index, shape, wild)})
    for kind in TYPES:
        suite.test("%s bits survive" % kind, {"input": storage(kind, (16,)),
                                              "indices": tensor("int32", [[15 - i] for i in range(16)])},
                   constant=["indices"], prefix="storage: ")
    return suite


def scatter_elements():
    suite = Suite("scatterElements")
    random = suite.random
    forms = [((5,), 0, (3,)), ((5,), 0, (9,)), ((3, 4), 0, (2, 4)), ((3, 4), 1, (3, 2)), ((3, 4), 1, (3, 7)),
             ((2, 3, 4), 0, (1, 3, 4)), ((2, 3, 4), 1, (2, 4, 4)), ((2, 3, 4), 2, (2, 3, 2)),
             ((2, 3, 2, 2), 1, (2, 1, 2, 2)), ((2, 1, 3, 2, 2), 2, (2, 1, 2, 2, 2)),
             ((1, 2, 1, 2, 1, 2, 2, 1), 3, (1, 2, 1, 3, 1, 2, 2, 1))]
    for i, (kind, (shape, axis, index)) in enumerate(spread(forms, TYPES, share=4)):
        for wild in (False, True) if kind == "float32" else (i % 2 == 1,):
            index_kind = INDEX_TYPES[(i + wild) % 3]
            suite.test("%s %s axis %d %s indices %s%s" % (kind, text(shape), axis, index_kind, text(index),
                                                          " out of range" if wild else ""),
                       {"input": anything(random, kind, shape),
                        "indices": _indices(random, index_kind, index, shape[axis], wild),
                        "updates": anything(random, kind, index)}, {"axis": axis})
    for kind in TYPES:
        suite.test("%s default axis, duplicates: last wins" % kind,
                   {"input": anything(random, kind, (3, 2)),
                    "indices": tensor("int32", [[1, 1], [1, -2], [-2, 1], [1, 0]]),
                    "updates": tensor(kind, [[1, 2], [3, 4], [5, 6], [7, 8]])})
        suite.test("%s bits survive" % kind, {"input": anything(random, kind, (16,)),
                                              "indices": tensor("int64", list(range(15, -1, -1))),
                                              "updates": storage(kind, (16,))}, prefix="storage: ")
    return suite


def scatter_nd():
    suite = Suite("scatterND")
    random = suite.random
    for i, (kind, (shape, index)) in enumerate(spread(ND_FORMS, TYPES, share=4)):
        for wild in (False, True) if kind == "float32" else (i % 2 == 1,):
            index_kind = INDEX_TYPES[(i + wild) % 3]
            suite.test("%s %s %s indices %s%s" % (kind, text(shape), index_kind, text(index),
                                                  " out of range" if wild else ""),
                       {"input": anything(random, kind, shape),
                        "indices": _nd_indices(random, index_kind, index, shape, wild),
                        "updates": anything(random, kind, index[:-1] + shape[index[-1]:])})
    for kind in TYPES:
        suite.test("%s duplicates: last wins" % kind,
                   {"input": anything(random, kind, (3, 2)), "indices": tensor("int64", [[1], [0], [1], [-2]]),
                    "updates": tensor(kind, [[1, 2], [3, 4], [5, 6], [7, 8]])})
        suite.test("%s bits survive" % kind, {"input": anything(random, kind, (16,)),
                                              "indices": tensor("uint32", [[15 - i] for i in range(16)]),
                                              "updates": storage(kind, (16,))}, prefix="storage: ")
    return suite


def suites():
    for make in (concat, expand, reshape, transpose, reverse, tile, slice_, split, pad, triangular, gather,
                 gather_elements, gather_nd, scatter_elements, scatter_nd):
        yield make()
