// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/own_program.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "runtime/process/child.hpp"

namespace warpsmith::sandbox {
namespace {

/// The loader and the libraries that the program needs, as it prints them.
Result<std::vector<std::string>> runner_files(const std::string& runner) {
  static std::map<std::string, std::vector<std::string>> known;
  if (const auto found = known.find(runner); found != known.end()) return found->second;
  ChildSpec ask;
  ask.argv = {runner, "libraries"};
  const auto answer = run_child(ask, Deadline::after(std::chrono::seconds{30}));
  if (!answer) return fail("runner " + runner, answer.error());
  if (answer->exit_code != 0) {
    return fail(ErrorCode::process_failed,
                "runner " + runner + " does not list its libraries: " + answer->err);
  }
  std::vector<std::string> files;
  std::stringstream lines(answer->out);
  for (std::string line; std::getline(lines, line);) files.push_back(line);
  return known[runner] = std::move(files);
}

/// The folders of libraries outside the loader's default search path.
std::string search_path_of(const std::vector<std::string>& files) {
  std::set<std::string> folders;
  for (const std::string& file : files) {
    const bool found_anyway = file.starts_with("/lib") || file.starts_with("/usr/lib");
    if (!found_anyway) folders.insert(std::filesystem::path(file).parent_path().string());
  }
  std::string path;
  for (const std::string& folder : folders) path += (path.empty() ? "" : ":") + folder;
  return path;
}

/// Whether the jail shows the file already, through a folder bound under its own name.
bool is_bound(const JailSpec& spec, const std::string& file) {
  return std::ranges::any_of(spec.read_only, [&](const Bind& bind) {
    return bind.host == bind.jail && file.starts_with(bind.host + "/");
  });
}

}  // namespace

Result<void> add_own_program(JailSpec& spec, const std::string& program) {
  auto files = runner_files(program);
  if (!files) return tl::unexpected(std::move(files.error()));
  spec.read_only.push_back({program, own_program_path});
  for (const std::string& file : *files) {
    if (!is_bound(spec, file)) spec.read_only.push_back({file, file});
  }
  if (const std::string path = search_path_of(*files); !path.empty()) {
    spec.environment["LD_LIBRARY_PATH"] = path;
  }
  return {};
}

}  // namespace warpsmith::sandbox
