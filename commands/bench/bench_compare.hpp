// SPDX-License-Identifier: Apache-2.0
// The figures that `bench compare` compares: speeds that another bench printed as JSON.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {

/// Place in the JSON → time; a rate is its inverse. Figures of peers and bars are left out.
using BenchFigures = std::map<std::string, double>;

struct PairedTimes {
  std::vector<double> before, after;
};
using FigurePairs = std::map<std::string, PairedTimes>;

enum class Change : uint8_t { not_slower, slower, undecided };
constexpr auto names_of(Change) {
  return std::to_array<std::string_view>({"not slower", "slower", "undecided"});
}

struct FigureChange {
  std::string figure;
  double ratio = 0;   // old time / new time: above 1 the new build is faster
  Interval interval;  // 95 %
  std::vector<double> before, after;

  Change judged(double loss) const;
  WARPSMITH_RECORD(figure, ratio, interval, before, after)
};

/// Reads what a bench printed with --json. `place` names the bench in errors.
Result<BenchFigures> bench_figures(const std::string& text, const std::string& place);
/// Adds the figures that both runs printed.
void add_pair(FigurePairs& pairs, const BenchFigures& before, const BenchFigures& after);
std::vector<FigureChange> changes_of(const FigurePairs& pairs);

}  // namespace warpsmith::commands
