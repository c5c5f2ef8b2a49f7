# SPDX-License-Identifier: Apache-2.0
# Whether torch sees the GPUs that a run asks for, and what leases call a GPU. A separate process asks torch: the
# callers load no torch and start no CUDA, which their children could then not use.
import json
import os
import subprocess
import sys

_ANSWER_S = 300.0  # most that a first load of torch from a slow disk takes
_SCRIPT = """import json, torch
seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
print(json.dumps({"seen": seen, "built": torch.version.cuda}))"""

_ADDRESS = """import ctypes
driver, device, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.create_string_buffer(64)
for failed in (driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(device), 0),
               driver.cuDeviceGetPCIBusId(address, 63, device)):
    assert not failed, failed
print(address.value.decode())"""


def lease_name():
    """The name of the first GPU that this process sees, as the engine makes it of its PCI address: `read_gpu`
    (runtime/cuda/driver.cpp), then `gpu_device` (runtime/device/lease.cpp)."""
    done = subprocess.run([sys.executable, "-B", "-c", _ADDRESS], capture_output=True, text=True, timeout=_ANSWER_S)
    if done.returncode:
        raise OSError(f"the driver does not tell the GPU's address: {done.stderr.strip()[-300:]}")
    return "gpu-" + done.stdout.strip().lower().replace(":", "_").replace("/", "_")


def lack(wanted, visible=None):
    """What this machine lacks for a run on `wanted` GPUs, and the remedy; empty if it lacks nothing.

    `visible`: CUDA_VISIBLE_DEVICES, if not that of this process.
    """
    environment = {**os.environ, **({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})}
    found = _asked(environment)
    if isinstance(found, str):
        return found
    if found["seen"] >= wanted:
        return ""
    shown = environment.get("CUDA_VISIBLE_DEVICES")
    among = "" if shown is None else f" (CUDA_VISIBLE_DEVICES={shown})"
    if not found["built"]:
        return "--device cuda: torch is built without CUDA here; install one that is, or use --device cpu"
    if not found["seen"]:
        return f"--device cuda: torch sees no GPU here{among}; use a machine with a GPU and its driver, or --device cpu"
    return f"--gpus {wanted}: torch sees {found['seen']} here{among}"


def _asked(environment):
    """What torch says, or why it says nothing."""
    try:
        done = subprocess.run([sys.executable, "-B", "-c", _SCRIPT], env=environment, capture_output=True, text=True,
                              timeout=_ANSWER_S)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return f"--device cuda: torch did not say within {_ANSWER_S:.0f} s which GPUs it sees"
    except ValueError:
        last = (done.stderr.strip() or "nothing").splitlines()[-1]
        return f"--device cuda: torch could not say which GPUs it sees: {last}"
