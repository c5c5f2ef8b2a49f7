# SPDX-License-Identifier: Apache-2.0
# Products of float32 on tensor cores from three bfloat16 terms each: as accurate as float32, and judged so.
import unittest

import torch
from worker_bound import DISTRIBUTIONS, bound_of, error_of, spread_of
from worker_support import NO_GPU, code, device, tasks

import modes

STEP = 16  # terms that a tensor core adds to a partial sum at a time
SPLIT = ((2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0))  # the products that matter, smallest first


def split(x):
    first = x.bfloat16()
    second = (x - first).bfloat16()
    return first, second, (x - first - second).bfloat16()


def interleaved(a, b):
    """Factors of one product that adds all products of the terms step by step to one partial sum."""
    a, b, steps = split(a), split(b), a.shape[1] // STEP
    left = torch.stack([a[i].view(-1, steps, STEP) for i, _ in SPLIT], 2)
    right = torch.stack([b[j].view(steps, STEP, -1) for _, j in SPLIT], 1)
    return left.reshape(len(a[0]), -1), right.reshape(-1, b[0].shape[1])


def cut_off(exact):
    """Rounds float64 towards zero to float32."""
    near = exact.float()
    return torch.where(near.double().abs() > exact.abs(), torch.nextafter(near, torch.zeros(())), near)


def by_tensor_cores(a, b):
    """A product of bfloat16 as a tensor core adds it up, on the CPU."""
    total = torch.zeros(len(a), b.shape[1])
    for first in range(0, a.shape[1], STEP):
        step = a[:, first:first + STEP].double() @ b[first:first + STEP].double()
        total = cut_off(total.double() + step)
    return total


class SplitTest(unittest.TestCase):
    def errors(self, place, rows, terms, product):
        """Largest errors over the bound of a split product and of a TF32 product, per distribution."""
        made = tasks.Task(code("return a[0] @ a[1]", f"[torch.randn({rows}, {terms}), torch.randn({terms}, {rows})]"),
                          device(place))
        for draw in DISTRIBUTIONS.values():
            torch.manual_seed(terms)
            a, b = draw((rows, terms)).to(device(place).place), draw((terms, rows)).to(device(place).place)
            exact = made.reference([a, b], [])
            bounds = [bound_of(spread_of(made, [a, b], [], exact)[0], exact[0], torch.float32)]
            with modes.Rounded("tf32"):
                coarse = a @ b
            yield error_of([product(*interleaved(a, b))], exact, bounds), error_of([coarse], exact, bounds)

    @torch.no_grad()
    def test_cut_off_partial_sums_are_well_within_the_bound(self):
        for terms in (256, 4096):
            split_errors, coarse = zip(*self.errors("cpu", 48, terms, by_tensor_cores))
            self.assertLess(max(split_errors), 0.7, terms)
            self.assertGreater(max(coarse), 2, terms)

    @unittest.skipIf(NO_GPU, NO_GPU)
    @torch.no_grad()
    def test_a_gpu_s_split_products_are_well_within_the_bound(self):
        for terms in (256, 4096, 16384):
            errors = self.errors("cuda", 1024, terms, lambda a, b: torch.mm(a, b, out_dtype=torch.float32))
            split_errors, coarse = zip(*errors)
            self.assertLess(max(split_errors), 0.7, terms)
            self.assertGreater(max(coarse), 1.2, terms)


if __name__ == "__main__":
    unittest.main()
