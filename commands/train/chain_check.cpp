// SPDX-License-Identifier: Apache-2.0
#include "commands/train/chain_check.hpp"

#include "commands/train/stage_place.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {
namespace {

bool makes_policy(Stage kind) {
  return kind == Stage::sft || kind == Stage::rft || learns_online(kind);
}

Result<std::optional<StageRecord>> no_record() {
  return std::nullopt;
}

/// Walks along the chain with what each stage will find.
class Foresight {
 public:
  Foresight(std::filesystem::path folder, const VisitAhead& visit)
      : folder_(std::move(folder)), visit_(visit) {}

  Result<void> pass(const ChainStage& stage, size_t index) {
    const StagePlace place = place_of(folder_, index, stage.name);
    const auto record = folder_.empty() ? no_record() : finished_record(stage, place);
    if (!record) return tl::unexpected(record.error());
    if (*record) {
      known_ = with_stage(std::move(known_), **record);
      return {};
    }
    const bool has_begun = !folder_.empty() && holds_run({place.run()});
    return pass_unfinished(stage, has_begun ? place.run() : std::filesystem::path{});
  }

 private:
  Result<void> pass_unfinished(const ChainStage& stage, const std::filesystem::path& begun) {
    const RunConfig config = inherited(stage, known_);
    const bool weights_come = policy_comes_ && !stage.own_policy;
    if (auto good = visit_(stage.name, config, {begun, weights_come}); !good) {
      return fail("stage " + stage.name, good.error());
    }
    if (makes_policy(config.run.stage)) {
      policy_comes_ = true;
      known_.model = config.model.folder;  // the shape and the tokenizer of what it will make
    }
    return {};
  }

  std::filesystem::path folder_;
  const VisitAhead& visit_;
  Inheritance known_;
  bool policy_comes_ = false;  // a stage before makes the policy, so there are no weights yet
};

}  // namespace

Result<void> walk_ahead(const std::vector<ChainStage>& stages, const std::filesystem::path& folder,
                        const VisitAhead& visit) {
  Foresight foresight{folder, visit};
  for (size_t i = 0; i < stages.size(); ++i) {
    if (auto good = foresight.pass(stages[i], i); !good) return good;
  }
  return {};
}

Result<void> check_ahead(const std::vector<ChainStage>& stages,
                         const std::filesystem::path& folder) {
  return walk_ahead(stages, folder,
                    [](const std::string&, const RunConfig& config, const Ahead& ahead) {
                      return check_stage(config, ahead);
                    });
}

}  // namespace warpsmith::commands
