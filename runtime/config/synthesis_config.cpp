// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/synthesis_config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "runtime/config/brain_config.hpp"

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 3> curriculum_names{"uniform", "success_band", "headroom"};
constexpr std::array<std::string_view, 3> compiler_names{"none", "aot_eager", "inductor"};
constexpr std::array<std::string_view, 2> composer_names{"rules", "llm"};

constexpr std::array<std::string_view, 6> share_kinds{"1", "2", "3", "4", "5", "transformers"};

struct Share {
  std::string_view kind;
  double value = 0;
};

std::optional<Share> share_in(std::string_view part) {
  const size_t equals = part.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  Share share{part.substr(0, equals)};
  const std::string_view number = part.substr(equals + 1);
  const char* const begin = number.data();
  const char* const end = begin + number.size();
  const auto [stop, error] = std::from_chars(begin, end, share.value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return share;
}

/// Nullopt if a part is not NUMBER=SHARE.
std::optional<std::vector<Share>> shares_in(std::string_view text) {
  std::vector<Share> shares;
  while (true) {
    const size_t comma = text.find(',');
    const auto share = share_in(text.substr(0, comma));
    if (!share) return std::nullopt;
    shares.push_back(*share);
    if (comma == std::string_view::npos) return shares;
    text.remove_prefix(comma + 1);
  }
}

bool is_good(const Share& share) {
  return std::ranges::find(share_kinds, share.kind) != share_kinds.end() &&
         std::isfinite(share.value) && share.value >= 0;
}

/// The error in shares of tasks by number of operators ("1=3.4,2=83.8,transformers=1.2"), in the
/// words of `synth --shares`; empty if they are valid. synthesis/worker/arguments.py parses them.
std::optional<std::string> complaint_about_shares(const std::string& text) {
  const auto shares = shares_in(text);
  if (!shares) return "expected NUMBER=SHARE,…, got " + text;
  const bool any = std::ranges::any_of(*shares, [](const Share& s) { return s.value > 0; });
  if (any && std::ranges::all_of(*shares, is_good)) return std::nullopt;
  return "expected shares of 1 to 5 and transformers, got " + text;
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

void describe_curriculum(Fields& fields, CurriculumConfig& c) {
  fields.choice_of("rule", c.rule, curriculum_names);
  fields.real("success_low", c.success_low, {.low = 0, .high = 1});
  fields.real("success_high", c.success_high, {.low = 0, .high = 1});
  fields.integer("retire_after", c.retire_after, {.low = 0, .high = 1'000'000});
  fields.integer("quarantine_after", c.quarantine_after, {.low = 0, .high = 1'000'000});
}

void describe_compose(Fields& fields, ComposeConfig& c) {
  fields.text("shares", c.shares);
  fields.choice_of("compile", c.compile, compiler_names);
  fields.real("min_ms", c.min_ms, {.low = 0, .high = 1e6});
  fields.real("max_ms", c.max_ms, {.low = 0, .high = 1e6});
  fields.choice_of("composer", c.composer, composer_names);
  fields.text("url", c.url);
  fields.text("model", c.model);
  fields.text("key_env", c.key_env);
  fields.duration("answer_time", c.answer_time, {.low = std::chrono::seconds{1}});
  fields.integer("candidates", c.candidates, {.low = 1, .high = 10'000'000});
  fields.texts("nodes", c.nodes, {});
  fields.paths("against", c.against);
  fields.duration("candidate_time", c.candidate_time, {.low = std::chrono::seconds{1}});
  fields.bytes("memory", c.memory_bytes, {.low = 64 << 20});
}

void validate_composer(const ComposeConfig& c, Complaints& complaints) {
  const std::string table = "synthesis.compose";
  validate_key_env(table, c.key_env, complaints);
  complaints.require(c.composer == ComposerKind::llm || c.url.empty(), table + ".url",
                     "goes with synthesis.compose.composer = \"llm\"");
  complaints.require(!c.url.empty() || c.model.empty(), table + ".model",
                     "goes with synthesis.compose.url");
  complaints.require(!c.url.empty() || c.key_env.empty(), table + ".key_env",
                     "goes with synthesis.compose.url");
  if (c.url.empty()) return;
  validate_url(table, c.url, complaints);
  complaints.require(!c.model.empty(), table + ".model",
                     "expected a name: synthesis.compose.url needs one");
}

void validate_compose(const ComposeConfig& c, Complaints& complaints) {
  if (!c.shares.empty()) {
    const auto wrong = complaint_about_shares(c.shares);
    complaints.require(!wrong, "synthesis.compose.shares", wrong.value_or(""));
  }
  complaints.require(c.min_ms < c.max_ms || (c.min_ms == 0 && c.max_ms == 0),
                     "synthesis.compose.min_ms", "expected less than max_ms, or both 0");
  complaints.require(std::ranges::none_of(c.nodes, is_blank), "synthesis.compose.nodes",
                     "expected commands that run `warpsmith synth worker` elsewhere, got an empty "
                     "one; remove it");
}

}  // namespace

void describe(Fields& fields, SynthesisConfig& c) {
  fields.integer("count", c.count, {.low = 0, .high = 1'024});
  fields.paths("tasks", c.tasks);
  fields.paths("held_out", c.held_out);
  fields.table("curriculum", [&](Fields& f) { describe_curriculum(f, c.curriculum); });
  fields.table("compose", [&](Fields& f) { describe_compose(f, c.compose); });
  fields.choice_of("insensitive", c.insensitive, enum_names<InsensitiveTasks>);
  fields.integer("max_tasks", c.max_tasks, {.low = 1, .high = 10'000'000});
}

void validate(const SynthesisConfig& c, Complaints& complaints) {
  complaints.require(c.curriculum.success_low < c.curriculum.success_high,
                     "synthesis.curriculum.success_low", "expected less than success_high");
  complaints.require(!c.tasks.empty() || c.composers() > 0, "synthesis.tasks",
                     "expected at least one folder or file of tasks, or synthesis.count > 0");
  validate_compose(c.compose, complaints);
  validate_composer(c.compose, complaints);
  for (const auto& path : c.held_out) {
    const bool trained = std::find(c.tasks.begin(), c.tasks.end(), path) != c.tasks.end();
    complaints.require(!trained, "synthesis.held_out",
                       path.string() + " is also in synthesis.tasks, so it is not held out");
  }
}

}  // namespace warpsmith
