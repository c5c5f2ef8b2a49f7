# SPDX-License-Identifier: Apache-2.0
# Foreign rows and the journal: what is read, what is refused, and what a killed run leaves.
import io
import itertools
import json
import pathlib
import random
import tempfile
import unittest
from unittest import mock

from support import program

import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402
import other_suites  # noqa: E402
import row_files  # noqa: E402
import rows  # noqa: E402
from funnel import Funnel  # noqa: E402
from journal import Conflict, Journal  # noqa: E402
from names import task_id  # noqa: E402
from pipeline import GaveUp, Pipeline  # noqa: E402


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

    def damaged(self, group):
        """A file of twenty rows, each in a group of its own, with random bytes in place of one group's data."""
        path = self.folder / "damaged.parquet"
        codes = [random.Random(k).randbytes(3000).hex() for k in range(20)]
        pyarrow.parquet.write_table(pyarrow.table({"code": codes}), path, row_group_size=1, compression="zstd")
        column = pyarrow.parquet.ParquetFile(path).metadata.row_group(group).column(0)
        start = column.dictionary_page_offset or column.data_page_offset
        data = bytearray(path.read_bytes())
        data[start:start + column.total_compressed_size] = random.Random(9).randbytes(column.total_compressed_size)
        path.write_bytes(data)
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
        self.assertEqual(sorted(row["code"] for row in rows.read(self.folder)), ["x", "y"])

    def arrow(self, name, codes, opened=pyarrow.ipc.new_stream):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        table = pyarrow.table({"code": codes, "ops": [["torch.exp"]] * len(codes)})
        with opened(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
        return path

    def test_a_folder_of_save_to_disk(self):
        self.arrow("data-00000-of-00002.arrow", ["a", "b", "c"])
        self.arrow("data-00001-of-00002.arrow", ["d"])
        self.arrow("cache-0f3e.arrow", ["left over"])
        files = [{"filename": f"data-0000{k}-of-00002.arrow"} for k in (0, 1)]
        (self.folder / "state.json").write_text(json.dumps({"_data_files": files}))
        (self.folder / "dataset_info.json").write_text("{}")
        found = list(rows.read(self.folder))
        self.assertEqual([(row["code"], row["ops"]) for row in found], [(code, ["torch.exp"]) for code in "abcd"])
        (self.folder / "state.json").write_text("{}")
        self.assertIn("state.json: expected the names of a data set's files", self.complaint(self.folder))

    def test_an_arrow_file_with_an_index(self):
        self.assertEqual([row["code"] for row in rows.read(self.arrow("a.arrow", ["x", "y", "z"],
                                                                      pyarrow.ipc.new_file))], ["x", "y", "z"])

    def test_arrow_files_that_are_damaged(self):
        path = self.arrow("cut.arrow", ["x" * 5000] * 6)
        path.write_bytes(path.read_bytes()[:-6000])
        found = list(rows.read(path))
        self.assertEqual([bool(row["code"]) for row in found], [True] * 4 + [False])
        self.assertIn("damaged behind row 4", found[-1]["problem"])
        path.write_bytes(b"no arrow at all")
        self.assertIn("cut.arrow", self.complaint(path))

    def test_an_offset_that_points_elsewhere_costs_its_row(self):
        offsets = pyarrow.array([0, 1, 1 << 20, 2], pyarrow.int32()).buffers()[1]
        cells = pyarrow.Array.from_buffers(pyarrow.string(), 3, [None, offsets, pyarrow.py_buffer(b"xy")])
        table = pyarrow.table({"code": cells})
        with pyarrow.ipc.new_stream(self.folder / "wild.arrow", table.schema) as writer:
            writer.write_table(table)
        found = list(rows.read(self.folder / "wild.arrow"))
        self.assertEqual([row["code"] for row in found], ["x", None, None])
        self.assertIn("the row is damaged", found[1]["problem"])

    def test_a_folder_of_programs_and_data_files_gives_both(self):
        (self.folder / "a.py").write_text(program("return x"))
        (self.folder / "stray.jsonl").write_text('{"code": "y"}\n')
        self.assertEqual([row["name"].rsplit("/", 1)[1] for row in rows.read(self.folder)], ["a.py:1", "stray.jsonl:1"])

    def test_a_folder_of_programs(self):
        (self.folder / "level1").mkdir()
        (self.folder / "level1/a.py").write_text(program("return x"))
        self.assertEqual([row["ops"] for row in rows.read(self.folder)], [None])

    def rewriting(self, *lines, status=0):
        """Stands in for the program: its `bench tasks --texts` prints these lines."""
        answer = "".join(json.dumps(line) + "\n" for line in lines)
        fake = self.folder.with_suffix(".program")
        fake.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}END\necho 'not well' >&2\nexit {status}\n")
        fake.chmod(0o755)
        self.addCleanup(fake.unlink)
        self.addCleanup(other_suites.rows_by_file.cache_clear)
        patched = mock.patch.dict("os.environ", WARPSMITH_PROGRAM=str(fake))
        patched.start()
        self.addCleanup(patched.stop)

    def test_tasks_of_other_suites_come_in_kernelbench_s_form(self):
        (self.folder / "a.py").write_text("plain")
        (self.folder / "f").mkdir()
        (self.folder / "f/func_forward.py").write_text("functional")
        (self.folder / "f/1_origin.py").write_text("what it was made from")
        (self.folder / "b.json").write_text("a definition")
        (self.folder / "c.json").write_text("a broken one")
        (self.folder / "notes.json").write_text("nothing")
        (self.folder / "workloads").mkdir()
        (self.folder / "workloads/b.jsonl").write_text('{"workload": 1}\n')
        of = {name: str(self.folder / name) for name in ("a.py", "f/func_forward.py", "b.json", "c.json")}
        self.rewriting({"task": "a", "file": of["a.py"], "format": "KernelBench", "code": "plain"},
                       {"task": "f", "file": of["f/func_forward.py"], "format": "robust-kbench", "code": "whole"},
                       {"task": "b-1", "file": of["b.json"], "format": "flashinfer-bench", "code": "one"},
                       {"task": "b-2", "file": of["b.json"], "format": "flashinfer-bench", "code": "two"},
                       {"file": of["c.json"], "refusal": "c.json: name: expected a text"},
                       {"file": "elsewhere.py", "refusal": "a task needs `class Model`"})
        rows.check(self.folder)
        found = [(row["name"].rsplit("/", 1)[1], row["code"]) for row in rows.read(self.folder)]
        self.assertEqual(found, [("a.py:1", "plain"), ("b.json:1", "one"), ("b.json:2", "two"), ("c.json:1", None),
                                 ("func_forward.py:1", "whole")])
        self.assertEqual([row["code"] for row in rows.read(self.folder / "a.py")], ["plain"])
        self.assertEqual([row["problem"] for row in rows.read(self.folder) if row["code"] is None],
                         ["c.json: name: expected a text"])

    def test_a_program_that_fails_ends_the_import(self):
        (self.folder / "a.py").write_text("plain")
        self.rewriting(status=3)
        self.assertIn("exit status 3: not well", self.complaint(self.folder))

    def test_sources_that_cannot_be_read(self):
        self.assertIn("no such file", self.complaint(self.folder / "none"))
        self.assertIn("holds no", self.complaint(self.folder))
        self.assertIn("no column code, found text", self.complaint(self.parquet(text=["x"])))
        damaged = self.damaged(group=0)
        self.assertIn(f"{damaged}: ", self.complaint(damaged))
        (self.folder / "b.parquet").write_text("no parquet")
        self.assertIn("b.parquet", self.complaint(self.folder / "b.parquet"))
        (self.folder / "c.jsonl").write_text('{"text": 1}\n')
        self.assertIn("no column code", self.complaint(self.folder / "c.jsonl"))

    def test_rows_of_other_types_are_kept_as_bad_rows(self):
        (self.folder / "d.jsonl").write_text('{"code": "x"}\nnonsense\n[1]\n{"code": "y", "ops": 7}\n{"code": 5}\n')
        found = list(rows.read(self.folder / "d.jsonl"))
        self.assertEqual([row["code"] for row in found], ["x", None, None, None, None])

    def test_rows_behind_damage_are_one_bad_row(self):
        path = self.damaged(group=18)
        rows.check(path)
        *whole, last = rows.read(path)
        self.assertEqual([len(row["code"]) for row in whole], [6000] * 16, "rows are read sixteen at a time")
        self.assertIn(f"damaged behind row 16: {path}: ", last["problem"])

    def test_a_row_that_is_no_text_hides_no_other(self):
        cells = pyarrow.array([b"x", b"\xff\xfe", b"y"])
        found = list(rows.read(self.parquet(code=pyarrow.Array.from_buffers(pyarrow.string(), 3, cells.buffers()))))
        self.assertEqual([row["code"] for row in found], ["x", None, "y"])
        self.assertEqual(found[1]["problem"], "the row is no UTF-8")

    def test_a_line_without_an_end_is_read_in_pieces(self):
        stream = io.StringIO('{"code": "' + "x" * (5 << 20) + '"}\n{"code": "y"}\n')
        self.assertEqual(list(row_files.lines(stream)), ["a line of 2 MiB or more", {"code": "y"}])

    def test_a_sample_is_the_same_each_time_and_in_order(self):
        chosen = list(rows.sample(range(1000), 50))
        self.assertEqual(chosen, list(rows.sample(iter(range(1000)), 50)))
        self.assertEqual(chosen, sorted(set(chosen)))
        self.assertGreater(max(chosen), 900)
        self.assertEqual(list(rows.sample(range(3), 50)), [0, 1, 2])

    def test_a_folder_of_a_finished_run_holds_its_tasks_alone(self):
        self.parquet("tasks.parquet", code=["x"])
        for name in ("tasks.jsonl", "refused.jsonl", "journal.jsonl"):
            (self.folder / name).write_text('{"index": 1}\n')
        self.assertEqual([row["code"] for row in rows.read(self.folder)], ["x"])

    def test_rows_of_another_form_say_why(self):
        cells = [b"x", "", None, "#" * (2 << 20)]
        found = list(rows.read(self.parquet(code=[cells[0]]))) + list(rows.read(self.parquet(code=cells[1:])))
        self.assertEqual([row["problem"] for row in found],
                         ["no text in the column code"] * 3 + ["code is longer than 1 MiB"])

    def test_a_file_that_cannot_be_read_is_one_bad_row(self):
        (self.folder / "a.py").write_text(program("return x"))
        with mock.patch("builtins.open", side_effect=PermissionError(13, "Permission denied")):
            self.assertIn("Permission denied", next(rows.read(self.folder))["problem"])

    def test_hidden_files_are_left_out_and_hidden_folders_may_be_named(self):
        hidden = self.folder / ".cache/tasks"
        (hidden / ".git").mkdir(parents=True)
        (hidden / ".git/a.py").write_text("x")
        (hidden / "b.py").write_text("y")
        self.assertEqual([row["code"] for row in rows.read(hidden)], ["y"])

    def test_every_data_file_is_looked_at_before_the_first_row_is_judged(self):
        self.parquet("a.parquet", code=["x"])
        self.parquet("b.parquet", text=["x"])
        with self.assertRaisesRegex(rows.Unreadable, "b.parquet: no column code"):
            rows.check(self.folder)


class FailedStartTest(unittest.TestCase):
    def test_a_worker_that_never_starts_rejects_no_candidate(self):
        journal = mock.Mock(records=[{"index": 0, "reason": "raises", "detail": "", "steps": {}}])
        run = Pipeline({"no": "worker starts with these"}, journal, Funnel(), say=lambda text: None)
        with self.assertRaisesRegex(GaveUp, "the worker died before it answered once, with exit status 1"):
            run.run(count=5, workers=2)
        journal.add.assert_not_called()

    def test_a_candidate_that_ends_two_new_workers_while_others_answer_has_died(self):
        run = Pipeline({}, mock.Mock(records=[{"index": 0, "reason": "raises", "detail": "", "steps": {}}]), Funnel())
        fresh = mock.Mock(index=7, row={"code": "x"}, answered=0)
        run._start_failed(fresh, "the worker died")
        self.assertEqual((run.returned, run.waiting), ([(7, {"code": "x"})], {}))
        run.deaths = 0  # another worker answers
        run._start_failed(fresh, "the worker died")
        self.assertEqual((len(run.returned), run.waiting[7]["reason"]), (1, "died"))


class FeedTest(unittest.TestCase):
    """Three workers, of which the first holds index 0 and the others answer at once; two tasks are wanted."""

    def setUp(self):
        self.taken = []
        self.run_ = Pipeline({}, mock.Mock(records=[]), Funnel(), self.rows)
        self.workers = [mock.Mock(**{"idle.return_value": True}) for _ in range(3)]

    def rows(self, start):
        for number in itertools.count(start):
            self.taken.append(number)
            yield {"code": "x"}

    def work(self, rounds, hash_of):
        for _ in range(rounds):
            self.run_._feed(self.workers, 2)
            self.workers[0].idle.return_value = False
            for worker in self.workers[1:]:
                for given in worker.give.call_args_list:
                    self.answer(given.args[0], hash_of)
                worker.give.reset_mock()
            self.run_._commit(2)

    def answer(self, index, hash_of):
        self.run_.waiting[index] = {"index": index, "reason": None, "row": {"hash": hash_of(index)}, "steps": {}}

    def test_no_candidate_is_begun_once_as_many_as_are_wanted_wait(self):
        self.work(50, str)
        self.assertEqual(self.taken, [0, 1, 2])
        self.answer(0, str)
        self.run_._commit(2)
        self.assertEqual(self.run_.funnel.accepted, 2)

    def test_others_follow_where_what_waits_repeats_a_task(self):
        self.work(50, lambda index: "a")
        self.answer(0, lambda index: "a")
        self.run_._commit(2)
        self.assertEqual(self.run_.funnel.accepted, 1)
        self.work(1, str)
        self.assertEqual((self.run_.funnel.accepted, self.taken), (2, [0, 1, 2, 3, 4]))


class FunnelTest(unittest.TestCase):
    def test_it_writes_the_seconds_of_all_steps_also_those_of_a_gpu(self):
        steps = {"start": 1.0, "eager": 2.0, "check": 3.0, "turn": 4.0}
        funnel = Funnel()
        funnel.add({"index": 0, "reason": "too_fast", "steps": steps})
        self.assertEqual(funnel.as_dict()["seconds"], steps)


class StoreTest(unittest.TestCase):
    def test_names_end_with_the_hash_however_long_the_operators_are(self):
        name = task_id({"ops": ["torch." + "x" * 50] * 5, "hash": "0123456789abcdef"})
        self.assertTrue(name.endswith("_0123456789ab") and len(name) < 120, name)


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

    def test_a_damaged_journal_is_named_with_its_line(self):
        self.written(2)
        lines = self.path.read_text().splitlines()
        self.path.write_text("\n".join([lines[0], "\0" * 20, lines[2]]) + "\n")
        with self.assertRaisesRegex(Conflict, f"{self.path}:2: .* damaged"):
            Journal(self.path, {"seed": 1})

    def test_other_settings_are_a_conflict_that_names_them(self):
        self.written(1)
        with self.assertRaisesRegex(Conflict, "seed: 1 there, 2 now"):
            Journal(self.path, {"seed": 2})

    def test_a_run_without_a_candidate_makes_room_for_other_settings(self):
        self.written(0)
        Journal(self.path, {"seed": 2}).close()
        journal = Journal(self.path, {"seed": 2})
        self.assertEqual(journal.records, [])
        journal.close()
        self.assertEqual(len(self.path.read_text().splitlines()), 1)
        self.path.write_text('{"key": "of another program"}\n')
        with self.assertRaises(Conflict):
            Journal(self.path, {"seed": 2})


class FunnelTest(unittest.TestCase):
    def test_the_summary_names_every_reason_and_progress_the_most_frequent(self):
        funnel = Funnel()
        for number in range(6):
            for _ in range(number + 1):
                funnel.add({"reason": f"reason{number}", "steps": {}})
        self.assertIn("; rejected: 6 reason5, 5 reason4, ", funnel.line())
        self.assertTrue(funnel.line().endswith("2 reason1, 1 reason0"), funnel.line())
        self.assertNotIn("reason1", funnel.line(most=4))


if __name__ == "__main__":
    unittest.main()
