// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/cuda_engine.hpp"

#include "policy/generate/cuda/cuda_backend.hpp"

namespace warpsmith::policy {
namespace {

/// The kernels' limits.
Result<void> check_shape(const ModelConfig& model) {
  constexpr int64_t widest_head = 256;
  const auto refuse = [](const char* name, const std::string& expected, int64_t got) {
    return fail(ErrorCode::unsupported, std::string("engine on a GPU: ") + name + ": expected " +
                                            expected + ", got " + std::to_string(got));
  };
  if (model.head_dim > widest_head) {
    return refuse("head_dim", "at most " + std::to_string(widest_head), model.head_dim);
  }
  if (model.hidden > cuda::widest_row || model.hidden % 4 != 0) {
    return refuse("hidden_size", "a multiple of 4, at most " + std::to_string(cuda::widest_row),
                  model.hidden);
  }
  if (model.ffn % 4 != 0) return refuse("intermediate_size", "a multiple of 4", model.ffn);
  return {};
}

}  // namespace

bool cuda_engine_is_built() {
  return true;
}

Result<std::unique_ptr<Engine>> make_cuda_engine(const ModelConfig& model,
                                                 const EngineConfig& config,
                                                 const CudaEngineOptions& options) {
  if (auto ok = model.validate(); !ok) return tl::unexpected(ok.error());
  if (auto ok = config.validate(); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_shape(model); !ok) return tl::unexpected(ok.error());
  auto backend = cuda::CudaBackend::make(model, config, options);
  if (!backend) return fail("engine on a GPU", backend.error());
  return Engine::make(std::move(*backend), config);
}

}  // namespace warpsmith::policy
