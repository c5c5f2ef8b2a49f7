// SPDX-License-Identifier: Apache-2.0
#include "synthesis/composition_order.hpp"

#include <utility>

namespace warpsmith::synthesis {

CompositionOrder::CompositionOrder(uint64_t limit, uint64_t ahead,
                                   const std::vector<Composition>& committed)
    : limit_(limit), ahead_(ahead), handed_out_(committed.size()), committed_(committed.size()) {
  for (const Composition& one : committed) {
    if (one.accepted()) hashes_.insert(one.hash);
  }
}

std::optional<uint64_t> CompositionOrder::next() {
  if (!returned_.empty()) return returned_.extract(returned_.begin()).value();
  if (handed_out_ >= limit_ || handed_out_ - committed_ >= ahead_) return std::nullopt;
  return handed_out_++;
}

void CompositionOrder::arrived(Composition composition) {
  const uint64_t index = composition.index;
  if (index >= committed_) waiting_.emplace(index, std::move(composition));
}

std::optional<Composition> CompositionOrder::commit() {
  auto node = waiting_.extract(committed_);
  if (node.empty()) return std::nullopt;
  ++committed_;
  Composition found = std::move(node.mapped());
  if (found.accepted() && !hashes_.insert(found.hash).second) {
    return Composition{.index = found.index,
                       .reason = "duplicate",
                       .detail = found.id,
                       .steps = std::move(found.steps)};
  }
  return found;
}

}  // namespace warpsmith::synthesis
