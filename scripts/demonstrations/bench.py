# SPDX-License-Identifier: Apache-2.0
# Compiles kernels with the contract's flags and times them together with torch in this process. It checks
# our demonstrations; only the sandbox judges candidates.
import ctypes
import hashlib
import statistics
import subprocess
import time
from pathlib import Path

import torch

FLAGS = (
    "-std=c++20 -O3 -march=native -fno-math-errno -fno-trapping-math -fPIC -shared -fopenmp-simd"
).split()
WARM_UP = 3
COLD_BYTES = 96 << 20  # buffers rotate over more than twice a last-level cache of 32 MiB


HEADER_SOURCE = Path(__file__).parents[2] / "sandbox/contract/cpu/cpu_contract.cpp"


class Bench:
    """Compiles in `folder`, which also gets the contract's header."""

    def __init__(self, folder):
        self.folder = Path(folder)
        text = HEADER_SOURCE.read_text(encoding="utf-8")
        header = text.split('R"header(', 1)[1].split(')header"', 1)[0]
        (self.folder / "warpsmith.h").write_text(header, encoding="utf-8")

    def compile(self, source):
        """The `solve` function, or the compiler's message as a string."""
        stem = self.folder / hashlib.sha256(source.encode()).hexdigest()[:16]
        text, library = stem.with_suffix(".cpp"), stem.with_suffix(".so")
        text.write_text(source, encoding="utf-8")
        command = ["g++", *FLAGS, f"-I{self.folder}", str(text), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            return done.stderr
        return ctypes.CDLL(str(library)).solve


def pointers(tensors):
    return (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])


class Case:
    """One task ready to run: the model, and buffer sets that together exceed the cache."""

    def __init__(self, task, module, cold_outputs=False):
        torch.manual_seed(7)
        self.task = task
        self.model = module.Model(*module.get_init_inputs())
        self.parameters = [p.detach() for p in self.model.parameters()]
        self.dims = (ctypes.c_int64 * len(task.dims))(*task.dims)
        first = module.get_inputs()
        output = self.model(*first).detach()
        size = 4 * (sum(t.numel() for t in first) + output.numel())
        count = max(5, COLD_BYTES // size)
        self.inputs = [first] + [module.get_inputs() for _ in range(count - 1)]
        # torch's allocator returns a warm output to a baseline; a kernel gets one buffer, or one per set.
        warm = [torch.empty_like(output)]
        self.outputs = [torch.empty_like(output) for _ in range(count)] if cold_outputs else warm * count
        self.compiled = None

    def run(self, solve, number):
        """Calls the kernel on set `number`; returns the output."""
        given = [t.contiguous() for t in self.inputs[number]] + self.parameters
        solve(pointers(given), pointers([self.outputs[number]]), self.dims)
        return self.outputs[number]

    def worst_error(self, solve, sets=3):
        """max |y - ref| / (1e-5 max |ref| + 1e-4 |ref|) over some sets; above 1 or NaN is wrong."""
        worst = 0.0
        for number in range(sets):
            self.outputs[number].fill_(float("nan"))
            got = self.run(solve, number).double()
            with torch.no_grad():
                want = reference(self.model, self.inputs[number])
            bound = 1e-5 * want.abs().max() + 1e-4 * want.abs()
            error = ((got - want).abs() / bound).max().item()
            worst = max(worst, error if error == error else float("inf"))
        return worst

    def times(self, solve, repeats=15):
        """Median ms of (kernel, eager, compiled); each call uses a set that has left the cache."""
        if self.compiled is None:
            self.compiled = torch.compile(self.model)
        contestants = [
            lambda n: self.run(solve, n),
            lambda n: self.model(*self.inputs[n]),
            lambda n: self.compiled(*self.inputs[n]),
        ]
        taken = [[] for _ in contestants]
        with torch.no_grad():
            for number in range(WARM_UP + repeats):
                for times, contestant in zip(taken, contestants, strict=True):
                    begin = time.perf_counter()
                    contestant(number % len(self.inputs))
                    times.append((time.perf_counter() - begin) * 1e3)
        return [statistics.median(times[WARM_UP:]) for times in taken]


def reference(model, inputs):
    """The output of the model in float64."""
    double = model.double()
    try:
        return double(*[t.double() for t in inputs])
    finally:
        model.float()


def milestone(kernel_ms, eager_ms, compiled_ms):
    """The reward of a correct kernel with these times."""
    faster = [(t - kernel_ms) / t > 0.05 for t in (eager_ms, compiled_ms)]
    return 1 + faster[0] + all(faster)
