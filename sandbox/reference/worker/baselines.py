# SPDX-License-Identifier: Apache-2.0
# The baselines: eager, torch.compile, tuned torch.compile, and eager as a CUDA graph.
import contextlib
import gc
import os
import signal

import torch

import chunks
from device import NO_GRAPHS
from refusals import Refused, words_of

_MODES = {"default": None, "tuned": "max-autotune-no-cudagraphs"}
_TOLERANCE = 1e-2
_BF16_TOLERANCE = 8e-2  # eager rounds each operator's output at 2^-8, compiled code only the last one


class _TooLong(BaseException):
    """Not an Exception, which torch.compile would take for a failure that it can work around."""


@contextlib.contextmanager
def _within(seconds):
    """Raises _TooLong in the main thread, where torch.compile runs; a call into C ends first."""
    def late(*_):
        raise _TooLong

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _reason(error):
    return f"{type(error).__name__}: {words_of(error) or '?'}"


def _tensors(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def _agree(task, a, b):
    # A product's error scales with its terms, which an element near zero does not show.
    scale = max(1.0, chunks.size_of(b)) if task.device.remote and b.is_floating_point() else 1.0
    tolerance = _BF16_TOLERANCE if b.dtype == torch.bfloat16 else _TOLERANCE
    return all(torch.allclose(x.double(), y.double(), rtol=tolerance, atol=tolerance * scale, equal_nan=True)
               for x, y in chunks.chunks(a, b))


@torch.no_grad()
def _checked(task, function, arguments):
    with task.device.lane(task.lane):
        outs, rights = _tensors(function(*arguments)), _tensors(task.model(*arguments))
    for i, (a, b) in enumerate(zip(outs, rights)):
        if not _agree(task, a, b):
            raise Refused(f"its output {i} differs from eager's")


@contextlib.contextmanager
def _on_cores(cores):
    """A search compiles hundreds of kernels: use more cores than only the one that is timed. Empty: stay."""
    import torch._inductor.config  # read the variable at import: no helper processes

    own = os.sched_getaffinity(0)
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(len(cores) or len(own))
    os.sched_setaffinity(0, cores or own)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def _compiled(task, which):
    function = torch.compile(task.model, dynamic=False, mode=_MODES[which])
    wide = task.device.remote and which == "tuned"
    with _on_cores(task.device.compile_cores) if wide else contextlib.nullcontext(), task.device.searching():
        _checked(task, function, task.example())
    return function


@torch.no_grad()
def _captured(task):
    graphs = task.device.graphs()
    if graphs is None:
        raise Refused(NO_GRAPHS)
    arguments = task.example()
    with task.device.lane(task.lane):
        graphs.capture(0, lambda: task.model(*arguments))

    def replayed(*_):
        graphs.replay(0)
        return graphs.outputs(0)

    _checked(task, replayed, arguments)
    return True


def make_ready(task, which):
    """Makes baseline `which` once; raises the reason if that fails."""
    if which in task.baselines:
        return
    try:
        task.baselines[which] = _captured(task) if which == "graphed" else _compiled(task, which)
        # Exclude what torch.compile leaves from later collections.
        gc.collect()
        gc.freeze()
    finally:
        task.done_with_example()


def _lacks_a_module(error):
    """Whether this machine lacks a module. Since eager ran, the task is not at fault."""
    while error is not None and not isinstance(error, ImportError):
        error = error.__cause__ or error.__context__
    return error is not None


def without_compile(task, reason):
    """Eager takes the place of the default baseline."""
    task.baselines["default"], task.compile_reason = task.model, reason


def ready(task, which, seconds=None):
    """Whether the baseline can be called, and the reason if not. Eager takes the place of the default one, with the
    reason, unless this machine lacks a module. `seconds`: the most that making it ready may take."""
    if which != "graphed" and which not in _MODES:
        raise ValueError(f'no baseline is called "{which}": default, tuned or graphed')
    try:
        with _within(seconds) if seconds else contextlib.nullcontext():
            make_ready(task, which)
        return True, task.compile_reason if which == "default" else ""
    except _TooLong:
        torch._dynamo.reset()
        reason = f"it takes longer than {seconds:.0f} s"
        if which == "default":
            without_compile(task, reason)
        return which == "default", reason
    except Exception as error:
        reason = str(error) if isinstance(error, Refused) else f"it raised {_reason(error)}"
        if which == "default":
            if _lacks_a_module(error):
                raise RuntimeError(f"torch.compile: {reason}") from None
            without_compile(task, reason)
        return which == "default", reason
