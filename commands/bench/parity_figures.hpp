// SPDX-License-Identifier: Apache-2.0
// Log-probabilities of the same tokens by the engine, the learner and `transformers`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/config/compute_place.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {

struct ParityOptions {
  ComputeDevice device = ComputeDevice::cpu;
  ComputePrecision precision = ComputePrecision::fp32;  // a CPU has fp32 only
  int gpu = 0;
  std::filesystem::path model;           // a folder in Hugging Face layout, with weights
  std::filesystem::path demonstrations;  // whose prompts are continued; empty: random tokens
  int64_t tokens = 10'000;               // sampled at temperature 1, at most; at least 1
  uint64_t seed = 1;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// Absolute differences of log-probabilities, in nats.
struct LogProbGap {
  double mean = 0, max = 0;
};

struct ParityFigures {
  int64_t tokens = 0;       // compared
  LogProbGap learner;       // of the engine's to the learner's
  LogProbGap peer;          // to those of transformers in the same precision
  LogProbGap wide_peer;     // to those of transformers in float32
  int64_t greedy = 0;       // tokens that the engine chose greedily
  int64_t greedy_same = 0;  // of them those that transformers finds likeliest too
};

/// Writes random weights for the shape in `from` to the folder `to`, for all three to read.
Result<void> write_random_model(const std::filesystem::path& from, const std::filesystem::path& to,
                                uint64_t seed);

/// `not_found` for a folder without weights; else the errors of the model, the engine or the peer.
Result<ParityFigures> measure_parity(const ParityOptions& options);

}  // namespace warpsmith::commands
