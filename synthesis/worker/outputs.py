# SPDX-License-Identifier: Apache-2.0
# Checks of what a task's model returns.
import torch

from reasons import Rejected

_NEAR_ZERO = 1e-6
_CONSTANT = 1e-6  # of the largest absolute value


def flat(result):
    """The tensors of a result that is a tensor, or a list, tuple or dict of them."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if not isinstance(result, (list, tuple)):
        raise Rejected("bad_output", f"the output is {type(result).__name__}")
    return [tensor for value in result if value is not None for tensor in flat(value)]


def check_values(outs):
    """Rejects outputs that are missing, empty or not finite."""
    if not outs or any(t.numel() == 0 for t in outs):
        raise Rejected("bad_output", "no values")
    if any(t.is_complex() or not torch.isfinite(t).all() for t in outs):
        raise Rejected("bad_output", "values that are not finite real numbers")


def same(a, b, tolerance=0.0):
    """Whether two lists of tensors have equal shapes and values, relative to the largest."""
    return len(a) == len(b) and all(_equal(x, y, tolerance) for x, y in zip(a, b))


def _equal(a, b, tolerance):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if tolerance == 0.0 or not a.is_floating_point():
        return torch.equal(a, b)
    a, b = a.double(), b.double()
    usual = b.abs().mean().clamp(max=1.0)  # outputs of softmax are small, so differences must be small as well
    return bool(((a - b).abs() <= tolerance * (usual + b.abs())).all())


def _is_constant(tensor, axis):
    spread = tensor.amax(axis) - tensor.amin(axis)
    return bool((spread <= _CONSTANT * tensor.abs().amax(axis)).all())


def place_of(number, out):
    """Names an output for a reader."""
    return f"output {number} of shape {tuple(out.shape)}"


def check_informative(outs, inputs):
    """Rejects outputs that a program could return without computing: zeros, constants, an input."""
    for number, out in enumerate(outs):
        if any(isinstance(x, torch.Tensor) and x.shape == out.shape and torch.equal(x, out) for x in inputs):
            raise Rejected("identity", place_of(number, out))
    wide = [out.double() for out in outs]
    if all(bool(out.abs().max() < _NEAR_ZERO) for out in wide):
        raise Rejected("near_zero")
    for number, out in enumerate(wide):
        for axis in range(out.dim()):
            if out.shape[axis] > 1 and _is_constant(out, axis):
                raise Rejected("constant_axis", f"{place_of(number, out)} along axis {axis}")
