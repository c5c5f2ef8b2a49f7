# SPDX-License-Identifier: Apache-2.0
# A seed: one operator of torch, or one module of transformers, from which tasks are composed.
#
# Code is kept as templates. {x} is the value that flows through, {m} the seed's module, {y} and {z} its further
# operands. {b}, {c} and {n} are the first, second and last size of x, {s} all of them, {o} a free size.
import dataclasses
import importlib.metadata
import json

_CRAWL = 2  # raised when the crawl finds other seeds in the same versions, so that no older table is used


@dataclasses.dataclass(frozen=True)
class Seed:
    """How to build, feed and call one operator."""

    name: str  # where it is imported from, such as torch.nn.LayerNorm
    family: str
    call: str
    module: str = ""  # the constructor, empty for functions
    operands: tuple = ()  # "same", "param EXPRESSION" or "input EXPRESSION", named y and z
    ranks: tuple = (2, 3, 4)  # of x; () for a seed that makes its own inputs
    domain: str = "any"  # values of x for which the operator is defined: a key of DOMAINS
    range: str = "any"  # values of the result
    first: str = ""  # generator of x where not drawn from the domain
    imports: str = ""
    init: str = ""  # a statement that draws the module's parameters, if its constructor leaves them uninitialised
    tags: tuple = ()  # what kind of operator it is, and how composition treats it

    @classmethod
    def from_row(cls, row):
        """The seed of a row of the table."""
        tuples = ("operands", "ranks", "tags")
        return cls(**{k: tuple(v) if k in tuples else v for k, v in row.items()})


DOMAINS = {
    "any": "torch.randn{s}",
    "positive": "torch.rand{s} + 0.1",
    "unit": "torch.rand{s} * 0.9 + 0.05",
    "signed": "torch.rand{s} * 1.8 - 0.9",
    "above_one": "torch.rand{s} + 1.1",
}
_WITHIN = {
    "any": {"any", "positive", "unit", "signed", "above_one"},
    "positive": {"positive", "unit", "above_one"},
    "unit": {"unit"},
    "signed": {"signed", "unit"},
    "above_one": {"above_one"},
    "integer": set(),  # such seeds come first, with their own integers
}


def fits(values, domain):
    """Whether `values` (a range) are in the domain."""
    return values in _WITHIN[domain]


def to_json(seeds):
    """The table of seeds as text, one row a line."""
    return "[\n" + ",\n".join(json.dumps(dataclasses.asdict(seed)) for seed in seeds) + "\n]\n"


def from_json(text):
    """The seeds in a text made by `to_json`."""
    return [Seed.from_row(row) for row in json.loads(text)]


def versions():
    """The versions that the table depends on. Does not load the libraries."""
    return {name: importlib.metadata.version(name).split("+")[0] for name in ("torch", "transformers")}


def file_name():
    """The name of the cached table for these versions."""
    return f"seeds-{_CRAWL}-" + "-".join(f"{name}{version}" for name, version in versions().items()) + ".json"
