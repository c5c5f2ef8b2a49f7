# SPDX-License-Identifier: Apache-2.0
# Finds the seeds: rules by family, each probed on real tensors; operators without a rule are probed with guesses.
import pathlib
import warnings

import blocks
import rules_layers
import rules_pointwise
import rules_reduce
import seeds as tables
from probe import probed


def _by_rules():
    for rules in (rules_pointwise, rules_reduce, rules_layers):
        yield from rules.seeds()


def crawl():
    """The table of seeds, unsorted rules first. The same on every machine with these versions."""
    warnings.filterwarnings("ignore")
    found, refused = {}, {}
    for seed in _by_rules():
        if seed.name in found:
            continue
        result, why = probed(seed)
        if result is None:
            refused[seed.name] = why
        else:
            found[seed.name] = result
    return [*found.values(), *blocks.seeds()], refused


def cached(folder):
    """The table from the folder, crawled there on first use."""
    path = pathlib.Path(folder) / tables.file_name()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(tables.to_json(crawl()[0]))
        fresh.replace(path)
    return tables.from_json(path.read_text())
