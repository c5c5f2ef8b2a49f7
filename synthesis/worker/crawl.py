# SPDX-License-Identifier: Apache-2.0
# Finds the seeds: rules by family, each probed on real tensors; operators without a rule are probed with guesses.
import fcntl
import pathlib
import warnings

import blocks
import guesses
import rules_layers
import rules_pointwise
import rules_reduce
import seeds as tables
from probe import probed
from used import short


def _by_rules():
    for rules in (rules_pointwise, rules_reduce, rules_layers):
        yield from rules.seeds()


def operators():
    """Seeds of torch by name, and why each other rule was refused."""
    found, refused = {}, {}
    for seed in _by_rules():
        result, why = probed(seed)
        if result is None:
            refused[seed.name] = why
        else:
            found.setdefault(seed.name, result)
    for seed in guesses.seeds(short(name) for name in (*found, *refused)):
        found[seed.name] = seed
    return found, refused


def crawl(say=lambda text: None):
    """The whole table. The same on every machine with these versions."""
    warnings.filterwarnings("ignore")
    say("crawl: operators of torch; the table is kept for later calls")
    found, _ = operators()
    say(f"crawl: {len(found)} operators of torch")
    return [*found.values(), *blocks.seeds(say)]


def cached(folder, say=lambda text: None):
    """The table from the folder, crawled there on first use."""
    path = pathlib.Path(folder) / tables.file_name()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be crawling
        if not path.exists():
            fresh = path.with_suffix(".new")
            fresh.write_text(tables.to_json(crawl(say)))
            fresh.replace(path)
    return tables.from_json(path.read_text())
