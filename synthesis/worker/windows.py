# SPDX-License-Identifier: Apache-2.0
# The windows of milliseconds in which one call of a task lies.

WITHIN = 1.25  # a composed task stays this far within its window on a GPU, since it is measured again elsewhere
_USUAL = {"cpu": (0.05, 20.0), "cuda": (1.0, 100.0)}


def usual(device):
    """The default limits of the window."""
    return list(_USUAL[device])


def complaint(window, narrower, least="--min-ms", most="--max-ms"):
    """Why no task can be in the window; empty if one can. `narrower`: whether tasks are composed for a GPU."""
    low, high = window
    if low >= high:
        return f"{least} {low:g} is not below {most} {high:g}"
    if narrower and low * WITHIN >= high / WITHIN:
        return f"{least} {low:g}, {most} {high:g}: expected {most} above {WITHIN**2:g} × {least} on a GPU"
    return ""
