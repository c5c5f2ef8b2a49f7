# SPDX-License-Identifier: Apache-2.0
# Foreign tasks: rows of files with the columns of CUDA-Agent-Ops-6K, programs, and tasks of other suites; also of
# folders of these.
#
# Only the form is read here. Rows are never trusted: workers judge them as they do composed ones.
import json
import pathlib
import random

import other_suites
from reasons import storable
from row_files import MOST_CODE, READERS, Unreadable

_MOST_SOURCE = 200  # letters
_KINDS = ", ".join(f"*{suffix}" for suffix in READERS) + ", or a suite's tasks (docs/suites.md)"


def _problem(values):
    """Why the values are no row, or nothing."""
    if isinstance(values, str):
        return values
    ops, code = values.get("ops"), values.get("code")
    if not (ops is None or isinstance(ops, list) and all(isinstance(op, str) for op in ops)):
        return "ops is no list of names"
    if not isinstance(code, str) or not code:
        return "no text in the column code"
    if any(storable(text) != text for text in (code, *(ops or []))):
        return "text that is no UTF-8"
    return "code is longer than 1 MiB" if len(code) > MOST_CODE else ""


def _row(values, name):
    """The row of values, or of a text that says why there are none."""
    if isinstance(values, dict) and isinstance(values.get("ops"), str):
        values = {**values, "ops": _names(values["ops"])}
    if problem := _problem(values):
        return {"code": None, "problem": problem, "name": name}
    source = values.get("data_source")
    return {"code": values["code"], "ops": values.get("ops"), "name": name,
            "data_source": storable(source[:_MOST_SOURCE]) if isinstance(source, str) else ""}


def _names(text):
    """The operators in a column of text: a JSON list, or names between commas."""
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else [str(found)]
    except ValueError:
        return [name.strip(" '\"[]") for name in text.split(",") if name.strip(" '\"[]")]


def _files(path):
    if not path.exists():
        raise Unreadable(f"{path}: no such file or folder")
    if path.is_file():
        return [path]
    if (path / "journal.jsonl").exists():  # a run of `synth`; its other files contain no further tasks
        return [path / "tasks.parquet"]
    found = sorted(p for p in path.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(path)))
    others = other_suites.rows_by_file(path)
    if any(p.suffix == ".json" for p in others):  # definitions of flashinfer-bench, whose folders hold no rows
        found = [p for p in found if p.suffix != ".jsonl" or not {"workloads", "traces"} & set(p.parts)]
    found = [p for p in found if p in others or p.with_name("func_forward.py") not in others]  # what it was made from
    return [p for p in found if p in others or p.suffix in READERS and not _is_left_over(p)]


def _is_left_over(path):
    """Whether `datasets` left the file in a folder of `save_to_disk`, whose state.json names the files of the set."""
    state = path.with_name("state.json")
    if path.suffix != ".arrow" or not state.exists():
        return False
    try:
        return path.name not in {entry["filename"] for entry in json.loads(state.read_text())["_data_files"]}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise Unreadable(f"{state}: expected the names of a data set's files: {error!r}") from None


def _is_hidden(path):
    return any(part.startswith(".") for part in path.parts)


def _checked_files(source):
    """Pairs of a file and its reader."""
    path = pathlib.Path(source)
    files = _files(path)
    if not files:
        raise Unreadable(f"{path}: holds no {_KINDS}")
    others = other_suites.rows_by_file(path) if path.is_dir() or path.suffix in (".py", ".json") else {}
    if wrong := [file for file in files if file.suffix not in READERS and file not in others]:
        raise Unreadable(f"{wrong[0]}: expected {_KINDS}")
    return [(file, others.get(file) or READERS[file.suffix]) for file in files]


def check(source):
    """Raises Unreadable unless all files have a form that can be imported; looks at the first row of each data file."""
    for file, reader in _checked_files(source):
        if callable(reader) and file.suffix != ".py":
            next(reader(file), None)


def read(source):
    """The rows of a file or folder, one after another. Raises Unreadable."""
    for file, reader in _checked_files(source):
        for number, row in enumerate(reader(file) if callable(reader) else reader, 1):
            if row is not None:
                yield _row(row, f"{file}:{number}")


def sample(rows, count):
    """So many of the rows, chosen alike each time, in their order."""
    rng, kept = random.Random(0), []
    for number, row in enumerate(rows):
        at = number if number < count else rng.randrange(number + 1)
        if at < count:
            kept[at:at + 1] = [(number, row)]
    return (row for _, row in sorted(kept, key=lambda pair: pair[0]))
