// SPDX-License-Identifier: Apache-2.0
// The engine on a CPU: paged KV cache and forward pass in float32 on one thread.
#pragma once

#include <memory>

#include "policy/generate/engine/engine.hpp"
#include "policy/model/config.hpp"

namespace warpsmith::policy {

/// An engine that computes on this thread, without weights yet. `parse_failed` for an impossible
/// model, `invalid_argument` for an impossible configuration.
Result<std::unique_ptr<Engine>> make_cpu_engine(const ModelConfig& model,
                                                const EngineConfig& config);

}  // namespace warpsmith::policy
