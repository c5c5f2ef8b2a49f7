// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/tool_arguments.hpp"

#include <fcntl.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/run/durable_file.hpp"
#include "sandbox/workspace/solution.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

tl::unexpected<Error> wrong(const std::string& what) {
  return fail(ErrorCode::invalid_argument, what);
}

/// A name that stays within its folder.
bool is_plain_name(const std::string& name) {
  const fs::path path{name};
  return !name.empty() && name.find('\0') == std::string::npos && path.is_relative() &&
         path.has_filename() && std::ranges::none_of(path, [](const fs::path& part) {
           return part == ".." || part == ".";
         });
}

Result<void> write_one(const fs::path& folder, const std::string& name, const json& text) {
  if (!is_plain_name(name)) {
    return wrong("files: \"" + name + "\": expected a relative name without \"..\"");
  }
  if (!text.is_string()) return wrong("files: \"" + name + "\": expected its text, a string");
  std::error_code error;
  fs::create_directories((folder / name).parent_path(), error);
  auto file = open_file(folder / name, O_WRONLY | O_CREAT | O_EXCL);
  if (!file) return tl::unexpected(file.error());
  return write_all(*file, text.get_ref<const std::string&>(), folder / name);
}

Result<void> check_size(const json& files) {
  const sandbox::SolutionLimits limits;
  if (!files.is_object() || files.empty() || files.size() > limits.files) {
    return wrong("files: expected an object of 1 to " + std::to_string(limits.files) +
                 " files, {name: text}");
  }
  size_t bytes = 0;
  for (const auto& [name, text] : files.items()) {
    if (text.is_string()) bytes += text.get_ref<const std::string&>().size();
  }
  if (bytes <= limits.bytes) return {};
  return wrong("files: expected at most " + std::to_string(limits.bytes) + " bytes, got " +
               std::to_string(bytes));
}

/// The file of a task named by its path or its id.
Result<std::string> task_file(const std::string& task, const std::vector<fs::path>& places) {
  std::error_code error;
  if (fs::is_regular_file(task, error)) return task;
  const auto found = synthesis::find_tasks(places);
  if (!found) return tl::unexpected(found.error());
  const auto named = std::ranges::find(found->tasks, task, &Task::id);
  if (named != found->tasks.end()) return named->source;
  return fail(ErrorCode::not_found,
              "task: \"" + task + "\" is no file and no id; list_tasks shows the ids");
}

Result<std::string> text_argument(const json& arguments, const char* name) {
  if (!arguments.contains(name)) return std::string{};
  if (arguments[name].is_string()) return arguments[name].get<std::string>();
  return wrong(std::string(name) + ": expected a string");
}

Result<void> check_names(const json& arguments) {
  static const std::set<std::string> known{"task", "solution", "files", "contract", "numerics"};
  for (const auto& [name, value] : arguments.items()) {
    if (!known.contains(name)) {
      return wrong(name + ": unknown argument; expected task, solution, files, contract, numerics");
    }
  }
  return {};
}

/// The solution: a folder or file of the caller's, or given files.
Result<void> add_solution(const json& arguments, ToolInput& input) {
  const auto solution = text_argument(arguments, "solution");
  if (!solution) return tl::unexpected(solution.error());
  if (solution->empty() != arguments.contains("files")) {
    return wrong("expected either solution (a path) or files ({name: text})");
  }
  input.check.place = *solution;
  if (!solution->empty()) return {};
  auto files = GivenFiles::write(arguments["files"]);
  if (!files) return tl::unexpected(files.error());
  input.files = std::move(*files);
  input.check.place = input.files->folder().string();
  return {};
}

}  // namespace

Result<std::shared_ptr<GivenFiles>> GivenFiles::write(const json& files) {
  if (auto fits = check_size(files); !fits) return tl::unexpected(fits.error());
  const fs::path base = fs::temp_directory_path();
  OwnedFolder::sweep(base);
  auto folder = OwnedFolder::make(base);
  if (!folder) return tl::unexpected(std::move(folder.error()));
  std::shared_ptr<GivenFiles> given(new GivenFiles(std::move(*folder)));
  for (const auto& [name, text] : files.items()) {
    if (auto written = write_one(given->folder(), name, text); !written) {
      return tl::unexpected(written.error());
    }
  }
  return given;
}

Result<ToolInput> read_tool_input(const json& arguments, const std::vector<fs::path>& places) {
  if (auto known = check_names(arguments); !known) return tl::unexpected(known.error());
  ToolInput input;
  for (const auto& [name, to] :
       {std::pair{"task", &input.task}, std::pair{"contract", &input.check.contract},
        std::pair{"numerics", &input.check.numerics}}) {
    auto text = text_argument(arguments, name);
    if (!text) return tl::unexpected(text.error());
    if (!text->empty()) *to = std::move(*text);
  }
  if (input.task.empty()) return wrong("task: expected a path or an id, got none");
  if (input.check.numerics != "strict" && input.check.numerics != "paper") {
    return wrong("numerics: expected strict or paper, got \"" + input.check.numerics + "\"");
  }
  auto file = task_file(input.task, places);
  if (!file) return tl::unexpected(file.error());
  input.check.task = std::move(*file);
  if (auto added = add_solution(arguments, input); !added) return tl::unexpected(added.error());
  return input;
}

}  // namespace warpsmith::commands
