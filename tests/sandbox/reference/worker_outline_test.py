# SPDX-License-Identifier: Apache-2.0
# Signatures from shapes alone: of tasks that load, and of tasks that are too large for any CPU.
import unittest

from worker_support import ROOT, code, device, tasks

import outline
import signatures
from refusals import Refused

NORM = "self.n = nn.BatchNorm2d(8); self.scale = torch.rand(8, 1, 1)"
STEPS = "self.register_buffer('steps', torch.zeros(1))"
TEXTS = {
    "statistics of a batch norm": code("return self.n(a[0]) * self.scale", "[torch.randn(4, 8, 6, 6)]", NORM),
    "a counter": code("self.steps.add_(1); return a[0] * 2", "[torch.randn(32, 8)]", STEPS),
    "constants between tensors": code("return a[0] * a[1] + a[2]", "[torch.randn(16, 4), 3, torch.randn(4)]"),
    "two outputs and integers": code("return a[0].max(-1).values, a[0].argmax(-1)", "[torch.randn(16, 4)]"),
    "one name twice": code("return F.linear(a[0], self.a)", "[torch.randn(16, 4)]",
                           "self.a = nn.Parameter(torch.randn(3, 4))"),
    "halves": code("return F.layer_norm(a[0], (4,))", "[torch.randn(16, 4).bfloat16()]"),
}
SUMMARY = ("mean", "deviation", "low", "high")


def shapes_of(tensors):
    return [{k: v for k, v in t.items() if k not in SUMMARY} for t in tensors]


def symbols_of(tensors):
    """Numbers each extent by its first occurrence, as a launch plan names them."""
    seen = list(dict.fromkeys(e for t in tensors for e in t["shape"]))
    return [[seen.index(e) for e in t["shape"]] for t in tensors]


class OutlineTest(unittest.TestCase):
    def test_the_size_counts_the_bytes_of_all_tensors(self):
        self.assertEqual(outline.size(code("return F.linear(a[0], self.a).half()", "[torch.randn(16, 4)]",
                                           "self.a = nn.Parameter(torch.randn(3, 4))")), 4 * 16 * 4 + 4 * 12 + 2 * 48)
        self.assertEqual(outline.size(code("return a[0][a[0] > 0]")), 0)  # depends on values

    def agrees(self, text):
        self.assertEqual(outline.Outline(text).tensors(), shapes_of(tasks.Task(text, device("cpu")).tensors()))

    def test_equals_the_signature_of_the_loaded_task(self):
        for name, text in TEXTS.items():
            with self.subTest(name):
                self.agrees(text)

    def test_equals_the_signature_of_our_tasks_for_cpus(self):
        for path in sorted((ROOT / "configs/tasks/cpu").rglob("*.py")):
            with self.subTest(path.stem):
                self.agrees(path.read_text())

    def test_returns_the_signature_of_our_tasks_for_gpus_without_their_memory(self):
        for path in sorted((ROOT / "configs/tasks/cuda").rglob("*.py")):
            with self.subTest(path.stem):
                self.assertGreater(len(outline.Outline(path.read_text()).tensors()), 1)

    def test_hidden_sizes_of_our_tasks_are_sizes_of_the_same_inputs(self):
        named = [p for p in sorted((ROOT / "configs").rglob("*.py")) if "def get_ragged_inputs" in p.read_text()]
        self.assertGreater(len(named), 8)
        for path in named:
            with self.subTest(path.stem):
                shown = outline.Outline(path.read_text()).tensors()
                hidden = outline.Outline(path.read_text() + "\n\nget_inputs = get_ragged_inputs\n").tensors()
                self.assertEqual(symbols_of(shown), symbols_of(hidden))
                for a, b in zip(shown, hidden):
                    self.assertEqual((a["name"], a["dtype"]), (b["name"], b["dtype"]))
                    self.assertEqual(a["shape"] == b["shape"], a["role"] == "parameter", a["name"])
                    self.assertTrue(a["role"] == "parameter" or b["shape"][0] % 32, "a multiple of 32")

    def test_only_tasks_that_are_too_large_are_answered_from_shapes(self):
        large = code("return (a[0] * self.w).sum(-1)", "[torch.randn(2**20, 2**14)]",
                     "self.w = nn.Parameter(torch.ones(2**14))")
        self.assertEqual([t["shape"] for t in outline.beyond(large, signatures.MAX_ELEMENTS)],
                         [[2**20, 2**14], [2**14], [2**20]])
        self.assertIsNone(outline.beyond(code("return a[0] * 2"), signatures.MAX_ELEMENTS))

    def test_a_task_that_needs_values_must_be_loaded(self):
        text = code("return a[0] * a[0].max().item()", "[torch.randn(64, 64)]")
        self.assertRaises(Refused, outline.Outline, text)
        self.assertIsNone(outline.beyond(text, 16))


if __name__ == "__main__":
    unittest.main()
