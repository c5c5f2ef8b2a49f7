# SPDX-License-Identifier: Apache-2.0
# What the tests of the synthesis worker share: the path, and candidates with one defect each.
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[3]
WORKER = ROOT / "synthesis/worker"
sys.path.insert(0, str(WORKER))
warnings.filterwarnings("ignore")

import seeds as tables  # noqa: E402
from seeds import Seed  # noqa: E402

SETTINGS = {"device": "cpu", "window": [0.001, 5000.0], "compile": "aot_eager", "signatures": set(),
            "foreign": True}


def program(forward, inputs="torch.randn(64, 128)", arguments="x", init="pass", top=""):
    """A task whose forward has these lines."""
    lines = "\n".join(f"        {line}" for line in forward.split("\n"))
    return f"""import torch
import torch.nn as nn
import torch.nn.functional as F
{top}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, {arguments}):
{lines}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def needs_namespaces(test):
    """Skips a test where this machine refuses user namespaces."""
    refused = subprocess.run(["unshare", "--user", "--mount", "true"], capture_output=True).returncode
    return unittest.skipIf(refused, "user namespaces are refused")(test)


def command(*arguments, **options):
    """Runs the command line and returns the finished process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-B", str(WORKER / "main.py"), *map(str, arguments)], text=True,
                          capture_output=True, env=environment, **options)


TIMES = ("eager_ms", "compile_ms")
WINDOW = ("--min-ms", "0.0001", "--max-ms", "10000")


def small_cache(folder):
    """A table of a few operators where the command looks for the crawled one."""
    names = ("gelu", "silu", "softplus", "mish", "elu")
    seeds = [Seed(f"torch.nn.functional.{name}", "activation", f"F.{name}({{x}})") for name in names]
    seeds.append(Seed("torch.cumsum", "scan", "torch.cumsum({x}, dim=-1)"))
    seeds.append(Seed("torch.nn.LayerNorm", "norm", "{m}({x})", "nn.LayerNorm({n})"))
    (folder / tables.file_name()).write_text(tables.to_json(seeds))


class Case(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.folder = pathlib.Path(self.kept.name)
        small_cache(self.folder)

    def arguments(self, out, workers, count=6, seed=3, more=()):
        return ["compose", "--count", count, "--seed", seed, "--out", self.folder / out, "--workers", workers,
                "--shares", "1=20,2=60,3=20", "--compile", "none", *more]

    def synth(self, out, workers=1, more=(), count=6, seed=3, **options):
        return command("--cache", self.folder, *self.arguments(out, workers, count, seed, more), **options)

    def rows(self, out):
        lines = (self.folder / out / "tasks.jsonl").read_text().splitlines()
        return [{k: v for k, v in json.loads(line).items() if k not in TIMES} for line in lines]
