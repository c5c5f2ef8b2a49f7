// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {

const char* const export_init_head = R"py(# SPDX-License-Identifier: Apache-2.0
"""A judged kernel as the custom ops torch.ops.@PACKAGE@.solve and solve_out.

solve(*inputs, *parameters) returns new outputs; solve_out(..., *outputs) writes given ones. The tensors and their
order are those of TENSORS. The kernel was judged on the sizes of SHAPES; others raise ValueError or RuntimeError.
"""
import json
import pathlib

import torch

_facts = json.loads((pathlib.Path(__file__).parent / "signature.json").read_text())
TENSORS = _facts["tensors"]
SHAPES = _facts["shapes"]
DEVICE = _facts["device"]
LANE = _facts["lane"]
_inputs = [i for i, t in enumerate(TENSORS) if t["role"] != "output"]
_outputs = [i for i, t in enumerate(TENSORS) if t["role"] == "output"]

)py";

const char* const export_load_library = R"py(from . import build

torch.ops.load_library(str(build.library())))py";

const char* const export_init_tail = R"py(
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

const char* const export_operator_head = R"op(namespace {

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

void check(const Tensor& tensor, at::ScalarType type, const Tensor& like) {
  TORCH_CHECK(tensor.scalar_type() == type, "@PACKAGE@: expected ", type, ", got ",
              tensor.scalar_type());
  TORCH_CHECK(tensor.device() == like.device(), "@PACKAGE@: tensors on ", like.device(), " and ",
              tensor.device());
}

void run(const std::array<const Tensor*, in_count>& in,
         const std::array<const Tensor*, out_count>& out, const Shape& shape) {
  std::array<Tensor, in_count> copies;
  std::array<const void*, in_count> from{};
  std::array<void*, out_count> to{};
  for (size_t i = 0; i < in_count; ++i) {
    check(*in[i], in_types[i], *in[0]);
    if (!fits(*in[i])) copies[i] = in[i]->clone(at::MemoryFormat::Contiguous);
    from[i] = (copies[i].defined() ? copies[i] : *in[i]).const_data_ptr();
  }
  for (size_t i = 0; i < out_count; ++i) {
    check(*out[i], out_types[i], *in[0]);
    TORCH_CHECK(out[i]->sizes().equals(shape.out[i]), "@PACKAGE@: output ", i, " has other sizes");
    TORCH_CHECK(fits(*out[i]), "@PACKAGE@: output ", i,
                " must be contiguous and aligned to 64 bytes");
    to[i] = out[i]->mutable_data_ptr();
  }
  call(from.data(), to.data(), shape, *in[0]);
}

std::array<Tensor, out_count> made(const Shape& shape, const Tensor& like) {
  std::array<Tensor, out_count> out;
  for (size_t i = 0; i < out_count; ++i) {
    out[i] = @ROOM@;
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

`python` is one with torch. Where only Warpsmith's environment has torch, its launcher runs the test with that:
`/path/to/warpsmith python test_regression.py`.

```python
import @PACKAGE@
y = @PACKAGE@.solve(*inputs, *parameters)   # torch.ops.@PACKAGE@.solve; works under torch.compile
```

@NEEDS@
It has no gradient. Sizes that were not judged are refused. `solve_out` writes outputs that you give it.
)md";

}  // namespace warpsmith::commands
