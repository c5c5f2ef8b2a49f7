// SPDX-License-Identifier: Apache-2.0
// One candidate for a task, after the filter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace warpsmith::synthesis {

/// What became of one candidate: a task, or the reason for its rejection.
struct Composition {
  uint64_t index = 0;
  std::string reason, detail;  // empty: accepted
  std::string id, code, hash;  // of an accepted one; `hash` ignores names that an author chose
  std::vector<std::string> ops;
  double eager_ms = 0;
  std::map<std::string, double> steps;  // seconds by step of the filter, finite

  bool accepted() const { return reason.empty(); }
  bool operator==(const Composition&) const = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(index, reason, detail, id, code, hash, ops, eager_ms, steps);
  }
};

}  // namespace warpsmith::synthesis
