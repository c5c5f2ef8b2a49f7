# SPDX-License-Identifier: Apache-2.0
# `synth ingest DIR`: the sandbox ingests each task of a set; those that it refuses are removed from the set.
import json

import store
from ingest import Ingest
from journal import Journal, settings_of
from sandbox_calls import CONTRACTS, Sandbox


def _took_in(folder, records, contract, options, say):
    """Whether every task has an answer."""
    sandbox = Sandbox(options.program, contract, options.slots, options.gpu)
    ingest = Ingest(folder, sandbox, {"contract": contract}, options.slots, say)
    try:
        return ingest.run(store.rows_of(records))
    finally:
        ingest.close()


def run(options, say, answer):
    """Whether it came to the end. Raises Conflict, and sandbox_calls.Unable; answers until then are kept."""
    path = options.folder / "journal.jsonl"
    settings = settings_of(path)
    journal = Journal(path, settings)  # which also keeps a `synth` from adding tasks at the same time
    try:
        try:
            whole = _took_in(options.folder, journal.records, CONTRACTS[settings["device"]], options, say)
        finally:
            rows, funnel = store.finish(options.folder, settings, journal.records)
    finally:
        journal.close()
    say(funnel.line())
    answer(json.dumps({"out": str(options.folder), "tasks": len(rows), **funnel.as_dict()}))
    return whole
