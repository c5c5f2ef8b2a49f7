// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_review.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/compile/python_lexer.hpp"
#include "sandbox/profile/profile.hpp"

namespace warpsmith::sandbox {
namespace {

// A name after one of these is an operator of torch.
constexpr std::array<std::string_view, 6> owners{"torch.nn.functional.", "torch.ops.aten.",
                                                 "torch.linalg.",        "torch.fft.",
                                                 "torch.special.",       "F."};
// Names in `torch.` that compute by a library.
constexpr std::array<std::string_view, 26> operators{
    "matmul",     "mm",          "bmm",     "addmm",     "baddbmm", "einsum",  "tensordot",
    "conv1d",     "conv2d",      "conv3d",  "softmax",   "relu",    "sigmoid", "tanh",
    "layer_norm", "batch_norm",  "cumsum",  "logsumexp", "exp",     "sum",     "mean",
    "max_pool2d", "log_softmax", "compile", "addmv",     "dot"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view word_at(std::string_view line, size_t at) {
  size_t end = at;
  while (end < line.size() && is_word(line[end])) ++end;
  return line.substr(at, end - at);
}

/// The call at `at` whose owner is one of `owners`, or an operator of torch itself; else empty.
std::string call_at(std::string_view line, size_t at) {
  for (const std::string_view owner : owners) {
    if (line.substr(at).starts_with(owner)) {
      const std::string_view name = word_at(line, at + owner.size());
      if (!name.empty()) return std::string(owner) + std::string(name);
    }
  }
  constexpr std::string_view torch = "torch.";
  if (!line.substr(at).starts_with(torch)) return "";
  const std::string_view name = word_at(line, at + torch.size());
  const bool computes = std::ranges::find(operators, name) != operators.end();
  return computes ? std::string(torch) + std::string(name) : "";
}

/// The first call in the line; " @ " is a product.
std::string hint_in(std::string_view line) {
  if (line.starts_with("import ") || line.starts_with("from ")) return "";
  for (size_t at = 0; at < line.size(); ++at) {
    const bool begins = at == 0 || (!is_word(line[at - 1]) && line[at - 1] != '.');
    if (!begins) continue;
    if (std::string call = call_at(line, at); !call.empty()) return call;
  }
  return line.find(" @ ") != std::string_view::npos ? "@" : "";
}

constexpr size_t named_kernels = 3;       // of a library, in a message
constexpr size_t kernel_name_bytes = 80;  // shown of each
constexpr const char* rule = "banned_construct: this task takes custom kernels only, ";

std::string list_of(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

/// Why one call's kernels break the rule, or empty.
std::string breach_of(const CallKernels& candidate) {
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

std::vector<std::string> library_hints(const FileSet& modules, size_t most) {
  std::vector<std::string> hints;
  for (const auto& [name, content] : modules) {
    std::istringstream lines{python_code(content)};
    size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const std::string call = hint_in(line);
      if (call.empty() || hints.size() == most) continue;
      std::string hint = name;
      hints.push_back(hint.append(":").append(std::to_string(number)).append(": ").append(call));
    }
  }
  return hints;
}

void forbid_libraries(const StageFacts& stage, Decision& decision) {
  const std::vector<std::string>& used = stage.hints.empty() ? stage.libraries : stage.hints;
  if (decision.outcome != VerdictClass::passed || used.empty()) return;
  decision.outcome = VerdictClass::banned_construct;
  decision.feedback = rule + ("found " + list_of(used));
}

void forbid_library_kernels(const CallKernels& candidate, Verdict& verdict) {
  const std::string breach = breach_of(candidate);
  if (breach.empty()) return;
  verdict.outcome = VerdictClass::banned_construct;
  verdict.feedback = rule + breach;
}

}  // namespace warpsmith::sandbox
