// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/trainer_checkpoint.hpp"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "policy/format/hf_folder.hpp"
#include "policy/format/safetensors.hpp"
#include "policy/learn/critic_folder.hpp"
#include "runtime/bytes.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Keys are decimal text, because many JSON readers round 64-bit integers.
uint64_t key_of(const std::string& text) {
  uint64_t key = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error("prompt key \"" + text + "\" is not a number");
  }
  return key;
}

double finite(const json& value) {
  const double number = value.get<double>();
  if (!std::isfinite(number)) throw std::runtime_error("a number is not finite");
  return number;
}

TrainerNumbers numbers_from(const json& document) {
  TrainerNumbers n;
  n.step = document.at("step").get<uint32_t>();
  n.updates = document.at("updates").get<uint64_t>();
  n.mean_square = finite(document.at("mean_square"));
  for (const auto& [key, entry] : document.at("prompts").items()) {
    n.prompts[key_of(key)] = {finite(entry.at(0)), finite(entry.at(1))};
  }
  if (const auto found = document.find("restored"); found != document.end()) {
    n.restored = found->get<RestoredSteps>();
  }
  return n;
}

constexpr const char* adapter_file = "adapter.json";
constexpr const char* adapter_tensors = "adapter.safetensors";

Result<LoraOrigin> read_origin(const fs::path& file) {
  std::ifstream in(file);
  if (!in) {
    return fail(ErrorCode::not_found, file.string() +
                                          " is missing: this checkpoint was made without "
                                          "[learner.lora]; resume it with learner.lora.rank = 0");
  }
  try {
    const json about = json::parse(in);
    return LoraOrigin{{about.at("rank").get<int64_t>(), about.at("alpha").get<double>(),
                       about.at("targets").get<std::vector<std::string>>()},
                      about.at("base").get<std::string>(),
                      about.at("base_sha256").get<std::string>()};
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, file.string() + ": " + e.what());
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string text_of(const LoraConfig& c) {
  return fmt::format("rank {}, alpha {}, targets {}", c.rank, c.alpha, joined(c.targets));
}

Result<void> check_origin(const fs::path& file, const LoraOrigin& got, const LoraOrigin& expected) {
  if (got.config != expected.config) {
    return fail(ErrorCode::invalid_config,
                file.string() + ": expected adapters of [learner.lora] (" +
                    text_of(expected.config) + "), got " + text_of(got.config) +
                    ": resume with the values of the checkpoint, or start a new run from it as "
                    "model.folder");
  }
  if (got.checksum == expected.checksum) return {};
  return fail(ErrorCode::corrupt, file.string() + ": its adapters belong to the weights of " +
                                      got.base + " as they were; those of " + expected.base +
                                      " differ: restore the folder that model.folder names");
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_with_errno("cannot write", folder, error.value());
  return {};
}

Result<void> save_model(const fs::path& folder, const Transformer& model) {
  TRY_VOID(make_folder(folder));
  return save_hf_model(folder, model);
}

/// A copy in the type of its weights, not the type that it computes in.
Transformer on_host(const Transformer& model) {
  return {model.config(), model.weights().copy_on(at::kCPU)};
}

/// Copies a model folder into the storage of `model`.
Result<void> load_into(const fs::path& folder, Transformer& model) {
  TRY(auto map, read_hf_weights(folder));
  if (auto r = assign_weights(model.config(), map, model.weights()); !r) {
    return fail(folder.string(), r.error());
  }
  return {};
}

/// All parameters of the policy, or its adapters.
Result<void> load_policy(const fs::path& folder, const std::optional<LoraOrigin>& lora,
                         ActorCritic& networks) {
  if (lora) return restore_lora(folder, *lora, *networks.lora());
  TRY_VOID(refuse_lora(folder));
  return load_into(folder, networks.actor());
}

Result<void> load_head(const fs::path& file, ValueHead& head) {
  TRY(auto map, read_safetensors(file));
  auto read = value_head_from_map(head.weight.size(1), map);
  if (!read) return fail(file.string(), read.error());
  const at::NoGradGuard no_grad;
  head.weight.copy_(read->weight);
  head.bias.copy_(read->bias);
  return {};
}

Result<void> load_optimiser(const fs::path& file, Replicas& ranks) {
  TRY(auto map, read_safetensors(file));
  if (auto r = ranks.restore_optimiser(map); !r) return fail(file.string(), r.error());
  return {};
}

}  // namespace

Result<void> write_trainer_numbers(const fs::path& file, const TrainerNumbers& numbers) {
  json prompts = json::object();
  for (const auto& [key, entry] : numbers.prompts) {
    prompts[std::to_string(key)] = {entry.sum, entry.weight};
  }
  const json document{{"step", numbers.step},
                      {"updates", numbers.updates},
                      {"mean_square", numbers.mean_square},
                      {"prompts", std::move(prompts)},
                      {"restored", numbers.restored}};
  return write_text_file(file, document.dump(1) + '\n');
}

Result<TrainerNumbers> read_trainer_numbers(const fs::path& file) {
  std::ifstream in(file);
  if (!in) return fail(ErrorCode::not_found, file.string() + ": cannot be read");
  try {
    return numbers_from(json::parse(in));
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, file.string() + ": " + e.what());
  }
}

std::string checksum_of(const ModelWeights& weights) {
  std::string all;
  for (const auto& [name, tensor] : weights.parameters()) {
    const at::Tensor host = tensor.detach().cpu().contiguous();
    all += name + ' ' +
           sha256_hex({static_cast<const char*>(host.const_data_ptr()),
                       static_cast<size_t>(host.nbytes())}) +
           '\n';
  }
  return sha256_hex(all);
}

Result<void> save_lora(const fs::path& folder, const LoraOrigin& origin,
                       const WeightMap& adapters) {
  const json about{{"rank", origin.config.rank},
                   {"alpha", origin.config.alpha},
                   {"targets", origin.config.targets},
                   {"base", origin.base},
                   {"base_sha256", origin.checksum}};
  TRY_VOID(write_text_file(folder / adapter_file, about.dump(1) + '\n'));
  return write_safetensors(folder / adapter_tensors, adapters);
}

Result<void> restore_lora(const fs::path& folder, const LoraOrigin& expected, Lora& lora) {
  TRY(const auto origin, read_origin(folder / adapter_file));
  TRY_VOID(check_origin(folder / adapter_file, origin, expected));
  const fs::path file = folder / adapter_tensors;
  TRY(const auto map, read_safetensors(file));
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : lora.parameters()) {
    const auto found = map.find(name);
    if (found == map.end() || found->second.sizes() != tensor.sizes()) {
      return fail(ErrorCode::parse_failed,
                  file.string() + ": \"" + name + "\" is missing or has another shape");
    }
    if (auto ok = check_finite(name, found->second); !ok) {
      return fail(file.string(), std::move(ok.error()));
    }
    at::Tensor(tensor).copy_(found->second);
  }
  return {};
}

Result<void> refuse_lora(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / adapter_file, error)) return {};
  TRY(const auto origin, read_origin(folder / adapter_file));
  return fail(ErrorCode::invalid_config,
              fmt::format("learner.lora.rank: expected {}, as in {}, got 0: resume with the values "
                          "of the checkpoint, or start a new run from it as model.folder",
                          origin.config.rank, (folder / adapter_file).string()));
}

TrainerSnapshot::TrainerSnapshot(const TrainerState& state)
    : version_(state.mark.version),
      actor_(on_host(state.networks().actor())),
      head_{copy_on(state.networks().value_head().weight, at::kCPU),
            copy_on(state.networks().value_head().bias, at::kCPU)},
      moments_(state.ranks.optimiser_state()),
      numbers_{state.mark.version.step, state.mark.updates, state.scale.mean_square(),
               state.prompts.entries(), state.restored} {
  const Replica& first = state.ranks.first();
  if (first.networks.has_own_critic_body()) critic_body_ = on_host(first.networks.critic_body());
  if (!first.networks.lora()) {
    if (first.reference) reference_ = on_host(*first.reference);
    return;
  }
  lora_ = state.lora;
  for (auto& [name, tensor] : first.networks.lora()->parameters()) {
    adapters_[name] = copy_on(tensor, at::kCPU);
  }
}

Result<void> TrainerSnapshot::save(const fs::path& folder) const {
  TRY_VOID(save_model(folder, actor_));
  if (lora_) {
    TRY_VOID(save_lora(folder, *lora_, adapters_));
  }
  const fs::path critic = folder / "critic";
  TRY_VOID(make_folder(critic));
  const Transformer* body = critic_body_ ? &*critic_body_ : nullptr;
  TRY_VOID(save_critic(critic, head_, body));
  if (reference_) {
    TRY_VOID(save_model(folder / "reference", *reference_));
  }
  TRY_VOID(write_safetensors(folder / "optimizer.safetensors", moments_));
  return write_trainer_numbers(folder / "trainer.json", numbers_);
}

Result<void> restore_checkpoint(TrainerState& state, const fs::path& folder, uint32_t incarnation) {
  TRY(auto numbers, read_trainer_numbers(folder / "trainer.json"));
  auto& [networks, reference] = state.ranks.first();
  TRY_VOID(load_policy(folder, state.lora, networks));
  const fs::path critic = folder / "critic";
  if (networks.has_own_critic_body()) {
    TRY_VOID(load_into(critic, networks.critic_body()));
  }
  const fs::path head = critic / "value_head.safetensors";
  TRY_VOID(load_head(head, networks.value_head()));
  if (reference && !state.lora) {
    TRY_VOID(load_into(folder / "reference", *reference));
  }
  state.ranks.spread();
  TRY_VOID(load_optimiser(folder / "optimizer.safetensors", state.ranks));
  state.ranks.clear_gradients();
  state.prompts.restore(std::move(numbers.prompts));
  state.scale.restore(numbers.mean_square);
  state.mark = {.version = {incarnation, numbers.step}, .updates = numbers.updates};
  state.restored = std::move(numbers.restored);
  state.restored[incarnation] = numbers.step;
  return {};
}

}  // namespace warpsmith::policy
