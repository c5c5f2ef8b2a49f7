# SPDX-License-Identifier: Apache-2.0
# What one call ran on the GPU: names, times and launch shapes, from CUPTI's activity records.
import json
import os
import tempfile

import torch
from torch.profiler import ProfilerActivity

import kernel_counters

_NAME = 200  # characters of a kernel's name
_KERNELS = 512  # kernels of one call
_KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill"}  # maps the category of an event to its kind


def _kernel(event, began):
    facts = event.get("args", {})
    return {"kind": _KINDS[event["cat"]], "name": event["name"][:_NAME], "start_us": float(event["ts"]) - began,
            "device_us": float(event["dur"]), "grid": facts.get("grid", []), "block": facts.get("block", []),
            "registers": facts.get("registers per thread", 0), "shared_bytes": facts.get("shared memory", 0),
            "bytes": facts.get("bytes", 0)}


def kernels_of(events):
    """The kernels of a trace's events, in order; `start_us` counts from the start of the first."""
    kernels = sorted((e for e in events if e.get("ph") == "X" and e.get("cat") in _KINDS), key=lambda e: e["ts"])
    return [_kernel(e, float(kernels[0]["ts"])) for e in kernels[:_KERNELS]]


def _recorded(device, call):
    with tempfile.TemporaryDirectory() as folder:
        device.cool()
        with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as profile:
            call()
            device.wait()
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            return kernels_of(json.load(file)["traceEvents"])


def none(reason):
    return {"kernels": [], "reason": reason, "uncounted": ""}


def profiled(device, call):
    """The kernels of a call with cold caches and their counters, or why there are none. Make the call once before."""
    kernels = _recorded(device, call)
    if not kernels:
        return none("it launches nothing")
    return {"kernels": kernels, "reason": "", "uncounted": kernel_counters.add(device, call, kernels)}
