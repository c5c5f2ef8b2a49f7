# SPDX-License-Identifier: Apache-2.0
# The tiny policy's tokenizer, opened by transformers: any text survives a round trip, pieces encode as
# the whole does, and demonstrations are short.
import random
import statistics
import sys
import unittest
from pathlib import Path

from transformers import AutoConfig, AutoTokenizer

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from demonstrations.mixture import Mixture  # noqa: E402
from demonstrations.task_file import read_folder  # noqa: E402

FOLDER = ROOT / "configs/policy/tiny"
TRAIN = read_folder(ROOT / "configs/tasks/cpu/train")


def pieces_of(messages):
    """Given and sampled text in turn, as the engine encodes a trajectory."""
    pieces, given = [], ""
    for message in messages:
        content = message["content"]
        if message["role"] == "user":
            given += f"<|im_start|>user\n{content}<|im_end|>\n"
        elif message["role"] == "tool":
            given += f"\n<|im_start|>user\n<tool_response>\n{content}\n</tool_response><|im_end|>\n"
        else:
            pieces += [f"{given}<|im_start|>assistant\n", f"{content}<|im_end|>"]
            given = ""
    return pieces


class TokenizerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tokenizer = AutoTokenizer.from_pretrained(FOLDER)
        mixtures = [Mixture(t, random.Random(t.id)) for t in TRAIN]
        cls.records = [m.draw() for _ in range(4) for m in mixtures]

    def ids(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False)

    def test_conversations_encode_the_same_whole_and_in_pieces(self):
        for record in self.records:
            pieces = pieces_of(record["messages"])
            self.assertEqual(self.ids("".join(pieces)), [i for p in pieces for i in self.ids(p)])

    def test_any_text_survives(self):
        for text in ("", "é日本🙂", "a\r\n\tb  \n\n", "12 345 [67, 8] (9)", "<tool_call>\n<func", "\x00\x7f"):
            self.assertEqual(self.tokenizer.decode(self.ids(text)), text)

    def test_extents_of_shapes_are_pieces_of_their_own(self):
        tokens = self.tokenizer.convert_ids_to_tokens(self.ids("in[0] x f32 [512, 1024]\n"))
        self.assertIn("512", tokens)
        self.assertIn("1024", tokens)

    def test_a_submission_is_one_token(self):
        self.assertEqual(len(self.ids("<tool_call>\n<function=submit>\n</function>\n</tool_call>")), 1)

    def test_demonstrations_are_short(self):
        prompts = [len(self.ids(r["messages"][0]["content"])) for r in self.records]
        kernels = [len(self.ids(r["messages"][1]["content"])) for r in self.records]
        self.assertLessEqual(max(prompts), 80)
        self.assertLessEqual(statistics.median(kernels), 60)

    def test_the_model_has_a_place_for_each_token_and_one_to_three_million_parameters(self):
        config = AutoConfig.from_pretrained(FOLDER)
        self.assertEqual(config.vocab_size, len(self.tokenizer))
        self.assertGreaterEqual(config.max_position_embeddings, 2048)
        width, inner = config.hidden_size, config.intermediate_size
        per_layer = 4 * width * width + 3 * width * inner + 2 * width
        parameters = config.vocab_size * width + config.num_hidden_layers * per_layer + width
        self.assertTrue(1e6 < parameters < 3e6, parameters)


if __name__ == "__main__":
    unittest.main()
