#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that `optimize` promotes exactly what it should, on operators with candidates of known kinds: twelve of
contract `cpu`, or three of contract `device`, which need a GPU.

Run from the checkout's root:
scripts/optimize_table.py --out FOLDER [--contract device] [--gpu N] [--only NAME …] [--pairs N] [--no-exports]
Prints a line for each operator; exit code 1 if one is not as expected. Each export is imported in a fresh process,
must pass its own test, and is timed there with cold caches, in turns with new verdicts on the same kernel. Other
programs on the host change a core's speed from one moment to the next. So the minimum of each dozen of calls counts
(on a GPU the median), and the median of --pairs comparisons, each in new processes, with its 95 % interval.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from resize_task import resized

ROOT = pathlib.Path(__file__).resolve().parent.parent
MICRO = ROOT / "configs/tasks/micro"
ONCE = 'extern "C" void solve('
LIMIT_S = 1200
TOLERANCE = 0.05
PAUSES = {"cpu": 0.05, "device": 0.0}  # seconds between two calls: the judge's calls are spread, too
TIMER = """
import json, sys, time
sys.path.insert(0, ".")
import test_regression as test

shape, pause = next(s for s in test.package.SHAPES if s["function"] == sys.argv[1]), float(sys.argv[2])
if pause:
    spans = test.timer(shape)
    print(json.dumps([(time.sleep(pause), spans(2)[1])[1] for _ in range(12)]))
else:
    print(json.dumps([test.time_shape(shape, rounds=1, calls=12)]))
"""
TIMES_LARGER = 12  # the call itself costs microseconds, so the kernels take milliseconds

# Operator, its candidates, the user's kernel, what must be promoted.
PLAIN = ("fast", "slow", "wrong")
TASKS = [("reduction/row_square_sum", PLAIN, None, "fast"),
         ("reduction/row_logsumexp", PLAIN, None, "fast"),
         ("reduction/column_mean", ("fast", "wrong"), None, "fast"),
         ("scan/row_cumsum", ("fast", "slow"), None, "fast"),
         ("scan/column_cumsum", ("slow", "wrong"), None, None),
         ("scan/gated_cumsum", ("fast", "wrong"), None, "fast"),
         ("bandwidth/gated_streams", ("wrong",), None, None),
         ("quantisation/dequantise_product", ("fast", "slow"), "between", "fast"),
         ("convolution/depthwise_3x3", ("between",), "fast", None),
         ("embedding/lookup_scale", ("between", "wrong"), "fast", None),
         ("reduction/row_square_sum@sizes", ("one_shape",), None, None),
         ("reduction/row_logsumexp@sizes", ("one_shape", "fast"), None, "fast")]

# Sizes at which a kernel takes a tenth of a millisecond, since the call itself costs some microseconds.
DEVICE_TASKS = [("convolution/causal_conv_1d", PLAIN, None, "fast"),
                ("convolution/depthwise_3x3", PLAIN, None, "fast"),
                ("scan/column_cumsum", ("slow", "wrong"), None, None)]  # max-autotune is as fast as ours
DEVICE_SIZES = {"causal_conv_1d": {"CHANNELS": 1536, "LENGTH": 32768},
                "depthwise_3x3": {"CHANNELS": 768, "HEIGHT": 256, "WIDTH": 252},
                "column_cumsum": {"ROWS": 4096, "COLUMNS": 12288}}


def repeated(source, times, condition="true"):
    """The kernel, which repeats its work `times` times where the condition is true."""
    inner = source.replace(ONCE, "static __attribute__((noinline)) void once(", 1)
    return inner + f"""
{ONCE}const void* const* in, void* const* out, const int64_t* dims) {{
  const int times = ({condition}) ? {times} : 1;
  for (int i = 0; i < times; ++i) {{
    once(in, out, dims);
    asm volatile("" ::: "memory");
  }}
}}
"""


def wrong(source):
    return repeated(source, 1).replace("\n  }\n}\n", "\n  }\n  ((float*)out[0])[1] += 1.0f;\n}\n")


def with_more_steps(files, times):
    """The same kernels, launched `times` times in a row."""
    plan = files["plan.toml"]
    return {**files, "plan.toml": plan + ("\n" + plan[plan.index("[[step]]"):]) * (times - 1)}


def wrong_on_device(files):
    kernel = 'extern "C" __global__ void off(float* y) {\n  y[1] += 1.0f;\n}\n'
    step = '\n[[step]]\nlaunch = "off"\ngrid = [1]\nblock = [1]\nargs = ["y"]\n'
    return {"kernels.cu": files["kernels.cu"] + "\n" + kernel, "plan.toml": files["plan.toml"] + step}


DEVICE_KINDS = {"fast": lambda files: files,
                "slow": lambda files: with_more_steps(files, 40),
                "wrong": wrong_on_device}

KINDS = {"fast": lambda s: s,
         "slow": lambda s: repeated(s, 40),
         "between": lambda s: repeated(s, 2),
         "wrong": wrong,
         "one_shape": lambda s: repeated(s, 40, f"dims[0] != {512 * TIMES_LARGER}")}


class Missing(Exception):
    """An export or a verdict has no time; the text says why."""


def operator_text(path, with_sizes):
    """The operator, larger along the dimension that it does not reduce."""
    text = (MICRO / f"{path}.py").read_text()
    grows = "COLUMNS" if path.split("/")[1].startswith("column_") else "ROWS"
    text = re.sub(rf"^{grows} = (\d+)", lambda size: f"{grows} = {int(size[1]) * TIMES_LARGER}", text, flags=re.M)
    if not with_sizes:
        return text
    inputs = re.search(r"def get_inputs\(\):\n(.*?)(?=\n\n|\Z)", text, re.S).group(1)
    return text + f"\n\ndef get_ragged_inputs():\n{inputs.replace('ROWS', '640')}\n"


def solution(contract, name, kind):
    """The files of a candidate of that kind."""
    folder = MICRO / "kernels" / contract / name
    files = {path.name: path.read_text() for path in folder.iterdir()}
    if contract == "device":
        return DEVICE_KINDS[kind](files)
    return {"kernel.cpp": KINDS[kind](files["kernel.cpp"])}


def write(folder, contract, name, kinds):
    for kind in kinds:
        place = folder / kind
        place.mkdir(parents=True, exist_ok=True)
        for file, text in solution(contract, name, kind).items():
            (place / file).write_text(text)


def optimize(program, place, operator, candidates, more):
    """Runs `optimize` into PLACE/result; its exit code and report."""
    command = [program, "optimize", str(operator), "--candidates", str(candidates), "--out", str(place / "result"),
               *more]
    with open(place / "log.txt", "w") as log:
        done = subprocess.run(command, stdout=log, stderr=log, timeout=LIMIT_S, cwd=ROOT)
    report = place / "result/report.json"
    return done.returncode, json.loads(report.read_text()) if report.exists() else None


def prepared(place, contract, task):
    """Writes operator and candidates into PLACE; the operator's file and further options."""
    path, kinds, user, _ = task
    name = path.split("@")[0].split("/")[1]
    place.mkdir(parents=True)
    operator = place / f"{name}.py"
    if contract == "device":
        operator.write_text(resized((MICRO / f"{path}.py").read_text(), DEVICE_SIZES[name]))
    else:
        operator.write_text(operator_text(path.split("@")[0], "@" in path))
    write(place / "candidates", contract, name, kinds)
    if not user:
        return operator, []
    write(place / "mine", contract, name, [user])
    return operator, ["--baseline", str(place / "mine")]


def gpu_words(gpu):
    """The option that makes a command use that GPU."""
    return [] if gpu is None else ["--gpu", str(gpu)]


def visible(gpu):
    """The GPU with that number among the visible ones, as CUDA_VISIBLE_DEVICES names it."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = map(str, range(gpu + 1)) if shown is None else shown.split(",")
    names = [name for name in names if name]
    if not 0 <= gpu < len(names):
        sys.exit(f"--gpu {gpu}: expected the number of a visible GPU; CUDA_VISIBLE_DEVICES={shown} shows {len(names)}")
    return names[gpu]


def environment(gpu):
    """This process's environment with only that GPU, because an export runs on the first."""
    return dict(os.environ) if gpu is None else {**os.environ, "CUDA_VISIBLE_DEVICES": visible(gpu)}


def judged_again(args, operator, solution, chosen):
    """The candidate's time in a new verdict, in ms."""
    command = [args.program, "check", *gpu_words(args.gpu), "--json", "--task", str(operator), str(solution)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, cwd=ROOT)
    if done.returncode != 0:
        raise Missing(f"judged again, it does not pass: {done.stdout[-300:]}{done.stderr[-300:]}")
    return chosen(json.loads(done.stdout)["evidence"]["timing"]["candidate_ms"])


def in_fresh_process(result, words, gpu):
    """What Python prints for these arguments in the export's folder, on the core or GPU that the judge uses."""
    core = max(os.sched_getaffinity(0))
    python = ["taskset", "-c", str(core), os.environ.get("WARPSMITH_PYTHON", sys.executable), "-B"]
    done = subprocess.run([*python, *words], cwd=result / "export", env=environment(gpu), capture_output=True,
                          text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        (result.parent / "failed.txt").write_text(done.stderr)
        raise Missing(f"{words[0]} fails: {error_in(done.stderr)} ({result.parent}/failed.txt)")
    return done.stdout


def error_in(text):
    """The line of a traceback that names the error; more lines may follow it."""
    lines = text.strip().splitlines() or ["without a word"]
    return next((line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception)\b", line)), lines[-1])[:500]


def between(times, apart=1):
    """The mean of each two neighbouring times, so that a slow change of the machine affects both sides."""
    return [(before + after) / 2 for before, after in zip(times, times[apart:])]


def change_of(ours, judged):
    """The median change, and the interval of order statistics that contains the true median in 95 % of cases."""
    changes = sorted(mine / theirs - 1 for mine, theirs in zip(ours, judged))
    outside = max(0, int((len(changes) - 1.96 * len(changes) ** 0.5) / 2))
    return statistics.median(changes), (changes[outside], changes[-1 - outside])


def compared(args, place, operator, promoted, pause, function):
    """Returns the median share by which the export is slower than judged, and a line. Verdicts and timings alternate.

    The control is the same median for verdicts compared with verdicts: this machine's noise on equal kernels.
    """
    chosen = min if pause else statistics.median
    same = place / f"{function}.py"
    first = "" if function == "get_inputs" else f"\n\nget_inputs, {function} = {function}, get_inputs\n"
    same.write_text(operator.read_text() + first)
    kernel, timer = place / "candidates" / promoted, ["-c", TIMER, function, str(pause)]
    judged, ours = [judged_again(args, same, kernel, chosen)], []
    for _ in range(args.pairs):
        ours.append(chosen(json.loads(in_fresh_process(place / "result", timer, args.gpu))))
        judged.append(judged_again(args, same, kernel, chosen))
    (place / f"{function}.json").write_text(json.dumps({"export_ms": ours, "judged_ms": judged}))
    (change, (low, high)), (control, _) = change_of(ours, between(judged)), change_of(judged[1:-1], between(judged, 2))
    return change, (f"{function} {statistics.median(ours):.4f} of {statistics.median(judged):.4f} ms, {change:+.1%} "
                    f"({low:+.1%} to {high:+.1%}, control {control:+.1%})")


def export_row(args, place, operator, promoted, pause):
    """Whether the export passes its own test and is as fast as judged on each shape, and lines that say so."""
    try:
        in_fresh_process(place / "result", ["test_regression.py"], args.gpu)
        signature = next((place / "result/export").glob("*/signature.json"))
        rows = [compared(args, place, operator, promoted, pause, shape["function"])
                for shape in json.loads(signature.read_text())["shapes"]]
    except Missing as error:
        return False, [str(error)]
    return all(abs(change) <= TOLERANCE for change, _ in rows), [line for _, line in rows]


def one_row(args, task):
    path, kinds, user, expected = task
    place = args.out / path.replace("/", "-").replace("@", "-")
    operator, baseline = prepared(place, args.contract, task)
    more = [*baseline, *gpu_words(args.gpu), *args.more]
    code, report = optimize(args.program, place, operator, place / "candidates", more)
    promoted = report["promoted"]["name"] if report and report["promoted"] else None
    good = report is not None and promoted == expected and code == (0 if expected else 1)
    words = [path, "candidates " + "+".join(kinds), f"user {user or '-'}", f"promoted {promoted or '-'}",
             f"expected {expected or '-'}", f"exit {code}", "as expected" if good else "NOT as expected"]
    if good and promoted and not args.no_exports:
        as_fast, lines = export_row(args, place, operator, promoted, PAUSES[args.contract])
        words += ["export " + "; ".join(lines), "within 5 %" if as_fast else "NOT within 5 %"]
        good = as_fast
    print(" | ".join(words), flush=True)
    return good


def main():
    options = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=pathlib.Path, required=True, help="a new folder")
    options.add_argument("--contract", choices=("cpu", "device"), default="cpu", help="default: cpu")
    options.add_argument("--gpu", type=int, help="number of the GPU for contract device; default: 0")
    options.add_argument("--only", nargs="*", help="operators, as in reduction/row_square_sum")
    options.add_argument("--pairs", type=int, default=15, help="comparisons of an export with verdicts; at least 2")
    options.add_argument("--no-exports", action="store_true", help="do not build and time the exports")
    options.add_argument("--program", default=str(ROOT / "warpsmith"), help="default: the launcher")
    args, args.more = options.parse_known_args()
    if args.pairs < 2:
        options.error(f"--pairs {args.pairs}: expected at least 2, since the control compares verdicts on both sides")
    args.out = args.out.resolve()
    environment(args.gpu)  # complains before anything runs
    tasks = DEVICE_TASKS if args.contract == "device" else TASKS
    chosen = [task for task in tasks if not args.only or task[0] in args.only]
    results = [one_row(args, task) for task in chosen]
    print(f"{sum(results)} of {len(results)} as expected")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
