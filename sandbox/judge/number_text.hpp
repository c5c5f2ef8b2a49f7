// SPDX-License-Identifier: Apache-2.0
// Numbers as feedback and refusals say them.
#pragma once

#include <string>

namespace warpsmith::sandbox {

/// As printf writes it.
std::string number(const char* format, double value);

/// Three figures, without an exponent while it can be read.
std::string brief(double value);

}  // namespace warpsmith::sandbox
