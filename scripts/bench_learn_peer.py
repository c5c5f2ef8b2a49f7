# SPDX-License-Identifier: Apache-2.0
"""Forward and backward of a PPO policy loss with `transformers`: the peer of `warpsmith bench learn`.

    python scripts/bench_learn_peer.py FOLDER --tokens 131072 --device cuda:0

Uses bf16, gradient checkpointing, and log-probabilities in chunks of 2,048 rows that are computed again in the
backward pass. Tokens are random, and so are the weights unless the folder has some. Prints one JSON object:
seconds of the second of two passes, and the peak memory of its tensors.
"""
import argparse
import json
import pathlib
import time

import torch
import transformers
from torch.utils.checkpoint import checkpoint

CHUNK = 2048


def open_model(folder, device):
    if any(pathlib.Path(folder).glob("*.safetensors*")):
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    else:
        config = transformers.AutoConfig.from_pretrained(folder)
        with torch.device(device):
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model = model.to(device).train()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def chunk_log_probs(rows, head, targets):
    logits = (rows @ head.T).float()
    return logits.gather(1, targets.unsqueeze(1)).squeeze(1) - logits.logsumexp(1)


def log_probs(hidden, head, targets):
    parts = [checkpoint(chunk_log_probs, hidden[i:i + CHUNK], head, targets[i:i + CHUNK], use_reentrant=False)
             for i in range(0, hidden.shape[0], CHUNK)]
    return torch.cat(parts)


def run_pass(model, ids):
    model.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[0, :-1]
    now = log_probs(hidden, model.lm_head.weight, ids[0, 1:])
    ratio = torch.exp(now - now.detach())
    advantages = torch.randn_like(now)
    loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages).mean()
    loss.backward()
    torch.cuda.synchronize()
    return time.perf_counter() - start, torch.cuda.max_memory_allocated()


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--tokens", type=int, default=131072)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.cuda.set_device(options.device)
    model = open_model(options.folder, options.device)
    ids = torch.randint(0, model.config.vocab_size, (1, options.tokens), device=options.device)
    run_pass(model, ids[:, :min(options.tokens, 4096)])
    run_pass(model, ids)
    seconds, peak = run_pass(model, ids)
    print(json.dumps({"tokens": options.tokens, "seconds": seconds, "peak_bytes": peak}))


main()
