# SPDX-License-Identifier: Apache-2.0
# The parts of the task's own text that a candidate's process needs: constructor arguments and forward's constants.
import types
from typing import NamedTuple

import torch

import model_parts


class Facts(NamedTuple):
    init: tuple  # (args, kwargs) of the constructor
    constants: list  # forward's arguments, with None for tensors
    tensor_at: list


def module_of(code):
    module = types.ModuleType("task")
    exec(compile(code, "task.py", "exec"), module.__dict__)
    return module


def init_arguments(module):
    torch.manual_seed(0)
    return model_parts.split_init(module.get_init_inputs())


def _inputs(module):
    """Only the constants are needed, so tensors take no memory where the task's code allows that."""
    try:
        with torch.device("meta"):
            return list(module.get_inputs())
    except Exception:
        return list(module.get_inputs())


def _placed(value, place):
    return value.to(place) if isinstance(value, torch.Tensor) else value


def facts_of(code, device):
    module = module_of(code)
    args, kwargs = init_arguments(module)
    place = device.place
    inputs = _inputs(module)
    tensor_at = [i for i, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
    return Facts(([_placed(a, place) for a in args], {k: _placed(v, place) for k, v in kwargs.items()}),
                 [None if isinstance(v, torch.Tensor) else v for v in inputs], tensor_at)
