# SPDX-License-Identifier: Apache-2.0
# The kernels of a task's baselines on the GPU.
import torch

import baselines
import kernel_trace
from refusals import Refused


def _profiled(task, function, arguments):
    with task.device.lane(task.lane):
        function(*arguments)  # the work of a first call is not recorded
        return kernel_trace.profiled(task.device, lambda: function(*arguments))


@torch.no_grad()
def profile(task):
    """The kernels of one call of eager and of torch.compile, or the reason why there are none."""
    if not task.device.remote:
        raise Refused("a CPU's calls have no kernels to profile")
    _, reason = baselines.ready(task, "default")
    arguments = task.example()
    try:
        return {"eager": _profiled(task, task.model, arguments),
                "compiled": kernel_trace.none(reason) if reason else
                _profiled(task, task.baselines["default"], arguments)}
    finally:
        del arguments
        task.done_with_example()
