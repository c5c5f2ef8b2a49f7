# SPDX-License-Identifier: Apache-2.0
"""Golden results of the filter of rejection fine-tuning, from its rules written out a second time.

Run: python make_golden.py   (writes golden.json beside itself)
"""

import itertools
import json
import pathlib
import random

TASKS = ["softmax", "sums"]
TOOLS = ["write", "verify", "read"]


def draw_turn(rng):
    calls = [{"name": rng.choice(TOOLS), "argument": rng.choice("ab")} for _ in range(rng.choice((0, 1, 1, 2)))]
    verdict = rng.choice((None, None, 0.0, 1.0, 1.5, 2.5))
    return {"calls": calls, "invalid": rng.random() < 0.08, "verdict": verdict}


def draw_trajectory(rng):
    turns = [draw_turn(rng) for _ in range(rng.randint(1, 7))]
    return {
        "task": rng.choice(TASKS),
        "reward": rng.choice((-1.0, 0.0, 1.0, 2.0, 3.0, 3.0)),
        "tokens": rng.randint(50, 420),
        "turns": turns,
    }


def redundant(turns):
    """Any two equal calls between which no write stands, the first not counted as between."""
    calls = [(c["name"], c["argument"]) for turn in turns for c in turn["calls"]]
    for i, j in itertools.combinations(range(len(calls)), 2):
        if calls[i] == calls[j] and not any(name == "write" for name, _ in calls[i + 1 : j]):
            return True
    return False


def stalled(turns, bound):
    """Some `bound` turns in a row hold no verdict above all that came before them in the trajectory."""
    seen = []
    better = []
    for turn in turns:
        got = turn["verdict"]
        better.append(got is not None and all(got > other for other in seen))
        seen += [] if got is None else [got]
    windows = (better[i : i + bound] for i in range(len(better) - bound + 1))
    return any(not any(window) for window in windows)


def reason(t, rules):
    if t["reward"] <= 0:
        return "reward"
    if t["tokens"] > rules["context"]:
        return "too_long"
    invalid = [turn["invalid"] for turn in t["turns"]]
    if any(invalid) and rules["whole"]:
        return "invalid_call"
    if all(invalid):
        return "no_valid_turn"
    if redundant(t["turns"]) and not rules["repeats"]:
        return "repeated_call"
    if rules["stall"] and stalled(t["turns"], rules["stall"]):
        return "stalled"
    return ""


def filtered(trajectories, rules):
    results = [reason(t, rules) for t in trajectories]
    for task in TASKS:
        good = [i for i, t in enumerate(trajectories) if t["task"] == task and not results[i]]
        for i in sorted(good, key=lambda i: (-trajectories[i]["reward"], i))[rules["per_task"] :]:
            results[i] = "over_limit"
    return results


def main():
    rng = random.Random(5)
    cases = []
    for whole, repeats, stall, per_task in [(1, 0, 3, 4), (0, 0, 4, 50), (1, 1, 0, 6), (0, 1, 2, 3)]:
        rules = {"whole": bool(whole), "repeats": bool(repeats), "stall": stall, "per_task": per_task, "context": 400}
        trajectories = [draw_trajectory(rng) for _ in range(60)]
        cases.append({"rules": rules, "trajectories": trajectories, "results": filtered(trajectories, rules)})
    text = json.dumps(cases, indent=None, separators=(",", ":"))
    pathlib.Path(__file__).with_name("golden.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
