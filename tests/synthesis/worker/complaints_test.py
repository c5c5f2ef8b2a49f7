# SPDX-License-Identifier: Apache-2.0
# Bad arguments and sources: said in one line, without loading torch.
import unittest

from support import Case, command

from journal import Journal  # noqa: E402


class ComplaintsTest(Case):
    def complaint(self, *arguments, status=2):
        done = command("--cache", self.folder, *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_bad_arguments(self):
        self.assertIn("not below", self.complaint(*self.arguments("a", 1, more=["--min-ms", "5", "--max-ms", "4"])))
        self.assertIn("shares of 1 to 5", self.complaint(*self.arguments("a", 1, more=["--shares", "9=1"])))
        self.assertIn("no such folder", self.complaint(*self.arguments("a", 1, more=["--against", "/none"])))
        self.assertIn("--workers 0 needs a --node that works", self.complaint(*self.arguments("a", 0)))
        self.assertIn("expected 0 or more, got -1", self.complaint(*self.arguments("a", -1)))

    def test_a_folder_with_a_run_of_other_settings(self):
        (self.folder / "b").mkdir()
        Journal(self.folder / "b/journal.jsonl", {"seed": 4}).close()
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
