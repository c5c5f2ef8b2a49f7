# SPDX-License-Identifier: Apache-2.0
"""Scores an engine's texts with `transformers`: the peer of `warpsmith bench parity`.

    python scripts/bench_parity_peer.py FOLDER --texts texts.json --device cuda:0 --precision bf16

Each text has `prompt`, `tokens`, `log_probs` of the tokens and whether they are `greedy`. Prints one JSON object:
mean and largest difference of the log-probabilities of sampled tokens, in the given precision and in float32
(`wide_`), and how many greedy tokens rank first. Logits become float32 before the softmax.
"""
import argparse
import json
import pathlib

import torch
import transformers


def scores_of(model, text, device):
    """Log-probabilities (tokens, vocabulary) at the places of the text's tokens."""
    ids = torch.tensor([text["prompt"] + text["tokens"]], device=device)
    with torch.no_grad():
        logits = model(ids).logits[0].float()
    return logits[len(text["prompt"]) - 1:-1].log_softmax(-1)


def differences(model, texts, device):
    parts = []
    for text in texts:
        tokens = torch.tensor(text["tokens"], device=device)
        ours = torch.tensor(text["log_probs"], device=device)
        parts.append((scores_of(model, text, device).gather(1, tokens.unsqueeze(1)).squeeze(1) - ours).abs())
    return torch.cat(parts)


def likeliest(model, texts, device):
    return sum((scores_of(model, text, device).argmax(-1) == torch.tensor(text["tokens"], device=device)).sum().item()
               for text in texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--texts", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    options = parser.parse_args()
    texts = json.loads(options.texts.read_text())
    sampled, greedy = [t for t in texts if not t["greedy"]], [t for t in texts if t["greedy"]]
    model = transformers.AutoModelForCausalLM.from_pretrained(options.folder, dtype=torch.float32)
    model = model.to(options.device).eval()
    wide = differences(model, sampled, options.device)
    if options.precision == "bf16":
        model = model.to(torch.bfloat16)
    same = differences(model, sampled, options.device)
    print(json.dumps({
        "tokens": same.numel(), "mean": same.mean().item(), "max": same.max().item(),
        "wide_mean": wide.mean().item(), "wide_max": wide.max().item(),
        "greedy_same": likeliest(model, greedy, options.device)}))


main()
