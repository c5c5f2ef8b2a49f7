// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/chain_config.hpp"

#include <set>

#include "runtime/config/toml.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith {
namespace {

bool lacks_trajectories(const RunConfig& c) {
  return (c.run.stage == Stage::rft && c.rft.runs.empty()) ||
         (c.run.stage == Stage::value && c.value.runs.empty());
}

constexpr size_t max_stage_bytes = size_t{1} << 20U;
constexpr const char* policy_key = "model.folder";
constexpr const char* weights_key = "model.weights";
constexpr const char* critic_key = "learner.critic.folder";

std::string line_of(const char* key, const std::filesystem::path& folder) {
  const auto whole = folder.empty() ? folder : std::filesystem::absolute(folder);
  return std::string{key} + " = " + quote_toml(whole.string()) + '\n';
}

tl::unexpected<Error> invalid(const std::string& what) {
  return fail(ErrorCode::invalid_config, "run.stages: " + what);
}

Result<void> check_name(const std::string& name, std::set<std::string>& before) {
  if (!is_run_name(name)) {
    return invalid("expected letters, digits, '.', '_' or '-' in a name, got \"" + name + "\"");
  }
  if (before.insert(name).second) return {};
  return invalid("\"" + name +
                 "\" is listed twice; give the second another name and set run.stage in "
                 "its table [stage.NAME]");
}

tl::unexpected<Error> without_trajectories(const ChainStage& stage) {
  return invalid("stage \"" + stage.name +
                 "\" has no trajectories: put a stage \"collect\" before it, or set " +
                 std::string{to_string(stage.config.run.stage)} + ".runs");
}

}  // namespace

Result<ChainStage> load_stage(const std::filesystem::path& file,
                              const std::vector<std::string>& overrides, const std::string& name) {
  TRY(auto config, load_run_config(file, overrides, name));
  TRY(const auto text, read_text_file(file, max_stage_bytes));
  const auto own = keys_of_section({file.string(), text, name}, overrides,
                                   {policy_key, weights_key, critic_key});
  const bool draws = own.contains(weights_key) && config.model.weights == InitialWeights::random;
  return ChainStage{name, std::move(config), own.contains(policy_key) || draws,
                    own.contains(critic_key)};
}

std::string to_toml(const ChainStage& stage) {
  std::string own;
  if (stage.own_policy) own += line_of(policy_key, stage.config.model.folder);
  if (stage.own_critic) own += line_of(critic_key, stage.config.learner.critic.folder);
  const std::string table = own.empty() ? "" : "\n[stage." + quote_toml(stage.name) + "]\n" + own;
  return to_toml(stage.config) + table;
}

Result<std::vector<ChainStage>> load_chain(const std::filesystem::path& file,
                                           const std::vector<std::string>& overrides,
                                           const std::vector<std::string>& names) {
  std::vector<ChainStage> stages;
  std::string complaints;
  for (const std::string& name : names) {
    auto stage = load_stage(file, overrides, name);
    if (stage) {
      stages.push_back(std::move(*stage));
    } else {
      complaints +=
          (complaints.empty() ? "" : "\n") + ("stage " + name + ":\n") + stage.error().message;
    }
  }
  if (!complaints.empty()) return fail(ErrorCode::invalid_config, complaints);
  if (auto good = check_chain(stages); !good) {
    return fail(good.error().code, file.string() + ": " + good.error().message);
  }
  return stages;
}

int64_t stage_seed(const ChainStage& stage) {
  const auto seed = static_cast<uint64_t>(stage.config.run.seed);
  if (!samples(stage.config.run.stage)) return stage.config.run.seed;
  constexpr uint64_t seeds = uint64_t{1} << 31U;
  return static_cast<int64_t>(RandomStream{seed, "stage " + stage.name}.below(seeds));
}

Result<void> check_chain(const std::vector<ChainStage>& stages) {
  std::set<std::string> names;
  bool collected = false;
  for (const ChainStage& stage : stages) {
    TRY_VOID(check_name(stage.name, names));
    if (lacks_trajectories(stage.config) && !collected) return without_trajectories(stage);
    collected = collected || stage.config.run.stage == Stage::collect;
  }
  return {};
}

}  // namespace warpsmith
