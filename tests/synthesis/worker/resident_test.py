# SPDX-License-Identifier: Apache-2.0
# One process for many jobs: what stays, and what ends it. The process behaves the same without a GPU.
import os
import resource
import signal
import tempfile
import time
import unittest
import weakref
from unittest import mock

import support  # noqa: F401  finds the worker

import child
import resident
import worker
from compose import Candidate
from reasons import Rejected

_done = []  # what the process did before
_tensors = []  # references to what a job held, and whether it was gone when memory was given back


class Tensor:
    """Stands for one."""


def work(job, say):
    say("eager")
    _done.append(job)
    match job:
        case "constant":
            raise Rejected("constant")
        case "constant tensor":
            tensor = Tensor()
            _tensors.append(weakref.ref(tensor))
            raise Rejected("constant")
        case "gone":
            return _tensors
        case "error":
            raise ValueError("of the task")
        case "error if used" if len(_done) > 1:
            raise ValueError("of an earlier task")
        case "error if used after 0.3 s" if len(_done) > 1:
            time.sleep(0.3)
            raise ValueError("of an earlier task")
        case "end":
            os._exit(1)
        case "part":
            descriptor = max(map(int, os.listdir("/proc/self/fd")))
            for out in range(3, descriptor):
                try:
                    os.write(out, b'{"done": 7}\n{"do')
                except OSError:
                    pass
            os._exit(0)
        case "hang":
            while True:
                pass
        case float():
            began = time.process_time()
            while time.process_time() < began + job:
                pass
    return os.getpid()


class ResidentTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.resident = self.of(20.0, waits=12.0)

    def of(self, seconds, waits=60.0):
        limits = child.Limits(seconds=seconds, waits=waits, memory=1 << 30, folder=self.folder.name)
        found = resident.Resident(work, limits)
        self.addCleanup(found.end)
        return found

    def process(self, job=""):
        done, steps = self.resident.do(job)
        self.assertEqual(list(steps), ["eager"])
        return done

    def reason(self, job):
        with self.assertRaises(Rejected) as caught:
            self.resident.do(job)
        return caught.exception.reason

    def test_jobs_share_a_process(self):
        self.assertEqual(self.process(), self.process())

    def test_a_rejection_by_results_leaves_it(self):
        process = self.process()
        self.assertEqual(self.reason("constant"), "constant")
        self.assertEqual(self.process(), process)

    def test_an_error_ends_it(self):
        process = self.process()
        self.assertEqual(self.reason("error"), "raises")
        self.assertNotEqual(self.process(), process)

    def test_earlier_jobs_reject_none(self):
        process = self.process()
        self.assertNotEqual(self.process("error if used"), process)

    def test_a_dead_process_is_replaced(self):
        self.assertEqual(self.reason("end"), "died")
        self.process()
        self.assertEqual(self.reason("end"), "died")
        self.process()

    def test_a_job_that_never_returns(self):
        self.resident = self.of(1.0)
        self.process()
        self.assertEqual(self.reason("hang"), "timed_out")
        self.process()

    def test_a_process_that_was_killed_between_two_jobs(self):
        process = self.process()
        os.kill(process, signal.SIGKILL)
        self.assertNotEqual(self.process(), process)

    def test_a_process_that_ends_behind_its_result(self):
        self.assertEqual(self.resident.do("part")[0], 7)
        self.process()

    def test_each_job_has_its_own_time(self):
        self.resident = self.of(3.0)
        self.assertEqual(len({self.process(1.5) for _ in range(3)}), 1)

    def test_a_lower_limit_of_the_shell_holds(self):
        resource.setrlimit(resource.RLIMIT_CPU, (10000, 10000))  # of this process, for good
        self.process()

    def test_a_job_that_no_pipe_holds(self):
        process = self.process()
        os.kill(process, signal.SIGSTOP)  # or it might read as fast as it is written to
        brief = self.resident.limits._replace(seconds=2.0, waits=1.0)
        with mock.patch.object(self.resident.process, "limits", brief), self.assertRaises(Rejected) as caught:
            self.resident.process.do("x" * (1 << 22))
        self.assertEqual(caught.exception.reason, "timed_out")
        self.assertNotEqual(self.process(), process)

    def test_other_children_leave_it_alone(self):
        process = self.process()
        limits = child.Limits(seconds=5.0, waits=60.0, memory=1 << 30)
        self.assertNotEqual(child.run(lambda say: os.getpid(), limits)[0], process)
        self.assertEqual(self.process(), process)

    def test_memory_is_given_back_when_a_rejected_task_holds_none(self):
        def look():
            _tensors[:] = [found() is None if callable(found) else found for found in _tensors]

        with mock.patch.object(resident, "release", look):
            self.assertEqual(self.reason("constant tensor"), "constant")
            self.assertEqual(self.process("gone"), [True])

    def test_the_first_error_counts_where_nothing_can_be_released(self):
        with mock.patch.object(resident, "release", side_effect=RuntimeError("a broken device")):
            self.assertEqual(self.reason("constant"), "constant")

    def test_the_seconds_of_a_lost_attempt_count(self):
        self.process()
        _, steps = self.resident.do("error if used after 0.3 s")
        self.assertGreater(steps["eager"], 0.3)

    def test_a_new_process_begins_with_an_empty_folder(self):
        processes = set()
        for _ in range(resident._MOST_JOBS + 1):
            processes.add(self.process())
            if len(processes) == 1:
                open(f"{self.folder.name}/left", "w").close()
        self.assertEqual(len(processes), 2)
        self.assertEqual(os.listdir(self.folder.name), [])


class WhoMayShareTest(unittest.TestCase):
    """What reaches the shared process, and which steps each process does."""

    def methods(self, device, compiles, foreign):
        """The methods that ran in the shared process, and those that ran alone."""
        found = worker.Worker.__new__(worker.Worker)
        found.settings = {"device": device, "compile": compiles}
        shared, alone = [], []
        facts = {"operators": [], "shapes": [], "used": [], "eager_ms": 1.0, "roofline_ms": 1.0, "compile_ms": 1.0}

        def answer(done, job):
            done.append(job["method"])
            return {name: facts[name] for name in worker._FACTS[job["method"]]}, {}

        found.resident = mock.Mock(do=lambda job: answer(shared, job))
        found._do_alone = lambda job, compiles: answer(alone, job)
        found._evaluated(Candidate("", [], "", foreign=foreign), worker.Stopwatch())
        return shared, alone

    def test_a_strangers_task_never_does(self):
        for device in ("cpu", "cuda"):
            self.assertEqual(self.methods(device, "none", foreign=True), ([], ["run"]))
            self.assertEqual(self.methods(device, "inductor", foreign=True), ([], ["run", "run_compiled"]))

    def test_a_composed_task_does_on_a_gpu(self):
        self.assertEqual(self.methods("cuda", "none", foreign=False), (["run"], []))
        self.assertEqual(self.methods("cuda", "inductor", foreign=False), (["run_all"], []))
        self.assertEqual(self.methods("cpu", "aot_eager", foreign=False), ([], ["run_all"]))


if __name__ == "__main__":
    unittest.main()
