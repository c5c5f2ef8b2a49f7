// SPDX-License-Identifier: Apache-2.0
// The stage of a bench on a GPU. Only for sources built with the toolkit.
#pragma once

#include <memory>
#include <vector>

#include "sandbox/judge/gpu/gpu_device.hpp"
#include "sandbox/judge/gpu/stage_orders.hpp"

namespace warpsmith::sandbox {

/// The memory of the bench's sets.
struct StagedRegions {
  std::shared_ptr<const GpuAllocation> inputs, candidate;
};

class DeviceStage final : public CandidateStage {
 public:
  /// `layout` is the bench's. Throws DeviceError.
  DeviceStage(std::shared_ptr<const GpuDevice> device, const BufferLayout& layout,
              StagedRegions bench);

  CandidateMemory memory() const override;
  void arm(uint32_t set, std::span<const SamplePosition> positions) override;
  /// Copies once, then sweeps twice the second-level cache, so that nothing copied stays in it.
  void reveal(uint32_t set) override;
  void sample() override;
  bool take(uint32_t set) override;

 private:
  void gather(CUdeviceptr from, const cuda::DeviceMemory& into) const;
  CUdeviceptr outputs_of(uint32_t set) const {
    return bench_.candidate->address() + set * layout_.output_stride;
  }

  std::shared_ptr<const GpuDevice> device_;
  BufferLayout layout_;  // of one set
  StagedRegions bench_;
  GpuAllocation shown_, written_;
  uint64_t swept_bytes_;
  cuda::DeviceMemory swept_, places_, sampled_, taken_;
  cuda::KernelModule module_;
  CUfunction gather_;
  uint64_t count_ = 0;  // number of positions
};

}  // namespace warpsmith::sandbox
