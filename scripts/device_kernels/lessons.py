# SPDX-License-Identifier: Apache-2.0
# Conversations of contract device about one task, with correct kernels (most of them slow), wrong and broken ones.
import re
from dataclasses import replace

from demonstrations.conversation import FILES_LINE, Conversation, file_block, verified

from .rows import RowKernel
from .styles import STYLES

KERNELS, PLAN = "solution/kernels.cu", "solution/plan.toml"

RIGHT_SHARE = 0.40  # of submissions; the rest lets reinforcement learning improve much
WRONG_SHARE = 0.75  # of those that are not correct; the others do not compile
SLOW_SHARE = 0.75  # of the correct ones: one element per load, or rows read again in each pass
VERIFIED_SHARE = 0.15  # of the right ones
COMPOSED_SHARE = 0.75  # of conversations, if composed tasks are passed

# (text, replacement): the replacement of the text compiles and is wrong.
MISTAKES = [
    ("lane = 16;", "lane = 8;"),
    ("half = threads / 2;", "half = threads / 4;"),
    ("int warp = 1;", "int warp = 2;"),
    ("sum / columns", "sum / threads"),
    ("squares / columns", "squares / threads"),
    ("0.70710678f", "1.41421356f"),
    ("1 / (1 + expf(-e))", "1 / (1 + expf(e))"),
    ("e / (1 + expf(-e))", "e / (1 + expf(e))"),
    ("e = expf(e - largest)", "e = expf(e)"),
    ("largest + logf(total)", "logf(total)"),
    ("(e - largest) - shift", "e - shift"),
    ("e = tanhf(e)", "e = tanhf(-e)"),
    ("e = fmaxf(e, 0)", "e = fmaxf(e, 1)"),
]


def mistaken(source):
    """All sources with one mistake."""
    return [source.replace(right, wrong) for right, wrong in MISTAKES if right in source]


def forgetful(task, style):
    """All kernels that omit one statement although their head lists it."""
    said = RowKernel(task, style).head()
    sources = []
    for place in range(len(task.statements)):
        less = replace(task, statements=task.statements[:place] + task.statements[place + 1 :])
        try:
            kernel = RowKernel(less, style)
            sources.append(said + kernel.text().removeprefix(kernel.head()))
        except ValueError:  # a later statement needs this one
            continue
    return sources


def broken(source, rng):
    """The source without its last brace, or without a line that declares a name used later."""
    lines = source.splitlines()
    declared = [i for i, line in enumerate(lines) if re.match(r"  const (int row|long long at|float \w+) ", line)]
    lines.pop(rng.choice([*declared, len(lines) - 1]))
    return "\n".join(lines) + "\n"


def fates(right):
    """Shares of submissions, of which `right` (0 to 1) are correct."""
    wrong = (1 - right) * WRONG_SHARE
    return {"right": right, "wrong": wrong, "broken": 1 - right - wrong}


class Kernels:
    """The kernels of one task in all styles. Raises ValueError for a task that is not over rows."""

    def __init__(self, task):
        self.task = task
        kernels = [RowKernel(task, style) for style in STYLES.values()]
        self.slow = [k for k in kernels if k.style.width == 1 or k.style.keep == "reread"]
        self.fast = [k for k in kernels if k not in self.slow]
        for kernel in kernels:
            kernel.text()  # raises if no kernel can have a statement at its place


class Lessons:
    """Draws conversations for one task, only by `rng`. Raises ValueError for a task that is not over rows."""

    def __init__(self, task, rng, right=RIGHT_SHARE, answers=0.0, composed=()):
        """`right`: share of correct submissions; `answers`: share of single answers with both files; `composed`:
        the Kernels of further tasks; most conversations are then about one of these."""
        self.id, self.rng, self.answers, self.composed = task.id, rng, answers, composed
        self.fates, self.own = fates(right), Kernels(task)

    def pick(self, shares):
        return self.rng.choices(list(shares), list(shares.values()))[0]

    def wrong(self, task, kernel):
        return self.rng.choice([*mistaken(kernel.text()), *forgetful(task, kernel.style)])

    def draw(self):
        more = self.composed and self.rng.random() < COMPOSED_SHARE
        kernels = self.rng.choice(self.composed) if more else self.own
        fate, task = self.pick(self.fates), kernels.task
        kernel = self.rng.choice(kernels.slow if self.rng.random() < SLOW_SHARE else kernels.fast)
        source = kernel.text()
        if fate == "wrong":
            source = self.wrong(task, kernel)
        elif fate == "broken":
            source = broken(source, self.rng)
        if self.answers and self.rng.random() < self.answers:
            talk = Conversation(self.id).user(task.prompt(task.extents) + FILES_LINE)
            return talk.says(f"{file_block(source, KERNELS)}\n{file_block(kernel.plan(), PLAN)}").record()
        talk = Conversation(self.id).user(task.prompt(task.extents))
        talk.writes(source, KERNELS).writes(kernel.plan(), PLAN)
        if fate == "right" and self.rng.random() < VERIFIED_SHARE:
            talk.asks("verify", verified(self.rng))
        return talk.submits().record()
