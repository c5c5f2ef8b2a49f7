// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/trainer_checkpoint.hpp"

#include <ATen/core/grad_mode.h>

#include <system_error>
#include <utility>

#include "policy/format/hf_folder.hpp"
#include "policy/format/safetensors.hpp"
#include "policy/learn/critic_folder.hpp"
#include "policy/learn/lora_folder.hpp"
#include "policy/learn/trainer_json.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_with_errno("cannot write", folder, error.value());
  return {};
}

Result<void> save_model(const fs::path& folder, const Transformer& model) {
  if (auto made = make_folder(folder); !made) return made;
  return save_hf_model(folder, model);
}

/// A copy in the type of its weights, not in the one that it computes in.
Transformer on_host(const Transformer& model) {
  return {model.config(), model.weights().copy_on(at::kCPU)};
}

/// Copies a model folder into the storage of `model`.
Result<void> load_into(const fs::path& folder, Transformer& model) {
  auto map = read_hf_weights(folder);
  if (!map) return tl::unexpected(map.error());
  if (auto r = assign_weights(model.config(), *map, model.weights()); !r) {
    return fail(folder.string(), r.error());
  }
  return {};
}

/// All parameters of the policy, or its adapters.
Result<void> load_policy(const fs::path& folder, const std::optional<LoraOrigin>& lora,
                         ActorCritic& networks) {
  if (lora) return restore_lora(folder, *lora, *networks.lora());
  if (auto r = refuse_lora(folder); !r) return r;
  return load_into(folder, networks.actor());
}

Result<void> load_head(const fs::path& file, ValueHead& head) {
  auto map = read_safetensors(file);
  if (!map) return tl::unexpected(map.error());
  auto read = value_head_from_map(head.weight.size(1), *map);
  if (!read) return fail(file.string(), read.error());
  const at::NoGradGuard no_grad;
  head.weight.copy_(read->weight);
  head.bias.copy_(read->bias);
  return {};
}

Result<void> load_optimiser(const fs::path& file, Replicas& ranks) {
  auto map = read_safetensors(file);
  if (!map) return tl::unexpected(map.error());
  if (auto r = ranks.restore_optimiser(*map); !r) return fail(file.string(), r.error());
  return {};
}

}  // namespace

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
  if (auto r = save_model(folder, actor_); !r) return r;
  if (lora_) {
    if (auto r = save_lora(folder, *lora_, adapters_); !r) return r;
  }
  const fs::path critic = folder / "critic";
  if (auto r = make_folder(critic); !r) return r;
  const Transformer* body = critic_body_ ? &*critic_body_ : nullptr;
  if (auto r = save_critic(critic, head_, body); !r) return r;
  if (reference_) {
    if (auto r = save_model(folder / "reference", *reference_); !r) return r;
  }
  if (auto r = write_safetensors(folder / "optimizer.safetensors", moments_); !r) return r;
  return write_trainer_numbers(folder / "trainer.json", numbers_);
}

Result<void> restore_checkpoint(TrainerState& state, const fs::path& folder, uint32_t incarnation) {
  auto numbers = read_trainer_numbers(folder / "trainer.json");
  if (!numbers) return tl::unexpected(numbers.error());
  auto& [networks, reference] = state.ranks.first();
  if (auto r = load_policy(folder, state.lora, networks); !r) return r;
  const fs::path critic = folder / "critic";
  if (networks.has_own_critic_body()) {
    if (auto r = load_into(critic, networks.critic_body()); !r) return r;
  }
  const fs::path head = critic / "value_head.safetensors";
  if (auto r = load_head(head, networks.value_head()); !r) return r;
  if (reference && !state.lora) {
    if (auto r = load_into(folder / "reference", *reference); !r) return r;
  }
  state.ranks.spread();
  if (auto r = load_optimiser(folder / "optimizer.safetensors", state.ranks); !r) return r;
  state.ranks.clear_gradients();
  state.prompts.restore(std::move(numbers->prompts));
  state.scale.restore(numbers->mean_square);
  state.mark = {.version = {incarnation, numbers->step}, .updates = numbers->updates};
  state.restored = std::move(numbers->restored);
  state.restored[incarnation] = numbers->step;
  return {};
}

}  // namespace warpsmith::policy
