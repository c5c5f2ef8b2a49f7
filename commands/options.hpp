// SPDX-License-Identifier: Apache-2.0
// Options that several commands have, and rules on which options have an effect together: an option
// without effect is refused, never ignored. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {

/// A rule that applies if `option` is given. Names are those of --help: "--resume", "CONFIG".
struct OptionRule {
  enum class Kind : uint8_t {
    takes,    // of all other options, only `others` have an effect
    refuses,  // `others` have none
    needs,    // `option` itself has none without one of `others`
  };
  std::string option;
  Kind kind = Kind::takes;
  std::vector<std::string> others;
  std::string remedy;  // why, or what to do
};

/// Fails with `invalid_argument` for given options that have no effect by a rule; names them and
/// the remedy.
Result<void> check_options(const CLI::App& app, const std::vector<OptionRule>& rules);

/// The action, preceded by that check. `app` must outlive it.
std::function<ExitCode()> with_rules(const CLI::App& app, std::vector<OptionRule> rules,
                                     std::function<ExitCode()> action);

/// Keys of a configuration that a command sets itself, and what to use instead of --set.
struct FixedKey {
  std::string key;  // a table's name stands for all its keys
  std::string remedy;
};

/// Fails with `invalid_argument` for the first `--set KEY=VALUE` that the command would replace.
Result<void> refuse_fixed_keys(const std::vector<std::string>& overrides,
                               const std::vector<FixedKey>& fixed);

/// Adds --baselines: the baselines of a GPU's evaluations in addition to eager and torch.compile.
/// `names` receives its values; its present content is the default.
void add_baselines_option(CLI::App& app, std::vector<std::string>& names);

/// The value for `sandbox.baselines`: `names`, or an empty list for "none".
std::vector<std::string> selected_baselines(std::vector<std::string> names);

}  // namespace warpsmith::commands
