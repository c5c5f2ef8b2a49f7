# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on sources: python3 check_tidy.py CLANG_TIDY BUILD JOBS SECONDS SOURCE…

Starts no new file after SECONDS and names the files that it skipped. Exits with 1 when a file has findings or
takes longer than PATIENCE.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import compile_flags

# GCC flags that clang does not know.
GCC_ONLY = ("-fno-trapping-math",)
# libstdc++ 12 uses functions that it deprecates, which clang reports at our call.
QUIET = ("-Wno-unknown-warning-option", "-Wno-deprecated-declarations")
PATIENCE = 900  # seconds for one file or unit; the slowest takes a tenth of it


def tidy(job):
    program, source, flags, deadline = job
    checks = "--checks=-bugprone-suspicious-include"  # a unit includes sources
    if "tests" in os.path.relpath(source).split(os.sep):
        checks += ",-performance-*"  # tests need not be fast
    if time.monotonic() > deadline:
        return source, None, ""
    try:
        done = subprocess.run([program, "--quiet", checks, source, "--", *flags], capture_output=True, text=True,
                              timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return source, 1, f"took longer than {PATIENCE} s"
    return source, done.returncode, done.stdout + ("" if done.stdout else done.stderr)


def main():
    program, build, jobs, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    deadline = time.monotonic() + seconds
    wanted = set(sys.argv[5:])  # one that is not part of this build, like one of the two CUDA variants, is in no unit
    work = []
    for unit, sources, flags in compile_flags.units(build):
        flags = [flag for flag in flags if not flag.startswith(GCC_ONLY)]
        # A whole unit parses its headers once.
        files = [unit] if wanted.issuperset(sources) else sorted(wanted.intersection(sources))
        work += [(program, file, [*flags, *QUIET], deadline) for file in files]
    failed, left_out = 0, []
    with ThreadPoolExecutor(jobs) as pool:
        for source, code, text in pool.map(tidy, work):
            if code is None:
                left_out.append(source)
            elif code != 0:
                failed += 1
                print(f"{source}:\n{text}")
    if left_out:
        print(f"not looked at within {seconds:.0f} s: {' '.join(left_out)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
