// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/brain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <caf/send.hpp>
#include <utility>

#include "actors/base/secret_key.hpp"
#include "actors/brain/candidates.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "runtime/policy_version.hpp"
#include "runtime/text.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {
namespace {

int64_t trajectories_at_once(const RunConfig& config) {
  return config.rollout.count * config.rollout.concurrent;
}

RequestStyle style_of(const RunConfig& config) {
  const BrainConfig& c = config.brain;
  RequestStyle style;
  style.model = c.model;
  // eval --greedy and collect.greedy set the generator's temperature to 0.
  style.temperature = config.generator.temperature == 0 ? 0 : c.temperature;
  style.stream = c.stream;
  style.dialect = c.tools;
  style.syntax = config.agent.syntax;
  style.extra = c.extra;
  if (config.agent.answer == AnswerForm::calls) {
    style.tools = sandbox::tools_named(config.agent.tools).value_or(sandbox::all_tools());
  }
  return style;
}

template <class T>
T value_or_fail(Result<T> result) {
  if (!result) throw ActorFailure(result.error());
  return std::move(*result);
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

Result<std::string> brain_key(const BrainConfig& c) {
  return secret_key("brain.key_env", c.key_env);
}

Result<void> check_brain(const RunConfig& config, const BrainText& text) {
  const BrainConfig& c = config.brain;
  TRY_VOID(brain_key(c));
  TRY_VOID(check_extra(c.extra));
  std::error_code none;
  if (!c.candidates.empty() && !std::filesystem::is_directory(c.candidates, none)) {
    return fail(ErrorCode::invalid_config,
                "brain.candidates: expected a folder, got " + c.candidates.string());
  }
  const auto reader = ChatReader::make(text.tokenizer, text.frame, text.stop_tokens);
  if (!reader) return fail(config.model.folder.string(), reader.error());
  return {};
}

BrainSettings brain_settings(const RunConfig& config, BrainText text, const RunPaths& run,
                             std::shared_ptr<EndRequest> end) {
  auto key = brain_key(config.brain);
  if (!key) throw ActorFailure(key.error());
  BrainSettings settings;
  settings.config = config.brain;
  settings.style = style_of(config);
  settings.text = std::move(text);
  settings.key = std::move(*key);
  settings.run = run;
  settings.chunk_tokens = static_cast<size_t>(config.generator.chunk_tokens);
  settings.max_sessions = static_cast<size_t>(2 * trajectories_at_once(config));
  settings.seed = static_cast<uint64_t>(config.run.seed);
  settings.end = std::move(end);
  return settings;
}

std::chrono::milliseconds brain_timeout(const RunConfig& config) {
  const BrainConfig& c = config.brain;
  const int64_t rounds = 1 + trajectories_at_once(config) / c.concurrency;
  return (c.request_timeout + c.max_wait) * ((c.retries + 1) * rounds);
}

void BrainState::start(Self self, BrainSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
  random_ = RandomStream{settings_.seed, label()};
  const BrainConfig& c = settings_.config;
  endpoint_ = {without_slash(c.url) + "/chat/completions", c.model, c.key_env};
  const BrainText& text = settings_.text;
  reader_ = value_or_fail(ChatReader::make(text.tokenizer, text.frame, text.stop_tokens));
  log_ = value_or_fail(ExchangeLog::open(settings_.run.folder, settings_.key));
  usage_ = value_or_fail(log_->usage());
  ending_ = settings_.end->asked().has_value();
  inbox_ = std::make_shared<Inbox>();
  const auto address = caf::actor_cast<caf::actor_addr>(self->ctrl());
  client_ = std::make_unique<HttpClient>([inbox = inbox_, address](uint64_t id, HttpReply reply) {
    {
      const std::scoped_lock lock{inbox->mutex};
      inbox->replies.emplace_back(id, std::move(reply));
    }
    if (const auto brain = caf::actor_cast<BrainSelf>(address)) {
      caf::anon_send(brain, atom::progress_v);
    }
  });
}

caf::error BrainState::refusal(TrajectoryId session) {
  held_.insert(session);
  settings_.end->set_held(held_.size());
  return to_caf({ErrorCode::capacity, label() + ": the run ends"});
}

caf::result<bool> BrainState::generate(const GenerateCall& call) {
  if (ending_) return refusal(call.session);
  if (!sessions_.contains(call.session) && sessions_.size() >= settings_.max_sessions) {
    return to_caf({ErrorCode::capacity, label() + ": its maximum number of sessions is reached"});
  }
  Session& session = sessions_[call.session];
  drop_turn(session);
  if (call.whole) {
    session.tokens.clear();
    log_->close(call.session);  // its next request is also recorded in full
  }
  session.tokens.insert(session.tokens.end(), call.new_tokens.begin(), call.new_tokens.end());
  Turn& turn = session.turn.emplace(Turn{});
  turn.number = call.turn;
  turn.credit = call.credit;
  turn.rollout = caf::actor_cast<RolloutActor>(self_->current_sender());
  turn.promise = std::make_shared<Promise>(self_->make_response_promise<bool>());
  const Promise promise = *turn.promise;
  if (!settings_.config.candidates.empty()) {
    ask_folder(call.session);
  } else {
    queue_.push_back(call.session);
    start_queued();
  }
  return promise;
}

/// The rollout no longer waits for the turn, or repeats the request.
void BrainState::drop_turn(Session& session) {
  if (!session.turn) return;
  const Turn turn = std::move(*session.turn);
  session.turn.reset();
  if (turn.phase == Phase::asking) {
    client_->cancel(turn.ticket);
    asking_.erase(turn.ticket);
  }
  turn.promise->deliver(to_caf({ErrorCode::stale, "another request replaced this one"}));
}

void BrainState::release(atom::release /*unused*/, TrajectoryId session) {
  if (const auto found = sessions_.find(session); found != sessions_.end()) {
    drop_turn(found->second);
    sessions_.erase(found);
  }
  log_->close(session);
  if (held_.erase(session) > 0) settings_.end->set_held(held_.size());
  start_queued();
}

void BrainState::start_queued() {
  while (!queue_.empty() && asking_.size() < static_cast<size_t>(settings_.config.concurrency)) {
    const TrajectoryId id = queue_.front();
    const auto found = sessions_.find(id);
    const bool there = found != sessions_.end() && found->second.turn;
    if (!there || found->second.turn->phase != Phase::queued || ending_) {
      queue_.pop_front();
      continue;
    }
    if (std::string why = spent(settings_.config, usage_); !why.empty()) {
      return end_run({{ErrorCode::capacity, std::move(why)}, /*limit=*/true});
    }
    queue_.pop_front();
    ask_endpoint(id, found->second);
  }
}

HttpRequest BrainState::http_request(std::string body) const {
  const BrainConfig& c = settings_.config;
  HttpRequest request{endpoint_.url, {"Content-Type: application/json"}, std::move(body), {}};
  if (!settings_.key.empty()) request.headers.push_back("Authorization: Bearer " + settings_.key);
  request.limits.connect = c.connect_timeout;
  request.limits.silence = c.silence_timeout;
  request.limits.whole = c.request_timeout;
  return request;
}

void BrainState::ask_endpoint(TrajectoryId id, Session& session) {
  const auto messages = reader_->read(session.tokens);
  if (!messages) return fail_turn(id, messages.error());
  Turn& turn = *session.turn;
  const ChatRequest request = chat_request(*messages, settings_.style, turn.credit);
  require_written(log_->asked({id, turn.number, ++turn.attempts}, endpoint_.url, request));
  ++usage_.requests;
  keep_usage();
  turn.phase = Phase::asking;
  turn.ticket = ++tickets_;
  asking_[turn.ticket] = id;
  client_->post(turn.ticket, http_request(request.body()));
}

void BrainState::ask_folder(TrajectoryId id) {
  const auto place = place_of(settings_.run, id);
  if (!place) return fail_turn(id, place.error());
  const auto answer = candidate_answer(settings_.config.candidates, *place);
  if (!answer) return fail_turn(id, {ErrorCode::unsupported, answer.error().message});
  deliver(id, *answer, /*whole=*/true);
}

void BrainState::replied(atom::progress /*unused*/) {
  std::vector<std::pair<uint64_t, HttpReply>> replies;
  {
    const std::scoped_lock lock{inbox_->mutex};
    replies.swap(inbox_->replies);
  }
  for (auto& [ticket, reply] : replies) {
    const auto found = asking_.extract(ticket);
    if (!found.empty()) handle_reply(found.mapped(), std::move(reply));
  }
  start_queued();
}

void BrainState::handle_reply(TrajectoryId id, HttpReply reply) {
  // Endpoints quote a wrong key in their messages.
  for (std::string* text : {&reply.body, &reply.detail, &reply.location, &reply.content_type}) {
    *text = without_secret(std::move(*text), settings_.key);
  }
  Turn& turn = *sessions_.at(id).turn;
  turn.phase = Phase::waiting;
  const AttemptId at{id, turn.number, turn.attempts};
  const double seconds = static_cast<double>(reply.took.count()) / 1000;
  ReplyAssessment assessed = assess_reply(reply, endpoint_, usage_.answers > 0);
  assessed.why = without_secret(std::move(assessed.why), settings_.key);  // JSON may escape it
  if (assessed.action == ReplyAction::accept) {
    require_written(log_->answered(at, record_of(assessed.answer), seconds));
    return answered(id, assessed.answer);
  }
  require_written(log_->failed(at, reply.status, assessed.why, seconds));
  if (ending_) return hold_turn(id);
  if (assessed.action == ReplyAction::retry) return retry_turn(id, reply, assessed.why);
  if (assessed.action == ReplyAction::fail_turn)
    return fail_turn(id, {ErrorCode::unsupported, assessed.why});
  end_run({{ErrorCode::invalid_config, assessed.why}});
}

void BrainState::answered(TrajectoryId id, const ChatAnswer& answer) {
  const std::string text = turn_text(answer, settings_.style.syntax);
  const auto& tokenizer = *settings_.text.tokenizer;
  // If the endpoint reports no counts, this run's tokens are charged.
  const auto in = answer.tokens_in.value_or(static_cast<int64_t>(sessions_.at(id).tokens.size()));
  const auto out =
      answer.tokens_out ? *answer.tokens_out : static_cast<int64_t>(tokenizer.encode(text).size());
  charge(usage_, settings_.config, in, out);
  keep_usage();
  deliver(id, text, answer.finish != "length");
}

void BrainState::retry_turn(TrajectoryId id, const HttpReply& reply, const std::string& why) {
  Turn& turn = *sessions_.at(id).turn;
  if (turn.attempts > settings_.config.retries) {
    return end_run(
        {{ErrorCode::peer_lost,
          fmt::format("{} (attempt {}, the last one of brain.retries)", why, turn.attempts)}});
  }
  const auto wait =
      wait_before(turn.attempts, reply.retry_after, settings_.config.max_wait, random_.uniform());
  log::warn(fmt::format("{}: trajectory {}: {}; attempt {} in {}", label(), id, why,
                        turn.attempts + 1, duration_text(wait)));
  turn.phase = Phase::waiting;
  turn.due = SteadyClock::now() + wait;
  self_->delayed_send(self_, wait, atom::tick_v);
}

void BrainState::tick(atom::tick /*unused*/) {
  const auto now = SteadyClock::now();
  for (auto& [id, session] : sessions_) {
    if (!session.turn || session.turn->phase != Phase::waiting || session.turn->due > now) continue;
    session.turn->phase = Phase::queued;
    queue_.push_back(id);
  }
  start_queued();
}

/// `whole`: the answer is complete, so the token that ends a turn follows it.
void BrainState::deliver(TrajectoryId id, const std::string& text, bool whole) {
  Session& session = sessions_.at(id);
  const Turn turn = std::move(*session.turn);
  session.turn.reset();
  const policy::Tokenizer& tokenizer = *settings_.text.tokenizer;
  std::vector<int32_t> tokens = tokenizer.encode(policy::MarkedText().add_untrusted(text));
  const auto end = tokenizer.id_of(settings_.text.frame.end);
  if (whole && end) tokens.push_back(*end);
  const auto credit = static_cast<size_t>(std::max<int64_t>(turn.credit, 0));
  const bool cut = tokens.size() > credit;
  if (cut) tokens.resize(credit);
  session.tokens.insert(session.tokens.end(), tokens.begin(), tokens.end());
  send_tokens(turn, id, tokens, whole && !cut ? FinishReason::stop_token : FinishReason::length);
  turn.promise->deliver(true);
}

void BrainState::send_tokens(const Turn& turn, TrajectoryId id, std::span<const int32_t> tokens,
                             FinishReason finish) {
  do {
    const size_t count = std::min(settings_.chunk_tokens, tokens.size());
    TokenChunk chunk{id, turn.number, {}, {}, {}, FinishReason::none};
    chunk.tokens.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
    chunk.log_probs.assign(count, unknown_log_prob);
    chunk.versions.assign(count, no_weights);
    tokens = tokens.subspan(count);
    if (tokens.empty()) chunk.finish = finish;
    self_->send(turn.rollout, std::move(chunk));
  } while (!tokens.empty());
}

void BrainState::fail_turn(TrajectoryId id, const Error& error) {
  Session& session = sessions_.at(id);
  const Turn turn = std::move(*session.turn);
  session.turn.reset();
  turn.promise->deliver(to_caf(error));
}

/// Refuses a turn, so that its rollout keeps the trajectory open.
void BrainState::hold_turn(TrajectoryId id) {
  const caf::error error = refusal(id);
  Session& session = sessions_.at(id);
  const Turn turn = std::move(*session.turn);
  session.turn.reset();
  turn.promise->deliver(error);
}

/// Answers in flight are still accepted.
void BrainState::end_run(EndRequest::Why why) {
  if (std::exchange(ending_, true)) return;
  log::warn(label() + ": " + why.error.message);
  settings_.end->ask(std::move(why));
  queue_.clear();
  for (auto& [id, session] : sessions_) {
    if (session.turn && session.turn->phase != Phase::asking) hold_turn(id);
  }
}

void BrainState::keep_usage() {
  require_written(log_->keep(usage_));
}

/// An answer counts only once it is recorded.
void BrainState::require_written(const Result<void>& written) {
  if (!written) throw ActorFailure(written.error());
}

void BrainState::describe(ActorStatus& status) const {
  status.phase = ending_ ? "ending" : asking_.empty() ? "idle" : "asking";
  status.queued = queue_.size();
  status.gauges = {{"sessions", static_cast<double>(sessions_.size())},
                   {"under_way", static_cast<double>(asking_.size())},
                   {"requests", static_cast<double>(usage_.requests)},
                   {"answers", static_cast<double>(usage_.answers)},
                   {"tokens_in", static_cast<double>(usage_.tokens_in)},
                   {"tokens_out", static_cast<double>(usage_.tokens_out)},
                   {"cost", usage_.cost}};
}

BrainSelf::behavior_type brain(BrainState::Self self, Identity identity, BrainSettings settings) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, std::move(settings));
  return {on(self, "status", &BrainState::status),
          on(self, "weights_ready", &BrainState::weights_ready),
          on(self, "release", &BrainState::release),
          on(self, "replied", &BrainState::replied),
          on(self, "tick", &BrainState::tick),
          on(self, "generate", &BrainState::generate)};
}

}  // namespace warpsmith::actors
