// SPDX-License-Identifier: Apache-2.0
#include "runtime/environment.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace warpsmith {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): never set here
  return value == nullptr ? std::string{} : std::string{value};
}

std::string home_folder() {
  if (const std::string home = variable("HOME"); !home.empty()) return home;
  const passwd* user = getpwuid(getuid());
  return user == nullptr ? "/tmp" : user->pw_dir;
}

}  // namespace

std::string program_version() {
  return WARPSMITH_VERSION;
}

std::filesystem::path executable_folder() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path{} : self.parent_path();
}

std::filesystem::path source_folder() {
  const std::string home = variable("WARPSMITH_HOME");
  return home.empty() ? WARPSMITH_SOURCE_FOLDER : home;
}

std::filesystem::path python_interpreter() {
  const std::string python = variable("WARPSMITH_PYTHON");
  return python.empty() ? WARPSMITH_DEFAULT_PYTHON : python;
}

std::filesystem::path sandbox_program() {
  const std::string program = variable("WARPSMITH_SANDBOX");
  if (!program.empty()) return program;
  return executable_folder().parent_path() / "sandbox" / "warpsmith-sandbox";
}

std::filesystem::path cache_folder() {
  const std::string base = variable("XDG_CACHE_HOME");
  const std::filesystem::path folder = base.empty() ? home_folder() + "/.cache" : base;
  return folder / "warpsmith";
}

}  // namespace warpsmith
