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

#include "runtime/environment.hpp"
#include "sandbox/compile/nvrtc.hpp"
#include "sandbox/contract/cpu/cpu_runner.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "sandbox/launch/launcher.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/reference/worker.hpp"
#include "sandbox/service/kept_service.hpp"
#include "sandbox/service/loaded_libraries.hpp"
#include "sandbox/service/server.hpp"

namespace {

namespace sandbox = warpsmith::sandbox;

constexpr std::string_view recording_word = sandbox::recording_name;
constexpr const char* usage =
    "warpsmith-sandbox is started by warpsmith, not by hand.\n"
    "  serve      answers requests on descriptor 3\n"
    "  keep       SOCKET SECONDS: stays in the background, answers one client after another, and\n"
    "             ends after that time without a client\n"
    "  runner     runs a kernel inside a jail (descriptors 3 to 6)\n"
    "  nvrtc      compiles one CUDA source inside a jail (descriptor 3)\n"
    "  launcher   carries out launch plans on a GPU inside a jail (descriptors 3, 4);\n"
    "             with \"recording\" it records what it launches (descriptor 5)\n"
    "  libraries  lists the files that the runner needs\n";

int list_libraries() {
  for (const std::string& file : warpsmith::sandbox::loaded_libraries()) std::puts(file.c_str());
  return 0;
}

/// Opens an evaluator if there is an interpreter; a service for command lines only has none.
warpsmith::Result<std::unique_ptr<sandbox::Backend>> make_backend(
    const sandbox::SandboxOptions& options) {
  if (options.python.empty()) return nullptr;
  TRY(auto opened, sandbox::Evaluator::open(options));
  return std::make_unique<sandbox::Evaluator>(std::move(opened));
}

int serve_inherited() {
  warpsmith::UniqueFd fd{sandbox::service_socket_fd};
  return sandbox::serve(warpsmith::FrameSocket{std::move(fd)}, make_backend);
}

/// Names the newest of the worker's files and of those that it shares.
std::string worker_source() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::file_time_type newest{};
  const fs::path shared = warpsmith::source_folder() / sandbox::shared_modules;
  for (const fs::path& folder : {fs::path{sandbox::worker_folder()}, shared}) {
    for (const auto& file : fs::directory_iterator(folder, error)) {
      newest = std::max(newest, file.last_write_time(error));
    }
  }
  return std::to_string(newest.time_since_epoch().count());
}

int serve_in_background(const std::string& socket, const std::string& seconds) {
  const std::chrono::seconds keep{std::strtol(seconds.c_str(), nullptr, 10)};
  return sandbox::serve_kept({socket, keep, worker_source}, make_backend);
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
