// SPDX-License-Identifier: Apache-2.0
// Which options have an effect together. An option without effect is refused, never ignored.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {

/// A rule that holds where `option` is given. Names are those of --help: "--resume", "CONFIG".
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

/// `invalid_argument` names the given options that a rule finds without effect, and the remedy.
Result<void> check_options(const CLI::App& app, const std::vector<OptionRule>& rules);

/// The action behind that check. `app` must outlive it.
std::function<ExitCode()> with_rules(const CLI::App& app, std::vector<OptionRule> rules,
                                     std::function<ExitCode()> action);

/// Keys of a configuration that a command sets itself, with what to give in place of --set.
struct FixedKey {
  std::string key;  // a table's name stands for all its keys
  std::string remedy;
};

/// `invalid_argument` names the first `--set KEY=VALUE` that the command would replace.
Result<void> refuse_fixed_keys(const std::vector<std::string>& overrides,
                               const std::vector<FixedKey>& fixed);

}  // namespace warpsmith::commands
