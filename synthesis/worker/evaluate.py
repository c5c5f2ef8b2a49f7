# SPDX-License-Identifier: Apache-2.0
# What a child does with a candidate: loads, runs, checks, times and compiles it. Each step reports its start.
import contextlib
import gc
import random
import signal
import statistics
import sys
import time
import types

import numpy as np
import torch
import torch._dynamo  # the dispatch mode needs it; loaded once here, not in each child

from child import FAR_ABOVE
from cost import Survey, estimate_ms, roofline_ms
from outputs import check_informative, check_values, flat, place_of, same
from reasons import Rejected
from used import Calls, unused
from windows import WITHIN

_DETERMINISTIC = {"cpu": 0.0, "cuda": 1e-5}  # sums by atomic additions are honest
_COMPILED = 1e-3
_TRACKED = 1e-3  # while calls are tracked, torch computes whole layers with other operators
_TIMED, _TIMED_S = 7, 0.1
_TIMED_LEAST = 3  # calls, however long they take: a stalled machine must not decide
_FAR_OFF = 64  # no estimate of an honest task errs by so much (docs/synthesis.md, Figures)


def release():
    """Frees what a task left in this process: compiled code, and memory of a GPU."""
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()


def seed_all(number):
    """Seeds every generator that a task may draw from."""
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def _loaded(code):
    module = types.ModuleType("task")
    sys.modules["task"] = module
    exec(compile(code, "task.py", "exec", dont_inherit=True), module.__dict__)
    return module


def _built(module, device):
    seed_all(0)
    with torch.device(device):
        return _constructed(module, module.get_init_inputs()).to(device)


def _constructed(module, init):
    if len(init) == 2 and isinstance(init[0], (list, tuple)) and isinstance(init[1], dict):
        return module.Model(*init[0], **init[1])
    return module.Model(*init)


def _check_within(low, found_ms, high):
    if not low <= found_ms <= high:
        raise Rejected("too_fast" if found_ms < low else "too_slow", f"{found_ms:.4g} ms")


def signature_of(facts):
    """What a task computes, however it is written: its operators, sorted, and the shapes of its inputs."""
    return ",".join(sorted(facts["operators"])) + " | " + ", ".join(facts["shapes"])


def survey_on_meta(code):
    """The signature of a program, found without computing anything."""
    return _signature_on_meta(_loaded(code))


def _signature_on_meta(module):
    with torch.no_grad(), torch.device("meta"):
        model, inputs = _built(module, "meta"), _moved(module.get_inputs(), "meta")
        with Survey() as survey:
            model(*inputs)
    return signature_of({"operators": survey.operators, "shapes": shapes_of(inputs)})


def _moved(values, device):
    return [v.to(device) if isinstance(v, torch.Tensor) else v for v in values]


def shapes_of(values):
    """Element type and sizes of the tensors among the values."""
    return [f"{str(v.dtype)[6:]}{list(v.shape)}" for v in values if isinstance(v, torch.Tensor)]


class Evaluation:
    """One candidate, in a process that forked for it or for it among others."""

    def __init__(self, code, ops, settings, say):
        self.ops, self.settings, self.device, self.say = ops, settings, settings["device"], say
        say("load")
        self.module = _loaded(code)

    def inputs(self, number):
        """Fresh inputs, drawn on the device itself if the task allows that."""
        seed_all(number)
        with torch.device(self.device):
            return _moved(self.module.get_inputs(), self.device)

    def run(self):
        """All steps but the compiler's; the facts of an accepted candidate."""
        self.start()
        with torch.no_grad():
            self.begin("eager")
            self.eager()
            self.begin("determinism")
            self.determinism()
            self.begin("outputs")
            self.informative()
            self.begin("time")
            return {**self.facts(), "eager_ms": self.window(), "roofline_ms": self.roofline()}

    def run_compiled(self):
        """The time of the compiled model, whose outputs equal eager's."""
        self.start()
        with torch.no_grad():
            self.begin("check")
            self.model = _built(self.module, self.device)  # without the hooks of `eager`
            self.sample = self.inputs(1)
            self.outs = flat(self.model(*self.sample))
            return {"compile_ms": self.compiled()}

    def begin(self, step):
        """Reports that a step starts, once a GPU has done the work of the previous step: another process may have the
        next turn."""
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        self.step = step
        self.say(step)

    def start(self):
        """Starts CUDA, which takes seconds if many processes do it at once."""
        if self.device == "cuda" and not torch.cuda.is_initialized():
            self.say("start")
            torch.zeros(1, device="cuda")

    def run_all(self):
        """All steps; the facts of an accepted candidate with the time of its compiled model."""
        return {**self.run(), **self.run_compiled()}

    def eager(self):
        self.model = _built(self.module, self.device)
        self.sample = self.inputs(1)
        kept = [v.clone() if isinstance(v, torch.Tensor) else v for v in self.sample]
        calls = Calls(self.model)
        with Survey() as survey, calls, self._first_call():
            result = self.model(*self.sample)
        self.outs = flat(result)
        check_values(self.outs)
        self.cost, (self.used, self.functions) = survey.result(), calls.used(self.outs)
        if self.cost.random:
            raise Rejected("random", self.cost.random)
        for before, after in zip(kept, self.sample):
            if isinstance(before, torch.Tensor) and not torch.equal(before, after):
                raise Rejected("changes_input")
        if self.settings["signatures"] & {signature_of(self.facts()), self.signature_on_meta()}:
            raise Rejected("same_signature")

    @contextlib.contextmanager
    def _first_call(self):
        """Ends this process if the call takes far longer than the window: the other steps call again. On a CPU a load
        by other processes does not count."""
        timer = signal.ITIMER_REAL if self.device == "cuda" else signal.ITIMER_PROF
        signal.setitimer(timer, FAR_ABOVE * self.settings["window"][1] / 1e3)
        try:
            yield
        finally:
            signal.setitimer(timer, 0)

    def signature_on_meta(self):
        """Computed as for known programs: devices divide some layers, such as an LSTM, into other operators."""
        try:
            return _signature_on_meta(self.module) if self.settings["signatures"] else None
        except Exception:  # a task may need values
            return None

    def determinism(self):
        """Other states of the generators, and a second construction from the same ones, must not matter."""
        seed_all(99)
        tracked, self.outs = self.outs, flat(self.model(*self.sample))
        rebuilt = flat(_built(self.module, self.device)(*self.inputs(1)))
        if not same(self.outs, rebuilt, _DETERMINISTIC[self.device]) or not same(self.outs, tracked, _TRACKED):
            raise Rejected("nondeterministic")

    def informative(self):
        others = [flat(self.model(*self.inputs(number))) for number in (2, 3)]
        if any(same(self.outs, other) for other in others) or same(*others):
            raise Rejected("constant", "every output" if len(self.outs) > 1 else "the output")
        for number, out in enumerate(self.outs):
            if all(len(other) > number and same([out], [other[number]]) for other in others):
                raise Rejected("constant", place_of(number, out))
        check_informative(self.outs, self.sample)
        if missing := unused(self.ops, self.used, self.functions):  # outputs without any operator are rejected above
            raise Rejected("op_unused", missing)

    def _times_ms(self, call):
        """A call's median wall time, its least, and the least CPU time, which other processes hardly disturb."""
        self._once_ms(call)
        times, began = [], time.perf_counter()
        while len(times) < _TIMED_LEAST or len(times) < _TIMED and time.perf_counter() - began < _TIMED_S:
            times.append(self._once_ms(call))
        walls, threads = zip(*times)
        return statistics.median(walls), min(walls), min(threads)

    def _once_ms(self, call):
        if self.device == "cuda":
            torch.cuda.synchronize()
        start, thread = time.perf_counter(), time.thread_time()
        call()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3, (time.thread_time() - thread) * 1e3

    def window(self):
        """The eager time, if it is in the window.

        For a task that was composed for a CPU the estimate decides, so that the set of tasks depends on no clock;
        for others the time on the device. Wall time refutes what is far off: a wrong estimate, or a task that waits.
        """
        typical, least, thread = self._times_ms(lambda: self.model(*self.sample))
        low, high = self.settings["window"]
        if self.device == "cuda" and not self.settings["foreign"]:
            low, high = low * WITHIN, high / WITHIN
        if self.device == "cpu":
            deciding = thread if self.settings["foreign"] else estimate_ms(self.cost, self.device)
            _check_within(low, deciding, high)
            low, high = deciding / _FAR_OFF, deciding * _FAR_OFF
        _check_within(low, least, high)
        return round(typical, 5)

    def _compiler(self):
        """The compiler as a separate step, within the one that calls it. What it makes is launched after it, also if
        Triton then chooses a configuration."""
        compiler = torch._dynamo.lookup_backend(self.settings["compile"])

        def compiled(graph, inputs):
            caller = self.step
            self.begin("compile")
            made = compiler(graph, inputs)
            self.begin(caller)
            return made
        return compiled

    def compiled(self):
        try:
            model = torch.compile(self.model, backend=self._compiler())
            outs = flat(model(*self.sample))
        except Rejected:
            raise
        except Exception as error:
            raise Rejected("compile_raises", str(error).split("\n")[0]) from None
        if not same(outs, self.outs, _COMPILED):
            raise Rejected("compile_differs")
        self.begin("time")
        return round(self._times_ms(lambda: model(*self.sample))[0], 5)

    def roofline(self):
        """Milliseconds below which no kernel can be: each input, parameter and output moved once."""
        tensors = [v for v in self.sample if isinstance(v, torch.Tensor)]
        tensors += [*self.model.parameters(), *self.outs]
        essential = sum(t.numel() * t.element_size() for t in tensors)
        return round(roofline_ms(self.cost, essential, self.device), 6)

    def facts(self):
        """What is known of the task without a clock."""
        return {"operators": list(self.cost.operators), "shapes": shapes_of(self.sample),
                "used": sorted(self.used)}
