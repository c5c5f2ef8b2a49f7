// SPDX-License-Identifier: Apache-2.0
// The command line: the list of commands, one subcommand, its options, its output, its exit code.
#include <c10/util/Exception.h>
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <iostream>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <string>

#include "commands/command.hpp"
#include "commands/output_text.hpp"
#include "runtime/environment.hpp"
#include "runtime/log.hpp"
#include "runtime/message_text.hpp"

namespace warpsmith::commands {
namespace {

const char* const about =
    "Trains a language model to write fast kernels, with verdicts that cannot be forged.";
const char* const footer =
    "Exit codes: 0 done, 1 judged not correct, 2 bad input, 3 infrastructure failure,\n"
    "130 interrupted (0 for training that Ctrl-C stopped: its checkpoint is written).\n"
    "Help on one command: warpsmith COMMAND --help\n"
    "First run: warpsmith train configs/quickstart.toml";

bool is_bad_input(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_config:
    case ErrorCode::invalid_argument:
    case ErrorCode::parse_failed:
    case ErrorCode::not_found:
    case ErrorCode::already_exists:
    case ErrorCode::locked:
    case ErrorCode::corrupt:
    case ErrorCode::unsupported:
      return true;
    default:
      return false;
  }
}

/// One subcommand and its action.
struct Registered {
  CLI::App* app = nullptr;
  std::function<ExitCode()> action;
};

std::vector<Registered> add_all(CLI::App& app) {
  std::vector<Registered> registered;
  for (const Command& command : all_commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.about);
    registered.push_back({sub, command.add(*sub)});
  }
  return registered;
}

ExitCode run_guarded(const std::function<ExitCode()>& action) {
  try {
    return action();
  } catch (const c10::Error& error) {
    return report({ErrorCode::infrastructure, error.what_without_backtrace()});
  } catch (const std::exception& error) {
    return report({ErrorCode::infrastructure, error.what()});
  }
}

ExitCode run_named(const std::vector<Registered>& commands) {
  for (const Registered& command : commands) {
    if (command.app->parsed()) return run_guarded(command.action);
  }
  return ExitCode::bad_input;
}

/// Fails for an unknown command, by name: the library's own message would not name it. `words`
/// begin with a command of `app` or with an option.
Result<void> check_known_command(const CLI::App& app, std::span<const char* const> words) {
  std::map<std::string, const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands[command->get_name()] = command;
  if (commands.empty() || words.empty() || *words.front() == '-') return {};
  const std::string word = words.front();
  const auto found = commands.find(word);
  if (found != commands.end()) return check_known_command(*found->second, words.subspan(1));
  std::set<std::string> names;
  for (const auto& [name, command] : commands) names.insert(name);
  const std::string within = app.get_parent() == nullptr ? "command" : app.get_name() + " command";
  return fail(ErrorCode::invalid_argument,
              "no " + within + " \"" + word + "\"; " + hint_for(word, names));
}

/// The command that was parsed last: `app` itself if there is none.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

/// The options that are valid after the words of `app`: its own, and those of its parents.
std::set<std::string> options_of(const CLI::App& app) {
  std::set<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    if (at != &app && !at->get_fallthrough()) continue;
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.insert("--" + name);
    }
  }
  return names;
}

/// Names each unknown option with the nearest one; empty if only other words were not expected.
std::string unknown_options(const CLI::App& app, const CLI::App& last) {
  std::string text;
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    if (!word.starts_with("-") || word.size() < 2) continue;
    const std::string name = word.substr(0, word.find('='));
    text += (text.empty() ? "" : "\n") + ("no option \"" + name + "\"; ") +
            hint_for(name, options_of(last));
  }
  return text;
}

std::string message_of(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& last = innermost(app);
  std::set<std::string> names;
  for (const CLI::App* command : last.get_subcommands({})) names.insert(command->get_name());
  const bool lacks_one = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                         last.get_subcommands().empty() && !names.empty();
  const bool at_top = &last == &app;
  const std::string unknown = lacks_one && at_top ? "" : unknown_options(app, last);
  if (!unknown.empty()) return (at_top ? "" : last.get_name() + ": ") + unknown;
  if (!lacks_one) return error.what();
  return (at_top ? "" : last.get_name() + ": ") + list_of(names);
}

/// Formats the library's messages like those of this program.
std::string failure_text(const CLI::App* app, const CLI::Error& error) {
  return "warpsmith: " + for_terminal(message_of(*app, error)) +
         "\nRun with --help for the options.\n";
}

}  // namespace

std::vector<Command> all_commands() {
  return {
      train_command(), eval_command(),   check_command(),  optimize_command(),
      mcp_command(),   serve_command(),  runs_command(),   synth_command(),
      bench_command(), config_command(), doctor_command(),
  };
}

ExitCode report(const Error& error) {
  log::flush();
  // A message of several lines, such as all errors of a configuration, starts on a new line.
  const bool several = error.message.find('\n') != std::string::npos;
  std::cerr << "warpsmith:" << (several ? '\n' : ' ') << for_terminal(error.message) << '\n';
  return is_bad_input(error.code) ? ExitCode::bad_input : ExitCode::infrastructure;
}

ExitCode run_command_line(int argc, const char* const* argv) {
  CLI::App app{about, "warpsmith"};
  app.footer(footer);
  app.failure_message(failure_text);
  app.set_version_flag("--version", "warpsmith " + program_version());
  app.require_subcommand(1);
  const std::vector<Registered> commands = add_all(app);
  const std::span words{argv, static_cast<size_t>(argc)};
  if (auto known = check_known_command(app, words.subspan(1)); !known) return report(known.error());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitCode::success : ExitCode::bad_input;
  }
  return run_named(commands);
}

void reserve_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    // open() takes the lowest free number: this one. Children inherit it, as any standard stream.
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDONLY);
  }
}

ExitCode flush_output(ExitCode code, std::ostream& out) {
  if (out.flush()) return code;
  const ExitCode lost = report({ErrorCode::io_failed, "cannot write to standard output"});
  return code == ExitCode::success ? lost : code;
}

}  // namespace warpsmith::commands
