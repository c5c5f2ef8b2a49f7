# SPDX-License-Identifier: Apache-2.0
# What inductor does for a GPU in a task's process: Triton compiles a kernel, with files and programs of its own.
import os
import subprocess
import sys
import tempfile
import unittest

from support import WORKER, needs_namespaces

_TARGET = "cuda", 90, 32  # no GPU is needed to compile for one
_HERE = os.path.dirname(os.path.abspath(__file__))

_COMPILES = f"""
import sys
sys.path[:0] = [{str(WORKER)!r}, {_HERE!r}]
import child, namespaces

def compiled(say):
    import triton
    import exp_kernel
    from triton.backends.compiler import GPUTarget
    source = triton.compiler.ASTSource(fn=exp_kernel.exp, signature={{"x": "*fp32", "y": "*fp32", "n": "i32",
                                       "block": "constexpr"}}, constexprs={{"block": 128}})
    return len(triton.compile(source, target=GPUTarget(*{_TARGET})).asm["cubin"])

folder = sys.argv[1]
namespaces.enter(folder, 1 << 28)
for device in ("cpu", "cuda"):
    print(child.run(compiled, child.Limits(60, device=device, folder=folder, compiler=True))[0] > 0)
"""


class KernelsTest(unittest.TestCase):
    @needs_namespaces
    def test_triton_compiles_where_only_one_folder_is_writable(self):
        sys.path.insert(0, str(WORKER))
        import environments
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", "-c", _COMPILES, folder], text=True, capture_output=True,
                                  env=environments.of_worker(folder), timeout=200)
        self.assertEqual((done.stdout.split(), done.returncode), (["True", "True"], 0), done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
