# SPDX-License-Identifier: Apache-2.0
# Properties of the demonstrations: the same seed gives the same bytes, held-out tasks combine known operators anew.
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from demonstrations.faults import UNCOMPILABLE, changed_line, mistakes_of, with_mistake  # noqa: E402
from demonstrations.heads import headed  # noqa: E402
from demonstrations.kernel import STYLES, write_kernel  # noqa: E402
from demonstrations.mixture import Mixture  # noqa: E402
from demonstrations.operators import part_of  # noqa: E402
from demonstrations.task_file import read_folder  # noqa: E402
from demonstrations.variants import recombinations, resized, variants_of  # noqa: E402

TASKS = ROOT / "configs/tasks/cpu"
TRAIN, HELD_OUT = read_folder(TASKS / "train"), read_folder(TASKS / "heldout")
KNOWN = sorted({s for t in TRAIN for s in t.statements})
MAX_ELEMENTS = 1 << 20
MAX_ROW = 4096  # floats of the row buffer that kernels declare


def elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


class TasksTest(unittest.TestCase):
    def test_there_are_24_for_training_and_8_held_out(self):
        self.assertEqual((len(TRAIN), len(HELD_OUT)), (24, 8))

    def test_a_class_that_needs_more_of_its_file_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            text = (TASKS / "train/square_mean.py").read_text(encoding="utf-8")
            part = text.replace("x = x * x", "x = helper(x)", 1)
            (Path(folder) / "task.py").write_text("def helper(x):\n    return x\n\n\n" + part, encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "class Model uses helper"):
                read_folder(folder)

    def test_tensors_are_small_enough_to_verify_quickly(self):
        for task in TRAIN + HELD_OUT:
            for buffer in task.inputs + task.outputs:
                self.assertLessEqual(elements(buffer.shape), MAX_ELEMENTS, task.id)
                self.assertLessEqual(buffer.shape[-1], MAX_ROW, task.id)

    def test_no_extent_stands_for_two_axes_of_one_tensor_but_a_filter(self):
        for task in TRAIN + HELD_OUT:
            for buffer in task.inputs + task.outputs:
                wide = [d for d in buffer.shape if d != 3]
                self.assertEqual(len(set(wide)), len(wide), f"{task.id} {buffer.name}")

    def test_held_out_operators_all_occur_in_training(self):
        known = {s for task in TRAIN for s in task.statements}
        for task in HELD_OUT:
            self.assertLessEqual(set(task.statements), known, task.id)

    def test_no_held_out_combination_is_a_training_combination(self):
        trained = {task.statements for task in TRAIN}
        for task in HELD_OUT:
            self.assertNotIn(task.statements, trained, task.id)


class KernelTest(unittest.TestCase):
    def test_first_line_is_the_plan_and_every_part_is_announced_in_order(self):
        for task in TRAIN:
            for style in STYLES.values():
                lines = write_kernel(task, style).splitlines()
                self.assertEqual(lines[0], f"// plan: {style.plan}")
                said = tuple(l.strip()[3:] for l in lines[1:] if l.strip().startswith("// "))
                reduced = part_of(task.statements[-1]).kind == "tail"
                self.assertEqual(said, (*task.statements, *(() if reduced else ("return x",))))

    def test_an_unknown_operator_is_refused_with_its_text(self):
        with self.assertRaisesRegex(ValueError, "x = torch.fft.fft"):
            part_of("x = torch.fft.fft(x)")

    def test_every_mistake_changes_the_source(self):
        for task in TRAIN:
            right = write_kernel(task, STYLES["simd"])
            wrongs = [with_mistake(task, STYLES["simd"], m) for m in mistakes_of(task)]
            self.assertGreaterEqual(len(set(wrongs)), 2, task.id)
            self.assertNotIn(right, wrongs, task.id)

    def test_broken_sources_name_a_line_that_exists(self):
        for task in TRAIN:
            for make in UNCOMPILABLE:
                lines, message = make(write_kernel(task, STYLES["rows"]), random.Random(3))
                self.assertIn(int(message.split(":")[0]), range(1, len(lines) + 1))

    def test_changed_line_wants_one_line_that_occurs_once(self):
        self.assertEqual(changed_line("a\n  b\n", "a\n  c\n"), ("b", "c"))
        self.assertIsNone(changed_line("a\nb\n", "c\nd\n"))
        self.assertIsNone(changed_line("a\nb\n", "a\n"))
        self.assertIsNone(changed_line("ac\nb\n", "ac\nc\n"))


class ConversationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        mixtures = [Mixture(t, random.Random(t.id)) for t in TRAIN]
        cls.records = [m.draw() for _ in range(12) for m in mixtures]

    def test_each_ends_with_a_submission(self):
        for record in self.records:
            self.assertIn("<function=submit>", record["messages"][-1]["content"])

    def test_only_the_agents_turns_are_learnt(self):
        for record in self.records:
            for message in record["messages"]:
                self.assertEqual(message["train"], message["role"] == "assistant")

    def test_the_median_conversation_calls_two_tools_or_more(self):
        calls = sorted(sum(m["train"] for m in r["messages"]) for r in self.records)
        self.assertGreaterEqual(calls[len(calls) // 2], 2)

    def test_edits_name_text_that_stands_once_in_the_written_file(self):
        edits = 0
        for record in self.records:
            for message in record["messages"]:
                if "<function=edit>" not in message["content"]:
                    continue
                old = message["content"].split("<parameter=old_string>\n")[1].split("\n</parameter>")[0]
                written = record["messages"][1]["content"]
                self.assertEqual(written.count(old), 1, old)
                edits += 1
        self.assertGreater(edits, 0)


class VariantsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.variants = {task.id: variants_of(task) for task in TRAIN}

    def test_a_variant_uses_only_its_tasks_statements_and_buffers(self):
        for task in TRAIN:
            for made in self.variants[task.id]:
                self.assertLessEqual(set(made.statements), set(task.statements))
                self.assertLessEqual(set(made.inputs), set(task.inputs))

    def test_no_variant_is_a_held_out_combination(self):
        held_out = {frozenset(task.statements) for task in HELD_OUT}  # in any order
        made = {v.statements for variants in self.variants.values() for v in variants}
        made |= {v.statements for v in recombinations(TRAIN, HELD_OUT)}
        made |= {v.statements for t in TRAIN for v in headed(t, KNOWN, HELD_OUT)}
        self.assertFalse({frozenset(statements) for statements in made} & held_out)

    def test_a_resized_task_keeps_its_statements_and_stays_small(self):
        rng = random.Random(4)
        for task in TRAIN:
            other = resized(task, rng)
            self.assertEqual(other.statements, task.statements)
            self.assertEqual(len(other.extents), len(task.extents))
            for buffer in other.inputs + other.outputs:
                self.assertLessEqual(elements(buffer.shape), MAX_ELEMENTS)


class ScriptTest(unittest.TestCase):
    def write(self, folder, seed):
        out = Path(folder) / f"{seed}.jsonl"
        script = ROOT / "scripts/make_demonstrations.py"
        arguments = ["--tasks", TASKS / "train", "--seed", str(seed), "--count", "240", "--out", out]
        subprocess.run([sys.executable, script, *arguments], check=True, timeout=240)
        return out.read_bytes()

    def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = self.write(folder, 5), self.write(folder, 5)
            self.assertEqual(first, second)
            self.assertNotEqual(first, self.write(folder, 6))
            ids = {json.loads(line)["task_id"] for line in first.splitlines()}
            self.assertEqual(ids, {t.id for t in TRAIN})


    def test_answers_hold_one_file_and_no_call(self):
        task = TRAIN[0]
        talks = [Mixture(task, random.Random(n), answers=1.0).draw()["messages"] for n in range(20)]
        for user, answer in talks:
            self.assertTrue(user["content"].endswith("\nanswer: files"))
            self.assertTrue(answer["content"].startswith("```cpp solution/kernel.cpp\n"))
            self.assertTrue(answer["content"].endswith("\n```"))
            self.assertNotIn("<tool_call>", answer["content"])


class PromptTest(unittest.TestCase):
    def test_prompts_equal_the_golden_bytes(self):
        golden = ROOT / "tests/golden/prompts"
        for task in TRAIN + HELD_OUT:
            path = golden / f"{task.id}.txt"
            if path.exists():
                self.assertEqual(task.prompt().encode(), path.read_bytes(), task.id)


if __name__ == "__main__":
    unittest.main()
