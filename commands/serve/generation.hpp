// SPDX-License-Identifier: Apache-2.0
// One request from its prompts to the end of its answers.
#pragma once

#include <memory>
#include <vector>

#include "commands/serve/api_answer.hpp"
#include "commands/serve/engine_loop.hpp"
#include "commands/serve/served_text.hpp"

namespace warpsmith::commands {

/// Used by one thread at a time. Destruction cancels what still runs.
class Generation {
 public:
  /// Encodes and queues a request. Errors are answers: 400 for the client's faults, 429 for a full
  /// queue, 503 if the engine stops.
  static ApiResult<std::unique_ptr<Generation>> start(ApiRequest request, const ServedText& text,
                                                      EngineLoop& loop);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Waits for tokens up to the deadline and adds them; returns whether there were any. Error: the
  /// engine ended.
  ApiResult<bool> advance(Deadline deadline);

  const ApiRequest& request() const { return request_; }
  /// One per prompt and choice; the choices of a prompt are adjacent.
  std::vector<std::unique_ptr<ChoiceText>>& choices() { return choices_; }
  bool ended() const;
  Usage usage() const;

 private:
  Generation(ApiRequest request, const ServedText& text,
             const std::vector<std::vector<int32_t>>& prompts);

  const ApiRequest request_;
  std::vector<std::unique_ptr<ChoiceText>> choices_;
  int64_t prompt_tokens_ = 0;
  std::shared_ptr<TokenChannel> channel_;
};

}  // namespace warpsmith::commands
