# SPDX-License-Identifier: Apache-2.0
# Workers on other nodes, here processes of this machine: the same set, also when a node is lost in the middle.
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from support import SETTINGS, WORKER, WINDOW, Case, command, tables

import environments
import pipeline
import remote
from funnel import Funnel
from owned_folder import OwnedFolder

NODE = f"exec '{sys.executable}' -B '{WORKER}/main.py' worker"
COUNT = 12


class NodesTest(Case):
    def made(self, out, workers, *more):
        """The journal's records after a run of the command."""
        done = command("--cache", self.folder, *self.arguments(out, workers, COUNT, more=(*WINDOW, *more)), timeout=600)
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
        self.assertRegex(self.stderr, r"\| head -n 3; .*: ended with exit status 0.*; it is called again in 1 s")
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
        node = self.called(NODE + f" 2> {self.folder}/why", settings)
        self.assertIsNone(node.records())
        self.assertEqual(node.connection.process.wait(240), 2)
        self.assertIn("'torch': '1.0'", (self.folder / "why").read_text())
        node.lose()
        self.assertIn("refuses the run: versions", node.loss())
        self.assertFalse(node.idle() or node.start(), "it is not called again")

    def test_a_node_without_the_device_is_refused_by_name(self):
        node = self.called(f"CUDA_VISIBLE_DEVICES= {NODE}", self.settings() | {"device": "cuda"})
        self.assertIsNone(node.records())
        node.lose()
        self.assertRegex(node.loss(), f"{os.uname().nodename}: --device cuda: .*; ")

    def test_a_node_that_is_never_ready_is_given_up_with_its_reason(self):
        node = remote.Remote("echo Hello >&2; echo 'no route' >&2; exit 7", self.settings())
        with mock.patch.object(remote, "_FIRST_WAIT_S", 0.0), mock.patch.object(remote, "_MOST_WAIT_S", 0.0):
            node.wait = 0.0
            while node.start():
                self.assertIsNone(node.records())
                node.lose()
        self.assertEqual(node.calls, remote.MOST_CALLS)
        self.assertIn("exit 7: ended with exit status 7: no route; the node is abandoned: "
                      "no worker was ready in 4 calls",
                      node.loss())

    def test_a_node_that_is_lost_for_good_is_given_up_when_it_was_away_too_long(self):
        node = self.called(f"mkdir '{self.folder}/once' 2>/dev/null && echo '{{\"ready\": {{}}}}'", self.settings())
        self.assertEqual(node.records(), [])
        for away, words in ((0.0, "it is called again in 1 s"), (remote.MOST_AWAY_S - 600, "called again in 2 s"),
                            (remote.MOST_AWAY_S, "the node is abandoned: no worker was there for 30 minutes")):
            node.seen = time.monotonic() - away
            self.assertIsNone(node.records())
            node.lose()
            self.assertIn(words, node.loss())
            node.start_at = 0.0
            self.assertEqual(node.start(), away < remote.MOST_AWAY_S)

    def test_a_run_without_a_worker_ends_with_an_error(self):
        done = command("--cache", self.folder, *self.arguments("none", 0, COUNT, more=("--node", "nonesuch x")),
                       timeout=240)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, "no worker is left; nonesuch x: ended with exit status 127: .*: not found")

    def test_a_node_leaves_no_files_however_the_run_ends(self):
        for number, ending in ((2, signal.SIGINT), (130, signal.SIGINT), (-9, signal.SIGKILL), (0, None)):
            with self.subTest(ending=ending, number=number):
                run, there = self.running(f"ends-{number}", 2 if ending is None else 10_000)
                if ending:
                    self.until(lambda: any(there.iterdir()), "the node works")
                    run.send_signal(ending)
                run.communicate(timeout=240)
                if number != 2:
                    self.assertEqual(run.returncode, number)
                self.until(lambda: not any(there.iterdir()), "the node has removed its files")

    def running(self, out, count):
        """A run whose temporary files lie elsewhere than those of its node."""
        there = self.folder / f"{out}-tmp"
        there.mkdir()
        node = f"TMPDIR={there} {NODE.removeprefix('exec ')}"
        arguments = self.arguments(out, 0, count, more=(*WINDOW, "--node", node))
        run = subprocess.Popen([sys.executable, "-B", str(WORKER / "main.py"), "--cache", str(self.folder),
                                *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        return run, there

    def until(self, holds, what):
        deadline = time.monotonic() + 240
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def test_a_folder_whose_owner_was_killed_goes_with_the_next_owner(self):
        code = f"import sys; sys.path.insert(0, {str(WORKER)!r}); import os, owned_folder; " \
               "kept = owned_folder.OwnedFolder(); os.kill(os.getpid(), 9)"
        subprocess.run([sys.executable, "-B", "-c", code], env={**os.environ, "TMPDIR": str(self.folder)})
        self.assertEqual(len(list(self.folder.glob("warpsmith-tmp-*/files"))), 1)
        with mock.patch.object(tempfile, "tempdir", str(self.folder)):
            first, second = OwnedFolder(), OwnedFolder()
        self.assertEqual(len(list(self.folder.glob("warpsmith-tmp-*/files"))), 2, "those with an owner stay")
        first.cleanup()
        second.cleanup()
        self.assertEqual(list(self.folder.glob("warpsmith-tmp-*")), [])

    def test_a_node_that_falls_silent_is_lost(self):
        node = self.called("echo '{\"ready\": {}}'; cat > /dev/null; true", self.settings())
        self.assertEqual(node.records(), [])
        self.assertTrue(node.idle())
        node.give(4, None)
        node.wait = 600.0
        with mock.patch.object(remote, "SILENT_S", 0.05):
            time.sleep(0.1)
            self.assertTrue(node.late())
            self.assertEqual(node.lose(), (4, None))
        self.assertRegex(node.loss(), r"gave no sign of life for \d+ s; it is called again in 600 s")
        self.assertFalse(node.start(), "it is called again only after a wait")

    def test_a_worker_that_loads_for_long_holds_up_neither_its_node_nor_the_run(self):
        (self.folder / "torch.py").write_text("import time\ntime.sleep(40)\n")
        hashes = [f"{number:064x}" for number in range(5000)]
        node = self.called(f"PYTHONPATH='{self.folder}' {NODE}", self.settings())
        while not node.ready:
            node.records()
        node.give(0, None, hashes)
        self.assertTrue(select.select([node.output], [], [], remote.SILENT_S)[0], "it gives a sign of life")
        self.assertEqual(node.records(), [])
        with mock.patch.dict(os.environ, {"PYTHONPATH": str(self.folder)}):
            process = pipeline._Process(self.settings())
        self.addCleanup(process.end)
        began = time.monotonic()
        process.give(0, None, hashes)
        self.assertLess(time.monotonic() - began, 20.0)

    def test_a_worker_hears_all_hashes_in_the_end(self):
        process, hashes, heard = pipeline._Process(self.settings()), [f"{n:064x}" for n in range(1200)], []
        self.addCleanup(process.end)
        with mock.patch.object(process, "_send", lambda job: heard.append(job["hashes"])):
            for index in range(4):
                process.give(index, None, hashes)
        self.assertEqual((sum(heard, []), heard[-1]), (hashes, []))

    def without_a_gpu(self):
        """PYTHONPATH for workers whose GPU is not free."""
        (self.folder / "torch.py").write_text("import sys\nprint('gpu-0.lock: not free', file=sys.stderr)\n"
                                              "sys.exit(75)\n")
        return str(self.folder)

    def test_a_gpu_that_is_not_free_ends_the_run_and_rejects_nothing(self):
        with mock.patch.dict(os.environ, {"PYTHONPATH": self.without_a_gpu()}):
            done = command("--cache", self.folder, *self.arguments("busy", 2), timeout=240)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("gpu-0.lock: not free", done.stderr)
        self.assertIn("synth: a GPU was not free for long; once it is, the same command goes on", done.stderr)
        self.assertEqual(len((self.folder / "busy/journal.jsonl").read_text().splitlines()), 1, "the settings alone")

    def test_a_node_whose_gpu_is_not_free_gives_its_candidate_back(self):
        node = self.called(f"PYTHONPATH='{self.without_a_gpu()}' {NODE}", self.settings())
        while not node.ready:
            node.records()
        node.give(4, None)
        found = []
        while found == []:
            found = node.records()
        self.assertIsNone(found)
        self.assertEqual(node.lose(), (4, None))
        self.assertIn("ended with exit status 75: gpu-0.lock: not free; it is called again in 1 s", node.loss())

    def test_signs_of_life_are_no_records(self):
        said = "echo '{\"ready\": {}}'; echo '{\"alive\": true}'; echo '{\"index\": 2}'"
        node = self.called(f"{said}; cat > /dev/null; true", self.settings())
        found = []
        while not found:
            found += node.records()
        self.assertEqual(found, [{"index": 2}])

    def test_workers_use_the_gpus_in_turn(self):
        run = pipeline.Pipeline({}, mock.Mock(records=[]), Funnel())
        with mock.patch.object(run, "_done", side_effect=[False, True]), mock.patch.object(pipeline, "selectors"), \
                mock.patch.object(pipeline, "_Process") as process:
            run.run(1, 4, gpus=3)
        self.assertEqual([call.args[1] for call in process.call_args_list], [0, 1, 2, 0])

    def test_the_numbers_of_gpus_count_the_visible_ones(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            self.assertEqual(environments.of_worker("x", 1)["CUDA_VISIBLE_DEVICES"], "1")
            self.assertNotIn("CUDA_VISIBLE_DEVICES", environments.of_worker("x"))
            os.environ["CUDA_VISIBLE_DEVICES"] = "5,7"
            self.assertEqual(environments.of_worker("x", 1)["CUDA_VISIBLE_DEVICES"], "7")
        node = self.called(f"CUDA_VISIBLE_DEVICES=5,7 {NODE} --gpu 2", self.settings())
        self.assertIsNone(node.records())
        node.lose()
        self.assertRegex(node.loss(), "refuses the run: .*: --gpu 2: CUDA_VISIBLE_DEVICES=5,7 shows fewer GPUs")

    def test_names_what_does_not_go_together(self):
        for more, words in ((("--workers", 0), "--workers 0 needs a --node"), (("--gpus", 2), "--device cuda"),
                            (("--workers", -1), "expected 0 or more"),
                            (("--node", " "), "argument --node: expected a command that runs")):
            done = command("synth", "--count", 1, "--seed", 1, "--out", self.folder / "x", *more)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)

    def called(self, command, settings):
        node = remote.Remote(command, settings)
        self.addCleanup(node.end)
        self.assertTrue(node.start())
        return node

    def settings(self):
        (self.folder / "against.jsonl").write_text("")
        return {**{k: v for k, v in SETTINGS.items() if k != "signatures"}, "versions": tables.versions(), "seed": 3,
                "shares": None, "seeds": str(self.folder / tables.file_name()),
                "against": str(self.folder / "against.jsonl")}


if __name__ == "__main__":
    unittest.main()
