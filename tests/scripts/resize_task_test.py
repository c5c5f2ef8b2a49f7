# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/resize_task.py, and of the layout of configs/tasks/micro."""

import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("resize_task", ROOT / "scripts/resize_task.py")
resize_task = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(resize_task)

MICRO = ROOT / "configs/tasks/micro"
TASKS = sorted(MICRO.rglob("*.py"))


class ResizeTask(unittest.TestCase):
    def test_replaces_the_sizes_that_are_named_and_nothing_else(self):
        text = "A = 3\nB = 4\nclass Model:\n    A = 3\n"
        self.assertEqual(resize_task.resized(text, {"A": 70}), "A = 70\nB = 4\nclass Model:\n    A = 3\n")

    def test_names_a_size_that_the_task_does_not_have(self):
        with self.assertRaisesRegex(ValueError, "no size C; the task has A, B"):
            resize_task.resized("A = 3\nB = 4\n", {"C": 1})

    def test_refuses_what_is_no_size(self):
        for wrong in ("A", "A=", "A=0", "A=-1", "a=1", "A=1.5", "A=1 "):
            with self.assertRaisesRegex(ValueError, "expected NAME=NUMBER"):
                resize_task.parse_changes([wrong])
        with self.assertRaisesRegex(ValueError, "given twice"):
            resize_task.parse_changes(["A=1", "A=2"])


class MicroTasks(unittest.TestCase):
    def test_eight_families_have_sizes_that_differ(self):
        self.assertEqual(len({task.parent.name for task in TASKS}), 8)
        self.assertGreaterEqual(len(TASKS), 16)
        for task in TASKS:
            sizes = resize_task.sizes_of(task.read_text())
            self.assertTrue(sizes, task)
            self.assertEqual(len(set(sizes.values())), len(sizes), task)

    def test_every_kernel_has_its_task(self):
        names = {task.stem for task in TASKS}
        for contract, needed in (("cpu", "kernel.cpp"), ("device", "plan.toml")):
            folders = list((MICRO / "kernels" / contract).iterdir())
            self.assertGreaterEqual(len(folders), 4)
            for folder in folders:
                self.assertIn(folder.name, names)
                self.assertTrue((folder / needed).is_file(), folder)


if __name__ == "__main__":
    unittest.main()
