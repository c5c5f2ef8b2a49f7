# SPDX-License-Identifier: Apache-2.0
# Programs that tasks must not resemble, such as a benchmark's: their tokens and their signatures.
import json
import pathlib

import child
from evaluate import survey_on_meta
from rarely import Rarely
from reasons import Rejected
from similarity import Index
from syntax import model_tokens, parsed

_TOGETHER = 100  # programs that one child surveys; one by one if one of them fails


def _texts(folders):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*.py")):
            yield str(path), path.read_text(errors="replace")


def _surveyed(codes, limits, alive):
    """The signature of each text, None if it does not run without data."""
    alive()
    try:
        return child.run(lambda say: [survey_on_meta(code) for code in codes], limits)[0]
    except Rejected:
        if len(codes) == 1:
            return [None]
        return [signature for code in codes for signature in _surveyed([code], limits, alive)]


def read(folders, limits, say=lambda text: None):
    """The programs as rows {name, tokens, signature}, and the names of files without one."""
    rows, codes, others, rarely = [], [], [], Rarely(say)

    def alive():
        rarely(f"against: {len(rows)} programs to stay away from")

    for name, code in _texts(folders):
        alive()
        try:
            rows.append({"name": name, "tokens": model_tokens(parsed(code))})
            codes.append(code)
        except Rejected:
            others.append(name)
    for begin in range(0, len(codes), _TOGETHER):
        for row, signature in zip(rows[begin:], _surveyed(codes[begin:begin + _TOGETHER], limits, alive)):
            row["signature"] = signature
    return rows, others


def save(path, rows):
    """Writes the rows, for workers to load."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def load(path):
    """The index and the set of signatures."""
    index, signatures = Index(), set()
    with open(path) as file:
        for row in map(json.loads, file):
            index.add(row["name"], row["tokens"])
            signatures.add(row["signature"])
    return index, signatures - {None}
