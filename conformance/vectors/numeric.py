# SPDX-License-Identifier: Apache-2.0
"""Data types, tensors, conversions between them, and their JSON form."""

import numpy as np

NUMPY_TYPE = {
    "float32": np.float32, "float16": np.float16,
    "int64": np.int64, "uint64": np.uint64, "int32": np.int32, "uint32": np.uint32,
    "int8": np.int8, "uint8": np.uint8, "int4": np.int8, "uint4": np.uint8,
}
FLOATS = ("float32", "float16")
INTEGERS = ("int32", "uint32", "int64", "uint64", "int8", "uint8")
TYPES = FLOATS + INTEGERS
BITS = {"int64": 64, "uint64": 64, "int32": 32, "uint32": 32, "int8": 8, "uint8": 8, "int4": 4, "uint4": 4}

# The type all inexact arithmetic of the oracle is done in. Expected values always come from float64; the
# conditioning check evaluates the same graphs a second time in float32.
_work = np.float64


def set_work_type(numpy_type):
    """Select the type in which the oracle calculates."""
    global _work
    _work = numpy_type


class Tensor:
    """A WebNN data type and an array of the numpy type that stores it (4-bit types: one element per byte)."""

    def __init__(self, data_type, array):
        self.type = data_type
        self.a = np.asarray(array, dtype=NUMPY_TYPE[data_type])

    @property
    def shape(self):
        return list(self.a.shape)

    @property
    def is_float(self):
        return self.type in FLOATS

    def real(self):
        """The values as working floating-point numbers."""
        return self.a.astype(_work)

    def exact(self):
        """The values as Python integers (array of objects), so that nothing overflows."""
        return self.a.astype(object)


def limits(data_type):
    """Smallest and largest value of an integer type."""
    bits = BITS[data_type]
    return (0, 2 ** bits - 1) if data_type.startswith("u") else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)


def from_real(data_type, values):
    """Round real values once, ties to even, to a float type."""
    with np.errstate(all="ignore"):
        return Tensor(data_type, np.asarray(values).astype(NUMPY_TYPE[data_type]))


def from_exact(data_type, values):
    """Python integers to an integer type, keeping the low bits."""
    low, _ = limits(data_type)
    span = 2 ** BITS[data_type]
    source = np.asarray(values, dtype=object)
    out = np.empty(source.shape, dtype=NUMPY_TYPE[data_type])
    for index in np.ndindex(source.shape):
        out[index] = (int(source[index]) - low) % span + low
    return Tensor(data_type, out)


def tensor(data_type, values, shape=None):
    """Build a tensor from numbers that the type can hold (floats are rounded to it)."""
    if data_type in FLOATS:
        made = from_real(data_type, np.asarray(values, dtype=np.float64))
    else:
        low, high = limits(data_type)
        source = np.asarray(values, dtype=object)
        assert all(low <= int(v) <= high for v in source.flat), (data_type, values)
        made = from_exact(data_type, source)
    return made if shape is None else Tensor(data_type, made.a.reshape(shape))


def saturate(data_type, value):
    """Clamp a Python integer into an integer type."""
    low, high = limits(data_type)
    return max(low, min(high, value))


def parse_number(value):
    """The number behind an attribute: "NaN", "Infinity", a decimal integer in a string, or a plain number."""
    if isinstance(value, str):
        return float(value.replace("Infinity", "inf")) if value.strip("-") in ("NaN", "Infinity") else int(value)
    return value


def option(data_type, value):
    """An option number converted to a tensor's data type: working float for float types, else a Python int."""
    value = parse_number(value)
    if data_type in FLOATS:
        with np.errstate(all="ignore"):
            return _work(NUMPY_TYPE[data_type](float(value)))
    if isinstance(value, float):
        if value != value:
            return 0
        low, high = limits(data_type)
        return low if value <= low else high if value >= high else int(np.rint(value))
    return saturate(data_type, value)


# ---- JSON form ------------------------------------------------------------------------------------------------

def _json_float(value):
    """A float16 or float32 scalar as something json.dumps writes in the vector format."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    number = float(value) if value.dtype == np.float16 else float(str(value))
    assert value.dtype.type(number) == value
    if number == int(number) and abs(number) < 1e9 and not (number == 0 and np.signbit(value)):
        return int(number)
    return number


def to_json(t, constant=False):
    """Descriptor and data of a tensor in the vector format."""
    out = {"dataType": t.type, "shape": t.shape}
    if constant:
        out["constant"] = True
    flat = np.ascontiguousarray(t.a).reshape(-1)
    raw = flat.view(np.uint8).reshape(flat.size, flat.itemsize)
    if t.is_float:
        data = [_json_float(v) for v in flat]
    elif BITS[t.type] == 64:
        data = [str(int(v)) for v in flat]
    else:
        data = [int(v) for v in flat]
    uniform = flat.size >= 16 and (raw == raw[0]).all()
    if uniform:
        out["fill"] = data[0]
    else:
        out["data"] = data
    if t.type == "float16":
        digits = ["%04x" % v for v in flat.view(np.uint16)]
        out["fillBits" if uniform else "bits"] = digits[0] if uniform else "".join(digits)
    return out


def from_json(entry):
    """Inverse of to_json."""
    shape = entry["shape"]
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    data = [entry["fill"]] * count if "fill" in entry else entry["data"]
    assert len(data) == count, "%d values for shape %s" % (len(data), shape)
    if entry["dataType"] == "float16" and ("bits" in entry or "fillBits" in entry):
        digits = entry["fillBits"] * count if "fillBits" in entry else entry["bits"]
        assert len(digits) == 4 * count
        words = np.array([int(digits[4 * i:4 * i + 4], 16) for i in range(count)], dtype=np.uint16)
        return Tensor("float16", words.view(np.float16).reshape(shape))
    return tensor(entry["dataType"], [parse_number(v) for v in data], shape)


# ---- comparison -----------------------------------------------------------------------------------------------

def distance(actual, expected, metric):
    """Largest distance between two tensors by "ULP" or "ATOL"; infinite if a NaN meets a number."""
    worst = 0
    if actual.is_float:
        word, sign = (np.uint16, 0x8000) if actual.type == "float16" else (np.uint32, 0x80000000)
    for index in np.ndindex(actual.a.shape):
        x, y = actual.a[index], expected.a[index]
        if x == y or (x != x and y != y):
            continue
        if x != x or y != y:
            return float("inf")
        if metric == "ATOL":
            worst = max(worst, abs(float(x) - float(y)))
        elif actual.is_float:
            bits = [int(v.view(word)) for v in (x, y)]
            ordered = [-(b & (sign - 1)) if b & sign else b for b in bits]
            worst = max(worst, abs(ordered[0] - ordered[1]))
        else:
            worst = max(worst, abs(int(x) - int(y)))
    return worst
