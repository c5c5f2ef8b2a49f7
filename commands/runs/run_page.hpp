// SPDX-License-Identifier: Apache-2.0
// One run as a page for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/run/run_listing.hpp"

namespace warpsmith::commands {

struct RunPage {
  std::string name;
  bool running = false;
  RunSummary summary;
  std::vector<CurvePoint> curve;  // a character of the sparklines each
  RunEvents events;
  std::string composed;  // what became of the candidates for tasks; empty: it composed nothing
};

/// The mean rewards of the first and the last 128 trajectories; of at most 128, one mean.
std::string rewards_text(const RunSummary& summary);

/// The page, with control characters made visible. "-" stands for what was not measured.
std::string page_text(const RunPage& page);

/// A bar per value, from the lowest block for `low` to a full one for `high`.
std::string sparkline(const std::vector<double>& values, double low, double high);

}  // namespace warpsmith::commands
