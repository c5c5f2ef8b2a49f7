// SPDX-License-Identifier: Apache-2.0
#include "policy/model/weights.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/TensorOptions.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "policy/model/config.hpp"

namespace warpsmith::policy {
namespace {

using Field = at::Tensor LayerWeights::*;

struct LayerField {
  const char* name;
  Field field;
};

constexpr LayerField layer_fields[] = {
    {"input_norm", &LayerWeights::input_norm},
    {"qkv", &LayerWeights::qkv},
    {"qkv_bias", &LayerWeights::qkv_bias},
    {"q_norm", &LayerWeights::q_norm},
    {"k_norm", &LayerWeights::k_norm},
    {"out", &LayerWeights::out},
    {"out_bias", &LayerWeights::out_bias},
    {"post_norm", &LayerWeights::post_norm},
    {"gate_up", &LayerWeights::gate_up},
    {"gate_up_bias", &LayerWeights::gate_up_bias},
    {"down", &LayerWeights::down},
    {"down_bias", &LayerWeights::down_bias},
};

/// Visits every parameter, defined or not, including a tied head.
template <class Weights, class Visit>
void for_each_slot(Weights& weights, const Visit& visit) {
  visit(std::string("embed"), weights.embed);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string prefix = fmt::format("layers.{}.", i);
    for (const LayerField& f : layer_fields) visit(prefix + f.name, weights.layers[i].*f.field);
  }
  visit(std::string("final_norm"), weights.final_norm);
  visit(std::string("head"), weights.head);
}

/// The shapes of fused parameters: the rows of their parts add up.
std::map<std::string, std::vector<int64_t>> fused_shapes(const std::vector<NamedPart>& parts) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const NamedPart& part : parts) {
    auto [it, fresh] = shapes.try_emplace(part.fused, part.shape);
    if (!fresh) it->second[0] += part.shape[0];
  }
  return shapes;
}

std::map<std::string, at::Tensor> slots_by_name(const ModelWeights& weights) {
  std::map<std::string, at::Tensor> slots;
  for_each_slot(weights, [&](const std::string& name, const at::Tensor& slot) {
    if (slot.defined()) slots[name] = slot;
  });
  return slots;
}

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Result<void> check_part(const NamedPart& part, const WeightMap& map) {
  const auto it = map.find(part.hf_name);
  if (it == map.end()) {
    return fail(ErrorCode::parse_failed,
                "missing tensor \"" + part.hf_name + "\" of shape " + shape_text(part.shape));
  }
  if (!it->second.is_floating_point()) {
    return fail(ErrorCode::unsupported, "tensor \"" + part.hf_name +
                                            "\": expected F64, F32, F16 or BF16; quantised "
                                            "weights are not supported");
  }
  if (it->second.sizes() == at::IntArrayRef(part.shape)) return {};
  return fail(ErrorCode::parse_failed, "tensor \"" + part.hf_name + "\": expected shape " +
                                           shape_text(part.shape) + ", got " +
                                           shape_text(it->second.sizes()));
}

/// Some files store a tied head, masks or positions, and old versions stored rotary buffers; all
/// are ignored.
bool is_harmless(const ModelConfig& config, const std::string& name, const at::Tensor& tensor) {
  if (!tensor.is_floating_point()) return true;
  if (name == "lm_head.weight") return config.tied_embeddings;
  return name.ends_with(".rotary_emb.inv_freq");
}

Result<void> check_names(const ModelConfig& config, const std::vector<NamedPart>& parts,
                         const WeightMap& map) {
  std::map<std::string, bool> known;
  for (const NamedPart& part : parts) {
    TRY_VOID(check_part(part, map));
    known[part.hf_name] = true;
  }
  for (const auto& [name, tensor] : map) {
    if (known.contains(name) || is_harmless(config, name, tensor)) continue;
    return fail(ErrorCode::parse_failed, "tensor \"" + name + "\" does not belong to a " +
                                             to_string(config.family) + " model of this config");
  }
  return {};
}

Result<void> check_values(const std::vector<NamedPart>& parts, const WeightMap& map) {
  for (const NamedPart& part : parts) {
    TRY_VOID(check_finite(part.hf_name, map.at(part.hf_name)));
  }
  return {};
}

/// Box-Muller; std::normal_distribution differs between platforms.
double normal(RandomStream& random) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * random.uniform());
}

/// A value takes one block of the stream, so that threads share the work and the values stay the
/// same.
void fill_normal(at::Tensor& tensor, double std, RandomStream& random) {
  constexpr int64_t per_thread = 65536;
  at::Tensor flat = at::empty({tensor.numel()}, at::TensorOptions(at::kDouble));
  double* out = flat.mutable_data_ptr<double>();
  const uint64_t first = random.position();
  at::parallel_for(0, flat.numel(), per_thread, [&](int64_t begin, int64_t end) {
    RandomStream part = random;
    part.seek(first + static_cast<uint64_t>(begin));
    for (int64_t i = begin; i < end; ++i) out[i] = std * normal(part);
  });
  random.seek(first + static_cast<uint64_t>(flat.numel()));
  tensor.copy_(flat.view(tensor.sizes()));
}

/// `weights` with each tensor replaced by `change(tensor)`; a tied head stays tied.
template <class Change>
ModelWeights changed(ModelWeights weights, const Change& change) {
  const bool tied = weights.head.is_same(weights.embed);
  if (tied) weights.head = at::Tensor();
  for_each_slot(weights, [&](const std::string&, at::Tensor& slot) {
    if (slot.defined()) slot = change(slot.detach());
  });
  if (tied) weights.head = weights.embed;
  return weights;
}

}  // namespace

std::vector<at::Tensor> LayerWeights::parameters() const {
  std::vector<at::Tensor> all;
  for (const LayerField& f : layer_fields) {
    if ((this->*f.field).defined()) all.push_back(this->*f.field);
  }
  return all;
}

size_t LayerWeights::attention_parameters() const {
  size_t count = 0;
  for (const LayerField& f : layer_fields) {
    if (f.field == &LayerWeights::post_norm) break;
    if ((this->*f.field).defined()) ++count;
  }
  return count;
}

LayerWeights LayerWeights::with(const std::vector<at::Tensor>& others) const {
  LayerWeights layer;
  size_t next = 0;
  for (const LayerField& f : layer_fields) {
    if ((this->*f.field).defined()) layer.*f.field = others.at(next++);
  }
  return layer;
}

std::vector<std::pair<std::string, at::Tensor>> ModelWeights::parameters() const {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for_each_slot(*this, [&](const std::string& name, const at::Tensor& slot) {
    const bool tied = name == "head" && slot.is_same(embed);
    if (slot.defined() && !tied) all.emplace_back(name, slot);
  });
  return all;
}

ModelWeights ModelWeights::clone() const {
  return changed(*this, [](const at::Tensor& tensor) { return tensor.clone(); });
}

at::Tensor copy_on(const at::Tensor& tensor, at::Device device) {
  return tensor.detach().to(at::TensorOptions(device), /*non_blocking=*/false, /*copy=*/true);
}

ModelWeights ModelWeights::copy_on(at::Device device) const {
  return changed(*this, [&](const at::Tensor& tensor) { return policy::copy_on(tensor, device); });
}

ModelWeights ModelWeights::converted(const at::TensorOptions& options) const {
  return changed(*this, [&](const at::Tensor& tensor) { return tensor.to(options); });
}

void ModelWeights::copy_from(const ModelWeights& other) {
  const at::NoGradGuard no_grad;
  const auto from = other.parameters();
  auto into = parameters();
  for (size_t i = 0; i < into.size(); ++i) into[i].second.copy_(from.at(i).second);
}

void ModelWeights::require_grad() {
  for (auto& [name, tensor] : parameters()) tensor.set_requires_grad(true);
}

ModelWeights allocate_weights(const ModelConfig& config, const at::TensorOptions& options) {
  ModelWeights weights;
  weights.layers.resize(static_cast<size_t>(config.layers));
  const auto shapes = fused_shapes(traits_of(config.family).parts(config));
  for_each_slot(weights, [&](const std::string& name, at::Tensor& slot) {
    const auto it = shapes.find(name);
    if (it != shapes.end()) slot = at::empty(it->second, options);
  });
  if (config.tied_embeddings) weights.head = weights.embed;
  return weights;
}

ModelWeights make_weights(const ModelConfig& config, RandomStream& random, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  ModelWeights weights = allocate_weights(config, dtype);
  for (auto& [name, tensor] : weights.parameters()) {
    if (tensor.dim() == 2) {
      fill_normal(tensor, config.init_std, random);
    } else {
      tensor.fill_(name.ends_with("_norm") ? 1.0 : 0.0);
    }
  }
  return weights;
}

ModelWeights random_weights_on(const ModelConfig& config, int gpu) {
  const at::NoGradGuard no_grad;
  ModelWeights weights = allocate_weights(
      config, at::TensorOptions(at::kBFloat16)
                  .device(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(gpu))));
  for (auto& [name, tensor] : weights.parameters()) {
    if (tensor.dim() == 2) {
      tensor.normal_(0.0, config.init_std);
    } else {
      tensor.fill_(name.ends_with("_norm") ? 1.0 : 0.0);
    }
  }
  (void)weights.final_norm.cpu();  // waits for everything queued before it
  return weights;
}

/// The extremes take one pass and no memory; if any element is NaN, so are the extremes.
Result<void> check_finite(const std::string& name, const at::Tensor& tensor) {
  const auto [low, high] = at::aminmax(tensor);
  if (std::isfinite(low.item<double>()) && std::isfinite(high.item<double>())) return {};
  const int64_t bad = tensor.numel() - at::isfinite(tensor).sum().item<int64_t>();
  return fail(ErrorCode::parse_failed,
              fmt::format("tensor \"{}\": expected finite numbers, got {} of {} that are NaN or "
                          "infinite; use a sound copy of the file",
                          name, bad, tensor.numel()));
}

Result<void> assign_weights(const ModelConfig& config, const WeightMap& map,
                            ModelWeights& weights) {
  const at::NoGradGuard no_grad;
  const std::vector<NamedPart> parts = traits_of(config.family).parts(config);
  TRY_VOID(check_names(config, parts, map));
  TRY_VOID(check_values(parts, map));
  const auto slots = slots_by_name(weights);
  for (const NamedPart& part : parts) {
    const at::Tensor& slot = slots.at(part.fused);
    slot.narrow(0, part.first_row, part.shape[0]).copy_(map.at(part.hf_name));
  }
  return {};
}

Result<ModelWeights> weights_from_map(const ModelConfig& config, const WeightMap& map,
                                      at::ScalarType dtype) {
  TRY_VOID(check_names(config, traits_of(config.family).parts(config), map));
  ModelWeights weights = allocate_weights(config, dtype);
  TRY_VOID(assign_weights(config, map, weights));
  return weights;
}

WeightMap weights_to_map(const ModelConfig& config, const ModelWeights& weights) {
  WeightMap map;
  const auto slots = slots_by_name(weights);
  for (const NamedPart& part : traits_of(config.family).parts(config)) {
    map[part.hf_name] = slots.at(part.fused).detach().narrow(0, part.first_row, part.shape[0]);
  }
  return map;
}

}  // namespace warpsmith::policy
