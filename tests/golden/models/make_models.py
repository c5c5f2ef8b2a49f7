# SPDX-License-Identifier: Apache-2.0
"""Small random models of every family with what `transformers` computes from them in float64.

    python tests/golden/models/make_models.py        (writes beside itself)

Each folder holds config.json, model.safetensors (float32) and golden.safetensors: `logits` of three
sequences end to end (float64), and in golden.json their tokens and greedy continuations.
Norms are computed in float64 here: transformers casts them to float32 even in a float64 model,
which would hide errors of up to 1e-6.
"""
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
SIZES = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, intermediate_size=40, max_position_embeddings=256,
             initializer_range=0.3, bos_token_id=1, eos_token_id=2, pad_token_id=0)
LLAMA3 = dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=32)
MODELS = {
    "llama": (transformers.LlamaConfig, dict(rms_norm_eps=1e-5)),
    "llama3_scaled": (transformers.LlamaConfig, dict(rope_parameters=LLAMA3, head_dim=16,
                                                     tie_word_embeddings=True)),
    "llama_linear_bias": (transformers.LlamaConfig, dict(
        rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=2.5),
        attention_bias=True, mlp_bias=True, num_key_value_heads=4)),
    "qwen2": (transformers.Qwen2Config, dict(tie_word_embeddings=True, rms_norm_eps=1e-6)),
    "qwen3": (transformers.Qwen3Config, dict(head_dim=10, tie_word_embeddings=False)),
}


def wide_norm(self, x):
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def make_model(config):
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:  # norms and biases must not be trivial
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()


def main():
    for name, (kind, options) in MODELS.items():
        torch.manual_seed(sum(map(ord, name)))
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model = make_model(kind(**{**SIZES, **options}))
        model.save_pretrained(folder)
        model = model.double()
        for module in model.modules():
            if type(module).__name__.endswith("RMSNorm"):
                module.forward = wide_norm.__get__(module)
        sequences = [torch.randint(3, 61, (n,)).tolist() for n in (5, 1, 60)]
        golden = {"sequences": sequences, "greedy": []}
        with torch.no_grad():
            logits = torch.cat([model(torch.tensor([s])).logits[0] for s in sequences])
            for s in sequences[:2]:
                for _ in range(40):
                    s = s + [model(torch.tensor([s])).logits[0, -1].argmax().item()]
                golden["greedy"].append(s[-40:])
        save_file({"logits": logits}, folder / "golden.safetensors")
        (folder / "golden.json").write_text(json.dumps(golden))
        (folder / "generation_config.json").unlink(missing_ok=True)


main()
