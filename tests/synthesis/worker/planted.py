# SPDX-License-Identifier: Apache-2.0
# Planted defects: gives each of many accepted tasks one defect, imports them, and compares the reasons.
#
# `planted.py STORE --per-class 34 --out DIR` takes tasks that `synth` composed on a CPU; CI runs a few of each class.
import argparse
import collections
import json
import pathlib
import re
import sys
import time

import support

import torch  # noqa: E402
from evaluate import _built, _loaded  # noqa: E402

WINDOW_MS = (0.05, 20.0)  # the default on a CPU
LEAST_MS = 1.0  # of the window in which too fast tasks are judged: no call of a few operators is far below the default
_FAR = 4.0  # how far outside of its window a planted task lies: times of a busy machine vary by a factor of about 2
_RETURN = re.compile(r"^        return (v\d+)$", re.MULTILINE)
_FORWARD = re.compile(r"    def forward\(self, (.*)\):\n")


def _returns(expression, top=""):
    """Replaces what forward returns; {v} is the value that it returned."""
    return lambda row: {**row, "code": top + _RETURN.sub(
        lambda found: "        return " + expression.format(v=found[1]), row["code"])}


def _sliced(row):
    """A few values of each input are left."""
    def cut(found):
        return found[0] + "".join(f"        {name} = {name}[:2] if {name}.dim() > 1 else {name}[:64]\n"
                                  for name in found[1].split(", "))
    return {**row, "code": _FORWARD.sub(cut, row["code"])}


def _repeated(row):
    """Computes the same again until a thread has used `_FAR` windows: too slow on any machine, however busy."""
    head, body = _FORWARD.split(row["code"])[0], row["code"][_FORWARD.search(row["code"]).end():]
    steps, rest = body.split("        return ", 1)
    looped = f"        end = time.thread_time() + {_FAR * WINDOW_MS[1] * 1e-3:g}\n" \
             "        while time.thread_time() < end:\n" + "".join(f"    {line}\n" for line in steps.splitlines())
    return {**row, "code": "import time\n" + head + _FORWARD.search(row["code"])[0] + looped + "        return " + rest}


def _renamed(row):
    return {**row, "code": re.sub(r"\bv(\d+)\b", r"value_\1", row["code"]).replace("self.m", "self.layer")}


def _restyled(row):
    """The same operators amid statements that compute nothing."""
    guard = '        if not isinstance({v}, torch.Tensor):\n            raise TypeError("{v} is " + str(type({v})))\n'
    return {**row, "code": re.sub(r"^        (v\d+) = .*\n", lambda found: found[0] + 2 * guard.format(v=found[1]),
                                  row["code"], flags=re.MULTILINE)}


def _absent(row):
    names = ("torch.cumsum", "torch.nn.functional.mish", "torch.nn.GRU", "torch.fft.rfft", "torch.nn.Bilinear")
    return next(name for name in names if name.rsplit(".", 1)[-1].lower() not in row["code"].lower())


def _with_idle_module(row):
    made = "        super().__init__()\n"
    return {**row, "ops": [*row["ops"], "torch.nn.Bilinear"],
            "code": row["code"].replace(made, made + "        self.idle = nn.Bilinear(4, 4, 4)\n")}


PLANTS = {  # class: pairs of the reason that is right and the edit that plants the defect; the choosiest comes first
    "too fast": [("too_fast", _sliced)],
    "random": [("random", _returns("{v} + torch.rand_like({v})")),
               ("random", _returns("nn.functional.dropout({v}, 0.5, True)")),
               ("nondeterministic", _returns("{v} * random.random()", "import random\n")),
               ("random", _returns("{v} * torch.bernoulli(torch.full_like({v}, 0.5))"))],
    "constant": [("constant", _returns("{v} * 0 + 1")), ("constant", _returns("torch.full_like({v}, 0.5)")),
                 ("constant", _returns("({v} - {v}).cos()"))],
    "identity": [("identity", _returns("x.clone()")), ("identity", _returns("x + 0")),
                 ("identity", _returns("torch.where({v}.isfinite().all(), x, x)"))],
    "near zero": [("near_zero", _returns("{v} / ({v}.abs() + 1) * 1e-8")),
                  ("near_zero", _returns("({v} * 0.1).atan() * 1e-7"))],
    "too slow": [("too_slow", _repeated)],
    "contaminated": [("similar", _renamed), ("same_signature", _restyled)],
    "mislabelled": [("op_unused", lambda row: {**row, "ops": [*row["ops"], _absent(row)]}),
                    ("op_unused", _with_idle_module), ("op_unused", lambda row: {**row, "ops": [_absent(row)]})],
    "differs when compiled": [
        ("compile_differs", _returns("{v} * 2 if torch.compiler.is_compiling() else {v}")),
        ("compile_differs", _returns("{v}.neg() if torch._dynamo.is_compiling() else {v}"))],
}


def _tried(code):
    """The model of a planted task, its inputs, and the least CPU time of a call in milliseconds."""
    module = _loaded(code)
    model, inputs, times = _built(module, "cpu"), module.get_inputs(), []
    for _ in range(4):
        began = time.thread_time()
        model(*inputs)
        times.append((time.thread_time() - began) * 1e3)
    return model, inputs, min(times)


def _is_planted(name, row):
    """Whether the edit has the effect that it should have, found without the filter."""
    low, high = WINDOW_MS
    try:
        with torch.no_grad():
            model, inputs, took = _tried(row["code"])
            if name == "differs when compiled":  # not where the compiler leaves the whole forward to Python
                compiled = torch.compile(model, backend="eager")(*inputs)
                return _FAR * low < took < high / _FAR and not torch.allclose(compiled, model(*inputs), rtol=0.1)
    except Exception:
        return False  # the edit broke the task
    return {"too fast": took < LEAST_MS / _FAR, "too slow": took >= _FAR * high}.get(name, True)


def plant(bases, per_class):
    """Rows {class, reason, base, row}; each comes from a task of its own.

    Tasks in which an edit does not plant its defect serve other classes: a slice may have the same time as the whole.
    """
    bases, planted = list(bases), []
    for name, plants in PLANTS.items():
        tried = iter(list(bases))
        for number in range(per_class):
            reason, edit = plants[number % len(plants)]
            base, row = next((b, r) for b in tried if _is_planted(name, r := edit(b)))
            bases.remove(base)
            planted.append({"class": name, "reason": reason, "base": base, "row": row})
        print(f"planted: {name}", file=sys.stderr, flush=True)
    return planted


def _imported(planted, folder, cache, *more):
    """The reasons that the command gives for the rows."""
    folder.mkdir(parents=True)
    source = folder / "rows.jsonl"
    source.write_text("".join(json.dumps({k: p["row"][k] for k in ("code", "ops")}) + "\n" for p in planted))
    before = ("--cache", cache) if cache else ()
    done = support.command(*before, "import", source, "--out", folder / "out", "--workers", 1, *more)
    if done.returncode not in (0, 1):  # 1: it accepted no row
        raise RuntimeError(done.stderr)
    records = map(json.loads, (folder / "out/journal.jsonl").read_text().splitlines()[1:])
    return [(record["reason"], record.get("detail", "")) for record in records]


def judge(planted, folder, cache=None):
    """Adds to each row what became of it. The tasks behind contaminated rows are those to stay away from."""
    known = folder / "known"
    known.mkdir(parents=True)
    options = {"too fast": ("--min-ms", LEAST_MS), "contaminated": ("--against", known),
               "others": ("--compile", "aot_eager")}
    groups = {name: [p for p in planted if p["class"] == name] for name in options}
    groups["others"] = [p for p in planted if p["class"] not in options]
    for number, p in enumerate(groups["contaminated"]):
        (known / f"{number}.py").write_text(p["base"]["code"])
    judged = []
    for name, rows in groups.items():
        found = _imported(rows, folder / name, cache, *options[name])
        judged += [{**p, "found": reason, "detail": detail} for p, (reason, detail) in zip(rows, found)]
    return judged


def main():
    """Prints counts by class and what was rejected wrongly; exit status 1 if anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("--per-class", type=int, default=34)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    bases = [json.loads(line) for line in (options.store / "tasks.jsonl").read_text().splitlines()]
    judged = judge(plant(bases, options.per_class), options.out)
    wrong = [p for p in judged if p["found"] != p["reason"]]
    counts = collections.Counter(p["class"] for p in judged if p["found"] == p["reason"])
    for name in PLANTS:
        print(f"{name}: {counts[name]} of {options.per_class} rejected with the right reason")
    for p in wrong:
        print(f"{p['class']}: expected {p['reason']}, found {p['found']} {p['detail']}\n{p['row']['code']}")
    print(f"{len(judged) - len(wrong)} of {len(judged)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
