// SPDX-License-Identifier: Apache-2.0
// Keys of endpoints, which the environment holds.
#pragma once

#include <string>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The key in `variable`; empty if it names none. `invalid_config` names `setting` and the
/// variable, not the key, if that is missing or cannot be sent.
Result<std::string> secret_key(const std::string& setting, const std::string& variable);

}  // namespace warpsmith::actors
