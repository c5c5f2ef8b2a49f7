# SPDX-License-Identifier: Apache-2.0
# Computes how much device memory a task needs, so that a task that does not fit is refused before it fails half-way.
from typing import NamedTuple

_OVERHEAD = 3 << 29  # bytes: libraries' workspaces, the noise, the buffer for sweeping the caches


class Peaks(NamedTuple):
    """The most bytes allocated during one evaluation, including its outputs but not the inputs."""

    narrow: int  # float32, of all rows
    wide: int  # float64 of a part, including the widened inputs and parameters
    parts: int = 1  # into which evaluations in a mode are divided (row_parts.py)


def _bytes(signature, role, size=None):
    return sum(t["elements"] * (size or t["item_bytes"]) for t in signature if t["role"] in role)


def shared_bytes(signature, sets):
    """The verifier's memory: inputs, a candidate's outputs and ours per set; references and spreads once."""
    inputs, outputs = _bytes(signature, ("input", "parameter")), _bytes(signature, ("output",))
    return sets * (inputs + 2 * outputs) + _bytes(signature, ("output",), 8 + 4)


def private_bytes(signature, peaks, graphs=0):
    """The most memory of this process during a session with `graphs` captured graphs."""
    outputs = _bytes(signature, ("output",))
    part = _evaluation(signature, peaks)
    if peaks.parts == 1:
        return _OVERHEAD + graphs * outputs + part
    # Correlated errors keep a deviation of each output; wrong answers need the right ones and one more of each output.
    shares = _bytes(signature, ("output",), 4)
    return _OVERHEAD + graphs * outputs + max(peaks.narrow + outputs, max(shares, outputs) + part)


def _evaluation(signature, peaks):
    """The most memory of an evaluation of a part in a mode."""
    outputs = -(-_bytes(signature, ("output",)) // peaks.parts)
    narrow = -(-peaks.narrow // peaks.parts)
    largest = -(-max((t["elements"] * 4 for t in signature), default=0) // peaks.parts)
    wide = peaks.wide
    if any(t.get("dtype") in ("f16", "bf16") and t["role"] != "output" for t in signature):
        # Wide evaluations run together with the task's own, and the largest deviations are kept.
        wide += narrow + 2 * largest + _bytes(signature, ("output",), 4)
    # A perturbed evaluation copies what an operator reads, and a rounded one also what it writes; ordered sums copy
    # their terms.
    return max(wide, narrow + 2 * largest + outputs)


def giga(count):
    return f"{count / 1e9:.3g} GB"


def complaint(needed, free, sets):
    """Why the task does not fit; empty if it does."""
    if needed <= free:
        return ""
    held = f"{sets} buffer set{'s' if sets > 1 else ''}"
    return f"the task needs {giga(needed)} of device memory for {held}, the device has {giga(free)} free"
