// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/launcher_pool.hpp"

#include <algorithm>
#include <filesystem>

#include "runtime/cuda/driver.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/launch/launcher.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int most_starts = 3;  // retries when launchers die before they are warm
constexpr uint32_t driver_files = 1024;

void show_folder(JailSpec& jail, const std::string& folder) {
  const auto same = [&](const Bind& bind) { return bind.jail == folder; };
  if (std::ranges::none_of(jail.read_only, same)) jail.read_only.push_back({folder, folder});
}

/// Shows the jail the driver's and NVIDIA's libraries, and the system's libraries that they need.
void show_gpu(JailSpec& jail, const GpuAccess& gpu) {
  jail.devices = gpu.nodes;
  jail.limits.open_files = driver_files;
  for (const char* folder : {"/usr/lib", "/usr/lib64", "/lib", "/lib64"}) {
    std::error_code error;
    if (std::filesystem::exists(folder, error)) show_folder(jail, folder);
  }
  for (const auto* folders : {&gpu.driver_folders, &gpu.math_folders}) {
    for (const std::string& folder : *folders) show_folder(jail, folder);
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
void add_gpu_search_path(JailSpec& jail, const GpuAccess& gpu) {
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
  jail.capture_output = true;  // contains the reason of a failed start
  const bool apart = gpu && gpu->host_memory_isolated;
  jail.known["host_memory"] =
      apart ? cuda::host_memory_out_of_reach : cuda::host_memory_within_reach;
  if (gpu) show_gpu(jail, *gpu);
  TRY_VOID(add_own_program(jail, options.program));
  if (gpu) add_gpu_search_path(jail, *gpu);
  if (gpu) keep_contexts_small(jail);
  return jail;
}

Result<LauncherPool::Waiting> LauncherPool::start() const {
  TRY(auto jail, launch_jail(options_));
  TRY(auto ends, FrameSocket::pair());
  TRY(auto control, ControlMemory::create());
  jail.descriptors = {{launcher_control_fd, control.fd()}, {launcher_socket_fd, ends.second.fd()}};
  if (options_.records_fd >= 0) jail.descriptors[launcher_records_fd] = options_.records_fd;
  auto process = JailedProcess::start(jail);
  if (!process) return fail("launcher", std::move(process.error()));
  return Waiting{std::move(*process), std::move(control), std::nullopt, std::move(ends.first)};
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
    TRY(auto launcher, start());
    waiting_.push_back(std::move(launcher));
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
  for (int started = 0; started < most_starts;) {
    if (waiting_.empty()) {
      TRY(auto launcher, start());
      waiting_.push_back(std::move(launcher));
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
