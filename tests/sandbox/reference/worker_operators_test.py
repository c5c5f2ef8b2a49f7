# SPDX-License-Identifier: Apache-2.0
# Operators that compute their own sums: eager's errors are within the bound, TF32's are beyond it.
import itertools
import unittest

import torch
from worker_support import code, device, places, tasks

import modes
import operators as op

C, U = 8, 2.0**-24  # the strictest constant, and a unit of float32
ROWS = "[torch.randn(64, 2000)]"
INDEX = "i = torch.arange(2000, device=a[0].device) % 4"
SUMS = {
    "sum by index": f"{INDEX}; return torch.zeros(64, 4, device=i.device).index_add(1, i, a[0])",
    "sum by index in place":
        f"{INDEX}; y = torch.zeros(64, 4, device=i.device); y.index_add_(1, i, a[0]); return y * 2",
    "scattered sum": f"{INDEX}; return torch.zeros(64, 4, device=i.device).scatter_add(1, i.expand(64, 2000), a[0])",
    "scattered mean":
        f"{INDEX}; return torch.zeros(64, 4, device=i.device).scatter_reduce(1, i.expand(64, 2000), a[0], 'mean')",
    "put": f"{INDEX}; return torch.zeros(4, 64, device=i.device).index_put((i,), a[0].T, accumulate=True)",
    "bags": "i = torch.arange(512, device=a[0].device).view(2, 256) % 64; return F.embedding_bag(i, a[0], mode='sum')",
    "Fourier transform": "return torch.view_as_real(torch.fft.fft(a[0]))",
    "and back": "return torch.fft.irfft(torch.fft.rfft(a[0]) * 0.5)",
    "batched sum of products": "return torch.addbmm(a[0][:, :64], a[0].view(20, 64, 100), a[0].view(20, 100, 64))",
}
FORMULAS = {
    "tanh": ("return torch.tanh(a[0])", lambda x: 1 - 2 / (torch.exp(2 * x) + 1)),
    "sinh": ("return torch.sinh(a[0])", lambda x: (torch.exp(x) - torch.exp(-x)) / 2),
    "atanh": ("return torch.atanh(a[0] % 0.5)", lambda x: torch.log((1 + x % 0.5) / (1 - x % 0.5)) / 2),
    "asinh": ("return torch.asinh(a[0])", lambda x: x.sign() * torch.log(x.abs() + torch.sqrt(x * x + 1))),
    "loss of the likeliest": ("return F.cross_entropy(a[0] * 4000, a[0].argmax(-1), reduction='none')",
                              lambda x: torch.logsumexp(x * 4000, -1) - 4000 * x.amax(-1)),
    "elu": ("return F.elu(a[0])", lambda x: torch.where(x > 0, x, torch.exp(x) - 1)),
    "loss of probabilities": (
        "return F.binary_cross_entropy(torch.sigmoid(a[0]), torch.sigmoid(a[0].flip(0)), reduction='none')",
        lambda x: -(x.flip(0).sigmoid() * x.sigmoid().log() + (1 - x.flip(0).sigmoid()) * (1 - x.sigmoid()).log())),
    "elu in place": ("return F.elu(a[0] * 2, inplace=True)", lambda x: torch.where(x > 0, 2 * x, torch.exp(2 * x) - 1)),
}


class OperatorsTest(unittest.TestCase):
    def judged(self, forward, place, inputs=ROWS):
        """The task, its inputs, and a function for the largest error of an output over the bound."""
        torch.manual_seed(7)
        task = tasks.Task(code(forward, inputs), device(place))
        task.settle(task.signature(), 1)
        values = task.draw(3)[:len(task.sample)]
        exact = task.reference(values, [])[0]
        spread = torch.zeros(exact.shape, device=exact.device)
        task.spread(values, [], [exact], [spread], 4)
        pooled = spread.view(-1, 4).mean(1, keepdim=True).expand(-1, 4).reshape(exact.shape)
        bound = C * torch.maximum(pooled, 4 * U * exact.abs()) + U * exact.abs()
        return task, values, lambda out: float(((out.double() - exact).abs() / bound).max())

    def errors(self, forward, place, inputs=ROWS):
        """The errors of eager and of eager in TF32, over the bound."""
        task, values, error = self.judged(forward, place, inputs)
        return tuple(error(task.run_in(mode, values, [])[0]) for mode in (None, modes.Rounded("tf32")))

    def test_the_number_of_terms_bounds_a_sum(self):
        for place, (name, forward) in itertools.product(places(self), SUMS.items()):
            with self.subTest(place=place, operator=name):
                eager, low = self.errors(forward, place)
                self.assertLess(eager, 0.5)
                self.assertGreater(low, 1)

    def test_operators_with_outputs_for_their_gradient_are_perturbed(self):
        for place in places(self):
            eager, low = self.errors("return F.logsigmoid(a[0])", place)
            self.assertLess(eager, 0.5)
            self.assertGreater(low, 1)

    def test_honest_formulas_that_cancel_are_within_the_bound(self):
        for place, (name, (forward, formula)) in itertools.product(places(self), FORMULAS.items()):
            with self.subTest(place=place, function=name):
                task, values, error = self.judged(forward, place, "[torch.randn(64, 2000) * 0.01]")
                self.assertLess(error(formula(values[0])), 0.8)
                self.assertGreater(error(task.run_in(modes.Rounded("tf32"), values, [])[0]), 1)

    def test_probabilities_stay_within_their_range(self):
        forward = "p = {}; return F.binary_cross_entropy(p, p.flip(0).round(), reduction='none')"
        names = "torch.sigmoid(a[0])", "torch.softmax(a[0], -1)", "a[0].tanh().abs()"
        for place, name in itertools.product(places(self), names):
            with self.subTest(place=place, function=name):  # beyond it an operator raises and a GPU's context ends
                self.judged(forward.format(name), place, "[torch.randn(64, 2000) * 40]")

    def test_the_fullest_place_of_a_sum_by_index_counts(self):
        aten, target = torch.ops.aten, torch.zeros(3, 2)
        rows = torch.tensor([0, 2, 2, 2])
        self.assertEqual(op.reduction_length(aten.index_add.default, (target, 0, rows, torch.ones(4, 2)), None), 3)
        self.assertEqual(op.reduction_length(aten.index_add_.default, (target, 0, rows, torch.ones(4, 2)), None), 3)
        self.assertEqual(op.reduction_length(aten.index_put.default, (target, [rows], torch.ones(4, 2)), None), 1)
        self.assertEqual(op.reduction_length(aten.index_put.default, (target, [rows], torch.ones(4, 2), True), None), 3)
        self.assertEqual(target.abs().sum(), 0)
        self.assertEqual(op.reduction_length(aten._fft_c2r.default, (torch.ones(3, 9), [1], 0, 16), None), 16)


if __name__ == "__main__":
    unittest.main()
