# SPDX-License-Identifier: Apache-2.0
# A baseline without launch costs: eager's launches on each buffer set, captured once and replayed.
import contextlib

import torch


class Graphs:
    """They share a pool, in which only their outputs are separate."""

    def __init__(self):
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        self.made = {}  # maps key to (graph, outputs)

    def __contains__(self, key):
        return key in self.made

    def capture(self, key, call):
        """Raises what `call` raises. A call that waits for the device cannot be captured."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            call()  # before the capture: libraries allocate their workspaces
            self._without_waiting(call)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin(pool=self.pool)
            try:
                out = call()
                graph.capture_end()
            except BaseException:
                self._abandon(graph)
                raise
        torch.cuda.current_stream().wait_stream(self.stream)
        self.made[key] = (graph, out)

    @staticmethod
    def _without_waiting(call):
        """Runs `call` outside a capture to find most of what would break one."""
        torch.cuda.set_sync_debug_mode("error")
        try:
            call()
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def _abandon(self, graph):
        """A capture that cannot be ended leaves the allocator and the generator in capture mode."""
        index = self.stream.device.index
        try:
            graph.capture_end()
        except Exception:
            for give_back in (torch._C._cuda_endAllocateToPool, torch._C._cuda_releasePool):
                with contextlib.suppress(RuntimeError):  # may already have happened
                    give_back(index, self.pool)
            self.pool = torch.cuda.graph_pool_handle()
            generator = torch.cuda.default_generators[index]
            generator.graphsafe_set_state(generator.clone_state())

    def replay(self, key):
        self.made[key][0].replay()

    def outputs(self, key):
        return self.made[key][1]
