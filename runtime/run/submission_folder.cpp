// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/submission_folder.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

constexpr size_t max_file_bytes = size_t{64} << 20U;

/// A hash from a damaged database must not lead out of the folder.
Result<void> check_hash(const std::string& hash) {
  const bool plain = hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == hash.npos;
  if (plain) return {};
  return fail(ErrorCode::invalid_argument,
              "submission: expected a SHA-256 in hexadecimal digits, got \"" + hash + '"');
}

bool leads_outside(const fs::path& name) {
  return name.empty() || name.is_absolute() || std::ranges::find(name, "..") != name.end();
}

Result<void> write_files(const fs::path& folder, const FileSet& files) {
  for (const auto& [name, content] : files) {
    if (leads_outside(name)) {
      return fail(ErrorCode::invalid_argument,
                  "submission: \"" + name + "\": expected a relative name without \"..\"");
    }
    TRY_VOID(make_folders((folder / name).parent_path()));
    TRY(const auto file, open_file(folder / name, O_WRONLY | O_CREAT | O_EXCL));
    TRY_VOID(write_all(file, content, folder / name));
  }
  return sync_tree(folder);
}

}  // namespace

Result<void> SubmissionFolder::keep(const std::string& hash, const FileSet& files) const {
  TRY_VOID(check_hash(hash));
  std::error_code error;
  if (fs::exists(place(hash), error)) return {};
  TRY_VOID(make_folders(folder_));
  // Next to submissions/, where the run's next owner removes what a kill -9 left.
  TRY(const auto temporary, OwnedFolder::make(folder_.parent_path()));
  TRY_VOID(write_files(temporary.path(), files));
  if (::rename(temporary.path().c_str(), place(hash).c_str()) != 0 && errno != EEXIST &&
      errno != ENOTEMPTY) {
    return fail_with_errno("cannot rename to", place(hash), errno);
  }
  return sync_path(folder_);
}

Result<FileSet> SubmissionFolder::read(const std::string& hash) const {
  TRY_VOID(check_hash(hash));
  std::error_code error;
  if (!fs::is_directory(place(hash), error)) {
    return fail(ErrorCode::not_found, place(hash).string() + ": no such submission is stored");
  }
  FileSet files;
  for (fs::recursive_directory_iterator at(place(hash), error), end; !error && at != end;
       at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    TRY(files[fs::relative(at->path(), place(hash)).string()],
        read_text_file(at->path(), max_file_bytes));
  }
  if (error) return fail_with_errno("cannot read", place(hash), error.value());
  return files;
}

}  // namespace warpsmith
