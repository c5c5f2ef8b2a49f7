// SPDX-License-Identifier: Apache-2.0
// Clients of `bench serve`: streams of /v1/completions over one machine's loopback.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::commands {

struct ServeLoad {
  std::string host = "127.0.0.1";
  int port = 0;
  std::string model;                          // its name in requests
  std::vector<std::vector<int32_t>> prompts;  // one stream each, all at once
  int64_t new_tokens = 192;                   // of each stream
};

struct ServeLoadReport {
  int64_t tokens = 0;             // that the streams' last events report
  double seconds = 0;             // from the first request to the end of the last stream
  double first_token_median = 0;  // seconds from a stream's request to its first event
};

/// Opens all streams at once, each on its own connection and thread, and reads them to their ends.
/// The first failure of a stream is the error.
Result<ServeLoadReport> run_serve_load(const ServeLoad& load);

}  // namespace warpsmith::commands
