// SPDX-License-Identifier: Apache-2.0
// Logging. Only log.cpp sees spdlog, whose header costs seconds per file; callers build the text.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::log {

enum class Level { info, warn, error, off };

/// "info", "warn", "error" or "off"; info for anything else.
Level level_named(std::string_view name);

/// Where lines go. Called once by main; before that, warnings and errors go to standard error.
struct Sinks {
  Level level = Level::info;
  bool to_stderr = true;
  std::string file;  // empty: none. Rotated at 16 MiB, three files kept.
};
void start(const Sinks& sinks);

/// Writes out what is buffered; safe to call twice.
void flush();

void info(std::string_view text);
void warn(std::string_view text);
void error(std::string_view text);

}  // namespace warpsmith::log
