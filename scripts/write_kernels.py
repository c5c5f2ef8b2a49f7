#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes right kernels for every task of some folders, one file per style: OUTPUT/TASK_ID/STYLE.cpp.
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from demonstrations.kernel import STYLES, write_kernel  # noqa: E402
from demonstrations.task_file import read_folder  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", nargs="+", required=True, help="folders of task files")
    parser.add_argument("--styles", nargs="+", required=True, choices=[s for s in STYLES if s != "sketch"])
    parser.add_argument("--output", type=Path, required=True, help="folder that receives the files")
    return parser.parse_args()


def main():
    args = arguments()
    for task in (t for folder in args.tasks for t in read_folder(folder)):
        folder = args.output / task.id
        folder.mkdir(parents=True, exist_ok=True)
        for style in args.styles:
            (folder / f"{style}.cpp").write_text(write_kernel(task, STYLES[style]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
