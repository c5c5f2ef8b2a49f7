// SPDX-License-Identifier: Apache-2.0
#include "commands/train/chain_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

namespace warpsmith::commands {
namespace {

using Row = std::array<std::string, 10>;

std::optional<double> figure(const StageRecord& record, const std::string& name) {
  const auto found = record.figures.find(name);
  return found == record.figures.end() ? std::nullopt : std::optional{found->second};
}

std::string number(const std::optional<double>& value, int digits) {
  if (!value) return "-";
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*f", digits, *value);
  return text.data();
}

std::string percent(const std::optional<double>& share) {
  return share ? number(*share * 100, 0) + "%" : "-";
}

std::string explained(const StageRecord& record) {
  const auto first = figure(record, "explained_variance_first");
  const std::string last = number(figure(record, "explained_variance"), 2);
  return first ? number(first, 2) + " > " + last : last;
}

Row row_of(const StageRecord& r) {
  return {r.name,
          number(figure(r, "trajectories"), 0),
          number(figure(r, "steps"), 0),
          number(figure(r, "reward"), 2),
          percent(figure(r, "pass_rate")),
          percent(figure(r, "faster_eager")),
          percent(figure(r, "faster_compile")),
          explained(r),
          number(figure(r, "entropy"), 3),
          percent(figure(r, "truncated"))};
}

std::string line_of(const Row& row, const std::array<size_t, 10>& widths) {
  std::string line;
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string space(widths[i] - row[i].size(), ' ');
    line += (i == 0 ? row[i] + space : "  " + space + row[i]);
  }
  return line + '\n';
}

}  // namespace

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

std::string table_text(const std::vector<StageRecord>& records) {
  std::vector<Row> rows{{"stage", "trajectories", "steps", "reward", "correct", ">eager",
                         ">compile", "expl. variance", "entropy", "cut"}};
  for (const StageRecord& record : records) rows.push_back(row_of(record));
  std::array<size_t, 10> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) text += line_of(row, widths);
  return text;
}

}  // namespace warpsmith::commands
