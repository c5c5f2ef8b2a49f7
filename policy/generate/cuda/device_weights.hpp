// SPDX-License-Identifier: Apache-2.0
// A model's parameters in the engine's own device memory, at addresses that never change, so that
// recorded graphs stay valid when newer weights are copied in. For sources built with the toolkit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policy/generate/cuda/kernels.hpp"
#include "policy/model/weights.hpp"
#include "runtime/cuda/context.hpp"

namespace warpsmith::policy::cuda {

/// Device addresses of one layer's parameters, as in LayerWeights; null where the family has none.
struct DeviceLayer {
  void* input_norm = nullptr;
  void* qkv = nullptr;
  void* qkv_bias = nullptr;
  void* q_norm = nullptr;
  void* k_norm = nullptr;
  void* out = nullptr;
  void* out_bias = nullptr;
  void* post_norm = nullptr;
  void* gate_up = nullptr;
  void* gate_up_bias = nullptr;
  void* down = nullptr;
  void* down_bias = nullptr;
};

class DeviceWeights {
 public:
  /// Reserves memory of the model's shapes. Throws DeviceError.
  DeviceWeights(const warpsmith::cuda::Api& api, const ModelConfig& config, Precision precision);

  const void* embed() const { return address_of("embed"); }
  const void* final_norm() const { return address_of("final_norm"); }
  /// The same as `embed` if the model ties them.
  const void* head() const;
  const std::vector<DeviceLayer>& layers() const { return layers_; }

  /// Converts `weights` into this memory on `stream` and waits for it. Tensors on a GPU, this one
  /// or a peer, are copied between devices; they must be complete. Others go through pinned memory.
  /// Throws std::invalid_argument, before anything is changed, if a shape differs from the model's;
  /// std::runtime_error afterwards if a number is not finite.
  void adopt(const ModelWeights& weights, StreamHandle stream);

 private:
  struct Target {
    uint64_t offset = 0;  // in the arena
    int64_t count = 0;
    uint64_t index = 0;  // in `bad_`
  };
  using Targets = std::map<std::string, Target>;

  static Targets place(const ModelConfig& config, Precision precision);
  static uint64_t arena_bytes(const Targets& targets, Precision precision);
  void* address_of(const std::string& name) const;
  void check_shapes(const ModelWeights& weights) const;
  void copy(const at::Tensor& tensor, const Target& target, StreamHandle stream);
  void copy_staged(const at::Tensor& tensor, const Target& target, StreamHandle stream);
  void check_finite(StreamHandle stream);

  const warpsmith::cuda::Api& api_;
  Precision precision_;
  Targets targets_;  // by the names of ModelWeights::parameters
  warpsmith::cuda::DeviceMemory arena_;
  warpsmith::cuda::DeviceMemory staging_;
  warpsmith::cuda::DeviceMemory bad_;  // uint32 for each target: numbers that are not finite
  warpsmith::cuda::PinnedMemory pinned_;
  std::vector<DeviceLayer> layers_;
};

}  // namespace warpsmith::policy::cuda
