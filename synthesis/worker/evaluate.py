# SPDX-License-Identifier: Apache-2.0
# What a child does with a candidate: loads, runs, checks, times and compiles it. Each step says when it begins.
import random
import statistics
import sys
import time
import types

import numpy as np
import torch

from cost import Survey
from outputs import check_informative, check_values, flat, same
from reasons import Rejected
from used import Calls

_DETERMINISTIC = {"cpu": 0.0, "cuda": 1e-5}  # sums by atomic additions are honest
_COMPILED = 1e-3
_TIMED, _TIMED_S = 7, 0.1


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
    init = module.get_init_inputs()
    if len(init) == 2 and isinstance(init[0], (list, tuple)) and isinstance(init[1], dict):
        return module.Model(*init[0], **init[1]).to(device)
    return module.Model(*init).to(device)


class Evaluation:
    """One candidate in its own process."""

    def __init__(self, code, ops, settings, say):
        self.ops, self.settings, self.device, self.say = ops, settings, settings["device"], say
        self.module = _loaded(code)
        self.spent, self.began = {}, None

    def step(self, name):
        now = time.perf_counter()
        if self.began:
            self.spent[self.began[0]] = round(now - self.began[1], 6)
        self.began = (name, now)
        if name:
            self.say({"step": name})

    def inputs(self, number):
        seed_all(number)
        return [v.to(self.device) if isinstance(v, torch.Tensor) else v for v in self.module.get_inputs()]

    def run(self):
        """All steps; the facts of an accepted candidate."""
        with torch.no_grad():
            self.step("eager")
            self.eager()
            self.step("determinism")
            self.determinism()
            self.step("outputs")
            self.informative()
            self.step("time")
            facts = {**self.facts(), "eager_ms": self.window()}
            self.step("compile")
            facts["compile_ms"] = self.compiled()
            self.step(None)
        return {**facts, "spent": self.spent}

    def eager(self):
        self.model = _built(self.module, self.device)
        self.sample = self.inputs(1)
        kept = [v.clone() if isinstance(v, torch.Tensor) else v for v in self.sample]
        self.calls = Calls(self.model)
        with Survey() as survey, self.calls:
            result = self.model(*self.sample)
        self.outs = flat(result)
        check_values(self.outs)
        self.cost = survey.result()
        if self.cost.random:
            raise Rejected("random", self.cost.random)
        for before, after in zip(kept, self.sample):
            if isinstance(before, torch.Tensor) and not torch.equal(before, after):
                raise Rejected("changes_input")
        if unused := self.calls.unused(self.ops):
            raise Rejected("op_unused", unused)

    def determinism(self):
        """Other states of the generators, and a second construction from the same ones, must not matter."""
        seed_all(99)
        again = flat(self.model(*self.sample))
        rebuilt = flat(_built(self.module, self.device)(*self.inputs(1)))
        for outs in (again, rebuilt):
            if not same(self.outs, outs, _DETERMINISTIC[self.device]):
                raise Rejected("nondeterministic")

    def informative(self):
        others = [flat(self.model(*self.inputs(number))) for number in (2, 3)]
        if any(same(self.outs, other) for other in others) or same(*others):
            raise Rejected("constant")
        check_informative(self.outs, self.sample)

    def _time_ms(self, call):
        call()
        times, began = [], time.perf_counter()
        while len(times) < _TIMED and (not times or time.perf_counter() - began < _TIMED_S):
            times.append(self._once_ms(call))
        return statistics.median(times)

    def _once_ms(self, call):
        if self.device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3

    def window(self):
        taken = self._time_ms(lambda: self.model(*self.sample))
        low, high = self.settings["window"]
        self.say({"eager_ms": taken})
        if not low <= taken <= high:
            raise Rejected("too_fast" if taken < low else "too_slow", f"{taken:.4g} ms")
        return round(taken, 5)

    def compiled(self):
        backend = self.settings["compile"]
        if backend == "none":
            return None
        try:
            model = torch.compile(self.model, backend=backend)
            outs = flat(model(*self.sample))
        except Rejected:
            raise
        except Exception as error:
            raise Rejected("compile_raises", str(error).split("\n")[0]) from None
        if not same(outs, self.outs, _COMPILED):
            raise Rejected("compile_differs")
        return round(self._time_ms(lambda: model(*self.sample)), 5)

    def facts(self):
        shapes = [f"{str(v.dtype)[6:]}{list(v.shape)}" for v in self.sample if isinstance(v, torch.Tensor)]
        return {"operators": list(self.cost.operators), "shapes": shapes, "used": sorted(self.calls.names)}
