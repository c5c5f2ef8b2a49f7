// SPDX-License-Identifier: Apache-2.0
// Settings of a trajectory. [agent]: its prompt, tools and limits. [rollout]: the actors that run
// it from the prompt to the verdict, and its reward. [tool_executor]: the actors that run its tool
// calls in CPU jails.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"
#include "runtime/model_turn.hpp"

namespace warpsmith {

/// How much of the task and the rules the prompt contains.
enum class PromptStyle : uint8_t {
  brief,  // the reference class and the buffers: for tiny policies
  full,   // SKILL.md and the tools' schemas first
};

/// The form of one turn of the agent.
enum class AnswerForm : uint8_t {
  calls,  // tool calls, over several turns
  files,  // one turn, no tools: the files of the solution in fenced blocks
};

/// What is judged if a trajectory ends without a submission, or with one that is worse than an
/// earlier one.
enum class Unsubmitted : uint8_t {
  newest,  // the files as they are then, or as submitted
  best,    // the fastest files that a tool found correct, after a resume too; else as above
};

struct AgentConfig {
  PromptStyle prompt = PromptStyle::full;
  AnswerForm answer = AnswerForm::calls;  // "files" if run.stage = "warmup"
  ToolSyntax syntax = ToolSyntax::hermes;
  std::string chat_template = "auto";  // "chatml", "llama3", or "auto": the model folder's own
  // "bash_output" and "kill_bash" add background jobs to "bash".
  std::vector<std::string> tools{"bash", "read",    "write",  "edit",    "multi_edit", "glob",
                                 "grep", "compile", "verify", "profile", "todo",       "submit"};
  int64_t max_turns = 150;
  int64_t eval_turns = 0;         // max_turns of `eval`; 0: the same
  int64_t max_tokens = 131'072;   // of a whole trajectory, prompt and tool results included
  int64_t result_tokens = 2'048;  // a longer tool result is cut in the middle
  // Near the end of max_tokens the agent writes a summary and continues with only the task and that
  // summary; max_tokens then bounds each context. For a [brain] only.
  bool summarise = false;
  double summary_share = 0.25;  // of max_tokens: with less left, a summary is asked for
  Unsubmitted unsubmitted = Unsubmitted::best;
  // For rehearsals with model.weights = "random": turn n runs the calls of text n, later turns
  // those of the last text, regardless of the sampled tokens. The sampled tokens are recorded and
  // trained unchanged.
  std::vector<std::string> scripted_turns;
  std::chrono::milliseconds tool_timeout{std::chrono::seconds{60}};
};

void describe(Fields& fields, AgentConfig& c);
void validate(const AgentConfig& c, Complaints& complaints);

/// How a verdict becomes a reward.
enum class RewardRule : uint8_t {
  milestone,    // −1 not correct, 1 correct, 2 > 5 % faster than eager, 3 also than torch.compile
  speedup,      // −1 not correct, else the lower bound of eager / candidate
  log_speedup,  // −1 not correct, else its natural logarithm; below a speed-up of 1 linear, > −1
};

struct RolloutConfig {
  int64_t count = 1;        // actors
  int64_t concurrent = 16;  // trajectories at once, per actor
  RewardRule reward = RewardRule::milestone;
  // A trajectory that a limit ended without a submission gets the reward -1 minus this.
  double overlong_penalty = 0;
  int64_t infra_retries = 2;  // of one step after an infrastructure failure; then it is dropped
  std::chrono::milliseconds generate_timeout{std::chrono::minutes{10}};  // between two chunks
};

void describe(Fields& fields, RolloutConfig& c);

struct ToolExecutorConfig {
  int64_t count = 1;  // actors; each runs one call at a time
  std::chrono::milliseconds shell_timeout{std::chrono::seconds{20}};  // wall time of a `bash` call
  int64_t shell_memory_bytes = int64_t{1} << 30;
  int64_t shell_output_bytes = 64 << 10;  // kept of one call's output, and of its errors
  int64_t shell_jobs = 4;  // of one trajectory in the background, running or with unread output
  std::chrono::milliseconds job_lifetime{std::chrono::minutes{10}};  // wall time of one
};

void describe(Fields& fields, ToolExecutorConfig& c);

}  // namespace warpsmith
