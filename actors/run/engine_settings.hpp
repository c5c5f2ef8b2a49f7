// SPDX-License-Identifier: Apache-2.0
// The settings of each actor kind, out of the configuration. Used by engine.cpp alone.
#pragma once

#include "actors/generator/generator.hpp"
#include "actors/learner/learner.hpp"
#include "actors/rollout/rollout.hpp"
#include "actors/run/engine.hpp"
#include "actors/sandbox/sandbox.hpp"
#include "actors/sandbox/service_backend.hpp"
#include "actors/synthesis/synthesis.hpp"
#include "actors/tools/tool_executor.hpp"

namespace warpsmith::actors {

RolloutSettings rollout_settings(const std::shared_ptr<const EngineInputs>& inputs);
ToolExecutorSettings tool_executor_settings(const EngineInputs& inputs);
GeneratorSettings generator_settings(const EngineInputs& inputs);
LearnerSettings learner_settings(const std::shared_ptr<const EngineInputs>& inputs);
LedgerSettings ledger_settings(const EngineInputs& inputs);
SynthesisSettings synthesis_settings(const EngineInputs& inputs);
SandboxSettings sandbox_settings(const EngineInputs& inputs);

}  // namespace warpsmith::actors
