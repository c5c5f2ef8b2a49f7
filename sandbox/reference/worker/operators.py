# SPDX-License-Identifier: Apache-2.0
# Facts about torch's operators: which only move data, and the length of each one's inner reduction.
import functools
import math

import torch

# Copies of stored values, possibly negated: nothing is rounded.
MOVES = {
    "neg",
    "clone", "copy_", "_to_copy", "cat", "stack", "gather", "index", "index_select", "constant_pad_nd",
    "repeat", "repeat_interleave", "flip", "roll", "zeros_like", "empty_like", "ones_like", "full_like",
    "empty", "zeros", "ones", "full", "arange", "scalar_tensor", "fill_", "zero_", "_unsafe_view",
    "empty_strided", "new_empty", "new_zeros", "new_full", "new_ones", "masked_fill", "tril", "triu", "lift_fresh_copy",
    "embedding", "take", "im2col",
}
# Operators that torch composes of others, each of which rounds to the task's type without a mode seeing it; and one
# that rejects values outside [0, 1].
COMPOSED = {"binary_cross_entropy_with_logits", "binary_cross_entropy"}
# Bounds that rounding never exceeds: other operators take logarithms of these results or reject values beyond.
RANGES = {"sigmoid": (0.0, 1.0), "hardsigmoid": (0.0, 1.0), "_softmax": (0.0, 1.0), "tanh": (-1.0, 1.0)}
# Functions that are constant on one side of a kink: there, a perturbation that stays on that side shows no deviation.
FLAT = {"relu", "clamp", "clamp_min", "clamp_max", "hardtanh", "threshold", "hardswish", "hardsigmoid"}
# Matrix products, with the argument whose last axis is summed over.
_PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1, "mv": 0, "dot": 0, "addmv": 1}
_CONVOLUTIONS = {"convolution", "_convolution", "mkldnn_convolution"}
# Functions whose zero arguments stay zero, and whose other arguments rounding never moves past zero.
OF_NO_LESS_THAN_ZERO = {"sqrt", "rsqrt", "log", "log2", "log10", "pow"}

# Products that libraries compute in TF32 where a lane allows it, with the arguments that are rounded.
_FACTORS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "addbmm": (1, 2),
            "convolution": (0, 1), "_convolution": (0, 1)}


# Operators that return the index of one of several equal elements without saying which. Of the others that return an
# index, argmax, argmin, max and min return the first one, and a stable sort keeps the order.
_SELECTIONS = {"topk", "sort", "kthvalue", "median", "nanmedian", "mode"}


@functools.cache
def name_of(func):
    return func._schema.name.split("::")[1]


@functools.cache
def is_view(func):
    return any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)


@functools.cache
def writes_input(func):
    return any(a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments)


@functools.cache
def moves(func):
    """Whether nothing is rounded, because values are only viewed or copied."""
    return is_view(func) or name_of(func) in MOVES


@functools.cache
def is_pointwise(func):
    """Whether each element of the output comes from one of each input."""
    return torch.Tag.pointwise in func.tags


@functools.cache
def factors(func):
    """The arguments that a product may round to TF32; none for other operators."""
    return _FACTORS.get(name_of(func), ())


def _argument(func, args, kwargs, *names):
    """The value of the first of these arguments that the operator has, or None."""
    for at, argument in enumerate(func._schema.arguments):
        if argument.name in names:
            return args[at] if at < len(args) else kwargs.get(argument.name, argument.default_value)
    return None


def selects(func, args, kwargs):
    """Whether this call returns indices of elements and may choose among equal ones."""
    return (name_of(func) in _SELECTIONS and len(func._schema.returns) == 2
            and not _argument(func, args, kwargs, "stable"))


def selected_dim(func, args, kwargs):
    """The axis of the first argument along which such a call selects, and whether the result keeps that axis."""
    dim = _argument(func, args, kwargs, "dim")
    kept = name_of(func) in ("topk", "sort") or bool(_argument(func, args, kwargs, "keepdim"))
    return dim % max(1, args[0].dim()), kept


def is_random(func, args, kwargs):
    """Whether this call is random. Attention and recurrent layers are tagged random because of dropout, rarely used."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return False
    dropout = _argument(func, args, kwargs, "dropout_p", "dropout")
    return dropout is None or (dropout != 0 and _argument(func, args, kwargs, "train") is not False)


def is_float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def is_complex(value):
    return isinstance(value, torch.Tensor) and value.is_complex() and value.numel() > 0


def first(out):
    """The result of an operator that also returns values for its gradient."""
    return out[0] if isinstance(out, (list, tuple)) else out


@functools.cache
def _range(func):
    return RANGES.get(name_of(func).rstrip("_"))


def keep_in_range(func, out):
    """Clamps a perturbed result in place."""
    if (ends := _range(func)) and is_float(out):
        out.clamp_(*ends)


def tensors(args):
    for arg in args:
        if isinstance(arg, torch.Tensor):
            yield arg
        elif isinstance(arg, (list, tuple)):
            yield from tensors(arg)


def float_tensors(args):
    return filter(is_float, tensors(args))


_SUMS = {"sum", "mean", "var", "var_mean", "std", "prod", "logsumexp", "amax", "amin"}
_NORMS = {"norm", "linalg_vector_norm"}


def _dims(arg, rank):
    dims = [arg] if isinstance(arg, int) else list(arg or range(rank))
    return [d % rank for d in dims] if rank else []


def reduced_dims(func, args):
    """The axes of the first tensor argument that are summed over, or None if the operator does not reduce."""
    name = name_of(func)
    x = args[0]
    if name in _NORMS or name in _SUMS:
        index = 2 if name in _NORMS else 1
        dim = args[index] if len(args) > index and isinstance(args[index], (int, list, tuple)) else None
        return _dims(dim, x.dim())
    if name in {"_softmax", "_log_softmax", "cumsum", "cumprod", "logcumsumexp"}:
        return _dims(args[1], x.dim())
    if name in {"native_layer_norm", "_fused_rms_norm"}:
        return list(range(x.dim() - len(args[1]), x.dim()))
    if name in {"native_group_norm"}:
        return list(range(1, x.dim()))
    if name in {"native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"}:
        return [d for d in range(x.dim()) if d != 1]
    return None


_LOGS_OF_SUMS = {"logsumexp", "logcumsumexp"}


@functools.cache
def logs_a_sum(func):
    """Whether the result is the logarithm of a sum, whose relative error becomes an absolute one."""
    return name_of(func) in _LOGS_OF_SUMS


def folds(func, args, out):
    """Whether each element of `out` depends on a whole row of the input."""
    return bool(is_float(out) and reduced_dims(func, args) and out.numel() < args[0].numel())


# Sums into places named by an index, with the argument that is added.
_ADDED = {"index_add": 3, "scatter_add": 3, "scatter_reduce": 3, "index_put": 2, "_unsafe_index_put": 2}
_TRANSFORMS = {"_fft_r2c", "_fft_c2c", "_fft_c2r"}
_DISTANCES = {"_cdist_forward", "_pdist_forward"}


def _most_added(func, args):
    """The most terms that a sum by index adds in one place: the maximum of the same sum over ones."""
    name = name_of(func).rstrip("_")
    if name.endswith("index_put") and not (len(args) > 3 and args[3]):
        return 1
    ones = list(args)
    ones[0] = torch.zeros_like(args[0], dtype=torch.float32)
    ones[_ADDED[name]] = torch.ones_like(args[_ADDED[name]], dtype=torch.float32)
    if name == "scatter_reduce":
        ones[4] = "sum"
    return max(1, int(func(*ones).amax())) if args[0].numel() else 1


def _special_length(func, args):
    """The length for operators whose arguments contain it; None for others."""
    name = name_of(func)
    if name in _PRODUCTS:
        return args[_PRODUCTS[name]].shape[-1]
    if name == "addbmm":
        return args[1].shape[0] * args[1].shape[-1]
    if name in _DISTANCES:
        return max(1, args[0].shape[-1])
    if name in _TRANSFORMS:
        return max(1, math.prod(args[0].shape[d] for d in args[1]), args[3] if name == "_fft_c2r" else 1)
    if name.startswith("_embedding_bag"):
        return max(1, args[1].numel() // max(1, args[2].numel()))
    if name.rstrip("_") in _ADDED:
        return _most_added(func, args)
    return None


def reduction_length(func, args, out):
    """n: the number of terms that one output element adds up; 1 if the operator does not sum."""
    if is_pointwise(func):
        return 1
    name = name_of(func)
    if (length := _special_length(func, args)) is not None:
        return length
    if name in _CONVOLUTIONS:
        weight = args[1]
        return max(1, weight.numel() // max(1, weight.shape[1 if args[6] else 0]))
    if name == "native_group_norm":
        return max(1, args[0][0].numel() // args[6])
    if "avg_pool" in name:
        return max(1, math.prod(args[1])) if isinstance(args[1], (list, tuple)) else 1
    dims = reduced_dims(func, args) if args and isinstance(args[0], torch.Tensor) else None
    if dims:
        return max(1, math.prod(args[0].shape[d] for d in dims))
    read = max((t.numel() for t in float_tensors(args)), default=0)
    return read // out.numel() if is_float(out) and 0 < out.numel() < read else 1


def sums_terms(func, args):
    """Whether the operator adds up terms in its own order."""
    reduces = not is_pointwise(func) and args and isinstance(args[0], torch.Tensor) and reduced_dims(func, args)
    return is_product(func) or bool(reduces)


_SCANS = {"cumsum", "cumprod", "logcumsumexp"}  # a single thread adds them term by term, whatever their length
SHARE = 4096  # the most terms that one thread of a GPU adds; threads share longer sums


@functools.cache
def is_product(func):
    """Whether this is a product of matrices or a convolution."""
    return name_of(func) in _PRODUCTS or name_of(func) in _CONVOLUTIONS or name_of(func) == "addbmm"


def scans(func):
    """Whether it makes running sums or products."""
    return name_of(func) in _SCANS


def shared(func):
    """Whether threads of a GPU share a long sum of this operator."""
    return not is_product(func) and not scans(func)


def chain(n):
    """The most additions one after another in a shared sum of n terms, including the sums of the shares."""
    return n if n <= SHARE else SHARE + chain(-(-n // SHARE))


# Functions whose honest formulas subtract nearly equal numbers: 1 + tanh(x) in gelu's tail, log(1 + exp(x)),
# 1 - 2 / (exp(2 x) + 1).
_CANCEL_X = {"gelu", "hardswish", "mish"}
_CANCEL_ONE = {"softplus", "log_sigmoid_forward", "elu", "celu", "selu", "expm1", "log1p",
               "tanh", "sinh", "asinh", "atanh"}


@functools.cache
def _formula(func):
    """The operator's name, without the mark of variants in place."""
    return name_of(func).rstrip("_")


def cancelled(func, args):
    """The size of the terms that cancel at the end of an operator; None where the result has that size.

    An honest float32 formula may err by a unit in the last place of this size, a better one does not; both are right.
    """
    name = _formula(func)
    if name in _CANCEL_X:
        return args[0].abs()
    if name == "_log_softmax" and args[0].numel():  # x - (max + log of the sum); the first two may be equal
        return args[0].amax(args[1], keepdim=True).abs().expand_as(args[0])
    return torch.ones_like(args[0]) if name in _CANCEL_ONE else None


def cut_reduction(func, args, keep):
    """Arguments in which only the first `keep(n)` of the n terms of every sum are left, or None."""
    name = name_of(func)
    args = list(args)
    if name in _PRODUCTS:
        at, dims = _PRODUCTS[name], [-1]
    elif name in {"convolution", "_convolution"}:
        flat = args[1].reshape(args[1].shape[0], -1).clone()
        flat[:, keep(flat.shape[1]):] = 0
        args[1] = flat.reshape(args[1].shape)
        return args
    else:
        at, dims = 0, reduced_dims(func, args) if args and is_float(args[0]) else None
    if not dims or args[at].shape[dims[-1]] < 2:
        return None
    x = args[at].clone()
    n = x.shape[dims[-1]]
    x.narrow(dims[-1], keep(n), n - keep(n)).zero_()
    args[at] = x
    return args
