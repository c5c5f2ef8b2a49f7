# SPDX-License-Identifier: Apache-2.0
# One session of the sequential commit: maps buffers, runs baselines, writes references.
import gc
import os
import traceback

import torch

import commit
import footprint
import model_parts
import modes
import ties
from device import NO_GRAPHS
from device_sums import device_orders, effort_for
from mutants import has_effect, lower_precisions
from orders import honest_orders
from places import storage_of
from refusals import DoesNotFit, Refused, words_of
from signatures import DTYPES

_TORCH = {name: dtype for dtype, name in DTYPES.items()}
# The fields of a call's `set` word: bits 0-11 the buffer set, 12-15 one of these, 16-31 its argument.
(EAGER, COMPILED, COLLECT, REFERENCE, DRAW, MUTANT, FORGET, HONEST, TUNED, GRAPHED, EFFECT, SETTLE,
 FINITE) = range(13)
_BASELINES = {COMPILED: "default", TUNED: "tuned"}
_HEADROOM = 2.0  # another order of sums may come closer to the largest number of a type than eager does
_PADDING = 64  # bytes; each tensor of the result memory starts at a multiple


def _padded(size):
    return -(-size // _PADDING) * _PADDING


def _nothing():
    return None


class Session:
    """`request`: layout, sizes of the memories, evaluations, seed and graphs; `fds`: inputs, outputs, result."""

    def __init__(self, task, signature, request, fds):
        self.task, self.device, self.signature = task, task.device, signature
        self.evaluations, self.seed = request["evaluations"], request["seed"]
        self.timed = self.device.call_by_clock if request.get("by_clock", False) else self.device.call
        self.draws = 0
        self.error = ""
        self.last = None
        self.memories = []
        self._check(request)
        try:
            for fd, size, writable in zip(fds, self._sizes(request), (False, True, True)):
                self.memories.append(self.device.open(fd, size, writable))
            self._view_all(request["layout"])
            # The arguments of calls if the task's own inputs are not contiguous; shared by all sets.
            self.own = [strides and torch.empty_strided(i.shape, strides, dtype=i.dtype, device=i.device)
                        for i, strides in zip(self.inputs[0], task.strides)]
            self.arguments = [task.arguments(self._owned(i)) for i in self.inputs]
        except BaseException:
            self._release()
            raise
        self.graphs = self.device.graphs()
        self.makers = [*task.mutants.values(), *lower_precisions().values()]
        self.honest = None if self.device.remote else list(honest_orders().values())

    def _check(self, request):
        memory = request.get("memory", "host")
        if memory != self.device.memory:
            own = f"a worker on {self.device.place} takes memory of the {self.device.memory}"
            raise Refused(f'memory "{memory}": {own}')
        sets = request["layout"]["sets"]
        if self.device.remote:
            needed = self.task.private_bytes(self.signature, sets, request.get("graphs", False))
            if why := footprint.complaint(needed, self.device.free(), sets):
                raise DoesNotFit(f"next to the shared memory {why}")

    def _sizes(self, request):
        layout = request["layout"]
        needed = [*(layout[stride] * layout["sets"] for stride in ("input_stride", "output_stride")),
                  request["bytes"][2]]
        if not self.device.remote:
            return needed
        for name, size, least in zip(("inputs", "outputs", "result"), request["bytes"], needed):
            if size < least:
                raise ValueError(f"bytes of {name}: {size}, the layout needs {least}")
        return request["bytes"]

    def _view_all(self, layout):
        slots = list(zip(self.signature, layout["slots"]))
        self.inputs, self.parameters, self.outputs = [], [], []
        for k in range(layout["sets"]):
            views = {"input": [], "parameter": [], "output": []}
            for spec, slot in slots:
                memory = self.memories[1 if slot["output"] else 0]
                stride = layout["output_stride" if slot["output"] else "input_stride"]
                offset = k * stride + slot["offset"]
                views[spec["role"]].append(memory.view(_TORCH[spec["dtype"]], spec["shape"], spec["elements"], offset))
            self.inputs.append(views["input"])
            self.parameters.append(views["parameter"])
            self.outputs.append(views["output"])

    def _owned(self, inputs):
        return [value if own is None else own for value, own in zip(inputs, self.own)]

    def run(self, word):
        index, what, argument = word & 0xFFF, (word >> 12) & 0xF, word >> 16
        try:
            if what == EAGER:
                return self._call(self.task.model, index)
            if what in _BASELINES:
                return self._call(self._baseline(_BASELINES[what]), index)
            if what == GRAPHED:
                return self._graphed(index)
            return self._aside(index, what, argument)
        except BaseException as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f"({os.path.basename(at.filename)}, line {at.lineno}, in {at.name})"
            self.error = f"{type(error).__name__}: {words_of(error, 300)} {where}"
            return commit.Answer(commit.FAILED, text=self.error)

    def noop(self):
        """An empty call, to measure the overhead of a timed call."""
        try:
            return commit.Answer(device_ns=self.timed(self.task.lane, _nothing, ())[1])
        except BaseException as error:
            self.error = f"{type(error).__name__}: {error}"
            return commit.Answer(commit.FAILED, text=self.error)

    def _baseline(self, which):
        if which not in self.task.baselines:
            raise Refused(f"the {which} torch.compile baseline is not ready")
        return self.task.baselines[which]

    def _prepare(self, index):
        for (_, tensor), value in zip(self.task.named, self.parameters[index]):
            tensor.data = value
        if self.device.remote:  # the device's clock starts later, so this is not timed
            self.last = None
            self.task.restore()
            for own, value in zip(self.own, self.inputs[index]):
                if own is not None:
                    own.copy_(value)

    def _call(self, function, index):
        self._prepare(index)
        if self.device.remote:
            model_parts.join_weights(self.task.model)
        self.last, taken = self.timed(self.task.lane, function, self.arguments[index])
        return commit.Answer(device_ns=taken)

    def _graphed(self, index):
        if self.graphs is None:
            raise Refused(NO_GRAPHS)
        self._prepare(index)
        if index not in self.graphs:
            with self.device.lane(self.task.lane):
                self.graphs.capture(index, lambda: self.task.model(*self.arguments[index]))
            self.task.restore()
        _, taken = self.timed(self.task.lane, self.graphs.replay, (index,))
        self.last = self.graphs.outputs(index)
        return commit.Answer(device_ns=taken)

    def _aside(self, index, what, argument):
        """Commands that are never timed."""
        answer = 0
        if what == COLLECT:
            self._store(index, self.last)
            self.last = None
        elif what == FORGET:
            self.last = None
        elif what == REFERENCE:
            self._reference(index, spreads=argument == 0)
        elif what == DRAW:
            self._draw()
        elif what == MUTANT:
            answer = self._mutant(index, argument)
        elif what == HONEST:
            self._store(index, self._honest(index)[argument](self.task, self.inputs[index], self.parameters[index]))
        elif what == EFFECT:
            answer = int(has_effect(self.makers[argument], self.task, self.inputs[index], self.parameters[index],
                                    self._exact()[0]))
        elif what == SETTLE:
            answer = int(self.task.selects and ties.settle(self.task, self.inputs[index], self.parameters[index],
                                                           self._shaped(self.outputs[index])))
        elif what == FINITE:
            answer = int(self._is_finite(index))
        else:
            return commit.Answer(commit.BAD_ORDER)
        self.device.wait()  # the verifier reads the memory after the answer
        return commit.Answer(answer=answer)

    def _store(self, index, outs):
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        for target, out in zip(self.outputs[index], outs):
            target.copy_(out)

    def _in_result(self, dtype, counts, offset):
        """Flat padded views of the result memory from `offset` on, and the offset after them."""
        views = []
        for count in counts:
            views.append(self.memories[2].view(dtype, [count], count, offset))
            offset = _padded(offset + count * dtype.itemsize)
        return views, offset

    def _reference(self, index, spreads):
        inputs, parameters = self.inputs[index], self.parameters[index]
        exact, offset = self._exact()
        for rows, outs in self.task.references(inputs, parameters):
            for view, value in zip(exact, outs):
                view[rows].copy_(value)
            del outs, value
        if spreads:
            sums, _ = self._in_result(torch.float32, [e.numel() for e in exact], offset)
            self.task.spread(inputs, parameters, exact, self._shaped(sums), self.evaluations)

    def _exact(self):
        """The reference in the result memory, and the offset after it."""
        counts = [t["elements"] for t in self.signature if t["role"] == "output"]
        exact, offset = self._in_result(torch.float64, counts, 0)
        return self._shaped(exact), offset

    def _is_finite(self, index):
        """Whether eager's outputs are well inside the range of their types, or infinite as the reference is."""
        inputs, parameters = self.inputs[index], self.parameters[index]
        outs = [o for o in self.task.run_in(None, inputs, parameters) if o.is_floating_point() and o.numel()]
        if all(bool((torch.stack(o.aminmax()) * _HEADROOM).isfinite().all()) for o in outs):
            return True
        outs = [o * _HEADROOM for o in outs]
        for rows, rights in self.task.references(inputs, parameters):
            rights = [r for r in rights if r.is_floating_point() and r.numel()]
            if not all(bool((o[rows].isfinite() | (o[rows] == r)).all()) for o, r in zip(outs, rights)):
                return False
        return True

    def _shaped(self, views):
        """Flat views, one per output, in the outputs' shapes."""
        return [view.view(out.shape) for view, out in zip(views, self.task.outputs)]

    def _draw(self):
        """Draws integer and boolean inputs by get_inputs with a separate seed; then writes the fixed parameters."""
        self.draws += 1
        values = self.task.draw((self.seed + self.draws * 0x9E3779B97F4A7C15) % 2**63)
        offset = 0
        for value in [*(values[at] for at in self.task.tensor_at), *self.task.fixed]:
            if not value.is_floating_point():
                (view,), offset = self._in_result(value.dtype, [value.numel()], offset)
                view.copy_(value.reshape(-1))

    def _right(self, index):
        """Outputs that may be changed: copies if forward returns its arguments or its state, or the same twice."""
        outs = self.task.run_in(None, self.inputs[index], self.parameters[index])
        state = model_parts.tensors_of(self.task.model).values()
        held = {storage_of(t) for t in (*self.inputs[index], *self.parameters[index], *state)}
        for i, out in enumerate(outs):
            if storage_of(out) in held:
                outs[i] = out.clone()
            held.add(storage_of(out))
        return outs

    def _honest(self, index):
        """The honest orders; on a GPU with an effort that the first call determines."""
        if self.honest is None:
            lengths = modes.Lengths()
            next(self.task.evaluations(lengths, self.inputs[index], self.parameters[index]))
            self.honest = list(honest_orders(device_orders(effort_for(lengths.found))).values())
        return self.honest

    def _mutant(self, index, argument):
        """Returns 1 if the mutant applies to this task, otherwise 0."""
        inputs, parameters = self.inputs[index], self.parameters[index]
        outs = self.makers[argument](self.task, inputs, parameters, lambda: self._right(index))
        if outs is None:
            return 0
        self._store(index, outs)
        return 1

    def stay(self, control_fd):
        gc.disable()  # a collection within a timed call would slow the baseline
        try:
            with torch.no_grad():
                commit.serve(commit.control_page(control_fd), self.run, self.noop)
        finally:
            gc.enable()
            self._release()

    def _release(self):
        """Drops all views of the shared memory before it is unmapped."""
        self.last = self.graphs = None
        self.inputs = self.parameters = self.outputs = self.arguments = self.own = None
        self.task.release()
        for memory in self.memories:
            memory.close()
