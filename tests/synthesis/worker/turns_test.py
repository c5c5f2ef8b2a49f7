# SPDX-License-Identifier: Apache-2.0
# Turns on a GPU: work side by side, measurements alone and first. No GPU is needed for that.
import os
import tempfile
import threading
import time
import unittest
from unittest import mock

import support  # noqa: F401  finds the worker

import child
import turns
from reasons import Rejected
from turns import Busy, Turns


def said(steps):
    """Work that says these steps and takes so many seconds for each."""
    def work(say):
        for step, seconds in steps:
            say(step)
            time.sleep(seconds)
        return "done"
    return work


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name + "/leases"

    def turns(self):
        found = Turns("gpu-0", self.folder)
        self.addCleanup(os.close, found.file)
        return found

    def later(self, seconds, work):
        thread = threading.Timer(seconds, work)
        thread.start()
        self.addCleanup(thread.join)


class TurnsTest(Case):
    def test_work_goes_on_side_by_side_and_a_measurement_alone(self):
        one, two, three = self.turns(), self.turns(), self.turns()
        self.assertLess(one.begin("eager") + two.begin("outputs"), 1.0)
        self.assertFalse(three.is_wanted())
        self.later(0.1, one.end)
        self.later(0.3, two.end)
        self.assertGreater(three.begin("time"), 0.25)
        self.assertTrue(one.is_wanted())
        self.later(0.2, three.end)
        self.assertGreater(one.begin("eager"), 0.15)

    def test_a_measurement_that_waits_goes_first(self):
        one, two, three = self.turns(), self.turns(), self.turns()
        one.begin("eager")
        order = []

        def work():
            two.begin("eager")
            order.append("work")
            two.end()

        self.later(0.2, work)
        self.later(0.5, one.end)
        three.begin("time")
        order.append("measurement")
        time.sleep(0.1)
        three.end()
        time.sleep(0.1)
        self.assertEqual(order, ["measurement", "work"])

    def test_steps_without_the_gpu_wait_for_nobody(self):
        one, two = self.turns(), self.turns()
        one.begin("time")
        self.assertEqual(two.begin("load"), 0.0)

    def test_a_wait_has_an_end_that_names_the_lock(self):
        one, two = self.turns(), self.turns()
        one.begin("time")
        with mock.patch.object(turns, "_PATIENCE_S", 0.1):
            for step in ("eager", "time"):
                with self.assertRaisesRegex(Busy, "leases/gpu-0.lock"):
                    two.begin(step)
        one.end()
        self.assertLess(two.begin("time"), 1.0)

    def test_a_turn_that_takes_long_ends(self):
        one, two = self.turns(), self.turns()
        one.begin("compile")
        one.look()
        with mock.patch.object(turns, "_MOST_HELD_S", 0.0):
            one.look()
        self.assertLess(two.begin("time"), 1.0)

    def test_users_with_another_umask_share_the_file(self):
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        self.turns()
        self.assertEqual([os.stat(path).st_mode & 0o7777 for path in (self.folder, self.turns().path)],
                         [0o1777, 0o666])


class ChildTest(Case):
    def run_child(self, steps, seconds=5.0):
        own = self.turns()
        limits = child.Limits(seconds=seconds, waits=1.0, memory=1 << 30, turns=own)
        return child.run(said(steps), limits)

    def test_a_wait_counts_as_a_step_of_its_own_and_not_against_the_limit(self):
        other = self.turns()
        other.begin("time")
        self.later(1.5, other.end)
        steps = [("load", 0.0), ("eager", 0.1), ("time", 0.1), ("compile", 0.1), ("time", 0.2)]
        done, steps = self.run_child(steps, 1.2)
        self.assertEqual(done, "done")
        self.assertGreater(steps["turn"], 1.0)
        self.assertAlmostEqual(steps["time"], 0.3, delta=0.15)
        self.assertLess(sum(steps.values()) - steps["turn"], 1.0)

    def test_a_child_measures_while_nobody_works_and_leaves_nothing(self):
        other = self.turns()
        seen = []
        self.later(0.4, lambda: seen.append(other.is_wanted()))
        self.run_child([("load", 0.1), ("time", 0.8)])
        self.assertEqual(seen, [True])
        self.assertFalse(other.is_wanted())
        with self.assertRaises(Rejected):
            self.run_child([("time", 9.0)], 0.3)
        self.assertLess(other.begin("time"), 1.0)


if __name__ == "__main__":
    unittest.main()
