# SPDX-License-Identifier: Apache-2.0
# A task in the form of MultiKernelBench, for tests: input groups, made of the lines of soft_clip.json.
import json
import os

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, limit):
        return limit * torch.tanh(x / limit) + x * 0.125


def get_input_groups():
    json_path = os.path.join(os.path.dirname(__file__), "soft_clip.json")
    with open(json_path, "r", encoding="utf-8") as f:
        cases = [json.loads(line) for line in f if line.strip()]
    groups = []
    for case in cases:
        tensor, limit = case["inputs"]
        groups.append([torch.randn(tensor["shape"], dtype=getattr(torch, tensor["dtype"])), limit["value"]])
    return groups


def get_init_inputs():
    return []
