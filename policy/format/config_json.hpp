// SPDX-License-Identifier: Apache-2.0
// config.json as `transformers` writes it (4.x and 5.x), to and from ModelConfig.
#pragma once

#include <string>
#include <string_view>

#include "policy/model/config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// `parse_failed` names the key, what was expected and what was found; `unsupported` names an
/// architecture or option that is not supported.
Result<ModelConfig> parse_config_json(std::string_view text);

/// A config.json with which `transformers` opens the folder as this model. Writes the rotary
/// settings twice: `rope_theta` and `rope_scaling` for 4.x, `rope_parameters` for 5.x.
std::string config_json(const ModelConfig& config, std::string_view dtype = "float32");

}  // namespace warpsmith::policy
