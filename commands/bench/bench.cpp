// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench …`: selects the part; tables and progress of all parts.
#include "commands/bench/bench.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <ostream>
#include <utility>

#include "runtime/text.hpp"

namespace warpsmith::commands {
namespace {

using Action = std::function<ExitCode()>;

std::vector<std::pair<CLI::App*, Action>> add_parts(CLI::App& app) {
  std::vector<std::pair<CLI::App*, Action>> parts;
  for (const Command& part :
       {bench_evaluate_part(), bench_gpus_part(), bench_commit_part(), bench_compare_part(),
        bench_pairs_part(), bench_repeat_part(), bench_tasks_part(), bench_faults_part(),
        bench_timing_part(), bench_decode_part(), bench_serve_part(), bench_learn_part(),
        bench_parity_part(), bench_actors_part()}) {
    CLI::App* sub = app.add_subcommand(part.name, part.about);
    parts.emplace_back(sub, part.add(*sub));
  }
  return parts;
}

constexpr const char* line_start = "\r\x1b[K";  // erases the line
constexpr const char* slot_separator = " | ";
constexpr size_t usual_columns = 80;

}  // namespace

Command bench_command() {
  return {"bench", "Measure a part of the program against its peer or its bar",
          [](CLI::App& app) -> Action {
            app.require_subcommand(1);
            const auto parts = add_parts(app);
            app.footer(
                "A peer is another implementation of the same work; a bar is the figure to reach.\n"
                "A missed bar is printed; the exit code stays 0. Only `faults` ends with 3, if a\n"
                "verdict changed or something was left behind.\n"
                "Help on one bench: warpsmith bench NAME --help");
            return [parts] {
              for (const auto& [sub, action] : parts) {
                if (sub->parsed()) return action();
              }
              return ExitCode::bad_input;
            };
          }};
}

ExitCode report_unless_stopped(const Error& error, const SignalWait& signals) {
  if (!signals.arrived()) return report(error);
  print_progress("stopped: " + error.message);
  return ExitCode::interrupted;
}

void print_progress(const std::string& line) {
  std::cerr << line + '\n';
}

std::string table_of(const std::vector<BenchRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const BenchRow& row : rows) {
    cells.push_back({"  " + row.what, row.figure, row.bar.empty() ? "" : "bar " + row.bar});
  }
  return text_table("lrl", cells);
}

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

/// Each state is cut to an equal share of the line.
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
