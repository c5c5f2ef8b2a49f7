// SPDX-License-Identifier: Apache-2.0
// [synthesis]: the sources of tasks and the order in which they are drawn.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"
#include "runtime/describe.hpp"

namespace warpsmith {

enum class Curriculum : uint8_t {
  uniform,       // each task equally often
  success_band,  // tasks that are sometimes solved more often
  headroom,      // tasks with much reward left to gain more often
};

/// Chooses the next task.
struct CurriculumConfig {
  Curriculum rule = Curriculum::uniform;
  double success_low = 0.2, success_high = 0.8;  // share of correct attempts; for "success_band"
  /// A task is retired after this many attempts in a row with the highest reward that its roofline
  /// allows; 0: never.
  int64_t retire_after = 0;
  /// The same for attempts whose times were impossible or inconclusive.
  int64_t quarantine_after = 8;
};

/// torch.compile's backend whose outputs must equal eager's.
enum class ComposeCompiler : uint8_t { none, aot_eager, inductor };

enum class ComposerKind : uint8_t {
  rules,  // seeded rules; the same tasks with the same seed
  llm,    // a language model: an endpoint, or the run's own generator if `url` is empty
};

/// New tasks that are composed while the policy trains.
struct ComposeConfig {
  /// Percent of tasks by number of operators, "1=3.4,2=83.8,transformers=1.2"; empty: the paper's.
  std::string shares;
  /// As `synth --compile`. "none": the sandbox compiles each accepted task when it ingests it.
  ComposeCompiler compile = ComposeCompiler::none;
  double min_ms = 0;  // least time of one call; 0, with max_ms: the default of `synth`
  double max_ms = 0;  // most time of one call
  ComposerKind composer = ComposerKind::rules;
  std::string url;      // of an OpenAI-compatible API up to /v1; empty: the run's own generator
  std::string model;    // its name there
  std::string key_env;  // environment variable with the key; empty: no key is sent
  std::chrono::milliseconds answer_time{std::chrono::seconds{120}};  // of one answer, at most
  int64_t candidates = 2'000;  // after the last one, training continues with the tasks in the pool
  /// Shell commands that each run `warpsmith synth worker` on another machine, as one more
  /// composer. A composer that is unreachable for 30 minutes is abandoned.
  std::vector<std::string> nodes;
  std::vector<std::filesystem::path>
      against;  // programs that tasks must differ from, in addition to `held_out`
  std::chrono::milliseconds candidate_time{std::chrono::seconds{60}};  // CPU time of one, at most
  int64_t memory_bytes = int64_t{4} << 30;                             // of one
};

/// What becomes of a task whose outputs cannot tell some wrong answers from right ones.
enum class InsensitiveTasks : uint8_t {
  refuse,
  accept,  // a policy may learn such an answer
};
constexpr auto names_of(InsensitiveTasks) {
  return std::to_array<std::string_view>({"refuse", "accept"});
}

struct SynthesisConfig {
  int64_t count = 0;  // actors that compose tasks during training; none in `collect` and `eval`
  std::vector<std::filesystem::path> tasks;     // folders or files in KernelBench's format
  std::vector<std::filesystem::path> held_out;  // never trained on; the default tasks of `eval`
  CurriculumConfig curriculum;
  ComposeConfig compose;
  InsensitiveTasks insensitive = InsensitiveTasks::refuse;  // `eval --suite` accepts them
  int64_t max_tasks = 100'000;  // size of the pool; further tasks are left out, and logged

  /// The run's own generator writes candidates.
  bool policy_composes() const {
    return composers() > 0 && compose.composer == ComposerKind::llm && compose.url.empty();
  }
  /// The actors that compose: local ones, then one for each node.
  int64_t composers() const { return count + static_cast<int64_t>(compose.nodes.size()); }
  void disable_composers() {
    count = 0;
    compose.nodes.clear();
  }
};

void describe(Fields& fields, SynthesisConfig& c);
void validate(const SynthesisConfig& c, Complaints& complaints);

}  // namespace warpsmith
