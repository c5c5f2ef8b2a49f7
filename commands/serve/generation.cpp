// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace warpsmith::commands {
namespace {

constexpr int retry_after_s = 1;

uint64_t fresh_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32U) | device();
}

ApiError answer_to(const Error& error) {
  if (error.code == ErrorCode::capacity) {
    return {.status = 429,
            .message = error.message,
            .code = "rate_limit_exceeded",
            .type = "rate_limit_error",
            .retry_after_s = retry_after_s};
  }
  if (error.code == ErrorCode::invalid_argument) return {.message = error.message};
  return {.status = 503,
          .message = error.message,
          .code = "unavailable",
          .type = "server_error",
          .retry_after_s = retry_after_s};
}

/// The sampling of a choice: equal seeds give equal answers, whatever else the engine computes.
policy::SamplingParams params_of(const ApiRequest& request, const ServedText& text, uint64_t seed,
                                 int32_t choice, size_t prompt) {
  policy::SamplingParams params = request.sampling;
  const auto room = static_cast<int32_t>(text.context - static_cast<int64_t>(prompt));
  params.max_tokens = request.limited ? std::min(params.max_tokens, room) : room;
  if (!request.ignore_stop_tokens) params.stop_tokens = text.stop_tokens;
  params.seed = seed;
  params.stream = static_cast<uint64_t>(choice);
  return params;
}

std::vector<policy::EngineRequest> sequences_of(const ApiRequest& request, const ServedText& text,
                                                const std::vector<std::vector<int32_t>>& prompts) {
  const uint64_t seed = request.seed ? *request.seed : fresh_seed();
  std::vector<policy::EngineRequest> sequences;
  for (const auto& prompt : prompts) {
    for (int32_t choice = 0; choice < request.choices; ++choice) {
      sequences.push_back({.whole = true,
                           .new_tokens = prompt,
                           .params = params_of(request, text, seed, choice, prompt.size())});
    }
  }
  return sequences;
}

}  // namespace

Generation::Generation(ApiRequest request, const ServedText& text,
                       const std::vector<std::vector<int32_t>>& prompts)
    : request_(std::move(request)) {
  for (const auto& prompt : prompts) {
    prompt_tokens_ += std::ssize(prompt);
    for (int32_t choice = 0; choice < request_.choices; ++choice) {
      choices_.push_back(std::make_unique<ChoiceText>(*text.tokenizer, request_, text.syntax));
    }
  }
}

ApiResult<std::unique_ptr<Generation>> Generation::start(ApiRequest request, const ServedText& text,
                                                         EngineLoop& loop) {
  TRY(const auto prompts, prompt_tokens(request, text));
  std::unique_ptr<Generation> generation(new Generation(std::move(request), text, prompts));
  if (std::ssize(generation->choices_) > loop.sessions()) {
    return refuse_parameter(
        "n", fmt::format("expected at most {} answers of one request, over all its prompts",
                         loop.sessions()));
  }
  auto channel = loop.submit(sequences_of(generation->request_, text, prompts));
  if (!channel) return tl::unexpected(answer_to(channel.error()));
  generation->channel_ = std::move(*channel);
  return generation;
}

Generation::~Generation() {
  if (channel_) channel_->cancel_all();
}

ApiResult<bool> Generation::advance(Deadline deadline) {
  const auto tokens = channel_->take(deadline);
  for (const ChannelToken& one : tokens) {
    ChoiceText& choice = *choices_[one.sequence];
    choice.add(one.token);
    if (choice.ended()) channel_->cancel(one.sequence);
  }
  if (!tokens.empty()) return true;
  if (const auto failure = channel_->failure()) return tl::unexpected(answer_to(*failure));
  return false;
}

bool Generation::ended() const {
  return std::ranges::all_of(choices_, [](const auto& choice) { return choice->ended(); });
}

Usage Generation::usage() const {
  Usage usage{.prompt_tokens = prompt_tokens_};
  for (const auto& choice : choices_) usage.completion_tokens += choice->tokens();
  return usage;
}

}  // namespace warpsmith::commands
