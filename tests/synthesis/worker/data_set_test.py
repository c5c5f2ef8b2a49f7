# SPDX-License-Identifier: Apache-2.0
# What a run leaves as a data set: it opens with `datasets`, and its card and pictures say what the files hold.
import importlib.util
import json
import pathlib
import re
import shutil
import tempfile
import unittest
import xml.etree.ElementTree as xml
from unittest import mock

import yaml
from support import Case

import card  # noqa: E402
import charts  # noqa: E402
import rows  # noqa: E402
import seeds as tables  # noqa: E402
import store  # noqa: E402

_SVG = "{http://www.w3.org/2000/svg}"
_LACK = "" if importlib.util.find_spec("datasets") else "the library `datasets` is not in the pinned environment"


def _bars(text):
    """Pairs (label, width, number) of a chart."""
    parts = list(xml.fromstring(text))
    texts = [part.text for part in parts if part.tag == _SVG + "text"]
    widths = [float(part.get("width")) for part in parts if part.tag == _SVG + "rect"][1:]
    assert len(texts) == 1 + 2 * len(widths), text
    return list(zip(texts[1::2], widths, texts[2::2]))


class DataSetTest(Case):
    made = None  # a folder with a set of four tasks, composed once

    def setUp(self):
        super().setUp()
        if DataSetTest.made is None:
            DataSetTest.made = pathlib.Path(self.enterClassContext(tempfile.TemporaryDirectory()))
            done = self.synth("set", count=4)
            self.assertEqual(done.returncode, 0, done.stderr)
            shutil.copytree(self.folder / "set", self.made / "set")
        self.set = self.made / "set"
        self.stored = [json.loads(line) for line in (self.set / "tasks.jsonl").read_text().splitlines()]
        self.funnel = json.loads((self.set / "funnel.json").read_text())
        self.card = (self.set / "README.md").read_text()

    def opened(self, *source, **options):
        import datasets
        with mock.patch.object(datasets.config, "HF_HUB_OFFLINE", True):
            return datasets.load_dataset(*source, cache_dir=str(self.folder / "cache"), **options)

    @unittest.skipIf(_LACK, _LACK)
    def test_datasets_opens_the_folder_and_the_file(self):
        found = self.opened(str(self.set))
        self.assertEqual(list(found), ["train"])
        self.assertEqual(found["train"].column_names, store.SCHEMA.names)
        self.assertEqual(list(found["train"]), self.stored)
        file = self.opened("parquet", data_files=str(self.set / "tasks.parquet"))
        self.assertEqual(list(file["train"]), self.stored)

    @unittest.skipIf(_LACK, _LACK)
    def test_what_datasets_saves_can_be_imported(self):
        found = self.opened(str(self.set))
        found.save_to_disk(str(self.folder / "saved"))
        self.assertEqual([row["code"] for row in rows.read(self.folder / "saved")], [r["code"] for r in self.stored])
        found["train"].save_to_disk(str(self.folder / "split"), num_shards=2)
        self.assertEqual([row["ops"] for row in rows.read(self.folder / "split")], [r["ops"] for r in self.stored])

    def test_the_card_begins_with_a_header_that_hugging_face_reads(self):
        header = yaml.safe_load(self.card.split("---\n")[1])
        self.assertEqual(header["license"], "apache-2.0")
        self.assertEqual(header["configs"], [{"config_name": "default", "data_files": "tasks.parquet"}])
        self.assertTrue((self.set / header["configs"][0]["data_files"]).exists())

    def test_the_card_counts_what_the_funnel_counts(self):
        self.assertIn(f"{len(self.stored)} tasks in KernelBench's format", self.card)
        shown = dict(re.findall(r"^\| (\w+) \| (\d+) \| [^|]+ \|$", self.card, re.MULTILINE))
        counts = {"accepted": self.funnel["accepted"], **self.funnel["rejected"]}
        self.assertEqual({name: int(shown[name]) for name in counts}, counts)
        self.assertEqual(counts["accepted"], len(self.stored))
        for step, seconds in self.funnel["seconds"].items():
            self.assertIn(f"| {step} | {seconds} |", self.card)

    def test_the_card_names_versions_licences_files_and_pictures(self):
        for name, version in tables.versions().items():
            self.assertIn(f"{name} {version}", self.card)
        for words in ("Apache-2.0", "PyTorch (BSD-3-Clause)", "Transformers (Apache-2.0)", "licence of their source"):
            self.assertIn(words, self.card)
        for name in (*re.findall(r"\]\((\w+\.svg)\)", self.card), "tasks.parquet", "tasks.jsonl", "refused.jsonl"):
            self.assertTrue((self.set / name).exists(), name)
        self.assertEqual(self.card.count(".svg)"), 3)

    def test_the_pictures_hold_a_bar_for_each_number(self):
        rejected = [(name, str(number)) for name, number in self.funnel["rejected"].items()]
        bars = _bars((self.set / "funnel.svg").read_text())
        self.assertEqual([(label, number) for label, _, number in bars],
                         [("accepted", str(len(self.stored))), *rejected])
        times = _bars((self.set / "eager_ms.svg").read_text())
        self.assertEqual(sum(int(number) for *_, number in times), len(self.stored))
        kinds = _bars((self.set / "operators.svg").read_text())
        self.assertEqual([(label, int(number)) for label, _, number in kinds], card.shares(self.stored))


class ChartsTest(unittest.TestCase):
    def test_widths_follow_the_numbers_and_labels_may_hold_any_letter(self):
        found = _bars(charts.bars("a < b & c", [("x < 1", 4), ("\"&\"", 1), ("none", 0)]))
        self.assertEqual([label for label, *_ in found], ["x < 1", "\"&\"", "none"])
        self.assertEqual([width for _, width, _ in found], [400, 100, 1])

    def test_a_histogram_has_two_ranges_for_each_power_of_ten_without_gaps(self):
        self.assertEqual(charts.histogram([0.02, 0.05, 0.5]),
                         [("0.01 to 0.0316", 1), ("0.0316 to 0.1", 1), ("0.1 to 0.316", 0), ("0.316 to 1", 1)])
        self.assertEqual(charts.histogram([]), [])
        self.assertEqual(_bars(charts.bars("empty", [])), [])


if __name__ == "__main__":
    unittest.main()
