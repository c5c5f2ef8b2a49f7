// SPDX-License-Identifier: Apache-2.0
// build.py of an exported package, but for the part of its contract.
#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {

const char* const export_build_head = R"py(# SPDX-License-Identifier: Apache-2.0
"""Builds the op with the judge's flags, once for each compiler, machine and torch. `python -m @PACKAGE@.build`."""
import concurrent.futures
import ctypes
import hashlib
import json
import os
import pathlib
import platform
import struct
import subprocess
import sysconfig
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


def _build_op(into, includes, more, libraries):
    includes = [f"-I{path}" for path in [*cpp_extension.include_paths(), *includes]]
    folders = [f"-L{path}" for path in cpp_extension.library_paths()]
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    _run([_compiler(), "-std=c++17", "-O2", "-w", "-fPIC", "-shared", abi, *includes, "-o", str(into / "op.so"),
          str(_source / "op.cpp"), *more, *folders, *libraries, "-Wl,-rpath,$ORIGIN"])


)py";

const char* const export_architecture = R"py(def _architecture():
    """As 90a: of the GPU at hand, else the first one of TORCH_CUDA_ARCH_LIST."""
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        return f"{major}{minor}" + ("a" if major >= 9 else "")
    listed = os.environ.get("TORCH_CUDA_ARCH_LIST", "").replace(";", " ").split()
    if not listed:
        raise RuntimeError("@PACKAGE@: no GPU to build for; set TORCH_CUDA_ARCH_LIST, e.g. to 9.0a")
    return listed[0].split("+")[0].replace(".", "")


)py";

const char* const export_build_tail = R"py(

def _key():
    """A hash of all that the build depends on."""
    facts = [torch.__version__, platform.machine(), _run([_compiler(), "--version"]), json.dumps(_flags), *_facts()]
    facts += [f"{path.relative_to(_source)} {path.read_text()}"
              for path in sorted(_source.rglob("*")) if path.is_file()]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


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

}  // namespace warpsmith::commands
