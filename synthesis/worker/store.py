# SPDX-License-Identifier: Apache-2.0
# Writes the accepted tasks: Parquet, JSON lines, a file per task, and the dataset card.
import json
import os

import pyarrow
import pyarrow.parquet

import card
import charts
import ingest
from funnel import Funnel
from names import task_id

SCHEMA = pyarrow.schema([
    ("id", pyarrow.string()), ("ops", pyarrow.list_(pyarrow.string())), ("data_source", pyarrow.string()),
    ("code", pyarrow.string()), ("signature", pyarrow.string()), ("eager_ms", pyarrow.float64()),
    ("compile_ms", pyarrow.float64()), ("roofline_ms", pyarrow.float64()), ("similarity_max", pyarrow.float64()),
    ("hash", pyarrow.string()),
])


def rows_of(records):
    """The rows of the accepted tasks, in the order of the candidates."""
    accepted = [record["row"] for record in records if not record["reason"]]
    return [{"id": task_id(row), **{k: row[k] for k in SCHEMA.names if k != "id"}} for row in accepted]


def _replace(path, data):
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(data if isinstance(data, bytes) else data.encode())
    os.replace(fresh, path)


def _write_tasks(folder, rows):
    folder.mkdir(exist_ok=True)
    names = {f"{row['id']}.py" for row in rows}
    for entry in os.scandir(folder):
        if entry.name.endswith(".py") and entry.name not in names:
            os.unlink(entry.path)  # of a longer run with the same journal
    for row in rows:
        (folder / f"{row['id']}.py").write_text(row["code"])


def finish(folder, settings, records):
    """Writes the folder from the run's records and what the sandbox said about their tasks: the rows and the funnel."""
    said, funnel = ingest.verdicts(folder), Funnel()
    records = ingest.judged(records, said)
    for record in records:
        funnel.add(record)
    return _write(folder, settings, records, funnel, said), funnel


def _write(folder, settings, records, funnel, said):
    """Each file is replaced at once, so that readers never see half of one."""
    rows = rows_of(records)
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, SCHEMA), sink, compression="zstd")
    _replace(folder / "tasks.parquet", sink.getvalue().to_pybytes())
    _replace(folder / "tasks.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    _replace(folder / "funnel.json", json.dumps(funnel.as_dict(), indent=2) + "\n")
    refused = [{k: r[k] for k in ("index", "reason", "detail")} for r in records if r["reason"]]
    _replace(folder / "refused.jsonl", "".join(json.dumps(row) + "\n" for row in refused))
    _write_tasks(folder / "tasks", rows)
    _replace(folder / "funnel.svg", charts.bars("Candidates", card.funnel_rows(funnel)))
    _replace(folder / "eager_ms.svg", charts.bars("Eager time, ms", charts.histogram([r["eager_ms"] for r in rows])))
    _replace(folder / "operators.svg", charts.bars("Tasks by number of operators", card.shares(rows)))
    _replace(folder / "README.md", card.text(settings, rows, funnel, sum(row["id"] in said for row in rows)))
    return rows
