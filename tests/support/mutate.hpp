// SPDX-License-Identifier: Apache-2.0
// Damaged variants of valid inputs for bounded, seeded fuzz tests of parsers.
#pragma once

#include <algorithm>
#include <string>

#include "runtime/random_stream.hpp"

namespace warpsmith::test {

/// Makes one to four random edits: changes a byte, removes, repeats or cuts off a stretch, enlarges
/// a number.
inline std::string mutate(std::string text, RandomStream& random) {
  const auto at = [&] { return static_cast<size_t>(random.below(text.size())); };
  for (uint64_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
    const size_t place = at();
    const size_t length = 1 + static_cast<size_t>(random.below(20));
    switch (random.below(6)) {
      case 0:
        text[place] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(place, length);
        break;
      case 2:
        text.insert(place, text.substr(at(), length));
        break;
      case 3:
        text.resize(place);
        break;
      case 4:
        text[place] = "{}[]\",:0-9eE.\\"[random.below(14)];
        break;
      default: {
        const size_t digit = text.find_first_of("0123456789", place);
        if (digit != std::string::npos) text.replace(digit, 1, "99999999999999999999");
      }
    }
  }
  return text;
}

}  // namespace warpsmith::test
