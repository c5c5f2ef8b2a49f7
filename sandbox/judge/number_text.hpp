// SPDX-License-Identifier: Apache-2.0
// Formats numbers for feedback and refusals.
#pragma once

#include <cstdio>
#include <string>

namespace warpsmith::sandbox {

/// Formats like printf.
inline std::string number(const char* format, double value) {
  char text[64];
  (void)std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Three significant figures, without an exponent where that stays readable.
inline std::string brief(double value) {
  if (value >= 1e5) return number("%.1e", value);
  if (value >= 100) return number("%.0f", value);
  if (value >= 10) return number("%.1f", value);
  return number("%.2g", value);
}

}  // namespace warpsmith::sandbox
