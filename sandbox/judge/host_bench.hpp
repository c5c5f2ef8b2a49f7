// SPDX-License-Identifier: Apache-2.0
// The bench of a CPU slot.
#pragma once

#include <memory>

#include "runtime/process/memory_file.hpp"
#include "sandbox/judge/bench.hpp"

namespace warpsmith::sandbox {

/// Memory that is reused from one task's bench to the next: allocating and prefaulting it for every
/// change of task took a fifth of an evaluation.
struct BenchMemory {
  std::shared_ptr<const MemoryFile> inputs, candidate, worker, result;
};

class HostBench final : public Bench {
 public:
  /// Makes enough sets to rotate over twice the last-level cache. Discards the contents of
  /// `memory`, which no other bench may use and no process may map.
  static Result<std::unique_ptr<HostBench>> create(const TaskSignature& signature,
                                                   BenchMemory& memory);
  /// Uses newly allocated memory.
  static Result<std::unique_ptr<HostBench>> create(const TaskSignature& signature);

  const SharedBuffers& inputs() const { return inputs_; }
  const SharedBuffers& candidate_outputs() const { return candidate_; }

  const TaskSignature& signature() const override { return signature_; }
  const BufferLayout& layout() const override { return inputs_.layout(); }
  CandidateMemory candidate_memory() const override {
    return sandbox::candidate_memory(inputs_, candidate_);
  }
  Result<std::unique_ptr<CandidateStage>> make_stage() const override;
  SessionMemory session_memory() const override;
  void fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) override;
  void copy_inputs(uint32_t from, uint32_t to) override;
  void take_drawn(uint32_t set, std::span<const InputRule> rules) override;
  void renew() override;
  void reset(uint32_t set) override;
  uint64_t inputs_hash(uint32_t set) override;
  bool guards_intact(uint32_t set) override;
  bool rest_intact() override { return true; }  // candidates map nothing but the sets
  ErrorStats compare_with_reference(Side side, uint32_t set, const BoundRule& rule) override;
  OutputBlock read_block(Outputs outputs, size_t output, uint64_t first,
                         uint64_t count) const override;
  void copy_outputs(Outputs from, Outputs to) override;
  void use_profiles(const std::vector<std::vector<float>>& profiles) override;
  ErrorStats compare_outputs(Outputs outputs, Outputs baseline, const BoundRule& rule) override;
  void raise_profiles(std::vector<std::vector<float>>& profiles) override;

 private:
  HostBench(TaskSignature signature, SharedBuffers inputs, SharedBuffers candidate,
            SharedBuffers worker, std::shared_ptr<const MemoryFile> result);
  const SharedBuffers& outputs_of(Side side) const {
    return side == Side::candidate ? candidate_ : worker_;
  }
  /// The reference of the `output`-th output in the result memory.
  Reference reference_of(size_t output) const;

  TaskSignature signature_;
  std::vector<size_t> outputs_;  // indices of the outputs in the signature
  SharedBuffers inputs_, candidate_, worker_;
  std::shared_ptr<const MemoryFile> result_;
  std::vector<ReferencePlace> references_;  // one per output
  std::vector<std::vector<float>> profiles_;
};

}  // namespace warpsmith::sandbox
