// SPDX-License-Identifier: Apache-2.0
// The shared memory for judging one task (inputs, outputs of candidate and worker, references) and
// the verifier's operations on it. A CPU slot uses the host's memory (host_bench.hpp), a GPU slot
// the device's (gpu/gpu_bench.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/random_stream.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/judge/inputs.hpp"
#include "sandbox/judge/numerics.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// One element of an output.
struct SamplePosition {
  uint64_t offset = 0;  // bytes from the start of a set of outputs
  uint32_t bytes = 0;   // 1, 2, 4 or 8
};

/// The number of positions sampled in each call.
inline constexpr size_t sampled_positions = 256;

/// Draws `sampled_positions` positions, spread over all outputs that are not empty.
std::vector<SamplePosition> draw_positions(const TaskSignature& signature,
                                           const BufferLayout& layout, RandomStream& random);

/// The part of a bench that a candidate's process sees where its work may stay on a device and
/// poll: one set, mapped only there. Inputs appear in it while the clock already runs, and outputs
/// are sampled at the moment of `done`. Created by the bench whose sets it shows. On a GPU every
/// member may throw cuda::DeviceError.
class CandidateStage {
 public:
  CandidateStage() = default;
  CandidateStage(const CandidateStage&) = delete;
  CandidateStage& operator=(const CandidateStage&) = delete;
  virtual ~CandidateStage() = default;

  /// The memory that the candidate's process receives: a layout of one set.
  virtual CandidateMemory memory() const = 0;

  /// Copies the bench's poison and guards of `set`, and sets the positions to sample. The candidate
  /// must be stopped.
  virtual void arm(uint32_t set, std::span<const SamplePosition> positions) = 0;
  /// Copies the inputs and parameters of the bench's `set`. They are complete on return; caches are
  /// cold.
  virtual void reveal(uint32_t set) = 0;
  /// Reads the outputs at the positions.
  virtual void sample() = 0;
  /// Copies outputs and guards to the candidate's of the bench's `set`. False if a sampled position
  /// differs in the copy: the candidate was not done. The candidate must be stopped.
  virtual bool take(uint32_t set) = 0;
};

/// Where the reference worker's results of one output lie, in bytes from the start of the result
/// memory.
struct ReferencePlace {
  uint64_t value = 0;   // ŷ, float64
  uint64_t spread = 0;  // S, float32
  uint64_t count = 0;   // elements
};

/// One per output, in the signature's order: all values lie before all spreads.
std::vector<ReferencePlace> reference_places(const TaskSignature& signature);

/// The number of elements of a tensor.
uint64_t element_count(const TensorSpec& spec);

/// What one call's contents are generated from.
struct Contents {
  const StreamKey& key;
  uint64_t number = 0;  // of the contents within the key; new contents always get a new number
  Distribution distribution = Distribution::dense;
};

/// Whose outputs are meant.
enum class Side : uint8_t { candidate, worker };

/// The candidate's or the worker's outputs of a set.
struct Outputs {
  Side side = Side::candidate;
  uint32_t set = 0;
};

/// Some elements of one output, and what the reference has for them, in the host's memory.
struct OutputBlock {
  std::vector<std::byte> output;
  std::vector<double> value;
  std::vector<float> spread;
};

/// Use it only while contestants are stopped. On a GPU every member may throw cuda::DeviceError;
/// the process must then be replaced.
class Bench {
 public:
  Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  virtual ~Bench() = default;

  virtual const TaskSignature& signature() const = 0;
  virtual const BufferLayout& layout() const = 0;
  uint32_t sets() const { return layout().sets; }
  /// The memory that the candidate's process receives.
  virtual CandidateMemory candidate_memory() const = 0;
  /// A stage hides these sets from the candidate until its clock runs.
  virtual Result<std::unique_ptr<CandidateStage>> make_stage() const = 0;
  /// The memory that the reference worker receives.
  virtual SessionMemory session_memory() const = 0;

  /// Writes the inputs and parameters of a set.
  virtual void fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) = 0;
  /// Copies one set's inputs and parameters into another. The contestants of a block share contents
  /// that are generated once; each gets them just before its call. Neither set stays in a
  /// processor's caches: otherwise a candidate that sees both would find the earlier one there.
  virtual void copy_inputs(uint32_t from, uint32_t to) = 0;
  /// Copies the worker's integer and boolean inputs and parameters into a set.
  virtual void take_drawn(uint32_t set, std::span<const InputRule> rules) = 0;
  /// Prepares for another candidate: erases everything that an earlier one wrote.
  virtual void renew() = 0;
  /// Poisons the candidate's outputs in a set and fills the rest of it with guards. Where device
  /// code can reach other sets, erases what earlier calls wrote there.
  virtual void reset(uint32_t set) = 0;

  /// Hash of every input and parameter of a set, to detect changes; not cryptographic.
  virtual uint64_t inputs_hash(uint32_t set) = 0;
  /// False if anything but the candidate's outputs of the set changed.
  virtual bool guards_intact(uint32_t set) = 0;
  /// False if memory that the candidate can write outside all sets has changed since `renew`. It
  /// may be large, so check it once for many calls.
  virtual bool rest_intact() = 0;

  /// Compares all outputs of a set with the worker's reference in the result memory.
  virtual ErrorStats compare_with_reference(Side side, uint32_t set, const BoundRule& rule) = 0;
  /// Copies `count` elements of the `output`-th output from `first` on, and their reference from
  /// the result memory.
  virtual OutputBlock read_block(Outputs outputs, size_t output, uint64_t first,
                                 uint64_t count) const = 0;
  /// Copies all outputs, for example the worker's to the candidate's at ingest, when there is no
  /// candidate, to compare two answers of the worker.
  virtual void copy_outputs(Outputs from, Outputs to) = 0;
  /// Sets S by position for `compare_outputs`, one list per output (see `profile_block_of`).
  virtual void use_profiles(const std::vector<std::vector<float>>& profiles) = 0;
  /// Compares all outputs with those of a baseline.
  virtual ErrorStats compare_outputs(Outputs outputs, Outputs baseline, const BoundRule& rule) = 0;
  /// Raises `profiles` (created if empty) to the spreads in the result memory, block by block.
  virtual void raise_profiles(std::vector<std::vector<float>>& profiles) = 0;
};

}  // namespace warpsmith::sandbox
