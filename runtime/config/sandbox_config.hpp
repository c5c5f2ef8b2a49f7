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

namespace warpsmith {

/// Caps of one candidate's jail.
struct SandboxLimits {
  int64_t memory_bytes = int64_t{2} << 30;  // of the candidate's process
  int64_t processes = 64;                   // in the compile jail; the run jail allows one
  int64_t source_bytes = 256 << 10;         // of a submission, all files together
  int64_t output_bytes = 64 << 10;  // kept of the compiler's messages; a candidate's are discarded
  std::chrono::milliseconds compile{std::chrono::seconds{20}};  // wall time; of contract host 9
                                                                // times that, and at most 3/4 of
                                                                // what is left of `evaluation`
  std::chrono::milliseconds call{std::chrono::seconds{5}};      // wall time of one call of `solve`;
                                                                // on CPUs at most 2 s + 50 eager's
  std::chrono::milliseconds evaluation{std::chrono::minutes{2}};
  std::chrono::milliseconds ingest{std::chrono::minutes{5}};  // of one task; a fifth of it to load
};

struct SandboxConfig {
  int64_t count = 1;             // slots: one per core, or one or more per GPU
  int64_t cores = 1;             // of a CPU slot; only 1 is accepted so far
  int64_t first_core = -1;       // slot i has core first_core + i; -1: the last cores
  int64_t gpus = 1;              // of contracts device and host: slot i has GPU
  int64_t first_gpu = 0;         //   first_gpu + i % gpus, shared in turns if count > gpus
  std::string contract = "cpu";  // "cpu", "device", "host"
  int64_t queue = 32;            // requests a slot lets wait before it refuses credit
  std::string numerics =
      "strict";        // "strict"; "paper": 1e-2, for comparison with published numbers
  int64_t sets = 5;    // verified input sets, besides one like those that are timed;
                       //   of numerics "paper" always 5 in all
  int64_t blocks = 8;  // timed ABBA blocks, at least
  // What a GPU's evaluations are timed against besides eager and torch.compile: "max-autotune",
  // "cuda-graph"; "auto", alone, is both on a GPU and none on a CPU.
  std::vector<std::string> baselines{"auto"};
  bool require_cgroups = false;  // fail closed where memory and pids cannot be capped by a cgroup
  std::filesystem::path cache;   // compile and ingest caches; empty: the user's cache folder
  int64_t cache_bytes = int64_t{1} << 30;
  SandboxLimits limits;
};

/// True for the contracts whose kernels run on GPUs.
bool uses_gpus(const SandboxConfig& c);

/// `baselines` without "auto".
std::vector<std::string> further_baselines(const SandboxConfig& c);

void describe(Fields& fields, SandboxConfig& c);
void validate(const SandboxConfig& c, Complaints& complaints);

}  // namespace warpsmith
