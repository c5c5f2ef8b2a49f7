// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/task_text.hpp"

#include <nlohmann/json.hpp>

#include "runtime/task_options.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/reference/description.hpp"
#include "sandbox/reference/ragged.hpp"
#include "sandbox/workspace/task_source.hpp"

namespace warpsmith::sandbox {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string_view lane_name(PrecisionLane lane) {
  return lane == PrecisionLane::tf32_allowed ? "tf32-allowed" : "fp32-strict";
}

/// Added for a task with ragged shapes, which stay secret.
constexpr const char* other_sizes =
    "\nThe kernel is verified on other sizes of the inputs too, parameters as they are.\n";

/// The arguments of forward that are no tensors; nothing if there are none.
std::string constant_lines(const TaskSignature& signature, std::string_view before) {
  std::string text;
  for (const ConstantSpec& constant : signature.constants) {
    text.append(text.empty() ? before : "\n").append("always ");
    text.append(constant.name).append(" = ").append(constant.value);
  }
  return text;
}

/// The heading says what the lines are for.
std::string named_tensors(const Task& task, const TaskSignature& signature,
                          const ContractEntry& contract) {
  std::string text{contract.tensors_heading};
  if (contract.names_lane) text.append(", in the lane ").append(lane_name(task.lane));
  text += ":\n\n" + contract.tensor_lines(signature);
  if (!signature.constants.empty()) text += constant_lines(signature, "") + "\n";
  return text + (ragged_task(task) ? other_sizes : "");
}

std::string files_request(const std::string& files) {
  return "Write " + files +
         " in one answer, without tools: each file whole, in a fenced block whose first line ends "
         "with its "
         "path, like\n```cpp solution/kernel.cpp";
}

}  // namespace

Result<std::string> reference_file(std::string_view code) {
  TRY(const auto source, TaskSource::parse(code));
  return source.imports() + "\n\n" + source.model_with_arguments() + "\n";
}

std::string task_json(const Task& task, const TaskSignature& signature, std::string_view contract) {
  OrderedJson buffers = OrderedJson::array();
  for (const TensorSpec& tensor : signature.tensors) {
    buffers.push_back({{"name", tensor.name},
                       {"role", to_string(tensor.role)},
                       {"dtype", dtype_name(tensor.dtype)},
                       {"shape", tensor.shape},
                       {"symbols", tensor.symbols}});
  }
  OrderedJson dims = OrderedJson::array();
  for (const auto& [name, extent] : contract_named(contract).dims(signature)) {
    dims.push_back({{"name", name}, {"value", extent}});
  }
  OrderedJson json{{"id", task.id}, {"contract", contract}, {"buffers", buffers}, {"dims", dims}};
  if (contract_named(contract).names_lane) json["lane"] = lane_name(task.lane);
  for (const ConstantSpec& constant : signature.constants) {
    json["constants"][constant.name] = constant.value;
  }
  const auto options = read_task_options(task.code);
  if (options && options->custom_kernels_only) json["custom_kernels_only"] = true;
  if (ragged_task(task)) json["other_sizes"] = true;
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

Result<std::string> brief_prompt(const Task& task, const TaskSignature& signature,
                                 std::string_view contract) {
  const auto source = TaskSource::parse(task.code);
  if (!source) return fail("task " + task.id, source.error());
  const bool whole = source->arguments_matter();
  return (whole ? source->model_with_arguments() : source->model()) + "\n" +
         buffer_lines(signature, contract_named(contract).dims(signature)) +
         constant_lines(signature, "\n");
}

Result<FullPrompt> full_prompt(const Task& task, const TaskSignature& signature,
                               const ContractText& contract, std::string_view tools) {
  const auto text = reference_file(task.code);
  if (!text) return fail("task " + task.id, text.error());
  const ContractEntry& entry = contract_named(contract.name);
  FullPrompt prompt;
  const bool ends = contract.skill.ends_with('\n');
  prompt.system = std::string(contract.skill) + (ends ? "\n" : "\n\n") + std::string(tools);
  const std::string files{entry.solution_files};
  prompt.user = "Write a faster kernel for this PyTorch module:\n\n```python\n" + *text +
                "```\n\n" + named_tensors(task, signature, entry) + "\n" +
                (tools.empty() ? files_request(files)
                               : "Write " + files + ", verify it, make it fast, then submit.");
  return prompt;
}

Result<FileSet> workspace_files(const Task& task, const TaskSignature& signature,
                                const ContractText& contract) {
  auto reference = reference_file(task.code);
  if (!reference) return fail("task " + task.id, reference.error());
  return FileSet{{"SKILL.md", std::string(contract.skill)},
                 {"reference.py", std::move(*reference)},
                 {"task.json", task_json(task, signature, contract.name)}};
}

}  // namespace warpsmith::sandbox
