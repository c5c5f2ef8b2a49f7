// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/computing_libraries.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string_view>

namespace warpsmith::sandbox {
namespace {

constexpr std::array<std::string_view, 4> libraries{"libcu", "libnv", "triton", "libgomp"};

bool computes(std::string_view name) {
  return std::ranges::any_of(
      libraries, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace

std::vector<std::string> computing_libraries(const std::string& maps) {
  std::set<std::string> found;
  std::istringstream lines{maps};
  for (std::string line; std::getline(lines, line);) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string name = line.substr(line.find_last_of('/') + 1);
    if (name.find(".so") != std::string::npos && computes(name)) found.insert(name);
  }
  return {found.begin(), found.end()};
}

}  // namespace warpsmith::sandbox
