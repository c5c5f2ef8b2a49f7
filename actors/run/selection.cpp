// SPDX-License-Identifier: Apache-2.0
#include "actors/run/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "actors/rollout/outcome.hpp"
#include "actors/run/model_text.hpp"
#include "policy/learn/losses.hpp"
#include "policy/learn/stages/rejection.hpp"
#include "policy/text/fenced_files.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "runtime/log.hpp"
#include "runtime/run/run_database.hpp"
#include "runtime/run/trajectory_reader.hpp"
#include "runtime/trajectory.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;
using Tools = std::vector<ToolSchema>;

/// The sampled text of a turn, without the token that ended it.
struct SampledText {
  std::string text;
  bool whole = false;  // a token ended it; else a limit cut it
};

void add_calls(const SampledText& turn, const TextModel& text, const Tools& offered,
               policy::TurnFacts& facts) {
  std::vector<ParsedCall> calls;
  if (text.agent.answer == AnswerForm::files) {
    calls = policy::calls_of_files(policy::fenced_files(turn.text));
  } else {
    auto parsed = policy::parse_turn(turn.text, text.agent.syntax);
    facts.invalid = !turn.whole || !parsed;
    if (parsed) calls = std::move(parsed->calls);
  }
  for (ParsedCall& call : calls) {
    facts.invalid = facts.invalid || !sandbox::check_call(call, offered);
    if (call.name == "bash_output") continue;  // waiting for a job is not a repetition
    const bool edits = sandbox::changes_files(call);
    facts.calls.push_back({std::move(call), edits});
  }
}

SampledText sampled_text(const Segment& segment, const TextModel& text) {
  std::vector<int32_t> sampled;
  for (size_t i = 0; i < segment.size(); ++i) {
    if (segment.action_mask[i] != 0) sampled.push_back(segment.tokens[i]);
  }
  const bool whole = !sampled.empty() &&
                     std::ranges::find(text.stop_tokens, sampled.back()) != text.stop_tokens.end();
  if (whole) sampled.pop_back();
  return {text.tokenizer->decode(sampled), whole};
}

/// The actions of a recorded trajectory's turns, parsed as in the rollout with the agent's tools.
policy::TrajectoryFacts facts_of(const Trajectory& trajectory, std::span<const VerdictRow> verdicts,
                                 const TextModel& text) {
  const Tools offered = sandbox::tools_named(text.agent.tools).value_or(sandbox::all_tools());
  policy::TrajectoryFacts facts{.task_id = trajectory.task_id, .reward = trajectory.outcome.reward};
  for (const Segment& segment : trajectory.segments) {
    policy::TurnFacts turn;
    add_calls(sampled_text(segment, text), text, offered, turn);
    for (const VerdictRow& row : verdicts) {
      if (row.turn != segment.number) continue;
      turn.verdict = std::max(turn.verdict.value_or(0), rank_of(row.verdict));
    }
    facts.tokens += static_cast<int64_t>(segment.size());
    facts.turns.push_back(std::move(turn));
  }
  return facts;
}

using Runs = std::vector<fs::path>;

/// A run whose trajectories match the model that learns from them.
struct Source {
  TrajectoryReader reader;
  TextModel text;
};

Result<Source> open_source(const fs::path& run, const TextModel& learner) {
  TRY(auto reader, TrajectoryReader::open({run}));
  TRY(auto text, text_model_of_run({run}));
  TRY_VOID(check_same_text(learner, text, {run}));
  return Source{std::move(reader), std::move(text)};
}

/// PPO compares probabilities, and a brain returns none.
Result<void> check_log_probs(const fs::path& run) {
  TRY(const auto config, load_run_config(RunPaths{run}.config(), {}));
  if (!has_brain(config.brain)) return {};
  return fail(
      ErrorCode::invalid_config,
      "value.runs: the tokens of " + run.string() +
          " have no log-probabilities, since a [brain] wrote them; use them for rft and eval. "
          "For the critic, name runs that the model sampled");
}

enum class Use : uint8_t { rft, value };

/// The runs that the configuration names for `use`.
const Runs& runs_of(const RunConfig& config, Use use) {
  return use == Use::value ? config.value.runs : config.rft.runs;
}

Result<std::vector<Source>> open_sources(const RunConfig& config, Use use) {
  const Runs& runs = runs_of(config, use);
  if (runs.empty()) {
    return fail(ErrorCode::invalid_config,
                std::string{use == Use::value ? "value.runs" : "rft.runs"} +
                    ": expected at least one run folder with trajectories, got none");
  }
  TRY(const auto learner, read_text_model(config));
  std::vector<Source> sources;
  for (const fs::path& run : runs) {
    TRY(auto source, open_source(run, learner));
    TRY_VOID(use == Use::value ? check_log_probs(run) : Result<void>{});
    sources.push_back(std::move(source));
  }
  return sources;
}

/// A closed trajectory of one of the sources.
struct Candidate {
  size_t source = 0;
  TrajectoryId id = 0;
};

/// False if a later segment begins a new context, with a summary in place of the earlier turns.
bool has_one_context(const Trajectory& trajectory) {
  return std::ranges::all_of(trajectory.segments, [&](const Segment& segment) {
    return segment.number == 0 || !begins_context(segment, trajectory.segments[0]);
  });
}

/// Rejects a trajectory whose record is damaged or lost. Any other failure may be transient, so it
/// is returned.
Result<void> reject_unreadable(const Error& error, TrajectoryId id, SourceSelection& selection) {
  const bool lasts = error.code == ErrorCode::corrupt || error.code == ErrorCode::not_found;
  if (!lasts) return tl::unexpected(error);
  log::warn(error.message);
  selection.rejected["unreadable"].push_back(id);
  return {};
}

/// A closed trajectory as it was recorded.
struct Recorded {
  Trajectory whole;
  std::vector<VerdictRow> verdicts;
};

Result<Recorded> load_recorded(TrajectoryReader& reader, TrajectoryId id) {
  TRY(auto whole, reader.load(id));
  TRY(auto verdicts, reader.verdicts(id));
  return Recorded{std::move(whole), std::move(verdicts)};
}

/// The trajectory as one sequence; `corrupt` if its segments do not join.
Result<policy::HeldTrajectory> joined(const Trajectory& trajectory) {
  policy::HeldTrajectory held;
  held.id = trajectory.id;
  for (const Segment& segment : trajectory.segments) {
    if (auto added = held.append(segment); !added) {
      return fail(ErrorCode::corrupt, added.error().message);
    }
  }
  return held;
}

Result<policy::HeldTrajectory> load_joined(TrajectoryReader& reader, TrajectoryId id) {
  TRY(const auto whole, reader.load(id));
  return joined(whole);
}

Result<void> add_candidates(Source& source, SourceSelection& selection,
                            std::vector<Candidate>& candidates,
                            std::vector<policy::TrajectoryFacts>& facts, size_t index) {
  TRY(const auto rows, source.reader.closed());
  for (const TrajectoryRow& row : rows) {
    const auto one = load_recorded(source.reader, row.id);
    if (!one) {
      TRY_VOID(reject_unreadable(one.error(), row.id, selection));
      continue;
    }
    if (!has_one_context(one->whole)) {
      selection.rejected["several_contexts"].push_back(row.id);
      continue;
    }
    candidates.push_back({index, row.id});
    facts.push_back(facts_of(one->whole, one->verdicts, source.text));
  }
  return {};
}

Result<Selection> unless_empty(Selection selection, const char* key, const char* remedy) {
  if (kept_in(selection) > 0) return selection;
  std::string runs;
  for (const SourceSelection& one : selection)
    runs += (runs.empty() ? "" : ", ") + one.run.string();
  return fail(ErrorCode::invalid_config,
              std::string{key} + ": no trajectory of " + runs +
                  " is left to learn from: " + selection_text(selection) +
                  "; collect more (train --resume RUN --set collect.samples=N)" + remedy);
}

Result<Trajectory> load_kept(TrajectoryReader& reader, TrajectoryId id) {
  auto trajectory = reader.load(id);
  if (trajectory) return trajectory;
  return fail("a trajectory that this run was learning from", trajectory.error());
}

/// Turns of kept trajectories whose tokens have no loss.
size_t silenced_in(const policy::TrajectoryFacts& facts) {
  return static_cast<size_t>(std::ranges::count_if(
      facts.turns, [](const policy::TurnFacts& turn) { return turn.invalid; }));
}

policy::Conversation conversation_of(const Trajectory& trajectory,
                                     const policy::TrajectoryFacts& facts) {
  policy::Conversation conversation;
  for (size_t n = 0; n < trajectory.segments.size(); ++n) {
    const Segment& segment = trajectory.segments[n];
    conversation.tokens.insert(conversation.tokens.end(), segment.tokens.begin(),
                               segment.tokens.end());
    for (const uint8_t sampled : segment.action_mask) {
      conversation.mask.push_back(facts.turns[n].invalid ? 0 : sampled);
    }
  }
  return conversation;
}

}  // namespace

Result<Selection> select_for_rft(const RunConfig& config) {
  TRY(auto sources, open_sources(config, Use::rft));
  std::vector<Candidate> candidates;
  std::vector<policy::TrajectoryFacts> facts;
  Selection selection;
  for (size_t i = 0; i < sources.size(); ++i) {
    selection.push_back({fs::absolute(config.rft.runs[i]), {}, {}});
    TRY_VOID(add_candidates(sources[i], selection.back(), candidates, facts, i));
  }
  const auto results = policy::reject(facts, config.rft, config.sft.context);
  for (size_t i = 0; i < candidates.size(); ++i) {
    SourceSelection& of = selection[candidates[i].source];
    auto& list = results[i] ? of.rejected[std::string{to_string(*results[i])}] : of.kept;
    list.push_back(candidates[i].id);
    if (!results[i]) of.silenced += silenced_in(facts[i]);
  }
  return unless_empty(std::move(selection), "rft.runs", ", or loosen [rft]");
}

Result<Selection> select_for_value(const RunConfig& config) {
  TRY(auto sources, open_sources(config, Use::value));
  Selection selection;
  for (size_t i = 0; i < sources.size(); ++i) {
    TRY(const auto rows, sources[i].reader.closed());
    SourceSelection one{fs::absolute(config.value.runs[i]), {}, {}};
    for (const TrajectoryRow& row : rows) {
      const auto held = load_joined(sources[i].reader, row.id);
      if (held) one.kept.push_back(row.id);
      TRY_VOID(held ? Result<void>{} : reject_unreadable(held.error(), row.id, one));
    }
    selection.push_back(std::move(one));
  }
  return unless_empty(std::move(selection), "value.runs", "");
}

Result<void> check_sources(const RunConfig& config) {
  const Use use = config.run.stage == Stage::value ? Use::value : Use::rft;
  if (runs_of(config, use).empty()) return {};
  const auto sources = open_sources(config, use);
  return sources ? Result<void>{} : tl::unexpected(sources.error());
}

size_t kept_in(const Selection& selection) {
  size_t kept = 0;
  for (const SourceSelection& one : selection) kept += one.kept.size();
  return kept;
}

std::string selection_text(const Selection& selection) {
  std::map<std::string, size_t> rejected;
  size_t silenced = 0;
  for (const SourceSelection& one : selection) {
    for (const auto& [reason, ids] : one.rejected) rejected[reason] += ids.size();
    silenced += one.silenced;
  }
  std::string text = fmt::format("{} kept; rejected: ", kept_in(selection));
  bool first = true;
  for (const auto& [reason, count] : rejected) {
    text += fmt::format("{}{} {}", std::exchange(first, false) ? "" : ", ", reason, count);
  }
  text += rejected.empty() ? "none" : "";
  return silenced == 0 ? text : fmt::format("{}; {} turns without loss", text, silenced);
}

std::string thin_text(const Selection& selection) {
  size_t all = kept_in(selection);
  for (const SourceSelection& one : selection) {
    for (const auto& [reason, ids] : one.rejected) all += ids.size();
  }
  if (10 * kept_in(selection) >= all) return "";
  return fmt::format(
      "only {} of {} trajectories are kept: the stage has hardly anything to learn from. Collect "
      "more (train --resume RUN --set collect.samples=N), loosen [rft], or collect with a policy "
      "that solves more",
      kept_in(selection), all);
}

std::string to_json(const Selection& selection) {
  nlohmann::json list = nlohmann::json::array();
  for (const SourceSelection& one : selection) {
    list.push_back({{"run", one.run.string()},
                    {"kept", one.kept},
                    {"rejected", one.rejected},
                    {"silenced", one.silenced}});
  }
  return list.dump(1) + "\n";
}

Result<Selection> selection_from_json(std::string_view text) {
  try {
    Selection selection;
    for (const auto& one : nlohmann::json::parse(text)) {
      selection.push_back({fs::path{one.at("run").get<std::string>()},
                           one.at("kept").get<std::vector<TrajectoryId>>(),
                           one.at("rejected").get<decltype(SourceSelection::rejected)>(),
                           one.value("silenced", size_t{0})});
    }
    return selection;
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::parse_failed, error.what());
  }
}

Result<std::vector<policy::Conversation>> conversations_of(const Selection& selection,
                                                           const RunConfig& config) {
  TRY(const auto learner, read_text_model(config));
  std::vector<policy::Conversation> conversations;
  for (const SourceSelection& one : selection) {
    TRY(auto source, open_source(one.run, learner));
    for (const TrajectoryId id : one.kept) {
      TRY(const auto whole, load_kept(source.reader, id));
      conversations.push_back(conversation_of(whole, facts_of(whole, {}, source.text)));
    }
  }
  return conversations;
}

Result<std::vector<policy::ValueExample>> examples_of(const Selection& selection,
                                                      const RunConfig& config) {
  std::vector<policy::ValueExample> examples;
  for (const SourceSelection& one : selection) {
    TRY(auto reader, TrajectoryReader::open({one.run}));
    for (const TrajectoryId id : one.kept) {
      TRY(const auto whole, load_kept(reader, id));
      auto held = joined(whole);
      if (!held) return fail(one.run.string(), held.error());
      const double penalty =
          policy::overlong_penalty(held->action_tokens(), config.learner.overlong);
      examples.push_back({std::move(*held), whole.outcome.reward + penalty});
    }
  }
  return examples;
}

}  // namespace warpsmith::actors
