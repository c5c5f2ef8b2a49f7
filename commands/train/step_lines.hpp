// SPDX-License-Identifier: Apache-2.0
// What is kept and counted of the steps of a stage that learns from data.
#pragma once

#include <filesystem>

#include "commands/train/data_run.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {

/// A file with a line of JSON for each step.
class StepLines {
 public:
  /// Keeps the lines of the first `steps` steps: a resume repeats the others.
  static Result<StepLines> open(const std::filesystem::path& path, int64_t steps);
  Result<void> add(int64_t step, const DataStep& done);

 private:
  StepLines(std::filesystem::path path, OpenFile file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  OpenFile file_;
};

/// Counts skipped steps in a row.
class SkipLimit {
 public:
  explicit SkipLimit(int64_t most) : most_(most) {}

  /// Fails once there are `most` in a row.
  Result<void> note(int64_t number, const DataStep& step);

 private:
  int64_t most_, in_a_row_ = 0;
};

}  // namespace warpsmith::commands
