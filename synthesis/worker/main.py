# SPDX-License-Identifier: Apache-2.0
# Command line: `synth` composes tasks, `import` takes foreign ones in, `crawl` lists the operators.
import argparse
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import rows as foreign
import seeds as tables
from funnel import Funnel
from journal import Conflict, Journal
from pipeline import GaveUp, Pipeline

BAD_INPUT, INFRASTRUCTURE, INTERRUPTED = 2, 3, 130
_WINDOWS = {"cpu": (0.05, 20.0), "cuda": (1.0, 100.0)}
_HERE = pathlib.Path(__file__).resolve().parent


def say(text):
    """Progress and complaints; standard output is for results."""
    print(text, file=sys.stderr, flush=True)


def _cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "warpsmith", "synthesis")


def _shares(text):
    """Parses `1=3.4,2=83.8,…`."""
    try:
        pairs = [part.split("=") for part in text.split(",")]
        shares = {name: float(value) for name, value in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected NUMBER=SHARE,…, got {text}") from None
    wrong = set(shares) - {"1", "2", "3", "4", "5", "transformers"}
    if wrong or min(shares.values()) < 0 or sum(shares.values()) <= 0:
        raise argparse.ArgumentTypeError(f"expected shares of 1 to 5 and transformers, got {text}")
    return shares


def _positive(kind):
    def convert(text):
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
        return value
    return convert


def _add_filters(parser):
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR", help="a run there is continued")
    parser.add_argument("--workers", type=_positive(int), default=os.cpu_count(), metavar="W")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--against", nargs="+", default=[], metavar="DIR", help="programs to stay away from")
    parser.add_argument("--min-ms", type=_positive(float), help="default 0.05 on a CPU, 1 on a GPU")
    parser.add_argument("--max-ms", type=_positive(float), help="default 20 on a CPU, 100 on a GPU")
    parser.add_argument("--compile", choices=("none", "aot_eager", "inductor"), default="none")
    parser.add_argument("--seconds", type=_positive(float), default=60.0, help="most that one candidate may take")
    parser.add_argument("--memory-gib", type=_positive(float), default=4.0, help="most that one candidate may take")


def _parser():
    parser = argparse.ArgumentParser(prog="warpsmith synth", description=__doc__)
    parser.add_argument("--cache", default=_cache_folder(), metavar="DIR", help="folder of crawled operators")
    commands = parser.add_subparsers(dest="command", required=True)
    crawl = commands.add_parser("crawl", help="finds the operators of the installed torch and transformers")
    crawl.add_argument("--list", action="store_true", help="prints the table")
    synth = commands.add_parser("synth", help="composes and filters tasks")
    synth.add_argument("--count", required=True, type=_positive(int), metavar="N")
    synth.add_argument("--seed", required=True, type=int, metavar="S")
    synth.add_argument("--shares", type=_shares, metavar="1=3.4,2=83.8,…", help="default: the paper's")
    synth.add_argument("--composer", choices=("rules", "llm"), default="rules")
    synth.add_argument("--rows", default="-", metavar="FILE", help="JSON lines of the composer llm; - reads them here")
    _add_filters(synth)
    taken = commands.add_parser("import", help="filters foreign tasks")
    taken.add_argument("source", metavar="SRC", help="*.parquet, *.jsonl, or a folder of them or of *.py")
    _add_filters(taken)
    return parser


def _prepared(options):
    """Crawls and reads `--against`, in a process of its own since that loads torch; nothing where both are at hand."""
    seeds = pathlib.Path(options.cache).absolute() / tables.file_name()
    out = getattr(options, "out", None)
    request = {"cache": options.cache, "against": [os.path.abspath(d) for d in getattr(options, "against", [])],
               "out": str(out or "")}
    answer = {"against": str(out / "against.jsonl") if out else "", "others": []}
    if request["against"] or not seeds.exists():
        done = subprocess.run([sys.executable, str(_HERE / "prepare.py")], input=json.dumps(request), text=True,
                              stdout=subprocess.PIPE)
        if done.returncode:
            raise GaveUp(f"preparation ended with exit status {done.returncode}")
        answer = {**answer, **json.loads(done.stdout)}
    elif out:
        pathlib.Path(answer["against"]).write_text("")
    return {**answer, "versions": tables.versions(), "seeds": str(seeds), "seeds_digest": _digest(seeds)}


def _table(path):
    seeds = tables.from_json(pathlib.Path(path).read_text())
    rows = [(s.name, s.family, ",".join(map(str, s.ranks)) or "own inputs", s.domain, s.call) for s in seeds]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0])).rstrip()
    yield f"{len(rows)} seeds"


def _check(options):
    """Complaints that need no preparation."""
    for folder in options.against:
        if not os.path.isdir(folder):
            raise foreign.Unreadable(f"{folder}: no such folder")
    if options.command == "import":
        foreign.check(options.source)
    low, high = _window(options)
    if low >= high:
        raise foreign.Unreadable(f"--min-ms {low:g} is not below --max-ms {high:g}")


def _window(options):
    low, high = _WINDOWS[options.device]
    return [options.min_ms or low, options.max_ms or high]


def _settings(options, prepared):
    """What decides the set of tasks. The number of workers is not part of it."""
    source = getattr(options, "source", None) or ("llm" if getattr(options, "composer", "") == "llm" else "rules")
    return {"source": source, "seed": getattr(options, "seed", 0), "shares": getattr(options, "shares", None),
            "device": options.device, "window": _window(options), "compile": options.compile,
            "seconds": options.seconds,
            "memory": int(options.memory_gib * (1 << 30)), "versions": prepared["versions"],
            "seeds_digest": prepared["seeds_digest"], "against_digest": _digest(prepared["against"])}


def _digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


def _rows(options):
    if options.command == "import":
        return foreign.read(options.source)
    if options.composer == "llm":
        return foreign.stream(sys.stdin if options.rows == "-" else open(options.rows, errors="replace"))
    return None


def _fill(options, settings, prepared, journal, funnel):
    """Runs the pipeline; 0, or 130 after Ctrl-C."""
    paths = {"seeds": prepared["seeds"], "against": prepared["against"]}
    pipeline = Pipeline({**settings, **paths}, journal, funnel, _rows(options), say)
    try:
        pipeline.run(getattr(options, "count", None), options.workers)
    except KeyboardInterrupt:
        say("interrupted; the same command continues")
        return INTERRUPTED
    return 0


def _run(options):
    import store  # loads pyarrow, which --help does not need
    _check(options)
    options.out.mkdir(parents=True, exist_ok=True)
    prepared = _prepared(options)
    for name in prepared["others"]:
        say(f"{name}: holds no program to stay away from")
    settings, funnel = _settings(options, prepared), Funnel()
    journal = Journal(options.out / "journal.jsonl", settings)
    try:
        status = _fill(options, settings, prepared, journal, funnel)
    finally:
        journal.close()
    written = store.write(options.out, settings, journal.records, funnel)
    say(funnel.line())
    print(json.dumps({"out": str(options.out), "tasks": len(written), **funnel.as_dict()}))
    wanted = getattr(options, "count", None)
    if status == 0 and wanted and len(written) < wanted:
        say(f"the rows ended before {wanted} tasks were accepted")
    return status


def main(arguments=None):
    """The exit status: 0 done, 2 bad input, 3 infrastructure, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "crawl":
            path = _prepared(options)["seeds"]
            print("\n".join(_table(path)) if options.list else path)
            return 0
        return _run(options)
    except (Conflict, foreign.Unreadable) as error:
        say(f"synth: {error}")
        return BAD_INPUT
    except (GaveUp, OSError) as error:
        say(f"synth: {error}")
        return INFRASTRUCTURE
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    sys.exit(main())
