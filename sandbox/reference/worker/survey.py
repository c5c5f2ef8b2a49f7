# SPDX-License-Identifier: Apache-2.0
# Runs a task's forward for the first times, and refuses a task that cannot be judged fairly.
import torch

import chunks
import model_parts
import modes
import places
from refusals import Refused, place
from signatures import DTYPES


def look(task):
    """Finds the task's outputs (only shapes), its operations, its peak of memory and what forward itself changes."""
    inputs = [v.clone() if isinstance(v, torch.Tensor) else v for v in task.sample]
    state = model_parts.tensors_of(task.model)
    before = {n: (t._version, t.detach().clone()) for n, t in state.items()}
    outs, survey = _first_run(task, inputs, state)
    for at in task.tensor_at:
        if not chunks.equal(inputs[at], task.sample[at]):
            raise Refused(f"forward changes its input {at}")
    del inputs
    # Batch norm changes its statistics without changing their version.
    task.private = {n: v for n, (version, v) in before.items()
                    if state[n]._version != version or not chunks.equal(state[n], v)}
    task.flops, task.selects = survey.flops, survey.selects
    _check_kinds(outs)
    task.outputs = [torch.empty_like(o, device="meta") for o in outs]
    _check_runs(task, outs)


def _first_run(task, inputs, state):
    elsewhere = _tensors_elsewhere(task, state)
    survey = modes.Survey()
    with place("forward"), torch.no_grad(), survey:
        result, task.narrow_peak = task.device.peak(lambda: task.model(*task.given.filled(inputs)))
    for where in (elsewhere[memory] for memory in survey.read if memory in elsewhere):
        raise Refused(f"forward reads {where}, a tensor that is neither an input nor part of Model's state: pass "
                      "it to forward, or keep it in Model, for example by register_buffer")
    outs = model_parts.as_outputs(result)
    if survey.random:
        raise Refused(f"forward is random: it calls {survey.random}")
    return outs, survey


def _tensors_elsewhere(task, state):
    """Maps the memory of each tensor that is not part of Model's state to its place."""
    roots = {"": places.globals_of(task.module) | {"Model": task.model, "get_inputs()": task.sample}}
    with place("Model"):
        found = places.tensors(roots, task.module.__name__)
    for tensor in (*state.values(), *(task.sample[at] for at in task.tensor_at)):
        found.pop(places.storage_of(tensor), None)
    return found


def _check_kinds(outs):
    for i, a in enumerate(outs):
        if a.dtype not in DTYPES:
            raise Refused(f"output {i} has dtype {a.dtype}, which no contract carries")
        if a.device.type not in ("cpu", "cuda"):
            raise Refused(f'output {i} is on the device "{a.device}", which holds no values here')


def _check_runs(task, outs):
    """Equal inputs must produce equal outputs. Notes outputs that other inputs do not change."""
    same = chunks.nearly_equal if task.device.remote else chunks.equal  # sums by atomic additions are honest
    for i, (a, b) in enumerate(zip(outs, _again(task, lambda: task.sample, outs))):
        if not same(a, b):
            raise Refused(f"output {i} differs between two runs on equal inputs")
    for i, (a, c) in enumerate(zip(outs, _again(task, lambda: _other_draw(task), outs))):
        if a.shape != c.shape:
            raise Refused(f"output {i} changes its shape with the inputs' values")
        if a.numel() and chunks.equal(a, c):
            task.insensitive.append(f"output {i} does not depend on the inputs")
        elif a.numel() > 1 and chunks.constant(a):
            task.insensitive.append(f"output {i} is constant")


def _other_draw(task):
    """Other inputs. Numbers among them may depend on the seed; nothing else may decide them."""
    values = task.draw(2)
    first = _numbers(task, task.sample)
    if places.difference(first, _numbers(task, values)) is not None:
        if (where := places.difference(first, _numbers(task, task.draw(1)))) is not None:
            raise Refused(f"get_inputs gives {where} another value each time: write it as a constant")
    return [task.sample[at] if at not in task.tensor_at else v for at, v in enumerate(values)]


def _numbers(task, leaves):
    return places.numbers(dict(zip(task.given.names, leaves)), task.module.__name__)


@torch.no_grad()
def _again(task, arguments, before):
    with place("forward, called again"):
        outs = model_parts.as_outputs(task.model(*task.given.filled(arguments())))
    if len(outs) != len(before):
        raise Refused(f"forward gave {len(before)} outputs, then {len(outs)}")
    return outs
