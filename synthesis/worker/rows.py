# SPDX-License-Identifier: Apache-2.0
# Foreign tasks: rows of Parquet and JSON lines (the columns of CUDA-Agent-Ops-6K), and folders of *.py.
#
# Only the form is read here. Rows are never trusted: workers judge them as they do composed ones.
import itertools
import json
import pathlib

_MOST_LINE = 1 << 21  # bytes of one JSON line


class Unreadable(Exception):
    """The source cannot be imported; the text says why."""


def _row(values, name):
    ops = values.get("ops")
    if isinstance(ops, str):
        ops = _names(ops)
    if not (ops is None or isinstance(ops, list) and all(isinstance(op, str) for op in ops)):
        return {"code": None, "problem": "ops is no list of names", "name": name}
    return {"code": values.get("code"), "ops": ops, "data_source": _text(values.get("data_source")), "name": name}


def _text(value):
    return value if isinstance(value, str) else ""


def _names(text):
    """The operators in a column of text: a JSON list, or names between commas."""
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else [str(found)]
    except ValueError:
        return [name.strip(" '\"[]") for name in text.split(",") if name.strip(" '\"[]")]


def _parquet(path):
    import pyarrow.lib
    import pyarrow.parquet
    try:
        file = pyarrow.parquet.ParquetFile(path)
        if "code" not in file.schema_arrow.names:
            raise Unreadable(f"{path}: no column code, found {', '.join(file.schema_arrow.names)}")
        columns = [c for c in ("ops", "data_source", "code") if c in file.schema_arrow.names]
        for batch in file.iter_batches(256, columns=columns):
            yield from batch.to_pylist()
    except pyarrow.lib.ArrowException as error:
        raise Unreadable(f"{path}: {str(error).splitlines()[0]}") from None


def _line_values(line):
    if len(line) >= _MOST_LINE:
        return {"code": None}
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return {"code": None}
    return values if isinstance(values, dict) else {"code": None}


def lines(stream):
    """The rows of a stream of JSON lines; a line that holds no object is a row without a text."""
    while line := stream.readline(_MOST_LINE):
        whole = line
        while whole and not whole.endswith("\n"):  # the rest of a line that is too long, or the end
            whole = stream.readline(_MOST_LINE)
        if line.strip():
            yield _line_values(line)


def _json_lines(path):
    with open(path, errors="replace") as file:
        first = next(lines(file), None)
        if first is None or "code" not in first:
            raise Unreadable(f"{path}: no column code, found {', '.join(first or {}) or 'nothing'}")
        file.seek(0)
        yield from lines(file)


def _files(path):
    if not path.exists():
        raise Unreadable(f"{path}: no such file or folder")
    if path.is_file():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.is_file() and not any(q.startswith(".") for q in p.parts))
    data = [p for p in found if p.suffix in (".parquet", ".jsonl")]
    return data or [p for p in found if p.suffix == ".py"]


def check(source):
    """Raises Unreadable unless the source has a form that can be imported; looks at its first row."""
    next(read(source), None)


def read(source):
    """The rows of a file or folder, one after another. Raises Unreadable."""
    path = pathlib.Path(source)
    files = _files(path)
    if not files:
        raise Unreadable(f"{path}: holds no *.parquet, *.jsonl or *.py")
    for file in files:
        if file.suffix == ".py":
            yield _row({"code": file.read_text(errors="replace"), "data_source": path.name}, str(file))
            continue
        if file.suffix not in (".parquet", ".jsonl"):
            raise Unreadable(f"{file}: expected *.parquet, *.jsonl or *.py")
        values = _parquet(file) if file.suffix == ".parquet" else _json_lines(file)
        for number, row in enumerate(values):
            yield _row(row, f"{file}:{number + 1}")


def stream(file):
    """The rows that a language model's side writes, one JSON object a line."""
    for number in itertools.count(1):
        values = next(lines(file), None)
        if values is None:
            return
        yield {**_row(values, f"line {number}"), "data_source": "llm"}
