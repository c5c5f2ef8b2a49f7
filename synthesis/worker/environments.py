# SPDX-License-Identifier: Apache-2.0
# The environment of processes that load torch, whose compiler makes folders as soon as it is imported.
import os


def temporary(folder):
    """The variables that keep all temporary files in the folder."""
    return {"TMPDIR": folder, "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor", "TRITON_CACHE_DIR": f"{folder}/triton"}


def visible(number):
    """The GPU with that number among the visible ones, as CUDA_VISIBLE_DEVICES names it. Raises ValueError."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown is None:
        return str(number)
    names = [name for name in shown.split(",") if name]
    if number >= len(names):
        raise ValueError(f"CUDA_VISIBLE_DEVICES={shown} shows fewer GPUs")
    return names[number]


def of_worker(folder, gpu=None):
    """The whole environment of a worker. `gpu`: the number of its GPU among the visible ones."""
    found = {**os.environ, **temporary(folder), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
             "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return found if gpu is None else {**found, "CUDA_VISIBLE_DEVICES": visible(gpu)}
