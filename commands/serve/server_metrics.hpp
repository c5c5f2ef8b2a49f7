// SPDX-License-Identifier: Apache-2.0
// Counters of the server, as Prometheus text.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "commands/serve/engine_loop.hpp"

namespace warpsmith::commands {

/// Thread-safe.
class ServerMetrics {
 public:
  void count_request(const std::string& endpoint, int status, std::chrono::nanoseconds took);
  void count_first_token(std::chrono::nanoseconds after);
  void count_tokens(int64_t prompt, int64_t completion);
  void count_cancelled();

  /// Prometheus' text format, with the loop's gauges.
  std::string text(const LoopStatus& loop) const;

 private:
  struct Sum {
    double seconds = 0;
    uint64_t count = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> requests_;  // by endpoint and status
  Sum took_, first_token_;
  uint64_t prompt_tokens_ = 0, completion_tokens_ = 0, cancelled_ = 0;
};

}  // namespace warpsmith::commands
