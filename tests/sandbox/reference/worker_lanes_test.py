# SPDX-License-Identifier: Apache-2.0
# Lanes: TF32 products are right only where a lane allows them; bfloat16 products never are.
import itertools
import unittest

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from worker_bound import DISTRIBUTIONS, bound_of, error_of, spread_of
from worker_support import code, device, places, tasks

import operators as op
from device import LANES

LINEAR = "torch.nn.Linear(256, 128, bias=True)"
TASKS = {
    "product": ("return a[0] @ self.w", "self.w = torch.nn.Parameter(torch.randn(256, 128))"),
    "linear": ("return torch.relu(self.l(a[0]))", f"self.l = {LINEAR}"),
    "chain": ("h = torch.nn.functional.gelu(self.l(a[0])); return torch.softmax(h @ h.mT, -1) @ h",
              f"self.l = {LINEAR}"),
    "convolution": ("return self.c(a[0].view(64, 4, 8, 8))", "self.c = torch.nn.Conv2d(4, 8, 3)"),
}


def cut_off(value):
    """Truncates to TF32, as a tensor core reads it."""
    return (value.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


def nearest(value):
    return cut_off((value.contiguous().view(torch.int32) + 0x1000).view(torch.float32))


def bfloat16(value):
    return value.bfloat16().float()


class Products(TorchDispatchMode):
    """Rounds the factors of products."""

    def __init__(self, rounded):
        super().__init__()
        self.rounded = rounded

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        args = list(args)
        for at in op.factors(func):
            args[at] = self.rounded(args[at])
        return func(*args, **(kwargs or {}))


class LanesTest(unittest.TestCase):
    def errors(self, name, lane, place, distribution, ways, seed=7):
        """The largest error over the bound of each way to compute the products."""
        forward, made = TASKS[name]
        torch.manual_seed(seed)
        task = tasks.Task(code(forward, "[torch.randn(64, 256)]", made), device(place), lane)
        task.settle(task.signature(), 1)
        inputs = [DISTRIBUTIONS[distribution]((64, 256)).to(task.device.place)]
        parameters = [t.detach().clone() for _, t in task._named(task._build(task.module))]
        exact = task.reference(inputs, parameters)
        bounds = [bound_of(s, e, torch.float32) for s, e in zip(spread_of(task, inputs, parameters, exact), exact)]
        return [error_of(task.run_in(Products(way), inputs, parameters), exact, bounds) for way in ways]

    @torch.no_grad()
    def test_tf32_products_are_right_only_in_their_lane(self):
        for name, place, distribution in itertools.product(TASKS, places(self), DISTRIBUTIONS):
            with self.subTest(task=name, place=place, distribution=distribution):
                allowed = self.errors(name, "tf32_allowed", place, distribution, (nearest, cut_off))
                self.assertLess(max(allowed), 0.8)
                strict = self.errors(name, "fp32_strict", place, distribution, (nearest, cut_off))
                self.assertGreater(min(strict), 8)

    @torch.no_grad()
    def test_an_error_may_cross_the_kink_of_relu(self):
        for seed in range(8):
            with self.subTest(seed=seed):
                errors = self.errors("linear", "tf32_allowed", "cpu", "normal", (nearest, cut_off), seed)
                self.assertLess(max(errors), 0.8)

    @torch.no_grad()
    def test_products_of_bfloat16_are_wrong_in_every_lane(self):
        for name, place, lane in itertools.product(TASKS, places(self), LANES):
            with self.subTest(task=name, place=place, lane=lane):
                errors = [self.errors(name, lane, place, each, (bfloat16,))[0] for each in DISTRIBUTIONS]
                self.assertGreater(max(errors), 1.5)


if __name__ == "__main__":
    unittest.main()
