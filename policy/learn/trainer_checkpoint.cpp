// SPDX-License-Identifier: Apache-2.0
// A trainer's folder: the policy as a Hugging Face model, beside it critic/, reference/,
// optimizer.safetensors and trainer.json.
#include <ATen/core/grad_mode.h>

#include <system_error>

#include "policy/format/hf_folder.hpp"
#include "policy/format/safetensors.hpp"
#include "policy/learn/learner_parts.hpp"
#include "policy/learn/trainer.hpp"
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

/// Into the storage of `model`, which keeps its identity.
Result<void> load_into(const fs::path& folder, Transformer& model) {
  auto map = read_hf_weights(folder);
  if (!map) return tl::unexpected(map.error());
  if (auto r = assign_weights(model.config(), *map, model.weights()); !r) {
    return fail(folder.string(), r.error());
  }
  return {};
}

Result<void> load_head(const fs::path& file, const ModelConfig& config, ValueHead& head) {
  auto map = read_safetensors(file);
  if (!map) return tl::unexpected(map.error());
  auto read = value_head_from_map(config, *map);
  if (!read) return fail(file.string(), read.error());
  const at::NoGradGuard no_grad;
  head.weight.copy_(read->weight);
  head.bias.copy_(read->bias);
  return {};
}

Result<void> load_optimiser(const fs::path& file, AdamW& optimiser) {
  auto map = read_safetensors(file);
  if (!map) return tl::unexpected(map.error());
  if (auto r = optimiser.restore(*map); !r) return fail(file.string(), r.error());
  return {};
}

}  // namespace

Result<void> Trainer::save(const fs::path& folder) const {
  if (mid_step()) {
    return fail(ErrorCode::invalid_argument,
                folder.string() + ": a step is under way; save when it has reported");
  }
  if (auto r = save_model(folder, networks_.actor()); !r) return r;
  const fs::path critic = folder / "critic";
  if (auto r = make_folder(critic); !r) return r;
  if (networks_.has_own_critic_body()) {
    if (auto r = save_model(critic, networks_.critic_body()); !r) return r;
  }
  const WeightMap head = value_head_to_map(networks_.value_head());
  if (auto r = write_safetensors(critic / "value_head.safetensors", head); !r) return r;
  if (const Transformer* reference = accumulator_.reference()) {
    if (auto r = save_model(folder / "reference", *reference); !r) return r;
  }
  if (auto r = write_safetensors(folder / "optimizer.safetensors", optimiser_.state()); !r)
    return r;
  return write_trainer_numbers(folder / "trainer.json", {mark_.version.step, mark_.updates,
                                                         scale_.mean_square(), prompts_.entries()});
}

Result<void> Trainer::restore(const fs::path& folder, uint32_t incarnation) {
  auto numbers = read_trainer_numbers(folder / "trainer.json");
  if (!numbers) return tl::unexpected(numbers.error());
  if (auto r = load_into(folder, networks_.actor()); !r) return r;
  const fs::path critic = folder / "critic";
  if (networks_.has_own_critic_body()) {
    if (auto r = load_into(critic, networks_.critic_body()); !r) return r;
  }
  const fs::path head = critic / "value_head.safetensors";
  if (auto r = load_head(head, networks_.config(), networks_.value_head()); !r) return r;
  if (Transformer* reference = accumulator_.reference()) {
    if (auto r = load_into(folder / "reference", *reference); !r) return r;
  }
  if (auto r = load_optimiser(folder / "optimizer.safetensors", optimiser_); !r) return r;
  prompts_.restore(std::move(numbers->prompts));
  scale_.restore(numbers->mean_square);
  begin_incarnation({incarnation, numbers->step}, numbers->updates);
  return {};
}

void Trainer::begin_incarnation(PolicyVersion version, uint64_t updates) {
  optimiser_.clear_gradients();
  accumulator_.reset();
  (void)accumulator_.take_samples();
  running_.clear();
  waiting_.clear();
  step_items_.clear();
  draft_ = {};
  cycle_ = StepCycle{step_budget(setup_.learner)};
  mark_ = {.version = version, .updates = updates};
  publish();
}

}  // namespace warpsmith::policy
