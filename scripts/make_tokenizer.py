#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Trains a tiny policy's tokenizer on demonstrations: byte-level BPE whose merges stay within a line
# and keep the numbers of shapes whole. Writes tokenizer.json, tokenizer_config.json, config.json.
import argparse
import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
# Text that the format fixes, one token each. None crosses the border between sampled and given text, so
# a conversation has the same encoding as a whole and in pieces.
TURNS = [
    "<|im_start|>user\n",
    "<|im_start|>assistant\n",
    "\n<|im_start|>user\n",
    "\n<|im_start|>assistant\n",
    "\n<|im_start|>user\n<tool_response>\n",
    "\n</tool_response>",
]
CALLS = [
    "\n</parameter>\n<parameter=new_string>\n",
    "\n</parameter>\n</function>\n</tool_call>",
    *(f"<tool_call>\n<function={t}>\n</function>\n</tool_call>" for t in ("submit", "verify", "compile", "profile")),
]
# A number in a shape or a text: after a space, " [" or "(", up to the next border.
NUMBER = r"(?<= \[| |\()[0-9]+\.[0-9]+(?= )|(?<= \[| |\()[0-9]{2,}(?=[\], \n]|$)"
LINE = r"[^\n]*\n|[^\n]+"
# The text before a statement, in the class and in the comment that repeats it. The split here makes the
# statement the same token in both places, so copying it is easy to learn.
BEFORE_STATEMENT = r"^ +(?:// )?(?=x = )"
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--data", required=True, help="JSONL of demonstrations")
    parser.add_argument("--merges", type=int, default=1024)
    parser.add_argument("--files", nargs="+", default=["solution/kernel.cpp"], help="files that agents write and edit")
    parser.add_argument("--out", required=True, help="folder")
    return parser.parse_args()


def scaffold(files):
    """The fixed texts, with the beginnings of the calls that write or edit a file."""
    openings = []
    for tool, body in (("write", "content"), ("edit", "old_string")):
        head = f"<tool_call>\n<function={tool}>\n<parameter=path>\n"
        openings += [f"{head}{file}\n</parameter>\n<parameter={body}>\n" for file in files]
    return [*TURNS, *openings, *CALLS]


def texts(path, fixed_texts):
    """The texts between the scaffold's tokens: prompts, kernels, edited lines, results."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            for message in json.loads(line)["messages"]:
                text = message["content"]
                for fixed in fixed_texts:
                    text = text.replace(fixed, "\x00")
                yield from (part for part in text.split("\x00") if part)


def train(data, merges, files):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LINE), "isolated"),
            pre_tokenizers.Split(Regex(BEFORE_STATEMENT), "isolated"),
            pre_tokenizers.Split(Regex(NUMBER), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(SPECIAL) + len(alphabet) + merges,
        special_tokens=SPECIAL,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    fixed = scaffold(files)
    tokenizer.train_from_iterator(texts(data, sorted(fixed, key=len, reverse=True)), trainer)
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t in TAGS + fixed])
    return tokenizer


def write_settings(folder, vocabulary):
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 2048,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHATML,
    }
    model = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": vocabulary,
        "hidden_size": 160,
        "intermediate_size": 448,
        "num_hidden_layers": 4,
        "num_attention_heads": 5,
        "num_key_value_heads": 5,
        "head_dim": 32,
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5,
        "initializer_range": 0.02,
        "attention_bias": False,
        "mlp_bias": False,
        "attention_dropout": 0.0,
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": SPECIAL.index("<|im_end|>"),
        "pad_token_id": SPECIAL.index("<|endoftext|>"),
        "torch_dtype": "float32",
        "use_cache": True,
    }
    for name, content in (("tokenizer_config.json", tokenizer), ("config.json", model)):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main():
    args = arguments()
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = train(args.data, args.merges, args.files)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_settings(folder, tokenizer.get_vocab_size())
    print(f"{folder}: {tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    main()
