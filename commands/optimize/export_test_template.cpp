// SPDX-License-Identifier: Apache-2.0
// The regression test of an exported package.
#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {

const char* const export_test_head = R"py(# SPDX-License-Identifier: Apache-2.0
"""Does the exported op still give what the reference gives?

python test_regression.py          checks every judged shape; exit code 0: all is well
python test_regression.py --time   prints the median times with cold caches too, beside the judged ones
python -m pytest test_regression.py does the same checks
python is one with torch; where only Warpsmith's environment has it: /path/to/warpsmith python test_regression.py
"""
import argparse
import json
import pathlib
import statistics
import sys
import time
import warnings

try:
    import torch
except ModuleNotFoundError:
    sys.exit(f"{sys.executable} has no torch; run this with a Python that has it, for example by Warpsmith's "
             "launcher: /path/to/warpsmith python test_regression.py")
from torch.utils import _pytree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import @PACKAGE@ as package
from @PACKAGE@ import models

SETS = 3
DEVICE = torch.device(package.DEVICE)
# Largest error, as a share of an element's size plus its neighbours'; the judge's own bounds are tighter.
BOUNDS = {torch.float16: 4e-3, torch.bfloat16: 3e-2}
BOUND = 1e-2 if package.LANE == "tf32-allowed" else 1e-4


def on_device(value):
    return value.to(DEVICE) if isinstance(value, torch.Tensor) else value


def made(module):
    args, kwargs = models.initial(module)
    return models.placed(module.Model(*args, **kwargs), DEVICE)


def inputs(module, shape):
    return _pytree.tree_map(on_device, list(getattr(module, shape["function"])()))


def parameters(model):
    names = [t["name"] for t in package.TENSORS if t["role"] == "parameter"]
    return [models.part(model, name).detach().contiguous() for name in names]


def leaves(given):
    return [leaf.contiguous() for leaf in _pytree.tree_leaves(list(given)) if isinstance(leaf, torch.Tensor)]


def outputs(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def in_double(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def expected(model, given):
    """The reference's outputs, in float64 unless its code fixes another type."""
    own = model(*given)
    try:
        return models.changed(model.double(), in_double)(*_pytree.tree_map(in_double, given))
    except RuntimeError:  # e.g. a product with a factor that forward converts to float32
        return own


def check_output(name, got, wanted):
    assert got.shape == wanted.shape, f"{name}: shape {tuple(got.shape)}, expected {tuple(wanted.shape)}"
    if not got.is_floating_point():
        assert torch.equal(got, wanted.to(got.dtype)), f"{name}: integers differ"
        return
    finite = torch.isfinite(wanted)
    assert torch.equal(finite, torch.isfinite(got)), f"{name}: infinite or NaN elsewhere than the reference"
    size = wanted[finite].abs().mean() if finite.any() else torch.zeros((), device=DEVICE)
    error = ((got.double() - wanted.double()).abs() / (wanted.double().abs() + size + 1e-30))[finite]
    worst = error.max().item() if error.numel() else 0.0
    bound = BOUNDS.get(got.dtype, BOUND)
    assert worst <= bound, f"{name}: the largest error is {worst:.3g} of its size, expected at most {bound:g}"


@torch.no_grad()
def check_shape(shape, seed):
    module = models.reference()
    torch.manual_seed(seed)
    model = made(module)
    given = inputs(module, shape)
    tensors = leaves(given) + parameters(model)
    before = [t.clone() for t in tensors]
    got = outputs(package.solve(*tensors))
    assert all(torch.equal(a, b) for a, b in zip(before, tensors)), "an input changed"
    wanted = outputs(expected(model, given))
    names = [t["name"] for t in package.TENSORS if t["role"] == "output"]
    for name, mine, theirs in zip(names, got, wanted, strict=True):
        check_output(f"{shape['function']}, {name}", mine, theirs)
    torch.library.opcheck(package.solve, tuple(tensors), test_utils=("test_schema", "test_faketensor"))


def test_outputs():
    for shape in package.SHAPES:
        for seed in range(SETS):
            check_shape(shape, seed)


def test_other_sizes_are_refused():
    tensors = [torch.zeros([*package.SHAPES[0]["extents"][i], 1], dtype=getattr(torch, t["dtype"]), device=DEVICE)
               for i, t in enumerate(package.TENSORS) if t["role"] != "output"]
    for call in (package.shape_of, lambda given: package.solve(*given)):
        try:
            call(tensors)
        except (RuntimeError, ValueError):
            continue
        raise AssertionError("sizes that were not judged must be refused")


def tensors_of(shape):
    """The op's inputs and parameters, and outputs for solve_out."""
    module = models.reference()
    tensors = leaves(inputs(module, shape)) + parameters(made(module))
    return tensors, [torch.empty(shape["extents"][i], dtype=getattr(torch, t["dtype"]), device=DEVICE)
                     for i, t in enumerate(package.TENSORS) if t["role"] == "output"]


)py";

const char* const export_test_tail = R"py(

def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--time", action="store_true", help="print median times too")
    args = options.parse_args()
    test_outputs()
    test_other_sizes_are_refused()
    print("passed:", ", ".join(shape["function"] for shape in package.SHAPES))
    if args.time:
        for shape in package.SHAPES:
            ms, judged = time_shape(shape), shape["judged_ms"]
            change = round(100 * (ms / judged - 1), 2) if judged > 0 else None
            print(json.dumps({"shape": shape["function"], "ms": ms, "judged_ms": judged, "change_percent": change}))


if __name__ == "__main__":
    main()
)py";

}  // namespace warpsmith::commands
