# SPDX-License-Identifier: Apache-2.0
"""Headers compile alone: python3 check_headers.py BUILD JOBS CHANGED…, from the checkout's root.

Checks the changed headers and, in CHEAP folders, those that include a changed file: no other can be broken.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import compile_flags
import source_tree

CHEAP = ("runtime/", "sandbox/", "synthesis/")  # half a second for a header; 10 s where CAF or ATen is included


def compile_alone(job):
    header, flags = job
    done = subprocess.run(
        ["g++", *flags, "-fsyntax-only", "-x", "c++", "-"],
        input=f'#include "{header}"\n', capture_output=True, text=True, timeout=300)
    return header, done.returncode, done.stderr


def headers_of(changed, texts):
    return sorted(path for path in source_tree.dependents(changed, texts)
                  if path in texts and path.endswith(".hpp") and (path in changed or path.startswith(CHEAP)))


def main():
    build, jobs, changed = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    headers = headers_of(changed, source_tree.read_sources())
    commands = compile_flags.load(build)
    work = [(header, compile_flags.nearest(commands, header)) for header in headers]
    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for header, code, errors in pool.map(compile_alone, work):
            if code != 0:
                failed += 1
                print(f"{header} does not compile alone:\n{errors}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
