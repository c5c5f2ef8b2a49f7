# SPDX-License-Identifier: Apache-2.0
# How a module of transformers is built from a small configuration and fed: by the names of its parameters.
import inspect
import typing

SIZES = {  # names that configurations use, by the value for a small block; {n} is the width
    "hidden_size": "{n}", "d_model": "{n}", "embed_dim": "{n}", "n_embd": "{n}", "dim": "{n}", "hidden_dim": "{n}",
    "embedding_size": "{n}", "encoder_hidden_dim": "{n}", "word_embed_proj_dim": "{n}",
    "intermediate_size": "2 * {n}", "d_ff": "2 * {n}", "n_inner": "2 * {n}", "ffn_dim": "2 * {n}",
    "moe_intermediate_size": "{n}", "encoder_ffn_dim": "2 * {n}", "decoder_ffn_dim": "2 * {n}",
    "num_attention_heads": "4", "n_head": "4", "num_heads": "4", "encoder_attention_heads": "4",
    "decoder_attention_heads": "4", "num_key_value_heads": "2", "head_dim": "{n} // 4", "d_kv": "{n} // 4",
    "qk_rope_head_dim": "{n} // 4", "qk_nope_head_dim": "{n} // 4", "v_head_dim": "{n} // 4", "q_lora_rank": "{n}",
    "kv_lora_rank": "{n}",
    "num_local_experts": "4", "num_experts": "4", "n_routed_experts": "4", "num_experts_per_tok": "2",
    "n_group": "1", "topk_group": "1", "moe_topk": "2", "moe_num_experts": "4", "moe_k": "2",
    "vocab_size": "1000", "num_hidden_layers": "2", "n_layer": "2", "max_position_embeddings": "512",
    "pad_token_id": "0", "image_size": "32", "patch_size": "8", "num_channels": "3",
    "attention_dropout": "0.0", "hidden_dropout_prob": "0.0", "attention_probs_dropout_prob": "0.0", "dropout": "0.0",
    "resid_pdrop": "0.0", "attn_pdrop": "0.0", "hidden_dropout": "0.0", "activation_dropout": "0.0",
    "dropout_rate": "0.0",
}
_BUILT_WITH = {  # parameters of constructors other than the configuration
    "layer_idx": "0", "layer_id": "0", "layer_number": "0", "hidden_size": "{n}", "dim": "{n}", "d_model": "{n}",
    "normalized_shape": "{n}", "embed_dim": "{n}", "in_features": "{n}", "in_dim": "{n}", "input_dim": "{n}",
    "in_channels": "{n}", "channels": "{n}", "num_channels": "{n}", "out_features": "{n}", "out_dim": "{n}",
    "output_dim": "{n}", "out_channels": "{n}", "intermediate_size": "2 * {n}", "hidden_dim": "2 * {n}",
    "hidden_features": "2 * {n}", "num_heads": "4", "n_heads": "4", "head_dim": "{n} // 4", "num_experts": "4",
    "hidden_act": "'silu'", "dropout": "0.0", "num_embeddings": "512", "embedding_dim": "{n}",
}
_TABLE = "input torch.randn(1, {c}, {n} // 4)"
_NARROW = "input torch.randn(1, {c}, {n} // 8)"  # of models that rotate half of each head
_PLACES = "input torch.arange({c}).unsqueeze(0)"
_TOKENS = "torch.randint(0, 1000, ({b}, 64))"
_FED_WITH = {  # parameters of forward beyond the first: the argument, and the operands that it names
    "position_embeddings": ("({}, {})", (_TABLE, _TABLE)), "cos": ("{}", (_TABLE,)), "sin": ("{}", (_TABLE,)),
    "position_ids": ("{}", (_PLACES,)), "attention_mask": ("None", ()), "past_key_values": ("None", ()),
    "cache_position": ("None", ()), "output_attentions": ("False", ()), "position_bias": ("None", ()),
    # Each token goes to two different experts.
    "top_k_index": ("{}", ("input torch.rand({b}, 4).topk(2, dim=-1).indices",)),
    "top_k_weights": ("{}", ("input torch.rand({b}, 2)",)),
}
_ALIASES = {"selected_experts": "top_k_index", "topk_indices": "top_k_index", "router_indices": "top_k_index",
            "topk_weights": "top_k_weights", "routing_weights": "top_k_weights", "expert_weights": "top_k_weights"}
_ROUTES = {"top_k_index", "top_k_weights"}
_FIRST = {  # generators of x if it is not a value of x's shape
    "input_ids": _TOKENS, "position_ids": "torch.arange(64).repeat({b}, 1)",
    "pixel_values": "torch.randn({b}, 3, 32, 32)",
}
_GROUPED = "experts_implementation='batched_mm'"  # the default is a loop over the values of a tensor, without a shape


class Form(typing.NamedTuple):
    """One way of feeding a module: a Seed's call without a suffix, its generator of x and operands."""

    call: str
    first: str
    operands: tuple


def configuration(name, kind, experts=False):
    """The text that builds a small configuration, with the names of this one."""
    try:
        values = vars(kind())
        known = {*values, *inspect.signature(kind.__init__).parameters}
    except Exception:
        return None
    known -= {key for key, value in values.items() if isinstance(value, (list, tuple, dict))}  # one for each stage
    heads = {"num_key_value_heads": "4"} if "kv_lora_rank" in known else {}  # latent attention shares no heads
    sizes = [f"{key}={value}" for key, value in {**SIZES, **heads}.items() if key in known]
    return f"{name}({', '.join([*sizes, _GROUPED] if experts else sizes)})"


def _needed(function):
    return [p for p in list(inspect.signature(function).parameters.values())[1:]
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]


def constructor(name, kind, config):
    """The text that builds the module, None if it needs arguments that have no usual value."""
    given = []
    for parameter in _needed(kind.__init__):
        value = config if parameter.name == "config" else _BUILT_WITH.get(parameter.name)
        if parameter.default is not parameter.empty and parameter.name != "layer_idx":
            continue
        if value is None:
            return None
        given.append(value if parameter.name == "config" or not given else f"{parameter.name}={value}")
    return f"{name}({', '.join(given)})"


def _argument(name, used):
    """The text of an argument and its operands. `used`: how many operands are used."""
    text, operands = _FED_WITH.get(_ALIASES.get(name, name), ("{}", ("same",)))
    names = ["{y}", "{z}", "{too many}"][used:used + len(operands)]
    return text.format(*names), operands


def _form(needed, extra, first):
    """The call with the needed parameters and those of `extra`; None if a seed has too few operands."""
    parts, operands = ["{x}"], ()
    for name in (*needed, *extra):
        text, more = _argument(name, len(operands))
        operands += more
        parts.append(f"{name}={text}" if name in extra or more == () else text)
    return Form("{m}(" + ", ".join(parts) + ")", first, operands) if len(operands) <= 2 else None


def forms(kind, module):
    """Ways of feeding a module of that kind, the most likely ones first."""
    parameters = _needed(module.forward)
    if not parameters:
        return
    needed = [p.name for p in parameters[1:] if p.default is p.empty or _ALIASES.get(p.name, p.name) in _ROUTES]
    optional = [p.name for p in parameters[1:] if p.name not in needed]
    extras = [()] + [(name,) for name in ("position_embeddings", "position_ids", "encoder_hidden_states")
                     if name in optional]
    firsts = _firsts(kind, parameters[0].name, needed)
    for form in filter(None, (_form(needed, extra, first) for first in firsts for extra in extras)):
        yield form
        if _TABLE in form.operands:
            yield form._replace(operands=(_NARROW, _NARROW))


def _firsts(kind, name, needed):
    if not _ROUTES.isdisjoint(_ALIASES.get(other, other) for other in needed):
        return ["torch.randn({b} * {c}, {n})"]  # experts accept rows of tokens
    if name in _FIRST:
        return [_FIRST[name]]
    return [_TOKENS, ""] if kind == "embedding" else ["", "torch.randn({b} * {c}, {n})"] if kind == "expert" else [""]


def results(kind, call):
    """Ways to select one tensor from what the call returns."""
    if kind == "rotary":  # a table of angles, which depends only on x's shape
        return [f"torch.cat({call}, -1) * {{x}}.mean()", f"{call} * {{x}}.mean()", call]
    if kind == "router":
        return [call, f"{call}[1]", f"{call}[0]"]
    return [call, f"{call}[0]"]
