# SPDX-License-Identifier: Apache-2.0
# Which operators and modules a forward really calls.
import torch
from torch.overrides import TorchFunctionMode

_ALIASES = {"truediv": "div", "rtruediv": "div", "floordiv": "floordivide", "mod": "remainder", "radd": "add",
            "iadd": "add", "imul": "mul", "isub": "sub", "rmul": "mul", "rpow": "pow", "rmatmul": "matmul",
            "swish": "silu", "gemm": "matmul", "multiply": "mul", "subtract": "sub", "divide": "div"}


def short(name):
    """The name without module, underscores and case, so that all ways to call an operator agree."""
    name = name.rsplit(".", 1)[-1]
    for prefix in ("special_", "linalg_", "fft_"):
        name = name.removeprefix(prefix)
    name = name.lower().replace("_", "")
    return _ALIASES.get(name, name)


class Calls(TorchFunctionMode):
    """Collects the short names of functions and modules that are called while it is entered."""

    def __init__(self, model):
        super().__init__()
        self.names, self.functions = set(), set()
        for module in model.modules():
            if not type(module).__module__.startswith(("torch.", "transformers.")):
                continue  # the task's own classes
            module.register_forward_pre_hook(lambda m, args: self.names.add(short(type(m).__name__)))

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.add(short(getattr(func, "__name__", "")))
        self.functions.add(func)
        return func(*args, **(kwargs or {}))

    def unused(self, declared):
        """The first declared operator that was not called, or empty."""
        return next((name for name in declared if short(name) not in self.names and not self._called(name)), "")

    def _called(self, name):
        value = torch
        for part in name.removeprefix("torch.").replace("F.", "nn.functional.").split("."):
            value = getattr(value, part, None)
        return value in self.functions
