# SPDX-License-Identifier: Apache-2.0
"""Registry of the operator oracles, and the element-wise operators."""

import numpy as np
import torch

from numeric import FLOATS, NUMPY_TYPE, Tensor, from_exact, from_real, limits, option, parse_number, saturate

torch.set_num_threads(1)

_registry = {}


def operator(*names):
    """Register a function (operands, attributes) -> tensor or list of tensors under operator names.

    A function registered under several names receives the name as its third argument."""
    def register(function):
        for name in names:
            _registry[name] = (lambda x, at, n=name: function(x, at, n)) if len(names) > 1 else function
        return function
    return register


def operators():
    return sorted(_registry)


def evaluate(name, operands, attributes):
    """Run one operator; the result is always a list of tensors."""
    with np.errstate(all="ignore"):
        result = _registry[name](operands, attributes)
    return result if isinstance(result, list) else [result]


# ---- functions of one real argument ---------------------------------------------------------------------------
# Each takes the values and a function parameter(name, default) that returns an option in working precision.

def _erf(x):
    return torch.erf(torch.from_numpy(np.ascontiguousarray(x).reshape(-1))).numpy().reshape(x.shape)


def _sigmoid(x, parameter):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _softplus(x, parameter):
    # One value lies so near the middle of two float32 that the last bit of a float64 decides, and that bit depends
    # on where numpy's vector loops begin: more bits than float64 where the platform has them.
    steepness = parameter("steepness", 1.0)
    scaled = (steepness * x).astype(np.longdouble)
    return ((np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))) / steepness).astype(x.dtype)


def _elu(x, parameter):
    return np.where(x >= 0, x, parameter("alpha", 1.0) * np.expm1(np.minimum(x, 0)))


def _linear(x, parameter):
    return parameter("alpha", 1.0) * x + parameter("beta", 0.0)


def _hard_sigmoid(x, parameter):
    return np.maximum(0, np.minimum(1, parameter("alpha", 0.2) * x + parameter("beta", 0.5)))


def _leaky_relu(x, parameter):
    return np.where(x < 0, parameter("alpha", 0.01) * x, x)


def _clamp(x, parameter):
    low, high = parameter("minValue", None), parameter("maxValue", None)
    if low is not None and low == low:
        x = np.where(x < low, low, x)
    if high is not None and high == high:
        x = np.where(x > high, high, x)
    return x


REAL_FUNCTION = {
    "abs": lambda x, p: np.abs(x),
    "ceil": lambda x, p: np.ceil(x),
    "clamp": _clamp,
    "cos": lambda x, p: np.cos(x),
    "elu": _elu,
    "erf": lambda x, p: _erf(x),
    "exp": lambda x, p: np.exp(x),
    "floor": lambda x, p: np.floor(x),
    "gelu": lambda x, p: x * 0.5 * (1 + _erf(x * x.dtype.type(np.sqrt(0.5)))),
    "hardSigmoid": _hard_sigmoid,
    "hardSwish": lambda x, p: x * np.maximum(0, np.minimum(6, x + 3)) / 6,
    "identity": lambda x, p: x,
    "leakyRelu": _leaky_relu,
    "linear": _linear,
    "log": lambda x, p: np.log(x),
    "neg": lambda x, p: -x,
    "reciprocal": lambda x, p: 1 / x,
    "relu": lambda x, p: np.maximum(x, 0),
    "roundEven": lambda x, p: np.rint(x),
    "sigmoid": _sigmoid,
    "sign": lambda x, p: np.where(x > 0, 1.0, np.where(x < 0, -1.0, 0.0)),
    "sin": lambda x, p: np.sin(x),
    "softplus": _softplus,
    "softsign": lambda x, p: x / (1 + np.abs(x)),
    "sqrt": lambda x, p: np.sqrt(x),
    "tan": lambda x, p: np.tan(x),
    "tanh": lambda x, p: np.tanh(x),
}

INTEGER_FUNCTION = {
    "abs": abs,
    "identity": lambda v: v,
    "neg": lambda v: -v,
    "relu": lambda v: max(v, 0),
    "sign": lambda v: (v > 0) - (v < 0),
}


def real_function(name, attributes, data_type):
    """A REAL_FUNCTION with its options read from attributes, as a function of the values only."""
    def parameter(key, default):
        value = attributes.get(key, default)
        return None if value is None else option(data_type, value)
    return lambda x: REAL_FUNCTION[name](x, parameter)


def map_integers(t, function):
    """Apply a function of a Python integer to each element; the result wraps."""
    out = np.empty(t.a.shape, dtype=object)
    for index in np.ndindex(t.a.shape):
        out[index] = function(int(t.a[index]))
    return from_exact(t.type, out)


@operator(*REAL_FUNCTION)
def _unary(x, at, name):
    t = x["input"]
    if t.is_float:
        return from_real(t.type, real_function(name, at, t.type)(t.real()))
    if name == "clamp":
        return _clamp_integers(t, at)
    return map_integers(t, INTEGER_FUNCTION[name])


def _clamp_integers(t, at):
    low, high = limits(t.type)
    bounds = []
    for key, absent in (("minValue", low), ("maxValue", high)):
        value = parse_number(at.get(key, float("nan")))
        bounds.append(absent if value != value else option(t.type, value))
    return map_integers(t, lambda v: max(bounds[0], min(bounds[1], v)))


def activate(t, activation):
    """Apply a fused activation {"name", parameters…} to an already rounded result."""
    if activation is None:
        return t
    attributes = {key: value for key, value in activation.items() if key != "name"}
    return evaluate(activation["name"], {"input": t}, attributes)[0]


# ---- functions of two arguments -------------------------------------------------------------------------------

def _divide_integers(a, b, data_type):
    if b == 0:
        return a
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _power_integers(a, b, data_type):
    if b >= 0:
        return pow(a, b, 2 ** 64)  # the type's own modulus divides this one
    if a in (1, -1):
        return 1 if a == 1 or b % 2 == 0 else -1
    return 0


def _modulus_truncate_integers(a, b, data_type):
    return a - b * _divide_integers(a, b, data_type)


def _modulus_floor_real(a, b):
    with np.errstate(invalid="ignore"):
        return np.remainder(a, b)


def _modulus_truncate_real(a, b):
    with np.errstate(invalid="ignore"):
        return np.fmod(a, b)


REAL_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
               "max": np.maximum, "min": np.minimum, "pow": np.power, "modulusFloor": _modulus_floor_real,
               "modulusTruncate": _modulus_truncate_real}
INTEGER_BINARY = {
    "add": lambda a, b, d: a + b, "sub": lambda a, b, d: a - b, "mul": lambda a, b, d: a * b,
    "div": _divide_integers, "max": lambda a, b, d: max(a, b), "min": lambda a, b, d: min(a, b),
    "pow": _power_integers, "modulusFloor": lambda a, b, d: a % b if b else a,
    "modulusTruncate": _modulus_truncate_integers,
}
COMPARISON = {"equal": np.equal, "notEqual": np.not_equal, "greater": np.greater,
              "greaterOrEqual": np.greater_equal, "lesser": np.less, "lesserOrEqual": np.less_equal}
LOGICAL = {"logicalAnd": np.logical_and, "logicalOr": np.logical_or, "logicalXor": np.logical_xor}


@operator(*REAL_BINARY)
def _binary(x, at, name):
    a, b = x["a"], x["b"]
    if a.is_float:
        return from_real(a.type, REAL_BINARY[name](a.real(), b.real()))
    left, right = np.broadcast_arrays(a.exact(), b.exact())
    out = np.empty(left.shape, dtype=object)
    for index in np.ndindex(left.shape):
        out[index] = INTEGER_BINARY[name](left[index], right[index], a.type)
    return from_exact(a.type, out)


@operator(*COMPARISON)
def _compare(x, at, name):
    return Tensor("uint8", COMPARISON[name](x["a"].a, x["b"].a).astype(np.uint8))


@operator(*LOGICAL)
def _logical(x, at, name):
    return Tensor("uint8", LOGICAL[name](x["a"].a != 0, x["b"].a != 0).astype(np.uint8))


@operator("logicalNot")
def _logical_not(x, at):
    return Tensor("uint8", (x["a"].a == 0).astype(np.uint8))


@operator("isNaN", "isInfinite")
def _classify(x, at, name):
    return Tensor("uint8", (np.isnan if name == "isNaN" else np.isinf)(x["a"].a).astype(np.uint8))


@operator("prelu")
def _prelu(x, at):
    t, slope = x["input"], x["slope"]
    if t.is_float:
        value, factor = t.real(), slope.real()
        return from_real(t.type, np.where(value < 0, value * factor, value + 0 * np.zeros_like(factor)))
    value, factor = np.broadcast_arrays(t.exact(), slope.exact())
    return from_exact(t.type, np.where(value < 0, value * factor, value))


@operator("where")
def _where(x, at):
    return Tensor(x["trueValue"].type, np.where(x["condition"].a != 0, x["trueValue"].a, x["falseValue"].a))


@operator("cast")
def _cast(x, at):
    t, target = x["input"], at["dataType"]
    if target in FLOATS:
        return Tensor(target, t.a.astype(NUMPY_TYPE[target]))  # one rounding, to nearest even
    if not t.is_float:
        return from_exact(target, t.exact())
    low, high = limits(target)
    out = np.empty(t.a.shape, dtype=object)
    for index in np.ndindex(t.a.shape):
        value = float(t.a[index])
        if value != value:
            out[index] = 0
        elif np.isinf(value):
            out[index] = high if value > 0 else low
        else:
            out[index] = saturate(target, int(value))
    return from_exact(target, out)


# ---- quantization ---------------------------------------------------------------------------------------------

def _blockwise(array, shape):
    """Repeat the elements of an array so that it covers a shape whose sizes are multiples of its own."""
    for axis, size in enumerate(shape):
        array = np.repeat(array, size // max(array.shape[axis], 1), axis=axis)
    return array


@operator("quantizeLinear")
def _quantize(x, at):
    t, zero = x["input"], x["zeroPoint"]
    steps = np.rint(t.real() / _blockwise(x["scale"].real(), t.shape))
    offset = _blockwise(zero.exact(), t.shape)
    low, high = limits(zero.type)
    out = np.empty(steps.shape, dtype=object)
    for index in np.ndindex(steps.shape):
        step = float(steps[index])
        if np.isinf(step):
            out[index] = high if step > 0 else low
        else:
            out[index] = saturate(zero.type, (0 if step != step else int(step)) + int(offset[index]))
    return from_exact(zero.type, out)


@operator("dequantizeLinear")
def _dequantize(x, at):
    t, scale = x["input"], x["scale"]
    difference = t.exact() - _blockwise(x["zeroPoint"].exact(), t.shape)
    difference = np.asarray(difference, dtype=object).astype(t.real().dtype)
    return from_real(scale.type, difference * _blockwise(scale.real(), t.shape))
