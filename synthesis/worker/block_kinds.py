# SPDX-License-Identifier: Apache-2.0
# The kind of a class of transformers, derived from its name.
import re

_KINDS = {  # in the order that decides where two words end at the same letter
    "rotary": r"Rotary\w*|Ro[Pp][Ee]\w*",
    "router": r"Router|TopK|Gate",
    "expert": r"Experts?|(?:Mo[Ee]|MOE)(?:Block)?",
    "norm": r"(?:RMS|Layer|Group|Batch)?[Nn]orm(?:alization)?[123]?[Dd]?|LayerScale",
    "attention": r"Attention|Attn",
    "activation": r"Activation|G[Ee][Ll][Uu]|SiLU|Swish|S[Ww][Ii]GLU|GatedLinearUnit|SnakeBeta|Snake",
    "mlp": r"M[Ll][Pp]|FeedForward|FFN|Ffn|Intermediate|DenseActDense|DenseGatedActDense|LayerFF",
    "embedding": r"(?:Token|Patch|Position\w*)?Embed(?:ding|dings|der|s)?",
    "layer": r"Layer|Block|Stage",
    "mixer": r"Mixer|Mamba2?|DeltaNet|ShortConv|SSM",
    "convolution": r"Conv(?:olution)?[123]?[Dd]?|ConvModule",
    "head": r"Head|Pooler|Pooling|Predictor|Classifier|Projector|Projection|Merger",
}
KINDS = (*_KINDS, "other")


def kind_of(name):
    """The kind whose word is the last in the name: a Qwen3MoeAttention is an attention."""
    ends = {kind: max((m.end() for m in re.finditer(rf"(?:{words})(?![a-z])", name)), default=0)
            for kind, words in _KINDS.items()}
    best = max(ends, key=ends.get)
    return best if ends[best] else "other"
