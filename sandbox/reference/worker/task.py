# SPDX-License-Identifier: Apache-2.0
# A task in KernelBench's format: its model, signature, and the ways the judge runs it.
import contextlib
import copy
import inspect
import types

import numpy as np
import torch

import modes
import operators as op
import orders
from correlated import CorrelatedErrors

DTYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "boolean",
}
REQUIRED = ("Model", "get_inputs", "get_init_inputs")
MAX_ELEMENTS = 2**26  # of all tensors of a signature together
CORRELATED_SHARE = 1 / 8  # of the largest possible error; the bound's constant multiplies it by 8 or more


class Refused(Exception):
    """The task is unfit; the text says where and why."""


@contextlib.contextmanager
def _place(where):
    try:
        yield
    except Refused:
        raise
    except BaseException as error:  # a task may raise anything, SystemExit too
        text = str(error).strip().split("\n")[0][:200]
        raise Refused(f"{where} raised {type(error).__name__}: {text}") from None


def _as_outputs(result):
    outs = list(result) if isinstance(result, (list, tuple)) else [result]
    for out in outs:
        if not isinstance(out, torch.Tensor):
            raise Refused(f"forward gave {type(out).__name__}; expected tensors")
    return outs


def _split_init(init):
    if len(init) == 2 and isinstance(init[0], (list, tuple)) and isinstance(init[1], dict):
        return list(init[0]), init[1]
    return list(init), {}


class Task:
    """Holds the module as written (float32) and a float64 copy; tensors of both are set from shared memory."""

    def __init__(self, code):
        self.module = types.ModuleType("task")
        with _place("the task's text"):
            exec(compile(code, "task.py", "exec"), self.module.__dict__)
        for name in REQUIRED:
            if not hasattr(self.module, name):
                raise Refused(f"the task defines no {name}")
        torch.manual_seed(0)
        with _place("get_init_inputs"):
            args, kwargs = _split_init(self.module.get_init_inputs())
        with _place("Model.__init__"):
            self.model = self.module.Model(*args, **kwargs)
        self._register_plain_tensors()
        self.model.requires_grad_(False)
        self.sample = self.draw(1)
        self.tensor_at = [i for i, v in enumerate(self.sample) if isinstance(v, torch.Tensor)]
        self._survey()
        self.double = copy.deepcopy(self.model).double()
        self.named = self._named(self.model)
        self.named_double = self._named(self.double)
        # Index tables, masks, …: kept aside, because a stay maps `named` to shared memory.
        self.fixed = [t.detach().clone() for _, t in self.named if not t.is_floating_point()]
        self.compiled = None

    def _register_plain_tensors(self):
        for module in self.model.modules():
            for key in [k for k, v in vars(module).items() if isinstance(v, torch.Tensor)]:
                value = vars(module)[key]
                delattr(module, key)
                module.register_buffer(key, value)

    def draw(self, seed):
        torch.manual_seed(seed)
        with _place("get_inputs"):
            return list(self.module.get_inputs())

    def _survey(self):
        inputs = [v.clone() if isinstance(v, torch.Tensor) else v for v in self.sample]
        before = {n: t._version for n, t in self.model.state_dict(keep_vars=True).items()}
        survey = modes.Survey()
        with _place("forward"), torch.no_grad(), survey:
            result = self.model(*inputs)
        outs = _as_outputs(result)
        if survey.random:
            raise Refused(f"forward is random: it calls {survey.random}")
        for at in self.tensor_at:
            if not torch.equal(inputs[at].nan_to_num(), self.sample[at].nan_to_num()):
                raise Refused(f"forward changes its input {at}")
        after = self.model.state_dict(keep_vars=True)
        self.private = {n for n, v in before.items() if after[n]._version != v}
        self.flops = survey.flops
        self._check_outputs(outs)

    def _check_outputs(self, outs):
        with _place("forward, called again"), torch.no_grad():
            again = _as_outputs(self.model(*self.sample))
            other = _as_outputs(self.model(*self.draw(2)))
        self.outputs = [torch.empty_like(o, device="meta") for o in outs]
        for i, (a, b, c) in enumerate(zip(outs, again, other)):
            if a.dtype not in DTYPES:
                raise Refused(f"output {i} has dtype {a.dtype}, which no contract carries")
            if not torch.equal(a.nan_to_num(), b.nan_to_num()):
                raise Refused(f"output {i} differs between two runs on equal inputs")
            if a.shape != c.shape:
                raise Refused(f"output {i} changes its shape with the inputs' values")
            if torch.equal(a.nan_to_num(), c.nan_to_num()):
                raise Refused(f"output {i} does not depend on the inputs")
            if a.numel() > 1 and bool((a == a.flatten()[0]).all()):
                raise Refused(f"output {i} is constant")

    def _named(self, model):
        named = list(model.named_parameters()) + list(model.named_buffers())
        return [(n, t) for n, t in named if n not in self.private and not n.endswith("num_batches_tracked")]

    def signature(self):
        """Tensors in the order of the contract, each with what the input generator must know."""
        names = [p for p in inspect.signature(self.model.forward).parameters]
        tensors = []
        for at in self.tensor_at:
            name = names[at] if at < len(names) else f"x{at}"
            tensors.append(self._describe(name, "input", self.sample[at]))
        tensors += [self._describe(n, "parameter", t) for n, t in self.named]
        for i, out in enumerate(self.outputs):
            tensors.append(self._describe("y" if len(self.outputs) == 1 else f"y{i}", "output", out))
        if sum(t["elements"] for t in tensors) > MAX_ELEMENTS:
            raise Refused(f"the signature holds more than {MAX_ELEMENTS} elements")
        return tensors

    def _describe(self, name, role, value):
        if value.dtype not in DTYPES:
            raise Refused(f"{role} {name} has dtype {value.dtype}, which no contract carries")
        entry = {"name": name, "role": role, "dtype": DTYPES[value.dtype], "shape": list(value.shape),
                 "elements": value.numel()}
        if role != "output" and value.is_floating_point() and value.numel():
            x = value.double()
            constant = bool((x == x.flatten()[0]).all())
            entry |= {"mean": float(x.mean()), "deviation": 0.0 if constant else float(x.std(unbiased=False)),
                      "low": float(x.min()), "high": float(x.max())}
        return entry

    # Runs. `inputs` holds the tensors of the signature only; constants of get_inputs are filled in.

    def arguments(self, inputs):
        args = list(self.sample)
        for at, value in zip(self.tensor_at, inputs):
            args[at] = value
        return args

    def set_parameters(self, named, values):
        for (_, tensor), value in zip(named, values):
            tensor.data = value

    @torch.no_grad()
    def reference(self, inputs, parameters):
        """Float64 outputs from the rounded inputs."""
        wide = [v.double() if v.is_floating_point() else v for v in inputs]
        self.set_parameters(self.named_double, [p.double() if p.is_floating_point() else p for p in parameters])
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with modes.Float64():
                return _as_outputs(self.double(*self.arguments(wide)))
        finally:
            torch.set_default_dtype(default)

    @torch.no_grad()
    def run_in(self, mode, inputs, parameters):
        self.set_parameters(self.named, parameters)
        with mode if mode is not None else contextlib.nullcontext():
            return _as_outputs(self.model(*self.arguments(inputs)))

    def spread(self, inputs, parameters, reference, evaluations):
        """Mean absolute deviation of perturbed float32 evaluations from the reference, per output."""
        noise = modes.noise_for(max(t.numel() for t in (*inputs, *parameters, *reference)))
        sums = [torch.zeros(r.shape, dtype=torch.float32) for r in reference]
        narrow = [r.float() for r in reference]
        # Deviations are taken in float32: the reference's own rounding is below the bound's floor.
        for _ in range(evaluations):
            outs = self.run_in(modes.Perturbed(noise), inputs, parameters)
            for total, exact, out in zip(sums, narrow, outs):
                total.add_((out.float() - exact).abs_())  # squares would underflow below 1e-19
        for total, share in zip(sums, self._correlated(inputs, parameters, narrow)):
            total.div_(evaluations).add_(share)
        return sums

    def _correlated(self, inputs, parameters, reference):
        """What correlated errors of all sums add to the spread: deviations with signs that agree, and that differ."""
        generator = np.random.default_rng(20261)
        shares = [torch.zeros_like(r) for r in reference]
        for signs in ((1,), (1, -1)):
            errors = CorrelatedErrors(generator, signs)
            outs = self.run_in(orders.Ordered(errors.sums), inputs, parameters)
            if errors.sums_hit == 0:
                break
            for share, exact, out in zip(shares, reference, outs):
                torch.maximum(share, (out.float() - exact).abs_().mul_(CORRELATED_SHARE), out=share)
            if errors.sums_hit == 1:
                break
        return shares
