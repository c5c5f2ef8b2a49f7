# SPDX-License-Identifier: Apache-2.0
# What every script that writes demonstrations is asked for; the stage `sft` calls each by these.
import argparse


def demonstration_parser(description, count, out):
    """`count`: conversations by default; `out`: what --out names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tasks", nargs="+", required=True, help="folders of task files")
    parser.add_argument("--apart-from", nargs="*", default=[], help="folders of tasks that no demonstration solves")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count, help="conversations in all")
    parser.add_argument("--out", required=True, help=out)
    return parser
