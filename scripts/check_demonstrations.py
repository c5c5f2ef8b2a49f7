#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Compiles every variant of every task's kernel. Correct ones must pass, wrong ones must fail, and broken
# ones must not compile. --times also prints the reward of each style on one thread.
import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import torch  # noqa: E402

from demonstrations.bench import Bench, Case, milestone  # noqa: E402
from demonstrations.faults import UNCOMPILABLE, mistakes_of, with_mistake  # noqa: E402
from demonstrations.kernel import STYLES, write_kernel  # noqa: E402
from demonstrations.task_file import load_module, module_of, read_folder  # noqa: E402
from demonstrations.variants import variants_of  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--tasks", nargs="+", required=True, help="folders of task files")
    parser.add_argument("--times", action="store_true", help="time, compared with eager and torch.compile")
    parser.add_argument("--times-only", action="store_true", help="time only; check nothing")
    parser.add_argument("--cold-outputs", action="store_true", help="rotate outputs as well")
    parser.add_argument("--variants", action="store_true", help="also check the tasks' variants")
    parser.add_argument("--json", default="", help="file for the rewards per task and style")
    parser.add_argument("--only", default="", help="one task id")
    return parser.parse_args()


def check_right(bench, case, styles, failures):
    for style in styles:
        solve = bench.compile(write_kernel(case.task, style))
        if isinstance(solve, str):
            failures.append(f"{case.task.id} {style.name}: does not compile: {solve[:300]}")
        elif not case.worst_error(solve) <= 1:
            failures.append(f"{case.task.id} {style.name}: wrong by {case.worst_error(solve):.3g}")


def check_variants(bench, task, failures):
    """Kernels of the task's variants, at the task's own sizes."""
    for made in variants_of(task):
        names = [b.name for b in made.inputs]
        case = Case(made, module_of(made.class_text, task, names))
        check_right(bench, case, [STYLES["passes"], STYLES["ahead4"]], failures)


def check_wrong(bench, case, failures):
    for number, mistake in enumerate(mistakes_of(case.task)):
        solve = bench.compile(with_mistake(case.task, STYLES["simd"], mistake))
        if isinstance(solve, str):
            failures.append(f"{case.task.id} mistake {number}: does not compile: {solve[:300]}")
        elif case.worst_error(solve) <= 1:
            failures.append(f"{case.task.id} mistake {number} ({mistake}): passes")


def check_broken(bench, case, failures):
    source = write_kernel(case.task, STYLES["rows"])
    for make in UNCOMPILABLE:
        lines, message = make(source, random.Random(1))
        got = bench.compile("\n".join(lines) + "\n")
        if not isinstance(got, str):
            failures.append(f"{case.task.id} {make.__name__}: compiles")
        elif f":{message}" not in got.replace("‘", "'").replace("’", "'"):
            failures.append(f"{case.task.id} {make.__name__}: said {got[:200]}, expected {message}")


def times_row(bench, case, styles):
    cells, rewards = [], {}
    for style in styles:
        kernel, eager, compiled = case.times(bench.compile(write_kernel(case.task, style)))
        rewards[style.name] = milestone(kernel, eager, compiled)
        cells.append(f"{style.name} {kernel:.2f} ({rewards[style.name]})")
    print(f"{case.task.id:26s} eager {eager:.2f} compile {compiled:.2f} | {'  '.join(cells)}", flush=True)
    return rewards


def print_means(rows):
    for name in rows[0]:
        print(f"mean reward of {name}: {sum(r[name] for r in rows) / len(rows):.2f}")
    print(f"mean of the best style per task: {sum(max(r.values()) for r in rows) / len(rows):.2f}")


def main():
    args = arguments()
    torch.set_num_threads(1)
    styles = [s for s in STYLES.values() if s.name != "sketch"]
    failures, rows = [], {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        tasks = [t for f in args.tasks for t in read_folder(f) if args.only in ("", t.id)]
        for task in tasks:
            case = Case(task, load_module(task.path), cold_outputs=args.cold_outputs)
            if not args.times_only:
                check_right(bench, case, styles, failures)
                check_wrong(bench, case, failures)
                check_broken(bench, case, failures)
            if args.variants:
                check_variants(bench, task, failures)
            if args.times or args.times_only:
                rows[task.id] = times_row(bench, case, styles)
    if rows:
        print_means(list(rows.values()))
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    done = f"{len(tasks)} tasks: every variant is right, wrong or broken as intended"
    print("\n".join(failures) if failures else done)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
