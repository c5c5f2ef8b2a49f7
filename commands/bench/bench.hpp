// SPDX-License-Identifier: Apache-2.0
// The frame of `warpsmith bench`: one part per subcommand, each in its own file, and what the parts
// print on the way (progress) and at the end (tables).
#pragma once

#include <cstddef>
#include <iosfwd>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "commands/signals.hpp"

namespace warpsmith::commands {

Command bench_actors_part();
Command bench_commit_part();
Command bench_compare_part();
Command bench_decode_part();
Command bench_evaluate_part();
Command bench_faults_part();
Command bench_gpus_part();
Command bench_learn_part();
Command bench_pairs_part();
Command bench_parity_part();
Command bench_repeat_part();
Command bench_serve_part();
Command bench_tasks_part();
Command bench_timing_part();

/// Printed at Ctrl-C: the measurement in progress may take seconds to end.
inline constexpr const char* stop_notice = "stopping; press Ctrl-C again to exit at once";

/// Like `report`, but returns `interrupted` after a signal, since the signal caused the error.
ExitCode report_unless_stopped(const Error& error, const SignalWait& signals);

/// Prints a line of progress on standard error, from any thread.
void print_progress(const std::string& line);

/// Takes one line of progress.
using BenchProgress = std::function<void(const std::string&)>;

/// One line of a table: what was measured, its figure, and its bar (empty if it has none).
struct BenchRow {
  std::string what, figure, bar;
};

/// Formats rows with aligned columns, one line each.
std::string table_of(const std::vector<BenchRow>& rows);

/// The states of several slots at work. On a terminal all slots share one line, which is updated in
/// place; elsewhere each line is printed once. All members may be called from any thread.
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
