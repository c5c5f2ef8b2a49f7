// SPDX-License-Identifier: Apache-2.0
// [brain]: answers an agent's turns in place of the model, from a chat endpoint or a folder of
// recorded solutions. Without `url` and `candidates` the model samples. Also has the rules for
// endpoints in any table.
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
  native,  // the field `tools` of a request; calls are returned in `tool_calls`
  text,    // in the system message, in agent.syntax; calls are text
};

struct BrainConfig {
  std::string url;      // of an OpenAI-compatible API up to /v1; /chat/completions is added
  std::string model;    // its name there
  std::string key_env;  // environment variable with the key; empty: no key is sent
  // For task T: the folder T/, or T/1/, T/2/ …, one for each trajectory of T in order.
  std::filesystem::path candidates;
  BrainTools tools = BrainTools::native;
  int64_t concurrency = 4;   // requests in flight
  double temperature = 1.0;  // 0 with eval --greedy and collect.greedy
  bool stream = true;        // the answer arrives in pieces, so a stalled endpoint is noticed
  // A JSON object that is merged into each request; null removes a field:
  // '{"max_tokens": null, "max_completion_tokens": 4096}'.
  std::string extra;
  int64_t retries = 5;  // after a transient failure, with growing waits
  std::chrono::milliseconds connect_timeout{std::chrono::seconds{10}};
  std::chrono::milliseconds silence_timeout{std::chrono::minutes{5}};   // until the next byte
  std::chrono::milliseconds request_timeout{std::chrono::minutes{15}};  // of one attempt
  std::chrono::milliseconds max_wait{std::chrono::minutes{2}};          // before an attempt
  // The budget of the whole run, over all resumes; -1: no limit. Requests in flight when a limit is
  // reached still count, so tokens and cost may exceed it by `concurrency` answers.
  int64_t max_requests = -1;  // attempts included
  int64_t max_tokens = -1;    // of prompts and answers, as the endpoint counts them
  double max_cost = -1;       // in the currency of the prices
  double price_in = 0;        // per million tokens of prompts
  double price_out = 0;       // per million tokens of answers
};

/// True if a brain replaces the model.
bool has_brain(const BrainConfig& c);

void describe(Fields& fields, BrainConfig& c);
void validate(const BrainConfig& c, Complaints& complaints);

/// Requires a plain http(s) URL, which cannot contain a key; `table`: "brain". The complaint does
/// not name the place: for an option, the place is its text, which may contain the key.
void validate_url(const std::string& table, const std::string& url, Complaints& complaints);

/// Requires the name of an environment variable: any other text may be the key itself. This
/// complaint does not name the place either.
void validate_key_env(const std::string& table, const std::string& name, Complaints& complaints);

}  // namespace warpsmith
