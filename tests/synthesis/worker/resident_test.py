# SPDX-License-Identifier: Apache-2.0
# One process for many jobs: what stays, and what ends it. The process behaves the same without a GPU.
import os
import tempfile
import unittest

import support  # noqa: F401  finds the worker

import child
import resident
from reasons import Rejected

_done = []  # what the process did before


def work(job, say):
    say("eager")
    _done.append(job)
    match job:
        case "constant":
            raise Rejected("constant")
        case "error":
            raise ValueError("of the task")
        case "error if used" if len(_done) > 1:
            raise ValueError("of an earlier task")
        case "end":
            os._exit(1)
        case "hang":
            while True:
                pass
    return os.getpid()


class ResidentTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.resident = self.of(20.0)

    def of(self, seconds):
        limits = child.Limits(seconds=seconds, memory=1 << 30, folder=self.folder.name)
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

    def test_a_new_process_begins_with_an_empty_folder(self):
        processes = set()
        for _ in range(resident._MOST_JOBS + 1):
            processes.add(self.process())
            if len(processes) == 1:
                open(f"{self.folder.name}/left", "w").close()
        self.assertEqual(len(processes), 2)
        self.assertEqual(os.listdir(self.folder.name), [])


if __name__ == "__main__":
    unittest.main()
