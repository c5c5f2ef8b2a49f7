// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/chain_config.hpp"

#include <set>

#include "runtime/random_stream.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith {
namespace {

bool lacks_trajectories(const RunConfig& c) {
  return (c.run.stage == Stage::rft && c.rft.runs.empty()) ||
         (c.run.stage == Stage::value && c.value.runs.empty());
}

tl::unexpected<Error> invalid(const std::string& what) {
  return fail(ErrorCode::invalid_config, "run.stages: " + what);
}

}  // namespace

Result<std::vector<ChainStage>> load_chain(const std::filesystem::path& file,
                                           const std::vector<std::string>& overrides,
                                           const std::vector<std::string>& names) {
  std::vector<ChainStage> stages;
  std::string complaints;
  for (const std::string& name : names) {
    auto config = load_run_config(file, overrides, name);
    if (config) {
      stages.push_back({name, std::move(*config)});
    } else {
      complaints +=
          (complaints.empty() ? "" : "\n") + ("stage " + name + ":\n") + config.error().message;
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
  for (const auto& [name, config] : stages) {
    if (!is_run_name(name)) {
      return invalid("expected letters, digits, '.', '_' or '-' in a name, got \"" + name + "\"");
    }
    if (!names.insert(name).second) {
      return invalid("\"" + name +
                     "\" comes twice; give the second another name and set run.stage in "
                     "its table [stage.NAME]");
    }
    const std::string kind{to_string(config.run.stage)};
    if (lacks_trajectories(config) && !collected) {
      return invalid("stage \"" + name +
                     "\" has no trajectories: put a stage \"collect\" before it, or "
                     "set " +
                     kind + ".runs");
    }
    collected = collected || config.run.stage == Stage::collect;
  }
  return {};
}

}  // namespace warpsmith
