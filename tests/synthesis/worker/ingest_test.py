# SPDX-License-Identifier: Apache-2.0
# `synth ingest` on a set, with a program in the place of `warpsmith` that answers as `bench tasks --json` does.
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import pyarrow.parquet
from support import WORKER, Case, command

_PROGRAM = f"""#!{sys.executable}
import json, os, pathlib, sys, time
arguments, folder = sys.argv[1:-1], pathlib.Path(sys.argv[-1])
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps(arguments) + "\\n")
plan = json.loads(os.environ["PLAN"])
tasks = []
for path in sorted(folder.iterdir()):
    deed = plan.get(path.stem)
    if deed == "crash" or deed == "crash in company" and len(list(folder.iterdir())) > 1:
        sys.exit("warpsmith: the service is gone")
    deed = None if deed == "crash in company" else deed
    if deed == "hang":
        time.sleep(600)
    refusal = deed and f"{{path}}: {{deed}} said so"
    tasks.append({{"task": path.stem, "ingest_s": 0.5, "refusal": refusal, "refusal_code": deed,
                  "insensitive": None}})
print(json.dumps({{"tasks": tasks}}))
"""


class IngestTest(Case):
    made = None  # a folder with a set of four tasks, composed once

    def setUp(self):
        super().setUp()
        self.set, self.program = self.folder / "set", self.folder / "warpsmith"
        if IngestTest.made is None:
            IngestTest.made = self.enterClassContext(tempfile.TemporaryDirectory())
            done = self.synth("set", count=4)
            self.assertEqual(done.returncode, 0, done.stderr)
            shutil.copytree(self.set, f"{IngestTest.made}/set")
        else:
            shutil.copytree(f"{IngestTest.made}/set", self.set)
        self.ids = [row["id"] for row in self.rows("set")]
        self.program.write_text(_PROGRAM)
        self.program.chmod(0o755)

    def environment(self, plan):
        return {"PLAN": json.dumps(plan), "CALLS": str(self.folder / "calls")}

    def ingest(self, plan, status=0, more=()):
        os.environ.update(self.environment(plan))
        done = command("--cache", self.folder, "ingest", self.set, "--program", self.program, *more)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def hanging_run(self):
        """An ingest whose program has begun and does not end."""
        run = subprocess.Popen([sys.executable, "-B", WORKER / "main.py", "ingest", self.set, "--program",
                                self.program], env={**os.environ, **self.environment({self.ids[2]: "hang"})},
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        deadline = time.monotonic() + 240
        while not (self.folder / "calls").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        return run

    def calls(self):
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]

    def journal(self):
        return [json.loads(line) for line in (self.set / "ingest.jsonl").read_text().splitlines()]

    def test_refused_tasks_leave_the_set_and_the_funnel_says_why(self):
        said = json.loads(self.ingest({self.ids[1]: "invalid_argument"}, more=("--slots", 3)).stdout)
        kept = [self.ids[0], *self.ids[2:]]
        self.assertEqual(pyarrow.parquet.read_table(self.set / "tasks.parquet")["id"].to_pylist(), kept)
        self.assertEqual([row["id"] for row in self.rows("set")], kept)
        self.assertEqual(sorted(p.stem for p in (self.set / "tasks").iterdir()), sorted(kept))
        self.assertEqual((said["accepted"], said["rejected"]["ingest_refused"]), (3, 1))
        self.assertEqual(json.loads((self.set / "funnel.json").read_text())["seconds"]["ingest"], 2.0)
        refused = [json.loads(line) for line in (self.set / "refused.jsonl").read_text().splitlines()]
        self.assertIn({"reason": "ingest_refused", "detail": f"{self.ids[1]}.py: invalid_argument said so"},
                      [{k: row[k] for k in ("reason", "detail")} for row in refused])
        self.assertIn("Each passed the sandbox's ingest", (self.set / "README.md").read_text())
        self.assertEqual(self.calls(), [["bench", "tasks", "--json", "--contract", "cpu", "--slots", "3"]])

    def test_a_longer_synth_keeps_refused_tasks_out_and_ingest_asks_for_new_ones_only(self):
        self.ingest({self.ids[0]: "parse_failed"})
        self.assertEqual(self.synth("set", count=6).returncode, 0)
        self.assertEqual(len(self.rows("set")), 5)
        self.assertIn("3 of 5 passed the sandbox's ingest", (self.set / "README.md").read_text())
        self.ingest({})
        self.assertEqual(len(self.rows("set")), 5)
        self.assertEqual(len(self.journal()), 1 + 6)

    def test_answers_that_may_not_last_are_asked_for_once_more(self):
        self.ingest({self.ids[0]: "timeout", self.ids[1]: "invalid_argument"})
        reasons = {line["id"]: line["reason"] for line in self.journal()[1:]}
        self.assertEqual([reasons[name] for name in self.ids], ["ingest_failed", "ingest_refused", None, None])
        self.assertEqual(len(self.calls()), 2)

    def test_a_task_that_ends_the_program_costs_itself_alone(self):
        self.ingest({self.ids[0]: "crash", self.ids[2]: "crash in company"})
        reasons = {line["id"]: line["reason"] for line in self.journal()[1:]}
        self.assertEqual([reasons[name] for name in self.ids], ["ingest_failed", None, None, None])

    def test_a_program_that_answers_nothing_refuses_no_task(self):
        said = self.ingest(dict.fromkeys(self.ids, "crash"), status=3).stderr
        self.assertIn("exit status 1: warpsmith: the service is gone; once that is repaired", said)
        self.assertEqual(len(self.rows("set")), 4)
        self.assertIn("disk_full said so", self.ingest({self.ids[0]: "disk_full"}, status=3).stderr)
        self.assertEqual(len(self.journal()), 1)
        self.program.unlink()
        self.assertIn("--program names the program", self.ingest({}, status=3).stderr)

    def test_a_killed_ingest_goes_on_where_it_was(self):
        run = self.hanging_run()
        run.send_signal(signal.SIGKILL)
        run.communicate()
        journal = self.set / "ingest.jsonl"
        with open(journal, "a") as file:
            file.write(json.dumps({"id": self.ids[0], "reason": None, "detail": "", "seconds": 1.0}) + '\n{"id": "ha')
        self.ingest({})
        self.assertEqual([line["id"] for line in self.journal()[1:]], self.ids)
        self.assertEqual(self.journal()[1]["seconds"], 1.0)

    def test_ctrl_c_keeps_the_set_as_it_is(self):
        run = self.hanging_run()
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 130, said)
        self.assertEqual(len(self.rows("set")), 4)

    def test_a_folder_without_a_run_is_named(self):
        done = command("ingest", self.folder, "--program", self.program)
        self.assertEqual(done.returncode, 2)
        self.assertIn("journal.jsonl: expected the journal of a folder that `synth`", done.stderr)


if __name__ == "__main__":
    unittest.main()
