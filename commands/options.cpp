// SPDX-License-Identifier: Apache-2.0
#include "commands/options.hpp"

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
Names options_without_effect(const OptionRule& rule, const Names& given) {
  Names without_effect;
  if (!contains(given, rule.option)) return without_effect;
  if (rule.kind == Kind::needs) {
    const bool met = std::ranges::any_of(
        rule.others, [&](const std::string& name) { return contains(given, name); });
    return met ? without_effect : Names{rule.option};
  }
  const bool named_ones_pass = rule.kind == Kind::takes;
  std::ranges::copy_if(given, std::back_inserter(without_effect), [&](const std::string& name) {
    return name != rule.option && contains(rule.others, name) != named_ones_pass;
  });
  return without_effect;
}

}  // namespace

Result<void> check_options(const CLI::App& app, const std::vector<OptionRule>& rules) {
  const Names given = given_options(app);
  for (const OptionRule& rule : rules) {
    const Names without_effect = options_without_effect(rule, given);
    if (without_effect.empty()) continue;
    const std::string with =
        rule.kind == Kind::needs ? "without " + joined(rule.others, " or ") : "with " + rule.option;
    return fail(ErrorCode::invalid_argument, app.get_name() + ": " +
                                                 joined(without_effect, " and ") +
                                                 (without_effect.size() == 1 ? " has" : " have") +
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

void add_baselines_option(CLI::App& app, std::vector<std::string>& names) {
  app.add_option("--baselines", names,
                 "On GPUs: further baselines to time besides eager and torch.compile:\n"
                 "max-autotune, cuda-graph, both separated by a comma (auto), or none")
      ->capture_default_str()
      ->delimiter(',')
      ->allow_extra_args(false)  // otherwise it would take the arguments that follow
      ->check(CLI::IsMember({"auto", "none", "max-autotune", "cuda-graph"}));
}

std::vector<std::string> selected_baselines(std::vector<std::string> names) {
  if (names.size() == 1 && names.front() == "none") return {};
  return names;
}

}  // namespace warpsmith::commands
