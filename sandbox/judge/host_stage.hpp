// SPDX-License-Identifier: Apache-2.0
// The stage of a bench in the host's memory.
#pragma once

#include <memory>

#include "sandbox/judge/stage.hpp"

namespace warpsmith::sandbox {

class HostStage final : public CandidateStage {
 public:
  /// `inputs` and `outputs` are the bench's; their memory outlives it.
  static Result<std::unique_ptr<HostStage>> create(const SharedBuffers& inputs,
                                                   const SharedBuffers& outputs);

  CandidateMemory memory() const override { return candidate_memory(shown_, written_); }
  void arm(uint32_t set, std::span<const SamplePosition> positions) override;
  void reveal(uint32_t set) override;
  void sample() override;
  bool take(uint32_t set) override;

 private:
  HostStage(SharedBuffers inputs, SharedBuffers outputs, SharedBuffers shown, SharedBuffers written)
      : inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        shown_(std::move(shown)),
        written_(std::move(written)) {}

  SharedBuffers inputs_, outputs_;  // the bench's
  SharedBuffers shown_, written_;   // the candidate's, one set of each
  std::vector<SamplePosition> positions_;
  std::vector<std::byte> sampled_;  // 8 bytes per position
};

}  // namespace warpsmith::sandbox
