# SPDX-License-Identifier: Apache-2.0
# A run from end to end: the same set for any number of workers, and after a kill.
import os
import signal
import subprocess
import sys
import time
import unittest

from support import WORKER, Case, command, needs_namespaces


class ResumeTest(Case):
    def killed_run(self, out, records):
        """A run that is killed once its journal holds so many records."""
        arguments = [sys.executable, "-B", WORKER / "main.py", "--cache", self.folder, *self.arguments(out, 1)]
        run = subprocess.Popen(list(map(str, arguments)), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               env={**os.environ, "OMP_NUM_THREADS": "1"})
        journal = self.folder / out / "journal.jsonl"
        deadline = time.monotonic() + 300
        try:
            while not journal.exists() or len(journal.read_bytes().splitlines()) <= records:
                self.assertIsNone(run.poll(), "ended before it was killed")
                self.assertLess(time.monotonic(), deadline, "its journal does not grow")
                time.sleep(0.02)
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait()

    def test_the_set_depends_neither_on_workers_nor_on_kills_and_passes_again(self):
        self.killed_run("one", records=2)
        for out, workers in (("one", 1), ("two", 2)):
            done = self.synth(out, workers)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rows("one"), self.rows("two"))
        self.assertEqual(len(self.rows("one")), 6)
        again = ("--out", self.folder / "again", "--workers", 1, "--sample", 4, "--min-ms", 0.01)
        done = command("--cache", self.folder, "import", self.folder / "one", *again)
        self.assertEqual((done.returncode, len(self.rows("again"))), (0, 4), done.stderr)

    @needs_namespaces
    def test_a_full_disk_stops_the_run_and_the_same_command_goes_on_once_there_is_room(self):
        disk = self.folder / "disk"
        disk.mkdir()
        run = " ".join(map(str, [sys.executable, "-B", WORKER / "main.py", "--cache", self.folder,
                                 *self.arguments("disk/out", 1, count=30)]))
        script = f"""mount -t tmpfs -o size=24k none {disk}
            {run}; echo first $?
            mount -o remount,size=32m {disk}
            {run}; echo second $?
            grep -c . {disk}/out/tasks.jsonl"""
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], text=True,
                              capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=500)
        self.assertIn("No space left on device; once that is repaired, the same command goes on", done.stderr)
        self.assertRegex(done.stdout, r"first 3\n(.*\n)?second 0\n30\n")


if __name__ == "__main__":
    unittest.main()
