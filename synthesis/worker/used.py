# SPDX-License-Identifier: Apache-2.0
# On which operators and modules the outputs of a forward depend.
import torch
from torch.overrides import TorchFunctionMode

_ALIASES = {"truediv": "div", "rtruediv": "div", "floordiv": "floordivide", "mod": "remainder", "radd": "add",
            "iadd": "add", "imul": "mul", "isub": "sub", "rmul": "mul", "rpow": "pow", "rmatmul": "matmul",
            "swish": "silu", "gemm": "matmul", "multiply": "mul", "subtract": "sub", "divide": "div"}

_LEAVES = {"item", "tolist", "bool", "float", "int", "index", "complex", "numpy", "array", "dlpack", "equal",
           "allclose", "isnonzero", "contains"}  # calls that give values; others without a tensor tell sizes and types
_SIZED = {"nonzero", "argwhere", "unique", "uniqueconsecutive", "maskedselect"}  # whose results' sizes tell values


def short(name):
    """The name without module, underscores and case, so that all ways to call an operator agree."""
    name = name.rsplit(".", 1)[-1]
    for prefix in ("special_", "linalg_", "fft_"):
        name = name.removeprefix(prefix)
    name = name.lower().replace("_", "")
    return _ALIASES.get(name, name)


class Calls(TorchFunctionMode):
    """Records the calls while it is entered. Values flow from call to call through storages, including views and writes
    in place; a value that leaves torch, as a number, an array or a size, may affect anything."""

    def __init__(self, model):
        super().__init__()
        self.calls = []  # short name, function, and the numbers of the calls whose results it uses
        self.writers = {}  # of storages: the number of the call that wrote there last
        self.left = set()  # calls by which values left torch
        known = [m for m in model.modules() if type(m).__module__.startswith(("torch.", "transformers."))]
        self.hooks = [module.register_forward_hook(self._module_called, with_kwargs=True) for module in known]

    def __exit__(self, *error):
        for hook in self.hooks:
            hook.remove()  # later calls of the model are timed
        return super().__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = short(getattr(func, "__name__", ""))
        self._note(name, func, [args, kwargs], [result, args[:1] if name == "setitem" else ()])
        return result

    def _module_called(self, module, args, kwargs, result):
        with torch._C.DisableTorchFunction():
            self._note(short(type(module).__name__), None, [args, kwargs, result], result)

    def _note(self, name, func, taken, written):
        number, results = len(self.calls), list(map(_storage, _tensors(written)))
        self.calls.append((name, func, self._writers_of(taken)))
        self.writers.update(dict.fromkeys(results, number))
        if name in _SIZED or name in _LEAVES and not results:
            self.left.add(number)

    def _writers_of(self, values):
        found = map(_storage, _tensors(values))
        return {self.writers[storage] for storage in found if storage in self.writers}

    def used(self, outs):
        """Short names and functions of the calls on which the outputs depend."""
        reached, left = set(), self._writers_of(outs) | self.left
        while left:
            reached |= left
            left = set().union(*(self.calls[number][2] for number in left)) - reached
        names, functions, _ = zip(*map(self.calls.__getitem__, reached)) if reached else ((), (), ())
        return set(names), set(functions)


def unused(declared, names, functions):
    """The first declared operator that is not among those, or empty."""
    return next((name for name in declared if short(name) not in names and _found(name) not in functions), "")


def _found(name):
    """What torch has by that name."""
    value = torch
    for part in name.removeprefix("torch.").replace("F.", "nn.functional.").split("."):
        value = getattr(value, part, None)
    return value


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)


def _storage(tensor):
    try:
        return tensor.untyped_storage()._cdata
    except NotImplementedError:  # e.g. of sparse tensors
        return id(tensor)
