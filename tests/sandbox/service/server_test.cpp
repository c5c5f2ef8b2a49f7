// SPDX-License-Identifier: Apache-2.0
// The service's loop with a test's work, in a child process.
#include "sandbox/service/server.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>

#include "runtime/cuda/device_error.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::hang_guard;

class ForkedService {
 public:
  explicit ForkedService(const MakeBackend& make_backend) {
    auto ends = FrameSocket::pair();
    if (!ends) throw std::runtime_error(ends.error().message);
    pid_ = ::fork();
    if (pid_ == 0) {
      {
        const FrameSocket ours = std::move(ends->first);
      }
      ::_exit(served(std::move(ends->second), make_backend));
    }
    socket_.emplace(std::move(ends->first));
  }
  ~ForkedService() {
    socket_.reset();
    if (pid_ > 0) (void)::waitpid(pid_, nullptr, 0);
  }
  ForkedService(const ForkedService&) = delete;
  ForkedService& operator=(const ForkedService&) = delete;

  WireAnswer ask(RequestKind kind, std::string body = {}) {
    const WireRequest request{.kind = kind, .left_ms = 20'000, .body = std::move(body)};
    if (auto sent = socket_->send(codec::pack(request), hang_guard()); !sent) {
      throw std::runtime_error(sent.error().message);
    }
    auto frame = socket_->receive(hang_guard());
    if (!frame) throw std::runtime_error(frame.error().message);
    return codec::unpack<WireAnswer>(*frame).value();
  }
  /// The exit code, while the client's end is still open.
  int ended() {
    int status = 0;
    (void)::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  /// The child ends here and never returns into the test.
  static int served(FrameSocket socket, const MakeBackend& make_backend) noexcept {
    return serve(std::move(socket), make_backend);
  }
  pid_t pid_ = 0;
  std::optional<FrameSocket> socket_;
};

Result<std::unique_ptr<Backend>> refused_at_once(const SandboxOptions& /*options*/) {
  throw cuda::DeviceError("cuMemAlloc: out of memory", 2);
}

/// Every call throws a device error.
class RefusedDevice : public Backend {
 public:
  Judgement evaluate(const EvaluateRequest& /*request*/, Deadline /*deadline*/) override {
    throw cuda::DeviceError("cuLaunchKernel: refused", 700);
  }
  Result<TaskFacts> ingest(const Task& /*task*/, Deadline /*deadline*/) override {
    throw cuda::DeviceError("cuLaunchKernel: refused", 700);
  }
};

Result<std::unique_ptr<Backend>> refused_later(const SandboxOptions& /*options*/) {
  return std::make_unique<RefusedDevice>();
}

TEST(ServerTest, ADeviceErrorAtTheStartIsAnsweredAndEndsTheService) {
  ForkedService service(refused_at_once);
  const WireAnswer answer = service.ask(RequestKind::hello, pack_body(SandboxOptions{}));
  EXPECT_TRUE(answer.failed);
  EXPECT_EQ(answer.code, ErrorCode::infrastructure);
  EXPECT_EQ(answer.body, "cuMemAlloc: out of memory");
  EXPECT_EQ(service.ended(), 0);
}

TEST(ServerTest, ALaterDeviceErrorIsAnsweredAndEndsTheService) {
  for (const bool evaluates : {true, false}) {
    ForkedService service(refused_later);
    EXPECT_FALSE(service.ask(RequestKind::hello, pack_body(SandboxOptions{})).failed);
    const WireAnswer answer = evaluates
                                  ? service.ask(RequestKind::evaluate, pack_body(EvaluateRequest{}))
                                  : service.ask(RequestKind::ingest, pack_body(Task{}));
    EXPECT_TRUE(answer.failed);
    EXPECT_EQ(answer.body, "cuLaunchKernel: refused");
    EXPECT_EQ(service.ended(), 0);
  }
}

TEST(ServerTest, AShutdownAsFirstRequestEndsIt) {
  ForkedService service(refused_later);
  EXPECT_FALSE(service.ask(RequestKind::shutdown).failed);
  EXPECT_EQ(service.ended(), 0);
}

TEST(ServerTest, RefusesOtherRequestsBeforeHello) {
  ForkedService service(refused_later);
  const WireAnswer answer = service.ask(RequestKind::health);
  EXPECT_TRUE(answer.failed);
  EXPECT_EQ(answer.body, "sandbox: the first request is hello");
}

}  // namespace
}  // namespace warpsmith::sandbox
