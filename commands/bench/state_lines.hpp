// SPDX-License-Identifier: Apache-2.0
// The states of several slots at work, for people who watch.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace warpsmith::commands {

/// On a terminal all slots share one line, which is updated in place; elsewhere each line is
/// printed once. All members may be called from any thread.
class StateLines {
 public:
  /// `columns`: the terminal's width; 0 if `out` is none. `out` outlives this object.
  StateLines(std::ostream& out, size_t columns, size_t slots);

  void show(size_t slot, const std::string& state);
  /// Removes the line from the terminal, so that a result can take its place.
  void clear();

 private:
  std::string joined() const;

  std::ostream& out_;
  const size_t columns_;
  std::mutex mutex_;  // guards the rest
  std::vector<std::string> states_;
  std::set<std::string> printed_;
};

/// The width of the terminal on standard error; 0 if there is none.
size_t terminal_columns();

}  // namespace warpsmith::commands
