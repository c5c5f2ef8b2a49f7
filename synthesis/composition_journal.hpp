// SPDX-License-Identifier: Apache-2.0
// A run's candidates on disk: one JSON line per candidate, in order, after a first line with the
// inputs that determined them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/run/durable_file.hpp"
#include "synthesis/composition.hpp"

namespace warpsmith::synthesis {

/// Appends to a file and syncs each line. A partial last line of a killed process is cut off.
class CompositionJournal {
 public:
  /// Opens or makes the file. `origin`: one line with the inputs that determine the candidates
  /// (seed, device); a file with another origin is `already_exists`. `corrupt` names the line that
  /// cannot be read.
  static Result<CompositionJournal> open(const std::filesystem::path& file,
                                         const std::string& origin);

  /// The candidates found at the start; number n is at index n.
  const std::vector<Composition>& earlier() const { return earlier_; }
  Result<void> add(const Composition& composition);

 private:
  Result<void> read(const std::string& origin);
  Result<void> write_line(const std::string& line);

  std::filesystem::path path_;
  UniqueFd file_;
  std::vector<Composition> earlier_;
};

}  // namespace warpsmith::synthesis
