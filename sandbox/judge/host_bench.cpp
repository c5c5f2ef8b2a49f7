// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/host_bench.hpp"

#include <algorithm>
#include <cstring>

#include "sandbox/judge/element_types.hpp"
#include "sandbox/judge/guards.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t slot_bytes = 8;  // of a sampled element

void read_positions(std::span<const std::byte> set, std::span<const SamplePosition> positions,
                    std::vector<std::byte>& into) {
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(into.data() + i * slot_bytes, set.data() + positions[i].offset, positions[i].bytes);
  }
}

/// The stage of a bench in the host's memory.
class HostStage final : public CandidateStage {
 public:
  /// `inputs` and `outputs` are the bench's; their memory outlives it.
  static Result<std::unique_ptr<CandidateStage>> create(const SharedBuffers& inputs,
                                                        const SharedBuffers& outputs) {
    const BufferLayout layout = inputs.layout().one_set();
    auto shown = SharedBuffers::inputs(layout);
    if (!shown) return fail("the stage's inputs", std::move(shown.error()));
    auto written = SharedBuffers::outputs(layout);
    if (!written) return fail("the stage's outputs", std::move(written.error()));
    return std::unique_ptr<CandidateStage>(
        new HostStage(inputs, outputs, std::move(*shown), std::move(*written)));
  }

  CandidateMemory memory() const override { return candidate_memory(shown_, written_); }

  void arm(uint32_t set, std::span<const SamplePosition> positions) override {
    std::ranges::copy(outputs_.whole(set), written_.whole(0).begin());
    positions_.assign(positions.begin(), positions.end());
    sampled_.assign(positions.size() * slot_bytes, std::byte{0});
  }

  void reveal(uint32_t set) override { stream_copy(shown_.whole(0), inputs_.whole(set)); }

  void sample() override { read_positions(written_.whole(0), positions_, sampled_); }

  bool take(uint32_t set) override {
    std::ranges::copy(written_.whole(0), outputs_.whole(set).begin());
    std::vector<std::byte> taken(sampled_.size(), std::byte{0});
    read_positions(outputs_.whole(set), positions_, taken);
    return taken == sampled_;
  }

 private:
  HostStage(SharedBuffers inputs, SharedBuffers outputs, SharedBuffers shown, SharedBuffers written)
      : inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        shown_(std::move(shown)),
        written_(std::move(written)) {}

  SharedBuffers inputs_, outputs_;  // the bench's
  SharedBuffers shown_, written_;   // the candidate's, one set of each
  std::vector<SamplePosition> positions_;
  std::vector<std::byte> sampled_;  // `slot_bytes` per position
};

std::span<float> as_floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

/// Floats of another width are filled as float32 and converted.
template <class T>
void convert_into(std::span<std::byte> to, std::span<const float> from) {
  std::vector<T> values(from.size());
  for (size_t i = 0; i < from.size(); ++i) values[i] = from_float<T>(from[i]);
  std::copy_n(reinterpret_cast<const std::byte*>(values.data()), to.size(), to.begin());
}

void fill_values(std::span<float> out, const TensorSpec& spec, const InputRule& rule,
                 Distribution distribution, Keystream& stream) {
  if (rule.parameter) {
    return fill_parameter(out, {rule.mean, rule.deviation, rule.non_negative}, stream);
  }
  const int64_t row = spec.shape.empty() ? 1 : spec.shape.back();
  fill_floats(out, {distribution, rule.domain, row}, stream);
}

}  // namespace

HostBench::HostBench(TaskSignature signature, SharedBuffers inputs, SharedBuffers candidate,
                     SharedBuffers worker, std::shared_ptr<const MemoryFile> result)
    : signature_(std::move(signature)),
      inputs_(std::move(inputs)),
      candidate_(std::move(candidate)),
      worker_(std::move(worker)),
      result_(std::move(result)),
      references_(reference_places(signature_)) {
  for (size_t i = 0; i < signature_.tensors.size(); ++i) {
    if (signature_.tensors[i].role == TensorRole::output) outputs_.push_back(i);
  }
}

Result<std::unique_ptr<HostBench>> HostBench::create(const TaskSignature& signature) {
  BenchMemory own;
  return create(signature, own);
}

Result<std::unique_ptr<HostBench>> HostBench::create(const TaskSignature& signature,
                                                     BenchMemory& memory) {
  const auto layout =
      make_layout(signature, sets_beyond_cache(signature, last_level_cache_bytes()));
  auto inputs = SharedBuffers::inputs(layout, memory.inputs);
  if (!inputs) return fail("inputs", inputs.error());
  auto candidate = SharedBuffers::outputs(layout, memory.candidate);
  if (!candidate) return fail("outputs", candidate.error());
  auto worker = SharedBuffers::outputs(layout, memory.worker);
  if (!worker) return fail("baseline outputs", worker.error());
  if (!is_reusable(memory.result, result_bytes(signature))) {
    memory.result.reset();
    auto result = MemoryFile::create("references", result_bytes(signature));
    if (!result) return fail("references", result.error());
    memory.result = std::make_shared<const MemoryFile>(std::move(*result));
  }
  return std::unique_ptr<HostBench>(new HostBench(
      signature, std::move(*inputs), std::move(*candidate), std::move(*worker), memory.result));
}

Result<std::unique_ptr<CandidateStage>> HostBench::make_stage() const {
  return HostStage::create(inputs_, candidate_);
}

SessionMemory HostBench::session_memory() const {
  return {.layout = layout(),
          .descriptors = {inputs_.fd(), worker_.fd(), result_->fd()},
          .bytes = {layout().input_total(), layout().output_total(), result_->bytes().size()}};
}

void HostBench::fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) {
  for (size_t i = 0; i < rules.size(); ++i) {
    const TensorSpec& spec = signature_.tensors[i];
    if (rules[i].drawn) continue;
    Keystream stream(contents.key, contents.number, static_cast<uint32_t>(i));
    const std::span<std::byte> to = inputs_.tensor(set, i);
    if (spec.dtype == Dtype::f32) {
      fill_values(as_floats(to), spec, rules[i], contents.distribution, stream);
      continue;
    }
    std::vector<float> values(element_count(spec));
    fill_values(values, spec, rules[i], contents.distribution, stream);
    with_type(spec.dtype, [&](auto zero) { convert_into<decltype(zero)>(to, values); });
  }
}

void HostBench::copy_inputs(uint32_t from, uint32_t to) {
  for (size_t i = 0; i < signature_.tensors.size(); ++i) {
    if (signature_.tensors[i].role == TensorRole::output) continue;
    stream_copy(inputs_.tensor(to, i), inputs_.tensor(from, i));
    evict(inputs_.tensor(from, i));
  }
}

void HostBench::take_drawn(uint32_t set, std::span<const InputRule> rules) {
  size_t offset = 0;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].drawn) continue;
    const std::span<std::byte> to = inputs_.tensor(set, i);
    stream_copy(to, result_->bytes().subspan(offset, to.size()));
    offset += padded(to.size());
  }
}

void HostBench::renew() {
  for (uint32_t k = 0; k < sets(); ++k) reset(k);
}

void HostBench::reset(uint32_t set) {
  for (const size_t i : outputs_) poison(signature_.tensors[i].dtype, candidate_.tensor(set, i));
  arm_guards(candidate_, set);
}

uint64_t HostBench::inputs_hash(uint32_t set) {
  return sandbox::inputs_hash(inputs_, set);
}

bool HostBench::guards_intact(uint32_t set) {
  return sandbox::guards_intact(candidate_, set);
}

Reference HostBench::reference_of(size_t output) const {
  const ReferencePlace& place = references_.at(output);
  const std::byte* base = result_->bytes().data();
  return {{reinterpret_cast<const double*>(base + place.value), place.count},
          {reinterpret_cast<const float*>(base + place.spread), place.count}};
}

ErrorStats HostBench::compare_with_reference(Side side, uint32_t set, const BoundRule& rule) {
  ErrorStats stats;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const size_t i = outputs_[k];
    stats.add(compare(signature_.tensors[i].dtype, outputs_of(side).tensor(set, i), reference_of(k),
                      rule));
  }
  return stats;
}

OutputBlock HostBench::read_block(Outputs outputs, size_t output, uint64_t first,
                                  uint64_t count) const {
  const size_t i = outputs_.at(output);
  const uint64_t size = element_bytes(signature_.tensors[i].dtype);
  const auto bytes =
      outputs_of(outputs.side).tensor(outputs.set, i).subspan(first * size, count * size);
  const Reference reference = reference_of(output);
  const auto value = reference.value.subspan(first, count);
  const auto spread = reference.spread.subspan(first, count);
  return {
      {bytes.begin(), bytes.end()}, {value.begin(), value.end()}, {spread.begin(), spread.end()}};
}

void HostBench::copy_outputs(Outputs from, Outputs to) {
  for (const size_t i : outputs_) {
    stream_copy(outputs_of(to.side).tensor(to.set, i), outputs_of(from.side).tensor(from.set, i));
  }
}

void HostBench::use_profiles(const std::vector<std::vector<float>>& profiles) {
  profiles_ = profiles;
}

ErrorStats HostBench::compare_outputs(Outputs outputs, Outputs baseline, const BoundRule& rule) {
  ErrorStats stats;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const size_t i = outputs_[k];
    stats.add(compare_with_baseline(
        signature_.tensors[i].dtype, outputs_of(outputs.side).tensor(outputs.set, i),
        outputs_of(baseline.side).tensor(baseline.set, i), profiles_.at(k), rule));
  }
  return stats;
}

void HostBench::raise_profiles(std::vector<std::vector<float>>& profiles) {
  profiles.resize(outputs_.size());
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const std::span<const float> spread = reference_of(k).spread;
    const size_t block = profile_block_of(spread.size());
    profiles[k].resize((spread.size() + block - 1) / block);
    for (size_t i = 0; i < spread.size(); ++i) {
      float& entry = profiles[k][i / block];
      entry = raised(entry, spread[i]);
    }
  }
}

}  // namespace warpsmith::sandbox
