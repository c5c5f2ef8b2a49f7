// SPDX-License-Identifier: Apache-2.0
// The shared memory of one task's judging: inputs for all, outputs for each party, references.
#pragma once

#include <memory>
#include <optional>

#include "runtime/process/memory_file.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/judge/keystream.hpp"
#include "sandbox/judge/numerics.hpp"
#include "sandbox/reference/ingest_record.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// What one call's contents are drawn from.
struct Contents {
  const StreamKey& key;
  uint64_t number = 0;  // of the set of contents within the key; never used twice for new contents
  Distribution distribution = Distribution::dense;
};

/// Memory that one task's bench leaves to the next one's: making and prefaulting it anew for every
/// change of task took a fifth of an evaluation.
struct BenchMemory {
  std::shared_ptr<const MemoryFile> inputs, candidate, worker, result;
};

class Bench {
 public:
  /// Enough sets to rotate over twice the last-level cache. What `memory` held before is gone: no
  /// other bench is in it, and no process maps it.
  static Result<Bench> create(const TaskSignature& signature, BenchMemory& memory);
  /// In memory of its own.
  static Result<Bench> create(const TaskSignature& signature);

  const TaskSignature& signature() const { return signature_; }
  uint32_t sets() const { return inputs_.layout().sets; }
  const SharedBuffers& inputs() const { return inputs_; }
  const SharedBuffers& candidate_outputs() const { return candidate_; }
  const SharedBuffers& worker_outputs() const { return worker_; }
  SessionMemory session_memory() const { return {inputs_, worker_, *result_}; }

  /// Writes the inputs and parameters of a set. Call while contestants are stopped.
  void fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) const;
  /// Writes one set's inputs and parameters into another: the contents that a block's contestants
  /// share are drawn once, and each gets them just before its call.
  void copy_inputs(uint32_t from, uint32_t to) const;
  /// Copies integer and boolean inputs and parameters that the worker gave into a set.
  void take_drawn(uint32_t set, std::span<const InputRule> rules) const;
  /// Poisons the outputs of a set and arms their guards.
  void reset(const SharedBuffers& outputs, uint32_t set) const;

  /// All outputs of a set against the worker's reference in the result memory.
  ErrorStats compare_with_reference(const SharedBuffers& outputs, uint32_t set,
                                    const BoundRule& rule) const;
  /// All outputs of a set against the worker's collected outputs of `other`.
  ErrorStats compare_with_worker(const SharedBuffers& outputs, uint32_t set, uint32_t other,
                                 const std::vector<std::vector<float>>& profiles,
                                 const BoundRule& rule) const;
  /// Raises `profiles` (made if empty) to the spreads in the result memory, block by block.
  void raise_profiles(std::vector<std::vector<float>>& profiles) const;

 private:
  Bench(TaskSignature signature, SharedBuffers inputs, SharedBuffers candidate,
        SharedBuffers worker, std::shared_ptr<const MemoryFile> result);
  /// Reference of output number `output` (counted among outputs) in the result memory.
  Reference reference_of(size_t output) const;

  TaskSignature signature_;
  std::vector<size_t> outputs_;  // indices of the outputs in the signature
  SharedBuffers inputs_, candidate_, worker_;
  std::shared_ptr<const MemoryFile> result_;
};

}  // namespace warpsmith::sandbox
