// SPDX-License-Identifier: Apache-2.0
// [brain]: what is asked for an agent's turns instead of the model: a chat endpoint, or a folder of
// recorded solutions. Without `url` and `candidates` the model samples.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

/// How an endpoint gets the schemas of the tools.
enum class BrainTools : uint8_t {
  native,  // the field `tools` of a request; calls come back in `tool_calls`
  text,    // in the system message, in agent.syntax; calls are text
};

struct BrainConfig {
  std::string url;      // of an OpenAI-compatible API up to /v1; /chat/completions is added
  std::string model;    // its name there
  std::string key_env;  // environment variable that holds the key; empty: no key is sent
  // For task T: the folder T/, or T/1/, T/2/ …, one for each trajectory of T in order.
  std::filesystem::path candidates;
  BrainTools tools = BrainTools::native;
  int64_t concurrency = 4;   // requests under way
  double temperature = 1.0;  // 0 with eval --greedy and collect.greedy
  bool stream = true;        // the answer comes piece by piece, so that silence is noticed
  // A JSON object that is merged into each request; null removes a field:
  // '{"max_tokens": null, "max_completion_tokens": 4096}'.
  std::string extra;
  int64_t retries = 5;  // of a request that failed in passing, with growing waits
  std::chrono::milliseconds connect_timeout{std::chrono::seconds{10}};
  std::chrono::milliseconds silence_timeout{std::chrono::minutes{5}};   // until the next byte
  std::chrono::milliseconds request_timeout{std::chrono::minutes{15}};  // of one attempt
  std::chrono::milliseconds max_wait{std::chrono::minutes{2}};          // before an attempt
  // The budget of the whole run, over all resumes; -1: no limit. What is under way when a limit is
  // reached still counts, so tokens and cost may exceed it by `concurrency` answers.
  int64_t max_requests = -1;  // attempts included
  int64_t max_tokens = -1;    // of prompts and answers, as the endpoint counts them
  double max_cost = -1;       // in the currency of the prices
  double price_in = 0;        // per million tokens of prompts
  double price_out = 0;       // per million tokens of answers
};

/// True if a brain takes the model's place.
bool has_brain(const BrainConfig& c);

void describe(Fields& fields, BrainConfig& c);
void validate(const BrainConfig& c, Complaints& complaints);

}  // namespace warpsmith
