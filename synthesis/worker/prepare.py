# SPDX-License-Identifier: Apache-2.0
# Prepares a run: crawls the seeds, and reads the programs to avoid. Reads one request and writes one answer.
import json
import os
import pathlib
import signal
import sys

import shared  # noqa: F401  finds quick_imports
import quick_imports  # before torch
import torch

import against
import child
import crawl
import crawl_lock
import namespaces


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _against(request):
    path = pathlib.Path(request["out"]) / "against.jsonl"
    rows, others = against.read(request["against"], child.Limits(), _say)
    against.save(path, rows)
    return {"against": str(path), "others": others}


def main():
    """Answers one request."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(1)
    quick_imports.done()
    namespaces.adopt_orphans()
    request = json.loads(sys.stdin.readline())
    output = os.dup(1)
    os.dup2(2, 1)  # what modules print while they are crawled is not part of the answer
    try:
        crawl.cached(request["cache"], _say)
    except crawl_lock.Busy as error:
        sys.exit(str(error))
    answer = _against(request) if request["out"] else {}
    os.write(output, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
