# SPDX-License-Identifier: Apache-2.0
"""Oracles of the operators that only move data. They work on the stored values, whatever the type."""

import numpy as np

from numeric import FLOATS, Tensor, option
from oracle import operator


@operator("concat")
def _concat(x, at):
    return Tensor(x["inputs"][0].type, np.concatenate([t.a for t in x["inputs"]], axis=at["axis"]))


@operator("expand")
def _expand(x, at):
    return Tensor(x["input"].type, np.broadcast_to(x["input"].a, at["newShape"]))


@operator("reshape")
def _reshape(x, at):
    return Tensor(x["input"].type, x["input"].a.reshape(at["newShape"]))


@operator("transpose")
def _transpose(x, at):
    return Tensor(x["input"].type, np.transpose(x["input"].a, at.get("permutation")))


@operator("reverse")
def _reverse(x, at):
    axes = at.get("axes", list(range(x["input"].a.ndim)))
    return Tensor(x["input"].type, np.flip(x["input"].a, axes) if axes else x["input"].a)


@operator("tile")
def _tile(x, at):
    return Tensor(x["input"].type, np.tile(x["input"].a, at["repetitions"]))


@operator("slice")
def _slice(x, at):
    starts, sizes = at["starts"], at["sizes"]
    strides = at.get("strides", [1] * len(starts))
    window = tuple(slice(b, b + n, s) for b, n, s in zip(starts, sizes, strides))
    return Tensor(x["input"].type, x["input"].a[window])


@operator("split")
def _split(x, at):
    t, splits, axis = x["input"], at["splits"], at.get("axis", 0)
    where = splits if isinstance(splits, int) else np.cumsum(splits)[:-1]
    return [Tensor(t.type, part) for part in np.split(t.a, where, axis=axis)]


@operator("pad")
def _pad(x, at):
    t, mode = x["input"], at.get("mode", "constant")
    widths = list(zip(at["beginningPadding"], at["endingPadding"]))
    if not widths:
        return t
    if mode == "constant":
        value = option(t.type, at.get("value", 0))
        filler = Tensor(t.type, value if t.type in FLOATS else int(value)).a
        return Tensor(t.type, np.pad(t.a, widths, constant_values=filler))
    return Tensor(t.type, np.pad(t.a, widths, mode={"edge": "edge", "reflection": "reflect",
                                                    "symmetric": "symmetric"}[mode]))


@operator("triangular")
def _triangular(x, at):
    t, diagonal = x["input"], at.get("diagonal", 0)
    rows, columns = t.a.shape[-2:]
    offset = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    keep = offset >= diagonal if at.get("upper", True) else offset <= diagonal
    return Tensor(t.type, np.where(keep, t.a, np.zeros((), t.a.dtype)))


# ---- indices --------------------------------------------------------------------------------------------------

def _position(index, size):
    """Bring an index into [-size, size - 1], then count negative ones from the end."""
    index = max(-size, min(size - 1, int(index)))
    return index + size if index < 0 else index


@operator("gather")
def _gather(x, at):
    t, indices, axis = x["input"], x["indices"], at.get("axis", 0)
    positions = np.array([_position(i, t.a.shape[axis]) for i in indices.a.reshape(-1)], dtype=np.int64)
    return Tensor(t.type, np.take(t.a, positions.reshape(indices.shape), axis=axis))


def _along(axis, index, position):
    return index[:axis] + (position,) + index[axis + 1:]


@operator("gatherElements")
def _gather_elements(x, at):
    t, indices, axis = x["input"], x["indices"], at.get("axis", 0)
    out = np.empty(indices.a.shape, t.a.dtype)
    for index in np.ndindex(out.shape):
        out[index] = t.a[_along(axis, index, _position(indices.a[index], t.a.shape[axis]))]
    return Tensor(t.type, out)


@operator("scatterElements")
def _scatter_elements(x, at):
    t, indices, axis = x["input"], x["indices"], at.get("axis", 0)
    out = t.a.copy()
    for index in np.ndindex(indices.a.shape):
        out[_along(axis, index, _position(indices.a[index], t.a.shape[axis]))] = x["updates"].a[index]
    return Tensor(t.type, out)


def _coordinates(indices, shape):
    """Pairs (position in the index tensor, coordinate) in row-major order."""
    for index in np.ndindex(indices.a.shape[:-1]):
        yield index, tuple(_position(i, n) for i, n in zip(indices.a[index], shape))


@operator("gatherND")
def _gather_nd(x, at):
    t, indices = x["input"], x["indices"]
    out = np.empty(indices.a.shape[:-1] + t.a.shape[indices.a.shape[-1]:], t.a.dtype)
    for index, coordinate in _coordinates(indices, t.a.shape):
        out[index] = t.a[coordinate]
    return Tensor(t.type, out)


@operator("scatterND")
def _scatter_nd(x, at):
    out = x["input"].a.copy()
    for index, coordinate in _coordinates(x["indices"], out.shape):
        out[coordinate] = x["updates"].a[index]
    return Tensor(x["input"].type, out)
