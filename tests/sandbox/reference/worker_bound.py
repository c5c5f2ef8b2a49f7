# SPDX-License-Identifier: Apache-2.0
# The verifier's distributions and bound for tests, as in element_values.hpp and element_bound.hpp.
import math

import torch

POOL, C, U, SMALLEST = 8, 16, 2.0**-24, 2.0**-100  # for four evaluations
EVALUATIONS = 4
STORE = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


def magnitude(shape, low, span):
    exponent = torch.randint(low, low + span, shape).float()
    return (1 + torch.rand(shape)) * 2**exponent * (torch.randint(0, 2, shape) * 2 - 1)


def huge(shape):
    """A quarter of the rows has it at each end."""
    x, where = torch.randn(shape), torch.rand(shape[:1])
    at = torch.where(where < 0.25, 0, torch.where(where < 0.5, shape[1] - 1, torch.randint(0, shape[1], shape[:1])))
    x[torch.arange(shape[0]), at] = magnitude(shape[:1], 10, 1)
    return x


DISTRIBUTIONS = {
    "normal": torch.randn, "shifted": lambda shape: torch.randn(shape) + 2.5,
    "wide": lambda shape: magnitude(shape, -8, 16), "huge": huge,
    "sparse": lambda shape: magnitude(shape, -1, 8) * (torch.randint(0, 16, shape) == 0),
    "dense": lambda shape: 2 * torch.rand(shape) - 1,
}


def spread_of(task, inputs, parameters, exact):
    spread = [torch.zeros(e.shape, device=e.device) for e in exact]
    task.spread(inputs, parameters, exact, spread, EVALUATIONS)
    return spread


def bound_of(spread, exact, dtype):
    """The bound of each element of one output."""
    flat = spread.double().reshape(-1)
    padding = -flat.numel() % POOL
    pools = torch.cat([flat, flat.new_zeros(padding)]).view(-1, POOL)
    counts = flat.new_full((len(pools),), float(POOL))
    counts[-1] -= padding
    least = 0.5 * (pools.square().sum(1) / counts).sqrt()
    least = torch.where(least.isfinite(), least, 0)  # an undefined deviation does not lift its neighbours
    pooled = torch.maximum(pools, least[:, None]).view(-1)[:flat.numel()].view(exact.shape)
    size = exact.abs()
    return C * torch.maximum(pooled, 4 * U * size + SMALLEST) + STORE[dtype] * size


def error_of(outs, exact, bounds):
    """The largest error over the bound; infinite where only one side is finite."""
    worst = 0.0
    for out, e, bound in zip(outs, exact, bounds):
        wrong = (out.double() - e).abs() / bound
        worst = max(worst, math.inf if bool(torch.isnan(wrong).any()) else float(wrong.max()))
    return worst
