// SPDX-License-Identifier: Apache-2.0
// The texts of a task for the agent: the reference, the buffers, task.json, the prompts.
// The demonstrations' generator writes the same brief prompt; a golden test compares the two.
#pragma once

#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// The workspace's reference.py: the imports, `Model`, `get_init_inputs`, and all that the two use.
/// It runs. `get_inputs` is left out: the agent must not learn how inputs are drawn. `parse_failed`
/// if there is no `Model`.
Result<std::string> reference_file(std::string_view code);

/// task.json: the buffers in order, as arguments of `solve` or names for a plan; the constants if
/// there are any. Includes the lane for contracts in which a plan chooses the library's arithmetic.
std::string task_json(const Task& task, const TaskSignature& signature, std::string_view contract);

/// The prompt for small policies: `Model`, what it uses, and the buffers. The constructor's
/// arguments are left out if the buffers show the same.
Result<std::string> brief_prompt(const Task& task, const TaskSignature& signature,
                                 std::string_view contract);

/// Ends a brief prompt whose answer contains the files of the solution. The demonstrations'
/// generator has it too.
inline constexpr const char* brief_files_line = "\nanswer: files";

/// The part of the prompt that depends only on the contract.
struct ContractText {
  std::string_view name;   // of a contract
  std::string_view skill;  // SKILL.md
};

/// System and user message for models that follow instructions. `tools` describes the tools;
/// without them the prompt asks for one answer that contains the files of the solution.
struct FullPrompt {
  std::string system;
  std::string user;
};
Result<FullPrompt> full_prompt(const Task& task, const TaskSignature& signature,
                               const ContractText& contract, std::string_view tools);

/// The files that a workspace of the task starts with.
Result<FileSet> workspace_files(const Task& task, const TaskSignature& signature,
                                const ContractText& contract);

}  // namespace warpsmith::sandbox
