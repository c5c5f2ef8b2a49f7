# SPDX-License-Identifier: Apache-2.0
# Finds tensors and numbers that a task keeps outside its inputs and its model's state, and names their places.
import functools
import math
import types

import numpy as np
import torch

_NUMBERS = (bool, int, float, complex, np.number, np.bool_, np.ndarray)
_MOST = 100_000  # values to look at
_UNNAMED = {"_parameters", "_buffers", "_modules", "__wrapped__"}  # parts that a path omits


def _cells(function):
    """What a function keeps: variables of enclosing functions, and defaults."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if cell != types.CellType():
            yield name, cell.cell_contents
    parameters = function.__code__.co_varnames[:function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(parameters[len(parameters) - len(defaults):], defaults)
    yield from (function.__kwdefaults__ or {}).items()


def _attributes(value):
    """Hooks in their order: torch numbers them over all modules of a process."""
    for name, item in getattr(value, "__dict__", {}).items():
        hooks = isinstance(value, torch.nn.Module) and name.endswith("_hooks") and isinstance(item, dict)
        yield name, list(item.values()) if hooks else item


def _children(value, module):
    """Pairs (name, value) that `value` contains; nothing for what libraries define."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, (list, tuple)):
        return enumerate(value)
    if isinstance(value, types.FunctionType):
        return _cells(value) if value.__module__ == module else ()
    if isinstance(value, types.MethodType):
        return (("__self__", value.__self__),)
    if isinstance(value, functools.partial):
        return (*enumerate(value.args), *value.keywords.items())
    if isinstance(value, (type, types.ModuleType)):
        return [pair for pair in vars(value).items() if not pair[0].startswith("__")] \
            if module in (getattr(value, "__module__", None), value.__name__) else ()
    return () if isinstance(value, torch.Tensor) else _attributes(value)


def globals_of(module):
    """What the task's text defines or imports."""
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


def walk(roots, module):
    """Pairs (place, value) of everything that `roots` (name to value) contain within the module of this name."""
    queue, seen = list(roots.items()), set()
    for at, (place, value) in enumerate(queue):
        if at == _MOST:
            return
        yield place, value
        if isinstance(value, _NUMBERS) or id(value) in seen:
            continue
        seen.add(id(value))
        for name, child in list(_children(value, module)):
            queue.append((place if name in _UNNAMED else f"{place}.{name}".lstrip("."), child))


def storage_of(tensor):
    """The address of a tensor's memory; 0 if it has none."""
    if tensor.layout != torch.strided or tensor.device.type == "meta" or tensor.numel() == 0:
        return 0
    return tensor.untyped_storage().data_ptr()


def tensors(roots, module):
    """Maps the address of each tensor's memory to the tensor's place."""
    found = {}
    for place, value in walk(roots, module):
        if isinstance(value, torch.Tensor):
            found.setdefault(storage_of(value), place)
    found.pop(0, None)
    return found


def numbers(roots, module):
    """Maps places to the numbers there."""
    return {place: value for place, value in walk(roots, module) if isinstance(value, _NUMBERS)}


def same(a, b):
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    both_nan = isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
    return both_nan or type(a) is type(b) and a == b


def difference(first, second):
    """The first place whose number differs between two results of `numbers`, or None."""
    for place in {**first, **second}:
        if place not in first or place not in second or not same(first[place], second[place]):
            return place
    return None
