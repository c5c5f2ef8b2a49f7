# SPDX-License-Identifier: Apache-2.0
# A worker process: composes or takes candidates, filters them, and answers with one record for each.
#
# Standard input holds one JSON object a line: the settings first, then {"index": n, "row": null or a foreign row}.
import gc
import json
import os
import shutil
import signal
import sys
import time
import warnings

import torch

import against
import child
import namespaces
import sealing
from assemble import Unfit
from compose import Candidate, Rules
from evaluate import Evaluation, signature_of
from reasons import Rejected
from seeds import from_json
from similarity import FLOOR
from syntax import model_tokens, normalised_hash, parsed

_TEMPORARY_BYTES = 1 << 29
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
    """Holds torch, the seeds and the index; runs each candidate in a child."""

    def __init__(self, settings):
        self.settings, self.window = settings, settings["window"]
        with open(settings["seeds"]) as file:
            seeds = from_json(file.read())
        self.rules = Rules(seeds, settings["seed"], settings["device"], self.window, settings["shares"])
        self.index, signatures = against.load(settings["against"])
        self.judged = {**{k: settings[k] for k in ("device", "window", "compile")}, "signatures": signatures}
        self.limits = child.Limits(settings["seconds"], settings["memory"], device=settings["device"])
        self.folder = settings["folder"]

    def enter_namespaces(self):
        """Required by compilers, which write files, and by a GPU's driver, whose files cannot be told apart."""
        try:
            namespaces.enter(self.folder, _TEMPORARY_BYTES)
        except OSError as error:
            if self.settings["compile"] != "none" or self.settings["device"] == "cuda":
                sys.exit(f"worker: --compile and --device cuda need user namespaces, which are refused: {error}")
            return
        if self.settings["device"] == "cuda":
            self.limits = self.limits._replace(folder=self.folder)

    def record(self, index, row):
        """What became of the candidate with that index."""
        watch, found = Stopwatch(), {"index": index, "reason": None}
        try:
            candidate = watch.timed("compose", self._candidate, index, row)
            found["row"] = self._accepted(candidate, watch)
        except Unfit as error:
            found.update(reason="not_composed", detail=str(error)[:300])
        except Rejected as error:
            watch.add(error.steps)
            found.update(reason=error.reason, detail=error.detail)
        return {**found, "steps": watch.steps}

    def _candidate(self, index, row):
        if row is None:
            return self.rules.candidate(index)
        if not isinstance(row.get("code"), str) or not row["code"]:
            raise Rejected("bad_row", row.get("problem", "no text in the column code"))
        return Candidate(row["code"], row.get("ops") or [], row.get("data_source") or "import", foreign=True)

    def _accepted(self, candidate, watch):
        scale = 1.0
        for left in reversed(range(_RESCALED + 1)):
            try:
                return self._judge(candidate, watch)
            except Rejected as error:
                if error.reason not in ("too_fast", "too_slow") or not left or candidate.rescale is None:
                    raise
                scale *= 4.0 if error.reason == "too_fast" else 0.25
                other = watch.timed("compose", candidate.rescale, scale)
                if other.code == candidate.code:
                    raise
                watch.add(error.steps)
                candidate = other

    def _judge(self, candidate, watch):
        tree = watch.timed("parse", parsed, candidate.code)
        digest = watch.timed("hash", normalised_hash, tree)
        similarity = watch.timed("similarity", self._similarity, tree)
        facts = self._evaluated(candidate, watch)
        compiled = self._compiled(candidate, watch) if self.settings["compile"] != "none" else None
        return {"ops": candidate.ops or facts["used"], "data_source": candidate.source, "code": candidate.code,
                "signature": signature_of(facts), "eager_ms": facts["eager_ms"], "compile_ms": compiled,
                "roofline_ms": facts["roofline_ms"], "similarity_max": round(similarity, 4), "hash": digest}

    def _similarity(self, tree):
        found, name = self.index.most_similar(model_tokens(tree))
        if found > FLOOR:
            raise Rejected("similar", f"{found:.3f} to {name}")
        return found

    def _evaluated(self, candidate, watch):
        facts, steps = child.run(
            lambda say: Evaluation(candidate.code, candidate.ops, self.judged, say).run(), self.limits)
        watch.add(steps)
        return facts

    def _compiled(self, candidate, watch):
        limits = self.limits._replace(folder=self.folder, compiler=self.settings["compile"] == "inductor",
                                      seconds=2 * self.limits.seconds)
        try:
            compiled, steps = child.run(
                lambda say: Evaluation(candidate.code, candidate.ops, self.judged, say).run_compiled(), limits)
        finally:
            if candidate.foreign:  # what a stranger's task left must not reach the next one
                _empty(self.folder)
        watch.add(steps)
        return compiled


def _empty(folder):
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def _warm_up(settings):
    """Loads what children would otherwise each load."""
    if settings["compile"] == "none":
        return
    import torch._dynamo  # noqa: F401
    import torch._inductor.compile_fx  # noqa: F401
    if settings["device"] == "cpu":
        torch.compile(torch.nn.GELU(), backend="aot_eager")(torch.randn(3, 4))


def _prepare_process(settings):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pipeline decides when a worker ends
    warnings.filterwarnings("ignore")
    folder = settings["folder"]
    os.environ.update(TMPDIR=folder, TORCHINDUCTOR_CACHE_DIR=f"{folder}/inductor", TRITON_CACHE_DIR=f"{folder}/triton")
    torch.set_num_threads(1)
    namespaces.adopt_orphans()


def main():
    """Serves until standard input ends."""
    settings = json.loads(sys.stdin.readline())
    _prepare_process(settings)
    worker = Worker(settings)
    worker.enter_namespaces()
    sealing.die_with_parent()  # after the namespaces, which reset this
    _warm_up(settings)
    gc.freeze()
    for line in sys.stdin:
        job = json.loads(line)
        sys.stdout.write(json.dumps(worker.record(job["index"], job["row"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
