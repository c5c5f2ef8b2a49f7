# SPDX-License-Identifier: Apache-2.0
# Properties of the kernels of contract device: many texts for many tasks, and plans that fit them.
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from demonstrations.task_file import read_folder  # noqa: E402
from device_kernels.parts import steps_of  # noqa: E402
from device_kernels.rows import RowKernel  # noqa: E402
from device_kernels.styles import STYLES  # noqa: E402

TASKS = ROOT / "configs/tasks/cuda"
TRAIN, HELD_OUT = read_folder(TASKS / "train"), read_folder(TASKS / "heldout")
MAX_BYTES = 1 << 28  # all tensors of a task together
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i64": 8, "bool": 1}


def kernels_of(task):
    try:
        return [RowKernel(task, style) for style in STYLES.values()]
    except ValueError:
        return []


def size_of(task):
    total = 0
    for buffer in task.inputs + task.outputs:
        count = BYTES[buffer.dtype]
        for extent in buffer.shape:
            count *= extent
        total += count
    return total


WRITTEN = {task.id: kernels for task in TRAIN + HELD_OUT if (kernels := kernels_of(task))}


class TasksTest(unittest.TestCase):
    def test_there_are_24_for_training_and_8_held_out(self):
        self.assertEqual((len(TRAIN), len(HELD_OUT)), (24, 8))

    def test_tensors_take_tens_of_megabytes(self):
        for task in TRAIN + HELD_OUT:
            self.assertTrue(8 << 20 < size_of(task) < MAX_BYTES, f"{task.id}: {size_of(task)}")

    def test_held_out_operators_all_occur_in_training_but_not_their_combinations(self):
        known = {s for task in TRAIN for s in task.statements}
        trained = {task.statements for task in TRAIN}
        for task in HELD_OUT:
            self.assertLessEqual(set(task.statements), known, task.id)
            self.assertNotIn(task.statements, trained, task.id)


class RowKernelTest(unittest.TestCase):
    def test_ten_training_tasks_have_twenty_texts_each_all_distinct(self):
        trained = {t.id for t in TRAIN} & set(WRITTEN)
        self.assertGreaterEqual(len(trained), 10)
        texts = [k.text() for task in trained for k in WRITTEN[task]]
        self.assertGreaterEqual(len(texts), 20 * len(trained))
        self.assertEqual(len(set(texts)), len(texts))

    def test_every_plan_hands_the_kernel_as_many_arguments_as_it_takes(self):
        for kernels in WRITTEN.values():
            for kernel in kernels:
                (step,) = tomllib.loads(kernel.plan())["step"]
                parameters = re.search(rf"{step['launch']}\((.*?)\)", kernel.text()).group(1)
                self.assertEqual(len(step["args"]), parameters.count(",") + 1)
                buffers = {b.name for b in kernel.task.inputs + kernel.task.outputs}
                self.assertEqual({*step["args"]} - {"d0"}, buffers)

    def test_no_load_crosses_the_end_of_a_row(self):
        for kernels in WRITTEN.values():
            for kernel in kernels:
                self.assertEqual(kernel.columns % kernel.style.width, 0)

    def test_a_value_of_a_row_comes_from_what_statements_made_of_the_input(self):
        task = next(t for t in TRAIN + HELD_OUT if t.id == "cross_entropy")
        changed = type(task)(**{**vars(task), "statements": ("x = torch.tanh(x)", *task.statements)})
        for style in STYLES.values():
            text = RowKernel(changed, style).text()
            self.assertIn("c + j == t[row] ? e : 0", text)
            self.assertNotRegex(text, r"\bx\[")

    def test_an_unknown_statement_is_refused_with_its_text(self):
        with self.assertRaisesRegex(ValueError, "torch.fft.fft"):
            steps_of("x = torch.fft.fft(x)")

    def test_what_follows_a_running_sum_is_refused(self):
        task = next(t for t in TRAIN if t.id == "sigmoid_cumsum")
        statements = (*task.statements, "x = torch.relu(x)")
        changed = type(task)(**{**vars(task), "statements": statements})
        with self.assertRaisesRegex(ValueError, "running sum"):
            RowKernel(changed, next(iter(STYLES.values()))).text()


class ScriptTest(unittest.TestCase):
    def run_script(self, *arguments):
        command = [sys.executable, ROOT / "scripts/write_kernels.py", "--contract", "device", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def test_it_writes_a_folder_for_each_task_and_style(self):
        style = next(iter(STYLES))
        with tempfile.TemporaryDirectory() as out:
            done = self.run_script("--tasks", TASKS / "train", "--styles", style, "--skip-unknown", "--output", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("skips attention: ", done.stderr)
            files = sorted(p.name for p in (Path(out) / "layer_norm" / style).iterdir())
        self.assertEqual(files, ["kernels.cu", "plan.toml"])

    def test_it_fails_where_no_kernel_is_written_for_a_task(self):
        with tempfile.TemporaryDirectory() as out:
            done = self.run_script("--tasks", TASKS / "train", "--output", out)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("attention", done.stderr)

    def test_it_names_a_style_that_is_none(self):
        done = self.run_script("--tasks", TASKS / "train", "--styles", "rows", "--output", "none")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no style rows for device", done.stderr)


if __name__ == "__main__":
    unittest.main()
