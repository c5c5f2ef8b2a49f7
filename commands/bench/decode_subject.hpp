// SPDX-License-Identifier: Apache-2.0
// The model that `bench decode` measures, on its device.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "policy/generate/bench_decode.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::commands {

/// Whether a folder in Hugging Face layout has weights beside its configuration.
bool has_weights(const std::filesystem::path& folder);

struct DecodeSubjectOptions {
  std::string device = "cpu";  // "cpu" or "cuda"
  int gpu = 0;
  std::filesystem::path model;  // a folder in Hugging Face layout
};

struct DecodeSubject {
  DecodeSubjectOptions options;
  policy::ModelConfig config;
  policy::ModelWeights weights;
  std::optional<double> bandwidth;  // of the GPU's memory, in bytes per second
};

/// Opens the model and measures the GPU. A folder without weights gets random ones on a GPU.
Result<DecodeSubject> open_decode_subject(const DecodeSubjectOptions& options);

struct DecodeFigures {
  policy::DecodeBenchReport report;
  std::optional<double> memory_limit;  // decoded tokens per second; on a GPU
  std::optional<double> swap_ms;       // pause for newer weights; on a GPU
};

Result<DecodeFigures> measure_decode(const DecodeSubject& subject,
                                     const policy::DecodeBenchOptions& options);

}  // namespace warpsmith::commands
