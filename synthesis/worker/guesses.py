# SPDX-License-Identifier: Apache-2.0
# Operators without a rule: a few usual ways of calling them are probed, and the first that works is kept.
import inspect

import torch
import torch.nn.functional

from assemble import Plan, Step, Unfit, assemble
from probe import probed
from seeds import Seed
from used import short

_PLACES = (("torch", torch, "torch"), ("torch.nn.functional", torch.nn.functional, "F"),
           ("torch.special", torch.special, "torch.special"), ("torch.linalg", torch.linalg, "torch.linalg"),
           ("torch.fft", torch.fft, "torch.fft"))
_CALLS = (("{p}({{x}})", ()), ("{p}({{x}}, dim=-1)", ()), ("{p}({{x}}, {{y}})", ("same",)),
          ("{p}({{x}}).float()", ()), ("{p}({{x}}, {{y}}).float()", ("same",)), ("{p}({{x}}, 2)", ()),
          ("{p}({{x}}, {{y}}, {{z}})", ("same", "same")))
# Copies without arithmetic, and what serves quantisation, sparse tensors, other devices or torch itself.
_SKIPPED = ("copy", "quant", "sparse", "mkldnn", "cudnn", "miopen", "sym_", "is_", "as_", "_like", "dropout", "empty",
            "clone", "detach", "native_", "unsafe", "resolve", "conj", "real", "positive", "assert", "handle", "vmap",
            "compile", "save", "seed", "_cell", "fbgemm", "batch_norm_", "tensor", "matrix_rank")


def candidates():
    """Pairs (name, how it is spelled in a task) of all operators that are worth a guess."""
    for prefix, place, spelled in _PLACES:
        for name in sorted(vars(place)):
            value = getattr(place, name)
            if callable(value) and not inspect.isclass(value) and not name.startswith("_") and not name.endswith("_") \
                    and not any(part in name for part in _SKIPPED):
                yield f"{prefix}.{name}", f"{spelled}.{name}"


def _operators(seed):
    operands = tuple("input" for _ in seed.operands)
    return assemble(Plan((Step(seed, 8, operands),), (16,)), 8)[1].operators


def guess(name, spelled, known):
    """The seed of an operator; None if no call works, or its short name or what it does is in `known`."""
    for call, operands in _CALLS:
        seed = Seed(name, "guessed", call.format(p=spelled), operands=operands, ranks=(2,))
        try:
            operators = _operators(seed)
        except (Unfit, Exception):
            continue
        if not operators or short(operators[0]) != short(name) and short(operators[0]) in known:
            return None  # only a view, or another name of a known operator
        if (found := probed(seed)[0]) is not None:
            return found
    return None
