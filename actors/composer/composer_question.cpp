// SPDX-License-Identifier: Apache-2.0
// The composer's questions to the run's own generator.
#include <algorithm>

#include "actors/base/ask.hpp"
#include "actors/composer/composer.hpp"
#include "actors/composer/worker_words.hpp"
#include "actors/protocol/inspect.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::seconds taken_within{30};  // a generator answers between two steps

}  // namespace

/// Keeps no handle of a composer, since its own would keep this actor alive.
void ComposerState::peers(const Peers& peers) {
  generators_ = peers.generators;
  const auto is_asked = [this](const GeneratorActor& g) { return g == asked_->generator; };
  if (asked_ && std::ranges::none_of(generators_, is_asked)) policy_failed("the generator ended");
}

/// A generator that is busy or fails costs the candidate one of its tries (asking.py), nothing
/// else.
void ComposerState::ask_policy(const std::string& prompt) {
  if (!settings_.policy || generators_.empty()) return policy_failed("there is no generator");
  const uint64_t index = work_->index;
  auto question = PolicyQuestion::make(*settings_.policy, index, ++questions_, prompt);
  if (!question) return policy_failed(question.error().message);
  const GeneratorActor& generator = generators_[index % generators_.size()];
  asked_ = Asked{std::move(*question), generator};
  work_->step = ComposerStep::with_model;
  work_->since = SteadyClock::now();
  const auto failed = [this, number = questions_](const caf::error& error) {
    if (asked_ && asked_->question.call().turn == number) policy_failed(from_caf(error).message);
  };
  ask(self_, *this, "taken", generator, taken_within, asked_->question.call())
      .then([](bool) {}, failed);
}

void ComposerState::policy_failed(const std::string& why) {
  log::info(label() + ": candidate " + std::to_string(work_->index) + ": " + why);
  end_question();
  tell_worker(failure_message(why));
}

void ComposerState::tokens(const TokenChunk& chunk) {
  if (!asked_) return;
  const auto answer = asked_->question.take(*settings_.policy, chunk);
  if (!answer) return;
  end_question();
  tell_worker(answer_message(*answer));
}

/// Frees the session's place in the generator.
void ComposerState::end_question() {
  if (!asked_) return;
  self_->send(asked_->generator, atom::release_v, asked_->question.call().session);
  asked_.reset();
}

}  // namespace warpsmith::actors
