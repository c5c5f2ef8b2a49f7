// SPDX-License-Identifier: Apache-2.0
// The frame of `warpsmith bench`: one part per subcommand, each in a file of its own.
#pragma once

#include <string>
#include <vector>

#include "actors/commands/command.hpp"
#include "actors/commands/signals.hpp"

namespace warpsmith::actors {

Command bench_actors_part();
Command bench_commit_part();
Command bench_decode_part();
Command bench_evaluate_part();
Command bench_faults_part();
Command bench_gpus_part();
Command bench_learn_part();
Command bench_pairs_part();
Command bench_repeat_part();
Command bench_tasks_part();
Command bench_timing_part();

/// Told at a Ctrl-C: what is being measured may take seconds to its end.
inline constexpr const char* stopping = "stopping; press Ctrl-C again to end at once";

/// As `report`; where a signal came, the failure is what it ended, a script's say: `interrupted`.
ExitCode report_unless_stopped(const Error& error, const SignalWait& signals);

/// A line of progress, on standard error, from any thread.
void tell(const std::string& line);

/// One line of a table that people read: what was measured, its figure, and the bar it is held to.
struct BenchRow {
  std::string what, figure, bar;
};

/// Columns of equal width, a line each; the third column is left out where no row has a bar.
std::string table_of(const std::vector<BenchRow>& rows);

/// A number with so many digits after the point.
std::string fixed(double value, int digits);

}  // namespace warpsmith::actors
