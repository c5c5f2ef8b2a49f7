# SPDX-License-Identifier: Apache-2.0
# Finds the seeds: rules by family, each probed on real tensors; operators without a rule are probed with guesses.
import dataclasses
import pathlib
import warnings

import blocks
import child
import crawl_lock
import guesses
import rules_layers
import rules_pointwise
import rules_reduce
import seeds as tables
from operator_kinds import kind_of
from probe import probed
from probing import Probing
from reasons import Rejected
from used import short

_LIMITS = child.Limits(seconds=20.0, memory=4 << 30)  # of one operator


def _rules():
    for rules in (rules_pointwise, rules_reduce, rules_layers):
        yield from rules.seeds()


def _work(job, say):
    """The work of a child: guesses how an operator is called, or probes a rule's seed."""
    if "known" in job:
        seed, why = guesses.guess(**job), ""
    else:
        seed, why = probed(tables.Seed.from_row(job))
    return seed and dataclasses.asdict(seed), why


def _found(probing, job, say):
    """The seed that a job finds, with its kind, or None and the reason."""
    try:
        row, why = probing.do(job)
    except Rejected as error:
        say(f"crawl: {job['name']} is left out: {error}")
        return None, str(error)
    seed = row and tables.Seed.from_row(row)
    return seed and dataclasses.replace(seed, tags=(kind_of(seed), *seed.tags)), why


def _by_rules(probing, rules, say):
    """Seeds by name, and why each other rule was refused."""
    found, refused = {}, {}
    for rule in rules:
        seed, why = _found(probing, dataclasses.asdict(rule), say)
        if seed is None:
            refused[rule.name] = why
        else:
            found.setdefault(rule.name, seed)
    return found, refused


def _by_guesses(probing, known, say):
    """Seeds of operators whose short names are not in `known`."""
    known = set(known)
    for name, spelled in guesses.candidates():
        if short(name) in known:
            continue
        job = {"name": name, "spelled": spelled, "known": sorted(known)}
        seed, _ = _found(probing, job, say)
        if seed is not None:
            known.add(short(name))
            yield seed


def operators(say=lambda text: None, rules=None):
    """Seeds of torch by name, and why each other rule was refused. One that crashes or hangs is left out."""
    probing = Probing(_work, _LIMITS)
    try:
        found, refused = _by_rules(probing, _rules() if rules is None else rules, say)
        known = {short(name) for name in (*found, *refused)}
        found.update((seed.name, seed) for seed in _by_guesses(probing, known, say))
    finally:
        probing.end()
    return found, refused


def crawl(say=lambda text: None):
    """The whole table. The same on every machine with these versions."""
    warnings.filterwarnings("ignore")
    say("crawl: operators of torch; the table is kept for later calls")
    found, _ = operators(say)
    say(f"crawl: {len(found)} operators of torch")
    return [*found.values(), *blocks.seeds(say)]


def cached(folder, say=lambda text: None):
    """The table from the folder, crawled there on first use. Raises crawl_lock.Busy."""
    path = pathlib.Path(folder) / tables.file_name()
    path.parent.mkdir(parents=True, exist_ok=True)
    with crawl_lock.held(path.with_suffix(".lock"), say):
        if not path.exists():
            fresh = path.with_suffix(".new")
            fresh.write_text(tables.to_json(crawl(say)))
            fresh.replace(path)
    return tables.from_json(path.read_text())
