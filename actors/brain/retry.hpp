// SPDX-License-Identifier: Apache-2.0
// Pure: what a reply of the endpoint means, and how long to wait before the next attempt.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "actors/brain/chat_answer.hpp"
#include "runtime/http/http_reply.hpp"

namespace warpsmith::actors {

enum class Next : uint8_t {
  take,   // it is an answer
  again,  // failed in passing: wait and send it again
  skip,   // this request is refused: its trajectory ends, others go on
  end,    // no request can succeed: the run ends
};

struct Assessed {
  Next next = Next::end;
  std::string why;    // unless it is an answer
  ChatAnswer answer;  // if it is one
};

/// The names that messages quote; never the key.
struct Endpoint {
  std::string url;
  std::string model;
  std::string key_env;
};

/// `any_taken`: an earlier request was answered. Before that, a refusal means a wrong
/// configuration, which ends the run; after it, something about this one trajectory.
Assessed assess(const HttpReply& reply, const Endpoint& endpoint, bool any_taken);

/// Half a second, then twice as long each time, up to a minute; less up to a half of it, so that
/// requests which failed together part. What the server asks for wins. Never more than `most`.
/// `attempt` counts those made so far; `uniform` is in [0, 1).
std::chrono::milliseconds wait_before(int64_t attempt,
                                      std::optional<std::chrono::seconds> retry_after,
                                      std::chrono::milliseconds most, double uniform);

}  // namespace warpsmith::actors
