// SPDX-License-Identifier: Apache-2.0
// [sandbox]: the slots that compile, verify and time submissions.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"
#include "runtime/describe.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith {

/// How a candidate is judged, and what it may use. Every part of the sandbox reads this record, and
/// the default of each limit is defined only here (scripts/limits.txt).
struct SandboxSettings {
  int64_t candidate_memory_bytes = int64_t{2} << 30;  // of the candidate's process
  int64_t compile_tasks = 64;        // in the compile jail; the run jail allows one
  int64_t source_bytes = 256 << 10;  // of a submission, all files together
  int64_t message_bytes = 64 << 10;  // kept of the compiler's output; a candidate's is discarded
  // Wall time of one compilation. Contract host gets nine times as long, but at most 3/4 of what is
  // left of `evaluation_timeout`.
  std::chrono::milliseconds compile_timeout{std::chrono::seconds{20}};
  // Wall time of one call of `solve`; on a CPU at most 2 s plus 50 times eager's time.
  std::chrono::milliseconds call_timeout{std::chrono::seconds{5}};
  std::chrono::milliseconds evaluation_timeout{std::chrono::minutes{2}};
  // Time to ingest one task, once the worker is ready; a fifth of it is for loading.
  std::chrono::milliseconds ingest_timeout{std::chrono::minutes{5}};
  int64_t compile_cache_bytes = int64_t{1} << 30;  // least recently used entries go first
  Numerics numerics = Numerics::strict;            // `paper`: 1e-2, to compare with published ones
  // Verified input sets, in addition to one like those that are timed; numerics `paper` always
  // uses 5.
  int64_t verified_sets = 5;
  int64_t timed_blocks = 8;      // ABBA blocks, at least
  bool require_cgroups = false;  // refuse to run if no cgroup can limit memory and processes

  WARPSMITH_RECORD(candidate_memory_bytes, compile_tasks, source_bytes, message_bytes,
                   compile_timeout, call_timeout, evaluation_timeout, ingest_timeout,
                   compile_cache_bytes, numerics, verified_sets, timed_blocks, require_cgroups)
};

struct SandboxConfig {
  int64_t count = 1;             // slots: one per core, or one or more per GPU
  int64_t cores = 1;             // per CPU slot; only 1 is accepted
  int64_t first_core = -1;       // slot i has core first_core + i; -1: the last cores
  int64_t gpus = 1;              // contracts device and host: slot i has GPU first_gpu + i % gpus;
  int64_t first_gpu = 0;         //   slots take turns on a GPU if count > gpus
  std::string contract = "cpu";  // "cpu", "device", "host"
  int64_t queue = 32;            // requests that may wait at a slot before it refuses credit
  // Baselines of a GPU in addition to eager and torch.compile: "max-autotune", "cuda-graph".
  // "auto", as the only name, means both on a GPU and none on a CPU. No reward depends on them, and
  // tuning a network takes minutes, so a run has none by default.
  std::vector<std::string> baselines;
  std::filesystem::path cache;  // compile and ingest caches; empty: the user's cache folder
  SandboxSettings settings;
};

/// True for the contracts whose kernels run on GPUs.
bool uses_gpus(const SandboxConfig& c);

/// The longest time until a verdict, including all requests queued before it.
std::chrono::milliseconds verdict_timeout(const SandboxConfig& c);

/// The names in `baselines`, with "auto" resolved.
std::vector<std::string> further_baselines(const SandboxConfig& c);

void describe(Fields& fields, SandboxConfig& c);
void validate(const SandboxConfig& c, Complaints& complaints);

}  // namespace warpsmith
