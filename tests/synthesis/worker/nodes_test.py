# SPDX-License-Identifier: Apache-2.0
# Workers on other nodes, here processes of this machine: the same set, also when a node is lost in the middle.
import json
import os
import sys
import time
import unittest
from unittest import mock

from support import SETTINGS, WORKER, WINDOW, Case, command, tables

import pipeline
import remote

NODE = f"exec '{sys.executable}' -B '{WORKER}/main.py' worker"
COUNT = 12


class NodesTest(Case):
    def made(self, out, workers, *more):
        """The journal's records after a run of the command."""
        done = command("--cache", self.folder, *self.arguments(out, workers, COUNT, more=(*WINDOW, *more)), timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = (self.folder / out / "journal.jsonl").read_text().splitlines()
        self.stderr = done.stderr
        return [self.fact(json.loads(line)) for line in lines[1:]]

    @staticmethod
    def fact(record):
        return record["index"], record["reason"], None if record["reason"] else record["row"]["code"]

    def test_nodes_and_local_workers_make_the_same_set(self):
        local = self.made("local", 1)
        self.assertEqual(self.made("nodes", 0, "--node", NODE, "--node", NODE), local)
        self.assertEqual(self.made("both", 1, "--node", f"echo Welcome; echo 42; {NODE}"), local)
        self.assertNotIn("died", [reason for _, reason, _ in local])

    def test_a_node_that_is_lost_gives_its_candidate_to_another(self):
        local = self.made("local", 1)
        # The first call of the node ends after three lines; the candidate under way then is lost with it.
        flaky = f"if mkdir '{self.folder}/once' 2>/dev/null; then ({NODE}) | head -n 3; else {NODE}; fi"
        self.assertEqual(self.made("flaky", 0, "--node", flaky), local)
        self.assertIn("the worker died; it is called again", self.stderr)
        self.assertEqual(self.made("never", 1, "--node", "exit 7"), local)

    def test_a_run_with_nodes_continues_where_it_was_interrupted(self):
        whole = self.made("whole", 1)
        out = self.folder / "cut"
        self.made("cut", 1)
        lines = (out / "journal.jsonl").read_text().splitlines(keepends=True)
        (out / "journal.jsonl").write_text("".join(lines[:6]) + lines[6][:20])
        self.assertEqual(self.made("cut", 0, "--node", NODE), whole)

    def test_a_node_with_other_versions_is_refused_by_name(self):
        settings = self.settings() | {"versions": {"torch": "1.0", "transformers": "2"}}
        node = remote.Remote(NODE + f" 2> {self.folder}/why", settings)
        self.addCleanup(node.end)
        node.start()
        self.assertIsNone(node.records())
        self.assertEqual(node.process.wait(10), 2)
        self.assertIn("'torch': '1.0'", (self.folder / "why").read_text())

    def test_a_node_that_falls_silent_is_lost(self):
        node = remote.Remote("echo '{\"ready\": {}}'; sleep 60", self.settings())
        self.addCleanup(node.end)
        node.start()
        self.assertEqual(node.records(), [])
        self.assertTrue(node.idle())
        node.give(4, None)
        with mock.patch.object(remote, "SILENT_S", 0.05):
            time.sleep(0.1)
            self.assertTrue(node.late())
        self.assertEqual(node.lose(), (4, None))
        self.assertFalse(node.start(), "it is called again only after a wait")

    def test_signs_of_life_are_no_records(self):
        node = remote.Remote("echo '{\"ready\": {}}'; echo '{\"alive\": true}'; echo '{\"index\": 2}'; sleep 60",
                             self.settings())
        self.addCleanup(node.end)
        node.start()
        found = []
        while not found:
            found += node.records()
        self.assertEqual(found, [{"index": 2}])

    def test_workers_use_the_gpus_in_turn(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            self.assertEqual([pipeline._gpu_of(k, 3) for k in range(4)], ["0", "1", "2", "0"])
            os.environ["CUDA_VISIBLE_DEVICES"] = "5,7"
            self.assertEqual([pipeline._gpu_of(k, 2) for k in range(3)], ["5", "7", "5"])

    def test_names_what_does_not_go_together(self):
        for more, words in ((("--workers", 0), "--workers 0 needs a --node"), (("--gpus", 2), "--device cuda"),
                            (("--workers", -1), "expected 0 or more")):
            done = command("synth", "--count", 1, "--seed", 1, "--out", self.folder / "x", *more)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)

    def settings(self):
        (self.folder / "against.jsonl").write_text("")
        return {**{k: v for k, v in SETTINGS.items() if k != "signatures"}, "versions": tables.versions(), "seed": 3,
                "shares": None, "seeds": str(self.folder / tables.file_name()),
                "against": str(self.folder / "against.jsonl")}


if __name__ == "__main__":
    unittest.main()
