// SPDX-License-Identifier: Apache-2.0
#include "runtime/one_line.hpp"

#include <utility>

namespace warpsmith {

std::string one_line(std::string text) {
  for (const auto& [end, letters] : {std::pair{'\n', "\\n"}, std::pair{'\r', "\\r"}}) {
    for (size_t at = text.find(end); at != std::string::npos; at = text.find(end, at)) {
      text.replace(at, 1, letters);
    }
  }
  return text;
}

}  // namespace warpsmith
