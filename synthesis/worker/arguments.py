# SPDX-License-Identifier: Apache-2.0
# The options of the command line, and the complaints about them that need no preparation.
import argparse
import difflib
import math
import os
import pathlib
import sys
import urllib.parse

import environments
import rows as foreign
import windows
from remote import MOST_AWAY_S
from shares import SHARES

_ABOUT = "Makes training tasks: finds operators, composes and filters tasks, stores them; or imports tasks."
_EXAMPLES = """Without a command it composes. Examples:
  warpsmith synth --count 200 --seed 5 --out DIR       compose 200 tasks (also `warpsmith synth compose …`)
  warpsmith synth compose --help                       show the options of composing
  warpsmith synth import ROWS.parquet --out DIR        take in foreign tasks
  warpsmith synth import DIR --out OTHER --sample 100  judge 100 tasks of a finished set again
  warpsmith synth ingest DIR --slots 4                 have the sandbox take in a finished set
  ssh HOST warpsmith synth worker                      work for a run elsewhere (its --node)
  warpsmith synth crawl --list                         show the operators
Exit codes: 0 done, 1 a sampled row failed or an import accepted none, 2 bad input,
3 infrastructure, 130 interrupted."""


CRAWL_TIME = "about 10 minutes"


def _cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "warpsmith", "synthesis")


def shares_of(text):
    """Parses `1=3.4,2=83.8,…`."""
    try:
        pairs = [part.split("=") for part in text.split(",")]
        shares = {name: float(value) for name, value in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected NUMBER=SHARE,…, got {text}") from None
    wrong = set(shares) - {"1", "2", "3", "4", "5", "transformers"}
    if wrong or not all(0 <= share < math.inf for share in shares.values()) or sum(shares.values()) <= 0:
        raise argparse.ArgumentTypeError(f"expected shares of 1 to 5 and transformers, got {text}")
    return shares


def _text_of(shares):
    """Shares in the form that `shares_of` parses; a percent sign would be a format of argparse."""
    return ",".join(f"{name}={share:g}" for name, share in shares.items())


def _windows(end):
    return f"{windows.usual('cpu')[end]:g} on a CPU, {windows.usual('cuda')[end]:g} on a GPU"


def _url(text):
    """An address whose parts may be shown and stored."""
    parts = urllib.parse.urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise argparse.ArgumentTypeError("expected http[s]://HOST[:PORT]/PATH without a user or a query")
    return text


def _positive(kind):
    def convert(text):
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"expected a finite number above 0, got {text}")
        return value
    return convert


def _not_negative(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected 0 or more, got {text}")
    return value


def _command(text):
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a command that runs `warpsmith synth worker` on another machine, "
                                         "such as 'ssh HOST warpsmith synth worker'; got an empty one")
    return text


def _add_filters(parser):
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR",
                        help="folder of the run; continues a run there")
    parser.add_argument("--workers", type=_not_negative, default=os.cpu_count(), metavar="W",
                        help="workers on this machine; may be 0 with --node; default: one for each core, %(default)s")
    parser.add_argument("--gpus", type=_positive(int), metavar="N",
                        help="GPUs that the workers on this machine use in turn; default 1")
    parser.add_argument("--node", action="append", default=[], type=_command, metavar="COMMAND",
                        help="one more worker, elsewhere: a shell command that runs `warpsmith synth worker` there, "
                             "such as 'ssh HOST ./warpsmith synth worker --gpu 0'; may be given many times; given up "
                             f"when it is away for {MOST_AWAY_S / 60:.0f} minutes")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu",
                        help="where the tasks run; default %(default)s")
    parser.add_argument("--against", nargs="+", default=[], metavar="DIR", help="programs to stay away from")
    parser.add_argument("--min-ms", type=_positive(float), metavar="MS",
                        help=f"least time of one call; default {_windows(0)}")
    parser.add_argument("--max-ms", type=_positive(float), metavar="MS",
                        help=f"most time of one call; default {_windows(1)}")
    parser.add_argument("--compile", choices=("none", "aot_eager", "inductor"), default="aot_eager",
                        help="torch.compile's backend whose outputs must equal eager's, with the time `compile_ms`; "
                             "inductor takes seconds a task; default %(default)s")
    parser.add_argument("--seconds", type=_positive(float), default=60.0, metavar="S",
                        help="most CPU time that one candidate may take; default %(default)g")
    parser.add_argument("--memory-gib", type=_positive(float), default=4.0, metavar="GIB",
                        help="most memory that one candidate may take; default %(default)g")


def _add_ingest(parser):
    parser.description = ("The engine's sandbox takes in each task, with its mutation gate. Tasks that it refuses "
                          "leave the set's files; ingest.jsonl says why. A killed ingest goes on where it was.")
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR", help="folder that `synth` or `synth import` wrote")
    parser.add_argument("--slots", type=_positive(int), default=1, metavar="N",
                        help="slots that take in tasks side by side; default %(default)s")
    parser.add_argument("--gpu", type=_not_negative, default=0, metavar="G",
                        help="number of the GPU for tasks that need one; default %(default)s")
    program = os.environ.get("WARPSMITH_PROGRAM")  # the program that runs this
    parser.add_argument("--program", default=program, required=program is None, metavar="FILE",
                        help="the program `warpsmith`" + ("; default %(default)s" if program else ""))


class _Parser(argparse.ArgumentParser):
    """Takes options by their full names, and names the nearest one for an unknown one."""

    def __init__(self, **settings):
        super().__init__(**settings, allow_abbrev=False)

    def parse_known_args(self, args=None, namespace=None):
        given = sys.argv[1:] if args is None else list(args)
        if not self._subparsers:  # options of another part are unknown to the parser of all parts
            self._refuse_unknown(given)
        return super().parse_known_args(given, namespace)

    def _refuse_unknown(self, given):
        known = [name for name in self._option_string_actions if name.startswith("--")]
        for name in (word.partition("=")[0] for word in given if word.startswith("--") and word != "--"):
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                self.error(f'no option "{name}"; ' +
                           (f'the nearest is "{near[0]}"' if near else "expected one of " + ", ".join(sorted(known))))


def parser():
    """The parser of the whole command line."""
    found = _Parser(prog="warpsmith synth", description=_ABOUT, epilog=_EXAMPLES,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--cache", default=_cache_folder(), metavar="DIR",
                       help="folder of crawled operators; the first call, also of `import`, finds them, which takes "
                            f"{CRAWL_TIME}; default %(default)s")
    commands = found.add_subparsers(dest="command", required=True)
    crawl = commands.add_parser("crawl", help="finds the operators of the installed torch and transformers")
    crawl.add_argument("--list", action="store_true", help="prints the table; by default its path")
    synth = commands.add_parser("compose", aliases=["synth"],  # its former name
                                prog="warpsmith synth", help="composes and filters tasks (the default)")
    synth.set_defaults(command="compose")
    synth.add_argument("--count", required=True, type=_positive(int), metavar="N", help="tasks to accept")
    synth.add_argument("--seed", required=True, type=int, metavar="S", help="decides the tasks")
    synth.add_argument("--shares", type=shares_of, metavar="1=3.4,2=83.8,…",
                       help=f"percent of tasks by number of operators; default {_text_of(SHARES)}, the paper's")
    synth.add_argument("--composer", choices=("rules", "llm"), default="rules",
                       help="what writes candidates; default %(default)s")
    synth.add_argument("--url", type=_url, metavar="URL",
                       help="endpoint of the composer llm, OpenAI-compatible, as far as /v1")
    synth.add_argument("--model", metavar="NAME", help="model of the composer llm, as the endpoint names it")
    synth.add_argument("--key-env", metavar="VAR", help="the variable that holds the endpoint's key, if it needs one")
    synth.add_argument("--requests", type=_positive(int), default=8, metavar="N",
                       help="most requests in flight at the endpoint; default %(default)s")
    synth.add_argument("--answer-seconds", type=_positive(float), default=120.0, metavar="S",
                       help="most seconds that one answer may take; default %(default)g")
    _add_filters(synth)
    worker = commands.add_parser("worker", help="works for a run on another machine, through standard input and output")
    worker.add_argument("--gpu", type=_not_negative, metavar="G",
                        help="the number of the GPU that candidates use, among the visible ones; default: the first")
    _add_ingest(commands.add_parser("ingest", help="has the sandbox take in the tasks of a finished set"))
    taken = commands.add_parser("import", help="filters foreign tasks",
                                description="Filters foreign tasks. The first call with a new --cache finds the "
                                            "operators of the installed torch and transformers, which takes "
                                            f"{CRAWL_TIME}.")
    taken.add_argument("source", metavar="SRC",
                       help="*.parquet, *.arrow, *.jsonl, *.py, the tasks of another suite, or a folder of them")
    taken.add_argument("--sample", type=_positive(int), metavar="N", help="judges N rows; exit status 1 if one fails")
    _add_filters(taken)
    return found


def check(options):
    """Complaints that need no preparation."""
    if not options.workers and not options.node:
        raise foreign.Unreadable("--workers 0 needs a --node that works")
    if options.gpus and options.device != "cuda":
        raise foreign.Unreadable("--gpus goes with --device cuda")
    if options.gpus:
        _check_gpus(options.gpus)
    for folder in options.against:
        if not os.path.isdir(folder):
            raise foreign.Unreadable(f"--against {folder}: {'a file' if os.path.exists(folder) else 'no such folder'}; "
                                     "expected a folder of programs")
    check_folder("--out", options.out)
    if options.command == "import":
        foreign.check(options.source)
    else:
        _check_composer(options)
    composed = options.command == "compose" and options.composer == "rules"
    if wrong := windows.complaint(window(options), composed and options.device == "cuda"):
        raise foreign.Unreadable(wrong)


def _check_gpus(gpus):
    try:
        environments.visible(gpus - 1)
    except ValueError as error:
        raise foreign.Unreadable(f"--gpus {gpus}: {error}") from None


def check_folder(option, folder):
    """Complains if no folder can be made at this path, or nothing can be written there."""
    folder = nearest = pathlib.Path(folder).absolute()
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir():
        raise foreign.Unreadable(f"{option} {folder}: {nearest} is no folder; name a folder that can be made")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise foreign.Unreadable(f"{option} {folder}: {nearest} cannot be written; name another folder")


def _check_composer(options):
    given = [name for name in ("url", "model", "key_env") if getattr(options, name)]
    if options.composer == "rules" and given:
        raise foreign.Unreadable(f"--{given[0].replace('_', '-')} goes with --composer llm")
    if options.composer == "llm" and not (options.url and options.model):
        raise foreign.Unreadable("--composer llm needs --url and --model")
    if options.key_env and not os.environ.get(options.key_env):
        raise foreign.Unreadable(f"--key-env {options.key_env}: the environment holds no such variable")
    if options.key_env and not (os.environ[options.key_env].isascii() and os.environ[options.key_env].isprintable()):
        raise foreign.Unreadable(f"--key-env {options.key_env}: the variable holds other than printable ASCII letters")


def window(options):
    """The least and the most milliseconds of one call."""
    low, high = windows.usual(options.device)
    return [options.min_ms or low, options.max_ms or high]
