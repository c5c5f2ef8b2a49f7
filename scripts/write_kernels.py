#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes correct kernels for every task of some folders, one per style: OUTPUT/TASK_ID/STYLE.cpp, or for contract
# device OUTPUT/TASK_ID/STYLE/kernels.cu and plan.toml.
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from demonstrations.kernel import STYLES as CPU_STYLES  # noqa: E402
from demonstrations.kernel import write_kernel  # noqa: E402
from demonstrations.task_file import read_folder  # noqa: E402
from device_kernels.rows import RowKernel  # noqa: E402
from device_kernels.styles import STYLES as DEVICE_STYLES  # noqa: E402

STYLES = {"cpu": {n: s for n, s in CPU_STYLES.items() if n != "sketch"}, "device": DEVICE_STYLES}


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--contract", choices=sorted(STYLES), default="cpu")
    parser.add_argument("--tasks", nargs="+", required=True, help="folders of task files")
    parser.add_argument("--styles", nargs="+", help="default: all of the contract")
    parser.add_argument("--skip-unknown", action="store_true",
                        help="report and skip tasks that this script cannot write kernels for")
    parser.add_argument("--output", type=Path, required=True, help="folder that receives the files")
    args = parser.parse_args()
    args.styles = args.styles or list(STYLES[args.contract])
    for style in args.styles:
        if style not in STYLES[args.contract]:
            parser.error(f"no style {style} for {args.contract}; known: {' '.join(STYLES[args.contract])}")
    return args


def cpu_files(task, style):
    return {f"{style.name}.cpp": write_kernel(task, style)}


def device_files(task, style):
    kernel = RowKernel(task, style)
    return {f"{style.name}/kernels.cu": kernel.text(), f"{style.name}/plan.toml": kernel.plan()}


def files_of(task, args):
    """Maps file names to texts. Raises ValueError for a task with an unknown statement."""
    make = {"cpu": cpu_files, "device": device_files}[args.contract]
    files = {}
    for style in args.styles:
        files |= make(task, STYLES[args.contract][style])
    return files


def main():
    args = arguments()
    for task in (t for folder in args.tasks for t in read_folder(folder)):
        try:
            files = files_of(task, args)
        except ValueError as error:
            if not args.skip_unknown:
                raise
            print(f"skips {task.id}: {error}", file=sys.stderr)
            continue
        for name, text in files.items():
            path = args.output / task.id / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
