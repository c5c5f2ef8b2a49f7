// SPDX-License-Identifier: Apache-2.0
// The stage of a bench on a GPU. Sources built with the toolkit only.
#pragma once

#include <memory>
#include <vector>

#include "sandbox/judge/gpu/gpu_device.hpp"
#include "sandbox/judge/gpu/stage_orders.hpp"

namespace warpsmith::sandbox {

/// Where the bench's sets lie.
struct StagedRegions {
  std::shared_ptr<const GpuAllocation> inputs, candidate;
};

class DeviceStage final : public Stage {
 public:
  /// `layout` is the bench's. Throws DeviceError.
  DeviceStage(std::shared_ptr<const GpuDevice> device, const BufferLayout& layout,
              StagedRegions bench);

  CandidateMemory memory() const override;
  void arm(uint32_t set, std::span<const SamplePosition> positions) override;
  /// One copy, then a sweep over twice the second-level cache: what was copied is not left there.
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
  uint64_t count_ = 0;  // of positions
};

}  // namespace warpsmith::sandbox
