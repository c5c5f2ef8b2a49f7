// SPDX-License-Identifier: Apache-2.0
// Logging. Only log.cpp includes spdlog, whose header costs seconds per file.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::log {

enum class Level { info, warn, error, off };

/// The level with that name ("info", "warn", "error", "off"); info for any other name.
Level level_named(std::string_view name);

/// Where log lines go. Before main calls `start`, warnings and errors go to standard error.
struct Sinks {
  Level level = Level::info;
  bool to_stderr = true;
  std::string file;  // no file if empty. Rotated at 16 MiB, three files kept.
};
void start(const Sinks& sinks);

/// Writes out buffered lines.
void flush();

void info(std::string_view text);
void warn(std::string_view text);
void error(std::string_view text);

}  // namespace warpsmith::log
