// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/chain_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/text.hpp"

namespace warpsmith::commands {
namespace {

std::optional<double> figure(const StageRecord& record, const std::string& name) {
  const auto found = record.figures.find(name);
  return found == record.figures.end() ? std::nullopt : std::optional{found->second};
}

std::string explained(const StageRecord& record) {
  const auto first = figure(record, "explained_variance_first");
  const std::string last = number_text(figure(record, "explained_variance"), 2);
  return first ? number_text(first, 2) + " > " + last : last;
}

std::vector<std::string> row_of(const StageRecord& r) {
  return {r.name,
          number_text(figure(r, "trajectories"), 0),
          number_text(figure(r, "steps"), 0),
          number_text(figure(r, "reward"), 2),
          percent_text(figure(r, "pass_rate")),
          percent_text(figure(r, "faster_eager")),
          percent_text(figure(r, "faster_compile")),
          explained(r),
          number_text(figure(r, "entropy"), 3),
          percent_text(figure(r, "truncated"))};
}

}  // namespace

StagePaths stage_paths(const std::filesystem::path& chain, size_t index, const std::string& name) {
  return {chain / "stages", fmt::format("{}-{}", index + 1, name)};
}

std::string to_json(const StageRecord& r) {
  const nlohmann::json out{{"stage", r.name},  {"kind", r.kind},     {"run", r.run},
                           {"model", r.model}, {"critic", r.critic}, {"figures", r.figures}};
  return out.dump();
}

Result<StageRecord> stage_record_from_json(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return StageRecord{json.at("stage"), json.at("kind"),   json.at("run"),
                       json.at("model"), json.at("critic"), json.at("figures")};
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::parse_failed, error.what());
  }
}

std::map<std::string, double> figures_of(const std::vector<Outcome>& outcomes, size_t window) {
  std::map<std::string, double> out;
  const size_t count = std::min(window, outcomes.size());
  if (count == 0) return out;
  for (size_t i = outcomes.size() - count; i < outcomes.size(); ++i) {
    const Outcome& o = outcomes[i];
    const bool correct = o.verdict == VerdictClass::passed;
    out["reward"] += o.reward;
    out["pass_rate"] += correct ? 1 : 0;
    out["faster_eager"] += clearly_faster(o.speedup_eager.value_or(0)) ? 1 : 0;
    out["faster_compile"] += clearly_faster(o.speedup_compile.value_or(0)) ? 1 : 0;
    out["truncated"] += o.truncated ? 1 : 0;
  }
  for (auto& [name, sum] : out) sum /= static_cast<double>(count);
  return out;
}

std::string warning_of(const StageRecord& record) {
  constexpr double least = 0.05;
  const auto correct = figure(record, "pass_rate");
  if (!correct || *correct >= least) return "";
  return "stage " + record.name + " ended with " + percent_text(correct) +
         " correct: the later stages have hardly anything to learn from. Stop with Ctrl-C and give "
         "it more trajectories, easier tasks, or a policy that stage sft has taught before";
}

std::string table_text(const std::vector<StageRecord>& records) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"stage", "trajectories", "steps", "reward", "correct", ">eager", ">compile",
                  "expl. variance", "entropy", "cut"});
  for (const StageRecord& record : records) rows.push_back(row_of(record));
  return text_table("lrrrrrrrrr", rows);
}

}  // namespace warpsmith::commands
