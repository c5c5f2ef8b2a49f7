# SPDX-License-Identifier: Apache-2.0
# One process that judges many composed tasks on a GPU, whose start in each process takes seconds.
#
# Untrusted tasks never come here. A task that raises, dies or breaks a limit ends the process, so it cannot affect
# later ones; if others were judged there before, it is judged again in a new process.
import contextlib
import os
import shutil
import traceback

import child
from evaluate import release
from reasons import Rejected

_MOST_JOBS = 64  # jobs of a process, whose compiler's files and code grow with each
_HARMLESS = ("bad_output", "random", "nondeterministic", "changes_input", "same_signature", "op_unused", "constant",
             "constant_axis", "near_zero", "identity", "too_fast", "too_slow")  # found in results; nothing failed


class Resident:
    """The process and how many jobs it did."""

    def __init__(self, work, limits):
        """`work(job, say)` does a job. The folder of the limits is emptied when a process ends."""
        self.work, self.limits, self.process, self.jobs = work, limits, None, 0

    def do(self, job):
        """A job's result and the seconds of its steps, as `child.run`."""
        if self.jobs == _MOST_JOBS or self.process and self.process.pid is None:
            self.end()
        first = self.process is None
        if first:
            self.process = child.Child(self._tidy, self.limits, stays=True)
        self.jobs += 1
        try:
            return self.process.do(job)
        except Rejected as error:
            if error.reason in _HARMLESS:
                raise
            self.end()
            if first:
                raise
            lost = error.steps
        return self._again(job, lost)

    def _again(self, job, lost):
        """The job in a new process; the seconds of the lost attempt count too."""
        try:
            done, steps = self.do(job)
        except Rejected as error:
            error.steps = _sum(lost, error.steps)
            raise
        return done, _sum(lost, steps)

    def _tidy(self, job, say):
        try:
            done = self.work(job, say)
        except Exception as error:
            traceback.clear_frames(error.__traceback__)  # which refer to tensors
            with contextlib.suppress(Exception):  # the first error says more
                release()
            raise
        release()
        return done

    def end(self):
        """Ends the process, if there is one."""
        if self.process:
            self.process.end()
            self.process, self.jobs = None, 0
            empty(self.limits.folder)


def _sum(a, b):
    return {name: a.get(name, 0.0) + b.get(name, 0.0) for name in {**a, **b}}


def empty(folder):
    """Removes everything in the folder, which a task may have made unreadable."""
    os.chmod(folder, 0o700)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
