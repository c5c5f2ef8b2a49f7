// SPDX-License-Identifier: Apache-2.0
// The frame of `warpsmith bench`: one part per subcommand, each in its own file.
#pragma once

#include <string>
#include <vector>

#include "commands/command.hpp"
#include "commands/signals.hpp"

namespace warpsmith::commands {

Command bench_actors_part();
Command bench_commit_part();
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

/// Like `report`; but after a signal the error is its effect, and the code `interrupted`.
ExitCode report_unless_stopped(const Error& error, const SignalWait& signals);

/// Prints a line of progress on standard error, from any thread.
void print_progress(const std::string& line);

/// One line of a table: what was measured, its figure, and its bar (empty if it has none).
struct BenchRow {
  std::string what, figure, bar;
};

/// Formats rows with aligned columns, one line each.
std::string table_of(const std::vector<BenchRow>& rows);

/// Formats a number with that many digits after the point.
std::string fixed(double value, int digits);

}  // namespace warpsmith::commands
