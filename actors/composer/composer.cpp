// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/composer.hpp"

#include <algorithm>

#include "actors/composer/worker_words.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "synthesis/composition_record.hpp"

namespace warpsmith::actors {
namespace {

constexpr uint32_t most_deaths = 3;  // of workers in a row, each with another candidate

}  // namespace

void ComposerState::start(Self self, ComposerSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
}

caf::result<synthesis::Composition> ComposerState::compose(atom::compose /*unused*/,
                                                           uint64_t index) {
  if (work_) return to_caf({ErrorCode::capacity, label() + ": composes already"});
  if (given_up_) return to_caf(*given_up_);
  if (is_away() && !node_is_ready()) {
    return to_caf(
        given_up_.value_or(Error{ErrorCode::capacity, label() + ": the node is not there yet"}));
  }
  work_ = Work{index, self_->make_response_promise<synthesis::Composition>(), ComposerStep::to_ask,
               SteadyClock::now()};
  if (!worker_) start_worker();
  self_->send(self_, atom::tick_v);
  return work_->promise;
}

void ComposerState::start_worker() {
  auto started = ComposingWorker::start(settings_.worker);
  if (!started) throw ActorFailure(started.error());
  worker_ = std::move(*started);
  ready_ = false;
  started_ = SteadyClock::now();
}

/// Calls the node where that is due. A candidate must not wait for a node: others wait behind it.
bool ComposerState::node_is_ready() {
  if (given_up_ || (!worker_ && SteadyClock::now() < call_at_)) return false;
  if (!worker_) start_worker();
  if (!ready_) look();
  return worker_ && ready_;
}

/// The candidate under way goes to another composer.
void ComposerState::node_lost(const Error& why) {
  log::warn(label() + ": node lost: " + why.message);
  worker_.reset();
  end_question();
  const auto now = SteadyClock::now();
  if (ready_) there_at_ = now;
  ready_ = false;
  if (!there_at_) ++calls_;
  wait_ = std::clamp(2 * wait_, settings_.first_wait, settings_.most_wait);
  call_at_ = now + wait_;
  if (const auto reason = why_given_up(why)) {
    given_up_ = Error{ErrorCode::process_failed,
                      label() + ": the node is given up" + *reason + ": " + why.message};
    log::warn(given_up_->message);
  }
  if (!work_) return;
  work_->promise.deliver(to_caf({ErrorCode::peer_lost, label() + ": " + why.message}));
  work_.reset();
}

/// Continues "the node is given up"; nothing if a lost node is called again.
std::optional<std::string> ComposerState::why_given_up(const Error& why) const {
  if (why.code == ErrorCode::unsupported) return "";
  if (!there_at_) {
    if (calls_ < settings_.most_calls) return std::nullopt;
    return " after " + std::to_string(calls_) + " calls";
  }
  const auto away = SteadyClock::now() - *there_at_;
  if (away < settings_.most_away) return std::nullopt;
  return ", away for " + seconds_text(away);
}

void ComposerState::tick(atom::tick /*unused*/) {
  if (!work_) return;
  if (ready_) go_on();
  if (work_) look();
  if (work_) self_->delayed_send(self_, settings_.tick, atom::tick_v);
}

void ComposerState::go_on() {
  switch (work_->step) {
    case ComposerStep::to_ask:
      tell_worker(number_message(work_->index));
      break;
    case ComposerStep::with_model:
      if (SteadyClock::now() - work_->since > settings_.policy_within) {
        policy_failed("the policy gave no answer within synthesis.compose.answer_time");
      }
      break;
    case ComposerStep::with_worker:
      break;
  }
}

void ComposerState::tell_worker(const std::string& message) {
  if (auto told = worker_->tell(message); !told) return worker_ended(told.error());
  work_->step = ComposerStep::with_worker;
  work_->since = SteadyClock::now();
}

void ComposerState::look() {
  auto answer = worker_->answer();
  if (!answer) return worker_ended(answer.error());
  if (*answer && !ready_) {
    ready_ = true;
    log::info(label() + ": ready to compose, " + **answer);
  } else if (*answer) {
    heard(**answer);
  } else if (late()) {
    worker_ended({ErrorCode::timeout, "the composing worker did not answer"});
  }
}

bool ComposerState::late() const {
  const auto now = SteadyClock::now();
  if (!ready_) return now - started_ > settings_.ready_within;
  return work_ && work_->step == ComposerStep::with_worker &&
         now - work_->since > settings_.answer_within;
}

void ComposerState::heard(const std::string& message) {
  const bool expected = work_ && work_->step == ComposerStep::with_worker && settings_.policy;
  const auto prompt = expected ? prompt_in(message) : std::nullopt;
  return prompt ? ask_policy(*prompt) : take(message);
}

void ComposerState::take(const std::string& answer) {
  auto composition = synthesis::parse_composition(answer);
  if (!composition) return worker_ended(composition.error());
  if (!work_ || composition->index != work_->index) {
    return worker_ended({ErrorCode::parse_failed, "the composing worker answered for another one"});
  }
  deaths_ = 0;
  wait_ = {};
  deliver(std::move(*composition));
}

/// A worker that ends with a candidate counts as that candidate's fault, unless it never became
/// ready, the GPU was not free, or none answers any more.
void ComposerState::worker_ended(const Error& why) {
  if (is_away()) return node_lost(why);
  worker_.reset();
  end_question();
  if (why.code == ErrorCode::unsupported) return give_up(why);
  if (why.code == ErrorCode::capacity) return give_back(why);
  if (!ready_ || ++deaths_ == most_deaths) throw ActorFailure(why);
  log::warn(label() + ": candidate " + std::to_string(work_->index) + ": " + why.message);
  deliver({.index = work_->index, .reason = "died", .detail = why.message.substr(0, 300)});
}

/// The candidate under way is composed again later, here or elsewhere.
void ComposerState::give_back(const Error& why) {
  log::warn(label() + ": " + why.message);
  work_->promise.deliver(to_caf({why.code, label() + ": " + why.message}));
  work_.reset();
}

void ComposerState::give_up(const Error& why) {
  given_up_ = Error{ErrorCode::process_failed, label() + ": composes no more: " + why.message};
  log::warn(given_up_->message);
  work_->promise.deliver(to_caf(*given_up_));
  work_.reset();
}

void ComposerState::deliver(synthesis::Composition composition) {
  ++composed_;
  work_->promise.deliver(std::move(composition));
  work_.reset();
}

void ComposerState::describe(ActorStatus& status) const {
  status.phase = work_                  ? (ready_ ? "composing" : "preparing")
                 : is_away() && !ready_ ? "no node"
                                        : "idle";
  if (asked_) status.phase = "asking the policy";
  status.queued = work_ ? 1 : 0;
  status.gauges = {{"composed", static_cast<double>(composed_)}};
}

ComposerSelf::behavior_type composer(ComposerState::Self self, Identity identity,
                                     ComposerSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(self, std::move(settings));
  return {on(self, "status", &ComposerState::status), on(self, "compose", &ComposerState::compose),
          on(self, "peers", &ComposerState::peers), on(self, "tokens", &ComposerState::tokens),
          on(self, "tick", &ComposerState::tick)};
}

}  // namespace warpsmith::actors
