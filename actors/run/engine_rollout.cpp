// SPDX-License-Identifier: Apache-2.0
// What a rollout and its helpers are made of, out of the configuration.
#include "actors/run/engine_settings.hpp"
#include "policy/text/chat_turns.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "sandbox/contract/contract_files.hpp"
#include "sandbox/workspace/task_text.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {
namespace {

policy::ChatFrame frame_of(const EngineInputs& inputs) {
  return policy::frame_named(inputs.config.agent.chat_template, *inputs.tokenizer);
}

std::string brief_text(const EngineInputs& inputs, const PreparedTask& task) {
  auto text = sandbox::brief_prompt(task.task, task.facts.signature);
  if (!text) throw std::runtime_error(text.error().message);
  return policy::chat_prompt("", *text, frame_of(inputs));
}

std::string full_text(const EngineInputs& inputs, const PreparedTask& task) {
  const auto& agent = inputs.config.agent;
  const auto tools = sandbox::tools_named(agent.tools);
  if (!tools) throw std::runtime_error(tools.error().message);
  auto text = sandbox::full_prompt(task.task, task.facts.signature,
                                   {inputs.config.sandbox.contract, inputs.skill},
                                   policy::tools_prompt(*tools, agent.syntax));
  if (!text) throw std::runtime_error(text.error().message);
  return policy::chat_prompt(text->system, text->user, frame_of(inputs));
}

/// The token that ends a turn, and the model's own ends of text.
std::vector<int32_t> stop_tokens(const EngineInputs& inputs) {
  std::vector<int32_t> stops;
  stops.reserve(inputs.model.eos_tokens.size() + 1);
  for (const int64_t token : inputs.model.eos_tokens) stops.push_back(static_cast<int32_t>(token));
  if (const auto end = inputs.tokenizer->id_of(frame_of(inputs).end)) stops.push_back(*end);
  return stops;
}

std::shared_ptr<const RolloutSetup> rollout_setup(
    const std::shared_ptr<const EngineInputs>& inputs) {
  auto setup = std::make_shared<RolloutSetup>();
  const RunConfig& c = inputs->config;
  setup->encode = [inputs](std::string_view text) { return inputs->tokenizer->encode(text); };
  setup->decode = [inputs](std::span<const int32_t> tokens) {
    return inputs->tokenizer->decode(tokens);
  };
  setup->stop_tokens = stop_tokens(*inputs);
  setup->frame = frame_of(*inputs);
  setup->syntax = c.agent.syntax;
  setup->max_turns = c.agent.max_turns;
  setup->max_tokens = c.agent.max_tokens;
  setup->max_turn_tokens = c.generator.max_new_tokens;
  setup->result_tokens = c.agent.result_tokens;
  setup->infra_retries = static_cast<uint32_t>(c.rollout.infra_retries);
  setup->reward = c.rollout.reward;
  setup->overlong_penalty = c.rollout.overlong_penalty;
  return setup;
}

}  // namespace

RolloutSettings rollout_settings(const std::shared_ptr<const EngineInputs>& inputs) {
  const RunConfig& c = inputs->config;
  RolloutSettings settings;
  settings.concurrent = static_cast<size_t>(c.rollout.concurrent);
  settings.setup = rollout_setup(inputs);
  settings.prompt = [inputs](const PreparedTask& task) {
    return inputs->config.agent.prompt == PromptStyle::brief ? brief_text(*inputs, task)
                                                             : full_text(*inputs, task);
  };
  settings.generate_timeout = c.rollout.generate_timeout;
  // An executor runs one call at a time: at worst every trajectory waits at the same one.
  settings.tool_timeout = c.agent.tool_timeout * (c.rollout.count * c.rollout.concurrent);
  settings.judge_timeout = c.sandbox.limits.evaluation * (c.sandbox.queue + 1);
  return settings;
}

ToolExecutorSettings tool_executor_settings(const EngineInputs& inputs) {
  const RunConfig& c = inputs.config;
  ToolExecutorSettings settings;
  settings.workspaces = inputs.scratch / "workspaces";
  settings.skill = inputs.skill;
  settings.box.contract = c.sandbox.contract;
  settings.box.required_file = sandbox::required_file(c.sandbox.contract);
  settings.box.tools = sandbox::tools_named(c.agent.tools).value();
  settings.box.solution.bytes = static_cast<size_t>(c.sandbox.limits.source_bytes);
  settings.box.shell_timeout_ms = static_cast<uint32_t>(c.tool_executor.shell_timeout.count());
  settings.box.shell_output_bytes = static_cast<uint32_t>(c.tool_executor.output_bytes);
  settings.box.shell_memory_bytes = static_cast<uint64_t>(c.tool_executor.shell_memory_bytes);
  settings.services = shell_services(beside_slots_options(c.sandbox, {}), inputs.ender);
  return settings;
}

GeneratorSettings generator_settings(const EngineInputs& inputs) {
  const GeneratorConfig& c = inputs.config.generator;
  GeneratorSettings settings;
  settings.model = inputs.model;
  settings.engine.max_sessions = c.max_sessions;
  settings.engine.max_session_tokens = inputs.config.agent.max_tokens;
  settings.engine.cache_tokens = c.cache_tokens;
  settings.engine.max_batch = c.max_batch;
  settings.engine.prefix_reuse = c.prefix_reuse;
  settings.sampling.temperature = c.temperature;
  settings.sampling.top_p = c.top_p;
  settings.sampling.top_k = static_cast<int32_t>(c.top_k);
  settings.sampling.seed = static_cast<uint64_t>(inputs.config.run.seed);
  settings.sampling.stop_tokens = stop_tokens(inputs);
  settings.chunk_tokens = static_cast<size_t>(c.chunk_tokens);
  settings.pull_timeout = c.pull_timeout;
  settings.threads = static_cast<int>(c.threads);
  return settings;
}

}  // namespace warpsmith::actors
