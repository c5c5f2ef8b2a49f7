// SPDX-License-Identifier: Apache-2.0
// A brain's settings from the configuration of a run.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "actors/base/end_request.hpp"
#include "actors/brain/chat_reader.hpp"
#include "actors/brain/chat_request.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {

/// How the run's model writes, in whose tokens answers are recorded.
struct BrainText {
  std::shared_ptr<const policy::Tokenizer> tokenizer;
  policy::ChatFrame frame;
  std::vector<int32_t> stop_tokens;
};

struct BrainSettings {
  BrainConfig config;
  RequestStyle style;
  BrainText text;
  std::string key;  // never logged, stored or sent to another actor
  RunPaths run;
  size_t chunk_tokens = 16;   // per message to the rollout
  size_t max_sessions = 256;  // trajectories that it keeps the tokens of
  uint64_t seed = 0;          // of the waits' jitter
  std::shared_ptr<EndRequest> end;
};

/// The key in the variable that `key_env` names; empty if it names none. `invalid_config` names the
/// variable, never what it holds.
Result<std::string> brain_key(const BrainConfig& c);

/// Refuses at the start of a run what would fail at its first request: a missing key, an `extra`
/// that is no object, a folder that is not there, a chat template that cannot be read back.
Result<void> check_brain(const RunConfig& config, const BrainText& text);

/// Throws ActorFailure where check_brain fails.
BrainSettings brain_settings(const RunConfig& config, BrainText text, const RunPaths& run,
                             std::shared_ptr<EndRequest> end);

/// The longest time until a turn is answered or has failed, with every retry and with all
/// trajectories in the queue before it.
std::chrono::milliseconds brain_patience(const RunConfig& config);

}  // namespace warpsmith::actors
