# SPDX-License-Identifier: Apache-2.0
# Prepares a run: the table of seeds, and the programs to stay away from. Reads a request, answers with one object.
import hashlib
import json
import os
import pathlib
import signal
import sys

import torch

import against
import child
import crawl
import namespaces


def _table(seeds):
    rows = [(s.name, s.family, ",".join(map(str, s.ranks)) or "own inputs", s.domain, " ".join(s.tags)) for s in seeds]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0])).rstrip() for row in rows]
    return [*lines, f"{len(rows)} seeds"]


def _against(request):
    path = pathlib.Path(request["out"]) / "against.jsonl"
    for folder in request["against"]:
        if not os.path.isdir(folder):
            sys.exit(f"synth: {folder}: no such folder")
    rows, others = against.read(request["against"], child.Limits())
    against.save(path, rows)
    return {"against": str(path), "others": others}


def main():
    """Answers one request."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(1)
    namespaces.adopt_orphans()
    request = json.loads(sys.stdin.readline())
    answer, output = {"versions": crawl.versions()}, os.dup(1)
    os.dup2(2, 1)  # what modules print while they are crawled is no answer
    seeds = crawl.cached(request["cache"])
    path = os.path.join(os.path.abspath(request["cache"]), crawl.file_name())
    answer.update(seeds=path, seeds_digest=hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16])
    if request["list"]:
        answer["table"] = _table(seeds)
    if request["out"]:
        answer.update(_against(request))
    os.write(output, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
