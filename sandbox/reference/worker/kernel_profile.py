# SPDX-License-Identifier: Apache-2.0
# What a task's baselines run on the GPU.
import torch

import baselines
import kernel_trace
from refusals import Refused


def _told(task, function, arguments):
    with task.device.lane(task.lane):
        function(*arguments)  # what only a first call does
        return kernel_trace.told(task.device, lambda: function(*arguments))


@torch.no_grad()
def profile(task):
    """Kernels of one call of eager and of torch.compile; where that is not to be had, none and the reason."""
    if not task.device.remote:
        raise Refused("a CPU's calls have no kernels to profile")
    try:
        reason = baselines.ready(task, "default")[1]
    except Refused as error:
        reason = str(error)
    arguments = task.example()
    try:
        return {"eager": _told(task, task.model, arguments),
                "compiled": kernel_trace.none(reason) if reason else
                _told(task, task.baselines["default"], arguments)}
    finally:
        del arguments
        task.done_with_example()
