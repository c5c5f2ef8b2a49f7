# SPDX-License-Identifier: Apache-2.0
# The parts of the task's own text that a candidate's process needs: constructor arguments and forward's constants.
from typing import NamedTuple

import torch

import model_parts
import program


class Facts(NamedTuple):
    init: tuple  # (args, kwargs) of the constructor
    constants: list  # the leaves of get_inputs' values, with None for tensors
    tensor_at: list
    given: model_parts.Given


def init_arguments(module):
    program.seed(0)
    return program.split_init(module.get_init_inputs())


def _inputs(module, device):
    """Only the constants are needed, so tensors use no memory if the task's code allows that."""
    for place in (torch.device("meta"), device.place):
        try:
            program.seed(1)  # as the reference worker does
            with place:
                return model_parts.Given(module.get_inputs(), [])
        except Exception:
            continue
    program.seed(1)
    return model_parts.Given(module.get_inputs(), [])


def _placed(value, place):
    return value.to(place) if isinstance(value, torch.Tensor) else value


def facts_of(code, device):
    module = program.read(code)
    args, kwargs = init_arguments(module)
    place = device.place
    given = _inputs(module, device)
    tensor_at = [i for i, value in enumerate(given.leaves) if isinstance(value, torch.Tensor)]
    return Facts(([_placed(a, place) for a in args], {k: _placed(v, place) for k, v in kwargs.items()}),
                 [None if isinstance(v, torch.Tensor) else v for v in given.leaves], tensor_at, given)
