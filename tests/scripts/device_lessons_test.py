# SPDX-License-Identifier: Apache-2.0
# Properties of the demonstrations of contract device: the same seed gives the same bytes, each writes two files and
# submits, and each is short for the policy's tokenizer.
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tokenizer_test import pieces_of
from transformers import AutoConfig, AutoTokenizer

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from demonstrations.task_file import read_folder  # noqa: E402
from device_kernels.composed import composed  # noqa: E402
from device_kernels.lessons import Kernels, Lessons, broken, forgetful, mistaken  # noqa: E402

TASKS = ROOT / "configs/tasks/cuda"
FOLDER = ROOT / "configs/policy/tiny-device"


def lessons_of(task):
    try:
        return [Lessons(task, random.Random(task.id))]
    except ValueError:
        return []


TAUGHT = [lessons for task in read_folder(TASKS / "train") for lessons in lessons_of(task)]
RECORDS = [lessons.draw() for _ in range(12) for lessons in TAUGHT]


def script(*words):
    command = [sys.executable, "-B", ROOT / "scripts/make_device_demonstrations.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class ScriptTest(unittest.TestCase):
    def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(self):
        with tempfile.TemporaryDirectory() as folder:
            texts = []
            for number, seed in enumerate("112"):
                out = Path(folder) / f"{number}.jsonl"
                ran = script("--tasks", TASKS / "train", "--seed", seed, "--count", "40", "--out", out)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                texts.append(out.read_bytes())
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])
        self.assertEqual(len(texts[0].splitlines()), 40)

    def test_no_task_that_is_held_out_is_solved(self):
        ran = script("--tasks", TASKS / "train", "--apart-from", TASKS / "train", "--out", "/dev/null")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("is held out", ran.stderr)


class LessonsTest(unittest.TestCase):
    def test_half_of_the_tasks_or_more_are_taught(self):
        self.assertGreaterEqual(len(TAUGHT), 12)

    def test_each_writes_both_files_and_ends_with_a_submission(self):
        for record in RECORDS:
            said = [m["content"] for m in record["messages"] if m["role"] == "assistant"]
            self.assertIn("solution/kernels.cu", said[0])
            self.assertIn("solution/plan.toml", said[1])
            self.assertIn("<function=submit>", said[-1])

    def test_an_answer_holds_both_files_and_asks_for_no_tool(self):
        for task in (lessons.own.task for lessons in TAUGHT):
            user, said = Lessons(task, random.Random(3), right=1.0, answers=1.0).draw()["messages"]
            self.assertTrue(user["content"].endswith("\nanswer: files"))
            self.assertTrue(said["content"].startswith("```cuda solution/kernels.cu\n"))
            self.assertIn("\n```\n```toml solution/plan.toml\n", said["content"])
            self.assertNotIn("<function", said["content"])

    def test_shares_beyond_one_are_refused(self):
        for name in ("--right", "--answers"):
            ran = script("--tasks", TASKS / "train", name, "1.5", "--out", "/dev/null")
            self.assertEqual(ran.returncode, 2)
            self.assertIn(f"{name}: expected 0 to 1, got 1.5", ran.stderr)

    def test_only_the_agents_turns_are_learnt(self):
        for message in (m for record in RECORDS for m in record["messages"]):
            self.assertEqual(message["train"], message["role"] == "assistant")

    def test_every_kernel_can_be_got_wrong_and_broken(self):
        for lessons in TAUGHT:
            for kernel in (*lessons.own.slow, *lessons.own.fast):
                right = kernel.text()
                wrong = [*mistaken(right), *forgetful(lessons.own.task, kernel.style)]
                self.assertTrue(wrong, f"{lessons.id} {kernel.style.name}")
                self.assertNotIn(right, wrong)
                lost = broken(right, random.Random(1))
                self.assertEqual(len(lost.splitlines()), len(right.splitlines()) - 1)


class ComposedTest(unittest.TestCase):
    """Tasks that are composed of the training tasks' statements."""

    @classmethod
    def setUpClass(cls):
        cls.held_out = read_folder(TASKS / "heldout")
        cls.tasks = composed(read_folder(TASKS / "train"), cls.held_out, random.Random(5), 60)

    def test_they_are_many_and_none_is_held_out(self):
        self.assertGreater(len({task.statements for task in self.tasks}), 40)
        made, apart = ({frozenset(t.statements) for t in tasks} for tasks in (self.tasks, self.held_out))
        self.assertFalse(made & apart)

    def test_kernels_can_be_written_for_all_of_them_and_got_wrong(self):
        for task in self.tasks:
            for kernel in Kernels(task).fast[:2]:
                right = kernel.text()
                wrong = [*mistaken(right), *forgetful(task, kernel.style)]
                self.assertTrue(wrong, task.statements)
                self.assertNotIn(right, wrong, task.statements)

    def test_most_conversations_are_about_them_under_the_name_of_a_training_task(self):
        more = [Kernels(task) for task in self.tasks]
        lessons = Lessons(TAUGHT[0].own.task, random.Random(1), composed=more)
        records = [lessons.draw() for _ in range(100)]
        self.assertEqual({r["task_id"] for r in records}, {lessons.id})
        prompt = lessons.own.task.prompt(lessons.own.task.extents)
        own = sum(r["messages"][0]["content"] == prompt for r in records)
        self.assertTrue(10 < own < 45, own)

    def test_too_few_statements_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "conv_relu.py").write_bytes((TASKS / "train/conv_relu.py").read_bytes())
            ran = script("--tasks", folder, "--composed", "5", "--out", "/dev/null")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--composed 5: expected 3 statements or more of kind 'each'", ran.stderr)

    def test_the_same_seed_composes_the_same(self):
        again = composed(read_folder(TASKS / "train"), self.held_out, random.Random(5), 60)
        self.assertEqual([t.prompt() for t in again], [t.prompt() for t in self.tasks])


class TokenizerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tokenizer = AutoTokenizer.from_pretrained(FOLDER)

    def ids(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False)

    def test_conversations_encode_the_same_whole_and_in_pieces_and_are_short(self):
        for record in RECORDS:
            pieces = pieces_of(record["messages"])
            whole = self.ids("".join(pieces))
            self.assertEqual(whole, [i for p in pieces for i in self.ids(p)])
            self.assertLessEqual(len(whole), 400)

    def test_the_model_has_a_place_for_each_token(self):
        self.assertEqual(AutoConfig.from_pretrained(FOLDER).vocab_size, len(self.tokenizer))


if __name__ == "__main__":
    unittest.main()
