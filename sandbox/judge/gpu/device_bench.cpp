// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/device_bench.hpp"

#include <cassert>

#include "runtime/cuda/device_error.hpp"
#include "sandbox/judge/gpu/device_stage.hpp"
#include "sandbox/judge/guards.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr auto guard = static_cast<unsigned char>(guard_value);

}  // namespace

DeviceBench::DeviceBench(std::shared_ptr<const GpuDevice> device, TaskSignature signature,
                         BufferLayout layout, GpuRegions regions, uint64_t hash_key)
    : device_(std::move(device)),
      signature_(std::move(signature)),
      layout_(std::move(layout)),
      regions_(std::move(regions)),
      hash_key_(hash_key),
      zones_(zones_beside_outputs(layout_)),
      references_(reference_places(signature_)) {
  for (size_t i = 0; i < signature_.tensors.size(); ++i) {
    if (signature_.tensors[i].role == TensorRole::output) outputs_.push_back(i);
  }
}

CUdeviceptr DeviceBench::tensor(uint32_t set, size_t index, GpuRegion outputs) const {
  assert(set < layout_.sets && "no such buffer set");
  const BufferSlot& slot = layout_.slots.at(index);
  if (!slot.output)
    return region(GpuRegion::inputs).address() + set * layout_.input_stride + slot.offset;
  return region(outputs).address() + set * layout_.output_stride + slot.offset;
}

CandidateMemory DeviceBench::candidate_memory() const {
  const GpuAllocation& inputs = region(GpuRegion::inputs);
  const GpuAllocation& outputs = region(GpuRegion::candidate);
  return {.layout = layout_,
          .inputs = inputs.fd(),
          .outputs = outputs.fd(),
          .input_bytes = inputs.bytes(),
          .output_bytes = outputs.bytes()};
}

Result<std::unique_ptr<CandidateStage>> DeviceBench::make_stage() const {
  const auto at = [this](GpuRegion which) { return regions_[static_cast<size_t>(which)]; };
  try {
    return std::make_unique<DeviceStage>(
        device_, layout_, StagedRegions{at(GpuRegion::inputs), at(GpuRegion::candidate)});
  } catch (const cuda::DeviceError& error) {
    const bool full = error.code() == CUDA_ERROR_OUT_OF_MEMORY;
    return fail(full ? ErrorCode::capacity : ErrorCode::infrastructure,
                std::string("device memory of the stage: ") + error.what());
  }
}

SessionMemory DeviceBench::session_memory() const {
  const GpuAllocation& inputs = region(GpuRegion::inputs);
  const GpuAllocation& worker = region(GpuRegion::worker);
  const GpuAllocation& result = region(GpuRegion::result);
  return {.layout = layout_,
          .descriptors = {inputs.fd(), worker.fd(), result.fd()},
          .bytes = {inputs.bytes(), worker.bytes(), result.bytes()},
          .on_device = true};
}

void DeviceBench::fill_tensor(uint32_t set, size_t index, const Contents& contents,
                              const InputRule& rule) const {
  const TensorSpec& spec = signature_.tensors[index];
  FillOrder order{.key = chacha_key(contents.key),
                  .set = contents.number,
                  .tensor = static_cast<uint32_t>(index),
                  .dtype = spec.dtype,
                  .distribution = contents.distribution,
                  .domain = rule.domain,
                  .parameter = rule.parameter,
                  .rule = {rule.mean, rule.deviation, rule.non_negative},
                  .row = spec.shape.empty() ? 1 : static_cast<uint64_t>(spec.shape.back()),
                  .count = element_count(spec),
                  .out = device_pointer<void>(tensor(set, index))};
  if (order.parameter) order.distribution = distribution_of(order.rule);
  const uint64_t tiles = (order.count + tile_elements - 1) / tile_elements;
  device_->launch(device_->kernels().fill.at(static_cast<size_t>(order.distribution)), 32 * tiles,
                  order);
  if (order.distribution != Distribution::huge || order.count == 0) return;
  if (!has_huge(rule.domain, static_cast<int64_t>(order.row))) return;
  device_->launch(device_->kernels().place_huge, (order.count + order.row - 1) / order.row, order);
}

void DeviceBench::fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) {
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].drawn || !is_float(signature_.tensors.at(i).dtype)) continue;
    fill_tensor(set, i, contents, rules[i]);
  }
  device_->synchronize();
}

void DeviceBench::copy_inputs(uint32_t from, uint32_t to) {
  const CUdeviceptr start = region(GpuRegion::inputs).address();
  assert(from < layout_.sets && to < layout_.sets && "no such buffer set");
  if (from == to) return;
  device_->copy(start + to * layout_.input_stride, start + from * layout_.input_stride,
                layout_.input_stride);
  device_->synchronize();
}

void DeviceBench::take_drawn(uint32_t set, std::span<const InputRule> rules) {
  CUdeviceptr from = region(GpuRegion::result).address();
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].drawn) continue;
    const uint64_t bytes = layout_.slots.at(i).bytes;
    device_->copy(tensor(set, i), from, bytes);
    from += padded(bytes);
  }
  device_->synchronize();
}

void DeviceBench::renew() {
  const GpuAllocation& all = region(GpuRegion::candidate);
  device_->set_bytes(all.address(), guard, all.bytes());
  device_->synchronize();
}

/// Rewrites all sets: another set must not pass what a call wrote to the next call.
void DeviceBench::reset(uint32_t set) {
  const CUdeviceptr first = region(GpuRegion::candidate).address();
  const CUdeviceptr begin = first + set * layout_.output_stride;
  const CUdeviceptr end = begin + layout_.output_stride;
  device_->set_bytes(first, guard, begin - first);
  for (const ByteZone& zone : zones_) device_->set_bytes(zone_of(set, zone), guard, zone.bytes);
  device_->set_bytes(end, guard, first + layout_.output_total() - end);
  for (const size_t i : outputs_) {
    const uint64_t bytes = layout_.slots[i].bytes;
    const PatternOrder order{device_pointer<void>(tensor(set, i)), bytes,
                             poison_pattern(signature_.tensors[i].dtype)};
    device_->launch(device_->kernels().pattern, (bytes + 7) / 8, order, device_->some_blocks());
  }
  device_->synchronize();
}

void DeviceBench::check_guard(CUdeviceptr from, uint64_t bytes, CUdeviceptr changed) const {
  const GuardOrder order{.zone = device_pointer<unsigned char>(from),
                         .bytes = bytes,
                         .value = guard,
                         .changed = device_pointer<unsigned>(changed)};
  device_->launch(device_->kernels().check_guards, (bytes + 15) / 16, order,
                  device_->some_blocks());
}

bool DeviceBench::is_zero(CUdeviceptr changed) const {
  unsigned any = 0;
  device_->download(&any, changed, sizeof any);
  return any == 0;
}

bool DeviceBench::guards_intact(uint32_t set) {
  const CUdeviceptr changed = device_->zeroed_answer();
  for (const ByteZone& zone : zones_) check_guard(zone_of(set, zone), zone.bytes, changed);
  return is_zero(changed);
}

bool DeviceBench::rest_intact() {
  const CUdeviceptr changed = device_->zeroed_answer();
  const GpuAllocation& all = region(GpuRegion::candidate);
  check_guard(all.address() + layout_.output_total(), all.bytes() - layout_.output_total(),
              changed);
  return is_zero(changed);
}

uint64_t DeviceBench::inputs_hash(uint32_t set) {
  const CUdeviceptr answer = device_->zeroed_answer();
  for (size_t i = 0; i < layout_.slots.size(); ++i) {
    const BufferSlot& slot = layout_.slots[i];
    if (slot.output) continue;
    const HashOrder order{.in = device_pointer<void>(tensor(set, i)),
                          .bytes = slot.bytes,
                          .key = hash_key_,
                          .salt = uint64_t{i} << 48U,
                          .hash = device_pointer<unsigned long long>(answer)};
    device_->launch(device_->kernels().hash, (slot.bytes + 7) / 8, order, device_->some_blocks());
  }
  uint64_t hash = 0;
  device_->download(&hash, answer, sizeof hash);
  return hash;
}

}  // namespace warpsmith::sandbox
