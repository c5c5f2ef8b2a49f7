// SPDX-License-Identifier: Apache-2.0
// The submissions of a folder: each folder or source file in it is one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/optimize/attempt.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::commands {

/// One submission, read but not judged.
struct FoundSubmission {
  std::string name;   // of its folder or file
  std::string found;  // its path
  std::string key;    // SHA-256 of contract and files
  Submission submission;
  DeviceClass device = DeviceClass::cpu;  // on which it runs
};

struct SubmissionFolder {
  std::string option;  // that names the folder, for messages: "--candidates"
  std::string folder;
  std::string operator_file;
  std::string contract;  // empty: implied by the files
  bool whole = false;    // whether a folder without a solution that can be read is an error
};

/// In the order of their names. Entries that begin with a dot, files that no contract takes, and
/// folders without a solution or with one that cannot be read are left out; `skipped` gets a line
/// on each. With `whole`, an error names such a folder. `not_found` if nothing is left.
Result<std::vector<FoundSubmission>> read_submissions(const SubmissionFolder& from,
                                                      std::vector<std::string>& skipped);

}  // namespace warpsmith::commands
