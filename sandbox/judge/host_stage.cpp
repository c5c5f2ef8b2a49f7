// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/host_stage.hpp"

#include <algorithm>
#include <cstring>

namespace warpsmith::sandbox {
namespace {

constexpr size_t slot_bytes = 8;

void read_positions(std::span<const std::byte> set, std::span<const SamplePosition> positions,
                    std::vector<std::byte>& into) {
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(into.data() + i * slot_bytes, set.data() + positions[i].offset, positions[i].bytes);
  }
}

}  // namespace

Result<std::unique_ptr<HostStage>> HostStage::create(const SharedBuffers& inputs,
                                                     const SharedBuffers& outputs) {
  const BufferLayout layout = inputs.layout().one_set();
  auto shown = SharedBuffers::inputs(layout);
  if (!shown) return fail("the stage's inputs", std::move(shown.error()));
  auto written = SharedBuffers::outputs(layout);
  if (!written) return fail("the stage's outputs", std::move(written.error()));
  return std::unique_ptr<HostStage>(
      new HostStage(inputs, outputs, std::move(*shown), std::move(*written)));
}

void HostStage::arm(uint32_t set, std::span<const SamplePosition> positions) {
  std::ranges::copy(outputs_.whole(set), written_.whole(0).begin());
  positions_.assign(positions.begin(), positions.end());
  sampled_.assign(positions.size() * slot_bytes, std::byte{0});
}

void HostStage::reveal(uint32_t set) {
  stream_copy(shown_.whole(0), inputs_.whole(set));
}

void HostStage::sample() {
  read_positions(written_.whole(0), positions_, sampled_);
}

bool HostStage::take(uint32_t set) {
  std::ranges::copy(written_.whole(0), outputs_.whole(set).begin());
  std::vector<std::byte> taken(sampled_.size(), std::byte{0});
  read_positions(outputs_.whole(set), positions_, taken);
  return taken == sampled_;
}

}  // namespace warpsmith::sandbox
