# SPDX-License-Identifier: Apache-2.0
# Fused operators: kernels that compute the parts one after another pass, lower precision does not.
import itertools
import unittest

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from worker_support import code, device, places, tasks

from by_parts import by_parts

C, U = 8, 2.0**-24  # the strictest constant, and a unit of float32
STEPS, BATCH, WIDTH = 48, 4, 256


def attention(inputs, parameters, add_up):
    """Computes sums with `add_up`, a product of matrices."""
    query, key, value = inputs
    scores = add_up(query, key.mT) / query.shape[-1] ** 0.5
    return torch.softmax(scores, -1) @ value


def _gates(x, hidden, parameters, add_up):
    input_weight, hidden_weight, input_bias, hidden_bias = parameters
    return add_up(x, input_weight.mT) + input_bias, add_up(hidden, hidden_weight.mT) + hidden_bias


def lstm(inputs, parameters, add_up):
    hidden, cell, out = *torch.zeros(2, BATCH, WIDTH, device=inputs[0].device), []
    for x in inputs[0]:
        enter, forget, new, leave = sum(_gates(x, hidden, parameters, add_up)).chunk(4, 1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        hidden = torch.sigmoid(leave) * torch.tanh(cell)
        out.append(hidden)
    return torch.stack(out)


def gru(inputs, parameters, add_up):
    hidden, out = torch.zeros(BATCH, WIDTH, device=inputs[0].device), []
    for x in inputs[0]:
        (reset, keep, new), (reset_h, keep_h, new_h) = (g.chunk(3, 1) for g in _gates(x, hidden, parameters, add_up))
        new = torch.tanh(new + torch.sigmoid(reset + reset_h) * new_h)
        keep = torch.sigmoid(keep + keep_h)
        hidden = (1 - keep) * new + keep * hidden
        out.append(hidden)
    return torch.stack(out)


def encoder(inputs, parameters, add_up):
    """A transformer layer: attention with one head, then two linear layers, each followed by a norm."""
    in_weight, in_bias, out_weight, out_bias, w1, b1, w2, b2, g1, c1, g2, c2 = parameters
    norm = torch.nn.functional.layer_norm
    query, key, value = (add_up(inputs[0], in_weight.mT) + in_bias).chunk(3, -1)
    x = attention((query, key, value), (), add_up)
    x = norm(inputs[0] + add_up(x, out_weight.mT) + out_bias, (WIDTH,), g1, c1)
    wide = torch.relu(add_up(x, w1.mT) + b1)
    return norm(x + add_up(wide, w2.mT) + b2, (WIDTH,), g2, c2)


SEQUENCE = f"[torch.randn({STEPS}, {BATCH}, {WIDTH})]"
TASKS = {
    "attention": (attention, code("return F.scaled_dot_product_attention(a[0], a[1], a[2])",
                                  "[torch.randn(1, 2, 128, 1024) for _ in range(3)]")),
    "LSTM": (lstm, code("return self.rnn(a[0])[0]", SEQUENCE, f"self.rnn = nn.LSTM({WIDTH}, {WIDTH})")),
    "GRU": (gru, code("return self.rnn(a[0])[0]", SEQUENCE, f"self.rnn = nn.GRU({WIDTH}, {WIDTH})")),
    "encoder layer": (encoder, code(
        "return self.layer(a[0])", f"[torch.randn({BATCH}, {STEPS}, {WIDTH})]",
        f"self.layer = nn.TransformerEncoderLayer({WIDTH}, 1, 512, 0.0, batch_first=True); self.layer.eval()")),
}


class Recorder(TorchDispatchMode):
    """Records which operators ran."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def packed(rows):
    return torch.nn.utils.rnn.pack_padded_sequence(rows, torch.tensor([7, 5, 5, 2]))


_NN = torch.nn
RECURRENT = {  # maps a name to the module and its view of [7, 4, 24]
    "layers": (lambda: _NN.LSTM(24, 16, 2, bidirectional=True, proj_size=8), lambda rows: rows),
    "batch first": (lambda: _NN.GRU(24, 16, 2, bias=False, batch_first=True), lambda rows: rows),
    "plain": (lambda: _NN.RNN(24, 16, nonlinearity="relu", bidirectional=True), lambda rows: rows),
    "packed LSTM": (lambda: _NN.LSTM(24, 16, bidirectional=True), packed),
    "packed GRU": (lambda: _NN.GRU(24, 16, 2, bidirectional=True), packed),
    "packed RNN": (lambda: _NN.RNN(24, 16), packed),
    "LSTM's cell": (lambda: _NN.LSTMCell(24, 16), lambda rows: rows[0]),
    "GRU's cell": (lambda: _NN.GRUCell(24, 16, bias=False), lambda rows: rows[0]),
}


def flat(value):
    """All tensors of a nested result."""
    return [value] if isinstance(value, torch.Tensor) else [t for v in value if v is not None for t in flat(v)]


def term_by_term(a, b):
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    total = torch.zeros(batch + (a.shape[-2], b.shape[-1]), device=a.device)
    for k in range(a.shape[-1]):
        total = total + a[..., :, k, None] * b[..., None, k, :]
    return total


def tf32(value):
    return (value.contiguous().view(torch.int32) + 0x1000 & ~0x1FFF).view(torch.float32)


class PartsTest(unittest.TestCase):
    def judged(self, name, place, move):
        """The task, its inputs and parameters, and a function for the largest error of an output over the bound."""
        torch.manual_seed(7)
        task = tasks.Task(TASKS[name][1], device(place))
        parameters = [t.detach().clone() for _, t in task.named]  # on a GPU, settle frees them
        task.settle(task.signature(), 1)
        inputs = [v + move for v in task.draw(3)[:len(task.sample)]]
        exact = task.reference(inputs, parameters)[0]
        spread = torch.zeros(exact.shape, device=exact.device)
        task.spread(inputs, parameters, [exact], [spread], 4)
        pooled = spread.view(-1, 8).mean(1, keepdim=True).expand(-1, 8).reshape(exact.shape)
        bound = C * torch.maximum(pooled, 4 * U * exact.abs()) + U * exact.abs()
        return task, inputs, parameters, lambda out: float(((out.double() - exact).abs() / bound).max())

    @torch.no_grad()
    def test_parts_made_one_after_another_are_right_and_lower_precision_is_not(self):
        for place, (name, (by_hand, _)), move in itertools.product(places(self), TASKS.items(), (0.0, 2.5)):
            with self.subTest(place=place, task=name, move=move):
                task, inputs, parameters, error = self.judged(name, place, move)
                self.assertLess(error(task.run_in(None, inputs, parameters)[0]), 0.8)
                self.assertLess(error(by_hand(inputs, parameters, torch.matmul)), 0.8)
                self.assertLess(error(by_hand(inputs, parameters, term_by_term)), 0.8)
                low = by_hand([tf32(v) for v in inputs], [tf32(p) for p in parameters], torch.matmul)
                self.assertGreater(error(low), 2)

    @torch.no_grad()
    def test_recurrent_layers_of_all_kinds_are_the_same_in_parts(self):
        torch.manual_seed(3)
        for place, (name, (make, taken)) in itertools.product(places(self), RECURRENT.items()):
            with self.subTest(place=place, layer=name):
                layer, rows = make().to(place), taken(torch.randn(7, 4, 24).to(place))
                expected = flat(layer(rows))
                with by_parts(), Recorder() as recorder:
                    got = flat(layer(rows))
                self.assertFalse([n for n in recorder.names if any(k in n for k in ("lstm", "gru", "rnn"))])
                for e, g in zip(expected, got, strict=True):
                    torch.testing.assert_close(g, e, rtol=2e-5, atol=2e-6)

    def test_libraries_fuse_again_afterwards(self):
        before = torch.backends.mha.get_fastpath_enabled()
        self.judged("encoder layer", "cpu", 0.0)
        self.assertEqual(before, torch.backends.mha.get_fastpath_enabled())


if __name__ == "__main__":
    unittest.main()
