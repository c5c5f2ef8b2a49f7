// SPDX-License-Identifier: Apache-2.0
// How slow work says what it is doing.
#pragma once

#include <functional>
#include <string>

namespace warpsmith::sandbox {

/// Told one line at a time, e.g. "softmax_rows: timing eager and torch.compile". May be empty.
using Progress = std::function<void(const std::string&)>;

}  // namespace warpsmith::sandbox
