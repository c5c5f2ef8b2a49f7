# SPDX-License-Identifier: Apache-2.0
# Runs a function that executes a task's code in a forked process with limits, and reports how it ended.
#
# The worker has loaded torch and forks for each candidate, so a candidate starts in milliseconds and leaves no traces.
# On a GPU, which takes seconds to start if many processes start it at once, a child may do many jobs.
import contextlib
import gc
import json
import math
import os
import resource
import select
import signal
import sys
import time
import typing

import audit
import namespaces
import sealing
from reasons import REASONS, Rejected
from turns import TURN_LOOK_S, Steps, Turns

FAR_ABOVE = 100  # times the window: no later call would be within it
FIRST_CALL = {signal.SIGPROF, signal.SIGALRM}  # of the timer of a candidate's first call; they end the process

_MOST_PRINTED, _MOST_RESULT = 1 << 16, 1 << 20  # bytes
_LOOK_S = 0.1


class Limits(typing.NamedTuple):
    """What one candidate may use."""

    seconds: float = 60.0  # of CPU time
    waits: float = 4.0  # of wall time, as a multiple of `seconds`: other processes may use the cores
    memory: int = 4 << 30  # bytes beyond what the worker itself uses
    folder: str = ""  # where it may write, within the worker's namespaces; if empty, no file can be changed
    compiler: bool = False  # whether torch's compiler may start programs
    device: str = "cpu"
    turns: Turns | None = None  # of the GPU: each step waits for its turn
    free: tuple = ("compile",)  # steps that do not use the GPU and need no turn
    silent: bool = False  # whether a job that prints is rejected


def _limit(limits):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28 if limits.folder else 0,) * 2)
    if limits.device == "cpu":  # a GPU's driver maps far more addresses than it uses
        with open("/proc/self/statm") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + limits.memory,) * 2)


def _limit_cpu(seconds, stays):
    soft, most = math.ceil(time.process_time() + seconds), resource.getrlimit(resource.RLIMIT_CPU)[1]
    hard = most if stays else soft + 5  # a limit that was lowered cannot be raised for the next job
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))  # a signal that reports the reason, then the end


def _say(out, message):
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(out, data):]


def _live(work, limits, stays, given, out, printed, complained):
    """The child's life. Never returns."""
    def end(reason, detail):
        _say(out, {"rejected": reason, "detail": detail})
        os._exit(0)

    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(printed, 1)
    os.dup2(complained, 2)
    os.setsid()
    sealing.die_with_parent()
    _limit(limits)
    if limits.device == "cuda":
        namespaces.allow_thread_names()
    sealing.drop_capabilities()
    sealing.seal(files=not limits.folder, processes=not limits.compiler, gpu=limits.device == "cuda")
    audit.watch(end, limits.folder, limits.compiler)
    jobs = os.fdopen(given)

    def say(step):
        _say(out, {"step": step, "at": time.monotonic()})
        if limits.turns:
            jobs.readline()  # it may start

    for line in jobs:
        _limit_cpu(limits.seconds, stays)
        _say(out, _outcome(work, json.loads(line), say))
        if not stays:
            break
    os._exit(0)


def _outcome(work, job, say):
    """The last message about a job."""
    try:
        done = {"done": work(job, say)}
        sys.__stdout__.flush()  # so that what it printed arrives before this message
        return done
    except Rejected as error:
        reason, detail = error.reason, error.detail
    except MemoryError:
        reason, detail = "too_much_memory", ""
    except BaseException as error:  # a task may raise anything, even SystemExit
        reason, detail = _told(error)
    return {"rejected": reason, "detail": detail}


def _told(error):
    try:
        text = f"{type(error).__name__}: {error}".split("\n")[0]
    except BaseException:
        text = "an error whose text is not available"
    memory = "can't allocate memory" in text or "CUDA out of memory" in text
    return ("too_much_memory" if memory else "raises"), text[:300]


def _close_others(keep):
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor of the listing itself


class Child:
    """A forked process that does jobs within limits: one, or one after another if it `stays`."""

    living = set()  # process ids

    def __init__(self, work, limits, stays=False):
        """`work(job, say)` returns a job's result in the child."""
        self.limits, self.stays = limits, stays
        self.results, out = os.pipe()
        self.prints, printed = os.pipe()
        self.complaints, complained = os.pipe()  # standard error, where libraries warn too
        given, self.jobs = os.pipe()
        gc.freeze()  # the child then does not copy the worker's pages by collecting
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _close_others({given, out, printed, complained})
                _live(work, limits, stays, given, out, printed, complained)
            finally:
                os._exit(1)
        self.living.add(self.pid)
        for descriptor in (given, out, printed, complained):
            os.close(descriptor)
        os.set_blocking(self.jobs, False)

    def do(self, job=None):
        """A job's result, and the seconds between the steps that it reported. Raises Rejected if it ends otherwise."""
        try:
            _say(self.jobs, job)
        except (BrokenPipeError, BlockingIOError):
            pass  # seen as the end of its results, or as a job that does not end
        turns = Steps(self.limits.turns, self.limits.free, self._go_on)
        try:
            data, why, printed = _watched(self, turns)
            status = 0 if self.stays and _is_whole(data) else self.end()
        finally:
            turns.end()
        said = _parsed(data)
        steps = _durations(said, turns.waited)
        try:
            result = _judged(said, why, status)
            if printed and self.limits.silent:
                raise Rejected("prints", printed.decode(errors="replace").split("\n")[0])
            return result, steps
        except Rejected as error:
            error.steps = steps
            raise

    def _go_on(self):
        with contextlib.suppress(BrokenPipeError, BlockingIOError):  # seen as the end of its results
            os.write(self.jobs, b"\n")

    def end(self):
        """Kills the process and everything it started; its status, or None if it had ended before."""
        if self.pid is None:
            return None
        for descriptor in (self.results, self.prints, self.complaints, self.jobs):
            os.close(descriptor)
        pid, self.pid = self.pid, None
        self.living.remove(pid)
        return _end(pid, self.living)


def run(work, limits):
    """What `work(say)` returns in a separate process, and the seconds between the steps. Raises Rejected as `do`."""
    child = Child(lambda job, say: work(say), limits)
    try:
        return child.do()
    finally:
        child.end()


def _is_whole(data):
    """Whether a job has ended: the last line names no step."""
    return data.endswith(b"\n") and not data.rsplit(b"\n", 2)[-2].startswith(b'{"step"')


def _parsed(data):
    """The messages of a child; its task may have written some of them."""
    try:
        said = [json.loads(line) for line in data.split(b"\n")[:-1]]
    except (ValueError, RecursionError):
        raise Rejected("forged", "no JSON") from None
    if not all(map(_is_message, said)):
        raise Rejected("forged", "a message of another form")
    return said


def _is_message(value):
    if not isinstance(value, dict):
        return False
    if "step" in value:
        return isinstance(value["step"], str) and isinstance(value.get("at"), float)
    if "rejected" in value:
        return str(value["rejected"]) in REASONS and isinstance(value.get("detail"), str)
    return "done" in value


def _durations(said, waited):
    """Seconds of each step; the waits for its turn are separate, as `turn`."""
    steps, found = [m for m in said if "step" in m], {}
    for m, end in zip(steps, [m["at"] for m in steps[1:]] + [time.monotonic()]):
        found[m["step"]] = found.get(m["step"], 0.0) + end - m["at"]
    for step in found.keys() & waited.keys():
        found[step] -= waited[step]
    found.update({"turn": sum(waited.values())} if waited else {})
    return {step: round(seconds, 6) for step, seconds in found.items()}


def _end(pid, living):
    """Kills the child and everything it started; the child's status. `living`: other children."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # ended, or not yet its own group
    status = os.waitpid(pid, 0)[1]
    while orphans := set(_children()) - living:
        for orphan in orphans:
            os.kill(orphan, signal.SIGKILL)
            os.waitpid(orphan, 0)
    return status


def _children():
    with open("/proc/thread-self/children") as file:
        return [int(number) for number in file.read().split()]


def _held(pid):
    try:
        with open(f"/proc/{pid}/statm") as file:
            fields = file.read().split()
        return (int(fields[1]) - int(fields[2])) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


class _Prints:
    """What a job wrote to standard output and standard error."""

    def __init__(self, child):
        self.pipes, self.standard = (child.prints, child.complaints), child.prints
        self.out, self.size = b"", 0

    def take(self, ready):
        """Whether it is still little."""
        for pipe in (p for p in self.pipes if p in ready):
            piece = os.read(pipe, 1 << 16)
            self.pipes = self.pipes if piece else tuple(p for p in self.pipes if p != pipe)  # the task closed it
            self.size += len(piece)
            self.out += piece[:_MOST_PRINTED] if pipe == self.standard else b""
        return self.size <= _MOST_PRINTED

    def rest(self):
        """What is on standard output, with what is there and not read."""
        while self.take(ready := select.select(self.pipes, [], [], 0)[0]) and ready:
            pass
        return self.out


def _watched(child, turns):
    """Reads until the child's job ends or breaks a limit: the results, the reason, and what it printed. A child with
    one job ends with it."""
    limits, began, data, prints = child.limits, time.monotonic(), b"", _Prints(child)
    while not (child.stays and _is_whole(data)):
        left = began + limits.seconds * limits.waits + turns.waited_s() - time.monotonic()
        if left <= 0:
            return data, "timed_out", b""
        if _held(child.pid) > limits.memory:
            return data, "too_much_memory", b""
        look = TURN_LOOK_S if turns.pending is not None else _LOOK_S
        ready = select.select([child.results, *prints.pipes], [], [], min(left, look))[0]
        if not prints.take(ready):
            return data, "too_much_output", b""
        if child.results in ready:
            piece = os.read(child.results, 1 << 16)
            data += piece
            if not piece or len(data) > _MOST_RESULT:
                return data, "" if not piece else "too_much_output", prints.rest()
        if not turns.follow(data):
            return data, "forged", b""
    return data, "", prints.rest()


def _judged(said, why, status):
    steps = [m["step"] for m in said if "step" in m]
    at = f"while {steps[-1]}" if steps else "at the start"
    if why:
        raise Rejected(why, at)
    for message in said:
        if "rejected" in message:
            raise Rejected(message["rejected"], message["detail"])
    if said and "done" in said[-1]:
        return said[-1]["done"]
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number == signal.SIGSYS:
        raise Rejected("forbidden_call", at)
    if number == signal.SIGXCPU:
        raise Rejected("timed_out", at)
    if number in FIRST_CALL:
        raise Rejected("too_slow", f"the first call took more than {FAR_ABOVE} times the window")
    raise Rejected("died", f"{at}, signal {number}" if number else f"{at}, exit status {os.WEXITSTATUS(status)}")
