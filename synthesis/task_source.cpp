// SPDX-License-Identifier: Apache-2.0
#include "synthesis/task_source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "runtime/bytes.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/task_options.hpp"

namespace warpsmith::synthesis {
namespace {

namespace fs = std::filesystem;

struct Needed {
  std::string_view keyword, name;
};
constexpr std::array<Needed, 3> needed{
    {{"class", "Model"}, {"def", "get_inputs"}, {"def", "get_init_inputs"}}};

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // Python skips it as well

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// True if the line, without indentation, defines that name.
bool defines(std::string_view line, const Needed& part) {
  if (!line.starts_with(part.keyword)) return false;
  line.remove_prefix(part.keyword.size());
  const size_t space = line.find_first_not_of(" \t");
  if (space == 0 || space == std::string_view::npos) return false;
  line.remove_prefix(space);
  if (!line.starts_with(part.name)) return false;
  return line.size() == part.name.size() || !is_identifier(line[part.name.size()]);
}

bool has_definition(const std::string& text, const Needed& part) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (defines(line, part)) return true;
  }
  return false;
}

Result<std::vector<fs::path>> files_of(const fs::path& place) {
  std::error_code error;
  if (fs::is_regular_file(place, error)) return std::vector{place};
  if (!fs::is_directory(place, error)) {
    return fail(ErrorCode::not_found, place.string() + ": no such file or folder of tasks");
  }
  std::vector<fs::path> files;
  fs::recursive_directory_iterator entries(place, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    std::error_code vanished;  // the file may be gone by now
    const bool task = entries->is_regular_file(vanished) && entries->path().extension() == ".py";
    if (task) files.push_back(entries->path());
  }
  if (error) return fail(ErrorCode::io_failed, place.string() + ": " + error.message());
  if (files.empty()) return fail(ErrorCode::not_found, place.string() + ": contains no *.py task");
  std::ranges::sort(files);
  return files;
}

/// The text after `mark` on the first line that begins with it.
std::optional<std::string> constant(const std::string& code, std::string_view mark) {
  std::istringstream lines{code};
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();  // a line end of Windows
    if (line.starts_with(mark)) return line.substr(mark.size());
  }
  return std::nullopt;
}

/// Collects tasks: assigns each a unique id and refuses repeated contents.
class Collection {
 public:
  Result<void> add(Task task, const fs::path& file) {
    const auto [same, fresh] = by_hash_.emplace(task.content_hash, file);
    std::error_code ignored;
    if (!fresh && fs::equivalent(file, same->second, ignored)) {
      return fail(ErrorCode::already_exists,
                  file.string() + ": named twice, directly or by a folder that contains it");
    }
    if (!fresh) {
      return fail(ErrorCode::already_exists,
                  file.string() + ": the same task as " + same->second.string());
    }
    if (ids_.contains(task.id)) task.id = file.parent_path().filename().string() + '-' + task.id;
    if (!ids_.emplace(task.id, file).second) {
      return fail(ErrorCode::already_exists,
                  file.string() + ": another task has the id " + task.id);
    }
    tasks_.push_back(std::move(task));
    return {};
  }
  std::vector<Task> take() { return std::move(tasks_); }

 private:
  std::map<std::string, fs::path> by_hash_, ids_;
  std::vector<Task> tasks_;
};

}  // namespace

Result<std::optional<DeviceClass>> named_device(const std::string& code) {
  const auto named = constant(code, "DEVICE = ");
  if (!named) return std::nullopt;
  if (*named == "\"cpu\"") return DeviceClass::cpu;
  if (*named == "\"cuda\"") return DeviceClass::cuda;
  return fail(ErrorCode::parse_failed,
              R"(DEVICE: expected "cpu" or "cuda" and nothing else on the line, got )" + *named);
}

Result<PrecisionLane> named_lane(const std::string& code) {
  const auto named = constant(code, "LANE = ");
  if (!named || *named == "\"fp32-strict\"") return PrecisionLane::fp32_strict;
  if (*named == "\"tf32-allowed\"") return PrecisionLane::tf32_allowed;
  return fail(
      ErrorCode::parse_failed,
      R"(LANE: expected "fp32-strict" or "tf32-allowed" and nothing else on the line, got )" +
          *named);
}

Result<Task> load_task(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) {
    return fail(ErrorCode::invalid_argument,
                file.string() + ": expected a task file, got a folder");
  }
  TRY(auto text, read_text_file(file, max_task_bytes));
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  for (const Needed& part : needed) {
    if (has_definition(text, part)) continue;
    return fail(ErrorCode::parse_failed,
                file.string() + ": a task needs `" + std::string{part.keyword} + ' ' +
                    std::string{part.name} + "` at its top level, found none");
  }
  if (const auto options = read_task_options(text); !options) {
    return fail(file.string(), options.error());
  }
  const auto device = named_device(text);
  if (!device) return fail(file.string(), device.error());
  const auto lane = named_lane(text);
  if (!lane) return fail(file.string(), lane.error());
  Task task;
  // In a folder for `check`, the task's file is named reference.py.
  task.id = (file.stem() == "reference" ? fs::absolute(file).parent_path().filename() : file.stem())
                .string();
  task.device = device->value_or(DeviceClass::cpu);
  task.lane = *lane;
  task.source = file.string();
  task.content_hash = sha256_hex(text);
  task.code = std::move(text);
  return task;
}

Result<FoundTasks> find_tasks(const std::vector<fs::path>& places) {
  Collection collection;
  std::vector<RefusedFile> refused;
  for (const fs::path& place : places) {
    TRY(const auto files, files_of(place));
    for (const fs::path& file : files) {
      auto task = load_task(file);
      const auto added = task ? collection.add(std::move(*task), file)
                              : Result<void>{tl::unexpected(std::move(task.error()))};
      if (!added) refused.push_back({file, added.error()});
    }
  }
  return FoundTasks{collection.take(), std::move(refused)};
}

Result<std::vector<Task>> load_tasks(const std::vector<fs::path>& places) {
  TRY(auto found, find_tasks(places));
  if (!found.refused.empty()) return tl::unexpected(std::move(found.refused.front().why));
  return std::move(found.tasks);
}

}  // namespace warpsmith::synthesis
