# SPDX-License-Identifier: Apache-2.0
# Arguments of every script that writes demonstrations; the stage `sft` passes them.
import argparse


def demonstration_parser(description, count, out):
    """`count`: default number of conversations; `out`: the help of --out."""
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.add_argument("--tasks", nargs="+", required=True, help="folders of task files")
    parser.add_argument("--apart-from", nargs="*", default=[], help="folders of tasks that no demonstration solves")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count, help="conversations in all")
    parser.add_argument("--out", required=True, help=out)
    return parser
