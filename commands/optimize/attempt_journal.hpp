// SPDX-License-Identifier: Apache-2.0
// The attempts of one result folder, a line each, synced before the next one begins.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/optimize/attempt.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {

/// Used by one thread at a time. A line that a crash cut off is removed when the journal is opened.
class AttemptJournal {
 public:
  /// Opens or makes the file. `parse_failed` names the line that is no attempt.
  static Result<AttemptJournal> open(const std::filesystem::path& file);

  const std::vector<Attempt>& attempts() const { return attempts_; }
  /// Returns once the line is on disk.
  Result<void> add(const Attempt& attempt);

 private:
  AttemptJournal(std::filesystem::path path, OpenFile file, std::vector<Attempt> attempts);

  std::filesystem::path path_;
  OpenFile file_;
  std::vector<Attempt> attempts_;
};

}  // namespace warpsmith::commands
