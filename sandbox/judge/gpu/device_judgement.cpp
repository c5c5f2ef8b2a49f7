// SPDX-License-Identifier: Apache-2.0
// The members of `DeviceBench` that judge outputs.
#include <bit>
#include <cassert>

#include "sandbox/judge/gpu/device_bench.hpp"

namespace warpsmith::sandbox {
namespace {

uint64_t entries_of(uint64_t count) {
  const uint64_t block = profile_block_of(count);
  return (count + block - 1) / block;
}

/// The number of threads if each takes a group of neighbours.
uint64_t groups_of(uint64_t count) {
  return (count + pool - 1) / pool;
}

}  // namespace

ErrorStats DeviceBench::finish(CUdeviceptr tally) const {
  Tally found;
  device_->download(&found, tally, sizeof found);
  ErrorStats stats{.worst = std::bit_cast<double>(found.worst),
                   .wrong = found.wrong,
                   .nonfinite = found.nonfinite,
                   .undefined = found.undefined,
                   .undecided = found.undecided};
  for (const ReferencePlace& place : references_) stats.elements += place.count;
  return stats;
}

ErrorStats DeviceBench::compare_with_reference(Side side, uint32_t set, const BoundRule& rule) {
  const CUdeviceptr tally = device_->zeroed_answer();
  const CUdeviceptr result = region(GpuRegion::result).address();
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const Dtype dtype = signature_.tensors[outputs_[k]].dtype;
    const ReferencePlace& place = references_[k];
    const ReferenceOrder order{
        .output = device_pointer<void>(tensor(set, outputs_[k], outputs_of(side))),
        .expected = device_pointer<const double>(result + place.value),
        .spread = device_pointer<const float>(result + place.spread),
        .count = place.count,
        .scale = scale_of(dtype, rule),
        .dtype = dtype,
        .tally = device_pointer<Tally>(tally)};
    device_->launch(device_->kernels().compare_with_reference, groups_of(place.count), order,
                    device_->some_blocks());
  }
  return finish(tally);
}

void DeviceBench::use_profiles(const std::vector<std::vector<float>>& profiles) {
  assert(profiles.size() == outputs_.size() && "one profile per output");
  profiles_.clear();
  for (size_t k = 0; k < outputs_.size(); ++k) {
    assert(profiles[k].size() >= entries_of(references_[k].count) && "the profile is too short");
    const uint64_t bytes = profiles[k].size() * sizeof(float);
    profiles_.emplace_back(device_->context().api(), bytes);
    device_->upload(profiles_.back().address(), profiles[k].data(), bytes);
  }
  device_->synchronize();
}

void DeviceBench::keep_outputs(uint32_t set) {
  for (const size_t i : outputs_) {
    device_->copy(tensor(set, i, GpuRegion::candidate), tensor(set, i, GpuRegion::worker),
                  layout_.slots[i].bytes);
  }
  device_->synchronize();
}

ErrorStats DeviceBench::compare_outputs(Outputs outputs, Outputs baseline, const BoundRule& rule) {
  assert(profiles_.size() == outputs_.size() && "profiles are given before they are used");
  const CUdeviceptr tally = device_->zeroed_answer();
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const size_t i = outputs_[k];
    const Dtype dtype = signature_.tensors[i].dtype;
    const uint64_t count = references_[k].count;
    const BaselineOrder order{.output = device_pointer<void>(address_of(outputs, i)),
                              .baseline = device_pointer<void>(address_of(baseline, i)),
                              .profile = device_pointer<const float>(profiles_[k].address()),
                              .block = profile_block_of(count),
                              .count = count,
                              .scale = scale_of(dtype, rule),
                              .dtype = dtype,
                              .tally = device_pointer<Tally>(tally)};
    device_->launch(device_->kernels().compare_with_baseline, groups_of(count), order,
                    device_->some_blocks());
  }
  return finish(tally);
}

void DeviceBench::raise_profiles(std::vector<std::vector<float>>& profiles) {
  profiles.resize(outputs_.size());
  const CUdeviceptr result = region(GpuRegion::result).address();
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const uint64_t count = references_[k].count, entries = entries_of(count);
    const cuda::DeviceMemory largest{device_->context().api(), entries * sizeof(float)};
    const ProfileOrder order{.spread = device_pointer<const float>(result + references_[k].spread),
                             .count = count,
                             .block = profile_block_of(count),
                             .out = device_pointer<float>(largest.address())};
    device_->launch(device_->kernels().profile, 32 * entries, order);
    std::vector<float> found(entries);
    device_->download(found.data(), largest.address(), entries * sizeof(float));
    profiles[k].resize(entries);
    for (size_t i = 0; i < entries; ++i) profiles[k][i] = raised(profiles[k][i], found[i]);
  }
}

}  // namespace warpsmith::sandbox
