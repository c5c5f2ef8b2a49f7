# SPDX-License-Identifier: Apache-2.0
# A worker process: composes or receives candidates, filters them, and answers with one record for each.
#
# Standard input has one JSON object per line: the settings first, then {"index": n, "row": null or a foreign row,
# "hashes": those of tasks that were accepted since}.
import json
import math
import os
import signal
import sys
import time
import warnings

import shared  # noqa: F401  finds quick_imports
import quick_imports  # before torch
import torch

import against
import child
import gpus
import namespaces
import sealing
from assemble import Unfit
from compose import Candidate, Rules
from evaluate import Evaluation, signature_of
from reasons import Rejected, storable
from resident import Resident, empty
from seeds import from_json
from similarity import FLOOR
from syntax import model_tokens, normalised_hash, parsed
from turns import NOT_FREE, Busy, Turns

_TEMPORARY_BYTES = 1 << 29
_WAITS = 8.0  # wall time that a composed task may take, as a multiple of its CPU time
_RESCALED = 3  # times that sizes are changed to reach the window


class Stopwatch:
    """Adds up the seconds of the funnel's steps."""

    def __init__(self):
        self.steps = {}

    def add(self, steps):
        for name, seconds in steps.items():
            self.steps[name] = round(self.steps.get(name, 0.0) + seconds, 6)

    def timed(self, name, work, *args):
        began = time.perf_counter()
        try:
            return work(*args)
        finally:
            self.add({name: time.perf_counter() - began})


class Worker:
    """Owns torch, the seeds and the index; runs each candidate in a child."""

    def __init__(self, settings):
        self.settings, self.window = settings, settings["window"]
        with open(settings["seeds"]) as file:
            seeds = from_json(file.read())
        self.rules = Rules(seeds, settings["seed"], settings["device"], self.window, settings["shares"])
        self.index, signatures = against.load(settings["against"])
        self.judged = {**{k: settings[k] for k in ("device", "window", "compile")}, "signatures": signatures}
        self.limits = child.Limits(seconds=settings["seconds"], memory=settings["memory"], device=settings["device"],
                                   silent=True)
        self.folder, self.hashes = settings["folder"], set()
        if settings["device"] == "cuda":  # before the namespaces, in which no file can be written
            self.limits = self.limits._replace(turns=Turns(gpus.lease_name()))

    def tell(self, hashes):
        """Hashes of accepted tasks; an equal task is a duplicate. The run checks again: others are in progress."""
        self.hashes.update(hashes)

    def enter_namespaces(self):
        """Needed by compilers, which write files, and by a GPU's driver, whose files cannot be distinguished."""
        try:
            namespaces.enter(self.folder, _TEMPORARY_BYTES)
        except OSError as error:
            if self.settings.get("hides_key"):
                sys.exit(f"worker: a run with a key needs user namespaces, so that no task reads it: {error}")
            if self.settings["compile"] != "none" or self.settings["device"] == "cuda":
                remedy = "" if self.settings["device"] == "cuda" else "; --compile none works without them"
                sys.exit(f"worker: a compiler and a GPU need user namespaces, which are refused here: {error}{remedy}")
            return
        if self.settings["device"] == "cuda":
            self.limits = self.limits._replace(folder=self.folder)
            self.resident = Resident(self._work, self._limits(False, self.settings["compile"] != "none"))

    def record(self, index, row):
        """The record of the candidate with that index. If a rejected one has a `hash`, it tells the run whether the
        candidate repeats an accepted task that this worker may not know."""
        watch, found = Stopwatch(), {"index": index, "reason": None}
        if self.limits.turns:
            self.limits.turns.renew()
        try:
            candidate = watch.timed("compose", self._candidate, index, row)
            row = self._accepted(candidate, watch, found)
            found["row"] = {**row, "hash": found.pop("hash")}
        except Unfit as error:
            found.update(reason="not_composed", detail=storable(str(error))[:300])
        except Rejected as error:
            watch.add(error.steps)
            found.update(reason=error.reason, detail=error.detail)
        return {**found, "steps": watch.steps}

    def _candidate(self, index, row):
        if row is None:
            return self.rules.candidate(index)
        if row["code"] is None:
            place = f"{row['name']}: " if row.get("name") else ""
            raise Rejected(row.get("reason", "bad_row"), place + row["problem"])
        return Candidate(row["code"], row.get("ops") or [], row.get("data_source") or "import", foreign=True)

    def _accepted(self, candidate, watch, found):
        scale = 1.0
        for left in reversed(range(_RESCALED + 1)):
            try:
                return self._judge(candidate, watch, found)
            except Rejected as error:
                if error.reason not in ("too_fast", "too_slow") or not left or candidate.rescale is None:
                    raise
                scale *= 4.0 if error.reason == "too_fast" else 0.25
                other = watch.timed("compose", candidate.rescale, scale)
                if other.code == candidate.code:
                    raise
                watch.add(error.steps)
                candidate = other

    def _judge(self, candidate, watch, found):
        """The row of an accepted candidate. `found` gets its hash, also of a rejected one."""
        tree = watch.timed("parse", parsed, candidate.code)
        found["hash"] = watch.timed("hash", normalised_hash, tree)
        if found["hash"] in self.hashes:
            raise Rejected("duplicate")
        similarity = watch.timed("similarity", self._similarity, tree)
        facts = self._evaluated(candidate, watch)
        return {"ops": candidate.ops or facts["used"], "data_source": candidate.source, "code": candidate.code,
                "signature": signature_of(facts), "eager_ms": facts["eager_ms"], "compile_ms": facts["compile_ms"],
                "roofline_ms": facts["roofline_ms"], "similarity_max": round(similarity, 4)}

    def _similarity(self, tree):
        found, name = self.index.most_similar(model_tokens(tree))
        if found > FLOOR:
            raise Rejected("similar", f"{found:.3f} to {name}")
        return found

    def _evaluated(self, candidate, watch):
        """Facts of an accepted candidate. The compiler may start programs, so an untrusted task meets it only in a
        second process, after all other checks."""
        compiles = self.settings["compile"] != "none"
        facts = self._run(candidate, watch, "run" if candidate.foreign or not compiles else "run_all")
        if compiles and candidate.foreign:
            facts.update(self._run(candidate, watch, "run_compiled"))
        return {"compile_ms": None, **facts}

    def _run(self, candidate, watch, method):
        """The facts that a method of Evaluation finds in a child."""
        job = {"code": candidate.code, "ops": candidate.ops, "foreign": candidate.foreign, "method": method}
        shared = self.settings["device"] == "cuda" and not candidate.foreign
        facts, steps = self.resident.do(job) if shared else self._do_alone(job, method != "run")
        watch.add(steps)
        if not _are_facts(facts, _FACTS[method]):
            raise Rejected("forged", "facts of another form")
        return facts

    def _do_alone(self, job, compiles):
        limits = self._limits(job["foreign"], compiles)
        try:
            return child.run(lambda say: self._work(job, say), limits)
        finally:
            if limits.folder and job["foreign"]:  # what an untrusted task left must not reach the next one
                empty(self.folder)

    def _work(self, job, say):
        settings = {**self.judged, "foreign": job["foreign"]}
        return getattr(Evaluation(job["code"], job["ops"], settings, say), job["method"])()

    def _limits(self, foreign, compiles):
        """A composed task never sleeps, but may wait for a core; other processes must not decide its result."""
        limits = self.limits
        if compiles:
            limits = limits._replace(folder=self.folder, compiler=self.settings["compile"] == "inductor",
                                     seconds=2 * limits.seconds)
        if foreign:
            return limits
        patient = {"waits": _WAITS} if self.settings["device"] == "cpu" else {}
        return limits._replace(free=(*limits.free, "load"), **patient)  # its text only defines things


_RUN = {"operators": list, "shapes": list, "used": list, "eager_ms": float, "roofline_ms": float}
_COMPILED = {"compile_ms": float}
_FACTS = {"run": _RUN, "run_compiled": _COMPILED, "run_all": {**_RUN, **_COMPILED}}


def _are_facts(value, form):
    """Whether this has the form that a method of Evaluation returns; a task could have written it."""
    return isinstance(value, dict) and value.keys() == form.keys() and all(
        _is_number(value[name]) if kind is float else _are_names(value[name]) for name, kind in form.items())


def _are_names(value):
    return isinstance(value, list) and all(isinstance(name, str) and storable(name) == name for name in value)


def _is_number(value):
    return isinstance(value, float) and math.isfinite(value)


def _warm_up(settings):
    """Loads what each child would load otherwise. Not on a GPU: that starts CUDA, which children could not use."""
    if settings["compile"] == "none" or settings["device"] == "cuda":
        return
    import torch._inductor.compile_fx  # noqa: F401
    torch.compile(torch.nn.GELU(), backend="aot_eager")(torch.randn(3, 4))


def _prepare_process(settings):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pipeline decides when a worker ends
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    namespaces.adopt_orphans()


def ready(settings):
    """A worker for these settings, in the process that it needs."""
    _prepare_process(settings)
    worker = Worker(settings)
    worker.enter_namespaces()
    sealing.die_with_parent()  # after the namespaces, which reset this
    _warm_up(settings)
    quick_imports.done()
    return worker


def main():
    """Serves until standard input ends."""
    worker = ready(json.loads(sys.stdin.readline()))
    try:
        for line in sys.stdin:
            job = json.loads(line)
            worker.tell(job["hashes"])
            sys.stdout.write(json.dumps(worker.record(job["index"], job["row"])) + "\n")
            sys.stdout.flush()
    except Busy as error:
        print(f"worker: {error}", file=sys.stderr, flush=True)
        sys.exit(NOT_FREE)


if __name__ == "__main__":
    main()
