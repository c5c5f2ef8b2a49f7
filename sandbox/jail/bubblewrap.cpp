// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/bubblewrap.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>

namespace warpsmith::sandbox {
namespace {

/// One text for each Container.
using Remedies = std::array<const char*, 4>;

// The kernel lets a new namespace mount /proc only if no part of the /proc here is covered.
constexpr Remedies masked_proc{
    "parts of /proc are covered here (see /proc/self/mountinfo): uncover them, or run elsewhere",
    "Docker covers parts of /proc: docker run --security-opt systempaths=unconfined",
    "Podman covers parts of /proc: podman run --security-opt unmask=ALL",
    "the pod covers parts of /proc: securityContext.procMount: Unmasked, with hostUsers: false"};

constexpr Remedies no_namespaces{
    "user namespaces must be allowed: sysctl kernel.unprivileged_userns_clone=1, "
    "user.max_user_namespaces=10000 and, on Ubuntu, "
    "kernel.apparmor_restrict_unprivileged_userns=0",
    "Docker's seccomp profile refuses user namespaces: docker run --security-opt "
    "seccomp=unconfined --security-opt apparmor=unconfined",
    "user namespaces must be allowed on the host: sysctl user.max_user_namespaces=10000; or "
    "podman run --security-opt seccomp=unconfined",
    "the pod's seccomp profile refuses user namespaces: securityContext.seccompProfile.type: "
    "Unconfined and appArmorProfile.type: Unconfined"};

bool is_there(const char* path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

std::vector<std::string> bubblewrap_arguments(const JailSpec& spec, const std::string& program,
                                              const BubblewrapDescriptors& descriptors) {
  std::vector<std::string> args{
      program,         "--unshare-user",       "--unshare-ipc", "--unshare-pid", "--unshare-net",
      "--unshare-uts", "--unshare-cgroup-try", "--uid",         "65534",         "--gid",
      "65534",         "--hostname",           "jail",          "--cap-drop",    "ALL",
      "--new-session", "--die-with-parent"};
  const auto add = [&](std::initializer_list<std::string> more) { args.insert(args.end(), more); };
  // The jailed process is the first of its namespace: there is no process of the judge in it to
  // attack, and the namespace ends with it. Shells expect an init that reaps their orphans.
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

Container this_container() {
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return Container::kubernetes;
  if (is_there("/run/.containerenv")) return Container::podman;
  return is_there("/.dockerenv") ? Container::docker : Container::none;
}

std::string jail_remedy(std::string_view bubblewrap_says, Container container) {
  const auto index = static_cast<size_t>(container);
  if (bubblewrap_says.find("Can't mount proc") != std::string_view::npos) return masked_proc[index];
  for (const char* refused : {"namespace", "uid map", "RTM_NEWADDR"}) {
    if (bubblewrap_says.find(refused) != std::string_view::npos) return no_namespaces[index];
  }
  return {};
}

Error jail_not_made(std::string bubblewrap_says) {
  while (bubblewrap_says.ends_with('\n')) bubblewrap_says.pop_back();
  const std::string remedy = jail_remedy(bubblewrap_says, this_container());
  return {ErrorCode::unsupported, "jail: bubblewrap could not make it: " + bubblewrap_says +
                                      (remedy.empty() ? "" : "; " + remedy)};
}

}  // namespace warpsmith::sandbox
