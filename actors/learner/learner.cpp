// SPDX-License-Identifier: Apache-2.0
#include "actors/learner/learner.hpp"

#include <fmt/format.h>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/learn/placement.hpp"
#include "policy/learn/trainer_checkpoint.hpp"
#include "policy/model/libtorch_runtime.hpp"

namespace warpsmith::actors {
namespace {

/// With LoRA a checkpoint has merged weights: the frozen ones are still in the model's own folder.
Result<policy::ModelWeights> weights_of(const policy::TrainerSetup& setup,
                                        const TrainerStart& start) {
  if (setup.learner.lora.rank == 0 || start.origin.checkpoint.empty()) {
    return start.weights.clone();
  }
  auto base = policy::load_hf_model(setup.base);
  if (!base) return fail("learner.lora: the frozen weights", std::move(base.error()));
  return base->weights();
}

Result<std::unique_ptr<policy::Trainer>> make_trainer(const policy::TrainerSetup& setup,
                                                      const TrainerStart& start) {
  TRY_VOID(policy::check_placement(setup.learner));
  const Origin& origin = start.origin;
  TRY(auto weights, weights_of(setup, start));
  auto trainer = std::make_unique<policy::Trainer>(setup, start.model, std::move(weights));
  if (!origin.checkpoint.empty()) {
    TRY_VOID(trainer->restore(origin.checkpoint, origin.version.incarnation));
  }
  return trainer;
}

/// Writes checkpoints while the learner continues. The learner spawns it, sends one snapshot at a
/// time and ends with it.
class CheckpointWriterState : public ActorState {
 public:
  void start(CheckpointPlace place) { place_ = std::move(place); }

  caf::result<std::string> write(const LocalSnapshot& taken) {
    const auto written = place_.store->write(
        taken.snapshot->version(), [&](const std::filesystem::path& folder) -> Result<void> {
          TRY_VOID(taken.snapshot->save(folder));
          return place_.copy_fixed_files(folder);
        });
    if (!written) return to_caf(written.error());
    log::info(label() + ": " + written->folder.string());
    return written->folder.string();
  }

 private:
  CheckpointPlace place_;
};

CheckpointWriterActor::behavior_type checkpoint_writer(
    CheckpointWriterActor::stateful_pointer<CheckpointWriterState> self, Identity identity,
    CheckpointPlace place) {
  set_up_actor(self, std::move(identity));
  self->state.start(std::move(place));
  return {on(self, "status", &CheckpointWriterState::status),
          on(self, "write", &CheckpointWriterState::write)};
}

}  // namespace

policy::LearnerMemory learner_memory(const RunConfig& config, const policy::ModelConfig& model) {
  return policy::plan_learner_memory(
      model, config.learner,
      {.longest = config.agent.max_tokens,
       .concurrent = config.rollout.count * config.rollout.concurrent});
}

LearnerSettings learner_settings(const RunConfig& config, TrainerStart start,
                                 std::shared_ptr<const CheckpointStore> checkpoints) {
  policy::TrainerSetup setup;
  setup.learner = config.learner;
  setup.temperature = config.generator.temperature;
  setup.seed = static_cast<uint64_t>(config.run.seed);
  setup.start = start.origin.version;
  setup.base = config.model.folder.string();
  setup.critic = start.critic;
  LearnerSettings settings;
  const bool gpu = config.learner.device == ComputeDevice::cuda;
  if (gpu) settings.planned_bytes = learner_memory(config, start.model).total();
  settings.make_trainer = [setup, start = std::move(start)] { return make_trainer(setup, start); };
  settings.checkpoints = {std::move(checkpoints), [from = config.model.folder](const auto& to) {
                            return policy::copy_other_files(from, to);
                          }};
  settings.warnings = config.learner.warnings;
  settings.checkpoint_steps = static_cast<uint32_t>(config.ledger.checkpoint_steps);
  settings.keep_checkpoints = static_cast<uint32_t>(config.ledger.keep_checkpoints);
  settings.threads = static_cast<int>(config.learner.threads);
  for (int64_t i = 0; gpu && i < config.learner.gpus; ++i) {
    settings.shared.push_back({.gpu = static_cast<int>(config.learner.gpu + i)});
  }
  return settings;
}

void LearnerState::start(Self self, LearnerSettings settings, LedgerActor ledger,
                         LocalWeightStoreActor store) {
  self_ = self;
  settings_ = std::move(settings);
  early_warnings_.emplace(settings_.warnings);
  ledger_ = std::move(ledger);
  store_ = std::move(store);
  policy::use_threads(settings_.threads);
  for (const SharedGpu& shared : settings_.shared) shares_.push_back(open_share(shared));
  auto made = on_gpus(settings_.make_trainer);
  if (!made) throw ActorFailure(made.error());
  trainer_ = std::move(*made);
  last_checkpoint_ = trainer_->version().step;
  const Identity identity{label() + "-writer", tap()};
  writer_ =
      self_->spawn<caf::detached + caf::linked>(checkpoint_writer, identity, settings_.checkpoints);
  publish();
}

void LearnerState::publish() {
  const policy::WeightSnapshot newest = trainer_->weights();
  self_->send<caf::message_priority::high>(store_, LocalWeights{newest.version, newest.weights});
}

void LearnerState::wait_for_gpus() const {
  for (const SharedGpu& shared : settings_.shared) {
    if (!shared.gpu) continue;
    policy::wait_for(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(*shared.gpu)));
  }
}

/// Without streamed forwards it only stores the segment.
Result<void> LearnerState::forward_pass(const Segment& segment) {
  if (!trainer_->streams()) return trainer_->observe(segment);
  return on_gpus([&] { return trainer_->observe(segment); });
}

void LearnerState::observe(const Segment& segment) {
  if (auto taken = forward_pass(segment); !taken) {
    log::warn(fmt::format("{}: segment {} of trajectory {}: {}", label(), segment.number,
                          segment.trajectory, taken.error().message));
    if (auto why = trainer_->halt()) throw ActorFailure(std::move(*why));
  }
}

void LearnerState::close(const Closed& closed) {
  if (auto taken = trainer_->close(closed.trajectory, closed.outcome); !taken) {
    log::warn(
        fmt::format("{}: trajectory {}: {}", label(), closed.trajectory, taken.error().message));
    record_drop({closed.trajectory, DropReason::infrastructure});
  }
  schedule_work();
}

void LearnerState::drop(const Dropped& dropped) {
  trainer_->forget(dropped.trajectory);
}

/// One message per pack, so that segments and status requests do not wait for a whole step.
void LearnerState::schedule_work() {
  if (scheduled_ || recording_) return;
  if (!trainer_->has_work()) return finish_step_for_checkpoint();
  scheduled_ = true;
  self_->send(self_, atom::step_v);
}

void LearnerState::step(atom::step /*unused*/) {
  scheduled_ = false;
  if (recording_ || !trainer_->has_work()) return;
  handle_progress(on_gpus([this] { return trainer_->advance(); }));
  schedule_work();
}

bool LearnerState::flush(atom::flush /*unused*/) {
  if (recording_ || trainer_->has_work()) return true;  // the supervisor repeats its flush
  handle_progress(on_gpus([this] { return trainer_->flush(); }));
  return recording_;
}

void LearnerState::handle_progress(policy::Progress progress) {
  for (const policy::DroppedTrajectory& dropped : progress.dropped) record_drop(dropped);
  if (progress.halt) throw ActorFailure(std::move(*progress.halt));
  if (progress.step) step_made(*progress.step);
}

void LearnerState::record_drop(const policy::DroppedTrajectory& dropped) {
  ask(self_, *this, "drop_recorded", ledger_, settings_.ledger_timeout,
      Dropped{dropped.id, dropped.reason, "dropped by the learner"})
      .then([](bool) {},
            [this](const caf::error& error) {
              log::warn(label() + ": drop not recorded: " + from_caf(error).message);
            });
}

void LearnerState::step_made(const policy::StepReport& report) {
  recording_ = true;
  publish();
  const auto before = std::exchange(last_numbers_, policy::numbers_of(report));
  if (settings_.planned_bytes > 0) {
    last_numbers_["memory_plan_bytes"] = static_cast<double>(settings_.planned_bytes);
  }
  warn_early(report, before);
  trained_tokens_ += report.forward_tokens;
  StepDone done{report.version, report.trained, last_numbers_};
  ask(self_, *this, "step_recorded", ledger_, settings_.ledger_timeout, std::move(done))
      .then([this](bool) { step_recorded(); },
            [](const caf::error& error) {
              const Error why = from_caf(error);
              throw ActorFailure({why.code, "step not recorded: " + why.message});
            });
}

void LearnerState::warn_early(const policy::StepReport& report, const Numbers& before) {
  for (size_t i = 0; i < enum_names<policy::Warning>.size(); ++i) {
    last_numbers_["warning." + std::string{to_string(static_cast<policy::Warning>(i))}] = 0;
  }
  for (const policy::Warning warning : early_warnings_->observe(report)) {
    const std::string name{to_string(warning)};
    last_numbers_["warning." + name] = 1;
    const auto found = before.find("warning." + name);
    if (found != before.end() && found->second > 0) continue;
    const std::string text = fmt::format("{} at step {}", name, report.version.step);
    log::warn(label() + ": early warning: " + text);
    self_->send(ledger_, Event{"warning", label(), text});
  }
}

/// The ledger has recorded the step: its checkpoint may be written and the next step may begin.
void LearnerState::step_recorded() {
  recording_ = false;
  if (checkpoint_due() || !checkpoint_requests_.empty()) write_checkpoint();
  schedule_work();
}

bool LearnerState::checkpoint_due() const {
  return trainer_->version().step >= last_checkpoint_ + settings_.checkpoint_steps;
}

/// Starts writing a checkpoint if there is a newer step; answers the requests once the ledger has
/// recorded it.
void LearnerState::write_checkpoint() {
  if (writing_checkpoint_) return;  // when it ends, it answers the requests or starts the next one
  const uint32_t step = trainer_->version().step;
  if (step == last_checkpoint_) {
    return answer_checkpoint_requests(
        step, step == 0 ? "" : settings_.checkpoints.store->path_of(step).string());
  }
  if (written_ && written_->step == step) return record_checkpoint(*written_);
  const auto taken = on_gpus([this] { return trainer_->snapshot(); });
  if (!taken) return checkpoint_failed(taken.error());
  writing_checkpoint_ = true;
  ask(self_, *this, "checkpoint_written", writer_, settings_.write_timeout,
      LocalSnapshot{std::make_shared<const policy::TrainerSnapshot>(*taken)})
      .then([this, version = taken->version()](
                const std::string& /*folder*/) { record_checkpoint(version); },
            [this](const caf::error& error) { checkpoint_failed(from_caf(error)); });
}

/// A checkpoint on disk counts once the ledger has recorded it.
void LearnerState::record_checkpoint(PolicyVersion version) {
  written_ = version;
  writing_checkpoint_ = true;
  ask(self_, *this, "checkpoint_recorded", ledger_, settings_.ledger_timeout, atom::checkpoint_v,
      version)
      .then(
          [this, version](bool) {
            last_checkpoint_ = version.step;
            const auto pruned = settings_.checkpoints.store->prune(settings_.keep_checkpoints);
            if (!pruned) log::warn(label() + ": " + pruned.error().message);
            writing_checkpoint_ = false;
            answer_checkpoint_requests(version.step,
                                       settings_.checkpoints.store->path_of(version.step).string());
          },
          [this](const caf::error& error) { checkpoint_failed(from_caf(error)); });
}

/// Ends the run: steps without a checkpoint would be work that a resume must repeat.
void LearnerState::checkpoint_failed(const Error& error) {
  const Error why{error.code, "no checkpoint could be written: " + error.message};
  log::error(label() + ": " + why.message);
  self_->send(ledger_, Event{"checkpoint_failed", label(), error.message});
  writing_checkpoint_ = false;
  answer_checkpoint_requests(trainer_->version().step, tl::unexpected(error));
  self_->quit(to_caf(why));
}

void LearnerState::answer_checkpoint_requests(uint32_t step, const Result<std::string>& folder) {
  for (CheckpointRequest& request : std::exchange(checkpoint_requests_, {})) {
    if (request.step > step) {
      checkpoint_requests_.push_back(std::move(request));
    } else if (folder) {
      request.promise.deliver(*folder);
    } else {
      request.promise.deliver(to_caf(folder.error()));
    }
  }
  if (!checkpoint_requests_.empty() && !recording_ && !trainer_->mid_step()) write_checkpoint();
}

caf::result<std::string> LearnerState::checkpoint(atom::checkpoint /*unused*/) {
  const auto promise = self_->make_response_promise<std::string>();
  checkpoint_requests_.push_back(
      {promise, trainer_->version().step + (trainer_->mid_step() ? 1U : 0U)});
  if (!recording_ && !trainer_->mid_step()) write_checkpoint();
  schedule_work();
  return promise;
}

/// Nothing can be saved within a step, and no more trajectories may come to complete it.
void LearnerState::finish_step_for_checkpoint() {
  if (checkpoint_requests_.empty() || !trainer_->mid_step()) return;
  handle_progress(on_gpus([this] { return trainer_->flush(); }));
}

void LearnerState::describe(ActorStatus& status) const {
  const policy::TrainerStatus now = trainer_->status();
  status.phase = recording_ ? "recording" : now.waiting > 0 ? "stepping" : "collecting";
  status.queued = now.waiting;
  status.gauges = last_numbers_;
  status.gauges["step"] = trainer_->version().step;
  status.gauges["trained_tokens"] = static_cast<double>(trained_tokens_);
  status.gauges["running"] = static_cast<double>(now.running);
  status.gauges["held_bytes"] = static_cast<double>(now.bytes);
  status.gauges["host_bytes"] = static_cast<double>(now.host_bytes);
  status.gauges["offloaded_prefixes"] = static_cast<double>(now.offloaded_prefixes);
  status.gauges["released_prefixes"] = static_cast<double>(now.released_prefixes);
}

LearnerSelf::behavior_type learner(LearnerState::Self self, Identity identity,
                                   LearnerSettings settings, LedgerActor ledger,
                                   LocalWeightStoreActor store) {
  set_up_actor(self, std::move(identity));
  self->state.report_to(settings.board);
  self->state.start(self, std::move(settings), std::move(ledger), std::move(store));
  return {on(self, "status", &LearnerState::status),
          on(self, "observe", &LearnerState::observe),
          on(self, "close", &LearnerState::close),
          on(self, "drop", &LearnerState::drop),
          on(self, "step", &LearnerState::step),
          on(self, "flush", &LearnerState::flush),
          on(self, "checkpoint", &LearnerState::checkpoint)};
}

void LearnerFrontState::start(Self self, LearnerActor worker,
                              std::shared_ptr<const StatusBoard> board,
                              std::chrono::milliseconds busy_limit) {
  self_ = self;
  worker_ = std::move(worker);
  board_ = std::move(board);
  busy_limit_ = busy_limit;
}

caf::result<ActorStatus> LearnerFrontState::status(atom::status /*unused*/) {
  auto newest = board_->newest();
  if (!newest || board_->handling() > busy_limit_) {
    return self_->delegate(worker_, atom::status_v);
  }
  return std::move(*newest);
}

void LearnerFrontState::observe(const Segment& segment) {
  self_->send(worker_, segment);
}

void LearnerFrontState::close(const Closed& closed) {
  self_->send(worker_, closed);
}

void LearnerFrontState::drop(const Dropped& dropped) {
  self_->send(worker_, dropped);
}

caf::result<bool> LearnerFrontState::flush(atom::flush /*unused*/) {
  return self_->delegate(worker_, atom::flush_v);
}

caf::result<std::string> LearnerFrontState::checkpoint(atom::checkpoint /*unused*/) {
  return self_->delegate(worker_, atom::checkpoint_v);
}

LearnerActor::behavior_type learner_front(LearnerFrontState::Self self, Identity identity,
                                          const SpawnLearner& spawn,
                                          std::chrono::milliseconds busy_limit) {
  set_up_actor(self, std::move(identity));
  auto board = std::make_shared<StatusBoard>();
  auto worker = spawn(self, board);
  self->state.start(self, std::move(worker), std::move(board), busy_limit);
  return {on(self, "status", &LearnerFrontState::status),
          on(self, "observe", &LearnerFrontState::observe),
          on(self, "close", &LearnerFrontState::close),
          on(self, "drop", &LearnerFrontState::drop),
          on(self, "flush", &LearnerFrontState::flush),
          on(self, "checkpoint", &LearnerFrontState::checkpoint)};
}

}  // namespace warpsmith::actors
