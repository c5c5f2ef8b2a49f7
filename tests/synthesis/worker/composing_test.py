# SPDX-License-Identifier: Apache-2.0
# Seeds, composition and sizes: what a candidate is made of, and that it depends on the seed and the index alone.
import collections
import json
import unittest

from support import WINDOW, Case

import rules_layers  # noqa: E402
import rules_pointwise  # noqa: E402
import rules_reduce  # noqa: E402
import seeds as tables  # noqa: E402
from assemble import Unfit  # noqa: E402
from compose import Rules  # noqa: E402
from cost import nice  # noqa: E402
from probe import probed  # noqa: E402
from seeds import Seed  # noqa: E402
from shares import SHARES, kinds_of  # noqa: E402
from syntax import normalised_hash, parsed  # noqa: E402

_ALL = {seed.name: seed for rules in (rules_pointwise, rules_reduce, rules_layers) for seed in rules.seeds()}
_SOME = [seed for seed in _ALL.values() if seed.ranks and seed.family in ("activation", "norm", "binary", "scan")]


class SeedsTest(unittest.TestCase):
    def test_the_rules_name_more_than_three_hundred_operators(self):
        self.assertGreater(len(_ALL), 300)

    def test_a_table_survives_its_file(self):
        self.assertEqual(tables.from_json(tables.to_json(_ALL.values())), list(_ALL.values()))

    def test_a_probe_keeps_the_ranks_that_work(self):
        seed, _ = probed(Seed("torch.mm", "matmul", "torch.mm({x}, {y})", operands=("param torch.randn({n}, {o})",)))
        self.assertEqual(seed.ranks, (2,))

    def test_a_probe_refuses_random_and_constant_operators(self):
        self.assertEqual(probed(Seed("torch.zeros_like", "x", "torch.zeros_like({x})"))[1], "the same for all inputs")
        self.assertIsNone(probed(Seed("torch.rand_like", "x", "torch.rand_like({x})"))[0])
        self.assertIsNone(probed(Seed("torch.no_such", "x", "torch.no_such({x})"))[0])


class CompiledTest(Case):
    def test_tasks_are_compiled_by_inductor(self):
        done = self.synth("compiled", count=1, more=(*WINDOW, "--compile", "inductor"), timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("writes_files", json.loads(done.stdout)["rejected"])
        self.assertGreater(json.loads((self.folder / "compiled/tasks.jsonl").read_text())["compile_ms"], 0)


class RulesTest(unittest.TestCase):
    def setUp(self):
        self.rules = Rules(_SOME, 11, shares={"1": 10, "2": 60, "3": 20, "4": 5, "5": 5})

    def test_a_candidate_depends_on_seed_and_index_alone(self):
        again = Rules(_SOME, 11, shares=self.rules.shares)
        other = Rules(_SOME, 12, shares=self.rules.shares)
        backwards = {index: again.candidate(index).code for index in reversed(range(8))}
        for index in range(8):
            self.assertEqual(self.rules.candidate(index).code, backwards[index])
        self.assertNotEqual(self.rules.candidate(3).code, other.candidate(3).code)

    def test_every_beginning_of_the_sequence_follows_the_shares(self):
        for length in (200, 1000):
            counts = collections.Counter(kinds_of(SHARES)[:length])
            for kind, share in SHARES.items():
                self.assertLess(abs(100 * counts[kind] / length - share), 0.6)

    def test_candidates_have_as_many_operators_as_their_kind_says(self):
        for index in range(20):
            self.assertEqual(len(self.rules.candidate(index).ops), int(self.rules.kinds[index]))

    def test_candidates_define_the_three_names_and_differ(self):
        hashes = {normalised_hash(parsed(self.rules.candidate(index).code)) for index in range(30)}
        self.assertEqual(len(hashes), 30)

    def test_a_module_of_transformers_gets_its_operands(self):
        block = Seed("family.Block", "transformers", "{m}({x}, {y})", "nn.Bilinear({n}, {n}, {o})", ("same",), (3,))
        code = Rules([block], 11, shares={"transformers": 1}).candidate(0).code
        self.assertIn("v0 = self.m0(x, x1)", code)

    def test_sizes_that_a_module_refuses_lead_to_other_candidates(self):
        seed = Seed("torch.nn.PReLU", "activation", "{m}({x})", "nn.MultiheadAttention({n}, 7)", ranks=(2,))
        self.assertEqual(probed(seed)[0], None)
        with self.assertRaises(Unfit):
            Rules([seed], 11, shares={"1": 1}).candidate(0)

    def test_some_values_are_used_again_and_some_tasks_have_several_inputs(self):
        codes = [self.rules.candidate(index).code for index in range(60)]
        self.assertTrue(any("forward(self, x, x1" in code for code in codes))
        self.assertTrue(any("self.p0" in code for code in codes))

    def test_more_work_gives_larger_sizes(self):
        candidate = self.rules.candidate(1)
        self.assertNotEqual(candidate.rescale(4.0).code, candidate.code)
        self.assertEqual(candidate.rescale(1.0).code, candidate.code)

    def test_a_gpu_s_tasks_name_their_device(self):
        code = Rules(_SOME, 11, "cuda", (1.0, 100.0)).candidate(0).code
        self.assertIn('\nDEVICE = "cuda"\n', code)

    def test_sizes_are_powers_of_two_or_three_times_one(self):
        self.assertEqual([nice(size) for size in (0.3, 5, 100, 700, 1000)], [1, 6, 96, 768, 1024])


if __name__ == "__main__":
    unittest.main()
