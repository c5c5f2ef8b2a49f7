// SPDX-License-Identifier: Apache-2.0
// Tasks for tests of ingest and of whole judgements.
#pragma once

namespace warpsmith::sandbox::test {

/// A product of 2 n^3 operations that n^2 can replace. Inputs a [256], b [256, 256].
inline constexpr const char* diagonal_product_code = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, a, b):
        return torch.diag(a) @ b
def get_inputs():
    return [torch.randn(256), torch.randn(256, 256)]
def get_init_inputs():
    return []
)";

/// Rows of a table by index, their columns in a fixed order. Input i [512]; parameters
/// table [64, 256], order [256].
inline constexpr const char* embedding_code = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(64, 256))
        self.register_buffer("order", torch.randperm(256))
    def forward(self, i):
        return self.table[i][:, self.order] * 1.5
def get_inputs():
    return [torch.randint(0, 64, (512,))]
def get_init_inputs():
    return []
)";

/// A product whose operator computes something else without its keyword arguments.
inline constexpr const char* scaled_addmm_code = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 48))
        self.bias = nn.Parameter(torch.randn(48))
    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight, beta=0.5, alpha=2)
def get_inputs():
    return [torch.randn(96, 64)]
def get_init_inputs():
    return []
)";

/// Raises if inputs are larger than those of its own get_inputs.
inline constexpr const char* raising_code = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        if x.abs().max() > 500:
            raise ValueError("too large")
        return x * 2
def get_inputs():
    return [torch.randn(64, 64)]
def get_init_inputs():
    return []
)";

}  // namespace warpsmith::sandbox::test
