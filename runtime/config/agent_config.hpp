// SPDX-License-Identifier: Apache-2.0
// [agent]: the prompt, the tools and the limits of one trajectory.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"
#include "runtime/parsed_call.hpp"

namespace warpsmith {

/// How much of the task and the rules the prompt contains.
enum class PromptStyle : uint8_t {
  brief,  // the reference class and the buffers: for tiny policies
  full,   // SKILL.md and the tools' schemas first
};

/// What one turn of the agent is.
enum class AnswerForm : uint8_t {
  calls,  // tool calls, over several turns
  files,  // one turn, no tools: the files of the solution in fenced blocks
};

/// What is judged when a trajectory ends without a submission, or with one worse than before.
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
  // Near the end of max_tokens the agent writes a summary and goes on with the task and that alone;
  // max_tokens then bounds each context. For a [brain] only.
  bool summarise = false;
  double summary_share = 0.25;  // of max_tokens: with less left, a summary is asked for
  Unsubmitted unsubmitted = Unsubmitted::best;
  // Rehearsal with model.weights = "random": turn n runs the calls of text n (of the last text from
  // there on), whatever was sampled. What was sampled stays as it is, and is trained.
  std::vector<std::string> scripted_turns;
  std::chrono::milliseconds tool_timeout{std::chrono::seconds{60}};
};

void describe(Fields& fields, AgentConfig& c);
void validate(const AgentConfig& c, Complaints& complaints);

}  // namespace warpsmith
