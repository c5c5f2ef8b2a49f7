# SPDX-License-Identifier: Apache-2.0
# What a torch module contains, accepts and returns.
import re

import torch
from torch.utils import _pytree

from refusals import Refused


def check_dense(what, value):
    if value.layout != torch.strided or value.is_nested:
        raise Refused(f"{what} is a sparse or nested tensor; contracts carry dense ones")


def as_outputs(result):
    outs = list(result) if isinstance(result, (list, tuple)) else [result]
    if not outs:
        raise Refused("forward gave no output")
    for i, out in enumerate(outs):
        if not isinstance(out, torch.Tensor):
            raise Refused(f"forward gave {type(out).__name__}; expected tensors")
        check_dense(f"output {i}", out)
    return outs


class Given:
    """The values of get_inputs, flat: `leaves` of nested lists, tuples and dicts. `names[k]`: the place of leaf k."""

    def __init__(self, values, arguments):
        """`arguments`: the names of forward's arguments."""
        paths, self.structure = _pytree.tree_flatten_with_path(list(values))
        self.leaves = [leaf for _, leaf in paths]
        self.names = [self._name(path, arguments) for path, _ in paths]

    @staticmethod
    def _name(path, arguments):
        at = path[0].idx
        parts = [getattr(key, "idx", getattr(key, "key", getattr(key, "name", ""))) for key in path[1:]]
        first = arguments[at] if at < len(arguments) else f"x{at}"
        return re.sub(r"\W", "_", "_".join(map(str, [first, *parts])))

    def filled(self, leaves):
        """Forward's arguments with other leaves."""
        return _pytree.tree_unflatten(leaves, self.structure)


def is_tensor(value):
    return isinstance(value, torch.Tensor)


def _contained(name, value):
    """Pairs (name, tensor) in nested lists, tuples and dicts, and in modules that are kept there."""
    if is_tensor(value):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        yield from ((f"{name}.{n}", t) for n, t in tensors_of(value).items())
    elif isinstance(value, (list, tuple, dict)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _contained(f"{name}.{key}", item)


def contained(model):
    """Pairs (name, tensor) in the lists, tuples and dicts that the modules keep. Names are as in `layers.0`."""
    for path, module in model.named_modules():
        for key, value in vars(module).items():
            if isinstance(value, (list, tuple, dict)):
                yield from _contained(f"{path}.{key}".lstrip("."), value)


def tensors_of(model):
    """Parameters, buffers, and tensors in lists, tuples and dicts that the modules keep, each once."""
    found = dict([*model.named_parameters(), *model.named_buffers()])
    known = {id(t) for t in found.values()}
    for name, tensor in contained(model):
        if id(tensor) not in known:
            known.add(id(tensor))
            found[name] = tensor
    return found


def place_all(model, where):
    """Moves the model to a device, with the contents of its lists, tuples and dicts."""
    model.to(where)
    for tensor in tensors_of(model).values():
        if tensor.is_leaf:
            tensor.requires_grad_(False)
        if tensor.device != where:
            tensor.data = tensor.data.to(where)


def park(named):
    """Reduces each tensor to the memory of one element, with its shape and type kept."""
    for _, tensor in named:
        tensor.data = tensor.data.new_empty(()).expand(tensor.shape)


def join_weights(model):
    """Joins the weights of recurrent layers in one piece; otherwise cuDNN copies them in every call."""
    for module in model.modules():
        if isinstance(module, torch.nn.RNNBase):
            module.flatten_parameters()
