# SPDX-License-Identifier: Apache-2.0
"""Runs an agent's reference.py and the task that it was made from: run_reference.py FOLDER…

A folder holds task.py and reference.py. Both run on the device meta, which takes no memory. They must make equal
models and equal shapes, from equal arguments of the constructor. Prints a line for each folder that fails.
"""
import sys
import types
from pathlib import Path

import torch


def module_in(path):
    module = types.ModuleType(path.stem)
    with torch.device("meta"):
        exec(compile(path.read_text(encoding="utf-8"), path, "exec"), module.__dict__)
    return module


def outcome(module, inputs):
    with torch.device("meta"), torch.no_grad():
        arguments = module.get_init_inputs()
        model = module.Model(*arguments)
        result = model(*inputs)
    outputs = result if isinstance(result, (list, tuple)) else [result]
    scalars = {name: value for part in model.modules() for name, value in vars(part).items()
               if isinstance(value, (int, float, str, tuple))}
    return (arguments, {name: tuple(t.shape) for name, t in model.state_dict().items()},
            [(tuple(t.shape), t.dtype) for t in outputs], scalars)


def complaint(folder):
    try:
        task, reference = module_in(folder / "task.py"), module_in(folder / "reference.py")
        with torch.device("meta"):
            inputs = task.get_inputs()
        for name in ("get_inputs", "get_ragged_inputs"):
            if hasattr(reference, name):
                return f"reference.py shows {name}"
        return "" if outcome(task, inputs) == outcome(reference, inputs) else "another model"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main(folders):
    failed = [(folder, why) for folder in folders if (why := complaint(Path(folder)))]
    print("".join(f"{folder}: {why}\n" for folder, why in failed), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
