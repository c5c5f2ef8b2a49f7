// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/stage_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "actors/run/selection.hpp"
#include "commands/output_text.hpp"
#include "commands/runs/run_report.hpp"
#include "runtime/config/chain_config.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_listing.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t max_bytes = size_t{256} << 20U;
constexpr size_t bars = 48;  // of a sparkline

// --- reading

std::map<std::string, double> numbers_of(const json& object) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : object.items()) {
    if (value.is_number()) numbers[name] = value.get<double>();
  }
  return numbers;
}

/// Adds the lines of steps.jsonl; a line that is not whole is one that is being written.
void add_steps(const std::string& text, DataFigures& figures) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    const json step = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!step.is_object()) break;
    ++figures.step;
    figures.last = numbers_of(step);
    if (figures.first.empty()) figures.first = figures.last;
    if (const auto loss = figures.last.find("loss"); loss != figures.last.end()) {
      figures.losses.push_back(loss->second);
    }
  }
}

std::string optional_text(const fs::path& file) {
  return read_text_file(file, max_bytes).value_or("");
}

DataFigures read_data(const RunPaths& paths) {
  DataFigures figures;
  add_steps(optional_text(paths.folder / "steps.jsonl"), figures);
  const auto pace = json::parse(optional_text(paths.folder / "progress.json"), nullptr,
                                /*allow_exceptions=*/false);
  if (pace.is_object()) {
    const auto numbers = numbers_of(pace);
    const auto value = [&](const char* name) {
      return numbers.contains(name) ? numbers.at(name) : 0.0;
    };
    figures.steps = static_cast<int64_t>(value("steps"));
    figures.seconds_per_step = value("seconds_per_step");
  }
  const auto selection =
      actors::selection_from_json(optional_text(paths.folder / "selection.json"));
  if (selection) figures.selection = actors::selection_text(*selection);
  return figures;
}

/// What a stage that has begun recorded.
Result<void> add_figures(StageView& stage) {
  stage.begun = holds_run(stage.paths);
  if (!stage.begun) return {};
  stage.status = status_of(stage.paths);
  if (!samples(stage.kind)) {
    stage.data = read_data(stage.paths);
    return {};
  }
  auto summary = read_summary(stage.paths);
  if (summary) {
    stage.summary = std::move(*summary);
  } else if (summary.error().code != ErrorCode::not_found) {
    return tl::unexpected(summary.error());
  }
  return {};
}

Result<StageView> stage_of_chain(const RunPaths& chain, size_t index, const std::string& name) {
  const StagePaths place = stage_paths(chain.folder, index, name);
  StageView stage{.name = name, .paths = {place.run()}};
  TRY(const auto config, load_stage(place.config(), {}, name));
  stage.kind = config.config.run.stage;
  TRY_VOID(add_figures(stage));
  const auto text = read_text_file(place.record(), max_bytes);
  if (!text) return stage;
  TRY(auto record, stage_record_from_json(*text));
  stage.record = std::move(record);
  return stage;
}

// --- text

std::string state_of(const StageView& stage) {
  if (stage.record) return "finished";
  return stage.begun ? std::string{to_string(stage.status.state)} : "not begun";
}

std::optional<double> figure(const std::map<std::string, double>& figures, const char* name) {
  const auto found = figures.find(name);
  return found == figures.end() ? std::nullopt : std::optional{found->second};
}

/// ", loss 3.20 > 2.10"; empty if the stage does not have the figure.
std::string change_text(const DataFigures& data, const char* name, const char* label) {
  const auto first = figure(data.first, name), last = figure(data.last, name);
  if (!first || !last) return "";
  return fmt::format(", {} {} > {}", label, number_text(first, 2), number_text(last, 2));
}

std::string left_text(const DataFigures& data) {
  if (data.seconds_per_step <= 0 || data.steps <= data.step) return "";
  const std::chrono::duration<double> left{data.seconds_per_step *
                                           static_cast<double>(data.steps - data.step)};
  return ", about " + duration_text(std::chrono::duration_cast<std::chrono::nanoseconds>(left)) +
         " left";
}

std::string data_text(const DataFigures& data, bool running) {
  return fmt::format("step {}{}", data.step,
                     data.steps > 0 ? fmt::format(" of {}", data.steps) : "") +
         change_text(data, "loss", "loss") +
         change_text(data, "explained_variance", "explained variance") +
         (running ? left_text(data) : "");
}

std::string sampled_text(const RunSummary& s) {
  const uint64_t ended = s.admitted - s.open;
  std::string text = fmt::format("{} of {} begun trajectories ended", ended, s.admitted);
  if (s.learns) text += fmt::format(", {} steps", s.last_step);
  return text + ", reward " + rewards_text(s);
}

size_t finished_stages(const ChainView& chain) {
  return static_cast<size_t>(std::ranges::count_if(
      chain.stages, [](const StageView& stage) { return stage.record.has_value(); }));
}

std::vector<StageRecord> records_of(const ChainView& chain) {
  std::vector<StageRecord> records;
  for (const StageView& stage : chain.stages) {
    if (stage.record) records.push_back(*stage.record);
  }
  return records;
}

std::string labelled(const std::string& label, const std::string& text) {
  return fmt::format("{:<13} {}\n", label, text);
}

/// At most `most` values, each the mean of a part of equal size.
std::vector<double> thinned(const std::vector<double>& values, size_t most) {
  const size_t parts = std::min(most, values.size());
  std::vector<double> means;
  for (size_t i = 0; i < parts; ++i) {
    const size_t begin = i * values.size() / parts, end = (i + 1) * values.size() / parts;
    double sum = 0;
    for (size_t k = begin; k < end; ++k) sum += values[k];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

std::string stage_lines(const ChainView& chain) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(chain.stages.size());
  for (const StageView& stage : chain.stages) {
    rows.push_back({"  " + stage.name, state_of(stage), progress_text(stage)});
  }
  return text_table("lll", rows);
}

/// The warnings that the chain printed after its stages.
std::string warning_lines(const ChainView& chain) {
  std::string text;
  const auto records = records_of(chain);
  for (size_t i = 0; i < records.size() && i + 1 < chain.stages.size(); ++i) {
    const std::string warning = warning_of(records[i]);
    if (!warning.empty()) text += "WARNING: " + warning + '\n';
  }
  return text;
}

std::string resume_line(const RunPaths& paths, const RunStatus& status) {
  const bool can = status.state != RunState::running && status.state != RunState::finished;
  return can ? "resume with: ./warpsmith train --resume " + paths.folder.string() + '\n' : "";
}

json json_of(const StageView& stage) {
  json out{{"stage", stage.name},
           {"kind", std::string{to_string(stage.kind)}},
           {"run", stage.paths.folder.string()},
           {"state", state_of(stage)},
           {"started_at", stage.status.started}};
  if (stage.record) out["figures"] = stage.record->figures;
  if (stage.data) {
    out["step"] = stage.data->step;
    out["steps"] = stage.data->steps;
    out["first"] = stage.data->first;
    out["last"] = stage.data->last;
  }
  return out;
}

std::string one_line_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Result<StageView> read_stage(const RunPaths& paths) {
  StageView stage{.name = paths.folder.filename().string(), .paths = paths};
  TRY(const auto config, load_run_config(paths.config(), {}));
  stage.kind = config.run.stage;
  TRY_VOID(add_figures(stage));
  return stage;
}

Result<ChainView> read_chain(const RunPaths& paths) {
  ChainView chain{.paths = paths, .status = status_of(paths), .stages = {}};
  TRY(const auto config, load_run_config(paths.config(), {}));
  for (size_t i = 0; i < config.run.stages.size(); ++i) {
    TRY(auto stage, stage_of_chain(paths, i, config.run.stages[i]));
    chain.stages.push_back(std::move(stage));
  }
  return chain;
}

std::string summary_text(const ChainView& chain) {
  std::string text =
      fmt::format("{} of {} stages finished", finished_stages(chain), chain.stages.size());
  const auto next = std::ranges::find_if(
      chain.stages, [](const StageView& stage) { return !stage.record.has_value(); });
  if (next == chain.stages.end()) return text;
  return text + (next->begun ? "; in " : "; next: ") + next->name;
}

std::string progress_text(const StageView& stage) {
  const bool running = stage.status.state == RunState::running;
  if (stage.data) {
    const auto held_out =
        stage.record ? figure(stage.record->figures, "held_out_loss") : std::nullopt;
    return data_text(*stage.data, running) +
           (held_out ? ", held-out loss " + number_text(held_out, 2) : "");
  }
  return stage.summary ? sampled_text(*stage.summary) : "";
}

std::string page_text(const StageView& stage) {
  std::string text = labelled("run", stage.paths.folder.string() + ", " + state_of(stage)) +
                     labelled("started", stage.status.started) +
                     labelled("stage", std::string{to_string(stage.kind)}) +
                     labelled("progress", progress_text(stage));
  if (!stage.data) return for_terminal(text);
  if (!stage.data->losses.empty()) {
    const std::vector<double> shown = thinned(stage.data->losses, bars);
    const auto [low, high] = std::ranges::minmax(shown);
    text += labelled("loss",
                     fmt::format("{}  {:.2f} to {:.2f}", sparkline(shown, low, high), low, high));
  }
  if (!stage.data->selection.empty()) text += labelled("trajectories", stage.data->selection);
  const bool in_chain = stage.paths.folder.parent_path().filename() == "stages";
  return for_terminal(text + (in_chain ? "" : resume_line(stage.paths, stage.status)));
}

std::string page_text(const ChainView& chain) {
  const auto records = records_of(chain);
  std::string text = labelled("chain", chain.paths.folder.string() + ", " +
                                           std::string{to_string(chain.status.state)}) +
                     labelled("started", chain.status.started) +
                     labelled("stages", summary_text(chain)) + stage_lines(chain);
  if (!records.empty()) text += '\n' + table_text(records);
  return for_terminal(text + warning_lines(chain) + resume_line(chain.paths, chain.status));
}

std::string view_json(const StageView& stage) {
  json out = json_of(stage);
  out["running"] = stage.status.state == RunState::running;
  return one_line_of(out);
}

std::string view_json(const ChainView& chain) {
  json stages = json::array();
  for (const StageView& stage : chain.stages) stages.push_back(json_of(stage));
  return one_line_of({{"run", chain.paths.folder.string()},
                      {"running", chain.status.state == RunState::running},
                      {"state", std::string{to_string(chain.status.state)}},
                      {"started_at", chain.status.started},
                      {"stages", std::move(stages)}});
}

}  // namespace warpsmith::commands
