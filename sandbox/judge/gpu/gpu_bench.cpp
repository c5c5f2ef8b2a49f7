// SPDX-License-Identifier: Apache-2.0
// The bench and the stage of a GPU slot in device memory. Only for builds with the toolkit.
#include "sandbox/judge/gpu/gpu_bench.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <memory>
#include <vector>

#include "runtime/cuda/device_error.hpp"
#include "sandbox/judge/gpu/gpu_device.hpp"
#include "sandbox/judge/gpu/kernel_orders.hpp"
#include "sandbox/judge/guards.hpp"
#include "sandbox/judge/seed.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr uint64_t sample_bytes = sampled_positions * sizeof(uint64_t);

uint64_t swept_by(const GpuDevice& device) {
  return 2 * static_cast<uint64_t>(std::max<int64_t>(device.facts().l2_bytes, 1));
}

/// The memory of the bench's sets.
struct StagedRegions {
  std::shared_ptr<const GpuAllocation> inputs, candidate;
};

/// The stage of a bench on a GPU.
class DeviceStage final : public CandidateStage {
 public:
  /// `layout` is the bench's. Throws DeviceError.
  DeviceStage(std::shared_ptr<const GpuDevice> device, const BufferLayout& layout,
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
        taken_(device_->context().api(), sample_bytes) {
    for (const GpuAllocation* memory : {&shown_, &written_}) {
      device_->set_bytes(memory->address(), 0, memory->bytes());
    }
    device_->synchronize();
  }

  CandidateMemory memory() const override {
    return {.layout = layout_,
            .inputs = shown_.fd(),
            .outputs = written_.fd(),
            .input_bytes = shown_.bytes(),
            .output_bytes = written_.bytes()};
  }

  void arm(uint32_t set, std::span<const SamplePosition> positions) override {
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

  /// Copies once, then sweeps twice the second-level cache, so that nothing copied stays in it.
  void reveal(uint32_t set) override {
    device_->copy(shown_.address(), bench_.inputs->address() + set * layout_.input_stride,
                  layout_.input_stride);
    device_->set_bytes(swept_.address(), 0, swept_bytes_);
    device_->synchronize();
  }

  void sample() override {
    gather(written_.address(), sampled_);
    device_->synchronize();
  }

  bool take(uint32_t set) override {
    device_->copy(outputs_of(set), written_.address(), layout_.output_stride);
    gather(outputs_of(set), taken_);
    std::vector<uint64_t> sampled(count_), taken(count_);
    device_->download(sampled.data(), sampled_.address(), count_ * sizeof(uint64_t));
    device_->download(taken.data(), taken_.address(), count_ * sizeof(uint64_t));
    return sampled == taken;
  }

 private:
  void gather(CUdeviceptr from, const cuda::DeviceMemory& into) const {
    device_->launch(device_->kernels().gather, count_,
                    GatherOrder{.from = device_pointer<const unsigned char>(from),
                                .places = device_pointer<const GatherPlace>(places_.address()),
                                .count = count_,
                                .out = device_pointer<uint64_t>(into.address())});
  }

  CUdeviceptr outputs_of(uint32_t set) const {
    return bench_.candidate->address() + set * layout_.output_stride;
  }

  std::shared_ptr<const GpuDevice> device_;
  BufferLayout layout_;  // of one set
  StagedRegions bench_;
  GpuAllocation shown_, written_;
  uint64_t swept_bytes_;
  cuda::DeviceMemory swept_, places_, sampled_, taken_;
  uint64_t count_ = 0;  // number of positions
};

constexpr auto guard = static_cast<unsigned char>(guard_value);

uint64_t entries_of(uint64_t count) {
  const uint64_t block = profile_block_of(count);
  return (count + block - 1) / block;
}

/// The number of threads if each takes a group of neighbours.
uint64_t groups_of(uint64_t count) {
  return (count + pool - 1) / pool;
}

using GpuRegions = std::array<std::shared_ptr<const GpuAllocation>, gpu_region_count>;

/// The bench of a GPU slot.
class DeviceBench final : public GpuBench {
 public:
  /// `regions` have the sizes of the layout. `hash_key` is secret.
  DeviceBench(std::shared_ptr<const GpuDevice> device, TaskSignature signature, BufferLayout layout,
              GpuRegions regions, uint64_t hash_key)
      : device_(std::move(device)),
        signature_(std::move(signature)),
        layout_(std::move(layout)),
        regions_(std::move(regions)),
        hash_key_(hash_key),
        zones_(zones_between_outputs(layout_)),
        references_(reference_places(signature_)) {
    for (size_t i = 0; i < signature_.tensors.size(); ++i) {
      if (signature_.tensors[i].role == TensorRole::output) outputs_.push_back(i);
    }
  }

  CandidateMemory candidate_memory() const override {
    const GpuAllocation& inputs = region(GpuRegion::inputs);
    const GpuAllocation& outputs = region(GpuRegion::candidate);
    return {.layout = layout_,
            .inputs = inputs.fd(),
            .outputs = outputs.fd(),
            .input_bytes = inputs.bytes(),
            .output_bytes = outputs.bytes()};
  }

  Result<std::unique_ptr<CandidateStage>> make_stage() const override {
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

  const TaskSignature& signature() const override { return signature_; }
  const BufferLayout& layout() const override { return layout_; }
  SessionMemory session_memory() const override {
    const GpuAllocation& inputs = region(GpuRegion::inputs);
    const GpuAllocation& worker = region(GpuRegion::worker);
    const GpuAllocation& result = region(GpuRegion::result);
    return {.layout = layout_,
            .descriptors = {inputs.fd(), worker.fd(), result.fd()},
            .bytes = {inputs.bytes(), worker.bytes(), result.bytes()},
            .on_device = true};
  }

  void fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) override {
    for (size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].drawn || !is_float(signature_.tensors.at(i).dtype)) continue;
      fill_tensor(set, i, contents, rules[i]);
    }
    device_->synchronize();
  }

  void copy_inputs(uint32_t from, uint32_t to) override {
    const CUdeviceptr start = region(GpuRegion::inputs).address();
    assert(from < layout_.sets && to < layout_.sets && "no such buffer set");
    if (from == to) return;
    device_->copy(start + to * layout_.input_stride, start + from * layout_.input_stride,
                  layout_.input_stride);
    device_->synchronize();
  }

  void take_drawn(uint32_t set, std::span<const InputRule> rules) override {
    CUdeviceptr from = region(GpuRegion::result).address();
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!rules[i].drawn) continue;
      const uint64_t bytes = layout_.slots.at(i).bytes;
      device_->copy(tensor(set, i), from, bytes);
      from += padded(bytes);
    }
    device_->synchronize();
  }

  void renew() override {
    const GpuAllocation& all = region(GpuRegion::candidate);
    device_->set_bytes(all.address(), guard, all.bytes());
    device_->synchronize();
  }

  /// Rewrites all sets: another set must not pass what a call wrote to the next call.
  void reset(uint32_t set) override {
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

  uint64_t inputs_hash(uint32_t set) override {
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

  bool guards_intact(uint32_t set) override {
    const CUdeviceptr changed = device_->zeroed_answer();
    for (const ByteZone& zone : zones_) check_guard(zone_of(set, zone), zone.bytes, changed);
    return is_zero(changed);
  }

  bool rest_intact() override {
    const CUdeviceptr changed = device_->zeroed_answer();
    const GpuAllocation& all = region(GpuRegion::candidate);
    check_guard(all.address() + layout_.output_total(), all.bytes() - layout_.output_total(),
                changed);
    return is_zero(changed);
  }

  ErrorStats compare_with_reference(Side side, uint32_t set, const BoundRule& rule) override {
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

  OutputBlock read_block(Outputs outputs, size_t output, uint64_t first,
                         uint64_t count) const override {
    const size_t i = outputs_.at(output);
    const uint64_t size = element_bytes(signature_.tensors[i].dtype);
    const CUdeviceptr result = region(GpuRegion::result).address();
    const ReferencePlace& place = references_[output];
    OutputBlock block{std::vector<std::byte>(count * size), std::vector<double>(count),
                      std::vector<float>(count)};
    device_->download(block.output.data(), address_of(outputs, i) + first * size, count * size);
    device_->download(block.value.data(), result + place.value + first * sizeof(double),
                      count * sizeof(double));
    device_->download(block.spread.data(), result + place.spread + first * sizeof(float),
                      count * sizeof(float));
    return block;
  }

  void copy_outputs(Outputs from, Outputs to) override {
    for (const size_t i : outputs_) {
      device_->copy(address_of(to, i), address_of(from, i), layout_.slots[i].bytes);
    }
    device_->synchronize();
  }

  void use_profiles(const std::vector<std::vector<float>>& profiles) override {
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

  ErrorStats compare_outputs(Outputs outputs, Outputs baseline, const BoundRule& rule) override {
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

  void raise_profiles(std::vector<std::vector<float>>& profiles) override {
    profiles.resize(outputs_.size());
    const CUdeviceptr result = region(GpuRegion::result).address();
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const uint64_t count = references_[k].count, entries = entries_of(count);
      const cuda::DeviceMemory largest{device_->context().api(), entries * sizeof(float)};
      const ProfileOrder order{
          .spread = device_pointer<const float>(result + references_[k].spread),
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

 private:
  const GpuAllocation& region(GpuRegion which) const {
    return *regions_[static_cast<size_t>(which)];
  }
  static GpuRegion outputs_of(Side side) {
    return side == Side::candidate ? GpuRegion::candidate : GpuRegion::worker;
  }
  /// The address of a tensor of a set; `outputs` selects the memory for an output.
  CUdeviceptr tensor(uint32_t set, size_t index, GpuRegion outputs = GpuRegion::candidate) const {
    assert(set < layout_.sets && "no such buffer set");
    const BufferSlot& slot = layout_.slots.at(index);
    if (!slot.output)
      return region(GpuRegion::inputs).address() + set * layout_.input_stride + slot.offset;
    return region(outputs).address() + set * layout_.output_stride + slot.offset;
  }

  CUdeviceptr address_of(Outputs outputs, size_t index) const {
    return tensor(outputs.set, index, outputs_of(outputs.side));
  }
  void fill_tensor(uint32_t set, size_t index, const Contents& contents,
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
    device_->launch(device_->kernels().place_huge, (order.count + order.row - 1) / order.row,
                    order);
  }

  /// The start of a zone in a set of the candidate's outputs.
  CUdeviceptr zone_of(uint32_t set, const ByteZone& zone) const {
    return region(GpuRegion::candidate).address() + set * layout_.output_stride + zone.offset;
  }
  /// Sets the number at `changed` to 1 if a byte there is not a guard's.
  void check_guard(CUdeviceptr from, uint64_t bytes, CUdeviceptr changed) const {
    const GuardOrder order{.zone = device_pointer<unsigned char>(from),
                           .bytes = bytes,
                           .value = guard,
                           .changed = device_pointer<unsigned>(changed)};
    device_->launch(device_->kernels().check_guards, (bytes + 15) / 16, order,
                    device_->some_blocks());
  }

  bool is_zero(CUdeviceptr changed) const {
    unsigned any = 0;
    device_->download(&any, changed, sizeof any);
    return any == 0;
  }

  ErrorStats finish(CUdeviceptr tally) const {
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

/// The bytes that regions not yet allocated will take.
uint64_t missing(const GpuRegions& regions, const GpuRegionBytes& needed) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < needed.size(); ++i) bytes += regions[i] ? 0 : needed[i];
  return bytes;
}

/// Frees regions that do not fit the task, and all of them if the rest has no room otherwise.
void release_unfit(const GpuDevice& device, GpuRegions& regions, const GpuRegionBytes& needed) {
  for (size_t i = 0; i < needed.size(); ++i) {
    if (regions[i] && !gpu_memory_fits(regions[i]->bytes(), needed[i])) regions[i].reset();
  }
  if (missing(regions, needed) > device.free_memory()) regions = {};
}

/// Erases what earlier candidates and tasks left in reused memory, and old contents in new memory,
/// which the driver does not clear when this process freed it. No contestant may see either.
void scrub(const GpuDevice& device, const GpuRegions& regions) {
  for (const GpuRegion which : {GpuRegion::inputs, GpuRegion::candidate, GpuRegion::worker}) {
    const GpuAllocation& region = *regions[static_cast<size_t>(which)];
    device.set_bytes(region.address(), 0, region.bytes());
  }
  device.synchronize();
}

/// Fills `regions`. Throws DeviceError.
void make_regions(const std::shared_ptr<const GpuDevice>& device, GpuRegions& regions,
                  const GpuRegionBytes& needed) {
  release_unfit(*device, regions, needed);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!regions[i]) regions[i] = std::make_shared<const GpuAllocation>(device, needed[i]);
  }
  scrub(*device, regions);
}

}  // namespace

uint64_t GpuBenchMemory::held() const {
  uint64_t bytes = 0;
  for (const auto& region : regions) bytes += region ? region->bytes() : 0;
  return bytes;
}

void GpuBenchMemory::release_large() {
  for (auto& region : regions) {
    if (region && region->bytes() > always_kept) region.reset();
  }
}

Result<std::unique_ptr<GpuBench>> GpuBench::create(std::shared_ptr<GpuVerifier> verifier,
                                                   const TaskSignature& signature,
                                                   GpuBenchMemory& memory, uint64_t worker_bytes) {
  const auto device = std::static_pointer_cast<const GpuDevice>(std::move(verifier));
  TRY(const auto secret, draw_seed());
  try {
    const GpuRoom room{
        .available = device->free_memory() + memory.held(),
        .worker = worker_bytes,
        .cache = static_cast<uint64_t>(std::max<int64_t>(device->facts().l2_bytes, 0))};
    TRY(auto layout, gpu_layout(signature, room));
    make_regions(device, memory.regions, gpu_region_bytes(signature, layout));
    return std::make_unique<DeviceBench>(device, signature, std::move(layout), memory.regions,
                                         secret.seed);
  } catch (const cuda::DeviceError& error) {
    memory.regions = {};
    const bool full = error.code() == CUDA_ERROR_OUT_OF_MEMORY;
    return fail(full ? ErrorCode::capacity : ErrorCode::infrastructure,
                std::string("device memory of the bench: ") + error.what());
  }
}

}  // namespace warpsmith::sandbox
