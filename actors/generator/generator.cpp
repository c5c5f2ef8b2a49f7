// SPDX-License-Identifier: Apache-2.0
// Takes requests and streams chunks; generator_weights.cpp loads newer weights.
#include "actors/generator/generator.hpp"

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/model/threads.hpp"

namespace warpsmith::actors {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Between two looks whether a measurement is over; measurements last some hundred milliseconds.
constexpr std::chrono::milliseconds between_looks{5};

SharedGpu shared_gpu(const GeneratorSettings& settings) {
  SharedGpu shared{.device = settings.shared_device, .folder = settings.lease_folder};
  if (settings.gpu) shared.gpu = settings.gpu->gpu;
  return shared;
}

}  // namespace

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
                   label() + ": has no weights of step " + std::to_string(call.step) + " yet"});
  }
  // A whole prefix starts the session anew: the earlier asker is dead or has given up.
  if (call.whole && streams_.contains(call.session)) release(atom::release_v, call.session);
  policy::EngineRequest request{call.session, call.whole, call.new_tokens, settings_.sampling};
  request.params.max_tokens = call.credit;
  request.params.stream = call.session;
  if (auto taken = engine_->submit(std::move(request)); !taken) return to_caf(taken.error());
  Stream& stream = streams_[call.session];
  stream.asker = caf::actor_cast<TokenReaderActor>(self_->current_sender());
  stream.chunk = TokenChunk{call.session, call.turn, {}, {}, {}, FinishReason::none};
  go_on();
  return true;
}

/// One message per step, so that new requests and weights are handled between two steps.
void GeneratorState::go_on(std::chrono::milliseconds later) {
  const bool can_step = loaded_ && engine_->has_work();
  if (scheduled_ || (!can_step && !newest_)) return;
  scheduled_ = true;
  if (later.count() == 0) return self_->send(self_, atom::step_v);
  self_->delayed_send(self_, later, atom::step_v);
}

void GeneratorState::step(atom::step /*unused*/) {
  scheduled_ = false;
  if (!engine_->has_work() && !newest_) return give_share_back();  // all that waited has left
  if (!has_share()) return go_on(between_looks);
  if (newest_) load_newest();
  for (const policy::EngineOutput& sampled : engine_->step()) gather(sampled);
  if (!engine_->has_work()) give_share_back();
  go_on();
}

/// Whether the device may be used for a step.
bool GeneratorState::has_share() {
  if (!share_) return true;
  if (share_->is_held() && share_->is_wanted()) give_share_back();
  return share_->try_hold();
}

void GeneratorState::give_share_back() {
  if (!share_) return;
  if (share_->is_held()) {
    for (const policy::EngineOutput& sampled : engine_->settle()) gather(sampled);
  }
  share_->give_back();
}

void GeneratorState::gather(const policy::EngineOutput& sampled) {
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
  self_->send(found->second.asker, std::exchange(chunk, std::move(rest)));
  if (last) streams_.erase(found);
}

void GeneratorState::release(atom::release /*unused*/, TrajectoryId session) {
  streams_.erase(session);
  engine_->release(session);
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
  adopt(self, std::move(identity));
  self->state.start(self, std::move(settings), std::move(store));
  return {on(self, "status", &GeneratorState::status),
          on(self, "weights_ready", &GeneratorState::weights_ready),
          on(self, "release", &GeneratorState::release), on(self, "step", &GeneratorState::step),
          on(self, "generate", &GeneratorState::generate)};
}

}  // namespace warpsmith::actors
