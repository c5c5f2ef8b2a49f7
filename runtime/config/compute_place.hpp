// SPDX-License-Identifier: Apache-2.0
// Where generator and learner compute, and in which type.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace warpsmith {

enum class ComputeDevice : uint8_t { cpu, cuda };
inline constexpr std::array<std::string_view, 2> device_names{"cpu", "cuda"};

/// On a CPU everything is fp32. On a GPU an engine's weights, keys and values have this type, and a
/// learner computes in it; its master weights, gradients and optimiser state are fp32.
enum class ComputePrecision : uint8_t { bf16, fp32 };
inline constexpr std::array<std::string_view, 2> precision_names{"bf16", "fp32"};

}  // namespace warpsmith
