# SPDX-License-Identifier: Apache-2.0
# What a torch module holds, takes and returns.
import types

import torch

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


def split_init(init):
    if len(init) == 2 and isinstance(init[0], (list, tuple)) and isinstance(init[1], dict):
        return list(init[0]), init[1]
    return list(init), {}


def holds_closures(model):
    """A function kept as an attribute still uses its original model after a copy."""
    return any(isinstance(v, types.FunctionType) and v.__closure__ for m in model.modules() for v in vars(m).values())


def tensors_of(model):
    return dict([*model.named_parameters(), *model.named_buffers()])


def park(named):
    """Reduces each tensor to the memory of one element, with its shape and type kept."""
    for _, tensor in named:
        tensor.data = tensor.data.new_empty(()).expand(tensor.shape)


def join_weights(model):
    """Joins the weights of recurrent layers in one piece; otherwise cuDNN copies them in every call."""
    for module in model.modules():
        if isinstance(module, torch.nn.RNNBase):
            module.flatten_parameters()
