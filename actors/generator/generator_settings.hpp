// SPDX-License-Identifier: Apache-2.0
// A generator's settings from the configuration of a run.
#pragma once

#include "actors/generator/generator.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

GeneratorSettings generator_settings(const RunConfig& config, const policy::ModelConfig& model,
                                     std::vector<int32_t> stop_tokens);

}  // namespace warpsmith::actors
