# SPDX-License-Identifier: Apache-2.0
# The crawl: what a probe that crashes or hangs costs, and how long a process waits for another.
import fcntl
import os
import time
import unittest
from unittest import mock

from support import Case

import crawl  # noqa: E402
import crawl_lock  # noqa: E402
import guesses  # noqa: E402
import preparation  # noqa: E402
import seeds as tables  # noqa: E402
from seeds import Seed  # noqa: E402


def _hangs(name, spelled, known):
    while spelled == "hangs":
        pass
    os.abort()


class ProbesTest(unittest.TestCase):
    def test_a_probe_that_crashes_or_hangs_costs_itself_alone(self):
        crashes = Seed("torch.crashes", "unary", "[__import__('os').abort() for _ in [0] if not {x}.is_meta] or {x}")
        rules = [Seed("torch.exp", "unary", "torch.exp({x})"), crashes, Seed("torch.sin", "unary", "torch.sin({x})")]
        names = [("torch.hangs", "hangs"), ("torch.dies", "dies")]
        said = []
        with mock.patch.object(guesses, "candidates", return_value=names), \
                mock.patch.object(guesses, "guess", _hangs), \
                mock.patch.object(crawl, "_LIMITS", crawl._LIMITS._replace(seconds=1.0)):
            found, refused = crawl.operators(said.append, rules)
        self.assertEqual(list(found), ["torch.exp", "torch.sin"])
        self.assertEqual(list(refused), ["torch.crashes"])
        self.assertRegex("\n".join(said), "(?s)torch.crashes .*died.*torch.hangs .*timed_out.*torch.dies .*died")


class WaitsTest(Case):
    def hold(self):
        """The crawl's lock, as another process holds it."""
        lock = open((self.folder / tables.file_name()).with_suffix(".lock"), "w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def test_a_crawl_that_waits_for_another_says_so_and_gives_up(self):
        self.hold()
        said = []
        with self.assertRaisesRegex(crawl_lock.Busy, "another process has held .*lock"):
            with crawl_lock.held((self.folder / tables.file_name()).with_suffix(".lock"), said.append, most_s=0.1):
                self.fail("the lock is held")
        self.assertRegex(said[0], "another process crawls; waiting for it")

    def test_a_crawl_goes_on_once_the_other_one_ends(self):
        lock, said = self.hold(), []

        def say(text):
            said.append(text)
            lock.close()

        found = crawl.cached(self.folder, say)
        self.assertEqual((len(found), len(said)), (7, 1))

    def test_a_preparation_without_a_sign_of_life_is_ended(self):
        program = self.folder / "hangs.py"
        program.write_text("import sys, time\nprint('half way', file=sys.stderr, flush=True)\ntime.sleep(600)\n")
        began = time.monotonic()
        with mock.patch.object(preparation, "_PROGRAM", program), mock.patch.object(preparation, "SILENT_S", 1.0):
            with self.assertRaisesRegex(preparation.Failed, "no sign of life for . s: half way"):
                preparation.prepare({})
        self.assertLess(time.monotonic() - began, 60)


if __name__ == "__main__":
    unittest.main()
