# SPDX-License-Identifier: Apache-2.0
"""The end of ./warpsmith test: test_summary.py TIMES RESULTS.xml…

Prints what each failed test said, why cases were skipped, the slowest cases, the time of each part (TIMES contains a
line `SECONDS NAME` for each) and the sum of ctest's result files.
"""
import collections
import os
import re
import sys
import xml.etree.ElementTree as tree

MOST_LINES = 40  # of one test
SLOWEST = 15
_FAILURE = re.compile(r": Failure$|^FAIL: |^ERROR: |AddressSanitizer|runtime error:|terminate called")
_FOLLOWING = 8  # lines after the place of a failure
_LAST = 15  # lines of a test that names no place
# As GoogleTest, unittest and tests/…/CMakeLists.txt print it.
_SKIP = re.compile(r": Skipped\n((?:(?!\[).+\n)*)|\.\.\. skipped (['\"].*)|^skipped: (.*)", re.MULTILINE)
_CASE = re.compile(r"^\[ +(?:OK|FAILED) +\] (\S+?)(?:, where .*)? \((\d+) ms\)$", re.MULTILINE)


def telling(output):
    """The lines of a failed test that say why."""
    lines = output.strip().splitlines()
    told = sorted({n for at, line in enumerate(lines) if _FAILURE.search(line)
                   for n in range(at, min(at + _FOLLOWING, len(lines)))})
    return [lines[n] for n in told][:MOST_LINES] or lines[-_LAST:]


def failures(suite):
    for case in suite.iter("testcase"):
        if case.find("failure") is not None:
            yield case.get("name"), telling(case.findtext("system-out") or "")


def reasons(output):
    """Why cases were skipped, each in one line."""
    return [" ".join("".join(found).split()).strip("'\"") or "no reason given" for found in _SKIP.findall(output)]


def durations(name, seconds, output):
    """(seconds, name) of a test, or of its cases and of the rest if a program has several."""
    cases = [(int(ms) / 1000, f"{name}: {case}") for case, ms in _CASE.findall(output)]
    if len(cases) < 2:
        return [(seconds, name)]
    return [*cases, (seconds - sum(time for time, _ in cases), f"{name}: outside of cases")]


def print_times(title, rows):
    """Rows are (seconds, name)."""
    if rows:
        print(title, *(f"{seconds:8.1f} s  {name}" for seconds, name in rows), sep="\n")


def parts(path):
    with open(path, encoding="utf-8") as file:
        return [(float(seconds), name) for seconds, name in (line.strip().split(" ", 1) for line in file)]


def main(times, names):
    passed = failed = skipped = 0
    why, slow = collections.Counter(), []
    for name in names:
        if not os.path.exists(name):
            failed += 1
            print(f"no results in {name}: the tests did not start")
            continue
        suite = tree.parse(name).getroot()
        bad, left = int(suite.get("failures")), int(suite.get("skipped")) + int(suite.get("disabled"))
        failed, skipped = failed + bad, skipped + left
        passed += int(suite.get("tests")) - bad - left
        for test, lines in failures(suite):
            print(f"--- {test} failed:", *lines, sep="\n    ")
        for case in suite.iter("testcase"):
            output = case.findtext("system-out") or ""
            why.update(reasons(output))
            slow += durations(case.get("name"), float(case.get("time")), output)
    for reason, count in why.most_common():
        print(f"skipped {count}: {reason}")
    print_times(f"the slowest {SLOWEST} tests:", sorted(slow, reverse=True)[:SLOWEST])
    print_times("the parts:", parts(times))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if passed + failed + skipped == 0:
        sys.exit("warpsmith: no test ran; does the name that -R asks for exist?")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
