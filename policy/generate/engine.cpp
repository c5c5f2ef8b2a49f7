// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine.hpp"

#include <algorithm>
#include <set>

namespace warpsmith::policy {
namespace {

tl::unexpected<Error> refuse(ErrorCode code, SessionId session, const std::string& what) {
  return fail(code, "generate: session " + std::to_string(session) + ": " + what);
}

Result<void> at_least_one(const char* name, int64_t value) {
  if (value >= 1) return {};
  return fail(
      ErrorCode::invalid_argument,
      std::string("engine: ") + name + ": expected at least 1, got " + std::to_string(value));
}

}  // namespace

Result<void> EngineConfig::validate() const {
  for (const auto& [name, value] :
       {std::pair{"max_sessions", max_sessions},
        std::pair{"max_session_tokens", max_session_tokens}, std::pair{"step_rows", step_rows},
        std::pair{"max_batch", max_batch}}) {
    if (auto ok = at_least_one(name, value); !ok) return ok;
  }
  if (cache_tokens / block_tokens >= blocks_for(max_session_tokens)) return {};
  return fail(ErrorCode::invalid_argument,
              "engine: cache_tokens: expected room for one session of " +
                  std::to_string(max_session_tokens) + " tokens, got " +
                  std::to_string(cache_tokens));
}

Result<std::unique_ptr<Engine>> Engine::make(const ModelConfig& model, const EngineConfig& config) {
  if (auto ok = model.validate(); !ok) return tl::unexpected(ok.error());
  if (auto ok = config.validate(); !ok) return tl::unexpected(ok.error());
  return std::unique_ptr<Engine>(new Engine(model, config));
}

Engine::Engine(const ModelConfig& model, const EngineConfig& config)
    : model_config_(model),
      config_(config),
      pool_(config.cache_tokens / block_tokens),
      cache_(model, pool_.total_blocks()) {}

void Engine::load(PolicyVersion version, const ModelWeights& weights) {
  model_.emplace(model_config_, weights, config_.max_session_tokens);
  version_ = version;
  prefixes_.clear();
  for (auto& [id, session] : sessions_) {
    session.current = session.blocks.empty();
  }
}

Result<void> Engine::check(const EngineRequest& request) const {
  const SessionId id = request.session;
  if (auto ok = request.params.validate(); !ok) return ok;
  for (const int32_t token : request.new_tokens) {
    if (token >= 0 && token < model_config_.vocab) continue;
    return refuse(ErrorCode::invalid_argument, id,
                  "token " + std::to_string(token) + " is outside the vocabulary of " +
                      std::to_string(model_config_.vocab));
  }
  const auto it = sessions_.find(id);
  const bool known = it != sessions_.end();
  if (known && it->second.running) {
    return refuse(ErrorCode::already_exists, id, "its last request still runs");
  }
  if (!known && !request.whole) {
    return refuse(ErrorCode::not_found, id, "not held here: send the whole prefix");
  }
  if (!known && free_slots() == 0) {
    return refuse(ErrorCode::capacity, id,
                  "all " + std::to_string(config_.max_sessions) + " slots are taken");
  }
  const size_t held = request.whole || !known ? 0 : it->second.tokens.size();
  const size_t total = held + request.new_tokens.size();
  if (total == 0) return refuse(ErrorCode::invalid_argument, id, "no tokens to continue");
  if (total < static_cast<size_t>(config_.max_session_tokens)) return {};
  return refuse(ErrorCode::capacity, id,
                std::to_string(total) + " tokens, a session may hold " +
                    std::to_string(config_.max_session_tokens) + " with those to come");
}

Result<void> Engine::submit(EngineRequest request) {
  if (auto ok = check(request); !ok) return ok;
  Session& session = sessions_[request.session];
  if (request.whole) {
    const auto differ = std::mismatch(session.tokens.begin(), session.tokens.end(),
                                      request.new_tokens.begin(), request.new_tokens.end());
    const bool extends = differ.first == session.tokens.end();
    if (!extends) drop_cache(session);
    session.tokens = std::move(request.new_tokens);
  } else {
    session.tokens.insert(session.tokens.end(), request.new_tokens.begin(),
                          request.new_tokens.end());
  }
  // The last token's logits must be computed, even if its keys and values are there already.
  const int64_t last = static_cast<int64_t>(session.tokens.size()) - 1;
  if (session.computed > last) step_back(session, last);
  session.running = true;
  session.arrival = ++arrivals_;
  session.params = std::move(request.params);
  session.left = session.params.max_tokens;
  ++running_;
  return {};
}

/// Makes `position` the next to compute. A block that others hold too must not be written again.
void Engine::step_back(Session& session, int64_t position) {
  session.computed = position;
  const auto block = static_cast<size_t>(position / block_tokens);
  if (pool_.holders(session.blocks[block]) > 1) drop_cache(session);
}

void Engine::cancel(SessionId id) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end() || !it->second.running) return;
  it->second.running = false;
  --running_;
}

void Engine::release(SessionId id) {
  cancel(id);
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return;
  drop_cache(it->second);
  sessions_.erase(it);
}

size_t Engine::free_slots() const {
  return static_cast<size_t>(config_.max_sessions) - sessions_.size();
}

EngineStats Engine::stats() const {
  EngineStats stats = counters_;
  stats.sessions = static_cast<int64_t>(sessions_.size());
  stats.running = running_;
  stats.total_blocks = pool_.total_blocks();
  stats.cached_blocks = pool_.total_blocks() - pool_.free_blocks();
  return stats;
}

std::vector<int32_t> Engine::tokens_of(SessionId id) const {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? std::vector<int32_t>{} : it->second.tokens;
}

std::vector<EngineOutput> Engine::step() {
  if (!model_ || running_ == 0) return {};
  for (auto& [id, session] : sessions_) {
    const bool fresh = session.running && session.computed == 0;
    if (fresh && config_.prefix_reuse) adopt_prefix(session);
  }
  return compute(admit(plan_step(pending(), config_.step_rows, config_.max_batch)));
}

/// Sequences that begin like one that is about to be prefilled wait for a step: then they can share
/// its blocks instead of computing them again.
std::vector<PendingSequence> Engine::pending() const {
  std::vector<std::pair<uint64_t, SessionId>> order;
  for (const auto& [id, session] : sessions_) {
    if (session.running) order.emplace_back(session.arrival, id);
  }
  std::sort(order.begin(), order.end());
  std::vector<PendingSequence> all;
  std::set<std::vector<int32_t>> begun;
  for (const auto& [arrival, id] : order) {
    const Session& session = sessions_.at(id);
    const auto size = static_cast<int64_t>(session.tokens.size());
    const int64_t next_block = session.computed / block_tokens * block_tokens + block_tokens;
    if (config_.prefix_reuse && session.current && size > next_block) {
      std::vector<int32_t> beginning(session.tokens.begin(), session.tokens.begin() + next_block);
      const bool first = begun.insert(std::move(beginning)).second;
      if (!first && session.computed % block_tokens == 0) continue;
    }
    all.push_back({id, arrival, size - session.computed});
  }
  return all;
}

void Engine::adopt_prefix(Session& session) {
  drop_cache(session);
  session.blocks = prefixes_.match(session.tokens);
  session.computed = static_cast<int64_t>(session.blocks.size()) * block_tokens;
  counters_.reused_tokens += static_cast<uint64_t>(session.computed);
}

/// Keeps the planned work whose blocks could be found.
std::vector<PlannedWork> Engine::admit(const std::vector<PlannedWork>& plan) {
  std::vector<PlannedWork> admitted;
  for (const PlannedWork& work : plan) {
    Session& session = sessions_.at(work.session);
    if (session.computed + work.count > static_cast<int64_t>(session.tokens.size())) continue;
    if (reserve(session, session.computed + work.count)) admitted.push_back(work);
  }
  // Making room for a later one may have taken an earlier one's cache.
  std::erase_if(admitted, [&](const PlannedWork& work) {
    const Session& session = sessions_.at(work.session);
    return static_cast<int64_t>(session.blocks.size()) < blocks_for(session.computed + work.count);
  });
  return admitted;
}

bool Engine::reserve(Session& session, int64_t tokens) {
  while (static_cast<int64_t>(session.blocks.size()) < blocks_for(tokens)) {
    const auto block = pool_.take();
    if (block) {
      cache_.clear(*block);
      session.blocks.push_back(*block);
    } else if (!make_room(session)) {
      return false;
    }
  }
  return true;
}

/// Frees at least one block: an unused prefix, else an idle session's cache, else that of the
/// youngest running session that is younger than the asker. False if there is none.
bool Engine::make_room(const Session& asker) {
  if (prefixes_.evict_one()) return true;
  Session* victim = nullptr;
  for (auto& [id, session] : sessions_) {
    if (session.blocks.empty() || &session == &asker) continue;
    if (session.running && session.arrival < asker.arrival) continue;
    const bool better =
        victim == nullptr || (victim->running && !session.running) ||
        (victim->running == session.running &&
         (session.running ? session.arrival > victim->arrival : session.arrival < victim->arrival));
    if (better) victim = &session;
  }
  if (victim == nullptr) return false;
  drop_cache(*victim);
  ++counters_.evicted_sequences;
  return pool_.free_blocks() > 0 || prefixes_.evict_one();
}

void Engine::drop_cache(Session& session) {
  for (const BlockId block : session.blocks) pool_.drop(block);
  session.blocks.clear();
  session.computed = 0;
  session.current = true;
}

std::vector<EngineOutput> Engine::compute(const std::vector<PlannedWork>& plan) {
  std::vector<DecodeRow> rows;
  for (const PlannedWork& work : plan) {
    const Session& session = sessions_.at(work.session);
    for (int64_t i = session.computed; i < session.computed + work.count; ++i) {
      const bool last = i + 1 == static_cast<int64_t>(session.tokens.size());
      rows.push_back(
          {session.tokens[static_cast<size_t>(i)], static_cast<int32_t>(i), session.blocks, last});
    }
  }
  counters_.computed_tokens += rows.size();
  if (rows.empty()) return {};
  std::span<const float> logits = model_->forward(rows, cache_);
  const auto vocab = static_cast<size_t>(model_config_.vocab);
  std::vector<EngineOutput> chunks;
  for (const PlannedWork& work : plan) {
    Session& session = sessions_.at(work.session);
    session.computed += work.count;
    if (session.computed < static_cast<int64_t>(session.tokens.size())) continue;
    const bool shared = config_.prefix_reuse && session.current;
    if (work.count > 1 && shared) prefixes_.insert(session.tokens, session.blocks);
    chunks.push_back(sample(work.session, session, logits.first(vocab)));
    logits = logits.subspan(vocab);
  }
  return chunks;
}

EngineOutput Engine::sample(SessionId id, Session& session, std::span<const float> logits) {
  RandomStream random(session.params.seed, "sample", session.params.stream);
  random.seek(session.tokens.size());
  const SampledToken sampled = sample_token(logits, session.params, random.uniform());
  session.tokens.push_back(sampled.token);
  --session.left;
  ++counters_.sampled_tokens;
  EngineOutput chunk{id, {sampled.token}, {sampled.log_prob}, {version_}, FinishReason::none};
  chunk.finish = finish_of(session, sampled.token);
  if (chunk.finish != FinishReason::none) cancel(id);
  return chunk;
}

FinishReason Engine::finish_of(const Session& session, int32_t token) const {
  const auto& stops = session.params.stop_tokens;
  if (std::find(stops.begin(), stops.end(), token) != stops.end()) return FinishReason::stop_token;
  if (session.left <= 0) return FinishReason::length;
  const bool full = static_cast<int64_t>(session.tokens.size()) >= config_.max_session_tokens;
  return full ? FinishReason::context : FinishReason::none;
}

}  // namespace warpsmith::policy
