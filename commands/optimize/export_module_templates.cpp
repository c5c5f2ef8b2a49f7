// SPDX-License-Identifier: Apache-2.0
// What an exported package of contract `host` has of its own.
#include <string>

#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {
namespace {

const char* const module_load = "from . import op  # defines the ops";

const char* const module_build = R"py(def _kernels():
    return sorted((_source / "kernels").rglob("*.cu"))


def _facts():
    return [_architecture()] if _kernels() else []


def _command(source):
    # The name is the package's own: pybind11 takes a second module of one name for the first.
    common = [*_flags["compile"], "-DTORCH_EXTENSION_NAME=@PACKAGE@_kernels",
              f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
              "-isystem", sysconfig.get_paths()["include"]]
    for path in cpp_extension.include_paths("cuda" if cpp_extension.CUDA_HOME else "cpu"):
        common += ["-isystem", path]
    if source.suffix != ".cu":
        # Without unique symbols: another export's bindings would be registered here too.
        return [_compiler(), *_flags["host"], "-fno-gnu-unique", *common]
    if not cpp_extension.CUDA_HOME:
        raise RuntimeError("@PACKAGE@: no nvcc, which kernels/*.cu need; set CUDA_HOME")
    code = _architecture()
    return [f"{cpp_extension.CUDA_HOME}/bin/nvcc", *_flags["cuda"], f"-gencode=arch=compute_{code},code=sm_{code}",
            *common]


def _object(into, number, source):
    made = into / f"{number}.o"
    _run([*_command(source), "-c", str(source), "-o", str(made)])
    return str(made)


def _build(into, key):
    sources = [_source / "binding.cpp", *sorted((_source / "kernels").rglob("*_binding.cpp")), *_kernels()]
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count())) as pool:
        objects = list(pool.map(lambda numbered: _object(into, *numbered), enumerate(sources)))
    folders = cpp_extension.library_paths("cuda" if cpp_extension.CUDA_HOME else "cpu")
    libraries = ["-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    libraries += ["-lc10_cuda", "-ltorch_cuda"] if torch.version.cuda else []
    libraries += ["-lcudart"] if cpp_extension.CUDA_HOME else []
    _run([_compiler(), "-shared", "-o", str(into / "op.so"), *objects, *[f"-L{path}" for path in folders], *libraries])
)py";

// @SOLVE@ and @SOLVE_OUT@ stand for the ops' schemas.
const char* const module_operator = R"py(# SPDX-License-Identifier: Apache-2.0
"""ModelNew as an op. What it holds of Model's parameters and buffers are arguments of each call."""
import contextlib
import importlib.util
import pathlib
import sys

import torch
from torch.utils import _pytree

import @PACKAGE@ as package

from . import models

SOLVE = "@SOLVE@"
SOLVE_OUT = "@SOLVE_OUT@"
_source = pathlib.Path(__file__).resolve().parent / "csrc"
_modules = {}  # the submission's own, by the names that it imports
_models = {}  # by judged shape and device: what a call needs
ready_outputs = None  # if set, calls give these in place of forward's: times the rest of a call


def _extension():
    """The module of kernels/, built with the judge's flags where it is missing."""
    from .build import library
    spec = importlib.util.spec_from_file_location("@PACKAGE@_kernels", library())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _own_modules():
    """Lets the submission find its modules by their plain names, which other exports have too."""
    names = {"cuda_extension", *(path.stem for path in _source.glob("*.py"))}
    others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.modules.update(_modules)
    sys.path.insert(0, str(_source))
    try:
        yield
    finally:
        sys.path.remove(str(_source))
        _modules.update({name: sys.modules.pop(name) for name in names if name in sys.modules})
        sys.modules.update(others)


class _Model:
    """ModelNew for one judged shape, with forward's arguments that are no tensors."""

    def __init__(self, shape, device):
        def on_device(value):
            return value.to(device) if isinstance(value, torch.Tensor) else value

        with torch.random.fork_rng():
            torch.manual_seed(0)
            module = models.reference()
            args, kwargs = _pytree.tree_map(on_device, models.initial(module))
            self.leaves, self.structure = _pytree.tree_flatten(list(getattr(module, shape["function"])()))
            new = importlib.import_module("model_new").ModelNew(*args, **kwargs)
        self.new = models.placed(new, device).requires_grad_(False)
        self.at = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        for i in self.at:
            self.leaves[i] = None
        self.held = [models.part(self.new, t["name"]) for t in package.TENSORS if t["role"] == "parameter"]

    def __call__(self, tensors):
        leaves = list(self.leaves)
        for i, tensor in zip(self.at, tensors):
            leaves[i] = tensor
        for held, tensor in zip(self.held, tensors[len(self.at):]):
            held.data = tensor
        outs = self.new(*_pytree.tree_unflatten(leaves, self.structure))
        return outs if isinstance(outs, (list, tuple)) else [outs]


def _checked(tensors):
    """The inputs and parameters, contiguous."""
    wanted = [t["dtype"] for t in package.TENSORS if t["role"] != "output"]
    for tensor, dtype in zip(tensors, wanted):
        if tensor.dtype != getattr(torch, dtype):
            raise ValueError(f"@PACKAGE@: expected torch.{dtype}, got {tensor.dtype}")
        if tensor.device != tensors[0].device:
            raise ValueError(f"@PACKAGE@: tensors on {tensors[0].device} and {tensor.device}")
    return [tensor.contiguous() for tensor in tensors]


def _called(tensors):
    shape, tensors = package.shape_of(tensors), _checked(tensors)
    key = shape["function"], tensors[0].device
    with _own_modules():  # also for what forward imports
        if key not in _models:
            _models[key] = _Model(shape, tensors[0].device)
        return ready_outputs or _models[key](tensors)


@torch.no_grad()
def _solve(*tensors):
    outs, used = [], {tensor.untyped_storage().data_ptr() for tensor in tensors}
    for out in _called(tensors):
        # The outputs of an op share no memory with its inputs or with one another.
        outs.append(out.clone() if out.untyped_storage().data_ptr() in used else out.contiguous())
        used.add(outs[-1].untyped_storage().data_ptr())
    return outs[0] if len(outs) == 1 else tuple(outs)


@torch.no_grad()
def _solve_out(*tensors):
    count = sum(t["role"] != "output" for t in package.TENSORS)
    for target, out in zip(tensors[count:], _called(tensors[:count]), strict=True):
        target.copy_(out)


if (_source / "binding.cpp").exists():
    _modules["cuda_extension"] = _extension()
_library = torch.library.Library("@PACKAGE@", "DEF")
for _schema, _function in ((SOLVE, _solve), (SOLVE_OUT, _solve_out)):
    _library.define(_schema)
    _library.impl(_schema.partition("(")[0], _function, package.DEVICE.upper())
)py";

const char* const module_timing = R"py(@torch.no_grad()
def time_shape(shape, rounds=5, calls=60):
    """The time of solve_out in ms as the judge takes it: from the call to the end of its work with cold caches, less
    that of a call whose outputs are there before; the median of the rounds' medians."""
    tensors, new = tensors_of(shape)
    package.solve_out(*tensors, *new)
    on_gpu = DEVICE.type == "cuda"
    cache = torch.cuda.get_device_properties(DEVICE).L2_cache_size if on_gpu else 1 << 26
    sweep = torch.empty(max(4 * cache, 1 << 28), dtype=torch.uint8, device=DEVICE)
    ready = [torch.zeros_like(out) for out in new]

    def span(outputs, turn):
        package.op.ready_outputs = outputs
        sweep.fill_(turn % 256)
        if on_gpu:
            torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        package.solve_out(*tensors, *new)
        if on_gpu:
            torch.cuda.synchronize()
        return (time.perf_counter_ns() - begin) / 1e6

    torch.set_num_threads(1)
    medians = []
    for _ in range(rounds):
        spans = [(span(None, turn), span(ready, turn)) for turn in range(calls)][calls // 6:]
        medians.append(statistics.median(s[0] for s in spans) - statistics.median(s[1] for s in spans))
    package.op.ready_outputs = None
    return statistics.median(medians)
)py";

const char* const module_needs =
    "`csrc/` holds `ModelNew` and its kernels. The first import compiles the kernels with the "
    "judge's flags for the GPU\nthat imports it, which needs nvcc (of CUDA_HOME), g++, and the "
    "headers of torch and Python; a `model_new.py` that\nuses torch's own loaders needs ninja too. "
    "The parameters and buffers that `ModelNew` holds are arguments of each call;\nwhat it keeps "
    "beside them stays from call to call. One process calls it from one thread at a time.";

}  // namespace

const char* const export_module_operator = module_operator;

const ExportTexts& module_export_texts() {
  static const std::string build = std::string(export_architecture) + module_build;
  static const ExportTexts texts{module_load, build.c_str(), "",          "",
                                 "",          module_timing, module_needs};
  return texts;
}

}  // namespace warpsmith::commands
