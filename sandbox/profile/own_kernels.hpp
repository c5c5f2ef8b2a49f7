// SPDX-License-Identifier: Apache-2.0
// Classifies the kernels of a candidate of contract `host` by their names. The candidate chooses
// the names, so this protects against nothing.
#pragma once

#include <optional>
#include <string_view>

#include "sandbox/profile/profile.hpp"

namespace warpsmith::sandbox {

/// True for cuBLAS, cuDNN, CUTLASS as instantiated in libraries, ATen and inductor.
bool is_library_kernel(std::string_view name);

/// True for torch kernels that only fill, copy or concatenate tensors.
bool is_moving_kernel(std::string_view name);

/// The share of the candidate's own kernels in the device time of a call; copies and fills do not
/// count as its own. Empty unless the candidate recorded the call itself.
std::optional<double> own_share(const Profile& profile);

}  // namespace warpsmith::sandbox
