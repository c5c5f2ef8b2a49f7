# SPDX-License-Identifier: Apache-2.0
# The sum of ctest's result files, of each test that failed what it said, and why cases were skipped, those within a
# program that passed too: test_summary.py RESULTS.xml…
import collections
import os
import re
import sys
import xml.etree.ElementTree as tree

MOST_LINES = 40  # of one test
_FAILURE = re.compile(r": Failure$|^FAIL: |^ERROR: |AddressSanitizer|runtime error:|terminate called")
_FOLLOWING = 8  # lines after the place of a failure
_LAST = 15  # lines of a test that names no place
# As GoogleTest, unittest and tests/…/CMakeLists.txt say it.
_SKIP = re.compile(r": Skipped\n((?:(?!\[).+\n)*)|\.\.\. skipped (['\"].*)|^skipped: (.*)", re.MULTILINE)


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


def main(names):
    passed = failed = skipped = 0
    why = collections.Counter()
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
            why.update(reasons(case.findtext("system-out") or ""))
    for reason, count in why.most_common():
        print(f"skipped {count}: {reason}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if passed + failed + skipped == 0:
        sys.exit("warpsmith: no test ran; does the name that -R asks for exist?")


if __name__ == "__main__":
    main(sys.argv[1:])
