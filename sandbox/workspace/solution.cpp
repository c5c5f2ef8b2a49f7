// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/solution.hpp"

#include "runtime/checksum.hpp"

namespace warpsmith::sandbox {
namespace {

tl::unexpected<Error> too_large(const SolutionLimits& limits) {
  return fail(ErrorCode::capacity, "the solution holds too much: allowed are " +
                                       std::to_string(limits.files) + " files and " +
                                       std::to_string(limits.bytes) + " bytes");
}

/// The files beneath `folder` ("" or with a slash at its end).
Result<FileSet> freeze(const SafeFolder& workspace, const std::string& folder,
                       const std::string& required, SolutionLimits limits) {
  const std::string wanted = folder + required;
  if (!required.empty() && !workspace.has_file(wanted)) {
    return fail(ErrorCode::not_found, "there is no solution yet: write " + wanted + " first");
  }
  const auto entries = workspace.walk(folder.substr(0, folder.find('/')), {.entries = 256});
  if (!entries) return tl::unexpected(entries.error());
  if (entries->size() > limits.files) return too_large(limits);
  FileSet files;
  size_t left = limits.bytes;
  for (const FileEntry& entry : *entries) {
    auto content = workspace.read(entry.path, left);
    if (!content && content.error().code == ErrorCode::capacity) return too_large(limits);
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

std::string source_hash(const FileSet& files) {
  std::string bytes;
  for (const auto& [name, content] : files) {
    // Lengths keep names and contents apart, whatever bytes they hold.
    bytes.append(std::to_string(name.size())).append(" ").append(name);
    bytes.append(std::to_string(content.size())).append(" ").append(content);
  }
  return sha256_hex(bytes);
}

}  // namespace warpsmith::sandbox
