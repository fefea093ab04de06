# SPDX-License-Identifier: Apache-2.0
"""Oracles of the operators about shapes: numpy's, and those of the operators whose sizes are attributes."""

from fractions import Fraction
from math import ceil

import numpy as np

from numeric import FLOATS, Tensor, from_exact, from_real
from oracle import evaluate, operator

SIBLINGS = {"expandDynamic": ("expand", "newShape"), "padDynamic": ("pad", "beginningPadding", "endingPadding"),
            "resample2dDynamic": ("resample2d", "sizes"), "reshapeDynamic": ("reshape", "newShape"),
            "sliceDynamic": ("slice", "starts", "sizes"), "splitDynamic": ("split", "splits"),
            "tileDynamic": ("tile", "repetitions")}


@operator(*SIBLINGS)
def _dynamic(x, at, name):
    sibling, *lists = SIBLINGS[name]
    given = {key: [int(v) for v in x[key].a] for key in lists if key in x}
    return evaluate(sibling, {"input": x["input"]}, dict(at, **given))


@operator("shape")
def _shape(x, at):
    return Tensor("uint32", x["input"].shape)


@operator("range")
def _range(x, at):
    kind = x["start"].type
    start, limit, delta = (Fraction(x[key].a.item()) for key in ("start", "limit", "delta"))
    items = [start + i * delta for i in range(max(ceil((limit - start) / delta), 0))]
    if kind in FLOATS:
        return from_real(kind, np.array([float(v) for v in items], dtype=np.float64))
    return from_exact(kind, np.array([int(v) for v in items], dtype=object))


@operator("squeeze")
def _squeeze(x, at):
    axes = at.get("axes")
    return Tensor(x["input"].type, np.squeeze(x["input"].a, axis=None if axes is None else tuple(axes)))


@operator("unsqueeze")
def _unsqueeze(x, at):
    return Tensor(x["input"].type, np.expand_dims(x["input"].a, tuple(at["axes"])))


@operator("reshapeTo2d")
def _reshape_to_2d(x, at):
    t, axis = x["input"], at.get("axis", 1)
    rows = int(np.prod(t.shape[:axis], dtype=np.int64))
    return Tensor(t.type, t.a.reshape(rows, int(np.prod(t.shape[axis:], dtype=np.int64))))
