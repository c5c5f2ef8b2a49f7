// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/jail_remedy.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>

namespace warpsmith::sandbox {
namespace {

/// One text for each Container.
using Remedies = std::array<const char*, 4>;

// The kernel lets a new namespace mount /proc only where no part of the /proc here is covered.
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
