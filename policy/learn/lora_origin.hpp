// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// What adapters belong to.
struct LoraOrigin {
  LoraConfig config;
  std::string base;      // the folder of the frozen weights
  std::string checksum;  // of their values
};

}  // namespace warpsmith::policy
