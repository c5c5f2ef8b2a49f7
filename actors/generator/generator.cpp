// SPDX-License-Identifier: Apache-2.0
#include "actors/generator/generator.hpp"

#include <fmt/format.h>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/protocol/local_messages.hpp"
#include "actors/weights/weight_store.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/model/libtorch_runtime.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::milliseconds share_poll_interval{5};  // a measurement takes some hundred ms
constexpr std::chrono::seconds pull_retry_delay{1};          // rollouts wait for the weights

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

SharedGpu shared_gpu(const GeneratorSettings& settings) {
  SharedGpu shared{.device = settings.shared_device, .folder = settings.lease_folder};
  if (settings.gpu) shared.gpu = settings.gpu->gpu;
  return shared;
}

std::optional<policy::CudaEngineOptions> gpu_options(const GeneratorConfig& c) {
  if (c.device == ComputeDevice::cpu) return std::nullopt;
  const bool bf16 = c.precision == ComputePrecision::bf16;
  return policy::CudaEngineOptions{
      .gpu = static_cast<int>(c.gpu),
      .precision = bf16 ? policy::cuda::Precision::bf16 : policy::cuda::Precision::fp32};
}

}  // namespace

GeneratorSettings generator_settings(const RunConfig& config, const policy::ModelConfig& model,
                                     std::vector<int32_t> stop_tokens) {
  const GeneratorConfig& c = config.generator;
  GeneratorSettings settings;
  settings.model = model;
  // One additional session per composer, so that composers take none from the rollouts.
  settings.engine.max_sessions =
      c.max_sessions + (config.synthesis.policy_composes() ? config.synthesis.composers() : 0);
  settings.engine.max_session_tokens = config.agent.max_tokens;
  settings.engine.cache_tokens = c.cache_tokens;
  settings.engine.step_rows = rows_per_step(c);
  settings.engine.max_batch = c.max_batch;
  settings.engine.prefix_reuse = c.prefix_reuse;
  settings.gpu = gpu_options(c);
  settings.sampling.temperature = c.temperature;
  settings.sampling.top_p = c.top_p;
  settings.sampling.top_k = static_cast<int32_t>(c.top_k);
  settings.sampling.seed = static_cast<uint64_t>(config.run.seed);
  settings.sampling.stop_tokens = std::move(stop_tokens);
  settings.chunk_tokens = static_cast<size_t>(c.chunk_tokens);
  settings.pull_timeout = c.pull_timeout;
  return settings;
}

void GeneratorState::start(Self self, GeneratorSettings settings, WeightStoreActor store) {
  self_ = self;
  settings_ = std::move(settings);
  store_ = std::move(store);
  policy::use_threads(1);
  auto engine = settings_.gpu
                    ? policy::make_cuda_engine(settings_.model, settings_.engine, *settings_.gpu)
                    : policy::make_cpu_engine(settings_.model, settings_.engine);
  if (!engine) throw ActorFailure(engine.error());
  engine_ = std::move(*engine);
  share_ = open_share(shared_gpu(settings_));
  self->send(store_, atom::subscribe_v, caf::actor_cast<GeneratorActor>(self->ctrl()));
}

caf::result<bool> GeneratorState::generate(const GenerateCall& call) {
  if (engine_->version().step < call.step) {
    return to_caf({ErrorCode::capacity,
                   fmt::format("{}: has no weights of step {} yet", label(), call.step)});
  }
  // A whole prefix restarts the session, because the earlier reader is dead or no longer waiting.
  if (call.whole && streams_.contains(call.session)) release(atom::release_v, call.session);
  policy::EngineRequest request{call.session, call.whole, call.new_tokens, settings_.sampling};
  request.params.max_tokens = call.credit;
  request.params.stream = call.session;
  if (auto taken = engine_->submit(std::move(request)); !taken) return to_caf(taken.error());
  Stream& stream = streams_[call.session];
  stream.reader = caf::actor_cast<TokenReaderActor>(self_->current_sender());
  stream.chunk = TokenChunk{call.session, call.turn, {}, {}, {}, FinishReason::none};
  schedule_step();
  return true;
}

/// One message per step, so that new requests and weights are handled between two steps.
void GeneratorState::schedule_step(std::chrono::milliseconds delay) {
  const bool can_step = loaded_ && engine_->has_work();
  if (scheduled_ || (!can_step && !newest_)) return;
  scheduled_ = true;
  if (delay.count() == 0) return self_->send(self_, atom::step_v);
  self_->delayed_send(self_, delay, atom::step_v);
}

void GeneratorState::step(atom::step /*unused*/) {
  scheduled_ = false;
  if (!engine_->has_work() && !newest_)
    return release_share();  // all waiting sessions were released
  if (!hold_share()) return schedule_step(share_poll_interval);
  if (newest_) load_newest();
  for (const policy::EngineOutput& sampled : engine_->step()) add_sampled(sampled);
  if (!engine_->has_work()) release_share();
  schedule_step();
}

/// Acquires a share for a step; false while a measurement uses or waits for the device.
bool GeneratorState::hold_share() {
  if (!share_) return true;
  if (share_->is_held() && share_->is_wanted()) release_share();
  return share_->try_hold();
}

void GeneratorState::release_share() {
  if (!share_) return;
  if (share_->is_held()) {
    for (const policy::EngineOutput& sampled : engine_->settle()) add_sampled(sampled);
  }
  share_->give_back();
}

void GeneratorState::add_sampled(const policy::EngineOutput& sampled) {
  const auto found = streams_.find(sampled.session);
  if (found == streams_.end()) return;
  TokenChunk& chunk = found->second.chunk;
  append(chunk.tokens, sampled.tokens);
  append(chunk.log_probs, sampled.log_probs);
  append(chunk.versions, sampled.versions);
  chunk.finish = sampled.finish;
  const bool last = chunk.finish != FinishReason::none;
  if (!last && chunk.tokens.size() < settings_.chunk_tokens) return;
  TokenChunk rest{chunk.session, chunk.turn, {}, {}, {}, FinishReason::none};
  self_->send(found->second.reader, std::exchange(chunk, std::move(rest)));
  if (last) streams_.erase(found);
}

void GeneratorState::release(atom::release /*unused*/, TrajectoryId session) {
  streams_.erase(session);
  engine_->release(session);
}

void GeneratorState::weights_ready(const WeightsReady& ready) {
  if (has_version(ready.version)) return;
  if (store_.node() == self_->node()) return pull_by_reference(ready.version);
  // A repeated notice must not replace the pull of the same or of a newer version.
  if (pull_ && ready.version <= pull_->version) return;
  auto weights = policy::allocate_weights(settings_.model);
  pull_.emplace(Pull{ready.version, std::make_shared<policy::ModelWeights>(std::move(weights)), 0});
  pull_shard();
}

bool GeneratorState::has_version(PolicyVersion version) const {
  return (loaded_ && version <= engine_->version()) || (newest_ && version <= newest_->version);
}

/// Pulls the newest weights, which are of `version` or a later one.
void GeneratorState::pull_by_reference(PolicyVersion version) {
  const auto store = caf::actor_cast<LocalWeightStoreActor>(store_);
  ask(self_, *this, "pulled", store, settings_.pull_timeout, atom::pull_v)
      .then(
          [this](const LocalWeights& newest) { weights_arrived({newest.version, newest.weights}); },
          [this, version](const caf::error& error) {
            log::warn(label() + ": no new weights: " + from_caf(error).message);
            if (receiver_is_gone(error)) return;
            self_->delayed_send(self_, pull_retry_delay, WeightsReady{version});
          });
}

void GeneratorState::pull_shard() {
  ask(self_, *this, "pulled", store_, settings_.pull_timeout, atom::pull_v, pull_->version,
      pull_->next)
      .then([this](const WeightShard& shard) { shard_arrived(shard); },
            [this, version = pull_->version](const caf::error& error) {
              const Error why = from_caf(error);
              log::info(label() + ": pull ended: " + why.message);
              if (!pull_ || pull_->version != version) return;  // a newer pull has begun
              pull_.reset();
              // The store announces the newer version itself.
              const bool replaced = why.code == ErrorCode::stale || receiver_is_gone(error);
              if (!replaced) self_->delayed_send(self_, pull_retry_delay, WeightsReady{version});
            });
}

void GeneratorState::shard_arrived(const WeightShard& shard) {
  if (!pull_ || shard.version != pull_->version || shard.index != pull_->next) return;
  if (auto applied = apply_shard(shard, *pull_->weights); !applied) {
    log::warn(label() + ": " + applied.error().message);
    pull_.reset();
    self_->delayed_send(self_, pull_retry_delay, WeightsReady{shard.version});
    return;
  }
  if (++pull_->next < shard.count) return pull_shard();
  weights_arrived({pull_->version, std::move(pull_->weights)});
  pull_.reset();
}

/// Ignores a version that is loaded: loading it again would only drop the prefixes computed with
/// it.
void GeneratorState::weights_arrived(Newest newest) {
  if (has_version(newest.version)) return;
  newest_ = std::move(newest);
  if (hold_share()) load_newest();
  schedule_step();
}

void GeneratorState::load_newest() {
  const Newest newest = std::move(*newest_);
  newest_.reset();
  const auto start = std::chrono::steady_clock::now();
  engine_->load(newest.version, *newest.weights);
  const auto pause = std::chrono::steady_clock::now() - start;
  pause_ms_ = std::chrono::duration<double, std::milli>(pause).count();
  loaded_ = true;
  if (!engine_->has_work()) release_share();
}

void GeneratorState::describe(ActorStatus& status) const {
  const policy::EngineStats stats = engine_->stats();
  status.phase = !loaded_ ? "waiting for weights" : engine_->has_work() ? "decoding" : "idle";
  status.queued = static_cast<uint64_t>(stats.running);
  status.gauges = {{"sessions", static_cast<double>(stats.sessions)},
                   {"step", engine_->version().step},
                   {"weights_pause_ms", pause_ms_},
                   {"sampled_tokens", static_cast<double>(stats.sampled_tokens)},
                   {"computed_tokens", static_cast<double>(stats.computed_tokens)},
                   {"reused_tokens", static_cast<double>(stats.reused_tokens)},
                   {"evicted_sequences", static_cast<double>(stats.evicted_sequences)}};
}

GeneratorSelf::behavior_type generator(GeneratorState::Self self, Identity identity,
                                       GeneratorSettings settings, WeightStoreActor store) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, std::move(settings), std::move(store));
  return {on(self, "status", &GeneratorState::status),
          on(self, "weights_ready", &GeneratorState::weights_ready),
          on(self, "release", &GeneratorState::release), on(self, "step", &GeneratorState::step),
          on(self, "generate", &GeneratorState::generate)};
}

}  // namespace warpsmith::actors
