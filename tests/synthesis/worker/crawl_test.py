# SPDX-License-Identifier: Apache-2.0
# The crawl: which blocks of transformers it finds and how, and what a probe that crashes or hangs costs.
import contextlib
import fcntl
import io
import os
import unittest
from unittest import mock

from support import Case, command

import blocks  # noqa: E402
import child  # noqa: E402
import crawl  # noqa: E402
import crawl_lock  # noqa: E402
import guesses  # noqa: E402
import operator_kinds  # noqa: E402
import preparation  # noqa: E402
import rules_layers  # noqa: E402
import rules_pointwise  # noqa: E402
import rules_reduce  # noqa: E402
import seeds as tables  # noqa: E402
from block_kinds import KINDS, kind_of  # noqa: E402
from compose import Rules  # noqa: E402
from evaluate import Evaluation  # noqa: E402
from seeds import Seed  # noqa: E402

_SETTINGS = {"device": "cpu", "window": [0.001, 5000.0], "compile": "aot_eager", "signatures": set(), "foreign": False}


class KindsTest(unittest.TestCase):
    def test_the_last_word_of_a_class_name_decides(self):
        wanted = {"LlamaRotaryEmbedding": "rotary", "Qwen3MoeAttention": "attention", "Qwen3MoeMLP": "mlp",
                  "Qwen3MoeRMSNorm": "norm", "MixtralSparseMoeBlock": "expert", "MixtralTopKRouter": "router",
                  "MixtralExperts": "expert", "BertEmbeddings": "embedding", "LlamaDecoderLayer": "layer",
                  "BertIntermediate": "mlp", "BloomGelu": "activation", "BertPooler": "head", "MambaMixer": "mixer",
                  "BitDropPath": "other", "T5LayerNorm": "norm", "ViTPatchEmbeddings": "embedding"}
        self.assertEqual({name: kind_of(name) for name in wanted}, wanted)
        self.assertLessEqual(set(wanted.values()), set(KINDS))

    def test_every_rule_of_torch_has_a_kind(self):
        kinds = {operator_kinds.kind_of(seed) for rules in (rules_pointwise, rules_reduce, rules_layers)
                 for seed in rules.seeds()}
        self.assertLessEqual({"pointwise", "reduction", "product", "convolution", "norm"}, kinds)


class BlocksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.said = []
        cls.found = {seed.name.rsplit(".", 1)[1]: seed
                     for seed in blocks.seeds(cls.said.append, ["llama", "mixtral", "bert", "qwen3_moe", "beit"])}

    def judged(self, seed):
        """Runs a task of the block as the filter does."""
        code = Rules([seed], 3, shares={"transformers": 1}).candidate(0).code
        return child.run(lambda say: Evaluation(code, [seed.name], _SETTINGS, say).run_all(),
                         child.Limits(folder="/tmp"))[0]

    def test_each_kind_of_a_family_has_blocks(self):
        kinds = {name: seed.tags for name, seed in self.found.items()}
        self.assertEqual(kinds["LlamaRotaryEmbedding"], ("block", "rotary"), self.said)
        for name in ("LlamaAttention", "LlamaMLP", "LlamaRMSNorm", "LlamaDecoderLayer", "MixtralTopKRouter",
                     "MixtralSparseMoeBlock", "BertEmbeddings", "BertIntermediate"):
            self.assertEqual(kinds[name], ("block", kind_of(name)))

    def test_experts_are_fed_with_two_of_four_experts_for_each_token(self):
        seed = self.found["MixtralExperts"]
        self.assertEqual(seed.call, "{m}({x}, {y}, {z})")
        self.assertIn("topk(2", seed.operands[0])
        self.assertGreater(self.judged(seed)["eager_ms"], 0)

    def test_parameters_that_a_constructor_leaves_as_memory_is_are_drawn(self):
        self.assertIn("normal_", self.found["MixtralTopKRouter"].init)
        self.assertIn("normal_", self.found["Qwen3MoeTopKRouter"].init, "its weights begin as zeros")
        self.assertEqual(self.found["LlamaMLP"].init, "")
        code = Rules([self.found["MixtralTopKRouter"]], 3, shares={"transformers": 1}).candidate(0).code
        self.assertIn("        for p in self.m0.parameters(): nn.init.normal_(p, std=0.05)\n", code)

    def test_a_block_that_returns_its_input_is_none(self):
        self.assertNotIn("BeitDropPath", self.found)
        self.assertIn("BeitLayer", self.found)

    def test_common_activations_are_blocks_and_one_that_changes_nothing_is_not(self):
        names = {seed.name.rsplit(".", 1)[1] for seed in blocks._activation_seeds(self.fail)}
        self.assertLessEqual({"NewGELUActivation", "QuickGELUActivation", "ReLUSquaredActivation"}, names)
        self.assertNotIn("LinearActivation", names)


def _hangs(name, spelled, known):
    while spelled == "hangs":
        pass
    os.abort()


class ProbesTest(unittest.TestCase):
    def test_a_probe_that_crashes_or_hangs_costs_itself_alone(self):
        crashes = Seed("torch.crashes", "unary", "[__import__('os').abort() for _ in [0] if not {x}.is_meta] or {x}")
        rules = [Seed("torch.exp", "unary", "torch.exp({x})"), crashes, Seed("torch.sin", "unary", "torch.sin({x})")]
        names = [("torch.hangs", "hangs"), ("torch.dies", "dies")]
        said = []
        with mock.patch.object(guesses, "candidates", return_value=names), \
                mock.patch.object(guesses, "guess", _hangs), \
                mock.patch.object(crawl, "_LIMITS", crawl._LIMITS._replace(seconds=1.0, waits=60.0)):
            found, refused = crawl.operators(said.append, rules)
        self.assertEqual([seed.tags for seed in found.values()], [("pointwise",)] * 2)
        self.assertEqual(list(refused), ["torch.crashes"])
        self.assertRegex("\n".join(said), "(?s)torch.crashes .*died.*torch.hangs .*timed_out.*torch.dies .*died")


class WaitsTest(Case):
    def hold(self):
        """The crawl's lock, as another process holds it."""
        lock = open((self.folder / tables.file_name()).with_suffix(".lock"), "w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def test_a_crawl_that_waits_for_another_says_so_and_gives_up(self):
        self.hold()
        said = []
        with self.assertRaisesRegex(crawl_lock.Busy, "another process has held .*lock"):
            with crawl_lock.held((self.folder / tables.file_name()).with_suffix(".lock"), said.append, most_s=0.1):
                self.fail("the lock is held")
        self.assertRegex(said[0], "another process crawls; waiting for it")

    def test_a_crawl_goes_on_once_the_other_one_ends(self):
        lock, said = self.hold(), []

        def say(text):
            said.append(text)
            lock.close()

        found = crawl.cached(self.folder, say)
        self.assertEqual((len(found), len(said)), (7, 1))

    def test_a_preparation_without_a_sign_of_life_is_ended(self):
        program = self.folder / "hangs.py"
        program.write_text("import sys, time\nprint('half way', file=sys.stderr, flush=True)\ntime.sleep(600)\n")

        class Heard(io.StringIO):
            def write(self, _):  # the patience begins to be short here, however long the program took to start
                preparation.SILENT_S = 1.0

        with mock.patch.object(preparation, "_PROGRAM", program), mock.patch.object(preparation, "SILENT_S", 240.0), \
                contextlib.redirect_stderr(Heard()):
            with self.assertRaisesRegex(preparation.Failed, r"no sign of life for \d+ s: half way"):
                preparation.prepare({"cache": str(self.folder), "against": ["none"]})

    def test_the_list_shows_kinds(self):
        seed = Seed("transformers.models.llama.LlamaMLP", "transformers", "{m}({x})", tags=("block", "mlp"))
        torch_seed = Seed("torch.exp", "unary", "torch.exp({x})", tags=("pointwise",))
        (self.folder / tables.file_name()).write_text(tables.to_json([seed, torch_seed]))
        listed = command("--cache", self.folder, "crawl", "--list").stdout
        self.assertRegex(listed, r"LlamaMLP +transformers +block, mlp")
        self.assertIn("torch: 1 pointwise\ntransformers: 1 mlp\n2 seeds\n", listed)


if __name__ == "__main__":
    unittest.main()
