# SPDX-License-Identifier: Apache-2.0
"""Runs the launcher in a copy of its files, with stand-ins for apt, cmake, ninja and python.

Each stand-in writes one line into calls.log, so that a test sees what a launch did and did not do.
"""

import os
import shutil
import stat
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

FAKES = {
    "dpkg-query": 'for p in $(cat "$FAKE/installed"); do echo "ii  $p"; done',
    # Installs everything, in FAKE_APT_SECONDS.
    "apt-get": 'echo "apt-get $*" >> "$FAKE/calls.log"; sleep ${FAKE_APT_SECONDS:-0}\n'
               'case "$*" in *" install "*) cp "$FAKE/wanted" "$FAKE/installed";; esac',
    "ctest": 'while [ $# -gt 0 ]; do [ "$1" != --output-junit ] || file=$2; shift; done\n'
             'echo "<testsuite tests=\\"${FAKE_TESTS:-0}\\" failures=\\"0\\" skipped=\\"0\\" disabled=\\"0\\"/>"'
             ' > "$file"',
    "sudo": 'exit 1',
    "id": 'cat "$FAKE/uid"',
    "cmake": 'echo "cmake $*" >> "$FAKE/calls.log"\n'
             '[ ! -e "$FAKE/misconfigured" ] || { touch build/dev/CMakeCache.txt; exit 1; }\n'
             'mkdir -p build/dev; touch build/dev/build.ninja\n'
             'for a in "$@"; do case $a in -DWARPSMITH_PYTHON=*)\n'
             '  echo "WARPSMITH_PYTHON:FILEPATH=${a#*=}" > build/dev/CMakeCache.txt;; esac; done',
    "ninja": 'echo "ninja $*" >> "$FAKE/calls.log"\n'
             '[ ! -e "$FAKE/broken" ] || exit 1\n'
             'mkdir -p build/dev/commands\n'
             'printf \'#!/bin/sh\\necho "ran $* home=$WARPSMITH_HOME python=$WARPSMITH_PYTHON '
             'spin=$GOMP_SPINCOUNT"\\n'
             'exit ${FAKE_EXIT:-0}\\n\' > build/dev/commands/warpsmith\n'
             'chmod +x build/dev/commands/warpsmith',
}
# Replaces Debian's python3 and, copied into the environment, the environment's own.
PYTHON = r'''#!/bin/sh
case "$*" in
  "-m venv "*) echo venv >> "$FAKE/calls.log"; mkdir -p "$3/bin"; cp "$0" "$3/bin/python"
    printf '#!%s/bin/python\n' "$3" > "$3/bin/tool" ;;
  "-m pip "*) echo pip >> "$FAKE/calls.log"; sleep ${FAKE_PIP_SECONDS:-0}; [ ! -e "$FAKE/no-network" ] ;;
  "- "* | */test_summary.py\ *) exec /usr/bin/python3 "$@" ;;
  "-c import torch") [ -e "$FAKE/has-torch" ] ;;
  "-c import importlib"*) echo "torch True" ;;
esac
'''


def write(path, text, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if executable:
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class LauncherTest(unittest.TestCase):
    def setUp(self):
        self.fake = tempfile.mkdtemp(prefix="launcher-test-")
        self.addCleanup(shutil.rmtree, self.fake)
        self.tree = os.path.join(self.fake, "tree")
        shutil.copytree(os.path.join(ROOT, "scripts"), os.path.join(self.tree, "scripts"))
        shutil.copy(os.path.join(ROOT, "warpsmith"), self.tree)
        for folder in ("cmake", "runtime", "policy", "sandbox", "synthesis", "actors", "commands", "tests"):
            os.makedirs(os.path.join(self.tree, folder))
        for name in ("CMakeLists.txt", "CMakePresets.json", "runtime/a.cpp"):
            write(os.path.join(self.tree, name), "")
        for name, body in FAKES.items():
            write(os.path.join(self.fake, "bin", name), "#!/bin/sh\n" + body + "\n", True)
        self.base_python = os.path.join(self.fake, "bin", "python3")
        write(self.base_python, PYTHON, True)
        self.put("uid", "0")
        self.put("wanted", " ".join(self.wanted()))
        self.put("installed", " ".join(self.wanted()))
        self.age_sources()

    def put(self, name, text=""):
        write(os.path.join(self.fake, name), text)

    def wanted(self):
        lines = read(os.path.join(self.tree, "scripts/debian-packages.txt")).split("\n")
        return [line for line in lines if line and not line.startswith("#")]

    def age_sources(self):
        """Makes the sources older than any mark that a launch will write."""
        past = time.time() - 100
        for folder, names, files in os.walk(self.tree):
            for name in [*names, *files, "."]:
                os.utime(os.path.join(folder, name), (past, past), follow_symlinks=False)

    def command(self, *arguments, **variables):
        environment = {
            "PATH": os.path.join(self.fake, "bin") + ":/usr/bin:/bin",
            "HOME": self.fake,
            "FAKE": self.fake,
            "WARPSMITH_BASE_PYTHON": self.base_python,
            **variables,
        }
        return subprocess.Popen([os.path.join(self.tree, "warpsmith"), *arguments],
                                env=environment, text=True, cwd=self.fake,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def launch(self, *arguments, **variables):
        process = self.command(*arguments, **variables)
        out, err = process.communicate(timeout=240)
        return process.returncode, out, err

    def calls(self):
        return read(os.path.join(self.fake, "calls.log")).split("\n")[:-1]

    def environments(self):
        cache = os.path.join(self.fake, ".cache/warpsmith")
        if not os.path.isdir(cache):
            return []
        return [name for name in os.listdir(cache) if name.startswith("python-")]

    def test_help_works_before_anything_is_built(self):
        code, out, _ = self.launch("--help")
        self.assertEqual(code, 0)
        self.assertIn("train CONFIG", out)
        self.assertEqual(self.calls(), [])

    def test_no_command_shows_the_help_and_is_bad_input(self):
        code, out, _ = self.launch()
        self.assertEqual(code, 2)
        self.assertIn("Usage:", out)

    def test_first_launch_prepares_builds_and_runs(self):
        code, out, err = self.launch("doctor", "--json")
        self.assertEqual(code, 0, err)
        self.assertTrue(out.startswith(f"ran doctor --json home={self.tree} python={self.fake}"))
        self.assertEqual([call.split()[0] for call in self.calls()], ["venv", "pip", "cmake", "ninja"])

    def test_second_launch_does_nothing_but_run(self):
        self.launch("doctor")
        before = self.calls()
        code, out, _ = self.launch("doctor")
        self.assertEqual((code, out[:10]), (0, "ran doctor"))
        self.assertEqual(self.calls(), before)

    def test_a_changed_source_is_built_again(self):
        self.launch("doctor")
        before = len(self.calls())
        write(os.path.join(self.tree, "runtime/a.cpp"), "int a;")
        self.launch("doctor")
        self.assertEqual([call.split()[0] for call in self.calls()[before:]], ["ninja"])

    def test_a_removed_source_is_built_again(self):
        self.launch("doctor")
        before = len(self.calls())
        os.remove(os.path.join(self.tree, "runtime/a.cpp"))
        self.launch("doctor")
        self.assertEqual([call.split()[0] for call in self.calls()[before:]], ["ninja"])

    def test_a_failed_build_is_reported_and_tried_again(self):
        self.put("broken")
        code, out, err = self.launch("doctor")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("the build failed", err)
        os.remove(os.path.join(self.fake, "broken"))
        self.assertEqual(self.launch("doctor")[0], 0)

    def test_python_runs_a_script_without_a_build(self):
        script = os.path.join(self.fake, "script.py")
        write(script, "print('here')\n")
        code, _, err = self.launch("python", script)
        self.assertEqual(code, 0, err)
        self.assertIn("pip", self.calls())
        self.assertFalse([call for call in self.calls() if call.startswith(("cmake", "ninja"))])

    def test_the_launcher_ends_with_the_programs_exit_code(self):
        self.assertEqual(self.launch("check", "x", FAKE_EXIT="1")[0], 1)

    def test_a_folder_or_file_that_cannot_be_made_is_infrastructure(self):
        for blocked in ("tree/build", ".cache", "tree/build/dev.lock/x", ".cache/warpsmith/python.lock/x"):
            with self.subTest(blocked):
                for leftover in ("tree/build", ".cache"):
                    path = os.path.join(self.fake, leftover)
                    shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
                write(os.path.join(self.fake, blocked), "")
                code, out, err = self.launch("check", "x")
                self.assertEqual((code, out), (3, ""), err)
                self.assertIn(os.path.dirname(blocked) if blocked.endswith("/x") else blocked, err)

    def test_missing_packages_are_installed_by_root(self):
        self.put("installed", " ".join(p for p in self.wanted() if p not in ("mold", "libcaf-dev")))
        self.assertEqual(self.launch("doctor")[0], 0)
        installs = [call for call in self.calls() if " install " in call]
        self.assertEqual(len(installs), 1)
        self.assertTrue(installs[0].endswith("--no-install-recommends libcaf-dev mold"), installs)

    def test_without_root_rights_it_prints_the_install_command_and_does_nothing(self):
        self.put("uid", "1000")
        self.put("installed", " ".join(p for p in self.wanted() if p != "mold"))
        code, _, err = self.launch("doctor")
        self.assertEqual(code, 3)
        self.assertIn("apt-get install -y --no-install-recommends mold\n", err)
        self.assertEqual(self.calls(), [])

    def test_two_launches_at_once_make_one_environment_and_one_build(self):
        both = [self.command("doctor", FAKE_PIP_SECONDS="1") for _ in range(2)]
        for process in both:
            out, err = process.communicate(timeout=240)
            self.assertEqual((process.returncode, out[:10]), (0, "ran doctor"), err)
        names = [call.split()[0] for call in self.calls()]
        self.assertEqual(names, ["venv", "pip", "cmake", "ninja"])

    def test_two_first_launches_at_once_install_packages_once(self):
        self.put("installed", " ".join(p for p in self.wanted() if p != "mold"))
        both = [self.command("doctor", FAKE_APT_SECONDS="0.5") for _ in range(2)]
        for process in both:
            _, err = process.communicate(timeout=240)
            self.assertEqual(process.returncode, 0, err)
        self.assertEqual(len([call for call in self.calls() if " install " in call]), 1)

    def test_a_failed_configuration_is_tried_again(self):
        self.launch("doctor")
        other = os.path.join(self.fake, "other/bin/python")
        write(other, PYTHON, True)
        self.put("misconfigured")
        # cmake stores the new interpreter in its cache even if it fails afterwards.
        cache = os.path.join(self.tree, "build/dev/CMakeCache.txt")
        self.assertEqual(self.launch("doctor", WARPSMITH_PYTHON=other)[0], 3)
        write(cache, f"WARPSMITH_PYTHON:FILEPATH={other}\n")
        os.remove(os.path.join(self.fake, "misconfigured"))
        before = len(self.calls())
        self.assertEqual(self.launch("doctor", WARPSMITH_PYTHON=other)[0], 0)
        self.assertIn("cmake", [call.split()[0] for call in self.calls()[before:]])

    def test_openmp_threads_that_wait_sleep_soon_unless_the_user_says_otherwise(self):
        self.assertIn("spin=3000\n", self.launch("doctor")[1])
        self.assertIn("spin=7\n", self.launch("doctor", GOMP_SPINCOUNT="7")[1])
        self.assertIn("spin=\n", self.launch("doctor", OMP_WAIT_POLICY="active")[1])

    def test_a_filter_that_matches_no_test_fails(self):
        code, out, err = self.launch("test", "--no-checks", "-R", "typo")
        self.assertEqual((code, out.splitlines()[-1]), (1, "0 passed, 0 failed, 0 skipped"))
        self.assertIn("no test ran", err)
        self.assertEqual(self.launch("test", "--no-checks", "-R", "name", FAKE_TESTS="1")[0], 0)

    def test_each_part_prints_its_time(self):
        _, out, _ = self.launch("test", "--no-checks", FAKE_TESTS="1")
        lines = out.splitlines()
        parts = [line.split(" s  ")[1] for line in lines[lines.index("the parts:") + 1:-1]]
        self.assertEqual(parts, ["set-up", "configure dev", "build dev", "tests: unit", "tests: untimed", "tests: rest",
                                 "configure asan", "build asan", "tests: asan", "all"])

    def test_a_missing_expression_and_an_unknown_preset_are_bad_input(self):
        code, _, err = self.launch("test", "-R")
        self.assertEqual((code, err), (2, "warpsmith: -R takes a regular expression\n"))
        code, _, err = self.launch("doctor", WARPSMITH_PRESET="fast")
        self.assertEqual((code, err), (2, "warpsmith: WARPSMITH_PRESET=fast: expected dev, asan or release\n"))
        self.assertFalse(os.path.exists(os.path.join(self.tree, "build")))

    def test_an_interpreter_without_torch_or_invalid_jobs_are_bad_input(self):
        bare = os.path.join(self.fake, "bare")
        write(bare, "#!/bin/sh\necho torch False\n", True)
        for program in ("/bin/true", bare):
            code, _, err = self.launch("doctor", WARPSMITH_PYTHON=program)
            self.assertEqual(code, 2)
            expected = f"WARPSMITH_PYTHON={program}: expected a Python interpreter that has torch"
            self.assertEqual(err, f"warpsmith: {expected}\n")
        for jobs in ("x", "0", "-1"):
            code, _, err = self.launch("doctor", WARPSMITH_JOBS=jobs)
            self.assertEqual((code, err), (2, f"warpsmith: WARPSMITH_JOBS={jobs}: expected a number from 1 to 9999\n"))
        self.assertEqual(self.calls(), [])

    def test_a_command_after_a_full_build_builds_nothing(self):
        self.launch("build")
        before = self.calls()
        self.assertEqual(self.launch("doctor")[2], "")
        self.assertEqual(self.calls(), before)

    def test_help_of_the_scripts_does_nothing_else(self):
        for name in ("acceptance", "check", "offline-bundle", "portable"):
            for word, code in (("--help", 0), ("-h", 0), ("--no-such", 2)):
                ended = subprocess.run([os.path.join(self.tree, "scripts", name), word], capture_output=True, text=True,
                                       cwd=self.fake, timeout=240)
                self.assertEqual(ended.returncode, code, (name, word, ended.stderr))
                self.assertIn("scripts/" + name if code == 0 else "", ended.stdout)
        self.assertEqual(os.listdir(os.path.join(self.tree, "tests")), [])

    def test_acceptance_names_a_folder_of_tasks_that_is_missing(self):
        out = os.path.join(self.fake, "out")
        ended = subprocess.run([os.path.join(self.tree, "scripts/acceptance"), out], capture_output=True, text=True,
                               env={**os.environ, "KERNELBENCH": "/no/such"}, timeout=240)
        self.assertEqual((ended.returncode, ended.stderr), (2, "warpsmith: KERNELBENCH=/no/such: no such folder\n"))
        self.assertFalse(os.path.exists(out))

    def test_an_environment_that_failed_half_way_is_not_used(self):
        self.put("no-network")
        code, _, err = self.launch("doctor")
        self.assertEqual(code, 3)
        self.assertIn("failed:", err)
        self.assertEqual([name for name in self.environments() if "unfinished" not in name], [])
        os.remove(os.path.join(self.fake, "no-network"))
        self.assertEqual(self.launch("doctor")[0], 0)
        self.assertEqual(len(self.environments()), 1)

    def test_scripts_of_the_environment_name_its_final_folder(self):
        self.launch("doctor")
        folder = os.path.join(self.fake, ".cache/warpsmith", self.environments()[0])
        self.assertEqual(read(os.path.join(folder, "bin/tool")), f"#!{folder}/bin/python\n")

    def test_another_lock_file_makes_another_environment(self):
        self.launch("doctor")
        with open(os.path.join(self.tree, "scripts/requirements.lock"), "a", encoding="utf-8") as file:
            file.write("# changed\n")
        self.launch("doctor")
        self.assertEqual(len(self.environments()), 2)
        self.assertEqual([call.split()[0] for call in self.calls()].count("cmake"), 2)

    def test_offline_uses_neither_apt_nor_pip(self):
        self.put("has-torch")
        bundle = os.path.join(self.fake, "bundle")
        os.makedirs(os.path.join(bundle, "usr/include"))
        code, out, err = self.launch("--offline", bundle, "doctor")
        self.assertEqual(code, 0, err)
        self.assertIn(f"python={self.base_python}", out)
        self.assertEqual([call.split()[0] for call in self.calls()], ["cmake", "ninja"])

    def test_offline_without_a_bundle_or_torch_is_refused(self):
        self.assertEqual(self.launch("--offline")[0], 2)
        self.assertEqual(self.launch("--offline", "/no/such", "doctor")[0], 2)
        bundle = os.path.join(self.fake, "bundle")
        os.makedirs(os.path.join(bundle, "usr/include"))
        code, _, err = self.launch("--offline", bundle, "doctor")
        self.assertEqual(code, 3)
        self.assertIn("has no torch", err)

    def test_clean_removes_the_build_only(self):
        self.launch("doctor")
        self.launch("clean")
        self.assertFalse(os.path.exists(os.path.join(self.tree, "build")))
        self.assertEqual(len(self.environments()), 1)

    def test_clean_and_build_do_nothing_for_help_or_unknown_options(self):
        self.launch("doctor")
        self.assertEqual(self.launch("clean", "--help")[0], 0)
        for words in (("clean", "--pyton"), ("clean", "--python", "all"), ("build", "--everything")):
            code, _, err = self.launch(*words)
            self.assertEqual(code, 2)
            self.assertIn(words[-1], err)
        self.assertTrue(os.path.exists(os.path.join(self.tree, "build")))

    def test_unknown_options_of_test_are_refused(self):
        code, _, err = self.launch("test", "--everything")
        self.assertEqual(code, 2)
        self.assertIn("--everything", err)


if __name__ == "__main__":
    unittest.main()
