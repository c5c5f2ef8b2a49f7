# SPDX-License-Identifier: Apache-2.0
"""The checks find what they are for."""

import contextlib
import os
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts/lib"))

import check_config_keys  # noqa: E402
import check_contracts  # noqa: E402
import check_cores  # noqa: E402
import check_files  # noqa: E402
import check_folders  # noqa: E402
import check_headers  # noqa: E402
import check_includes  # noqa: E402
import check_limits  # noqa: E402
import check_named_tests  # noqa: E402
import check_tidy  # noqa: E402
import compile_flags  # noqa: E402
import test_summary  # noqa: E402


class IncludesTest(unittest.TestCase):
    def refused(self, path, included):
        self.assertIsNotNone(check_includes.wrong_include(path, included), (path, included))

    def allowed(self, path, included):
        self.assertIsNone(check_includes.wrong_include(path, included), (path, included))

    def test_arrows_point_one_way(self):
        self.allowed("policy/a.cpp", "runtime/result.hpp")
        self.allowed("actors/a.cpp", "policy/learn/reward.hpp")
        self.refused("runtime/a.cpp", "policy/learn/reward.hpp")
        self.refused("policy/a.cpp", "sandbox/jail/jail.hpp")
        self.refused("sandbox/a.cpp", "synthesis/pool.hpp")
        self.refused("sandbox/a.cpp", "actors/protocol/messages.hpp")

    def test_only_actors_see_caf(self):
        self.allowed("actors/a.hpp", "caf/typed_actor.hpp")
        self.allowed("tests/actors/a_test.cpp", "caf/typed_actor.hpp")
        self.refused("policy/a.cpp", "caf/typed_actor.hpp")
        self.refused("tests/policy/a_test.cpp", "caf/typed_actor.hpp")

    def test_only_policy_and_actors_see_tensors(self):
        self.allowed("policy/model/a.cpp", "ATen/core/Tensor.h")
        self.refused("sandbox/a.cpp", "ATen/core/Tensor.h")
        self.refused("runtime/a.hpp", "c10/util/Half.h")

    def test_slow_headers_stay_out_of_headers(self):
        self.allowed("runtime/log.cpp", "spdlog/spdlog.h")
        self.refused("runtime/log.hpp", "spdlog/spdlog.h")
        self.refused("policy/a.cpp", "torch/torch.h")


class LimitsTest(unittest.TestCase):
    def complaints(self, text, name="call_timeout"):
        return list(check_limits.complaints([name], {"runtime/a.hpp": text, "tests/a.cpp": text}))

    def test_one_default_is_right(self):
        self.assertEqual(self.complaints("std::chrono::milliseconds call_timeout{5'000};"), [])
        self.assertEqual(self.complaints("  int64_t call_timeout = 8;  // ms"), [])

    def test_a_second_default_is_found(self):
        text = "int64_t call_timeout = 8;\nstd::chrono::milliseconds call_timeout{std::chrono::seconds{5}};"
        self.assertEqual(self.complaints(text),
                         ["runtime/a.hpp:2: a second default of call_timeout; the first is at runtime/a.hpp:1"])
        self.assertEqual(len(self.complaints("int64_t call_timeout = 8;\nstruct A { int call_timeout = 9; };")), 1)

    def test_uses_are_no_defaults(self):
        default = "int call_timeout = 8;\n"
        for use in ("options.call_timeout = 9;", "A a{.call_timeout = 9};", "int call_timeout;", "int call_timeout{};",
                    "if (call_timeout == 9) {", "call_timeout = 9;", "// int call_timeout = 9;",
                    "int my_call_timeout = 9;"):
            self.assertEqual(self.complaints(default + use), [], use)

    def test_a_limit_without_a_default_is_a_stale_entry(self):
        self.assertEqual(self.complaints("int call_timeout;"), ["scripts/limits.txt: call_timeout has no default"])


class NamedTestsTest(unittest.TestCase):
    def test_a_name_that_no_test_has_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.md")
            with open(page, "w", encoding="utf-8") as file:
                file.write("`ATest.Holds` and `ATest`\n`ATest.Held`, `BTest`\n")
            with mock.patch.object(check_named_tests, "files", return_value=[pathlib.Path(page)]):
                found = list(check_named_tests.complaints({("ATest", "Holds"), ("ATest", "")}))
        self.assertEqual([line.split(" names ")[1].split(",")[0] for line in found], ["ATest.Held", "BTest"])


def including(*paths):
    return "".join(f'#include "{path}"\n' for path in paths)



class FilesTest(unittest.TestCase):
    LONG = "// line\n" * 60

    def complaints(self, texts, reasons=None):
        return list(check_files.complaints(texts, reasons or {}))

    def test_a_header_and_its_source_are_one_unit(self):
        self.assertEqual(self.complaints({"runtime/a.hpp": "x\n" * 10, "runtime/a.cpp": "x\n" * 30}), [])
        self.assertIn("runtime/a: 20 lines", self.complaints({"runtime/a.hpp": "x\n" * 20})[0])

    def test_a_small_unit_needs_a_reason_and_a_reason_needs_a_small_unit(self):
        small = {"runtime/a.hpp": "x\n"}
        self.assertEqual(self.complaints(small, {"runtime/a": "for b"}), [])
        self.assertIn("does not exist", self.complaints({}, {"runtime/a": "for b"})[0])
        self.assertIn("needs no reason", self.complaints({"runtime/a.hpp": self.LONG}, {"runtime/a": "for b"})[0])

    def test_a_class_is_defined_in_one_source(self):
        texts = {"runtime/a.hpp": "class Engine {\n};\n" + self.LONG,
                 "runtime/a.cpp": "int Engine::f() {\n}\n  Engine::f();\n" + self.LONG,
                 "runtime/b.cpp": "std::vector<int> Engine::g() {\n}\n" + self.LONG}
        self.assertIn("class Engine is cut over runtime/a.cpp, runtime/b.cpp", self.complaints(texts)[0])
        texts["runtime/b.cpp"] = "void h() {\n  Engine::f();\n}\n" + self.LONG
        self.assertEqual(self.complaints(texts), [])


class FoldersTest(unittest.TestCase):
    def complaints(self, **sources):
        """Each keyword is a file of policy/, with __ for / and its includes as value."""
        texts = {f"policy/{name.replace('__', '/')}.hpp": including(*targets) for name, targets in sources.items()}
        return list(check_folders.complaints(texts))

    def test_a_cycle_names_both_files_of_each_arrow(self):
        self.assertEqual(
            self.complaints(a__x=["policy/b/y.hpp"], b__y=["policy/c/z.hpp"], c__z=["string", "policy/a/w.hpp"],
                            a__w=[]),
            ["include cycle between folders: policy/a -> policy/b -> policy/c -> policy/a",
             "  policy/a/x.hpp:1 includes policy/b/y.hpp",
             "  policy/b/y.hpp:1 includes policy/c/z.hpp",
             "  policy/c/z.hpp:2 includes policy/a/w.hpp"])

    def test_a_nested_folder_is_a_folder_of_its_own(self):
        first, *arrows = self.complaints(a__x=["policy/a/b/y.hpp"], a__b__y=["policy/a/x.hpp"])
        self.assertEqual(first, "include cycle between folders: policy/a -> policy/a/b -> policy/a")
        self.assertEqual(len(arrows), 2)

    def test_layers_and_includes_within_a_folder_pass(self):
        self.assertEqual(self.complaints(a__x=["policy/a/w.hpp", "policy/b/y.hpp"], a__w=["policy/a/x.hpp"],
                                         b__y=["policy/c/z.hpp"], c__z=[]), [])

    def test_two_cycles_are_both_found(self):
        lines = self.complaints(a__x=["policy/b/y.hpp"], b__y=["policy/a/x.hpp", "policy/c/z.hpp"],
                                c__z=["policy/b/y.hpp"])
        self.assertEqual(sum(line.startswith("include cycle") for line in lines), 2)


class CoresTest(unittest.TestCase):
    def complaints(self, *entries, **sources):
        """Each keyword is the text of a file of policy/, NAME_ENDING."""
        texts = {f"policy/{'.'.join(name.rsplit('_', 1))}": text for name, text in sources.items()}
        return list(check_cores.complaints(entries, texts))

    def refused(self, what, text):
        line, = self.complaints("policy/core", core_cpp=text)
        self.assertEqual(line, f"policy/core.cpp:1: {what} in a pure core (policy/core.cpp)")

    def test_each_kind_of_impurity_is_found(self):
        self.refused("CAF", "#include <caf/actor.hpp>")
        self.refused("files", "#include <fstream>")
        self.refused("files", "if (std::filesystem::exists(path)) return;")
        self.refused("files", "const int fd = ::open(path, 0);")
        self.refused("clocks", "const auto now = std::chrono::steady_clock::now();")
        self.refused("clocks", '#include "runtime/clock.hpp"')
        self.refused("threads", "#include <mutex>")
        self.refused("threads", "std::thread other(f);")
        self.refused("draws without a seed", "std::random_device device;")

    def test_values_of_these_kinds_and_comments_pass(self):
        self.assertEqual(self.complaints("policy/core", core_cpp="std::filesystem::path file;  // std::thread\n"
                                         "std::chrono::steady_clock::time_point now;\nqueue.open();\n"), [])

    def test_the_source_behind_an_included_header_counts(self):
        line, = self.complaints("policy/core", core_hpp=including("policy/a.hpp"), a_hpp="", a_cpp="#include <thread>")
        self.assertEqual(line, "policy/a.cpp:1: threads in a pure core "
                               "(policy/a.cpp <- policy/a.hpp <- policy/core.hpp)")

    def test_a_folder_is_all_that_lies_in_it(self):
        self.assertEqual(len(self.complaints("policy", a_hpp="std::mutex a;", b_hpp="std::mutex b;")), 2)

    def test_an_entry_that_names_nothing_is_refused(self):
        self.assertEqual(self.complaints("policy/gone", core_hpp=""),
                         ["scripts/pure-cores.txt: policy/gone is no folder and no unit of ours"])


class HeadersTest(unittest.TestCase):
    TEXTS = {"runtime/a.hpp": "", "runtime/b.hpp": including("runtime/a.hpp"),
             "sandbox/c.hpp": including("runtime/b.hpp"), "sandbox/d.hpp": "",
             "actors/e.hpp": including("runtime/a.hpp"), "runtime/a.cpp": including("runtime/a.hpp")}

    def test_what_includes_a_changed_header_is_looked_at_too(self):
        self.assertEqual(check_headers.headers_of(["runtime/a.hpp"], self.TEXTS),
                         ["runtime/a.hpp", "runtime/b.hpp", "sandbox/c.hpp"])

    def test_but_of_costly_folders_the_changed_ones_only(self):
        self.assertEqual(check_headers.headers_of(["actors/e.hpp"], self.TEXTS), ["actors/e.hpp"])
        self.assertEqual(check_headers.headers_of(["runtime/a.cpp"], self.TEXTS), [])


class ContractsTest(unittest.TestCase):
    HOMES = {"sandbox/contract/cpu/cpu.hpp": "", "sandbox/contract/host/host.hpp": ""}

    def refused(self, path, text):
        lines = list(check_contracts.complaints({**self.HOMES, path: text}))
        self.assertEqual(len(lines), 1, (path, text))
        self.assertTrue(lines[0].startswith(f"{path}:1: "), lines[0])

    def allowed(self, path, text):
        self.assertEqual(list(check_contracts.complaints({**self.HOMES, path: text})), [])

    def test_only_its_own_folder_includes_a_contract(self):
        self.allowed("sandbox/contract/cpu/build.cpp", including("sandbox/contract/cpu/cpu.hpp"))
        self.refused("sandbox/contract/cpu/build.cpp", including("sandbox/contract/host/host.hpp"))
        self.refused("sandbox/contract/registry.cpp", including("sandbox/contract/cpu/cpu.hpp"))
        self.refused("sandbox/judge/verdict_of.cpp", including("sandbox/contract/cpu/cpu.hpp"))

    def test_no_other_file_decides_by_a_contracts_name(self):
        self.refused("sandbox/evaluator/evaluator.cpp", 'if (verdict.contract == "host") return false;')
        self.refused("commands/check/check_call.cpp", 'const bool on_cpu = submission.contract != "cpu";')
        self.allowed("sandbox/contract/host/host.cpp", 'if (verdict.contract == "host") return false;')

    def test_a_default_passes(self):
        self.allowed("sandbox/workspace/tool_box.hpp", 'std::string contract = "cpu";')

    def test_the_same_word_for_another_thing_passes(self):
        self.allowed("sandbox/reference/worker.cpp", 'request["device"] = gpu ? "cuda" : "cpu";')


class ConfigKeysTest(unittest.TestCase):
    HEADER = ("struct SynthesisConfig {\n  int64_t count = 1;  // actors\n"
              "  std::vector<std::filesystem::path> tasks;\n"
              "  std::chrono::milliseconds wait{std::chrono::seconds{1}};\n};\n"
              "struct SandboxSettings {\n  int64_t output_bytes = 64 << 10;\n};\n")

    def unread(self, *sources):
        lines = check_config_keys.unread([("x.hpp", self.HEADER)], sources)
        return {line.split(" ")[-1] for line in lines}

    def test_every_field_of_a_struct_is_seen(self):
        self.assertEqual(self.unread(""), {"SynthesisConfig::count", "SynthesisConfig::tasks",
                                           "SynthesisConfig::wait", "SandboxSettings::output_bytes"})

    def test_a_field_is_read_by_its_component_or_beside_its_struct(self):
        self.assertEqual(self.unread("f(config.synthesis.count, job.settings.output_bytes);",
                                     "void g(const SynthesisConfig& s) { s.tasks; s.wait; }"), set())
        self.assertNotIn("SynthesisConfig::wait", self.unread("auto& s = c.synthesis; s.wait;"))

    def test_the_same_word_of_another_component_does_not_count(self):
        self.assertIn("SynthesisConfig::count", self.unread("f(config.rollout.count);"))
        self.assertIn("SynthesisConfig::count", self.unread("c.synthesis.tasks; c.rollout.count;"))


class CompileFlagsTest(unittest.TestCase):
    def test_output_cache_and_source_are_left_out(self):
        words = ("env A=1 ccache g++ -DX -I../../src -O2 -std=c++20 -MD -MT a.o -MF a.o.d "
                 "-o a.o -c /w/a.cpp").split()
        self.assertEqual(compile_flags.flags_of(words, "/w/build/dev"),
                         ["-DX", "-I/w/src", "-O2", "-std=c++20"])

    def nearest(self, header, **including):
        """Of four sources, some of which include a header."""
        sources = {"runtime/a.cpp": ["-DA"], "runtime/config/b.cpp": ["-DB"],
                   "runtime/config/c.cpp": ["-DC"], "policy/d.cpp": ["-DD"]}
        compile_flags.text_of.cache_clear()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for source in sources:
                os.makedirs(os.path.dirname(source), exist_ok=True)
                stem = os.path.basename(source)[0]
                with open(source, "w", encoding="utf-8") as file:
                    file.write(f'#include "{including.get(stem, "other.hpp")}"\n')
            return compile_flags.nearest(sources, header)

    def test_the_nearest_source_lends_its_flags(self):
        self.assertEqual(self.nearest("runtime/config/c.hpp"), ["-DC"])
        self.assertEqual(self.nearest("policy/x.hpp"), ["-DD"])

    def test_of_those_that_include_the_header(self):
        self.assertEqual(self.nearest("runtime/config/x.hpp", a="runtime/config/x.hpp"), ["-DA"])
        self.assertEqual(self.nearest("runtime/config/x.hpp", a="runtime/config/x.hpp", b="x.hpp"), ["-DB"])
        self.assertEqual(self.nearest("runtime/config/c.hpp", a="c.hpp"), ["-DC"])  # a header of its own folder


class TidyTest(unittest.TestCase):
    def tidy(self, script, patience):
        """What a clang-tidy of our own says of a source."""
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(check_tidy, "PATIENCE", patience, create=True):
            program = os.path.join(folder, "tidy")
            with open(program, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{script}\n")
            os.chmod(program, 0o755)
            return check_tidy.tidy((program, "a.cpp", [], time.monotonic() + 240))

    def test_findings_fail_a_source(self):
        self.assertEqual(self.tidy("echo found; exit 1", 240), ("a.cpp", 1, "found\n"))

    def test_one_that_hangs_fails_it_too(self):
        source, code, text = self.tidy("exec sleep 600", 0.2)
        self.assertEqual((source, text), ("a.cpp", "took longer than 0.2 s"))
        self.assertNotEqual(code, 0)


class SummaryTest(unittest.TestCase):
    def test_the_summary_holds_the_place_of_a_failure(self):
        output = "\n".join(["noise"] * 50 + ["a_test.cpp:7: Failure", "Expected: 1", "  Which is: 2"] + ["more"] * 50)
        found = test_summary.telling(output)
        self.assertEqual(found[:3], ["a_test.cpp:7: Failure", "Expected: 1", "  Which is: 2"])
        self.assertNotIn("noise", found)

    def test_else_the_end(self):
        self.assertEqual(test_summary.telling("\n".join(map(str, range(100))))[-1], "99")

    def test_the_summary_says_why_cases_were_skipped(self):
        output = ("[ RUN      ] A.b\na_test.cpp:47: Skipped\nno CUDA driver:\nlibcuda.so.1\n[  SKIPPED ] A.b (0 ms)\n"
                  "[ RUN      ] A.c\na_test.cpp:50: Skipped\n[  SKIPPED ] A.c (0 ms)\n"
                  "test_d (a.B.test_d)\nOf a GPU. ... skipped 'no GPU'\nskipped: no WARPSMITH_PYTHON\n"
                  "[  SKIPPED ] 2 tests, listed below:\nOK (skipped=1)\n")
        self.assertEqual(test_summary.reasons(output),
                         ["no CUDA driver: libcuda.so.1", "no reason given", "no GPU", "no WARPSMITH_PYTHON"])

    def test_a_program_gives_the_times_of_its_cases_and_of_the_rest(self):
        output = ("[       OK ] A.b (1500 ms)\n[  FAILED  ] A.c, where GetParam() = 1 (250 ms)\n"
                  "[----------] 2 tests from A (1750 ms total)\n")
        self.assertEqual(test_summary.durations("a_test", 2.0, output),
                         [(1.5, "a_test: A.b"), (0.25, "a_test: A.c"), (0.25, "a_test: outside of cases")])

    def test_else_a_test_is_one_time(self):
        self.assertEqual(test_summary.durations("A.b", 0.5, "[       OK ] A.b (400 ms)\n"), [(0.5, "A.b")])
        self.assertEqual(test_summary.durations("scripts", 0.5, "OK\n"), [(0.5, "scripts")])

    def test_what_is_long_is_cut(self):
        self.assertEqual(len(test_summary.telling("x: Failure\n" * 1000)), test_summary.MOST_LINES)


if __name__ == "__main__":
    unittest.main()
