# SPDX-License-Identifier: Apache-2.0
# Foreign rows and the journal: what is read, what is refused, and what a killed run leaves.
import io
import json
import pathlib
import tempfile
import unittest

from support import program

import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402
import rows  # noqa: E402
from journal import Conflict, Journal  # noqa: E402


class RowsTest(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.folder = pathlib.Path(self.kept.name)

    def parquet(self, name="a.parquet", **columns):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
        return path

    def complaint(self, source):
        with self.assertRaises(rows.Unreadable) as caught:
            list(rows.read(source))
        return str(caught.exception)

    def test_columns_of_the_published_set(self):
        path = self.parquet(ops=['["nn.Linear", "torch.exp"]', "nn.ReLU, nn.GELU"], data_source=["a", "b"],
                            code=["x", "y"])
        found = list(rows.read(path))
        self.assertEqual([row["ops"] for row in found], [["nn.Linear", "torch.exp"], ["nn.ReLU", "nn.GELU"]])
        self.assertEqual([row["code"] for row in found], ["x", "y"])

    def test_a_folder_of_a_data_set(self):
        self.parquet("data/train-00000.parquet", code=["x"])
        (self.folder / "data/more.jsonl").write_text('{"code": "y"}\n')
        (self.folder / "script.py").write_text("ignored beside data files")
        self.assertEqual(sorted(row["code"] for row in rows.read(self.folder)), ["x", "y"])

    def test_a_folder_of_programs(self):
        (self.folder / "level1").mkdir()
        (self.folder / "level1/a.py").write_text(program("return x"))
        self.assertEqual([row["ops"] for row in rows.read(self.folder)], [None])

    def test_sources_that_cannot_be_read(self):
        self.assertIn("no such file", self.complaint(self.folder / "none"))
        self.assertIn("holds no", self.complaint(self.folder))
        self.assertIn("no column code, found text", self.complaint(self.parquet(text=["x"])))
        (self.folder / "b.parquet").write_text("no parquet")
        self.assertIn("b.parquet", self.complaint(self.folder / "b.parquet"))
        (self.folder / "c.jsonl").write_text('{"text": 1}\n')
        self.assertIn("no column code", self.complaint(self.folder / "c.jsonl"))

    def test_rows_of_other_types_are_kept_as_bad_rows(self):
        (self.folder / "d.jsonl").write_text('{"code": "x"}\nnonsense\n[1]\n{"code": "y", "ops": 7}\n{"code": 5}\n')
        found = list(rows.read(self.folder / "d.jsonl"))
        self.assertEqual([row["code"] for row in found], ["x", None, None, None, 5])

    def test_a_line_without_an_end_is_read_in_pieces(self):
        stream = io.StringIO('{"code": "' + "x" * (5 << 20) + '"}\n{"code": "y"}\n')
        self.assertEqual([row["code"] for row in rows.stream(stream)], [None, "y"])


class JournalTest(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.path = pathlib.Path(self.kept.name) / "journal.jsonl"

    def written(self, count):
        journal = Journal(self.path, {"seed": 1})
        for index in range(count):
            journal.add({"index": index, "reason": "random", "steps": {}})
        journal.close()

    def test_a_rerun_continues_behind_the_last_whole_line(self):
        self.written(3)
        with open(self.path, "a") as file:
            file.write('{"index": 3, "rea')
        journal = Journal(self.path, {"seed": 1})
        self.assertEqual([record["index"] for record in journal.records], [0, 1, 2])
        journal.add({"index": 3})
        journal.close()
        self.assertEqual(len(self.path.read_text().splitlines()), 5)
        json.loads(self.path.read_text().splitlines()[-1])

    def test_other_settings_are_a_conflict_that_names_them(self):
        self.written(1)
        with self.assertRaisesRegex(Conflict, "seed: 1 there, 2 now"):
            Journal(self.path, {"seed": 2})


if __name__ == "__main__":
    unittest.main()
