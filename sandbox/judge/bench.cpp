// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/bench.hpp"

#include <algorithm>
#include <cmath>

#include "sandbox/judge/guards.hpp"

namespace warpsmith::sandbox {
namespace {

size_t elements_of(const TensorSpec& spec) {
  return static_cast<size_t>(tensor_bytes(spec) / element_bytes(spec.dtype));
}

std::span<float> as_floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

/// Floats of another width are filled as float32 and converted.
template <class T>
void convert_into(std::span<std::byte> to, std::span<const float> from) {
  std::vector<T> values(from.size());
  for (size_t i = 0; i < from.size(); ++i) values[i] = static_cast<T>(from[i]);
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

Bench::Bench(TaskSignature signature, SharedBuffers inputs, SharedBuffers candidate,
             SharedBuffers worker, std::shared_ptr<const MemoryFile> result)
    : signature_(std::move(signature)),
      inputs_(std::move(inputs)),
      candidate_(std::move(candidate)),
      worker_(std::move(worker)),
      result_(std::move(result)) {
  for (size_t i = 0; i < signature_.tensors.size(); ++i) {
    if (signature_.tensors[i].role == TensorRole::output) outputs_.push_back(i);
  }
}

Result<Bench> Bench::create(const TaskSignature& signature) {
  BenchMemory own;
  return create(signature, own);
}

Result<Bench> Bench::create(const TaskSignature& signature, BenchMemory& memory) {
  const auto layout =
      make_layout(signature, sets_beyond_cache(signature, last_level_cache_bytes()));
  auto inputs = SharedBuffers::inputs(layout, memory.inputs);
  if (!inputs) return fail("inputs", inputs.error());
  auto candidate = SharedBuffers::outputs(layout, memory.candidate);
  if (!candidate) return fail("outputs", candidate.error());
  auto worker = SharedBuffers::outputs(layout, memory.worker);
  if (!worker) return fail("baseline outputs", worker.error());
  if (!fits(memory.result, result_bytes(signature))) {
    memory.result.reset();
    auto result = MemoryFile::create("references", result_bytes(signature));
    if (!result) return fail("references", result.error());
    memory.result = std::make_shared<const MemoryFile>(std::move(*result));
  }
  return Bench{signature, std::move(*inputs), std::move(*candidate), std::move(*worker),
               memory.result};
}

void Bench::fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) const {
  for (size_t i = 0; i < rules.size(); ++i) {
    const TensorSpec& spec = signature_.tensors[i];
    if (rules[i].drawn || spec.dtype == Dtype::f16 || spec.dtype == Dtype::bf16) continue;
    Keystream stream(contents.key, contents.number, static_cast<uint32_t>(i));
    const std::span<std::byte> to = inputs_.tensor(set, i);
    if (spec.dtype == Dtype::f32) {
      fill_values(as_floats(to), spec, rules[i], contents.distribution, stream);
      continue;
    }
    std::vector<float> values(elements_of(spec));
    fill_values(values, spec, rules[i], contents.distribution, stream);
    convert_into<double>(to, values);
  }
}

void Bench::copy_inputs(uint32_t from, uint32_t to) const {
  for (size_t i = 0; i < signature_.tensors.size(); ++i) {
    if (signature_.tensors[i].role == TensorRole::output) continue;
    stream_copy(inputs_.tensor(to, i), inputs_.tensor(from, i));
  }
}

void Bench::take_drawn(uint32_t set, std::span<const InputRule> rules) const {
  size_t offset = 0;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].drawn) continue;
    const std::span<std::byte> to = inputs_.tensor(set, i);
    stream_copy(to, result_->bytes().subspan(offset, to.size()));
    offset += padded(to.size());
  }
}

void Bench::reset(const SharedBuffers& outputs, uint32_t set) const {
  for (const size_t i : outputs_) poison(signature_.tensors[i].dtype, outputs.tensor(set, i));
  arm_guards(outputs, set);
}

Reference Bench::reference_of(size_t output) const {
  size_t offset = 0;
  for (size_t k = 0; k < output; ++k) {
    offset += padded(elements_of(signature_.tensors[outputs_[k]]) * sizeof(double));
  }
  size_t spread_offset = 0;
  for (const size_t i : outputs_) {
    spread_offset += padded(elements_of(signature_.tensors[i]) * sizeof(double));
  }
  for (size_t k = 0; k < output; ++k) {
    spread_offset += padded(elements_of(signature_.tensors[outputs_[k]]) * sizeof(float));
  }
  const size_t count = elements_of(signature_.tensors[outputs_[output]]);
  const std::byte* base = result_->bytes().data();
  return {{reinterpret_cast<const double*>(base + offset), count},
          {reinterpret_cast<const float*>(base + spread_offset), count}};
}

ErrorStats Bench::compare_with_reference(const SharedBuffers& outputs, uint32_t set,
                                         const BoundRule& rule) const {
  ErrorStats stats;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const size_t i = outputs_[k];
    stats.add(compare(signature_.tensors[i].dtype, outputs.tensor(set, i), reference_of(k), rule));
  }
  return stats;
}

ErrorStats Bench::compare_with_worker(const SharedBuffers& outputs, uint32_t set, uint32_t other,
                                      const std::vector<std::vector<float>>& profiles,
                                      const BoundRule& rule) const {
  ErrorStats stats;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const size_t i = outputs_[k];
    stats.add(compare_with_baseline(signature_.tensors[i].dtype, outputs.tensor(set, i),
                                    worker_.tensor(other, i), profiles.at(k), rule));
  }
  return stats;
}

void Bench::raise_profiles(std::vector<std::vector<float>>& profiles) const {
  profiles.resize(outputs_.size());
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const std::span<const float> spread = reference_of(k).spread;
    profiles[k].resize((spread.size() + profile_block - 1) / profile_block);
    for (size_t i = 0; i < spread.size(); ++i) {
      float& entry = profiles[k][i / profile_block];
      const bool decided = std::isnan(entry);  // rounding decides everything there
      if (!decided && !(spread[i] <= entry)) entry = spread[i];
    }
  }
}

}  // namespace warpsmith::sandbox
