# SPDX-License-Identifier: Apache-2.0
# Foreign tasks: rows of Parquet and JSON lines (the columns of CUDA-Agent-Ops-6K), and folders of *.py.
#
# Only the form is read here. Rows are never trusted: workers judge them as they do composed ones.
import json
import pathlib
import random

_MOST_LINE = 1 << 21  # bytes of one JSON line
_MOST_CODE, _MOST_SOURCE = 1 << 20, 200  # letters


class Unreadable(Exception):
    """The source cannot be imported; the text says why."""


def _problem(values):
    """Why the values make no row, or nothing."""
    if isinstance(values, str):
        return values
    ops, code = values.get("ops"), values.get("code")
    if not (ops is None or isinstance(ops, list) and all(isinstance(op, str) for op in ops)):
        return "ops is no list of names"
    if not isinstance(code, str) or not code:
        return "no text in the column code"
    return "code is longer than 1 MiB" if len(code) > _MOST_CODE else ""


def _row(values, name):
    """The row of values, or of a text that says why there are none."""
    if isinstance(values, dict) and isinstance(values.get("ops"), str):
        values = {**values, "ops": _names(values["ops"])}
    if problem := _problem(values):
        return {"code": None, "problem": problem, "name": name}
    source = values.get("data_source")
    return {"code": values["code"], "ops": values.get("ops"), "name": name,
            "data_source": source[:_MOST_SOURCE] if isinstance(source, str) else ""}


def _names(text):
    """The operators in a column of text: a JSON list, or names between commas."""
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else [str(found)]
    except ValueError:
        return [name.strip(" '\"[]") for name in text.split(",") if name.strip(" '\"[]")]


def _parquet(path):
    """The rows; a text in place of those behind damage, which ends the import only where it hides all rows."""
    import pyarrow.lib
    found = 0
    try:
        for row in _parquet_rows(path):
            found += 1
            yield row
    except (pyarrow.lib.ArrowException, OSError) as error:
        problem = f"{path}: {str(error).splitlines()[0]}"
        if not found:
            raise Unreadable(problem) from None
        yield f"damaged behind row {found}: {problem}"


def _parquet_rows(path):
    import pyarrow.parquet
    file = pyarrow.parquet.ParquetFile(path)
    if "code" not in file.schema_arrow.names:
        raise Unreadable(f"{path}: no column code, found {', '.join(file.schema_arrow.names)}")
    columns = [c for c in ("ops", "data_source", "code") if c in file.schema_arrow.names]
    for batch in file.iter_batches(16, columns=columns):  # a row may be large
        yield from (_row_values(batch.slice(at, 1)) for at in range(batch.num_rows))


def _row_values(batch):
    try:
        return batch.to_pylist()[0]
    except UnicodeDecodeError:
        return "the row is no UTF-8"


def _line_values(line):
    if len(line) >= _MOST_LINE:
        return f"a line of {_MOST_LINE >> 20} MiB or more"
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return "the line is no JSON"
    return values if isinstance(values, dict) else "the line is no JSON object"


def lines(stream):
    """The objects of a stream of JSON lines; a text for each line that holds none."""
    while line := stream.readline(_MOST_LINE):
        whole = line
        while whole and not whole.endswith("\n"):  # the rest of a line that is too long, or the end
            whole = stream.readline(_MOST_LINE)
        if line.strip():
            yield _line_values(line)


def _json_lines(path):
    with open(path, errors="replace") as file:
        first = next((values for values in lines(file) if isinstance(values, dict)), None)
        if first is None or "code" not in first:
            raise Unreadable(f"{path}: no column code, found {', '.join(first or {}) or 'nothing'}")
        file.seek(0)
        yield from lines(file)


def _files(path):
    if not path.exists():
        raise Unreadable(f"{path}: no such file or folder")
    if path.is_file():
        return [path]
    if (path / "journal.jsonl").exists():  # a run of ours; its other files hold no further tasks
        return [path / "tasks.parquet"]
    found = sorted(p for p in path.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(path)))
    data = [p for p in found if p.suffix in (".parquet", ".jsonl")]
    return data or [p for p in found if p.suffix == ".py"]


def _is_hidden(path):
    return any(part.startswith(".") for part in path.parts)


def _program(path):
    try:
        with open(path, errors="replace") as file:
            yield {"code": file.read(_MOST_CODE + 1), "data_source": path.parent.name}
    except OSError as error:
        yield f"{path}: {error.strerror}"


_READERS = {".parquet": _parquet, ".jsonl": _json_lines, ".py": _program}


def _checked_files(source):
    path = pathlib.Path(source)
    files = _files(path)
    if not files:
        raise Unreadable(f"{path}: holds no *.parquet, *.jsonl or *.py")
    if wrong := [file for file in files if file.suffix not in _READERS]:
        raise Unreadable(f"{wrong[0]}: expected *.parquet, *.jsonl or *.py")
    return files


def check(source):
    """Raises Unreadable unless all files have a form that can be imported; looks at the first row of each data file."""
    for file in _checked_files(source):
        if file.suffix != ".py":
            next(_READERS[file.suffix](file), None)


def read(source):
    """The rows of a file or folder, one after another. Raises Unreadable."""
    for file in _checked_files(source):
        for number, row in enumerate(_READERS[file.suffix](file)):
            yield _row(row, f"{file}:{number + 1}")


def sample(rows, count):
    """So many of the rows, chosen alike each time, in their order."""
    rng, kept = random.Random(0), []
    for number, row in enumerate(rows):
        at = number if number < count else rng.randrange(number + 1)
        if at < count:
            kept[at:at + 1] = [(number, row)]
    return (row for _, row in sorted(kept, key=lambda pair: pair[0]))
