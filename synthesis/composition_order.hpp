// SPDX-License-Identifier: Apache-2.0
// Numbers the candidates of a run that composes tasks, and puts their results in order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "synthesis/composition.hpp"

namespace warpsmith::synthesis {

/// Hands out numbers and commits their results in order, without repeated tasks. So the committed
/// tasks depend neither on the number of composers nor on their speed. Pure.
class CompositionOrder {
 public:
  /// At most `limit` candidates; at most `ahead` wait for an earlier one. `committed`: what an
  /// earlier process committed, from number 0 on.
  CompositionOrder(uint64_t limit, uint64_t ahead, const std::vector<Composition>& committed = {});

  /// The next number to compose; empty at the limit, or while too many results wait for an earlier
  /// one.
  std::optional<uint64_t> next();
  /// Hands this number out again: its composer is gone.
  void give_back(uint64_t index) { returned_.insert(index); }
  /// Ignores a number that is committed already.
  void arrived(Composition composition);
  /// The next result in order, if it is ready; a repeated task is rejected as "duplicate".
  std::optional<Composition> commit();

  bool done() const { return committed_ >= limit_; }
  uint64_t committed() const { return committed_; }
  uint64_t accepted() const { return hashes_.size(); }

 private:
  uint64_t limit_, ahead_;
  uint64_t handed_out_ = 0, committed_ = 0;
  std::set<uint64_t> returned_;
  std::map<uint64_t, Composition> waiting_;  // by number
  std::set<std::string> hashes_;             // of accepted tasks
};

}  // namespace warpsmith::synthesis
