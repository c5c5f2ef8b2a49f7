# SPDX-License-Identifier: Apache-2.0
# Softmax attention in which a position sees itself and earlier ones.
import torch
import torch.nn as nn
import torch.nn.functional as F

HEADS = 6
LENGTH = 128
WIDTH = 32


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [torch.randn(1, HEADS, LENGTH, WIDTH) for _ in range(3)]


def get_init_inputs():
    return []
