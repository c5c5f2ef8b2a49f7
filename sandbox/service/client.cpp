// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/client.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <mutex>

#include "runtime/log.hpp"
#include "runtime/process/child.hpp"
#include "sandbox/jail/jail_limits.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/service/kept_service.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

/// Next to this executable, or in the build tree's folder for it.
std::string default_program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& candidate :
       {self / "warpsmith-sandbox", self / ".." / "sandbox" / "warpsmith-sandbox"}) {
    if (fs::exists(candidate, error)) return fs::weakly_canonical(candidate, error).string();
  }
  return {};
}

InfraFailure infra_of(const Error& error) {
  const InfraKind kind =
      error.code == ErrorCode::timeout ? InfraKind::deadline : InfraKind::sandbox_lost;
  return {kind, error.message};
}

}  // namespace

void EndSwitch::end_services() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  // Not closed: a client may wait on it.
  for (const int socket : sockets_) (void)::shutdown(socket, SHUT_RDWR);
}

bool EndSwitch::add(int socket) {
  const std::lock_guard lock(mutex_);
  if (!ended_) sockets_.insert(socket);
  return !ended_;
}

void EndSwitch::remove(int socket) {
  const std::lock_guard lock(mutex_);
  sockets_.erase(socket);
}

struct Client::State {
  State(std::optional<Child> service, FrameSocket end)
      : child(std::move(service)), socket(std::move(end)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (ender) ender->remove(socket.fd());
    if (!child) return;
    // A killed service leaves its control groups.
    child->signal(SIGKILL);
    if (child->finished(seconds{2})) remove_cgroups_of(child->pid());
  }

  std::mutex mutex;            // one call at a time
  std::optional<Child> child;  // none: a kept service
  FrameSocket socket;
  std::shared_ptr<EndSwitch> ender;
  Progress progress;
  uint64_t number = 0;
  bool lost = false;

  /// Sends a request and waits for the answer. Kills the service after a failure of the transport,
  /// since its state is unknown.
  Result<std::string> ask(RequestKind kind, std::string body, Deadline deadline) {
    const std::lock_guard lock(mutex);
    if (lost) return fail(ErrorCode::peer_lost, "the sandbox program is gone");
    auto answer = exchange(kind, std::move(body), deadline);
    if (!answer) {
      lost = true;
      end_service(answer.error().code == ErrorCode::peer_lost ? seconds{2} : seconds{0});
      return fail("sandbox program", std::move(answer.error()));
    }
    if (answer->failed) return fail(answer->code, std::move(answer->body));
    return std::move(answer->body);
  }

  /// A service whose socket is closed ends its jails and itself, within `patience` if it can.
  void end_service(seconds patience) {
    (void)::shutdown(socket.fd(), SHUT_RDWR);
    if (!child) return;
    (void)child->finished(patience);
    child->signal(SIGKILL);
  }

  Result<WireAnswer> exchange(RequestKind kind, std::string body, Deadline deadline) {
    WireRequest request;
    request.kind = kind;
    request.number = ++number;
    request.left_ms = static_cast<uint64_t>(deadline.left().count());
    request.body = std::move(body);
    TRY_VOID(socket.send(codec::pack(request), deadline));
    while (true) {
      auto answer = receive(deadline);
      if (!answer || !answer->progress) return answer;
      if (progress) progress(answer->body);
    }
  }

  Result<WireAnswer> receive(Deadline deadline) {
    TRY(auto frame, socket.receive(deadline));
    auto answer = codec::unpack<WireAnswer>(frame);
    if (answer && answer->number != number) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("answer {} to request {}", answer->number, number));
    }
    return answer;
  }

  template <class T, class Record>
  Result<T> call(RequestKind kind, const Record& record, Deadline deadline) {
    TRY(auto body, ask(kind, pack_body(record), deadline));
    return unpack_body<T>(body);
  }
};

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Client::~Client() {
  if (state_ && state_->child && !lost()) shutdown(Deadline::after(seconds{2}));
}

namespace {

struct Started {
  std::optional<Child> child;
  FrameSocket socket;
};

Result<Started> start_service(const SandboxOptions& options) {
  TRY(auto ends, FrameSocket::pair());
  ChildSpec spec;
  spec.argv = {options.program, "serve"};
  spec.output = ChildOutput::shared;
  spec.cores = options.cores;
  // A terminal's Ctrl-C must not reach the service: it ends when this program closes its socket.
  spec.own_group = true;
  const FrameSocket theirs = std::move(ends.second);
  spec.descriptors = {{service_socket_fd, theirs.fd()}};
  TRY(auto child, Child::start(spec));
  return Started{std::move(child), std::move(ends.first)};
}

}  // namespace

Result<Client> Client::greet(std::optional<Child> child, FrameSocket socket,
                             const SandboxOptions& options, const Start& start) {
  Client client{std::make_unique<State>(std::move(child), std::move(socket))};
  if (start.ender && !start.ender->add(client.state_->socket.fd())) {
    return fail(ErrorCode::peer_lost, "the sandboxes are ending");
  }
  client.state_->ender = start.ender;
  TRY_VOID(client.state_->ask(RequestKind::hello, pack_body(options), start.deadline));
  return client;
}

Result<Client> Client::start(const SandboxOptions& options, Deadline deadline,
                             std::shared_ptr<EndSwitch> ender) {
  SandboxOptions effective = options;
  if (effective.program.empty()) effective.program = default_program();
  if (effective.program.empty()) {
    return fail(ErrorCode::not_found, "warpsmith-sandbox is not next to this program");
  }
  const Start start{deadline, std::move(ender)};
  if (effective.keep_s > 0) {
    auto joined = join_kept_service(effective, deadline);
    auto client = joined ? greet({}, std::move(*joined), effective, start)
                         : Result<Client>{tl::unexpected(std::move(joined.error()))};
    if (client) return client;
    log::info("no kept sandbox: " + client.error().message);
  }
  TRY(auto started, start_service(effective));
  return greet(std::move(started.child), std::move(started.socket), effective, start);
}

Judgement Client::evaluate(const EvaluateRequest& request, Deadline deadline) {
  auto body = state_->ask(RequestKind::evaluate, pack_body(request), deadline);
  if (!body) return infra_of(body.error());
  auto judgement = unpack_body<Judgement>(*body);
  if (!judgement) return infra_of(judgement.error());
  return std::move(*judgement);
}

Result<TaskFacts> Client::ingest(const Task& task, Deadline deadline) {
  return state_->call<TaskFacts>(RequestKind::ingest, task, deadline);
}

Result<ShellResult> Client::shell(const ShellRequest& request, Deadline deadline) {
  return state_->call<ShellResult>(RequestKind::shell, request, deadline);
}

Result<JobReport> Client::job(const JobRequest& request, Deadline deadline) {
  return state_->call<JobReport>(RequestKind::job, request, deadline);
}

Result<HealthReport> Client::health(Deadline deadline) {
  return state_->call<HealthReport>(RequestKind::health, std::string(), deadline);
}

void Client::shutdown(Deadline deadline) {
  (void)state_->ask(RequestKind::shutdown, {}, deadline);
  if (state_->child) (void)state_->child->wait(deadline);
  state_->lost = true;
}

void Client::on_progress(Progress progress) {
  state_->progress = std::move(progress);
}

bool Client::lost() const {
  return state_->lost || (state_->child && !state_->child->alive());
}

int Client::pid() const {
  return state_->child ? state_->child->pid() : 0;
}

}  // namespace warpsmith::sandbox
