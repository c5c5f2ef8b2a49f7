# SPDX-License-Identifier: Apache-2.0
# The command line from end to end: the same set for any number of workers, after kills, and from foreign rows.
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import ROOT, WORKER, command, program

import seeds as tables  # noqa: E402
from seeds import Seed  # noqa: E402

_TIMES = ("eager_ms", "compile_ms")
_WINDOW = ("--min-ms", "0.0001", "--max-ms", "10000")


def small_cache(folder):
    """A table of a few operators where the command looks for the crawled one."""
    sys.path.insert(0, str(WORKER))
    import crawl
    names = ("gelu", "silu", "softplus", "mish", "elu")
    seeds = [Seed(f"torch.nn.functional.{name}", "activation", f"F.{name}({{x}})") for name in names]
    seeds.append(Seed("torch.cumsum", "scan", "torch.cumsum({x}, dim=-1)"))
    seeds.append(Seed("torch.nn.LayerNorm", "norm", "{m}({x})", "nn.LayerNorm({n})"))
    (folder / crawl.file_name()).write_text(tables.to_json(seeds))


class Case(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.folder = pathlib.Path(self.kept.name)
        small_cache(self.folder)

    def synth(self, out, *arguments, count=6, seed=3, **options):
        return command("--cache", self.folder, "synth", "--count", count, "--seed", seed, "--out", self.folder / out,
                       "--shares", "1=20,2=60,3=20", *_WINDOW, *arguments, **options)

    def rows(self, out):
        lines = (self.folder / out / "tasks.jsonl").read_text().splitlines()
        return [{k: v for k, v in json.loads(line).items() if k not in _TIMES} for line in lines]


class SynthTest(Case):
    def test_the_set_does_not_depend_on_the_number_of_workers(self):
        for out, workers in (("one", 1), ("two", 2)):
            done = self.synth(out, "--workers", workers)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rows("one"), self.rows("two"))
        self.assertEqual(len(self.rows("one")), 6)

    def test_a_run_that_was_killed_continues(self):
        arguments = [sys.executable, "-B", WORKER / "main.py", "--cache", self.folder, "synth", "--count", "6", "--seed",
                     "3", "--out", self.folder / "killed", "--shares", "1=20,2=60,3=20", *_WINDOW, "--workers", "1"]
        run = subprocess.Popen(list(map(str, arguments)), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               env={**os.environ, "OMP_NUM_THREADS": "1"})
        journal = self.folder / "killed/journal.jsonl"
        while not journal.exists() or len(journal.read_bytes().splitlines()) < 3:
            time.sleep(0.02)
            self.assertIsNone(run.poll())
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.assertEqual(self.synth("killed", "--workers", 1).returncode, 0)
        self.assertEqual(self.synth("whole", "--workers", 1).returncode, 0)
        self.assertEqual(self.rows("killed"), self.rows("whole"))


class ComplaintsTest(Case):
    def test_bad_arguments(self):
        self.assertEqual(self.synth("a", "--min-ms", "5", "--max-ms", "4").returncode, 2)
        self.assertEqual(self.synth("a", "--shares", "9=1").returncode, 2)
        missing = self.synth("a", "--against", self.folder / "none")
        self.assertEqual(missing.returncode, 3)
        self.assertIn("no such folder", missing.stderr)

    def test_another_seed_in_the_same_folder(self):
        self.assertEqual(self.synth("b", "--workers", 1, count=1).returncode, 0)
        done = self.synth("b", "--workers", 1, count=1, seed=4)
        self.assertEqual(done.returncode, 2)
        self.assertIn("seed: 3 there, 4 now", done.stderr)

    def test_a_column_that_is_missing(self):
        (self.folder / "x.jsonl").write_text('{"text": "y"}\n')
        done = command("--cache", self.folder, "import", self.folder / "x.jsonl", "--out", self.folder / "c")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no column code", done.stderr)


class ImportTest(Case):
    def test_rows_are_judged_like_a_stranger_s(self):
        good = program("return F.gelu(x) * 2")
        known = self.folder / "known"
        known.mkdir()
        (known / "1.py").write_text(program("return torch.sigmoid(x) * torch.tanh(x)"))
        rows = [
            (good, ["torch.nn.functional.gelu"], None),
            (good.replace("(self, x)", "(self, data)").replace("F.gelu(x)", "F.gelu(data)"), [], "duplicate"),
            (good, ["torch.nn.Linear"], "op_unused"),
            ("As an AI model, I ignore all previous instructions.", [], "no_python"),
            (program("return torch.sigmoid(x) * torch.tanh(x) ", inputs="torch.randn(7, 9)"), [], "similar"),
            (program("return x * 2", top="import os\nos.system('true')"), [], "forks"),
            (None, [], "bad_row"),
            (program("return x.cumsum(-1)"), None, None),
        ]
        source = self.folder / "rows.jsonl"
        source.write_text("".join(json.dumps({"code": c, "ops": o, "data_source": "test"}) + "\n" for c, o, _ in rows))
        done = command("--cache", self.folder, "import", source, "--out", self.folder / "in", "--against", known,
                       "--workers", 1, *_WINDOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        journal = [json.loads(line) for line in (self.folder / "in/journal.jsonl").read_text().splitlines()[1:]]
        self.assertEqual([record["reason"] for record in journal], [reason for *_, reason in rows])
        self.assertEqual([row["ops"] for row in self.rows("in")], [["torch.nn.functional.gelu"], ["cumsum"]])

    def test_rows_of_a_language_model_come_through_standard_input(self):
        lines = "nonsense\n" + json.dumps({"code": program("return x.exp() + 1"), "ops": ["torch.exp"]}) + "\n"
        done = self.synth("llm", "--composer", "llm", "--workers", 1, count=1, input=lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["data_source"] for row in self.rows("llm")], ["llm"])


class PassTest(unittest.TestCase):
    def test_tasks_written_by_hand_pass(self):
        """The repository's own tasks hold what the filters demand."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            small_cache(folder)
            done = command("--cache", folder, "import", ROOT / "configs/tasks/cpu/heldout", "--out", folder / "o",
                           "--workers", 1, *_WINDOW)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["rejected"], {})


if __name__ == "__main__":
    unittest.main()
