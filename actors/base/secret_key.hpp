// SPDX-License-Identifier: Apache-2.0
// Keys of endpoints: read from the environment, and kept out of what is logged and stored.
#pragma once

#include <string>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The key in `variable`; empty if it names none. `invalid_config` names `setting` and the
/// variable, not the key, if that is missing or cannot be sent.
Result<std::string> secret_key(const std::string& setting, const std::string& variable);

/// `text` with "[key]" in place of every occurrence of `secret`; an empty one changes nothing.
std::string without_secret(std::string text, const std::string& secret);

}  // namespace warpsmith::actors
