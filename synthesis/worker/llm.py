# SPDX-License-Identifier: Apache-2.0
# The composer `llm`: asks a language model for one task per index. Its answers are treated as untrusted texts.
#
# Requests run in threads of the process that has the network; workers get rows, as they do from an import.
import collections
import queue
import random
import re
import threading

from asking import Failed
from pipeline import GaveUp
from shares import SHARES, kinds_of

_UNANSWERED = 20  # indices without an answer, one after another, after which the endpoint counts as down
_BLOCK = re.compile(r"```[a-zA-Z]*\n(.*?)(?:```|\Z)", re.DOTALL)
_PROMPT = """Write one Python file that defines a PyTorch task in this form:

import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self): ...
    def forward(self, x): ...

def get_inputs(): return [...]       # fresh random tensors on {device}
def get_init_inputs(): return []     # arguments of Model

forward calls each of these operators and uses the result: {operators}.
Rules: the same inputs give the same outputs, so no dropout and no random operator in forward. Outputs depend on the
inputs, are finite, and are neither constant nor copies of an input. Inputs are not changed. One call of forward takes
about {target_ms:.2g} ms on a {device}, so choose sizes accordingly. No files, network, processes or prints.
Answer with the file alone, in one ```python block."""


def text_in(answer):
    """The first block of code in an answer, or all of it."""
    found = _BLOCK.search(answer)
    return found[1] if found else answer


class Llm:
    """One task per index, treated as untrusted."""

    def __init__(self, model, seeds, settings):
        """`model`: has `ask(prompt)`, which raises Failed or GaveUp."""
        self.model, self.settings, self.unanswered = model, settings, 0
        self.kinds = kinds_of(settings["shares"] or SHARES)
        self.torch = [s.name for s in seeds if s.family != "transformers"]
        self.blocks = [s.name for s in seeds if s.family == "transformers"] or self.torch

    def row(self, index):
        """The row of that index; one without code names the reason."""
        operators = self.operators(index)
        try:
            code = text_in(self.model.ask(self.prompt(operators)))
            return {"code": code, "ops": operators, "data_source": "llm"}
        except Failed as error:
            return {"code": None, "reason": "no_answer", "problem": str(error)}

    def count(self, row):
        """Raises GaveUp after too many rows in a row without an answer."""
        self.unanswered = self.unanswered + 1 if "problem" in row else 0
        if self.unanswered >= _UNANSWERED:
            raise GaveUp(f"{self.model.url} gave no answer {_UNANSWERED} times: {row['problem']}")

    def operators(self, index):
        """The operators that the task with that index is asked to use."""
        kind, rng = self.kinds[index % len(self.kinds)], random.Random(f"{self.settings['seed']}/llm/{index}")
        if kind == "transformers":
            return [rng.choice(self.blocks)]
        return rng.sample(self.torch, min(int(kind), len(self.torch)))

    def prompt(self, operators):
        """The prompt for the model."""
        low, high = self.settings["window"]
        return _PROMPT.format(device=self.settings["device"], operators=", ".join(operators),
                              target_ms=(low * high) ** 0.5)


class Rows:
    """Rows of an Llm in the order of their indices; at most `requests` are in flight."""

    def __init__(self, llm, start=0, requests=8):
        self.llm, self.index, self.requests = llm, start, requests
        self.todo, self.under_way = queue.SimpleQueue(), collections.deque()
        for _ in range(requests):
            threading.Thread(target=self._serve, daemon=True).start()

    def __iter__(self):
        return self

    def __next__(self):
        while len(self.under_way) < self.requests:
            self.under_way.append(queue.SimpleQueue())
            self.todo.put((self.index, self.under_way[-1]))
            self.index += 1
        row = self._answer(self.under_way.popleft())
        if isinstance(row, Exception):
            raise row
        self.llm.count(row)
        return row

    def _answer(self, place):
        try:
            return place.get(timeout=2 * self.llm.model.most_s)
        except queue.Empty:  # its thread is lost
            return {"code": None, "reason": "no_answer", "problem": "no end"}

    def _serve(self):
        while True:
            index, answer = self.todo.get()
            try:
                answer.put(self.llm.row(index))
            except Exception as error:
                answer.put(error)
