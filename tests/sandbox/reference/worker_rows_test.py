# SPDX-License-Identifier: Apache-2.0
# Huge tasks: evaluations in parts, and the plan of a GPU's memory for KernelBench's tasks.
import math
import pathlib
import unittest

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode
from worker_support import NO_GPU, ROOT, Managed, Stay, code, commit, device, tasks

import footprint
import modes
import mutants
import row_parts
import session
from model_parts import as_outputs
from outline import Outline
from session import REFERENCE

SAMPLE = pathlib.Path(ROOT.parent / "shared/kernelbench-sample")
RANDOM = {"66_Matmul_Dropout_Softmax"}
CARD = int(79.6 * 2**30) - 2 * 2**30  # bytes of an H100 that no other slot's process holds


class Divided(Managed):
    whole_bytes = 0


def made(forward, inputs="[torch.randn(40, 32)]", init="pass", where=None):
    """A task, after `settle`."""
    torch.manual_seed(0)
    task = tasks.Task(code(forward, inputs, init), where or Divided())
    task.settle(task.signature(), 1)
    return task


class RowPartsTest(unittest.TestCase):
    def test_divides_where_no_row_depends_on_another(self):
        for forward in ("return torch.softmax(a[0], 1)", "return a[0] / a[0].norm(dim=-1, keepdim=True)",
                        "return a[0].relu(), a[0].sum(1)", "return torch.cumsum(a[0], 1)"):
            self.assertEqual(len(made(forward).parts), 8, forward)
        shared = made("return a[0] @ a[1]", "[torch.randn(40, 32), torch.randn(32, 16)]")
        self.assertEqual(len(shared.parts), 8)
        self.assertEqual([len(range(*rows.indices(43))) for rows in row_parts.RowParts(8, 43)],
                         [5, 5, 6, 5, 5, 6, 5, 6])

    def test_keeps_tasks_whole_whose_rows_depend_on_others(self):
        for forward in ("return torch.cumsum(a[0], 0)", "return a[0] - 1e-6 * a[0].mean(0)",
                        "return a[0] / a[0].abs().amax()", "return torch.softmax(a[0], 0)",
                        "return a[0] + a[0].flip(0)", "return a[0] + 1e-3 * torch.roll(a[0], 1, 0)",
                        "return a[0] + a[0].view(8, 5, 32)[[4, 1, 2, 3, 0, 7, 6, 5]].view(40, 32)"):
            self.assertEqual(len(made(forward).parts), 1, forward)
        norm = made("return self.norm(a[0])", "[torch.randn(40, 8, 4, 4)]", "self.norm = nn.BatchNorm2d(8)")
        self.assertEqual(len(norm.parts), 1)

    def test_keeps_tasks_whole_that_cannot_be_divided(self):
        for forward in ("return a[0].view(40, 4, 8).sum(2)", "return a[0].sum()", "return a[0].t().contiguous()",
                        "return a[0].relu(), a[0].sum(0)"):
            self.assertEqual(len(made(forward).parts), 1, forward)
        square = made("return a[0] @ a[1]", "[torch.randn(32, 32), torch.randn(32, 32)]")
        self.assertEqual(len(square.parts), 1)
        constant = made("return a[0] * a[1]", "[torch.randn(40, 32), torch.ones(40, 32)]")
        self.assertEqual(len(constant.parts), 1, "nothing proves that rows of the constant are independent")

    def test_small_tasks_stay_whole(self):
        self.assertEqual(len(made("return torch.softmax(a[0], 1)", where=Managed()).parts), 1)

    def test_parts_and_the_whole_give_equal_references(self):
        task = made("return torch.softmax(a[0], 1), a[0].sum(1)")
        x = torch.randn(40, 32)
        pairs = list(task.references([x], []))
        self.assertEqual(len(pairs), 8)
        joined = task.parts.joined(iter(pairs))
        for part, whole in zip(joined, task.reference([x], [])):
            torch.testing.assert_close(part, whole, rtol=1e-15, atol=1e-15)

    def test_spreads_of_parts_are_like_those_of_the_whole(self):
        text, spreads = "return torch.softmax(a[0], 1)", []
        for where in (Divided(), Managed()):
            task = made(text, "[torch.randn(64, 256)]", where=where)
            x = torch.randn(64, 256, generator=torch.Generator().manual_seed(3))
            exact, sums = task.reference([x], []), [torch.empty(64, 256)]
            task.spread([x], [], exact, sums, 8)
            spreads.append(sums[0])
        ratio = spreads[0].mean() / spreads[1].mean()
        self.assertTrue(0.8 < ratio < 1.25, ratio)
        self.assertTrue(bool((spreads[0] > 0).all()))

    def test_no_element_of_a_running_sum_has_a_spread_that_is_small_by_chance(self):
        """Deviations of running sums are random walks, which cross zero together with their neighbours."""
        task = made("return torch.cumsum(a[0], 1)", "[torch.rand(8, 2048) * 2 - 1]", where=Managed())
        x = torch.rand(2000, 2048, generator=torch.Generator().manual_seed(1)) * 2 - 1
        exact, sums = task.reference([x], []), [torch.empty(x.shape)]
        task.spread([x], [], exact, sums, 4)
        walks = sums[0][:, 32:] / torch.arange(33, 2049).sqrt()
        self.assertGreater(float(walks.min() / walks.mean()), 0.15)

    def test_wrong_answers_of_parts_are_those_of_the_whole(self):
        x, outs = torch.randn(40, 32), []
        for where in (Divided(), Managed()):
            task = made("return (a[0] * a[0]).sum(1, keepdim=True) + a[0]", where=where)
            makers = mutants.mutants_of(task)
            right = lambda: task.run_in(None, [x], [])  # noqa: B023, E731
            outs.append([makers[n](task, [x], [], right)[0] for n in ("bf16", "half_reduction", "short_reduction")])
        for a, b in zip(*outs):
            torch.testing.assert_close(a, b)

    def test_a_session_in_parts_writes_the_same_reference(self):
        text, results = code("return torch.softmax(a[0], 1)", "[torch.randn(40, 32)]"), []
        for where in (Divided(), Managed()):
            task = tasks.Task(text, where)
            task.test_signature = task.signature()
            task.settle(task.test_signature, 1)
            stay = Stay(text, task=task)
            stay.call(REFERENCE)
            results.append(stay.result())
            self.assertEqual(stay.leave(), "")
        torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-15, atol=1e-15)
        ratio = results[0][1][0].mean() / results[1][1][0].mean()
        self.assertTrue(0.7 < ratio < 1.4, ratio)


@unittest.skipIf(NO_GPU, NO_GPU)
class RowsOnGpuTest(unittest.TestCase):
    def setUp(self):
        usual = device("cuda").whole_bytes
        self.addCleanup(setattr, device("cuda"), "whole_bytes", usual)
        device("cuda").whole_bytes = 0

    def test_a_session_in_parts_keeps_to_its_plan_of_memory(self):
        for forward in ("return torch.relu(a[0])", "return torch.softmax(a[0], 1)", "return F.gelu(a[0])",
                        "return a[0] / torch.sqrt(torch.mean(a[0] ** 2, dim=1, keepdim=True) + 1e-5)",
                        "return a[0] / torch.mean(torch.abs(a[0]), dim=1, keepdim=True)"):
            with self.subTest(forward):
                stay = Stay(code(forward, "[torch.rand(4096, 65536)]"), "cuda", evaluations=4)
                self.assertEqual(len(stay.task.parts), 8)
                peak = self._peak(stay)
                planned = stay.task.private_bytes(stay.signature)
                print(f"{forward}: {peak / 1e9:.2f} GB of {planned / 1e9:.2f} planned", flush=True)
                self.assertLess(peak, planned)
                self.assertEqual(stay.leave(), "")

    def _peak(self, stay):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        orders = [(session.EAGER, 0), (session.COLLECT, 0), (REFERENCE, 0)]
        orders += [(session.MUTANT, m) for m in range(len(stay.task.mutants) + 1)]
        orders += [(session.HONEST, order) for order in range(3)]
        for what, argument in orders:
            answer = stay.call(what, 0, argument)
            self.assertEqual(answer.status, commit.OK, answer.text)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before


class _Live(TorchDispatchMode):
    """Counts the bytes of tensors that live at the same time, without memory for any."""

    def __init__(self):
        super().__init__()
        self.held, self.peak = {}, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in _pytree.tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                self.held.setdefault(storage._cdata, (StorageWeakRef(storage), storage.nbytes()))
        self.held = {key: held for key, held in self.held.items() if not held[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self.held.values()))
        return out


class Plan(Outline):
    """A task's memory on a card, from shapes alone."""

    def __init__(self, text, card):
        super().__init__(text)
        self.signature_ = self._sized(self.tensors())
        size = footprint._bytes(self.signature_, ("input", "output"))
        extents = {o.shape[0] if o.dim() else 0 for o in self.outputs}
        # That the rows are independent is shown on smaller inputs.
        self.divides = size >= card // 8 and len(extents) == 1 and max(extents) > 1
        self.parts = row_parts.RowParts(8, max(extents)) if self.divides else row_parts.RowParts()

    def peaks(self):
        inputs = [self.sample[at] for at in self.tensor_at]
        narrow = self._peak(self.model, inputs)
        first = self.parts.cut(inputs, next(iter(self.parts)))
        wide = self._peak(self._build(self.module).double(), first, wide=True)
        return footprint.Peaks(narrow, wide, len(self.parts))

    def _peak(self, model, inputs, wide=False):
        live, usual = _Live(), torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if wide else usual)
        try:
            with torch.no_grad(), self.device.place, live, modes.Float64() if wide else torch.no_grad():
                if wide:
                    inputs = [v.double() if v.is_floating_point() else v for v in inputs]
                    self.kept = [p.clone() for p in model.parameters()]
                as_outputs(model(*self.arguments(inputs)))
        finally:
            torch.set_default_dtype(usual)
        return live.peak

    def bytes(self, sets=1):
        return (footprint.private_bytes(self.signature_, self.peaks()) + footprint.shared_bytes(self.signature_, sets))


class PlanTest(unittest.TestCase):
    def setUp(self):
        if not SAMPLE.is_dir():
            self.skipTest(f"no {SAMPLE}")

    def test_every_task_of_the_sample_fits_a_card_of_80_gb(self):
        count = 0
        for path in sorted(SAMPLE.glob("level*/*.py")):
            if path.stem in RANDOM:
                continue
            plan = Plan(path.read_text(), int(79.6 * 2**30))
            one, two = plan.bytes(), plan.bytes(2)
            print(f"{path.stem}: {one / 1e9:.1f} GB with one set, {two / 1e9:.1f} with two, "
                  f"{len(plan.parts)} part{'s' if plan.divides else ''}", flush=True)
            self.assertLess(one, CARD, path.stem)
            count += 1
        self.assertEqual(count, 23)

    def test_the_rows_of_the_largest_tasks_are_independent(self):
        smaller = {"19_ReLU": (16, 24), "23_Softmax": (16, 24), "26_GELU_": (16, 24), "36_RMSNorm_": (16, 64, 3, 3)}
        for path in sorted(SAMPLE.glob("level*/*.py")):
            if path.stem in RANDOM or not Plan(path.read_text(), int(79.6 * 2**30)).divides:
                continue
            text = path.read_text() + f"\ndef get_inputs():\n    return [torch.rand({smaller[path.stem]})]\n"
            task = tasks.Task(text, Divided())
            task.settle(task.signature(), 1)
            self.assertEqual(len(task.parts), 8, path.stem)


class ManyTest(unittest.TestCase):
    def test_the_heaviest_of_kernelbench_fit_in_parts(self):
        # Shapes of KernelBench's largest tasks, which are not in the sample: L1 and L2 norms of 2^31 elements.
        elements = 32768 * 65535
        signature = [{"role": role, "elements": elements, "item_bytes": 4, "dtype": "f32"}
                     for role in ("input", "output")]
        peaks = footprint.Peaks(4 * elements, math.ceil(24 * elements / 8), 8)
        needed = footprint.private_bytes(signature, peaks) + footprint.shared_bytes(signature, 1)
        self.assertLess(needed, CARD)


if __name__ == "__main__":
    unittest.main()
