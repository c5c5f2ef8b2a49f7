// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/bench_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>

namespace warpsmith::commands {
namespace {

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

}  // namespace

ExitCode report_unless_stopped(const Error& error, const SignalWait& signals) {
  if (!signals.arrived()) return report(error);
  print_progress("stopped: " + error.message);
  return ExitCode::interrupted;
}

void print_progress(const std::string& line) {
  std::cerr << line + '\n';
}

std::string table_of(const std::vector<BenchRow>& rows) {
  size_t what = 0, figure = 0;
  for (const BenchRow& row : rows) {
    what = std::max(what, row.what.size());
    figure = std::max(figure, row.figure.size());
  }
  std::string out;
  for (const BenchRow& row : rows) {
    out += "  " + padded(row.what, what) + "  ";
    out += std::string(figure - row.figure.size(), ' ') + row.figure;
    if (!row.bar.empty()) out += "   bar " + row.bar;
    out += '\n';
  }
  return out;
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

}  // namespace warpsmith::commands
