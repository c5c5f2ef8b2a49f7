// SPDX-License-Identifier: Apache-2.0
// Implements `GpuBench` where there is a toolkit. Only for sources built with the toolkit.
#pragma once

#include <optional>

#include "sandbox/judge/gpu/gpu_device.hpp"
#include "sandbox/judge/gpu/kernel_orders.hpp"
#include "sandbox/judge/reference_places.hpp"

namespace warpsmith::sandbox {

using GpuRegions = std::array<std::shared_ptr<const GpuAllocation>, gpu_region_count>;

class DeviceBench final : public GpuBench {
 public:
  /// `regions` have the sizes of the layout. `hash_key` is secret.
  DeviceBench(std::shared_ptr<const GpuDevice> device, TaskSignature signature, BufferLayout layout,
              GpuRegions regions, uint64_t hash_key);

  CandidateMemory candidate_memory() const override;
  Result<std::unique_ptr<CandidateStage>> make_stage() const override;
  const TaskSignature& signature() const override { return signature_; }
  const BufferLayout& layout() const override { return layout_; }
  SessionMemory session_memory() const override;
  void fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) override;
  void copy_inputs(uint32_t from, uint32_t to) override;
  void take_drawn(uint32_t set, std::span<const InputRule> rules) override;
  void renew() override;
  void reset(uint32_t set) override;
  uint64_t inputs_hash(uint32_t set) override;
  bool guards_intact(uint32_t set) override;
  bool rest_intact() override;
  ErrorStats compare_with_reference(Side side, uint32_t set, const BoundRule& rule) override;
  void keep_outputs(uint32_t set) override;
  void use_profiles(const std::vector<std::vector<float>>& profiles) override;
  ErrorStats compare_outputs(Outputs outputs, Outputs baseline, const BoundRule& rule) override;
  void raise_profiles(std::vector<std::vector<float>>& profiles) override;

 private:
  const GpuAllocation& region(GpuRegion which) const {
    return *regions_[static_cast<size_t>(which)];
  }
  static GpuRegion outputs_of(Side side) {
    return side == Side::candidate ? GpuRegion::candidate : GpuRegion::worker;
  }
  /// The address of a tensor of a set; `outputs` selects the memory for an output.
  CUdeviceptr tensor(uint32_t set, size_t index, GpuRegion outputs = GpuRegion::candidate) const;
  CUdeviceptr address_of(Outputs outputs, size_t index) const {
    return tensor(outputs.set, index, outputs_of(outputs.side));
  }
  void fill_tensor(uint32_t set, size_t index, const Contents& contents,
                   const InputRule& rule) const;
  /// The start of a zone in a set of the candidate's outputs.
  CUdeviceptr zone_of(uint32_t set, const ByteZone& zone) const {
    return region(GpuRegion::candidate).address() + set * layout_.output_stride + zone.offset;
  }
  /// Sets the number at `changed` to 1 if a byte there is not a guard's.
  void check_guard(CUdeviceptr from, uint64_t bytes, CUdeviceptr changed) const;
  bool is_zero(CUdeviceptr changed) const;
  ErrorStats finish(CUdeviceptr tally) const;

  std::shared_ptr<const GpuDevice> device_;
  TaskSignature signature_;
  BufferLayout layout_;
  GpuRegions regions_;
  uint64_t hash_key_;
  std::vector<size_t> outputs_;               // indices of the outputs in the signature
  std::vector<ByteZone> zones_;               // in each set of the candidate's outputs
  std::vector<ReferencePlace> references_;    // one per output
  std::vector<cuda::DeviceMemory> profiles_;  // one per output, after `use_profiles`
};

}  // namespace warpsmith::sandbox
