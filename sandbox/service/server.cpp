// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "runtime/cuda/device_error.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/jail_limits.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/service/shell.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* without_python = "this sandbox was started without Python";
constexpr seconds answer_patience{30};
// Subtracted from the caller's deadline, so that an answer about a time-out arrives in time, even
// if a candidate's memory must be released first.
constexpr milliseconds least_reserve{200}, most_reserve{2'000};

Deadline own_deadline(milliseconds left) {
  const milliseconds reserve = std::clamp(left / 20, least_reserve, most_reserve);
  return Deadline::after(left > 2 * reserve ? left - reserve : left / 2);
}

/// A later sweep removes a file that the main thread was writing.
[[noreturn]] void end_process() {
  refuse_new_jails();
  kill_all_jails();
  remove_cgroups_of(::getpid());
  ::_exit(0);
}

/// True once the client's end of the socket is closed.
bool has_left(int socket, milliseconds within) {
  pollfd poll{socket, POLLRDHUP, 0};
  return ::poll(&poll, 1, static_cast<int>(within.count())) > 0;
}

/// Watches a client from another thread. If it leaves, this ends the process if a request is in
/// progress, or if the service ends with its client.
class ClientWatch {
 public:
  ClientWatch(int socket, const std::atomic<bool>& busy, OnDisconnect on_disconnect)
      : socket_(socket), thread_([this, socket, &busy, on_disconnect] {
          while (!has_left(socket, milliseconds{60'000})) continue;
          const bool ends = busy || on_disconnect == OnDisconnect::end_service;
          if (ends && !over_) end_process();
        }) {}
  ~ClientWatch() {
    over_ = true;
    (void)::shutdown(socket_, SHUT_RDWR);
    thread_.join();
  }
  ClientWatch(const ClientWatch&) = delete;
  ClientWatch& operator=(const ClientWatch&) = delete;

 private:
  int socket_;
  std::atomic<bool> over_ = false;
  std::thread thread_;  // uses the members above
};

WireAnswer failed(const Error& error) {
  WireAnswer answer;
  answer.failed = true;
  answer.code = error.code;
  answer.body = error.message;
  return answer;
}

template <class T>
WireAnswer answer_of(const Result<T>& result) {
  if (!result) return failed(result.error());
  WireAnswer answer;
  answer.body = pack_body(*result);
  return answer;
}

}  // namespace

struct Server::State {
  State(const MakeBackend& make, OnDisconnect what) : make_backend_(make), on_disconnect_(what) {
    sweep_stale_cgroups();
  }

  bool talk(FrameSocket socket) {
    socket_.emplace(std::move(socket));
    const ClientWatch watch(socket_->fd(), busy_, on_disconnect_);
    while (!ending_ && answer_next()) continue;
    jobs_.reset();  // none outlives its client
    return !ending_;
  }

 private:
  /// False once the client has left.
  bool answer_next() {
    poll_jobs_until_asked();
    // Idle without a limit: the watcher notices if the client ends.
    auto frame = socket_->receive(Deadline::after(std::chrono::hours{24}));
    if (!frame) return frame.error().code == ErrorCode::timeout;
    busy_ = true;
    if (has_left(socket_->fd(), milliseconds{0})) return busy_ = false;
    auto request = codec::unpack<WireRequest>(*frame);
    number_ = request ? request->number : 0;
    WireAnswer answer = request ? handle_guarded(*request) : failed(request.error());
    answer.number = number_;
    busy_ = false;
    return socket_->send(codec::pack(answer), Deadline::after(answer_patience)).has_value();
  }

  /// With jobs the service cannot sleep until the next request.
  void poll_jobs_until_asked() {
    constexpr milliseconds between{100};
    pollfd poll{socket_->fd(), POLLIN | POLLRDHUP, 0};
    while (jobs_ && !jobs_->empty() && ::poll(&poll, 1, static_cast<int>(between.count())) <= 0) {
      jobs_->poll();
    }
  }

  /// After an error of the device this process ends, and the client starts another.
  WireAnswer handle_guarded(const WireRequest& request) {
    try {
      return handle(request);
    } catch (const cuda::DeviceError& error) {
      ending_ = true;
      return failed({ErrorCode::infrastructure, error.what()});
    }
  }

  WireAnswer handle(const WireRequest& request) {
    const Deadline deadline = own_deadline(milliseconds{request.left_ms});
    if (request.kind == RequestKind::hello) return greet(request.body);
    if (greeted_with_.empty() && request.kind != RequestKind::shutdown) {
      return failed({ErrorCode::invalid_argument, "sandbox: the first request is hello"});
    }
    switch (request.kind) {
      case RequestKind::evaluate:
        return evaluate(request.body, deadline);
      case RequestKind::ingest:
        return ingest(request.body, deadline);
      case RequestKind::shell:
        return shell(request.body, deadline);
      case RequestKind::job:
        return job(request.body);
      case RequestKind::health:
        return answer_of(health(deadline));
      case RequestKind::shutdown:
      case RequestKind::hello:
        break;
    }
    ending_ = true;
    return {};
  }

  WireAnswer greet(const std::string& body) {
    auto options = unpack_body<SandboxOptions>(body);
    if (!options) return failed(options.error());
    if (!greeted_with_.empty()) return greet_again(body);
    options_ = std::move(*options);
    if (options_.settings.require_cgroups) {
      if (auto in_force = probe_cgroups(); !in_force) return failed(in_force.error());
    }
    if (options_.core && !pin_.emplace(*options_.core).in_force()) {
      return failed({ErrorCode::unsupported,
                     fmt::format("core {} is not available to this process (sandbox.first_core)",
                                 *options_.core)});
    }
    auto backend = make_backend_(options_);
    if (!backend) return failed(backend.error());
    backend_ = std::move(*backend);
    if (backend_) backend_->on_progress(progress_sender());
    greeted_with_ = body;
    return {};
  }

  /// For a later client of a kept service.
  WireAnswer greet_again(const std::string& body) const {
    if (body == greeted_with_) return {};
    return failed({ErrorCode::invalid_argument, "sandbox: this service has other options"});
  }

  /// Sends progress of the current request. Does not wait long for a client that does not read.
  Progress progress_sender() {
    return [this](const std::string& what) {
      WireAnswer line;
      line.number = number_;
      line.progress = true;
      line.body = what;
      (void)socket_->send(codec::pack(line), Deadline::after(seconds{1}));
    };
  }

  WireAnswer evaluate(const std::string& body, Deadline deadline) {
    const auto request = unpack_body<EvaluateRequest>(body);
    if (!request) return failed(request.error());
    ++evaluations_;
    WireAnswer answer;
    answer.body =
        pack_body(backend_ ? backend_->evaluate(*request, deadline)
                           : Judgement{InfraFailure{InfraKind::reference_failed, without_python}});
    return answer;
  }

  WireAnswer ingest(const std::string& body, Deadline deadline) {
    const auto task = unpack_body<Task>(body);
    if (!task) return failed(task.error());
    if (!backend_) return failed({ErrorCode::unsupported, without_python});
    return answer_of(backend_->ingest(*task, deadline));
  }

  WireAnswer shell(const std::string& body, Deadline deadline) {
    const auto request = unpack_body<ShellRequest>(body);
    if (!request) return failed(request.error());
    const auto meanwhile = [this] {
      if (jobs_) jobs_->poll();
    };
    return answer_of(run_shell(*request, deadline, options_.settings.require_cgroups, meanwhile));
  }

  WireAnswer job(const std::string& body) {
    const auto request = unpack_body<JobRequest>(body);
    if (!request) return failed(request.error());
    if (!jobs_) jobs_.emplace(options_.settings.require_cgroups);
    return answer_of(jobs_->handle(*request));
  }

  Result<HealthReport> health(Deadline deadline) {
    TRY(auto jail, probe_run_jail(options_.program, deadline));
    HealthReport report;
    report.jail = std::move(jail);
    report.facts["pid"] = std::to_string(::getpid());
    report.facts["core"] = options_.core ? std::to_string(*options_.core) : "any";
    report.facts["pinned"] = pin_ && pin_->in_force() ? "yes" : "no";
    report.facts["evaluations"] = std::to_string(evaluations_);
    report.facts["full_jail"] = is_full_jail(report.jail) ? "yes" : "no";
    return report;
  }

  std::optional<FrameSocket> socket_;
  const MakeBackend& make_backend_;
  OnDisconnect on_disconnect_;
  SandboxOptions options_;
  std::string greeted_with_;  // the packed options, once they are in force
  std::optional<CorePin> pin_;
  std::unique_ptr<Backend> backend_;
  std::optional<JobTable> jobs_;  // made by the first request for one
  uint64_t number_ = 0;           // of the current request
  uint64_t evaluations_ = 0;
  std::atomic<bool> busy_ = false;
  bool ending_ = false;
};

Server::Server(const MakeBackend& make_backend, OnDisconnect on_disconnect)
    : state_(std::make_unique<State>(make_backend, on_disconnect)) {}
Server::~Server() = default;

bool Server::talk(FrameSocket socket) {
  return state_->talk(std::move(socket));
}

int serve(FrameSocket socket, const MakeBackend& make_backend) {
  (void)Server{make_backend, OnDisconnect::end_service}.talk(std::move(socket));
  return 0;
}

}  // namespace warpsmith::sandbox
