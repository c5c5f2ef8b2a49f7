// SPDX-License-Identifier: Apache-2.0
// Replies of the endpoint: answers become tokens, failures become waits or the end.
#include <algorithm>
#include <utility>

#include "actors/brain/brain.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "runtime/no_log_probs.hpp"

namespace warpsmith::actors {

void BrainState::replied(atom::progress /*unused*/) {
  std::vector<std::pair<uint64_t, HttpReply>> replies;
  {
    const std::scoped_lock lock{inbox_->mutex};
    replies.swap(inbox_->replies);
  }
  for (auto& [ticket, reply] : replies) {
    const auto found = asking_.extract(ticket);
    if (!found.empty()) take_reply(found.mapped(), std::move(reply));
  }
  start_queued();
}

void BrainState::take_reply(TrajectoryId id, HttpReply reply) {
  // Endpoints quote a wrong key in their messages.
  for (std::string* text : {&reply.body, &reply.detail, &reply.location, &reply.content_type}) {
    *text = without_secret(std::move(*text), settings_.key);
  }
  Turn& turn = *sessions_.at(id).turn;
  turn.phase = Phase::waiting;
  const AttemptId at{id, turn.number, turn.attempts};
  const double seconds = static_cast<double>(reply.took.count()) / 1000;
  Assessed assessed = assess(reply, endpoint_, usage_.answers > 0);
  assessed.why = without_secret(std::move(assessed.why), settings_.key);  // JSON may escape it
  if (assessed.next == Next::take) {
    must(log_->answered(at, record_of(assessed.answer), seconds));
    return answered(id, assessed.answer);
  }
  must(log_->failed(at, reply.status, assessed.why, seconds));
  if (ending_) return hold_turn(id);
  if (assessed.next == Next::again) return again(id, reply, assessed.why);
  if (assessed.next == Next::skip) return fail_turn(id, {ErrorCode::unsupported, assessed.why});
  end_run({{ErrorCode::invalid_config, assessed.why}});
}

void BrainState::answered(TrajectoryId id, const ChatAnswer& answer) {
  const std::string text = turn_text(answer, settings_.style.syntax);
  const auto& tokenizer = *settings_.text.tokenizer;
  // An endpoint that counts nothing is charged by this run's tokens.
  const auto in = answer.tokens_in.value_or(static_cast<int64_t>(sessions_.at(id).tokens.size()));
  const auto out =
      answer.tokens_out ? *answer.tokens_out : static_cast<int64_t>(tokenizer.encode(text).size());
  charge(usage_, settings_.config, in, out);
  keep_usage();
  deliver(id, text, answer.finish != "length");
}

void BrainState::again(TrajectoryId id, const HttpReply& reply, const std::string& why) {
  Turn& turn = *sessions_.at(id).turn;
  if (turn.attempts > settings_.config.retries) {
    return end_run({{ErrorCode::peer_lost, why + " (attempt " + std::to_string(turn.attempts) +
                                               ", the last one of brain.retries)"}});
  }
  const auto wait =
      wait_before(turn.attempts, reply.retry_after, settings_.config.max_wait, random_.uniform());
  log::warn(label() + ": trajectory " + std::to_string(id) + ": " + why + "; attempt " +
            std::to_string(turn.attempts + 1) + " in " + seconds_text(wait));
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

/// `whole`: the answer ends by itself, so the token that ends a turn follows it.
void BrainState::deliver(TrajectoryId id, const std::string& text, bool whole) {
  Session& session = sessions_.at(id);
  const Turn turn = std::move(*session.turn);
  session.turn.reset();
  const policy::Tokenizer& tokenizer = *settings_.text.tokenizer;
  std::vector<int32_t> tokens = tokenizer.encode(policy::MarkedText().add_foreign(text));
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
    self_->send(turn.asker, std::move(chunk));
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

/// Answers that are under way are still taken.
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
  must(log_->keep(usage_));
}

/// Without its record an answer may not count.
void BrainState::must(const Result<void>& written) {
  if (!written) throw ActorFailure(written.error());
}

}  // namespace warpsmith::actors
