// SPDX-License-Identifier: Apache-2.0
// The shared memory of one task's judging: inputs for all, outputs for each party, references; and
// what the verifier does with it. On a CPU slot it is the host's memory (host_bench.hpp), on a GPU
// the device's (gpu/gpu_bench.hpp).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/judge/keystream.hpp"
#include "sandbox/judge/numerics.hpp"
#include "sandbox/judge/stage.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// What one call's contents are drawn from.
struct Contents {
  const StreamKey& key;
  uint64_t number = 0;  // of the set of contents within the key; never used twice for new contents
  Distribution distribution = Distribution::dense;
};

/// Whose outputs.
enum class Side : uint8_t { candidate, worker };

/// Touch it only while contestants are stopped. On a GPU every member may throw
/// cuda::DeviceError; the process is then to be replaced.
class Bench {
 public:
  Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  virtual ~Bench() = default;

  virtual const TaskSignature& signature() const = 0;
  virtual const BufferLayout& layout() const = 0;
  uint32_t sets() const { return layout().sets; }
  /// What the candidate's process is handed.
  virtual CandidateMemory candidate_memory() const = 0;
  /// For a candidate that is not to see these sets before its clock runs.
  virtual Result<std::unique_ptr<Stage>> make_stage() const = 0;
  /// What the reference worker is handed.
  virtual SessionMemory session_memory() const = 0;

  /// Writes the inputs and parameters of a set.
  virtual void fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) = 0;
  /// Writes one set's inputs and parameters into another: the contents that a block's contestants
  /// share are drawn once, and each gets them just before its call. Neither set is left in a
  /// processor's caches: a candidate that sees both would read the one that was read before.
  virtual void copy_inputs(uint32_t from, uint32_t to) = 0;
  /// Copies integer and boolean inputs and parameters that the worker gave into a set.
  virtual void take_drawn(uint32_t set, std::span<const InputRule> rules) = 0;
  /// For another candidate: nothing is left of what an earlier one wrote.
  virtual void renew() = 0;
  /// Poisons the candidate's outputs of a set and arms all else of it as guards. Where device code
  /// finds other sets nothing is left of what an earlier call wrote to them.
  virtual void reset(uint32_t set) = 0;

  /// Of every input and parameter of a set: "did this change", not cryptographic.
  virtual uint64_t inputs_hash(uint32_t set) = 0;
  /// False if anything beside the candidate's outputs of the set changed.
  virtual bool guards_intact(uint32_t set) = 0;
  /// False if what the candidate can write beyond all sets changed since `renew`. It may be large:
  /// ask once for many calls.
  virtual bool rest_intact() = 0;

  /// All outputs of a set against the worker's reference in the result memory.
  virtual ErrorStats compare_with_reference(Side side, uint32_t set, const BoundRule& rule) = 0;
  /// S by position for `compare_with_worker`, one list per output (see `profile_block_of`).
  virtual void use_profiles(const std::vector<std::vector<float>>& profiles) = 0;
  /// All outputs of a set against the worker's collected outputs of `other`.
  virtual ErrorStats compare_with_worker(Side side, uint32_t set, uint32_t other,
                                         const BoundRule& rule) = 0;
  /// Raises `profiles` (made if empty) to the spreads in the result memory, block by block.
  virtual void raise_profiles(std::vector<std::vector<float>>& profiles) = 0;
};

}  // namespace warpsmith::sandbox
