# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone: python3 check_headers.py BUILD JOBS HEADER…"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import compile_flags


def compile_alone(job):
    header, flags = job
    done = subprocess.run(
        ["g++", *flags, "-fsyntax-only", "-x", "c++", "-"],
        input=f'#include "{header}"\n', capture_output=True, text=True, timeout=300)
    return header, done.returncode, done.stderr


def main():
    build, jobs, headers = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
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
