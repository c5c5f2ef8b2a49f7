# SPDX-License-Identifier: Apache-2.0
"""Times the released workspace's protocol for one kernel: the peer of `warpsmith bench evaluate`.

    python scripts/bench_workspace_peer.py --task TASK.py --solution FOLDER

FOLDER contains kernels.cu and plan.toml of contract device with one launch of arguments (x, y, rows). The protocol
(CUDA-Agent, arXiv 2602.24286, and its released workspace): an extension built by torch's own loader, five runs compared
with the model, then ten timed runs each of eager, torch.compile and the extension; three programs, one after the other.
Prints one JSON object. Needs a GPU and nvcc.
"""
import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

CHECKED_RUNS, TIMED_RUNS, WARM_RUNS = 5, 10, 3
STEPS = ("compile", "verify", "profile")

LAUNCHER = """
#include <cuda_runtime.h>
extern "C" void launch(const float* x, float* y, int rows, cudaStream_t stream) {{
  {kernel}<<<dim3({grid}), dim3({block}), 0, stream>>>(x, y, rows);
}}
"""
BINDING = """
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>
extern "C" void launch(const float* x, float* y, int rows, cudaStream_t stream);
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  launch(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), c10::cuda::getCurrentCUDAStream());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", type=Path, required=True)
    parser.add_argument("--solution", type=Path, required=True)
    parser.add_argument("--step", choices=STEPS, help="run one of the three programs, in the folder --build")
    parser.add_argument("--build", type=Path)
    return parser.parse_args()


def module_of(task):
    spec = importlib.util.spec_from_file_location("task", task)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def extents(values, rows):
    """The plan's grid or block as C++."""
    def one(value):
        text = re.sub(r"ceildiv\(([^,]+),([^)]+)\)", r"(((\1) + (\2) - 1) / (\2))", str(value))
        return re.sub(r"\bd0\b", rows, text)
    return ", ".join(one(v) for v in values)


def write_sources(args):
    plan = tomllib.loads((args.solution / "plan.toml").read_text(encoding="utf-8"))
    (step,) = plan["step"]
    if step["args"] != ["x", "y", "d0"]:
        sys.exit(f"{args.solution}: expected one launch of x, y, d0; got {step['args']}")
    launcher = LAUNCHER.format(kernel=step["launch"], grid=extents(step["grid"], "rows"),
                               block=extents(step["block"], "rows"))
    kernels = (args.solution / "kernels.cu").read_text(encoding="utf-8")
    (args.build / "kernels.cu").write_text(kernels + launcher, encoding="utf-8")
    (args.build / "binding.cpp").write_text(BINDING, encoding="utf-8")


def extension(args):
    from torch.utils.cpp_extension import load

    return load(name="cuda_extension", sources=[str(args.build / "kernels.cu"), str(args.build / "binding.cpp")],
                build_directory=str(args.build))


def ready(args):
    import torch

    module = module_of(args.task)
    model = module.Model(*module.get_init_inputs()).cuda().eval()
    return torch, model, lambda: [x.cuda() for x in module.get_inputs()]


def verify(args):
    torch, model, draw = ready(args)
    built = extension(args)
    for seed in range(CHECKED_RUNS):
        torch.manual_seed(seed)
        inputs = draw()
        with torch.no_grad():
            if not torch.allclose(built.forward(*inputs), model(*inputs), atol=1e-2, rtol=1e-2):
                sys.exit(f"run {seed + 1} differs from the model")


def median_ms(torch, function, inputs):
    for _ in range(WARM_RUNS):
        function(*inputs)
    times = []
    for _ in range(TIMED_RUNS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        function(*inputs)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[TIMED_RUNS // 2]


def profile(args):
    torch, model, draw = ready(args)
    built, inputs = extension(args), draw()
    with torch.no_grad():
        times = {"eager_ms": median_ms(torch, model, inputs),
                 "compile_ms": median_ms(torch, torch.compile(model), inputs),
                 "extension_ms": median_ms(torch, built.forward, inputs)}
    print(json.dumps(times))


def one_step(args, step):
    """Returns the seconds that one program took, and the last line that it printed."""
    command = [sys.executable, __file__, "--task", args.task, "--solution", args.solution, "--step", step,
               "--build", args.build]
    began = time.perf_counter()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{step}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return time.perf_counter() - began, done.stdout.strip().splitlines()[-1:]


def main():
    args = arguments()
    if args.step:
        {"compile": extension, "verify": verify, "profile": profile}[args.step](args)
        return 0
    with tempfile.TemporaryDirectory(prefix="warpsmith-peer-") as folder:
        args.build = Path(folder)
        write_sources(args)
        seconds, times = {}, {}
        for step in STEPS:
            seconds[step], said = one_step(args, step)
            times = json.loads(said[0]) if step == "profile" else times
    print(json.dumps({"compile_s": seconds["compile"], "verify_s": seconds["verify"], "profile_s": seconds["profile"],
                      "total_s": sum(seconds.values()), "held_s": seconds["verify"] + seconds["profile"], **times}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
