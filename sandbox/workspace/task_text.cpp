// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/task_text.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/task_options.hpp"
#include "sandbox/contract/registry.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    lines.push_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
  }
  return lines;
}

/// Tracks triple-quoted strings from line to line.
class QuoteState {
 public:
  bool inside() const { return !quote_.empty(); }
  void feed(std::string_view line) {
    for (size_t i = 0; i + 3 <= line.size();) {
      const std::string_view three = line.substr(i, 3);
      const bool is_quote = three == R"(""")" || three == "'''";
      const bool turns = is_quote && (quote_.empty() || quote_ == three);
      if (turns) quote_ = quote_.empty() ? std::string(three) : std::string();
      i += turns ? 3 : 1;
    }
  }

 private:
  std::string quote_;
};

bool starts_statement(std::string_view line) {
  return !line.empty() && std::string_view(" \t#)]}").find(line[0]) == std::string_view::npos;
}

bool is_model(std::string_view line) {
  constexpr std::string_view head = "class Model";
  if (!line.starts_with(head) || line.size() == head.size()) return false;
  return std::string_view("(: \t").find(line[head.size()]) != std::string_view::npos;
}

bool is_blank_or_comment(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos || line[first] == '#';
}

std::string joined(const std::vector<std::string_view>& lines) {
  std::string text;
  for (const std::string_view line : lines) text.append(text.empty() ? "" : "\n").append(line);
  return text;
}

std::string_view lane_name(PrecisionLane lane) {
  return lane == PrecisionLane::tf32_allowed ? "tf32-allowed" : "fp32-strict";
}

/// Added for a task with ragged shapes, which stay secret.
constexpr const char* other_sizes =
    "\nThe kernel is verified on other sizes of the inputs too, parameters as they are.\n";

/// The heading says what the lines are for.
std::string named_tensors(const Task& task, const TaskSignature& signature,
                          const ContractEntry& contract) {
  std::string text{contract.tensors_heading};
  if (contract.names_lane) text.append(", in the lane ").append(lane_name(task.lane));
  return text + ":\n\n" + contract.tensor_lines(signature) + (ragged_task(task) ? other_sizes : "");
}

}  // namespace

Result<std::string> reference_class(std::string_view code) {
  std::vector<std::string_view> taken;
  QuoteState quotes;
  for (const std::string_view line : lines_of(code)) {
    const bool boundary = !quotes.inside() && starts_statement(line);
    quotes.feed(line);
    if (taken.empty() ? boundary && is_model(line) : !boundary) {
      taken.push_back(line);
    } else if (!taken.empty()) {
      break;
    }
  }
  while (!taken.empty() && is_blank_or_comment(taken.back())) taken.pop_back();
  if (taken.empty()) return fail(ErrorCode::parse_failed, "the task has no `class Model`");
  return joined(taken);
}

Result<std::string> reference_file(std::string_view code) {
  auto text = reference_class(code);
  if (!text) return text;
  std::string file;
  QuoteState quotes;
  for (const std::string_view line : lines_of(code)) {
    const bool is_import = line.starts_with("import ") || line.starts_with("from ");
    if (!quotes.inside() && is_import) file.append(line).append("\n");
    quotes.feed(line);
  }
  return file + "\n\n" + *text + "\n";
}

std::string task_json(const Task& task, const TaskSignature& signature, std::string_view contract) {
  static constexpr std::array<const char*, 3> roles{"input", "parameter", "output"};
  Json buffers = Json::array();
  for (const TensorSpec& tensor : signature.tensors) {
    buffers.push_back({{"name", tensor.name},
                       {"role", roles.at(static_cast<size_t>(tensor.role))},
                       {"dtype", dtype_name(tensor.dtype)},
                       {"shape", tensor.shape},
                       {"symbols", tensor.symbols}});
  }
  Json dims = Json::array();
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    const std::string name = i < signature.dim_names.size() ? signature.dim_names[i] : "";
    dims.push_back({{"name", name}, {"value", signature.dims[i]}});
  }
  Json json{{"id", task.id}, {"contract", contract}, {"buffers", buffers}, {"dims", dims}};
  if (contract_named(contract).names_lane) json["lane"] = lane_name(task.lane);
  const auto options = read_task_options(task.code);
  if (options && options->custom_kernels_only) json["custom_kernels_only"] = true;
  if (ragged_task(task)) json["other_sizes"] = true;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> brief_prompt(const Task& task, const TaskSignature& signature) {
  const auto text = reference_class(task.code);
  if (!text) return fail("task " + task.id, text.error());
  return *text + "\n" + buffer_lines(signature);
}

Result<FullPrompt> full_prompt(const Task& task, const TaskSignature& signature,
                               const ContractText& contract, std::string_view tools) {
  const auto text = reference_file(task.code);
  if (!text) return fail("task " + task.id, text.error());
  const ContractEntry& entry = contract_named(contract.name);
  FullPrompt prompt;
  const bool ends = contract.skill.ends_with('\n');
  prompt.system = std::string(contract.skill) + (ends ? "\n" : "\n\n") + std::string(tools);
  prompt.user = "Write a faster kernel for this PyTorch module:\n\n```python\n" + *text +
                "```\n\n" + named_tensors(task, signature, entry) + "\nWrite " +
                std::string(entry.solution_files) + ", verify it, make it fast, then submit.";
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
