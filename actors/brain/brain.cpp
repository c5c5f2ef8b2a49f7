// SPDX-License-Identifier: Apache-2.0
// Takes calls and asks; brain_answers.cpp takes the replies.
#include "actors/brain/brain.hpp"

#include <caf/send.hpp>

#include "actors/brain/candidates.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"

namespace warpsmith::actors {
namespace {

template <class T>
T value_or_end(Result<T> result) {
  if (!result) throw ActorFailure(result.error());
  return std::move(*result);
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

void BrainState::start(Self self, BrainSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
  random_ = RandomStream{settings_.seed, label()};
  const BrainConfig& c = settings_.config;
  endpoint_ = {without_slash(c.url) + "/chat/completions", c.model, c.key_env};
  const BrainText& text = settings_.text;
  reader_ = value_or_end(ChatReader::make(text.tokenizer, text.frame, text.stop_tokens));
  log_ = value_or_end(ExchangeLog::open(settings_.run.folder, settings_.key));
  usage_ = value_or_end(log_->usage());
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
    return to_caf({ErrorCode::capacity, label() + ": it has as many sessions as it may"});
  }
  Session& session = sessions_[call.session];
  drop_turn(session);
  if (call.whole) {
    session.tokens.clear();
    log_->close(call.session);  // its next request is recorded whole, too
  }
  session.tokens.insert(session.tokens.end(), call.new_tokens.begin(), call.new_tokens.end());
  Turn& turn = session.turn.emplace();
  turn.number = call.turn;
  turn.credit = call.credit;
  turn.asker = caf::actor_cast<RolloutActor>(self_->current_sender());
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

/// The rollout has given the turn up, or asks anew.
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
  must(log_->asked({id, turn.number, ++turn.attempts}, endpoint_.url, request));
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
  adopt(self, std::move(identity));
  self->state.start(self, std::move(settings));
  return {on(self, "status", &BrainState::status),
          on(self, "weights_ready", &BrainState::weights_ready),
          on(self, "release", &BrainState::release),
          on(self, "replied", &BrainState::replied),
          on(self, "tick", &BrainState::tick),
          on(self, "generate", &BrainState::generate)};
}

}  // namespace warpsmith::actors
