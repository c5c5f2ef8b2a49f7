// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/solution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/run/durable_file.hpp"
#include "sandbox/workspace/file_text.hpp"

namespace warpsmith::sandbox {
namespace {

/// Requires at least one file.
tl::unexpected<Error> too_large(const std::vector<FileEntry>& entries,
                                const SolutionLimits& limits) {
  const auto numbers = [](size_t files, uint64_t bytes) {
    return fmt::format("{}{} and {} bytes", files, files == 1 ? " file" : " files", bytes);
  };
  uint64_t bytes = 0;
  for (const FileEntry& entry : entries) bytes += entry.bytes;
  const FileEntry& largest = *std::ranges::max_element(entries, {}, &FileEntry::bytes);
  return fail(
      ErrorCode::capacity,
      fmt::format("the solution holds too much: allowed are {}, got {}, the largest {} of {}",
                  numbers(limits.files, limits.bytes), numbers(entries.size(), bytes), largest.path,
                  largest.bytes));
}

/// Requires `folder` to be "" or to end with a slash.
Result<FileSet> freeze(const SafeFolder& workspace, const std::string& folder,
                       const std::string& required, SolutionLimits limits) {
  const std::string wanted = folder + required;
  if (!required.empty() && !workspace.has_file(wanted)) {
    return fail(ErrorCode::not_found, "there is no solution yet: write " + wanted + " first");
  }
  TRY(const auto entries, workspace.walk(folder.substr(0, folder.find('/')), {.entries = 256}));
  if (entries.size() > limits.files) return too_large(entries, limits);
  FileSet files;
  size_t left = limits.bytes;
  for (const FileEntry& entry : entries) {
    auto content = workspace.read(entry.path, left);
    if (!content && content.error().code == ErrorCode::capacity) return too_large(entries, limits);
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

constexpr size_t most_bytes = 64U << 10U;

Result<void> edit(FileSet& files, const std::string& name, const std::string& edits) {
  const auto file = files.find(name);
  if (file == files.end()) return fail(ErrorCode::not_found, "the solution has no " + name);
  const auto parsed = parse_edits(edits);
  if (!parsed) return fail(name, parsed.error());
  auto edited = apply_edits(std::move(file->second), *parsed, SolutionLimits{}.bytes);
  if (!edited) return fail(name, std::move(edited.error()));
  file->second = std::move(edited->text);
  return {};
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

Result<FileSet> with_mistake(FileSet files, const std::filesystem::path& mistake) {
  TRY(const auto text, read_text_file(mistake, most_bytes));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.value("edits", nlohmann::json()).is_object()) {
    return fail(ErrorCode::parse_failed,
                mistake.string() + ": expected an object with \"mistake\" and \"edits\"");
  }
  for (const auto& [name, edits] : json["edits"].items()) {
    if (auto done = edit(files, name, edits.dump()); !done) {
      return fail(mistake.string(), std::move(done.error()));
    }
  }
  return files;
}

}  // namespace warpsmith::sandbox
