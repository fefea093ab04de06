# SPDX-License-Identifier: Apache-2.0
"""Sources of test data: random values, special values, shapes."""

import numpy as np

from numeric import FLOATS, BITS, Tensor, limits, tensor

NAN, INF = float("nan"), float("inf")

# One shape per rank; 8 is the largest rank.
SHAPES = {0: (), 1: (7,), 2: (3, 5), 3: (2, 3, 4), 4: (2, 3, 2, 2), 5: (2, 1, 3, 2, 2), 8: (1, 2, 1, 2, 1, 2, 2, 1)}

# Pairs of shapes that broadcast to each other.
BROADCASTS = [
    ((3,), (1,)), ((), (2, 3)), ((2, 3), ()), ((2, 1), (1, 3)), ((4, 1, 3), (2, 1)), ((2, 3, 2, 2), (3, 1, 1)),
    ((1,), (2, 2, 2)), ((2, 1, 3, 1), (1, 2, 1, 4)), ((1, 2, 1, 2, 1), (3, 1, 2, 1, 2)), ((2, 3, 4), (4,)),
    ((1, 1), (3,)), ((2, 1, 1, 2, 1, 1, 2, 1), (2, 1, 2, 1, 2)), ((5, 1), (5, 1)), ((1, 1, 1, 1), (2, 2)),
]


def tiny(kind):
    """Smallest positive number of a float type."""
    return 2.0 ** -149 if kind == "float32" else 2.0 ** -24


def smallest_normal(kind):
    return 2.0 ** -126 if kind == "float32" else 2.0 ** -14


def largest(kind):
    return float(np.finfo(np.float32).max) if kind == "float32" else 65504.0


def positive(random, kind, shape, low=0.5, high=2.0):
    """Random reals of few digits, rounded to the type; products and sums of positive ones are benign."""
    values = random.uniform(low, high, shape)
    return tensor(kind, np.round(values, 4) if kind == "float32" else np.round(values * 128) / 128)


reals = positive


def dyadic(random, kind, shape, low, high, step=0.25):
    """Multiples of a power of two: sums of products of a few of them are exact."""
    count = int(round((high - low) / step))
    return tensor(kind, low + step * random.randint(0, count + 1, shape))


def integers(random, kind, shape, low, high):
    """Random integers of an integer or float type, both bounds included."""
    return tensor(kind, random.randint(low, high + 1, shape))


def anything(random, kind, shape):
    """Values for operators that only move or compare data."""
    if kind in FLOATS:
        return tensor(kind, np.round(random.uniform(-99, 99, shape), 1))
    bits = BITS[kind]
    if bits <= 8:
        low, high = limits(kind)
        return tensor(kind, random.randint(low, high + 1, shape))
    if random.randint(3):  # mostly moderate values, so that the files stay small
        return tensor(kind, random.randint(0 if kind.startswith("u") else -999, 1000, shape))
    return wide_integers(random, kind, shape)


def wide_integers(random, kind, shape):
    """Integers from the whole range of the type."""
    raw = random.randint(0, 256, tuple(shape) + (BITS[kind] // 8 or 1,))
    dtype = {64: "64", 32: "32", 8: "8"}[BITS[kind]]
    packed = np.ascontiguousarray(raw.astype(np.uint8)).view("uint" + dtype).reshape(shape)
    return Tensor(kind, packed.view("int" + dtype) if not kind.startswith("u") else packed)


def storage_values(kind):
    """Values whose bits a copy must keep: signed zeros, denormals, extremes."""
    if kind in FLOATS:
        t, n, m = tiny(kind), smallest_normal(kind), largest(kind)
        return [0.0, -0.0, t, -t, 3 * t, n - t, -(n - t), n, m, -m, INF, -INF, NAN, 1.0, -1.0, 1 / 3]
    low, high = limits(kind)
    return [low, low + 1, 0, 1, 2, high // 2, high // 2 + 1, high - 1, high, 7, 100, 64, 3, 5, 9, 77]


def storage(kind, shape):
    """A tensor that repeats storage_values."""
    count = int(np.prod(shape, dtype=np.int64))
    source = storage_values(kind)
    return tensor(kind, [source[i % len(source)] for i in range(count)], shape)


def spread(configurations, kinds, full=("float32",), share=3, every_rank=True):
    """Pairs (type, configuration): all of them for the types in full, one in share for the others.

    A configuration starts with a shape, or with a list of shapes. every_rank: each type gets each rank."""
    by_rank = {}
    for configuration in configurations:
        shape = configuration[0][0] if isinstance(configuration[0], list) else configuration[0]
        by_rank.setdefault(len(shape) if every_rank else 0, []).append(configuration)
    for k, kind in enumerate(kinds):
        for group in by_rank.values():
            for i, configuration in enumerate(group):
                chosen = (i + k) % share == 0 if len(group) >= share else i == k % len(group)
                if kind in full or chosen:
                    yield kind, configuration


def text(shape):
    return "[" + ",".join(str(n) for n in shape) + "]"
