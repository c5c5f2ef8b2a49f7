// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/composer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "actors/base/secret_key.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "runtime/environment.hpp"
#include "runtime/json_text.hpp"
#include "runtime/text.hpp"
#include "synthesis/composition.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t most_worker_deaths = 3;          // in a row, each with another candidate
constexpr std::chrono::seconds accept_timeout{30};  // a generator answers between two steps

std::string_view name_of(ComposeCompiler compiler) {
  static constexpr std::array<std::string_view, 3> names{"none", "aot_eager", "inductor"};
  return names.at(static_cast<size_t>(compiler));
}

/// Writes only the keys that are set, so that a run of an earlier version can be resumed.
void add_choices(nlohmann::json& origin, const ComposeConfig& compose) {
  if (!compose.shares.empty()) origin["shares"] = compose.shares;
  if (compose.compile != ComposeCompiler::none) origin["compile"] = name_of(compose.compile);
  if (compose.composer == ComposerKind::llm) origin["composer"] = "llm";
  if (!compose.url.empty()) origin["model"] = {compose.url, compose.model};
  if (compose.max_ms > 0) origin["window"] = {compose.min_ms, compose.max_ms};
}

/// The worker's settings for its endpoint; without an address it asks this actor.
nlohmann::json model_of(const ComposeConfig& compose) {
  nlohmann::json model = nlohmann::json::object();
  if (compose.url.empty()) return model;
  model["url"] = compose.url;
  model["model"] = compose.model;
  model["seconds"] = std::chrono::duration<double>(compose.answer_time).count();
  if (!compose.key_env.empty()) model["key_env"] = compose.key_env;
  return model;
}

nlohmann::json origin_of(const RunConfig& config) {
  const ComposeConfig& compose = config.synthesis.compose;
  std::vector<std::string> against;
  for (const auto* places : {&config.synthesis.held_out, &compose.against}) {
    for (const fs::path& place : *places) against.push_back(fs::absolute(place).string());
  }
  const std::chrono::duration<double> seconds = compose.candidate_time;
  nlohmann::json origin{{"seed", config.run.seed},
                        {"device", uses_gpus(config.sandbox) ? "cuda" : "cpu"},
                        {"against", against},
                        {"seconds", seconds.count()},
                        {"memory", compose.memory_bytes}};
  add_choices(origin, compose);
  return origin;
}

}  // namespace

std::string composing_origin(const RunConfig& config) {
  return json_text(origin_of(config));
}

Result<void> check_composer(const RunConfig& config) {
  if (config.synthesis.composers() == 0) return {};
  TRY_VOID(secret_key("synthesis.compose.key_env", config.synthesis.compose.key_env));
  return {};
}

std::optional<PolicyText> policy_text(const RunConfig& config,
                                      const std::shared_ptr<const policy::Tokenizer>& tokenizer,
                                      policy::ChatFrame frame, std::vector<int32_t> stop_tokens) {
  if (!config.synthesis.policy_composes()) return std::nullopt;
  PolicyText text;
  text.encode = [tokenizer, frame = std::move(frame)](const std::string& prompt) {
    return tokenizer->encode(policy::chat_prompt("", prompt, frame));
  };
  text.decode = [tokenizer](std::span<const int32_t> tokens) { return tokenizer->decode(tokens); };
  text.stop_tokens = std::move(stop_tokens);
  text.max_tokens = config.agent.max_tokens;
  text.max_answer = config.generator.max_new_tokens;
  return text;
}

ComposerSettings composer_settings(const RunConfig& config, const std::string& python,
                                   const fs::path& scratch, uint32_t index) {
  nlohmann::json settings = origin_of(config);
  settings["cache"] = (cache_folder() / "synthesis").string();
  settings["folder"] = (scratch / fmt::format("composer-{}", index)).string();
  ComposerSettings composer;
  if (config.synthesis.compose.composer == ComposerKind::llm) {
    settings["llm"] = model_of(config.synthesis.compose);
    composer.policy_timeout = config.synthesis.compose.answer_time;
  }
  if (const auto here = static_cast<uint64_t>(config.synthesis.count); index >= here) {
    composer.node = config.synthesis.compose.nodes.at(index - here);
    settings["node"] = composer.node;
  } else if (uses_gpus(config.sandbox)) {
    settings["gpu"] = config.sandbox.first_gpu + index % config.sandbox.gpus;
  }
  composer.worker = {python, json_text(settings), cores_outside_slots(config.sandbox)};
  return composer;
}

void ComposerState::start(Self self, ComposerSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
}

caf::result<synthesis::Composition> ComposerState::compose(atom::compose /*unused*/,
                                                           uint64_t index) {
  if (candidate_) return to_caf({ErrorCode::capacity, label() + ": composes already"});
  if (abandoned_) return to_caf(*abandoned_);
  if (is_remote() && !node_is_ready()) {
    return to_caf(
        abandoned_.value_or(Error{ErrorCode::capacity, label() + ": the node is not ready yet"}));
  }
  candidate_ = Candidate{index, self_->make_response_promise<synthesis::Composition>(),
                         ComposerStep::to_send, SteadyClock::now()};
  if (!worker_) start_worker();
  self_->send(self_, atom::tick_v);
  return candidate_->promise;
}

void ComposerState::start_worker() {
  auto started = ComposingWorker::start(settings_.worker);
  if (!started) throw ActorFailure(started.error());
  worker_ = std::move(*started);
  ready_ = false;
  started_ = SteadyClock::now();
}

/// Calls the node when the next call is due. A candidate must not wait for a node, because later
/// candidates wait for it.
bool ComposerState::node_is_ready() {
  if (abandoned_ || (!worker_ && SteadyClock::now() < call_again_at_)) return false;
  if (!worker_) start_worker();
  if (!ready_) poll_worker();
  return worker_ && ready_;
}

/// The current candidate goes to another composer.
void ComposerState::node_lost(const Error& why) {
  log::warn(label() + ": node lost: " + why.message);
  worker_.reset();
  end_question();
  const auto now = SteadyClock::now();
  if (ready_) last_ready_ = now;
  ready_ = false;
  if (!last_ready_) ++failed_calls_;
  backoff_ = std::clamp(2 * backoff_, settings_.first_backoff, settings_.longest_backoff);
  call_again_at_ = now + backoff_;
  if (const auto reason = reason_to_abandon(why)) {
    abandoned_ = Error{ErrorCode::process_failed,
                       label() + ": the node was abandoned" + *reason + ": " + why.message};
    log::warn(abandoned_->message);
  }
  if (!candidate_) return;
  candidate_->promise.deliver(to_caf({ErrorCode::peer_lost, label() + ": " + why.message}));
  candidate_.reset();
}

/// The rest of the sentence "the node was abandoned"; empty if a lost node is called again.
std::optional<std::string> ComposerState::reason_to_abandon(const Error& why) const {
  if (why.code == ErrorCode::unsupported) return "";
  if (!last_ready_) {
    if (failed_calls_ < settings_.most_calls) return std::nullopt;
    return fmt::format(" after {} calls", failed_calls_);
  }
  const auto away = SteadyClock::now() - *last_ready_;
  if (away < settings_.longest_absence) return std::nullopt;
  return ", unreachable for " + duration_text(away);
}

void ComposerState::tick(atom::tick /*unused*/) {
  if (!candidate_) return;
  if (ready_) advance();
  if (candidate_) poll_worker();
  if (candidate_) self_->delayed_send(self_, settings_.tick, atom::tick_v);
}

void ComposerState::advance() {
  switch (candidate_->step) {
    case ComposerStep::to_send:
      tell_worker(number_message(candidate_->index));
      break;
    case ComposerStep::with_model:
      if (SteadyClock::now() - candidate_->since > settings_.policy_timeout) {
        policy_failed("the policy did not answer within synthesis.compose.answer_time");
      }
      break;
    case ComposerStep::with_worker:
      break;
  }
}

void ComposerState::tell_worker(const std::string& message) {
  if (auto told = worker_->tell(message); !told) return worker_ended(told.error());
  candidate_->step = ComposerStep::with_worker;
  candidate_->since = SteadyClock::now();
}

void ComposerState::poll_worker() {
  auto answer = worker_->answer();
  if (!answer) return worker_ended(answer.error());
  if (*answer && !ready_) {
    ready_ = true;
    log::info(label() + ": ready to compose, " + **answer);
  } else if (*answer) {
    handle_message(**answer);
  } else if (worker_is_late()) {
    worker_ended({ErrorCode::timeout, "the composing worker did not answer"});
  }
}

bool ComposerState::worker_is_late() const {
  const auto now = SteadyClock::now();
  if (!ready_) return now - started_ > settings_.ready_timeout;
  return candidate_ && candidate_->step == ComposerStep::with_worker &&
         now - candidate_->since > settings_.answer_timeout;
}

void ComposerState::handle_message(const std::string& message) {
  const bool expected =
      candidate_ && candidate_->step == ComposerStep::with_worker && settings_.policy;
  const auto prompt = expected ? prompt_in(message) : std::nullopt;
  return prompt ? ask_policy(*prompt) : finish_candidate(message);
}

void ComposerState::finish_candidate(const std::string& answer) {
  auto composition = synthesis::parse_composition(answer);
  if (!composition) return worker_ended(composition.error());
  if (!candidate_ || composition->index != candidate_->index) {
    return worker_ended({ErrorCode::parse_failed, "the composing worker answered for another one"});
  }
  worker_deaths_ = 0;
  backoff_ = {};
  deliver(std::move(*composition));
}

/// If a worker ends during a candidate, the candidate is at fault, unless the worker never became
/// ready, the GPU was not free, or several workers in a row have ended.
void ComposerState::worker_ended(const Error& why) {
  if (is_remote()) return node_lost(why);
  worker_.reset();
  end_question();
  if (why.code == ErrorCode::unsupported) return abandon(why);
  if (why.code == ErrorCode::capacity) return return_candidate(why);
  if (!ready_ || ++worker_deaths_ == most_worker_deaths) throw ActorFailure(why);
  log::warn(fmt::format("{}: candidate {}: {}", label(), candidate_->index, why.message));
  deliver({.index = candidate_->index, .reason = "died", .detail = why.message.substr(0, 300)});
}

/// The current candidate is composed again later, by this or another composer.
void ComposerState::return_candidate(const Error& why) {
  log::warn(label() + ": " + why.message);
  candidate_->promise.deliver(to_caf({why.code, label() + ": " + why.message}));
  candidate_.reset();
}

void ComposerState::abandon(const Error& why) {
  abandoned_ = Error{ErrorCode::process_failed, label() + ": stopped composing: " + why.message};
  log::warn(abandoned_->message);
  candidate_->promise.deliver(to_caf(*abandoned_));
  candidate_.reset();
}

void ComposerState::deliver(synthesis::Composition composition) {
  ++composed_;
  candidate_->promise.deliver(std::move(composition));
  candidate_.reset();
}

/// Keeps no handle of a composer: its own handle would keep this actor alive.
void ComposerState::peers(const Peers& peers) {
  generators_ = peers.generators;
  const auto is_asked = [this](const GeneratorActor& g) { return g == question_->generator; };
  if (question_ && std::ranges::none_of(generators_, is_asked))
    policy_failed("the generator ended");
}

/// A generator that is busy or fails only uses up one of the candidate's tries.
void ComposerState::ask_policy(const std::string& prompt) {
  if (!settings_.policy || generators_.empty()) return policy_failed("there is no generator");
  const uint64_t index = candidate_->index;
  auto question = PolicyQuestion::make(*settings_.policy, index, ++questions_, prompt);
  if (!question) return policy_failed(question.error().message);
  const GeneratorActor& generator = generators_[index % generators_.size()];
  question_ = OpenQuestion{std::move(*question), generator};
  candidate_->step = ComposerStep::with_model;
  candidate_->since = SteadyClock::now();
  const auto failed = [this, number = questions_](const caf::error& error) {
    if (question_ && question_->question.call().turn == number)
      policy_failed(from_caf(error).message);
  };
  ask(self_, *this, "taken", generator, accept_timeout, question_->question.call())
      .then([](bool) {}, failed);
}

void ComposerState::policy_failed(const std::string& why) {
  log::info(fmt::format("{}: candidate {}: {}", label(), candidate_->index, why));
  end_question();
  tell_worker(failure_message(why));
}

void ComposerState::tokens(const TokenChunk& chunk) {
  if (!question_) return;
  const auto answer = question_->question.take(*settings_.policy, chunk);
  if (!answer) return;
  end_question();
  tell_worker(answer_message(*answer));
}

/// Frees the session in the generator.
void ComposerState::end_question() {
  if (!question_) return;
  self_->send(question_->generator, atom::release_v, question_->question.call().session);
  question_.reset();
}

void ComposerState::describe(ActorStatus& status) const {
  status.phase = candidate_               ? (ready_ ? "composing" : "preparing")
                 : is_remote() && !ready_ ? "no node"
                                          : "idle";
  if (question_) status.phase = "asking the policy";
  status.queued = candidate_ ? 1 : 0;
  status.gauges = {{"composed", static_cast<double>(composed_)}};
}

ComposerSelf::behavior_type composer(ComposerState::Self self, Identity identity,
                                     ComposerSettings settings) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, std::move(settings));
  return {on(self, "status", &ComposerState::status), on(self, "compose", &ComposerState::compose),
          on(self, "peers", &ComposerState::peers), on(self, "tokens", &ComposerState::tokens),
          on(self, "tick", &ComposerState::tick)};
}

}  // namespace warpsmith::actors
