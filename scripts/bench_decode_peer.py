# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of `transformers` for a model folder: the peer of `warpsmith bench decode`.

    python scripts/bench_decode_peer.py FOLDER --batch 32 --prompt-tokens 64 --new-tokens 192

One thread, float32, random prompts, sampling at temperature 1 without stop tokens; prints one JSON
object with the engine's fields.
"""
import argparse
import json
import time

import torch
import transformers


class FirstToken(transformers.generation.LogitsProcessor):
    """Records when the first token's logits are computed, which ends prefill."""

    def __init__(self):
        self.seen = None

    def __call__(self, input_ids, scores):
        self.seen = self.seen or time.perf_counter()
        return scores


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=192)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model = transformers.AutoModelForCausalLM.from_pretrained(options.folder, dtype=torch.float32)
    ids = torch.randint(0, model.config.vocab_size, (options.batch, options.prompt_tokens))
    first = FirstToken()
    start = time.perf_counter()
    with torch.no_grad():
        model.eval().generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0,
                              max_new_tokens=options.new_tokens, min_new_tokens=options.new_tokens,
                              eos_token_id=None, pad_token_id=0, logits_processor=[first])
    end = time.perf_counter()
    decoded = options.batch * (options.new_tokens - 1)
    print(json.dumps({
        "batch": options.batch, "sampled_tokens": options.batch * options.new_tokens,
        "prefill_seconds": first.seen - start, "decode_seconds": end - first.seen,
        "prefill_tokens_per_second": options.batch * options.prompt_tokens / (first.seen - start),
        "decode_tokens_per_second": decoded / (end - first.seen)}))


main()
