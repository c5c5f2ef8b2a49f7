// SPDX-License-Identifier: Apache-2.0
#include "synthesis/task_source.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <sstream>
#include <string_view>
#include <utility>

#include "runtime/bytes.hpp"
#include "runtime/task_options.hpp"

namespace warpsmith::synthesis {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_endings = 4;  // in a message

/// "12 *.jsonl, 3 *.cu", the most frequent endings first.
std::string endings_text(const std::map<std::string, size_t>& endings) {
  std::vector<std::pair<size_t, std::string>> found;
  found.reserve(endings.size());
  for (const auto& [ending, count] : endings) found.emplace_back(count, ending);
  std::ranges::sort(found, std::ranges::greater{});
  std::string out;
  for (const auto& [count, ending] : found | std::views::take(most_endings)) {
    out += (out.empty() ? "" : ", ") + std::to_string(count) + " *" + ending;
  }
  return out.empty() ? "no file" : out;
}

/// The places of tasks in a file or folder.
Result<std::vector<fs::path>> places_of(const fs::path& place) {
  std::error_code error;
  if (fs::is_regular_file(file_of(place), error)) return std::vector{place};
  if (!fs::is_directory(place, error)) {
    return fail(ErrorCode::not_found, place.string() + ": no such file or folder of tasks");
  }
  std::vector<fs::path> files;
  std::map<std::string, size_t> endings;
  fs::recursive_directory_iterator entries(place, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    std::error_code vanished;  // the file may be gone by now
    if (!entries->is_regular_file(vanished)) continue;
    ++endings[entries->path().extension().string()];
    files.push_back(entries->path());
  }
  if (error) return fail(ErrorCode::io_failed, place.string() + ": " + error.message());
  std::ranges::sort(files);
  std::vector<fs::path> out;
  for (const fs::path& file : files) std::ranges::move(places_in(file), std::back_inserter(out));
  if (!out.empty()) return out;
  return fail(ErrorCode::not_found,
              place.string() +
                  ": contains no task: expected *.py, or definitions/**/*.json of "
                  "flashinfer-bench; found " +
                  endings_text(endings));
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
    if (ids_.contains(task.id)) {
      task.id = named_path(file).parent_path().filename().string() + '-' + task.id;
    }
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
  TRY(auto read, read_task_text(file));
  std::string& text = read.text;
  if (const auto options = read_task_options(text); !options) {
    return fail(file.string(), options.error());
  }
  const auto device = named_device(text);
  if (!device) return fail(file.string(), device.error());
  const auto lane = named_lane(text);
  if (!lane) return fail(file.string(), lane.error());
  Task task;
  task.id = named_path(file).filename().string();
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
    TRY(const auto files, places_of(place));
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
