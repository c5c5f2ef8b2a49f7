// SPDX-License-Identifier: Apache-2.0
#include "actors/base/script.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"

namespace warpsmith::actors {
namespace {

constexpr int bad_arguments = 2;  // argparse's exit code: it prints its usage, then the reason

}  // namespace

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

Result<std::string> run_script(const std::filesystem::path& script,
                               const std::vector<std::string>& arguments,
                               std::chrono::milliseconds timeout) {
  ChildSpec spec{.argv = {python_interpreter().string(), script.string()}};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  auto exit = run_child(spec, Deadline::after(timeout));
  if (!exit) return fail(script.string(), std::move(exit.error()));
  if (exit->timed_out) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    return fail(ErrorCode::timeout,
                fmt::format("{}: not done within {} s", script.string(), seconds.count()));
  }
  if (exit->exit_code == 0) return std::move(exit->out);
  if (exit->exit_code == bad_arguments) {
    return fail(ErrorCode::invalid_argument, last_line(exit->err));
  }
  const std::string end = exit->signal != 0 ? fmt::format("signal {}", exit->signal)
                                            : fmt::format("exit code {}", exit->exit_code);
  return fail(ErrorCode::process_failed, script.string() + ": " + end + ": " + exit->err);
}

Result<std::map<std::string, double>> numbers_of(const std::filesystem::path& script,
                                                 const std::string& output,
                                                 const std::vector<std::string>& names) {
  const auto json = nlohmann::json::parse(output, nullptr, /*allow_exceptions=*/false);
  std::map<std::string, double> numbers;
  for (const std::string& name : names) {
    if (!json.is_object() || !json.value(name, nlohmann::json()).is_number()) {
      return fail(ErrorCode::parse_failed, script.string() + ": unexpected output: " + output);
    }
    numbers[name] = json[name].get<double>();
  }
  return numbers;
}

}  // namespace warpsmith::actors
