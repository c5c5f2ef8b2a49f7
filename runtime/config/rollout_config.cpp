// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/rollout_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 2> prompt_names{"brief", "full"};
constexpr std::array<std::string_view, 2> answer_names{"calls", "files"};
constexpr std::array<std::string_view, 2> unsubmitted_names{"newest", "best"};
constexpr std::array<std::string_view, 2> syntax_names{"xml", "hermes"};
constexpr std::array<std::string_view, 3> template_names{"auto", "chatml", "llama3"};
constexpr std::array<std::string_view, 14> tool_names{
    "bash", "bash_output", "kill_bash", "read",    "write",  "edit",    "multi_edit",
    "glob", "grep",        "todo",      "compile", "verify", "profile", "submit"};
constexpr std::array<std::string_view, 3> reward_names{"milestone", "speedup", "log_speedup"};

}  // namespace

void describe(Fields& fields, AgentConfig& c) {
  fields.choice_of("prompt", c.prompt, prompt_names);
  fields.choice_of("answer", c.answer, answer_names);
  fields.choice_of("syntax", c.syntax, syntax_names);
  fields.text("chat_template", c.chat_template);
  fields.texts("tools", c.tools, tool_names);
  fields.integer("max_turns", c.max_turns, {.low = 1, .high = 10'000});
  fields.integer("eval_turns", c.eval_turns, {.low = 0, .high = 10'000});
  fields.integer("max_tokens", c.max_tokens, {.low = 16, .high = 1 << 24});
  fields.integer("result_tokens", c.result_tokens, {.low = 8, .high = 1 << 20});
  fields.flag("summarise", c.summarise);
  fields.real("summary_share", c.summary_share, {.low = 0.05, .high = 0.75});
  fields.choice_of("unsubmitted", c.unsubmitted, unsubmitted_names);
  fields.texts("scripted_turns", c.scripted_turns, {});
  fields.duration("tool_timeout", c.tool_timeout, {.low = std::chrono::milliseconds{100}});
}

void validate(const AgentConfig& c, Complaints& complaints) {
  const auto has = [&c](std::string_view tool) {
    return std::find(c.tools.begin(), c.tools.end(), tool) != c.tools.end();
  };
  complaints.require(has("submit"), "agent.tools",
                     "expected \"submit\" in the list: without it no trajectory gets a verdict");
  complaints.require(has("write"), "agent.tools",
                     "expected \"write\" in the list: without it no solution can be written");
  complaints.require(!has("bash_output") || has("bash"), "agent.tools",
                     "expected \"bash\" with \"bash_output\": it starts the jobs");
  complaints.require(!has("kill_bash") || has("bash_output"), "agent.tools",
                     "expected \"bash_output\" with \"kill_bash\": without it no job starts");
  complaints.require(std::set<std::string>(c.tools.begin(), c.tools.end()).size() == c.tools.size(),
                     "agent.tools", "expected each tool once");
  complaints.require(c.result_tokens < c.max_tokens, "agent.result_tokens",
                     fmt::format("expected less than agent.max_tokens ({}), got {}", c.max_tokens,
                                 c.result_tokens));
  complaints.require(c.scripted_turns.empty() || c.answer == AnswerForm::calls,
                     "agent.scripted_turns",
                     "expected none with agent.answer = \"files\", which has no calls");
  const bool known = std::find(template_names.begin(), template_names.end(), c.chat_template) !=
                     template_names.end();
  complaints.require(
      known, "agent.chat_template",
      "expected \"auto\", \"chatml\" or \"llama3\", got \"" + c.chat_template + "\"");
}

void describe(Fields& fields, RolloutConfig& c) {
  fields.integer("count", c.count, {.low = 1, .high = 4096});
  fields.integer("concurrent", c.concurrent, {.low = 1, .high = 65'536});
  fields.choice_of("reward", c.reward, reward_names);
  fields.real("overlong_penalty", c.overlong_penalty, {.low = 0, .high = 10});
  fields.integer("infra_retries", c.infra_retries, {.low = 0, .high = 100});
  fields.duration("generate_timeout", c.generate_timeout, {.low = std::chrono::seconds{1}});
}

void describe(Fields& fields, ToolExecutorConfig& c) {
  fields.integer("count", c.count, {.low = 1, .high = 4096});
  fields.duration("shell_timeout", c.shell_timeout, {.low = std::chrono::milliseconds{100}});
  fields.bytes("shell_memory", c.shell_memory_bytes, {.low = 16 << 20});
  fields.bytes("output", c.shell_output_bytes, {.low = 256, .high = 64 << 20});
  fields.integer("jobs", c.shell_jobs, {.low = 1, .high = 16});
  fields.duration("job_lifetime", c.job_lifetime,
                  {.low = std::chrono::milliseconds{100}, .high = std::chrono::hours{24}});
}

}  // namespace warpsmith
