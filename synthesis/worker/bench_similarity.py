# SPDX-License-Identifier: Apache-2.0
# Measures the similarity index: milliseconds per question on one core, over programs made by swapping operators.
import random
import statistics
import sys
import time

from similarity import Index
from syntax import model_tokens, parsed

_TEXT = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
{made}
    def forward(self, x, x1):
{body}        return v
def get_inputs(): return []
def get_init_inputs(): return []
"""


def _program(rng):
    """A program of one to nine steps in the form that the composer writes."""
    made, body = "        pass\n", ""
    for at in range(rng.randrange(1, 10)):
        name = f"op{rng.randrange(500)}"
        form = rng.randrange(4)
        if form == 0:
            made += f"        self.m{at} = nn.{name}({rng.randrange(9)}, {rng.randrange(9)})\n"
        calls = (f"self.m{at}(x)", f"torch.{name}(x, dim=-1)", f"torch.{name}(x, x1)", f"F.{name}(x, (3,))[0]")
        body += f"        v = {calls[form]}\n"
    return model_tokens(parsed(_TEXT.format(made=made, body=body)))


def _shuffled(tokens, rng):
    """The same tokens with the statements in another order: counts do not distinguish such programs."""
    starts = [at for at, token in enumerate(tokens) if token == "Assign"]
    pieces = [tokens[a:b] for a, b in zip([0, *starts], [*starts, len(tokens)])]
    rng.shuffle(pieces)
    return [token for piece in pieces for token in piece]


def _times(index, questions):
    for question in questions:
        began = time.thread_time()
        index.most_similar(question)
        yield (time.thread_time() - began) * 1e3


def main(count):
    """Prints the times of 300 questions of each kind."""
    rng, index = random.Random(0), Index()
    while len(index) < count:
        index.add(str(len(index)), _program(rng))
    questions = [_program(rng) for _ in range(300)]
    index.most_similar(questions[0])
    for name, asked in (("new", questions), ("shuffled", [_shuffled(q, rng) for q in questions])):
        times = sorted(_times(index, asked))
        print(f"{count} programs, {name} questions: median {statistics.median(times):.2f} ms, "
              f"p99 {times[len(times) * 99 // 100]:.2f} ms, worst {times[-1]:.2f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
