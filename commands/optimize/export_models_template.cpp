// SPDX-License-Identifier: Apache-2.0
// models.py of an exported package.
#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {

const char* const export_models = R"py(# SPDX-License-Identifier: Apache-2.0
"""The reference as a module, and the tensors of a model by the names of signature.json."""
import importlib.util
import pathlib
import re
import sys

import torch
from torch.utils import _pytree


def reference():
    """reference.py, run anew."""
    name = "@PACKAGE@.reference"
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).parent / "reference.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def initial(module):
    """The positional and the keyword arguments that get_init_inputs gives for the constructor."""
    given = module.get_init_inputs()
    if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
        return list(given[0]), given[1]
    return list(given), {}


def changed(model, change):
    """Changes also the tensors that modules keep as plain attributes or in lists and dicts."""
    for module in model.modules():
        for key, value in vars(module).items():
            if isinstance(value, (torch.Tensor, list, tuple, dict)) and not key.startswith("_"):
                setattr(module, key, _pytree.tree_map(change, value))
    return model


def placed(model, device):
    """The model on the device, in the mode in which its constructor leaves it, as it was judged."""
    return changed(model.to(device), lambda value: value.to(device) if isinstance(value, torch.Tensor) else value)


def part(model, name):
    """The tensor at a dotted place of the model: attributes, entries of lists and of dicts."""
    try:
        return _at(model, name)
    except (AttributeError, KeyError, IndexError, ValueError):
        # In the signature, a name that an input has too ends in a number.
        return _at(model, re.sub(r"_\d+$", "", name))


def _at(model, name):
    value = model
    for step in name.split("."):
        if isinstance(value, (list, tuple)):
            value = value[int(step)]
        elif isinstance(value, dict):
            value = value[step] if step in value else value[int(step)]
        else:
            value = getattr(value, step)
    return value
)py";

}  // namespace warpsmith::commands
