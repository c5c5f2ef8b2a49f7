// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

tl::unexpected<Error> refuse(ErrorCode code, SessionId session, const std::string& what) {
  return fail(code, fmt::format("generate: session {}: {}", session, what));
}

Result<void> at_least_one(const char* name, int64_t value) {
  if (value >= 1) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("engine: {}: expected at least 1, got {}", name, value));
}

/// The draw for the token at `position`.
double draw(const SamplingParams& params, int64_t position) {
  RandomStream random(params.seed, "sample", params.stream);
  random.seek(static_cast<uint64_t>(position));
  return random.uniform();
}

}  // namespace

Result<void> EngineConfig::validate() const {
  for (const auto& [name, value] :
       {std::pair{"max_sessions", max_sessions},
        std::pair{"max_session_tokens", max_session_tokens}, std::pair{"step_rows", step_rows},
        std::pair{"max_batch", max_batch}}) {
    TRY_VOID(at_least_one(name, value));
  }
  if (blocks() >= blocks_for(max_session_tokens)) return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("engine: cache_tokens: expected room for one session of {} tokens, got {}",
                  max_session_tokens, cache_tokens));
}

Result<std::unique_ptr<Engine>> Engine::make(std::unique_ptr<Backend> backend,
                                             const EngineConfig& config) {
  TRY_VOID(config.validate());
  return std::unique_ptr<Engine>(new Engine(std::move(backend), config));
}

Engine::Engine(std::unique_ptr<Backend> backend, const EngineConfig& config)
    : backend_(std::move(backend)), config_(config), store_(config.blocks(), config.prefix_reuse) {}

void Engine::load(PolicyVersion version, const ModelWeights& weights) {
  backend_->adopt(weights);
  version_ = version;
  loaded_ = true;
  store_.expire();
}

Result<void> Engine::check_tokens(const EngineRequest& request) const {
  for (const int32_t token : request.new_tokens) {
    if (token >= 0 && token < backend_->vocab()) continue;
    return refuse(
        ErrorCode::invalid_argument, request.session,
        fmt::format("token {} is outside the vocabulary of {}", token, backend_->vocab()));
  }
  return {};
}

Result<void> Engine::check_session(const EngineRequest& request) const {
  const SessionId id = request.session;
  const Session* session = store_.find(id);
  if (session != nullptr && session->running) {
    return refuse(ErrorCode::already_exists, id, "its last request still runs");
  }
  if (session == nullptr && !request.whole) {
    return refuse(ErrorCode::not_found, id, "not held here: send the whole prefix");
  }
  if (session == nullptr && free_slots() == 0) {
    return refuse(ErrorCode::capacity, id,
                  fmt::format("all {} slots are taken", config_.max_sessions));
  }
  return {};
}

Result<void> Engine::check_length(const EngineRequest& request) const {
  const int64_t kept = request.whole ? 0 : std::ssize(store_.find(request.session)->tokens);
  const int64_t total = kept + std::ssize(request.new_tokens);
  if (total == 0) {
    return refuse(ErrorCode::invalid_argument, request.session, "no tokens to continue");
  }
  if (total < config_.max_session_tokens) return {};
  return refuse(ErrorCode::capacity, request.session,
                fmt::format("{} tokens; expected fewer than the {} of a session", total,
                            config_.max_session_tokens));
}

Result<void> Engine::submit(EngineRequest request) {
  TRY_VOID(request.params.validate());
  TRY_VOID(check_tokens(request));
  TRY_VOID(check_session(request));
  TRY_VOID(check_length(request));
  Session& session = store_.sessions()[request.session];
  std::vector<int32_t>& tokens = session.tokens;
  if (request.whole) {
    const auto differ = std::mismatch(tokens.begin(), tokens.end(), request.new_tokens.begin(),
                                      request.new_tokens.end());
    if (differ.first != tokens.end()) store_.drop_cache(session);
    tokens = std::move(request.new_tokens);
  } else {
    tokens.insert(tokens.end(), request.new_tokens.begin(), request.new_tokens.end());
  }
  // The last token's logits are needed even if its key and value are in the cache.
  const int64_t last = session.size() - 1;
  if (session.computed > last) store_.rewind(session, last);
  session.running = true;
  session.arrival = ++arrivals_;
  session.params = std::move(request.params);
  session.left = session.params.max_tokens;
  ++running_;
  return {};
}

void Engine::cancel(SessionId id) {
  Session* session = store_.find(id);
  if (session == nullptr || !session->running) return;
  session->running = false;
  session->in_flight = 0;  // their samples are discarded
  session->computed = std::min(session->computed, session->size());
  --running_;
}

void Engine::release(SessionId id) {
  cancel(id);
  store_.erase(id);
}

size_t Engine::free_slots() const {
  return static_cast<size_t>(config_.max_sessions) - store_.sessions().size();
}

EngineStats Engine::stats() const {
  EngineStats stats = counters_;
  stats.sessions = std::ssize(store_.sessions());
  stats.running = running_;
  stats.total_blocks = store_.pool().total_blocks();
  stats.cached_blocks = stats.total_blocks - store_.pool().free_blocks();
  stats.evicted_sequences = store_.evicted();
  return stats;
}

std::vector<int32_t> Engine::tokens_of(SessionId id) const {
  const Session* session = store_.find(id);
  return session == nullptr ? std::vector<int32_t>{} : session->tokens;
}

std::vector<EngineOutput> Engine::step() {
  if (!loaded_ || running_ == 0) return {};
  const bool started = start_batch();
  const size_t ahead = started && backend_->runs_ahead() ? 1 : 0;
  return started_.size() > ahead ? finish_batch() : std::vector<EngineOutput>{};
}

std::vector<EngineOutput> Engine::settle() {
  std::vector<EngineOutput> outputs;
  while (!started_.empty()) {
    for (EngineOutput& output : finish_batch()) outputs.push_back(std::move(output));
  }
  return outputs;
}

bool Engine::start_batch() {
  counters_.reused_tokens += static_cast<uint64_t>(store_.adopt_prefixes());
  const auto plan = store_.reserve(
      plan_step(store_.pending(config_.max_session_tokens), config_.step_rows, config_.max_batch));
  if (plan.empty()) return false;
  std::vector<DecodeRow> rows;
  for (const PlannedWork& work : plan) {
    append_rows(*store_.find(work.session), work.count, rows);
  }
  backend_->start(rows);
  counters_.computed_tokens += rows.size();
  StartedBatch batch{version_, {}};
  for (const PlannedWork& work : plan) note_started(work, batch);
  started_.push_back(std::move(batch));
  return true;
}

void Engine::append_rows(const Session& session, int64_t count,
                         std::vector<DecodeRow>& rows) const {
  for (int64_t i = session.computed; i < session.computed + count; ++i) {
    DecodeRow row{.position = static_cast<int32_t>(i), .blocks = session.blocks};
    if (i < std::ssize(session.tokens)) {
      row.token = session.tokens[static_cast<size_t>(i)];
    } else {
      row.from_sample = session.newest_sample;
    }
    rows.push_back(row);
  }
  if (session.computed + count < session.size()) return;
  rows.back().sample = &session.params;
  rows.back().uniform = draw(session.params, session.size());
}

void Engine::note_started(const PlannedWork& work, StartedBatch& batch) {
  Session& session = *store_.find(work.session);
  const bool prefills = session.size() - session.computed > 1;
  session.computed += work.count;
  if (prefills) store_.share_prefix(session);
  if (session.computed < session.size()) return;
  ++session.in_flight;
  session.newest_sample = static_cast<int32_t>(batch.samples.size());
  batch.samples.push_back({work.session, session.arrival});
}

std::vector<EngineOutput> Engine::finish_batch() {
  const StartedBatch batch = std::move(started_.front());
  started_.pop_front();
  const std::vector<SampledToken> samples = backend_->finish();
  std::vector<EngineOutput> outputs;
  for (size_t i = 0; i < batch.samples.size(); ++i) {
    const Awaited& from = batch.samples[i];
    const Session* session = store_.find(from.session);
    const bool wanted = session != nullptr && session->running && session->arrival == from.arrival;
    if (wanted) outputs.push_back(add_sample(from, samples[i], batch.version));
  }
  return outputs;
}

EngineOutput Engine::add_sample(const Awaited& from, const SampledToken& sample,
                                PolicyVersion version) {
  Session& session = *store_.find(from.session);
  session.tokens.push_back(sample.token);
  --session.in_flight;
  --session.left;
  ++counters_.sampled_tokens;
  const FinishReason finish = finish_of(session, sample.token);
  if (finish != FinishReason::none) cancel(from.session);
  return {from.session, {sample.token}, {sample.log_prob}, {sample.sampled_log_prob},
          {version},    finish};
}

FinishReason Engine::finish_of(const Session& session, int32_t token) const {
  const auto& stops = session.params.stop_tokens;
  if (std::find(stops.begin(), stops.end(), token) != stops.end()) return FinishReason::stop_token;
  if (session.left <= 0) return FinishReason::length;
  const bool full = std::ssize(session.tokens) >= config_.max_session_tokens;
  return full ? FinishReason::context : FinishReason::none;
}

}  // namespace warpsmith::policy
