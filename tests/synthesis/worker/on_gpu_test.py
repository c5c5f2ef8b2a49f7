# SPDX-License-Identifier: Apache-2.0
# What a worker does on a GPU and not on a CPU, as far as that shows without one.
import io
import os
import unittest
from unittest import mock

from support import SETTINGS, Case, program, tables

import gpus
import node
import pipeline
import torch
import turns
import worker
from evaluate import Evaluation
from reasons import Rejected

CODE = program("return torch.tanh(x)")


class WorkerTest(Case):
    def worker(self):
        (self.folder / "against.jsonl").write_text("")
        settings = {**SETTINGS, "device": "cuda", "seed": 3, "shares": None, "seconds": 60.0, "memory": 4 << 30,
                    "seeds": str(self.folder / tables.file_name()), "against": str(self.folder / "against.jsonl"),
                    "folder": str(self.folder)}
        with mock.patch.object(gpus, "lease_name", return_value="gpu-test"), \
                mock.patch.object(worker, "Turns", lambda name: turns.Turns(name, f"{self.folder}/leases")):
            found = worker.Worker(settings)
        self.addCleanup(os.close, found.limits.turns.file)
        return found

    def test_its_children_take_turns_by_the_lease_of_the_gpu(self):
        found = self.worker()
        for foreign in (False, True):
            self.assertEqual(found._limits(foreign, True).turns.path, f"{self.folder}/leases/gpu-test.lock")


    def test_a_stranger_s_text_is_loaded_in_a_turn_since_it_may_use_the_gpu(self):
        found = self.worker()
        self.assertEqual(found._limits(True, False).free, ("compile",))
        self.assertEqual(found._limits(False, True).free, ("compile", "load"))


    def test_a_candidate_that_waits_for_the_gpu_ends_before_the_run_counts_its_worker_as_lost(self):
        limits = [self.worker()._limits(True, compiles) for compiles in (False, True)]
        longest = turns.PATIENCE_S + sum(limit.seconds * limit.waits for limit in limits)
        self.assertLess(longest, min(pipeline._ANSWER_S, node._ANSWER_S))

    def test_each_candidate_has_all_the_patience(self):
        found = self.worker()
        found.limits.turns.waited = 500.0
        found.record(0, {"code": None, "problem": "none"})
        self.assertEqual(found.limits.turns.waited, 0.0)

    def test_a_gpu_that_is_not_free_ends_it_with_a_status_of_its_own(self):
        found = mock.Mock(**{"record.side_effect": turns.Busy("gpu-0.lock: not free")})
        given = io.StringIO('{}\n{"index": 0, "row": null, "hashes": []}\n')
        with mock.patch.object(worker, "ready", return_value=found), mock.patch.object(worker.sys, "stdin", given), \
                mock.patch.object(worker.sys, "stderr", io.StringIO()) as said:
            with self.assertRaises(SystemExit) as ended:
                worker.main()
        self.assertEqual((ended.exception.code, said.getvalue()), (turns.NOT_FREE, "worker: gpu-0.lock: not free\n"))


class CompilerTest(unittest.TestCase):
    def evaluation(self, forward):
        self.addCleanup(torch._dynamo.reset)
        self.steps = []
        return Evaluation(program(forward), (), SETTINGS, self.steps.append)

    def test_what_a_compiler_made_is_launched_behind_its_step(self):
        self.evaluation("return F.gelu(x).cumsum(-1)").run_compiled()
        self.assertEqual(self.steps, ["load", "check", "compile", "check", "time"])

    def test_each_part_of_a_graph_that_breaks_is_launched_behind_its_step(self):
        self.evaluation("y = F.gelu(x)\ntorch._dynamo.graph_break()\nreturn y.cumsum(-1)").run_compiled()
        self.assertEqual(self.steps, ["load", "check", *2 * ["compile", "check"], "time"])

    def test_a_compiler_that_runs_again_while_a_call_is_timed_leads_back_to_that(self):
        evaluation = self.evaluation("return x.exp()")
        evaluation.begin("time")
        with mock.patch.object(torch._dynamo, "lookup_backend", return_value=lambda graph, inputs: graph):
            evaluation._compiler()("graph", [])
        self.assertEqual(self.steps, ["load", "time", "compile", "time"])


class EvaluationTest(unittest.TestCase):
    def evaluation(self, **settings):
        self.steps = []
        return Evaluation(CODE, (), {**SETTINGS, "device": "cuda", **settings}, self.steps.append)

    def test_the_start_of_cuda_is_a_step_of_its_own(self):
        for run in (Evaluation.run, Evaluation.run_compiled):
            with mock.patch.object(torch, "zeros") as starts, mock.patch.object(Evaluation, "inputs"), \
                    mock.patch("evaluate._built", side_effect=Rejected("raises")):
                with self.assertRaises(Rejected):
                    run(self.evaluation())
            starts.assert_called_once_with(1, device="cuda")
            self.assertEqual(self.steps[:2], ["load", "start"])
            self.assertEqual(len(self.steps), 3)

    def reason(self, ms, **settings):
        evaluation = self.evaluation(window=[1.0, 100.0], **settings)
        with mock.patch.object(evaluation, "_times_ms", return_value=(ms, ms, ms)):
            try:
                evaluation.model = evaluation.sample = None
                return evaluation.window() and None
            except Rejected as error:
                return error.reason

    def test_composed_tasks_stay_within_the_window_and_others_may_reach_its_edges(self):
        times = (0.9, 1.1, 1.3, 79.0, 81.0, 101.0)
        self.assertEqual([self.reason(ms, foreign=False) for ms in times],
                         ["too_fast", "too_fast", None, None, "too_slow", "too_slow"])
        self.assertEqual([self.reason(ms, foreign=True) for ms in times],
                         ["too_fast", None, None, None, None, "too_slow"])


if __name__ == "__main__":
    unittest.main()
