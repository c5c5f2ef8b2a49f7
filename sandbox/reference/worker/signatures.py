# SPDX-License-Identifier: Apache-2.0
# A task's signature: the tensors that a contract carries, and its constants.
import math
import re

import torch

import chunks
from refusals import Refused, place

DTYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "boolean",
}
BYTES = {name: dtype.itemsize for dtype, name in DTYPES.items()}
MAX_TENSORS, MAX_RANK, MAX_NAME = 4096, 16, 256  # of a signature (description.cpp); the name is limited in bytes
MAX_CONSTANT = 256  # characters of a constant's text
MAX_ELEMENTS = 2**26  # of all tensors of a signature together; on a GPU its memory is the limit instead


def checked(tensors):
    """The tensors, unless they have too many elements."""
    if sum(t["elements"] for t in tensors) > MAX_ELEMENTS:
        raise Refused(f"the signature holds more than {MAX_ELEMENTS} elements")
    return tensors


def entry(name, role, value):
    """Name, role, type and shape of a tensor."""
    if value.dtype not in DTYPES:
        raise Refused(f"{role} {name} has dtype {value.dtype}, which no contract carries")
    if value.dim() > MAX_RANK or len(name.encode(errors="replace")) > MAX_NAME:
        raise Refused(f"{role} {name[:MAX_NAME]}: more than {MAX_RANK} axes or {MAX_NAME} bytes of its name")
    return {"name": name, "role": role, "dtype": DTYPES[value.dtype], "shape": list(value.shape),
            "elements": value.numel()}


def described(name, role, value):
    """`entry` with the facts for the input generator."""
    found = entry(name, role, value)
    if role != "output" and value.is_floating_point() and value.numel():
        found |= dict(zip(("mean", "deviation", "low", "high"), chunks.summary(value)))
        if not all(math.isfinite(found[key]) for key in ("mean", "deviation", "low", "high")):
            raise Refused(f"{role} {name} holds values that are not finite: no others can be drawn like them")
    return found


class _Names:
    """Makes names unique."""

    def __init__(self):
        self.taken = set()

    def unique(self, name):
        # d0, d1, … are the names of a launch plan's extents.
        free, count = name, 1
        while free in self.taken or re.fullmatch(r"d[0-9]+", free):
            count += 1
            free = f"{name}_{count}"
        self.taken.add(free)
        return free


def tensors(task, describe):
    """The task's tensors in the contract's order, each with a unique name, as `describe` (like `entry`) sees them."""
    names, outputs = _Names(), task.outputs
    found = [describe(names.unique(task.given.names[at]), "input", task.sample[at]) for at in task.tensor_at]
    found += [describe(names.unique(n), "parameter", t) for n, t in task.named]
    for i, out in enumerate(outputs):
        found.append(describe(names.unique("y" if len(outputs) == 1 else f"y{i}"), "output", out))
    if len(found) > MAX_TENSORS:
        raise Refused(f"the signature has {len(found)} tensors, more than {MAX_TENSORS}")
    return found


def constants(task):
    """Forward's arguments that are not tensors, as an agent reads them."""
    given = [(at, v) for at, v in enumerate(task.sample) if at not in task.tensor_at]
    with place("get_inputs"):
        return [{"name": task.given.names[at], "value": repr(v)[:MAX_CONSTANT]} for at, v in given]
