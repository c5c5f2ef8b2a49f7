# SPDX-License-Identifier: Apache-2.0
# Tasks as people write them: nested inputs, tensors outside Model's state, random numbers, source inspection.
import gc
import inspect
import linecache
import math
import sys
import unittest

import torch
from worker_bound import spread_of
from worker_support import Stay, code, device, tasks

import chunks
import commit
import host_candidate
import host_task
import mutants
import session as s
from orders import honest_orders

ROWS = "[torch.randn(16, 8)]"
HEAD = "import random\nimport numpy as np\n"


def task(*given, before="", **named):
    return tasks.Task(HEAD + before + code(*given, **named), device("cpu"))


def names(made):
    return [(t["name"], t["role"]) for t in made.signature()]


class NestedTest(unittest.TestCase):
    def test_tensors_in_lists_and_dicts_are_separate_inputs(self):
        inputs = "[[torch.randn(8, 4), (torch.randint(0, 9, (8,)), 2)], {'left over': torch.randn(8, 4)}]"
        forward = "b = a[1]['left over']; return (a[0][0] + b) * a[0][1][0][:, None] * a[0][1][1]"
        made = task(forward, inputs)
        self.assertEqual([t["name"] for t in made.signature()], ["a_0", "a_1_0", "x1_left_over", "y"])
        x, i, y = torch.randn(8, 4), torch.arange(8), torch.randn(8, 4)
        (out,) = made.run_in(None, [x, i, y], [])
        torch.testing.assert_close(out, (x + y) * i[:, None] * 2)

    def test_nested_integers_are_drawn_in_their_order(self):
        stay = Stay(code("return a[0]['x'] * a[0]['i']", "[{'x': torch.randn(8), 'i': torch.randint(5, 9, (8,))}]"))
        self.addCleanup(stay.leave)
        self.assertEqual(stay.call(s.DRAW).text, "")
        drawn = stay.memories[2].view(torch.int64, [8], 8, 0)
        self.assertTrue(bool(((drawn >= 5) & (drawn < 9)).all()))

    def test_a_structure_that_changes_is_refused(self):
        inputs = "[[torch.randn(3)] * random.choice([1, 2, 3, 4, 5, 6, 7, 8])]"
        with self.assertRaisesRegex(tasks.Refused, "lists or dicts of another shape each time"):
            for seed in range(9):
                task("return a[0][0] * 2", inputs).draw(seed)

    def test_the_candidate_s_process_gets_the_same_arguments(self):
        text = HEAD + code("return a[0][0] * a[1]", "[[torch.randn(8, 4)], random.uniform(0.5, 2.0), None]")
        facts = host_task.facts_of(text, device("cpu"))
        made = tasks.Task(text, device("cpu"))
        self.assertEqual(facts.tensor_at, made.tensor_at)
        self.assertEqual(facts.constants[1:], made.sample[1:])
        self.assertEqual(facts.given.filled(["x", 2, None]), [["x"], 2, None])


class StateTest(unittest.TestCase):
    def test_tensors_in_lists_of_modules_are_parameters(self):
        init = ("w = torch.randn(8, 8); self.ws = [w * 0.1, {'deep': w * 0.2}]; self.layers = [nn.Linear(8, 8)]; "
                "self.twice = (self.ws[0],)")
        made = task("return self.layers[0](a[0] @ self.ws[0] @ self.ws[1]['deep'] @ self.twice[0])", ROWS, init)
        self.assertEqual([n for n, role in names(made) if role == "parameter"],
                         ["ws.0", "ws.1.deep", "layers.0.weight", "layers.0.bias"])
        inputs, parameters = [torch.randn(16, 8)], [torch.randn(t.shape) for _, t in made.named]
        ws, deep, weight, bias = parameters
        expected = (inputs[0] @ ws @ deep @ ws) @ weight.T + bias
        torch.testing.assert_close(made.run_in(None, inputs, parameters)[0], expected)
        exact = made.reference(inputs, parameters)[0]
        self.assertEqual(exact.dtype, torch.float64)
        torch.testing.assert_close(exact.float(), expected)
        torch.testing.assert_close(made.run_in(None, inputs, parameters)[0], expected)

    def test_a_candidate_s_lists_are_set_by_the_same_names(self):
        made = task("return a[0] @ self.ws[0]", ROWS, "self.ws = [torch.randn(8, 8)]")
        setters = host_candidate._tensors_of(made.model)
        self.assertEqual(list(setters), ["ws.0"])
        host_candidate._set(setters["ws.0"], torch.ones(8, 8))
        self.assertEqual(float(made.model.ws[0].sum()), 64)

    def test_a_model_that_cannot_be_copied_is_built_twice(self):
        made = task("return a[0] * 2", ROWS, "import threading; self.k = threading.Lock()")
        self.assertEqual(made.reference([torch.ones(16, 8)], [])[0].dtype, torch.float64)

    def test_a_tensor_that_forward_reads_elsewhere_is_refused_by_name(self):
        table = "TABLE = torch.rand(8)\n"
        for before, forward, init, where in (
                (table, "return a[0] * TABLE", "pass", "TABLE"),
                ("class Config:\n    scale = torch.rand(8)\n", "return a[0] * Config.scale", "pass", "Config.scale"),
                ("def scaled(x, w=torch.rand(8)):\n    return x * w\n", "return scaled(a[0])", "pass", "scaled.w"),
                ("", "return self.f(a[0])", "w = torch.rand(8); self.f = lambda x: x * w", "Model.f.w"),
                ("class Box:\n    pass\n", "return a[0] * self.box.t.data",
                 "self.box = Box(); self.box.t = torch.rand(8)", "Model.box.t")):
            with self.subTest(where), self.assertRaisesRegex(tasks.Refused, f"forward reads {where}, a tensor that is"):
                task(forward, ROWS, init, before="import torch\n" + before)

    def test_other_tensors_are_no_reason_to_refuse(self):
        table = "import torch\nTABLE = torch.rand(16, 8)\n"
        for forward, inputs, init in (
                ("return a[0] * 2", "[TABLE + torch.rand(8)]", "pass"),
                ("return a[0] * torch.tensor([2.0]) + torch.from_numpy(np.ones(8, np.float32))", ROWS, "pass"),
                ("return a[0] * self.w.data", ROWS, "self.w = nn.Parameter(TABLE[0])"),
                ("return a[0] * self.w", ROWS, "self.w = TABLE[0].clone()")):
            with self.subTest(forward):
                task(forward, inputs, init, before=table)


class NumbersTest(unittest.TestCase):
    def test_random_arguments_are_the_same_each_time(self):
        text = HEAD + code("return a[0] * a[1] * a[2] + a[3]",
                           "[torch.randn(4), random.random(), float(np.random.rand()), torch.rand(1).item()]")
        first, again = (tasks.Task(text, device("cpu")).sample[1:] for _ in range(2))
        self.assertEqual(first, again)
        self.assertEqual(first, host_task.facts_of(text, device("cpu")).constants[1:])

    def test_numbers_that_differ_from_load_to_load_are_refused_by_name(self):
        for before, inputs, init, where in (
                ("SCALE = random.SystemRandom().random()\n", ROWS, "pass", "SCALE"),
                ("", ROWS, "self.scale = random.random()", "Model.scale"),
                ("", ROWS, "self.steps = {'n': [torch.rand(1).item()]}", "Model.steps.n.0"),
                ("", ROWS, "self.table = np.random.rand(4)", "Model.table"),
                ("", "[torch.randn(4), random.SystemRandom().random()]", "pass", "get_inputs gives x1")):
            with self.subTest(where), self.assertRaisesRegex(tasks.Refused, f"{where} .*another value each time"):
                task("return a[0] * 2", inputs, init, before=before)

    def test_hooks_of_torch_are_no_numbers_of_the_task(self):
        for _ in range(2):
            task("return a[0] @ self.l.weight", ROWS,
                 "self.l = torch.nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))")

    def test_inputs_that_yield_several_cases_are_refused_by_name(self):
        text = HEAD + code("return a[0]", ROWS).replace("return [torch.randn(16, 8)]", "yield [torch.randn(16, 8)]")
        with self.assertRaisesRegex(tasks.Refused, "get_inputs yields several cases"):
            tasks.Task(text, device("cpu"))

    def test_weights_drawn_by_any_generator_are_no_reason_to_refuse(self):
        task("return a[0] * self.w", ROWS, "self.w = nn.Parameter(torch.from_numpy(np.random.rand(8)).float())")


class SourceTest(unittest.TestCase):
    def test_each_task_s_own_source_is_found(self):
        made = [task(f"return a[0] * {factor}", ROWS) for factor in (2, 3)]
        for each, factor in zip(made, (2, 3)):
            self.assertIn(f"return a[0] * {factor}", inspect.getsource(each.module.Model))
            self.assertIn("torch.randn(16, 8)", inspect.getsource(each.module.get_inputs))

    def test_scripted_functions_and_dataclasses_run(self):
        before = ("import dataclasses\nimport torch\n@dataclasses.dataclass\nclass Config:\n    scale: 'float' = 0.5\n"
                  "@torch.jit.script\ndef half(x: torch.Tensor, by: float) -> torch.Tensor:\n    return x * by\n")
        stay = Stay(before + code("return half(a[0], Config().scale)", ROWS))
        self.addCleanup(stay.leave)
        for what in (s.EAGER, s.REFERENCE, s.HONEST):
            self.assertEqual(stay.call(what).text, "")
        self.assertTrue(torch.equal(stay.outputs[0][0], stay.inputs[0][0] / 2))

    def test_a_text_with_line_ends_of_windows_is_read(self):
        text = code("return a[0] * 2", ROWS).replace("\n", "\r\n")
        made = tasks.Task(text, device("cpu"))
        self.assertIn("return a[0] * 2\n", inspect.getsource(made.module.Model))

    def test_nothing_stays_registered_after_a_task(self):
        made = task("return a[0] * 2", ROWS)
        name, file = made.module.__name__, made.module.__file__
        self.assertTrue(name in sys.modules and file in linecache.cache)
        del made
        gc.collect()
        self.assertFalse(name in sys.modules or file in linecache.cache)


class OutputsTest(unittest.TestCase):
    def test_honest_orders_leave_sums_of_integers_and_booleans_unchanged(self):
        made = task("return a[0].sum(-1), a[0].cumsum(1), a[1].sum(0)",
                    "[torch.randint(0, 100, (16, 8)), torch.rand(16, 8) > 0.5]")
        inputs = made.draw(3)
        exact = [e.double() for e in made.reference(inputs, [])]
        for spread in spread_of(made, inputs, [], exact):
            self.assertEqual(float(spread.max()), 0)
        for order in honest_orders().values():
            for out, e in zip(order(made, inputs, []), exact):
                self.assertTrue(torch.equal(out.double(), e))

    def test_a_lower_precision_that_holds_the_outputs_exactly_is_no_mutant(self):
        for forward, inputs in (("return torch.sign(a[0])", ROWS),
                                ("return F.one_hot(a[0], 8).sum(0).float()", "[torch.randint(0, 8, (1000,))]")):
            made = task(forward, inputs)
            given = made.draw(3)
            for make in (made.mutants["bf16"], mutants.lower_precisions()["tf32"]):
                self.assertIsNone(make(made, given, [], lambda: made.run_in(None, given, [])))

    def test_a_last_element_that_was_not_computed_always_differs(self):
        made = task("return torch.relu(a[0])", ROWS)
        for last in (0.0, 3.0):
            right = [torch.full((4,), last)]
            (wrong,) = made.mutants["off_by_one_tail"](made, [], [], lambda: [right[0].clone()])
            self.assertNotEqual(float(wrong[-1]), last)

    def test_infinite_outputs_have_a_spread_of_zero_and_leave_their_neighbours_bounded(self):
        mask = "m = torch.ones(64, 64).triu(1).bool(); r = a[0] @ a[0].T"
        for forward in (f"{mask}; return r.masked_fill(m, -math.inf)", "return torch.log(torch.relu(a[0]))",
                        f"{mask}; return r.masked_fill(m, -math.inf).cumsum(-1)"):
            with self.subTest(forward):
                made = task(forward, "[torch.randn(64, 64)]", before="import math\n")
                inputs = made.draw(3)
                exact = made.reference(inputs, [])
                (spread,) = spread_of(made, inputs, [], exact)
                self.assertTrue(bool(exact[0].isinf().any()))
                self.assertTrue(chunks.decided([spread], exact))
                self.assertTrue(bool((spread[exact[0].isinf()] == 0).all()))
                self.assertTrue(bool((spread[exact[0].isfinite()] > 0).any()))


class ManyTensorsTest(unittest.TestCase):
    def test_every_parameter_of_a_large_network_has_its_mutant(self):
        stay = Stay(code("return sum(a[0] * w for w in self.ws)", ROWS,
                         "self.ws = nn.ParameterList([torch.randn(8) for _ in range(320)])"))
        self.addCleanup(stay.leave)
        self.assertEqual(len(stay.signature), 322)
        last = len(stay.task.mutants) - 1
        self.assertGreater(last, 255)
        answer = stay.call(s.MUTANT, argument=last)
        self.assertEqual((answer.status, answer.answer), (commit.OK, 1))
        x, *ws = stay.inputs[0]
        torch.testing.assert_close(stay.outputs[0][0], sum(x * w for w in ws[:-1]), rtol=1e-4, atol=1e-5)

    def test_a_reference_without_spreads_leaves_them_unchanged(self):
        stay = Stay(code("return a[0] * 2", ROWS))
        self.addCleanup(stay.leave)
        for argument, infinite in ((1, True), (0, False)):
            stay.memories[2].view(torch.float32, [512], 512, 0).fill_(math.inf)
            self.assertEqual(stay.call(s.REFERENCE, argument=argument).text, "")
            (exact,), (spread,) = stay.result()
            self.assertTrue(torch.equal(exact.float(), stay.inputs[0][0] * 2))
            self.assertEqual(bool(spread.isinf().all()), infinite)


if __name__ == "__main__":
    unittest.main()
