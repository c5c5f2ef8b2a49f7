# SPDX-License-Identifier: Apache-2.0
# Finds modules of transformers that build from a small configuration and run by themselves: attention, MLPs, norms,
# experts.
#
# No rule is kept per family. Each class is built with its family's configurations and fed as its parameters are named.
import contextlib
import dataclasses
import importlib
import inspect
import io
import logging
import os
import pkgutil
import re

import torch

import block_forms
import child
from assemble import Plan, Step, Unfit, assemble
from block_kinds import KINDS, kind_of
from probe import CONSTANT, UNINITIALISED, probed
from probing import Probing
from reasons import Rejected
from seeds import Seed

_LIMITS = child.Limits(seconds=20.0, memory=6 << 30)  # of one class, and of importing its family
_PER_KIND = 2  # modules of a family; a composite model's text and image parts have one each
_WHOLE = re.compile(r"(PreTrainedModel|Model|Encoder|Decoder|Pipeline|For[A-Z]\w*|Backbone)$")
_DRAWN = "for p in {m}.parameters(): nn.init.normal_(p, std=0.05)"
_COMMON = ("modeling_utils", "modeling_layers", "masking_utils", "modeling_outputs", "cache_utils", "generation")


def _families():
    package = importlib.import_module("transformers.models")
    return sorted(found.name for found in pkgutil.iter_modules(package.__path__))


def _load_common():
    """Imports what most families import, so that not each child does."""
    for name in _COMMON:
        importlib.import_module(f"transformers.{name}")


def _modules(family):
    """The family's configurations and modules; None for one without PyTorch code or that needs other libraries."""
    base = f"transformers.models.{family}"
    try:
        return (importlib.import_module(f"{base}.configuration_{family}"),
                importlib.import_module(f"{base}.modeling_{family}"))
    except Exception:
        return None


def _classes(module, base):
    return {name: value for name, value in sorted(vars(module).items())
            if inspect.isclass(value) and issubclass(value, base) and value.__module__ == module.__name__}


def _names(family):
    modules = _modules(family)
    return [name for name in _classes(modules[1], torch.nn.Module) if not _WHOLE.search(name)] if modules else []


def _configurations(module, kind):
    """The configurations to try: the one that the constructor names, then those of text models."""
    found = {name: c for name, c in _classes(module, object).items() if name.endswith("Config")}
    named = getattr(inspect.signature(kind.__init__).parameters.get("config"), "annotation", None)
    named = getattr(named, "__name__", named)
    return sorted(found.items(), key=lambda pair: (pair[0] != named, "Text" not in pair[0]))


def _constructors(family, name, kind):
    """Pairs (constructor, imports)."""
    configurations, modeling = _modules(family)
    imports = f"from {modeling.__name__} import {name}\n"
    experts = hasattr(modeling, "use_experts_implementation")
    for config_name, config in [(None, None), *_configurations(configurations, kind)]:
        text = config and block_forms.configuration(config_name, config, experts)
        made = block_forms.constructor(name, kind, text)
        if made and not text:
            yield made, imports
            return
        if made:
            yield made, f"from {configurations.__name__} import {config_name}\n{imports}"


def _runs_on_meta(seed):
    """Whether the seed has a program; the complaint about its result otherwise."""
    try:
        assemble(Plan((Step(seed, 8, tuple("input" for _ in seed.operands)),), (8, 16)), 8)
        return True, ""
    except Unfit as error:
        return False, str(error)


def _working(seed, calls):
    """The seed with the first of the calls that works."""
    for call in calls:
        given = dataclasses.replace(seed, call=call)
        runs, why = _runs_on_meta(given)
        if not runs and "no tensor" not in why and not call.startswith("torch.cat"):
            return None  # what the call returns is not reached
        found, why = probed(given) if runs else (None, "")
        if why in (CONSTANT, UNINITIALISED):
            found, _ = probed(dataclasses.replace(given, init=_DRAWN))
        if found is not None or runs and not call.endswith("]"):
            return found  # the call returns one tensor, so no part of it is worth another try
    return None


def _found(family, name):
    """The seed of a class; None if no way of building and feeding it works."""
    kind, module = kind_of(name), _classes(_modules(family)[1], torch.nn.Module)[name]
    for constructor, imports in _constructors(family, name, module):
        for form in block_forms.forms(kind, module):
            seed = Seed(f"{module.__module__}.{name}", "transformers", form.call, constructor, form.operands,
                        () if form.first else (3,), first=form.first, imports=imports, tags=("block", kind))
            if (working := _working(seed, block_forms.results(kind, form.call))) is not None:
                return working
    return None


def _activations():
    """Pairs (class, arguments) of the common activations, which families name in their configurations."""
    entries = importlib.import_module("transformers.activations").ACT2CLS.values()
    pairs = [entry if isinstance(entry, tuple) else (entry, {}) for entry in entries]
    return [[kind.__name__, given] for kind, given in pairs if kind.__module__ == "transformers.activations"]


def _activation(name, given):
    built = f"{name}({', '.join(f'{key}={value}' for key, value in given.items())})"
    return probed(Seed(f"transformers.activations.{name}", "transformers", "{m}({x})", built, ranks=(3,),
                       imports=f"from transformers.activations import {name}\n", tags=("block", "activation")))[0]


def _activation_seeds(say):
    probing = Probing(lambda job, _: (seed := _activation(*job)) and dataclasses.asdict(seed), _LIMITS)
    try:
        for job in _activations():
            if row := probing.do(job):
                yield Seed.from_row(row)
    except Rejected as error:
        say(f"crawl: the activations of transformers are left out: {error}")
    finally:
        probing.end()


def _work(job, say):
    """What a child does: names the family's classes, or finds the seed of one."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if "name" not in job:
            return _names(job["family"])
        try:
            seed = _found(**job)
        except Exception:
            return None  # a class or a configuration that cannot even be inspected
    return seed and dataclasses.asdict(seed)


def _family_seeds(family, say):
    """The seeds of a family: of each kind the first ones by name."""
    counts, probing = dict.fromkeys(KINDS, 0), Probing(_work, _LIMITS)
    try:
        for name in probing.do({"family": family}):
            if counts[kind_of(name)] == _PER_KIND:
                continue
            try:
                row = probing.do({"family": family, "name": name})
            except Rejected as error:
                say(f"crawl: {family}.{name} of transformers is left out: {error}")
                continue
            if row:
                counts[kind_of(name)] += 1
                yield Seed.from_row(row)
    except Rejected as error:
        say(f"crawl: {family} of transformers is left out: {error}")
    finally:
        probing.end()


def seeds(say=lambda text: None, families=None):
    """All modules that run by themselves, by family. Takes minutes; the caller keeps the result.

    Each family has its own process, so that a family that hangs or uses all memory loses only its own seeds.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    logging.disable(logging.CRITICAL)
    _load_common()
    if families is None:
        yield from _activation_seeds(say)
        families = _families()
    for number, family in enumerate(families, 1):
        yield from _family_seeds(family, say)
        if number % 20 == 0 or number == len(families):
            say(f"crawl: {number} of {len(families)} families of transformers")
