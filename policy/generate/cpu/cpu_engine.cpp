// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/cpu_engine.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "policy/generate/cpu/decode_model.hpp"
#include "policy/generate/cpu/kv_cache.hpp"
#include "policy/generate/cpu/sampler.hpp"

namespace warpsmith::policy {
namespace {

/// Computes each batch in `start`.
class CpuBackend final : public Backend {
 public:
  CpuBackend(const ModelConfig& model, const EngineConfig& config)
      : model_config_(model),
        max_positions_(config.max_session_tokens),
        cache_(model, config.blocks()) {}

  int64_t vocab() const override { return model_config_.vocab; }
  bool runs_ahead() const override { return false; }
  void adopt(const ModelWeights& weights) override {
    model_.emplace(model_config_, weights, max_positions_);
  }
  void start(std::span<const DecodeRow> rows) override;
  std::vector<SampledToken> finish() override { return std::exchange(samples_, {}); }

 private:
  ModelConfig model_config_;
  int64_t max_positions_;
  KvCache cache_;
  std::optional<DecodeModel> model_;
  std::vector<SampledToken> samples_;
};

void CpuBackend::start(std::span<const DecodeRow> rows) {
  std::span<const float> logits = model_->forward(rows, cache_);
  const auto vocab = static_cast<size_t>(model_config_.vocab);
  for (const DecodeRow& row : rows) {
    if (row.sample == nullptr) continue;
    samples_.push_back(sample_token(logits.first(vocab), *row.sample, row.uniform));
    logits = logits.subspan(vocab);
  }
}

}  // namespace

Result<std::unique_ptr<Engine>> make_cpu_engine(const ModelConfig& model,
                                                const EngineConfig& config) {
  if (auto ok = model.validate(); !ok) return tl::unexpected(ok.error());
  if (auto ok = config.validate(); !ok) return tl::unexpected(ok.error());
  return Engine::make(std::make_unique<CpuBackend>(model, config), config);
}

}  // namespace warpsmith::policy
