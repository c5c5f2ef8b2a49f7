// SPDX-License-Identifier: Apache-2.0
// `warpsmith synth …`: crawls, composes and filters tasks. The work is Python's
// (synthesis/worker/main.py), since torch and transformers are its subject; this command becomes
// that program, so that signals, output and exit code are its own.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "commands/command.hpp"
#include "runtime/environment.hpp"
#include "runtime/message_text.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {
namespace {

constexpr std::array parts{"compose", "crawl", "import", "ingest", "synth", "worker"};

/// How many arguments come before the part: `--cache DIR` may.
size_t before_part(const std::vector<std::string>& given) {
  if (given.empty()) return 0;
  if (given.front().starts_with("--cache=")) return 1;
  return given.front() == "--cache" ? std::min(given.size(), size_t{2}) : 0;
}

/// The worker's arguments: `compose` is what it does unless a part is named.
std::vector<std::string> worker_arguments(const std::vector<std::string>& given) {
  std::vector<std::string> all{python_interpreter(), "-B",
                               source_folder() / "synthesis/worker/main.py"};
  const auto part = given.begin() + static_cast<std::ptrdiff_t>(before_part(given));
  all.insert(all.end(), given.begin(), part);
  const bool named = part != given.end() && (std::ranges::find(parts, *part) != parts.end() ||
                                             *part == "--help" || *part == "-h");
  if (!named) all.emplace_back(part == given.end() ? "--help" : "compose");
  all.insert(all.end(), part, given.end());
  return all;
}

/// Fails for a first word that is no part: composing takes only options.
Result<void> check_part(const std::vector<std::string>& given) {
  const size_t at = before_part(given);
  if (at >= given.size() || given[at].starts_with('-')) return {};
  const std::set<std::string> names(parts.begin(), parts.end());
  if (names.contains(given[at])) return {};
  return fail(ErrorCode::invalid_argument,
              "no synth command \"" + given[at] + "\"; " + hint_for(given[at], names));
}

ExitCode become_worker(const std::vector<std::string>& given) {
  if (auto known = check_part(given); !known) return report(known.error());
  if (python_interpreter().empty()) {
    return report({ErrorCode::unsupported,
                   "synth: no Python environment with torch; ./warpsmith sets one up, or name an "
                   "interpreter in WARPSMITH_PYTHON"});
  }
  std::vector<std::string> arguments = worker_arguments(given);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  setenv("WARPSMITH_PROGRAM", (executable_folder() / "warpsmith").c_str(), 1);  // `ingest` calls it
  execv(argv.front(), argv.data());
  return report({ErrorCode::io_failed, "synth: cannot start " + arguments.front() + ": " +
                                           std::generic_category().message(errno)});
}

}  // namespace

Command synth_command() {
  return {"synth", "Make training tasks: crawl operators, compose, filter, store; or import tasks",
          [](CLI::App& app) -> std::function<ExitCode()> {
            app.prefix_command();
            app.set_help_flag();  // the worker's own help names its options
            return [&app] { return become_worker(app.remaining()); };
          }};
}

}  // namespace warpsmith::commands
