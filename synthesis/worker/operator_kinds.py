# SPDX-License-Identifier: Apache-2.0
# The kind of work of torch's operators: the first tag of each seed, by the family that its rule names.

_KINDS = {
    "pointwise": "unary binary ternary special compare integer activation",
    "reduction": "reduction distance",
    "loss": "loss",
    "norm": "norm softmax",
    "scan": "scan",
    "sort": "sort",
    "product": "matmul",
    "convolution": "conv",
    "pool": "pool",
    "movement": "move pad",
    "resampling": "resample",
    "indexing": "index",
    "attention": "attention",
    "recurrence": "recurrent",
    "transform": "spectrum",
    "linear algebra": "linalg",
    "no rule": "guessed",
}
_OF_FAMILY = {family: kind for kind, families in _KINDS.items() for family in families.split()}


def kind_of(seed):
    """The kind of a seed of torch."""
    return _OF_FAMILY[seed.family]
