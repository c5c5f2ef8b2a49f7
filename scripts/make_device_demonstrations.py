#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes demonstrations of contract device (kernels.cu and plan.toml) for the training tasks over rows, as JSON
# lines: {"task_id", "messages": [{"role", "content", "train"}]}. The same seed writes the same bytes.
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from demonstrations.arguments import demonstration_parser  # noqa: E402
from demonstrations.task_file import read_folder  # noqa: E402
from device_kernels.composed import composed  # noqa: E402
from device_kernels.lessons import RIGHT_SHARE, Kernels, Lessons  # noqa: E402


def lessons_for(tasks, apart, seed, **shares):
    """Each task has its own random stream, so adding a task changes no other."""
    taken = {frozenset(task.statements) for task in apart}
    lessons = []
    for task in tasks:
        if frozenset(task.statements) in taken:
            sys.exit(f"{task.id} is held out")
        try:
            lessons.append(Lessons(task, random.Random(f"{seed}/{task.id}"), **shares))
        except ValueError as error:
            print(f"skips {task.id}: {error}", file=sys.stderr)
    return lessons


def main():
    parser = demonstration_parser(__doc__, 8000, "JSONL file")
    parser.add_argument("--right", type=float, default=RIGHT_SHARE, help="share of correct submissions, 0 to 1")
    parser.add_argument("--answers", type=float, default=0.0, help="share of single answers with both files, 0 to 1")
    parser.add_argument("--composed", type=int, default=0,
                        help="further tasks, composed of the tasks' statements; most conversations are about them")
    args = parser.parse_args()
    for name in ("right", "answers"):
        if not 0 <= getattr(args, name) <= 1:
            parser.error(f"--{name}: expected 0 to 1, got {getattr(args, name)}")
    if args.composed < 0:
        parser.error(f"--composed: expected 0 or more, got {args.composed}")
    apart = [task for folder in args.apart_from for task in read_folder(folder)]
    tasks = [task for folder in args.tasks for task in read_folder(folder)]
    rng = random.Random(f"{args.seed}/composed")
    try:
        more = [Kernels(task) for task in composed(tasks, apart, rng, args.composed)]
    except ValueError as error:
        parser.error(f"--composed {args.composed}: {error}")
    lessons = lessons_for(tasks, apart, args.seed, right=args.right, answers=args.answers, composed=more)
    if not lessons:
        sys.exit(f"found no task over rows in {', '.join(args.tasks)}")
    with open(args.out, "w", encoding="utf-8") as out:
        for number in range(args.count):
            out.write(json.dumps(lessons[number % len(lessons)].draw()) + "\n")


if __name__ == "__main__":
    main()
