# SPDX-License-Identifier: Apache-2.0
# The dataset card: what the tasks are, how they were chosen, and where they come from.
import collections

from reasons import REASONS

_TEXT = """---
license: apache-2.0
tags: [cuda, kernels, code]
configs:
- config_name: default
  data_files: tasks.parquet
---
# Operator tasks

{count} tasks in KernelBench's format: `Model`, `get_inputs`, `get_init_inputs`. Each ran in eager mode{compiled} on
`{device}` in {low:g} to {high:g} ms, gives the same outputs each time and other outputs for other inputs. {distinct}
different operators occur.{ingested}

| file | holds |
|---|---|
| `tasks.parquet`, `tasks.jsonl` | the rows: {columns} |
| `tasks/` | each `code` as a file |
| `refused.jsonl`, `funnel.json` | why each other candidate was refused; counts and seconds |
| `journal.jsonl` | every candidate in order; a rerun continues there |
| `ingest.jsonl` | what the sandbox said of each task, after `synth ingest` |

`similarity_max` is the greatest similarity of `Model` to a program in `--against` (2 LCS of the syntax tokens over
their number); 0 where there is none near. `hash` is equal for texts that differ in names of their own alone.
`roofline_ms` is for the nominal rates in `cost.py`; `compile_ms` is empty where nothing was compiled.

![candidates](funnel.svg) ![times](eager_ms.svg) ![operators](operators.svg)

## Funnel

| candidates | number | meaning |
|---|---|---|
{funnel}

| step | seconds, all workers |
|---|---|
{seconds}

## Shares

| operators | tasks | share |
|---|---|---|
{shares}

## Versions and licences

{versions}. Settings: {settings}. The text of composed tasks is Apache-2.0; it calls PyTorch (BSD-3-Clause) and
Transformers (Apache-2.0) and copies neither. Imported tasks keep the licence of their source.
"""


def funnel_rows(funnel):
    """Pairs (reason, number), accepted first."""
    counts = funnel.as_dict()
    return [("accepted", counts["accepted"]), *counts["rejected"].items()]


def _kind(row):
    return "transformers" if row["data_source"] == "transformers" else str(len(row["ops"]))


def shares(rows):
    """Pairs (number of operators, tasks)."""
    return sorted(collections.Counter(map(_kind, rows)).items())


def _table(rows):
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


_COLUMNS = ("id", "ops", "data_source", "code", "signature", "eager_ms", "compile_ms", "roofline_ms",
            "similarity_max", "hash")


def _ingested(rows, taken_in):
    if not taken_in:
        return ""
    whole = "Each" if taken_in == len(rows) else f"{taken_in} of {len(rows)}"
    return f" {whole} passed the sandbox's ingest, whose mutation gate tries wrong answers."


def text(settings, rows, funnel, taken_in=0):
    """The card as Markdown. `taken_in`: how many of the rows the sandbox accepted."""
    low, high = settings["window"]
    meanings = {"accepted": "in the data set", **REASONS}
    compiled = "" if settings["compile"] == "none" else f" and by torch.compile ({settings['compile']})"
    kinds = [(k, n, f"{100 * n / max(1, len(rows)):.1f} %") for k, n in shares(rows)]
    return _TEXT.format(
        count=len(rows), ingested=_ingested(rows, taken_in), columns=", ".join(f"`{c}`" for c in _COLUMNS),
        compiled=compiled, device=settings["device"], low=low, high=high,
        distinct=len({op for row in rows for op in row["ops"]}), shares=_table(kinds),
        funnel=_table((r, n, meanings[r]) for r, n in funnel_rows(funnel)),
        seconds=_table(funnel.as_dict()["seconds"].items()),
        versions=", ".join(f"{k} {v}" for k, v in settings["versions"].items()),
        settings=", ".join(f"{k} {v}" for k, v in settings.items() if k not in ("versions", "window")))
