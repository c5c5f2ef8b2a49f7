// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/presets.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "runtime/process/child.hpp"

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
fs::path next_program(const fs::path& program) {
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
                               "install Python into its own folder");
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
                               " has no lib/python3.*/os.py next to its bin/; name "
                               "the interpreter itself");
  }
  spec.links[program] = fs::read_symlink(program, error);
  return {};
}

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

void bind_if_there(JailSpec& spec, const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) spec.read_only.push_back({path, path});
}

/// The distribution's programs and libraries, without users' files.
void bind_system(JailSpec& spec) {
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache",
                           "/etc/alternatives", "/etc/localtime"}) {
    bind_if_there(spec, path);
  }
}

}  // namespace

Result<void> show_interpreter(JailSpec& spec, const std::string& python) {
  std::error_code error;
  fs::path program = fs::absolute(python, error).lexically_normal();
  for (int hop = 0; hop < most_hops && !program.empty(); ++hop) {
    if (!is_shown(spec, program)) {
      TRY_VOID(show_program(spec, program, python));
    }
    program = next_program(program);
  }
  return {};
}

Result<void> add_own_program(JailSpec& spec, const std::string& program) {
  TRY(auto files, runner_files(program));
  spec.read_only.push_back({program, own_program_path});
  for (const std::string& file : files) {
    if (!is_bound(spec, file)) spec.read_only.push_back({file, file});
  }
  if (const std::string path = search_path_of(files); !path.empty()) {
    spec.environment["LD_LIBRARY_PATH"] = path;
  }
  return {};
}

Result<JailSpec> worker_jail(const std::string& python) {
  JailSpec spec;
  spec.kind = JailKind::worker;
  bind_system(spec);
  TRY_VOID(show_interpreter(spec, python));
  spec.argv = {python};
  // torch.compile reads the user's name and home, and getpwuid fails in here.
  spec.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/tmp"},
                      {"LOGNAME", "jail"},       {"USER", "jail"},
                      {"TMPDIR", "/tmp"},        {"LANG", "C.UTF-8"},
                      {"OMP_NUM_THREADS", "1"},  {"OMP_WAIT_POLICY", "passive"}};
  spec.directory = "/tmp";
  spec.capture_output = true;
  spec.limits.memory_bytes = 8ULL << 30U;
  spec.limits.processes = 256;
  spec.limits.file_bytes = 512ULL << 20U;
  spec.limits.tmp_bytes = 1ULL << 30U;
  spec.limits.open_files = 1024;
  spec.limits.cpu = std::chrono::hours{24};
  return spec;
}

JailSpec compile_jail() {
  JailSpec spec;
  spec.kind = JailKind::compile;
  for (const char* path : {"/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/include",
                           "/lib", "/lib64", "/bin"}) {
    bind_if_there(spec, path);
  }
  spec.environment = {{"PATH", "/usr/bin:/bin"}, {"TMPDIR", "/tmp"}, {"LC_ALL", "C"}};
  spec.directory = "/tmp";
  spec.capture_output = true;
  return spec;
}

JailSpec shell_jail(const std::string& workspace) {
  JailSpec spec;
  spec.kind = JailKind::shell;
  bind_system(spec);
  spec.read_write.push_back({workspace, "/workspace"});
  spec.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/tmp"},   {"LOGNAME", "jail"},
                      {"USER", "jail"},          {"TMPDIR", "/tmp"}, {"LANG", "C.UTF-8"}};
  spec.directory = "/workspace";
  spec.capture_output = true;
  spec.limits.memory_bytes = 1ULL << 30U;
  spec.limits.processes = 64;
  return spec;
}

}  // namespace warpsmith::sandbox
