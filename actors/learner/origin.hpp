// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "runtime/policy_version.hpp"

namespace warpsmith::actors {

/// Where the weights of this incarnation come from.
struct Origin {
  PolicyVersion version;             // (incarnation, step)
  std::filesystem::path checkpoint;  // empty: the model's own folder
};

}  // namespace warpsmith::actors
