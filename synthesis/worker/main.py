# SPDX-License-Identifier: Apache-2.0
# Command line: `compose` composes tasks, `import` imports foreign ones, `ingest` lets the sandbox judge a set, `crawl`
# lists the operators.
import collections
import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import signal
import sys

import arguments
import environments
import gpus
import node
import rows as foreign
import secret
import seeds as tables
from arguments import CRAWL_TIME
from funnel import Funnel
from journal import Conflict, Journal
from owned_folder import OwnedFolder
from pipeline import GaveUp, Pipeline
from preparation import Failed, prepare
from sandbox_calls import Unable

FAILED, BAD_INPUT, INFRASTRUCTURE, INTERRUPTED = 1, 2, 3, 130


def say(text):
    """Progress and complaints; standard output is for results."""
    with contextlib.suppress(BrokenPipeError):  # the work goes on without a reader
        print(text, file=sys.stderr, flush=True)


def answer(text, end="\n"):
    """A result. A reader that has gone, such as `head`, needs no more of it."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in the buffer goes there


def _asked(request, folder):
    try:
        return prepare(request, {**os.environ, **environments.temporary(folder)})
    except Failed as error:
        raise GaveUp(str(error)) from error


def _prepared(options):
    """Crawls and reads `--against`."""
    seeds = pathlib.Path(options.cache).absolute() / tables.file_name()
    out = getattr(options, "out", None)
    request = {"cache": options.cache, "against": [os.path.abspath(d) for d in getattr(options, "against", [])],
               "out": str(out or "")}
    if request["against"] or not seeds.exists():
        arguments.check_folder("--cache", options.cache)
    if not seeds.exists():
        say(f"synth: first finds the operators of the installed torch and transformers, which takes {CRAWL_TIME}; "
            f"{seeds} keeps them for later calls")
    with OwnedFolder() as folder:
        made = {"against": "", "others": [], **_asked(request, folder)}
    return {**made, "versions": tables.versions(), "seeds": str(seeds), "seeds_digest": _digest(seeds)}


def _table(path):
    seeds = tables.from_json(pathlib.Path(path).read_text())
    rows = [(s.name, s.family, ", ".join(s.tags), ",".join(map(str, s.ranks)) or "own inputs", s.domain, s.call)
            for s in seeds]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0])).rstrip()
    yield from _by_kind(seeds)
    yield f"{len(rows)} seeds"


def _by_kind(seeds):
    """Lines with the number of seeds of each kind, of torch and of transformers."""
    for title, blocks in (("torch", False), ("transformers", True)):
        tags = [tag for s in seeds if blocks == (s.family == "transformers") for tag in s.tags[blocks:blocks + 1]]
        if tags:
            counts = collections.Counter(tags).most_common()
            yield f"{title}: " + ", ".join(f"{number} {kind}" for kind, number in counts)


def _settings(options, prepared):
    """The settings that decide the set of tasks. The number of workers is not part of them."""
    return {**_origin(options),
            "device": options.device, "window": arguments.window(options), "compile": options.compile,
            "seconds": options.seconds,
            "memory": int(options.memory_gib * (1 << 30)), "versions": prepared["versions"],
            "seeds_digest": prepared["seeds_digest"], "against_digest": _digest(prepared["against"])}


def _origin(options):
    """Where candidates come from."""
    if options.command == "import":
        return {"source": options.source, "seed": 0, "shares": None, "sample": options.sample}
    model = {"url": options.url, "model": options.model} if options.composer == "llm" else {}
    return {"source": options.composer, "seed": options.seed, "shares": options.shares, **model}


def _digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


def _rows(options, settings, prepared, key):
    """A function that returns the rows from the nth on; None if workers compose."""
    if options.command == "import":
        def read(start):
            rows = foreign.read(options.source)
            return itertools.islice(foreign.sample(rows, options.sample) if options.sample else rows, start, None)
        return read
    if options.composer == "llm":
        from endpoint import Endpoint  # loads httpx
        from llm import Llm, Rows
        endpoint = Endpoint(options.url, options.model, key, options.answer_seconds)
        seeds = tables.from_json(pathlib.Path(prepared["seeds"]).read_text())
        return lambda start: Rows(Llm(endpoint, seeds, settings), start, options.requests)
    return None


def _fill(options, settings, prepared, journal, funnel, key):
    """Runs the pipeline; the exit status."""
    paths = {"seeds": prepared["seeds"], "against": prepared["against"]}
    rows = _rows(options, settings, prepared, key)
    try:
        pipeline = Pipeline({**settings, **paths, "hides_key": key is not None}, journal, funnel, rows, say)
        pipeline.run(getattr(options, "count", None), options.workers, options.gpus, options.node)
    except (GaveUp, foreign.Unreadable) as error:
        say(f"synth: {error}")
        return INFRASTRUCTURE if isinstance(error, GaveUp) else BAD_INPUT
    except KeyboardInterrupt:
        say("interrupted; the same command continues")
        return INTERRUPTED
    return 0


def _run(options):
    import store  # loads pyarrow, which --help does not need
    arguments.check(options)
    if options.device == "cuda" and options.workers and (lack := gpus.lack(options.gpus or 1)):
        raise foreign.Unreadable(lack)
    key = secret.take(getattr(options, "key_env", None))
    options.out.mkdir(parents=True, exist_ok=True)
    prepared = _prepared(options)
    for name in prepared["others"]:
        say(f"{name}: holds no program to stay away from")
    settings, funnel = _settings(options, prepared), Funnel()
    journal = Journal(options.out / "journal.jsonl", settings)
    try:
        status = _fill(options, settings, prepared, journal, funnel, key)
    finally:
        journal.close()
    written, funnel = store.finish(options.out, settings, journal.records)
    say(funnel.line())
    answer(json.dumps({"out": str(options.out), "tasks": len(written), **funnel.as_dict()}))
    failed = options.command == "import" and (not written or options.sample and len(written) < funnel.candidates)
    return FAILED if status == 0 and failed else status


def _ingest(options):
    import ingest_command  # loads pyarrow
    try:
        return 0 if ingest_command.run(options, say, answer) else INTERRUPTED
    except Unable as error:
        raise GaveUp(f"{error}; once that is repaired, the same command goes on") from error


def main(given=None):
    """The exit status: 0 done, 1 a sampled row failed or an import accepted none, 2 bad input, 3 infrastructure, 130
    interrupted."""
    options = arguments.parser().parse_args(given)
    try:
        if options.command == "crawl":
            path = _prepared(options)["seeds"]
            answer("\n".join(_table(path)) if options.list else path)
            return 0
        if options.command == "worker":
            return node.serve(options.gpu)
        if options.command == "ingest":
            return _ingest(options)
        return _run(options)
    except (Conflict, foreign.Unreadable) as error:
        say(f"synth: {error}")
        return BAD_INPUT
    except GaveUp as error:
        say(f"synth: {error}")
        return INFRASTRUCTURE
    except OSError as error:
        place = error.filename or getattr(options, "out", "")
        say(f"synth: {place}: {error.strerror or error}; once that is repaired, the same command goes on")
        return INFRASTRUCTURE
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # of a terminal that closes; nohup ignores it
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        ended = main()
    except BrokenPipeError:  # of the reader of --help
        ended = 0
    finally:  # also after --help
        answer("", end="")
    sys.exit(ended)
