// SPDX-License-Identifier: Apache-2.0
// Composer: composes and filters new tasks while the run trains, one candidate at a time. Owns a
// worker process, which starts with the first request and takes turns on a GPU (turns.py); spawned
// and watched by the supervisor; bounded by one request in flight. When it dies, the synthesis asks
// another composer for the same candidate.
//
// A composer on a node works through a worker there, which the process here reaches by a command
// (remote.py). Losing a node does not end an actor: the node is called again after a growing wait.
// The composer abandons a node that cannot be reached in a few calls, is unreachable for too long,
// or refuses the run. It then answers each request with `process_failed`, as does a composer whose
// language model refuses to write.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <filesystem>
#include <optional>

#include "actors/base/actor_state.hpp"
#include "actors/composer/composing_worker.hpp"
#include "actors/composer/policy_question.hpp"
#include "actors/protocol/interfaces.hpp"
#include "policy/text/chat_format.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/clock.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

struct ComposerSettings {
  ComposingWorkerSpec worker;
  std::string node;                                    // the command that reaches it; empty: local
  std::optional<PolicyText> policy;                    // of the run's own generator, if it is asked
  std::chrono::milliseconds policy_timeout{120'000};   // of one answer of that generator
  std::chrono::milliseconds tick{50};                  // between two polls of the worker
  std::chrono::milliseconds ready_timeout{3'600'000};  // the first crawl takes minutes
  std::chrono::milliseconds answer_timeout{1'800'000};
  /// Waits before a lost node is called again.
  std::chrono::milliseconds first_backoff{1'000}, longest_backoff{60'000};
  uint32_t most_calls = 4;  // to a node that was never reached; then it is abandoned
  /// How long a node that was reached may be away; then it is abandoned (remote.py).
  std::chrono::milliseconds longest_absence{1'800'000};
};

/// The inputs that determine a run's candidates, on one line of JSON: seed, device, the tasks that
/// they must differ from, the limits of one candidate, and the keys of `synthesis.compose` that
/// differ from their defaults.
std::string composing_origin(const RunConfig& config);

/// Refuses a run whose endpoint's key is not in the environment; the error names the variable.
Result<void> check_composer(const RunConfig& config);

/// The text format of the run's own model; empty unless it composes.
std::optional<PolicyText> policy_text(const RunConfig& config,
                                      const std::shared_ptr<const policy::Tokenizer>& tokenizer,
                                      policy::ChatFrame frame, std::vector<int32_t> stop_tokens);

/// The settings of composer `index`; indices from `synthesis.count` on work on nodes. `scratch`:
/// the parent of its folder, which may outlive it.
ComposerSettings composer_settings(const RunConfig& config, const std::string& python,
                                   const std::filesystem::path& scratch, uint32_t index);

/// The next step of the current candidate.
enum class ComposerStep : uint8_t {
  to_send,      // this actor sends its number to the worker, once that is ready
  with_worker,  // the worker answers, or asks for text of the model
  with_model,   // a generator streams tokens up to the end, or until the deadline
};

/// The composer with its message to itself: poll the worker.
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
  struct Candidate {
    uint64_t index = 0;
    Promise promise;
    ComposerStep step = ComposerStep::to_send;
    SteadyClock::time_point since;  // of the step
  };
  /// A question to a generator and the generator that answers it.
  struct OpenQuestion {
    PolicyQuestion question;
    GeneratorActor generator;
  };

  void describe(ActorStatus& status) const override;
  bool is_remote() const { return !settings_.node.empty(); }
  void start_worker();
  bool node_is_ready();
  void node_lost(const Error& why);
  std::optional<std::string> reason_to_abandon(const Error& why) const;
  void advance();
  void tell_worker(const std::string& message);
  void handle_message(const std::string& message);
  void return_candidate(const Error& why);
  void abandon(const Error& why);
  void ask_policy(const std::string& prompt);
  void policy_failed(const std::string& why);
  void end_question();
  void poll_worker();
  void finish_candidate(const std::string& answer);
  void worker_ended(const Error& why);
  void deliver(synthesis::Composition composition);
  bool worker_is_late() const;

  Self self_ = nullptr;
  ComposerSettings settings_;
  std::optional<ComposingWorker> worker_;
  bool ready_ = false;  // the worker has reported it
  SteadyClock::time_point started_;
  std::optional<Candidate> candidate_;
  std::vector<GeneratorActor> generators_;
  std::optional<OpenQuestion> question_;  // in the step with_model
  uint32_t questions_ = 0;                // sent to a generator
  uint64_t composed_ = 0;
  uint32_t worker_deaths_ = 0;            // since the last answer
  std::chrono::milliseconds backoff_{0};  // before a lost node is called again
  SteadyClock::time_point call_again_at_;
  uint32_t failed_calls_ = 0;                          // before the node was reached once
  std::optional<SteadyClock::time_point> last_ready_;  // when the node was last reachable
  std::optional<Error> abandoned_;                     // why it stopped composing
};

ComposerSelf::behavior_type composer(ComposerState::Self self, Identity identity,
                                     ComposerSettings settings);

}  // namespace warpsmith::actors
