# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/optimize_table.py: what it runs, in place of running it."""

import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import optimize_table  # noqa: E402

TASK = ("scan/column_cumsum", ("fast",), None, "fast")


class Commands:
    """Answers like the commands that are run, and remembers them."""

    def __init__(self):
        self.calls = []

    def __call__(self, command, env=None, **_):
        self.calls.append((command, env))
        if "optimize" in command:
            result = pathlib.Path(command[command.index("--out") + 1])
            (result / "export/kernel").mkdir(parents=True)
            (result / "report.json").write_text(json.dumps({"promoted": {"name": "fast"}}))
            (result / "export/kernel/signature.json").write_text(json.dumps({"shapes": [{"function": "get_inputs"}]}))
        times = [1.0, 1.0] if "-c" in command else {"evidence": {"timing": {"candidate_ms": [1.0, 1.0]}}}
        return types.SimpleNamespace(returncode=0, stdout=json.dumps(times), stderr="")


class OptimizeTable(unittest.TestCase):
    def commands(self, gpu, environment):
        """What is run for one operator: of `optimize`, of `check`, and the environments of the export."""
        commands = Commands()
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", environment, clear=True), \
                mock.patch.object(optimize_table.subprocess, "run", commands):
            args = types.SimpleNamespace(out=pathlib.Path(folder), contract="device", gpu=gpu, no_exports=False,
                                         program="warpsmith", pairs=3, more=[])
            self.assertTrue(optimize_table.one_row(args, TASK))
        runs = {name: [c for c, _ in commands.calls if name in c] for name in ("optimize", "check")}
        return runs["optimize"], runs["check"], [env for c, env in commands.calls if "taskset" in c]

    def test_the_error_of_a_traceback_is_named_although_more_follows_it(self):
        text = "Traceback (most recent call last):\n  File a\nNotImplementedError: Could not run 'f'\n\nCPU: registered"
        self.assertEqual(optimize_table.error_in(text), "NotImplementedError: Could not run 'f'")
        self.assertEqual(optimize_table.error_in(""), "without a word")

    def test_a_change_has_the_interval_of_its_order_statistics(self):
        change, (low, high) = optimize_table.change_of([1 + i / 100 for i in range(15)], [1.0] * 15)
        self.assertAlmostEqual(change, 0.07)
        self.assertAlmostEqual(low, 0.03)
        self.assertAlmostEqual(high, 0.11)

    def test_a_few_comparisons_have_their_whole_range(self):
        self.assertEqual(optimize_table.change_of([1.0, 2.0, 4.0], [1.0, 1.0, 1.0]), (1.0, (0.0, 3.0)))

    def test_one_comparison_is_refused(self):
        words = ["optimize_table.py", "--out", "/nonexistent/out", "--pairs", "1"]
        with mock.patch("sys.argv", words), mock.patch("sys.stderr"), self.assertRaises(SystemExit):
            optimize_table.main()

    def test_every_command_uses_the_gpu_that_is_named(self):
        optimizes, checks, exports = self.commands(3, {})
        self.assertTrue(optimizes and checks and exports)
        for command in optimizes + checks:
            self.assertEqual(command[command.index("--gpu") + 1], "3")
        self.assertEqual({env["CUDA_VISIBLE_DEVICES"] for env in exports}, {"3"})

    def test_the_number_counts_visible_gpus(self):
        exports = self.commands(1, {"CUDA_VISIBLE_DEVICES": "4,6"})[2]
        self.assertEqual({env["CUDA_VISIBLE_DEVICES"] for env in exports}, {"6"})

    def test_a_number_beyond_the_visible_gpus_is_refused_before_anything_runs(self):
        words = ["optimize_table.py", "--out", "/nonexistent/out", "--contract", "device", "--gpu", "2"]
        with mock.patch.dict("os.environ", {"CUDA_VISIBLE_DEVICES": "4,6"}), mock.patch("sys.argv", words), \
                mock.patch.object(optimize_table, "one_row") as row:
            with self.assertRaisesRegex(SystemExit, "--gpu 2: .* CUDA_VISIBLE_DEVICES=4,6 shows 2"):
                optimize_table.main()
        row.assert_not_called()

    def test_without_a_number_nothing_names_a_gpu(self):
        optimizes, checks, exports = self.commands(None, {})
        self.assertFalse([command for command in optimizes + checks if "--gpu" in command])
        self.assertFalse([env for env in exports if "CUDA_VISIBLE_DEVICES" in env])


if __name__ == "__main__":
    unittest.main()
