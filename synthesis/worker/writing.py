# SPDX-License-Identifier: Apache-2.0
# A language model writes candidates during training. A worker in another process judges its texts, since this process
# holds the endpoint's key and may use the network.
import time

import secret
from asking import Failed, tried
from llm import Llm


class Policy:
    """The run's own generator, which the engine asks."""

    def __init__(self, engine):
        self.engine = engine

    def ask(self, prompt):
        """The completion. Raises Failed once all tries failed."""
        return tried(lambda: self._asked(prompt))

    def _asked(self, prompt):
        self.engine.send({"ask": prompt})
        reply = self.engine.receive()
        if "failed" in reply:
            raise Failed(reply["failed"])
        return reply["answer"]


def _model(given, engine):
    if "url" not in given:
        return Policy(engine)
    from endpoint import Endpoint  # loads httpx
    return Endpoint(given["url"], given["model"], secret.take(given.get("key_env")), given["seconds"])


class Writer:
    """Writes a candidate for an index, and lets the worker judge it."""

    def __init__(self, given, engine):
        """`given`: what the engine says about the model; without an address it is the run's own model."""
        self.engine, self.model, self.llm = engine, _model(given, engine), None

    def begin(self, seeds, settings):
        self.llm = Llm(self.model, seeds, settings)

    def record(self, worker, index):
        """The record of the candidate. Raises GaveUp if no further one can be written."""
        began = time.monotonic()
        row = self.llm.row(index)
        asked = {"ask": round(time.monotonic() - began, 6)}
        if not isinstance(self.model, Policy):  # a busy policy answers later
            self.llm.count(row)
        if row["code"] is None:
            return {"index": index, "reason": row["reason"], "detail": row["problem"][:300], "steps": asked}
        record = worker.record(index, row)
        record["steps"].update(asked)
        return record
