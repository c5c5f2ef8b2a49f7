// SPDX-License-Identifier: Apache-2.0
// A run on disk whose trajectories a test writes, without sampling any.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/ledger/ledger_store.hpp"
#include "actors/run/model_text.hpp"

namespace warpsmith::actors {

inline const std::string written =
    "<tool_call>\n<function=write>\n<parameter=path>\nsolution/kernel.cpp\n</parameter>\n"
    "<parameter=content>\nint a;\n</parameter>\n</function>\n</tool_call>";
inline const std::string verified = "<tool_call>\n<function=verify>\n</function>\n</tool_call>";
inline const std::string submitted = "<tool_call>\n<function=submit>\n</function>\n</tool_call>";
inline const std::string unknown = "<tool_call>\n<function=fly>\n</function>\n</tool_call>";

class RecordedRun {
 public:
  RecordedRun(const RunPaths& paths, const RunConfig& config)
      : text_(std::move(read_text_model(config).value())) {
    std::filesystem::create_directories(paths.segments());
    std::ofstream{paths.config()} << to_toml(config);
    store_.emplace(std::move(LedgerStore::open(paths).value()));
    EXPECT_TRUE(store_->begin(0));
  }

  /// Records a trajectory: the prompt, then a turn of each text and its result. Without a reward it
  /// stays open.
  TrajectoryId record(const std::vector<std::string>& turns, std::optional<double> reward) {
    const TrajectoryId id =
        store_->admit({.id = "task", .code = "c", .content_hash = "h"}, {1, 0}).value();
    for (uint32_t n = 0; n < turns.size(); ++n) {
      Segment segment{id, n, {}, {}, {}, {}};
      if (n == 0) add(segment, "the task", false);
      add(segment, turns[n] + "<|im_end|>", true);
      if (n + 1 < turns.size()) add(segment, "\nresult", false);
      EXPECT_TRUE(store_->append(segment));
    }
    if (reward) {
      EXPECT_TRUE(store_->close(id, {.reward = *reward}));
    }
    return id;
  }

  void close() { store_.reset(); }
  const TextModel& text() const { return text_; }

 private:
  void add(Segment& segment, const std::string& text, bool sampled) const {
    for (const int32_t token : text_.tokenizer->encode(text)) {
      segment.tokens.push_back(token);
      segment.action_mask.push_back(sampled ? 1 : 0);
      segment.log_probs.push_back(sampled ? -1.0F : 0.0F);
      segment.versions.push_back(sampled ? PolicyVersion{1, 0} : PolicyVersion{});
    }
  }

  TextModel text_;
  std::optional<LedgerStore> store_;
};

}  // namespace warpsmith::actors
