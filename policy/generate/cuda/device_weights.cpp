// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/device_weights.hpp"

#include <ATen/core/Tensor.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "policy/model/config.hpp"

namespace warpsmith::policy::cuda {
namespace {

namespace driver = warpsmith::cuda;

constexpr uint64_t alignment = 256;
constexpr uint64_t staging_bytes = uint64_t{64} << 20;

struct Field {
  const char* name;
  void* DeviceLayer::* address;
};

constexpr Field fields[] = {
    {"input_norm", &DeviceLayer::input_norm},
    {"qkv", &DeviceLayer::qkv},
    {"qkv_bias", &DeviceLayer::qkv_bias},
    {"q_norm", &DeviceLayer::q_norm},
    {"k_norm", &DeviceLayer::k_norm},
    {"out", &DeviceLayer::out},
    {"out_bias", &DeviceLayer::out_bias},
    {"post_norm", &DeviceLayer::post_norm},
    {"gate_up", &DeviceLayer::gate_up},
    {"gate_up_bias", &DeviceLayer::gate_up_bias},
    {"down", &DeviceLayer::down},
    {"down_bias", &DeviceLayer::down_bias},
};

uint64_t aligned(uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): the driver's type
}

/// `tensor` as numbers that the kernels read: contiguous float32 or bf16.
at::Tensor readable(const at::Tensor& tensor) {
  const bool known = tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16;
  if (known && tensor.is_contiguous()) return tensor;
  if (tensor.is_cuda()) {
    throw std::invalid_argument("weights on a GPU: expected contiguous float32 or bf16 tensors");
  }
  return (known ? tensor : tensor.to(at::kFloat)).contiguous();
}

SourceType type_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? SourceType::bf16 : SourceType::f32;
}

/// Lets copies from that GPU go directly between the devices, where the hardware can.
void open_way_from(int device) {
  if (cudaDeviceEnablePeerAccess(device, 0) != cudaSuccess) (void)cudaGetLastError();
}

}  // namespace

DeviceWeights::Targets DeviceWeights::place(const ModelConfig& config, Precision precision) {
  Targets targets;
  for (const NamedPart& part : traits_of(config.family).parts(config)) {
    int64_t count = 1;
    for (const int64_t size : part.shape) count *= size;
    targets[part.fused].count += count;
  }
  uint64_t end = 0;
  uint64_t index = 0;
  for (auto& [name, target] : targets) {
    target.offset = end;
    target.index = index++;
    end += aligned(static_cast<uint64_t>(target.count * element_bytes(precision)));
  }
  return targets;
}

uint64_t DeviceWeights::arena_bytes(const Targets& targets, Precision precision) {
  uint64_t end = 0;
  for (const auto& [name, target] : targets) {
    end += aligned(static_cast<uint64_t>(target.count * element_bytes(precision)));
  }
  return end;
}

DeviceWeights::DeviceWeights(const driver::Api& api, const ModelConfig& config, Precision precision)
    : api_(api),
      precision_(precision),
      targets_(place(config, precision)),
      arena_(api, arena_bytes(targets_, precision)),
      staging_(api, staging_bytes),
      bad_(api, targets_.size() * sizeof(uint32_t)),
      pinned_(api, staging_bytes) {
  for (int64_t i = 0; i < config.layers; ++i) {
    DeviceLayer& layer = layers_.emplace_back();
    const std::string prefix = fmt::format("layers.{}.", i);
    for (const Field& field : fields) layer.*field.address = address_of(prefix + field.name);
  }
}

void* DeviceWeights::address_of(const std::string& name) const {
  const auto found = targets_.find(name);
  return found == targets_.end() ? nullptr : pointer(arena_.address() + found->second.offset);
}

const void* DeviceWeights::head() const {
  const void* own = address_of("head");
  return own != nullptr ? own : embed();
}

void DeviceWeights::check_shapes(const ModelWeights& weights) const {
  const auto parameters = weights.parameters();
  for (const auto& [name, tensor] : parameters) {
    const auto found = targets_.find(name);
    const int64_t expected = found == targets_.end() ? 0 : found->second.count;
    if (tensor.numel() == expected) continue;
    throw std::invalid_argument(
        fmt::format("weights: {}: expected {} numbers, got {}", name, expected, tensor.numel()));
  }
  if (parameters.size() == targets_.size()) return;
  throw std::invalid_argument(
      fmt::format("weights: expected {} parameters, got {}", targets_.size(), parameters.size()));
}

void DeviceWeights::adopt(const ModelWeights& weights, StreamHandle stream) {
  check_shapes(weights);
  driver::check(api_, api_.cuMemsetD8Async(bad_.address(), 0, bad_.bytes(), stream),
                "cuMemsetD8Async");
  for (const auto& [name, tensor] : weights.parameters()) {
    copy(readable(tensor.detach()), targets_.at(name), stream);
  }
  check_finite(stream);
}

void DeviceWeights::copy(const at::Tensor& tensor, const Target& target, StreamHandle stream) {
  int here = 0;
  (void)cudaGetDevice(&here);
  if (!tensor.is_cuda() || tensor.get_device() != here) return copy_staged(tensor, target, stream);
  convert({.from = tensor.const_data_ptr(),
           .type = type_of(tensor),
           .to = pointer(arena_.address() + target.offset),
           .count = target.count,
           .bad = static_cast<uint32_t*>(pointer(bad_.address())) + target.index},
          precision_, stream);
}

void DeviceWeights::copy_staged(const at::Tensor& tensor, const Target& target,
                                StreamHandle stream) {
  if (tensor.is_cuda()) open_way_from(tensor.get_device());
  const auto size = static_cast<int64_t>(tensor.element_size());
  const int64_t chunk = static_cast<int64_t>(staging_bytes) / size;
  const auto* from = static_cast<const std::byte*>(tensor.const_data_ptr());
  for (int64_t first = 0; first < target.count; first += chunk) {
    const int64_t count = std::min(chunk, target.count - first);
    const auto bytes = static_cast<size_t>(count * size);
    const std::byte* source = from + first * size;
    if (!tensor.is_cuda()) {
      // The previous chunk must have been copied out of the pinned memory.
      driver::check(api_, api_.cuStreamSynchronize(stream), "cuStreamSynchronize");
      std::memcpy(pinned_.data(), source, bytes);
      source = pinned_.data();
    }
    driver::check(api_, api_.cuMemcpyAsync(staging_.address(), address(source), bytes, stream),
                  "cuMemcpyAsync");
    const uint64_t offset =
        target.offset + static_cast<uint64_t>(first * element_bytes(precision_));
    convert({.from = pointer(staging_.address()),
             .type = type_of(tensor),
             .to = pointer(arena_.address() + offset),
             .count = count,
             .bad = static_cast<uint32_t*>(pointer(bad_.address())) + target.index},
            precision_, stream);
  }
}

void DeviceWeights::check_finite(StreamHandle stream) {
  std::vector<uint32_t> bad(targets_.size());
  driver::check(api_, api_.cuStreamSynchronize(stream), "cuStreamSynchronize");
  driver::check(api_, api_.cuMemcpyDtoH(bad.data(), bad_.address(), bad_.bytes()), "cuMemcpyDtoH");
  for (const auto& [name, target] : targets_) {
    if (bad[target.index] == 0) continue;
    throw std::runtime_error(
        fmt::format("weights: {}: {} of {} numbers are not finite; expected none", name,
                    bad[target.index], target.count));
  }
}

}  // namespace warpsmith::policy::cuda
