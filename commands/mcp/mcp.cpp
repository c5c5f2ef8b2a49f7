// SPDX-License-Identifier: Apache-2.0
// `warpsmith mcp`: the judge as tools for other agents, over standard input and output.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "commands/mcp/json_rpc.hpp"
#include "commands/mcp/judge_tools.hpp"
#include "commands/signals.hpp"
#include "runtime/log.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

constexpr size_t most_line_bytes = size_t{4} << 20U;
constexpr std::chrono::milliseconds poll_interval{200};

const char* const footer =
    "Speaks the Model Context Protocol: JSON-RPC, one message per line; logs go to standard\n"
    "error. An agent starts it as a tool server, for example:\n"
    "  {\"mcpServers\": {\"warpsmith\": {\"command\": \"./warpsmith\",\n"
    "    \"args\": [\"mcp\", \"--tasks\", \"configs/tasks/cpu/train\"]}}}\n"
    "Tools: list_tasks, read_task, check, verify, profile, explain_plan, submit. Calls run one\n"
    "after another. At the end of the input, what was received is answered: warpsmith mcp < FILE\n"
    "Exit codes: 0 the input ended, 2 bad input, 130 interrupted.";

/// A descriptor of standard output for the protocol only. All other output to it is redirected to
/// standard error, so that no library can break the protocol.
Result<UniqueFd> take_standard_output() {
  std::cout.flush();
  const int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (own < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return fail(ErrorCode::io_failed, "mcp: standard output cannot be duplicated");
  }
  return UniqueFd{own};
}

/// False once the other end of a pipe is closed.
bool has_reader(int output) {
  pollfd state{.fd = output, .events = 0, .revents = 0};
  return ::poll(&state, 1, 0) == 0;
}

/// Answers what was received before the input ended, as long as the output has a reader.
ExitCode answer_rest(McpSession& session, const SignalWait& signals, int output) {
  while (!session.await_answers(poll_interval)) {
    if (signals.arrived()) return ExitCode::interrupted;
    if (!has_reader(output)) break;
  }
  return ExitCode::success;
}

/// Handles lines until the client closes its end or Ctrl-C is pressed.
ExitCode read_lines(McpSession& session, const SignalWait& signals, int output) {
  LineReader reader(STDIN_FILENO, most_line_bytes);
  std::string line;
  while (!signals.arrived()) {
    switch (reader.next(line, poll_interval)) {
      case LineReader::Status::line:
        if (!line.empty()) session.handle(line);
        break;
      case LineReader::Status::too_long:
        session.refuse_long_line(most_line_bytes);
        break;
      case LineReader::Status::nothing:
        break;
      case LineReader::Status::end:
        return answer_rest(session, signals, output);
    }
  }
  return ExitCode::interrupted;
}

ExitCode mcp(const JudgeToolOptions& options) {
  const SignalWait signals{"stopping"};
  ::signal(SIGPIPE, SIG_IGN);
  auto output = take_standard_output();
  if (!output) return report(output.error());
  McpSession session(judge_tools(options), [&output](const std::string& line) {
    if (auto written = write_all(*output, line + '\n', "standard output"); !written) {
      log::warn("mcp: " + written.error().message);
    }
  });
  const ExitCode code = read_lines(session, signals, output->get());
  session.stop();
  return code;
}

}  // namespace

Command mcp_command() {
  return {"mcp", "Offer the judge to other agents as tools (Model Context Protocol)",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto options = std::make_shared<JudgeToolOptions>();
            app.add_option("--tasks", options->tasks,
                           "Task files and folders, separated by commas: their tasks have ids")
                ->type_name("DIR")
                ->delimiter(',')
                ->check(CLI::ExistingPath);
            app.add_option("--timeout", options->timeout_s, "Seconds for one call")
                ->capture_default_str()
                ->check(CLI::Range(1, 86'400));
            app.add_option("--keep", options->keep_s,
                           "Seconds that the sandbox stays ready after a call")
                ->capture_default_str()
                ->check(CLI::Range(0, 3'600));
            app.add_option("--gpu", options->gpu, "Number of the GPU")
                ->capture_default_str()
                ->check(CLI::Range(0, 63));
            app.add_option("--max-submissions", options->max_submissions,
                           "Submissions of each task; 0: no limit")
                ->capture_default_str()
                ->check(CLI::Range(0, 1'000'000));
            app.footer(footer);
            return [options] { return mcp(*options); };
          }};
}

}  // namespace warpsmith::commands
