# SPDX-License-Identifier: Apache-2.0
# Sessions of the reference worker under the commit protocol, on a CPU and, if there is one, on a
# GPU.
import contextlib
import ctypes
import time
import unittest
from types import SimpleNamespace
from unittest import mock

import torch
from worker_support import NO_GPU, Stay, code, device, tasks

import baselines
import commit
import session as s
from refusals import Refused

LINEAR = code("return torch.softmax(self.l(a[0]), 1)", init="self.l = nn.Linear(256, 64)")
NORM = "return torch.relu(self.n(self.c(a[0])))"
NORM_INIT = "self.c = nn.Conv2d(3, 8, 3, padding=1); self.n = nn.BatchNorm2d(8){}"


class ControlPageTest(unittest.TestCase):
    def test_has_the_offsets_of_version_two(self):
        page = commit.ControlPage
        self.assertEqual(commit.VERSION, 2)
        fields = page.hint, page.device_ns, page.answer, page.text
        self.assertEqual([field.offset for field in fields], [28, 32, 40, 64])
        self.assertEqual(ctypes.sizeof(page), 320)

    def test_cuts_a_text_between_characters_and_terminates_it(self):
        page = commit.ControlPage()
        commit._write(page, commit.Answer(commit.FAILED, text="é" * 300))
        self.assertEqual(page.text.decode(), "é" * 127)


class SessionCases:
    """Cases for every device."""

    name = ""

    def stay(self, text, **options):
        made = Stay(text, self.name, **options)
        self.addCleanup(lambda: made.thread.is_alive() and made.leave())
        return made

    def outputs(self, made, what, index=0, argument=0):
        answer = made.call(what, index, argument)
        self.assertEqual(answer.text, "")
        if what not in (s.HONEST, s.MUTANT):
            made.call(s.COLLECT, index)
        return [o.clone() for o in made.outputs[index]]

    def within(self, out, exact, spread, factor=16):
        floor = 4 * 2**-24 * exact.abs() + 2**-126
        worst = ((out.double() - exact).abs() / torch.maximum(spread.double(), floor)).max()
        self.assertLess(float(worst), factor)

    def test_eager_agrees_with_the_reference_within_a_multiple_of_the_spread(self):
        made = self.stay(LINEAR, sets=2)
        for index in (0, 1):
            (out,) = self.outputs(made, s.EAGER, index)
            self.assertEqual(made.call(s.REFERENCE, index).status, commit.OK)
            (exact,), (spread,) = made.result()
            x, w, b = (t.double() for t in made.inputs[index])
            torch.testing.assert_close(exact, torch.softmax(x @ w.T + b, 1), rtol=1e-12, atol=1e-300)
            self.assertTrue(bool((spread > 0).any()))
            self.within(out, exact, spread)

    def test_honest_orders_agree_with_the_reference_too(self):
        made = self.stay(LINEAR)
        made.call(s.REFERENCE)
        (exact,), (spread,) = made.result()
        for order in range(3):
            (out,) = self.outputs(made, s.HONEST, argument=order)
            self.within(out, exact, spread)

    def test_every_mutant_that_applies_differs_from_the_right_outputs(self):
        made = self.stay(LINEAR)
        (right,) = self.outputs(made, s.EAGER)
        names = list(made.task.mutants)
        for at, name in enumerate(names):
            answer = made.call(s.MUTANT, argument=at)
            self.assertEqual(answer.status, commit.OK, answer.text)
            self.assertEqual(answer.answer, 0 if name == "identity" else 1, name)
            if answer.answer:
                self.assertFalse(torch.equal(made.outputs[0][0], right), name)

    def test_no_mutant_of_a_single_number_equals_it(self):
        made = self.stay(code("return a[0].mean()"))
        (right,) = self.outputs(made, s.EAGER)
        applies = {}
        for at, name in enumerate(made.task.mutants):
            applies[name] = made.call(s.MUTANT, argument=at).answer
            if applies[name]:
                self.assertFalse(torch.equal(made.outputs[0][0], right), name)
        self.assertEqual([applies[n] for n in ("constant_mean", "first_row", "off_by_one_tail")], [1, 0, 0])

    def test_a_call_that_raises_reports_why_and_the_session_continues(self):
        text = code("if not bool(torch.isfinite(a[0]).all()): raise ValueError('the input is not finite'); "
                    "return a[0] * 2")
        made = self.stay(text)
        made.inputs[0][0][0, 0] = float("nan")
        made.device.wait()
        answer = made.call(s.EAGER)
        self.assertEqual(answer.status, commit.FAILED)
        self.assertIn("the input is not finite", answer.text)
        made.fill(2)
        self.assertEqual(made.call(s.EAGER), commit.Answer(commit.OK, made.page.device_ns))
        self.assertIn("the input is not finite", made.leave())

    def test_a_baseline_that_is_not_ready_is_a_failed_call(self):
        made = self.stay(code("return a[0] * 2"))
        for what, name in ((s.COMPILED, "default"), (s.TUNED, "tuned")):
            answer = made.call(what)
            self.assertEqual(answer.status, commit.FAILED)
            self.assertIn(f"the {name} torch.compile baseline is not ready", answer.text)

    def test_graphs_take_memory_only_in_a_session_that_calls_them(self):
        stay = s.Session.__new__(s.Session)
        stay.device = SimpleNamespace(memory="device", remote=True, free=lambda: 10**9)
        stay.task = SimpleNamespace(private_bytes=lambda _, sets, graphs: (2 if graphs else 1) * sets * 4 * 10**8)
        stay.signature = []
        request = {"memory": "device", "layout": {"sets": 2}}
        stay._check(request)
        stay._check(request | {"graphs": False})
        with self.assertRaisesRegex(Refused, "1.6 GB of device memory for 2 buffer sets"):
            stay._check(request | {"graphs": True})

    def test_an_unknown_order_is_refused(self):
        made = self.stay(code("return a[0] * 2"))
        self.assertEqual(made.order(9).status, commit.BAD_ORDER)
        self.assertEqual(made.call(77).status, commit.BAD_ORDER)

    def test_batch_norm_in_training_keeps_its_statistics_private(self):
        made = self.stay(code(NORM, "[torch.randn(4, 3, 16, 16)]", NORM_INIT.format("")))
        self.assertEqual([t["name"] for t in made.signature], ["a", "c.weight", "c.bias", "n.weight", "n.bias", "y"])
        first = self.outputs(made, s.EAGER)
        made.call(s.REFERENCE)
        (exact,), (spread,) = made.result()
        self.within(first[0], exact, spread)
        second = self.outputs(made, s.EAGER)
        self.assertTrue(torch.equal(first[0], second[0]))
        made.task.restore()
        for name, tensor in made.task.model.named_buffers():
            self.assertTrue(torch.equal(tensor, made.task.private[name]), name)

    def test_batch_norm_in_evaluation_takes_its_statistics_from_the_contract(self):
        made = self.stay(code(NORM, "[torch.randn(4, 3, 16, 16)]", NORM_INIT.format("; self.eval()")))
        self.assertEqual([t["name"] for t in made.signature][3:7],
                         ["n.weight", "n.bias", "n.running_mean", "n.running_var"])
        made.inputs[0][6].abs_().add_(0.5)
        (out,) = self.outputs(made, s.EAGER)
        made.call(s.REFERENCE)
        (exact,), (spread,) = made.result()
        self.within(out, exact, spread)

    def test_halves_integers_booleans_and_empty_tensors_go_through(self):
        text = code("return a[0].half() * 2, a[1] + 1, ~a[2], a[3] * 2, a[0].bfloat16() * 3",
                    "[torch.randn(8, 8), torch.randint(0, 9, (5,)), torch.rand(6) > 0.5, torch.randn(0, 3)]")
        made = self.stay(text)
        out = self.outputs(made, s.EAGER)
        x, i, b, _ = made.inputs[0]
        for got, expected in zip(out, (x.half() * 2, i + 1, ~b, torch.empty(0, 3), x.bfloat16() * 3)):
            self.assertEqual(got.dtype, expected.dtype)
            self.assertTrue(torch.equal(got.cpu(), expected.cpu()))
        self.assertEqual(made.call(s.REFERENCE).text, "")

    def test_draws_integers_as_the_task_does_and_restores_fixed_tables(self):
        init = "self.register_buffer('t', torch.arange(40))"
        inputs = "[torch.randn(30, 4), torch.randint(5, 9, (30,))]"
        made = self.stay(code("return a[0] * 2 + self.t[a[1]][:, None]", inputs, init))
        self.assertEqual(made.call(s.DRAW).text, "")
        drawn = made.memories[2].view(torch.int64, [30], 30, 0)
        self.assertTrue(bool(((drawn >= 5) & (drawn < 9)).all()))
        table = made.memories[2].view(torch.int64, [40], 40, 256)
        self.assertTrue(torch.equal(table.cpu(), torch.arange(40)))

    def test_the_float64_copy_does_not_call_the_float32_model(self):
        init = "self.l = nn.Linear(256, 32); m = self.l; self.f = lambda x: m(x)"
        made = self.stay(code("return torch.relu(self.f(a[0]))", init=init))
        self.assertEqual(made.call(s.REFERENCE).text, "")
        (exact,), _ = made.result()
        x, w, b = (t.double() for t in made.inputs[0])
        torch.testing.assert_close(exact, torch.relu(x @ w.T + b), rtol=1e-12, atol=1e-12)

    def test_the_compiled_baseline_agrees_with_eager(self):
        made = self.stay(LINEAR)
        made.leave()
        self.assertEqual(baselines.ready(made.task, "default"), (True, ""))
        again = self.stay(LINEAR, task=made.task)
        (eager,), (compiled,) = self.outputs(again, s.EAGER), self.outputs(again, s.COMPILED)
        torch.testing.assert_close(compiled, eager, rtol=1e-4, atol=1e-6)

    def test_a_compiler_that_raises_any_error_is_the_reason(self):
        task = tasks.Task(code("return a[0] * 2", "[torch.randn(8, 8)]"), device(self.name))
        task.settle(task.signature(), 1)
        with mock.patch.object(torch, "compile", side_effect=UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")):
            ready, reason = baselines.ready(task, "tuned")
            self.assertEqual((ready, "it raised UnicodeDecodeError" in reason), (False, True), reason)
        lacking = RuntimeError("no module of this machine's")
        lacking.__cause__ = ModuleNotFoundError("No module named 'setuptools'")
        with mock.patch.object(torch, "compile", side_effect=lacking), self.assertRaises(RuntimeError):
            baselines.ready(task, "default")

    def test_eager_takes_the_place_of_a_compiler_that_fails(self):
        task = tasks.Task(code("return a[0] * 2", "[torch.randn(8, 8)]"), device(self.name))
        task.settle(task.signature(), 1)
        with mock.patch.object(torch, "compile", side_effect=UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")):
            ready, reason = baselines.ready(task, "default")
        self.assertEqual((ready, "it raised UnicodeDecodeError" in reason), (True, True), reason)
        self.assertEqual(baselines.ready(task, "default"), (True, reason))
        self.assertIs(task.baselines["default"], task.model)

    def test_eager_takes_the_place_of_a_compiler_that_takes_too_long(self):
        task = tasks.Task(code("return a[0] * 2", "[torch.randn(8, 8)]"), device(self.name))
        task.settle(task.signature(), 1)

        def endless(*_, **__):
            while True:
                with contextlib.suppress(Exception):  # as torch.compile does
                    time.sleep(0.01)

        with mock.patch.object(torch, "compile", side_effect=endless):
            self.assertEqual(baselines.ready(task, "default", 0.1), (True, "it takes longer than 0 s"))
        self.assertIs(task.baselines["default"], task.model)

    def test_random_tasks_are_refused_but_dropout_of_zero_is_not_random(self):
        layers = "self.rnn = nn.LSTM(256, 64, 2, dropout=0.3)"
        for forward, init, random in (
                ("return F.dropout(a[0], 0.2)", "pass", True), ("return F.dropout(a[0], 0.0) * 2", "pass", False),
                ("return self.rnn(a[0])[0]", "self.rnn = nn.GRU(256, 64)", False),
                ("return self.rnn(a[0])[0]", layers, True), ("return self.rnn(a[0])[0]", f"{layers}.eval()", False)):
            try:
                tasks.Task(code(forward, init=init), device(self.name))
                answer = ""
            except tasks.Refused as error:
                answer = str(error)
            self.assertEqual("random" in answer, random, answer)

    def test_attention_is_not_random(self):
        text = code("return F.scaled_dot_product_attention(a[0], a[0], a[0])", "[torch.randn(2, 2, 32, 16)]")
        made = self.stay(text)
        (out,) = self.outputs(made, s.EAGER)
        made.call(s.REFERENCE)
        (exact,), (spread,) = made.result()
        self.within(out, exact, spread)


class CpuSessionTest(SessionCases, unittest.TestCase):
    name = "cpu"

    def test_device_memory_is_refused(self):
        made = self.stay(code("return a[0] * 2"))
        request = {"memory": "device", "evaluations": 0, "seed": 1, "layout": {"sets": 1}}
        with self.assertRaisesRegex(tasks.Refused, 'memory "device"'):
            s.Session(made.task, made.signature, request, [])

    def test_a_graph_is_refused_with_the_reason(self):
        made = self.stay(code("return a[0] * 2"))
        self.assertEqual(baselines.ready(made.task, "graphed"), (False, "a CPU has no graphs"))
        self.assertIn("no graphs", made.call(s.GRAPHED).text)


class RemoteCases(SessionCases):
    """Cases for every device whose memory is managed between sessions."""

    def test_inputs_that_are_not_contiguous_reach_the_baselines_as_the_task_makes_them(self):
        made = self.stay(code("return a[0] * (2 if a[0].stride(0) == 1 else 3)", "[torch.randn(64, 32).t()]"), sets=2)
        for index in (0, 1):
            (out,) = self.outputs(made, s.EAGER, index)
            self.assertTrue(torch.equal(out, made.inputs[index][0] * 2))

    def test_parameters_are_parked_between_sessions_and_recreated_for_the_compiler(self):
        made = self.stay(LINEAR)
        before = {n: t.shape for n, t in made.task.named}
        made.leave()
        for named in (made.task.named, made.task.named_double):
            self.assertEqual({n: t.shape for n, t in named}, before)
            self.assertTrue(all(t.untyped_storage().nbytes() <= 8 for _, t in named))
        self.assertIsNone(made.task.sample[0])
        (x,) = made.task.example()
        fresh = dict(made.task.named)
        self.assertEqual((x.shape, fresh["l.weight"].stride()), ((512, 256), (256, 1)))
        self.assertLessEqual(float(fresh["l.weight"].abs().max()), 1 / 16)  # the range of nn.Linear's initial values
        made.task.done_with_example()

    def test_buffers_smaller_than_their_layout_are_refused(self):
        made = self.stay(code("return a[0] * 2"))
        layout = {"sets": 1, "input_stride": 512, "output_stride": 512, "slots": []}
        request = {"memory": made.device.memory, "evaluations": 0, "seed": 1, "layout": layout, "bytes": [512, 511, 64],
                   "result_bytes": 64}
        with self.assertRaisesRegex(ValueError, "bytes of outputs: 511, the layout needs 512"):
            s.Session(made.task, made.signature, request, [-1, -1, -1])


class ManagedSessionTest(RemoteCases, unittest.TestCase):
    """A worker that manages a CPU's memory like a GPU's."""

    name = "managed"

    def test_a_task_that_does_not_fit_is_refused_before_its_inputs_are_drawn_or_after_loading(self):
        small = device(self.name)
        self.addCleanup(setattr, small, "room", small.room)
        small.room = 100_000
        drawn = code("raise_when_drawn()", "[torch.rand(100, 1000)]")
        with self.assertRaisesRegex(tasks.Refused, "needs 0.0004 GB .* the device has 0.0001 GB free"):
            tasks.Task(drawn, small)
        small.room = 2_000_000
        task = tasks.Task(code("return a[0] * 2", "[torch.rand(100, 1000)]"), small)
        with self.assertRaisesRegex(tasks.Refused, "for 3 buffer sets, the device has 0.002 GB free"):
            task.settle(task.signature(), 3)


@unittest.skipIf(NO_GPU, NO_GPU)
class GpuSessionTest(RemoteCases, unittest.TestCase):
    name = "cuda"

    def test_timed_calls_report_the_time_of_the_events(self):
        made = self.stay(code("return a[0] * 2", "[torch.rand(8192, 8192)]"))
        empty = [made.order(commit.NOOP).device_ns for _ in range(9)]
        full = [made.call(s.EAGER).device_ns for _ in range(9)]
        self.assertLess(min(empty), 20_000)
        self.assertGreater(sorted(full)[4], 100_000)  # 512 MiB at 5 TB/s

    def test_launch_costs_count_only_by_the_clock(self):
        gpu, x = device(self.name), torch.ones(1, device="cuda")

        def hesitant():
            time.sleep(0.0005)
            return x + 1

        self.assertLess(gpu.call("fp32_strict", hesitant, ())[1], 100_000)
        self.assertGreater(gpu.call_by_clock("fp32_strict", hesitant, ())[1], 500_000)

    def test_a_call_that_waits_for_the_gpu_is_charged_for_its_pauses(self):
        x = torch.ones(1, device="cuda")

        def waits():
            float(x)
            time.sleep(0.0005)
            return x + 1

        self.assertGreater(device(self.name).call("fp32_strict", waits, ())[1], 500_000)

    def test_a_graph_per_set_gives_eager_s_outputs_for_new_contents(self):
        made = self.stay(LINEAR, sets=3)
        for round in range(3):
            made.fill(10 + round)
            for index in range(3):
                (eager,), (graphed,) = self.outputs(made, s.EAGER, index), self.outputs(made, s.GRAPHED, index)
                self.assertTrue(torch.equal(eager, graphed))

    def test_recurrent_weights_are_joined_and_a_graph_reads_those_of_its_set(self):
        text = code("return self.rnn(a[0])[0]", "[torch.randn(16, 4, 64)]", "self.rnn = nn.LSTM(64, 64)")
        made = self.stay(text, sets=2)
        for round in range(2):
            made.fill(20 + round)
            for index in range(2):
                (eager,) = self.outputs(made, s.EAGER, index)
                pieces = {p.untyped_storage().data_ptr() for p in made.task.model.parameters()}
                self.assertEqual(len(pieces), 1)
                (graphed,) = self.outputs(made, s.GRAPHED, index)
                torch.testing.assert_close(graphed, eager)

    def test_a_graph_with_batch_norm_starts_each_call_from_the_same_statistics(self):
        made = self.stay(code(NORM, "[torch.randn(4, 3, 16, 16)]", NORM_INIT.format("")), sets=2)
        for index in (0, 1, 0):
            (eager,), (graphed,) = self.outputs(made, s.EAGER, index), self.outputs(made, s.GRAPHED, index)
            torch.testing.assert_close(graphed, eager)

    def test_a_call_that_waits_for_the_device_cannot_be_captured_and_breaks_nothing(self):
        # The first is found before a capture, the second breaks one.
        for forward in ("return a[0] * float(a[0].sum())", "torch.cuda.synchronize(); return a[0] * 2"):
            made = self.stay(code(forward))
            made.leave()
            ready, reason = baselines.ready(made.task, "graphed")
            self.assertFalse(ready)
            self.assertIn("raised", reason)
            torch.cuda.empty_cache()
            self.assertEqual(float(torch.rand(9, device="cuda").max()) < 1, True)
            again = self.stay("", task=made.task)
            (out,) = self.outputs(again, s.EAGER)
            self.assertTrue(bool(torch.isfinite(out).all()))
            self.assertEqual(again.call(s.REFERENCE).text, "")
            again.leave()
            self.assertEqual(baselines.ready(self.stay(LINEAR).task, "graphed"), (True, ""))

    def test_lanes_apply_only_to_eager_and_compiled(self):
        text = code("return a[0] @ a[1]", "[torch.randn(512, 512), torch.randn(512, 512)]")
        for lane, exact_products in (("fp32_strict", True), ("tf32_allowed", False)):
            made = self.stay(text, lane=lane)
            made.leave()
            self.assertEqual(baselines.ready(made.task, "default")[0], True)
            made = self.stay(text, task=made.task)
            made.call(s.REFERENCE)
            (exact,), (spread,) = made.result()
            self.assertLess(float(spread.mean()), 5e-4)  # TF32 errs by 6e-3
            for what in (s.EAGER, s.COMPILED, s.GRAPHED):
                (out,) = self.outputs(made, what)
                error = float((out.double() - exact).abs().max())
                self.assertEqual(error < 2e-4, exact_products, (lane, what, error))
            made.leave()

    def test_no_large_tensor_stays_after_loading_or_after_a_session(self):
        text = code("return self.l(a[0])", "[torch.rand(8192, 8192)]", "self.l = nn.Linear(8192, 8192)")
        before = torch.cuda.memory_allocated()
        made = self.stay(text)
        self.assertLess(torch.cuda.memory_allocated() - before, 64 << 20)
        made.call(s.EAGER)
        made.call(s.REFERENCE)
        made.leave()
        self.assertLess(torch.cuda.memory_allocated() - before, 64 << 20)

    def test_a_task_that_does_not_fit_is_refused_with_both_numbers(self):
        with self.assertRaisesRegex(tasks.Refused, r"needs 400 GB .* the device has [0-9.]+ GB free"):
            tasks.Task(code("return a[0] * 2", "[torch.rand(100000, 1000000)]"), device("cuda"))


if __name__ == "__main__":
    unittest.main()
