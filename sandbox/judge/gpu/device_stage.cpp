// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/device_stage.hpp"

#include <algorithm>

namespace warpsmith::cuda {
extern const unsigned char stage_gather_image[];  // gather.cu
}  // namespace warpsmith::cuda

namespace warpsmith::sandbox {
namespace {

constexpr uint64_t sample_bytes = sampled_positions * sizeof(uint64_t);

uint64_t swept_by(const GpuDevice& device) {
  return 2 * static_cast<uint64_t>(std::max<int64_t>(device.facts().l2_bytes, 1));
}

}  // namespace

DeviceStage::DeviceStage(std::shared_ptr<const GpuDevice> device, const BufferLayout& layout,
                         StagedRegions bench)
    : device_(std::move(device)),
      layout_(layout.one_set()),
      bench_(std::move(bench)),
      shown_(device_, std::max<uint64_t>(layout_.input_total(), 1)),
      written_(device_, std::max<uint64_t>(layout_.output_total(), 1)),
      swept_bytes_(swept_by(*device_)),
      swept_(device_->context().api(), swept_bytes_),
      places_(device_->context().api(), sampled_positions * sizeof(GatherPlace)),
      sampled_(device_->context().api(), sample_bytes),
      taken_(device_->context().api(), sample_bytes),
      module_(device_->context().api(), cuda::stage_gather_image),
      gather_(module_.function("warpsmith_gather")) {
  for (const GpuAllocation* memory : {&shown_, &written_}) {
    device_->set_bytes(memory->address(), 0, memory->bytes());
  }
  device_->synchronize();
}

CandidateMemory DeviceStage::memory() const {
  return {.layout = layout_,
          .inputs = shown_.fd(),
          .outputs = written_.fd(),
          .input_bytes = shown_.bytes(),
          .output_bytes = written_.bytes()};
}

void DeviceStage::arm(uint32_t set, std::span<const SamplePosition> positions) {
  device_->copy(written_.address(), outputs_of(set), layout_.output_stride);
  // Erase also what lies beyond the set, so that no candidate can leave notes for the next.
  device_->set_bytes(written_.address() + layout_.output_stride, 0,
                     written_.bytes() - layout_.output_stride);
  std::vector<GatherPlace> places;
  count_ = std::min<uint64_t>(positions.size(), sampled_positions);
  for (const SamplePosition& position : positions.first(count_)) {
    places.push_back({position.offset, position.bytes});
  }
  device_->upload(places_.address(), places.data(), places.size() * sizeof(GatherPlace));
  device_->synchronize();
}

void DeviceStage::reveal(uint32_t set) {
  device_->copy(shown_.address(), bench_.inputs->address() + set * layout_.input_stride,
                layout_.input_stride);
  device_->set_bytes(swept_.address(), 0, swept_bytes_);
  device_->synchronize();
}

void DeviceStage::gather(CUdeviceptr from, const cuda::DeviceMemory& into) const {
  device_->launch(gather_, count_,
                  GatherOrder{.from = device_pointer<const unsigned char>(from),
                              .places = device_pointer<const GatherPlace>(places_.address()),
                              .count = count_,
                              .out = device_pointer<uint64_t>(into.address())});
}

void DeviceStage::sample() {
  gather(written_.address(), sampled_);
  device_->synchronize();
}

bool DeviceStage::take(uint32_t set) {
  device_->copy(outputs_of(set), written_.address(), layout_.output_stride);
  gather(outputs_of(set), taken_);
  std::vector<uint64_t> sampled(count_), taken(count_);
  device_->download(sampled.data(), sampled_.address(), count_ * sizeof(uint64_t));
  device_->download(taken.data(), taken_.address(), count_ * sizeof(uint64_t));
  return sampled == taken;
}

}  // namespace warpsmith::sandbox
