# SPDX-License-Identifier: Apache-2.0
# Bad arguments and sources: said in one line, without loading torch.
import argparse
import os
import subprocess
import sys
import unittest
from unittest import mock

from support import WORKER, Case, command

import main  # noqa: E402
from arguments import parser  # noqa: E402
from journal import Journal  # noqa: E402


class ComplaintsTest(Case):
    def complaint(self, *arguments, status=2):
        done = command("--cache", self.folder, *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_bad_arguments(self):
        self.assertIn("not below", self.complaint(*self.arguments("a", 1, more=["--min-ms", "5", "--max-ms", "4"])))
        narrow = ["--device", "cuda", "--min-ms", "1", "--max-ms", "1.5"]
        self.assertIn("--min-ms 1, --max-ms 1.5: expected --max-ms above 1.5625 × --min-ms on a GPU",
                      self.complaint(*self.arguments("a", 1, more=narrow)))
        self.assertIn("shares of 1 to 5", self.complaint(*self.arguments("a", 1, more=["--shares", "9=1"])))
        self.assertIn("no such folder", self.complaint(*self.arguments("a", 1, more=["--against", "/none"])))
        self.assertIn("--workers 0 needs a --node that works", self.complaint(*self.arguments("a", 0)))
        self.assertIn("expected 0 or more, got -1", self.complaint(*self.arguments("a", -1)))
        for option in ("--memory-gib", "--max-ms", "--min-ms", "--seconds"):
            for value in ("inf", "nan"):
                words = self.complaint(*self.arguments("a", 1, more=[option, value]))
                self.assertIn(f"{option}: expected a finite number above 0, got {value}", words)

    def test_an_unknown_option_names_the_nearest(self):
        wanted = ["--seed", 1, "--out", self.folder / "a"]
        self.assertIn('no option "--cuont"; the nearest is "--count"', self.complaint("compose", "--cuont", 1, *wanted))
        self.assertIn('no option "--cou"; ', self.complaint("compose", "--cou=1", *wanted))
        self.assertIn('no option "--frobnicate"; expected one of --', self.complaint("ingest", "--frobnicate"))

    def test_a_path_that_can_be_no_folder(self):
        file = self.folder / "file"
        file.write_text("")
        rows = self.folder / "rows.jsonl"
        rows.write_text('{"code": "x"}\n')
        for out in (file, file / "below"):
            words = f"--out {out}: {file} is no folder"
            self.assertIn(words, self.complaint("synth", "--count", 1, "--seed", 1, "--out", out))
            self.assertIn(words, self.complaint("import", rows, "--out", out))
        self.assertIn(f"--against {file}: a file", self.complaint(*self.arguments("d", 1, more=["--against", file])))
        done = command("--cache", file, "crawl")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn(f"--cache {file}: {file} is no folder", done.stderr)

    def test_a_first_crawl_is_announced_with_its_length(self):
        said = []
        with mock.patch.object(main, "say", said.append), self.assertRaises(KeyboardInterrupt):
            with mock.patch.object(main, "prepare", side_effect=KeyboardInterrupt):
                main._prepared(argparse.Namespace(cache=str(self.folder / "new")))
        self.assertRegex(said[0], "first finds the operators of the installed torch and transformers, which takes "
                                  f"about 10 minutes; {self.folder}/new/.* keeps them")
        self.assertIn("about 10 minutes", command("import", "--help").stdout)

    def test_a_machine_without_a_gpu_is_refused_at_the_start(self):
        with mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": ""}):
            said = self.complaint(*self.arguments("e", 2, more=["--device", "cuda"]))
        self.assertEqual(said.count("\n"), 1, said)
        self.assertRegex(said, "--device cuda: .* --device cpu")
        self.assertFalse((self.folder / "e").exists())

    def test_a_reader_that_has_gone_is_no_failure(self):
        for words in (["crawl", "--list"], ["--help"]):
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run([sys.executable, "-B", str(WORKER / "main.py"), "--cache", str(self.folder), *words],
                                  stdout=write, stderr=subprocess.PIPE, text=True)
            os.close(write)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)

    def test_compose_has_its_former_name_too(self):
        wanted = ["--count", "1", "--seed", "2", "--out", "x"]
        self.assertEqual(vars(parser().parse_args(["synth", *wanted])), vars(parser().parse_args(["compose", *wanted])))

    def test_help_shows_every_default(self):
        commands = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)).choices
        for name, part in {"": parser(), **commands}.items():
            for action in part._actions:
                if action.default not in (None, [], False, argparse.SUPPRESS):
                    said = (action.help or "") % vars(action)
                    shown = action.default if isinstance(action.default, str) else f"{action.default:g}"
                    self.assertRegex(said, f"default.*{shown}", f"{name} {action.option_strings}")

    def test_a_folder_with_a_run_of_other_settings(self):
        (self.folder / "b").mkdir()
        journal = Journal(self.folder / "b/journal.jsonl", {"seed": 4})
        journal.add({"index": 0, "reason": "random", "steps": {}})
        journal.close()
        self.assertIn("seed: 4 there, 3 now", self.complaint(*self.arguments("b", 1)))

    def test_a_folder_in_which_another_run_works(self):
        (self.folder / "c").mkdir()
        working = Journal(self.folder / "c/journal.jsonl", {"seed": 3})
        self.addCleanup(working.close)
        self.assertIn("another `synth` works in this folder", self.complaint(*self.arguments("c", 1)))

    def test_sources_that_cannot_be_imported(self):
        (self.folder / "x.jsonl").write_text('{"text": "y"}\n')
        self.assertIn("no column code", self.complaint("import", self.folder / "x.jsonl", "--out", self.folder / "c"))
        self.assertIn("no such file", self.complaint("import", self.folder / "y", "--out", self.folder / "c"))

    def test_the_table_is_listed(self):
        done = command("--cache", self.folder, "crawl", "--list")
        self.assertIn("torch.nn.LayerNorm", done.stdout)
        self.assertIn("7 seeds", done.stdout)


if __name__ == "__main__":
    unittest.main()
