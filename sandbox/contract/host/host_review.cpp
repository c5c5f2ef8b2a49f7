// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_review.hpp"

#include <set>
#include <string>
#include <vector>

#include "sandbox/profile/own_kernels.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t named_kernels = 3;       // of a library, in a message
constexpr size_t kernel_name_bytes = 80;  // shown of each
constexpr const char* rule = "banned_construct: this task takes custom kernels only, ";

std::string list_of(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

/// Why one call's kernels break the rule, or empty.
std::string breach_of(const PartyKernels& candidate) {
  std::set<std::string> libraries;
  bool own = false;
  for (const ProfiledKernel& kernel : candidate.kernels) {
    if (kernel.kind != cuda::RecordKind::kernel || is_moving_kernel(kernel.name)) continue;
    own = own || !is_library_kernel(kernel.name);
    if (!is_library_kernel(kernel.name) || libraries.size() == named_kernels) continue;
    libraries.insert(kernel.name.substr(0, kernel_name_bytes));
  }
  if (!libraries.empty()) return "a call ran " + list_of({libraries.begin(), libraries.end()});
  if (own) return "";
  return "a call ran none" + (candidate.reason.empty() ? "" : ": " + candidate.reason);
}

}  // namespace

void forbid_libraries(const StageFacts& stage, Decision& decision) {
  const std::vector<std::string>& used = stage.hints.empty() ? stage.libraries : stage.hints;
  if (decision.outcome != VerdictClass::passed || used.empty()) return;
  decision.outcome = VerdictClass::banned_construct;
  decision.feedback = rule + ("found " + list_of(used));
}

void forbid_library_kernels(const PartyKernels& candidate, Verdict& verdict) {
  const std::string breach = breach_of(candidate);
  if (breach.empty()) return;
  verdict.outcome = VerdictClass::banned_construct;
  verdict.feedback = rule + breach;
}

}  // namespace warpsmith::sandbox
