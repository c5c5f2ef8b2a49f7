# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of `transformers` for a model folder: the peer of `warpsmith bench decode`.

    python scripts/bench_decode_peer.py FOLDER --batch 32 --prompt-tokens 64 --new-tokens 192

Uses one thread and float32 on a CPU, and bf16 on a GPU (--device cuda:0). Prompts are random; sampling is at
temperature 1 without stop tokens. A folder without weights gets random ones. Prints one JSON object with
the engine's fields.
"""
import argparse
import json
import pathlib
import time

import torch
import transformers


def synchronize(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


class FirstToken(transformers.generation.LogitsProcessor):
    """Records when the first token's logits are computed, which ends prefill."""

    def __init__(self, device):
        self.seen = None
        self.device = device

    def __call__(self, input_ids, scores):
        if self.seen is None:
            synchronize(self.device)
            self.seen = time.perf_counter()
        return scores


def open_model(folder, device):
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    if any(pathlib.Path(folder).glob("*.safetensors*")):
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    else:
        config = transformers.AutoConfig.from_pretrained(folder)
        with torch.device(device):
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
    return model.to(device).eval()


def generate(model, ids, new_tokens, first):
    with torch.no_grad():
        model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0,
                       max_new_tokens=new_tokens, min_new_tokens=new_tokens, eos_token_id=None,
                       pad_token_id=0, logits_processor=[first])


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=192)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model = open_model(options.folder, options.device)
    shape = (options.batch, options.prompt_tokens)
    ids = torch.randint(0, model.config.vocab_size, shape).to(options.device)
    if options.device != "cpu":
        generate(model, ids, 8, FirstToken(options.device))  # loads kernels
    first = FirstToken(options.device)
    synchronize(options.device)
    start = time.perf_counter()
    generate(model, ids, options.new_tokens, first)
    synchronize(options.device)
    end = time.perf_counter()
    decoded = options.batch * (options.new_tokens - 1)
    print(json.dumps({
        "batch": options.batch, "sampled_tokens": options.batch * options.new_tokens,
        "prefill_seconds": first.seen - start, "decode_seconds": end - first.seen,
        "prefill_tokens_per_second": options.batch * options.prompt_tokens / (first.seen - start),
        "decode_tokens_per_second": decoded / (end - first.seen),
        "tokens_per_second": options.batch * options.new_tokens / (end - start)}))


main()
