# SPDX-License-Identifier: Apache-2.0
# The verifier's memory, mapped by this process: inputs read-only, the rest writable.
import torch

import commit


class HostMemory:
    def __init__(self, fd, size, writable):
        self.memory = commit.map_memory(fd, size, writable)

    def view(self, dtype, shape, elements, offset):
        if elements == 0:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(self.memory, dtype=dtype, count=elements, offset=offset).view(shape)

    def close(self):
        """Unmaps once the last tensor that views it is gone."""
        self.memory = None
