// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/state_lines.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

namespace warpsmith::commands {
namespace {

constexpr const char* line_start = "\r\x1b[K";  // erases the line
constexpr const char* slot_separator = " | ";
constexpr size_t usual_columns = 80;

}  // namespace

StateLines::StateLines(std::ostream& out, size_t columns, size_t slots)
    : out_(out), columns_(columns), states_(slots) {}

void StateLines::show(size_t slot, const std::string& state) {
  const std::lock_guard lock(mutex_);
  states_.at(slot) = state;
  if (columns_ > 0) {
    out_ << line_start << joined() << std::flush;
  } else if (printed_.insert(state).second) {
    out_ << state + '\n' << std::flush;
  }
}

void StateLines::clear() {
  const std::lock_guard lock(mutex_);
  if (columns_ > 0) out_ << line_start << std::flush;
}

/// As much of each state as fits beside the others.
std::string StateLines::joined() const {
  const size_t share = columns_ / states_.size();
  const size_t most = share > 4 ? share - 4 : 1;
  std::string line;
  for (const std::string& state : states_) {
    if (state.empty()) continue;
    line += (line.empty() ? "" : slot_separator) + state.substr(0, most);
  }
  return line;
}

size_t terminal_columns() {
  if (isatty(STDERR_FILENO) != 1) return 0;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : usual_columns;
}

}  // namespace warpsmith::commands
