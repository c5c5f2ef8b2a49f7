# SPDX-License-Identifier: Apache-2.0
# A ModelNew on one buffer set of shared memory: it is built on `load` and called on `run`; its outputs are copied.
#
# Before it is built, the same calls copy blank outputs, which measures the cost of the copy on our own code.
import importlib
import json
import os
import re
import struct
import sys
import traceback
from typing import NamedTuple

import torch

import commit
import confinement
import fault_hint
import kernel_trace
import model_parts
from host_extensions import place_artefact
from signatures import DTYPES

_TORCH = {name: dtype for dtype, name in DTYPES.items()}
_NO_MEMORY = "can't allocate memory"  # torch's CPU allocator has no exception class
_NAMED = 8  # the most tensors that a complaint lists
_LENGTH = struct.Struct("<Q")  # precedes the text in the memory for records


def _listed(names):
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _described(value):
    return f"{DTYPES.get(value.dtype, value.dtype)} {list(value.shape)}"


def _tensors_of(model):
    """Maps each name to a setter. Counts what modules keep as plain attributes, as the reference worker does."""
    setters = {name: (None, "", value) for name, value in model_parts.contained(model)}
    for prefix, module in model.named_modules():
        for key, value in [*module._parameters.items(), *module._buffers.items(), *vars(module).items()]:
            if isinstance(value, torch.Tensor):
                setters[f"{prefix}.{key}" if prefix else key] = (module, key, value)
    return setters


def _set(entry, value):
    module, key, tensor = entry
    if module is not None and key in vars(module):
        vars(module)[key] = value
    else:
        tensor.data = value


class Places(NamedTuple):
    folder: str  # contains the submission's files
    filter: str  # path of the BPF program for confinement
    artefact: str  # kind, as in `place_artefact`
    artefact_fd: int


class Complaint(Exception):
    """The reason why no candidate can be called."""


class Candidate:
    def __init__(self, device, request, fds, facts):
        self.device, self.facts, self.signature, self.lane = device, facts, request["signature"], request["lane"]
        layout = request["layout"]
        # Never unmapped: the process ends with its candidate.
        self.memories = [device.open(fd, size, writable)
                         for fd, size, writable in zip(fds, request["bytes"], (False, True))]
        views = {"input": [], "parameter": [], "output": []}
        for spec, slot in zip(self.signature, layout["slots"]):
            memory = self.memories[1 if slot["output"] else 0]
            view = memory.view(_TORCH[spec["dtype"]], spec["shape"], spec["elements"], slot["offset"])
            views[spec["role"]].append(view)
        self.inputs, self.parameters, self.outputs = views["input"], views["parameter"], views["output"]
        if len(self.inputs) != len(facts.tensor_at):
            raise ValueError(f"get_inputs gives {len(facts.tensor_at)} tensors, the signature has {len(self.inputs)}")
        leaves = list(facts.constants)
        for at, value in zip(facts.tensor_at, self.inputs):
            leaves[at] = value
        self.arguments = facts.given.filled(leaves)
        self.blank = [torch.zeros_like(o) for o in self.outputs]
        self.model, self.confined = None, False
        self.records = None  # memory for the records of a call, if requested

    def stay(self, page, places):
        self.places, self.folder = places, places.folder
        if not self.device.remote:
            fault_hint.install(page, self.memories[0].memory)
        with torch.no_grad(), self.device.lane(self.lane):
            commit.serve(page, self.run, others={commit.CONFINE: self.confine, commit.LOAD: self.load,
                                                 commit.COLLECT: self.collect})
        os._exit(0)

    def confine(self):
        try:
            confinement.put_in_force(self.places.filter)
            self.confined = True
            return commit.Answer()
        except OSError as error:
            return commit.Answer(commit.NOT_CONFINED, text=str(error))

    def load(self):
        if not self.confined:
            return commit.Answer(commit.NOT_CONFINED)
        try:
            self.model = self._built()
            self.blank = None
            return commit.Answer()
        except Complaint as complaint:
            return commit.Answer(commit.UNLAUNCHABLE, text=str(complaint))
        except BaseException as error:
            return self._raised(error)

    def _built(self):
        # A candidate made the artefact, so it is unpacked under its filter and at its cost.
        place_artefact(self.folder, self.places.artefact, self.places.artefact_fd)
        os.close(self.places.artefact_fd)
        os.chdir(self.folder)
        sys.path.insert(0, self.folder)
        module = importlib.import_module("model_new")
        if not isinstance(getattr(module, "ModelNew", None), type):
            raise Complaint("model_new.py defines no class ModelNew")
        torch.manual_seed(0)
        args, kwargs = self.facts.init
        model = module.ModelNew(*args, **kwargs)
        if not isinstance(model, torch.nn.Module):
            raise Complaint("ModelNew is no torch.nn.Module")
        model.to(self.device.place).requires_grad_(False)
        self._share(model)
        return model

    def _share(self, model):
        """Turns the model's parameters and buffers into views of the shared memory, matched by Model's names."""
        named, missing, unlike = _tensors_of(model), [], []
        wanted = [spec for spec in self.signature if spec["role"] == "parameter"]
        for spec, value in zip(wanted, self.parameters):
            # In the signature, a name that an input also has ends in a number.
            entry = named.get(spec["name"]) or named.get(re.sub(r"_\d+$", "", spec["name"]))
            if entry is None:
                missing.append(spec["name"])
            elif entry[2].shape != value.shape or entry[2].dtype != value.dtype:
                unlike.append(f"{spec['name']} is {_described(entry[2])}, Model's {_described(value)}")
            else:
                _set(entry, value)
        if missing:
            raise Complaint(f"ModelNew lacks what Model's state holds: {_listed(missing)}")
        if unlike:
            raise Complaint(f"ModelNew's state differs from Model's: {_listed(unlike)}")

    def run(self, index):
        if index != 0:
            return commit.Answer(commit.BAD_ORDER)
        try:
            outs = self.blank if self.model is None else self.model(*self.arguments)
            outs = outs if isinstance(outs, (list, tuple)) else [outs]
            if complaint := self._objection(outs):
                return commit.Answer(commit.WRONG_OUTPUTS, text=complaint)
            for target, out in zip(self.outputs, outs):
                target.copy_(out)
            if self.device.remote:
                torch.cuda.synchronize(self.device.place)
            return commit.Answer()
        except BaseException as error:
            return self._raised(error)

    def collect(self):
        """Writes the kernels of one call, recorded by this process itself. For people only: no verdict uses them."""
        if self.model is None or self.records is None:
            return commit.Answer(commit.BAD_ORDER)
        try:
            self._leave(self._kernels())
            return commit.Answer()
        except BaseException as error:
            return self._raised(error)

    def _kernels(self):
        if not self.device.remote:
            return kernel_trace.none("a CPU's calls have no kernels")
        return kernel_trace.profiled(self.device, lambda: self.model(*self.arguments))

    def _leave(self, recorded):
        text = json.dumps(recorded).encode()
        if len(text) > len(self.records) - _LENGTH.size:
            text = json.dumps(kernel_trace.none("more kernels than there is room for")).encode()
        self.records[:_LENGTH.size + len(text)] = _LENGTH.pack(len(text)) + text

    def _objection(self, outs):
        if len(outs) != len(self.outputs):
            return f"forward gave {len(outs)} outputs, expected {len(self.outputs)}"
        for i, (out, wanted) in enumerate(zip(outs, self.outputs)):
            if not isinstance(out, torch.Tensor):
                return f"output {i} is a {type(out).__name__}, expected a tensor"
            if out.shape != wanted.shape or out.dtype != wanted.dtype:
                return f"output {i} is {_described(out)}, expected {_described(wanted)}"
            if out.device != wanted.device:
                return f"output {i} is on {out.device}, expected {wanted.device}"
        return ""

    def _raised(self, error):
        lines = str(error).strip().split("\n")
        text = f"{type(error).__name__}: {lines[0][:160]}{self._place(error)}"
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or _NO_MEMORY in str(error):
            return commit.Answer(commit.NO_MEMORY, text=text)
        if isinstance(error, torch.AcceleratorError) or "CUDA error" in lines[0]:
            return commit.Answer(commit.DEVICE_FAULT, text=text)
        return commit.Answer(commit.UNLAUNCHABLE, text=text)

    def _place(self, error):
        """The candidate's own line in the traceback, if there is one."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(self.folder)]
        if isinstance(error, SyntaxError) and error.filename:
            return f" ({os.path.relpath(error.filename, self.folder)}, line {error.lineno})"
        if not frames:
            return ""
        return f" ({os.path.relpath(frames[-1].filename, self.folder)}, line {frames[-1].lineno}, in {frames[-1].name})"
