// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/launcher_pool.hpp"

#include <algorithm>
#include <filesystem>

#include "runtime/cuda/driver.hpp"
#include "sandbox/jail/own_program.hpp"
#include "sandbox/launch/launcher.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int starts_at_most = 3;  // retries when launchers die before they are warm
constexpr uint32_t driver_files = 1024;

void see_folder(JailSpec& jail, const std::string& folder) {
  const auto same = [&](const Bind& bind) { return bind.jail == folder; };
  if (std::ranges::none_of(jail.read_only, same)) jail.read_only.push_back({folder, folder});
}

/// Shows the jail the system's libraries, which the driver and NVIDIA's libraries need, and those.
void see_gpu(JailSpec& jail, const GpuAccess& gpu) {
  jail.devices = gpu.nodes;
  jail.limits.open_files = driver_files;
  for (const char* folder : {"/usr/lib", "/usr/lib64", "/lib", "/lib64"}) {
    std::error_code error;
    if (std::filesystem::exists(folder, error)) see_folder(jail, folder);
  }
  for (const auto* folders : {&gpu.driver_folders, &gpu.math_folders}) {
    for (const std::string& folder : *folders) see_folder(jail, folder);
  }
}

/// What a launcher may see; includes CUPTI's folder if it records.
std::optional<GpuAccess> access_of(const LauncherOptions& options) {
  std::optional<GpuAccess> gpu = options.gpu;
  if (!gpu || options.records_fd < 0) return gpu;
  gpu->math_folders.insert(gpu->math_folders.end(), gpu->profiler_folders.begin(),
                           gpu->profiler_folders.end());
  return gpu;
}

/// One channel of each kind is enough, since a plan runs on one stream. Opening and closing
/// channels holds the driver's lock, which blocks all contexts of all GPUs.
void keep_contexts_small(JailSpec& jail) {
  jail.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  jail.environment["CUDA_DEVICE_MAX_COPY_CONNECTIONS"] = "1";
}

/// Order of search: the driver's folders, the libraries' folders, then the loader's defaults.
void search_gpu(JailSpec& jail, const GpuAccess& gpu) {
  std::string path;
  for (const auto* folders : {&gpu.driver_folders, &gpu.math_folders}) {
    for (const std::string& folder : *folders) path += (path.empty() ? "" : ":") + folder;
  }
  std::string& search = jail.environment["LD_LIBRARY_PATH"];
  search = search.empty() ? path : search + ":" + path;
}

}  // namespace

Result<JailSpec> launch_jail(const LauncherOptions& options) {
  const std::optional<GpuAccess> gpu = access_of(options);
  JailSpec jail;
  jail.kind = JailKind::launch;
  jail.argv = {own_program_path, launcher_mode};
  if (options.records_fd >= 0) jail.argv.emplace_back(recording_name);
  jail.limits = options.limits;
  jail.limits.tmp_bytes = 0;
  jail.cores = pinned_to(options.core);
  jail.capture_output = true;  // holds the reason of a failed start
  const bool apart = gpu && gpu->host_memory_apart;
  jail.known["host_memory"] = apart ? cuda::out_of_reach : cuda::within_reach;
  if (gpu) see_gpu(jail, *gpu);
  if (auto added = add_own_program(jail, options.program); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  if (gpu) search_gpu(jail, *gpu);
  if (gpu) keep_contexts_small(jail);
  return jail;
}

Result<LauncherPool::Waiting> LauncherPool::start() const {
  auto jail = launch_jail(options_);
  if (!jail) return tl::unexpected(std::move(jail.error()));
  auto ends = FrameSocket::pair();
  if (!ends) return tl::unexpected(std::move(ends.error()));
  auto control = ControlMemory::create();
  if (!control) return tl::unexpected(std::move(control.error()));
  jail->descriptors = {{launcher_control_fd, control->fd()},
                       {launcher_socket_fd, ends->second.fd()}};
  if (options_.records_fd >= 0) jail->descriptors[launcher_records_fd] = options_.records_fd;
  auto process = JailedProcess::start(*jail);
  if (!process) return fail("launcher", std::move(process.error()));
  return Waiting{std::move(*process), std::move(*control), std::nullopt, std::move(ends->first)};
}

OrFailure<void> LauncherPool::warm(Waiting& launcher, Deadline deadline) const {
  if (launcher.contestant) return {};
  auto adopted = Contestant::adopt(launcher.process, std::move(*launcher.control), deadline);
  launcher.control.reset();
  if (!adopted) {
    const JailExit exit = launcher.process->kill();
    return fail("launcher" + (exit.err.empty() ? "" : " (" + exit.err + ")"),
                std::move(adopted.error()));
  }
  launcher.contestant.emplace(std::move(*adopted));
  return {};
}

Result<void> LauncherPool::refill() {
  while (waiting_.size() < std::max<size_t>(options_.ready, 1)) {
    auto launcher = start();
    if (!launcher) return tl::unexpected(std::move(launcher.error()));
    waiting_.push_back(std::move(*launcher));
  }
  return {};
}

OrFailure<void> LauncherPool::settle(Deadline deadline) {
  while (true) {
    const auto cold =
        std::ranges::find_if(waiting_, [](const Waiting& one) { return !one.contestant; });
    if (cold == waiting_.end()) return {};
    if (auto done = warm(*cold, deadline); !done) {
      waiting_.erase(cold);
      return done;
    }
  }
}

OrFailure<WarmLauncher> LauncherPool::take(Deadline deadline) {
  Failure last;
  for (int started = 0; started < starts_at_most;) {
    if (waiting_.empty()) {
      auto launcher = start();
      if (!launcher) return tl::unexpected(std::move(launcher.error()));
      waiting_.push_back(std::move(*launcher));
      ++started;
    }
    Waiting launcher = std::move(waiting_.front());
    waiting_.pop_front();
    auto done = warm(launcher, deadline);
    // Calibrate now: at the clock rates of the candidate's run, and to see that it is still alive.
    if (done) done = launcher.contestant->calibrate(options_.calibration_calls, deadline);
    if (done) return WarmLauncher{std::move(*launcher.contestant), std::move(launcher.socket)};
    last = std::move(done.error());
    if (last.blame == Blame::deadline) break;
  }
  return tl::unexpected(std::move(last));
}

}  // namespace warpsmith::sandbox
