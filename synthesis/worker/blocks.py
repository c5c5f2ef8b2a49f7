# SPDX-License-Identifier: Apache-2.0
# Finds modules of transformers that build from a small configuration and run alone: MLPs, norms, attention, experts.
#
# No rule is kept per family. Each class is built with its family's configurations and fed in a few usual ways.
import contextlib
import dataclasses
import importlib
import inspect
import io
import itertools
import json
import logging
import os
import pkgutil
import re

import torch

import child
from probe import probed
from reasons import Rejected
from seeds import Seed, from_json

_LIMITS = child.Limits(seconds=40.0, memory=6 << 30)
_PER_FAMILY = 4  # modules; families are many and much alike, and each probe takes a part of a second
_WHOLE = re.compile(r"(PreTrainedModel|Model|Encoder|Decoder|Pipeline|For[A-Z]\w*|Backbone|Output)$")
_SIZES = {  # names that configurations use, by the value that a small block takes; {n} is the width
    "hidden_size": "{n}", "d_model": "{n}", "embed_dim": "{n}", "n_embd": "{n}", "dim": "{n}", "hidden_dim": "{n}",
    "embedding_size": "{n}", "encoder_hidden_dim": "{n}", "word_embed_proj_dim": "{n}",
    "intermediate_size": "2 * {n}", "d_ff": "2 * {n}", "n_inner": "2 * {n}", "ffn_dim": "2 * {n}",
    "moe_intermediate_size": "{n}", "encoder_ffn_dim": "2 * {n}", "decoder_ffn_dim": "2 * {n}",
    "num_attention_heads": "4", "n_head": "4", "num_heads": "4", "encoder_attention_heads": "4",
    "decoder_attention_heads": "4", "num_key_value_heads": "2", "head_dim": "{n} // 4", "d_kv": "{n} // 4",
    "num_local_experts": "4", "num_experts": "4", "n_routed_experts": "4", "num_experts_per_tok": "2",
    "vocab_size": "1000", "num_hidden_layers": "2", "n_layer": "2", "max_position_embeddings": "512",
    "pad_token_id": "0",
    "attention_dropout": "0.0", "hidden_dropout_prob": "0.0", "attention_probs_dropout_prob": "0.0", "dropout": "0.0",
    "resid_pdrop": "0.0", "attn_pdrop": "0.0", "hidden_dropout": "0.0", "activation_dropout": "0.0",
    "dropout_rate": "0.0",
}
_TABLE = "torch.randn(1, {c}, {n} // 4)"
_CALLS = (  # call, generator of x (empty: floats of x's shape), operands; a tuple's first part after the plain call
    ("{m}({x})", "", ()),
    ("{m}({x})[0]", "", ()),
    ("{m}({x}, position_embeddings=({y}, {z}), attention_mask=None)", "", (f"input {_TABLE}", f"input {_TABLE}")),
    ("{m}({x}, position_embeddings=({y}, {z}), attention_mask=None)[0]", "", (f"input {_TABLE}", f"input {_TABLE}")),
    ("{m}({x}, attention_mask=None)", "", ()),
    ("{m}({x}, attention_mask=None)[0]", "", ()),
    ("{m}({x}, {y})", "", ("same",)),
    ("{m}({x}, {y}).float()", "", ("input torch.arange({c}).unsqueeze(0)",)),
    ("torch.cat({m}({x}, {y}), -1) * {x}.mean()", "", ("input torch.arange({c}).unsqueeze(0)",)),
    ("{m}({x})", "torch.randint(0, 1000, ({b}, 64))", ()),
)


def _families():
    package = importlib.import_module("transformers.models")
    return sorted(found.name for found in pkgutil.iter_modules(package.__path__))


def _modules(family):
    """The family's configurations and modules; None for one without PyTorch code or that needs other libraries."""
    base = f"transformers.models.{family}"
    try:
        return (importlib.import_module(f"{base}.configuration_{family}"),
                importlib.import_module(f"{base}.modeling_{family}"))
    except Exception:
        return None


def _classes(module, base):
    for name, value in sorted(vars(module).items()):
        if inspect.isclass(value) and issubclass(value, base) and value.__module__ == module.__name__:
            yield name, value


def _configuration(name, kind):
    """The text that builds a small configuration, in the names that this one has."""
    try:
        known = set(vars(kind())) | set(inspect.signature(kind.__init__).parameters)
    except Exception:
        return None
    sizes = ", ".join(f"{key}={value}" for key, value in _SIZES.items() if key in known)
    return f"{name}({sizes})"


def _constructor(name, kind, configuration):
    """The text that builds the module, None where it takes other arguments than a configuration or a width."""
    needed = [p.name for p in list(inspect.signature(kind.__init__).parameters.values())[1:]
              if p.default is inspect.Parameter.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if needed == ["config"]:
        extra = ", layer_idx=0" if "layer_idx" in inspect.signature(kind.__init__).parameters else ""
        return f"{name}({configuration}{extra})" if configuration else None
    if needed == ["config", "layer_idx"]:
        return f"{name}({configuration}, layer_idx=0)" if configuration else None
    if needed in (["hidden_size"], ["dim"], ["d_model"], ["normalized_shape"]):
        return name + "({n})"
    return f"{name}()" if not needed else None


def _seed(family, name, constructor, imports):
    """The first way of feeding the module that works."""
    for call, first, operands in _CALLS:
        seed = Seed(f"{family}.{name}", "transformers", call, constructor, operands, () if first else (3,), first=first,
                    imports=imports, tags=("block",))
        found, _ = probed(seed)
        if found is not None:
            return found
    return None


def _family_seeds(configurations, modeling):
    configs = [(n, c) for n, c in _classes(configurations, object) if n.endswith("Config")]
    family = modeling.__name__
    for name, kind in _classes(modeling, torch.nn.Module):
        if _WHOLE.search(name):
            continue
        for config_name, config in sorted(configs, key=lambda pair: "Text" not in pair[0]):
            constructor = _constructor(name, kind, _configuration(config_name, config))
            if constructor is None:
                continue
            imports = f"from {family} import {name}\n"
            if config_name in constructor:
                imports = f"from {configurations.__name__} import {config_name}\n" + imports
            if (seed := _seed(family, name, constructor, imports)) is not None:
                yield seed
                break


def _found(family):
    if (modules := _modules(family)) is None:
        return []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return [dataclasses.asdict(seed) for seed in itertools.islice(_family_seeds(*modules), _PER_FAMILY)]


def seeds(say=lambda text: None, families=None):
    """All modules that run alone, by family. Takes minutes; the caller keeps the result.

    Each family has a process of its own, so that one that hangs or takes all memory costs its own seeds alone.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    logging.disable(logging.CRITICAL)
    families = families or _families()
    for number, family in enumerate(families, 1):
        try:
            rows, _ = child.run(lambda say: _found(family), _LIMITS)
        except Rejected as error:
            say(f"crawl: {family} of transformers is left out: {error}")
            continue
        if number % 20 == 0 or number == len(families):
            say(f"crawl: {number} of {len(families)} families of transformers")
        yield from from_json(json.dumps(rows))
