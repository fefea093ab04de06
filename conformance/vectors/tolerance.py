# SPDX-License-Identifier: Apache-2.0
"""How far a result may be from the expected value, per operator: the rule of web-platform-tests.

Differences, because every vector here is well conditioned or exactly defined:
- cast and integer results of arithmetic are exact;
- instanceNormalization float16 is checked like layerNormalization (the original 8400 ULP would check nothing);
- recurrent operators in float32 and fused activations add the tolerance of each activation, as a graph of the
  separate operators would (tanh and other operators with an absolute tolerance count 16 ULP there)."""

import numpy as np

from numeric import FLOATS

_FIXED = {  # ULP for float32, float16
    "div": (2, 2), "add": (1, 1), "sub": (1, 1), "mul": (1, 1), "pow": (32, 2), "modulusFloor": (1, 1), "sqrt": (1, 1),
    "reciprocal": (2, 2), "exp": (32, 1), "elu": (18, 18), "gelu": (18, 18), "softplus": (18, 18),
    "hardSigmoid": (2, 2), "linear": (2, 2), "hardSwish": (4, 4), "leakyRelu": (1, 2), "prelu": (1, 1),
    "sigmoid": (34, 10), "softsign": (3, 3), "batchNormalization": (6, 6), "layerNormalization": (14, 14),
    "instanceNormalization": (840, 14), "dequantizeLinear": (1, 1), "gru": (6, 6), "gruCell": (3, 3),
    "lstm": (3, 3), "lstmCell": (1, 1),
}
_ABSOLUTE = {  # float32, float16
    "cos": (1 / 1024, 1 / 512), "sin": (1 / 1024, 1 / 512), "tan": (1 / 1024, 1 / 512), "erf": (1 / 1024, 1 / 512),
    "tanh": (1 / 1024, 1 / 512), "log": (1 / 1024, 1 / 1024),
}
_ULP_OF_ABSOLUTE = 16


def _reduced(x, at):
    shape = x["input"].shape
    axes = at.get("axes", range(len(shape)))
    return int(np.prod([shape[a] for a in axes], dtype=np.int64))


def _activation_ulp(item, kind):
    if isinstance(item, str):
        item = {"name": item}
    return ulp(item["name"], {}, {k: v for k, v in item.items() if k != "name"}, kind)


def ulp(op, x, at, kind):
    """ULP tolerance of one operator for an output of a data type; absolute tolerances count as 16 ULP."""
    if op == "quantizeLinear":  # one step of the integer
        return 1
    if op in ("resample2d", "resample2dDynamic") and at.get("mode") == "linear":
        return {"float32": 84, "float16": 10}.get(kind, 1)
    if kind not in FLOATS:
        return 0
    if op in _ABSOLUTE:
        return _ULP_OF_ABSOLUTE
    value = _FIXED[op][FLOATS.index(kind)] if op in _FIXED else 0
    if op in ("gru", "gruCell", "lstm", "lstmCell") and kind == "float32":
        default = ["sigmoid", "tanh"] if op.startswith("gru") else ["sigmoid", "tanh", "tanh"]
        value += sum(_activation_ulp(item, kind) for item in at.get("activations", default))
    elif op in ("conv2d", "convTranspose2d"):
        channels = x["input"].shape[3 if at.get("inputLayout") == "nhwc" else 1]
        layout = at.get("filterLayout", "oihw" if op == "conv2d" else "iohw")
        height, width = (x["filter"].shape[layout.index(side)] for side in "hw")
        value = 2 * height * width * (channels // at.get("groups", 1))
    elif op in ("averagePool2d", "l2Pool2d"):
        size = x["input"].shape[1:3] if at.get("layout") == "nhwc" else x["input"].shape[2:]
        window = at.get("windowDimensions", size)
        value = window[0] * window[1] + 2
    elif op == "matmul":
        value = 2 * x["a"].shape[-1]
    elif op == "gemm":
        inner = x["a"].shape[0 if at.get("aTranspose") else 1]
        alpha, beta = at.get("alpha", 1), at.get("beta", 1)
        value = 2 * inner + (alpha != 1) + ("c" in x and beta != 0) + ("c" in x and beta != 1)
    elif op == "softmax":
        value = 3 * (x["input"].shape[at.get("axis", 1)] if x else 8) + 3
    elif op == "cumulativeSum":
        value = max(x["input"].shape[at["axis"]] - 1, 0)
    elif op.startswith("reduce"):
        n = _reduced(x, at)
        value = {"reduceSum": n, "reduceL1": n, "reduceProduct": n, "reduceSumSquare": 2 * n, "reduceMean": n + 2,
                 "reduceL2": 2 * n + 2, "reduceLogSum": n + 18, "reduceLogSumExp": 2 * n + 18}.get(op, 0)
    if at.get("activation"):
        value += _activation_ulp(at["activation"], kind)
    return int(value)


def single(op, x, at, kind):
    """Tolerance of a vector with one operator."""
    if op in _ABSOLUTE:
        return {"metric": "ATOL", "value": _ABSOLUTE[op][FLOATS.index(kind)]}
    return {"metric": "ULP", "value": ulp(op, x, at, kind)}
