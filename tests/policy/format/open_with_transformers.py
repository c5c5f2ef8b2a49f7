# SPDX-License-Identifier: Apache-2.0
"""Every family's saved folder must open in `transformers` and continue with the same tokens.

    python open_with_transformers.py PROGRAM [FOLDER...]     (the built save_folder; run in the source folder)

With folders (a run's checkpoints, say) each is opened as it lies there.
"""
import subprocess
import sys
import tempfile

import torch
import transformers

FAMILIES = ("llama", "llama3_scaled", "llama_linear_bias", "qwen2", "qwen3")


def theirs(folder, tokens):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        for _ in range(32):
            tokens.append(model(torch.tensor([tokens])).logits[0, -1].argmax().item())
    return tokens


def check(source, opened=None):
    with tempfile.TemporaryDirectory() as saved:
        ours = [int(t) for t in subprocess.check_output([sys.argv[1], source, saved], timeout=240).split()]
        others = theirs(opened or saved, ours[:3])
    assert ours == others, f"{source}: {ours} != {others}"
    print(source, "ok")


for family in FAMILIES:
    check(f"tests/golden/models/{family}")
for folder in sys.argv[2:] or ["configs/policy/tiny"]:
    check(folder, opened=folder)
