// SPDX-License-Identifier: Apache-2.0
// The engine's device on a GPU. Runs one batch ahead: the host plans a step while the GPU computes
// the last one, whose samples only the GPU has. A batch in which every sequence decodes is a
// recorded graph; others launch kernel by kernel. For sources built with the toolkit only.
#pragma once

#include <deque>
#include <map>

#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/generate/cuda/cuda_model.hpp"

namespace warpsmith::policy::cuda {

/// Made, used and destroyed on one thread. Throws DeviceError if the GPU fails.
class CudaBackend final : public Backend {
 public:
  /// `not_found` without that GPU, `unsupported` without a driver or cuBLAS that fit, `capacity` if
  /// the memory does not.
  static Result<std::unique_ptr<CudaBackend>> make(const ModelConfig& model,
                                                   const EngineConfig& config,
                                                   const CudaEngineOptions& options);
  ~CudaBackend() override;

  int64_t vocab() const override { return model_config_.vocab; }
  bool runs_ahead() const override { return true; }
  void adopt(const ModelWeights& weights) override;
  void start(std::span<const DecodeRow> rows) override;
  std::vector<SampledToken> finish() override;

 private:
  /// The host's memory of a batch in flight.
  struct Slot {
    warpsmith::cuda::PinnedMemory batch;
    warpsmith::cuda::PinnedMemory attention;
    warpsmith::cuda::PinnedMemory samples;
    warpsmith::cuda::Event finished;
    int64_t sample_count = 0;
  };
  static constexpr size_t batches_in_flight = 2;

  CudaBackend(warpsmith::cuda::Context context, const ModelConfig& model,
              const EngineConfig& config, const CudaEngineOptions& options);
  Result<void> start_blas();
  Slot make_slot() const;
  StepShape prepare(const BatchRows& batch, bool for_graph, Slot& slot);
  void run(const StepShape& step, int64_t graph_size);
  void check(CUresult code, const char* call) const;

  warpsmith::cuda::Context context_;
  ModelConfig model_config_;
  CudaEngineOptions options_;
  BatchLimits limits_;
  warpsmith::cuda::Stream stream_;
  CudaModel model_;
  warpsmith::cuda::DeviceMemory workspace_;
  std::optional<Blas> blas_;
  std::vector<int64_t> graph_sizes_;
  std::map<int64_t, warpsmith::cuda::GraphExec> graphs_;  // by size, made at first use
  std::vector<Slot> slots_;
  std::deque<size_t> in_flight_;  // slots, oldest first
  size_t next_slot_ = 0;
};

}  // namespace warpsmith::policy::cuda
