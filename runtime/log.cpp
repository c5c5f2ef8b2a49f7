// SPDX-License-Identifier: Apache-2.0
#include "runtime/log.hpp"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace warpsmith::log {
namespace {

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> make_logger(const Sinks& sinks) {
  std::vector<spdlog::sink_ptr> targets;
  if (sinks.to_stderr) targets.push_back(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  if (!sinks.file.empty()) {
    constexpr size_t max_bytes = 16U << 20U;
    targets.push_back(
        std::make_shared<spdlog::sinks::rotating_file_sink_mt>(sinks.file, max_bytes, 3));
  }
  auto logger = std::make_shared<spdlog::logger>("warpsmith", targets.begin(), targets.end());
  logger->set_level(level_of(sinks.level));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%-5l%$ %v");
  logger->flush_on(spdlog::level::info);
  return logger;
}

std::shared_ptr<spdlog::logger>& current() {
  static std::shared_ptr<spdlog::logger> logger = make_logger({Level::warn, true, {}});
  return logger;
}

}  // namespace

Level level_named(std::string_view name) {
  if (name == "warn") return Level::warn;
  if (name == "error") return Level::error;
  return name == "off" ? Level::off : Level::info;
}

void start(const Sinks& sinks) {
  current() = make_logger(sinks);
}
void flush() {
  current()->flush();
}
void info(std::string_view text) {
  current()->info("{}", text);
}
void warn(std::string_view text) {
  current()->warn("{}", text);
}
void error(std::string_view text) {
  current()->error("{}", text);
}

}  // namespace warpsmith::log
