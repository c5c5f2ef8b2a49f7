// SPDX-License-Identifier: Apache-2.0
// The options of one `optimize`, as its folder keeps them for --resume.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::commands {

struct OptimizeSettings {
  std::string operator_file, operator_hash;  // absolute path; SHA-256 of the text
  std::string candidates, baseline;          // folders, absolute; baseline may be empty
  std::string brain;                         // configuration of a brain; empty: a folder is judged
  std::string contract;                      // empty: implied by the candidates' files
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

/// Makes a folder that must be missing or empty, and keeps the settings in it.
Result<void> make_result_folder(const ResultFolder& folder, const OptimizeSettings& settings);
/// Reads the settings of an earlier call.
Result<OptimizeSettings> read_settings(const ResultFolder& folder);

/// Replaces a folder with one of these files; with none, removes it. After kill -9 the folder is
/// missing, or whole in its old or new state. Works beside it, in names that begin with a dot.
Result<void> replace_folder(const std::filesystem::path& folder,
                            const std::map<std::string, std::string>& files);

}  // namespace warpsmith::commands
