# SPDX-License-Identifier: Apache-2.0
# Reads rows from files: Parquet and Arrow, as `datasets` stores sets, JSON lines, and programs.
import functools
import json

MOST_CODE = 1 << 20  # letters
_MOST_LINE = 1 << 21  # bytes of one JSON line
_INDEXED = b"ARROW1"  # the start of an Arrow file with an index


class Unreadable(Exception):
    """The source cannot be imported; the text says why."""


def _undamaged(path, rows):
    """The rows; a text in place of those after damage, which ends the import only if it hides all rows."""
    import pyarrow.lib
    found = 0
    try:
        for row in rows(path):
            found += 1
            yield row
    except (pyarrow.lib.ArrowException, OSError) as error:
        problem = f"{path}: {str(error).splitlines()[0]}"
        if not found:
            raise Unreadable(problem) from None
        yield f"damaged behind row {found}: {problem}"


def _columns(path, names):
    if "code" not in names:
        raise Unreadable(f"{path}: no column code, found {', '.join(names)}")
    return [name for name in ("ops", "data_source", "code") if name in names]


def _parquet_rows(path):
    import pyarrow.parquet
    file = pyarrow.parquet.ParquetFile(path)
    for batch in file.iter_batches(16, columns=_columns(path, file.schema_arrow.names)):  # a row may be large
        yield from (_row_values(batch.slice(at, 1)) for at in range(batch.num_rows))


def _arrow_rows(path):
    """Rows of a stream, as `datasets` writes them, or of a file with an index."""
    import pyarrow
    with pyarrow.memory_map(str(path)) as memory:
        for batch in _batches(pyarrow.ipc, memory):
            chosen = batch.select(_columns(path, batch.schema.names))
            yield from (_valid_values(chosen.slice(at, 1)) for at in range(chosen.num_rows))


def _valid_values(batch):
    """The row's values; Arrow's files contain raw memory, whose offsets could point anywhere."""
    import pyarrow.lib
    try:
        batch.validate(full=True)
    except pyarrow.lib.ArrowInvalid as error:
        return f"the row is damaged: {str(error).splitlines()[0]}"
    return _row_values(batch)


def _batches(ipc, memory):
    if memory.size() > len(_INDEXED) and memory.read_at(len(_INDEXED), 0) == _INDEXED:
        reader = ipc.open_file(memory)
        return (reader.get_batch(at) for at in range(reader.num_record_batches))
    return ipc.open_stream(memory)


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
    """The objects of a stream of JSON lines; a text for each line without one, and None for an empty line."""
    while line := stream.readline(_MOST_LINE):
        whole = line
        while whole and not whole.endswith("\n"):  # the rest of a line that is too long, or the end
            whole = stream.readline(_MOST_LINE)
        yield _line_values(line) if line.strip() else None


def _json_lines(path):
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        first = problem = None
        for number, values in enumerate(lines(file), 1):
            problem = problem or (f"{path}:{number}: {values}" if isinstance(values, str) else None)
            if isinstance(values, dict):
                first = values
                break
        if first is None and problem:
            raise Unreadable(f"{problem}, and no other line has a row; expected a JSON object with a column code")
        if first is None or "code" not in first:
            raise Unreadable(f"{path}: no column code, found {', '.join(first or {}) or 'nothing'}")
        file.seek(0)
        yield from lines(file)


def _program(path):
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            yield {"code": file.read(MOST_CODE + 1), "data_source": path.parent.name}
    except OSError as error:
        yield f"{path}: {error.strerror}"


READERS = {  # by the end of a file's name; each yields objects, or a text in place of a row
    ".parquet": functools.partial(_undamaged, rows=_parquet_rows),
    ".arrow": functools.partial(_undamaged, rows=_arrow_rows),
    ".jsonl": _json_lines,
    ".py": _program,
}
