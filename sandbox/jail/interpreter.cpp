// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/interpreter.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* environment_file = "pyvenv.cfg";
// What Python reads of its prefix, with tools in bin that torch starts (ninja).
constexpr std::array parts{"bin", "lib", "lib64", "include", environment_file};
constexpr int most_hops = 16;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

bool is_shown(const JailSpec& spec, const fs::path& path) {
  return std::ranges::any_of(spec.read_only,
                             [&](const Bind& bind) { return is_below(path, bind.jail); });
}

/// Whether a standard library lies in the folder, where Python itself looks for it.
bool has_library(const fs::path& prefix) {
  for (const char* folder : {"lib", "lib64"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(prefix / folder, error)) {
      const bool named = entry.path().filename().string().starts_with("python");
      if (named && is_there(entry.path() / "os.py")) return true;
    }
  }
  return false;
}

/// The virtual environment or installation that the program is in; empty: none.
fs::path prefix_of(const fs::path& program) {
  if (program.parent_path().filename() != "bin") return {};
  const fs::path prefix = program.parent_path().parent_path();
  return is_there(prefix / environment_file) || has_library(prefix) ? prefix : fs::path{};
}

/// Whether a user's other files are in the folder: a home, or a folder above one.
bool holds_home(const fs::path& folder) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(folder, error);
  std::vector<fs::path> homes{"/root"};
  if (const char* home = std::getenv("HOME")) homes.emplace_back(home);
  if (const passwd* user = ::getpwuid(::geteuid())) homes.emplace_back(user->pw_dir);
  return place.parent_path() == "/home" || std::ranges::any_of(homes, [&](const fs::path& home) {
           return is_below(fs::weakly_canonical(home, error), place);
         });
}

/// The interpreter from which a virtual environment with a copy of it was made; empty: none.
fs::path original_of(const fs::path& copy) {
  std::ifstream file(copy.parent_path().parent_path() / environment_file);
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view key = "home = ";
    if (!line.starts_with(key)) continue;
    const fs::path folder = line.substr(key.size());
    return is_there(folder / copy.filename()) ? folder / copy.filename() : folder / "python3";
  }
  return {};
}

/// The next program on the way to the installation; empty at its end.
fs::path behind(const fs::path& program) {
  std::error_code error;
  if (!fs::is_symlink(program, error)) return original_of(program);
  return (program.parent_path() / fs::read_symlink(program, error)).lexically_normal();
}

tl::unexpected<Error> no_jail(const std::string& python, const std::string& why) {
  return fail(ErrorCode::unsupported, "no jail can show the interpreter " + python + ": " + why);
}

Result<void> show_prefix(JailSpec& spec, const fs::path& prefix, const std::string& python) {
  if (holds_home(prefix)) {
    return no_jail(python, "it is installed into " + prefix.string() +
                               ", which holds a user's own files; make a virtual environment, or "
                               "install Python into a folder of its own");
  }
  for (const char* part : parts) {
    const fs::path path = prefix / part;
    if (is_there(path)) spec.read_only.push_back({path, path});
  }
  return {};
}

Result<void> show_program(JailSpec& spec, const fs::path& program, const std::string& python) {
  const fs::path prefix = prefix_of(program);
  if (!prefix.empty()) return show_prefix(spec, prefix, python);
  std::error_code error;
  if (!fs::is_symlink(program, error)) {
    return no_jail(python, program.string() +
                               " has no lib/python3.*/os.py beside its bin/; name "
                               "the interpreter itself");
  }
  spec.links[program] = fs::read_symlink(program, error);
  return {};
}

}  // namespace

Result<void> show_interpreter(JailSpec& spec, const std::string& python) {
  std::error_code error;
  fs::path program = fs::absolute(python, error).lexically_normal();
  for (int hop = 0; hop < most_hops && !program.empty(); ++hop) {
    if (!is_shown(spec, program)) {
      if (auto shown = show_program(spec, program, python); !shown) return shown;
    }
    program = behind(program);
  }
  return {};
}

}  // namespace warpsmith::sandbox
