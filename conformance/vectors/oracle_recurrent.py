# SPDX-License-Identifier: Apache-2.0
"""Oracles of gru, gruCell, lstm and lstmCell. The states stay in working precision from step to step."""

import numpy as np

from numeric import from_real
from oracle import operator, real_function

GRU_ACTIVATIONS = ["sigmoid", "tanh"]
LSTM_ACTIVATIONS = ["sigmoid", "tanh", "tanh"]


def _activations(at, defaults, kind):
    """The functions named by the list: plain names or {"name", parameters…}."""
    out = []
    for item in at.get("activations", defaults):
        item = {"name": item} if isinstance(item, str) else item
        out.append(real_function(item["name"], {k: v for k, v in item.items() if k != "name"}, kind))
    return out


def _blocks(array, hidden, order, wanted):
    """Split the first dimension in blocks of the hidden size, and return them in the wanted order."""
    return [array[order.index(gate) * hidden:(order.index(gate) + 1) * hidden] for gate in wanted]


def _gru_step(p, inputs, h, at, functions):
    """One step of a GRU; p holds weight, recurrentWeight, bias, recurrentBias of one direction."""
    gate, candidate = functions
    hidden, order = at["hiddenSize"], at.get("layout", "zrn")
    wz, wr, wn = _blocks(p["weight"], hidden, order, "zrn")
    rz, rr, rn = _blocks(p["recurrentWeight"], hidden, order, "zrn")
    bz, br, bn = _blocks(p["bias"], hidden, order, "zrn")
    cz, cr, cn = _blocks(p["recurrentBias"], hidden, order, "zrn")
    z = gate(inputs @ wz.T + bz + h @ rz.T + cz)
    r = gate(inputs @ wr.T + br + h @ rr.T + cr)
    if at.get("resetAfter", True):
        n = candidate(inputs @ wn.T + bn + r * (h @ rn.T + cn))
    else:
        n = candidate(inputs @ wn.T + bn + (r * h) @ rn.T + cn)
    return z * h + (1 - z) * n


def _lstm_step(p, inputs, h, c, at, functions):
    """One step of an LSTM. The peephole of the output gate looks at the previous cell state."""
    gate, cell_input, cell_output = functions
    hidden, order = at["hiddenSize"], at.get("layout", "iofg")
    weights = _blocks(p["weight"], hidden, order, "iofg")
    recurrent = _blocks(p["recurrentWeight"], hidden, order, "iofg")
    bias = _blocks(p["bias"], hidden, order, "iofg")
    recurrent_bias = _blocks(p["recurrentBias"], hidden, order, "iofg")
    sums = [inputs @ w.T + b + h @ r.T + rb for w, r, b, rb in zip(weights, recurrent, bias, recurrent_bias)]
    if "peepholeWeight" in p:  # always i, o, f
        for k, peephole in enumerate(_blocks(p["peepholeWeight"], hidden, "iof", "iof")):
            sums[k] = sums[k] + peephole * c
    i, o, f = (gate(s) for s in sums[:3])
    c = f * c + i * cell_input(sums[3])
    return o * cell_output(c), c


def _direction(x, index, gates, hidden, keys):
    """Real parameters of one direction (index None: a cell, without direction dimension); biases default to 0."""
    p = {key: x[key].real() if index is None else x[key].real()[index] for key in keys if key in x}
    for key in ("bias", "recurrentBias"):
        p.setdefault(key, np.zeros(gates * hidden, p["weight"].dtype))
    return p


_KEYS = ("weight", "recurrentWeight", "bias", "recurrentBias", "peepholeWeight")


@operator("gruCell")
def _gru_cell(x, at):
    t = x["input"]
    p = _direction(x, None, 3, at["hiddenSize"], _KEYS)
    return from_real(t.type, _gru_step(p, t.real(), x["hiddenState"].real(), at,
                                       _activations(at, GRU_ACTIVATIONS, t.type)))


@operator("lstmCell")
def _lstm_cell(x, at):
    t = x["input"]
    p = _direction(x, None, 4, at["hiddenSize"], _KEYS)
    h, c = _lstm_step(p, t.real(), x["hiddenState"].real(), x["cellState"].real(), at,
                      _activations(at, LSTM_ACTIVATIONS, t.type))
    return [from_real(t.type, h), from_real(t.type, c)]


@operator("gru", "lstm")
def _recurrent(x, at, name):
    t, hidden, steps = x["input"], at["hiddenSize"], at["steps"]
    direction, is_lstm = at.get("direction", "forward"), name == "lstm"
    functions = _activations(at, LSTM_ACTIVATIONS if is_lstm else GRU_ACTIVATIONS, t.type)
    directions, batch = 2 if direction == "both" else 1, t.shape[1]
    inputs = t.real()
    sequence = np.zeros((steps, directions, batch, hidden), inputs.dtype)
    last_h = np.zeros((directions, batch, hidden), inputs.dtype)
    last_c = np.zeros_like(last_h)
    for d in range(directions):
        p = _direction(x, d, 4 if is_lstm else 3, hidden, _KEYS)
        h = x["initialHiddenState"].real()[d] if "initialHiddenState" in x else np.zeros_like(last_h[0])
        c = x["initialCellState"].real()[d] if "initialCellState" in x else np.zeros_like(last_h[0])
        backward = direction == "backward" or d == 1
        for step in (reversed(range(steps)) if backward else range(steps)):
            if is_lstm:
                h, c = _lstm_step(p, inputs[step], h, c, at, functions)
            else:
                h = _gru_step(p, inputs[step], h, at, functions)
            sequence[step, d] = h
        last_h[d], last_c[d] = h, c
    out = [last_h] + ([last_c] if is_lstm else []) + ([sequence] if at.get("returnSequence") else [])
    return [from_real(t.type, v) for v in out]
