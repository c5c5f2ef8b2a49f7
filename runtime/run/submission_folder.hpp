// SPDX-License-Identifier: Apache-2.0
// The folder submissions/ of a run: every judged source, stored once at submissions/HASH/NAME. The
// hash is `submission_hash` of verdicts and `source_hash` of trajectories.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"

namespace warpsmith {

class SubmissionFolder {
 public:
  explicit SubmissionFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes the files unless they are already stored. On return they survive a crash of the
  /// machine; after an earlier crash, the hash has all of its files or none.
  Result<void> keep(const std::string& hash, const FileSet& files) const;
  /// `not_found` if no files of that hash are stored.
  Result<FileSet> read(const std::string& hash) const;
  /// Where the files of that hash are.
  std::filesystem::path place(const std::string& hash) const { return folder_ / hash; }

 private:
  std::filesystem::path folder_;
};

}  // namespace warpsmith
