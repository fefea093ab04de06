# SPDX-License-Identifier: Apache-2.0
"""Oracles of convolution, pooling, matrix products, normalization, reductions and resampling."""

from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as functional

from numeric import FLOATS, Tensor, from_exact, from_real, limits, option, saturate
from oracle import activate, operator


# ---- convolution ----------------------------------------------------------------------------------------------

def _to_nchw(array, layout):
    return array.transpose(0, 3, 1, 2) if layout == "nhwc" else array


def _from_nchw(array, layout):
    return array.transpose(0, 2, 3, 1) if layout == "nhwc" else array


def _torch(array):
    return torch.from_numpy(np.ascontiguousarray(array))


@operator("conv2d")
def _conv2d(x, at):
    t, layout = x["input"], at.get("inputLayout", "nchw")
    order = {"oihw": (0, 1, 2, 3), "hwio": (3, 2, 0, 1), "ohwi": (0, 3, 1, 2), "ihwo": (3, 0, 1, 2)}
    weight = x["filter"].real().transpose(order[at.get("filterLayout", "oihw")])
    top, bottom, left, right = at.get("padding", [0, 0, 0, 0])
    image = _to_nchw(t.real(), layout)
    strides, dilations = at.get("strides", [1, 1]), at.get("dilations", [1, 1])
    if image.size and weight.size:
        image = functional.pad(_torch(image), (left, right, top, bottom))
        result = functional.conv2d(image, _torch(weight), None, strides, 0, dilations, at.get("groups", 1)).numpy()
    else:
        sizes = [pool_size(image.shape[2 + i], weight.shape[2 + i], *[(top, bottom), (left, right)][i], strides[i],
                           dilations[i], "floor") for i in (0, 1)]
        result = np.zeros([image.shape[0], weight.shape[0]] + sizes, image.dtype)
    if "bias" in x:
        result = result + x["bias"].real()[None, :, None, None]
    return activate(from_real(t.type, _from_nchw(result, layout)), at.get("activation"))


@operator("convTranspose2d")
def _conv_transpose2d(x, at):
    t, layout = x["input"], at.get("inputLayout", "nchw")
    order = {"iohw": (0, 1, 2, 3), "hwoi": (3, 2, 0, 1), "ohwi": (3, 0, 1, 2)}
    weight = x["filter"].real().transpose(order[at.get("filterLayout", "iohw")])
    padding, strides = at.get("padding", [0, 0, 0, 0]), at.get("strides", [1, 1])
    image, dilations, groups = _to_nchw(t.real(), layout), at.get("dilations", [1, 1]), at.get("groups", 1)
    if image.size and weight.size:
        full = functional.conv_transpose2d(_torch(image), _torch(weight), None, strides, 0, 0, groups,
                                           dilations).numpy()
    else:
        reach = [(image.shape[2 + i] - 1) * strides[i] + (weight.shape[2 + i] - 1) * dilations[i] + 1 for i in (0, 1)]
        full = np.zeros([image.shape[0], weight.shape[1] * groups] + reach, image.dtype)
    extra = at.get("outputPadding", [0, 0])
    sizes = at.get("outputSizes")
    if sizes is None:
        sizes = [full.shape[2 + i] - padding[2 * i] - padding[2 * i + 1] + extra[i] for i in (0, 1)]
    begin = (padding[0], padding[2])
    grow = [max(0, begin[i] + sizes[i] - full.shape[2 + i]) for i in (0, 1)]
    full = np.pad(full, [(0, 0), (0, 0), (0, grow[0]), (0, grow[1])])
    result = full[:, :, begin[0]:begin[0] + sizes[0], begin[1]:begin[1] + sizes[1]]
    if "bias" in x:
        result = result + x["bias"].real()[None, :, None, None]
    return activate(from_real(t.type, _from_nchw(result, layout)), at.get("activation"))


# ---- pooling --------------------------------------------------------------------------------------------------

def pool_size(size, window, begin, end, stride, dilation, rounding):
    """Output size of a pooling dimension."""
    room = size + begin + end - (window - 1) * dilation - 1
    return room // stride + 1 if rounding == "floor" else -(-room // stride) + 1


@operator("averagePool2d", "l2Pool2d", "maxPool2d")
def _pool(x, at, name):
    t, layout = x["input"], at.get("layout", "nchw")
    image = _to_nchw(t.a if name == "maxPool2d" else t.real(), layout)
    size = image.shape[2:]
    window = at.get("windowDimensions", size)
    padding, strides = at.get("padding", [0, 0, 0, 0]), at.get("strides", [1, 1])
    dilations, rounding = at.get("dilations", [1, 1]), at.get("outputShapeRounding", "floor")
    out_size = at.get("outputSizes") or [
        pool_size(size[i], window[i], padding[2 * i], padding[2 * i + 1], strides[i], dilations[i], rounding)
        for i in (0, 1)]
    taps = [[[p for p in (o * strides[i] - padding[2 * i] + k * dilations[i] for k in range(window[i]))
              if 0 <= p < size[i]] for o in range(out_size[i])] for i in (0, 1)]
    out = np.zeros(image.shape[:2] + tuple(out_size), image.dtype)
    if name == "maxPool2d":
        out[...] = -np.inf if t.is_float else limits(t.type)[0]
    for row, column in np.ndindex(*out_size):
        if not taps[0][row] or not taps[1][column]:
            continue
        values = image[:, :, taps[0][row]][:, :, :, taps[1][column]]
        values = values.reshape(values.shape[:2] + (values.shape[2] * values.shape[3],))
        if name == "maxPool2d":
            out[:, :, row, column] = np.max(values, axis=2)  # np.max propagates NaN
        elif name == "averagePool2d":
            out[:, :, row, column] = np.sum(values, axis=2) / values.shape[2]
        else:
            out[:, :, row, column] = np.sqrt(np.sum(values * values, axis=2))
    out = _from_nchw(out, layout)
    return Tensor(t.type, out) if name == "maxPool2d" else from_real(t.type, out)


# ---- matrix products ------------------------------------------------------------------------------------------

@operator("matmul")
def _matmul(x, at):
    return from_real(x["a"].type, np.matmul(x["a"].real(), x["b"].real()))


@operator("gemm")
def _gemm(x, at):
    kind = x["a"].type
    a, b = x["a"].real(), x["b"].real()
    product = np.matmul(a.T if at.get("aTranspose") else a, b.T if at.get("bTranspose") else b)
    product = option(kind, at.get("alpha", 1.0)) * product
    if "c" in x:
        product = product + option(kind, at.get("beta", 1.0)) * x["c"].real()
    return from_real(kind, product)


# ---- normalization --------------------------------------------------------------------------------------------

def _scale_and_bias(value, x, shape_of):
    if "scale" in x:
        value = value * shape_of(x["scale"].real())
    if "bias" in x:
        value = value + shape_of(x["bias"].real())
    return value


@operator("batchNormalization")
def _batch_normalization(x, at):
    t, axis = x["input"], at.get("axis", 1)
    shape = [-1 if i == axis else 1 for i in range(t.a.ndim)]
    epsilon = option(t.type, at.get("epsilon", 1e-5))
    value = t.real() - x["mean"].real().reshape(shape)
    value = value / np.sqrt(x["variance"].real().reshape(shape) + epsilon)
    value = _scale_and_bias(value, x, lambda v: v.reshape(shape))
    return activate(from_real(t.type, value), at.get("activation"))


def _normalize(value, axes, epsilon):
    mean = value.mean(axis=axes, keepdims=True) if axes else value
    variance = ((value - mean) ** 2).mean(axis=axes, keepdims=True) if axes else np.zeros_like(value)
    return (value - mean) / np.sqrt(variance + epsilon)


@operator("instanceNormalization")
def _instance_normalization(x, at):
    t, nhwc = x["input"], at.get("layout", "nchw") == "nhwc"
    value = _normalize(t.real(), (1, 2) if nhwc else (2, 3), option(t.type, at.get("epsilon", 1e-5)))
    shape = [1, 1, 1, -1] if nhwc else [1, -1, 1, 1]
    return from_real(t.type, _scale_and_bias(value, x, lambda v: v.reshape(shape)))


@operator("layerNormalization")
def _layer_normalization(x, at):
    t = x["input"]
    axes = at.get("axes", list(range(1, t.a.ndim)))
    value = _normalize(t.real(), tuple(axes), option(t.type, at.get("epsilon", 1e-5)))

    def spread(v):  # dimension i of scale and bias belongs to axes[i], in whatever order axes is
        v = np.transpose(v, np.argsort(axes)) if axes else v
        return v.reshape([n if i in axes else 1 for i, n in enumerate(t.shape)])
    return from_real(t.type, _scale_and_bias(value, x, spread))


@operator("softmax")
def _softmax(x, at):
    t, axis = x["input"], at.get("axis", 1)
    value = t.real()
    e = np.exp(value - value.max(axis=axis, keepdims=True, initial=-np.inf))
    return from_real(t.type, e / e.sum(axis=axis, keepdims=True))


# ---- reductions -----------------------------------------------------------------------------------------------

def _log_sum_exp(v, axes):
    top = v.max(axis=axes, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, 0)
    return np.log(np.exp(v - base).sum(axis=axes, keepdims=True)) + base


_REAL_REDUCTION = {
    "reduceL1": lambda v, ax: np.abs(v).sum(axis=ax, keepdims=True),
    "reduceL2": lambda v, ax: np.sqrt((v * v).sum(axis=ax, keepdims=True)),
    "reduceLogSum": lambda v, ax: np.log(v.sum(axis=ax, keepdims=True)),
    "reduceLogSumExp": _log_sum_exp,
    "reduceMax": lambda v, ax: v.max(axis=ax, keepdims=True),
    "reduceMean": lambda v, ax: v.mean(axis=ax, keepdims=True),
    "reduceMin": lambda v, ax: v.min(axis=ax, keepdims=True),
    "reduceProduct": lambda v, ax: v.prod(axis=ax, keepdims=True),
    "reduceSum": lambda v, ax: v.sum(axis=ax, keepdims=True),
    "reduceSumSquare": lambda v, ax: (v * v).sum(axis=ax, keepdims=True),
}


@operator(*_REAL_REDUCTION)
def _reduce(x, at, name):
    t = x["input"]
    axes = tuple(at.get("axes", range(t.a.ndim)))
    # A leading dimension of size 1 gives "no axes" something to reduce without changing the values.
    value = (t.real() if t.is_float else t.exact())[None] if t.a.ndim or t.is_float else t.exact().reshape(1)
    result = _REAL_REDUCTION[name](value, (0,) + tuple(a + 1 for a in axes))
    kept = at.get("keepDimensions", False)
    shape = [1 if i in axes else n for i, n in enumerate(t.shape) if kept or i not in axes]
    result = np.asarray(result).reshape(shape)
    return from_real(t.type, result) if t.is_float else from_exact(t.type, result)


@operator("argMin", "argMax")
def _arg(x, at, name):
    t = x["input"]
    if "axis" in at:
        axes, kind, last = [at["axis"]], at.get("outputDataType", "int32"), False
    else:
        axes, kind, last = sorted(at.get("axes", range(t.a.ndim))), "int64", at.get("selectLastIndex", False)
    others = [i for i in range(t.a.ndim) if i not in axes]
    rows = t.a.transpose(others + axes).reshape([t.a.shape[i] for i in others] + [int(np.prod([t.a.shape[i] for i in axes]))])
    out = np.zeros(rows.shape[:-1], dtype=object)
    for index in np.ndindex(out.shape):
        best = None
        for position, value in enumerate(rows[index]):
            if value != value:
                continue
            if best is None or (value < best if name == "argMin" else value > best) or (last and value == best):
                best, out[index] = value, position
    shape = [1 if i in axes else n for i, n in enumerate(t.shape) if at.get("keepDimensions") or i not in axes]
    return from_exact(kind, out.reshape(shape))


@operator("cumulativeSum")
def _cumulative_sum(x, at):
    t, axis = x["input"], at["axis"]
    value = np.moveaxis(t.real() if t.is_float else t.exact(), axis, 0)
    if at.get("reversed"):
        value = value[::-1]
    total = np.cumsum(value, axis=0)
    if at.get("exclusive"):
        total = np.concatenate([np.zeros_like(total[:1]), total[:-1]])
    if at.get("reversed"):
        total = total[::-1]
    total = np.moveaxis(total, 0, axis)
    return from_real(t.type, total) if t.is_float else from_exact(t.type, total)


# ---- resampling -----------------------------------------------------------------------------------------------

def _resample_axis(value, axis, size, linear):
    """Resample one axis with half-pixel centres; source positions are exact fractions."""
    count = value.shape[axis]
    value = np.moveaxis(value, axis, 0)
    if size == 0:
        return np.moveaxis(value[:0], 0, axis)
    rows = []
    for target in range(size):
        source = Fraction(2 * target + 1, 2) * Fraction(count, size) - Fraction(1, 2)
        if not linear:
            rows.append(value[max(0, min(count - 1, -((Fraction(1, 2) - source).__floor__())))])
            continue
        source = max(Fraction(0), min(Fraction(count - 1), source))
        low = int(source)
        high, weight = min(low + 1, count - 1), value.dtype.type(float(source - low))
        rows.append(value[low] * (1 - weight) + value[high] * weight)
    return np.moveaxis(np.stack(rows), 0, axis)


def resample_sizes(shape, at):
    """Output sizes along the two axes."""
    axes = at.get("axes", [2, 3])
    if at.get("sizes"):
        return axes, at["sizes"]
    scales = at.get("scales", [1.0, 1.0])
    return axes, [int(np.floor(float(shape[a]) * float(np.float32(s)))) for a, s in zip(axes, scales)]


@operator("resample2d")
def _resample2d(x, at):
    t, linear = x["input"], at.get("mode", "nearest-neighbor") == "linear"
    value = t.real() if linear else t.a
    for axis, size in zip(*resample_sizes(t.shape, at)):
        value = _resample_axis(value, axis, size, linear)
    if not linear:
        return Tensor(t.type, value)
    if t.type in FLOATS:
        return from_real(t.type, value)
    rounded = np.rint(value).astype(object)
    for index in np.ndindex(rounded.shape):
        rounded[index] = saturate(t.type, int(rounded[index]))
    return from_exact(t.type, rounded)
