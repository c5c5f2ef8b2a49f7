# SPDX-License-Identifier: Apache-2.0
# Computes how much device memory a task needs, so that a task that does not fit is refused before it fails half-way.
from typing import NamedTuple

_OVERHEAD = 3 << 29  # bytes: libraries' workspaces, the noise, the buffer for sweeping the caches


class Peaks(NamedTuple):
    """The most bytes allocated during one evaluation, including its outputs but not the inputs."""

    narrow: int  # float32
    wide: int  # float64, including the widened inputs and parameters


def _bytes(signature, role, size=None):
    return sum(t["elements"] * (size or t["item_bytes"]) for t in signature if t["role"] in role)


def shared_bytes(signature, sets):
    """The verifier's memory: inputs, a candidate's outputs and ours per set; references and spreads once."""
    inputs, outputs = _bytes(signature, ("input", "parameter")), _bytes(signature, ("output",))
    return sets * (inputs + 2 * outputs) + _bytes(signature, ("output",), 8 + 4)


def private_bytes(signature, peaks, graphs=0):
    """The most memory of this process during a session with `graphs` captured graphs."""
    outputs = _bytes(signature, ("output",))
    largest = max((t["elements"] * 4 for t in signature), default=0)
    if any(t.get("dtype") in ("f16", "bf16") and t["role"] != "output" for t in signature):
        # Wide evaluations run beside the task's own, and the largest deviations are kept.
        both = peaks.narrow + peaks.wide + 2 * largest + _bytes(signature, ("output",), 4)
        peaks = Peaks(peaks.narrow, both)
    # A perturbed evaluation copies what an operator reads, and a rounded one also what it writes; ordered sums copy
    # their terms.
    return _OVERHEAD + graphs * outputs + max(peaks.wide, peaks.narrow + 2 * largest + outputs)


def giga(count):
    return f"{count / 1e9:.3g} GB"


def complaint(needed, free, sets):
    """Why the task does not fit; empty if it does."""
    if needed <= free:
        return ""
    held = f"{sets} buffer set{'s' if sets > 1 else ''}"
    return f"the task needs {giga(needed)} of device memory for {held}, the device has {giga(free)} free"
