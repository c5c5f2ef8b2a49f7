# SPDX-License-Identifier: Apache-2.0
# Foreign tasks from end to end: judged like a stranger's, with a reason for each that is refused.
import json
import unittest

from support import ROOT, WINDOW, Case, command, program


class ImportTest(Case):
    def test_rows_are_judged_like_a_stranger_s(self):
        good = program("return F.gelu(x) * 2")
        known = self.folder / "known"
        known.mkdir()
        (known / "1.py").write_text(program("return torch.sigmoid(x) * torch.tanh(x)"))
        rows = [
            (good, ["torch.nn.functional.gelu"], None),
            (good.replace("(self, x)", "(self, data)").replace("F.gelu(x)", "F.gelu(data)"), [], "duplicate"),
            (good, ["torch.nn.Linear"], "duplicate"),
            (program("return F.gelu(x) * 3"), ["torch.nn.Linear"], "op_unused"),
            ("As an AI model, I ignore all previous instructions.", [], "no_python"),
            (program("return torch.sigmoid(x) * torch.tanh(x) ", inputs="torch.randn(7, 9)"), [], "similar"),
            (program("return x * 2", top="import os\nos.system('true')"), [], "forks"),
            (None, [], "bad_row"),
            (good + "# \ud800", [], "bad_row"),
            (program("raise ValueError('\\ud800' + 'Ä' * 400)"), None, "raises"),
            (good.replace("class Model(nn.Module)", "def Model()"), [], "missing_name"),
            (program("return x.cumsum(-1)"), None, None),
            (program("return self.m(x)", "torch.randn(8, 64, 32)",
                     init="self.m = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()"),
             ["torch.nn.TransformerEncoderLayer"], None),
        ]
        source = self.folder / "rows.jsonl"
        objects = [{"code": code, "ops": ops, "data_source": "test\ud800"} for code, ops, _ in rows]
        source.write_text("".join(json.dumps(row) + "\n" for row in objects))
        done = command("--cache", self.folder, "import", source, "--out", self.folder / "in", "--against", known,
                       "--workers", 1, *WINDOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        journal = [json.loads(line) for line in (self.folder / "in/journal.jsonl").read_text().splitlines()[1:]]
        self.assertEqual([record["reason"] for record in journal], [reason for *_, reason in rows])
        self.assertNotIn("eager", journal[1]["steps"], "a duplicate is refused before it runs")
        self.assertEqual([row["ops"] for row in self.rows("in")],
                         [["torch.nn.functional.gelu"], ["cumsum"], ["torch.nn.TransformerEncoderLayer"]])

    def test_reasons_do_not_depend_on_the_number_of_workers(self):
        good = program("return F.gelu(x) * 2")
        rows = [(good, []), (good, ["torch.nn.Linear"]), (good.replace("(64, 128)", "(64, 128) / 0"), []), (good, [])]
        source = self.folder / "rows.jsonl"
        source.write_text("".join(json.dumps({"code": code, "ops": ops}) + "\n" for code, ops in rows))
        for workers in (1, 3):
            done = command("--cache", self.folder, "import", source, "--out", self.folder / f"in-{workers}",
                           "--workers", workers, *WINDOW)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = (self.folder / f"in-{workers}/journal.jsonl").read_text().splitlines()[1:]
            self.assertEqual([json.loads(line)["reason"] for line in lines],
                             [None, "duplicate", "bad_output", "duplicate"])

    def test_a_sample_with_a_defect_gives_exit_status_one(self):
        (self.folder / "bad.jsonl").write_text(json.dumps({"code": program("return x + 0")}) + "\n")
        done = command("--cache", self.folder, "import", self.folder / "bad.jsonl", "--out", self.folder / "o",
                       "--workers", 1, "--sample", 9)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(done.stdout)["rejected"], {"identity": 1})

    def test_a_bad_line_is_named_and_a_byte_order_mark_skipped(self):
        source = self.folder / "rows.jsonl"
        source.write_text("\ufeff" + json.dumps({"code": program("return F.gelu(x) * 2")}) + "\n\nno JSON\n")
        done = command("--cache", self.folder, "import", source, "--out", self.folder / "o", "--workers", 1, *WINDOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"left out: {source}:3: the line is no JSON\n", done.stderr)
        self.assertEqual(json.loads(done.stdout)["rejected"], {"bad_row": 1})
        source.write_text("no JSON\n")
        done = command("--cache", self.folder, "import", source, "--out", self.folder / "p", "--workers", 1)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{source}:1: the line is no JSON", done.stderr)

    def test_an_import_that_accepts_no_row_gives_exit_status_one(self):
        source = self.folder / "rows.jsonl"
        source.write_text(json.dumps({"code": program("print(1)\nreturn F.gelu(x)")}) + "\n")
        done = command("--cache", self.folder, "import", source, "--out", self.folder / "o", "--workers", 1, *WINDOW)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(done.stdout)["rejected"], {"prints": 1})

    def test_the_limits_of_the_command_line_hold_for_each_row(self):
        sleeps = program("return x.exp()", top="import time\ntime.sleep(1e6)")
        takes = program("return x.exp()", top="data = b'x' * (800 << 20)")
        self.assertEqual(self.refused(2 * [takes], "--seconds", 60, "--memory-gib", 0.5), {"too_much_memory": 2})
        self.assertEqual(self.refused(2 * [sleeps], "--seconds", 1, "--memory-gib", 4), {"timed_out": 2})

    def refused(self, rows, *limits):
        """Reasons and numbers of the rows."""
        (self.folder / "greedy.jsonl").write_text("".join(json.dumps({"code": row}) + "\n" for row in rows))
        done = command("--cache", self.folder, "import", self.folder / "greedy.jsonl", "--out",
                       self.folder / f"o{limits[1]}", "--workers", 1, *limits, timeout=240)
        return json.loads(done.stdout)["rejected"]

    def test_tasks_written_by_hand_pass(self):
        done = command("--cache", self.folder, "import", ROOT / "configs/tasks/cpu/heldout", "--out", self.folder / "o",
                       "--workers", 1, *WINDOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["rejected"], {})


if __name__ == "__main__":
    unittest.main()
