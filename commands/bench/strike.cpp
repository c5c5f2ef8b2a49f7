// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/strike.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "runtime/clock.hpp"
#include "runtime/process/unique_fd.hpp"

namespace warpsmith::commands {
namespace {

constexpr std::chrono::milliseconds between_polls{5};

bool runs(const ProcessSeen& process, Piece piece) {
  const auto& argv = process.argv;
  if (argv.empty()) return false;
  const std::string mode = argv[0] == "/runner" && argv.size() > 1 ? argv[1] : "";
  switch (piece) {
    case Piece::candidate:
      return mode == "runner" || mode == "launcher";
    case Piece::compiler:
      return mode == "nvrtc" || argv[0] == "/bin/sh";
    case Piece::reference_worker:
      return argv[0].find("python") != std::string::npos;
    case Piece::service:
      break;
  }
  return false;
}

/// Kills the process unless another one has taken over its number.
bool kill_same(const ProcessSeen& process) {
  const UniqueFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0))};
  if (!pidfd) return false;
  const auto now = processes_below(process.parent);
  const bool same = std::ranges::any_of(now, [&](const ProcessSeen& one) {
    return one.pid == process.pid && one.started == process.started;
  });
  return same && ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) == 0;
}

}  // namespace

std::optional<pid_t> find_piece(const std::vector<ProcessSeen>& below, Piece piece, pid_t service) {
  if (piece == Piece::service) return service;
  const auto monitored = [&](const ProcessSeen& process) {
    return std::ranges::any_of(below, [&](const ProcessSeen& monitor) {
      return monitor.pid == process.parent && monitor.parent == service;
    });
  };
  for (const ProcessSeen& process : below) {
    const bool lives = process.state != 'Z' && process.state != 'X';
    if (lives && runs(process, piece) && monitored(process)) return process.pid;
  }
  return std::nullopt;
}

Strike::Strike(pid_t service, Piece piece, std::chrono::microseconds delay, ProcessCensus& census)
    : service_(service), piece_(piece), census_(census), thread_([this, delay] { run(delay); }) {}

bool Strike::hit() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
  return hit_;
}

void Strike::run(std::chrono::microseconds delay) {
  const Deadline begin = Deadline::after(delay);
  while (!over_ && !hit_) {
    if (begin.passed() && try_once()) hit_ = true;
    std::this_thread::sleep_for(between_polls);
  }
}

bool Strike::try_once() {
  census_.look(::getpid());
  auto all = processes_below(::getpid());
  const auto below_service = below(service_, all);
  const auto pid = find_piece(below_service, piece_, service_);
  const auto target =
      std::ranges::find_if(all, [&](const ProcessSeen& one) { return pid && one.pid == *pid; });
  return target != all.end() && !over_ && kill_same(*target);
}

}  // namespace warpsmith::commands
