// SPDX-License-Identifier: Apache-2.0
// Formats numbers for feedback and refusals.
#pragma once

#include <string>

namespace warpsmith::sandbox {

/// Formats like printf.
std::string number(const char* format, double value);

/// Three significant figures, without an exponent where that stays readable.
std::string brief(double value);

}  // namespace warpsmith::sandbox
