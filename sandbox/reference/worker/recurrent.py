# SPDX-License-Identifier: Apache-2.0
# Recurrent layers step by step from plain operators, in place of the fused ones of cuDNN, oneDNN and torch.
import torch
from torch.nn.functional import linear


def _elman(activation):
    return lambda gates, state, weight, bias, _: (activation(gates + linear(state[0], weight, bias)),)


def _lstm(gates, state, weight, bias, projection):
    hidden, cell = state
    enter, forget, new, leave = (gates + linear(hidden, weight, bias)).chunk(4, -1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
    hidden = torch.sigmoid(leave) * torch.tanh(cell)
    return (hidden if projection is None else linear(hidden, projection)), cell


def _gru(gates, state, weight, bias, _):
    (hidden,) = state
    reset, keep, new = gates.chunk(3, -1)
    reset_h, keep_h, new_h = linear(hidden, weight, bias).chunk(3, -1)
    new = torch.tanh(new + torch.sigmoid(reset + reset_h) * new_h)
    return (new + torch.sigmoid(keep + keep_h) * (hidden - new),)


# A step's arguments: a row's gates from the input, the state, and the hidden state's weight, bias and projection.
_STEPS = {"lstm": _lstm, "gru": _gru, "rnn_tanh": _elman(torch.tanh), "rnn_relu": _elman(torch.relu)}
_CELLS = {"lstm_cell": "lstm", "gru_cell": "gru"}  # the cells that torch fuses


def _direction(step, x, sizes, state, weights, has_biases, backwards):
    """One layer in one direction. `sizes`: rows of each step of a packed sequence; other rows keep their state."""
    bias, hidden_bias = weights[2:4] if has_biases else (None, None)
    projection = weights[-1] if len(weights) % 2 else None
    gates, outs = linear(x, weights[0], bias), []
    steps = gates.split(sizes) if sizes else gates.unbind(0)
    for each in reversed(steps) if backwards else steps:
        rows = len(each)
        new = step(each, tuple(s[:rows] for s in state), weights[1], hidden_bias, projection)
        state = new if rows == len(state[0]) else tuple(torch.cat((n, s[rows:])) for n, s in zip(new, state))
        outs.append(new[0])
    outs = outs[::-1] if backwards else outs
    return (torch.cat(outs) if sizes else torch.stack(outs)), state


def _layers(step, x, sizes, states, weights, has_biases, layers, both):
    """All layers. `states`: one tensor per kind, stacked over layers and directions."""
    directions, ends = 1 + both, []
    share = len(weights) // (layers * directions)
    for layer in range(layers):
        outs = []
        for i in range(layer * directions, (layer + 1) * directions):
            out, end = _direction(step, x, sizes, tuple(s[i] for s in states), weights[i * share:(i + 1) * share],
                                  has_biases, backwards=i % directions == 1)
            outs.append(out)
            ends.append(end)
        x = torch.cat(outs, -1) if both else outs[0]
    return x, *(torch.stack(kind) for kind in zip(*ends))


def _run_layers(name, args):
    """Accepts the arguments of torch's operator, with padded or packed rows; tasks may not use dropout."""
    packed = isinstance(args[1], torch.Tensor) and not args[1].is_floating_point()
    if packed:
        x, sizes, states, weights, has_biases, layers, _, _, both = args
        sizes, batch_first = sizes.tolist(), False
    else:
        x, states, weights, has_biases, layers, _, _, both, batch_first = args
        sizes = None
    states = (states,) if isinstance(states, torch.Tensor) else tuple(states)
    out, *ends = _layers(_STEPS[name], x.transpose(0, 1) if batch_first else x, sizes, states, weights, has_biases,
                         layers, both)
    return (out.transpose(0, 1) if batch_first else out), *ends


def _run_cell(name, args):
    x, state, weight, hidden_weight, bias, hidden_bias = args
    single = isinstance(state, torch.Tensor)
    new = _STEPS[_CELLS[name]](linear(x, weight, bias), (state,) if single else tuple(state), hidden_weight,
                               hidden_bias, None)
    return new[0] if single else new


def in_parts(name):
    """A function that runs the operator of this name in parts on its positional arguments; None for other operators."""
    if name in _STEPS:
        return lambda *args: _run_layers(name, args)
    return (lambda *args: _run_cell(name, args)) if name in _CELLS else None
