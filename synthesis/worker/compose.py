# SPDX-License-Identifier: Apache-2.0
# The composer `rules`: only the run's seed and the candidate's index decide a candidate.
import dataclasses
import random

from assemble import Plan, Step, Unfit, assemble, text_of
from cost import MOST_BYTES, estimate_ms, nice
from seeds import fits
from shares import SHARES, kinds_of

_TAILS = {1: [()], 2: [(n,) for n in (256, 384, 512, 768, 1000, 1024, 2048)],
          3: [(c, n) for c in (16, 32, 64, 96) for n in (64, 128, 256)],
          4: [(c, h, h) for c in (8, 16, 32) for h in (16, 28, 32, 48)],
          5: [(c, d, d, d) for c in (4, 8, 16) for d in (8, 12)]}
_FREE = (32, 48, 64, 96, 128, 192, 256)
_TRIES, _PROBE = 60, 8  # seeds tried for one place; the leading size with which they are tried
_ATTEMPTS = 8  # programs tried for one index
_AIM = {"cpu": 0.45, "cuda": 0.2}  # target of sizes in the window, on a logarithmic scale; a GPU's tensors are large
_MOST_LEADING = 1 << 22


@dataclasses.dataclass
class Candidate:
    """A task that has not been judged."""

    code: str
    ops: list
    source: str
    rescale: object = None  # returns the candidate with a multiple of the original work, or None
    foreign: bool = False  # whether the text comes from elsewhere


class Rules:
    """Composes candidates from a table of seeds."""

    def __init__(self, seeds, seed, device="cpu", window=(0.05, 20.0), shares=None):
        self.seed, self.device, self.shares = seed, device, shares or SHARES
        self.target_ms = window[0] * (window[1] / window[0]) ** _AIM[device]
        self.kinds = kinds_of(self.shares)
        self.torch = [s for s in seeds if s.family != "transformers"]
        self.blocks = [s for s in seeds if s.family == "transformers"]

    def candidate(self, index):
        """The candidate with that index. Raises Unfit if all attempts fail."""
        kind, problem = self.kinds[index % len(self.kinds)], None
        for attempt in range(_ATTEMPTS):
            rng = random.Random(f"{self.seed}/{index}/{attempt}")
            try:
                return self._sized(self._plan_of(rng, index, kind, first=attempt == 0))
            except Unfit as error:
                problem = error
        raise problem

    def _plan_of(self, rng, index, kind, first):
        if kind == "transformers":
            return self._block_plan(rng)
        return self._plan(rng, self._turn(index) if first else rng.choice(self.torch), int(kind))

    def _turn(self, index):
        """The first seed of a candidate: every seed comes first once in each round."""
        order = list(range(len(self.torch)))
        random.Random(f"{self.seed}/round/{index // len(order)}").shuffle(order)
        return self.torch[order[index % len(order)]]

    def _block_plan(self, rng):
        if not self.blocks:
            raise Unfit("the table holds no module of transformers")
        return Plan((self._step(rng, rng.choice(self.blocks), []),), rng.choice(_TAILS[3]))

    def _plan(self, rng, first, count):
        tail = rng.choice(_TAILS[rng.choice(first.ranks) if first.ranks else 2])
        plan = Plan((self._step(rng, first, []),), tail)
        values = list(assemble(plan, _PROBE)[0].values)
        while len(plan.steps) < count:
            plan, values = self._extended(rng, plan, values, last=len(plan.steps) + 1 == count)
        return plan

    def _step(self, rng, seed, earlier):
        return Step(seed, rng.choice(_FREE), tuple(self._operand(rng, seed, kind, earlier) for kind in seed.operands))

    @staticmethod
    def _operand(rng, seed, kind, earlier):
        """Where an operand of the same shape comes from: a residual, a further input or a broadcast parameter."""
        if kind != "same":
            return kind.split()[0]
        places = [*earlier, "input", "param"]
        broadcast = seed.family in ("binary", "ternary", "compare")
        return rng.choices(places, weights=[1] * len(earlier) + [2, 1 if broadcast else 0])[0]

    def _extended(self, rng, plan, values, last):
        shape, reached = values[-1].shape, plan.steps[-1].seed.range
        if not shape:
            raise Unfit("the value before the next operator is a single number")
        for _ in range(_TRIES):
            seed = rng.choice(self.torch)
            if len(shape) not in seed.ranks or not fits(reached, seed.domain):
                continue
            earlier = [i for i, v in enumerate(values[:-1]) if v.shape == shape]
            longer = Plan((*plan.steps, self._step(rng, seed, earlier)), plan.tail)
            try:
                found = assemble(longer, _PROBE)[0].values
            except Unfit:
                continue
            if last or found[-1].dim() > 0:
                return longer, found
        raise Unfit("no operator continues the program")

    def _sized(self, plan, work=1.0):
        """The candidate whose estimated time is `work` times the target."""
        plan, leading = self._leading(plan, self.target_ms * work)
        writer, cost = assemble(plan, leading)
        if cost.bytes > MOST_BYTES[self.device]:
            raise Unfit("the tensors are too large")
        names = [step.seed.name for step in plan.steps]
        return Candidate(text_of(plan, writer, self.device), names,
                         "transformers" if plan.steps[0].seed.family == "transformers" else "torch",
                         lambda factor: self._sized(plan, factor))

    def _leading(self, plan, wanted_ms):
        """The leading size that takes `wanted_ms`, and the plan with a smaller tail if even one row takes longer."""
        times = [self._time(plan, size) for size in (_PROBE, 8 * _PROBE)]
        slope = max(1e-9, (times[1] - times[0]) / (7 * _PROBE))
        leading = _PROBE + (wanted_ms - times[0]) / slope
        if leading < 1 and (smaller := _halved(plan)) != plan:
            return self._leading(smaller, wanted_ms)
        if "quadratic" in {tag for step in plan.steps for tag in step.seed.tags}:
            leading = min(leading, 8 * _PROBE * (wanted_ms / times[1]) ** 0.5)
        return plan, max(2, min(_MOST_LEADING, nice(leading)))

    def _time(self, plan, leading):
        return estimate_ms(assemble(plan, leading)[1], self.device)


def _halved(plan):
    """The plan with half of each size that is not already small."""
    steps = tuple(dataclasses.replace(step, free=_half(step.free)) for step in plan.steps)
    return Plan(steps, tuple(_half(size) for size in plan.tail))


def _half(size):
    return size // 2 if size >= 16 else size
