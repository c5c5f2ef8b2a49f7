// SPDX-License-Identifier: Apache-2.0
// warpsmith-sandbox: the program that makes verdicts and starts jails. It also runs inside them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sandbox/compile/nvrtc_worker.hpp"
#include "sandbox/contract/cpu/runner_plan.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "sandbox/launch/launcher.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/service/kept_service.hpp"
#include "sandbox/service/libraries.hpp"
#include "sandbox/service/server.hpp"

namespace {

namespace sandbox = warpsmith::sandbox;

constexpr std::string_view recording_word = sandbox::recording_name;
constexpr const char* usage =
    "warpsmith-sandbox is started by warpsmith, not by hand.\n"
    "  serve      answers requests on descriptor 3\n"
    "  keep       SOCKET SECONDS: stays in the background, answers one client after another, ends\n"
    "             when there was none for so long\n"
    "  runner     runs a kernel inside a jail (descriptors 3 to 6)\n"
    "  nvrtc      compiles one CUDA source inside a jail (descriptor 3)\n"
    "  launcher   carries out launch plans on a GPU inside a jail (descriptors 3, 4);\n"
    "             with \"recording\" it records what it launches (descriptor 5)\n"
    "  libraries  lists the files that the runner needs\n";

int list_libraries() {
  for (const std::string& file : warpsmith::sandbox::loaded_libraries()) std::puts(file.c_str());
  return 0;
}

warpsmith::Result<sandbox::EvaluatorOptions> evaluator_options(
    const sandbox::SandboxOptions& options) {
  auto further = sandbox::further_baselines_named(options.baselines);
  if (!further) return tl::unexpected(std::move(further.error()));
  return sandbox::EvaluatorOptions{.runner = options.program,
                                   .python = options.python,
                                   .worker_folder = WARPSMITH_WORKER_FOLDER,
                                   .cache_folder = options.cache_dir,
                                   .core = options.core,
                                   .compile_cores = options.cores,
                                   .gpu = options.gpu,
                                   .candidate_memory_bytes = options.candidate_memory_bytes,
                                   .compile_cache_bytes = options.compile_cache_bytes,
                                   .source_bytes = options.source_bytes,
                                   .message_bytes = options.message_bytes,
                                   .compile_tasks = options.compile_tasks,
                                   .compile_timeout = std::chrono::milliseconds{options.compile_ms},
                                   .call_timeout = std::chrono::milliseconds{options.call_ms},
                                   .ingest_timeout = std::chrono::milliseconds{options.ingest_ms},
                                   .require_cgroups = options.require_cgroups,
                                   .verified_sets = options.verified_sets,
                                   .timed_blocks = options.timed_blocks,
                                   .further = std::move(*further),
                                   .numerics = options.numerics};
}

/// Opens an evaluator if there is an interpreter; a service for command lines alone has none.
warpsmith::Result<sandbox::ServiceWork> make_work(const sandbox::SandboxOptions& options) {
  using namespace warpsmith;
  if (options.python.empty()) {
    return sandbox::ServiceWork{
        [](const sandbox::EvaluateRequest&, Deadline, const sandbox::Progress&) -> Judgement {
          return InfraFailure{InfraKind::reference_failed,
                              "this sandbox was started without Python"};
        },
        [](const Task&, Deadline, const sandbox::Progress&) -> Result<TaskFacts> {
          return fail(ErrorCode::unsupported, "this sandbox was started without Python");
        }};
  }
  auto wanted = evaluator_options(options);
  if (!wanted) return tl::unexpected(std::move(wanted.error()));
  auto opened = sandbox::Evaluator::open(std::move(*wanted));
  if (!opened) return tl::unexpected(std::move(opened.error()));
  const auto evaluator = std::make_shared<sandbox::Evaluator>(std::move(*opened));
  return sandbox::ServiceWork{
      [evaluator](const sandbox::EvaluateRequest& request, Deadline deadline,
                  const sandbox::Progress& progress) {
        return evaluator->evaluate(request, deadline, progress);
      },
      [evaluator](const Task& task, Deadline deadline, const sandbox::Progress& progress) {
        return evaluator->ingest(task, deadline, progress);
      }};
}

int serve_inherited() {
  warpsmith::UniqueFd fd{sandbox::service_socket_fd};
  return sandbox::serve(warpsmith::FrameSocket{std::move(fd)}, make_work);
}

/// Names the newest of the worker's files.
std::string worker_source() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::file_time_type newest{};
  for (const auto& file : fs::directory_iterator(WARPSMITH_WORKER_FOLDER, error)) {
    newest = std::max(newest, file.last_write_time(error));
  }
  return std::to_string(newest.time_since_epoch().count());
}

int serve_in_background(const std::string& socket, const std::string& seconds) {
  const std::chrono::seconds keep{std::strtol(seconds.c_str(), nullptr, 10)};
  return sandbox::serve_kept({socket, keep, worker_source}, make_work);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  const std::string mode = arguments.size() > 1 ? arguments[1] : "";
  if (mode == "serve") return serve_inherited();
  if (mode == "keep" && arguments.size() == 4) {
    return serve_in_background(arguments[2], arguments[3]);
  }
  if (mode == "runner") return warpsmith::sandbox::run_runner();
  if (mode == "nvrtc") return warpsmith::sandbox::run_nvrtc_worker();
  if (mode == sandbox::launcher_mode && arguments.size() == 2) {
    return sandbox::run_launcher(sandbox::open_cuda_device, sandbox::Recording::off);
  }
  if (mode == sandbox::launcher_mode && arguments.size() == 3 && arguments[2] == recording_word) {
    return sandbox::run_launcher(sandbox::open_cuda_device, sandbox::Recording::on);
  }
  if (mode == "libraries") return list_libraries();
  (void)std::fputs(usage, mode == "--help" ? stdout : stderr);
  return mode == "--help" ? 0 : 2;
}
