# SPDX-License-Identifier: Apache-2.0
# One stay in the sequential commit: buffers mapped, baselines run, references written.
import gc
import traceback

import torch

import commit
from mutants import lower_precisions, mutants_of
from orders import honest_orders

_TORCH = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "boolean": torch.bool,
}
# What a call's `set` word asks for: bits 0-15 the buffer set, 16-23 one of these, 24-31 its argument.
EAGER, COMPILED, COLLECT, REFERENCE, DRAW, MUTANT, FORGET, HONEST = range(8)


def _view(memory, spec, offset):
    dtype = _TORCH[spec["dtype"]]
    if spec["elements"] == 0:
        return torch.empty(spec["shape"], dtype=dtype)
    return torch.frombuffer(memory, dtype=dtype, count=spec["elements"], offset=offset).view(spec["shape"])


class Session:
    """`request` holds layout, result_bytes, evaluations and seed; `fds` are inputs, outputs, result."""

    def __init__(self, task, signature, request, fds):
        layout = request["layout"]
        self.task, self.evaluations, self.seed = task, request["evaluations"], request["seed"]
        self.draws = 0
        self.error = ""
        self.last = None
        slots = list(zip(signature, layout["slots"]))
        self.memories = [commit.map_memory(fds[0], layout["input_stride"] * layout["sets"], False),
                         commit.map_memory(fds[1], layout["output_stride"] * layout["sets"], True),
                         commit.map_memory(fds[2], request["result_bytes"], True)]
        self.inputs, self.parameters, self.outputs = [], [], []
        for k in range(layout["sets"]):
            views = {"input": [], "parameter": [], "output": []}
            for spec, slot in slots:
                memory = self.memories[1 if slot["output"] else 0]
                stride = layout["output_stride" if slot["output"] else "input_stride"]
                views[spec["role"]].append(_view(memory, spec, k * stride + slot["offset"]))
            self.inputs.append(views["input"])
            self.parameters.append(views["parameter"])
            self.outputs.append(views["output"])
        self.arguments = [task.arguments(i) for i in self.inputs]
        self.result = memoryview(self.memories[2])
        self.makers = list(mutants_of(task).values()) + list(lower_precisions().values())
        self.honest = list(honest_orders().values())

    def run(self, word):
        index, what, argument = word & 0xFFFF, (word >> 16) & 0xFF, word >> 24
        try:
            if what == EAGER:
                self._call(self.task.model, index)
            elif what == COMPILED:
                self._call(self.task.compiled, index)
            else:
                return self._aside(index, what, argument)
            return commit.OK
        except BaseException as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            text = str(error).strip().split("\n")[0][:300]
            self.error = f"{type(error).__name__}: {text} ({at.filename}, line {at.lineno}, in {at.name})"
            return commit.FAILED

    def _call(self, function, index):
        for (_, tensor), value in zip(self.task.named, self.parameters[index]):
            tensor.data = value
        self.last = function(*self.arguments[index])

    def _aside(self, index, what, argument):
        """What is never timed."""
        if what == COLLECT:
            self._store(index, self.last)
        elif what == FORGET:
            self.last = None
        elif what == REFERENCE:
            self._reference(index)
        elif what == DRAW:
            self._draw()
        elif what == MUTANT:
            self._mutant(index, argument)
        elif what == HONEST:
            self._store(index, self.honest[argument](self.task, self.inputs[index], self.parameters[index]))
        return commit.OK

    def _store(self, index, outs):
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        for target, out in zip(self.outputs[index], outs):
            target.copy_(out)

    def _put(self, offset, value):
        """Copies into the result memory; returns the offset behind it, a multiple of 64."""
        count = value.numel()
        if count:
            torch.frombuffer(self.result, dtype=value.dtype, count=count, offset=offset).copy_(value.reshape(-1))
        return -(-(offset + count * value.element_size()) // 64) * 64

    def _reference(self, index):
        inputs, parameters = self.inputs[index], self.parameters[index]
        reference = self.task.reference(inputs, parameters)
        offset = 0
        for value in reference:
            offset = self._put(offset, value.double())
        if self.evaluations == 0:
            return
        for value in self.task.spread(inputs, parameters, reference, self.evaluations):
            offset = self._put(offset, value)

    def _draw(self):
        """Integer and boolean inputs, as get_inputs makes them, from a seed of its own; then such parameters, fixed."""
        self.draws += 1
        values = self.task.draw((self.seed + self.draws * 0x9E3779B97F4A7C15) % 2**63)
        offset = 0
        for value in [*(values[at] for at in self.task.tensor_at), *self.task.fixed]:
            if not value.is_floating_point():
                offset = self._put(offset, value.contiguous())

    def _mutant(self, index, argument):
        inputs, parameters = self.inputs[index], self.parameters[index]
        right = [o.clone() for o in self.task.run_in(None, inputs, parameters)]
        outs = self.makers[argument](self.task, inputs, parameters, right)
        self.result[0] = 0 if outs is None else 1  # 0: it does not apply to this task
        if outs is not None:
            self._store(index, outs)

    def stay(self, control_fd):
        gc.disable()  # a collection inside a timed call would be the baseline's loss
        try:
            with torch.no_grad():
                commit.serve(control_fd, self.run)
        finally:
            gc.enable()
            self.last = None
            self._let_go()

    def _let_go(self):
        """The task outlives the session: what it holds must not keep the shared memory mapped."""
        for named in (self.task.named, self.task.named_double):
            for _, tensor in named:
                tensor.data = tensor.data.clone()
