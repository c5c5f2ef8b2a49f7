// SPDX-License-Identifier: Apache-2.0
// What a run's configuration says about composing.
#pragma once

#include <filesystem>

#include "actors/composer/composer.hpp"
#include "policy/text/chat_turns.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// What decides the candidates of a run, on one line of JSON: seed, device, what they stay away
/// from, the limits of one, and what `synthesis.compose` sets beside its defaults.
std::string composing_origin(const RunConfig& config);

/// Refuses a run whose endpoint's key is not in the environment; the error names the variable.
Result<void> check_composer(const RunConfig& config);

/// How the run's own model writes; nothing unless it composes.
std::optional<PolicyText> policy_text(const RunConfig& config,
                                      const std::shared_ptr<const policy::Tokenizer>& tokenizer,
                                      policy::ChatFrame frame, std::vector<int32_t> stop_tokens);

/// The settings of composer `index`; those behind `synthesis.count` work on nodes. `scratch`: the
/// parent of its folder, which it may leave behind.
ComposerSettings composer_settings(const RunConfig& config, const std::string& python,
                                   const std::filesystem::path& scratch, uint32_t index);

}  // namespace warpsmith::actors
