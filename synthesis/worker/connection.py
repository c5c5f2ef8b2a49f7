# SPDX-License-Identifier: Apache-2.0
# A shell command that reaches a worker on another machine: lines go to its input, and its output is read.
#
# The worker ends, and removes its files, at the end of its input: when the run hangs up or is killed.
import io
import os
import queue
import signal
import subprocess
import sys
import threading
import time

_ENDS_WITHIN_S = 60.0  # after its input ended; then it is killed
_TELLS_WITHIN_S = 1.0  # how it ended, after the end of its output
_LOOK_S = 0.02
_MOST_LINE = 1 << 12  # bytes of one line of its standard error


class Connection:
    """One call of the command, in its own process group. Only `ending` and `join` wait, both within bounds."""

    def __init__(self, command):
        self.process = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True, bufsize=0)
        self.output, self.last_line = self.process.stdout, ""
        self._outbox, self._ender = queue.SimpleQueue(), None
        self._relay = threading.Thread(target=self._relay_errors, daemon=True)
        self._relay.start()
        threading.Thread(target=self._write, daemon=True).start()

    def send(self, data):
        """Passes bytes to a thread that writes them, since a machine that hangs reads none."""
        self._outbox.put(data)

    def _write(self):
        try:
            while data := self._outbox.get():
                while data:
                    data = data[self.process.stdin.write(data):]
        except OSError:
            pass  # seen as the end of its output
        self.process.stdin.close()

    def _relay_errors(self):
        with io.BufferedReader(self.process.stderr) as errors:
            while line := errors.readline(_MOST_LINE):
                text = line.decode(errors="replace").rstrip()
                self.last_line = text or self.last_line
                print(text, file=sys.stderr, flush=True)

    def ending(self):
        """How the command ended, in words, with the last line of its standard error."""
        try:
            code = self.process.wait(_TELLS_WITHIN_S)
            how = f"ended with exit status {code}" if code >= 0 else f"was ended by signal {-code}"
        except subprocess.TimeoutExpired:
            how = "closed its output"
        self._relay.join(_TELLS_WITHIN_S)
        return how + self.words()

    def words(self):
        """The last line of its standard error, as the end of a sentence; empty if there is none."""
        return f": {self.last_line}" if self.last_line else ""

    def hang_up(self):
        """Ends its input; a thread kills what is left after a while. Reads nothing more."""
        self._outbox.put(b"")
        self.output.close()  # else a worker that writes could wait for a reader, and not see the end of its input
        self._ender = threading.Thread(target=self._end)  # the interpreter waits for it
        self._ender.start()

    def _end(self):
        deadline = time.monotonic() + _ENDS_WITHIN_S
        while self._is_there() and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def _is_there(self):
        """Does not reap the process, so that its group keeps its number."""
        if self.process.returncode is not None:
            return False
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def join(self):
        """Waits for the end after `hang_up`."""
        self._ender.join()
