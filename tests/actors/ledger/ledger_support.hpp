// SPDX-License-Identifier: Apache-2.0
// Shared by the ledger's tests: a run folder's paths, and contents that follow from their ids.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "actors/ledger/ledger_store.hpp"

namespace warpsmith::actors::test_support {

inline RunPaths run_paths(const std::filesystem::path& folder) {
  const RunPaths paths{folder};
  std::filesystem::create_directories(paths.segments());
  return paths;
}

inline Task sample_task() {
  return {.id = "softmax_rows", .source = "file", .code = "class Model", .content_hash = "h"};
}

/// The segment of (id, number); always the same, so that tests can compare it.
inline Segment sample_segment(TrajectoryId id, uint32_t number) {
  Segment segment{.trajectory = id, .number = number};
  const size_t size = 5 + (id * 7 + size_t{number} * 3) % 40;
  for (size_t i = 0; i < size; ++i) {
    const bool action = i % 3 != 0;
    segment.tokens.push_back(static_cast<int32_t>(id * 100 + size_t{number} * 10 + i));
    segment.action_mask.push_back(action ? 1 : 0);
    segment.log_probs.push_back(action ? -0.5F * static_cast<float>(i) : 0.0F);
    segment.versions.push_back(action ? PolicyVersion{1, number} : PolicyVersion{});
  }
  return segment;
}

inline bool same_segment(const Segment& a, const Segment& b) {
  return a.trajectory == b.trajectory && a.number == b.number && a.tokens == b.tokens &&
         a.action_mask == b.action_mask && a.log_probs == b.log_probs && a.versions == b.versions;
}

inline Outcome sample_outcome(TrajectoryId id) {
  return {.reward = static_cast<double>(id % 5) - 1, .verdict = VerdictClass::passed, .turns = 2};
}

/// The value; throws the error as an exception.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline LedgerStore open_store(const RunPaths& paths, LedgerStoreOptions options = {}) {
  return must(LedgerStore::open(paths, options));
}

}  // namespace warpsmith::actors::test_support
