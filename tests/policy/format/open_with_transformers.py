# SPDX-License-Identifier: Apache-2.0
"""Every family's saved folder must open in `transformers` and continue with the same tokens.

    python open_with_transformers.py PROGRAM        (the built save_folder; run in the source folder)
"""
import subprocess
import sys
import tempfile

import torch
import transformers

for family in ("llama", "llama3_scaled", "llama_linear_bias", "qwen2", "qwen3"):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.argv[1], f"tests/golden/models/{family}", folder]
        ours = [int(t) for t in subprocess.check_output(command, timeout=60).split()]
        model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        theirs = ours[:3]
        with torch.no_grad():
            for _ in range(32):
                theirs.append(model(torch.tensor([theirs])).logits[0, -1].argmax().item())
    assert ours == theirs, f"{family}: {ours} != {theirs}"
    print(family, "ok")
