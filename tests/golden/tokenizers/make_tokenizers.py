# SPDX-License-Identifier: Apache-2.0
"""Tiny tokenizers with the components of the supported families, and 200 texts with their ids.

    python tests/golden/tokenizers/make_tokenizers.py        (writes beside itself)

texts.json holds the texts; NAME/tokenizer.json a tokenizer; NAME/golden.json its ids and decoded
texts, as the `tokenizers` library gives them. Other scripts import `make_texts`.
"""
import json
import pathlib
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
CODE = """#include <cstdint>
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float* x = static_cast<const float*>(in[0]);
  for (int64_t i = 0; i < dims[0] * 1024; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.01f * x[i];
}
class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x @ self.weight.T + 1e-5, dim=-1)  # don't, we'll, I'M, they've
"""
WORDS = ("the kernel isn't fast", "Größe naïve Ünïcödé", "Привет мир", "数据 合成 核函数", "こんにちは",
         "안녕하세요", "مرحبا بالعالم", "हिन्दी पाठ", "e\u0301 a\u030a \u1e9b\u0323", "👩‍💻🚀🇩🇪",
         "²³ Ⅷ ½ ٣٤ 12345678", "x=3.14159e-10", "\u00a0nbsp\u2003em\u200bzero\u3000wide",
         "ſhould'S 'ſ 'LL 'Ve", "\u0085nel\u180evowel", "tab\tand\r\nCRLF\n\n\nlines", "ﬁ ﬂ ﬀ ligatures",
         "zero\u200djoiner", "\ufeffbom", "a\u0300\u0316b", "\U0001d54f math", "__init__ snake_case")
SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_call>", "</tool_call>", "<think>",
           "<|im_start|", "<|extra|>", "word")


def make_texts(count=200, seed=7):
    """Varied texts: code, many scripts, white-space runs, special tokens, chats, noise."""
    draw = random.Random(seed)

    def spaces():
        return "".join(draw.choice(" \n\t\r ") for _ in range(draw.randint(1, 12)))

    def noise():
        ranges = ((32, 126), (160, 1000), (0x900, 0xd7ff), (0xe000, 0xffff), (0x10000, 0x1f9ff))
        return "".join(chr(draw.randint(*draw.choice(ranges))) for _ in range(draw.randint(1, 12)))

    def code():
        start = draw.randrange(len(CODE) - 40)
        return CODE[start:start + draw.randint(10, 120)]

    def chat():
        return (f"<|im_start|>user\n{draw.choice(WORDS)}<|im_end|>\n"
                f"<|im_start|>assistant\n{draw.choice(WORDS)}<|im_end|>\n")

    parts = (spaces, noise, code, chat, lambda: draw.choice(WORDS), lambda: draw.choice(SPECIAL),
             lambda: draw.choice("abz09 -") * draw.randint(1, 70), lambda: str(draw.random()))
    texts = ["", " ", "\n", "a", "'", "  leading", "trailing  ", "<|im_end|>", "\x00\x01\x7f"]
    while len(texts) < count:
        texts.append("".join(draw.choice(parts)() for _ in range(draw.randint(1, 5))))
    return texts


def byte_level(**options):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, **options)


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), behavior="isolated")


def train(name, normalizer, pre_tokenizer, **model_options):
    tokenizer = Tokenizer(models.BPE(**model_options))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([CODE, " ".join(WORDS)] * 3, trainer)
    tokenizer.add_tokens([
        AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False),
        AddedToken("<think>", lstrip=True, rstrip=True, normalized=False),
        AddedToken("<|extra|>", rstrip=True, normalized=False),
        AddedToken("word", single_word=True, normalized=False),
        AddedToken("caf\u00e9", normalized=True)])
    return tokenizer


def main():
    sequence = pre_tokenizers.Sequence
    made = {
        "digits": train("digits", None, sequence([
            pre_tokenizers.Digits(individual_digits=True), byte_level()])),
        "qwen": train("qwen", normalizers.NFC(), sequence([
            split(QWEN), byte_level(use_regex=False)])),
        "llama3": train("llama3", None, sequence([
            split(LLAMA3), byte_level(use_regex=False)]), ignore_merges=True),
        "lines": train("lines", None, sequence([
            split(r"\n"), split(r" ?[A-Za-z_]+"), pre_tokenizers.Digits(individual_digits=False),
            byte_level(use_regex=False)])),
    }
    made["llama3"].post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|endoftext|> $A",
                                      special_tokens=[("<|endoftext|>", 0)])])
    texts = make_texts() + ["cafe\u0301 caf\u00e9", "sword word words word", " \n<think> \t x"]
    (HERE / "texts.json").write_text(json.dumps(texts))
    for name, tokenizer in made.items():
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
        ids = [tokenizer.encode(t, add_special_tokens=False).ids for t in texts]
        golden = {"ids": ids,
                  "decoded": [tokenizer.decode(i, skip_special_tokens=True) for i in ids],
                  "with_special": tokenizer.encode("one two").ids}
        (folder / "golden.json").write_text(json.dumps(golden, separators=(",", ":")))


if __name__ == "__main__":
    main()
