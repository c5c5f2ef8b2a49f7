// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_hints.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "sandbox/contract/host/python_code.hpp"

namespace warpsmith::sandbox {
namespace {

// A name behind one of these is an operator of torch.
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

}  // namespace warpsmith::sandbox
