// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_runner.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "sandbox/jail/seccomp_filter.hpp"
#include "sandbox/reference/description.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;

constexpr int socket_number = 3;                    // host_runner.py reads its frames there
constexpr const char* filter_path = "/filter.bpf";  // and puts this in force

Result<JailSpec> runner_jail(const ContractSlot& slot, int socket) {
  TRY(auto filter, host_candidate_program());
  TRY(auto spec, python_jail(slot.options.python, worker_folder(), "host_runner.py"));
  spec.kind = JailKind::host;
  spec.files[filter_path] = std::move(filter);
  spec.descriptors[socket_number] = socket;
  spec.cores = pinned_to(slot.options.core);
  spec.limits.cgroup_required = slot.options.settings.require_cgroups;
  if (slot.gpu != nullptr) {
    add_gpu(spec, *slot.gpu);
    spec.limits.memory_bytes = 32ULL << 30U;
  }
  return spec;
}

Json signature_json(const TaskSignature& signature) {
  constexpr std::array<const char*, 3> roles{"input", "parameter", "output"};
  Json tensors = Json::array();
  for (const TensorSpec& spec : signature.tensors) {
    tensors.push_back({{"name", spec.name},
                       {"role", roles[static_cast<size_t>(spec.role)]},
                       {"dtype", to_string(spec.dtype)},
                       {"shape", spec.shape},
                       {"elements", tensor_bytes(spec) / element_bytes(spec.dtype)}});
  }
  return tensors;
}

Json slots_json(const BufferLayout& layout) {
  Json slots = Json::array();
  for (const BufferSlot& slot : layout.slots) {
    slots.push_back({{"offset", slot.offset}, {"output", slot.output}});
  }
  return slots;
}

Json enter_request(const HostContestantSpec& spec, const CandidateMemory& memory) {
  return {{"op", "enter"},
          {"files", spec.submission.modules},
          {"task", spec.task.code},
          {"lane", spec.task.lane == PrecisionLane::fp32_strict ? "fp32_strict" : "tf32_allowed"},
          {"artefact", to_string(spec.submission.artefact)},
          {"signature", signature_json(spec.signature)},
          {"records", spec.records_fd >= 0},
          {"layout", {{"slots", slots_json(memory.layout)}}},
          {"bytes", {memory.input_bytes, memory.output_bytes}}};
}

ByteBuffer frame_of(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return {text.begin(), text.end()};
}

/// Measures an empty call, then a whole call of the judge's own code.
OrFailure<void> calibrate(Contestant& contestant, const HostContestantSpec& spec,
                          Deadline deadline) {
  TRY_VOID(contestant.calibrate(spec.calibration_calls, deadline));
  RandomStream random(0, "calibration");  // nothing secret is written yet
  const auto positions = draw_positions(spec.signature, spec.stage.memory().layout, random);
  spec.stage.arm(0, positions);
  const CallEdges edges{[&] { spec.stage.reveal(0); }, [&] { spec.stage.sample(); }};
  return contestant.calibrate(spec.calibration_calls, edges, deadline);
}

constexpr std::chrono::seconds warming_patience{120};  // importing torch on a loaded machine

Patience warm_by(Deadline deadline) {
  return {Blame::machine, warming_patience, deadline};
}

}  // namespace

Result<HostRunner> HostRunner::start(const ContractSlot& slot) {
  TRY(auto ends, FrameSocket::pair());
  TRY(auto jail, runner_jail(slot, ends.second.fd()));
  auto process = JailedProcess::start(jail);
  if (!process) return fail("host runner", std::move(process.error()));
  HostRunner runner{std::move(*process), std::move(ends.first)};
  const Json hello{{"op", "hello"}, {"device", slot.gpu != nullptr ? "cuda" : "cpu"}};
  // The process reads later; the frame fits the socket's buffer.
  if (auto sent = runner.socket_.send(frame_of(hello), Deadline::after(std::chrono::seconds{5}));
      !sent) {
    return fail("host runner", std::move(sent.error()));
  }
  return runner;
}

OrFailure<void> HostRunner::await_answer(Patience patience) {
  auto frame = socket_.receive(patience.by);
  if (!frame) {
    if (frame.error().code != ErrorCode::peer_lost) {
      return fail("host runner", patience.failure_of(frame.error()));
    }
    const JailExit exit = process_->kill();
    return fail(ErrorCode::process_failed, "the host runner ended: " + exit.err);
  }
  const Json json = Json::parse(frame->begin(), frame->end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return fail(ErrorCode::parse_failed, "the host runner's answer is no object");
  }
  if (json.value("ok", Json(false)) == Json(true)) return {};
  const Json reason = json.value("error", Json("no reason given"));
  return fail(ErrorCode::infrastructure,
              "host runner: " + (reason.is_string() ? reason.get<std::string>() : reason.dump()));
}

OrFailure<void> HostRunner::settle(Patience patience) {
  if (warm_) return {};
  TRY_VOID(await_answer(patience));
  warm_ = true;
  return {};
}

OrFailure<Contestant> HostRunner::enter(const HostContestantSpec& spec, Deadline deadline) && {
  TRY_VOID(settle(deadline));
  TRY(auto control, ControlMemory::create());
  const auto artefact =
      MemoryFile::sealed_copy("artefact", spec.artefact.empty() ? "none" : spec.artefact);
  if (!artefact) return tl::unexpected(artefact.error());
  const CandidateMemory memory = spec.stage.memory();
  TRY_VOID(socket_.send(frame_of(enter_request(spec, memory)), deadline));
  std::vector<int> descriptors{control.fd(), memory.inputs, memory.outputs, artefact->fd()};
  if (spec.records_fd >= 0) descriptors.push_back(spec.records_fd);
  TRY_VOID(socket_.send_descriptors(descriptors, deadline));
  TRY_VOID(await_answer(deadline));
  TRY(auto contestant, Contestant::adopt(process_, std::move(control), deadline));
  TRY_VOID(contestant.confine(deadline));
  TRY_VOID(process_->observe());
  TRY_VOID(calibrate(contestant, spec, deadline));
  return contestant;
}

Result<void> HostRunners::begin_warming() {
  if (waiting_ && waiting_->alive()) return {};
  TRY(auto started, HostRunner::start(slot_));
  waiting_.emplace(std::move(started));
  return {};
}

OrFailure<void> HostRunners::warm_up(Deadline deadline) {
  TRY_VOID(begin_warming());
  auto settled = waiting_->settle(warm_by(deadline));
  if (!settled) waiting_.reset();
  return settled;
}

void HostRunners::wait_idle(Deadline deadline) {
  if (waiting_ && !waiting_->settle(warm_by(deadline))) waiting_.reset();
}

OrFailure<HostRunner> HostRunners::take(Deadline deadline) {
  TRY_VOID(warm_up(deadline));
  return std::exchange(waiting_, std::nullopt).value();
}

}  // namespace warpsmith::sandbox
