// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/kept_service.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string_view>

#include "runtime/bytes.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/frame_socket.hpp"
#include "sandbox/protocol/wire.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

/// The variables that change what the service does, each as NAME=VALUE.
std::string relevant_environment() {
  constexpr std::array<std::string_view, 9> beginnings{
      "CUDA_", "HOME=", "LD_", "NVIDIA_", "PATH=", "PYTHON", "TMPDIR=", "TORCH", "WARPSMITH_"};
  std::string text;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    for (const std::string_view beginning : beginnings) {
      if (variable.starts_with(beginning)) text.append(variable) += '\n';
    }
  }
  return text;
}

std::string identity_of(const fs::path& program) {
  std::error_code error;
  const auto written = fs::last_write_time(program, error).time_since_epoch().count();
  return fmt::format("{} {}", program.string(), written);
}

Result<void> start_kept_service(const SandboxOptions& options, const fs::path& socket,
                                Deadline deadline) {
  ChildSpec spec;
  spec.argv = {options.program, "keep", socket.string(), std::to_string(options.keep_s)};
  spec.cores = options.cores;
  spec.own_group = true;
  TRY(auto exit, run_child(spec, deadline));
  if (exit.exit_code == 0) return {};
  return fail(ErrorCode::process_failed, "sandbox program: " + exit.err);
}

/// The service outlives its client, whose pipe or terminal has no reader then.
void write_to_log(const fs::path& log) {
  const UniqueFd file{::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  const UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  (void)::dup2(null.get(), STDIN_FILENO);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(file.get(), stream);
}

}  // namespace

fs::path kept_socket(const SandboxOptions& options) {
  const std::string key =
      sha256_hex(pack_body(options) + identity_of(options.program) + relevant_environment());
  return fs::path{options.cache_dir} / "services" / (key.substr(0, 32) + ".socket");
}

Result<FrameSocket> join_kept_service(const SandboxOptions& options, Deadline deadline) {
  const fs::path socket = kept_socket(options);
  if (auto joined = connect_to(socket)) return joined;
  TRY_VOID(start_kept_service(options, socket, deadline));
  return connect_to(socket);
}

int serve_kept(const KeptService& service, const MakeBackend& make_backend) {
  auto first = UnixListener::at(service.socket);
  if (!first && first.error().code == ErrorCode::already_exists) return 0;
  if (!first) {
    (void)std::fputs(first.error().message.c_str(), stderr);
    return 1;
  }
  if (::fork() != 0) ::_exit(0);
  (void)::setsid();
  write_to_log(service.socket.string() + ".log");
  Server server(make_backend, OnDisconnect::keep_serving);
  const std::string source = service.source();
  std::optional<UnixListener> listener{std::move(*first)};
  while (listener) {
    auto client = listener->accept(Deadline::after(service.keep));
    listener.reset();  // while it serves, other clients start their own services
    if (!client || service.source() != source || !server.talk(std::move(*client))) break;
    if (auto next = UnixListener::at(service.socket)) listener.emplace(std::move(*next));
  }
  return 0;
}

}  // namespace warpsmith::sandbox
