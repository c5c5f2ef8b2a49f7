# SPDX-License-Identifier: Apache-2.0
# Hashes, tokens and similarity of texts.
import random
import time
import unittest

from support import program

from reasons import Rejected  # noqa: E402
from similarity import FLOOR, Index, ratio  # noqa: E402
from syntax import model_tokens, normalised_hash, parsed  # noqa: E402


def hashed(code):
    return normalised_hash(parsed(code))


class ParsedTest(unittest.TestCase):
    def reason(self, code):
        with self.assertRaises(Rejected) as caught:
            parsed(code)
        return caught.exception.reason

    def test_texts_that_are_no_python(self):
        for code in ("def (", "\0", "(" * 5000, "Sure! Here is your task:"):
            self.assertEqual(self.reason(code), "no_python")

    def test_texts_that_lack_a_name(self):
        self.assertEqual(self.reason("class Model: pass\ndef get_inputs(): pass"), "missing_name")
        functions = "".join(f"def {name}(): pass\n" for name in ("Model", "get_inputs", "get_init_inputs"))
        self.assertEqual(self.reason(functions), "missing_name")

    def test_texts_that_are_none_or_too_long(self):
        for code in (None, "", 7, "#" * (2 << 20)):
            self.assertEqual(self.reason(code), "bad_row")


class DeepTextTest(unittest.TestCase):
    def test_a_text_may_be_nested_more_deeply_than_calls(self):
        tree = parsed(program("return " + " + ".join(["x"] * 1200)))
        self.assertGreater(len(model_tokens(tree)), 2400)
        self.assertEqual(len(normalised_hash(tree)), 64)


class HashTest(unittest.TestCase):
    base = program("y = torch.exp(x)\nreturn y + self.p", init="self.p = nn.Parameter(torch.randn(128))")

    def test_names_comments_and_layout_do_not_matter(self):
        other = self.base.replace("self.p", "self.bias").replace("y", "value").replace("    pass\n", "    # a\n")
        other = other.replace("t" + "value" + "pe", "type").replace("class Model(nn.Module):",
                                                                     'class Model(nn.Module):\n    """Adds."""')
        self.assertEqual(hashed(self.base), hashed(other))

    def test_operators_numbers_and_structure_matter(self):
        for old, new in (("torch.exp", "torch.log"), ("128", "256"), ("y + self.p", "self.p + y"), ("y +", "x +")):
            self.assertNotEqual(hashed(self.base), hashed(self.base.replace(old, new)), new)


class SimilarityTest(unittest.TestCase):
    def test_the_ratio_is_that_of_the_longest_common_subsequence(self):
        self.assertEqual(ratio("abcdef", "abcdef"), 1.0)
        self.assertEqual(ratio("abcd", "wxyz"), 0.0)
        self.assertAlmostEqual(ratio("abcde", "xbxd"), 2 * 2 / 9)
        self.assertEqual(ratio("", ""), 1.0)

    def mutated(self, base, rate):
        changed = [random.choice("abcdefghij") if random.random() < rate else token for token in base]
        cut = random.randrange(len(base))
        return changed[cut:] + changed[:cut] if random.random() < 0.2 else changed

    def test_the_index_decides_as_comparing_all_does(self):
        random.seed(4)
        bases = [[random.choice("abcdefghij") for _ in range(length)] for length in (5, 30, 120, 900)]
        sequences = [self.mutated(random.choice(bases), random.random() / 4) for _ in range(400)]
        index, above = Index(), 0
        for number, sequence in enumerate(sequences):
            index.add(str(number), sequence)
        for _ in range(400):
            asked = self.mutated(random.choice(bases), random.random() / 4) + ["new"]
            found, name = index.most_similar(asked)
            self.assertEqual(found > FLOOR, max(ratio(asked, other) for other in sequences) > FLOOR)
            self.assertEqual(found, ratio(asked, sequences[int(name)]) if name else 0.0)
            above += found > FLOOR
        self.assertTrue(50 < above < 350, above)

    def test_an_empty_index_and_an_empty_question_have_no_answer(self):
        index = Index()
        self.assertEqual(index.most_similar(["a"]), (0.0, ""))
        index.add("one", ["a"])
        self.assertEqual(index.most_similar([]), (0.0, ""))
        self.assertEqual(index.most_similar(["a"] * 999), (0.0, ""))

    def test_a_copy_with_other_names_is_similar(self):
        a = program("y = torch.exp(x)\nreturn F.relu(y) * 2")
        b = program("value = torch.exp(data)\nreturn F.relu(value) * 3", arguments="data")
        self.assertEqual(ratio(model_tokens(parsed(a)), model_tokens(parsed(b))), 1.0)

    def test_twenty_thousand_programs_answer_within_ten_milliseconds(self):
        random.seed(5)
        index = Index()
        for number in range(20_000):
            index.add(str(number), [random.randrange(300) for _ in range(random.randrange(60, 200))])
        query = [random.randrange(300) for _ in range(100)]
        index.most_similar(query)
        took = []  # the least counts: a pause of a virtual machine may count as CPU time
        for _ in range(10):
            began = time.thread_time()
            index.most_similar(query)
            took.append(time.thread_time() - began)
        self.assertLess(min(took), 0.010)


if __name__ == "__main__":
    unittest.main()
