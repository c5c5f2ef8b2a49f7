# SPDX-License-Identifier: Apache-2.0
# A task in KernelBench's format: its model, and the ways in which the judge runs it.
import gc
import inspect
import weakref

import torch

import chunks
import footprint
import model_parts
import modes
import places
import program
import row_parts
import signatures
import spread
import survey
from by_parts import by_parts
from device import LANES, Cpu
from mutants import mutants_of
from refusals import DoesNotFit, Refused, place

REQUIRED = ("Model", "get_inputs", "get_init_inputs")


class Task:
    """Holds the module as written (float32) and a float64 copy; tensors of both are set from shared memory.

    On a GPU no large tensor is kept between loading, compiling and sessions: parameters are parked, inputs redrawn.
    """

    given = None  # the structure of get_inputs' values, once drawn
    parts = row_parts.RowParts()  # of the reference and of evaluations in a mode

    def __init__(self, code, device=None, lane=LANES[0]):
        self.device, self.lane = device or Cpu(), lane
        self.insensitive = []  # why some wrong answers equal the right ones
        self.compile_reason = ""  # why eager takes the place of torch.compile
        self.makes_on_device = self.device.remote  # until the task's code fails there
        self.module = self._read(code)
        self.model = self._build(self.module)
        self._refuse_the_impossible()
        self._draw_sample()
        for at in self.tensor_at:
            model_parts.check_dense(f"input {self.given.names[at]}", self.sample[at])
        survey.look(self)
        self.double = self._built_again(code).double()
        self._changed, self._changed_double = (self._private_tensors(m) for m in (self.model, self.double))
        self.named = self._named(self.model)
        self.named_double = self._named(self.double)
        # Index tables, masks and the like. Copied, because a session maps `named` to shared memory.
        self.fixed = [t.detach().clone() for _, t in self.named if not t.is_floating_point()]
        self.mutants = mutants_of(self)
        self.sparing = False  # set once noise destroyed infinities
        self.baselines = {}  # maps names to functions
        self.strides = [self._own_strides(self.sample[at]) for at in self.tensor_at]

    def _read(self, code):
        with place("the task's text"):
            module = program.read(code)
        weakref.finalize(self, program.forget, module.__name__, module.__file__)
        for name in REQUIRED:
            if not hasattr(module, name):
                raise Refused(f"the task defines no {name}")
        return module

    def _made(self, make):
        """Runs the task's own code: on the device if that works, else moves the result there."""
        if self.makes_on_device:
            try:
                with torch.device(self.device.place):
                    return make()
            except DoesNotFit:
                raise
            except Refused:
                self.makes_on_device = False
        return make()

    def _construct(self, module, seed):
        program.seed(seed)
        with place("get_init_inputs"):
            args, kwargs = program.split_init(module.get_init_inputs())
        with place("Model.__init__"):
            return module.Model(*args, **kwargs).to(self.device.place)

    def _build(self, module, seed=0):
        model = self._made(lambda: self._construct(module, seed))
        with place("Model"):
            self._register_plain_tensors(model)
            model_parts.place_all(model, self.device.place)
            return model

    def _built_again(self, code):
        """A model that shares no tensor with the first one, from other seeds. All its tensors are set before it runs.

        Refuses numbers that the seeds decide: a candidate cannot know them.
        """
        module = self._read(code)
        model = self._build(module, seed=1)
        with place("Model"):
            found = [places.numbers({"": places.globals_of(m) | {"Model": b}}, m.__name__)
                     for m, b in ((self.module, self.model), (module, model))]
            where = places.difference(*found)
        if where is not None:
            raise Refused(f"{where} has another value each time that the task is loaded: write it as a constant, or "
                          "pass it as an input")
        return model

    @staticmethod
    def _register_plain_tensors(model):
        for module in model.modules():
            for key in [k for k, v in vars(module).items() if isinstance(v, torch.Tensor)]:
                value = vars(module)[key]
                delattr(module, key)
                module.register_buffer(key, value)

    def _inputs(self, seed):
        """The leaves of what get_inputs returns."""
        program.seed(seed)
        with place("get_inputs"):
            values = self.module.get_inputs()
            if inspect.isgenerator(values):
                raise Refused("get_inputs yields several cases: return the arguments of one, and give each other shape "
                              "a function of its own, get_inputs_NAME")
            given = model_parts.Given(values, list(inspect.signature(self.model.forward).parameters))
        self.given = self.given or given
        if given.structure != self.given.structure:
            raise Refused("get_inputs gives lists or dicts of another shape each time")
        return given.leaves

    def draw(self, seed):
        """The leaves of what get_inputs returns, tensors on the device."""
        values = self._made(lambda: self._inputs(seed))
        with place("get_inputs"):
            return [v.to(self.device.place) if isinstance(v, torch.Tensor) else v for v in values]

    def _draw_sample(self):
        self.sample = self.draw(1)
        self.tensor_at = [i for i, v in enumerate(self.sample) if isinstance(v, torch.Tensor)]

    def _refuse_the_impossible(self):
        """Refuses inputs that by themselves exceed the device before drawing them; sizes use no memory if possible."""
        if not self.device.remote:
            return
        try:
            with torch.device("meta"):
                values = self._inputs(1)
        except Refused:
            return
        needed = sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))
        if complaint := footprint.complaint(needed, self.device.free(), 1):
            raise DoesNotFit(complaint)

    def _own_strides(self, value):
        """The strides of an input that is dense but not contiguous, unlike a contract's buffers.

        Only on a GPU, where copying to them is not timed.
        """
        odd = self.device.remote and not value.is_contiguous() and chunks.dense(value)
        return value.stride() if odd else None

    def _named(self, model):
        return [(n, t) for n, t in model_parts.tensors_of(model).items()
                if n not in self.private and not n.endswith("num_batches_tracked")]

    def signature(self):
        """The tensors in the contract's order; refuses more than a contract carries."""
        return signatures.checked(self.tensors())

    def tensors(self):
        return signatures.tensors(self, signatures.described)

    def constants(self):
        return signatures.constants(self)

    # Memory. Managed only on a GPU.

    @torch.no_grad()
    def settle(self, signature, sets):
        """Refuses a task that does not fit the device's memory, then frees what loading needed."""
        if not self.device.remote:
            return
        inputs, parameters = [self.sample[at] for at in self.tensor_at], [t.detach() for _, t in self.named]
        self.parts = row_parts.parts_of(self, inputs, parameters)
        with place("the float64 reference"):
            result, wide = self.device.peak(lambda: next(self.references(inputs, parameters)))
        del inputs, parameters, result
        gc.collect()  # modules have reference cycles
        self.park()
        self.peaks = footprint.Peaks(self.narrow_peak, wide, len(self.parts))
        needed = self.private_bytes(signature) + footprint.shared_bytes(self._sized(signature), sets)
        if complaint := footprint.complaint(needed, self.device.free(), sets):
            raise DoesNotFit(complaint)

    peaks = footprint.Peaks(0, 0)  # until `settle`, and on a CPU

    def _sized(self, signature):
        return [t | {"item_bytes": signatures.BYTES[t["dtype"]]} for t in signature]

    def private_bytes(self, signature, sets=1, graphs=False):
        """The memory of this process; with graphs, each set's graph keeps its outputs."""
        return footprint.private_bytes(self._sized(signature), self.peaks, sets if graphs else 0)

    def park(self):
        self.sample = [None if isinstance(v, torch.Tensor) else v for v in self.sample]
        model_parts.park(self.named)
        model_parts.park(self.named_double)
        self.device.tidy()

    def example(self):
        """Arguments as the task makes them, with such parameters set, until `done_with_example`."""
        if not self.device.remote:
            self.set_parameters(self.named, [t.clone() for _, t in self.named])
            return self.given.filled(self.sample)
        fresh = dict(self._named(self._build(self.module)))
        self.set_parameters(self.named, [fresh[n].detach() for n, _ in self.named])
        return self.given.filled(self.draw(1))

    def done_with_example(self):
        if self.device.remote:
            gc.collect()
            self.park()

    def release(self):
        """Drops all references to the shared memory, which the task outlives."""
        if self.device.remote:
            return self.park()
        for named in (self.named, self.named_double):
            for _, tensor in named:
                tensor.data = tensor.data.clone()

    # Runs. `inputs` contains only the tensors of the signature; the constants of get_inputs are inserted.

    def arguments(self, inputs):
        args = list(self.sample)
        for at, value in zip(self.tensor_at, inputs):
            args[at] = value
        return self.given.filled(args)

    def _private_tensors(self, model):
        tensors = model_parts.tensors_of(model)
        return [tensors[name] for name in self.private]

    @torch.no_grad()
    def restore(self, double=False):
        """Resets what forward itself changes, so that each call starts from the same values."""
        if self.private:
            torch._foreach_copy_(self._changed_double if double else self._changed, list(self.private.values()))

    def set_parameters(self, named, values):
        for (_, tensor), value in zip(named, values):
            tensor.data = value

    @torch.no_grad()
    def reference(self, inputs, parameters, mode=None):
        """Float64 outputs from the rounded inputs. `mode`: a kind of modes.Float64."""
        self.restore(double=True)
        wide = [v.double() if v.is_floating_point() else v for v in inputs]
        self.set_parameters(self.named_double, [p.double() if p.is_floating_point() else p for p in parameters])
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with mode or modes.Float64():
                return model_parts.as_outputs(self.double(*self.arguments(wide)))
        finally:
            torch.set_default_dtype(default)
            if self.device.remote:
                model_parts.park(self.named_double)

    def references(self, inputs, parameters, mode=None):
        """Pairs (rows, float64 outputs of these rows)."""
        for rows in self.parts:
            yield rows, self.reference(self.parts.cut(inputs, rows), parameters, mode)

    def evaluations(self, mode, inputs, parameters):
        """Pairs (rows, outputs of these rows) of one evaluation in a mode."""
        for rows in self.parts:
            yield rows, self._run(mode, self.parts.cut(inputs, rows), parameters)

    def run_in(self, mode, inputs, parameters):
        """The outputs as the task makes them, or in a mode."""
        if mode is None or len(self.parts) == 1:
            return self._run(mode, inputs, parameters)
        return self.parts.joined(self.evaluations(mode, inputs, parameters))

    @torch.no_grad()
    def _run(self, mode, inputs, parameters):
        self.restore()
        self.set_parameters(self.named, parameters)
        if mode is None:
            return model_parts.as_outputs(self.model(*self.arguments(inputs)))
        with by_parts(), mode:
            return model_parts.as_outputs(self.model(*self.arguments(inputs)))

    def spread(self, inputs, parameters, reference, sums, evaluations):
        spread.write(self, inputs, parameters, reference, sums, evaluations)
