# SPDX-License-Identifier: Apache-2.0
"""What interfaces_test.py is made of: golden files, the forms of JSON, the program and its servers."""

import concurrent.futures
import functools
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/interfaces"
PROGRAM = os.environ.get("WARPSMITH_TEST_PROGRAM")
PATIENCE_S = 400  # includes the first ingest of a task
CPU_TASKS = ROOT / "configs/tasks/cpu/train"
TASK = CPU_TASKS / "square_mean.py"
MICRO_TASK = ROOT / "configs/tasks/micro/reduction/row_square_sum.py"
MICRO_KERNEL = ROOT / "configs/tasks/micro/kernels/cpu/row_square_sum/kernel.cpp"
KERNEL = """#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float *x = (const float*)in[0], *z = (const float*)in[1];
  float* y = (float*)out[0];
  for (int64_t r = 0; r < dims[0]; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < dims[1]; ++c) {
      const float v = x[r * dims[1] + c] + z[r * dims[1] + c];
      sum += v * v;
    }
    y[r] = sum / (float)dims[1];
  }
}
"""
# A task whose tensors have several types, and a right kernel for it.
TYPES_TASK = """import torch
class Model(torch.nn.Module):
    def forward(self, x, mask, index):
        return torch.where(mask, x, x * 2) + index
def get_inputs():
    return [torch.randn(512, 768), torch.rand(512, 768) > 0.5, torch.randint(0, 9, (512, 1))]
def get_init_inputs():
    return []
"""
TYPES_KERNEL = """#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float* x = (const float*)in[0];
  const uint8_t* mask = (const uint8_t*)in[1];
  const int64_t* index = (const int64_t*)in[2];
  float* y = (float*)out[0];
  for (int64_t i = 0; i < 512 * 768; ++i) y[i] = (mask[i] ? x[i] : x[i] * 2) + (float)index[i / 768];
}
"""


# --- Golden files

LEFT_OUT = "left out"  # after a label: its lines are not compared; after EVERYTHING: no line of the file is
EVERYTHING = "everything"


class Golden:
    """One golden file: lines that must be there, and lines that may be."""

    def __init__(self, name):
        self.path = GOLDEN / f"{name}.txt"
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.optional = {line[2:] for line in lines if line.startswith("? ")}
        self.required = {line for line in lines if line and not line.startswith("? ")}

    def forgiven(self, found):
        """Required lines that may be absent here: below an optional null or nothing, or of a part that was left out."""
        parts = [line.removesuffix(LEFT_OUT) for line in found if line.endswith(LEFT_OUT)]
        if f"{EVERYTHING}: " in parts:
            return self.required
        places = [line.rsplit(": ", 1)[0] for line in found & self.optional if line.endswith((": null", ": nothing"))]
        places = [re.escape(place.removesuffix(".*").removesuffix("[]")) + r"[.\[:]" for place in places]
        return {line for line in self.required
                if line.startswith(tuple(parts)) or any(re.match(place, line) for place in places)}

    def complaints(self, found):
        """One line for each difference."""
        stated = {line for line in found if not line.endswith(LEFT_OUT)}
        lost = sorted(self.required - stated - self.forgiven(found))
        new = sorted(stated - self.required - self.optional)
        return [f"  gone: {line}" for line in lost] + [f"  new:  {line}" for line in new]

    def write(self, found):
        """Keeps optional lines, and required ones that this run could not show."""
        stated = {line for line in found if not line.endswith(LEFT_OUT)}
        lines = {line: "" for line in (stated - self.optional) | self.forgiven(found)}
        lines.update({line: "? " for line in self.optional})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(f"{lines[line]}{line}\n" for line in sorted(lines)), encoding="utf-8")


# Keys whose texts are part of the interface.
NAMED_VALUES = frozenset({"object", "finish_reason", "role", "verdict", "contract", "numerics", "type", "required",
                          "enum", "device", "clock", "scope"})


def kind_of(value):
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


def forms(value, at, data=(), names=frozenset(), closed=()):
    """Lines for a JSON value: the kind of each place, and the texts at keys of `names`. Keys below a key of `data`
    are data themselves; what is below a key of `closed` is left out."""
    key = re.split(r"[.:] ?", at.removesuffix("[]"))[-1]
    if isinstance(value, str) and key in names:
        yield f'{at}: "{value}"'
        return
    yield f"{at}: {kind_of(value)}"
    if key in closed:
        return
    if isinstance(value, list):
        if not value:
            yield f"{at}[]: nothing"
        for one in value:
            yield from forms(one, f"{at}[]", data, names, closed)
    if isinstance(value, dict):
        if not value:
            yield f"{at}.*: nothing"
        for name, one in value.items():
            below = "*" if key in data else name
            yield from forms(one, f"{at}.{below}" if not at.endswith(": ") else at + below, data, names, closed)


def document(label, value, data=(), names=NAMED_VALUES, closed=()):
    """The lines of one JSON document."""
    lines = set(forms(value, f"{label}: ", data, names, closed)) - {f"{label}: : object"}
    return {line.replace(": : ", ": ") for line in lines}


def json_file(label, path, *how, **more):
    return document(label, json.loads(path.read_text()), *how, **more)


def json_lines(label, path, *how, **more):
    return set().union(*(document(label, json.loads(line), *how, **more) for line in path.read_text().splitlines()))


def files_of(label, folder):
    """The names of a folder's files, with numbers and times replaced."""
    names = (str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    return {f"{label}: {re.sub(r'[0-9a-f]{12,}|[0-9]+', 'N', name)}" for name in names
            if not name.endswith(("-wal", "-shm"))}


# --- The program

def once(function):
    """Runs the function once, whichever thread asks first; an exception is raised for each."""
    lock, kept = threading.Lock(), []

    @functools.wraps(function)
    def call():
        with lock:
            if not kept:
                try:
                    kept.append((function(), None))
                except Exception as error:  # it is raised below, for each that asks
                    kept.append((None, error))
        value, error = kept[0]
        if error:
            raise error
        return value
    return call


@once
def place():
    """The folder of this test; removed at the end."""
    return pathlib.Path(tempfile.mkdtemp(prefix="warpsmith-interfaces-"))


def file(name, text):
    path = place() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def run(*words, program=None, **options):
    return subprocess.run([*map(str, program or [PROGRAM]), *map(str, words)], capture_output=True, text=True,
                          timeout=PATIENCE_S, cwd=options.pop("cwd", ROOT), **options)


def good(*words, codes=(0,), **options):
    """The finished program; its exit code must be one of these."""
    end = run(*words, **options)
    if end.returncode not in codes:
        raise AssertionError(f"warpsmith {' '.join(map(str, words))}: exit code {end.returncode}\n{end.stdout[-2000:]}"
                             f"{end.stderr[-2000:]}")
    return end


def several(function, arguments):
    """The function's results, two at a time."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, arguments))


def source(name, text):
    """A source that no cache of compiled ones holds."""
    return file(name, f"{text}// {time.time_ns()}\n")


def settings(*pairs):
    return [word for pair in pairs for word in ("--set", pair)]


# --- A configuration, and servers

@once
def small_configuration():
    """Few trajectories and short turns of the tiny policy."""
    return file("tiny.toml", f"""
[run]
seed = 1
trajectories = 4
folder = "{place()}/runs"
[model]
folder = "{ROOT}/configs/policy/tiny"
[agent]
prompt = "brief"
syntax = "xml"
chat_template = "chatml"
max_turns = 3
max_tokens = 1024
result_tokens = 400
[rollout]
count = 1
concurrent = 1
[generator]
max_new_tokens = 200
[learner]
forwards = "at_use"
[learner.step]
trajectories = 4
[ledger]
checkpoint_steps = 1
[synthesis]
tasks = ["{TASK}"]
""")


class Endpoint:
    """A chat endpoint on loopback: reads task.json, writes the kernel, submits it."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __enter__(self):
        self.requests = requests = []
        script = [("read", {"path": "task.json"}), ("write", {"path": "solution/kernel.cpp", "content": self.kernel}),
                  ("submit", {})]

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                turn = sum(message["role"] == "assistant" for message in requests[-1]["messages"])
                name, arguments = script[min(turn, len(script) - 1)]
                call = {"id": "x", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                choice = {"index": 0, "message": {"role": "assistant", "content": "", "tool_calls": [call]},
                          "finish_reason": "tool_calls"}
                body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Mcp:
    """A session of `warpsmith mcp`."""

    def __init__(self, *words):
        self.process = subprocess.Popen([PROGRAM, "mcp", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
        self.progress, self.number = [], 0

    def ask(self, method, params=None):
        """The answer to a request."""
        self.number += 1
        return self.line(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}}))

    def line(self, text):
        """The answer to a line. Progress is kept."""
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if "method" not in answer:
                return answer
            self.progress.append(answer)

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}})

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE_S)
        self.process.stdin.close()
        self.process.stdout.close()
        return code


class Served:
    """`warpsmith serve` of the tiny policy, with a token."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "configs/policy/tiny", "--port", "0", "--chat-template", "chatml", "--tool-syntax",
             "xml", "--token-env", "INTERFACES_TOKEN"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            cwd=ROOT, env={**os.environ, "INTERFACES_TOKEN": "a-secret-of-the-test"})
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)/v1", self.process.stdout.readline())[1])
        return self

    def ask(self, path, body=None, token="a-secret-of-the-test", text=None):
        """Status and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        body = text if text is not None else json.dumps({"model": "tiny", **body}) if body is not None else None
        connection.request("GET" if body is None else "POST", path, body,
                           {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        read = answer.status, answer.read().decode()
        connection.close()
        return read

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


def events(text):
    """The objects of a stream, and how it ends."""
    parts = [part.removeprefix("data: ") for part in text.strip().split("\n\n")]
    return [json.loads(part) for part in parts[:-1]], parts[-1]


