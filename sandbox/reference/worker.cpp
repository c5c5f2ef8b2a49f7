// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "sandbox/jail/bubblewrap.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;

constexpr const char* counters_path = "/counters.so";  // kernel_counters.py loads it
constexpr int socket_number = 3;                       // main.py reads frames from it
constexpr int turns_number = 4;
// One folder for all tasks, written by the process that runs them all. A task could leave code
// there for another task's baseline, just as it could patch torch in the process. This is accepted:
// the operator chooses the tasks, and no candidate's code runs in here. A folder per task would
// lose shared precompiled headers and still leave the shared process.
constexpr const char* inductor_folder = "/inductor";
// torch keeps precompiled headers below the folder for temporary files, named after LOGNAME,
// wherever its cache is. Making them takes 8 s of a core.
constexpr const char* headers_folder = "/tmp/torchinductor_worker/precompiled_headers";
constexpr int calibration_calls = 32;
constexpr int least_sets = 1;  // buffer sets that must fit the memory

/// Settings of torch.compile: no helper processes. VEC_ISA_OK accepts the instruction sets that the
/// CPU names; without it torch tests each in a process that imports torch, three per worker.
std::map<std::string, std::string> inductor_environment() {
  return {{"TORCHINDUCTOR_CACHE_DIR", inductor_folder}, {"TORCHINDUCTOR_VEC_ISA_OK", "1"},
          {"TORCHINDUCTOR_COMPILE_THREADS", "1"},       {"TORCHINDUCTOR_FX_GRAPH_CACHE", "1"},
          {"TORCHINDUCTOR_AUTOGRAD_CACHE", "1"},        {"LOGNAME", "worker"}};
}

/// Leaves memory for tasks that draw their inputs on the host.
void add_gpu_for_tasks(JailSpec& spec, const GpuAccess& gpu) {
  add_gpu(spec, gpu);
  spec.environment["TRITON_CACHE_DIR"] = std::string(inductor_folder) + "/triton";
  spec.environment["TRITON_LIBCUDA_PATH"] = gpu.driver_folders.front();
  spec.environment["CUDA_CACHE_DISABLE"] = "1";  // its folder would vanish with the jail
  spec.limits.memory_bytes = 64ULL << 30U;
  spec.limits.tmp_bytes = 4ULL << 30U;
}

Result<JailSpec> jail_for(const WorkerOptions& options, int socket) {
  const std::string artefacts = options.cache_folder + inductor_folder;
  std::error_code error;
  std::filesystem::create_directories(artefacts + "/headers", error);
  if (error) return fail(ErrorCode::io_failed, artefacts + ": " + error.message());
  TRY(auto jail, python_jail(options.python, options.folder, "main.py"));
  JailSpec& spec = jail;
  const std::filesystem::path host = std::filesystem::absolute(artefacts);
  spec.read_write.push_back({host, inductor_folder});
  spec.read_write.push_back({host / "headers", headers_folder});
  for (auto& [name, value] : inductor_environment()) spec.environment[name] = value;
  spec.descriptors[socket_number] = socket;
  if (options.turns) spec.descriptors[turns_number] = *options.turns;
  spec.cores = pinned_to(options.core);
  if (options.gpu) add_gpu_for_tasks(spec, *options.gpu);
  return jail;
}

Json layout_json(const BufferLayout& layout) {
  Json slots = Json::array();
  for (const BufferSlot& slot : layout.slots) {
    slots.push_back({{"offset", slot.offset}, {"output", slot.output}});
  }
  return {{"slots", slots},
          {"input_stride", layout.input_stride},
          {"output_stride", layout.output_stride},
          {"sets", layout.sets}};
}

/// The last line that is not empty.
std::string tail_of(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

/// The digest of the worker's sources, which decide how tasks are judged.
std::string digest_of_sources(const std::string& folder) {
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".py") paths.insert(entry.path());
  }
  std::ostringstream all;
  for (const auto& path : paths) all << std::ifstream(path, std::ios::binary).rdbuf();
  return sha256_hex(all.str()).substr(0, 16);
}

std::string too_long(std::chrono::milliseconds patience) {
  return fmt::format("it was not ready within {} s", (patience.count() + 500) / 1000);
}

/// Records that a baseline could not be made ready; false if the worker must be replaced.
bool note_failure(FurtherBaselines& further, Baseline which, const Failure& failure,
                  std::chrono::milliseconds patience) {
  if (failure.is_refusal()) {
    further.drop(which, failure.message);
    return true;
  }
  if (failure.code != ErrorCode::timeout) further.worker_ended(which, failure.message);
  if (failure.code == ErrorCode::timeout && failure.blame == Blame::machine) {
    further.drop(which, too_long(patience));
  }
  return false;
}

}  // namespace

std::string worker_folder() {
  return (source_folder() / "sandbox/reference/worker").string();
}

std::string task_key(const Task& task) {
  const bool strict = task.lane == PrecisionLane::fp32_strict;
  return sha256_hex(strict ? task.code : task.code + "\n# lane: tf32_allowed");
}

uint64_t padded(uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

uint64_t result_bytes(const TaskSignature& signature) {
  uint64_t references = 0, drawn = 0;
  for (const TensorSpec& spec : signature.tensors) {
    const uint64_t elements = tensor_bytes(spec) / element_bytes(spec.dtype);
    if (spec.role == TensorRole::output) {
      references += padded(elements * sizeof(double)) + padded(elements * sizeof(float));
    } else if (!is_float(spec.dtype)) {
      drawn += padded(tensor_bytes(spec));
    }
  }
  return padded(std::max<uint64_t>({references, drawn, 64}));
}

OrFailure<void> WorkerSession::untimed_call(uint32_t what, uint32_t set, uint32_t argument,
                                            Patience patience) {
  const CallResult call = order(what, set, argument, patience);
  if (call.fault) return tl::unexpected(failure_of(*call.fault, "reference worker"));
  return {};
}

OrFailure<void> WorkerSession::calibrate(Patience patience) {
  return contestant_.calibrate(calibration_calls, patience);
}

CallResult WorkerSession::baseline(Baseline which, uint32_t set, Patience patience) {
  constexpr std::array<uint32_t, 3> codes{1, 8, 9};  // session.py
  return order(codes[static_cast<size_t>(which)], set, 0, patience);
}

OrFailure<bool> WorkerSession::asked(uint32_t what, uint32_t set, uint32_t argument,
                                     Patience patience) {
  TRY_VOID(untimed_call(what, set, argument, patience));
  return contestant_.answer() != 0;
}

Result<ReferenceWorker> ReferenceWorker::begin(const WorkerOptions& options) {
  TRY(auto ends, FrameSocket::pair());
  TRY(auto spec, jail_for(options, ends.second.fd()));
  auto process = JailedProcess::start(spec);
  if (!process) return fail("reference worker", process.error());
  Json request{{"op", "hello"},
               {"device", options.gpu ? "cuda" : "cpu"},
               {"compile_cores", options.compile_cores}};
  if (options.turns) request["turns"] = turns_number;
  ReferenceWorker worker{std::move(*process), std::move(ends.first)};
  worker.hello_ = request.dump();
  worker.sources_ = digest_of_sources(options.folder);
  return worker;
}

OrFailure<void> ReferenceWorker::ready(Patience patience) {
  if (!stack_.empty()) return {};
  auto hello = ask(hello_, patience);
  if (!hello) return fail("start", hello.error());
  const Json facts = Json::parse(*hello);
  stack_ = "torch " + facts.value("torch", "?") + " python " + facts.value("python", "?") + ' ' +
           facts.value("capability", "?") + " worker " + sources_;
  return {};
}

OrFailure<ReferenceWorker> ReferenceWorker::start(const WorkerOptions& options, Patience patience) {
  TRY(auto worker, begin(options));
  TRY_VOID(worker.ready(patience));
  return worker;
}

OrFailure<std::string> ReferenceWorker::ask(const std::string& request, Patience patience) {
  const ByteBuffer frame(request.begin(), request.end());
  if (auto sent = socket_.send(frame, patience.by); !sent) {
    return tl::unexpected(explain(std::move(sent.error()), patience));
  }
  return answer(patience);
}

Failure ReferenceWorker::explain(Error error, Patience patience) {
  if (error.code == ErrorCode::timeout) (void)process_->kill();
  if (error.code != ErrorCode::peer_lost) return patience.failure_of(std::move(error));
  // It closed its socket, so it is ending; its own exit says more than a kill would.
  const auto waited = process_->wait(Deadline::after(std::chrono::seconds{5}));
  const JailExit exit = waited ? *waited : process_->kill();
  if (exit.never_began) {
    error.message = jail_not_made(exit.err).message;
    return error;
  }
  error.message = "the reference worker ended: ";
  if (exit.out_of_memory) {
    error.message += "out of memory";
  } else if (exit.signal != 0) {
    error.message += fmt::format("signal {}", exit.signal);
  } else {
    error.message += fmt::format("exit code {}", exit.exit_code);
  }
  if (const std::string last = tail_of(exit.err); !last.empty()) error.message += ": " + last;
  return error;
}

OrFailure<std::string> ReferenceWorker::answer(Patience patience) {
  auto frame = socket_.receive(patience.by);
  if (!frame) return tl::unexpected(explain(std::move(frame.error()), patience));
  std::string text(frame->begin(), frame->end());
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.value("ok", Json()).is_boolean()) {
    return fail(ErrorCode::parse_failed, "the worker's answer is not an object with \"ok\"");
  }
  if (json["ok"].get<bool>()) return text;
  const auto says = [&](const char* what) { return json.value(what, Json(false)) == Json(true); };
  if (says("ending")) (void)process_->kill();
  const Json reason = json.value("error", Json("no reason given"));
  std::string why = reason.is_string() ? reason.get<std::string>() : reason.dump();
  if (!says("refused")) return fail(ErrorCode::infrastructure, std::move(why));
  if (says("passing")) return fail(ErrorCode::capacity, std::move(why));
  return tl::unexpected(refusal(std::move(why)));
}

OrFailure<std::string> ReferenceWorker::ask_about(const char* what, const Task& task,
                                                  Patience patience) {
  const bool strict = task.lane == PrecisionLane::fp32_strict;
  const Json request{{"op", what},
                     {"key", task_key(task)},
                     {"code", task.code},
                     {"lane", strict ? "fp32_strict" : "tf32_allowed"},
                     {"sets", least_sets}};
  // Invalid UTF-8 in a task's text is replaced; Python then refuses or runs it.
  return ask(request.dump(-1, ' ', false, Json::error_handler_t::replace), patience);
}

OrFailure<TaskDescription> ReferenceWorker::load(const Task& task, Patience patience) {
  TRY(auto answered, ask_about("load", task, patience));
  return parse_description(answered);
}

OrFailure<TaskSignature> ReferenceWorker::signature(const Task& task, Patience patience) {
  TRY(auto answered, ask_about("signature", task, patience));
  return parse_signature(answered);
}

OrFailure<uint64_t> ReferenceWorker::size(const Task& task, Patience patience) {
  TRY(auto answered, ask_about("size", task, patience));
  const Json bytes = Json::parse(answered).value("bytes", Json(0));
  return bytes.is_number_unsigned() ? bytes.get<uint64_t>() : 0;
}

OrFailure<BaselineReady> ReferenceWorker::compile(const Task& task, Baseline which,
                                                  Patience patience,
                                                  std::chrono::milliseconds within) {
  constexpr std::array<const char*, 3> names{"default", "tuned", "graphed"};
  Json request{
      {"op", "compile"}, {"key", task_key(task)}, {"which", names[static_cast<size_t>(which)]}};
  if (within.count() > 0) request["within"] = in_ms(within) / 1000;
  return made_ready(request.dump(), patience);
}

OrFailure<BaselineReady> ReferenceWorker::do_without_compile(const Task& task,
                                                             const std::string& reason,
                                                             Patience patience) {
  const Json request{{"op", "compile"}, {"key", task_key(task)}, {"without", reason}};
  return made_ready(request.dump(), patience);
}

OrFailure<BaselineReady> ReferenceWorker::made_ready(const std::string& request,
                                                     Patience patience) {
  TRY(auto answered, ask(request, patience));
  const Json json = Json::parse(answered);
  const Json seconds = json.value("seconds", Json(0.0)), reason = json.value("reason", Json(""));
  return BaselineReady{.seconds = seconds.is_number() ? seconds.get<double>() : 0.0,
                       .ready = json.value("ready", Json(true)) == Json(true),
                       .reason = reason.is_string() ? reason.get<std::string>() : ""};
}

OrFailure<BaselineKernels> ReferenceWorker::profile(const Task& task, Patience patience) {
  const Json request{{"op", "profile"}, {"key", task_key(task)}};
  TRY(auto answered, ask(request.dump(), patience));
  return parse_baseline_kernels(answered);
}

OrFailure<WorkerSession> ReferenceWorker::enter(const Task& task, const SessionMemory& memory,
                                                const SessionOptions& options, Patience patience) {
  TRY(auto control, ControlMemory::create());
  const Json request{{"op", "enter"},
                     {"key", task_key(task)},
                     {"layout", layout_json(memory.layout)},
                     {"memory", memory.on_device ? "device" : "host"},
                     {"bytes", memory.bytes},
                     {"evaluations", options.evaluations},
                     {"graphs", options.graphs},
                     {"by_clock", options.by_clock},
                     {"seed", options.draw_seed >> 1U}};
  const std::string text = request.dump();
  if (auto sent = socket_.send({text.begin(), text.end()}, patience.by); !sent) {
    return tl::unexpected(explain(std::move(sent.error()), patience));
  }
  std::vector<int> fds{control.fd()};
  fds.insert(fds.end(), memory.descriptors.begin(), memory.descriptors.end());
  if (auto sent = socket_.send_descriptors(fds, patience.by); !sent) {
    return tl::unexpected(explain(std::move(sent.error()), patience));
  }
  TRY_VOID(answer(patience));
  auto contestant = Contestant::adopt(process_, std::move(control), patience);
  if (!contestant) return fail("reference worker", contestant.error());
  return WorkerSession{std::move(*contestant)};
}

Failure ReferenceWorker::with_cause(Failure failure, WorkerSession& session) {
  const Deadline soon = Deadline::after(std::chrono::seconds{5});
  if (!session.leave(soon)) return failure;  // it ended, or hangs
  const auto raised = finish(soon);
  if (raised && !raised->empty()) failure.message += ": " + *raised;
  return failure;
}

OrFailure<std::string> ReferenceWorker::finish(Patience patience) {
  TRY(auto answered, answer(patience));
  const Json seen = Json::parse(answered).value("error_seen", Json(""));
  return seen.is_string() ? seen.get<std::string>() : std::string();
}

OrFailure<void> prepare_baselines(ReferenceWorker& worker, const Task& task,
                                  FurtherBaselines& further, Patience patience,
                                  const Progress& progress, std::map<Baseline, double>* seconds) {
  for (const Baseline which : further.left()) {
    if (progress) progress(task.id + ": " + std::string(to_string(which)));
    const auto half = patience.by.left() / 2;
    const auto made = worker.compile(task, which, {Blame::machine, half, patience});
    if (!made) {
      if (note_failure(further, which, made.error(), half)) continue;
      return fail(std::string(to_string(which)), made.error());
    }
    if (seconds != nullptr) (*seconds)[which] = made->seconds;
    if (!made->ready) further.drop(which, made->reason);
  }
  return {};
}

OrFailure<WorkerSession> enter_with_baselines(ReferenceWorker& worker, const Task& task,
                                              const SessionMemory& memory, SessionOptions options,
                                              FurtherBaselines& further, Patience patience) {
  options.graphs = further.has(Baseline::graphed);
  auto session = worker.enter(task, memory, options, patience);
  const bool refused =
      !session && (session.error().is_refusal() || session.error().code == ErrorCode::capacity);
  if (!options.graphs || !refused) return session;
  further.drop(Baseline::graphed, session.error().message);
  options.graphs = false;
  return worker.enter(task, memory, options, patience);
}

Result<JailSpec> python_jail(const std::string& python, const std::string& folder,
                             const std::string& script) {
  TRY(auto jail, worker_jail(python));
  JailSpec& spec = jail;
  spec.argv.insert(spec.argv.end(), {"-P", "-s", "/worker/" + script});
  spec.read_only.push_back({std::filesystem::absolute(folder), "/worker"});
  spec.read_only.push_back({source_folder() / shared_modules, "/shared"});
  spec.environment["PYTHONPATH"] = "/worker:/shared";
  spec.environment["PYTHONDONTWRITEBYTECODE"] = "1";
  spec.environment["MKL_NUM_THREADS"] = "1";
  spec.environment["MALLOC_MMAP_THRESHOLD_"] = "1073741824";
  spec.environment["MALLOC_TRIM_THRESHOLD_"] = "2147483647";
  spec.environment["MALLOC_TOP_PAD_"] = "67108864";
  return jail;
}

void add_gpu(JailSpec& spec, const GpuAccess& gpu) {
  spec.devices = gpu.nodes;
  std::string search;
  for (const std::string& folder : gpu.driver_folders) {
    spec.read_only.push_back({folder, folder});
    search += (search.empty() ? "" : ":") + folder;
  }
  spec.environment["LD_LIBRARY_PATH"] = search;
  if (!gpu.counters_library.empty()) {
    spec.read_only.push_back({gpu.counters_library, counters_path});
    spec.environment["WARPSMITH_COUNTERS"] = counters_path;
  }
  spec.limits.open_files = 4096;
}

}  // namespace warpsmith::sandbox
