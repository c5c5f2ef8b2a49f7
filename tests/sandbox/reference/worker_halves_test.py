# SPDX-License-Identifier: Apache-2.0
# Tasks of half types: the errors of honest kernels and of wrong ones, in units of the bound. No GPU is needed.
import unittest

import torch
from worker_bound import DISTRIBUTIONS, bound_of, error_of, spread_of
from worker_support import code, device, tasks

import modes
import orders
from mutants import mutants_of

LEAST_DISTRIBUTIONS, HONEST = 3, 0.8  # as in ingest.hpp
WIDTH = 512
LINEAR = "self.w = nn.Parameter(torch.randn(96, 512) / 16); self.b = nn.Parameter(torch.randn(96))"
GAIN = "self.g = nn.Parameter(torch.rand(512) + 0.5)"
GAINS = GAIN + "; self.b = nn.Parameter(torch.randn(512))"
# Maps a name to forward and attributes.
CHAINS = {
    "layer norm": ("return F.layer_norm(a[0], (512,), self.g, self.b)", GAINS),
    "layer norm by parts": ("x = a[0] - a[0].mean(-1, keepdim=True); v = (x * x).mean(-1, keepdim=True)"
                            "; return x * torch.rsqrt(v + 1e-3) * self.g + self.b", GAINS),
    "RMS norm": ("s = torch.rsqrt(a[0].pow(2).mean(-1, keepdim=True) + 1e-3); return a[0] * s * self.g", GAIN),
    "RMS norm in float32": ("x = a[0].float(); s = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3)"
                            "; return (x * s).to(a[0].dtype) * self.g", GAIN),
    "biased softmax": ("return torch.softmax(a[0] * self.g + self.b, -1)", GAINS),
    "softmax": ("return torch.softmax(a[0] * 0.125, -1)", "pass"),
    "GELU gate": ("return F.gelu(a[0] + self.b) * a[0] * self.g", GAINS),
    "linear": ("return F.linear(a[0], self.w, self.b)", LINEAR),
    "linear, RELU, product": ("return torch.relu(F.linear(a[0], self.w, self.b)) @ self.w", LINEAR),
    "attention": ("x = a[0].view(128, 8, 64).transpose(0, 1)[None]"
                  "; return F.scaled_dot_product_attention(x * 0.5, x, x)", "pass"),
    "root": ("return torch.sqrt(a[0].abs()) * self.g", GAIN),
    "sum": ("return a[0].sum(-1)", "pass"),
    "loss of logits": ("return F.binary_cross_entropy_with_logits(a[0], torch.sigmoid(a[0].flip(0)), reduction='none')",
                       "pass"),
}
IN_FLOAT32 = {"RMS norm in float32", "attention"}  # tasks that do not round each operator's output
OVERFLOWING = {"wide", "huge"}  # sets that may overflow halves with five bits of exponent
HALVES = {"f16": torch.float16, "bf16": torch.bfloat16}


class Rounding(torch.utils._python_dispatch.TorchDispatchMode):
    """Float32 inside each operator, with a rounded output."""

    def __init__(self, narrow, sums):
        super().__init__()
        self.narrow, self.sums = narrow, sums

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = None if kwargs else self.sums.replace(func, args)
        out = func(*args, **(kwargs or {})) if out is None else out
        moved = modes.op.is_view(func) or not isinstance(out, torch.Tensor) or not out.is_floating_point()
        return out if moved else out.to(self.narrow).float()


class Judged:
    """One task on one set of contents."""

    def __init__(self, task, wide, values, parameters):
        self.task, self.wide, self.parameters = task, wide, parameters
        self.inputs = [values.to(task.sample[0].dtype)]
        self.exact = task.reference(self.inputs, self.parameters)
        spread = spread_of(task, self.inputs, self.parameters, self.exact)
        self.bounds = [bound_of(s, e, self.inputs[0].dtype) for s, e in zip(spread, self.exact)]

    def error(self, outs):
        return error_of(outs, self.exact, self.bounds)

    def finite(self):
        return all(bool(torch.isfinite(e).all()) for e in self.exact)

    def _in_float32(self, mode):
        outs = self.wide.run_in(mode, [v.float() for v in self.inputs], [p.float() for p in self.parameters])
        return [o.to(self.inputs[0].dtype) for o in outs]

    def honest(self, each_rounded):
        """Maps a name to outputs."""
        made = {"eager": self.task.run_in(None, self.inputs, self.parameters), "float32": self._in_float32(None)}
        for name, way in orders.HONEST.items():
            sums = orders.SumsAndProducts(*way)
            made[name] = self._in_float32(orders.Ordered(sums))
            if each_rounded:
                made[name + ", each rounded"] = self._in_float32(Rounding(self.inputs[0].dtype, sums))
        return made

    def mutants(self):
        right = lambda: self.task.run_in(None, self.inputs, self.parameters)  # noqa: E731
        for name, make in mutants_of(self.task).items():
            outs = make(self.task, self.inputs, self.parameters, right)
            if outs is not None:
                yield name, outs


def loaded(chain, narrow):
    forward, init = CHAINS[chain]
    kind = str(narrow)
    init = init if init == "pass" else f"{init}; self.to({kind})"
    return tasks.Task(code(forward, f"[torch.randn(128, {WIDTH}).to({kind})]", init), device("cpu"))


class HalvesTest(unittest.TestCase):
    def measured(self, chain, narrow):
        """Maps each kept distribution to the largest error of honest kernels, and of each mutant."""
        torch.manual_seed(5)
        task, wide = loaded(chain, narrow), loaded(chain, torch.float32)
        parameters = [t.detach().clone() for _, t in task.named]
        honest, mutants = {}, {}
        for name, draw in DISTRIBUTIONS.items():
            judged = Judged(task, wide, draw((128, WIDTH)), parameters)
            errors = {way: judged.error(outs) for way, outs in judged.honest(chain not in IN_FLOAT32).items()}
            # As in ingest: drops a distribution on which eager itself overflows.
            if narrow == torch.float16 and name in OVERFLOWING and not (judged.finite() and errors["eager"] <= 1):
                continue
            honest[name] = errors
            for mutant, outs in judged.mutants():
                mutants.setdefault(mutant, {})[name] = judged.error(outs)
        return honest, mutants

    def test_honest_kernels_pass_and_wrong_ones_fail(self):
        for kind, narrow in HALVES.items():
            for chain in CHAINS:
                with self.subTest(kind=kind, chain=chain):
                    self.judge(kind, chain, narrow)

    def judge(self, kind, chain, narrow):
        honest, mutants = self.measured(chain, narrow)
        worst = max((e, name, way) for name, errors in honest.items() for way, e in errors.items())
        caught = {mutant: max(errors.values()) for mutant, errors in mutants.items()}
        least = min((e, mutant) for mutant, e in caught.items())
        lower = f"{caught['bf16']:8.2f}" if "bf16" in caught else "       -"
        print(f"{kind:4} {chain:24} sets {len(honest)}  honest {worst[0]:.2f} ({worst[1]}, {worst[2]})  "
              f"bf16 {lower}  least of the wrong {least[0]:.2f} ({least[1]})")
        self.assertGreaterEqual(len(honest), LEAST_DISTRIBUTIONS)
        self.assertLessEqual(worst[0], HONEST, worst)
        self.assertGreater(least[0], 1.0, least)


if __name__ == "__main__":
    unittest.main()
