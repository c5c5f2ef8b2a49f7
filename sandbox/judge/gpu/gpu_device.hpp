// SPDX-License-Identifier: Apache-2.0
// Implements `GpuVerifier` where there is a toolkit: context, stream, kernels, and memory in that
// context. Only for sources built with the toolkit; everything here throws DeviceError.
#pragma once

#include <bit>

#include "runtime/cuda/context.hpp"
#include "sandbox/judge/gpu/gpu_bench.hpp"

namespace warpsmith::sandbox {

/// A pointer for a kernel's orders; the host must not dereference it.
template <class T>
T* device_pointer(CUdeviceptr address) {
  return std::bit_cast<T*>(address);
}

/// The kernels of fill.cu, compare.cu and upkeep.cu.
struct BenchKernels {
  std::array<CUfunction, enum_names<Distribution>.size()>
      fill{};  // by distribution; `huge` uses `normal`
  CUfunction place_huge, compare_with_reference, compare_with_baseline;
  CUfunction pattern, check_guards, hash, profile, gather;
};

class GpuDevice final : public GpuVerifier {
 public:
  GpuDevice(cuda::Context context, cuda::Gpu facts);

  const cuda::Gpu& facts() const override { return facts_; }
  uint64_t free_memory() const override { return context_.memory().free; }
  MachineLimits measure_limits() const override;
  DeviceLimits device_limits() const override;
  bool computes_right() const override;

  const cuda::Context& context() const { return context_; }
  const BenchKernels& kernels() const { return kernels_; }

  /// Starts `kernel` with one thread per `threads`, at most `most_blocks` blocks of 256.
  template <class Order>
  void launch(CUfunction kernel, uint64_t threads, const Order& order,
              uint64_t most_blocks = no_limit) const {
    launch_bytes(kernel, threads, most_blocks, &order);
  }
  /// A number of blocks that fills the device a few times, for kernels that loop.
  uint64_t some_blocks() const { return some_blocks_; }

  void set_bytes(CUdeviceptr to, unsigned char value, uint64_t bytes) const;
  void copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes) const;
  void upload(CUdeviceptr to, const void* from, uint64_t bytes) const;
  /// Waits until the data has arrived.
  void download(void* to, CUdeviceptr from, uint64_t bytes) const;
  void synchronize() const;

  /// At most `answer_bytes` of zeroed device memory for a kernel's answer.
  CUdeviceptr zeroed_answer() const;
  static constexpr uint64_t answer_bytes = 256;

 private:
  static constexpr uint64_t no_limit = (1ULL << 31U) - 1;  // blocks of a grid
  void launch_bytes(CUfunction kernel, uint64_t threads, uint64_t most_blocks,
                    const void* order) const;
  const cuda::Api& api() const { return context_.api(); }

  cuda::Context context_;  // first, because everything below lives in it
  cuda::Gpu facts_;
  cuda::KernelModule fill_, compare_, upkeep_;
  BenchKernels kernels_;
  uint64_t some_blocks_;
  cuda::Stream stream_;
  cuda::DeviceMemory answer_;
};

/// One region's memory, kept together with its device.
class GpuAllocation {
 public:
  GpuAllocation(std::shared_ptr<const GpuDevice> device, uint64_t bytes)
      : device_(std::move(device)),
        memory_(cuda::VirtualMemory::create(device_->context(), bytes)),
        descriptor_(memory_.export_descriptor()) {}

  CUdeviceptr address() const { return memory_.address(); }
  uint64_t bytes() const { return memory_.bytes(); }
  int fd() const { return descriptor_.get(); }

 private:
  std::shared_ptr<const GpuDevice> device_;
  cuda::VirtualMemory memory_;
  UniqueFd descriptor_;
};

}  // namespace warpsmith::sandbox
