// SPDX-License-Identifier: Apache-2.0
// Which kernels of a candidate of contract `host` are its own, by their names: these are the
// candidate's to choose, and so no protection. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "sandbox/profile/profile.hpp"

namespace warpsmith::sandbox {

/// cuBLAS, cuDNN, CUTLASS as libraries instantiate it, ATen, inductor.
bool is_library_kernel(std::string_view name);

/// Of torch's own kernels those that fill, copy or lay tensors together: no work.
bool is_moving_kernel(std::string_view name);

/// Of the device time of a call as the candidate told it; copies and fills are nobody's own.
/// Nothing where a launcher recorded it, or nothing was.
std::optional<double> own_share(const Profile& profile);

}  // namespace warpsmith::sandbox
