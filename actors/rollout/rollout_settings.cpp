// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/rollout_settings.hpp"

#include <stdexcept>

#include "actors/brain/brain_settings.hpp"
#include "actors/rollout/scripted_turns.hpp"
#include "policy/text/chat_turns.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "sandbox/workspace/task_text.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {
namespace {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

/// Writes the text of a trajectory up to its first sampled token.
struct PromptWriter {
  AgentConfig agent;
  std::string contract;
  std::string skill;
  policy::ChatFrame frame;

  policy::MarkedText operator()(const PreparedTask& task) const {
    return agent.prompt == PromptStyle::brief ? brief(task) : full(task);
  }
  policy::MarkedText brief(const PreparedTask& task) const {
    const auto text = value_or_throw(sandbox::brief_prompt(task.task, task.facts.signature));
    return policy::chat_prompt("", in_files() ? text + sandbox::brief_files_line : text, frame);
  }
  policy::MarkedText full(const PreparedTask& task) const {
    const auto tools = value_or_throw(sandbox::tools_named(agent.tools));
    const auto text = value_or_throw(
        sandbox::full_prompt(task.task, task.facts.signature, {contract, skill},
                             in_files() ? "" : policy::tools_prompt(tools, agent.syntax)));
    return policy::chat_prompt(text.system, text.user, frame);
  }
  bool in_files() const { return agent.answer == AnswerForm::files; }
};

RolloutSetup rollout_setup(const RunConfig& c, ModelText text) {
  RolloutSetup setup;
  const std::shared_ptr<const policy::Tokenizer> tokenizer = std::move(text.tokenizer);
  setup.encode = [tokenizer](const policy::MarkedText& t) { return tokenizer->encode(t); };
  setup.decode = [tokenizer](std::span<const int32_t> tokens) { return tokenizer->decode(tokens); };
  setup.stop_tokens = std::move(text.stop_tokens);
  setup.frame = std::move(text.frame);
  setup.answer = c.agent.answer;
  setup.syntax = c.agent.syntax;
  setup.script = value_or_throw(scripted_calls(c.agent));
  setup.max_turns = c.agent.answer == AnswerForm::files ? 1 : c.agent.max_turns;
  setup.max_tokens = c.agent.max_tokens;
  setup.max_turn_tokens = c.generator.max_new_tokens;
  setup.result_tokens = c.agent.result_tokens;
  setup.summary_share = c.agent.summarise ? c.agent.summary_share : 0;
  setup.unsubmitted = c.agent.unsubmitted;
  setup.infra_retries = static_cast<uint32_t>(c.rollout.infra_retries);
  setup.reward = c.rollout.reward;
  setup.overlong_penalty = c.rollout.overlong_penalty;
  return setup;
}

}  // namespace

RolloutSettings rollout_settings(const RunConfig& config, ModelText text, std::string skill) {
  RolloutSetup setup = rollout_setup(config, std::move(text));
  RolloutSettings settings;
  settings.concurrent = static_cast<size_t>(config.rollout.concurrent);
  settings.prompt =
      PromptWriter{config.agent, config.sandbox.contract, std::move(skill), setup.frame};
  settings.setup = std::make_shared<const RolloutSetup>(std::move(setup));
  // A brain has deadlines of its own, retries included; this one is behind them.
  settings.generate_timeout =
      has_brain(config.brain) ? brain_patience(config) : config.rollout.generate_timeout;
  // An executor runs one call at a time: at worst every trajectory waits for the same executor.
  settings.tool_timeout =
      config.agent.tool_timeout * (config.rollout.count * config.rollout.concurrent);
  settings.judge_timeout = config.sandbox.limits.evaluation * (config.sandbox.queue + 1);
  return settings;
}

}  // namespace warpsmith::actors
