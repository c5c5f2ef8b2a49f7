# SPDX-License-Identifier: Apache-2.0
# The spread that a bound is based on: how far rounding in float32 may move each output of a task.
import numpy as np
import torch

import chunks
import modes
import noise
import orders
import ties
from correlated import errors_for
from deviations import Deviations
from device import LANES

CORRELATED_SHARE = 1 / 8  # of the largest possible error; the bound's constant multiplies it by 8 or more


def write(task, inputs, parameters, reference, sums, evaluations):
    """Writes to `sums` the deviations of perturbed evaluations from the float64 reference, plus correlated errors.

    Repeats with `sparing` if an element is undecided, for example because of a mask's infinities.
    """
    _write(task, inputs, parameters, reference, sums, evaluations)
    if not task.sparing and not chunks.decided(sums, reference):
        task.sparing = True
        _write(task, inputs, parameters, reference, sums, evaluations)


def _write(task, inputs, parameters, reference, sums, evaluations):
    elements = max(t.numel() for t in (*inputs, *parameters, *reference))
    bank = noise.noise_for(elements, task.device.place, task.sparing)
    narrow, tf32 = modes.any_narrow(inputs, parameters), task.lane == LANES[1]
    deviations = Deviations(sums, reference, narrow)
    while True:
        mode = (modes.Narrow(bank, task.device.remote) if narrow
                else modes.Perturbed(bank, task.device.remote, tf32))
        deviations.add(_perturbed(task, mode, inputs, parameters))
        if deviations.count >= evaluations * _share(mode, narrow, tf32):
            break
    deviations.settle()
    for total, share in zip(sums, _correlated(task, inputs, parameters, reference) or []):
        total.add_(share)
    if task.selects:
        ties.mark_open(task, inputs, parameters, reference, sums)


def _share(mode, narrow, tf32):
    """The factor on the number of evaluations, greater than 1 if they may all be small at one element, or if the
    bound is close to honest errors."""
    if narrow:
        return modes.NARROW_SHARE
    return modes.TF32_SHARE if tf32 else modes.SCAN_SHARE if mode.scanned else 1


def _perturbed(task, mode, inputs, parameters):
    """Pairs (rows, outputs) of a perturbed evaluation, in float64 for a task of half types."""
    for rows, outs in task.evaluations(mode, inputs, parameters):
        yield rows, mode.twin(outs) if isinstance(mode, modes.Narrow) else outs


def _correlated(task, inputs, parameters, reference):
    """The part of correlated errors of all sums in the spread: deviations with equal and with alternating signs."""
    generator, shares = np.random.default_rng(20261), []
    for signs in ((1,), (1, -1)):
        errors = errors_for(task.device.place, generator, signs)
        for rows, outs in task.evaluations(orders.Ordered(errors.sums), inputs, parameters):
            if errors.sums_hit == 0:
                continue
            shares = shares or [torch.zeros(r.shape, dtype=torch.float32, device=r.device) for r in reference]
            for share, exact, out in zip(shares, reference, outs):
                for s, e, o in chunks.chunks(share[rows], exact[rows], out):
                    torch.maximum(s, chunks.deviation(o, e).mul_(CORRELATED_SHARE), out=s)
        if errors.sums_hit <= 1:
            break
    return shares
