# SPDX-License-Identifier: Apache-2.0
# Masks of infinities and of large numbers: every element stays bounded, as tightly as without them.
import itertools
import unittest

import torch
from worker_bound import bound_of, error_of, spread_of
from worker_support import code, device, places, tasks

import chunks

TYPES = (torch.float32, torch.float16)
INFINITE, LARGE = "float('-inf')", "-1e9"
SCORES = "r = a[0].view(8, 64, 64); m = torch.ones(64, 64, device=r.device).triu(1).bool(); s = r @ r.mT * 0.125"
MASKED = {
    "filled": SCORES + f"; return torch.softmax(s.masked_fill(m, {INFINITE}), -1) @ r",
    "chosen": SCORES + f"; return torch.softmax(torch.where(m, {INFINITE}, s), -1)",
    "added": SCORES + f"; return torch.softmax(s + torch.zeros_like(s).masked_fill(m, {INFINITE}), -1)",
    "inside attention": "r = a[0].view(2, 4, 64, 64); return F.scaled_dot_product_attention(r, r, r, is_causal=True)",
    "logarithm of a sum": SCORES + f"; return torch.logsumexp(s.masked_fill(m, {INFINITE}), -1)",
    "largest": SCORES + f"; return s.masked_fill(m, {INFINITE}).amax(-1)",
    "loss": SCORES + f"; return F.cross_entropy(s.masked_fill(m, {INFINITE}).flatten(0, 1), "
            "torch.zeros(512, dtype=torch.int64, device=s.device), reduction='none')",
}
# With a number that float16 cannot represent.
LOSS_OF_LARGE = MASKED["loss"].replace(INFINITE, LARGE)


class DeviationTest(unittest.TestCase):
    def test_only_equal_infinities_deviate_by_nothing(self):
        infinity, nothing = float("inf"), float("nan")
        for exact, out, wanted in ((1.0, 3.0, 2.0), (infinity, infinity, 0.0), (-infinity, -infinity, 0.0),
                                   (infinity, -infinity, infinity), (infinity, 1.0, infinity), (1.0, nothing, nothing),
                                   (1e300, infinity, nothing), (3e38, -3e38, infinity)):
            found = chunks.deviation(torch.tensor([out, 2.0]), torch.tensor([exact, 1.0], dtype=torch.float64))
            torch.testing.assert_close(found, torch.tensor([wanted, 1.0]), equal_nan=True)


class MasksTest(unittest.TestCase):
    def judged(self, forward, place, dtype=torch.float32):
        """The spread's tensors, the reference's, the outputs, and a function for the largest error over the bound."""
        torch.manual_seed(7)
        task = tasks.Task(code(forward, f"[torch.randn(64, 512).to({dtype})]"), device(place))
        task.settle(task.signature(), 1)
        inputs = task.draw(3)[:1]
        exact = task.reference(inputs, [])
        spread = spread_of(task, inputs, [], exact)
        bounds = [bound_of(spread[0], exact[0], dtype)]
        return spread, exact, task.run_in(None, inputs, [])[0], lambda out: error_of([out], exact, bounds)

    @torch.no_grad()
    def test_every_element_stays_bounded(self):
        for place, dtype, (name, forward) in itertools.product(places(self), TYPES, MASKED.items()):
            with self.subTest(place=place, dtype=dtype, mask=name):
                spread, exact, out, error = self.judged(forward, place, dtype)
                self.assertTrue(chunks.decided(spread, exact))
                self.assertLess(error(out), 0.8)
                self.assertGreater(error(out.double() * 1.01), 1)

    @torch.no_grad()
    def test_a_large_number_in_a_mask_does_not_loosen_the_bound(self):
        for place in places(self):
            _, _, out, error = self.judged(LOSS_OF_LARGE, place)
            self.assertLess(error(out), 0.8)
            self.assertGreater(error(out * 1.001), 1)

    def test_what_rounding_decides_stays_undecided(self):
        spread, exact, _, _ = self.judged("return torch.sqrt(a[0] - a[0]) + a[0]", "cpu")
        self.assertFalse(chunks.decided(spread, exact))


if __name__ == "__main__":
    unittest.main()
