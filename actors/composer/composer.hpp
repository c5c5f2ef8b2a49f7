// SPDX-License-Identifier: Apache-2.0
// Composer: composes and filters new tasks beside training, one candidate at a time. Owns a worker
// process, which starts with the first request; spawned and watched by the supervisor; bounded by
// one request under way. Its worker takes turns on a GPU (turns.py). When it dies, the synthesis
// asks another composer for the same candidate. The work of a composer on a node is done by a
// worker there, which the process here reaches by a command (remote.py): a node that is lost ends
// no actor, and is called again after a growing wait. A node that was never there in a few calls,
// is away for too long, or refuses the run, is given up: the composer then answers each request
// with `process_failed`. So does one whose language model will write no more.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <optional>

#include "actors/base/actor_state.hpp"
#include "actors/composer/composing_worker.hpp"
#include "actors/composer/policy_question.hpp"
#include "actors/protocol/interfaces.hpp"
#include "runtime/clock.hpp"

namespace warpsmith::actors {

struct ComposerSettings {
  ComposingSpec worker;
  std::string node;                                   // the command that reaches it; empty: here
  std::optional<PolicyText> policy;                   // of the run's own generator, if that writes
  std::chrono::milliseconds policy_within{120'000};   // of one answer of it
  std::chrono::milliseconds tick{50};                 // between two looks for an answer
  std::chrono::milliseconds ready_within{3'600'000};  // the first crawl takes minutes
  std::chrono::milliseconds answer_within{1'800'000};
  std::chrono::milliseconds first_wait{1'000}, most_wait{60'000};  // before a node is called again
  uint32_t most_calls = 4;  // of a node that was never there; then it is given up
  std::chrono::milliseconds most_away{1'800'000};  // the same of a node that was there; remote.py
};

/// What comes next for the candidate under way.
enum class ComposerStep : uint8_t {
  to_ask,       // this actor gives its number to the worker, once that is ready
  with_worker,  // the worker answers, or says what it needs for the answer
  with_model,   // a generator streams tokens up to the end, or until the deadline
};

/// The composer with its message to itself: look for an answer.
using ComposerSelf = ComposerActor::extend<caf::reacts_to<atom::tick>>;

class ComposerState : public ActorState {
 public:
  using Self = ComposerSelf::stateful_pointer<ComposerState>;

  void start(Self self, ComposerSettings settings);
  caf::result<synthesis::Composition> compose(atom::compose, uint64_t index);
  void tick(atom::tick);
  void peers(const Peers& peers);
  void tokens(const TokenChunk& chunk);

 private:
  using Promise = caf::typed_response_promise<synthesis::Composition>;
  /// The candidate under way.
  struct Work {
    uint64_t index = 0;
    Promise promise;
    ComposerStep step = ComposerStep::to_ask;
    SteadyClock::time_point since;  // of the step
  };
  /// What a generator is asked.
  struct Asked {
    PolicyQuestion question;
    GeneratorActor generator;
  };

  void describe(ActorStatus& status) const override;
  bool is_away() const { return !settings_.node.empty(); }
  void start_worker();
  bool node_is_ready();
  void node_lost(const Error& why);
  std::optional<std::string> why_given_up(const Error& why) const;
  void go_on();
  void tell_worker(const std::string& message);
  void heard(const std::string& message);
  void give_back(const Error& why);
  void give_up(const Error& why);
  void ask_policy(const std::string& prompt);
  void policy_failed(const std::string& why);
  void end_question();
  void look();
  void take(const std::string& answer);
  void worker_ended(const Error& why);
  void deliver(synthesis::Composition composition);
  bool late() const;

  Self self_ = nullptr;
  ComposerSettings settings_;
  std::optional<ComposingWorker> worker_;
  bool ready_ = false;  // the worker has said so
  SteadyClock::time_point started_;
  std::optional<Work> work_;
  std::vector<GeneratorActor> generators_;
  std::optional<Asked> asked_;  // in the step with_model
  uint32_t questions_ = 0;      // put to a generator
  uint64_t composed_ = 0;
  uint32_t deaths_ = 0;                              // of workers since the last answer
  std::chrono::milliseconds wait_{0};                // before a lost node is called again
  SteadyClock::time_point call_at_;                  // not earlier
  uint32_t calls_ = 0;                               // that ended before the node was there once
  std::optional<SteadyClock::time_point> there_at_;  // when the node was last known to be there
  std::optional<Error> given_up_;                    // why it composes no more
};

ComposerSelf::behavior_type composer(ComposerState::Self self, Identity identity,
                                     ComposerSettings settings);

}  // namespace warpsmith::actors
