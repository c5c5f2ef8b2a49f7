// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/solution.hpp"

#include <algorithm>

namespace warpsmith::sandbox {
namespace {

/// Requires at least one file.
tl::unexpected<Error> too_large(const std::vector<FileEntry>& entries,
                                const SolutionLimits& limits) {
  const auto numbers = [](size_t files, uint64_t bytes) {
    return std::to_string(files) + (files == 1 ? " file" : " files") + " and " +
           std::to_string(bytes) + " bytes";
  };
  uint64_t bytes = 0;
  for (const FileEntry& entry : entries) bytes += entry.bytes;
  const FileEntry& largest = *std::ranges::max_element(entries, {}, &FileEntry::bytes);
  return fail(ErrorCode::capacity, "the solution holds too much: allowed are " +
                                       numbers(limits.files, limits.bytes) + ", got " +
                                       numbers(entries.size(), bytes) + ", the largest " +
                                       largest.path + " of " + std::to_string(largest.bytes));
}

/// Requires `folder` to be "" or to end with a slash.
Result<FileSet> freeze(const SafeFolder& workspace, const std::string& folder,
                       const std::string& required, SolutionLimits limits) {
  const std::string wanted = folder + required;
  if (!required.empty() && !workspace.has_file(wanted)) {
    return fail(ErrorCode::not_found, "there is no solution yet: write " + wanted + " first");
  }
  const auto entries = workspace.walk(folder.substr(0, folder.find('/')), {.entries = 256});
  if (!entries) return tl::unexpected(entries.error());
  if (entries->size() > limits.files) return too_large(*entries, limits);
  FileSet files;
  size_t left = limits.bytes;
  for (const FileEntry& entry : *entries) {
    auto content = workspace.read(entry.path, left);
    if (!content && content.error().code == ErrorCode::capacity) return too_large(*entries, limits);
    if (!content) return tl::unexpected(content.error());
    left -= content->size();
    files.emplace(entry.path.substr(folder.size()), std::move(*content));
  }
  if (files.empty()) {
    return fail(ErrorCode::not_found,
                "there is no solution yet: no file in " + (folder.empty() ? "the folder" : folder));
  }
  return files;
}

}  // namespace

Result<FileSet> freeze_solution(const SafeFolder& workspace, const std::string& required,
                                SolutionLimits limits) {
  return freeze(workspace, "solution/", required, limits);
}

Result<FileSet> freeze_folder(const SafeFolder& folder, const std::string& required,
                              SolutionLimits limits) {
  return freeze(folder, "", required, limits);
}

}  // namespace warpsmith::sandbox
