// SPDX-License-Identifier: Apache-2.0
// Progress of slow work.
#pragma once

#include <functional>
#include <string>

namespace warpsmith::sandbox {

/// Receives one line at a time, e.g. "softmax_rows: timing eager and torch.compile". May be empty.
using Progress = std::function<void(const std::string&)>;

}  // namespace warpsmith::sandbox
