#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes report.csv of an evaluated suite only from the records, independently of the program.

    scripts/suite_table.py RUN                # prints the table
    scripts/suite_table.py RUN --check        # compares it with RUN/report.csv: 0 equal, 1 different

Reads RUN/suite.json, and with sqlite3 the trajectories, verdicts and events of RUN/run.db.
"""

import argparse
import csv
import io
import json
import math
import pathlib
import sqlite3
import sys
from fractions import Fraction

POINTS = (0, 1, 1.5, 2)
FASTER = 1 / 0.95
BASELINES = ("eager", "compile")
TIMES = ("candidate_ms", "eager_ms", "compile_ms", "speedup_eager", "speedup_compile")


def first_shape(verdict):
    """The times and intervals of a verdict's first shape."""
    shape = (verdict["shapes"] or [{}])[0]
    return ({name: shape.get(name) for name in TIMES},
            {name: shape.get(name + "_interval") for name in TIMES[3:]})


def median_interval(values):
    """The widest ranks that leave at most 2.5 % on each side; None for fewer than 6 values."""
    count, rank, below = len(values), 0, Fraction(0)
    while rank < count // 2:
        below += Fraction(math.comb(count, rank), 2**count)
        if below > Fraction(1, 40):
            break
        rank += 1
    ordered = sorted(values)
    return (ordered[rank - 1], ordered[count - rank]) if rank else None


def sample_of(db, trajectory, outcome):
    sample = {"outcome": outcome, "run": outcome == "passed", "strict": False, "trust": "", "feedback": "", "x": {}}
    # A trajectory that did not submit its best has two final verdicts; the outcome belongs to one of them.
    rows = db.execute("SELECT v.outcome, v.trust, v.feedback, v.record FROM verdicts v JOIN trajectories t "
                      "ON t.id = v.trajectory AND t.source_hash = v.submission_hash WHERE t.id = ? AND v.final "
                      "ORDER BY v.id", (trajectory,))
    for verdict, trust, feedback, record in rows:
        sample["trust"], sample["feedback"] = trust, feedback.split("\n")[0]
        if not sample["run"] or verdict != "passed":
            continue
        full = json.loads(record)
        values, intervals = first_shape(full)
        sample["strict"] = full["strict"] is None or full["strict"]["passed"]
        timing = (full["evidence"] or {}).get("timing") or {}
        for name in TIMES[:3]:
            blocks = [v for v in timing.get(name) or [] if v is not None]
            intervals[name] = median_interval(blocks)
        sample["x"] = {n: (values[n], intervals[n]) for n in TIMES if values.get(n) is not None}
    return sample


def read_run(run):
    plan = json.loads((run / "suite.json").read_text())
    db = sqlite3.connect(f"file:{run / 'run.db'}?mode=ro", uri=True)
    samples, refused = {}, {}
    for number, task, verdict in db.execute(
            "SELECT id, task_id, verdict FROM trajectories WHERE closed_at IS NOT NULL AND drop_reason IS NULL "
            "ORDER BY id"):
        samples.setdefault(task, []).append(sample_of(db, number, verdict))
    for (text,) in db.execute("SELECT text FROM events WHERE kind = 'task_refused' ORDER BY id"):
        name, _, reason = text.removeprefix("task ").partition(" refused: ")
        refused[name] = reason
    notes = {"task_insensitive": {}, "task_without_compile": {}}
    for kind, text in db.execute("SELECT kind, text FROM events ORDER BY id"):
        if kind in notes:
            name, _, what = text.partition(": ")
            notes[kind][name] = what
    dropped = {task: (detail or "").split("\n")[0] for task, detail in db.execute(
        "SELECT task_id, drop_detail FROM trajectories WHERE drop_reason IS NOT NULL ORDER BY id")}
    return plan, samples, refused, dropped, *notes.values()


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def geomean(ratios):
    logs = [math.log(r) for r in ratios if r is not None and r > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


def pass_at(n, c, k):
    return None if k > n else float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


def ratio(sample, baseline):
    return sample["x"].get("speedup_" + baseline, (None, None))[0]


def low_end(sample, baseline):
    interval = sample["x"].get("speedup_" + baseline, (None, None))[1]
    return interval[0] if interval else 0


def is_fast(sample, baseline, p):
    return p == 0 or (ratio(sample, baseline) is not None and ratio(sample, baseline) > p)


def best_of(samples, key, baseline):
    right = [s for s in samples if s[key]]
    return max(right, key=lambda s: ratio(s, baseline) or 0) if right else None


def speeds(groups, key, baseline):
    tops = [best_of(g, key, baseline) for g in groups]
    out = [mean(mean(s[key] and low_end(s, baseline) > FASTER for s in g) for g in groups)]
    out += [mean(mean(s[key] and is_fast(s, baseline, p) for s in g) for g in groups) for p in POINTS]
    out.append(geomean(ratio(s, baseline) for g in groups for s in g if s[key]))
    out += [mean(t is not None and is_fast(t, baseline, p) for t in tops) for p in POINTS]
    out.append(geomean(ratio(t, baseline) for t in tops if t is not None))
    return out


def failures_of(groups, key):
    counts, reason = {}, ""
    for sample in (s for g in groups for s in g if not s[key]):
        name = "not_strict" if sample["run"] else sample["outcome"]
        counts[name] = counts.get(name, 0) + 1
        reason = reason or sample["feedback"] or sample["outcome"]
    return "; ".join(f"{n} {c}" for n, c in sorted(counts.items())), reason


def row_of(head, groups, key, plan, ks, dropped="", *notes):
    planned = plan["samples"] * len(groups)
    groups = [g for g in groups if g]
    all_samples = [s for g in groups for s in g]
    row = [*head, len(groups), len(all_samples), planned - len(all_samples), sum(s[key] for s in all_samples)]
    row.append(mean(mean(s[key] for s in g) for g in groups))
    for k in ks:
        estimates = [pass_at(len(g), sum(s[key] for s in g), k) for g in groups]
        estimates = [e for e in estimates if e is not None]
        row.append(mean(estimates) if estimates else None)
    for baseline in BASELINES:
        row += speeds(groups, key, baseline)
    best = best_of(groups[0], key, "eager") if head[0] == "task" and groups else None
    for name in TIMES:
        value, interval = best["x"].get(name, (None, None)) if best else (None, None)
        row += [value, *(interval or (None, None))]
    trust = "+".join(sorted({s["trust"] for s in all_samples if s["trust"]}))
    failures, reason = failures_of(groups, key)
    return [*row, trust, failures, reason or (dropped if len(all_samples) < planned else ""), *(notes or ("", ""))]


def columns(ks):
    names = ["scope", "level", "task", "numerics", "tasks", "samples", "missing", "correct", "pass_rate"]
    names += [f"pass@{k}" for k in ks]
    for b in BASELINES:
        names += [f"faster_{b}", *(f"fast_{p}_{b}" for p in POINTS), f"geomean_{b}"]
        names += [*(f"best_fast_{p}_{b}" for p in POINTS), f"best_geomean_{b}"]
    return names + [t + end for t in TIMES for end in ("", "_low", "_high")] + \
        ["trust", "failures", "reason", "insensitive", "without_compile"]


def shown(value):
    if value is None:
        return ""
    return "%.6g" % value if isinstance(value, (float, bool)) else str(value)


def table(run):
    plan, samples, refused, dropped, insensitive, without_compile = read_run(run)
    ks = [k for k in (1, 5, 10) if k < plan["samples"]] + [plan["samples"]]
    tasks = [t for t in plan["tasks"] if t["id"] in samples or t["id"] not in refused]
    counted = {t["id"]: samples.get(t["id"], [])[:plan["samples"]] for t in tasks}
    names = columns(ks)
    rows = [names]
    for numerics in [plan["numerics"]] + (["strict"] if plan["numerics"] == "paper" else []):
        key = "strict" if numerics == "strict" and plan["numerics"] == "paper" else "run"
        for level in ["", *sorted({t["level"] for t in tasks})]:
            names_of = ("level", "sensitive_level") if level else ("all", "sensitive")
            its = [t["id"] for t in tasks if level in ("", t["level"])]
            for scope, ids in zip(names_of, (its, [i for i in its if i not in insensitive])):
                rows.append(row_of([scope, level, "", numerics], [counted[i] for i in ids], key, plan, ks))
        for t in tasks:
            rows.append(row_of(["task", t["level"], t["id"], numerics], [counted[t["id"]]], key, plan, ks,
                               *(of.get(t["id"], "") for of in (dropped, insensitive, without_compile))))
    empty = [None] * (len(names) - 7)
    for t in plan["tasks"]:
        if t["id"] in refused and t["id"] not in samples:
            rows.append(["refused", t["level"], t["id"], "", *empty, refused[t["id"]], None, None])
    for b in plan["broken"]:
        rows.append(["refused", b["level"], b["file"], "", *empty, b["reason"], None, None])
    return [[shown(v) for v in row] for row in rows]


def is_close(a, b):
    try:
        return math.isclose(float(a), float(b), rel_tol=2e-5, abs_tol=1e-12)
    except ValueError:
        return False


def differences(ours, theirs):
    if len(ours) != len(theirs):
        return [f"{len(theirs)} lines, expected {len(ours)}"]
    out = []
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if len(a) != len(b):
            out.append(f"line {i + 1}: {len(b)} fields, expected {len(a)}")
        out += [f"line {i + 1}, {name}: {y!r}, expected {x!r}"
                for name, x, y in zip(ours[0], a, b) if x != y and not is_close(x, y)]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="the folder of a run of eval --suite")
    parser.add_argument("--check", action="store_true", help="compare with RUN/report.csv")
    arguments = parser.parse_args()
    try:
        ours = table(arguments.run)
        if not arguments.check:
            csv.writer(sys.stdout, lineterminator="\n").writerows(ours)
            return 0
        theirs = list(csv.reader(io.StringIO((arguments.run / "report.csv").read_text(), newline="")))
    except (OSError, ValueError, KeyError, sqlite3.Error) as error:
        print(f"{arguments.run}: {error}", file=sys.stderr)
        return 2
    found = differences(ours, theirs)
    for one in found[:20]:
        print(one, file=sys.stderr)
    print(f"{len(ours) - 1} rows, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
