#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes demonstrations for training tasks as JSON lines: {"task_id", "messages": [{"role",
# "content", "train"}]}. The same seed writes the same bytes. `--prompts DIR` writes prompts instead.
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from demonstrations.arguments import demonstration_parser  # noqa: E402
from demonstrations.heads import headed  # noqa: E402
from demonstrations.mixture import Mixture  # noqa: E402
from demonstrations.task_file import read_folder  # noqa: E402
from demonstrations.variants import recombinations  # noqa: E402


def arguments():
    parser = demonstration_parser(__doc__, 32000, "JSONL file, or with --prompts a folder")
    parser.add_argument("--own-statements-only", action="store_true", help="no chains across tasks")
    parser.add_argument(
        "--answers", type=float, default=0.0, help="share of conversations with one answer that contains the files"
    )
    parser.add_argument("--prompts", action="store_true", help="write each task's prompt as a text file")
    return parser.parse_args()


def write_prompts(tasks, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        (folder / f"{task.id}.txt").write_text(task.prompt(), encoding="utf-8")


def write_conversations(tasks, apart, args):
    """Tasks take turns. Each has its own random stream, so adding a task changes no other."""
    plain = [] if args.own_statements_only else recombinations(tasks, apart)
    known = sorted({s for t in tasks for s in t.statements})
    mixtures = []
    for task in tasks:
        more = [] if args.own_statements_only else headed(task, known, apart) or plain
        mixtures.append(Mixture(task, random.Random(f"{args.seed}/{task.id}"), more, args.answers))
    with open(args.out, "w", encoding="utf-8") as out:
        for number in range(args.count):
            out.write(json.dumps(mixtures[number % len(tasks)].draw()) + "\n")


def main():
    args = arguments()
    tasks = [task for folder in args.tasks for task in read_folder(folder)]
    apart = [task for folder in args.apart_from for task in read_folder(folder)]
    if not tasks:
        sys.exit(f"no task files in {', '.join(args.tasks)}")
    if args.prompts:
        write_prompts(tasks, Path(args.out))
    else:
        write_conversations(tasks, apart, args)


if __name__ == "__main__":
    main()
