# SPDX-License-Identifier: Apache-2.0
# A process that probes one thing after another, with limits for each, because calls of libraries may crash or hang.
import child
from reasons import Rejected


class Probing:
    """Starts the process when there is a job. A job that ends the process affects no other: a new one does the next."""

    def __init__(self, work, limits):
        """`work(job, say)` does a job in the process; the limits hold for each job."""
        self.work, self.limits, self.process = work, limits, None

    def do(self, job):
        """A job's result. Raises Rejected if it also fails in a new process: an earlier job may have broken the old."""
        first = self.process is None
        if first:
            self.process = child.Child(self.work, self.limits, stays=True)
        try:
            return self.process.do(job)[0]
        except Rejected:
            self.end()
            if first:
                raise
        return self.do(job)

    def end(self):
        """Ends the process, if there is one."""
        if self.process:
            self.process.end()
            self.process = None
