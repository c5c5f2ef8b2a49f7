// SPDX-License-Identifier: Apache-2.0
// Pure: the meaning of an endpoint's reply, and the wait before the next attempt.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "actors/brain/chat_completion.hpp"
#include "runtime/http/http_reply.hpp"

namespace warpsmith::actors {

/// The response to a reply.
enum class ReplyAction : uint8_t {
  accept,     // it is an answer
  retry,      // a transient failure: wait and send the request again
  fail_turn,  // this request is refused: its trajectory ends, others continue
  end_run,    // no request can succeed
};

struct ReplyAssessment {
  ReplyAction action = ReplyAction::end_run;
  std::string why;    // unless it is an answer
  ChatAnswer answer;  // if it is one
};

/// The names that messages quote; they never contain the key.
struct Endpoint {
  std::string url;
  std::string model;
  std::string key_env;
};

/// `any_taken`: an earlier request was answered. Before the first answer, a refusal means a wrong
/// configuration and ends the run; later, it concerns only this trajectory.
ReplyAssessment assess_reply(const HttpReply& reply, const Endpoint& endpoint, bool any_taken);

/// Exponential backoff with jitter: half a second, then twice as long each time, up to a minute;
/// reduced by up to a half, so that requests that failed together spread out. The server's
/// retry_after takes precedence. Never more than `most`. `attempt` counts those made so far;
/// `uniform` is in [0, 1).
std::chrono::milliseconds wait_before(int64_t attempt,
                                      std::optional<std::chrono::seconds> retry_after,
                                      std::chrono::milliseconds most, double uniform);

}  // namespace warpsmith::actors
