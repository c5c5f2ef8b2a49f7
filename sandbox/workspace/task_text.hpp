// SPDX-License-Identifier: Apache-2.0
// What an agent is shown of a task: the reference's class, the buffers, task.json, the prompts.
// Pure. The demonstrations' generator writes the same brief prompt; a golden test holds both to it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/contract/buffer_lines.hpp"

namespace warpsmith::sandbox {

/// The source lines of `class Model`, without trailing newline. Imports, sizes and get_inputs are
/// not in it: how inputs are drawn is the judge's business. `parse_failed` if there is no such
/// class.
Result<std::string> reference_class(std::string_view code);

/// reference.py of the workspace: the imports and the class.
Result<std::string> reference_file(std::string_view code);

/// task.json: the buffers in order, as `solve` receives them or a plan names them; the lane too
/// where a plan chooses what the library computes in.
std::string task_json(const Task& task, const TaskSignature& signature, std::string_view contract);

/// The prompt of small policies: the class, then the buffers.
Result<std::string> brief_prompt(const Task& task, const TaskSignature& signature);

/// What an agent is told of its contract, whatever the task.
struct ContractText {
  std::string_view name;   // of a contract
  std::string_view skill;  // SKILL.md
};

/// System and user message for models that read instructions. `tools` is the text that offers them.
struct FullPrompt {
  std::string system;
  std::string user;
};
Result<FullPrompt> full_prompt(const Task& task, const TaskSignature& signature,
                               const ContractText& contract, std::string_view tools);

/// The files that every workspace of the task starts with.
Result<FileSet> workspace_files(const Task& task, const TaskSignature& signature,
                                const ContractText& contract);

}  // namespace warpsmith::sandbox
