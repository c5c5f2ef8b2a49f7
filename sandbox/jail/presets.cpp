// SPDX-License-Identifier: Apache-2.0
// The files that each kind of jail shows.
#include "sandbox/jail/presets.hpp"

#include <filesystem>

#include "sandbox/jail/interpreter.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

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

Result<JailSpec> worker_jail(const std::string& python) {
  JailSpec spec;
  spec.kind = JailKind::worker;
  bind_system(spec);
  if (auto shown = show_interpreter(spec, python); !shown) return tl::unexpected(shown.error());
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
