// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/optimize/export_templates.hpp"

namespace warpsmith::actors {

const char* const export_init = R"py(# SPDX-License-Identifier: Apache-2.0
"""A judged kernel as the custom ops torch.ops.@PACKAGE@.solve and solve_out.

solve(*inputs, *parameters) returns new outputs; solve_out(..., *outputs) writes given ones. The tensors and their
order are those of TENSORS. The kernel was judged on the sizes of SHAPES; others raise ValueError or RuntimeError.
"""
import json
import pathlib

import torch

from . import build

_facts = json.loads((pathlib.Path(__file__).parent / "signature.json").read_text())
TENSORS = _facts["tensors"]
SHAPES = _facts["shapes"]
_inputs = [i for i, t in enumerate(TENSORS) if t["role"] != "output"]
_outputs = [i for i, t in enumerate(TENSORS) if t["role"] == "output"]

torch.ops.load_library(str(build.library()))
solve = torch.ops.@PACKAGE@.solve
solve_out = torch.ops.@PACKAGE@.solve_out


def shape_of(tensors):
    """The entry of SHAPES that these inputs and parameters have."""
    given = [list(t.shape) for t in tensors]
    for shape in SHAPES:
        if [shape["extents"][i] for i in _inputs] == given:
            return shape
    known = "; ".join(str([s["extents"][i] for i in _inputs]) for s in SHAPES)
    raise ValueError(f"@PACKAGE@: sizes {given} were not judged; expected one of {known}")


@torch.library.register_fake("@PACKAGE@::solve")
def _fake(*tensors):
    extents = shape_of(tensors)["extents"]
    made = [torch.empty(extents[i], dtype=getattr(torch, TENSORS[i]["dtype"]), device=tensors[0].device)
            for i in _outputs]
    return made[0] if len(made) == 1 else tuple(made)


@torch.library.register_fake("@PACKAGE@::solve_out")
def _fake_out(*tensors):
    shape_of(tensors[:len(_inputs)])
)py";

const char* const export_build = R"py(# SPDX-License-Identifier: Apache-2.0
"""Builds the op with the judge's flags, once for each compiler, processor and torch. `python -m @PACKAGE@.build`."""
import hashlib
import json
import os
import pathlib
import platform
import subprocess
import tempfile

import torch
from torch.utils import cpp_extension

_here = pathlib.Path(__file__).resolve().parent
_source = _here / "csrc"
_flags = json.loads((_here / "flags.json").read_text())
_limit_s = 600


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=_limit_s)
    if done.returncode != 0:
        raise RuntimeError(f"@PACKAGE@: {' '.join(command)} failed:\n{done.stderr[-4000:]}")
    return done.stdout


def _compiler():
    return os.environ.get("CXX", "g++")


def _key():
    """A hash of all that the build depends on."""
    facts = [torch.__version__, platform.machine(), _run([_compiler(), "-march=native", "-Q", "--help=target"]),
             _run([_compiler(), "--version"]), json.dumps(_flags)]
    facts += [f"{path.name} {path.read_text()}" for path in sorted(_source.iterdir()) if path.is_file()]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _build(into, key):
    # The name of each library is its own: the loader takes a second library of one name for the first.
    kernel = into / f"lib@PACKAGE@_{key}.so"
    _run([_compiler(), *_flags["compile"], "-w", f"-I{_source}", f"-Wl,-soname,{kernel.name}", "-o", str(kernel),
          str(_source / "kernel.cpp"), *_flags["link"]])
    includes = [f"-I{path}" for path in cpp_extension.include_paths()]
    libraries = [f"-L{path}" for path in cpp_extension.library_paths()]
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    _run([_compiler(), "-std=c++17", "-O2", "-w", "-fPIC", "-shared", abi, *includes, "-o", str(into / "op.so"),
          str(_source / "op.cpp"), str(kernel), *libraries, "-lc10", "-ltorch_cpu", "-Wl,-rpath,$ORIGIN"])


def library():
    """The path of the built op; builds it where it is missing. RuntimeError has the compiler's messages."""
    key = _key()
    done = _here / "_build" / key
    if not (done / "op.so").exists():
        done.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=done.parent) as scratch:
            fresh = pathlib.Path(scratch) / "fresh"
            fresh.mkdir()
            _build(fresh, key)
            try:
                fresh.rename(done)
            except OSError:  # another process was first
                if not (done / "op.so").exists():
                    raise
    return done / "op.so"


if __name__ == "__main__":
    print(library())
)py";

const char* const export_operator_head = R"op(// SPDX-License-Identifier: Apache-2.0
// The op around the kernel: checks types and sizes, makes outputs, calls solve.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <array>
#include <tuple>
#include <vector>

extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims);

namespace {

using at::Tensor;
using Extents = std::vector<int64_t>;

struct Shape {
  std::vector<Extents> in, out;
  Extents dims;
};

)op";

const char* const export_operator_tail = R"op(
/// The judged shape that these inputs have.
const Shape& shape_of(const std::array<const Tensor*, in_count>& in) {
  for (const Shape& shape : shapes) {
    bool same = true;
    for (size_t i = 0; i < in_count && same; ++i) same = in[i]->sizes().equals(shape.in[i]);
    if (same) return shape;
  }
  TORCH_CHECK(false, "@PACKAGE@: these sizes were not judged; see SHAPES of the package");
}

/// Contiguous and aligned to 64 bytes, as the kernel was judged.
bool fits(const Tensor& tensor) {
  return tensor.is_contiguous() && reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 64 == 0;
}

void check(const Tensor& tensor, at::ScalarType type) {
  TORCH_CHECK(tensor.scalar_type() == type, "@PACKAGE@: expected ", type, ", got ",
              tensor.scalar_type());
}

void run(const std::array<const Tensor*, in_count>& in,
         const std::array<const Tensor*, out_count>& out, const Shape& shape) {
  std::array<Tensor, in_count> copies;
  std::array<const void*, in_count> from{};
  std::array<void*, out_count> to{};
  for (size_t i = 0; i < in_count; ++i) {
    check(*in[i], in_types[i]);
    if (!fits(*in[i])) copies[i] = in[i]->clone(at::MemoryFormat::Contiguous);
    from[i] = (copies[i].defined() ? copies[i] : *in[i]).const_data_ptr();
  }
  for (size_t i = 0; i < out_count; ++i) {
    check(*out[i], out_types[i]);
    TORCH_CHECK(out[i]->sizes().equals(shape.out[i]), "@PACKAGE@: output ", i, " has other sizes");
    TORCH_CHECK(fits(*out[i]), "@PACKAGE@: output ", i,
                " must be contiguous and aligned to 64 bytes");
    to[i] = out[i]->mutable_data_ptr();
  }
  solve(from.data(), to.data(), shape.dims.data());
}

std::array<Tensor, out_count> made(const Shape& shape) {
  std::array<Tensor, out_count> out;
  for (size_t i = 0; i < out_count; ++i) {
    out[i] = at::empty(shape.out[i], at::dtype(out_types[i]));
  }
  return out;
}

)op";

const char* const export_pyproject = R"toml([build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "@PACKAGE@"
version = "1.0"
description = "A kernel that Warpsmith judged, as a torch.library custom op"
dependencies = ["torch"]

[tool.setuptools]
packages = ["@PACKAGE@"]

[tool.setuptools.package-data]
"@PACKAGE@" = ["*.json", "csrc/**"]
)toml";

const char* const export_readme = R"md(# @PACKAGE@

A kernel that was judged correct and fast, as a custom op of torch.

```
python test_regression.py          # correct on every judged shape?
python test_regression.py --time   # how fast here?
```

```python
import @PACKAGE@
y = @PACKAGE@.solve(*inputs, *parameters)   # torch.ops.@PACKAGE@.solve; works under torch.compile
```

The first import compiles it with the judge's flags (`-march=native`: for the machine that imports it), which needs
g++ and the headers of torch. It has no gradient. Sizes that were not judged are refused. `solve_out` writes outputs
that you give it.
)md";

}  // namespace warpsmith::actors
