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
import leases
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


def asks_for_many(say):
    """What a task may do that finds the descriptor of the results: asks for 2,000 turns, and takes memory."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b'{"step": "time", "at": 1.0}\n' * 2000)
        except OSError:
            pass
    held = b"x" * (200 << 20)
    time.sleep(60 + len(held) * 0)


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
        self.assertTrue(one.try_begin("eager") and two.try_begin("outputs"))
        self.assertFalse(three.is_wanted() or three.try_begin("time"))
        self.assertTrue(one.is_wanted())
        one.end()
        self.assertFalse(three.try_begin("time"))
        two.end()
        self.assertTrue(three.try_begin("time"))
        self.assertFalse(one.try_begin("eager") or two.try_begin("time"))
        three.end()
        self.assertTrue(one.try_begin("eager"))

    def test_a_measurement_that_waits_goes_first(self):
        one, two, three = self.turns(), self.turns(), self.turns()
        one.try_begin("eager")
        self.assertFalse(two.try_begin("time") or three.try_begin("eager"))
        one.end()
        self.assertFalse(three.try_begin("eager"))
        self.assertTrue(two.try_begin("time"))

    def test_a_measurement_that_waits_no_longer_lets_work_go_on(self):
        one, two, three = self.turns(), self.turns(), self.turns()
        one.try_begin("eager")
        self.assertFalse(two.try_begin("time"))
        two.end()
        self.assertTrue(three.try_begin("eager"))

    def test_a_wait_of_long_goes_before_measurements_that_come_later(self):
        busy, due, late = self.turns(), self.turns(), self.turns()
        for step in ("eager", "time"):
            busy.try_begin("time")
            self.assertFalse(due.try_begin(step))
            with mock.patch.object(leases, "PATIENCE_S", 0.0):
                self.assertFalse(due.try_begin(step))
            busy.end()
            self.assertFalse(late.try_begin("time"))
            self.assertFalse(late.is_wanted(), "it does not keep the other out")
            self.assertTrue(due.try_begin(step))
            due.end()
            self.assertTrue(late.try_begin("time"), "nobody is due any more")
            late.end()

    def test_a_wait_that_ended_claims_nothing(self):
        busy, due = self.turns(), self.turns()
        busy.try_begin("time")
        with mock.patch.object(leases, "PATIENCE_S", 0.0):
            due.try_begin("eager")
        due.end()
        busy.end()
        self.assertTrue(busy.try_begin("time"))

    def test_a_measurement_that_is_first_claims_nothing(self):
        works, first, late = self.turns(), self.turns(), self.turns()
        works.try_begin("eager")
        with mock.patch.object(leases, "PATIENCE_S", 0.0):
            self.assertFalse(first.try_begin("time") or first.try_begin("time"))
        self.assertFalse(first.claims)
        works.end()
        self.assertTrue(first.try_begin("time"))
        self.assertFalse(late.try_begin("time"))

    def test_a_file_in_use_is_not_old(self):
        path = self.turns().path
        os.utime(path, (0, 0))
        self.turns()
        self.assertGreater(os.stat(path).st_mtime, 0)

    def test_users_with_another_umask_share_the_file(self):
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        self.turns()
        self.assertEqual([os.stat(path).st_mode & 0o7777 for path in (self.folder, self.turns().path)],
                         [0o1777, 0o666])


class ChildTest(Case):
    def limits(self, seconds=5.0, memory=1 << 30, own=None):
        return child.Limits(seconds=seconds, waits=1.0, memory=memory, turns=own or self.turns(), device="cuda",
                            folder="/tmp")

    def run_child(self, steps, seconds=60.0, own=None):
        return child.run(said(steps), self.limits(seconds, own=own))

    def held_for(self, seconds, other):
        """Turns of which the first that is asked for waits so long, since the other has the GPU meanwhile."""
        own, asked = self.turns(), []

        def try_begin(step):
            asked.append(time.monotonic())
            if asked[-1] - asked[0] > seconds:
                other.end()
            return Turns.try_begin(own, step)

        own.try_begin = try_begin
        return own, asked

    def test_a_wait_counts_as_a_step_of_its_own_and_not_against_the_limit(self):
        other = self.turns()
        other.try_begin("time")
        own, _ = self.held_for(4.5, other)
        steps = [("compile", 0.0), ("eager", 0.1), ("time", 0.1), ("compile", 0.1), ("time", 0.2)]
        done, steps = self.run_child(steps, 4.0, own)
        self.assertEqual(done, "done")
        self.assertGreater(steps.pop("turn"), 4.4)
        self.assertGreater(steps["time"], 0.29, "repeated steps add up")
        self.assertLess(sum(steps.values()), 4.0)

    def test_a_child_measures_while_nothing_else_works_and_leaves_nothing(self):
        other, ended, seen = self.turns(), threading.Event(), []

        def look():
            while not ended.wait(0.01):
                seen.append(other.is_wanted())

        self.later(0.0, look)
        self.run_child([("eager", 0.1), ("time", 0.8)])
        ended.set()
        self.assertIn(True, seen)
        self.assertFalse(other.is_wanted())
        with self.assertRaises(Rejected):
            self.run_child([("time", 9.0)], 0.3)
        self.assertTrue(other.try_begin("time"))

    def test_a_compiler_holds_no_turn_and_what_it_made_waits_for_one(self):
        other, own, order = self.turns(), self.turns(), []

        def measure():
            while not other.try_begin("time"):
                time.sleep(0.01)
            order.append("measures")

        def try_begin(step):
            order.append(step)
            if len(order) > 9:
                other.end()
            granted = Turns.try_begin(own, step)
            if len(order) == 1:
                self.later(0.0, measure)
            return granted

        own.try_begin = try_begin
        _, steps = self.run_child([("check", 0.1), ("compile", 2.0), ("check", 0.1)], own=own)
        self.assertEqual(order[:3], ["check", "measures", "check"])
        self.assertGreater(len(order), 9, "the second step waited")
        self.assertGreater(steps["check"], 0.19)

    def test_a_turn_lasts_as_long_as_its_step(self):
        other, own, free = self.turns(), self.turns(), []

        def end():  # when the next step is heard
            free.append(other.try_begin("time"))
            other.end()
            Turns.end(own)

        own.end = end
        self.run_child([("eager", 0.5), ("outputs", 0.5)], own=own)
        self.assertEqual(free, [True, False, False])

    def test_a_wait_has_an_end_that_names_the_lock(self):
        other = self.turns()
        other.try_begin("time")
        with mock.patch.object(turns, "PATIENCE_S", 0.1):
            for step in ("eager", "time"):
                with self.assertRaisesRegex(Busy, "leases/gpu-0.lock"):
                    self.run_child([(step, 0.0)])
        other.end()
        self.assertEqual(self.run_child([("time", 0.0)])[0], "done")

    def test_the_waits_of_a_candidate_have_an_end_together(self):
        other = self.turns()
        own, asked = self.held_for(2.0, other)

        def wait():
            other.try_begin("time")
            asked.clear()
            return self.run_child([("eager", 0.0)], own=own)[0]

        with mock.patch.object(turns, "PATIENCE_S", 5.4):
            self.assertEqual([wait(), wait()], ["done"] * 2)
            with self.assertRaises(Busy):
                wait()
            own.renew()
            self.assertEqual(wait(), "done")

    def test_limits_hold_while_a_child_waits_and_turns_that_no_step_needs_are_forged(self):
        other = self.turns()
        other.try_begin("time")
        began = time.monotonic()
        with self.assertRaises(Rejected) as refused:
            child.run(asks_for_many, self.limits(memory=64 << 20))
        self.assertIn(refused.exception.reason, ("forged", "too_much_memory", "too_much_output"))
        self.assertLess(time.monotonic() - began, 30.0)
        other.end()
        with self.assertRaises(Rejected) as refused:
            child.run(asks_for_many, self.limits())
        self.assertEqual(refused.exception.reason, "forged")

    def test_memory_and_prints_are_limited_while_a_child_waits(self):
        def greedy(text, held):
            def work(say):
                threading.Thread(target=lambda: (print("x" * text, flush=True), taken.append(b"x" * held))).start()
                say("time")
            return work

        other, taken = self.turns(), []
        other.try_begin("time")
        memory = child._held(os.getpid()) + (64 << 20)
        for text, held, reason in ((1 << 17, 0, "too_much_output"), (0, 200 << 20, "too_much_memory")):
            with self.assertRaises(Rejected) as refused:
                child.run(greedy(text, held), self.limits(memory=memory))
            self.assertEqual(refused.exception.reason, reason)


if __name__ == "__main__":
    unittest.main()
