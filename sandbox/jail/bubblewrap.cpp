// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/bubblewrap.hpp"

namespace warpsmith::sandbox {

std::vector<std::string> bubblewrap_arguments(const JailSpec& spec, const std::string& program,
                                              const BubblewrapDescriptors& descriptors) {
  std::vector<std::string> args{
      program,         "--unshare-user",       "--unshare-ipc", "--unshare-pid", "--unshare-net",
      "--unshare-uts", "--unshare-cgroup-try", "--uid",         "65534",         "--gid",
      "65534",         "--hostname",           "jail",          "--cap-drop",    "ALL",
      "--new-session", "--die-with-parent"};
  const auto add = [&](std::initializer_list<std::string> more) { args.insert(args.end(), more); };
  // The jailed process is the first of its namespace: no process of ours is in there to attack, and
  // the namespace ends with it. Shells expect an init that reaps their orphans.
  if (spec.kind != JailKind::shell) add({"--as-pid-1"});
  add({"--json-status-fd", std::to_string(descriptors.status)});
  add({"--seccomp", std::to_string(descriptors.seccomp)});
  // Not --dev: it fails if one node is missing, and it provides terminals.
  if (spec.kind != JailKind::run) {
    for (const char* node :
         {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
      add({"--dev-bind-try", node, node});
    }
    add({"--symlink", "/proc/self/fd", "/dev/fd"});
    add({"--size", std::to_string(shm_bytes), "--perms", "1777", "--tmpfs", "/dev/shm"});
  }
  for (const std::string& node : spec.devices) add({"--dev-bind", node, node});
  add({"--proc", "/proc"});
  // Before the binds: later it would hide those below /tmp, and links cannot be made in them.
  if (spec.limits.tmp_bytes > 0) {
    add({"--size", std::to_string(spec.limits.tmp_bytes), "--perms", "1777", "--tmpfs", "/tmp"});
  }
  for (const auto& [path, target] : spec.links) add({"--symlink", target, path});
  for (const Bind& bind : spec.read_only) add({"--ro-bind", bind.host, bind.jail});
  for (const Bind& bind : spec.read_write) add({"--bind", bind.host, bind.jail});
  for (const auto& [path, fd] : descriptors.files) {
    add({"--perms", "0444", "--ro-bind-data", std::to_string(fd), path});
  }
  add({"--remount-ro", "/", "--chdir", spec.directory, "--"});
  args.insert(args.end(), spec.argv.begin(), spec.argv.end());
  return args;
}

}  // namespace warpsmith::sandbox
