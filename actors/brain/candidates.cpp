// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "policy/text/fenced_files.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_database.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_file_bytes = size_t{1} << 20U;  // of one file

/// 0 unless the name is a number from 1.
uint64_t number_in(const std::string& name) {
  const bool digits = !name.empty() && name.size() <= 9 &&
                      std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::stoull(name) : 0;
}

/// The numbered folders of a task, in order.
Result<std::vector<fs::path>> numbered_folders(const fs::path& task) {
  std::vector<std::pair<uint64_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator it{task, error}, end; !error && it != end; it.increment(error)) {
    const uint64_t number = number_in(it->path().filename().string());
    if (number > 0 && it->is_directory()) found.emplace_back(number, it->path());
  }
  if (error) return fail_with_errno("read", task, error.value());
  std::ranges::sort(found);
  std::vector<fs::path> folders;
  folders.reserve(found.size());
  for (auto& [number, path] : found) folders.push_back(std::move(path));
  return folders;
}

Result<std::vector<policy::FencedFile>> files_in(const fs::path& folder) {
  std::vector<policy::FencedFile> files;
  std::error_code error;
  fs::recursive_directory_iterator it{folder, error};
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file() || it->is_symlink()) continue;
    TRY(auto text, read_text_file(it->path(), most_file_bytes));
    files.push_back(
        {"solution/" + it->path().lexically_relative(folder).string(), std::move(text)});
  }
  if (error) return fail_with_errno("read", folder, error.value());
  std::ranges::sort(files, {}, &policy::FencedFile::path);
  return files;
}

/// A fence that is longer than any in the content.
std::string fence_for(const std::string& content) {
  size_t longest = 2, run = 0;
  for (const char c : content) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

Result<std::string> answer_of(const fs::path& folder) {
  TRY(const auto files, files_in(folder));
  std::string answer;
  for (const policy::FencedFile& file : files) {
    const std::string fence = fence_for(file.content);
    answer.append(fence).append("text ").append(file.path).append("\n").append(file.content);
    answer.append("\n").append(fence).append("\n");
  }
  const auto same = [](const policy::FencedFile& a, const policy::FencedFile& b) {
    return a.path == b.path && a.content == b.content;
  };
  if (files.empty())
    return fail(ErrorCode::not_found,
                "no recorded solution: " + folder.string() + "/ has no files");
  if (std::ranges::equal(policy::fenced_files(answer), files, same)) return answer;
  return fail(ErrorCode::unsupported,
              fmt::format("{}: expected at most {} files of text, without blanks in their names "
                          "and </think> in their texts",
                          folder.string(), policy::max_fenced_files));
}

/// The places of one task's trajectories, replayed in order of admission. The place of a dropped
/// trajectory is free for trajectories that a later start of the program admits, so that a resume
/// asks again for samples without a verdict. Within one start each trajectory has its own place.
class SamplePlaces {
 public:
  /// Starts are numbered from 1, without a clock: the start that admits the trajectory, and the
  /// start that dropped it, if any.
  uint64_t admit(int64_t start, std::optional<int64_t> dropped) {
    if (start != start_) free_dropped(start);
    while (taken_.contains(next_)) ++next_;
    taken_[next_] = dropped;
    return next_;
  }

 private:
  void free_dropped(int64_t start) {
    start_ = start;
    next_ = 0;
    std::erase_if(taken_, [&](const auto& one) { return one.second && *one.second < start; });
  }

  int64_t start_ = -1;
  uint64_t next_ = 0;  // the lowest place that may be free; within one start places only grow
  std::map<uint64_t, std::optional<int64_t>> taken_;  // place → the start that dropped it
};

}  // namespace

Result<SamplePlace> place_of(const RunPaths& run, TrajectoryId id) {
  TRY(auto db, RunDatabase::open(run.database(), SqlAccess::read_only));
  SamplePlaces places;
  SamplePlace place;
  TRY_VOID(db.connection().each(
      "SELECT task_id, admitted_incarnation, dropped_incarnation FROM trajectories "
      "WHERE id <= ?1 AND task_id = (SELECT task_id FROM trajectories WHERE id = ?1) ORDER BY id",
      {sql_number(id)}, [&](const SqlRow& row) -> Result<void> {
        const auto dropped = row.is_null(2) ? std::nullopt : std::optional{row.integer(2)};
        place = {row.text(0), places.admit(row.integer(1), dropped)};
        return {};
      }));
  if (!place.task_id.empty()) return place;
  return fail(ErrorCode::not_found, fmt::format("run.db has no trajectory {}", id));
}

Result<std::string> candidate_answer(const fs::path& folder, const SamplePlace& place) {
  const fs::path task = (folder / place.task_id).lexically_normal();
  const fs::path within = task.lexically_relative(folder.lexically_normal());
  std::error_code none;
  if (within.empty() || *within.begin() == ".." || !fs::is_directory(task, none)) {
    return fail(ErrorCode::not_found, "no recorded solution for task " + place.task_id +
                                          ": expected its files in " + task.string() +
                                          "/, found no such folder");
  }
  TRY(const auto numbered, numbered_folders(task));
  if (numbered.empty() && place.index == 0) return answer_of(task);
  if (place.index < numbered.size()) return answer_of(numbered[place.index]);
  return fail(ErrorCode::not_found,
              fmt::format("no recorded solution for sample {} of task {}: {}/ has {}; add one (1/, "
                          "2/ … contain one sample each), or ask for fewer samples",
                          place.index + 1, place.task_id, task.string(),
                          std::max<size_t>(numbered.size(), 1)));
}

}  // namespace warpsmith::actors
