# SPDX-License-Identifier: Apache-2.0
"""What the program prints, writes and takes, compared with tests/golden/interfaces/.

    WARPSMITH_TEST_PROGRAM=… python -B tests/scripts/interfaces_test.py [NAME…] [--write]

NAME is a golden file without .txt. --write writes what was found over the golden files; look at the difference before
you commit it. A line with "? " in front may be absent: it depends on times or on the machine. Where such a line says
null or nothing, all lines below its place may be absent too. A part whose times were not stable is left out, and named.
"""

import concurrent.futures
import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib
import unittest

from interfaces_support import (CPU_TASKS, EVERYTHING, KERNEL, LEFT_OUT, MICRO_KERNEL, MICRO_TASK, PROGRAM, ROOT, TASK,
                                TYPES_KERNEL, TYPES_TASK, Endpoint, Golden, Mcp, Served, document, events, file,
                                files_of, good, json_file, json_lines, once, place, run, settings, several,
                                small_configuration, source)

WRITE = "--write" in sys.argv
EXAMPLES = ROOT / "configs/examples"
BROKEN = "int x = ;\n"
PLAN = '[[step]]\nmemset = "y"\n'
RANDOM_TASK = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)
def get_inputs():
    return [torch.rand(64, 64)]
def get_init_inputs():
    return []
"""
SLOW_TASK = "import time\ntime.sleep(600)\n" + RANDOM_TASK
HOST_MODEL = """import torch
class ModelNew(torch.nn.Module):
    def forward(self, x, z):
        return ((x + z) ** 2).mean(-1)
"""


# --- Options

def cli_options(*words):
    """Names of options, positional arguments and subcommands in the help of a command of the program."""
    heading, found = "", set()
    name = " ".join(["warpsmith", *words])
    for line in good(*words, "--help").stdout.splitlines():
        if re.match(r"\w+:$", line):
            heading = line
        elif re.match(r"  \S", line) and heading in ("Options:", "Positionals:", "Subcommands:"):
            first = line.split()[0]
            found.update(f"{name} {one}" for one in first.split(","))
        elif not line:
            heading = ""
    return found


def synth_options(*words):
    """The same of a part of `synth`, from the worker that this command becomes."""
    found, name = set(), " ".join(["warpsmith synth", *words])
    worker = [sys.executable, "-B", ROOT / "synthesis/worker/main.py"]
    for line in good(*words, "--help", program=worker).stdout.splitlines():
        head = line[2:].split("  ")[0] if line.startswith("  -") else ""
        found.update(f"{name} {one}" for one in re.findall(r"(?<!\S)--?[A-Za-z][\w-]*", head))
        if (parts := re.match(r"  \{(.*)\}$", line)):
            found.update(f"{name} {one}" for one in parts[1].split(","))
    return found


def launcher_options(*words):
    text = good(*words, "--help", program=[ROOT / "warpsmith"]).stdout
    name = " ".join(["./warpsmith", *words])
    words = re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*|WARPSMITH_[A-Z]+|(?<=^  )[a-z]+(?= )", text, re.M)
    return {f"{name} {one}" for one in words}


def options():
    commands = ["train", "eval", "check", "optimize", "mcp", "serve", "runs", "bench", "config", "doctor"]
    listed = cli_options()
    commands += sorted({line.split()[1] for line in listed} - {*commands, "synth", "-h", "--help", "--version"})
    found = [listed, *several(cli_options_of, [[name] for name in commands])]
    parts = {*found[commands.index("runs") + 1], *found[commands.index("bench") + 1]}
    parts = sorted(line.split()[1:] for line in parts if not line.split()[-1].startswith("-"))
    found += several(cli_options_of, parts)
    synth = synth_options()
    found += [synth, *several(synth_options, [line.split()[-1] for line in synth if "-" not in line.split()[-1]])]
    return set().union(*found, launcher_options(), launcher_options("test"))


def cli_options_of(words):
    return cli_options(*words)


# --- Configuration

def flat(table, at=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{at}{key}.")
        else:
            yield f"{at}{key}", value


def printed(config, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    text = good("config", config, *words).stdout.replace(str(ROOT), "ROOT").replace(str(place()), "PLACE")
    return dict(flat(tomllib.loads(text)))


@once
def least_configuration():
    return file("least.toml", f'[run]\nseed = 1\n[model]\nfolder = "{ROOT}/configs/policy/tiny"\n'
                f'[synthesis]\ntasks = ["{TASK}"]\n')


@once
def defaults():
    return printed(least_configuration())


KINDS = {"an integer": "integer", "a number": "number", "true or false": "boolean", "a string": "string",
         "one of": "one of", "any of": "any of", "a list of strings": "strings", "a duration": "duration",
         "a size": "size", "a table": "table"}


def complaints_about(keys, value):
    """What is expected at each key, from the complaints about a value that is wrong."""
    words = [word for key in keys for word in ("--set", f"{key}={value}")]
    found = {}
    for line in good("config", least_configuration(), *words, codes=(2,)).stderr.splitlines():
        said = re.search(r"([a-z0-9_.]+): expected (.*), got ", line)
        if said and said[1] in keys:
            kind = next((name for text, name in KINDS.items() if said[2].startswith(text)), said[2])
            names = re.findall(r'"([^"]*)"', said[2])
            bounds = re.search(r" (from \S+ to [^\s,]+|of at (least|most) \S+)(, the low end excluded)?", said[2])
            text = f"{kind} {', '.join(names)}".strip() + (bounds[0] if bounds and not names else "")
            found.setdefault(said[1], text)
    return found


def configuration():
    """Each key with its default and what it takes; then the other values of some files in configs/."""
    values = defaults()
    found = {f"{key} = {json.dumps(value)}" for key, value in values.items()}
    expected = complaints_about(list(values), "{x=1}")
    found.update(f"{key}: {expected.get(key, 'takes a table')}" for key in values)
    for kinds, wrong in [(("strings",), '["?"]'), (("duration", "size"), "-1")]:
        more = complaints_about([key for key in values if expected.get(key) in kinds], wrong)
        found.update(f"{key}: {text}" for key, text in more.items())
    for name, other in zip(CONFIGURATIONS, several(printed, [ROOT / "configs" / name for name in CONFIGURATIONS])):
        found.update(f"{name}: {key} = {json.dumps(value)}" for key, value in other.items() if values.get(key) != value)
    return found


CONFIGURATIONS = ("quickstart.toml", "quickstart-sft.toml", "h200-128k.toml", "paper-stages.toml")


# --- Judging

KEEP = ("--keep", "60")  # seconds: one reference worker serves all checks, and ends soon after them


def judged(label, *words, codes=(0, 1), keep=KEEP):
    """`check --json`. Unstable timing is tried again."""
    for _ in range(3):
        end = good("check", "--json", *keep, *words, codes=(*codes, 3))
        answer = json.loads(end.stdout)
        if answer["verdict"] not in ("unstable_timing", "infra_noise"):
            return document(label, answer, ("further_baselines", "further")) | {
                f"{label}: exit code {end.returncode}"}
    return {f"{label}: {LEFT_OUT}"}


def check():
    right, wrong = source("right.cpp", KERNEL), source("wrong.cpp", KERNEL.replace("sum / ", "2 * sum / "))
    empty = source("empty.cpp", 'extern "C" void solve(const void* const*, void* const*, const long*) {}')
    task = ("--task", TASK)
    found = judged("passed", *task, right)
    found |= judged("wrong", *task, wrong)
    found |= judged("nonfinite", *task, empty)
    found |= judged("compile error", *task, source("broken.cpp", BROKEN))
    found |= judged("verified only", "--verify-only", *task, right)
    found |= judged("compiled only", "--compile-only", *task, source("other.cpp", KERNEL), keep=())
    found |= judged("hidden sizes", EXAMPLES / "ragged_rows")
    found |= judged("contract host", "--verify-only", *task_on_cpu(), file("host/model_new.py", HOST_MODEL).parent)
    found |= judged("task refused", "--task", file("random_task.py", RANDOM_TASK), right, codes=(2,))
    found |= judged("numerics paper", "--numerics", "paper", *task, right)
    slow = file("slow_task.py", SLOW_TASK)
    found |= judged("deadline", "--timeout", "2", "--task", slow, right, keep=("--keep", "0"))
    explained = run("check", "--json", "--explain", EXAMPLES / "rms_norm_linear")
    if explained.returncode == 0:  # CUDA's compiler is installed
        # No jail starts for a kernel whose cubin is in the cache.
        return found | document("explained", json.loads(explained.stdout), closed=("jail",))
    return found | {f"explained: {LEFT_OUT}"}


def task_on_cpu():
    return "--task", file("cpu_task.py", 'DEVICE = "cpu"\n' + TASK.read_text(encoding="utf-8"))


@once
def suite_run():
    """A suite of two tasks with recorded solutions; the run's folder, and the finished program."""
    for level, name, kernel in [("level1", "square_mean", KERNEL), ("level2", "scale_relu_sum", BROKEN)]:
        file(f"suite/{level}/{name}.py", (CPU_TASKS / f"{name}.py").read_text(encoding="utf-8"))
        file(f"solutions/{name}/1/kernel.cpp", kernel)
    file("suite/level2/broken.py", "no python\n")
    file("suite/level2/random_task.py", RANDOM_TASK)
    end = good("eval", small_configuration(), "--suite", place() / "suite", "--solutions", place() / "solutions",
               "--samples", "2", "--quiet", codes=(3,))
    return next((place() / "runs").glob("*-suite")), end


def suite():
    """What a run of a suite holds; if times are not stable, its figures are left out."""
    folder, _ = suite_run()
    report = folder / "report.json"
    found = json_file("suite.json", folder / "suite.json") | files_of("file", folder)
    rows = list(csv.reader((folder / "report.csv").read_text().splitlines()))
    found |= {f"report.csv: column {i:02}: {name}" for i, name in enumerate(rows[0])}
    found |= {f"report.csv: scope {row[0]}" for row in rows[1:]}
    end = run(folder, "--check", program=[sys.executable, "-B", ROOT / "scripts/suite_table.py"])
    found.add(f"scripts/suite_table.py --check: exit code {end.returncode}")
    if not any(row.get("best") for row in json.loads(report.read_text())["rows"]):
        return found | {f"report.json: {LEFT_OUT}", f"report.json against another: {LEFT_OUT}"}
    found |= json_file("report.json", report, ("failures", "pass_at"))
    good("eval", "--report", folder, "--against", folder)
    return found | json_file("report.json against another", report, closed=("rows", "before", "now"))


def evaluation():
    """`eval --json`, compared with figures of an earlier one."""
    suite_run()  # makes the solutions
    earlier = {"by_task": {"square_mean": {"rewards": [1.0], "passed": [1.0]}}}
    end = good("eval", small_configuration(), "--training-tasks", "--solutions", place() / "solutions", "--samples",
               "1", "--quiet", "--json", "--against", file("eval.json", json.dumps(earlier)))
    figures = json.loads(end.stdout)
    if figures["pass_rate"] < 1:
        return {f"eval: {LEFT_OUT}"}
    return document("eval", figures, ("by_task", "dropped_newest"))


IN_VERDICTS = ("evidence", "jail", "phase_ms")  # as in what `check` prints


def optimize():
    """Candidates for an operator, one of which is promoted; if its times are not stable, most is left out."""
    file("kernels/fast.cpp", MICRO_KERNEL.read_text())
    file("kernels/wrong.cpp", MICRO_KERNEL.read_text().replace("y[r] = sum", "y[r] = sum + 1"))
    result = place() / "result"
    end = good("optimize", MICRO_TASK, "--candidates", place() / "kernels", "--out", result, "--name",
               "warpsmith_row_square_sum", codes=(0, 3))
    found = json_file("settings.json", result / "settings.json")
    found |= document("settings.json stack", json.loads(json.loads((result / "settings.json").read_text())["stack"]))
    if json.loads((result / "report.json").read_text())["promoted"] is None:
        labels = ("report.json", "journal.jsonl", "signature.json", "flags.json", "file", "optimize")
        return found | {f"{label}: {LEFT_OUT}" for label in labels}
    found |= json_file("report.json", result / "report.json", closed=IN_VERDICTS)
    found |= json_lines("journal.jsonl", result / "journal.jsonl", closed=IN_VERDICTS)
    for name in ("signature.json", "flags.json"):
        found |= json_file(name, next(result.glob(f"export/*/{name}")))
    return found | files_of("file", result) | {f"optimize: exit code {end.returncode}"}


# --- Runs

@once
def trained_run():
    """A short run that learns from what it samples; its folder, and what it printed."""
    end = train("run.name=trained", "learner.critic.kind=separate", "telemetry.trace=true", "telemetry.interval=50ms")
    return place() / "runs/trained", json.loads(end.stdout)


FIGURES = ("dropped_by_reason", "dropped_newest")


def runs():
    folder, out = trained_run()
    found = document("train --json", out, FIGURES)
    root = ("--root", folder.parent)
    shown = json.loads(good("runs", *root, "show", "trained", "--json").stdout)
    found |= document("runs show --json", shown, FIGURES)
    shown = json.loads(good("runs", *root, "show", suite_run()[0], "--json").stdout)
    found |= document("runs show --json, with an event", shown["events"], names={"kind"})
    listed = json.loads(good("runs", *root, "list", "--json").stdout)
    found |= document("runs list --json", [one for one in listed if one["run"] == str(folder)], FIGURES)
    for words in (["--best"], ["--show", "1"]):
        good("runs", *root, "trajectories", "trained", *words)
    found |= files_of("file", folder)
    for name in ("stack.json", "text.json"):
        found |= json_file(name, folder / name, ("versions",))
    checkpoint = folder / "checkpoints/step-1"
    for name in ("manifest.json", "trainer.json", "config.json", "generation_config.json"):
        found |= json_file(name, checkpoint / name)
    found |= document("trace.json", json.loads(whole_trace(folder / "trace.json")), ("args",), {"ph"})
    return found


def whole_trace(path):
    """The text of a trace; one that was not ended is a list without its end."""
    text = path.read_text().rstrip().rstrip(",")
    return text if text.endswith(("]", "}")) else text + "]"


def database():
    """The schema and stored names of run.db, and that documented queries run."""
    folder, _ = trained_run()
    db = sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)
    found = {f"{pragma} {db.execute(f'PRAGMA {pragma}').fetchone()[0]}" for pragma in
             ("user_version", "application_id", "journal_mode")}
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        found.add(f"{kind} {name}: {' '.join(sql.split())}")
        if kind != "index":
            columns = db.execute(f"PRAGMA table_xinfo({name})")
            found.update(f"{kind} {name}: column {at:02} {column} {of}" for at, column, of, *_ in columns)
    found.update(f"meta: {key}" for (key,) in db.execute("SELECT key FROM meta"))
    for (metrics,) in db.execute("SELECT metrics FROM steps"):
        names = {re.sub(r"^verdict\..*", "verdict.CLASS", name): value for name, value in json.loads(metrics).items()}
        found |= document("metrics of a step", names)
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for query in re.findall(r"SELECT [^`;\"]+", path.read_text(encoding="utf-8")):
            try:
                db.execute(f"EXPLAIN {query}")
            except sqlite3.Error as error:
                raise AssertionError(f"{path}: {query}: {error}") from error
    return found


def stages():
    """A chain whose brain is a scripted endpoint, and stages that learn from recorded runs."""
    chain, collected = place() / "runs/chain", place() / "runs/chain/stages/1-collect"
    learning = ("sft.epochs=1", "sft.context=1024", "sft.batch_tokens=2048")
    task = file("types.py", TYPES_TASK)
    with Endpoint(TYPES_KERNEL) as endpoint:
        end = train("run.name=chain", 'run.stages=["collect", "rft"]', "collect.samples=1", f"brain.url={endpoint.url}",
                    "brain.model=scripted", "brain.stream=false", f'synthesis.tasks=["{task}"]',
                    "agent.max_tokens=4096", "agent.result_tokens=1500", "generator.max_new_tokens=600",
                    "agent.tools=" + json.dumps(TOOLS), *learning, codes=(0, 2, 3))
    if end.returncode and not has_reward(collected):
        return {f"{EVERYTHING}: {LEFT_OUT}"}
    found = document("chain --json", json.loads(end.stdout)) | files_of("file", chain)
    found |= json_file("stage record", chain / "stages/1-collect.json")
    found |= json_file("usage.json", collected / "brain/usage.json")
    found |= json_lines("exchange log", collected / "brain/1.jsonl", names={"kind", "role", "type"},
                        closed=("tools",))
    found |= json_file("selection.json", chain / "stages/2-rft/selection.json", ("rejected",))
    found |= json_lines("steps.jsonl of rft", chain / "stages/2-rft/steps.jsonl")
    found |= document("request to an endpoint", {**endpoint.requests[0], "tools": []})
    for tool in endpoint.requests[0]["tools"]:
        found |= document(f"tool {tool['function']['name']}", tool)
    for message in endpoint.requests[-1]["messages"]:
        if message["role"] == "tool" and message["content"].startswith("{"):
            found |= document("task.json", json.loads(message["content"]), names={"dtype", "role", "name", "contract"})
    prompt = endpoint.requests[0]["messages"][-1]["content"]
    found |= {f"prompt: {line}" for line in re.findall(r"^(?:(?:in|out)\[|dims ).*", prompt, re.M)}
    end = train("run.name=rft", "run.stage=rft", f'rft.runs=["{collected}"]', *learning)
    found |= document("rft --json", json.loads(end.stdout))
    end = train("run.name=value", "run.stage=value", f'value.runs=["{trained_run()[0]}"]', "value.epochs=1",
                "value.batch_tokens=1024", "value.held_out_share=0.5", "learner.critic.kind=separate")
    found |= json_lines("steps.jsonl of value", place() / "runs/value/steps.jsonl")
    return found | document("value --json", json.loads(end.stdout)) | files_of("value, file", place() / "runs/value")


def train(*pairs, codes=(0,)):
    return good("train", small_configuration(), "--quiet", "--json", *settings(*pairs), codes=codes)


def has_reward(folder):
    """Whether a trajectory of the run is correct: its times may not have been stable."""
    db = sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)
    return db.execute("SELECT count(*) FROM trajectories WHERE reward > 0").fetchone()[0] > 0


TOOLS = ["read", "write", "edit", "bash", "bash_output", "kill_bash", "glob", "grep", "compile", "verify", "profile",
         "submit"]


# --- Servers

def mcp():
    session = Mcp("--tasks", str(CPU_TASKS), "--max-submissions", "1", *KEEP)
    found = document("initialize", session.ask("initialize", {"protocolVersion": "2025-11-25"})["result"])
    for tool in session.ask("tools/list")["result"]["tools"]:
        found |= document(f"tool {tool['name']}", tool)
    for label, answer in {
            "list_tasks": session.call("list_tasks"),
            "read_task": session.call("read_task", task="square_mean"),
            "explain_plan": session.call("explain_plan", plan=PLAN),
            "explain_plan, a wrong plan": session.call("explain_plan", plan="[[step]]\nfly = 1\n"),
            "verify": session.call("verify", task="square_mean", files={"kernel.cpp": KERNEL}),
            "submit": session.call("submit", task="square_mean", files={"kernel.cpp": BROKEN}),
            "submit, repeated": session.call("submit", task="square_mean", files={"kernel.cpp": BROKEN}),
            "submit too often": session.call("submit", task="square_mean", files={"kernel.cpp": BROKEN + "//"}),
            "bad input": session.call("check", task="square_mean")}.items():
        found |= document(label, answer["result"], ("further_baselines",))
    found |= set().union(*(document("progress", one, names={"method"}) for one in session.progress))
    for label, text in {"no JSON": "{", "a list": "[]", "no method": '{"jsonrpc": "2.0", "id": 1, "method": "fly"}',
                        "no tool": '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fly"}}',
                        }.items():
        answer = session.line(text)
        found |= document("error", answer) | {f"error of {label}: {answer['error']['code']}"}
    return found | {f"Ctrl-C: exit code {session.interrupt()}"}


OPERATOR = """class Model(nn.Module):
    def forward(self, x, z):
        x = x + z
        x = x * x
        x = x.mean(-1)
        return x
in[0] x f32 [2048, 512]
in[1] z f32 [2048, 512]
out[0] y f32 [2048]
dims 2048 512 2048 512 2048"""
WRITE_TOOL = {"type": "function", "function": {
    "name": "write", "description": "Writes a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                   "required": ["path", "content"]}}}


def serve():
    chat, plain = "/v1/chat/completions", "/v1/completions"
    messages = [{"role": "user", "content": "x"}]
    short = {"prompt": "x", "max_tokens": 3, "seed": 1, "ignore_eos": True}
    call = {"messages": [{"role": "user", "content": OPERATOR}], "tools": [WRITE_TOOL], "temperature": 0,
            "max_tokens": 400}
    found = set()
    with Served() as server:
        for label, path, body in [
                ("GET /v1/models", "/v1/models", None), ("GET /v1/models/tiny", "/v1/models/tiny", None),
                ("GET /health", "/health", None), ("completion", plain, {**short, "logprobs": 0}),
                ("chat", chat, {"messages": messages, "max_tokens": 3, "seed": 1, "ignore_eos": True,
                                "logprobs": True}), ("tool call", chat, call)]:
            status, text = server.ask(path, body)
            found |= document(label, json.loads(text)) | {f"{label}: status {status}"}
        whole = {"stream": True, "stream_options": {"include_usage": True}}
        for label, path, body in [("completion, streamed", plain, {**short, **whole}),
                                  ("tool call, streamed", chat, {**call, **whole})]:
            parts, end = events(server.ask(path, body)[1])
            found |= set().union(*(document(label, part) for part in parts)) | {f"{label}: ends with {end}"}
        for label, answer in {
                "no token": server.ask("/v1/models", token="x"), "no path": server.ask("/v1/fly"),
                "no model": server.ask(plain, {**short, "model": "gpt-4"}), "no JSON": server.ask(plain, text="{"),
                "a parameter": server.ask(chat, {"messages": messages, "n": 17}),
                "too long": server.ask(plain, {"prompt": [5] * 2048})}.items():
            error = json.loads(answer[1])
            found |= document("error", error, names=()) | {
                f"error of {label}: {answer[0]} {error['error']['type']} {error['error']['code']}"}
        lines = server.ask("/metrics")[1].splitlines()
    return found | {"metric " + line.removeprefix("# TYPE ") for line in lines if line.startswith("# TYPE ")}


# --- Others

def doctor():
    """What a machine without a GPU is told; the areas of a GPU are left out where there is one."""
    report = json.loads(good("doctor", "--json", codes=(0, 3)).stdout)
    apart = {"gpu", "device"} if os.path.exists("/dev/nvidiactl") else set()
    found = document("doctor", report, names=(), closed=("areas",))
    for area, findings in report["areas"].items():
        found |= {f"area {area}: {LEFT_OUT}"} if area in apart else document(f"area {area}", findings, names=())
    return found


def synth():
    """Imported and composed tasks, with a table of seven operators."""
    sys.path.insert(0, str(ROOT / "tests/synthesis/worker"))
    import pyarrow.parquet
    from support import program, small_cache
    small_cache(place())
    rows = [{"code": program("return torch.relu(x) * 2 + x.sum(-1, keepdim=True)"), "ops": ["relu"]}, {"code": "def"}]
    source = file("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    window = ("--workers", "1", "--min-ms", "0.0001", "--max-ms", "10000")
    imported, composed = place() / "imported", place() / "composed"
    ends = several(lambda words: good("synth", "--cache", place(), *words, *window), [
        ["import", source, "--out", imported],
        ["synth", "--count", "1", "--seed", "3", "--shares", "1=20,2=60,3=20", "--compile", "none", "--out", composed]])
    names = {"reason", "source", "data_source"}
    found = set().union(*(document("printed", json.loads(end.stdout), ("rejected",)) for end in ends))
    for label, folder in {"import": imported, "synth": composed}.items():
        for name in ("journal.jsonl", "refused.jsonl", "tasks.jsonl", "against.jsonl"):
            if (folder / name).read_text():
                found |= {line.replace(str(source), "SOURCE") for line in
                          json_lines(f"{label} {name}", folder / name, names=names)}
    found |= json_file("funnel.json", imported / "funnel.json", ("rejected",)) | files_of("file", imported)
    schema = pyarrow.parquet.read_schema(imported / "tasks.parquet")
    return found | {f"tasks.parquet: column {one.name} {one.type}" for one in schema}


def bench():
    """The parts that end within seconds on a CPU."""
    file("bench_solutions/square_mean/kernel.cpp", BROKEN)
    parts = {
        "actors": ["--rounds", "10"], "learn": ["--steps", "1", "--trajectories", "1"],
        "learn --gpus": ["--gpus", "2", "--steps", "1", "--trajectories", "2"],
        "decode": ["--batch", "1", "--prompt-tokens", "4", "--new-tokens", "4", "--no-peer"],
        "serve": ["--streams", "1", "--prompt-tokens", "4", "--new-tokens", "4", "--rounds", "1"],
        "commit": ["--processes", "1"], "tasks": [TASK, "--solutions", place() / "bench_solutions"]}
    found = set()
    for name, words in parts.items():
        out = good("bench", name.split()[0], *words, "--json").stdout
        found |= document(f"bench {name}", json.loads(out))
    return found


def exit_codes():
    """Codes that the other parts do not assert."""
    right, configuration = file("code/right.cpp", KERNEL), small_configuration()
    cases = {
        "no command": [], "an unknown command": ["trian"], "an unknown option": ["check", "--fly"],
        "options without effect": ["check", EXAMPLES / "copy", "--explain", "--compile-only"],
        "check, no such file": ["check", "--task", TASK, "no-such.cpp"],
        "check --profile on a CPU": ["check", "--profile", "p.json", "--task", TASK, right],
        "train, a wrong key": ["train", configuration, "--set", "run.sed=1"],
        "train --dry-run": ["train", configuration, "--dry-run"],
        "runs show, no such run": ["runs", "--root", place(), "show", "no-such-run"],
        "serve, other machines without a token": ["serve", "configs/policy/tiny", "--host", "0.0.0.0"],
        "mcp, end of input": ["mcp"], "synth, an unknown option": ["synth", "--fly"],
        "synth, no such file": ["synth", "import", "no-such.jsonl", "--out", place() / "none/out"]}
    codes = several(lambda words: run(*words, stdin=subprocess.DEVNULL).returncode, cases.values())
    found = {f"{name}: {code}" for name, code in zip(cases, codes)}
    launcher = {"no command": [], "test, an unknown option": ["test", "--fly"],
                "build, an unknown option": ["build", "--fly"], "clean, an unknown option": ["clean", "--fly"],
                "--offline without a folder": ["--offline"]}
    ends = {name: run(*words, program=[ROOT / "warpsmith"]).returncode for name, words in launcher.items()}
    found |= {f"launcher, {name}: {code}" for name, code in ends.items()}
    return found | {f"eval --suite, a sample is missing: {suite_run()[1].returncode}"}


def stored_names():
    """The names that the golden file lists, as far as a source holds them as a literal."""
    folders = [ROOT / name for name in ("runtime", "policy", "sandbox", "synthesis", "actors", "commands")]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".cpp", ".hpp", ".cu", ".py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    golden = Golden("stored_names")
    return {line for line in golden.required if f'"{line.split(": ")[1]}"' in text}


# In this order two threads begin with them: those that take longest first.
COLLECTORS = (check, optimize, options, stages, runs, suite, synth, bench, evaluation, serve, mcp, configuration,
              exit_codes, doctor, database, stored_names)


@unittest.skipUnless(PROGRAM, "WARPSMITH_TEST_PROGRAM is not set")
class InterfacesTest(unittest.TestCase):
    def compare(self, name, found):
        for line in sorted(found):
            if line.endswith(LEFT_OUT):
                print(f"{name}.txt: {line}: times were not stable, or the machine lacks a part")
        golden = Golden(name)
        if WRITE:
            golden.write(found)
            return
        complaints = golden.complaints(found)
        if complaints:
            more = [f"  … and {len(complaints) - 60} more"] if len(complaints) > 60 else []
            self.fail("\n".join([
                "", f"tests/golden/interfaces/{name}.txt differs from what the program shows:", *complaints[:60], *more,
                f"If the change is intended: python -B tests/scripts/interfaces_test.py {name} --write"]))


def add_tests(names):
    pool = concurrent.futures.ThreadPoolExecutor(2)
    for collector in COLLECTORS:
        if names and collector.__name__ not in names:
            continue
        future = pool.submit(collector)
        setattr(InterfacesTest, f"test_{collector.__name__}",
                lambda self, future=future, name=collector.__name__: self.compare(name, future.result()))


def tearDownModule():
    shutil.rmtree(place(), ignore_errors=True)


if __name__ == "__main__":
    asked = [word for word in sys.argv[1:] if not word.startswith("-")]
    if PROGRAM:
        add_tests(asked)
    unittest.main(argv=sys.argv[:1], verbosity=2)
