// SPDX-License-Identifier: Apache-2.0
// The settings of each actor kind, out of the configuration. Used by engine.cpp alone.
#pragma once

#include "actors/engine.hpp"
#include "actors/generator.hpp"
#include "actors/learner.hpp"
#include "actors/rollout.hpp"
#include "actors/sandbox.hpp"
#include "actors/service_backend.hpp"
#include "actors/synthesis.hpp"
#include "actors/tool_executor.hpp"

namespace warpsmith::actors {

RolloutSettings rollout_settings(const std::shared_ptr<const EngineInputs>& inputs);
ToolExecutorSettings tool_executor_settings(const EngineInputs& inputs);
GeneratorSettings generator_settings(const EngineInputs& inputs);
LearnerSettings learner_settings(const std::shared_ptr<const EngineInputs>& inputs);
LedgerSettings ledger_settings(const EngineInputs& inputs);
SynthesisSettings synthesis_settings(const EngineInputs& inputs);
SandboxSettings sandbox_settings(const EngineInputs& inputs);

}  // namespace warpsmith::actors
