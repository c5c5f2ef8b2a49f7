// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/client.hpp"

#include <csignal>
#include <filesystem>
#include <mutex>

#include "runtime/process/child.hpp"
#include "sandbox/jail/cgroup.hpp"
#include "sandbox/protocol/wire.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

/// Beside this executable, or in the build tree's folder for it.
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

struct Client::State {
  State(Child service, FrameSocket end) : child(std::move(service)), socket(std::move(end)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (ender) ender->remove(socket.fd());
    // A killed service leaves its control groups.
    child.signal(SIGKILL);
    if (child.finished(seconds{2})) remove_cgroups_of(child.pid());
  }

  std::mutex mutex;  // one call at a time
  Child child;
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
      // A service whose socket was closed ends its jails and itself.
      if (answer.error().code == ErrorCode::peer_lost) (void)child.finished(seconds{2});
      child.signal(SIGKILL);
      return fail("sandbox program", std::move(answer.error()));
    }
    if (answer->failed) return fail(answer->code, std::move(answer->body));
    return std::move(answer->body);
  }

  Result<WireAnswer> exchange(RequestKind kind, std::string body, Deadline deadline) {
    WireRequest request;
    request.kind = kind;
    request.number = ++number;
    request.left_ms = static_cast<uint64_t>(deadline.left().count());
    request.body = std::move(body);
    if (auto sent = socket.send(codec::pack(request), deadline); !sent) {
      return tl::unexpected(std::move(sent.error()));
    }
    while (true) {
      auto answer = receive(deadline);
      if (!answer || !answer->progress) return answer;
      if (progress) progress(answer->body);
    }
  }

  Result<WireAnswer> receive(Deadline deadline) {
    auto frame = socket.receive(deadline);
    if (!frame) return tl::unexpected(std::move(frame.error()));
    auto answer = codec::unpack<WireAnswer>(*frame);
    if (answer && answer->number != number) {
      return fail(ErrorCode::parse_failed, "answer " + std::to_string(answer->number) +
                                               " to request " + std::to_string(number));
    }
    return answer;
  }

  template <class T, class Record>
  Result<T> call(RequestKind kind, const Record& record, Deadline deadline) {
    auto body = ask(kind, pack_body(record), deadline);
    if (!body) return tl::unexpected(std::move(body.error()));
    return unpack_body<T>(*body);
  }
};

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Client::~Client() {
  if (state_ && !lost()) shutdown(Deadline::after(seconds{2}));
}

Result<Client> Client::start(const SandboxOptions& options, Deadline deadline,
                             std::shared_ptr<EndSwitch> ender) {
  SandboxOptions effective = options;
  if (effective.program.empty()) effective.program = default_program();
  if (effective.program.empty()) {
    return fail(ErrorCode::not_found, "warpsmith-sandbox is not beside this program");
  }
  auto ends = FrameSocket::pair();
  if (!ends) return tl::unexpected(std::move(ends.error()));
  ChildSpec spec;
  spec.argv = {effective.program, "serve"};
  spec.output = ChildOutput::shared;
  spec.cores = effective.cores;
  // A terminal's Ctrl-C must not reach the service: it ends when this program closes its socket.
  spec.own_group = true;
  spec.descriptors = {{service_socket_fd, ends->second.fd()}};
  auto child = Child::start(spec);
  if (!child) return tl::unexpected(std::move(child.error()));
  Client client{std::make_unique<State>(std::move(*child), std::move(ends->first))};
  {
    const FrameSocket theirs = std::move(ends->second);
  }
  if (ender && !ender->add(client.state_->socket.fd())) {
    return fail(ErrorCode::peer_lost, "the sandboxes are ending");
  }
  client.state_->ender = std::move(ender);
  auto greeted = client.state_->ask(RequestKind::hello, pack_body(effective), deadline);
  if (!greeted) return tl::unexpected(std::move(greeted.error()));
  return client;
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

Result<HealthReport> Client::health(Deadline deadline) {
  return state_->call<HealthReport>(RequestKind::health, std::string(), deadline);
}

void Client::shutdown(Deadline deadline) {
  (void)state_->ask(RequestKind::shutdown, {}, deadline);
  (void)state_->child.wait(deadline);
  state_->lost = true;
}

void Client::on_progress(Progress progress) {
  state_->progress = std::move(progress);
}

bool Client::lost() const {
  return state_->lost || !state_->child.alive();
}

int Client::pid() const {
  return state_->child.pid();
}

}  // namespace warpsmith::sandbox
