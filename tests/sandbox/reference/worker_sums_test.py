# SPDX-License-Identifier: Apache-2.0
# Sums as on a device, compared with the CPU's in numpy and with float64, on tensors of a CPU.
import itertools
import unittest

import numpy as np
import torch
from worker_support import places

import chunks
import device_sums
import footprint
import modes
import operators as op
import orders
from correlated import CorrelatedErrors, DeviceCorrelatedErrors
from noise import ChunkedNoise

U = 2.0**-24
OPERATORS = {
    "sum": (lambda x: x.sum(1), (7, 300)), "long sum": (lambda x: x.sum(1), (3, 40001)),
    "sum of all": (lambda x: x.abs().sum(), (90, 100)), "mean over two": (lambda x: x.mean((0, 2)), (9, 5, 40)),
    "norm": (lambda x: x.norm(dim=1), (6, 500)), "softmax": (lambda x: torch.softmax(x, -1), (4, 5000)),
    "logsumexp": (lambda x: x.logsumexp(0), (300, 8)), "cumsum": (lambda x: x.cumsum(1), (5, 640)),
    "layer norm": (lambda x: torch.nn.functional.layer_norm(x, x.shape[1:]), (4, 8, 9, 10)),
    "group norm": (lambda x: torch.nn.functional.group_norm(x, 2), (3, 6, 5, 5)),
    "product": (lambda x: x @ x.T, (33, 70)), "batched": (lambda x: torch.bmm(x, x.mT), (3, 20, 70)),
    "addmm": (lambda x: torch.addmm(x[0], x, x), (40, 40)),
    "conv1d": (lambda x: torch.nn.functional.conv1d(x, x[:4, :, :3], x[0, 0, :4], stride=2, padding=1), (5, 6, 30)),
    "conv2d": (lambda x: torch.nn.functional.conv2d(x, x[:4, :, :3, :2], dilation=2, padding=(2, 1)), (5, 6, 12, 9)),
    "depthwise": (lambda x: torch.nn.functional.conv2d(x, x[0, :, None, :3, :3], groups=6, padding=1), (2, 6, 9, 9)),
}


def seeded(shape, place="cpu"):
    return torch.randn(shape, generator=torch.Generator().manual_seed(11)).to(place)


class OrdersTest(unittest.TestCase):
    def cases(self):
        return itertools.product(places(self), device_sums.device_orders().items(), OPERATORS.items())

    def test_every_order_is_as_close_to_float64_as_its_terms_allow(self):
        for place, (order, sums), (name, (work, shape)) in self.cases():
            x = seeded(shape, place)
            with torch.no_grad(), orders.Ordered(sums):
                got = work(x)
            exact = work(x.double())
            self.assertEqual(got.shape, exact.shape, (order, name))
            error = float((got.double() - exact).abs().max() / exact.abs().max())
            self.assertLess(error, 200 * U, (place, order, name))

    def test_the_orders_differ_from_each_other(self):
        x = seeded((64, 3000))
        made = []
        for sums in device_sums.device_orders().values():
            with torch.no_grad(), orders.Ordered(sums):
                made.append(x.sum(1))
        for a, b in itertools.combinations(made, 2):
            self.assertFalse(torch.equal(a, b))

    def test_a_sequential_sum_equals_numpy_s_bit_by_bit(self):
        x = seeded((40, 3000))
        cpu = orders.honest_orders()
        self.assertEqual(list(cpu), list(device_sums.device_orders()))
        with torch.no_grad(), orders.Ordered(device_sums.device_orders()["sequential"]):
            sums, scans = x.sum(1), x.cumsum(1)
        self.assertTrue(np.array_equal(sums.numpy(), np.add.accumulate(x.numpy(), -1)[:, -1]))
        self.assertTrue(np.array_equal(scans.numpy(), np.add.accumulate(x.numpy(), -1)))

    def test_only_some_rows_of_a_product_beyond_the_work_limit_are_made_in_the_order(self):
        before, device_sums._WORK = device_sums._WORK, 40 * 30 * 10
        self.addCleanup(setattr, device_sums, "_WORK", before)
        a, b = seeded((40, 40)), seeded((40, 30))
        with torch.no_grad(), orders.Ordered(device_sums.device_orders()["sequential"]):
            got = a @ b
        expected = (a.double() @ b.double()).float()
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
        rows = torch.linspace(0, 39, 10).long()
        order = torch.zeros(40, 30)
        for k in range(40):
            order.addcmul_(a[:, k, None], b[None, k])
        self.assertTrue(torch.equal(got[rows], order[rows]))

    def test_shared_terms_are_as_close_to_float64(self):
        for effort in (device_sums.Effort(chain=16), device_sums.Effort(chain=16, work=2000)):
            for (order, sums), (name, (work, shape)) in itertools.product(
                    device_sums.device_orders(effort).items(), OPERATORS.items()):
                x = seeded(shape)
                with torch.no_grad(), orders.Ordered(sums):
                    got = work(x)
                exact = work(x.double())
                self.assertEqual(got.shape, exact.shape, (order, name))
                self.assertLess(float((got.double() - exact).abs().max() / exact.abs().max()), 200 * U, (order, name))

    def steps(self, work, effort):
        """Additions one after another that an evaluation makes."""
        made = []

        def counted(count, zero, add):
            made.append(count)
            return device_sums._sequential(count, zero, add)

        sums = device_sums.DeviceSumsAndProducts(counted, 256, device_sums._scan_in_turn, effort)
        with torch.no_grad(), orders.Ordered(sums):
            work()
        return sum(made)

    def test_the_additions_of_an_evaluation_are_bounded(self):
        a, x, weight = torch.ones(2, 2**17), torch.ones(1, 512, 5, 5), torch.ones(4, 512, 3, 3)
        self.assertLess(self.steps(lambda: a @ a.T, device_sums.effort_for([2**17])), 2 * op.SHARE)

        def network():
            for _ in range(20):
                torch.nn.functional.conv2d(x, weight)

        lengths = [512 * 9] * 300
        self.assertLess(self.steps(network, device_sums.effort_for(lengths)) * 15, 4 * 2**13)
        self.assertEqual(device_sums.effort_for([8192]).chain, op.SHARE)

    def test_a_convolution_beyond_the_work_limit_is_made_in_the_order_in_its_middle(self):
        x, weight = seeded((1, 3, 20, 6)), seeded((2, 3, 3, 3))
        sums = device_sums.device_orders(device_sums.Effort(work=2 * 27 * 6 * 4))["sequential"]
        with torch.no_grad(), orders.Ordered(sums):
            got = torch.nn.functional.conv2d(x, weight, padding=1)
        plain = torch.nn.functional.conv2d(x, weight, padding=1)
        torch.testing.assert_close(got, plain, rtol=1e-5, atol=1e-5)
        self.assertTrue(torch.equal(got[:, :, :8], plain[:, :, :8]))
        self.assertTrue(torch.equal(got[:, :, 12:], plain[:, :, 12:]))


class CorrelatedTest(unittest.TestCase):
    def values(self):
        torch.manual_seed(3)
        yield torch.rand(30, 100)
        yield torch.where(torch.rand(20, 4000) > 0.99, torch.randn(20, 4000) * 100, 0.01)
        yield torch.full((9, 3000), 0.1)

    def test_the_device_s_errors_equal_the_cpu_s(self):
        for place, x in itertools.product(places(self), self.values()):
            cpu = CorrelatedErrors(np.random.default_rng(5), (1,))
            there = DeviceCorrelatedErrors(np.random.default_rng(5), (1,))
            total = x.sum(1)
            expected = torch.from_numpy(cpu._error(x.numpy(), total.numpy()))
            got = there._error_of(x.to(place), [1], total[:, None].to(place)).squeeze(1).cpu()
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=0)
            self.assertEqual(cpu.sums_hit, there.sums_hit)

    def test_the_error_of_a_long_sum_combines_its_shares(self):
        self.assertEqual([op.chain(n) for n in (1, 4096, 4097, 2**22)], [1, 4096, 4098, 5120])
        for place, n in itertools.product(places(self), (4096, 2**20)):
            x = torch.full((3, n), 0.5, device=place)
            errors = DeviceCorrelatedErrors(np.random.default_rng(5), (1,))
            error = float(errors._error_of(x, [1], x.sum(1, keepdim=True))[0, 0]) / (0.5 * n) / U
            self.assertGreater(error, op.chain(n))
            self.assertLess(error, 1.1 * op.chain(n))

    def test_operators_made_of_such_sums_keep_their_shapes_and_have_their_errors(self):
        for place, (name, (work, shape)) in itertools.product(places(self), OPERATORS.items()):
            x = torch.full(shape, 0.1, device=place)
            x[0] = 0.2
            errors = DeviceCorrelatedErrors(np.random.default_rng(5), (1,))
            with torch.no_grad(), orders.Ordered(errors.sums):
                got = work(x)
            self.assertEqual(got.shape, work(x).shape, name)
            torch.testing.assert_close(got, work(x.double()).float(), rtol=1e-2, atol=1e-2)

    def test_rows_in_parts_give_the_same_as_all_together(self):
        import correlated

        x = torch.rand(50, 3, 400).round(decimals=1)
        whole = DeviceCorrelatedErrors(np.random.default_rng(5), (1,))._add(x, [2])
        before, correlated._ELEMENTS = correlated._ELEMENTS, 256 * 3 * 7
        self.addCleanup(setattr, correlated, "_ELEMENTS", before)
        self.assertTrue(torch.equal(whole, DeviceCorrelatedErrors(np.random.default_rng(5), (1,))._add(x, [2])))


class NoiseTest(unittest.TestCase):
    def test_a_tensor_larger_than_the_bank_is_perturbed_piece_by_piece(self):
        for place in places(self):
            noise = ChunkedNoise(1000, torch.device(place))
            for x in (seeded((70, 50), place), seeded((70, 50), place).t(), seeded((1, 50), place).expand(70, 50)):
                for out in (noise.added(x, 0.125), noise.add(x.clone(), x, 0.125)):
                    share = ((out - x) / x / 0.125).abs()
                    self.assertEqual(out.shape, x.shape)
                    self.assertGreater(float(share.min()), 0.499)
                    self.assertLess(float(share.max()), 1.001)

    def test_large_tensors_are_summarised_in_parts(self):
        before, chunks.SIZE = chunks.SIZE, 100
        self.addCleanup(setattr, chunks, "SIZE", before)
        x = seeded((30, 11))
        y = x.clone()
        y[29, 10] += 1
        self.assertTrue(chunks.equal(x, x.clone()) and not chunks.equal(x, y) and not chunks.nearly_equal(x, y))
        self.assertTrue(chunks.constant(torch.ones(333)) and not chunks.constant(x))
        wide = x.double()
        expected = (wide.mean(), wide.std(unbiased=False), wide.min(), wide.max())
        np.testing.assert_allclose(chunks.summary(x), [float(e) for e in expected], rtol=1e-12)


class SharedSumsTest(unittest.TestCase):
    """A layer norm over four million elements, as on a GPU."""

    def setUp(self):
        self.x = torch.rand((1, 2**22), generator=torch.Generator().manual_seed(11))
        self.exact = self.made(self.x.double())

    def made(self, x):
        with torch.no_grad():
            return torch.nn.functional.layer_norm(x, x.shape[1:])

    def deviation(self, shared):
        with modes.Perturbed(ChunkedNoise(2**16, torch.device("cpu")), shared):
            return float((self.made(self.x) - self.exact).abs().mean())

    def test_the_spread_follows_the_chains_and_not_the_whole_sum(self):
        ratio = self.deviation(False) / self.deviation(True)
        self.assertAlmostEqual(ratio, (2**22 / op.chain(2**22)) ** 0.5, delta=3)

    def test_honest_orders_stay_within_the_spread_and_bfloat16_exceeds_it(self):
        spread = self.deviation(True)
        for sums in device_sums.device_orders().values():
            with orders.Ordered(sums):
                self.assertLess(float((self.made(self.x) - self.exact).abs().mean()), spread)
        self.assertGreater(float((self.made(self.x.bfloat16().float()) - self.exact).abs().mean()), 10 * spread)

    def test_products_and_scans_are_not_shared(self):
        aten = torch.ops.aten
        shared = [op.shared(f) for f in (aten.sum.dim_IntList, aten._softmax.default, aten.mm.default,
                                         aten.convolution.default, aten.cumsum.default)]
        self.assertEqual(shared, [True, True, False, False, False])


class FootprintTest(unittest.TestCase):
    def test_counts_the_memory_of_both_sides(self):
        signature = [{"role": "input", "elements": 1000, "item_bytes": 4},
                     {"role": "output", "elements": 10, "item_bytes": 2}]
        self.assertEqual(footprint.shared_bytes(signature, 3), 3 * (4000 + 2 * 20) + 120)
        lean, fat = footprint.Peaks(0, 0), footprint.Peaks(0, 10**12)
        more = footprint.private_bytes(signature, fat) - footprint.private_bytes(signature, lean)
        self.assertGreater(more, 10**12 - 10**5)
        graphs = footprint.private_bytes(signature, lean, 3) - footprint.private_bytes(signature, lean)
        self.assertEqual(graphs, 3 * 20)

    def test_names_both_numbers(self):
        self.assertEqual(footprint.complaint(10, 10, 1), "")
        self.assertEqual(footprint.complaint(212 * 10**9, 80 * 10**9, 2),
                         "the task needs 212 GB of device memory for 2 buffer sets, the device has 80 GB free")


if __name__ == "__main__":
    unittest.main()
