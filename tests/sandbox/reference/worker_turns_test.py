# SPDX-License-Identifier: Apache-2.0
# Trials of a search take turns on a GPU with other holders of its lock.
import contextlib
import fcntl
import os
import tempfile
import threading
import time
import unittest
import unittest.mock

import torch._inductor.config
from worker_support import NO_GPU, code, device, tasks

import baselines
import leases
import turns

_PATIENCE_S = 240


class TurnsTest(unittest.TestCase):
    def setUp(self):
        file = self.enterContext(tempfile.NamedTemporaryFile())
        self.ours, self.other = (os.open(file.name, os.O_RDWR) for _ in range(2))
        self.addCleanup(os.close, self.ours)
        self.addCleanup(os.close, self.other)
        self.turns = turns.Turns(self.ours)
        self.enterContext(unittest.mock.patch.object(self.turns, "_install"))

    def free(self):
        """Whether another process could take it now."""
        try:
            fcntl.flock(self.other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(self.other, fcntl.LOCK_UN)
        return True

    def until_free(self):
        end = time.monotonic() + _PATIENCE_S
        while not self.free():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)

    def test_a_trial_holds_the_device(self):
        with self.turns.of_searches():
            self.assertFalse(self.turns.trial(self.free))
        self.assertTrue(self.free())

    def test_a_trial_within_another_does_not_end_its_turn(self):
        with self.turns.of_searches(), unittest.mock.patch.object(turns, "_TURN", 0):
            self.assertEqual(self.turns.trial(lambda: (self.turns.trial(lambda: 7), self.free())), (7, False))

    def lock_of_work(self, kind):
        """What a share of the GPU does that has waited for long."""
        fcntl.fcntl(self.other, fcntl.F_OFD_SETLK, leases._region(leases._DUE, kind))

    def test_work_that_has_waited_for_long_goes_first(self):
        self.lock_of_work(fcntl.F_RDLCK)
        looks = []

        def look(_):
            looks.append(self.free())
            self.lock_of_work(fcntl.F_UNLCK)

        with self.turns.of_searches(), unittest.mock.patch.object(leases.time, "sleep", look):
            self.assertFalse(self.turns.trial(self.free))
        self.assertEqual(looks, [True])

    def test_work_that_never_comes_is_not_awaited_for_long(self):
        self.lock_of_work(fcntl.F_RDLCK)
        with self.turns.of_searches(), unittest.mock.patch.object(leases, "YIELD_S", 0.05):
            self.assertFalse(self.turns.trial(self.free))

    def test_it_is_released_when_no_trial_follows(self):
        with self.turns.of_searches():
            self.turns.trial(lambda: None)
            self.until_free()

    def test_trials_in_a_row_are_one_turn(self):
        with self.turns.of_searches(), unittest.mock.patch.multiple(turns, _IDLE=_PATIENCE_S, _TURN=_PATIENCE_S):
            self.turns.trial(lambda: None)
            self.assertFalse(self.free())
            self.turns.trial(lambda: None)
            self.assertFalse(self.free())

    def test_another_process_gets_its_turn_between_endless_trials(self):
        had = threading.Event()

        def another():
            self.until_free()
            had.set()

        other = threading.Thread(target=another)
        end = time.monotonic() + _PATIENCE_S
        with self.turns.of_searches():
            self.turns.trial(other.start)
            while not had.is_set():
                self.assertLess(time.monotonic(), end)
                self.turns.trial(lambda: time.sleep(0.01))
        other.join()

    def test_a_trial_waits_for_the_holder_of_the_device(self):
        fcntl.flock(self.other, fcntl.LOCK_EX)
        began = threading.Event()
        with self.turns.of_searches():
            trial = threading.Thread(target=lambda: self.turns.trial(began.set))
            trial.start()
            self.assertFalse(began.wait(0.1))
            fcntl.flock(self.other, fcntl.LOCK_UN)
            self.assertTrue(began.wait(_PATIENCE_S))
            trial.join()

    def test_a_trial_that_waits_does_not_poll(self):
        fcntl.flock(self.other, fcntl.LOCK_EX)
        ended = threading.Event()
        with unittest.mock.patch.object(leases.fcntl, "flock", wraps=fcntl.flock) as asked, self.turns.of_searches():
            trial = threading.Thread(target=lambda: self.turns.trial(ended.set))
            trial.start()
            self.assertFalse(ended.wait(0.2))
            self.assertLessEqual(asked.call_count, 1)
            fcntl.flock(self.other, fcntl.LOCK_UN)
            trial.join()

    def test_a_trial_that_raises_releases_the_device(self):
        with self.assertRaises(ZeroDivisionError), self.turns.of_searches():
            self.turns.trial(lambda: 1 / 0)
        self.assertTrue(self.free())

    def test_outside_a_search_nothing_waits(self):
        fcntl.flock(self.other, fcntl.LOCK_EX)
        self.assertEqual(self.turns.trial(lambda: 7), 7)


class SearchTest(unittest.TestCase):
    """torch.compile's timings take turns."""

    @contextlib.contextmanager
    def counted(self, place):
        with tempfile.TemporaryFile() as file:
            place.turns = turns.Turns(file.fileno())
            with unittest.mock.patch.object(place.turns, "_begin", wraps=place.turns._begin) as begun:
                yield begun
            place.turns = None

    def test_inductor_uses_the_wrapped_function_for_timing(self):
        from torch._inductor.runtime.benchmarking import benchmarker

        timed = unittest.mock.patch.object(benchmarker, "benchmark_gpu", lambda *_, **__: 5.0)
        with tempfile.TemporaryFile() as file, timed:
            taken = turns.Turns(file.fileno())
            with taken.of_searches(), unittest.mock.patch.object(taken, "_begin", wraps=taken._begin) as begun:
                self.assertEqual(benchmarker.benchmark(lambda: None, device="cuda"), 5.0)
            self.assertEqual(begun.call_count, 1)

    def test_a_search_compiles_on_the_cores_for_that(self):
        own = os.sched_getaffinity(0)
        with unittest.mock.patch.dict(os.environ), baselines._on_cores([min(own)]):
            self.assertEqual(os.sched_getaffinity(0), {min(own)})
            self.assertEqual(os.environ["TORCHINDUCTOR_COMPILE_THREADS"], "1")
        self.assertEqual(os.sched_getaffinity(0), own)

    @unittest.skipIf(NO_GPU, NO_GPU)
    def test_a_search_on_a_gpu_takes_turns(self):
        place = device("cuda")
        task = tasks.Task(code("return torch.relu(a[0] @ a[0].T)", "[torch.randn(1024, 512)]"), place)
        task.settle(task.signature(), 1)
        with self.counted(place) as begun, torch._inductor.config.patch(force_disable_caches=True):
            baselines.make_ready(task, "tuned")
        self.assertGreater(begun.call_count, 1)


if __name__ == "__main__":
    unittest.main()
