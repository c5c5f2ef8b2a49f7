# SPDX-License-Identifier: Apache-2.0
# The sum of ctest's result files, and of each test that failed what it said: test_summary.py RESULTS.xml…
import os
import re
import sys
import xml.etree.ElementTree as tree

MOST_LINES = 40  # of one test
_FAILURE = re.compile(r": Failure$|^FAIL: |^ERROR: |AddressSanitizer|runtime error:|terminate called")
_FOLLOWING = 8  # lines after the place of a failure
_LAST = 15  # lines of a test that names no place


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


def main(names):
    passed = failed = skipped = 0
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
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if passed + failed + skipped == 0:
        sys.exit("warpsmith: no test ran; does the name that -R asks for exist?")


if __name__ == "__main__":
    main(sys.argv[1:])
