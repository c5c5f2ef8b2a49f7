// SPDX-License-Identifier: Apache-2.0
#include "commands/option_rules.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace warpsmith::commands {
namespace {

using Kind = OptionRule::Kind;
using Names = std::vector<std::string>;

/// The options on the command line, in the order of --help.
Names given_options(const CLI::App& app) {
  Names names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) names.push_back(option->get_name());
  }
  return names;
}

bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// "--a, --b" + last + "--c".
std::string joined(const Names& names, const std::string& last) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : last;
    text += names[i];
  }
  return text;
}

/// The given options that have no effect by this rule.
Names idle_options(const OptionRule& rule, const Names& given) {
  Names idle;
  if (!contains(given, rule.option)) return idle;
  if (rule.kind == Kind::needs) {
    const bool met = std::ranges::any_of(
        rule.others, [&](const std::string& name) { return contains(given, name); });
    return met ? idle : Names{rule.option};
  }
  const bool named_ones_pass = rule.kind == Kind::takes;
  std::ranges::copy_if(given, std::back_inserter(idle), [&](const std::string& name) {
    return name != rule.option && contains(rule.others, name) != named_ones_pass;
  });
  return idle;
}

}  // namespace

Result<void> check_options(const CLI::App& app, const std::vector<OptionRule>& rules) {
  const Names given = given_options(app);
  for (const OptionRule& rule : rules) {
    const Names idle = idle_options(rule, given);
    if (idle.empty()) continue;
    const std::string with =
        rule.kind == Kind::needs ? "without " + joined(rule.others, " or ") : "with " + rule.option;
    return fail(ErrorCode::invalid_argument, app.get_name() + ": " + joined(idle, " and ") +
                                                 (idle.size() == 1 ? " has" : " have") +
                                                 " no effect " + with + ": " + rule.remedy);
  }
  return {};
}

std::function<ExitCode()> with_rules(const CLI::App& app, std::vector<OptionRule> rules,
                                     std::function<ExitCode()> action) {
  return [&app, rules = std::move(rules), action = std::move(action)] {
    const auto checked = check_options(app, rules);
    return checked ? action() : report(checked.error());
  };
}

Result<void> refuse_fixed_keys(const std::vector<std::string>& overrides,
                               const std::vector<FixedKey>& fixed) {
  for (const std::string& given : overrides) {
    const std::string key = given.substr(0, given.find('='));
    for (const FixedKey& one : fixed) {
      if (key != one.key && !key.starts_with(one.key + '.')) continue;
      return fail(ErrorCode::invalid_argument,
                  "--set " + key + " has no effect here: " + one.remedy);
    }
  }
  return {};
}

}  // namespace warpsmith::commands
