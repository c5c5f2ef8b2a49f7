# SPDX-License-Identifier: Apache-2.0
# Passes over large tensors that need temporaries only for a part of them at a time.
import torch

SIZE = 2**26  # elements; a task for a CPU has no more, so there each tensor is one chunk
TOLERANCE = 1e-4  # times the mean magnitude: the most that another order of atomic additions may change a value


def chunks(*tensors):
    """Corresponding flat pieces of equally shaped tensors. For a contiguous tensor they are views."""
    yield from zip(*(t.reshape(-1).split(SIZE) for t in tensors))


def dense(value):
    """Whether the elements are stored without gaps or overlaps, in any order of axes."""
    expected = 1
    for stride, extent in sorted((s, e) for s, e in zip(value.stride(), value.shape) if e != 1):
        if stride != expected:
            return False
        expected *= extent
    return True


def equal(a, b):
    """Whether two tensors have equal values; NaN equals NaN."""
    return all(torch.equal(x.nan_to_num(), y.nan_to_num()) for x, y in chunks(a, b))


def nearly_equal(a, b):
    """Equality up to another order of atomic additions; integers must be equal."""
    if not a.is_floating_point():
        return equal(a, b)
    scale = TOLERANCE * size_of(a)
    return all(torch.allclose(x.double(), y.double(), rtol=TOLERANCE, atol=scale, equal_nan=True)
               for x, y in chunks(a, b))


def constant(value):
    first = value.flatten()[:1]
    return all(bool((x == first).all()) for x, in chunks(value))


def decided(spreads, references):
    """Whether each spread is finite wherever its reference is a number."""
    return all(bool((s.isfinite() | r.isnan()).all())
               for spread, reference in zip(spreads, references) for s, r in chunks(spread, reference))


def deviation(out, exact):
    """|out − exact| in float32; 0 where both have the same infinity."""
    found = (out.float() - exact.float()).abs_()
    if found.device.type == "cpu" and found.sum().isfinite():  # saves three passes; on a GPU it would wait instead
        return found
    return found.masked_fill_(exact.isinf() & (out == exact), 0)


def size_of(value):
    """The mean of the finite magnitudes."""
    sums = [x.double().nan_to_num(posinf=0, neginf=0).abs_().sum() for x, in chunks(value)]
    return float(sum(sums)) / max(1, value.numel())


def mean(value):
    if value.numel() <= SIZE:
        return value.double().mean().item()
    return float(sum(x.double().sum() for x, in chunks(value))) / value.numel()


def summary(value):
    """Mean, deviation, minimum and maximum of a tensor that is not empty."""
    if value.numel() <= SIZE:
        x = value.double()
        same = bool((x == x.flatten()[0]).all())
        return float(x.mean()), 0.0 if same else float(x.std(unbiased=False)), float(x.min()), float(x.max())
    middle = mean(value)
    squares = sum((x.double() - middle).square_().sum() for x, in chunks(value))
    deviation = 0.0 if constant(value) else float(squares / value.numel()) ** 0.5
    low = min(float(x.min()) for x, in chunks(value))
    high = max(float(x.max()) for x, in chunks(value))
    return middle, deviation, low, high
