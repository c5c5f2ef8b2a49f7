// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/run_config.hpp"

#include <algorithm>
#include <array>

#include "runtime/config/toml.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 2> mode_names{"async", "sync"};

constexpr size_t max_config_bytes = size_t{1} << 20U;

std::string number(int64_t value) {
  return std::to_string(value);
}

void validate_mode(const RunConfig& c, Complaints& complaints) {
  const bool sync = c.run.mode == Mode::sync;
  complaints.require(!sync || c.learner.max_lag == 0, "learner.max_lag",
                     "run.mode = \"sync\" means lag 0, got " + number(c.learner.max_lag));
  complaints.require(sync || c.learner.max_lag > 0 || !samples(c.run.stage), "learner.max_lag",
                     "run.mode = \"async\" needs at least 1; use run.mode = \"sync\" for lag 0");
}

/// Stages that learn from existing data train all parameters on one rank.
void validate_learner(const RunConfig& c, Complaints& complaints) {
  const bool any = samples(c.run.stage);
  const std::string where = " with run.stage = \"" + std::string{to_string(c.run.stage)} +
                            "\"; in a chain, set it for the stages that sample, as in "
                            "[stage.agentic]";
  complaints.require(any || c.learner.gpus == 1, "learner.gpus", "expected 1" + where);
  complaints.require(any || c.learner.lora.rank == 0, "learner.lora.rank",
                     "expected 0 (off)" + where);
}

void validate_sizes(const RunConfig& c, Complaints& complaints) {
  complaints.require(
      !learns_online(c.run.stage) || c.learner.step.trajectories <= c.run.trajectories,
      "learner.step.trajectories",
      "expected at most run.trajectories (" + number(c.run.trajectories) +
          "), or no step is ever taken; got " + number(c.learner.step.trajectories));
  complaints.require(c.agent.max_tokens <= c.generator.cache_tokens, "agent.max_tokens",
                     "expected at most generator.cache_tokens (" +
                         number(c.generator.cache_tokens) +
                         "), or one trajectory does not fit; got " + number(c.agent.max_tokens));
  complaints.require(c.generator.max_new_tokens <= c.agent.max_tokens, "generator.max_new_tokens",
                     "expected at most agent.max_tokens (" + number(c.agent.max_tokens) +
                         "), got " + number(c.generator.max_new_tokens));
  const int64_t in_flight = c.rollout.count * c.rollout.concurrent;
  complaints.require(in_flight <= c.ledger.max_in_flight, "rollout.concurrent",
                     "rollout.count times rollout.concurrent is " + number(in_flight) +
                         ", more than ledger.max_in_flight (" + number(c.ledger.max_in_flight) +
                         ")");
}

void validate_timeouts(const RunConfig& c, Complaints& complaints) {
  complaints.require(
      c.tool_executor.shell_timeout <= c.agent.tool_timeout, "tool_executor.shell_timeout",
      "expected at most agent.tool_timeout (" + number(c.agent.tool_timeout.count()) +
          " ms), or a slow command loses its trajectory; got " +
          number(c.tool_executor.shell_timeout.count()) + " ms");
}

/// Random weights make no calls, and scripted calls would give a trained policy false rewards.
void validate_rehearsal(const RunConfig& c, Complaints& complaints) {
  const bool is_random = c.model.weights == InitialWeights::random;
  const bool is_scripted = !c.agent.scripted_turns.empty();
  const bool rehearses = is_random && is_scripted && c.run.stage == Stage::agentic;
  complaints.require(!is_random || rehearses, "model.weights",
                     "run.stage = \"" + std::string{to_string(c.run.stage)} +
                         "\" starts from trained weights: expected \"load\" (random ones make no "
                         "tool calls; \"agentic\" takes them with agent.scripted_turns)");
  complaints.require(
      !is_scripted || rehearses, "agent.scripted_turns",
      "expected none unless run.stage = \"agentic\" and model.weights = "
      "\"random\": otherwise a policy would be rewarded for calls that it did not sample");
}

void validate_stage(const RunConfig& c, Complaints& complaints) {
  if (c.run.stage == Stage::sft) {
    complaints.require(!c.sft.data.empty() || !c.sft.script.empty(), "sft.data",
                       "run.stage = \"sft\" needs sft.data or sft.script");
    return;
  }
  validate_rehearsal(c, complaints);
  complaints.require(c.run.stage != Stage::warmup || c.agent.answer == AnswerForm::files,
                     "agent.answer", "run.stage = \"warmup\" has one turn: expected \"files\"");
}

/// A folder of solutions has one answer per task; it cannot call tools over several turns.
void validate_brain(const RunConfig& c, Complaints& complaints) {
  complaints.require(c.brain.candidates.empty() || c.agent.answer == AnswerForm::files,
                     "agent.answer",
                     "brain.candidates returns whole solutions: expected \"files\"");
}

/// PPO, rft and the critic read a trajectory's tokens as one sequence, but no model saw that whole
/// sequence.
void validate_summary(const RunConfig& c, Complaints& complaints) {
  if (!c.agent.summarise) return;
  complaints.require(
      has_brain(c.brain), "agent.summarise",
      "expected false: a summary starts a new context, and training takes a "
      "trajectory as one; it is for eval and run.stage = \"collect\" with a [brain]");
  complaints.require(c.agent.answer == AnswerForm::calls, "agent.summarise",
                     "agent.answer = \"files\" has one turn: expected false");
  const auto left =
      static_cast<int64_t>(c.agent.summary_share * static_cast<double>(c.agent.max_tokens));
  const int64_t needed = c.generator.max_new_tokens + c.agent.result_tokens;
  complaints.require(left >= needed, "agent.summary_share",
                     "expected a share of agent.max_tokens with room for a turn and a result "
                     "(generator.max_new_tokens and agent.result_tokens: " +
                         number(needed) + "), got one of " + number(left) + " tokens");
}

/// A stage may have a table without being in run.stages, so that a stage can be left out by
/// changing only the list. The stored configuration of one stage has no list; names in options for
/// other stages are checked against the list of the chain.
void validate_stage_tables(const RunConfig& c, const std::string& stage, Complaints& complaints) {
  if (!stage.empty() && c.run.stages.empty()) return;
  for (const std::string& name : complaints.keys_with_prefix("stage.")) {
    const bool listed =
        name == stage || std::ranges::find(c.run.stages, name) != c.run.stages.end();
    complaints.require(listed || enum_of<Stage>(name).has_value(), "stage." + name,
                       "expected the name of a stage in run.stages, or of a kind of stage");
  }
}

/// A misspelt stage would run as one of the default kind.
void validate_stage_name(const std::string& stage, Complaints& complaints) {
  const bool known =
      stage.empty() || enum_of<Stage>(stage).has_value() || complaints.was_set("run.stage");
  complaints.require(known, "run.stages",
                     "\"" + stage +
                         "\" is not a kind of stage (sft, warmup, collect, rft, value, agentic): "
                         "correct it, or set stage." +
                         stage + ".run.stage");
}

/// The values that a stage implies for keys that are not set.
void apply_stage(RunConfig& c, const std::string& stage, const Complaints& complaints) {
  if (const auto kind = enum_of<Stage>(stage)) c.run.stage = *kind;
  if (!stage.empty()) c.run.stages.clear();
  if (c.run.mode == Mode::sync && !complaints.was_set("learner.max_lag")) c.learner.max_lag = 0;
  const bool set = complaints.was_set("agent.answer");
  if (c.run.stage == Stage::warmup && !set) c.agent.answer = AnswerForm::files;
}

/// True if run.stage is no stage. The configuration then has the default one, whose checks would
/// complain about other keys.
bool has_unknown_stage(const Complaints& complaints) {
  return complaints.text().find(": run.stage: ") != std::string::npos;
}

/// Describes what was found in place of a file.
const char* word_of(const std::filesystem::file_status& found) {
  return std::filesystem::is_directory(found) ? "a folder" : "something that is not a regular file";
}

}  // namespace

bool learns_online(Stage stage) noexcept {
  return stage == Stage::warmup || stage == Stage::agentic;
}

bool samples(Stage stage) noexcept {
  return learns_online(stage) || stage == Stage::collect;
}

void describe(Fields& fields, RunSettings& c) {
  fields.require("seed");
  fields.integer("seed", c.seed, {.low = 0});
  fields.text("name", c.name);
  fields.choice_of("stage", c.stage, enum_names<Stage>);
  fields.texts("stages", c.stages, {});
  fields.choice_of("mode", c.mode, mode_names);
  fields.integer("trajectories", c.trajectories, {.low = 1});
  fields.duration("time_limit", c.time_limit, {.low = std::chrono::seconds{1}});
  fields.path("folder", c.folder);
  fields.integer("threads", c.threads, {.low = 0, .high = 1024});
}

void validate(const RunSettings& c, Complaints& complaints) {
  const bool plain = std::all_of(c.name.begin(), c.name.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.';
  });
  complaints.require(
      plain && !c.name.starts_with('.'), "run.name",
      "expected letters, digits, '-', '_' and '.', not starting with '.', got \"" + c.name + "\"");
}

void describe(Fields& fields, RunConfig& c) {
  const auto component = [&fields](std::string_view name, auto& part) {
    fields.table(name, [&part](Fields& inner) { describe(inner, part); });
  };
  component("run", c.run);
  component("model", c.model);
  component("agent", c.agent);
  component("brain", c.brain);
  component("rollout", c.rollout);
  component("generator", c.generator);
  component("tool_executor", c.tool_executor);
  component("sandbox", c.sandbox);
  component("synthesis", c.synthesis);
  component("learner", c.learner);
  component("sft", c.sft);
  component("collect", c.collect);
  component("rft", c.rft);
  component("value", c.value);
  component("ledger", c.ledger);
  component("telemetry", c.telemetry);
  component("supervisor", c.supervisor);
  component("node", c.node);
}

void validate(const RunConfig& c, Complaints& complaints) {
  validate(c.run, complaints);
  validate(c.model, complaints);
  validate(c.agent, complaints);
  validate(c.brain, complaints);
  validate(c.generator, complaints);
  validate(c.sandbox, complaints);
  validate(c.synthesis, complaints);
  validate(c.learner, complaints);
  validate(c.sft, complaints);
  validate(c.telemetry, complaints);
  validate(c.supervisor, complaints);
  if (!c.run.stages.empty() || has_unknown_stage(complaints)) return;
  validate_mode(c, complaints);
  validate_learner(c, complaints);
  validate_sizes(c, complaints);
  validate_timeouts(c, complaints);
  validate_stage(c, complaints);
  validate_brain(c, complaints);
  validate_summary(c, complaints);
}

Result<RunConfig> parse_run_config(const std::string& name, const std::string& text,
                                   const std::vector<std::string>& overrides,
                                   const std::string& stage) {
  RunConfig config;
  Complaints complaints{name};
  const bool read = read_toml(
      {name, text, stage}, overrides, [&config](Fields& fields) { describe(fields, config); },
      complaints);
  if (read) {
    validate_stage_tables(config, stage, complaints);
    validate_stage_name(stage, complaints);
    apply_stage(config, stage, complaints);
    validate(config, complaints);
  }
  TRY_VOID(complaints.result());
  return config;
}

Result<RunConfig> load_run_config(const std::filesystem::path& file,
                                  const std::vector<std::string>& overrides,
                                  const std::string& stage) {
  std::error_code error;
  const auto found = std::filesystem::status(file, error);
  if (!std::filesystem::exists(found)) {
    return fail(ErrorCode::not_found, file.string() + ": no such file");
  }
  if (!std::filesystem::is_regular_file(found)) {
    return fail(ErrorCode::not_found,
                file.string() + ": expected a configuration file, found " + word_of(found));
  }
  TRY(const auto text, read_text_file(file, max_config_bytes));
  return parse_run_config(file.string(), text, overrides, stage);
}

std::string to_toml(const RunConfig& config) {
  RunConfig copy = config;  // the writer takes the same mutable references as the reader
  return write_toml([&copy](Fields& fields) { describe(fields, copy); });
}

}  // namespace warpsmith
