# SPDX-License-Identifier: Apache-2.0
# What the tests of the synthesis worker share: the path, and candidates with one defect each.
import os
import pathlib
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[3]
WORKER = ROOT / "synthesis/worker"
sys.path.insert(0, str(WORKER))
warnings.filterwarnings("ignore")

SETTINGS = {"device": "cpu", "window": [0.001, 5000.0], "compile": "aot_eager", "signatures": set()}


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


def command(*arguments, **options):
    """Runs the command line and returns the finished process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-B", str(WORKER / "main.py"), *map(str, arguments)], text=True,
                          capture_output=True, env=environment, **options)
