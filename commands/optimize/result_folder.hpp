// SPDX-License-Identifier: Apache-2.0
// The result folder of `optimize`: its options for --resume, the journal of attempts, and folders
// that are replaced as a whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "commands/optimize/attempt.hpp"
#include "runtime/result.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {

/// The options of an `optimize`, kept in settings.json.
struct OptimizeSettings {
  std::string operator_file, operator_hash;  // absolute path; SHA-256 of the text
  std::string candidates, baseline;          // folders, absolute; baseline may be empty
  std::string brain;                         // configuration of a brain; empty: a folder is judged
  std::string contract;                      // empty: implied by the candidates' files
  std::string name;                          // of the export; empty: the default
  std::string numerics = "strict";
  std::vector<std::string> baselines{"auto"};
  double margin = 0.05;  // 0.05: 5 % faster
  int64_t slots = 1, gpu = 0;
  int64_t timeout_s = 300;  // of one evaluation
  std::string stack;        // JSON of the machine and its software
};

std::string to_json(const OptimizeSettings& settings);
/// `parse_failed` names what is wrong.
Result<OptimizeSettings> settings_of(const std::string& text);

/// The names of the files in a result folder.
struct ResultFolder {
  std::filesystem::path folder;

  std::filesystem::path settings() const { return folder / "settings.json"; }
  std::filesystem::path journal() const { return folder / "journal.jsonl"; }
  std::filesystem::path brain() const { return folder / "brain"; }  // a run folder
  std::filesystem::path found() const { return folder / "found"; }  // submissions of the brain
};

/// Makes the folder, which must be missing or empty, and writes the settings into it.
Result<void> make_result_folder(const ResultFolder& folder, const OptimizeSettings& settings);
/// Removes a folder in which no attempt was made, so that a new call may use it. Call it after a
/// failed call that made the folder.
void remove_unused(const ResultFolder& folder);
/// Reads the settings of an earlier call.
Result<OptimizeSettings> read_settings(const ResultFolder& folder);

/// Replaces a folder by one with these files; without files, removes it. After kill -9 the folder
/// is missing, or complete in its old or new state. Temporary folders are next to it, with names
/// that begin with a dot.
Result<void> replace_folder(const std::filesystem::path& folder,
                            const std::map<std::string, std::string>& files);

/// The attempts of one result folder, a line each, synced before the next attempt begins. Used by
/// one thread at a time. A line that a crash cut off is removed when the journal is opened.
class AttemptJournal {
 public:
  /// Opens or makes the file. `parse_failed` names the line that is not an attempt.
  static Result<AttemptJournal> open(const std::filesystem::path& file);

  const std::vector<Attempt>& attempts() const { return attempts_; }
  /// Returns once the line is on disk.
  Result<void> add(const Attempt& attempt);

 private:
  AttemptJournal(std::filesystem::path path, UniqueFd file, std::vector<Attempt> attempts);

  std::filesystem::path path_;
  UniqueFd file_;
  std::vector<Attempt> attempts_;
};

}  // namespace warpsmith::commands
